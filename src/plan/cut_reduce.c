/* cut_reduce.c: fusions of which no kernel has threads that share all reductions: which of these, or of the reductions
 * of windows, a launch of their own computes first.
 *
 * Needs a plan with roots; leaves reductions whose results go to memory (cut.c), or none: where a loop that computes
 * them again for each element takes little time, it takes less than another launch. A thread that folds 100 terms of a
 * small array waits for as long as another launch; the terms of large arrays take their time from memory either way.
 *
 *     s = f32[9] reduce(x), {1}   ROOT y = f32[9,7] multiply(broadcast(s), broadcast(v))    =>   s, if x is large
 */
#include "graph/graph.h"
#include "plan/work.h"

/* Terms of an element of its result; 0: it is no reduction that can be cut out. */
static int64_t terms_of(WbbArena *a, const HloInstruction *i)
{
    if (i->opcode != HLO_REDUCE || i->operands[0]->shape->rank > HLO_RANK_LIMIT) return 0;
    for (uint32_t k = 0; k < i->shape->n_leaves && i->shape->type == SC_TUPLE; k++)
        if (ir_is_packed(plan_shape(i, k)->type)) return 0; /* threads store whole bytes: cut.c widens single ones */
    return (int64_t)hlo_terms(a, i);
}

/* Elements of terms: the least that kernels take for all reductions of more than `from` terms, what a loop takes, and
 * the most that one of its threads takes, one after the other, for one reduction, and for it and those in it. */
typedef struct {
    double least, loop;
    int64_t longest;
    double chain;
} Terms;

/* The most terms that a thread takes one after the other, of reductions inside each other: of an inner one it takes
 * as many results as there are for each result of the outer one; of those whose terms threads share, one. */
static double longest_chain(WbbArena *a, const Plan *p, int64_t from)
{
    const HloComputation *body = p->fusion->body;
    double *chain = WBB_NEW_N(a, double, body->n_instructions + 1), longest = 0; /* by id */
    double *results = WBB_NEW_N(a, double, body->n_instructions + 1);            /* of the reduction that it is of */
    for (uint32_t k = 0; k < body->n_instructions; k++) {
        const HloInstruction *i = body->instructions[k];
        const int64_t terms = terms_of(a, i);
        for (uint32_t o = 0; o < i->n_operands; o++) {
            const uint32_t of = i->operands[o]->id;
            if (chain[of] > chain[k]) chain[k] = chain[of], results[k] = results[of];
        }
        if (terms <= 1 || (p->reduced && p->reduced[k])) continue;
        const double n = (double)hlo_elements(plan_shape(i, 0));
        chain[k] = (double)terms + chain[k] * WBB_MAX(1, results[k] / WBB_MAX(n, 1)), results[k] = n;
        if (terms > from) longest = WBB_MAX(longest, chain[k]);
    }
    return longest;
}

static Terms terms_of_loop(WbbArena *a, const Plan *p, int64_t from)
{
    const HloComputation *body = p->fusion->body;
    double *each = WBB_NEW_N(a, double, body->n_instructions + 1); /* by id: for one element */
    Terms x = {0};
    for (uint32_t k = 0; k < body->n_instructions; k++) {
        const HloInstruction *i = body->instructions[k];
        const int64_t terms = terms_of(a, i);
        each[k] = 1;
        for (uint32_t o = 0; o < i->n_operands; o++) each[k] = WBB_MAX(each[k], each[i->operands[o]->id]);
        if (terms > 1) each[k] *= (double)terms;
        if (terms <= from) continue;
        x.least += (double)hlo_elements(i->operands[0]->shape);
        x.longest = WBB_MAX(x.longest, terms);
    }
    x.chain = longest_chain(a, p, from);
    for (uint32_t o = 0; o < p->n_outputs; o++) {
        const double n = (double)hlo_elements(plan_shape(p->roots[o].i, p->roots[o].part));
        x.least += n, x.loop += n * each[p->roots[o].i->id];
    }
    return x;
}

/* The first reduction of more than `from` terms that needs no other one, and, unless `single`, those of its space that
 * need none but these. Returns their number. */
static uint32_t first_of(WbbArena *a, const HloComputation *body, int64_t from, bool single,
                         const HloInstruction **found)
{
    enum { CHOSEN = 1, OTHER = 2 };
    uint8_t *needs = WBB_NEW_N(a, uint8_t, body->n_instructions + 1); /* by id: reductions that it is, or needs */
    uint32_t n = 0;
    for (uint32_t k = 0; k < body->n_instructions; k++) {
        const HloInstruction *i = body->instructions[k];
        for (uint32_t o = 0; o < i->n_operands; o++) needs[k] |= needs[i->operands[o]->id];
        if (terms_of(a, i) <= from) continue;
        if (!needs[k] || (needs[k] == CHOSEN && !single)) {
            if (!n || plan_same_space(found[0], i)) {
                found[n++] = i, needs[k] |= CHOSEN;
                continue;
            }
        }
        needs[k] |= OTHER;
    }
    return n;
}

