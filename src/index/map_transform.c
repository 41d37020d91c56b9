/* map_transform.c: composes maps, removes variables, changes their kind, or makes their steps larger.
 *
 * Needs maps of one graph; leaves new ones over variables of their own, in order, every node built anew. Variables
 * called d0, s0, rt0 and so on are numbered again; any other name stays, unless another variable has it already.
 *
 *     compose (d0)[s0] -> (d0 + s0) with (d0)[s0] -> (d0 * 4 + s0)   =>   (d0)[s0, s1] -> (d0 * 4 + s1 * 4 + s0)
 */
#include "index/inner.h"
#include "ir/facts.h"

#include <string.h>

/* Numbers the usual names again, then gives each variable whose name is taken the first free one. */
static IxMap *named(RwCx *rw, WbbArena *a, IxMap *m)
{
    for (uint32_t kind = IX_DIMENSION; kind <= IX_RUNTIME; kind++) ix_map_renumber(a, m, (IxKind)kind);
    for (uint32_t i = 0; i < m->vars.n; i++)
        if (ix_map_find(m, m->vars.items[i].name) != i) {
            m->vars.items[i].name = "";
            m->vars.items[i].name = ix_map_name(a, m, m->vars.items[i].kind);
        }
    return ix_map_renew(rw, a, m, m->vars.items);
}

/* --- composition -------------------------------------------------------------------------------------------------- */
static void copy_variables(RwCx *rw, WbbArena *a, IxMap *to, const IxMap *from, IxKind kind, IxSubstitution *s)
{
    for (uint32_t i = 0; i < from->vars.n; i++) {
        IxVar v = from->vars.items[i];
        if (v.kind != kind) continue;
        const IrRef old = v.node;
        v.node = ix_variable(rw_graph(rw), v.name, v.lo, v.hi);
        ix_substitute(s, old, v.node);
        ix_map_insert(a, to, v);
    }
}

static IrRef *all_rebuilt(IxSubstitution *s, WbbArena *a, const IrRef *nodes, uint32_t n)
{
    IrRef *made = WBB_NEW_N(a, IrRef, n + 1u);
    for (uint32_t i = 0; i < n; i++) made[i] = ix_rebuild(s, nodes[i]);
    return made;
}

static void copy_constraints(WbbArena *a, IxMap *to, const IxMap *from, IxSubstitution *s)
{
    for (uint32_t i = 0; i < from->constraints.n; i++) {
        const IxConstraint c = from->constraints.items[i];
        ix_map_constrain(a, to, ix_rebuild(s, c.expression), c.lo, c.hi);
    }
}

IxMap *ix_map_compose(RwCx *rw, WbbArena *a, const IxMap *first, const IxMap *second)
{
    if (first->state != IX_KNOWN) return ix_map_of_state(a, second->state == IX_EMPTY ? IX_EMPTY : first->state);
    if (second->state != IX_KNOWN) return ix_map_of_state(a, second->state);
    const uint32_t inner = ix_map_count(second, IX_DIMENSION);
    if (first->results.n != inner)
        wbb_fail(rw_graph(rw)->cx, (WbbLoc){0}, "%u results cannot be the %u dimensions of the second map",
                 first->results.n, inner);
    IxMap *m = ix_map_new(a);
    IxSubstitution f = {.rw = rw, .nodes = {.arena = a}}, s = {.rw = rw, .nodes = {.arena = a}};
    copy_variables(rw, a, m, first, IX_DIMENSION, &f);
    for (uint32_t kind = IX_RANGE; kind <= IX_RUNTIME; kind++) {
        copy_variables(rw, a, m, second, (IxKind)kind, &s);
        copy_variables(rw, a, m, first, (IxKind)kind, &f);
    }
    const IrRef *results = all_rebuilt(&f, a, first->results.items, first->results.n);
    for (uint32_t i = 0, d = 0; i < second->vars.n; i++) {
        const IxVar *v = &second->vars.items[i];
        if (v->kind != IX_DIMENSION) continue;
        ix_substitute(&s, v->node, results[d]);
        ix_map_constrain(a, m, results[d++], v->lo, v->hi);
    }
    for (uint32_t i = 0; i < m->vars.n; i++) {
        IxVar *v = &m->vars.items[i];
        if (!v->at) continue;
        bool of_first = false;
        for (uint32_t k = 0; k < first->vars.n; k++)
            of_first |= ix_substitute_of(&f, first->vars.items[k].node) == v->node;
        v->at = all_rebuilt(of_first ? &f : &s, a, v->at, v->n_at);
    }
    copy_constraints(a, m, second, &s);
    copy_constraints(a, m, first, &f);
    for (uint32_t i = 0; i < second->results.n; i++) ix_map_result(a, m, ix_rebuild(&s, second->results.items[i]));
    return m->state == IX_EMPTY ? m : named(rw, a, m);
}

