/* ranges.c: what a launch iterates over: its ranges.
 *
 * Needs buffers, roots and updates in place; leaves ranges that together make every output once, without layouts.
 * Outputs of equal size share one.
 *
 *     gelu bf16[6,512,4096]                       =>   a range of 12582912 elements
 *     concatenate of f32[64,96] and f32[64,32]    =>   columns 0..96 by blocks 0..12; columns 96..128 by blocks 12..16
 *     concatenate of two f32[64,96]               =>   one range of columns 0..96 and 96..192
 */
#include "plan/steps.h"

typedef struct {
    WbbArena *arena;
    Plan *p;
    const TgTarget *t;
    struct { PlanRange *items; uint32_t n, capacity; } ranges;
} Cutting;

/* Adds a range of one stage. */
static PlanStage *add(Cutting *c, PlanKind kind, uint32_t output, const HloShape *space)
{
    PlanRange r = {.space = space, .elements = hlo_elements(space), .n_stages = 1};
    r.stages = WBB_NEW(c->arena, PlanStage);
    r.stages[0] = (PlanStage){.kind = kind, .n_outputs = 1};
    r.stages[0].outputs = WBB_NEW_N(c->arena, uint32_t, c->p->n_outputs);
    r.stages[0].outputs[0] = output;
    WBB_PUSH(c->arena, &c->ranges, r);
    return r.stages;
}

/* The shape of a part of another: its dimensions in the order of the whole's memory. */
static const HloShape *part_like(WbbArena *a, const HloShape *whole, const int64_t *dims)
{
    HloShape *s = WBB_NEW(a, HloShape);
    *s = *whole;
    s->dims = dims;
    return s;
}

/* Elements of a part that are contiguous in the whole, from which it is cut along one dimension. */
static int64_t contiguous(const HloShape *part, const HloShape *whole, uint32_t dim)
{
    int64_t n = 1;
    for (uint32_t p = 0; p < whole->rank; p++) {
        n *= part->dims[whole->minor_to_major[p]];
        if (whole->minor_to_major[p] == dim) break;
    }
    return n;
}

/* A concatenate that is the root, or from which only elementwise operations lead to it, with operands large enough
 * for ranges of their own. */
static const HloInstruction *concatenate_below(Cutting *c, const HloInstruction *root)
{
    const HloInstruction *i = root;
    while (hlo_is_elementwise(i->opcode)) {
        const HloInstruction *next = NULL;
        for (uint32_t k = 0; k < i->n_operands; k++) {
            const HloInstruction *x = plan_value(i->operands[k], 0).i;
            const bool leaf = hlo_kind(x->opcode) == HLO_IS_LEAF || x->opcode == HLO_BROADCAST;
            if (!leaf && next && next != x) return NULL;
            if (!leaf) next = x;
        }
        if (!next || !hlo_same_dims(next->shape, root->shape)) return NULL;
        i = next;
    }
    if (i->opcode != HLO_CONCATENATE || ir_is_packed(root->shape->type)) return NULL;
    if (i->n_operands > tg_tuned(c->t, "range.max_count")) return NULL;
    bool alike = i->n_operands <= tg_tuned(c->t, "range.max_parts");
    for (uint32_t k = 1; k < i->n_operands; k++)
        alike = alike && hlo_same_dims(i->operands[k]->shape, i->operands[0]->shape);
    if (!alike && hlo_elements(i->shape) / i->n_operands < tg_tuned(c->t, "range.min_elements")) return NULL;
    for (uint32_t k = 0; k < i->n_operands; k++) {
        const int64_t bytes =
            contiguous(i->operands[k]->shape, root->shape, (uint32_t)i->dimensions[0]) * sc_bytes(root->shape->type);
        if (bytes > 0 && bytes < tg_tuned(c->t, "range.min_bytes")) return NULL;
    }
    return i;
}

/* The stage for operands of that shape, if it may have one more; else a new one. */
static PlanStage *stage_of(Cutting *c, uint32_t output, const HloShape *space)
{
    const int64_t most = tg_tuned(c->t, "range.max_parts");
    for (uint32_t k = 0; k < c->ranges.n; k++) {
        const PlanRange *r = &c->ranges.items[k];
        PlanStage *s = r->stages;
        if (s->kind == PLAN_CONCATENATE && s->outputs[0] == output && hlo_same_dims(r->space, space) &&
            s->n_starts < most)
            return s;
    }
    PlanStage *s = add(c, PLAN_CONCATENATE, output, space);
    s->starts = WBB_NEW_N(c->arena, int64_t, (size_t)most);
    return s;
}

static void add_concatenate(Cutting *c, uint32_t output, const HloInstruction *concatenate)
{
    const HloShape *whole = c->p->buffers[c->p->n_operands + output].shape;
    const uint32_t dim = (uint32_t)concatenate->dimensions[0];
    int64_t start = 0;
    for (uint32_t k = 0; k < concatenate->n_operands; k++) {
        int64_t *dims = WBB_NEW_N(c->arena, int64_t, whole->rank + 1u);
        for (uint32_t d = 0; d < whole->rank; d++) dims[d] = whole->dims[d];
        dims[dim] = concatenate->operands[k]->shape->dims[dim];
        if (hlo_elements(concatenate->operands[k]->shape) > 0) {
            PlanStage *s = stage_of(c, output, part_like(c->arena, whole, dims));
            s->dim = dim;
            s->starts[s->n_starts++] = start;
        }
        start += dims[dim];
    }
    c->p->kind = "concatenate";
    c->p->why_kind =
        "operands of one shape share threads, others have blocks of their own: no thread chooses between operands";
}

