/* cut.c: a fusion of several kernels, where elements of one need results that other threads, or all blocks, compute: a
 * scan, a sort or a reduction stands between its operands and what reads its results elsewhere.
 *
 * Needs a fusion; leaves a plan whose kernels are those of two fusions: the first has the results of some instructions
 * as outputs, the second has them as parameters. Both are planned as if they were written so, the second one again by
 * cutting where needed. Between them the results are in temporaries of the bundle, or in the memory of an output that
 * the second one leaves in place of such a result.
 *
 *     s = f32[8,100] sort(x), {1}  ROOT r = f32[8,10] slice(s)      =>   out = sort(x);   out = slice(parameter)
 */
#include "graph/graph.h"
#include "plan/plan.h"

#include <string.h>

typedef struct {
    WbbCx *cx;
    WbbArena *a;
    const HloFusion *fusion;
    GrGraph *graph;   /* of its body; NULL: nobody has asked for it */
    bool indices_are_given; /* perhaps: what they are made of stays in the other fusion */
    HloInstruction **made; /* by id: the copy, in the computation that is being made */
    bool *needed;          /* by id */
    HloInstruction **list;
    uint32_t n;
} Cutting;

static HloInstruction *add(Cutting *c, HloInstruction *i)
{
    i->id = c->n;
    i->n_users = i->n_predecessors = 0;
    c->list[c->n++] = i;
    return i;
}

static HloInstruction *copy(Cutting *c, const HloInstruction *i)
{
    HloInstruction *x = WBB_NEW(c->a, HloInstruction);
    HloInstruction **operands = WBB_NEW_N(c->a, HloInstruction *, i->n_operands + 1);
    *x = *i;
    for (uint32_t k = 0; k < i->n_operands; k++) operands[k] = c->made[i->operands[k]->id];
    x->operands = operands;
    if (c->indices_are_given && i->opcode == HLO_SCATTER)
        x->attributes = gr_noted(c->a, i, gr_neighbours(c->cx, c->a, c->fusion->body, i, &c->graph));
    add(c, x);
    for (uint32_t k = 0; k < i->n_operands; k++) operands[k]->n_users++;
    return x;
}

static HloInstruction *parameter_of(Cutting *c, const HloInstruction *i, uint32_t number)
{
    HloInstruction *x = WBB_NEW(c->a, HloInstruction);
    *x = (HloInstruction){.opcode = HLO_PARAMETER, .name = i->name, .shape = i->shape, .number = number,
                          .attributes = "", .loc = i->loc};
    return add(c, x);
}

static HloInstruction *tuple_of(Cutting *c, const HloInstruction *const *roots, uint32_t n)
{
    HloShape *s = WBB_NEW(c->a, HloShape);
    const HloShape **elements = WBB_NEW_N(c->a, const HloShape *, n);
    HloInstruction *x = WBB_NEW(c->a, HloInstruction), **operands = WBB_NEW_N(c->a, HloInstruction *, n);
    *s = (HloShape){.type = SC_TUPLE, .elements = elements, .n_elements = n};
    for (uint32_t k = 0; k < n; k++) {
        operands[k] = c->made[roots[k]->id], elements[k] = operands[k]->shape;
        s->n_leaves += elements[k]->n_leaves;
        s->depth = (uint8_t)WBB_MAX(s->depth, elements[k]->depth + 1);
    }
    *x = (HloInstruction){.opcode = HLO_TUPLE, .name = "results", .shape = s, .operands = operands, .n_operands = n,
                          .attributes = "", .loc = roots[0]->loc};
    add(c, x);
    for (uint32_t k = 0; k < n; k++) operands[k]->n_users++;
    return x;
}

/* Threads store whole bytes: where elements are smaller, the result of a reduction has wider ones in memory. */
static bool widens(const HloInstruction *i)
{
    return i->opcode == HLO_REDUCE && i->shape->type != SC_TUPLE && ir_is_packed(i->shape->type);
}

static HloInstruction *converted(Cutting *c, const HloInstruction *of, HloInstruction *x, ScType type)
{
    HloShape *s = WBB_NEW(c->a, HloShape);
    HloInstruction *i = WBB_NEW(c->a, HloInstruction), **operands = WBB_NEW_N(c->a, HloInstruction *, 1);
    *s = *x->shape, s->type = type;
    operands[0] = x, x->n_users++;
    *i = (HloInstruction){.opcode = HLO_CONVERT, .name = of->name, .shape = s, .operands = operands, .n_operands = 1,
                          .attributes = "", .loc = of->loc};
    return add(c, i);
}

