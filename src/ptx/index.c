/* index.c: index arithmetic.
 *
 * Needs emitted operands; leaves registers of 32 bits, or of 64 where a node carries SC_FLAG_WIDE. A quotient by a
 * constant is a product (division.c): facts bound the dividend, so that a multiplier of the word's width is always
 * exact. A dividend that may be negative is moved up by a multiple of the divisor first.
 *
 *     x // 14 with x in 0..1000   ->   mul.hi.u32 %r2, %r1, 306783379
 *     x mod 14                    ->   mad.lo.s32 %r3, %r2, -14, %r1
 */
#include "ptx/inner.h"

static PtxValue *of_index(PtxBuild *b, PtxReg x)
{
    PtxValue *v = ptx_value(b, IR_TYPE(SC_INDEX, 0));
    v->words = WBB_NEW(b->arena, PtxReg);
    v->words[0] = x;
    return v;
}

static PtxValue *sum(PtxBuild *b, IrRef r)
{
    IrSplit s;
    ir_split(&s, b->g, r);
    const IrBounds x = ir_bounds_of(b->g, &s);
    const bool result_wide = ir_is_wide(b->g, r), wide = result_wide || !x.narrow_factors;
    PtxReg v = ptx_terms(b, &s, wide);
    if (s.constant) {
        const PtxReg d = ptx_new(b, wide ? PTX_B64 : PTX_B32);
        ptx_line(b, "add.%s %R, %R, %l;", wide ? "s64" : "s32", d, v, wide ? s.constant : (int64_t)(int32_t)s.constant);
        v = d;
    }
    return of_index(b, ptx_resize(b, v, result_wide, false));
}

/* --- quotients ---------------------------------------------------------------------------------------------------- */
/* The remainder of a quotient by k, of another quotient (ir_digit_of_quotient); PTX_NONE: it is none. */
static PtxReg digit_of_quotient(PtxBuild *b, IrRef x, uint64_t k, PtxReg p, bool wide)
{
    uint64_t divisor;
    const IrRef y = ir_digit_of_quotient(b->g, x, k, wide, &divisor);
    if (!y || !ptx_has(b, y)) return (PtxReg){0};
    const PtxReg whole = ptx_quotient(b, ptx_index(b, y, wide), divisor, ir_fact(b->g, y).hi, wide);
    return ptx_rest(b, p, k, whole, wide);
}

/* The floor of x / k, or the remainder, for x in the interval of the fact. */
static PtxReg by_constant(PtxBuild *b, PtxReg x, uint64_t k, IrFact f, bool remainder, bool wide)
{
    const uint32_t bits = wide ? 64 : 32;
    const PtxKind kind = wide ? PTX_B64 : PTX_B32;
    if ((k & (k - 1)) == 0) {
        if (f.lo >= 0 && !remainder) return ptx_quotient(b, x, k, f.hi, wide);
        const PtxReg d = ptx_new(b, kind);
        if (remainder) ptx_line(b, "and.b%u %R, %R, %R;", bits, d, x, ptx_number(bits, k - 1));
        else ptx_line(b, "shr.s%u %R, %R, %u;", bits, d, x, (uint32_t)__builtin_ctzll(k));
        return d;
    }
    const WbbI128 up = f.lo < 0 ? (-f.lo + (WbbI128)k - 1) / (WbbI128)k : 0; /* times k added to x */
    const WbbI128 most = f.hi + up * (WbbI128)k;
    if (most >> bits || up * (WbbI128)k > INT64_MAX) ptx_decline(b, "text for", "a quotient of so large an index");
    PtxReg y = x;
    if (up) {
        y = ptx_new(b, kind);
        ptx_line(b, "add.s%u %R, %R, %R;", bits, y, x, ptx_number(bits, (uint64_t)(up * (WbbI128)k)));
    }
    const PtxReg q = ptx_quotient(b, y, k, most, wide);
    if (remainder) return ptx_rest(b, y, k, q, wide);
    if (!up) return q;
    const PtxReg d = ptx_new(b, kind);
    ptx_line(b, "sub.s%u %R, %R, %R;", bits, d, q, ptx_number(bits, (uint64_t)up));
    return d;
}

