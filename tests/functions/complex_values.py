"""Complex functions and quotients at zeros of both signs, infinities, nan, and the least and largest numbers: the values of C11 Annex G.

usage: complex_values.py WARPBURG [--targets sm_80,sm_90]

Python's cmath follows Annex G. Where a result overflows, cmath raises an error, and overflow() gives the value that the exact result rounds to.
For operands with an infinite or nan part HLO leaves the result open. Ours must be that of Annex G, except at the operands of is_open(), where
ours must be nan. Results of finite operands may miss by TOLERANCE units in the last place of the larger part; `run --check` is stricter.

Quotients whose operands are not finite, or by 0, are those of G.5.1, whose code is below; parts that are nan there are open. `run --check` must demand
them: a quotient without the repair, which has nan instead, must be outside the bounds.

Ends with `N passed, M failed`, in functions times types times targets; exit 1 if M is not 0.
"""
from __future__ import annotations

import argparse
import cmath
import math
import struct
import sys
import tempfile
from pathlib import Path
from typing import Callable, Dict, Iterator, List, Optional

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
import npy  # noqa: E402
from warpburg_cli import Cli  # noqa: E402

INF, NAN = math.inf, math.nan
# The type of a part, its least number, a large one, and its unit in the last place at 1.
PARTS = {"c64": ("f32", 2.0**-149, 2.0**127, 2.0**-23), "c128": ("f64", 2.0**-1074, 2.0**1023, 2.0**-52)}
TOLERANCE = 8
FUNCTIONS: Dict[str, Callable[[complex], complex]] = {
    "exponential": cmath.exp, "log": cmath.log, "sqrt": cmath.sqrt, "tanh": cmath.tanh, "sine": cmath.sin, "cosine": cmath.cos}


def is_open(name: str, z: complex) -> bool:
    """Operands where our result has a nan and that of Annex G has none: a part is nan or infinite, and the other part decides alone."""
    x, y = z.real, z.imag
    if name == "sine" or name == "cosine":  # sin z = -i sinh(i z), cos z = cosh(i z)
        x, y = y, x
    if name == "exponential":
        return math.isinf(x) and not math.isfinite(y)
    if name == "log":
        return math.isnan(x) and math.isinf(y) or math.isnan(y) and math.isinf(x)
    if name == "sqrt":
        return math.isnan(x) and math.isinf(y)
    return not math.isfinite(y) and (x == 0 or math.isinf(x)) or math.isnan(x) and (y == 0 or math.isinf(x))


def number(least: float, large: float) -> List[float]:
    return [0.0, -0.0, 1.0, -1.0, 0.5, -3.0, INF, -INF, NAN, large, -large, least, 60.0, -60.0]


def times_infinity(sign: float, of: float) -> float:
    return of * sign if of == 0 or math.isnan(of) else math.copysign(INF, of * sign)


def expected(name: str, z: complex) -> Optional[complex]:
    """None where cmath raises a domain error: there Annex G has a nan, or leaves the sign open."""
    try:
        return FUNCTIONS[name](z)
    except OverflowError:
        return overflow(name, z)
    except ValueError:
        return complex(-INF, cmath.phase(z)) if name == "log" and z == 0 else None


def overflow(name: str, z: complex) -> Optional[complex]:
    """The result where e^x overflows: each part is infinity times a cosine or sine, and a zero where that is zero."""
    x, y = z.real, z.imag
    if name == "exponential":
        return complex(times_infinity(1, math.cos(y)), times_infinity(1, math.sin(y)))
    sign = math.copysign(1, y)
    if name == "sine":
        return complex(times_infinity(1, math.sin(x)), times_infinity(sign, math.cos(x)))
    return complex(times_infinity(1, math.cos(x)), times_infinity(-sign, math.sin(x)))


def rounded(x: float, part: str) -> float:
    if part == "f64" or not math.isfinite(x):
        return x
    try:
        return struct.unpack("<f", struct.pack("<f", x))[0]
    except OverflowError:
        return math.copysign(INF, x)


def same(got: float, want: float, slack: float) -> bool:
    if math.isnan(want) or math.isnan(got):
        return math.isnan(want) and math.isnan(got)
    if want == 0 or math.isinf(want) or math.isinf(got):
        return got == want and (math.copysign(1, got) == math.copysign(1, want)) or want == 0 and 0 < abs(got) <= slack
    return abs(got - want) <= slack


