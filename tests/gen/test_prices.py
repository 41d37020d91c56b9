"""Prices of instructions: the files refuse bad rows with file and line, forms are spelled as target.h says, clocks follow from rates."""
from __future__ import annotations

import sys
import tempfile
import unittest
from pathlib import Path
from typing import Callable

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from gen import load, prices  # noqa: E402
from gen.expr import PatternError  # noqa: E402
from gen.proof import price_forms, price_kernels, sass_path  # noqa: E402


class Files(unittest.TestCase):
    def refused(self, name: str, rows: str, message: str, line: int = 2) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.write_text("heading\n" + rows)
            read: Callable = (lambda p: prices.load_table(prices.load_sass(), p)) if name == "prices.tsv" else prices.load_sass
            with self.assertRaises(PatternError) as caught:
                read(path)
            self.assertTrue(str(caught.exception).startswith(f"patterns/{name}:{line}: error: {message}"), str(caught.exception))

    def test_prices(self) -> None:
        good = "add.rn.f32\tall\tFADD\tfma\t0\n"
        self.refused("prices.tsv", "add.rn.f32\tall\tFADD\n", "5 columns expected, 3 found")
        self.refused("prices.tsv", good.replace("FADD", "FADDD"), "patterns/sass.tsv has no operation 'FADDD'")
        self.refused("prices.tsv", good.replace("FADD", "FADD*x"), "NAME*COUNT is expected, 'FADD*x' found")
        self.refused("prices.tsv", good.replace("fma", "fam"), "no rate is called latency.fam")
        self.refused("prices.tsv", good.replace("all", "sm_99"), "no target is called 'sm_99'; there are sm_75")
        self.refused("prices.tsv", good.replace("\t0", "\t-1"), "a number of instructions is expected, '-1' found")
        self.refused("prices.tsv", good + good, "add.rn.f32 has a price for sm_75 already, at line 2", 3)
        self.refused("prices.tsv", good.replace("FADD", "FADD2"), "patterns/sass.tsv has no operation 'FADD2' of sm_75")

    def test_sass(self) -> None:
        good = "0x023\tFFMA\tf32\tfma\tfma\t1\tall\tguide\n"
        self.refused("sass.tsv", good.replace("f32", "f31"), "no class is called 'f31'; there are integer f16 f32")
        self.refused("sass.tsv", good.replace("\tfma\tfma", "\tfam\tfma"), "no pipe is called 'fam'; there are fma alu imad")
        self.refused("sass.tsv", good.replace("\tfma\tfma", "\tfma:fast\tfma"), "no pipe is called 'fma:fast'")
        self.refused("sass.tsv", good.replace("\tfma\tfma", "\tfma\tfmaa"), "no rate is called latency.fmaa")
        self.refused("sass.tsv", good.replace("guide", " "), "the source is missing")
        for factor in ("0", "2-1", "x", "-1"):
            self.refused("sass.tsv", good.replace("\t1\t", f"\t{factor}\t"), f"a factor, or low-high, is expected, '{factor}' found")
        self.refused("sass.tsv", good + good, "operation 0x023 is stated twice for sm_75", 3)
        self.refused("sass.tsv", good + good.replace("0x023", "0x024"), "FFMA is operation 0x023 already", 3)

    def test_text_is_what_was_read(self) -> None:
        sass = prices.load_sass()
        self.assertEqual(prices.load_table(sass).text(sass), (ROOT / prices.FILE).read_text())

    def test_one_target_measured_again(self) -> None:
        """With the literals of every form, as they are measured: those that cost what the form without costs leave no row."""
        sass = prices.load_sass()
        table = prices.load_table(sass)
        forms = [*table.forms, *(f + " imm" for f in table.forms if " " not in f)]
        found = {f: p for f in forms for p in [table.price(f, "sm_90")] if p is not None}
        table.put("sm_90", found)
        table.drop_plain_literals(sass)
        self.assertEqual(table.text(sass), (ROOT / prices.FILE).read_text())


