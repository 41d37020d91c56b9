"""Shared by the suites whose texts follow from seeds: their command line, and for some of them how a text is judged."""
import argparse
import contextlib
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Callable, Iterator, List, Sequence, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
from warpburg_cli import TARGETS  # noqa: E402

SINCE_80 = tuple(t for t in TARGETS if int(t[3:]) >= 80)  # which have tensor cores for bf16


def arguments(about: str, count: int, *programs: str, folder: str = "") -> argparse.Namespace:
    """What every one of these suites takes: programs, how many texts, the first seed, and where texts that fail stay. about: its first line is the help."""
    a = argparse.ArgumentParser(description=about.splitlines()[0])
    for program in programs:
        a.add_argument(program)
    a.add_argument("count", type=int, nargs="?", default=count, help=f"how many (default: {count})")
    a.add_argument("--seed", type=int, default=1, help="the first one's; each further one has the next (default: 1)")
    a.add_argument("--folder", type=Path, default=folder or None, help=f"where those that fail stay (default: {folder or 'a new one'})")
    return a.parse_args()


class Seeds:
    """What the command line asks for: `numbers`, and a folder for texts, where those that fail stay."""

    def __init__(self, about: str, name: str, count: int) -> None:
        o = arguments(about, count, "warpburg")
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


@contextlib.contextmanager
def asked_for(o: Seeds, strategy: str, text_of: Callable[[int], str]) -> Iterator[Callable[[int], List[str]]]:
    """Options of a seed by which, of three seeds of four, a fusion is a kernel of that strategy wherever it is possible, whatever it costs."""
    with tempfile.NamedTemporaryFile("w", suffix=".plan") as plan:
        plan.write(f"choices\n  text matrices\n  strategy {strategy}\n")
        plan.flush()

        def possible(seed: int) -> bool:
            file = o.folder / f"possible_{seed}.hlo"
            file.write_text(text_of(seed))
            status, _ = ended([o.warpburg, "compile", str(file), "--emit", "plan", "--plan", plan.name])
            file.unlink()
            return status == 0

        yield lambda seed: ["--plan", plan.name] if seed % 4 and possible(seed) else []


def judged(o: Seeds, name: str, text_of: Callable[[int], str], targets: Sequence[str], cases: str, mark: str, least: float, what: str,
           more: Callable[[int], List[str]] = lambda seed: []) -> int:
    """The exit status. The text of each seed runs with --check on a target and a case in turn; of at least so many texts, `what`, the plan has the mark.
    more: options of a seed."""
    passed = failed = marked = 0
    for seed in o.numbers:
        file, target, case = o.folder / f"{name}_{seed}.hlo", targets[seed % len(targets)], cases[seed // len(targets) % len(cases)]
        file.write_text(text_of(seed))
        marked += mark in ended([o.warpburg, "compile", str(file), "--target", target, "--emit", "plan", *more(seed)])[1]
        status, said = ended([o.warpburg, "run", str(file), "--check", "--target", target, "--case", case, "-j", "1", *more(seed)])
        if status:
            failed += 1
            print(f"{file} {target}: {said[-400:]}")
            continue
        passed += 1
        file.unlink()
    print(f"{marked} of {len(o.numbers)} have {what}")
    if marked < least * len(o.numbers):
        failed += 1
        print(f"less than {least:.0%}")
    return o.summed_up(passed, failed)
