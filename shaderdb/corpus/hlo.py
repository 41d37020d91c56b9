"""Builds the body of a fusion, line by line.

    b = Body();  x = b.parameter("bf16", 6, 512);  b.finish(b.op("multiply", x, x))
"""
from __future__ import annotations

from typing import Dict, List, NamedTuple, Sequence, Tuple


class Value(NamedTuple):
    name: str
    type: str
    dims: Tuple[int, ...]

    @property
    def shape(self) -> str:
        return shape(self.type, self.dims)


def shape(type: str, dims: Sequence[int]) -> str:
    return f"{type}[{','.join(map(str, dims))}]{{{','.join(str(d) for d in reversed(range(len(dims))))}}}" if dims else f"{type}[]"


class Body:
    def __init__(self) -> None:
        self.lines: List[str] = []
        self.functions: List[str] = []
        self.parameters: List[str] = []
        self.result = ""
        self.n = 0
        self._types: Dict[str, None] = {}
        self._reducers: Dict[Tuple[str, str], str] = {}

    def types(self) -> List[str]:
        return [t for t in self._types if t]

    def _add(self, type: str, dims: Sequence[int], text: str) -> Value:
        v = Value(f"v{self.n}", type, tuple(dims))
        self.n += 1
        self._types[type] = None
        self.lines.append(f"  {v.name} = {v.shape} {text}")
        return v

    def parameter(self, type: str, *dims: int) -> Value:
        v = self._add(type, dims, f"parameter({len(self.parameters)})")
        self.parameters.append(v.shape)
        return v

    def op(self, name: str, *x: Value, more: str = "", type: str = "", dims: Sequence[int] = (-1,)) -> Value:
        """An operation; its type and dimensions default to those of the last operand."""
        return self._add(type or x[-1].type, x[-1].dims if list(dims) == [-1] else dims, f"{name}({', '.join(v.name for v in x)}){more}")

    def chain(self, x: Value, *names: str) -> Value:
        for name in names:
            x = self.op(name, x)
        return x

    def convert(self, x: Value, type: str) -> Value:
        return x if x.type == type else self.op("convert", x, type=type)

    def scalar(self, type: str, value: object) -> Value:
        return self._add(type, (), f"constant({value})")

    def splat(self, like: Value, value: object, type: str = "") -> Value:
        """A constant with the dimensions of `like`."""
        return self.broadcast(self.scalar(type or like.type, value), like.dims, ())

    def broadcast(self, x: Value, dims: Sequence[int], where: Sequence[int]) -> Value:
        """A broadcast: dimension d of x becomes dimension where[d] of the result."""
        return self._add(x.type, dims, f"broadcast({x.name}), dimensions={{{','.join(map(str, where))}}}")

    def compare(self, how: str, x: Value, y: Value) -> Value:
        return self._add("pred", x.dims, f"compare({x.name}, {y.name}), direction={how}")

    def select(self, p: Value, x: Value, y: Value) -> Value:
        return self.op("select", p, x, y)

    def iota(self, type: str, dims: Sequence[int], along: int) -> Value:
        return self._add(type, dims, f"iota(), iota_dimension={along}")

    def transpose(self, x: Value, *order: int) -> Value:
        return self._add(x.type, [x.dims[d] for d in order], f"transpose({x.name}), dimensions={{{','.join(map(str, order))}}}")

    def slice(self, x: Value, *ranges: Tuple[int, ...]) -> Value:
        dims = [-(-(r[1] - r[0]) // (r[2] if len(r) > 2 else 1)) for r in ranges]
        return self._add(x.type, dims, f"slice({x.name}), slice={{{', '.join('[' + ':'.join(map(str, r)) + ']' for r in ranges)}}}")

    def pad(self, x: Value, value: object, *edges: Tuple[int, int]) -> Value:
        c = self.scalar(x.type, value)
        dims = [d + low + high for d, (low, high) in zip(x.dims, edges)]
        return self._add(x.type, dims, f"pad({x.name}, {c.name}), padding={'x'.join(f'{low}_{high}' for low, high in edges)}")

    def concatenate(self, along: int, *x: Value) -> Value:
        dims = list(x[0].dims)
        dims[along] = sum(v.dims[along] for v in x)
        return self._add(x[0].type, dims, f"concatenate({', '.join(v.name for v in x)}), dimensions={{{along}}}")

    def reshape(self, x: Value, *dims: int) -> Value:
        return self._add(x.type, dims, f"reshape({x.name})")

    def reducer(self, op: str, type: str) -> str:
        key = (op, type)
        if key not in self._reducers:
            name = f"{op}.{type}"
            self._reducers[key] = name
            self.functions += [f"{name} {{", f"  x = {type}[] parameter(0)", f"  y = {type}[] parameter(1)", f"  ROOT z = {type}[] {op}(x, y)", "}", ""]
        return self._reducers[key]

    def reduce(self, op: str, x: Value, *over: int, start: object = 0) -> Value:
        name, c = self.reducer(op, x.type), self.scalar(x.type, start)
        dims = [d for k, d in enumerate(x.dims) if k not in over]
        return self._add(x.type, dims, f"reduce({x.name}, {c.name}), dimensions={{{','.join(map(str, over))}}}, to_apply={name}")

    def window(self, op: str, x: Value, size: Sequence[int], stride: Sequence[int], edges: Sequence[Tuple[int, int]], start: object) -> Value:
        name, c = self.reducer(op, x.type), self.scalar(x.type, start)
        dims = [(d + low + high - s) // t + 1 for d, s, t, (low, high) in zip(x.dims, size, stride, edges)]
        text = f"size={'x'.join(map(str, size))} stride={'x'.join(map(str, stride))} pad={'x'.join(f'{a}_{b}' for a, b in edges)}"
        return self._add(x.type, dims, f"reduce-window({x.name}, {c.name}), window={{{text}}}, to_apply={name}")

    def finish(self, *results: Value) -> "Body":
        """Ends the body with one result, or a tuple of several."""
        if len(results) > 1:
            self.result = f"({', '.join(v.shape for v in results)})"
            self.lines.append(f"  ROOT result = {self.result} tuple({', '.join(v.name for v in results)})")
            return self
        self.result = results[0].shape
        at = next(k for k, line in enumerate(self.lines) if line.startswith(f"  {results[0].name} = "))
        self.lines[at] = "  ROOT" + self.lines[at][1:]
        return self
