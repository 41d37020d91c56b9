"""docs/graph.md: below each computation stands what `warpburg compile --emit graph` prints of it.

usage: graph_page.py WARPBURG [--write]
    --write     put what is printed into the page

A block of `hlo` is the body of a fusion, which is compiled with the computations of CALLED; the block of `graph` after it must be the output.
"""
from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
from pathlib import Path
from typing import List

PAGE = Path(__file__).resolve().parents[2] / "docs" / "graph.md"
EXAMPLE = re.compile(r"^```hlo\n(.*?)^```\n```graph\n(.*?)^```\n", re.M | re.S)
CALLED = """HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }
max { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] maximum(a, b) }
ten {
  p = (s32[], f32[256]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(10)
  ROOT r = pred[] compare(i, n), direction=LT
}
halve {
  p = (s32[], f32[256]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[256] get-tuple-element(p), index=1
  one = s32[] constant(1)
  half = f32[] constant(0.5)
  halves = f32[256] broadcast(half), dimensions={}
  j = s32[] add(i, one)
  y = f32[256] multiply(x, halves)
  ROOT r = (s32[], f32[256]) tuple(j, y)
}
"""


def module(body: str) -> str:
    """A module of one fusion with this body."""
    parameters = re.findall(r"^\w+ = (\S+) parameter\((\d+)\)", body, re.M)
    names = [f"p{n}" for _, n in parameters]
    lines = [f"  p{n} = {shape} parameter({n})\n" for shape, n in parameters]
    result = re.search(r"^ROOT \w+ = (\S+) ", body, re.M)
    assert result
    return (f"{CALLED}body {{\n{body}}}\nENTRY main {{\n{''.join(lines)}  ROOT f = {result[1]} fusion({', '.join(names)}), kind=kLoop, "
            "calls=body\n}\n")


def printed(warpburg: str, body: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "fusion.hlo")
        file.write_text(module(body))
        ran = subprocess.run([warpburg, "compile", str(file), "--emit", "graph"], capture_output=True, text=True, timeout=60)
        return ran.stdout if ran.returncode == 0 else ran.stderr


def main() -> int:
    p = argparse.ArgumentParser(description="docs/graph.md against the compiler")
    p.add_argument("warpburg")
    p.add_argument("--write", action="store_true")
    o = p.parse_args()
    page = PAGE.read_text()
    wrong: List[str] = []

    def example(m: "re.Match[str]") -> str:
        now = printed(o.warpburg, m[1])
        if now != m[2]:
            wrong.append(m[1])
            if not o.write:
                print(f"docs/graph.md says of\n{m[1]}\n{m[2]}\nbut it is\n{now}")
        return f"```hlo\n{m[1]}```\n```graph\n{now}```\n"

    made, n = EXAMPLE.subn(example, page)
    if o.write:
        PAGE.write_text(made)
    print(f"{n - len(wrong)} passed, {len(wrong)} failed")
    return 1 if wrong and not o.write or n < 6 else 0


if __name__ == "__main__":
    raise SystemExit(main())
