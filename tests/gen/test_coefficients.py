"""The coefficients in patterns/polynomials.py, angles.py, arcs.py, hyperbolic.py and doubles.py are those of sollya's output,
patterns/coefficients/f32.txt and f64.txt; those in fixed.py are in fixed.txt."""
from __future__ import annotations

import re
import sys
import unittest
from pathlib import Path
from typing import Dict, List

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from patterns import angles, arcs, doubles, fixed, hyperbolic, polynomials  # noqa: E402

LISTS = {"expm1": "EXPM1", "log": "LOG", "pow": "POW", "tanh": "TANH", "erf": "ERF", "erfc": "ERFC", "sin": "SIN", "cos": "COS",
         "cos, short": "COS_SHORT", "tan": "TAN",
         "sinh": "SINH", "twice exp": "TWICE_EXP", "asin": "ASIN", "asin of half": "ASIN_OF_HALF", "atan": "ATAN",
         "sin of quarters": "SIN_OF_QUARTERS", "cos of quarters": "COS_OF_QUARTERS",
         "sin of f16": "SIN_OF_F16", "cos of f16": "COS_OF_F16", "log of f16": "LOG_OF_F16"}
ERRORS = {"tanh": -24, "log": -27, "pow": -34, "erfc": -29, "cos": -30, "cos, short": -24, "tan": -25, "sinh": -25, "twice exp": -28,
          "asin of half": -27, "atan": -25, "sin of f16": -18, "cos of f16": -18, "log of f16": -19}
DOUBLES = {"exp": (doubles.EXP[2:], -56), "log": (doubles.LOG, -59), "exp2": (doubles.EXP2[1:], -57), "pow": (doubles.POW, -73),
           "asin": (arcs.ASIN_F64, -56), "atan": (arcs.ATAN_F64, -57),
           "log2 for f32": (polynomials.POW_BY_F64, -36), "exp2 for f32": (polynomials.EXP2_BY_F64[1:], -28)}


def found() -> Dict[str, List[float]]:
    """By title: the error as a power of 2, then the coefficients."""
    out: Dict[str, List[float]] = {}
    title = ""
    for line in ROOT.joinpath("patterns", "coefficients", "f32.txt").read_text().splitlines():
        head = re.match(r"(\w.*) 2\^\((-?\d+)/100\)$", line)
        if head:
            title = head.group(1)
            out[title] = [int(head.group(2)) / 100]
        elif line.startswith("    "):
            out[title].append(float.fromhex(line.strip()))
    return out


class Coefficients(unittest.TestCase):
    def test_each_list_is_what_was_found(self) -> None:
        tables = found()
        self.assertEqual(set(tables), set(LISTS))
        for title, name in LISTS.items():
            self.assertEqual(tables[title][1:], next(getattr(m, name) for m in (angles, arcs, hyperbolic, polynomials) if hasattr(m, name)), name)

    def test_errors_keep_their_limits(self) -> None:
        for title, (error, *_) in found().items():
            self.assertLessEqual(error, ERRORS.get(title, -26), title)

    def test_those_of_f64(self) -> None:
        """Lines of f64.txt have the degree before the coefficient."""
        text = ROOT.joinpath("patterns", "coefficients", "f64.txt").read_text()
        tables = {m[1]: (int(m[2]), [float.fromhex(w.split()[1]) for w in m[3].splitlines()])
                  for m in re.finditer(r"^(\w.*) 2\^\((-?\d+)/100\)\n((?: +\S+ \S+\n)+)", text, re.M)}
        self.assertEqual(set(tables), set(DOUBLES))
        for title, (coefficients, limit) in DOUBLES.items():
            error, those = tables[title]
            self.assertEqual(those, coefficients, title)
            self.assertLessEqual(error, 100 * limit, title)
        self.assertIn(f"1/12 {doubles.TWELFTH.hex()[:-2]}", text)
        self.assertIn(doubles.LOG2_E_LOW.hex(), text)

    def test_constants_in_two_parts(self) -> None:
        for high, low, whole in ((polynomials.TWELFTH, polynomials.TWELFTH_LOW, 1 / 12), (polynomials.LOG2_E, polynomials.LOG2_E_LOW, 1.4426950408889634),
                                 (polynomials.LN_2, polynomials.LN_2_LOW, 0.6931471805599453), (angles.PI_2, angles.PI_2_LOW, 1.5707963267948966)):
            self.assertLess(abs(high + low - whole), whole * 2**-47)

    def test_those_of_words(self) -> None:
        """Lines of fixed.txt are integers."""
        text = ROOT.joinpath("patterns", "coefficients", "fixed.txt").read_text()
        tables = {m[1]: (float(m[2]), list(map(int, m[3].split()))) for m in re.finditer(r"^(\w+) 2\^(-[\d.]+)\n((?: +\d+\n)+)", text, re.M)}
        flat = {name: [c for part in parts for c in part] for name, parts in
                (("sin", fixed.SIN), ("cos", fixed.COS), ("tan", fixed.TAN + fixed.TAN_BELOW), ("erf", [fixed.ERF]), ("erfc", [fixed.ERFC]),
                 ("exp2", fixed.EXP2), ("exp", fixed.EXP))}
        self.assertEqual({name: c for name, (_, c) in tables.items()}, flat)
        self.assertTrue(all(error <= -56 for error, _ in tables.values()))


if __name__ == "__main__":
    unittest.main()
