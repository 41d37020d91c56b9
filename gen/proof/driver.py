"""Builds and runs the C program that proofs run on: driver.c with the reference semantics of src/scalar.

The program depends on the meanings of operations (ops.py, semantics.py, src/scalar), not on rules, which are its input. It is kept in a
folder of build/prove/ that is named by a hash of its sources.

    results = run([Job(terms, modes), ...])      # one Result each
"""
from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import List, Optional, Sequence, Tuple

from gen import gen_scalar, ops, semantics
from gen.proof.code import EXACT, Terms, width

ROOT = Path(__file__).resolve().parents[2]
BUILT_FROM = ("src/base/base.h", "src/scalar/round.c", "src/scalar/round.h", "src/scalar/scalar.c", "src/scalar/scalar.h")
KINDS = ("scalar literal int of to add sub mul cdiv cmod floordiv mod min max eq ne lt le gt ge nudge function garbage cpart cref").split()
KIND = {k: n for n, k in enumerate(KINDS)}
TYPENUM = {**{t.name: n for n, t in enumerate(ops.TYPES)}, EXACT: 200,
           **{f"i{w}": 100 + w for w in (1, 3, 5, 6, 7)}, **{f"u{w}": 110 + w for w in (1, 3, 5, 6, 7)}}
TYPENUM["side"] = TYPENUM["i8"]
OPNUM = {o.name: n for n, o in enumerate(ops.OPS)}
NARROW = range(1, 8)
WORKERS = 2


@dataclass(frozen=True)
class Domain:
    """The values of a variable. all: every value of its type; list: `values`; sample: `values` and random ones; side: `values`, of which
    those other than 0 move an inexact result; range: (first, number)."""

    mode: str  # all list sample side range
    values: Tuple[int, ...] = ()
    more: Tuple[int, ...] = ()  # tried too, but not in all combinations with other variables


@dataclass
class Job:
    terms: Terms
    domains: List[Domain]
    samples: int = 0
    first: bool = False  # stop at the first case that fails
    seed: int = 1


@dataclass
class Result:
    ok: bool
    cases: int = 0
    exhaustive: bool = False
    worst: float = 0  # largest error in units in the last place
    own: float = 0  # the same with the functions on the right side exact
    why: int = -2  # index in terms.bad, or -1 if the sides differ
    values: List[str] = field(default_factory=list)  # of all registers: hexadecimal "high:low", or "~decimal"
    unmet: List[int] = field(default_factory=list)  # registers of conditions that no case met; ~register: none failed it


# --- meanings at narrow widths ---------------------------------------------------------------------------------------------------
def narrow_c() -> str:
    out = ['#include "narrow.h"\n#include "scalar/round.h"\n',
           semantics.NARROW]
    rows: List[str] = []
    for o in ops.OPS:
        for signed in (True, False) if o.sig in ("same", "compare") else ():
            text = semantics.MEANING.get(o.name, {}).get("I" if signed else "U")
            for w in NARROW if text else ():
                assert text
                t, keep = ("int8_t", "SIGNED") if signed else ("uint8_t", "UNSIGNED")
                name, number = f"{o.name}_{'iu'[not signed]}{w}", 100 + w + (0 if signed else 10)
                meaning = semantics.narrow_text(text, w, signed)
                result = f"(uint8_t)({meaning})" if o.sig == "compare" else f"{keep}({w}, {meaning})"
                fetch = "".join(f" const {t} {x} = (({t} const *)p{x})[i];" for x in "abc"[:o.arity])
                unused = "".join(f" (void)p{x};" for x in "abc"[o.arity:])
                out.append(f"static void {name}(size_t n, void *r, const void *pa, const void *pb, const void *pc)\n"
                           f"{{{unused}\n    for (size_t i = 0; i < n; i++) {{{fetch} (({'uint8_t' if o.sig == 'compare' else t} *)r)[i] = {result}; }}\n}}\n")
                rows.append(f"    case OP_{o.name.upper()} * 256 + {number}: return {name};\n")
    out.append("ScLoop narrow_loop(int op, int type)\n{\n    if (op == OP_SELECT) return sc_loop(OP_SELECT, SC_U8, SC_U8);\n"
               "    switch (op * 256 + type) {\n" + "".join(rows) + "    default: return 0;\n    }\n}\n")
    return "".join(out)


