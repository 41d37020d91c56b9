"""Runs the compiled steps of a rule on a term, as src/rewrite/match.c, guards.c and replacement.c run their words, so that the checks of
rules decide with what the engine does. tests/rules/rewrite_matcher.py compares both on random terms.

One rule is run at a time, not a trie of all, and no rule is applied to what it makes: this is `rw_step`.

    firings(programs of (n // k) -> 0 when within(n, 0, k), the term t // 512, t within 0..512)  ->  0
"""
from __future__ import annotations

import operator
from functools import lru_cache
from typing import Callable, Dict, Iterator, List, Optional, Sequence, Tuple

from gen import guards, ops, permits, sums
from gen.known import Facts
from gen.opcodes import ARITH, NONE, OPNUM, REL, Program, Step
from gen.terms import CONST, INDEX, INT64, LEAF, VAR, Term, constant, float_of, index, integer, literal, made, node, total

MOST_PICKS = 16
INT128 = range(-1 << 127, 1 << 127)
NAMED = {n: op for op, n in ARITH.items()}
RELATE = {REL[k]: f for k, f in (("==", operator.eq), ("!=", operator.ne), ("<", operator.lt), ("<=", operator.le), (">", operator.gt), (">=", operator.ge))}
GUARD = list(guards.NUMBER)
NEG, ABS, INSTR = OPNUM["neg"], OPNUM["abs"], OPNUM["instr"]


def arithmetic(op: str, x: int, y: int) -> Optional[int]:
    """What the engine computes of constants; None where it has no result, and the match fails."""
    if op in ("//", "%"):
        return None if y <= 0 else x // y if op == "//" else x % y
    if op == "log2":
        return x.bit_length() - 1 if x > 0 and x & x - 1 == 0 else None
    if op == "<<":
        return x << y if 0 <= y < 64 else None
    return x + y if op == "+" else x - y if op == "-" else x * y


class Match:
    """What a match binds, by slot."""

    __slots__ = ("facts", "value", "konst", "types", "swapped", "picks", "picked_constant", "flags")

    def __init__(self, root: Term, facts: Facts) -> None:
        self.facts = facts
        self.value: Dict[int, Term] = {0: root}
        self.konst: Dict[int, int] = {}
        self.types: Dict[int, int] = {}
        self.swapped: Dict[int, bool] = {}
        self.picks: List[int] = []  # numbers of the terms of a sum that are taken
        self.picked_constant = 0
        self.flags = root.flags     # that all matched nodes have


def calculate(m: Match, s: Step) -> bool:
    _, d, x, y, fn = s
    found = arithmetic(NAMED[fn], m.konst[x], m.konst[y])
    if found is None or found not in INT128:
        return False
    m.konst[d] = found
    return True


def _take(m: Match, s: Step) -> bool:
    """OP, OPX, ANY, ANYX"""
    word, d, of, k = s[:4]
    x = m.value[of]
    if k != NONE:
        k ^= word in ("OPX", "ANYX") and m.swapped[of]
        if k >= len(x.args) or x.ks:
            return False
        x = x.args[k]
    m.value[d] = x
    if word[0] == "O":
        if x.op != s[4]:
            return False
        m.flags &= x.flags
    return True


def _type(m: Match, s: Step) -> bool:
    _, slot, any_lanes, _, t = s
    found = m.value[slot].type
    return found == t or (any_lanes and found & 63 == t & 63)


def _class(m: Match, s: Step) -> bool:
    _, slot, c, any_lanes, mask = s
    t = m.value[slot].type
    m.types[c] = t & 63
    return bool(mask[1] >> (t & 63) & 1) and (any_lanes or t >> 6 == 0)


def _same_type(m: Match, s: Step) -> bool:
    _, slot, c, any_lanes = s
    t = m.value[slot].type
    return t & 63 == m.types[c] and (any_lanes or t >> 6 == 0)


def _literal(m: Match, s: Step) -> bool:
    _, slot, is_float, _, bits = s
    x = m.value[slot]
    return x.op == CONST and x.imm == _value(x.type & 63, is_float, bits[1])


@lru_cache(maxsize=None)
def _value(sc: int, is_float: int, bits: int) -> int:
    return literal(sc, float_of(bits) if is_float else bits - (bits >> 63 << 64), bool(is_float))


def _konst(m: Match, s: Step) -> bool:
    n = integer(m.value[s[2]])
    if n is not None:
        m.konst[s[1]] = n
    return n is not None


# --- sums -----------------------------------------------------------------------------------------------------------------------------
def _split(m: Match, s: Step) -> bool:
    _, d, of, k, r, only_rest = s
    both = sums.split(m.value[of], m.konst[k], only_rest, m.facts)
    if both:
        m.value[r] = both[1]
        if both[0] is not None:
            m.value[d] = both[0]
    return both is not None


def _number(m: Match, k: int, n: object) -> bool:
    m.konst[k] = int(n)  # type: ignore[call-overload]
    return True


def _store(m: Match, s: Step, x: Optional[Term]) -> bool:
    if x is not None:
        m.value[s[1]] = x
    return x is not None


