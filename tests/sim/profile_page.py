"""The page of `run --profile --html` in a browser without a window: it loads nothing, has no errors, fits wide and narrow screens, in light and dark, and a
line that is chosen marks what belongs to it.

Needs chromium; without it the page is only checked as text.

    profile_page.py build/warpburg [--keep FOLDER]      FOLDER: where the page and pictures of it go
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "shaderdb")]

from tools import environment  # noqa: E402

FUSION = ROOT / "shaderdb" / "corpus" / "gelu.hlo"
PROGRAM = ROOT / "tests" / "lit" / "program" / "page.hlo"
THEIRS = ROOT / "tests" / "lit" / "price" / "against.ptx"
SIZES = ((1600, 1000), (420, 900))
VOID = {"meta"}
LEFT_OPEN = {"html", "head", "body"}    # what HTML allows to be left out
BEFORE = '<script>window.faults = []; addEventListener("error", e => window.faults.push(e.message));</script>'
AFTER = """<script>
const line = document.querySelector('.panels .l[data-h][data-p][style]'), hlo = document.querySelector('.l[data-hlo][style]');
line.click();
const marked = document.querySelectorAll('.l.on').length, there = line.classList.contains('on');
line.click();
const after = document.querySelectorAll('.l.on').length;
hlo.click();
const style = getComputedStyle(document.body);
document.title = JSON.stringify({faults: window.faults, wide: document.documentElement.scrollWidth, screen: innerWidth, marked, there, after,
  of_hlo: document.querySelectorAll('.l.on').length, panels: document.querySelectorAll('.panel').length, color: style.color, ground: style.backgroundColor});
</script>"""


class Tags(HTMLParser):
    """Tags that are closed in the order in which they were opened."""

    def __init__(self) -> None:
        super().__init__()
        self.open: List[str] = []
        self.faults: List[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name in ("src", "href") and not value.startswith("#"):
                self.faults.append(f"{tag} loads {value}")

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> closes nothing")


def text_faults(page: str) -> List[str]:
    tags = Tags()
    tags.feed(page)
    left = [t for t in tags.open if t not in LEFT_OPEN]
    return tags.faults + ([f"{left} are never closed"] if left else []) + (["it loads something"] if re.search(r"https?://|@import|url\(", page) else [])


def brightness(color: str) -> float:
    return sum(map(float, re.findall(r"[\d.]+", color)[:3])) / 3


def seen(browser: str, page: Path, width: int, height: int, dark: bool, picture: Path) -> Dict[str, Any]:
    words = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={width},{height}",
             *(["--blink-settings=preferredColorScheme=0"] if dark else [])]
    subprocess.run([*words, f"--screenshot={picture}", page.as_uri()], capture_output=True, check=True, timeout=120)
    p = subprocess.run([*words, "--enable-logging=stderr", "--dump-dom", page.as_uri()], capture_output=True, text=True, check=True, timeout=120)
    title = re.search(r"<title>(\{.*?\})</title>", p.stdout)
    facts = json.loads(title[1].replace("&quot;", '"')) if title else {"faults": ["the script did not end"]}
    facts["faults"] += re.findall(r":CONSOLE.*?\] (.*)", p.stderr)
    return dict(facts)


def looked_at(page: Path, folder: Path) -> Iterator[Tuple[str, bool, Dict[str, Any]]]:
    """What a browser says of the page in each size, in light and dark: (which, dark?, facts). Pictures go to the folder. Without one: nothing."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not browser:
        print("skipped: the page in a browser: chromium is not installed")
        return
    for width, height in SIZES:
        for dark in (False, True):
            ground = "dark" if dark else "light"
            yield f"{width} wide, {ground}", dark, seen(browser, page, width, height, dark, folder / f"{width}_{ground}.png")


def reads_well(facts: Dict[str, Any], dark: bool) -> bool:
    """Is the text apart from its ground, which is as dark as was asked for?"""
    ground = brightness(facts["ground"])
    return abs(brightness(facts["color"]) - ground) > 120 and (ground < 128) == dark


def faults_of(facts: Dict[str, Any], dark: bool) -> List[str]:
    out = list(facts["faults"])
    if out:
        return out
    if facts["wide"] > facts["screen"]:
        out.append(f"it is {facts['wide']} wide on a screen of {facts['screen']}")
    if not facts["there"] or facts["marked"] < 2 or facts["after"] != 0 or facts["of_hlo"] < 2:
        out.append(f"choosing lines marks {facts}")
    if facts["panels"] < 3:
        out.append(f"{facts['panels']} panels")
    if not reads_well(facts, dark):
        out.append(f"text {facts['color']} on {facts['ground']}, {'dark' if dark else 'light'} asked for")
    return out


def main() -> int:
    p = argparse.ArgumentParser(description="the page of a profile")
    p.add_argument("warpburg")
    p.add_argument("--keep", type=Path)
    o = p.parse_args()
    passed, faults = 0, []
    with tempfile.TemporaryDirectory() as temporary:
        folder = o.keep or Path(temporary)
        folder.mkdir(exist_ok=True, parents=True)
        for file in (FUSION, PROGRAM):
            page = folder / f"{file.stem}.html"
            command = [o.warpburg, "run", str(file), "--profile", "--blocks", "16", "--html", str(page)]
            q = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **dict(environment())}, check=False)
            if q.returncode:
                faults.append(f"{file.name}: exit {q.returncode}: {(q.stdout + q.stderr)[-300:]}")
                continue
            text = page.read_text(encoding="utf-8")
            wrong = text_faults(text)
            passed, faults = passed + (not wrong), faults + [f"{file.name}: {x}" for x in wrong]
            probed = folder / f"{file.stem}_probed.html"
            probed.write_text(text.replace("<style>", BEFORE + "<style>", 1) + AFTER, encoding="utf-8")
            for which, dark, facts in looked_at(probed, folder):
                bad = faults_of(facts, dark)
                passed, faults = passed + (not bad), faults + [f"{file.name}: {which}: {x}" for x in bad]
    for fault in faults:
        print(f"FAIL: {fault}")
    print(f"{passed} passed, {len(faults)} failed")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
