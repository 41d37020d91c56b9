/* space.c: the space of a reduction's terms, and which layouts of it a shared kernel may have.
 *
 * Neighbouring dimensions that are all kept or all reduced are one dimension of the space, the slowest in memory first;
 * of a sum of products, those that the same factors have.
 *
 *     reduce(f32[8,128,64]), dimensions={1,2}     =>   rows: 8, kept; columns: 8192, reduced
 *     reduce(f32[4096,1024]), dimensions={0}      =>   rows: 4096, reduced; columns: 1024, kept
 */
#include "plan/plan.h"

bool part_scan_of(const HloInstruction *i, const TgTarget *t, HloScan *scan)
{
    return hlo_is_scan(i, scan) && part_shape(i, 0)->rank <= HLO_RANK_LIMIT &&
           part_shape(i, 0)->dims[scan->dim] > tg_tuned(t, "scan.straight");
}

const HloShape *part_space_shape(const HloInstruction *hero)
{
    return hero->opcode == HLO_REDUCE ? hero->operands[0]->shape : part_shape(hero, 0);
}

bool part_is_reduced(const HloInstruction *i, uint32_t d)
{
    HloScan scan;
    if (i->opcode == HLO_SORT) return i->dimensions[0] == (int64_t)d;
    if (i->opcode == HLO_REDUCE_WINDOW) return hlo_is_scan(i, &scan) && d == scan.dim;
    return hlo_is_reduced(i, d);
}

void part_group_index(RwCx *rw, const PartGroup *g, const HloShape *terms, IrRef position, IrRef *index)
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

void part_kept_index(const HloInstruction *reduce, const IrRef *index, IrRef *kept)
{
    const bool scan = reduce->opcode != HLO_REDUCE; /* or a sort: each position has a result */
    for (uint32_t d = 0; d < part_space_shape(reduce)->rank; d++)
        if (scan || !part_is_reduced(reduce, d)) *kept++ = index[d];
}

