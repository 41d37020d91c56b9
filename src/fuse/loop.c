/* loop: a `while` that a thread runs for its elements, inside a kernel.
 *
 * Needs: a verified instruction, the shape of its results that are used. Leaves: which elements of its state a thread
 * has, if it has one of each result. Each value in the loop has a place: which of its elements a thread needs that has
 * element (i0, i1, ..) of the shape. Places are found from the state on, and what the body leaves must stand where it
 * began:
 *
 *     while((n, x f32[64,3], a f32[64,1], keys u32[4], table f32[100]))      the thread at (i0, i1)
 *         x      at (i0, i1)
 *         a      at (i0, 0)
 *         keys   all four, as a slice takes one of them by its number
 *         table  at any index, since no iteration changes it: gather(table, x) is where x is
 */
#include "fuse/kernels.h"

#include <string.h>

enum { ONE = -1, ANY = -2 };    /* of a dimension: it has size 1; each element is as good as another */
enum { NOWHERE, AT, WHOLE };    /* of a place: no thread has what it needs; at dim[..]; all elements */

typedef struct {
    int kind;
    int8_t dim[HLO_RANK_LIMIT]; /* AT: the dimension of the loop's shape, ONE or ANY */
} Place;

typedef struct {
    WbbArena *arena;
    GrSight *sight;
    bool tests; /* in a condition: any(..) of elements is each thread's own */
    const HloInstruction *loop;
    const int64_t *stacked; /* by array of its state: the dimension along which it is stacked, or -1; NULL: none is */
    uint32_t depth;
} Search;

static bool is_array(const HloShape *s) { return s->type != SC_TUPLE; }
static bool is_single(const HloShape *s) { return is_array(s) && hlo_elements(s) == 1; }

/* --- places of arrays --------------------------------------------------------------------------------------------- */
static Place anywhere(const HloShape *s)
{
    Place p = {.kind = AT};
    for (uint32_t d = 0; d < s->rank; d++) p.dim[d] = s->dims[d] == 1 ? ONE : ANY;
    return p;
}

static bool is_anywhere(const HloShape *s, const Place *p)
{
    for (uint32_t d = 0; d < s->rank; d++)
        if (p->kind != AT || p->dim[d] >= 0) return false;
    return p->kind == AT;
}

/* All elements, if those are few. */
static Place all_elements(const HloShape *s)
{
    return (Place){.kind = hlo_elements(s) <= HLO_LIMIT_CUT_WHOLE ? WHOLE : NOWHERE};
}

/* Where both are. */
static Place meet(const HloShape *s, const Place *p, const Place *q)
{
    Place out = *p;
    if (is_anywhere(s, p)) return *q;
    if (is_anywhere(s, q)) return *p;
    if (p->kind != q->kind) return (Place){NOWHERE};
    for (uint32_t d = 0; p->kind == AT && d < s->rank; d++) {
        if (p->dim[d] == ANY) out.dim[d] = q->dim[d];
        else if (q->dim[d] != ANY && q->dim[d] != p->dim[d]) return (Place){NOWHERE};
    }
    return out;
}

/* The dimension along which an instruction stacks an array of the state; -1: it does not. */
static int64_t stacks(const Search *s, const HloInstruction *i)
{
    for (uint32_t k = 0; s->stacked && k < s->loop->shape->n_elements; k++)
        if (s->stacked[k] >= 0 && hlo_called(s->loop, "body")->root->operands[k] == i) return s->stacked[k];
    return -1;
}

/* What a step leaves must be the thread's own. Nobody reads what the steps before it have left. */
static Place stepped(const HloInstruction *i, int64_t dim, const Place *update)
{
    for (int64_t d = 0; d < i->shape->rank; d++)
        if (update->kind != AT || (d != dim && update->dim[d] >= 0 && update->dim[d] != (int)(d - (d > dim))))
            return (Place){NOWHERE};
    return anywhere(i->shape);
}

/* May threads compute its elements one by one, each from elements at indices that they know? */
static bool is_of_elements(const HloInstruction *i)
{
    switch (hlo_kind(i->opcode)) {
    case HLO_IS_LEAF: case HLO_IS_ELEMENT: case HLO_IS_MOVE: return true;
    case HLO_IS_CHOOSE: return !fuse_is_whole(i);
    default: return false;
    }
}

/* Adds where an operand is: in each dimension along which a thread has one element, the result must need that one. */
static bool add_operand(Search *s, const HloInstruction *i, uint32_t k, const Place *of, Place *out)
{
    const GrAxes axes = gr_axes(s->sight, i, k);
    if (!axes.known) return is_anywhere(i->operands[k]->shape, of);
    for (uint32_t d = 0; d < i->operands[k]->shape->rank; d++) {
        if (of->dim[d] < 0) continue;
        if (axes.of[d] < 0) return false;
        int8_t *to = &out->dim[axes.of[d]];
        if (*to >= 0 && *to != of->dim[d]) return false;
        *to = of->dim[d];
    }
    return true;
}

