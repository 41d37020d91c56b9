"""Subtotals of a comparison: by target, and by program (a file, which may have many kernels).

Records come in order of their files, so that a program is known when the next one begins; only programs that changed are kept.

    g = Groups()
    g.add(("model.hlo", "fusion.3", "sm_90"), "sass", 100, 90, 12)     # 12 of this kernel, 100 to 90 instructions each
    g.end()
    g.targets["sm_90"]["sass"]      # [1200, 1080]
"""
from __future__ import annotations

from typing import Dict, List

from records import Key

METRICS = ("us", "work", "issued", "sass", "bytes_code")    # those whose sums mean something
Sums = Dict[str, List[float]]                               # by metric: before, after


class Groups:
    def __init__(self) -> None:
        self.targets: Dict[str, Sums] = {}
        self.programs: Dict[str, Sums] = {}     # those in which some sum changed
        self._file, self._sums = "", {}         # type: str, Sums

    def add(self, key: Key, metric: str, before: float, after: float, count: int) -> None:
        if metric not in METRICS:
            return
        if key[0] != self._file:
            self.end()
            self._file = key[0]
        for sums in (self.targets.setdefault(key[2], {}), self._sums):
            pair = sums.setdefault(metric, [0.0, 0.0])
            pair[0] += before * count
            pair[1] += after * count

    def end(self) -> None:
        """The last program is complete."""
        if any(b != a for b, a in self._sums.values()):
            self.programs[self._file] = self._sums
        self._file, self._sums = "", {}

    def changed_programs(self, metric: str) -> List[str]:
        """Those in which the metric's sum changed; the largest change first."""
        found = [(p, s[metric]) for p, s in self.programs.items() if metric in s and s[metric][0] != s[metric][1]]
        return [p for p, (b, a) in sorted(found, key=lambda x: (-abs(x[1][1] - x[1][0]), x[0]))]
