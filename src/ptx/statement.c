/* statement.c: writes statements: branches, loops, effects.
 *
 * Needs scopes numbered in the order in which ptx_scope enters them (ir/placement.c); leaves lines. A result of an `if`
 * is a register that both branches move to. A value that a `for` carries is a register that its body's end moves to;
 * after the loop it is the result. ptxas joins moves.
 *
 *     s = for k in 0..8 carry acc = 0.0:f32 { yield .. }
 *     ->  mov.b32 %r1, 0; mov.b32 %r2, 0; $L__BB0_1: ..; mov.b32 %r2, %r7; add.s32 %r1, ..; @%p1 bra $L__BB0_1;
 */
#include "ptx/inner.h"

static void control(PtxBuild *b, IrWhat what) { b->maker = (IrMaker){.what = (uint8_t)what}; }

void ptx_append(PtxBuild *b, uint32_t to, uint32_t from)
{
    for (uint32_t i = 0; i < b->lines[from].n; i++) WBB_PUSH(b->arena, &b->lines[to], b->lines[from].items[i]);
}

static void emit_block(PtxBuild *b, const IrBlock *block);

/* Loads that yields need, as far as what says where they are is there. */
static void load_ahead(PtxBuild *b, const IrStmt *s)
{
    uint8_t *mark = WBB_NEW_N(b->arena, uint8_t, b->g->n), *of_index = WBB_NEW_N(b->arena, uint8_t, b->g->n);
    IrRefs nodes = {0};
    for (uint32_t i = 0; i < s->n_results; i++) WBB_PUSH(b->arena, &nodes, s->results[i].yield);
    ir_gather(b->g, b->arena, &nodes, mark);
    for (uint32_t k = 0; k < nodes.n; k++) {
        const IrNode *n = ir_at(b->g, nodes.items[k]);
        if (n->op != OP_LOAD) continue;
        const IrRefs vars = ir_variables(b->g, b->arena, n->a[1], of_index);
        bool known = true;
        for (uint32_t i = 0; i < vars.n; i++) {
            const IrVar *v = &b->g->vars[ir_at(b->g, vars.items[i])->imm];
            known = known && (v->kind != IR_LET || v->definition || b->vars[ir_at(b->g, vars.items[i])->imm].kind);
        }
        if (known) ir_demand(&b->demand, nodes.items[k], false);
    }
}

static uint32_t scope_of(PtxBuild *b, const IrBlock *statements, const IrStmt *ahead, const IrRef *yields, uint32_t n,
                         PtxValue **values)
{
    const uint32_t scope = b->next_scope++, at = b->at;
    b->open[scope] = true;
    b->at = scope;
    if (ahead) load_ahead(b, ahead);
    emit_block(b, statements);
    for (uint32_t i = 0; i < n; i++) ir_demand(&b->demand, yields[i], false);
    for (uint32_t i = 0; i < n; i++) values[i] = b->values[yields[i]];
    b->at = at;
    return scope; /* the caller closes it */
}

uint32_t ptx_scope(PtxBuild *b, const IrBlock *statements, const IrRef *yields, uint32_t n, PtxValue **values)
{
    return scope_of(b, statements, NULL, yields, n, values);
}

/* --- moves between values ----------------------------------------------------------------------------------------- */
typedef struct {
    PtxReg to, from;
} Move;
typedef struct { Move *items; uint32_t n, capacity; } Moves;

static void add_moves(PtxBuild *b, Moves *m, PtxValue *to, PtxValue *from)
{
    const uint32_t n = ptx_n_words(to->type);
    const PtxReg *x = ptx_words(b, from);
    for (uint32_t i = 0; i < n; i++) {
        const Move move = {to->words[i], x[i]};
        WBB_PUSH(b->arena, m, move);
    }
}

static bool same(PtxReg x, PtxReg y) { return x.kind == y.kind && x.n == y.n && x.kind != PTX_NUMBER; }

