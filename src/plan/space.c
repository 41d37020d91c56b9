/* space.c: the space of a reduction's terms, and which layouts of it a shared kernel may have.
 *
 * Neighbouring dimensions that are all kept or all reduced are one dimension of the space, the slowest in memory first;
 * of a sum of products, those that the same factors have.
 *
 *     reduce(f32[8,128,64]), dimensions={1,2}     =>   rows: 8, kept; columns: 8192, reduced
 *     reduce(f32[4096,1024]), dimensions={0}      =>   rows: 4096, reduced; columns: 1024, kept
 */
#include "plan/plan.h"

bool plan_scan_of(const HloInstruction *i, const TgTarget *t, HloScan *scan)
{
    return hlo_is_scan(i, scan) && plan_shape(i, 0)->rank <= HLO_RANK_LIMIT &&
           plan_shape(i, 0)->dims[scan->dim] > tg_tuned(t, "scan.straight");
}

const HloShape *plan_space_shape(const HloInstruction *hero)
{
    return hero->opcode == HLO_REDUCE ? hero->operands[0]->shape : plan_shape(hero, 0);
}

bool plan_is_reduced(const HloInstruction *i, uint32_t d)
{
    HloScan scan;
    if (i->opcode == HLO_SORT) return i->dimensions[0] == (int64_t)d;
    if (i->opcode == HLO_REDUCE_WINDOW) return hlo_is_scan(i, &scan) && d == scan.dim;
    return hlo_is_reduced(i, d);
}

void plan_group_index(RwCx *rw, const PlanGroup *g, const HloShape *terms, IrRef position, IrRef *index)
{
    IrRef digits[HLO_RANK_LIMIT], rest[HLO_RANK_LIMIT];
    int64_t sizes[HLO_RANK_LIMIT];
    for (uint32_t k = 0; k < g->n; k++) {
        const uint32_t d = g->of[g->n - 1 - k];
        sizes[k] = terms->dims[d], rest[k] = position;
        digits[k] = index[d] = k + 1 < g->n ? rw_mod(rw, position, sizes[k]) : position;
        position = rw_floordiv(rw, position, sizes[k]);
    }
    for (uint32_t k = 0; k + 1 < g->n; k++) rw_know_digits(rw, digits + k, sizes + k, g->n - k, rest[k]);
}

void plan_kept_index(const HloInstruction *reduce, const IrRef *index, IrRef *kept)
{
    const bool scan = reduce->opcode != HLO_REDUCE; /* or a sort: each position has a result */
    for (uint32_t d = 0; d < plan_space_shape(reduce)->rank; d++)
        if (scan || !plan_is_reduced(reduce, d)) *kept++ = index[d];
}

/* Are there elements along a reduced dimension between two others, in the order of the text? */
static bool is_between(const HloInstruction *reduce, uint32_t outer, uint32_t inner)
{
    for (uint32_t d = outer + 1; d < inner; d++)
        if (plan_is_reduced(reduce, d) && plan_space_shape(reduce)->dims[d] > 1) return true;
    return false;
}

/* Has a factor of a product that is summed up elements along one of two dimensions, and not along the other? A thread
 * then has several positions of the latter for an element that it loads once. */
static bool is_factored(const HloInstruction *reduce, uint32_t d, uint32_t e)
{
    const HloInstruction *terms = reduce->opcode == HLO_REDUCE ? reduce->operands[0] : NULL;
    if (!terms || terms->opcode != HLO_MULTIPLY) return false;
    for (uint32_t k = 0; k < 2; k++)
        if (terms->operands[k]->opcode != HLO_BROADCAST) return false;
    for (uint32_t k = 0; k < 2; k++) {
        bool has_d = false, has_e = false;
        for (uint32_t n = 0; n < terms->operands[k]->n_dimensions; n++) {
            has_d = has_d || terms->operands[k]->dimensions[n] == (int64_t)d;
            has_e = has_e || terms->operands[k]->dimensions[n] == (int64_t)e;
        }
        if (has_d != has_e) return true;
    }
    return false;
}

