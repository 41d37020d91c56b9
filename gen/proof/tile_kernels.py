"""Makes the kernels that test instruction rules: each loads operands and stores the value of a rule's left side. A rule has kernels for
every type of its class and every number of lanes in PACKED. gen/proof/simulate.py runs them.

    kernels_on("sm90", "patterns/tiles.py:9")      the kernels of one rule on one target, and messages about rules without one
"""
from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Dict, Iterator, List, Optional, Sequence, Set, Tuple

from gen import asm_rule, constants, guards, instances, lang, load, ops
from gen.lang import Expr, Lit, Node, Rule, Total, Type, Var

THREADS = 1024
CONSTANTS = (0, 1, 2, 3, 5, 7, 8, 16, 31, 32, 63, 64, -1, 127, 255, 65535)
MAX_CONSTANTS = 4  # combinations of constants for one rule
EX2 = 4  # ulp of what is made of ex2.approx, at most: the budgets of functions.py count as much
FLAG_GUARDS = ("approx", "contract", "nnan", "nsz")


@dataclass(frozen=True)
class Kernel:
    """A kernel for one instance of a rule, or for what llvm/ emits without a rule."""

    rule: str  # the rule's name, or "lower: what"
    instance: str  # "add.bf16x2"
    text: str  # with @NAME for the kernel's name
    err: str = ""  # options: `--err` and its argument


class NotMade(Exception):
    """No kernel can be made of the left side."""


# --- kernels --------------------------------------------------------------------------------------------------------------------
def wide(t: Type, lanes: int) -> Type:
    return Type(t.name, t.lanes * lanes)


def bound(t: Type, binding: Dict[str, str]) -> Type:
    return Type(binding.get(t.name, t.name), t.lanes)


def classes(e: Expr) -> List[str]:
    """The type classes that a pattern names, in order of appearance."""
    found: List[str] = []
    for x in load.walk(e):
        for t in x.types if isinstance(x, Node) else ():
            if t.is_class and t.name not in found:
                found.append(t.name)
    return found


BYTES = {"i2": "i8", "i4": "i8", "u2": "u8", "u4": "u8", "f4e2m1fn": "u8"}  # types of fewer than 8 bits, and the types that hold them in memory


def narrow(t: str, value: str) -> str:
    return f"bits.f4e2m1fn.u4(cvt.u4.u8({value}))" if t == "f4e2m1fn" else f"cvt.{t}.{BYTES[t]}({value})"


def widened(t: str, value: str) -> str:
    return f"cvt.u8.u4(bits.u4.f4e2m1fn({value}))" if t == "f4e2m1fn" else f"cvt.{BYTES[t]}.{t}({value})"


def integer_text(value: int, t: str) -> str:
    """The bits of a number at an integer type: -1 is the largest u32, 2**31 the least i32."""
    info = ops.TYPE_BY_NAME[t]
    low = value & (1 << info.bits) - 1
    return str(low - (1 << info.bits) if info.cls == "I" and low >> info.bits - 1 else low)


class Writer:
    """Writes a left side as text of the IR; each variable becomes a load of its own operand."""

    def __init__(self, binding: Dict[str, str], lanes: int, constants: Dict[str, int]) -> None:
        self.binding, self.lanes, self.constants = binding, lanes, constants
        self.operands: Dict[str, Type] = {}
        self.flags: Tuple[str, ...] = ()  # that the rule's conditions ask every node for
        self.mark: Tuple[str, ...] = ()  # flags that make nodes others than those of the left side

    def type(self, t: Type) -> Type:
        return wide(bound(t, self.binding), self.lanes)

    def value(self, e: Expr, t: Type) -> str:
        if isinstance(e, Var):
            if e.kind == "const":
                return integer_text(self.constants[e.name], t.name)
            if e.kind != "value":
                raise NotMade(f"{e.kind} variable {e}")
            if self.operands.setdefault(e.name, t) not in (t, Type(BYTES.get(t.name, "none"))):
                raise NotMade(f"{e} has two types")
            index = "t" if t.lanes == 1 else f"{t.lanes}*t"
            if t.name in BYTES:  # a byte each: threads would share the byte of a packed value
                self.operands[e.name] = Type(BYTES[t.name])
                return narrow(t.name, f"load %{e.name}[{index}]")
            return f"load{'' if t.lanes == 1 else '.' + str(t)} %{e.name}[{index}]"
        if isinstance(e, Lit):
            if isinstance(e.value, bool):
                return "true" if e.value else "false"
            return repr(float(e.value)) if ops.TYPE_BY_NAME[t.name].cls == "F" else integer_text(int(e.value), t.name)
        if not isinstance(e, Node):
            raise NotMade(f"{e} in a left side")
        flags = {*e.flags, *self.flags, *self.mark}
        name = ".".join([e.op.name, *(str(self.type(x)) for x in e.types), *sorted(flags, key=ops.FLAGS.index)])
        return f"{name}({', '.join(self.value(x, self.type(e.operand_type(i))) for i, x in enumerate(e.args))})"


