/* loop.c: `while`.
 *
 * Leaves straight code where the number of iterations is known and all of them together are short: then each
 * iteration's parameter is the result of the one before. Else a `for` or a `repeat` that carries the elements of the
 * state that the thread needs: its slots (state.c). Which these are, a search finds out: the body is emitted into a
 * block that no kernel has, each element of the state that it reads becomes a slot whose next value is wanted in turn,
 * until there are no new ones. If they are too many, the elements of the state depend on each other, and the loop is
 * declined.
 *
 * A loop that runs until all elements are done, as batches of loops and series do, runs in each thread until its own
 * element is, if the body then leaves the results as they are:
 *
 *     while(any(busy)) { x = select(busy, f(x), x), busy = busy and g(x) }
 *         =>   r = if busy0 { a, b = repeat carry x = x0, y = busy0 { .. yield .. while b' } .. } else { yield x0 }
 */
#include "emit/inner.h"

enum {
    LOOP_BEGIN,  /* straight code, or the next attempt to find slots */
    LOOP_TEST,   /* search: asks for the condition */
    LOOP_ANY,    /* search: asks for the own element of what the condition combines */
    LOOP_RESULTS, /* search: asks for the results of a step that are stored */
    LOOP_SLOTS,  /* search: asks for the next value of each slot; then decides */
    LOOP_BEFORE, /* asks for values that the body takes from before the loop */
    LOOP_INITS,  /* asks for the first value of each slot */
    LOOP_FIRST,  /* asks for the condition before the loop, then opens it */
    LOOP_BODY,   /* asks for the next value of each slot */
    LOOP_STEP,   /* asks for the results of a step that are stored */
    LOOP_STORE,  /* asks for what outputs have of them, and stores it; then another step, or the end */
    LOOP_AGAIN,  /* asks for the condition after an iteration */
    LOOP_END,    /* closes the loop and finishes */
    LOOP_SAME,   /* the value asked for is the result */
};

/* What an attempt does without, one after the other. */
enum { NO_COMPANIONS = 1, NO_ANY = 2, ATTEMPTS = 4 };

typedef struct {
    EmitState s;
    HloCount counts;
    const HloComputation *body, *test;
    uint32_t attempt, n_results; /* results: the first slots */
    bool outermost;              /* of the searches under way */
    uint32_t outer, body_env, test_env;
    uint32_t called, branches; /* EmitValues.n_called and n_branches before the search */
    IrRef *yields, *inits;
    IrRef condition, any;
    EmitIf branch;
    EmitLoop loop;
    /* A loop whose steps are stored: so many in an iteration of the `for`, then the rest, straight. */
    bool stores;
    int64_t together, done; /* done: steps of the iteration, or of the rest */
    IrRef iteration, step;  /* of the `for`, 0 after it; number of the step */
} Loop;

/* the search for slots ---------------------------------------------------------------------------------------- */

static const HloComputation *computation_of(const EmitValues *e, const HloInstruction *i)
{
    const HloComputation *body = e->plan->fusion->body;
    for (uint32_t k = 0; k <= body->module->n_computations; k++) {
        const HloComputation *c = k ? body->module->computations[k - 1] : body;
        if (i->id < c->n_instructions && c->instructions[i->id] == i) return c;
    }
    return NULL;
}

/* Leaves of the result that the computation around it uses. */
static bool *used_leaves(EmitValues *e, const HloInstruction *i)
{
    bool *used = WBB_NEW_N(e->arena, bool, i->shape->n_leaves + 1u);
    const HloComputation *c = computation_of(e, i);
    uint32_t elements = 0; /* uses that are elements of it */
    for (uint32_t k = i->id + 1; c && k < c->n_instructions; k++) {
        const HloInstruction *user = c->instructions[k];
        if (user->opcode != HLO_GET_TUPLE_ELEMENT || user->operands[0] != i) continue;
        const uint32_t first = plan_value(user, 0).part;
        for (uint32_t l = 0; l < user->shape->n_leaves; l++) used[first + l] = true;
        elements++;
    }
    for (uint32_t l = 0; l < i->shape->n_leaves; l++) /* or uses as a whole, as the computation's result */
        used[l] = used[l] || elements < i->n_users || (c && c->root == i);
    return used;
}

