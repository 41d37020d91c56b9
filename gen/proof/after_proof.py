"""What `./dev rule` does after the proofs: builds, runs the rule's tests, counts its hits over the corpus, and compares the corpus's cost
before and after, in PTX instructions.

"Before" is the working tree with the pattern files of the last commit: the same gen/ makes their tables, which are compiled and linked
with the objects of the build, so that only rules differ. The corpus is shaderdb/corpus and a fixed sample of --shared.
"""
from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

from gen import ledger
from gen.lang import Rule

ROOT = Path(__file__).resolve().parents[2]
WORKERS = 2
SAMPLE = 40  # files of --shared
TIMEOUT = 20  # seconds a compile may take


def call(command: Sequence[str], cwd: Path = ROOT, more: Optional[Dict[str, str]] = None) -> Tuple[int, str]:
    p = subprocess.run(list(command), cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **(more or {})})
    return p.returncode, p.stdout


def build(folder: Path, unsimulated: bool = False) -> Tuple[int, str]:
    """unsimulated: instruction rules may lack ledger lines. The ledger is then marked as changed, so that the next build checks for them."""
    found = call(["ninja", "-C", str(folder), "--quiet", "warpburg", "tests/measure"], more={ledger.UNSIMULATED: "1"} if unsimulated else None)
    if unsimulated and ledger.path().exists():
        os.utime(ledger.path())
    return found


def tests(folder: Path, rules: Sequence[Rule], targets: Sequence[str]) -> str:
    """Runs the text tests of rewriting, and those in which the rules fire."""
    lit = shutil.which("lit-22") or shutil.which("lit")
    if lit is None:
        return "tests: lit is not installed (llvm-22-tools)"
    own = firing(folder, rules, targets) if rules else []
    files = sorted({p for name in ("rewrite", "index") for p in ROOT.glob(f"tests/lit/{name}/*") if p.suffix in (".ir", ".hlo", ".test")} | set(own))
    rc, text = call([lit, "-q", "-j", str(WORKERS), "--param", f"warpburg={folder / 'warpburg'}", *map(str, files)])
    if rc:
        return "tests: FAIL\n" + text.strip()
    where = (f"; fires in {len(own)} of them, for example {own[0].relative_to(ROOT)}" if own else "; fires in none of tests/lit") if rules else ""
    return f"tests: {len(files)} text tests pass{where}"


def firing(folder: Path, rules: Sequence[Rule], targets: Sequence[str]) -> List[Path]:
    """The text tests in which one of the rules fires on some target."""
    names, out = {r.name for r in rules}, set()
    inputs = [str(p) for p in sorted(ROOT.glob("tests/lit/*/*.hlo")) if p.parent.name not in ("hlo", "decline")]
    for t in targets:
        _, text = call([str(folder / "warpburg"), "rules", "cover", *inputs, "--target", t, "--json", "-j", str(WORKERS)])
        out |= {Path(f) for row in rows(text) if row.get("rule") in names for f in row["examples"]}
    return sorted(out)


def rows(text: str) -> Iterator[Dict[str, Any]]:
    """The lines of text that are JSON objects."""
    for line in text.splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            yield row


def simulated(folder: Path, names: Sequence[str], target: str = "") -> Tuple[Dict[str, str], List[str]]:
    """(state by name of each instruction rule, messages of what failed). target: all instruction rules on that one, assembled by ptxas."""
    only = ["--target", target, "--every"] if target else ["--rule", names[0]] if len(names) == 1 else []
    _, text = call([sys.executable, "-m", "gen.proof.simulate", "--warpburg", str(folder / "warpburg"), *only])
    states = dict(m for line in text.splitlines() for m in re.findall(r"^(patterns/\S+) (simulated\(\d+\))$", line))
    bad = [line for line in text.splitlines() if not re.search(r"^patterns/\S+ simulated\(|^\d+ passed, |not assembled", line)]
    return states, bad


