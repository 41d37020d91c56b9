/* rewrite_element_rules: every rule on elements keeps the value of the term that it rewrites. Random expressions of
 * every operation and type go through the passes simplify, lower and isel of each target, and are compared with their
 * own value; facts of elements are true. */
#include "hlo/hlo.h"
#include "index/index.h"
#include "rewrite/inner.h"
#include "target/target.h"

#include "random.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

/* --- element expressions ------------------------------------------------------------------------------------------ */
typedef struct {
    const char *target;
    ScAccuracy accuracy;
    bool no_llvm; /* as where the tables alone write the PTX */
    uint32_t trials;
    uint32_t *counts;
} Elements;

static const ScType types[] = {SC_PRED, SC_I2, SC_I4, SC_I8, SC_I16, SC_I32, SC_I64, SC_U2, SC_U4, SC_U8, SC_U16, SC_U32, SC_U64,
                               SC_F4E2M1FN, SC_F8E3M4, SC_F8E4M3, SC_F8E4M3FN, SC_F8E4M3B11FNUZ, SC_F8E4M3FNUZ, SC_F8E5M2, SC_F8E5M2FNUZ,
                               SC_F8E8M0FNU, SC_F16, SC_BF16, SC_F32, SC_F64};

static ScType random_type(void) { return types[below(WBB_LEN(types))]; }
static const char *name_of(ScType t) { return sc_type_info[t].name; }

static void put_leaf(WbbBuf *b, ScType t)
{
    static const char *const floats[] = {"0.0", "-0.0", "1.0", "-1.0", "2.5", "inf", "nan"};
    static const char *const ints[] = {"0", "1", "2", "3", "7", "100"};
    static const char *const fractions[] = {"1.0", "2.0", "0.5"}; /* every float type of 8 bits has these */
    const bool narrow = sc_type_info[t].bits < 8;
    if (below(3)) wbb_putf(b, "load %%%s[%u]", name_of(t), below(3));
    else if (t == SC_PRED) wbb_put(b, below(2) ? "true" : "false");
    else if (sc_is_float(t) && sc_type_info[t].bits <= 8) wbb_put(b, fractions[below(WBB_LEN(fractions))]);
    else if (sc_is_float(t)) wbb_put(b, floats[below(WBB_LEN(floats))]);
    else if (narrow) wbb_put(b, ints[below(2)]);
    else wbb_put(b, sc_is_signed(t) && !below(4) ? "-1" : ints[below(WBB_LEN(ints))]);
}

static bool of_program(ScOp op)
{
    const ScOpInfo *o = &sc_op_info[op];
    for (HloOpcode h = 0; h < HLO_OPCODE_COUNT; h++)
        if (hlo_scalar(h) != OP_NONE && hlo_scalar(h) == op) return true;
    return o->signature == SC_COMPARE;
}

/* A random operation: of numbers that each one has by its name and the draw, the greatest. So an operation that is new
 * takes some draws, and leaves all others as they are. */
static ScOp random_operation(void)
{
    static uint64_t names[OP_COUNT];
    const uint64_t draw = ((uint64_t)below(1u << 31) + 1) * 0x9e3779b97f4a7c15u;
    uint64_t most = 0;
    ScOp taken = (ScOp)0;
    for (uint32_t op = 0; op < OP_COUNT; op++) {
        if (!names[op]) names[op] = wbb_hash(sc_op_info[op].name, strlen(sc_op_info[op].name), 1) | 1;
        uint64_t x = (names[op] ^ draw) * 0xbf58476d1ce4e5b9u;
        x = (x ^ x >> 31) * 0x94d049bb133111ebu;
        if (x >= most) most = x, taken = (ScOp)op;
    }
    return taken;
}

