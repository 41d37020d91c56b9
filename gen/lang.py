"""The rule language: the names that a pattern file imports and the calls that make records.

A pattern file says `from gen.lang import *` and joins lists of records with `+`; there is no text to parse and no lambda. Every fault raises
a `PatternError`, which carries the file and line of the faulty pattern.

    rewrite(mul.bf16(a, b), fma.bf16(a, b, -0.0))
    asm(tanh.f32.approx(a), 'tanh.approx.f32 %d, %a;')
"""
from __future__ import annotations

import ast as _ast
import re as _re
from dataclasses import dataclass, field, replace
from typing import Any, Dict, List, Optional, Tuple, Union

from gen import guards as _guards, ops as _ops, rates as _rates
from gen.expr import *
from gen.strategies import strategy
from gen.shorthands import lanes, ramp, relu, sat, satfinite, total
from gen.forms import inside as _inside, is_function as _is_function, may_be_off as _may_be_off, marked as _marked, operand_variables as _operand_variables
from gen.ways import cheaper, each_way as _each_way

KiB, MANY = 1024, 1 << 40


# --- records ------------------------------------------------------------------------------------------------------------------
@dataclass(eq=False)
class Rule:
    kind: str  # rewrite llvm intr call asm lookup
    left: Expr
    right: Union[Expr, str]
    when: Optional[Cond]
    where: Tuple[str, int]
    err: Optional[float] = None  # error of an approximate instruction: relative, or Ulp
    instance: str = ""
    text: str = ""
    ledger: str = ""  # the state of its proof
    names: str = ""  # slots of its variables: "n=v2 k=k0"
    orders: int = 1  # number of operand orders that it is tried in
    more: Tuple[Tuple[Var, str], ...] = ()  # variables of the right side that the left one lacks, with their types; of meanings of asm texts
    immediates: Tuple[Expr, ...] = ()  # of an instruction: what stands for %i, %j, %k of its text
    ptx: str = ""  # of an instruction that LLVM spells: its forms in the price table
    made: List[Optional[Step]] = field(default_factory=list)  # the step of each node of its right side, in the order of building; compile.py fills this
    programs: Dict[str, List[Any]] = field(default_factory=dict)  # its programs by phase; compile.py fills this

    @property
    def name(self) -> str:
        return f"{self.where[0]}:{self.where[1]}{self.instance}"


@dataclass(frozen=True)
class Free:
    """Modifiers of operands that cost nothing at an operation and type."""

    op: str
    type: str
    modifiers: Tuple[str, ...]
    where: Tuple[str, int] = field(default=("?", 0), compare=False)  # targets compare the rest


@dataclass(frozen=True)
class Packed:
    op: str
    to: str
    frm: str
    lanes: int
    where: Tuple[str, int] = field(default=("?", 0), compare=False)  # targets compare the rest


@dataclass(frozen=True)
class Tune:
    name: str
    value: int
    bits: int
    because: str
    off: Optional[int] = None  # the value that lifts a limit, or leaves a term of a price out; None: it cannot be left out
    where: Tuple[str, int] = ("?", 0)
    per: str = ""  # a number of TARGET, of which it has `value` for each
    power: bool = False   # a power of two
    powers: bool = False  # a sum of powers of two: a set of these
    least: int = 1
    most: int = MANY
    upto: str = ""  # a number that is no smaller


@dataclass(frozen=True)
class Target:
    name: str
    values: Dict[str, Any] = field(default_factory=dict)
    where: Tuple[str, int] = ("?", 0)


@dataclass(frozen=True)
class Marks:
    """Functions of types."""

    ops: Tuple[str, ...]
    types: Tuple[str, ...]


@dataclass(frozen=True)
class Budget:
    ops: Tuple[str, ...]
    types: Tuple[str, ...]
    ulp: float
    xla: float
    xla_abs: float
    approx: float
    approx_abs: float


