/* vectorize.c: `for v in 0..n lanes n` becomes straight code on lanes 0..n-1.
 *
 * Needs a kernel after `lower`; leaves no lanes loop. What does not depend on v stays one value (lanes_mark.c), all else is made in
 * all lanes at once where they run together (lanes_value.c):
 * - a `let` becomes one variable where the lanes' indices differ by constants, or are the same; else one a lane;
 * - an `if` whose condition is the same in all lanes stays one `if`; else it becomes one a lane, with variables and values of its own;
 * - a `for` stays one `for`; what it carries is one value, pairs, or scalars;
 * - what the loop of lanes itself carries goes from lane to lane, in order; what depends on it is done lane after lane, behind all else.
 *
 *     store %out[8*t + v], max.bf16(load %in[8*t + v], 0.0)      lanes 8, PACKED has max.bf16x2
 * =>  x = load.bf16x8 %in[8*t];  store %out[8*t], pack(pack(max.bf16x2(part<0>(x), 0.0), ..), pack(..))
 */
#include "vector/lanes.h"

static void all_block(Lanes *l, const IrBlock *in, IrBlock *out);
static void lone_block(Lanes *l, const IrBlock *in, IrBlock *out, uint32_t lane);

/* --- what statements bind ------------------------------------------------------------------------------------------------------------ */
static LaneValue *bound(Lanes *l, struct LaneBound *b)
{
    if (!b->value) b->value = WBB_NEW(l->arena, LaneValue);
    return b->value;
}

static const char *lane_name(Lanes *l, const char *name, uint32_t lane) { return wbb_format(l->g->arena, "%s_%u", name, lane); }

/* A variable like `var`, for one lane; its definition is set by who needs one. */
static uint32_t lane_variable(Lanes *l, uint32_t var, uint32_t lane)
{
    IrGraph *g = l->g;
    const IrVar old = g->vars[var];
    const uint32_t made = ir_var_new(g, lane_name(l, old.name, lane), old.kind, old.lo, old.hi, 0);
    vec_lanes_grow(l);
    bound(l, &l->vars[var])->at[lane] = ir_var(g, made);
    return made;
}

static void open_scope(Lanes *l)
{
    if (l->open.n == 0) WBB_PUSH(l->g->arena, &l->open, false); /* scope 0: nothing */
    l->scope = l->open.n;
    WBB_PUSH(l->g->arena, &l->open, true);
}

static void close_scope(Lanes *l, uint32_t outer)
{
    l->open.items[l->scope] = false;
    l->scope = outer;
}

static bool same_in_all(const Lanes *l, const IrRef *at)
{
    for (uint32_t i = 1; i < l->lanes; i++)
        if (at[i] != at[0]) return false;
    return true;
}

/* r in every lane; true if it is the same. */
static bool in_all(Lanes *l, IrRef r, IrRef *at)
{
    vec_lanes_ask(l, r);
    vec_lanes_make(l);
    for (uint32_t i = 0; i < l->lanes; i++) at[i] = vec_lane(l, r, i);
    return same_in_all(l, at);
}

/* --- statements of all lanes ---------------------------------------------------------------------------------------------------------- */
static void store_lanes(Lanes *l, const IrStmt *s, IrBlock *out)
{
    IrRef index[MAX_LANES];
    for (uint32_t i = 0; i < l->lanes; i++) index[i] = vec_lane(l, s->index, i);
    const uint32_t has = IR_LANES(ir_at(l->g, s->value)->type);
    for (uint32_t i = 0; i < l->lanes;) {
        const char *why = "what is stored has several lanes already";
        const uint32_t w = has > 1 ? 1 : vec_lanes_widest(l, s->buffer, index, i, &why);
        IrStmt *store = ir_stmt(l->g, out, IR_STORE);
        store->buffer = s->buffer;
        store->index = index[i];
        store->value = vec_lanes(l, s->value, i, w);
        vec_lanes_note(l, s->buffer, true, has * w, why);
        i += w;
    }
}

/* A statement as it is, without its blocks and results. */
static IrStmt *copy(Lanes *l, const IrStmt *s, IrBlock *out)
{
    IrStmt *made = ir_stmt(l->g, out, s->kind);
    *made = *s;
    made->body = made->otherwise = (IrBlock){0};
    made->results = NULL;
    made->n_results = 0;
    return made;
}