/* Writes a random expression of type t; `rounded`: with correctly rounded operations only. */
static void put_value(WbbBuf *b, ScType t, int depth, bool rounded)
{
    for (int tries = 0; depth > 0 && tries < 40; tries++) {
        const ScOp op = random_operation();
        const ScOpInfo *o = &sc_op_info[op];
        if (!of_program(op) || (rounded && sc_budget(op, t, SC_EXACT).ulp > 0)) continue;
        ScType from = t;
        if (o->signature == SC_COMPARE || o->signature == SC_TEST) {
            if (t != SC_PRED) continue;
            from = random_type();
            if (!strchr(o->classes, sc_type_info[from].cls)) continue;
        } else if (!strchr(o->classes, sc_type_info[t].cls)) {
            continue;
        }
        if (op == OP_POW && sc_is_int(t) && below(4)) continue;
        if (o->signature == SC_CONVERT) {
            from = random_type();
            if (from == t ||
                (op == OP_BITS && (sc_type_info[from].bits != sc_type_info[t].bits || from == SC_PRED || t == SC_PRED)))
                continue;
            if (op == OP_BITS && sc_is_float(from)) continue; /* the bits of a nan are open, and of others numbers */
            wbb_putf(b, "%s.%s.%s(", o->name, name_of(t), name_of(from));
        } else {
            wbb_putf(b, "%s.%s(", o->name, name_of(from));
        }
        for (int i = 0; i < o->arity; i++) {
            if (i) wbb_put(b, ", ");
            put_value(b, o->signature == SC_SELECT && i == 0 ? SC_PRED : from, depth - 1, rounded);
        }
        wbb_put(b, ")");
        return;
    }
    put_leaf(b, t);
}

typedef struct { uint64_t sample; } Leaves;

static uint64_t leaf_value(void *arg, const IrGraph *g, IrRef r)
{
    const IrNode *n = ir_at(g, r);
    if (n->op == OP_VAR) return ((const Leaves *)arg)->sample; /* tid */
    const ScType t = IR_SC(n->type);
    const uint64_t key[3] = {ir_at(g, n->a[0])->imm, ir_at(g, n->a[1])->imm, ((const Leaves *)arg)->sample};
    const uint64_t h = wbb_hash(key, sizeof key, 3);
    static const double edges[] = {0, -0.0, 1, -1, 0.5, 3, -2.5, 100, -100, 65504, 1e-7, 1e30, -1e30, 127, 128, -129, 32767.5, 1e-40, 4e9, 2e19};
    if (t == SC_PRED) return h & 1;
    if (h % 5 == 0) return (h >> 8) & sc_mask(t);
    if (sc_is_float(t))
        return sc_from_f64(t, h % 5 == 1 ? (double)(int64_t)(h >> 8) / 0x1p52 : edges[h / 5 % WBB_LEN(edges)]);
    static const int64_t ints[] = {0, 1, -1, 2, 3, 7, 8, 31, 32, 33, 63, 64, 127, -128, 255, 32767, INT32_MIN, INT32_MAX, INT64_MIN, INT64_MAX, 5, 15, 16};
    return sc_from_i128(t, ints[h / 5 % WBB_LEN(ints)]);
}

/* The distance of two values of a float type, in values of the type. */
static double steps(ScType t, uint64_t x, uint64_t y)
{
    const double p = sc_to_f64(t, x), q = sc_to_f64(t, y);
    if (p != p || q != q) return (p != p) == (q != q) ? 0 : 1e30;
    const uint64_t sign = 1ull << (sc_type_info[t].bits - 1);
    const double i = x & sign ? -(double)(x & ~sign) : (double)x, j = y & sign ? -(double)(y & ~sign) : (double)y;
    return i > j ? i - j : j - i;
}

static bool same(ScType t, uint64_t x, uint64_t y, ScBudget allowed)
{
    if (x == y) return true;
    if (!sc_is_float(t)) return false;
    const double p = sc_to_f64(t, x), q = sc_to_f64(t, y);
    if (p != p && q != q) return true;
    if (allowed.absolute > 0 && (p > q ? p - q : q - p) <= allowed.absolute) return true;
    return allowed.ulp > 0 && steps(t, x, y) <= allowed.ulp;
}

enum { SAMPLES = 12 };
static const ScBudget exact = {0, 0};

static IrRef root_of(const IrKernel *k) { return k->body.items[0]->value; }

