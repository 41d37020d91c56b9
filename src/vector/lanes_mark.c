/* lanes_mark.c: what differs from lane to lane in a loop of lanes, and what depends on what is carried from one lane to the next.
 *
 * Needs the loop; leaves marks on its nodes, variables and values, in time of its size. Marks start at the loop's variable and go
 * from operands to users, from what a statement names to what it leaves, from a condition to all that is bound below it: each
 * lane's branch has variables and values of its own.
 *
 *     for v in 0..4 lanes 4 { y = if lt.index(t, 8) { yield load %a[v] } else { yield 0.0 } store %out[4*t + v], y }
 *     v, load %a[v], 4*t + v, y differ; the condition does not
 */
#include "vector/lanes.h"

/* What a ref reaches other than its users. */
typedef struct {
    const IrStmt *s;
    enum { TO_VARIABLE, TO_RESULT, TO_CONDITION, TO_STATEMENT } to;
    uint32_t number; /* of the result, or of the top statement */
    uint32_t next;   /* sink of the same ref + 1 */
} Sink;

typedef struct {
    Lanes *l;
    WbbArena *arena;
    uint32_t *first_user, *users; /* CSR by place: refs */
    uint32_t *first_sink;         /* by place: number + 1 */
    struct { Sink *items; uint32_t n, capacity; } sinks;
    IrRefs waiting;
    bool chain; /* marks go to `chained`, else to `varies` */
} Mark;

void vec_lanes_grow(Lanes *l)
{
    IrGraph *g = l->g;
    WbbArena *a = l->g->arena;
    if (g->n > l->nodes_capacity) {
        const uint32_t old = l->nodes_capacity, capacity = WBB_MAX(g->n, 2 * old);
#define GROW(array) l->array = wbb_grow(a, l->array, old * sizeof *l->array, capacity * sizeof *l->array)
        GROW(value), GROW(varies), GROW(chained), GROW(mark), GROW(seen), GROW(lone), GROW(lone_region), GROW(place);
#undef GROW
        l->nodes_capacity = capacity;
    }
    if (g->n_vars > l->vars_capacity) {
        const uint32_t capacity = WBB_MAX(g->n_vars, 2 * l->vars_capacity);
        l->vars = wbb_grow(a, l->vars, l->vars_capacity * sizeof *l->vars, capacity * sizeof *l->vars);
        l->vars_capacity = capacity;
    }
    if (g->n_values > l->values_capacity) {
        const uint32_t capacity = WBB_MAX(g->n_values, 2 * l->values_capacity);
        l->values = wbb_grow(a, l->values, l->values_capacity * sizeof *l->values, capacity * sizeof *l->values);
        l->values_capacity = capacity;
    }
}

/* --- marks -------------------------------------------------------------------------------------------------------------------------- */
static void mark(Mark *m, IrRef r)
{
    Lanes *l = m->l;
    uint8_t *marks = m->chain ? l->chained : l->varies;
    if (r >= l->n || !l->place[r] || marks[r]) return;
    marks[r] = 1;
    WBB_PUSH(m->arena, &m->waiting, r);
}

static void mark_variable(Mark *m, uint32_t var)
{
    uint8_t *marked = m->chain ? &m->l->vars[var].chained : &m->l->vars[var].varies;
    if (*marked) return;
    *marked = 1;
    mark(m, ir_var(m->l->g, var));
}

static void mark_value(Mark *m, uint32_t value)
{
    uint8_t *marked = m->chain ? &m->l->values[value].chained : &m->l->values[value].varies;
    if (*marked) return;
    *marked = 1;
    mark(m, ir_value(m->l->g, value));
}

static void mark_result(Mark *m, const IrStmt *s, uint32_t i)
{
    mark_value(m, s->results[i].value);
    if (s->kind == IR_FOR) mark_value(m, s->results[i].carried);
}

/* Everything that a statement and those below it bind. */
static void mark_bound(Mark *m, const IrStmt *s)
{
    if (s->kind == IR_BIND || s->kind == IR_FOR) mark_variable(m, s->var);
    for (uint32_t i = 0; i < s->n_results; i++) mark_result(m, s, i);
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
        const uint32_t at = m->l->place[m->waiting.items[--m->waiting.n]] - 1;
        for (uint32_t i = m->first_user[at]; i < m->first_user[at + 1]; i++) mark(m, m->users[i]);
        for (uint32_t i = m->first_sink[at]; i; i = m->sinks.items[i - 1].next)
            if (m->chain == (m->sinks.items[i - 1].to == TO_STATEMENT)) follow(m, &m->sinks.items[i - 1]);
    }
}

