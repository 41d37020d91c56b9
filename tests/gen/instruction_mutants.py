"""Wrong instruction rules are found: the template of each rule of a target is replaced by a wrong one (operands swapped, another opcode,
predicate, function, constant or rounding), the compiler takes that table, and gen/proof/simulate.py must refuse the rule.

usage: instruction_mutants.py BUILD [--target sm90] [--verbose]        BUILD: a build folder, whose compiler is used

All rules are mutated in one table, since each is simulated in kernels of its own. There are two exceptions, whose mutants are in a second one: rules
that widen a type under 8 bits, which kernels of other rules use to store results; and rules that ask for a fact, whose kernels compute with other rules
where it holds.
"""
from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Dict, List, Optional, Tuple

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "common")]
sys.dont_write_bytecode = True

from gen import gen_tables, load, structs  # noqa: E402
from gen.proof import simulate, tables, tile_kernels  # noqa: E402
from gen.lang import Node, Rule  # noqa: E402

LLVM: Dict[str, str] = {
    "fadd": "fsub", "fsub": "fsub(%b, %a)", "fmul": "fadd", "fdiv": "fdiv(%b, %a)", "add": "sub", "sub": "sub(%b, %a)", "mul": "add", "and": "or",
    "or": "xor", "xor": "or", "shl": "lshr", "lshr": "ashr", "ashr": "lshr", "sdiv": "udiv", "udiv": "sdiv", "srem": "urem", "urem": "srem",
    "select": "select(%a, %c, %b)", "sext": "zext", "zext": "sext", "sitofp": "uitofp", "uitofp": "sitofp",
    "fcmp oeq": "fcmp ueq", "fcmp une": "fcmp one", "fcmp olt": "fcmp ole", "fcmp ole": "fcmp ule", "fcmp ogt": "fcmp olt", "fcmp oge": "fcmp ogt",
    "icmp eq": "icmp uge", "icmp ne": "icmp ugt", "icmp slt": "icmp sle", "icmp sle": "icmp ule", "icmp sgt": "icmp ugt", "icmp sge": "icmp sgt",
    "icmp ult": "icmp slt", "icmp ule": "icmp ult", "icmp ugt": "icmp uge", "icmp uge": "icmp sge",
}
INTR: Dict[str, str] = {
    "llvm.fma": "llvm.fma(%a, %c, %b)", "llvm.fabs": "llvm.floor", "llvm.maximum": "llvm.maxnum", "llvm.minimum": "llvm.minnum", "llvm.sqrt": "llvm.fabs",
    "llvm.floor": "llvm.ceil", "llvm.ceil": "llvm.floor", "llvm.roundeven": "llvm.round", "llvm.round": "llvm.roundeven", "llvm.smax": "llvm.umax",
    "llvm.smin": "llvm.umin", "llvm.umax": "llvm.smax", "llvm.umin": "llvm.smin", "llvm.ctpop": "llvm.ctlz(%a, i1 0)",
    "llvm.ctlz(%a, i1 0)": "llvm.cttz(%a, i1 0)", "llvm.abs(%a, i1 0)": "llvm.bitreverse",
    "llvm.nvvm.f2i.rz": "llvm.nvvm.f2ui.rz", "llvm.nvvm.f2ui.rz": "llvm.nvvm.f2i.rz", "llvm.nvvm.f2ll.rz": "llvm.nvvm.f2ull.rz",
    "llvm.nvvm.f2ull.rz": "llvm.nvvm.f2ll.rz", "llvm.nvvm.d2i.rz": "llvm.nvvm.d2ui.rz", "llvm.nvvm.d2ui.rz": "llvm.nvvm.d2i.rz",
    "llvm.nvvm.d2ll.rz": "llvm.nvvm.d2ull.rz", "llvm.nvvm.d2ull.rz": "llvm.nvvm.d2ll.rz",
}
CALL: Dict[str, str] = {
    "exp": "exp2", "expm1": "exp", "log": "log2", "log1p": "log", "tanh": "erf", "tan": "sin", "sin": "cos", "cos": "sin", "sinh": "asinh", "cosh": "exp",
    "asin": "atan", "acos": "asin", "asinh": "sinh", "acosh": "log", "atanh": "tanh", "erf": "tanh", "cbrt": "sqrt", "pow": "atan2", "atan2": "pow",
    "fmod": "remainder", "rsqrt": "rcbrt",
}
ASM = [  # the first that applies is used
    ("fma.rn.sat", "fma.rn"), ("mul.rn.sat", "mul.rz.sat"), ("add.rn.sat", "sub.rn.sat"), ("cvt.sat.f32", "cvt.f32"),
    ("mul.hi", "mul.lo"), ("%a, %b;", "%b, %a;"), ("rsqrt.approx", "sqrt.approx"), ("sqrt.approx", "rsqrt.approx"), ("tanh.approx", "ex2.approx"),
    ("ex2.approx", "lg2.approx"), ("lg2.approx", "ex2.approx"),
    ("sin.approx", "cos.approx"), ("cos.approx", "sin.approx"), ("-65536", "-65535"), ("cvt.rn.f64.s64", "cvt.rz.f64.s64"),
    ("cvt.rn.f64.u64", "cvt.rz.f64.u64"), (".s32 %d", ".u32 %d"), (".u32 %d", ".s32 %d"), ("l, %a, 16", "l, %a, 15"),
]


