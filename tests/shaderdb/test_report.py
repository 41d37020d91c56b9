"""shaderdb/report.py: its numbers against numbers computed by hand."""
from __future__ import annotations

import json
import random
import re
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any, Dict, List

from common import SHADERDB, call, record, write_records

import intervals
from compare import compare
from records import METRICS, read, record_of


class Intervals(unittest.TestCase):
    def test_mean(self) -> None:
        low, high = intervals.mean_interval([1.0, 2.0, 3.0, 4.0, 5.0])  # 3 +- 2.7764 * 1.5811 / sqrt(5)
        self.assertAlmostEqual(low, 1.03676, places=4)
        self.assertAlmostEqual(high, 4.96324, places=4)
        self.assertIsNone(intervals.mean_interval([1.0]))

    def test_student_beyond_the_table(self) -> None:
        for df, t in ((31, 2.0395), (60, 2.0003), (120, 1.9799), (100000, 1.9600)):
            self.assertAlmostEqual(intervals.student(df), t, places=4)

    def test_median_rank(self) -> None:
        """Ranks from published tables of the sign test."""
        for n, k in ((1, 0), (5, 0), (6, 1), (8, 1), (9, 2), (11, 2), (12, 3), (20, 6), (50, 18), (100, 40)):
            self.assertEqual(intervals.median_rank(n), k, n)
        self.assertEqual(intervals.median_rank(1000), 469)

    def test_coverage(self) -> None:
        """For 95 % of 400 samples of a skewed distribution the interval contains the median."""
        source = random.Random(1)
        inside = 0
        for _ in range(400):
            low, high = intervals.median_interval([source.expovariate(1.0) for _ in range(25)])
            inside += low <= 0.693147 <= high
        self.assertGreater(inside, 365)

    def test_verdict(self) -> None:
        down = intervals.summary([-1.0, -2.0, -1.5, -1.2, -1.9, -2.2, -1.1])
        self.assertEqual([intervals.verdict(down, b) for b in ("less", "more", "none")], ["helped", "HURT", ""])
        one_large = intervals.summary([-1.0, -1.0, -1.0, -1.0, -1.0, -1.0, -1.0, 100.0])
        self.assertEqual(intervals.verdict(one_large, "less"), "")  # the median says yes, the mean no
        self.assertEqual(intervals.verdict(intervals.summary([-1.0] * 5), "less"), "")  # too few for a median's


