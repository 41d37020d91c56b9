/* vectorize.c: `for v in 0..n lanes n` becomes straight code on lanes 0..n-1.
 *
 * Needs a kernel after `lower`; leaves no loop of lanes. What does not depend on v stays one value (lanes_mark.c);
 * everything else is made in all lanes at once where they run together (lanes_value.c):
 * - a `let` becomes one variable where the lanes' indices are the same or differ by constants; else one variable a
 *   lane;
 * - an `if` whose condition is the same in all lanes stays one `if`; else it becomes one a lane, with variables and
 *   values of its own, after what all lanes may load at once (lanes_ahead.c);
 * - a `for` stays one `for`; what it carries is one value, pairs, or scalars;
 * - a `do` is done once a lane, reads of neighbouring elements at once, and atomic operations on them where the
 *   target has an instruction; a `repeat` stays one where all lanes end with the same iteration, else it becomes one
 *   a lane;
 * - what is packed is computed in pairs (pairs.c), in loops of lanes or not;
 * - what the loop of lanes itself carries goes from lane to lane in order: statements that depend on it are done lane
 *   after lane, after all others. Functions called vector_.. write statements for all lanes, those called scalar_.. for
 *   one lane.
 *
 *     store %out[8*t + v], max.bf16(load %in[8*t + v], 0.0)      lanes 8, PACKED has max.bf16x2
 * =>  x = load.bf16x8 %in[8*t];  store %out[8*t], pack(pack(max.bf16x2(part<0>(x), 0.0), ..), pack(..))
 */
#include "ir/uses.h"
#include "vector/lanes.h"

static void vector_block(Lanes *l, const IrBlock *in, IrBlock *out);
static void scalar_loop(Lanes *l, const IrStmt *s, IrBlock *out, uint32_t lane);
static void scalar_block(Lanes *l, const IrBlock *in, IrBlock *out, uint32_t lane);

/* --- what statements bind ----------------------------------------------------------------------------------------- */
/* A variable like `var` for one lane, without a definition. */
static uint32_t new_lane_variable(Lanes *l, uint32_t var, uint32_t lane)
{
    IrGraph *g = l->g;
    const IrVar old = g->vars[var];
    const uint32_t made = ir_var_new(g, vec_lane_name(l, old.name, lane), old.kind, old.lo, old.hi, 0);
    vec_lane_value(l, vec_variable(l, var))->at[lane] = ir_var(g, made);
    return made;
}

static void open_scope(Lanes *l)
{
    if (l->open_scopes.n == 0) WBB_PUSH(l->g->arena, &l->open_scopes, false); /* 0 is no scope */
    l->scope = l->open_scopes.n;
    WBB_PUSH(l->g->arena, &l->open_scopes, true);
}

static void close_scope(Lanes *l, uint32_t outer)
{
    l->open_scopes.items[l->scope] = false;
    l->scope = outer;
}

static bool are_equal(const Lanes *l, const IrRef *at)
{
    for (uint32_t i = 1; i < l->lanes; i++)
        if (at[i] != at[0]) return false;
    return true;
}

/* r as a scalar in every lane; true if all are equal. */
static bool extract_all(Lanes *l, IrRef r, IrRef *at)
{
    vec_request(l, r);
    vec_make_requested(l);
    for (uint32_t i = 0; i < l->lanes; i++) at[i] = vec_lane(l, r, i);
    return are_equal(l, at);
}

/* --- statements of all lanes -------------------------------------------------------------------------------------- */
static void vector_store(Lanes *l, const IrStmt *s, IrBlock *out)
{
    IrRef index[MAX_LANES];
    for (uint32_t i = 0; i < l->lanes; i++) index[i] = vec_lane(l, s->index, i);
    const uint32_t has = IR_LANES(ir_at(l->g, s->value)->type);
    for (uint32_t i = 0; i < l->lanes;) {
        const char *why = "the stored value has several lanes already";
        const uint32_t w = has > 1 ? 1 : vec_access_width(l, s->buffer, index, i, &why);
        IrStmt *store = ir_stmt(l->g, out, IR_STORE);
        store->buffer = s->buffer;
        store->index = index[i];
        store->value = vec_lanes(l, s->value, i, w);
        vec_record_access(l, s->buffer, true, has * w, why);
        i += w;
    }
}

