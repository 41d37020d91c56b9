/* sums.c: patterns over sums. A sum is matched by what its terms have to do with constants, not by their order.
 *
 * SPLIT, where k is bound elsewhere in the pattern, has no choice: v[d] takes everything that k divides. PICK, where k is free, has
 * one choice a term; match.c comes back for the next one if what follows fails. What is left is built only if somebody asks.
 *
 *     8*a + 4*b + c + 7, k = 4:  split gives 2*a + b + 1 and c + 3;  pick gives (a, 8), then (b, 4), then (c, 1)
 */
#include "rewrite/inner.h"

/* v[s] = i * k + rest. Fails where nothing is divisible: the rule would go round in a circle. */
bool rw_split(RwCx *rw, Match *m, uint32_t d, uint32_t s, WbbI128 k, uint32_t r)
{
    IrGraph *g = rw->g;
    const IrNode n = *ir_at(g, m->value[s]);
    if (n.op != OP_SUM || k <= 0 || k > INT64_MAX) return false;
    IrTerm *yes = WBB_NEW_N(rw->arena, IrTerm, n.a[1]), *no = WBB_NEW_N(rw->arena, IrTerm, n.a[1]);
    uint32_t n_yes = 0, n_no = 0;
    const int64_t step = (int64_t)k, constant = (int64_t)n.imm;
    const int64_t floored = constant / step - (constant % step < 0);
    for (uint32_t i = 0; i < n.a[1]; i++) {
        const IrTerm t = g->terms[n.a[0] + i];
        if (t.coefficient % step == 0) yes[n_yes++] = (IrTerm){t.coefficient / step, t.ref};
        else no[n_no++] = t;
    }
    if (n_yes == 0 && floored == 0) return false;
    m->value[d] = rw_sum(rw, floored, yes, n_yes);
    m->value[r] = rw_sum(rw, constant - floored * step, no, n_no);
    return true;
}

/* The next term of a sum from *term on; true if v[d] and its coefficient are bound. */
bool rw_pick(RwCx *rw, Match *m, uint32_t d, uint32_t s, uint32_t k, bool fixed, uint32_t *term)
{
    const IrNode *n = ir_at(rw->g, m->value[s]);
    if (n->op != OP_SUM || m->n_picks == MAX_PICKS) return false;
    for (; *term < n->a[1]; ++*term) {
        bool taken = false;
        for (uint32_t i = 0; i < m->n_picks; i++) taken |= m->picks[i] == *term;
        const IrTerm t = rw->g->terms[n->a[0] + *term];
        if (taken || (fixed && m->konst[k] != t.coefficient)) continue;
        if (!fixed) m->konst[k] = t.coefficient;
        m->value[d] = t.ref;
        m->picked_sum = m->value[s];
        m->picks[m->n_picks++] = (*term)++;
        return true;
    }
    return false;
}

IrRef rw_rest(RwCx *rw, Match *m, uint32_t slot)
{
    if (slot != m->rest_slot || slot == 0) return m->value[slot];
    const IrNode n = *ir_at(rw->g, m->rest.sum);
    IrTerm *terms = WBB_NEW_N(rw->arena, IrTerm, n.a[1]);
    uint32_t count = 0;
    for (uint32_t i = 0; i < n.a[1]; i++) {
        bool taken = false;
        for (uint32_t p = 0; p < m->rest.n_picks; p++) taken |= m->rest.picks[p] == i;
        if (!taken) terms[count++] = rw->g->terms[n.a[0] + i];
    }
    m->rest_slot = 0;
    return m->value[slot] = rw_sum(rw, (int64_t)n.imm, terms, count);
}
