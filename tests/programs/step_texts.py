"""Texts of modules in which the result of one kind of operation is what the next one works on: for step_order.py.

    print(Case(("sort", "scatter"), ("operand",), also=False, donated=True, number=1).text(fused=False))

KINDS says in which roles an earlier result may stand in each kind. What else an operation needs is a parameter, one that another operation reads, too, or
an earlier result. Arrays are small, but for some that are long enough for kernels of their own, and of integers, whose results are exact in any order; some
are of f32. Every text follows from its kinds, its roles and its number.
"""
import itertools
from math import prod
from typing import Callable, Dict, Iterator, List, NamedTuple, Sequence, Tuple

Dims = Tuple[int, ...]


class Value(NamedTuple):
    name: str
    type: str
    dims: Dims

    @property
    def shape(self) -> str:
        return f"{self.type}[{','.join(map(str, self.dims))}]"


class Text:
    """A module under construction. `number` decides what the text leaves open, one choice after the other."""

    def __init__(self, number: int, type: str) -> None:
        self.number, self.type = number, type
        self.lines: List[str] = []
        self.computations: List[str] = []
        self.parameters: List[Value] = []
        self.results: List[Value] = []
        self.names = itertools.count()

    def choice(self, n: int) -> int:
        self.number, k = divmod(self.number * 6364136223846793005 % 2**61 + 1442695040888963407, 2**33)
        return k % n

    def name(self, stem: str) -> str:
        return f"{stem}{next(self.names)}"

    def op(self, dims: Sequence[int], text: str, type: str = "") -> Value:
        v = Value(self.name("v"), type or self.type, tuple(dims))
        self.lines.append(f"  {v.name} = {v.shape} {text}")
        return v

    def parameter(self, dims: Sequence[int], type: str = "") -> Value:
        v = Value(self.name("p"), type or self.type, tuple(dims))
        self.parameters.append(v)
        return v

    def other(self, dims: Sequence[int]) -> Value:
        """What else an operation needs: an array that stands already, or one of its own."""
        fit = [v for v in self.results + self.parameters if v.dims == tuple(dims) and v.type == self.type]
        return fit[self.choice(len(fit))] if fit and self.choice(3) else self.parameter(dims)

    def constant(self, value: int, type: str = "") -> Value:
        return self.op((), f"constant({value})", type)

    def splat(self, dims: Sequence[int], value: int, type: str = "") -> Value:
        return self.op(dims, f"broadcast({self.constant(value, type).name}), dimensions={{}}", type)

    def scalar(self, v: Value) -> Value:
        """The first element of an array."""
        one = self.op((1,) * len(v.dims), f"slice({v.name}), slice={{{', '.join('[0:1]' for _ in v.dims)}}}", v.type)
        return self.op((), f"reshape({one.name})", v.type)

    def below(self, v: Value, n: int) -> Value:
        """Numbers under a power of two, of an array of integers."""
        return self.op(v.dims, f"and({v.name}, {self.splat(v.dims, n - 1).name if v.dims else self.constant(n - 1).name})")

    def flat(self, v: Value, rank: int) -> Value:
        """The same elements in so many dimensions at most, at least one."""
        if 1 <= len(v.dims) <= rank:
            return v
        dims = v.dims[:rank - 1] + (prod(v.dims[rank - 1:]),)
        return self.op(dims, f"reshape({v.name})", v.type)

    def computation(self, stem: str, text: str) -> str:
        name = self.name(stem)
        self.computations.append(f"{name} {{\n{text}}}\n")
        return name

    def binary(self, op: str) -> str:
        t = self.type
        return self.computation(op, f"  a = {t}[] parameter(0)\n  b = {t}[] parameter(1)\n  ROOT c = {t}[] {op}(a, b)\n")

    def combiner(self) -> str:
        return self.binary(("add", "add", "maximum", "minimum")[self.choice(4)])

    def in_loop(self) -> None:
        """What stands so far becomes the body of a loop, which leaves the results and adds an element of the last one to the first parameter."""
        first, got, own = self.parameters[0], [Value(self.name("r"), v.type, v.dims) for v in self.results], self.computations
        last = self.op(first.dims, f"broadcast({self.scalar(self.flat(self.results[-1], 2)).name}), dimensions={{}}")
        following = self.op(first.dims, f"add({first.name}, {last.name})")
        body, before = self.lines, self.parameters + self.results
        self.lines, self.computations = [], []
        start = [*self.parameters, *(self.splat(v.dims, 0) if v.dims else self.constant(0) for v in self.results)]

        def lines(names: List[str]) -> Tuple[List[str], List[str]]:
            named = [f"{p.name} = {p.shape} bitcast({n})" for p, n in zip(self.parameters, names[1:])]
            return named + [line.strip() for line in body], [following.name, *(v.name for v in before[1:])]

        w = while_(self, start, lines)
        self.computations = own + self.computations
        self.results = [self.op(v.dims, f"get-tuple-element({w}), index={k + 1 + len(self.parameters)}") for k, v in enumerate(got)]
        self.results.append(self.op(first.dims, f"get-tuple-element({w}), index=1"))

    def written(self, donated: bool, fused: bool) -> str:
        root = f"({', '.join(v.shape for v in self.results)})"
        alias = ""
        for k, v in enumerate(self.results):
            fit = [n for n, p in enumerate(self.parameters) if p.dims == v.dims and p.type == v.type]
            if donated and fit and not alias:
                alias = f", input_output_alias={{ {{{k}}}: ({fit[0]}, {{}}, may-alias) }}"
        heads = [f"  {p.name} = {p.shape} parameter({n})" for n, p in enumerate(self.parameters)]
        end = f"  ROOT results = {root} tuple({', '.join(v.name for v in self.results)})"
        main = "\n".join(heads + self.lines + [end])
        head = f"HloModule m{alias}\n\n" + "".join(self.computations)
        if not fused:
            return f"{head}ENTRY main {{\n{main}\n}}\n"
        call = f"  ROOT f = {root} fusion({', '.join(p.name for p in self.parameters)}), kind=kLoop, calls=fused"
        return f"{head}fused {{\n{main}\n}}\nENTRY main {{\n" + "\n".join(heads + [call]) + "\n}\n"


