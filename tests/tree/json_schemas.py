#!/usr/bin/env python3
"""What --json prints, and what bundles and programs have in JSON files, is what docs/schemas says.

usage: json_schemas.py WARPBURG [--draft NAME]     --draft: a schema made of what the commands print today, for a file of docs/schemas

1. Each object that the commands below print names its schema, NAME.VERSION, and is valid by docs/schemas/NAME.json, which has that version. So is
   each NAME.json of the folders that they write, and Python's save and write (there the version is the member `version`), and the lines of shaderdb/run.
2. Each schema is met by some object, describes each of its members, and has no keyword that the validator below does not know.
3. Each command whose --help lists --json is among them.

Where Python has the package jsonschema, that validates them as well. Ends with `N passed, M failed`.
"""
from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / "docs" / "schemas"
CORPUS, LIT = ROOT / "shaderdb" / "corpus", ROOT / "tests" / "lit"
SUM = """HloModule s
add { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT z = f32[] add(x, y) }
ENTRY total { p = f32[64,300] parameter(0)  o = f32[] constant(0)  ROOT r = f32[64] reduce(p, o), dimensions={1}, to_apply=add }
"""
LAYER = """HloModule layer
twice { x = f32[64,256] parameter(0)  ROOT s = f32[64,256] add(x, x) }
minus { d = f32[64,128] parameter(0)  ROOT n = f32[64,128] negate(d) }
ENTRY layer { x = f32[64,256] parameter(0)  w = f32[256,128] parameter(1)  s = f32[64,256] fusion(x), kind=kLoop, calls=twice
  d = f32[64,128] dot(s, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}  ROOT n = f32[64,128] fusion(d), kind=kLoop, calls=minus }
"""
BAD = "HloModule m\nENTRY e { ROOT y = f32[4] nothing() }\n"
DECLINED = "HloModule m\nENTRY e { p = f32[8] parameter(0)  a = f32[] constant(0)  ROOT r = f32[8] rng(a, a), distribution=rng_uniform }\n"
FIRST_OF_ARRAYS = next(n for n, line in enumerate((ROOT / "patterns/arrays.py").read_text().splitlines(), 1) if "rewrite(" in line)
FILES = {"sum.hlo": SUM, "layer.hlo": LAYER, "bad.hlo": BAD, "declined.hlo": DECLINED, "jobs": "compile\tsum.hlo\t--json\ncompile\tbad.hlo\n",
         "maps": "(d0) -> (d0 / 2), domain: d0 in [0, 8]\n(d0\n"}


def row(file: str, text: str) -> str:
    """FILE:LINE of the first line of patterns/FILE with the text."""
    lines = (ROOT / "patterns" / file).read_text(encoding="utf-8").splitlines()
    return f"patterns/{file}:{next(k for k, line in enumerate(lines, 1) if text in line)}"


