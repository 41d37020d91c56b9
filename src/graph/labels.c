/* labels.c: scatters of one update into each row of an array of one number as a comparison with an iota.
 *
 * Needs: scatters in canonical form (normalise_scatter.c). Leaves: where the operand is one number everywhere, and the
 * updates are single elements, one for each row, in the order of the rows, a select: the element whose place in the row
 * is the label's is combined with the row's update, all others are the operand. That no two updates meet, and that none
 * is of another row, follows from the columns of the indices: all but one are the numbers of the row. A label beyond
 * the row is the place of no element, as its update is left out.
 *
 *     g = f32[8,100] scatter(broadcast(0), s32[8,2] concatenate(iota(), label), u), to_apply=add
 *         g = f32[8,100] select(iota = broadcast(label), broadcast(0) + broadcast(u), broadcast(0))
 *
 * The gradient of cross-entropy is that: what else needs g then computes it, in place of two launches that write it.
 */
#include "hlo/normalise.h"

#include "graph/inner.h"

typedef struct {
    const HloInstruction *label, *updates; /* [rows, 1]; [rows, 1, .., 1] */
    uint32_t dim;                          /* of the operand, that labels are places in */
    uint32_t n_rows;
    int64_t rows[HLO_RANK_LIMIT], of[HLO_RANK_LIMIT]; /* sizes of the other dimensions, and which these are */
} Labels;

/* The dimensions of an operand but one. */
static void find_rows(const HloShape *s, uint32_t dim, Labels *l)
{
    l->dim = dim, l->n_rows = 0;
    for (uint32_t d = 0; d < s->rank; d++)
        if (d != dim) l->of[l->n_rows] = d, l->rows[l->n_rows++] = s->dims[d];
}

/* Is column c of the indices, in each row, the position along number `which` of the rows' dimensions? */
static bool counts_rows(WbbArena *a, GrGraph *x, const HloInstruction *indices, const Labels *l, uint32_t which)
{
    IrRef row;
    const IrRef index = gr_column(a, x, indices, l->of[which], &row);
    int64_t stride = 1;
    for (uint32_t k = which + 1; k < l->n_rows; k++) stride *= l->rows[k];
    return index && index == rw_mod(x->rw, rw_floordiv(x->rw, row, stride), l->rows[which]);
}

static bool combines_simply(const HloComputation *c)
{
    const HloInstruction *root = c->root;
    return root == c->parameters[1] || (hlo_is_operation(c) && root->shape->type == c->parameters[0]->shape->type);
}

static bool find_labels(WbbCx *cx, WbbArena *a, const HloComputation *of, const HloInstruction *i, Labels *l)
{
    if (i->opcode != HLO_SCATTER || i->n_operands != 3 || i->operands[1]->opcode != HLO_CONCATENATE) return false;
    const HloInstruction *operand = i->operands[0], *indices = i->operands[1];
    const HloShape *s = operand->shape, *u = i->operands[2]->shape;
    const HloScatterDims d = hlo_scatter_dims(a, i);
    if (operand->opcode != HLO_BROADCAST || operand->n_dimensions || s->dynamic || u->type != s->type) return false;
    if (!hlo_scatters_rows(i, &d) || indices->n_operands != s->rank) return false;
    if (d.operand_map.n != s->rank || sc_bytes(indices->shape->type) < 4) return false;
    if (!combines_simply(i->called[0])) return false;
    for (uint32_t k = 0; k < s->rank; k++)
        if (u->dims[k + 1] != 1 || s->dims[k] < 2 || indices->operands[k]->shape->dims[1] != 1)
            return false;
    GrGraph *x = gr_make(cx, a, of);
    for (uint32_t dim = s->rank; dim-- > 0;) {
        int64_t rows = 1;
        bool counted = true;
        find_rows(s, dim, l);
        for (uint32_t k = 0; k < l->n_rows; k++) rows *= l->rows[k];
        if (!l->n_rows || u->dims[0] != rows) continue;
        for (uint32_t k = 0; k < l->n_rows; k++) counted = counted && counts_rows(a, x, indices, l, k);
        if (!counted) continue;
        l->label = indices->operands[dim], l->updates = i->operands[2];
        return true;
    }
    return false;
}

static HloInstruction *rewrite(HloBuilder *b, const HloInstruction *i)
{
    Labels l;
    if (!find_labels(b->cx, b->arena, b->source, i, &l)) return NULL;
    const HloShape *s = i->operands[0]->shape, *like = hlo_make_array(b->arena, s->type, s->rank, s->dims);
    const ScType type = l.label->shape->type;
    const HloComputation *c = i->called[0];
    HloInstruction *x = hlo_mapped(b, i->operands[0]->operands[0]);
    HloInstruction *label = hlo_new_reshape(b, hlo_mapped(b, l.label), l.n_rows, l.rows);
    HloInstruction *update = hlo_new_reshape(b, hlo_mapped(b, l.updates), l.n_rows, l.rows), *one = update;
    if (c->root != c->parameters[1]) {
        HloInstruction *of = hlo_new_splat(b, x, l.n_rows, l.rows);
        const bool first = c->root->operands[0] == c->parameters[0];
        one = hlo_new_binary(b, c->root->opcode, first ? of : update, first ? update : of);
    }
    HloInstruction *at = hlo_new_broadcast(b, label, hlo_make_array(b->arena, type, s->rank, s->dims), l.of, l.n_rows);
    HloInstruction *place = hlo_new_iota(b, type, s->rank, s->dims, l.dim);
    HloInstruction *ones = hlo_new_broadcast(b, one, like, l.of, l.n_rows);
    HloInstruction *others = hlo_new_splat(b, x, s->rank, s->dims);
    return hlo_new_select(b, hlo_new_compare(b, HLO_EQ, place, at), ones, others);
}

const HloModule *gr_labels(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    Labels l;
    for (uint32_t c = 0; c < m->n_computations; c++)
        for (uint32_t k = 0; k < m->computations[c]->n_instructions; k++)
            if (find_labels(cx, a, m->computations[c], m->computations[c]->instructions[k], &l))
                return hlo_cleaned(cx, a, hlo_rewrite(cx, a, m, &(HloRewriter){.rewrite = rewrite}), m);
    return m;
}
