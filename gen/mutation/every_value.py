"""Judges over every value the mutants that samples cannot tell from their rule, if the operands of the rule, or of a part, have at most 32 bits.

A part around the change that has no inexact instruction and the same bits at every value makes the mutant equal to its rule. Otherwise the
rule and its mutants become one C function, which computes what they share once. It runs over all values of the operands, and for each over
all directions in which inexact results may be moved. Where a mutant gives another value than the rule, it is wrong if the sides of the rule
must be equal; in a function's rule its error against a reference in double is compared with the errors in the ledger. That takes minutes a
rule, so `python -m gen.mutation.mutate --every` writes the results to patterns/mutants.txt, which is committed. A line of it:

    383edf1af7a6 equal  patterns/polynomials.py:375: add is sub
"""
from __future__ import annotations

import hashlib
import itertools
import re
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from gen import gen_scalar, ledger, load, ops, semantics
from gen.proof import driver, prove, z3_bits
from gen.lang import Node, Rule
from gen.mutation.mutants import Mutant
from gen.mutation.equivalent import places
from gen.proof.code import EXACT, Ins, Terms, cls, width
from gen.proof.sides import build

BITS, MOST_MOVED = 32, 2
BITS_TOO = "bits"  # a contract: the same bits, also of nans
FIRST = 100_003  # one value in so many is tried before all are
WORKERS = 2
STEPS = "steps"
HEAD = """# Mutants that samples do not tell from their rules, judged over every value: `python -m gen.mutation.mutate --every` writes this,
# --again judges every line anew. The key is made from what the rule means, the errors that it states,
# and the change. equal: the same at every value; right: off by no more than the rule states; killed: wrong at some value; steps: right at every
# significand of the divisor, with each estimate that the manual allows (the suite significands with the change in the rule), for rules of two operands.
"""
RELATIONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
FLOAT = {"f32": "float", "f64": "double"}


def path() -> Path: return load.root / "patterns" / "mutants.txt"


def read() -> Dict[str, Tuple[str, str]]:
    lines = path().read_text().splitlines() if path().exists() else []
    found = (re.match(r"([0-9a-f]{12}) (\w+)  (.*)", x) for x in lines)
    return {f.group(1): (f.group(2), f.group(3)) for f in found if f}


def write(lines: Dict[str, Tuple[str, str]]) -> None:
    path().write_text(HEAD + "".join(f"{k} {state}  {text}\n" for k, (state, text) in sorted(lines.items(), key=lambda x: (x[1][1], x[0]))))


# --- terms as C ---------------------------------------------------------------------------------------------------------------------
class Body:
    """C statements for the registers of several Terms; equal registers have one statement."""

    def __init__(self) -> None:
        self.lines: List[str] = []
        self.known: Dict[Any, str] = {}

    def name(self, what: Any, t: str, text: str) -> str:
        if what not in self.known:
            self.known[what] = f"r{len(self.known)}"
            self.lines.append(f"        const {stored(t)} {self.known[what]} = {text};")
        return self.known[what]

    def registers(self, t: Terms) -> List[str]:
        """Names of all registers."""
        names, types = [], []
        for n, x in enumerate(t.types):
            names.append(f"v{n}")
            types.append(x)
        for n, i in enumerate(t.code):
            r = len(t.types) + n
            kind = t.type_of(r)
            types.append(kind)
            args = [names[a] for a in i.args]
            arg_types = [types[a] for a in i.args]
            origin = (t.code[i.args[0] - len(t.types)], [names[a] for a in t.code[i.args[0] - len(t.types)].args]) if i.kind == "nudge" else None
            text = "0" if i.kind == "function" else statement(i, kind, args, arg_types, origin)
            names.append(self.name((i.kind, i.type, i.op, i.frm, i.imm, i.error, tuple(args)), kind, text))
        return names


def stored(t: str) -> str:
    return "__int128" if t == EXACT else "uint8_t" if t == "pred" else semantics.NATIVE[t].store


def literal(i: Ins) -> str:
    if i.type in FLOAT:
        return f"sc_{FLOAT[i.type]}_of_bits(UINT64_C({i.imm}))"
    return f"({stored(i.type)})UINT64_C({i.imm})"


