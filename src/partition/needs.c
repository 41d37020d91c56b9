/* needs.c: what one element needs: terms of a fold, elements of operands, operations of a loop that one thread runs.
 *
 * Needs a verified computation; leaves numbers. A thread that wants one element of a loop's result computes in each
 * iteration the elements of the state that the iterations after it need: one, where the body is elementwise; all, where
 * it reduces its state or compares every two elements of it.
 *
 *     while(x f32[20]), body: x + reduce(x), 5 times   =>   21 operations in the last iteration, 40 in each before it
 */
#include "partition/partition.h"

#include <string.h>

double part_terms(WbbArena *a, const HloInstruction *i)
{
    double n = 1;
    switch (i->opcode) {
    case HLO_REDUCE:
        n = (double)hlo_elements(i->operands[0]->shape) / (double)WBB_MAX(hlo_elements(part_shape(i, 0)), 1);
        return n;
    case HLO_REDUCE_WINDOW:
        for (uint32_t d = 0; d < i->n_windows; d++) n *= (double)i->windows[d].size;
        return n;
    case HLO_DOT: {
        const HloInts dims = hlo_dot_dims(a, i).lhs_contracting;
        for (uint32_t d = 0; d < dims.n; d++) n *= (double)i->operands[0]->shape->dims[dims.items[d]];
        return n;
    }
    default: return 0;
    }
}

bool part_is_free(const HloInstruction *i)
{
    return i->opcode == HLO_CONSTANT || i->opcode == HLO_IOTA || i->opcode == HLO_TUPLE || i->opcode == HLO_PARAMETER ||
           i->opcode == HLO_GET_TUPLE_ELEMENT || i->opcode == HLO_BITCAST;
}

double part_operand_share(const HloInstruction *i, uint32_t k)
{
    const double of = (double)WBB_MAX(hlo_elements(i->operands[k]->shape), 1);
    const double n = (double)WBB_MAX(hlo_elements(part_shape(i, 0)), 1);
    if (hlo_is_elementwise(i->opcode) || i->opcode == HLO_TUPLE || i->opcode == HLO_GET_TUPLE_ELEMENT) return -1;
    switch (i->opcode) {
    case HLO_CONCATENATE: return of / n;
    case HLO_PAD: return k ? 0 : WBB_MIN(of / n, 1);
    case HLO_DYNAMIC_UPDATE_SLICE: return k == 0 ? 1 : k == 1 ? of / n : 0;
    case HLO_BROADCAST: case HLO_BITCAST: case HLO_BITCAST_CONVERT: case HLO_RESHAPE: case HLO_TRANSPOSE: case HLO_COPY:
    case HLO_SLICE: case HLO_REVERSE: return 1;
    case HLO_DYNAMIC_SLICE: case HLO_GATHER: return k == 0;
    default: return WBB_MIN(of / n, 1); /* of other operations each element of an operand once */
    }
}

/* --- loops that one thread runs ----------------------------------------------------------------------------------- */
enum { ITERATIONS = 64 }; /* that are looked at, before which what is wanted of the state is all or the same again */

typedef struct {
    WbbArena *a;
    const HloInstruction *loop;
    PartLoop counts;
    const HloComputation *body;
    const PartWhileWork **inner; /* by id: of the loops in the body, once one is wanted */
    double terms;       /* of the longest fold */
    double *same, *all; /* by id: elements wanted by users at the user's own index, and at others */
    double *next, *more; /* by leaf: elements of the state that the iteration needs, likewise */
} Wanting;

static void want(Wanting *w, const HloInstruction *i, uint32_t part, double n, bool same)
{
    const PartValue v = part_value(i, part);
    const bool state = v.i->opcode == HLO_PARAMETER, counts = w->counts.trips >= 0 && v.part == w->counts.counter;
    double *sums = state ? &w->more[v.part] : &w->all[v.i->id], *most = state ? &w->next[v.part] : &w->same[v.i->id];
    if (state && (counts || part_loop_keeps(w->loop, v.part))) return;
    if (same) *most = WBB_MAX(*most, n);
    else *sums += n;
}

/* Elements of operand k that n elements of i need; `same`: at the same index. */
static double wanted_of(const HloInstruction *i, uint32_t k, double n, double terms, bool *same)
{
    const double all = (double)hlo_elements(part_shape(i->operands[k], 0));
    const bool is_term = k < (i->opcode == HLO_DOT ? 2 : i->n_operands / 2);
    *same = part_is_control(i->opcode);
    if (*same) return n;
    if (terms > 0) return is_term ? n * terms : n;
    switch (i->opcode) {
    case HLO_SORT: case HLO_SCATTER: case HLO_CONVOLUTION: return all;
    default: break;
    }
    const double share = part_operand_share(i, k);
    const bool renamed = i->opcode == HLO_RESHAPE || i->opcode == HLO_BITCAST || i->opcode == HLO_COPY ||
                         i->opcode == HLO_BITCAST_CONVERT;
    *same = share < 0 || renamed;
    return *same ? n : n * share;
}

