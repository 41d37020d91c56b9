/* lanes_mark.c: what differs from lane to lane in a loop of lanes, and what depends on what is carried from one lane to
 * the next.
 *
 * Needs the loop; leaves marks on its nodes, variables and values, in time in proportion to its size. Marks start at
 * the loop's variable and spread from operands to users, from a node that a statement uses to what the statement binds,
 * and from a condition to everything that is bound below it, since each lane's branch has variables and values of its
 * own.
 *
 *     for v in 0..4 lanes 4 { y = if lt.index(t, 8) { yield load %a[v] } else { yield 0.0 } store %out[4*t + v], y }
 *     v, load %a[v], 4*t + v and y differ; the condition does not
 */
#include "ir/uses.h"
#include "vector/lanes.h"

/* A statement to which the mark of a node spreads: to the variable that it binds, to one of its results, to everything
 * that it binds (the node is its condition), or to the whole statement of the loop's body that it is part of. */
typedef struct {
    const IrStmt *s;
    enum { TO_VARIABLE, TO_RESULT, TO_CONDITION, TO_STATEMENT } to;
    uint32_t number; /* of the result, or of the statement in the loop's body */
    uint32_t next;   /* number of another sink of the same node + 1; 0: none */
} Sink;

typedef struct {
    Lanes *l;
    WbbArena *arena;
    uint32_t
        *first_user; /* by position in l->nodes: users[first_user[i] .. first_user[i + 1]) are the users of node i */
    IrRef *users;
    uint32_t *first_sink; /* by position: number of a sink + 1 */
    struct { Sink *items; uint32_t n, capacity; } sinks;
    IrRefs waiting; /* marked, but not spread yet */
    bool chain;     /* the mark is `chained`, else `varies` */
} Mark;

/* --- records ------------------------------------------------------------------------------------------------------ */
/* At least twice the capacity, and at least the size of the graph, so that all growing takes time in proportion to the
 * graph. */
void vec_grow_nodes(Lanes *l, IrRef r)
{
    const uint32_t old = l->nodes_capacity, capacity = WBB_MAX(WBB_MAX(r + 1, l->g->n), 2 * old);
    l->nodes_by_ref = wbb_grow(l->g->arena, l->nodes_by_ref, old * sizeof(LaneNode), capacity * sizeof(LaneNode));
    l->gather_marks = wbb_grow(l->g->arena, l->gather_marks, old, capacity);
    l->nodes_capacity = capacity;
}

LaneBinding *vec_grow_bindings(const Lanes *l, LaneBinding *bindings, uint32_t *capacity, uint32_t number)
{
    const uint32_t old = *capacity;
    *capacity = WBB_MAX(number + 16, 2 * old);
    return wbb_grow(l->g->arena, bindings, old * sizeof *bindings, *capacity * sizeof *bindings);
}

/* --- marks -------------------------------------------------------------------------------------------------------- */
static void mark(Mark *m, IrRef r)
{
    LaneNode *n = vec_node(m->l, r);
    bool *marked = m->chain ? &n->chained : &n->varies;
    if (!n->number || *marked) return;
    *marked = true;
    WBB_PUSH(m->arena, &m->waiting, r);
}

static void mark_variable(Mark *m, uint32_t var)
{
    LaneBinding *b = vec_variable(m->l, var);
    bool *marked = m->chain ? &b->chained : &b->varies;
    if (*marked) return;
    *marked = true;
    mark(m, ir_var(m->l->g, var));
}

static void mark_value(Mark *m, uint32_t value)
{
    LaneBinding *b = vec_value(m->l, value);
    bool *marked = m->chain ? &b->chained : &b->varies;
    if (*marked) return;
    *marked = true;
    mark(m, ir_value(m->l->g, value));
}

static void mark_def(Mark *m, const IrDefs *d)
{
    if (d->is_variable) mark_variable(m, d->number);
    else mark_value(m, d->number);
}

static void mark_result(Mark *m, const IrStmt *s, uint32_t i)
{
    for (IrDefs d = ir_defs(s); ir_next_def(&d);)
        if (d.result == i) mark_def(m, &d);
}

/* Everything that a statement and the statements below it bind. */
static void mark_bound(Mark *m, const IrStmt *s)
{
    for (IrDefs d = ir_defs(s); ir_next_def(&d);) mark_def(m, &d);
    for (uint32_t i = 0; i < s->body.n; i++) mark_bound(m, s->body.items[i]);
    for (uint32_t i = 0; i < s->otherwise.n; i++) mark_bound(m, s->otherwise.items[i]);
}

static void follow(Mark *m, const Sink *s)
{
    switch (s->to) {
    case TO_VARIABLE: mark_variable(m, s->s->var); break;
    case TO_RESULT: mark_result(m, s->s, s->number); break;
    case TO_CONDITION: mark_bound(m, s->s); break;
    case TO_STATEMENT:
        if (m->l->sequential[s->number]) break;
        m->l->sequential[s->number] = true;
        mark_bound(m, s->s);
        break;
    }
}

static void propagate(Mark *m)
{
    while (m->waiting.n) {
        const uint32_t at = vec_node(m->l, m->waiting.items[--m->waiting.n])->number - 1;
        for (uint32_t i = m->first_user[at]; i < m->first_user[at + 1]; i++) mark(m, m->users[i]);
        for (uint32_t i = m->first_sink[at]; i; i = m->sinks.items[i - 1].next)
            if (m->chain == (m->sinks.items[i - 1].to == TO_STATEMENT)) follow(m, &m->sinks.items[i - 1]);
    }
}

