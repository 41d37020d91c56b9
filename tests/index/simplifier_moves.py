"""Cases of simplifier_rewrites.py about moves of elements, and what all cases are made of."""
from __future__ import annotations

from typing import List, NamedTuple

COMBINERS = """
add { p = f32[] parameter(0) q = f32[] parameter(1) ROOT s = f32[] add(p, q) }
max { p = f32[] parameter(0) q = f32[] parameter(1) ROOT s = f32[] maximum(p, q) }
addi { p = s32[] parameter(0) q = s32[] parameter(1) ROOT s = s32[] add(p, q) }
maxi { p = s32[] parameter(0) q = s32[] parameter(1) ROOT s = s32[] maximum(p, q) }
less { p = f32[] parameter(0) q = f32[] parameter(1) ROOT c = pred[] compare(p, q), direction=LT }
expo { x = f32[4] parameter(0) ROOT y = f32[4] exponential(x) }
nega { x = f32[4] parameter(0) ROOT y = f32[4] negate(x) }
once { t = (s32[], f32[4]) parameter(0) i = s32[] get-tuple-element(t), index=0 n = s32[] constant(1) ROOT c = pred[] compare(i, n), direction=LT }
grow { t = (s32[], f32[4]) parameter(0) i = s32[] get-tuple-element(t), index=0 x = f32[4] get-tuple-element(t), index=1 n = s32[] constant(1)
 j = s32[] add(i, n) y = f32[4] exponential(x) ROOT u = (s32[], f32[4]) tuple(j, y) }
"""


class Case(NamedTuple):
    name: str
    given: str  # parameters and constants of both sides
    left: str
    right: str
    open: str = ""  # what is missing


