"""What the texts of llvm and intr rows compute, and which order and scope of memory an operation with an effect needs.

LLVM calculates with its own meaning of an instruction, not with that of the PTX that it becomes: `llvm.abs(%a, i1 1)` is poison at the smallest integer,
and `abs(x) < 0` becomes false although the machine's instruction is right. So running a row's PTX proves nothing of it: here each text is one operation
of the rule language at classes of types, wherever LLVM defines its result. A build takes a row whose left side is that operation; one with another left
side of integers is proved to be it (`meaning`), and of floats run.

    fault(intr(abs.i32(a), 'llvm.abs(%a, i1 1)'))      "'llvm.abs(%a, i1 1)' is poison at the smallest integer, .."
    meaning(llvm(neg.i32(a), 'sub(0, %a)'))            sub.i32(0, a)
"""
from __future__ import annotations

import functools
import inspect
import re
from typing import Callable, Dict, List, NamedTuple, Optional, Tuple

from gen import ops
from gen.asm_fields import bits_of, of
from gen.expr import Expr, Lit, Node, Type, Var
from gen.forms import operand_variables
from gen.lang import Rule


class Meaning(NamedTuple):
    op: str
    classes: str  # of the result; of a comparison or conversion, of the operands
    to: str = ""  # of a conversion, those of the result
    term: Optional[Callable[..., Expr]] = None  # of what is no operation of the language: of the type and the operands


# --- terms -----------------------------------------------------------------------------------------------------------------------------
def saturated(add: bool, signed: bool) -> Callable[..., Expr]:
    """The sum or difference, or the limit that it is beyond."""
    def term(t: str, a: Expr, b: Expr) -> Expr:
        v = of("add" if add else "sub", t)(a, b)
        if not signed:
            return of("select", t)(of("lt", t)(*((v, a) if add else (a, b))), Lit(-1 if add else 0), v)
        both, x = of("band", t), of("bxor", t)
        over = of("lt", t)(both(x(a, v), x(b, v)) if add else both(x(a, b), x(a, v)), Lit(0))
        return of("select", t)(over, x(of("shra", t)(a, Lit(bits_of(t) - 1)), Lit((1 << bits_of(t) - 1) - 1)), v)
    return term


def funnel(left: bool) -> Callable[..., Expr]:
    """The upper half of (a, b) << c % w, or the lower half of it >> c % w."""
    def term(t: str, a: Expr, b: Expr, c: Expr) -> Expr:
        by = of("band", t)(c, Lit(bits_of(t) - 1))
        away = of("sub", t)(Lit(bits_of(t)), by)
        return of("bor", t)(of("shl", t)(a, by if left else away), of("shrl", t)(b, away if left else by))
    return term


def reversed_parts(size: int) -> Callable[..., Expr]:
    def term(t: str, a: Expr) -> Expr:
        parts = [of("shl", t)(of("band", t)(of("shrl", t)(a, Lit(n)), Lit((1 << size) - 1)), Lit(bits_of(t) - size - n)) for n in range(0, bits_of(t), size)]
        return functools.reduce(of("bor", t), parts)
    return term


def zeros_below(t: str, a: Expr) -> Expr:
    return of("popcnt", t)(of("band", t)(of("bnot", t)(a), of("sub", t)(a, Lit(1))))


