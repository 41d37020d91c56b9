/* isel.c: instruction selection: covers each kernel with the target's tiles.
 *
 * Needs a kernel after `width`; leaves one whose element operations are instr nodes, one for each chosen tile.
 * Selection goes from the statements to the loads: each needed node gets the first tile of the list that matches and
 * contains no value with other uses. Then the chosen tiles are made, operands first.
 *
 *     add.f32(mul.f32(a, b), c)   =>   instr.f32<fma>(a, b, c), where the product has no other use
 */
#include "rewrite/inner.h"

static bool needs_tile(const IrGraph *g, IrRef r)
{
    const IrNode *n = ir_at(g, r);
    const uint8_t sig = sc_op_info[n->op].signature;
    return sig != SC_LEAF && sig != SC_FRAME && n->op != OP_COMPLEX && n->op != OP_RE && n->op != OP_IM &&
           !ir_is_index(g, r);
}

/* A modifier that the target's FREE lists for its user: applying it once more costs nothing. */
static bool is_free(const RwTables *t, const IrGraph *g, const IrNode *user, IrRef x)
{
    const IrNode *n = ir_at(g, x);
    for (uint32_t i = 0; i < t->n_free; i++)
        if (t->free[i].op == user->op && t->free[i].modifier == n->op && t->free[i].type == IR_SC(n->type)) return true;
    return false;
}

/* Moves lanes and computes nothing. */
static bool moves(const IrNode *n) { return n->op == OP_PACK || n->op == OP_PART || n->op == OP_SPLAT; }

/* Has the tile a node, other than its root and operands, that is used outside of it? Uses are those in the kernel
 * before selection. */
static bool contains_shared(const RwTables *t, const IrGraph *g, IrRef root, const IrNode *tile, const uint32_t *uses)
{
    struct { IrRef user, x; } waiting[64];
    uint32_t n = 0;
    for (IrRef user = root;;) {
        for (uint32_t i = 0; i < 3; i++)
            if (ir_at(g, user)->a[i] && n < WBB_LEN(waiting))
                waiting[n].user = user, waiting[n++].x = ir_at(g, user)->a[i];
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

/* The first tile for `r`, as an instr node on old operands; 0: no row takes it. */
static IrRef first_tile(RwCx *rw, IrRef r, Match *m)
{
    const uint32_t *build;
    for (bool ok = rw_match(rw, rw->target, RW_ISEL, r, m, &build); ok; ok = rw_match_next(rw, m, &build)) {
        rw->g->making_rule = m->rule + 1;
        const IrRef tile = rw_build(rw, rw->target, r, m, build);
        rw->g->making_rule = 0;
        if (tile && !contains_shared(rw->target, rw->g, r, ir_at(rw->g, tile), rw->uses)) return tile;
    }
    return 0;
}

static IrRef choose_tile(RwCx *rw, IrRef r)
{
    Match m;
    rw->g->making_origin = rw->g->origin[r];
    const IrRef tile = first_tile(rw, r, &m);
    if (tile) {
        rw_record(rw, rw->target, m.rule, r, tile);
        return tile;
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

static IrRef mark_root(void *arg, IrRef r)
{
    ((uint8_t *)arg)[r] = 1;
    return r;
}

static IrRef count_root(void *arg, IrRef r)
{
    ((uint32_t *)arg)[r]++;
    return r;
}

void rw_begin_tiles(RwCx *rw, IrKernel *k, WbbArena *a)
{
    const uint32_t n = rw->g->n;
    uint32_t *uses = WBB_NEW_N(a, uint32_t, n);
    count_uses(rw->g, ir_needed(rw->g, a, k), n, uses);
    ir_map_statements(k, count_root, uses);
    rw->uses = uses;
    rw->n_uses = n;
}

void rw_end_tiles(RwCx *rw)
{
    rw->uses = NULL;
    rw->n_uses = 0;
}

IrRef rw_tile(RwCx *rw, IrRef r)
{
    Match m;
    return needs_tile(rw->g, r) ? first_tile(rw, r, &m) : 0;
}

/* A node on indices alone. */
static bool on_indices(const IrGraph *g, IrRef r) { return ir_at(g, r)->op == OP_CALL || ir_is_index(g, r); }

void rw_isel(RwCx *rw, IrKernel *k)
{
    WbbArena *scratch = wbb_arena_new(rw->cx);
    IrGraph *g = rw->g;
    const uint32_t n = g->n;
    rw_begin_tiles(rw, k, scratch);
    IrRef *tile = WBB_NEW_N(scratch, IrRef, n), *made = WBB_NEW_N(scratch, IrRef, n);
    uint8_t *wanted = WBB_NEW_N(scratch, uint8_t, n);
    ir_map_statements(k, mark_root, wanted);
    for (IrRef r = n - 1; r > 0; r--) { /* users before operands */
        if (!wanted[r]) continue;
        tile[r] = needs_tile(g, r) ? choose_tile(rw, r) : r;
        const IrNode *x = ir_at(g, tile[r]);
        if (on_indices(g, r)) continue; /* llvm/ takes index expressions as they are */
        for (uint32_t i = 0; i < 3; i++) wanted[x->a[i]] = 1;
        wanted[0] = 0;
    }
    for (IrRef r = 1; r < n; r++) {
        if (!wanted[r]) continue;
        const IrNode x = *ir_at(g, tile[r]);
        g->making_rule = g->rule[tile[r]];
        g->making_origin = g->origin[tile[r]];
        made[r] = on_indices(g, r)
                      ? r
                      : ir_node(g, (ScOp)x.op, x.type, x.flags, made[x.a[0]], made[x.a[1]], made[x.a[2]], x.imm);
    }
    g->making_rule = g->making_origin = 0;
    ir_replace(k, made);
    rw_end_tiles(rw);
    wbb_arena_free(scratch);
}