def statement(i: Ins, kind: str, args: Sequence[str], types: Sequence[str], origin: Any) -> str:
    if i.kind == "literal":
        return literal(i)
    if i.kind == "nudge":
        made, operands = origin
        exact = {"exp2z": "exp2", "log2z": "log2", "rcpz": "1 / ", "rsqrtz": "1 / sqrt"}.get(made.op if made.kind == "scalar" else "")
        if exact is None or i.error[1] or i.error[2]:
            raise NotImplementedError(i.op)
        return f"nudged_{i.type}({args[0]}, {exact}((double){operands[0]}), {args[1]}, {i.error[0]!r})"
    if i.kind in ("int", "of"):
        return f"(__int128){args[0] if args else i.imm}"
    if i.kind == "garbage":
        return f"isnan({args[1]}) ? ({stored(i.type)})UINT64_C(0xa5a5a5a5a5a5a5a5) : {args[0]}"
    if i.kind in RELATIONS:
        return f"{args[0]} {RELATIONS[i.kind]} {args[1]}"
    if i.kind != "scalar":
        raise NotImplementedError(i.kind)
    return scalar(i, args, types)


def scalar(i: Ins, args: Sequence[str], types: Sequence[str]) -> str:
    if i.op == "select":
        return f"{args[0]} ? {args[1]} : {args[2]}"
    if i.op == "bits":
        return f"({{ {stored(i.type)} to; memcpy(&to, &{args[0]}, sizeof to); to; }})"
    load_one = lambda t, wide: gen_scalar.load_store(t, wide)
    if i.op in z3_bits.TABLES:
        return f"{i.op}[(uint32_t){args[0]} & {z3_bits.TABLES[i.op] - 1}]"
    if i.op == "cvt":
        operand, expr = semantics.conversion(i.type, i.frm)
        return f"({{ const {operand} a = {load_one(i.frm, False)[0]}({args[0]}); (void)a; {expr}; }})"
    m = semantics.meaning(i.op, i.type)
    if m is None:
        raise NotImplementedError(i.op)
    load_name, store_name = load_one(i.type, m.wide)
    if ops.OP_BY_NAME[i.op].sig in ("compare", "test") or i.type == "pred":
        store_name = "AS_PRED"
    inside = " ".join(f"const {m.operand} {x} = {load_name}({a});" for x, a in zip("abc", args))
    return f"({{ {inside} {store_name}({m.expr}); }})"


