"""Every instruction rule (llvm, intr, call, asm), alone, in the simulator: a kernel is made whose stored value is the rule's left side,
warpburg selects for it, and `warpburg ir --check` compares what its PTX gives with the reference meaning of the operations.

usage: python -m gen.simulate [--warpburg build/warpburg] [--target sm90].. [--rule TEXT] [--verbose]

One line a rule: `patterns/tiles.py:9 simulated(57344)`: so many results on each target that has the rule, over every type that the
rule's class has and every number of lanes that PACKED says; edge values in all combinations, then random bits. It must be this rule
that was selected. An instruction with a stated error is run as far off as the PTX manual allows. ptxas assembles every kernel for its
own target; without ptxas that is skipped, and said. What lower/ emits without a rule (load, store, pack, part, splat, index
arithmetic) is run as well, under the names `lower: ...`.

What this proves: operations on integers, comparisons, select and moves are written twice (gen/semantics.py, src/sim/ops_int.c); float
arithmetic, conversions and rounding twice (gen/semantics.py over the host's arithmetic; src/sim/soft.c and convert.c in integers).
Approximate instructions are the same libm functions on both sides, moved by noise: there the check is of the template, not of the
hardware's error.
"""
from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Sequence, Set, Tuple

from gen import lang, load, ops
from gen.lang import Expr, Lit, Node, Rule, Type, Var

THREADS = 1024
CONSTANTS = (0, 1, 2, 3, 5, 7, 8, 16, 31, 32, 63, 64, -1, 127, 255, 65535)
MAX_CONSTANTS = 4  # of those that a rule's conditions allow
FLAG_GUARDS = ("approx", "contract", "nnan", "nsz")


@dataclass
class Kernel:
    """One instance of a rule (or of lower/'s own work) as a kernel."""

    rule: str  # identity, or "lower: what"
    instance: str  # "add.bf16x2"
    text: str  # with @NAME for the kernel's name
    err: str = ""  # what follows `ir --err`


@dataclass
class Result:
    """What a rule came to on one target."""

    compared: int = 0
    kernels: int = 0
    every: bool = True  # all values that the operands may have were tried
    faults: List[str] = field(default_factory=list)


class NotMade(Exception):
    """A left side that no kernel can be made of."""


# --- kernels --------------------------------------------------------------------------------------------------------------------
def wide(t: Type, lanes: int) -> Type:
    return Type(t.name, t.lanes * lanes)


def bound(t: Type, binding: Dict[str, str]) -> Type:
    return Type(binding.get(t.name, t.name), t.lanes)


def classes(e: Expr) -> List[str]:
    """The type classes that a pattern names, in order of appearance."""
    found: List[str] = []
    for x in load.walk(e):
        for t in x.types if isinstance(x, Node) else ():
            if t.is_class and t.name not in found:
                found.append(t.name)
    return found


BYTES = {"i2": "i8", "i4": "i8", "u2": "u8", "u4": "u8", "f4e2m1fn": "u8"}  # types under 8 bits, and what stands for them in memory


def narrow(t: str, value: str) -> str:
    return f"bits.f4e2m1fn.u4(cvt.u4.u8({value}))" if t == "f4e2m1fn" else f"cvt.{t}.{BYTES[t]}({value})"


def widened(t: str, value: str) -> str:
    return f"cvt.u8.u4(bits.u4.f4e2m1fn({value}))" if t == "f4e2m1fn" else f"cvt.{BYTES[t]}.{t}({value})"


class Writer:
    """A left side as the text of an expression; every variable becomes a load of its own operand."""

    def __init__(self, binding: Dict[str, str], lanes: int, constants: Dict[str, int]) -> None:
        self.binding, self.lanes, self.constants = binding, lanes, constants
        self.operands: Dict[str, Type] = {}

    def type(self, t: Type) -> Type:
        return wide(bound(t, self.binding), self.lanes)

    def value(self, e: Expr, t: Type) -> str:
        if isinstance(e, Var):
            if e.kind == "const":
                return str(self.constants[e.name])
            if e.kind != "value":
                raise NotMade(f"{e.kind} variable {e}")
            if self.operands.setdefault(e.name, t) not in (t, Type(BYTES.get(t.name, "none"))):
                raise NotMade(f"{e} has two types")
            index = "t" if t.lanes == 1 else f"{t.lanes}*t"
            if t.name in BYTES:  # a byte each: bits of which one thread has a part are none to store
                self.operands[e.name] = Type(BYTES[t.name])
                return narrow(t.name, f"load %{e.name}[{index}]")
            return f"load{'' if t.lanes == 1 else '.' + str(t)} %{e.name}[{index}]"
        if isinstance(e, Lit):
            if isinstance(e.value, bool):
                return "true" if e.value else "false"
            cls = ops.TYPE_BY_NAME[t.name].cls
            return repr(float(e.value)) if cls == "F" else str(int(e.value))
        if not isinstance(e, Node):
            raise NotMade(f"{e} in a left side")
        name = ".".join([e.op.name, *(str(self.type(x)) for x in e.types), *sorted(e.flags, key=ops.FLAGS.index)])
        return f"{name}({', '.join(self.value(x, self.type(e.operand_type(i))) for i, x in enumerate(e.args))})"


