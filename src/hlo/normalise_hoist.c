/* normalise_hoist: work of a loop that is the same in every iteration is done before it.
 *
 * Needs: a normalised HLO module. Leaves: one with the same outputs, in which a `while` has further elements of its
 * state: values that its body made of what it does not change. A value is hoisted where making it takes more than
 * reading it: sums, products of matrices, functions, what is smaller than what it is made of. A loop that does not run
 * at all makes it in vain; no operation of HLO can fail.
 *
 *     while((i, x, w)), body: (i + 1, dot(x, transpose(w)), w)
 *         t = transpose(w)   while((i, x, w, t)), body: (i + 1, dot(x, t), w, t)
 */
#include "hlo/normalise.h"

#include <string.h>

typedef struct {
    const HloComputation *body;
    bool *same;            /* [id] it has one value in all iterations */
    bool *hoisted;         /* [id] it is made before the loop */
    const HloInstruction **list; /* [n] those that are hoisted and that others read */
    uint32_t n;
} Hoist;

/* What making a value costs, beside reading what it is made of. */
typedef enum { FREE, CHEAP, COSTLY } Work;

static Work work_of(const HloInstruction *i)
{
    const HloKind kind = hlo_kind(i->opcode);
    if (kind == HLO_IS_FOLD || kind == HLO_IS_WHOLE) return COSTLY;
    if (i->opcode == HLO_GATHER || i->opcode == HLO_TRANSPOSE) return COSTLY;
    if (kind == HLO_IS_LEAF || i->opcode == HLO_GET_TUPLE_ELEMENT) return FREE;
    if (kind == HLO_IS_MOVE && hlo_has(i->opcode, HLO_FREE)) return FREE;
    return hlo_function(i) ? COSTLY : CHEAP;
}

static bool may_move(const HloInstruction *i)
{
    const HloShape *s = i->shape;
    if (s->type == SC_TUPLE || s->type == SC_TOKEN || s->dynamic || i->n_predecessors) return false;
    return hlo_is_pure(i->opcode);
}

/* Is making it more than reading it? */
static bool is_worth(const Hoist *h, bool *cone, const HloInstruction *i)
{
    double read = 0;
    Work most = FREE;
    memset(cone, 0, h->body->n_instructions);
    cone[i->id] = true;
    hlo_mark_operands(h->body, cone);
    for (uint32_t k = 0; k < h->body->n_instructions; k++) {
        const HloInstruction *x = h->body->instructions[k];
        if (!cone[k] || x->opcode == HLO_PARAMETER) continue;
        if (x->opcode == HLO_GET_TUPLE_ELEMENT && x->shape->type != SC_TUPLE) read += (double)hlo_bytes(x->shape);
        if (x->opcode == HLO_CONSTANT && hlo_elements(x->shape) > 1) read += (double)hlo_bytes(x->shape);
        if (hlo_elements(x->shape) > 1) most = WBB_MAX(most, work_of(x));
    }
    if (hlo_elements(i->shape) <= 1 && most == FREE) return false;
    const double bytes = (double)hlo_bytes(i->shape);
    return most == COSTLY ? bytes <= HLO_LIMIT_HOIST_BYTES * read : most == CHEAP && bytes < read;
}

static void find_same(Hoist *h)
{
    const HloComputation *c = h->body;
    for (uint32_t k = 0; k < c->n_instructions; k++) {
        const HloInstruction *i = c->instructions[k];
        if (i->opcode == HLO_GET_TUPLE_ELEMENT && i->operands[0]->opcode == HLO_PARAMETER) {
            const HloInstruction *end = c->root->operands[i->number];
            h->same[k] = i->shape->type != SC_TUPLE && end->opcode == HLO_GET_TUPLE_ELEMENT &&
                         end->operands[0] == i->operands[0] && end->number == i->number;
        } else if (i->opcode == HLO_CONSTANT) {
            h->same[k] = i->shape->type != SC_TUPLE && i->literal;
        } else if (may_move(i)) {
            h->same[k] = true;
            for (uint32_t j = 0; j < i->n_operands; j++) h->same[k] &= h->same[i->operands[j]->id];
        }
    }
}

static Hoist find_hoist(WbbArena *a, const HloInstruction *loop)
{
    Hoist h = {0};
    const HloComputation *body = loop->opcode == HLO_WHILE ? hlo_called(loop, "body") : NULL;
    if (!body || body->root->opcode != HLO_TUPLE || loop->n_predecessors) return h;
    const uint32_t n = body->n_instructions;
    h = (Hoist){.body = body, .same = WBB_NEW_N(a, bool, n + 1), .hoisted = WBB_NEW_N(a, bool, n + 1),
                .list = WBB_NEW_N(a, const HloInstruction *, n + 1)};
    find_same(&h);
    bool *needed = WBB_NEW_N(a, bool, n + 1), *cone = WBB_NEW_N(a, bool, n + 1);
    for (uint32_t k = 0; k < n; k++) { /* by what changes */
        const HloInstruction *i = body->instructions[k];
        for (uint32_t j = 0; j < i->n_operands; j++)
            if (!h.same[k]) needed[i->operands[j]->id] = true;
    }
    for (uint32_t k = 0; k < n; k++) {
        const HloInstruction *i = body->instructions[k];
        if (h.same[k] && needed[k] && work_of(i) != FREE && is_worth(&h, cone, i)) h.list[h.n++] = i;
    }
    for (uint32_t k = 0; k < h.n; k++) h.hoisted[h.list[k]->id] = true;
    return h;
}