/* Lanes' indices that differ from the first by constants: all that is needed is one variable, which lies so that every lane keeps
 * the interval that was stated. */
static bool let_steps(Lanes *l, const IrStmt *s, const IrRef *at, IrBlock *out)
{
    RwCx *rw = l->rw;
    const IrVar var = l->g->vars[s->var];
    int64_t step[MAX_LANES], least = 0, most = 0;
    for (uint32_t i = 0; i < l->lanes; i++) {
        const IrRef d = rw_sub(rw, at[i], at[0]);
        if (!ir_is_const(l->g, d)) return false;
        step[i] = (int64_t)ir_at(l->g, d)->imm;
        least = WBB_MIN(least, step[i]);
        most = WBB_MAX(most, step[i]);
    }
    const WbbI128 lo = (WbbI128)var.lo - least, hi = (WbbI128)var.hi - most;
    if (lo > hi || lo < INT64_MIN || hi > INT64_MAX) return false;
    const IrRef first = ir_let(l->g, out, var.name, at[0], (int64_t)lo, (int64_t)hi);
    vec_lanes_grow(l);
    LaneValue *v = bound(l, &l->vars[s->var]);
    for (uint32_t i = 0; i < l->lanes; i++) v->at[i] = rw_add(rw, first, ir_index(l->g, step[i]));
    return true;
}

static void all_let(Lanes *l, const IrStmt *s, IrBlock *out)
{
    IrGraph *g = l->g;
    IrRef at[MAX_LANES];
    if (!l->vars[s->var].varies) {
        copy(l, s, out);
        return;
    }
    const bool same = in_all(l, s->value ? s->value : g->vars[s->var].definition, at);
    LaneValue *v = bound(l, &l->vars[s->var]);
    bool constants = !s->value;
    for (uint32_t i = 0; i < l->lanes && constants; i++) constants = ir_is_const(g, at[i]);
    if (constants) {
        for (uint32_t i = 0; i < l->lanes; i++) v->at[i] = at[i];
    } else if (same) {
        const IrVar var = g->vars[s->var]; /* a new one: a variable is younger than its definition */
        const IrRef one = s->value ? ir_let_value(g, out, var.name, at[0], var.lo, var.hi) : ir_let(g, out, var.name, at[0], var.lo, var.hi);
        for (uint32_t i = 0; i < l->lanes; i++) v->at[i] = one;
        vec_lanes_grow(l);
    } else if (s->value || !let_steps(l, s, at, out)) {
        for (uint32_t i = 0; i < l->lanes; i++) {
            IrStmt *made = copy(l, s, out);
            made->var = lane_variable(l, s->var, i);
            if (s->value) made->value = at[i];
            else g->vars[made->var].definition = at[i];
        }
    }
}

/* How a value that differs stands in all lanes: its parts, each `step` lanes. */
static uint32_t begin_value(Lanes *l, uint32_t number, bool one)
{
    LaneValue *v = bound(l, &l->values[number]);
    v->form = one ? SCALARS : (uint8_t)vec_lanes_form(l, l->g->values[number].type);
    return one ? l->lanes : v->form == PAIRS ? 2 : 1;
}

static void set_part(Lanes *l, uint32_t number, uint32_t lane, uint32_t step, IrRef part)
{
    LaneValue *v = l->values[number].value;
    for (uint32_t i = lane; i < lane + step; i++) v->at[i] = part;
}

/* Of what differs, after both branches are there. */
static void if_result(Lanes *l, const IrResult *r, IrStmt *made)
{
    IrGraph *g = l->g;
    if (!l->values[r->value].varies) {
        *ir_result_new(g, made) = *r;
        return;
    }
    IrRef yes[MAX_LANES], no[MAX_LANES];
    for (uint32_t i = 0; i < l->lanes; i++) yes[i] = vec_lane(l, r->yield, i), no[i] = vec_lane(l, r->otherwise, i);
    const bool one = same_in_all(l, yes) && same_in_all(l, no);
    const uint32_t step = begin_value(l, r->value, one);
    for (uint32_t i = 0; i < l->lanes; i += step) {
        const char *name = lane_name(l, g->values[r->value].name, i);
        const IrRef part = one ? ir_result(g, made, name, yes[0], no[0])
                               : ir_result(g, made, name, vec_lanes(l, r->yield, i, step), vec_lanes(l, r->otherwise, i, step));
        set_part(l, r->value, i, step, part);
    }
    vec_lanes_grow(l);
}

