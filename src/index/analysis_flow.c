/* analysis_flow.c: takes maps through an instruction, to its operands or from one of them to its result, and through a
 * computation.
 *
 * Needs maps that reach a leaf of a value; their results are the index in it. Leaves maps that reach the values next to
 * it: the same dimensions, with the ranges, run-time variables and constraints that the instruction adds. An operand
 * that an instruction does not read is not reached; one that it reads in a way that no map describes is unknown.
 *
 *     reduce dimensions={1}, reached by (d0) -> (d0 * 2)
 *     =>  operand 0: (d0)[s0] -> (d0 * 2, s0), operand 1: (d0) -> ()
 */
#include "index/analysis.h"

#include <string.h>

/* --- maps and variables ------------------------------------------------------------------------------------------- */

static bool same_at(const IxVar *x, const IxVar *y)
{
    return x->source == y->source && x->n_at == y->n_at &&
           (x->n_at == 0 || !memcmp(x->at, y->at, x->n_at * sizeof *x->at));
}

/* The pool's variable like v, made if it is new. */
static IxVar pooled(IxFlow *w, IxVar v)
{
    for (uint32_t k = 0; k < w->pool.n; k++) {
        const IxVar *p = &w->pool.items[k];
        if (p->kind == v.kind && p->lo == v.lo && p->hi == v.hi && same_at(p, &v) && !strcmp(p->name, v.name))
            return *p;
    }
    v.node = ix_variable(w->g, v.name, v.lo, v.hi);
    WBB_PUSH(w->a, &w->pool, v);
    return v;
}

static IrRef add_variable(IxFlow *w, IxMap *m, IxKind kind, int64_t lo, int64_t hi)
{
    const IxVar v = pooled(w, (IxVar){.name = ix_map_name(w->a, m, kind), .kind = kind, .lo = lo, .hi = hi});
    ix_map_insert(w->a, m, v);
    return v.node;
}

IxMap *ix_identity(IxFlow *w, const HloShape *s, bool physical)
{
    IxMap *m = ix_map_new(w->a);
    if (s->type == SC_TUPLE || hlo_elements(s) == 0) return NULL;
    for (uint32_t d = 0; d < s->rank; d++) ix_map_result(w->a, m, 0);
    for (uint32_t d = 0; d < s->rank; d++) {
        const uint32_t at = physical ? s->minor_to_major[s->rank - 1u - d] : d;
        m->results.items[at] = add_variable(w, m, IX_DIMENSION, 0, s->dims[at] - 1);
    }
    return m;
}

static bool same_map(const IxMap *x, const IxMap *y)
{
    if (x->vars.n != y->vars.n || x->results.n != y->results.n || x->constraints.n != y->constraints.n) return false;
    for (uint32_t k = 0; k < x->vars.n; k++)
        if (x->vars.items[k].node != y->vars.items[k].node) return false;
    for (uint32_t k = 0; k < x->results.n; k++)
        if (x->results.items[k] != y->results.items[k]) return false;
    for (uint32_t k = 0; k < x->constraints.n; k++) {
        const IxConstraint *c = &x->constraints.items[k], *d = &y->constraints.items[k];
        if (c->expression != d->expression || c->lo != d->lo || c->hi != d->hi) return false;
    }
    return true;
}

void ix_reach(IxFlow *w, IxReached *r, IxMap *m)
{
    if (r->unknown) return;
    for (uint32_t k = 0; k < r->n; k++)
        if (same_map(r->items[k], m)) return;
    if (r->n == IX_MAX_MAPS) r->unknown = true;
    else WBB_PUSH(w->a, r, m);
}

static void reach_all(IxFlow *w, IxReached *to, const IxReached *from)
{
    to->unknown = to->unknown || from->unknown;
    for (uint32_t k = 0; k < from->n; k++) ix_reach(w, to, from->items[k]);
}

static void constrain(IxFlow *w, IxMap *m, const IxConstraint *c)
{
    for (uint32_t k = 0; k < m->constraints.n; k++) {
        const IxConstraint *d = &m->constraints.items[k];
        if (c->expression == d->expression && c->lo == d->lo && c->hi == d->hi) return;
    }
    WBB_PUSH(w->a, &m->constraints, *c);
}

