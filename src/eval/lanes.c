/* lanes: how elements are held while they are evaluated.
 *
 * Needs: arrays in their own types. Leaves: lanes. In EV_PLAIN these are the elements as they are (s2 and s4
 * sign-extended to a byte, u2 and u4 zero-extended), in EV_F64 doubles for floats and pairs of doubles for complex, in
 * EV_BOUNDS an EvBound each.
 *
 *     ev_import(e, SC_BF16, raw, set)      // EV_F64: doubles; EV_BOUNDS: [x, x]; EV_PLAIN and a range: a pointer into
 * raw
 */
#include "eval/inner.h"

#include <string.h>

size_t ev_lane_bytes(EvMode mode, ScType t)
{
    return mode == EV_BOUNDS ? (sc_type_info[t].cls == 'C' ? 2 : 1) * sizeof(EvBound) : sc_bytes(ev_lane_type(mode, t));
}

ScType ev_lane_type(EvMode mode, ScType t)
{
    if (mode != EV_F64) return t;
    char cls = sc_type_info[t].cls;
    return cls == 'F' ? SC_F64 : cls == 'C' ? SC_C128 : t;
}

uint64_t ev_get(ScType t, const void *data, int64_t k)
{
    size_t bytes = sc_bytes(t);
    uint64_t bits = 0;
    memcpy(&bits, (const char *)data + (size_t)k * bytes, bytes);
    return bits & sc_mask(t);
}

void ev_set(ScType t, void *data, int64_t k, uint64_t bits)
{
    size_t bytes = sc_bytes(t);
    if (sc_is_signed(t) && sc_type_info[t].bits < 8) bits = (uint64_t)sc_to_i128(t, bits);
    memcpy((char *)data + (size_t)k * bytes, &bits, bytes);
}

#define GATHER(T) \
    do { \
        T *r = to; \
        const T *x = from; \
        for (int64_t k = 0; k < set->n; k++) r[k] = x[set->list[k]]; \
    } while (0)

void ev_gather(void *to, const void *from, size_t bytes, const EvSet *set)
{
    if (!set->list) {
        memcpy(to, (const char *)from + (size_t)set->start * bytes, (size_t)set->n * bytes);
        return;
    }
    switch (bytes) {
    case 1: GATHER(uint8_t); return;
    case 2: GATHER(uint16_t); return;
    case 4: GATHER(uint32_t); return;
    case 8: GATHER(uint64_t); return;
    case sizeof(EvBound): GATHER(EvBound); return;
    default: break;
    }
    for (int64_t k = 0; k < set->n; k++)
        memcpy((char *)to + (size_t)k * bytes, (const char *)from + (size_t)set->list[k] * bytes, bytes);
}

void *ev_lanes(Ev *e, size_t bytes)
{
    bytes = WBB_MAX((bytes + 15) & ~(size_t)15, 16);
    while (e->slab && bytes > e->slab->capacity - e->slab->used) {
        if (!e->slab->next) break;
        e->slab = e->slab->next;
        e->slab->used = 0;
    }
    if (!e->slab || bytes > e->slab->capacity - e->slab->used) {
        EvSlab *s = WBB_NEW(e->arena, EvSlab);
        s->capacity = WBB_MAX(bytes, e->slab ? WBB_MIN(4 * e->slab->capacity, (size_t)EV_SLAB) : (size_t)EV_FIRST_SLAB);
        s->bytes = wbb_alloc(e->arena, s->capacity);
        if (e->slab) e->slab->next = s;
        else e->slabs = s;
        e->slab = s;
    }
    void *p = e->slab->bytes + e->slab->used;
    e->slab->used += bytes;
    return p;
}

int64_t *ev_list(Ev *e, int64_t n) { return ev_lanes(e, wbb_mul_size(e->arena, (size_t)n, sizeof(int64_t))); }

void ev_fill(void *to, const void *one, size_t bytes, int64_t n)
{
    char *r = to;
    if (n > 0) memcpy(r, one, bytes);
    for (int64_t done = 1; done < n; done *= 2)
        memcpy(r + (size_t)done * bytes, r, (size_t)WBB_MIN(done, n - done) * bytes);
}

