/* normalise_build: copies an HLO module and replaces some instructions.
 *
 * Needs: a valid HLO module, and a rewriter. Leaves: another one, in which unused computations and instructions remain
 * (pass `dead` removes them).
 *
 * A new replacement takes the name of the instruction that it replaces. A replacement always has the layout of the
 * instruction: if an existing value with another layout replaces it, a copy is inserted. The walk over instructions
 * does not recurse.
 *
 *     s = f32[8] custom-call(x), custom_call_target="Sharding"   ->   users of s are users of x
 */
#include "hlo/normalise.h"

#include <string.h>

static HloInstruction dropped;
HloInstruction *const hlo_dropped = &dropped;

/* names ------------------------------------------------------------------------------------------------------------ */

const char *hlo_unique_name(HloBuilder *b, const char *stem) { return wbb_unique_name(b->cx, &b->names, stem, "", 1); }

/* instructions ----------------------------------------------------------------------------------------------------- */

static HloInstruction *append(HloBuilder *b, HloInstruction *i)
{
    WBB_PUSH(b->arena, &b->list, i);
    ++*b->total;
    return i;
}

void hlo_set_attributes(HloBuilder *b, HloInstruction *i, const char *text)
{
    const char *metadata = b->at ? hlo_attribute(b->arena, b->at, "metadata") : NULL;
    i->attributes = metadata ? wbb_format(b->arena, "%s, metadata=%s", text, metadata) : text;
}

void hlo_set_permits(HloBuilder *b, HloInstruction *i, uint32_t permits)
{
    i->permits = permits;
    hlo_set_attributes(b, i, hlo_permits_attribute(b->arena, permits));
}

HloInstruction *hlo_new(HloBuilder *b, HloOpcode op, const HloShape *s, uint32_t n, HloInstruction *const *operands)
{
    HloInstruction *i = WBB_NEW(b->arena, HloInstruction);
    HloInstruction **own = WBB_NEW_N(b->arena, HloInstruction *, n);
    for (uint32_t k = 0; k < n; k++) own[k] = operands[k];
    *i = (HloInstruction){.opcode = op, .shape = s, .operands = own, .n_operands = n, .attributes = "", .loc = b->loc};
    const char *name = hlo_opcode_name(op);
    if (b->at) {
        i->loc = b->at->loc;
        name = wbb_format(b->arena, "%s.%s", b->at->name, name);
        hlo_set_attributes(b, i, "");
    }
    i->name = hlo_unique_name(b, name);
    return append(b, i);
}

HloInstruction *hlo_new_get_tuple_element(HloBuilder *b, HloInstruction *tuple, int64_t index)
{
    HloInstruction *i = hlo_new(b, HLO_GET_TUPLE_ELEMENT, tuple->shape->elements[index], 1, &tuple);
    i->number = index;
    return i;
}

HloInstruction *hlo_mapped(const HloBuilder *b, const HloInstruction *old) { return b->map[old->id]; }

/* A copy of an instruction, old or new, with other operands. */
static HloInstruction *duplicate(HloBuilder *b, const HloInstruction *i, HloInstruction *const *operands)
{
    HloInstruction *copy = WBB_NEW(b->arena, HloInstruction);
    HloInstruction **own = WBB_NEW_N(b->arena, HloInstruction *, i->n_operands);
    *copy = *i;
    for (uint32_t k = 0; k < i->n_operands; k++) own[k] = operands[k];
    copy->operands = own;
    copy->n_users = copy->n_predecessors = 0; /* control-predecessors are dropped: the copy may lack them */
    return append(b, copy);
}

static HloInstruction **map_operands(HloBuilder *b, const HloInstruction *i, HloInstruction *const *map)
{
    HloInstruction **operands = WBB_NEW_N(b->arena, HloInstruction *, i->n_operands);
    for (uint32_t k = 0; k < i->n_operands; k++) operands[k] = map[i->operands[k]->id];
    return operands;
}