/* The same for a divisor that is not known, which is positive. */
static PtxReg by_any(PtxBuild *b, PtxReg x, PtxReg y, bool positive, bool remainder, bool wide)
{
    const uint32_t bits = wide ? 64 : 32;
    const PtxKind kind = wide ? PTX_B64 : PTX_B32;
    if (positive) {
        const PtxReg d = ptx_new(b, kind);
        ptx_line(b, "%s.u%u %R, %R, %R;", remainder ? "rem" : "div", bits, d, x, y);
        return d;
    }
    const PtxReg rem = ptx_new(b, kind), more = ptx_new(b, kind), d = ptx_new(b, kind), p = ptx_new(b, PTX_PRED);
    ptx_line(b, "rem.s%u %R, %R, %R;", bits, rem, x, y);
    ptx_line(b, "setp.lt.s%u %R, %R, 0;", bits, p, rem);
    if (remainder) {
        ptx_line(b, "add.s%u %R, %R, %R;", bits, more, rem, y);
        ptx_line(b, "selp.b%u %R, %R, %R, %R;", bits, d, more, rem, p);
        return d;
    }
    const PtxReg q = ptx_new(b, kind);
    ptx_line(b, "div.s%u %R, %R, %R;", bits, q, x, y);
    ptx_line(b, "selp.b%u %R, -1, 0, %R;", bits, more, p);
    ptx_line(b, "add.s%u %R, %R, %R;", bits, d, q, more);
    return d;
}

static PtxValue *divide(PtxBuild *b, IrRef r, bool remainder)
{
    const IrNode *n = ir_at(b->g, r);
    const IrRef x = n->a[0], d = n->a[1];
    const bool result_wide = ir_is_wide(b->g, r), wide = result_wide || ir_is_wide(b->g, x) || ir_is_wide(b->g, d);
    const uint64_t k = ir_is_const(b->g, d) ? ir_at(b->g, d)->imm : 0;
    const IrFact f = ir_fact(b->g, x);
    const PtxReg p = ptx_register(b, ptx_index(b, x, wide));
    PtxReg v = {0};
    if (k && remainder && f.lo >= 0) v = digit_of_quotient(b, x, k, p, wide);
    if (v.kind == PTX_NONE && k) v = by_constant(b, p, k, f, remainder, wide);
    if (v.kind == PTX_NONE) v = by_any(b, p, ptx_index(b, d, wide), f.lo >= 0, remainder, wide);
    return of_index(b, ptx_resize(b, v, result_wide, false));
}

/* --- the rest ----------------------------------------------------------------------------------------------------- */
static PtxValue *min_or_max(PtxBuild *b, IrRef r, const char *name)
{
    const IrNode *n = ir_at(b->g, r);
    const bool result_wide = ir_is_wide(b->g, r);
    const bool wide = result_wide || ir_is_wide(b->g, n->a[0]) || ir_is_wide(b->g, n->a[1]);
    const PtxReg x = ptx_register(b, ptx_index(b, n->a[0], wide)), y = ptx_index(b, n->a[1], wide);
    const PtxReg d = ptx_new(b, wide ? PTX_B64 : PTX_B32);
    ptx_line(b, "%s.s%u %R, %R, %R;", name, wide ? 64 : 32, d, x, y);
    return of_index(b, ptx_resize(b, d, result_wide, false));
}

PtxValue *ptx_index_node(PtxBuild *b, IrRef r)
{
    switch ((ScOp)ir_at(b->g, r)->op) {
    case OP_SUM: return sum(b, r);
    case OP_FLOORDIV: return divide(b, r, false);
    case OP_MOD: return divide(b, r, true);
    case OP_MAX: return min_or_max(b, r, "max");
    case OP_MIN: return min_or_max(b, r, "min");
    default: return NULL;
    }
}

/* A comparison of one index with a constant: *x is at most *at, or at least. False: it is none. */
static bool bound_of(const IrGraph *g, IrRef compare, IrRef *x, int64_t *at, bool *most)
{
    const IrNode *n = ir_at(g, compare);
    IrSplit left, right;
    int64_t moved;
    if (n->op < OP_LT || n->op > OP_GE || IR_SC(ir_at(g, n->a[0])->type) != SC_INDEX) return false;
    ir_split(&left, g, n->a[0]);
    ir_split(&right, g, n->a[1]);
    if (left.n + right.n != 1 || __builtin_sub_overflow(right.constant, left.constant, &moved)) return false;
    const IrTerm term = left.n ? left.terms[0] : right.terms[0];
    const bool less = n->op == OP_LT || n->op == OP_LE, strict = n->op == OP_LT || n->op == OP_GT;
    const bool positive = (term.coefficient > 0) == (left.n != 0); /* of x on the left side */
    if ((term.coefficient != 1 && term.coefficient != -1) || moved < INT32_MIN || moved > INT32_MAX) return false;
    *x = term.ref;
    *most = less == positive;
    *at = (positive ? moved : -moved) + (!strict ? 0 : *most ? -1 : 1);
    return true;
}

