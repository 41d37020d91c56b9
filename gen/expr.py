"""The classes that patterns are made of: types, expressions, conditions, and names of operations, which collect types until called.

Needs the table of operations; leaves objects that lang.py gives names to. Every fault raises a `PatternError`, which carries the file
and line of the faulty pattern.

    add.bf16(a, 0.0)  ->  Node(add, (bf16,), (), [Var a, Lit 0.0])
"""
from __future__ import annotations

import dis
import sys
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

from gen import ops as _ops


class PatternError(Exception):
    """A fault of a pattern file; str() is `file:line: error: what`."""

    def __init__(self, where: Tuple[str, int], what: str) -> None:
        super().__init__(f"{where[0]}:{where[1]}: error: {what}")
        self.where, self.what = where, what


@lru_cache(maxsize=None)
def pattern_file(path: str) -> Optional[str]:
    """`patterns/NAME` if the file lies in a folder named patterns, wherever that folder is; else None."""
    folder, _, name = path.replace("\\", "/").rpartition("/")
    return "patterns/" + name if folder.rpartition("/")[2] == "patterns" else None


_starts: Dict[int, Tuple[CodeType, List[int], List[int]]] = {}  # id of a code object -> it, kept alive; where its lines start; their numbers


def line_of(f: FrameType) -> int:
    """As f.f_lineno, which searches the code object from its start each time; a list of some thousand rules is one code object."""
    code = f.f_code
    if id(code) not in _starts:
        found = [(at, line) for at, line in dis.findlinestarts(code) if line is not None]
        _starts[id(code)] = code, [at for at, _ in found], [line for _, line in found]
    _, starts, lines = _starts[id(code)]
    n = bisect_right(starts, f.f_lasti)
    return lines[n - 1] if n else f.f_lineno


def here() -> Tuple[str, int]:
    """File and line of the innermost frame in a pattern file; the file as `patterns/NAME`."""
    f: Optional[FrameType] = sys._getframe(1)
    while f is not None:
        name = pattern_file(f.f_code.co_filename)
        if name:
            return name, line_of(f)
        f = f.f_back
    return "?", 0


@dataclass(frozen=True)
class Step:
    """A line of a function of a pattern file, one step of the right sides that the function makes."""

    file: str
    line: int
    name: str  # of the function
    head: int  # the line of its `def`


def step() -> Optional[Step]:
    """The step that makes an expression: of the innermost function with a name; None in a list of rules itself."""
    f: Optional[FrameType] = sys._getframe(1)
    while f is not None:
        name, file = f.f_code.co_name, pattern_file(f.f_code.co_filename)
        if file and (name == "<module>" or not name.startswith("<")):
            return None if name == "<module>" else Step(file, line_of(f), name, f.f_code.co_firstlineno)
        f = f.f_back
    return None


def fail(what: str) -> None:
    raise PatternError(here(), what)


# --- types --------------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Type:
    """An element type with lanes, or a class of element types (one binding per rule)."""

    name: str  # "bf16" or the class's "F16"
    lanes: int = 1

    @property
    def is_class(self) -> bool:
        return self.name in _ops.CLASSES

    @property
    def members(self) -> List[str]:
        return _ops.CLASSES.get(self.name, [self.name])

    def __str__(self) -> str:
        return self.name if self.lanes == 1 else f"{self.name}x{self.lanes}"


def parse_type(text: str) -> Optional[Type]:
    """The type that `bf16` or `bf16x2` names; None if the text names no type."""
    if text in _ops.TYPE_BY_NAME and text != "none":
        return Type(text)
    base, x, lanes = text.rpartition("x")
    if x and lanes.isdigit() and base in _ops.TYPE_BY_NAME and int(lanes) in (2, 4, 8, 16):
        return Type(base, int(lanes))
    return None


