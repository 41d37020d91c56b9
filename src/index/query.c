/* query.c: what all families of operations use: listing a loop or a start, requiring a condition, dividing exactly.
 *
 * Needs a list or a query (access.h); leaves entries in it. A condition that facts prove is left out; one that they
 * refute sets `never`.
 *
 *     ix_quotient(q, d0 - 1, 2, n)   =>   (d0 - 1) / 2, if (d0 - 1) mod 2 in [0, 0] and d0 - 1 in [0, 2*n - 2]
 */
#include "index/access.h"

void ix_list_size(IxList *l, int64_t size) { WBB_PUSH(l->a, &l->sizes, size); }

void ix_list_start(IxList *l, uint32_t operand, uint32_t dimension, int64_t last, bool open)
{
    const ScType t = l->i->operands[operand]->shape->type;
    const uint64_t largest = sc_is_signed(t) ? sc_mask(t) >> 1 : sc_mask(t);
    const bool wide = open && last >= 0;
    const int64_t fits = WBB_MAX(last, 0);
    IxStart s = {.operand = operand, .hi = fits, .last = fits, .dimension = dimension};
    if (wide && sc_is_signed(t)) s.lo = -1;
    if (wide && last < INT64_MAX) s.hi = last + 1;
    if ((uint64_t)s.hi > largest) s.hi = (int64_t)largest;
    WBB_PUSH(l->a, &l->starts, s);
}

void ix_require(IxQuery *q, IrRef expression, int64_t lo, int64_t hi)
{
    const IrFact f = ir_fact(q->g, expression);
    if (f.lo >= lo && f.hi <= hi) return;
    const WbbI128 first =
        f.mod ? lo + (((WbbI128)f.rem - lo) % (WbbI128)f.mod + (WbbI128)f.mod) % (WbbI128)f.mod : f.lo;
    if (f.lo > hi || f.hi < lo || first > hi) q->never = true;
    for (uint32_t k = 0; k < q->conditions.n; k++) {
        const IxConstraint *c = &q->conditions.items[k];
        if (c->expression == expression && c->lo == lo && c->hi == hi) return;
    }
    const IxConstraint c = {expression, lo, hi};
    WBB_PUSH(q->a, &q->conditions, c);
}

IrRef ix_index(IxQuery *q, int64_t value) { return ir_index(q->g, value); }
IrRef ix_plus(IxQuery *q, IrRef x, int64_t by) { return rw_add(q->rw, x, ir_index(q->g, by)); }
IrRef ix_minus(IxQuery *q, IrRef x, int64_t by) { return rw_sub(q->rw, x, ir_index(q->g, by)); }

int64_t ix_pad_step(const HloPadding *p) { return p->interior == INT64_MAX ? p->interior : p->interior + 1; }

IrRef ix_quotient(IxQuery *q, IrRef x, int64_t k, int64_t n)
{
    const WbbI128 last = ((WbbI128)n - 1) * k;
    if (n <= 0) {
        q->never = true;
        return ix_index(q, 0);
    }
    ix_require(q, x, 0, last > INT64_MAX ? INT64_MAX : (int64_t)last);
    if (n == 1) return ix_index(q, 0);
    if (k == 1) return x;
    ix_require(q, rw_mod(q->rw, x, k), 0, 0);
    return rw_floordiv(q->rw, x, k);
}

const HloShape *ix_leaf(WbbArena *a, const HloShape *s, uint32_t leaf)
{
    const HloShape **leaves;
    if (s->type != SC_TUPLE) return s;
    const uint32_t n = hlo_leaves(a, s, &leaves);
    assert(leaf < n);
    (void)n;
    return leaves[leaf];
}

int64_t ix_concat_offset(const HloInstruction *i, uint32_t k)
{
    int64_t offset = 0;
    for (uint32_t p = 0; p < k; p++) offset += i->operands[p]->shape->dims[i->dimensions[0]];
    return offset;
}
