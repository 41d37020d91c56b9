/* normalise_rows: long rows that are read again, with results of pieces that make the results of the row.
 *
 * Needs: an HLO module, and for a reduction whose terms are relative to a number c of their row, exp(x - c) or
 * (x - c)^2, and for the one of x that is its base, the number of pieces (HloRewriter.same). Leaves: the base reduced
 * piece by piece, and then over the pieces; the terms relative to a number k of their piece, its maximum or about its
 * mean, reduced over the piece; and results of the row from these by identities that hold for any k and c:
 *
 *     sum exp(x - c)   = exp(k - c) sum exp(x - k)
 *     sum (x - c)^2    = sum (x - k)^2 + (k - c) (2 sum (x - k) + L (k - c))         L elements a piece
 *
 * so that a block that holds a piece reads x once for both. The last piece may be shorter: what it lacks is filled up
 * with the base's identity, of which exp(x - k) is 0, and x - k is masked. What that rounds: src/plan/cuts.md,
 * Pieces of rows.
 *
 *     m = f32[4] reduce(f32[4,65536] x), max     s = f32[4] reduce(exp(x - m)), add       in 8 pieces
 *         x' = f32[4,8,8192] reshape(x)
 *         p = f32[4,8] reduce(x', {2}), max                  q = f32[4,8] reduce(exp(x' - clamp(p)), {2}), add
 *         m = f32[4] reduce(p, {1}), max                     s = f32[4] reduce(q * exp(clamp(p) - m), {1}), add
 */
#include "hlo/normalise.h"

#include <float.h>

/* --- what may be split -------------------------------------------------------------------------------------------- */
static bool same_dimensions(const HloInstruction *x, const HloInstruction *y)
{
    if (x->n_dimensions != y->n_dimensions) return false;
    for (uint32_t k = 0; k < x->n_dimensions; k++)
        if (x->dimensions[k] != y->dimensions[k]) return false;
    return true;
}

/* The x - c of which a reduction has the terms, c being a broadcast of a number for each of its results. */
static const HloInstruction *difference(const HloInstruction *s)
{
    const HloInstruction *e = s->operands[0], *d = e->n_operands ? e->operands[0] : NULL;
    const bool exponential = e->opcode == HLO_EXPONENTIAL;
    const bool square = e->opcode == HLO_MULTIPLY && e->operands[0] == e->operands[1];
    if ((!exponential && !square) || d->opcode != HLO_SUBTRACT) return NULL;
    return hlo_is_of_results(d->operands[1], s) ? d : NULL;
}

bool hlo_may_split_rows(const HloInstruction *i) { return hlo_reduces(i, HLO_ADD) || hlo_reduces(i, HLO_MAXIMUM); }

const HloInstruction *hlo_base_of_rows(const HloComputation *c, const HloInstruction *s)
{
    if (!hlo_reduces(s, HLO_ADD)) return NULL;
    const HloInstruction *d = difference(s);
    const bool exponential = s->operands[0]->opcode == HLO_EXPONENTIAL;
    for (uint32_t k = 0; d && k < s->id; k++) {
        const HloInstruction *m = c->instructions[k];
        if (!hlo_reduces(m, exponential ? HLO_MAXIMUM : HLO_ADD) || m->operands[0] != d->operands[0]) continue;
        if (!same_dimensions(m, s) || (exponential && d->operands[1]->operands[0] != m)) continue;
        return m;
    }
    return NULL;
}

/* --- pieces ------------------------------------------------------------------------------------------------------- */
/* The slowest reduced dimension, with those that are reduced and follow it as one with it, is two: pieces, which are
 * kept, and what a piece has of it. */
typedef struct {
    const HloInstruction *i;
    uint32_t rank, n_merged;
    int64_t merged[HLO_RANK_LIMIT];  /* dimensions of the operand, those that are split as one */
    int64_t dims[HLO_RANK_LIMIT];    /* of the terms */
    int64_t reduced[HLO_RANK_LIMIT], n_reduced;
    int64_t kept[HLO_RANK_LIMIT];    /* of the results of pieces, among those of the terms; one more than i keeps */
    int64_t rows[HLO_RANK_LIMIT];    /* of the results of rows, among those of the results of pieces */
    uint32_t n_kept;
    int64_t pieces; /* their dimension among those of the results of pieces */
    int64_t slowest, missing; /* elements that the last piece has less along the dimension that is split */
    double each, last; /* terms of a piece, of the last one */
} Pieces;

