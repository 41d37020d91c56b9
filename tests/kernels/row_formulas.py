"""Texts of rows in pieces as formulas of one piece, and what is proved of them (row_merges.py)."""
import math
import re
import struct
from fractions import Fraction
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

try:
    import z3
except ImportError:
    z3 = None


class Line(NamedTuple):
    name: str
    type: str
    dims: Tuple[int, ...]
    op: str
    operands: List[str]
    rest: str

    def text(self) -> str:
        return f"  {self.name} = {self.type}[{','.join(map(str, self.dims))}] {self.op}({', '.join(self.operands)}){self.rest}"


LINE = re.compile(r"^  ([\w.]+) = (f32|s32|pred)\[([\d,]*)\] ([\w-]+)\(([^)]*)\)(.*)$")


def lines_of(text: str) -> List[Line]:
    found = [LINE.match(line) for line in text[text.index("ENTRY"):].splitlines()]
    return [Line(m[1], m[2], tuple(map(int, m[3].split(","))) if m[3] else (), m[4], m[5].split(", "), m[6]) for m in found if m]


LOWEST = "-inf"     # a number for its text


class Poly(NamedTuple):
    """A term: a polynomial of x whose coefficients are numbers of the piece, and the number in place of x that is not there."""
    by: Dict[int, Any]
    fill: Any = None


class Power(NamedTuple):
    """A term exp(x + s)."""
    s: Any
    fill: Any = None


class Mask(NamedTuple):
    """Of terms: where there is an x, and where there is none."""
    real: bool
    fill: bool


Value = Union[Poly, Power, Mask, Any]


class Refused(Exception):
    pass


class Undecided(Exception):
    pass


def f32(literal: str) -> Fraction:
    return Fraction(struct.unpack("f", struct.pack("f", float(literal)))[0])


