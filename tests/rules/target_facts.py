#!/usr/bin/env python3
"""The facts that pattern files state of a target agree with ptxas, with `rules diff` and with docs/targets.md.

    target_facts.py WARPBURG [--all]

1. ptxas takes the PTX of each word of `features=` (gen/features.py) on exactly the targets that have the word.
2. LLVM takes each target with its PTX level, and ptxas takes LLVM's PTX.
3. The modifiers in FREE, and no others, cost nothing: the machine code is as long with the modifier as without. On the oldest and the newest
   target; with --all on every one.
4. `warpburg rules diff A B` and `diff patterns/a.py patterns/b.py` show the same facts, forms, decisions and rules. For neighbours, and for the
   oldest and the newest; with --all for every pair.
5. docs/targets.md is what gen/targets_page.py makes of the pattern files.

Ends with `N passed, M failed`.
"""
from __future__ import annotations

import argparse
import ast
import difflib
import json
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from pathlib import Path
from typing import Dict, List, Sequence, Set, Tuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from gen import load, targets_page  # noqa: E402
from gen.proof import sass, simulate  # noqa: E402
from gen.features import FEATURES  # noqa: E402
from gen.load import RuleSet  # noqa: E402

SECTIONS = ("TARGET", "PACKED", "FREE", "TUNE", "STRATEGIES", "RATE", "SIMPLIFY", "LOWER", "INSTR")  # in this order in every file
JOBS = 2


# --- features ---------------------------------------------------------------------------------------------------------------------------
def taken(ptxas: str, folder: Path, target: str, level: str, body: str) -> bool:
    source = folder / f"{target}.{abs(hash(body))}.ptx"
    source.write_text(f".version {level}\n.target {target}\n.address_size 64\n.visible .entry k() {{\n{body}\nret;\n}}\n")
    return subprocess.run([ptxas, f"-arch={target}", "-O0", "-o", "/dev/null", str(source)], capture_output=True).returncode == 0


def features(ptxas: str, sets: Sequence[RuleSet]) -> List[Tuple[str, str]]:
    """(the word, why it fails or empty) of each word of `features=`."""
    out = [(f"feature {w}", "" if w in FEATURES else "gen/features.py has no PTX for it") for s in sets for w in s.values["features"]
           if w not in FEATURES]
    asked = [(s, w) for w in FEATURES for s in sets]
    with tempfile.TemporaryDirectory() as tmp, ThreadPoolExecutor(JOBS) as pool:
        answers = list(pool.map(lambda x: taken(ptxas, Path(tmp), x[0].values["name"], x[0].values["ptx"], FEATURES[x[1]].ptx), asked))
    wrong: Dict[str, List[str]] = {w: [] for w in FEATURES}
    for (s, w), yes in zip(asked, answers):
        if yes != (w in s.values["features"]):
            wrong[w].append(f"ptxas {'takes' if yes else 'refuses'} it for {s.values['name']}, whose file says otherwise")
    return out + [(f"feature {w}", "; ".join(why)) for w, why in wrong.items()]


def assembled(warpburg: str, ptxas: str, s: RuleSet) -> str:
    """Compiles GELU for the target, by LLVM and ptxas; why that fails, or empty."""
    name, level = s.values["name"], s.values["ptx"]
    p = subprocess.run([warpburg, "compile", "shaderdb/corpus/gelu.hlo", "--target", name, "--emit", "ptx"], cwd=ROOT, capture_output=True, text=True)
    if f".version {level}" not in p.stdout or f".target {name}\n" not in p.stdout:
        return f"no PTX for it: {p.stderr[:300]}"
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as f:
        f.write(p.stdout)
        f.flush()
        return subprocess.run([ptxas, f"-arch={name}", "-o", "/dev/null", f.name], capture_output=True, text=True).stderr[:300]


# --- modifiers that cost nothing ------------------------------------------------------------------------------------------------------------
OPERATIONS = ("add", "mul", "fma", "max", "min")
MODIFIERS = ("", "neg", "abs")
REGISTER = {"f16": "b16", "bf16": "b16", "f32": "f32", "f64": "f64"}


def operation(op: str, t: str, modifier: str) -> str:
    """A kernel that loads operands and applies op to them, the first one under a modifier."""
    name = f"{op}.rn.{t}" if op == "fma" or (t in ("f32", "f64") and op in ("add", "mul")) else f"{op}.{t}"
    n, size = 3 if op == "fma" else 2, {"f16": 2, "bf16": 2, "f32": 4, "f64": 8}[t]
    loads = "".join(f"ld.global.{REGISTER[t].replace('f', 'b')} r{i}, [p+{size * i}]; " for i in range(n))
    return (f".visible .entry {op}_{t}_{modifier or 'plain'}(.param .u64 q) {{\n.reg .b64 p; .reg .{REGISTER[t]} r<4>;\nld.param.u64 p, [q]; {loads}"
            f"{f'{modifier}.{t} r0, r0; ' if modifier else ''}{name} r3, {', '.join(f'r{i}' for i in range(n))}; "
            f"st.global.{REGISTER[t].replace('f', 'b')} [p], r3; ret;\n}}\n")


