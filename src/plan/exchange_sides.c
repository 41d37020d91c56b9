/* exchange_sides.c: which outputs the first stage of an exchange stores, as it has what they need.
 *
 * Needs the values that go through the tile and the order in which they are read; leaves the outputs of each stage.
 * The first one stores an output that needs no value of the tile, and that, if the order of its memory is that of
 * reading, needs elements which the first stage has loaded. What else it needs then has to be no farther apart in that
 * order than in the other one, and chosen by no branches of its own.
 *
 *     (transpose(p0), exp(p0))    =>    put p0 to the tile, store exp(p0); get p0, store
 */
#include "plan/exchange.h"

enum { MOST_SIDES = 62 }; /* each is a pass of the walk */

/* Are elements of a load nearer each other in the order in which values are read? */
static bool is_near(const PlanExchange *x, const LayAccess *l)
{
    const int64_t stored = l->step[x->space->rank - 1 - x->common], read = l->step[x->read[x->common]];
    return read && read != LAY_FAR && (!stored || read < stored);
}

/* .. or at least not farther? */
static bool is_no_farther(const PlanExchange *x, const LayAccess *l)
{
    const int64_t stored = l->step[x->space->rank - 1 - x->common], read = l->step[x->read[x->common]];
    return read != LAY_FAR && !(stored && read && stored < read);
}

/* Does an output, pass `pass` of the walk, share loads with the values of the tile, pass 0? */
static bool shares_loads(const PlanExchange *x, const PlanWalk *w, uint32_t pass)
{
    bool shares = false;
    for (uint32_t k = 0; k < w->loads.n; k++) {
        const uint64_t passes = w->in_pass.items[k];
        if (!(passes >> pass & 1)) continue;
        if (passes & 1) shares = shares || is_near(x, &w->loads.items[k]);
        else if (!is_no_farther(x, &w->loads.items[k])) return false;
    }
    return shares;
}

/* Does it choose among operands, or pad them, where the values of the tile do not? Branches would be there twice. */
static bool has_own_choice(const PlanWalk *w, uint32_t pass)
{
    bool found = false;
    for (uint32_t k = 0; k < w->needs.n; k++) {
        const HloOpcode op = w->needs.items[k].value.i->opcode;
        const uint64_t passes = w->needs.items[k].passes;
        found = found || (hlo_joins(op) && passes >> pass & 1 && !(passes & 1));
    }
    return found;
}

bool plan_exchange_sides(PlanExchange *x)
{
    const uint32_t rank = x->space->rank;
    PlanGroup *groups = plan_exchange_groups(x->a, x->space);
    PlanWalk w = {.a = x->a, .p = x->p, .rw = x->p->rw, .t = x->t, .space = groups, .n_space = rank, .shape = x->space};
    for (int side = 0; side < PLAN_SIDES; side++) {
        x->stored[side] = WBB_NEW_N(x->a, uint32_t, x->n_outputs + 1u);
        x->n_stored[side] = 0;
    }
    plan_walk_begin(&w);
    plan_exchange_values(x, &w);
    plan_walk_run(&w);
    for (uint32_t k = 0; k < x->n_outputs; k++) {
        bool put = !x->crosses[k] && w.pass < MOST_SIDES;
        if (put) {
            w.pass++;
            plan_exchange_output(x, &w, x->read_space, x->outputs[k]);
            plan_walk_run(&w);
            put = w.complete && shares_loads(x, &w, w.pass) && !has_own_choice(&w, w.pass);
        }
        const int side = put ? PLAN_TO : PLAN_FROM;
        x->stored[side][x->n_stored[side]++] = x->outputs[k];
    }
    return x->n_stored[PLAN_TO] > 0;
}

static bool is_cut_short(const Layout *l)
{
    bool cut = false;
    for (uint32_t d = 0; d < l->n_dims; d++) {
        int64_t n = 1;
        for (uint32_t k = 0; k < l->dims[d].n_factors; k++) n *= l->dims[d].factors[k].size;
        cut = cut || n != l->dims[d].size;
    }
    return cut;
}

/* Do these outputs need a function of many instructions? */
static bool has_function(const PlanExchange *x)
{
    const HloComputation *body = x->p->fusion->body;
    bool *needed = WBB_NEW_N(x->a, bool, body->n_instructions + 1u), found = false;
    for (uint32_t k = 0; k < x->n_stored[PLAN_TO]; k++) needed[x->p->roots[x->stored[PLAN_TO][k]].i->id] = true;
    for (uint32_t n = body->n_instructions; n-- > 0;) {
        const HloInstruction *i = body->instructions[n];
        found = found || (needed[n] && plan_function_work(x->t, i) > 0);
        for (uint32_t k = 0; needed[n] && k < i->n_operands; k++) needed[i->operands[k]->id] = true;
    }
    return found;
}

/* Masks are branches, which would keep loads of other elements from being on their way at once. Values that are
 * computed again after them LLVM finds to be there, but not those of functions with branches. */
bool plan_exchange_sides_last(const PlanExchange *x, const Layout *l)
{
    return x->n_stored[PLAN_TO] > 0 && is_cut_short(l) && !has_function(x);
}
