#!/usr/bin/env python3
"""Fusions that read rows again: softmax, norms, their gradients and their like, each as one kernel that computes what HLO allows.

    row_texts.py WARPBURG [--pairs N] [--only NAME] [--folder DIR]

Every text of TEXTS is compiled at every shape and, with N=28, at every type of it for each target it runs on, and must be one launch; long and few rows are
three, or two where numbers of rows are all that is asked; where columns are summed up, too, one for the rows and one for these sums. It runs under `run
--check` in N of the pairs of a target and a case of inputs, which rotate from one text to the next, and must store the same bits whether blocks and warps
run by their numbers or in turns that a seed decides. `--only` takes the texts whose names have NAME in them. What fails stays in DIR, if one is given. Ends
with `N passed, M failed`.
"""
import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import Callable, List, NamedTuple, Sequence, Tuple

sys.path[:0] = [str(Path(__file__).resolve().parents[n] / folder) for n, folder in ((1, "common"), (2, ""))]
from gen import load  # noqa: E402
from row_runs import launches, pairs_of, wrong_run  # noqa: E402
from shared_reductions import ARGMAX  # noqa: E402
from warpburg_cli import TARGETS, Cli  # noqa: E402

# Read in pieces, once for two results: a launch for the pieces, one for the rows, one for what needs these
LONG = "long_"
PICKED = "picked_"  # likewise, the last launch being the one for the rows, which alone needs the label's element
FEW = "few_"        # likewise, where no cluster holds them
ACROSS = "across_"  # with sums over the rows: the kernel of the rows leaves those of its own
SMALL = [t for t in TARGETS if load.load_target(t.replace("_", "")).values["sms"] < 32]  # eight SMs may be enough for a long row
LARGE = (LONG, PICKED, FEW, ACROSS)  # up to a million elements
ACROSS_REASON = "a kernel that reduces rows sums columns of its own rows, too"


class Value(NamedTuple):
    name: str
    type: str
    dims: Tuple[int, ...]

    def shape(self) -> str:
        return f"{self.type}[{','.join(map(str, self.dims))}]"


def listed(numbers: Sequence[int]) -> str:
    return "{" + ",".join(map(str, numbers)) + "}"


