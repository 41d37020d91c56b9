"""Functions of elements become HLO text: they are called once with Values, on which Python's operators and numpy's functions write a line each.

    Trace("f").run(lambda x, y: numpy.exp(-x) * y, [Spec("f32", (8, 1), 32), Spec("f32", (16,), 64)])

Types and shapes of results are numpy's. A Python number has the type of what it is combined with, if that holds numbers of its kind (1.5 with
bf16 is bf16), else numpy's own; in functions that are called with tensors of torch, types are torch's. Functions of scipy.special that have a
counterpart in HLO are known by their names, and those of torch.
"""
from __future__ import annotations

import functools
import os
import sys
from typing import Any, Callable, Dict, List, Sequence, Tuple, Union

import numpy

from . import _numpy, _torch
from ._arrays import Spec, category, dtype_of, hlo_type, wider

_HERE = (os.path.dirname(__file__), os.path.dirname(numpy.__file__))
Number = Union[bool, int, float, complex]
_of_values: Any = numpy  # its functions call Value.__array_ufunc__, and return what that makes

# numpy's functions that are one operation of HLO.
_ONE = {"absolute": "abs", "add": "add", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan2": "atan2", "arctanh": "atanh",
        "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor", "cbrt": "cbrt", "ceil": "ceil", "cos": "cosine", "cosh": "cosh",
        "divide": "divide", "erf": "erf", "exp": "exponential", "expit": "logistic", "expm1": "exponential-minus-one", "floor": "floor", "fmod": "remainder",
        "invert": "not", "left_shift": "shift-left", "log": "log", "log1p": "log-plus-one", "maximum": "maximum", "minimum": "minimum",
        "multiply": "multiply", "negative": "negate", "power": "power", "rint": "round-nearest-even", "rsqrt": "rsqrt", "sin": "sine",
        "sinh": "sinh", "sqrt": "sqrt", "subtract": "subtract", "tan": "tan", "tanh": "tanh"}
_ONE_OF_PREDICATES = {"add": "or", "maximum": "or", "multiply": "and", "minimum": "and"}
_COMPARES = {"equal": "EQ", "not_equal": "NE", "less": "LT", "less_equal": "LE", "greater": "GT", "greater_equal": "GE"}
_LOGIC = {"logical_and": "and", "logical_or": "or", "logical_xor": "xor"}
_WHOLE_ALREADY = ("ceil", "floor", "rint", "trunc")
_TORCH = {"abs": "absolute", "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atan2": "arctan2",
          "atanh": "arctanh", "clamp": "clip", "eq": "equal", "ge": "greater_equal", "gt": "greater", "le": "less_equal",
          "lt": "less", "mul": "multiply", "ne": "not_equal", "neg": "negative", "pow": "power", "round": "rint", "sigmoid": "expit",
          "bitwise_not": "invert", "special_expit": "expit", "special_erf": "erf"}
_ROUNDS_OFTEN = ("deg2rad", "degrees", "erfc", "floor_divide", "hypot", "log10", "log2", "logaddexp", "logaddexp2", "rad2deg",
                 "radians")  # made in f32 of smaller floats, and rounded once
_NO_UFUNC = {"rsqrt": numpy.sqrt, "erf": numpy.sqrt, "expit": numpy.sqrt}  # numpy lacks them: the type is that of a root


def _fits(number: Number, dtype: "numpy.dtype[Any]") -> bool:
    """Whether a type has numbers of the kind of a Python number."""
    return category(dtype) >= category(numpy.dtype(type(number)))


def number_type(number: Number, others: Sequence["numpy.dtype[Any]"]) -> "numpy.dtype[Any]":
    """The type of a Python number among values of other types: theirs if it fits, else numpy's of the number."""
    joined = functools.reduce(wider, others) if others else numpy.dtype(type(number))
    return joined if _fits(number, joined) else numpy.result_type(joined, number)


def spelled(value: Any, kind: str) -> str:
    """A number as HLO text has it."""
    if kind == "pred":
        return str(bool(value)).lower()
    if kind in ("c64", "c128"):
        return f"({complex(value).real!r}, {complex(value).imag!r})"
    return str(int(value)) if kind[0] in "su" else repr(float(value))


def _beyond(x: Any, number: Any) -> int:
    """-1, 1: a whole number of Python is below, or above, all values of the type of x, which are whole; 0: it is neither."""
    if not isinstance(x, Value) or not isinstance(number, int) or isinstance(number, bool) or category(x.dtype) != 1 or x.dtype.kind not in "iu":
        return 0
    info = numpy.iinfo(x.dtype)
    return -1 if number < info.min else int(number > info.max)


