/* sort_merge.c: neighbouring runs of a row become one; each block makes a stretch of it.
 *
 * Needs a stage of a later launch of a sort; leaves its statements. A block finds how many elements of the first run
 * are among those before its stretch, and before the end of it; it loads its part of the first run, and its part of the
 * second one from behind, and puts these in order (sort_network.c).
 *
 * How many are among the first d, f(d), a warp finds along a diagonal, 32 elements at once; a block has several d. If
 * the comparator contradicts itself, f may fall, or rise by more than there are elements, and stretches would have some
 * elements twice and others never. So a block takes the largest function g that is no larger than f, does not fall, and
 * rises by no more than d does: g(d) = min over e of f(e) + max(d - e, 0). It is f itself if f is such, and has 0 at
 * the beginning and all of the first run at the end, as f has; all blocks of two runs find the same. Where there are
 * more d, g is found at some first, and then between two of these.
 *
 *     runs of 65536, 2048 elements a block, 8 warps with 4 d each     f at 32 places, 4096 apart; f in the middle
 */
#include "emit/sort.h"

enum { LANES = 32 };

/* Numbers of elements that are nodes on unsigned integers; `first` and `second` are places of runs in their row. */
typedef struct {
    IrRef row;            /* an index */
    IrRef first, second;
    IrRef d_low, d_high;  /* of a part of the merged run: elements before it, and before its end; */
    IrRef f_low, f_high;  /* those of them that the first run has */
    uint32_t searches;    /* of a warp at once */
    int64_t levels;       /* parts of parts, up to a block's */
} Part;

static IrRef minimum(const Sort *s, IrRef x, IrRef y) { return emit_sort_op(s, OP_MIN, x, y); }

/* x - y, or 0 where y is more. */
static IrRef less(const Sort *s, IrRef x, IrRef y) { return emit_sort_op(s, OP_SUB, emit_sort_op(s, OP_MAX, x, y), y); }

static IrRef *element_at(const Sort *s, const Part *p, IrRef place)
{
    const IrRef at = emit_start(s->m.e, place, 0, s->s->length - 1);
    IrRef *x = emit_sort_values(s);
    emit_sort_get(s, SHARE_PEERS, rw_add(s->m.rw, rw_scale(s->m.rw, p->row, s->s->length), at), x);
    return x;
}

/* What is left of the search for one f(d): it is in low .. high. */
typedef struct {
    IrRef d, low, high;
} Search;

static Search search_of(const Sort *s, const Part *p, IrRef d)
{
    const IrRef of_second = less(s, d, emit_sort_op(s, OP_SUB, p->d_high, p->f_high));
    const IrRef of_first = emit_sort_op(s, OP_SUB, d, emit_sort_op(s, OP_SUB, p->d_low, p->f_low));
    return (Search){d, emit_sort_op(s, OP_MAX, p->f_low, of_second), minimum(s, p->f_high, of_first)};
}

/* Is the first run's element number `of_first` among the first d? Then so are those before it. */
static IrRef is_among(const Sort *s, const Part *p, IrRef d, IrRef of_first)
{
    const IrRef from_end = emit_sort_op(s, OP_SUB, emit_sort_op(s, OP_SUB, d, emit_sort_u32(s, 1)), of_first);
    const IrRef *x = element_at(s, p, emit_sort_op(s, OP_ADD, p->first, of_first));
    const IrRef *y = element_at(s, p, emit_sort_op(s, OP_ADD, p->second, from_end));
    return emit_sort_compare(s, OP_EQ, emit_sort_is_before(s, y, x), ir_const(s->m.g, IR_TYPE(SC_PRED, 0), 0));
}

