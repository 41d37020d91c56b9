/* steps.c: which loops keep a result of each iteration, and which outputs follow from these.
 *
 * Needs a plan's fusion; leaves the leaves that are stacked, and the space that threads have: one step. Without it each
 * thread would run the loop for an element of one step, and all steps together as often as there are steps.
 *
 *     exp(ys)[k,n], ys stacked along dimension 0     =>   the thread at n stores exp(y) at (k, n) in iteration k
 *     sum of ys over dimension 0                     =>   no kernel: the fusion is cut, ys goes through memory
 */
#include "plan/steps.h"

#include <string.h>

/* --- leaves ------------------------------------------------------------------------------------------------------- */
/* Is this leaf of the parameter read by `update` alone, as what it updates? */
static bool only_updated(const HloComputation *c, uint32_t leaf, const HloInstruction *update)
{
    for (uint32_t k = 0; k < c->n_instructions; k++) {
        const HloInstruction *i = c->instructions[k];
        if (i->opcode == HLO_GET_TUPLE_ELEMENT || (i->opcode == HLO_TUPLE && i != c->root)) continue;
        for (uint32_t o = 0; o < i->n_operands; o++)
            for (uint32_t l = 0; l < i->operands[o]->shape->n_leaves; l++) {
                const PlanValue v = plan_value(i->operands[o], l);
                const bool reads = v.i->opcode == HLO_PARAMETER && v.part == leaf;
                if (reads && !(i == update && o == 0)) return false;
            }
    }
    return true;
}

static bool find_stack(PlanSteps *s, const HloCount *counts, uint32_t leaf, PlanStack *stack)
{
    const HloLine counter = {counts->first, counts->step};
    const HloComputation *body = plan_called(s->loop, "body");
    const PlanValue v = plan_value(body->root, leaf);
    if (v.i->opcode != HLO_DYNAMIC_UPDATE_SLICE) return false;
    const PlanValue whole = plan_value(v.i->operands[0], 0);
    if (whole.i->opcode != HLO_PARAMETER || whole.part != leaf || ir_is_packed(v.i->shape->type)) return false;
    bool down;
    const int64_t along = hlo_stepped_along(v.i, counts->counter, counter, s->trips, &down);
    if (along < 0 || !only_updated(body, leaf, v.i)) return false;
    if (!only_updated(plan_called(s->loop, "condition"), leaf, NULL)) return false;
    *stack = (PlanStack){.update = v.i, .dim = (uint32_t)along, .first = down ? s->trips - 1 : 0,
                         .step = down ? -1 : 1};
    return true;
}

/* The shape of a step: that of a leaf without the dimension along which it is stacked. */
static const HloShape *step_shape(WbbArena *a, const HloShape *leaf, uint32_t dim)
{
    HloShape *s = WBB_NEW(a, HloShape);
    int64_t *dims = WBB_NEW_N(a, int64_t, leaf->rank + 1u);
    uint8_t *order = WBB_NEW_N(a, uint8_t, leaf->rank + 1u);
    uint32_t n = 0;
    for (uint32_t d = 0; d < leaf->rank; d++)
        if (d != dim) dims[n++] = leaf->dims[d];
    n = 0;
    for (uint32_t k = 0; k < leaf->rank; k++) {
        const uint32_t d = leaf->minor_to_major[k];
        if (d != dim) order[n++] = (uint8_t)(d - (d > dim));
    }
    *s = (HloShape){.type = leaf->type, .rank = (uint8_t)n, .dims = dims, .minor_to_major = order, .n_leaves = 1};
    return s;
}

/* Does the body take from its state something that it changes, other than the counter and what it stacks? */
static bool carries(const PlanSteps *s, const HloCount *counts)
{
    for (uint32_t l = 0; l < s->loop->shape->n_leaves; l++)
        if (l != counts->counter && !s->stacks[l].update && !hlo_loop_keeps(s->loop, l)) return true;
    return false;
}

