"""The page docs/kernel.html, a kernel on its way: docs/kernel_page.py writes it anew with all stations; it loads nothing, is small, and fits wide
and narrow screens in light and dark. The page that is committed has the same stations; where their texts differ a line says so.

usage: kernel_page.py WARPBURG [--keep FOLDER]      FOLDER: where the page and pictures of it go
"""
from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, List

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "sim"))
from profile_page import looked_at, reads_well  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
STATIONS = "hlo maps plan emit simplify lower vectorize branch carry width isel rules llvm ptx sass time check".split()
MOST = 300_000  # bytes
PROBE = """<script>
const style = getComputedStyle(document.body);
document.title = JSON.stringify({faults: [], wide: document.documentElement.scrollWidth, screen: innerWidth, color: style.color,
  ground: style.backgroundColor});
</script>"""
FEATURES = {"hlo": "ROOT out", "maps": "domain:", "plan": "layout elements:", "emit": "kernel @gelu", "lower": "tanh.f32.approx", "vectorize": "load.bf16x8",
            "rules": "patterns/functions.py:", "llvm": "patterns/", "ptx": ".visible .entry", "time": "class=binds", "check": "no fault"}


def stations(page: str) -> Dict[str, str]:
    return dict(re.findall(r'<section><h2 id="(\w+)">(.*?)</section>', page, re.S))


def faults_of(page: str) -> List[str]:
    found, out = stations(page), []
    if list(found) != STATIONS:
        out.append(f"stations {list(found)}")
    out += [f"{name} has no {text!r}" for name, text in FEATURES.items() if text not in found.get(name, "")]
    if len(page.encode()) > MOST:
        out.append(f"{len(page.encode())} bytes")
    loads = [x for x in re.findall(r'(?:src|href)=["\']?([^"\' >]*)', page) if not x.startswith("#")] + re.findall(r"https?://\S+|@import|url\(", page)
    links = set(re.findall(r'href="#(\w+)"', page))
    if loads or links != set(STATIONS):
        out.append(f"it loads {loads}, links {sorted(links)}")
    return out


def main() -> int:
    p = argparse.ArgumentParser(description="the page of a kernel on its way")
    p.add_argument("warpburg")
    p.add_argument("--keep", type=Path)
    o = p.parse_args()
    passed, faults = 0, []
    with tempfile.TemporaryDirectory() as temporary:
        folder = o.keep or Path(temporary)
        folder.mkdir(exist_ok=True, parents=True)
        page = folder / "kernel.html"
        ran = subprocess.run([sys.executable, str(ROOT / "docs/kernel_page.py"), "--warpburg", o.warpburg, "-o", str(page)], capture_output=True, text=True)
        if ran.returncode:
            print(f"FAIL: {(ran.stdout + ran.stderr)[-500:]}\n0 passed, 1 failed")
            return 1
        texts = {"written anew": page.read_text(), "docs/kernel.html": (ROOT / "docs/kernel.html").read_text()}
        for name, text in texts.items():
            bad = faults_of(text)
            passed, faults = passed + (not bad), faults + [f"{name}: {x}" for x in bad]
        new, old = (stations(text) for text in texts.values())
        differ = [name for name in STATIONS if name != "sass" and new.get(name) != old.get(name)]
        if differ:
            print(f"docs/kernel.html differs in {', '.join(differ)}: python3 docs/kernel_page.py writes it anew")
        page.write_text(texts["written anew"].replace("</body>", PROBE + "</body>"))
        for which, dark, facts in looked_at(page, folder):
            good = facts.get("wide", 9999) <= facts.get("screen", 0) and reads_well(facts, dark)
            passed, faults = passed + good, faults + ([] if good else [f"{which}: {facts}"])
    for fault in faults:
        print(f"FAIL: {fault}")
    print(f"{passed} passed, {len(faults)} failed")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
