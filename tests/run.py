"""Runs the test suites and sums up what passed and failed: unit tests (cmocka, through meson), text tests (lit), the tests of gen/ and
of shaderdb (unittest), the checks of layers.py, and the programs listed in PROGRAMS. tests/README.md describes each suite.

usage: run.py --build DIR [--all] [--shared DIR] [--only lit,corpus_loops] [--jobs N] [--list]

Several suites run side by side, since many keep one core busy; what one prints comes when it has ended.
"""
from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Callable, List, Tuple

ROOT = Path(__file__).resolve().parent.parent
Counts = Tuple[int, int]  # passed, failed


class Runner:
    """Runs the commands of one suite in the root folder, and keeps what they print and the CPU time that they take."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.lines: List[str] = []
        self.cpu_seconds = 0.0

    def say(self, line: str) -> None:
        self.lines.append(line)
        if self.args.jobs == 1:
            print(line, end="", flush=True)

    def call(self, command: List[str]) -> Tuple[int, str]:
        """Exit status and output."""
        p = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        first = len(self.lines)
        assert p.stdout
        for line in p.stdout:
            self.say(line)
        _, status, used = os.wait4(p.pid, 0)
        self.cpu_seconds += used.ru_utime + used.ru_stime
        return os.waitstatus_to_exitcode(status), "".join(self.lines[first:])


def number(pattern: str, text: str) -> int:
    found = re.findall(pattern, text, re.M)
    return int(found[-1]) if found else 0


def unit(runner: Runner, *more: str) -> Counts:
    rc, text = runner.call(["meson", "test", "-C", runner.args.build, "--no-rebuild", *more])
    passed, failed = number(r"^Ok:\s+(\d+)", text), number(r"^Fail:\s+(\d+)", text) + number(r"^Timeout:\s+(\d+)", text)
    return passed, failed or int(rc != 0)


def lit(runner: Runner, *more: str) -> Counts:
    program = shutil.which("lit-22") or shutil.which("lit")
    if program is None:
        runner.say("skipped: lit is not installed (llvm-22-tools)\n")
        return 0, 0
    rc, text = runner.call([program, "--param", f"warpburg={Path(runner.args.build).resolve() / 'warpburg'}", *more, "tests/lit"])
    passed, failed = number(r"Passed\s*:\s*(\d+)", text), number(r"Failed\s*:\s*(\d+)", text) + number(r"Unresolved\s*:\s*(\d+)", text)
    return passed, failed or int(rc != 0)


def gen(runner: Runner) -> Counts:
    rc, text = runner.call([sys.executable, "-m", "unittest", "discover", "-s", "tests/gen", "-p", "test_*.py"])
    ran = number(r"^Ran (\d+) tests?", text)
    bad = number(r"failures=(\d+)", text) + number(r"errors=(\d+)", text)
    return ran - bad, bad or int(rc != 0)


def layers(runner: Runner) -> Counts:
    rc, _ = runner.call([sys.executable, "tests/layers.py", runner.args.build])
    return int(rc == 0), int(rc != 0)


# The suites that are programs of their own: name, command, further arguments of a plain run, and of one with --all. Each prints
# `N passed, M failed` last. {wb} and {run} are the executables, {build} their folder, {shared} the shared data.
PROGRAMS: List[Tuple[str, str, str, str]] = [
    ("rule_proofs", "-m gen.proof.rule --check --build {build}", "--every 8", "--fresh"),
    ("rule_mutants", "-m gen.mutation.mutate", "--sample 30", ""),
    ("rule_mutants_record", "-m gen.mutation.mutate", "--again 100003", "--again 997"),
    ("rule_corpus", "tests/rule_corpus.py", "--sample 10", ""),
    ("instruction_rules", "-m gen.proof.simulate --warpburg {wb}", "", "--every"),
    ("rewrite_matcher", "tests/rewrite_matcher.py {build}", "", "--terms 1000000"),
    ("target_facts", "tests/target_facts.py {wb}", "", "--all"),
    ("ptxas_faults", "tests/ptxas_faults.py {wb}", "", ""),
    ("prices", "tests/prices.py {wb}", "--every 20", "--every 1"),
    ("tile_rules", "tests/tile_rules.py {build}", "", ""),
    ("instruction_mutants", "tests/instruction_mutants.py {build}", "", ""),
    ("random_rules", "tests/fuzz/random_rules.py", "200", "3000"),
    ("random_terms", "tests/fuzz/random_terms.py {wb}", "60", "2000"),
    ("hlo_round_trip", "tests/hlo_round_trip.py {wb} --shared {shared}", "", "--all"),
    ("hlo_features", "tests/hlo_features.py {wb}", "", ""),
    ("index_operand_maps", "tests/index_operand_maps.py {wb} --shared {shared}", "", "--every 4"),
    ("hlo_normalise", "tests/hlo_normalise.py {wb} --shared {shared}", "", "--all"),
    ("index_map_algebra", "tests/index_map_algebra.py {wb} --shared {shared}", "--random 2000", "--random 100000"),
    ("index_map_op_counts", "tests/index_map_op_counts.py {wb} --shared {shared}", "--every 40", "--all"),
    ("eval_golden", "tests/eval_golden.py {wb} --shared {shared}", "--every 20", ""),
    ("eval_bounds", "tests/eval_bounds.py {wb} --shared {shared}", "--every 60 --random 60", "--every 10 --tightness"),
    ("seeded_faults", "tests/seeded_faults.py {run}", "", ""),
    ("race_pairs", "tests/race_pairs.py {run}", "", ""),
    ("ticket_sum", "tests/ticket_sum.py {run}", "", ""),
    ("processes", "tests/processes.py {wb} {run}", "", ""),
    ("cache", "tests/cache.py {wb}", "", ""),
    ("shared_cases", "tests/shared_cases.py {wb} --shared {shared}", "", ""),
    ("bundles", "tests/bundles.py {run} {build}/tests/libfake_cuda_driver.so", "", ""),
    ("nvcc_kernels", "tests/nvcc_kernels.py {run}", "", ""),
    ("libdevice_errors", "tests/libdevice_errors.py {build}/tests/libdevice_errors --sample", "", ""),
    ("function_errors", "-m gen.proof.measure --check --build {build}", "--sample 24", "--every"),
    ("functions_page", "tests/functions_page.py", "", ""),
    ("formula_errors", "tests/formula_errors.py {wb} --shared {shared}", "", ""),
    ("significands", "tests/significands.py", "--step 16", ""),
    ("function_values", "tests/function_values.py {wb}", "--count 40 --targets sm_90", "--count 1000"),
    ("complex_values", "tests/complex_values.py {wb}", "--targets sm_90", "--targets sm_75,sm_80,sm_86,sm_89,sm_90,sm_100,sm_120"),
    ("without_libdevice", "tests/without_libdevice.py {wb}", "--targets sm_90", "--all"),
    ("sim_threads", "tests/sim_threads.py {run}", "", ""),
    ("sim_instructions", "tests/sim_instructions.py {run}", "--every 4 --count 128", ""),
    ("xla_kernels", "tests/xla_kernels.py {run} --shared {shared}", "--most 16384 --every 40", "--most 65536 --every 10"),
    ("profile", "tests/profile.py {wb} --shared {shared}", "--every 300", "--every 20"),
    ("profile_page", "tests/profile_page.py {wb}", "", ""),
    ("kernel_page", "tests/kernel_page.py {wb}", "", ""),
    ("gpu_package", "tests/gpu_package.py {wb} {run} {build}/tests/libfake_cuda_driver.so", "", ""),
    ("rates_package", "tests/rates_package.py {build}/tests/libfake_rates_driver.so", "", ""),
    ("doors_package", "tests/doors_package.py {build}", "", ""),
    ("layouts", "tests/layouts.py {wb}", "", "--count 60"),
    ("shared_reductions", "tests/shared_reductions.py {wb}", "", "--count 30 --every 3"),
    ("random_reductions", "tests/random_reductions.py {wb} {run}", "--count 50", "--count 5000"),
    ("random_chains", "tests/fuzz/random_chains.py {wb}", "", "2000"),
    ("row_merges", "tests/row_merges.py {wb}", "", ""),
    ("row_texts", "tests/row_texts.py {wb}", "--pairs 1", "--pairs 28"),
    ("corpus_rows", "tests/corpus_rows.py {wb} --shared {shared}", "--every 16", "--pairs 28 --launches"),
    ("corpus_reductions", "tests/corpus_reductions.py {wb} --shared {shared}", "--parts emitter-tests,fusions --every 24", "--pairs 2"),
    ("random_transposes", "tests/random_transposes.py {wb} {run}", "--count 60", "--count 3000"),
    ("tile_wavefronts", "tests/tile_wavefronts.py {wb}", "", ""),
    ("scan_mutants", "tests/scan_mutants.py {wb}", "", ""),
    ("random_steps", "tests/random_steps.py {wb}", "--count 20", "--count 1000"),
    ("random_scans", "tests/random_scans.py {wb}", "--count 35", "--count 2000"),
    ("random_sorts", "tests/random_sorts.py {wb}", "--count 35", "--count 2000"),
    ("first_of_sorts", "tests/first_of_sorts.py {wb}", "", ""),
    ("random_scatters", "tests/random_scatters.py {wb} {run}", "--count 35", "--count 1000"),
    ("shared_reduction_mutants", "tests/shared_reduction_mutants.py {wb}", "", ""),
    ("exchange_mutants", "tests/exchange_mutants.py {wb}", "--every 24", ""),
    ("scatter_mutants", "tests/scatter_mutants.py {wb}", "--every 3", ""),
    ("compile_growth", "tests/compile_growth.py {wb}", "", ""),
    ("compile_depth", "tests/compile_depth.py {wb}", "", "--all"),
    ("degenerate_shapes", "tests/degenerate_shapes.py {wb}", "", "--targets sm_75,sm_80,sm_90,sm_100,sm_120"),
    ("element_types", "tests/element_types.py {wb}", "", "--all"),
    ("ml_dtypes_values", "tests/ml_dtypes_values.py {wb}", "", ""),
    ("random_fusions", "tests/fuzz/random_fusions.py {wb}", "60", "10000"),
    ("random_loops", "tests/fuzz/random_loops.py {wb}", "60", "3000"),
    ("random_programs", "tests/fuzz/random_programs.py {wb}", "40", "2000"),
    ("random_windows", "tests/fuzz/random_windows.py {wb}", "40", "2000"),
    ("step_order", "tests/step_order.py {wb}", "--every 40", "--all"),
    ("library", "tests/library.py {build}", "", "--compiles 1000"),
    ("python_package", "tests/python_package.py {build}", "", "--wheel"),
    ("float_environment", "tests/float_environment.py {build}", "", ""),
    ("jax_door", "tests/jax_door.py {build}", "", "--ends"),
    ("jax_harnesses", "tests/jax_harnesses.py {wb} {build}", "", "--every 1"),
    ("first_hour", "tests/first_hour.py {build}", "", ""),
    ("command_line", "tests/command_line.py {wb} {run}", "", ""),
    ("terminal", "tests/terminal.py {wb}", "", ""),
    ("shaderdb", "tests/shaderdb/all.py", "", "--all"),
    ("corpus_loops", "tests/corpus_loops.py {wb} --shared {shared}", "", "--all"),
    ("chain_mutants", "tests/chain_mutants.py {wb}", "", "--all"),
    ("kernel_mutants", "tests/kernel_mutants.py {wb} {run} --shared {shared}", "--kernels 30 --mutants 6 --seeds 200", "--kernels 200 --mutants 10"),
    ("corpus_outcomes", "tests/corpus_outcomes.py {wb} --shared {shared}", "--every 80", "--targets sm_75,sm_80,sm_86,sm_89,sm_90,sm_100,sm_120"),
    ("programs", "tests/programs.py {wb} {run} {build}/tests/program_fuzz --shared {shared}", "--every 20 --every-variant 20", ""),
    ("judged_reductions", "tests/judged_reductions.py {wb} --shared {shared}", "--every 60", ""),
]


Suite = Callable[[Runner], Counts]


def program(command: str, sample: str, full: str) -> Suite:
    def run(runner: Runner) -> Counts:
        args = runner.args
        text = f"{command} {full if args.all else sample}".format(wb=Path(args.build) / "warpburg", run=Path(args.build) / "warpburg-run",
                                                              shared=args.shared, build=args.build)
        rc, said = runner.call([sys.executable, *text.split()])
        return number(r"^(\d+) passed, \d+ failed", said), number(r"^\d+ passed, (\d+) failed", said) or int(rc != 0)

    return run


def run_suite(name: str, suite: Suite, args: argparse.Namespace) -> Tuple[Runner, Counts]:
    runner, since = Runner(args), time.monotonic()
    runner.say(f"--- {name}\n")
    passed, failed = suite(runner)
    runner.say(f"--- {name}: {passed} passed, {failed} failed in {time.monotonic() - since:.0f} s, {runner.cpu_seconds:.0f} s of CPU\n")
    return runner, (passed, failed)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build")
    parser.add_argument("--shared", default="../shared")
    parser.add_argument("--all", action="store_true", help="the long tests: every file, target and sample")
    parser.add_argument("--only", default="", help="run these suites, separated by commas")
    parser.add_argument("-j", "--jobs", type=int, default=min(2, os.cpu_count() or 1), help="suites that run side by side (default: %(default)s)")
    parser.add_argument("--list", action="store_true", help="print the names of the suites")
    args = parser.parse_args()
    suites: List[Tuple[str, Suite]] = [("unit", unit), ("lit", lit), ("gen", gen), ("layers", layers)]
    suites += [(name, program(*words)) for name, *words in PROGRAMS]
    if args.list:
        print("\n".join(name for name, _ in suites))
        return 0
    only = args.only.split(",") if args.only else []
    unknown = set(only) - {name for name, _ in suites}
    if unknown:
        parser.error(f"no suite {', '.join(sorted(unknown))}; --list prints their names")
    os.environ.setdefault("WARPBURG_CACHE", "off")  # what a suite tests is made anew
    os.environ["WARPBURG"] = str(Path(args.build).resolve() / "warpburg")
    passed = failed = 0
    with ThreadPoolExecutor(max_workers=args.jobs) as pool:
        for ended in as_completed(pool.submit(run_suite, name, suite, args) for name, suite in suites if not only or name in only):
            runner, (p, f) = ended.result()
            if args.jobs > 1:
                print("".join(runner.lines), end="", flush=True)
            passed, failed = passed + p, failed + f
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
