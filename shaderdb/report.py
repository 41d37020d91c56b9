#!/usr/bin/env python3
"""Compares two result files of shaderdb/run, in the format of Mesa's shader-db; or sums up one.

    report.py before.jsonl after.jsonl [--html out.html] [--metric sass ..] [--all] [--allow work=2 ..] [--markdown out.md]
    report.py one.jsonl

A summary stands first: what was compared, kernels LOST and GAINED, and the sums of the main metrics, by target too.
`before` may be baseline.json, or a .tsv of another compiler's kernels for the same files: then records are matched by file, for its target.
For each metric that changed: the kernels helped and HURT, sorted by change; totals over the kernels of both sides, and over the changed
kernels; smallest, largest, mean and median change; 95 % intervals of mean and median, and a verdict if both agree. metrics.tsv says
whether less or more of a metric is better. Then programs by the change of their sums. At the end: kernels LOST and GAINED, reasons of declined
kernels and the bytes that they must move, compile times. Exits with 1 if --allow forbids the change, or if every kernel failed.
"""
from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from statistics import median
from typing import Dict, Iterator, List, Optional, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parent))

from compare import Change, Comparison, Totals, compare  # noqa: E402
from gate import allowed, faults  # noqa: E402
from intervals import Summary, verdict  # noqa: E402
from one import one_text  # noqa: E402
from records import METRICS, Key, Record, made_by, number, read  # noqa: E402

SHOWN = 20      # kernels listed per metric and direction, unless --all
HEADLINES = ("us", "work", "issued", "sass", "regs", "spills", "bytes_code")    # of the summary


def percent(before: float, after: float) -> str:
    return f"{100 * (after - before) / before:+.2f}%" if before else ("0.00%" if after == before else "new")


def name(key: Key) -> str:
    file, kernel, target = key
    return f"{file} {kernel} {target}" if kernel and kernel not in file else f"{file} {target}"


def put_kernels(out: List[str], word: str, metric: str, changes: List[Change], limit: int) -> None:
    shown = changes[:limit]
    width = max((len(name(c.key)) for c in shown), default=0)
    for c in shown:
        times = f" (x{c.count})" if c.count > 1 else ""
        out.append(f"{word} {metric}: {name(c.key):<{width}}  {number(c.before)} -> {number(c.after)} ({percent(c.before, c.after)}){times}")
    if len(changes) > limit:
        out.append(f"{word} {metric}: .. and {len(changes) - limit} more (--all)")


def put_side(out: List[str], word: str, changes: List[Change]) -> None:
    if not changes:
        return
    for kind, x in (("abs", sorted(abs(c.delta) for c in changes)), ("rel", sorted(abs(c.percent) for c in changes))):
        unit = "%" if kind == "rel" else ""
        mean = math.fsum(x) / len(x)
        out.append(f"{word} stats ({kind}) min: {x[0]:.2f}{unit} max: {x[-1]:.2f}{unit} mean: {mean:.2f}{unit} median: {median(x):.2f}{unit}")


def interval(pair: Optional[Tuple[float, float]], unit: str) -> str:
    return f"{pair[0]:.2f}{unit} to {pair[1]:.2f}{unit}" if pair else "too few kernels for one"


def put_intervals(out: List[str], t: Totals) -> None:
    value, relative = t.statistics()
    if value is None or relative is None:
        return
    for what, s, unit in (("value", value, ""), ("%-change", relative, "%")):
        out.append(f"95% interval of the mean   {t.metric.name} {what}: {interval(s.mean_interval, unit)}")
        out.append(f"95% interval of the median {t.metric.name} {what}: {interval(s.median_interval, unit)}")
    out.append(judgement(t, value, relative))


def judgement(t: Totals, value: Summary, relative: Summary) -> str:
    verdicts = {verdict(value, t.metric.better), verdict(relative, t.metric.better)}
    if t.metric.better == "none":
        return f"{t.metric.name} changed; neither way is better."
    return f"{t.metric.name} are {verdicts.pop()}." if len(verdicts) == 1 and "" not in verdicts else "Inconclusive result."


def put_metric(out: List[str], t: Totals, limit: int) -> None:
    m = t.metric
    if not t.changes:
        return
    before, after = t.affected()
    helped, hurt = t.split()
    if m.better == "none":
        put_kernels(out, "changed", m.name, helped + hurt, limit)
    else:
        put_kernels(out, "helped:", m.name, helped, limit)
        put_kernels(out, "HURT:  ", m.name, hurt, limit)
    out.append("")
    out.append(f"total {m.name} in shared kernels: {number(t.before)} -> {number(t.after)} ({percent(t.before, t.after)})")
    out.append(f"{m.name} in affected kernels: {number(before)} -> {number(after)} ({percent(before, after)})")
    if m.better != "none":
        out += [f"helped: {len(helped)}", f"HURT: {len(hurt)}"]
        put_side(out, "helped", helped)
        put_side(out, "HURT", hurt)
    put_intervals(out, t)
    out.append("")