static Place array_place(Search *s, const HloInstruction *i, const Place *places)
{
    bool few = false; /* of an operand all elements */
    for (uint32_t k = 0; k < i->n_operands; k++) {
        if (places[k].kind == NOWHERE) return (Place){NOWHERE};
        few = few || places[k].kind == WHOLE;
    }
    if (stacks(s, i) >= 0) return stepped(i, stacks(s, i), &places[1]);
    if (s->tests && gr_is_any(i) && !few) /* each thread asks for its own */
        return anywhere(i->shape);
    Place out = anywhere(i->shape);
    if (!is_of_elements(i)) return (Place){NOWHERE};
    for (uint32_t k = 0; k < i->n_operands; k++)
        if (places[k].kind == AT && !add_operand(s, i, k, &places[k], &out)) return (Place){NOWHERE};
    if (!few || is_single(i->shape)) return out;
    return is_anywhere(i->shape, &out) ? all_elements(i->shape) : (Place){NOWHERE};
}

/* --- places in computations --------------------------------------------------------------------------------------- */
static bool places_of(Search *s, const HloComputation *c, const Place *parameters, Place *root);

/* The state of a loop in a loop, where it stands after any number of iterations. */
static bool inner_loop(Search *s, const HloInstruction *i, Place *state)
{
    const HloComputation *body = hlo_called(i, "body"), *condition = hlo_called(i, "condition");
    const HloShape **leaves;
    const uint32_t n = hlo_leaves(s->arena, i->shape, &leaves);
    Place *after = WBB_NEW_N(s->arena, Place, n + 1), test;
    if (!body || !condition || s->depth == HLO_LIMIT_LOOP_NESTED) return false;
    s->depth++;
    bool same = false, fine = true;
    for (int round = 0; round < HLO_LIMIT_LOOP_ROUNDS && fine && !same; round++) {
        fine = places_of(s, body, state, after);
        same = fine;
        for (uint32_t k = 0; k < n && fine; k++) {
            const Place p = meet(leaves[k], &state[k], &after[k]);
            fine = p.kind != NOWHERE;
            same = same && (!is_anywhere(leaves[k], &state[k]) || is_anywhere(leaves[k], &p));
            state[k] = p;
        }
    }
    fine = fine && same && places_of(s, condition, state, &test) && test.kind == AT;
    s->depth--;
    return fine;
}

/* Of arrays of a value, by leaf, seen through tuples; places: by id and leaf. */
static void leaves_of(Place *const *places, const HloInstruction *i, Place *to)
{
    for (uint32_t l = 0; l < i->shape->n_leaves; l++) {
        const HloValue v = hlo_value(i, l);
        to[l] = places[v.i->id][v.part];
    }
}

/* The places of the root's arrays, from those of the arrays of the one parameter. Returns whether all are known. */
static bool places_of(Search *s, const HloComputation *c, const Place *parameters, Place *root)
{
    Place **of = WBB_NEW_N(s->arena, Place *, c->n_instructions + 1);
    for (uint32_t k = 0; k < c->n_instructions; k++) {
        const HloInstruction *i = c->instructions[k];
        if (hlo_kind(i->opcode) == HLO_IS_GROUP || (!i->n_users && i != c->root)) continue;
        of[k] = WBB_NEW_N(s->arena, Place, i->shape->n_leaves + 1);
        if (i->opcode == HLO_PARAMETER) {
            if (i->number) return false;
            memcpy(of[k], parameters, i->shape->n_leaves * sizeof *of[k]);
        } else if (i->opcode == HLO_WHILE) {
            leaves_of(of, i->operands[0], of[k]);
            if (!inner_loop(s, i, of[k])) return false;
        } else {
            Place *operands = WBB_NEW_N(s->arena, Place, i->n_operands + 1);
            if (!is_array(i->shape)) return false;
            for (uint32_t x = 0; x < i->n_operands; x++) {
                if (!is_array(i->operands[x]->shape)) return false;
                leaves_of(of, i->operands[x], &operands[x]);
            }
            of[k][0] = array_place(s, i, operands);
            if (of[k][0].kind == NOWHERE) return false;
        }
    }
    leaves_of(of, c->root, root);
    return true;
}

