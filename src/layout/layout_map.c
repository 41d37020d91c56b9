/* layout_map.c: the maps of a layout, made and proved by the map library.
 *
 * Needs a layout that passed lay_check; leaves maps from threads and iterations to the elements of the space.
 * The position of a vector in a dimension is a number of mixed base, whose digits are the factors of the dimension.
 * Digits of the levels lane, warp, cluster and grid are digits of the numbers of the lane, the warp and the block.
 *
 *     elements: vector 4, lane 32, warp 4, register 2, grid 64
 *       =>  threads   (block, warp, lane) -> (block * 256 + warp * 32 + lane)
 *           elements  (t)[register, vector] -> (t * 4 + register * 512 + vector)
 *
 *     rows: lane 4, grid 16; columns: lane 8, register 3     (lanes: the lowest digit is that of the rows)
 *       =>  threads   (block, warp, lane) -> (block * 4 + lane mod 4, lane / 4)
 *           elements  (t_rows, t_columns)[register] -> (t_rows, register * 8 + t_columns)
 */
#include "layout/layout.h"

typedef struct {
    RwCx *rw;
    WbbArena *a;
    const Layout *l;
    IrRef lane, warp, block;
} Mapping;

static bool of_threads(LayLevel level) { return level >= LAY_LANE; }

/* What one step of the number of a dimension adds to the position: the weight of its innermost factor of threads. */
static int64_t step_of(const LayDim *d)
{
    int64_t weight = 1;
    for (uint32_t k = 0; k < d->n_factors; k++) {
        if (of_threads(d->factors[k].level)) return weight;
        if (d->factors[k].level != LAY_VECTOR) weight *= d->factors[k].size;
    }
    return 1;
}

/* The digit of dimension `of` in the number of its lane, warp, cluster or block. */
static IrRef digit(const Mapping *m, uint32_t of, LayLevel level)
{
    const IrRef number = level == LAY_LANE ? m->lane : level == LAY_WARP ? m->warp : m->block;
    return rw_mod(m->rw, rw_floordiv(m->rw, number, lay_weight(m->l, of, level)), lay_size(&m->l->dims[of], level));
}

/* The variables of a map of threads: (block, warp, lane), or (block, thread) where thread = warp * lanes + lane. */
static void add_threads(Mapping *m, IxMap *map, bool launched)
{
    const int64_t blocks = lay_level_size(m->l, LAY_CLUSTER) * lay_level_size(m->l, LAY_GRID);
    const int64_t lanes = lay_level_size(m->l, LAY_LANE), warps = lay_level_size(m->l, LAY_WARP);
    m->block = ix_map_var(m->rw, m->a, map, IX_DIMENSION, "block", 0, blocks - 1);
    if (launched) {
        const IrRef thread = ix_map_var(m->rw, m->a, map, IX_DIMENSION, "thread", 0, lanes * warps - 1);
        m->warp = rw_floordiv(m->rw, thread, lanes);
        m->lane = rw_mod(m->rw, thread, lanes);
    } else {
        m->warp = ix_map_var(m->rw, m->a, map, IX_DIMENSION, "warp", 0, warps - 1);
        m->lane = ix_map_var(m->rw, m->a, map, IX_DIMENSION, "lane", 0, lanes - 1);
    }
}

/* (block, warp, lane) -> (t, ..), or (block, thread) -> (t, ..) */
static IxMap *map_threads(Mapping *m, bool launched)
{
    IxMap *map = ix_map_new(m->a);
    add_threads(m, map, launched);
    for (uint32_t d = 0; d < m->l->n_dims; d++) {
        const LayDim *x = &m->l->dims[d];
        IrRef t = ir_index(rw_graph(m->rw), 0);
        int64_t weight = 1;
        for (uint32_t k = 0; k < x->n_factors; k++) {
            const LayFactor *f = &x->factors[k];
            if (of_threads(f->level))
                t = rw_add(m->rw, t, rw_scale(m->rw, digit(m, d, f->level), weight / step_of(x)));
            if (f->level != LAY_VECTOR) weight *= f->size;
        }
        ix_map_result(m->a, map, t);
    }
    return map;
}

static const char *name_of(const Mapping *m, const char *stem, uint32_t d)
{
    return m->l->n_dims == 1 ? stem : wbb_format(m->a, "%s_%s", stem, m->l->dims[d].name);
}

