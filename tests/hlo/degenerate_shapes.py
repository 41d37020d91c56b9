"""Every kind of operation where there is little or nothing to do: arrays of no element and of one, dimensions of 0 and of 1, results that nobody uses.

usage: degenerate_shapes.py WARPBURG [--targets sm_90,sm_75]        prints what fails, then `N passed, M failed`

Each text is one operation between an elementwise one before and one behind it, once with a result that is used and once where another operation's is: it runs
under `--check` as it is, and in a branch of a conditional. It fails where warpburg ends in another way than inside the bounds or by a reason (exit 3).
"""
from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Sequence, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
from warpburg_cli import Cli  # noqa: E402

SHAPES: Tuple[Tuple[int, ...], ...] = ((), (0,), (1,), (2,), (0, 3), (3, 0), (1, 1), (1, 3), (3, 1), (0, 0), (1, 0, 2))
COMPUTATIONS = """sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
less { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = pred[] compare(a, b), direction=LT }
more { a = f32[] parameter(0) b = f32[] parameter(1) c = f32[] parameter(2) d = f32[] parameter(3) ROOT e = pred[] compare(a, b), direction=GT }
pair { a = f32[] parameter(0) b = f32[] parameter(1) c = f32[] parameter(2) d = f32[] parameter(3)
  e = f32[] add(a, c) f = f32[] maximum(b, d) ROOT g = (f32[], f32[]) tuple(e, f) }
most { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = pred[] compare(a, b), direction=GE }
"""


def name(dims: Sequence[int]) -> str:
    return "x".join(map(str, dims)) or "number"


def of(dims: Sequence[int], t: str = "f32") -> str:
    return f"{t}[{','.join(map(str, dims))}]"


def listed(numbers: Sequence[int]) -> str:
    return "{" + ",".join(map(str, numbers)) + "}"


class Operation(NamedTuple):
    name: str
    dims: Tuple[int, ...]  # of its result r
    lines: List[str]       # of x and y, arrays of the shape, z, a number, and at, an s32


