"""Long runs that search for faults, one kind each, until the time is over; resumable, and each finding is reduced by itself.

usage: soak.py KIND [--hours H] [--build DIR] [--shared DIR] [--state DIR]

KIND       fusions, reductions, transposes, scatters, scans, sorts, loops, programs, terms, rules: made at random from a seed; a number
           is a seed, and the state says which is next
           hlo, ptx, json, npy, map: files of the tests and the corpus with bytes, lines and words changed; the program must end with an
           exit status of its list, and never by a signal or after its time
--state    build/soak by default: KIND.json has what was done, KIND/ the findings: N.before as it was found, N as it was reduced, N.txt how

Ends with the numbers of this run and of all runs, and exit status 1 if this run found anything.
"""
from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Callable, Dict, List, NamedTuple, Optional, Tuple

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 60  # of one call on a changed file
CHUNKS = {"fusions": 40, "reductions": 10, "transposes": 20, "scatters": 20, "scans": 20, "sorts": 20, "loops": 40, "programs": 20, "terms": 100, "rules": 100}
NUMBERS = (0, 1, -1, 2, 31, 32, 33, 64, 65535, 2**31 - 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64, 10**30)
CHANGED = ("hlo", "ptx", "json", "npy", "map")


def reduced(text: bytes, fails: Callable[[bytes], bool], until: float) -> bytes:
    """The text with as many lines left out as it still fails without; of one line, as many bytes."""
    for separator in (b"\n", b""):
        parts = text.split(separator) if separator else [text[i:i + 1] for i in range(len(text))]
        size = max(len(parts) // 2, 1)
        while size and time.monotonic() < until:
            at = 0
            while at < len(parts) and time.monotonic() < until:
                shorter = parts[:at] + parts[at + size:]
                if shorter and fails(separator.join(shorter)):
                    parts = shorter
                else:
                    at += size
            size //= 2
        text = separator.join(parts)
        if len(text) > 400:
            break  # bytes one by one only of what is small
    return text


class Ended(NamedTuple):
    status: int  # negative: a signal; 999: out of time
    said: str

    @property
    def is_fault(self) -> bool:
        return self.status not in (0, 1, 2, 3, 4) or "Sanitizer" in self.said

    def alike(self, other: "Ended") -> bool:
        """The same end, as far as the last line of its message says, numbers apart."""
        def last(said: str) -> str:
            return re.sub(r"0x[0-9a-f]+|\d+|/\S+", "#", (said.strip().splitlines() or [""])[-1])
        return self.status == other.status and last(self.said) == last(other.said)


def call(words: List[str], seconds: int = SECONDS) -> Ended:
    try:
        p = subprocess.run(words, capture_output=True, timeout=seconds, preexec_fn=lambda: os.nice(10))
    except subprocess.TimeoutExpired:
        return Ended(999, "out of time")
    return Ended(p.returncode, p.stderr.decode("utf-8", "replace")[-4000:])


class Soak:
    def __init__(self, o: argparse.Namespace) -> None:
        self.kind, self.wb, self.shared = o.kind, str(Path(o.build).resolve() / "warpburg"), Path(o.shared)
        self.run_wb = self.wb + "-run"
        self.folder = Path(o.state).resolve()
        self.found_in, self.state_file = self.folder / o.kind, self.folder / f"{o.kind}.json"
        self.found_in.mkdir(parents=True, exist_ok=True)
        self.state: Dict[str, int] = {"next": 1, "done": 0, "findings": 0}
        if self.state_file.exists():
            self.state.update(json.loads(self.state_file.read_text()))
        self.until = time.monotonic() + 3600 * o.hours
        self.done = self.findings = 0

    def save(self) -> None:
        draft = self.state_file.with_suffix(".new")
        draft.write_text(json.dumps(self.state) + "\n")
        os.replace(draft, self.state_file)

    def finding(self, text: bytes, fails: Callable[[bytes], bool], how: str) -> None:
        """Keeps a text that fails, and what is left of it after reduction, which takes two minutes at most."""
        self.findings += 1
        self.state["findings"] += 1
        name = self.found_in / str(self.state["findings"])
        Path(f"{name}.before").write_bytes(text)
        small = reduced(text, fails, time.monotonic() + 120)
        name.write_bytes(small)
        Path(f"{name}.txt").write_text(how + "\n")
        print(f"found: {name}, {len(text)} bytes reduced to {len(small)}: {how[:300]}", flush=True)

    # --- made at random ---------------------------------------------------------------------------------------------
    def judged(self, target: str, case: str, seed: str) -> Callable[[bytes], bool]:
        """Does a text still give a wrong kernel?"""
        def fails(text: bytes) -> bool:
            with tempfile.NamedTemporaryFile(suffix=".hlo") as f:
                f.write(text)
                f.flush()
                e = call([self.wb, "run", f.name, "--check", "--target", target, "--case", case, "--seed", seed], 120)
                return e.status == 4 or e.is_fault
        return fails

    def chunk(self, first: int, count: int) -> None:
        with tempfile.TemporaryDirectory() as made:
            programs = {"rules": [], **{k: [self.wb, self.run_wb] for k in ("reductions", "transposes", "scatters")}}.get(self.kind, [self.wb])
            words = [f"tests/fuzz/random_{self.kind}.py", *programs, str(count), "--seed", str(first), "--folder", made]
            p = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, preexec_fn=lambda: os.nice(10))
            if p.returncode == 0:
                return
            kept = sorted(Path(made).glob("*.hlo"))
            for file in kept:
                said = [line for line in p.stdout.splitlines() if str(file) in line or file.stem in line]
                line = said[0] if said else p.stdout[-300:]
                target, case = (re.search(rf"{option} (\S+)", line) for option in ("--target", "--case"))
                self.finding(file.read_bytes(), self.judged(target.group(1) if target else "sm_90", case.group(1) if case else "n", file.stem), line)
            if not kept:
                self.finding((p.stdout + p.stderr).encode(), lambda _: False, f"{' '.join(words)}: exit {p.returncode}")

    # --- changed files ----------------------------------------------------------------------------------------------
    def seeds(self) -> List[Path]:
        """Files to change; a bundle is its kernel.json."""
        own = {"hlo": ["tests/lit/**/*.hlo", "shaderdb/corpus/*.hlo"],
               "ptx": ["tests/sim/seeded_faults/*.ptx", "tests/lit/**/*.ptx", "tests/programs/bundles/*/kernel.ptx"],
               "json": ["tests/programs/bundles/*/kernel.json"], "map": [], "npy": []}[self.kind]
        files = [f for pattern in own for f in ROOT.glob(pattern)]
        if self.kind == "hlo" and self.shared.exists():
            files += (self.shared / "corpus" / "fusions").glob("*.hlo")
        if self.kind == "map" and self.shared.exists():
            files += [f for f in (self.shared / "corpus" / "index-maps").rglob("*") if f.is_file()]
        return sorted(f for f in files if f.stat().st_size < 20000)

    def changed(self, r: random.Random, text: bytes, other: bytes) -> bytes:
        b = bytearray(text)
        for _ in range(r.choice((1, 1, 2, 4, 8))):
            at, n = r.randrange(len(b) + 1), r.choice((1, 1, 2, 8, 40))
            how = r.randrange(7)
            if how == 0:
                del b[at:at + n]
            elif how == 1:
                b[at:at] = bytes(r.randrange(256) for _ in range(n))
            elif how == 2:
                k = r.randrange(len(other) + 1)
                b[at:at + r.choice((0, n))] = other[k:k + n]
            elif how == 3:  # a number becomes another
                numbers = list(re.finditer(rb"-?\d+", b))
                if numbers:
                    m = r.choice(numbers)
                    b[m.start():m.end()] = str(r.choice(NUMBERS)).encode()
            elif how == 4:  # lines are exchanged or repeated
                lines = b.split(b"\n")
                i, k = r.randrange(len(lines)), r.randrange(len(lines))
                lines[i], lines[k] = lines[k], lines[r.choice((i, k))]
                b = bytearray(b"\n".join(lines))
            elif how == 5:  # a word becomes another of the text
                words = list(re.finditer(rb"[A-Za-z_.%][\w.-]*", b))
                if words:
                    m, w = r.choice(words), r.choice(words)
                    b[m.start():m.end()] = bytes(w.group())
            elif b:
                b[at % len(b)] ^= 1 << r.randrange(8)
        return bytes(b)

    def command(self, file: Path, seed: Path, folder: Path, text: bytes, r: random.Random) -> List[str]:
        if self.kind == "hlo":
            file.write_bytes(text)
            return [self.wb, *r.choice((["compile"], ["hlo", "--normalise"], ["eval", "--bounds"], ["run", "--check", "--blocks", "4"])), str(file)]
        if self.kind == "map":
            file.write_bytes(text)
            return [self.wb, "map", "--files-from", str(file)]
        if self.kind == "npy":
            file.write_bytes(text)
            return [self.wb, "eval", str(folder / "sum.hlo"), "--input", str(file)]
        if self.kind == "ptx":
            file.write_bytes(text)
            hlo = re.search(rb"\bhlo: ([^\s\0]+)", text)
            name = seed.parent / hlo.group(1).decode("utf-8", "replace") if hlo else folder / "sum.hlo"
            return [self.run_wb, "run", str(name), "--ptx", str(file), "--grid", "2", "--block", "32", "--check"]
        bundle = folder / "bundle"
        shutil.rmtree(bundle, ignore_errors=True)
        shutil.copytree(seed.parent, bundle)
        (bundle / "kernel.json").write_bytes(text)
        return [self.run_wb, "run", str(bundle), "--edited", "--check"]

    def change(self, number: int, seeds: List[Tuple[Path, bytes]], folder: Path) -> None:
        r = random.Random(f"{self.kind} {number}")
        (seed, text), (_, other) = r.choice(seeds), r.choice(seeds)
        text = self.changed(r, text, other)
        file, state = folder / f"x.{self.kind}", r.getstate()

        def end(t: bytes) -> Ended:
            r.setstate(state)
            return call(self.command(file, seed, folder, t, r))

        e = end(text)
        if e.is_fault:
            r.setstate(state)
            how = f"{' '.join(self.command(file, seed, folder, text, r))}: number {number}, status {e.status}: {e.said[-300:]}"
            self.finding(text, lambda t: end(t).alike(e), how)

    # --- the run ----------------------------------------------------------------------------------------------------
    def run(self) -> int:
        seeds: List[Tuple[Path, bytes]] = []
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "sum.hlo").write_text("HloModule s\nENTRY e {\n  x = f32[4,6] parameter(0)\n  ROOT y = f32[4,6] negate(x)\n}\n")
            if self.kind in CHANGED:
                seeds = [(f, f.read_bytes()) for f in self.seeds()]
            if self.kind == "npy":
                head = "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 6), }".ljust(117) + "\n"
                seeds = [(folder / "x.npy", b"\x93NUMPY\x01\x00" + bytes((len(head), 0)) + head.encode() + bytes(96))]
            if self.kind in CHANGED and not seeds:
                print("no file to change: --shared has them")
                return 1
            while time.monotonic() < self.until:
                first, count = self.state["next"], CHUNKS.get(self.kind, 20)
                if self.kind in CHANGED:
                    for number in range(first, first + count):
                        self.change(number, seeds, folder)
                else:
                    self.chunk(first, count)
                self.done += count
                self.state["next"] = first + count
                self.state["done"] += count
                self.save()
        print(f"{self.kind}: {self.done} tried, {self.findings} findings; in all runs {self.state['done']} tried, {self.state['findings']} findings")
        return int(self.findings > 0)


def main(argv: Optional[List[str]] = None) -> int:
    p = argparse.ArgumentParser(description="long runs that search for faults")
    p.add_argument("kind", choices=[*CHUNKS, *CHANGED])
    p.add_argument("--hours", type=float, default=8)
    p.add_argument("--build", default="build")
    p.add_argument("--shared", default="../shared")
    p.add_argument("--state", default="build/soak")
    return Soak(p.parse_args(argv)).run()


if __name__ == "__main__":
    sys.exit(main())