HloInstruction *hlo_copy_with_operands(HloBuilder *b, const HloInstruction *i, HloInstruction *const *operands)
{
    HloInstruction *copy = duplicate(b, i, operands);
    HloComputation **called = WBB_NEW_N(b->arena, HloComputation *, i->n_called);
    for (uint32_t k = 0; k < i->n_called; k++) called[k] = b->made[i->called[k]->id];
    if (i->n_called) copy->called = called;
    return copy;
}

HloInstruction *hlo_copy(HloBuilder *b, const HloInstruction *i)
{
    return hlo_copy_with_operands(b, i, map_operands(b, i, b->map));
}

HloInstruction *hlo_copy_by(HloBuilder *b, HloInstruction *const *map, const HloInstruction *i)
{
    HloInstruction *copy = hlo_copy_with_operands(b, i, map_operands(b, i, map));
    copy->name = hlo_unique_name(b, i->name);
    return copy;
}

bool hlo_same_layout(const HloShape *x, const HloShape *y)
{
    if (x == y) return true;
    if (x->type != y->type) return false;
    if (x->type != SC_TUPLE)
        return x->rank == y->rank && (x->rank == 0 || memcmp(x->minor_to_major, y->minor_to_major, x->rank) == 0);
    if (x->n_elements != y->n_elements) return false;
    for (uint32_t k = 0; k < x->n_elements; k++) /* recurses at most HLO_NESTING_LIMIT levels */
        if (!hlo_same_layout(x->elements[k], y->elements[k])) return false;
    return true;
}

/* x with the layout of s; recurses into tuples. */
static HloInstruction *with_layout(HloBuilder *b, HloInstruction *x, const HloShape *s)
{
    if (hlo_same_layout(x->shape, s)) return x;
    if (s->type != SC_TUPLE) return hlo_new(b, HLO_COPY, s, 1, &x);
    HloInstruction **parts = WBB_NEW_N(b->arena, HloInstruction *, s->n_elements);
    for (uint32_t k = 0; k < s->n_elements; k++) {
        HloInstruction *part = x->opcode == HLO_TUPLE ? x->operands[k] : hlo_new_get_tuple_element(b, x, k);
        parts[k] = with_layout(b, part, s->elements[k]);
    }
    return hlo_new(b, HLO_TUPLE, s, s->n_elements, parts);
}

/* The operation is defined by elements alone, so its result may have any layout. */
static bool allows_any_layout(HloOpcode op)
{
    switch (hlo_kind(op)) {
    case HLO_IS_ELEMENT: case HLO_IS_MOVE: case HLO_IS_CHOOSE: case HLO_IS_FOLD: return !hlo_has(op, HLO_RENAMES);
    default: return op == HLO_IOTA || op == HLO_SCATTER;
    }
}

HloInstruction *hlo_inline(HloBuilder *b, const HloComputation *c, HloInstruction *const *operands)
{
    const HloComputation *body = b->made[c->id];
    if (*b->total + body->n_instructions > b->most) return NULL;
    HloInstruction **map = WBB_NEW_N(b->arena, HloInstruction *, body->n_instructions);
    for (uint32_t k = 0; k < body->n_instructions; k++) {
        const HloInstruction *i = body->instructions[k];
        if (i->opcode == HLO_PARAMETER) {
            map[k] = with_layout(b, operands[i->number], i->shape);
            continue;
        }
        map[k] = duplicate(b, i, map_operands(b, i, map));
        map[k]->name = hlo_unique_name(b, i->name);
    }
    return map[body->root->id];
}

/* computations ----------------------------------------------------------------------------------------------------- */

