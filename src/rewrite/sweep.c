/* sweep.c: the door through which nodes are made, and the passes, each one sweep.
 *
 * A pass marks what the statements need (refs are topological: one descending loop), then builds every needed node anew from its
 * new operands, ascending, through the door. The door folds constants and applies the rules of the node's stratum until none
 * matches, so that a node is born in normal form, a second sweep changes nothing, and facts are final.
 *
 * `select` is a cover and runs the other way: from the statements down, the first tile of the list that fits and swallows no
 * value with other uses; then the chosen tiles are built, operands first.
 */
#include "rewrite/inner.h"

enum { MAX_DEPTH = 1000, MAX_FIRINGS = 1000000 }; /* of rules that fire within rules, and one after the other: asserts, the strata end long before */
enum { LONG_SUM = 24 };

RwCx *rw_new(WbbCx *cx, WbbArena *a, IrGraph *g, const RwTables *index, const RwTables *target, bool approx)
{
    RwCx *rw = WBB_NEW(a, RwCx);
    *rw = (RwCx){.cx = cx, .arena = a, .g = g, .index = index, .target = target, .approx = approx, .stratum = -1};
    rw->counts[0] = WBB_NEW_N(a, uint32_t, target->n_rules + 1);
    rw->counts[1] = WBB_NEW_N(a, uint32_t, index->n_rules + 1);
    rw->disabled[0] = WBB_NEW_N(a, uint8_t, target->n_rules + 1);
    rw->disabled[1] = WBB_NEW_N(a, uint8_t, index->n_rules + 1);
    return rw;
}

IrGraph *rw_graph(RwCx *rw) { return rw->g; }

static inline bool is_index(const IrGraph *g, const IrNode *n)
{
    if (IR_SC(n->type) == SC_INDEX) return true;
    return IR_SC(n->type) == SC_PRED && sc_op_info[n->op].signature == SC_COMPARE && IR_SC(ir_at(g, n->a[0])->type) == SC_INDEX;
}

bool rw_is_index(const IrGraph *g, IrRef r) { return is_index(g, ir_at(g, r)); }

/* --- one node ------------------------------------------------------------------------------------------------------------- */
static IrRef fold(RwCx *rw, IrRef r)
{
    const IrNode *at = ir_at(rw->g, r);
    if (ir_in_pool(at) || !at->a[0] || !ir_is_const(rw->g, at->a[0])) return 0; /* most nodes */
    const IrNode n = *at;
    if (sc_op_info[n.op].signature == SC_FRAME) return 0;
    uint64_t x[3] = {0, 0, 0}, bits;
    for (uint32_t i = 0; i < 3 && n.a[i]; i++) {
        if (!ir_is_const(rw->g, n.a[i])) return 0;
        x[i] = ir_at(rw->g, n.a[i])->imm;
    }
    const ScType from = IR_SC(ir_at(rw->g, n.a[0])->type), type = IR_SC(n.type);
    const uint8_t sig = sc_op_info[n.op].signature;
    if (!sc_eval((ScOp)n.op, sig == SC_COMPARE || sig == SC_TEST ? from : type, from, x, &bits)) return 0;
    return type == SC_INDEX ? ir_index(rw->g, (int64_t)bits) : ir_const(rw->g, n.type, bits);
}

static IrRef fold_frame(RwCx *rw, IrRef r)
{
    const IrGraph *g = rw->g;
    if (sc_op_info[ir_at(g, r)->op].signature != SC_FRAME) return 0;
    const IrNode n = *ir_at(g, r);
    if (n.op == OP_IDX && ir_is_const(g, n.a[0])) return ir_const(rw->g, n.type, sc_from_i128(IR_SC(n.type), (int64_t)ir_at(g, n.a[0])->imm));
    if (n.op == OP_SPLAT && ir_is_const(g, n.a[0])) return ir_const(rw->g, n.type, ir_at(g, n.a[0])->imm);
    if (n.op == OP_PACK && n.a[0] == n.a[1] && ir_is_const(g, n.a[0])) return ir_const(rw->g, n.type, ir_at(g, n.a[0])->imm);
    if (n.op != OP_PART) return 0;
    const IrNode x = *ir_at(g, n.a[0]);
    if (x.type == n.type) return n.a[0];
    if (x.op == OP_CONST) return ir_const(rw->g, n.type, x.imm);
    if (x.op == OP_SPLAT) return IR_LANES(n.type) == 1 ? x.a[0] : rw_make(rw, OP_SPLAT, n.type, 0, x.a[0], 0, 0, 0);
    if (x.op != OP_PACK) return 0;
    const uint64_t half = IR_LANES(x.type) / 2;
    if (n.imm + IR_LANES(n.type) <= half) return rw_make(rw, OP_PART, n.type, 0, x.a[0], 0, 0, n.imm);
    if (n.imm >= half) return rw_make(rw, OP_PART, n.type, 0, x.a[1], 0, 0, n.imm - half);
    return 0;
}