static double operations_of(Wanting *w, const HloInstruction *i, double n, double terms)
{
    if (part_is_free(i)) return 0;
    if (!part_is_control(i->opcode)) return n * WBB_MAX(terms, 1);
    double sum = 0;
    for (uint32_t k = 0; k < i->n_called; k++) sum += (double)part_operations(w->a, i->called[k], NULL);
    return n * sum;
}

/* Adds what n elements of a loop in the loop need, of the leaf that needs most; returns their operations. */
static double nested(Wanting *w, const HloInstruction *loop, double n)
{
    const PartWhileWork **work = &w->inner[loop->id];
    double most = 0;
    if (!*work) *work = part_while_work(w->a, loop);
    for (uint32_t l = 0; l < loop->shape->n_leaves; l++) {
        const PartLeafWork *x = &(*work)->leaves[l];
        most = WBB_MAX(most, x->operations);
        for (uint32_t k = 0; k < loop->shape->n_leaves; k++)
            if (x->state[k] > 0) want(w, loop->operands[0], k, n * x->state[k], x->state[k] <= 1);
    }
    return n * most;
}

/* Operations of one iteration for the elements `of` of the state, by leaf. */
static double iteration(Wanting *w, const double *of)
{
    const HloComputation *body = w->body;
    double sum = 0;
    for (uint32_t k = 0; k <= body->n_instructions; k++) w->same[k] = w->all[k] = 0;
    for (uint32_t l = 0; l < w->loop->shape->n_leaves; l++) w->next[l] = w->more[l] = 0;
    for (uint32_t l = 0; l < w->loop->shape->n_leaves; l++)
        if (of[l] > 0) want(w, body->root, l, of[l], true);
    for (uint32_t k = body->n_instructions; k-- > 0;) {
        const HloInstruction *i = body->instructions[k];
        const double n = WBB_MIN(w->same[k] + w->all[k], (double)hlo_elements(part_shape(i, 0)));
        const double terms = part_terms(w->a, i);
        if (n <= 0) continue;
        w->terms = WBB_MAX(w->terms, terms);
        sum += i->opcode == HLO_WHILE ? nested(w, i, n) : operations_of(w, i, n, terms);
        for (uint32_t o = 0; o < i->n_operands && i->opcode != HLO_WHILE; o++)
            for (uint32_t l = 0; l < i->operands[o]->shape->n_leaves; l++) {
                bool same;
                const double needed = wanted_of(i, o, n, terms, &same);
                if (needed > 0) want(w, i->operands[o], l, needed, same);
            }
    }
    for (uint32_t l = 0; l < w->loop->shape->n_leaves; l++)
        w->next[l] = WBB_MIN(w->next[l] + w->more[l], (double)hlo_elements(part_shape(w->loop, l)));
    return sum;
}

static Wanting wanting_of(WbbArena *a, const HloInstruction *loop)
{
    const HloComputation *body = part_called(loop, "body");
    const uint32_t leaves = loop->shape->n_leaves + 1, n = body->n_instructions + 1;
    return (Wanting){.a = a, .loop = loop, .counts = part_loop(loop), .body = body,
                     .inner = WBB_NEW_N(a, const PartWhileWork *, n), .same = WBB_NEW_N(a, double, n),
                     .all = WBB_NEW_N(a, double, n), .next = WBB_NEW_N(a, double, leaves),
                     .more = WBB_NEW_N(a, double, leaves)};
}

static PartLeafWork of_leaf(Wanting *w, uint32_t leaf)
{
    const uint32_t leaves = w->loop->shape->n_leaves;
    double *of = WBB_NEW_N(w->a, double, leaves + 1);
    PartLeafWork r = {.state = of};
    const bool open = w->counts.trips < 0;
    const double trips = (double)w->counts.trips, seen = open ? ITERATIONS : WBB_MIN(trips, ITERATIONS);
    of[leaf] = 1;
    for (double k = 0; k < seen; k++) {
        const double sum = iteration(w, of);
        bool again = true;
        for (uint32_t l = 0; l < leaves; l++) again &= w->next[l] == of[l];
        memcpy(of, w->next, leaves * sizeof *of);
        if (open) r.operations = k ? r.operations : sum;
        else r.operations += again || k + 1 == seen ? sum * (trips - k) : sum;
        if (again) break;
    }
    return r;
}

double part_while_operations(WbbArena *a, const HloInstruction *loop, uint32_t leaf)
{
    Wanting w = wanting_of(a, loop);
    return of_leaf(&w, leaf).operations;
}

const PartWhileWork *part_while_work(WbbArena *a, const HloInstruction *loop)
{
    const uint32_t leaves = loop->shape->n_leaves;
    Wanting w = wanting_of(a, loop);
    PartLeafWork *each = WBB_NEW_N(a, PartLeafWork, leaves + 1);
    PartWhileWork *r = WBB_NEW(a, PartWhileWork);
    double *all = WBB_NEW_N(a, double, leaves + 1);
    for (uint32_t l = 0; l < leaves; l++) all[l] = (double)hlo_elements(part_shape(loop, l));
    r->whole = iteration(&w, all);
    for (uint32_t l = 0; l < leaves; l++) each[l] = of_leaf(&w, l);
    r->terms = w.terms, r->leaves = each;
    return r;
}