def _immediate(text: str, inside: str) -> Expr:
    """The expression of constants that is written in a text: `32 - k`."""
    arithmetic = (_ast.BinOp, _ast.UnaryOp, _ast.USub, _ast.Add, _ast.Sub, _ast.Mult, _ast.FloorDiv, _ast.Mod)
    allowed = (*arithmetic, _ast.Expression, _ast.Name, _ast.Load, _ast.Constant)
    known = {**{n: v for n, v in VARIABLES.items() if v.kind == "const"}, "w": w}
    try:
        tree = _ast.parse(inside.strip(), mode="eval")
    except SyntaxError:
        tree = None
    if tree is None or not all(isinstance(x, allowed) and (not isinstance(x, _ast.Name) or x.id in known) for x in _ast.walk(tree)):
        fail(f"'{text}': %{{{inside}}} is neither an operand nor arithmetic of the constants {' '.join(known)} with + - * // %")
    out = lift(eval(compile(tree, "", "eval"), {"__builtins__": {}}, known))  # type: ignore[arg-type]  # names of constants and arithmetic alone
    if isinstance(out, Lit) and not isinstance(out.value, int):
        fail(f"'{text}': %{{{inside}}} is no integer")
    return out


def _positions(left: Expr, text: str) -> Tuple[str, Tuple[Expr, ...]]:
    """The text with each %{name} replaced by the operand's position, %a, %b or %c, and each %{32 - k} by that of an immediate, %i, %j or %k; the
    immediates. A name or position that is no operand is an error."""
    names = [v.name for v in _operand_variables(left)]
    found: Dict[str, Expr] = {}
    def place(m: Any) -> str:
        if m.group(1) in names[:3]:
            return "%" + "abc"[names.index(m.group(1))]
        constant = m.group(1) not in VARIABLES or VARIABLES[m.group(1)].kind == "const"
        e = _immediate(text, m.group(1)) if constant and m.group(1).strip() else None
        if e is None:
            fail(f"'{text}': {m.group(0)} is no operand of {left}, which has {', '.join(names) or 'none'}")
        found.setdefault(str(e), e)  # type: ignore[arg-type]
        if len(found) > 3:
            fail(f"'{text}': more than three immediates")
        return "%" + "ijk"[list(found).index(str(e))]
    for letter in _re.findall(r"%([a-z])(?![A-Za-z0-9_])", text):
        if letter not in "dpq" and (letter not in "abc" or "abc".index(letter) >= len(names)):
            constants = [v.name for v in VARIABLES.values() if v.kind == "const" and _re.search(rf"\b{v.name}\b", str(left))]
            fail(f"'{text}': %{letter} is no operand of {left}, which has {len(names)}: %a is the first; %{{{names[0] if names else 'a'}}} names one"
                 + "".join(f"; {name} is a constant, which %{{{name}}} writes" for name in constants))
    return _re.sub(r"%\{([^}]*)\}", place, text), tuple(found.values())


def _for_approx(left: Expr, when: Optional[Cond]) -> Tuple[Expr, Optional[Cond], Dict[int, Expr]]:
    """`when=approx` as flags: each function of the left side carries it. The third result marks those of the right side."""
    asked = [c for c in parts(when) if isinstance(c, Guard) and c.name == "approx"]
    if not asked or not any(map(_is_function, _inside(left))):
        return left, when, {}
    memo: Dict[int, Expr] = {}
    of, rest = _marked(left, memo), [_marked(c, memo) for c in parts(when) if not any(c is x for x in asked)]
    return of, All(rest) if len(rest) > 1 else rest[0] if rest else None, memo  # type: ignore[arg-type, return-value]


def _rule(kind: str, left: Any, right: Any, when: Optional[Cond], err: Optional[float] = None) -> Rule:
    if when is not None and not isinstance(when, Cond):
        fail("when= is not a condition")
    of, when, memo = _for_approx(lift(left), when)
    if not isinstance(right, str) or kind == "lookup":
        return Rule(kind, of, _marked(lift(right), memo) if memo else lift(right) if kind != "lookup" else right, when, here(), err)
    text, immediates = _positions(of, right)
    return Rule(kind, of, text, when, here(), err, immediates=immediates)