static IrRef apply(RwCx *rw, IrRef r)
{
    const bool index = is_index(rw->g, ir_at(rw->g, r));
    const int stratum = index ? RW_INDEX : rw->stratum;
    if (stratum < 0 || stratum == RW_SELECT) return 0;
    const RwTables *t = index ? rw->index : rw->target;
    Match m;
    const uint32_t *build;
    rw->visits++;
    for (bool ok = rw_match(rw, t, (RwStratum)stratum, r, &m, &build); ok; ok = rw_match_next(rw, &m, &build)) {
        const uint32_t rule = m.rule, outer_rule = rw->g->making_rule, outer_origin = rw->g->making_origin;
        rw->g->making_rule = (rule + 1) | (index ? IR_INDEX_RULE : 0);
        if (rw->g->origin[r]) rw->g->making_origin = rw->g->origin[r];
        const IrRef result = rw_build(rw, t, r, &m, build);
        rw->g->making_rule = outer_rule;
        rw->g->making_origin = outer_origin;
        if (result) {
            assert(result != r);
            rw_record(rw, t, rule, r, result);
            return result;
        }
    }
    return 0;
}

static void grow_normal(RwCx *rw)
{
    const uint32_t room = rw->g->room;
    rw->normal = wbb_grow(rw->arena, rw->normal, rw->normal_room * sizeof *rw->normal, room * sizeof *rw->normal);
    rw->normal_room = room;
}

static inline IrRef *normal_slot(RwCx *rw, IrRef r)
{
    if (rw->normal_room <= r) grow_normal(rw);
    return &rw->normal[r];
}

/* The normal form of a node whose operands are normal. */
static IrRef normalize(RwCx *rw, IrRef r)
{
    if (rw->plain) return r;
    const IrRef known = *normal_slot(rw, r);
    if (known) return known;
    if (rw->depth == MAX_DEPTH) rw_out_of_fuel(rw, r);
    rw->depth++;
    IrRef n = r;
    for (uint32_t firings = 0;; firings++) {
        if (firings == MAX_FIRINGS) rw_out_of_fuel(rw, r);
        IrRef next = fold_frame(rw, n);
        if (!next) next = fold(rw, n);
        if (!next && ir_at(rw->g, n)->op == OP_SUM && ir_at(rw->g, n)->a[1] > LONG_SUM) next = rw_regroup(rw, n);
        if (!next || next == n) next = apply(rw, n);
        if (!next || next == n) break;
        n = next;
        const IrRef known_next = *normal_slot(rw, n);
        if (!known_next) continue;
        n = known_next;
        break;
    }
    rw->depth--;
    *normal_slot(rw, r) = n;
    if (n != r) *normal_slot(rw, n) = n;
    return n;
}

IrRef rw_step(RwCx *rw, RwStratum stratum, IrRef root, uint32_t *rule)
{
    const RwTables *t = stratum == RW_INDEX ? rw->index : rw->target;
    Match m;
    const uint32_t *build;
    *rule = RW_FOLDED;
    rw->plain = true;
    IrRef result = fold_frame(rw, root);
    if (!result) result = fold(rw, root);
    for (bool ok = !result && rw_match(rw, t, stratum, root, &m, &build); ok && !result; ok = !result && rw_match_next(rw, &m, &build)) {
        *rule = m.rule;
        result = rw_build(rw, t, root, &m, build);
    }
    rw->plain = false;
    return result;
}

IrRef rw_make(RwCx *rw, ScOp op, IrType type, uint32_t flags, IrRef a, IrRef b, IrRef c, uint64_t imm)
{
    return normalize(rw, ir_node(rw->g, op, type, flags, a, b, c, imm));
}

IrRef rw_sum(RwCx *rw, int64_t constant, const IrTerm *terms, uint32_t n)
{
    return normalize(rw, ir_sum(rw->g, constant, terms, n, NULL));
}

IrRef rw_try_sum(RwCx *rw, int64_t constant, const IrTerm *terms, uint32_t n)
{
    bool overflow = false;
    const IrRef r = ir_sum(rw->g, constant, terms, n, &overflow);
    return overflow ? 0 : normalize(rw, r);
}

