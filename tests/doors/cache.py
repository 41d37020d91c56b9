"""The cache of compiled kernels: a second run compiles and assembles nothing and leaves the same bytes; what changes a kernel changes its entry;
many writers, damaged entries, a folder that cannot be written and a full disk do no harm; the oldest entries go first.

usage: cache.py WARPBURG
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
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Callable, Dict, List

ROOT = Path(__file__).resolve().parents[2]
EXP = "HloModule m\nENTRY main {\n  x = f32[SIZE]{0} parameter(0)\n  ROOT y = f32[SIZE]{0} exponential(x)\n}\n"
# Two fusions of one array, a program of two kernels.
PROGRAM = ("HloModule p\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}\n"
           "ENTRY main {\n  x = f32[512,512]{1,0} parameter(0)\n  z = f32[] constant(0)\n  s = f32[512]{0} reduce(x, z), dimensions={0}, to_apply=add\n"
           "  t = f32[] reduce(s, z), dimensions={0}, to_apply=add\n  u = f32[512,512]{1,0} broadcast(t), dimensions={}\n"
           "  v = f32[512,512]{0,1} transpose(x), dimensions={1,0}\n  w = f32[512,512]{1,0} dot(x, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
           "  y = f32[512,512]{1,0} add(w, u)\n  ROOT r = f32[512,512]{1,0} exponential(y)\n}\n")


class Suite:
    def __init__(self, wb: str, folder: Path) -> None:
        self.wb, self.folder, self.cache = str(Path(wb).resolve()), folder, folder / "cache"
        self.passed = self.failed = 0
        self.calls = folder / "calls"
        self.ptxas = folder / "ptxas"      # counts its calls; the "machine code" is the text
        self.ptxas.write_text('#!/bin/sh\n[ "$1" = --version ] && echo release 1.0 && exit\n'
                              f'echo "$@" >>{self.calls}\nwhile [ "$1" != -o ]; do shift; done\ncp "$3" "$2"\n')
        self.ptxas.chmod(0o755)

    def check(self, name: str, good: bool, said: object = "") -> None:
        self.passed += good
        self.failed += not good
        if not good:
            print(f"{name}: {said}", flush=True)

    def call(self, *words: object, cache: object = None, **env: str) -> subprocess.CompletedProcess:
        where = {"WARPBURG_CACHE": str(cache or self.cache), "WARPBURG_PTXAS": str(self.ptxas)}
        return subprocess.run([self.wb, *map(str, words)], capture_output=True, text=True, env={**os.environ, **where, **env}, timeout=120)

    def assembled(self) -> int:
        """Runs of ptxas since the last call."""
        n = len(self.calls.read_text().splitlines()) if self.calls.exists() else 0
        self.calls.unlink(missing_ok=True)
        return n

    def size(self, **more: object) -> Dict[str, int]:
        return json.loads(self.call("cache", "--json", **more).stdout)      # type: ignore[arg-type]

    def file(self, name: str, text: str) -> Path:
        p = self.folder / name
        p.write_text(text)
        return p

    @staticmethod
    def contents(folder: Path) -> Dict[str, bytes]:
        return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}

    # --- what comes from the cache is what a compile makes --------------------------------------------------------------
    def same(self) -> None:
        many = self.folder / "many"
        many.mkdir()
        for n in range(5):
            (many / f"exp{n}.hlo").write_text(EXP.replace("SIZE", str(1000 + n)))
        (many / "gelu.hlo").write_text((ROOT / "shaderdb/corpus/gelu.hlo").read_text())
        (many / "program.hlo").write_text(PROGRAM)
        outs: List[Dict[str, bytes]] = []
        said: List[str] = []
        for words in (["--no-cache"], [], [], ["-j", "1"]):
            out = self.folder / f"out{len(outs)}"
            p = self.call("compile", many, "-o", out, "--target", "sm_80", *words)
            self.check(f"compile {words}", p.returncode == 0, p.stderr)
            outs.append(self.contents(out))
            said.append((p.stdout + p.stderr).replace(str(out), "OUT"))
            runs = self.assembled()
            self.check(f"{words}: run {len(outs)} assembles", (runs >= 6) == (len(outs) < 3), f"{runs} times")
        self.check("the bytes are those without a cache", all(o == outs[0] for o in outs) and len(outs[0]) > 20, [sorted(o) for o in outs])
        self.check("so is what is said", all(s == said[0] for s in said), said)
        kept = b"".join(e.read_bytes()[:200] for e in self.cache.glob("??/*"))
        self.check("what a text is, its cut, kernels and code are kept", all(w in kept for w in (b"kind kernel", b"cut 3\n", b"kernel 1\n", b"cubin 1\n")))
        text = [self.call("compile", many / "gelu.hlo", *w).stdout for w in (["--no-cache"], [], [])]
        self.check("PTX with its comments", text[0] == text[1] == text[2] and "//" in text[0], text[1])
        report = [self.call("compile", many / "gelu.hlo", "--explain", *w).stdout for w in (["--no-cache"], [], [])]
        self.check("the report of --explain", report[0] == report[1] == report[2] and "elements" in report[0], report[1])
        run = [self.call("run", many / "program.hlo", "--check", "--target", "sm_80", *w) for w in (["--no-cache"], [], [])]
        self.check("run of a program", len({(p.returncode, p.stdout) for p in run}) == 1 and run[0].returncode == 0, [p.stderr + p.stdout for p in run])

    def keys(self) -> None:
        """What changes a kernel takes another entry; the name of its file does not."""
        f, g = self.file("a.hlo", EXP.replace("SIZE", "4096")), self.file("b.hlo", EXP.replace("SIZE", "4096"))
        out = self.folder / "keys"
        self.call("compile", f, "-o", out)
        self.assembled()
        self.call("compile", g, "-o", out)
        self.check("another name", self.assembled() == 0)
        for words in (["--target", "sm_80"], ["--accuracy", "approx"], ["--lines"], ["--disable", "layouts.py:1"]):
            before = self.size()["entries"]
            p = self.call("compile", f, "-o", out, *words)
            self.check(f"{words}", p.returncode != 0 or self.size()["entries"] > before, p.stderr)
        self.assembled()
        self.ptxas.write_text(self.ptxas.read_text() + "# another one\n")
        self.call("compile", f, "-o", out)
        self.check("another assembler assembles", self.assembled() == 1)

    # --- harm ---------------------------------------------------------------------------------------------------------
    def damage(self) -> None:
        f, out = self.file("d.hlo", EXP.replace("SIZE", "777")), self.folder / "damaged"
        self.call("compile", f, "-o", out)
        good = self.contents(out)
        for how in (lambda b: b[:len(b) // 2], lambda b: b[:-3] + b"xyz", lambda b: b"", lambda b: b.replace(b"warpburg-entry 1", b"warpburg-entry 9")):
            for entry in self.cache.glob("??/*"):
                entry.write_bytes(how(entry.read_bytes()))
            p = self.call("compile", f, "-o", out)
            self.check("a damaged entry", p.returncode == 0 and self.contents(out) == good, p.stderr)
        self.assembled()
        self.call("compile", f, "-o", out)
        self.check("is replaced", self.assembled() == 0)

    def writers(self) -> None:
        """Twelve processes that write the same entries at once, while others empty the cache."""
        many = self.folder / "many"

        def one(n: int) -> Dict[str, bytes]:
            if n % 4 == 3:
                self.call("cache", "--empty", cache=self.folder / "shared")
                return {}
            out = self.folder / f"writer{n}"
            p = self.call("compile", many, "-o", out, "--target", "sm_80", "-j", "2", cache=self.folder / "shared")
            return self.contents(out) if p.returncode == 0 else {"": p.stderr.encode()}

        with ThreadPoolExecutor(4) as pool:
            outs = [o for o in pool.map(one, range(12)) if o]
        self.check("many writers", all(o == outs[0] for o in outs) and len(outs[0]) > 20, [o.get("") for o in outs])
        left = [p for p in (self.folder / "shared").rglob("*") if p.is_file() and p.name.count(".")]
        self.check("no draft is left", not left, left)

    def no_room(self) -> None:
        f, out = self.file("n.hlo", EXP.replace("SIZE", "555")), self.folder / "no_room"
        blocked = self.file("blocked", "a file where the folder would be")
        p = self.call("compile", f, "-o", out, cache=blocked)
        self.check("a folder that cannot be made", p.returncode == 0 and not p.stderr, p.stderr)
        p = self.call("cache", cache=blocked)
        self.check("cache of no folder", p.returncode == 0 and ": 0 entries" in p.stdout, p.stdout + p.stderr)
        # A limit on the size of files is what a full disk is to a writer. The bundle goes nowhere, so only entries are written.
        full = self.folder / "full"

        def limit() -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))

        p = subprocess.run([self.wb, "compile", str(f)], capture_output=True, text=True, env={**os.environ, "WARPBURG_CACHE": str(full)}, preexec_fn=limit,
                           timeout=60)
        self.check("a full disk", p.returncode == 0 and ".entry" in p.stdout and not p.stderr, p.stderr)
        self.check("nothing half written", not [e for e in full.rglob("*") if e.is_file() and "." in e.name], list(full.rglob("*")))
        self.check("off", self.call("cache", WARPBURG_CACHE="off").stdout.startswith("there is no cache"))

    def bounded(self) -> None:
        """Above the limit the entries that were used least recently go, to nine tenths of it."""
        cache = self.folder / "bounded"
        for n in range(8):
            self.call("compile", self.file(f"l{n}.hlo", EXP.replace("SIZE", str(3000 + n))), "-o", self.folder / "l", cache=cache)
        for entry in cache.glob("??/*"):
            with entry.open("ab") as big:
                big.write(b" " * 300000)
            os.utime(entry, (time.time() - 7200,) * 2)
        kept = next(iter(sorted(cache.glob("??/*"))))
        os.utime(kept)
        os.utime(cache / "lock", (time.time() - 7200,) * 2)
        self.call("compile", self.file("l8.hlo", EXP.replace("SIZE", "9999")), "-o", self.folder / "l", cache=cache, WARPBURG_CACHE_LIMIT="2")
        size = self.size(cache=cache, WARPBURG_CACHE_LIMIT="2")
        self.check("the limit holds", 0 < size["bytes"] <= 2 << 20 and size["limit"] == 2 << 20, size)
        self.check("the newest stay", kept.exists() and size["entries"] > 2, size)
        self.check("emptied", self.call("cache", "--empty", "--json", cache=cache).stdout.count('"entries": 0') == 1)

    def assembler(self) -> None:
        p = self.call("assembler", "--json")
        found = json.loads(p.stdout)
        self.check("the named assembler", found["ptxas"] == {"path": str(self.ptxas), "version": "release 1.0", "used": True}, p.stdout)
        p = self.call("assembler", "--link", WARPBURG_NVIDIA="/nowhere", VIRTUAL_ENV="", CONDA_PREFIX="", PATH="/nowhere")
        self.check("no archive", found["archive"]["path"] is not None or (p.returncode == 1 and "pip install nvidia-nvptxcompiler" in p.stderr), p.stderr)
        p = self.call("compile", self.file("s.hlo", EXP.replace("SIZE", "5")), "-o", self.folder / "s", "--no-cache", WARPBURG_PTXAS="nvptxcompiler")
        self.check("a library that is asked for has no fallback", "WARPBURG_PTXAS is nvptxcompiler" in p.stderr, p.stderr)

    def too_old(self) -> None:
        """An assembler that refuses the version of PTX, by a status or by a signal after the message, is as good as none."""
        for end in ("exit 255", "kill -11 $$"):
            old = self.folder / "old-ptxas"
            old.write_text(f"#!/bin/sh\necho \"ptxas k.ptx, line 5; fatal   : Unsupported .version 8.8; current version is '8.4'\"\n{end}\n")
            old.chmod(0o755)
            out = self.folder / "by-old"
            shutil.rmtree(out, ignore_errors=True)
            p = self.call("compile", self.file("o.hlo", EXP.replace("SIZE", "9")), "-o", out, "--no-cache", WARPBURG_PTXAS=str(old))
            self.check(f"{end}: PTX alone", p.returncode == 0 and (out / "kernel.ptx").exists() and not list(out.glob("*.cubin")), p.stderr)
            self.check(f"{end}: it says why", "old-ptxas is too old: Unsupported .version 8.8; current version is '8.4'" in p.stderr, p.stderr)
            p = self.call("stats", self.folder / "o.hlo", WARPBURG_PTXAS=str(old))
            self.check(f"{end}: statistics", p.returncode == 0 and '"status": "ok"' in p.stdout and '"sass"' not in p.stdout, p.stdout + p.stderr)

    def linking(self) -> None:
        """A library of NVIDIA's archive: of C alone and with C++ inside; by a compiler of two words, and without one."""
        cc = shutil.which("cc")
        if not (cc and shutil.which("ar")):
            print("skipped: linking of an archive, as there is no cc or ar")
            return
        for name, options in (("c", []), ("c++", ["-DNEEDS_CXX"])):
            lib, cache = self.folder / name / "nvidia/cu13/lib", self.folder / name / "cache"
            lib.mkdir(parents=True)
            made = [["cc", "-fPIC", *options, "-c", str(ROOT / "tests/gpu/fake_nvptxcompiler.c"), "-o", f"{lib}/fake.o"],
                    ["ar", "rcs", f"{lib}/libnvptxcompiler_static.a", f"{lib}/fake.o"]]
            for words in made:
                subprocess.run(words, check=True)
            env = {"WARPBURG_NVIDIA": str(lib.parents[1]), "VIRTUAL_ENV": "", "CONDA_PREFIX": "", "WARPBURG_PTXAS": "",
                   "PATH": f"{Path(cc).parent}:/usr/bin:/bin"}
            p = self.call("assembler", "--link", cache=cache, **env, CC="no-such-compiler at all")
            self.check(f"{name}: no compiler", p.returncode == 1 and "no-such-compiler cannot be started; CC names a C compiler" in p.stderr, p.stderr)
            p = self.call("assembler", "--link", cache=cache, **env, CC="env cc")
            self.check(f"{name}: linked", p.returncode == 0 and "nvptxcompiler 13.7, assembles" in p.stdout, p.stdout + p.stderr)

            def assembled() -> str:
                return self.call("compile", self.file("l.hlo", EXP.replace("SIZE", "7")), "--emit", "cubin", "-o", self.folder / name / "o", cache=cache,
                                 **env).stderr

            said = assembled()
            cubin = self.folder / name / "o/kernel.sm_90.cubin"
            self.check(f"{name}: it assembles", b"-arch=sm_90" in cubin.read_bytes()[:20], said)
            self.unloadable(name, cache, {**env, "PATH": f"{self.folder}:{env['PATH']}"}, assembled, cubin)

    def unloadable(self, name: str, cache: Path, env: Dict[str, str], assembled: Callable[[], str], cubin: Path) -> None:
        """A library that cannot be loaded: the ptxas that is found assembles, and what it makes is not kept as the library's."""
        library = cache / "assembler/libnvptxcompiler.so"
        good = library.read_bytes()
        library.write_bytes(b"x" * len(good))
        said = self.call("assembler", cache=cache, **env)
        lines = said.stdout.splitlines()
        self.check(f"{name}: it says what assembles", any("cannot be loaded" in x and "assembles" not in x for x in lines)
                   and any(x.startswith("ptxas") and x.endswith("assembles") for x in lines), said.stdout)
        self.call("cache", "--empty", cache=cache)
        for _ in range(2):
            cubin.unlink()
            self.assembled()
            self.call("compile", self.folder / "l.hlo", "-o", cubin.parent, cache=cache, **env)
            self.check(f"{name}: another one assembles", cubin.exists() and b"Generated by warpburg" in cubin.read_bytes()[:40] and self.assembled() == 1)
        asked = self.call("compile", self.folder / "l.hlo", "-o", cubin.parent, "--no-cache", cache=cache, **{**env, "WARPBURG_PTXAS": "nvptxcompiler"})
        self.check(f"{name}: one that is asked for has no other", "cannot be loaded: " in asked.stderr, asked.stderr)
        library.write_bytes(good)
        self.check(f"{name}: it assembles again", b"-arch=sm_90" in (assembled(), cubin.read_bytes())[1][:20])


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        s = Suite(sys.argv[1], Path(folder))
        for part in (s.same, s.keys, s.damage, s.writers, s.no_room, s.bounded, s.assembler, s.too_old, s.linking):
            part()
    print(f"{s.passed} passed, {s.failed} failed")
    return s.failed > 0


if __name__ == "__main__":
    sys.exit(main())