static HloComputation *close_computation(HloBuilder *b, HloComputation *c, HloInstruction *root)
{
    c->instructions = b->list.items;
    c->n_instructions = b->list.n;
    c->root = root;
    uint32_t n = 0;
    for (uint32_t k = 0; k < b->list.n; k++) {
        HloInstruction *i = b->list.items[k];
        i->id = k;
        n += i->opcode == HLO_PARAMETER;
        for (uint32_t j = 0; j < i->n_operands; j++) i->operands[j]->n_users++;
    }
    HloInstruction **parameters = WBB_NEW_N(b->arena, HloInstruction *, n);
    for (uint32_t k = 0; k < b->list.n; k++)
        if (b->list.items[k]->opcode == HLO_PARAMETER)
            parameters[b->list.items[k]->number] = b->list.items[k];
    c->parameters = parameters;
    c->n_parameters = n;
    c->id = b->computations->n;
    WBB_PUSH(b->arena, b->computations, c);
    return c;
}

HloBuilder hlo_begin_computation(HloBuilder *caller, uint32_t n, const HloShape *const *parameters)
{
    HloBuilder b = {.cx = caller->cx,
                    .arena = caller->arena,
                    .from = caller->from,
                    .made = caller->made,
                    .fused = caller->fused,
                    .computations = caller->computations,
                    .total = caller->total,
                    .most = caller->most,
                    .loc = caller->at->loc,
                    .names = {.arena = caller->arena}};
    for (uint32_t k = 0; k < n; k++) {
        HloInstruction *p = hlo_new(&b, HLO_PARAMETER, parameters[k], 0, NULL);
        p->name = hlo_unique_name(&b, wbb_format(b.arena, "p%u", k));
        p->number = k;
    }
    return b;
}

/* `name`, or name.1, .. if a computation of the HLO module has it. */
static const char *computation_name(const HloBuilder *b, const char *name)
{
    const char *unique = wbb_intern_z(b->cx, name);
    for (uint32_t k = 0, n = 1; k < b->computations->n || k < b->from->n_computations; k++) {
        bool taken = (k < b->computations->n && b->computations->items[k]->name == unique) ||
                     (k < b->from->n_computations && b->from->computations[k]->name == unique);
        if (!taken) continue;
        unique = wbb_intern_z(b->cx, wbb_format(b->arena, "%s.%u", name, n++));
        k = UINT32_MAX; /* restart with the next name */
    }
    return unique;
}

HloComputation *hlo_end_computation(HloBuilder *b, const char *name, HloInstruction *root)
{
    HloComputation *c = WBB_NEW(b->arena, HloComputation);
    c->name = computation_name(b, name);
    c->attributes = "";
    c->loc = b->loc;
    return close_computation(b, c, root);
}

HloInstruction *hlo_inline_module(HloBuilder *b, const HloModule *m, HloInstruction *const *operands)
{
    for (uint32_t k = 0; k < m->n_computations; k++) {
        HloComputation *c = m->computations[k];
        if (c == m->entry) continue;
        for (uint32_t j = 0; j < c->n_instructions; j++) c->instructions[j]->loc = b->at->loc;
        c->name = computation_name(b, wbb_format(b->arena, "%s.%s", b->at->name, c->name));
        c->loc = b->at->loc;
        c->id = b->computations->n;
        WBB_PUSH(b->arena, b->computations, c);
    }
    HloInstruction **map = WBB_NEW_N(b->arena, HloInstruction *, m->entry->n_instructions);
    for (uint32_t k = 0; k < m->entry->n_instructions; k++) {
        const HloInstruction *i = m->entry->instructions[k];
        HloInstruction *x = i->n_operands ? map[i->operands[0]->id] : NULL;
        if (i->opcode == HLO_PARAMETER || (i->opcode == HLO_CONVERT && x->shape->type == i->shape->type)) {
            map[k] = with_layout(b, x ? x : operands[i->number], i->shape);
            continue;
        }
        map[k] = duplicate(b, i, map_operands(b, i, map));
        map[k]->loc = b->at->loc;
        map[k]->name = hlo_unique_name(b, wbb_format(b->arena, "%s.%s", b->at->name, i->name));
        hlo_set_attributes(b, map[k], i->attributes);
    }
    return map[m->entry->root->id];
}

