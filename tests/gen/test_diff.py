"""`warpburg rules diff`: each term it shows is checked with `rules test`, which must end on both targets as the difference says."""
from __future__ import annotations

import json
import os
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Any, Dict, List

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from gen import ops  # noqa: E402

WARPBURG = Path(os.environ.get("WARPBURG", ROOT / "build" / "warpburg"))
X, Y = "sm_80", "sm_90"
EFFECTS = tuple(f"{o.name}." for o in ops.OPS if set(ops.EFFECTS) & set(o.props.split()))  # in statements, not in terms


def rules(*words: str) -> List[Dict[str, Any]]:
    p = subprocess.run([str(WARPBURG), "rules", *words, "--json"], capture_output=True, text=True, timeout=60)
    return [json.loads(line) for line in p.stdout.splitlines()]


@unittest.skipUnless(WARPBURG.exists(), f"{WARPBURG} does not exist")
class Diff(unittest.TestCase):
    def test_witnesses(self) -> None:
        found = [d for d in rules("diff", X, Y) if d["section"] == "rules"]
        self.assertGreater(len(found), 5)
        for d in found:
            results = []
            if d["term"].startswith(EFFECTS):
                self.assertNotEqual(d[X]["result"], d[Y]["result"], d["term"])
                continue
            for target in (X, Y):
                last = rules("test", d["term"], "--target", target)[-1:]
                results.append(last[0].get("result") if last else None)
                if results[-1] is not None:
                    self.assertEqual(results[-1], d[target]["result"], d["term"])
            self.assertNotEqual(results[0], results[1], d["term"])

    def test_every_rule_of_one_alone_is_explained(self) -> None:
        """A rule that only one target has fires for one of the terms, unless the other one has it with LLVM, too."""
        texts = {t: {r["text"]: r["name"] for r in rules("list", "--target", t) if r["phase"] != "index"} for t in (X, Y)}
        found = [d for d in rules("diff", X, Y) if d["section"] == "rules"]
        for target, other in ((X, Y), (Y, X)):
            named = {name for d in found for name in d[target]["rules"]}
            alone = [name for text, name in texts[target].items() if text not in texts[other] and text.partition("  when no_llvm")[0] not in texts[other]]
            self.assertGreater(len(alone), 0)
            self.assertEqual([n for n in alone if n not in named and "[" not in n], [], f"{target} alone")

    def test_none_from_itself(self) -> None:
        self.assertEqual(rules("diff", X, X), [])


if __name__ == "__main__":
    unittest.main()
