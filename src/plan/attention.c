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

void plan_chain_index(RwCx *rw, WbbArena *a, const PlanChain *c, const IrRef *from, IrRef column, IrRef *to)
{
    IrRef next[HLO_RANK_LIMIT], reduced[HLO_RANK_LIMIT];
    memcpy(to, from, plan_shape(c->path[0], 0)->rank * sizeof *to);
    for (uint32_t k = 0; k + 1 < c->n; k++) {
        const HloInstruction *i = c->path[k];
        const HloShape *x = plan_shape(c->path[k + 1], 0);
        if (i->opcode == HLO_REDUCE) {
            int64_t sizes[HLO_RANK_LIMIT], all = 1;
            uint32_t n = 0, kept = 0, at = 0;
            for (uint32_t d = 0; d < x->rank; d++)
                if (plan_is_reduced(i, d)) sizes[n++] = x->dims[d], all *= x->dims[d];
            ix_regroup(rw, 1, &all, &column, n, sizes, reduced);
            for (uint32_t d = 0; d < x->rank; d++) next[d] = plan_is_reduced(i, d) ? reduced[at++] : to[kept++];
        } else {
            ix_operand(rw, a, i, c->operands[k], to, next);
        }
        memcpy(to, next, x->rank * sizeof *to);
    }
}

