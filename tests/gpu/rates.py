#!/usr/bin/env python3
"""Measures what patterns/rates.py, patterns/sm*.py and patterns/prices.tsv state: on a GPU, with kernels of one form of instruction each.

    rates.py make --package DIR [--target sm_90] [--forms F,..]   DIR: cubins, jobs.json and what runs them: `python3 DIR/run_rates.py`
    rates.py report --package DIR --results rates.jsonl [--page shaderdb/history/rates.md] [--note TEXT]

A package needs ptxas to be made; to be run, a GPU of the target, its driver and Python. Kernels of arithmetic are chains of a form in a loop
(rate_kernels.py), of one warp for its latency and of 32 warps on one SM for its throughput; ptxas takes a form apart, so that each is made in several
ways, and the one is taken whose machine code has the form as often as it was written (rate_code.py). rate_memory.py and rate_threads.py
have the kernels of memory, atomics, barriers, branches and launches; rate_report.py says how measured and stated compare.
"""
from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, Dict, List, Tuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(ROOT), str(ROOT / "shaderdb"), str(ROOT / "tests" / "bench")]

from gen import load, prices  # noqa: E402
from gen.proof import simulate  # noqa: E402
from rate_code import Choice, assemble, chosen, counted, machine_cost  # noqa: E402
from rate_kernels import HEAD, IN, OUT, REGION, VALUES, beside, measurable  # noqa: E402
import rate_report  # noqa: E402
import rate_threads  # noqa: E402
from tools import environment  # noqa: E402

CLOCKS, WARPS = {False: 100000, True: 20000}, 8  # that a launch of a form takes, for throughput and for latency; warps of a sub-partition


def forms_of(table: prices.Table, target: str) -> List[str]:
    """Forms with a row for the target that says what they are, and that a chain can hold."""
    return [f for f in sorted(table.forms) if target in table.forms[f] and table.forms[f][target].ops and measurable(f)]


def form_job(c: Choice, latency: bool, s: load.RuleSet, sass: prices.Sass, price: prices.Price) -> Dict[str, Any]:
    turn = c.copies * prices.cost(price, sass, s).latency if latency else WARPS * machine_cost(dict(c.loop), s, sass)
    mode = "latency" if latency else "throughput"
    return {"kind": "clocks", "name": f"{mode} {c.form}", "form": c.form, "mode": mode, "kernel": c.name, "cubin": f"{mode}.cubin", "grid": 1,
            "block": 32 if latency else 1024, "turns": max(4, min(2000, int(CLOCKS[latency] / max(turn, 1.0)))), "args": [0], "ops": c.copies,
            "warps": 1 if latency else 32, "loop": dict(c.loop), "off": round(c.off, 3), "beside": beside(c.form, c.way),
            "way": [c.way.source, c.way.glue, c.way.breaker], "chains": c.chains}


def make(package: Path, target: str, only: List[str]) -> Tuple[int, int, List[str]]:
    """Returns the numbers of jobs and of bytes, and the kernels that ptxas does not take."""
    ptxas = simulate.ptxas_of()
    if ptxas is None:
        raise SystemExit("error: ptxas is not found (WARPBURG_PTXAS can name it)")
    s, sass = load.load_target(target.replace("_", "")), prices.load_sass()
    table, head = prices.load_table(sass), HEAD.format(s.values["ptx"], target)
    if package.exists():
        shutil.rmtree(package)
    package.mkdir(parents=True)
    texts, jobs = rate_threads.all_of()
    forms = [f for f in forms_of(table, target) if not only or f in only]
    with tempfile.TemporaryDirectory() as folder:
        code = assemble(ptxas, head, list(texts.items()), Path(folder) / "memory.cubin", target)
        refused = sorted(set(texts) - set(code))
        jobs = [{**j, "cubin": "memory.cubin", "loop": counted(code[j["kernel"]], sass, target)} for j in jobs if j["kernel"] in code]
        for latency, name in ((False, "throughput.cubin"), (True, "latency.cubin")):
            def build(h: str, kernels: List[Tuple[str, str]]) -> Dict[str, Any]:
                return assemble(ptxas, h, kernels, Path(folder) / "try.cubin", target)

            best = chosen(forms, latency, table, sass, target, head, build)
            refused += [f"{name} {f}" for f in forms if f not in best]
            assemble(ptxas, head, [(c.name, c.text) for c in best.values()], Path(folder) / name, target)
            jobs += [form_job(c, latency, s, sass, table.forms[c.form][target]) for c in best.values()]
        for cubin in Path(folder).glob("*.cubin"):
            if cubin.name != "try.cubin":
                shutil.copy(cubin, package / cubin.name)
    assert IN + len(VALUES) * REGION <= OUT
    for name in ("run_rates.py", "cuda_calls.py"):
        shutil.copy(HERE / name, package / name)
    inputs = [v.to_bytes(8, "little").hex() for v in VALUES]
    made = {"target": target, "ptxas": table.version, "at": IN, "region": REGION, "inputs": inputs, "jobs": jobs}
    (package / "jobs.json").write_text(json.dumps(made), encoding="utf-8")
    return len(jobs), sum(f.stat().st_size for f in package.iterdir()), refused


def main() -> int:
    p = argparse.ArgumentParser(prog="rates.py")
    p.add_argument("command", choices=("make", "report"))
    p.add_argument("--package", type=Path, default=ROOT / "build" / "rates-package")
    p.add_argument("--target", default="sm_90")
    p.add_argument("--forms", default="", help="these forms alone, separated by commas")
    p.add_argument("--results", type=Path, help="of a run on a GPU")
    p.add_argument("--note", default="", help="a line of the report's head: when it was measured, by which driver")
    p.add_argument("--page", type=Path, help="write the report to this file")
    o = p.parse_args()
    os.environ.update(environment())
    if o.command == "make":
        jobs, size, refused = make(o.package, o.target, [f for f in o.forms.split(",") if f])
        if refused:
            print(f"{len(refused)} kernels were not made: {', '.join(refused)}")
        print(f"{jobs} jobs in {o.package}, {size / 1e6:.1f} MB: run `python3 run_rates.py` in it on a machine with a GPU, then\n"
              f"rates.py report --package {o.package} --results rates.jsonl")
        return 0
    text = rate_report.report(o.package, o.results or o.package / "rates.jsonl", o.note)
    if o.page:
        o.page.write_text(text, encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