def put_lists(out: List[str], c: Comparison, limit: int) -> None:
    for word, items in (("LOST:  ", c.lost), ("GAINED:", c.gained)):
        out += [f"{word} {name(key)} ({why})" for key, why in items[:limit]]
        if len(items) > limit:
            out.append(f"{word} .. and {len(items) - limit} more (--all)")
    for what, keys in (("only before", c.only_before), ("only after", c.only_after)):
        out += [f"{what}: {name(key)}" for key in keys[:limit]]
        if len(keys) > limit:
            out.append(f"{what}: .. and {len(keys) - limit} more (--all)")
    if c.reshaped:
        out.append(f"{len(c.reshaped)} kernels have a different number of loops, and are in no other metric")
    out.append(f"LOST: {len(c.lost)}, GAINED: {len(c.gained)}")


def put_strategies(out: List[str], c: Comparison, limit: int) -> None:
    """Which strategies of patterns/strategies.py plans took before and after, where these differ."""
    for (before, after), keys in sorted(c.strategies.items(), key=lambda x: (-len(x[1]), x[0])):
        out.append(f"strategies: {before} -> {after}: {len(keys)} kernel{'s' * (len(keys) != 1)}")
        out += [f"    {name(key)}" for key in keys[:limit]]
        if len(keys) > limit:
            out.append(f"    .. and {len(keys) - limit} more (--all)")


def put_declined(out: List[str], c: Comparison) -> None:
    for why in sorted(set(c.reasons_before) | set(c.reasons_after)):
        b, a = c.reasons_before[why], c.reasons_after[why]
        line = f"{why}: {b}" if a == b else f"{why}: {b} -> {a} ({a - b:+})"
        moved = c.bytes_after[why] or c.bytes_before[why]
        out.append(line + (f", {moved / 1e6:.1f} MB" if moved else ""))


def put_summary(out: List[str], c: Comparison, names: Tuple[str, str]) -> None:
    """The first lines: what a reader of a change must know."""
    made = [made_by(n) for n in names]
    if any(made):
        out += [f"before: {names[0]}{' (' + made[0] + ')' if made[0] else ''}", f"after:  {names[1]}{' (' + made[1] + ')' if made[1] else ''}"]
    out.append(f"kernels: {c.n_before} -> {c.n_after}, compiled: {c.ok_before} -> {c.ok_after}, LOST: {len(c.lost)}, GAINED: {len(c.gained)}")
    rows = [("", m, t.before, t.after, t.split()) for m, t in c.totals.items() if m in HEADLINES and t.changes]
    for _, metric, b, a, (helped, hurt) in rows:
        out.append(f"  {metric:<10} {number(b)} -> {number(a)} ({percent(b, a)}), helped: {len(helped)}, HURT: {len(hurt)}")
        targets = [(t, s[metric]) for t, s in sorted(c.groups.targets.items()) if metric in s]
        if len(targets) > 1:
            out += [f"    {t:<8} {number(x)} -> {number(y)} ({percent(x, y)})" for t, (x, y) in targets if x != y]
    if not c.moved:
        out.append("nothing moved")
    out.append("")


def put_programs(out: List[str], c: Comparison, limit: int) -> None:
    """Programs whose time changed, or, where no run was profiled, whose machine instructions did."""
    metric = next((m for m in ("us", "issued", "sass") if c.groups.changed_programs(m)), "")
    programs = c.groups.changed_programs(metric) if metric else []
    if len(programs) < 2:
        return
    for p in programs[:limit]:
        b, a = c.groups.programs[p][metric]
        out.append(f"program {metric}: {p}  {number(b)} -> {number(a)} ({percent(b, a)})")
    if len(programs) > limit:
        out.append(f"program {metric}: .. and {len(programs) - limit} more (--all)")
    out.append("")


def put_times(out: List[str], c: Comparison) -> None:
    b, a = sum(c.ms_before.values()), sum(c.ms_after.values())
    if not b or not a:
        return
    out.append(f"compile time of shared kernels: {b / 1000:.2f} s -> {a / 1000:.2f} s ({percent(b, a)}); a measurement, with its noise")
    if len(c.ms_before) > 1 and len(c.ms_after) > 1:
        out.append("  " + ", ".join(f"{step} {c.ms_before.get(step, 0):.0f} -> {c.ms_after.get(step, 0):.0f} ms"
                                    for step in sorted(set(c.ms_before) | set(c.ms_after))))