/* Has every value of a type under 8 bits. */
static ScType wide_type(ScType t)
{
    const char c = sc_type_info[t].cls;
    return c == 'I' ? SC_I8 : c == 'U' ? SC_U8 : SC_BF16;
}

/* Marks what the roots need, down to the instructions of `given`. */
static void mark(Cutting *c, const HloInstruction *const *roots, uint32_t n_roots, const HloInstruction *const *given,
                 uint32_t n_given)
{
    const HloComputation *body = c->fusion->body;
    memset(c->needed, 0, (size_t)body->n_instructions + 1);
    for (uint32_t k = 0; k < n_roots; k++) c->needed[roots[k]->id] = true;
    for (uint32_t n = body->n_instructions; n-- > 0;) {
        const HloInstruction *i = body->instructions[n];
        bool is_given = false;
        for (uint32_t k = 0; k < n_given; k++) is_given = is_given || given[k] == i;
        for (uint32_t k = 0; c->needed[n] && !is_given && k < i->n_operands; k++) c->needed[i->operands[k]->id] = true;
    }
}

HloFusion *plan_cut_out(WbbCx *cx, WbbArena *a, const HloFusion *f, const HloInstruction *const *roots,
                        uint32_t n_roots, const HloInstruction *const *given, uint32_t n_given)
{
    const HloComputation *body = f->body;
    Cutting c = {.cx = cx, .a = a, .fusion = f, .indices_are_given = n_given > 0,
                 .made = WBB_NEW_N(a, HloInstruction *, body->n_instructions + 1),
                 .needed = WBB_NEW_N(a, bool, body->n_instructions + 1),
                 .list = WBB_NEW_N(a, HloInstruction *, body->n_instructions + 2 * n_given + n_roots + 2)};
    HloComputation *made = WBB_NEW(a, HloComputation);
    *made = *body;
    mark(&c, roots, n_roots, given, n_given);
    made->n_parameters = body->n_parameters + n_given;
    HloInstruction **parameters = WBB_NEW_N(a, HloInstruction *, made->n_parameters + 1);
    for (uint32_t k = 0; k < body->n_parameters; k++) {
        const HloInstruction *p = body->parameters[k];
        parameters[k] = c.made[p->id] = parameter_of(&c, p, k);
    }
    for (uint32_t k = 0; k < n_given; k++) {
        const uint32_t number = body->n_parameters + k;
        const ScType type = given[k]->shape->type;
        HloInstruction *x = parameters[number] = parameter_of(&c, given[k], number);
        if (widens(given[k])) {
            HloShape *wide = WBB_NEW(a, HloShape);
            *wide = *x->shape, wide->type = wide_type(type), x->shape = wide;
            x = converted(&c, given[k], x, type);
        }
        c.made[given[k]->id] = x;
    }
    for (uint32_t n = 0; n < body->n_instructions; n++)
        if (c.needed[n] && !c.made[n]) c.made[n] = copy(&c, body->instructions[n]);
    for (uint32_t k = 0; k < n_roots && !n_given; k++)
        if (widens(roots[k])) {
            HloInstruction *x = c.made[roots[k]->id];
            c.made[roots[k]->id] = converted(&c, roots[k], x, wide_type(x->shape->type));
        }
    made->root = n_roots > 1 ? tuple_of(&c, roots, n_roots) : c.made[roots[0]->id];
    made->parameters = parameters, made->instructions = c.list, made->n_instructions = c.n;
    HloFusion *fusion = WBB_NEW(a, HloFusion);
    *fusion = (HloFusion){.body = made, .name = f->name};
    return fusion;
}

/* --- plans -------------------------------------------------------------------------------------------------------- */
/* The kernels of a part of the plan, in the plan's memory: memory[buffer of the part] is a buffer of the plan. What the
 * part has as operands from number `given` on, the kernels before make. */
static void add_kernels(WbbArena *a, Plan *p, const Plan *part, const uint32_t *memory, uint32_t given)
{
    const uint32_t before = p->n_kernels;
    for (uint32_t k = 0; k < part->n_kernels; k++) {
        PlanKernel *to = &p->kernels[p->n_kernels];
        *to = part->kernels[k];
        const Plan *of = to->of ? to->of : part;
        const uint32_t n = of->n_operands + of->n_outputs + of->n_temps;
        uint32_t *own = WBB_NEW_N(a, uint32_t, n + 1), *ready = WBB_NEW_N(a, uint32_t, n + 1);
        for (uint32_t b = 0; b < n; b++) {
            const uint32_t of_part = to->of ? to->memory[b] : b;
            own[b] = memory[of_part];
            if (to->of && to->ready[b]) ready[b] = before + to->ready[b];
            else if (of_part >= given && of_part < part->n_operands) ready[b] = before;
        }
        to->of = of, to->memory = own, to->ready = ready, to->number = p->n_kernels++;
    }
}

