/* rows.c: which dimensions reductions take: the same ones, rows of an array in memory, or its columns.
 *
 * Needs verified instructions; leaves answers. Dimensions of one element are neither kept nor reduced.
 *
 *     reduce(f32[64,8,128]), {1,2}     reduces rows: 64 of 1,024 elements
 *     reduce(f32[64,8,128]), {0}       a sum of it sums columns, of the same matrix
 */
#include "graph/graph.h"

static GrMatrix matrix_of(const HloShape *s, uint32_t n)
{
    GrMatrix m = {1, 1};
    for (uint32_t d = 0; d < s->rank; d++) *(d < n ? &m.rows : &m.columns) *= s->dims[d];
    return m;
}

bool gr_same_reduced(const HloInstruction *x, const HloInstruction *y)
{
    const HloShape *s = x->operands[0]->shape;
    if (!hlo_same_dims(s, y->operands[0]->shape)) return false;
    for (uint32_t d = 0; d < s->rank; d++)
        if (s->dims[d] > 1 && hlo_is_reduced(x, d) != hlo_is_reduced(y, d)) return false;
    return true;
}

/* Does it reduce exactly the first dimensions (`first`), or the last, of an array in row-major order? */
static bool reduces_ends(const HloInstruction *i, bool first)
{
    if (i->opcode != HLO_REDUCE || !i->n_dimensions) return false;
    const HloShape *s = i->operands[0]->shape;
    const uint32_t n = first ? i->n_dimensions : s->rank - i->n_dimensions;
    for (uint32_t d = 0; d < s->rank; d++)
        if (hlo_is_reduced(i, d) != ((d < n) == first)) return false;
    return hlo_is_row_major(s);
}

bool gr_reduces_rows(const HloInstruction *i, GrMatrix *of)
{
    if (!reduces_ends(i, false)) return false;
    *of = matrix_of(i->operands[0]->shape, i->operands[0]->shape->rank - i->n_dimensions);
    return of->rows > 1 && of->columns > 1;
}

bool gr_sums_columns(const HloInstruction *i, GrMatrix *of)
{
    if (!reduces_ends(i, true) || i->n_operands != 2 || i->shape->type == SC_TUPLE) return false;
    const HloShape *x = i->operands[0]->shape;
    const ScType t = x->type;
    if (!sc_is_float(t) || sc_type_info[t].bits > 32 || i->shape->type != t || x->rank + 1u >= HLO_RANK_LIMIT)
        return false;
    if (x->dynamic || !hlo_is_row_major(i->shape) || hlo_combiner(i->called[0]) != OP_ADD) return false;
    *of = matrix_of(x, i->n_dimensions);
    return true;
}