RELATIONS = ("eq", "ne", "lt", "le", "gt", "ge")
LLVM: Dict[str, Meaning] = {
    **{name: Meaning(op, "IU") for name, op in (("add", "add"), ("sub", "sub"), ("mul", "mul"), ("shl", "shlx"), ("lshr", "shrlx"), ("ashr", "shrax"))},
    **{name: Meaning(op, "PIU") for name, op in (("and", "band"), ("or", "bor"), ("xor", "bxor"))},
    **{f"{sign}{name}": Meaning(op, cls) for sign, cls in (("s", "I"), ("u", "U")) for name, op in (("div", "divx"), ("rem", "remx"))},
    **{name: Meaning(name[1:], "F") for name in ("fadd", "fsub", "fmul", "fdiv", "fneg")},
    "icmp eq": Meaning("eq", "PIU"), "icmp ne": Meaning("ne", "PIU"),
    **{f"icmp {sign}{to}": Meaning(op, cls) for sign, cls in (("s", "I"), ("u", "UP")) for to, op in (("lt", "lt"), ("le", "le"), ("gt", "gt"), ("ge", "ge"))},
    **{f"fcmp {to}": Meaning(op, "F") for op, to in zip(RELATIONS, ("oeq", "une", "olt", "ole", "ogt", "oge"))},
    "select": Meaning("select", "PIUF"),
    "trunc": Meaning("cvt", "IU", "IU"), "sext": Meaning("cvt", "I", "IU"), "zext": Meaning("cvt", "U", "IU"), "bitcast": Meaning("bits", "IUF", "IUF"),
    "sitofp": Meaning("cvt", "I", "F"), "uitofp": Meaning("cvt", "U", "F"), "fpext": Meaning("cvt", "F", "F"), "fptrunc": Meaning("cvt", "F", "F"),
    **{f"atomicrmw {sign}{name}": Meaning(f"atomic_{name}", cls) for sign, cls in (("", "I"), ("u", "U")) for name in ("min", "max")},
    "atomicrmw add": Meaning("atomic_add", "IU"), "atomicrmw fadd": Meaning("atomic_add", "F"), "atomicrmw xchg": Meaning("atomic_exch", "U"),
    **{f"atomicrmw {name}": Meaning(f"atomic_{name}", "U") for name in ("and", "or", "xor")}, "cmpxchg": Meaning("atomic_cas", "U"),
}
INTRINSICS: Dict[str, Meaning] = {
    **{f"{sign}{name}": Meaning(name, cls) for sign, cls in (("s", "I"), ("u", "U")) for name in ("min", "max")},
    "abs": Meaning("abs", "I"), "ctlz": Meaning("clz", "IU"), "ctpop": Meaning("popcnt", "IU"), "fabs": Meaning("abs", "F"), "fma": Meaning("fma", "F"),
    "maximum": Meaning("max", "F"), "minimum": Meaning("min", "F"), "copysign": Meaning("copysign", "F"), "sqrt": Meaning("sqrt", "F"),
    "floor": Meaning("floor", "F"), "ceil": Meaning("ceil", "F"), "trunc": Meaning("trunc", "F"), "roundeven": Meaning("round_even", "F"),
    "rint": Meaning("round_even", "F"), "nearbyint": Meaning("round_even", "F"), "round": Meaning("round_afz", "F"),
    "nvvm.saturate.f": Meaning("saturate", "F"),
    **{f"nvvm.mulhi.{name}": Meaning("mulhi", cls) for name, cls in (("i", "I"), ("ll", "I"), ("ui", "U"), ("ull", "U"))},
    **{f"nvvm.{frm}2{name}.rz": Meaning("cvt", "F", cls) for frm in "fd" for name, cls in (("i", "I"), ("ll", "I"), ("ui", "U"), ("ull", "U"))},
    **{f"nvvm.shfl.sync.{name}.i32": Meaning(f"shuffle_{op}", "U") for name, op in (("bfly", "xor"), ("down", "down"), ("up", "up"), ("idx", "idx"))},
    "nvvm.vote.ballot.sync": Meaning("ballot", "P", "U"),
    **{f"nvvm.redux.sync.{sign}{name}": Meaning(f"redux_{name}", cls) for sign, cls in (("", "I"), ("u", "U")) for name in ("min", "max")},
    **{f"nvvm.redux.sync.{name}": Meaning(f"redux_{name}", "IU" if name == "add" else "U") for name in ("add", "and", "or", "xor")},
    **{f"{sign}{name}.sat": Meaning("", cls, "", saturated(name == "add", sign == "s")) for sign, cls in (("s", "I"), ("u", "U")) for name in ("add", "sub")},
    "fshl": Meaning("", "U", "", funnel(True)), "fshr": Meaning("", "U", "", funnel(False)), "cttz": Meaning("", "IU", "", zeros_below),
    "bswap": Meaning("", "U", "", reversed_parts(8)), "bitreverse": Meaning("", "U", "", reversed_parts(1)),
}
WHOLE, POISON = "the 32 threads of a warp", "is poison at"
# arguments beside the operands, by place, with what another value would be
CONSTANTS: Dict[str, Tuple[str, str]] = {
    "abs": ("%a, i1 0", f"{POISON} the smallest integer"), "ctlz": ("%a, i1 0", f"{POISON} 0"), "cttz": ("%a, i1 0", f"{POISON} 0"),
    **{f"nvvm.shfl.sync.{name}.i32": ("i32 -1, %a, %b, i32 31", f"is not a shuffle of {WHOLE}") for name in ("bfly", "down", "idx")},
    "nvvm.shfl.sync.up.i32": ("i32 -1, %a, %b, i32 0", f"is not a shuffle of {WHOLE}"),
    "nvvm.vote.ballot.sync": ("i32 -1, %a", f"does not ask {WHOLE}"),
    **{f"nvvm.redux.sync.{name}": ("%a, i32 -1", f"is not of {WHOLE}") for name in ("add", "min", "max", "umin", "umax", "and", "or", "xor")},
}
PARTIAL = {"fptosi": "where the integer does not hold the value", "fptoui": "where the integer does not hold the value"}  # other texts that are poison
WIDTHS = {"trunc": "narrower", "sext": "wider", "zext": "wider", "fpext": "wider", "fptrunc": "narrower", "bitcast": "of the same size"}
SIZED = {"i": 32, "ll": 64, "ui": 32, "ull": 64, "f": 32, "d": 64}  # of nvvm names

