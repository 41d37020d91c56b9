"""What a compile takes does not grow faster than the text: chains of each operation at two indices, in the entry, in a branch of a conditional, in
loops of 3 and of 300 iterations, through calls, and tuples and arrays of no elements in all of these; or the text is declined.

usage: compile_depth.py WARPBURG [--all]      prints a line for each place, then `N passed, M failed`

A chain of depth d has d links, each of which reads the one before at several indices. Counted is the code, not time: lines of PTX, where the text
compiles. A text fails where warpburg ends in another way than by exit 0 or a reason (exit 3), uses more than MOST_MEMORY or MOST_TIME, or makes more
than MOST_LINES lines of PTX for a line of text. --all has more depths, and more widths.
"""
from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Callable, Dict, Iterator, List, Tuple

MOST_MEMORY, MOST_TIME = 2 << 30, 30  # bytes of address space; seconds of the processor, of which LLVM takes most
MOST_LINES = 600  # a sort is 400

Links = Callable[[int, int], List[str]]


def shifted(k: int, n: int) -> List[str]:
    return [f"p{k} = f32[{n + 1}] pad(a{k}, z), padding=1_0", f"s{k} = f32[{n}] slice(p{k}), slice={{[0:{n}]}}", f"a{k + 1} = f32[{n}] add(s{k}, a{k})"]


def window(k: int, n: int) -> List[str]:
    return [f"a{k + 1} = f32[{n}] reduce-window(a{k}, z), window={{size=3 pad=1_1}}, to_apply=sum"]


def reverse(k: int, n: int) -> List[str]:
    return [f"r{k} = f32[{n}] reverse(a{k}), dimensions={{0}}", f"a{k + 1} = f32[{n}] add(r{k}, a{k})"]


def concatenate(k: int, n: int) -> List[str]:
    return [f"l{k} = f32[{n - 1}] slice(a{k}), slice={{[1:{n}]}}", f"h{k} = f32[1] slice(a{k}), slice={{[0:1]}}",
            f"c{k} = f32[{n}] concatenate(l{k}, h{k}), dimensions={{0}}", f"a{k + 1} = f32[{n}] add(c{k}, a{k})"]


def update(k: int, n: int) -> List[str]:
    return [f"l{k} = f32[1] slice(a{k}), slice={{[1:2]}}", f"i{k} = s32[] constant({k % n})",
            f"u{k} = f32[{n}] dynamic-update-slice(a{k}, l{k}, i{k})", f"a{k + 1} = f32[{n}] add(u{k}, a{k})"]


def dynamic(k: int, n: int) -> List[str]:
    return [f"v{k} = f32[1] slice(a{k}), slice={{[0:1]}}", f"w{k} = f32[] reshape(v{k})", f"x{k} = s32[] convert(w{k})",
            f"d{k} = f32[2] dynamic-slice(a{k}, x{k}), dynamic_slice_sizes={{2}}", f"e{k} = f32[{n - 2}] slice(a{k}), slice={{[2:{n}]}}",
            f"a{k + 1} = f32[{n}] concatenate(d{k}, e{k}), dimensions={{0}}"]


def gather(k: int, n: int) -> List[str]:
    return [f"x{k} = s32[{n}] convert(a{k})", f"g{k} = f32[{n}] gather(a{k}, x{k}), offset_dims={{}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, "
            f"index_vector_dim=1, slice_sizes={{1}}", f"a{k + 1} = f32[{n}] add(g{k}, a{k})"]


def reduction(k: int, n: int) -> List[str]:
    return [f"t{k} = f32[] reduce(a{k}, z), dimensions={{0}}, to_apply=sum", f"b{k} = f32[{n}] broadcast(t{k}), dimensions={{}}",
            f"a{k + 1} = f32[{n}] add(b{k}, a{k})"]