/* Are there elements along a reduced dimension between two others, in the order of the text? */
static bool is_between(const HloInstruction *reduce, uint32_t outer, uint32_t inner)
{
    for (uint32_t d = outer + 1; d < inner; d++)
        if (part_is_reduced(reduce, d) && part_space_shape(reduce)->dims[d] > 1) return true;
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

uint32_t part_space(WbbArena *a, const HloInstruction *reduce, bool in_order, PartGroup **space)
{
    const HloShape *x = part_space_shape(reduce);
    PartGroup *groups = *space = WBB_NEW_N(a, PartGroup, x->rank + 1u);
    uint32_t n = 0;
    for (uint32_t p = x->rank; p-- > 0;) {
        const uint32_t d = x->minor_to_major[p];
        const bool reduced = part_is_reduced(reduce, d);
        if (x->dims[d] == 1) continue;
        const PartGroup *last = n ? &groups[n - 1] : NULL;
        const uint32_t slower = last ? last->of[last->n - 1] : 0;
        const bool ordered = in_order && reduced && last && (slower > d || is_between(reduce, slower, d));
        const bool apart = ordered || (last && is_factored(reduce, slower, d));
        if (!last || last->dim.reduced != reduced || apart) {
            PartGroup *g = &groups[n++];
            g->dim = (PartDim){.size = 1, .reduced = reduced};
            g->of = WBB_NEW_N(a, uint32_t, x->rank);
        }
        PartGroup *g = &groups[n - 1];
        g->of[g->n++] = d;
        g->dim.size *= x->dims[d];
    }
    if (!n) groups[n++].dim = (PartDim){.size = 1, .reduced = true};
    for (uint32_t k = 0; k < n; k++)
        groups[k].dim.name = n == 1 ? "elements" : n == 2 ? (k ? "columns" : "rows") : wbb_format(a, "d%u", k);
    return n;
}

bool part_in_order(const PartRange *r)
{
    for (uint32_t k = 0; k < r->n_stages; k++)
        for (uint32_t j = 0; j < r->stages[k].n_reduces; j++)
            if (!r->stages[k].reduces[j].commutes) return true;
    return false;
}

uint32_t *part_sequence(WbbArena *a, const PartGroup *space, uint32_t n)
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
static void check_order(WbbCx *cx, const PartLayout *l)
{
    int last = -1;
    for (uint32_t n = 0; n < l->n_dims; n++) {
        const PartDim *x = &l->dims[part_nth(l, n)];
        for (uint32_t k = 0; x->reduced && k < x->n_factors; k++) {
            const int level = (int)x->factors[k].level;
            if (x->factors[k].size == 1) continue;
            if (level < last || (level == last && level < PART_LANE))
                part_layout_fail(cx, x->factors[k].column,
                                 "%s: the computation is not known to commute, so the levels stand in their order",
                                 part_level_name[level]);
            last = level;
        }
    }
}

/* A scan's levels, from the inside out: elements of a thread lie side by side, then those of a warp, of a block, of an
 * iteration. */
static void check_scan(WbbCx *cx, const PartLayout *l)
{
    static const int order[PART_LEVELS] = {[PART_VECTOR] = 0, [PART_REGISTER] = 1, [PART_LANE] = 2, [PART_WARP] = 3,
                                           [PART_LOOP] = 4, [PART_CLUSTER] = 5, [PART_GRID] = 6};
    for (uint32_t d = 0; d < l->n_dims; d++) {
        const PartDim *x = &l->dims[d];
        for (uint32_t k = 0; x->reduced && k < x->n_factors; k++) {
            const PartFactor *f = &x->factors[k];
            if (k > 0 && order[f->level] < order[f[-1].level])
                part_layout_fail(cx, f->column, "%s: a scan has vector, register, lane, warp, loop, in this order",
                                 part_level_name[f->level]);
            if (f->level >= PART_CLUSTER && f->size > 1)
                part_layout_fail(cx, f->column, "%s: blocks do not share a scan", part_level_name[f->level]);
        }
    }
}

void part_check_packed(WbbCx *cx, const PartDim *innermost, uint32_t group)
{
    const PartFactor *f = part_factor(innermost, PART_VECTOR);
    const int64_t vector = f ? f->size : 1;
    if (vector % group)
        part_layout_fail(cx, f ? f->column : innermost->column, "vector %lld: %u elements share a byte of the output",
                         (long long)vector, group);
}

static void check_cluster(WbbCx *cx, const PartDim *d, const PartFactor *f, const TgTarget *t)
{
    if (!tg_has(t, "cluster")) part_layout_fail(cx, f->column, "cluster: %s has no clusters of blocks", t->name);
    if (!d->reduced) part_layout_fail(cx, f->column, "cluster: of reduced dimensions");
    if (f->size > IR_CLUSTER)
        part_layout_fail(cx, f->column, "cluster %lld: at most %d blocks", (long long)f->size, IR_CLUSTER);
}

void part_space_check(WbbCx *cx, const PartRange *r, const TgTarget *t)
{
    const PartLayout *l = &r->stages[0].layout;
    uint32_t loops = 0, lanes = 1;
    int lane = 0; /* the column of a reduced one */
    bool commutes = true, alone = true; /* alone: nothing but results follows the first reductions */
    for (uint32_t k = 0; k < r->n_stages; k++) {
        const PartStage *s = &r->stages[k];
        for (uint32_t j = 0; j < s->n_reduces; j++) commutes = commutes && s->reduces[j].commutes;
        alone = alone && (k == 0 || s->kind == PART_RESULTS);
    }
    const bool across = r->stages[r->n_stages - 1].kind == PART_ACROSS; /* the loop is of rows */
    for (uint32_t d = 0; d < l->n_dims; d++) {
        const PartDim *x = &l->dims[d];
        for (uint32_t k = 0; k < x->n_factors; k++) {
            const PartFactor *f = &x->factors[k];
            const char *name = part_level_name[f->level];
            if (f->level == PART_CLUSTER && f->size > 1) check_cluster(cx, x, f, t);
            if (f->level == PART_GRID && x->reduced && f->size > 1 && !alone)
                part_layout_fail(cx, f->column, "%s: blocks share the results of one stage, which nothing reads", name);
            if (f->level == PART_LOOP && (x->reduced == across || loops++))
                part_layout_fail(cx, f->column, "%s: of one reduced dimension", name);
            if (f->level == PART_LANE && x->reduced) lanes *= (uint32_t)f->size, lane = f->column;
            if (f->level <= PART_REGISTER && f->size > 64)
                part_layout_fail(cx, f->column, "%s %lld: at most 64", name, (long long)f->size);
        }
    }
    if (part_layout_size(l, PART_CLUSTER) > IR_CLUSTER)
        part_layout_fail(cx, 0, "clusters of %lld blocks: at most %d", (long long)part_layout_size(l, PART_CLUSTER),
                         IR_CLUSTER);
    if (lanes > 1 && part_layout_size(l, PART_LANE) != t->warp)
        part_layout_fail(cx, lane, "%lld lanes: what lanes combine takes all %u of a warp",
                         (long long)part_layout_size(l, PART_LANE), t->warp);
    for (uint32_t k = 0; k < r->n_stages; k++) part_check_packed(cx, &l->dims[0], r->stages[k].packed_group);
    if (r->stages[0].kind == PART_SCAN) check_scan(cx, l);
    else if (!commutes) check_order(cx, l);
}