class Rows:
    """A fusion under construction: arithmetic in f32, arrays of `type` in memory."""

    def __init__(self, type: str, dims: Sequence[int], reduced: Sequence[int]) -> None:
        self.type, self.dims, self.reduced = type, tuple(dims), tuple(reduced)
        self.kept = tuple(d for d in range(len(dims)) if d not in reduced)
        self.rows = tuple(dims[d] for d in self.kept)
        self.count = 1
        for d in reduced:
            self.count *= dims[d]
        self.lines: List[str] = []
        self.parameters: List[Value] = []
        self.bodies: List[str] = []

    def emit(self, t: str, dims: Sequence[int], op: str) -> Value:
        v = Value(f"v{len(self.lines)}", t, tuple(dims))
        self.lines.append(f"  {v.name} = {v.shape()} {op}")
        return v

    def stored(self, t: str, dims: Sequence[int]) -> Value:
        """A parameter as it is in memory."""
        v = self.emit(t, dims, f"parameter({len(self.parameters)})")
        self.parameters.append(v)
        return v

    def input(self, dims: Sequence[int] = ()) -> Value:
        return self.to("f32", self.stored(self.type, dims or self.dims))

    def to(self, t: str, v: Value) -> Value:
        return v if v.type == t else self.emit(t, v.dims, f"convert({v.name})")

    def out(self, v: Value) -> Value:
        return self.to(self.type, v)

    def number(self, value: str, like: Value) -> Value:
        c = self.emit(like.type, (), f"constant({value})")
        return self.emit(like.type, like.dims, f"broadcast({c.name}), dimensions={{}}") if like.dims else c

    def __call__(self, op: str, *of: Value) -> Value:
        return self.emit(of[-1].type, of[-1].dims, f"{op}({', '.join(v.name for v in of)})")

    def compare(self, a: Value, b: Value, how: str) -> Value:
        return self.emit("pred", a.dims, f"compare({a.name}, {b.name}), direction={how}")

    def spread(self, v: Value, over: Sequence[int] = ()) -> Value:
        """A result of each row, or an array along the dimensions `over`, at every element."""
        return self.emit(v.type, self.dims, f"broadcast({v.name}), dimensions={listed(over or self.kept)}")

    def index(self, dimension: int) -> Value:
        return self.emit("s32", self.dims, f"iota(), iota_dimension={dimension}")

    def reduce(self, op: str, v: Value, over: Sequence[int] = ()) -> Value:
        """Over the reduced dimensions, or those of `over`."""
        t, body = v.type, f"{op}_{v.type}"
        text = f"{body} {{\n  a = {t}[] parameter(0)\n  b = {t}[] parameter(1)\n  ROOT c = {t}[] {op}(a, b)\n}}\n"
        self.bodies += [] if text in self.bodies else [text]
        start = self.emit(t, (), f"constant({'0' if op == 'add' else '-inf'})")
        over = over or self.reduced
        left = [self.dims[d] for d in range(len(self.dims)) if d not in over]
        return self.emit(t, left, f"reduce({v.name}, {start.name}), dimensions={listed(over)}, to_apply={body}")

    def sum(self, v: Value) -> Value:
        return self.reduce("add", v)

    def mean(self, v: Value) -> Value:
        s = self.sum(v)
        return self("multiply", s, self.number(repr(1 / self.count), s))

    def argmax(self, v: Value) -> Value:
        self.bodies.append(ARGMAX.format(t=v.type))
        n, low, zero = self.index(self.reduced[0]), self.emit(v.type, (), "constant(-inf)"), self.emit("s32", (), "constant(0)")
        shapes = ", ".join(Value("", t, self.rows).shape() for t in (v.type, "s32"))
        pair = f"v{len(self.lines)}"
        self.lines.append(f"  {pair} = ({shapes}) reduce({v.name}, {n.name}, {low.name}, {zero.name}), dimensions={listed(self.reduced)}, to_apply=c")
        return self.emit("s32", self.rows, f"get-tuple-element({pair}), index=1")

    def text(self, outputs: Sequence[Value]) -> str:
        result = f"({', '.join(v.shape() for v in outputs)})"
        entry = [f"  p{k} = {v.shape()} parameter({k})" for k, v in enumerate(self.parameters)]
        return "\n".join(["HloModule rows", "", *self.bodies, "body {", *self.lines, f"  ROOT out = {result} tuple({', '.join(v.name for v in outputs)})",
                          "}", "", "ENTRY main {", *entry,
                          f"  ROOT r = {result} fusion({', '.join(f'p{k}' for k in range(len(entry)))}), kind=kInput, calls=body", "}", ""])


Outputs = List[Value]


def shifted(b: Rows, x: Value) -> Value:
    return b("subtract", x, b.spread(b.reduce("maximum", x)))


def shares(b: Rows, x: Value) -> Value:
    e = b("exponential", shifted(b, x))
    return b("divide", e, b.spread(b.sum(e)))


def one_hot(b: Rows, label: Value) -> Value:
    return b.compare(b.index(b.reduced[0]), b.spread(label), "EQ")


def softmax(b: Rows) -> Outputs:
    return [b.out(shares(b, b.input()))]


def softmax_grad(b: Rows) -> Outputs:
    y, dy = b.input(), b.input()
    return [b.out(b("multiply", y, b("subtract", dy, b.spread(b.sum(b("multiply", y, dy))))))]


def log_softmax(b: Rows) -> Outputs:
    s = shifted(b, b.input())
    return [b.out(b("subtract", s, b.spread(b("log", b.sum(b("exponential", s))))))]


def log_softmax_grad(b: Rows) -> Outputs:
    x, dy = b.input(), b.input()
    return [b.out(b("subtract", dy, b("multiply", shares(b, x), b.spread(b.sum(dy)))))]


def cross_entropy(b: Rows) -> Outputs:
    x, label = b.input(), b.stored("s32", b.rows)
    s = shifted(b, x)
    at_label = b.sum(b("select", one_hot(b, label), s, b.number("0", s)))
    return [b("subtract", b("log", b.sum(b("exponential", s))), at_label)]