static PtxValue *compared(PtxBuild *b, const IrNode *n, const char *how, PtxReg x, PtxReg y)
{
    PtxValue *v = ptx_value(b, n->type);
    v->words = WBB_NEW(b->arena, PtxReg);
    v->words[0] = ptx_new(b, PTX_PRED);
    const char *sign = how[0] == 'e' || how[0] == 'n' ? "b" : "s";
    ptx_line(b, "setp.%s.%s%u %R, %R, %R;", how, sign, x.kind == PTX_B64 ? 64 : 32, v->words[0], x, y);
    return v;
}

/* A comparison of one index with a constant, without its factor of -1. That an index of at least 0 is below 1 is a test
 * for 0, which the machine makes together with the `and` before it. NULL: it is something else. */
static PtxValue *with_constant(PtxBuild *b, IrRef r)
{
    IrRef x;
    int64_t at;
    bool most;
    if (!bound_of(b->g, r, &x, &at, &most) || !ptx_has(b, x) || at < INT32_MIN || at > INT32_MAX) return NULL;
    const bool zero = ir_fact(b->g, x).lo >= 0 && at == (most ? 0 : 1);
    const bool wide = ir_is_wide(b->g, x);
    const char *how = zero ? most ? "eq" : "ne" : most ? "le" : "ge";
    PtxValue *v = compared(b, ir_at(b->g, r), how, ptx_register(b, ptx_index(b, x, wide)),
                           ptx_number(wide ? 64 : 32, zero ? 0 : (uint64_t)at));
    const IrNode *n = ir_at(b->g, x);
    const bool next = n->op == OP_VAR && most && b->g->vars[n->imm].kind == IR_LOOP && at == b->g->vars[n->imm].hi - 1;
    if (next && b->at == b->places.bound_in[x]) b->tests[n->imm] = v->words[0];
    return v;
}

PtxValue *ptx_index_compare(PtxBuild *b, IrRef r)
{
    const IrNode *n = ir_at(b->g, r);
    if (n->op < OP_EQ || n->op > OP_GE || IR_SC(ir_at(b->g, n->a[0])->type) != SC_INDEX) return NULL;
    PtxValue *v = with_constant(b, r);
    const bool wide = ir_is_wide(b->g, n->a[0]) || ir_is_wide(b->g, n->a[1]);
    if (v) return v;
    return compared(b, n, sc_op_info[n->op].name, ptx_register(b, ptx_index(b, n->a[0], wide)),
                    ptx_index(b, n->a[1], wide));
}

PtxValue *ptx_index_range(PtxBuild *b, IrRef r)
{
    const IrNode *n = ir_at(b->g, r);
    IrRef x[2] = {0};
    int64_t at[2];
    bool most[2];
    for (uint32_t i = 0; i < 2; i++)
        if (!bound_of(b->g, n->a[i], &x[i], &at[i], &most[i])) return NULL;
    const int64_t low = at[most[0] ? 1 : 0], high = at[most[0] ? 0 : 1];
    if (x[0] != x[1] || most[0] == most[1] || low > high || high - low > INT32_MAX) return NULL;
    if (ir_is_wide(b->g, x[0]) || !ptx_has(b, x[0])) return NULL;
    PtxReg y = ptx_index(b, x[0], false);
    if (low) {
        const PtxReg moved = ptx_new(b, PTX_B32);
        ptx_line(b, "add.s32 %R, %R, %R;", moved, y, ptx_number(32, (uint64_t)-low));
        y = moved;
    }
    PtxValue *v = ptx_value(b, n->type);
    v->words = WBB_NEW(b->arena, PtxReg);
    v->words[0] = ptx_new(b, PTX_PRED);
    ptx_line(b, "setp.le.u32 %R, %R, %l;", v->words[0], y, high - low);
    return v;
}

PtxValue *ptx_index_cast(PtxBuild *b, IrRef r)
{
    const IrNode *n = ir_at(b->g, r);
    const PtxKind want = ptx_kind(n->type);
    const bool wide = ir_is_wide(b->g, n->a[0]) || (want == PTX_B64 && ir_is_const(b->g, n->a[0]));
    const IrFact f = ir_fact(b->g, n->a[0]);
    PtxReg x = ptx_index(b, n->a[0], wide);
    PtxValue *v = ptx_value(b, n->type);
    v->words = WBB_NEW(b->arena, PtxReg);
    if (want == PTX_B16) {
        const PtxReg from = ptx_register(b, x);
        x = ptx_new(b, PTX_B16);
        ptx_line(b, from.kind == PTX_B64 ? "cvt.u16.u64 %R, %R;" : "cvt.u16.u32 %R, %R;", x, from);
    } else x = ptx_resize(b, x, want == PTX_B64, f.lo < 0);
    v->words[0] = x;
    if (f.lo >= 0 && f.hi <= INT32_MAX) v->zero = f.hi ? ~(UINT64_MAX >> __builtin_clzll((uint64_t)f.hi)) : UINT64_MAX;
    return v;
}