GELU = str(CORPUS / "gelu.hlo")
MAP = "(d0, d1) -> (d0 * 8 + d1), domain: d0 in [0, 3], d1 in [0, 7]"
COMMANDS: List[List[str]] = [  # in a folder that has FILES
    ["compile", GELU, "--json"], ["compile", "sum.hlo", "bad.hlo", "declined.hlo", "--json"], ["compile", GELU, "--json", "--bijection"],
    ["compile", GELU, "--json", "--accuracy", "xla", "--trace"],
    ["stats", GELU, "sum.hlo", "layer.hlo", "bad.hlo", "declined.hlo"], ["stats", GELU, "--target", "sm_80", "--target", "sm_100"],
    ["stats", str(LIT / "rules/arrays.hlo")],
    ["stats", "sum.hlo", "--profile", "4", "--listing", "--cache", "records"],
    ["run", "sum.hlo", "--json"], ["run", GELU, "--on", "gpu", "--check", "--json"],
    ["run", GELU, "--check", "--json", "--blocks", "4", "--counts"], ["run", "sum.hlo", "--check", "--json", "--case", "s"],
    ["run", "sum.hlo", "--check", "--json", "--seeds", "2"], ["run", "layer.hlo", "--check", "--json"], ["run", "layer.hlo", "--json"],
    ["run", GELU, "--profile", "--json", "--blocks", "4"], ["run", "sum.hlo", "--profile", "--json"], ["run", "layer.hlo", "--profile", "--json"],
    ["batch", "jobs"], ["cache", "--json"], ["assembler", "--json"], ["eval", "sum.hlo", "--bounds", "--perturb", "2", "--json"],
    ["ir", str(LIT / "ir/check.ir"), "--check", "--json"], ["ir", "bad.hlo", "--check", "--json"],
    ["map", MAP, "--json"], ["map", MAP + ", d0 + d1 in [0, 8]", "--json"],
    ["map", MAP, "--bijection", "--json"], ["map", MAP, "--inverse", "--json"], ["map", MAP, "--enumerate", "--json"],
    ["map", MAP, "--check", "--json"], ["map", "(d0) -> (d0 / 2), domain: d0 in [0, 3]", "--bijection", "--json"],
    ["map", "(d0) -> (d0 / 2), domain: d0 in [0, 3]", "--inverse", "--json"], ["map", "--hlo", GELU, "--json"], ["map", "--hlo", "sum.hlo", "--json"],
    ["map", "--files-from", "maps", "--json"], ["rules", "list", "--json"], ["rules", "list", "--strategies", "--json"],
    ["rules", "size", "--json"], ["rules", "budget", "--json"],
    ["rules", "diff", "sm_80", "sm_90", "--json"], ["rules", "trace", GELU, "--json"], ["rules", "trace", "sum.hlo", "--json"],
    ["rules", "trace", str(LIT / "rules/steps.hlo"), "--steps", "--json"], ["rules", "cover", GELU, "sum.hlo", "--json"], ["rules", "ablate", GELU, "--json"],
    ["rules", "ablate", GELU, "--sass", "--rule", "patterns/functions.py:69", "--json"],
    ["rules", "why", "patterns/functions.py:69", GELU, "--json"],
    ["rules", "why", row("layouts.py", "layout.vectors"), "sum.hlo", "--json"], ["rules", "why", row("strategies.py", "'steps.before'"), GELU, "--json"],
    ["rules", "why", "patterns/arith.py:25", GELU, "--json"], ["rules", "test", "mul.bf16(a, b)", "--target", "sm_80", "--json"],
    ["rules", "test", "(i*8 + j) // 8", "--let", "j in 0..8", "--json"],
    ["rules", "new-target", "sm_103", "--from", "sm_100", "--patterns", "patterns", "--json"],
]
WRITTEN: List[List[str]] = [  # to a folder behind them
    ["fuse", str(LIT / "program" / "loop.hlo"), "--cut", "plain", "-o"],
    *(["fuse", str(LIT / "program" / f"{name}.hlo"), "-o"] for name in ("turns", "trips", "layouts", "unique", "parts")),
    ["compile", "layer.hlo", "-o"],
    ["compile", GELU, "--accuracy", "xla", "--assume", "nsz", "-o"], ["compile", "sum.hlo", "--disable", f"patterns/arrays.py:{FIRST_OF_ARRAYS}", "-o"],
    *(["compile", str(LIT / name), "-o"] for name in ("emit/share_ticket.hlo", "emit/alias.hlo")), ["compile", "sum.hlo", "--deterministic", "-o"],
]
SIMPLE = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
RARE = {  # members that no command here prints, and when they are there
    "assembler.nvptxcompiler.version": "where there is that library", "compile.accesses[].kernel": "of several kernels", "ir.first": "of a wrong kernel",
    "map.first": "of a wrong map", "profile.kernels[].launches[].instructions[].passed": "of some branches", "run.order": "of a wrong kernel",
    "profile.kernels[].launches[].instructions[].local": "where registers are spilled", "run.unjudged": "of some orders", "stats.note": "of bad fusions",
    "profile.kernels[].launches[].instructions[].shared": "of kernels with shared memory"}