def fact_text(w: Writer, g: lang.Guard, types: Dict[int, Type]) -> str:
    """The pred that says whether a fact holds, of nodes that are not those of the left side: these may have one user alone."""
    x = g.args[0]
    of = types.get(id(x)) or (x.result if isinstance(x, Node) else Type("none"))
    w.mark = ("approx",)  # changes nothing where operations are exact; where they are not, nothing is compared, which is a fault
    v, t = w.value(x, w.type(of)), w.type(of)
    w.mark = ()
    bits = ops.TYPE_BY_NAME[t.name].bits
    if g.name in ("known_zero", "known_one"):
        bits_of_it = constants.value(g.args[1], w.constants, bits)
        if bits_of_it is None:
            raise NotMade(f"condition {g}")
        mask = integer_text(bits_of_it, t.name)
        return f"eq.{t}(band.{t}({v}, {mask}), {'0' if g.name == 'known_zero' else mask})"
    pred, u = Type("pred", t.lanes), Type(f"u{bits}", t.lanes)
    holding = {"never_nan": f"eq.{t}({v}, {v})", "finite": f"lt.{t}(abs.{t}({v}), inf)", "integral": f"eq.{t}({v}, trunc.{t}({v}))",
               "unit": f"band.{pred}(ge.{t}({v}, 0.0), le.{t}({v}, 1.0))",
               "nonnegative": f"ge.i{bits}(bits.i{bits}.{t}({v}), 0)", "never_negzero": f"ne.{u}(bits.{u}.{t}({v}), {1 << bits - 1})"}
    if g.name not in holding:
        raise NotMade(f"condition {g}")
    return holding[g.name]


def flags_of(r: Rule) -> Tuple[str, ...]:
    return tuple(c.name for c in lang.parts(r.when) if isinstance(c, lang.Guard) and c.name in FLAG_GUARDS)


def facts_of(r: Rule) -> List[lang.Guard]:
    return [c for c in lang.parts(r.when) if isinstance(c, lang.Guard) and guards.BY_NAME[c.name].kind == "fact"]


def where_facts_hold(r: Rule, w: Writer, value: str, result: Type) -> str:
    """The value of the left side where the facts hold that the rule asks for, elsewhere zero."""
    types = {id(a): n.operand_type(i) for n in load.walk(r.left) if isinstance(n, Node) for i, a in enumerate(n.args)}
    for g in facts_of(r):
        cls = ops.TYPE_BY_NAME[result.name].cls
        zero = "false" if cls == "P" else "0.0" if cls == "F" else "0"
        value = f"select.{result}({fact_text(w, g, types)}, {value}, {zero})"
    return value


def kernel_text(operands: Dict[str, Type], result: Type, value: str) -> str:
    """A kernel of THREADS threads, each of which loads and stores whole vectors."""
    buffers = [f"%{n}: {t.name}[{THREADS * t.lanes}]" for n, t in operands.items()] + [f"%out: out {result.name}[{THREADS * result.lanes}]"]
    index = "t" if result.lanes == 1 else f"{result.lanes}*t"
    return (f"kernel @NAME({', '.join(buffers)}) block 128 grid {THREADS // 128} {{\n"
            f"  let t = 128*bid + tid in 0..{THREADS}\n  store %out[{index}], {value}\n}}\n")


def holds(c: Optional[lang.Cond], numbers: Dict[str, int], width: int) -> bool:
    """Whether a rule's conditions hold for these constants and for nodes with the flags of `flags_of`."""
    def one(p: lang.Cond, asked: bool = True) -> bool:
        if load.of_feature(p):
            return True  # the target has the rule, so it has the feature
        if constants.compared(p):
            return constants.holds(p, numbers, width)
        if isinstance(p, lang.Not):
            return not one(p.x, False)
        if isinstance(p, lang.Guard) and p.name in FLAG_GUARDS:
            return asked
        if isinstance(p, lang.Guard) and guards.BY_NAME[p.name].kind in ("fact", "use"):
            return True  # the kernel compares only where the fact holds
        raise NotMade(f"condition {p}")

    return all(one(p) for p in lang.parts(c))