# --- order and scope -----------------------------------------------------------------------------------------------------------------
ORDERS = ("relaxed", "acquire", "release", "acq_rel", "volatile", "weak", "sc")
SCOPES = ("cta", "cluster", "gpu", "sys")
# what an operation with an effect orders: which of ORDERS its instruction may have; "": none is written
EFFECTS: Dict[str, Tuple[Tuple[str, ...], str]] = {
    "ticket": (("acq_rel",), "what was written before is seen by who draws later, and the other way round"),
    "lock": (("acquire", "acq_rel"), "what was written before the unlock that it finds is seen after it"),
    "unlock": (("release", "acq_rel"), "what was written before it is seen after the lock that finds it"),
    "": (("", *ORDERS), "nothing else is ordered by it"),
}
DEVICE = ("", "gpu", "sys")  # scopes in which all blocks of a launch are; "" is gpu


def disorder(r: Rule) -> str:
    """What is wrong with the memory order or scope of a row for an operation that updates memory in one step; empty if nothing."""
    assert isinstance(r.left, Node)
    name = r.left.op.name
    if name == "copy_async":
        size = ops.TYPE_BY_NAME[r.left.result.name].bits // 8 * r.left.result.lanes
        wanted = f"cp.async.{'cg' if size == 16 else 'ca'}.shared.global [%p], [%q], {size};"
        return "" if str(r.right) == wanted else f"'{r.right}': {r.left} is '{wanted}'"
    orders, why = EFFECTS.get(name, EFFECTS[""])
    if r.kind in ("llvm", "intr"):
        return "" if "relaxed" in orders else f"'{r.right}' is relaxed, but {name} needs {' or '.join(orders)}: {why}"
    accesses = re.findall(r"(?:^|[;{])\s*(?:@!?\w+\s+)?((?:atom|red|ld|st|ldu|cp|multimem)\b[\w.:]*)", str(r.right))
    if len(accesses) != 1 or not accesses[0].startswith("atom."):
        return f"'{r.right}': {name} is one step, which one atom.. takes, {', '.join(accesses) or 'no access'} found"
    words = accesses[0].split(".")
    order = next((x for x in words if x in ORDERS), "")
    if order not in orders:
        return f"{accesses[0]} is {order or 'relaxed'}, but {name} needs {' or '.join(o for o in orders if o)}: {why}"
    scope = next((x for x in words if x in SCOPES), "")
    if scope not in DEVICE:
        return f"{accesses[0]} has the scope {scope}, but all blocks of a launch update one element: gpu is expected"
    return ""


# --- what it computes ----------------------------------------------------------------------------------------------------------------
def fault(r: Rule) -> str:
    """What is wrong with an instruction row; empty if nothing. Rows of asm are asked for their effects alone: gen/asm_rule.py reads the rest."""
    if not isinstance(r.left, Node):
        return ""
    props = r.left.op.props.split()
    if {"address", "writes"} <= set(props):
        wrong = disorder(r)
        if wrong:
            return wrong
    if r.kind not in ("llvm", "intr"):
        return ""
    name, _, inside = str(r.right).partition("(")
    short, inside = name[5:] if name.startswith("llvm.") else name, inside.rstrip(") ")
    table = LLVM if r.kind == "llvm" else INTRINSICS
    if short in PARTIAL:
        return f"'{r.right}' {POISON} values outside of its domain, {PARTIAL[short]}"
    if r.kind == "intr" and short in CONSTANTS:
        wanted, otherwise = CONSTANTS[short]
        if re.sub(r"\s+", "", inside) != wanted.replace(" ", ""):
            return f"'{r.right}' {otherwise}, or lacks an argument: '{name}({wanted})' is expected"
    if short not in table:
        integers = any(ops.TYPE_BY_NAME[m].cls in "PIU" for t in r.left.types for m in t.members)
        return f"'{name}': gen/llvm_text.py does not know what it computes, and samples are no proof on integers" if integers else ""
    return unlike(r, table[short], short, inside if short not in CONSTANTS else "")