/* The state with what is hoisted, before the loop. */
static HloInstruction *wide_state(HloBuilder *b, const Hoist *h, const HloInstruction *loop)
{
    HloInstruction *begin = hlo_mapped(b, loop->operands[0]), **map, **parts;
    const uint32_t n = loop->shape->n_elements;
    bool *cone = WBB_NEW_N(b->arena, bool, h->body->n_instructions + 1);
    map = WBB_NEW_N(b->arena, HloInstruction *, h->body->n_instructions + 1);
    parts = WBB_NEW_N(b->arena, HloInstruction *, n + h->n);
    for (uint32_t k = 0; k < n; k++)
        parts[k] = begin->opcode == HLO_TUPLE ? begin->operands[k] : hlo_new_get_tuple_element(b, begin, k);
    memcpy(cone, h->hoisted, h->body->n_instructions);
    hlo_mark_operands(h->body, cone);
    for (uint32_t k = 0; k < h->body->n_instructions; k++) {
        const HloInstruction *i = h->body->instructions[k];
        if (!cone[k] || i->opcode == HLO_PARAMETER) continue;
        map[k] = i->opcode == HLO_GET_TUPLE_ELEMENT ? parts[i->number] : hlo_copy_by(b, map, i);
    }
    for (uint32_t k = 0; k < h->n; k++) parts[n + k] = map[h->list[k]->id];
    return hlo_new_tuple(b, n + h->n, parts);
}

/* Condition or body with the parameter of the wider state; the body leaves what is hoisted as it is. */
static HloComputation *widened(HloBuilder *caller, const Hoist *h, const HloComputation *c, const HloShape *wide)
{
    const bool body = c == h->body;
    HloBuilder b = hlo_begin_computation(caller, 1, &wide);
    HloInstruction *state = b.list.items[0], **map = WBB_NEW_N(b.arena, HloInstruction *, c->n_instructions + 1);
    const uint32_t n = wide->n_elements - h->n;
    HloInstruction **parts = WBB_NEW_N(b.arena, HloInstruction *, wide->n_elements);
    for (uint32_t k = 0; k < wide->n_elements; k++) parts[k] = hlo_new_get_tuple_element(&b, state, k);
    HloInstruction *narrow = hlo_new_tuple(&b, n, parts);
    uint32_t next = 0;
    for (uint32_t k = 0; k < c->n_instructions; k++) {
        const HloInstruction *i = c->instructions[k];
        if (i->opcode == HLO_PARAMETER) map[k] = narrow;
        else if (body && h->hoisted[k]) map[k] = parts[n + next++];
        else map[k] = hlo_copy_by(&b, map, i);
    }
    HloInstruction *root = map[c->root->id];
    if (body) {
        for (uint32_t k = 0; k < n; k++) parts[k] = root->operands[k];
        root = hlo_new_tuple(&b, wide->n_elements, parts);
    }
    return hlo_end_computation(&b, c->name, root);
}

static HloInstruction *rewrite(HloBuilder *b, const HloInstruction *i)
{
    const Hoist h = find_hoist(b->arena, i);
    if (!h.n) return NULL;
    HloInstruction *begin = wide_state(b, &h, i);
    HloComputation **called = WBB_NEW_N(b->arena, HloComputation *, i->n_called);
    for (uint32_t k = 0; k < i->n_called; k++) called[k] = widened(b, &h, i->called[k], begin->shape);
    HloInstruction *loop = hlo_copy_with_operands(b, i, &begin); /* the caller takes the elements that it knows */
    loop->name = hlo_unique_name(b, i->name);
    loop->shape = begin->shape;
    loop->called = called;
    return loop;
}

static bool is_loop(const HloInstruction *i) { return i->opcode == HLO_WHILE; }

static bool any_hoist(WbbCx *cx, const HloModule *m)
{
    WbbArena *a = wbb_arena_new(cx);
    bool any = false;
    for (uint32_t c = 0; c < m->n_computations && !any; c++)
        for (uint32_t k = 0; k < m->computations[c]->n_instructions && !any; k++)
            any = find_hoist(a, m->computations[c]->instructions[k]).n > 0;
    wbb_arena_free(a);
    return any;
}

const HloModule *hlo_pass_hoist(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    enum { NESTED = 8 }; /* loops in loops: what leaves the inner one may leave the next */
    for (int k = 0; k < NESTED && any_hoist(cx, m); k++) {
        m = hlo_rewrite(cx, a, m, &(HloRewriter){.applies = is_loop, .rewrite = rewrite});
        m = hlo_pass_dead(cx, a, hlo_pass_tuple(cx, a, m));
    }
    return m;
}
