"""What run_rates.py measured beside what the tree states: rates of patterns/rates.py and patterns/sm*.py, machine operations of patterns/sass.tsv,
forms of patterns/prices.tsv.

Clocks are those of a sub-partition: what one of the form takes of the busiest pipe, or of issue slots, with 8 warps; a turn of the loop over the
copies of the form in it. Stated is the price of the form with what stands beside it in its kernel; of a loop of which ptxas has made something else,
only the price of its machine code is compared.
"""
from __future__ import annotations

import json
import math
import statistics
from fractions import Fraction
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from gen import load, prices
from gen.rates import Rate, shown
from op_cycles import correlation
from rate_code import CLEAN, LOOP, machine_cost

OFF, WARPS, MANY = 1.5, 8, 30  # a ratio beyond which a row is named; warps of a sub-partition; rows of a list of the worst
Result = Dict[str, Any]
Row = Dict[str, Any]


class Measured:
    """Results by name, with the job of each."""

    def __init__(self, package: Path, results: Path) -> None:
        made = json.loads((package / "jobs.json").read_text(encoding="utf-8"))
        self.target: str = made["target"]
        self.jobs: Dict[str, Row] = {j["name"]: j for j in made["jobs"]}
        lines = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
        self.results: Dict[str, Result] = {r["name"]: r for r in lines if r["name"] in self.jobs}

    def turn(self, name: str, arg: Optional[int] = None) -> Optional[float]:
        """Clocks, or seconds, of a turn; of one arg, or the first."""
        rows = self.results.get(name, {}).get("rows", [])
        return next((r["turn"] for r in rows if (arg is None or r["arg"] == arg) and r["turn"] > 0), None)

    def each(self, name: str, arg: Optional[int] = None) -> Optional[float]:
        """Of one of what the job repeats in a turn."""
        t = self.turn(name, arg)
        return t / self.jobs[name]["ops"] if t is not None else None

    def partition(self, name: str, arg: Optional[int] = None) -> Optional[float]:
        """Clocks of a sub-partition for one of it by one warp."""
        x = self.each(name, arg)
        return x / WARPS if x is not None else None

    def form(self, form: str, mode: str) -> Optional[float]:
        return self.partition(f"throughput {form}") if mode == "throughput" else self.each(f"latency {form}")


# --- rates -----------------------------------------------------------------------------------------------------------------------------------
def lanes(m: Measured, *forms: str) -> List[Tuple[str, float]]:
    return [(f, 128 / x) for f in forms for x in [m.form(f, "throughput")] if x]


def latencies(m: Measured, *forms: str) -> List[Tuple[str, float]]:
    return [(f, x) for f in forms for x in [m.form(f, "latency")] if x]


def named(m: Measured, *names: str) -> List[Tuple[str, float]]:
    return [(n, x) for n in names for x in [m.each(n)] if x]


def streams(m: Measured) -> List[Tuple[str, float]]:
    found = [(f"{r['name'][5:]} of {row['bytes'] >> 20} MiB", row["bytes"] / row["seconds"]) for r in m.results.values() for row in r.get("rows", [])
             if r["kind"] == "stream"]
    return sorted(found, key=lambda x: -x[1])


def over_l2(m: Measured) -> List[Tuple[str, float]]:
    return [(f"{name} {row['arg'] >> 20} MiB", m.jobs[name]["bytes"] / row["turn"]) for name in ("l2.264", "l2.132")
            for row in sorted(m.results.get(name, {}).get("rows", []), key=lambda r: r["arg"] != 20 << 20) if row["turn"] > 0]


def filled(m: Measured) -> List[Tuple[str, float]]:
    rows = m.results.get("sm.fill", {}).get("rows", [])
    return [(f"of {r['arg'] >> 20} MiB", m.jobs["sm.fill"]["bytes"] / r["turn"]) for r in rows if r["turn"] > 0]


