"""Sums up one result file of shaderdb/run: what compiled, what was declined and what that must move, where the time goes."""
from __future__ import annotations

import heapq
from collections import Counter
from typing import Dict, List, Tuple

from records import METRICS, Key, made_by, number, read

SUMMED = ("us", "work", "issued", "sass", "ptx", "spills", "bytes_code")


def one_text(path: str, target: str, limit: int) -> Tuple[str, bool]:
    """(the text, whether every kernel failed)"""
    n, status = 0, Counter()        # type: int, Counter[str]
    sums: Dict[str, Dict[str, float]] = {}
    declined: Dict[str, List[int]] = {}
    widest = {m.name: 0.0 for m in METRICS}
    by = ""
    largest: List[Tuple[float, Key, int]] = []
    steps: "Counter[str]" = Counter()
    for r in read(path, target):
        n += 1
        status[r.status] += 1
        if r.status != "ok":
            row = declined.setdefault(f"{r.status}: {r.reason}".rstrip(": ") if r.status != "failed" else "failed", [0, 0])
            row[0] += r.count
            row[1] += r.raw.get("bytes_min", 0) * r.count
            continue
        for name in SUMMED:
            if name in r.values:
                of = sums.setdefault(r.target, {})
                of[name] = of.get(name, 0.0) + r.values[name] * r.count
        for name, v in r.values.items():
            widest[name] = max(widest[name], v)
        by = by or next((m for m in ("us", "issued", "sass", "ptx") if m in r.values), "")
        if by in r.values:
            item = (r.values[by] * r.count, r.key, r.count)
            (heapq.heappush if len(largest) < limit else heapq.heappushpop)(largest, item)
        steps.update(r.ms)
    made = made_by(path)
    out = [f"{path}{' (' + made + ')' if made else ''}",
           f"kernels: {n}, compiled: {status['ok']}, declined: {status['declined']}, failed: {status['failed']}"]
    for t, of in sorted(sums.items()):
        out.append(f"  {t:<8} " + ", ".join(f"{name} {number(v)}" for name, v in of.items()))
    out.append(f"largest: registers {number(widest['regs'])}, spills {number(widest['spills'])}, shared memory {number(widest['smem'])} bytes")
    for why, (count, moved) in sorted(declined.items(), key=lambda x: (-x[1][1], -x[1][0], x[0])):
        out.append(f"{why}: {count}" + (f", {moved / 1e6:.1f} MB" if moved else ""))
    for value, key, count in sorted(largest, reverse=True):
        out.append(f"{by}: {' '.join(k for k in key if k)}  {number(value)}" + (f" (x{count})" if count > 1 else ""))
    if steps:
        out.append("compile time: " + ", ".join(f"{step} {ms:.0f} ms" for step, ms in sorted(steps.items())))
    return "\n".join(out), bool(n) and status["failed"] == n
