/* resolve: names become pointers; instructions and computations are sorted topologically.
 *
 * Needs: the instructions of a computation as the text has them (HloDraft), later all computations of the HLO module.
 * Leaves: operands and called computations resolved; instructions in topological order, in the order of the text where
 * that is one; parameters by number; computations with callees first.
 *
 * No function here recurses: chains of a million operands or computations are walked with a stack in the arena.
 *
 *     ROOT b = f32[] negate(a)
 *     a = f32[] parameter(0)          ->  a, b
 */
#include "hlo/inner.h"

#include <string.h>

/* The instruction, or the computation, of that name; NULL if there is none. */
static void *named(const HloReader *r, const char *name)
{
    const WbbEntry *e = wbb_map_get(&r->names, wbb_key(name));
    return e ? e->pointer : NULL;
}

/* For a message: the closest name in the table. */
static const char *suggest_name(HloReader *r, const char *name)
{
    HloSuggestion s = hlo_suggest_begin(name, strlen(name));
    for (uint32_t k = 0; k < r->names.n; k++)
        hlo_suggest_candidate(&s, (const char *)(uintptr_t)r->names.entries[k].key);
    return hlo_suggestion(r->cx->arena, &s);
}

/* Names an instruction that is given in place of an operand: sine.anon.1, or the next free number. */
static void name_nested(HloReader *r, HloInstruction *i, uint32_t *number)
{
    do i->name = wbb_intern_z(r->cx, wbb_format(r->arena, "%s.anon.%u", hlo_opcode_name(i->opcode), ++*number));
    while (named(r, i->name));
    wbb_map_put(&r->names, wbb_key(i->name))->pointer = i;
}

static void name_instructions(HloReader *r, const HloComputation *c, HloDraft *d)
{
    if (d->instructions.n > (UINT32_C(1) << 30)) wbb_fail(r->cx, c->loc, "a computation has too many instructions");
    wbb_map_clear(&r->names);
    uint32_t unnamed = 0;
    for (uint32_t k = 0; k < d->instructions.n; k++) {
        HloInstruction *i = d->instructions.items[k];
        i->id = k;
        if (!i->name) {
            unnamed++;
            continue;
        }
        const HloInstruction *other = named(r, i->name);
        if (other)
            wbb_fail(r->cx, d->names.items[k], "the name '%s' is given twice: first on line %d", i->name,
                     other->loc.line);
        wbb_map_put(&r->names, wbb_key(i->name))->pointer = i;
    }
    for (uint32_t k = 0, number = 0; unnamed && k < d->instructions.n; k++)
        if (!d->instructions.items[k]->name) name_nested(r, d->instructions.items[k], &number);
}

static void check_typed(HloReader *r, const HloInstruction *user, uint32_t k, HloInstruction *operand,
                        const HloOperandText *o)
{
    if (!o->shape) return;
    if (!operand->shape) {
        operand->shape = o->shape;
    } else if (!hlo_same_shape(o->shape, operand->shape)) {
        wbb_fail(r->cx, o->loc, "%s: operand %u is written as %s, but '%s' has shape %s", hlo_opcode_text(user), k,
                 hlo_shape_text(r->cx->arena, o->shape), o->name, hlo_shape_text(r->cx->arena, operand->shape));
    }
}

static HloInstruction *operand_named(HloReader *r, const HloInstruction *user, uint32_t k, const HloOperandText *o)
{
    HloInstruction *i = named(r, o->name);
    if (i) return i;
    wbb_fail(r->cx, o->loc, "%s: operand %u: no instruction is named '%s' in this computation%s", hlo_opcode_text(user),
             k, o->name, suggest_name(r, o->name));
}

/* Bare instructions: an undefined operand with a shape is a parameter; its number follows those of the parameters in
 * the text. */
static void add_parameters(HloReader *r, HloDraft *d)
{
    uint32_t n = d->instructions.n, anonymous = 0;
    int64_t number = 0;
    for (uint32_t k = 0; k < n; k++) number += d->instructions.items[k]->opcode == HLO_PARAMETER;
    for (uint32_t k = 0; k < d->operands.n; k++) {
        HloOperandText *o = &d->operands.items[k];
        if (o->nested || !o->shape || (o->name && named(r, o->name))) continue;
        HloInstruction *p = WBB_NEW(r->arena, HloInstruction);
        *p = (HloInstruction){.opcode = HLO_PARAMETER, .name = o->name, .shape = o->shape, .id = d->instructions.n,
                              .number = number++, .attributes = "", .loc = o->loc};
        if (p->name) wbb_map_put(&r->names, wbb_key(p->name))->pointer = p;
        else name_nested(r, p, &anonymous);
        o->nested = p;
        WBB_PUSH(r->arena, &d->instructions, p);
        WBB_PUSH(r->arena, &d->first, d->operands.n);
        WBB_PUSH(r->arena, &d->names, o->loc);
    }
}

