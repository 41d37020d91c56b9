"""Which elements an operation reads: our index maps against those of another implementation, ../shared/corpus/index-maps/analysis.tsv.

usage: index_operand_maps.py build/warpburg --shared ../shared [--every N] [--verbose]

A row has the map from an element of one value to the elements of another that it needs, or that need it. Our map must name the same
elements at every point, or at a sample of points where there are many. A run-time value, which is an element of some instruction, gets the same
number in both maps: a hash of the instruction's name and the element's index, in range or not. DIFFERENT lists the rows in which our map is
meant to differ, and why. Then the maps of every N-th module of the corpus are printed in both directions, and each must be readable as a map.
"""
import argparse
import itertools
import json
import random
import re
import subprocess
import sys
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Dict, List, Optional, Set, Tuple

POINTS = 60         # of the dimensions, for each row
INNER = 4000        # of the ranges, for each point: a row with more is compared at fewer points and on shorter ranges

# row: (relation, why). "less": our elements are among those of the reference; "more": those of the reference are among ours.
DIFFERENT: Dict[str, Tuple[str, str]] = {
    "GroupIndexingMapsByProducers.1": ("more", "the reference stops at the transposes; ours follows all operands"),
    "ScanOp.1": ("more", "an output of a scan needs every element before it"),
    "ConvolutionOp_BatchGroups.1": ("less", "an output feature reads the batches of its own group only"),
}

Point = Tuple[int, ...]


@dataclass
class Variable:
    name: str
    lo: int
    hi: int
    source: str = ""
    index: Optional["Map"] = None
    clamp: Tuple[int, int] = (0, 0)


@dataclass
class Map:
    dims: List[Variable] = field(default_factory=list)
    ranges: List[Variable] = field(default_factory=list)
    runtime: List[Variable] = field(default_factory=list)
    results: Callable[[Dict[str, int]], Point] = lambda values: ()
    constraints: List[Tuple[Callable[[Dict[str, int]], int], int, int]] = field(default_factory=list)
    text: str = ""


def python(expression: str) -> str:
    text = re.sub(r"\bceil[dD]iv\b", "//-", expression)  # not an operator of Python: the table has none
    text = re.sub(r"\bfloor[dD]iv\b|/", "//", text)
    return re.sub(r"\bmod\b", "%", text)


def split(text: str) -> List[str]:
    """Splits at commas outside of brackets."""
    parts, depth, at = [], 0, 0
    for k, c in enumerate(text):
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            parts.append(text[at:k].strip())
            at = k + 1
    last = text[at:].strip()
    return parts + [last] if last else parts


def parse_map(text: str) -> Map:
    found = re.match(r"\(([^()]*)\)(?:\[([^\]]*)\])?(?:\{([^}]*)\})? -> \((.*?)\)(?:, domain: (.*))?$", text)
    assert found, text
    names = [split(g or "") for g in found.group(1, 2, 3)]
    bounds: Dict[str, Tuple[int, int]] = {}
    m = Map(text=text)
    body, domain = found.group(4), found.group(5) or ""
    if ", domain: " not in text:
        body = text[text.index("-> (") + 4:].rstrip()[:-1]
    expressions = ", ".join(split(body)) + ("," if split(body) else "")
    m.results = eval(f"lambda v: ({expressions})", {}) if not expressions else _function(f"({python(expressions)})")
    for part in re.findall(r"(.+?) in \[(-?\d+), (-?\d+)\](?:, |$)", domain):
        name, lo, hi = part[0], int(part[1]), int(part[2])
        if re.fullmatch(r"[A-Za-z_]\w*", name) and name not in bounds:
            bounds[name] = (lo, hi)
        else:
            m.constraints.append((_function(python(name)), lo, hi))
    for group, list_ in zip(names, (m.dims, m.ranges, m.runtime)):
        list_ += [Variable(n, *bounds[n]) for n in group]
    return m


def _function(expression: str) -> Callable[[Dict[str, int]], Point]:
    code = compile(expression, "map", "eval")
    builtins = {"__builtins__": {"min": min, "max": max}}
    return lambda values: eval(code, builtins, values)


def attach(m: Map, texts: List[str]) -> Map:
    """Adds the sources of the run-time variables: `rt0 = %x @ MAP[, clamped to [LO, HI]]`."""
    for v, text in zip(m.runtime, texts):
        found = re.match(r"(\w+) = (\S+) @ (.*?)(?:, clamped to \[(-?\d+), (-?\d+)\])?$", text)
        assert found and found.group(1) == v.name, text
        v.source, v.index = found.group(2).lstrip("%"), parse_map(found.group(3))
        v.clamp = (int(found.group(4)), int(found.group(5))) if found.group(4) else (v.lo, v.hi)
    return m


