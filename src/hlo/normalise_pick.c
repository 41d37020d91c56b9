/* normalise_pick: a sum over a row of which one term alone counts, the one that an index names.
 *
 * Needs: an HLO module, and for sums over a dimension of select(iota = label, f, 0), label being a number of the row,
 * 1 piece (HloRewriter.same, of normalise_rows). Leaves: the element of f at the label, or 0 where the row has none,
 * plus 0 as the sum has, which makes 0 of -0: the same bits, and of f one element is computed.
 *
 *     at = f32[8] reduce(select(compare(iota, broadcast(label)), x - broadcast(m), 0)), add
 *         g = f32[8,1,1] gather(x, [row, label])      at = f32[8] select(0 <= label < n, g - m, 0) + 0
 */
#include "hlo/normalise.h"

static bool is_zero(const HloInstruction *i)
{
    return hlo_is_number(i->opcode == HLO_BROADCAST ? i->operands[0] : i, 0);
}

/* Is an element the number of its place in the row? */
static bool is_place(const HloInstruction *i, int64_t row)
{
    return hlo_is_place(i, row) && sc_is_int(i->shape->type);
}

/* The number of the row of which terms are a mask, the other operand being an iota along the reduced dimension. */
static const HloInstruction *label_of(const HloInstruction *i)
{
    const HloInstruction *mask = i->operands[0]->operands[0];
    if (mask->opcode != HLO_COMPARE || mask->direction != HLO_EQ) return NULL;
    for (int k = 0; k < 2; k++)
        if (is_place(mask->operands[k], i->dimensions[0]) && hlo_is_of_results(mask->operands[1 - k], i))
            return mask->operands[1 - k]->operands[0];
    return NULL;
}

bool hlo_is_pick(const HloInstruction *i)
{
    if (!hlo_reduces(i, HLO_ADD) || i->n_dimensions != 1 || !hlo_is_row_major(i->shape)) return false;
    const HloInstruction *of = i->operands[0];
    if (of->opcode != HLO_SELECT) return false;
    /* indices of the label's type reach every row */
    return is_zero(of->operands[2]) && label_of(i) && sc_bytes(label_of(i)->shape->type) >= 4 &&
           of->shape->rank + 1 < HLO_RANK_LIMIT;
}

/* --- the element at the label ------------------------------------------------------------------------------------- */
typedef struct {
    HloBuilder *b;
    const HloInstruction *i;
    HloInstruction *places; /* [results, rank]: of each row, the position of its label */
} Pick;

static Pick pick_of(HloBuilder *b, const HloInstruction *i)
{
    const HloShape *of = i->operands[0]->shape, *rows = i->shape;
    const int64_t column[] = {hlo_elements(rows), 1};
    HloInstruction *label = hlo_mapped(b, label_of(i)), *at[HLO_RANK_LIMIT];
    for (uint32_t d = 0, kept = 0; d < of->rank; d++) {
        at[d] = d == i->dimensions[0] ? label : hlo_new_iota(b, label->shape->type, rows->rank, rows->dims, kept++);
        at[d] = hlo_new_reshape(b, at[d], 2, column);
    }
    return (Pick){b, i, hlo_new_concatenate(b, of->rank, at, 1)};
}

static HloInstruction *gathered(const Pick *p, HloInstruction *f)
{
    HloBuilder *b = p->b;
    const uint32_t rank = f->shape->rank;
    int64_t windows[HLO_RANK_LIMIT] = {p->places->shape->dims[0]}, *axes = WBB_NEW_N(b->arena, int64_t, 3 * rank);
    for (uint32_t d = 0; d < rank; d++)
        windows[d + 1] = 1, axes[d] = d, axes[rank + d] = d + 1, axes[2 * rank + d] = 1;
    HloInstruction *operands[] = {f, p->places};
    const HloShape *of = hlo_make_array(b->arena, f->shape->type, rank + 1, windows);
    HloInstruction *g = hlo_new(b, HLO_GATHER, of, 2, operands);
    const char *starts = hlo_ints_attribute(b, "start_index_map", (HloInts){axes, rank});
    const char *offsets = hlo_ints_attribute(b, "offset_dims", (HloInts){axes + rank, rank});
    const char *ones = hlo_ints_attribute(b, "slice_sizes", (HloInts){axes + 2 * rank, rank});
    hlo_set_attributes(b, g, wbb_format(b->arena, "%s, collapsed_slice_dims={}%s, index_vector_dim=1%s", offsets,
                                        starts, ones));
    return hlo_new_reshape(b, g, p->i->shape->rank, p->i->shape->dims);
}

/* Of arithmetic, that of the elements of its operands: results of the row are then needed at the row's own place. */
static HloInstruction *element(const Pick *p, const HloInstruction *f)
{
    HloBuilder *b = p->b;
    const HloShape *rows = p->i->shape;
    switch (f->opcode) {
    case HLO_CONVERT: return hlo_new_convert(b, element(p, f->operands[0]), f->shape->type);
    case HLO_ADD: case HLO_SUBTRACT: case HLO_MULTIPLY: case HLO_DIVIDE:
        return hlo_new_binary(b, f->opcode, element(p, f->operands[0]), element(p, f->operands[1]));
    case HLO_BROADCAST:
        if (hlo_is_of_results(f, p->i)) return hlo_mapped(b, f->operands[0]);
        if (!f->n_dimensions) return hlo_new_splat(b, hlo_mapped(b, f->operands[0]), rows->rank, rows->dims);
        return gathered(p, hlo_mapped(b, f));
    default: return gathered(p, hlo_mapped(b, f));
    }
}

HloInstruction *hlo_new_pick(HloBuilder *b, const HloInstruction *i)
{
    const HloShape *rows = i->shape;
    const double n = (double)i->operands[0]->shape->dims[i->dimensions[0]];
    const Pick p = pick_of(b, i);
    HloInstruction *x = element(&p, i->operands[0]->operands[1]), *zero = hlo_new_number(b, SC_F32, 0, rows);
    HloInstruction *label = hlo_mapped(b, label_of(i));
    HloInstruction *below = hlo_new_compare(b, HLO_LT, label, hlo_new_number(b, label->shape->type, n, rows));
    HloInstruction *from = hlo_new_compare(b, HLO_GE, label, hlo_new_number(b, label->shape->type, 0, rows));
    x = hlo_new_select(b, hlo_new_binary(b, HLO_AND, from, below), x, zero);
    return hlo_new_binary(b, HLO_ADD, x, zero);
}