/* A copy of a statement without its blocks and results. */
static IrStmt *copy(Lanes *l, const IrStmt *s, IrBlock *out)
{
    IrStmt *made = ir_stmt(l->g, out, s->kind);
    *made = *s;
    made->body = made->otherwise = (IrBlock){0};
    made->results = NULL;
    made->n_results = 0;
    return made;
}

/* Where all lanes' indices differ from the first lane's by constants: one variable for the first lane; the others are
 * sums. The variable's interval is such that every lane's index has the interval that was stated. False where that is
 * not possible. */
static bool let_with_offsets(Lanes *l, const IrStmt *s, const IrRef *at, IrBlock *out)
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
    LaneValue *v = vec_lane_value(l, vec_variable(l, s->var));
    for (uint32_t i = 0; i < l->lanes; i++) v->at[i] = rw_add(rw, first, ir_index(l->g, step[i]));
    return true;
}

static void vector_let(Lanes *l, const IrStmt *s, IrBlock *out)
{
    IrGraph *g = l->g;
    IrRef at[MAX_LANES];
    if (!vec_variable(l, s->var)->varies) {
        copy(l, s, out);
        return;
    }
    const bool same = extract_all(l, s->value ? s->value : g->vars[s->var].definition, at);
    LaneValue *v = vec_lane_value(l, vec_variable(l, s->var));
    bool constants = !s->value;
    for (uint32_t i = 0; i < l->lanes && constants; i++) constants = ir_is_const(g, at[i]);
    if (constants) {
        for (uint32_t i = 0; i < l->lanes; i++) v->at[i] = at[i];
    } else if (same) {
        const IrVar var = g->vars[s->var]; /* a new variable, as a variable is younger than its definition */
        const IrRef one = s->value ? ir_let_value(g, out, var.name, at[0], var.lo, var.hi)
                                   : ir_let(g, out, var.name, at[0], var.lo, var.hi);
        for (uint32_t i = 0; i < l->lanes; i++) v->at[i] = one;
    } else if (s->value || !let_with_offsets(l, s, at, out)) {
        for (uint32_t i = 0; i < l->lanes; i++) {
            IrStmt *made = copy(l, s, out);
            made->var = new_lane_variable(l, s->var, i);
            if (s->value) made->value = at[i];
            else g->vars[made->var].definition = at[i];
        }
    }
}

/* Chooses the form of a value that differs from lane to lane; one: it turned out to be the same in all. The lanes of
 * one part. */
static uint32_t begin_binding(Lanes *l, uint32_t number, bool one)
{
    LaneValue *v = vec_lane_value(l, vec_value(l, number));
    v->form = one ? SCALARS : (uint8_t)vec_binding_form(l, l->g->values[number].type);
    return one ? l->lanes : v->form == PAIRS ? 2 : 1;
}

static void set_part(Lanes *l, uint32_t number, uint32_t lane, uint32_t step, IrRef part)
{
    LaneValue *v = vec_value(l, number)->value;
    for (uint32_t i = lane; i < lane + step; i++) v->at[i] = part;
}

/* One result of an `if` that all lanes enter together, after both branches are written. */
static void vector_if_result(Lanes *l, const IrResult *r, IrStmt *made)
{
    IrGraph *g = l->g;
    if (!vec_value(l, r->value)->varies) {
        *ir_result_new(g, made) = *r;
        return;
    }
    IrRef yes[MAX_LANES], no[MAX_LANES];
    for (uint32_t i = 0; i < l->lanes; i++) yes[i] = vec_lane(l, r->yield, i), no[i] = vec_lane(l, r->otherwise, i);
    const bool one = are_equal(l, yes) && are_equal(l, no);
    const uint32_t step = begin_binding(l, r->value, one);
    for (uint32_t i = 0; i < l->lanes; i += step) {
        const char *name = vec_lane_name(l, g->values[r->value].name, i);
        const IrRef part =
            one ? ir_result(g, made, name, yes[0], no[0])
                : ir_result(g, made, name, vec_lanes(l, r->yield, i, step), vec_lanes(l, r->otherwise, i, step));
        set_part(l, r->value, i, step, part);
    }
}

/* A branch or a body that all lanes enter together; the nodes that it yields are made at its end. */
static void vector_branch(Lanes *l, const IrStmt *s, const IrBlock *in, IrBlock *out, bool otherwise)
{
    const uint32_t outer = l->scope;
    open_scope(l);
    vector_block(l, in, out);
    for (uint32_t i = 0; i < s->n_results; i++)
        vec_request(l, otherwise ? s->results[i].otherwise : s->results[i].yield);
    vec_make_requested(l);
    close_scope(l, outer);
}

