/* scope.c: blocks, and where a value may be used.
 *
 * Leaves blocks in which every use stands below what it uses. Each variable and each result of a statement opens a
 * scope; a node's scope is the deepest among those of its leaves. An `if` whose branches are cheap and have no
 * statements becomes a select; one with the condition of the statement just before it joins that.
 *
 *     if c {  let d = i - 3 in 0..8    yield load %p[d]  }      the load's scope is the one that d opens, up to the `}`
 */
#include "emit/inner.h"

/* Records that are searched for the one of the last statement: it is almost always among the latest, and each `if`
 * of a large body searches. */
enum { RECORDS = 16 };

void emit_switch(EmitValues *e, uint32_t scope)
{
    ir_switch_scope(&e->scopes, e->scope, scope);
    e->scope = scope;
}

uint32_t emit_enter(EmitValues *e, IrBlock *b)
{
    const uint32_t outer = e->scope;
    e->scope = ir_open_scope(&e->scopes, outer, NULL, b);
    if (e->scopes.scopes.items[e->scope].blocks > IR_MAX_BLOCKS)
        wbb_decline(e->cx, e->top ? e->top->i->loc : e->plan->fusion->body->root->loc, WHY_SIZE,
                    "conditions and loops nest more than %d deep", IR_MAX_BLOCKS);
    return outer;
}

IrBlock *emit_block(const EmitValues *e) { return e->scopes.scopes.items[e->scope].block; }

void emit_store(EmitValues *e, uint32_t buffer, IrRef index, IrRef value)
{
    IrStmt *s = ir_stmt(e->g, emit_block(e), IR_STORE);
    s->buffer = buffer, s->index = index, s->value = value;
}

static uint32_t *slot(EmitValues *e, uint32_t **array, uint32_t *capacity, uint32_t number)
{
    if (number >= *capacity) {
        const uint32_t more = WBB_MAX(64, 2 * number);
        *array = wbb_grow(e->arena, *array, *capacity * sizeof **array, more * sizeof **array);
        *capacity = more;
    }
    return &(*array)[number];
}

void emit_bound(EmitValues *e, IrRef leaf)
{
    const IrNode *n = ir_at(e->g, leaf);
    const uint32_t number = (uint32_t)n->imm;
    e->scope = ir_open_scope(&e->scopes, e->scope, NULL, emit_block(e));
    if (n->op == OP_VALUE) *slot(e, &e->value_scope, &e->values_capacity, number) = e->scope;
    else *slot(e, &e->var_scope, &e->vars_capacity, number) = e->scope;
}

/* Scope and cost of all nodes made since the last call. A load at a constant offset is cheap: all threads read it,
 * so it is in a cache. */
static void find_scopes(EmitValues *e)
{
    const IrGraph *g = e->g;
    if (e->known_capacity < g->n) {
        const uint32_t capacity = WBB_MAX(g->n, 2 * e->known_capacity);
        e->scope_of =
            wbb_grow(e->arena, e->scope_of, e->known_capacity * sizeof *e->scope_of, capacity * sizeof *e->scope_of);
        e->costly = wbb_grow(e->arena, e->costly, e->known_capacity, capacity);
        e->known_capacity = capacity;
    }
    for (; e->n_known < g->n; e->n_known++) {
        const IrNode *n = ir_at(g, e->n_known);
        uint32_t scope = 0;
        bool costly = (n->op == OP_LOAD && !ir_is_const(g, n->a[1])) || n->op == OP_CALL || sc_op_info[n->op].costly;
        if (n->op == OP_VAR) scope = n->imm < e->vars_capacity ? e->var_scope[n->imm] : 0;
        else if (n->op == OP_VALUE) scope = n->imm < e->values_capacity ? e->value_scope[n->imm] : 0;
        for (uint32_t i = 0, count = ir_arity(g, e->n_known); i < count; i++) {
            const IrRef x = ir_operand(g, e->n_known, i);
            scope = WBB_MAX(scope, e->scope_of[x]);
            costly = costly || e->costly[x];
        }
        e->scope_of[e->n_known] = scope;
        e->costly[e->n_known] = costly;
    }
}