IrRef rw_add(RwCx *rw, IrRef x, IrRef y) { return rw_sum(rw, 0, (IrTerm[]){{1, x}, {1, y}}, 2); }
IrRef rw_sub(RwCx *rw, IrRef x, IrRef y) { return rw_sum(rw, 0, (IrTerm[]){{1, x}, {-1, y}}, 2); }
IrRef rw_scale(RwCx *rw, IrRef x, int64_t k) { return rw_sum(rw, 0, (IrTerm[]){{k, x}}, 1); }

IrRef rw_floordiv(RwCx *rw, IrRef x, int64_t k)
{
    assert(k > 0);
    return rw_make(rw, OP_FLOORDIV, IR_TYPE(SC_INDEX, 0), 0, x, ir_index(rw->g, k), 0, 0);
}

IrRef rw_mod(RwCx *rw, IrRef x, int64_t k)
{
    assert(k > 0);
    return rw_make(rw, OP_MOD, IR_TYPE(SC_INDEX, 0), 0, x, ir_index(rw->g, k), 0, 0);
}

IrRef rw_compare(RwCx *rw, ScOp op, IrRef x, IrRef y) { return rw_make(rw, op, IR_TYPE(SC_PRED, 0), 0, x, y, 0, 0); }

/* --- a kernel ---------------------------------------------------------------------------------------------------------------- */
static void map_block(IrBlock *b, RwMap map, void *arg)
{
    for (uint32_t i = 0; i < b->n; i++) {
        IrStmt *s = b->items[i];
        if (s->index) s->index = map(arg, s->index);
        if (s->value) s->value = map(arg, s->value);
        if (s->condition) s->condition = map(arg, s->condition);
        for (uint32_t r = 0; r < s->n_results; r++) {
            IrResult *x = &s->results[r];
            if (x->init) x->init = map(arg, x->init);
            x->yield = map(arg, x->yield);
            if (x->otherwise) x->otherwise = map(arg, x->otherwise);
        }
        map_block(&s->body, map, arg);
        map_block(&s->otherwise, map, arg);
    }
}

void rw_map_statements(IrKernel *k, RwMap map, void *arg)
{
    for (uint32_t i = 0; i < k->n_functions; i++) {
        IrFunction *f = k->functions[i];
        map_block(&f->body, map, arg);
        for (uint32_t y = 0; y < f->n_yields; y++) f->yields[y] = map(arg, f->yields[y]);
    }
    map_block(&k->body, map, arg);
}

static IrRef mark_root(void *arg, IrRef r)
{
    ((uint8_t *)arg)[r] = 1;
    return r;
}

static inline void need_one(WbbArena *a, IrRef x, IrRef r, uint8_t *need, IrRefs *stack)
{
    if (x > r && !need[x]) WBB_PUSH(a, stack, x);
    need[x] = 1;
}

/* Mark what i needs; what the loop, now at r, has passed goes on the stack. */
static inline void need_operands(const IrGraph *g, WbbArena *a, IrRef i, IrRef r, uint8_t *need, IrRefs *stack)
{
    const IrNode *n = ir_at(g, i);
    if (ir_in_pool(n))
        for (uint32_t o = 0; o < n->a[1]; o++) need_one(a, g->terms[n->a[0] + o].ref, r, need, stack);
    else
        for (uint32_t o = 0; o < 3; o++) need_one(a, n->a[o], r, need, stack);
    if (n->op == OP_VAR) need_one(a, g->vars[n->imm].definition, r, need, stack);
}

/* Operands are older than their users, so this is a loop over refs, newest first; but for definitions of variables, which may be younger
 * than these. */
uint8_t *rw_needed(RwCx *rw, WbbArena *a, const IrKernel *k)
{
    const IrGraph *g = rw->g;
    uint8_t *need = WBB_NEW_N(a, uint8_t, g->n);
    IrKernel same = *k; /* mark_root maps each ref to itself */
    IrRefs stack = {0};
    rw_map_statements(&same, mark_root, need);
    for (IrRef r = g->n - 1; r > 0; r--) {
        if (!need[r]) continue;
        need_operands(g, a, r, r, need, &stack);
        while (stack.n) need_operands(g, a, stack.items[--stack.n], r, need, &stack);
    }
    need[0] = 0;
    return need;
}

static IrRef replacement(void *made, IrRef old) { return ((const IrRef *)made)[old]; }

void rw_replace(IrKernel *k, IrRef *made)
{
    rw_map_statements(k, replacement, made);
    for (uint32_t v = 0; v < k->g->n_vars; v++)
        if (made[k->g->vars[v].definition]) k->g->vars[v].definition = made[k->g->vars[v].definition];
}