static IrRef counter(EmitValues *e, const Loop *w, IrRef iteration)
{
    const ScType t = plan_shape(w->s.loop, w->counts.counter)->type;
    const IrRef at = rw_add(e->rw, rw_scale(e->rw, iteration, w->counts.step), ir_index(e->g, w->counts.first));
    return ir_node(e->g, OP_IDX, IR_TYPE(t, 0), 0, at, 0, 0, 0);
}

/* Environments of the condition and the body for these values of the slots. */
static void set_environments(EmitValues *e, const EmitFrame *f, Loop *w, IrRef *slots, IrRef iteration)
{
    EmitEnv env = {.operands = f->i->operands, .outer = f->env, .state = &w->s, .slots = slots};
    if (iteration) env.leaf = w->counts.counter, env.known = counter(e, w, iteration);
    w->body_env = emit_new_env(e, env);
    env.tests = true;
    w->test_env = emit_new_env(e, env);
}

static void begin_search(EmitValues *e, EmitFrame *f, Loop *w)
{
    EmitState *s = &w->s;
    const HloShape *own = w->stores ? e->steps->of->space : plan_shape(f->i, f->part);
    const bool *used = used_leaves(e, f->i);
    IrRef iteration = 0;
    s->discovering = true;
    s->failed = s->again = false;
    s->n_slots = s->wanted.n = 0;
    s->any = NULL;
    s->no_any = (w->attempt & NO_ANY) != 0;
    s->first_env = e->envs.n;
    s->stand_ins = (WbbMap){.arena = e->arena};
    s->outer_scope = w->outer = e->scope;
    w->any = w->condition = 0;
    w->outermost = !e->search;
    if (w->outermost) e->search = s, w->called = e->n_called, w->branches = e->n_branches;
    IrStmt *apart = WBB_NEW(e->arena, IrStmt);
    emit_enter(e, &apart->body);
    if (w->counts.trips >= 0) {
        iteration = ir_var(e->g, ir_var_new(e->g, emit_name(e, "k"), IR_LOOP, 0, w->counts.trips - 1, 0));
        emit_bound(e, iteration);
    }
    set_environments(e, f, w, s->carried, iteration);
    if (!w->stores) emit_add_slot(e, s, f->part, f->index);
    for (uint32_t l = 0; l < f->i->shape->n_leaves && !(w->attempt & NO_COMPANIONS); l++) {
        const bool counts = w->counts.trips >= 0 && l == w->counts.counter;
        if (used[l] && !counts && l != f->part && !hlo_loop_keeps(f->i, l) &&
            hlo_same_dims(plan_shape(f->i, l), own))
            emit_add_slot(e, s, l, w->stores ? e->steps->at : f->index);
    }
    w->n_results = s->n_slots;
}

/* y, where the pred p is false. */
static IrRef when_false(const EmitValues *e, IrRef y, IrRef p, uint32_t depth)
{
    IrGraph *g = e->g;
    const IrNode n = *ir_at(g, y);
    const IrRef no = ir_const(g, IR_TYPE(SC_PRED, 0), 0);
    if (y == p) return no;
    if (depth == 0) return y;
    if (n.op == OP_SELECT) {
        const IrRef c = when_false(e, n.a[0], p, depth - 1);
        if (!ir_is_const(g, c)) return y;
        return when_false(e, ir_at(g, c)->imm ? n.a[1] : n.a[2], p, depth - 1);
    }
    if (n.op == OP_BAND && IR_SC(n.type) == SC_PRED &&
        (when_false(e, n.a[0], p, depth - 1) == no || when_false(e, n.a[1], p, depth - 1) == no))
        return no;
    return y;
}

