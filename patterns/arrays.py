"""Rules about arrays in index notation (src/graph), for every target: what a fold over a range is, whatever operations of HLO say it.

fold_add.f32(x, y, i) is y + x at i = 0 + x at i = 1 + .., in any order: a reduce, a window, a product of matrices; y is the init, and an index has a
value at least. x reads arrays at indices of which i may be a part; fixed(x, i) says that it is none, counts(i, k) how many values i has.
take.f32.i32(x, i, n) is x where i is the integer n, clamped to the values of i. Where terms stand under a condition, they are the identity elsewhere:
of a sum of floats -0.
"""
from gen.lang import *

# --- folds of one value --------------------------------------------------------------------------------------------------------
# A sum from 0 is never -0, so that 0 and it are it again; one that is rounded to 16 bits may be -0.
ONCE = [rewrite(fold_add[N](fold_add[N](a, 0, j), 0, i),        fold_add[N](a, 0, j),       when=fixed(a, i) & counts(i, 1)),
        rewrite(fold_add.f32(fold_add.f32(a, 0.0, j), 0.0, i),  fold_add.f32(a, 0.0, j),    when=fixed(a, i) & counts(i, 1)),
        rewrite(fold_add.f64(fold_add.f64(a, 0.0, j), 0.0, i),  fold_add.f64(a, 0.0, j),    when=fixed(a, i) & counts(i, 1))]
EQUAL = [rewrite(fold[t](a, b, i), op[t](b, a), when=fixed(a, i)) for fold, op in ((fold_max, max), (fold_min, min)) for t in (P, N, F)]
EQUAL += [rewrite(fold[t](a, b, i), op[t](b, a), when=fixed(a, i)) for fold, op in ((fold_band, band), (fold_bor, bor)) for t in (P, N)]
EQUAL += [rewrite(fold_add[N](a, b, i), add[N](b, mul[N](a, k)), when=fixed(a, i) & counts(i, k))]
EQUAL += [rewrite(fold[t](a, b, i), op[t](b, a), when=fixed(a, i) & counts(i, 1)) for fold, op, some in
          ((fold_add, add, (P, F)), (fold_mul, mul, (P, N, F)), (fold_bxor, bxor, (P, N))) for t in some]


# --- folds of which one term counts ----------------------------------------------------------------------------------------
def picked(inside, value):
    """The term at a place, 0 where there is none; + 0 as the sum has it, which makes 0 of -0."""
    return add[F](select[F](inside, value, 0.0), 0.0)


# A label picks a number of its row, as in the loss of a classifier: one number is read, and not the row.
PICK = [rewrite(fold_add[F](select[F](eq.i32(idx.i32(i), a), b, 0.0), 0.0, i), picked(band.pred(ge.i32(a, 0), lt.i32(a, k)), take[F].i32(b, i, a)),
                when=fixed(a, i) & counts(i, k) & (k < 2**31)),
        rewrite(fold_add[F](select[F](eq.i64(idx.i64(i), a), b, 0.0), 0.0, i), picked(band.pred(ge.i64(a, 0), lt.i64(a, k)), take[F].i64(b, i, a)),
                when=fixed(a, i) & counts(i, k)),
        rewrite(fold_add[F](select[F](eq.u32(idx.u32(i), a), b, 0.0), 0.0, i), picked(lt.u32(a, k), take[F].u32(b, i, a)),
                when=fixed(a, i) & counts(i, k) & (k < 2**32))]


# --- folds of folds --------------------------------------------------------------------------------------------------------
# i*k + j counts all terms of both. Not sums and products of floats: each of theirs may miss by the roundings of its own terms alone.
JOIN = [rewrite(fold[t](fold[t](a, 0, j), b, i), fold[t](a, b, i*k + j), when=counts(j, k)) for fold, t in ((fold_add, N), (fold_bxor, N))]
JOIN += [rewrite(fold[t](fold[t](a, c, j), b, i), fold[t](a, op[t](b, c), i*k + j), when=counts(j, k) & fixed(c, i)) for fold, op, some in
         ((fold_max, max, (P, N, F)), (fold_min, min, (P, N, F)), (fold_band, band, (P, N)), (fold_bor, bor, (P, N))) for t in some]

ALL = ONCE + EQUAL + PICK + JOIN

