/* none.c: this module in a build without LLVM, where src/ptx writes the PTX of kernels.
 *
 * Needs nothing. Whoever asks for LLVM all the same gets a message.
 *
 *     compile gelu.hlo --backend llvm    ->    error: this build has no LLVM; the tables of rules write PTX without it
 */
#include "llvm/llvm.h"

bool ll_is_there(void) { return false; }

LlOutput ll_compile(WbbCx *cx, WbbArena *a, const IrKernel *k, const TgTarget *t, const LlOptions *o)
{
    (void)a, (void)k, (void)t, (void)o;
    wbb_fail(cx, (WbbLoc){0}, "this build has no LLVM; the tables of rules write PTX without it");
}

LlCache *ll_cache_new(WbbCx *cx) { return (void)cx, NULL; }
void ll_cache_free(LlCache *s) { (void)s; }
const char *ll_find_libdevice(WbbCx *cx, WbbArena *a, const char *const *extra)
{
    return (void)cx, (void)a, (void)extra, NULL;
}
const char *ll_check_intrinsics(WbbArena *a) { return (void)a, NULL; }
bool ll_has_instr(const RwInstr *row) { return (void)row, true; }
