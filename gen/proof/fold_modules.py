"""A rule about folds as HLO: its left side, or its right one, at an extent of each of its ranges, as the smallest module that has it.

A value that a range may change is an array with a dimension for it, one that is fixed is a scalar. Proofs that fail show the module with the values
at which the sides differ; tests compile it with its values as parameters.

    module(rule fold_max.f32(a, b, i) -> max.f32(b, a), (3,), "f32")

    ENTRY left {
      a = f32[] parameter(0)
      b = f32[] parameter(1)
      a.0 = f32[3] broadcast(a), dimensions={}
      ROOT r.1 = f32[] reduce(a.0, b), dimensions={0}, to_apply=max
    }
"""
from __future__ import annotations

import itertools
from typing import Any, Dict, List, Optional, Set, Tuple

from gen import hlo_ops, instances, ops
from gen.expr import Arith, Guard, Lit, Node, PatternError, Type, Var, parts
from gen.forms import compares_indices, digits, is_fold, part_of
from gen.lang import Rule
from gen.load import walk
from gen.proof import folds

HLO_TYPE = {t.name: t.hlo for t in ops.TYPES}
# numbers of ranges of the rule, ascending: a dimension each; of range n those of its parts i // m and i % m are n + 1 and n + 2
Ranges = Tuple[int, ...]
Value = Tuple[str, Ranges]      # name of an instruction; what it has a dimension for