def cross_entropy_grad(b: Rows) -> Outputs:
    x, label, g = b.input(), b.stored("s32", b.rows), b.input(b.rows)
    p = shares(b, x)
    return [b.out(b("multiply", b("subtract", p, b.to("f32", one_hot(b, label))), b.spread(g)))]


def normal(b: Rows, x: Value) -> Tuple[Value, Value, Value]:
    """The norm of x, and its mean and the reciprocal of its deviation."""
    mean = b.mean(x)
    d = b("subtract", x, b.spread(mean))
    variance = b.mean(b("multiply", d, d))
    r = b("rsqrt", b("add", variance, b.number("1e-5", variance)))
    return b("multiply", d, b.spread(r)), mean, r


def scaled(b: Rows, v: Value, over: Sequence[int]) -> Value:
    """With a factor and a term for each index of the dimensions `over`."""
    dims = [b.dims[d] for d in over]
    return b("add", b("multiply", v, b.spread(b.input(dims), over)), b.spread(b.input(dims), over))


def layer_norm(b: Rows) -> Outputs:
    y, mean, r = normal(b, b.input())
    return [b.out(scaled(b, y, b.reduced)), mean, r]


def layer_norm_grad(b: Rows) -> Outputs:
    x, dy = b.input(), b.input()
    g = b("multiply", dy, b.spread(b.input([b.dims[d] for d in b.reduced]), b.reduced))
    y, _, r = normal(b, x)
    rest = b("add", b.spread(b.mean(g)), b("multiply", y, b.spread(b.mean(b("multiply", g, y)))))
    return [b.out(b("multiply", b("subtract", g, rest), b.spread(r)))]


def norm_grads(b: Rows) -> Outputs:
    """With those of the factor and of the term of each column, and the mean of each row."""
    x, dy = b.input(), b.input()
    g = b("multiply", dy, b.spread(b.input([b.dims[d] for d in b.reduced]), b.reduced))
    y, mean, r = normal(b, x)
    rest = b("add", b.spread(b.mean(g)), b("multiply", y, b.spread(b.mean(b("multiply", g, y)))))
    dx = b.out(b("multiply", b("subtract", g, rest), b.spread(r)))
    return [b.out(b.reduce("add", b("multiply", dy, y), b.kept)), dx, mean, b.reduce("add", dy, b.kept)]


def softmax_and_columns(b: Rows) -> Outputs:
    """Sums of columns in the type of memory, of which one sum would round the other's partial results."""
    y = shares(b, b.input())
    return [b.out(y), b.reduce("add", b.out(y), b.kept), b.reduce("maximum", y)]


def rms_norm(b: Rows) -> Outputs:
    x = b.input()
    m = b.mean(b("multiply", x, x))
    r = b("rsqrt", b("add", m, b.number("1e-6", m)))
    return [b.out(b("multiply", b("multiply", x, b.spread(r)), b.spread(b.input([b.dims[d] for d in b.reduced]), b.reduced)))]


def group_norm(b: Rows) -> Outputs:
    """[batch, pixels, groups, channels of a group]: over pixels and channels."""
    return [b.out(scaled(b, normal(b, b.input())[0], (2, 3)))]


def batch_norm(b: Rows) -> Outputs:
    """[batch, channels, pixels]: over batch and pixels."""
    y, mean, r = normal(b, b.input())
    return [b.out(scaled(b, y, b.kept)), mean, r]


def moments_one_pass(b: Rows) -> Outputs:
    x = b.input()
    mean, square = b.mean(x), b.mean(b("multiply", x, x))
    variance = b("subtract", square, b("multiply", mean, mean))
    return [mean, b("maximum", variance, b.number("0", variance))]


def moments_two_pass(b: Rows) -> Outputs:
    x = b.input()
    mean = b.mean(x)
    d = b("subtract", x, b.spread(mean))
    return [mean, b.mean(b("multiply", d, d))]