class Formulas:
    """The lines of a text for one piece. `row`: what the text reduces over whole rows; `adds`: what the piece adds to that. `number`: the piece's in
    its row; `missing`: how many elements it lacks."""

    def __init__(self, lines: Sequence[Line], elements: int, rows: int, length: int, number: int = 0, missing: int = 0) -> None:
        self.elements, self.rows, self.length, self.number, self.missing = elements, rows, length, number, missing
        self.env: Dict[str, Value] = {}
        self.adds: Dict[str, Tuple[str, Any]] = {}
        self.powers: List[Tuple[Any, Any]] = []
        for line in lines:
            self.env[line.name] = self.value(line)

    def exp(self, s: Any) -> Any:
        """A number for exp(s), which `facts` relates to those of other arguments."""
        self.powers.append((z3.simplify(s), z3.Real(f"exp({z3.simplify(s)})")))
        return self.powers[-1][1]

    def reduced(self, op: str, x: Value) -> Any:
        filled = LOWEST if op == "maximum" else 0
        if self.missing and not isinstance(x.fill, str):
            filled = self.missing * x.fill
        if op == "maximum" and isinstance(x, Poly) and set(x.by) == {1} and isinstance(filled, str):
            return z3.Real("maximum of the piece")
        if op != "add" or (self.missing and isinstance(x.fill, str)):
            raise Refused(f"{op} of other terms")
        if isinstance(x, Poly):
            of = (z3.RealVal(self.length), z3.Real("sum x"), z3.Real("sum x^2"))
            return sum((c * of[d] for d, c in x.by.items()), z3.RealVal(0)) + filled
        return self.exp(x.s) * z3.Real("sum exp(x)") + filled

    def reduce(self, line: Line) -> Any:
        x, op = self.env[line.operands[0]], line.rest.split("to_apply=")[1]
        value = self.reduced(op, x) if isinstance(x, (Poly, Power)) else x
        if math.prod(line.dims) != self.rows:
            return value
        name = line.name[:-4] if line.name.endswith(".row") else line.name
        self.adds[name] = (op, value)
        return z3.Real(f"row {name}")

    def value(self, line: Line) -> Value:
        if line.op == "parameter":
            return Poly({1: z3.RealVal(1)})
        if line.op == "constant" and line.type == "pred":
            return Mask(line.operands[0] == "true", line.operands[0] == "true")
        if line.op == "constant":
            return LOWEST if "inf" in line.operands[0] else z3.RealVal(f32(line.operands[0]))
        if line.op == "iota":
            return z3.RealVal(self.number)
        if line.op in ("reshape", "copy", "broadcast"):
            x = self.env[line.operands[0]]
            terms = math.prod(line.dims) >= self.elements and not isinstance(x, (Poly, Power, Mask))
            return Poly({0: x}, x) if terms else x
        if line.op == "pad":
            x, fill = (self.env[o] for o in line.operands)
            return x._replace(fill=fill.fill if isinstance(fill, Mask) else fill)
        if line.op == "reduce":
            return self.reduce(line)
        of = [self.env[o] for o in line.operands]
        if line.op == "compare":
            return {"LT": of[0] < of[1], "GE": of[0] >= of[1]}[line.rest.split("direction=")[1]]
        if line.op == "select":
            return self.select(*of)
        return self.of_terms(line.op, of) if isinstance(of[0], (Poly, Power)) else self.of_numbers(line.op, of)

    @staticmethod
    def select(where: Any, a: Value, b: Value) -> Value:
        if not isinstance(where, Mask):
            return z3.If(where, a, b)
        return (a if where.real else b)._replace(fill=(a if where.fill else b).fill)

    def filled(self, op: str, of: Sequence[Value]) -> Any:
        """The number that an operation makes of those in place of x that is not there."""
        a, b = of[0].fill, of[-1].fill
        if not self.missing or a is None or b is None:
            return None
        if isinstance(a, str) and op == "exponential":
            return z3.RealVal(0)
        if isinstance(a, str) and op in ("subtract", "add") and not isinstance(b, str):
            return LOWEST
        if isinstance(a, str) or isinstance(b, str):
            raise Refused(f"{op} of the lowest number")
        return self.of_numbers(op, (a, b))

    def of_terms(self, op: str, of: Sequence[Value]) -> Value:
        if not all(isinstance(x, Poly) for x in of):
            raise Refused(f"{op} of exponentials")
        a = of[0].by
        if op == "exponential" and z3.is_true(z3.simplify(a.get(1, z3.RealVal(0)) == 1)) and 2 not in a:
            return Power(a.get(0, z3.RealVal(0)), self.filled(op, of))
        b = of[-1].by
        if op == "multiply" and max(a) + max(b) <= 2:
            by: Dict[int, Any] = {}
            for i, p in a.items():
                for j, q in b.items():
                    by[i + j] = by.get(i + j, z3.RealVal(0)) + p * q
            return Poly(by, self.filled(op, of))
        if op in ("add", "subtract"):
            zero = z3.RealVal(0)
            by = {d: a.get(d, zero) + b.get(d, zero) if op == "add" else a.get(d, zero) - b.get(d, zero) for d in {*a, *b}}
            return Poly(by, self.filled(op, of))
        raise Refused(f"{op} of terms")

    def of_numbers(self, op: str, of: Sequence[Any]) -> Any:
        a, b = of[0], of[-1]
        if op == "exponential":
            return self.exp(a)
        return {"add": a + b, "subtract": a - b, "multiply": a * b, "maximum": z3.If(a >= b, a, b), "minimum": z3.If(a <= b, a, b)}[op]


def holds(facts: Sequence[Any], claim: Any) -> bool:
    """Refused are only claims of which a counterexample is found."""
    s = z3.Solver()
    s.set("timeout", 20000)
    s.add(*facts, z3.Not(claim))
    found = s.check()
    if found == z3.unknown:
        raise Undecided(str(claim))
    return bool(found == z3.unsat)


def facts_of(powers: Sequence[Tuple[Any, Any]], length: int) -> List[Any]:
    facts = [z3.RealVal(length) * z3.Real("sum x^2") >= z3.Real("sum x") * z3.Real("sum x"), z3.Real("sum exp(x)") > 0]
    for a, exp_a in powers:
        facts.append(exp_a > 0)
        for b, exp_b in powers:
            facts += [exp_a * exp_b == exp_c for c, exp_c in powers if holds([], a + b == c)]
            facts += [exp_a == exp_b] if holds([], a == b) else []
    return facts


def refused(whole: Formulas, pieces: Formulas) -> Optional[str]:
    """The result of rows for which it is not proved that pieces make it, if there is one."""
    facts = facts_of(whole.powers + pieces.powers, pieces.length)
    for name, (op, claim) in whole.adds.items():
        of, adds = pieces.adds.get(name, ("", None))
        if of != op or not holds(facts, adds == claim):
            return name
    return None
