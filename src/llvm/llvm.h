/* llvm: a selected kernel to PTX, through LLVM's C API and nowhere else.
 *
 * Needs a kernel after `isel`: its nodes are const, var, value, arg, load, call, idx, pack, part, splat, sum, floordiv, mod, max, min
 * and comparisons of type index, and instr (a row of the target's instruction table); index nodes that need 64 bits carry
 * SC_FLAG_WIDE. A `for` is a plain counted loop; its functions become internal ones that are not inlined. Leaves PTX text; the kernel is not changed.
 *
 *     LlCache *s = ll_cache_new(cx);
 *     LlOutput out = ll_compile(cx, arena, kernel, tg_find("sm_90"), &(LlOptions){.cache = s});   // out.ptx
 *     ll_cache_free(s);
 */
#ifndef LL_LOWER_H
#define LL_LOWER_H

#include "ir/ir.h"
#include "target/target.h"

/* What several compiles share: code generators and libdevice's bytes. One per thread. */
typedef struct LlCache LlCache;

/* An HLO instruction, and its place in the HLO file. */
typedef struct {
    const char *name; /* without '%' */
    uint32_t line, column;
} LlOrigin;

typedef struct {
    LlCache *cache;           /* NULL: one for this compile alone */
    const RwTables *index_tables; /* where rules marked IR_INDEX_RULE stand; NULL: such nodes have no line */
    const char *const *libdevice; /* more places to look for libdevice, NULL-terminated, tried first; may be NULL */
    bool lines;                   /* `.loc` of the rule that made an instruction, inlined at the HLO instruction it came from */
    bool comments;                /* fill ptx_commented, and say the same in llvm_before and llvm_after */
    const LlOrigin *origins;      /* by IrGraph.origin - 1; NULL: origins are not named */
    uint32_t n_origins;
    const char *hlo_file;         /* for `.loc`; NULL: only rules are named */
    bool keep_llvm;               /* fill llvm_before and llvm_after */
} LlOptions;

/* All texts live in the arena of the compile. */
typedef struct {
    const char *ptx;
    size_t n_ptx;
    const char *ptx_commented; /* the same, and behind each instruction what made it; NULL unless wanted */
    const char *llvm_before, *llvm_after; /* optimisation; NULL unless wanted */
    const char **libdevice;               /* functions called, in order of first call */
    uint32_t n_libdevice;
    double ms_link, ms_optimise, ms_codegen; /* of this thread, in LLVM */
} LlOutput;

/* compile.c: fails with LLVM's message where LLVM refuses; declines with WHY_NO_LIBDEVICE where a function needs libdevice and
 * there is none, with WHY_TYPE where memory holds a type that has no LLVM form. */
LlOutput ll_compile(WbbCx *cx, WbbArena *a, const IrKernel *k, const TgTarget *t, const LlOptions *o);

/* cache.c */
LlCache *ll_cache_new(WbbCx *cx);
void ll_cache_free(LlCache *s);

/* libdevice.c: $WARPBURG_LIBDEVICE, `extra`, the places where toolkits put it, next to ptxas; NULL if nowhere */
const char *ll_find_libdevice(WbbCx *cx, WbbArena *a, const char *const *extra);

/* intrinsics.c: every name of the menu is known to this LLVM under exactly that name and with the overloads that the menu says.
 * NULL if so, else a message in the arena. */
const char *ll_menu_check(WbbArena *a);
bool ll_menu_has(const RwInstr *row); /* llvm/ can emit this row */

#endif