/* All at once: what an earlier move overwrites is kept first. */
static void do_moves(PtxBuild *b, Moves *m)
{
    for (uint32_t i = 0; i < m->n; i++)
        for (uint32_t k = 0; k < i; k++) {
            if (!same(m->items[k].to, m->items[i].from) || same(m->items[k].to, m->items[k].from)) continue;
            const PtxReg kept = ptx_new(b, (PtxKind)m->items[i].from.kind);
            ptx_move(b, kept, m->items[i].from);
            m->items[i].from = kept;
        }
    for (uint32_t i = 0; i < m->n; i++) ptx_move(b, m->items[i].to, m->items[i].from);
}

/* A value of the type with registers of its own. */
static PtxValue *fresh(PtxBuild *b, IrType type)
{
    PtxValue *v = ptx_value(b, type);
    const uint32_t n = ptx_n_words(type);
    v->words = WBB_NEW_N(b->arena, PtxReg, n);
    for (uint32_t i = 0; i < n; i++) v->words[i] = ptx_new(b, ptx_word_kind(type));
    return v;
}

/* The same registers as a value of the scope b->at, of which nothing is made yet. */
static PtxValue *again(PtxBuild *b, const PtxValue *x)
{
    PtxValue *v = ptx_value(b, x->type);
    v->words = x->words;
    return v;
}

/* --- branches ----------------------------------------------------------------------------------------------------- */
/* Where an `if` goes on, and the registers of its results there. */
typedef struct {
    PtxValue **results;
    uint32_t join;
} Join;

typedef struct {
    uint32_t scope;
    Moves moves; /* to the results, behind the lines of the scope; none where the last statement does them */
} Branch;

static void emit_if(PtxBuild *b, const IrStmt *s, const Join *to);
static void emit_statements(PtxBuild *b, const IrBlock *block, uint32_t n);

/* Which result of the last statement is the node, + 1; 0: none. */
static uint32_t result_of(const PtxBuild *b, const IrStmt *last, IrRef r)
{
    const IrNode *n = ir_at(b->g, r);
    for (uint32_t i = 0; n->op == OP_VALUE && i < last->n_results; i++)
        if (last->results[i].value == n->imm) return i + 1;
    return 0;
}

/* The `if` that ends a branch, where what the branch yields are different results of it, or known before it: its
 * branches go on where the outer `if` does. NULL: there is none. */
static const IrStmt *last_if(const PtxBuild *b, const IrBlock *block, const IrRef *yields, uint32_t n, uint32_t scope)
{
    const IrStmt *last = block->n ? block->items[block->n - 1] : NULL;
    if (!last || last->kind != IR_IF) return NULL;
    uint64_t used = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t k = result_of(b, last, yields[i]);
        if (!k && b->places.bound_in[yields[i]] == scope) return NULL;
        if (k > 64 || (k && used >> (k - 1) & 1)) return NULL;
        used |= k ? UINT64_C(1) << (k - 1) : 0;
    }
    return last;
}

static void end_with(PtxBuild *b, const IrStmt *last, const IrRef *yields, uint32_t n, const Join *to)
{
    Join inner = {WBB_NEW_N(b->arena, PtxValue *, last->n_results + 1), to->join};
    Moves before = {0};
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t k = result_of(b, last, yields[i]);
        if (k) inner.results[k - 1] = to->results[i];
        else {
            ir_demand(&b->demand, yields[i], false);
            add_moves(b, &before, to->results[i], b->values[yields[i]]);
        }
    }
    control(b, IR_BY_IF);
    do_moves(b, &before);
    emit_if(b, last, &inner);
}