PROGRAM = r"""
#include "scalar/round.h"
#include "scalar/scalar.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define AS_IS(x) (x)
#define AS_PRED(x) ((uint8_t)(x))
#define AS_F32(x) ((float)(x))
#define AS_F64(x) ((double)(x))
enum { MUTANTS = %(count)d, BITS = %(fraction)d, LEAST = %(least)d };


/* The results that an inexact instruction may give, as in driver.c. */
static inline double nudged_f64(double v, double e, int side, double share)
{
    if (!side || !isfinite(v) || v == 0) return v;
    const double next = nextafter(fabs(v), INFINITY) - fabs(v), exact = fabs(e - v) <= next ? e : v;
    return exact + side * (fabs(exact) * share);
}

static inline float nudged_f32(float v, double e, int side, double share)
{
    if (!side || !isfinite(v) || v == 0) return v;
    const double next = (double)(nextafterf(fabsf(v), INFINITY) - fabsf(v)), exact = fabs(e - (double)v) <= next ? e : (double)v;
    const double moved = exact + side * (fabs(exact) * share);
    const float got = (float)moved;
    if (fabs((double)got - exact) > fabs(moved - exact) && (got < 0) == (v < 0) && got != 0 && got != v)
        return sc_float_of_bits(sc_bits_of_float(got) + (fabsf(got) > fabsf(v) ? UINT32_MAX : 1));
    return got;
}

/* The error of v in units in the last place of the exact y; -1 where v is a wrong special value. */
static double away(double v, double y, double largest)
{
    if (isnan(y) || isnan(v)) return isnan(y) && isnan(v) ? 0 : -1;
    int e = 0;
    const double top = fabs(y) > largest ? largest : fabs(y);
    frexp(top, &e);
    double unit = ldexp(1, top == 0 || e - 1 - BITS < LEAST ? LEAST : e - 1 - BITS);
    frexp(top + unit / 2, &e);
    unit = ldexp(1, e - 1 - BITS < LEAST ? LEAST : e - 1 - BITS);
    const double limit = largest + ldexp(1, ilogb(largest) - BITS);
    const double want = fabs(y) > limit ? copysign(limit, y) : y, got = isinf(v) ? copysign(limit, v) : v;
    return fabs(got - want) / unit;
}

static uint32_t two_over_pi[64];
static uint64_t two_over_pi_part[128];
static double worst[MUTANTS][2], before[MUTANTS][2]; /* errors without and with moved results; those of the rule at the same values */
static uint64_t others[MUTANTS], wrong[MUTANTS];

/* Records that mutant n gives v where the rule gives `was`; y is the exact result. */
static void differs(int n, double v, double was, double y, int moved, int function, int same)
{
    others[n]++;
    const double off = !same ? -1 : function ? away(v, y, %(largest)s) : 0;
    if (off < 0) wrong[n]++;
    else worst[n][moved] = fmax(worst[n][moved], off);
    if (function) before[n][moved] = fmax(before[n][moved], away(was, y, %(largest)s));
}

int main(int argc, char **argv)
{
    (void)argc;
    const uint64_t first = strtoull(argv[1], 0, 10), last = strtoull(argv[2], 0, 10), step = strtoull(argv[3], 0, 10);
    for (uint32_t n = 0; n < 64; n++) two_over_pi[n] = sc_two_over_pi(n);
    for (uint32_t n = 0; n < 128; n++) two_over_pi_part[n] = sc_two_over_pi_part(n);
    for (uint64_t u = first; u < last; u += step) {
        const int moved = 0 %(moved)s;
%(values)s
%(body)s
    }
    for (int n = 0; n < MUTANTS; n++)
        printf("%%d %%llu %%llu %%.17g %%.17g %%.17g %%.17g\n", n, (unsigned long long)others[n], (unsigned long long)wrong[n],
               worst[n][0], worst[n][1], before[n][0], before[n][1]);
    return 0;
}
"""
REFERENCE = {"logistic": "1 / (1 + exp(-{0}))", "rsqrt": "1 / sqrt({0})", "rcp": "1 / {0}", "div": "{0} / {1}"}
FORMAT = {"f32": (23, -149, "0x1.fffffep127"), "f16": (10, -24, "65504.0"), "bf16": (7, -133, "0x1.fep127")}


def as_double(name: str, t: str) -> str:
    return f"(double)sc_{t}_to_float({name})" if t in ("f16", "bf16") else f"(double){name}"


def source(rule: Terms, others: Sequence[Terms], side: Sequence[int]) -> str:
    """A program that runs the rule and its mutants with inexact instructions moved to the given sides."""
    b = Body()
    names, t = b.registers(rule), rule.type_of(rule.right)
    right, left, out = names[rule.right], names[rule.left], []
    nan = (lambda x: f"isnan({as_double(x, t)})") if cls(t) == "F" and rule.contract != BITS_TOO else (lambda x: "0")
    alike = lambda x, y: f"(!memcmp(&{x}, &{y}, sizeof {x}) || ({nan(x)} && {nan(y)}))"
    i = rule.code[rule.left - len(rule.types)] if rule.contract == "ulp" else None
    args = [as_double(names[a], rule.type_of(a)) for a in i.args] if i else []
    y = (REFERENCE.get(i.op) or f"{i.op}({', '.join(f'{{{k}}}' for k in range(len(args)))})").format(*args) if i else "0"
    for n, m in enumerate(others):
        registers = b.registers(m)
        own, outside = registers[m.right], "".join(f" || {registers[r]}" for r, _ in m.bad)
        out.append(f"        if (!{alike(own, right)}{outside}) "
                   f"differs({n}, {as_double(own, t)}, {as_double(right, t)}, {y}, moved, {int(i is not None)}, "
                   f"{'1' if i else alike(own, left)}{outside.replace('||', '&& !')});")
    values, at, sides = [], 0, iter(side)
    for n, (name, x) in enumerate(zip(rule.names, rule.types)):
        if x == "side":
            values.append(f"        const int v{n} = {next(sides, 0) if name else 0}; (void)v{n};")
        else:
            cut = f"(uint{max(8, width(x))}_t)(u >> {at}{'' if width(x) > 8 else f' & {(1 << width(x)) - 1}'})"
            values.append(f"        const {stored(x)} v{n} = {f'sc_float_of_bits({cut})' if x == 'f32' else f'({stored(x)}){cut}'};")
            at += width(x)
    fraction, least, largest = FORMAT.get(t, (0, 0, "0"))
    moved = "| 1" if any(side) else ""
    return PROGRAM % {"count": len(others), "fraction": fraction, "least": least, "largest": largest, "moved": moved, "values": "\n".join(values),
                      "body": "\n".join(b.lines + out)}


