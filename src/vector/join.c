/* join.c: elements of less than a word that follow each other in shared memory are read, and stored, together.
 *
 * Needs straight code; leaves one access where statements that nothing with an effect parts access neighbours, if the
 * first of them is a multiple of the width by facts: where the first read stood, and where the last store did. A loop
 * of lanes is one access where its lanes are neighbours; those of several loops are together what none of them is
 * alone. Words are left to LLVM: a bank serves them one by one in the same time.
 *
 *     a = do read.i8(%tile[4*t]); b = do read.i8(%tile[4*t + 2]); c = do read.i8(%tile[4*t + 1]); ..
 * =>  x = do read.i8x4(%tile[4*t]); a: part<0>(x); b: part<2>(x); c: part<1>(x); ..
 */
#include "vector/lanes.h"

enum { WORD_BITS = 32, MOST_ACCESSES = 512 }; /* in a run: each is compared with one of each group */

/* An access, in a run of statements that may change places. */
typedef struct {
    uint32_t statement; /* its number in the block */
    uint32_t lanes;
    IrRef index;
    uint32_t group;     /* its index differs by a constant from those of the group */
    int64_t constant;   /* .. this one, from the first of the group */
} Access;

typedef struct {
    Lanes *l;
    IrBlock *block;
    WbbArena *arena;
    Access *items;
    uint32_t n, n_groups, capacity;
    IrRef *leader;      /* by group: the index of its first access */
    uint32_t *buffer;   /* by group */
    bool stores;        /* they are stores, else reads */
} Run;

static bool is_narrow(const Lanes *l, uint32_t buffer)
{
    const IrBuffer *b = &l->k->buffers[buffer];
    const uint32_t bits = sc_type_info[b->type].bits;
    return b->space == IR_SHARED && bits >= 8 && bits < WORD_BITS && b->type != SC_PRED;
}

static bool is_read(const Lanes *l, const IrStmt *s)
{
    return s->kind == IR_DO && ir_at(l->g, s->value)->op == OP_READ;
}

/* Adds an access to the group from whose indices its own differs by a constant, or to a new one. */
static void add_access(Run *r, uint32_t statement, const IrStmt *s)
{
    Access x = {.statement = statement, .index = s->index, .group = r->n_groups};
    x.lanes = IR_LANES(ir_at(r->l->g, s->value)->type);
    for (uint32_t k = 0; k < r->n_groups && x.group == r->n_groups; k++) {
        if (r->buffer[k] != s->buffer) continue;
        const IrRef d = rw_sub(r->l->rw, s->index, r->leader[k]);
        if (ir_is_const(r->l->g, d)) x.group = k, x.constant = (int64_t)ir_at(r->l->g, d)->imm;
    }
    if (x.group == r->n_groups) r->leader[r->n_groups] = s->index, r->buffer[r->n_groups++] = s->buffer;
    uint32_t at = r->n++;
    for (; at > 0; at--) {
        const Access *o = &r->items[at - 1];
        if (o->group < x.group || (o->group == x.group && o->constant <= x.constant)) break;
        r->items[at] = *o;
    }
    r->items[at] = x;
}

/* How many accesses from number k on are one: neighbours, of which the first is a multiple of their number, lanes. */
static uint32_t together(const Run *r, uint32_t k, uint32_t *lanes)
{
    const Access *x = &r->items[k];
    const IrBuffer *b = &r->l->k->buffers[r->buffer[x->group]];
    const uint32_t most = WBB_MIN(WBB_MIN(r->l->vector_bytes, b->align) / sc_bytes(b->type), MAX_LANES);
    uint32_t best = 1, n = 0, at = 0;
    *lanes = x->lanes;
    while (k + at < r->n && n < most && x[at].group == x->group && x[at].constant == x->constant + n) {
        n += x[at++].lanes;
        const bool power = (n & (n - 1)) == 0;
        if (power && n <= most && ir_multiple(r->l->g, x->index, n)) best = at, *lanes = n;
    }
    return best;
}

/* --- one access in place of several ------------------------------------------------------------------------------- */
static void join_reads(const Run *r, uint32_t k, uint32_t n, uint32_t lanes, uint32_t first)
{
    Lanes *l = r->l;
    IrGraph *g = l->g;
    IrStmt **items = r->block->items;
    const IrStmt *s = items[r->items[k].statement];
    const IrType one = ir_at(g, s->value)->type, type = vec_with_lanes(one, lanes);
    const IrRef read = ir_node(g, OP_READ, type, ir_at(g, s->value)->flags, 0, 0, 0, 0);
    IrBlock made = {0};
    const IrRef all = ir_do_at(g, &made, g->values[s->results[0].value].name, read, type, s->buffer, s->index);
    for (uint32_t i = 0, lane = 0; i < n; lane += r->items[k + i++].lanes) {
        const uint32_t at = r->items[k + i].statement;
        const IrType part = vec_with_lanes(one, r->items[k + i].lanes);
        vec_replace_value(l, items[at]->results[0].value, rw_make(l->rw, OP_PART, part, 0, all, 0, 0, lane));
        items[at] = NULL;
    }
    items[first] = made.items[0];
}