class Report(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.before, self.after = self.folder / "before.jsonl", self.folder / "after.jsonl"

    def report(self, *words: object) -> str:
        return call(sys.executable, SHADERDB / "report.py", self.before, self.after, *words).stdout

    def test_form(self) -> None:
        write_records(self.before, [record("a", 100), record("b", 200), record("c", 50, count=3), record("d", 10)])
        write_records(self.after, [record("a", 90), record("b", 220), record("c", 40, count=3), record("d", 10)])
        text = self.report("--metric", "sass")
        for line in ("helped: sass: c k sm_90  50 -> 40 (-20.00%) (x3)", "helped: sass: a k sm_90  100 -> 90 (-10.00%)",
                     "HURT:   sass: b k sm_90  200 -> 220 (+10.00%)",
                     "total sass in shared kernels: 460 -> 440 (-4.35%)", "sass in affected kernels: 450 -> 430 (-4.44%)", "helped: 2", "HURT: 1",
                     "helped stats (rel) min: 10.00% max: 20.00% mean: 15.00% median: 15.00%", "Inconclusive result.", "LOST: 0, GAINED: 0"):
            self.assertIn(line, text)
        self.assertLess(text.index("c k sm_90"), text.index("a k sm_90"))   # the largest change first

    def test_verdict(self) -> None:
        write_records(self.before, [record(f"f{k}", 100 + k) for k in range(10)])
        write_records(self.after, [record(f"f{k}", 90 + k - k % 3) for k in range(10)])
        self.assertIn("sass are helped.", self.report())
        self.before, self.after = self.after, self.before
        self.assertIn("sass are HURT.", self.report())

    def test_lost_gained_declined(self) -> None:
        gone = {"file": "a", "kernel": "k", "target": "sm_90", "count": 1, "status": "declined", "reason": "reduction"}
        write_records(self.before, [record("a"), {**gone, "file": "b"}, record("c")])
        write_records(self.after, [gone, record("b"), record("d")])
        text = self.report()
        for line in ("LOST:   a k sm_90 (declined: reduction)", "GAINED: b k sm_90 (declined: reduction)", "only before: c k sm_90", "only after: d k sm_90",
                     "declined: reduction: 1", "LOST: 1, GAINED: 1"):
            self.assertIn(line, text)

    def test_strategies(self) -> None:
        """Kernels whose plans took other strategies, by the pair; a side that has none, of another compiler, is no change."""
        both = (["loop"], ["short", "loop"])
        took = {"a": both, "b": both, "c": (["share"], ["share"]), "d": (["share"], ["order"]), "e": ([], ["loop"])}
        write_records(self.before, [record(f, strategies=x) for f, (x, _) in took.items()])
        write_records(self.after, [record(f, strategies=y) for f, (_, y) in took.items()])
        self.assertIn("strategies: loop -> short, loop: 2 kernels\n    a k sm_90\n    b k sm_90\n"
                      "strategies: share -> order: 1 kernel\n    d k sm_90\nLOST", self.report())

    def test_summary(self) -> None:
        """It stands first: what made both sides, the sums of the main metrics, and of each target."""
        def both(value: int, made: str) -> List[Dict[str, Any]]:
            head: Dict[str, Any] = {"run": {"revision": made, "warpburg": "warpburg 0.2.0", "ptxas": "", "targets": [], "options": ["--lines"]}}
            return [head, *(record("a", value, target=t) for t in ("sm_80", "sm_90"))]
        write_records(self.before, both(100, "aaa"))
        write_records(self.after, both(90, "bbb"))
        lines = self.report("--metric", "regs").splitlines()
        self.assertTrue(lines[0].endswith("before.jsonl (aaa, warpburg 0.2.0, --lines)"), lines[0])
        self.assertTrue(lines[1].endswith("after.jsonl (bbb, warpburg 0.2.0, --lines)"), lines[1])
        self.assertEqual(lines[2], "kernels: 2 -> 2, compiled: 2 -> 2, LOST: 0, GAINED: 0")
        self.assertIn("  sass       200 -> 180 (-10.00%), helped: 2, HURT: 0", lines)
        self.assertIn("    sm_80    100 -> 90 (-10.00%)", lines)

    def test_programs(self) -> None:
        """A file is a program: its kernels are summed, also those that did not change."""
        def kernels(x: int) -> List[Dict[str, Any]]:
            return [record("m", 100, kernel="a"), record("m", x, kernel="b", count=2), record("n", x), record("o", 7)]
        write_records(self.before, kernels(50))
        write_records(self.after, kernels(40))
        text = self.report()
        self.assertIn("program issued: m  800 -> 720 (-10.00%)", text)
        self.assertIn("program issued: n  200 -> 160 (-20.00%)", text)
        self.assertLess(text.index("issued: m "), text.index("program issued: n "))
        self.assertNotIn("program issued: o", text)

    def test_gate(self) -> None:
        gone = {"file": "c", "kernel": "k", "target": "sm_90", "count": 1, "status": "declined", "reason": "reduction", "bytes_min": 3000000}
        write_records(self.before, [record("a", 100), record("b", 1000), record("c")])
        write_records(self.after, [record("a", 110), record("b", 990), gone])
        for words, faults in ((["sass=10", "lost=1"], []), (["sass=9", "lost=1"], ["HURT: sass of 1 kernels by more than 9%, most in a k sm_90: 100 -> 110"]),
                              (["total.sass=0"], ["LOST: 1 kernels, 0 allowed"]),
                              (["lost=1", "total.sass=-1"], ["HURT: total.sass by 0.00%, -1% allowed"])):
            allow = [x for w in words for x in ("--allow", w)]
            said = call(sys.executable, SHADERDB / "report.py", self.before, self.after, *allow, rc=int(bool(faults))).stdout
            self.assertEqual([x[len("error: "):] for x in said.splitlines() if x.startswith("error: ")], faults, words)
        self.assertIn("declined: reduction: 0 -> 1 (+1), 3.0 MB", self.report())
        for wrong in ("sass", "sass=x", "warps=1", "nothing=1"):
            call(sys.executable, SHADERDB / "report.py", self.before, self.after, "--allow", wrong, rc=2)

    def test_markdown(self) -> None:
        write_records(self.before, [record("a", 100)])
        write_records(self.after, [record("a", 110)])
        call(sys.executable, SHADERDB / "report.py", self.before, self.after, "--allow", "sass=1", "--markdown", self.folder / "c.md", rc=1)
        text = (self.folder / "c.md").read_text()
        self.assertIn("- **HURT: sass of 1 kernels by more than 1%", text)
        self.assertLess(text.index("kernels: 1 -> 1"), text.index("<details>"))
        self.assertLess(text.index("<details>"), text.index("HURT:   sass: a k sm_90"))

    def test_one_run(self) -> None:
        declined = {"file": "d", "kernel": "k", "target": "sm_90", "count": 3, "status": "declined", "reason": "scatter", "bytes_min": 2000000}
        write_records(self.before, [record("a", 100, count=2), record("b", 300, spill_bytes=8), declined])
        text = call(sys.executable, SHADERDB / "report.py", self.before).stdout
        for line in ("kernels: 3, compiled: 2, declined: 1, failed: 0", "  sm_90    issued 2000, sass 500, ptx 150, spills 8",
                     "declined: scatter: 3, 6.0 MB", "issued: b k sm_90  1200", "issued: a k sm_90  800 (x2)"):
            self.assertIn(line, text)
        call(sys.executable, SHADERDB / "report.py", self.before, "--allow", "sass=1", rc=2)

    def test_loops_set_apart(self) -> None:
        write_records(self.before, [record("a", 100)])
        write_records(self.after, [record("a", 20, loops=1)])
        text = self.report()
        self.assertIn("changed loops: a k sm_90  0 -> 1", text)
        self.assertNotIn("sass in affected", text)

    def test_direction_is_data(self) -> None:
        self.assertEqual({m.better for m in METRICS}, {"less", "more", "none"})
        wide = record_of(record("a", ldg={"16": 2}, stg={"4": 2}))
        self.assertEqual((wide.values["access_bytes"], wide.values["global_loads"], wide.values["issued"]), (10, 2, 400))
        self.assertNotIn("issued", record_of(record("a", loops=1)).values)

    def test_nothing_moved(self) -> None:
        write_records(self.before, [record("a", compile_ms=1.0)])
        write_records(self.after, [record("a", compile_ms=9.0)])
        self.assertIn("nothing moved", self.report())
        self.assertFalse(compare(read(str(self.before)), read(str(self.after))).moved)

    def test_disorder_is_sorted(self) -> None:
        write_records(self.before, [record("b", 5), record("a", 7)])
        write_records(self.after, [record("a", 7), record("b", 4)])
        self.assertIn("helped: sass: b k sm_90  5 -> 4", self.report())

    def test_another_compiler(self) -> None:
        """Rows of a .tsv are matched by file: it has other names for kernels, and one target."""
        columns = "file kernel status ptx sass regs spill_bytes smem_bytes block grid shared warps loops ldg stg lds sts bar shfl atom branch mufu compile_ms"
        rows = ["a.L__x.hlo their_name ok 60 120 20 0 0 128,1,1 8,1,1 0 4 0 4x1_16x2 16x1   0 0 0 0 0 3.5", "b.L__x.hlo  crash"]
        lines = ["\t".join(columns.split())]
        for row in rows:
            cells = row.split(" ")
            lines.append("\t".join(c.replace("_16", " 16") if "x" in c and not c.endswith("hlo") else c for c in cells + [""] * (23 - len(cells))))
        self.before = self.folder / "programs.tsv"
        self.before.write_text("\n".join(lines) + "\n")
        write_records(self.after, [{**record("a.L__x.hlo", 90), "target": "sm_80"}, record("a.L__x.hlo", 60), record("b.L__x.hlo", 60)])
        text = self.report()
        self.assertIn("helped: sass: a.L__x.hlo k sm_90  120 -> 60 (-50.00%)", text)
        self.assertIn("GAINED: b.L__x.hlo k sm_90 (failed: crash)", text)
        self.assertIn("scale L: median 0.500, geometric mean 0.500 over 1 kernels", text)

    def test_page(self) -> None:
        write_records(self.before, [record("a<b>", 100, listing="add.f32 %r1; // patterns/a.py:1"), record("c", 5)])
        write_records(self.after, [record("a<b>", 90, listing="fma.f32 %r1; // patterns/a.py:2"), record("c", 5)])
        page = self.folder / "out.html"
        self.report("--html", page)
        text = page.read_text()
        self.assertIsNone(re.search(r'(src|href)\s*=|@import|url\(', text))    # nothing is fetched
        data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])
        self.assertEqual(data["rows"][0][:3], ["a<b>", "k", "sm_90"])
        self.assertEqual(data["listings"]["0"][1], "fma.f32 %r1; // patterns/a.py:2")
        self.assertNotIn("@DATA@", text)
        self.assertIn("prefers-color-scheme: dark", text)

    def test_not_a_record(self) -> None:
        self.before.write_text("{}\n")
        self.after.write_text("")
        p = call(sys.executable, SHADERDB / "report.py", self.before, self.after, rc=1)
        self.assertIn("before.jsonl:1: error", p.stderr)


if __name__ == "__main__":
    unittest.main()
