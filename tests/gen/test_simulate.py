"""Kernels that gen/proof/simulate.py makes of instruction rules."""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from gen import gen_tables, gen_scalar, lang, load, ops  # noqa: E402
from gen.proof import after_proof, simulate, tables, tile_kernels  # noqa: E402
from gen.lang import Rule, a, add, asm, b, bf16, cvt, fma, intr, k, llvm, packed, rel, shlx, ulp, w  # noqa: E402


def named(rule: Rule) -> Rule:
    load.identify([rule])
    return rule


def texts(rule: Rule, packs: list = []) -> list:
    return [(x.instance, x.text) for x in tile_kernels.kernels_of(named(rule), packs)]


class Kernels(unittest.TestCase):
    def test_operands_and_classes(self) -> None:
        from gen.lang import F
        made = texts(llvm(add[F](a, b), "fadd"))
        self.assertEqual([i for i, _ in made], [f"add.{t}" for t in ops.CLASSES["F"]])
        self.assertIn("store %out[t], add.f32(load %a[t], load %b[t])", made[2][1])
        self.assertIn("%a: f32[1024], %b: f32[1024], %out: out f32[1024]", made[2][1])

    def test_lanes_are_those_of_packed(self) -> None:
        made = texts(intr(fma.bf16(a, b, a), "llvm.fma"), packed(bf16, 2, fma))
        self.assertEqual([i for i, _ in made], ["fma.bf16", "fma.bf16x2"])
        self.assertIn("fma.bf16x2(load.bf16x2 %a[2*t], load.bf16x2 %b[2*t], load.bf16x2 %a[2*t])", made[1][1])
        self.assertEqual(len(texts(asm(fma.bf16(a, b, a), "x"), packed(bf16, 2, fma))), 1)

    def test_constants_satisfy_the_condition(self) -> None:
        made = texts(asm(shlx.u32(a, k), "x", when=(k > 0) & (k < w)))
        self.assertEqual([i for i, _ in made], ["shlx.u32,k=1", "shlx.u32,k=2", "shlx.u32,k=3", "shlx.u32,k=5"])
        self.assertIn("shlx.u32(load %a[t], 1)", made[0][1])
        self.assertEqual(texts(asm(shlx.u32(a, k), "x", when=(k > 5) & (k < 6))), [])

    def test_errors(self) -> None:
        rule = cvt.f32.bf16(a)
        self.assertEqual(tile_kernels.err_text(asm(rule, "x")), "")
        self.assertEqual(tile_kernels.err_text(asm(rule, "x", err=rel(0.5))), "--err 0.5 --ulp-noise")
        self.assertEqual(tile_kernels.err_text(named(Rule("call", rule, "x", None, ("patterns/x.py", 1), ulp(2)))), "--err 2.0ulp")

    def test_every_rule_makes_a_kernel(self) -> None:
        for target in load.targets():
            s = load.load_target(target)
            for r in s.phases["isel"]:
                self.assertGreater(len(list(tile_kernels.kernels_of(r, s.packed))), 0, r.name)


    def test_constants_at_which_the_left_side_says_nothing(self) -> None:
        """A rotation by 32 and 0: nothing can be compared there."""
        m = lang.VARIABLES["m"]
        r = lang.asm(lang.bor.u32(lang.shlx.u32(a, k), lang.shrlx.u32(a, m)), "shf.l.wrap.b32 %d, %{a}, %{a}, %{k};", when=k + m == 32)
        load.identify([r])
        found = {x.instance.split(",", 1)[1] for x in tile_kernels.kernels_of(r, [])}
        self.assertIn("k=1,m=31", found)
        self.assertEqual([x for x in found if "32" in x or "=0" in x], [])


class Targets(unittest.TestCase):
    def test_oldest_and_newest(self) -> None:
        both, newer = tile_kernels.Kernel("patterns/x.py:1", "add.f32", "x"), tile_kernels.Kernel("patterns/x.py:1", "add.f32x2", "y")
        on = {"sm75": [both], "sm80": [both], "sm86": [both], "sm90": [both, newer]}
        self.assertEqual(tile_kernels.chosen(on, False), {"sm75": [both], "sm90": [both, newer]})
        self.assertEqual(tile_kernels.chosen(on, True), on)

    def test_vectors_belong_to_their_own_rule(self) -> None:
        """The rule of cvt.f32x2.bf16x2 comes before the rule of one lane, so pairs are not tested with the latter."""
        kernels, faults = tile_kernels.kernels_on("sm90", "cvt.f32")
        self.assertEqual(faults, {})
        self.assertEqual([k.rule.split(":")[0] for k in kernels if k.instance == "cvt.f32x2.bf16x2"], ["patterns/machine.py"])