/* --- which fusions ------------------------------------------------------------------------------------------------ */
typedef struct {
    PlanTry *x;
    WbbArena *a;
    RwCx *rw;
    PlanAttention *t;
    const HloComputation *body;
    bool *needs;       /* by id: it needs scores */
    IrRef **seen;      /* by id: the index at which it is needed */
    uint32_t *from;    /* by id: 1 + the id of what needs it there .. */
    uint32_t *operand; /* .. as this operand */
    const PlanStage *stage; /* what follows from the results */
    const Plan *plan;   /* with roots */
    int32_t *output;   /* by id of a root: which output it was taken for */
    IrRef row, column; /* of the scores */
    IrRef *result;     /* [rank] index of a result */
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

static void find_needs(Find *f)
{
    for (uint32_t k = 0; k < f->body->n_instructions; k++) {
        const HloInstruction *i = f->body->instructions[k];
        f->needs[k] = i == f->t->of[0].i;
        for (uint32_t n = 0; n < i->n_operands; n++) f->needs[k] = f->needs[k] || f->needs[i->operands[n]->id];
    }
}

/* A reduction of rows of scores. */
static bool is_statistic(const Find *f, const HloInstruction *i)
{
    if (i->opcode != HLO_REDUCE || i->n_operands != 2 || f->needs[i->operands[1]->id]) return false;
    const ScOp op = hlo_combiner(i->called[0]);
    const HloShape *x = i->operands[0]->shape;
    const uint32_t bits = sc_type_info[x->type].bits;
    if ((op != OP_ADD && op != OP_MAX && op != OP_MIN) || x->rank > HLO_RANK_LIMIT) return false;
    return sc_is_float(x->type) && bits >= 16 && bits <= 32 && hlo_terms(f->a, i) == (double)plan_columns_of(f->t);
}

/* x is needed at this index as an operand of i; false: it was needed at another one. */
static bool need(Find *f, const HloInstruction *x, const IrRef *index, const HloInstruction *i, uint32_t operand)
{
    const uint32_t rank = plan_shape(x, 0)->rank;
    IrRef **seen = &f->seen[x->id];
    if (*seen) return !rank || !memcmp(*seen, index, rank * sizeof *index);
    *seen = WBB_NEW_N(f->a, IrRef, rank + 1u);
    if (rank) memcpy(*seen, index, rank * sizeof *index);
    f->from[x->id] = i ? i->id + 1 : 0, f->operand[x->id] = operand;
    return true;
}

/* What i, at its index, needs of what needs scores. */
static bool needs_of(Find *f, const HloInstruction *i)
{
    IrRef index[HLO_RANK_LIMIT];
    if (i == f->t->of[1].i) return true;
    if (i->opcode == HLO_REDUCE) {
        if (!is_statistic(f, i)) return plan_not(f->x, "a reduction between the products is not one of rows of scores");
        const HloInstruction *path[] = {i, i->operands[0]};
        uint32_t first = 0;
        const PlanChain one = {.path = path, .operands = &first, .n = 2};
        plan_chain_index(f->rw, f->a, &one, f->seen[i->id], f->column, index);
        return need(f, i->operands[0], index, i, 0) || plan_not(f->x, "a value is needed at several places of a row");
    }
    for (uint32_t k = 0; k < i->n_operands; k++) {
        const HloInstruction *x = i->operands[k];
        if (!f->needs[x->id]) continue;
        if ((!hlo_is_elementwise(i->opcode) && !hlo_is_move(i->opcode)) || !ix_has_map(i, k) ||
            plan_shape(x, 0)->rank > HLO_RANK_LIMIT)
            return plan_not(f->x, "what stands between the products is not element by element");
        ix_operand(f->rw, f->a, i, k, f->seen[i->id], index);
        if (!need(f, x, index, i, k)) return plan_not(f->x, "a value is needed at several places of a row");
    }
    return true;
}

static PlanChain chain_to(const Find *f, const HloInstruction *x)
{
    PlanChain c = {.n = 1, .output = -1};
    const HloInstruction *weights = f->t->of[1].i->operands[f->t->weights];
    for (const HloInstruction *i = x; f->from[i->id]; i = f->body->instructions[f->from[i->id] - 1]) c.n++;
    c.path = WBB_NEW_N(f->a, const HloInstruction *, c.n), c.operands = WBB_NEW_N(f->a, uint32_t, c.n);
    for (uint32_t k = c.n; k-- > 0;) {
        c.path[k] = x;
        if (k) c.operands[k - 1] = f->operand[x->id], x = f->body->instructions[f->from[x->id] - 1];
    }
    if (x != weights) c.output = f->output[x->id];
    return c;
}

static IrRef variable(Find *f, IxMap *variables, int64_t n)
{
    if (n == 1) return ir_index(rw_graph(f->rw), 0);
    return ix_map_var(f->rw, f->a, variables, IX_DIMENSION, ix_map_name(f->a, variables, IX_DIMENSION), 0, n - 1);
}

/* Begins with the roots of outputs that need scores, at the elements that follow from a result. */
static bool need_outputs(Find *f)
{
    const PlanStage *s = f->stage;
    for (uint32_t o = 0; o < s->n_outputs; o++) {
        const PlanValue root = f->plan->roots[s->outputs[o]];
        IrRef to[HLO_RANK_LIMIT];
        plan_path_index(f->rw, f->a, &s->paths[o], f->result, to);
        if (!f->needs[root.i->id] || root.i == f->t->of[1].i) continue;
        if (!f->seen[root.i->id]) f->output[root.i->id] = (int32_t)o;
        if (!need(f, root.i, to, NULL, 0)) return plan_not(f->x, "a value is needed at several places of a row");
    }
    return true;
}

/* Follows the weights of a batch, row and column, and outputs of a batch and row, down to the scores. */
static bool find_ways(Find *f)
{
    PlanAttention *t = f->t;
    PlanProduct *s = &t->of[0], *o = &t->of[1];
    const HloInstruction *weights = NULL;
    for (uint32_t k = 0; k < 2; k++) {
        if (!f->needs[o->i->operands[k]->id]) continue;
        if (weights) return plan_not(f->x, "both operands of the second product need the first one");
        weights = o->i->operands[k], t->weights = k;
    }
    if (!weights) return plan_not(f->x, "the second product does not need the first one");
    const int64_t rows = t->weights ? o->of.columns : o->of.rows;
    t->turned[1] = t->weights;
    if (o->of.batches != s->of.batches || weights->shape->rank > HLO_RANK_LIMIT)
        return plan_not(f->x, "the products have different batches");
    /* of rows and columns of the same number the first try may be the wrong one */
    for (uint32_t turned = 0; turned < 2; turned++) {
        t->turned[0] = turned;
        if (plan_rows_of(t) != rows || plan_columns_of(t) != o->of.depth) continue;
        IxMap *variables = ix_map_new(f->a);
        const IrRef batch = variable(f, variables, s->of.batches), row = variable(f, variables, rows);
        f->row = row;
        IrRef index[HLO_RANK_LIMIT], at[HLO_RANK_LIMIT];
        f->column = variable(f, variables, o->of.depth);
        memset(f->seen, 0, (f->body->n_instructions + 1) * sizeof *f->seen);
        const IrRef of_width = variable(f, variables, plan_width_of(t));
        plan_product_index(f->rw, f->a, o, t->weights, batch, row, f->column, index);
        plan_product_result(f->rw, o, batch, t->turned[1] ? of_width : row, t->turned[1] ? row : of_width, f->result);
        plan_product_result(f->rw, s, batch, turned ? f->column : row, turned ? row : f->column, at);
        if (!need(f, weights, index, NULL, 0)) return false;
        bool possible = need_outputs(f);
        for (uint32_t k = f->body->n_instructions; k-- > s->i->id + 1 && possible;)
            if (f->seen[k]) possible = needs_of(f, f->body->instructions[k]);
        const IrRef *found = f->seen[s->i->id];
        if (!possible) return false;
        if (found && !memcmp(found, at, s->i->shape->rank * sizeof *at)) return true;
    }
    return plan_not(f->x, "a weight does not need the score of its row and column alone");
}

/* What a value of rows is through moves, and through maxima with -inf. */
static const HloInstruction *of_row(const HloInstruction *x)
{
    for (x = hlo_source(x); x->opcode == HLO_MAXIMUM; x = hlo_source(x)) {
        const HloInstruction *other = hlo_source(x->operands[1]);
        if (!hlo_is_number(other, -INFINITY)) break;
        x = x->operands[0];
    }
    return x;
}

/* The maximum to which the terms of a sum are relative that may have any base (products.md), its number among the
 * statistics; -1: there is none. */
static int32_t base_of(const Find *f, const HloInstruction *sum)
{
    const PlanAttention *t = f->t;
    const HloInstruction *e = sum->operands[0], *d = e->n_operands ? e->operands[0] : NULL;
    if (plan_columns_of(t) < t->within->value || !hlo_reduces(sum, HLO_ADD) || e->opcode != HLO_EXPONENTIAL) return -1;
    const HloInstruction *m = d->opcode == HLO_SUBTRACT ? of_row(d->operands[1]) : NULL;
    if (!m || !hlo_reduces(m, HLO_MAXIMUM) || m->operands[0] != d->operands[0]) return -1;
    for (uint32_t n = 0; n < t->n_statistics; n++)
        if (t->statistics[n].i == m) return (int32_t)n;
    return -1;
}

/* A quotient of f32 on the way to the weights whose divisor is such a sum: a product with its reciprocal. */
static void find_quotient(Find *f)
{
    PlanAttention *t = f->t;
    for (uint32_t k = 0; k < f->body->n_instructions; k++) {
        const HloInstruction *i = f->body->instructions[k];
        if (!f->seen[k] || i->opcode != HLO_DIVIDE || i->shape->type != SC_F32) continue;
        for (uint32_t n = 0; n < t->n_statistics; n++) {
            const HloInstruction *sum = t->statistics[n].i;
            if (t->statistics[n].base < 0 || hlo_source(i->operands[1]) != sum) continue;
            const PlanChain way = chain_to(f, i);
            if (way.output < 0) t->quotient = i, t->divisor = n, t->to_quotient = way;
        }
    }
}

/* The statistics, in the order in which one needs another, each in the first pass that has what its terms need. */
static void find_statistics(Find *f)
{
    PlanAttention *t = f->t;
    /* by id: the first pass that may have it */
    uint32_t *after = WBB_NEW_N(f->a, uint32_t, f->body->n_instructions + 1);
    t->statistics = WBB_NEW_N(f->a, PlanStatistic, f->body->n_instructions + 1);
    t->way = chain_to(f, t->of[0].i);
    for (uint32_t k = 0; k < f->body->n_instructions; k++) {
        const HloInstruction *i = f->body->instructions[k];
        for (uint32_t n = 0; n < i->n_operands; n++) after[k] = WBB_MAX(after[k], after[i->operands[n]->id]);
        if (i->opcode != HLO_REDUCE || !f->seen[k]) continue;
        PlanStatistic *x = &t->statistics[t->n_statistics++];
        *x = (PlanStatistic){.i = i, .op = hlo_combiner(i->called[0]), .pass = after[k], .base = -1,
                             .way = chain_to(f, i)};
        const int32_t base = base_of(f, i);
        if (base >= 0 && t->statistics[base].pass + 1 == x->pass) x->base = base, x->pass--;
        after[k] = x->pass + 1;
        t->passes = WBB_MAX(t->passes, x->pass + 1);
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
        return at == f->row ? (Place){OF_ROW, 0} : at == f->column ? (Place){OF_COLUMN, 0} : other;
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
    if (i->opcode != HLO_SELECT || !sc_is_float(i->shape->type) || f->needs[i->operands[0]->id]) return false;
    *kept = f->needs[i->operands[1]->id] ? 1 : 2;
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
    const HloInstruction *m = of_row(d->operands[1]);
    for (uint32_t n = 0; n < f->t->n_statistics; n++)
        if (f->t->statistics[n].i == m) return f->t->statistics[n].op == OP_MAX;
    return false;
}

/* Are the statistics and weights those of a softmax of these scores? */
static bool is_softmax(const Find *f, const HloInstruction *masked)
{
    const PlanAttention *t = f->t;
    for (uint32_t n = 0; n < t->n_statistics; n++) {
        const PlanStatistic *s = &t->statistics[n];
        const HloInstruction *x = s->i->operands[0];
        const bool top = s->op == OP_MAX && unconverted(x) == masked;
        if (!top && (s->op != OP_ADD || !is_exponential(f, x, masked))) return false;
    }
    const HloInstruction *w = unconverted(t->of[1].i->operands[t->weights]);
    if (w->opcode != HLO_DIVIDE) return is_exponential(f, w, masked);
    const HloInstruction *by = unconverted(w->operands[1]);
    for (uint32_t n = 0; n < t->n_statistics; n++)
        if (t->statistics[n].i == by && t->statistics[n].op == OP_ADD) return is_exponential(f, w->operands[0], masked);
    return false;
}

static void find_causal(Find *f)
{
    PlanAttention *t = f->t;
    for (uint32_t k = 0; k < f->body->n_instructions && !t->causal; k++) {
        const HloInstruction *i = f->body->instructions[k];
        uint32_t kept;
        if (!f->seen[k] || !is_mask(f, i, &kept)) continue;
        t->causal = reach_of(f, i->operands[0], f->seen[k], kept == 1, &t->reach) && is_softmax(f, i);
    }
}

/* Issue slots of an element in a pass: of what lies between its ends and scores or statistics. */
static void find_work(Find *f)
{
    PlanAttention *t = f->t;
    t->slots = WBB_NEW_N(f->a, double, t->passes + 1), t->special = WBB_NEW_N(f->a, double, t->passes + 1);
    for (uint32_t pass = 0; pass <= t->passes; pass++) {
        bool *used = WBB_NEW_N(f->a, bool, f->body->n_instructions + 1);
        for (uint32_t s = 0; s < t->n_statistics; s++)
            if (t->statistics[s].pass == pass) used[t->statistics[s].i->operands[0]->id] = true, t->slots[pass]++;
        if (pass == t->passes) used[t->of[1].i->operands[t->weights]->id] = true, t->slots[pass]++;
        for (uint32_t k = f->body->n_instructions; k-- > 0;) {
            const HloInstruction *i = f->body->instructions[k];
            if (!used[k] || i->opcode == HLO_REDUCE || !f->needs[k] || i == t->of[0].i) continue;
            for (uint32_t n = 0; n < i->n_operands; n++) used[i->operands[n]->id] = true;
            if (hlo_elements(i->shape) < hlo_elements(t->of[0].i->shape)) continue; /* of a row */
            const PlanCost cost = i == t->quotient ? (PlanCost){1, 0} : plan_cost_of(f->x->t, i);
            t->slots[pass] += cost.slots, t->special[pass] += cost.special > 0;
        }
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
    const HloComputation *body = x->base->fusion->body;
    const uint32_t all = body->n_instructions + 1;
    Find f = {.x = x, .a = x->a, .rw = x->base->rw, .t = t, .body = body, .needs = WBB_NEW_N(x->a, bool, all),
              .seen = WBB_NEW_N(x->a, IrRef *, all), .from = WBB_NEW_N(x->a, uint32_t, all),
              .operand = WBB_NEW_N(x->a, uint32_t, all), .plan = p, .output = WBB_NEW_N(x->a, int32_t, all),
              .result = WBB_NEW_N(x->a, IrRef, HLO_RANK_LIMIT)};
    if (!find_products(&f)) return false;
    t->shared = tg_tune(x->t, "product.shared", 0), t->within = tg_tune(x->t, "attention.within", 0);
    plan_know_order(x);
    if (x->scatters || x->hero) return plan_not(x, "beside a scatter, sort or scan there is no product");
    find_needs(&f);
    PlanRange *r = plan_scanned(x->a, p, t->of[1].i);
    if (!r) return plan_not(x, "an output does not follow from results of the second product one by one");
    f.stage = r->stages;
    if (!find_ways(&f)) return false;
    if (plan_width_of(t) > HLO_LIMIT_MATRIX_WIDTH)
        return plan_not(x, "the results of a row are too many for registers");
    find_statistics(&f);
    find_quotient(&f);
    find_causal(&f);
    find_work(&f);
    for (uint32_t k = 0; k < 2; k++) find_bring(&f, k);
    r->reduced[t->of[0].i->id] = p->reduced[t->of[0].i->id] = true;
    for (uint32_t k = 0; k < t->n_statistics; k++)
        r->reduced[t->statistics[k].i->id] = p->reduced[t->statistics[k].i->id] = true;
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
    for (uint32_t k = 0; k < t->n_statistics; k++) {
        const PlanStatistic *s = &t->statistics[k];
        wbb_putf(out, "  pass %u: %%%s", s->pass + 1, s->i->name);
        if (s->base >= 0)
            wbb_putf(out, ", relative to any %%%s (%s:%u)", t->statistics[s->base].i->name, t->within->file,
                     t->within->line);
        wbb_put(out, "\n");
    }
    if (t->causal)
        wbb_putf(out, "  columns beyond row %+lld are masked: tiles of these alone are left out\n",
                 (long long)t->reach);
    if (t->quotient)
        wbb_putf(out, "  %%%s: products with the reciprocal of %%%s\n", t->quotient->name,
                 t->statistics[t->divisor].i->name);
}

const HloInstruction *plan_attention_product(const PlanAttention *t, uint32_t k) { return t->of[k].i; }