def wavefronts(m: Measured) -> List[Tuple[str, float]]:
    """Bytes that an SM moves a clock."""
    out = []
    for name in (f"{what}.b{bits}" for what in ("shared.load", "shared.store", "l1.load") for bits in (128, 64, 32)):
        x = m.each(name)
        out += [(name, 32 * 32 * int(name.split(".b")[1]) / 8 / x)] if x else []
    return out


def issued(m: Measured) -> List[Tuple[str, float]]:
    """Machine instructions of warps that an SM issues a clock, in loops without slow paths; the largest first."""
    found = [(n, sum(j["loop"].values()) * j["warps"] / t) for n, j in m.jobs.items() if j.get("warps") == 32 and n.startswith(("throughput", "mix"))
             for t in [m.turn(n)] if t]
    return sorted(found, key=lambda x: -x[1])[:4]


def periods(m: Measured) -> List[Tuple[str, float]]:
    empty = {n: r for n, r in m.results.items() if n.startswith("launch.") and "copy" not in n}
    small = m.results.get("launch.copy.16K", {}).get("graph")
    out = [("graph, a copy of 16 KiB", min(small))] if small else []
    return out + [(f"{how}, {n[7:]} blocks", min(r[how])) for how in ("graph", "stream") for n, r in empty.items() if r.get(how)]


def branches(m: Measured) -> List[Tuple[str, float]]:
    """What a turn of a loop takes beyond its chain of fma, by what 48 more of them add; what a branch adds to 12 add."""
    few, many, out = m.turn("branch.loop.16"), m.turn("branch.loop.64"), []
    fma = (many - few) / 48 if few and many else 0.0
    for how in ("bra.uni", "bra"):
        for arg in (0, 0x3fa00000):
            x = m.each(f"branch.two_ways.{how}", arg)
            out += [(f"{how} {'taken' if not arg else 'passed, and bra'}", x - 12 * fma)] if x and fma else []
    for n in (16, 64, 4, 1):
        t = m.turn(f"branch.loop.{n}")
        out += [(f"a turn less its {n} fma", t - n * fma)] if t and fma else []
    return out


def started(m: Measured) -> List[Tuple[str, float]]:
    """Blocks of empty kernels that start in a clock."""
    few, many = m.results.get("launch.2112", {}).get("graph"), m.results.get("launch.16896", {}).get("graph")
    hz = clocks(m)
    return [("empty blocks", (16896 - 2112) / (min(many) - min(few)) / hz[0][1])] if few and many and hz else []


def updates(m: Measured, how: str, types: Sequence[str], lanes: Optional[int] = None) -> List[Tuple[str, float]]:
    """Sectors that red updates in a clock, of `lanes` lanes each; without `lanes` clocks between two lanes at one address."""
    hz, out = clocks(m), []
    for t in types:
        turn, j = m.turn(f"red.{t}.{how}"), m.jobs.get(f"red.{t}.{how}")
        if hz and turn and j:
            out.append((f"{t}, {how}", j["ops"] / lanes / turn / hz[0][1] if lanes else turn * hz[0][1] / j["ops"]))
    return out


def device(m: Measured, key: str) -> List[Tuple[str, float]]:
    r = m.results.get("device", {})
    return [(key, float(r[key]))] if key in r else []


def clocks(m: Measured) -> List[Tuple[str, float]]:
    return [(n, statistics.median(m.results[n]["hz"])) for n in ("clock", "clock.one") if m.results.get(n, {}).get("hz")]


def control(m: Measured) -> List[Tuple[str, float]]:
    """A turn of a loop of one fma takes its branch once: at least so many lanes."""
    return [(f"at least, {n}", 128 / t * WARPS) for n in ("branch.loop.1.full", "branch.loop.4.full") for t in [m.turn(n)] if t]


def uniform(m: Measured) -> List[Tuple[str, float]]:
    return [(n, 128 / x) for n in ("uniform.1.1024",) for x in [m.partition(n)] if x]


