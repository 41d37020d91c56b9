#!/usr/bin/env python3
"""Random folds for the rules of patterns/arrays.py: each is compiled, run in the simulator, and compared with the evaluator's bounds.

    random_folds.py WARPBURG [COUNT] [--seed S] [--folder DIR]

A module has up to three folds: a reduction, one of reductions, a product or the end of a prefix sum, of terms that a range may or may not change. A term
is a parameter that is broadcast, moved, padded, gathered or sliced, a comparison of indices with labels in and out of the row, a choice by one, arithmetic
of these; some have a second user. How many modules the rules change is printed, and must be a quarter. Sums are taken in parts, too, as options of
arrays.py have them with a number: what the evaluator makes of that text lies in its bounds of the other. Ends with `N passed, M failed`.
"""
import random
import struct
import subprocess
import sys
from pathlib import Path
from typing import List, Optional, Set, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
import npy  # noqa: E402
from seeds import TARGETS, Seeds, ended  # noqa: E402

COMBINERS = {"f32": ("add", "maximum", "minimum", "multiply"), "bf16": ("maximum", "add"), "f16": ("minimum", "maximum"),
             "s32": ("add", "maximum", "xor", "and", "or", "minimum", "multiply"), "u8": ("add", "or", "maximum"), "pred": ("and", "or")}
INIT = {"add": "0", "maximum": "-inf", "minimum": "inf", "multiply": "1", "xor": "0", "and": "-1", "or": "0"}
CHANGED = 4  # one of so many modules
PARTED = 12  # the same of modules with a sum in parts
NUMBERS = (2, 3, 4, 5, 11, 15)  # of terms of a part