/* --- the graph of the loop ---------------------------------------------------------------------------------------- */
static void find_users(Mark *m)
{
    Lanes *l = m->l;
    const IrGraph *g = l->g;
    m->first_user = WBB_NEW_N(m->arena, uint32_t, l->nodes.n + 2);
    for (uint32_t i = 0; i < l->nodes.n; i++) vec_node(l, l->nodes.items[i])->number = i + 1;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < l->nodes.n; i++) {
            const IrRef r = l->nodes.items[i];
            const uint32_t op = ir_at(g, r)->op;
            if (op == OP_CONST || op == OP_VAR || op == OP_VALUE || op == OP_ARG) continue;
            for (uint32_t o = 0; o < ir_arity(g, r); o++) {
                const uint32_t at = vec_node(l, ir_operand(g, r, o))->number - 1;
                if (pass == 0) m->first_user[at + 2]++;
                else m->users[m->first_user[at + 1]++] = r;
            }
        }
        if (pass > 0) break;
        for (uint32_t i = 2; i < l->nodes.n + 2; i++) m->first_user[i] += m->first_user[i - 1];
        m->users = WBB_NEW_N(m->arena, IrRef, m->first_user[l->nodes.n + 1] + 1);
    }
}

static void sink(Mark *m, IrRef r, Sink s)
{
    uint32_t *first = &m->first_sink[vec_node(m->l, r)->number - 1];
    s.next = *first;
    WBB_PUSH(m->arena, &m->sinks, s);
    *first = m->sinks.n;
}

/* The sinks of statement s, which is, or is part of, statement number `top` of the loop's body. */
static void find_sinks(Mark *m, const IrStmt *s, uint32_t top)
{
    const IrStmt *whole = m->l->loop->body.items[top];
    const Sink to_top = {.s = whole, .to = TO_STATEMENT, .number = top};
    for (IrUses u = ir_uses(m->l->g, s); ir_next_use(&u);) {
        sink(m, u.ref, to_top);
        if (u.result != IR_NO_RESULT) sink(m, u.ref, (Sink){.s = s, .to = TO_RESULT, .number = u.result});
        else if (s->kind == IR_BIND) sink(m, u.ref, (Sink){.s = s, .to = TO_VARIABLE});
        else if (u.at == &s->condition) sink(m, u.ref, (Sink){.s = s, .to = TO_CONDITION});
    }
    for (uint32_t i = 0; i < s->body.n; i++) find_sinks(m, s->body.items[i], top);
    for (uint32_t i = 0; i < s->otherwise.n; i++) find_sinks(m, s->otherwise.items[i], top);
}

static void start(Lanes *l, const IrStmt *loop)
{
    l->loop = loop;
    l->lanes = loop->lanes;
    l->sequential = WBB_NEW_N(l->arena, bool, loop->body.n + 1);
    l->nodes = (IrRefs){0};
    ir_roots(l->g, l->arena, &loop->body, &l->nodes);
    for (uint32_t i = 0; i < loop->n_results; i++) WBB_PUSH(l->arena, &l->nodes, loop->results[i].yield);
    for (uint32_t i = 0; i < loop->n_results; i++)
        ir_value(l->g, loop->results[i].carried); /* leaves that marks start at */
    ir_var(l->g, loop->var);
    vec_node(l, l->g->n - 1); /* makes l->gather_marks as long as the graph */
    ir_gather(l->g, l->arena, &l->nodes, l->gather_marks);
}

bool vec_has_effects(const IrBlock *b)
{
    bool any = false;
    for (uint32_t i = 0; i < b->n && !any; i++) {
        const IrStmt *s = b->items[i];
        any = s->kind == IR_DO || s->kind == IR_STORE || vec_has_effects(&s->body) || vec_has_effects(&s->otherwise);
    }
    return any;
}

/* What each lane does by itself binds values of each lane, whatever it depends on. */
static void mark_effects(Mark *m, const IrBlock *b)
{
    for (uint32_t i = 0; i < b->n; i++) {
        const IrStmt *s = b->items[i];
        if (s->kind == IR_DO || (s->kind == IR_REPEAT && vec_has_effects(&s->body))) mark_bound(m, s);
        mark_effects(m, &b->items[i]->body);
        mark_effects(m, &b->items[i]->otherwise);
    }
}

void vec_mark_loop(Lanes *l, const IrStmt *loop)
{
    Mark m = {.l = l, .arena = l->arena};
    start(l, loop);
    find_users(&m);
    m.first_sink = WBB_NEW_N(l->arena, uint32_t, l->nodes.n + 1);
    for (uint32_t i = 0; i < loop->body.n; i++) find_sinks(&m, loop->body.items[i], i);

    m.chain = true;
    for (uint32_t i = 0; i < loop->n_results; i++) mark_value(&m, loop->results[i].carried);
    propagate(&m);
    m.chain = false;
    mark_variable(&m, loop->var);
    mark_effects(&m, &loop->body);
    for (uint32_t i = 0; i < loop->n_results; i++) mark_value(&m, loop->results[i].carried);
    for (uint32_t i = 0; i < loop->body.n; i++)
        if (l->sequential[i]) mark_bound(&m, loop->body.items[i]);
    propagate(&m);
}