/* The branch that a condition which is known in this lane takes, in the place of the `if`. */
static void known_if(Lanes *l, const IrStmt *s, bool holds, IrBlock *out, uint32_t lane)
{
    scalar_block(l, holds ? &s->body : &s->otherwise, out, lane);
    for (uint32_t i = 0; i < s->n_results; i++) {
        const IrResult *r = &s->results[i];
        vec_lane_value(l, vec_value(l, r->value))->at[lane] = vec_scalar(l, holds ? r->yield : r->otherwise, lane);
    }
}

static void scalar_if(Lanes *l, const IrStmt *s, IrRef condition, IrBlock *out, uint32_t lane)
{
    if (ir_is_const(l->g, condition)) {
        known_if(l, s, ir_at(l->g, condition)->imm != 0, out, lane);
        return;
    }
    IrStmt *made = copy(l, s, out);
    made->condition = condition;
    scalar_block(l, &s->body, &made->body, lane);
    scalar_block(l, &s->otherwise, &made->otherwise, lane);
    for (uint32_t i = 0; i < s->n_results; i++) {
        const IrResult r = s->results[i];
        const IrRef yes = vec_scalar(l, r.yield, lane), no = vec_scalar(l, r.otherwise, lane);
        vec_lane_value(l, vec_value(l, r.value))->at[lane] =
            ir_result(l->g, made, vec_lane_name(l, l->g->values[r.value].name, lane), yes, no);
    }
}

static void vector_if(Lanes *l, const IrStmt *s, IrBlock *out)
{
    IrRef condition[MAX_LANES];
    if (extract_all(l, s->condition, condition)) {
        IrStmt *made = copy(l, s, out);
        made->condition = condition[0];
        vector_branch(l, s, &s->body, &made->body, false);
        vector_branch(l, s, &s->otherwise, &made->otherwise, true);
        for (uint32_t i = 0; i < s->n_results; i++) vector_if_result(l, &s->results[i], made);
        return;
    }
    vec_load_ahead(l, s);
    for (uint32_t lane = 0; lane < l->lanes; lane++) {
        l->scalar_scope++;
        scalar_if(l, s, condition[lane], out, lane);
    }
}

/* The results of a `for` that all lanes run together: result i becomes those from first[i] on. */
static void vector_carry(Lanes *l, const IrStmt *s, IrStmt *made, uint32_t *first)
{
    IrGraph *g = l->g;
    for (uint32_t i = 0; i < s->n_results; i++) vec_request(l, s->results[i].init);
    vec_make_requested(l);
    for (uint32_t i = 0; i < s->n_results; i++) {
        const IrResult r = s->results[i];
        first[i] = made->n_results;
        if (!vec_value(l, r.value)->varies) {
            *ir_result_new(g, made) = r;
            continue;
        }
        const uint32_t step = begin_binding(l, r.carried, false);
        begin_binding(l, r.value, false);
        for (uint32_t lane = 0; lane < l->lanes; lane += step) {
            const uint32_t k =
                ir_carry(g, made, vec_lane_name(l, g->values[r.carried].name, lane), vec_lanes(l, r.init, lane, step));
            g->values[made->results[k].value].name = vec_lane_name(l, g->values[r.value].name, lane);
            set_part(l, r.carried, lane, step, ir_value(g, made->results[k].carried));
            set_part(l, r.value, lane, step, ir_value(g, made->results[k].value));
        }
    }
}

/* A `for`, or a `repeat` with the same condition in all lanes. */
static void vector_loop(Lanes *l, const IrStmt *s, IrBlock *out)
{
    IrStmt *made = copy(l, s, out);
    /* marked below a condition that turned out to be the same in all lanes */
    if (s->kind == IR_FOR && vec_variable(l, s->var)->varies)
        for (uint32_t i = 0; i < l->lanes; i++)
            vec_lane_value(l, vec_variable(l, s->var))->at[i] = ir_var(l->g, s->var);
    uint32_t *first = WBB_NEW_N(l->arena, uint32_t, s->n_results + 1);
    vector_carry(l, s, made, first);
    vector_branch(l, s, &s->body, &made->body, false);
    for (uint32_t i = 0; i < s->n_results; i++) {
        if (!vec_value(l, s->results[i].value)->varies) continue;
        const uint32_t n = (i + 1 < s->n_results ? first[i + 1] : made->n_results) - first[i], step = l->lanes / n;
        for (uint32_t k = 0; k < n; k++)
            made->results[first[i] + k].yield = vec_lanes(l, s->results[i].yield, k * step, step);
    }
}

