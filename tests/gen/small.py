"""Small pattern files for the tests of gen/: written to a temporary folder, checked and compiled like the real ones."""
from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import List

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.dont_write_bytecode = True

from gen import checks, compile as comp, load  # noqa: E402
from gen.lang import PatternError  # noqa: E402

HEAD = "from gen.lang import *; TARGET = target('sm_80'); SIMPLIFY = []; LOWER = []; INSTR = []\n"


def faults(text: str = "", index: str = "ALL = []\n", incomplete: bool = False) -> List[str]:
    """The messages about patterns/sm80.py, with HEAD on line 1 and `text` from line 2 on, and patterns/indexing.py, with `index` after the
    import on line 1. incomplete: include faults of incomplete selection, which small files always have."""
    with tempfile.TemporaryDirectory() as d:
        folder = Path(d) / "patterns"
        folder.mkdir()
        (folder / "__init__.py").write_text("")
        (folder / "sm80.py").write_text(HEAD + text)
        (folder / "indexing.py").write_text("from gen.lang import *\n" + index)
        load.use(Path(d))
        try:
            sets = [load.load_index(), load.load_target("sm80")]
            found = checks.check(sets[0], sets[1:])
            for s in sets:
                for rule in s.rules:
                    try:
                        comp.compile_rule(rule, 0)
                    except PatternError as e:
                        found.append(str(e))
        except PatternError as e:
            found = [str(e)]
        finally:
            load.use(ROOT)
    return [f for f in dict.fromkeys(found) if incomplete or "selection is incomplete" not in f]
