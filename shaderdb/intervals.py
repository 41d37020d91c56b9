"""Means and medians with 95 % intervals, without numpy.

The interval of a mean uses Student's t-distribution. The interval of a median is bounded by order statistics (binomial distribution) and
valid for any distribution. A change has a verdict only if both intervals are on the same side of 0.

    s = summary([-3.0, -2.5, -2.0, -2.8, -3.1, -2.2]);  s.mean_low, s.mean_high;  verdict(s, "less")   # 'helped'
"""
from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist, mean, median, stdev
from typing import List, Optional, Sequence, Tuple

# t(0.975) for 1 to 30 degrees of freedom
STUDENT = (12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281, 2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098,
           2.1009, 2.0930, 2.0860, 2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423)


def student(df: int) -> float:
    """t(0.975); beyond the table by the Cornish-Fisher expansion, which is accurate to four decimals there."""
    if df <= len(STUDENT):
        return STUDENT[df - 1]
    z = NormalDist().inv_cdf(0.975)
    third = 3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z
    return z + (z ** 3 + z) / (4 * df) + (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * df ** 2) + third / (384 * df ** 3)


def mean_interval(x: Sequence[float]) -> Optional[Tuple[float, float]]:
    if len(x) < 2:
        return None
    half = student(len(x) - 1) * stdev(x) / math.sqrt(len(x))
    m = mean(x)
    return m - half, m + half


def median_rank(n: int) -> int:
    """The largest k such that the k-th smallest and k-th largest of n values bound the median with 95 %; 0: none (n < 6)."""
    if n >= 1000:
        return int(n / 2 - NormalDist().inv_cdf(0.975) * math.sqrt(n) / 2)
    term, k = 0.5 ** n, 0
    below = term
    while below <= 0.025:
        k += 1
        term *= (n - k + 1) / k
        below += term
    return k


def median_interval(x: Sequence[float]) -> Optional[Tuple[float, float]]:
    k = median_rank(len(x))
    if k == 0:
        return None
    s = sorted(x)
    return s[k - 1], s[len(s) - k]


@dataclass
class Summary:
    n: int
    low: float
    high: float
    mean: float
    median: float
    mean_interval: Optional[Tuple[float, float]]
    median_interval: Optional[Tuple[float, float]]


def summary(x: List[float]) -> Summary:
    return Summary(len(x), min(x), max(x), mean(x), median(x), mean_interval(x), median_interval(x))


def _side(interval: Optional[Tuple[float, float]]) -> int:
    if interval is None or interval[0] <= 0 <= interval[1]:
        return 0
    return 1 if interval[0] > 0 else -1


def verdict(s: Summary, better: str) -> str:
    """'helped', 'HURT', or '' unless the intervals of mean and median both exclude 0 on the same side."""
    side = _side(s.mean_interval)
    if side == 0 or side != _side(s.median_interval) or better == "none":
        return ""
    return "helped" if (side < 0) == (better == "less") else "HURT"
