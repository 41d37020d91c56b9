"""A rule about folds as HLO: its left side, or its right one, at an extent of its range, as the smallest module that has it.

A value that the range may change is an array of one dimension, one that is fixed is a scalar. Proofs that fail show the module with the values at
which the sides differ; tests compile it with its values as parameters.

    module(rule fold_max.f32(a, b, i) -> max.f32(b, a), 3, "f32")

    ENTRY left {
      a = f32[] parameter(0)
      b = f32[] parameter(1)
      a.0 = f32[3] broadcast(a), dimensions={}
      ROOT r.1 = f32[] reduce(a.0, b), dimensions={0}, to_apply=max
    }
"""
from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

from gen import hlo_ops, ops
from gen.expr import Guard, Lit, Node, PatternError, Type, Var, parts
from gen.forms import is_fold
from gen.lang import Rule
from gen.load import walk

HLO_TYPE = {t.name: t.hlo for t in ops.TYPES}
Value = Tuple[str, bool]  # name of an instruction; is it one of the range: [n]


class Module:
    """One side of a rule."""

    def __init__(self, rule: Rule, n: int, bind: Dict[str, str]) -> None:
        self.rule, self.n, self.bind = rule, n, bind
        self.lines: List[str] = []
        self.parameters: Dict[str, Tuple[str, bool]] = {}  # type, and is it an array
        self.combiners: Dict[str, str] = {}
        self.memo: Dict[Tuple[int, str], Value] = {}
        guards = [c for c in parts(rule.when) if isinstance(c, Guard)]
        self.fixed = {id(c.args[0]) for c in guards if c.name == "fixed"}
        self.counted = {id(c.args[1]) for c in guards if c.name == "counts"}

    def type(self, t: Type) -> str: return self.bind.get(t.name, t.name)

    def put(self, t: str, array: bool, text: str, stem: str = "r") -> Value:
        name = f"{stem}.{len(self.lines)}"
        self.lines.append(f"{name} = {HLO_TYPE[t]}[{self.n if array else ''}] {text}")
        return name, array

    def wide(self, x: Value, t: str) -> str:
        return x[0] if x[1] else self.put(t, True, f"broadcast({x[0]}), dimensions={{}}", x[0].split(".")[0])[0]

    def constant(self, value: Any, t: str) -> Value:
        said = str(value).lower() if isinstance(value, bool) else repr(float(value)) if ops.TYPE_BY_NAME[t].cls == "F" else str(int(value))
        return self.put(t, False, f"constant({said})", "c")

    def term(self, e: Any, t: str) -> Value:
        """t: the type of its operand position."""
        if (id(e), t) not in self.memo:
            self.memo[id(e), t] = self._term(e, t)
        return self.memo[id(e), t]

    def _term(self, e: Any, t: str) -> Value:
        if isinstance(e, Var) and id(e) in self.counted:
            return self.constant(self.n, t)
        if isinstance(e, Lit):
            return self.constant(e.value, t)
        if isinstance(e, Var):
            array = id(e) not in self.fixed and id(e) in self.inside
            self.parameters.setdefault(e.name, (t, array))
            return e.name, array
        if not isinstance(e, Node):
            raise PatternError(self.rule.where, f"{e}: no operation of HLO")
        own = self.type(e.result)
        if is_fold(e):
            combiner = e.op.combiner
            self.combiners[f"{combiner}.{own}"] = hlo_ops.HLO_OF[combiner]
            x, init = self.wide(self.term(e.args[0], own), own), self.term(e.args[1], own)
            return self.put(own, False, f"reduce({x}, {init[0]}), dimensions={{0}}, to_apply={combiner}.{own}")
        if e.op.name == "take":
            x, at = self.wide(self.term(e.args[0], own), own), self.term(e.args[2], self.type(e.types[1]))
            one = self.put(own, True, f"dynamic-slice({x}, {at[0]}), dynamic_slice_sizes={{1}}")[0]
            self.lines[-1] = self.lines[-1].replace(f"[{self.n}]", "[1]", 1)
            return self.put(own, False, f"reshape({one})")
        if e.op.name == "idx":
            return self.put(own, True, "iota(), iota_dimension=0")
        types = [self.type(e.operand_type(k)) for k in range(len(e.args))]
        values = [self.term(x, types[k]) for k, x in enumerate(e.args)]
        array = any(a for _, a in values)
        names = ", ".join(self.wide(v, types[k]) if array else v[0] for k, v in enumerate(values))
        opcode = ("compare" if e.op.sig == "compare" else "convert" if e.op.name == "cvt" else "bitcast-convert" if e.op.name == "bits"
                  else hlo_ops.HLO_OF.get(e.op.name))
        if opcode is None:
            raise PatternError(self.rule.where, f"{e.op.name}: HLO has no such operation")
        return self.put(own, array, f"{opcode}({names})" + (f", direction={e.op.name.upper()}" if opcode == "compare" else ""))

    def side(self, e: Any) -> str:
        """The text of the module. Values of the range are those that stand in a fold of the left side."""
        self.inside = {id(x) for f in walk(self.rule.left) if is_fold(f) for x in walk(f.args[0])}  # type: ignore[attr-defined]
        root = self.term(e, self.type(self.rule.left.result))  # type: ignore[attr-defined]
        if not root[0].startswith("r."):
            t = self.type(self.rule.left.result)  # type: ignore[attr-defined]
            root = self.put(t, False, f"copy({root[0]})")
        text = ["HloModule rule", ""]
        for name, opcode in self.combiners.items():
            t = HLO_TYPE[name.split(".")[1]]
            text += [f"{name} {{", f"  p = {t}[] parameter(0)", f"  q = {t}[] parameter(1)", f"  ROOT s = {t}[] {opcode}(p, q)", "}", ""]
        text += ["ENTRY rule {"]
        for k, (name, (t, array)) in enumerate(self.parameters.items()):
            text.append(f"  {name} = {HLO_TYPE[t]}[{self.n if array else ''}] {{{name}}} parameter({k})".replace(f" {{{name}}}", ""))
        text += [f"  {'ROOT ' if line.startswith(root[0] + ' ') else ''}{line}" for line in self.lines]
        return "\n".join([*text, "}", ""])


def module(rule: Rule, n: int, bind: Dict[str, str], right: bool = False, values: Optional[Dict[str, str]] = None) -> str:
    """values: texts of numbers by name of a variable, b0, b1, .. of one that the range changes; without them they are parameters."""
    m = Module(rule, n, bind)
    text = m.side(rule.right if right else rule.left)
    for k, (name, (t, array)) in enumerate(m.parameters.items() if values is not None else ()):
        shape = f"{HLO_TYPE[t]}[{n if array else ''}]"
        some = [values.get(f"{name}{at}", "0") for at in range(n)] if array else [values.get(name, "0")]  # type: ignore[union-attr]
        said = ", ".join(some)
        text = text.replace(f"  {name} = {shape} parameter({k})\n", f"  {name} = {shape} constant({'{' + said + '}' if array else said})\n")
    return text


__all__ = ["module"]