def kernel_text(operands: Dict[str, Type], result: Type, value: str) -> str:
    """THREADS threads, each of which loads and stores whole vectors."""
    buffers = [f"%{n}: {t.name}[{THREADS * t.lanes}]" for n, t in operands.items()] + [f"%out: out {result.name}[{THREADS * result.lanes}]"]
    index = "t" if result.lanes == 1 else f"{result.lanes}*t"
    return (f"kernel @NAME({', '.join(buffers)}) block 128 grid {THREADS // 128} {{\n"
            f"  let t = 128*bid + tid in 0..{THREADS}\n  store %out[{index}], {value}\n}}\n")


def holds(c: Optional[lang.Cond], constants: Dict[str, int], width: int) -> bool:
    """A rule's conditions: relations of constants as they are; of the float contract what a node without flags has."""
    def number(e: Expr) -> int:
        if isinstance(e, Lit):
            return int(e.value)
        if isinstance(e, lang.Width):
            return width
        if isinstance(e, Var):
            return constants[e.name]
        if isinstance(e, lang.Arith):
            x, y = number(e.x), number(e.y)
            return {"+": lambda: x + y, "-": lambda: x - y, "*": lambda: x * y, "//": lambda: x // y, "%": lambda: x % y}[e.op]()
        raise NotMade(f"condition on {e}")

    def one(p: lang.Cond) -> bool:
        if isinstance(p, lang.Not):
            return not one(p.x)
        if isinstance(p, lang.Guard) and p.name in FLAG_GUARDS:
            return False
        if isinstance(p, lang.Relation):
            x, y = number(p.x), number(p.y)
            return {"==": x == y, "!=": x != y, "<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y}[p.rel]
        raise NotMade(f"condition {p}")

    try:
        return all(one(p) for p in lang.parts(c))
    except ZeroDivisionError:
        return False


def constants_of(r: Rule, width: int) -> Iterator[Dict[str, int]]:
    """Values of the constant variables that satisfy the conditions."""
    names = sorted({x.name for x in load.walk(r.left) if isinstance(x, Var) and x.kind == "const"})
    if not names:
        if holds(r.when, {}, width):
            yield {}
        return
    found = 0
    for k in range(len(CONSTANTS) ** len(names)):
        values = {n: CONSTANTS[k // len(CONSTANTS) ** i % len(CONSTANTS)] for i, n in enumerate(names)}
        if holds(r.when, values, width):
            yield values
            found += 1
            if found == MAX_CONSTANTS:
                return


def lanes_of(r: Rule, node: Node, binding: Dict[str, str], packed: Sequence[lang.Packed]) -> List[int]:
    """1, and for rules that match any number of lanes what vectorising may build of their root."""
    if r.kind not in ("llvm", "intr") or any(isinstance(x, Node) and any(t.lanes > 1 for t in x.types) for x in load.walk(r.left)):
        return [1]
    to, frm = binding.get(node.types[0].name, node.types[0].name), binding.get(node.types[-1].name, node.types[-1].name)
    return [1] + sorted({p.lanes for p in packed if (p.op, p.to, p.frm) == (node.op.name, to, frm)})


def err_text(r: Rule) -> str:
    """What an instruction itself may be off is tried, too; a function of libdevice adds its own to what its instructions may be off."""
    if r.err is None:
        return ""
    return f"{float(r.err)!r}{'ulp' if isinstance(r.err, lang.Ulp) else ''}" + (" --ulp-noise" if r.kind == "asm" else "")


def kernels_of(r: Rule, packed: Sequence[lang.Packed]) -> Iterator[Kernel]:
    if not isinstance(r.left, Node):
        raise NotMade(f"{r.left} is no operation")
    bindings: List[Dict[str, str]] = [{}]
    for c in classes(r.left):
        bindings = [{**b, c: t} for b in bindings for t in ops.CLASSES[c]]
    for binding in bindings:
        width = ops.TYPE_BY_NAME[next(iter(binding.values()), r.left.types[-1].name)].bits
        for lanes in lanes_of(r, r.left, binding, packed):
            for constants in constants_of(r, width):
                w = Writer(binding, lanes, constants)
                value = w.value(r.left, Type("pred"))
                result = w.type(r.left.result)
                name = value
                if result.name in BYTES:
                    value, result = widened(result.name, value), Type(BYTES[result.name])
                instance = name.split("(")[0] + "".join(f",{n}={v}" for n, v in constants.items())
                yield Kernel(r.name, instance, kernel_text(w.operands, result, value), err_text(r))


def kernels_of_lower() -> Iterator[Kernel]:
    """What lower/ emits by itself: accesses of 8 to 128 bits, lanes taken apart and put together, index arithmetic."""
    def one(what: str, operands: Dict[str, Type], result: Type, value: str) -> Kernel:
        return Kernel(f"lower: {what}", str(result), kernel_text(operands, result, value))

    for name in (t for t in ops.COMPUTE if t not in BYTES):
        bits = ops.TYPE_BY_NAME[name].bits
        for lanes in (1, 2, 4, 8, 16):
            t, x = Type(name, lanes), "load %a[t]" if lanes == 1 else f"load.{Type(name, lanes)} %a[{lanes}*t]"
            if bits * lanes > 128:
                continue
            yield one("load and store", {"a": t}, t, x)
            if lanes == 1:
                yield one("splat", {"a": t}, Type(name, 2), f"splat.{name}x2({x})")
                continue
            half = str(Type(name, lanes // 2))
            yield one("part and pack", {"a": t}, t, f"pack.{t}(part.{half}<{lanes // 2}>({x}), part.{half}<0>({x}))")
            yield one("part", {"a": t}, Type(name), f"part.{name}<{lanes - 1}>({x})")
    indices = ("t", "3*t + 5", "2047 - 2*t", "(5*t + 3) // 7", "(5*t + 3) % 7", "7*((3*t + 1) // 16) + (3*t + 1) % 16", "min.index(t, 100)",
               "max.index(2*t - 100, t)", "(t + 3*(t // 32)) % 33", "3000000000*t - 7", "(3000000000*t + 5) // 7", "(3000000000*t + 5) % 1000003",
               "4294967296*t + 4294967295", "max.index(3000000000*t - 500000000000, 0)", "-5*t - 1", "(9*t) // 3000000000")
    for to in ("i32", "u32", "i64", "u64"):
        for i in indices:
            yield one("index", {}, Type(to), f"idx.{to}({i})")
    for i in ("(t * 5 + 3) % 1024", "(t // 32) + 32*(t % 32)", "1023 - t", "min.index(t + 1, 1023)"):
        yield one("index of an access", {"a": Type("i16")}, Type("i16"), f"load %a[{i}]")
    for op in ("eq", "ne", "lt", "le", "gt", "ge"):
        for x, y in (("t", "500"), ("3000000000*t", "900000000000"), ("t % 32", "t // 32"), ("2*t - 1000", "t - 500")):
            yield one("index comparison", {}, Type("pred"), f"{op}.index({x}, {y})")


# --- runs --------------------------------------------------------------------------------------------------------------------------
def check(warpburg: str, target: str, folder: Path, files: List[Path], err: str) -> List[Dict[str, Any]]:
    """One process; an answer a file."""
    command = [warpburg, "ir", "--check", "--json", "--from", "width", "--target", target, "-o", str(folder / "ptx")]
    command += ["--err", *err.split()] if err else []
    p = subprocess.run(command + [str(f) for f in files], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    answers = [json.loads(line) for line in p.stdout.splitlines()]
    if len(answers) != len(files):
        stopped = files[len(answers)].read_text()
        return answers + [{"status": "failed", "message": f"warpburg stopped ({p.returncode}) at {stopped}{p.stderr[-500:]}"}] * (len(files) - len(answers))
    return answers


def judge(k: Kernel, answer: Dict[str, Any], result: Result) -> None:
    result.kernels += 1
    status = answer["status"]
    if status != "ok":
        what = answer.get("first") or answer.get("message", "")
        result.faults.append(f"{k.instance}: {status}: {what.strip()}")
        return
    if not k.rule.startswith("lower: ") and k.rule not in answer["rules"]:
        result.faults.append(f"{k.instance}: selected by {', '.join(answer['rules']) or 'nothing'}")
    if answer["compared"] == 0:
        result.faults.append(f"{k.instance}: nothing was compared")
    result.compared += answer["compared"]
    result.every = result.every and answer["all"]


def ptxas_of() -> Optional[str]:
    own = os.environ.get("WARPBURG_PTXAS")
    usual = "/usr/local/cuda/bin/ptxas"
    return own or shutil.which("ptxas") or (usual if os.path.exists(usual) else None)


def assemble(ptxas: str, target: str, folder: Path, batches: int) -> List[str]:
    """All kernels of a target, in a few modules; those with functions or constants of their own (libdevice's) each alone."""
    head, bodies, jobs = "", [], []
    for f in sorted((folder / "ptx").glob("*.ptx")):
        text = f.read_text()
        at = text.find(".visible .entry")
        if re.search(r"^\.(func|global|const|visible \.func)\b|^\.visible \.(global|const)", text[:at] if at >= 0 else text, re.M) or "\n.func" in text:
            jobs.append(f)
            continue
        head, body = text[:text.find("\n\t// .globl") if "\n\t// .globl" in text else at], text[at:]
        bodies.append(body)
    for i in range(batches):
        jobs.append(folder / f"all{i}.ptx")
        jobs[-1].write_text(head + "\n" + "\n".join(bodies[i::batches]))
    out = []
    for f in jobs:
        p = subprocess.run([ptxas, f"-arch={target}", "-O0", "-o", os.devnull, str(f)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if p.returncode:
            out.append(f"{target}: ptxas refuses {f.name}: {p.stdout.strip()[:800]}")
    return out


def simulate(warpburg: str, name: str, only: str = "", jobs: int = 2, assembled: bool = True) -> Tuple[Dict[str, Result], List[str]]:
    """A target's rules (`name` is its pattern file: sm90): results by identity, and what ptxas or the making of kernels said."""
    rules = load.load_target(name)
    target = rules.values["name"]
    kernels: List[Kernel] = []
    notes: List[str] = []
    results: Dict[str, Result] = {}
    vectors: Set[str] = set()  # what an earlier rule takes whole, lanes and all: cvt.f32x2.bf16x2
    for r in rules.strata["select"]:
        if only not in f"{r.name} {r.text}":
            continue
        results[r.name] = Result()
        try:
            made = list(kernels_of(r, rules.packed))
            kernels += [k for k in made if k.instance not in vectors]
            vectors |= {k.instance for k in made if r.kind in ("asm", "call") and "x" in k.instance.partition(".")[2]}
        except NotMade as e:
            results[r.name].faults.append(f"no kernel can be made of it: {e}")
    kernels += [k for k in kernels_of_lower() if only in k.rule]
    with tempfile.TemporaryDirectory(prefix="warpburg-") as tmp:
        folder = Path(tmp)
        groups: Dict[Tuple[str, int], List[Tuple[Kernel, Path]]] = {}
        for i, k in enumerate(kernels):
            path = folder / f"k{i}.ir"
            path.write_text(k.text.replace("@NAME", f"@k{i}"))
            groups.setdefault((k.err, 0 if k.err else i % jobs), []).append((k, path))
        with ThreadPoolExecutor(jobs) as pool:
            answers = pool.map(lambda g: check(warpburg, target, folder, [p for _, p in g[1]], g[0][0]), groups.items())
            for group, some in zip(groups.values(), answers):
                for (k, _), answer in zip(group, some):
                    judge(k, answer, results.setdefault(k.rule, Result()))
        ptxas = ptxas_of()
        if not assembled:
            pass
        elif ptxas is None:
            print(f"{target}: not assembled: ptxas is not here (WARPBURG_PTXAS)", file=sys.stderr)
        else:
            notes += assemble(ptxas, target, folder, jobs)
    for r in results.values():
        if r.kernels == 0 and not r.faults:
            r.faults.append("no kernel satisfies its conditions")
    return results, notes


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m gen.simulate")
    parser.add_argument("--warpburg", default="build/warpburg")
    parser.add_argument("--target", action="append", help="sm90 or sm_90; all if left out")
    parser.add_argument("--rule", default="", help="only rules whose identity or text holds this")
    parser.add_argument("--verbose", action="store_true", help="the number of kernels, too, and what lower/ emits by itself")
    args = parser.parse_args()
    by_rule: Dict[str, Result] = {}
    notes: List[str] = []
    failed = 0
    for name in [t.replace("_", "") for t in args.target or load.targets()]:
        results, said = simulate(args.warpburg, name, args.rule)
        notes += said
        for rule, r in results.items():
            for f in r.faults:
                print(f"{rule} failed on {name}: {f}")
            failed += bool(r.faults)
            before = by_rule.setdefault(rule, r)
            before.compared = min(before.compared, r.compared)
            before.faults = before.faults or r.faults
    for rule, r in by_rule.items():
        if not r.faults and (args.verbose or not rule.startswith("lower: ")):
            print(f"{rule} simulated({r.compared})" + (f"  {r.kernels} kernels" + (", all values" if r.every else "") if args.verbose else ""))
    for n in notes:
        print(n)
    ok = sum(not r.faults for r in by_rule.values())
    print(f"{ok} passed, {failed + len(notes)} failed", file=sys.stderr)
    return int(failed + len(notes) > 0)


if __name__ == "__main__":
    sys.exit(main())
