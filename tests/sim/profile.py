"""Profiles of our kernels and of XLA's: what must hold of any of them, and the lines of machine code against nvdisasm.

For a sample of the shared corpus `run FILE.hlo --profile --against XLA.ptx --json` must end without a fault, and of every launch: shares sum to 1, no term
is larger than the work, DRAM moves at least what the fusion must read and write and L2 as much, almost every instruction has a price, and
without --blocks the figures of the same run by --counts agree. With ptxas and nvdisasm at hand, each machine instruction comes from the line of PTX that
nvdisasm says.

    profile.py build/warpburg [--every 150]
"""
import argparse
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Dict, List, Tuple

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "bench"), str(ROOT / "shaderdb")]

import model_xla  # noqa: E402
from tools import environment  # noqa: E402

MOST_UNPRICED = 0.02    # of the executed instructions of one kernel
ROUNDING = 1e-4
OWN = [ROOT / "shaderdb" / "corpus" / f"{name}.hlo" for name in ("gelu", "gelu_f32", "odd_tail", "two_outputs", "convert_chains")]


def call(words: List[str]) -> Any:
    return subprocess.run(words, capture_output=True, text=True, env={**os.environ, **dict(environment())}, check=False, timeout=600)


def faults_of(kernel: Dict[str, Any]) -> List[str]:
    out = []
    for launch in kernel["launches"]:
        us, work = launch["us"], launch["work"]
        parts = launch["launch"] + launch["latency"] + launch["code"] + work + launch["tail"]
        if abs(parts - us) > ROUNDING * us:
            out.append(f"parts sum to {parts}, the time is {us}")
        for name, term in launch["terms"].items():
            if term["us"] > work * (1 + ROUNDING):
                out.append(f"{name} takes {term['us']} us of {work}")
        for key in ("by_line", "by_rule", "by_instruction", "by_form"):
            total = sum(s["share"] for s in launch[key])
            if work > 0 and abs(total - 1) > 0.01:
                out.append(f"shares {key} sum to {total}")
        if launch["unpriced"] > MOST_UNPRICED * launch["executed"]:
            names = sorted({i["form"] for i in launch["instructions"] if not i["priced"]})
            out.append(f"{launch['unpriced']:.0f} of {launch['executed']:.0f} instructions have no price: {' '.join(names)}")
        if launch["machine_unpriced"] > MOST_UNPRICED * launch["executed"]:
            out.append(f"{launch['machine_unpriced']:.0f} machine instructions have no price")
        if launch["terms"]["l2"]["amount"] < (launch["distinct"] if launch["blocks"] == launch["grid"] else 0) * (1 - ROUNDING):
            out.append(f"L2 moves {launch['terms']['l2']['amount']} bytes, DRAM {launch['distinct']}")
        for i in launch["instructions"]:
            for flow in (i.get("global"), i.get("shared")):
                if flow and (flow["ideal"] > flow["wavefronts"] or flow.get("needed", 0) > flow.get("sectors", 0) or flow.get("dram", 0) > flow.get("l2", 0)):
                    out.append(f"line {i['line']}: {flow}")
        stored = sum(b["stored"] for b in launch["buffers"])
        if stored == 0 and launch["blocks"] == launch["grid"]:
            out.append("nothing is stored")
    return out


def pair(warpburg: str, shared: Path, part: str, row: Dict[str, str]) -> Tuple[str, List[str]]:
    """("ok" | "declined" | .., what does not hold)."""
    file = row["file"]
    ptx = shared / "anchors" / "ptx" / part / (file[:-len(".hlo")].replace("/", "__") + ".ptx")
    words = [warpburg, "run", str(shared / "corpus" / part / file), "--profile", "--json", "-j", "1", "--against",
             f"{ptx}:{row['grid']}:{row['block']}:{row['shared'] or 0}"]
    p = call(words + (["--blocks", "16"] if model_xla.threads(row) > model_xla.THREADS else []))
    if p.returncode == 3 or "a sample of blocks" in p.stderr:
        return "declined", []
    if p.returncode:
        return "failed", [(p.stdout + p.stderr).strip()[-300:]]
    return "ok", [f"{k['file'].rsplit('/', 1)[-1]}: {x}" for k in json.loads(p.stdout)["kernels"] for x in faults_of(k)]


def counts_agree(warpburg: str, file: Path) -> List[str]:
    """The profile of one of the tree's own fusions, made small, against --counts."""
    with tempfile.TemporaryDirectory() as folder:
        text = file.read_text(encoding="utf-8")
        if file.stem.startswith("gelu"):
            text = re.sub(r"\[\d+,\d+,\d+\]", "[4,64,256]", text)
        small = Path(folder) / file.name
        small.write_text(text, encoding="utf-8")
        p, q = call([warpburg, "run", str(small), "--profile", "--json"]), call([warpburg, "run", str(small), "--counts", "--json"])
    if p.returncode or q.returncode:
        return [] if 3 in (p.returncode, q.returncode) else [(p.stderr + q.stderr)[-300:]]
    launches, counts = json.loads(p.stdout)["kernels"][0]["launches"], json.loads(q.stdout)["counts"]
    instructions = [i for launch in launches for i in launch["instructions"]]
    out = []
    for name, mine, theirs in (
            ("warps", sum(i["warps"] for i in instructions), counts["warp_instructions"]),
            ("threads", sum(i["threads"] for i in instructions), counts["thread_instructions"]),
            ("bytes", sum(i["global"]["bytes"] for i in instructions if "global" in i), sum(t["bytes"] for t in counts["memory"].get("global", {}).values())),
            ("sectors", sum(i["global"]["sectors"] for i in instructions if "global" in i),
             sum(t["sectors"] for t in counts["memory"].get("global", {}).values()))):
        if mine != theirs:
            out.append(f"{name}: {mine} by the profile, {theirs} by --counts")
    return out


