/* exchange_find.c: which values of a kernel are read in one order and stored in another.
 *
 * Needs the outputs of a kernel that loops over elements; leaves the space of its elements, the order in which they are
 * read, and the values that go through a tile. The order of memory is that of the index maps of all loads, whatever
 * operations move elements: the space has as many dimensions as these maps tell apart. A load that steps by one element
 * along a dimension which is not the outputs' fastest is transposed. Values go through the tile that lead from
 * transposed loads to the outputs, of all such sets the one with the fewest bits.
 *
 *     out = transpose(p0 + convert(p1)) * bias       =>   put p0 + convert(p1) to the tile; get it, store
 *     transpose(convert_f64(p0))                     =>   put p0; get it, store its conversion
 */
#include "plan/exchange.h"

#include <string.h>

typedef struct {
    PlanExchange *x;
    int64_t size[PLAN_EXCHANGE_DIMS];
    uint32_t n;
    PlanWalk w;     /* over one group for each dimension */
    uint32_t *root; /* [n_stored] its need */
    bool *crosses;  /* by need: a transposed load is below it */
    bool *ordered;  /* by need: a load is below it that is in the order of the outputs */
    bool *mapped;   /* by need: its index is a function of the root's */
    uint32_t *from; /* by need: the edge from the root, + 1 */
    uint32_t *bits; /* by need: the least that go through the tile */
    bool *cut;      /* by need: it goes through the tile itself, if what uses it does not */
} Finding;

/* --- the space ---------------------------------------------------------------------------------------------------- */
/* fastest: the dimensions in the order of memory, the fastest first; NULL: the last one is the fastest. */
static const HloShape *space_of(WbbArena *a, const int64_t *size, uint32_t n, const uint32_t *fastest)
{
    HloShape *s = WBB_NEW(a, HloShape);
    int64_t *dims = WBB_NEW_N(a, int64_t, n + 1u);
    uint8_t *order = WBB_NEW_N(a, uint8_t, n + 1u);
    for (uint32_t d = 0; d < n; d++) dims[d] = size[d], order[d] = (uint8_t)(fastest ? fastest[d] : n - 1 - d);
    *s = (HloShape){.type = SC_U8, .rank = (uint8_t)n, .dims = dims, .minor_to_major = order, .n_leaves = 1};
    return s;
}

/* What elements need, over the dimensions found so far. */
static void walk(Finding *f)
{
    PlanExchange *x = f->x;
    x->space = space_of(x->a, f->size, f->n, NULL);
    f->w = (PlanWalk){.a = x->a, .p = x->p, .rw = x->p->rw, .t = x->t, .space = plan_exchange_groups(x->a, x->space),
                      .n_space = f->n, .shape = x->space};
    plan_walk_begin(&f->w);
    for (uint32_t k = 0; k < x->n_stored[PLAN_FROM]; k++)
        f->root[k] = plan_exchange_output(x, &f->w, x->space, x->stored[PLAN_FROM][k]);
    plan_walk_run(&f->w);
}

/* By how many elements a node parts the positions of a dimension: x // n or x % n of its variable. Recursion: the
 * expressions of loads whose steps are known are small. */
static int64_t split_in(const Finding *f, IrRef node, uint32_t *dim)
{
    const IrGraph *g = rw_graph(f->w.rw);
    const IrNode *n = ir_at(g, node);
    const bool parts = (n->op == OP_FLOORDIV || n->op == OP_MOD) && ir_is_const(g, n->a[1]);
    for (uint32_t d = 0; parts && d < f->n; d++) {
        const int64_t by = (int64_t)ir_at(g, n->a[1])->imm;
        if (f->w.map->vars.items[d].node != n->a[0] || by <= 1 || by >= f->size[d] || f->size[d] % by) continue;
        *dim = d;
        return by;
    }
    for (uint32_t k = 0, arity = ir_arity(g, node); k < arity; k++) {
        const int64_t by = split_in(f, ir_operand(g, node, k), dim);
        if (by) return by;
    }
    return 0;
}