def operations(d: Tuple[int, ...]) -> Iterator[Operation]:
    """Those that take an array of these dimensions."""
    rank, last = len(d), len(d) - 1
    for op in ("add", "maximum", "divide"):
        yield Operation(op, d, [f"r = {of(d)} {op}(x, y)"])
    yield Operation("exponential", d, [f"r = {of(d)} exponential(x)"])
    yield Operation("select", d, [f"q = {of(d, 'pred')} compare(x, y), direction=LT", f"r = {of(d)} select(q, x, y)"])
    yield Operation("clamp", d, [f"r = {of(d)} clamp(x, y, x)"])
    yield Operation("reshape", (1, *d), [f"r = {of((1, *d))} reshape(x)"])
    yield Operation("broadcast", (2, *d, 1), [f"b = {of((2, *d))} broadcast(x), dimensions={listed(range(1, rank + 1))}", f"r = {of((2, *d, 1))} reshape(b)"])
    yield Operation("reduce_all", (), [f"r = f32[] reduce(x, z), dimensions={listed(range(rank))}, to_apply=sum"])
    zeros = ", ".join(["at"] * rank)
    yield Operation("dynamic_slice", d, [f"r = {of(d)} dynamic-slice({', '.join(filter(None, ('x', zeros)))}), dynamic_slice_sizes={listed(d)}"])
    yield Operation("dynamic_update_slice", d, [f"r = {of(d)} dynamic-update-slice({', '.join(filter(None, ('x', 'y', zeros)))})"])
    yield Operation("pad", tuple(n + 1 for n in d), [f"r = {of([n + 1 for n in d])} pad(x, z), padding={'x'.join(['1_0'] * rank) if rank else '{}'}"] if rank
                    else ["r = f32[] negate(x)"])
    whole = f"({of(d)}, {of(d)}, s32[])"
    yield Operation("while", d, ["o = s32[] constant(0)", f"c = {whole} tuple(x, y, o)",
                                 f"w = {whole} while(c), condition=again_{name(d)}, body=step_{name(d)}",
                                 f"r = {of(d)} get-tuple-element(w), index=0"])
    two = [f"c = ({of(d)}, {of(d)}) tuple(x, y)", "o = s32[] constant(0)", "up = pred[] compare(at, o), direction=GT"]
    yield Operation("conditional", d, [*two, f"v = ({of(d)}, {of(d)}) conditional(up, c, c), "
                                       f"true_computation=swap_{name(d)}, false_computation=both_{name(d)}", f"r = {of(d)} get-tuple-element(v), index=1"])
    yield Operation("call", d, [*two[:1], f"v = ({of(d)}, {of(d)}) call(c), to_apply=swap_{name(d)}", f"r = {of(d)} get-tuple-element(v), index=1"])
    yield Operation("reduce_all_2", (), [f"v = (f32[], f32[]) reduce(x, y, z, z), dimensions={listed(range(rank))}, to_apply=pair",
                                         "r = f32[] get-tuple-element(v), index=1"])
    if not rank:
        return
    yield Operation("iota", d, [f"r = {of(d)} iota(), iota_dimension={last}"])
    yield Operation("transpose", d[::-1], [f"r = {of(d[::-1])} transpose(x), dimensions={listed(range(rank - 1, -1, -1))}"])
    yield Operation("reverse", d, [f"r = {of(d)} reverse(x), dimensions={listed(range(rank))}"])
    yield Operation("slice_nothing", (*d[:-1], 0), [f"r = {of((*d[:-1], 0))} slice(x), slice={listed([f'[0:{n}]' for n in d[:-1]] + ['[0:0]'])}"])
    twice = (*d[:-1], 2 * d[-1])
    yield Operation("concatenate", twice, [f"r = {of(twice)} concatenate(x, y), dimensions={{{last}}}"])
    yield Operation("reduce", d[:-1], [f"r = {of(d[:-1])} reduce(x, z), dimensions={{{last}}}, to_apply=sum"])
    yield Operation("softmax", d, [f"s = {of(d[:-1])} reduce(x, z), dimensions={{{last}}}, to_apply=sum",
                                   f"b = {of(d)} broadcast(s), dimensions={listed(range(last))}", f"r = {of(d)} subtract(x, b)"])
    yield Operation("window", d, [f"r = {of(d)} reduce-window(x, z), window={{size={'x'.join(['1'] * last + ['3'])} "
                                  f"pad={'x'.join(['0_0'] * last + ['1_1'])}}}, to_apply=sum"])
    yield Operation("scan", d, [f"r = {of(d)} reduce-window(x, z), window={{size={'x'.join(['1'] * last + [str(max(d[-1], 1))])} "
                                f"pad={'x'.join(['0_0'] * last + [f'{max(d[-1], 1) - 1}_0'])}}}, to_apply=sum"])
    yield Operation("sort", d, [f"r = {of(d)} sort(x), dimensions={{{last}}}, to_apply=less"])
    for op, rest in (("sort", ["x", "y"]), ("reduce", ["x", "y", "z", "z"])):
        left, f = (d, "more") if op == "sort" else (d[:-1], "pair")
        yield Operation(f"{op}_2", left, [f"v = ({of(left)}, {of(left)}) {op}({', '.join(rest)}), dimensions={{{last}}}, to_apply={f}",
                                          f"r = {of(left)} get-tuple-element(v), index=1"])
    for op, size in (("window", 3), ("scan", max(d[-1], 1))):
        yield Operation(f"{op}_2", d, [f"v = ({of(d)}, {of(d)}) reduce-window(x, y, z, z), window={{size={'x'.join(['1'] * last + [str(size)])} "
                                       f"pad={'x'.join(['0_0'] * last + [f'{size - 1}_0'])}}}, to_apply=pair", f"r = {of(d)} get-tuple-element(v), index=1"])
    others = listed(range(1, rank))
    yield Operation("gather", (2, *d[1:]), [f"i = s32[2] broadcast(at), dimensions={{}}", f"r = {of((2, *d[1:]))} gather(x, i), offset_dims={others}, "
                    f"collapsed_slice_dims={{0}}, start_index_map={{0}}, index_vector_dim=1, slice_sizes={listed([1, *d[1:]])}"] if d[0] else
                    [f"r = {of((2, *d[1:]))} broadcast(z), dimensions={{}}"])
    yield Operation("gather_nothing", (0, *d[1:]), [f"i = s32[0] broadcast(at), dimensions={{}}", f"r = {of((0, *d[1:]))} gather(x, i), offset_dims={others}, "
                    f"collapsed_slice_dims={{0}}, start_index_map={{0}}, index_vector_dim=1, slice_sizes={listed([1, *d[1:]])}"] if d[0] else
                    [f"r = {of((0, *d[1:]))} broadcast(z), dimensions={{}}"])
    for n in (0, 1):
        yield Operation(f"scatter_{n}", d, [f"i = s32[{n}] broadcast(at), dimensions={{}}", f"u = {of((n, *d[1:]))} broadcast(z), dimensions={{}}",
                        f"r = {of(d)} scatter(x, i, u), update_window_dims={others}, inserted_window_dims={{0}}, scatter_dims_to_operand_dims={{0}}, "
                        "index_vector_dim=1, to_apply=sum"])
        yield Operation(f"scatter_{n}_2", d, [f"i = s32[{n}] broadcast(at), dimensions={{}}", f"u = {of((n, *d[1:]))} broadcast(z), dimensions={{}}",
                        f"v = ({of(d)}, {of(d)}) scatter(x, y, i, u, u), update_window_dims={others}, inserted_window_dims={{0}}, "
                        "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=pair", f"r = {of(d)} get-tuple-element(v), index=1"])
        yield Operation(f"scatter_whole_{n}", d, [f"i = s32[{n},{rank}] broadcast(at), dimensions={{}}", f"u = {of((n, *d))} broadcast(z), dimensions={{}}",
                        f"r = {of(d)} scatter(x, i, u), update_window_dims={listed(range(1, rank + 1))}, inserted_window_dims={{}}, "
                        f"scatter_dims_to_operand_dims={listed(range(rank))}, index_vector_dim=1, to_apply=sum"])
    if rank == 2:
        yield Operation("dot", (d[0], d[0]), [f"r = {of((d[0], d[0]))} dot(x, y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}"])
        yield Operation("select_and_scatter", d, [f"r = {of(d)} select-and-scatter(x, y, z), window={{size=1x1}}, select=most, scatter=sum"])


