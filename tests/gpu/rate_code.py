"""Chooses the kernel of each form: assembles one for each way of chaining it, and takes that whose loop has the machine code of the form as often as
the text has the form.

Needs ptxas and patterns/prices.tsv. Leaves a Choice for each form: its PTX, and how often each machine operation runs in a turn of the loop.
"""
from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Callable, Dict, List, Optional, Tuple

from gen.load import RuleSet
from gen.prices import Price, Sass, Table, cost
from gen.proof import sass_path
from gen.proof.price_kernels import types_of
from gen.proof.prices import Refused, assembled
from rate_kernels import Way, beside, kernel, ways

ALIKE = {n: "sum" for n in ("IADD3", "IMAD", "VIADD", "MOV", "UMOV", "HFMA2.MMA", "IADD", "CS2R")}  # ptxas takes one for another
ALIKE.update({n: "half" for n in ("HADD2", "HFMA2", "HMUL2", "HADD2.BF16", "HFMA2.BF16", "HMUL2.BF16", "HFMA2.MMA.BF16")})
LOOP = ("UIADD3", "ISETP", "BRA")  # of the loop itself, once in a turn
CLEAN = 0.12  # of the machine instructions of a form: what the loop may have more or less of it


Build = Callable[[str, List[Tuple[str, str]]], Dict[str, List[sass_path.Instruction]]]  # from the head of a module and texts of kernels


@dataclass(frozen=True)
class Choice:
    form: str
    name: str
    way: Way
    chains: int
    copies: int  # of the form in a turn of the loop
    text: str
    loop: Tuple[Tuple[str, int], ...]  # machine operations that run in a turn, and how often
    off: float  # what of them differs from the stated price, in instructions for each of the form

    def clean(self, issue: float) -> bool:
        return self.off <= CLEAN * max(issue, 1.0)


def assemble(ptxas: str, head: str, kernels: List[Tuple[str, str]], cubin: Path, target: str) -> Dict[str, List[sass_path.Instruction]]:
    """The machine code of each kernel that ptxas takes, which the cubin then holds."""
    try:
        return assembled(ptxas, head, kernels, cubin, target)
    except Refused as refused:
        raise SystemExit(f"ptxas: {refused}") from refused


def loop_way(code: List[sass_path.Instruction]) -> Optional[List[int]]:
    """What runs in a turn of the longest loop, no slow path taken: indices of instructions."""
    end = next((k for k, i in enumerate(code) if i.operation == sass_path.EXIT and not i.guarded), len(code))
    back = [k for k in range(end) if code[k].operation == sass_path.BRA and code[k].guarded and code[k].target(k) <= k]
    if not back:
        return None
    at = max(back, key=lambda k: k - code[k].target(k))
    stop = replace(code[at], first=sass_path.EXIT | sass_path.TRUE << 12, second=0)
    return sass_path.shortest([*code[:at], stop, *code[at + 1:]], code[at].target(at))


def counted(code: List[sass_path.Instruction], sass: Sass, target: str) -> Dict[str, int]:
    """How often each machine operation runs in a turn; empty if there is no loop."""
    way = loop_way(code)
    if way is None:
        return {}
    out = Counter(sass.of(target)[code[k].key].name if code[k].key in sass.of(target) else f"0x{code[k].key:03x}" for k in way[:-1])
    out["BRA"] += 1
    return dict(out)


def difference(loop: Dict[str, int], price: Price, others: List[Price], copies: int, sass: Sass, target: str) -> float:
    """Instructions, for each of the form, that the loop has more or less than the stated prices say."""
    want: Dict[str, float] = {}
    for p in [price, *others]:
        for key, n in p.ops.items():
            name = sass.of(target)[key].name
            want[ALIKE.get(name, name)] = want.get(ALIKE.get(name, name), 0.0) + float(n) * copies
    have: Dict[str, float] = {}
    for name, count in loop.items():
        have[ALIKE.get(name, name)] = have.get(ALIKE.get(name, name), 0.0) + count - (name in LOOP)
    return sum(abs(want.get(n, 0.0) - have.get(n, 0.0)) for n in {*want, *have}) / copies


def sized(form: str, price: Price, latency: bool) -> Tuple[int, int]:
    """(chains, copies): registers for 1024 threads of 64, and machine instructions of a turn that the instruction cache holds.
    Of chains of halves ptxas makes one of pairs, unless there is one alone; 32 warps do without more."""
    issue = max(1.0, float(sum(price.ops.values())))
    single = latency or types_of(form)[:1] in (["f16"], ["bf16"])
    chains = 1 if single else 8 if issue <= 4 else 4 if issue <= 16 else 2
    each = max(1, int((32 if latency else 160) / issue) // chains)
    if form.endswith(" imm"):
        each += each % 2  # the literals 1.5 and 1/1.5 in turn
    return chains, chains * each


def chosen(forms: List[str], latency: bool, table: Table, sass: Sass, target: str, head: str, build: Build) -> Dict[str, Choice]:
    """The best way for each form. Each round assembles the next way of the forms that have no clean one yet."""
    best: Dict[str, Choice] = {}
    for turn in range(max((len(ways(f, latency)) for f in forms), default=0)):
        made: List[Choice] = []
        for n, f in enumerate(forms):
            price = table.price(f, target)
            assert price is not None
            if len(ways(f, latency)) <= turn or (f in best and best[f].clean(float(sum(price.ops.values())))):
                continue
            w, name = ways(f, latency)[turn], f"{'lt'[not latency]}{n}"
            chains, copies = sized(f, price, latency)
            if not latency and w.glue in ("guard",):
                chains, copies = 4, 96
            made.append(Choice(f, name, w, chains, copies, kernel(f, name, w, chains, copies), (), 0.0))
        code = build(head, [(c.name, c.text) for c in made])
        for c in made:
            loop = counted(code.get(c.name, []), sass, target)
            if not loop:
                continue
            others = [p for o in beside(c.form, c.way) for p in [table.price(o, target)] if p is not None]
            price = table.price(c.form, target)
            assert price is not None
            c = replace(c, loop=tuple(sorted(loop.items())), off=difference(loop, price, others, c.copies, sass, target))
            if c.form not in best or c.off < best[c.form].off:
                best[c.form] = c
    return best


def machine_cost(loop: Dict[str, int], s: RuleSet, sass: Sass) -> float:
    """Clocks of a sub-partition for a turn of one warp, by the stated prices of machine operations."""
    ops = {sass.names[n]: Fraction(k) for n, k in loop.items() if sass.names.get(n) in sass.of(s.values["name"])}
    c = cost(Price(ops, [], 0), sass, s)
    return max(float(sum(loop.values())), *c.cycles)
