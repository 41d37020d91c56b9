"""gen/rows.py: rows of TARGET, PACKED, FREE and TUNE, and ptx= of instructions: what no machine or plan has is refused, with its line."""
from __future__ import annotations

import re
import sys
import unittest
from dataclasses import replace
from pathlib import Path
from typing import Any, Dict, List
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.dont_write_bytecode = True

from gen import lang, load, prices, rows, strategies  # noqa: E402
from gen.lang import (PatternError, add, bf16, cvt, div, f16, f32, f64, fma, free, i32, intr, llvm, max, min, mul, neg, packed, sub, target, tune)  # noqa: E402
from gen.load import RuleSet  # noqa: E402
from patterns import boards  # noqa: E402

S: RuleSet = load.load_target("sm90")
TABLE = prices.load_table(prices.load_sass())


class Rows(unittest.TestCase):
    def one(self, made: List[RuleSet], wanted: str) -> None:
        found = rows.faults(made, TABLE)
        self.assertTrue(any(wanted in f for f in found), f"'{wanted}' expected, {found} found")
        self.assertTrue(all(re.match(r"(patterns/\w+\.py|\?):\d+: error: ", f) for f in found), found)

    def test_the_rows_of_the_tree(self) -> None:
        self.assertEqual(rows.faults([load.load_target(t) for t in load.targets()]), [])

    def test_rates_of_a_target_that_is_like_another(self) -> None:
        old = boards.of("sm_100")
        own = next(r for r in boards.of("sm_90") if r.name == "clock")
        with patch.object(boards, "BOARDS", [dict(row, sm_104=own) if "sm_90" in row and row["sm_90"] is own else row for row in boards.BOARDS]):
            like = boards.of("sm_104", like=old)
            self.assertEqual([r.name for r in boards.of("sm_104")], ["clock"])
        self.assertEqual(sorted(r.name for r in like), sorted(r.name for r in old))
        self.assertEqual([r.name for r in like if not any(r is s for s in old)], ["clock"])

    def test_a_target_that_is_like_another(self) -> None:
        """It has what its file does not state, and each number of TUNE that goes with one of TARGET by its own."""
        of = {name: load.load_target(name) for name in ("sm100", "sm103", "sm110", "sm120")}
        for s, changed in ((of["sm103"], {"name", "board", "sms"}), (of["sm110"], {"name", "board", "sms", "ptx", "warps", "blocks"})):
            self.assertEqual({k for k, v in s.values.items() if of["sm100"].values[k] != v}, changed)
            self.assertEqual([r.name for r in s.phases["isel"]], [r.name for r in of["sm100"].phases["isel"]])
            self.assertEqual([r.name for r in s.phases["lower"]], [r.name for r in of["sm120"].phases["lower"]])
            self.assertEqual({t.value for t in s.tunes if t.name == "loop.min_threads"}, {512 * s.values["sms"]})
            self.assertGreater(s.line_of_instr, 0)
        with self.assertRaisesRegex(PatternError, r"patterns/machine.py:\d+: error: tune\('loop.min_threads', ..\): per='sms': a number of TARGET is"):
            load.tunes_of(load.run("sm90"), {})
        with self.assertRaisesRegex(PatternError, "like='sm_100': the TARGET of another file is expected"):
            target("sm_103", like="sm_100")

    def test_target(self) -> None:
        cases: List[Any] = [
            ({"warp": 64}, "warp=64: 32 is expected"), ({"warp": 16}, "warp=16"), ({"sms": 0}, "sms=0: 1 to 1024"), ({"sms": -1}, "sms=-1"), ({"sms": 132.5},
                "sms=132.5"),
            ({"sms": True}, "sms=True"), ({"warps": 65}, "warps=65"), ({"warps": 2048}, "warps=2048"), ({"blocks": 0}, "blocks=0"), ({"blocks": 65},
                "blocks=65"),
            ({"smem": 1 << 20}, "smem=1048576"), ({"smem": 16384}, "smem=16384: 49152"), ({"smem": 227 * 1024 + 1}, "1024 is a divisor"),
            ({"smem": 229 * 1024}, "more than the SM has"), ({"sm_smem": 0}, "sm_smem=0"), ({"regs": 256}, "regs=256: 255 is expected"), ({"sm_regs": 64},
                "sm_regs=64"),
            ({"vector_bytes": 64}, "vector_bytes=64"), ({"vector_bytes": 8}, "vector_bytes=8"), ({"vector_bytes": 32}, "the feature 'ld.v8'"),
            ({"ptx": "6.0"}, "ptx='6.0': a version"), ({"ptx": "7.0"}, "ptx='7.0': 8.0 is the first"), ({"ptx": "8.9"}, "ptx='8.9'"), ({"ptx": 8.8}, "ptx=8.8"),
            ({"board": ""}, "the name of a board"), ({"features": ("reduks",)}, "no feature is called 'reduks'; 'redux' is"), ({"features": "redux"},
                "words in a tuple"),
            ({"features": (*S.values["features"], "redux")}, "'redux' is stated twice"), ({"features": (*S.values["features"], "max3")},
                                                                                          "'max3' is there from sm_100"),
            ({"features": S.values["features"][:7] + S.values["features"][8:]}, "is missing, which every machine from sm_80"), ({"smsx": 3},
                "no fact is called smsx; 'sms' is"),
            ({"name": "sm_91"}, "the file is that of sm_90")]
        for changed, wanted in [*cases, ({"smem": 228 * 1024}, "takes 1024 bytes for each block")]:
            self.one([replace(S, values={**S.values, **changed})], wanted)
        for k, wanted in ((75, "6.3"), (89, "7.8"), (103, "8.8"), (107, "9.4"), (110, "9.0"), (120, "8.7")):
            self.assertEqual(rows.first_version(k), wanted)
        thor = {**load.load_target("sm100").values, "name": "sm_110"}
        self.one([replace(load.load_target("sm100"), name="sm110", values=thor)], "ptx='8.8': 9.0 is the first that has this machine")
        rubin = replace(load.load_target("sm100"), name="sm107", values={**thor, "name": "sm_107"})
        self.one([rubin], "PTX 9.4 is the first that has this machine, and LLVM writes 9.0 at most")
        for k in ("sms", "warp", "ptx", "features", "smem"):
            self.one([replace(S, values={x: v for x, v in S.values.items() if x != k})], f"{k}= is missing")

    def test_packed(self) -> None:
        cases = [(packed(f16, 3, add), "add.f16x3: 2 lanes"), (packed(f16, 4, add), "2 lanes"), (packed(f16, 1, add), "2 lanes"), (packed(f16, 0, add),
            "2 lanes"),
                 (packed(i32, 2, add), "no machine has an instruction"), (packed(f64, 2, add), "no machine has"), (packed(f32, 2, add),
                     "lacks the feature 'add.f32x2'"),
                 (packed(f16, 2, div), "no INSTR rule takes it"), (packed(cvt, 2, (f64, i32)), "no machine has"), (packed(f16, 2, add, add), "is stated twice"),
                 (packed(cvt, 4, (f16, f32)), "2 lanes"), (packed(f32, 8, lang.atomic_add), "16 bytes together"), (packed(f16, 3, lang.atomic_add),
                     "2, 4 or 8 lanes")]
        for made, wanted in cases:
            self.one([replace(S, packed=made)], wanted)
        self.one([replace(load.load_target("sm80"), packed=packed(bf16, 2, add))], "lacks the feature 'bf16.add'")
        self.one([replace(S, packed=[7])], "PACKED holds 7")
        self.one([replace(S, packed=[replace(free(neg, on=add.f32)[0], where=("patterns/sm90.py", 17))])], "patterns/sm90.py:17: error: PACKED holds Free")
        for bad in (lambda: packed(f16, 2, add.f16), lambda: packed(cvt, 2, f16), lambda: packed(lang.F, 2, add), lambda: packed(cvt, 2, (f16, f32, f32))):
            self.assertRaises(PatternError, bad)

    def test_free(self) -> None:
        cases = [(free(neg, on=(add.i32,)), "of floats have modifiers"), (free(neg, on=(div.f32,)), "of floats have modifiers"),
                 (free(neg, neg, on=(add.f32,)), "is stated twice"), (free(neg, on=(add.f32, add.f32)), "is stated twice")]
        for made, wanted in cases:
            self.one([replace(S, free=made)], wanted)
        self.one([replace(load.load_target("sm75"), free=free(neg, on=(fma.bf16,)))], "no INSTR rule takes fma.bf16")
        self.one([replace(S, free=[replace(packed(f16, 2, add)[0], where=("patterns/sm90.py", 24))])], "patterns/sm90.py:24: error: FREE holds Packed")
        self.assertRaises(PatternError, lambda: free(max, on=(add.f32,)))
        self.assertRaisesRegex(PatternError, r"free\(relu, \.\.\): neg or abs", lambda: free(lang.relu, on=(add.f32,)))

    def tuned(self, **changed: Any) -> List[RuleSet]:
        """sm_90 with other values of numbers, dots in their names written as underscores twice."""
        of = {k.replace("__", "."): v for k, v in changed.items()}
        return [replace(S, tunes=[replace(t, value=of.get(t.name, t.value)) for t in S.tunes])]

    def test_strategies(self) -> None:
        of = lambda which, **changed: [replace(S, strategies=[replace(r, **changed) if r.name == which else r for r in S.strategies])]
        self.one(of("rows", name="Rows"), "which name a C function")
        self.one(of("rows", name="short"), "it is stated twice")
        self.one(of("rows", at="texts"), "one of fusion, text, module, edge is expected")
        self.one(of("edge.again", rival=True), "rival: with save= or tested=, and of no edge")
        self.one(of("scan", rival=True), "rival: with save= or tested=")
        self.one(of("columns", launches=2), "2 of a strategy that cuts a fusion or a module")
        self.one(of("rows", because=" "), "because= is empty")
        self.one(of("rows", save=100), "percent from 0 to 99")
        self.one(of("rows", tested="so"), "save= and tested=")
        self.one(of("short", parts=("pieces",)), "its parts do not try 'pieces'")
        texts = "".join(f.read_text() for f in (load.root / "src").rglob("*.c"))
        asked = set(re.findall(r'tg_strategy\([^()]*, "([^"]*)"\)', texts))
        self.assertEqual(asked, set())
        made = strategies.definitions(S.strategies)
        self.assertIn('STRATEGY(scatter_apart, "scatter.apart")\n', made)
        self.assertIn('EDGE(again, AGAIN, "edge.again")\n', made)
        self.assertEqual(made.count("\n"), 7 + len(S.strategies))
        self.one(of("edge.again", at="text"), "a row at 'edge', and no other, is called edge.NAME")

    def test_tunes(self) -> None:
        cases: Dict[str, List[int]] = {
            "loop.block": [0, 16, 100, 96, 2048], "loop.coarsening": [0, 3, 1 << 20], "loop.unroll": [0, 3, 128], "loop.max_row": [0, 48],
            "loop.block_factor": [0],
            "layout.warps": [0, 64], "layout.registers": [0], "layout.cluster": [0, 16, 3], "layout.max_shared": [0, 49153, 1 << 20], "layout.beam": [0],
            "exchange.max_tile": [65536], "cells.bytes": [65536], "sort.elements": [0, 1000, 1 << 20], "sort.merged": [0, 3000], "layout.run.64": [0, 101],
            "across.busy": [101], "rows.piece": [0, 1000], "parameter.bytes": [40000], "reduce.unroll": [0], "call.nodes": [0], "loop.min_threads": [0]}
        for name, values in cases.items():
            for v in values:
                self.one(self.tuned(**{name.replace(".", "__"): v}), f"tune('{name}', ..): {v}: ")
        self.one(self.tuned(sort__merged=512), "sort.elements=1024 is more than sort.merged=512")
        self.one(self.tuned(layout__run__32=99), "layout.run.32=99 is more than layout.run.64=85")
        other = [replace(t, upto="rows.most") if t.name == "rows.least" else t for t in S.tunes]
        self.one([replace(S, tunes=other)], "upto='rows.most': no number is called so")
        self.one(self.tuned(branch__registers=256), "from 0 to 255")
        self.one(self.tuned(rows__least=1 << 15), "rows.least=32768 is more than rows.piece")
        more = lambda t: [replace(S, tunes=[*S.tunes, t])]
        self.one(more(tune("loop.maximum", value=3, because="x")), "src asks for no number that is called so; 'loop.max_")
        self.one(more(tune("loop.rows_over", bits=32, value=3, because="x")), "a number has rows of types' sizes, or one row without bits=")
        self.one(more(tune("loop.unroll", bits=24, value=2, because="x")), "one of 64, 32, 16, 8, 4, 2 is expected")
        self.one([replace(S, tunes=[replace(t, because=" ") if t.name == "loop.rows_over" else t for t in S.tunes])], "because= is empty")
        self.one([replace(S, tunes=[replace(t, off=2000) if t.name == "loop.rows_over" else t for t in S.tunes])], "off=2000")
        self.one([replace(S, tunes=[t for t in S.tunes if t.name != "loop.block"])], "TUNE lacks 'loop.block'")
        self.one([replace(S, tunes=[t for t in S.tunes if t.name != "loop.unroll" or t.bits != 8])], "TUNE lacks 'loop.unroll' of bits=8")
        self.one([replace(S, tunes=[replace(t, value=8) if (t.name, t.bits) == ("loop.unroll", 64) else t for t in S.tunes])],
                 "8 lanes of 64 bits are more than")

    def test_forms(self) -> None:
        of = lambda ptx: [replace(S, phases={**S.phases, "isel": [*S.phases["isel"], llvm(add[lang.F](lang.a, lang.b), "fadd", ptx=ptx)]})]
        for ptx in ("bogus.rn.%t", "add.rm.%t", "addd.rn.%t", "sqrt.rn.%t.%o"):
            self.one(of(ptx), f"ptx='{ptx}': patterns/prices.tsv has no form")
        self.assertEqual(rows.faults(of("add.rn.%t"), TABLE), [])
        self.one(of("mul.rn.%t"), "ptx='mul.rn.%t': patterns/texts.py has add.rn.f16 for 'fadd'")
        low = intr(lang.mulhi.u32(lang.a, lang.b), "llvm.nvvm.mulhi.ui", ptx="mul.lo.%t")
        self.one([replace(S, phases={**S.phases, "isel": [*S.phases["isel"], low]})], "ptx='mul.lo.%t': patterns/texts.py has mul.hi.u32")
        narrow = intr(lang.cvt.i32.f32(lang.a), "llvm.nvvm.f2i.rz", ptx="cvt.rni.%t.%o")
        self.one([replace(S, phases={**S.phases, "isel": [*S.phases["isel"], narrow]})], "ptx='cvt.rni.%t.%o': patterns/texts.py has cvt.rzi.s32.f32")
        self.assertRaises(PatternError, lambda: llvm(add[lang.F](lang.a, lang.b), "fadd", ptx="add.rn.%q"))

    def test_what_plans_use(self) -> None:
        without = lambda *names: [replace(S, phases={**S.phases,
                                                     "isel": [r for r in S.phases["isel"] if r.left.op.name not in names]})]  # type: ignore[attr-defined]
        self.one(without("redux_add"), "no INSTR rule takes redux_add.i32, redux_add.u32, which plans use on machines with the feature 'redux'")
        self.one(without("ticket", "lock"), "no INSTR rule takes ticket.u32, lock.u32, which plans use")
        self.one(without("shuffle_xor"), "no INSTR rule takes shuffle_xor.u32")

    def test_a_wrong_kind_of_row(self) -> None:
        self.assertRaises(PatternError, lambda: tune("loop.block", value=-1, because="x"))
        self.assertRaises(PatternError, lambda: tune("loop.block", value=1.5, because="x"))  # type: ignore[arg-type]
        self.assertEqual(target("sm_90").where[0], "?")


if __name__ == "__main__":
    unittest.main()