static IrRef offset_of(const Finding *f, const PlanNeed *x)
{
    return ix_linear(f->w.rw, plan_shape(x->value.i, x->value.part), x->index);
}

/* Parts a dimension where the index of some load does. */
static bool split(Finding *f)
{
    for (uint32_t k = 0; k < f->w.needs.n && f->n < PLAN_EXCHANGE_DIMS; k++) {
        uint32_t dim = 0;
        const PlanNeed *need = &f->w.needs.items[k];
        if (!need->load || f->w.loads.items[need->load - 1].step[0] == LAY_FAR) continue;
        const int64_t by = split_in(f, offset_of(f, need), &dim);
        if (!by) continue;
        memmove(f->size + dim + 1, f->size + dim, (f->n - dim) * sizeof *f->size);
        f->size[dim] /= by, f->size[dim + 1] = by;
        f->n++;
        return true;
    }
    return false;
}

/* Do all loads have the elements of two neighbouring dimensions as those of one? */
static bool are_one(const Finding *f, uint32_t d)
{
    for (uint32_t k = 0; k < f->w.loads.n; k++) {
        const int64_t *step = f->w.loads.items[k].step;
        const bool far = step[d] == LAY_FAR || step[d + 1] == LAY_FAR;
        if (far ? step[d] != step[d + 1] : step[d] != step[d + 1] * f->size[d + 1]) return false;
    }
    return true;
}

static bool merge(Finding *f)
{
    for (uint32_t d = 0; d + 1 < f->n; d++) {
        if (!are_one(f, d)) continue;
        f->size[d] *= f->size[d + 1];
        f->n--;
        memmove(f->size + d + 1, f->size + d + 2, (f->n - d - 1) * sizeof *f->size);
        return true;
    }
    return false;
}

/* From the dimensions of one output on. */
static bool find_space(Finding *f, uint32_t output)
{
    const PlanValue root = f->x->p->roots[output];
    const HloShape *s = plan_shape(root.i, root.part);
    for (uint32_t k = s->rank; k-- > 0;) {
        const int64_t size = s->dims[s->minor_to_major[k]];
        if (size == 1) continue;
        if (f->n == PLAN_EXCHANGE_DIMS) return false;
        f->size[f->n++] = size;
    }
    if (f->n == 0) return false;
    do walk(f);
    while (f->w.complete && split(f));
    while (f->w.complete && merge(f)) walk(f);
    return f->w.complete && f->n > 1;
}

/* --- orders ------------------------------------------------------------------------------------------------------- */
/* The dimensions of an array that is read, those of the smallest steps first, then those along which it is the same. */
static void order_of(const Finding *f, const LayAccess *x, uint32_t *order)
{
    for (uint32_t k = 0; k < f->n; k++) { /* of equal steps the outputs' faster dimension first */
        const uint32_t d = f->n - 1 - k;
        const int64_t step = x->step[d] ? x->step[d] : LAY_FAR;
        uint32_t at = k;
        for (; at > 0; at--) {
            const int64_t other = x->step[order[at - 1]] ? x->step[order[at - 1]] : LAY_FAR;
            if (other <= step) break;
            order[at] = order[at - 1];
        }
        order[at] = d;
    }
}

/* How many of the fastest dimensions of the outputs an array has as its own fastest ones, without gaps. */
static uint32_t common_of(const Finding *f, const LayAccess *x, const uint32_t *order)
{
    int64_t step = 1;
    uint32_t k = 0;
    while (k < f->n && order[k] == f->n - 1 - k && x->step[order[k]] == step) step *= f->size[order[k++]];
    return k;
}

/* The fastest dimension of the outputs, but for `common` of them, along which an array is not the same. */
static uint32_t fastest_of(const Finding *f, const LayAccess *x, uint32_t common)
{
    uint32_t d = f->n - 1 - common;
    while (d > 0 && !x->step[d]) d--;
    return d;
}