static bool is_stepped(WbbArena *a, const Plan *p, const TgTarget *t, const HloInstruction *loop, PlanSteps *s)
{
    const HloCount counts = hlo_count_of(loop);
    const HloComputation *body = plan_called(loop, "body");
    const int64_t straight = tg_tuned(t, "while.straight");
    if (counts.trips < 2 || plan_operations(a, body, NULL) * counts.trips <= straight) return false;
    const uint32_t leaves = loop->shape->n_leaves;
    if (leaves != loop->shape->n_elements) return false; /* the state has tuples in it */
    *s = (PlanSteps){.loop = loop, .trips = counts.trips, .stacks = WBB_NEW_N(a, PlanStack, leaves + 1),
                     .stepped = WBB_NEW_N(a, bool, p->n_outputs + 1), .after = WBB_NEW_N(a, bool, p->n_outputs + 1)};
    for (uint32_t l = 0; l < leaves; l++) {
        PlanStack *x = &s->stacks[l];
        if (l == counts.counter || !find_stack(s, &counts, l, x)) continue;
        const HloShape *step = step_shape(a, plan_shape(loop, l), x->dim);
        if (!s->space) s->space = step;
        if (!hlo_same_dims(s->space, step)) x->update = NULL;
    }
    return s->space && hlo_elements(s->space) > 0 && carries(s, &counts);
}

PlanSteps *plan_find_steps(WbbArena *a, const Plan *p, const TgTarget *t)
{
    PlanSteps *s = WBB_NEW(a, PlanSteps);
    const HloComputation *body = p->fusion->body;
    for (uint32_t k = 0; k < body->n_instructions; k++)
        if (body->instructions[k]->opcode == HLO_WHILE && is_stepped(a, p, t, body->instructions[k], s)) return s;
    return NULL;
}

uint32_t plan_step_results(const Plan *p, const PlanSteps *s, const HloInstruction **found)
{
    const HloComputation *body = p->fusion->body;
    uint32_t n = 0;
    for (uint32_t k = 0; k < body->n_instructions; k++) {
        const HloInstruction *i = body->instructions[k];
        const bool is_result = i->opcode == HLO_GET_TUPLE_ELEMENT && i->operands[0] == s->loop;
        if (is_result && i->shape->type != SC_TUPLE && (i->n_users || i == body->root)) found[n++] = i;
    }
    return n;
}

/* --- operands ----------------------------------------------------------------------------------------------------- */
/* Machine instructions for an element of i, roughly, of all that is computed for it. */
static double work_of(WbbArena *a, const HloComputation *body, const HloInstruction *i, const TgTarget *t)
{
    bool *needed = WBB_NEW_N(a, bool, body->n_instructions + 1);
    double sum = 0;
    needed[i->id] = true;
    hlo_mark_operands(body, needed);
    for (uint32_t k = 0; k < body->n_instructions; k++) {
        const HloInstruction *x = body->instructions[k];
        if (needed[k]) sum += WBB_MAX(hlo_terms(a, x), 1) * plan_cost_of(t, x).slots;
    }
    return sum;
}

uint32_t plan_step_operands(WbbArena *a, const Plan *p, const PlanSteps *s, const TgTarget *t,
                            const HloInstruction **found)
{
    uint32_t n = 0;
    const double threads = (double)hlo_elements(s->space), together = (double)t->sms * tg_schedulers(t) * t->warp;
    if (!tg_find_rate(t, "clock")) return 0;
    const double clock = tg_rate(t, "clock")->value * 1e-6, dram = tg_rate(t, "dram")->value * 1e-6;
    const double each = (double)tg_tuned(t, "steps.operation") * WBB_MAX(threads / together, 1);
    for (uint32_t l = 0; l < s->loop->shape->n_leaves; l++) {
        const HloInstruction *i = plan_value(s->loop->operands[0], l).i;
        if (i->shape->type == SC_TUPLE || s->stacks[l].update) continue;
        if (hlo_elements(i->shape) <= hlo_elements(s->space)) continue;
        const double bytes = (double)hlo_elements(i->shape) * sc_bytes(i->shape->type);
        const double apart = plan_least_us(t) + 2 * bytes / dram;
        bool known = ir_is_packed(i->shape->type);
        for (uint32_t k = 0; k < n; k++) known = known || found[k] == i;
        if (!known && (double)s->trips * work_of(a, p->fusion->body, i, t) * each / clock > apart) found[n++] = i;
    }
    return n;
}