def program() -> Path:
    """The path of the driver, which is built if it does not exist."""
    tables = gen_scalar.tables_c().split("/* plain, then with approx */")[0]  # budgets are part of the input
    texts = {"sc_tables.h": gen_scalar.tables_h(), "sc_tables.c": tables, "sc_functions.c": gen_scalar.functions_c(), "narrow.c": narrow_c(),
             "narrow.h": '#include "scalar/scalar.h"\nScLoop narrow_loop(int op, int type);\n'}
    driver = Path(__file__).with_name("driver.c")
    own = [driver, driver.with_name("float_reference.h"), driver.with_name("complex_reference.h"), driver.with_name("random_values.h")]
    digest = hashlib.sha256()
    for text in [*texts.values(), *(f.read_text() for f in (*own, *(ROOT / f for f in BUILT_FROM)))]:
        digest.update(text.encode())
    where = Path(os.environ.get("WARPBURG_PROVE", ROOT / "build" / "prove")) / digest.hexdigest()[:16]
    done = where / "prove_driver"
    if done.exists():
        return done
    where.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (where / name).write_text(text)
    flags = ["-std=c11", "-D_POSIX_C_SOURCE=200809L", "-ffp-contract=off", "-fno-trapping-math", "-fno-math-errno", "-w",
             "-I", str(where), "-I", str(ROOT / "src"), "-I", str(driver.parent)]
    sources = [("-O2", where / "sc_functions.c"), ("-O1", where / "narrow.c"), ("-O2", driver), ("-O1", where / "sc_tables.c"),
               *(("-O1", ROOT / f) for f in BUILT_FROM if f.endswith(".c"))]
    objects = [where / f"{path.stem}.o" for _, path in sources]

    def compile_one(job: Tuple[Tuple[str, Path], Path]) -> None:
        (level, path), to = job
        cc(["-c", level, *flags, str(path), "-o", str(to)])

    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(compile_one, zip(sources, objects)))
    made = where / f"prove_driver.{os.getpid()}"
    cc([*map(str, objects), "-lm", "-o", str(made)])
    made.rename(done)
    return done


def cc(args: List[str]) -> None:
    p = subprocess.run([*shlex.split(os.environ.get("CC", "cc")), *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if p.returncode:
        raise RuntimeError(f"the prover does not compile:\n{p.stdout}")


# --- jobs --------------------------------------------------------------------------------------------------------------------------
def job_text(number: int, job: Job) -> str:
    t = job.terms
    out = [f"J {number} {int(job.first)} {job.samples} {job.seed}"]
    for name, d in zip(t.types, job.domains):
        mode, values = ("all", "list", "sample", "side", "range").index(d.mode), d.values + d.more
        out.append(f"V {TYPENUM[name]} {mode} {len(values)} {len(d.values)} {' '.join(f'{v:x}' for v in values)}")
    for i in t.code:
        a, b, c = (list(i.args) + [-1] * 3)[:3]
        line = f"I {KIND[i.kind]} {OPNUM.get(i.op, 0)} {TYPENUM[i.type]} {TYPENUM.get(i.frm, 0)} {a} {b} {c}"
        if i.kind in ("cpart", "cref"):  # a third and fourth operand, the part
            line += f" {(list(i.args) + [-1] * 4)[3]} {i.imm}"
        if i.kind == "nudge":
            line += " %.17g %.17g %.17g" % i.error
        out.append(line + (f" {i.imm:x}" if i.kind in ("literal", "int") else ""))
    out += [f"P {r}" for r in t.pre] + [f"B {r}" for r, _ in t.bad]
    contract = ("equal", "ulp", "zeros", "complex").index(t.contract)
    out.append(f"E {t.left} {t.right} {contract} {t.budget[0]:.17g} {t.budget[1]:.17g}")
    return "\n".join(out) + "\n"


def parse(line: str, result: List[Optional[Result]]) -> None:
    words = line.split()
    if words[0] == "ok":
        result[int(words[1])] = Result(True, int(words[2]), words[3] == "1", float(words[4]), float(words[5]), unmet=list(map(int, words[6:])))
    else:
        result[int(words[1])] = Result(False, why=int(words[2]), values=words[4:])


def run(jobs: Sequence[Job]) -> List[Result]:
    """Runs all jobs on WORKERS processes. The results are in the order of the jobs."""
    if not jobs:
        return []
    driver = program()
    results: List[Optional[Result]] = [None] * len(jobs)

    def work(share: int) -> None:
        text = "".join(job_text(n, jobs[n]) for n in range(share, len(jobs), WORKERS * 8))
        p = subprocess.run([str(driver)], input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if p.returncode:
            raise RuntimeError(f"prove_driver: {p.stderr.strip()}")
        for line in p.stdout.splitlines():
            parse(line, results)

    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(work, range(min(len(jobs), WORKERS * 8))))
    return [r if r is not None else Result(False) for r in results]


def size(name: str) -> int:
    """The number of values of a type."""
    return 1 << width(name)
