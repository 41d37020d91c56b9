/* place: which memory each value has.
 *
 * Needs: a computation whose steps make and read values, those of parameters and constants in their buffers. Leaves: a
 * buffer for every value, copies where values have to be somewhere else, offsets of temporaries, the frame.
 *
 * Values that have one memory are a group: the state of a loop and what it begins with, an output of a kernel and the
 * operand that it may overwrite (share.c). That takes that nothing reads the older value later, and that the
 * computation may write its memory: temporaries, and parameters whose memory a result has. A group that holds a result
 * lies in the memory of the result. Temporaries get offsets by lifetime, the largest first.
 *
 * State that a loop does not change has the memory of what it begins with, whatever that is. Where a loop is counted, a
 * result that cannot have the memory of its parameter has memory of its own, and the two take turns.
 *
 *     loop body: (i, x) -> (i + 1, update x at i)  x stays where it is; i + 1 and i take turns, or i + 1 is copied
 *     loop body: (x, y) -> (y, x)                  a temporary and three copies
 */
#include "program/program.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    uint32_t buffer;  /* that it must have; PROG_UNPLACED: a temporary */
    bool writable;
    bool joined;      /* several steps write it */
    uint32_t last;    /* the last step that reads a value of it */
    uint32_t first;   /* the step that makes the first one */
    int64_t bytes;
} Group;

typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    const ProgModule *p;
    ProgComputation *c;
    bool swap;
    uint32_t n;                      /* steps before copies */
    struct { ProgValue *items; uint32_t n, capacity; } values;
    struct { ProgBuffer *items; uint32_t n, capacity; } buffers;
    struct { ProgStep *items; uint32_t n, capacity; } steps;
    struct { uint32_t *items; uint32_t n, capacity; } group_of, result_of; /* by value; the latter + 1; 0: none */
    struct { Group *items; uint32_t n, capacity; } groups;
    uint32_t *start, *end; /* by number before copies: of the first copy for a step, and of the step; [n]: the end */
} Place;

bool prog_is_part(const ProgValue *v, const ProgValue *of) { return v->at || v->each || v->bytes != of->bytes; }

enum { START = UINT32_MAX }; /* made before the first step */

ProgStep prog_copy(WbbArena *a, const char *name, uint32_t from, uint32_t to)
{
    uint32_t *ends = WBB_NEW_N(a, uint32_t, 2);
    ends[0] = from, ends[1] = to;
    return (ProgStep){.kind = PROG_COPY, .name = name, .operation = "copy", .reads = ends, .makes = ends + 1,
                      .n_reads = 1, .n_makes = 1, .frame = PROG_NONE, .iterations = PROG_NONE};
}

static uint32_t new_group(Place *p, uint32_t value, uint32_t first, bool writable)
{
    const ProgValue *v = &p->values.items[value];
    WBB_PUSH(p->arena, &p->groups, ((Group){v->buffer, writable, false, first == START ? 0 : first, first, v->bytes}));
    return p->groups.n - 1;
}

static Group *group(Place *p, uint32_t value)
{
    return &p->groups.items[p->group_of.items[p->values.items[value].of]];
}

static uint32_t add_value(Place *p, ProgValue v)
{
    v.of = p->values.n;
    WBB_PUSH(p->arena, &p->values, v);
    WBB_PUSH(p->arena, &p->group_of, 0);
    WBB_PUSH(p->arena, &p->result_of, 0);
    return v.of;
}

static bool same_bytes(const ProgValue *x, const ProgValue *y)
{
    return x->bytes == y->bytes && x->rank == y->rank &&
           (!x->rank || !memcmp(x->minor_to_major, y->minor_to_major, (size_t)x->rank * sizeof *x->minor_to_major));
}

static void set_lifetimes(Place *p)
{
    const ProgComputation *c = p->c;
    bool *writable = WBB_NEW_N(p->arena, bool, c->n_parameters + 1);
    for (uint32_t k = 0; k < c->n_results; k++)
        if (c->in_place[k] >= 0) writable[c->in_place[k]] = true;
    for (uint32_t v = 0; v < p->values.n; v++) {
        const ProgValue *x = &p->values.items[v];
        if (x->of != v) continue;
        const ProgBuffer *b = x->buffer == PROG_UNPLACED ? NULL : &p->buffers.items[x->buffer];
        p->group_of.items[v] = new_group(p, v, START, !b || (b->place == PROG_PARAMETER && writable[b->number]));
    }
    for (uint32_t s = 0; s < p->n; s++) {
        const ProgStep *x = &c->steps[s];
        for (uint32_t k = 0; k < x->n_makes; k++) group(p, x->makes[k])->first = group(p, x->makes[k])->last = s;
        if (x->kind == PROG_LOOP && x->iterations < 0) group(p, x->flag)->first = group(p, x->flag)->last = s;
    }
    for (uint32_t s = 0; s < p->n; s++)
        for (uint32_t k = 0; k < c->steps[s].n_reads; k++) group(p, c->steps[s].reads[k])->last = s;
    for (uint32_t k = 0; k < c->n_results; k++) {
        group(p, c->results[k])->last = p->n;
        if (!p->result_of.items[p->values.items[c->results[k]].of])
            p->result_of.items[p->values.items[c->results[k]].of] = k + 1;
    }
}

