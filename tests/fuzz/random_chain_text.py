"""Text of random chains of reductions: what random_chains.py compiles and runs. A chain is data, so that a smaller one can be made of it."""
from __future__ import annotations

import random
from typing import Iterator, List, NamedTuple, Optional, Tuple

SIZES = [1, 2, 3, 5, 7, 8, 16, 17, 31, 32, 33, 64, 96, 127, 128, 200, 256, 257, 512, 1000, 1024]
LIMIT = 12000        # elements
FLOATS = ("f32", "f32", "f32", "bf16", "bf16", "f16", "f64")
INTS = ("s32", "s32", "u32", "s8", "s16", "u8", "s64")
TERMS = ("plain", "plain", "square", "exp", "times", "abs")     # what is reduced, of the value
SPREADS = ("subtract", "subtract", "multiply", "divide", "rsqrt", "maximum", "select", "log")  # how a result meets the value again
MASKS = ("", "", "", "causal", "length", "given")


class Step(NamedTuple):
    """reduce(term(v)) over `reduced`, whose result meets v again, at every element."""
    op: str                 # add, maximum, minimum, multiply, argmax
    term: str
    reduced: Tuple[int, ...]
    spread: str
    sum_type: str           # the terms are converted to it before; empty: not
    side: bool              # the result is an output, too
    kept_on: bool           # the result of this step is needed by the next one as well


class Chain(NamedTuple):
    dims: Tuple[int, ...]
    type: str
    mask: str
    scale: bool             # a row of factors at last, as of a norm
    out: str                # type of the output of full shape; empty: there is none
    pick: bool              # an output that takes an element of each row by its label
    steps: Tuple[Step, ...]


def chain_of(seed: int) -> Chain:
    r = random.Random(seed)
    rank = r.choice([2, 2, 2, 3, 3, 4])
    dims: List[int] = []
    for _ in range(rank):
        room = LIMIT
        for d in dims:
            room //= d
        dims.append(r.choice([n for n in SIZES if n <= room]))
    r.shuffle(dims)
    t = r.choice(FLOATS if r.random() < 0.8 else INTS)
    floats = t in FLOATS
    ways = [(rank - 1,), (rank - 1,), (0,), tuple(range(1, rank)), (0, rank - 1), (r.randrange(rank),)]
    main = tuple(sorted(set(r.choice(ways))))
    steps = []
    for _ in range(r.choice([2, 2, 3, 3, 4, 5])):
        reduced = main if r.random() < 0.85 else tuple(sorted(set(r.choice(ways))))
        steps.append(Step(r.choices(["add", "maximum", "minimum", "multiply", "argmax"], [10, 5, 2, 1, 1])[0], r.choice(TERMS), reduced, r.choice(SPREADS),
                          r.choice(["", "", "f32"]) if t in ("bf16", "f16") else "s32" if t in INTS and r.random() < 0.3 else "", r.random() < 0.25,
                          r.random() < 0.2))
    out = r.choice([t, t, "f32", "bf16", "s8", "f16"] if floats else [t, t, "s32", "f32"]) if r.random() < 0.8 else ""
    pick = r.random() < 0.15
    if not out and not pick:                    # something must need the last step
        steps[-1] = steps[-1]._replace(side=True)
    return Chain(tuple(dims), t, r.choice(MASKS), floats and r.random() < 0.3, out, pick, tuple(steps))