XU = ("ex2.approx.ftz.f32", "lg2.approx.ftz.f32", "rcp.approx.ftz.f32", "rsqrt.approx.ftz.f32", "sqrt.approx.ftz.f32", "tanh.approx.f32", "popc.b32",
      "brev.b32", "cvt.rzi.s32.f32", "cvt.rni.f32.f32")
LSU = ("shared.load.b32", "shared.store.b32", "l1.load.b32", "shared.atoms")
CONV = ("cvt.rn.f16x2.f32", "cvt.rn.bf16x2.f32", "cvt.rn.f32.s32", "cvt.rn.f32.u32", "cvt.rn.satfinite.e4m3x2.f32", "cvt.rn.f16x2.e4m3x2")
RATES: Dict[str, Callable[[Measured], List[Tuple[str, float]]]] = {  # the first value is held against the stated one
    "clock": clocks, "dram": streams, "l2": over_l2, "l2.bytes": lambda m: device(m, "l2_bytes"), "launch": periods, "l1.wavefront": wavefronts,
    "sm.fill": filled, "issue": issued, "blocks": started,
    "atomics": lambda m: [*updates(m, "a sector for each thread", ("u32", "f32", "f16x2", "u64", "f64", "v4.f32", "atom.u32"), 1),
                          *(x for t, n in (("u32", 8), ("f32", 8), ("f16x2", 8), ("u64", 4), ("f64", 4), ("v4.f32", 2))
                            for x in updates(m, "addresses side by side", (t,), n))],
    "atomic.int": lambda m: updates(m, "one address", ("u32", "u64", "atom.u32")),
    "atomic.float": lambda m: updates(m, "one address", ("f32", "f16x2", "f64", "v4.f32")),
    "pipe.fma": lambda m: lanes(m, "fma.rn.f32", "add.rn.f32", "mul.rn.f32"),
    "pipe.alu": lambda m: lanes(m, "prmt.b32", "lop3.b32", "shf.l.wrap.b32", "selp.b32", "setp.lt.f32", "max.f32"),
    "pipe.imad": lambda m: lanes(m, "mad.lo.s32", "mul.lo.s32", "mul.wide.u32", "mul.hi.u32"),
    "pipe.half": lambda m: lanes(m, "fma.rn.f16", "add.rn.f16", "fma.rn.f16x2", "add.rn.f16x2", "mul.rn.f16x2"),
    "pipe.bf16": lambda m: lanes(m, "fma.rn.bf16", "add.rn.bf16", "fma.rn.bf16x2", "add.rn.bf16x2", "mul.rn.bf16x2"),
    "pipe.f64": lambda m: lanes(m, "fma.rn.f64", "add.rn.f64", "mul.rn.f64", "setp.lt.f64"),
    "pipe.xu": lambda m: lanes(m, *XU),
    "pipe.conv": lambda m: lanes(m, *CONV),
    "pipe.conv64": lambda m: lanes(m, "cvt.f64.f32", "cvt.rn.f32.f64", "cvt.rn.f64.s32", "cvt.rzi.s32.f64", "cvt.rni.f64.f64", "cvt.rn.f32.s64"),
    "pipe.lsu": lambda m: [(n, 128 / x) for n in LSU for x in [m.partition(n)] if x],
    "pipe.shuffle": lambda m: lanes(m, "shfl.sync.idx.b32", "shfl.sync.bfly.b32", "shfl.sync.up.b32"),
    "pipe.redux": lambda m: lanes(m, "redux.sync.add.s32", "redux.sync.max.s32", "redux.sync.or.b32"),
    "pipe.uniform": uniform, "pipe.control": control,
    "latency.alu": lambda m: latencies(m, "prmt.b32", "lop3.b32", "min.s32", "shf.l.wrap.b32", "max.f32"),
    "latency.fma": lambda m: latencies(m, "fma.rn.f32", "add.rn.f32", "mul.rn.f32", "mad.lo.s32"),
    "latency.half": lambda m: latencies(m, "fma.rn.f16", "fma.rn.f16x2", "add.rn.f16x2", "fma.rn.bf16x2", "max.f16x2"),
    "latency.f64": lambda m: latencies(m, "fma.rn.f64", "add.rn.f64", "mul.rn.f64"),
    "latency.xu": lambda m: latencies(m, *XU),
    "latency.shuffle": lambda m: latencies(m, "shfl.sync.bfly.b32", "shfl.sync.down.b32", "shfl.sync.up.b32"),
    "latency.redux": lambda m: latencies(m, "redux.sync.add.s32", "redux.sync.max.s32"),
    "latency.barrier": lambda m: named(m, "latency.barrier.256", *(f"latency.barrier.{n}" for n in (32, 64, 128, 512, 1024))),
    "latency.shared": lambda m: named(m, "latency.shared"), "latency.l1": lambda m: named(m, "latency.l1"),
    "latency.l2": lambda m: named(m, "latency.l2", "latency.l2.far"), "latency.dram": lambda m: named(m, "latency.dram", "latency.dram.16M"),
    "latency.atomic": lambda m: named(m, "latency.atom.global.add.u32", "latency.atom.global.add.f32", "latency.atom.global.cas.b32"),
    "latency.cluster": lambda m: named(m, "latency.cluster.load", *(f"latency.cluster.barrier.{n}.{t}" for n in (2, 4, 8, 16) for t in (32, 256))),
    "latency.branch": branches}