def constants_of(r: Rule, width: int) -> Iterator[Dict[str, int]]:
    """Values of the constant variables that satisfy the conditions."""
    names = sorted({x.name for x in load.walk(r.left) if isinstance(x, Var) and x.kind == "const"})
    if not names:
        if holds(r.when, {}, width):
            yield {}
        return
    found, tried = 0, list(dict.fromkeys((*CONSTANTS, *instances.numbers_in(r))))
    for k in range(len(tried) ** len(names)):
        values = {n: tried[k // len(tried) ** i % len(tried)] for i, n in enumerate(names)}
        if holds(r.when, values, width):
            yield values
            found += 1
            if found == MAX_CONSTANTS:
                return


def lanes_of(r: Rule, node: Node, binding: Dict[str, str], packed: Sequence[lang.Packed]) -> List[int]:
    """1, and for rules that match any number of lanes those that PACKED lists for their root."""
    if r.kind not in ("llvm", "intr") or any(isinstance(x, Node) and any(t.lanes > 1 for t in x.types) for x in load.walk(r.left)):
        return [1]
    to, frm = binding.get(node.types[0].name, node.types[0].name), binding.get(node.types[-1].name, node.types[-1].name)
    return [1] + sorted({p.lanes for p in packed if (p.op, p.to, p.frm) == (node.op.name, to, frm)})


def err_text(r: Rule) -> str:
    """The error of an instruction, which is tried too, and the literals of its text. A function of libdevice has its own error besides those
    of its instructions."""
    tried = "".join(f" --try {n}" for n in asm_rule.literals(r)) if r.kind == "asm" else ""
    tried += f" --assume {r.name}" if facts_of(r) else ""
    if r.err is None:
        return tried.strip()
    unit = "ulp" if isinstance(r.err, lang.Ulp) else ""
    return f"--err {float(r.err)!r}{unit}" + (" --ulp-noise" if r.kind == "asm" else "") + tried


def ulp_of(r: Rule) -> float:
    """What a function of libdevice may be off. Beside it stands the error of ex2.approx, which some of them use: sin.approx and cos.approx are off by
    more near their zeros, and are no sine or cosine of libdevice."""
    assert isinstance(r.left, Node)
    return float(r.err) if isinstance(r.err, lang.Ulp) else load.budgets().get((r.left.op.name, r.left.result.name), (0.0,))[0]


def shapes_of(left: Node) -> List[Node]:
    """The left side; of a sum by its terms also with these in other orders and brackets, all of which the rule matches."""
    if not isinstance(left, Total):
        return [left]
    def balanced(some: List[Expr]) -> Expr:
        half = len(some) // 2
        return some[0] if len(some) == 1 else Node(left.op, left.types, left.flags, [balanced(some[:half]), balanced(some[half:])])
    def chain(some: List[Expr]) -> Expr:
        return some[0] if len(some) == 1 else Node(left.op, left.types, left.flags, [chain(some[:-1]), some[-1]])
    terms = list(left.terms)
    return [left, chain(terms[::-1]), balanced(terms), balanced(terms[1:] + terms[:1])]  # type: ignore[list-item]


def shifts_within(left: Node, binding: Dict[str, str], numbers: Dict[str, int]) -> bool:
    """Whether the left side says anything for these constants: a shift of shlx, shrlx or shrax by its width or more is undefined."""
    by = {id(e): numbers[e.args[1].name] for e in load.walk(left) if isinstance(e, Node) and e.op.name in ("shlx", "shrlx", "shrax")
          and isinstance(e.args[1], Var) and e.args[1].kind == "const"}
    return all(0 <= by[id(e)] < ops.TYPE_BY_NAME[bound(e.types[0], binding).name].bits for e in load.walk(left) if id(e) in by)


def kernels_of(r: Rule, packed: Sequence[lang.Packed]) -> Iterator[Kernel]:
    if not isinstance(r.left, Node):
        raise NotMade(f"{r.left} is not an operation")
    bindings: List[Dict[str, str]] = [{}]
    for c in classes(r.left):
        bindings = [{**b, c: t} for b in bindings for t in ops.CLASSES[c]]
    for binding in bindings:
        width = ops.TYPE_BY_NAME[next(iter(binding.values()), r.left.types[-1].name)].bits
        for lanes in lanes_of(r, r.left, binding, packed):
            for numbers in (some for some in constants_of(r, width) if shifts_within(r.left, binding, some)):
                for n, left in enumerate(shapes_of(r.left)):
                    made = kernel_of(r, left, Writer(binding, lanes, numbers), f",{n}" if n else "")
                    yield made
                    if r.kind == "call" and r.left.result.name == "f32":
                        yield replace(made, instance=made.instance + ",approximate", err=f"--err {ulp_of(r) + EX2}ulp --ulp-noise")


def kernel_of(r: Rule, left: Node, w: Writer, shape: str) -> Kernel:
    w.flags = flags_of(r)
    value = w.value(left, Type("pred"))
    result = w.type(left.result)
    name = value
    if result.name in BYTES:
        value, result = widened(result.name, value), Type(BYTES[result.name])
    instance = name.split("(")[0] + "".join(f",{n}={v}" for n, v in w.constants.items()) + shape
    value = where_facts_hold(r, w, value, result)
    effect = set(ops.EFFECTS) & set(left.op.props.split())
    return Kernel(r.name, instance, effect_text(left.op, w, result, value) if effect else kernel_text(w.operands, result, value), err_text(r))


def effect_text(op: ops.Op, w: Writer, result: Type, left: str) -> str:
    """A kernel whose threads do an effect. With an address: each thread on an element of its own, whose old value it stores, then, where the order
    does not show, 32 threads on each of 32 elements, whose values are stored after a barrier. A compare and swap is done again with what it left."""
    operands, size = left[left.index("(") + 1:-1], THREADS * result.lanes
    buffers = [f"%{n}: {t.name}[{THREADS * t.lanes}]" for n, t in w.operands.items()]
    name, t, load_t = left.split("(")[0], "t" if result.lanes == 1 else f"{result.lanes}*t", "" if result.lanes == 1 else f".{result}"
    if "address" not in op.props:
        return (f"kernel @NAME({', '.join(buffers)}, %out: out {result.name}[{size}]) block 128 grid {THREADS // 128} {{\n"
                f"  let t = 128*bid + tid in 0..{THREADS}\n  y = do {left}\n  store %out[{t}], y\n}}\n")
    if op.name == "copy_async" or "convergent" in op.props:
        return shared_text(op, result, name)
    start = "0:u32" if op.name == "ticket" else f"load{load_t} %start[{t}]"
    buffers += [f"%start: {result.name}[{size}]", f"%out: out {result.name}[{size}]", f"%sum: out {result.name}[{size}]",
                f"%cells: temp {result.name}[{size}]"]
    steps = f"  store %cells[{t}], {start}\n  y = do {name}(%cells[{t}], {operands})\n  store %out[{t}], y\n"
    if op.name == "atomic_cas":
        steps += f"  z = do {name}(%cells[{t}], {start}, {operands.rsplit(', ', 1)[1]})\n"
    if op.name not in ("atomic_exch", "atomic_cas", "lock", "unlock", "ticket") and ops.TYPE_BY_NAME[result.name].cls != "F":
        steps += f"  do barrier()\n  z = do {name}(%cells[128*bid + tid // 4], {operands})\n"
    return (f"kernel @NAME({', '.join(buffers)}) block 128 grid {THREADS // 128} {{\n  let t = 128*bid + tid in 0..{THREADS}\n{steps}"
            f"  do barrier()\n  v = do read.{result}(%cells[{t}])\n  store %sum[{t}], v\n}}\n")


def shared_text(op: ops.Op, result: Type, name: str) -> str:
    """A kernel whose blocks copy to shared memory, or read matrices there: what other threads brought."""
    n, t = result.lanes, result.name
    at = lambda i: i if n == 1 else f"{n}*{i if i.isidentifier() else f'({i})'}"
    load = f"load.{result} %in[{at('t')}]" if n > 1 else "load %in[t]"
    if op.name == "copy_async":
        steps = (f"  do {name}(%s[{at('tid')}], %in[{at('t')}])\n  do copy_commit()\n  do copy_wait<0>()\n  do barrier()\n"
                 f"  y = do read.{result}(%s[{at('127 - tid')}])\n")
    else:
        steps = f"  store %s[{at('tid')}], {load}\n  do barrier()\n  y = do {name}(%s[{at('tid')}])\n"
    return (f"kernel @NAME(%in: {t}[{THREADS * n}], %out: out {t}[{THREADS * n}], %s: shared {t}[{128 * n}]) block 128 grid {THREADS // 128} {{\n"
            f"  let t = 128*bid + tid in 0..{THREADS}\n{steps}  store %out[{at('t')}], y\n}}\n")


def kernels_of_lower() -> Iterator[Kernel]:
    """Kernels for what llvm/ emits without a rule: accesses of 8 to 128 bits, splitting and joining lanes, index arithmetic."""
    def one(what: str, operands: Dict[str, Type], result: Type, value: str) -> Kernel:
        return Kernel(f"lower: {what}", str(result), kernel_text(operands, result, value))

    for name in (t for t in ops.COMPUTE if t not in BYTES):
        bits = ops.TYPE_BY_NAME[name].bits
        for lanes in (1, 2, 4, 8, 16):
            t, x = Type(name, lanes), "load %a[t]" if lanes == 1 else f"load.{Type(name, lanes)} %a[{lanes}*t]"
            if bits * lanes > 128:
                continue
            yield one("load and store", {"a": t}, t, x)
            if lanes == 1:
                yield one("splat", {"a": t}, Type(name, 2), f"splat.{name}x2({x})")
                continue
            half = str(Type(name, lanes // 2))
            yield one("part and pack", {"a": t}, t, f"pack.{t}(part.{half}<{lanes // 2}>({x}), part.{half}<0>({x}))")
            yield one("part", {"a": t}, Type(name), f"part.{name}<{lanes - 1}>({x})")
    indices = ("t", "3*t + 5", "2047 - 2*t", "(5*t + 3) // 7", "(5*t + 3) % 7", "7*((3*t + 1) // 16) + (3*t + 1) % 16", "min.index(t, 100)",
               "max.index(2*t - 100, t)", "(t + 3*(t // 32)) % 33", "3000000000*t - 7", "(3000000000*t + 5) // 7", "(3000000000*t + 5) % 1000003",
               "4294967296*t + 4294967295", "max.index(3000000000*t - 500000000000, 0)", "-5*t - 1", "(9*t) // 3000000000")
    for to in ("i32", "u32", "i64", "u64"):
        for i in indices:
            yield one("index", {}, Type(to), f"idx.{to}({i})")
    for i in ("(t * 5 + 3) % 1024", "(t // 32) + 32*(t % 32)", "1023 - t", "min.index(t + 1, 1023)"):
        yield one("index of an access", {"a": Type("i16")}, Type("i16"), f"load %a[{i}]")
    for op in ("eq", "ne", "lt", "le", "gt", "ge"):
        for x, y in (("t", "500"), ("3000000000*t", "900000000000"), ("t % 32", "t // 32"), ("2*t - 1000", "t - 500")):
            yield one("index comparison", {}, Type("pred"), f"{op}.index({x}, {y})")


# --- kernels of a target ------------------------------------------------------------------------------------------------------------
VECTOR = re.compile(r"\dx\d")  # in the name of a type with lanes: f32x2


def kernels_on(name: str, *only: str) -> Tuple[List[Kernel], Dict[str, str]]:
    """The kernels of a target (`name` is its pattern file: sm90), and for each rule without a kernel why it has none. only: parts of rules' names or
    texts, of which a rule has one."""
    rules = load.load_target(name)
    kernels: List[Kernel] = []
    faults: Dict[str, str] = {}
    vectors: Set[str] = set()  # instances that an earlier rule matches with their lanes: cvt.f32x2.bf16x2
    for r in rules.phases["isel"]:
        asked = any(part in f"{r.name} {r.text}" for part in only)
        if not asked and r.kind not in ("asm", "call"):
            continue
        try:
            made = list(kernels_of(r, rules.packed))
        except NotMade as e:
            faults.update({r.name: f"no kernel can be made of it: {e}"} if asked else {})
            continue
        own = [k for k in made if k.instance not in vectors]
        if asked and not own:
            faults[r.name] = "no kernel satisfies its conditions"
        kernels += own if asked else []
        vectors |= {k.instance for k in made if r.kind in ("asm", "call") and VECTOR.search(k.instance)}
    return kernels + [k for k in kernels_of_lower() if any(part in k.rule for part in only)], faults


def chosen(on: Dict[str, List[Kernel]], every: bool) -> Dict[str, List[Kernel]]:
    """The kernels to run, by target: each on the oldest and on the newest target that has it."""
    having: Dict[Kernel, List[str]] = {}
    for name, kernels in on.items():
        for k in kernels:
            having.setdefault(k, []).append(name)
    some = {name: [k for k in kernels if every or name in (having[k][0], having[k][-1])] for name, kernels in on.items()}
    return {name: kernels for name, kernels in some.items() if kernels}
