#!/usr/bin/env python3
"""The matcher that checks rules (gen/match.py) does what the engine does (src/rewrite/): on random terms the same rule fires at each node
and makes the same term, and the same facts are known of each node. Each firing of an index rule decreases the measure of gen/cycles.py.

    rewrite_matcher.py BUILD [--terms N] [--seed N] [--verbose]

A term is a term that some rule matches, with other such terms in the places of its variables, or random index arithmetic. BUILD/tests/
rewrite_steps rewrites it and prints each node with the step that the engine took there; gen/match.py takes the same step on the same node.

    (12*a + 4*b + c) // 8 with c in 0..4  ->  both: patterns/indexing.py:33 makes (3*a + b) // 2
"""
from __future__ import annotations

import argparse
import itertools
import multiprocessing
import random
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Dict, Iterator, List, Optional, Set, Tuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from gen import compile as comp, cycles, instances, load, match, ops, terms  # noqa: E402
from gen.forms import root_op  # noqa: E402
from gen.known import Facts  # noqa: E402
from gen.lang import Rule  # noqa: E402
from gen.opcodes import OPNUM  # noqa: E402
from gen.terms import CONST, INDEX, SUM, VAR, Term  # noqa: E402

BATCH = 2000
SIZES = (1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 64, 100, 512, 1 << 21, 1 << 31, 1 << 40, 1 << 61, (1 << 63) - 1)
Made = Tuple[str, str, Dict[str, str]]  # phase, term, lets by name


class Maker:
    """Random terms for one target."""

    def __init__(self, sets: List[load.RuleSet]) -> None:
        self.r = random.Random(0)
        self.rules = [(phase, rule) for s in sets for phase, rules in s.phases.items() for rule in rules if is_pure(rule)]
        self.samples: Dict[int, List[Tuple[Term, Facts]]] = {}
        self.count = 0
        self.lets: Dict[str, str] = {}

    def sample(self, rule: Rule) -> Tuple[Term, Facts]:
        """A term that the rule matches."""
        if id(rule) not in self.samples:
            some = list(itertools.islice(instances.instances(rule, sorted(set(instances.numbers_in(rule)))), 400))
            self.samples[id(rule)] = random.Random(rule.text).sample(some, min(len(some), 60))
        return self.r.choice(self.samples[id(rule)])

    def leaf(self, t: int, within: Optional[Tuple[int, int]] = None) -> Term:
        r = self.r
        old = [n for n, of in self.types.items() if of == t]
        if within is None and old and r.random() < 0.5:
            return terms.leaf(r.choice(old), t)
        name = f"{'abcde'[self.count % 5]}{self.count}"
        self.count += 1
        self.types[name] = t
        if t == INDEX and (within or r.random() < 0.8):
            lo, hi = within or (0, r.choice(SIZES[:-2]))
            if within and r.random() < 0.3:
                lo, hi = lo - r.choice((0, 1)), hi + r.choice((0, 1))
            elif not within and r.random() < 0.3:
                lo = -r.choice(SIZES[:-2])
            lo, hi = max(lo, -(1 << 62)), min(hi, (1 << 62) - 1)
            if lo <= hi:
                self.lets[name] = f"{name} in {lo}..{hi + 1}"
        elif t != INDEX:
            self.lets[name] = f"{name}: {terms.show_type(t)}"
        return terms.leaf(name, t)

    def around(self, phase: str, t: Term, facts: Facts, depth: int) -> Term:
        """t with other terms in the places of its leaves."""
        inner: Dict[Term, Term] = {}
        for x in terms.parts(t):
            if x.op in (terms.LEAF, VAR):
                known = facts.within.get(x)
                inner[x] = self.place(phase, x.type, depth - 1) if depth and known is None and self.r.random() < 0.4 else self.leaf(x.type, known)
            elif x.op == CONST and self.r.random() < 0.05:
                inner[x] = self.place(phase, x.type, 0) if x.type != INDEX else terms.index(max(1, int(x.imm) + self.r.choice((-1, 1))))
        return put(t, inner)

    def place(self, phase: str, t: int, depth: int) -> Term:
        """A term of a type."""
        if t == INDEX and self.r.random() < 0.5:
            return self.index(depth)
        some = [x for p, x in self.rules if p == phase or (t == INDEX and p == "index")]
        for rule in self.r.sample(some, min(8, len(some))) if depth else ():
            x, facts = self.sample(rule)
            if x.type == t:
                return self.around(phase, x, facts, depth)
        return self.leaf(t)

    def index(self, depth: int) -> Term:
        r = self.r
        if depth <= 0:
            return self.leaf(INDEX) if r.random() < 0.9 else terms.index(r.choice(SIZES) * r.choice((0, 1, -1)))
        x = r.random()
        if x < 0.55:
            size = lambda: r.choice(SIZES[:-5] if r.random() < 0.97 else SIZES) * r.choice((1, 1, 1, -1))
            parts = [(size(), self.index(depth - 1)) for _ in range(r.choice((1, 2, 2, 3, 4)))]
            if r.random() < 0.3:  # n = (n // k)*k + n % k
                k, n = r.choice(SIZES[:12]), self.index(depth - 1)
                q = r.choice(SIZES[:8]) * r.choice((1, 1, -1))
                parts += [(q * k, terms.node(terms.FLOORDIV, INDEX, 0, (n, terms.index(k)))), (q, terms.node(terms.MOD, INDEX, 0, (n, terms.index(k))))]
            return terms.total(r.choice((0, 0, 1, -1, 7, -64, 1 << 40)), parts) or self.leaf(INDEX)
        if x < 0.9:
            return terms.node(r.choice((terms.FLOORDIV, terms.MOD)), INDEX, 0, (self.index(depth - 1), terms.index(r.choice(SIZES))))
        return terms.node(OPNUM[r.choice(("min", "max"))], INDEX, 0, (self.index(depth - 1), self.index(depth - 1)))

    def term(self) -> Made:
        r = self.r
        self.types: Dict[str, int] = {}
        self.lets, self.count = {}, 0
        if r.random() < 0.3:
            x = self.index(r.choice((1, 2, 2, 3)))
            if r.random() < 0.4:
                y = self.index(r.choice((0, 0, 1, 2))) if r.random() < 0.6 else terms.index(r.choice(SIZES) * r.choice((0, 1, -1)))
                x = terms.node(OPNUM[r.choice("eq ne lt le gt ge".split())], terms.PRED, 0, (x, y))
            return "index", written(x), self.lets
        phase = r.choice(("index", "simplify", "lower", "isel"))
        rule = r.choice([x for p, x in self.rules if p == phase])
        return phase, written(self.around(phase, *self.sample(rule), r.choice((0, 1, 1, 2)))), self.lets


