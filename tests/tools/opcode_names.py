#!/usr/bin/env python3
"""How often the C code names an HLO operation, by module, where the table gen/hlo_ops.py does not say what it wants to know: usage opcode_names.py [ROOT]

Without src/eval and without the files of src/hlo that parse and verify: these are where an operation's meaning and shape are written. Comments do not count.
"""
import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[2])
sys.path.insert(0, str(ROOT))

from gen import hlo_ops  # noqa: E402

NAMES = sorted((o.name for o in hlo_ops.OPS), key=len, reverse=True)
NAMED = re.compile(r"\bHLO_(?:" + "|".join(NAMES) + r")\b")
COMMENT = re.compile(r"/\*.*?\*/", re.S)

count: "Counter[str]" = Counter()
for file in sorted((ROOT / "src").rglob("*.[ch]")):
    module = file.relative_to(ROOT / "src").parts[0]
    if module != "eval" and not file.name.startswith(("parse", "verify")):
        count[module] += len(NAMED.findall(COMMENT.sub("", file.read_text(encoding="utf-8"))))
for module, n in count.most_common():
    if n:
        print(f"{n:6} {module}")
print(f"{sum(count.values()):6} in all")