def _spelled(r: Rule, ptx: str) -> Rule:
    """ptx: the form of the price table that LLVM makes of it, with %t for the type of the result and %b for its bits, %o and %w for those of the first operand;
    several, of which the first that has a price counts; none: modifiers of operands and what only renames a register."""
    for word in ptx.split():
        if not _re.fullmatch(r"[a-z][A-Za-z0-9]*(\.([A-Za-z0-9]|%[tobw])+)*", word):
            fail(f"ptx='{ptx}': '{word}' is no form of an instruction")
    return replace(r, ptx=ptx)


@_each_way
def rewrite(left: Any, right: Any, when: Optional[Cond] = None, err: Optional[float] = None) -> Any:
    """A Rule. err=ulp(..), of a lowering of one form of a function (div(a, sqrt(b))): how far it may be off, within the function's budget; under nearer:
    how far from the left side of real numbers.
    For several results both sides are tuples of the same length, whose right sides may share parts: a list of Rules, one for each."""
    if not isinstance(left, tuple) and not isinstance(right, tuple):
        return _rule("rewrite", left, right, when, err)
    if not isinstance(left, tuple) or not isinstance(right, tuple) or len(left) != len(right) or len(left) < 2:
        fail("several results: tuples of two or more are expected, of the same length on both sides")
    return [_rule("rewrite", x, y, when, err) for x, y in zip(left, right)]


def option(left: Any, right: Any, free: Any, when: Optional[Cond] = None) -> Any:
    """A rule of OPTIONS: option(fold_add.f32(a, b, i), .., free=m): what a fold may be, with a number m that the plan gives which takes it."""
    if not isinstance(free, Var) or free.kind != "const":
        fail(f"option(.., free={free}): a constant is expected, k, m, p or q, for which a plan has a number")
    return rewrite(left, right, when=given(free) if when is None else given(free) & when)  # type: ignore[name-defined]


@_each_way
def llvm(left: Any, text: str, when: Optional[Cond] = None, ptx: str = "") -> Rule: return _spelled(_rule("llvm", left, text, when), ptx)
@_each_way
def intr(left: Any, text: str, when: Optional[Cond] = None, ptx: str = "") -> Rule: return _spelled(_rule("intr", left, text, when), ptx)
def rel(error: float) -> float:
    """An error relative to the result."""
    if not 0 < error < 1:
        fail(f"rel({error}): an error is above 0 and below 1")
    return error


class Ulp(float):
    """An error in units in the last place of the result's type."""


def ulp(n: float) -> Ulp:
    if not n > 0: fail(f"ulp({n}): an error is above 0")
    return Ulp(n)


@_each_way
def call(left: Any, text: str, when: Optional[Cond] = None, err: Optional[float] = None) -> Rule:
    return _rule("call", left, text, when, err)


@_each_way
def asm(left: Any, text: str, when: Optional[Cond] = None, err: Optional[float] = None) -> Rule:
    return _rule("asm", left, text, when, err)


def _table_of(e: Expr, rows: Dict[int, int]) -> int:
    """What lop3 has in its table for an expression of bits: a row for each combination of a bit of the three operands."""
    if isinstance(e, Lit) and e.value in (0, -1):
        return int(e.value) & 0xff
    if isinstance(e, Node) and e.op.name in _BITWISE:
        return _BITWISE[e.op.name](*(_table_of(x, rows) for x in e.args)) & 0xff
    if id(e) not in rows:
        fail(f"lop3(..): {e} is neither and, or, xor, not, 0, -1 nor one of three operands")
    return rows[id(e)]


_BITWISE: Dict[str, Any] = {"band": lambda x, y: x & y, "bor": lambda x, y: x | y, "bxor": lambda x, y: x ^ y, "bnot": lambda x: ~x}