def boxed(x: float) -> float:
    return math.copysign(1.0 if math.isinf(x) else 0.0, x)


def quotient(z: complex, w: complex) -> Optional[complex]:
    """C11 G.5.1, example 1. None where both operands are finite and w is not 0."""
    x, y, u, v = z.real, z.imag, w.real, w.imag
    if all(map(math.isfinite, (x, y, u, v))) and w != 0:
        return None
    size = 1.0 if math.isfinite(u) and math.isfinite(v) else u * u + v * v  # infinities and nan are all that it decides, and it must not overflow
    p, q = (0.0 if math.isfinite(part) else part for part in (x, y))
    re, im = ((p * u + q * v) / size, (q * u - p * v) / size) if w != 0 else (NAN, NAN)
    if not math.isnan(re) or not math.isnan(im):
        return complex(re, im)
    if w == 0:
        return complex(math.copysign(INF, u) * x, math.copysign(INF, u) * y)
    if (math.isinf(x) or math.isinf(y)) and math.isfinite(u) and math.isfinite(v):
        x, y, by = boxed(x), boxed(y), INF
    elif (math.isinf(u) or math.isinf(v)) and math.isfinite(x) and math.isfinite(y):
        x, y, u, v, by = x / 4, y / 4, boxed(u), boxed(v), 0.0
    else:
        return complex(NAN, NAN)
    return complex(by * (x * u + y * v), by * (y * u - x * v))


def run_quotients(cli: Cli, t: str, target: str, folder: Path) -> List[str]:
    """Of all pairs; a sample of the finite ones is held to the bounds by --check alone."""
    part, least, large, _ = PARTS[t]
    code, npy_type = ("f", "<c8") if part == "f32" else ("d", "<c16")
    some = [0.0, -0.0, 1.0, -3.0, INF, -INF, NAN, large, least]
    zs = [complex(x, y) for x in some for y in some]
    pairs = [(z, w) for z in zs for w in zs if quotient(z, w) is not None or len(str(z) + str(w)) % 7 == 0]
    n = len(pairs)
    # Of a real number by a complex one, and of a complex one by a real one, as well: they have formulas of their own.
    (folder / "f.hlo").write_text(
        f"HloModule f\nENTRY e {{\n  z = {t}[{n}] parameter(0)\n  w = {t}[{n}] parameter(1)\n  x = {part}[{n}] real(z)\n  u = {part}[{n}] real(w)\n"
        f"  zero = {part}[] constant(0)\n  o = {part}[{n}] broadcast(zero), dimensions={{}}\n  xc = {t}[{n}] complex(x, o)\n  uc = {t}[{n}] complex(u, o)\n"
        f"  q = {t}[{n}] divide(z, w)\n  r = {t}[{n}] divide(xc, w)\n  s = {t}[{n}] divide(z, uc)\n"
        f"  ROOT out = ({t}[{n}], {t}[{n}], {t}[{n}]) tuple(q, r, s)\n}}\n")
    for k in (0, 1):
        npy.write(folder / f"{k}.npy", npy_type, (n,), struct.pack(f"<{2 * n}{code}", *(p for pair in pairs for p in (pair[k].real, pair[k].imag))))
    inputs = ["--input", str(folder / "0.npy"), "--input", str(folder / "1.npy")]
    p = cli.call("run", str(folder / "f.hlo"), "--target", target, "--check", *inputs, "-o", str(folder))
    if p.returncode:
        return [p.stdout.strip()[-400:] + p.stderr.strip()[-400:] or f"exit {p.returncode}"]
    found = []
    for k in range(3):
        got = [x for (x,) in struct.iter_unpack("<" + code, npy.read(folder / f"out{k}.npy"))]
        for i, (z, w) in enumerate(pairs):
            z, w = complex(z.real, 0.0) if k == 1 else z, complex(w.real, 0.0) if k == 2 else w
            want = quotient(z, w)
            for g, e in zip(got[2 * i:2 * i + 2], (want.real, want.imag) if want is not None else ()):
                if not math.isnan(e) and g != e:
                    found.append(f"{z!r} / {w!r}: {got[2 * i:2 * i + 2]}, not {want!r}")
    return found