/* --- groups ------------------------------------------------------------------------------------------------------- */
static bool is_part(const Place *p, uint32_t value)
{
    const ProgValue *v = &p->values.items[value];
    return prog_is_part(v, &p->values.items[v->of]);
}

/* May what step s makes have the memory of what it reads? Only if nothing else reads that, in this step or later. */
static bool can_share(Place *p, const ProgStep *x, uint32_t s, uint32_t read, uint32_t make)
{
    const Group *g = group(p, read), *of = group(p, make);
    uint32_t reads = 0;
    for (uint32_t k = 0; k < x->n_reads; k++) reads += group(p, x->reads[k]) == g;
    if (g->last != s || reads != 1 || !g->writable || g == of || of->first != s || is_part(p, read)) return false;
    if (!same_bytes(&p->values.items[read], &p->values.items[make])) return false;
    /* a result goes to its own memory */
    const uint32_t result = p->result_of.items[make];
    if (!result || g->buffer == PROG_UNPLACED) return true;
    return p->c->in_place[result - 1] >= 0 &&
           g->buffer == p->values.items[p->c->parameters[p->c->in_place[result - 1]]].buffer;
}

static void join(Place *p, uint32_t read, uint32_t make)
{
    const uint32_t to = p->group_of.items[p->values.items[read].of];
    Group *g = &p->groups.items[to];
    g->last = WBB_MAX(g->last, group(p, make)->last);
    g->joined = true;
    p->group_of.items[make] = to;
}

bool prog_keeps(const ProgComputation *body, uint32_t k)
{
    const uint32_t v = body->parameters[k];
    if (body->in_place[k] != (int64_t)k || body->values[body->results[k]].of != v) return false;
    for (uint32_t s = 0; s < body->n_steps; s++) /* whatever else has its memory would have overwritten the result */
        for (uint32_t j = 0; j < body->steps[s].n_makes; j++)
            if (body->steps[s].makes[j] == v) return false;
    return true;
}

static uint32_t new_temporary(Place *p, uint32_t like, const char *ending, uint32_t s)
{
    ProgValue v = p->values.items[like];
    v.name = wbb_format(p->arena, "%s.%s", v.name, ending);
    v.buffer = PROG_UNPLACED;
    const uint32_t value = add_value(p, v);
    p->group_of.items[value] = new_group(p, value, s, true);
    return value;
}

/* May step s overwrite what it reads as reads[k]? */
static bool is_free_after(Place *p, const ProgStep *x, uint32_t s, uint32_t read)
{
    const Group *g = group(p, read);
    uint32_t reads = 0;
    for (uint32_t k = 0; k < x->n_reads; k++) reads += group(p, x->reads[k]) == g;
    return g->last == s && reads == 1 && g->writable && !is_part(p, read);
}

/* A loop's state is in the memory of what it begins with, or that is copied. */
static void begin_loop(Place *p, ProgStep *x, uint32_t s)
{
    const ProgComputation *body = &p->p->computations[x->calls[x->n_calls - 1]];
    uint32_t *reads = WBB_NEW_N(p->arena, uint32_t, x->n_reads + 1);
    ProgSwap *swaps = WBB_NEW_N(p->arena, ProgSwap, x->n_reads + 1);
    const bool odd = x->iterations >= 0 && x->iterations % 2;
    for (uint32_t k = 0; k < x->n_reads; k++) {
        const uint32_t read = x->reads[k], make = x->makes[k];
        const bool swap = body->in_place[k] < 0, moves = swap && odd; /* it ends in other memory than it begins in */
        reads[k] = read;
        if (swap) swaps[x->n_swaps++] = (ProgSwap){k, moves ? make : new_temporary(p, make, "turn", s)};
        if (moves && is_free_after(p, x, s, read)) {
            group(p, read)->joined = true;
            continue;
        }
        const bool same = !is_part(p, read) && same_bytes(&p->values.items[read], &p->values.items[make]);
        if (!moves && (prog_keeps(body, k) ? same : can_share(p, x, s, read, make))) {
            join(p, read, make);
            continue;
        }
        reads[k] = new_temporary(p, make, "begin", s);
        if (!moves) p->group_of.items[reads[k]] = p->group_of.items[make];
        WBB_PUSH(p->arena, &p->steps, prog_copy(p->arena, p->values.items[reads[k]].name, read, reads[k]));
    }
    x->reads = reads, x->swaps = swaps;
}