def unlike(r: Rule, m: Meaning, name: str, inside: str) -> str:
    """How the left side is another operation than the text's; empty if it is that one, of its operands in order. Of floats it may be more than one
    operation, which the simulator runs."""
    left = r.left
    assert isinstance(left, Node)
    classes = lambda t: {ops.TYPE_BY_NAME[x].cls for x in t.members}
    given = [f"%{'abc'[n]}" for n in range(len(operand_variables(left)))]
    order = [x.strip() for x in inside.split(",")] if inside else given
    one = left.op.name == m.op or (m.op == "bits" and left.op.name == "cvt")
    distinct = all(isinstance(a, Var) for a in left.args) and len({id(a) for a in left.args}) == len(left.args)
    floats = all(ops.TYPE_BY_NAME[x].cls == "F" for t in left.types for x in t.members)
    if not one or not distinct or order != given:
        run = floats and (one or not distinct)
        return "" if run or meaning(r) is not None else f"'{r.right}' computes {m.op or name} of its operands in order, not {left}"
    result, frm = left.types[0], left.types[-1]
    if not classes(frm) <= set(m.classes) or m.to and not classes(result) <= set(m.to):
        return f"'{r.right}' is about {' and '.join(KINDS[c] for c in m.classes)}, but {left.op.name} of {left} is of {frm}"
    for x in frm.members:
        for y in result.members if m.to else ():
            wide = bits_of(y) - bits_of(x)
            kind = "wider" if wide > 0 else "narrower" if wide < 0 else "of the same size"
            if name in WIDTHS and WIDTHS[name] != kind:
                return f"'{r.right}' makes a {WIDTHS[name]} value, but {y} is {kind} than {x}".replace("of the same size than", "as wide as")
            if m.op == "bits" and left.op.name == "cvt" and "F" in ops.TYPE_BY_NAME[x].cls + ops.TYPE_BY_NAME[y].cls:
                return f"'{r.right}' keeps the bits, and {left} does not"
    return sized(r, name)


def meaning(r: Rule) -> Optional[Expr]:
    """The term of a text on integers of one type whose left side is another operation than it names; None where there is none, or no need."""
    name, _, inside = str(r.right).partition("(")
    short, words = name[5:] if name.startswith("llvm.") else name, [x.strip() for x in inside.rstrip(") ").split(",") if x.strip()]
    m = (LLVM if r.kind == "llvm" else INTRINSICS if r.kind == "intr" else {}).get(short)
    if m is None or m.to or not isinstance(r.left, Node) or {"address", "convergent"} & set(r.left.op.props.split()):
        return None
    operands = operand_variables(r.left)
    given = [f"%{'abc'[n]}" for n in range(len(operands))]
    words = words[:-1] if short in CONSTANTS else words or given
    if (m.op == r.left.op.name and words == given and len(r.left.args) == len(given)) or r.left.result.is_class or r.left.result.lanes > 1:
        return None
    relation = not m.term and ops.OP_BY_NAME[m.op].sig == "compare"
    arity = len(inspect.signature(m.term).parameters) - 1 if m.term else ops.OP_BY_NAME[m.op].arity
    own = r.left.types[0].name  # of a comparison that of the operands
    if relation != (r.left.op.sig == "compare") or ops.TYPE_BY_NAME[own].cls not in set(m.classes) & set("PIU") or len(words) != arity:
        return None
    args: List[Expr] = []
    for x in words:
        if x in given:
            args.append(operands[given.index(x)])
        elif re.fullmatch(r"-?\d+", x):
            args.append(Lit(int(x)))
        else:
            return None
    return m.term(own, *args) if m.term else Node(ops.OP_BY_NAME[m.op], [Type(own)], (), args)


KINDS = {"P": "preds", "I": "signed integers", "U": "unsigned integers", "F": "floats"}


def sized(r: Rule, name: str) -> str:
    """Of an intrinsic of NVVM with the sizes in its name: whether the left side has these."""
    assert isinstance(r.left, Node)
    m = re.fullmatch(r"nvvm\.(?:mulhi\.(i|ll|ui|ull)|(f|d)2(i|ll|ui|ull)\.rz)", name)
    wanted: List[int] = [SIZED[x] for x in ((m[1],) if m[1] else (m[3], m[2]))] if m else []
    found = [bits_of(x) for t in r.left.types for x in t.members]
    return f"'{r.right}' is of {' and '.join(map(str, wanted))} bits, not {r.left}" if m and found != wanted else ""


__all__ = ["EFFECTS", "INTRINSICS", "LLVM", "fault", "meaning"]
