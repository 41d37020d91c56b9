"""`run --check` finds and names the fault in small PTX files with one fault each, and passes their correct twins.

The first lines of seeded_faults/NAME.bug.ptx have the HLO that it implements, its launch, the fault that must be reported and, where a single
thread is at fault, that thread; the report must name the line marked `<- here`. NAME.ok.ptx differs as little as possible, and must give
the HLO's result without a report. Ends with `N passed, M failed`.

    seeded_faults.py build/warpburg-run
"""
import re
import subprocess
import sys
from pathlib import Path
from typing import List

FOLDER = Path(__file__).with_name("seeded_faults")


def field(text: str, name: str, default: str = "") -> str:
    found = re.search(rf"^//.*\b{name}: (\S+)", text, re.M)
    return found.group(1) if found else default


def line_of(text: str, name: str) -> str:
    found = re.search(rf"^// {name}: (.*)$", text, re.M)
    return found.group(1) if found else ""


def run(program: str, file: Path, text: str) -> "subprocess.CompletedProcess[str]":
    words = [program, "run", str(FOLDER / field(text, "hlo")), "--ptx", str(file), "--grid", field(text, "grid"), "--block", field(text, "block"),
             "--case", "n", "--check"]
    return subprocess.run(words, capture_output=True, text=True, timeout=60)


def complaint(program: str, file: Path) -> str:
    """Why the file fails; empty if it passes."""
    text = file.read_text(encoding="utf-8")
    p = run(program, file, text)
    said = p.stdout + p.stderr
    if file.name.endswith(".ok.ptx"):
        return "" if p.returncode == 0 else f"exit {p.returncode}: {said.strip()[:300]}"
    marked = [n for n, line in enumerate(text.splitlines(), 1) if "<- here" in line]
    faults = said.split("fault: ")[1:]
    wanted: List[str] = [line_of(text, "fault"), line_of(text, "at"), *(f"{file.name}:{n}: " for n in marked)]
    if p.returncode != 4:
        return f"exit {p.returncode}, 4 expected: {said.strip()[:300]}"
    if not any(all(w in fault for w in wanted) for fault in faults):
        return f"no report with {[w for w in wanted if w]}: {said.strip()[:500]}"
    return ""


def main() -> int:
    files = sorted(FOLDER.glob("*.ptx"))
    bugs = [f for f in files if f.name.endswith(".bug.ptx")]
    failed = 0
    for file in files:
        why = complaint(sys.argv[1], file)
        if why:
            failed += 1
            print(f"{file.name}: {why}", flush=True)
    alone = [f.name for f in bugs if not Path(str(f).replace(".bug.", ".ok.")).exists()]
    for name in alone:
        print(f"{name} has no correct twin")
    print(f"{len(bugs)} seeded faults and {len(files) - len(bugs)} correct twins")
    print(f"{len(files) - failed} passed, {failed + len(alone)} failed")
    return int(failed + len(alone) > 0)


if __name__ == "__main__":
    sys.exit(main())