/* Does a thread wait for its terms for longer than another launch takes, with what that reads? */
static bool waits_longer(const Plan *p, const TgTarget *t, const Terms *x)
{
    if (!tg_find_rate(t, "clock")) return false;
    double bytes = 0;
    for (uint32_t k = 0; k < p->fusion->body->n_instructions; k++) {
        const HloInstruction *i = p->fusion->body->instructions[k];
        if (i->opcode == HLO_PARAMETER && i->shape->type != SC_TUPLE)
            bytes += (double)hlo_elements(i->shape) * WBB_MAX(sc_type_info[i->shape->type].bits, 8u) / 8;
    }
    const double launch = plan_least_us(t) / 1e6 + bytes / tg_rate(t, "dram")->value;
    return x->chain * (double)tg_tuned(t, "cut.term") > launch * tg_rate(t, "clock")->value;
}

uint32_t plan_cut_reductions(WbbArena *a, const Plan *p, const TgTarget *t, bool single, bool few,
                             const HloInstruction **found)
{
    const HloComputation *body = p->fusion->body;
    int64_t from = 1, most = 0;
    for (uint32_t k = 0; k < body->n_instructions; k++) most = WBB_MAX(most, terms_of(a, body->instructions[k]));
    if (!few && most > tg_tuned(t, "reduce.straight")) from = tg_tuned(t, "reduce.straight");
    const Terms x = terms_of_loop(a, p, from);
    const double times = (double)tg_tuned(t, "cut.times"), least = (double)tg_tuned(t, "cut.terms");
    const bool slow = x.loop > times * x.least && x.loop > least;
    if (!slow && x.longest <= tg_tuned(t, "cut.longest") && !waits_longer(p, t, &x)) return 0;
    return first_of(a, body, from, single, found);
}

/* --- windows ------------------------------------------------------------------------------------------------------ */
static double *evaluations(WbbCx *cx, WbbArena *a, const Plan *p)
{
    double *n = WBB_NEW_N(a, double, p->fusion->body->n_instructions + 1);
    for (uint32_t o = 0; o < p->n_outputs; o++) {
        const HloInstruction *i = p->roots[o].i;
        n[i->id] = WBB_MAX(n[i->id], (double)hlo_elements(plan_shape(i, p->roots[o].part)));
    }
    gr_evaluations(a, gr_make(cx, a, p->fusion->body), false, n);
    return n;
}

static bool is_output(const Plan *p, const HloInstruction *i)
{
    for (uint32_t o = 0; o < p->n_outputs; o++)
        if (p->roots[o].i == i) return true;
    return false;
}

/* The reduction of windows that i is a result of, if it may be cut out; else NULL. */
static const HloInstruction *window_of(const Plan *p, const HloInstruction *i)
{
    const HloInstruction *w = i->opcode == HLO_GET_TUPLE_ELEMENT ? i->operands[0] : i;
    if (w->opcode != HLO_REDUCE_WINDOW || i->shape->type == SC_TUPLE || ir_is_packed(i->shape->type)) return NULL;
    return w->operands[0]->shape->rank <= HLO_RANK_LIMIT && !is_output(p, i) && !is_output(p, w) ? w : NULL;
}

const HloInstruction *plan_cut_window(WbbCx *cx, WbbArena *a, const Plan *p, const TgTarget *t)
{
    const HloComputation *body = p->fusion->body;
    const double times = (double)tg_tuned(t, "cut.times"), least = (double)tg_tuned(t, "cut.terms");
    double *n = NULL, stored = 0; /* n: by id, how often a loop over the outputs computes an element */
    for (uint32_t k = 0; k < body->n_instructions; k++) {
        const HloInstruction *i = body->instructions[k], *w = window_of(p, i);
        if (!w) continue;
        for (uint32_t o = 0; o < p->n_outputs && !n; o++)
            stored += (double)hlo_elements(plan_shape(p->roots[o].i, p->roots[o].part));
        if (!n) n = evaluations(cx, a, p);
        const double terms = n[k] * hlo_terms(a, w), once = (double)hlo_elements(w->operands[0]->shape) + stored;
        const bool again = n[k] >= (double)tg_tuned(t, "cut.windows") * (double)hlo_elements(i->shape);
        if (again && terms > times * once && terms > least) return i;
    }
    return NULL;
}