@_each_way
def lop3(left: Any, when: Optional[Cond] = None) -> Rule:
    """lop3(bxor.u32(band.u32(a, b), c)): the instruction lop3.b32, whose table is computed from the pattern."""
    names = _operand_variables(lift(left))
    if len(names) > 3:
        fail(f"lop3({left}): three operands at most")
    table = _table_of(lift(left), dict(zip(map(id, names), (0xf0, 0xcc, 0xaa))))
    letters = 'abc'[:len(names)].ljust(3, 'abc'[len(names) - 1])
    return _rule("asm", left, f"lop3.b32 %d, {', '.join('%' + x for x in letters)}, {table:#04x};", when)


@_each_way
def lookup(left: Any, table: Any, when: Optional[Cond] = None) -> Rule:
    """lookup(two_over_pi.u32(a), TABLE): entry a of a lookup table of type u32 or u64, whose length is a power of two; a wraps."""
    if not isinstance(table, (list, tuple)) or len(table) & len(table) - 1 or not table or not all(isinstance(x, int) and 0 <= x < 2**64 for x in table):
        fail("lookup(.., TABLE): a list of integers of 32 or 64 bits is expected, with a power of two as length")
    return _rule("lookup", left, " ".join(f"{x:08x}" for x in table), when)


def packed(what: Any, lanes: int, *items: Any) -> List[Packed]:
    """packed(bf16, 2, add, mul): two lanes of these operations at that type. packed(cvt, 2, (bf16, f32)): conversions, result type first."""
    if isinstance(what, OpName):
        if not all(isinstance(x, tuple) and len(x) == 2 and all(isinstance(t, Type) and not t.is_class for t in x) for x in items):
            fail(f"packed({what}, {lanes}, ..): pairs of types are expected, that of the result first, as in (bf16, f32)")
        return [Packed(what._op.name, to.name, frm.name, lanes, here()) for to, frm in items]
    if not isinstance(what, Type) or what.is_class or not all(isinstance(o, OpName) and not o._types for o in items):
        fail(f"packed({what}, {lanes}, ..): a type, a number of lanes and operations without type are expected, as in packed(f16, 2, add, mul)")
    return [Packed(o._op.name, what.name, what.name, lanes, here()) for o in items]


def free(*modifiers: Any, on: Any) -> List[Free]:
    """free(neg, abs, on=(add.f32, mul.f32)): modifiers of operands that the machine applies at no cost."""
    for m in modifiers:
        if not isinstance(m, OpName) or m._op.name not in ("neg", "abs") or m._types:
            fail(f"free({getattr(m, '__name__', m)}, ..): neg or abs is expected")
    out = []
    for o in on if isinstance(on, tuple) else (on,):
        if not isinstance(o, OpName) or len(o._types) != 1:
            fail(f"free(.., on={o}): an operation with its type is expected, as in add.f32")
        out += [Free(o._op.name, t, tuple(m._op.name for m in modifiers), here()) for t in o._types[0].members]
    return out


def tune(name: str, value: int, because: str, bits: int = 0, off: Optional[int] = None, per: str = "", power: bool = False, powers: bool = False,
         least: Optional[int] = None, most: int = MANY, upto: str = "") -> Tune:
    """A number that choices depend on. off: the value that it has under --disable FILE:LINE. per: 'sms', it is `value` for each SM of the target.
    It is from least= to most=, from 1 on unless off= is 0, and no larger than the number upto=; power: a power of two; powers: a sum of these."""
    for n in (value, bits, 0 if off is None else off):
        if type(n) is not int or n < 0: fail(f"tune('{name}', ..): an integer of at least 0 is expected, not {n!r}")
    return Tune(name, value, bits, because, off, here(), per, power, powers, int(off != 0) if least is None else least, most, upto)


def target(name: str, like: Any = None, **values: Any) -> Target:
    if not isinstance(like, (Target, type(None))): fail(f"like={like!r}: the TARGET of another file is expected, as in like=TARGET")
    return Target(name, {**getattr(like, "values", {}), **values}, here())


