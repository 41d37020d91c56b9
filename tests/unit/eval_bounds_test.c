/* eval_bounds: interval arithmetic contains the result of every value (small types) or of many values (others), and
 * stays tight. */
#include "eval/bounds.h"

#include "unit.h"

#include <math.h>

static uint64_t state_of_chance = 7;

static uint64_t chance(void)
{
    return wbb_mix(state_of_chance += UINT64_C(0x9e3779b97f4a7c15));
}

static EvBound exact(ScType t, uint64_t bits) { return ev_bound_exact(t, bits); }
static EvBound f32_bound(double lo, double hi) { return (EvBound){{.f = lo}, {.f = hi}, 0}; }

static void check(ScOp op, ScType t, ScType from, const EvBound *b, const uint64_t *x, const EvBound *r)
{
    uint64_t got = 0;
    ScType out = sc_op_info[op].signature == SC_COMPARE || sc_op_info[op].signature == SC_TEST ? SC_PRED : t;
    if (!ev_value(op, t, from, x, &got)) return;
    if (ev_bounds_contains(out, got, r)) return;
    print_error("%s.%s(%llx, %llx) = %llx is outside [%g, %g] flags %u or [%lld, %lld]; operands [%g, %g] %u and [%g, "
                "%g] %u, or [%lld, %lld], [%lld, %lld]\n",
                sc_op_info[op].name, sc_type_info[t].name, (unsigned long long)x[0], (unsigned long long)x[1],
                (unsigned long long)got, r->lo.f, r->hi.f, r->flags, (long long)r->lo.i, (long long)r->hi.i, b[0].lo.f,
                b[0].hi.f, b[0].flags, b[1].lo.f, b[1].hi.f, b[1].flags, (long long)b[0].lo.i, (long long)b[0].hi.i,
                (long long)b[1].lo.i, (long long)b[1].hi.i);
    fail();
}

static const ScOp int_ops[] = {OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_REM, OP_POW, OP_MAX, OP_MIN, OP_BAND, OP_BOR, OP_BXOR, OP_SHL, OP_SHRA, OP_SHRL,
                               OP_EQ, OP_NE, OP_LT, OP_LE, OP_GT, OP_GE, OP_NEG, OP_ABS, OP_SIGN, OP_BNOT, OP_POPCNT, OP_CLZ};

static EvBound int_bound(ScType t, uint64_t a, uint64_t b)
{
    EvBound x = exact(t, a), y = exact(t, b);
    bool swapped = sc_is_signed(t) ? x.lo.i > y.lo.i : x.lo.u > y.lo.u;
    return swapped ? (EvBound){y.lo, x.hi, 0} : (EvBound){x.lo, y.hi, 0};
}

/* All intervals of 2-bit and 4-bit integers, and all their values. */
static void test_small_integers(void **state)
{
    (void)state;
    const ScType types[] = {SC_I4, SC_U4, SC_I2, SC_U2};
    for (unsigned k = 0; k < WBB_LEN(types); k++) {
        ScType t = types[k];
        uint64_t m = sc_mask(t);
        for (unsigned o = 0; o < WBB_LEN(int_ops); o++) {
            ScOp op = int_ops[o];
            if (sc_op_info[op].arity == 2 && sc_type_info[t].bits == 4 && (o + k) % 2 && op != OP_DIV && op != OP_REM)
                continue;
            for (uint64_t a = 0; a <= m; a++)
                for (uint64_t b = a; b <= m; b++)
                    for (uint64_t c = 0; c <= (sc_op_info[op].arity == 2 ? m : 0); c++)
                        for (uint64_t d = c; d <= m; d += 1 + d % 3) {
                            const EvBound x[2] = {int_bound(t, a, b), int_bound(t, c, d)};
                            EvBound r = ev_bound_op(op, t, t, x, false);
                            for (uint64_t p = 0; p <= m; p++)
                                for (uint64_t q = 0; ev_bounds_contains(t, p, &x[0]) && q <= m; q++)
                                    if (ev_bounds_contains(t, q, &x[1])) check(op, t, t, x, (uint64_t[2]){p, q}, &r);
                            if (sc_op_info[op].arity == 1) break;
                        }
        }
    }
}

