/* row_statistics.c: which reductions of a product's rows, and what else stands behind it, follow from its results row
 * by row.
 *
 * Needs a product of matrices, and the indices at which values are wanted; leaves the index of each value that needs
 * the product, the statistics with the pass in which each can be found, and the ways to them.
 *
 *     d[i,j] * rsqrt(sum of squares of d's row i)    =>    d at [i,j], the sum at [i], in pass 0
 */
#include "plan/row_statistics.h"

#include <math.h>
#include <string.h>

static const char several_places[] = "a value is needed at several places of a row";

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

/* --- the walk ----------------------------------------------------------------------------------------------------- */
PlanRows plan_rows(PlanTry *x, const HloInstruction *of, const HloInstruction *last)
{
    const HloComputation *body = x->base->fusion->body;
    const uint32_t all = body->n_instructions + 1;
    PlanRows w = {.x = x, .a = x->a, .rw = x->base->rw, .body = body, .of = of, .last = last,
                  .needs = WBB_NEW_N(x->a, bool, all), .seen = WBB_NEW_N(x->a, IrRef *, all),
                  .from = WBB_NEW_N(x->a, uint32_t, all), .operand = WBB_NEW_N(x->a, uint32_t, all),
                  .output = WBB_NEW_N(x->a, int32_t, all)};
    for (uint32_t k = 0; k < body->n_instructions; k++) {
        const HloInstruction *i = body->instructions[k];
        w.needs[k] = i == of;
        for (uint32_t n = 0; n < i->n_operands; n++) w.needs[k] = w.needs[k] || w.needs[i->operands[n]->id];
    }
    return w;
}

IrRef plan_rows_variable(const PlanRows *w, IxMap *variables, int64_t n)
{
    if (n == 1) return ir_index(rw_graph(w->rw), 0);
    return ix_map_var(w->rw, w->a, variables, IX_DIMENSION, ix_map_name(w->a, variables, IX_DIMENSION), 0, n - 1);
}

static bool is_statistic(const PlanRows *w, const HloInstruction *i)
{
    if (i->opcode != HLO_REDUCE || i->n_operands != 2 || w->needs[i->operands[1]->id]) return false;
    const ScOp op = hlo_combiner(i->called[0]);
    const HloShape *x = i->operands[0]->shape;
    const uint32_t bits = sc_type_info[x->type].bits;
    if ((op != OP_ADD && op != OP_MAX && op != OP_MIN) || x->rank > HLO_RANK_LIMIT) return false;
    return sc_is_float(x->type) && bits >= 16 && bits <= 32 && hlo_terms(w->a, i) == (double)w->columns;
}

bool plan_rows_need(PlanRows *w, const HloInstruction *x, const IrRef *index, const HloInstruction *i, uint32_t operand)
{
    const uint32_t rank = plan_shape(x, 0)->rank;
    IrRef **seen = &w->seen[x->id];
    if (*seen) return !rank || !memcmp(*seen, index, rank * sizeof *index);
    *seen = WBB_NEW_N(w->a, IrRef, rank + 1u);
    if (rank) memcpy(*seen, index, rank * sizeof *index);
    w->from[x->id] = i ? i->id + 1 : 0, w->operand[x->id] = operand;
    return true;
}

/* What i, at its index, needs of what needs the product. */
static bool needs_of(PlanRows *w, const HloInstruction *i)
{
    IrRef index[HLO_RANK_LIMIT];
    if (i == w->last) return true;
    if (i->opcode == HLO_REDUCE) {
        if (!is_statistic(w, i)) return plan_not(w->x, "a reduction of results is not one of rows of a product");
        const HloInstruction *path[] = {i, i->operands[0]};
        uint32_t first = 0;
        const PlanChain one = {.path = path, .operands = &first, .n = 2};
        plan_chain_index(w->rw, w->a, &one, w->seen[i->id], w->column, index);
        return plan_rows_need(w, i->operands[0], index, i, 0) || plan_not(w->x, several_places);
    }
    for (uint32_t k = 0; k < i->n_operands; k++) {
        const HloInstruction *x = i->operands[k];
        if (!w->needs[x->id]) continue;
        if ((!hlo_is_elementwise(i->opcode) && !hlo_is_move(i->opcode)) || !ix_has_map(i, k) ||
            plan_shape(x, 0)->rank > HLO_RANK_LIMIT)
            return plan_not(w->x, "what follows from rows of a product is not element by element");
        ix_operand(w->rw, w->a, i, k, w->seen[i->id], index);
        if (!plan_rows_need(w, x, index, i, k)) return plan_not(w->x, several_places);
    }
    return true;
}

bool plan_rows_need_outputs(PlanRows *w, const Plan *plan, const PlanStage *s, const IrRef *result, const IrRef *row)
{
    for (uint32_t o = 0; o < s->n_outputs; o++) {
        const PlanValue root = plan->roots[s->outputs[o]];
        IrRef to[HLO_RANK_LIMIT];
        if (!w->needs[root.i->id] || root.i == w->last) continue;
        plan_path_index(w->rw, w->a, &s->paths[o], s->paths[o].kept ? row : result, to);
        if (!w->seen[root.i->id]) w->output[root.i->id] = (int32_t)o;
        if (!plan_rows_need(w, root.i, to, NULL, 0)) return plan_not(w->x, several_places);
    }
    return true;
}