WRITTEN = [  # by hand: left side, kernel that must notice, text. Subnormals flushed, nan dropped, rounding, operands of a sign
    ("add.F(a, b)", "add.f32", "add.ftz.f32 %d, %a, %b;"), ("add.F(a, b)", "add.f32", "add.rz.f32 %d, %a, %b;"),
    ("sub.F(a, b)", "sub.f32", "sub.ftz.f32 %d, %a, %b;"), ("sub.F(a, b)", "sub.f32", "sub.rm.f32 %d, %a, %b;"),
    ("mul.F(a, b)", "mul.f32", "mul.ftz.f32 %d, %a, %b;"), ("mul.F(a, b)", "mul.f32", "mul.rn.sat.f32 %d, %a, %b;"),
    ("fma.f32(a, b, c)", "fma.f32", "fma.rn.ftz.f32 %d, %a, %b, %c;"),
    ("fma.f32(a, b, c)", "fma.f32", "{ .reg .f32 h; mul.rn.f32 h, %a, %b; add.rn.f32 %d, h, %c; }"),
    ("fma.f64(a, b, c)", "fma.f64", "{ .reg .f64 h; mul.rn.f64 h, %a, %b; add.rn.f64 %d, h, %c; }"),
    ("max.F(a, b)", "max.f32", "max.f32 %d, %a, %b;"), ("max.F(a, b)", "max.f32", "max.ftz.NaN.f32 %d, %a, %b;"),
    ("min.F(a, b)", "min.f32", "min.f32 %d, %a, %b;"), ("min.F(a, b)", "min.f64", "min.f64 %d, %a, %b;"),
    ("abs.F(a)", "abs.f32", "abs.ftz.f32 %d, %a;"), ("neg.F(a)", "neg.f32", "neg.ftz.f32 %d, %a;"),
    ("neg.F(a)", "neg.f32", "sub.rn.f32 %d, 0f00000000, %a;"),
    ("div.f32(a, b)", "div.f32", "div.rn.ftz.f32 %d, %a, %b;"),
    ("sqrt.f32(a)", "sqrt.f32", "sqrt.rn.ftz.f32 %d, %a;"),
    ("floor.f32(a)", "floor.f32", "cvt.rzi.f32.f32 %d, %a;"), ("round_even.f32(a)", "round_even.f32", "cvt.rpi.f32.f32 %d, %a;"),
    ("cvt.i32.f32(a)", "cvt.i32.f32", "cvt.rni.s32.f32 %d, %a;"), ("cvt.u32.f32(a)", "cvt.u32.f32", "cvt.rzi.s32.f32 %d, %a;"),
    ("copysign.f32(a, b)", "copysign.f32", "copysign.f32 %d, %a, %b;"),
]


def mutant(kind: str, text: str) -> Optional[str]:
    if kind == "llvm":
        return LLVM.get(text)
    if kind == "intr":
        return INTR.get(text)
    if kind == "lookup":
        return None  # a lookup table: the tests of the functions that use it cover each of its words
    if kind == "call":
        name = text[len("__nv_"):]
        single = name not in CALL and name.endswith("f")
        if name in ("sinf", "cosf", "tanf"):  # by sin.approx and cos.approx, which are right where the simulator does not move them
            return f"__nv_fast_{name}"
        other = CALL.get(name[:-1] if single else name)
        return f"__nv_{other}{'f' if single else ''}" if other else None
    return next((text.replace(a, b, 1) for a, b in ASM if a in text), None)


def widens(rule: Rule) -> bool:
    return isinstance(rule.left, Node) and rule.left.op.name == "cvt" and rule.left.types[0].name == "N" and rule.left.types[-1].name in ("I4", "U4")