def put_ratios(out: List[str], ratios: Dict[str, List[float]]) -> None:
    """Ratios of issued instructions, by scale: the figure of small kernels depends on how their blocks are rounded up."""
    for scale, x in sorted(ratios.items()):
        gm = math.exp(math.fsum(math.log(r) for r in x) / len(x))
        better, worse = sum(r < 1 for r in x), sum(r > 1 for r in x)
        out.append(f"issued instructions, after / before, scale {scale}: median {median(x):.3f}, geometric mean {gm:.3f} over {len(x)} kernels without loops; "
                   f"{better} better, {worse} worse")


def ratios_of(c: Comparison, pairs: Dict[Key, Tuple[float, float]]) -> Dict[str, List[float]]:
    out: Dict[str, List[float]] = {}
    for (file, _, _), (b, a) in pairs.items():
        stem = file.split("__")[0]
        scale = stem[-1] if len(stem) > 2 and stem[-2] == "." and stem[-1] in "LS" else "M"
        if b > 0 and a > 0:
            out.setdefault(scale, []).append(a / b)
    return out


def text(c: Comparison, metrics: List[str], limit: int, names: Tuple[str, str] = ("", "")) -> str:
    out: List[str] = []
    put_summary(out, c, names)
    for m in METRICS:
        if not metrics or m.name in metrics:
            put_metric(out, c.totals[m.name], limit)
    put_programs(out, c, limit)
    put_strategies(out, c, limit)
    put_lists(out, c, limit)
    put_declined(out, c)
    put_times(out, c)
    return "\n".join(out)


def markdown(whole: str, found: List[str]) -> str:
    """A comment: faults and the summary are seen, the rest is folded."""
    first, _, rest = whole.partition("\n\n")
    faulty = "".join(f"- **{f}**\n" for f in found)
    return f"### shaderdb\n\n{faulty}\n```\n{first}\n```\n\n<details><summary>Kernel by kernel</summary>\n\n```\n{rest.strip()}\n```\n\n</details>\n"


def load(before: str, after: str, target: str) -> Tuple[Comparison, Dict[str, List[float]]]:
    """If `before` is of another compiler, which has one target, only records of `target` are compared."""
    foreign = before.endswith(".tsv")

    def ours() -> Iterator[Record]:
        return (r for r in read(after, target) if not foreign or r.target == target)

    pairs: Dict[Key, Tuple[float, float]] = {}
    if foreign:
        known = {r.file: r.values["issued"] for r in read(before, target) if "issued" in r.values}
        pairs = {r.key: (known[r.file], r.values["issued"]) for r in ours() if r.file in known and "issued" in r.values}
    c = compare(read(before, target), ours(), foreign)
    return c, ratios_of(c, pairs)


def main() -> int:
    p = argparse.ArgumentParser(description="two result files of shaderdb/run, compared; or one, summed up",
                                epilog="exit status: 0, or 1 if --allow forbids the change or every kernel failed")
    p.add_argument("before", help="alone: the run that is summed up")
    p.add_argument("after", nargs="?")
    p.add_argument("--html", metavar="OUT.html", help="also one page that holds everything")
    p.add_argument("--metric", action="append", default=[], choices=[m.name for m in METRICS], help="only this; may be given again")
    p.add_argument("--target", default="sm_90", help="of a .tsv (%(default)s)")
    p.add_argument("--all", action="store_true", help=f"every kernel, not {SHOWN} of a kind")
    p.add_argument("--allow", action="append", default=[], type=allowed, metavar="WHAT=N",
                   help="exit with 1 if a metric of a kernel becomes worse by more than N percent (work=2), or its sum (total.work=0.5), or if "
                        "more than N kernels are LOST (lost=0, which any --allow implies)")
    p.add_argument("--markdown", metavar="OUT.md", help="also a comment for a change request: the summary, and the rest folded")
    p.add_argument("--cache", default=None, help="where the PTX for the page is, if the records do not hold it")
    o = p.parse_args()
    limit = sys.maxsize if o.all else SHOWN
    if not o.after:
        if o.html or o.markdown or o.allow or o.metric:
            p.error("--html, --markdown, --allow and --metric compare two files")
        said, failed = one_text(o.before, o.target, limit)
        print(said)
        return int(failed)
    c, ratios = load(o.before, o.after, o.target)
    out: List[str] = []
    put_ratios(out, ratios)
    found = faults(c, o.allow)
    whole = "\n".join([text(c, o.metric, limit, (o.before, o.after)), *out])
    print("\n".join([whole, *(f"error: {f}" for f in found)]))
    if o.html:
        from page import write_page
        write_page(o.html, c, o.before, o.after, text(c, [], SHOWN, (o.before, o.after)), out, o.cache)
        print(f"{o.html} written")
    if o.markdown:
        Path(o.markdown).write_text(markdown(whole, found), encoding="utf-8")
    return int(bool(found))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:  # stdout was closed, as by `| head`
        sys.stderr.close()
    except OSError as e:
        sys.exit(f"{e.filename}: error: {e.strerror}")