# --- runs ---------------------------------------------------------------------------------------------------------------------------
def has_few_bits(rule: Rule) -> bool:
    """Whether one operand, or all together, have 32 bits."""
    left = rule.left
    types = [left.operand_type(n).name for n in range(len(left.args))] if isinstance(left, Node) else []
    return bool(types) and all(t in ops.TYPE_BY_NAME for t in types) and (sum(map(width, types)) == BITS or BITS in map(width, types))


def fits(case: prove.Case) -> bool:
    """Whether a case has no precondition, and operands of at most 32 bits together."""
    t = case.terms
    return not t.pre and all(x in semantics.NATIVE or x == "side" for x in t.types) and 0 < sum(width(x) for x in t.types if x != "side") <= BITS


def possible(m: Mutant, rule: Optional[prove.Case], case: prove.Case) -> bool:
    """Whether rule and mutant have few bits and few inexact instructions, the same ones in both."""
    moved = [n for n, x in zip(case.terms.names, case.terms.types) if x == "side" and n]
    return rule is not None and m.before is not None and m.rule.left is m.before.left and case.terms.contract in ("ulp", "equal") and \
        len(moved) <= MOST_MOVED and fits(case)


def joined(lines: Sequence[Sequence[float]]) -> List[float]:
    """Joins results of several runs: the first two numbers are added, of the others the largest counts."""
    return [(sum if n < 2 else max)(column) for n, column in enumerate(zip(*lines))]


def run(text: str, bits: int, folder: Path, step: int) -> List[List[float]]:
    """For each mutant: the number of values with another result, the number of wrong results, its errors without and with moved results, and
    those of the rule at the same values."""
    built = driver.program().parent
    here = folder / hashlib.sha256(text.encode()).hexdigest()[:16]
    here.with_suffix(".c").write_text(text)
    driver.cc(["-std=gnu11", "-O2", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-w",
                "-I", str(built), "-I", str(driver.ROOT / "src"), str(here.with_suffix(".c")),
                *(str(built / f"{o}.o") for o in ("sc_functions", "sc_tables", "scalar", "round")), "-lm", "-o", str(here)])
    pieces = 16 if bits > 20 else 1
    size = (1 << bits) // pieces
    one = lambda n: subprocess.run([str(here), str(n * size), str((n + 1) * size), str(step)], stdout=subprocess.PIPE, text=True, check=True).stdout
    with ThreadPoolExecutor(WORKERS) as pool:
        texts = list(pool.map(one, range(pieces)))
    columns = zip(*([list(map(float, line.split()[1:])) for line in x.splitlines()] for x in texts))
    return [joined(c) for c in columns]


def judge(rule: prove.Case, some: Sequence[Tuple[Mutant, prove.Case]], step: int = 1) -> List[str]:
    """For each mutant of one case of a rule: equal, right or killed."""
    t = rule.terms
    moved = sum(x == "side" and bool(n) for n, x in zip(t.names, t.types))
    bits, total = sum(width(x) for x in t.types if x != "side"), [[0.0] * 6 for _ in some]
    with tempfile.TemporaryDirectory() as folder:
        for side in itertools.product((0, 1, -1), repeat=moved):
            for sums, found in zip(total, run(source(t, [c.terms for _, c in some], side), bits, Path(folder), step)):
                sums[:] = joined([sums, found])
    out = []
    for (m, c), (others, wrong, own, worst, own_before, before) in zip(some, total):
        stated = m.stated.get(c.approx, (0.0, 0.0))
        right = max(own_before, before, stated[0]), max(own_before, stated[1])
        bad = wrong or (t.contract == "ulp" and ledger.exceeds((max(own, worst), own), right))
        out.append("killed" if bad else "right" if others else "equal")
    return out


def key_of(m: Mutant, table: Any) -> str:
    assert m.before
    text = [ledger.key(m.before, m.errors, table), ledger.spelled([m.rule.left, m.rule.right]), repr(sorted(m.stated.items()))]
    return hashlib.sha256("\n".join(text).encode()).hexdigest()[:12]