class Tables:
    """The tables of a target, with other texts in rows of instructions."""

    def __init__(self, build: Path, target: str, folder: Path) -> None:
        made, faults = gen_tables.made(load.load_index(), [load.load_target(target)], own=True, check=False)
        if made is None:
            raise SystemExit("\n".join([*faults, "0 passed, 1 failed"]))
        self.build, self.folder, self.tables, self.rows = build, folder, made, made.engines[target]["instrs"]

    def program(self, others: Dict[int, Tuple[str, str]]) -> Path:
        """The compiler with these kinds and texts, by number of the row."""
        kept = [list(row) for row in self.rows]
        for n, (kind, text) in others.items():
            self.rows[n][0], self.rows[n][3] = structs.KIND[kind], text
        out = tables.made(self.folder, self.build, self.tables.bytes()) / "warpburg"
        self.rows[:] = kept
        return out


def written(made: Tables, target: str, places: Dict[str, int]) -> List[str]:
    """Runs the texts of WRITTEN, as many tables as one left side has texts. Returns messages about those that nothing notices."""
    out = []
    left = [(places[x], instance, text) for x, instance, text in WRITTEN]
    while left:
        now = {row: (instance, text) for row, instance, text in reversed(left)}  # the first text of each
        left = [x for x in left if now[x[0]] != x[1:]]
        program = made.program({n: ("asm", text) for n, (_, text) in now.items()})
        wanted = {instance for instance, _ in now.values()}
        kernels = [k for k in tile_kernels.kernels_on(target, "")[0] if k.instance in wanted]
        faults = {k.instance for k, r in simulate.simulate(str(program), target.replace("sm", "sm_"), kernels, assembled=False)[0].items() if r.faults}
        out += [f"{instance}: {text}: not noticed" for instance, text in now.values() if instance not in faults]
    return out


def run(program: Path, name: str, only: str = "") -> Dict[str, simulate.Result]:
    """The results by rule on a target, of all rules or those whose name holds `only`."""
    kernels, faults = tile_kernels.kernels_on(name, only)
    results = simulate.by_rule(simulate.simulate(str(program), name.replace("sm", "sm_"), kernels, assembled=False)[0])
    return {**results, **{rule: simulate.Result(faults=[f]) for rule, f in faults.items()}}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--target", default="sm90")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    build = Path(args.build).resolve()
    done: Dict[str, str] = {}
    wrong: Dict[int, Tuple[str, str]] = {}
    without = 0
    with tempfile.TemporaryDirectory(prefix="warpburg-") as tmp:
        made = Tables(build, args.target, Path(tmp))
        rules = made.tables.targets[0].phases["isel"]
        for n, rule in enumerate(rules):
            other = mutant(rule.kind, str(rule.right))
            if other is None:
                without += 1
                continue
            wrong[n] = rule.kind, other
            done[rule.name] = f"{rule.right} -> {other}"
        second = {n for n, rule in enumerate(rules) if widens(rule) or tile_kernels.facts_of(rule)}
        facts = {rule.name for rule in rules if tile_kernels.facts_of(rule)}
        results = run(made.program({n: x for n, x in wrong.items() if n not in second}), args.target)
        apart = [rules[n].name for n in sorted(second & set(wrong))]
        refused = {r: x.faults[0] for r, x in results.items() if x.faults and r not in facts and (r not in done or r in apart)}
        out = made.program({n: x for n, x in wrong.items() if n in second})
        for r in apart:
            results[r] = run(out, args.target, only=r)[r]
        unseen = written(made, args.target, {str(rule.left): n for n, rule in enumerate(rules)})
    survivors = [r for r in done if not results[r].faults]
    for r in done:
        if args.verbose and r not in survivors:
            print(f"{r}: {done[r]}: {results[r].faults[0][:160]}")
    for r in survivors:
        print(f"{r}: {done[r]}: not noticed")
    for r, said in refused.items():
        print(f"{r}: refused, though it was not mutated: {said[:200]}")
    print("\n".join(unseen), end="\n" if unseen else "")
    print(f"{len(done)} wrong instruction rules of {args.target}, {len(WRITTEN)} by hand; {without} rules have no mutant (casts with a single opcode)")
    print(f"{len(done) - len(survivors) + len(WRITTEN) - len(unseen)} passed, {len(survivors) + len(refused) + len(unseen)} failed")
    return int(bool(survivors or refused or unseen))


if __name__ == "__main__":
    sys.exit(main())
