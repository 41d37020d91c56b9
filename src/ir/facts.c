/* facts.c: what is known of an index node wherever it is evaluated: an interval and a residue.
 *
 * Needs the graph; leaves a cache that is always valid, since nodes are immutable. Each transfer function is sound for
 * mathematical integers: it computes in 128 bits and widens to "nothing known" before it could overflow. Both ends of
 * an interval have the residue.
 *
 *     t in 0..512  =>  8*t + 3: interval [3, 4091], residue 3 modulo 8
 */
#include "ir/facts.h"

#define LIMIT ((WbbI128)1 << 100) /* intervals are cut to this; sums of 64-bit products stay far below */

static WbbI128 clamp(WbbI128 x) { return x > LIMIT ? LIMIT : x < -LIMIT ? -LIMIT : x; }
static uint64_t residue(WbbI128 x, uint64_t mod)
{
    const WbbI128 r = x % (WbbI128)mod;
    return (uint64_t)(r < 0 ? r + (WbbI128)mod : r);
}

IrFact ir_constant_fact(int64_t v) { return (IrFact){.lo = v, .hi = v, .mod = 0, .rem = (uint64_t)v}; }

/* A value that has the residue; the constant itself where mod is 0. gcd treats both alike. */
static WbbI128 base_of(IrFact f) { return f.mod ? (WbbI128)f.rem : f.lo; }

static WbbI128 times(WbbI128 x, WbbI128 y)
{
    WbbI128 p;
    return __builtin_mul_overflow(x, y, &p) ? ((x < 0) == (y < 0) ? LIMIT : -LIMIT) : clamp(p);
}

/* The fact of values in [lo, hi] that are base modulo mod. */
static IrFact with_residue(WbbI128 lo, WbbI128 hi, uint64_t mod, WbbI128 base)
{
    if (mod > 1 && lo > -LIMIT && hi < LIMIT) {
        const WbbI128 up = lo + residue(base - lo, mod), down = hi - residue(hi - base, mod);
        if (up <= down) lo = up, hi = down; /* else the node is never evaluated, and any fact holds */
    }
    if (lo == hi && lo >= INT64_MIN && lo <= INT64_MAX) return ir_constant_fact((int64_t)lo);
    if (mod == 0) mod = 1;
    return (IrFact){.lo = clamp(lo), .hi = clamp(hi), .mod = mod, .rem = residue(base, mod)};
}

IrFact ir_plus_fact(IrFact sum, int64_t coefficient, IrFact x)
{
    const WbbI128 k = coefficient, size = k < 0 ? -k : k;
    const bool far = x.lo <= -LIMIT || x.hi >= LIMIT;
    const WbbI128 low = far ? -LIMIT : times(k, k > 0 ? x.lo : x.hi),
                  high = far ? LIMIT : times(k, k > 0 ? x.hi : x.lo);
    const WbbU128 m = (WbbU128)size * x.mod;
    const uint64_t of_term = x.mod && m > (WbbU128)INT64_MAX ? (uint64_t)size : (uint64_t)m,
                   mod = ir_gcd(sum.mod, of_term);
    WbbI128 base;
    if (mod) {
        const WbbU128 term = (WbbU128)residue(k, mod) * residue(base_of(x), mod) % mod;
        base = (WbbI128)residue(base_of(sum), mod) + (WbbI128)term;
    } else {
        base = sum.lo + k * x.lo; /* two constants */
    }
    const WbbI128 lo = sum.lo <= -LIMIT || far ? -LIMIT : clamp(sum.lo + low),
                  hi = sum.hi >= LIMIT || far ? LIMIT : clamp(sum.hi + high);
    return with_residue(lo, hi, mod, base);
}

static IrFact sum_fact(IrGraph *g, IrRef r)
{
    const uint32_t first = ir_at(g, r)->a[0], n = ir_at(g, r)->a[1];
    IrFact f = ir_constant_fact((int64_t)ir_at(g, r)->imm);
    for (uint32_t i = 0; i < n; i++)
        f = ir_plus_fact(f, g->terms[first + i].coefficient, ir_fact(g, g->terms[first + i].ref));
    return f;
}

IrFact ir_mul_fact(IrFact x, IrFact y)
{
    if (x.lo == x.hi && x.lo >= INT64_MIN && x.lo <= INT64_MAX)
        return ir_plus_fact(ir_constant_fact(0), (int64_t)x.lo, y);
    if (y.lo == y.hi && y.lo >= INT64_MIN && y.lo <= INT64_MAX)
        return ir_plus_fact(ir_constant_fact(0), (int64_t)y.lo, x);
    if (x.lo <= -LIMIT || x.hi >= LIMIT || y.lo <= -LIMIT || y.hi >= LIMIT) return with_residue(-LIMIT, LIMIT, 1, 0);
    const WbbI128 corners[4] = {times(x.lo, y.lo), times(x.lo, y.hi), times(x.hi, y.lo), times(x.hi, y.hi)};
    WbbI128 lo = corners[0], hi = corners[0];
    for (int i = 1; i < 4; i++) lo = WBB_MIN(lo, corners[i]), hi = WBB_MAX(hi, corners[i]);
    /* (m*a + r) * (n*b + s) is r*s modulo the divisors that m*n, m*s and n*r share */
    const uint64_t m = x.mod, r = x.rem, n = y.mod, t = y.rem;
    if (m > UINT32_MAX || n > UINT32_MAX) return with_residue(lo, hi, 1, 0);
    const uint64_t mod = ir_gcd(m * n, ir_gcd(m * t, n * r));
    return with_residue(lo, hi, mod, mod ? (WbbI128)((WbbU128)(r % mod) * (t % mod) % mod) : (WbbI128)(r * t));
}