class Clocks(unittest.TestCase):
    def cost(self, form: str, target: str) -> prices.Cost:
        sass = prices.load_sass()
        price = prices.load_table(sass).price(form, "sm_" + target[2:])
        assert price is not None
        return prices.cost(price, sass, load.load_target(target))

    def cycles(self, form: str, target: str) -> dict:
        return {u: c for u, c in zip(prices.UNITS, self.cost(form, target).cycles) if c}

    def test_lanes(self) -> None:
        """A pipe of n lanes takes 128 / n clocks; f32 on sm_80 has half the lanes of sm_90, f64 of sm_86 two."""
        self.assertEqual(self.cycles("fma.rn.f32", "sm90"), {"fma": 1.0})
        self.assertEqual(self.cycles("fma.rn.f32", "sm80"), {"fma": 2.0})
        self.assertEqual(self.cycles("fma.rn.f64", "sm86"), {"f64": 64.0})
        self.assertEqual(self.cycles("fma.rn.f64", "sm90"), {"f64": 2.0})
        self.assertEqual(self.cycles("cvt.f64.f32", "sm90"), {"xu": 8.0})
        self.assertEqual(self.cycles("cvt.f64.f32", "sm86"), {"xu": 64.0})
        self.assertEqual(self.cycles("ex2.approx.ftz.f32", "sm75"), {"xu": 8.0})
        self.assertEqual(self.cycles("fma.rn.bf16x2", "sm80"), {"half": 2.0})
        self.assertEqual(self.cycles("ld.global.nc.v4.b32", "sm90"), {"lsu": 4.0})

    def test_two_pipes(self) -> None:
        """An integer product takes a place of FMA too: its own lanes, and those of f32."""
        self.assertEqual(self.cycles("mul.lo.s32", "sm90"), {"fma": 1.0, "imad": 2.0})
        self.assertEqual(self.cycles("mul.lo.s32", "sm80"), {"fma": 2.0, "imad": 2.0})

    def test_measured(self) -> None:
        """On an H200 HFMA2 alone takes the lanes of f16, HFMA2 and HFMA2.MMA in turn those of products too; VIADD is not in ALU."""
        self.assertEqual(self.cycles("fma.rn.f16", "sm90"), {"half": 2.0, "fma": 1.0})
        self.assertEqual(self.cycles("add.rn.f16x2", "sm90"), {"half": 1.0, "imad": 1.0, "fma": 1.0})
        self.assertEqual(self.cycles("setp.lt.f16", "sm90"), {"half": 2.0})
        self.assertEqual(self.cycles("add.s32 imm", "sm90"), {"fma": 0.5, "alu": 1.0, "imad": 1.0})  # IADD3 and VIADD in turn
        self.assertEqual(self.cycles("mul.wide.u32", "sm90"), {"imad": 4.0, "fma": 2.0})

    def test_bounds(self) -> None:
        """Of an operation that may be as fast as an integer one or four times as slow, the geometric mean."""
        c = self.cost("vote.sync.ballot.b32", "sm80")
        self.assertEqual((c.low, max(c.cycles), c.high), (2.0, 4.0, 8.0))

    def test_chain(self) -> None:
        self.assertEqual(self.cost("rcp.approx.ftz.f32", "sm90").latency, 17)
        self.assertEqual(self.cost("shfl.sync.bfly.b32", "sm90").issue, 1)
        self.assertGreater(self.cost("div.rn.f32", "sm90").off, 50)  # the slow path is called, and not counted
        self.assertLess(self.cost("div.rn.f32", "sm90").issue, 12)


class Forms(unittest.TestCase):
    def test_spelling(self) -> None:
        text = """
.visible .entry k(.param .u64 q) {
.reg .b32 %r<9>;
$L__BB0_1:
    ld.param.b64 %rd1, [q];   // a comment; add.s32 %r1, %r2, 3;
    @%p1 bra $L__BB0_1;
    mad.lo.s32 %r1, %r2, 128, %r3;
    mov.u32 %r1, %tid.x;
    mov.b64 %rd2, {%r1, %r2};
    mov.b64 {_, %r2}, %rd2;
    mov.b32 %r4, 7; mov.b64 %rd3, table; mov.b32 %r5, %r4;
    max.f32 %f1, %f2, %f3, %f4;
    max.f32 %f1, %f2, 0f00000000;
    shfl.sync.bfly.b32 %r1|%p1, %r2, 16, 31, -1;
    ld.global.nc.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1+16];
    { .reg .b32 l, h; shl.b32 l, %r1, 16; mov.b64 %rd3, {l, h}; }
    ret;
}"""
        self.assertEqual(dict(price_forms.forms(text)), {
            "ld.param.b64": 1, "bra": 1, "mad.lo.s32 imm": 1, "mov.u32 special": 1, "mov.b64 pack": 2, "mov.b64 unpack": 1, "mov.b32 imm": 1,
            "mov.b64 symbol": 1, "mov.b32": 1, "max.f32 3": 1, "max.f32 imm": 1, "shfl.sync.bfly.b32": 1, "ld.global.nc.v4.b32": 1, "shl.b32 imm": 1, "ret": 1})

    def test_every_usual_form_has_a_kernel(self) -> None:
        stated = {"bra", "bra.uni", "ret", "exit", "call.uni"}
        self.assertEqual([f for f in price_forms.usual() if f not in stated and not price_kernels.kernel(f, "k", 2)], [])