# --- the kinds: each takes an earlier result in a role, and returns its own -------------------------------------------
def loop(t: Text, v: Value, role: str) -> Value:
    if role == "predicate":
        p = t.op(v.dims, f"compare({v.name}, {t.splat(v.dims, 2).name}), direction=LT", "pred")
        return t.op(v.dims, f"select({p.name}, {t.other(v.dims).name}, {t.splat(v.dims, 7).name})")
    return t.op(v.dims, f"{('add', 'multiply', 'maximum')[t.choice(3)]}({v.name}, {t.other(v.dims).name})")


def of_init(t: Text, v: Value, role: str) -> Tuple[Value, Value]:
    """Terms and initial value of a fold."""
    if role == "init":
        return t.other(((6, 5), (900,))[t.choice(2)]), t.scalar(v)
    return v, t.constant(t.choice(2))


def reduce(t: Text, v: Value, role: str) -> Value:
    x, init = of_init(t, v, role)
    over = t.choice(len(x.dims))
    return t.op(x.dims[:over] + x.dims[over + 1:], f"reduce({x.name}, {init.name}), dimensions={{{over}}}, to_apply={t.combiner()}")


def windowed(t: Text, v: Value, role: str, scan: bool) -> Value:
    x, init = of_init(t, v, role)
    over = t.choice(len(x.dims))
    size = x.dims[over] if scan else min(3, x.dims[over])
    sizes = "x".join(str(size if d == over else 1) for d in range(len(x.dims)))
    pads = "x".join(f"{size - 1}_0" if d == over else "0_0" for d in range(len(x.dims)))
    return t.op(x.dims, f"reduce-window({x.name}, {init.name}), window={{size={sizes} pad={pads}}}, to_apply={t.combiner()}")


