/* vectorize.c: `for v in 0..n lanes n` becomes straight code on lanes 0..n-1.
 *
 * Needs a kernel after `lower`; leaves no lanes loop. Each node that depends on v becomes n scalars, or n/2 pairs where the
 * target's PACKED table has its operation at two lanes; what does not depend on v stays one value. Values change form on demand
 * by `part` and `pack`. Loads and stores of neighbouring lanes become one access as wide as these allow: the index sums differ by
 * exactly 1, the first index is a multiple of the width (facts), and the bytes do not exceed the target's widest access or the
 * buffer's alignment.
 *
 *     store %out[8*t + v], max.bf16(load %in[8*t + v], 0.0)      lanes 8, PACKED has max.bf16x2
 * =>  x = load.bf16x8 %in[8*t];  store %out[8*t], pack(pack(max.bf16x2(part<0>(x), 0.0), ..), pack(..))
 */
#include "rewrite/inner.h"

enum { MAX_LANES = 32 };

typedef struct {
    uint8_t form; /* see below */
    uint8_t width[MAX_LANES]; /* LOADS: lanes of the access that starts here, 0 inside one */
    IrRef at[MAX_LANES];      /* PAIRS: at[2j]; LOADS: at[start] is the access */
} Value;
enum { UNIFORM, SCALARS, PAIRS, LOADS };

typedef struct {
    RwCx *rw;
    const IrKernel *k;
    uint32_t var, lanes, vector_bytes, n; /* n: refs when the loop was met */
    Value **value;                        /* by old ref */
    uint8_t *varies;
} Lanes;

static IrType with_lanes(IrType t, uint32_t lanes)
{
    uint32_t log2 = 0;
    while (1u << log2 < lanes) log2++;
    return IR_TYPE(IR_SC(t), log2);
}

static bool packs(const RwTables *t, const IrNode *n, ScType from)
{
    for (uint32_t i = 0; i < t->n_packed; i++) {
        const RwPacked *p = &t->packed[i];
        if (p->lanes == 2 && p->op == n->op && p->type == IR_SC(n->type) && p->from == from) return true;
    }
    return false;
}

/* --- forms of a value ----------------------------------------------------------------------------------------------------------- */
static IrRef scalar(Lanes *l, IrRef r, uint32_t lane);

/* The access of a LOADS value that holds a lane: its first lane. */
static uint32_t access_of(const Value *v, uint32_t lane)
{
    while (v->width[lane] == 0) lane--;
    return lane;
}

/* Lanes [lane, lane + count) of r as one node; count a power of two, lane a multiple of it. */
static IrRef span(Lanes *l, IrRef r, uint32_t lane, uint32_t count)
{
    if (count == 1) return scalar(l, r, lane);
    const IrType type = with_lanes(ir_at(l->rw->g, r)->type, count);
    const Value *v = l->varies[r] ? l->value[r] : NULL;
    if (!v) return rw_make(l->rw, OP_SPLAT, type, 0, r, 0, 0, 0);
    if (v->form == PAIRS && count == 2) return v->at[lane];
    if (v->form == LOADS) {
        const uint32_t first = access_of(v, lane);
        if (lane + count <= first + v->width[first]) return rw_make(l->rw, OP_PART, type, 0, v->at[first], 0, 0, lane - first);
    }
    const IrRef low = span(l, r, lane, count / 2), high = span(l, r, lane + count / 2, count / 2);
    return rw_make(l->rw, OP_PACK, type, 0, low, high, 0, 0);
}

static IrRef scalar(Lanes *l, IrRef r, uint32_t lane)
{
    const Value *v = l->varies[r] ? l->value[r] : NULL;
    if (!v) return r;
    if (v->form == SCALARS) return v->at[lane];
    const IrType type = with_lanes(ir_at(l->rw->g, r)->type, 1);
    if (v->form == PAIRS) return rw_make(l->rw, OP_PART, type, 0, v->at[lane & ~1u], 0, 0, lane & 1u);
    const uint32_t first = access_of(v, lane);
    return rw_make(l->rw, OP_PART, type, 0, v->at[first], 0, 0, lane - first);
}

/* --- accesses -------------------------------------------------------------------------------------------------------------------- */
static bool follows(Lanes *l, IrRef x, IrRef y)
{
    const IrRef d = rw_sub(l->rw, y, x);
    return ir_is_const(l->rw->g, d) && ir_at(l->rw->g, d)->imm == 1;
}

