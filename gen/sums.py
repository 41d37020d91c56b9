"""The steps that take a sum apart, as src/rewrite/sums.c does: SPLIT, GROUP, PICK, PICKV. Each gives None where it fails.

    8*a + 4*b + c + 7, k = 4:         split gives 2*a + b + 1 and c + 3
    8*a + 4*b + c, c in 0..4, k free: group gives (k = 4) 2*a + b and c
"""
from __future__ import annotations

from math import gcd
from typing import List, Optional, Set, Tuple

from gen.known import LARGEST, LIMIT, Facts
from gen.terms import CONST, INT64, MOD, SUM, Term, total

Pair = Tuple[Term, Term]
LARGE, FEW, MOST_TERMS = 1 << 40, 1 << 21, 16


def divide(s: Term, k: int, whole: int) -> Optional[Pair]:
    """The terms that k divides, over k, plus `whole`; and the other terms with what is left of the constant."""
    yes = [(q // k, x) for q, x in zip(s.ks, s.args) if q % k == 0]
    constant = int(s.imm) - whole * k
    if (not yes and whole == 0) or constant not in INT64:
        return None
    d, r = total(whole, yes), total(constant, [(q, x) for q, x in zip(s.ks, s.args) if q % k])
    return (d, r) if d is not None and r is not None else None


def reduced(s: Term, k: int, facts: Facts) -> Optional[Term]:
    """A sum that is s modulo k, with coefficients below k, and x for a term x % m where that changes nothing."""
    out: List[Tuple[int, Term]] = []
    for q, x in zip(s.ks, s.args):
        q = q % k if q > 0 else -(-q % k)
        if q == 0:
            continue
        q = 1 if k == 2 else q
        if x.op == MOD and x.args[1].op == CONST and q * int(x.args[1].imm) % k == 0 and abs(q) < FEW:
            f = facts.index(x.args[0])
            x = x.args[0] if f.lo >= -LARGE and f.hi < LARGE else x
        out.append((q, x))
    r = total(int(s.imm) % k, out)
    return r if r is not s else None


def split(s: Term, k: int, only_rest: int, facts: Facts) -> Optional[Tuple[Optional[Term], Term]]:
    if s.op != SUM or not 0 < k <= LARGEST:
        return None
    if only_rest:
        r = reduced(s, k, facts)
        return None if r is None else (None, r)
    return divide(s, k, int(s.imm) // k)


def next_divisor(s: Term, by: int, k: int) -> int:
    """The common divisor to try after k: of the terms that k divides and the largest of the others. 0: k divides all terms."""
    largest = max((gcd(by, q) for q in s.ks if not k or q % k), default=0)
    return gcd(k, largest) if largest else 0


def rest_fits(s: Term, k: int, facts: Facts) -> Optional[int]:
    """Which multiple of k is below all terms that k does not divide and the constant, if the next one is above them."""
    lo = hi = int(s.imm)
    for q, x in zip(s.ks, s.args):
        if q % k == 0:
            continue
        f = facts.index(x)
        if f.lo not in INT64 or f.hi not in INT64:
            return None
        lo, hi = lo + min(q * f.lo, q * f.hi), hi + max(q * f.lo, q * f.hi)
        if hi - lo >= k or lo < -LIMIT or hi > LIMIT:
            return None
    return lo // k if lo // k == hi // k and lo // k in INT64 else None


def group(s: Term, by: int, first: int, facts: Facts) -> Optional[Tuple[int, int, Pair]]:
    """first: of the divisors to try. Returns the number of the next one, the divisor, and both parts."""
    if s.op != SUM or not 0 <= by <= LARGEST:
        return None
    n, k = 0, next_divisor(s, by, 0)
    while k > 1:
        if n >= first and k <= LARGEST:
            whole = rest_fits(s, k, facts)
            pair = divide(s, k, whole) if whole is not None else None
            if pair:
                return n + 1, k, pair
        n, k = n + 1, next_divisor(s, by, k)
    return None


# --- sums of elements: src/rewrite/addends.c ----------------------------------------------------------------------------------------------
def spread(root: Term) -> List[Tuple[Term, Tuple[int, int]]]:
    """The tree of additions as far as it is spread out: nodes with the numbers of their two parts, (0, 0) of a term."""
    ref, part, depth, count = [root], [(0, 0)], [0], 1
    while count < MOST_TERMS:
        more = [i for i in range(len(ref)) if part[i] == (0, 0) and ref[i].op == root.op and ref[i].type == root.type]
        if not more:
            break
        i = min(more, key=lambda n: depth[n])
        part[i] = len(ref), len(ref) + 1
        ref += ref[i].args
        part += [(0, 0)] * 2
        depth += [depth[i] + 1] * 2
        count += 1
    return list(zip(ref, part))


def addend(root: Term, op: int, taken: List[int], first: int) -> Optional[int]:
    """The number of a term of a tree of additions, `first` or a later one: not taken, an `op`."""
    return next((n for n, (x, part) in enumerate(spread(root)) if n >= first and part == (0, 0) and x.op == op and n not in taken), None)


def addends_left(root: Term, taken: List[int]) -> Tuple[bool, Optional[Term]]:
    """(whether nothing is left, the node that has all that is left)"""
    tree = spread(root)
    def below(n: int) -> Set[int]: return {n} if tree[n][1] == (0, 0) else below(tree[n][1][0]) | below(tree[n][1][1])
    left = below(0) - set(taken)
    return not left, next((x for n, (x, _) in enumerate(tree) if left and below(n) == left), None)


def pick(s: Term, wanted: Optional[int], op: int, taken: List[int], first: int) -> Optional[int]:
    """The number of a term of s, `first` or a later one: not taken, an `op` unless that is 0, with the wanted coefficient."""
    if s.op != SUM:
        return None
    return next((n for n in range(first, len(s.args))
                 if n not in taken and (not op or s.args[n].op == op) and (wanted is None or s.ks[n] == wanted)), None)


def pick_bound(s: Term, k: int, x: Term, taken: List[int]) -> Optional[Tuple[List[int], int]]:
    """k*x as terms of s: their numbers, and how much of the constant of s."""
    if s.op != SUM or k == 0 or k not in INT64:
        return None
    out = list(taken)
    for q, y in zip(x.ks, x.args) if x.op == SUM else ((1, x),):
        n = next((n for n, z in enumerate(s.args) if z is y and s.ks[n] == k * q and n not in out), None)
        if n is None:
            return None
        out.append(n)
    constant = k * int(x.imm) if x.op == SUM else 0
    return (out, constant) if int(s.imm) - constant in INT64 else None
