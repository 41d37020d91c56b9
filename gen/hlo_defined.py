"""Operations that are defined by others, as HLO text. src/hlo/normalise_defined.c puts the text in the operation's place; one that needs no C to
be compiled is a line here. src/eval has a meaning of its own for each, and judges these (tests/hlo/hlo_normalise.py).

The entry has a parameter for each operand, and the operation's shape. Operands of fewer dimensions are broadcast as in any text, shapes that follow
from operands may be omitted, and a conversion to the type that a value has is that value. In the text stand for the operation's own

    $shape1, $dims1, $type1   operand 1: f32[4,3]{1,0}; 4,3; f32
    $wide1                    its shape, of f32 where its elements have less than 32 bits; $wide: operand 0's type then
    $result1, $placed1        element 1 of the result (0 is all of one that is no tuple): its shape; its type
    $slice1                   that many elements, from the first on: {[0:4], [0:2]}
    $last, $others, $count    of operand 0 the last dimension; all dimensions but feature_index; how many elements lie along these
    $part                     the type of a complex number's parts
    $before                   of two elements the first comes first: direction=GT, or LT where largest=false, in the total order of floats
    $NAME                     an attribute, which the row lists
"""
from __future__ import annotations

import re
from dataclasses import dataclass

# Of the sums over n elements for each feature (Ioffe and Szegedy, Batch Normalization, 2015, section 3). One operation rounds once, at its end.
SUM = "sum { a = $wide[] parameter(0)  b = $wide[] parameter(1)  ROOT s = $wide[] add(a, b) }\n"
FEATURES = ", dimensions={$feature_index}"


def operands(*names: str) -> str:
    """Parameters of these names, in the type that the operation is computed in."""
    return "".join(f"{name}.as = $shape{k} parameter({k})\n{name} = $wide{k} convert({name}.as)\n" for k, name in enumerate(names))


def total(name: str, of: str) -> str:
    return f"{name} = reduce({of}, zero), dimensions={{$others}}, to_apply=sum\n"


NUMBERS = "e = $wide[] constant($epsilon)\nn = $wide[] constant($count)\nzero = $wide[] constant(0)\n"
NORMED = f"""shifted = add(variance, e)
inverse = rsqrt(shifted)
normal = multiply(centred, inverse){FEATURES}
scaled = multiply(normal, scale){FEATURES}
moved = add(scaled, offset){FEATURES}
"""
INFERENCE = f"""ENTRY inference {{
{operands("x", "scale", "offset", "mean", "variance")}e = $wide[] constant($epsilon)
centred = subtract(x, mean){FEATURES}
{NORMED}ROOT y = $result0 convert(moved) }}"""
TRAINING = f"""{SUM}ENTRY training {{
{operands("x", "scale", "offset")}{NUMBERS}{total("all", "x")}mean = divide(all, n)
centred = subtract(x, mean){FEATURES}
square = multiply(centred, centred)
{total("squares", "square")}variance = divide(squares, n)
{NORMED}y = $result0 convert(moved)
own.mean = $result1 convert(mean)
own.variance = $result2 convert(variance)
ROOT all.of = tuple(y, own.mean, own.variance) }}"""
GRAD = f"""{SUM}ENTRY grad {{
{operands("x", "scale", "mean", "variance", "g")}{NUMBERS}centred = subtract(x, mean){FEATURES}
shifted = add(variance, e)
inverse = rsqrt(shifted)
{total("doffset", "g")}slopes = multiply(g, centred)
{total("slope", "slopes")}scales = multiply(scale, inverse)
factor = divide(scales, n)
all = multiply(g, n)
without = subtract(all, doffset){FEATURES}
part = divide(slope, shifted)
along = multiply(centred, part){FEATURES}
rest = subtract(without, along)
dx = multiply(rest, factor){FEATURES}
dscale = multiply(slope, inverse)
own.dx = $result0 convert(dx)
own.dscale = $result1 convert(dscale)
own.doffset = $result2 convert(doffset)
ROOT all.of = tuple(own.dx, own.dscale, own.doffset) }}"""

# Equal elements keep their order, as XLA's own decomposition says.
TOP_K = """before { x = $type0[] parameter(0)  y = $type0[] parameter(1)  i = $placed1[] parameter(2)  j = $placed1[] parameter(3)
ROOT first = pred[] compare(x, y), $before }
ENTRY top {
x = $shape0 parameter(0)
place = $placed1[$dims0] iota(), iota_dimension=$last
sorted = sort(x, place), dimensions={$last}, is_stable=true, to_apply=before
values = get-tuple-element(sorted), index=0
places = get-tuple-element(sorted), index=1
most = $result0 slice(values), slice=$slice0
at = $result1 slice(places), slice=$slice1
ROOT all.of = tuple(most, at) }"""

# XLA compares complex numbers by their real parts here.
CLAMP = """ENTRY clamp {
low = $shape0 parameter(0)
x = $shape1 parameter(1)
high = $shape2 parameter(2)
re.low = real(low)
re = real(x)
re.high = real(high)
below = pred[$dims1] compare(re.low, re), direction=GE
raised = $shape1 select(below, low, x)
re.raised = $part[$dims1] select(below, re.low, re)
fits = pred[$dims1] compare(re.raised, re.high), direction=LE
ROOT y = $result0 select(fits, raised, high) }"""


@dataclass(frozen=True)
class Defined:
    operation: str  # as HLO text says
    text: str
    classes: str = ""  # letters of Type.cls in ops.py that the elements of operand 0 may have; "": any
    target: str = ""  # of a custom call
    attributes: str = ""  # that the text asks for; one that an instruction does not have is 0


DEFINED = [
    *(Defined(f"batch-norm-{name}", text, attributes="epsilon feature_index")
      for name, text in (("inference", INFERENCE), ("training", TRAINING), ("grad", GRAD))),
    Defined("topk", TOP_K, "PIUF"), Defined("custom-call", TOP_K, "PIUF", target="TopK"),
    Defined("clamp", CLAMP, "C"),
]

# What src/hlo/normalise_defined.c puts in the place of a word, with a number behind it and without.
NUMBERED = ("shape", "dims", "type", "wide", "result", "placed", "slice")
ALONE = ("wide", "part", "last", "others", "count", "before")


def check(d: Defined) -> None:
    """Refuses a text with a word that nothing stands for, or an attribute that its row lists and no word asks for."""
    words = re.findall(r"\$([a-z_]*)([0-9]?)", d.text)
    for word, number in words:
        if word not in (NUMBERED if number else (*ALONE, *d.attributes.split())):
            raise ValueError(f"gen/hlo_defined.py: {d.operation}: ${word}{number} is neither a word that texts have nor an attribute that the row lists")
    unused = set(d.attributes.split()) - {word for word, _ in words}
    if unused:
        raise ValueError(f"gen/hlo_defined.py: {d.operation}: no word of the text is ${', $'.join(sorted(unused))}")
