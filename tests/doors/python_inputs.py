"""What warpburg.compile takes beside HLO text, a part of python_package.py: modules that XLA dumped, and StableHLO, which jaxlib makes HLO of."""
from __future__ import annotations

import importlib.util
import sys
import tempfile
import unittest
from pathlib import Path

import warpburg

sys.path.append(str(Path(__file__).resolve().parents[1] / "hlo"))
import proto_by_hand  # noqa: E402


class Inputs(unittest.TestCase):
    def test_stablehlo(self) -> None:
        if importlib.util.find_spec("jaxlib"):
            self.skipTest("this Python has jaxlib, with which jax_door.py reads StableHLO")
        for text in ("module @jit_f attributes {x = 1} {\n}", "#loc = loc(unknown)\nmodule {}", b"ML\xefR\rStableHLO_v1.15"):
            with self.assertRaisesRegex(warpburg.Error, "error: this is StableHLO, which jaxlib makes HLO of.* pip install jaxlib"):
                warpburg.compile(text)

    def test_dumped(self) -> None:
        """A module as a protocol buffer: bytes, or a file of them."""
        data, text = next(m[1:] for m in proto_by_hand.all_modules() if m[0] == "scheduled")
        k = warpburg.compile(data)
        self.assertEqual(k.ptx, warpburg.compile(text).ptx)
        self.assertTrue(k.hlo.startswith("HloModule m, is_scheduled=true"))
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "f.hlo.pb").write_bytes(data)
            self.assertEqual(warpburg.compile(Path(folder) / "f.hlo.pb").ptx, k.ptx)
        with self.assertRaisesRegex(warpburg.HloError, "<bytes>: error: byte 242: field 3 has"):
            warpburg.compile(data[:-9])
