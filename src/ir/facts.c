/* facts.c: what is known of an index node wherever it is evaluated: an exact interval and a residue.
 *
 * Needs the graph; leaves a cache that never goes stale, since nodes are immutable. Each transfer function is sound for
 * mathematical integers: computed in 128 bits, widened to "nothing known" before it could overflow.
 *
 *     t in 0..512  =>  8*t + 3: interval [3, 4091], residue 3 modulo 8
 */
#include "ir/ir.h"

#define LIMIT ((WbbI128)1 << 100) /* beyond it an interval is cut to this: sums of 64-bit products stay far below */

static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b) {
        const uint64_t t = a % b;
        a = b;
        b = t;
    }
    return a;
}

static WbbI128 clamp(WbbI128 x) { return x > LIMIT ? LIMIT : x < -LIMIT ? -LIMIT : x; }
static uint64_t residue(WbbI128 x, uint64_t mod)
{
    const WbbI128 r = x % (WbbI128)mod;
    return (uint64_t)(r < 0 ? r + (WbbI128)mod : r);
}
static WbbI128 floor_div(WbbI128 x, WbbI128 k) { return x / k - (x % k < 0 ? 1 : 0); }

static IrFact constant_fact(int64_t v) { return (IrFact){.lo = v, .hi = v, .mod = 0, .rem = (uint64_t)v}; }

/* A residue as (mod, value) with mod 0 for constants, so that gcd works on both alike. */
static WbbI128 base_of(IrFact f) { return f.mod ? (WbbI128)f.rem : f.lo; }

static IrFact with_residue(WbbI128 lo, WbbI128 hi, uint64_t mod, WbbI128 base)
{
    if (lo == hi && lo >= INT64_MIN && lo <= INT64_MAX) return constant_fact((int64_t)lo);
    if (mod == 0) mod = 1;
    return (IrFact){.lo = clamp(lo), .hi = clamp(hi), .mod = mod, .rem = residue(base, mod)};
}

static IrFact sum_fact(IrGraph *g, IrRef r)
{
    const uint32_t first = ir_at(g, r)->a[0], n = ir_at(g, r)->a[1];
    WbbI128 lo = (int64_t)ir_at(g, r)->imm, hi = lo, base = lo;
    uint64_t mod = 0;
    for (uint32_t i = 0; i < n; i++) {
        const IrTerm t = g->terms[first + i];
        const IrFact f = ir_fact(g, t.ref);
        const WbbI128 k = t.coefficient;
        const WbbI128 x = f.lo <= -LIMIT || f.hi >= LIMIT ? -LIMIT : clamp(k * (k > 0 ? f.lo : f.hi));
        const WbbI128 y = f.lo <= -LIMIT || f.hi >= LIMIT ? LIMIT : clamp(k * (k > 0 ? f.hi : f.lo));
        lo = clamp(lo + x);
        hi = clamp(hi + y);
        const WbbU128 m = (WbbU128)(k < 0 ? -k : k) * f.mod;
        mod = gcd(mod, m > (WbbU128)INT64_MAX ? (uint64_t)(k < 0 ? -k : k) : (uint64_t)m);
        if (mod) base = (WbbI128)residue(base, mod) + (WbbI128)residue(k, mod) * (WbbI128)residue(base_of(f), mod);
        else base += k * base_of(f);
    }
    return with_residue(lo, hi, mod, base);
}

static IrFact floordiv_fact(IrFact x, IrFact y)
{
    if (y.lo != y.hi || y.lo <= 0) return with_residue(WBB_MIN(x.lo, 0), WBB_MAX(x.hi, 0), 1, 0);
    const uint64_t k = (uint64_t)y.lo;
    uint64_t mod = 1;
    WbbI128 base = 0;
    if (x.mod && x.mod % k == 0) { /* (m*a + r) / k with k | m */
        mod = x.mod / k;
        base = (WbbI128)(x.rem / k);
    }
    return with_residue(floor_div(x.lo, y.lo), floor_div(x.hi, y.lo), mod, base);
}

static IrFact mod_fact(IrFact x, IrFact y)
{
    if (y.lo != y.hi || y.lo <= 0) return with_residue(0, WBB_MAX(y.hi - 1, 0), 1, 0);
    const WbbI128 k = y.lo;
    const uint64_t m = gcd(x.mod, (uint64_t)k);
    if (floor_div(x.lo, k) == floor_div(x.hi, k)) {
        const WbbI128 shift = floor_div(x.lo, k) * k;
        return with_residue(x.lo - shift, x.hi - shift, m, base_of(x));
    }
    return with_residue((WbbI128)residue(base_of(x), m), k - (WbbI128)m + (WbbI128)residue(base_of(x), m), m, base_of(x));
}