static bool is_frozen(const EmitValues *e, const Loop *w, uint32_t slot)
{
    enum { DEPTH = 12 };
    return when_false(e, w->yields[slot], w->any, DEPTH) == when_false(e, w->s.carried[slot], w->any, DEPTH);
}

/* Does an iteration that finds the own element done leave the results, and what says that it is done? */
static bool rests_when_done(EmitValues *e, const Loop *w)
{
    enum { MOST = 256 };
    IrRefs below = {0};
    if (ir_at(e->g, when_false(e, w->condition, w->any, MOST / 8))->op != OP_CONST) return false;
    for (uint32_t k = 0; k < w->n_results; k++)
        if (!is_frozen(e, w, k)) return false;
    uint8_t *mark = WBB_NEW_N(e->arena, uint8_t, e->g->n);
    WBB_PUSH(e->arena, &below, w->any);
    ir_gather(e->g, e->arena, &below, mark);
    if (below.n > MOST) return false;
    for (uint32_t n = 0; n < below.n; n++) {
        if (ir_at(e->g, below.items[n])->op != OP_VALUE) continue;
        bool found = emit_scope_of(e, below.items[n]) <= w->s.outer_scope;
        for (uint32_t k = 0; k < w->s.n_slots; k++) {
            if (w->s.carried[k] != below.items[n]) continue;
            found = true;
            if (!is_frozen(e, w, k)) return false;
        }
        if (!found) return false; /* the result of a statement in the body */
    }
    return true;
}

/* Ends an attempt: true: slots are known. */
static bool end_search(EmitValues *e, EmitFrame *f, Loop *w)
{
    EmitState *s = &w->s;
    const bool rests = s->failed || !s->any || rests_when_done(e, w);
    if (w->outermost) e->search = NULL, e->n_called = w->called, e->n_branches = w->branches;
    emit_switch(e, w->outer);
    s->discovering = false;
    if (!s->failed && !s->again && rests) return true;
    if (s->again && !s->failed && rests) return false;
    for (uint32_t l = 0; l < f->i->shape->n_leaves; l++) s->whole[l] = false;
    if (++w->attempt < ATTEMPTS) return false;
    const HloShape *leaf = plan_shape(f->i, s->failed_leaf);
    wbb_decline(e->cx, f->i->loc, WHY_CONTROL_FLOW,
                "%s: an element of its result needs more elements of leaf %u of its state, of %lld, than one thread "
                "holds; at most %u in all",
                f->i->name, s->failed_leaf, (long long)hlo_elements(leaf), s->capacity);
}

/* the frame --------------------------------------------------------------------------------------------------- */

static Loop *begin(EmitValues *e, EmitFrame *f)
{
    Loop *w = f->data = WBB_NEW(e->arena, Loop);
    const uint32_t most = e->plan->while_state;
    w->counts = hlo_count_of(f->i);
    w->stores = e->steps && !e->steps->open && f->env == 0 && f->i == e->steps->of->loop;
    w->body = plan_called(f->i, "body"), w->test = plan_called(f->i, "condition");
    w->s = (EmitState){.loop = f->i, .capacity = most};
    w->s.slots = WBB_NEW_N(e->arena, EmitSlot, most + 1u);
    w->s.carried = WBB_NEW_N(e->arena, IrRef, most + 1u);
    w->s.whole = WBB_NEW_N(e->arena, bool, f->i->shape->n_leaves + 1u);
    w->yields = WBB_NEW_N(e->arena, IrRef, most + 1u);
    w->inits = WBB_NEW_N(e->arena, IrRef, most + 1u);
    return w;
}

