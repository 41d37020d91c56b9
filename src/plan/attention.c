/* attention.c: a kernel of two products of matrices, where the rows of the first one's result are weighed between them.
 *
 * Needs a fusion whose outputs follow element by element from a product of matrices, of which one operand follows from
 * another such product and from reductions of its rows; leaves a kernel of one stage. Its tiles are chosen by price
 * (attention_price.c), and emit/attention.c makes the code.
 *
 *     dot(softmax(dot(q, k)), v), f16[128,2048,64]    =>    a pass for maximum and sum, and one for the results
 */
#include "plan/attention.h"

#include "plan/sort.h"
#include "plan/strategies.h"

#include <math.h>
#include <string.h>

/* --- which fusions ------------------------------------------------------------------------------------------------ */
typedef struct {
    PlanTry *x;
    WbbArena *a;
    RwCx *rw;
    PlanAttention *t;
    const HloComputation *body;
    const PlanStage *stage; /* what follows from the results */
    const Plan *plan;       /* with roots */
    PlanRows w;             /* of scores */
} Find;

/* The products: the scores, then the results. */
static bool find_products(Find *f)
{
    PlanProduct *of = f->t->of;
    uint32_t n = 0;
    for (uint32_t k = 0; k < f->body->n_instructions; k++) {
        const HloInstruction *i = f->body->instructions[k];
        if (!hlo_is_matrix_product(f->a, i)) continue;
        if (n == 2) return plan_not(f->x, "it has more than two products of matrices");
        if (i->shape->rank > HLO_RANK_LIMIT) return plan_not(f->x, "a product has too many dimensions");
        of[n++] = (PlanProduct){.i = i, .of = hlo_product(f->a, i)};
    }
    if (n < 2) return plan_not(f->x, "it has no two products of matrices of f16 or bf16");
    if (!tg_has(f->x->t, "mma.bf16") || !tg_has(f->x->t, "cp.async"))
        return plan_not(f->x, "the target has no tensor cores for it, or no asynchronous copies");
    return true;
}

/* Follows the weights of a batch, row and column, and outputs of a batch and row, down to the scores. */
static bool find_ways(Find *f)
{
    PlanAttention *t = f->t;
    PlanProduct *s = &t->of[0], *o = &t->of[1];
    PlanRows *w = &f->w;
    for (uint32_t k = 0; k < 2; k++) {
        if (!w->needs[o->i->operands[k]->id]) continue;
        if (w->value) return plan_not(f->x, "both operands of the second product need the first one");
        w->value = o->i->operands[k], t->weights = k;
    }
    if (!w->value) return plan_not(f->x, "the second product does not need the first one");
    const int64_t rows = t->weights ? o->of.columns : o->of.rows;
    t->turned[1] = t->weights, w->columns = o->of.depth;
    if (o->of.batches != s->of.batches || w->value->shape->rank > HLO_RANK_LIMIT)
        return plan_not(f->x, "the products have different batches");
    /* of rows and columns of the same number the first try may be the wrong one */
    for (uint32_t turned = 0; turned < 2; turned++) {
        t->turned[0] = turned;
        if (plan_rows_of(t) != rows || plan_columns_of(t) != o->of.depth) continue;
        IxMap *variables = ix_map_new(f->a);
        IrRef index[HLO_RANK_LIMIT], at[HLO_RANK_LIMIT], result[HLO_RANK_LIMIT];
        const IrRef batch = plan_rows_variable(w, variables, s->of.batches);
        const IrRef row = w->row = plan_rows_variable(w, variables, rows);
        const IrRef column = w->column = plan_rows_variable(w, variables, o->of.depth);
        memset(w->seen, 0, (f->body->n_instructions + 1) * sizeof *w->seen);
        const IrRef of_width = plan_rows_variable(w, variables, plan_width_of(t));
        plan_product_index(f->rw, f->a, o, t->weights, batch, row, column, index);
        plan_product_result(f->rw, o, batch, t->turned[1] ? of_width : row, t->turned[1] ? row : of_width, result);
        plan_product_result(f->rw, s, batch, turned ? column : row, turned ? row : column, at);
        bool found;
        if (!plan_rows_need(w, w->value, index, NULL, 0) ||
            !plan_rows_need_outputs(w, f->plan, f->stage, result, NULL) || !plan_rows_follow(w, at, &found))
            return false;
        if (found) return true;
    }
    return plan_not(f->x, "a weight does not need the score of its row and column alone");
}