/* The copy or replacement of i, with the layout of i and, if it is new, the name of i. */
static HloInstruction *replace(HloBuilder *b, const HloRewriter *w, const HloInstruction *i)
{
    uint32_t before = b->list.n;
    b->at = i;
    HloInstruction *r = w->rewrite(b, i);
    if (!r) return hlo_copy(b, i);
    if (r == hlo_dropped) return NULL;
    bool is_new = b->list.n > before && r == b->list.items[b->list.n - 1];
    if (is_new && i->shape->type != SC_TUPLE && allows_any_layout(r->opcode)) r->shape = i->shape;
    r = with_layout(b, r, i->shape);
    if (b->list.n > before && r == b->list.items[b->list.n - 1]) r->name = i->name;
    return r;
}

static HloComputation *copy_computation(HloBuilder *b, const HloRewriter *w, const HloComputation *source)
{
    HloComputation *c = WBB_NEW(b->arena, HloComputation);
    *c = *source;
    b->source = source;
    b->marks = w->marks ? w->marks[source->id] : NULL;
    b->same = w->same ? w->same[source->id] : NULL;
    b->list = (HloInstructions){0};
    wbb_map_clear(&b->names);
    b->map = WBB_NEW_N(b->arena, HloInstruction *, source->n_instructions);
    for (uint32_t k = 0; k < source->n_instructions; k++)
        wbb_map_put(&b->names, wbb_key(source->instructions[k]->name));
    for (uint32_t k = 0; k < source->n_instructions; k++) b->map[k] = replace(b, w, source->instructions[k]);
    return close_computation(b, c, b->map[source->root->id]);
}

/* Callers stand after callees, so one walk from the last computation suffices. */
const bool *hlo_find_fused(WbbArena *a, const HloModule *m)
{
    bool *fused = WBB_NEW_N(a, bool, m->n_computations);
    for (uint32_t c = m->n_computations; c-- > 0;) {
        const HloComputation *from = m->computations[c];
        for (uint32_t k = 0; k < from->n_instructions; k++) {
            const HloInstruction *i = from->instructions[k];
            bool unfused = i->opcode == HLO_WHILE || i->opcode == HLO_CONDITIONAL || i->opcode == HLO_CUSTOM_CALL;
            for (uint32_t j = 0; j < i->n_called; j++)
                if (fused[c] || !unfused) fused[i->called[j]->id] = true;
        }
    }
    return fused;
}

static bool needed(const HloModule *m, const HloRewriter *w)
{
    if (!w->applies) return true;
    for (uint32_t c = 0; c < m->n_computations; c++)
        for (uint32_t k = 0; k < m->computations[c]->n_instructions; k++)
            if (w->applies(m->computations[c]->instructions[k])) return true;
    return false;
}

const HloModule *hlo_rewrite(WbbCx *cx, WbbArena *a, const HloModule *m, const HloRewriter *w)
{
    if (!needed(m, w)) return m;
    HloComputations list = {0};
    uint64_t total = 0;
    HloBuilder b = {.cx = cx, .arena = a, .from = m, .computations = &list, .total = &total, .names = {.arena = a},
                    .arg = w->arg};
    HloModule *made = WBB_NEW(a, HloModule);
    *made = *m;
    b.made = WBB_NEW_N(a, HloComputation *, m->n_computations);
    for (uint32_t c = 0; c < m->n_computations; c++) b.most += m->computations[c]->n_instructions;
    b.most = WBB_MAX(HLO_INLINE_TIMES * b.most, (uint64_t)HLO_INLINE_LIMIT);
    b.fused = hlo_find_fused(a, m);
    for (uint32_t c = 0; c < m->n_computations; c++) b.made[c] = copy_computation(&b, w, m->computations[c]);
    for (uint32_t c = 0; c < list.n; c++) list.items[c]->module = made;
    made->computations = list.items;
    made->n_computations = list.n;
    made->entry = b.made[m->entry->id];
    return made;
}
