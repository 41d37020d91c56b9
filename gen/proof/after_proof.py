"""What `./dev rule --price` does after the proofs: runs the rule's tests, counts its hits over the corpus, and compares the corpus before and
after, in machine instructions and modelled time.

The compiler is the build's, with tables of the pattern files as they are (gen/proof/tables.py). "Before" is the build's own tables, where these are of
the last commit's files, or else those that this gen/ makes of them, which are kept in the build's folder until one of these changes. The corpus is
shaderdb/corpus and a fixed sample of --shared; only kernels whose PTX changed are assembled and profiled.
"""
from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from gen.lang import Rule
from gen.proof import simulate, tables
from gen.proof.tables import call

ROOT = Path(__file__).resolve().parents[2]
WORKERS = 2
SAMPLE = 40  # files of --shared
PRICED = 40  # kernels that are assembled and profiled before and after
Kernel = Tuple[str, str, str]  # file, name, target


def tests(folder: Path, rules: Sequence[Rule], targets: Sequence[str]) -> str:
    """Runs the text tests of rewriting, and those in which the rules fire."""
    lit = shutil.which("lit-22") or shutil.which("lit")
    if lit is None:
        return "tests: lit is not installed (llvm-22-tools)"
    own = firing(folder, rules, targets[-1]) if rules else []
    files = sorted({p for name in ("rewrite", "index") for p in ROOT.glob(f"tests/lit/{name}/*") if p.suffix in (".ir", ".hlo", ".test")} | set(own))
    rc, text = call([lit, "-q", "-j", str(WORKERS), "--param", f"warpburg={folder / 'warpburg'}", *map(str, files)])
    if rc:
        return "tests: FAIL\n" + text.strip()
    where = (f"; fires in {len(own)} of them, for example {own[0].relative_to(ROOT)}" if own else "; fires in none of tests/lit") if rules else ""
    return f"tests: {len(files)} text tests pass{where}"


def firing(folder: Path, rules: Sequence[Rule], target: str) -> List[Path]:
    """The text tests in which one of the rules fires on a target. They name the targets that they are about themselves."""
    names = {r.name for r in rules}
    inputs = [str(p) for p in sorted(ROOT.glob("tests/lit/*/*.hlo")) if p.parent.name not in ("hlo", "decline")]
    _, text = call([str(folder / "warpburg"), "rules", "cover", *inputs, "--target", target, "--json", "-j", str(WORKERS)])
    return sorted({Path(f) for row in rows(text) if row.get("rule") in names for f in row["examples"]})


def rows(text: str) -> Iterator[Dict[str, Any]]:
    """The lines of text that are JSON objects."""
    for line in text.splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            yield row


def world(folder: Path) -> str:
    """A hash of what the results of a simulation depend on: the program and its tables, the pattern files, what makes the kernels, and ptxas."""
    digest = hashlib.sha256(str(simulate.ptxas_of()).encode())
    own = [ROOT / f"gen/proof/{name}.py" for name in ("simulate", "tile_kernels")]
    for p in (folder / "warpburg", folder / "rules.tables", *sorted(ROOT.glob("patterns/*.py")), *sorted(ROOT.glob("gen/*.py")), *own):
        digest.update(hashlib.sha256(p.read_bytes()).digest() if p.exists() else b"none")
    built = (folder / "tests").resolve().parent / "warpburg"
    digest.update(str(built.stat().st_mtime_ns if built.exists() else 0).encode())
    return digest.hexdigest()[:16]


def simulated(folder: Path, names: Sequence[str], target: str = "", fresh: bool = False) -> Tuple[Dict[str, str], List[str]]:
    """(state by name of each of these instruction rules, messages of what failed). target: all instruction rules on that one, assembled by ptxas. What
    the same program did is taken from the build's folder, if not fresh."""
    store = folder / "simulated" / f"{world(folder)}.json"
    every: Dict[str, Dict[str, str]] = json.loads(store.read_text()) if store.exists() else {}
    known = every.setdefault(target, {})
    left = [n for n in names if fresh or n not in known]
    if not left and (names or known) and not (fresh and target):
        return dict(known) if target else {n: known[n] for n in names}, []
    only = ["--target", target, "--every"] if target else [x for n in left for x in ("--rule", n)]
    _, text = call([sys.executable, "-m", "gen.proof.simulate", "--warpburg", str(folder / "warpburg"), *only])
    states = dict(m for line in text.splitlines() for m in re.findall(r"^(patterns/\S+) (simulated\(\d+\))$", line))
    bad = [line for line in text.splitlines() if not re.search(r"^patterns/\S+ simulated\(|^\d+ passed, |not assembled", line)]
    if not bad:
        known.update(states)
        shutil.rmtree(store.parent, ignore_errors=True)  # of other programs
        store.parent.mkdir()
        store.write_text(json.dumps(every, sort_keys=True, indent=0))
    return {**{n: known[n] for n in names if n in known}, **states}, bad