# --- expressions ------------------------------------------------------------------------------------------------------------
class Expr:
    """Base class of all parts of a pattern. `bool()` raises: with `and` or a chained comparison Python would silently drop half of a
    condition."""

    where: Tuple[str, int]
    constant = False  # an expression over integer constants only

    def __init__(self) -> None:
        self.where = here()

    def __or__(self, o: Any) -> Any:
        fail("| joins conditions, and comparisons need brackets: (k == 1) | (k == 2)")

    __ror__ = __or__

    def __bool__(self) -> bool:
        fail("an expression has no truth value: write (x) & (y) for `and`, ~x for `not`, two comparisons for a chain")
        return False

    def __add__(self, o: Any) -> "Expr": return Arith("+", self, lift(o))
    def __radd__(self, o: Any) -> "Expr": return Arith("+", lift(o), self)
    def __sub__(self, o: Any) -> "Expr": return Arith("-", self, lift(o))
    def __rsub__(self, o: Any) -> "Expr": return Arith("-", lift(o), self)
    def __mul__(self, o: Any) -> "Expr": return Arith("*", self, lift(o))
    def __rmul__(self, o: Any) -> "Expr": return Arith("*", lift(o), self)
    def __floordiv__(self, o: Any) -> "Expr": return Arith("//", self, lift(o))
    def __mod__(self, o: Any) -> "Expr": return Arith("%", self, lift(o))
    def __neg__(self) -> "Expr": return Arith("-", Lit(0), self)
    def __pow__(self, o: Any) -> "Expr": return self.unknown("**")
    def __rpow__(self, o: Any) -> "Expr": return self.unknown("**")
    def __lshift__(self, o: Any) -> "Expr": return self.shifted(self, lift(o))
    def __rlshift__(self, o: Any) -> "Expr": return self.shifted(lift(o), self)
    def __rshift__(self, o: Any) -> "Expr": return self.unknown(">>")
    def __truediv__(self, o: Any) -> "Expr": return self.unknown("/")
    def __rtruediv__(self, o: Any) -> "Expr": return self.unknown("/")

    def shifted(self, x: "Expr", y: "Expr") -> "Expr": return Arith("<<", x, y) if x.constant and y.constant else self.unknown("<<")

    def unknown(self, op: str) -> "Expr":
        fail(f"{self}: {op} is not among the arithmetic of constants, which is + - * // % <<; for element values write the operation, as in shl.i32(a, b)")
        return self

    def __eq__(self, o: Any) -> "Cond": return Relation("==", self, lift(o))  # type: ignore[override]
    def __ne__(self, o: Any) -> "Cond": return Relation("!=", self, lift(o))  # type: ignore[override]
    def __lt__(self, o: Any) -> "Cond": return Relation("<", self, lift(o))
    def __le__(self, o: Any) -> "Cond": return Relation("<=", self, lift(o))
    def __gt__(self, o: Any) -> "Cond": return Relation(">", self, lift(o))
    def __ge__(self, o: Any) -> "Cond": return Relation(">=", self, lift(o))
    __hash__ = object.__hash__


class Var(Expr):
    """kind: 'value' any element value, 'index' any index expression, 'const' an integer constant, 'rest' the remaining terms of a sum."""

    def __init__(self, name: str, kind: str) -> None:
        self.name, self.kind, self.constant, self.where = name, kind, kind == "const", ("gen/lang.py", 0)

    def __str__(self) -> str: return self.name


class Width(Expr):
    """`w`: the width in bits of the type that the rule's class is bound to."""

    constant = True

    def __init__(self) -> None: self.where = ("gen/lang.py", 0)
    def __str__(self) -> str: return "w"


class Lit(Expr):
    """A literal; converted to the type of its operand position when the rule matches."""

    constant = True

    def __init__(self, value: Union[int, float, bool]) -> None:
        super().__init__()
        self.value = value

    def __str__(self) -> str: return repr(self.value)


class Arith(Expr):
    """`+ - * // %` of index expressions, or exact arithmetic of constants, which have `<<` too."""

    def __init__(self, op: str, x: Expr, y: Expr) -> None:
        super().__init__()
        self.op, self.x, self.y, self.constant = op, x, y, x.constant and y.constant

    def __str__(self) -> str: return f"({self.x} {self.op} {self.y})"