def short(x: float) -> str:
    return f"{x:.3g}" if abs(x) < 1e4 and abs(x) >= 1e-2 else f"{x:.3e}"


def rate_rows(m: Measured, stated: Sequence[Rate]) -> List[str]:
    out = ["| rate | unit | stated (low .. high) | measured | measured over stated | by |", "|---|---|---|---:|---:|---|"]
    for r in stated:
        found = RATES[r.name](m) if r.name in RATES else []
        if not found:
            out.append(f"| {r.name} | {r.unit} | {shown(r)} | - | - | not measured |")
            continue
        value = found[0][1]
        mark = "" if r.low * 0.95 <= value <= r.high * 1.05 else ", outside"
        more = "; ".join(f"{n} {short(x)}" for n, x in found[:12])
        out.append(f"| {r.name} | {r.unit} | {shown(r)} | {short(value)} | {value / r.value:.2f}{mark} | {more} |")
    return out


# --- forms -----------------------------------------------------------------------------------------------------------------------------------
def together(form: str, others: Sequence[str], table: prices.Table, target: str) -> Optional[prices.Price]:
    found = [table.price(f, target) for f in (form, *others)]
    if any(p is None for p in found):
        return None
    ops: Dict[int, Fraction] = {}
    for p in found:
        for k, n in p.ops.items() if p else ():
            ops[k] = ops.get(k, Fraction(0)) + n
    return prices.Price(ops, [kind for p in found if p for kind in p.path], 0)


def compared(m: Measured, s: load.RuleSet, table: prices.Table, sass: prices.Sass) -> List[Row]:
    """A row for each form: measured and stated, of throughput and of latency; `clean`: the loop is the form."""
    rows: Dict[str, Row] = {}
    for name, j in m.jobs.items():
        if "form" not in j:
            continue
        p, x = together(j["form"], j["beside"], table, m.target), m.form(j["form"], j["mode"])
        if p is None or x is None or x <= 0:
            continue
        c, row = prices.cost(p, sass, s), rows.setdefault(j["form"], {"form": j["form"]})
        clean = j["off"] <= CLEAN * max(1.0, c.issue)
        if j["mode"] == "throughput":
            row.update(measured=x, stated=max(c.issue, *c.cycles), machine=machine_cost(j["loop"], s, sass) / j["ops"], clean=clean,
                       off=j["off"], beside=j["beside"], loop=j["loop"], ops=j["ops"])
        else:
            row.update(latency=x, latency_stated=c.latency, latency_clean=clean)
    return [rows[f] for f in sorted(rows)]


