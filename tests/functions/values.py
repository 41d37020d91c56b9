"""The results of functions at certain arguments, with the standard or paper that defines them. Data of tests/functions/function_values.py.

An entry: HLO opcode, types, [(operands, result)], source. Numbers are rounded to the type; a result that is a number must be met to the bit (all
nans count as equal). A result that is a text is the exact value to 80 bits and more, which the function may miss by its budget.
"""
from __future__ import annotations

from typing import List, Tuple, Union

Number = Union[int, float, str]
Entry = Tuple[str, Tuple[str, ...], List[Tuple[Tuple[Number, ...], Number]], str]

INF, NAN = float("inf"), float("nan")
ALL, WIDE = ("f16", "bf16", "f32", "f64"), ("f32", "f64")
C = "C23, Annex F"
HLO = "HLO: openxla.org/xla/operation_semantics"


def one(*pairs: Tuple[Number, Number]) -> List[Tuple[Tuple[Number, ...], Number]]:
    return [((x,), y) for x, y in pairs]


def two(*triples: Tuple[Number, Number, Number]) -> List[Tuple[Tuple[Number, ...], Number]]:
    return [((x, y), z) for x, y, z in triples]


# F.10.4.5. 3 is the odd integer, 2 the even one
POW = two(
    (0.0, -3.0, INF), (-0.0, -3.0, -INF), (0.0, -2.0, INF), (-0.0, -2.0, INF), (0.0, -2.5, INF), (-0.0, -2.5, INF), (0.0, -INF, INF), (-0.0, -INF, INF),
    (0.0, 3.0, 0.0), (-0.0, 3.0, -0.0), (0.0, 2.0, 0.0), (-0.0, 2.0, 0.0), (-0.0, 2.5, 0.0), (-0.0, INF, 0.0), (-1.0, INF, 1), (-1.0, -INF, 1),
    (1.0, NAN, 1), (1.0, INF, 1), (1.0, -INF, 1), (1.0, 5.5, 1), (NAN, 0.0, 1), (NAN, -0.0, 1), (INF, 0.0, 1), (-INF, -0.0, 1), (0.0, 0.0, 1), (-3.5, 0.0, 1),
    (-8.0, 0.5, NAN), (-2.0, 2.5, NAN), (-1.5, -3.25, NAN), (0.5, -INF, INF), (-0.5, -INF, INF), (0.0, -INF, INF), (2.0, -INF, 0.0), (-2.0, -INF, 0.0),
    (0.5, INF, 0.0), (-0.5, INF, 0.0), (2.0, INF, INF), (-2.0, INF, INF), (-INF, -3.0, -0.0), (-INF, -2.0, 0.0), (-INF, -2.5, 0.0), (-INF, 3.0, -INF),
    (-INF, 2.0, INF), (-INF, 2.5, INF), (INF, -1.0, 0.0), (INF, -0.5, 0.0), (INF, 0.5, INF), (INF, 3.0, INF), (NAN, 1.0, NAN), (2.0, NAN, NAN), (0.0, NAN, NAN),
    (NAN, NAN, NAN), (INF, INF, INF), (INF, -INF, 0.0), (-INF, INF, INF), (-INF, -INF, 0.0), (-2.0, 3.0, "-0x1p3"), (-2.0, 2.0, "0x1p2"), (2.0, 10.0, "0x1p10"),
    (4.0, 0.5, "0x1p1"), (2.0, -1.0, "0x1p-1"))

PI_4 = ("0x1.921fb54442d18469898cp-1", "0x1.921fb54442d18469898cp0", "0x1.2d97c7f3321d234f272993p1", "0x1.921fb54442d18469898cp1")
ATAN2 = two(  # F.10.1.4: y, x
    (0.0, -0.0, PI_4[3]), (-0.0, -0.0, "-" + PI_4[3]), (0.0, 0.0, 0.0), (-0.0, 0.0, -0.0), (0.0, -1.0, PI_4[3]), (-0.0, -1.0, "-" + PI_4[3]), (0.0, 1.0, 0.0),
    (-0.0, 1.0, -0.0), (-1.0, 0.0, "-" + PI_4[1]), (-1.0, -0.0, "-" + PI_4[1]), (1.0, 0.0, PI_4[1]), (1.0, -0.0, PI_4[1]), (1.0, -INF, PI_4[3]),
    (-1.0, -INF, "-" + PI_4[3]), (1.0, INF, 0.0), (-1.0, INF, -0.0), (INF, 1.0, PI_4[1]), (-INF, 1.0, "-" + PI_4[1]), (INF, -INF, PI_4[2]),
    (-INF, -INF, "-" + PI_4[2]), (INF, INF, PI_4[0]), (-INF, INF, "-" + PI_4[0]), (NAN, 1.0, NAN), (1.0, NAN, NAN), (NAN, NAN, NAN))