/* Asks for the value after all iterations, each of which has an environment of its own. */
static void want_straight(EmitValues *e, EmitFrame *f, const Loop *w)
{
    uint32_t env = f->env;
    HloInstruction *const *before = f->i->operands;
    for (int64_t k = 0; k < w->counts.trips; k++, before = &w->body->root) {
        const ScType t = plan_shape(f->i, w->counts.counter)->type;
        const IrRef known =
            ir_const(e->g, IR_TYPE(t, 0), sc_from_i128(t, w->counts.first + (WbbI128)w->counts.step * k));
        env = emit_env_of(e, f->i, env, (uint32_t)k, before);
        e->envs.items[env].leaf = w->counts.counter, e->envs.items[env].known = known;
    }
    emit_want_in(e, f, env, *before, f->part, f->index);
}

/* Is it code of a loop's body, which is emitted several times until its slots are known? */
static bool is_in_loop(const EmitValues *e, uint32_t env)
{
    while (env && !e->envs.items[env].state) env = e->envs.items[env].outer;
    return env != 0;
}

/* Is straight code of all iterations short enough, with that of the loops before? A loop in another one must be the
 * same each time that it is emitted. */
static bool is_short(EmitValues *e, const EmitFrame *f, const Loop *w)
{
    const int64_t trips = w->counts.trips;
    if (trips <= 1) return trips >= 0;
    /* what a branch computes is not available in another one, and would be computed again in each after it */
    if (plan_has_branch(e->arena, w->body)) return false;
    const int64_t operations = plan_operations(e->arena, w->body, NULL);
    if (trips * WBB_MAX(operations, 1) > e->plan->while_straight) return false;
    const bool inner = is_in_loop(e, f->env);
    PlanStraight all = plan_while_straight(e->arena, f->i, f->part);
    if (!inner) all.operations += e->straight.operations, all.branches += e->straight.branches;
    if (all.operations > e->plan->while_most || all.branches > e->plan->called_branches / 2) return false;
    if (!inner) e->straight = all;
    return true;
}

static void begin_attempt(EmitValues *e, EmitFrame *f, Loop *w)
{
    const int64_t trips = w->counts.trips;
    emit_next(f, LOOP_SAME);
    if (w->stores) {
        begin_search(e, f, w);
        emit_next(f, LOOP_RESULTS);
    } else if (hlo_loop_keeps(f->i, f->part)) {
        emit_want(e, f, f->i->operands[0], f->part, f->index);
    } else if (trips >= 0 && f->part == w->counts.counter) {
        const ScType t = plan_shape(f->i, f->part)->type;
        f->result = ir_const(e->g, IR_TYPE(t, 0), sc_from_i128(t, w->counts.first + (WbbI128)w->counts.step * trips));
    } else if (is_short(e, f, w)) {
        want_straight(e, f, w);
    } else {
        begin_search(e, f, w);
        emit_next(f, trips >= 0 ? LOOP_SLOTS : LOOP_TEST);
    }
}

static ScType type_of(const EmitFrame *f, const Loop *w, uint32_t slot)
{
    return plan_shape(f->i, w->s.slots[slot].leaf)->type;
}

/* Asks for the next value of each slot in the body's environment; true: all are there. */
static bool all_yields(EmitValues *e, EmitFrame *f, Loop *w)
{
    const uint32_t k = f->asked;
    if (k > 0) w->yields[k - 1] = emit_as(e, f->result, type_of(f, w, k - 1));
    if (k == w->s.n_slots) return true;
    f->asked++;
    emit_want_in(e, f, w->body_env, w->body->root, w->s.slots[k].leaf, w->s.slots[k].index);
    return false;
}

/* --- steps that are stored ---------------------------------------------------------------------------------------- */
/* Asks for the results of a step, of each leaf that is stacked, in the body's environment; true: all are there. */
static bool all_results(EmitValues *e, EmitFrame *f, const Loop *w)
{
    const PlanStack *stacks = e->steps->of->stacks;
    if (f->asked) e->steps->now[f->asked - 1] = emit_as(e, f->result, plan_shape(f->i, f->asked - 1)->type);
    while (f->asked < f->i->shape->n_leaves && !stacks[f->asked].update) f->asked++;
    if (f->asked == f->i->shape->n_leaves) return true;
    const uint32_t leaf = f->asked++;
    emit_want_in(e, f, w->body_env, stacks[leaf].update->operands[1], 0, emit_step_result(e, leaf));
    return false;
}