/* Wider integers: short and long intervals, values at their ends and within. */
static void test_integers(void **state)
{
    (void)state;
    const ScType types[] = {SC_I8, SC_U8, SC_I16, SC_I32, SC_U32, SC_I64, SC_U64};
    for (unsigned k = 0; k < WBB_LEN(types); k++)
        for (unsigned o = 0; o < WBB_LEN(int_ops); o++)
            for (unsigned n = 0; n < 400; n++) {
                ScType t = types[k];
                EvBound x[2];
                for (unsigned p = 0; p < 2; p++) {
                    uint64_t a = chance() >> (chance() % 64), width = chance() >> (chance() % 64);
                    x[p] = int_bound(t, a & sc_mask(t), (a + width) & sc_mask(t));
                }
                EvBound r = ev_bound_op(int_ops[o], t, t, x, false);
                for (unsigned v = 0; v < 12; v++) {
                    uint64_t value[2];
                    for (unsigned p = 0; p < 2; p++) {
                        uint64_t span = x[p].hi.u - x[p].lo.u, step = v == 0               ? 0
                                                                      : v == 1             ? span
                                                                      : span == UINT64_MAX ? chance()
                                                                                           : chance() % (span + 1);
                        value[p] = (x[p].lo.u + step) & sc_mask(t);
                    }
                    check(int_ops[o], t, t, x, value, &r);
                }
            }
}

static const ScOp float_ops[] = {OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_REM, OP_POW, OP_ATAN2, OP_MAX, OP_MIN, OP_EQ, OP_NE, OP_LT, OP_LE, OP_GT, OP_GE,
                                 OP_IS_FINITE, OP_NEG, OP_ABS, OP_SIGN, OP_FLOOR, OP_CEIL, OP_ROUND_EVEN, OP_ROUND_AFZ, OP_EXP, OP_EXPM1, OP_LOG,
                                 OP_LOG1P, OP_LOGISTIC, OP_TANH, OP_TAN, OP_SIN, OP_COS, OP_SINH, OP_COSH, OP_ASIN, OP_ACOS, OP_ASINH, OP_ACOSH,
                                 OP_ATANH, OP_ERF, OP_SQRT, OP_RSQRT, OP_CBRT};

static EvBound float_bound(ScType t, uint64_t a, uint64_t b, bool nan)
{
    double x = sc_to_f64(t, a), y = sc_to_f64(t, b);
    if (isnan(x) || isnan(y)) return ev_bound_nan();
    bool swapped = x > y || (x == 0 && y == 0 && signbit(y));
    return (EvBound){{.f = swapped ? y : x}, {.f = swapped ? x : y}, nan ? EV_MAYBE_NAN : 0};
}

/* A value of the interval: an end, a zero, a nan, or a random code between the ends. */
static uint64_t value_in(ScType t, const EvBound *b, unsigned v)
{
    uint64_t low = sc_from_f64(t, b->lo.f), high = sc_from_f64(t, b->hi.f);
    if (b->flags & EV_MUST_NAN || (v == 3 && b->flags)) return sc_from_f64(t, (double)NAN);
    if (v < 2) return v ? high : low;
    for (unsigned k = 0; k < 20; k++) {
        uint64_t bits = v == 2   ? 0
                        : v == 4 ? sc_from_f64(t, -0.0)
                        : k < 10 ? low + chance() % 4
                                 : chance() & sc_mask(t);
        if (!isnan(sc_to_f64(t, bits)) && ev_bounds_contains(t, bits, b)) return bits;
    }
    return low;
}

static uint64_t some_float(ScType t)
{
    static const double special[] = {0, -0.0, 1, -1, 0.5, 2, 3, -2, 1e-30, 1e30, 1.5707964, 3.1415927, -0.75, 0.9999, 88, -104, 100, 1e-4, 6.0};
    uint64_t r = chance();
    if (r % 8 == 0) return sc_from_f64(t, r & 256 ? (double)INFINITY : -(double)INFINITY);
    if (r % 2) return sc_from_f64(t, special[(r >> 8) % WBB_LEN(special)]);
    return (r >> 4) & sc_mask(t);
}

