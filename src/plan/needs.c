/* needs.c: what one element of the result of a loop needs that one thread runs: operations, and elements of its state.
 *
 * Needs a verified computation; leaves numbers. A thread that wants one element of a loop's result computes in each
 * iteration the elements of the state that the iterations after it need: one, where the body is elementwise; all, where
 * it reduces its state or compares every two elements of it.
 *
 *     while(x f32[20]), body: x + reduce(x), 5 times   =>   21 operations in the last iteration, 40 in each before it
 */
#include "plan/plan.h"

#include <string.h>

bool plan_is_free(const HloInstruction *i)
{
    const HloKind kind = hlo_kind(i->opcode);
    return kind == HLO_IS_LEAF || kind == HLO_IS_GROUP || hlo_has(i->opcode, HLO_RENAMES);
}

/* --- loops that one thread runs ----------------------------------------------------------------------------------- */
enum { ITERATIONS = 64 }; /* that are looked at, before which what is wanted of the state is all or the same again */

/* Elements that are wanted. Of straight code those are apart that a branch computes for itself: one branch does not
 * have what another one has computed, so that each of them computes all that its elements need. */
typedef struct { double n, apart; } Wanted;

typedef struct {
    WbbArena *a;
    const HloInstruction *loop;
    HloCount counts;
    const HloComputation *body;
    bool straight;       /* all iterations are straight code: branches count */
    const PlanWhileWork **inner; /* by id: of the loops in the body, once one is wanted */
    double terms;        /* of the longest fold */
    double branches;     /* of straight code */
    Wanted *same, *all;  /* by id: elements wanted by users at the user's own index, and at others */
    Wanted *next, *more; /* by leaf: elements of the state that the iteration needs, likewise */
} Wanting;

static void want(Wanting *w, const HloInstruction *i, uint32_t part, Wanted n, bool same)
{
    const PlanValue v = plan_value(i, part);
    const bool state = v.i->opcode == HLO_PARAMETER, counts = w->counts.trips >= 0 && v.part == w->counts.counter;
    Wanted *sums = state ? &w->more[v.part] : &w->all[v.i->id], *most = state ? &w->next[v.part] : &w->same[v.i->id];
    if (state && (counts || hlo_loop_keeps(w->loop, v.part))) return;
    if (same) *most = (Wanted){WBB_MAX(most->n, n.n), WBB_MAX(most->apart, n.apart)};
    else sums->n += n.n, sums->apart += n.apart;
}

/* What is wanted of a value of so many elements. */
static Wanted wanted_of_all(const Wanted *same, const Wanted *all, double elements)
{
    return (Wanted){WBB_MIN(same->n + all->n, elements), same->apart + all->apart};
}

/* Elements of operand k that n elements of i need; `same`: at the same index. */
static double needed_of(const HloInstruction *i, uint32_t k, double n, double terms, bool *same)
{
    if (hlo_kind(i->opcode) != HLO_IS_CONTROL) return hlo_needed(i, k, n, terms, same);
    *same = true;
    return n;
}

/* Is operand k computed in a branch, where the index lies in it? */
static bool is_in_branch(const HloInstruction *i, uint32_t k)
{
    if (hlo_branches(i->opcode)) return !hlo_is_start(i, k) && (k == 0 || i->opcode != HLO_PAD);
    for (uint32_t d = 0; i->windows && d < i->n_windows; d++) {
        const HloWindow *x = &i->windows[d];
        if (x->low > 0 || x->high > 0 || x->lhs_dilate > 1) return hlo_is_term(i, k);
    }
    return false;
}

/* What n elements of i want of operand k. */
static Wanted wanted_of(Wanting *w, const HloInstruction *i, uint32_t k, Wanted n, double terms, bool *same)
{
    const double one = needed_of(i, k, 1, terms, same);
    if (!w->straight) return (Wanted){needed_of(i, k, n.n, terms, same), 0};
    if (!is_in_branch(i, k)) return (Wanted){needed_of(i, k, n.n, terms, same), needed_of(i, k, n.apart, terms, same)};
    const double apart = (n.n + n.apart) * WBB_MAX(one, 1); /* the code is there, however few elements are in it */
    w->branches += apart;
    return (Wanted){0, apart};
}

static double operations_of(Wanting *w, const HloInstruction *i, double n, double terms)
{
    if (plan_is_free(i)) return 0;
    if (hlo_kind(i->opcode) != HLO_IS_CONTROL) return n * WBB_MAX(terms, 1);
    double sum = 0;
    for (uint32_t k = 0; k < i->n_called; k++) sum += (double)plan_operations(w->a, i->called[k], NULL);
    return n * sum;
}

/* Adds what n elements of a loop in the loop need, of the leaf that needs most; returns their operations. */
static double nested(Wanting *w, const HloInstruction *loop, double n)
{
    const PlanWhileWork **work = &w->inner[loop->id];
    double most = 0;
    if (!*work) *work = plan_while_work(w->a, loop);
    for (uint32_t l = 0; l < loop->shape->n_leaves; l++) {
        const PlanLeafWork *x = &(*work)->leaves[l];
        most = WBB_MAX(most, x->operations);
        for (uint32_t k = 0; k < loop->shape->n_leaves; k++)
            if (x->state[k] > 0) want(w, loop->operands[0], k, (Wanted){n * x->state[k], 0}, x->state[k] <= 1);
    }
    return n * most;
}

