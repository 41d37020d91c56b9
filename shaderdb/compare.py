"""Compares two sets of records, matched by file, kernel and target: what changed, by how much, and whether it is significant.

Both sides are read in order and merged; memory grows with the number of changes, not with the corpus. Kernels whose number of loops changed
are listed apart and are not in the other metrics: an instruction in a loop cannot be compared with one outside.
"""
from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Dict, Iterator, List, Optional, Tuple

from groups import Groups
from intervals import Summary, summary
from records import METRICS, Key, Metric, Record, order

SHAPE = ("loops",)      # a kernel in which one of these changed is in no other metric


@dataclass
class Change:
    key: Key
    before: float
    after: float
    count: int

    @property
    def delta(self) -> float:
        return self.after - self.before

    @property
    def percent(self) -> float:
        return 100 * self.delta / self.before if self.before else (100.0 if self.delta > 0 else -100.0)


@dataclass
class Totals:
    """One metric over all kernels that both sides have."""
    metric: Metric
    before: float = 0.0             # each kernel counts as often as its file has it
    after: float = 0.0
    shared: int = 0
    changes: List[Change] = field(default_factory=list)

    def add(self, key: Key, b: float, a: float, count: int) -> None:
        self.before += b * count
        self.after += a * count
        self.shared += 1
        if a != b:
            self.changes.append(Change(key, b, a, count))

    def is_better(self, c: Change) -> bool:
        return (c.delta < 0) == (self.metric.better == "less")

    def split(self) -> Tuple[List[Change], List[Change]]:
        """(helped, hurt), the largest change in percent first."""
        helped = [c for c in self.changes if self.is_better(c)]
        hurt = [c for c in self.changes if not self.is_better(c)]
        for side in (helped, hurt):
            side.sort(key=lambda c: (-abs(c.percent), c.key))
        return helped, hurt

    def affected(self) -> Tuple[float, float]:
        return sum(c.before * c.count for c in self.changes), sum(c.after * c.count for c in self.changes)

    def statistics(self) -> Tuple[Optional[Summary], Optional[Summary]]:
        """Of the changed kernels: in absolute numbers and in percent."""
        if not self.changes:
            return None, None
        return summary([c.delta for c in self.changes]), summary([c.percent for c in self.changes])


@dataclass
class Comparison:
    totals: Dict[str, Totals]
    n_before: int = 0
    n_after: int = 0
    ok_before: int = 0
    ok_after: int = 0
    reshaped: List[Change] = field(default_factory=list)    # the number of loops changed
    lost: List[Tuple[Key, str]] = field(default_factory=list)
    gained: List[Tuple[Key, str]] = field(default_factory=list)
    only_before: List[Key] = field(default_factory=list)    # the other side has no such record
    only_after: List[Key] = field(default_factory=list)
    reasons_before: "Counter[str]" = field(default_factory=Counter)
    reasons_after: "Counter[str]" = field(default_factory=Counter)
    ms_before: Dict[str, float] = field(default_factory=dict)
    ms_after: Dict[str, float] = field(default_factory=dict)
    bytes_before: "Counter[str]" = field(default_factory=Counter)   # that declined kernels must move, by reason
    bytes_after: "Counter[str]" = field(default_factory=Counter)
    groups: Groups = field(default_factory=Groups)
    strategies: Dict[Tuple[str, str], List[Key]] = field(default_factory=dict)  # (before, after): kernels whose plans took others
    changed: Dict[Key, Tuple[Record, Record]] = field(default_factory=dict)

    @property
    def moved(self) -> bool:
        """Did anything but compile times change?"""
        return bool(self.changed or self.reshaped or self.strategies or self.lost or self.gained or self.only_before or self.only_after or
                    self.reasons_before != self.reasons_after)


def _pairs(before: Iterator[Record], after: Iterator[Record], by_file: bool) -> Iterator[Tuple[Optional[Record], Optional[Record]]]:
    """Merge by key. `by_file`: match files and targets only, because another compiler has other kernel names."""
    def key(r: Record) -> object:
        f, k, t = order(r.key)
        return (f, t) if by_file else (f, k, t)

    b, a = next(before, None), next(after, None)
    while b is not None or a is not None:
        if a is None or (b is not None and key(b) < key(a)):    # type: ignore[operator]
            yield b, None
            b = next(before, None)
        elif b is None or key(a) < key(b):                      # type: ignore[operator]
            yield None, a
            a = next(after, None)
        else:
            yield b, a
            b, a = next(before, None), next(after, None)


def _why(r: Record) -> str:
    return f"{r.status}: {r.reason or r.raw.get('message', '')}".rstrip(": ")


def compare(before: Iterator[Record], after: Iterator[Record], by_file: bool = False) -> Comparison:
    c = Comparison({m.name: Totals(m) for m in METRICS})
    for b, a in _pairs(before, after, by_file):
        if b is not None:
            c.n_before += 1
            c.ok_before += b.status == "ok"
            if b.status != "ok":
                c.reasons_before[_why(b) if b.status != "failed" else "failed"] += b.count
                c.bytes_before[_why(b)] += b.raw.get("bytes_min", 0) * b.count
        if a is not None:
            c.n_after += 1
            c.ok_after += a.status == "ok"
            if a.status != "ok":
                c.reasons_after[_why(a) if a.status != "failed" else "failed"] += a.count
                c.bytes_after[_why(a)] += a.raw.get("bytes_min", 0) * a.count
        if b is None or a is None:
            if b is not None:
                c.only_before.append(b.key)
            elif a is not None:
                c.only_after.append(a.key)
        elif b.status == "ok" and a.status != "ok":
            c.lost.append((a.key, _why(a)))
        elif a.status == "ok" and b.status != "ok":
            c.gained.append((a.key, _why(b)))
        elif a.status == "ok":
            _compare_kernels(c, b, a)
    c.groups.end()
    return c


def _compare_kernels(c: Comparison, b: Record, a: Record) -> None:
    for step, ms in b.ms.items():
        c.ms_before[step] = c.ms_before.get(step, 0.0) + ms
    for step, ms in a.ms.items():
        c.ms_after[step] = c.ms_after.get(step, 0.0) + ms
    took = ", ".join(b.raw.get("strategies", [])), ", ".join(a.raw.get("strategies", []))
    if took[0] != took[1] and all(took):
        c.strategies.setdefault(took, []).append(a.key)
    reshaped = next((n for n in SHAPE if n in b.values and n in a.values and b.values[n] != a.values[n]), None)
    if reshaped:
        c.reshaped.append(Change(a.key, b.values[reshaped], a.values[reshaped], a.count))
    differs = False
    for name, total in c.totals.items():
        if name not in b.values or name not in a.values or (reshaped and name != reshaped):
            continue
        total.add(a.key, b.values[name], a.values[name], a.count)
        c.groups.add(a.key, name, b.values[name], a.values[name], a.count)
        differs |= a.values[name] != b.values[name]
    if differs:
        c.changed[a.key] = (b, a)