def _unknown(name: str) -> str:
    combines = name in ("sum", "mean", "max", "min", "prod", "any", "all", "amax", "amin", "var", "std", "average", "median", "argmax", "argmin", "cumsum")
    return f"{name} is no operation on elements" + (": warpburg.reduce combines them" if combines else " that warpburg knows")


class Value(numpy.lib.mixins.NDArrayOperatorsMixin):
    """An array of a traced function: an HLO type and a shape."""

    def __init__(self, trace: "Trace", name: str, type: str, shape: Tuple[int, ...]) -> None:
        self._trace, self.name, self.type, self.shape = trace, name, type, shape

    dtype = property(lambda self: dtype_of(self.type))
    ndim = property(lambda self: len(self.shape))
    real = property(lambda self: self._trace.part("real", self))
    imag = property(lambda self: self._trace.part("imag", self))

    def astype(self, dtype: Any) -> "Value":
        return self._trace.convert(self, hlo_type(dtype))

    def conj(self) -> "Value":
        return self._trace.call("conjugate", numpy.conjugate, self)

    conjugate = conj

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or options:
            raise TypeError(f"numpy.{ufunc.__name__}{'.' + method if method != '__call__' else ''} with {', '.join(options) or 'a whole array'} is "
                            "no operation on elements")
        return self._trace.call(ufunc.__name__, ufunc, *inputs)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        return self._trace.by_name(function.__name__, *args, **options)

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        value = next(a for a in (*args, *(kwargs or {}).values()) if isinstance(a, Value))
        return value._trace.by_torch(function.__name__, *args, **(kwargs or {}))

    def __getattr__(self, name: str) -> Any:
        """Functions as methods, as torch has them: x.exp()."""
        known = _TORCH.get(name, name)
        if name.startswith("_") or not (name in _torch.FUNCTIONS or known == "clip" or known in _NO_UFUNC
                                        or isinstance(getattr(numpy, known, None), numpy.ufunc)):
            raise AttributeError(_unknown(name))
        return functools.partial(self._trace.by_torch, name, self)

    def __bool__(self) -> bool:
        raise TypeError("a function of elements is traced before it has values: numpy.where(condition, a, b) chooses by element")

    def __float__(self) -> float:
        raise TypeError("a function of elements is traced before it has values: numpy has the functions of math, and astype those of float and int")

    __int__ = __complex__ = __index__ = __float__  # type: ignore[assignment]

    def __getitem__(self, _: Any) -> Any:
        raise TypeError("a function of elements sees one of them: it has neither the others nor an order")

    def __len__(self) -> int:
        return int(self[:])

    def __iter__(self) -> Any:
        return self[:]

    def __round__(self, digits: int = 0) -> "Value":
        return numpy.round(self, digits)


    def __repr__(self) -> str:
        return f"<{self.name}: {self.type}[{','.join(map(str, self.shape))}]>"


for _name in "add sub mul truediv floordiv mod pow lshift rshift and xor or".split():
    setattr(Value, f"__i{_name}__", getattr(Value, f"__{_name}__"))  # y += 1 gives the name y another value


