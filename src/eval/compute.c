/* compute: elementwise operations on lanes, in EV_PLAIN and EV_F64.
 *
 * Needs: the lanes of every operand, as many as are wanted of the result. Leaves: the lanes of the result, never in
 * place.
 *
 * sc_loop does the work. Types without loops are computed in a type that has one: integers under 8 bits in 8 bits and
 * then cut, floats of 8 bits and below in f64 and then rounded once, which gives the correctly rounded result.
 *
 *     r = bf16 add(a, b): sc_loop(OP_ADD, SC_BF16, ..); in EV_F64: sc_loop(OP_ADD, SC_F64, ..)
 */
#include "eval/bounds.h"

#include <math.h>
#include <string.h>

static bool is_small_int(ScType t) { return sc_is_int(t) && sc_type_info[t].bits < 8; }
static bool is_small_float(ScType t) { return sc_is_float(t) && sc_type_info[t].bits <= 8; }

static void *convert(Ev *e, ScType to, ScType from, int64_t n, void *x)
{
    if (to == from) return x;
    void *r = ev_lanes(e, (size_t)n * sc_bytes(to));
    ScLoop loop = sc_loop(OP_CVT, to, from);
    if (loop) {
        loop((size_t)n, r, x, NULL, NULL);
        return r;
    }
    for (int64_t k = 0; k < n; k++) {
        uint64_t bits = ev_get(from, x, k);
        ev_set(to, r, k,
               sc_is_float(from) ? sc_from_f64(to, sc_to_f64(from, bits)) : sc_from_i128(to, sc_to_i128(from, bits)));
    }
    return r;
}

void *ev_as(Ev *e, ScType to, ScType from, int64_t n, void *lanes)
{
    if (to == from || !sc_is_float(to) || !sc_is_float(from)) return lanes;
    if (e->mode != EV_BOUNDS) return convert(e, ev_lane_type(e->mode, to), ev_lane_type(e->mode, from), n, lanes);
    EvBound *r = ev_lanes(e, (size_t)n * sizeof *r);
    for (int64_t k = 0; k < n; k++) r[k] = ev_bound_convert(to, from, (const EvBound *)lanes + k);
    return r;
}

/* The type in which an operation on t is computed. */
static ScType computed_in(ScType t)
{
    if (is_small_float(t)) return SC_F64;
    if (is_small_int(t)) return sc_is_signed(t) ? SC_I8 : SC_U8;
    return t;
}

static void cut(ScType t, void *lanes, int64_t n)
{
    for (int64_t k = 0; k < n; k++) ev_set(t, lanes, k, ev_get(t, lanes, k));
}

/* Operations on integers under 8 bits whose result depends on the width. */
static void *one_by_one(Ev *e, ScOp op, ScType t, int64_t n, void *const *x)
{
    void *r = ev_lanes(e, (size_t)n * sc_bytes(t));
    for (int64_t k = 0; k < n; k++) {
        uint64_t value[2] = {ev_get(t, x[0], k), sc_op_info[op].arity > 1 ? ev_get(t, x[1], k) : 0}, bits = 0;
        ev_value(op, t, t, value, &bits);
        ev_set(t, r, k, bits);
    }
    return r;
}

/* One operation whose operands and result are of type t, except for the predicate of a select and the result of a
 * comparison. */
static void *run_op(Ev *e, const HloInstruction *i, ScOp op, ScType t, int64_t n, void *const *x)
{
    const ScOpInfo *info = &sc_op_info[op];
    ScType in = computed_in(t), out = info->signature == SC_COMPARE || info->signature == SC_TEST ? SC_PRED : in;
    bool widths = op == OP_CLZ || op == OP_POPCNT || op == OP_SHRL || op == OP_SHRA;
    if (is_small_int(t) && widths) return one_by_one(e, op, t, n, x);
    ScLoop loop = sc_loop(op, in, in);
    if (!loop)
        wbb_decline(e->cx, i->loc, WHY_TYPE, "the evaluator has no %s of %s", hlo_opcode_name(i->opcode),
                    sc_type_info[t].name);
    void *v[3] = {0};
    for (unsigned k = 0; k < info->arity; k++) {
        bool predicate = info->signature == SC_SELECT && k == 0;
        v[k] = predicate || is_small_int(t) ? x[k] : convert(e, in, t, n, x[k]);
    }
    void *r = ev_lanes(e, (size_t)n * sc_bytes(out));
    loop((size_t)n, r, v[0], v[1], v[2]);
    if (out == SC_PRED) return r;
    if (is_small_int(t)) cut(t, r, n);
    if (is_small_float(t)) r = convert(e, t, in, n, r);
    if (e->noise) ev_perturb(e, op, t, n, x, r);
    return r;
}

