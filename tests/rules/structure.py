"""Wrong rules that no value refutes: pattern files with a fault of form, reach, termination or target, and what the message must say.

(the text of a target's pattern file from line 2 on, the text of indexing.py from line 2 on, a part of the message)
"""
WRONG = [
    # types and names
    ("LOWER = [rewrite(add.i32(a, b), add.u32(a, b))]\n", "", "a is u32 in add.u32 and i32 elsewhere"),
    ("LOWER = [rewrite(neg.f32(abs.f64(a)), abs.f32(a))]\n", "", "abs.f64(a) is f64 where neg.f32 takes f32"),
    ("LOWER = [rewrite(select.u32(lt.i32(a, b), a, b), min.u32(a, b))]\n", "", "a is i32 in lt.i32 and u32 elsewhere"),
    ("LOWER = [rewrite(select.i32(a, b, c), max.i32(a, b))]\n", "", "elsewhere"),
    ("LOWER = [rewrite(add.i8(a, 300), a)]\n", "", "300"),
    ("LOWER = [rewrite(mul.i32(a, 1.0), a)]\n", "", "1.0"),
    ("LOWER = [rewrite(bor.pred(a, 1), True)]\n", "", "1"),
    ("LOWER = [rewrite(neg.f32(a), sub.f32(b, a))]\n", "", "b"),
    ("LOWER = [rewrite(rem.pred(a, b), a)]\n", "", "rem has no meaning at type pred"),
    ("LOWER = [rewrite(add.f32.fast(a, b), a)]\n", "", "fast is neither a type nor a flag"),
    ("LOWER = [rewrite(add.f32(a), a)]\n", "", "2 operands expected, 1 found"),
    ("LOWER = [rewrite(cvt.f32(a), a)]\n", "", "2 types expected in the name, 1 found"),
    ("LOWER = [rewrite(add(a, b), a)]\n", "", "1 type expected in the name, 0 found"),
    # conditions
    ("LOWER = [rewrite(add[N](a, k), a, when=(k > 0) and (k < 8))]\n", "", "no truth value"),
    ("LOWER = [rewrite(add[N](a, k), a, when=0 < k < 8)]\n", "", "no truth value"),
    ("LOWER = [rewrite(shl.i32(a, k), mul.i32(a, 2**k))]\n", "", "** is not among the arithmetic of constants"),
    ("LOWER = [rewrite(add[N](a, k), bnot[N](a), when=(k > 5) & (k < 3))]\n", "", "never matches: no constants found"),
    ("LOWER = [rewrite(sub.f32(a, b), bnot.f32(a))]\n", "", "bnot has no meaning at type f32"),
    # termination: both lines, or both measures
    ("SIMPLIFY = [rewrite(add.f32(a, b), sub.f32(a, neg.f32(b)))]\n", "", "does not shrink"),
    ("SIMPLIFY = [rewrite(exp.f32(exp.f32(a)), mul.f32(a, a))]\n", "", "a is used 1 times on the left, 2 on the right"),
    ("SIMPLIFY = [rewrite(max.i32(a, b), max.i32(b, a))]\n", "", "does not shrink"),
    ("LOWER = [rewrite(neg[N](a), sub[N](0, a)),\n         rewrite(sub[N](0, a), neg[N](a))]\n", "", "lowering goes in a circle"),
    ("LOWER = [rewrite(max.f32(a, b), neg.f32(min.f32(neg.f32(a), neg.f32(b)))),\n"
     "         rewrite(min.f32(a, b), neg.f32(max.f32(neg.f32(a), neg.f32(b))))]\n", "", "lowering goes in a circle"),
    ("LOWER = [rewrite(tanh.f32(a), tanh.f32.approx(a))]\n", "", "lowering goes in a circle"),
    ("", "ALL = [rewrite((n // k) // m, n // (k*m)),\n       rewrite(n // k, (n // 2) // (k//2), when=(k % 2 == 0) & (k > 2))]\n", "rules undo each other"),
    ("", "ALL = [rewrite(n % k, n - (n // k)*k, when=k > 1)]\n", "does not shrink"),
    # reach: both lines
    ("SIMPLIFY = [rewrite(max[F](a, a), a),\n            rewrite(max.f32(a, a), neg.f32(neg.f32(a)))]\n", "", "patterns/sm80.py:2"),
    ("SIMPLIFY = [rewrite(mul[N](a, k), 0, when=k == 0),\n            rewrite(mul[N](a, 0), 0)]\n", "", "patterns/sm80.py:2 matches every term"),
    ("SIMPLIFY = [rewrite(max.i32(a, a), a)]\nLOWER = [rewrite(max.i32(a, a), bnot.i32(bnot.i32(a)))]\n", "", "simplify takes away first: patterns/sm80.py:2"),
    ("LOWER = [rewrite(neg[N](a), sub[N](0, a)),\n         rewrite(abs.i32(neg.i32(a)), abs.i32(bnot.i32(a)))]\n",
     "", "lower takes away first: patterns/sm80.py:2"),
    ("LOWER = [rewrite(select.i32(gt.index(n, i), a, a), bnot.i32(a))]\n", "ALL = [rewrite(gt.index(n, i), lt.index(i, n))]\n",
     "index takes away first: patterns/indexing.py:2"),
    ("", "ALL = [rewrite(n // k, 0, when=within(n, 0, k)),\n       rewrite(n // k, 0, when=within(n, 0, 4) & (k > 9))]\n",
     "patterns/indexing.py:2 matches every"),
    # phases
    ("SIMPLIFY = [rewrite(n // 1, n)]\n", "", "an index rule in the simplify phase"),
    ("", "ALL = [rewrite(neg.f32(neg.f32(a)), a)]\n", "an element rule in the index phase"),
    ("INSTR = [rewrite(tanh.f32(a), exp.f32(a))]\n", "", "does not belong to the isel phase"),
    ("LOWER = [asm(tanh.f32(a), 'tanh.approx.f32 %d, %a;')]\n", "", "does not belong to the lower phase"),
    # instructions
    ("INSTR = [asm(sub.f32(a, b), 'sub.rn.f32 %d, %{a}, %{c};')]\n", "", "%{c} is no operand of sub.f32(a, b)"),
    ("INSTR = [asm(sub.f32(a, c), 'sub.rn.f32 %d, %a, %c;')]\n", "", "%c is no operand of sub.f32(a, c)"),
    ("INSTR = [asm(sqrt.f32(a), 'sqrt.approx.f32 %d, %a;')]\n", "", "sqrt.approx.f32 is not exact: state its error"),
    ("INSTR = [asm(div.f32(a, b), '{ div.full.f32 %d, %a, %b; }')]\n", "", "div.full.f32 is not exact"),
    ("INSTR = [asm(mul.i32(a, k), 'shl.b32 %d, %a, %b;')]\n", "", "k is a constant"),
    ("INSTR = [asm(add.f32(mul.f32(a, b), mul.f32(c, x)), 'fma.rn.f32 %d, %a, %b, %c;')]\n", "", "an instruction has three operands at most"),
    ("INSTR = [llvm(add[F](a, b), 'fadd'),\n         asm(add.f32(mul.f32(a, b), c), 'fma.rn.f32 %d, %a, %b, %c;')]\n",
     "", "patterns/sm80.py:2 matches every term"),
]
# instructions that the machine of a target lacks: (rule, target's file, instruction)
ABSENT = [
    ("asm(fma.bf16(a, b, c), 'fma.rn.bf16 %d, %{a}, %{b}, %{c};')", "sm75", "fma.rn.bf16"),
    ("asm(max.f32(a, b), 'max.NaN.f32 %d, %{a}, %{b};')", "sm75", "max.NaN.f32"),
    ("asm(add.bf16(a, b), 'add.rn.bf16 %d, %{a}, %{b};')", "sm80", "add.rn.bf16"),
    ("asm(cvt.bf16.f64(a), 'cvt.rn.bf16.f64 %d, %{a};')", "sm86", "cvt.rn.bf16.f64"),
    ("asm(cvt.i32.bf16(a), '{ .reg .pred p; cvt.rzi.s32.bf16 %d, %{a}; }')", "sm89", "cvt.rzi.s32.bf16"),
    ("asm(add.f32(a, cvt.f32.bf16(b)), 'add.rn.f32.bf16 %d, %{b}, %{a};')", "sm90", "add.rn.f32.bf16"),
]
