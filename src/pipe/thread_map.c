/* thread_map.c: checks the thread map of a kernel: its threads store every element of an output exactly once, and none
 * outside. It judges the kernel's statements, and knows no layout: that the map of a layout has each element once is
 * proved when the plan is made (layout/layout_map.c).
 *
 * Needs a kernel before `isel` and its plan; leaves the first fault. The check enumerates: for each thread of each
 * block it runs the statements that lead to a store, and sets one bit for each element stored. Element values are not
 * computed. The position of an update in place is an element that only the run time knows, so the enumeration is done
 * three times, with the least, the middle and the largest value of each such index.
 *
 * Where threads share, a branch may depend on what others have stored: the block with the last ticket alone stores
 * results. All blocks are taken to do so, and an element that several blocks store in such a branch counts once.
 *
 *     store %out[8*t + v] in lanes v of 0..8, t in 0..512     =>   4096 elements, each once
 *     the same, 4*t + v                                        =>   "%out[4] is stored again by thread 1 of block 0"
 */
#include "pipe/pipe.h"

enum { POSITIONS = 3 };
static const int64_t most_elements = (int64_t)1 << 34; /* two GiB of bits */

/* A statement that leads to a store, and the nodes that it is the first to need. */
typedef struct Work {
    const IrStmt *s;
    struct { IrRef *items; uint32_t n, capacity; } nodes;
    struct { struct Work *items; uint32_t n, capacity; } body, otherwise;
    bool by_others; /* a branch that depends on what a statement has read */
} Work;

typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    const IrKernel *k;
    const IrGraph *g;
    uint8_t *computed; /* by ref: a statement before this one in its block, or around it, computes the node */
    int64_t *value;    /* by ref */
    int64_t *variable; /* by number */
    uint64_t **stored; /* by buffer: a bit an element */
    int64_t *count;
    bool run_time;     /* a store depends on an index that only the run time knows */
    uint32_t position; /* of run-time indices: 0 the least, 1 the middle, 2 the largest */
    uint32_t block, thread;
    uint32_t by_others; /* branches around the statement that depend on what others have stored */
    const char *fault;  /* NULL: none so far */
} ThreadMap;

/* --- which statements and nodes matter ---------------------------------------------------------------------------- */
static bool stores_output(const IrKernel *k, const IrStmt *s)
{
    return s->kind == IR_STORE && ir_is_output(&k->buffers[s->buffer]);
}

static bool leads_to_store(const IrKernel *k, const IrBlock *b)
{
    for (uint32_t i = 0; i < b->n; i++) {
        const IrStmt *s = b->items[i];
        if (stores_output(k, s) || leads_to_store(k, &s->body) || leads_to_store(k, &s->otherwise)) return true;
    }
    return false;
}

/* Does a condition depend on a value that a statement binds? */
static bool depends_on_value(const IrGraph *g, IrRef r)
{
    if (ir_at(g, r)->op == OP_VALUE) return true;
    for (uint32_t i = 0; i < ir_arity(g, r); i++)
        if (ir_operand(g, r, i) && depends_on_value(g, ir_operand(g, r, i))) return true;
    return false;
}

/* Add r and its operands to w, operands first. The definition of a variable counts as its operand. Recursion: index
 * expressions are not deep. */
static void need(ThreadMap *c, Work *w, IrRef r)
{
    if (!r || c->computed[r]) return;
    const IrNode *n = ir_at(c->g, r);
    if (n->op == OP_VAR) {
        const IrVar *v = &c->g->vars[n->imm];
        need(c, w, v->definition);
        c->run_time = c->run_time || (v->kind == IR_LET && !v->definition);
    } else if (n->op != OP_CONST) {
        for (uint32_t i = 0; i < ir_arity(c->g, r); i++) need(c, w, ir_operand(c->g, r, i));
    }
    c->computed[r] = 1;
    WBB_PUSH(c->arena, &w->nodes, r);
}

static void forget(ThreadMap *c, const Work *items, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < items[i].nodes.n; k++) c->computed[items[i].nodes.items[k]] = 0;
}

/* Collect the statements of b that lead to a store. The nodes that they compute are valid until the end of the
 * block. */