def masked_scores(b: Rows) -> Outputs:
    """[heads, queries, keys]: keys up to the query, and those that a mask of the keys lets through."""
    x = b.input()
    x = b("multiply", x, b.number("0.125", x))
    allowed = b("and", b.compare(b.index(2), b.index(1), "LE"), b.spread(b.stored("pred", b.dims[2:]), (2,)))
    return [b.out(shares(b, b("select", allowed, x, b.number("-1e9", x))))]


def quantise(b: Rows) -> Outputs:
    x = b.input()
    most = b.reduce("maximum", b("abs", x))
    scale = b("divide", b("maximum", most, b.number("1e-6", most)), b.number("127", most))
    q = b("round-nearest-even", b("divide", x, b.spread(scale)))
    return [b.to("s8", b("clamp", b.number("-127", q), q, b.number("127", q))), scale]


def l2_normalise(b: Rows) -> Outputs:
    x = b.input()
    s = b.sum(b("multiply", x, x))
    return [b.out(b("divide", x, b.spread(b("sqrt", b("maximum", s, b.number("1e-12", s))))))]


def logsumexp_pick(b: Rows) -> Outputs:
    """The label's element is gathered from the row, not selected."""
    n = b.rows[0]
    x, label = b.input(), b.stored("s32", (n, 1))
    row = b.emit("s32", (n, 1), "iota(), iota_dimension=0")
    where = b.emit("s32", (n, 2), f"concatenate({row.name}, {label.name}), dimensions={{1}}")
    at_label = b.emit("f32", (n,), f"gather({x.name}, {where.name}), offset_dims={{}}, collapsed_slice_dims={{0,1}}, start_index_map={{0,1}}, "
                      "index_vector_dim=1, slice_sizes={1,1}")
    most = b.reduce("maximum", x)
    total = b.sum(b("exponential", b("subtract", x, b.spread(most))))
    return [b("subtract", b("add", b("log", total), most), at_label)]


def argmax_one_hot(b: Rows) -> Outputs:
    return [b.out(b.to("f32", one_hot(b, b.argmax(b.input()))))]


class Text(NamedTuple):
    make: Callable[[Rows], Outputs]
    shapes: Sequence[Tuple[int, ...]]
    reduced: Tuple[int, ...] = (1,)
    name: str = ""

    def called(self) -> str:
        return self.name or self.make.__name__


# rows shorter than a warp, of a prime number of elements, a little more than a power of two, and longer than a block has threads
ROWS = [(7, 33), (131, 17), (5, 997), (3, 4099)]
TEXTS = [
    *[Text(make, ROWS) for make in (softmax, softmax_grad, log_softmax, log_softmax_grad, cross_entropy, cross_entropy_grad, layer_norm, layer_norm_grad,
                                    rms_norm, moments_one_pass, moments_two_pass, quantise, l2_normalise, logsumexp_pick, argmax_one_hot)],
    Text(group_norm, [(3, 49, 5, 6), (2, 121, 4, 7), (1, 1, 3, 1)], (1, 3)),
    Text(batch_norm, [(5, 7, 49), (3, 17, 101), (13, 3, 1)], (0, 2)),
    Text(masked_scores, [(3, 13, 13), (2, 7, 131), (1, 5, 1031)], (2,)),
    Text(softmax, [(33, 7), (127, 65), (1009, 5), (2, 257)], (0,), "softmax_columns"),
    *[Text(make, [(1, 50257), (8, 50257)], (1,), FEW + make.__name__) for make in (softmax, log_softmax, cross_entropy_grad)],
    Text(layer_norm, [(1, 50257), (2, 32003)], (1,), FEW + "layer_norm"),
    Text(softmax, [(50257, 8)], (0,), FEW + "softmax_columns"),
    Text(batch_norm, [(257, 3, 2053)], (0, 2), LONG + "batch_norm"),
    Text(softmax, [(1, 1 << 20), (2, 524287)], (1,), LONG + "softmax"),
    Text(log_softmax, [(1, 3 << 18)], (1,), LONG + "log_softmax"),
    Text(layer_norm, [(1, 1 << 20)], (1,), LONG + "layer_norm"),
    Text(cross_entropy_grad, [(3, 5 * 50304)], (1,), LONG + "cross_entropy_grad"),
    Text(log_softmax_grad, [(1, 1 << 20)], (1,), LONG + "log_softmax_grad"),
    *[Text(make, [(1, 1 << 20)], (1,), PICKED + make.__name__) for make in (cross_entropy, logsumexp_pick)],
    Text(softmax, [(1 << 19, 3)], (0,), LONG + "softmax_columns"),
    Text(norm_grads, [(1890, 132), (5040, 132), (2520, 516)], (1,), ACROSS + "norm_grads"),
    Text(norm_grads, [(64, 63, 3, 20)], (2, 3), ACROSS + "norm_grads"),
    Text(softmax_and_columns, [(1890, 33), (5040, 33), (2520, 257)], (1,), ACROSS + "softmax"),
]
TYPES = ("f32", "bf16")


