"""gen/instructions.py: a row is all that an instruction needs. Its asm text has a meaning, its handler and its price kernel are made; a formula tests it."""
from __future__ import annotations

import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "sim")]
sys.dont_write_bytecode = True

import sim_instructions  # noqa: E402
from gen import asm_rule, gen_sim, instructions, ledger, load  # noqa: E402
from gen.expr import Node  # noqa: E402
from gen.lang import a, abs, add, asm, b, band, bits, c, mul, shl, shrl, sub  # noqa: A004, E402
from gen.proof import price_kernels, rule as rule_command, z3_formula  # noqa: E402


def byte(x: Node, n: int) -> Node:
    return band.i32(shrl.i32(x, 8 * n), 255)


def distance(x: Node, y: Node, n: int) -> Node:
    return abs.i32(sub.i32(byte(x, n), byte(y, n)))


class Rows(unittest.TestCase):
    def test_every_row_has_a_formula(self) -> None:
        tested = {name.partition(":")[0] for name, _, _ in sim_instructions.integers()}
        self.assertLessEqual(set(instructions.INSTRUCTIONS), tested)

    def test_a_row_is_no_row_of_c(self) -> None:
        texts = "".join(f.read_text() for f in (ROOT / "src/sim").glob("ops_*.c"))
        self.assertEqual([r.form for r in instructions.ROWS if f'"{r.form}"' in texts], [])

    def test_the_handler_is_deterministic(self) -> None:
        self.assertEqual(gen_sim.text(), gen_sim.text())
        with tempfile.TemporaryDirectory() as folder:
            gen_sim.main(["", folder])
            self.assertIn("const SimRow sim_rows_terms[]", (Path(folder) / "sim_terms.c").read_text())

    def test_an_operation_without_c(self) -> None:
        count = instructions.row("x", "u32", "u32", lambda x: instructions.of("popcnt", "u32")(x))
        with self.assertRaisesRegex(ValueError, "no C for popcnt.u32"):
            gen_sim.Function(count)

    @unittest.skipUnless(z3_formula.present(), "z3 is not installed")
    def test_a_row_of_floats(self) -> None:
        """Floats are operands and results as they are; of two in a register, or where their bits change, the row has bits."""
        of, Lit = instructions.of, instructions.Lit
        half = instructions.row("add.half.f32", "f32 f32", "f32", lambda x, y: of("add", "f32")(of("mul", "f32")(x, Lit(0.5)), y))
        upper = instructions.row("cvt.upper.u32.f32", "f32 u32", "u32", lambda x, n: of("shrl", "u32")(of("bits", "u32", "f32")(x), n))
        self.assertIn('"fff", uint32_t, uint32_t, uint32_t, uint32_t, bits_f32(add_half_f32(as_f32(a), as_f32(b))))', gen_sim.row(half))
        self.assertIn("const uint32_t t0 = raw_f32(a);", gen_sim.Function(upper).text)
        self.assertIn("0x1.0000000000000p-1f", gen_sim.Function(half).text)
        wide = instructions.row("mul.wide.f32.bf16", "bf16 f16", "f32", lambda x, y: of("mul", "f32")(of("cvt", "f32", "bf16")(x), of("cvt", "f32", "f16")(y)))
        self.assertIn('"fhh", uint32_t, uint16_t, uint16_t, uint32_t, bits_f32(mul_wide_f32_bf16(a, b)))', gen_sim.row(wide))
        self.assertIn("const float t0 = of_bf(a);", gen_sim.Function(wide).text)
        with self.assertRaisesRegex(ValueError, "no C for add.bf16: halves are converted to f32 and from it"):
            gen_sim.Function(instructions.row("x", "bf16 bf16", "bf16", lambda x, y: of("add", "bf16")(x, y)))
        rules = [asm(add.f32(mul.f32(a, 0.5), b), "add.half.f32 %d, %a, %b;"), asm(add.f32(mul.f32(a, 0.5), b), "add.half.f32 %d, %b, %a;"),
                 asm(shrl.u32(bits.u32.f32(a), 16), "cvt.upper.u32.f32 %d, %a, 16;")]
        load.identify(rules)
        with unittest.mock.patch.dict(instructions.INSTRUCTIONS, {x.form: x for x in (half, upper)}):
            states, said = rule_command.text_proofs(rules)
            self.assertTrue(all(map(asm_rule.computes, rules)))
        self.assertEqual([bool(states.get(r.name)) for r in rules], [True, False, True], said)

    def test_price_kernels(self) -> None:
        shape = price_kernels.arithmetic("mad24.hi.s32")
        self.assertEqual((shape.dest, shape.sources), (["u32"], ["u32"] * 3))

    @unittest.skipUnless(z3_formula.present(), "z3 is not installed")
    def test_texts_are_proved(self) -> None:
        sum_ = c
        for n in range(4):
            sum_ = add.i32(sum_, distance(a, b, n))
        right = [asm(sum_, "vabsdiff4.u32.u32.u32.add %d, %{a}, %{b}, %{c};"),
                 asm(mul.u32(band.u32(a, 0xFFFFFF), band.u32(b, 0xFFFFFF)), "mul24.lo.u32 %d, %a, %b;"),
                 asm(band.u32(a, sub.u32(shl.u32(1, band.u32(b, 31)), 1)), "szext.wrap.u32 %d, %{a}, %{b};")]
        wrong = [asm(sum_, "vabsdiff4.u32.s32.s32.add %d, %{a}, %{b}, %{c};"), asm(sum_, "vabsdiff2.u32.u32.u32.add %d, %{a}, %{b}, %{c};"),
                 asm(mul.u32(a, b), "mul24.lo.u32 %d, %a, %b;"), asm(mul.u32(band.u32(a, 0xFFFFFF), band.u32(b, 0xFFFFFF)), "mul24.lo.s32 %d, %a, %b;"),
                 asm(band.u32(a, sub.u32(shl.u32(1, band.u32(b, 31)), 1)), "szext.clamp.u32 %d, %{a}, %{b};")]
        for n, r in enumerate(right + wrong):
            r.instance = f"[{n}]"
        states, messages = rule_command.text_proofs(right + wrong)
        self.assertEqual([r.text or str(r.right) for r in right if ledger.weak(r, f"simulated(1) {states.get(r.name, '')}")], [], messages)
        said = "\n".join(messages)
        self.assertEqual([str(r.right) for r in wrong if states.get(r.name)], [])
        self.assertEqual(len(messages), len(wrong), said)

    def test_what_has_no_row_has_no_meaning(self) -> None:
        self.assertEqual(asm_rule.meanings(asm(add.u32(a, b), "mad24.hi.sat.s32 %d, %a, %b, %b;")), [])
        self.assertEqual(asm_rule.meanings(asm(add.u32(a, b), "mul24.lo.u32 %d, %a;")), [])  # an operand is missing
        self.assertTrue(asm_rule.computes(asm(add.u32(a, b), "szext.wrap.u32 %d, %a, %b;")))


if __name__ == "__main__":
    unittest.main()