/* A branch or a body of all lanes, and what it yields that differs. */
static void all_branch(Lanes *l, const IrStmt *s, const IrBlock *in, IrBlock *out, bool otherwise)
{
    const uint32_t outer = l->scope;
    open_scope(l);
    all_block(l, in, out);
    for (uint32_t i = 0; i < s->n_results; i++) vec_lanes_ask(l, otherwise ? s->results[i].otherwise : s->results[i].yield);
    vec_lanes_make(l);
    close_scope(l, outer);
}

static void lone_if(Lanes *l, const IrStmt *s, IrRef condition, IrBlock *out, uint32_t lane)
{
    IrStmt *made = copy(l, s, out);
    made->condition = condition;
    lone_block(l, &s->body, &made->body, lane);
    lone_block(l, &s->otherwise, &made->otherwise, lane);
    for (uint32_t i = 0; i < s->n_results; i++) {
        const IrResult r = s->results[i];
        const IrRef yes = vec_lone(l, r.yield, lane), no = vec_lone(l, r.otherwise, lane);
        bound(l, &l->values[r.value])->at[lane] = ir_result(l->g, made, lane_name(l, l->g->values[r.value].name, lane), yes, no);
    }
    vec_lanes_grow(l);
}

static void all_if(Lanes *l, const IrStmt *s, IrBlock *out)
{
    IrRef condition[MAX_LANES];
    if (in_all(l, s->condition, condition)) {
        IrStmt *made = copy(l, s, out);
        made->condition = condition[0];
        all_branch(l, s, &s->body, &made->body, false);
        all_branch(l, s, &s->otherwise, &made->otherwise, true);
        for (uint32_t i = 0; i < s->n_results; i++) if_result(l, &s->results[i], made);
        return;
    }
    for (uint32_t lane = 0; lane < l->lanes; lane++) {
        l->region++;
        lone_if(l, s, condition[lane], out, lane);
    }
}

/* What a `for` of all lanes carries: result i of it becomes the results from first[i] on. */
static void carry_all(Lanes *l, const IrStmt *s, IrStmt *made, uint32_t *first)
{
    IrGraph *g = l->g;
    for (uint32_t i = 0; i < s->n_results; i++) vec_lanes_ask(l, s->results[i].init);
    vec_lanes_make(l);
    for (uint32_t i = 0; i < s->n_results; i++) {
        const IrResult r = s->results[i];
        first[i] = made->n_results;
        if (!l->values[r.value].varies) {
            *ir_result_new(g, made) = r;
            continue;
        }
        const uint32_t step = begin_value(l, r.carried, false);
        begin_value(l, r.value, false);
        for (uint32_t lane = 0; lane < l->lanes; lane += step) {
            const uint32_t k = ir_carry(g, made, lane_name(l, g->values[r.carried].name, lane), vec_lanes(l, r.init, lane, step));
            g->values[made->results[k].value].name = lane_name(l, g->values[r.value].name, lane);
            set_part(l, r.carried, lane, step, ir_value(g, made->results[k].carried));
            set_part(l, r.value, lane, step, ir_value(g, made->results[k].value));
        }
        vec_lanes_grow(l);
    }
}

static void all_for(Lanes *l, const IrStmt *s, IrBlock *out)
{
    IrStmt *made = copy(l, s, out);
    if (l->vars[s->var].varies) /* in the branch of a condition that turned out to be the same in all lanes */
        for (uint32_t i = 0; i < l->lanes; i++) bound(l, &l->vars[s->var])->at[i] = ir_var(l->g, s->var);
    uint32_t *first = WBB_NEW_N(l->arena, uint32_t, s->n_results + 1);
    carry_all(l, s, made, first);
    all_branch(l, s, &s->body, &made->body, false);
    for (uint32_t i = 0; i < s->n_results; i++) {
        if (!l->values[s->results[i].value].varies) continue;
        const uint32_t n = (i + 1 < s->n_results ? first[i + 1] : made->n_results) - first[i], step = l->lanes / n;
        for (uint32_t k = 0; k < n; k++) made->results[first[i] + k].yield = vec_lanes(l, s->results[i].yield, k * step, step);
    }
}

