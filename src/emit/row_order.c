/* row_order.c: the order in which statistics of a product's rows combine their terms, as text.
 *
 * Needs a product or attention with its tiles; leaves the text for kernel.json, src/eval/README.md. Whoever changes the
 * order in product_rows.c or attention.c changes the text here.
 *
 *     tree; columns {1}: half 2, lane 4, tile 8, warp 2; fold 16 of columns.half, columns.tile; fold 4 of
 *     columns.lane; chain 2 of columns.warp
 */
#include "emit/emit.h"
#include "plan/attention.h"

enum { LANES = 4, HALVES = 2 };

/* A digit of the number of a column, the lowest first; those of a lane are one step, each other one is a step. */
typedef struct {
    const char *name;
    int64_t size;
    bool of_lane;
    bool folds;
} Digit;

/* The digits of a lane's columns, in the order in which it combines them: those at `of_lane`. */
static const char *text_of(WbbArena *a, const HloInstruction *i, const Digit *digits, const uint32_t *order, uint32_t n)
{
    WbbBuf b = wbb_buf(a);
    int64_t own = 1;
    wbb_putf(&b, "%s: tree%s; columns {", i->name, i->shape->type == SC_F32 ? "" : " in f32");
    const char *before = "";
    for (uint32_t d = 0; d < i->operands[0]->shape->rank; d++)
        if (plan_is_reduced(i, d)) wbb_putf(&b, "%s%u", before, d), before = ",";
    before = "}: ";
    for (uint32_t k = 0; k < n; k++)
        if (digits[k].size > 1)
            wbb_putf(&b, "%s%s %lld", before, digits[k].name, (long long)digits[k].size), before = ", ";
    for (uint32_t k = 0; k < n; k++)
        if (digits[k].of_lane) own *= digits[k].size;
    if (own > 1) wbb_putf(&b, "; fold %lld", (long long)own);
    before = " of";
    for (uint32_t k = 0; k < n; k++)
        if (digits[order[k]].of_lane && digits[order[k]].size > 1)
            wbb_putf(&b, "%s columns.%s", before, digits[order[k]].name), before = ",";
    for (uint32_t k = 0; k < n; k++) {
        const Digit *d = &digits[order[k]];
        if (d->of_lane || d->size == 1) continue;
        wbb_putf(&b, "; %s %lld of columns.%s", d->folds ? "fold" : "chain", (long long)d->size, d->name);
    }
    return b.text;
}

static const char *of_product(WbbArena *a, const PlanProduct *p, const HloInstruction *i)
{
    const int64_t parts = p->column_blocks > 1 ? LANES : 1, rounds = lay_up(p->column_blocks, parts);
    if (plan_in_a_row(p)) {
        const Digit digits[] = {{"half", HALVES, true, true},     {"lane", LANES, false, true},
                                {"tile", p->column_tiles, true, true}, {"warp", p->column_warps, false, false},
                                {"part", parts, false, true},     {"block", rounds, false, false}};
        return text_of(a, i, digits, (const uint32_t[]){0, 2, 1, 3, 5, 4}, WBB_LEN(digits));
    }
    const Digit digits[] = {{"near", p->column_run, true, true},   {"lane", LANES, false, true},
                            {"half", HALVES, true, true},          {"far", p->column_tiles / p->column_run, true, true},
                            {"warp", p->column_warps, false, false}, {"part", parts, false, true},
                            {"block", rounds, false, false}};
    return text_of(a, i, digits, (const uint32_t[]){0, 3, 2, 1, 4, 6, 5}, WBB_LEN(digits));
}

static const char *of_attention(WbbArena *a, const PlanAttention *t, const HloInstruction *i)
{
    const int64_t tiles = lay_up(plan_columns_of(t), t->keys);
    const Digit digits[] = {{"half", HALVES, true, true}, {"lane", LANES, false, true},
                            {"tile", t->keys / PLAN_TILE_COLUMNS, true, true}, {"loop", tiles, false, false}};
    return text_of(a, i, digits, (const uint32_t[]){0, 2, 3, 1}, WBB_LEN(digits));
}

const HloInstruction *emit_row_order(WbbArena *a, const PlanRange *r, uint32_t n, const char **text)
{
    const PlanStatistics *rows = r->product ? r->product->rows : r->attention ? &r->attention->rows : NULL;
    if (!rows || n == rows->n) return NULL;
    const PlanStatistic *s = &rows->all[n];
    if (s->base >= 0) *text = NULL; /* its terms are relative to another number: permission `within` */
    else *text = r->product ? of_product(a, r->product, s->i) : of_attention(a, r->attention, s->i);
    return s->i;
}