/* --- the loop ----------------------------------------------------------------------------------------------------- */
/* Of an array of the state: where it is in the loop's shape, with some dimensions of size 1. */
static Place state_place(const HloShape *s, const HloShape *of)
{
    Place p = {.kind = AT};
    bool fits = s->rank == of->rank;
    for (uint32_t d = 0; d < s->rank && fits; d++) {
        p.dim[d] = s->dims[d] == 1 ? ONE : (int8_t)d;
        fits = s->dims[d] == 1 || s->dims[d] == of->dims[d];
    }
    if (fits) return p;
    return is_single(s) ? anywhere(s) : all_elements(s);
}

static bool is_at_home(Search *s, const HloInstruction *loop, const Place *state)
{
    const uint32_t n = loop->shape->n_elements;
    Place *after = WBB_NEW_N(s->arena, Place, n + 1), test;
    s->tests = false;
    if (!places_of(s, hlo_called(loop, "body"), state, after)) return false;
    for (uint32_t k = 0; k < n; k++) {
        const HloShape *x = loop->shape->elements[k];
        const Place p = meet(x, &state[k], &after[k]);
        if (p.kind != state[k].kind || (p.kind == AT && x->rank && memcmp(p.dim, state[k].dim, x->rank))) return false;
    }
    s->tests = true;
    return places_of(s, hlo_called(loop, "condition"), state, &test) && test.kind == AT;
}

static bool is_simple(const HloInstruction *loop)
{
    if (loop->opcode != HLO_WHILE || loop->operands[0]->opcode != HLO_TUPLE) return false;
    const HloComputation *body = hlo_called(loop, "body"), *condition = hlo_called(loop, "condition");
    if (!body || !condition || body->root->opcode != HLO_TUPLE || !is_single(condition->root->shape)) return false;
    for (uint32_t k = 0; k < loop->shape->n_elements; k++)
        if (!is_array(loop->shape->elements[k])) return false;
    return true;
}

/* A loop that keeps a result of each iteration, as jax.lax.scan makes them: of a leaf of its state each iteration
 * replaces one position along a dimension, and a thread has its element of each step. */
static bool find_steps(FuseWork *w, const HloInstruction *loop, FuseLoop *found)
{
    HloCount count;
    if (!is_simple(loop) || !hlo_counts(loop, &count) || count.trips < 2) return false;
    const uint32_t n = loop->shape->n_elements;
    WbbArena *a = w->arena, *scratch = wbb_arena_new(w->cx);
    int64_t *stacked = WBB_NEW_N(scratch, int64_t, n + 1);
    Search s = {.arena = scratch, .sight = w->atoms.sight, .loop = loop, .stacked = stacked};
    Place *state = WBB_NEW_N(scratch, Place, n + 1);
    *found = (FuseLoop){.steps = true, .part = WBB_NEW_N(a, FuseLoopPart, n + 1)};
    HloShape *step = WBB_NEW(a, HloShape);
    bool fits = true;
    for (uint32_t k = 0; k < n; k++) stacked[k] = hlo_stacked_along(loop, &count, k);
    for (uint32_t k = 0; k < n && !found->shape; k++) {
        if (stacked[k] < 0) continue;
        const HloShape *x = loop->shape->elements[k];
        int64_t *dims = WBB_NEW_N(a, int64_t, x->rank + 1u);
        *step = (HloShape){.type = x->type, .rank = (uint8_t)(x->rank - 1), .dims = dims, .n_leaves = 1};
        for (uint32_t d = 0, m = 0; d < x->rank; d++)
            if (d != stacked[k]) dims[m++] = x->dims[d];
        found->shape = step;
    }
    for (uint32_t k = 0; k < n && fits && found->shape; k++) {
        const HloShape *x = loop->shape->elements[k];
        const bool any = stacked[k] >= 0 || hlo_loop_keeps(loop, k);
        state[k] = any ? anywhere(x) : state_place(x, found->shape);
        found->part[k] = stacked[k] >= 0              ? FUSE_LOOP_AT
                         : any && hlo_elements(x) > 1 ? FUSE_LOOP_ANYWHERE
                                                      : FUSE_LOOP_AT;
        fits = state[k].kind == AT;
    }
    fits = fits && found->shape && is_at_home(&s, loop, state);
    wbb_arena_free(scratch);
    return fits;
}

/* A loop whose iterations mix elements of its state, a few of which a thread may hold: the emitter finds out which
 * ones, and prices say whether that pays (cut.c). */
static bool find_mixed(FuseWork *w, const HloInstruction *loop, FuseLoop *found)
{
    HloCount count;
    if (!is_simple(loop) || !hlo_counts(loop, &count) || count.trips < 2) return false;
    const HloComputation *body = hlo_called(loop, "body");
    for (uint32_t k = 0; k < body->n_instructions; k++) /* nobody knows what it takes */
        if (body->instructions[k]->opcode == HLO_WHILE && hlo_count_of(body->instructions[k]).trips < 0) return false;
    const uint32_t n = loop->shape->n_elements;
    *found = (FuseLoop){.steps = true, .mixed = true, .part = WBB_NEW_N(w->arena, FuseLoopPart, n + 1)};
    for (uint32_t k = 0; k < n; k++) {
        const bool any = hlo_loop_keeps(loop, k) && hlo_elements(loop->shape->elements[k]) > 1;
        found->part[k] = hlo_is_stacked(loop, &count, k) ? FUSE_LOOP_AT : any ? FUSE_LOOP_ANYWHERE : FUSE_LOOP_FEW;
    }
    return true;
}