/* True if every operand already stands before its user. */
static bool resolve_operands(HloReader *r, HloDraft *d)
{
    HloInstruction **pool = WBB_NEW_N(r->arena, HloInstruction *, d->operands.n);
    bool sorted = true;
    for (uint32_t k = 0; k < d->instructions.n; k++) {
        HloInstruction *i = d->instructions.items[k];
        uint32_t first = d->first.items[k];
        i->operands = pool + first;
        for (uint32_t j = 0; j < i->n_operands; j++) {
            const HloOperandText *o = &d->operands.items[first + j];
            HloInstruction *operand = o->nested ? o->nested : operand_named(r, i, j, o);
            pool[first + j] = operand;
            operand->n_users++;
            sorted = sorted && operand->id < k;
            check_typed(r, i, j, operand, o);
        }
    }
    return sorted;
}

/* The same for control-predecessors. */
static bool resolve_predecessors(HloReader *r, HloDraft *d)
{
    HloInstruction **pool = WBB_NEW_N(r->arena, HloInstruction *, d->orders.n);
    bool sorted = true;
    for (uint32_t k = 0; k < d->orders.n; k++) {
        const HloOrder *o = &d->orders.items[k];
        pool[k] = named(r, o->name);
        if (!pool[k])
            wbb_fail(r->cx, o->loc, "%s: control-predecessors: no instruction is named '%s' in this computation%s",
                     hlo_opcode_text(o->user), o->name, suggest_name(r, o->name));
        if (k == 0 || d->orders.items[k - 1].user != o->user) o->user->predecessors = pool + k;
        sorted = sorted && pool[k]->id < o->user->id;
    }
    return sorted;
}

static const HloInstruction *need_of(const HloInstruction *i, uint32_t k)
{
    return k < i->n_operands ? i->operands[k] : i->predecessors[k - i->n_operands];
}

/* Depth first from each instruction in the order of the text; operands and control-predecessors come first. */
static void sort_instructions(HloReader *r, HloDraft *d)
{
    uint32_t n = d->instructions.n;
    HloInstruction **order = WBB_NEW_N(r->arena, HloInstruction *, n);
    uint32_t *stack = WBB_NEW_N(r->arena, uint32_t, n);
    uint32_t *next = WBB_NEW_N(r->arena, uint32_t, n); /* 1 + number of operands visited; 0: not visited itself */
    bool *done = WBB_NEW_N(r->arena, bool, n);
    uint32_t n_order = 0;
    for (uint32_t start = 0; start < n; start++) {
        uint32_t depth = 0;
        if (next[start]) continue;
        stack[depth++] = start;
        next[start] = 1;
        while (depth) {
            uint32_t at = stack[depth - 1];
            HloInstruction *i = d->instructions.items[at];
            if (next[at] > i->n_operands + i->n_predecessors) {
                order[n_order++] = i;
                done[at] = true;
                depth--;
                continue;
            }
            const HloInstruction *need = need_of(i, next[at]++ - 1);
            if (done[need->id]) continue;
            if (next[need->id])
                wbb_fail(r->cx, i->loc, "%s: a cycle: '%s' needs '%s', which needs it in turn", hlo_opcode_text(i),
                         i->name, need->name);
            next[need->id] = 1;
            stack[depth++] = need->id;
        }
    }
    for (uint32_t k = 0; k < n; k++) {
        order[k]->id = k;
        d->instructions.items[k] = order[k];
    }
}

static void number_parameters(HloReader *r, HloComputation *c)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < c->n_instructions; k++) n += c->instructions[k]->opcode == HLO_PARAMETER;
    HloInstruction **parameters = WBB_NEW_N(r->arena, HloInstruction *, n);
    for (uint32_t k = 0; k < c->n_instructions; k++) {
        HloInstruction *i = c->instructions[k];
        if (i->opcode != HLO_PARAMETER) continue;
        if (i->number < 0 || i->number >= n)
            wbb_fail(r->cx, i->loc, "parameter: number %lld, but the computation has %u parameters, numbered from 0",
                     (long long)i->number, n);
        if (parameters[i->number])
            wbb_fail(r->cx, i->loc, "parameter: number %lld is that of '%s' already", (long long)i->number,
                     parameters[i->number]->name);
        parameters[i->number] = i;
    }
    c->parameters = parameters;
    c->n_parameters = n;
}