static Branch branch(PtxBuild *b, const IrStmt *s, bool otherwise, const Join *to)
{
    const IrBlock *block = otherwise ? &s->otherwise : &s->body;
    const uint32_t n = s->n_results, at = b->at;
    IrRef *yields = WBB_NEW_N(b->arena, IrRef, n + 1);
    Branch out = {b->next_scope++, {0}};
    for (uint32_t i = 0; i < n; i++) yields[i] = otherwise ? s->results[i].otherwise : s->results[i].yield;
    b->open[out.scope] = true;
    b->at = out.scope;
    const IrStmt *last = last_if(b, block, yields, n, out.scope);
    emit_statements(b, block, last ? block->n - 1 : block->n);
    if (last) end_with(b, last, yields, n, to);
    else {
        for (uint32_t i = 0; i < n; i++) ir_demand(&b->demand, yields[i], false);
        for (uint32_t i = 0; i < n; i++) add_moves(b, &out.moves, to->results[i], b->values[yields[i]]);
    }
    b->at = at;
    b->open[out.scope] = false;
    return out;
}

/* Both ways only choose: registers by the condition. */
static void choose(PtxBuild *b, PtxReg p, const Moves *yes, const Moves *no)
{
    for (uint32_t i = 0; i < yes->n; i++) {
        const PtxReg to = yes->items[i].to, x = yes->items[i].from, y = no->items[i].from;
        if (to.kind == PTX_PRED) {
            ptx_move(b, to, y);
            ptx_line(b, "@%R mov.pred %R, %R;", p, to, x);
        } else ptx_line(b, "selp.%s %R, %R, %R, %R;", ptx_suffix((PtxKind)to.kind), to, x, y, p);
    }
}

static void do_branch(PtxBuild *b, Branch *x)
{
    const uint32_t at = b->at;
    b->at = x->scope;
    control(b, IR_BY_IF);
    do_moves(b, &x->moves);
    b->at = at;
    ptx_append(b, at, x->scope);
}

/* A way that has moves alone does them before the branch. to: where it goes on; NULL: behind itself. */
static void emit_if(PtxBuild *b, const IrStmt *s, const Join *to)
{
    ir_demand(&b->demand, s->condition, false);
    PtxReg p = ptx_words(b, b->values[s->condition])[0];
    Join own = {to ? to->results : WBB_NEW_N(b->arena, PtxValue *, s->n_results + 1), to ? to->join : ++b->labels};
    for (uint32_t i = 0; i < s->n_results; i++) {
        if (!own.results[i]) own.results[i] = fresh(b, b->g->values[s->results[i].value].type);
        b->results[s->results[i].value] = own.results[i];
    }
    Branch yes = branch(b, s, false, &own), no = branch(b, s, true, &own);
    const bool has_yes = b->lines[yes.scope].n > 0, has_no = b->lines[no.scope].n > 0;
    control(b, IR_BY_IF);
    p = ptx_register(b, p);
    if (!has_yes && !has_no) choose(b, p, &yes.moves, &no.moves);
    else if (!has_yes || !has_no) {
        do_branch(b, has_yes ? &no : &yes);
        ptx_line(b, has_yes ? "@!%R bra $L__BB0_%u;" : "@%R bra $L__BB0_%u;", p, own.join);
        do_branch(b, has_yes ? &yes : &no);
    } else {
        const uint32_t otherwise = ++b->labels;
        ptx_line(b, "@!%R bra $L__BB0_%u;", p, otherwise);
        do_branch(b, &yes);
        control(b, IR_BY_IF);
        ptx_line(b, "bra $L__BB0_%u;", own.join);
        ptx_label(b, otherwise);
        do_branch(b, &no);
    }
    if (!to && (has_yes || has_no)) ptx_label(b, own.join);
}

/* --- loops -------------------------------------------------------------------------------------------------------- */
/* The carried values of the first iteration, in registers of the loop's; they are the results of one without any. */
static PtxValue **carry_in(PtxBuild *b, const IrStmt *s)
{
    PtxValue **carried = WBB_NEW_N(b->arena, PtxValue *, s->n_results + 1);
    Moves m = {0};
    for (uint32_t i = 0; i < s->n_results; i++) ir_demand(&b->demand, s->results[i].init, false);
    control(b, IR_BY_FOR);
    for (uint32_t i = 0; i < s->n_results; i++) {
        carried[i] = fresh(b, b->g->values[s->results[i].value].type);
        add_moves(b, &m, carried[i], b->values[s->results[i].init]);
        b->results[s->results[i].value] = carried[i];
    }
    do_moves(b, &m);
    return carried;
}