def summary(what: str, pairs: Sequence[Tuple[str, float, float]]) -> List[str]:
    """pairs: (form, measured, stated)."""
    some = [(f, a, b) for f, a, b in pairs if a > 0 and b > 0]
    if len(some) < 3:
        return ["", f"{what}: {len(some)} measured."]
    ratios = [a / b for _, a, b in some]
    worst = sorted(some, key=lambda x: -abs(math.log(x[1] / x[2])))
    bad = [x for x in worst if max(x[1] / x[2], x[2] / x[1]) > OFF]
    mean, ranks = math.exp(statistics.fmean(map(math.log, ratios))), correlation([b for _, _, b in some], [a for _, a, _ in some])
    return ["", f"{what}: {len(some)} measured; measured over stated: geometric mean {mean:.3f}, rank correlation {ranks:.3f}; "
            f"further off than {OFF}: {len(bad)}.",
            *(f"- {f}: {short(a)}, stated {short(b)}, ratio {a / b:.2f}" for f, a, b in bad[:MANY])]


def operations(rows: Sequence[Row], s: load.RuleSet, sass: prices.Sass) -> List[str]:
    """Machine operations that loops consist of: clocks of one, as measured and as patterns/sass.tsv has it."""
    found: Dict[str, List[Tuple[float, Optional[float], str]]] = {}
    for r in rows:
        loop = {n: k - (n in LOOP) for n, k in r.get("loop", {}).items()}
        for name, n in loop.items():
            if n >= 0.97 * sum(loop.values()) and n >= 0.97 * r["ops"]:
                one = not r["beside"] and abs(n - r["ops"]) <= 1
                found.setdefault(name, []).append((r["measured"] * r["ops"] / n, r.get("latency") if one else None, r["form"]))
    out = ["| operation | stated clocks | measured: least, median, most | latency: least, most | forms |", "|---|---:|---|---|---|"]
    for name, some in sorted(found.items()):
        times, waits, forms = sorted(x for x, _, _ in some), [x for _, x, _ in some if x], [f for _, _, f in some]
        out.append(f"| {name} | {machine_cost({name: 1}, s, sass):.2f} | {times[0]:.2f}, {statistics.median(times):.2f}, {times[-1]:.2f} | "
                   f"{f'{min(waits):.1f}, {max(waits):.1f}' if waits else '-'} | {', '.join(forms[:6])}{', ..' if len(forms) > 6 else ''} |")
    return out


def form_rows(rows: Sequence[Row]) -> List[str]:
    out = ["| form | clocks | stated | ratio | of its machine code | latency | stated | ratio | |", "|---|---:|---:|---:|---:|---:|---:|---:|---|"]
    for r in rows:
        a, b, c, d = r.get("measured"), r.get("stated"), r.get("latency"), r.get("latency_stated")
        cells = [short(a) if a else "-", short(b) if b else "-", f"{a / b:.2f}" if a and b else "-", short(r["machine"]) if a else "-",
                 short(c) if c else "-", short(d) if d else "-", f"{c / d:.2f}" if c and d else "-"]
        notes = [f"with {', '.join(r['beside'])}"] if r.get("beside") else []
        notes += [f"loop differs by {r['off']:.1f}"] if a and not r["clean"] else []
        out.append(f"| {r['form']} | {' | '.join(cells)} | {'; '.join(notes)} |")
    return out