def value_of(source: str, index: Point) -> int:
    """The number that stands for an element of an instruction: often in the range of a dimension, sometimes beyond."""
    if source.startswith("constant("):
        return int(source[9:-1])
    mixed = zlib.crc32(repr((source, index)).encode())
    return (mixed >> 8) % (10, 100, 10000)[mixed % 3] - (mixed >> 4) % 5


def named(m: Map, point: Point) -> Set[Point]:
    """The elements that a map names at a point of its dimensions."""
    made: Set[Point] = set()
    values = {v.name: x for v, x in zip(m.dims, point)}
    if any(not v.lo <= values[v.name] <= v.hi for v in m.dims):
        return made
    for inner in itertools.product(*[range(v.lo, v.hi + 1) for v in m.ranges]):
        values.update({v.name: x for v, x in zip(m.ranges, inner)})
        inside = True
        for v in m.runtime:
            assert v.index
            x = value_of(v.source, v.index.results(values))
            values[v.name] = min(max(x, v.clamp[0]), v.clamp[1])
            inside = inside and v.lo <= values[v.name] <= v.hi
        if inside and all(lo <= f(values) <= hi for f, lo, hi in m.constraints):
            made.add(m.results(values))
    return made


def inner_points(m: Map) -> int:
    n = 1
    for v in m.ranges:
        n *= max(v.hi - v.lo + 1, 0)
    return n


def sample(dims: List[Tuple[int, int]], most: int, seed: str) -> List[Point]:
    total = 1
    for lo, hi in dims:
        total *= hi - lo + 1
    if total <= most:
        return list(itertools.product(*[range(lo, hi + 1) for lo, hi in dims]))
    chance = random.Random(seed)
    corners = [tuple(d[0] for d in dims), tuple(d[1] for d in dims)]
    return corners + [tuple(chance.randint(lo, hi) for lo, hi in dims) for _ in range(most)]


def shrink(maps: List[Map], limits: Dict[str, int]) -> None:
    """Shortens long ranges of all maps to the same length, so that a part of them is compared."""
    for m in maps:
        for v in m.ranges:
            v.hi = min(v.hi, v.lo + limits["length"] - 1)


