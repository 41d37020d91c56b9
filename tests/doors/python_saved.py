"""Kernels and programs that are kept in a folder, a part of python_package.py: taken as they were, in another process, or refused by name."""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy
import warpburg
from warpburg._library import lib

import python_programs
from python_texts import SUM

OTHERS = "import sys, warpburg; k = warpburg.load(sys.argv[1]); print(k, k.accuracy); sys.stdout.write((k.ptx if hasattr(k, 'ptx') else k.json))"


def mixed(x: int) -> int:
    x = (x ^ x >> 32) * 0x9e3779b97f4a7c15 % 2**64
    x = (x ^ x >> 29) * 0xd6e8feb86659fd93 % 2**64
    return x ^ x >> 32


def hashed(data: bytes) -> int:
    """wbb_hash with seed 0."""
    h, whole = mixed(len(data)), len(data) // 8 * 8
    for k in range(0, whole, 8):
        h = (mixed(h ^ int.from_bytes(data[k:k + 8], "little")) + 0x9e3779b97f4a7c15) % 2**64
    return mixed(h ^ int.from_bytes(data[whole:], "little"))


class Saved(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.at = self.folder / "saved"

    def tearDown(self) -> None:
        shutil.rmtree(self.folder)

    def kernel(self) -> warpburg.Kernel:
        k = warpburg.compile(SUM, target="sm_80", accuracy="xla", layout=warpburg.compile(SUM, target="sm_80").layouts[-1], file="sum.hlo")
        k.save(self.at)
        return k

    def test_kernel(self) -> None:
        k = self.kernel()
        q = warpburg.load(self.at)
        for what in ("ptx", "hlo", "name", "target", "accuracy", "inputs", "outputs", "launches", "layouts"):
            self.assertEqual(getattr(q, what), getattr(k, what), what)
        self.assertEqual([b[:11] for b in q.buffers], [b[:11] for b in k.buffers])
        for stage in ("plan", "ir", "ptx"):
            self.assertEqual(q.emit(stage), k.emit(stage))
        self.assertEqual(q.explain(), k.explain())
        x = numpy.arange(262144, dtype=numpy.float32) % 5
        numpy.testing.assert_array_equal(q.run(x), k.run(x))
        self.assertTrue(q.check())
        q.save(self.folder / "again")
        for file in sorted(self.at.iterdir()):
            self.assertEqual((self.folder / "again" / file.name).read_bytes(), file.read_bytes(), file.name)
        p = subprocess.run([sys.executable, "-c", OTHERS, str(self.at)], capture_output=True, text=True)
        self.assertEqual(p.stdout, f"{k} xla\n{k.ptx}", p.stderr)

    def test_without_compiling(self) -> None:
        """No step of a compile took any time."""
        self.kernel()
        q = warpburg.load(self.at)
        self.assertEqual([lib.wb_kernel_ms(q._pointer, i, None) for i in range(lib.wb_kernel_steps(q._pointer))], [0.0] * lib.wb_kernel_steps(q._pointer))

    def test_command_line(self) -> None:
        self.kernel()
        program = Path(os.environ["WARPBURG_LIBRARY"]).parent / "warpburg-run"
        ran = subprocess.run([program, "run", str(self.at), "--check"], capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)

    def test_damaged(self) -> None:
        self.kernel()
        for file in sorted(self.at.iterdir()):
            whole = file.read_bytes()
            for at in (0, len(whole) // 3, len(whole) - 1):
                file.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1:])
                with self.assertRaisesRegex(warpburg.Error, f"{re.escape(str(file))}: error: it is not the file that was saved"):
                    warpburg.load(self.at)
            file.write_bytes(whole[:-5])
            with self.assertRaisesRegex(warpburg.Error, re.escape(file.name)):
                warpburg.load(self.at)
            file.unlink()
            if not file.name.endswith(".cubin"):  # which the driver makes of the PTX
                with self.assertRaisesRegex(warpburg.Error, f"{file.name}|saved.json"):
                    warpburg.load(self.at)
            file.write_bytes(whole)
        warpburg.load(self.at)

    def test_version(self) -> None:
        self.kernel()
        text = (self.at / "saved.json").read_text()
        version = re.search(r'"compiler": "warpburg ([^"]*)"', text)
        assert version
        other = text.replace(f'"warpburg {version[1]}"', '"warpburg 0.0.1"')
        body = other[:other.rindex(', "text": ')]
        (self.at / "saved.json").write_text(f'{body}, "text": "{hashed(body.encode()):016x}"}}\n')
        with self.assertRaisesRegex(warpburg.Error, f"saved by warpburg 0.0.1 in form 1, and this is warpburg {re.escape(version[1])}"):
            warpburg.load(self.at)

    def test_program(self) -> None:
        p = warpburg.compile(python_programs.Programs.layer, target="sm_80", accuracy="xla")
        p.write(self.at)
        q = warpburg.load(self.at)
        self.assertEqual((q.json, q.target, q.accuracy, q.hlo), (p.json, "sm_80", "xla", p.hlo))
        self.assertEqual([k.ptx for k in q.kernels], [k.ptx for k in p.kernels])
        x, w = numpy.ones((64, 256), numpy.float32), numpy.ones((256, 128), numpy.float32)
        numpy.testing.assert_array_equal(q.run(x, w)[1], p.run(x, w)[1])
        q.write(self.at)
        self.assertEqual(warpburg.read(self.at, target="sm_90").target, "sm_90")
        done = subprocess.run([sys.executable, "-c", OTHERS, str(self.at)], capture_output=True, text=True)
        self.assertEqual(done.stdout, f"{p} xla\n{p.json}", done.stderr)
        for file in sorted(f for f in self.at.rglob("*") if f.is_file()):
            whole = file.read_bytes()
            file.write_bytes(whole[:-2] + b"#" + whole[-1:])
            with self.assertRaisesRegex(warpburg.Error, f"{re.escape(file.name)}: error: it is not the file that was saved"):
                warpburg.load(self.at)
            file.write_bytes(whole)
        shutil.rmtree(next(f for f in (self.at / "steps").iterdir() if f.is_dir()))
        with self.assertRaisesRegex(warpburg.Error, "there is no saved.json in it"):
            warpburg.load(self.at)

    def test_left_out(self) -> None:
        """A kernel that was declined stays left out."""
        p = warpburg.compile(python_programs.Programs.two, partial=True)
        p.write(self.at)
        q = warpburg.load(self.at)
        self.assertEqual([k is None for k in q.kernels], [False, True])
        with self.assertRaises(warpburg.Declined) as e:
            q.run(numpy.zeros(8, numpy.float32))
        self.assertEqual(e.exception.reason, "random")

    def test_elsewhere(self) -> None:
        for folder in ("/nowhere", self.folder):
            with self.assertRaisesRegex(warpburg.Error, "there is no saved.json in it: no kernel or program was saved here"):
                warpburg.load(folder)
        with self.assertRaisesRegex(ValueError, "NUL byte"):
            warpburg.load("a\0b")
        (self.folder / "file").write_text("mine")
        with self.assertRaisesRegex(warpburg.Error, "cannot make directory"):
            warpburg.compile(SUM).save(self.folder / "file")