static void compare(WbbArena *a, RwCx *rw, const IrKernel *k, IrRef before, ScType t, ScBudget allowed,
                    const char *pass, const char *text)
{
    for (Leaves l = {0}; l.sample < SAMPLES; l.sample++) {
        uint64_t x, y;
        assert_true(ir_eval(k->g, before, leaf_value, &l, &x));
        if (!ir_eval(k->g, root_of(k), leaf_value, &l, &y)) fail_msg("%s: no value after %s", text, pass);
        if (same(t, x, y, allowed)) continue;
        WbbBuf b = wbb_buf(a);
        ir_print_node(&b, k->g, root_of(k));
        fail_msg("%s: %s\n%s\nsample %u: %g (0x%llx) expected, %g (0x%llx) found (%g steps, %g allowed)\nafter: %s",
                 rw->target->name, pass, text, (unsigned)l.sample, sc_to_f64(t, x), (unsigned long long)x,
                 sc_to_f64(t, y), (unsigned long long)y, sc_is_float(t) ? steps(t, x, y) : 0.0, allowed.ulp, b.text);
    }
}

static void element_trial(WbbCx *cx, Elements *e, const char *value, ScType t, ScBudget allowed)
{
    WbbArena *a = wbb_arena_new(cx);
    WbbBuf b = wbb_buf(a);
    wbb_put(&b, "kernel @k(");
    for (size_t i = 0; i < WBB_LEN(types); i++) wbb_putf(&b, "%%%s: %s[3], ", name_of(types[i]), name_of(types[i]));
    wbb_putf(&b, "%%out: out %s[1]) block 32 grid 1 {\n  store %%out[0], %s\n}\n", name_of(t), value);
    IrKernel *k = ir_parse(cx, a, "random.ir", b.text, strlen(b.text));
    RwCx *rw = rw_new(cx, a, k->g, &ix_tables, tg_find(e->target)->tables, e->accuracy);
    if (e->no_llvm) rw_no_llvm(rw);
    const IrRef before = root_of(k);
    rw_index(rw, k);
    rw_run(rw, k, RW_SIMPLIFY);
    compare(a, rw, k, before, t, e->accuracy ? allowed : exact, "simplify", value); /* `nearer`, of marked functions */
    rw_run(rw, k, RW_LOWER);
    compare(a, rw, k, before, t, allowed, "lower", value);
    rw_run(rw, k, RW_ISEL); /* declines where no rule selects a node */
    ir_verify(k);
    for (uint32_t i = 0; i < rw->target->n_rules; i++) e->counts[i] += rw_counts(rw, false)[i];
    wbb_arena_free(a);
}

/* The bits of %t[k], where -0 is 0 and all nans are one, as an integer in the order of floats. */
static const char *in_order(WbbArena *a, const char *t, uint32_t bits, int k)
{
    const char *x = wbb_format(a, "load %%%s[%d]", t, k);
    const char *y = wbb_format(a, "bits.i%u.%s(select.%s(ne.%s(%s, %s), nan, select.%s(eq.%s(%s, 0.0), 0.0, %s)))",
                               bits, t, t, t, x, x, t, t, x, x);
    return wbb_format(a, "select.i%u(lt.i%u(%s, 0), bxor.i%u(%s, %llu), %s)", bits, bits, y, bits, y,
                      (1ull << (bits - 1)) - 1, y);
}

/* Signs, quotients and remainders by powers of two of a signed x, as floor_divide and remainder ask for them. */
static void by_powers(WbbCx *cx, Elements *e, WbbArena *a, ScType type, const char *x)
{
    static const char *const preds[] = {
        "ne.I(sign.I(X), 1)", "eq.I(sign.I(X), 1)", "eq.I(rem.I(X, 8), 0)", "ne.I(rem.I(X, 8), 0)",
    };
    static const char *const values[] = {
        "select.I(band.pred(le.I(X, 0), ne.I(band.I(X, 7), 0)), sub.I(div.I(X, 8), 1), div.I(X, 8))",
        "select.I(band.pred(le.I(X, 0), ne.I(band.I(X, 7), 0)), add.I(div.I(X, 8), -1), div.I(X, 8))",
        "select.I(band.pred(lt.I(rem.I(X, 8), 0), ne.I(band.I(X, 7), 0)), add.I(rem.I(X, 8), 8), rem.I(X, 8))",
        "div.I(band.I(X, 127), 8)", "rem.I(band.I(X, 127), 8)", "rem.I(X, 8)",
    };
    for (size_t k = 0; k < WBB_LEN(preds) + WBB_LEN(values); k++) {
        const bool pred = k < WBB_LEN(preds);
        WbbBuf text = wbb_buf(a);
        for (const char *p = pred ? preds[k] : values[k - WBB_LEN(preds)]; *p; p++) {
            if (*p == 'X') wbb_put(&text, x);
            else if (*p == 'I') wbb_put(&text, name_of(type));
            else wbb_put_n(&text, p, 1);
        }
        element_trial(cx, e, text.text, pred ? SC_PRED : type, (ScBudget){0});
    }
}