/* Stores that follow each other are made together: what they need is made in one order. */
static uint32_t all_stores(Lanes *l, const IrBlock *in, uint32_t from, const bool *without, IrBlock *out)
{
    uint32_t end = from;
    for (; end < in->n && in->items[end]->kind == IR_STORE; end++) {
        if (without && without[end]) continue;
        vec_lanes_ask(l, in->items[end]->index);
        vec_lanes_ask(l, in->items[end]->value);
    }
    vec_lanes_make(l);
    for (uint32_t i = from; i < end; i++)
        if (!without || !without[i]) store_lanes(l, in->items[i], out);
    return end;
}

/* Statements but those that are marked in `without`, which may be NULL. */
static void all_but(Lanes *l, const IrBlock *in, const bool *without, IrBlock *out)
{
    for (uint32_t i = 0; i < in->n;) {
        const IrStmt *s = in->items[i];
        if (s->kind == IR_STORE) {
            i = all_stores(l, in, i, without, out);
            continue;
        }
        i++;
        if (without && without[i - 1]) continue;
        if (s->kind == IR_BIND) all_let(l, s, out);
        if (s->kind == IR_IF) all_if(l, s, out);
        if (s->kind == IR_FOR) all_for(l, s, out);
    }
}

static void all_block(Lanes *l, const IrBlock *in, IrBlock *out) { all_but(l, in, NULL, out); }

/* --- statements of one lane ----------------------------------------------------------------------------------------------------------- */
static void lone_for(Lanes *l, const IrStmt *s, IrBlock *out, uint32_t lane)
{
    IrGraph *g = l->g;
    IrStmt *made = copy(l, s, out);
    made->var = lane_variable(l, s->var, lane);
    for (uint32_t i = 0; i < s->n_results; i++) {
        const IrResult r = s->results[i];
        const uint32_t k = ir_carry(g, made, lane_name(l, g->values[r.carried].name, lane), vec_lone(l, r.init, lane));
        g->values[made->results[k].value].name = lane_name(l, g->values[r.value].name, lane);
        vec_lanes_grow(l);
        bound(l, &l->values[r.carried])->at[lane] = ir_value(g, made->results[k].carried);
        bound(l, &l->values[r.value])->at[lane] = ir_value(g, made->results[k].value);
    }
    lone_block(l, &s->body, &made->body, lane);
    for (uint32_t i = 0; i < s->n_results; i++) made->results[i].yield = vec_lone(l, s->results[i].yield, lane);
}

static void lone_statement(Lanes *l, const IrStmt *s, IrBlock *out, uint32_t lane)
{
    IrGraph *g = l->g;
    IrStmt *made;
    switch (s->kind) {
    case IR_STORE:
        made = copy(l, s, out);
        made->index = vec_lone(l, s->index, lane);
        made->value = vec_lone(l, s->value, lane);
        vec_lanes_note(l, s->buffer, true, 1, "each lane decides by itself whether it writes");
        break;
    case IR_BIND: {
        const IrRef is = vec_lone(l, s->value ? s->value : g->vars[s->var].definition, lane);
        made = copy(l, s, out);
        made->var = lane_variable(l, s->var, lane);
        if (s->value) made->value = is;
        else g->vars[made->var].definition = is;
        break;
    }
    case IR_IF: lone_if(l, s, vec_lone(l, s->condition, lane), out, lane); break;
    case IR_FOR: lone_for(l, s, out, lane); break;
    }
}

static void lone_block(Lanes *l, const IrBlock *in, IrBlock *out, uint32_t lane)
{
    for (uint32_t i = 0; i < in->n; i++) lone_statement(l, in->items[i], out, lane);
}

/* --- what goes from lane to lane ------------------------------------------------------------------------------------------------------ */
/* What r needs that does not depend on the chain, in all lanes at once. */
static void ask_beside_chain(Lanes *l, IrRefs *stack, IrRef root)
{
    const IrGraph *g = l->g;
    if (!root) return;
    WBB_PUSH(l->arena, stack, root);
    while (stack->n) {
        const IrRef r = stack->items[--stack->n];
        if (!l->chained[r]) {
            vec_lanes_ask(l, r);
            continue;
        }
        if (l->mark[r] || ir_at(g, r)->op == OP_VALUE || ir_at(g, r)->op == OP_VAR) continue;
        l->mark[r] = 1;
        for (uint32_t i = 0; i < ir_arity(g, r); i++) WBB_PUSH(l->arena, stack, ir_operand(g, r, i));
    }
}

