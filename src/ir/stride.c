/* stride.c: how an index node moves along a variable or a lane, and which of its bits are known.
 *
 * Needs facts (facts.c); leaves nothing behind. Both are exact: what is said holds at every value of every variable.
 *
 * Along a variable v, in blocks of `lanes` values that start at multiples of lanes, a node may run in steps of one size:
 * node(v0 + l) = node(v0) + stride * l. Stride 0 is what is called constant, stride 1 contiguous. What is known of node(v0), the first
 * of a block, says how an access of the block is aligned.
 *
 *     8*t + v, lanes 8 of v:   stride 1, first = 0 modulo 8        (8*t + v) // 16: stride 0
 *     4*t in 0..400:           bits 0, 1 and all from 9 on are 0
 */
#include "ir/ir.h"

#include "ir/facts.h"

enum { BUDGET = 4096 }; /* nodes looked at before an answer is given up */

typedef struct {
    IrGraph *g;
    uint32_t variable;
    int64_t lanes;
    int budget;
} Along;

static IrStride along(Along *a, IrRef r);

static IrStride sum_along(Along *a, const IrNode *n)
{
    IrStride s = {.linear = true, .stride = 0, .first = ir_constant_fact((int64_t)n->imm)};
    for (uint32_t i = 0; i < n->a[1]; i++) {
        const IrTerm t = a->g->terms[n->a[0] + i];
        const IrStride x = along(a, t.ref);
        WbbI128 step;
        if (__builtin_mul_overflow(x.stride, (WbbI128)t.coefficient, &step) || __builtin_add_overflow(s.stride, step, &s.stride)) s.linear = false;
        s.linear &= x.linear;
        s.first = ir_plus_fact(s.first, t.coefficient, x.first);
    }
    return s;
}

/* What x / k leaves at the first of a block: from *least to *most. */
static void left_over(const IrFact *x, WbbI128 k, WbbI128 *least, WbbI128 *most)
{
    const WbbI128 low = ir_floor_div(x->lo, k), high = ir_floor_div(x->hi, k);
    const uint64_t g = ir_gcd(x->mod, (uint64_t)k), start = x->mod ? x->rem % g : (uint64_t)(x->lo - low * k);
    *least = x->mod ? (WbbI128)start : x->lo - low * k;
    *most = x->mod ? k - (WbbI128)g + (WbbI128)start : *least;
    if (low != high) return;
    *least = WBB_MAX(*least, x->lo - low * k);
    *most = WBB_MIN(*most, x->hi - low * k);
}

static IrStride quotient(const Along *a, const IrStride *x, const IrFact *by, bool remainder)
{
    IrStride q = {.linear = false, .first = remainder ? ir_mod_fact(x->first, *by) : ir_floordiv_fact(x->first, *by)};
    if (by->lo != by->hi || by->lo <= 0 || !x->linear) return q;
    const WbbI128 k = by->lo, last = x->stride * (a->lanes - 1);
    WbbI128 least, most;
    left_over(&x->first, k, &least, &most);
    if (x->stride % k == 0) {
        q.linear = true;
        q.stride = x->stride / k;
    } else if (x->stride > -k && x->stride < k && least + WBB_MIN(last, 0) >= 0 && most + WBB_MAX(last, 0) < k) {
        q.linear = true; /* the block never crosses a multiple of k */
    }
    if (remainder) q.stride = x->stride - k * q.stride;
    return q;
}

static IrStride choice(const IrStride *x, const IrStride *y, IrFact first)
{
    IrStride c = {.linear = x->linear && y->linear && x->stride == y->stride, .stride = x->stride, .first = first};
    return c;
}

static IrStride along(Along *a, IrRef r)
{
    IrGraph *g = a->g;
    const IrNode n = *ir_at(g, r);
    const IrFact all = ir_fact(g, r);
    IrStride x = {.linear = true, .first = all}, y;
    if (a->budget-- <= 0) return (IrStride){.first = all};
    switch (n.op) {
    case OP_CONST: return x;
    case OP_VAR:
        if (n.imm == a->variable) {
            x.stride = 1;
            x.first.mod = (uint64_t)a->lanes;
            x.first.rem = 0;
            return x;
        }
        return g->vars[n.imm].definition ? along(a, g->vars[n.imm].definition) : x;
    case OP_SUM: x = sum_along(a, &n); break;
    case OP_MUL:
        x = along(a, n.a[0]);
        y = along(a, n.a[1]);
        if (y.first.lo == y.first.hi && y.linear && y.stride == 0) {
            const IrStride t = x;
            x = y;
            y = t;
        }
        if (x.linear && x.stride == 0 && x.first.lo == x.first.hi && y.linear) return (IrStride){true, y.stride * x.first.lo, ir_mul_fact(x.first, y.first)};
        return (IrStride){x.linear && y.linear && x.stride == 0 && y.stride == 0, 0, ir_mul_fact(x.first, y.first)};
    case OP_FLOORDIV:
    case OP_MOD: {
        const IrFact by = ir_fact(g, n.a[1]);
        x = along(a, n.a[0]);
        x = quotient(a, &x, &by, n.op == OP_MOD);
        break;
    }
    case OP_MIN:
    case OP_MAX: {
        const IrFact p = ir_fact(g, n.a[0]), q = ir_fact(g, n.a[1]);
        if (p.hi <= q.lo || q.hi <= p.lo) return along(a, n.a[(p.hi <= q.lo) == (n.op == OP_MIN) ? 0 : 1]);
        x = along(a, n.a[0]);
        y = along(a, n.a[1]);
        x = choice(&x, &y, n.op == OP_MIN ? ir_min_fact(x.first, y.first) : ir_max_fact(x.first, y.first));
        break;
    }
    default: return (IrStride){.first = all};
    }
    x.first.lo = WBB_MAX(x.first.lo, all.lo);
    x.first.hi = WBB_MAX(x.first.lo, WBB_MIN(x.first.hi, all.hi));
    return x;
}