/* Removes the variables that are not in `before` and that nothing uses. */
static void drop_unused(IxFlow *w, IxMap *m, const IxMap *before)
{
    uint8_t *used = WBB_NEW_N(w->a, uint8_t, m->vars.n + 1u);
    ix_map_uses(w->rw, w->a, m, m->results.items, m->results.n, used);
    for (uint32_t k = 0; k < m->constraints.n; k++)
        ix_map_uses(w->rw, w->a, m, &m->constraints.items[k].expression, 1, used);
    for (uint32_t k = m->vars.n; k-- > 0;)
        if (used[k] && m->vars.items[k].at)
            ix_map_uses(w->rw, w->a, m, m->vars.items[k].at, m->vars.items[k].n_at, used);
    uint32_t n = 0;
    for (uint32_t k = 0; k < m->vars.n; k++) {
        const bool old = ix_map_find(before, m->vars.items[k].name) < before->vars.n;
        if (used[k] || old) m->vars.items[n++] = m->vars.items[k];
    }
    m->vars.n = n;
}

/* --- starts with known values ------------------------------------------------------------------------------------- */

static IrRef clamped(IxFlow *w, IrRef x, int64_t lo, int64_t hi)
{
    const IrType index = IR_TYPE(SC_INDEX, 0);
    const IrFact f = ir_fact(w->g, x);
    if (f.lo < lo) x = rw_make(w->rw, OP_MAX, index, 0, x, ir_index(w->g, lo), 0, 0);
    if (f.hi > hi) x = rw_make(w->rw, OP_MIN, index, 0, x, ir_index(w->g, hi), 0, 0);
    return x;
}

/* The node of a start in m: a known value, a run-time variable that m has already, or a new one. */
static IrRef start_variable(IxFlow *w, IxMap *m, const HloInstruction *source, const IrRef *at, const IxStart *s)
{
    const IrRef known = ix_known(w->rw, w->a, source, at);
    if (known) return clamped(w, known, s->lo, s->hi);
    IxVar v = {.kind = IX_RUNTIME, .lo = s->lo, .hi = s->hi, .source = source, .n_at = source->shape->rank,
               .clamp_lo = s->lo, .clamp_hi = s->hi};
    v.at = WBB_NEW_N(w->a, IrRef, v.n_at + 1);
    if (v.n_at) memcpy(v.at, at, v.n_at * sizeof *at);
    for (uint32_t k = 0; k < m->vars.n; k++) {
        const IxVar *old = &m->vars.items[k];
        if (old->kind == IX_RUNTIME && old->lo == v.lo && old->hi == v.hi && same_at(old, &v)) return old->node;
    }
    v.name = ix_map_name(w->a, m, IX_RUNTIME);
    v = pooled(w, v);
    ix_map_insert(w->a, m, v);
    return v.node;
}

/* --- one instruction ---------------------------------------------------------------------------------------------- */

/* Counts n steps; false: there were too many. */
static bool count_step(IxFlow *w, uint32_t n)
{
    w->steps = w->steps + n > IX_MAX_STEPS ? IX_MAX_STEPS : w->steps + n;
    return w->steps < IX_MAX_STEPS;
}

/* The step of one map through one instruction. */
typedef struct {
    IxFlow *w;
    const IxFamily *family;
    IxList of;            /* instruction, operand and leaf of the result */
    IxNeeds needs;
    const IxMap *before;
    IxMap *m;             /* `before` with what the instruction adds */
    IrRef *ranges;
} Step;

static bool begin(Step *s)
{
    s->m = ix_map_copy(s->w->a, s->before);
    s->needs = ix_family_needs(s->family, s->w->a, s->of.i, s->of.operand, s->of.output);
    s->ranges = WBB_NEW_N(s->w->a, IrRef, s->needs.n_ranges + 1u);
    for (uint32_t k = 0; k < s->needs.n_ranges; k++) {
        if (s->needs.sizes[k] == 0) return false;
        s->ranges[k] = add_variable(s->w, s->m, IX_RANGE, 0, s->needs.sizes[k] - 1);
    }
    return true;
}

static void finish(Step *s, const IrRef *index, uint32_t rank, IxReached *to)
{
    s->m->results.n = 0;
    for (uint32_t d = 0; d < rank; d++) WBB_PUSH(s->w->a, &s->m->results, index[d]);
    drop_unused(s->w, s->m, s->before);
    ix_reach(s->w, to, s->m);
}

/* To the array at the other end, of this rank. */
static void step_to_array(Step *s, uint32_t rank, IxReached *to)
{
    IxFlow *w = s->w;
    IxAccess access;
    if (!count_step(w, 1)) to->unknown = true;
    if (to->unknown || !begin(s)) return;
    const IrRef *from = s->before->results.items;
    IrRef *starts = WBB_NEW_N(w->a, IrRef, s->needs.n_starts + 1u);
    for (uint32_t k = 0; k < s->needs.n_starts; k++) {
        const HloInstruction *source = s->of.i->operands[s->needs.starts[k].operand];
        IrRef *at = WBB_NEW_N(w->a, IrRef, source->shape->rank + 1u);
        ix_family_start(s->family, w->rw, s->of, k, from, s->ranges, at);
        starts[k] = start_variable(w, s->m, source, at, &s->needs.starts[k]);
    }
    ix_family_access(s->family, w->rw, s->of, rank, from, s->ranges, starts, &access);
    if (access.never) return;
    for (uint32_t k = 0; k < access.n_conditions; k++) constrain(w, s->m, &access.conditions[k]);
    finish(s, access.index, rank, to);
}