/* The body up to its moves; extra: a node that is computed at its end, or 0. Leaves the body's scope open. */
static uint32_t loop_body(PtxBuild *b, const IrStmt *s, PtxValue **carried, IrRef extra, PtxReg *condition)
{
    IrRef *yields = WBB_NEW_N(b->arena, IrRef, s->n_results + 1);
    PtxValue **values = WBB_NEW_N(b->arena, PtxValue *, s->n_results + 1);
    const uint32_t outside = b->at, number = b->next_scope;
    b->at = number; /* of the body: what is made of carried values changes with them */
    for (uint32_t i = 0; i < s->n_results; i++) b->results[s->results[i].carried] = again(b, carried[i]);
    b->at = outside;
    for (uint32_t i = 0; i < s->n_results; i++) yields[i] = s->results[i].yield;
    yields[s->n_results] = extra;
    const uint32_t scope =
        scope_of(b, &s->body, s->ahead ? s : NULL, yields, s->n_results + (extra != 0), values);
    Moves m = {0};
    b->at = scope;
    control(b, IR_BY_FOR);
    if (condition) {
        *condition = ptx_new(b, PTX_PRED);
        ptx_move(b, *condition, ptx_words(b, values[s->n_results])[0]);
    }
    for (uint32_t i = 0; i < s->n_results; i++) add_moves(b, &m, carried[i], values[i]);
    do_moves(b, &m);
    b->at = outside;
    return scope;
}

static void end_loop(PtxBuild *b, const IrStmt *s, uint32_t scope, PtxReg more, PtxValue **carried)
{
    const uint32_t label = ++b->labels;
    b->open[scope] = false;
    ptx_label(b, label);
    if (s->rolled) ptx_line(b, ".pragma \"nounroll\";");
    ptx_append(b, b->at, scope);
    control(b, IR_BY_FOR);
    ptx_line(b, "@%R bra $L__BB0_%u;", more, label);
    for (uint32_t i = 0; i < s->n_results; i++) b->results[s->results[i].value] = again(b, carried[i]);
}

/* The loop's test is at its bottom, so a loop without iterations is not written at all. */
static void emit_for(PtxBuild *b, const IrStmt *s)
{
    const IrVar *var = &b->g->vars[s->var];
    PtxValue **carried = carry_in(b, s);
    if (var->hi < var->lo) {
        b->next_scope += 1 + ir_count_scopes(&s->body);
        return;
    }
    const bool wide = var->lo < INT32_MIN || var->hi >= INT32_MAX;
    const uint32_t bits = wide ? 64 : 32;
    const PtxReg counter = ptx_new(b, wide ? PTX_B64 : PTX_B32), more = ptx_new(b, PTX_PRED);
    ptx_move(b, counter, ptx_number(bits, (uint64_t)var->lo));
    b->vars[s->var] = counter;
    const uint32_t scope = loop_body(b, s, carried, 0, NULL), at = b->at;
    b->at = scope;
    const PtxReg last = b->tests[s->var]; /* the test for the last iteration, where the body has it */
    ptx_line(b, "add.s%u %R, %R, 1;", bits, counter, counter);
    if (last.kind == PTX_NONE) ptx_line(b, "setp.le.s%u %R, %R, %l;", bits, more, counter, var->hi);
    b->at = at;
    end_loop(b, s, scope, last.kind == PTX_NONE ? more : last, carried);
}