class Kept(unittest.TestCase):
    """Results of the same program are not computed again."""

    def simulated(self, folder: Path, names: list, said: str = "", **more: object) -> tuple:
        with mock.patch.object(after_proof, "call", return_value=(0, said)) as call:
            states, bad = after_proof.simulated(folder, names, **more)
        return states, bad, [c.args[0][5:] for c in call.call_args_list]

    def test_what_is_run(self) -> None:
        with tempfile.TemporaryDirectory() as d:
            folder = Path(d)
            (folder / "warpburg").write_text("a program")
            one, two = "patterns/x.py:1", "patterns/x.py:2[add.f32]"
            self.assertEqual(self.simulated(folder, [one], f"{one} simulated(5)\n1 passed, 0 failed")[0], {one: "simulated(5)"})
            self.assertEqual(self.simulated(folder, [one]), ({one: "simulated(5)"}, [], []))
            states, _, ran = self.simulated(folder, [one, two], f"{two} simulated(7)\n")
            self.assertEqual((states, ran), ({one: "simulated(5)", two: "simulated(7)"}, [["--rule", two]]))
            self.assertEqual(len(self.simulated(folder, [one], f"{one} simulated(5)\n", fresh=True)[2]), 1)
            self.assertEqual(self.simulated(folder, [], f"{one} simulated(9)\n", target="sm90")[2], [["--target", "sm90", "--every"]])
            self.assertEqual(self.simulated(folder, [], target="sm90"), ({one: "simulated(9)"}, [], []))
            (folder / "warpburg").write_text("another")
            self.assertEqual(len(self.simulated(folder, [one], f"{one} simulated(5)\n")[2]), 1)

    def test_a_failure_is_not_kept(self) -> None:
        with tempfile.TemporaryDirectory() as d:
            (Path(d) / "warpburg").write_text("a program")
            for _ in range(2):
                states, bad, ran = self.simulated(Path(d), ["patterns/x.py:1"], "patterns/x.py:1 failed on sm75: add.f32: wrong")
                self.assertEqual((states, len(bad), len(ran)), ({}, 1, 1))

    def test_several_rules_by_name(self) -> None:
        names = ["patterns/machine.py:16", "sharing.py:54"]
        made = [{k.rule for k in tile_kernels.kernels_on("sm90", *some)[0]} for some in (names[:1], names)]
        self.assertEqual([len(some) for some in made], [1, 2])


class Compilers(unittest.TestCase):
    """With the rules as they are, without a build."""

    def test_a_folder_serves_as_a_build(self) -> None:
        with tempfile.TemporaryDirectory() as d:
            build, folder = Path(d, "a build"), Path(d, "a build", "rules")
            (build / "tests").mkdir(parents=True)
            (build / "tests" / "measure").write_text("")
            (build / "warpburg").write_text("#!/bin/sh\nprintf '%s|' \"$@\"\n")
            (build / "warpburg").chmod(0o755)
            for contents in (b"first", b"second"):
                self.assertEqual(tables.made(folder, build, contents), folder)
                said = subprocess.run([str(folder / "warpburg"), "rules", "a b"], stdout=subprocess.PIPE, text=True, check=True).stdout
                self.assertEqual(said, f"--tables|{(folder / 'rules.tables').resolve()}|rules|a b|")
                self.assertEqual(((folder / "rules.tables").read_bytes(), (folder / "tests" / "measure").exists()), (contents, True))

    def test_the_program_of_a_build_has_the_rules_of_the_last_commit(self) -> None:
        """Where these are the files that it was built from, by git's names of their contents, and it is no older than its tables."""
        made = gen_tables.sources()
        self.assertIn("e69de29bb2d1d6434b8b29ae775ad8c2e48c5391 __init__.py\n", made)  # git's name of the empty file
        tree = "".join(f"100644 blob {x.split()[0]}\tpatterns/{x.split()[1]}\n" for x in made.splitlines())
        with tempfile.TemporaryDirectory() as d:
            build = Path(d)
            for name, text in (("patterns.made", made), ("warpburg", "a program")):
                (build / name).write_text(text)
            for there, as_built in ((tree + f"100644 blob {'0' * 40}\tpatterns/README.md\n", True), (tree.replace("e69de2", "000000"), False), ("", False)):
                with mock.patch.object(after_proof, "call", return_value=(0, there)):
                    self.assertEqual(after_proof.built_from_commit(build), as_built)
            os.utime(build / "warpburg", ns=(0, 0))
            with mock.patch.object(after_proof, "call", return_value=(0, tree)):
                self.assertFalse(after_proof.built_from_commit(build))
            self.assertEqual((tables.made(build / "before", build) / "warpburg").read_text().count("--tables"), 0)

    def test_what_needs_a_build(self) -> None:
        with tempfile.TemporaryDirectory() as d:
            build = Path(d)
            (build / "tests").mkdir()
            self.assertTrue(tables.stale(build))
            for name in ("warpburg", "tests/measure"):
                (build / name).write_text("")
            (build / "sc_tables.c").write_text(gen_scalar.tables_c())
            self.assertFalse(tables.stale(build))
            os.utime(build / "warpburg", (1, 1))
            self.assertTrue(tables.stale(build))  # older than a source
            (build / "rules").mkdir()
            (build / "rules" / "built").touch()
            self.assertFalse(tables.stale(build))  # a build had nothing to do
            (build / "sc_tables.c").write_text("other budgets")
            self.assertTrue(tables.stale(build))


class Judgement(unittest.TestCase):
    def test_another_rule_fired(self) -> None:
        r = simulate.Result()
        kernel = simulate.Kernel("patterns/x.py:1", "add.f32", "")
        simulate.judge(kernel, {"status": "ok", "rules": ["patterns/y.py:2"], "compared": 5, "all": False}, r)
        self.assertEqual(r.faults, ["add.f32: selected by patterns/y.py:2"])

    def test_nothing_compared(self) -> None:
        r = simulate.Result()
        simulate.judge(simulate.Kernel("lower: x", "i8", ""), {"status": "ok", "rules": [], "compared": 0, "all": False}, r)
        self.assertEqual(r.faults, ["i8: nothing was compared"])

    def test_counterexample_is_said(self) -> None:
        r = simulate.Result()
        simulate.judge(simulate.Kernel("lower: x", "i8", ""), {"status": "wrong", "first": "@k: %out[0] is 1"}, r)
        self.assertEqual(r.faults, ["i8: wrong: @k: %out[0] is 1"])


if __name__ == "__main__":
    unittest.main()
