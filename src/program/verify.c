/* verify: a program does what it says, whoever wrote it.
 *
 * Needs: a program whose numbers name existing values, buffers and computations. Leaves: NULL, or the first fault.
 * Computations get and leave arrays of the shapes that callers have; what each step reads and makes is said as facts of
 * base/order.h, which follows them: a step reads values that were made and that no later step overwrote; what it makes
 * lies in memory of its own, unless the step says that it shares that of an operand.
 *
 *     step 4 makes y over x, step 5 reads x        "it reads x, which step 4 overwrote with y"
 */
#include "base/order.h"
#include "program/program.h"

#include <string.h>

typedef struct {
    WbbArena *arena;
    const ProgModule *p;
    const ProgComputation *c;
    const bool *kept; /* [n_makes] of the step: kept_by */
    const char *fault;
    struct { WbbTouch *items; uint32_t n, capacity; } touches; /* of the step */
} Check;

static bool same_elements(const ProgValue *x, const ProgValue *y)
{
    if (strcmp(x->type, y->type) || x->rank != y->rank) return false;
    for (int k = 0; k < x->rank; k++)
        if (x->dims[k] != y->dims[k]) return false;
    return true;
}

static bool same_type(const ProgValue *x, const ProgValue *y)
{
    for (int k = 0; k < x->rank && k < y->rank; k++)
        if (x->minor_to_major[k] != y->minor_to_major[k]) return false;
    return same_elements(x, y);
}

static const ProgBuffer *memory(const Check *c, uint32_t value) { return &c->c->buffers[c->c->values[value].buffer]; }

static bool is_part(const Check *c, uint32_t value)
{
    const ProgValue *v = &c->c->values[value];
    return prog_is_part(v, &c->c->values[v->of]);
}

static void refuse(Check *c, const char *text)
{
    if (!c->fault) c->fault = text;
}

static const char *name(const Check *c, uint32_t value) { return c->c->values[value].name; }

/* Constants, and parameters that no result may overwrite, are not written. */
static bool may_write(const Check *c, const ProgBuffer *b)
{
    if (b->place == PROG_CONSTANT) return false;
    bool may = b->place != PROG_PARAMETER;
    for (uint32_t j = 0; j < c->c->n_results && !may; j++) may = c->c->in_place[j] == (int64_t)b->number;
    return may;
}

/* State that a loop leaves as it is, and does not write. */
static const bool *kept_by(const Check *c, const ProgStep *s)
{
    bool *kept = WBB_NEW_N(c->arena, bool, s->n_makes + 1);
    if (s->kind != PROG_LOOP || !s->n_calls) return kept;
    const ProgComputation *body = &c->p->computations[s->calls[s->n_calls - 1]];
    const uint32_t n = WBB_MIN(WBB_MIN(s->n_reads, s->n_makes), WBB_MIN(body->n_results, body->n_parameters));
    for (uint32_t k = 0; k < n; k++)
        kept[k] = prog_keeps(body, k) && c->c->values[s->reads[k]].buffer == c->c->values[s->makes[k]].buffer;
    return kept;
}

static void check_shares(Check *c, const ProgStep *s)
{
    for (uint32_t k = 0; k < s->n_shares; k++) {
        const uint32_t x = s->makes[s->shares[k].output], y = s->reads[s->shares[k].operand];
        if (c->c->values[x].bytes != c->c->values[y].bytes || c->c->values[x].buffer != c->c->values[y].buffer)
            refuse(c, wbb_format(c->arena, "%s is said to have the memory of %s", name(c, x), name(c, y)));
        if (is_part(c, y)) refuse(c, "what it overwrites is a part of a value");
    }
}