static bool is_transposed(const Finding *f, const LayAccess *x)
{
    uint32_t order[PLAN_EXCHANGE_DIMS];
    order_of(f, x, order);
    const uint32_t k = common_of(f, x, order);
    if (k >= f->n - 1) return false;
    const uint32_t fastest = fastest_of(f, x, k);
    return order[k] != fastest && x->step[order[k]] && x->step[order[k]] < x->step[fastest] &&
           x->step[order[k]] != LAY_FAR;
}

/* What is read in neither order: blocks that have some elements along its fastest dimension share its sectors. */
static void find_other(Finding *f)
{
    PlanExchange *x = f->x;
    int64_t most = 0;
    x->other = LAY_NO_DIM;
    for (uint32_t k = 0; k < f->w.loads.n; k++) {
        const LayAccess *l = &f->w.loads.items[k];
        uint32_t order[PLAN_EXCHANGE_DIMS];
        order_of(f, l, order);
        const uint32_t common = common_of(f, l, order);
        if (common == f->n || !l->step[order[common]] || l->step[order[common]] == LAY_FAR) continue;
        const uint32_t fastest = order[common];
        if (fastest == x->read[x->common] || fastest >= f->n - 1 - x->common) continue;
        if (l->elements * l->bits <= most) continue;
        most = l->elements * l->bits;
        x->other = fastest;
    }
}

/* Lanes in the order of the outputs use whole sectors of it. */
static bool has_runs(const Finding *f, const LayAccess *x)
{
    uint32_t order[PLAN_EXCHANGE_DIMS];
    int64_t run = 1;
    order_of(f, x, order);
    for (uint32_t k = common_of(f, x, order); k-- > 0;) run *= f->size[order[k]];
    return run * x->bits >= 8 * tg_tuned(f->x->t, "layout.min_run");
}

/* Of transposed loads one that has no such runs comes first, then the larger one. */
static bool comes_first(const Finding *f, const LayAccess *x, const LayAccess *other)
{
    if (!other || has_runs(f, x) != has_runs(f, other)) return !other || !has_runs(f, x);
    return x->elements * x->bits > other->elements * other->bits;
}

/* The order of the first transposed load. */
static bool find_order(Finding *f)
{
    PlanExchange *x = f->x;
    const LayAccess *most = NULL;
    for (uint32_t k = 0; k < f->w.loads.n; k++) {
        const LayAccess *l = &f->w.loads.items[k];
        if (is_transposed(f, l) && comes_first(f, l, most)) most = l;
    }
    if (!most) return false;
    order_of(f, most, x->read);
    x->common = common_of(f, most, x->read);
    for (uint32_t d = 0; d < f->n; d++) x->read_step[d] = most->step[d];
    x->read_space = space_of(x->a, f->size, f->n, x->read);
    find_other(f);
    return true;
}

/* Is a load nearer in the order of the outputs (of_outputs), or in the one in which values are read? */
static bool is_nearer(const Finding *f, const LayAccess *l, bool of_outputs)
{
    const uint32_t stored = fastest_of(f, l, f->x->common), read = f->x->read[f->x->common];
    const int64_t s = l->step[stored], r = l->step[read];
    return s && r && (of_outputs ? s < r : r < s);
}

/* --- values that go through the tile ------------------------------------------------------------------------------ */
static uint32_t tile_bits(const PlanNeed *x)
{
    const ScType t = plan_shape(x->value.i, x->value.part)->type;
    return WBB_MAX(sc_type_info[t].bits, 8);
}

static bool may_cross(const Finding *f, uint32_t k)
{
    const PlanNeed *x = &f->w.needs.items[k];
    const ScType t = plan_shape(x->value.i, x->value.part)->type;
    return f->mapped[k] && f->crosses[k] && !f->ordered[k] && sc_type_info[t].bits;
}