/* (t, ..)[loop, register, vector] -> (index, ..); what is beyond the whole vectors is outside its domain. */
static IxMap *map_elements(Mapping *m, const IxMap *threads)
{
    IxMap *map = ix_map_new(m->a);
    const Layout *l = m->l;
    IrRef *position = WBB_NEW_N(m->a, IrRef, l->n_dims + 1u);
    for (uint32_t d = 0; d < l->n_dims; d++) {
        const int64_t most = (int64_t)ir_fact(rw_graph(m->rw), threads->results.items[d]).hi;
        const IrRef t = ix_map_var(m->rw, m->a, map, IX_DIMENSION, name_of(m, "t", d), 0, most);
        position[d] = rw_scale(m->rw, t, step_of(&l->dims[d]));
    }
    for (uint32_t d = 0; d < l->n_dims; d++) { /* their iterations, the outermost first */
        const LayDim *x = &l->dims[d];
        int64_t weight = 1;
        for (uint32_t k = 0; k < x->n_factors; k++)
            if (x->factors[k].level != LAY_VECTOR) weight *= x->factors[k].size;
        for (uint32_t k = x->n_factors; k-- > 0;) {
            const LayFactor *f = &x->factors[k];
            if (f->level == LAY_VECTOR) continue;
            weight /= f->size;
            if (of_threads(f->level)) continue;
            const IrRef i = ix_map_var(m->rw, m->a, map, IX_RANGE, name_of(m, lay_level_name[f->level], d), 0,
                                       f->size - 1);
            position[d] = rw_add(m->rw, position[d], rw_scale(m->rw, i, weight));
        }
    }
    for (uint32_t d = 0; d < l->n_dims; d++) {
        const LayDim *x = &l->dims[d];
        const int64_t vector = lay_size(x, LAY_VECTOR), whole = x->size / vector;
        if (ir_fact(rw_graph(m->rw), position[d]).hi >= whole) ix_map_constrain(m->a, map, position[d], 0, whole - 1);
        IrRef index = rw_scale(m->rw, position[d], vector);
        if (vector > 1) {
            const char *name = name_of(m, lay_level_name[LAY_VECTOR], d);
            index = rw_add(m->rw, index, ix_map_var(m->rw, m->a, map, IX_RANGE, name, 0, vector - 1));
        }
        ix_map_result(m->a, map, index);
    }
    return map;
}

/* (t)[vector] -> (index): the threads after those of `whole` vectors. */
static IxMap *map_tail(Mapping *m, int64_t whole)
{
    IxMap *map = ix_map_new(m->a);
    const Layout *l = m->l;
    const int64_t first = whole * lay_size(&l->dims[0], LAY_VECTOR), size = l->dims[0].size;
    const IrRef t = ix_map_var(m->rw, m->a, map, IX_DIMENSION, "t", whole, whole + lay_tail(l) - 1);
    IrRef index = rw_sum(m->rw, first - whole * l->tail, (IrTerm[]){{l->tail, t}}, 1);
    if (l->tail > 1) index = rw_add(m->rw, index, ix_map_var(m->rw, m->a, map, IX_RANGE, "vector", 0, l->tail - 1));
    if ((size - first) % l->tail) ix_map_constrain(m->a, map, index, first, size - 1);
    ix_map_result(m->a, map, index);
    return map;
}

/* The elements lo .. hi, in each dimension, are had once each. */
static void prove(WbbCx *cx, const Mapping *m, const IxMap *threads, const IxMap *elements, const int64_t *lo,
                  const int64_t *hi)
{
    const IxMap *map = ix_map_compose(m->rw, m->a, threads, elements);
    if (ix_map_onto(m->rw, m->a, map, lo, hi)) return;
    WbbBuf b = wbb_buf(m->a);
    ix_map_print(&b, rw_graph(m->rw), map);
    wbb_fail(cx, (WbbLoc){.file = "layout"}, "not proved to have each element once: %s", b.text);
}

LayMaps lay_maps(WbbCx *cx, RwCx *rw, WbbArena *a, const Layout *l)
{
    Mapping m = {.rw = rw, .a = a, .l = l};
    int64_t *lo = WBB_NEW_N(a, int64_t, l->n_dims + 1u), *hi = WBB_NEW_N(a, int64_t, l->n_dims + 1u);
    LayMaps maps = {.threads = map_threads(&m, false), .launched = map_threads(&m, true)};
    for (uint32_t d = 0; d < l->n_dims; d++) hi[d] = l->dims[d].size - 1;
    const int64_t tail = lay_tail(l), whole = tail ? l->dims[0].size / lay_size(&l->dims[0], LAY_VECTOR) : 0;
    if (tail) {
        maps.tail = map_tail(&m, whole);
        lo[0] = whole * lay_size(&l->dims[0], LAY_VECTOR);
        prove(cx, &m, maps.threads, maps.tail, lo, hi);
        hi[0] = lo[0] - 1, lo[0] = 0;
    }
    if (!tail || whole) {
        IxMap *elements = map_elements(&m, maps.threads);
        prove(cx, &m, maps.threads, elements, lo, hi);
        maps.elements = elements->constraints.n ? ix_map_simplify(rw, a, elements, true) : elements;
    }
    return maps;
}
