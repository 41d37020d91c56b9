"""Says whether a change may pass: what became worse, beyond what is allowed.

    --allow work=2          no kernel's work grows by more than 2 percent
    --allow total.sass=0.5  nor the sum of sass over all kernels by more than 0.5 percent
    --allow lost=3          at most 3 kernels are LOST

With any of these, LOST kernels that no `lost=` allows are at fault too.
"""
from __future__ import annotations

import argparse
from typing import List, NamedTuple

from compare import Change, Comparison
from records import METRICS


class Allowed(NamedTuple):
    what: str       # a metric, "total." and a metric, or "lost"
    most: float     # percent; of "lost" a number of kernels


def allowed(text: str) -> Allowed:
    """For argparse: 'work=2' or 'work=2%'."""
    what, _, most = text.partition("=")
    metric = what[len("total."):] if what.startswith("total.") else what
    known = [m.name for m in METRICS if m.better != "none"]
    if what != "lost" and metric not in known:
        raise argparse.ArgumentTypeError(f"{text}: {metric} is no metric that has a direction; there are {', '.join(known)}, and lost")
    try:
        return Allowed(what, float(most.rstrip("%")))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text}: expected {what}=PERCENT" if what != "lost" else f"{text}: expected lost=KERNELS") from None


def _worse(before: float, after: float, better: str) -> float:
    """Percent by which a value became worse."""
    delta = after - before if better == "less" else before - after
    return 100 * delta / before if before else (float("inf") if delta > 0 else 0.0)


def faults(c: Comparison, rules: List[Allowed]) -> List[str]:
    """What exceeds the rules, a line each; nothing without rules, unless every kernel failed."""
    out: List[str] = []
    if c.n_after and c.reasons_after["failed"] and not c.ok_after and set(c.reasons_after) == {"failed"}:
        out.append("every kernel failed")
    if not rules:
        return out
    lost = max((r.most for r in rules if r.what == "lost"), default=0.0)
    if len(c.lost) > lost:
        out.append(f"LOST: {len(c.lost)} kernels, {lost:g} allowed")
    for r in rules:
        if r.what == "lost":
            continue
        t = c.totals[r.what.split(".")[-1]]
        if r.what.startswith("total."):
            percent = _worse(t.before, t.after, t.metric.better)
            if percent > r.most:
                out.append(f"HURT: {r.what} by {percent:.2f}%, {r.most:g}% allowed")
            continue
        hurt: List[Change] = [x for x in t.changes if _worse(x.before, x.after, t.metric.better) > r.most]
        if hurt:
            worst = max(hurt, key=lambda x: _worse(x.before, x.after, t.metric.better))
            out.append(f"HURT: {r.what} of {len(hurt)} kernels by more than {r.most:g}%, most in {' '.join(worst.key)}: {worst.before:g} -> {worst.after:g}")
    return out
