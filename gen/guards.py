"""The named conditions of `when=`: what each takes, what it means, and what decides it.

The engine decides a *fact* from what it knows about a node, and claims it only where it holds for every evaluation of the node
(src/rewrite/guards.c has one case for each). A proof assumes the fact's `meaning`, a C expression over the values of its parameters.
A *flag* is part of a node's identity: all nodes that the rule matched carry it (`~flag`: the root does not). A *use* counts users of a
node; only isel has counts. A *kernel* condition is about the kernel that a rule is applied to, and the same for all its nodes: both it and its
negation may hold, so a rule must be right either way. A *plan* gives the number of an option. A *feature* is a word of TARGET's `features=`:
gen/ decides it, and leaves a rule out of the tables of a target that lacks the feature. A *permit* says what the proof lets the sides differ in;
it decides nothing when the rule is matched.

    within(n, 0, k)     n is an index, 0 <= n < k wherever n is evaluated
    known_zero(x, 7)    the low three bits of the integer x are never set
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Tuple

from gen import ops


@dataclass(frozen=True)
class Guard:
    name: str
    kind: str                     # fact, flag, use, kernel, feature, permit
    parameters: Tuple[str, ...]   # names; the first is the value that a fact is about, the others are integer constants
    classes: str                  # letters of Type.cls that the value may have
    meaning: str                  # C, over the parameters' names; floats in their native C type, index as a wide integer; empty: folds.py writes it out
    says: str                     # for messages and for `warpburg rules why`


FACTS = [
    Guard("within", "fact", ("n", "lo", "hi"), "X", "lo <= n && n < hi", "lo <= n < hi wherever n is evaluated"),
    Guard("multiple", "fact", ("n", "k"), "X", "k > 0 && n % k == 0", "k divides n wherever n is evaluated"),
    Guard("apart", "fact", ("x", "y", "k"), "X", "y - x >= k", "y - x >= k wherever both are evaluated"),
    Guard("period", "fact", ("n", "k", "q"), "X", "k > 0 && q * k <= n && n < q * k + k", "n // k is the same number q wherever n is evaluated; binds q"),
    Guard("fixed", "fact", ("x", "n"), "PIUFCX", "", "x is the same at all values of n; of rules about folds"),
    Guard("counts", "fact", ("n", "k"), "X", "", "n has each of the values 0 .. k - 1; binds k; of rules about folds"),
    Guard("known_zero", "fact", ("x", "mask"), "IU", "((uint64_t)x & (uint64_t)mask) == 0", "no bit of mask is ever set in x"),
    Guard("known_one", "fact", ("x", "mask"), "IU", "(~(uint64_t)x & (uint64_t)mask) == 0", "every bit of mask is always set in x"),
    Guard("finite", "fact", ("x",), "F", "fabs(x) < INFINITY", "x is never nan, inf or -inf"),
    Guard("never_nan", "fact", ("x",), "F", "x == x", "x is never nan"),
    Guard("never_negzero", "fact", ("x",), "F", "!(x == 0 && signbit(x))", "x is never -0"),
    Guard("integral", "fact", ("x",), "F", "x == trunc(x)", "x is an integer or infinite, never nan"),
    Guard("unit", "fact", ("x",), "F", "0 <= x && x <= 1", "x lies in [0, 1], never nan"),
    Guard("nonnegative", "fact", ("x",), "F", "x >= 0 && !signbit(x)", "x is at least 0, and neither -0 nor nan"),
    Guard("literal", "fact", ("x",), "PIUF", "", "x is a number, and so is what a rule computes of such alone"),
    Guard("power_of_two", "fact", ("x",), "F", "x is 2^k or -2^k",
          "x is a number 2^k or -2^k, whose reciprocal is one too, and neither is subnormal"),
    Guard("reciprocal_in_two", "fact", ("x",), "F", "",
          "x is an f32 of 2^-20 .. 2^20 by which each quotient a / x is a * high + a * low, rounded once, with 1 / x in two parts of its sign"),
]
USES = [Guard("once", "use", ("x",), "PIUF", "1", "x has one user; legal in isel, where users are counted")]
KERNELS = [Guard("few_warps", "kernel", (), "", "1",
                 "the kernel has so few warps that they wait for results and for code, and threads share no terms (rules.few_warps)"),
           Guard("no_llvm", "kernel", (), "", "1", "the tables alone write the PTX, by --backend ptx or in a build without LLVM: nothing calls libdevice")]
FEATURES = [Guard("has", "feature", (), "", "1", "the target's features= names it")]
FLAGS = [Guard(f, "flag", (), "", "1", f"every matched {'function' if f == 'approx' else 'node'} carries {f}") for f in ops.FLAGS if f not in ("wide", "rare")]
PERMITS = [Guard("nearer", "permit", (), "", "1",
                 "the right side may differ if it is no further from the exact value than the left side may be, its functions off by their budgets"),
           Guard("regroups", "permit", (), "", "1",
                 "a sum or product may have its terms in other brackets, in a type that holds its own, and begin with 0 or 1; of options of arrays.py"),
           Guard("rescales", "permit", (), "", "1",
                 "a sum of exp(a - c) or (a - c)^2 of k >= N terms may be of sums relative to numbers of their own; of options of arrays.py")]
PLANS = [Guard("given", "plan", ("k",), "", "", "k is the number that a plan gives; binds k; what free=k of an option asks for")]

ALL = [*FACTS, *USES, *KERNELS, *FEATURES, *FLAGS, *PERMITS, *PLANS]
BY_NAME = {g.name: g for g in ALL}
NUMBERS = ("literal", "power_of_two", "reciprocal_in_two")  # facts of numbers of the text
NUMBER = {g.name: n for n, g in enumerate([*FACTS, *USES, *KERNELS])}  # conditions that the engine decides, in the order of code.def