static IrFact join_fact(WbbI128 lo, WbbI128 hi, IrFact x, IrFact y)
{
    const WbbI128 d = base_of(x) - base_of(y);
    const WbbI128 distance = d < 0 ? -d : d;
    const uint64_t m = gcd(gcd(x.mod, y.mod), distance > INT64_MAX ? 1 : (uint64_t)distance);
    return with_residue(lo, hi, m, base_of(x));
}

static IrFact compute(IrGraph *g, IrRef r)
{
    const IrNode n = *ir_at(g, r);
    switch (n.op) {
    case OP_CONST: return constant_fact((int64_t)n.imm);
    case OP_SUM: return sum_fact(g, r);
    case OP_VAR: {
        const IrVar v = g->vars[n.imm];
        const IrFact d = v.kind == IR_LET ? ir_fact(g, v.definition) : (IrFact){.lo = v.lo, .hi = v.hi, .mod = 1, .rem = 0};
        return with_residue(v.lo, v.hi, d.mod, base_of(d));
    }
    case OP_FLOORDIV: return floordiv_fact(ir_fact(g, n.a[0]), ir_fact(g, n.a[1]));
    case OP_MOD: return mod_fact(ir_fact(g, n.a[0]), ir_fact(g, n.a[1]));
    case OP_MIN: {
        const IrFact x = ir_fact(g, n.a[0]), y = ir_fact(g, n.a[1]);
        return join_fact(WBB_MIN(x.lo, y.lo), WBB_MIN(x.hi, y.hi), x, y);
    }
    case OP_MAX: {
        const IrFact x = ir_fact(g, n.a[0]), y = ir_fact(g, n.a[1]);
        return join_fact(WBB_MAX(x.lo, y.lo), WBB_MAX(x.hi, y.hi), x, y);
    }
    default: return (IrFact){.lo = -LIMIT, .hi = LIMIT, .mod = 1, .rem = 0};
    }
}

IrFact ir_fact(IrGraph *g, IrRef r)
{
    assert(IR_SC(ir_at(g, r)->type) == SC_INDEX);
    if (g->facts_room < g->room) {
        g->facts = wbb_grow(g->arena, g->facts, g->facts_room * sizeof *g->facts, g->room * sizeof *g->facts);
        g->fact_known = wbb_grow(g->arena, g->fact_known, g->facts_room, g->room);
        g->facts_room = g->room;
    }
    if (!g->fact_known[r]) {
        const IrFact f = compute(g, r);
        g->facts[r] = f;
        g->fact_known[r] = 1;
    }
    return g->facts[r];
}

bool ir_within(IrGraph *g, IrRef n, WbbI128 lo, WbbI128 hi)
{
    const IrFact f = ir_fact(g, n);
    return f.lo >= lo && f.hi < hi;
}

bool ir_multiple(IrGraph *g, IrRef n, WbbI128 k)
{
    if (k <= 0 || k > INT64_MAX) return false;
    const IrFact f = ir_fact(g, n);
    if (f.mod == 0) return f.lo % k == 0;
    return f.mod % (uint64_t)k == 0 && f.rem % (uint64_t)k == 0;
}

static bool in_i32(WbbI128 lo, WbbI128 hi) { return lo >= INT32_MIN && hi <= INT32_MAX; }

/* A sum is computed term by term in any order the code generator likes: the sum of all magnitudes must fit. */
static bool sum_fits(IrGraph *g, IrRef r)
{
    const uint32_t first = ir_at(g, r)->a[0], n = ir_at(g, r)->a[1];
    WbbI128 lo = 0, hi = 0, k = (int64_t)ir_at(g, r)->imm;
    if (k < 0) lo = k;
    else hi = k;
    for (uint32_t i = 0; i < n; i++) {
        const IrTerm t = g->terms[first + i];
        const IrFact f = ir_fact(g, t.ref);
        if (!in_i32(t.coefficient, t.coefficient) || !in_i32(f.lo, f.hi)) return false;
        const WbbI128 x = f.lo * t.coefficient, y = f.hi * t.coefficient;
        lo += WBB_MIN(WBB_MIN(x, y), 0);
        hi += WBB_MAX(WBB_MAX(x, y), 0);
    }
    return in_i32(lo, hi);
}

bool ir_fits_i32(IrGraph *g, IrRef r)
{
    const IrFact f = ir_fact(g, r);
    if (!in_i32(f.lo, f.hi)) return false;
    return ir_at(g, r)->op == OP_SUM ? sum_fits(g, r) : true;
}