/* To an operand that holds starts: a scalar, or all of a vector. */
static void step_to_starts(Step *s, IxReached *to)
{
    IxFlow *w = s->w;
    const HloShape *shape = s->of.i->operands[s->of.operand]->shape;
    const int vector = ix_vector_dimension(w->a, s->of.i, s->of.operand);
    IrRef *at = WBB_NEW_N(w->a, IrRef, shape->rank + 1u);
    if (hlo_elements(shape) == 0 || !begin(s)) return;
    const bool none = !ix_family_component(s->family, w->rw, s->of, s->before->results.items, s->ranges, at);
    if (none) return;
    if (vector >= 0 && shape->dims[vector] > 1)
        at[vector] = add_variable(w, s->m, IX_RANGE, 0, shape->dims[vector] - 1);
    finish(s, at, shape->rank, to);
}

static void lose_all_operands(const HloInstruction *i, IxSink sink)
{
    for (uint32_t k = 0; k < i->n_operands; k++)
        for (uint32_t l = 0; l < i->operands[k]->shape->n_leaves; l++) sink.to[sink.first[k] + l].unknown = true;
}

/* Leaf *leaf of a tuple instruction is leaf *leaf, changed here, of the operand that is returned. */
static uint32_t tuple_part(const HloInstruction *i, uint32_t *leaf)
{
    uint32_t k = 0;
    for (; k + 1 < i->n_operands && *leaf >= i->operands[k]->shape->n_leaves; k++)
        *leaf -= i->operands[k]->shape->n_leaves;
    return k;
}

/* The first leaf, in the tuple, of the element that a get-tuple-element takes. */
static uint32_t element_offset(const HloInstruction *i)
{
    const HloShape *tuple = i->operands[0]->shape;
    uint32_t offset = 0;
    for (int64_t k = 0; k < i->number; k++) offset += tuple->elements[k]->n_leaves;
    return offset;
}

/* --- whole computations ------------------------------------------------------------------------------------------- */

/* Does the value of i come from a computation that is called once, with i's operands as its parameters? */
static bool is_call(const HloInstruction *i)
{
    if (i->opcode != HLO_FUSION && i->opcode != HLO_CALL) return false;
    if (i->n_called == 0 || i->called[0]->n_parameters != i->n_operands) return false;
    return !strcmp(i->called_by[0], "calls") || !strcmp(i->called_by[0], "to_apply");
}

uint32_t *ix_leaf_numbers(WbbArena *a, const HloComputation *c)
{
    uint32_t *first = WBB_NEW_N(a, uint32_t, c->n_instructions + 1u);
    for (uint32_t k = 0; k < c->n_instructions; k++) first[k + 1] = first[k] + c->instructions[k]->shape->n_leaves;
    return first;
}

/* A step enters a called computation, so steps and walks call each other. */
static void call_back(IxFlow *w, const HloInstruction *i, uint32_t leaf, const IxReached *from, IxSink sink)
{
    const HloComputation *c = i->called[0];
    uint32_t *first = ix_leaf_numbers(w->a, c);
    IxReached *at = WBB_NEW_N(w->a, IxReached, first[c->n_instructions] + 1u);
    reach_all(w, &at[first[c->root->id] + leaf], from);
    ix_flow_back(w, c, at, first);
    for (uint32_t k = 0; k < c->n_parameters; k++)
        for (uint32_t l = 0; l < c->parameters[k]->shape->n_leaves; l++)
            reach_all(w, &sink.to[sink.first[k] + l], &at[first[c->parameters[k]->id] + l]);
}

/* --- steps -------------------------------------------------------------------------------------------------------- */