FUNCTIONS: List[Entry] = [
    ("exponential", ALL, one((0.0, 1), (-0.0, 1), (-INF, 0.0), (INF, INF), (NAN, NAN)), C + ".10.3.1"),
    ("exponential", ("f32",), one((89.0, INF), (88.5, "0x1.99b987155fe27c9675e2p127"), (-104.0, 0.0), (-100.0, "0x1.a8c1f14e2af5caf3dd92p-145"),
                                  (3e38, INF), (-3e38, 0.0)),
     "overflow above ln(2^128) = 88.72, zero below ln(2^-150) = -103.97; 400-bit arithmetic"),
    ("exponential", ("f64",), one((710.0, INF), (709.5, "0x1.81e9b4b52d0c8fd7f93000d729d634p1023"), (-746.0, 0.0),
                                  (-700.0, "0x1.14f2b0fb9307f0abcb0d2b3ef3cd8ep-1010"), (-740.0, "0x1.531fc8b1a3c7b104cceed14f65cdf6p-1068"),
                                  (1e308, INF), (-1e308, 0.0)),
     "overflow above ln(2^1024) = 709.78; 400-bit arithmetic"),
    ("exponential", ("f16",), one((12.0, INF), (-18.0, 0.0)), "overflow above ln(65520) = 11.09, zero below ln(2^-25) = -17.33"),
    ("exponential-minus-one", ALL, one((0.0, 0.0), (-0.0, -0.0), (-INF, -1), (INF, INF), (NAN, NAN)), C + ".10.3.3"),
    ("log", ALL, one((0.0, -INF), (-0.0, -INF), (1.0, 0.0), (-1.0, NAN), (-INF, NAN), (INF, INF), (NAN, NAN)), C + ".10.3.11"),
    ("log-plus-one", ALL, one((0.0, 0.0), (-0.0, -0.0), (-1.0, -INF), (-2.0, NAN), (-INF, NAN), (INF, INF), (NAN, NAN)), C + ".10.3.14"),
    ("sine", ALL, one((0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (NAN, NAN)), C + ".10.1.12"),
    ("cosine", ALL, one((0.0, 1), (-0.0, 1), (INF, NAN), (-INF, NAN), (NAN, NAN)), C + ".10.1.9"),
    ("tan", ALL, one((0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (NAN, NAN)), C + ".10.1.14"),
    ("sine", ("f32",), one((1e30, "-0x1.95135fcc7c53bef0e376p-1"), ("0x1.921fb6p1", "-0x1.777a5cf72cec5fd61896p-24"),
                           (16367173.0 * 2.0**72, "0x1.ffffffffffffffcfe684p-1")),
     "400-bit arithmetic; 16367173 * 2^72: Muller, Elementary Functions (2016), 11.3.3, the float nearest to a multiple of pi/2"),
    ("cosine", ("f32",), one((1e30, "-0x1.3924432ee4d86c3125b2p-1")), "400-bit arithmetic"),
    ("tan", ("f32",), one((1e30, "0x1.4b28751fb4af074f3cd2p0")), "400-bit arithmetic"),
    ("sine", ("f64",), one((1e22, "-0x1.b453ab76bf3970fa29bc83b9323dbcp-1"), (1e30, "0x1.31c608f107766a1ab029e743d20a3cp-7"),
                           ("0x1.921fb54442d18p1", "0x1.1a62633145c06e0e689481270436e2p-53")),
     "10^22: Ng, Argument Reduction for Huge Arguments: Good to the Last Bit (1992)"),
    ("cosine", ("f64",), one((1e22, "0x1.0be2cef01c8f3934b90dff9cec29ecp-1"), (6381956970095103.0 * 2.0**797, "-0x1.14ae72e6ba22ef4608875c41378ebp-61")),
     "6381956970095103 * 2^797: Muller, Elementary Functions (2016), 11.3.3"),
    ("asin", ALL, one((0.0, 0.0), (-0.0, -0.0), (1.5, NAN), (-1.5, NAN), (INF, NAN), (NAN, NAN)), C + ".10.1.2"),
    ("acos", ALL, one((1.0, 0.0), (1.5, NAN), (-1.5, NAN), (-INF, NAN), (NAN, NAN)), C + ".10.1.1"),
    ("atan2", ALL, ATAN2, C + ".10.1.4"),
    ("sinh", ALL, one((0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (NAN, NAN)), C + ".10.2.5"),
    ("cosh", ALL, one((0.0, 1), (-0.0, 1), (INF, INF), (-INF, INF), (NAN, NAN)), C + ".10.2.4"),
    ("tanh", ALL, one((0.0, 0.0), (-0.0, -0.0), (INF, 1), (-INF, -1), (NAN, NAN), (100.0, 1), (-100.0, -1)), C + ".10.2.6"),
    ("asinh", ALL, one((0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (NAN, NAN)), C + ".10.2.2"),
    ("acosh", ALL, one((1.0, 0.0), (0.5, NAN), (-2.0, NAN), (INF, INF), (NAN, NAN)), C + ".10.2.1"),
    ("atanh", ALL, one((0.0, 0.0), (-0.0, -0.0), (1.0, INF), (-1.0, -INF), (1.5, NAN), (-INF, NAN), (NAN, NAN)), C + ".10.2.3"),
    ("cbrt", ALL, one((0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (8.0, "0x1p1"), (-27.0, "-0x1.8p1"), (NAN, NAN)), C + ".10.4.1"),
    ("power", ALL, POW, C + ".10.4.5"),
    ("sqrt", ALL, one((0.0, 0.0), (-0.0, -0.0), (INF, INF), (-1.0, NAN), (-INF, NAN), (4.0, 2.0), (NAN, NAN)), C + ".10.4.10"),
    ("rsqrt", ALL, one((0.0, INF), (-0.0, -INF), (INF, 0.0), (-1.0, NAN), (-INF, NAN), (NAN, NAN)), "IEEE 754-2019, 9.2.1: rSqrt"),
    ("erf", ALL, one((0.0, 0.0), (-0.0, -0.0), (INF, 1), (-INF, -1), (NAN, NAN), (10.0, 1)), C + ".10.5.1"),
    ("logistic", ALL, one((0.0, "0x1p-1"), (-0.0, "0x1p-1"), (INF, 1), (-INF, 0.0), (NAN, NAN), (-1000.0, 0.0), (1000.0, 1)), "limits of 1 / (1 + e^-x)"),
    ("logistic", ("f32",), one((-177.0, 0.0), (-3e38, 0.0), (-104.0, 0.0), (3e38, 1), (-100.0, "0x1.a8c1f14e2af5caf3dd92p-145"),
                               (-16.75, "0xe44fac82f1a4fc2dd3a57p-108")),
     "zero below ln(2^-150) = -103.97; 400-bit arithmetic"),
]

EXACT: List[Entry] = [
    ("remainder", ALL, two((0.0, 1.0, 0.0), (-0.0, 1.0, -0.0), (1.0, 0.0, NAN), (1.0, -0.0, NAN), (INF, 1.0, NAN), (-INF, 2.0, NAN), (1.0, INF, 1.0),
                           (-1.0, -INF, -1.0), (NAN, 1.0, NAN), (1.0, NAN, NAN), (5.5, 2.0, 1.5), (-5.5, 2.0, -1.5), (5.5, -2.0, 1.5), (-6.0, 3.0, -0.0)),
     C + ".10.7.1 (fmod)"),
    ("floor", ALL, one((0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (NAN, NAN), (0.5, 0.0), (-0.5, -1.0), (1.5, 1.0), (-1.5, -2.0)), C + ".10.6.2"),
    ("ceil", ALL, one((0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (NAN, NAN), (0.5, 1.0), (-0.5, -0.0), (1.5, 2.0), (-1.5, -1.0)), C + ".10.6.1"),
    ("round-nearest-even", ALL, one((0.5, 0.0), (-0.5, -0.0), (1.5, 2.0), (2.5, 2.0), (-2.5, -2.0), (-0.0, -0.0), (INF, INF), (NAN, NAN), (0.25, 0.0)),
     C + ".10.6.8 (roundeven)"),
    ("round-nearest-afz", ALL, one((0.5, 1.0), (-0.5, -1.0), (1.5, 2.0), (2.5, 3.0), (-2.5, -3.0), (-0.0, -0.0), (-0.25, -0.0), (-INF, -INF), (NAN, NAN)),
     C + ".10.6.6 (round)"),
    ("round-nearest-afz", ("f32",), one(("0x1.fffffep-2", 0.0), (8388609.0, 8388609.0), (-4194304.5, -4194305.0)),
     C + ".10.6.6: the largest value below a half"),
    ("round-nearest-afz", ("f64",), one(("0x1.fffffffffffffp-2", 0.0), (4503599627370497.0, 4503599627370497.0)),
     C + ".10.6.6: the largest value below a half"),
    ("sign", ALL, one((0.0, 0.0), (-0.0, -0.0), (3.0, 1.0), (-3.0, -1.0), (INF, 1.0), (-INF, -1.0), (NAN, NAN)), HLO),
    ("divide", ALL, two((1.0, 0.0, INF), (1.0, -0.0, -INF), (-1.0, 0.0, -INF), (0.0, 0.0, NAN), (INF, INF, NAN), (1.0, INF, 0.0), (1.0, -INF, -0.0),
                        (0.0, 5.0, 0.0), (-0.0, 5.0, -0.0)),
     "IEEE 754-2019, 6.1, 6.3, 7.3"),
    ("popcnt", ("s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"), one((0, 0), (1, 1), (7, 3), (85, 4)), HLO),
    ("popcnt", ("s8", "s16", "s32", "s64"), one((-1, "bits"), (-2, "bits-1")), HLO),
    ("count-leading-zeros", ("s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"), one((0, "bits"), (1, "bits-1"), (2, "bits-2"), (127, "bits-7")), HLO),
    ("count-leading-zeros", ("s8", "s16", "s32", "s64"), one((-1, 0), ("min", 0)), HLO),
    ("divide", ("s8", "s16", "s32", "s64"), two((7, 2, 3), (-7, 2, -3), (7, -2, -3), (-7, -2, 3), (5, 0, -1), (-5, 0, -1), (0, 0, -1), ("min", -1, "min")),
     HLO + "#binary_arithmetic"),
    ("remainder", ("s8", "s16", "s32", "s64"), two((7, 2, 1), (-7, 2, -1), (7, -2, 1), (-7, -2, -1), (5, 0, 5), (-5, 0, -5), ("min", -1, 0)),
     HLO + "#binary_arithmetic"),
    ("divide", ("u8", "u16", "u32", "u64"), two((7, 2, 3), (5, 0, "max"), (0, 0, "max"), ("max", "max", 1), ("max", 2, "max/2")), HLO + "#binary_arithmetic"),
    ("remainder", ("u8", "u16", "u32", "u64"), two((7, 2, 1), (5, 0, 5), ("max", 2, 1), ("max", "max", 0)), HLO + "#binary_arithmetic"),
]
# remainder at quotients of any size: fmod is exact, whatever they are
FMOD = {"f16": (65504.0, 3.0, 5.96e-8, 0.1, 2048.0, 6.1e-5),
        "bf16": (3.3e38, 3.0, 1e-40, 0.1, 7.0, 1e30),
        "f32": (1e30, 3.0, 1e-45, 3.4e38, 0.1, 7.0, 1.1754944e-38),
        "f64": (1e308, 3.0, 5e-324, 0.1, 1e22, 7.0, 2.2250738585072014e-308)}
DIVISORS = (1, 2, 3, 5, 7, 10, 12, 100, 127, -1, -2, -3, -7, -128)  # integer division by constants
