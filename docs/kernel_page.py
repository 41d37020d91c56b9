"""Writes a page with a kernel on its way: HLO, index maps, plan, the IR after each pass, LLVM IR, PTX, machine code, modelled time. Everything
on it is what `warpburg` prints; the page needs no other file and no script to be read.

usage: kernel_page.py [FILE.hlo] [--target sm_90] [--warpburg build/warpburg] [-o docs/kernel.html]

ptxas and nvdisasm are used where they are found; a station that needs them says where they are not.
"""
from __future__ import annotations

import argparse
import difflib
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "shaderdb"))

from tools import environment  # noqa: E402

ENVIRONMENT = {**os.environ, **dict(environment())}
FUSION = "shaderdb/corpus/gelu.hlo"
BLOCKS = "12"

STYLE = """
:root { color-scheme: light dark; --ground: #fff; --text: #1b1f24; --dim: #5a6470; --line: #d5dae0; --box: #f5f7f9; --new: #dff5e3; --mark: #0b62c4;
  --rule: #8a4b00; }
@media (prefers-color-scheme: dark) { :root { --ground: #14171b; --text: #dfe4ea; --dim: #98a3af; --line: #333a42; --box: #1c2127; --new: #173a25;
  --mark: #7db7ff; --rule: #e6ae6a; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--text); font: 16px/1.5 system-ui, sans-serif; display: grid;
  grid-template-columns: 13rem minmax(0, 1fr); }
nav { position: sticky; top: 0; height: 100vh; overflow: auto; padding: 1.5rem 1rem; border-right: 1px solid var(--line); font-size: .9rem; }
nav a { display: block; color: var(--mark); text-decoration: none; padding: .15rem 0; }
main { padding: 1.5rem 2rem 6rem; max-width: 80rem; }
h1 { font-size: 1.5rem; margin: 0 0 .5rem; } h2 { font-size: 1.15rem; margin: 2.5rem 0 .4rem; scroll-margin-top: 1rem; }
p { max-width: 46rem; margin: .4rem 0; } code, pre { font-family: ui-monospace, monospace; }
p code { background: var(--box); padding: 0 .25em; }
p.how { color: var(--dim); font-size: .85rem; }
pre { background: var(--box); border: 1px solid var(--line); border-radius: 6px; padding: .7rem .9rem; overflow: auto; max-height: 34rem; font-size: .8rem;
  line-height: 1.45; margin: .5rem 0; }
pre .new { background: var(--new); } pre .rule { color: var(--rule); } pre .dim { color: var(--dim); }
table { border-collapse: collapse; font-size: .85rem; margin: .5rem 0; display: block; overflow-x: auto; }
td, th { text-align: left; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid var(--line); white-space: nowrap; }
td.n { text-align: right; font-variant-numeric: tabular-nums; } tr.binds td { font-weight: 600; }
td .bar { display: inline-block; height: .6rem; background: var(--mark); border-radius: 2px; }
@media (max-width: 50rem) { body { display: block; } nav { position: static; height: auto; border-right: 0; border-bottom: 1px solid var(--line);
  padding: .8rem 1rem; columns: 2; } main { padding: 1rem; } }
"""
WHAT = {  # of each pass over the IR
    "emit": "The plan as a program of one thread: where it loads, what it computes, where it stores. Operations are still HLO's.",
    "simplify": "Algebra of HLO's operations, by proved rules of patterns/.",
    "lower": "What the target lacks becomes what it has: functions as formulas or instructions, narrow types as wider ones.",
    "vectorize": "The loop over the elements of a thread becomes straight code: wide accesses, and operations on several elements where the target packs them.",
    "branch": "Values with a quick way in f32 and a long one in f64, as quotients, share one branch to the long way, where that takes less time. Here are none.",
    "carry": "A loop with few threads loads what its next iteration needs. Here is none.",
    "width": "Each index gets 32 or 64 bits: 32 where it is proved that they are enough.",
    "isel": "Each operation becomes a row of the target's table of instructions.",
}


class Station(NamedTuple):
    name: str
    title: str
    says: str
    command: str
    body: str  # HTML