void ix_step_back(IxFlow *w, const HloInstruction *i, uint32_t leaf, const IxReached *from, IxSink sink)
{
    if (from->n == 0 && !from->unknown) return;
    if (i->opcode == HLO_TUPLE) {
        const uint32_t k = tuple_part(i, &leaf);
        if (i->n_operands) reach_all(w, &sink.to[sink.first[k] + leaf], from);
        return;
    }
    if (i->opcode == HLO_GET_TUPLE_ELEMENT) {
        reach_all(w, &sink.to[sink.first[0] + element_offset(i) + leaf], from);
        return;
    }
    if (hlo_forwards_operand(i)) {
        reach_all(w, &sink.to[sink.first[0] + leaf], from);
        return;
    }
    if (is_call(i) && count_step(w, i->called[0]->n_instructions)) {
        call_back(w, i, leaf, from, sink);
        return;
    }
    const IxFamily *f = ix_family(w->a, i);
    if (from->unknown || (!f && i->n_operands)) lose_all_operands(i, sink);
    for (uint32_t n = 0; f && n < from->n; n++)
        for (uint32_t k = 0; k < i->n_operands; k++) {
            const IxList of = {.a = w->a, .i = i, .operand = k, .output = leaf};
            Step s = {.w = w, .family = f, .of = of, .before = from->items[n]};
            if (hlo_is_start(i, k)) step_to_starts(&s, &sink.to[sink.first[k]]);
            else step_to_array(&s, i->operands[k]->shape->rank, &sink.to[sink.first[k]]);
        }
}

static void call_forward(IxFlow *w, const HloInstruction *i, uint32_t operand, uint32_t leaf, const IxReached *from,
                         IxSink sink)
{
    const HloComputation *c = i->called[0];
    uint32_t *first = ix_leaf_numbers(w->a, c);
    IxReached *at = WBB_NEW_N(w->a, IxReached, first[c->n_instructions] + 1u);
    reach_all(w, &at[first[c->parameters[operand]->id] + leaf], from);
    ix_flow_forward(w, c, at, first);
    for (uint32_t l = 0; l < i->shape->n_leaves; l++)
        reach_all(w, &sink.to[sink.first[0] + l], &at[first[c->root->id] + l]);
}

void ix_step_forward(IxFlow *w, const HloInstruction *i, uint32_t operand, uint32_t leaf, const IxReached *from,
                     IxSink sink)
{
    if (from->n == 0 && !from->unknown) return;
    if (i->opcode == HLO_TUPLE) {
        uint32_t at = leaf;
        for (uint32_t k = 0; k < operand; k++) at += i->operands[k]->shape->n_leaves;
        reach_all(w, &sink.to[sink.first[0] + at], from);
        return;
    }
    if (i->opcode == HLO_GET_TUPLE_ELEMENT) {
        const uint32_t offset = element_offset(i);
        if (leaf >= offset && leaf - offset < i->shape->n_leaves)
            reach_all(w, &sink.to[sink.first[0] + leaf - offset], from);
        return;
    }
    if (hlo_forwards_operand(i)) {
        if (operand == 0) reach_all(w, &sink.to[sink.first[0] + leaf], from);
        return;
    }
    if (is_call(i) && count_step(w, i->called[0]->n_instructions)) {
        call_forward(w, i, operand, leaf, from, sink);
        return;
    }
    const IxFamily *f = ix_target_family(w->a, i, operand);
    for (uint32_t l = 0; l < i->shape->n_leaves; l++) {
        IxReached *to = &sink.to[sink.first[0] + l];
        to->unknown = to->unknown || from->unknown || !f;
        for (uint32_t n = 0; f && n < from->n; n++) {
            const IxList of = {.a = w->a, .i = i, .operand = operand, .output = l};
            Step s = {.w = w, .family = f, .of = of, .before = from->items[n]};
            step_to_array(&s, ix_leaf(w->a, i->shape, l)->rank, to);
        }
    }
}

/* --- walks -------------------------------------------------------------------------------------------------------- */

void ix_flow_back(IxFlow *w, const HloComputation *c, IxReached *at, const uint32_t *first)
{
    for (uint32_t id = c->n_instructions; id-- > 0;) {
        const HloInstruction *i = c->instructions[id];
        uint32_t *operands = WBB_NEW_N(w->a, uint32_t, i->n_operands + 1u);
        for (uint32_t k = 0; k < i->n_operands; k++) operands[k] = first[i->operands[k]->id];
        for (uint32_t l = 0; l < i->shape->n_leaves; l++)
            ix_step_back(w, i, l, &at[first[id] + l], (IxSink){at, operands});
    }
}

void ix_flow_forward(IxFlow *w, const HloComputation *c, IxReached *at, const uint32_t *first)
{
    for (uint32_t id = 0; id < c->n_instructions; id++) {
        const HloInstruction *i = c->instructions[id];
        uint32_t result = first[id];
        for (uint32_t k = 0; k < i->n_operands; k++) {
            const HloInstruction *x = i->operands[k];
            for (uint32_t l = 0; l < x->shape->n_leaves; l++)
                ix_step_forward(w, i, k, l, &at[first[x->id] + l], (IxSink){at, &result});
        }
    }
}