static void element_body(WbbCx *cx, void *arg)
{
    Elements *e = arg;
    WbbArena *a = wbb_arena_new(cx);
    for (ScOp op = (ScOp)0; op < OP_COUNT; op++) /* each operation at each type, on leaves: within its budget */
        for (size_t i = 0; i < WBB_LEN(types); i++) {
            const ScOpInfo *o = &sc_op_info[op];
            if (!of_program(op) || !strchr(o->classes, sc_type_info[types[i]].cls) || o->signature == SC_CONVERT)
                continue;
            const bool test = o->signature == SC_COMPARE || o->signature == SC_TEST;
            seed = wbb_hash(o->name, strlen(o->name), i);
            for (int n = 0; n < 12; n++) {
                WbbBuf b = wbb_buf(a);
                wbb_putf(&b, "%s.%s(", o->name, name_of(types[i]));
                for (int x = 0; x < o->arity; x++) {
                    if (x) wbb_put(&b, ", ");
                    const ScType want = o->signature == SC_SELECT && x == 0 ? SC_PRED : types[i];
                    if (n == 0) wbb_putf(&b, "load %%%s[%d]", name_of(want), x);
                    else put_leaf(&b, want);
                }
                wbb_put(&b, ")");
                element_trial(cx, e, b.text, test ? SC_PRED : types[i], sc_budget(op, types[i], e->accuracy));
            }
        }
    for (uint32_t n = 0; n < e->trials && !e->accuracy; n++) {
        seed = n * 0x9e3779b97f4a7c15u;
        const ScType t = random_type();
        WbbBuf b = wbb_buf(a);
        put_value(&b, t, 1 + (int)below(3), true);
        element_trial(cx, e, b.text, t, exact);
    }
    static const char *const exponents[] = {"1.0", "2.0", "3.0", "4.0", "-1.0", "-2.0", "0.5", "1.5", "-0.5"};
    for (size_t i = 0; i < WBB_LEN(types) && !e->accuracy; i++) { /* expressions that random ones seldom contain */
        const char *t = name_of(types[i]), cls = sc_type_info[types[i]].cls;
        const char *x = wbb_format(a, "load %%%s[0]", t), *y = wbb_format(a, "load %%%s[1]", t), *c = "load %pred[0]",
                   *d = "load %pred[1]";
        element_trial(cx, e, wbb_format(a, "select.%s(%s, select.%s(%s, %s, %s), %s)", t, c, t, d, x, y, y), types[i],
                      exact);
        element_trial(cx, e, wbb_format(a, "select.%s(%s, %s, select.%s(%s, %s, %s))", t, c, x, t, d, x, y), types[i],
                      exact);
        const uint32_t bits = sc_type_info[types[i]].bits;
        if (strchr("IUF", cls) && bits >= 8) { /* the least and the greatest value */
            const uint64_t most = cls == 'I' ? sc_mask(types[i]) >> 1 : sc_mask(types[i]);
            const char *high = cls == 'F' ? "inf" : wbb_format(a, "%llu", (unsigned long long)most);
            const char *low = cls == 'F' ? "-inf" : wbb_format(a, "-%llu", (unsigned long long)most + 1);
            element_trial(cx, e, wbb_format(a, "max.%s(%s, %s)", t, x, cls == 'U' ? "0" : low), types[i], exact);
            element_trial(cx, e, wbb_format(a, "min.%s(%s, %s)", t, x, high), types[i], exact);
        }
        static const char *const orders[] = {"gt", "lt", "ge", "le"};
        for (size_t k = 0; k < WBB_LEN(orders) && strchr("IUF", cls) && bits >= 8; k++)
            element_trial(cx, e, wbb_format(a, "bor.pred(%s.%s(%s, %s), eq.%s(%s, %s))", orders[k], t, x, y, t, x, y),
                          SC_PRED, exact);
        for (int k = 0; k < 3 && strchr("IUF", cls) && bits >= 8 && (k == 0 || cls == 'F'); k++) {
            static const char *const folds[] = {"add", "max", "min"}, *const rests[] = {"-0.0", "-inf", "inf"};
            const char *rest = cls == 'F' ? rests[k] : "0";
            element_trial(cx, e, wbb_format(a, "%s.%s(select.%s(%s, %s, %s), select.%s(%s, %s, %s))", folds[k], t, t, c,
                                            x, rest, t, c, y, rest), types[i], exact);
        }
        if (strchr("IU", cls) && bits >= 8)
            element_trial(cx, e, wbb_format(a, "bxor.%s(%s, bxor.%s(%s, %s))", t, x, t, x, y), types[i], exact);
        if (cls == 'F' && bits >= 16)
            element_trial(cx, e, wbb_format(a, "add.%s(abs.%s(%s), 0.0)", t, t, x), types[i], exact);
        static const char *const signs[] = {"lt", "ge", "max"};
        for (size_t k = 0; k < WBB_LEN(signs) && cls == 'I' && bits >= 8; k++)
            element_trial(cx, e, wbb_format(a, "%s.%s(band.%s(%s, 1), 0)", signs[k], t, t, x),
                          k < 2 ? SC_PRED : types[i], exact);
        if (cls == 'I' && bits >= 8) by_powers(cx, e, a, types[i], x);
        if (cls == 'U' && bits >= 8)
            element_trial(cx, e, wbb_format(a, "le.%s(band.%s(%s, 15), 15)", t, t, x), SC_PRED, exact);
        if (types[i] == SC_F16 || types[i] == SC_BF16)
            for (int k = 0; k < 2; k++)
                element_trial(cx, e, wbb_format(a, "%s.f32(cvt.f32.%s(%s), cvt.f32.%s(%s))", k ? "max" : "min", t, x, t,
                                                y), SC_F32, exact);
        if (cls == 'F')
            element_trial(cx, e, wbb_format(a, "div.%s(%s, select.%s(%s, 2.0, 1.0))", t, x, t, c), types[i], exact);
        for (size_t k = 0; k < WBB_LEN(exponents) && cls == 'F' && bits >= 16; k++)
            element_trial(cx, e, wbb_format(a, "pow.%s(%s, %s)", t, x, exponents[k]), types[i],
                          sc_budget(OP_POW, types[i], e->accuracy));
        for (int k = 0; k < 2 && cls == 'F' && bits >= 16; k++)
            element_trial(cx, e, wbb_format(a, "%s.i%u(%s, %s)", k ? "gt" : "lt", bits, in_order(a, t, bits, 0),
                                            in_order(a, t, bits, 1)), SC_PRED, exact);
        for (int k = 0; k < 2 && cls == 'I' && bits >= 8; k++)
            element_trial(cx, e, wbb_format(a, "%s.%s(idx.%s(3*tid - 7), idx.%s(tid))", k ? "max" : "min", t, t, t),
                          types[i], exact);
        for (ScOp op = OP_EQ; op <= OP_GE && cls == 'I' && sc_type_info[types[i]].bits >= 8; op++) {
            element_trial(cx, e, wbb_format(a, "%s.%s(idx.%s(3*tid - 7), 11)", sc_op_info[op].name, t, t), SC_PRED,
                          exact);
            element_trial(cx, e, wbb_format(a, "%s.%s(idx.%s(3*tid - 7), idx.%s(tid))", sc_op_info[op].name, t, t, t),
                          SC_PRED, exact);
        }
    }
    element_trial(cx, e, "cvt.f8e4m3fn.f32(min.f32(max.f32(load %f32[0], -448.0), 448.0))", SC_F8E4M3FN, exact);
    element_trial(cx, e, "cvt.f8e5m2.f32(min.f32(max.f32(load %f32[0], -57344.0), 57344.0))", SC_F8E5M2, exact);
    element_trial(cx, e, "bnot.pred(bnot.pred(load %pred[0]))", SC_PRED, exact);
    element_trial(cx, e, "hypot.f32(load %f32[0], load %f32[1])", SC_F32, sc_budget(OP_HYPOT, SC_F32, e->accuracy));
    element_trial(cx, e, "hypot.f64(load %f64[0], load %f64[1])", SC_F64, sc_budget(OP_HYPOT, SC_F64, e->accuracy));
    element_trial(cx, e, "div.f32(1.0, sqrt.f32(load %f32[0]))", SC_F32, sc_budget(OP_DIV, SC_F32, e->accuracy));
    static const char *const numbers[] = {"255.0", "-13.0", "0.1", "1.41421354", "0.7", "1e30", "1e-30", "0.0", "3e-39"};
    static const char *const of[] = {"load %f32[0]", "cvt.f32.u8(load %u8[0])", "cvt.f32.i32(load %i32[0])",
                                     "cvt.f32.f16(load %f16[0])"};
    for (size_t k = 0; k < WBB_LEN(numbers); k++) /* quotients by numbers and of numbers */
        for (size_t x = 0; x < WBB_LEN(of); x++) {
            element_trial(cx, e, wbb_format(a, "div.f32(%s, %s)", of[x], numbers[k]), SC_F32,
                          sc_budget(OP_DIV, SC_F32, e->accuracy));
            element_trial(cx, e, wbb_format(a, "div.f32(%s, %s)", numbers[k], of[x]), SC_F32,
                          sc_budget(OP_DIV, SC_F32, e->accuracy));
        }
    static const char *const halves[] = {"f16", "bf16"};
    for (int k = 0; k < 2 && e->accuracy; k++) { /* rules with `nearer`, which change what is exact */
        const char *t = halves[k], *x = wbb_format(a, "load %%%s[0]", t);
        const char *atanh =
            wbb_format(a, "mul.%s(sub.%s(log1p.%s(%s), log1p.%s(neg.%s(%s))), 0.5)", t, t, t, x, t, t, x);
        const ScType type = k ? SC_BF16 : SC_F16;
        element_trial(cx, e, wbb_format(a, "select.%s(gt.%s(abs.%s(%s), 1.0), nan, %s)", t, t, t, x, atanh), type,
                      sc_budget(OP_ATANH, type, e->accuracy));
    }
    const char *half = "cvt.f32.f16(load %f16[0])", *low = "-0.6931471805599453";
    if (e->accuracy)
        element_trial(
            cx, e,
            wbb_format(a, "cvt.f16.f32(add.f32(exp.f32(add.f32(%s, %s)), exp.f32(sub.f32(%s, %s))))", half, low, low,
                       half),
            SC_F16, sc_budget(OP_COSH, SC_F16, e->accuracy));
    element_trial(cx, e, "fma.bf16(load %bf16[0], load %bf16[1], load %bf16[2])", SC_BF16, exact);
    for (size_t i = 0; i < WBB_LEN(types) && !e->accuracy; i++) /* every conversion, and every pair of conversions */
        for (size_t j = 0; j < WBB_LEN(types); j++) {
            if (i == j) continue;
            element_trial(
                cx, e,
                wbb_format(a, "cvt.%s.%s(load %%%s[0])", name_of(types[i]), name_of(types[j]), name_of(types[j])),
                types[i], exact);
            element_trial(cx, e,
                          wbb_format(a, "cvt.%s.%s(cvt.%s.%s(load %%%s[0]))", name_of(types[i]), name_of(types[j]),
                                     name_of(types[j]), name_of(types[i]), name_of(types[i])),
                          types[i], exact);
        }
    wbb_arena_free(a);
}