int64_t hlo_split_length(const HloInstruction *i, uint32_t *slowest, uint32_t *run)
{
    const HloShape *s = i->operands[0]->shape;
    int64_t n = 1;
    *slowest = s->rank, *run = 0;
    for (uint32_t k = 0; k < i->n_dimensions; k++) *slowest = WBB_MIN(*slowest, (uint32_t)i->dimensions[k]);
    for (uint32_t d = *slowest; d < s->rank && hlo_is_reduced(i, d); d++) n *= s->dims[d], ++*run;
    return n;
}

/* About so many pieces: where they are not of equal size the last one is shorter, and neighbours are whole vectors. */
static Pieces pieces_of(const HloInstruction *i, int64_t pieces)
{
    const HloShape *s = i->operands[0]->shape;
    uint32_t slowest, run;
    const int64_t n = hlo_split_length(i, &slowest, &run);
    const int64_t whole = n % pieces && slowest + run == s->rank ? HLO_ROW_VECTOR : 1;
    const int64_t each = ((n + pieces - 1) / pieces + whole - 1) / whole * whole;
    pieces = (n + each - 1) / each;
    Pieces p = {.i = i, .each = 1, .slowest = slowest, .missing = pieces * each - n};
    uint32_t rows = 0;
    for (uint32_t d = 0; d < s->rank; d++) {
        if (d > slowest && d < slowest + run) continue;
        p.merged[p.n_merged++] = d == slowest ? n : s->dims[d];
        if (d == slowest) {
            p.pieces = p.n_kept, p.kept[p.n_kept++] = p.rank;
            p.dims[p.rank++] = pieces;
        }
        if (hlo_is_reduced(i, d)) {
            p.reduced[p.n_reduced++] = p.rank;
            p.each *= (double)(d == slowest ? each : s->dims[d]);
        } else {
            p.rows[rows++] = p.n_kept, p.kept[p.n_kept++] = p.rank;
        }
        p.dims[p.rank++] = d == slowest ? each : s->dims[d];
    }
    p.last = p.each / (double)each * (double)(each - p.missing);
    return p;
}

/* What is new is not called as i is, whose name the order of a kernel's terms may have. */
static HloInstruction *named(HloBuilder *b, const Pieces *p, const char *stem, HloInstruction *x)
{
    x->name = hlo_unique_name(b, wbb_format(b->arena, "%s.%s", p->i->name, stem));
    return x;
}

/* An array in pieces, that of the last one filled up. */
static HloInstruction *split(HloBuilder *b, const Pieces *p, HloInstruction *x, HloInstruction *fill)
{
    HloPadding *pads = WBB_NEW_N(b->arena, HloPadding, p->n_merged);
    if (p->missing) x = hlo_new_reshape(b, x, p->n_merged, p->merged);
    pads[p->slowest].high = p->missing;
    if (p->missing) x = hlo_new_pad(b, x, fill, pads);
    return hlo_new_reshape(b, x, p->rank, p->dims);
}

static HloInstruction *of_pieces(HloBuilder *b, const Pieces *p, HloInstruction *x, HloInstruction *init)
{
    HloComputation *op = b->made[p->i->called[0]->id];
    return named(b, p, "piece", hlo_new_reduce(b, x, init, p->reduced, (uint32_t)p->n_reduced, op));
}

static HloInstruction *of_rows(HloBuilder *b, const Pieces *p, HloInstruction *x, HloInstruction *init)
{
    HloComputation *op = b->made[p->i->called[0]->id];
    x = named(b, p, "row", hlo_new_reduce(b, x, init, &p->pieces, 1, op));
    return hlo_new_unary(b, HLO_COPY, x); /* the last new instruction takes the name of i */
}

/* One number for all pieces but the last, which has another. */
static HloInstruction *by_piece(HloBuilder *b, const Pieces *p, double each, double last, const HloShape *like)
{
    if (!p->missing) return hlo_new_number(b, SC_F32, each, like);
    HloInstruction *at = hlo_new_iota(b, SC_I32, like->rank, like->dims, p->pieces);
    HloInstruction *end = hlo_new_scalar(b, SC_I32, (double)(like->dims[p->pieces] - 1));
    HloInstruction *before = hlo_new_compare(b, HLO_LT, at, hlo_new_splat(b, end, like->rank, like->dims));
    return hlo_new_select(b, before, hlo_new_number(b, SC_F32, each, like), hlo_new_number(b, SC_F32, last, like));
}

/* 0 in place of what the last piece has been filled up with. */
static HloInstruction *masked(HloBuilder *b, const Pieces *p, HloInstruction *x)
{
    if (!p->missing) return x;
    const HloShape *s = p->i->operands[0]->shape;
    HloInstruction *is = hlo_new_splat(b, hlo_new_scalar(b, SC_PRED, 1), s->rank, s->dims);
    is = split(b, p, is, hlo_new_scalar(b, SC_PRED, 0));
    return hlo_new_select(b, is, x, hlo_new_number(b, SC_F32, 0, x->shape));
}