KNOWN = {"$schema", "$id", "title", "description", "type", "properties", "required", "additionalProperties", "patternProperties", "items", "enum", "const",
         "anyOf", "$ref", "$defs", "minimum"}


def is_of(value: Any, kind: str) -> bool:
    if kind in ("integer", "number"):
        return isinstance(value, (int,) if kind == "integer" else (int, float)) and not isinstance(value, bool)
    return isinstance(value, SIMPLE[kind]) and not (kind != "boolean" and isinstance(value, bool))


class Schema:
    """The part of JSON Schema that the files use."""

    def __init__(self, whole: Dict[str, Any]) -> None:
        self.whole = whole
        self.met: Set[str] = set()  # paths of members that were in some object

    def faults(self, value: Any, schema: Optional[Dict[str, Any]] = None, at: str = "") -> Iterator[str]:
        s = self.whole if schema is None else schema
        if "$ref" in s:
            name = s["$ref"].split("/")[-1]
            yield from self.faults(value, self.whole["$defs"][name], f"#{name}")
            return
        if "anyOf" in s:
            tries = [list(self.faults(value, x, at)) for x in s["anyOf"]]
            if all(tries):
                yield f"{at or 'it'} is none of {len(tries)} forms: {min(tries, key=len)[0]}"
        kinds = s.get("type", [])
        kinds = [kinds] if isinstance(kinds, str) else kinds
        if kinds and not any(is_of(value, k) for k in kinds):
            yield f"{at or 'it'} is {json.dumps(value)[:60]}, {' or '.join(kinds)} expected"
            return
        if "const" in s and value != s["const"] or "enum" in s and value not in s["enum"]:
            yield f"{at or 'it'} is {json.dumps(value)[:60]}, {s.get('const', s.get('enum'))} expected"
        if "minimum" in s and is_of(value, "number") and value < s["minimum"]:
            yield f"{at or 'it'} is {value}, at least {s['minimum']} expected"
        if isinstance(value, dict):
            yield from self.faults_of_members(value, s, at)
        for k, item in enumerate(value if isinstance(value, list) and "items" in s else []):
            yield from self.faults(item, s["items"], f"{at}[]")

    def faults_of_members(self, value: Dict[str, Any], s: Dict[str, Any], at: str) -> Iterator[str]:
        properties, patterns, others = s.get("properties", {}), s.get("patternProperties", {}), s.get("additionalProperties", True)
        for name in s.get("required", []):
            if name not in value:
                yield f"{at or 'it'} has no \"{name}\""
        for name, inner in value.items():
            found = properties.get(name) or next((x for p, x in patterns.items() if re.search(p, name)), None)
            if found is None and others is False:
                yield f"{at or 'it'} has \"{name}\", which no schema knows"
            elif found is not None or isinstance(others, dict):
                self.met.add(f"{at}.{name}")
                yield from self.faults(inner, found if found is not None else others, f"{at}.{name}")


def parts(schema: Any) -> Iterator[Dict[str, Any]]:
    """All schemas in one."""
    yield schema
    for key in ("properties", "patternProperties", "$defs"):
        for inner in schema.get(key, {}).values():
            yield from parts(inner)
    for inner in schema.get("anyOf", []):
        yield from parts(inner)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from parts(schema[key])


def members(schema: Dict[str, Any], at: str) -> Iterator[str]:
    """Paths of all members that are named, as in Schema.met."""
    for name, inner in schema.get("properties", {}).items():
        yield f"{at}.{name}"
        yield from members(inner, f"{at}.{name}")
    if isinstance(schema.get("items"), dict):
        yield from members(schema["items"], f"{at}[]")
    for inner in schema.get("anyOf", []):
        yield from members(inner, at)
    for name, inner in schema.get("$defs", {}).items():
        yield from members(inner, f"#{name}")