/* Needs by the number of their instruction, operands first. */
static uint32_t *operands_first(const Finding *f)
{
    uint32_t *order = WBB_NEW_N(f->x->a, uint32_t, f->w.needs.n + 1u);
    const uint32_t n = f->x->p->fusion->body->n_instructions;
    uint32_t *first = WBB_NEW_N(f->x->a, uint32_t, n + 2u);
    for (uint32_t k = 0; k < f->w.needs.n; k++) first[f->w.needs.items[k].value.i->id + 1]++;
    for (uint32_t k = 0; k < n; k++) first[k + 1] += first[k];
    for (uint32_t k = 0; k < f->w.needs.n; k++) order[first[f->w.needs.items[k].value.i->id]++] = k;
    return order;
}

/* Edges of each need, by user: the first of each in `first`, the next in `next`, + 1. */
typedef struct {
    uint32_t *first, *next;
} Edges;

static Edges edges_of(const Finding *f)
{
    Edges e = {WBB_NEW_N(f->x->a, uint32_t, f->w.needs.n + 1u), WBB_NEW_N(f->x->a, uint32_t, f->w.edges.n + 1u)};
    for (uint32_t k = f->w.edges.n; k-- > 0;) {
        const uint32_t user = f->w.edges.items[k].user;
        e.next[k] = e.first[user];
        e.first[user] = k + 1;
    }
    return e;
}

static void find_below(Finding *f, const Edges *e, const uint32_t *order)
{
    for (uint32_t n = 0; n < f->w.needs.n; n++) {
        const uint32_t k = order[n], load = f->w.needs.items[k].load;
        if (load) {
            f->crosses[k] = is_nearer(f, &f->w.loads.items[load - 1], false);
            f->ordered[k] = is_nearer(f, &f->w.loads.items[load - 1], true);
        }
        for (uint32_t j = e->first[k]; j; j = e->next[j - 1]) {
            const uint32_t of = f->w.edges.items[j - 1].of;
            f->crosses[k] = f->crosses[k] || f->crosses[of];
            f->ordered[k] = f->ordered[k] || f->ordered[of];
        }
    }
}

static void find_mapped(Finding *f, const Edges *e, const uint32_t *order)
{
    for (uint32_t k = 0; k < f->x->n_stored[PLAN_FROM]; k++) f->mapped[f->root[k]] = true;
    for (uint32_t n = f->w.needs.n; n-- > 0;)
        for (uint32_t j = e->first[order[n]]; f->mapped[order[n]] && j; j = e->next[j - 1]) {
            const PlanEdge *edge = &f->w.edges.items[j - 1];
            if (!edge->mapped || f->mapped[edge->of]) continue;
            f->mapped[edge->of] = true;
            f->from[edge->of] = j;
        }
}

enum { NEVER = 1 << 20 }; /* bits: it cannot go through the tile */

static void find_bits(Finding *f, const Edges *e, const uint32_t *order)
{
    for (uint32_t n = 0; n < f->w.needs.n; n++) {
        const uint32_t k = order[n];
        uint32_t below = f->w.needs.items[k].load ? NEVER : 0;
        for (uint32_t j = e->first[k]; j; j = e->next[j - 1]) {
            const uint32_t of = f->w.edges.items[j - 1].of;
            if (f->crosses[of]) below = WBB_MIN(below + f->bits[of], (uint32_t)NEVER);
        }
        const uint32_t own = may_cross(f, k) ? tile_bits(&f->w.needs.items[k]) : NEVER;
        f->cut[k] = own <= below && own < NEVER;
        f->bits[k] = WBB_MIN(own, below);
    }
}

static void carry(Finding *f, uint32_t k)
{
    PlanExchange *x = f->x;
    PlanCarried *c = &x->values[x->n_values++];
    *c = (PlanCarried){.value = f->w.needs.items[k].value, .n = 1};
    for (uint32_t at = k; f->from[at]; at = f->w.edges.items[f->from[at] - 1].user) c->n++;
    c->path = WBB_NEW_N(x->a, const HloInstruction *, c->n);
    c->operands = WBB_NEW_N(x->a, uint32_t, c->n);
    uint32_t n = c->n, at = k;
    for (;;) {
        c->path[--n] = f->w.needs.items[at].value.i;
        if (!f->from[at]) break;
        const PlanEdge *edge = &f->w.edges.items[f->from[at] - 1];
        c->operands[n - 1] = edge->operand;
        at = edge->user;
    }
    while (f->root[c->output] != at) c->output++;
    c->output = x->stored[PLAN_FROM][c->output];
    const uint32_t bits = tile_bits(&f->w.needs.items[k]);
    x->bits += bits;
    x->in_word = WBB_MAX(x->in_word, 32 / bits);
}

