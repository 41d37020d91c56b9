/* verify: a program does what it says, whoever wrote it.
 *
 * Needs: a program whose numbers name existing values, buffers and computations. Leaves: NULL, or the first fault.
 * Each computation is followed step by step: a step reads values that were made and that no later step overwrote; what
 * it makes lies in memory of its own, unless the step says that it shares that of an operand; computations get and
 * leave arrays of the shapes that callers have.
 *
 *     step 4 makes y over x, step 5 reads x        "it reads x, which step 4 overwrote with y"
 */
#include "program/program.h"

#include <string.h>

typedef struct {
    WbbArena *arena;
    const ProgModule *p;
    const ProgComputation *c;
    uint8_t *live;     /* [n_values] of values that are no views: made, and not overwritten */
    uint32_t *spoiled; /* [n_values] the step that overwrote it + 1 */
    const bool *kept;  /* [n_makes] of the step: kept_by */
    const char *fault;
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

static bool overlap(const ProgBuffer *x, int64_t x_bytes, const ProgBuffer *y, int64_t y_bytes)
{
    if (x->place != y->place || !x_bytes || !y_bytes) return false;
    if (x->place == PROG_TEMPORARY) return x->offset < y->offset + y_bytes && y->offset < x->offset + x_bytes;
    return x->place == PROG_CONSTANT ? x == y : x->number == y->number;
}

static bool values_overlap(const Check *c, uint32_t x, uint32_t y)
{
    return overlap(memory(c, x), c->c->values[x].bytes, memory(c, y), c->c->values[y].bytes);
}

static void refuse(Check *c, const char *text)
{
    if (!c->fault) c->fault = text;
}

static const char *name(const Check *c, uint32_t value) { return c->c->values[value].name; }

static void read(Check *c, uint32_t value)
{
    const uint32_t of = c->c->values[value].of;
    if (c->live[of]) return;
    refuse(c, c->spoiled[of] ? wbb_format(c->arena, "it reads %s, which step %u overwrote", name(c, value),
                                          c->spoiled[of] - 1)
                             : wbb_format(c->arena, "it reads %s, which no step before it makes", name(c, value)));
}

/* Whatever has memory here has lost its value. */
static void spoil(Check *c, const ProgBuffer *b, int64_t bytes, uint32_t step)
{
    if (b->place == PROG_CONSTANT) refuse(c, "it writes a constant");
    for (uint32_t v = 0; v < c->c->n_values; v++)
        if (c->live[v] && overlap(memory(c, v), c->c->values[v].bytes, b, bytes)) {
            c->live[v] = 0;
            c->spoiled[v] = step + 1;
        }
}

static void make(Check *c, uint32_t value, uint32_t step)
{
    if (c->c->values[value].of != value) refuse(c, wbb_format(c->arena, "it makes %s, a view", name(c, value)));
    spoil(c, memory(c, value), c->c->values[value].bytes, step);
    c->live[value] = 1;
}

/* Parameters that no result may overwrite are not written. */
static bool may_write(const Check *c, const ProgBuffer *b)
{
    bool may = b->place != PROG_PARAMETER;
    for (uint32_t j = 0; j < c->c->n_results && !may; j++) may = c->c->in_place[j] == (int64_t)b->number;
    return may;
}

static bool is_shared(const ProgStep *s, uint32_t output, uint32_t operand)
{
    for (uint32_t k = 0; k < s->n_shares; k++)
        if (s->shares[k].output == output && s->shares[k].operand == operand) return true;
    return false;
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

/* The memory of what a step makes is not that of another thing that it makes or reads. */
static void check_apart(Check *c, const ProgStep *s)
{
    for (uint32_t k = 0; k < s->n_makes; k++) {
        for (uint32_t j = 0; j < k; j++)
            if (!(c->kept[k] && c->kept[j]) && values_overlap(c, s->makes[k], s->makes[j]))
                refuse(c, wbb_format(c->arena, "it makes %s and %s in one place", name(c, s->makes[j]),
                                     name(c, s->makes[k])));
        for (uint32_t j = 0; j < s->n_reads; j++) {
            const bool both = c->kept[k] && j < s->n_makes && c->kept[j];
            if (s->kind == PROG_LOOP ? j == k || both : is_shared(s, k, j)) continue;
            if (values_overlap(c, s->makes[k], s->reads[j]))
                refuse(c, wbb_format(c->arena, "it makes %s over %s, which it reads", name(c, s->makes[k]),
                                     name(c, s->reads[j])));
        }
    }
    for (uint32_t k = 0; k < s->n_shares; k++) {
        const uint32_t x = s->makes[s->shares[k].output], y = s->reads[s->shares[k].operand];
        if (c->c->values[x].bytes != c->c->values[y].bytes || c->c->values[x].buffer != c->c->values[y].buffer)
            refuse(c, wbb_format(c->arena, "%s is said to have the memory of %s", name(c, x), name(c, y)));
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
    for (uint32_t k = 0; k < s->n_reads; k++)
        if (values_overlap(c, s->flag, s->reads[k])) refuse(c, "its flag is in the memory of its state");
}

/* The spare value of state k; NULL: it stays in its memory. */
static const ProgSwap *swap_of(const ProgStep *s, uint32_t k)
{
    for (uint32_t j = 0; j < s->n_swaps; j++)
        if (s->swaps[j].state == k) return &s->swaps[j];
    return NULL;
}

/* Memory that takes turns is that of nothing else. */
static void check_swap(Check *c, const ProgStep *s, const ProgSwap *x)
{
    const ProgValue *v = c->c->values, *spare = &v[x->spare];
    const uint32_t make = s->makes[x->state];
    const bool odd = s->iterations % 2;
    if (!same_type(spare, &v[make]) || spare->of != x->spare) refuse(c, "state takes turns with another shape");
    if (odd ? make != x->spare : v[make].buffer != v[s->reads[x->state]].buffer || make == x->spare)
        refuse(c, wbb_format(c->arena, "%s is not in the memory in which its turns end", name(c, make)));
    for (uint32_t k = 0; k < s->n_makes + s->n_reads; k++) {
        const uint32_t other = k < s->n_makes ? s->makes[k] : s->reads[k - s->n_makes];
        if (other != x->spare && values_overlap(c, x->spare, other))
            refuse(c, wbb_format(c->arena, "%s takes turns in the memory of %s", name(c, make), name(c, other)));
    }
    for (uint32_t k = 0; k < s->n_swaps; k++)
        if (&s->swaps[k] != x && (s->swaps[k].state == x->state || values_overlap(c, s->swaps[k].spare, x->spare)))
            refuse(c, "two take turns in one memory");
    const ProgBuffer *read = memory(c, s->reads[x->state]);
    if (read->place == PROG_CONSTANT || memory(c, x->spare)->place == PROG_CONSTANT) refuse(c, "it writes a constant");
    if (!may_write(c, read) || !may_write(c, memory(c, x->spare)))
        refuse(c, wbb_format(c->arena, "%s takes turns in the memory of a parameter", name(c, make)));
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

static void check_frame(Check *c, const ProgStep *s, uint32_t step)
{
    int64_t most = 0;
    for (uint32_t k = 0; k < s->n_calls; k++) most = WBB_MAX(most, c->p->computations[s->calls[k]].frame);
    if (!most) return;
    const ProgBuffer *b = s->frame >= 0 ? &c->c->buffers[s->frame] : NULL;
    if (!b || b->place != PROG_TEMPORARY || b->bytes < most) {
        refuse(c, "it has no room for the temporaries of the computations that it calls");
        return;
    }
    const uint32_t values = s->n_reads + s->n_makes;
    const bool flag = s->kind == PROG_LOOP && s->iterations < 0;
    for (uint32_t k = 0; k < values + flag; k++) {
        const uint32_t v = k < s->n_reads ? s->reads[k] : k < values ? s->makes[k - s->n_reads] : s->flag;
        if (overlap(memory(c, v), c->c->values[v].bytes, b, b->bytes))
            refuse(c, wbb_format(c->arena, "%s is in the frame of the computations that it calls", name(c, v)));
    }
    spoil(c, b, b->bytes, step);
}

static void check_step(Check *c, const ProgStep *s, uint32_t step)
{
    for (uint32_t k = 0; k < s->n_reads; k++) read(c, s->reads[k]);
    check_apart(c, s);
    if (s->kind == PROG_COPY) {
        const ProgValue *v = c->c->values;
        if (s->n_reads != 1 || s->n_makes != 1 || !same_elements(&v[s->reads[0]], &v[s->makes[0]]))
            refuse(c, "a copy reads one value and makes one of its shape");
    } else if (s->kind == PROG_LOOP) {
        check_loop(c, s);
    } else if (s->kind == PROG_BRANCH || s->kind == PROG_CALL) {
        check_branch(c, s);
    }
    if (c->fault) return;
    check_frame(c, s, step);
    if (s->kind == PROG_LOOP && s->iterations < 0) make(c, s->flag, step);
    for (uint32_t k = 0; k < s->n_swaps; k++) {
        const uint32_t ends[2] = {s->reads[s->swaps[k].state], s->swaps[k].spare};
        for (int j = 0; j < 2; j++) spoil(c, memory(c, ends[j]), c->c->values[ends[j]].bytes, step);
    }
    for (uint32_t k = 0; k < s->n_makes; k++) {
        if (c->kept[k]) c->live[s->makes[k]] = c->c->values[s->makes[k]].of == s->makes[k];
        else make(c, s->makes[k], step);
    }
}

/* Shapes, views, buffers. */
static void check_values(Check *c)
{
    for (uint32_t v = 0; v < c->c->n_values; v++) {
        const ProgValue *x = &c->c->values[v];
        const ProgBuffer *b = &c->c->buffers[x->buffer];
        if (x->bytes > b->bytes) refuse(c, wbb_format(c->arena, "%s is larger than its buffer", x->name));
        if (x->of != v && (c->c->values[x->of].of != x->of || c->c->values[x->of].buffer != x->buffer ||
                           c->c->values[x->of].bytes != x->bytes))
            refuse(c, wbb_format(c->arena, "%s is no view of %s", x->name, c->c->values[x->of].name));
        c->live[v] = x->of == v && (b->place == PROG_CONSTANT || !strcmp(x->type, "token"));
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
        c->live[x->parameters[k]] = 1;
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

static void check_writes(Check *c, const ProgStep *s)
{
    for (uint32_t k = 0; k < s->n_makes; k++) {
        if (!c->kept[k] && !may_write(c, memory(c, s->makes[k])))
            refuse(c, wbb_format(c->arena, "it makes %s in the memory of a parameter", name(c, s->makes[k])));
    }
}

const char *prog_verify(WbbArena *a, const ProgModule *p, int64_t *computation, int64_t *step)
{
    for (uint32_t i = 0; i < p->n; i++) {
        const ProgComputation *x = &p->computations[i];
        Check c = {.arena = a, .p = p, .c = x, .live = WBB_NEW_N(a, uint8_t, x->n_values + 1),
                   .spoiled = WBB_NEW_N(a, uint32_t, x->n_values + 1)};
        *computation = i, *step = -1;
        check_values(&c);
        if (!c.fault) check_ends(&c);
        for (uint32_t s = 0; s < x->n_steps && !c.fault; s++) {
            *step = s;
            c.kept = kept_by(&c, &x->steps[s]);
            check_writes(&c, &x->steps[s]);
            check_step(&c, &x->steps[s], s);
        }
        if (c.fault) return c.fault;
        *step = -1;
        for (uint32_t k = 0; k < x->n_results; k++) read(&c, x->results[k]);
        if (c.fault) return wbb_format(a, "at the end %s", c.fault);
    }
    return NULL;
}