def assembly(ptxas: str, s: RuleSet, op: str, t: str, folder: Path) -> Dict[str, int]:
    """Machine instructions of a kernel by modifier; none where the target has no such operation."""
    name = s.values["name"]
    source, cubin = folder / f"{name}.{op}.{t}.ptx", folder / f"{name}.{op}.{t}.cubin"
    source.write_text(f".version {s.values['ptx']}\n.target {name}\n.address_size 64\n{''.join(operation(op, t, m) for m in MODIFIERS)}")
    done = subprocess.run([ptxas, f"-arch={name}", "-o", str(cubin), str(source)], capture_output=True)
    code = {} if done.returncode else sass.sections(cubin.read_bytes())
    return {m: sass.length(code[f".text.{op}_{t}_{m or 'plain'}"]) for m in MODIFIERS} if code else {}


def modifiers(ptxas: str, s: RuleSet) -> str:
    """The modifiers for which FREE and the length of the machine code disagree."""
    out, free = [], {(f.op, f.type, m) for f in s.free for m in f.modifiers}
    asked = [(op, t) for op in OPERATIONS for t in REGISTER]
    with tempfile.TemporaryDirectory() as tmp, ThreadPoolExecutor(JOBS) as pool:
        lengths = list(pool.map(lambda x: assembly(ptxas, s, *x, Path(tmp)), asked))
    for (op, t), length in zip(asked, lengths):
        for m in MODIFIERS[1:]:
            costs = length.get(m) != length.get("") or not length
            if costs == ((op, t, m) in free):
                out.append(f"{op}.{t} takes {length.get('', 'no')} instructions, with {m} of an operand {length.get(m, 'none')}")
    return "; ".join(out)


# --- the text of a pattern file -----------------------------------------------------------------------------------------------------------
def sections(name: str) -> Dict[str, str]:
    """The text of each section of a pattern file, and of those that it takes from other targets' files."""
    text = (load.root / "patterns" / f"{name}.py").read_text()
    taken: Dict[str, str] = {}
    for n in ast.parse(text).body:
        if isinstance(n, ast.ImportFrom) and re.fullmatch(r"patterns\.sm\d+", n.module or ""):
            theirs, names = sections((n.module or "")[9:]), [a.name for a in n.names]
            taken.update(theirs if names == ["*"] else {s: theirs[s] for s in names})
    assigned = [(n, n.targets[0]) for n in ast.parse(text).body if isinstance(n, ast.Assign)]
    own = {to.id: ast.get_source_segment(text, n) or "" for n, to in assigned if isinstance(to, ast.Name)}
    expected = tuple(s for s in SECTIONS if s in own or s not in taken)
    assert tuple(own) == expected, f"{name}.py: sections {list(own)}, expected in this order: {expected}"
    if "like=TARGET" in own["TARGET"]:
        own["TARGET"] = own["TARGET"].replace("like=TARGET", f"like={taken['TARGET'].partition('= ')[2]}")
    return {**taken, **own}


def changed(x: str, y: str) -> List[str]:
    """The lines that only one of the texts has, without comments."""
    bare = [[line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith("#")] for text in (x, y)]
    return [line[2:] for line in difflib.ndiff(*bare) if line[:1] in "+-"]


def keywords(text: str) -> Dict[str, str]:
    """The facts of TARGET as text, by name."""
    def of(call: ast.Call) -> Dict[str, str]:
        like = next((of(k.value) for k in call.keywords if k.arg == "like" and isinstance(k.value, ast.Call)), {})
        return {**like, "name": ast.unparse(call.args[0]), **{str(k.arg): ast.unparse(k.value) for k in call.keywords if k.arg != "like"}}

    return of(ast.parse(text).body[0].value)  # type: ignore[attr-defined]


def words(text: str) -> List[str]:
    return ast.literal_eval(keywords(text)["features"])


def said(warpburg: str, x: RuleSet, y: RuleSet) -> List[Dict]:
    p = subprocess.run([warpburg, "rules", "diff", x.values["name"], y.values["name"], "--json"], capture_output=True, text=True)
    return [json.loads(line) for line in p.stdout.splitlines()]


def facts(text_x: str, text_y: str) -> Set[str]:
    """The facts of TARGET that differ, by the names of `rules diff`."""
    x, y = keywords(text_x), keywords(text_y)
    differ = {k for k in x.keys() | y.keys() if x.get(k) != y.get(k)} - {"name", "features"}
    return differ | {f"features {w}" for w in set(words(text_x)) ^ set(words(text_y))}


