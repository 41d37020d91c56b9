/* order.c: the order in which the threads of a kernel combine the terms of a reduction, as text.
 *
 * Needs a stage whose threads share terms (share.c); leaves the text for kernel.json, src/eval/README.md, which the
 * evaluator follows step by step: whoever changes the order there changes the text here.
 *
 *     rows: lane 4, warp 8, loop 3, grid 9      =>      reduce.3: tree; rows {0}: lane 4, warp 8, loop 3, grid 9;
 *     chain 3 of rows.loop; fold 4 of rows.lane; fold 8 of rows.warp; chain 1, fold 4, fold 8 of rows.grid
 */
#include "emit/emit.h"

#include <string.h>

/* What steps are written to, and how digits are named: by their own dimension, or by that one; levels behind a stem. */
typedef struct {
    WbbBuf *b;
    const char *dim, *stem;
    bool chains; /* terms of a thread are added one after the other, those of an iteration after those before */
} Text;

/* Threads that share a result, or blocks. */
static int64_t count_of(const Layout *l, LayLevel level) { return lay_part(l, level, true); }

static void put_dims(WbbBuf *b, const PlanStage *s)
{
    for (uint32_t d = 0; d < s->layout.n_dims; d++) {
        const LayDim *x = &s->layout.dims[d];
        for (uint32_t k = 0; k < s->n_space && x->reduced && x->size > 1; k++) {
            const PlanGroup *g = &s->space[k];
            if (g->dim.name != x->name) continue;
            wbb_putf(b, "; %s {", x->name);
            for (uint32_t j = 0; j < g->n; j++) wbb_putf(b, "%s%u", j ? "," : "", g->of[j]);
            for (uint32_t j = 0; j < x->n_factors; j++)
                wbb_putf(b, "%s %s %lld", j ? "," : "}:", lay_level_name[x->factors[j].level],
                         (long long)x->factors[j].size);
        }
    }
}

static void put_digit(Text *t, const LayDim *x, LayLevel level, const char **before)
{
    if (!x->reduced || lay_size(x, level) == 1) return;
    wbb_putf(t->b, "%s %s.%s%s", *before, t->dim ? t->dim : x->name, t->stem, lay_level_name[level]);
    *before = ",";
}

/* The digits of a level, those of the dimension that stands first, or whose terms follow each other, the lowest. */
static void put_level(Text *t, const Layout *l, LayLevel level)
{
    const char *before = " of";
    for (uint32_t k = 0; k < l->n_dims; k++) put_digit(t, &l->dims[lay_nth(l, k)], level, &before);
}

static void put_loop(Text *t, const Layout *l)
{
    if (count_of(l, LAY_LOOP) == 1 || t->chains) return;
    wbb_putf(t->b, "; chain %lld", (long long)count_of(l, LAY_LOOP));
    put_level(t, l, LAY_LOOP);
}

/* What a thread has in one iteration: vectors are the lowest digit, then registers, the last dimension's first. */
static void put_terms(Text *t, const Layout *l)
{
    const int64_t n = count_of(l, LAY_VECTOR) * count_of(l, LAY_REGISTER) * (t->chains ? count_of(l, LAY_LOOP) : 1);
    const char *before = " of";
    if (n == 1) return;
    wbb_putf(t->b, "; %s %lld", t->chains ? "chain" : "fold", (long long)n);
    for (uint32_t d = 0; d < l->n_dims; d++) put_digit(t, &l->dims[d], LAY_VECTOR, &before);
    for (uint32_t d = l->n_dims; d-- > 0;) put_digit(t, &l->dims[d], LAY_REGISTER, &before);
    for (uint32_t k = 0; k < l->n_dims && t->chains; k++) put_digit(t, &l->dims[lay_nth(l, k)], LAY_LOOP, &before);
}

static void put_fold(Text *t, const Layout *l, LayLevel level)
{
    if (count_of(l, level) == 1) return;
    wbb_putf(t->b, "; fold %lld", (long long)count_of(l, level));
    put_level(t, l, level);
}