def run(warpburg: str, *words: str) -> str:
    done = subprocess.run([warpburg, *words], cwd=ROOT, capture_output=True, text=True, env=ENVIRONMENT)
    if done.returncode:
        sys.exit(f"warpburg {' '.join(words)}: {done.stderr}")
    return done.stdout


def pre(text: str) -> str:
    return f"<pre>{text.rstrip()}</pre>"


def code(text: str) -> str:
    """The text with what made each line in a colour of its own."""
    lines = []
    for line in html.escape(text.rstrip(), quote=False).split("\n"):
        head, mark, note = line.partition("// ")
        kind = "rule" if "patterns/" in note else "dim"
        lines.append(f'{head}<span class="{kind}">{mark}{note}</span>' if mark else line)
    return pre("\n".join(lines))


def changed(before: str, after: str) -> str:
    """The text with the lines that the text before has not."""
    old, new = before.rstrip().split("\n"), after.rstrip().split("\n")
    out = []
    for kind, _, _, first, last in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        for line in new[first:last]:
            text = html.escape(line, quote=False)
            out.append(f'<span class="new">{text}</span>' if kind != "equal" and before else text)
    return pre("\n".join(out))


def passes(text: str) -> Dict[str, str]:
    parts = re.split(r"(?m)^// after (\w+)\n", text)
    return dict(zip(parts[1::2], parts[2::2]))


