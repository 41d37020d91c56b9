"""Every feature of the rule language, run through the tables and the engine with small pattern files."""
from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import List

sys.path.insert(0, str(Path(__file__).resolve().parent))

from small import HEAD, ROOT  # noqa: E402

sys.path.insert(0, str(ROOT / "tests" / "bench"))
import rewrite_rules  # noqa: E402
from gen import checks, gen_tables, load  # noqa: E402

CC = shlex.split(os.environ.get("CC", "cc"))
FLAGS = ["-std=c11", "-O0", "-D_POSIX_C_SOURCE=200809L", "-ffp-contract=off", '-DWBB_VERSION="test"', "-w"]


@unittest.skipUnless(shutil.which(CC[0]), f"no C compiler: {CC[0]}")
class Engine(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        """Compiles once what does not depend on the rules."""
        cls.temp = tempfile.TemporaryDirectory()
        cls.folder = folder = Path(cls.temp.name)
        subprocess.run([sys.executable, str(ROOT / "gen/gen_scalar.py"), str(folder)], check=True, stdout=subprocess.DEVNULL)
        cls.tables("", "")
        sources = [ROOT / "tests/gen/engine.c", ROOT / "src/target/target.c", folder / "sc_tables.c", folder / "sc_functions.c"]
        for module in ("base", "scalar", "ir", "rewrite"):
            sources += sorted((ROOT / "src" / module).glob("*.c"))
        jobs = [subprocess.Popen([*CC, *FLAGS, f"-I{ROOT / 'src'}", f"-I{folder}", "-c", str(s), "-o", str(folder / f"{s.stem}.{n}.o")])
                for n, s in enumerate(sources)]
        assert not any(j.wait() for j in jobs)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.temp.cleanup()

    @classmethod
    def tables(cls, text: str, index: str) -> List[str]:
        patterns = cls.folder / "patterns"
        patterns.mkdir(exist_ok=True)
        (patterns / "__init__.py").write_text("")
        (patterns / "sm80.py").write_text(HEAD.replace("'sm_80'", "'sm_80', features=('relu',)") + text)
        (patterns / "indexing.py").write_text("from gen.lang import *\nALL = [\n" + index + "]\n")
        load.use(cls.folder)
        try:
            sets = [load.load_index(), load.load_target("sm80")]
            faults = [f for f in checks.check(sets[0], sets[1:]) if "selection is incomplete" not in f]
            if not faults:
                rewrite_rules.write(cls.folder, sets, {s.name: gen_tables.compile_set(s) for s in sets})
            return faults
        finally:
            load.use(ROOT)

    def run_on(self, text: str, index: str, ir: str, *args: str) -> str:
        self.assertEqual(self.tables(text, index), [])
        out = str(self.folder / "engine")
        objects = [str(p) for p in sorted(self.folder.glob("*.o"))]
        tables = [str(p) for p in sorted(self.folder.glob("tables_*.c"))]
        subprocess.run([*CC, *FLAGS, f"-I{ROOT / 'src'}", f"-I{self.folder}", *tables, *objects, "-o", out, "-lm"], check=True)
        (self.folder / "t.ir").write_text(ir)
        ran = subprocess.run([out, str(self.folder / "t.ir"), *args], capture_output=True, text=True)
        self.assertEqual((ran.stderr, ran.returncode < 0), ("", False))
        return ran.stdout

    def value(self, rules: str, expr: str, t: str = "f32", passes: str = "simplify") -> str:
        """The stored value after the passes; a, b, c are loads of type t."""
        names = "".join(f"  {n} = load %p[{i}]\n" for i, n in enumerate("abc"))
        ir = f"kernel @k(%p: {t}[3], %o: out {t}[1]) block 1 grid 1 {{\n{names}  store %o[0], {expr}\n}}\n"
        out = self.run_on(rules, "", ir, *passes.split())
        line = next((x for x in out.splitlines() if "store" in x), out)
        for i, n in enumerate("abc"):
            line = line.replace(f"load %p[{i}]", n)
        named = {x.split(" = ")[0].strip(): x.split(" = ")[1] for x in out.splitlines() if " = load" in x}
        for x, load_text in named.items():
            line = line.replace(x, "abc"[int(load_text.split("[")[1][0])])
        return line.split("], ", 1)[1] if "store" in line else line

    def test_constants_width_and_classes(self) -> None:
        rule = "SIMPLIFY = [rewrite(shl[N](shl[N](a, k), m), shl[N](a, k + m), when=(k > 0) & (m > 0) & (k + m < w))]\n"
        self.assertEqual(self.value(rule, "shl.i8(shl.i8(a, 3), 2)", "i8"), "shl.i8(a, 5)")
        self.assertEqual(self.value(rule, "shl.i8(shl.i8(a, 6), 2)", "i8"), "shl.i8(shl.i8(a, 6), 2)")

    def test_facts_of_elements(self) -> None:
        rule = "SIMPLIFY = [rewrite(band[N](a, k), a, when=known_zero(a, -1 - k))]\n"
        self.assertEqual(self.value(rule, "band.u32(shrl.u32(a, 24), 255)", "u32"), "shrl.u32(a, 24)")
        self.assertIn("band", self.value(rule, "band.u32(shrl.u32(a, 23), 255)", "u32"))
        rule = "SIMPLIFY = [rewrite(add[F](a, 0.0), a, when=never_negzero(a))]\n"
        self.assertEqual(self.value(rule, "add.f32(abs.f32(a), 0.0)"), "abs.f32(a)")
        self.assertEqual(self.value(rule, "add.f32(a, 0.0)"), "add.f32(a, 0.0)")

    def test_flags_of_every_node(self) -> None:
        rule = "SIMPLIFY = [rewrite(mul[F](mul[F](a, 2.0), 0.5), a, when=contract)]\n"
        self.assertEqual(self.value(rule, "mul.f32.contract(mul.f32.contract(a, 2.0), 0.5)"), "a")
        self.assertIn("mul", self.value(rule, "mul.f32.contract(mul.f32(a, 2.0), 0.5)"))
        self.assertIn("mul", self.value(rule, "mul.f32(mul.f32.contract(a, 2.0), 0.5)"))

    def test_free_modifiers_may_be_said_twice(self) -> None:
        tiles = ("INSTR = [asm(add.f32(neg.f32(a), b), 'sub.rn.f32 %d, %b, %a;'), llvm(neg.f32(a), 'fneg'), llvm(mul.f32(a, b), 'fmul')]\n")
        expr = "mul.f32(add.f32(neg.f32(a), b), neg.f32(a))"
        self.assertIn("no INSTR rule takes add.f32", self.value(tiles, expr, passes="isel"))
        self.assertIn("instr.f32<0>(a, b)", self.value(tiles + "FREE = [free(neg, on=add.f32)]\n", expr, passes="isel"))

    def test_immediates(self) -> None:
        tiles = ("INSTR = [asm(shrax.i32(shlx.i32(a, k), m), 'bfe.s32 %d, %a, %{m - k}, %{32 - m};', when=k < m),\n"
                 "         asm(mul.i32(a, k), 'x %{k};'), asm(shrax.i32(a, b), 'y'), asm(shlx.i32(a, b), 'z')]\n")
        packed = lambda i, j: i | j << 24
        self.assertIn(f"instr.i32<0, {packed(8, 16)}>(a)", self.value(tiles, "shrax.i32(shlx.i32(a, 8), 16)", "i32", passes="isel"))
        self.assertIn(f"instr.i32<1, {(1 << 48) - 5}>(a)", self.value(tiles, "mul.i32(a, -5)", "i32", passes="isel"))
        for text in ("shrax.i32(shlx.i32(a, 16), 8)", "shrax.i32(shlx.i32(a, 8), 16777216)"):  # the second does not fit its share of 48 bits
            self.assertIn("instr.i32<2>", self.value(tiles, text, "i32", passes="isel"))

    def test_sums_by_terms(self) -> None:
        tiles = ("INSTR = [asm(total(mul.i32(a, b), mul.i32(b, b), c), 'two'), asm(total(mul.i32(a, 3), c), 'one'), asm(add.i32(a, b), 'add'),\n"
                 "         asm(mul.i32(a, b), 'mul')]\n")
        for text in ("add.i32(add.i32(mul.i32(a, b), mul.i32(b, b)), c)", "add.i32(mul.i32(b, b), add.i32(c, mul.i32(b, a)))",
                     "add.i32(add.i32(c, mul.i32(b, b)), mul.i32(a, b))"):
            self.assertIn("instr.i32<0>(a, b, c)", self.value(tiles, text, "i32", passes="isel"))
        whole = self.value(tiles, "add.i32(add.i32(add.i32(a, c), mul.i32(b, b)), mul.i32(a, b))", "i32", passes="isel")
        self.assertIn("instr.i32<0>(a, b, instr.i32<2>(a, c))", whole)  # what is left is an addition of the kernel
        apart = self.value(tiles, "add.i32(add.i32(add.i32(a, mul.i32(b, b)), c), mul.i32(a, b))", "i32", passes="isel")
        self.assertNotIn("instr.i32<0>", apart)  # a + c is no value of the kernel
        self.assertIn("instr.i32<1>(a, b)", self.value(tiles, "add.i32(b, mul.i32(a, 3))", "i32", passes="isel"))

    def test_uses(self) -> None:
        tiles = "INSTR = [asm(sub.f32(a, b), 'x', when=once(b)), llvm(sub.f32(a, b), 'fsub'), llvm(mul.f32(a, b), 'fmul')]\n"
        self.assertIn("instr.f32<0>", self.value(tiles, "sub.f32(a, mul.f32(b, c))", passes="isel"))
        self.assertNotIn("instr.f32<0>", self.value(tiles, "sub.f32(mul.f32(b, c), mul.f32(b, c))", passes="isel"))

    def test_destination_modifiers_and_lanes(self) -> None:
        tiles = ("INSTR = [asm(relu(add.f32(a, b)), 'relu'), asm(sat(mul.f32(a, b)), 'sat'), llvm(add.f32(a, b), 'fadd'), llvm(mul.f32(a, b), 'fmul')]\n")
        self.assertEqual(self.value(tiles, "max.f32(add.f32(a, b), 0.0)", passes="isel"), "instr.f32<0>(a, b)")
        self.assertEqual(self.value(tiles, "saturate.f32(mul.f32(a, b))", passes="isel"), "instr.f32<1>(a, b)")
        self.assertIn("no INSTR rule takes", self.value(tiles, "min.f32(max.f32(mul.f32(a, b), 0.0), 1.0)", passes="isel"))  # which keeps nan
        tiles = "INSTR = [asm(mul.f32x2(pack.f32x2(a, b), lanes(f32, 1.0, 2.0)), 'two'), asm(mul.f32x2(splat.f32x2(a), splat.f32x2(b)), 'one')]\n"
        ir = ("kernel @k(%p: f32[3], %o: out f32[2]) block 1 grid 1 {\n  store %o[0], mul.f32x2(pack.f32x2(load %p[0], load %p[1]), "
              "pack.f32x2(1.0, 2.0))\n}\n")
        self.assertIn("instr.f32x2<0>(load %p[0], load %p[1])", self.run_on(tiles, "", ir, "isel"))
        ir = "kernel @k(%p: f32[3], %o: out f32[2]) block 1 grid 1 {\n  store %o[0], mul.f32x2(splat.f32x2(load %p[0]), splat.f32x2(load %p[1]))\n}\n"
        self.assertIn("instr.f32x2<1>(load %p[0], load %p[1])", self.run_on(tiles, "", ir, "isel"))

    def test_ramp_is_solved_for(self) -> None:
        rules = "SIMPLIFY = [rewrite(add.i32x4(splat.i32x4(a), ramp(i32, 4, k, m)), splat.i32x4(a), when=m == 3)]\n"
        ir = ("kernel @k(%p: i32[3], %o: out i32[4]) block 1 grid 1 {{\n"
              "  store %o[0], add.i32x4(splat.i32x4(load %p[0]), pack.i32x4(pack.i32x2(5, 8), pack.i32x2(11, {})))\n}}\n")
        self.assertNotIn("add", self.run_on(rules, "", ir.format(14), "simplify"))
        self.assertIn("add", self.run_on(rules, "", ir.format(15), "simplify"))

    def test_several_results_and_names(self) -> None:
        rules = "LOWER = [rewrite((div.u32(a, b), rem.u32(a, b)), ((q1 := divx.u32(a, b)), sub.u32(a, mul.u32(b, q1))))]\n"
        out = self.value(rules, "add.u32(div.u32(a, b), rem.u32(a, b))", "u32", "lower")
        self.assertIn("divx", out + self.value(rules, "div.u32(a, b)", "u32", "lower"))
        rules = "SIMPLIFY = [rewrite(add.f32(p := mul.f32(a, b), neg.f32(p)), sub.f32(p, p))]\n"
        self.assertRegex(self.value(rules, "add.f32(mul.f32(a, b), neg.f32(mul.f32(a, b)))"), r"sub\.f32\((x\d+), \1\)")

    def test_features(self) -> None:
        rules = "SIMPLIFY = [rewrite(neg.f32(neg.f32(a)), a, when={})]\n"
        self.assertEqual(self.value(rules.format("has('relu')"), "neg.f32(neg.f32(a))"), "a")
        self.assertEqual(self.value(rules.format("~has('relu')"), "neg.f32(neg.f32(a))"), "neg.f32(neg.f32(a))")

    def test_next_term_where_the_right_side_cannot_be_built(self) -> None:
        index = "rewrite((i*k + rest) // m, (i % (m - k)) + 0*(rest // m), when=m > 1),\n"
        ir = "kernel @k(%o: out i64[1]) block 64 grid 64 {\n  store %o[0], idx.i64((8*tid + 6*bid) // 8)\n}\n"
        self.assertIn("(4*tid + 3*bid) % 6", self.run_on("", index, ir, "simplify"))  # with the first k the divisor is 8 - 8 = 0; the next k is 2

    def test_first_rule_wins_in_either_order_of_operands(self) -> None:
        rules = "SIMPLIFY = [rewrite(neg.f32(add.f32(cos.f32(a), b)), b), rewrite(neg.f32(add.f32(sin.f32(a), b)), b)]\n"
        for sum_of in ("sin.f32(a), cos.f32(b)", "cos.f32(b), sin.f32(a)"):
            self.assertEqual(self.value(rules, f"neg.f32(add.f32({sum_of}))"), "sin.f32(a)")

    def test_why(self) -> None:
        index = "rewrite(n // k, 0, when=within(n, 0, k) & (k < 100)),\n"
        ir = "kernel @k(%o: out i64[1]) block 64 grid 1 {\n  store %o[0], idx.i64(tid // 8)\n}\n"
        self.assertIn("4 of 6: within(n, 0, k) fails: k = 8, n is tid, in [0, 63]", self.run_on("", index, ir, "why", "indexing.py:3"))
        rule = "SIMPLIFY = [rewrite(add.f32(mul.f32(a, b), c), neg.f32(a))]\n"
        ir = "kernel @k(%p: f32[3], %o: out f32[1]) block 1 grid 1 {\n  store %o[0], add.f32(load %p[0], exp.f32(load %p[1]))\n}\n"
        self.assertIn("is load (f32), not mul", self.run_on(rule, "", ir, "why", "sm80.py:2"))


if __name__ == "__main__":
    unittest.main()