def tool(name: str) -> str:
    """The path of a tool of CUDA: next to ptxas, on PATH, in .venv; '' if it is nowhere."""
    ptxas = os.environ.get("WARPBURG_PTXAS") or dict(environment()).get("WARPBURG_PTXAS") or shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas"
    found = [str(Path(ptxas).parent / name), shutil.which(name) or "", *map(str, (ROOT / ".venv").glob(f"lib/python*/site-packages/nvidia/*/bin/{name}"))]
    return next((f for f in found if f and os.path.exists(f)), "")


def lines_agree(warpburg: str, ptx: Path, row: Dict[str, str], hlo: Path) -> List[str]:
    """The page has nvdisasm's lines, the JSON those that were read from the cubin: issue slots must be those of nvdisasm's text."""
    ptxas, nvdisasm = tool("ptxas"), tool("nvdisasm")
    with tempfile.TemporaryDirectory() as folder:
        cubin = str(Path(folder) / "k.cubin")
        target = re.search(r"\.target\s+(\w+)", ptx.read_text(encoding="utf-8"))
        subprocess.run([ptxas, f"-arch={target[1] if target else 'sm_90a'}", "-lineinfo", "-o", cubin, str(ptx)], check=True, capture_output=True)
        text = subprocess.run([str(nvdisasm), "-c", "-gp", cubin], check=True, capture_output=True, text=True).stdout
    p = call([warpburg, "run", str(hlo), "--profile", "--json", "--ptx", str(ptx), "--grid", row["grid"], "--block", row["block"], "--shared",
              row["shared"] or "0", "--padding", "256"])
    if p.returncode:
        return [(p.stdout + p.stderr)[-300:]]
    launch = json.loads(p.stdout)["kernels"][0]["launches"][0]
    code = re.findall(r'(?:line (\d+)\n)|(?:/\*[0-9a-f]{4,}\*/\s+([^;]*);)', text)
    line, all_lines, found = 0, {i["line"] for i in launch["instructions"]}, {}
    while code and (not code[-1][1] or code[-1][1].strip() == "NOP"):
        code.pop()
    for number, instruction in code[:-1]:   # without the branch to itself
        if number:
            line = int(number)
        else:
            found[line] = found.get(line, 0) + 1
    warps, once = {}, launch["grid"] * ((launch["threads"] + 31) // 32)
    for i in launch["instructions"]:
        warps[i["line"]] = max(warps.get(i["line"], 0), i["warps"] + i.get("passed", 0))
    expected = sum(n * (warps[k] if k in all_lines else once) for k, n in found.items())
    got = launch["terms"]["issue"]["amount"]
    return [] if abs(got - expected) < 0.5 else [f"issue slots: {got} by the cubin's lines, {expected} by nvdisasm's"]


def main() -> int:
    p = argparse.ArgumentParser(description="profiles of kernels")
    p.add_argument("warpburg")
    p.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    p.add_argument("--every", type=int, default=150)
    p.add_argument("-j", type=int, default=2, dest="jobs")
    o = p.parse_args()
    passed = failed = 0
    for file in OWN:
        faults = counts_agree(o.warpburg, file)
        passed, failed = passed + (not faults), failed + bool(faults)
        for fault in faults:
            print(f"FAIL {file.name}: {fault}")
    if not (o.shared / "anchors").is_dir():
        print(f"skipped: XLA's kernels: {o.shared}/anchors is not there")
        print(f"{passed} passed, {failed} failed")
        return int(failed > 0)
    work: List[Tuple[str, Dict[str, str]]] = []
    for part in model_xla.SETS:
        with open(o.shared / "anchors" / f"{part}.tsv", encoding="utf-8", newline="") as lines:
            work += [(part, r) for r in list(r for r in csv.DictReader(lines, delimiter="\t") if r["status"] == "ok")[::o.every]]
    with ThreadPoolExecutor(o.jobs) as pool:
        for (part, row), (word, faults) in zip(work, pool.map(lambda x: pair(o.warpburg, o.shared, *x), work)):
            passed, failed = passed + (word == "ok" and not faults), failed + bool(faults)
            for fault in faults:
                print(f"FAIL {part}/{row['file']}: {fault}")
    straight = [(part, r) for part, r in work if r["loops"] == "0" and "div" not in r["file"] and model_xla.threads(r) <= model_xla.THREADS][::3]
    if not tool("ptxas") or not tool("nvdisasm"):
        print("skipped: lines of machine code: ptxas or nvdisasm is not at hand")
        straight = []
    for part, row in straight:
        ptx = o.shared / "anchors" / "ptx" / part / (row["file"][:-len(".hlo")].replace("/", "__") + ".ptx")
        faults = lines_agree(o.warpburg, ptx, row, o.shared / "corpus" / part / row["file"])
        passed, failed = passed + (not faults), failed + bool(faults)
        for fault in faults:
            print(f"FAIL lines of {part}/{row['file']}: {fault}")
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
