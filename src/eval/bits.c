/* bits: the same bits read as elements of another width; sizes of dimensions; conversions that take random bits.
 *
 * Needs: bitcast or bitcast-convert between types of different widths. Leaves: the lanes wanted.
 *
 * The narrower array has one element for each part of the wider one's, the low bits first: along a new last dimension for
 * bitcast-convert (XLA's operation semantics), in the order of the memory for bitcast.
 *
 *     u8[6,4] bitcast-convert(f32[6] x)     at (2, 3): bits 24..31 of x[2]
 */
#include "eval/inner.h"

/* The bits of lane k in its own type; false: not one value. */
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

/* Where element `unit` of the narrower array's order stands in an array: as the layout says for bitcast, else as it is. */
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
    int64_t own = sc_type_info[from].bits, wanted = sc_type_info[to].bits, n = t->set->n;
    if (sc_type_info[from].cls == 'C' || sc_type_info[to].cls == 'C' || from == SC_PRED || to == SC_PRED)
        wbb_decline(e->cx, i->loc, WHY_TYPE, "the evaluator reads no %s as %s", sc_type_info[from].hlo, sc_type_info[to].hlo);
    int64_t parts = own > wanted ? own / wanted : wanted / own, each = own > wanted ? 1 : parts; /* elements read for one made */
    const int64_t *place;
    int64_t *list = ev_list(e, n);
    for (int64_t k = 0; k < n; k++) list[k] = ev_position(t->set, k);
    place = list;
    if (i->opcode == HLO_BITCAST) {
        HloShape flat = *i->shape;
        int64_t size = hlo_elements(i->shape);
        static const uint8_t only[1] = {0};
        flat.rank = 1, flat.dims = &size, flat.minor_to_major = only;
        place = ev_by_layout(e, i->shape, &flat, t->set);
    }
    EvMove *m = t->state;
    if (!m) {
        int64_t *read = ev_list(e, n * each);
        for (int64_t k = 0; k < n; k++)
            for (int64_t p = 0; p < each; p++) read[k * each + p] = own > wanted ? place[k] / parts : place[k] * each + p;
        t->state = m = ev_move_new(e, n * each, 1);
        ev_move_source(e, m, ev_operand(e, t, 0), in_memory(e, i, i->operands[0]->shape, read, n * each), NULL, n * each);
    }
    const void *x = ev_move_finish(e, from, m);
    if (!x) return NULL;
    void *lanes = ev_lanes(e, (size_t)n * ev_lane_bytes(e->mode, to));
    for (int64_t k = 0; k < n; k++) {
        uint64_t made = 0, bits = 0;
        bool known = true;
        for (int64_t p = 0; p < each; p++) {
            known = bits_of(e, from, x, k * each + p, &bits) && known;
            made |= known ? bits << (own * p) : 0;
        }
        if (own > wanted) made = bits >> (place[k] % parts * wanted) & sc_mask(to);
        put_bits(e, to, lanes, k, known, made);
    }
    return lanes;
}

void *ev_dimension_size(Ev *e, EvTask *t)
{
    const HloInstruction *i = t->ref.i;
    const HloShape *s = i->operands[0]->shape;
    int64_t d = i->n_dimensions ? i->dimensions[0] : 0;
    if (s->dynamic >> d & 1) wbb_decline(e->cx, i->loc, WHY_SHAPE, "dimension %lld of %s has a size that is known only when it runs", (long long)d, i->operands[0]->name);
    void *lanes = ev_lanes(e, (size_t)t->set->n * ev_lane_bytes(e->mode, i->shape->type));
    for (int64_t k = 0; k < t->set->n; k++) put_bits(e, i->shape->type, lanes, k, true, sc_from_i128(i->shape->type, s->dims[d]));
    return lanes;
}