class Trace:
    """The lines of one computation. Equal operations are one line."""

    def __init__(self, name: str, floats: str = "") -> None:
        """floats: torch's own type of floats, where types of results are torch's; "": they are numpy's."""
        self.name, self.floats = name, floats
        self.lines: List[str] = []
        self.computations: List[str] = []
        self.known: Dict[Any, Value] = {}

    # --- lines ---
    def line(self, op: str, type: str, shape: Tuple[int, ...], operands: Sequence[Value] = (), inside: str = "", more: str = "") -> Value:
        key = (op, type, shape, tuple(x.name for x in operands), inside, more)
        if key not in self.known:
            name = f"v{len(self.known)}"
            text = f"{name} = {type}[{','.join(map(str, shape))}] {op}({inside or ', '.join(x.name for x in operands)}){', ' * bool(more)}{more}"
            self.lines.append(text + self.where())
            self.known[key] = Value(self, name, type, shape)
        return self.known[key]

    def where(self) -> str:
        """The line of the function that is traced: profiles and messages name it."""
        frame = sys._getframe(1)
        while frame.f_back and frame.f_code.co_filename.startswith(_HERE):
            frame = frame.f_back
        file = frame.f_code.co_filename
        return "" if set('"\\\n') & set(file) else f', metadata={{source_file="{file}" source_line={frame.f_lineno}}}'

    def convert(self, x: Value, type: str) -> Value:
        if x.type == type:
            return x
        if type == "pred":
            return self.compare("NE", x, self.constant(0, x.type))
        if x.type in ("c64", "c128") and type not in ("c64", "c128"):
            raise TypeError(f"{x} is complex: .real has its real part")
        return self.line("convert", type, x.shape, [x])

    def constant(self, number: Any, type: str) -> Value:
        with numpy.errstate(all="ignore"):
            value = dtype_of(type).type(number)  # raises where an integer is out of range; a float is then infinite, or nan
        large = category(dtype_of(type)) == 2 and not numpy.isfinite(value)
        return self.line("constant", type, (), inside=spelled(value if large else number, type))

    def broadcast(self, x: Value, shape: Tuple[int, ...]) -> Value:
        """x in a larger shape, as numpy broadcasts: dimensions are added in front, and those of 1 are stretched."""
        if x.shape == shape:
            return x
        first = len(shape) - len(x.shape)
        kept = [d for d, n in enumerate(x.shape) if n == shape[first + d]]
        if len(kept) < len(x.shape):
            x = self.line("reshape", x.type, tuple(x.shape[d] for d in kept), [x])
        return self.line("broadcast", x.type, shape, [x], more=f"dimensions={{{','.join(str(first + d) for d in kept)}}}")

    def element(self, op: str, type: str, *operands: Value, more: str = "") -> Value:
        shape = numpy.broadcast_shapes(*(x.shape for x in operands))
        return self.line(op, type, shape, [self.broadcast(x, shape) for x in operands], more=more)

    def compare(self, direction: str, x: Value, y: Value) -> Value:
        return self.element("compare", "pred", x, y, more=f"direction={direction}")

    def select(self, p: Value, x: Value, y: Value) -> Value:
        return self.element("select", x.type, p, x, y)

    def part(self, op: str, x: Value) -> Value:
        if x.type not in ("c64", "c128"):
            return x if op == "real" else self.broadcast(self.constant(0, x.type), x.shape)
        return self.element(op, "f32" if x.type == "c64" else "f64", x)

    # --- operands ---
    def typed(self, ufunc: Any, args: Sequence[Any]) -> List[Value]:
        """Operands of the types in which numpy computes the function."""
        for a in args:
            if not isinstance(a, (Value, bool, int, float, complex, numpy.generic)):
                raise TypeError(f"{type(a).__name__} in {self.name}: only its arguments, and numbers, can be operands")
        if self.floats:
            into = [_torch.operand_type(ufunc, args, self.floats)] * len(args)
            return [self.convert(a, hlo_type(t)) if isinstance(a, Value) else self.constant(a, hlo_type(t)) for a, t in zip(args, into)]
        known = [a.dtype for a in args if isinstance(a, (Value, numpy.generic))]
        likes = [a.dtype if isinstance(a, (Value, numpy.generic)) else number_type(a, known) for a in args]
        into = ufunc.resolve_dtypes((*likes, *([None] * ufunc.nout)))
        return [self.convert(a, hlo_type(t)) if isinstance(a, Value) else self.constant(a, hlo_type(t)) for a, t in zip(args, into)]

    # --- functions ---
    def by_torch(self, name: str, *args: Any, **options: Any) -> Any:
        """A function of torch, or a method of its tensors."""
        if name in _torch.FUNCTIONS:
            return _torch.FUNCTIONS[name](*args, **options)
        return self.by_name(_TORCH.get(name, name), *args, **options)

    def by_name(self, name: str, *args: Any, **options: Any) -> Any:
        """A function of numpy that is no ufunc, or is known by its name alone."""
        if name == "where" and len(args) == 3 and not options:
            p = args[0] if isinstance(args[0], Value) else self.constant(bool(args[0]), "pred")
            x, y = self.typed(numpy.maximum, args[1:])
            return self.select(self.convert(p, "pred"), x, y)
        if name == "clip":
            x, least, most = (*args, None, None)[:3]
            least, most = (options.pop(k, v) for k, v in (("min", least), ("max", most)))
            least, most = (options.pop(k, v) for k, v in (("a_min", least), ("a_max", most)))
            least, most = (None if _beyond(x, bound) == side else bound for bound, side in ((least, -1), (most, 1)))
            x = x if least is None else self.call("maximum", numpy.maximum, x, least)
            x = x if most is None else self.call("minimum", numpy.minimum, x, most)
            if not options:
                return x
        if name in ("real", "imag") and not options:
            return self.part(name, args[0])
        if name in _numpy.FUNCTIONS:
            return _numpy.FUNCTIONS[name](*args, **options)
        ufunc = getattr(numpy, name, None) or _NO_UFUNC.get(name)
        if options or not (name in _NO_UFUNC or isinstance(ufunc, numpy.ufunc)):
            raise TypeError(_unknown(name + " with " * bool(options) + ", ".join(options)))
        return self.call(name, ufunc, *args)

    def call(self, name: str, ufunc: Any, *args: Any) -> Any:
        if name in _LOGIC or name == "logical_not":
            p = [self.convert(a, "pred") if isinstance(a, Value) else self.constant(bool(a), "pred") for a in args]
            return self.element(_LOGIC.get(name, "not"), "pred", *p)
        if name in _COMPARES and len(args) == 2 and any(map(_beyond, args, reversed(args))):
            return self._compared_beyond(name, *args)
        if name == "power" and category(args[0].dtype if isinstance(args[0], Value) else numpy.dtype(type(args[0]))) < 2 and \
                isinstance(args[1], (int, numpy.integer)) and args[1] < 0:
            raise ValueError("Integers to negative integer powers are not allowed.")
        x = self.typed(ufunc, args)
        kind, whole = x[0].dtype.kind, category(x[0].dtype) < 2
        if name in _COMPARES:
            return self.compare(_COMPARES[name], *x)
        if name in _WHOLE_ALREADY and whole:
            return x[0]
        if name == "absolute" and kind in "bu":
            return x[0]
        if name == "right_shift":
            return self.element("shift-right-logical" if kind == "u" else "shift-right-arithmetic", x[0].type, *x)
        if name in _ONE:
            op = _ONE_OF_PREDICATES.get(name, _ONE[name]) if kind == "b" else _ONE[name]
            return self.element(op, {"c64": "f32", "c128": "f64"}.get(x[0].type, x[0].type) if name == "absolute" else x[0].type, *x)
        made = getattr(self, f"_{name}", None)
        if made is None:
            raise TypeError(_unknown(name))
        if name not in _ROUNDS_OFTEN or category(x[0].dtype) != 2 or x[0].dtype.itemsize >= 4:
            return made(*x)
        return self.convert(made(*(self.convert(a, "f32") for a in x)), x[0].type)

    def _compared_beyond(self, name: str, x: Any, y: Any) -> Value:
        """An array of integers against a number that its type does not have, which is above or below all of them."""
        of, holds = (x, y), {"equal": False, "not_equal": True}.get(name)
        if holds is None:
            below = _beyond(x, y) == 1 if isinstance(x, Value) else _beyond(y, x) == -1  # x is below y
            holds = below == name.startswith("less")
        value = next(v for v in of if isinstance(v, Value))
        return self.broadcast(self.constant(holds, "pred"), value.shape)

    # --- functions that are several operations ---
    def _positive(self, x: Value) -> Value: return x
    def _square(self, x: Value) -> Value: return x * x
    def _reciprocal(self, x: Value) -> Value: return self.element("divide", x.type, self.constant(1, x.type), x)
    def _arctan(self, x: Value) -> Value: return self.element("atan2", x.type, x, self.constant(1, x.type))
    def _exp2(self, x: Value) -> Value: return self.element("power", x.type, self.constant(2, x.type), x)
    def _log2(self, x: Value) -> Value: return _of_values.log(x) * (1 / _of_values.log(2.0).item())
    def _log10(self, x: Value) -> Value: return _of_values.log(x) * (1 / _of_values.log(10.0).item())
    def _erfc(self, x: Value) -> Value: return 1 - self.element("erf", x.type, x)
    def _isnan(self, x: Value) -> Value: return self.compare("NE", x, x)
    def _isfinite(self, x: Value) -> Value: return self.element("is-finite", "pred", x)
    def _isinf(self, x: Value) -> Value: return abs(x) == float("inf")
    def _signbit(self, x: Value) -> Value: return self.bits(x) < 0
    def _trunc(self, x: Value) -> Value: return self.select(x < 0, _of_values.ceil(x), _of_values.floor(x))
    def _fabs(self, x: Value) -> Value: return abs(x)
    def _bitwise_count(self, x: Value) -> Value: return self.convert(self.element("popcnt", x.type, self.call("absolute", numpy.absolute, x)), "u8")
    def _heaviside(self, x: Value, y: Value) -> Value: return self.select(x == 0, y, self.select(x != x, x, self.convert(x > 0, x.type)))
    def _logaddexp2(self, x: Value, y: Value) -> Value: return self._logaddexp(x * numpy.log(2).item(), y * numpy.log(2).item()) * (1 / numpy.log(2).item())

    def _modf(self, x: Value) -> Tuple[Value, Value]:
        """The rest of an infinity is 0."""
        rest = self.select(abs(x) == float("inf"), self.broadcast(self.constant(0, x.type), x.shape), x - self._trunc(x))
        return self._copysign(rest, x), self._trunc(x)

    def _deg2rad(self, x: Value) -> Value: return x * (numpy.pi / 180)
    def _rad2deg(self, x: Value) -> Value: return x * (180 / numpy.pi)
    _radians, _degrees = _deg2rad, _rad2deg
    def _fmax(self, x: Value, y: Value) -> Value: return self.select(x != x, y, self.select(y != y, x, _of_values.maximum(x, y)))
    def _fmin(self, x: Value, y: Value) -> Value: return self.select(x != x, y, self.select(y != y, x, _of_values.minimum(x, y)))
    def _hypot(self, x: Value, y: Value) -> Value: return abs(self.element("complex", {"f32": "c64", "f64": "c128"}[x.type], x, y))
    def _true_divide(self, x: Value, y: Value) -> Value: return self.element("divide", x.type, x, y)

    def _conjugate(self, x: Value) -> Value:
        return self.element("complex", x.type, x.real, -x.imag) if x.type in ("c64", "c128") else x

    def bits(self, x: Value) -> Value:
        return self.element("bitcast-convert", f"s{8 * x.dtype.itemsize}", x)

    def _copysign(self, x: Value, y: Value) -> Value:
        one = self.constant(-1 << 8 * x.dtype.itemsize - 1, f"s{8 * x.dtype.itemsize}")
        return self.element("bitcast-convert", x.type, (self.bits(abs(x)) | (self.bits(y) & one)))

    def _logaddexp(self, x: Value, y: Value) -> Value:
        """Where both are the same infinity, that."""
        most, apart = _of_values.maximum(x, y), abs(x - y)
        return self.select(self.compare("EQ", x, y), x + _of_values.log(2.0).item(), most + numpy.log1p(numpy.exp(-apart)))

    def _sign(self, x: Value) -> Value:
        """Of -0, too, it is 0."""
        return self.convert(x != 0, x.type) if x.dtype.kind == "u" else self.element("sign", x.type, x) + 0

    def rest_of(self, x: Value, y: Value) -> Tuple[Value, Value, Value]:
        """Zero, the remainder with the sign of x, and whether its sign is not that of y."""
        zero, rest = self.constant(0, x.type), self.element("remainder", x.type, x, y)
        return zero, rest, (rest != zero) & ((rest < zero) ^ (y < zero))

    def _remainder(self, x: Value, y: Value) -> Value:
        """Of the sign of y; of integers by 0 it is 0."""
        zero, rest, other = self.rest_of(x, y)
        moved = self.select(other, rest + y, rest)
        if category(x.dtype) == 2:
            return self.select(moved == zero, self._copysign(self.broadcast(zero, moved.shape), y), moved)
        return self.select(y == zero, self.broadcast(zero, moved.shape), moved)

    _mod = _remainder

    def _floor_divide(self, x: Value, y: Value) -> Value:
        """Of integers by 0 it is 0."""
        zero, rest, other = self.rest_of(x, y)
        if category(x.dtype) < 2:
            quotient = self.element("divide", x.type, x, y)
            return self.select(y == zero, self.broadcast(zero, quotient.shape), self.select(other, quotient - 1, quotient))
        near = (x - rest) / y  # nearly whole
        near = self.select(other, near - 1, near)
        down = _of_values.floor(near)
        down = self.select(near - down > 0.5, down + 1, down)
        down = self.select(near == zero, self._copysign(self.broadcast(zero, near.shape), x / y), down)
        return self.select(y == zero, x / y, down)

    def _divmod(self, x: Value, y: Value) -> Tuple[Value, Value]:
        return self.call("floor_divide", numpy.floor_divide, x, y), self._remainder(x, y)

    # --- the whole ---
    def run(self, function: Callable[..., Any], inputs: Sequence[Spec], finish: Callable[["Trace", Any], Sequence[Value]]) -> str:
        """The module of a function: `finish` makes its results of what the function returns."""
        values = [self.line("parameter", s.type, s.shape, inside=str(n)) for n, s in enumerate(inputs)]
        results = [self.line("copy", r.type, r.shape, [r]) for r in finish(self, function(*values))]
        types = [f"{r.type}[{','.join(map(str, r.shape))}]" for r in results]
        self.lines.append(f"ROOT all = ({', '.join(types)}) tuple({', '.join(r.name for r in results)})")
        body = "".join(f"  {x}\n" for x in self.lines)
        return f"HloModule {self.name}\n\n{''.join(self.computations)}ENTRY {self.name} {{\n{body}}}\n"


__all__ = ["Trace", "Value", "number_type", "spelled"]
