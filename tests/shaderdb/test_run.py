"""shaderdb/run: order, merging, faults of single files, memory, progress."""
from __future__ import annotations

import json
import os
import stat
import sys
import tempfile
import unittest
from pathlib import Path

from common import FUSION, SHADERDB, WARPBURG, call, records, run, write_corpus

import batches
import files

CRASHES = """#!/bin/sh
for word; do last=$word; done
case "$1" in --version) echo "release 0.0, V0.0.0"; exit 0;; esac
grep -q k3 "$last" && kill -9 $PPID
exit 1
"""

FAKE = """#!{python}
import json, os, sys, time
words = sys.argv[1:]
names = open(words[words.index("--files-from") + 1]).read().split()
out = open(words[words.index("-o") + 1], "w")
for n in names:
    if "crash" in n: os.abort()
    if "usage" in n: sys.exit(4)
    for t in words[words.index("--target") + 1].split(","):
        out.write(json.dumps(dict(file=n, kernel="k", target=t, count=1, status="ok", reason="", ptx=1,
                                  compile_ms=time.time(), ms=dict(llvm=0.1), rules=dict())) + "\\n")
"""


class Run(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = Path(folder.name)
        self.folder, self.out = self.top / "corpus", self.top / "out.jsonl"
        self.folder.mkdir()

    def script(self, name: str, text: str) -> str:
        path = self.top / name
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    def fake(self) -> str:
        return self.script("warpburg", FAKE.format(python=sys.executable))

    def test_merge_in_order(self) -> None:
        write_corpus(self.folder, 30)
        deep = self.folder / "z" / "y"
        deep.mkdir(parents=True)
        (deep / "f.hlo").write_text(FUSION.format(n=8, op="abs", name="deep"))
        said = run(self.folder, self.out, "--no-cache", "--batch", "4", "--no-ms")
        got = records(self.out)
        self.assertEqual(len(got), 2 * 33)
        self.assertEqual([(r["file"], r["kernel"], r["target"]) for r in got], sorted((r["file"], r["kernel"], r["target"]) for r in got))
        self.assertIn("z/y/f.hlo", {r["file"] for r in got})
        self.assertIn("33 files", said.stderr)
        self.assertNotIn("\r", said.stderr)     # stderr is no terminal
        again = self.top / "again.jsonl"
        run(self.folder, again, "--no-cache", "--batch", "7", "--no-ms")
        self.assertEqual(again.read_bytes(), self.out.read_bytes())

    def test_head(self) -> None:
        """The first line says what made the records."""
        write_corpus(self.folder, 1)
        run(self.folder, self.out, "--no-cache", "--target", "sm_90", "--accuracy", "xla", "--profile", "1")
        head = json.loads(self.out.read_text().splitlines()[0])["run"]
        self.assertEqual((head["targets"], head["options"]), (["sm_90"], ["--accuracy", "xla", "--profile", "1"]))
        self.assertRegex(head["warpburg"], r"^warpburg \d+\.\d+\.\d+$")

    def test_all_failed(self) -> None:
        (self.folder / "a.hlo").write_text("no module")
        said = call(sys.executable, SHADERDB / "run", self.folder, "-o", self.out, "--no-cache", "--target", "sm_90", "--warpburg", WARPBURG, rc=1)
        self.assertIn("every kernel failed", said.stderr)
        self.assertEqual([r["status"] for r in records(self.out)], ["failed"])
        self.assertIn("failed: 1", call(sys.executable, SHADERDB / "report.py", self.out, rc=1).stdout)

    def test_declined_bytes(self) -> None:
        """What a declined kernel must move: a product of two 4x4 f32 reads one operand twice and writes as much."""
        write_corpus(self.folder, 0)
        run(self.folder, self.out, "--no-cache", "--target", "sm_90")
        self.assertEqual({r["file"]: r.get("bytes_min") for r in records(self.out)}, {"bad.hlo": None, "declined.hlo": 512})

    def test_occupancy(self) -> None:
        write_corpus(self.folder, 1)
        run(self.folder, self.out, "--no-cache", "--target", "sm_90", "--profile", "1")
        r = next(r for r in records(self.out) if r["status"] == "ok")
        self.assertTrue(0 < r["occupancy"] <= 1 and r["us"] > 0, r)

    def test_several_roots(self) -> None:
        for name in ("b", "a"):
            (self.folder / name).mkdir()
            (self.folder / name / "f.hlo").write_text("")
        call(sys.executable, SHADERDB / "run", self.folder / "b", self.folder / "a", "-o", self.out, "--warpburg", self.fake(),
             "--no-cache", "--target", "sm_90")
        self.assertEqual([r["file"] for r in records(self.out)], ["a/f.hlo", "b/f.hlo"])

    def test_crash_costs_one_file(self) -> None:
        for name in ("a", "b", "c.crash", "d", "e", "f.usage", "g"):
            (self.folder / f"{name}.hlo").write_text("")
        run(self.folder, self.out, "--no-cache", "--batch", "7", "--target", "sm_90", warpburg=self.fake())
        status = {r["file"]: r["status"] for r in records(self.out)}
        self.assertEqual({f for f, s in status.items() if s == "failed"}, {"c.crash.hlo", "f.usage.hlo"})
        self.assertEqual(len(status), 7)

    def test_crash_within_stats(self) -> None:
        """ptxas kills warpburg while it assembles one kernel: that kernel fails, the others pass."""
        write_corpus(self.folder, 6)
        run(self.folder, self.out, "--no-cache", "--target", "sm_90", WARPBURG_PTXAS=self.script("ptxas", CRASHES))
        why = {r["kernel"]: r.get("message", "") for r in records(self.out) if r["status"] == "failed"}
        self.assertIn("crashed: signal 9", why["k3"])
        self.assertTrue(all("crashed" not in text for kernel, text in why.items() if kernel != "k3"), why)

    def test_listing(self) -> None:
        write_corpus(self.folder, 1)
        run(self.folder, self.out, "--no-cache", "--target", "sm_90", "--listing")
        text = next(r["listing"] for r in records(self.out) if r["status"] == "ok")
        self.assertIn(".visible .entry k0", text)
        self.assertIn("patterns/", text)

    def test_nothing_to_do(self) -> None:
        call(sys.executable, SHADERDB / "run", self.folder, "-o", self.out, rc=1)
        call(sys.executable, SHADERDB / "run", self.folder / "missing", "-o", self.out, rc=1)
        self.assertFalse(self.out.exists())

    def test_unwritable(self) -> None:
        """What cannot be written is said in a line, and what is no file is not replaced by one."""
        write_corpus(self.folder, 1)
        link = self.top / "link"
        link.symlink_to("/dev/full")
        for out, why in ((self.top / "missing" / "o", "cannot write it: No such file"), (self.folder, "no file"), (link, "no file")):
            said = call(sys.executable, SHADERDB / "run", self.folder, "-o", out, "--warpburg", WARPBURG, rc=1).stderr
            self.assertRegex(said, f"^{out}: error: {why}.*\n$")
        self.assertTrue(link.is_symlink())
        run(self.folder, self.out)
        for options in (["--html"], ["--markdown"]):
            said = call(sys.executable, SHADERDB / "report.py", self.out, self.out, *options, self.top / "missing" / "o", rc=1).stderr
            self.assertRegex(said, r"^\S+/missing/o: error: No such file or directory\n$")

    def test_dump(self) -> None:
        """Of a list of names that XLA dumped those are left out that are no modules."""
        names = ["module_0001.jit_f.before_optimizations.txt", "module_0001.jit_f.cpu_after_optimizations-live-range.txt", "module_0001.jit_f.debug_options"]
        for name in names:
            (self.folder / name).write_text(FUSION.format(n=8, op="abs", name="k"))
        call(sys.executable, SHADERDB / "run", *(self.folder / n for n in names), "-o", self.out, "--warpburg", WARPBURG, "--target", "sm_90")
        self.assertEqual([r["file"] for r in records(self.out)], names[:1])


class Files(unittest.TestCase):
    def test_order_spilled(self) -> None:
        """The order of names is the same when they are sorted in several parts."""
        names = [f"{(k * 7919) % 5003:05}/x.hlo" for k in range(5003)]
        kept = files.CHUNK
        files.CHUNK = 100
        try:
            self.assertEqual(list(files.in_order(iter(names))), sorted(names))
        finally:
            files.CHUNK = kept

    def test_batches(self) -> None:
        a, b = files.Root("a", "a/"), files.Root("b", "b/")
        got = list(files.batches(iter([(a, "1"), (a, "2"), (a, "3"), (b, "1")]), 2))
        self.assertEqual(got, [(a, ["1", "2"]), (a, ["3"]), (b, ["1"])])


@unittest.skipUnless(os.path.exists("/proc/self/status"), "no /proc")
class Memory(unittest.TestCase):
    def test_streams(self) -> None:
        """Ten thousand kernels take no more memory than one thousand."""
        code = ("import sys; sys.path.insert(0, {db!r}); import compare, records; "
                "c = compare.compare(records.read(sys.argv[1]), records.read(sys.argv[1])); assert c.n_after == int(sys.argv[2]); "
                "print(next(x for x in open('/proc/self/status') if x.startswith('VmHWM')).split()[1])").format(db=str(SHADERDB))
        peaks = []
        with tempfile.TemporaryDirectory() as folder:
            for n in (1000, 10000):
                path = Path(folder, f"{n}.jsonl")
                with open(path, "w") as f:
                    for k in range(n):
                        f.write('{"file": "f%06d", "kernel": "k", "target": "sm_90", "status": "ok", "sass": %d, "filler": "%s"}\n' % (k, k, "x" * 300))
                peaks.append(int(call(sys.executable, "-c", code, path, n).stdout))
        self.assertLess(peaks[1], peaks[0] + 1500)      # KiB


class Batch(unittest.TestCase):
    def test_texts_travel(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "warpburg")
            path.write_text(FAKE.format(python=sys.executable))
            path.chmod(0o755)
            lines = batches.run_texts(batches.Setup(str(path), ("sm_90",)), {"d/a.hlo": b"", "b.crash.hlo": b""})
        self.assertEqual(lines.count(b"\n"), 2)
        self.assertIn(b'"status": "failed"', lines)


if __name__ == "__main__":
    unittest.main()