static void import_bounds(ScType t, EvBound *r, const void *raw, int64_t n)
{
    ScType p = ev_part_type(t);
    for (int64_t k = 0; k < (p == t ? n : 2 * n); k++) r[k] = ev_bound_exact(p, ev_get(p, raw, k));
}

void ev_doubles(ScType t, double *r, const void *raw, int64_t n)
{
    ScLoop widen = sc_loop(OP_CVT, SC_F64, t);
    if (widen) {
        widen((size_t)n, r, raw, NULL, NULL);
        return;
    }
    for (int64_t k = 0; k < n; k++) r[k] = sc_to_f64(t, ev_get(t, raw, k));
}

void *ev_import(Ev *e, ScType t, const void *raw, const EvSet *set)
{
    size_t raw_bytes = sc_bytes(t), bytes = ev_lane_bytes(e->mode, t);
    char cls = sc_type_info[t].cls;
    if (cls == '-')
        wbb_decline(e->cx, (WbbLoc){0}, WHY_TYPE, "the evaluator does not take %s here", sc_type_info[t].name);
    bool small = sc_type_info[t].bits < 8 && cls != 'F';
    const char *values = (const char *)raw + (set->list ? 0 : (size_t)set->start * raw_bytes);
    if (set->list) {
        char *picked = ev_lanes(e, (size_t)set->n * raw_bytes);
        ev_gather(picked, raw, raw_bytes, set);
        values = picked;
    }
    if (e->mode != EV_BOUNDS && ev_lane_type(e->mode, t) == t && !small) return (void *)values;
    void *lanes = ev_lanes(e, (size_t)set->n * bytes);
    if (e->mode == EV_BOUNDS) import_bounds(t, lanes, values, set->n);
    else if (small)
        for (int64_t k = 0; k < set->n; k++) ev_set(t, lanes, k, ev_get(t, values, k));
    else if (cls == 'C') ev_doubles(SC_F32, lanes, values, 2 * set->n);
    else ev_doubles(t, lanes, values, set->n);
    return lanes;
}

void *ev_bits(Ev *e, ScType to, ScType from, int64_t n, void *lanes)
{
    bool small = sc_type_info[to].bits < 8;
    if (to == from) return lanes;
    if (e->mode == EV_PLAIN && !small) return lanes;
    void *made = ev_lanes(e, (size_t)n * ev_lane_bytes(e->mode, to));
    if (e->mode == EV_BOUNDS) {
        EvBound *r = made;
        const EvBound *x = lanes;
        for (int64_t k = 0; k < n; k++) {
            uint64_t bits;
            r[k] = ev_bound_single(from, &x[k], &bits) ? ev_bound_exact(to, bits) : ev_bound_any(to);
        }
        return made;
    }
    ScType held_from = ev_lane_type(e->mode, from), held_to = ev_lane_type(e->mode, to);
    for (int64_t k = 0; k < n; k++) {
        uint64_t bits = ev_get(held_from, lanes, k);
        if (held_from != from) bits = sc_from_f64(from, sc_to_f64(SC_F64, bits));
        if (held_to != to) bits = sc_from_f64(SC_F64, sc_to_f64(to, bits));
        ev_set(held_to, made, k, bits);
    }
    return made;
}

bool ev_int_of(const Ev *e, ScType t, const void *lanes, int64_t k, int64_t *value)
{
    uint64_t bits;
    if (e->mode == EV_BOUNDS) {
        if (!ev_bound_single(t, (const EvBound *)lanes + k, &bits)) return false;
    } else {
        bits = ev_get(t, lanes, k);
    }
    WbbI128 wide = sc_to_i128(t, bits);
    *value = wide > INT64_MAX ? INT64_MAX : (int64_t)wide;
    return true;
}

EvBound *ev_bound_unknown(Ev *e, ScType t, int64_t n)
{
    ScType p = ev_part_type(t);
    const EvBound any = ev_bound_any(p);
    EvBound *r = ev_lanes(e, wbb_mul_size(e->arena, (size_t)n, ev_lane_bytes(EV_BOUNDS, t)));
    ev_fill(r, &any, sizeof any, p == t ? n : 2 * n);
    return r;
}