def is_pure(r: Rule) -> bool:
    """Terms have no effects; a `do` statement alone does."""
    op = ops.OP_BY_NAME[root_op(r.left) or "none"]
    return not set(ops.EFFECTS) & set(op.props.split())


def put(t: Term, inner: Dict[Term, Term]) -> Term:
    """t with other terms in the places of some."""
    for x in terms.parts(t):
        if x in inner or not x.args:
            continue
        args = tuple(inner.get(a, a) for a in x.args)
        if x.op == SUM:
            inner[x] = terms.total(int(x.imm), zip(x.ks, args)) or x
        else:
            inner[x] = terms.node(x.op, x.type, x.flags, args, x.imm)
    return inner.get(t, t)


def brief(t: Term) -> str:
    """A shared part is written out each time, so a large term is shown as its number of parts."""
    n = len(terms.parts(t))
    return terms.show(t) if n <= 40 else f"<{n} terms>"


def written(t: Term) -> str:
    return terms.show(t).replace("True", "true").replace("False", "false")


# --- comparison -----------------------------------------------------------------------------------------------------------------------
OWN = load.PHASES.index("simplify")  # from this phase on rules are a target's, before it those of all


class Everything:
    def __contains__(self, _: object) -> bool: return True


class Rules:
    """The rules of a target, and those of index arithmetic, as the engine numbers them; those of each phase and operation."""

    def __init__(self, sets: List[load.RuleSet]) -> None:
        self.names = [[r.name for r in s.rules] for s in sets]
        self.of: Dict[Tuple[int, int], List[Tuple[int, list]]] = {}
        for s in sets:
            number = {id(r): n for n, r in enumerate(s.rules)}
            for phase, rules in s.phases.items():
                for r in rules:
                    programs = comp.programs(s, phase, r)
                    self.of.setdefault((load.PHASES.index(phase), OPNUM[programs[0].root]), []).append((number[id(r)], programs))

    def step(self, phase: int, t: Term, facts: Facts) -> Tuple[int, Optional[Term]]:
        """What fires first, and what it makes; -1: nothing fires."""
        for number, programs in self.of.get((phase, t.op), []):
            made = next(match.firings(programs, t, facts), None)
            if made is not None:
                return number, made
        return -1, None


def wide(high: str, low: str) -> int: return int(high) * (1 << 64) + int(low)