/* --- unused variables --------------------------------------------------------------------------------------------- */
/* A variable that may be removed stays if a result, the index of a run-time value or a constraint that stays uses it. A
 * constraint is removed if all its variables are. */
IxMap *ix_map_remove_unused(RwCx *rw, WbbArena *a, const IxMap *m, bool dimensions)
{
    const uint32_t n = m->vars.n;
    uint8_t *used = WBB_NEW_N(a, uint8_t, n + 1u), *here = WBB_NEW_N(a, uint8_t, n + 1u);
    if (m->state != IX_KNOWN || ix_map_solve(rw, a, m, true)->state == IX_EMPTY)
        return ix_map_of_state(a, m->state == IX_UNKNOWN ? IX_UNKNOWN : IX_EMPTY);
    for (uint32_t i = 0; i < n; i++) used[i] = !dimensions && m->vars.items[i].kind == IX_DIMENSION;
    ix_map_uses(rw, a, m, m->results.items, m->results.n, used);
    bool *stays = WBB_NEW_N(a, bool, m->constraints.n + 1u);
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = 0; i < m->constraints.n; i++) {
            bool any = false;
            memset(here, 0, n);
            ix_map_uses(rw, a, m, &m->constraints.items[i].expression, 1, here);
            for (uint32_t k = 0; k < n; k++) any |= here[k] && used[k];
            if (stays[i] || !any) continue;
            stays[i] = more = true;
            for (uint32_t k = 0; k < n; k++) used[k] |= here[k];
        }
        for (uint32_t i = 0; i < n; i++)
            if (used[i]) ix_map_uses(rw, a, m, m->vars.items[i].at, m->vars.items[i].n_at, used);
    }
    IxMap *made = ix_map_new(a);
    for (uint32_t i = 0; i < n; i++)
        if (used[i]) ix_map_insert(a, made, m->vars.items[i]);
    for (uint32_t i = 0; i < m->results.n; i++) ix_map_result(a, made, m->results.items[i]);
    for (uint32_t i = 0; i < m->constraints.n; i++)
        if (stays[i]) WBB_PUSH(a, &made->constraints, m->constraints.items[i]);
    return named(rw, a, made);
}

/* --- variables of another kind ------------------------------------------------------------------------------------ */
static IxMap *as_dimensions(RwCx *rw, WbbArena *a, const IxMap *m, const uint8_t *which)
{
    IxMap *made = ix_map_of_state(a, m->state);
    for (uint32_t i = 0; i < m->vars.n; i++) {
        IxVar v = m->vars.items[i];
        if (which[i]) {
            /* s0 becomes the next d0, d1, .., as its name would mislead */
            const bool usual = ix_is_usual_name(&v);
            v.kind = IX_DIMENSION;
            v.source = NULL;
            v.at = NULL;
            v.n_at = 0;
            if (usual) v.name = wbb_format(a, "d%u", ix_map_count(made, IX_DIMENSION));
        }
        ix_map_insert(a, made, v);
    }
    for (uint32_t i = 0; i < m->results.n; i++) ix_map_result(a, made, m->results.items[i]);
    for (uint32_t i = 0; i < m->constraints.n; i++) WBB_PUSH(a, &made->constraints, m->constraints.items[i]);
    return named(rw, a, made);
}

