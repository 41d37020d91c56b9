/* balance.c: comparisons of a sum with 0 as the machine takes them.
 *
 * Needs final sums; leaves comparisons of a sum that is needed anyway, or of its negation, with a constant; in all
 * others the negative terms move to the right side, so that nothing is subtracted, and the constant to the side where
 * it is positive or alone.
 *
 *     lt.index(8*t - n - 3, 0)   =>   lt.index(8*t, n + 3)
 */
#include "vector/vector.h"

static bool is_sum_against_zero(const IrGraph *g, IrRef r)
{
    const IrNode *n = ir_at(g, r);
    if (n->op != OP_LT && n->op != OP_EQ && n->op != OP_NE) return false;
    const IrNode *zero = ir_at(g, n->a[1]);
    return ir_at(g, n->a[0])->op == OP_SUM && zero->op == OP_CONST && zero->imm == 0;
}

/* Puts sum's terms without the constant on one side, the constant on the other, if the statements need such a sum:
 * x < -constant, or constant < -x. */
static bool is_needed(IrGraph *g, const uint8_t *need, uint32_t n, IrRef sum, IrRef sides[2])
{
    const int64_t c = (int64_t)ir_at(g, sum)->imm;
    for (int64_t sign = 1; sign >= -1; sign -= 2) {
        bool overflow = c == INT64_MIN;
        const IrRef x = ir_sum(g, overflow ? 0 : -sign * c, (IrTerm[]){{sign, sum}}, 1, &overflow);
        if (overflow || x >= n || !need[x]) continue;
        sides[sign < 0] = x;
        sides[sign > 0] = ir_index(g, -sign * c);
        return true;
    }
    return false;
}

static bool split(IrGraph *g, WbbArena *a, IrRef sum, IrRef sides[2])
{
    const IrNode s = *ir_at(g, sum);
    const int64_t c = (int64_t)s.imm;
    IrTerm *terms[2] = {WBB_NEW_N(a, IrTerm, s.a[1]), WBB_NEW_N(a, IrTerm, s.a[1])};
    uint32_t count[2] = {0, 0};
    bool overflow = c == INT64_MIN;
    for (uint32_t i = 0; i < s.a[1]; i++) {
        const IrTerm t = g->terms[s.a[0] + i];
        const bool right = t.coefficient < 0;
        overflow |= t.coefficient == INT64_MIN;
        terms[right][count[right]++] = (IrTerm){right ? -t.coefficient : t.coefficient, t.ref};
    }
    const bool left = !count[0] || (count[1] && c > 0);
    for (int i = 0; i < 2 && !overflow; i++)
        sides[i] = ir_sum(g, left != (i == 0) ? 0 : i ? -c : c, terms[i], count[i], &overflow);
    return !overflow;
}

typedef struct {
    IrGraph *g;
    WbbArena *arena;
    uint32_t n; /* nodes there were */
} Balance;

static IrRef balanced(void *arg, IrRef r, const IrRef *made, const uint8_t *need)
{
    const Balance *b = arg;
    const IrNode x = *ir_at(b->g, r);
    IrRef sides[2];
    if (is_sum_against_zero(b->g, r) &&
        (is_needed(b->g, need, b->n, x.a[0], sides) || split(b->g, b->arena, x.a[0], sides)))
        return ir_node(b->g, (ScOp)x.op, x.type, x.flags, sides[0], sides[1], 0, 0);
    return ir_copy(b->g, r, made, x.flags);
}

void vec_balance(IrKernel *k)
{
    Balance b = {.g = k->g, .arena = wbb_arena_new(k->g->cx), .n = k->g->n};
    ir_remake(k, balanced, &b);
    wbb_arena_free(b.arena);
}
