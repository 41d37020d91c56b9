"""The table of types and operations: the one place that says which exist.

Everything that knows operations by name is made from it: the C enumerations (`sc_tables.h`), constant folding and the evaluator's
scalar functions (meanings in `semantics.py`), the names of the rule language, and the names in IR dumps, traces and messages.

Adding an operation: one line here, its meaning in `semantics.py`, and for each target a way to select it.
"""
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Type:
    """An element type. `name` is what patterns and IR dumps say, `hlo` what HLO text says."""

    name: str
    hlo: str
    bits: int  # of one value; 0 where it has none
    cls: str  # P pred, I signed, U unsigned, F float, C complex, X index, - no value


TYPES = [
    Type("none", "", 0, "-"),
    Type("pred", "pred", 8, "P"),
    Type("i2", "s2", 2, "I"), Type("i4", "s4", 4, "I"), Type("i8", "s8", 8, "I"),
    Type("i16", "s16", 16, "I"), Type("i32", "s32", 32, "I"), Type("i64", "s64", 64, "I"),
    Type("u2", "u2", 2, "U"), Type("u4", "u4", 4, "U"), Type("u8", "u8", 8, "U"),
    Type("u16", "u16", 16, "U"), Type("u32", "u32", 32, "U"), Type("u64", "u64", 64, "U"),
    Type("f4e2m1fn", "f4e2m1fn", 4, "F"), Type("f8e3m4", "f8e3m4", 8, "F"), Type("f8e4m3", "f8e4m3", 8, "F"),
    Type("f8e4m3fn", "f8e4m3fn", 8, "F"), Type("f8e4m3b11fnuz", "f8e4m3b11fnuz", 8, "F"),
    Type("f8e4m3fnuz", "f8e4m3fnuz", 8, "F"), Type("f8e5m2", "f8e5m2", 8, "F"),
    Type("f8e5m2fnuz", "f8e5m2fnuz", 8, "F"), Type("f8e8m0fnu", "f8e8m0fnu", 8, "F"),
    Type("f16", "f16", 16, "F"), Type("bf16", "bf16", 16, "F"), Type("f32", "f32", 32, "F"), Type("f64", "f64", 64, "F"),
    Type("c64", "c64", 64, "C"), Type("c128", "c128", 128, "C"),
    Type("index", "", 64, "X"),
    Type("token", "token", 0, "-"), Type("opaque", "opaque", 0, "-"), Type("tuple", "", 0, "-"),
]
TYPE_BY_NAME = {t.name: t for t in TYPES}