def rate(name: str, value: Any, unit: str = "", source: str = "", low: Optional[float] = None, high: Optional[float] = None) -> _rates.Rate:
    """rate('dram', 4.8e12, low=3.9e12, unit='bytes/s', source='..'): how fast the machine is; gen/rates.py lists the names and their units."""
    wrong = _rates.fault(name, value, unit, source, low, high)
    if wrong: fail(wrong)
    return _rates.made(name, value, unit, source, low, high, here())


def marks(functions: Any, types: Any) -> Marks:
    """Functions at types: one or a tuple of each."""
    fs, ts = (x if isinstance(x, tuple) else (x,) for x in (functions, types))
    exact = [f"{f._op.name}.{m}" for f in fs for t in ts for m in t.members if not _may_be_off(f._op, m)]
    if exact:
        fail(f"{exact[0]} is no function of floats or complex values that may be off")
    return Marks(tuple(f._op.name for f in fs), tuple(m for t in ts for m in t.members))


def budget(functions: Any, types: Any, ulp: float, xla: Optional[float] = None, xla_abs: float = 0,
           approx: Optional[float] = None, approx_abs: float = 0) -> Budget:
    """ulp: how far a result may be off, in units in the last place of its type; at --accuracy xla so many as xla= (default: ulp) and xla_abs, approx alike."""
    of, xla, approx = marks(functions, types), ulp if xla is None else xla, ulp if approx is None else approx
    if not 0 <= ulp <= sorted((xla, approx))[0] or xla_abs < 0 or approx_abs < 0:
        fail(f"budget of {of.ops[0]}: 0 <= ulp <= xla and approx is expected, {ulp:g}, {xla:g} and {approx:g} found")
    return Budget(of.ops, of.types, ulp, xla, xla_abs, approx, approx_abs)


def _condition(g: _guards.Guard) -> Any:
    def make(*args: Any) -> Cond:
        if len(args) != len(g.parameters):
            fail(f"{g.name}({', '.join(g.parameters)}): {len(g.parameters)} argument{'s' if len(g.parameters) > 1 else ''} expected, {len(args)} found")
        bits = lambda x, p: x - (1 << 64) if p == "mask" and isinstance(x, int) and x >> 63 == 1 else x  # the highest of 64 is a sign elsewhere
        return Guard(g.name, *map(lift, map(bits, args, g.parameters)))
    return make


def has(word: Any) -> Cond:
    """The target's features= names the word. load.py decides it."""
    if not isinstance(word, str) or not word:
        fail(f"has({word}): the name of a feature is expected, as in has('bf16_add')")
    return Guard("has", word=word)


# --- names --------------------------------------------------------------------------------------------------------------------
VARIABLES = {n: Var(n, k) for k, ns in (("value", "a b c x y"), ("index", "i j n"), ("const", "k m p q"), ("rest", "rest"))
             for n in ns.split()}
OPERATIONS = {o.name: OpName(o) for o in _ops.OPS if o.name not in ("none", "call")}  # no rule matches a call; call(..) makes one
CLASSES = {c: Type(c) for c in _ops.CLASSES}
TYPES = {t.name: Type(t.name) for t in _ops.TYPES if t.cls not in "-"}
GUARDS = {g.name: Guard(g.name) for g in [*_guards.FLAGS, *_guards.KERNELS, *_guards.PERMITS]}
CONDITIONS = {g.name: _condition(g) for g in [*_guards.FACTS, *_guards.USES, *_guards.PLANS]}
w = Width()
unknown = _rates.unknown  # the value of a rate that no source states
globals().update({**OPERATIONS, **CLASSES, **TYPES, **GUARDS, **CONDITIONS, **VARIABLES})

__all__ = [*OPERATIONS, *CLASSES, *TYPES, *GUARDS, *CONDITIONS, *VARIABLES, "w", "KiB", "has", "relu", "sat", "satfinite", "lanes", "ramp", "total", "free",
           *"cheaper rewrite option llvm intr call asm lop3 lookup rel ulp packed tune strategy rate unknown target budget marks".split()]
