/* map_simplify.c: the shortest map of the same points and values that the rules of patterns/indexing.py and the solver
 * find.
 *
 * Needs a map; leaves one whose intervals and constraints are as tight as map_solve.c makes them, and whose results the
 * functions of rewrite.h rebuilt with these intervals. Simplifying it again changes nothing.
 *
 *     (d0, d1) -> ((d0 mod 8) * 128 + d1 + (d0 / 8) * 1024), domain: d0 in [0, 1023], d1 in [0, 127]
 *     =>  (d0, d1) -> (d0 * 128 + d1), domain: d0 in [0, 1023], d1 in [0, 127]
 */
#include "index/inner.h"

/* In results, an expression that a constraint fixes to one value is replaced by it: s0 mod 4 under s0 mod 4 in [1,
 * 1]. */
static void use_points(RwCx *rw, WbbArena *a, IxMap *m)
{
    IxSubstitution s = {.rw = rw, .nodes = {.arena = a}};
    for (uint32_t i = 0; i < m->constraints.n; i++) {
        const IxConstraint c = m->constraints.items[i];
        if (c.lo == c.hi) ix_substitute(&s, c.expression, ir_index(rw_graph(rw), c.lo));
    }
    if (s.nodes.n == 0) return;
    const IxSubstitution points = s;
    for (bool more = true; more;) {
        more = false;
        s = (IxSubstitution){.rw = rw, .nodes = {.arena = a}};
        for (uint32_t i = 0; i < points.nodes.n; i++) {
            const WbbEntry *e = &points.nodes.entries[i];
            ix_substitute(&s, (IrRef)e->key, (IrRef)e->value);
        }
        for (uint32_t i = 0; i < m->results.n; i++) {
            const IrRef made = ix_rebuild(&s, m->results.items[i]);
            more |= made != m->results.items[i]; /* fewer operations every time */
            m->results.items[i] = made;
        }
    }
}

IxMap *ix_map_simplify(RwCx *rw, WbbArena *a, const IxMap *m, bool keep_points)
{
    if (m->state != IX_KNOWN) return ix_map_of_state(a, m->state);
    IxMap *made = ix_map_solve(rw, a, m, !keep_points);
    if (made->state != IX_KNOWN) return ix_map_of_state(a, made->state);
    IxSubstitution s = {.rw = rw, .nodes = {.arena = a}};
    for (uint32_t i = 0; i < m->vars.n; i++) {
        const IxVar *v = &made->vars.items[i];
        ix_substitute(&s, m->vars.items[i].node,
                      !keep_points && v->lo == v->hi ? ir_index(rw_graph(rw), v->lo) : v->node);
    }
    for (uint32_t i = 0; i < m->results.n; i++) WBB_PUSH(a, &made->results, ix_rebuild(&s, m->results.items[i]));
    for (uint32_t i = 0; i < m->vars.n; i++) {
        IxVar *v = &made->vars.items[i];
        if (!v->at) continue;
        IrRef *at = WBB_NEW_N(a, IrRef, v->n_at + 1);
        for (uint32_t k = 0; k < v->n_at; k++) at[k] = ix_rebuild(&s, v->at[k]);
        v->at = at;
    }
    use_points(rw, a, made);
    return made;
}