/* Stores that follow each other are written together, after all nodes that they need. Returns the first statement after
 * them. */
static uint32_t vector_stores(Lanes *l, const IrBlock *in, uint32_t from, const bool *without, IrBlock *out)
{
    uint32_t end = from;
    for (; end < in->n && in->items[end]->kind == IR_STORE; end++) {
        if (without && without[end]) continue;
        vec_request(l, in->items[end]->index);
        vec_request(l, in->items[end]->value);
    }
    vec_make_requested(l);
    for (uint32_t i = from; i < end; i++)
        if (!without || !without[i]) vector_store(l, in->items[i], out);
    return end;
}

/* All statements of a block, without those marked in `without`, which may be NULL. */
static void vector_block_without(Lanes *l, const IrBlock *in, const bool *without, IrBlock *out)
{
    for (uint32_t i = 0; i < in->n;) {
        const IrStmt *s = in->items[i];
        if (s->kind == IR_STORE) {
            i = vector_stores(l, in, i, without, out);
            continue;
        }
        i++;
        if (without && without[i - 1]) continue;
        if (s->kind == IR_BIND) vector_let(l, s, out);
        if (s->kind == IR_IF) vector_if(l, s, out);
        const bool together = s->kind == IR_REPEAT && !vec_node(l, s->condition)->varies && !vec_has_effects(&s->body);
        if (s->kind == IR_FOR || together) vector_loop(l, s, out);
        if (s->kind == IR_DO) vec_do(l, s, out);
        for (uint32_t lane = 0; s->kind == IR_REPEAT && !together && lane < l->lanes; lane++) {
            l->scalar_scope++;
            scalar_loop(l, s, out, lane);
        }
    }
}

static void vector_block(Lanes *l, const IrBlock *in, IrBlock *out) { vector_block_without(l, in, NULL, out); }

/* --- statements of one lane --------------------------------------------------------------------------------------- */
static void scalar_loop(Lanes *l, const IrStmt *s, IrBlock *out, uint32_t lane)
{
    IrGraph *g = l->g;
    IrStmt *made = copy(l, s, out);
    if (s->kind == IR_FOR) made->var = new_lane_variable(l, s->var, lane);
    for (uint32_t i = 0; i < s->n_results; i++) {
        const IrResult r = s->results[i];
        const uint32_t k =
            ir_carry(g, made, vec_lane_name(l, g->values[r.carried].name, lane), vec_scalar(l, r.init, lane));
        g->values[made->results[k].value].name = vec_lane_name(l, g->values[r.value].name, lane);
        vec_lane_value(l, vec_value(l, r.carried))->at[lane] = ir_value(g, made->results[k].carried);
        vec_lane_value(l, vec_value(l, r.value))->at[lane] = ir_value(g, made->results[k].value);
    }
    scalar_block(l, &s->body, &made->body, lane);
    for (uint32_t i = 0; i < s->n_results; i++) made->results[i].yield = vec_scalar(l, s->results[i].yield, lane);
    if (s->condition) made->condition = vec_scalar(l, s->condition, lane);
}

static void scalar_do(Lanes *l, const IrStmt *s, IrBlock *out, uint32_t lane)
{
    const IrType type = ir_at(l->g, s->value)->type;
    const char *name = s->n_results ? vec_lane_name(l, l->g->values[s->results[0].value].name, lane) : NULL;
    const IrRef index = s->index ? vec_scalar(l, s->index, lane) : 0;
    const IrRef made = ir_do_at(l->g, out, name, vec_scalar(l, s->value, lane), name ? type : 0, s->buffer, index);
    out->items[out->n - 1]->from = s->from;
    if (s->from_index) out->items[out->n - 1]->from_index = vec_scalar(l, s->from_index, lane);
    if (name) vec_lane_value(l, vec_value(l, s->results[0].value))->at[lane] = made;
}

