"""Rules that an earlier phase leaves nothing for, instructions that nothing selects or no machine has, and samples that are no proof."""
from __future__ import annotations

import sys
import unittest
from pathlib import Path
from typing import Any, Dict, List, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parent))

from small import faults  # noqa: E402
from gen import asm_rule, checks, ledger, load, machine, prices  # noqa: E402
from gen.lang import PatternError, Rule  # noqa: E402
from gen.proof import prove, rule, z3_formula  # noqa: E402


def written(*lines: str) -> List[Rule]:
    """The rules of these lines, as if they stood in patterns/sm90.py."""
    scope: Dict[str, Any] = {}
    exec("from gen.lang import *\nRULES = [" + ",\n".join(lines) + "]", scope)  # noqa: S102
    load.identify(scope["RULES"])
    for r in scope["RULES"]:
        r.where = ("patterns/sm90.py", 1)
    return list(scope["RULES"])


class Reach(unittest.TestCase):
    def one(self, text: str, message: str, line: int, index: str = "ALL = []\n") -> None:
        self.assertEqual(faults(text, index), [f"patterns/sm80.py:{line}: error: never reached: every term it matches has a part that a rule of "
                                               f"{message}"])

    def test_a_part_is_lowered_first(self) -> None:
        self.one("LOWER = [rewrite(neg[N](a), sub[N](0, a)),\n         rewrite(abs.i32(neg.i32(a)), abs.i32(bnot.i32(a)))]\n",
                 "lower takes away first: patterns/sm80.py:2 matches neg.i32(a) in abs.i32(neg.i32(a))", 3)
        self.assertEqual(faults("LOWER = [rewrite(neg[N](a), sub[N](0, a), when=approx),\n         rewrite(abs.i32(neg.i32(a)), bnot.i32(a))]\n"), [])

    def test_simplify_comes_before_lower(self) -> None:
        both = "SIMPLIFY = [rewrite(max.i32(a, a), a)]\nLOWER = [rewrite(max.i32(a, a), bnot.i32(bnot.i32(a)))"
        self.one(both + "]\n", "simplify takes away first: patterns/sm80.py:2 matches max.i32(a, a)", 3)
        # a lowering may make it
        self.assertEqual(faults(both + ", rewrite(min.i32(a, b), max.i32(a, b))]\n"), [])

    def test_index_rules_come_before_all(self) -> None:
        self.one("LOWER = [rewrite(select.i32(gt.index(n, i), a, a), bnot.i32(a))]\n",
                 "index takes away first: patterns/indexing.py:2 matches gt.index(n, i) in select.i32(gt.index(n, i), a, a)", 2,
                 "ALL = [rewrite(gt.index(n, i), lt.index(i, n))]\n")
        found = faults("", "ALL = [rewrite((n % k) // m, (n // m) % (k//m), when=(k % m == 0) & (m > 1)),\n"
                           "       rewrite((n % k)//m + (n//k)*(k//m) + rest, n//m + rest, when=(k % m == 0) & (m > 1))]\n")
        self.assertEqual(found, ["patterns/indexing.py:3: error: never reached: every term it matches has a part that a rule of index takes away first: "
                                 "patterns/indexing.py:2 matches ((n % 4) // 4) in (((n % 4) // 4) + (n // 4) + rest)"])


class Selection(unittest.TestCase):
    def test_simplify_makes_only_what_is_selected(self) -> None:
        s = load.load_target("sm90")
        checks.check_complete(s)
        s.phases["simplify"] = [*s.phases["simplify"], *written("rewrite(max.f16(min.f16(a, 1.0), 0.0), saturate.f16(a))")]
        with self.assertRaisesRegex(PatternError, "no INSTR rule takes saturate.f16 .* makes it of max.f16"):
            checks.check_complete(s)
        s.phases["simplify"][-1:] = written("rewrite(copysign[F](abs[F](a), b), copysign[F](a, b))")  # of f16 only where there was one
        checks.check_complete(s)

    def test_the_machine_has_each_instruction(self) -> None:
        table = prices.load_table(prices.load_sass())
        self.assertEqual([f for t in load.targets() for f in machine.faults(load.load_target(t), table)], [])
        s = load.load_target("sm75")
        s.phases["isel"] = [*s.phases["isel"], *load.flat(load.run("machine").F8, "F8")]
        self.assertIn("sm_75 does not have cvt.rn.f16x2.e4m3x2", " ".join(machine.faults(s, table)))
        self.assertEqual(list(machine.opcodes("{ .reg .b32 h; @p mul.hi.u32 h, %a, 3; shr.u32 %d, h, 17; }")), ["mul.hi.u32", "shr.u32"])