/* Operations of one iteration for the elements `of` of the state, by leaf. */
static double iteration(Wanting *w, const Wanted *of)
{
    const HloComputation *body = w->body;
    double sum = 0;
    for (uint32_t k = 0; k <= body->n_instructions; k++) w->same[k] = w->all[k] = (Wanted){0, 0};
    for (uint32_t l = 0; l < w->loop->shape->n_leaves; l++) w->next[l] = w->more[l] = (Wanted){0, 0};
    for (uint32_t l = 0; l < w->loop->shape->n_leaves; l++)
        if (of[l].n + of[l].apart > 0) want(w, body->root, l, of[l], true);
    for (uint32_t k = body->n_instructions; k-- > 0;) {
        const HloInstruction *i = body->instructions[k];
        const Wanted n = wanted_of_all(&w->same[k], &w->all[k], (double)hlo_elements(plan_shape(i, 0)));
        const double terms = hlo_terms(w->a, i), both = n.n + n.apart;
        if (both <= 0) continue;
        w->terms = WBB_MAX(w->terms, terms);
        sum += i->opcode == HLO_WHILE ? nested(w, i, both) : operations_of(w, i, both, terms);
        for (uint32_t o = 0; o < i->n_operands && i->opcode != HLO_WHILE; o++)
            for (uint32_t l = 0; l < i->operands[o]->shape->n_leaves; l++) {
                bool same;
                const Wanted x = wanted_of(w, i, o, n, terms, &same);
                if (x.n + x.apart > 0) want(w, i->operands[o], l, x, same);
            }
    }
    for (uint32_t l = 0; l < w->loop->shape->n_leaves; l++)
        w->next[l] = wanted_of_all(&w->next[l], &w->more[l], (double)hlo_elements(plan_shape(w->loop, l)));
    return sum;
}

static Wanting wanting_of(WbbArena *a, const HloInstruction *loop)
{
    const HloComputation *body = plan_called(loop, "body");
    const uint32_t leaves = loop->shape->n_leaves + 1, n = body->n_instructions + 1;
    return (Wanting){.a = a, .loop = loop, .counts = hlo_count_of(loop), .body = body,
                     .inner = WBB_NEW_N(a, const PlanWhileWork *, n), .same = WBB_NEW_N(a, Wanted, n),
                     .all = WBB_NEW_N(a, Wanted, n), .next = WBB_NEW_N(a, Wanted, leaves),
                     .more = WBB_NEW_N(a, Wanted, leaves)};
}

/* Operations for one element of a leaf of the result; leaves in `of` what that needs of the state before the loop. */
static double operations_of_leaf(Wanting *w, uint32_t leaf, Wanted *of)
{
    const uint32_t leaves = w->loop->shape->n_leaves;
    const bool open = w->counts.trips < 0;
    const double trips = (double)w->counts.trips, seen = open ? ITERATIONS : WBB_MIN(trips, ITERATIONS);
    double operations = 0;
    of[leaf].n = 1;
    for (double k = 0; k < seen; k++) {
        const double sum = iteration(w, of);
        bool again = true;
        for (uint32_t l = 0; l < leaves; l++)
            again &= w->next[l].n == of[l].n && w->next[l].apart == of[l].apart;
        memcpy(of, w->next, leaves * sizeof *of);
        if (open) operations = k ? operations : sum;
        else operations += again || k + 1 == seen ? sum * (trips - k) : sum;
        if (again) break;
    }
    return operations;
}

PlanStraight plan_while_straight(WbbArena *a, const HloInstruction *loop, uint32_t leaf)
{
    Wanting w = wanting_of(a, loop);
    w.straight = true;
    const double operations = operations_of_leaf(&w, leaf, WBB_NEW_N(a, Wanted, loop->shape->n_leaves + 1));
    return (PlanStraight){operations, w.branches};
}

static PlanLeafWork of_leaf(Wanting *w, uint32_t leaf)
{
    const uint32_t leaves = w->loop->shape->n_leaves;
    Wanted *of = WBB_NEW_N(w->a, Wanted, leaves + 1);
    double *state = WBB_NEW_N(w->a, double, leaves + 1);
    const PlanLeafWork r = {.operations = operations_of_leaf(w, leaf, of), .state = state};
    for (uint32_t l = 0; l < leaves; l++) state[l] = of[l].n;
    return r;
}

const PlanWhileWork *plan_while_work(WbbArena *a, const HloInstruction *loop)
{
    const uint32_t leaves = loop->shape->n_leaves;
    Wanting w = wanting_of(a, loop);
    PlanLeafWork *each = WBB_NEW_N(a, PlanLeafWork, leaves + 1);
    PlanWhileWork *r = WBB_NEW(a, PlanWhileWork);
    Wanted *all = WBB_NEW_N(a, Wanted, leaves + 1);
    for (uint32_t l = 0; l < leaves; l++) all[l].n = (double)hlo_elements(plan_shape(loop, l));
    r->whole = iteration(&w, all);
    for (uint32_t l = 0; l < leaves; l++) each[l] = of_leaf(&w, l);
    r->terms = w.terms, r->leaves = each;
    return r;
}