static void share_kernel(Place *p, ProgStep *x, uint32_t s)
{
    ProgShare *taken = WBB_NEW_N(p->arena, ProgShare, x->n_shares + 1);
    bool *output = WBB_NEW_N(p->arena, bool, x->n_makes + 1);
    uint32_t n = 0;
    for (uint32_t k = 0; k < x->n_shares; k++) {
        const ProgShare sh = x->shares[k];
        if (output[sh.output] || !can_share(p, x, s, x->reads[sh.operand], x->makes[sh.output])) continue;
        bool used = false;
        for (uint32_t j = 0; j < n; j++) used |= taken[j].operand == sh.operand;
        if (used) continue;
        join(p, x->reads[sh.operand], x->makes[sh.output]);
        output[sh.output] = true;
        taken[n++] = sh;
    }
    x->shares = taken, x->n_shares = n;
}

static void walk(Place *p)
{
    for (uint32_t s = 0; s < p->n; s++) {
        ProgStep x = p->c->steps[s];
        p->start[s] = p->steps.n;
        if (x.kind == PROG_LOOP) begin_loop(p, &x, s);
        else if (x.kind == PROG_KERNEL) share_kernel(p, &x, s);
        p->end[s] = p->steps.n;
        WBB_PUSH(p->arena, &p->steps, x);
    }
}

/* --- results ------------------------------------------------------------------------------------------------------ */
typedef struct { uint32_t from, to, result; bool done; } Move; /* groups' places by buffer; `from` is a value */

static uint32_t buffer_of(Place *p, uint32_t value) { return group(p, value)->buffer; }

static uint32_t copy_to(Place *p, uint32_t from, uint32_t buffer, const char *ending)
{
    ProgValue v = p->values.items[from];
    v.name = wbb_format(p->arena, "%s.%s", v.name, ending);
    v.buffer = buffer;
    const uint32_t to = add_value(p, v);
    p->group_of.items[to] = new_group(p, to, p->n, true);
    WBB_PUSH(p->arena, &p->steps, prog_copy(p->arena, v.name, from, to));
    return to;
}

/* The results that are not in their memory yet, all at once: a copy waits until what it overwrites has been copied. */
static void move_results(Place *p, Move *moves, uint32_t n)
{
    for (uint32_t left = n; left;) {
        Move *next = NULL, *any = NULL;
        for (uint32_t k = 0; k < n && !next; k++) {
            bool wanted = false;
            if (moves[k].done) continue;
            any = &moves[k];
            for (uint32_t j = 0; j < n; j++)
                wanted |= j != k && !moves[j].done && buffer_of(p, moves[j].from) == moves[k].to;
            if (!wanted) next = &moves[k];
        }
        if (!next) { /* a circle: what the first one of it overwrites is kept elsewhere */
            for (uint32_t j = 0; j < n; j++)
                if (!moves[j].done && buffer_of(p, moves[j].from) == any->to)
                    moves[j].from = copy_to(p, moves[j].from, PROG_UNPLACED, "kept");
            continue;
        }
        p->c->results[next->result] = copy_to(p, next->from, next->to, "result");
        next->done = true;
        left--;
    }
}

static void place_results(Place *p)
{
    ProgComputation *c = p->c;
    Move *moves = WBB_NEW_N(p->arena, Move, c->n_results + 1);
    uint32_t n = 0;
    for (uint32_t k = 0; k < c->n_results; k++) {
        const uint32_t value = c->results[k];
        Group *g = group(p, value);
        uint32_t to = 0;
        bool free_from_start = true;
        if (c->in_place[k] >= 0) {
            const uint32_t parameter = c->parameters[c->in_place[k]];
            const Group *old = group(p, parameter);
            to = p->values.items[parameter].buffer;
            free_from_start = g->first != START && g->first > old->last;
            if (p->swap && g->buffer == PROG_UNPLACED && !free_from_start && !old->joined) c->in_place[k] = PROG_NONE;
        }
        if (c->in_place[k] < 0) {
            free_from_start = true;
            to = p->buffers.n;
            WBB_PUSH(p->arena, &p->buffers,
                     ((ProgBuffer){.place = PROG_RESULT, .number = k, .bytes = p->values.items[value].bytes}));
        }
        if (g->buffer == to) continue;
        if (g->buffer == PROG_UNPLACED && free_from_start) g->buffer = to;
        else moves[n++] = (Move){.from = value, .to = to, .result = k};
    }
    p->start[p->n] = p->steps.n;
    move_results(p, moves, n);
    p->end[p->n] = p->steps.n ? p->steps.n - 1 : 0;
}