/* How many lanes from `lane` on one access of `buffer` can take; says in `why` what stopped it from being twice as wide. */
static uint32_t widest(Lanes *l, uint32_t buffer, const IrRef *index, uint32_t lane, const char **why)
{
    const IrBuffer *b = &l->k->buffers[buffer];
    const uint32_t bytes = sc_bytes(b->type);
    for (uint32_t w = 1;; w *= 2) {
        if (2 * w * bytes > l->vector_bytes) return *why = "the widest access of the target", w;
        if (2 * w * bytes > b->align) return *why = "the alignment of the buffer", w;
        if (lane + 2 * w > l->lanes) return *why = "all that a thread needs at once", w;
        if (!ir_multiple(l->rw->g, index[lane], 2 * w)) return *why = "the first index is not a multiple of the next width", w;
        for (uint32_t i = lane; i + 1 < lane + 2 * w; i++)
            if (!follows(l, index[i], index[i + 1])) return *why = "neighbouring lanes are not neighbours in memory", w;
    }
}

static void note_access(Lanes *l, uint32_t buffer, bool store, uint32_t width, const char *why)
{
    RwAccess a = {.buffer = buffer, .store = store, .lanes = width, .count = 1, .why = why};
    for (uint32_t i = 0; i < l->rw->accesses.n; i++) {
        RwAccess *old = &l->rw->accesses.items[i];
        if (old->buffer == buffer && old->store == store && old->lanes == width && old->why == why) {
            old->count++;
            return;
        }
    }
    WBB_PUSH(l->rw->arena, &l->rw->accesses, a);
}

static void load_lanes(Lanes *l, IrRef r, Value *v)
{
    const IrNode n = *ir_at(l->rw->g, r);
    const uint32_t buffer = (uint32_t)ir_at(l->rw->g, n.a[0])->imm;
    IrRef index[MAX_LANES];
    for (uint32_t i = 0; i < l->lanes; i++) index[i] = scalar(l, n.a[1], i);
    v->form = LOADS;
    for (uint32_t i = 0; i < l->lanes;) {
        const char *why;
        const uint32_t w = widest(l, buffer, index, i, &why);
        v->width[i] = (uint8_t)w;
        v->at[i] = rw_make(l->rw, OP_LOAD, with_lanes(n.type, w), n.flags, n.a[0], index[i], 0, 0);
        if (i == 0 || index[i] != index[i - 1]) note_access(l, buffer, false, w, why);
        i += w;
    }
}

/* --- nodes ------------------------------------------------------------------------------------------------------------------------ */
static IrRef index_lane(Lanes *l, IrRef r, uint32_t lane)
{
    IrGraph *g = l->rw->g;
    const IrNode n = *ir_at(g, r);
    if (n.op == OP_VAR) return n.imm == l->var ? ir_index(g, g->vars[l->var].lo + (int64_t)lane) : r;
    if (n.op != OP_SUM)
        return rw_make(l->rw, (ScOp)n.op, n.type, n.flags, n.a[0] ? scalar(l, n.a[0], lane) : 0, n.a[1] ? scalar(l, n.a[1], lane) : 0, 0, n.imm);
    IrTerm *terms = WBB_NEW_N(l->rw->arena, IrTerm, n.a[1]);
    for (uint32_t i = 0; i < n.a[1]; i++) {
        const IrTerm t = g->terms[n.a[0] + i];
        terms[i] = (IrTerm){.coefficient = t.coefficient, .ref = scalar(l, t.ref, lane)};
        g = l->rw->g;
    }
    return rw_sum(l->rw, (int64_t)n.imm, terms, n.a[1]);
}

static void node_lanes(Lanes *l, IrRef r)
{
    IrGraph *g = l->rw->g;
    const IrNode n = *ir_at(g, r);
    Value *v = l->value[r] = WBB_NEW(l->rw->arena, Value);
    g->making_rule = g->rule[r];
    g->making_origin = g->origin[r];
    v->form = SCALARS;
    if (n.op == OP_LOAD) {
        load_lanes(l, r, v);
    } else if (rw_is_index(g, r)) {
        for (uint32_t i = 0; i < l->lanes; i++) v->at[i] = index_lane(l, r, i);
    } else if (l->lanes > 1 && packs(l->rw->target, &n, IR_SC(ir_at(g, n.a[0])->type))) {
        v->form = PAIRS;
        for (uint32_t i = 0; i < l->lanes; i += 2) {
            IrRef x[3] = {0, 0, 0};
            for (uint32_t a = 0; a < 3 && n.a[a]; a++) x[a] = span(l, n.a[a], i, 2);
            v->at[i] = rw_make(l->rw, (ScOp)n.op, with_lanes(n.type, 2), n.flags, x[0], x[1], x[2], n.imm);
        }
    } else {
        for (uint32_t i = 0; i < l->lanes; i++) {
            IrRef x[3] = {0, 0, 0};
            for (uint32_t a = 0; a < 3 && n.a[a]; a++) x[a] = scalar(l, n.a[a], i);
            v->at[i] = rw_make(l->rw, (ScOp)n.op, n.type, n.flags, x[0], x[1], x[2], n.imm);
        }
    }
}