/* `values` of this computation are the parameters, or the results, of a computation that it calls. */
static void check_signature(Check *c, const char *what, const uint32_t *values, uint32_t n, const ProgComputation *of,
                            bool results)
{
    const uint32_t *theirs = results ? of->results : of->parameters;
    const uint32_t count = results ? of->n_results : of->n_parameters;
    if (n != count) {
        refuse(c, wbb_format(c->arena, "%s has %u %s, and %u are given", of->name, count, what, n));
        return;
    }
    for (uint32_t k = 0; k < n; k++)
        if (!same_type(&c->c->values[values[k]], &of->values[theirs[k]]))
            refuse(c, wbb_format(c->arena, "%s and %s of %s differ in shape", name(c, values[k]),
                                 of->values[theirs[k]].name, of->name));
}

static void check_condition(Check *c, const ProgStep *s)
{
    const ProgComputation *condition = &c->p->computations[s->calls[0]];
    check_signature(c, "parameters", s->reads, s->n_reads, condition, false);
    check_signature(c, "results", &s->flag, 1, condition, true);
    for (uint32_t k = 0; k < condition->n_results; k++)
        if (condition->in_place[k] >= 0) refuse(c, "the condition writes its parameters");
}

/* The spare value of state k; NULL: it stays in its memory. */
static const ProgSwap *swap_of(const ProgStep *s, uint32_t k)
{
    for (uint32_t j = 0; j < s->n_swaps; j++)
        if (s->swaps[j].state == k) return &s->swaps[j];
    return NULL;
}

static void check_swap(Check *c, const ProgStep *s, const ProgSwap *x)
{
    const ProgValue *v = c->c->values, *spare = &v[x->spare];
    const uint32_t make = s->makes[x->state];
    const bool odd = s->iterations % 2;
    if (!same_type(spare, &v[make]) || spare->of != x->spare) refuse(c, "state takes turns with another shape");
    if (odd ? make != x->spare : v[make].buffer != v[s->reads[x->state]].buffer || make == x->spare)
        refuse(c, wbb_format(c->arena, "%s is not in the memory in which its turns end", name(c, make)));
    for (uint32_t k = 0; k < s->n_swaps; k++)
        if (&s->swaps[k] != x && s->swaps[k].state == x->state) refuse(c, "two take turns in one memory");
}

static void check_loop(Check *c, const ProgStep *s)
{
    const bool counted = s->iterations >= 0;
    if (s->n_calls != (counted ? 1 : 2) || s->n_reads != s->n_makes) {
        refuse(c, counted ? "a loop whose iterations are known calls a body, and makes what it reads"
                          : "a loop calls a condition and a body, and makes what it reads");
        return;
    }
    const ProgComputation *body = &c->p->computations[s->calls[!counted]];
    if (!counted) check_condition(c, s);
    check_signature(c, "parameters", s->reads, s->n_reads, body, false);
    check_signature(c, "results", s->makes, s->n_makes, body, true);
    if (c->fault) return;
    for (uint32_t k = 0; k < s->n_makes; k++) {
        const ProgSwap *swap = swap_of(s, k);
        if (is_part(c, s->reads[k])) refuse(c, "a loop begins in a part of a value");
        if ((body->in_place[k] < 0) != (swap != NULL)) refuse(c, "what takes turns is what the body says");
        if (swap) check_swap(c, s, swap);
        if (swap || c->kept[k]) continue;
        if (c->c->values[s->reads[k]].buffer != c->c->values[s->makes[k]].buffer)
            refuse(c, wbb_format(c->arena, "%s is not in the memory of %s", name(c, s->makes[k]),
                                 name(c, s->reads[k])));
        if (body->in_place[k] != (int64_t)k || memory(c, s->makes[k])->place == PROG_CONSTANT)
            refuse(c, wbb_format(c->arena, "result %u of %s is not in the memory of its parameter", k, body->name));
    }
}