/* One of which a thread has its element of each result; all have this shape. */
static bool find_loop(FuseWork *w, const HloInstruction *loop, const HloShape *shape, FuseLoop *found)
{
    if (!is_simple(loop)) return false;
    const uint32_t n = loop->shape->n_elements;
    *found = (FuseLoop){.shape = shape, .part = WBB_NEW_N(w->arena, FuseLoopPart, n + 1)};
    WbbArena *scratch = wbb_arena_new(w->cx);
    Search s = {.arena = scratch, .sight = w->atoms.sight};
    Place *state = WBB_NEW_N(scratch, Place, n + 1);
    bool fits = false;
    for (int kept = 0; kept < 2 && !fits; kept++) { /* at first what is kept is where the elements are, if it can be */
        fits = true;
        for (uint32_t k = 0; k < n && fits; k++) {
            const HloShape *x = loop->shape->elements[k];
            state[k] = state_place(x, shape);
            const bool any = hlo_loop_keeps(loop, k) && (kept || state[k].kind != AT);
            found->part[k] = state[k].kind == AT && !any ? FUSE_LOOP_AT
                             : hlo_elements(x) <= HLO_LIMIT_CUT_WHOLE ? FUSE_LOOP_FEW
                                                         : FUSE_LOOP_ANYWHERE;
            if (any) state[k] = anywhere(x);
            fits = state[k].kind != NOWHERE;
        }
        fits = fits && is_at_home(&s, loop, state);
    }
    wbb_arena_free(scratch);
    return fits;
}

/* --- all loops ---------------------------------------------------------------------------------------------------- */
/* The one shape of what is used of a loop's state; NULL: there are several, or the state is used as a whole. */
static const HloShape *results_of(const FuseWork *w, const HloInstruction *loop)
{
    const HloShape *of = NULL;
    for (uint32_t u = w->first[loop->id]; u < w->first[loop->id + 1]; u++) {
        const HloInstruction *user = w->c->instructions[w->users[u]];
        if (user->opcode != HLO_GET_TUPLE_ELEMENT) return NULL;
        if (!user->n_users && user != w->c->root) continue;
        if (user->shape->type == SC_TUPLE || (of && !hlo_same_dims(user->shape, of))) return NULL;
        of = user->shape;
    }
    return of;
}

/* Is what is used of a loop's state elements of it, arrays? */
static bool only_elements(const FuseWork *w, const HloInstruction *loop)
{
    for (uint32_t u = w->first[loop->id]; u < w->first[loop->id + 1]; u++)
        if (w->c->instructions[w->users[u]]->opcode != HLO_GET_TUPLE_ELEMENT) return false;
    return true;
}

/* May threads run it for their elements? */
static bool may_run(const FuseWork *w, const HloInstruction *i)
{
    return i->opcode == HLO_WHILE && !w->alone[i->id] && i->operands[0]->n_users <= 1 && i != w->c->root;
}

static void put_loop(FuseWork *w, const HloInstruction *i, const FuseLoop *found)
{
    w->loop[i->id] = w->loop[i->operands[0]->id] = found;
    for (uint32_t u = w->first[i->id]; u < w->first[i->id + 1]; u++) w->loop[w->users[u]] = found;
}

void fuse_find_loops(FuseWork *w)
{
    for (uint32_t k = 0; k < w->c->n_instructions; k++) {
        const HloInstruction *i = w->c->instructions[k];
        if (!may_run(w, i)) continue;
        const HloShape *of = results_of(w, i);
        FuseLoop *found = WBB_NEW(w->arena, FuseLoop);
        if ((of && find_loop(w, i, of, found)) || (only_elements(w, i) && find_steps(w, i, found)))
            put_loop(w, i, found);
    }
}

static void find_all_mixed(FuseWork *w)
{
    for (uint32_t k = 0; k < w->c->n_instructions; k++) {
        const HloInstruction *i = w->c->instructions[k];
        if (!may_run(w, i) || w->loop[k] || !only_elements(w, i)) continue;
        FuseLoop *found = WBB_NEW(w->arena, FuseLoop);
        if (find_mixed(w, i, found)) put_loop(w, i, found);
    }
}

const FuseMove fuse_move_loop = {.loops = find_all_mixed};