def scan(t: Text, v: Value, role: str) -> Value:
    return windowed(t, v, role, True)


def window(t: Text, v: Value, role: str) -> Value:
    return windowed(t, v, role, False)


def sort(t: Text, v: Value, role: str) -> Value:
    k, n = t.choice(len(v.dims)), t.type
    if role == "operand":
        c = t.computation("less", f"  a = {n}[] parameter(0)\n  b = {n}[] parameter(1)\n  ROOT c = pred[] compare(a, b), direction=LT\n")
        return t.op(v.dims, f"sort({v.name}), dimensions={{{k}}}, to_apply={c}")
    c = t.computation("first", f"  a = {n}[] parameter(0)\n  b = {n}[] parameter(1)\n  x = {n}[] parameter(2)\n  y = {n}[] parameter(3)\n"
                               "  ROOT c = pred[] compare(a, b), direction=LT\n")
    w, shapes = t.name("w"), f"({v.shape}, {v.shape})"
    t.lines.append(f"  {w} = {shapes} sort({t.other(v.dims).name}, {v.name}), dimensions={{{k}}}, is_stable=true, to_apply={c}")
    return t.op(v.dims, f"get-tuple-element({w}), index=1")


def rows_at(t: Text, v: Value, role: str) -> Tuple[Value, Value]:
    """An array of rows, and indices of some of these."""
    if role == "index":
        return t.other((8, 3) if t.choice(2) else (16,)), t.below(t.flat(v, 1), 16)
    return v, t.parameter((4,), "s32")


def scatter(t: Text, v: Value, role: str) -> Value:
    if role == "update":
        x, at = t.other((9,) + v.dims[1:]), t.parameter((v.dims[0],), "s32")
        new = v
    else:
        x, at = rows_at(t, v, role)
        new = t.other(at.dims + x.dims[1:])
    by = t.combiner() if t.choice(3) else t.binary("multiply")
    window_dims = ",".join(str(k) for k in range(1, len(x.dims)))
    return t.op(x.dims, f"scatter({x.name}, {at.name}, {new.name}), update_window_dims={{{window_dims}}}, inserted_window_dims={{0}}, "
                        f"scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply={by}")


def gather(t: Text, v: Value, role: str) -> Value:
    x, at = rows_at(t, v, role)
    window_dims = ",".join(str(k) for k in range(1, len(x.dims)))
    return t.op(at.dims + x.dims[1:], f"gather({x.name}, {at.name}), offset_dims={{{window_dims}}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, "
                                      f"index_vector_dim=1, slice_sizes={{{','.join(map(str, (1,) + x.dims[1:]))}}}")


