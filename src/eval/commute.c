/* commute: does the order of two updates show in the computation of a scatter?
 *
 * Needs: a computation of two times n_arrays scalars. Evaluates f(f(a, u), v) and f(f(a, v), u) for a fixed sequence of
 * values: small integers, on which sums are exact, edges of the types, and random bits. Leaves: whether one of them
 * shows a difference. Where none does, updates of one element are judged in the order of the text alone.
 *
 *     a - u, clamp(0, max(a, u), 9)  =>  true;     u - a, clamp(0, a + u, 9)  =>  false: of 8, 3, -3 it makes 8 or 6
 */
#include "eval/bounds.h"

#include <string.h>

enum { TRIPLES = 512, SMALL = 5 };

static uint64_t some_value(ScType t, uint64_t h)
{
    static const double edges[] = {0, -0.0, 1, -1, (double)INFINITY, -(double)INFINITY, (double)NAN, 1e30};
    if (h % 4 == 0) return sc_is_float(t) ? sc_from_f64(t, edges[(h >> 8) % WBB_LEN(edges)]) : h >> 8 & sc_mask(t);
    return sc_from_f64(t, (double)((h >> 8) % (2 * SMALL + 1)) - (sc_is_float(t) || sc_is_signed(t) ? SMALL : 0));
}

static EvBound *some_values(Ev *e, ScType t, uint64_t seed)
{
    EvBound *lanes = ev_lanes(e, TRIPLES * sizeof *lanes);
    for (uint64_t k = 0; k < TRIPLES; k++) lanes[k] = ev_bound_exact(t, some_value(t, wbb_mix(seed + k)));
    return lanes;
}

/* f(f(start, first), second), each of them n arrays. */
static void **twice(Ev *e, const HloComputation *c, uint32_t n, void *const *start, void *const *first,
                    void *const *second)
{
    void **operands = WBB_NEW_N(e->block, void *, 2 * n), **out = WBB_NEW_N(e->block, void *, n);
    for (uint32_t k = 0; k < n; k++) operands[k] = start[k], operands[n + k] = first[k];
    ev_apply(e, c, TRIPLES, operands, out);
    for (uint32_t k = 0; k < n; k++) {
        const ScType made = ev_leaf_shape(c->root->shape, k)->type;
        operands[k] = ev_as(e, c->parameters[k]->shape->type, made, TRIPLES, out[k]), operands[n + k] = second[k];
    }
    ev_apply(e, c, TRIPLES, operands, out);
    return out;
}

static bool commutes(Ev *e, const HloComputation *c, uint32_t n_arrays)
{
    for (uint32_t k = 0; k < 2 * n_arrays; k++)
        if (sc_type_info[c->parameters[k]->shape->type].cls == 'C') return false;
    Ev *part = ev_part(e);
    ev_begin(part);
    void **x[3], **out[2];
    for (uint32_t v = 0; v < WBB_LEN(x); v++) {
        x[v] = WBB_NEW_N(part->block, void *, n_arrays);
        for (uint32_t k = 0; k < n_arrays; k++)
            x[v][k] = some_values(part, c->parameters[v ? n_arrays + k : k]->shape->type, (v * n_arrays + k) * TRIPLES);
    }
    out[0] = twice(part, c, n_arrays, x[0], x[1], x[2]);
    out[1] = twice(part, c, n_arrays, x[0], x[2], x[1]);
    bool same = true;
    for (uint32_t k = 0; k < n_arrays; k++)
        for (uint32_t j = 0; j < TRIPLES && same; j++) {
            const EvBound *a = (const EvBound *)out[0][k] + j, *b = (const EvBound *)out[1][k] + j;
            same = a->lo.u == b->lo.u && a->hi.u == b->hi.u && a->flags == b->flags;
        }
    ev_end(part);
    ev_part_end(e);
    return same;
}

/* Does a computation round? */
static bool rounds(const HloComputation *c)
{
    for (uint32_t k = 0; k < c->n_instructions; k++) {
        const HloInstruction *i = c->instructions[k];
        const ScTypeInfo *type = &sc_type_info[i->shape->type];
        if (type->cls != 'F' && type->cls != 'C') continue;
        const HloKind kind = hlo_kind(i->opcode);
        if (kind != HLO_IS_LEAF && kind != HLO_IS_MOVE && !hlo_has(i->opcode, HLO_EXACT)) return true;
    }
    return false;
}

bool ev_order_shows(Ev *e, const HloComputation *c, uint32_t n) { return rounds(c) || !commutes(e, c, n); }
