"""The programs as processes: what they do when stdout fails, when a signal ends them, when ptxas dies, and with bundles, files and options
that are not what they seem.

usage: processes.py WARPBURG WARPBURG_RUN
"""
from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Callable, Dict, List, Optional

NEGATE = "HloModule negate\nENTRY main {\n  x = f32[64]{0} parameter(0)\n  ROOT y = f32[64]{0} negate(x)\n}\n"
LAST_SECONDS = 20  # a busy machine may take so long where an idle one takes a fraction of a second


def alive(process: int) -> bool:
    """Does it run? One that has ended and was not waited for does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def wait_for(what: Callable[[], bool]) -> bool:
    end = time.monotonic() + LAST_SECONDS
    while not what() and time.monotonic() < end:
        time.sleep(0.02)
    return what()


class Suite:
    def __init__(self, wb: str, run: str, folder: Path) -> None:
        self.wb, self.run_wb, self.folder = wb, run, folder
        self.passed = self.failed = 0
        self.negate = folder / "negate.hlo"
        self.negate.write_text(NEGATE)

    def check(self, name: str, good: bool, said: str = "") -> None:
        self.passed += good
        self.failed += not good
        if not good:
            print(f"{name}: {said.strip()[-400:]}", flush=True)

    def call(self, *words: object, env: Optional[Dict[str, str]] = None, run: bool = False, stdout: Optional[int] = None) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([self.run_wb if run else self.wb, *map(str, words)], stdout=stdout or subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env={**os.environ, **(env or {})}, timeout=300)

    def ends(self, name: str, status: int, message: str, *words: object, **more: object) -> None:
        """The call ends so, and says so."""
        p = self.call(*words, **more)  # type: ignore[arg-type]
        self.check(name, p.returncode == status and message in p.stderr, f"exit {p.returncode}, {status} and '{message}' expected: {p.stderr}")

    def script(self, name: str, *lines: str) -> str:
        path = self.folder / name
        path.write_text("#!/bin/sh\n" + "\n".join(lines) + "\n")
        path.chmod(0o755)
        return str(path)

    # --- command lines ----------------------------------------------------------------------------------------------
    def command_lines(self) -> None:
        x = self.negate
        self.ends("-o ''", 2, "--output '': the name of a folder expected", "compile", x, "-o", "")
        self.ends("--target", 2, "sm_75, sm_80", "compile", x, "--target", "sm_1")
        self.ends("--emit", 2, "hlo, maps, graph, plan", "compile", x, "--emit", "nothing")
        self.ends("a seed of 65 bits", 2, "9223372036854775807 at most", "run", x, "--seed", 2**64)
        self.ends("an order's seed", 1, "forward, reverse or shuffle:SEED expected", "run", x, "--order", f"shuffle:{2**64}")
        self.ends("--emit cubin without ptxas", 1, "--emit cubin: ptxas was not found", "compile", x, "--emit", "cubin", env={"WARPBURG_PTXAS": "/nowhere"})
        empty = self.folder / "empty"
        empty.mkdir()
        self.ends("stats of a folder without files", 1, "no .hlo file in this folder", "stats", empty)
        self.ends("stats --disable", 1, "no rule has that name", "stats", x, "--disable", "NONSENSE")
        self.ends("compile --disable", 1, "no rule has that name", "compile", x, "--disable", "NONSENSE")
        self.ends("--align 12", 2, "1, 2, 4, 8", "compile", x, "--align", 12)
        odd = self.folder / "two\nlines\tand a tab.hlo"
        odd.write_text(NEGATE)
        listed = self.folder / "list"
        listed.write_bytes(str(odd).encode() + b"\0" + str(x).encode() + b"\0")
        for how in ([odd, x], ["--files-from", listed]):
            lines = self.call("stats", *how).stdout.splitlines()
            self.check("a line break in a file's name", {json.loads(line)["file"] for line in lines} == {str(odd), str(x)}, "\n".join(lines))

    def stdout_errors(self) -> None:
        with open("/dev/full", "w") as full:
            for words in (["compile", self.negate], ["hlo", self.negate], ["eval", self.negate], ["stats", self.negate], ["run", self.negate, "--check"],
                          ["--help"], ["--version"], ["rules", "list"], ["compile", self.negate, "--json"]):
                self.ends(f"{words[0]} to a full disk", 1, "cannot write to stdout", *words, stdout=full.fileno())

    # --- signals ----------------------------------------------------------------------------------------------------
    def ended(self, number: int, words: List[str]) -> None:
        """A signal while ptxas runs: the program ends by it, and leaves neither a file nor a process."""
        temporary, pid = self.folder / f"tmp{number}{words[0]}", self.folder / f"pid{number}{words[0]}"
        temporary.mkdir()
        ptxas = self.script(f"ptxas{number}{words[0]}", f"echo $$ > {pid}.new", f"mv {pid}.new {pid}", "exec sleep 100")
        name = f"{words[0]}, signal {number}"
        p = subprocess.Popen([self.wb, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             env={**os.environ, "WARPBURG_PTXAS": ptxas, "TMPDIR": str(temporary)},
                             preexec_fn=lambda: signal.signal(number, signal.SIG_DFL) if number != signal.SIGKILL else None)
        try:
            self.check(f"{name}: ptxas starts", wait_for(pid.exists))
            p.send_signal(number)
            since = time.monotonic()
            p.wait(LAST_SECONDS)
            self.check(f"{name}: ends by it", p.returncode == -number, f"{p.returncode}")
            self.check(f"{name}: ends soon", time.monotonic() - since < 5, f"after {time.monotonic() - since:.1f} s")
            child = int(pid.read_text())
            self.check(f"{name}: ends ptxas", wait_for(lambda: not alive(child)))
            if number != signal.SIGKILL:
                self.check(f"{name}: leaves no file", wait_for(lambda: not list(temporary.iterdir())), str(list(temporary.rglob("*"))))
        finally:
            p.kill()
            p.communicate()

    def signals(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
            self.ended(number, ["compile", str(self.negate), "-o", str(self.folder / "never")])
        for number in (signal.SIGTERM, signal.SIGKILL):
            self.ended(number, ["stats", str(self.negate), "-j", "1"])
        p = self.call("compile", self.negate, "-o", self.folder / "x", env={"WARPBURG_PTXAS": self.script("dies", "echo broken", "kill -SEGV $$")})
        self.check("ptxas dies", p.returncode == 1 and "ptxas was ended by signal 11 on main" in p.stderr and "broken" in p.stderr, p.stderr)

    # --- bundles and the cache --------------------------------------------------------------------------------------
    def bundles(self) -> None:
        good, other = self.folder / "good", self.folder / "other.hlo"
        self.call("compile", self.negate, "-o", good)
        other.write_text(NEGATE.replace("negate(", "abs("))
        self.ends("a bundle", 0, "", "run", good, "--check", run=True)

        def bundle() -> Path:
            b = self.folder / "bundle"
            shutil.rmtree(b, ignore_errors=True)
            shutil.copytree(good, b)
            return b

        b = bundle()
        (b / "fusion.hlo").unlink()
        self.ends("without fusion.hlo", 1, "the bundle has no fusion.hlo", "run", b, "--check", run=True)
        for file in good.iterdir():
            b = bundle()
            text = bytearray(file.read_bytes())
            text[-3 if file.suffix == ".hlo" else len(text) // 2] ^= 1
            (b / file.name).write_bytes(text)
            p = self.call("run", b, "--check", run=True)
            self.check(f"a bit of {file.name}", p.returncode == 1 and file.name in p.stderr, f"exit {p.returncode}: {p.stderr}")
        b = bundle()
        shutil.copy(other, b / "fusion.hlo")
        self.ends("another fusion", 1, "fusion.hlo: error: this is not the file whose hash kernel.json states", "run", b, "--check", run=True)
        self.ends("another fusion, --edited", 4, "", "run", b, "--check", "--edited", run=True)
        for what, text in (("operand 0 is f32[64]{0}, and fusion.hlo has f32[32]{0}", NEGATE.replace("64", "32")),
                           ("operand 0 is f32[64]{0}, and fusion.hlo has s32[64]{0}", NEGATE.replace("f32", "s32")),
                           ("operand 0 is f32[64]{0}, and fusion.hlo has f32[8,8]{0,1}", NEGATE.replace("[64]{0}", "[8,8]{0,1}")),
                           ("1 operands, and fusion.hlo has 2",
                            NEGATE.replace("  ROOT y = f32[64]{0} negate(x)", "  z = f32[64]{0} parameter(1)\n  ROOT y = add(x, z)")),
                           ("1 outputs, and fusion.hlo has 2", NEGATE.replace("  ROOT y = f32[64]{0} negate(x)", "  y = negate(x)\n  ROOT t = tuple(x, y)"))):
            (b / "fusion.hlo").write_text(text)
            self.ends("kernel.json and fusion.hlo", 1, what, "run", b, "--check", "--edited", run=True)

    def cache(self) -> None:
        folder = self.folder / "cache"
        first = self.call("stats", self.negate, "--cache", folder).stdout
        entries = [f for f in folder.rglob("*") if f.is_file() and f.name != "lock"]
        self.check("a cache entry", len(entries) == 1, str(entries))
        for entry in entries:
            whole = entry.read_bytes()
            at = whole.index(b'"status": "ok"') + 11
            entry.write_bytes(whole[:at] + b"ko" + whole[at + 2:])
        again = self.call("stats", self.negate, "--cache", folder).stdout
        without = [{k: v for k, v in json.loads(text).items() if not k.endswith("ms")} for text in (first, again)]
        self.check("a cache entry with a changed byte", without[0] == without[1], again)

    # --- memory -----------------------------------------------------------------------------------------------------
    def memory(self) -> None:
        """A large fusion in a process of little address space, and a stack of 1 MiB: compiled, or refused. LLVM ends the process when it gets none."""
        large = self.folder / "large.hlo"
        large.write_text("HloModule large\nENTRY main {\n  x0 = f32[64]{0} parameter(0)\n"
                         + "".join(f"  x{i + 1} = f32[64]{{0}} {('add', 'multiply')[i % 2]}(x{i}, x{i * i % 41 % (i + 1)})\n" for i in range(16000))
                         + "  ROOT y = f32[64]{0} negate(x16000)\n}\n")

        def within(mib: int, *words: object) -> "subprocess.CompletedProcess[str]":
            limits = ((resource.RLIMIT_AS, mib << 20), (resource.RLIMIT_STACK, 1 << 20))
            return subprocess.run([self.wb, *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=300,
                                  preexec_fn=lambda: [resource.setrlimit(what, (n, n)) for what, n in limits])

        least = next(mib for mib in range(64, 1 << 12, 16) if within(mib, "compile", self.negate).returncode == 0)
        refused = 0
        for mib in range(least, least + 512, 16):
            p = within(mib, "compile", large)
            refused += p.returncode == 1
            self.check(f"{mib} MiB", p.returncode == 0 or p.returncode == 1 and "error: out of memory" in p.stderr, f"exit {p.returncode}: {p.stderr}")
            if p.returncode == 0:
                break
        self.check("memory was refused and sufficed", refused > 0 and p.returncode == 0, f"refused {refused} times")


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        s = Suite(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), Path(name))
        for part in (s.command_lines, s.stdout_errors, s.signals, s.bundles, s.cache, s.memory):
            part()
    print(f"{s.passed} passed, {s.failed} failed")
    return int(s.failed > 0)


if __name__ == "__main__":
    sys.exit(main())