def compare(rules: Rules, lines: List[str], fired: Set[Tuple[int, int]]) -> Iterator[str]:
    """The differences in what rewrite_steps printed about one term."""
    terms.forget()
    facts, at = Facts(once=Everything(), complete=True), {}  # type: Tuple[Facts, Dict[str, Term]]
    intervals: Dict[str, Tuple[int, int]] = {}
    for line in lines:
        kind, *w = line.split()
        if kind == "V":
            intervals[w[0]] = (int(w[1]), int(w[2]))
        elif kind == "N":
            op, t, flags, imm = map(int, w[1:5])
            if op == CONST and ops.TYPES[t & 63].cls in "IX":
                bits = ops.TYPES[t & 63].bits
                imm -= (imm >> bits - 1) << bits
            at[w[0]] = terms.made(op, t, flags, tuple(at[a] for a in w[5:]), f"{imm:09}" if op == VAR else imm)
            if op == VAR:
                facts.within[at[w[0]]] = intervals[w[4]]
        elif kind == "S":
            at[w[0]] = terms.made(SUM, INDEX, 0, tuple(at[a] for a in w[3::2]), int(w[1]), tuple(map(int, w[2::2])))
        elif kind == "F":
            f, want = facts.index(at[w[0]]), (wide(w[1], w[2]), wide(w[3], w[4]), int(w[5]), int(w[6]))
            if (f.lo, f.hi, f.mod, f.rem & (1 << 64) - 1) != want:
                yield f"{brief(at[w[0]])}: the engine knows {want}, gen/known.py {tuple(f)}"
        elif kind in "BM":
            known: object = facts.element_bits(at[w[0]]) if kind == "B" else (facts.float_may(at[w[0]]),)
            if known != tuple(map(int, w[1:])):
                yield f"{brief(at[w[0]])}: the engine knows {tuple(w[1:])}, gen/known.py {known}"
        elif kind == "E":
            phase, rule = int(w[0]), int(w[2])
            root, made = at[w[1]], at.get(w[3])
            fired.add((phase, rule))
            if rule == -2:  # constants are folded
                continue
            number, mine = rules.step(phase, root, facts)
            if phase == 0 and mine is not None and cycles.measure(mine) >= cycles.measure(root):
                yield f"{rules.names[0][number]} does not shrink: {brief(root)} {cycles.measure(root)} -> {brief(mine)} {cycles.measure(mine)}"
            if (number, mine) != (rule, made):
                say = lambda n, x: "nothing fires" if x is None else f"{rules.names[phase >= OWN][n]} makes {brief(x)}"
                yield f"{brief(root)}: in the engine {say(rule, made)}; in gen/match.py {say(number, mine)}"


@lru_cache(maxsize=None)
def tools(target: str) -> Tuple[str, Rules, Maker]:
    sets = [load.load_index(), load.load_target(target)]
    return sets[1].values["name"], Rules(sets), Maker(sets)


def batch(job: Tuple[str, str, int, int]) -> Tuple[int, List[str], Set[str]]:
    """Compares n random terms for a target: the number of nodes, the differences, and the names of the rules that fired."""
    build, target, n, seed = job
    name, rules, maker = tools(target)
    maker.r = random.Random(seed)
    made = [maker.term() for _ in range(n)]
    made = [x for x in made if str(1 << 63) not in x[1]]  # IR text has no -2**63
    text = "".join("\t".join([phase, term, *lets.values()]) + "\n" for phase, term, lets in made)
    ran = subprocess.run([f"{build}/tests/rewrite_steps", name], input=text, capture_output=True, text=True)
    if ran.returncode:
        return 0, [f"rewrite_steps {name}: {ran.stderr.strip()}"], set()
    nodes, faults, fired = 0, [], set()  # type: Tuple[int, List[str], Set[Tuple[int, int]]]
    for (phase, term, lets), said in zip(made, ran.stdout.split(".\n")):
        lines = said.splitlines()
        nodes += sum(line[0] == "E" for line in lines)
        faults += [f"{name} {phase}: {term} {' '.join(lets.values())}\n    {x}" for x in compare(rules, lines, fired)]
    return nodes, faults, {f"{name if phase >= OWN else 'index'} {rules.names[phase >= OWN][n]}" for phase, n in fired if n >= 0}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--terms", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--verbose", action="store_true", help="name the rules that did not fire")
    args = parser.parse_args()
    targets = load.targets()
    size = min(BATCH, -(-args.terms // len(targets)))
    jobs = [(args.build, targets[n % len(targets)], size, args.seed * 1000003 + n) for n in range(-(-args.terms // size))]
    with multiprocessing.Pool() as pool:
        found = pool.map(batch, jobs)
    nodes, faults = sum(n for n, _, _ in found), [f for _, fs, _ in found for f in fs]
    fired = set().union(*(names for _, _, names in found))
    sets = [load.load_index(), *map(load.load_target, targets)]
    everything = {f"{s.values.get('name', 'index')} {r.name}" for s in sets for r in s.rules if is_pure(r)}
    idle = everything - fired
    print("\n".join(faults[:20]))
    print(f"{size * len(jobs)} terms, {nodes} nodes; {len(fired)} of {len(everything)} rules fired")
    if args.verbose:
        print("\n".join(sorted(idle)))
    own = {f"index {r.name}" for r in sets[0].phases["index"]}  # rules of arrays are tried by random_folds
    faults += [f"{name} never fired" for name in sorted(idle & own)]
    print("\n".join(f for f in faults[20:] if "never fired" in f))
    print(f"{size * len(jobs) - len(faults)} passed, {len(faults)} failed")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
