"""Texts of random modules, each of which follows from its seed: for random_programs.py."""
import random
from math import prod
from typing import Dict, List, NamedTuple, Sequence, Tuple

FLOATS = ("f32", "bf16", "f16")
Dims = Tuple[int, ...]


class Value(NamedTuple):
    name: str
    type: str
    dims: Dims

    @property
    def shape(self) -> str:
        return f"{self.type}[{','.join(map(str, self.dims))}]"


def listed(xs: Sequence[object]) -> str:
    return "{" + ",".join(map(str, xs)) + "}"


class Module:
    """The text of one module, which follows from its seed."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.floats = seed % 2 == 0
        self.kinds = ("f32", "f32", "bf16", "f16") if self.floats else ("s32", "s32", "u32", "s8")
        self.sizes = self.r.sample((1, 2, 3, 4, 5, 7, 8, 16, 24, 33, 64), 3)
        self.computations: List[str] = []
        self.combiners: Dict[Tuple[str, str], str] = {}
        self.count = 0

    def name(self, stem: str) -> str:
        self.count += 1
        return f"{stem}.{self.count}"

    def computation(self, stem: str, *lines: str) -> str:
        name = self.name(stem)
        self.computations.append(f"{name} {{\n" + "".join(f"  {line}\n" for line in lines) + "}\n")
        return name

    def combiner(self, op: str, kind: str) -> str:
        key = (op, kind)
        if key not in self.combiners:
            self.combiners[key] = self.computation(op, f"a = {kind}[] parameter(0)", f"b = {kind}[] parameter(1)", f"ROOT c = {kind}[] {op}(a, b)")
        return self.combiners[key]

    def dims(self) -> Dims:
        return tuple(self.r.choice(self.sizes) for _ in range(self.r.choice((1, 1, 2, 2, 2, 3))))


class Graph:
    """The instructions of one computation; `values` can be used by what follows."""

    def __init__(self, made: Module) -> None:
        self.made, self.r = made, made.r
        self.lines: List[str] = []
        self.values: List[Value] = []

    def op(self, kind: str, dims: Sequence[int], text: str, kept: bool = True) -> Value:
        v = Value(self.made.name("v"), kind, tuple(dims))
        self.lines.append(f"  {v.name} = {v.shape} {text}")
        if kept:
            self.values.append(v)
        return v

    def scalar(self, kind: str, value: int) -> Value:
        return self.op(kind, (), f"constant({value})", kept=False)

    def splat(self, kind: str, dims: Dims, value: int) -> Value:
        s = self.scalar(kind, value)
        return self.op(kind, dims, f"broadcast({s.name}), dimensions={{}}", kept=False) if dims else s

    def pick(self, rank: int = 0) -> Value:
        """A value, of at least so many dimensions; late ones are more likely."""
        fit = [v for v in self.values if len(v.dims) >= rank]
        if not fit:
            k, dims = self.r.choice(self.made.kinds), tuple(self.r.choice(self.made.sizes) for _ in range(max(rank, 1)))
            return self.op(k, dims, f"iota(), iota_dimension={self.r.randrange(len(dims))}")
        return fit[max(self.r.randrange(len(fit)), self.r.randrange(len(fit)))]

    def like(self, x: Value) -> Value:
        """Another value of the shape of x: one that stands, or one that is broadcast, converted or made."""
        same = [v for v in self.values if v.dims == x.dims and v.name != x.name]
        if same and self.r.random() < 0.7:
            return self.converted(self.r.choice(same), x.type)
        parts = [(v, d) for v in self.values for d in self.places(v.dims, x.dims) if v.dims != x.dims]
        if parts and self.r.random() < 0.7:
            v, where = self.r.choice(parts)
            v = self.converted(v, x.type)
            return self.op(x.type, x.dims, f"broadcast({v.name}), dimensions={listed(where)}", kept=False)
        if x.dims and self.r.random() < 0.3:
            return self.op(x.type, x.dims, f"iota(), iota_dimension={self.r.randrange(len(x.dims))}", kept=False)
        return self.splat(x.type, x.dims, self.r.randint(1, 5))

    @staticmethod
    def places(dims: Dims, to: Dims) -> List[Dims]:
        """Where dimensions may go when broadcast: increasing positions of equal size."""
        found: List[Dims] = [()]
        for d in dims:
            found = [f + (k,) for f in found for k in range((f[-1] if f else -1) + 1, len(to)) if to[k] == d]
        return found

    def converted(self, v: Value, kind: str) -> Value:
        if v.type == kind:
            return v
        if v.type in FLOATS and kind not in FLOATS:
            v = self.op(v.type, v.dims, f"clamp({self.splat(v.type, v.dims, -100).name}, {v.name}, {self.splat(v.type, v.dims, 100).name})", kept=False)
        return self.op(kind, v.dims, f"convert({v.name})", kept=False)

    def index(self, below: int) -> Value:
        """A scalar that may lie outside 0..below."""
        r = self.r
        whole = [v for v in self.values if not v.dims and v.type == "s32"]
        if whole and r.random() < 0.5:
            return self.op("s32", (), f"and({r.choice(whole).name}, {self.scalar('s32', 15).name})", kept=False)
        return self.scalar("s32", r.randint(-1, below))

    # --- operations ---------------------------------------------------------------------------------------------------
    def elementwise(self) -> Value:
        x, r = self.pick(), self.r
        how = r.randrange(10)
        if how < 5:
            binary = ("add", "subtract", "multiply", "maximum", "minimum") + (() if self.made.floats else ("and", "xor", "or"))
            return self.op(x.type, x.dims, f"{r.choice(binary)}({x.name}, {self.like(x).name})" if x.type not in FLOATS else
                           f"{r.choice(binary[:5])}({x.name}, {self.like(x).name})")
        if how < 7:
            unary = ("negate", "tanh", "abs", "logistic", "sine", "cosine") if x.type in FLOATS else ("negate", "not", "popcnt")
            return self.op(x.type, x.dims, f"{r.choice(unary)}({x.name})")
        if how == 7:
            y = self.like(x)
            p = self.op("pred", x.dims, f"compare({x.name}, {y.name}), direction={r.choice(('LT', 'GE', 'EQ', 'NE'))}", kept=False)
            return self.op(x.type, x.dims, f"select({p.name}, {x.name}, {self.like(x).name})")
        if how == 8:
            y = self.converted(x, r.choice(self.made.kinds))
            self.values.append(y)
            return y
        return self.op(x.type, x.dims, f"clamp({self.splat(x.type, x.dims, 1).name}, {x.name}, {self.splat(x.type, x.dims, 3).name})")

    def reduction(self) -> Value:
        x, r = self.pick(1), self.r
        over = sorted(r.sample(range(len(x.dims)), r.randint(1, len(x.dims))))
        op, start = r.choice((("add", 0), ("maximum", 1), ("minimum", 2)))
        left = tuple(d for k, d in enumerate(x.dims) if k not in over)
        by = self.made.combiner(op, x.type)
        return self.op(x.type, left, f"reduce({x.name}, {self.scalar(x.type, start).name}), dimensions={listed(over)}, to_apply={by}")

    def softmax(self) -> Value:
        """Something that a row reduces, and that is spread over the row again."""
        x, r = self.pick(1), self.r
        k = r.randrange(len(x.dims))
        left, rest = x.dims[:k] + x.dims[k + 1:], [j for j in range(len(x.dims)) if j != k]
        op = r.choice(("add", "maximum"))
        s = self.op(x.type, left, f"reduce({x.name}, {self.scalar(x.type, 0).name}), dimensions={{{k}}}, to_apply={self.made.combiner(op, x.type)}")
        b = self.op(x.type, x.dims, f"broadcast({s.name}), dimensions={listed(rest)}", kept=False)
        return self.op(x.type, x.dims, f"subtract({x.name}, {b.name})")

    def moved(self) -> Value:
        x, r = self.pick(1), self.r
        n, rank = x.dims, len(x.dims)
        how = r.randrange(6)
        if how == 0:
            order = r.sample(range(rank), rank)
            return self.op(x.type, [n[k] for k in order], f"transpose({x.name}), dimensions={listed(order)}")
        if how == 1:
            flat = r.choice(((prod(n),), (1,) + n, n + (1,), n[1:] + n[:1]))
            return self.op(x.type, flat, f"reshape({x.name})")
        if how == 2:
            low = [r.randrange(d) for d in n]
            high = [r.randint(a + 1, d) for a, d in zip(low, n)]
            step = [r.choice((1, 1, 2)) for _ in n]
            text = ", ".join(f"[{a}:{b}:{s}]" for a, b, s in zip(low, high, step))
            return self.op(x.type, [-(-(b - a) // s) for a, b, s in zip(low, high, step)], f"slice({x.name}), slice={{{text}}}")
        if how == 3:
            edges = [(r.choice((0, 0, 1, 2)), r.choice((0, 0, 1)), r.choice((0, 0, 1))) for _ in n]
            return self.op(x.type, [a + b + d + (d - 1) * i for d, (a, b, i) in zip(n, edges)],
                           f"pad({x.name}, {self.scalar(x.type, 1).name}), padding={'x'.join(f'{a}_{b}_{i}' for a, b, i in edges)}")
        if how == 4:
            k, y = r.randrange(rank), self.like(x)
            out = n[:k] + (2 * n[k],) + n[k + 1:]
            return self.op(x.type, out, f"concatenate({x.name}, {y.name}), dimensions={{{k}}}")
        return self.op(x.type, n, f"reverse({x.name}), dimensions={listed(sorted(r.sample(range(rank), r.randint(1, rank))))}")

    def dynamic(self) -> Value:
        x, r = self.pick(1), self.r
        part = [r.randint(1, d) for d in x.dims]
        at = ", ".join(self.index(d).name for d in x.dims)
        y = self.op(x.type, part, f"dynamic-slice({x.name}, {at}), dynamic_slice_sizes={listed(part)}")
        if r.random() < 0.5:
            return y
        z = self.op(x.type, part, f"add({y.name}, {self.like(y).name})", kept=False)
        return self.op(x.type, x.dims, f"dynamic-update-slice({x.name}, {z.name}, {', '.join(self.index(d).name for d in x.dims)})")

    def rows(self) -> Value:
        """Takes rows by indices, or adds rows at indices."""
        x, r = self.pick(1), self.r
        k = r.choice(self.made.sizes)
        raw = self.op("s32", (k,), "iota(), iota_dimension=0", kept=False)
        given = [v for v in self.values if v.dims == (k,)]
        if given:
            raw = self.converted(r.choice(given), "s32")
        at = self.op("s32", (k,), f"and({raw.name}, {self.splat('s32', (k,), 7).name})", kept=False)
        rest = x.dims[1:]
        rows = self.op(x.type, (k,) + rest, f"gather({x.name}, {at.name}), offset_dims={listed(range(1, len(x.dims)))}, collapsed_slice_dims={{0}}, "
                       f"start_index_map={{0}}, index_vector_dim=1, slice_sizes={listed((1,) + rest)}")
        if r.random() < 0.6:
            return rows
        op = "add" if not self.made.floats else r.choice(("add", "maximum"))
        return self.op(x.type, x.dims, f"scatter({x.name}, {at.name}, {rows.name}), update_window_dims={listed(range(1, len(x.dims)))}, "
                       f"inserted_window_dims={{0}}, scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply={self.made.combiner(op, x.type)}")

    def scan(self) -> Value:
        x = self.pick(1)
        k = self.r.randrange(len(x.dims))
        sizes = "x".join(str(d) if j == k else "1" for j, d in enumerate(x.dims))
        edges = "x".join(f"{d - 1}_0" if j == k else "0_0" for j, d in enumerate(x.dims))
        text = f"{x.name}, {self.scalar(x.type, 0).name}), window={{size={sizes} pad={edges}}}"
        return self.op(x.type, x.dims, f"reduce-window({text}, to_apply={self.made.combiner('add', x.type)}")

    def sort(self) -> Value:
        x = self.pick(1)
        t = x.type
        c = self.made.computation("less", f"a = {t}[] parameter(0)", f"b = {t}[] parameter(1)", "ROOT l = pred[] compare(a, b), direction=LT")
        return self.op(x.type, x.dims, f"sort({x.name}), dimensions={{{self.r.randrange(len(x.dims))}}}, to_apply={c}")

    def pairs(self) -> Value:
        """Two results of one operation: rows sorted with where they stood, or the largest of a row and where it stands."""
        x, r = self.pick(1), self.r
        k = r.randrange(len(x.dims))
        at = self.op("s32", x.dims, f"iota(), iota_dimension={k}", kept=False)
        w, t = self.made.name("w"), x.type
        greater = "pred[] compare(a, b), direction=GT"
        if r.random() < 0.5:
            c = self.made.computation("pair", f"a = {t}[] parameter(0)", f"b = {t}[] parameter(1)", "i = s32[] parameter(2)", "j = s32[] parameter(3)",
                                      f"ROOT l = {greater}")
            dims, text = x.dims, f"sort({x.name}, {at.name}), dimensions={{{k}}}, is_stable=true, to_apply={c}"
        else:
            c = self.made.computation("pair", f"a = {t}[] parameter(0)", "i = s32[] parameter(1)", f"b = {t}[] parameter(2)", "j = s32[] parameter(3)",
                                      f"gt = {greater}", "eq = pred[] compare(a, b), direction=EQ", "lt = pred[] compare(i, j), direction=LT",
                                      "first = pred[] and(eq, lt)", "left = pred[] or(gt, first)", f"m = {t}[] select(left, a, b)",
                                      "n = s32[] select(left, i, j)", f"ROOT r = ({t}[], s32[]) tuple(m, n)")
            dims = x.dims[:k] + x.dims[k + 1:]
            none = self.scalar(t, -128 if t in ("s8", "s32", "f32", "bf16") else 0)
            text = f"reduce({x.name}, {at.name}, {none.name}, {self.scalar('s32', 0).name}), dimensions={{{k}}}, to_apply={c}"
        shapes = [Value(w, t, tuple(dims)).shape for t in (x.type, "s32")]
        self.lines.append(f"  {w} = ({', '.join(shapes)}) {text}")
        self.op(x.type, dims, f"get-tuple-element({w}), index=0")
        return self.op("s32", dims, f"get-tuple-element({w}), index=1")

    def window(self) -> Value:
        """The largest, or the sum, of windows."""
        x, r = self.pick(1), self.r
        size = [r.randint(1, min(d, 3)) for d in x.dims]
        step = [r.choice((1, 1, 2)) for _ in x.dims]
        edges = [(r.randint(0, n - 1), r.randint(0, n - 1)) for n in size]
        op, start = r.choice((("add", 0), ("maximum", 1)))
        out = [(d + a + b - n) // s + 1 for d, (a, b), n, s in zip(x.dims, edges, size, step)]
        text = f"size={'x'.join(map(str, size))} stride={'x'.join(map(str, step))} pad={'x'.join(f'{a}_{b}' for a, b in edges)}"
        return self.op(x.type, out, f"reduce-window({x.name}, {self.scalar(x.type, start).name}), window={{{text}}}, to_apply={self.made.combiner(op, x.type)}")

    def product(self) -> Value:
        x = self.pick(2)
        kind = "f32" if self.made.floats else "s32"
        a = self.converted(x, kind)
        fit = [v for v in self.values if len(v.dims) == 2 and v.dims[0] == x.dims[-1]]
        if fit:
            b = self.converted(self.r.choice(fit), kind)
        else:
            b = self.op(kind, (x.dims[-1], self.r.choice(self.made.sizes)), "iota(), iota_dimension=0", kept=False)
        return self.op(kind, x.dims[:-1] + b.dims[1:], f"dot({a.name}, {b.name}), lhs_contracting_dims={{{len(x.dims) - 1}}}, rhs_contracting_dims={{0}}")

    # --- computations inside ------------------------------------------------------------------------------------------
    def inner(self, inputs: Sequence[Value], length: int) -> "Graph":
        """A computation over a tuple of the inputs."""
        g = Graph(self.made)
        state = Value(self.made.name("s"), "", ())
        g.lines.append(f"  {state.name} = ({', '.join(v.shape for v in inputs)}) parameter(0)")
        for k, v in enumerate(inputs):
            g.op(v.type, v.dims, f"get-tuple-element({state.name}), index={k}")
        g.grow(length, depth=1)
        return g

    def close(self, g: "Graph", results: Sequence[Value], stem: str) -> str:
        """The name of a computation that returns a tuple of results."""
        root = f"ROOT {self.made.name('r')} = ({', '.join(v.shape for v in results)}) tuple({', '.join(v.name for v in results)})"
        return self.made.computation(stem, *(line.strip() for line in g.lines), root)

    def alike(self, shapes: Sequence[Value]) -> List[Value]:
        """Values of this computation with the shapes of others, computed last where they are not at hand."""
        found = []
        for s in shapes:
            fit = [v for v in self.values if v.dims == s.dims]
            found.append(self.converted(fit[-1], s.type) if fit and self.r.random() < 0.9 else self.splat(s.type, s.dims, 2))
        return found

    def tuple_of(self, values: Sequence[Value]) -> str:
        t = self.made.name("t")
        self.lines.append(f"  {t} = ({', '.join(v.shape for v in values)}) tuple({', '.join(v.name for v in values)})")
        return t

    def called(self) -> Value:
        """A loop, a branch or a call."""
        r = self.r
        inputs = [self.pick() for _ in range(r.randint(1, 3))]
        how = r.choice(("while", "while", "conditional", "call"))
        state = ", ".join(v.shape for v in inputs)
        if how == "while":
            inputs = [self.scalar("s32", 0) if r.random() < 0.7 else self.index(3)] + inputs  # the latter is not known before it runs
            state = ", ".join(v.shape for v in inputs)
            body, test = self.inner(inputs, r.randint(1, 5)), Graph(self.made)
            following = body.op("s32", (), f"add({body.values[0].name}, {body.scalar('s32', 1).name})", kept=False)
            results = [following] + [v if r.random() < 0.6 else body.values[k + 1] for k, v in enumerate(body.alike(inputs[1:]))]
            s = self.made.name("s")
            test.lines.append(f"  {s} = ({state}) parameter(0)")
            at = test.op("s32", (), f"get-tuple-element({s}), index=0")
            last = test.scalar("s32", r.choice((0, 1, 2, 3, 5)))
            root = f"ROOT {self.made.name('p')} = pred[] compare({at.name}, {last.name}), direction=LT"
            tested = self.made.computation("test", *(line.strip() for line in test.lines), root)
            text = f"while({self.tuple_of(inputs)}), condition={tested}, body={self.close(body, results, 'body')}"
        elif how == "call":
            g = self.inner(inputs, r.randint(1, 4))
            text = f"call({self.tuple_of(inputs)}), to_apply={self.close(g, g.alike(inputs), 'called')}"
        else:
            names = []
            for _ in range(r.randint(2, 3)):
                g = self.inner(inputs, r.randint(0, 4))
                names.append(self.close(g, g.alike(inputs), "branch"))
            operands = ", ".join(self.tuple_of(inputs) for _ in names)
            text = f"conditional({self.index(len(names)).name}, {operands}), branch_computations={{{', '.join(names)}}}"
        w = self.made.name("w")
        self.lines.append(f"  {w} = ({state}) {text}")
        got = [self.op(v.type, v.dims, f"get-tuple-element({w}), index={k}") for k, v in enumerate(inputs)]
        return got[-1]

    def grow(self, length: int, depth: int = 0) -> None:
        ways = {self.elementwise: 12, self.reduction: 4, self.softmax: 3, self.moved: 6, self.dynamic: 2, self.rows: 2, self.scan: 1, self.sort: 1,
                self.pairs: 2, self.window: 1, self.product: 2, self.called: 0.2 if depth else 1}
        while length > 0:
            self.r.choices(list(ways), list(ways.values()))[0]()
            length -= 1
            while self.values and prod(self.values[-1].dims) > 20000:
                self.values.pop()


def text_of(seed: int) -> str:
    """HLO text of a module; of integers where the seed is odd."""
    made = Module(seed)
    g, r = Graph(made), made.r
    for k in range(r.randint(1, 5)):
        g.op(r.choice(made.kinds), made.dims(), f"parameter({k})")
    if r.random() < 0.3:
        g.op("s32", (), f"parameter({len(g.values)})")
    inputs = list(g.values)
    g.grow(r.randint(8, 40))
    results = [r.choice(g.values) for _ in range(r.randint(0, 4))] + [g.values[-1]]
    alias = ""
    for out, v in enumerate(results):
        fit = [k for k, p in enumerate(inputs) if p.type == v.type and p.dims == v.dims]
        if fit and r.random() < 0.5:
            alias = f", input_output_alias={{ {{{out}}}: ({fit[0]}, {{}}, may-alias) }}"
            break
    root = f"  ROOT r = ({', '.join(v.shape for v in results)}) tuple({', '.join(v.name for v in results)})"
    return f"HloModule m{seed}{alias}\n\n" + "\n".join(made.computations) + "\nENTRY main {\n" + "\n".join(g.lines + [root]) + "\n}\n"
