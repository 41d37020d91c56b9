"""Random fusions under `--assume`: compiled, run in the simulator, and judged by what contract, nnan and nsz permit.

Half of them are full of what rules under these flags take apart: products in sums, values beside themselves, tests for nan, choices by a
comparison, zeros. The others are those of random_fusions.py. Half have all three flags, the others some of them, in the header or as notes
of single instructions. Of one in eight both back ends make a kernel, and both must give the same bits.

usage: random_assumed.py WARPBURG [COUNT] [--seed S] [--folder DIR]     failures are printed and their texts kept in DIR (build/fuzz); exit 1 if any
"""
from __future__ import annotations

import random
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import List, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
import npy  # noqa: E402
import random_fusions  # noqa: E402
from seeds import arguments  # noqa: E402
from warpburg_cli import MAIN, TARGETS  # noqa: E402

FLAGS = ("contract", "nnan", "nsz")
SIZE = 700
FORMAT = {"f16": (2, 0x7c00), "bf16": (2, 0x7f80), "f32": (4, 0x7f800000), "f64": (8, 0x7ff << 52)}  # bytes, infinity


def generate(seed: int) -> Tuple[str, str]:
    """A text, and the list for --assume; "" where its instructions have notes."""
    r = random.Random(seed)
    flags = FLAGS if r.random() < 0.5 else tuple(f for f in FLAGS if r.random() < 0.6) or (r.choice(FLAGS),)
    if r.random() < 0.3:
        return random_fusions.generate(seed), ",".join(flags)
    noted = r.random() < 0.3
    t = r.choice(["f32", "f32", "f32", "f64", "f16", "bf16"])
    shape = f"{t}[{SIZE}]"
    lines = [f"  p{n} = {shape} parameter({n})" for n in range(3)]
    for name, value in (("zero", "0"), ("minus", "-0"), ("one", "1"), ("half", "0.5")):
        lines += [f"  {name}.s = {t}[] constant({value})", f"  {name} = {shape} broadcast({name}.s), dimensions={{}}"]
    values = ["zero", "minus", "one", "half", "p0", "p1", "p2"]

    def note() -> str:
        own = [f for f in flags if r.random() < 0.8] if noted else []
        return f", frontend_attributes={{{','.join(chr(34).join((f + '=', 'true', '')) for f in own)}}}" if own else ""

    def add(text: str, of: str = shape) -> str:
        name = f"v{len(lines)}"
        lines.append(f"  {name} = {of} {text}{note()}")
        return name

    def recent() -> str:
        return r.choice(values[-4:] if r.random() < 0.6 else values)

    def compare(x: str, y: str) -> str:
        return add(f"compare({x}, {y}), direction={r.choice(['LT', 'LE', 'GT', 'GE', 'EQ', 'NE'])}", f"pred[{SIZE}]")

    for _ in range(r.randint(3, 9)):
        x, y, z = recent(), recent(), recent()
        kind = r.randrange(9)
        if kind < 3:
            m = add(f"multiply({x}, {y})")
            values.append(add(f"{r.choice(['add', 'subtract'])}({', '.join(r.sample([m, z], 2))})"))
        elif kind == 3:
            values.append(add(f"{r.choice(['subtract', 'divide', 'add', 'multiply', 'maximum'])}({x}, {x})"))
        elif kind == 4:
            values.append(add(f"select({compare(x, r.choice([x, y]))}, {', '.join(r.sample([x, y], 2) if r.random() < 0.7 else [z, x])})"))
        elif kind == 5:
            values.append(add(f"{r.choice(['negate', 'abs', 'exponential', 'sqrt', 'sign', 'log'])}({x})"))
        elif kind == 6:
            values.append(add(f"{r.choice(['multiply', 'add', 'subtract'])}({', '.join(r.sample([x, r.choice(['zero', 'minus', 'one'])], 2))})"))
        elif kind == 7:
            values.append(add(f"clamp({x}, {y}, {z})"))
        else:
            values.append(add(f"{r.choice(['add', 'subtract', 'multiply', 'divide', 'maximum', 'minimum'])}({x}, {y})"))
    root, result = values[-1], shape
    lines = [line.replace(f"  {root} = ", f"  ROOT {root} = ") for line in lines]
    body = "\n".join(lines)
    reduces = r.random() < 0.2
    if reduces:
        result = f"{t}[]"
        body = body.replace("  ROOT ", "  ") + f"\n  ROOT sum = {result} reduce({root}, {r.choice(['zero.s', 'one.s'])}), dimensions={{0}}, to_apply=add"
    adder = f"add {{\n  x = {t}[] parameter(0)\n  y = {t}[] parameter(1)\n  ROOT s = {t}[] add(x, y)\n}}\n\n" if reduces else ""
    entry = "\n".join(f"  p{n} = {shape} parameter({n})" for n in range(3))
    return (f"HloModule assumed_{seed}\n\n{adder}body {{\n{body}\n}}\n\nENTRY main {{\n{entry}\n  ROOT k = {result} fusion(p0, p1, p2), kind=kLoop, "
            "calls=body\n}\n"), "" if noted else ",".join(flags)