/* A quotient of f32 on the way to the weights whose divisor is such a sum: a product with its reciprocal. */
static void find_quotient(Find *f)
{
    PlanAttention *t = f->t;
    for (uint32_t k = 0; k < f->body->n_instructions; k++) {
        const HloInstruction *i = f->body->instructions[k];
        if (!f->w.seen[k] || i->opcode != HLO_DIVIDE || i->shape->type != SC_F32) continue;
        for (uint32_t n = 0; n < t->rows.n; n++) {
            const HloInstruction *sum = t->rows.all[n].i;
            if (t->rows.all[n].base < 0 || hlo_source(i->operands[1]) != sum) continue;
            const PlanChain way = plan_rows_way(&f->w, i);
            if (way.output < 0) t->quotient = i, t->divisor = n, t->to_quotient = way;
        }
    }
}

/* --- causal masks ------------------------------------------------------------------------------------------------- */
/* A row, a column or no variable, and a number that is added. */
typedef struct {
    enum { OF_NEITHER, OF_ROW, OF_COLUMN, OF_OTHER } of;
    int64_t plus;
} Place;

enum { MOST_PLACE = 1 << 30 /* sums of two are numbers of 32 bits */ };

static Place place_of(const Find *f, const HloInstruction *x, const IrRef *index)
{
    const Place other = {OF_OTHER, 0};
    if (x->shape->type != SC_I32 || x->shape->rank > HLO_RANK_LIMIT) return other;
    if (x->opcode == HLO_CONSTANT) {
        if (hlo_elements(x->shape) != 1 || !x->literal) return other;
        const int32_t n = (int32_t)(uint32_t)hlo_literal_bits(x, 0);
        return n > -MOST_PLACE && n < MOST_PLACE ? (Place){OF_NEITHER, n} : other;
    }
    if (x->opcode == HLO_IOTA) {
        const IrRef at = index[x->number];
        return at == f->w.row ? (Place){OF_ROW, 0} : at == f->w.column ? (Place){OF_COLUMN, 0} : other;
    }
    IrRef next[HLO_RANK_LIMIT];
    if (hlo_is_move(x->opcode) && x->n_operands == 1 && ix_has_map(x, 0)) {
        ix_operand(f->rw, f->a, x, 0, index, next);
        return place_of(f, x->operands[0], next);
    }
    if (x->opcode != HLO_ADD) return other;
    const Place a = place_of(f, x->operands[0], index), b = place_of(f, x->operands[1], index);
    const int64_t sum = a.plus + b.plus;
    if ((a.of && b.of) || sum <= -MOST_PLACE || sum >= MOST_PLACE) return other;
    return (Place){a.of ? a.of : b.of, sum};
}

/* The reach of a condition that holds for columns up to row + reach alone, or holds for none else but those. */
static bool reach_of(const Find *f, const HloInstruction *p, const IrRef *index, bool holds, int64_t *reach)
{
    IrRef next[HLO_RANK_LIMIT];
    if (hlo_is_move(p->opcode) && p->n_operands == 1 && ix_has_map(p, 0)) {
        ix_operand(f->rw, f->a, p, 0, index, next);
        return reach_of(f, p->operands[0], next, holds, reach);
    }
    if (p->opcode == HLO_AND && holds)
        return reach_of(f, p->operands[0], index, true, reach) || reach_of(f, p->operands[1], index, true, reach);
    if (p->opcode != HLO_COMPARE || p->direction == HLO_EQ || p->direction == HLO_NE) return false;
    Place a = place_of(f, p->operands[0], index), b = place_of(f, p->operands[1], index);
    bool greater = p->direction == HLO_GE || p->direction == HLO_GT;
    bool equal = p->direction == HLO_GE || p->direction == HLO_LE;
    if (!holds) greater = !greater, equal = !equal;
    if (!greater) {
        const Place c = a;
        a = b, b = c;
    }
    if (a.of != OF_ROW || b.of != OF_COLUMN) return false;
    *reach = a.plus - b.plus - !equal;
    return true;
}