# --- corpus -------------------------------------------------------------------------------------------------------------------------
def corpus(shared: Path) -> List[Path]:
    own = sorted(ROOT.joinpath("shaderdb/corpus").glob("**/*.hlo"))
    more = sorted(shared.joinpath("corpus").glob("**/*.hlo"), key=lambda p: p.relative_to(shared).as_posix()) if shared.is_dir() else []
    step = max(1, len(more) // SAMPLE)
    return own + more[::step]


def hits(folder: Path, rules: Sequence[Rule], files: Sequence[Path], targets: Sequence[str]) -> Dict[str, Tuple[int, int]]:
    """(hits, files) by rule over all targets."""
    out: Dict[str, Tuple[int, int]] = {}
    for t in targets:
        _, text = call([str(folder / "warpburg"), "rules", "cover", *map(str, files), "--target", t, "--json", "-j", str(WORKERS)])
        for row in rows(text):
            if "rule" in row:
                was = out.get(row["rule"], (0, 0))
                out[row["rule"]] = (was[0] + row["hits"], was[1] + row["files"])
    names = {r.name for r in rules}
    return {k: v for k, v in out.items() if k in names}


def instructions(text: str) -> int:
    """The number of lines of PTX that are instructions."""
    return sum(1 for line in text.splitlines() if re.match(r"\s+(@%?!?\w+\s+)?[a-z][\w.]*\s.*;|\s+ret;", line) and not line.lstrip().startswith("."))


def cost(program: Path, file: Path, target: str) -> Optional[int]:
    """The number of PTX instructions of a file's kernels; None if it is declined or fails."""
    try:
        p = subprocess.run([str(program), "compile", str(file), "--target", target, "--emit", "ptx"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                           text=True, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return None
    return instructions(p.stdout) if p.returncode == 0 else None


# --- before -------------------------------------------------------------------------------------------------------------------------
def committed(folder: Path) -> Tuple[Optional[Path], str]:
    """A program with the last commit's rules; None and the reason if there is none, or if the tables are the same."""
    where = folder / "rule-before"
    shutil.rmtree(where, ignore_errors=True)
    where.mkdir(parents=True)
    archive = subprocess.run(["git", "archive", "HEAD", "patterns"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if archive.returncode or subprocess.run(["tar", "x", "-C", str(where)], input=archive.stdout).returncode:
        return None, "no commit to compare with"
    proofs = where / "patterns" / "ledger.txt"
    if proofs.exists():
        proofs.unlink()  # the committed rules were proved when they were committed
    rc, text = call([sys.executable, str(ROOT / "gen/gen_tables.py"), str(where / "gen"), str(where)])
    if rc:
        return None, "the committed rules do not compile with this gen/: " + text.strip().splitlines()[0]
    made = sorted((where / "gen").glob("tables_*.c"))
    if all(code_of(m) == code_of(folder / m.name) for m in made):
        return None, "the tables are those of the last commit"
    return link(folder, where, made)


def code_of(file: Path) -> str:
    """The parts of a table file that the engine runs: without rule texts, lines and ledger states."""
    text = file.read_text() if file.exists() else ""
    return re.sub(r"static const RwRule rules\[.*?\n};\n", "", text, flags=re.S).split("\n", 1)[-1]


def link(folder: Path, where: Path, tables: Sequence[Path]) -> Tuple[Optional[Path], str]:
    rc, text = call(["ninja", "-C", str(folder), "-t", "commands", "warpburg"])
    lines = text.splitlines()
    compiles = {m.name: next((x for x in lines if f" {m.name}" in x and " -c " in x), "") for m in tables}
    archive = next((m for x in lines for m in [re.search(r"ar \w+ libwarpburg\.a ([^&]+)", x)] if m), None)
    if rc or not lines or not archive or not all(compiles.values()):
        return None, "the build's commands are not as expected"
    objects = archive.group(1).split()
    for m in tables:
        o = where / f"{m.stem}.o"
        command = re.sub(rf" -c {m.name}| -c \S*{m.name}", f" -c {m}", re.sub(r" -o \S+", f" -o {o}", re.sub(r" -MF \S+| -MD| -MQ \S+", "", compiles[m.name])))
        if subprocess.run(command, shell=True, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
            return None, f"{m.name} of the last commit does not compile with this tree"
        objects = [str(o) if x.endswith(f"{m.name}.o") else x for x in objects]
    program = where / "warpburg"
    command = lines[-1].replace(" -o warpburg ", f" -o {program} ").replace(" libwarpburg.a ", f" {' '.join(objects)} ")
    if subprocess.run(command, shell=True, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
        return None, "the program before does not link"
    return program, ""


def delta(folder: Path, files: Sequence[Path], targets: Sequence[str]) -> List[str]:
    """Totals before and after, and the files that changed most."""
    before, why = committed(folder)
    if before is None:
        return [f"corpus: {why}"]
    jobs = [(f, t) for f in files for t in targets]
    with ThreadPoolExecutor(WORKERS) as pool:
        old = list(pool.map(lambda j: cost(before, *j), jobs))
        new = list(pool.map(lambda j: cost(folder / "warpburg", *j), jobs))
    both = [(j, o, n) for j, o, n in zip(jobs, old, new) if o is not None and n is not None]
    lost = [j for j, o, n in zip(jobs, old, new) if o is not None and n is None]
    gained = sum(o is None and n is not None for o, n in zip(old, new))
    changed = sorted((x for x in both if x[1] != x[2]), key=lambda x: (-abs(x[2] - x[1]), str(x[0])))
    a, b = sum(o for _, o, _ in both), sum(n for _, _, n in both)
    share = 100 * (b - a) / max(a, 1)
    out = [f"corpus: {len(both)} of {len(jobs)} compiles of {len(files)} files on {', '.join(targets)}: "
           f"{a} -> {b} PTX instructions ({share:+.2f} %), "
           f"{sum(n < o for _, o, n in both)} helped, {sum(n > o for _, o, n in both)} hurt" + (f", {gained} gained" if gained else "")]
    out += [f"    {n - o:+5d}  {f.name} on {t}: {o} -> {n}" for (f, t), o, n in changed[:5]]
    return out + [f"    LOST  {f} on {t}" for f, t in lost]