class Job(NamedTuple):
    name: str
    file: str
    target: str
    case: str
    seed: int


def wrong(cli: Cli, job: Job, folder: Path) -> str:
    n, why = launches(cli, job.file, job.target, folder / "bundle")
    if not why and job.name.startswith(ACROSS):
        if n != 2 or ACROSS_REASON not in cli.call("compile", job.file, "--target", job.target, "--emit", "plan").stdout:
            why = f"{n} launches, not one for rows and one for sums of theirs"
    elif not why:
        pieces = job.name.startswith(LONG) or (job.name.startswith(FEW) and int(job.target[3:]) < 90)
        held = job.name.startswith(LONG) and job.target in SMALL and n == 1
        why = "" if held or n == (3 if pieces else 2 if job.name.startswith(PICKED) else 1) else f"{n} launches"
    return why or wrong_run(cli, job.file, job.target, job.case, job.seed, folder)


def jobs_of(folder: Path, only: str, pairs: int) -> List[Job]:
    """Unless all pairs are run, a text at a shape has one type, which takes turns, and one of LARGE its first shape and one pair alone."""
    jobs: List[Job] = []
    every = not pairs
    kinds = [(text, shape) for text in TEXTS if only in text.called()
             for shape in (text.shapes if every or not text.called().startswith(LARGE) else text.shapes[:1])]
    made = [(*kind, t) for n, kind in enumerate(kinds) for t in (TYPES if every else [TYPES[n % len(TYPES)]])]
    for k, (text, shape, t) in enumerate(made):
        b = Rows(t, shape, text.reduced)
        name = f"{text.called()}_{t}_{'x'.join(map(str, shape))}"
        file = folder / f"{name}.hlo"
        file.write_text(b.text(text.make(b)), encoding="utf-8")
        n = 1 if name.startswith(LARGE) and not every else pairs
        jobs += [Job(name, str(file), target, case, k) for target, case in pairs_of(k, n)]
    return jobs


def main() -> int:
    p = argparse.ArgumentParser(description="fusions that read rows again, each as one kernel")
    p.add_argument("warpburg")
    p.add_argument("--pairs", type=int, default=3)
    p.add_argument("--only", default="")
    p.add_argument("--folder")
    o = p.parse_args()
    cli = Cli(os.path.abspath(o.warpburg))
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(o.folder or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        jobs = jobs_of(folder, o.only, o.pairs)

        def judge(job: Job) -> str:
            with tempfile.TemporaryDirectory(dir=scratch) as own:
                why = wrong(cli, job, Path(own))
            if why:
                print(f"failed: {job.name}, --target {job.target} --case {job.case} --seed {job.seed}: {why}", flush=True)
            return why

        said = cli.each(judge, jobs)
        failed = {job.name for job, why in zip(jobs, said) if why}
        for file in {job.file for job in jobs if job.name not in failed}:
            Path(file).unlink()
    bad = sum(map(bool, said))
    print(f"{len({job.name for job in jobs})} texts, {len(failed)} of which fail somewhere")
    print(f"{len(jobs) - bad} passed, {bad} failed")
    return int(bad > 0 or not jobs)


if __name__ == "__main__":
    sys.exit(main())