/* The threads of the last block have a stretch of the blocks' partial results each. */
static void put_blocks(Text *t, const Layout *l)
{
    const int64_t blocks = count_of(l, LAY_GRID), lanes = count_of(l, LAY_LANE), warps = count_of(l, LAY_WARP);
    if (blocks == 1) return;
    wbb_putf(t->b, "; chain %lld", (long long)((blocks + lanes * warps - 1) / (lanes * warps)));
    if (lanes > 1) wbb_putf(t->b, ", fold %lld", (long long)lanes);
    if (warps > 1) wbb_putf(t->b, ", fold %lld", (long long)warps);
    put_level(t, l, LAY_GRID);
}

static void put_steps(Text *t, const Layout *l)
{
    put_terms(t, l);
    put_loop(t, l);
    put_fold(t, l, LAY_LANE);
    put_fold(t, l, LAY_WARP);
    put_fold(t, l, LAY_CLUSTER);
}

/* Positions of the scanned dimension have these digits, the lowest first (share_scan.c). */
const char *emit_scan_order(WbbArena *a, const PlanStage *s, const PlanReduce *reduce)
{
    WbbBuf b = wbb_buf(a);
    const Layout *l = &s->layout;
    wbb_putf(&b, "%s: scan", reduce->i->name);
    if (sc_is_float(reduce->sum)) wbb_putf(&b, " in %s", sc_type_info[reduce->sum].hlo);
    if (reduce->scan.reverse) wbb_put(&b, " from the last");
    wbb_putf(&b, "; thread %lld", (long long)(count_of(l, LAY_VECTOR) * count_of(l, LAY_REGISTER)));
    for (LayLevel level = LAY_LANE; level <= LAY_WARP; level++)
        if (count_of(l, level) > 1) wbb_putf(&b, "; %s %lld", lay_level_name[level], (long long)count_of(l, level));
    if (count_of(l, LAY_LOOP) > 1) wbb_putf(&b, "; loop %lld", (long long)count_of(l, LAY_LOOP));
    return b.text;
}

const char *emit_order(WbbArena *a, const PlanStage *s, const PlanReduce *reduce)
{
    WbbBuf b = wbb_buf(a);
    const Layout *l = &s->layout;
    if (reduce->number) return wbb_format(a, "%s: serial", reduce->i->name); /* it selects what it would select so */
    wbb_putf(&b, "%s: tree", reduce->i->name);
    if (sc_is_float(reduce->sum)) wbb_putf(&b, " in %s", sc_type_info[reduce->sum].hlo);
    put_dims(&b, s);
    Text t = {&b, NULL, "", emit_contracts(reduce->i)};
    put_steps(&t, l);
    put_blocks(&t, l);
    return b.text;
}

/* The dimension that a layout reduces; NULL: several. */
static const LayDim *reduced_of(const Layout *l)
{
    const LayDim *found = NULL;
    for (uint32_t d = 0; d < l->n_dims; d++) {
        if (!l->dims[d].reduced || l->dims[d].size == 1) continue;
        if (found) return NULL;
        found = &l->dims[d];
    }
    return found;
}

const char *emit_order_across(WbbArena *a, const HloInstruction *i, const Layout *rows, const Layout *parts)
{
    WbbBuf b = wbb_buf(a);
    const LayDim *x = reduced_of(rows), *y = reduced_of(parts);
    int64_t own = 1; /* rows of a block */
    for (uint32_t k = 0; x && k < x->n_factors; k++) own *= x->factors[k].level == LAY_GRID ? 1 : x->factors[k].size;
    if (!x || !y || lay_size(x, LAY_GRID) != y->size || own * y->size != x->size) return NULL;
    wbb_putf(&b, "%s: tree%s; %s {", i->name, i->shape->type == SC_F32 ? "" : " in f32", x->name);
    for (uint32_t d = 0; d < i->n_dimensions; d++) wbb_putf(&b, "%s%lld", d ? "," : "", (long long)i->dimensions[d]);
    const char *before = "}:";
    for (uint32_t k = 0; k < x->n_factors; k++, before = ",")
        if (x->factors[k].level != LAY_GRID)
            wbb_putf(&b, "%s %s %lld", before, lay_level_name[x->factors[k].level], (long long)x->factors[k].size);
    for (uint32_t k = 0; k < y->n_factors; k++)
        wbb_putf(&b, ", part_%s %lld", lay_level_name[y->factors[k].level], (long long)y->factors[k].size);
    Text t = {&b, x->name, "", false};
    put_steps(&t, rows);
    t.stem = "part_";
    put_steps(&t, parts);
    put_blocks(&t, parts);
    return b.text;
}