def of_shape(d: Tuple[int, ...]) -> str:
    """Computations on tuples of arrays of the shape."""
    x, pair, whole = of(d), f"({of(d)}, {of(d)})", f"({of(d)}, {of(d)}, s32[])"
    parts = f"a = {x} get-tuple-element(t), index=0 b = {x} get-tuple-element(t), index=1"
    return "".join(f"{head}_{name(d)} {{ t = {of_t} parameter(0) {text} }}\n" for head, of_t, text in (
        ("swap", pair, f"{parts} ROOT r = {pair} tuple(b, a)"), ("both", pair, f"{parts} s = {x} add(a, b) ROOT r = {pair} tuple(s, s)"),
        ("again", whole, "k = s32[] get-tuple-element(t), index=2 n = s32[] constant(3) ROOT r = pred[] compare(k, n), direction=LT"),
        ("step", whole, f"{parts} k = s32[] get-tuple-element(t), index=2 n = s32[] constant(1) m = s32[] add(k, n) s = {x} subtract(a, b) "
         f"ROOT r = {whole} tuple(b, s, m)")))


def texts(o: Operation, d: Tuple[int, ...]) -> Dict[str, str]:
    body = [f"x = {of(d)} negate(p)", f"y = {of(d)} abs(p)", "z = f32[] constant(0)", *o.lines, f"ROOT e = {of(o.dims)} negate(r)"]
    unused = [f"{body[-1][5:]}", f"ROOT n = {of(d)} tanh(x)"]
    at = ["at = s32[] parameter(1)"]
    head, result = f"HloModule m\n{COMPUTATIONS}{of_shape(d)}", of(o.dims)

    def lines(*words: str) -> str:
        return "".join(f"  {w}\n" for w in words)

    branch = lines(f"t = ({of(d)}, s32[]) parameter(0)", f"p = {of(d)} get-tuple-element(t), index=0", "at = s32[] get-tuple-element(t), index=1", *body)
    other = lines(f"t = ({of(d)}, s32[]) parameter(0)", "z = f32[] constant(1)", f"ROOT b = {result} broadcast(z), dimensions={{}}")
    entry = lines(f"p = {of(d)} parameter(0)", *at, "zero = s32[] constant(0)", "on = pred[] compare(at, zero), direction=GE",
                  f"t = ({of(d)}, s32[]) tuple(p, at)", f"ROOT c = {result} conditional(on, t, t), true_computation=yes, false_computation=no")
    return {"used": head + "ENTRY e {\n" + lines(f"p = {of(d)} parameter(0)", *at, *body) + "}\n",
            "unused": head + "ENTRY e {\n" + lines(f"p = {of(d)} parameter(0)", *at, *body[:-1], *unused) + "}\n",
            "branch": f"{head}yes {{\n{branch}}}\nno {{\n{other}}}\nENTRY e {{\n{entry}}}\n"}


def main() -> int:
    p = argparse.ArgumentParser(description="operations with little or nothing to do")
    p.add_argument("warpburg")
    p.add_argument("--targets", default="sm_90")
    p.add_argument("--folder", help="texts stay here")
    o = p.parse_args()
    cli = Cli(o.warpburg, timeout=60)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(o.folder or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        files: List[Path] = []
        for d in SHAPES:
            for operation in operations(d):
                for way, text in texts(operation, d).items():
                    files.append(folder / f"{operation.name}_{name(d)}_{way}.hlo")
                    files[-1].write_text(text, encoding="utf-8")
        jobs = [(f, t) for k, f in enumerate(files) for t in o.targets.split(",")]

        def wrong(job: Tuple[Path, str]) -> str:
            q = cli.call("run", str(job[0]), "--check", "--target", job[1], "-j", "1")
            return "" if q.returncode in (0, 3) else f"{job[0].name} {job[1]}: exit {q.returncode}: {(q.stdout + q.stderr).strip()[-250:]}"

        said = [why for why in cli.each(wrong, jobs) if why]
    print("\n".join(said))
    print(f"{len(jobs) - len(said)} passed, {len(said)} failed")
    return int(bool(said))


if __name__ == "__main__":
    sys.exit(main())
