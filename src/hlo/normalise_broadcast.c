/* normalise_broadcast: explicit broadcasts for operands that are smaller than the result.
 *
 * Pass `broadcast` needs: operands and the shapes of the text. The parser runs it before the verifier, so that later
 * code never sees these forms of old texts. Leaves: elementwise operations whose operands all have the dimensions of
 * the result; operands that do not fit are left to the verifier. Pass `clamp` needs: a verified HLO module. Leaves: no
 * scalar bounds of clamp and no scalar predicates of select beside arrays.
 *
 *     add(f32[2,3] x, f32[] y)                           y.broadcast = f32[2,3] broadcast(y), dimensions={}
 *     add(f32[2,3] x, f32[1,3] y)                        f32[3] reshape(y), then broadcast dimensions={1}
 *     add(f32[2,3] x, f32[2] y), dimensions={0}          broadcast(y), dimensions={0}
 *     f32[2,3] broadcast(f32[3] x)                       broadcast(x), dimensions={1}
 *     clamp(f32[] low, f32[8] x, f32[] high)             low and high each broadcast to f32[8]
 */
#include "hlo/normalise.h"

#include <string.h>

/* Operand k may be a scalar in a verified HLO module. */
static bool may_be_scalar(const HloInstruction *i, uint32_t k)
{
    return (i->opcode == HLO_SELECT && k == 0) || (i->opcode == HLO_CLAMP && k != 1);
}

/* dimensions={..} of an elementwise operation map the dimensions of the smaller operand to the result's. */
static bool has_mapping(const HloInstruction *i, const HloShape *s)
{
    if (!i->dimensions || i->n_dimensions != s->rank || s->rank >= i->shape->rank) return false;
    for (uint32_t d = 0; d < s->rank; d++) {
        const int64_t to = i->dimensions[d];
        if (to < 0 || to >= i->shape->rank || (d && to <= i->dimensions[d - 1])) return false;
        if (s->dims[d] != i->shape->dims[to] && s->dims[d] != 1) return false;
    }
    return true;
}

/* s has the rank of the result; its dimensions have the result's sizes or 1. */
static bool has_unit_dims(const HloInstruction *i, const HloShape *s)
{
    bool fits = s->rank == i->shape->rank;
    for (uint32_t d = 0; fits && d < s->rank; d++) fits = s->dims[d] == i->shape->dims[d] || s->dims[d] == 1;
    return fits;
}

static bool is_small(const HloInstruction *i, uint32_t k)
{
    const HloShape *s = i->operands[k]->shape;
    if (!s || s->type == SC_TUPLE || hlo_same_dims(s, i->shape)) return false;
    if (s->rank == 0) return !may_be_scalar(i, k);
    return has_mapping(i, s) || has_unit_dims(i, s);
}

/* A broadcast of an array without dimensions=: the operand's are the last of the result's. */
static bool lacks_dimensions(const HloInstruction *i)
{
    const HloShape *s = i->operands[0]->shape;
    if (i->dimensions || !s || s->type == SC_TUPLE || s->rank == 0 || s->rank > i->shape->rank) return false;
    const int64_t *last = i->shape->dims + (i->shape->rank - s->rank);
    return memcmp(s->dims, last, s->rank * sizeof *last) == 0;
}

static bool is_implicit(const HloInstruction *i)
{
    if (i->n_operands == 0 || !i->shape || i->shape->type == SC_TUPLE) return false;
    if (i->opcode == HLO_BROADCAST) return lacks_dimensions(i);
    if (!hlo_is_elementwise(i->opcode) || i->opcode == HLO_BITCAST_CONVERT || i->opcode == HLO_COPY) return false;
    for (uint32_t k = 0; k < i->n_operands; k++)
        if (is_small(i, k)) return true;
    return false;
}

/* x broadcast to the dimensions of i; a reshape first removes dimensions of size 1 that i has in another size. */
static HloInstruction *widened(HloBuilder *b, const HloInstruction *i, HloInstruction *x)
{
    const bool by_list = x->shape->rank && x->shape->rank < i->shape->rank;
    int64_t dims[HLO_RANK_LIMIT], to[HLO_RANK_LIMIT];
    uint32_t n = 0;
    for (uint32_t d = 0; d < x->shape->rank; d++) {
        const int64_t at = by_list ? i->dimensions[d] : d;
        if (x->shape->dims[d] != i->shape->dims[at]) continue;
        dims[n] = x->shape->dims[d];
        to[n++] = at;
    }
    return hlo_new_broadcast(b, hlo_new_reshape(b, x, n, dims), i->shape, to, n);
}

static HloInstruction *rewrite_implicit(HloBuilder *b, const HloInstruction *i)
{
    if (!is_implicit(i)) return NULL;
    if (i->opcode == HLO_BROADCAST) {
        HloInstruction *copy = hlo_copy(b, i);
        const uint32_t n = i->operands[0]->shape->rank;
        int64_t *dimensions = WBB_NEW_N(b->arena, int64_t, n);
        for (uint32_t d = 0; d < n; d++) dimensions[d] = i->shape->rank - n + d;
        copy->dimensions = dimensions;
        copy->n_dimensions = n;
        return copy;
    }
    HloInstruction *operands[3];
    assert(i->n_operands <= WBB_LEN(operands));
    for (uint32_t k = 0; k < i->n_operands; k++) {
        operands[k] = hlo_mapped(b, i->operands[k]);
        if (is_small(i, k)) operands[k] = widened(b, i, operands[k]);
    }
    HloInstruction *copy = hlo_copy_with_operands(b, i, operands);
    copy->dimensions = NULL;
    copy->n_dimensions = 0;
    return copy;
}

const HloModule *hlo_pass_broadcast(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    return hlo_rewrite(cx, a, m, &(HloRewriter){.applies = is_implicit, .rewrite = rewrite_implicit});
}

void hlo_expand_broadcasts(WbbCx *cx, WbbArena *a, HloModule *m)
{
    *m = *hlo_pass_broadcast(cx, a, m);
    for (uint32_t c = 0; c < m->n_computations; c++) m->computations[c]->module = m;
}

static bool is_clamp(const HloInstruction *i)
{
    if ((i->opcode != HLO_CLAMP && i->opcode != HLO_SELECT) || i->shape->rank == 0) return false;
    return i->operands[0]->shape->rank == 0 || (i->opcode == HLO_CLAMP && i->operands[2]->shape->rank == 0);
}

static HloInstruction *rewrite_clamp(HloBuilder *b, const HloInstruction *i)
{
    if (!is_clamp(i)) return NULL;
    HloInstruction *operands[3];
    for (uint32_t k = 0; k < 3; k++) {
        operands[k] = hlo_mapped(b, i->operands[k]);
        if (operands[k]->shape->rank == 0) operands[k] = hlo_new_splat(b, operands[k], i->shape->rank, i->shape->dims);
    }
    return hlo_copy_with_operands(b, i, operands);
}

const HloModule *hlo_pass_clamp(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    return hlo_rewrite(cx, a, m, &(HloRewriter){.applies = is_clamp, .rewrite = rewrite_clamp});
}
