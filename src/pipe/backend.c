/* backend.c: which of the two back ends writes the PTX of a kernel.
 *
 * Needs a kernel after `isel`; leaves its PTX, or says that LLVM has to write it.
 *
 *     --backend either, a kernel with sin of f64 on sm_90    ->   false: the tables have no function of libdevice
 */
#include "llvm/llvm.h"
#include "pipe/pipe.h"

PipeBackend pipe_backend(PipeBackend asked)
{
    return asked != PIPE_BY_DEFAULT ? asked : ll_is_there() ? PIPE_BY_EITHER : PIPE_BY_PTX;
}

bool pipe_by_ptx(PipeBackend asked, bool only_llvm)
{
    const PipeBackend which = pipe_backend(asked);
    return which == PIPE_BY_PTX || (which == PIPE_BY_EITHER && !(only_llvm && ll_is_there()));
}

typedef struct {
    const IrKernel *k;
    const TgTarget *t;
    const PtxOptions *o;
    WbbArena *arena;
    PtxOutput out;
} Written;

static void write(WbbCx *cx, void *arg)
{
    Written *w = arg;
    w->out = ptx_compile(cx, w->arena, w->k, w->t, w->o);
}

bool pipe_write_ptx(WbbCx *cx, WbbArena *a, PipeBackend asked, const IrKernel *k, const TgTarget *t,
                    const PtxOptions *o, PtxOutput *out)
{
    Written w = {.k = k, .t = t, .o = o, .arena = a};
    if (pipe_backend(asked) != PIPE_BY_EITHER || !ll_is_there()) write(cx, &w);
    else if (!wbb_quietly(cx, write, &w)) return false;
    *out = w.out;
    return true;
}
