"""Numbers by which two products divide (gen/reciprocals.py)."""
from __future__ import annotations

import unittest
from fractions import Fraction

from gen import reciprocals
from gen.reciprocals import nearest


def quotient(a: int, b: int) -> Fraction:
    """a / b as the rules of patterns/quotients.py compute it, of a b of 24 bits."""
    high = Fraction(2**47 // b, 2**47)
    return nearest(a * high + nearest(a * nearest(Fraction(1, b) - high)))


class Reciprocals(unittest.TestCase):
    def test_numbers(self) -> None:
        self.assertTrue(all(map(reciprocals.in_two, (255.0, -13.0, 7.5, float.fromhex("0x1.99999ap-4"), float.fromhex("0x1.6a09e6p+0"), *reciprocals.some()))))
        for x in (float.fromhex("0x1.666666p-1"), 1.0, -8.0, 0.0, float("inf"), float("nan"), 2.0**20 + 2, 2.0**-30):
            self.assertFalse(reciprocals.in_two(x), x)

    def test_no_dividend_further_from_a_tie_is_wrong(self) -> None:
        """The dividends that are tried are up to 8 units from a tie; up to 40 units away no other one is rounded wrongly."""
        for b in (0xb33333, 0xffffff, 0x800001, 0xffff01, 0xb504f3):
            near = [a for k in (24, 25) for d in range(-40, 41) for a in range(d * pow(2, -k, b) % b, 1 << 24, b) if a >= 1 << 23]
            wrong = [a for a in near if quotient(a, b) != nearest(Fraction(a, b))]
            self.assertEqual(reciprocals.in_two(b * 2.0**-10), not wrong, b)


if __name__ == "__main__":
    unittest.main()