/* compare type=TOTALORDER: -nan below -inf, -0 below +0, +inf below nan. */
static void *compare_total(Ev *e, const HloInstruction *i, ScType t, int64_t n, void *const *x)
{
    int64_t *key[2];
    for (int p = 0; p < 2; p++) {
        key[p] = ev_list(e, n);
        for (int64_t k = 0; k < n; k++) key[p][k] = ev_total_key(t, ev_get(t, x[p], k));
    }
    void *r = ev_lanes(e, (size_t)n);
    sc_loop(hlo_comparison(i->direction), SC_I64, SC_I64)((size_t)n, r, key[0], key[1], NULL);
    return r;
}

static void *reduce_precision(Ev *e, const HloInstruction *i, ScType t, int64_t n, void *x)
{
    void *r = ev_lanes(e, (size_t)n * sc_bytes(t));
    for (int64_t k = 0; k < n; k++) ev_set(t, r, k, ev_reduced(t, ev_get(t, x, k), i));
    return r;
}

/* The high half of the product. */
static void *mulhi(Ev *e, ScType t, int64_t n, void *const *x)
{
    void *r = ev_lanes(e, (size_t)n * sc_bytes(t));
    for (int64_t k = 0; k < n; k++) {
        WbbI128 a = sc_to_i128(t, ev_get(t, x[0], k)), b = sc_to_i128(t, ev_get(t, x[1], k));
        WbbU128 product = (WbbU128)a * (WbbU128)b;
        ev_set(t, r, k, (uint64_t)(product >> sc_type_info[t].bits) & sc_mask(t));
    }
    return r;
}

static ScOp op_of(const Ev *e, const HloInstruction *i)
{
    ScOp op = i->opcode == HLO_COMPARE ? hlo_comparison(i->direction) : hlo_scalar(i->opcode);
    if (op == OP_NONE) wbb_decline(e->cx, i->loc, WHY_OPERATION, "the evaluator has no %s", hlo_opcode_name(i->opcode));
    return op;
}

static void *on_bounds(Ev *e, const HloInstruction *i, int64_t n, void *const *x)
{
    ScType type = i->shape->type, from = i->operands[0]->shape->type;
    if (i->opcode == HLO_COPY || (i->opcode == HLO_BITCAST_CONVERT && type == from)) return x[0];
    if (sc_type_info[type].cls == 'C' || sc_type_info[from].cls == 'C') return ev_bounds_complex(e, i, n, x);
    if (i->opcode == HLO_BITCAST_CONVERT) return ev_bits(e, type, from, n, x[0]);
    EvBound *r = ev_lanes(e, (size_t)n * sizeof *r);
    bool without_op = i->opcode == HLO_CLAMP || i->opcode == HLO_REDUCE_PRECISION || i->opcode == HLO_MULHI ||
                      i->opcode == HLO_REAL || i->opcode == HLO_IMAG || (i->opcode == HLO_COMPARE && i->total_order);
    ev_bounds(i, without_op ? OP_NONE : op_of(e, i), e->accuracy, n, r, x);
    return r;
}

void *ev_elementwise(Ev *e, const HloInstruction *i, int64_t n, void *const *x)
{
    if (e->mode == EV_BOUNDS) return on_bounds(e, i, n, x);
    ScType type = i->shape->type, from_type = i->operands[i->opcode == HLO_SELECT ? 1 : 0]->shape->type;
    ScType t = ev_lane_type(e->mode, type), from = ev_lane_type(e->mode, from_type);
    if (i->opcode == HLO_BITCAST_CONVERT && type == from_type) return x[0];
    if (sc_type_info[t].cls == 'C' || sc_type_info[from].cls == 'C') return ev_complex(e, i, n, x);
    switch (i->opcode) {
    case HLO_COPY: return x[0];
    case HLO_CONVERT: return convert(e, t, from, n, x[0]);
    case HLO_BITCAST_CONVERT: return ev_bits(e, type, from_type, n, x[0]);
    case HLO_REDUCE_PRECISION: return reduce_precision(e, i, t, n, x[0]);
    case HLO_COMPLEX: return ev_complex(e, i, n, x);
    case HLO_REAL: return x[0];
    case HLO_IMAG: return wbb_alloc(e->block, (size_t)n * sc_bytes(t));
    case HLO_MULHI: return mulhi(e, t, n, x);
    case HLO_CLAMP: {
        void *const low[2] = {x[0], x[1]};
        void *const high[2] = {x[2], run_op(e, i, OP_MAX, t, n, low)};
        return run_op(e, i, OP_MIN, t, n, high);
    }
    case HLO_COMPARE:
        if (i->total_order && sc_is_float(from)) return compare_total(e, i, from, n, x);
        return run_op(e, i, op_of(e, i), from, n, x);
    default: break;
    }
    ScOp op = op_of(e, i);
    return run_op(e, i, op, sc_op_info[op].signature == SC_TEST ? from : t, n, x);
}