bool emit_is_available(EmitValues *e, IrRef value)
{
    find_scopes(e);
    return e->scopes.scopes.items[e->scope_of[value]].open;
}

uint32_t emit_scope_of(EmitValues *e, IrRef value)
{
    find_scopes(e);
    return e->scope_of[value];
}

static bool is_costly(EmitValues *e, IrRef value)
{
    find_scopes(e);
    return e->costly[value];
}

/* variables --------------------------------------------------------------------------------------------------- */

/* The variable that a `let` bound last for a definition in an interval; value 0: none yet. */
static WbbEntry *let_of(EmitValues *e, IrRef definition, int64_t lo, int64_t hi)
{
    const int64_t key[3] = {definition, lo, hi};
    return wbb_map_put_bytes(&e->lets, key, sizeof key);
}

IrRef emit_let(EmitValues *e, const char *stem, IrRef index, int64_t lo, int64_t hi)
{
    if (lo == hi) return ir_index(e->g, lo);
    if (ir_within(e->g, index, lo, (WbbI128)hi + 1)) return index;
    return emit_variable(e, stem, index, lo, hi);
}

IrRef emit_variable(EmitValues *e, const char *stem, IrRef x, int64_t lo, int64_t hi)
{
    WbbEntry *known = let_of(e, x, lo, hi);
    if (known->value && emit_is_available(e, (IrRef)known->value)) return (IrRef)known->value;
    IrRef (*const bind)(IrGraph *, IrBlock *, const char *, IrRef, int64_t, int64_t) =
        ir_is_index(e->g, x) ? ir_let : ir_let_value;
    const IrRef var = bind(e->g, emit_block(e), emit_name(e, stem), x, lo, hi);
    emit_bound(e, var);
    known->value = var;
    return var;
}

IrRef emit_nearest(EmitValues *e, IrRef x, int64_t n)
{
    const IrType t = IR_TYPE(SC_INDEX, 0);
    const IrFact fact = ir_fact(e->g, x);
    if (fact.lo < 0) x = rw_make(e->rw, OP_MAX, t, 0, x, ir_index(e->g, 0), 0, 0);
    if (fact.hi >= n) x = rw_make(e->rw, OP_MIN, t, 0, x, ir_index(e->g, n - 1), 0, 0);
    return x;
}

IrRef emit_either(EmitValues *e, IrRef condition, IrRef x, IrRef y)
{
    if (ir_is_const(e->g, condition)) return ir_at(e->g, condition)->imm ? x : y;
    return ir_node(e->g, OP_SELECT, ir_at(e->g, x)->type, 0, condition, x, y, 0);
}

IrRef emit_unless_true(const EmitValues *e, IrRef condition)
{
    return ir_is_const(e->g, condition) && ir_at(e->g, condition)->imm ? 0 : condition;
}

IrRef emit_clamp(EmitValues *e, const char *stem, IrRef x, int64_t bound, IrRef *below)
{
    *below = emit_unless_true(e, rw_compare(e->rw, OP_LT, x, ir_index(e->g, bound)));
    if (*below) x = rw_make(e->rw, OP_MIN, IR_TYPE(SC_INDEX, 0), 0, x, ir_index(e->g, bound - 1), 0, 0);
    return emit_let(e, stem, x, 0, bound - 1);
}

IrRef emit_start(EmitValues *e, IrRef integer, int64_t lo, int64_t hi)
{
    IrRef value;
    const IrRef index = gr_start(e->rw, integer, lo, hi, &value);
    if (index) return index;
    return emit_variable(e, "s", value, lo, hi);
}

/* if ---------------------------------------------------------------------------------------------------------- */