uint32_t plan_space(WbbArena *a, const HloInstruction *reduce, bool in_order, PlanGroup **space)
{
    const HloShape *x = plan_space_shape(reduce);
    PlanGroup *groups = *space = WBB_NEW_N(a, PlanGroup, x->rank + 1u);
    uint32_t n = 0;
    for (uint32_t p = x->rank; p-- > 0;) {
        const uint32_t d = x->minor_to_major[p];
        const bool reduced = plan_is_reduced(reduce, d);
        if (x->dims[d] == 1) continue;
        const PlanGroup *last = n ? &groups[n - 1] : NULL;
        const uint32_t slower = last ? last->of[last->n - 1] : 0;
        const bool ordered = in_order && reduced && last && (slower > d || is_between(reduce, slower, d));
        const bool apart = ordered || (last && is_factored(reduce, slower, d));
        if (!last || last->dim.reduced != reduced || apart) {
            PlanGroup *g = &groups[n++];
            g->dim = (LayDim){.size = 1, .reduced = reduced};
            g->of = WBB_NEW_N(a, uint32_t, x->rank);
        }
        PlanGroup *g = &groups[n - 1];
        g->of[g->n++] = d;
        g->dim.size *= x->dims[d];
    }
    if (!n) groups[n++].dim = (LayDim){.size = 1, .reduced = true};
    for (uint32_t k = 0; k < n; k++)
        groups[k].dim.name = n == 1 ? "elements" : n == 2 ? (k ? "columns" : "rows") : wbb_format(a, "d%u", k);
    return n;
}

bool plan_in_order(const PlanRange *r)
{
    for (uint32_t k = 0; k < r->n_stages; k++)
        for (uint32_t j = 0; j < r->stages[k].n_reduces; j++)
            if (!r->stages[k].reduces[j].commutes) return true;
    return false;
}

uint32_t *plan_sequence(WbbArena *a, const PlanGroup *space, uint32_t n)
{
    uint32_t *s = WBB_NEW_N(a, uint32_t, n + 1u), at;
    for (uint32_t k = 0; k < n; k++) {
        for (at = k; at > 0 && space[s[at - 1]].n && space[s[at - 1]].of[0] < space[k].of[0]; at--) s[at] = s[at - 1];
        s[at] = k;
    }
    return s;
}

/* A computation that is only associative combines neighbours: what a thread has lies side by side, then what a warp
 * has, and so on. A further dimension has a level that another one has, too, where its digits are those of threads. */
static void check_order(WbbCx *cx, const Layout *l)
{
    int last = -1;
    for (uint32_t n = 0; n < l->n_dims; n++) {
        const LayDim *x = &l->dims[lay_nth(l, n)];
        for (uint32_t k = 0; x->reduced && k < x->n_factors; k++) {
            const int level = (int)x->factors[k].level;
            if (x->factors[k].size == 1) continue;
            if (level < last || (level == last && level < LAY_LANE))
                lay_fail(cx, x->factors[k].column,
                         "%s: the computation is not known to commute, so the levels stand in their order",
                         lay_level_name[level]);
            last = level;
        }
    }
}

/* A scan's levels, from the inside out: elements of a thread lie side by side, then those of a warp, of a block, of an
 * iteration. */
static void check_scan(WbbCx *cx, const Layout *l)
{
    static const int order[LAY_LEVELS] = {[LAY_VECTOR] = 0, [LAY_REGISTER] = 1, [LAY_LANE] = 2, [LAY_WARP] = 3,
                                          [LAY_LOOP] = 4, [LAY_CLUSTER] = 5, [LAY_GRID] = 6};
    for (uint32_t d = 0; d < l->n_dims; d++) {
        const LayDim *x = &l->dims[d];
        for (uint32_t k = 0; x->reduced && k < x->n_factors; k++) {
            const LayFactor *f = &x->factors[k];
            if (k > 0 && order[f->level] < order[f[-1].level])
                lay_fail(cx, f->column, "%s: a scan has vector, register, lane, warp, loop, in this order",
                         lay_level_name[f->level]);
            if (f->level >= LAY_CLUSTER && f->size > 1)
                lay_fail(cx, f->column, "%s: blocks do not share a scan", lay_level_name[f->level]);
        }
    }
}

