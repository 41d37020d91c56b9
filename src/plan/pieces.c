/* pieces.c: long scans of few rows, which a few blocks would take one iteration after the other: into how many pieces
 * they are split (SCANS of patterns/arrays.py), of which the caller takes the plan that has less time. Likewise large
 * windows, of how many neighbours parts of them are made first (PARTS of patterns/arrays.py).
 *
 * Needs a verified fusion; leaves numbers.
 *
 *     cumulative sum of f32[1048576]     256 pieces: launches of 2.9, 2.2 and 3.8 us instead of one of 160 us
 */
#include "graph/graph.h"
#include "plan/work.h"

/* Of elements of whole bytes, which begins with its operation's identity? */
static bool may_part(const HloInstruction *i)
{
    return gr_begins_neutral(i) && i->operands[0]->shape->type == i->shape->type &&
           sc_type_info[i->shape->type].bits >= 8;
}

uint32_t plan_scan_pieces(const HloInstruction *i, const TgTarget *t)
{
    HloScan scan;
    if (!hlo_is_scan(i, &scan) || i->n_operands != 2 || scan.shift) return 0;
    const HloShape *in = i->operands[0]->shape;
    const int64_t n = in->dims[scan.dim], all = hlo_elements(in), rows = all / n;
    if (!may_part(i)) return 0;
    if (i->shape->dims[scan.dim] != n || in->rank >= HLO_RANK_LIMIT || i->windows[scan.dim].size != n) return 0;
    if (!hlo_is_row_major(in) || !hlo_is_row_major(i->shape)) return 0;
    /* so that SMs have several blocks each, and what is before a piece comes from memory */
    const int64_t blocks = tg_tuned(t, "scan.blocks") * t->sms;
    const int64_t least = WBB_MAX((blocks + rows - 1) / rows, tg_tuned(t, "scan.cut") + 1);
    if (n < tg_tuned(t, "scan.piece") * least) return 0;
    for (int64_t pieces = least; pieces < 2 * least; pieces++) /* of equal size, and of whole vectors */
        if (n % (pieces * 8) == 0) return (uint32_t)(n / pieces);
    return (uint32_t)((n + least - 1) / least);
}

/* One window after the other takes cut.times the least work and more, as two windows do not. */
uint32_t plan_window_first(const HloInstruction *i, const TgTarget *t)
{
    if (i->opcode != HLO_REDUCE_WINDOW || i->n_operands != 2 || !may_part(i)) return 0;
    const HloShape *in = i->operands[0]->shape, *out = i->shape;
    HloScan scan;
    if (plan_scan_of(i, t, &scan) || !hlo_is_row_major(in) || !hlo_is_row_major(out)) return 0;
    double terms = (double)hlo_elements(out);
    uint32_t several = 0;
    int64_t size = 1, largest = 1;
    for (uint32_t d = 0; d < in->rank; d++) {
        const HloWindow *w = &i->windows[d];
        if (w->lhs_dilate != 1 || w->reversal) return 0;
        terms *= (double)w->size, several += w->size > 1;
        if (w->size > 1) size = w->size;
        largest = WBB_MAX(largest, w->size);
    }
    const double once = (double)(hlo_elements(in) + hlo_elements(out));
    if (terms <= (double)tg_tuned(t, "cut.times") * once || terms <= (double)tg_tuned(t, "cut.terms"))
        return 0;
    if (several > 1) return (uint32_t)largest;
    int64_t first = 1; /* the largest divisor up to the root */
    for (int64_t k = 2; k * k <= size; k++)
        if (size % k == 0) first = k;
    return first > 1 ? (uint32_t)(size / first) : 0;
}