static void elements(const char *target)
{
    static uint32_t counts[4096];
    memset(counts, 0, sizeof counts);
    succeed_alone(element_body, &(Elements){.target = target, .trials = 12000, .counts = counts});
    succeed_alone(element_body, &(Elements){.target = target, .accuracy = SC_APPROX, .counts = counts});
    succeed_alone(element_body, &(Elements){.target = target, .no_llvm = true, .counts = counts});
    const RwTables *t = tg_find(target)->tables;
    uint32_t silent = 0;
    for (uint32_t i = 0; i < t->n_rules; i++) {
        if (counts[i] || t->rules[i].phase == RW_ISEL) continue;
        if (strstr(t->rules[i].file, "complex"))
            continue; /* complex values exceed this test's 64 bits: tests/kernels/element_types.py runs them */
        if (strstr(t->rules[i].when, "contract") || strstr(t->rules[i].when, "nnan") || strstr(t->rules[i].when, "nsz"))
            continue; /* nodes have no flags here: tests/fuzz/random_assumed.py */
        printf("%s: never fired: %s:%u%s: %s\n", target, t->rules[i].file, t->rules[i].line, t->rules[i].instance,
               t->rules[i].text);
        silent++;
    }
    assert_int_equal(silent, 0);
}

static void test_sm75(void **state) { (void)state; elements("sm_75"); }
static void test_sm80(void **state) { (void)state; elements("sm_80"); }
static void test_sm90(void **state) { (void)state; elements("sm_90"); }

