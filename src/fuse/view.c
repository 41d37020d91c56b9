/* view: values that are another one's memory, or a part of it.
 *
 * Needs: a verified computation; of a body, the loop that runs it. Leaves: which bytes of the operand have the value. A
 * reshape is all of it. A slice whose elements lie side by side begins somewhere; a dynamic slice at a place that
 * follows from the counter of a loop begins elsewhere in each iteration, which whoever runs the loop knows.
 *
 *     w = f32[24,512,512] of the state   x = dynamic-slice(w, i, 0, 0), sizes 1, 512, 512      0, + 1 MiB an iteration
 */
#include "fuse/priced.h"

bool fuse_is_view(const HloInstruction *i)
{
    if (!hlo_has(i->opcode, HLO_IN_ORDER)) return false;
    return hlo_has(i->opcode, HLO_RENAMES) || (hlo_is_row_major(i->shape) && hlo_is_row_major(i->operands[0]->shape));
}

const HloInstruction *fuse_loop_of(const HloComputation *c)
{
    const HloInstruction *loop = NULL;
    for (uint32_t m = 0; m < c->module->n_computations; m++) {
        const HloComputation *x = c->module->computations[m];
        for (uint32_t k = 0; k < x->n_instructions; k++)
            for (uint32_t j = 0; j < x->instructions[k]->n_called; j++) {
                const HloInstruction *i = x->instructions[k];
                if (i->called[j] != c) continue;
                if (loop || i->opcode != HLO_WHILE || hlo_called(i, "body") != c) return NULL;
                loop = i;
            }
    }
    return loop;
}

/* Do the elements of a slice lie side by side: all of the faster dimensions, some of one, one of each slower one? */
static bool is_side_by_side(const HloShape *s, const HloShape *of)
{
    bool whole = true;
    for (uint32_t k = 0; k < s->rank; k++) {
        const uint32_t d = s->minor_to_major[k];
        if (d != of->minor_to_major[k]) return false;
        if (!whole && s->dims[d] != 1) return false;
        whole = whole && s->dims[d] == of->dims[d];
    }
    return sc_type_info[s->type].bits % 8 == 0 && hlo_elements(s) > 0;
}

/* Bytes from one position of dimension d to the next. */
static int64_t stride(const HloShape *s, uint32_t d)
{
    int64_t n = sc_type_info[s->type].bits / 8;
    for (uint32_t k = 0; s->minor_to_major[k] != (int)d; k++) n *= s->dims[s->minor_to_major[k]];
    return n;
}

/* Where a dynamic slice starts along a dimension: at a line of the iteration, or at a constant, and always inside. */
static bool start_of(const HloInstruction *i, uint32_t d, const HloInstruction *loop, HloLine *line)
{
    const HloInstruction *at = i->operands[1 + d];
    const int64_t most = i->operands[0]->shape->dims[d] - i->shape->dims[d];
    HloCount count = {.trips = 1, .counter = UINT32_MAX};
    if (loop && (!hlo_counts(loop, &count) || count.trips > FUSE_MOST_TRIPS)) return false;
    const HloLine counter = {.first = count.first, .step = count.step};
    if (!hlo_line_of(at, count.counter, counter, count.trips, line)) return false;
    const WbbI128 last = line->first + line->step * (count.trips - 1);
    return line->first >= 0 && line->first <= most && last >= 0 && last <= most;
}

bool fuse_is_slab(const HloInstruction *i, const HloInstruction *loop, FuseSlab *slab)
{
    if (i->opcode != HLO_SLICE && i->opcode != HLO_DYNAMIC_SLICE) return false;
    const HloShape *of = i->operands[0]->shape;
    *slab = (FuseSlab){0};
    const bool dynamic = i->opcode == HLO_DYNAMIC_SLICE;
    if (!is_side_by_side(i->shape, of) || (dynamic && i->n_operands != 1u + of->rank)) return false;
    for (uint32_t d = 0; d < of->rank; d++) {
        HloLine line = {0};
        if (dynamic ? !start_of(i, d, loop, &line) : i->slices[d].stride != 1) return false;
        if (!dynamic) line.first = i->slices[d].start;
        slab->at += (int64_t)line.first * stride(of, d), slab->each += (int64_t)line.step * stride(of, d);
    }
    return slab->at % HLO_LIMIT_PART_ALIGN == 0 && slab->each % HLO_LIMIT_PART_ALIGN == 0;
}
