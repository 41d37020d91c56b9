/* trips: how often a loop runs, where that follows from the text.
 *
 * Needs: a `while` of a normalised HLO module. Leaves: its number of iterations, or PROG_NONE. Where a counter goes
 * from a constant to a constant the text says it (hlo_count_of). Else the part of the state that decides is what the
 * condition reads, and what the body reads to make that part again: where it begins with constants and has few
 * elements, the evaluator runs condition and body for it alone. What the compiler has written (known_trip_count) is
 * believed where that does not lead to a number. It runs what it is about: a fact of a graph holds of all iterations,
 * and this is about when they end.
 *
 *     i = 1; while i < 50: (i, x) = (i * 2, f(x, i))      i decides: 6
 */
#include "eval/eval.h"
#include "program/program.h"

#include <stdlib.h>
#include <string.h>

enum { FEW = 64 };                /* elements of an array that decides */
enum { MOST = 1 << 13 };          /* iterations that are tried */
enum { MOST_VALUES = 1 << 18 };   /* values that are computed for that */

typedef struct {
    const HloInstruction *loop;
    const HloComputation *condition, *body;
    const HloComputation *of; /* the computation that the loop is in */
    WbbArena *arena;
    bool *decides;   /* [n] of the loop's state */
    void **state;    /* [n] elements of what decides */
    uint32_t n;
    uint32_t values; /* of one iteration */
    int64_t trips;
} Trips;

static bool is_few(const HloShape *s) { return s->type != SC_TUPLE && s->type != SC_TOKEN && hlo_elements(s) <= FEW; }

/* A value of few elements, made of few; a fusion is made of such values. */
static bool is_simple(const HloInstruction *i)
{
    for (uint32_t k = 0; k < i->n_operands; k++)
        if (!is_few(i->operands[k]->shape)) return false;
    switch (i->opcode) {
    case HLO_FUSION:
        for (uint32_t k = 0; k < i->called[0]->n_instructions; k++) {
            const HloInstruction *x = i->called[0]->instructions[k];
            if (x->opcode == HLO_FUSION || (x->opcode != HLO_PARAMETER && !is_simple(x))) return false;
        }
        return true;
    case HLO_CONSTANT: return is_few(i->shape) && i->literal;
    default: break;
    }
    const HloKind kind = hlo_kind(i->opcode);
    const bool moves = kind == HLO_IS_MOVE || kind == HLO_IS_CHOOSE || i->opcode == HLO_IOTA;
    return is_few(i->shape) && (moves || kind == HLO_IS_ELEMENT);
}

/* Is all that a value needs simple? What it needs of a called computation's parameter, the state, decides as well. */
static bool follow(Trips *t, const HloComputation *c, const HloInstruction *i)
{
    bool *marks = WBB_NEW_N(t->arena, bool, c->n_instructions + 1), fine = true;
    marks[i->id] = true;
    hlo_mark_operands(c, marks);
    for (uint32_t k = 0; k < c->n_instructions && fine; k++) {
        const HloInstruction *x = c->instructions[k];
        if (!marks[k]) continue;
        t->values++;
        if (c != t->of && x->opcode == HLO_PARAMETER) continue;
        if (c != t->of && x->opcode == HLO_GET_TUPLE_ELEMENT && x->operands[0]->opcode == HLO_PARAMETER) {
            t->decides[x->number] = true;
            continue;
        }
        fine = is_simple(x);
    }
    return fine;
}

/* Finds what decides; false where it is too much, or where it does not begin with constants. */
static bool find_state(Trips *t)
{
    const HloInstruction *begin = t->loop->operands[0];
    bool *had = WBB_NEW_N(t->arena, bool, t->n + 1), more = true;
    if (!t->condition || !t->body || begin->opcode != HLO_TUPLE || t->body->root->opcode != HLO_TUPLE) return false;
    if (!follow(t, t->condition, t->condition->root)) return false;
    while (more) {
        more = false;
        for (uint32_t k = 0; k < t->n; k++) {
            if (!t->decides[k] || had[k]) continue;
            had[k] = more = true;
            if (!is_few(t->loop->shape->elements[k]) || !follow(t, t->body, t->body->root->operands[k]) ||
                !follow(t, t->of, begin->operands[k]))
                return false;
        }
    }
    return true;
}

static void read_state(void *arg, int64_t number, const int64_t *positions, int64_t start, int64_t n, void *out)
{
    const Trips *t = arg;
    const size_t bytes = (size_t)sc_bytes(t->loop->shape->elements[number]->type);
    for (int64_t k = 0; k < n; k++)
        memcpy((char *)out + (size_t)k * bytes,
               (const char *)t->state[number] + (size_t)(positions ? positions[k] : start + k) * bytes, bytes);
}

static void *value_of(WbbCx *cx, Trips *t, const HloComputation *c, const HloInstruction *i)
{
    const EvSource state = {.read = read_state, .arg = t};
    const int64_t n = hlo_elements(i->shape);
    int64_t *all = WBB_NEW_N(t->arena, int64_t, (size_t)n + 1);
    for (int64_t k = 0; k < n; k++) all[k] = k;
    return ev_value_at(cx, t->arena, c, NULL, i, 0, &state, EV_PLAIN, (EvPositions){all, n}).data;
}

static void step(WbbCx *cx, Trips *t, const HloComputation *c, const HloInstruction *values)
{
    void **next = WBB_NEW_N(t->arena, void *, t->n + 1);
    for (uint32_t k = 0; k < t->n; k++)
        if (t->decides[k]) next[k] = value_of(cx, t, c, values->operands[k]);
    t->state = next;
}

static void count(WbbCx *cx, void *arg)
{
    Trips *t = arg;
    step(cx, t, t->of, t->loop->operands[0]);
    for (int64_t n = 0; n <= MOST && n * t->values <= MOST_VALUES; n++) {
        if (!*(const uint8_t *)value_of(cx, t, t->condition, t->condition->root)) {
            t->trips = n;
            return;
        }
        step(cx, t, t->body, t->body->root);
    }
}

/* backend_config={"known_trip_count":{"n":"50"}, ..} */
static int64_t said(WbbArena *a, const HloInstruction *loop)
{
    const char *config = hlo_attribute(a, loop, "backend_config");
    const char *at = config ? strstr(config, "known_trip_count") : NULL;
    if (!at) return PROG_NONE;
    at += strcspn(at, "0123456789}");
    if (!*at || *at == '}') return PROG_NONE;
    char *end;
    const long long n = strtoll(at, &end, 10);
    return n >= 0 && n <= PROG_MOST_ITERATIONS ? n : PROG_NONE;
}

int64_t prog_trips(WbbCx *cx, const HloComputation *of, const HloInstruction *loop)
{
    const HloCount counted = hlo_count_of(loop);
    if (counted.trips >= 0 && counted.trips <= PROG_MOST_ITERATIONS) return counted.trips;
    WbbArena *a = wbb_arena_new(cx);
    Trips t = {.loop = loop, .of = of, .arena = a, .n = loop->shape->n_elements, .trips = PROG_NONE,
               .condition = hlo_called(loop, "condition"), .body = hlo_called(loop, "body")};
    t.decides = WBB_NEW_N(a, bool, t.n + 1);
    bool flat = loop->shape->type == SC_TUPLE;
    for (uint32_t k = 0; k < t.n; k++) flat = flat && loop->shape->elements[k]->type != SC_TUPLE;
    if (flat && find_state(&t)) (void)wbb_guard(cx, count, &t); /* what the evaluator lacks is not known */
    if (t.trips < 0) t.trips = said(a, loop);
    wbb_arena_free(a);
    return t.trips;
}