class Module:
    """One side of a rule."""

    def __init__(self, rule: Rule, extents: Tuple[int, ...], bind: Dict[str, str]) -> None:
        self.rule, self.bind = rule, bind
        self.extents = {3 * n: k for n, k in enumerate(extents)}
        self.lines: List[str] = []
        self.parameters: Dict[str, Tuple[str, Ranges]] = {}
        self.combiners: Dict[str, str] = {}
        self.memo: Dict[Tuple[int, str], Value] = {}
        self.number = {id(v): 3 * n for n, v in enumerate(folds.ranges_of(rule))}
        guards = [c for c in parts(rule.when) if isinstance(c, Guard)]
        fixed = {(id(c.args[0]), self.number[id(c.args[1])]) for c in guards if c.name == "fixed"}
        self.counted = {id(c.args[1]): self.extents[self.number[id(c.args[0])]] for c in guards if c.name == "counts"}
        self.counted.update({id(c.args[0]): extents[-1] for c in guards if c.name == "given"})
        points = dict(zip(map(id, folds.points_of(rule)), extents[len(self.number):]))
        self.written = folds.Written(rule, {i: self.extents[n] for i, n in self.number.items()}, points, extents[-1:])
        self.split: Set[int] = set()  # ranges that are two here, those of their parts
        self.over: Dict[int, Ranges] = {}  # by id of a value of the left side
        for fold in (e for e in walk(rule.left) if is_fold(e)):
            n = self.number[id(fold.args[2])]  # type: ignore[attr-defined]
            for x in walk(fold.args[0]):  # type: ignore[attr-defined]
                if isinstance(x, Var) and (id(x), n) not in fixed:
                    self.over[id(x)] = tuple(sorted({*self.over.get(id(x), ()), n}))

    def type(self, t: Type) -> str: return self.bind.get(t.name, t.name)

    def shape(self, t: str, over: Ranges) -> str: return f"{HLO_TYPE[t]}[{','.join(str(self.extents[n]) for n in over)}]"

    def put(self, t: str, over: Ranges, text: str, stem: str = "r", shape: Optional[str] = None) -> Value:
        name = f"{stem}.{len(self.lines)}"
        self.lines.append(f"{name} = {shape or self.shape(t, over)} {text}")
        return name, over

    def wide(self, x: Value, t: str, over: Ranges) -> str:
        dimensions = ",".join(str(over.index(n)) for n in x[1])
        return x[0] if x[1] == over else self.put(t, over, f"broadcast({x[0]}), dimensions={{{dimensions}}}", x[0].split(".")[0])[0]

    def constant(self, value: Any, t: str) -> Value:
        of = ops.TYPE_BY_NAME[t]
        if isinstance(value, bool):
            said = str(value).lower()
        elif of.cls == "F":
            said = repr(float(value))
        else:
            said = str(int(value) % (1 << of.bits) if of.cls == "U" else int(value))  # -1 of u32 has all bits
        return self.put(t, (), f"constant({said})", "c")

    def term(self, e: Any, t: str) -> Value:
        """t: the type of its operand position."""
        if (id(e), t) not in self.memo:
            self.memo[id(e), t] = self._term(e, t)
        return self.memo[id(e), t]

    def _term(self, e: Any, t: str) -> Value:
        if isinstance(e, Var) and id(e) in self.counted:
            return self.constant(self.counted[id(e)], t)
        if isinstance(e, Arith) and e.constant:
            return self.constant(instances.evaluate(e, instances.Env(dict(self.counted), {}, None, 1, 0)), t)
        if isinstance(e, Lit):
            return self.constant(e.value, t)
        if isinstance(e, Var):
            over = self.over.get(id(e), ())
            self.parameters.setdefault(e.name, (t, over))
            parts_of = tuple(sorted(x for n in over for x in ((n + 1, n + 2) if n in self.split else (n,))))
            return (e.name, over) if parts_of == over else self.put(t, parts_of, f"reshape({e.name})")
        if not isinstance(e, Node):
            raise PatternError(self.rule.where, f"{e}: no operation of HLO")
        own = self.type(e.result)
        if is_fold(e):
            return self.fold(e, own)
        if e.op.name == "take":
            return self.take(e, own)
        if e.op.name == "idx":
            return self.put(own, (self.number[id(e.args[0])],), "iota(), iota_dimension=0")
        if compares_indices(e):
            values = [self.index(x) for x in e.args]
            over = tuple(sorted({n for _, own in values for n in own}))
            names = ", ".join(self.wide(v, "i32", over) for v in values)
            return self.put(own, over, f"compare({names}), direction={e.op.name.upper()}")
        types = [self.type(e.operand_type(k)) for k in range(len(e.args))]
        values = [self.term(x, types[k]) for k, x in enumerate(e.args)]
        over = tuple(sorted({n for _, own in values for n in own}))
        names = ", ".join(self.wide(v, types[k], over) for k, v in enumerate(values))
        opcode = ("compare" if e.op.sig == "compare" else "convert" if e.op.name == "cvt" else "bitcast-convert" if e.op.name == "bits"
                  else hlo_ops.HLO_OF.get(e.op.name))
        if opcode is None:
            raise PatternError(self.rule.where, f"{e.op.name}: HLO has no such operation")
        return self.put(own, over, f"{opcode}({names})" + (f", direction={e.op.name.upper()}" if opcode == "compare" else ""))

    def index(self, e: Any) -> Value:
        """An index as integers."""
        part, known = part_of(e), self.written.index(e, {})
        if known is not None:
            return self.constant(known, "i32")
        if part:
            return self.put("i32", (self.part(part),), "iota(), iota_dimension=0")
        if isinstance(e, Var):
            n = self.number[id(e)]
            one = self.put("i32", (n,), "iota(), iota_dimension=0")
            return self.put("i32", (n + 1, n + 2), f"reshape({one[0]})") if n in self.split else one
        raise PatternError(self.rule.where, f"{e}: no index whose integers a module has")

    def part(self, part: Any) -> int:
        op, i, _ = part
        return self.number[id(i)] + (1 if op == "//" else 2)

    def split_ranges(self, side: Any) -> None:
        """Ranges of which the folds of a side have parts become two."""
        for part in (part_of(e.args[2]) for e in walk(side) if is_fold(e)):
            if part:
                n, size = self.number[id(part[1])], self.written.number(part[2])
                if size < 1 or self.extents[n] % size:
                    raise PatternError(self.rule.where, f"{size} does not divide {self.extents[n]}")
                self.extents.update({n + 1: self.extents[n] // size, n + 2: size})
                self.split.add(n)

    def fold(self, e: Node, t: str) -> Value:
        part = part_of(e.args[2])
        own = [self.number[id(i)] for i, _ in digits(e.args[2]) or ()]
        combiner, reduced = e.op.combiner, [self.part(part)] if part else [x for n in own for x in ((n + 1, n + 2) if n in self.split else (n,))]
        self.combiners[f"{combiner}.{t}"] = hlo_ops.HLO_OF[combiner]
        x, init = self.term(e.args[0], t), self.term(e.args[1], t)
        over = tuple(sorted({*x[1], *reduced}))
        if init[1]:
            raise PatternError(self.rule.where, f"{e}: a reduction of HLO begins with one value")
        text = f"reduce({self.wide(x, t, over)}, {init[0]}), dimensions={{{','.join(map(str, sorted(map(over.index, reduced))))}}}"
        return self.put(t, tuple(k for k in over if k not in reduced), f"{text}, to_apply={combiner}.{t}")

    def take(self, e: Node, t: str) -> Value:
        x, at = self.term(e.args[0], t), self.term(e.args[2], self.type(e.types[1]))
        n = self.number[id(e.args[1])]
        if at[1] or not set(x[1]) <= {n}:
            raise PatternError(self.rule.where, f"{e}: a slice begins at one place")
        text = f"dynamic-slice({self.wide(x, t, (n,))}, {at[0]}), dynamic_slice_sizes={{1}}"
        one = self.put(t, (n,), text, shape=f"{HLO_TYPE[t]}[1]")[0]
        return self.put(t, (), f"reshape({one})")

    def side(self, e: Any) -> str:
        """The text of the module."""
        self.split_ranges(e)
        root = self.term(e, self.type(self.rule.left.result))  # type: ignore[attr-defined]
        if not root[0].startswith("r."):
            t = self.type(self.rule.left.result)  # type: ignore[attr-defined]
            root = self.put(t, root[1], f"copy({root[0]})")
        text = ["HloModule rule", ""]
        for name, opcode in self.combiners.items():
            t = HLO_TYPE[name.split(".")[1]]
            text += [f"{name} {{", f"  p = {t}[] parameter(0)", f"  q = {t}[] parameter(1)", f"  ROOT s = {t}[] {opcode}(p, q)", "}", ""]
        text += ["ENTRY rule {"]
        text += [f"  {name} = {self.shape(t, over)} parameter({k})" for k, (name, (t, over)) in enumerate(self.parameters.items())]
        text += [f"  {'ROOT ' if line.startswith(root[0] + ' ') else ''}{line}" for line in self.lines]
        return "\n".join([*text, "}", ""])


def nested(items: List[str], dims: List[int]) -> str:
    """A literal of an array."""
    if not dims:
        return items[0]
    step = len(items) // dims[0]
    return "{" + ", ".join(nested(items[k * step:(k + 1) * step], dims[1:]) for k in range(dims[0])) + "}"


def module(rule: Rule, extents: Tuple[int, ...], bind: Dict[str, str], right: bool = False, values: Optional[Dict[str, str]] = None) -> str:
    """values: texts of numbers by name of a variable, b0, b1, .. of one that a range changes; without them they are parameters."""
    m = Module(rule, extents, bind)
    text = m.side(rule.right if right else rule.left)
    for k, (name, (t, over)) in enumerate(m.parameters.items() if values is not None else ()):
        dims = [m.extents[n] for n in over]
        places = itertools.product(*map(range, dims))
        said = nested([values.get(name + "".join(map(str, at)), "0") for at in places], dims)  # type: ignore[union-attr]
        text = text.replace(f"  {name} = {m.shape(t, over)} parameter({k})\n", f"  {name} = {m.shape(t, over)} constant({said})\n")
    return text


__all__ = ["module"]