class Node(Expr):
    """An operation on element values; on index values where the result is an element value."""

    def __init__(self, op: _ops.Op, types: Sequence[Type], flags: Sequence[str], args: Sequence[Expr]) -> None:
        super().__init__()
        self.step = step()
        self.op, self.types, self.flags, self.args = op, tuple(types), tuple(flags), tuple(args)

    @property
    def result(self) -> Type:
        if self.op.sig in ("compare", "test"):
            return Type("pred", self.types[0].lanes)
        return self.types[0]

    def operand_type(self, i: int) -> Type:
        if self.op.sig == "select" and i == 0:
            return Type("pred", self.types[0].lanes)
        if self.op.name == "idx" or (i == 2 and self.op.combiner) or (i == 1 and self.op.name == "take"):
            return Type("index")
        if self.op.name == "take":
            return self.types[1 if i else 0]
        if self.op.name == "pack":
            return Type(self.types[0].name, self.types[0].lanes // 2)
        if self.op.sig == "product" and i:
            return self.types[0] if i == 2 else Type(self.types[1].name, self.types[1].lanes // 2)
        if self.op.name == "splat":
            return Type(self.types[0].name)
        return self.types[-1]

    @property
    def name(self) -> str: return ".".join([self.op.name, *map(str, self.types), *self.flags])

    def __str__(self) -> str: return f"{self.name}({', '.join(map(str, self.args))})"


class Total(Node):
    """A sum of integers by its terms: matches every tree of additions of these, in any order. Elsewhere it is one of them, ((t0 + t1) + t2) + .."""

    def __init__(self, terms: Sequence[Expr]) -> None:
        t = next((x.result for x in terms if isinstance(x, Node)), None)
        variables = [x for x in terms if not isinstance(x, Node)]
        if t is None or len(terms) < 2 or any(_ops.TYPE_BY_NAME[m].cls not in "IU" for m in t.members):
            fail(f"total({', '.join(map(str, terms))}): two or more terms are expected, operations on integers")
        if len(variables) > 1 or any(not isinstance(x, Var) or x.kind != "value" for x in variables) or any(
                isinstance(x, Node) and x.op.name == "add" for x in terms):
            fail(f"total({', '.join(map(str, terms))}): terms are operations but additions, and one variable at most, for what is left")
        add = _ops.OP_BY_NAME["add"]
        whole: Expr = terms[0]
        for x in terms[1:-1]:
            whole = Node(add, (t,), (), [whole, x])  # type: ignore[arg-type]
        super().__init__(add, (t,), (), [whole, terms[-1]])  # type: ignore[arg-type]
        self.terms = tuple(terms)


def children(e: Any) -> Tuple[Expr, ...]:
    """The direct subexpressions of e."""
    return e.args if isinstance(e, Node) else (e.x, e.y) if isinstance(e, Arith) else ()


# --- conditions -------------------------------------------------------------------------------------------------------------
class Cond(Expr):
    def __and__(self, o: "Cond") -> "Cond":
        if not isinstance(o, Cond):
            fail("the right side of & is not a condition; comparisons need brackets: (k > 1) & (m % k == 0)")
        return All([*parts(self), *parts(o)])

    def __or__(self, o: Any) -> Any:
        if not isinstance(o, Cond):
            fail("the right side of | is not a condition; comparisons need brackets: (k == 1) | (k == 2)")
        return Either([self, o])

    def __invert__(self) -> "Cond": return Not(self)


class Relation(Cond):
    def __init__(self, rel: str, x: Expr, y: Expr) -> None:
        super().__init__()
        self.rel, self.x, self.y = rel, x, y

    def __str__(self) -> str: return f"{self.x} {self.rel} {self.y}"


class Guard(Cond):
    """A named condition of guards.py. word: of `has('word')`."""

    def __init__(self, name: str, *args: Expr, word: str = "") -> None:
        super().__init__()
        self.name, self.args, self.word = name, args, word

    def __str__(self) -> str:
        inside = repr(self.word) if self.word else ", ".join(map(str, self.args))
        return self.name + (f"({inside})" if inside else "")


class Not(Cond):
    def __init__(self, x: Cond) -> None:
        super().__init__()
        self.x = x

    def __str__(self) -> str: return f"~{self.x}"


class All(Cond):
    def __init__(self, items: List[Cond]) -> None:
        super().__init__()
        self.items = items

    def __str__(self) -> str: return " & ".join(f"({i})" if isinstance(i, Relation) else str(i) for i in self.items)


class Either(Cond):
    """One of them holds. A rule has none: `ways` makes a rule of each."""

    def __init__(self, items: List[Cond]) -> None:
        super().__init__()
        self.items = items

    def __str__(self) -> str: return " | ".join(f"({i})" for i in self.items)


def parts(c: Optional[Cond]) -> List[Cond]:
    """The conjuncts of a condition."""
    return [] if c is None else c.items if isinstance(c, All) else [c]


def lift(x: Any) -> Expr:
    if isinstance(x, Expr):
        return x
    if isinstance(x, (bool, int, float)):
        return Lit(x)
    if isinstance(x, OpName):
        fail(f"operation {x} is used as a value; it needs a type and operands, as in {x._op.name}.f32(a)")
    fail(f"{x!r} is not part of the rule language")
    raise AssertionError


# --- operations ---------------------------------------------------------------------------------------------------------------
class OpName:
    """`add`, then `add.bf16`, `cvt.f32.bf16`, `op[F16]`, `tanh.f32.approx`: a name that collects types and flags until called."""

    def __init__(self, op: _ops.Op, types: Tuple[Type, ...] = (), flags: Tuple[str, ...] = ()) -> None:
        self._op, self._types, self._flags = op, types, flags

    def __getattr__(self, name: str) -> "OpName":
        if name in _ops.FLAGS:
            return OpName(self._op, self._types, self._flags + (name,))
        t = parse_type(name)
        if t is None:
            fail(f"{self}.{name}: {name} is neither a type nor a flag")
        return OpName(self._op, self._types + (t,), self._flags)  # type: ignore[operator]

    def __getitem__(self, t: Type) -> "OpName":
        if not isinstance(t, Type):
            fail(f"{self}[..] takes a type class: {', '.join(_ops.CLASSES)}")
        return OpName(self._op, self._types + (t,), self._flags)

    def __call__(self, *args: Any, **named: Any) -> Node:
        if named:
            fail(f"{self}: {', '.join(named)}= belongs to the rule, after the right side: rewrite(left, right, when=..)")
        if self._op.name in ("const", "var", "arg", "load", "part", "instr", "sum", "read", "barrier", "copy_commit", "copy_wait",
                             "cluster_barrier", "read_peer"):
            fail(f"{self}: only passes make this operation; a pattern matches it with a variable")
        o, want = self._op, 2 if self._op.sig in ("convert", "product") else 1
        if len(self._types) != want:
            fail(f"{self}: {want} type{'s' if want > 1 else ''} expected in the name, {len(self._types)} found")
        if len(args) != o.arity:
            fail(f"{self}: {o.arity} operand{'s' if o.arity > 1 else ''} expected, {len(args)} found")
        for t in self._types:
            for m in t.members:
                if _ops.TYPE_BY_NAME[m].cls not in o.classes:
                    fail(f"{self}: {o.name} has no meaning at type {m}")
        if o.name in ("pack", "splat") and self._types[0].lanes == 1:
            fail(f"{self}: a type with lanes expected, as in {o.name}.{self._types[0]}x2")
        return Node(o, self._types, self._flags, [lift(x) for x in args])

    def __str__(self) -> str:
        return ".".join([self._op.name, *map(str, self._types), *self._flags])


__all__ = ["All", "Arith", "Cond", "Either", "Expr", "Guard", "Lit", "Node", "Not", "OpName", "PatternError", "Relation", "Step", "Total", "Type", "Var",
           "Width", "children", "fail", "here", "lift", "parse_type", "parts", "pattern_file"]