static void ask_for_chain(Lanes *l)
{
    const IrBlock *b = &l->loop->body;
    IrRefs stack = {0};
    for (uint32_t i = 0; i < b->n; i++) {
        const IrStmt *s = b->items[i];
        if (!l->sequential[i]) continue;
        ask_beside_chain(l, &stack, s->index);
        ask_beside_chain(l, &stack, s->value);
        ask_beside_chain(l, &stack, s->condition);
        if (s->kind == IR_BIND) ask_beside_chain(l, &stack, l->g->vars[s->var].definition);
        for (uint32_t r = 0; r < s->n_results; r++) ask_beside_chain(l, &stack, s->results[r].init);
    }
    for (uint32_t i = 0; i < l->loop->n_results; i++) ask_beside_chain(l, &stack, l->loop->results[i].yield);
    vec_lanes_make(l);
    for (uint32_t i = 0; i < l->nodes.n; i++) l->mark[l->nodes.items[i]] = 0;
}

/* No statement leaves the value any more. */
static void set_left(Lanes *l, uint32_t value, IrRef is)
{
    while (l->left.n <= value) WBB_PUSH(l->g->arena, &l->left, 0);
    l->left.items[value] = is;
    l->some_left = true;
}

static void lane_after_lane(Lanes *l, IrBlock *out)
{
    const IrStmt *loop = l->loop;
    ask_for_chain(l);
    for (uint32_t i = 0; i < loop->n_results; i++) bound(l, &l->values[loop->results[i].carried])->at[0] = loop->results[i].init;
    for (uint32_t lane = 0; lane < l->lanes; lane++) {
        l->region++;
        for (uint32_t i = 0; i < loop->body.n; i++)
            if (l->sequential[i]) lone_statement(l, loop->body.items[i], out, lane);
        for (uint32_t i = 0; i < loop->n_results; i++) {
            const IrRef next = vec_lone(l, loop->results[i].yield, lane);
            if (lane + 1 < l->lanes) l->values[loop->results[i].carried].value->at[lane + 1] = next;
            else set_left(l, loop->results[i].value, next);
        }
    }
}

/* --- loops and blocks ----------------------------------------------------------------------------------------------------------------- */
static void check_loop(const IrGraph *g, const IrStmt *loop)
{
    const char *name = g->vars[loop->var].name;
    if (loop->lanes > MAX_LANES || (loop->lanes > 1 && loop->lanes % 2 != 0))
        wbb_fail(g->cx, (WbbLoc){0}, "loop over %s: %u lanes; an even number up to %d is vectorised", name, loop->lanes, MAX_LANES);
}

/* Variables and values may be bound again, in what was made of the loop: by a loop of lanes that is still in it. */
static void forget(Lanes *l, const IrStmt *s)
{
    if (s->kind == IR_BIND || s->kind == IR_FOR) l->vars[s->var] = (struct LaneBound){0};
    for (uint32_t i = 0; i < s->n_results; i++) {
        l->values[s->results[i].value] = (struct LaneBound){0};
        if (s->kind == IR_FOR) l->values[s->results[i].carried] = (struct LaneBound){0};
    }
    for (uint32_t i = 0; i < s->body.n; i++) forget(l, s->body.items[i]);
    for (uint32_t i = 0; i < s->otherwise.n; i++) forget(l, s->otherwise.items[i]);
}

static void expand_loop(Lanes *l, const IrStmt *loop, IrBlock *out)
{
    IrGraph *g = l->g;
    check_loop(l->g, loop);
    l->arena = wbb_arena_new(l->g->cx);
    l->asked = l->stack = (IrRefs){0};
    vec_lanes_mark(l, loop);
    open_scope(l);
    LaneValue *v = bound(l, &l->vars[loop->var]);
    for (uint32_t i = 0; i < l->lanes; i++) v->at[i] = ir_index(g, (int64_t)i);
    all_but(l, &loop->body, l->sequential, out);
    if (loop->n_results) lane_after_lane(l, out);
    close_scope(l, 0);
    forget(l, loop);
    for (uint32_t i = 0; i < l->nodes.n; i++) {
        const IrRef r = l->nodes.items[i];
        l->value[r] = NULL;
        l->varies[r] = l->chained[r] = 0;
        l->seen[r] = l->lone_region[r] = l->place[r] = 0;
    }
    wbb_arena_free(l->arena);
}