void plan_check_packed(WbbCx *cx, const LayDim *innermost, uint32_t group)
{
    const LayFactor *f = lay_factor(innermost, LAY_VECTOR);
    const int64_t vector = f ? f->size : 1;
    if (vector % group)
        lay_fail(cx, f ? f->column : innermost->column, "vector %lld: %u elements share a byte of the output",
                 (long long)vector, group);
}

static void check_cluster(WbbCx *cx, const LayDim *d, const LayFactor *f, const TgTarget *t)
{
    if (!tg_has(t, "cluster")) lay_fail(cx, f->column, "cluster: %s has no clusters of blocks", t->name);
    if (!d->reduced) lay_fail(cx, f->column, "cluster: of reduced dimensions");
    if (f->size > IR_CLUSTER)
        lay_fail(cx, f->column, "cluster %lld: at most %d blocks", (long long)f->size, IR_CLUSTER);
}

void plan_space_check(WbbCx *cx, const PlanRange *r, const TgTarget *t)
{
    const Layout *l = &r->stages[0].layout;
    uint32_t loops = 0, lanes = 1;
    int lane = 0; /* the column of a reduced one */
    bool commutes = true, alone = true; /* alone: nothing but results follows the first reductions */
    for (uint32_t k = 0; k < r->n_stages; k++) {
        const PlanStage *s = &r->stages[k];
        for (uint32_t j = 0; j < s->n_reduces; j++) commutes = commutes && s->reduces[j].commutes;
        alone = alone && (k == 0 || s->kind == PLAN_RESULTS);
    }
    const bool across = r->stages[r->n_stages - 1].kind == PLAN_ACROSS; /* the loop is of rows */
    for (uint32_t d = 0; d < l->n_dims; d++) {
        const LayDim *x = &l->dims[d];
        for (uint32_t k = 0; k < x->n_factors; k++) {
            const LayFactor *f = &x->factors[k];
            const char *name = lay_level_name[f->level];
            if (f->level == LAY_CLUSTER && f->size > 1) check_cluster(cx, x, f, t);
            if (f->level == LAY_GRID && x->reduced && f->size > 1 && !alone)
                lay_fail(cx, f->column, "%s: blocks share the results of one stage, which nothing reads", name);
            if (f->level == LAY_LOOP && (x->reduced == across || loops++))
                lay_fail(cx, f->column, "%s: of one reduced dimension", name);
            if (f->level == LAY_LANE && x->reduced) lanes *= (uint32_t)f->size, lane = f->column;
            if (f->level <= LAY_REGISTER && f->size > 64)
                lay_fail(cx, f->column, "%s %lld: at most 64", name, (long long)f->size);
        }
    }
    if (lay_level_size(l, LAY_CLUSTER) > IR_CLUSTER)
        lay_fail(cx, 0, "clusters of %lld blocks: at most %d", (long long)lay_level_size(l, LAY_CLUSTER),
                 IR_CLUSTER);
    if (lanes > 1 && lay_level_size(l, LAY_LANE) != t->warp)
        lay_fail(cx, lane, "%lld lanes: what lanes combine takes all %u of a warp",
                 (long long)lay_level_size(l, LAY_LANE), t->warp);
    for (uint32_t k = 0; k < r->n_stages; k++) plan_check_packed(cx, &l->dims[0], r->stages[k].packed_group);
    if (r->stages[0].kind == PLAN_SCAN) check_scan(cx, l);
    else if (!commutes) check_order(cx, l);
}