IrStride ir_stride(IrGraph *g, IrRef r, uint32_t variable, int64_t lanes)
{
    Along a = {.g = g, .variable = variable, .lanes = lanes, .budget = BUDGET};
    assert(lanes > 0);
    return along(&a, r);
}

/* --- bits ------------------------------------------------------------------------------------------------------------------------------ */
typedef struct {
    IrGraph *g;
    int budget;
} Bits;

static IrBits bits_of(Bits *b, IrRef r);

/* Both values fit in 64 bits: the bits above the highest in which the ends of the interval differ, and those of the residue. */
static IrBits from_fact(const IrFact *f)
{
    IrBits x = {0, 0};
    if (f->lo < INT64_MIN || f->hi > INT64_MAX) return x;
    const uint64_t lo = (uint64_t)f->lo, hi = (uint64_t)f->hi, differ = lo ^ hi;
    const uint64_t same = differ ? ~(UINT64_MAX >> __builtin_clzll(differ)) : UINT64_MAX;
    const uint64_t low = f->mod ? (f->mod & ~(f->mod - 1)) - 1 : 0;
    x.zero = (~lo & same) | (low & ~f->rem);
    x.one = (lo & same) | (low & f->rem);
    return x;
}

/* Modulo 2**64; which carries are known follows from the sums of the least and of the most values. */
static IrBits add_bits(IrBits x, IrBits y)
{
    const uint64_t most = ~x.zero + ~y.zero, least = x.one + y.one;
    const uint64_t carry_zero = ~(most ^ x.zero ^ y.zero), carry_one = least ^ x.one ^ y.one;
    const uint64_t known = (x.zero | x.one) & (y.zero | y.one) & (carry_zero | carry_one);
    return (IrBits){~most & known, least & known};
}

/* k * x: a power of two shifts; an odd factor keeps as many low bits known as are known of x. */
static IrBits scale_bits(IrBits x, int64_t k)
{
    const uint32_t shift = (uint32_t)__builtin_ctzll((uint64_t)k);
    const int64_t odd = k >> shift;
    if (odd != 1) {
        const uint64_t unknown = ~(x.zero | x.one), low = unknown ? (unknown & (~unknown + 1)) - 1 : UINT64_MAX;
        const uint64_t value = (x.one & low) * (uint64_t)odd;
        x = (IrBits){~value & low, value & low};
    }
    return (IrBits){x.zero << shift | ((1ull << shift) - 1), x.one << shift};
}

static IrBits sum_bits(Bits *b, const IrNode *n)
{
    IrBits s = {~n->imm, n->imm};
    for (uint32_t i = 0; i < n->a[1]; i++) {
        const IrTerm t = b->g->terms[n->a[0] + i];
        s = add_bits(s, scale_bits(bits_of(b, t.ref), t.coefficient));
    }
    return s;
}

static IrBits bits_of(Bits *b, IrRef r)
{
    const IrNode n = *ir_at(b->g, r);
    const IrFact f = ir_fact(b->g, r);
    IrBits x = from_fact(&f), y = {0, 0}, z;
    if (b->budget-- <= 0 || f.lo < INT64_MIN || f.hi > INT64_MAX) return x;
    switch (n.op) {
    case OP_SUM: y = sum_bits(b, &n); break;
    case OP_MIN:
    case OP_MAX:
        y = bits_of(b, n.a[0]);
        z = bits_of(b, n.a[1]);
        y = (IrBits){y.zero & z.zero, y.one & z.one};
        break;
    case OP_FLOORDIV:
    case OP_MOD: {
        const uint64_t k = ir_is_const(b->g, n.a[1]) ? ir_at(b->g, n.a[1])->imm : 0;
        if (k == 0 || (k & (k - 1))) break;
        const uint32_t shift = (uint32_t)__builtin_ctzll(k);
        y = bits_of(b, n.a[0]);
        if (n.op == OP_MOD) y = (IrBits){y.zero | ~(k - 1), y.one & (k - 1)};
        else y = (IrBits){(uint64_t)((int64_t)y.zero >> shift), (uint64_t)((int64_t)y.one >> shift)};
        break;
    }
    case OP_VAR:
        if (b->g->vars[n.imm].definition) y = bits_of(b, b->g->vars[n.imm].definition);
        break;
    default: break;
    }
    return (IrBits){x.zero | y.zero, x.one | y.one};
}

IrBits ir_bits(IrGraph *g, IrRef r)
{
    Bits b = {.g = g, .budget = BUDGET};
    return bits_of(&b, r);
}
