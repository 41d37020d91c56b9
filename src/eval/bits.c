/* bits: bitcasts between elements of different widths; sizes of dimensions.
 *
 * Needs: bitcast or bitcast-convert between types of different widths. Leaves: the wanted lanes.
 *
 * The narrower array has several elements for each element of the wider one, low bits first: along a new last dimension
 * for bitcast-convert (XLA's operation semantics), in the order of the memory for bitcast.
 *
 *     u8[6,4] bitcast-convert(f32[6] x)     at (2, 3): bits 24..31 of x[2]
 */
#include "eval/inner.h"

/* The bits of lane k in type t; false: an interval. */
static bool bits_of(const Ev *e, ScType t, const void *lanes, int64_t k, uint64_t *bits)
{
    ScType held = ev_lane_type(e->mode, t);
    if (e->mode == EV_BOUNDS) return ev_bound_single(t, (const EvBound *)lanes + k, bits);
    *bits = ev_get(held, lanes, k);
    if (held != t) *bits = sc_from_f64(t, sc_to_f64(held, *bits));
    return true;
}

static void put_bits(const Ev *e, ScType t, void *lanes, int64_t k, bool known, uint64_t bits)
{
    ScType held = ev_lane_type(e->mode, t);
    if (e->mode == EV_BOUNDS) {
        ((EvBound *)lanes)[k] = known ? ev_bound_exact(t, bits) : ev_bound_any(t);
        return;
    }
    ev_set(held, lanes, k, held == t ? bits : sc_from_f64(held, sc_to_f64(t, bits)));
}

/* Positions of an array from positions in its order: that of the memory for bitcast, else the logical one. */
static const int64_t *in_memory(Ev *e, const HloInstruction *i, const HloShape *s, int64_t *list, int64_t n)
{
    if (i->opcode != HLO_BITCAST) return list;
    HloShape flat = {.type = s->type, .rank = 1};
    static const uint8_t only[1] = {0};
    int64_t size = hlo_elements(s);
    flat.dims = &size;
    flat.minor_to_major = only;
    const EvSet set = {.n = n, .list = list, .start = n ? list[0] : 0};
    return ev_by_layout(e, &flat, s, &set);
}

void *ev_rewidth(Ev *e, EvTask *t)
{
    const HloInstruction *i = t->ref.i;
    ScType from = i->operands[0]->shape->type, to = i->shape->type;
    int64_t from_bits = sc_type_info[from].bits, to_bits = sc_type_info[to].bits, n = t->set->n;
    if (sc_type_info[from].cls == 'C' || sc_type_info[to].cls == 'C' || from == SC_PRED || to == SC_PRED)
        wbb_decline(e->cx, i->loc, WHY_TYPE, "the evaluator reads no %s as %s", sc_type_info[from].hlo,
                    sc_type_info[to].hlo);
    int64_t parts = from_bits > to_bits ? from_bits / to_bits : to_bits / from_bits;
    int64_t each = from_bits > to_bits ? 1 : parts; /* elements read for one of the result */
    const int64_t *at;
    int64_t *list = ev_list(e, n);
    for (int64_t k = 0; k < n; k++) list[k] = ev_position(t->set, k);
    at = list;
    if (i->opcode == HLO_BITCAST) {
        HloShape flat = *i->shape;
        int64_t size = hlo_elements(i->shape);
        static const uint8_t only[1] = {0};
        flat.rank = 1, flat.dims = &size, flat.minor_to_major = only;
        at = ev_by_layout(e, i->shape, &flat, t->set);
    }
    EvMove *m = t->state;
    if (!m) {
        int64_t *read = ev_list(e, n * each);
        for (int64_t k = 0; k < n; k++)
            for (int64_t p = 0; p < each; p++)
                read[k * each + p] = from_bits > to_bits ? at[k] / parts : at[k] * each + p;
        t->state = m = ev_move_new(e, n * each, 1);
        ev_move_source(e, m, ev_operand(e, t, 0), in_memory(e, i, i->operands[0]->shape, read, n * each), NULL,
                       n * each);
    }
    const void *x = ev_move_finish(e, from, m);
    if (!x) return NULL;
    void *lanes = ev_lanes(e, (size_t)n * ev_lane_bytes(e->mode, to));
    for (int64_t k = 0; k < n; k++) {
        uint64_t made = 0, bits = 0;
        bool known = true;
        for (int64_t p = 0; p < each; p++) {
            known = bits_of(e, from, x, k * each + p, &bits) && known;
            made |= known ? bits << (from_bits * p) : 0;
        }
        if (from_bits > to_bits) made = bits >> (at[k] % parts * to_bits) & sc_mask(to);
        put_bits(e, to, lanes, k, known, made);
    }
    return lanes;
}

void *ev_dimension_size(Ev *e, EvTask *t)
{
    const HloInstruction *i = t->ref.i;
    const HloShape *s = i->operands[0]->shape;
    int64_t d = i->n_dimensions ? i->dimensions[0] : 0;
    if (s->dynamic >> d & 1)
        wbb_decline(e->cx, i->loc, WHY_SHAPE, "dimension %lld of %s has a size that is known only when it runs",
                    (long long)d, i->operands[0]->name);
    void *lanes = ev_lanes(e, (size_t)t->set->n * ev_lane_bytes(e->mode, i->shape->type));
    for (int64_t k = 0; k < t->set->n; k++)
        put_bits(e, i->shape->type, lanes, k, true, sc_from_i128(i->shape->type, s->dims[d]));
    return lanes;
}
