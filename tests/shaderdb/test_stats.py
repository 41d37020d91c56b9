"""The command lines of `warpburg stats` and `warpburg fuse`, and the cache."""
from __future__ import annotations

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from common import FUSION, ROOT, WARPBURG, call, records, write_corpus


class Stats(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.out = self.folder / "out.jsonl"

    def stats(self, *words: object) -> list:
        call(WARPBURG, "stats", *words, "-o", self.out)
        return records(self.out)

    def test_columns(self) -> None:
        """The numbers of GELU, computed by hand: 16 bytes in, 16 out, 8 elements a thread."""
        r = self.stats(ROOT / "shaderdb" / "corpus" / "gelu.hlo", "--target", "sm_80,sm_90")[1]
        self.assertEqual((r["kernel"], r["target"], r["status"], r["block"], r["grid"], r["warps"], r["loops"]),
                         ("gelu", "sm_90", "ok", [128, 1, 1], [12288, 1, 1], 49152, 0))
        self.assertEqual((r["bytes_min"], r["bytes_code"]), (50331648, 50331648))
        self.assertTrue(r["rules"] and all(n > 0 for n in r["rules"].values()))
        self.assertIn("codegen", r["ms"])
        if "sass" in r:
            self.assertEqual((r["ldg"], r["stg"], r["mufu"], r["spill_bytes"]), ({"16": 1}, {"16": 1}, 8, 0))
            self.assertEqual(sum(r["classes"].values()), r["sass"])
            self.assertNotIn("other", r["classes"])

    def test_one_bad_input(self) -> None:
        write_corpus(self.folder)
        got = self.stats(*sorted(self.folder.glob("*.hlo")), self.folder / "missing.hlo")
        by = {Path(r["file"]).stem: (r["status"], r["reason"]) for r in got}
        self.assertEqual(by["declined"], ("declined", "library"))
        self.assertEqual(by["bad"][0], "failed")
        self.assertEqual(by["missing"][0], "failed")
        self.assertEqual([by[f"f{k:02}"][0] for k in range(5)], ["ok"] * 5)
        self.assertEqual([r["file"] for r in got], sorted(r["file"] for r in got))

    def test_jobs_do_not_matter(self) -> None:
        write_corpus(self.folder, 60)
        cache = self.folder / "cache"
        files = sorted(self.folder.glob("*.hlo"))
        texts = []
        for jobs in ("1", "3"):
            self.stats(*files, "-j", jobs, "--cache", cache)
            texts.append(self.out.read_text())
        self.assertEqual(*texts)

    def test_model(self) -> None:
        """Two equal layers with a matrix product each give one kernel and one library call, each counted twice."""
        lines, x = ["HloModule model", "ENTRY e {", "  p = f32[64,64] parameter(0)", "  w = f32[64,64] parameter(1)"], "p"
        for k in range(2):
            lines += [f"  d{k} = f32[64,64] dot({x}, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}", f"  t{k} = f32[64,64] tanh(d{k})",
                      f"  a{k} = f32[64,64] add(t{k}, w), metadata={{op_name=\"layer{k}\"}}"]
            x = f"a{k}"
        lines[-1] = lines[-1].replace("  a1", "  ROOT a1")
        path = self.folder / "model.hlo"
        path.write_text("\n".join([*lines, "}", ""]))
        got = {r["kernel"]: (r["count"], r["status"], r["reason"]) for r in self.stats(path)}
        self.assertEqual(got, {"d0": (2, "declined", "library"), "a0": (2, "ok", "")})
        call(WARPBURG, "fuse", path, "--parts", self.folder / "parts")
        self.assertIn("tanh", (self.folder / "parts" / "a0.hlo").read_text())
        self.assertNotIn("metadata", (self.folder / "parts" / "a0.hlo").read_text())
        call(WARPBURG, "compile", self.folder / "parts" / "a0.hlo")

    def test_several_modules_in_a_file(self) -> None:
        path = self.folder / "two.hlo"
        path.write_text(FUSION.format(n=64, op="sine", name="one") + FUSION.format(n=64, op="cosine", name="two"))
        self.assertEqual([r["kernel"] for r in self.stats(path)], ["one", "two"])

    def test_usage(self) -> None:
        self.assertEqual(subprocess.run([WARPBURG, "stats"], capture_output=True, check=False).returncode, 2)
        call(WARPBURG, "stats", "x.hlo", "--target", "sm_1", rc=2)


class Cache(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder, self.cache = Path(folder.name), Path(folder.name) / "cache"
        write_corpus(self.folder, 12)
        self.files = sorted(self.folder.glob("f*.hlo"))

    def stats(self, *words: object) -> str:
        return call(WARPBURG, "stats", *self.files, "--cache", self.cache, *words).stdout

    def entries(self) -> list:
        return sorted(p for p in self.cache.rglob("*") if p.is_file() and p.name != "lock")

    def test_hit_and_key(self) -> None:
        first = self.stats()
        self.assertEqual(len(self.entries()), 12)
        self.assertEqual(self.stats(), first)       # compile times, too
        self.stats("--approx")
        self.assertEqual(len(self.entries()), 24)   # options are part of the key
        text = self.entries()[0].read_text()
        for part in ("warpburg ", "code ", "ptxas ", "libdevice ", "target sm_90 ", "HloModule"):
            self.assertIn(part, text)

    def test_damaged_entries_are_made_again(self) -> None:
        first = self.stats()
        for n, p in enumerate(self.entries()):
            data = p.read_bytes()
            p.write_bytes(data[:len(data) // 2] if n % 3 == 0 else b"" if n % 3 == 1 else data.replace(b"f32[", b"f64[", 1))
        again = self.stats()
        self.assertEqual([line.split('"compile_ms"')[0] for line in again.splitlines()], [line.split('"compile_ms"')[0] for line in first.splitlines()])

    def test_bounded(self) -> None:
        self.stats()
        size = sum(p.stat().st_size for p in self.entries())
        self.assertLess(size, 1 << 20)
        filler = self.cache / "00" / "old"
        filler.parent.mkdir(exist_ok=True)
        filler.write_bytes(b"x" * (1 << 20))
        os.utime(filler, (1, 1))
        self.stats("--approx", "--cache-limit", "1")
        self.assertFalse(filler.exists())           # the least recently used goes first
        self.assertEqual(len(self.entries()), 24)

    def test_several_processes(self) -> None:
        one = [WARPBURG, "stats", *map(str, self.files), "--cache", str(self.cache), "-j", "2"]
        both = [subprocess.Popen(one, stdout=subprocess.PIPE, text=True) for _ in range(3)]
        texts = [p.communicate()[0] for p in both]
        self.assertEqual([p.returncode for p in both], [0, 0, 0])
        self.assertEqual(len(self.entries()), 12)
        strip = [[line.split('"compile_ms"')[0] for line in t.splitlines()] for t in texts]
        self.assertEqual(strip[0], strip[1])
        self.assertEqual(strip[0], strip[2])

    def test_unusable_folder(self) -> None:
        self.cache = self.folder / "f00.hlo" / "cache"  # below a file
        self.assertEqual(self.stats().count('"status": "ok"'), 12)


if __name__ == "__main__":
    unittest.main()