static void add_loop(Cutting *c, uint32_t output, const HloShape *shape)
{
    for (uint32_t k = 0; k < c->ranges.n; k++) {
        const PlanRange *r = &c->ranges.items[k];
        if (r->stages->kind != PLAN_ELEMENTS || r->elements != hlo_elements(shape)) continue;
        r->stages->outputs[r->stages->n_outputs++] = output;
        return;
    }
    if (hlo_elements(shape) > 0) add(c, PLAN_ELEMENTS, output, shape);
}

/* All outputs of the loop whose steps are stored one by one. */
static void add_steps(Cutting *c, uint32_t output)
{
    const PlanSteps *steps = c->p->steps;
    for (uint32_t k = 0; k < c->ranges.n; k++) {
        PlanStage *s = c->ranges.items[k].stages;
        if (s->kind != PLAN_STEPS) continue;
        s->outputs[s->n_outputs++] = output;
        return;
    }
    add(c, PLAN_STEPS, output, steps->space)->steps = steps;
    c->p->kind = "steps";
    c->p->why_kind = "a thread runs the loop for its element of a step, and stores what each iteration leaves";
}

static bool only_moves_memory(const Plan *p)
{
    for (uint32_t k = 0; k < p->n_outputs; k++) {
        const HloInstruction *i = p->roots[k].i;
        const HloInstruction *of = hlo_permutes(i) ? i->operands[0] : i;
        if (of->opcode != HLO_PARAMETER) return false;
    }
    return true;
}

static void cut(Cutting *c, const HloInstruction *const *updates, const bool *wanted)
{
    Plan *p = c->p;
    p->kind = "loop";
    p->why_kind = "one thread can read all that an element of an output needs";
    if (only_moves_memory(p)) {
        p->kind = "copy";
        p->why_kind = "outputs are parameters, in the same or another order";
    }
    for (uint32_t k = 0; k < p->n_outputs; k++) {
        if (wanted && !wanted[k]) continue;
        const HloShape *s = p->buffers[p->n_operands + k].shape;
        const HloInstruction *concatenate = p->n_outputs == 1 ? concatenate_below(c, p->roots[k].i) : NULL;
        const PlanBuffer *out = &p->buffers[p->n_operands + k];
        if (out->alias >= 0 && p->roots[k].i->opcode == HLO_PARAMETER) continue; /* the memory has it already */
        if (p->steps && (p->steps->stepped[k] || p->steps->after[k])) {
            add_steps(c, k);
        } else if (updates[k]) {
            const HloShape *update = updates[k]->operands[1]->shape;
            if (hlo_elements(update) > 0) {
                PlanStage *u = add(c, PLAN_UPDATE, k, part_like(c->arena, updates[k]->shape, update->dims));
                u->update = updates[k];
            }
            p->kind = "dynamic-update-slice";
            p->why_kind = "in place: what the updates replace is not read elsewhere, so only they are written";
        } else if (concatenate) {
            add_concatenate(c, k, concatenate);
        } else {
            add_loop(c, k, s);
        }
    }
    const PlanRange *ranges = c->ranges.items;
    const bool loops = c->ranges.n > 1 && ranges[0].stages->kind == PLAN_ELEMENTS &&
                       ranges[c->ranges.n - 1].stages->kind == PLAN_ELEMENTS;
    if (loops) {
        p->kind = "slices";
        p->why_kind = "outputs of different sizes have blocks of their own";
    }
}

PlanKernel plan_ranges(WbbArena *a, Plan *p, const TgTarget *t, const HloInstruction *const *updates,
                       const bool *wanted)
{
    Cutting c = {.arena = a, .p = p, .t = t};
    cut(&c, updates, wanted);
    return (PlanKernel){.ranges = c.ranges.items, .n_ranges = c.ranges.n};
}

bool *plan_needed(WbbArena *a, const Plan *p, const PlanKernel *k)
{
    const HloComputation *body = p->fusion->body;
    bool *needed = WBB_NEW_N(a, bool, body->n_instructions + 1);
    for (uint32_t n = 0; n < k->n_ranges; n++)
        for (uint32_t m = 0; m < k->ranges[n].n_stages; m++) {
            const PlanStage *s = &k->ranges[n].stages[m];
            for (uint32_t o = 0; o < s->n_outputs && s->kind != PLAN_SCATTER; o++)
                needed[(s->values ? s->values[o] : p->roots[s->outputs[o]]).i->id] = true;
            for (uint32_t o = 0; s->kind == PLAN_SCATTER && o <= s->n_outputs; o++) { /* indices and updates */
                const uint32_t indices = s->update->n_operands / 2;
                needed[s->update->operands[o ? indices + s->first + o : indices]->id] = true;
            }
        }
    for (uint32_t n = body->n_instructions; n-- > 0;) {
        const HloInstruction *i = body->instructions[n];
        const bool made = p->scattered && i->opcode == HLO_SCATTER; /* by an earlier kernel */
        for (uint32_t x = 0; needed[n] && x < i->n_operands && !made; x++) needed[i->operands[x]->id] = true;
    }
    return needed;
}
