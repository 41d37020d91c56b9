/* addends.c: patterns over sums of elements: a rule names the terms, in no order, of a tree of additions of integers.
 *
 * ADDENDS spreads the tree at a node out to at most MAX_PICKS terms, the additions nearest to the root first; ADDEND
 * takes one of them (a choice, as PICK is for sums of indices); ADDREST takes what is left: one term, or an addition
 * whose terms are all that are left. Nothing is built, so a tile has operands that are there.
 *
 *     ((c + p0) + p1) + p2, terms p0 and p1 taken:   what is left, c and p2, is no addition of this tree
 *     ((c + d) + p1) + p2, terms p1 and p2 taken:    what is left is c + d
 */
#include "rewrite/inner.h"

/* The tree as far as it is spread out: node 0 is the root; an inner node has two parts. */
typedef struct {
    IrRef ref[2 * MAX_PICKS];
    uint8_t part[2 * MAX_PICKS][2], depth[2 * MAX_PICKS]; /* part 0: a term */
    uint32_t n, n_terms;
} Tree;

static bool is_addition(const IrGraph *g, IrRef r, IrType type)
{
    return ir_at(g, r)->op == OP_ADD && ir_at(g, r)->type == type;
}

static Tree spread(const IrGraph *g, IrRef root)
{
    Tree t = {.n = 1, .n_terms = 1};
    const IrType type = ir_at(g, root)->type;
    t.ref[0] = root;
    while (t.n_terms < MAX_PICKS) {
        uint32_t best = UINT32_MAX;
        for (uint32_t i = 0; i < t.n; i++)
            if (!t.part[i][0] && is_addition(g, t.ref[i], type) && (best == UINT32_MAX || t.depth[i] < t.depth[best]))
                best = i;
        if (best == UINT32_MAX) break;
        for (uint32_t k = 0; k < 2; k++) {
            t.ref[t.n] = ir_at(g, t.ref[best])->a[k];
            t.depth[t.n] = (uint8_t)(t.depth[best] + 1);
            t.part[best][k] = (uint8_t)t.n++;
        }
        t.n_terms++;
    }
    return t;
}

/* The numbers of the terms below node `at`, as bits. */
static uint32_t terms_below(const Tree *t, uint32_t at)
{
    if (!t->part[at][0]) return 1u << at;
    return terms_below(t, t->part[at][0]) | terms_below(t, t->part[at][1]);
}

bool rw_addends(RwCx *rw, Match *m, uint32_t s)
{
    const Tree t = spread(rw->g, m->value[s]);
    m->n_picks = 0;
    for (uint32_t i = 0; i < t.n; i++)
        if (t.part[i][0]) m->flags &= ir_at(rw->g, t.ref[i])->flags;
    return t.n_terms > 1;
}

bool rw_addend(RwCx *rw, Match *m, uint32_t d, uint32_t s, uint32_t op, uint32_t *next)
{
    const Tree t = spread(rw->g, m->value[s]);
    for (uint32_t i = *next; i < t.n && m->n_picks < MAX_PICKS; i++) {
        bool taken = t.part[i][0] || ir_at(rw->g, t.ref[i])->op != op;
        for (uint32_t k = 0; k < m->n_picks && !taken; k++) taken = m->picks[k] == i;
        if (taken) continue;
        m->value[d] = t.ref[i];
        m->flags &= ir_at(rw->g, t.ref[i])->flags;
        m->picks[m->n_picks++] = i;
        *next = i + 1;
        return true;
    }
    return false;
}

bool rw_addends_left(RwCx *rw, Match *m, uint32_t d, uint32_t s)
{
    const Tree t = spread(rw->g, m->value[s]);
    uint32_t left = terms_below(&t, 0);
    for (uint32_t k = 0; k < m->n_picks; k++) left &= ~(1u << m->picks[k]);
    if (d == UINT8_MAX) return left == 0;
    for (uint32_t i = 0; i < t.n && left; i++)
        if (terms_below(&t, i) == left) return (m->value[d] = t.ref[i]) != 0;
    return false;
}
