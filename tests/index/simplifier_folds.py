"""Cases of simplifier_rewrites.py about reductions, products, numbers, loops, branches and sorts."""
from __future__ import annotations

from typing import List

from simplifier_moves import LEAST, ZERO, Case, N, X, Y, Z

FOLDS: List[Case] = [
    # reductions
    Case("reduce of a broadcast along it", "x = f32[4] parameter(0) " + LEAST, "a = f32[4,6] broadcast(x), dimensions={0} ROOT "
         "r = f32[4] reduce(a, o), dimensions={1}, to_apply=max",
         "b = f32[4] broadcast(o), dimensions={} ROOT r = f32[4] maximum(b, x)"),
    Case("sum of integers of a broadcast", "x = s32[4] parameter(0) o = s32[] constant(0) ",
         "a = s32[4,6] broadcast(x), dimensions={0} ROOT r = s32[4] reduce(a, o), dimensions={1}, to_apply=addi",
         "k = s32[] constant(6) b = s32[4] broadcast(k), dimensions={} m = s32[4] multiply(x, b) oo = s32[4] broadcast(o), dimensions={} ROOT "
         "r = s32[4] add(oo, m)"),
    Case("reduce of a broadcast across it", "x = f32[4] parameter(0) " + ZERO, "a = f32[4,6] broadcast(x), dimensions={0} ROOT "
         "r = f32[6] reduce(a, o), dimensions={0}, to_apply=add",
         "s = f32[] reduce(x, o), dimensions={0}, to_apply=add ROOT r = f32[6] broadcast(s), dimensions={}",
         "a reduction that is the same along a dimension stays, beside others of the array: arrays.c, is_repeated"),
    Case("reduce of a reshape that merges", X + ZERO, "a = f32[24] reshape(x) ROOT r = f32[] reduce(a, o), dimensions={0}, to_apply=add",
         "ROOT r = f32[] reduce(x, o), dimensions={0,1}, to_apply=add"),
    Case("reduce of a reshape of units", X + ZERO, "a = f32[4,1,6] reshape(x) ROOT r = f32[4] reduce(a, o), dimensions={1,2}, to_apply=add",
         "ROOT r = f32[4] reduce(x, o), dimensions={1}, to_apply=add"),
    Case("reduce of a transpose", X + ZERO, "a = f32[6,4] transpose(x), dimensions={1,0} ROOT r = f32[4] reduce(a, o), dimensions={0}, to_apply=add",
         "ROOT r = f32[4] reduce(x, o), dimensions={1}, to_apply=add"),
    Case("reduce of a reduce of integers", N + "o = s32[] constant(0) ",
         "a = s32[4] reduce(n, o), dimensions={1}, to_apply=addi ROOT r = s32[] reduce(a, o), dimensions={0}, to_apply=addi",
         "ROOT r = s32[] reduce(n, o), dimensions={0,1}, to_apply=addi"),
    Case("maximum of maxima", X + LEAST, "a = f32[4] reduce(x, o), dimensions={1}, to_apply=max ROOT r = f32[] reduce(a, o), dimensions={0}, to_apply=max",
         "ROOT r = f32[] reduce(x, o), dimensions={0,1}, to_apply=max"),
    Case("reduce of one element", "x = f32[4,1] parameter(0) " + ZERO, "ROOT r = f32[4] reduce(x, o), dimensions={1}, to_apply=add",
         "a = f32[4] reshape(x) z = f32[4] broadcast(o), dimensions={} ROOT r = f32[4] add(z, a)"),
    Case("reduce of no dimension", X + ZERO, "ROOT r = f32[4,6] reduce(x, o), dimensions={}, to_apply=add",
         "z = f32[4,6] broadcast(o), dimensions={} ROOT r = f32[4,6] add(z, x)"),
    Case("reduce-window that has all", X + ZERO, "a = f32[4,1] reduce-window(x, o), window={size=1x6}, to_apply=add ROOT r = f32[4] reshape(a)",
         "ROOT r = f32[4] reduce(x, o), dimensions={1}, to_apply=add", "a fold that its one reader reads at its own index has a definition of its own"),
    Case("reduce-window of one element", X + LEAST, "ROOT r = f32[4,3] reduce-window(x, o), window={size=1x1 stride=1x2}, to_apply=max",
         "a = f32[4,3] slice(x), slice={[0:4], [0:6:2]} z = f32[4,3] broadcast(o), dimensions={} ROOT r = f32[4,3] maximum(z, a)"),
    Case("reduce-window without overlaps as a reduce", X + ZERO, "ROOT r = f32[4,2] reduce-window(x, o), window={size=1x3 stride=1x3}, to_apply=add",
         "a = f32[4,2,3] reshape(x) ROOT r = f32[4,2] reduce(a, o), dimensions={2}, to_apply=add"),
    Case("the last of a prefix sum", X + ZERO, "a = f32[4,6] reduce-window(x, o), window={size=1x6 pad=0_0x5_0}, to_apply=add ROOT "
         "r = f32[4,1] slice(a), slice={[0:4], [5:6]}",
         "a = f32[4] reduce(x, o), dimensions={1}, to_apply=add ROOT r = f32[4,1] reshape(a)"),
    Case("what a label picks", "x = f32[4,6] parameter(0) l = s32[4] parameter(1) " + ZERO,
         "i = s32[4,6] iota(), iota_dimension=1 ll = s32[4,6] broadcast(l), dimensions={0} c = pred[4,6] compare(ll, i), direction=EQ\n"
         " z = f32[4,6] broadcast(o), dimensions={} a = f32[4,6] select(c, x, z) ROOT r = f32[4] reduce(a, o), dimensions={1}, to_apply=add",
         "i = s32[4,6] iota(), iota_dimension=1 ll = s32[4,6] broadcast(l), dimensions={0} c = pred[4,6] compare(i, ll), direction=EQ\n"
         " z = f32[4,6] broadcast(o), dimensions={} a = f32[4,6] select(c, x, z) ROOT r = f32[4] reduce(a, o), dimensions={1}, to_apply=add"),
    # products
    Case("dot along a unit dimension", "x = f32[4,1] parameter(0) y = f32[1,6] parameter(1) ",
         "ROOT r = f32[4,6] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
         "a = f32[4] reshape(x) b = f32[6] reshape(y) aa = f32[4,6] broadcast(a), dimensions={0} bb = f32[4,6] broadcast(b), dimensions={1} ROOT "
         "r = f32[4,6] multiply(aa, bb)",
         "0 + -0 is 0: a product of one term adds the zero that a sum begins with"),
    Case("dot with a broadcast", X + Z, "b = f32[6,5] broadcast(z), dimensions={} ROOT "
         "r = f32[4,5] dot(x, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
         "o = f32[] constant(0) b = f32[4,6] broadcast(z), dimensions={} m = f32[4,6] multiply(x, b) "
         "s = f32[4] reduce(m, o), dimensions={1}, to_apply=add ROOT r = f32[4,5] broadcast(s), dimensions={0}"),
    Case("dot of a transpose", X + "y = f32[5,4] parameter(1) ", "t = f32[6,4] transpose(x), dimensions={1,0} ROOT "
         "r = f32[6,5] dot(t, y), lhs_contracting_dims={1}, rhs_contracting_dims={1}",
         "ROOT r = f32[6,5] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={1}"),
    # numbers of an iota
    Case("compare of an iota with a number beyond it", "x = f32[8] parameter(0) y = f32[8] parameter(1) ",
         "i = s32[8] iota(), iota_dimension=0 k = s32[] constant(8) kk = s32[8] broadcast(k), dimensions={} c = pred[8] compare(i, kk), direction=LT "
         "ROOT r = f32[8] select(c, x, y)",
         "ROOT r = f32[8] copy(x)", "elements are what the text says until SIMPLIFY, which decides it: the kernel has no comparison"),
    Case("select of an iota's ends as a concatenate", "x = f32[8] parameter(0) y = f32[8] parameter(1) ",
         "i = s32[8] iota(), iota_dimension=0 k = s32[] constant(3) kk = s32[8] broadcast(k), dimensions={} c = pred[8] compare(i, kk), direction=LT "
         "ROOT r = f32[8] select(c, x, y)",
         "a = f32[3] slice(x), slice={[0:3]} b = f32[5] slice(y), slice={[3:8]} ROOT r = f32[8] concatenate(a, b), dimensions={0}",
         "a comparison of the integers of indices is one of indices only where SIMPLIFY or a rule asks"),
    Case("iota along another dimension", "x = s32[4,6] parameter(0) ",
         "i = s32[6] iota(), iota_dimension=0 b = s32[4,6] broadcast(i), dimensions={1} ROOT "
         "r = s32[4,6] add(x, b)", "b = s32[4,6] iota(), iota_dimension=1 ROOT r = s32[4,6] add(x, b)"),
    Case("reverse of an iota", "x = s32[8] parameter(0) ", "i = s32[8] iota(), iota_dimension=0 v = s32[8] reverse(i), dimensions={0} ROOT "
         "r = s32[8] add(x, v)",
         "i = s32[8] iota(), iota_dimension=0 k = s32[] constant(7) kk = s32[8] broadcast(k), dimensions={} v = s32[8] subtract(kk, i) ROOT "
         "r = s32[8] add(x, v)",
         "idx of 7 - d0 and 7 - idx of d0 are two terms"),
    # what runs once, what is chosen by a constant, and more
    Case("slice of an iota", "x = s32[3] parameter(0) ",
         "i = s32[8] iota(), iota_dimension=0 a = s32[3] slice(i), slice={[2:5]} ROOT r = s32[3] add(x, a)",
         "i = s32[3] iota(), iota_dimension=0 k = s32[] constant(2) kk = s32[3] broadcast(k), dimensions={} a = s32[3] add(i, kk) ROOT r = s32[3] "
         "add(x, a)",
         "idx of an index and arithmetic on idx are two terms"),
    Case("iota of one element", "x = s32[4,1] parameter(0) ",
         "i = s32[4,1] iota(), iota_dimension=1 ROOT r = s32[4,1] add(x, i)",
         "k = s32[] constant(0) i = s32[4,1] broadcast(k), dimensions={} ROOT r = s32[4,1] add(x, i)"),
    Case("iota reshaped", "x = s32[24] parameter(0) ",
         "i = s32[2,12] iota(), iota_dimension=0 a = s32[24] reshape(i) ROOT r = s32[24] add(x, a)",
         "i = s32[24] iota(), iota_dimension=0 k = s32[] constant(12) kk = s32[24] broadcast(k), dimensions={} a = s32[24] divide(i, kk) ROOT r = "
         "s32[24] add(x, a)",
         "idx of an index and arithmetic on idx are two terms"),
    Case("compare of an iota with itself", "x = f32[8] parameter(0) y = f32[8] parameter(1) ",
         "i = s32[8] iota(), iota_dimension=0 j = s32[8] iota(), iota_dimension=0 c = pred[8] compare(i, j), direction=EQ ROOT r = f32[8] select(c, "
         "x, y)",
         "ROOT r = f32[8] copy(x)",
         "elements are what the text says until SIMPLIFY, which makes one of both"),
    Case("select by a constant", "x = f32[4,6] parameter(0) y = f32[4,6] parameter(1) ",
         "c = pred[] constant(true) cc = pred[4,6] broadcast(c), dimensions={} s = f32[4,6] select(cc, x, y) ROOT r = f32[4,6] negate(s)",
         "ROOT r = f32[4,6] negate(x)",
         "elements are what the text says until SIMPLIFY, which makes one of both"),
    Case("select of one value", "x = f32[4,6] parameter(0) c = pred[4,6] parameter(1) ",
         "s = f32[4,6] select(c, x, x) ROOT r = f32[4,6] negate(s)",
         "ROOT r = f32[4,6] negate(x)",
         "elements are what the text says until SIMPLIFY, which makes one of both"),
    Case("convert there and back, to a wider type", "x = f16[4,6] parameter(0) ",
         "a = f32[4,6] convert(x) b = f16[4,6] convert(a) ROOT r = f16[4,6] negate(b)",
         "ROOT r = f16[4,6] negate(x)",
         "elements are what the text says until SIMPLIFY, which makes one of both"),
    Case("convert of a broadcast", "x = f16[4] parameter(0) ",
         "a = f16[4,6] broadcast(x), dimensions={0} b = f32[4,6] convert(a) ROOT r = f32[4,6] negate(b)",
         "a = f32[4] convert(x) b = f32[4,6] broadcast(a), dimensions={0} ROOT r = f32[4,6] negate(b)"),
    Case("dynamic-slice of an iota", "q = f32[] parameter(0) p = s32[] convert(q) y = f32[3] parameter(1) x = s32[3] convert(y) ",
         "i = s32[8] iota(), iota_dimension=0 a = s32[3] dynamic-slice(i, p), dynamic_slice_sizes={3} ROOT r = s32[3] add(x, a)",
         "i = s32[3] iota(), iota_dimension=0 z = s32[] constant(0) n = s32[] constant(5) b = s32[] maximum(p, z) c = s32[] minimum(b, n) cc = s32[3] "
         "broadcast(c), dimensions={} a = s32[3] add(i, cc) ROOT r = s32[3] add(x, a)",
         "idx of an index and arithmetic on idx are two terms"),
    Case("reduce of a reverse", "x = f32[4,6] parameter(0) o = f32[] constant(0) ",
         "v = f32[4,6] reverse(x), dimensions={1} ROOT r = f32[4] reduce(v, o), dimensions={1}, to_apply=add",
         "ROOT r = f32[4] reduce(x, o), dimensions={1}, to_apply=add",
         "a range counts up in the order of the array that the text reduces; no rule turns it"),
    Case("sum of a pad by zero", "n = s32[4,6] parameter(0) o = s32[] constant(0) ",
         "a = s32[4,9] pad(n, o), padding=0_0x1_2 ROOT r = s32[4] reduce(a, o), dimensions={1}, to_apply=addi",
         "ROOT r = s32[4] reduce(n, o), dimensions={1}, to_apply=addi",
         "a fold whose terms are a choice keeps its ranges: no rule narrows them to where the choice is not the init"),
    Case("sum of a concatenate", "n = s32[4,6] parameter(0) k = s32[4,3] parameter(1) o = s32[] constant(0) ",
         "a = s32[4,9] concatenate(n, k), dimensions={1} ROOT r = s32[4] reduce(a, o), dimensions={1}, to_apply=addi",
         "a = s32[4] reduce(n, o), dimensions={1}, to_apply=addi b = s32[4] reduce(k, o), dimensions={1}, to_apply=addi ROOT r = s32[4] add(a, b)",
         "a sum of two arrays is one fold of a choice: two folds and a sum of them would read no less"),
    Case("sum of a reshape that splits", "x = f32[4,6] parameter(0) o = f32[] constant(0) ",
         "a = f32[4,2,3] reshape(x) ROOT r = f32[4,2] reduce(a, o), dimensions={2}, to_apply=add",
         "ROOT r = f32[4,2] reduce-window(x, o), window={size=1x3 stride=1x3}, to_apply=add"),
    Case("sum of a negated array of integers", "n = s32[4,6] parameter(0) o = s32[] constant(0) ",
         "a = s32[4,6] negate(n) ROOT r = s32[4] reduce(a, o), dimensions={1}, to_apply=addi",
         "s = s32[4] reduce(n, o), dimensions={1}, to_apply=addi ROOT r = s32[4] negate(s)",
         "no rule takes an operation on each term out of a sum: threads read the same, and a kernel for sums may have no result to change"),
    Case("maximum of a row and its maximum", "x = f32[4,6] parameter(0) o = f32[] constant(-inf) ",
         "m = f32[4] reduce(x, o), dimensions={1}, to_apply=max mm = f32[4,6] broadcast(m), dimensions={0} b = f32[4,6] maximum(x, mm) ROOT r = "
         "f32[4,6] negate(b)",
         "m = f32[4] reduce(x, o), dimensions={1}, to_apply=max mm = f32[4,6] broadcast(m), dimensions={0} ROOT r = f32[4,6] negate(mm)",
         "a fold is read, and what holds of its results no rule knows: that none of its terms is larger"),
    Case("a window of maxima of windows of maxima", "x = f32[12] parameter(0) o = f32[] constant(-inf) ",
         "a = f32[10] reduce-window(x, o), window={size=3}, to_apply=max ROOT r = f32[8] reduce-window(a, o), window={size=3}, to_apply=max",
         "ROOT r = f32[8] reduce-window(x, o), window={size=5}, to_apply=max",
         "windows overlap, and a window of windows would take terms again: right for maxima alone, and of no use beside two short windows"),
    Case("reduce of a window's result", "x = f32[4,6] parameter(0) o = f32[] constant(-inf) ",
         "a = f32[4,6] reduce-window(x, o), window={size=1x3 pad=0_0x1_1}, to_apply=max ROOT r = f32[4] reduce(a, o), dimensions={1}, to_apply=max",
         "ROOT r = f32[4] reduce(x, o), dimensions={1}, to_apply=max",
         "windows overlap, and a reduction of them would take terms again"),
    Case("dot with a unit row", "x = f32[4,6] parameter(0) y = f32[6] parameter(1) ",
         "b = f32[6,1] reshape(y) d = f32[4,1] dot(x, b), lhs_contracting_dims={1}, rhs_contracting_dims={0} ROOT r = f32[4] reshape(d)",
         "ROOT r = f32[4] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
         "a fold that its one reader reads at its own index has a definition of its own"),
    Case("transpose of a dot", "x = f32[4,6] parameter(0) y = f32[6,5] parameter(1) ",
         "d = f32[4,5] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} t = f32[5,4] transpose(d), dimensions={1,0} ROOT r = f32[5,4] "
         "negate(t)",
         "d = f32[5,4] dot(y, x), lhs_contracting_dims={0}, rhs_contracting_dims={1} ROOT r = f32[5,4] negate(d)",
         "factors stand in the order of the text's operands, as the library call has them"),
    Case("dot of batches of one", "x = f32[1,4,6] parameter(0) y = f32[1,6,5] parameter(1) ",
         "d = f32[1,4,5] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1} ROOT r = f32[1,4,5] "
         "negate(d)",
         "a = f32[4,6] reshape(x) b = f32[6,5] reshape(y) d = f32[4,5] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0} e = f32[1,4,5] "
         "reshape(d) ROOT r = f32[1,4,5] negate(e)"),
    Case("dot as a sum of products", "x = s32[4,6] parameter(0) y = s32[6] parameter(1) ",
         "ROOT r = s32[4] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
         "o = s32[] constant(0) b = s32[4,6] broadcast(y), dimensions={1} m = s32[4,6] multiply(x, b) ROOT r = s32[4] reduce(m, o), dimensions={1}, "
         "to_apply=addi"),
    Case("while that runs once", "x = f32[4] parameter(0) ",
         "z = s32[] constant(0) t = (s32[], f32[4]) tuple(z, x) w = (s32[], f32[4]) while(t), condition=once, body=grow a = f32[4] "
         "get-tuple-element(w), index=1 ROOT r = f32[4] negate(a)",
         "a = f32[4] exponential(x) ROOT r = f32[4] negate(a)"),
    Case("while that never runs", "x = f32[4] parameter(0) ",
         "z = s32[] constant(1) t = (s32[], f32[4]) tuple(z, x) w = (s32[], f32[4]) while(t), condition=once, body=grow a = f32[4] "
         "get-tuple-element(w), index=1 ROOT r = f32[4] negate(a)",
         "ROOT r = f32[4] negate(x)"),
    Case("conditional by a constant", "x = f32[4] parameter(0) ",
         "c = pred[] constant(true) ROOT r = f32[4] conditional(c, x, x), true_computation=expo, false_computation=nega", "ROOT r = f32[4] exponential(x)"),
    Case("sort of a sorted array", "x = f32[8] parameter(0) ",
         "a = f32[8] sort(x), dimensions={0}, to_apply=less b = f32[8] sort(a), dimensions={0}, to_apply=less ROOT r = f32[8] negate(b)",
         "a = f32[8] sort(x), dimensions={0}, to_apply=less ROOT r = f32[8] negate(a)",
         "a sort is whole, or a network where it is short: none knows that what it sorts is sorted"),
    Case("sort of one element", "x = f32[4,1] parameter(0) ",
         "a = f32[4,1] sort(x), dimensions={1}, to_apply=less ROOT r = f32[4,1] negate(a)", "ROOT r = f32[4,1] negate(x)"),
    Case("an element of a tuple", "x = f32[4,6] parameter(0) y = f32[4,6] parameter(1) ",
         "t = (f32[4,6], f32[4,6]) tuple(x, y) a = f32[4,6] get-tuple-element(t), index=1 ROOT r = f32[4,6] negate(a)", "ROOT r = f32[4,6] negate(y)"),
    Case("clamp as minimum and maximum", "n = s32[4,6] parameter(0) ",
         "l = s32[] constant(1) h = s32[] constant(5) ROOT r = s32[4,6] clamp(l, n, h)",
         "l = s32[] constant(1) h = s32[] constant(5) ll = s32[4,6] broadcast(l), dimensions={} hh = s32[4,6] broadcast(h), dimensions={} a = "
         "s32[4,6] maximum(n, ll) ROOT r = s32[4,6] minimum(a, hh)"),
]
