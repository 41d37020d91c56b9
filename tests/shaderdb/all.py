"""The tests of shaderdb: the unit tests beside this file, the generated corpus, and the corpus against its baseline.

    all.py [--all]      --all: also the test with a Dask cluster, where distributed is installed

Prints the report against shaderdb/baseline.json, which must show no change; docs/quality.md must be what the tables say; ends with `N passed, M failed`.
"""
from __future__ import annotations

import subprocess
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
SHADERDB = HERE.parent.parent / "shaderdb"
SLOW = ("test_cluster",)


def program(*words: object) -> bool:
    sys.stdout.flush()
    return subprocess.run([sys.executable, *map(str, words)], check=False).returncode == 0


def main() -> int:
    sys.path.insert(0, str(HERE))
    every = "--all" in sys.argv[1:]
    checks = [program(SHADERDB / "corpus" / "generate.py", "--check"), program(SHADERDB / "baseline.py"), program(SHADERDB / "quality.py", "--check")]
    names = [p.stem for p in sorted(HERE.glob("test_*.py"))]
    suite = unittest.defaultTestLoader.loadTestsFromNames([n for n in names if every or n not in SLOW])
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=1).run(suite)
    for test, why in result.skipped:
        print(f"skipped: {test}: {why}")
    if not every:
        print(f"skipped: {', '.join(SLOW)}: with --all")
    bad = len(result.failures) + len(result.errors) + checks.count(False)
    ran = result.testsRun - len(result.skipped) + len(checks)
    print(f"{ran - bad} passed, {bad} failed")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