class Paths(unittest.TestCase):
    def code(self, *words: int) -> list:
        return [sass_path.Instruction(w, 0x03800000, 90) for w in words]

    def test_the_shortest_way_leaves_the_call_out(self) -> None:
        """@P0 BRA +2; two FFMA; EXIT: the branch is shorter."""
        jump = 0x0947 | 2 * 4 << 16  # distances of 4 bytes, 8 low bits at 16
        code = self.code(jump, 0x7223, 0x7223, 0x794d)
        self.assertEqual(sass_path.shortest(code), [0, 3])
        self.assertEqual(sass_path.shortest(self.code(0x7223, 0x794d)), [0, 1])
        self.assertIsNone(sass_path.shortest(self.code(0x7223)))

    def test_backward_branches(self) -> None:
        back = (-2 * 4 & 0x3fffffffff)
        word = 0x7947 | (back & 0xff) << 16 | (back >> 8) << 34
        self.assertEqual(self.code(0x7223, word & (1 << 64) - 1)[1].target(1), 0)

    def op(self, operation: int, dest: int, a: int, b: int = 255, guard: int = 7) -> sass_path.Instruction:
        """An instruction on three registers, with a width of 32 bits and no predicate but its guard."""
        none = 255 | 7 << 13 | 7 << 17 | 7 << 20 | 7 << 23
        return sass_path.Instruction(operation | 1 << 9 | guard << 12 | dest << 16 | a << 24 | b << 32, none | 4 << 9, 90)

    def chain(self, *code: sass_path.Instruction) -> list:
        kinds = {0x108: ("xu", 18.0), 0x012: ("alu", 4.0), 0x023: ("fma", 4.0)}
        return sass_path.chain(list(code), list(range(len(code))), kinds)

    def test_chains(self) -> None:
        load, store = self.op(0x181, 2, 0), self.op(0x186, 255, 0, 5)
        self.assertEqual(self.chain(load, self.op(0x108, 5, 2), store), ["xu"])
        self.assertEqual(self.chain(load, self.op(0x108, 4, 2), self.op(0x023, 5, 4, 2), store), ["xu", "fma"])
        self.assertEqual(self.chain(load, self.op(0x108, 4, 2), self.op(0x023, 5, 2, 2), store), ["fma"])  # the first is not stored
        self.assertEqual(self.chain(load, self.op(0x108, 5, 2), self.op(0x012, 5, 2), store), ["alu"])  # overwritten
        self.assertEqual(self.chain(load, self.op(0x108, 5, 2), self.op(0x012, 5, 2, guard=0), store), ["xu"])  # or kept, under a predicate


class Spelled(unittest.TestCase):
    """What an instruction rule says that LLVM makes of it has a price, at the types that quick and long ways of functions are of."""
    TYPES = {"F": ("f32", "f64"), "N": ("i32", "u32", "i64", "u64"), "I": ("i32", "i64"), "U": ("u32", "u64"), "T": ("f32", "u32", "i64", "f64")}
    ALL = ("f32", "f64", "i32", "u32", "i64", "u64")

    @staticmethod
    def form(word: str, to: str, of: str) -> str:
        name = {t: t.replace("i", "s") for t in (to, of)}
        return word.replace("%t", name[to]).replace("%o", name[of]).replace("%b", to[1:]).replace("%w", of[1:])

    def test_have_prices(self) -> None:
        table = prices.load_table(prices.load_sass())
        checked = 0
        for target in load.targets():
            s = load.load_target(target)
            for r in s.phases["isel"]:
                words = str(r.left).split("(")[0].split(".")[1:]
                if not r.ptx or any(w not in self.TYPES and w not in self.ALL for w in words if w != "approx"):
                    continue
                kinds = [self.TYPES.get(w, (w,)) for w in words if w != "approx"]
                for to in kinds[0]:
                    for of in kinds[1] if len(kinds) > 1 else (to,):
                        forms = [self.form(word, to, of) for word in r.ptx.split()]
                        name = str(s.values["name"])
                        self.assertTrue(any(table.price(f, name) for f in forms), f"{name}: {r.left}: no price of {' '.join(forms)}")
                        checked += 1
        self.assertGreater(checked, 700)

    def test_bad_forms_are_refused(self) -> None:
        from gen.lang import add, a, b, f32, llvm
        for form in ("add.%q", "%t.add", "add .f32", "add..f32"):
            with self.assertRaises(PatternError):
                llvm(add[f32](a, b), "fadd", ptx=form)


if __name__ == "__main__":
    unittest.main()