/* --- facts of elements -------------------------------------------------------------------------------------------- */
static void fact_trial(WbbCx *cx, ScType t, uint32_t *claims)
{
    WbbArena *a = wbb_arena_new(cx);
    WbbBuf b = wbb_buf(a);
    wbb_put(&b, "kernel @k(");
    for (size_t i = 0; i < WBB_LEN(types); i++) wbb_putf(&b, "%%%s: %s[3], ", name_of(types[i]), name_of(types[i]));
    wbb_putf(&b, "%%out: out %s[1]) block 32 grid 1 {\n  store %%out[0], ", name_of(t));
    const size_t start = b.n;
    put_value(&b, t, 1 + (int)below(4), true);
    const char *text = wbb_format(a, "%s", b.text + start);
    wbb_put(&b, "\n}\n");
    IrKernel *k = ir_parse(cx, a, "facts.ir", b.text, strlen(b.text));
    const IrBits known = ir_element_bits(k->g, root_of(k), 6);
    const uint32_t may = ir_float_may(k->g, root_of(k), 6);
    *claims += sc_is_int(t) ? (known.zero | known.one) != 0 : sc_is_float(t) && may != MAY_ALL;
    for (Leaves l = {0}; l.sample < SAMPLES; l.sample++) {
        uint64_t x;
        assert_true(ir_eval(k->g, root_of(k), leaf_value, &l, &x));
        bool wrong = sc_is_int(t) && ((known.zero & x) || (known.one & ~x & sc_mask(t)));
        if (sc_is_float(t)) {
            const double v = sc_to_f64(t, x);
            const bool finite = v - v == 0;
            wrong |= v != v && !(may & MAY_NAN);
            wrong |= v == v && !finite && !(may & MAY_INF);
            wrong |= v < 0 && !(may & MAY_NEGATIVE);
            wrong |= v > 1 && !(may & MAY_EXCEED_1);
            wrong |= v == 0 && 1 / v < 0 && !(may & MAY_NEGZERO);
            wrong |= finite && !(may & MAY_FRACTION) && v < 0x1p53 && v > -0x1p53 && (double)(int64_t)v != v;
        }
        if (wrong)
            fail_msg("%s: 0x%llx, but known zero 0x%llx, one 0x%llx, may 0x%x", text, (unsigned long long)x,
                     (unsigned long long)known.zero, (unsigned long long)known.one, (unsigned)may);
    }
    wbb_arena_free(a);
}

static void facts_body(WbbCx *cx, void *arg)
{
    uint32_t claims = 0;
    (void)arg;
    for (uint32_t n = 0; n < 12000; n++) {
        seed = (n + 9) * 0x9e3779b97f4a7c15u;
        fact_trial(cx, random_type(), &claims);
    }
    assert_true(claims > 1000);
}

static void test_facts(void **state)
{
    (void)state;
    succeed_alone(facts_body, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_facts), cmocka_unit_test(test_sm90), cmocka_unit_test(test_sm80), cmocka_unit_test(test_sm75),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