@unittest.skipUnless(z3_formula.present(), "z3 is not installed")
class Bar(unittest.TestCase):
    RULE = ("rewrite(lt.i32(mul.i32(idx.i32(n), k), mul.i32(idx.i32(i), m)), lt.index(n*k, i*m), "
            "when=within(n, 0, 2**20) & within(i, 0, 2**20) & (k > 0) & (k < 2**{0}) & (m > 0) & (m < 2**{0}))")

    def state(self, text: str) -> str:
        return prove.prove(written(text), ledger.errors_of([]))[0].state

    def test_products_of_four_variables(self) -> None:
        self.assertEqual(self.state(self.RULE.format(12)), "failed(i32)")
        self.assertEqual(self.state(self.RULE.format(11)), "proved(i32)")

    def test_samples_of_integers_are_no_proof(self) -> None:
        r, = written(self.RULE.format(11))
        self.assertIn("samples are no proof", ledger.weak(r, "tested(i32: 983)"))
        self.assertEqual(ledger.weak(r, "proved(i32)"), "")

    def test_the_command_refuses_what_a_build_refuses(self) -> None:
        r, = written(self.RULE.format(11))
        k = ledger.key(r, {})
        done = {k: ("tested(i32: 983)", "text")}
        said = rule.too_weak(done, [r], {})
        self.assertEqual((len(said), done), (1, {}))
        self.assertIn("patterns/sm90.py:1: error: only tested(i32: 983): a rule on integers must be proved", said[0])
        self.assertNotIn("./dev rule", said[0])
        done = {k: ("proved(i32)", "text")}
        self.assertEqual((rule.too_weak(done, [r], {}), list(done)), ([], [k]))


@unittest.skipUnless(z3_formula.present(), "z3 is not installed")
class Texts(unittest.TestCase):
    def proofs(self, *lines: str) -> Tuple[List[str], str]:
        rules = written(*lines)
        states, wrong = rule.text_proofs(rules)
        return [states.get(r.name, "-") for r in rules], "\n".join(wrong)

    def test_a_quotient_by_a_product_that_is_wrong_at_one_value(self) -> None:
        states, said = self.proofs("asm(div.u32(a, 145249), '{ .reg .b32 h; mul.hi.u32 h, %a, 3875757861; shr.u32 %d, h, 17; }')")
        self.assertEqual(states, ["-"])
        self.assertRegex(said, r"a +=\s0xfffe7ae0  4294867680")
        states, said = self.proofs("asm(div.u32(a, 10), '{ .reg .b32 h; mul.hi.u32 h, %a, 3435973837; shr.u32 %d, h, 3; }')")
        self.assertEqual((states, said), (["proved(u32)"], ""))

    def test_a_literal_of_the_text(self) -> None:
        states, said = self.proofs("asm(add.u32(a, 1), '{ .reg .pred p; setp.eq.u32 p, %a, 0x12345678; add.u32 %d, %a, 1; @p mov.u32 %d, 7; }')")
        self.assertEqual(states, ["-"])
        self.assertIn("0x12345678", said)

    def test_instructions(self) -> None:
        """One right text and one wrong one for each way to say it."""
        right = ["asm(bxor.u32(bxor.u32(a, b), c), 'lop3.b32 %d, %a, %b, %c, 0x96;')",
                 "asm(cvt.i64.i32(a), 'cvt.s64.s32 %d, %a;')", "asm(bor.u64(cvt.u64.u32(a), shl.u64(cvt.u64.u32(b), 32)), 'mov.b64 %d, {%a, %b};')",
                 "asm(select.i32(lt.i32(a, b), c, a), '{ .reg .pred p; setp.lt.s32 p, %a, %b; selp.b32 %d, %c, %a, p; }')",
                 "asm(add.i32(mul.i32(a, b), c), 'mad.lo.s32 %d, %a, %b, %c;')", "asm(sub.i32(0, a), 'neg.s32 %d, %a;')",
                 "asm(mul.i64(cvt.i64.i32(a), cvt.i64.i32(b)), 'mul.wide.s32 %d, %a, %b;')",
                 "asm(popcnt.u32(bnot.u32(a)), '{ .reg .b32 h; not.b32 h, %a; popc.b32 %d, h; }')"]
        wrong = ["asm(bxor.u32(bxor.u32(a, b), c), 'lop3.b32 %d, %a, %b, %c, 0x97;')", "asm(cvt.i64.i32(a), 'cvt.u64.u32 %d, %a;')",
                 "asm(bor.u64(cvt.u64.u32(a), shl.u64(cvt.u64.u32(b), 32)), 'mov.b64 %d, {%b, %a};')",
                 "asm(select.i32(lt.i32(a, b), c, a), '{ .reg .pred p; setp.lt.u32 p, %a, %b; selp.b32 %d, %c, %a, p; }')",
                 "asm(add.i32(mul.i32(a, b), c), 'mad.hi.s32 %d, %a, %b, %c;')", "asm(mul.i64(cvt.i64.i32(a), cvt.i64.i32(b)), 'mul.wide.u32 %d, %a, %b;')"]
        for line in right:
            r, = written(line)
            self.assertTrue(asm_rule.meanings(r), line)
            self.assertRegex(self.proofs(line)[0][0], "proved|exhausted", line)
        for line in wrong:
            self.assertEqual(self.proofs(line)[0], ["-"], line)

    def test_what_has_no_term(self) -> None:
        for line in ("asm(exp2.f32.approx(a), 'ex2.approx.f32 %d, %a;')", "asm(add.u32(a, b), '{ .reg .b32 h; add.u32 h, %a, %b; }')",
                     "asm(add.u32(a, b), 'addc.u32 %d, %a, %b;')", "asm(add.u32(a, b), '{ .reg .pred p; setp.lt.u32 p, %a, %b; @p add.cc.u32 %d, %a, %b; }')"):
            self.assertEqual(asm_rule.meanings(written(line)[0]), [])
        r, = written("asm(cvt.f16.f8e4m3fn(a), '{ .reg .f32 z; mov.f32 z, 0f3f800000; add.u32 z, z, -0x10; }')")
        self.assertEqual(asm_rule.literals(r), [-16, 0x3F800000])


if __name__ == "__main__":
    unittest.main()