X, Z = "x = f32[4,6] parameter(0) ", "z = f32[] parameter(1) "
Y = "y = f32[4,6] parameter(1) "
ZERO, LEAST = "o = f32[] constant(0) ", "o = f32[] constant(-inf) "
N = "n = s32[4,6] parameter(0) "
MOVES: List[Case] = [
    # moves of moves
    Case("pad of pad by one value", X + Z, "a = f32[5,8] pad(x, z), padding=1_0x1_1 ROOT r = f32[7,8] pad(a, z), padding=0_2x0_0",
         "ROOT r = f32[7,8] pad(x, z), padding=1_2x1_1",
         "a choice within a choice is two selects: conjuncts of two ranges have no order that both texts give them"),
    Case("a pad that cuts off", X + Z, "ROOT r = f32[2,4] pad(x, z), padding=-1_-1x-2_0", "ROOT r = f32[2,4] slice(x), slice={[1:3], [2:6]}"),
    Case("slice of a pad, all of it inside", X + Z, "a = f32[6,8] pad(x, z), padding=1_1x1_1 ROOT r = f32[4,5] slice(a), slice={[1:5], [2:7]}",
         "ROOT r = f32[4,5] slice(x), slice={[0:4], [1:6]}"),
    Case("slice of a pad, none of it inside", X + Z, "a = f32[4,10] pad(x, z), padding=0_0x4_0 ROOT r = f32[4,3] slice(a), slice={[0:4], [1:4]}",
         "ROOT r = f32[4,3] broadcast(z), dimensions={}"),
    Case("slice of a concatenate", X + "y = f32[3,6] parameter(1) ",
         "a = f32[7,6] concatenate(x, y), dimensions={0} ROOT r = f32[2,6] slice(a), slice={[5:7], [0:6]}", "ROOT "
         "r = f32[2,6] slice(y), slice={[1:3], [0:6]}"),
    Case("slice of a slice", X, "a = f32[4,5] slice(x), slice={[0:4], [1:6]} ROOT r = f32[2,2] slice(a), slice={[1:3], [0:4:2]}",
         "ROOT r = f32[2,2] slice(x), slice={[1:3], [1:5:2]}"),
    Case("concatenate of neighbours", X, "a = f32[4,2] slice(x), slice={[0:4], [0:2]} b = f32[4,4] slice(x), slice={[0:4], [2:6]}\n"
         " c = f32[4,6] concatenate(a, b), dimensions={1} ROOT r = f32[4,6] negate(c)", "ROOT r = f32[4,6] negate(x)"),
    Case("transpose of a transpose", X, "a = f32[6,4] transpose(x), dimensions={1,0} b = f32[4,6] transpose(a), dimensions={1,0} ROOT r = f32[4,6] negate(b)",
         "ROOT r = f32[4,6] negate(x)"),
    Case("reshape of a reshape", X, "a = f32[24] reshape(x) b = f32[2,12] reshape(a) ROOT r = f32[2,12] negate(b)",
         "a = f32[2,12] reshape(x) ROOT r = f32[2,12] negate(a)"),
    Case("transpose of units as a reshape", "x = f32[1,6] parameter(0) ", "a = f32[6,1] transpose(x), dimensions={1,0} ROOT r = f32[6,1] negate(a)",
         "a = f32[6,1] reshape(x) ROOT r = f32[6,1] negate(a)"),
    Case("reverse of a reverse", X, "a = f32[4,6] reverse(x), dimensions={0,1} b = f32[4,6] reverse(a), dimensions={1} ROOT r = f32[4,6] negate(b)",
         "a = f32[4,6] reverse(x), dimensions={0} ROOT r = f32[4,6] negate(a)"),
    Case("reverse of a unit dimension", "x = f32[1,6] parameter(0) ", "a = f32[1,6] reverse(x), dimensions={0} ROOT r = f32[1,6] negate(a)",
         "ROOT r = f32[1,6] negate(x)"),
    Case("broadcast of a broadcast", "x = f32[4] parameter(0) ",
         "a = f32[4,6] broadcast(x), dimensions={0} b = f32[3,4,6] broadcast(a), dimensions={1,2} ROOT r = f32[3,4,6] negate(b)",
         "b = f32[3,4,6] broadcast(x), dimensions={1} ROOT r = f32[3,4,6] negate(b)"),
    Case("slice of a broadcast", "x = f32[4] parameter(0) ", "a = f32[4,6] broadcast(x), dimensions={0} b = f32[4,2] slice(a), slice={[0:4], [3:5]} "
         "ROOT r = f32[4,2] negate(b)",
         "b = f32[4,2] broadcast(x), dimensions={0} ROOT r = f32[4,2] negate(b)"),
    Case("conversions around a move", "x = f16[4,6] parameter(0) ", "a = f32[4,6] convert(x) b = f32[6,4] transpose(a), dimensions={1,0} ROOT "
         "r = f32[6,4] negate(b)",
         "a = f16[6,4] transpose(x), dimensions={1,0} b = f32[6,4] convert(a) ROOT r = f32[6,4] negate(b)"),
    Case("dynamic-slice at numbers", X, "i = s32[] constant(2) j = s32[] constant(9) a = f32[2,3] dynamic-slice(x, i, j), dynamic_slice_sizes={2,3}\n"
         " ROOT r = f32[2,3] negate(a)", "a = f32[2,3] slice(x), slice={[2:4], [3:6]} ROOT r = f32[2,3] negate(a)"),
    Case("dynamic-slice of all", X + "i = s32[] parameter(1) ", "a = f32[4,6] dynamic-slice(x, i, i), dynamic_slice_sizes={4,6} ROOT r = f32[4,6] negate(a)",
         "ROOT r = f32[4,6] negate(x)"),
    Case("dynamic-slice of one number", "v = f32[] constant(3) i = s32[] parameter(0) ",
         "x = f32[8] broadcast(v), dimensions={} a = f32[2] dynamic-slice(x, i), dynamic_slice_sizes={2} ROOT r = f32[2] negate(a)",
         "a = f32[2] broadcast(v), dimensions={} ROOT r = f32[2] negate(a)"),
    Case("dynamic-update-slice of all", X + "u = f32[4,6] parameter(1) i = s32[] parameter(2) ",
         "a = f32[4,6] dynamic-update-slice(x, u, i, i) ROOT r = f32[4,6] negate(a)", "ROOT r = f32[4,6] negate(u)"),
    Case("gather of an iota", "p = f32[5,1] parameter(0) i = s32[5,1] convert(p) ", "x = s32[8] iota(), iota_dimension=0\n"
         " a = s32[5,1] gather(x, i), offset_dims={1}, collapsed_slice_dims={}, start_index_map={0}, index_vector_dim=1, slice_sizes={1} "
         "b = s32[5] reshape(a) ROOT r = s32[5] negate(b)",
         "a = s32[5] reshape(i) z = s32[] constant(0) n = s32[] constant(7) zz = s32[5] broadcast(z), dimensions={} nn = s32[5] broadcast(n), dimensions={}\n"
         " b = s32[5] maximum(a, zz) c = s32[5] minimum(b, nn) ROOT "
         "r = s32[5] negate(c)"),
    Case("gather at an iota", X, "n = s32[3,1] iota(), iota_dimension=0\n"
         " a = f32[3,1,6] gather(x, n), offset_dims={1,2}, collapsed_slice_dims={}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,6} "
         "b = f32[3,6] reshape(a) ROOT r = f32[3,6] negate(b)",
         "a = f32[3,6] slice(x), slice={[0:3], [0:6]} ROOT r = f32[3,6] negate(a)"),
    Case("pad by nothing", "x = f32[4,6] parameter(0) z = f32[] parameter(1) ",
         "a = f32[4,6] pad(x, z), padding=0_0x0_0 ROOT r = f32[4,6] negate(a)", "ROOT r = f32[4,6] negate(x)"),
    Case("interior pad, strided back", "x = f32[4,6] parameter(0) z = f32[] parameter(1) ",
         "a = f32[7,6] pad(x, z), padding=0_0_1x0_0 b = f32[4,6] slice(a), slice={[0:7:2], [0:6]} ROOT r = f32[4,6] negate(b)",
         "ROOT r = f32[4,6] negate(x)"),
    Case("slice that straddles a concatenate", "x = f32[4,6] parameter(0) y = f32[3,6] parameter(1) ",
         "a = f32[7,6] concatenate(x, y), dimensions={0} ROOT r = f32[2,6] slice(a), slice={[3:5], [0:6]}",
         "b = f32[1,6] slice(x), slice={[3:4], [0:6]} c = f32[1,6] slice(y), slice={[0:1], [0:6]} ROOT r = f32[2,6] concatenate(b, c), dimensions={0}",
         "what a choice says of an index is not used in what it takes: x[d0 + 3] where d0 is 0"),
    Case("concatenate of concatenates", "x = f32[4,6] parameter(0) y = f32[3,6] parameter(1) ",
         "a = f32[7,6] concatenate(x, y), dimensions={0} ROOT r = f32[11,6] concatenate(a, x), dimensions={0}",
         "ROOT r = f32[11,6] concatenate(x, y, x), dimensions={0}",
         "a choice within a choice is two selects, nested as the text nests them"),
    Case("concatenate of one", "x = f32[4,6] parameter(0) ",
         "a = f32[4,6] concatenate(x), dimensions={1} ROOT r = f32[4,6] negate(a)", "ROOT r = f32[4,6] negate(x)"),
    Case("concatenate with an empty array", "x = f32[4,6] parameter(0) y = f32[0,6] parameter(1) ",
         "a = f32[4,6] concatenate(x, y), dimensions={0} ROOT r = f32[4,6] negate(a)", "ROOT r = f32[4,6] negate(x)"),
    Case("concatenate of transposes", "x = f32[4,6] parameter(0) y = f32[4,6] parameter(1) ",
         "a = f32[6,4] transpose(x), dimensions={1,0} b = f32[6,4] transpose(y), dimensions={1,0} c = f32[6,8] concatenate(a, b), dimensions={1} ROOT "
         "r = f32[6,8] negate(c)",
         "c = f32[8,6] concatenate(x, y), dimensions={0} t = f32[6,8] transpose(c), dimensions={1,0} ROOT r = f32[6,8] negate(t)"),
    Case("concatenate of equal broadcasts", "z = f32[] parameter(0) ",
         "a = f32[2,6] broadcast(z), dimensions={} b = f32[3,6] broadcast(z), dimensions={} c = f32[5,6] concatenate(a, b), dimensions={0} ROOT r = "
         "f32[5,6] negate(c)",
         "c = f32[5,6] broadcast(z), dimensions={} ROOT r = f32[5,6] negate(c)"),
    Case("reverse of a pad", "x = f32[4,6] parameter(0) z = f32[] parameter(1) ",
         "a = f32[7,6] pad(x, z), padding=1_2x0_0 v = f32[7,6] reverse(a), dimensions={0} ROOT r = f32[7,6] negate(v)",
         "v = f32[4,6] reverse(x), dimensions={0} a = f32[7,6] pad(v, z), padding=2_1x0_0 ROOT r = f32[7,6] negate(a)",
         "conjuncts and choices stand in the order in which the text makes them"),
    Case("reverse of a slice", "x = f32[4,6] parameter(0) ",
         "a = f32[4,3] slice(x), slice={[0:4], [1:4]} v = f32[4,3] reverse(a), dimensions={1} ROOT r = f32[4,3] negate(v)",
         "v = f32[4,6] reverse(x), dimensions={1} a = f32[4,3] slice(v), slice={[0:4], [2:5]} ROOT r = f32[4,3] negate(a)"),
    Case("reverse of a concatenate", "x = f32[4,6] parameter(0) y = f32[3,6] parameter(1) ",
         "a = f32[7,6] concatenate(x, y), dimensions={0} v = f32[7,6] reverse(a), dimensions={0} ROOT r = f32[7,6] negate(v)",
         "b = f32[4,6] reverse(x), dimensions={0} c = f32[3,6] reverse(y), dimensions={0} v = f32[7,6] concatenate(c, b), dimensions={0} ROOT r = "
         "f32[7,6] negate(v)",
         "conjuncts and choices stand in the order in which the text makes them"),
    Case("reshape of a broadcast of a row", "x = f32[4] parameter(0) ",
         "a = f32[4,6] broadcast(x), dimensions={0} b = f32[24] reshape(a) c = f32[4,6] reshape(b) ROOT r = f32[4,6] negate(c)",
         "c = f32[4,6] broadcast(x), dimensions={0} ROOT r = f32[4,6] negate(c)"),
    Case("transpose of a broadcast", "x = f32[4] parameter(0) ",
         "a = f32[4,6] broadcast(x), dimensions={0} b = f32[6,4] transpose(a), dimensions={1,0} ROOT r = f32[6,4] negate(b)",
         "b = f32[6,4] broadcast(x), dimensions={1} ROOT r = f32[6,4] negate(b)"),
    Case("transpose of a pad", "x = f32[4,6] parameter(0) z = f32[] parameter(1) ",
         "a = f32[5,7] pad(x, z), padding=1_0x0_1 b = f32[7,5] transpose(a), dimensions={1,0} ROOT r = f32[7,5] negate(b)",
         "b = f32[6,4] transpose(x), dimensions={1,0} a = f32[7,5] pad(b, z), padding=0_1x1_0 ROOT r = f32[7,5] negate(a)",
         "conjuncts and choices stand in the order in which the text makes them"),
    Case("slice of a transpose", "x = f32[4,6] parameter(0) ",
         "a = f32[6,4] transpose(x), dimensions={1,0} b = f32[2,4] slice(a), slice={[1:3], [0:4]} ROOT r = f32[2,4] negate(b)",
         "a = f32[4,2] slice(x), slice={[0:4], [1:3]} b = f32[2,4] transpose(a), dimensions={1,0} ROOT r = f32[2,4] negate(b)"),
    Case("slice of a reshape", "x = f32[4,6] parameter(0) ",
         "a = f32[2,2,6] reshape(x) b = f32[1,2,6] slice(a), slice={[1:2], [0:2], [0:6]} c = f32[2,6] reshape(b) ROOT r = f32[2,6] negate(c)",
         "a = f32[2,6] slice(x), slice={[2:4], [0:6]} ROOT r = f32[2,6] negate(a)"),
    Case("slice of an elementwise operation", "x = f32[4,6] parameter(0) ",
         "a = f32[4,6] exponential(x) ROOT r = f32[4,2] slice(a), slice={[0:4], [1:3]}",
         "a = f32[4,2] slice(x), slice={[0:4], [1:3]} ROOT r = f32[4,2] exponential(a)"),
    Case("dynamic-slice of a dynamic-slice at numbers", "x = f32[4,6] parameter(0) ",
         "i = s32[] constant(1) a = f32[3,4] dynamic-slice(x, i, i), dynamic_slice_sizes={3,4} b = f32[2,2] dynamic-slice(a, i, i), "
         "dynamic_slice_sizes={2,2} ROOT r = f32[2,2] negate(b)",
         "b = f32[2,2] slice(x), slice={[2:4], [2:4]} ROOT r = f32[2,2] negate(b)"),
    Case("dynamic-slice of a transpose", "x = f32[4,6] parameter(0) i = s32[] parameter(1) z = s32[] constant(0) ",
         "t = f32[6,4] transpose(x), dimensions={1,0} a = f32[2,4] dynamic-slice(t, i, z), dynamic_slice_sizes={2,4} ROOT r = f32[2,4] negate(a)",
         "a = f32[4,2] dynamic-slice(x, z, i), dynamic_slice_sizes={4,2} t = f32[2,4] transpose(a), dimensions={1,0} ROOT r = f32[2,4] negate(t)"),
    Case("dynamic-update-slice at numbers", "x = f32[4,6] parameter(0) u = f32[2,6] parameter(1) ",
         "i = s32[] constant(1) z = s32[] constant(0) a = f32[4,6] dynamic-update-slice(x, u, i, z) ROOT r = f32[4,6] negate(a)",
         "b = f32[1,6] slice(x), slice={[0:1], [0:6]} c = f32[1,6] slice(x), slice={[3:4], [0:6]} a = f32[4,6] concatenate(b, u, c), dimensions={0} "
         "ROOT r = f32[4,6] negate(a)",
         "what a choice says of an index is not used in what it takes: x[d0 + 3] where d0 is 0"),
    Case("the slice that an update was", "x = f32[4,6] parameter(0) u = f32[2,6] parameter(1) i = s32[] parameter(2) ",
         "z = s32[] constant(0) a = f32[4,6] dynamic-update-slice(x, u, i, z) b = f32[2,6] dynamic-slice(a, i, z), dynamic_slice_sizes={2,6} ROOT r = "
         "f32[2,6] negate(b)",
         "ROOT r = f32[2,6] negate(u)"),
    Case("gather of constants as a dynamic-slice", "x = f32[4,6] parameter(0) i = s32[] parameter(1) ",
         "z = s32[] constant(0) a = f32[1,6] dynamic-slice(x, i, z), dynamic_slice_sizes={1,6} b = f32[6] reshape(a) ROOT r = f32[6] negate(b)",
         "k = s32[1] reshape(i) g = f32[6] gather(x, k), offset_dims={0}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=0, "
         "slice_sizes={1,6} ROOT r = f32[6] negate(g)"),
    Case("gather of a broadcast", "x = f32[6] parameter(0) i = s32[3,1] parameter(1) ",
         "b = f32[4,6] broadcast(x), dimensions={1} g = f32[3,6] gather(b, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
         "index_vector_dim=1, slice_sizes={1,6} ROOT r = f32[3,6] negate(g)",
         "b = f32[3,6] broadcast(x), dimensions={1} ROOT r = f32[3,6] negate(b)"),
]