def _pick_bound(m: Match, s: Step) -> bool:
    _, x, of, k = s
    found = sums.pick_bound(m.value[of], m.konst[k], m.value[x], m.picks)
    if found is None or len(found[0]) > MOST_PICKS:
        return False
    m.picks, m.picked_constant = found
    return True


def _addends(m: Match, s: Step) -> bool:
    tree = sums.spread(m.value[s[1]])
    m.picks = []
    for x, part in tree:
        if part != (0, 0):
            m.flags &= x.flags
    return len(tree) > 1


def _addends_left(m: Match, s: Step) -> bool:
    nothing, x = sums.addends_left(m.value[s[2]], m.picks)
    return nothing if s[1] == NONE else _store(m, s, x)


def _addend(m: Match, s: Step, n: int) -> Optional[int]:
    """ADDEND, from node n of the tree on. Returns where to go on for another one."""
    _, d, of, op = s
    found = sums.addend(m.value[of], op, m.picks, n) if len(m.picks) < MOST_PICKS else None
    if found is None:
        return None
    m.value[d] = sums.spread(m.value[of])[found][0]
    m.flags &= m.value[d].flags
    m.picks = [*m.picks, found]
    return found + 1


def _rest(m: Match, s: Step) -> bool:
    x = m.value[s[2]]
    return _store(m, s, total(int(x.imm) - m.picked_constant, [(k, y) for n, (k, y) in enumerate(zip(x.ks, x.args)) if n not in m.picks]))


def _pick(m: Match, s: Step, n: int) -> Optional[int]:
    """PICK, from term n on. Returns where to go on for another one."""
    _, d, of, k, how = s
    if not m.picks:
        m.picked_constant = 0
    x = m.value[of]
    found = sums.pick(x, m.konst[k] if how & 1 else None, how >> 8, m.picks, n) if len(m.picks) < MOST_PICKS else None
    if found is None:
        return None
    m.value[d], m.konst[k] = x.args[found], x.ks[found]
    m.picks = [*m.picks, found]
    return found + 1


def _group(m: Match, s: Step, n: int) -> Optional[int]:
    _, d, of, k, more = s
    found = sums.group(m.value[of], 0 if more >> 8 == NONE else m.konst[more >> 8], n, m.facts)
    if found is None:
        return None
    n, m.konst[k], (m.value[d], m.value[more & 255]) = found
    return n


# --- conditions -----------------------------------------------------------------------------------------------------------------------
def _known(m: Match, name: str, subject: Tuple[Term, ...], numbers: Tuple[int, ...], negative: bool, holds: bool) -> bool:
    """Whether a condition, or its negation, is certain."""
    if not negative or m.facts.complete:
        return holds != negative
    return (name, subject, numbers) in m.facts.unknown


def _fact(m: Match, s: Step) -> bool:
    _, v, k, q, asked = s
    name, t = GUARD[asked & 255], m.value[v]
    if guards.BY_NAME[name].kind == "kernel":
        return _known(m, name, (), (), bool(asked >> 8), name in m.facts.kernel)
    numbers = tuple(m.konst[x] for x in (k, q)[:len(guards.BY_NAME[name].parameters) - 1])
    return _known(m, name, (t,), numbers, bool(asked >> 8), m.facts.holds(name, t, *(*numbers, 0, 0)[:2]))


def _apart(m: Match, s: Step) -> bool:
    _, v, other, k, negative = s
    x, y, n = m.value[v], m.value[other], m.konst[k]
    difference = total(0, [(1, y), (-1, x)])
    return _known(m, "apart", (x, y), (n,), bool(negative), difference is not None and m.facts.index(difference).lo >= n)


def _period(m: Match, s: Step) -> bool:
    _, d, v, k = s
    f, n = m.facts.index(m.value[v]), m.konst[k]
    if n <= 0 or f.lo not in INT64 or f.hi not in INT64:
        return False
    m.konst[d] = f.lo // n
    return f.lo // n == f.hi // n


def _fixed(m: Match, s: Step) -> bool:
    _, v, other, negative = s
    x, n = m.value[v], m.value[other]
    return _known(m, "fixed", (x, n), (), bool(negative), _is_fixed(m.facts, x, n))


def _is_fixed(facts: Facts, x: Term, n: Term) -> bool:
    """As the engine has it: what is made of values that are the same is, too."""
    return x.op == CONST or (x, n) in facts.fixed or (x.op not in (LEAF, VAR) and all(_is_fixed(facts, y, n) for y in x.args))


def _counts(m: Match, s: Step) -> bool:
    _, d, v, _ = s
    n = m.facts.counts.get(m.value[v])
    return n is not None and bool(_number(m, d, n))


def _given(m: Match, s: Step) -> bool: return bool(_number(m, s[1], m.facts.given)) if m.facts.given else False


def _flag(m: Match, s: Step) -> bool:
    _, mask, negative, _ = s
    return not m.value[0].flags & mask if negative else m.flags & mask == mask