static void expand_block(Lanes *l, IrBlock *b)
{
    IrBlock out = {0};
    for (uint32_t i = 0; i < b->n; i++) {
        IrStmt *s = b->items[i];
        if (s->kind == IR_FOR && s->lanes) {
            IrBlock straight = {0};
            expand_loop(l, s, &straight);
            expand_block(l, &straight); /* loops of lanes in it */
            for (uint32_t k = 0; k < straight.n; k++) WBB_PUSH(l->g->arena, &out, straight.items[k]);
            continue;
        }
        expand_block(l, &s->body);
        expand_block(l, &s->otherwise);
        WBB_PUSH(l->g->arena, &out, s);
    }
    *b = out;
}

/* --- values that are left no more ----------------------------------------------------------------------------------------------------- */
/* What stands for the leaf r: 0 if it stands for itself. */
static IrRef left_of(const Lanes *l, IrRef r)
{
    const IrNode *n = ir_at(l->g, r);
    return n->op == OP_VALUE && n->imm < l->left.n ? l->left.items[n->imm] : 0;
}

static bool is_final(const Lanes *l, IrRef r) { return r == 0 || l->lone[r] || ir_is_index(l->g, r) || ir_in_pool(ir_at(l->g, r)); }

static void settle(Lanes *l, IrRef r)
{
    RwCx *rw = l->rw;
    const IrNode n = *ir_at(l->g, r);
    const IrRef left = left_of(l, r);
    l->g->making_rule = l->g->rule[r];
    l->g->making_origin = l->g->origin[r];
    if (left) {
        l->lone[r] = l->lone[left] ? l->lone[left] : left;
        return;
    }
    IrRef x[3] = {0, 0, 0};
    bool same = true;
    for (uint32_t i = 0; i < 3 && n.a[i]; i++) {
        x[i] = l->lone[n.a[i]] ? l->lone[n.a[i]] : n.a[i];
        same = same && x[i] == n.a[i];
    }
    l->lone[r] = same ? r : rw_make(rw, (ScOp)n.op, n.type, n.flags, x[0], x[1], x[2], n.imm);
}

/* l->lone of all nodes that statements name, and of those below: operands first, without recursion. */
static IrRef settle_all(void *arg, IrRef root)
{
    Lanes *l = arg;
    const IrGraph *g = l->g;
    IrRefs *stack = &l->stack;
    stack->n = 0;
    WBB_PUSH(l->g->arena, stack, root);
    while (stack->n) {
        const IrRef r = stack->items[stack->n - 1], left = left_of(l, r);
        const uint32_t before = stack->n;
        vec_lanes_grow(l);
        if (left && !is_final(l, left)) WBB_PUSH(l->g->arena, stack, left);
        for (uint32_t i = 0; !is_final(l, r) && i < ir_arity(g, r); i++)
            if (!is_final(l, ir_operand(g, r, i))) WBB_PUSH(l->g->arena, stack, ir_operand(g, r, i));
        if (stack->n > before) continue;
        stack->n--;
        if (!is_final(l, r)) settle(l, r);
    }
    vec_lanes_grow(l);
    return l->lone[root] ? l->lone[root] : root;
}

VecAccesses vec_vectorize(RwCx *rw, IrKernel *k, uint32_t vector_bytes)
{
    Lanes l = {.rw = rw, .g = k->g, .k = k, .vector_bytes = vector_bytes};
    for (uint32_t i = 0; i < k->n_functions; i++) expand_block(&l, &k->functions[i]->body);
    expand_block(&l, &k->body);
    if (!l.some_left) return l.accesses;
    l.stack = (IrRefs){0};
    for (uint32_t r = 0; r < l.nodes_capacity; r++) l.lone[r] = 0;
    ir_map_statements(k, settle_all, &l);
    k->g->making_rule = k->g->making_origin = 0;
    return l.accesses;
}