static void check_branch(Check *c, const ProgStep *s)
{
    uint32_t at = s->kind == PROG_BRANCH;
    if (!s->n_calls || (s->kind == PROG_CALL && s->n_calls != 1) || s->n_reads < at) {
        refuse(c, "it calls no computation, or several");
        return;
    }
    if (s->kind == PROG_BRANCH) {
        const ProgValue *v = &c->c->values[s->reads[0]];
        if (v->rank || (strcmp(v->type, "pred") && strcmp(v->type, "s32")) || (*v->type == 'p' && s->n_calls != 2))
            refuse(c, "reads[0] of a branch is a pred, which has two computations, or an s32");
    }
    for (uint32_t k = 0; k < s->n_calls && !c->fault; k++) {
        const ProgComputation *of = &c->p->computations[s->calls[k]];
        if (s->n_reads - at < s->taken[k]) {
            refuse(c, "its computations have more parameters than it reads");
            return;
        }
        check_signature(c, "parameters", s->reads + at, s->taken[k], of, false);
        check_signature(c, "results", s->makes, s->n_makes, of, true);
        for (uint32_t j = 0; j < of->n_results; j++)
            if (of->in_place[j] >= 0) refuse(c, "a computation that is no body of a loop writes its parameters");
        if (s->kind == PROG_BRANCH) at += s->taken[k];
    }
}

static int64_t frame_of(const Check *c, const ProgStep *s)
{
    int64_t most = 0;
    for (uint32_t k = 0; k < s->n_calls; k++) most = WBB_MAX(most, c->p->computations[s->calls[k]].frame);
    return most;
}

static void check_frame(Check *c, const ProgStep *s)
{
    const int64_t most = frame_of(c, s);
    const ProgBuffer *b = s->frame >= 0 ? &c->c->buffers[s->frame] : NULL;
    if (most && (!b || b->place != PROG_TEMPORARY || b->bytes < most))
        refuse(c, "it has no room for the temporaries of the computations that it calls");
}

/* What a step is, whatever the order of steps. */
static void check_step(Check *c, const ProgStep *s)
{
    for (uint32_t k = 0; k < s->n_makes; k++)
        if (c->c->values[s->makes[k]].of != s->makes[k])
            refuse(c, wbb_format(c->arena, "it makes %s, a view", name(c, s->makes[k])));
    check_shares(c, s);
    if (s->kind == PROG_COPY) {
        const ProgValue *v = c->c->values;
        if (s->n_reads != 1 || s->n_makes != 1 || !same_elements(&v[s->reads[0]], &v[s->makes[0]]))
            refuse(c, "a copy reads one value and makes one of its shape");
    } else if (s->kind == PROG_LOOP) {
        check_loop(c, s);
    } else if (s->kind == PROG_BRANCH || s->kind == PROG_CALL) {
        check_branch(c, s);
    }
    check_frame(c, s);
}

/* --- order -------------------------------------------------------------------------------------------------------- */
static void touch(Check *c, WbbTouchKind kind, uint32_t value, uint32_t over)
{
    WBB_PUSH(c->arena, &c->touches, ((WbbTouch){kind, value, over}));
}

/* 1 + the operand whose memory result k of a step has; 0: none. */
static uint32_t over(const ProgStep *s, uint32_t k)
{
    const ProgSwap *swap = s->kind == PROG_LOOP ? swap_of(s, k) : NULL;
    if (s->kind == PROG_LOOP) return swap && s->makes[k] == swap->spare ? 0 : k + 1;
    for (uint32_t j = 0; j < s->n_shares; j++)
        if (s->shares[j].output == k) return s->shares[j].operand + 1;
    return 0;
}

/* What a step reads and makes. Numbers from n_values on are the buffers of frames. */
static WbbTouches touches_of(Check *c, const ProgStep *s)
{
    c->touches.items = NULL, c->touches.n = c->touches.capacity = 0;
    for (uint32_t k = 0; k < s->n_reads; k++) touch(c, WBB_READS, c->c->values[s->reads[k]].of, 0);
    for (uint32_t k = 0; k < s->n_makes; k++)
        touch(c, c->kept[k] ? WBB_KEEPS : WBB_MAKES, s->makes[k], c->kept[k] ? 0 : over(s, k));
    if (s->kind == PROG_LOOP && s->iterations < 0) touch(c, WBB_MAKES, s->flag, 0);
    for (uint32_t k = 0; k < s->n_swaps; k++) { /* of the two, that in which the result does not end */
        const ProgSwap *x = &s->swaps[k];
        const bool ends = s->makes[x->state] == x->spare;
        touch(c, WBB_SPOILS, ends ? c->c->values[s->reads[x->state]].of : x->spare, ends ? x->state + 1 : 0);
    }
    if (frame_of(c, s)) touch(c, WBB_SPOILS, c->c->n_values + (uint32_t)s->frame, 0);
    return (WbbTouches){c->touches.items, c->touches.n};
}