static void scalar_statement(Lanes *l, const IrStmt *s, IrBlock *out, uint32_t lane)
{
    IrGraph *g = l->g;
    IrStmt *made;
    switch (s->kind) {
    case IR_STORE:
        made = copy(l, s, out);
        made->index = vec_scalar(l, s->index, lane);
        made->value = vec_scalar(l, s->value, lane);
        vec_record_access(l, s->buffer, true, 1, "each lane decides by itself whether it writes");
        break;
    case IR_BIND: {
        const IrRef is = vec_scalar(l, s->value ? s->value : g->vars[s->var].definition, lane);
        if (!s->value && ir_is_const(g, is)) { /* no name: it becomes part of the sums that it is a term of */
            vec_lane_value(l, vec_variable(l, s->var))->at[lane] = is;
            break;
        }
        made = copy(l, s, out);
        made->var = new_lane_variable(l, s->var, lane);
        if (s->value) made->value = is;
        else g->vars[made->var].definition = is;
        break;
    }
    case IR_IF: scalar_if(l, s, vec_scalar(l, s->condition, lane), out, lane); break;
    case IR_FOR:
    case IR_REPEAT: scalar_loop(l, s, out, lane); break;
    case IR_DO: scalar_do(l, s, out, lane); break;
    }
}

static void scalar_block(Lanes *l, const IrBlock *in, IrBlock *out, uint32_t lane)
{
    for (uint32_t i = 0; i < in->n; i++) scalar_statement(l, in->items[i], out, lane);
}

/* --- from lane to lane -------------------------------------------------------------------------------------------- */
/* Requests the nodes below root that do not depend on the chain, which all lanes compute at once. */
static void request_beside_chain(Lanes *l, IrRefs *stack, IrRef root)
{
    const IrGraph *g = l->g;
    WBB_PUSH(l->arena, stack, root);
    while (stack->n) {
        const IrRef r = stack->items[--stack->n];
        LaneNode *n = vec_node(l, r);
        if (!n->chained) {
            vec_request(l, r);
            continue;
        }
        if (n->visited || ir_at(g, r)->op == OP_VALUE || ir_at(g, r)->op == OP_VAR) continue;
        n->visited = true;
        for (uint32_t i = 0; i < ir_arity(g, r); i++) WBB_PUSH(l->arena, stack, ir_operand(g, r, i));
    }
}

static void request_for_chain(Lanes *l)
{
    const IrBlock *b = &l->loop->body;
    IrRefs stack = {0};
    for (uint32_t i = 0; i < b->n; i++) {
        const IrStmt *s = b->items[i];
        if (!l->sequential[i]) continue;
        for (IrUses u = ir_uses(l->g, s); ir_next_use(&u);)
            if (u.where == IR_OUTSIDE) request_beside_chain(l, &stack, u.ref);
    }
    for (uint32_t i = 0; i < l->loop->n_results; i++) request_beside_chain(l, &stack, l->loop->results[i].yield);
    vec_make_requested(l);
}

static void scalar_chain(Lanes *l, IrBlock *out)
{
    const IrStmt *loop = l->loop;
    request_for_chain(l);
    for (uint32_t i = 0; i < loop->n_results; i++)
        vec_lane_value(l, vec_value(l, loop->results[i].carried))->at[0] = loop->results[i].init;
    for (uint32_t lane = 0; lane < l->lanes; lane++) {
        l->scalar_scope++;
        for (uint32_t i = 0; i < loop->body.n; i++)
            if (l->sequential[i]) scalar_statement(l, loop->body.items[i], out, lane);
        for (uint32_t i = 0; i < loop->n_results; i++) {
            const IrRef next = vec_scalar(l, loop->results[i].yield, lane);
            if (lane + 1 < l->lanes) vec_lane_value(l, vec_value(l, loop->results[i].carried))->at[lane + 1] = next;
            else vec_replace_value(l, loop->results[i].value, next);
        }
    }
}

/* --- loops and blocks --------------------------------------------------------------------------------------------- */
static void check_loop(const IrGraph *g, const IrStmt *loop)
{
    const char *name = g->vars[loop->var].name;
    if (loop->lanes > MAX_LANES || (loop->lanes > 1 && loop->lanes % 2 != 0))
        wbb_fail(g->cx, (WbbLoc){0}, "loop over %s: %u lanes; an even number up to %d is vectorised", name, loop->lanes,
                 MAX_LANES);
}

/* A loop of lanes that is still in the code made of this one binds the same variables and values again. */
static void forget(Lanes *l, const IrStmt *s)
{
    for (IrDefs d = ir_defs(s); ir_next_def(&d);)
        *(d.is_variable ? vec_variable(l, d.number) : vec_value(l, d.number)) = (LaneBinding){0};
    for (uint32_t i = 0; i < s->body.n; i++) forget(l, s->body.items[i]);
    for (uint32_t i = 0; i < s->otherwise.n; i++) forget(l, s->otherwise.items[i]);
}

