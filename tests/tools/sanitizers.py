"""The unit tests and the text tests of programs that are built with sanitizers.

usage: sanitizers.py [--kind address|thread] [--jobs N]     both kinds by default; build-address and build-thread are made where they are missing

address is AddressSanitizer and UndefinedBehaviorSanitizer, without leaks: LLVM keeps what it has when it gives up. thread is ThreadSanitizer. Each
report ends the program, and fails the test. A run of one kind takes 20 to 60 minutes of a core. Ends with `N passed, M failed`.
"""
from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import Dict, NamedTuple, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import run  # noqa: E402


class Kind(NamedTuple):
    sanitizers: str  # -Db_sanitize
    environment: Dict[str, str]
    left_out: Tuple[str, ...]  # text tests, by regular expressions of lit


# Freed memory is kept for a while, to see uses of it: 16 MiB, as a unit test bounds how the library grows. The processes of `stats` and `compile FOLDER`
# are forked and start threads. Memory of 20 GiB is not touched, but the shadow that ThreadSanitizer has of it is.
KINDS = {
    "address": Kind("address,undefined", {"ASAN_OPTIONS": "halt_on_error=1:detect_leaks=0:quarantine_size_mb=16",
                                          "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}, ()),
    "thread": Kind("thread", {"TSAN_OPTIONS": "halt_on_error=1:die_after_fork=0"}, ("run_sample_output",)),
}


def main() -> int:
    p = argparse.ArgumentParser()
    p.add_argument("--kind", choices=sorted(KINDS))
    p.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    o = p.parse_args()
    passed = failed = 0
    for name, kind in KINDS.items():
        if o.kind not in (None, name):
            continue
        build = f"build-{name}"
        if not os.path.exists(f"{build}/build.ninja"):
            subprocess.run(["meson", "setup", build, f"-Db_sanitize={kind.sanitizers}", "-Db_lundef=false", "-Ddebug=true"], check=True,
                           stdout=subprocess.DEVNULL)
        subprocess.run(["ninja", "-C", build, "--quiet"], check=True)
        os.environ.update(kind.environment)
        runner = run.Runner(argparse.Namespace(build=build, jobs=1))
        out = [word for text in kind.left_out for word in ("--filter-out", text)]
        for text in kind.left_out:
            print(f"skipped: {text}, which {name} has too little memory for")
        suites = run.unit(set(), "--timeout-multiplier", "20", "--num-processes", str(o.jobs)), run.lit(set(), f"-j{o.jobs}", *out)
        for good, bad in (suite(runner) for suite in suites):
            passed, failed = passed + good, failed + bad
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