/* Does the value depend on a result of s, without being one? Inside s it has no counterpart. */
static bool depends_on_result(EmitValues *e, const IrStmt *s, IrRef value)
{
    if (!s->n_results) return false;
    find_scopes(e);
    if (e->scope_of[value] < e->value_scope[s->results[0].value]) return false;
    const IrNode *n = ir_at(e->g, value);
    for (uint32_t k = 0; n->op == OP_VALUE && k < s->n_results; k++)
        if (s->results[k].value == n->imm) return false;
    return true;
}

/* The record of the block's last statement, if that is an `if` of this condition which what uses `values` may join;
 * else NULL. */
static EmitIfRecord *to_join(EmitValues *e, IrRef condition, uint32_t n, const IrRef *values)
{
    const IrBlock *b = emit_block(e);
    if (!b->n || b->items[b->n - 1]->kind != IR_IF || b->items[b->n - 1]->condition != condition) return NULL;
    if (e->top && e->top->env) return NULL; /* a parameter of a called body may be a result of that `if` */
    for (uint32_t k = 0; k < n; k++)
        if (depends_on_result(e, b->items[b->n - 1], values[k])) return NULL;
    for (uint32_t k = e->ifs.n; k-- > 0 && k + RECORDS > e->ifs.n;)
        if (e->ifs.items[k].s == b->items[b->n - 1]) return &e->ifs.items[k];
    return NULL;
}

EmitIf emit_if_using(EmitValues *e, IrRef condition, uint32_t n, const IrRef *values)
{
    EmitIf c = {.known = true, .outer = e->scope, .nodes = e->g->n};
    if (!condition) return c;
    if (ir_is_const(e->g, condition)) {
        c.known = ir_at(e->g, condition)->imm != 0;
        return c;
    }
    const EmitIfRecord *joined = to_join(e, condition, n, values);
    if (joined) {
        c.s = joined->s;
        c.record = (uint32_t)(joined - e->ifs.items);
        emit_switch(e, joined->then_end);
        return c;
    }
    if (e->top && emit_is_called(e, e->top->env) && ++e->n_branches > e->plan->called_branches)
        wbb_decline(e->cx, e->top->i->loc, WHY_SIZE,
                    "the code of loops and branches of the text would have more than %u branches itself",
                    e->plan->called_branches);
    c.s = ir_stmt(e->g, emit_block(e), IR_IF);
    c.s->condition = condition;
    c.record = e->ifs.n;
    const EmitIfRecord record = {.s = c.s, .before = e->scope};
    WBB_PUSH(e->arena, &e->ifs, record);
    emit_enter(e, &c.s->body);
    return c;
}

EmitIf emit_if(EmitValues *e, IrRef condition) { return emit_if_using(e, condition, 0, NULL); }

IrRef emit_in_branch(const EmitValues *e, const EmitIf *c, bool then, IrRef value)
{
    const IrNode *n = ir_at(e->g, value);
    for (uint32_t k = 0; c->s && n->op == OP_VALUE && k < c->s->n_results; k++)
        if (c->s->results[k].value == n->imm) return then ? c->s->results[k].yield : c->s->results[k].otherwise;
    return value;
}

void emit_else(EmitValues *e, EmitIf *c)
{
    if (!c->s) return;
    EmitIfRecord *r = &e->ifs.items[c->record];
    r->then_end = e->scope;
    if (r->else_end) {
        emit_switch(e, r->else_end);
        return;
    }
    emit_switch(e, r->before);
    emit_enter(e, &c->s->otherwise);
}

static IrRef select_of(EmitValues *e, IrRef condition, IrRef then, IrRef otherwise)
{
    return ir_node(e->g, OP_SELECT, ir_at(e->g, then)->type, 0, condition, then, otherwise, 0);
}