/* Memories: the frame of temporaries, then each parameter, result and constant. */
static WbbBytes bytes_of(const Check *c, const char *of, uint32_t buffer, int64_t bytes)
{
    const ProgBuffer *b = &c->c->buffers[buffer];
    const uint32_t results = 1 + c->c->n_parameters, constants = results + c->c->n_results;
    WbbBytes x = {.name = of, .bytes = bytes, .fixed = !may_write(c, b)};
    switch (b->place) {
    case PROG_TEMPORARY: x.offset = b->offset; break;
    case PROG_PARAMETER: x.memory = 1 + b->number; break;
    case PROG_RESULT: x.memory = results + b->number; break;
    case PROG_CONSTANT: x.memory = constants + buffer; break;
    }
    return x;
}

/* The facts of a computation, and what is wrong with them. */
static void check_order(Check *c, int64_t *step)
{
    const ProgComputation *x = c->c;
    WbbBytes *values = WBB_NEW_N(c->arena, WbbBytes, x->n_values + x->n_buffers + 1);
    WbbTouches *steps = WBB_NEW_N(c->arena, WbbTouches, x->n_steps + 1);
    for (uint32_t v = 0; v < x->n_values; v++) {
        values[v] = bytes_of(c, x->values[v].name, x->values[v].buffer, x->values[v].bytes);
        values[v].given = x->values[v].of == v &&
                          (memory(c, v)->place == PROG_CONSTANT || !strcmp(x->values[v].type, "token"));
    }
    for (uint32_t k = 0; k < x->n_buffers; k++)
        values[x->n_values + k] = bytes_of(c, "the frame of its computations", k, x->buffers[k].bytes);
    for (uint32_t k = 0; k < x->n_parameters; k++) values[x->parameters[k]].given = true;
    for (uint32_t k = 0; k < x->n_results; k++) values[x->values[x->results[k]].of].wanted = true;
    for (uint32_t s = 0; s < x->n_steps; s++) {
        c->kept = kept_by(c, &x->steps[s]);
        steps[s] = touches_of(c, &x->steps[s]);
    }
    const WbbOrder order = {.values = values, .steps = steps, .n_values = x->n_values + x->n_buffers,
                            .n_memories = 1 + x->n_parameters + x->n_results + x->n_buffers, .n_steps = x->n_steps};
    const WbbFault fault = wbb_order_fault(c->arena, &order);
    *step = fault.kind && fault.step < x->n_steps ? (int64_t)fault.step : -1;
    if (fault.kind) refuse(c, *step < 0 ? wbb_format(c->arena, "at the end %s", fault.text) : fault.text);
}

/* How often the loops run at most whose body the computation is; PROG_NONE: others call it, or that is not known. */
static int64_t iterations_of(const Check *c)
{
    const uint32_t number = (uint32_t)(c->c - c->p->computations);
    int64_t most = number == c->p->entry ? PROG_NONE : 0;
    for (uint32_t i = 0; i < c->p->n && most >= 0; i++)
        for (uint32_t s = 0; s < c->p->computations[i].n_steps && most >= 0; s++) {
            const ProgStep *x = &c->p->computations[i].steps[s];
            const bool counted = x->kind == PROG_LOOP && x->iterations >= 0;
            for (uint32_t k = 0; k < x->n_calls && most >= 0; k++)
                if (x->calls[k] == number) most = counted ? WBB_MAX(most, x->iterations) : PROG_NONE;
        }
    return most;
}