def update(t: Text, v: Value, role: str) -> Value:
    zero = t.constant(0, "s32")
    if role == "update":
        x, new = t.other((v.dims[0] + 3,) + v.dims[1:]), v
    else:
        x = t.other((8, 3)) if role == "index" else v
        new = t.other(((x.dims[0] + 1) // 2,) + x.dims[1:])
    at = t.below(t.scalar(v), 8) if role == "index" else t.parameter((), "s32")
    starts = ", ".join([at.name] + [zero.name] * (len(x.dims) - 1))
    return t.op(x.dims, f"dynamic-update-slice({x.name}, {new.name}, {starts})")


def transpose(t: Text, v: Value, role: str) -> Value:
    x = v if len(v.dims) == 2 else t.op((2, v.dims[0] // 2) if v.dims[0] % 2 == 0 else (v.dims[0], 1), f"reshape({v.name})")
    return t.op(x.dims[::-1], f"transpose({x.name}), dimensions={{1,0}}")


STEPS = 4


def while_(t: Text, state: Sequence[Value], body: Callable[[List[str]], Tuple[List[str], List[str]]]) -> str:
    """A loop of STEPS iterations over a counter and this state. The body gets the names of the state, the counter first, and returns lines and names."""
    shapes = f"(s32[], {', '.join(v.shape for v in state)})"
    names = ["i"] + [f"x{k}" for k in range(len(state))]
    all_shapes = ["s32[]"] + [v.shape for v in state]
    gets = "".join(f"  {n} = {s} get-tuple-element(s), index={k}\n" for k, (n, s) in enumerate(zip(names, all_shapes)))
    lines, results = body(names)
    inner = t.computation("body", f"  s = {shapes} parameter(0)\n{gets}  one = s32[] constant(1)\n  zero = s32[] constant(0)\n  next = s32[] add(i, one)\n"
                          + "".join(f"  {line}\n" for line in lines) + f"  ROOT r = {shapes} tuple(next, {', '.join(results)})\n")
    test = t.computation("test", f"  s = {shapes} parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n  n = s32[] constant({STEPS})\n"
                                 "  ROOT c = pred[] compare(i, n), direction=LT\n")
    first, w = t.name("t"), t.name("w")
    t.lines.append(f"  {first} = {shapes} tuple({t.constant(0, 's32').name}, {', '.join(v.name for v in state)})")
    t.lines.append(f"  {w} = {shapes} while({first}), condition={test}, body={inner}")
    return w


def row_of(x: Value, name: str, row: Value) -> List[str]:
    """Lines of a body: row i of x."""
    starts = ", ".join(["i"] + ["zero"] * len(row.dims))
    sizes = ",".join(map(str, (1,) + row.dims))
    return [f"cut = {x.type}[{sizes}] dynamic-slice({name}, {starts}), dynamic_slice_sizes={{{sizes}}}", f"row = {row.shape} reshape(cut)"]


def stacks(t: Text, v: Value, role: str) -> Value:
    """Running sums of rows, each of which is kept."""
    if role == "init":
        carry, x = v, t.other((STEPS,) + v.dims)
    else:
        x = v if v.dims[0] >= STEPS else t.op((STEPS,) + v.dims, f"broadcast({v.name}), dimensions={{{','.join(str(k + 1) for k in range(len(v.dims)))}}}")
        carry = t.splat(x.dims[1:], 1) if x.dims[1:] else t.constant(1)
    kept = Value("", t.type, (STEPS,) + carry.dims)
    stack = x if role == "update" and x.dims == kept.dims else t.splat(kept.dims, 0)
    one = Value("", t.type, (1,) + carry.dims)
    starts = ", ".join(["i"] + ["zero"] * len(carry.dims))

    def body(names: List[str]) -> Tuple[List[str], List[str]]:
        return row_of(x, names[2], carry) + [f"sum = {carry.shape} add(x0, row)", f"flat = {one.shape} reshape(sum)",
                                             f"new = {kept.shape} dynamic-update-slice({names[3]}, flat, {starts})"], ["sum", names[2], "new"]

    w = while_(t, [carry, x, stack], body)
    return t.op(kept.dims, f"get-tuple-element({w}), index=3")


def folds(t: Text, v: Value, role: str) -> Value:
    """What a loop leaves in the end: of elements by themselves, or of rows."""
    if role == "init":
        x = t.other(v.dims)
        w = while_(t, [v, x], lambda n: ([f"twice = {v.shape} add({n[1]}, {n[1]})", f"sum = {v.shape} subtract(twice, {n[2]})"], ["sum", n[2]]))
        return t.op(v.dims, f"get-tuple-element({w}), index=1")
    if v.dims[0] < STEPS:
        return folds(t, v, "init")
    carry = t.splat(v.dims[1:], 1) if v.dims[1:] else t.constant(1)
    w = while_(t, [carry, v], lambda n: (row_of(v, n[2], carry) + [f"sum = {carry.shape} add({n[1]}, row)"], ["sum", n[2]]))
    return t.op(carry.dims, f"get-tuple-element({w}), index=1")


def conditional(t: Text, v: Value, role: str) -> Value:
    x = t.other((8, 3)) if role == "predicate" else v
    p = t.op((), f"compare({(t.scalar(v) if role == 'predicate' else t.parameter(())).name}, {t.constant(2).name}), direction=LT", "pred")
    ways = [t.computation("way", f"  x = {x.shape} parameter(0)\n  ROOT r = {x.shape} {op}(x{', x' if op == 'add' else ''})\n") for op in ("add", "negate")]
    return t.op(x.dims, f"conditional({p.name}, {x.name}, {x.name}), true_computation={ways[0]}, false_computation={ways[1]}")


def dot(t: Text, v: Value, role: str) -> Value:
    x = t.flat(v, 2)
    if role == "update":
        left = t.other((5, x.dims[0]))
        return t.op((5,) + x.dims[1:], f"dot({left.name}, {x.name}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}")
    return t.op(x.dims[:-1] + (5,), f"dot({x.name}, {t.other((x.dims[-1], 5)).name}), lhs_contracting_dims={{{len(x.dims) - 1}}}, rhs_contracting_dims={{0}}")


KINDS: Dict[str, Tuple[Callable[[Text, Value, str], Value], Tuple[str, ...]]] = {
    "loop": (loop, ("operand", "predicate")), "reduce": (reduce, ("operand", "init")), "scan": (scan, ("operand", "init")),
    "sort": (sort, ("operand", "update")), "scatter": (scatter, ("operand", "index", "update")), "update": (update, ("operand", "index", "update")),
    "transpose": (transpose, ("operand",)), "window": (window, ("operand", "init")), "gather": (gather, ("operand", "index")),
    "stacks": (stacks, ("operand", "init", "update")), "folds": (folds, ("operand", "init")), "conditional": (conditional, ("operand", "predicate")),
    "dot": (dot, ("operand", "update")),
}
FIRST = ((12,), (8, 6), (40,), (6, 5), (1000,), (3, 700), (700, 3))  # shapes that a first operation works on: the long ones have kernels of their own


class Case(NamedTuple):
    kinds: Tuple[str, ...]
    roles: Tuple[str, ...] # of the results of all kinds but the last, in the next one
    also: bool             # these results are results of the module, too
    donated: bool          # a result may have the memory of a parameter
    number: int

    @property
    def name(self) -> str:
        way = self.kinds[0] + "".join(f"-{r}-{k}" for r, k in zip(self.roles, self.kinds[1:]))
        return f"{way}{'-also' if self.also else ''}{'-donated' if self.donated else ''}"

    def text(self, fused: bool = False, looped: bool = False) -> str:
        number = int.from_bytes(self.name.encode()[-7:], "big") + 7919 * self.number
        floats = self.number % 5 == 4 and not {"index", "predicate"} & set(self.roles)
        t = Text(number, "f32" if floats else "s32")
        v = KINDS[self.kinds[0]][0](t, t.parameter(FIRST[t.choice(len(FIRST))]), "operand")
        for role, kind in zip(self.roles, self.kinds[1:]):
            v = t.flat(v, 2)
            if self.also:
                t.results.append(v)
            v = KINDS[kind][0](t, v, role)
        t.results.insert(t.choice(len(t.results) + 1), v)
        if looped:
            t.in_loop()
        return t.written(self.donated, fused)


def pairs() -> Iterator[Case]:
    """Every ordered pair in every role, with and without a second result, with and without memory given away."""
    number = itertools.count()
    for a, b in itertools.product(KINDS, repeat=2):
        for role, also, donated in itertools.product(KINDS[b][1], (False, True), (False, True)):
            yield Case((a, b), (role,), also, donated, next(number))


def triples() -> Iterator[Case]:
    """Every ordered triple; roles, and what else pairs have all of, take turns."""
    for n, (a, b, c) in enumerate(itertools.product(KINDS, repeat=3)):
        roles = (KINDS[b][1][n // 2 % len(KINDS[b][1])], KINDS[c][1][n // 3 % len(KINDS[c][1])])
        yield Case((a, b, c), roles, n % 3 == 1, n % 2 == 1, n)