void hlo_resolve_instructions(HloReader *r, HloComputation *c, HloDraft *d)
{
    uint32_t n = d->instructions.n;
    if (n == 0) wbb_fail(r->cx, hlo_here(r), "a computation has no instructions");
    c->root = d->root ? d->root : d->instructions.items[n - 1];
    name_instructions(r, c, d);
    if (d->bare) add_parameters(r, d);
    n = d->instructions.n;
    bool sorted = resolve_operands(r, d);
    if (!resolve_predecessors(r, d) || !sorted) sort_instructions(r, d);
    HloInstruction **sequence = WBB_NEW_N(r->arena, HloInstruction *, n);
    memcpy(sequence, d->instructions.items, n * sizeof *sequence);
    c->instructions = sequence;
    c->n_instructions = n;
    number_parameters(r, c);
}

static void name_computations(HloReader *r)
{
    uint32_t n = r->computations.n;
    wbb_map_clear(&r->names);
    for (uint32_t k = 0; k < n; k++) {
        HloComputation *c = r->computations.items[k];
        c->id = k;
        if (!c->name) continue;
        WbbEntry *e = wbb_map_put(&r->names, wbb_key(c->name));
        if (e->pointer) wbb_fail(r->cx, c->loc, "the name '%s' is given to two computations", c->name);
        e->pointer = c;
    }
    /* Computations given in place: inline.1, or the next free number. */
    uint32_t number = 0;
    for (uint32_t k = 0; k < n; k++) {
        HloComputation *c = r->computations.items[k];
        while (!c->name) {
            const char *name = wbb_intern_z(r->cx, wbb_format(r->arena, "inline.%u", ++number));
            WbbEntry *e = wbb_map_put(&r->names, wbb_key(name));
            if (e->pointer) continue;
            c->name = name;
            e->pointer = c;
        }
    }
}

static void resolve_calls(HloReader *r)
{
    for (uint32_t k = 0; k < r->calls.n; k++) {
        const HloCall *call = &r->calls.items[k];
        HloComputation *c = named(r, call->name);
        if (!c)
            wbb_fail(r->cx, call->loc, "%s: no computation is named '%s'%s", hlo_opcode_text(call->user), call->name,
                     suggest_name(r, call->name));
        ((HloComputation **)(uintptr_t)call->user->called)[call->index] = c;
    }
}

typedef struct {
    HloComputation *c;
    uint32_t instruction, called; /* indices of the next callee to visit */
} Frame;

/* The next computation that f->c calls; NULL after the last. */
static HloComputation *next_called(Frame *f, const HloInstruction **user)
{
    for (; f->instruction < f->c->n_instructions; f->instruction++, f->called = 0) {
        *user = f->c->instructions[f->instruction];
        if (f->called < (*user)->n_called) return (*user)->called[f->called++];
    }
    return NULL;
}

static void sort_computations(HloReader *r)
{
    uint32_t n = r->computations.n, n_order = 0;
    HloComputation **order = WBB_NEW_N(r->arena, HloComputation *, n);
    Frame *stack = WBB_NEW_N(r->arena, Frame, n);
    unsigned char *state = wbb_alloc(r->arena, n); /* 0: not visited, 1: on the stack, 2: done */
    for (uint32_t start = 0; start < n; start++) {
        uint32_t depth = 0;
        if (state[start]) continue;
        stack[depth++] = (Frame){r->computations.items[start], 0, 0};
        state[start] = 1;
        while (depth) {
            Frame *f = &stack[depth - 1];
            const HloInstruction *user = NULL;
            HloComputation *callee = next_called(f, &user);
            if (!callee) {
                state[f->c->id] = 2;
                order[n_order++] = f->c;
                depth--;
            } else if (state[callee->id] == 1) {
                wbb_fail(r->cx, user->loc, "%s: a cycle: computation '%s' is called while it runs",
                         hlo_opcode_text(user), callee->name);
            } else if (state[callee->id] == 0) {
                state[callee->id] = 1;
                stack[depth++] = (Frame){callee, 0, 0};
            }
        }
    }
    for (uint32_t k = 0; k < n; k++) order[k]->id = k;
    r->module->computations = order;
    r->module->n_computations = n;
}

void hlo_resolve_module(HloReader *r)
{
    name_computations(r);
    resolve_calls(r);
    sort_computations(r);
}