/* --- temporaries -------------------------------------------------------------------------------------------------- */
static void add_frames(Place *p)
{
    for (uint32_t s = 0; s < p->steps.n; s++) {
        ProgStep *x = &p->steps.items[s];
        int64_t most = 0;
        for (uint32_t k = 0; k < x->n_calls; k++) most = WBB_MAX(most, p->p->computations[x->calls[k]].frame);
        if (!most) continue;
        x->frame = p->buffers.n;
        WBB_PUSH(p->arena, &p->buffers, ((ProgBuffer){.place = PROG_TEMPORARY, .bytes = most, .first = s, .last = s}));
    }
}

static void add_temporaries(Place *p)
{
    bool *used = WBB_NEW_N(p->arena, bool, p->groups.n + 1); /* groups that were joined to others have no value */
    for (uint32_t v = 0; v < p->values.n; v++) used[p->group_of.items[p->values.items[v].of]] = true;
    for (uint32_t k = 0; k < p->groups.n; k++) {
        Group *g = &p->groups.items[k];
        if (g->buffer != PROG_UNPLACED || !used[k]) continue;
        g->buffer = p->buffers.n;
        const uint32_t first = g->first == START ? 0 : p->start[g->first];
        WBB_PUSH(p->arena, &p->buffers, ((ProgBuffer){.place = PROG_TEMPORARY, .bytes = g->bytes, .first = first,
                                                      .last = WBB_MAX(p->end[g->last], first)}));
    }
}

static int largest_first(const void *x, const void *y)
{
    const ProgBuffer *a = *(const ProgBuffer *const *)x, *b = *(const ProgBuffer *const *)y;
    if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
    if (a->first != b->first) return a->first < b->first ? -1 : 1;
    return a < b ? -1 : a > b;
}

static int lower_first(const void *x, const void *y)
{
    const ProgBuffer *a = *(const ProgBuffer *const *)x, *b = *(const ProgBuffer *const *)y;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* Each buffer at the lowest offset at which no other one is while it holds a value. */
static void assign_offsets(Place *p)
{
    const uint32_t n = p->buffers.n;
    ProgBuffer **order = WBB_NEW_N(p->arena, ProgBuffer *, n + 1), **near = WBB_NEW_N(p->arena, ProgBuffer *, n + 1);
    uint32_t count = 0;
    for (uint32_t k = 0; k < n; k++)
        if (p->buffers.items[k].place == PROG_TEMPORARY) order[count++] = &p->buffers.items[k];
    qsort(order, count, sizeof *order, largest_first);
    for (uint32_t k = 0; k < count; k++) {
        ProgBuffer *b = order[k];
        uint32_t meets = 0;
        for (uint32_t j = 0; j < k; j++)
            if (order[j]->first <= b->last && b->first <= order[j]->last) near[meets++] = order[j];
        qsort(near, meets, sizeof *near, lower_first);
        for (uint32_t j = 0; j < meets && b->bytes; j++) {
            if (near[j]->offset >= b->offset + b->bytes) break;
            const int64_t after = (near[j]->offset + near[j]->bytes + PROG_ALIGN - 1) / PROG_ALIGN * PROG_ALIGN;
            b->offset = WBB_MAX(b->offset, after);
        }
        p->c->frame = WBB_MAX(p->c->frame, (b->offset + b->bytes + PROG_ALIGN - 1) / PROG_ALIGN * PROG_ALIGN);
    }
}

void prog_place(WbbCx *cx, WbbArena *a, const ProgModule *program, ProgComputation *c, bool swap)
{
    Place p = {.cx = cx, .arena = a, .p = program, .c = c, .swap = swap, .n = c->n_steps,
               .start = WBB_NEW_N(a, uint32_t, c->n_steps + 2), .end = WBB_NEW_N(a, uint32_t, c->n_steps + 2)};
    for (uint32_t k = 0; k < c->n_values; k++) {
        WBB_PUSH(a, &p.values, c->values[k]);
        WBB_PUSH(a, &p.group_of, 0);
        WBB_PUSH(a, &p.result_of, 0);
    }
    for (uint32_t k = 0; k < c->n_buffers; k++) WBB_PUSH(a, &p.buffers, c->buffers[k]);
    uint32_t *results = WBB_NEW_N(a, uint32_t, c->n_results + 1);
    for (uint32_t k = 0; k < c->n_results; k++) results[k] = c->results[k];
    c->results = results;
    set_lifetimes(&p);
    walk(&p);
    place_results(&p);
    add_frames(&p);
    add_temporaries(&p);
    assign_offsets(&p);
    for (uint32_t k = 0; k < p.values.n; k++) p.values.items[k].buffer = group(&p, k)->buffer;
    c->values = p.values.items, c->n_values = p.values.n;
    c->buffers = p.buffers.items, c->n_buffers = p.buffers.n;
    c->steps = p.steps.items, c->n_steps = p.steps.n;
}