CaseOf = Callable[[Mutant, prove.Case], Optional[prove.Case]]  # the same case of the rule that a mutant was made from


def same_place(m: Mutant, case: prove.Case, step: int) -> bool:
    """Whether a part around the change, of few bits and without inexact instructions, is the same at every value."""
    for x, y in places(m):
        t = case.bind.get(x.result.name, x.result.name)
        if t not in semantics.NATIVE:
            continue
        terms = build(Rule("rewrite", x, y, None, m.rule.where), case.bind, m.errors, case.approx, None, prove.SIDES)
        part = prove.Case(case.label, case.approx, terms)
        if any(i.kind == "nudge" for i in terms.code) or not fits(part):
            continue
        whole = Terms(terms.names, terms.types, terms.code, [], [], terms.left, terms.left, BITS_TOO)
        try:
            if all(judge(prove.Case(case.label, case.approx, whole), [(m, part)], n) == ["equal"] for n in sorted({max(step, FIRST), step}, reverse=True)):
                return True
        except NotImplementedError:  # no C for the operation, as in states_of
            continue
    return False


def states_of(some: Sequence[Mutant], case_of: CaseOf, step: int = 1) -> Dict[int, str]:
    """The states of the mutants that can be run over every value, or one value in `step`. Mutants of a rule are run together."""
    jobs: Dict[int, Tuple[prove.Case, List[Tuple[Mutant, prove.Case]]]] = {}
    found: Dict[int, List[str]] = {}
    said = lambda m, state: print(f"{m.rule.name}: {state} over {'every value' if step == 1 else f'one value in {step}'}: {m.what}", flush=True)
    for m in some:
        if m.open and all(same_place(m, c, step) for c in m.open):
            found[id(m)] = ["equal"]
            said(m, "equal where it stands")
        elif all(possible(m, case_of(m, c), c) for c in m.open):
            for c in m.open:
                rule = case_of(m, c)
                assert rule
                jobs.setdefault(id(rule), (rule, []))[1].append((m, c))
    for rule, of in jobs.values():
        try:
            for (m, _), state in zip(of, judge(rule, of, step)):
                found.setdefault(id(m), []).append(state)
                said(m, state)
        except NotImplementedError:
            continue
    return {k: next(s for s in ("killed", "right", "equal") if s in states) for k, states in found.items()}


def settle(some: Sequence[Mutant], case_of: CaseOf, anew: bool) -> None:
    """Sets the fates of survivors from the file. anew: runs them all instead, and writes the file."""
    known, table = read(), load.budgets()
    keys = {id(m): key_of(m, table) for m in some}
    found = states_of(some, case_of) if anew else {k: known[key][0].replace(STEPS, "right") for k, key in keys.items() if key in known}
    for m in (m for m in some if id(m) in found):
        m.fate = found[id(m)]
    if anew:
        write({**read(), **{keys[id(m)]: (m.fate, f"{m.rule.name}: {m.what}") for m in some if id(m) in found}})


def again(made: Sequence[Mutant], prepare: Callable[[Mutant], None], case_of: CaseOf, step: int) -> Tuple[int, int]:
    """Checks the lines of the file: (number confirmed, number wrong or about no mutant). On one value in `step` a mutant may look better than
    the file says. Of STEPS it only checks that there is such a mutant."""
    known, table = read(), load.budgets()
    keys = {key_of(m, table): m for m in made}
    some = {k: keys[k] for k in known if k in keys}
    for m in some.values():
        prepare(m)
        m.open = list({(tuple(c.terms.code), c.terms.right, c.terms.contract): c for c in m.cases}.values())
    found = states_of([m for k, m in some.items() if known[k][0] != STEPS], case_of, step)
    better = {"killed": 2, "right": 1, "equal": 0}
    good = [k for k, m in some.items() if (said := known[k][0]) in (STEPS, fate := found.get(id(m), "")) or (fate and step > 1 and better[fate] < better[said])]
    for k in known.keys() - set(good):
        print(f"patterns/mutants.txt: {k} is {'about no mutant' if k not in keys else 'not confirmed'}: {known[k][1]}")
    return len(good), len(known) - len(good)


__all__ = ["again", "settle"]