/* --- the graph of the loop ---------------------------------------------------------------------------------------------------------- */
static void find_users(Mark *m)
{
    Lanes *l = m->l;
    const IrGraph *g = l->g;
    m->first_user = WBB_NEW_N(m->arena, uint32_t, l->nodes.n + 2);
    for (uint32_t i = 0; i < l->nodes.n; i++) l->place[l->nodes.items[i]] = i + 1;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < l->nodes.n; i++) {
            const IrRef r = l->nodes.items[i];
            const uint32_t op = ir_at(g, r)->op;
            if (op == OP_CONST || op == OP_VAR || op == OP_VALUE || op == OP_ARG) continue;
            for (uint32_t o = 0; o < ir_arity(g, r); o++) {
                const uint32_t at = l->place[ir_operand(g, r, o)] - 1;
                if (pass == 0) m->first_user[at + 2]++;
                else m->users[m->first_user[at + 1]++] = r;
            }
        }
        if (pass > 0) break;
        for (uint32_t i = 2; i < l->nodes.n + 2; i++) m->first_user[i] += m->first_user[i - 1];
        m->users = WBB_NEW_N(m->arena, uint32_t, m->first_user[l->nodes.n + 1] + 1);
    }
}

static void sink(Mark *m, IrRef r, Sink s)
{
    if (!r) return;
    uint32_t *first = &m->first_sink[m->l->place[r] - 1];
    s.next = *first;
    WBB_PUSH(m->arena, &m->sinks, s);
    *first = m->sinks.n;
}

/* The sinks of a statement of the body, which is part of statement `top` there. */
static void find_sinks(Mark *m, const IrStmt *s, uint32_t top)
{
    const IrStmt *whole = m->l->loop->body.items[top];
    const Sink to_top = {.s = whole, .to = TO_STATEMENT, .number = top};
    const IrRef names[4] = {s->index, s->value, s->condition, s->kind == IR_BIND ? m->l->g->vars[s->var].definition : 0};
    for (uint32_t i = 0; i < 4; i++) sink(m, names[i], to_top);
    if (s->kind == IR_BIND) sink(m, s->value ? s->value : names[3], (Sink){.s = s, .to = TO_VARIABLE});
    if (s->kind == IR_IF) sink(m, s->condition, (Sink){.s = s, .to = TO_CONDITION});
    for (uint32_t i = 0; i < s->n_results; i++) {
        const IrRef ends[3] = {s->results[i].init, s->results[i].yield, s->results[i].otherwise};
        for (uint32_t e = 0; e < 3; e++) {
            sink(m, ends[e], to_top);
            sink(m, ends[e], (Sink){.s = s, .to = TO_RESULT, .number = i});
        }
    }
    for (uint32_t i = 0; i < s->body.n; i++) find_sinks(m, s->body.items[i], top);
    for (uint32_t i = 0; i < s->otherwise.n; i++) find_sinks(m, s->otherwise.items[i], top);
}

void vec_lanes_mark(Lanes *l, const IrStmt *loop)
{
    const IrGraph *g = l->g;
    Mark m = {.l = l, .arena = l->arena};
    l->loop = loop;
    l->lanes = loop->lanes;
    l->nodes = (IrRefs){0};
    ir_roots(g, l->arena, &loop->body, &l->nodes);
    for (uint32_t i = 0; i < loop->n_results; i++) WBB_PUSH(l->arena, &l->nodes, loop->results[i].yield);
    for (uint32_t i = 0; i < loop->n_results; i++) { /* so that they are there to be marked */
        ir_value(l->g, loop->results[i].carried);
        vec_lanes_grow(l);
    }
    ir_var(l->g, loop->var);
    vec_lanes_grow(l);
    l->n = g->n;
    ir_gather(g, l->arena, &l->nodes, l->mark);
    find_users(&m);
    m.first_sink = WBB_NEW_N(l->arena, uint32_t, l->nodes.n + 1);
    l->sequential = WBB_NEW_N(l->arena, bool, loop->body.n + 1);
    for (uint32_t i = 0; i < loop->body.n; i++) find_sinks(&m, loop->body.items[i], i);

    m.chain = true;
    for (uint32_t i = 0; i < loop->n_results; i++) mark_value(&m, loop->results[i].carried);
    propagate(&m);
    m.chain = false;
    mark_variable(&m, loop->var);
    for (uint32_t i = 0; i < loop->n_results; i++) mark_value(&m, loop->results[i].carried);
    for (uint32_t i = 0; i < loop->body.n; i++)
        if (l->sequential[i]) mark_bound(&m, loop->body.items[i]);
    propagate(&m);
}