/* So many lanes, from that lane of what n accesses store. */
static IrRef packed(const Run *r, const Access *x, uint32_t lane, uint32_t lanes)
{
    while (lane >= x->lanes) lane -= x++->lanes;
    const IrRef value = r->block->items[x->statement]->value;
    const IrType type = vec_with_lanes(ir_at(r->l->g, value)->type, lanes);
    if (lane == 0 && lanes == x->lanes) return value;
    if (lane + lanes <= x->lanes) return rw_make(r->l->rw, OP_PART, type, 0, value, 0, 0, lane);
    const IrRef low = packed(r, x, lane, lanes / 2), high = packed(r, x, lane + lanes / 2, lanes / 2);
    return rw_make(r->l->rw, OP_PACK, type, 0, low, high, 0, 0);
}

static void join_stores(const Run *r, uint32_t k, uint32_t n, uint32_t lanes, uint32_t last)
{
    IrStmt **items = r->block->items, made = *items[r->items[k].statement];
    made.value = packed(r, &r->items[k], 0, lanes);
    IrStmt *at_end = items[last];
    for (uint32_t i = 0; i < n; i++) items[r->items[k + i].statement] = NULL;
    *at_end = made;
    items[last] = at_end;
}

static void join(const Run *r, uint32_t k, uint32_t n, uint32_t lanes)
{
    uint32_t first = r->items[k].statement, last = first;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t at = r->items[k + i].statement, buffer = r->buffer[r->items[k].group];
        first = WBB_MIN(first, at), last = WBB_MAX(last, at);
        vec_join_access(r->l, buffer, r->stores, r->items[k + i].lanes, i ? 0 : lanes);
    }
    if (r->stores) join_stores(r, k, n, lanes, last);
    else join_reads(r, k, n, lanes, first);
}

/* Do all stores of the run to that group's buffer differ in their elements, so that their order makes no difference? */
static bool are_apart(const Run *r, uint32_t group)
{
    for (uint32_t k = 0; k < r->n_groups; k++)
        if (k != group && r->buffer[k] == r->buffer[group]) return false;
    for (uint32_t k = 0; k + 1 < r->n; k++) {
        const Access *x = &r->items[k], *y = x + 1;
        if (x->group == group && y->group == group && x->constant + x->lanes > y->constant) return false;
    }
    return true;
}

static void end_run(Run *r)
{
    for (uint32_t k = 0, n, lanes; k < r->n; k += n) {
        n = together(r, k, &lanes);
        if (n > 1 && (!r->stores || are_apart(r, r->items[k].group))) join(r, k, n, lanes);
        else n = 1;
    }
    r->n = r->n_groups = 0;
}

/* An `if` around stores to global memory: what a mask guards. Reads may move up beyond it. */
static bool is_masked_store(const Lanes *l, const IrStmt *s)
{
    if (s->kind != IR_IF || s->n_results || s->otherwise.n) return false;
    for (uint32_t i = 0; i < s->body.n; i++) {
        const IrStmt *x = s->body.items[i];
        if (x->kind != IR_STORE || l->k->buffers[x->buffer].space == IR_SHARED) return false;
    }
    return true;
}

/* Reads and stores of shared memory take turns; those of global memory are of other elements. What is bound between
 * stores stands before the last of them, where they are joined. */
static bool continues(const Run *r, const IrStmt *s)
{
    if (s->kind == IR_BIND) return r->n == 0 || r->stores;
    if (is_masked_store(r->l, s)) return r->n == 0 || !r->stores;
    const bool read = is_read(r->l, s);
    if (!read && s->kind != IR_STORE) return false;
    return r->l->k->buffers[s->buffer].space != IR_SHARED || r->n == 0 || read != r->stores;
}

static void join_block(Run *r, IrBlock *b)
{
    const Lanes *l = r->l;
    for (uint32_t i = 0; i < b->n; i++) {
        IrStmt *s = b->items[i];
        Run inner = *r;
        inner.n = inner.n_groups = 0;
        if (!continues(r, s) || r->n == r->capacity) {
            r->block = b;
            end_run(r);
        }
        if (!is_masked_store(l, s)) {
            join_block(&inner, &s->body);
            join_block(&inner, &s->otherwise);
        }
        const bool read = is_read(l, s);
        if ((!read && s->kind != IR_STORE) || !is_narrow(l, s->buffer)) continue;
        r->stores = !read;
        add_access(r, i, s);
    }
    r->block = b;
    end_run(r);
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->n; i++)
        if (b->items[i]) b->items[n++] = b->items[i];
    b->n = n;
}

void vec_join(Lanes *l, IrBlock *b)
{
    bool any = false;
    for (uint32_t k = 0; k < l->k->n_buffers; k++) any = any || is_narrow(l, k);
    if (!any) return;
    WbbArena *a = wbb_arena_new(l->g->cx);
    Run r = {.l = l, .arena = a, .capacity = MOST_ACCESSES, .items = WBB_NEW_N(a, Access, MOST_ACCESSES),
             .leader = WBB_NEW_N(a, IrRef, MOST_ACCESSES), .buffer = WBB_NEW_N(a, uint32_t, MOST_ACCESSES)};
    join_block(&r, b);
    wbb_arena_free(a);
}