static void expand_loop(Lanes *l, const IrStmt *loop, IrBlock *out)
{
    IrGraph *g = l->g;
    check_loop(l->g, loop);
    l->arena = wbb_arena_new(l->g->cx);
    l->requested = l->stack = (IrRefs){0};
    vec_mark_loop(l, loop);
    open_scope(l);
    LaneValue *v = vec_lane_value(l, vec_variable(l, loop->var));
    for (uint32_t i = 0; i < l->lanes; i++) v->at[i] = ir_index(g, (int64_t)i);
    vector_block_without(l, &loop->body, l->sequential, out);
    if (loop->n_results) scalar_chain(l, out);
    close_scope(l, 0);
    forget(l, loop);
    for (uint32_t i = 0; i < l->nodes.n; i++) *vec_node(l, l->nodes.items[i]) = (LaneNode){0};
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

/* --- results of loops that are gone ------------------------------------------------------------------------------- */
/* The node that stands for the leaf r; 0: r stands for itself. */
static IrRef replacement_of(const Lanes *l, IrRef r)
{
    const IrNode *n = ir_at(l->g, r);
    return n->op == OP_VALUE && n->imm < l->replaced_values.n ? l->replaced_values.items[n->imm] : 0;
}

/* Is it known what r becomes? Indices, sums and calls contain no values and stay. */
static bool is_replaced(Lanes *l, IrRef r)
{
    return r == 0 || vec_node(l, r)->replacement || ir_is_index(l->g, r) || ir_in_pool(ir_at(l->g, r));
}

static IrRef replaced(Lanes *l, IrRef r)
{
    const IrRef made = vec_node(l, r)->replacement;
    return made ? made : r;
}

static void replace_node(Lanes *l, IrRef r)
{
    const IrNode n = *ir_at(l->g, r);
    const IrRef by = replacement_of(l, r);
    l->g->making_rule = l->g->rule[r];
    l->g->making_origin = l->g->origin[r];
    if (by) {
        vec_node(l, r)->replacement = replaced(l, by);
        return;
    }
    IrRef x[3] = {0, 0, 0};
    bool same = true;
    for (uint32_t i = 0; i < 3 && n.a[i]; i++) {
        x[i] = replaced(l, n.a[i]);
        same = same && x[i] == n.a[i];
    }
    const IrRef made = same ? r : rw_make(l->rw, (ScOp)n.op, n.type, n.flags, x[0], x[1], x[2], n.imm);
    vec_node(l, r)->replacement = made;
}

/* root without values that no statement results in: operands first, without recursion. */
static IrRef replace_all(void *arg, IrRef root)
{
    Lanes *l = arg;
    const IrGraph *g = l->g;
    IrRefs *stack = &l->stack;
    stack->n = 0;
    WBB_PUSH(l->g->arena, stack, root);
    while (stack->n) {
        const IrRef r = stack->items[stack->n - 1], by = replacement_of(l, r);
        const uint32_t before = stack->n;
        if (by && !is_replaced(l, by)) WBB_PUSH(l->g->arena, stack, by);
        for (uint32_t i = 0; !is_replaced(l, r) && i < ir_arity(g, r); i++)
            if (!is_replaced(l, ir_operand(g, r, i))) WBB_PUSH(l->g->arena, stack, ir_operand(g, r, i));
        if (stack->n > before) continue;
        stack->n--;
        if (!is_replaced(l, r)) replace_node(l, r);
    }
    return replaced(l, root);
}

VecAccesses vec_vectorize(RwCx *rw, IrKernel *k, uint32_t vector_bytes)
{
    Lanes l = {.rw = rw, .g = k->g, .k = k, .vector_bytes = vector_bytes};
    for (uint32_t i = 0; i < k->n_functions; i++) expand_block(&l, &k->functions[i]->body);
    expand_block(&l, &k->body);
    vec_join(&l, &k->body);
    vec_bytes(&l, &k->body);
    if (l.replaced_values.n) {
        l.stack = (IrRefs){0};
        ir_map_statements(k, replace_all, &l);
        k->g->making_rule = k->g->making_origin = 0;
    }
    vec_pairs(&l, k);
    return l.accesses;
}
