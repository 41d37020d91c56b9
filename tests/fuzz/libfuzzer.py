"""Runs a libFuzzer program on seeds that are texts; for hlo_fuzz.py and map_fuzz.py."""
from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import List


def fuzz(argv: List[str], name: str, texts: List[str], longest: int) -> int:
    """argv: SCRIPT FUZZER [SECONDS [FOLDER]], as the callers document it; `name`: the dictionary is NAME.dict. Returns 1 if it found a failure, else 0."""
    seconds = argv[2] if len(argv) > 2 else "600"
    with tempfile.TemporaryDirectory() as made:
        kept = Path(argv[3]) if len(argv) > 3 else Path(made, "kept")
        given = Path(made, "seeds")
        kept.mkdir(parents=True, exist_ok=True)
        given.mkdir()
        for k, text in enumerate(texts):
            (given / f"{k}.{name}").write_text(text, encoding="utf-8")
        print(f"{len(texts)} seeds, {seconds} s", flush=True)
        return subprocess.run([argv[1], f"-dict={Path(__file__).parent / (name + '.dict')}", f"-max_total_time={seconds}", "-timeout=20",
                               "-rss_limit_mb=3000", f"-max_len={longest}", str(kept), str(given)], check=False).returncode and 1