def run_judge(cli: Cli, t: str, folder: Path) -> List[str]:
    """nan where Annex G has 0 or an infinity is outside the bounds; so is a quotient by what overflowed."""
    part, _, large, _ = PARTS[t]
    zs, ws = [(1, 0), (1, 0), (INF, NAN), (1, 2)], [(INF, 0), (0, 0), (2, 1), (NAN, -INF)]
    texts = [", ".join(f"({a}, {b})" for a, b in xs) for xs in (zs, ws)]
    (folder / "g.hlo").write_text(f"HloModule g\nENTRY e {{\n  a = {t}[4] constant({{{texts[0]}}})\n  b = {t}[4] constant({{{texts[1]}}})\n"
                                  f"  l = {part}[4] constant({{{large}, {large}, {large}, {large}}})\n  m = {part}[4] add(l, l)\n  c = {t}[4] complex(m, m)\n"
                                  f"  q = {t}[4] divide(a, b)\n  r = {t}[4] divide(a, c)\n  ROOT out = ({t}[4], {t}[4]) tuple(q, r)\n}}\n")
    p = cli.call("eval", str(folder / "g.hlo"), "--bounds", "-o", str(folder))
    if p.returncode:
        return [p.stderr.strip()[-400:]]
    ends = [[x for (x,) in struct.iter_unpack("<d", npy.read(folder / f"{which}0.npy"))] for which in ("lo", "hi")]
    want = [0.0, 0.0, INF, None, INF, -INF, 0.0, 0.0]
    return [f"part {k} of the quotients of judge: [{a}, {b}], not {w}" for k, (a, b, w) in enumerate(zip(*ends, want)) if w is not None and (a, b) != (w, w)]


def faults(name: str, t: str, zs: List[complex], got: List[float]) -> Iterator[str]:
    part, least, _, unit = PARTS[t]
    for k, z in enumerate(zs):
        want, re, im = expected(name, z), got[2 * k], got[2 * k + 1]
        ours = f"{name} of ({z.real!r}, {z.imag!r}): ({re!r}, {im!r})"
        if is_open(name, z):
            if not math.isnan(re) and not math.isnan(im):
                yield f"{ours} is listed as open"
            continue
        if want is None:
            continue
        finite = [abs(p) for p in (want.real, want.imag) if math.isfinite(p)]
        slack = TOLERANCE * max([unit * max(finite, default=0.0), least])
        if not same(re, rounded(want.real, part), slack) or not same(im, rounded(want.imag, part), slack):
            yield f"{ours}, not ({want.real!r}, {want.imag!r})"


def run(cli: Cli, name: str, t: str, target: str, folder: Path) -> List[str]:
    part, least, large, _ = PARTS[t]
    code = "f" if part == "f32" else "d"
    zs = [complex(x, y) for x in number(least, large) for y in number(least, large)]
    (folder / "f.hlo").write_text(f"HloModule f\nENTRY e {{\n  p = {t}[{len(zs)}]{{0}} parameter(0)\n  ROOT r = {t}[{len(zs)}]{{0}} {name}(p)\n}}\n")
    npy.write(folder / "x.npy", "<c8" if t == "c64" else "<c16", (len(zs),), struct.pack(f"<{2 * len(zs)}{code}", *(p for z in zs for p in (z.real, z.imag))))
    p = cli.call("run", str(folder / "f.hlo"), "--target", target, "--check", "--input", str(folder / "x.npy"), "-o", str(folder))
    if p.returncode:
        return [p.stderr.strip()[-400:] or f"exit {p.returncode}"]
    return list(faults(name, t, zs, [x for (x,) in struct.iter_unpack("<" + code, npy.read(folder / "out0.npy"))]))


def main() -> int:
    p = argparse.ArgumentParser(description="complex functions at special values")
    p.add_argument("warpburg")
    p.add_argument("--targets", default="sm_80,sm_90")
    o = p.parse_args()
    cli, passed, failed = Cli(o.warpburg, 2), 0, 0
    for target in o.targets.split(","):
        for t in PARTS:
            with tempfile.TemporaryDirectory() as folder:
                found = run_quotients(cli, t, target, Path(folder)) + run_judge(cli, t, Path(folder))
            passed, failed = passed + (not found), failed + bool(found)
            for line in found[:8]:
                print(f"{target}, {t}: {line}")
            for name in FUNCTIONS:
                with tempfile.TemporaryDirectory() as folder:
                    found = run(cli, name, t, target, Path(folder))
                passed, failed = passed + (not found), failed + bool(found)
                for line in found[:8]:
                    print(f"{target}, {t}: {line}")
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