/* 32 lanes look at as many elements, a distance q from each other. */
static void search_step(const Sort *s, const Part *p, IrRef lane, Search *x)
{
    const Share *m = &s->m;
    const IrRef n = emit_sort_op(s, OP_SUB, x->high, x->low), five = emit_sort_u32(s, 5), one = emit_sort_u32(s, 1);
    const IrRef q = emit_sort_op(s, OP_SHRL, emit_sort_op(s, OP_ADD, n, emit_sort_u32(s, LANES - 1)), five);
    const IrRef ahead = emit_sort_op(s, OP_SUB, emit_sort_op(s, OP_MUL, emit_sort_op(s, OP_ADD, lane, one), q), one);
    const IrRef mine = emit_sort_op(s, OP_ADD, x->low, ahead);
    const IrRef inside = emit_sort_compare(s, OP_LT, ahead, n);
    const IrRef there = emit_sort_compare(s, OP_BAND, inside, is_among(s, p, x->d, mine));
    const IrRef ballot = ir_node(m->g, OP_BALLOT, IR_TYPE(SC_U32, 0), 0, there, 0, 0, 0);
    const IrRef all = ir_do(m->g, emit_block(m->e), emit_name(m->e, "b"), ballot, IR_TYPE(SC_U32, 0));
    emit_bound(m->e, all);
    const IrRef passed = emit_sort_op(s, OP_MUL, emit_share_node(m, OP_POPCNT, SC_U32, all, 0), q);
    x->low = emit_sort_op(s, OP_ADD, x->low, passed);
    x->high = emit_sort_op(s, OP_MAX, x->low, minimum(s, x->high, less(s, emit_sort_op(s, OP_ADD, x->low, q), one)));
}

/* f(d) of n searches, each in at most `width` elements. */
static void search(const Sort *s, const Part *p, Search *x, uint32_t n, int64_t width)
{
    const Share *m = &s->m;
    int64_t steps = 0;
    for (; width; width = (width + LANES - 1) / LANES - 1) steps++;
    IrRef *acc = WBB_NEW_N(m->a, IrRef, 2 * n), var;
    for (uint32_t k = 0; k < n; k++) acc[2 * k] = x[k].low, acc[2 * k + 1] = x[k].high;
    EmitLoop l = emit_for(m->e, "k", steps, 2 * n, acc, &var);
    const IrRef lane = emit_sort_number_of(s, rw_mod(m->rw, m->tid, LANES));
    for (uint32_t k = 0; k < n; k++) {
        x[k].low = acc[2 * k], x[k].high = acc[2 * k + 1];
        search_step(s, p, lane, &x[k]);
        acc[2 * k] = x[k].low, acc[2 * k + 1] = x[k].high;
    }
    emit_end_for(m->e, &l, 2 * n, acc);
    for (uint32_t k = 0; k < n; k++) x[k].low = acc[2 * k];
}

/* The least x[0] and x[1] of all warps, through memory from `at` on. */
static void minimum_of_block(const Sort *s, const Reduction *two, int64_t at, IrRef *x)
{
    const Share *m = &s->m;
    const int64_t warps = s->threads / LANES;
    const IrRef lane = rw_mod(m->rw, m->tid, LANES), warp = rw_floordiv(m->rw, m->tid, LANES);
    Partial p = {.x = x}, *all = WBB_NEW_N(m->a, Partial, (size_t)warps);
    EmitIf first = emit_if(m->e, rw_compare(m->rw, OP_EQ, lane, ir_index(m->g, 0)));
    emit_share_put(m, two, SHARE_WARPS, rw_add(m->rw, warp, ir_index(m->g, at)), &p);
    emit_close_if(m->e, &first);
    emit_share_barrier(m);
    emit_share_get(m, two, SHARE_WARPS, ir_index(m->g, at), warps, all);
    for (int64_t k = 0; k < warps; k++)
        for (uint32_t j = 0; j < 2; j++) x[j] = k ? minimum(s, x[j], all[k].x[j]) : all[k].x[j];
}