def said(name: str, j: Row, r: Result) -> str:
    """What a job that is no form measured."""
    rows, many = [row for row in r.get("rows", []) if row.get("turn", 1) > 0], len(r.get("rows", [])) > 1
    if "error" in r:
        return str(r["error"])
    if r["kind"] == "launch":
        return "; ".join(f"{how} {1e6 * min(r[how]):.2f} us" for how in ("graph", "stream", "single") if r.get(how))
    if r["kind"] == "stream":
        return "; ".join(f"{row['bytes'] >> 20} MiB: {row['bytes'] / row['seconds'] / 1e12:.3f} TB/s" for row in rows)
    if not rows:
        return "-"
    if name == "latency.l2.spread":
        some = sorted(row["turn"] / j["ops"] for row in rows)
        return f"least {some[0]:.1f}, median {statistics.median(some):.1f}, most {some[-1]:.1f} clocks"
    if "bytes" in j and r["kind"] == "events":
        return "; ".join(f"{row['arg'] >> 20} MiB: {j['bytes'] / row['turn'] / 1e12:.3f} TB/s" for row in rows)
    if r["kind"] == "events":
        return "; ".join(f"{j['ops'] / row['turn'] / 1e9:.2f} G/s" for row in rows)
    return "; ".join((f"{row['arg']}: " if many else "") + f"{row['turn'] / j['ops']:.2f}" for row in rows) + " clocks"


def others(m: Measured) -> List[str]:
    """Everything else, as it was measured: clocks, or seconds, of one of what is repeated."""
    out = ["| measured | value | what |", "|---|---|---|"]
    for name, r in m.results.items():
        j = m.jobs[name]
        if "form" not in j and r["kind"] not in ("hz", "device"):
            out.append(f"| {name} | {said(name, j, r)} | {j['what']} |")
    return out


NOTES = """Read it so:

- A turn of a loop has a branch too, which takes 7 to 9 clocks of it behind a chain: latencies of 32 in a chain are about 0.25 too long. 48 more fma add
  exactly 4 clocks each.
- `dram`: a launch of 64 MiB has one of the start and the end of a grid in its time. Threads that load or store 4 bytes are bound by the blocks that
  start, not by DRAM. Threads that store 32 or 64 bytes write each sector in two requests; L2 takes them at half the speed.
- `sm.fill`: what one SM gets alone; all of them together get what L2 gives.
- `pipe.half`, `latency.half`: ptxas takes HFMA2 and HFMA2.MMA in turn, which are two pipes of 64 lanes: a chain that changes between them waits longer.
- Where a form needs another instruction beside it (`with xor.b32`), both are measured, and both are stated.
- `latency.redux` has the move from a uniform register in it.
- `pipe.control`: the loops of one fma are 4 instructions with a branch; at least so many lanes."""


def report(package: Path, results: Path, note: str = "") -> str:
    m = Measured(package, results)
    s, sass = load.load_target(m.target.replace("_", "")), prices.load_sass()
    rows = compared(m, s, prices.load_table(sass), sass)
    d = m.results.get("device", {})
    failed = [r for r in m.results.values() if "error" in r]
    clean = [r for r in rows if r.get("clean")]
    out = ["# Measured rates and prices", "",
           f"{d.get('card', 'no GPU')}, {d.get('sms', '?')} SMs, driver {d.get('driver', '?')}; {m.target}; made by `tests/gpu/rates.py`.",
           *([note] if note else []),
           f"{len(m.results)} of {len(m.jobs)} jobs, {len(failed)} failed.", *(f"- {r['name']}: {r['error']}" for r in failed[:MANY])]
    out += ["", NOTES, "", "## Rates", "", *rate_rows(m, s.rates), "", "## Summary"]
    out += summary("Clocks of forms, where the loop is the form", [(r["form"], r["measured"], r["stated"]) for r in clean])
    out += summary("Clocks of loops by their machine code", [(r["form"], r["measured"], r["machine"]) for r in rows if "measured" in r])
    out += summary("Latencies", [(r["form"], r["latency"], r["latency_stated"]) for r in rows if r.get("latency_clean")])
    out += ["", "## Machine operations", "", *operations(rows, s, sass), "", "## Memory, barriers, launches", "", *others(m)]
    out += ["", "## Forms", "", *form_rows(rows)]
    return "\n".join(out) + "\n"