/* Each iteration's part lies inside. */
static void check_part(Check *c, const ProgValue *x)
{
    const ProgValue *of = &c->c->values[x->of];
    const int64_t trips = x->each ? iterations_of(c) : 1;
    const WbbI128 first = x->at, last = first + (WbbI128)x->each * (WBB_MAX(trips, 1) - 1);
    if (trips < 0) refuse(c, wbb_format(c->arena, "%s moves, and no counted loop alone has it", x->name));
    if (WBB_MIN(first, last) < 0 || WBB_MAX(first, last) + x->bytes > of->bytes)
        refuse(c, wbb_format(c->arena, "%s is no part of %s", x->name, of->name));
}

/* Shapes, views, buffers. */
static void check_values(Check *c)
{
    for (uint32_t v = 0; v < c->c->n_values; v++) {
        const ProgValue *x = &c->c->values[v];
        const ProgBuffer *b = &c->c->buffers[x->buffer];
        if (x->bytes > b->bytes) refuse(c, wbb_format(c->arena, "%s is larger than its buffer", x->name));
        if (x->of != v && (c->c->values[x->of].of != x->of || c->c->values[x->of].buffer != x->buffer))
            refuse(c, wbb_format(c->arena, "%s is no view of %s", x->name, c->c->values[x->of].name));
        if (is_part(c, v)) check_part(c, x);
    }
    for (uint32_t k = 0; k < c->c->n_buffers; k++) {
        const ProgBuffer *b = &c->c->buffers[k];
        const uint32_t count = b->place == PROG_PARAMETER ? c->c->n_parameters : c->c->n_results;
        if (b->place == PROG_TEMPORARY ? b->offset + b->bytes > c->c->frame
                                       : b->place != PROG_CONSTANT && b->number >= count)
            refuse(c, wbb_format(c->arena, "buffer %u lies outside the memory of the computation", k));
    }
}

static void check_ends(Check *c)
{
    const ProgComputation *x = c->c;
    for (uint32_t k = 0; k < x->n_parameters; k++) {
        const ProgBuffer *b = memory(c, x->parameters[k]);
        if (b->place != PROG_PARAMETER || b->number != k || b->bytes != x->values[x->parameters[k]].bytes)
            refuse(c, wbb_format(c->arena, "parameter %u is not in its memory", k));
    }
    for (uint32_t k = 0; k < x->n_results; k++) {
        const ProgBuffer *b = memory(c, x->results[k]);
        const bool right = x->in_place[k] >= 0 ? b->place == PROG_PARAMETER && b->number == x->in_place[k]
                                               : b->place == PROG_RESULT && b->number == k;
        if (!right) refuse(c, wbb_format(c->arena, "result %u, %s, is not in its memory", k, name(c, x->results[k])));
        if (b->bytes != x->values[x->results[k]].bytes) refuse(c, "a result and its memory differ in size");
        if (x->in_place[k] >= 0 && !same_type(&x->values[x->results[k]], &x->values[x->parameters[x->in_place[k]]]))
            refuse(c, wbb_format(c->arena, "result %u has not the shape of the parameter whose memory it has", k));
    }
}

const char *prog_verify(WbbArena *a, const ProgModule *p, int64_t *computation, int64_t *step)
{
    for (uint32_t i = 0; i < p->n; i++) {
        const ProgComputation *x = &p->computations[i];
        Check c = {.arena = a, .p = p, .c = x};
        *computation = i, *step = -1;
        check_values(&c);
        if (!c.fault) check_ends(&c);
        for (uint32_t s = 0; s < x->n_steps && !c.fault; s++) {
            *step = s;
            c.kept = kept_by(&c, &x->steps[s]);
            check_step(&c, &x->steps[s]);
        }
        if (!c.fault) check_order(&c, step);
        if (c.fault) return c.fault;
    }
    return NULL;
}