def tunes(s: RuleSet) -> Dict[str, int]:
    return {t.name + (f", {t.bits} bits" if t.bits else ""): t.value for t in s.tunes}


def own_rules(x: RuleSet, y: RuleSet) -> List[str]:
    """The names of the rules of x whose text y lacks. What y has with LLVM, too, it need not have without."""
    there = {r.text for r in y.rules}
    return [r.name for r in x.rules if r.text not in there and r.text.partition("  when no_llvm")[0] not in there]


def disagreement(warpburg: str, x: RuleSet, y: RuleSet) -> str:
    """How the two diffs disagree; empty if they agree."""
    found, text_x, text_y = said(warpburg, x, y), sections(x.name), sections(y.name)
    rows: Dict[str, Set[str]] = {s: {r["name"] for r in found if r["section"] == s} for s in ("TARGET", "PACKED", "FREE", "TUNE", "RATE")}
    out: List[str] = []

    def same(what: str, tool: Set[str], text: Set[str]) -> None:
        out.extend(f"{what}: only rules diff names {n}" for n in sorted(tool - text))
        out.extend(f"{what}: only diff names {n}" for n in sorted(text - tool))

    same("TARGET", rows["TARGET"], facts(text_x["TARGET"], text_y["TARGET"]))
    tune_x, tune_y = tunes(x), tunes(y)
    same("TUNE", rows["TUNE"], {n for n in tune_x.keys() | tune_y.keys() if tune_x.get(n) != tune_y.get(n)})
    numbers = [{r.name: (r.value, r.low, r.high, r.stated) for r in s.rates} for s in (x, y)]
    same("RATE", rows["RATE"], {n for n in numbers[0].keys() | numbers[1].keys() if numbers[0].get(n) != numbers[1].get(n)})
    same("PACKED", {str(len(rows["PACKED"]))}, {str(len(set(x.packed) ^ set(y.packed)))})
    free = [{(f.op, f.type, m) for f in s.free for m in f.modifiers} for s in (x, y)]
    same("FREE", {str(len(rows["FREE"]))}, {str(len(free[0] ^ free[1]))})
    for section in ("PACKED", "FREE", "TUNE"):  # in these sections a different line means a difference
        lines = [line for line in changed(text_x[section], text_y[section]) if "because=" not in line or section != "TUNE"]
        if lines and not rows[section]:
            out.append(f"{section}: only diff shows {lines[0]}")
    rules = [r for r in found if r["section"] == "rules"]
    lines = [line for section in ("SIMPLIFY", "LOWER", "INSTR") for line in changed(text_x[section], text_y[section])]
    if bool(lines) and not rules:
        out.append(f"rules: only diff shows {lines[0]}")
    for s, other in ((x, y), (y, x)):
        named = {n for r in rules for n in r[s.values["name"]]["rules"]}
        plain = [n for n in own_rules(s, other) if "[" not in n]  # of the instances of one line `rules diff` may show only one
        out.extend(f"rules: only {s.values['name']} has {n}, and rules diff does not show it" for n in plain if n not in named)
    if not rules and any(own_rules(a, b) for a, b in ((x, y), (y, x))):
        out.append("rules: they differ, and rules diff shows none")
    return "; ".join(out[:5])


# --- the page, and everything ------------------------------------------------------------------------------------------------------------------------------
def page() -> str:
    there = targets_page.PAGE.read_text() if targets_page.PAGE.exists() else ""
    made = targets_page.page()
    line = next((n for n, (a, b) in enumerate(zip(there.splitlines() + [""], made.splitlines() + [""]), 1) if a != b), 0)
    return "" if there == made else f"out of date from line {line} on: run python -m gen.targets_page"


def main() -> int:
    p = argparse.ArgumentParser()
    p.add_argument("warpburg")
    p.add_argument("--all", action="store_true", help="every pair of targets")
    args = p.parse_args()
    sets = [load.load_target(t) for t in load.targets()]
    pairs = list(combinations(sets, 2)) if args.all else [*zip(sets, sets[1:]), (sets[0], sets[-1])]
    results: List[Tuple[str, str]] = []
    ptxas = simulate.ptxas_of()
    if ptxas is None:
        print("skipped: comparisons with ptxas: not found (WARPBURG_PTXAS can name it)")
    else:
        results += features(ptxas, sets)
        results += [(f"free modifiers of {s.values['name']}", modifiers(ptxas, s)) for s in sets]
        results += [(f"GELU for {s.values['name']}", assembled(args.warpburg, ptxas, s)) for s in sets]
    results += [(f"{x.values['name']} and {y.values['name']}", disagreement(args.warpburg, x, y)) for x, y in pairs]
    results.append(("docs/targets.md", page()))
    for what, why in results:
        if why:
            print(f"failed: {what}: {why}")
    failed = sum(bool(why) for _, why in results)
    print(f"{len(results) - failed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