/* Every operand of r is what it was: r need not be looked up. */
static bool as_it_was(const IrGraph *g, const IrNode *n, const IrRef *made)
{
    if (!ir_in_pool(n)) return made[n->a[0]] == n->a[0] && made[n->a[1]] == n->a[1] && made[n->a[2]] == n->a[2];
    for (uint32_t i = 0; i < n->a[1]; i++)
        if (made[g->terms[n->a[0] + i].ref] != g->terms[n->a[0] + i].ref) return false;
    return true;
}

static IrRef rebuild(RwCx *rw, IrRef r, const IrRef *made)
{
    const IrNode n = *ir_at(rw->g, r);
    rw->g->making_rule = rw->g->rule[r];
    rw->g->making_origin = rw->g->origin[r];
    const bool function = rw->approx && rw->stratum == RW_SIMPLIFY && sc_op_info[n.op].costly && sc_is_float(IR_SC(n.type));
    const uint32_t flags = n.flags | (function ? (uint32_t)SC_FLAG_APPROX : 0);
    if (flags == n.flags && as_it_was(rw->g, &n, made)) return normalize(rw, r);
    if (n.op == OP_APPLY) return normalize(rw, ir_copy(rw->g, r, made, flags));
    if (n.op == OP_SUM) {
        IrTerm *terms = WBB_NEW_N(rw->arena, IrTerm, n.a[1]);
        for (uint32_t i = 0; i < n.a[1]; i++) {
            const IrTerm t = rw->g->terms[n.a[0] + i];
            terms[i] = (IrTerm){.coefficient = t.coefficient, .ref = made[t.ref]};
        }
        return rw_sum(rw, (int64_t)n.imm, terms, n.a[1]);
    }
    return rw_make(rw, (ScOp)n.op, n.type, flags, made[n.a[0]], made[n.a[1]], made[n.a[2]], n.imm);
}

/* `index`: index nodes too; those made through the door are in normal form already. */
static void sweep(RwCx *rw, IrKernel *k, bool index)
{
    WbbArena *scratch = wbb_arena_new(rw->cx);
    const uint32_t n = rw->g->n;
    const uint8_t *need = rw_needed(rw, scratch, k);
    IrRef *made = WBB_NEW_N(scratch, IrRef, n);
    for (IrRef r = 1; r < n; r++)
        if (need[r]) made[r] = !index && is_index(rw->g, ir_at(rw->g, r)) ? r : rebuild(rw, r, made);
    rw->g->making_rule = rw->g->making_origin = 0;
    rw_replace(k, made);
    wbb_arena_free(scratch);
}

void rw_index(RwCx *rw, IrKernel *k) { sweep(rw, k, true); }

/* --- select ------------------------------------------------------------------------------------------------------------------ */
static bool needs_tile(const IrGraph *g, IrRef r)
{
    const IrNode *n = ir_at(g, r);
    const uint8_t sig = sc_op_info[n->op].signature;
    return sig != SC_LEAF && sig != SC_FRAME && n->op != OP_COMPLEX && n->op != OP_RE && n->op != OP_IM && !rw_is_index(g, r);
}

/* A modifier that the target's FREE lists for its user: it costs nothing to say it once more. */
static bool is_free(const RwTables *t, const IrGraph *g, const IrNode *user, IrRef x)
{
    const IrNode *n = ir_at(g, x);
    for (uint32_t i = 0; i < t->n_free; i++)
        if (t->free[i].op == user->op && t->free[i].modifier == n->op && t->free[i].type == IR_SC(n->type)) return true;
    return false;
}

/* Lanes moved, not computed. */
static bool moves(const IrNode *n) { return n->op == OP_PACK || n->op == OP_PART || n->op == OP_SPLAT; }

/* No node strictly inside the tile is used outside of it. Uses are counted over what the kernel needs, tiles chosen so far
 * included: a tile with one operation swallows nothing. */
static bool swallows_shared(const RwTables *t, const IrGraph *g, IrRef root, const IrNode *tile, const uint32_t *uses)
{
    struct { IrRef user, x; } waiting[64];
    uint32_t n = 0;
    for (IrRef user = root;;) {
        for (uint32_t i = 0; i < 3; i++)
            if (ir_at(g, user)->a[i] && n < WBB_LEN(waiting)) waiting[n].user = user, waiting[n++].x = ir_at(g, user)->a[i];
        IrRef x;
        do {
            if (n == 0) return false;
            x = waiting[--n].x;
        } while (x == tile->a[0] || x == tile->a[1] || x == tile->a[2] || ir_is_const(g, x));
        const bool moved = moves(ir_at(g, x));
        if (!moved && !needs_tile(g, x)) return true;
        if (!moved && uses[x] > 1 && !is_free(t, g, ir_at(g, waiting[n].user), x)) return true;
        user = x;
    }
}