def compare(row: str, reference: List[Map], ours: List[Map]) -> str:
    """How the maps differ; empty if they do not."""
    relation = DIFFERENT.get(row, ("equal", ""))[0]
    if relation == "equal" and sorted(m.text for m in reference) == sorted(m.text for m in ours) and not any(m.runtime for m in ours):
        return ""
    if not reference or not ours:
        return "" if not reference and not ours else f"reference {[m.text for m in reference]}, ours {[m.text for m in ours]}"
    if len(reference[0].dims) != len(ours[0].dims):
        return f"{len(reference[0].dims)} dimensions, ours {len(ours[0].dims)}"
    dims = [(min(m.dims[k].lo for m in reference + ours), max(m.dims[k].hi for m in reference + ours)) for k in range(len(ours[0].dims))]
    most = max(inner_points(m) for m in reference + ours)
    points = sample(dims, max(POINTS * INNER // max(most, INNER), 3), row)
    for point in points:
        a: Set[Point] = set().union(*[named(m, point) for m in reference])
        b: Set[Point] = set().union(*[named(m, point) for m in ours])
        good = {"equal": a == b, "less": b <= a, "more": a <= b}[relation]
        if not good:
            only = sorted(a - b)[:2], sorted(b - a)[:2]
            return (f"at {point} only the reference names {only[0]}, only ours {only[1]}; reference {[m.text for m in reference]}, "
                    f"ours {[m.text for m in ours]}")
    return ""


class Module:
    """The module of a row: its root, and the numbers of its parameters by name."""

    def __init__(self, path: Path) -> None:
        self.path, text = path, path.read_text()
        entry = text[text.index("ENTRY"):]
        root = re.search(r"ROOT %?([\w.\-]+) = .*", entry)
        assert root
        self.root = root.group(1)
        called = re.search(r"calls=%?([\w.\-]+)", root.group(0)) if " fusion(" in root.group(0) else None
        body = entry
        if called:
            body = re.search(r"(?m)^\s*%?" + re.escape(called.group(1)) + r"\b[^{=]*\{(.*?)^\s*\}", text, re.S).group(1)  # type: ignore[union-attr]
        self.parameters = {name: f"parameter({n})" for name, n in re.findall(r"%?([\w.\-]+) = [^=\n]*? parameter\((\d+)\)", body)}

    def ask(self, program: str, row: Dict[str, str]) -> List[Dict]:
        words = [program, "map", "--hlo", str(self.path), "--json"] + (["--physical"] if row["layout"] == "physical" else [])
        ends = row["from"].split(), row["to"].split()
        if all(e[0] in ("output", "operand") for e in ends):
            words += ["--uses"] if row["direction"].startswith("input") else []
        else:
            names = [e[1] if e[0] == "instr" else self.operand(int(e[1])) if e[0] == "operand" else self.root for e in ends]
            words += ["--from", names[0], "--to", names[1]]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr.strip() or f"status {done.returncode}")
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        if "--from" in words:
            return lines
        numbers = {e[0]: e[1] for e in ends}
        found = []
        for line in lines:
            head = line["of"].split()
            output = head[head.index("output") + 1] if "output" in head[:-1] else "0"
            if head[0] == "%" + self.root and head[head.index("operand") + 1] == numbers["operand"] and output == numbers["output"]:
                found.append(line)
        return found

    def operand(self, k: int) -> str:
        inside = re.search(r"ROOT %?" + re.escape(self.root) + r" = .*?\w\(([^)]*)\)", self.path.read_text()[self.path.read_text().index("ENTRY"):])
        assert inside
        return re.findall(r"%?([\w.\-]+)(?:,|$)", inside.group(1))[k]

    def maps(self, lines: List[Dict]) -> List[Map]:
        made = [attach(parse_map(m["map"]["map"]), m["runtime"]) for line in lines for m in line["maps"]]
        for m in made:
            for v in m.runtime:
                v.source = self.parameters.get(v.source, v.source)
        return made


def check(program: str, shared: Path, rows: List[Dict[str, str]]) -> str:
    """Compares the rows that ask for the same map; why they differ, or empty."""
    row = rows[0]
    if row["to"] == "none":
        return ""
    module = Module(shared / "corpus" / "index-maps" / row["hlo"])
    lines = module.ask(program, row)
    unknown = not lines or not all(line["known"] for line in lines)
    if row["expected"] == "unknown indexing":
        return ""  # ours may be known
    if unknown:
        return "ours is unknown"
    reference = []
    for r in rows:
        if r["expected"] != "KNOWN EMPTY":
            reference.append(attach(parse_map(r["expected"]), [t for t in r["runtime"].split(" | ") if t]))
    return compare(row["name"], reference, module.maps(lines))


def check_printed(program: str, files: List[Path]) -> List[str]:
    """Errors in the printed maps of these modules, in both directions."""
    wrong = []
    for file in files:
        for direction in ([], ["--uses", "--physical"]):
            done = subprocess.run([program, "map", "--hlo", str(file), *direction], capture_output=True, text=True, timeout=120, check=False)
            maps = [line.split(": ", 1)[1] for line in done.stdout.splitlines() if line.startswith("%")]
            if done.returncode:
                wrong.append(f"{file}: status {done.returncode}: {done.stderr.strip()[-200:]}")
            for text in maps[:200]:
                try:
                    if text not in ("KNOWN EMPTY", "unknown indexing"):
                        parse_map(text)
                except (AssertionError, KeyError, SyntaxError) as problem:
                    wrong.append(f"{file}: {type(problem).__name__}: {text[:200]}")
                    break
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--shared", default="../shared")
    parser.add_argument("--every", type=int, default=60)
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    table = Path(args.shared) / "corpus" / "index-maps" / "analysis.tsv"
    if not table.is_file():
        print(f"skipped: {table} is not there\n0 passed, 0 failed")
        return 0
    head, *lines = [line.split("\t") for line in table.read_text().splitlines()]
    rows = [dict(zip(head, line + [""] * (len(head) - len(line)))) for line in lines]
    groups: Dict[Tuple[str, ...], List[Dict[str, str]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[k] for k in ("hlo", "direction", "from", "to", "layout")), []).append(row)
    passed = failed = 0
    for group in groups.values():
        try:
            why = check(args.program, Path(args.shared), group)
        except (RuntimeError, AssertionError, KeyError, subprocess.TimeoutExpired) as problem:
            why = f"{type(problem).__name__}: {problem}"
        passed, failed = passed + (len(group) if not why else 0), failed + (len(group) if why else 0)
        if why:
            print(f"{group[0]['name']}: {why}")
        elif args.verbose:
            print(f"{group[0]['name']}: {len(group)} rows agree")
    files = sorted((Path(args.shared) / "corpus").glob("**/*.hlo"))[::args.every]
    wrong = check_printed(args.program, files)
    print("\n".join(wrong + [f"maps of {len(files)} modules printed, in both directions"]))
    passed, failed = passed + 2 * len(files) - len(wrong), failed + len(wrong)
    for name, (relation, reason) in DIFFERENT.items():
        print(f"different: {name}: {relation} than the reference: {reason}")
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