def product(k: int, n: int) -> List[str]:
    return [f"m{k} = f32[{n},{n}] broadcast(a{k}), dimensions={{0}}",
            f"a{k + 1} = f32[{n}] dot(m{k}, a{k}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}"]


def sort(k: int, n: int) -> List[str]:
    return [f"s{k} = f32[{n}] sort(a{k}), dimensions={{0}}, to_apply=less", f"a{k + 1} = f32[{n}] add(s{k}, a{k})"]


def scatter(k: int, n: int) -> List[str]:
    return [f"x{k} = s32[{n}] convert(a{k})", f"a{k + 1} = f32[{n}] scatter(a{k}, x{k}, a{k}), update_window_dims={{}}, inserted_window_dims={{0}}, "
            f"scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply=sum"]


def elementwise(k: int, n: int) -> List[str]:
    return [f"a{k + 1} = f32[{n}] {('add', 'multiply', 'maximum', 'divide')[k % 4]}(a{k}, a{k})"]


LINKS: Dict[str, Links] = {f.__name__: f for f in (shifted, window, reverse, concatenate, update, dynamic, gather, reduction, product, sort, scatter,
                                                   elementwise)}
HEAD = """HloModule depth
sum { x = f32[] parameter(0) y = f32[] parameter(1) ROOT s = f32[] add(x, y) }
less { x = f32[] parameter(0) y = f32[] parameter(1) ROOT s = pred[] compare(x, y), direction=LT }
"""


def chain(link: Links, depth: int, n: int, last: str = "a") -> str:
    lines = ["z = f32[] constant(0)"] + [line for k in range(depth) for line in link(k, n)]
    return "".join(f"  {line}\n" for line in lines) + f"  ROOT {last} = f32[{n}] negate(a{depth})\n"


def entry(link: Links, depth: int, n: int) -> str:
    return HEAD + f"ENTRY e {{\n  a0 = f32[{n}] parameter(0)\n{chain(link, depth, n, 'r')}}}\n"


def branch(link: Links, depth: int, n: int) -> str:
    return HEAD + f"""yes {{\n  a0 = f32[{n}] parameter(0)\n{chain(link, depth, n, 'r')}}}
no {{ u = () parameter(0) c = f32[] constant(1) ROOT b = f32[{n}] broadcast(c), dimensions={{}} }}
ENTRY e {{
  p = pred[] parameter(0)
  x = f32[{n}] parameter(1)
  u = () tuple()
  ROOT c = f32[{n}] conditional(p, x, u), true_computation=yes, false_computation=no
}}
"""


def loop(trips: int) -> Callable[[Links, int, int], str]:
    def make(link: Links, depth: int, n: int) -> str:
        state = f"((), s32[], f32[{n}])"
        body = chain(link, depth, n, "r").replace("ROOT ", "")
        return HEAD + f"""body {{
  s = {state} parameter(0)
  i = s32[] get-tuple-element(s), index=1
  a0 = f32[{n}] get-tuple-element(s), index=2
{body}  one = s32[] constant(1)
  j = s32[] add(i, one)
  u = () get-tuple-element(s), index=0
  ROOT t = {state} tuple(u, j, r)
}}
test {{ s = {state} parameter(0) i = s32[] get-tuple-element(s), index=1 n = s32[] constant({trips}) ROOT l = pred[] compare(i, n), direction=LT }}
ENTRY e {{
  x = f32[{n}] parameter(0)
  i = s32[] constant(0)
  u = () tuple()
  t = {state} tuple(u, i, x)
  w = {state} while(t), condition=test, body=body
  ROOT r = f32[{n}] get-tuple-element(w), index=2
}}
"""
    return make


