/* cut_rows.c: few long rows that are read again, which leave most of the machine empty: blocks of different clusters do
 * not wait for each other, so one launch of them has an SM or a cluster for each row. Launches of their own have all of
 * the machine: the first results of the rows, by blocks that share them through memory, then what needs these.
 *
 * Needs the chosen layout of the one launch; leaves the reductions at which it may be cut, and says whether launches
 * take less time. Each is planned as if it were a fusion, and may be cut again.
 *
 *     softmax f32[1,1048576]   one launch, a cluster of 8 SMs: 30.3 us   maxima; sums; quotients: 12.5 us
 *
 * Or into pieces of how many terms the rows are split first (ROWS of patterns/arrays.py): then one launch reads a piece
 * once for both.
 */
#include "graph/graph.h"
#include "plan/work.h"

uint32_t plan_cut_rows(const PlanRange *shared, const TgTarget *t, const HloInstruction **found)
{
    const LayPriced *best = &shared->choice->best[0];
    const int64_t blocks = lay_level_size(&best->layout, LAY_GRID) * lay_level_size(&best->layout, LAY_CLUSTER);
    const PlanStage *first = &shared->stages[0];
    bool again = false; /* a stage of results alone reads no terms */
    for (uint32_t k = 1; k < shared->n_stages; k++) again = again || shared->stages[k].kind != PLAN_RESULTS;
    const bool held = lay_level_size(&best->layout, LAY_LOOP) == 1;
    if (!again || first->kind != PLAN_REDUCE || (held && blocks >= t->sms)) return 0;
    if (best->price.us < (double)tg_tuned(t, "rows.launches") * plan_least_us(t)) return 0;
    for (uint32_t k = 0; k < first->n_reduces; k++) {
        const HloInstruction *i = first->reduces[k].i;
        for (uint32_t l = 0; l < i->n_operands / 2; l++)
            if (ir_is_packed(plan_shape(i, l)->type)) return 0;
        found[k] = i;
    }
    return first->n_reduces;
}

/* --- pieces ------------------------------------------------------------------------------------------------------- */
enum { VECTOR = 8 }; /* elements of 16 bits of an access: pieces along neighbours have whole ones */

/* Terms of a piece. Pieces are the fewest of equal size of which a block holds one, and each SM has a block or more;
 * where no number divides the row so, as of 50,257 elements, the fewest of which the last one is shorter. Of rows whose
 * elements are neighbours in memory, those of a piece begin at a vector if those of a row do; of columns, a block has
 * those side by side that are a run of memory. Rows that cannot fill the machine have the most pieces. 0: none. */
static uint32_t piece_of(const HloInstruction *i, const TgTarget *t)
{
    const HloShape *s = i->operands[0]->shape;
    uint32_t slowest, run;
    int64_t inner = 1, faster = 1; /* faster: elements of reduced dimensions that are faster than what is split */
    const int64_t n = hlo_split_length(i, &slowest, &run);
    for (uint32_t d = slowest + run; d < s->rank; d++) {
        inner *= s->dims[d];
        if (hlo_is_reduced(i, d)) faster *= s->dims[d];
    }
    const int64_t all = hlo_elements(s), side = tg_tuned(t, "rows.side");
    if (n * faster < tg_tuned(t, "rows.long")) return 0;
    const int64_t each = WBB_MIN(inner / faster, side) * faster; /* elements of a block for each of n */
    const int64_t vector = inner == 1 && n % VECTOR == 0 ? VECTOR : 1;
    const int64_t least = tg_tuned(t, "rows.least");
    const int64_t first = WBB_MAX(lay_up(n * each, tg_tuned(t, "rows.piece")), 2);
    int64_t pieces = first;
    int64_t unequal = 0;
    for (; pieces < n && n / pieces * each >= least; pieces++) {
        if (all / (n / pieces * each) < (int64_t)t->sms) continue;
        if (n % (pieces * vector) == 0) return (uint32_t)(n / pieces * faster);
        if (!unequal && n % pieces) unequal = pieces;
    }
    if (!unequal && pieces > first) unequal = pieces - 1;
    if (!unequal) return 0;
    const int64_t whole = n % unequal && inner == 1 ? VECTOR : 1;
    return (uint32_t)(lay_up(lay_up(n, unequal), whole) * whole * faster);
}

static bool may_split(const HloInstruction *i) { return hlo_reduces(i, HLO_ADD) || hlo_reduces(i, HLO_MAXIMUM); }

/* Other reductions of the same terms' shape that need no result of those that are split: their pieces are the same
 * blocks', in the same launch, as a sum of gradients beside the maximum of a row. Where a later one reads the terms
 * again, as the gradient of a norm does, they are for the launch of that. */
static void add_others(WbbArena *a, const HloComputation *body, uint32_t *pieces)
{
    bool *needs = WBB_NEW_N(a, bool, body->n_instructions + 1); /* by id: results that are split */
    const HloInstruction *first = NULL;
    for (uint32_t n = 0; n < body->n_instructions; n++) {
        const HloInstruction *i = body->instructions[n];
        if (pieces[n] > 1 && !first) first = i;
        for (uint32_t o = 0; o < i->n_operands; o++)
            needs[n] = needs[n] || needs[i->operands[o]->id] || pieces[i->operands[o]->id];
    }
    for (uint32_t n = 0; n < body->n_instructions; n++) {
        const HloInstruction *i = body->instructions[n];
        if (!pieces[n] && needs[n] && plan_same_space(first, i)) return;
    }
    for (uint32_t n = 0; n < body->n_instructions; n++) {
        const HloInstruction *i = body->instructions[n];
        if (!pieces[n] && may_split(i) && plan_same_space(first, i)) pieces[n] = pieces[first->id];
    }
}

bool plan_row_pieces(WbbCx *cx, WbbArena *a, const Plan *p, const TgTarget *t, uint32_t *pieces)
{
    const HloComputation *body = p->fusion->body;
    const LayChoice *choice = p->n_kernels && p->kernels[0].n_ranges ? p->kernels[0].ranges[0].choice : NULL;
    bool any = false;
    if (p->n_kernels == 1 && (!choice || lay_level_size(&choice->best[0].layout, LAY_LOOP) == 1)) return false;
    const HloInstruction **bases = gr_bases(cx, a, body);
    for (uint32_t n = 0; n < body->n_instructions; n++) {
        const HloInstruction *s = body->instructions[n], *m = bases[n];
        const uint32_t k = m ? piece_of(s, t) : 0;
        if (k) pieces[m->id] = pieces[n] = k, any = true;
    }
    if (any) add_others(a, body, pieces);
    return any;
}
