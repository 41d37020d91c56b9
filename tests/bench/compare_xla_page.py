"""The comparison with XLA's machine code as one self-contained page: a scatter plot of issued instructions, and a sortable table.

The page loads nothing. A dot is a kernel: x is the instructions that XLA's issues, y those that ours issues, both as powers of ten; below the
line ours issues fewer. The table has every kernel with the differences by class; a click on a dot selects its row.
"""
from __future__ import annotations

import html
import json
import math
from pathlib import Path
from typing import Any, Dict, List

GROUPS = ("loops", "reductions", "transposes", "scatters")

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>warpburg beside XLA</title>
<style>
:root { --bg: #ffffff; --fg: #1c2126; --soft: #5d6770; --line: #d9dee3; --panel: #f5f7f9; --c0: #2f6fb2; --c1: #b3261e; --c2: #137a4b; --c3: #8a5a00; }
@media (prefers-color-scheme: dark) {
  :root { --bg: #14181c; --fg: #e4e8ec; --soft: #9aa5af; --line: #323a42; --panel: #1c2228; --c0: #7fb4ee; --c1: #ff8a80; --c2: #5fcf97; --c3: #e6b450; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1200px; padding: 1rem 1rem 4rem; background: var(--bg); color: var(--fg); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.35rem; margin: .5rem 0; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; } p, label, figcaption { color: var(--soft); }
figure { margin: 0; background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: .5rem; }
svg { width: 100%; height: auto; display: block; } svg text { fill: var(--soft); font: 11px system-ui, sans-serif; }
.axis { stroke: var(--line); } .even { stroke: var(--soft); stroke-dasharray: 4 4; } circle { fill-opacity: .55; cursor: pointer; }
.wide { overflow: auto; max-height: 40rem; border: 1px solid var(--line); border-radius: 6px; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: .9rem; }
th, td { padding: .3rem .6rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th { background: var(--panel); position: sticky; top: 0; }
th:first-child, td:first-child, td:last-child { text-align: left; }
th button { all: unset; cursor: pointer; } th button:focus-visible { outline: 2px solid var(--c0); }
tr.found { background: var(--panel); outline: 1px solid var(--c0); }
input, select { font: inherit; color: inherit; background: var(--panel);
  border: 1px solid var(--line); border-radius: 4px; padding: .15rem .4rem; max-width: 100%; }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: .6rem; overflow: auto;
  max-height: 32rem; font: 12px/1.45 ui-monospace, monospace; }
@media (max-width: 720px) { body { padding: .5rem .5rem 3rem; } }
</style>
<h1>Issued machine instructions: ours beside XLA's, sm_90</h1>
<figure>
<svg viewBox="0 0 640 480" role="img" aria-label="issued instructions, XLA's across and ours up, a dot each kernel">@PLOT@</svg>
<figcaption>Instructions times warps, as powers of ten. On the dashed line both issue as many; below it ours issues fewer. @LEGEND@</figcaption>
</figure>
<h2>Kernel by kernel</h2>
<p><label>Find <input id="find" type="search" placeholder="part of a name"></label>
<label>of <select id="group"><option value="">all groups</option>@OPTIONS@</select></label> <span id="shown"></span></p>
<div class="wide"><table id="kernels"></table></div>
<h2>As text</h2>
<pre>@TEXT@</pre>
<script type="application/json" id="data">@DATA@</script>
<script>
"use strict";
const rows = JSON.parse(document.getElementById("data").textContent), $ = id => document.getElementById(id);
const names = ["kernel", "group", "ratio", "ours", "warps", "registers", "XLA's", "XLA's warps", "XLA's registers",
  "difference by class, for each warp of XLA's"];
let by = 2, down = true, found = -1;
function draw() {
  const word = $("find").value.toLowerCase(), group = $("group").value;
  const some = rows.map((r, n) => [n, r]).filter(([, r]) => r[0].toLowerCase().includes(word) && (!group || r[1] === group));
  some.sort(([, a], [, b]) => (a[by] < b[by] ? -1 : a[by] > b[by] ? 1 : 0) * (down ? -1 : 1));
  const table = $("kernels"), head = document.createElement("tr");
  names.forEach((name, k) => {
    const th = document.createElement("th"), button = document.createElement("button");
    button.textContent = name + (k === by ? (down ? " ↓" : " ↑") : "");
    button.onclick = () => { down = k === by ? !down : true; by = k; draw(); };
    th.append(button); head.append(th);
  });
  table.replaceChildren(head, ...some.map(([n, r]) => {
    const tr = document.createElement("tr");
    if (n === found) tr.className = "found";
    r.forEach((x, k) => { const td = document.createElement("td"); td.textContent = k === 2 ? x.toFixed(2) : x; tr.append(td); });
    return tr;
  }));
  $("shown").textContent = some.length + " of " + rows.length;
  const row = table.querySelector(".found");
  if (row) row.scrollIntoView({block: "nearest"});
}
document.querySelectorAll("circle").forEach(c => c.addEventListener("click", () => {
  found = +c.dataset.row; $("find").value = ""; $("group").value = ""; draw(); }));
$("find").oninput = $("group").onchange = draw;
draw();
</script>
</html>
"""


def plot(rows: List[List[Any]], issued: List[List[float]]) -> str:
    """The plot as SVG, in a box of 640 by 480: axes, the line of equality and the dots."""
    if not rows:
        return ""
    low = math.floor(math.log10(max(min(map(min, issued)), 1)))
    high = math.ceil(math.log10(max(map(max, issued))))
    x = lambda v: 50 + 570 * (math.log10(max(v, 1)) - low) / max(high - low, 1)
    y = lambda v: 440 - 420 * (math.log10(max(v, 1)) - low) / max(high - low, 1)
    out = []
    for power in range(low, high + 1):
        v = 10.0 ** power
        out.append(f'<line class="axis" x1="{x(v):.1f}" y1="20" x2="{x(v):.1f}" y2="440"/><line class="axis" x1="50" y1="{y(v):.1f}" x2="620" y2="{y(v):.1f}"/>'
                   f'<text x="{x(v):.1f}" y="456" text-anchor="middle">{power}</text><text x="42" y="{y(v) + 4:.1f}" text-anchor="end">{power}</text>')
    out.append(f'<line class="even" x1="{x(10.0 ** low):.1f}" y1="{y(10.0 ** low):.1f}" x2="{x(10.0 ** high):.1f}" y2="{y(10.0 ** high):.1f}"/>')
    out.append('<text x="335" y="474" text-anchor="middle">XLA</text><text x="14" y="230" transform="rotate(-90 14 230)" text-anchor="middle">warpburg</text>')
    for n, (row, (mine, theirs)) in enumerate(zip(rows, issued)):
        out.append(f'<circle data-row="{n}" cx="{x(theirs):.1f}" cy="{y(mine):.1f}" r="3" style="fill:var(--c{GROUPS.index(row[1])})">'
                   f'<title>{html.escape(row[0])}: {row[2]:.2f}</title></circle>')
    return "".join(out)


def write_page(path: str, pairs: List[Any], text: str) -> None:
    """pairs: of compare_xla.py; text: its report."""
    rows, issued = [], []
    for p in pairs:
        t: Dict[str, str] = p.theirs
        theirs = [int(t[k]) for k in ("sass", "warps", "regs")]
        rows.append([p.file[:-4], p.group, round(p.ratio, 4), p.ours["sass"], p.ours["warps"], p.ours["regs"], *theirs, p.difference()])
        issued.append(list(p.executed) if p.executed else [p.ours["sass"] * p.ours["warps"], int(t["sass"]) * int(t["warps"])])
    there = [g for g in GROUPS if any(r[1] == g for r in rows)]
    legend = " ".join(f'<span style="color:var(--c{GROUPS.index(g)})">● {g}</span>' for g in there)
    page = PAGE
    for mark, value in (("@PLOT@", plot(rows, issued)), ("@LEGEND@", legend), ("@OPTIONS@", "".join(f"<option>{g}</option>" for g in there)),
                        ("@TEXT@", html.escape(text)), ("@DATA@", json.dumps(rows, separators=(",", ":")).replace("<", "\\u003c"))):
        page = page.replace(mark, value)
    Path(path).write_text(page, encoding="utf-8")
