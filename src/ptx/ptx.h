/* ptx: a kernel after instruction selection to PTX, without LLVM: src/ptx/README.md.
 *
 * Needs what llvm/llvm.h needs. Leaves PTX text and does not change the kernel. Declines with WHY_NO_RULE, and the name
 * of what it has no text for, where it cannot: what it writes is the kernel.
 *
 *     PtxOutput out = ptx_compile(cx, arena, kernel, tg_find("sm_90"), &(PtxOptions){0});   // out.ptx
 */
#ifndef PTX_PTX_H
#define PTX_PTX_H

#include "ir/ir.h"
#include "target/target.h"

typedef struct {
    const RwTables *index_tables; /* the rules that IR_INDEX_RULE numbers; NULL: index nodes are not named */
    bool comments;                /* fill ptx_commented */
    bool lines;                   /* the PTX has `.loc` of patterns and of hlo_file */
    const char *hlo_file;         /* NULL: it has them of patterns alone */
    const IrOrigin *origins;      /* by IrGraph.origin - 1; NULL: HLO instructions are not named */
    uint32_t n_origins;
} PtxOptions;

typedef struct {
    const char *ptx;           /* in the arena of the compile */
    const char *ptx_commented; /* with a comment behind each instruction: what made it; NULL unless asked for */
} PtxOutput;

PtxOutput ptx_compile(WbbCx *cx, WbbArena *a, const IrKernel *k, const TgTarget *t, const PtxOptions *o);

#endif