/* The tile for `r` as an instr node on old operands. */
static IrRef choose(RwCx *rw, IrRef r)
{
    Match m;
    const uint32_t *build;
    rw->g->making_origin = rw->g->origin[r];
    for (bool ok = rw_match(rw, rw->target, RW_SELECT, r, &m, &build); ok; ok = rw_match_next(rw, &m, &build)) {
        rw->g->making_rule = m.rule + 1;
        const IrRef tile = rw_build(rw, rw->target, r, &m, build);
        rw->g->making_rule = 0;
        if (!swallows_shared(rw->target, rw->g, r, ir_at(rw->g, tile), rw->uses)) {
            rw_record(rw, rw->target, m.rule, r, tile);
            return tile;
        }
    }
    WbbBuf text = wbb_buf(rw->arena);
    ir_print_node(&text, rw->g, r);
    wbb_decline(rw->cx, (WbbLoc){0}, WHY_NO_RULE, "%s: no INSTR rule takes %s", rw->target->name, text.text);
}

static void count_uses(const IrGraph *g, const uint8_t *need, uint32_t n, uint32_t *uses)
{
    for (IrRef r = 1; r < n; r++) {
        if (!need[r]) continue;
        const IrNode *x = ir_at(g, r);
        if (ir_in_pool(x)) continue;
        for (uint32_t i = 0; i < 3; i++) uses[x->a[i]]++;
    }
}

static IrRef count_root(void *arg, IrRef r)
{
    ((uint32_t *)arg)[r]++;
    return r;
}

/* Its operands are indices only. */
static bool on_indices(const IrGraph *g, IrRef r) { return ir_at(g, r)->op == OP_APPLY || rw_is_index(g, r); }

static void select_tiles(RwCx *rw, IrKernel *k)
{
    WbbArena *scratch = wbb_arena_new(rw->cx);
    IrGraph *g = rw->g;
    const uint32_t n = g->n;
    const uint8_t *need = rw_needed(rw, scratch, k);
    uint32_t *uses = WBB_NEW_N(scratch, uint32_t, n);
    count_uses(g, need, n, uses);
    rw_map_statements(k, count_root, uses);
    rw->uses = uses;
    rw->n_uses = n;
    IrRef *tile = WBB_NEW_N(scratch, IrRef, n), *made = WBB_NEW_N(scratch, IrRef, n);
    uint8_t *wanted = WBB_NEW_N(scratch, uint8_t, n);
    rw_map_statements(k, mark_root, wanted);
    for (IrRef r = n - 1; r > 0; r--) { /* users before operands */
        if (!wanted[r]) continue;
        tile[r] = needs_tile(g, r) ? choose(rw, r) : r;
        const IrNode *x = ir_at(g, tile[r]);
        if (on_indices(g, r)) continue; /* index expressions are lower/'s own */
        for (uint32_t i = 0; i < 3; i++) wanted[x->a[i]] = 1;
        wanted[0] = 0;
    }
    for (IrRef r = 1; r < n; r++) {
        if (!wanted[r]) continue;
        const IrNode x = *ir_at(g, tile[r]);
        g->making_rule = g->rule[tile[r]];
        g->making_origin = g->origin[tile[r]];
        made[r] = on_indices(g, r) ? r : ir_node(g, (ScOp)x.op, x.type, x.flags, made[x.a[0]], made[x.a[1]], made[x.a[2]], x.imm);
    }
    g->making_rule = g->making_origin = 0;
    rw_replace(k, made);
    rw->uses = NULL;
    rw->n_uses = 0;
    wbb_arena_free(scratch);
}

void rw_run(RwCx *rw, IrKernel *k, RwStratum stratum)
{
    assert(stratum != RW_INDEX);
    for (uint32_t r = 0; r < rw->normal_room; r++) /* index nodes stay normal for ever */
        if (r == 0 || r >= rw->g->n || !rw_is_index(rw->g, r)) rw->normal[r] = 0;
    rw->stratum = (int)stratum;
    if (stratum == RW_SELECT) select_tiles(rw, k);
    else sweep(rw, k, false);
    rw->stratum = -1;
#ifndef NDEBUG
    if (stratum == RW_SELECT) return;
    const uint32_t before = rw->n_events;
    rw->stratum = (int)stratum;
    sweep(rw, k, false);
    rw->stratum = -1;
    assert(rw->n_events == before); /* a second sweep changes nothing */
#endif
}