# --- corpus -------------------------------------------------------------------------------------------------------------------------
def corpus(shared: Path) -> List[Path]:
    own = sorted(ROOT.joinpath("shaderdb/corpus").glob("**/*.hlo"))
    more = sorted(shared.joinpath("corpus").glob("**/*.hlo"), key=lambda p: p.relative_to(shared).as_posix()) if shared.is_dir() else []
    step = max(1, len(more) // SAMPLE)
    return own + more[::step]


def records(program: Path, files: Sequence[Path], targets: Sequence[str], more: Sequence[str], assembled: bool) -> Dict[Kernel, Dict[str, Any]]:
    """What `warpburg stats` says of each kernel; without machine code if not assembled."""
    with tempfile.TemporaryDirectory(prefix="warpburg-") as tmp:
        names = Path(tmp) / "files"
        names.write_text("".join(f"{f}\n" for f in files))
        command = [str(program), "stats", "--files-from", str(names), "--target", ",".join(targets), "-j", str(WORKERS), *more]
        _, text = call(command, more=None if assembled else {"WARPBURG_PTXAS": os.devnull})
    return {(r["file"], r["kernel"], r["target"]): r for r in rows(text) if "kernel" in r}


def listed(program: Path, files: Sequence[Path], targets: Sequence[str]) -> Dict[Kernel, Dict[str, Any]]:
    """Records with the PTX of each kernel."""
    return records(program, files, targets, ["--listing"], False)


def hits(now: Dict[Kernel, Dict[str, Any]], rules: Sequence[Rule]) -> Dict[str, Tuple[int, int]]:
    """(hits, kernels in which it fires) by rule."""
    found = {r.name: [x["rules"][r.name] for x in now.values() if r.name in x.get("rules", {})] for r in rules}
    return {name: (sum(some), len(some)) for name, some in found.items() if some}


def code(record: Dict[str, Any]) -> str:
    """The PTX of a record without comments, which name rules."""
    return re.sub(r"\s*//.*", "", str(record.get("listing", record["status"])))


# --- before -------------------------------------------------------------------------------------------------------------------------
def built_from_commit(build: Path) -> bool:
    """Whether the tables in the build's program are those of the last commit's pattern files."""
    made, program = build / "patterns.made", build / "warpburg"
    there = (line.split() for line in call(["git", "ls-tree", "HEAD", "patterns/"])[1].splitlines())
    wanted = sorted(f"{x[2]} {Path(x[3]).name}" for x in there if len(x) == 4 and x[3].endswith((".py", ".tsv")))
    return (made.exists() and program.exists() and program.stat().st_mtime_ns >= made.stat().st_mtime_ns and bool(wanted)
            and sorted(made.read_text().splitlines()) == wanted)


def committed(build: Path) -> Tuple[Optional[Path], str]:
    """A folder with a compiler that has the last commit's rules; None and the reason if there is none."""
    where = build / "rules-before"
    if built_from_commit(build):
        return tables.made(where, build), ""
    stamp, digest = where / "made-from", hashlib.sha256(call(["git", "rev-parse", "HEAD:patterns"])[1].encode())
    for p in sorted(ROOT.glob("gen/*.py")):
        digest.update(p.read_bytes())
    if not stamp.exists() or stamp.read_text() != digest.hexdigest():
        shutil.rmtree(where, ignore_errors=True)
        where.mkdir(parents=True)
        archive = subprocess.run(["git", "archive", "HEAD", "patterns"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if archive.returncode or subprocess.run(["tar", "x", "-C", str(where)], input=archive.stdout).returncode:
            return None, "no commit to compare with"
        (where / "patterns" / "ledger.txt").unlink(missing_ok=True)  # the committed rules were proved when they were committed
        rc, text = call([sys.executable, str(ROOT / "gen/gen_tables.py"), str(where / "committed.tables"), str(where)])
        if rc:
            return None, "the committed rules do not compile with this gen/: " + text.strip().splitlines()[0]
        stamp.write_text(digest.hexdigest())
    return tables.made(where, build, (where / "committed.tables").read_bytes()), ""


def priced(before: Path, after: Path, files: Sequence[Path], targets: Sequence[str], cache: Path) -> List[Tuple[Kernel, Dict[str, Any], Dict[str, Any]]]:
    """The records of these files with machine code and modelled time: (kernel, before, after)."""
    more = ["--profile", "4", "--cache", str(cache)]
    old, new = (records(p, files, targets, more, True) for p in (before, after))
    return [(k, old[k], new[k]) for k in old if k in new and "sass" in old[k] and "sass" in new[k]]


def kept_listing(before: Path, files: Sequence[Path], targets: Sequence[str]) -> Dict[Kernel, Dict[str, Any]]:
    """listed(..) of the program before, kept beside it."""
    built = (before.parent / "tests").resolve().parent / "warpburg"
    of = hashlib.sha256(f"{built.stat().st_mtime_ns} {call(['git', 'rev-parse', 'HEAD:patterns'])[1]}".encode()).hexdigest()[:12]
    asked = hashlib.sha256(repr([targets, [(str(f), f.stat().st_mtime_ns) for f in files]]).encode()).hexdigest()[:12]
    store = before.parent / f"listed-{of}-{asked}.json"
    if not store.exists():
        for old in (x for x in before.parent.glob("listed-*") if not x.name.startswith(f"listed-{of}-")):
            old.unlink()
        store.write_text(json.dumps(list(listed(before, files, targets).items())))
    return {(k[0], k[1], k[2]): r for k, r in json.loads(store.read_text())}


class Before(NamedTuple):
    """The last commit's compiler, and what it makes of the corpus; or why there is none."""

    program: Path
    listed: Dict[Kernel, Dict[str, Any]]
    why: str = ""


def as_committed(build: Path, files: Sequence[Path], targets: Sequence[str]) -> Before:
    folder, why = committed(build)
    return Before(build, {}, why) if folder is None else Before(folder / "warpburg", kept_listing(folder / "warpburg", files, targets))


def delta(build: Path, folder: Path, last: Before, now: Dict[Kernel, Dict[str, Any]], files: Sequence[Path], targets: Sequence[str]) -> List[str]:
    """Totals before and after of the kernels whose PTX changed, and those that changed most. now: listed(..) of the compiler in the folder."""
    before, was, why = last
    if why:
        return [f"corpus: {why}"]
    fine = lambda records, k: k in records and records[k]["status"] == "ok"
    lost, gained = [k for k in was if fine(was, k) and not fine(now, k)], sum(fine(now, k) and not fine(was, k) for k in now)
    changed = [k for k in was if fine(was, k) and fine(now, k) and code(was[k]) != code(now[k])]
    whole = f"corpus: {sum(fine(now, k) for k in now)} kernels of {len(files)} files on {', '.join(targets)}: "
    said = (f", {len(lost)} LOST" if lost else "") + (f", {gained} gained" if gained else "")
    out = [f"    LOST  {Path(f).name} {kernel} on {t}" for f, kernel, t in lost]
    if not changed:
        return [whole + "the PTX of no kernel changed" + said, *out]
    some = set(sorted(changed, key=lambda k: (-abs(now[k]["ptx"] - was[k]["ptx"]), k))[:PRICED])
    both = [x for x in priced(before, folder / "warpburg", sorted({Path(f) for f, _, _ in some}), targets, build / "rule-cache") if x[0] in some]
    of = "" if len(some) == len(changed) else f"; the {len(some)} that change most are priced"
    if not both:
        more = sum(now[k]["ptx"] - was[k]["ptx"] for k in changed)
        return [whole + f"PTX of {len(changed)} changed ({more:+d} instructions){said}; no ptxas, no price", *out]
    sass, us = (tuple(sum(x[side][name] for x in both if name in x[1] and name in x[2]) for side in (1, 2)) for name in ("sass", "us"))
    out.insert(0, whole + f"PTX of {len(changed)} changed{said}{of}: {sass[0]} -> {sass[1]} machine instructions ({percent(sass)}), "
               f"{us[0]:.1f} -> {us[1]:.1f} us modelled ({percent(us)}), {sum(b['sass'] < a['sass'] for _, a, b in both)} helped, "
               f"{sum(b['sass'] > a['sass'] for _, a, b in both)} hurt, {sum(b['sass'] == a['sass'] for _, a, b in both)} alike in number")
    for (f, kernel, t), a, b in sorted(both, key=lambda x: (-abs(x[2]["sass"] - x[1]["sass"]), x[0]))[:5]:
        if a["sass"] != b["sass"]:
            time = f", {a['us']:.2f} -> {b['us']:.2f} us" if "us" in a and "us" in b else ""
            out.append(f"    {b['sass'] - a['sass']:+5d}  {Path(f).name} {kernel} on {t}: {a['sass']} -> {b['sass']}{time}")
    return out


def percent(x: Tuple[float, ...]) -> str: return f"{100 * (x[1] - x[0]) / max(x[0], 1e-9):+.2f} %"