class Module:
    """The text of one module."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.lines: List[str] = []
        self.parameters: List[str] = []
        self.combiners: Set[Tuple[str, str]] = set()
        self.results: List[Tuple[str, str]] = []  # name, shape
        self.dims = [self.r.choice((1, 2, 3, 5, 8, 33)) for _ in range(self.r.randint(1, 3))]

    def put(self, t: str, dims: List[int], text: str) -> str:
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {t}[{','.join(map(str, dims))}] {text}")
        return name

    def parameter(self, t: str, dims: List[int]) -> str:
        name = f"p{len(self.parameters)}"
        self.parameters.append(f"{name} = {t}[{','.join(map(str, dims))}] parameter({len(self.parameters)})")
        return name

    def broadcast(self, t: str, x: str, to: List[int]) -> str:
        return self.put(t, self.dims, f"broadcast({x}), dimensions={{{','.join(map(str, to))}}}")

    def moved(self, t: str) -> str:
        """A parameter of all dimensions, by a move."""
        dims, n = self.dims, len(self.dims)
        how, d = self.r.randrange(7), self.r.randrange(n)
        if how == 0:
            order = self.r.sample(range(n), n)
            return self.put(t, dims, f"transpose({self.parameter(t, [dims[order.index(k)] for k in range(n)])}), dimensions={{{','.join(map(str, order))}}}")
        if how == 1:
            return self.put(t, dims, f"reverse({self.parameter(t, dims)}), dimensions={{{d}}}")
        if how == 2:
            size, step = [x + (3 if k == d else 0) for k, x in enumerate(dims)], self.r.choice((1, 1, 2))
            size[d] = dims[d] * step + 3
            slices = ", ".join(f"[{2 if k == d else 0}:{2 + (x - 1) * step + 1 if k == d else x}:{step if k == d else 1}]" for k, x in enumerate(dims))
            return self.put(t, dims, f"slice({self.parameter(t, size)}), slice={{{slices}}}")
        if how == 3 and dims[d] > 1:
            size = [x - (k == d) for k, x in enumerate(dims)]
            c = self.put(t, [], f"constant({'false' if t == 'pred' else '1'})")
            return self.put(t, dims, f"pad({self.parameter(t, size)}, {c}), padding={'x'.join('0_1' if k == d else '0_0' for k in range(n))}")
        if how == 4:
            total = 1
            for x in dims:
                total *= x
            return self.put(t, dims, f"reshape({self.parameter(t, [total])})")
        if how == 5:  # rows of a table
            labels = self.parameter("s32", [dims[0], 1])
            sizes = [1, *dims[1:]]
            offsets = ",".join(map(str, range(1, n)))
            return self.put(t, dims, f"gather({self.parameter(t, [7, *dims[1:]])}, {labels}), offset_dims={{{offsets}}}, collapsed_slice_dims={{0}}, "
                            f"start_index_map={{0}}, index_vector_dim=1, slice_sizes={{{','.join(map(str, sizes))}}}")
        return self.parameter(t, dims)

    def fixed(self, t: str) -> str:
        """What some dimensions do not change."""
        kept = sorted(self.r.sample(range(len(self.dims)), self.r.randint(0, len(self.dims) - 1)))
        return self.broadcast(t, self.parameter(t, [self.dims[k] for k in kept]), kept)

    def mask(self) -> str:
        """Where a place is a label's, or stands beside it."""
        t, d = self.r.choice(("s32", "s32", "u32", "s64")), self.r.randrange(len(self.dims))
        place = self.put(t, self.dims, f"iota(), iota_dimension={d}")
        both = [place, self.fixed(t)]
        self.r.shuffle(both)
        return self.put("pred", self.dims, f"compare({', '.join(both)}), direction={self.r.choice(('EQ', 'EQ', 'EQ', 'LT', 'NE'))}")

    def term(self, t: str, depth: int = 0) -> str:
        how = self.r.randrange(8) if depth < 2 else self.r.randrange(4)
        if t == "pred" and how >= 4:
            return self.mask()
        if how < 2:
            return self.fixed(t)
        if how < 4:
            return self.moved(t)
        if how < 6:
            zero = self.put(t, [], "constant(0)")
            other = self.broadcast(t, zero, []) if self.r.random() < 0.8 else self.term(t, depth + 1)
            return self.put(t, self.dims, f"select({self.mask()}, {self.term(t, depth + 1)}, {other})")
        x = self.term(t, depth + 1)
        if how == 6 and t[0] != "u":
            return self.put(t, self.dims, f"negate({x})")
        return self.put(t, self.dims, f"{self.r.choice(('add', 'maximum', 'multiply'))}({x}, {self.term(t, depth + 1)})")

    def combiner(self, t: str, op: str) -> str:
        self.combiners.add((t, op))
        return f"{op}.{t}"

    def init(self, t: str, op: str) -> str:
        if t == "pred":
            return self.put(t, [], f"constant({'true' if op == 'and' else 'false'})")
        said = {"-inf": "0", "inf": "100", "-1": "255"}.get(INIT[op], INIT[op]) if t == "u8" else INIT[op]
        if t == "s32":
            said = {"-inf": "-2147483648", "inf": "2147483647"}.get(said, said)
        return self.put(t, [], f"constant({said})") if self.r.random() < 0.8 else self.parameter(t, [])

    def fold(self) -> None:
        t = self.r.choice(("f32", "f32", "f32", "s32", "bf16", "f16", "u8", "pred"))
        how = self.r.randrange(6)
        if how == 0 and t in ("f32", "bf16", "f16"):
            m, k, n = (self.r.choice((1, 3, 8, 20)) for _ in range(3))
            x = self.parameter(t, [m, k])
            kept = self.r.choice(("", "0", "1"))
            one = self.parameter(t, [{"0": k, "1": n}[kept]] if kept else [])
            y = self.put(t, [k, n], f"broadcast({one}), dimensions={{{kept}}}")
            self.results.append((self.put(t, [m, n], f"dot({x}, {y}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}"), f"{t}[{m},{n}]"))
            return
        op = self.r.choice(COMBINERS[t])
        x = self.term(t)
        if self.r.random() < 0.25 and t != "pred":
            self.results.append((self.put(t, self.dims, f"copy({x})"), f"{t}[{','.join(map(str, self.dims))}]"))
        d = self.r.randrange(len(self.dims))
        if how == 1 and self.dims[d] > 1 and t != "pred":
            size, rank = self.dims[d], len(self.dims)
            window = "x".join(str(size) if k == d else "1" for k in range(rank))
            pad = "x".join(f"{size - 1}_0" if k == d else "0_0" for k in range(rank))
            w = self.put(t, self.dims, f"reduce-window({x}, {self.init(t, op)}), window={{size={window} pad={pad}}}, to_apply={self.combiner(t, op)}")
            last = self.r.choice((size - 1, size - 1, size - 2))
            slices = ", ".join(f"[{last if k == d else 0}:{last + 1 if k == d else n}]" for k, n in enumerate(self.dims))
            dims = [1 if k == d else n for k, n in enumerate(self.dims)]
            self.results.append((self.put(t, dims, f"slice({w}), slice={{{slices}}}"), f"{t}[{','.join(map(str, dims))}]"))
            return
        reduced = sorted(self.r.sample(range(len(self.dims)), self.r.randint(1, len(self.dims))))
        made, dims = self.reduce(t, x, self.dims, reduced, op)
        while dims and self.r.random() < 0.6:  # a fold of folds
            if self.r.random() < 0.2:
                self.results.append((made, f"{t}[{','.join(map(str, dims))}]"))
            if self.r.random() < 0.3 and len(dims) == 1 and dims[0] % 4 == 0:  # of a reshape
                made, dims = self.put(t, [dims[0] // 4, 4], f"reshape({made})"), [dims[0] // 4, 4]
            again = sorted(self.r.sample(range(len(dims)), self.r.randint(1, len(dims))))
            made, dims = self.reduce(t, made, dims, again, op if self.r.random() < 0.7 else self.r.choice(COMBINERS[t]))
        self.results.append((made, f"{t}[{','.join(map(str, dims))}]"))

    def reduce(self, t: str, x: str, of: List[int], reduced: List[int], op: str) -> Tuple[str, List[int]]:
        dims = [n for k, n in enumerate(of) if k not in reduced]
        text = f"reduce({x}, {self.init(t, op)}), dimensions={{{','.join(map(str, reduced))}}}, to_apply={self.combiner(t, op)}"
        return self.put(t, dims, text), dims

    def text(self) -> str:
        for _ in range(self.r.randint(1, 3)):
            self.fold()
        return self.returning(self.results)

    def inputs(self) -> str:
        """The same with its parameters as results, by which the values are known that it is given."""
        return self.returning([(x.split(" ")[0], x.split(" ")[2]) for x in self.parameters])

    def returning(self, results: List[Tuple[str, str]]) -> str:
        out = ["HloModule folds", ""]
        for t, op in sorted(self.combiners):
            out += [f"{op}.{t} {{", f"  a = {t}[] parameter(0)", f"  b = {t}[] parameter(1)", f"  ROOT c = {t}[] {op}(a, b)", "}", ""]
        shapes, names = ", ".join(s for _, s in results), ", ".join(n for n, _ in results)
        return "\n".join([*out, "ENTRY e {", *(f"  {x}" for x in self.parameters + self.lines), f"  ROOT all = ({shapes}) tuple({names})", "}", ""])


def floats(file: Path, t: str) -> List[float]:
    data = npy.read(file)
    if t == "bf16":
        return [struct.unpack("<f", b"\0\0" + data[k:k + 2])[0] for k in range(0, len(data), 2)]
    size, letter = {"f16": (2, "e"), "f32": (4, "f"), "f64": (8, "d")}[t]
    return list(struct.unpack(f"<{len(data) // size}{letter}", data))


def regrouped(warpburg: str, file: Path, module: Module, seed: int) -> Optional[str]:
    """What is wrong with sums in parts, of the first number of terms from the seed's on that a sum has; None: there are none. Both texts are given the same
    values, which depend on the text where one is made: what is compared with places in one may be an index in the other."""
    parts, inputs = file.with_suffix(".parts.hlo"), file.with_suffix(".inputs.hlo")
    for k in range(len(NUMBERS)):
        status, text = ended([warpburg, "hlo", str(file), "--option", str(NUMBERS[(seed + k) % len(NUMBERS)])])
        if status:
            return text
        if ".part = " in text:
            break
    else:
        return None
    parts.write_text(text, encoding="utf-8")
    inputs.write_text(module.inputs(), encoding="utf-8")
    folders = [file.with_suffix(f".{x}") for x in ("bounds", "values", "given")]
    given = [x for k in range(len(module.parameters)) for x in ("--input", str(folders[2] / f"out{k}.npy"))]
    said = [ended([warpburg, "eval", str(x), "-j", "1", "-o", str(folder), *more]) for x, folder, more in (
        (inputs, folders[2], ["--case", "nw"[seed % 2], "--seed", str(seed)]), (file, folders[0], ["--bounds", *given]), (parts, folders[1], given))]
    bad = "".join(text for status, text in said if status)
    for k, t in enumerate(shape.split("[")[0] for _, shape in module.results):
        if t not in ("f32", "bf16", "f16") or bad:
            continue
        lo, hi = (floats(folders[0] / f"{end}{k}.npy", "f64") for end in ("lo", "hi"))
        may = npy.read(folders[0] / f"nan{k}.npy")
        for n, x in enumerate(floats(folders[1] / f"out{k}.npy", t)):
            if not lo[n] <= x <= hi[n] and not (x != x and may[n]):
                bad = f"{parts}: output {k}, element {n}: {x} is not in {lo[n]} .. {hi[n]}"
    for x in [] if bad else [parts, inputs, *(f for folder in folders for f in [*folder.iterdir(), folder])]:
        x.unlink() if x.is_file() else x.rmdir()
    return bad


def main() -> int:
    o = Seeds(__doc__, "random_folds", 60)
    passed = failed = changed = parted = 0
    for seed in o.numbers:
        file, module = o.folder / f"folds_{seed}.hlo", Module(seed)
        file.write_text(module.text(), encoding="utf-8")
        words = [o.warpburg, "run", str(file), "--check", "--target", TARGETS[seed % len(TARGETS)], "--case", "neps"[seed % 4], "--seed", str(seed), "-j", "1"]
        status, said = ended(words)
        forms = [subprocess.run([o.warpburg, "hlo", str(file), "--pass", p], capture_output=True, check=False).stdout for p in ("copy", "arrays")]
        before, after = (f.count(b" reduce(") + f.count(b" dot(") + f.count(b" reduce-window(") * 2 for f in forms)
        changed += before != after
        bad = regrouped(o.warpburg, file, module, seed)
        parted += bad is not None
        if bad:
            print(bad, flush=True)
        if status:
            print(f"{' '.join(words)}: exit {status}: {said[-400:]}", flush=True)
        elif not bad:
            file.unlink()
        failed += bool(status or bad)
        passed += not (status or bad)
    few = changed * CHANGED < passed + failed or parted * PARTED < passed + failed
    print(f"the rules changed {changed} modules, options took {parted}" + (f": one of {CHANGED} and of {PARTED} expected" if few else ""))
    return o.summed_up(passed, failed + few)


if __name__ == "__main__":
    sys.exit(main())