# Types with scalar functions (constant folding, evaluator) and rules.
SMALL_INTS = ["i2", "i4", "u2", "u4"]
SMALL_FLOATS = ["f4e2m1fn", "f8e3m4", "f8e4m3", "f8e4m3fn", "f8e4m3b11fnuz", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz", "f8e8m0fnu"]
COMPUTE = ["pred", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64", *SMALL_INTS, *SMALL_FLOATS]
COMPLEX = {"c64": "f32", "c128": "f64"}  # types that rules split, and the type of their parts

# Type classes of the rule language: one binding per rule.
CLASSES = {
    "P": ["pred"],
    "I": ["i8", "i16", "i32", "i64"],
    "U": ["u8", "u16", "u32", "u64"],
    "N": ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"],
    "F": ["f16", "bf16", "f32", "f64"],
    "F16": ["f16", "bf16"],
    "I4": ["i2", "i4"],
    "U4": ["u2", "u4"],
    "F8": SMALL_FLOATS,
    "G8": SMALL_FLOATS,  # a second one in a rule
    "E8": SMALL_FLOATS[1:],
    "H8": SMALL_FLOATS[1:],
    "C": list(COMPLEX),
    "T": ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"],
}

# Signatures. T is the type in an operation's name.
#   same    (T, ..) -> T          compare (T, T) -> pred        test   (T) -> pred
#   select  (pred, T, T) -> T     convert (S, ..) -> T, name is op.T.S
#   product (S, S of half the lanes, T) -> T, name is op.T.S
#   leaf    no operands, an immediate; llvm/ and the passes know it
#   frame   structure that the passes make: load, pack, part, ...
SIGNATURES = ("same", "compare", "test", "select", "convert", "product", "leaf", "frame")


@dataclass(frozen=True)
class Op:
    name: str
    arity: int
    sig: str
    classes: str  # letters of Type.cls that T may have
    rank: int  # order of the phases simplify and lower: a lowering goes to lower ranks
    props: str = ""  # words: comm, costly; of an effect those of EFFECTS

    @property
    def combiner(self) -> str:
        """Of a fold the operation that it combines with; empty: it is none."""
        return self.name[5:] if self.name.startswith("fold_") else ""


OPS = [
    # leaves and structure ------------------------------------------------------------------------------------------------
    Op("none", 0, "leaf", "", 0),
    Op("const", 0, "leaf", "PIUFX", 0),      # immediate: the value's bits; index: the integer
    Op("var", 0, "leaf", "X", 0),            # immediate: number in the kernel's table of variables
    Op("value", 0, "leaf", "PIUFC", 0),      # immediate: number in the kernel's table of values, which statements define
    Op("arg", 0, "leaf", "", 0),             # immediate: number of the kernel's buffer
    Op("load", 2, "frame", "PIUFC", 0),       # (arg, index): element of a buffer that no output aliases
    Op("idx", 1, "frame", "IU", 1),          # (index) -> T: the integer value; the pass that makes one shows that it fits in T
    Op("pack", 2, "frame", "PIUFC", 0),       # (x, y): lanes of x, then of y
    Op("part", 1, "frame", "PIUFC", 0),       # (x): lanes [immediate, immediate + lanes of the result)
    Op("splat", 1, "frame", "PIUFC", 0),      # (x): one value in all lanes
    Op("call", 0, "frame", "PIUFC", 0),     # of a function of the kernel; immediate: its number and the result's; index operands in the pool
    Op("instr", 3, "frame", "PIUF", 0),      # a selected tile; immediate: row of the target's instruction table
    Op("complex", 2, "convert", "FC", 1),    # complex.c64.f32(x, y): x + iy
    Op("re", 1, "convert", "FC", 1), Op("im", 1, "convert", "FC", 1),  # re.f32.c64(x)
    # effects: evaluated by `do` statements alone, which hold the address; shuffles and redux are of the 32 threads of a warp ---------------
    Op("barrier", 0, "frame", "", 0, "convergent reads writes"),  # all threads of the block arrive before one goes on, and see what all wrote
    Op("read", 0, "frame", "PIUFC", 0, "address reads"),  # the element at the address, now
    # from sm_90: all threads of the cluster arrive before one goes on, and see what all wrote; the element at the address in the shared memory of the
    # cluster's block number <n>, now
    Op("cluster_barrier", 0, "frame", "", 0, "convergent reads writes"), Op("read_peer", 0, "frame", "PIUFC", 0, "address reads"),
    Op("shuffle_xor", 2, "same", "U", 0, "convergent"),   # (x, m): x of thread lane ^ m
    Op("shuffle_down", 2, "same", "U", 0, "convergent"),  # (x, n): x of thread lane + n; of the last n threads their own
    Op("shuffle_up", 2, "same", "U", 0, "convergent"),    # (x, n): x of thread lane - n; of the first n threads their own
    Op("shuffle_idx", 2, "same", "U", 0, "convergent"),   # (x, i): x of thread i modulo 32
    Op("ballot", 1, "convert", "UP", 0, "convergent"),    # ballot.u32.pred(p): bit i is p of thread i
    Op("redux_add", 1, "same", "IU", 0, "convergent"), Op("redux_min", 1, "same", "IU", 0, "convergent"),
    Op("redux_max", 1, "same", "IU", 0, "convergent"), Op("redux_and", 1, "same", "U", 0, "convergent"),
    Op("redux_or", 1, "same", "U", 0, "convergent"), Op("redux_xor", 1, "same", "U", 0, "convergent"),
    # from sm_80: a product of matrices, 16 x 16 by 16 x 8, and a third one added, whose elements the lanes of a warp hold: with g = lane // 4 and
    # c = 2 * (lane % 4), of the first operand (g, c), (g, c+1), (g+8, c), (g+8, c+1), (g, c+8), (g, c+9), (g+8, c+8), (g+8, c+9); of the second one
    # (c, g), (c+1, g), (c+8, g), (c+9, g); of the third and the result (g, c), (g, c+1), (g+8, c), (g+8, c+1)
    Op("mma", 3, "product", "F", 0, "convergent"),
    # four matrices of 8 x 8 elements of 16 bits in shared memory, of which lane 8 * i + r holds the address of row r of matrix i: lane t has of each of
    # them, one after the other, row t // 4, columns 2 * (t % 4) and the next one; turned: column t // 4, rows 2 * (t % 4) and the next one
    Op("read_matrix", 0, "same", "F", 0, "convergent address reads"), Op("read_matrix_turned", 0, "same", "F", 0, "convergent address reads"),
    # from sm_80: an element, or several, of 4, 8 or 16 bytes, at a second address of the statement, goes to shared memory while the thread
    # goes on; a commit makes a group of the copies since the last one, and a wait ends when no more than so many groups, the immediate, are
    # under way
    Op("copy_async", 0, "same", "F", 0, "address reads writes"), Op("copy_commit", 0, "frame", "", 0, "reads writes"),
    Op("copy_wait", 0, "frame", "", 0, "reads writes"),
    # the element at the address becomes op(it, x) in one step; the result is what it was. Nothing else is ordered by it
    Op("atomic_add", 1, "same", "IUF", 0, "address reads writes"), Op("atomic_min", 1, "same", "IUF", 0, "address reads writes"),
    Op("atomic_max", 1, "same", "IUF", 0, "address reads writes"), Op("atomic_and", 1, "same", "U", 0, "address reads writes"),
    Op("atomic_or", 1, "same", "U", 0, "address reads writes"), Op("atomic_xor", 1, "same", "U", 0, "address reads writes"),
    Op("atomic_exch", 1, "same", "U", 0, "address reads writes"),  # it becomes x
    Op("atomic_cas", 2, "same", "U", 0, "address reads writes"),   # (x, y): it becomes y where it was x; of several lanes, where all were
    # the element now, and it becomes x; both may meet others of the kind and atomics of the same element
    Op("read_relaxed", 0, "frame", "PIUF", 0, "address reads"), Op("write_relaxed", 1, "frame", "PIUF", 0, "address writes"),
    # (x): it becomes x; the result is what it was. What was written before an unlock is seen after the lock that finds it
    Op("lock", 1, "same", "U", 0, "address reads writes"), Op("unlock", 1, "same", "U", 0, "address reads writes"),
    Op("ticket", 1, "same", "U", 0, "address reads writes"),  # (n): it counts 0, 1, .. n, 0, ..; what was written before is visible to who draws later
    # index arithmetic ----------------------------------------------------------------------------------------------------
    Op("sum", 0, "frame", "X", 1),           # constant + sum of coefficient * term
    Op("floordiv", 2, "same", "X", 3),       # floor; the divisor is positive
    Op("mod", 2, "same", "X", 3),            # the remainder of floordiv
    # folds: of an array in index notation (src/graph), not of kernels ------------------------------------------------------
    # (x, y, i): y combined with x at each value of the index i, in any order; take.T.S(x, i, n): x where i is the integer n of type S, clamped
    *(Op(f"fold_{op}", 3, "frame", classes, 50) for op, classes in (("add", "PIUFC"), ("mul", "PIUFC"), ("max", "PIUF"), ("min", "PIUF"),
                                                                    ("band", "PIU"), ("bor", "PIU"), ("bxor", "PIU"))),
    Op("take", 3, "convert", "PIUFC", 1),
    # two operands ----------------------------------------------------------------------------------------------------------
    Op("add", 2, "same", "PIUFC", 3, "comm"), Op("sub", 2, "same", "IUFC", 4),
    Op("mul", 2, "same", "PIUFC", 4, "comm"), Op("div", 2, "same", "IUFC", 20, "costly"),
    Op("rem", 2, "same", "IUF", 20, "costly"), Op("pow", 2, "same", "IUFC", 40, "costly"),
    Op("max", 2, "same", "PIUFX", 6, "comm"), Op("min", 2, "same", "PIUFX", 6, "comm"),
    Op("atan2", 2, "same", "F", 40, "costly"), Op("hypot", 2, "same", "F", 40, "costly"),
    Op("copysign", 2, "same", "F", 6), Op("mulhi", 2, "same", "IU", 14),
    Op("band", 2, "same", "PIU", 2, "comm"), Op("bor", 2, "same", "PIU", 2, "comm"),
    Op("bxor", 2, "same", "PIU", 2, "comm"),
    Op("shl", 2, "same", "IU", 12), Op("shra", 2, "same", "IU", 12),
    Op("shrl", 2, "same", "IU", 12),
    # the machine's division and shifts: defined only where the divisor is neither 0 nor -1, the amount below the width
    Op("divx", 2, "same", "IU", 10, "costly"), Op("remx", 2, "same", "IU", 10, "costly"),
    Op("shlx", 2, "same", "IU", 5), Op("shrax", 2, "same", "IU", 5), Op("shrlx", 2, "same", "IU", 5),
    Op("pow16", 2, "same", "IU", 35, "costly"),  # a ** (b modulo 2**16)
    Op("fma", 3, "same", "F", 3),
    # comparison and choice -------------------------------------------------------------------------------------------------
    Op("eq", 2, "compare", "PIUFXC", 4, "comm"), Op("ne", 2, "compare", "PIUFXC", 4, "comm"),
    Op("lt", 2, "compare", "PIUFX", 4), Op("le", 2, "compare", "PIUFX", 5),
    Op("gt", 2, "compare", "PIUFX", 6), Op("ge", 2, "compare", "PIUFX", 6),
    Op("select", 3, "select", "PIUFC", 4),
    Op("is_finite", 1, "test", "F", 15),
    # one operand -----------------------------------------------------------------------------------------------------------
    Op("cvt", 1, "convert", "PIUF", 8),
    Op("cvtsat", 1, "convert", "F", 7),      # a value beyond the largest finite one becomes that; nan stays nan
    Op("bits", 1, "convert", "PIUF", 1),  # same width: the bits as they are
    Op("neg", 1, "same", "IUFC", 3), Op("abs", 1, "same", "IUF", 6),
    Op("modulus", 1, "convert", "FC", 45, "costly"),  # modulus.f32.c64(x): HLO's abs of a complex value
    Op("sign", 1, "same", "IUFC", 30), Op("bnot", 1, "same", "PIU", 4),
    Op("popcnt", 1, "same", "IU", 12), Op("clz", 1, "same", "IU", 12),
    Op("floor", 1, "same", "F", 12), Op("ceil", 1, "same", "F", 12),
    Op("trunc", 1, "same", "F", 12), Op("round_even", 1, "same", "F", 12),
    Op("round_afz", 1, "same", "F", 14),
    Op("exp", 1, "same", "FC", 30, "costly"), Op("expm1", 1, "same", "FC", 30, "costly"),
    Op("exp2", 1, "same", "F", 25, "costly"), Op("log2", 1, "same", "F", 25, "costly"),
    Op("log", 1, "same", "FC", 30, "costly"), Op("log1p", 1, "same", "FC", 30, "costly"),
    Op("logistic", 1, "same", "FC", 35, "costly"), Op("tanh", 1, "same", "FC", 32, "costly"),
    Op("tan", 1, "same", "FC", 30, "costly"), Op("sin", 1, "same", "FC", 30, "costly"),
    Op("cos", 1, "same", "FC", 30, "costly"), Op("sinh", 1, "same", "FC", 30, "costly"),
    Op("cosh", 1, "same", "FC", 30, "costly"), Op("asin", 1, "same", "FC", 30, "costly"),
    Op("acos", 1, "same", "FC", 30, "costly"), Op("atan", 1, "same", "F", 30, "costly"),
    Op("asinh", 1, "same", "FC", 30, "costly"), Op("acosh", 1, "same", "FC", 30, "costly"),
    Op("atanh", 1, "same", "FC", 30, "costly"), Op("erf", 1, "same", "F", 30, "costly"),
    Op("sqrt", 1, "same", "FC", 20, "costly"), Op("rsqrt", 1, "same", "FC", 22, "costly"),
    Op("cbrt", 1, "same", "FC", 30, "costly"), Op("rcp", 1, "same", "F", 15, "costly"),
    # the machine's instructions that functions are built from; z: subnormal arguments and results become zero
    Op("exp2z", 1, "same", "F", 14, "costly"), Op("log2z", 1, "same", "F", 14, "costly"), Op("rcpz", 1, "same", "F", 14, "costly"),
    Op("rsqrtz", 1, "same", "F", 14, "costly"),
    Op("saturate", 1, "same", "F", 6),       # into 0..1; nan is 0
    Op("two_over_pi", 1, "same", "U", 12),   # 32 bits from byte a modulo 64 of this table: 19 zero bytes, then the fraction of 2/pi
    Op("two_over_pi_part", 1, "same", "U", 12),  # the bits of a double: 53 bits of that table from byte a modulo 32; the next 53 where a modulo 128 >= 64
    Op("two_over_pi_word", 1, "same", "U", 12),  # 64 bits from byte a modulo 256 of a table: 12 zero bytes, 146 of 2/pi, zeros
]
OP_BY_NAME = {o.name: o for o in OPS}

EFFECTS = ["convergent", "reads", "writes", "address"]  # address: of memory, at the address that the statement holds

# Flags of a node, part of its identity, off by default.
FLAGS = ["approx", "contract", "nnan", "nsz", "wide", "rare"]  # wide: an index expression that needs 64 bits; rare: a select whose second operand
# is seldom taken and costs much, which src/vector/rare.c makes a branch of

PERMISSIONS = ("contract", "nnan", "nsz")  # flags that permit other results: of --assume, and of frontend attributes of the text


def check() -> None:
    """The table's own consistency; raises ValueError."""
    names = [o.name for o in OPS]
    if len(set(names)) != len(names):
        raise ValueError("gen/ops.py: an operation is listed twice")
    for o in OPS:
        if o.sig not in SIGNATURES:
            raise ValueError(f"gen/ops.py: {o.name}: unknown signature {o.sig}")
    if len(TYPES) > 64 or len(OPS) > 1024 or len(FLAGS) > 12:
        raise ValueError("gen/ops.py: more types, operations or flags than a node has bits for")
