"""Writes the report as one self-contained HTML page; it has a dark mode and fits narrow screens.

page.html is the template. This module fills in the data: totals, the values of all changed kernels for the plots, and the PTX of both sides for the
kernels that changed most, with the rule that made each instruction, from the records or the cache.
"""
from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

from compare import Comparison
from intervals import verdict
from records import METRICS, Record
from tools import cache_folder

HERE = Path(__file__).resolve().parent
MOST_LISTINGS = 200
MOST_BYTES = 6_000_000     # of PTX on a page
MOST_ROWS = 4000


def _from_cache(folder: str, key: str) -> str:
    """The listing of a cache entry; its first line has the lengths of key, body and listing."""
    path = Path(folder) / key[:2] / key
    try:
        data = path.read_bytes()
        head, rest = data.split(b"\n", 1)
        n_key, n_body, n_listing = (int(x) for x in head.split()[2:5])
    except (OSError, ValueError):
        return ""
    return rest[n_key + n_body:n_key + n_body + n_listing].decode(errors="replace")


def _beside(results: str, r: Record) -> str:
    """PTX of another compiler, in the folder of its table: ptx/SET/a__b.ptx for file a/b.hlo."""
    table = Path(results)
    path = table.parent / "ptx" / table.stem / (r.file.rsplit(".hlo", 1)[0].replace("/", "__") + ".ptx")
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def listing(results: str, cache: Optional[str], r: Record) -> str:
    if results.endswith(".tsv"):
        return _beside(results, r)
    return r.raw.get("listing") or (_from_cache(cache if cache is not None else cache_folder(), r.raw["key"]) if r.raw.get("key") else "")


def _totals(c: Comparison) -> List[Dict[str, Any]]:
    out = []
    for m in METRICS:
        t = c.totals[m.name]
        if not t.shared:
            continue
        helped, hurt = t.split()
        value, relative = t.statistics()
        word = ""
        if value and relative:
            words = {verdict(value, m.better), verdict(relative, m.better)}
            word = words.pop() if len(words) == 1 else ""
        out.append({"name": m.name, "what": m.what, "better": m.better, "before": t.before, "after": t.after, "shared": t.shared,
                    "helped": len(helped), "hurt": len(hurt), "verdict": word,
                    "mean": list(relative.mean_interval) if relative and relative.mean_interval else None,
                    "median": list(relative.median_interval) if relative and relative.median_interval else None})
    return out


def _rows(c: Comparison) -> List[List[Any]]:
    """The changed kernels, sorted by the relative change of machine instructions, largest first."""
    def weight(item: Tuple[Record, Record]) -> float:
        b, a = item
        name = "sass" if "sass" in a.values and "sass" in b.values else "ptx"
        before, after = b.values.get(name, 0), a.values.get(name, 0)
        return -abs(after - before) / max(before, 1)

    out = []
    for b, a in sorted(c.changed.values(), key=lambda x: (weight(x), x[1].key))[:MOST_ROWS]:
        out.append([a.file, a.kernel, a.target, a.count, {m.name: [b.values[m.name], a.values[m.name]] for m in METRICS
                                                           if m.name in b.values and m.name in a.values and b.values[m.name] != a.values[m.name]}])
    return out


def _listings(c: Comparison, rows: List[List[Any]], before: str, after: str, cache: Optional[str]) -> Dict[int, List[Any]]:
    out: Dict[int, List[Any]] = {}
    remaining = MOST_BYTES
    for n, (file, kernel, target, _, _) in enumerate(rows[:MOST_LISTINGS]):
        b, a = c.changed[file, kernel, target]
        texts = [listing(before, cache, b), listing(after, cache, a)]
        remaining -= sum(len(t) for t in texts)
        if remaining < 0:
            break
        if any(texts):
            out[n] = [*texts, b.raw.get("rules", {}), a.raw.get("rules", {})]
    return out


def write_page(path: str, c: Comparison, before: str, after: str, text: str, extra: List[str], cache: Optional[str]) -> None:
    rows = _rows(c)
    data = {"totals": _totals(c), "rows": rows, "listings": _listings(c, rows, before, after, cache),
            "lost": [[*k, why] for k, why in c.lost[:500]], "gained": [[*k, why] for k, why in c.gained[:500]],
            "counts": {"kernels": [c.n_before, c.n_after], "compiled": [c.ok_before, c.ok_after], "LOST": len(c.lost), "GAINED": len(c.gained)},
            "ms": [c.ms_before, c.ms_after], "declined": [dict(c.reasons_before), dict(c.reasons_after)], "notes": extra}
    blob = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    page = (HERE / "page.html").read_text(encoding="utf-8")
    for mark, value in (("@BEFORE@", html.escape(Path(before).name)), ("@AFTER@", html.escape(Path(after).name)),
                        ("@TEXT@", html.escape(text)), ("@DATA@", blob)):
        page = page.replace(mark, value)
    Path(path).write_text(page, encoding="utf-8")