IxMap *ix_map_symbols_to_dimensions(RwCx *rw, WbbArena *a, const IxMap *m)
{
    uint8_t *which = WBB_NEW_N(a, uint8_t, m->vars.n + 1u);
    for (uint32_t i = 0; i < m->vars.n; i++) which[i] = m->vars.items[i].kind != IX_DIMENSION;
    return as_dimensions(rw, a, m, which);
}

IxMap *ix_map_ranges_to_dimensions(RwCx *rw, WbbArena *a, const IxMap *m, const uint32_t *ranges, uint32_t n)
{
    uint8_t *which = WBB_NEW_N(a, uint8_t, m->vars.n + 1u);
    const uint32_t first = ix_map_count(m, IX_DIMENSION), count = ix_map_count(m, IX_RANGE);
    for (uint32_t i = 0; i < n; i++) {
        if (ranges[i] >= count)
            wbb_fail(rw_graph(rw)->cx, (WbbLoc){0}, "the map has no range number %u: it has %u", ranges[i], count);
        which[first + ranges[i]] = 1;
    }
    return as_dimensions(rw, a, m, which);
}

/* --- larger steps ------------------------------------------------------------------------------------------------- */
/* The constraint s mod k in [c, c] on variable i, of the largest k; NULL if there is none. */
static const IxConstraint *step_of(const IrGraph *g, const IxMap *m, uint32_t i)
{
    const IxConstraint *best = NULL;
    for (uint32_t k = 0; k < m->constraints.n; k++) {
        const IxConstraint *c = &m->constraints.items[k];
        const IrNode *n = ir_at(g, c->expression);
        if (n->op != OP_MOD || n->a[0] != m->vars.items[i].node || c->lo != c->hi) continue;
        if (!best || (int64_t)ir_at(g, n->a[1])->imm > (int64_t)ir_at(g, ir_at(g, best->expression)->a[1])->imm)
            best = c;
    }
    return best;
}

IxMap *ix_map_rescale_symbols(RwCx *rw, WbbArena *a, const IxMap *m)
{
    IrGraph *g = rw_graph(rw);
    if (m->state != IX_KNOWN) return ix_map_of_state(a, m->state);
    IxMap *made = ix_map_new(a);
    IxSubstitution s = {.rw = rw, .nodes = {.arena = a}};
    for (uint32_t i = 0; i < m->vars.n; i++) {
        IxVar v = m->vars.items[i];
        const IxConstraint *c = v.kind == IX_RANGE ? step_of(g, m, i) : NULL;
        WbbI128 k = 1, rem = 0;
        if (c) {
            k = (int64_t)ir_at(g, ir_at(g, c->expression)->a[1])->imm;
            rem = c->lo;
            if (rem < 0 || rem >= k) return ix_map_of_state(a, IX_EMPTY);
            v.lo = (int64_t)-ir_floor_div(rem - v.lo, k);
            v.hi = (int64_t)ir_floor_div(v.hi - rem, k);
        }
        v.node = ix_variable(g, v.name, v.lo, v.hi);
        ix_substitute(&s, m->vars.items[i].node, rw_sum(rw, (int64_t)rem, (IrTerm[]){{(int64_t)k, v.node}}, 1));
        ix_map_insert(a, made, v);
    }
    if (made->state == IX_EMPTY) return ix_map_of_state(a, IX_EMPTY);
    for (uint32_t i = 0; i < m->vars.n; i++) {
        IxVar *v = &made->vars.items[i];
        if (v->at) v->at = all_rebuilt(&s, a, v->at, v->n_at);
    }
    for (uint32_t i = 0; i < m->results.n; i++) ix_map_result(a, made, ix_rebuild(&s, m->results.items[i]));
    for (uint32_t i = 0; i < m->constraints.n; i++) {
        const IxConstraint c = m->constraints.items[i];
        const IrRef e = ix_rebuild(&s, c.expression);
        if (!ir_is_const(g, e)) ix_map_constrain(a, made, e, c.lo, c.hi);
        else if ((int64_t)ir_at(g, e)->imm < c.lo || (int64_t)ir_at(g, e)->imm > c.hi)
            return ix_map_of_state(a, IX_EMPTY);
    }
    return made;
}