static void emit_repeat(PtxBuild *b, const IrStmt *s)
{
    PtxValue **carried = carry_in(b, s);
    PtxReg more;
    const uint32_t scope = loop_body(b, s, carried, s->condition, &more);
    end_loop(b, s, scope, more, carried);
}

/* --- effects ------------------------------------------------------------------------------------------------------ */
static void copy_group(PtxBuild *b, const IrNode *n)
{
    if (!tg_has(b->t, "cp.async"))
        wbb_decline(b->cx, (WbbLoc){0}, WHY_NO_RULE, "%s has no asynchronous copies", b->t->name);
    if (n->op == OP_COPY_COMMIT) ptx_line(b, "cp.async.commit_group;");
    else ptx_line(b, "cp.async.wait_group %l;", (int64_t)n->imm);
}

static void cluster_barrier(PtxBuild *b)
{
    if (!tg_has(b->t, "cluster"))
        wbb_decline(b->cx, (WbbLoc){0}, WHY_NO_RULE, "%s has no clusters of blocks", b->t->name);
    ptx_line(b, "barrier.cluster.arrive.aligned;");
    ptx_line(b, "barrier.cluster.wait.aligned;");
}

static void emit_store(PtxBuild *b, const IrStmt *s)
{
    const bool packed = ir_is_packed(IR_SC(ir_at(b->g, s->value)->type));
    ir_demand(&b->demand, s->value, false);
    if (!packed || !ir_is_const(b->g, s->index)) ir_demand(&b->demand, s->index, !packed);
    b->maker = (IrMaker){IR_BY_STORE, s->value, s->buffer};
    ptx_store(b, b->values[s->value], s->buffer, s->index, "");
}

/* The operation is written at the statement's place, not where a scope of it would be. */
static void emit_do(PtxBuild *b, const IrStmt *s)
{
    const IrNode *n = ir_at(b->g, s->value);
    ir_demand_operands(&b->demand, s);
    PtxValue *v = NULL;
    b->maker = ir_made_by(b->g, s->value);
    switch ((ScOp)n->op) {
    case OP_READ:
    case OP_READ_RELAXED:
    case OP_READ_PEER: v = ptx_load(b, s->value, s->buffer, s->index); break;
    case OP_WRITE_RELAXED:
        b->maker = (IrMaker){IR_BY_STORE, s->value, s->buffer};
        ptx_store(b, b->values[n->a[0]], s->buffer, s->index, ".relaxed.gpu");
        break;
    case OP_COPY_COMMIT:
    case OP_COPY_WAIT: copy_group(b, n); break;
    case OP_CLUSTER_BARRIER: cluster_barrier(b); break;
    case OP_BARRIER: ptx_line(b, "bar.sync 0;"); break;
    default: {
        const IrMaker maker = b->maker;
        PtxAddress at[2] = {0};
        if (s->index) b->maker = ir_made_by(b->g, s->index), at[0] = ptx_address(b, s->buffer, s->index);
        if (s->from_index) b->maker = ir_made_by(b->g, s->from_index), at[1] = ptx_address(b, s->from, s->from_index);
        b->maker = maker;
        v = ptx_row(b, s->value, true, s->index ? at : NULL);
    }
    }
    if (s->n_results) b->results[s->results[0].value] = v;
}

static void emit_statements(PtxBuild *b, const IrBlock *block, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const IrStmt *s = block->items[i];
        ir_loads_first(&b->demand, b->k, block, i, b->at);
        switch (s->kind) {
        case IR_STORE:
            ir_values_first(&b->demand, block, i);
            emit_store(b, s);
            break;
        case IR_IF: emit_if(b, s, NULL); break;
        case IR_DO: emit_do(b, s); break;
        case IR_FOR: emit_for(b, s); break;
        case IR_REPEAT: emit_repeat(b, s); break;
        case IR_BIND: ptx_let(b, s); break;
        }
    }
}

static void emit_block(PtxBuild *b, const IrBlock *block) { emit_statements(b, block, block->n); }
