/* digits.c: terms of a sum that are digits of an index, as masks.
 *
 * Needs the graph, and where nodes are written; leaves how a term may be had. A digit in base 2 times a power of two is
 * the index, shifted once, under a mask. Where no other term of the sum has these bits, the machine takes the mask and
 * the sum as one instruction. A digit that something else needs is a register already: it stays a factor.
 *
 *     1024*(x // 16 mod 64) + y, y in 0..1024
 *     ->  shl.b32 %r2, %r1, 6; and.b32 %r3, %r2, 64512; or.b32 %r4, %r3, %r9;
 */
#include "ptx/inner.h"

enum { SEVERAL = -1 }; /* uses with different factors, or one that is no term */

static void note(PtxBuild *b, IrRef r, int64_t coefficient)
{
    int64_t *use = &b->factors[r];
    const bool power = coefficient > 0 && (coefficient & (coefficient - 1)) == 0;
    *use = power && (*use == 0 || *use == coefficient) ? coefficient : SEVERAL;
}

void ptx_find_digits(PtxBuild *b)
{
    b->factors = WBB_NEW_N(b->arena, int64_t, b->g->n + 1);
    for (IrRef r = 1; r < b->g->n; r++) {
        const IrNode *n = ir_at(b->g, r);
        if (!b->places.emitted[r] || n->op == OP_VAR) continue;
        for (uint32_t i = 0; i < ir_arity(b->g, r); i++)
            note(b, ir_operand(b->g, r, i), n->op == OP_SUM ? b->g->terms[n->a[0] + i].coefficient : 0);
    }
}

static uint32_t power_of(const IrGraph *g, IrRef constant)
{
    const uint64_t k = ir_is_const(g, constant) ? ir_at(g, constant)->imm : 0;
    return k && (k & (k - 1)) == 0 && k <= INT32_MAX ? (uint32_t)__builtin_ctzll(k) : 0;
}

/* The node, or what a variable is defined as. */
static IrRef defined(const IrGraph *g, IrRef r)
{
    const IrNode *n = ir_at(g, r);
    return n->op == OP_VAR && g->vars[n->imm].definition ? g->vars[n->imm].definition : r;
}

bool ptx_digit(PtxBuild *b, IrTerm term, bool joins, PtxDigit *out)
{
    const IrRef of = defined(b->g, term.ref);
    const IrNode *n = ir_at(b->g, of);
    const uint32_t up = (uint32_t)__builtin_ctzll((uint64_t)term.coefficient | 1ull << 32);
    uint32_t down = 0, bits = 0;
    IrRef x = n->a[0];
    if (n->op != OP_MOD && n->op != OP_FLOORDIV) return false;
    if (term.coefficient <= 0 || term.coefficient != 1ll << up) return false;
    if (n->op == OP_MOD) {
        const IrNode *inner = ir_at(b->g, defined(b->g, x));
        bits = power_of(b->g, n->a[1]);
        if (!bits) return false;
        if (inner->op == OP_FLOORDIV && power_of(b->g, inner->a[1])) {
            down = power_of(b->g, inner->a[1]);
            x = inner->a[0];
        }
    } else down = power_of(b->g, n->a[1]);
    if (n->op == OP_FLOORDIV && (!down || down != up)) return false; /* a shift and a sum are as short */
    const IrFact f = ir_fact(b->g, x), whole = ir_fact(b->g, term.ref);
    if (f.lo < 0 || f.hi > INT32_MAX || ir_is_wide(b->g, x)) return false;
    if (!ptx_has(b, x) || !ptx_has(b, term.ref)) return false;
    if (whole.hi > (WbbI128)INT32_MAX >> up) return false;
    if (!down && (up || !joins)) return false; /* the same with the shift in the sum */
    const bool alone = b->factors[term.ref] != SEVERAL && (of == term.ref || !b->factors[of]);
    if (!alone || b->values[term.ref]->scope != b->at) return false;
    const uint64_t mask = bits ? ((UINT64_C(1) << bits) - 1) << up : ~((UINT64_C(1) << up) - 1);
    *out = (PtxDigit){.x = x, .left = up > down ? up - down : 0, .right = down > up ? down - up : 0,
                      .mask = (uint32_t)mask & INT32_MAX};
    return true;
}

uint32_t ptx_zero_of_term(PtxBuild *b, IrTerm t)
{
    const IrFact f = ir_fact(b->g, t.ref);
    if (f.lo < 0 || t.coefficient <= 0 || t.coefficient > INT32_MAX || f.hi > INT32_MAX) return 0;
    const uint64_t last = (uint64_t)f.hi * (uint64_t)t.coefficient;
    if (last > UINT32_MAX) return 0;
    const uint32_t above = last ? (uint32_t) ~(UINT64_MAX >> __builtin_clzll(last)) : UINT32_MAX;
    return above | ((1u << __builtin_ctzll((uint64_t)t.coefficient)) - 1);
}
