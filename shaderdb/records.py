"""Reads records of `warpburg stats`, and the metrics in them.

There are three formats: the .jsonl of shaderdb/run (its first line says what made it), baseline.json, and a .tsv of another compiler's kernels
for the same files (its first line names the columns). Records are read one at a time, in order of (file, kernel, target).

    for r in read("out.jsonl"): print(r.key, r.status, r.values["sass"])
"""
from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

HERE = Path(__file__).resolve().parent
Key = Tuple[str, str, str]  # file, kernel, target


class Metric(NamedTuple):
    name: str
    better: str     # less, more or none
    of: str         # how to read it from a record, see value_of
    what: str


def metrics() -> List[Metric]:
    lines = (HERE / "metrics.tsv").read_text(encoding="utf-8").splitlines()
    return [Metric(*line.split("\t")) for line in lines[1:]]


METRICS = metrics()


@dataclass
class Record:
    file: str
    kernel: str
    target: str
    status: str                     # ok, declined, failed
    reason: str = ""
    count: int = 1                  # how often its file has this kernel
    values: Dict[str, float] = field(default_factory=dict)  # by metric; without those that are not known
    ms: Dict[str, float] = field(default_factory=dict)      # by step of the compile
    raw: Dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> Key:
        return (self.file, self.kernel, self.target)


def _sum(widths: Any) -> Optional[int]:
    return None if widths is None else sum(widths.values())


def value_of(metric: Metric, raw: Dict[str, Any]) -> Optional[float]:
    """metric.of is 'name': a member; 'a.b': member b of a; 'a*b': the product, for kernels without loops; '#a+b': number of accesses;
    '/a+b': their mean width."""
    of = metric.of
    if of[0] in "#/":
        tables = [raw.get(name) for name in of[1:].split("+")]
        if any(t is None for t in tables):
            return None
        n = sum(sum(t.values()) for t in tables)
        if of[0] == "#":
            return n
        return sum(int(width) * times for t in tables for width, times in t.items()) / n if n else None
    if "*" in of:
        a, b = (raw.get(name) for name in of.split("*"))
        return None if a is None or b is None or raw.get("loops") else a * b
    if "." in of:
        table, name = of.split(".")
        return None if table not in raw else raw[table].get(name, 0)
    return raw.get(of)


def record_of(raw: Dict[str, Any]) -> Record:
    r = Record(raw["file"], raw["kernel"], raw["target"], raw["status"], raw.get("reason", ""), raw.get("count", 1), raw=raw)
    if r.status == "ok":
        for m in METRICS:
            v = value_of(m, raw)
            if v is not None:
                r.values[m.name] = v
        r.ms = raw.get("ms") or ({"all": raw["compile_ms"]} if raw.get("compile_ms") else {})
    return r


# .tsv of another compiler ---------------------------------------------------------------------------------------------------------

WIDTHS = ("ldg", "stg", "lds", "sts")
SHAPES = ("block", "grid")


def _widths(text: str) -> Dict[str, int]:
    """Parse '4x1 16x2': one access of 4 bytes and two of 16."""
    return {width: int(n) for width, n in (part.split("x") for part in text.split())}


def _row(columns: List[str], line: str, target: str) -> Dict[str, Any]:
    raw: Dict[str, Any] = {"target": target, "reason": ""}
    for name, text in zip(columns, line.split("\t")):
        if name in WIDTHS:
            raw[name] = _widths(text)
        elif name in SHAPES:
            raw[name] = [int(x) for x in text.split(",")] if text else [0, 0, 0]
        elif name in ("file", "kernel", "status"):
            raw[name] = text
        elif text:
            raw[name] = float(text) if "." in text else int(text)
    if raw["status"] != "ok":
        raw["reason"], raw["status"] = raw["status"], "failed"
    return raw


def read_tsv(path: Path, target: str) -> Iterator[Record]:
    with open(path, encoding="utf-8") as f:
        columns = f.readline().rstrip("\n").split("\t")
        for line in f:
            yield record_of(_row(columns, line.rstrip("\n"), target))


# baseline.json ---------------------------------------------------------------------------------------------------------------------


def read_baseline(path: Path) -> Iterator[Record]:
    """Each row is file, kernel, target, status, reason, count and the values of `columns`."""
    whole = json.loads(path.read_text(encoding="utf-8"))
    for row in whole["kernels"]:
        r = Record(*row[:6])
        r.values = {name: v for name, v in zip(whole["columns"], row[6:]) if v is not None}
        yield r


def baseline_head(path: Path) -> Dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))["tools"] if path.suffix == ".json" else {}


def number(x: float) -> str:
    """A value as reports print it: whole numbers without a point."""
    return f"{x:.0f}" if x == int(x) else f"{x:.2f}"


def made_by(path: str) -> str:
    """What made the records, as text: "1a2b3c4d5e6f, warpburg 0.2.0, ptxas V13.0.88, --accuracy exact"; '' where the file does not say."""
    p = Path(path)
    if p.suffix == ".json":
        head = baseline_head(p)
        return f"baseline, ptxas {head.get('ptxas') or 'missing'}"
    if p.suffix != ".jsonl":
        return ""
    with open(p, encoding="utf-8", errors="surrogateescape") as f:
        try:
            head = json.loads(f.readline()).get("run", {})
        except ValueError:
            return ""
    tools = [head.get("revision", ""), head.get("warpburg", ""), f"ptxas {head['ptxas']}" if head.get("ptxas") else ""]
    return ", ".join([*(t for t in tools if t), *([" ".join(head["options"])] if head.get("options") else [])])


# any of them -----------------------------------------------------------------------------------------------------------------------


def _read_jsonl(path: Path) -> Iterator[Record]:
    with open(path, encoding="utf-8", errors="surrogateescape") as f:
        for n, line in enumerate(f, 1):
            if line.strip():
                try:
                    raw = json.loads(line)
                    if "run" not in raw or n > 1:
                        yield record_of(raw)
                except (ValueError, KeyError) as why:
                    raise SystemExit(f"{path}:{n}: error: not a record of warpburg stats: {why}") from why


def order(key: Key) -> Tuple[bytes, bytes, bytes]:
    """The sort key of `warpburg stats`: names as bytes."""
    f, k, t = (part.encode("utf-8", "surrogateescape") for part in key)
    return f, k, t


class Disorder(Exception):
    pass


def _checked(records: Iterator[Record]) -> Iterator[Record]:
    last: Optional[Tuple[bytes, bytes, bytes]] = None
    for r in records:
        now = order(r.key)
        if last is not None and now < last:
            raise Disorder
        last = now
        yield r


def raw_records(path: Path, target: str = "sm_90") -> Iterator[Record]:
    if path.suffix == ".tsv":
        return read_tsv(path, target)
    return read_baseline(path) if path.suffix == ".json" else _read_jsonl(path)


def read(path: str, target: str = "sm_90") -> Iterator[Record]:
    """Records in order. A file that is sorted is read as a stream, another file is sorted in memory."""
    p = Path(path)
    if not p.is_file():
        raise SystemExit(f"{path}: error: no such file")
    try:
        for _ in _checked(raw_records(p, target)):
            pass
    except Disorder:
        yield from sorted(raw_records(p, target), key=lambda r: order(r.key))
        return
    yield from raw_records(p, target)