static bool varies(const Lanes *l, const IrGraph *g, IrRef r)
{
    const IrNode *n = ir_at(g, r);
    if (n->op == OP_VAR) return n->imm == l->var;
    if (n->op == OP_SUM) {
        for (uint32_t i = 0; i < n->a[1]; i++)
            if (l->varies[g->terms[n->a[0] + i].ref]) return true;
        return false;
    }
    return l->varies[n->a[0]] || l->varies[n->a[1]] || l->varies[n->a[2]];
}

static void store_lanes(Lanes *l, const IrStmt *s, IrBlock *out)
{
    IrRef index[MAX_LANES];
    for (uint32_t i = 0; i < l->lanes; i++) index[i] = scalar(l, s->index, i);
    for (uint32_t i = 0; i < l->lanes;) {
        const char *why;
        const uint32_t w = widest(l, s->buffer, index, i, &why);
        IrStmt *store = ir_stmt(l->rw->g, out, IR_STORE);
        store->buffer = s->buffer;
        store->index = index[i];
        store->value = span(l, s->value, i, w);
        note_access(l, s->buffer, true, w, why);
        i += w;
    }
}

/* The statements of a lanes loop, which are stores only, appended to `out` as straight code. */
/* The emitter makes no others; IR as text may hold them. */
static void check_loop(RwCx *rw, const IrStmt *loop)
{
    const char *name = rw->g->vars[loop->var].name;
    if (loop->lanes > MAX_LANES || (loop->lanes & (loop->lanes - 1)))
        wbb_fail(rw->cx, (WbbLoc){0}, "loop over %s: %u lanes; a power of two up to %d is vectorised", name, loop->lanes, MAX_LANES);
    for (uint32_t i = 0; i < loop->body.n; i++)
        if (loop->body.items[i]->kind != IR_STORE) wbb_fail(rw->cx, (WbbLoc){0}, "loop over %s: of a loop of lanes only stores are vectorised", name);
}

static void expand_loop(RwCx *rw, const IrKernel *k, const IrStmt *loop, uint32_t vector_bytes, IrBlock *out)
{
    check_loop(rw, loop);
    WbbArena *scratch = wbb_arena_new(rw->cx);
    Lanes l = {.rw = rw, .k = k, .var = loop->var, .lanes = loop->lanes, .vector_bytes = vector_bytes, .n = rw->g->n};
    IrKernel part = *k;
    part.body = loop->body;
    const uint8_t *need = rw_needed(rw, scratch, &part);
    l.value = WBB_NEW_N(scratch, Value *, l.n);
    l.varies = WBB_NEW_N(scratch, uint8_t, l.n);
    for (IrRef r = 1; r < l.n; r++) {
        if (!need[r] || !varies(&l, rw->g, r)) continue;
        l.varies[r] = 1;
        node_lanes(&l, r);
    }
    rw->g->making_rule = rw->g->making_origin = 0;
    for (uint32_t i = 0; i < loop->body.n; i++) store_lanes(&l, loop->body.items[i], out);
    wbb_arena_free(scratch);
}

static void expand_block(RwCx *rw, const IrKernel *k, IrBlock *b, uint32_t vector_bytes)
{
    IrBlock out = {0};
    for (uint32_t i = 0; i < b->n; i++) {
        IrStmt *s = b->items[i];
        if (s->kind == IR_FOR && s->lanes) {
            expand_loop(rw, k, s, vector_bytes, &out);
            continue;
        }
        expand_block(rw, k, &s->body, vector_bytes);
        expand_block(rw, k, &s->otherwise, vector_bytes);
        WBB_PUSH(rw->g->arena, &out, s);
    }
    *b = out;
}

void rw_vectorize(RwCx *rw, IrKernel *k, uint32_t vector_bytes)
{
    expand_block(rw, k, &k->body, vector_bytes);
}

uint32_t rw_accesses(const RwCx *rw, const RwAccess **accesses)
{
    *accesses = rw->accesses.items;
    return rw->accesses.n;
}