# --- options ---------------------------------------------------------------------------------------------------------------
# What a fold may be, with a number that a plan gives: `--explain` says which plans take one (strategies.py, at='text').
# A fold as a fold of parts, of m terms each that stand side by side; sums and products of floats of less than 32 bits are of f32.
PARTS = [option(fold[t](a, b, i), fold[t](fold[t](a, e, i % m), b, i // m), free=m, when=counts(i, k) & (k % m == 0) & regroups)
         for fold, e in ((fold_add, 0.0), (fold_mul, 1.0)) for t in (f32, f64)]
PARTS += [option(fold[t](a, b, i), cvt[t].f32(fold.f32(fold.f32(cvt.f32[t](a), e, i % m), cvt.f32[t](b), i // m)), free=m,
                 when=counts(i, k) & (k % m == 0) & regroups) for fold, e in ((fold_add, 0.0), (fold_mul, 1.0)) for t in (F16, F8)]
PARTS += [option(fold_mul[N](a, b, i), fold_mul[N](fold_mul[N](a, 1, i % m), b, i // m), free=m, when=counts(i, k) & (k % m == 0) & regroups)]
PARTS += [option(fold[N](a, b, i), fold[N](fold[N](a, 0, i % m), b, i // m), free=m, when=counts(i, k) & (k % m == 0)) for fold in (fold_add, fold_bxor)]
PARTS += [option(fold[t](a, b, i), fold[t](fold[t](a, b, i % m), b, i // m), free=m, when=counts(i, k) & (k % m == 0) & fixed(b, i)) for fold, some in
          ((fold_max, (P, N, F, F8)), (fold_min, (P, N, F, F8)), (fold_band, (P, N)), (fold_bor, (P, N))) for t in some]


def pieces(fold, op, t, a, b, e, before, own):
    """Of a scan in pieces of m terms each: those of all pieces before that of n, a scan of sums of pieces, and those of its own, up to n. e: what begins
    a fold. Of the last fold one term counts, the one where i // m is n // m, which the compiler takes for it."""
    there = lambda c, x: select[t](c, x, e)
    rest = fold[t](there(before, fold[t](a, e, i % m)), b, i // m)
    return op[t](rest, fold[t](there(eq.index(i // m, n // m), fold[t](there(own, a), e, i % m)), e, i // m))


# Which terms are none of the fold where it is of those up to n, or from n on; which pieces are before that of n, and which terms of its own are there.
PREFIX, SUFFIX = ((lt.index(n, i), lt.index(i // m, n // m), le.index(i % m, n % m)), (lt.index(i, n), gt.index(i // m, n // m), ge.index(i % m, n % m)))
PLACE = counts(i, k) & (k % m == 0) & fixed(n, i) & within(n, 0, k)
SCANS = [option(fold[t](select[t](outside, e, a), b, i), pieces(fold, op, t, a, b, e, *c), free=m, when=PLACE & regroups)
         for fold, op, e in ((fold_add, add, 0.0), (fold_mul, mul, 1.0)) for t in (f32, f64) for outside, *c in (PREFIX, SUFFIX)]
SCANS += [option(fold[t](select[t](outside, e, a), b, i), cvt[t].f32(pieces(fold, op, f32, cvt.f32[t](a), cvt.f32[t](b), e, *c)), free=m,
                 when=PLACE & regroups) for fold, op, e in ((fold_add, add, 0.0), (fold_mul, mul, 1.0)) for t in (F16, F8)
          for outside, *c in (PREFIX, SUFFIX)]
SCANS += [option(fold[N](select[N](outside, e, a), b, i), pieces(fold, op, N, a, b, e, *c), free=m, when=PLACE)
          for fold, op, e in ((fold_add, add, 0), (fold_bxor, bxor, 0)) for outside, *c in (PREFIX, SUFFIX)]
SCANS += [option(fold_mul[N](select[N](outside, 1, a), b, i), pieces(fold_mul, mul, N, a, b, 1, *c), free=m, when=PLACE & regroups)
          for outside, *c in (PREFIX, SUFFIX)]
SCANS += [option(fold[t](select[t](outside, b, a), b, i), pieces(fold, op, t, a, b, b, *c), free=m, when=PLACE & fixed(b, i)) for fold, op, some in
          ((fold_max, max, (P, N, F, F8)), (fold_min, min, (P, N, F, F8)), (fold_band, band, (P, N)), (fold_bor, bor, (P, N))) for t in some
          for outside, *c in (PREFIX, SUFFIX)]

# --- rows ------------------------------------------------------------------------------------------------------------------
# Sums of a row whose terms are relative to another fold of it, in pieces of m terms that each are relative to a number of their own: a piece is read
# once for both folds. `there` says where a piece has terms: the last one may be shorter, of a row of n terms.
INF, LEAST = float('inf'), -(2 - 2**-23) * 2.0**127
ROW = counts(i, k) & (k % m == 0) & (k >= 4096) & rescales
EVERY, FIRST = (lambda v, e: v, ROW), (lambda v, e: select.f32(lt.index(i, n), v, e), ROW & fixed(n, i) & within(n, k - m + 1, k + 1))


def square(v): return mul.f32(v, v)


def exponentials(there):
    """Relative to the piece's maximum, a number where the row's is one: a piece of nothing but -inf, as masks make, is below that."""
    own = max.f32(fold_max.f32(there(a, -INF), -INF, i % m), LEAST)
    piece = fold_add.f32(exp.f32(sub.f32(there(a, -INF), own)), 0.0, i % m)
    return fold_add.f32(mul.f32(piece, exp.f32(sub.f32(own, fold_max.f32(there(a, -INF), -INF, i)))), 0.0, i // m)


def squares(there, mean):
    """Relative to the piece's mean. Rounded, a piece may be below 0; where its squares overflow, so do the row's, and nan is of an infinite term."""
    terms = fold_add.f32(there(1.0, 0.0), 0.0, i % m)
    own = mul.f32(fold_add.f32(there(a, 0.0), 0.0, i % m), div.f32(1.0, terms))
    d, by = there(sub.f32(there(a, 0.0), own), 0.0), sub.f32(own, mean)
    once, twice = fold_add.f32(d, 0.0, i % m), fold_add.f32(square(d), 0.0, i % m)
    piece = max.f32(add.f32(twice, mul.f32(by, add.f32(add.f32(once, once), mul.f32(by, terms)))), 0.0)
    return fold_add.f32(select.f32(lt.f32(twice, INF), piece, add.f32(twice, abs.f32(sub.f32(once, mean)))), 0.0, i // m)


ROWS = [option(fold_add.f32(there(exp.f32(sub.f32(a, fold_max.f32(there(a, -INF), -INF, i))), 0.0), 0.0, i), exponentials(there), free=m, when=when)
        for there, when in (EVERY, FIRST)]
ROWS += [option(fold_add.f32(there(square(sub.f32(a, mean)), 0.0), 0.0, i), squares(there, mean), free=m, when=when & fixed(y, i) & nonnegative(y))
         for there, when in (EVERY, FIRST) for mean in (of(fold_add.f32(there(a, 0.0), 0.0, i), y) for of in (mul.f32, div.f32))]

OPTIONS = ROWS + SCANS + PARTS