def nvdisasm() -> Optional[str]:
    """It lies beside ptxas, or in .venv."""
    ptxas = Path(ENVIRONMENT.get("WARPBURG_PTXAS") or shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas")
    found = [ptxas.with_name("nvdisasm"), *sorted((ROOT / ".venv").resolve().rglob("nvdisasm"))]
    return next((str(p) for p in found if p.is_file()), shutil.which("nvdisasm"))


def machine_code(warpburg: str, file: str, target: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        run(warpburg, "compile", file, "--target", target, "-o", folder)
        cubins, program = list(Path(folder).glob("*.cubin")), nvdisasm()
        if not cubins or not program:
            return "<p>No machine code: " + ("ptxas was not found." if not cubins else "nvdisasm was not found.") + "</p>"
        text = subprocess.run([program, "-c", str(cubins[0])], capture_output=True, text=True, check=True).stdout
    lines = [re.sub(r"\s*/\*[0-9a-f]{4,}\*/\s*", "    ", line).rstrip() for line in text.splitlines()]
    kept = [line for line in lines if line.strip() and not line.lstrip().startswith((".section", ".align", ".headerflags"))]
    return pre(html.escape("\n".join(kept), quote=False))


def time_of(warpburg: str, file: str, target: str) -> str:
    data = json.loads(run(warpburg, "run", file, "--target", target, "--profile", "--blocks", BLOCKS, "--json"))
    launch = data["kernels"][0]["launches"][0]
    rows, most = [], max(t["us"] for t in launch["terms"].values())
    for name, t in launch["terms"].items():
        if t["us"] <= 0:
            continue
        kind = " class=binds" if name == launch["binds"] else ""
        rows.append(f'<tr{kind}><td>{name}</td><td class=n>{t["us"]:.3f}</td><td class=n>{t["amount"]:,.0f}</td><td>{t["unit"]}</td>'
                    f'<td><span class=bar style="width:{12 * t["us"] / most:.2f}rem"></span></td></tr>')
    said = (f'<p>{launch["us"]:.2f} us = launch {launch["launch"]:.2f} + latency {launch["latency"]:.2f} + work {launch["work"]:.2f} + '
            f'tail {launch["tail"]:.2f}; the work is bound by <b>{launch["binds"]}</b>.</p>')
    return said + f'<table><tr><th>resource</th><th>us</th><th>amount</th><th></th><th></th></tr>{"".join(rows)}</table>'


def stations(warpburg: str, file: str, target: str) -> List[Station]:
    def of(*words: str) -> str:
        return run(warpburg, words[0], file, "--target", target, *words[1:])

    def plain(text: str) -> str:
        return pre(html.escape(text, quote=False))

    compiling, out, before = f"warpburg compile {file}", [], ""

    def add(name: str, title: str, says: str, command: str, body: str) -> None:
        out.append(Station(name, title, says, command, body))

    add("hlo", "HLO", "The fusion as XLA has it: operations on whole arrays. Types and shapes of all are checked.", f"{compiling} --emit hlo",
        plain((ROOT / file).read_text()))
    add("maps", "Index maps", "Which element of each operand an element of the result needs.", f"{compiling} --emit maps",
        plain(of("compile", "--emit", "maps")))
    add("plan", "Plan", "Which thread computes which elements, as a layout of factors, and the reason of each number. It is the cheapest by the model of "
        "docs/profile.md.", f"{compiling} --emit plan", plain(of("compile", "--emit", "plan")))
    for name, text in passes(of("compile", "--print-after", "all", "--emit", "ir")).items():
        if name in WHAT:
            add(name, f"IR after {name}", WHAT[name] + ("" if text != before else " It changes nothing here."), f"{compiling} --print-after {name}",
                changed(before, text))
            before = text
    add("rules", "Rules that fired", "Each with its file and line, what it matched, and the HLO instruction that it is of.", f"warpburg rules trace {file}",
        plain(run(warpburg, "rules", "trace", file, "--target", target)))
    add("llvm", "LLVM IR", "One instruction of the last IR each. LLVM allocates registers and schedules.", f"{compiling} --emit llvm",
        code(of("compile", "--emit", "llvm").replace(" ; ", " // ")))
    add("ptx", "PTX", "What the GPU's driver takes. Each line says which rule, and which HLO instruction, made it.", f"{compiling} --emit ptx",
        code(of("compile", "--emit", "ptx")))
    add("sass", "Machine code", "What ptxas makes of the PTX, as nvdisasm prints it.", f"{compiling} -o DIR", machine_code(warpburg, file, target))
    add("time", "Modelled time", f"The simulator runs {BLOCKS} blocks and counts; the model of docs/profile.md says what the counts cost on the GPU.",
        f"warpburg run {file} --profile --blocks {BLOCKS}", time_of(warpburg, file, target))
    add("check", "Check", "Edge values in; every access is checked, and every element compared with the bounds of what the HLO text allows.",
        f"warpburg run {file} --check --case e --blocks {BLOCKS}", plain(of("run", "--check", "--case", "e", "--blocks", BLOCKS)))
    return out


def page(warpburg: str, file: str, target: str) -> str:
    found = stations(warpburg, file, target)
    name = Path(file).stem
    links = "".join(f'<a href="#{s.name}">{s.title}</a>' for s in found)
    parts = "".join(f'<section><h2 id="{s.name}">{s.title}</h2><p>{html.escape(s.says)}</p><p class=how><code>{html.escape(s.command)}</code></p>'
                    f"{s.body}</section>" for s in found)
    return ('<!doctype html>\n<html lang=en><head><meta charset=utf-8><meta name=viewport content="width=device-width, initial-scale=1">'
            f"<title>{name} on its way</title><style>{STYLE}</style></head>\n<body><nav>{links}</nav><main><h1>{name}: a kernel on its way to {target}</h1>"
            f"<p>Each station is what a command prints; lines that are new after a pass have a ground of their own. "
            f"<code>python3 docs/kernel_page.py FILE.hlo -o PAGE.html</code> writes such a page of any fusion.</p>{parts}</main></body></html>\n")


def main() -> None:
    parser = argparse.ArgumentParser(description="writes a page with a kernel on its way")
    parser.add_argument("file", nargs="?", default=FUSION, metavar="FILE.hlo")
    parser.add_argument("--target", default="sm_90")
    parser.add_argument("--warpburg", default=str(ROOT / "build" / "warpburg"))
    parser.add_argument("-o", dest="output", default=str(ROOT / "docs" / "kernel.html"), metavar="PAGE.html")
    o = parser.parse_args()
    file = o.file if Path(ROOT, o.file).exists() else str(Path(o.file).resolve())
    Path(o.output).write_text(page(str(Path(o.warpburg).resolve()), file, o.target))
    print(f"{o.output}: {Path(o.output).stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