/* Steps whose loads are in flight at once. */
static int64_t steps_together(const EmitValues *e, const Loop *w)
{
    const int64_t operations = WBB_MAX(plan_operations(e->arena, w->body, NULL), 1);
    int64_t n = e->plan->reduce_unroll;
    while (n > 1 && n * operations > e->plan->while_straight) n /= 2;
    return WBB_MIN(n, w->counts.trips);
}

/* The environment of the next step, of which these are the slots; false: there is none. */
static bool next_step(EmitValues *e, EmitFrame *f, Loop *w, const IrRef *slots)
{
    const int64_t trips = w->counts.trips, rest = trips % w->together;
    if (w->done == (w->iteration ? w->together : rest)) return false;
    IrRef *copy = WBB_NEW_N(e->arena, IrRef, w->s.n_slots + 1u);
    for (uint32_t k = 0; k < w->s.n_slots; k++) copy[k] = slots[k];
    w->step = w->iteration ? rw_add(e->rw, rw_scale(e->rw, w->iteration, w->together), ir_index(e->g, w->done))
                           : ir_index(e->g, trips - rest + w->done);
    w->done++;
    set_environments(e, f, w, copy, w->step);
    return true;
}

static void open_steps(EmitValues *e, EmitFrame *f, Loop *w)
{
    w->together = steps_together(e, w);
    w->loop = emit_for(e, "k", w->counts.trips / w->together, w->s.n_slots, w->inits, &w->iteration);
    e->steps->open = true;
    next_step(e, f, w, w->inits);
    emit_next(f, LOOP_BODY);
}

/* After a step: the next one; or, where the `for` ends, those of the rest; or the end. */
static void end_step(EmitValues *e, EmitFrame *f, Loop *w)
{
    emit_store_stepped(e);
    emit_next(f, LOOP_BODY);
    if (next_step(e, f, w, w->yields)) return;
    if (w->iteration) {
        emit_end_for(e, &w->loop, w->s.n_slots, w->yields);
        w->iteration = 0, w->done = 0;
        if (next_step(e, f, w, w->yields)) return;
    }
    e->steps->open = false;
    for (uint32_t k = 0; k < w->n_results; k++)
        emit_give(e, (PlanValue){f->i, w->s.slots[k].leaf}, w->s.slots[k].index, w->yields[k]);
    emit_done(e, f, ir_const(e->g, IR_TYPE(plan_shape(f->i, f->part)->type, 0), 0)); /* which nobody reads */
}

/* --- the loop ----------------------------------------------------------------------------------------------------- */
/* Opens the loop, below an `if` where it may not run at all. */
static void open_loop(EmitValues *e, EmitFrame *f, Loop *w)
{
    const uint32_t n = w->s.n_slots;
    IrRef *slots = WBB_NEW_N(e->arena, IrRef, n + 1u), iteration = 0;
    w->branch = emit_if_using(e, w->condition, n, w->inits);
    for (uint32_t k = 0; k < n; k++) slots[k] = emit_in_branch(e, &w->branch, true, w->inits[k]);
    for (uint32_t k = 0; k < n; k++) w->inits[k] = emit_in_branch(e, &w->branch, false, w->inits[k]);
    if (!w->branch.s && !w->branch.known) {
        emit_next(f, LOOP_END);
        return;
    }
    if (w->counts.trips >= 0) w->loop = emit_for(e, "k", w->counts.trips, n, slots, &iteration);
    else w->loop = emit_repeat(e, n, slots);
    set_environments(e, f, w, slots, iteration);
    emit_next(f, LOOP_BODY);
}