/* Is it a select of scores, operand `kept`, and -inf? */
static bool is_mask(const Find *f, const HloInstruction *i, uint32_t *kept)
{
    if (i->opcode != HLO_SELECT || !sc_is_float(i->shape->type) || f->w.needs[i->operands[0]->id]) return false;
    *kept = f->w.needs[i->operands[1]->id] ? 1 : 2;
    const HloInstruction *other = hlo_source(i->operands[3 - *kept]);
    if (other->opcode != HLO_CONSTANT || hlo_elements(other->shape) != 1 || !other->literal) return false;
    return sc_to_f64(other->shape->type, hlo_literal_bits(other, 0)) == -INFINITY;
}

/* What a float is, through moves and conversions. */
static const HloInstruction *unconverted(const HloInstruction *x)
{
    while ((hlo_is_move(x->opcode) || x->opcode == HLO_CONVERT) && x->n_operands == 1 &&
           sc_is_float(x->operands[0]->shape->type))
        x = x->operands[0];
    return x;
}

/* Is it exp(x - m), with x the masked scores and m their maximum? Of a masked score that is 0, unless m is -inf or nan,
 * where the row has nan anywhere. */
static bool is_exponential(const Find *f, const HloInstruction *e, const HloInstruction *masked)
{
    e = unconverted(e);
    const HloInstruction *d = e->opcode == HLO_EXPONENTIAL ? e->operands[0] : NULL;
    if (!d || d->opcode != HLO_SUBTRACT || unconverted(d->operands[0]) != masked) return false;
    const HloInstruction *m = plan_row_source(d->operands[1]);
    for (uint32_t n = 0; n < f->t->rows.n; n++)
        if (f->t->rows.all[n].i == m) return f->t->rows.all[n].op == OP_MAX;
    return false;
}

/* Are the statistics and weights those of a softmax of these scores? */
static bool is_softmax(const Find *f, const HloInstruction *masked)
{
    const PlanAttention *t = f->t;
    for (uint32_t n = 0; n < t->rows.n; n++) {
        const PlanStatistic *s = &t->rows.all[n];
        const HloInstruction *x = s->i->operands[0];
        const bool top = s->op == OP_MAX && unconverted(x) == masked;
        if (!top && (s->op != OP_ADD || !is_exponential(f, x, masked))) return false;
    }
    const HloInstruction *w = unconverted(t->of[1].i->operands[t->weights]);
    if (w->opcode != HLO_DIVIDE) return is_exponential(f, w, masked);
    const HloInstruction *by = unconverted(w->operands[1]);
    for (uint32_t n = 0; n < t->rows.n; n++)
        if (t->rows.all[n].i == by && t->rows.all[n].op == OP_ADD) return is_exponential(f, w->operands[0], masked);
    return false;
}

static void find_causal(Find *f)
{
    PlanAttention *t = f->t;
    for (uint32_t k = 0; k < f->body->n_instructions && !t->causal; k++) {
        const HloInstruction *i = f->body->instructions[k];
        uint32_t kept;
        if (!f->w.seen[k] || !is_mask(f, i, &kept)) continue;
        t->causal = reach_of(f, i->operands[0], f->w.seen[k], kept == 1, &t->reach) && is_softmax(f, i);
    }
}

/* Issue slots of an element in a pass: of what lies between its ends and scores or statistics. */
static void find_work(Find *f)
{
    PlanAttention *t = f->t;
    t->work = WBB_NEW_N(f->a, PlanCost, t->rows.passes + 1);
    for (uint32_t pass = 0; pass <= t->rows.passes; pass++) {
        const bool last = pass == t->rows.passes;
        bool *used = WBB_NEW_N(f->a, bool, f->body->n_instructions + 1);
        if (last) used[f->w.value->id] = true;
        t->work[pass] = plan_rows_work(&f->w, &t->rows, pass, used, t->quotient);
        t->work[pass].slots += last;
    }
}

/* How tiles bring the operand of a product that is no matrix of rows. */
static void find_bring(Find *f, uint32_t product)
{
    PlanProduct *p = &f->t->of[product];
    plan_find_bring(f->rw, f->a, p, f->x->base->align);
    for (uint32_t o = 0; o < 2; o++)
        if (o != plan_brought(f->t, product)) p->bring[o] = (PlanBring){0};
    if (!product && p->of.depth % PLAN_TILE_DEPTH) p->bring[plan_brought(f->t, 0)].copied = false;
}