class Suite:
    def __init__(self, warpburg: str, folder: Path) -> None:
        self.warpburg, self.folder, self.passed, self.failed = warpburg, folder, 0, 0
        self.environment = {**os.environ, "WARPBURG_CACHE": str(folder / "cache"),
                            "WARPBURG_LIBCUDA": str(Path(warpburg).parent / "tests/libfake_cuda_driver.so")}
        self.schemas = {p.stem: Schema(json.loads(p.read_text(encoding="utf-8"))) for p in sorted(SCHEMAS.glob("*.json"))}
        self.objects: List[Tuple[str, str, str, Any]] = []  # what printed it, its schema and version, and it

    def judge(self, good: bool, what: str) -> None:
        self.passed, self.failed = self.passed + good, self.failed + (not good)
        if not good:
            print(f"FAILED: {what}")

    def call(self, *words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([self.warpburg, *words], capture_output=True, text=True, timeout=300, cwd=self.folder, env=self.environment)

    def print_all(self) -> None:
        for name, text in FILES.items():
            (self.folder / name).write_text(text, encoding="utf-8")
        (self.folder / "patterns").mkdir()
        (self.folder / "patterns/sm100.py").write_bytes((ROOT / "patterns/sm100.py").read_bytes())
        for words in COMMANDS:
            p = self.call(*words)
            lines = [line for line in p.stdout.splitlines() if line.startswith("{")]
            for value in map(json.loads, lines):
                name, _, version = str(value.get("schema", "")).rpartition(".")
                self.objects.append((" ".join(words), name, version, value))
            self.judge(bool(lines), f"{' '.join(words)} prints no object: {p.stderr[:300]}")

    def write_all(self) -> None:
        for k, words in enumerate(WRITTEN):
            p = self.call(*words, f"written{k}")
            self.judge((self.folder / f"written{k}").is_dir(), f"{' '.join(words)} writes no folder: {p.stderr[:300]}")
        out = self.folder / "records.jsonl"
        words = [str(ROOT / "shaderdb" / "run"), str(self.folder / "sum.hlo"), "-o", str(out), "--warpburg", self.warpburg, "--no-cache"]
        subprocess.run([sys.executable, *words], check=True, stderr=subprocess.DEVNULL, env=self.environment)
        for value in map(json.loads, out.read_text(encoding="utf-8").splitlines()):
            name, _, version = str(value.get("schema", "")).rpartition(".")
            self.objects.append(("shaderdb/run", name, version, value))
        library = Path(self.warpburg).parent / "libwarpburg.so"
        if importlib.util.find_spec("numpy") and importlib.util.find_spec("ml_dtypes") and library.exists():
            os.environ.update(self.environment, WARPBURG_LIBRARY=str(library))
            sys.path.insert(0, str(ROOT / "python"))
            import warpburg
            warpburg.compile(SUM, layout=warpburg.compile(SUM).layouts[-1]).save(self.folder / "saved_kernel")
            warpburg.compile(LIT / "program/left_out.hlo", program=True, partial=True).write(self.folder / "saved_program")
        else:
            print("skipped: saved.json, which Python's save writes: it needs numpy, ml_dtypes and libwarpburg.so")
            self.schemas.pop("saved")
        for path in sorted(self.folder.rglob("*.json")):
            value = json.loads(path.read_text(encoding="utf-8"))
            self.objects.append((str(path.relative_to(self.folder)), path.stem, str(value.get("version")), value))

    def validate(self) -> None:
        wrong: Dict[str, str] = {}
        count: Dict[str, int] = {}
        for printed, name, version, value in self.objects:
            schema = self.schemas.get(name)
            count[printed] = count.get(printed, 0) + 1
            faults = [f"no file of docs/schemas for {name!r}"] if schema is None else list(schema.faults(value))
            if schema and schema.whole["$id"] != f"warpburg/{name}.{version}":
                faults.append(f"version {version}, {schema.whole['$id']} expected")
            if faults:
                wrong.setdefault(printed, f"{name}: {faults[0]}")
        for printed in count:
            self.judge(printed not in wrong, f"{printed}: {wrong.get(printed)}")

    def check_schemas(self) -> None:
        for name, schema in self.schemas.items():
            unmet = [m for m in members(schema.whole, "") if m not in schema.met and name + m not in RARE]
            self.judge(not unmet, f"docs/schemas/{name}.json: no object has {', '.join(unmet)}")
            for s in parts(schema.whole):
                self.judge(set(s) <= KNOWN, f"{name}: the validator does not know {set(s) - KNOWN}")
                for member, inner in s.get("properties", {}).items():
                    self.judge("description" in inner, f"{name}: {member} has no description")

    def check_refusals(self) -> None:
        """Of an object of each schema: without a member that is required, with one more, and with one of another type, it is no such object."""
        seen: Set[str] = set()
        for printed, name, _, value in self.objects:
            if name in seen or name not in self.schemas:
                continue
            seen.add(name)
            schema = self.schemas[name]
            wrong = [("without " + m, {k: v for k, v in value.items() if k != m}) for m in schema.whole["required"]]
            wrong += [("with a member more", {**value, "zz": 1}), *((f"with another {m}", {**value, m: {"zz": [2]}}) for m in value)]
            taken = [what for what, other in wrong if not list(Schema(schema.whole).faults(other))]
            self.judge(not taken, f"docs/schemas/{name}.json takes an object {', '.join(taken)}")

    def check_commands(self) -> None:
        names = re.findall(r"^  ([a-z-]+)  ", self.call("--help").stdout, re.M)
        inner = [f"rules {n}" for n in re.findall(r"^  ([a-z-]+)  ", self.call("rules", "--help").stdout, re.M)]
        for name in names + inner:
            if re.search(r"^ +--json", self.call(*name.split(), "--help").stdout, re.M):
                self.judge(any(" ".join(c).startswith(name + " ") for c in COMMANDS), f"{name} has --json, and no command of this suite")

    def check_by_package(self) -> None:
        try:
            import jsonschema
        except ImportError:
            print("skipped: validation by jsonschema, which this Python does not have")
            return
        for printed, name, _, value in self.objects:
            found = [e.message for e in jsonschema.Draft202012Validator(self.schemas[name].whole).iter_errors(value)] if name in self.schemas else ["no schema"]
            if found:
                self.judge(False, f"{printed}: jsonschema: {found[0]}")


def draft(values: List[Any]) -> Dict[str, Any]:
    """A schema that all values are valid by."""
    kinds = sorted({next(k for k in ("boolean", "null", "integer", "number", "string", "array", "object") if is_of(v, k)) for v in values})
    if "number" in kinds and "integer" in kinds:
        kinds.remove("integer")
    out: Dict[str, Any] = {"description": "", "type": kinds[0] if len(kinds) == 1 else kinds}
    objects = [v for v in values if isinstance(v, dict)]
    if objects:
        names = list(dict.fromkeys(n for v in objects for n in v))
        out["properties"] = {n: draft([v[n] for v in objects if n in v]) for n in names}
        out["required"] = [n for n in names if all(n in v for v in objects)]
        out["additionalProperties"] = False
    items = [x for v in values if isinstance(v, list) for x in v]
    if items:
        out["items"] = draft(items)
    return out


def main() -> int:
    p = argparse.ArgumentParser()
    p.add_argument("warpburg")
    p.add_argument("--draft")
    o = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        s = Suite(os.path.abspath(o.warpburg), Path(folder))
        s.print_all()
        s.write_all()
        if o.draft:
            found = [v for _, name, _, v in s.objects if name == o.draft]
            print(json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": f"warpburg/{o.draft}.1", **draft(found)}, indent=1))
            return 0
        s.validate()
        s.check_schemas()
        s.check_refusals()
        s.check_commands()
        s.check_by_package()
    print(f"{s.passed} passed, {s.failed} failed")
    return s.failed != 0


if __name__ == "__main__":
    sys.exit(main())