static uint32_t collect(ThreadMap *c, const IrBlock *b, Work **items)
{
    struct { Work *items; uint32_t n, capacity; } list = {0};
    for (uint32_t i = 0; i < b->n; i++) {
        const IrStmt *s = b->items[i];
        const bool inside = leads_to_store(c->k, &s->body) || leads_to_store(c->k, &s->otherwise);
        const bool around = s->kind != IR_BIND && inside;
        if (!stores_output(c->k, s) && !around) continue;
        Work w = {.s = s, .by_others = s->kind == IR_IF && depends_on_value(c->g, s->condition)};
        if (!w.by_others) need(c, &w, s->kind == IR_STORE ? s->index : s->kind == IR_IF ? s->condition : 0);
        w.body.n = collect(c, &s->body, &w.body.items);
        w.otherwise.n = collect(c, &s->otherwise, &w.otherwise.items);
        WBB_PUSH(c->arena, &list, w);
    }
    forget(c, list.items, list.n);
    *items = list.items;
    return list.n;
}

/* --- one thread --------------------------------------------------------------------------------------------------- */
static int64_t run_time_value(const ThreadMap *c, const IrVar *v)
{
    return c->position == 0 ? v->lo : c->position == 1 ? v->lo + (v->hi - v->lo) / 2 : v->hi;
}

static int64_t sum(const ThreadMap *c, const IrNode *n)
{
    int64_t v = (int64_t)n->imm;
    const IrTerm *terms = c->g->terms + n->a[0];
    for (uint32_t i = 0; i < n->a[1]; i++) v += terms[i].coefficient * c->value[terms[i].ref];
    return v;
}

static int64_t compute(ThreadMap *c, IrRef r)
{
    const IrNode *n = ir_at(c->g, r);
    const int64_t x = n->op == OP_SUM ? 0 : c->value[n->a[0]], y = n->op == OP_SUM ? 0 : c->value[n->a[1]];
    switch (n->op) {
    case OP_CONST: return (int64_t)n->imm;
    case OP_SUM: return sum(c, n);
    case OP_VAR: {
        const IrVar *v = &c->g->vars[n->imm];
        return v->definition ? c->value[v->definition] : v->kind == IR_LET ? run_time_value(c, v) : c->variable[n->imm];
    }
    case OP_FLOORDIV: return x >= 0 ? x / y : -((y - 1 - x) / y);
    case OP_MOD: return x >= 0 ? x % y : y - 1 - (-x - 1) % y;
    case OP_MIN: return x < y ? x : y;
    case OP_MAX: return x > y ? x : y;
    case OP_EQ: return x == y;
    case OP_NE: return x != y;
    case OP_LT: return x < y;
    case OP_LE: return x <= y;
    case OP_GT: return x > y;
    case OP_GE: return x >= y;
    case OP_BAND: return x & y;
    case OP_BOR: return x | y;
    case OP_BXOR: return x ^ y;
    case OP_BNOT: return !x;
    case OP_SELECT: return x ? y : c->value[n->a[2]];
    default:
        c->fault = wbb_format(c->arena, "the condition or the index of a store depends on %s", sc_op_info[n->op].name);
        return 0;
    }
}

static void report(ThreadMap *c, const IrBuffer *b, int64_t at, const char *again)
{
    c->fault = wbb_format(c->arena, "%%%s[%lld] is stored %sby thread %u of block %u", b->name, (long long)at, again,
                          c->thread, c->block);
}

/* Set the bits of the elements stored, up to 64 at a time. */
static void store(ThreadMap *c, const IrStmt *s)
{
    const IrBuffer *b = &c->k->buffers[s->buffer];
    const int64_t first = c->value[s->index], end = first + (int64_t)IR_LANES(ir_at(c->g, s->value)->type);
    if (first < 0 || end > b->elements) {
        report(c, b, first < 0 ? first : WBB_MAX(first, b->elements), "");
        c->fault = wbb_format(c->arena, "%s: it has %lld elements", c->fault, (long long)b->elements);
        return;
    }
    for (int64_t at = first; at < end;) {
        const int64_t n = WBB_MIN(end - at, 64 - at % 64);
        const uint64_t bits = (n == 64 ? UINT64_MAX : ((uint64_t)1 << n) - 1) << at % 64;
        uint64_t *word = &c->stored[s->buffer][at / 64];
        if (*word & bits && !c->by_others) {
            report(c, b, at / 64 * 64 + __builtin_ctzll(*word & bits), "again ");
            return;
        }
        c->count[s->buffer] += __builtin_popcountll(bits & ~*word);
        *word |= bits;
        at += n;
    }
}

