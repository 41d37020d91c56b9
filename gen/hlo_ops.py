"""The table of HLO operations: a line an operation, the one place that says what an operation is.

Made from it (gen_hlo.py): the enumeration HloOpcode, the text and the number of operands that the parser wants, which operation on elements it
is, of which kind and of which types, the laws of what reductions and scatters combine with, where a move reads, and the facts that passes ask
for. Whoever asks "is it elementwise", "is it a move", "what is its identity" reads it through `hlo_op_info` (src/hlo/hlo.h).

Adding an operation: one line here; its meaning in src/eval; its shape in src/hlo/verify_*.c; a test. An elementwise one whose `scalar` is
in ops.py, a move with `reads` and a combiner with an identity are then compiled, fused and priced like the others.

    Op("add", 2, "element", "add", identity="0")     HLO_ADD, two operands, OP_ADD; what 0 is added to stays what it is
    Op("reverse", 1, "move", reads="n - 1 - i[d] if d in dimensions else i[d]", needs="dimensions")

`reads` says for each dimension d of the operand which index it reads for index i of the result: a linear term of one of i's, and its remainder
by a size if the text says `%`. n is the operand's size in d; `dimensions`, `start` and `stride` are the attributes, place(d) is the k of which
dimensions[k] is d. `needs` has at most two attributes.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from gen import ops

KINDS = {
    "element": "element i of the result is an operation on element i of each operand",
    "move": "each element is one of operand 0's as it is, at an index that the text of the operation gives",
    "choose": "each element is one of an operand's; which operand, or which element, index or values decide",
    "fold": "each element combines many: a binder",
    "leaf": "it has no operands",
    "group": "values side by side, and one of them",
    "forward": "it only orders others; a value it has is that of operand 0",
    "control": "it runs other computations",
    "whole": "it writes or orders elements by values",
    "library": "whatever else has a value",
    "effect": "it does something beside its value: it may not vanish, nor be done twice",
}
FACTS = {
    "exact": "of floats, it gives one of them, or a float that needs no rounding",
    "in_order": "elements stay in their order: row by row (reshape), or in memory (bitcast)",
    "products": "it sums products of an element of one operand and one of the other",
    "renames": "its value is the operand's bytes as they lie: another name, which depends on layouts",
    "free": "computed again it costs nothing beside reading what it is made of, if that is no larger",
    "again": "where nothing is priced, each of several kernels computes it again (src/fuse/decide.c)",
    "widens": "of integers, in a wider type it gives what it gives in theirs, once that is cut to them",
    "hero": "where nothing is priced, a kernel is made for it, and has one of them (src/fuse/decide.c)",
}
REASONS = {  # why an instruction that no kernel has is declined: a reason of src/base/why.def, and what is seen
    "orders": ("effect", "it orders effects, and code of a fusion has none"),
    "devices": ("collective", "it exchanges data with other devices; a kernel works on one"),
    "waits": ("async", "it starts an operation that runs beside others, or waits for one"),
    "expanded": ("operation", "normalisation should have expanded it"),
    "calls": ("size", "with all calls inlined the module would be too large"),
    "solver": ("library", "a solver works on whole matrices, step by step; a library does that"),
    "jumps": ("control_flow", "which instructions run is decided at run time"),
    "convolution": ("library", "a convolution between fusions is left to a library with kernels for its shapes"),
    "product": ("library", "a matrix product between fusions is left to a library with kernels for its shapes"),
    "sizes": ("dynamic", "the size of a dimension is known only at run time"),
    "fourier": ("library", "a Fourier transform is the work of a library with kernels for its lengths"),
    "fusions": ("size", "with all fusions in it inlined the fusion would be too large"),
    "host": ("transfer", "it moves data from or to the host or another device, outside of any kernel"),
    "device": ("collective", "each device learns its value at run time"),
    "other_product": ("library", "a matrix product is the work of a library with kernels for its shapes"),
    "state": ("random", "it draws random numbers from a state that lives outside the fusion"),
    "beside": ("random", "it starts beside other operations"),
    "before": ("reduction", "each of its elements needs the one before it"),
    "writes": ("scatter", "where it writes is known only at run time"),
    "sort": ("library", "a sort of more operands than 64, or of more bytes than a block holds twice, is left to a library"),
    "rounds": ("operation", "no rule says how it rounds"),
    "order": ("library", "complex numbers have no order by which one is the largest"),
}
REASON_OF_KIND = {"forward": "orders", "effect": "devices"}  # of an operation without one of its own
IDENTITIES = ("0", "1", "least", "most", "ones")  # least: -inf of floats; ones: all bits


@dataclass(frozen=True)
class Op:
    text: str      # as HLO text says
    operands: int  # -1: any number
    kind: str      # of KINDS
    scalar: Optional[str] = None  # the operation of ops.py that it is on elements; of comparisons the direction says which
    identity: Optional[str] = None  # op(identity, x) is x: reductions may combine with it. Whether they may swap, `comm` of ops.py says
    idempotent: bool = False  # op(x, x) is x
    classes: str = ""  # letters of Type.cls in ops.py that all operands and the result may have; "": those of `scalar`, or verify_*.c says
    facts: str = ""  # words of FACTS
    reads: Optional[str] = None  # of a move, see above; None: of one whose elements stay in their order
    declined: str = ""  # of REASONS, of one that not every kernel can have; "": its kind's, or no operation on elements has its meaning
    starts: int = 0  # its first operand that says where it reads or writes, which all later ones do, too; -1: the middle one does; 0: none
    needs: str = ""  # attributes without which its text is refused; what others it must have its verifier says

    @property
    def name(self) -> str:
        return self.text.upper().replace("-", "_")

    @property
    def reason(self) -> tuple[str, str]:
        return REASONS.get(self.declined or REASON_OF_KIND.get(self.kind, ""), ("operation", "no scalar operation has this meaning"))

    @property
    def takes(self) -> str:
        return self.classes or (ops.OP_BY_NAME[self.scalar].classes.replace("X", "") if self.scalar else "")


OPS = [
    Op("abs", 1, "element", "abs", facts="exact"), Op("acos", 1, "element", "acos"), Op("acosh", 1, "element", "acosh"),
    Op("add", 2, "element", "add", identity="0", facts="widens"),
    Op("and", 2, "element", "band", identity="ones", idempotent=True, facts="widens"),
    Op("asin", 1, "element", "asin"), Op("asinh", 1, "element", "asinh"), Op("atan2", 2, "element", "atan2", classes="FC"),
    Op("atanh", 1, "element", "atanh"),
    Op("bitcast-convert", 1, "element", "bits", facts="exact free again"), Op("cbrt", 1, "element", "cbrt"),
    Op("ceil", 1, "element", "ceil", facts="exact"),
    Op("clamp", 3, "element", facts="exact"),
    Op("compare", 2, "element", facts="exact again", needs="direction"), Op("complex", 2, "element", facts="exact"),
    Op("convert", 1, "element", "cvt", facts="free again"), Op("copy", 1, "element", classes="PIUFC-", facts="exact"),
    Op("cosh", 1, "element", "cosh"), Op("cosine", 1, "element", "cos"), Op("count-leading-zeros", 1, "element", "clz"),
    Op("divide", 2, "element", "div"), Op("erf", 1, "element", "erf"), Op("exponential", 1, "element", "exp"),
    Op("exponential-minus-one", 1, "element", "expm1"), Op("floor", 1, "element", "floor", facts="exact"), Op("imag", 1, "element", facts="exact"),
    Op("is-finite", 1, "element", "is_finite"), Op("log", 1, "element", "log"), Op("log-plus-one", 1, "element", "log1p"),
    Op("logistic", 1, "element", "logistic"),
    Op("maximum", 2, "element", "max", identity="least", idempotent=True, facts="exact widens"),
    Op("minimum", 2, "element", "min", identity="most", idempotent=True, facts="exact widens"),
    Op("mulhi", 2, "element", "mulhi"),
    Op("multiply", 2, "element", "mul", identity="1", facts="widens"),
    Op("negate", 1, "element", "neg", facts="exact again"), Op("not", 1, "element", "bnot", facts="again"),
    Op("or", 2, "element", "bor", identity="0", idempotent=True, facts="widens"),
    Op("popcnt", 1, "element", "popcnt"), Op("power", 2, "element", "pow"), Op("real", 1, "element", facts="exact"),
    Op("reduce-precision", 1, "element", classes="F", needs="exponent_bits mantissa_bits"),
    Op("remainder", 2, "element", "rem"), Op("round-nearest-afz", 1, "element", "round_afz", facts="exact"),
    Op("round-nearest-even", 1, "element", "round_even", facts="exact"),
    Op("rsqrt", 1, "element", "rsqrt"), Op("select", 3, "element", "select", facts="exact"), Op("shift-left", 2, "element", "shl"),
    Op("shift-right-arithmetic", 2, "element", "shra"), Op("shift-right-logical", 2, "element", "shrl"),
    Op("sign", 1, "element", "sign", facts="exact"),
    Op("sine", 1, "element", "sin"), Op("sinh", 1, "element", "sinh"), Op("sqrt", 1, "element", "sqrt"),
    Op("stochastic-convert", 2, "element", declined="rounds"),
    Op("subtract", 2, "element", "sub", classes="PIUFC"), Op("tan", 1, "element", "tan"), Op("tanh", 1, "element", "tanh"),
    Op("xor", 2, "element", "bxor", identity="0", facts="widens"),
    Op("bitcast", 1, "move", facts="in_order renames free again"),
    Op("broadcast", 1, "move", facts="free again", reads="i[dimensions[d]]"),
    Op("reshape", 1, "move", facts="in_order free again"),
    Op("reverse", 1, "move", reads="n - 1 - i[d] if d in dimensions else i[d]", needs="dimensions"),
    Op("slice", 1, "move", facts="again", reads="start + stride * i[d]", needs="slice"),
    Op("transpose", 1, "move", facts="free", reads="i[place(d)]", needs="dimensions"),
    Op("concatenate", -1, "choose", needs="dimensions"), Op("dynamic-slice", -1, "choose", starts=1),
    Op("dynamic-update-slice", -1, "choose", facts="hero", starts=2),
    Op("gather", 2, "choose", starts=1), Op("pad", 2, "choose", needs="padding"),
    Op("convolution", 2, "fold", facts="products", declined="convolution"), Op("dot", -1, "fold", facts="products", declined="product"),
    Op("reduce", -1, "fold", facts="hero", needs="dimensions to_apply"),
    Op("reduce-window", -1, "fold", facts="hero", needs="to_apply"),
    Op("constant", 0, "leaf"), Op("iota", 0, "leaf", facts="free again", needs="iota_dimension"), Op("parameter", 0, "leaf"),
    Op("get-tuple-element", 1, "group", facts="free", needs="index"), Op("tuple", -1, "group", facts="free"),
    Op("add-dependency", 2, "forward"), Op("after-all", -1, "forward"), Op("domain", 1, "forward"), Op("opt-barrier", 1, "forward"),
    Op("call", -1, "control", needs="to_apply", declined="calls"), Op("conditional", -1, "control", needs="branch_computations", declined="jumps"),
    Op("fusion", -1, "control", needs="calls", declined="fusions"),
    Op("map", -1, "control", needs="to_apply"), Op("while", 1, "control", facts="free", needs="body", declined="jumps"),
    Op("scatter", -1, "whole", facts="hero", starts=-1, needs="to_apply", declined="writes"),
    Op("select-and-scatter", 3, "whole", facts="hero", declined="writes"), Op("sort", -1, "whole", needs="to_apply", declined="sort"),
    Op("async-done", 1, "library", declined="waits"), Op("async-start", -1, "library", declined="waits"),
    Op("async-update", 1, "library", declined="waits"), Op("batch-norm-grad", 5, "library", declined="expanded"),
    Op("batch-norm-inference", 5, "library", declined="expanded"), Op("batch-norm-training", 3, "library", declined="expanded"),
    Op("cholesky", 1, "library", declined="solver"), Op("copy-done", 1, "library", declined="waits"),
    Op("copy-start", 1, "library", declined="waits"), Op("custom-call", -1, "library", needs="custom_call_target"),
    Op("dynamic-reshape", -1, "library", declined="sizes"), Op("fft", 1, "library", declined="fourier"),
    Op("get-dimension-size", 1, "library", declined="sizes"), Op("partition-id", 0, "library", declined="device"),
    Op("ragged-dot", -1, "library", declined="other_product"), Op("replica-id", 0, "library", declined="device"),
    Op("rng", -1, "library", declined="state"), Op("rng-bit-generator", 1, "library", declined="beside"),
    Op("scaled-dot", -1, "library", declined="other_product"), Op("scan", -1, "library", declined="before"),
    Op("set-dimension-size", 2, "library", declined="sizes"), Op("topk", -1, "library", declined="order"),
    Op("triangular-solve", 2, "library", declined="solver"),
    Op("all-gather", -1, "effect"), Op("all-gather-done", 1, "effect"), Op("all-gather-start", -1, "effect"), Op("all-reduce", -1, "effect"),
    Op("all-reduce-done", 1, "effect"), Op("all-reduce-start", -1, "effect"), Op("all-to-all", -1, "effect"),
    Op("collective-broadcast", -1, "effect"), Op("collective-permute", -1, "effect"), Op("collective-permute-done", 1, "effect"),
    Op("collective-permute-start", -1, "effect"), Op("infeed", -1, "effect", declined="host"), Op("outfeed", -1, "effect", declined="host"),
    Op("ragged-all-to-all", -1, "effect"),
    Op("recv", -1, "effect", declined="host"), Op("recv-done", 1, "effect", declined="host"), Op("reduce-scatter", -1, "effect"),
    Op("rng-get-and-update-state", 0, "effect", declined="state"),
    Op("send", -1, "effect", declined="host"), Op("send-done", 1, "effect", declined="host"),
]
SCALAR = {o.text: o.scalar for o in OPS if o.scalar}  # HLO opcode: operation of ops.py
HLO_OF = {s: t for t, s in SCALAR.items()}


def check() -> None:
    """The table's own consistency; raises ValueError."""
    if len({o.text for o in OPS}) != len(OPS) or len(HLO_OF) != len(SCALAR):
        raise ValueError("gen/hlo_ops.py: an operation is listed twice")
    for o in OPS:
        known = o.scalar is None or o.scalar in ops.OP_BY_NAME
        if o.kind not in KINDS or not known or o.identity not in (None, *IDENTITIES):
            raise ValueError(f"gen/hlo_ops.py: {o.text}: unknown kind, operation or identity")
        if o.scalar and (o.kind != "element" or o.operands != ops.OP_BY_NAME[o.scalar].arity):
            raise ValueError(f"gen/hlo_ops.py: {o.text} is not {o.scalar} on elements")
        if o.identity and not (o.scalar and "comm" in ops.OP_BY_NAME[o.scalar].props):
            raise ValueError(f"gen/hlo_ops.py: {o.text} has an identity on both sides, and does not commute")
        if o.declined and o.declined not in REASONS:
            raise ValueError(f"gen/hlo_ops.py: {o.text}: unknown reason {o.declined!r}")
        if len(o.needs.split()) > 2:
            raise ValueError(f"gen/hlo_ops.py: {o.text}: more than two attributes")
        if not set(o.facts.split()) <= set(FACTS) or not set(o.takes) <= {t.cls for t in ops.TYPES} or (o.reads and o.kind != "move"):
            raise ValueError(f"gen/hlo_ops.py: {o.text}: unknown fact or class, or reads of what is no move")
        if (o.kind == "move") != (bool(o.reads) != ("in_order" in o.facts.split())):
            raise ValueError(f"gen/hlo_ops.py: {o.text}: a move reads by a text, or its elements are in order; nothing else is")