/* From the outputs down to what is cut. */
static void find_values(Finding *f, const Edges *e)
{
    PlanExchange *x = f->x;
    uint32_t *stack = WBB_NEW_N(x->a, uint32_t, f->w.needs.n + 1u), n = 0;
    bool *met = WBB_NEW_N(x->a, bool, f->w.needs.n + 1u);
    x->values = WBB_NEW_N(x->a, PlanCarried, f->w.needs.n + 1u);
    for (uint32_t k = 0; k < x->n_stored[PLAN_FROM]; k++)
        if (!met[f->root[k]]) met[f->root[k]] = true, stack[n++] = f->root[k];
    while (n) {
        const uint32_t k = stack[--n];
        if (f->cut[k]) {
            carry(f, k);
            continue;
        }
        for (uint32_t j = e->first[k]; j; j = e->next[j - 1]) {
            const uint32_t of = f->w.edges.items[j - 1].of;
            if (!f->crosses[of] || met[of]) continue;
            met[of] = true;
            stack[n++] = of;
        }
    }
}

/* For what the second stage stores; the space begins with the dimensions of one of its outputs. */
static bool find_from(PlanExchange *x, uint32_t output)
{
    WbbArena *a = x->a;
    Finding finding = {.x = x}, *f = &finding;
    x->n_values = x->bits = 0, x->in_word = 1;
    f->root = WBB_NEW_N(a, uint32_t, x->n_stored[PLAN_FROM] + 1u);
    if (!find_space(f, output) || !find_order(f)) return false;
    const uint32_t n = f->w.needs.n + 1;
    f->crosses = WBB_NEW_N(a, bool, n), f->ordered = WBB_NEW_N(a, bool, n), f->mapped = WBB_NEW_N(a, bool, n);
    f->cut = WBB_NEW_N(a, bool, n), f->from = WBB_NEW_N(a, uint32_t, n), f->bits = WBB_NEW_N(a, uint32_t, n);
    const uint32_t *order = operands_first(f);
    const Edges e = edges_of(f);
    find_below(f, &e, order);
    find_mapped(f, &e, order);
    find_bits(f, &e, order);
    find_values(f, &e);
    for (uint32_t k = 0, j = 0; k < x->n_outputs && j < x->n_stored[PLAN_FROM]; k++)
        if (x->outputs[k] == x->stored[PLAN_FROM][j]) x->crosses[k] = f->crosses[f->root[j++]];
    return x->n_values > 0;
}

/* Of outputs with rows of different sizes those of one may be none of the order of reading. */
static bool find(PlanExchange *x)
{
    bool found = false;
    const HloShape *last = NULL;
    for (uint32_t k = 0; k < x->n_stored[PLAN_FROM] && !found; k++) {
        const PlanValue root = x->p->roots[x->stored[PLAN_FROM][k]];
        const HloShape *s = plan_shape(root.i, root.part);
        if (!last || !hlo_same_dims(s, last)) found = find_from(x, x->stored[PLAN_FROM][k]);
        last = s;
    }
    return found;
}

bool plan_exchange_find(PlanExchange *x)
{
    x->stored[PLAN_FROM] = x->outputs, x->n_stored[PLAN_FROM] = x->n_outputs;
    x->crosses = WBB_NEW_N(x->a, bool, x->n_outputs + 1u);
    if (!find(x)) return false;
    if (x->n_outputs == 1 || !plan_exchange_sides(x)) return true;
    PlanExchange without = *x; /* the order of side outputs may part dimensions that are one in all others */
    if (find(&without) && plan_exchange_sides(&without) && without.n_stored[PLAN_TO] == x->n_stored[PLAN_TO])
        *x = without;
    return true;
}