IrFact ir_floordiv_fact(IrFact x, IrFact y)
{
    if (y.lo != y.hi || y.lo <= 0) { /* the divisor is positive, even if that is not known */
        const WbbI128 least = WBB_MAX(y.lo, 1), most = WBB_MAX(y.hi, least);
        return with_residue(ir_floor_div(x.lo, x.lo < 0 ? least : most), ir_floor_div(x.hi, x.hi < 0 ? most : least), 1,
                            0);
    }
    const uint64_t k = (uint64_t)y.lo;
    uint64_t mod = 1;
    WbbI128 base = 0;
    if (x.mod && x.mod % k == 0) { /* (m*a + r) / k with k | m */
        mod = x.mod / k;
        base = (WbbI128)(x.rem / k);
    }
    const WbbI128 lo = x.lo <= -LIMIT ? -LIMIT : ir_floor_div(x.lo, y.lo),
                  hi = x.hi >= LIMIT ? LIMIT : ir_floor_div(x.hi, y.lo);
    return with_residue(lo, hi, mod, base);
}

IrFact ir_mod_fact(IrFact x, IrFact y)
{
    if (y.lo != y.hi || y.lo <= 0) {
        if (x.lo >= 0 && x.hi < y.lo) return x;
        return with_residue(0, WBB_MAX(x.lo >= 0 ? WBB_MIN(x.hi, y.hi - 1) : y.hi - 1, 0), 1, 0);
    }
    const WbbI128 k = y.lo;
    const uint64_t m = ir_gcd(x.mod, (uint64_t)k);
    if (x.lo > -LIMIT && x.hi < LIMIT && ir_floor_div(x.lo, k) == ir_floor_div(x.hi, k)) {
        const WbbI128 shift = ir_floor_div(x.lo, k) * k;
        return with_residue(x.lo - shift, x.hi - shift, x.mod, base_of(x) - shift);
    }
    return with_residue((WbbI128)residue(base_of(x), m), k - (WbbI128)m + (WbbI128)residue(base_of(x), m), m,
                        base_of(x));
}

static IrFact join_fact(WbbI128 lo, WbbI128 hi, IrFact x, IrFact y)
{
    const WbbI128 d = base_of(x) - base_of(y);
    const WbbI128 distance = d < 0 ? -d : d;
    const uint64_t m = ir_gcd(ir_gcd(x.mod, y.mod), distance > INT64_MAX ? 1 : (uint64_t)distance);
    return with_residue(lo, hi, m, base_of(x));
}

IrFact ir_min_fact(IrFact x, IrFact y)
{
    if (x.hi <= y.lo || y.hi <= x.lo) return x.hi <= y.lo ? x : y;
    return join_fact(WBB_MIN(x.lo, y.lo), WBB_MIN(x.hi, y.hi), x, y);
}

IrFact ir_max_fact(IrFact x, IrFact y)
{
    if (x.hi <= y.lo || y.hi <= x.lo) return x.hi <= y.lo ? y : x;
    return join_fact(WBB_MAX(x.lo, y.lo), WBB_MAX(x.hi, y.hi), x, y);
}

static IrFact compute(IrGraph *g, IrRef r)
{
    const IrNode n = *ir_at(g, r);
    switch (n.op) {
    case OP_CONST: return ir_constant_fact((int64_t)n.imm);
    case OP_SUM: return sum_fact(g, r);
    case OP_VAR: {
        const IrVar v = g->vars[n.imm];
        const IrFact d = v.definition ? ir_fact(g, v.definition) : (IrFact){.lo = v.lo, .hi = v.hi, .mod = 1, .rem = 0};
        return with_residue(WBB_MAX(v.lo, d.lo), WBB_MAX(WBB_MAX(v.lo, d.lo), WBB_MIN(v.hi, d.hi)), d.mod, base_of(d));
    }
    case OP_MUL: return ir_mul_fact(ir_fact(g, n.a[0]), ir_fact(g, n.a[1]));
    case OP_FLOORDIV: return ir_floordiv_fact(ir_fact(g, n.a[0]), ir_fact(g, n.a[1]));
    case OP_MOD: return ir_mod_fact(ir_fact(g, n.a[0]), ir_fact(g, n.a[1]));
    case OP_MIN: return ir_min_fact(ir_fact(g, n.a[0]), ir_fact(g, n.a[1]));
    case OP_MAX: return ir_max_fact(ir_fact(g, n.a[0]), ir_fact(g, n.a[1]));
    default: return (IrFact){.lo = -LIMIT, .hi = LIMIT, .mod = 1, .rem = 0};
    }
}

IrFact ir_fact(IrGraph *g, IrRef r)
{
    assert(IR_SC(ir_at(g, r)->type) == SC_INDEX);
    if (g->facts_capacity < g->capacity) {
        g->facts = wbb_grow(g->arena, g->facts, g->facts_capacity * sizeof *g->facts, g->capacity * sizeof *g->facts);
        g->fact_known = wbb_grow(g->arena, g->fact_known, g->facts_capacity, g->capacity);
        g->facts_capacity = g->capacity;
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

/* The code generator may add the terms in any order, so the sum of all positive ones and that of all negative ones must
 * fit. */
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