/* --- outputs ------------------------------------------------------------------------------------------------------ */
void plan_stack_index(RwCx *rw, const PlanSteps *s, uint32_t leaf, const IrRef *at, IrRef iteration, IrRef *index)
{
    const PlanStack *x = &s->stacks[leaf];
    const uint32_t rank = plan_shape(s->loop, leaf)->rank;
    for (uint32_t d = 0, n = 0; d < rank; d++)
        index[d] = d == x->dim ? rw_add(rw, rw_scale(rw, iteration, x->step), ir_index(rw_graph(rw), x->first))
                               : at[n++];
}

/* What an instruction needs of the loop. */
typedef enum {
    NOTHING,
    STEP, /* the result of one step, at one element */
    LAST, /* the state after all steps */
    MORE
} Need;

typedef struct {
    Need need;
    IrRef *index; /* STEP: of its own element that goes with the step's */
} Following;

/* Of a value that the body of the fusion has. */
static Following following(RwCx *rw, WbbArena *a, const PlanSteps *s, const Following *of, PlanValue v, const IrRef *at,
                           IrRef iteration)
{
    if (v.i != s->loop) return of[v.i->id];
    if (!s->stacks[v.part].update) return (Following){.need = LAST};
    Following x = {.need = STEP, .index = WBB_NEW_N(a, IrRef, HLO_RANK_LIMIT)};
    plan_stack_index(rw, s, v.part, at, iteration, x.index);
    return x;
}

static Following follow(RwCx *rw, WbbArena *a, const PlanSteps *s, const Following *of, const HloInstruction *i,
                        const IrRef *at, IrRef iteration)
{
    Following x = {.need = NOTHING};
    for (uint32_t o = 0; o < i->n_operands; o++)
        for (uint32_t l = 0; l < i->operands[o]->shape->n_leaves; l++) {
            const PlanValue v = plan_value(i->operands[o], l);
            const Following y = following(rw, a, s, of, v, at, iteration);
            const uint32_t rank = plan_shape(v.i, v.part)->rank;
            if (y.need == NOTHING) continue;
            const bool same = x.need == STEP && y.need == STEP && !memcmp(x.index, y.index, rank * sizeof *x.index);
            if (x.need == NOTHING) x = y;
            else if (x.need != y.need || (x.need == STEP && !same)) x.need = MORE;
        }
    if (x.need != STEP) return x;
    if (i->shape->type == SC_TUPLE || i->shape->rank > HLO_RANK_LIMIT) return (Following){.need = MORE};
    if (hlo_is_elementwise(i->opcode)) {
        for (uint32_t o = 0; o < i->n_operands; o++)
            if (!hlo_same_dims(i->operands[o]->shape, i->shape)) return (Following){.need = MORE};
        return x;
    }
    if (!hlo_permutes(i) || (hlo_has(i->opcode, HLO_RENAMES) && !plan_same_width(i))) return (Following){.need = MORE};
    IrRef *to = WBB_NEW_N(a, IrRef, HLO_RANK_LIMIT);
    ix_result(rw, a, i, x.index, to);
    return (Following){.need = STEP, .index = to};
}

/* What an output needs. */
static Following follow_output(RwCx *rw, WbbArena *a, const Plan *p, const PlanSteps *s, uint32_t output,
                               const IrRef *at, IrRef iteration)
{
    const HloComputation *body = p->fusion->body;
    Following *of = WBB_NEW_N(a, Following, body->n_instructions + 1);
    for (uint32_t k = 0; k < body->n_instructions; k++) {
        const HloInstruction *i = body->instructions[k];
        if (i != s->loop && hlo_kind(i->opcode) != HLO_IS_GROUP)
            of[k] = follow(rw, a, s, of, i, at, iteration);
    }
    return following(rw, a, s, of, p->roots[output], at, iteration);
}