STEP: Dict[str, Callable[[Match, Step], object]] = {
    "OP": _take, "OPX": _take, "ANY": _take, "ANYX": _take, "TYPE": _type, "CLASS": _class, "TEQ": _same_type, "LIT": _literal, "KONST": _konst,
    "FLAGS": lambda m, s: m.value[s[1]].flags & s[2] == s[2],
    "SAME": lambda m, s: m.value[s[1]] is m.value[s[2]],
    "ADDENDS": _addends, "ADDREST": _addends_left,
    "SPLIT": _split, "PICKV": _pick_bound, "REST": _rest,
    "KIMM": lambda m, s: _number(m, s[1], s[4][1] - (s[4][1] >> 63 << 64)),
    "KWIDTH": lambda m, s: _number(m, s[1], ops.TYPES[m.types[s[2]]].bits),
    "KARITH": calculate,
    "CREL": lambda m, s: RELATE[s[3]](m.konst[s[1]], m.konst[s[2]]),
    "CFACT": _fact, "CAPART": _apart, "CPERIOD": _period, "CFIXED": _fixed, "CCOUNTS": _counts, "CGIVEN": _given, "CFLAG": _flag}
CHOICE: Dict[str, Callable[[Match, Step, int], Optional[int]]] = {"PICK": _pick, "GROUP": _group, "ADDEND": _addend}


def matches(p: Program, root: Term, facts: Facts) -> Iterator[Match]:
    """Yields once for each way to match, in the engine's order. What it yields holds until it is resumed."""
    steps, m, at, go_on = p.steps, Match(root, facts), 0, 0
    choices: List[Tuple[int, int, List[int], int]] = []  # step, where it goes on, picks and flags before it
    while True:
        ok: object = False
        if at == len(steps):
            yield m
        else:
            s = steps[at]
            run = STEP.get(s[0])
            if run:
                ok = run(m, s)
            elif s[0] == "SWAP":
                m.swapped[s[1]], ok = go_on > 0, True
                if not go_on:
                    choices.append((at, 1, m.picks, m.flags))
            else:
                picks = m.picks
                n = CHOICE[s[0]](m, s, go_on)
                ok = n is not None
                if n is not None:
                    choices.append((at, n, picks, m.flags))
        at, go_on = at + 1, 0
        if not ok:
            if not choices:
                return
            at, go_on, m.picks, m.flags = choices.pop()


# --- the right side -------------------------------------------------------------------------------------------------------------------
def build(m: Match, steps: List[Step]) -> Optional[Term]:
    """What the build steps make; None where arithmetic of constants fails, which fails the match."""
    type_of = lambda mode, number: m.types[number] if mode else number
    slots = lambda packed: tuple(m.value[n] for n in (packed & 255, packed >> 8 & 255, packed >> 16 & 255) if n != NONE)
    for s in steps:
        word, d = s[0], s[1]
        if word == "BNODE":
            _, _, flags, mode, what, operands = s
            carried = m.flags & (~permits.ALL | mode & permits.ALL)
            m.value[d] = node(what & 0xffff, type_of(mode & 1, what >> 16), flags | carried, slots(operands))
        elif word == "BLIT":
            _, _, is_float, mode, number, bits = s
            t = type_of(mode, number)
            m.value[d] = index(bits[1] - (bits[1] >> 63 << 64)) if t == INDEX else made(CONST, t, 0, (), _value(t & 63, is_float, bits[1]))
        elif word == "BKONST":
            m.value[d] = constant(type_of(s[3], s[4]) & 63, m.konst[s[2]])
        elif word == "BSUM":
            x = _sum(m, s[3], s[4:])
            if x is None:
                return None
            m.value[d] = x
        elif word == "BINSTR":
            imm = packed_immediates([m.konst[s[6] >> 8 * n & 255] for n in range(s[2])])
            return None if imm is None else made(INSTR, m.value[0].type, m.flags, slots(s[5]), s[4] | imm << 16)
        elif word == "BROOT":
            return m.value[d]
        elif not STEP[word](m, s):
            return None
    return None


def packed_immediates(values: Sequence[int]) -> Optional[int]:
    """48 bits for all; None where one does not fit its share."""
    bits = 48 // max(1, len(values))
    if any(not -1 << bits - 1 <= v < 1 << bits - 1 for v in values):
        return None
    return sum((v & (1 << bits) - 1) << bits * n for n, v in enumerate(values))


def _sum(m: Match, constant_slot: int, terms: Sequence[int]) -> Optional[Term]:
    c = 0 if constant_slot == NONE else m.konst[constant_slot]
    found = [(1 if t >> 8 == NONE else m.konst[t >> 8], m.value[t & 255]) for t in terms]
    return total(c, found) if c in INT64 and all(k in INT64 for k, _ in found) else None


def firings(programs: Sequence[Program], t: Term, facts: Facts) -> Iterator[Term]:
    """What a rule makes of t, for every way in which it fires there; the engine takes the first."""
    for p in programs:
        if OPNUM[p.root] == t.op:
            for m in matches(p, t, facts):
                x = build(m, p.build)
                if x is not None:
                    yield x


def fires(programs: Sequence[Program], t: Term, facts: Facts) -> bool:
    return next(firings(programs, t, facts), None) is not None