/* p becomes the part of it, of `step` elements, that has the block's stretch, which begins after d. */
static void narrow(const Sort *s, Part *p, const Reduction *two, int64_t at, IrRef d, int64_t step, int64_t width)
{
    const Share *m = &s->m;
    const uint32_t n = p->searches;
    const IrRef apart = emit_sort_u32(s, (uint32_t)step), mask = emit_sort_u32(s, (uint32_t)(step - 1));
    const IrRef in = emit_sort_op(s, OP_SUB, d, p->d_low), rest = emit_sort_op(s, OP_BAND, in, mask);
    const IrRef from = emit_sort_op(s, OP_ADD, p->d_low, emit_sort_op(s, OP_SUB, in, rest));
    const IrRef to = minimum(s, emit_sort_op(s, OP_ADD, from, apart), p->d_high);
    const IrRef warp = emit_sort_number_of(s, rw_floordiv(m->rw, m->tid, LANES));
    Search *mine = WBB_NEW_N(m->a, Search, n);
    for (uint32_t k = 0; k < n; k++) {
        const IrRef number = emit_sort_op(s, OP_ADD, warp, emit_sort_u32(s, (uint32_t)(k * s->threads / LANES)));
        const IrRef d_of = emit_sort_op(s, OP_ADD, p->d_low, emit_sort_op(s, OP_MUL, number, apart));
        mine[k] = search_of(s, p, minimum(s, d_of, p->d_high));
    }
    search(s, p, mine, n, width);
    IrRef x[2] = {p->f_high, p->f_high};
    for (uint32_t k = 0; k < n; k++) {
        x[0] = minimum(s, x[0], emit_sort_op(s, OP_ADD, mine[k].low, less(s, from, mine[k].d)));
        x[1] = minimum(s, x[1], emit_sort_op(s, OP_ADD, mine[k].low, less(s, to, mine[k].d)));
    }
    minimum_of_block(s, two, at, x);
    p->d_low = from, p->d_high = to, p->f_low = x[0], p->f_high = x[1];
}

/* Elements of a part of `width` elements' parts, of which a block chooses one. */
static int64_t step_of(const Sort *s, uint32_t searches, int64_t width)
{
    return WBB_MAX(width / (searches * s->threads / LANES), s->s->merged);
}

static int64_t levels_of(const Sort *s, uint32_t searches, int64_t width)
{
    int64_t levels = 0;
    for (; width > s->s->merged; width = step_of(s, searches, width)) levels++;
    return levels;
}

/* The part of a block, whose stretch begins at `place` of a row. */
static Part part_of(const Sort *s, IrRef row, IrRef place)
{
    const Share *m = &s->m;
    const int64_t run = s->s->tile << (s->s->pass - 1);
    const IrRef pair = rw_scale(m->rw, rw_floordiv(m->rw, place, 2 * run), 2 * run);
    const IrRef first = emit_sort_number_of(s, pair), n = emit_sort_u32(s, (uint32_t)s->s->length);
    const IrRef second = minimum(s, emit_sort_op(s, OP_ADD, first, emit_sort_u32(s, (uint32_t)run)), n);
    const IrRef end = minimum(s, emit_sort_op(s, OP_ADD, first, emit_sort_u32(s, (uint32_t)(2 * run))), n);
    Part p = {.row = row, .first = first, .second = second, .d_low = emit_sort_u32(s, 0), .f_low = emit_sort_u32(s, 0),
              .d_high = emit_sort_op(s, OP_SUB, end, first), .f_high = emit_sort_op(s, OP_SUB, second, first)};
    const IrRef d = emit_sort_op(s, OP_SUB, emit_sort_number_of(s, place), first);
    p.searches = s->s->searches, p.levels = levels_of(s, p.searches, 2 * run);
    while (p.searches > 1 && levels_of(s, p.searches / 2, 2 * run) == p.levels) p.searches /= 2;
    Reduction two = {.n = 2, .type = WBB_NEW_N(m->a, ScType, 2)};
    two.buffer[SHARE_WARPS] = m->e->k->n_buffers;
    for (uint32_t k = 0; k < 2; k++)
        emit_add_buffer(m->e, "least", IR_SHARED, two.type[k] = SC_U32, p.levels * (s->threads / LANES), false);
    for (int64_t width = 2 * run, step, at = 0; width > s->s->merged; width = step, at += s->threads / LANES) {
        step = step_of(s, p.searches, width);
        narrow(s, &p, &two, at, d, step, WBB_MIN(run, width));
    }
    return p;
}