/* A number of each piece for each of its terms, or one of each row for each of its pieces. */
static HloInstruction *for_terms(HloBuilder *b, const Pieces *p, HloInstruction *k, const HloInstruction *like)
{
    return hlo_new_broadcast(b, k, like->shape, p->kept, p->n_kept);
}

static HloInstruction *for_pieces(HloBuilder *b, const Pieces *p, HloInstruction *c, const HloInstruction *like)
{
    return hlo_new_broadcast(b, c, like->shape, p->rows, p->n_kept - 1);
}

/* The maximum of a piece is finite here: one of nothing but -inf, as masks make, is below the row's. */
static HloInstruction *exponentials(HloBuilder *b, const Pieces *p, HloInstruction *x, HloInstruction *base,
                                    HloInstruction *c, HloInstruction *init)
{
    HloInstruction *k = hlo_new_binary(b, HLO_MAXIMUM, base, hlo_new_number(b, SC_F32, -FLT_MAX, base->shape));
    k = hlo_new_binary(b, HLO_MINIMUM, k, hlo_new_number(b, SC_F32, FLT_MAX, base->shape));
    HloInstruction *d = hlo_new_binary(b, HLO_SUBTRACT, x, for_terms(b, p, k, x));
    HloInstruction *s = of_pieces(b, p, hlo_new_unary(b, HLO_EXPONENTIAL, d), init);
    HloInstruction *by = hlo_new_binary(b, HLO_SUBTRACT, k, for_pieces(b, p, c, k));
    return of_rows(b, p, hlo_new_binary(b, HLO_MULTIPLY, s, hlo_new_unary(b, HLO_EXPONENTIAL, by)), init);
}

static HloInstruction *squares(HloBuilder *b, const Pieces *p, HloInstruction *x, HloInstruction *base,
                               HloInstruction *c, HloInstruction *init)
{
    HloInstruction *parts = by_piece(b, p, 1 / p->each, 1 / p->last, base->shape);
    HloInstruction *k = hlo_new_binary(b, HLO_MULTIPLY, base, parts);
    HloInstruction *d = masked(b, p, hlo_new_binary(b, HLO_SUBTRACT, x, for_terms(b, p, k, x)));
    HloInstruction *sum = of_pieces(b, p, d, init);
    HloInstruction *square = of_pieces(b, p, hlo_new_binary(b, HLO_MULTIPLY, d, d), init);
    HloInstruction *by = hlo_new_binary(b, HLO_SUBTRACT, k, for_pieces(b, p, c, k));
    HloInstruction *more = hlo_new_binary(b, HLO_MULTIPLY, by, by_piece(b, p, p->each, p->last, by->shape));
    more = hlo_new_binary(b, HLO_ADD, hlo_new_binary(b, HLO_ADD, sum, sum), more);
    square = hlo_new_binary(b, HLO_ADD, square, hlo_new_binary(b, HLO_MULTIPLY, by, more));
    /* which may round below 0 */
    square = hlo_new_binary(b, HLO_MAXIMUM, square, hlo_new_number(b, SC_F32, 0, square->shape));
    return of_rows(b, p, square, init);
}

static HloInstruction *rewrite(HloBuilder *b, const HloInstruction *i)
{
    const int64_t pieces = b->same ? b->same[i->id] : 0;
    if (!pieces) return NULL;
    const Pieces p = pieces_of(i, pieces);
    const HloInstruction *m = hlo_base_of_rows(b->source, i);
    HloInstruction *init = hlo_mapped(b, i->operands[1]);
    if (!m || !b->same[m->id]) {
        HloInstruction *terms = split(b, &p, hlo_mapped(b, i->operands[0]), init);
        return of_rows(b, &p, of_pieces(b, &p, terms, init), init);
    }
    const HloInstruction *d = difference(i);
    HloInstruction *c = hlo_mapped(b, d->operands[1]->operands[0]), *base = hlo_mapped(b, m)->operands[0]->operands[0];
    HloInstruction *x = base->operands[0]; /* in pieces */
    if (i->operands[0]->opcode == HLO_EXPONENTIAL) return exponentials(b, &p, x, base, c, init);
    return squares(b, &p, x, base, c, init);
}

const HloModule *hlo_split_rows(WbbCx *cx, WbbArena *a, const HloModule *m, const uint32_t *const *pieces)
{
    return hlo_rewrite(cx, a, m, &(HloRewriter){.rewrite = rewrite, .same = pieces});
}