bool plan_make_attention(PlanTry *x, Plan *p)
{
    PlanAttention *t = WBB_NEW(x->a, PlanAttention);
    Find f = {.x = x, .a = x->a, .rw = x->base->rw, .t = t, .body = x->base->fusion->body, .plan = p};
    if (!find_products(&f)) return false;
    t->shared = tg_tune(x->t, "product.shared", 0), t->within = tg_tune(x->t, "attention.within", 0);
    plan_know_order(x);
    if (x->scatters || x->hero) return plan_not(x, "beside a scatter, sort or scan there is no product");
    f.w = plan_rows(x, t->of[0].i, t->of[1].i);
    PlanRange *r = plan_scanned(x->a, p, x->t, t->of[1].i, NULL);
    if (!r) return plan_not(x, "an output does not follow from results of the second product one by one");
    f.stage = r->stages;
    if (!find_ways(&f)) return false;
    if (plan_width_of(t) > HLO_LIMIT_MATRIX_WIDTH)
        return plan_not(x, "the results of a row are too many for registers");
    t->rows = plan_rows_statistics(&f.w, t->within->value);
    find_quotient(&f);
    find_causal(&f);
    find_work(&f);
    for (uint32_t k = 0; k < 2; k++) find_bring(&f, k);
    r->reduced[t->of[0].i->id] = p->reduced[t->of[0].i->id] = true;
    for (uint32_t k = 0; k < t->rows.n; k++)
        r->reduced[t->rows.all[k].i->id] = p->reduced[t->rows.all[k].i->id] = true;
    plan_check(x->cx, x->a, p, x->t, false);
    plan_check(x->cx, x->a, p, x->t, true);
    plan_begin_kernels(x, p);
    if (plan_is_in_place(p)) return plan_not(x, "an output has the memory of an operand");
    if (x->options->layout) lay_fail(x->cx, 1, "products of matrices take no layout");
    LayPrice *price = WBB_NEW(x->a, LayPrice);
    if (!plan_attention_choose(x->a, p, x->t, t, price)) return plan_not(x, "a block has no room for its tiles");
    r->attention = t, r->price = price;
    const int64_t blocks = plan_attention_blocks(t);
    if (blocks > INT32_MAX)
        wbb_decline(x->cx, t->of[1].i->loc, WHY_SIZE, "%lld blocks and more", (long long)INT32_MAX);
    r->blocks = (uint32_t)blocks;
    p->kernels[0] = (PlanKernel){.n_ranges = 1, .ranges = r, .grid = r->blocks, .block = t->warps * x->t->warp,
                                 .why_block = "the tiles that take the least time",
                                 .why_grid = "a block for some rows of each batch"};
    p->kind = "attention";
    p->why_kind = "scores and weights stay on chip between two products by tensor cores";
    return true;
}

void plan_print_attention(WbbBuf *out, const PlanAttention *t)
{
    wbb_putf(out, "  products %%%s and %%%s: %lld of %lld rows, %lld columns of %lld products, %lld results; ",
             t->of[0].i->name, t->of[1].i->name, (long long)t->of[0].of.batches, (long long)plan_rows_of(t),
             (long long)plan_columns_of(t), (long long)t->of[0].of.depth, (long long)plan_width_of(t));
    wbb_putf(out, "%u warps of %d rows; tiles of %lld columns%s, in %u places (%s:%u)\n", t->warps,
             PLAN_TILE_ROWS * (int)t->row_tiles, (long long)t->keys,
             t->of[0].bring[plan_brought(t, 0)].copied && t->of[1].bring[plan_brought(t, 1)].copied ? ", copied" : "",
             t->stages, t->shared->file, t->shared->line);
    for (uint32_t k = 0; k < t->rows.n; k++) {
        const PlanStatistic *s = &t->rows.all[k];
        wbb_putf(out, "  pass %u: %%%s", s->pass + 1, s->i->name);
        if (s->base >= 0)
            wbb_putf(out, ", relative to any %%%s (%s:%u)", t->rows.all[s->base].i->name, t->within->file,
                     t->within->line);
        wbb_put(out, "\n");
    }
    if (t->causal)
        wbb_putf(out, "  columns beyond row %+lld are masked: tiles of these alone are left out\n",
                 (long long)t->reach);
    if (t->quotient)
        wbb_putf(out, "  %%%s: products with the reciprocal of %%%s\n", t->quotient->name,
                 t->rows.all[t->divisor].i->name);
}

const HloInstruction *plan_attention_product(const PlanAttention *t, uint32_t k) { return t->of[k].i; }