def smaller(c: Chain) -> Iterator[Chain]:
    """Chains that have a little less."""
    for k in range(len(c.steps)):
        if len(c.steps) > 1:
            yield c._replace(steps=c.steps[:k] + c.steps[k + 1:])
    for k, s in enumerate(c.steps):
        for less in (s._replace(side=False), s._replace(kept_on=False), s._replace(sum_type=""), s._replace(term="plain"), s._replace(spread="subtract")):
            if less != s:
                yield c._replace(steps=c.steps[:k] + (less,) + c.steps[k + 1:])
    for less_of in (c._replace(mask=""), c._replace(scale=False), c._replace(pick=False), c._replace(out=c.type if c.out else "")):
        if less_of != c:
            yield less_of
    for k, d in enumerate(c.dims):
        if d > 1:
            yield c._replace(dims=c.dims[:k] + (d // 2,) + c.dims[k + 1:])


class Text:
    """A module under construction."""

    def __init__(self, c: Chain) -> None:
        self.c, self.lines, self.bodies = c, [], {}
        self.type_of: dict[str, str] = {}

    def shape(self, t: str, dims: Tuple[int, ...]) -> str:
        return f"{t}[{','.join(map(str, dims))}]"

    def emit(self, t: str, dims: Tuple[int, ...], op: str) -> str:
        name = f"v{len(self.lines)}"
        self.lines.append(f"  {name} = {self.shape(t, dims)} {op}")
        self.type_of[name] = t
        return name

    def constant(self, t: str, value: str, dims: Tuple[int, ...]) -> str:
        c = self.emit(t, (), f"constant({value})")
        return self.emit(t, dims, f"broadcast({c}), dimensions={{}}") if dims else c

    def to(self, v: str, t: str, dims: Tuple[int, ...]) -> str:
        return v if self.type_of[v] == t else self.emit(t, dims, f"convert({v})")

    def body(self, op: str, t: str) -> str:
        name = f"{op}_{t}"
        self.bodies[name] = f"{name} {{\n  a = {t}[] parameter(0)\n  b = {t}[] parameter(1)\n  ROOT c = {t}[] {op}(a, b)\n}}\n"
        return name

    def argmax(self, t: str) -> str:
        name = f"argmax_{t}"
        self.bodies[name] = "\n".join([
            f"{name} {{", f"  a = {t}[] parameter(0)", "  i = s32[] parameter(1)", f"  b = {t}[] parameter(2)", "  j = s32[] parameter(3)",
            "  gt = pred[] compare(a, b), direction=GT", "  eq = pred[] compare(a, b), direction=EQ", "  lt = pred[] compare(i, j), direction=LT",
            "  first = pred[] and(eq, lt)", "  left = pred[] or(gt, first)", f"  m = {t}[] select(left, a, b)", "  n = s32[] select(left, i, j)",
            f"  ROOT r = ({t}[], s32[]) tuple(m, n)", "}", ""])
        return name


def lowest(t: str) -> str:
    return "-inf" if t in FLOATS else "0" if t[0] == "u" else f"-{1 << (int(t[1:]) - 1)}"


def highest(t: str) -> str:
    return "inf" if t in FLOATS else str((1 << (int(t[1:]) - (t[0] != "u"))) - 1)


def masked(x: Text, v: str, t: str) -> str:
    dims, n = x.c.dims, len(x.c.dims)
    last = x.emit("s32", dims, f"iota(), iota_dimension={n - 1}")
    if x.c.mask == "given":
        p = x.emit("pred", dims, "parameter(1)")
    else:
        other = x.emit("s32", dims, f"iota(), iota_dimension={n - 2}") if x.c.mask == "causal" else x.constant("s32", str(dims[-1] * 3 // 4 + 1), dims)
        p = x.emit("pred", dims, f"compare({last}, {other}), direction={'LE' if x.c.mask == 'causal' else 'LT'}")
    return x.emit(t, dims, f"select({p}, {v}, {x.constant(t, '-1e4' if t in FLOATS else lowest(t), dims)})")


def term(x: Text, s: Step, v: str, t: str) -> str:
    dims = x.c.dims
    if s.term == "square":
        return x.emit(t, dims, f"multiply({v}, {v})")
    if s.term == "times":
        return x.emit(t, dims, f"multiply({v}, v0)") if x.type_of["v0"] == t else v
    if s.term == "exp" and t in FLOATS:
        return x.emit(t, dims, f"exponential({v})")
    return x.emit(t, dims, f"abs({v})") if s.term == "abs" and t[0] != "u" else v


def reduced(x: Text, s: Step, v: str, t: str) -> Tuple[str, str]:
    """The result, and its type."""
    dims = x.c.dims
    kept = tuple(d for k, d in enumerate(dims) if k not in s.reduced)
    over = f"dimensions={{{','.join(map(str, s.reduced))}}}"
    if s.op == "argmax":
        i = x.emit("s32", dims, f"iota(), iota_dimension={s.reduced[-1]}")
        low, zero = x.constant(t, lowest(t), ()), x.constant("s32", "0", ())
        name = f"v{len(x.lines)}"
        x.lines.append(f"  {name} = ({x.shape(t, kept)}, {x.shape('s32', kept)}) reduce({v}, {i}, {low}, {zero}), {over}, to_apply={x.argmax(t)}")
        return x.emit("s32", kept, f"get-tuple-element({name}), index=1"), "s32"
    init = {"add": "0", "multiply": "1", "maximum": lowest(t), "minimum": highest(t)}[s.op]
    return x.emit(t, kept, f"reduce({v}, {x.constant(t, init, ())}), {over}, to_apply={x.body(s.op, t)}"), t


def spread(x: Text, s: Step, v: str, t: str, r: str, kept: Tuple[int, ...]) -> str:
    dims, n = x.c.dims, len(x.c.dims)
    r = x.to(r, t, kept)
    how = s.spread if t in FLOATS else {"divide": "multiply", "rsqrt": "subtract", "log": "maximum"}.get(s.spread, s.spread)
    if how in ("rsqrt", "log"):
        size, little = x.emit(t, kept, f"abs({r})"), x.constant(t, "0.001" if how == "rsqrt" else "1", kept)
        r = x.emit(t, kept, f"{how}({x.emit(t, kept, f'add({size}, {little})')})")
    over = ",".join(str(k) for k in range(n) if k not in s.reduced)
    b = x.emit(t, dims, f"broadcast({r}), dimensions={{{over}}}")
    if how == "select":
        p = x.emit("pred", dims, f"compare({v}, {b}), direction=GE")
        return x.emit(t, dims, f"select({p}, {v}, {x.constant(t, '0', dims)})")
    op = {"rsqrt": "multiply", "log": "subtract"}.get(how, how)
    return x.emit(t, dims, f"{op}({v}, {b})")


def text_of(c: Chain) -> str:
    x, dims = Text(c), c.dims
    parameters = [x.shape(c.type, dims)]
    v = x.emit(c.type, dims, "parameter(0)")
    if c.mask:
        parameters += [x.shape("pred", dims)] if c.mask == "given" else []
        v = masked(x, v, c.type)
    outputs: List[str] = []
    before: Optional[Tuple[str, str, Tuple[int, ...], Step]] = None
    for s in c.steps:
        kept = tuple(d for k, d in enumerate(dims) if k not in s.reduced)
        wide = s.sum_type or x.type_of[v]
        w = term(x, s, x.to(v, wide, dims), wide)
        if before:                              # the term needs the result of two steps before, too
            w = spread(x, before[3]._replace(spread="maximum"), w, wide, before[0], before[2])
        r, t = reduced(x, s, w, wide)
        outputs += [r] if s.side else []
        v = spread(x, s, x.to(v, wide, dims), wide, r, kept)
        before = (r, t, kept, s) if s.kept_on else None
    if c.scale:
        parameters.append(x.shape("f32", dims[-1:]))
        row = x.emit("f32", dims[-1:], f"parameter({len(parameters) - 1})")
        v = x.emit("f32", dims, f"multiply({x.to(v, 'f32', dims)}, {x.emit('f32', dims, f'broadcast({row}), dimensions={{{len(dims) - 1}}}')})")
    if c.pick:
        parameters.append(x.shape("s32", dims[:-1]))
        label = x.emit("s32", dims[:-1], f"parameter({len(parameters) - 1})")
        spread_label = x.emit("s32", dims, f"broadcast({label}), dimensions={{{','.join(map(str, range(len(dims) - 1)))}}}")
        i = x.emit("s32", dims, f"iota(), iota_dimension={len(dims) - 1}")
        p = x.emit("pred", dims, f"compare({i}, {spread_label}), direction=EQ")
        t = x.type_of[v]
        only = x.emit(t, dims, f"select({p}, {v}, {x.constant(t, '0', dims)})")
        outputs.append(x.emit(t, dims[:-1], f"reduce({only}, {x.constant(t, '0', ())}), dimensions={{{len(dims) - 1}}}, to_apply={x.body('add', t)}"))
    if c.out or not outputs:
        outputs.append(x.to(v, c.out or c.type, dims))
    shapes = {line.split(" = ")[0].strip(): line.split(" = ")[1].split(" ")[0] for line in x.lines}
    result = f"({', '.join(shapes[o] for o in outputs)})"
    entry = [f"  p{k} = {s} parameter({k})" for k, s in enumerate(parameters)]
    return "\n".join(["HloModule chain", "", *x.bodies.values(), "body {", *x.lines, f"  ROOT out = {result} tuple({', '.join(outputs)})", "}", "",
                      "ENTRY main {", *entry, f"  ROOT chain = {result} fusion({', '.join(f'p{k}' for k in range(len(parameters)))}), kind=kInput, calls=body",
                      "}", ""])
