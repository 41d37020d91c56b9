"""Shared by the suites whose texts follow from seeds: random_folds.py, random_loops.py, random_chains.py, random_programs.py and random_windows.py."""
import argparse
import subprocess
import tempfile
from pathlib import Path
from typing import List, Tuple


class Seeds:
    """What the command line asks for: `numbers`, and a folder for texts, where those that fail stay."""

    def __init__(self, about: str, name: str, count: int) -> None:
        a = argparse.ArgumentParser(description=about.splitlines()[0])
        a.add_argument("warpburg")
        a.add_argument("count", type=int, nargs="?", default=count)
        a.add_argument("--seed", type=int, default=1)
        a.add_argument("--folder", type=Path)
        o = a.parse_args()
        self.warpburg: str = o.warpburg
        self.numbers = range(o.seed, o.seed + o.count)
        self._made = not o.folder
        self.folder: Path = o.folder or Path(tempfile.mkdtemp(prefix=name))
        self.folder.mkdir(parents=True, exist_ok=True)

    def summed_up(self, passed: int, failed: int) -> int:
        """Prints the counts; the exit status."""
        if not failed and self._made:
            self.folder.rmdir()
        print(f"{passed} passed, {failed} failed")
        return int(failed > 0)


def ended(command: List[str]) -> Tuple[int, str]:
    """(exit status, what was said)"""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        return -1, "not done after 300 seconds"
    return done.returncode, (done.stdout + done.stderr).strip()
