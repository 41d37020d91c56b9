/* normalise_pieces: long cumulative sums, products, maxima as scans of pieces.
 *
 * Needs: an HLO module, and for reductions of windows that are prefixes or suffixes along one dimension, of one array,
 * with the identity of the computation as initial value, the number of pieces (HloRewriter.same). Leaves: each such
 * dimension of n elements as two, of pieces and of their elements. A piece is reduced; what is before each piece is a
 * scan of these results; and the scan of a piece begins with that. What is missing in the last piece, or of suffixes in
 * the first, is the initial value, which no result that is kept has taken part in.
 *
 *     f32[1048576] reduce-window(x, 0), window={size=1048576 pad=1048575_0}, add
 *         x' = f32[256,4096] reshape(x)
 *         t = f32[256] reduce(x', 0), {1}, add
 *         before = f32[256] reduce-window(t, 0), window={size=256 pad=256_-1}, add
 *         add(broadcast(before), f32[256,4096] reduce-window(x', 0), window={size=1x4096 pad=0_0x4095_0}, add)
 */
#include "hlo/normalise.h"

typedef struct {
    const HloInstruction *i;
    uint32_t dim, rank;
    int64_t n, pieces, each;
    bool suffixes;
    HloComputation *wide;         /* sums and products of floats under 32 bits are of f32; NULL: of their own type */
    int64_t dims[HLO_RANK_LIMIT]; /* with both dimensions, `dim` and the next one */
} Pieces;

static Pieces pieces_of(const HloInstruction *i, int64_t pieces)
{
    const HloShape *s = i->operands[0]->shape;
    Pieces p = {.i = i, .rank = s->rank + 1u, .pieces = pieces};
    for (uint32_t d = 0; d < s->rank; d++)
        if (i->windows[d].size != 1) p.dim = d;
    p.n = s->dims[p.dim], p.each = (p.n + pieces - 1) / pieces;
    p.suffixes = i->windows[p.dim].low == 0;
    for (uint32_t d = 0; d < p.rank; d++) p.dims[d] = s->dims[d > p.dim ? d - 1 : d];
    p.dims[p.dim] = pieces, p.dims[p.dim + 1] = p.each;
    return p;
}

static HloWindow windows_of(int64_t size, int64_t low, int64_t high)
{
    return (HloWindow){.size = size, .stride = 1, .low = low, .high = high, .lhs_dilate = 1, .rhs_dilate = 1};
}

/* What is new is not called as i is, whose name the order of a kernel's terms may have. */
static const char *name_of(HloBuilder *b, const Pieces *p, const char *stem)
{
    return hlo_unique_name(b, wbb_format(b->arena, "%s.%s", p->i->name, stem));
}

/* A reduction of windows along dimension `dim` of x that has one result for each element. */
static HloInstruction *scan(HloBuilder *b, const Pieces *p, HloInstruction *x, HloInstruction *init, uint32_t dim,
                            HloWindow along, const char *stem)
{
    HloInstruction *operands[] = {x, init};
    HloInstruction *s = hlo_copy_with_operands(b, p->i, operands);
    HloWindow *windows = WBB_NEW_N(b->arena, HloWindow, x->shape->rank);
    for (uint32_t d = 0; d < x->shape->rank; d++)
        windows[d] = d == dim ? along : windows_of(1, 0, 0);
    if (p->wide) hlo_set_computation(b, s, "to_apply", p->wide);
    s->shape = x->shape, s->windows = windows, s->n_windows = x->shape->rank;
    s->name = name_of(b, p, stem);
    return s;
}

HloComputation *hlo_wider(HloBuilder *b, const HloInstruction *i)
{
    const ScType t = i->operands[0]->shape->type;
    const HloOpcode op = i->called[0]->root->opcode;
    if (!sc_is_float(t) || sc_type_info[t].bits >= 32 || (op != HLO_ADD && op != HLO_MULTIPLY)) return NULL;
    const HloShape *f32 = hlo_make_array(b->arena, SC_F32, 0, NULL);
    return hlo_new_combiner(b, op, f32, wbb_format(b->arena, "%s.f32", i->called[0]->name));
}

static HloInstruction *rewrite(HloBuilder *b, const HloInstruction *i)
{
    const int64_t pieces = b->same ? b->same[i->id] : 0;
    if (!pieces) return NULL;
    Pieces p = pieces_of(i, pieces);
    p.wide = hlo_wider(b, i);
    const HloShape *s = i->operands[0]->shape;
    HloInstruction *x = hlo_mapped(b, i->operands[0]), *init = hlo_mapped(b, i->operands[1]);
    const int64_t missing = p.pieces * p.each - p.n, reduced = p.dim + 1, last = p.each - 1;
    HloPadding *pads = WBB_NEW_N(b->arena, HloPadding, s->rank);
    HloSlice *kept = WBB_NEW_N(b->arena, HloSlice, s->rank);
    for (uint32_t d = 0; d < s->rank; d++) kept[d] = (HloSlice){0, s->dims[d], 1};
    if (p.suffixes) pads[p.dim].low = missing, kept[p.dim].start = missing, kept[p.dim].limit = missing + p.n;
    else pads[p.dim].high = missing;
    if (missing) x = hlo_new_pad(b, x, init, pads);
    const HloShape *padded = x->shape;
    x = hlo_new_reshape(b, x, p.rank, p.dims);
    if (p.wide) x = hlo_new_convert(b, x, SC_F32), init = hlo_new_convert(b, init, SC_F32);
    const HloWindow own = windows_of(p.each, p.suffixes ? 0 : last, p.suffixes ? last : 0);
    const HloWindow others = windows_of(pieces, p.suffixes ? -1 : pieces, p.suffixes ? pieces : -1);
    HloInstruction *total = hlo_new_reduce(b, x, init, &reduced, 1, p.wide ? p.wide : b->made[i->called[0]->id]);
    total->name = name_of(b, &p, "total");
    HloInstruction *before = scan(b, &p, total, init, p.dim, others, "before");
    HloInstruction *one = scan(b, &p, x, init, p.dim + 1, own, "piece");
    int64_t dimensions[HLO_RANK_LIMIT];
    for (uint32_t d = 0, n = 0; d < p.rank; d++)
        if (d != p.dim + 1) dimensions[n++] = d;
    HloInstruction *all = hlo_new_broadcast(b, before, x->shape, dimensions, p.rank - 1);
    const HloOpcode op = i->called[0]->root->opcode;
    HloInstruction *result = p.suffixes ? hlo_new_binary(b, op, one, all) : hlo_new_binary(b, op, all, one);
    result = hlo_new_reshape(b, hlo_new_convert(b, result, s->type), s->rank, padded->dims);
    return missing ? hlo_new_slice(b, result, kept) : result;
}

const HloModule *hlo_split_scans(WbbCx *cx, WbbArena *a, const HloModule *m, const uint32_t *const *pieces)
{
    return hlo_rewrite(cx, a, m, &(HloRewriter){.rewrite = rewrite, .same = pieces});
}