bool plan_step_index(RwCx *rw, WbbArena *a, const Plan *p, const PlanSteps *s, uint32_t output, const IrRef *at,
                     IrRef iteration, IrRef *index)
{
    const Following x = follow_output(rw, a, p, s, output, at, iteration);
    const HloShape *shape = plan_shape(p->roots[output].i, p->roots[output].part);
    if (x.need == STEP && shape->rank) memcpy(index, x.index, shape->rank * sizeof *index);
    return x.need == STEP;
}

/* How far apart in memory an output has the elements of a step that are neighbours along each dimension of the space;
 * false: it is not seen. */
static bool find_strides(WbbArena *a, const Plan *p, const PlanSteps *s, uint32_t output, int64_t *strides)
{
    IrGraph *g = rw_graph(p->rw);
    const HloShape *shape = plan_shape(p->roots[output].i, p->roots[output].part);
    IrRef at[HLO_RANK_LIMIT], index[HLO_RANK_LIMIT];
    int64_t first = 0;
    for (uint32_t k = 0; k <= s->space->rank; k++) { /* dimension k - 1 */
        for (uint32_t d = 0; d < s->space->rank; d++)
            at[d] = ir_index(g, d + 1 == k && s->space->dims[d] > 1 ? 1 : 0);
        if (!plan_step_index(p->rw, a, p, s, output, at, ir_index(g, 0), index)) return false;
        const IrRef element = ix_linear(p->rw, shape, index);
        if (ir_at(g, element)->op != OP_CONST) return false;
        if (k) strides[k - 1] = (int64_t)ir_at(g, element)->imm - first;
        else first = (int64_t)ir_at(g, element)->imm;
    }
    return true;
}

/* Gives the space the order of an output's memory. beside: false where its elements are not side by side there. */
static bool order_as(WbbArena *a, const Plan *p, PlanSteps *s, uint32_t output, bool beside)
{
    int64_t strides[HLO_RANK_LIMIT];
    if (!find_strides(a, p, s, output, strides)) return false;
    HloShape *space = WBB_NEW(a, HloShape);
    uint8_t *order = WBB_NEW_N(a, uint8_t, s->space->rank + 1u);
    *space = *s->space;
    space->minor_to_major = order;
    for (uint32_t d = 0; d < space->rank; d++) { /* dimensions of size 1 first, which have stride 0 */
        uint32_t at = d;
        for (; at > 0 && strides[order[at - 1]] > strides[d]; at--) order[at] = order[at - 1];
        order[at] = (uint8_t)d;
    }
    s->space = space;
    for (uint32_t k = 0; k < space->rank; k++)
        if (space->dims[order[k]] > 1) return !beside || strides[order[k]] == 1;
    return true;
}

bool plan_fit_steps(WbbArena *a, const Plan *p, PlanSteps *s, bool beside)
{
    IrRef at[HLO_RANK_LIMIT];
    IrGraph *g = rw_graph(p->rw);
    bool ordered = false;
    for (uint32_t d = 0; d < s->space->rank; d++)
        at[d] = ir_var(g, ir_var_new(g, "n", IR_LOOP, 0, s->space->dims[d] - 1, 0));
    const IrRef iteration = ir_var(g, ir_var_new(g, "k", IR_LOOP, 0, s->trips - 1, 0));
    for (uint32_t o = 0; o < p->n_outputs; o++) {
        const Following x = follow_output(p->rw, a, p, s, o, at, iteration);
        const HloShape *shape = plan_shape(p->roots[o].i, p->roots[o].part);
        s->stepped[o] = x.need == STEP, s->after[o] = x.need == LAST && hlo_same_dims(shape, s->space);
        if (x.need == MORE || ((s->stepped[o] || s->after[o]) && ir_is_packed(shape->type))) return false;
        if (x.need == STEP && !ordered && !order_as(a, p, s, o, beside)) return false;
        ordered = ordered || x.need == STEP;
    }
    return ordered;
}