bool plan_rows_follow(PlanRows *w, const IrRef *at, bool *found)
{
    *found = false;
    for (uint32_t k = w->body->n_instructions; k-- > w->of->id + 1;)
        if (w->seen[k] && !needs_of(w, w->body->instructions[k])) return false;
    const IrRef *of = w->seen[w->of->id];
    *found = of && !memcmp(of, at, w->of->shape->rank * sizeof *at);
    return true;
}

PlanChain plan_rows_way(const PlanRows *w, const HloInstruction *x)
{
    PlanChain c = {.n = 1, .output = -1};
    for (const HloInstruction *i = x; w->from[i->id]; i = w->body->instructions[w->from[i->id] - 1]) c.n++;
    c.path = WBB_NEW_N(w->a, const HloInstruction *, c.n), c.operands = WBB_NEW_N(w->a, uint32_t, c.n);
    for (uint32_t k = c.n; k-- > 0;) {
        c.path[k] = x;
        if (k) c.operands[k - 1] = w->operand[x->id], x = w->body->instructions[w->from[x->id] - 1];
    }
    if (x != w->value) c.output = w->output[x->id];
    return c;
}

/* --- statistics --------------------------------------------------------------------------------------------------- */
const HloInstruction *plan_row_source(const HloInstruction *x)
{
    for (x = hlo_source(x); x->opcode == HLO_MAXIMUM; x = hlo_source(x)) {
        const HloInstruction *other = hlo_source(x->operands[1]);
        if (!hlo_is_number(other, -INFINITY)) break;
        x = x->operands[0];
    }
    return x;
}

/* The maximum to which the terms of a sum are relative that may have any base, its number among the statistics; -1:
 * there is none. */
static int32_t base_of(const PlanStatistics *s, const HloInstruction *sum)
{
    const HloInstruction *e = sum->operands[0], *d = e->n_operands ? e->operands[0] : NULL;
    if (!hlo_reduces(sum, HLO_ADD) || e->opcode != HLO_EXPONENTIAL) return -1;
    const HloInstruction *m = d->opcode == HLO_SUBTRACT ? plan_row_source(d->operands[1]) : NULL;
    if (!m || !hlo_reduces(m, HLO_MAXIMUM) || m->operands[0] != d->operands[0]) return -1;
    for (uint32_t n = 0; n < s->n; n++)
        if (s->all[n].i == m) return (int32_t)n;
    return -1;
}

PlanStatistics plan_rows_statistics(const PlanRows *w, int64_t least)
{
    /* by id: the first pass that may have it */
    uint32_t *after = WBB_NEW_N(w->a, uint32_t, w->body->n_instructions + 1);
    PlanStatistics s = {.way = plan_rows_way(w, w->of),
                        .all = WBB_NEW_N(w->a, PlanStatistic, w->body->n_instructions + 1)};
    for (uint32_t k = 0; k < w->body->n_instructions; k++) {
        const HloInstruction *i = w->body->instructions[k];
        for (uint32_t n = 0; n < i->n_operands; n++) after[k] = WBB_MAX(after[k], after[i->operands[n]->id]);
        if (i->opcode != HLO_REDUCE || !w->seen[k]) continue;
        const int32_t base = w->columns < least ? -1 : base_of(&s, i);
        PlanStatistic *x = &s.all[s.n++];
        *x = (PlanStatistic){.i = i, .op = hlo_combiner(i->called[0]), .pass = after[k], .base = -1,
                             .way = plan_rows_way(w, i)};
        if (base >= 0 && s.all[base].pass + 1 == x->pass) x->base = base, x->pass--;
        after[k] = x->pass + 1;
        s.passes = WBB_MAX(s.passes, x->pass + 1);
    }
    return s;
}

PlanCost plan_rows_work(const PlanRows *w, const PlanStatistics *s, uint32_t pass, bool *used,
                        const HloInstruction *cheap)
{
    PlanCost sum = {0};
    for (uint32_t n = 0; n < s->n; n++)
        if (s->all[n].pass == pass) used[s->all[n].i->operands[0]->id] = true, sum.slots++;
    for (uint32_t k = w->body->n_instructions; k-- > 0;) {
        const HloInstruction *i = w->body->instructions[k];
        if (!used[k] || i->opcode == HLO_REDUCE || !w->needs[k] || i == w->of) continue;
        for (uint32_t n = 0; n < i->n_operands; n++) used[i->operands[n]->id] = true;
        if (hlo_elements(i->shape) < hlo_elements(w->of->shape)) continue; /* of a row */
        const PlanCost cost = i == cheap ? (PlanCost){1, 0} : plan_cost_of(w->x->t, i);
        sum.slots += cost.slots, sum.special += cost.special > 0;
    }
    return sum;
}