/* Both branches have nodes alone, few and cheap ones: a select does it. */
static bool is_cheap(EmitValues *e, const EmitIf *c, uint32_t n, const IrRef *then, const IrRef *otherwise)
{
    if (c->s->n_results || c->s->body.n || c->s->otherwise.n) return false;
    bool same = true, costly = false;
    for (uint32_t k = 0; k < n; k++) {
        same = same && then[k] == otherwise[k];
        costly = costly || is_costly(e, then[k]) || is_costly(e, otherwise[k]);
    }
    return same || (!costly && e->g->n - c->nodes <= e->plan->select_nodes);
}

void emit_end_if(EmitValues *e, EmitIf *c, uint32_t n, const IrRef *then, const IrRef *otherwise, IrRef *values)
{
    if (!c->s) {
        for (uint32_t k = 0; k < n; k++) values[k] = c->known ? then[k] : otherwise[k];
        return;
    }
    EmitIfRecord *r = &e->ifs.items[c->record];
    r->else_end = e->scope;
    const bool cheap = is_cheap(e, c, n, then, otherwise);
    emit_switch(e, c->outer);
    if (cheap) {
        IrBlock *b = emit_block(e);
        assert(b->items[b->n - 1] == c->s);
        b->n--;
        for (uint32_t k = 0; k < n; k++)
            values[k] = then[k] == otherwise[k] ? then[k] : select_of(e, c->s->condition, then[k], otherwise[k]);
        return;
    }
    for (uint32_t k = 0; k < n; k++) {
        values[k] = ir_result(e->g, c->s, emit_name(e, "c"), then[k], otherwise[k]);
        emit_bound(e, values[k]);
    }
}

void emit_close_if(EmitValues *e, EmitIf *c)
{
    emit_else(e, c);
    emit_end_if(e, c, 0, NULL, NULL, NULL);
}

/* for --------------------------------------------------------------------------------------------------------- */

static void carry(EmitValues *e, IrStmt *s, uint32_t n_acc, IrRef *acc)
{
    for (uint32_t k = 0; k < n_acc; k++) {
        ir_carry(e->g, s, emit_name(e, "a"), acc[k]);
        acc[k] = ir_value(e->g, s->results[k].carried);
        emit_bound(e, acc[k]);
    }
}

EmitLoop emit_for(EmitValues *e, const char *stem, int64_t n, uint32_t n_acc, IrRef *acc, IrRef *var)
{
    EmitLoop l = {.outer = e->scope};
    if (n == 1) {
        *var = ir_index(e->g, 0);
        return l;
    }
    l.s = ir_stmt(e->g, emit_block(e), IR_FOR);
    l.s->var = ir_var_new(e->g, emit_name(e, stem), IR_LOOP, 0, n - 1, 0);
    emit_enter(e, &l.s->body);
    *var = ir_var(e->g, l.s->var);
    emit_bound(e, *var);
    carry(e, l.s, n_acc, acc);
    return l;
}

IrRef emit_lanes(EmitValues *e, uint32_t lanes)
{
    IrStmt *s = ir_stmt(e->g, emit_block(e), IR_FOR);
    s->lanes = lanes;
    s->var = ir_var_new(e->g, emit_name(e, "v"), IR_LOOP, 0, (int64_t)lanes - 1, 0);
    emit_enter(e, &s->body);
    emit_bound(e, ir_var(e->g, s->var));
    return ir_var(e->g, s->var);
}

EmitLoop emit_repeat(EmitValues *e, uint32_t n_acc, IrRef *acc)
{
    EmitLoop l = {.s = ir_stmt(e->g, emit_block(e), IR_REPEAT), .outer = e->scope};
    emit_enter(e, &l.s->body);
    carry(e, l.s, n_acc, acc);
    return l;
}

void emit_end_for(EmitValues *e, const EmitLoop *l, uint32_t n_acc, IrRef *acc)
{
    if (!l->s) return;
    emit_switch(e, l->outer);
    for (uint32_t k = 0; k < n_acc; k++) {
        l->s->results[k].yield = acc[k];
        acc[k] = ir_value(e->g, l->s->results[k].value);
        emit_bound(e, acc[k]);
    }
}