def calls(link: Links, depth: int, n: int) -> str:
    """Each computation calls the one before twice."""
    text = HEAD + f"c0 {{\n  a0 = f32[{n}] parameter(0)\n{chain(link, 1, n, 'r')}}}\n"
    for d in range(1, depth + 1):
        text += f"c{d} {{ x = f32[{n}] parameter(0) y = f32[{n}] call(x), to_apply=c{d - 1} ROOT r = f32[{n}] call(y), to_apply=c{d - 1} }}\n"
    return text + f"ENTRY e {{ x = f32[{n}] parameter(0) ROOT r = f32[{n}] call(x), to_apply=c{depth} }}\n"


def nested(link: Links, depth: int, n: int) -> str:
    """Loops in loops."""
    state = f"(s32[], f32[{n}])"
    text = HEAD + f"test {{ s = {state} parameter(0) i = s32[] get-tuple-element(s), index=0 n = s32[] constant(70) "
    text += "ROOT l = pred[] compare(i, n), direction=LT }\n"
    text += f"c0 {{\n  a0 = f32[{n}] parameter(0)\n{chain(link, 1, n, 'r')}}}\n"
    for d in range(1, depth + 1):
        text += f"""b{d} {{
  s = {state} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[{n}] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  y = f32[{n}] call(x), to_apply=c{d - 1}
  ROOT t = {state} tuple(j, y)
}}
c{d} {{
  x = f32[{n}] parameter(0)
  i = s32[] constant(0)
  t = {state} tuple(i, x)
  w = {state} while(t), condition=test, body=b{d}
  ROOT r = f32[{n}] get-tuple-element(w), index=1
}}
"""
    return text + f"ENTRY e {{ x = f32[{n}] parameter(0) ROOT r = f32[{n}] call(x), to_apply=c{depth} }}\n"


def many_parameters(n: int) -> str:
    return "HloModule wide\nENTRY e {\n" + "".join(f"  p{k} = f32[4] parameter({k})\n" for k in range(n)) + "  a0 = f32[4] negate(p0)\n" + "".join(
        f"  a{k} = f32[4] add(a{k - 1}, p{k})\n" for k in range(1, n)) + f"  ROOT r = f32[4] negate(a{n - 1})\n}}\n"


PLACES: Dict[str, Callable[[Links, int, int], str]] = {"entry": entry, "branch": branch, "short loop": loop(3), "long loop": loop(300), "calls": calls,
                                                       "nested loops": nested}


def texts(everything: bool) -> Iterator[Tuple[str, str]]:
    sizes = [(d, n) for d in (3, 6, 12, 24) for n in (5, 24, 300)] if everything else [(9, 24)]
    for place, make in PLACES.items():
        for name, link in LINKS.items():
            for depth, n in sizes:
                if place in ("calls", "nested loops"):
                    depth = min(depth, 5)  # the text doubles with each call
                yield f"{name}, {place}, {depth} of {n}", make(link, depth, n)
    yield "gather, long loop, 6 of 24", loop(300)(gather, 6, 24)
    yield "calls, 30 deep", calls(elementwise, 30, 8)
    yield "3000 parameters", many_parameters(3000)


def limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_TIME, MOST_TIME))


def fault(warpburg: str, file: Path, text: str) -> Tuple[str, int]:
    """What is wrong, or "", and the lines of PTX."""
    file.write_text(text)
    run = subprocess.run([warpburg, "compile", str(file), "--emit", "ptx"], capture_output=True, text=True, preexec_fn=limit)
    lines = run.stdout.count("\n")
    if run.returncode not in (0, 3):
        return f"exit {run.returncode}: {run.stderr[-200:].strip()}", lines
    if lines > MOST_LINES * (text.count("\n") + text.count(" = ")):
        return f"{lines} lines of PTX", lines
    return "", lines


def main(argv: List[str]) -> int:
    passed = failed = declined = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts("--all" in argv):
            why, lines = fault(argv[1], Path(folder) / "depth.hlo", text)
            passed, failed, declined = passed + (not why), failed + bool(why), declined + (not why and not lines)
            if why:
                print(f"{name}: {why}")
    print(f"{declined} are declined")
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv))
