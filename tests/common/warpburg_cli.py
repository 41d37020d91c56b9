"""The warpburg executable as Python calls: compile many files in one process, run or evaluate one file.

Every call is a process of its own at low priority, so a crash fails one file and not the whole test. The caller names the folders for outputs.

    cli = Cli("build/warpburg", jobs=2)
    for c in cli.compile(["a.hlo", "b.hlo"], "sm_90"): print(c.file, c.status, c.facts.get("sass"), c.why)
    v = cli.run("a.hlo", "sm_90", "e", seed=7);  print(v.ok, v.why)
"""
import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Dict, Iterable, List, Optional, Sequence, TypeVar

TARGETS = tuple(f"sm_{n}" for n in sorted(int(p.stem[2:]) for p in Path(__file__).resolve().parents[2].glob("patterns/sm*.py") if p.stem[2:].isdigit()))
MAIN = "sm_90"      # the target that every file of a sample is compiled for, besides one other
TOO_LARGE = "of memory, this machine has"  # part of the message of `run` for inputs that do not fit in memory
BATCH = 24          # files a process: enough to amortise its start, few enough to keep all cores busy
TIMEOUT = 600       # seconds a process

A = TypeVar("A")
B = TypeVar("B")


def llvm_ms(steps: Dict[str, float]) -> float:
    """LLVM's share of the milliseconds that --time and --json give for each step."""
    return steps["link"] + steps["optimise"] + steps["codegen"]


def shared_out(files: Sequence[str], targets: Sequence[str]) -> Dict[str, List[str]]:
    """Distributes files over targets: MAIN gets all of them, and of the other targets each gets its share."""
    others = [t for t in targets if t != MAIN]
    return {t: [f for i, f in enumerate(files) if t == MAIN or others[i % len(others)] == t] for t in targets}


@dataclass
class Compiled:
    """One file for one target; `facts` is the JSON line of `compile --json` where the status is ok."""
    file: str
    target: str
    status: str                 # ok, declined, failed
    why: str = ""
    facts: Dict = field(default_factory=dict)


@dataclass
class Verdict:
    """One run or evaluation; `facts` is the JSON line of `run --json`."""
    ok: bool
    why: str = ""
    declined: bool = False
    facts: Dict = field(default_factory=dict)


def _last_line(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line]
    return lines[-1][-300:] if lines else "no message"


class Cli:
    def __init__(self, program: str, jobs: int = 2, timeout: int = TIMEOUT) -> None:
        self.program, self.timeout = program, timeout
        os.nice(10)                 # inherited by every process
        self.pool = ThreadPoolExecutor(max_workers=max(jobs, 1))

    def each(self, work: Callable[[A], B], items: Iterable[A]) -> List[B]:
        """work(item) for each item, several at a time; the results in order."""
        return list(self.pool.map(work, items))

    def call(self, *words: str) -> "subprocess.CompletedProcess[str]":
        command = [self.program, *words]
        try:
            return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=self.timeout)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(command, 124, "", f"not done within {self.timeout} s")

    def _batch(self, files: Sequence[str], target: str, options: Sequence[str]) -> List[Compiled]:
        p = self.call("compile", *files, "--target", target, "--json", "--jobs", "1", *options)
        lines: Dict[str, Dict] = {}
        for line in p.stdout.splitlines():
            facts = json.loads(line)
            lines[facts["file"]] = facts
        if p.returncode < 0 and len(files) > 1:          # a crash: find the file
            return [c for f in files for c in self._batch([f], target, options)]
        out = []
        for f in files:
            facts = lines.get(f, {})
            status = facts.get("status", "failed")
            said = [line for line in p.stderr.splitlines() if f in line]
            why = facts.get("reason") or (said[0].replace(f + ":", "") if said else "")
            if status != "ok" and not why:
                why = f"exit {p.returncode}: {_last_line(p.stderr)}"
            if status == "declined" and said:
                why = f"{facts.get('reason', '')}: {said[0][len(f):].lstrip(':')}"
            out.append(Compiled(f, target, status, "" if status == "ok" else why, facts))
        return out

    def compile(self, files: Sequence[str], target: str, options: Sequence[str] = ()) -> List[Compiled]:
        """Compiles each file, and assembles it where ptxas is found; one result for each file, in order."""
        batches = [files[i:i + BATCH] for i in range(0, len(files), BATCH)]
        return [c for batch in self.each(lambda b: self._batch(b, target, options), batches) for c in batch]

    def run(self, file: str, target: str, case: str, seed: int = 0, inputs: Sequence[str] = (), to: Optional[str] = None,
            noise: bool = False, blocks: int = 0, options: Sequence[str] = (), check: bool = True) -> Verdict:
        """`run --check`: compares every element with the bounds. `to`: a folder for the outputs; `noise`: approximate instructions
        err at random within what the PTX manual allows; `blocks`: how many blocks are run, 0 for all, as
        where blocks share results; `options`: further ones; check False: memory is checked, values are not."""
        words = ["run", file, "--target", target, "--json", "--case", case, "--seed", str(seed)]
        words += (["--check"] if check else []) + (["--ulp-noise"] if noise else [])
        words += ["--blocks", str(blocks)] if blocks else []
        words += options
        for i in inputs:
            words += ["--input", i]
        p = self.call(*words, *(["-o", to] if to else []))
        if blocks and "tickets" in p.stderr:  # blocks that share results are not run by a sample
            return self.run(file, target, case, seed, inputs, to, noise, 0, options, check)
        if p.returncode not in (0, 4):
            return Verdict(False, f"exit {p.returncode}: {_last_line(p.stderr)}", p.returncode == 3)
        facts = json.loads(p.stdout)
        if p.returncode == 0:
            return Verdict(True, "", False, facts)
        rule = f"; {_last_line(p.stderr)}" if p.stderr.strip() else ""
        if facts["faults"]:
            return Verdict(False, f"fault: {facts['faults'][0]}{rule}", False, facts)
        return Verdict(False, f"{facts['outside']} of {facts['compared']} outside the bounds; first: {facts['first']}{rule}", False, facts)

    def eval(self, file: str, case: str, seed: int, to: str) -> Verdict:
        p = self.call("eval", file, "--case", case, "--seed", str(seed), "-o", to)
        return Verdict(p.returncode == 0, "" if p.returncode == 0 else f"exit {p.returncode}: {_last_line(p.stderr)}", p.returncode == 3)