static void close_loop(EmitValues *e, EmitFrame *f, Loop *w)
{
    const uint32_t n = w->s.n_slots;
    if (w->loop.s) {
        w->loop.s->condition = w->counts.trips >= 0 ? 0 : w->condition;
        emit_end_for(e, &w->loop, n, w->yields);
    }
    emit_else(e, &w->branch);
    emit_end_if(e, &w->branch, n, w->yields, w->inits, w->yields);
    for (uint32_t k = 1; k < w->n_results; k++) emit_remember(e, f, w->s.slots[k].leaf, w->yields[k]);
    emit_done(e, f, w->yields[0]);
}

/* More than 60 lines: one state after the other. */
void emit_step_while(EmitValues *e, EmitFrame *f)
{
    Loop *w = f->data ? f->data : begin(e, f);
    const uint32_t asked = f->asked++;
    switch (f->state) {
    case LOOP_BEGIN: begin_attempt(e, f, w); return;
    case LOOP_TEST:
        if (asked == 0) {
            emit_want_in(e, f, w->test_env, w->test->root, 0, NULL);
            return;
        }
        w->condition = f->result;
        emit_next(f, w->s.any ? LOOP_ANY : LOOP_SLOTS);
        return;
    case LOOP_ANY:
        if (asked == 0) {
            emit_want_in(e, f, w->test_env, w->s.any, 0, f->index);
            return;
        }
        w->any = f->result;
        emit_next(f, LOOP_SLOTS);
        return;
    case LOOP_RESULTS:
        f->asked = asked;
        if (all_results(e, f, w)) emit_next(f, LOOP_SLOTS);
        return;
    case LOOP_SLOTS:
        f->asked = asked;
        if (!w->s.failed && !all_yields(e, f, w)) return;
        emit_next(f, end_search(e, f, w) ? LOOP_BEFORE : LOOP_BEGIN);
        return;
    case LOOP_BEFORE:
        if (asked < w->s.wanted.n) {
            const EmitWanted *x = &w->s.wanted.items[asked];
            emit_want_in(e, f, x->env, x->v.i, x->v.part, x->index);
            return;
        }
        emit_next(f, LOOP_INITS);
        return;
    case LOOP_INITS:
        if (asked > 0) w->inits[asked - 1] = emit_as(e, f->result, type_of(f, w, asked - 1));
        if (asked < w->s.n_slots) {
            emit_want(e, f, f->i->operands[0], w->s.slots[asked].leaf, w->s.slots[asked].index);
            return;
        }
        w->condition = 0;
        set_environments(e, f, w, w->inits, 0);
        emit_next(f, LOOP_FIRST);
        return;
    case LOOP_FIRST:
        if (asked == 0 && w->counts.trips < 0) {
            emit_want_in(e, f, w->test_env, w->test->root, 0, NULL);
            return;
        }
        if (asked > 0) w->condition = f->result;
        if (w->stores) open_steps(e, f, w);
        else open_loop(e, f, w);
        return;
    case LOOP_BODY:
        f->asked = asked;
        if (!all_yields(e, f, w)) return;
        if (!w->stores) set_environments(e, f, w, w->yields, 0);
        emit_next(f, w->stores ? LOOP_STEP : LOOP_AGAIN);
        return;
    case LOOP_STEP:
        f->asked = asked;
        if (all_results(e, f, w)) emit_next(f, LOOP_STORE);
        return;
    case LOOP_STORE:
        if (asked > 0) e->steps->values[asked - 1] = f->result;
        if (asked == e->steps->n_outputs) end_step(e, f, w);
        else emit_want_stepped(e, f, asked, w->step);
        return;
    case LOOP_AGAIN:
        if (asked == 0 && w->counts.trips < 0) {
            emit_want_in(e, f, w->test_env, w->test->root, 0, NULL);
            return;
        }
        if (asked > 0) w->condition = f->result;
        emit_next(f, LOOP_END);
        return;
    case LOOP_END: close_loop(e, f, w); return;
    default: emit_done(e, f, emit_as(e, f->result, plan_shape(f->i, f->part)->type));
    }
}