/* Temporaries of the plan for these arrays; the number of the first. */
static uint32_t add_temporaries(Plan *p, const PlanBuffer *from, uint32_t n)
{
    const uint32_t first = p->n_operands + p->n_outputs + p->n_temps;
    for (uint32_t k = 0; k < n; k++) {
        p->buffers[first + k] = from[k];
        p->buffers[first + k].output = false, p->buffers[first + k].alias = -1;
    }
    p->n_temps += n;
    return first;
}

void plan_join(WbbArena *a, Plan *p, const Plan *first, const Plan *second)
{
    plan_join_direct(a, p, first, second, WBB_NEW_N(a, bool, p->n_outputs + 1));
}

/* The output of the plan that the second plan updates in place of the first one's result `given`, which the first one
 * then stores there; -1: there is none. */
static int32_t updated_in_place(const Plan *second, uint32_t given, const bool *direct)
{
    for (uint32_t k = 0, o = 0; k < second->n_outputs; k++, o++) {
        while (direct[o]) o++;
        if (second->buffers[second->n_operands + k].alias == (int32_t)given) return (int32_t)o;
    }
    return -1;
}

void plan_join_direct(WbbArena *a, Plan *p, const Plan *first, const Plan *second, const bool *direct)
{
    const uint32_t shared = p->n_operands, outputs = p->n_outputs;
    uint32_t n_direct = 0;
    for (uint32_t o = 0; o < outputs; o++) n_direct += direct[o];
    const uint32_t temps = first->n_outputs + first->n_temps + second->n_temps;
    PlanBuffer *buffers = WBB_NEW_N(a, PlanBuffer, shared + outputs + temps + 1);
    memcpy(buffers, p->buffers, (shared + outputs) * sizeof *buffers);
    p->buffers = buffers;
    p->kernels = WBB_NEW_N(a, PlanKernel, first->n_kernels + second->n_kernels + 1);
    p->n_kernels = 0;
    const uint32_t given = first->n_outputs - n_direct; /* to the second one */
    assert(first->n_operands == shared && second->n_operands == shared + given);
    uint32_t *memory = WBB_NEW_N(a, uint32_t, second->n_operands + shared + outputs + temps + 1);
    uint32_t *results = WBB_NEW_N(a, uint32_t, given + 1);
    for (uint32_t k = 0; k < given; k++) {
        const int32_t o = updated_in_place(second, shared + k, direct);
        results[k] = o < 0 ? add_temporaries(p, &first->buffers[shared + n_direct + k], 1) : shared + (uint32_t)o;
    }
    const uint32_t of_first = add_temporaries(p, first->buffers + shared + first->n_outputs, first->n_temps);
    const uint32_t own = second->n_outputs;
    const uint32_t of_second = add_temporaries(p, second->buffers + second->n_operands + own, second->n_temps);
    for (uint32_t k = 0; k < shared; k++) memory[k] = k;
    for (uint32_t k = 0, o = 0; k < n_direct; k++, o++) {
        while (!direct[o]) o++;
        memory[shared + k] = shared + o;
    }
    for (uint32_t k = 0; k < given; k++) memory[shared + n_direct + k] = results[k];
    for (uint32_t k = 0; k < first->n_temps; k++) memory[shared + first->n_outputs + k] = of_first + k;
    add_kernels(a, p, first, memory, shared);
    for (uint32_t k = 0; k < given; k++) memory[shared + k] = results[k];
    for (uint32_t k = 0, o = 0; k < own; k++, o++) {
        while (direct[o]) o++;
        memory[second->n_operands + k] = shared + o;
        const PlanBuffer *made = &second->buffers[second->n_operands + k];
        p->buffers[shared + o].many = made->many || made->alias >= (int32_t)shared;
        if (made->alias < (int32_t)shared) p->buffers[shared + o].alias = made->alias;
    }
    for (uint32_t k = 0; k < second->n_temps; k++) memory[second->n_operands + own + k] = of_second + k;
    add_kernels(a, p, second, memory, shared);
    p->kind = second->kind == first->kind ? first->kind : wbb_format(a, "%s, %s", first->kind, second->kind);
    p->why_kind = "results that are needed elsewhere are in memory before the next kernel";
}
