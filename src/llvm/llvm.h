/* llvm: a kernel after instruction selection to PTX. No other module includes LLVM's headers.
 *
 * Needs a kernel after `isel`: its nodes are const, var, value, arg, load, call, idx, pack, part, splat, complex, re,
 * im; sum, floordiv, mod, max, min and comparisons of type index; and instr, a row of the target's instruction table.
 * Index nodes that need 64 bits carry SC_FLAG_WIDE. A `for` becomes a counted loop, a function of the kernel an
 * internal function that is not inlined. Leaves PTX text and does not change the kernel.
 *
 *     LlCache *s = ll_cache_new(cx);
 *     LlOutput out = ll_compile(cx, arena, kernel, tg_find("sm_90"), &(LlOptions){.cache = s});   // out.ptx
 *     ll_cache_free(s);
 */
#ifndef LL_LLVM_H
#define LL_LLVM_H

#include "ir/ir.h"
#include "target/target.h"

/* Code generators and libdevice's bytes, shared by the compiles of one thread. */
typedef struct LlCache LlCache;

typedef struct {
    LlCache *cache;               /* NULL: a cache for this compile alone */
    const RwTables *index_tables; /* the rules that IR_INDEX_RULE numbers; NULL: index nodes get no line */
    const char *const *libdevice; /* paths to try first for libdevice, NULL-terminated; may be NULL */
    bool lines;                   /* write `.loc`: the rule that made an instruction, inlined at its HLO instruction */
    bool comments;                /* fill ptx_commented, and comment llvm_before and llvm_after in the same way */
    const IrOrigin *origins;      /* by IrGraph.origin - 1; NULL: HLO instructions are not named */
    uint32_t n_origins;
    const char *hlo_file;         /* for `.loc`; NULL: `.loc` names rules only */
    bool keep_llvm;               /* fill llvm_before and llvm_after */
    uint32_t kernel;              /* its number, where kernels before it stand in the same PTX: 0, 1, .. */
} LlOptions;

/* All texts are in the arena of the compile. */
typedef struct {
    const char *ptx;
    size_t n_ptx;
    const char *ptx_commented; /* the PTX with a comment after each instruction: what made it; NULL unless asked for */
    const char *llvm_before, *llvm_after; /* LLVM IR before and after optimisation; NULL unless asked for */
    const char **libdevice;               /* libdevice functions called, in order of first call */
    uint32_t n_libdevice;
    double ms_link, ms_optimise, ms_codegen; /* processor time of this thread */
} LlOutput;

bool ll_is_there(void); /* false: the build has no LLVM (none.c), and ll_compile fails */

/* compile.c: fails with LLVM's message where LLVM reports an error. Declines with WHY_NO_LIBDEVICE if the kernel calls
 * libdevice and no libdevice is found, with WHY_TYPE for a type without an LLVM type, with WHY_NO_RULE for a node that
 * no rule selected. */
LlOutput ll_compile(WbbCx *cx, WbbArena *a, const IrKernel *k, const TgTarget *t, const LlOptions *o);

/* cache.c */
LlCache *ll_cache_new(WbbCx *cx);
void ll_cache_free(LlCache *s);

/* libdevice.c: the path of libdevice: $WARPBURG_LIBDEVICE, else the first that exists of `extra`, the usual paths of
 * CUDA toolkits and the toolkit of ptxas. NULL: none exists. */
const char *ll_find_libdevice(WbbCx *cx, WbbArena *a, const char *const *extra);

/* intrinsics.c: checks that this LLVM knows every intrinsic of the table by exactly its name and is overloaded where
 * the table says so. NULL: it does; else a message in the arena. */
const char *ll_check_intrinsics(WbbArena *a);
bool ll_has_instr(const RwInstr *row); /* true: ll_compile can emit this row of an instruction table */

#endif