/* The element of the part that comes to `place`, of the second run from the last place on. */
static IrRef *element_for(const Sort *s, const Part *p, IrRef place)
{
    const IrRef all = emit_sort_op(s, OP_SUB, p->d_high, p->d_low);
    const IrRef firsts = emit_sort_op(s, OP_SUB, p->f_high, p->f_low);
    const IrRef seconds = emit_sort_op(s, OP_SUB, all, firsts), q = emit_sort_number_of(s, place);
    const IrRef behind = emit_sort_op(s, OP_SUB, emit_sort_u32(s, (uint32_t)(s->places - 1)), q);
    const IrRef of_first = emit_sort_compare(s, OP_LT, q, firsts);
    const IrRef of_second = emit_sort_compare(s, OP_LT, behind, seconds);
    const IrRef from_first = emit_sort_op(s, OP_ADD, emit_sort_op(s, OP_ADD, p->first, p->f_low), q);
    const IrRef before = emit_sort_op(s, OP_SUB, p->d_low, p->f_low);
    const IrRef from_second = emit_sort_op(s, OP_ADD, emit_sort_op(s, OP_ADD, p->second, before), behind);
    IrRef *x = element_at(s, p, emit_sort_choose(s, SC_U32, of_first, from_first, from_second));
    const IrRef there = emit_sort_compare(s, OP_BOR, of_first, of_second);
    IrRef *position = &x[s->s->n_keys];
    if (!s->whole) *position = emit_sort_choose(s, s->s->position, there, *position, emit_sort_absent_position(s));
    return x;
}

static IrRef place_of(const Sort *s, int64_t k) { return rw_add(s->m.rw, s->m.tid, ir_index(s->m.g, k * s->threads)); }

static void load(const Sort *s, const Part *p)
{
    const Share *m = &s->m;
    const int64_t each = s->places / s->threads;
    IrRef **x = WBB_NEW_N(m->a, IrRef *, (size_t)each);
    for (int64_t k = 0; k < each; k++) x[k] = element_for(s, p, place_of(s, k));
    for (int64_t k = 0; k < each; k++) emit_sort_put(s, SHARE_WARPS, emit_sort_place(s, place_of(s, k)), x[k]);
    emit_share_barrier(m);
}

static void store_one(const Sort *s, IrRef row, IrRef start, IrRef place)
{
    const Share *m = &s->m;
    const int64_t n = s->s->length;
    const IrRef to = rw_add(m->rw, start, place), below = rw_compare(m->rw, OP_LT, to, ir_index(m->g, n));
    EmitIf inside = emit_if(m->e, below);
    const IrRef at = emit_let(m->e, "e", to, 0, n - 1);
    IrRef *x = emit_sort_values(s);
    emit_sort_get(s, SHARE_WARPS, emit_sort_place(s, place), x);
    if (s->s->pass == s->s->passes) emit_sort_store_results(s, row, at, x);
    else emit_sort_put(s, SHARE_BLOCKS, rw_add(m->rw, rw_scale(m->rw, row, n), at), x);
    emit_close_if(m->e, &inside);
}

void emit_sort_merge(const Sort *s)
{
    const Share *m = &s->m;
    const int64_t blocks = (s->s->length + s->s->merged - 1) / s->s->merged; /* of a row */
    const IrRef row = rw_floordiv(m->rw, m->bid, blocks);
    const IrRef start = rw_scale(m->rw, rw_mod(m->rw, m->bid, blocks), s->s->merged);
    const Part p = part_of(s, row, start);
    load(s, &p);
    emit_sort_merge_rounds(s);
    for (int64_t k = 0; k < s->places / s->threads; k++) store_one(s, row, start, place_of(s, k));
}