def numbers(file: Path, bytes_each: int, infinity: int) -> List[int]:
    """The elements of an array of floats as integers, in which all nans are one: PTX leaves open which nan an instruction gives."""
    data, magnitude = npy.read(file), (1 << 8 * bytes_each - 1) - 1
    all_bits = [int.from_bytes(data[k:k + bytes_each], "little") for k in range(0, len(data), bytes_each)]
    return [x if x & magnitude <= infinity else -1 for x in all_bits]


def judge(warpburg: str, file: Path, seed: int) -> Tuple[List[int], str]:
    """Exit statuses on two targets, of which the second depends on the seed, and the messages where they are not 0."""
    text, flags = generate(seed)
    file.write_text(text)
    assume = ["--assume", flags] if flags else []
    outcome, said = [], []
    others = [t for t in TARGETS if t != MAIN]
    run = lambda *more: subprocess.run([warpburg, "run", str(file), *assume, *more], capture_output=True, text=True, check=False)
    for target, case in ((MAIN, "e"), (others[seed % len(others)], "n" if seed % 2 else "c")):
        p = run("--target", target, "--check", "--case", case)
        outcome.append(p.returncode)
        if p.returncode == 3:
            said.append(f"declined: {file} {target}: {p.stderr.strip()[-300:]}")
        elif p.returncode:
            said.append(f"{file} {target} {case} {flags}: exit {p.returncode}: {(p.stdout + p.stderr).strip()[-600:]}")
    t = text[text.index("p0 = ") + 5:].split("[")[0]
    if seed % 8 == 0 and not any(outcome) and f"ROOT k = {t}[" in text and t in FORMAT:
        with tempfile.TemporaryDirectory() as folder:
            made = [run("--backend", b, "-o", f"{folder}/{b}").returncode for b in ("ptx", "llvm")]
            arrays = [{f.name: numbers(f, *FORMAT[t]) for f in Path(folder, b).rglob("out*.npy")} for b in ("ptx", "llvm")]
            if made == [0, 0] and (arrays[0] != arrays[1] or not arrays[0]):
                outcome.append(1)
                said.append(f"{file} {flags}: the back ends differ in their results")
    if not any(outcome):
        file.unlink()
    return outcome, "\n".join(said)


def main() -> int:
    o = arguments(__doc__, 200, "warpburg", folder="build/fuzz/assumed")
    folder: Path = o.folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    good = bad = declined = 0
    with ThreadPoolExecutor(2) as pool:
        for outcome, said in pool.map(lambda n: judge(o.warpburg, folder / f"{n}.hlo", n), range(o.seed, o.seed + o.count)):
            if said:
                print(said, flush=True)
            good, bad, declined = good + (not any(outcome)), bad + any(x not in (0, 3) for x in outcome), declined + (3 in outcome)
    print(f"{declined} declined\n{good} passed, {bad} failed")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