static void run_list(ThreadMap *c, const Work *items, uint32_t n)
{
    for (uint32_t i = 0; i < n && !c->fault; i++) {
        const Work *w = &items[i];
        for (uint32_t k = 0; k < w->nodes.n; k++) c->value[w->nodes.items[k]] = compute(c, w->nodes.items[k]);
        if (w->s->kind == IR_STORE) {
            store(c, w->s);
        } else if (w->by_others) {
            c->by_others++;
            run_list(c, w->body.items, w->body.n);
            run_list(c, w->otherwise.items, w->otherwise.n);
            c->by_others--;
        } else if (w->s->kind == IR_IF) {
            if (c->value[w->s->condition]) run_list(c, w->body.items, w->body.n);
            else run_list(c, w->otherwise.items, w->otherwise.n);
        } else {
            for (int64_t v = c->g->vars[w->s->var].lo; v <= c->g->vars[w->s->var].hi && !c->fault; v++) {
                c->variable[w->s->var] = v;
                run_list(c, w->body.items, w->body.n);
            }
        }
    }
}

/* --- all threads -------------------------------------------------------------------------------------------------- */
static void run_grid(ThreadMap *c, const Work *items, uint32_t n)
{
    uint32_t bid = UINT32_MAX, tid = UINT32_MAX;
    for (uint32_t i = 0; i < c->g->n_vars; i++) {
        if (c->g->vars[i].kind == IR_BID) bid = i;
        if (c->g->vars[i].kind == IR_TID) tid = i;
    }
    for (uint32_t b = 0; b < c->k->grid; b++)
        for (uint32_t t = 0; t < c->k->block && !c->fault; t++) {
            if (bid != UINT32_MAX) c->variable[bid] = b;
            if (tid != UINT32_MAX) c->variable[tid] = t;
            c->block = b, c->thread = t;
            run_list(c, items, n);
        }
}

static void compare(ThreadMap *c, const Plan *p, const PlanKernel *of)
{
    for (uint32_t i = 0; i < c->k->n_buffers && !c->fault; i++) {
        if (!ir_is_output(&c->k->buffers[i])) continue;
        const uint32_t bits = sc_type_info[c->k->buffers[i].type].bits;
        const int64_t in_byte = ir_is_packed(c->k->buffers[i].type) ? 8 / bits : 1; /* threads store whole bytes */
        const int64_t elements = p ? plan_stored(p, of, i) : c->k->buffers[i].elements;
        const int64_t wanted = (elements + in_byte - 1) / in_byte * in_byte;
        if (c->count[i] == wanted) continue;
        c->fault = wbb_format(c->arena, "%%%s: %lld of %lld elements are stored", c->k->buffers[i].name,
                              (long long)c->count[i], (long long)wanted);
    }
}

const char *pipe_thread_map(WbbCx *cx, WbbArena *a, const IrKernel *k, const Plan *p, const PlanKernel *of,
                            int64_t *stored)
{
    WbbArena *scratch = wbb_arena_new(cx);
    ThreadMap c = {.cx = cx, .arena = scratch, .k = k, .g = k->g};
    c.computed = WBB_NEW_N(scratch, uint8_t, k->g->n);
    c.value = WBB_NEW_N(scratch, int64_t, k->g->n);
    c.variable = WBB_NEW_N(scratch, int64_t, k->g->n_vars + 1);
    c.stored = WBB_NEW_N(scratch, uint64_t *, k->n_buffers + 1);
    c.count = WBB_NEW_N(scratch, int64_t, k->n_buffers + 1);
    Work *items;
    const uint32_t n = collect(&c, &k->body, &items);
    for (uint32_t i = 0; i < k->n_buffers; i++)
        if (ir_is_output(&k->buffers[i]) && k->buffers[i].elements > most_elements)
            c.fault = wbb_format(scratch, "%%%s has too many elements to enumerate", k->buffers[i].name);
    for (c.position = 0; c.position < (c.run_time ? POSITIONS : 1u) && !c.fault; c.position++) {
        WbbArena *bits = wbb_arena_new(cx);
        for (uint32_t i = 0; i < k->n_buffers; i++) {
            c.count[i] = 0;
            if (ir_is_output(&k->buffers[i])) c.stored[i] = WBB_NEW_N(bits, uint64_t, k->buffers[i].elements / 64 + 1);
        }
        run_grid(&c, items, n);
        compare(&c, p, of);
        wbb_arena_free(bits);
    }
    *stored = 0;
    for (uint32_t i = 0; i < k->n_buffers; i++) *stored += c.count[i];
    const char *fault = c.fault ? wbb_format(a, "%s", c.fault) : NULL;
    wbb_arena_free(scratch);
    return fault;
}