static void test_floats(void **state)
{
    (void)state;
    const ScType types[] = {SC_BF16, SC_F16, SC_F32, SC_F64, SC_F8E4M3FN, SC_F8E5M2, SC_F4E2M1FN, SC_F8E4M3FNUZ, SC_F8E3M4, SC_F8E8M0FNU};
    for (unsigned k = 0; k < WBB_LEN(types); k++)
        for (unsigned o = 0; o < WBB_LEN(float_ops); o++)
            for (unsigned n = 0; n < 600; n++) {
                ScType t = types[k];
                EvBound x[2];
                for (unsigned p = 0; p < 2; p++) {
                    uint64_t a = some_float(t);
                    x[p] = float_bound(t, a,
                                       chance() % 3   ? some_float(t)
                                       : chance() % 2 ? a
                                                      : (a + chance() % 5) & sc_mask(t),
                                       chance() % 8 == 0);
                    if (t == SC_F4E2M1FN) x[p].flags = 0;
                }
                EvBound r = ev_bound_op(float_ops[o], t, t, x, false);
                for (unsigned v = 0; v < 25; v++)
                    check(float_ops[o], t, t, x, (uint64_t[2]){value_in(t, &x[0], v % 5), value_in(t, &x[1], v / 5)},
                          &r);
            }
}

static void test_conversions(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 60000; n++) {
        ScType from = (ScType)(SC_PRED + chance() % (SC_F64 - SC_PRED + 1)),
               to = (ScType)(SC_PRED + chance() % (SC_F64 - SC_PRED + 1));
        EvBound x[2] = {{{0}, {0}, 0}, {{0}, {0}, 0}}; /* check reports two operands */
        x[0] = sc_is_float(from)
                   ? float_bound(from, some_float(from), some_float(from), chance() % 8 == 0)
                   : int_bound(from, chance() & sc_mask(from), (chance() >> (chance() % 64)) & sc_mask(from));
        if (from == SC_F4E2M1FN) x[0].flags = 0;
        EvBound r = ev_bound_op(OP_CVT, to, from, x, false);
        for (unsigned v = 0; v < 5; v++) {
            const uint64_t bits[2] = {sc_is_float(from) ? value_in(from, x, v) : (v & 1 ? x[0].hi.u : x[0].lo.u) & sc_mask(from), 0};
            check(OP_CVT, to, from, x, bits, &r);
        }
    }
}

/* Intervals that must be no wider than this. */
static void test_tight(void **state)
{
    (void)state;
    EvBound x = f32_bound(-1, 2), r;
    assert_true(ev_bound_same(OP_MUL, SC_F32, &x, false, &r) && r.lo.f == 0 && r.hi.f == 4 && !r.flags);
    assert_true(ev_bound_same(OP_SUB, SC_F32, &x, false, &r) && r.lo.f == 0 && r.hi.f == 0 && !r.flags);
    const EvBound wrapped[2] = {int_bound(SC_U8, 250, 252), int_bound(SC_U8, 10, 10)};
    r = ev_bound_op(OP_ADD, SC_U8, SC_U8, wrapped, false);
    assert_true(r.lo.u == 4 && r.hi.u == 6);
    const EvBound mask[2] = {int_bound(SC_I32, 0, 1000), int_bound(SC_I32, 7, 7)};
    r = ev_bound_op(OP_BAND, SC_I32, SC_I32, mask, false);
    assert_true(r.lo.i == 0 && r.hi.i == 7);
    const EvBound apart[2] = {f32_bound(1, 2), f32_bound(3, 4)}, meeting[2] = {f32_bound(1, 3), f32_bound(2, 4)};
    r = ev_bound_op(OP_LT, SC_F32, SC_F32, apart, false);
    assert_true(r.lo.u == 1 && r.hi.u == 1);
    r = ev_bound_op(OP_LT, SC_F32, SC_F32, meeting, false);
    assert_true(r.lo.u == 0 && r.hi.u == 1);
    const EvBound square[2] = {f32_bound(-3, 2), f32_bound(2, 2)};
    r = ev_bound_op(OP_POW, SC_F32, SC_F32, square, false);
    assert_true(r.lo.f >= 0 && r.hi.f > 8.99 && r.hi.f < 9.01);
    r = ev_bound_op(OP_CVT, SC_F8E4M3FN, SC_F32, &(EvBound){{.f = 400}, {.f = 1e9}, 0},
                    false); /* the type overflows to nan */
    assert_true(r.flags == EV_MAYBE_NAN && r.lo.f == 384 && r.hi.f == 448);
    r = ev_bound_op(OP_EXP, SC_F32, SC_F32, &(EvBound){{.f = 0}, {.f = 0}, 0}, false);
    assert_true(r.lo.f == 1 - 4.5 * 0x1p-23 && r.hi.f == 1 + 4 * 0x1p-23); /* 1 + 4.5 ulp is not an f32 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_integers), cmocka_unit_test(test_integers),    cmocka_unit_test(test_floats),
        cmocka_unit_test(test_conversions),    cmocka_unit_test(test_tight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
