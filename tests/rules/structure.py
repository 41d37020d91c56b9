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
    # numbers of the text
    ("SIMPLIFY = [rewrite(mul[N](a, k), a, when=literal(k))]\n", "", "k matches an integer constant, and literal is about a value"),
    ("SIMPLIFY = [rewrite(mul[N](a, b), a, when=power_of_two(b))]\n", "", "b is N; power_of_two is about floats"),
    ("SIMPLIFY = [rewrite(div[F8](a, b), mul[F8](a, div[F8](1.0, b)), when=power_of_two(b))]\n", "", "power_of_two is about f16, bf16, f32, f64"),
    ("SIMPLIFY = [rewrite(max[F](max[F](a, b), c), max[F](a, max[F](b, c)), when=literal(b))]\n", "", "does not shrink"),
    ("SIMPLIFY = [rewrite(add[N](a, b), add[N](b, a), when=literal(a) & ~literal(b))]\n", "", "does not shrink"),
    ("SIMPLIFY = [rewrite(div[F](a, b), a, when=literal(b)), rewrite(div[F](a, b), mul[F](a, div[F](1.0, b)), when=power_of_two(b))]\n", "", "never reached"),
    ("INSTR = [asm(mul.f32(a, b), 'mul.rn.f32 %d, %a, %b;', when=literal(b))]\n", "", "is a condition of rewrites"),
    ("LOWER = [rewrite(add.f32(a, b), sub.f32(a, neg.f32(b)), when=literal(b)), rewrite(sub.f32(a, b), add.f32(a, neg.f32(b)), when=~literal(b))]\n", "",
     "lowering goes in a circle"),
    # conditions
    ("SIMPLIFY = [rewrite(add[N](a, k), a, when=k == 0 | k == 1)]\n", "", "comparisons need brackets: (k == 1) | (k == 2)"),
    ("SIMPLIFY = [rewrite(add[N](a, k), a, when=(k == 0) | 1)]\n", "", "the right side of | is not a condition"),
    ("SIMPLIFY = [rewrite(add[N](a, k), a, when=(k == 0) | (k == 0))]\n", "", "never reached"),
    ("SIMPLIFY = [rewrite(add[N](a, k), a, when=(k == 0) | (m == 1))]\n", "", "m is not bound by the left side"),
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
WRONG += [  # conditions that never hold
    ("SIMPLIFY = [rewrite(mul.i32(a, k), 0, when=(k % 2 == 1) & (k % 4 == 2))]\n", "", "never matches: no constants found"),
    ("SIMPLIFY = [rewrite(mul.i32(a, k), a, when=k * k == 2)]\n", "", "never matches: no constants found"),
    ("SIMPLIFY = [rewrite(add.i32(add.i32(a, k), m), a, when=(k == m) & (k < m))]\n", "", "never matches: no constants found"),
    ("SIMPLIFY = [rewrite(tanh.f32(tanh.f32(a)), a, when=approx & ~approx)]\n", "", "never matches: no constants found"),
    ("SIMPLIFY = [rewrite(neg.f32(neg.f32(a)), a, when=has('max.NaN') & ~has('max.NaN'))]\n", "", "no target that joins it"),
    ("SIMPLIFY = [rewrite(abs.i32(abs.i32(a)), abs.i32(a), when=known_zero(a, 1 << 40))]\n", "", "never matches: no constants found"),
    ("SIMPLIFY = [rewrite(abs.i32(abs.i32(a)), abs.i32(a), when=nnan)]\n", "", "nnan: no operation on floats"),
    ("SIMPLIFY = [rewrite(add.i32(mul.i32(a, b), c), a, when=contract)]\n", "", "contract: no operation on floats"),
    ("SIMPLIFY = [rewrite(abs.f32(abs.f32(a)), abs.f32(a), when=known_zero(a, 1))]\n", "", "known_zero is about integers"),
    ("SIMPLIFY = [rewrite(add[N](a, k), a, when=(k == 300) & (w == 8))]\n", "", "never matches: no constants found"),
    ("SIMPLIFY = [rewrite(shl.u32(a, k), 0, when=k >= 2**32)]\n", "", "never matches: no constants found"),
    ("SIMPLIFY = [rewrite(mul.u32(a, k), 0, when=k < 0)]\n", "", "never matches: no constants found"),
    ("", "ALL = [rewrite(n // k, 0, when=within(n, 5, 3))]\n", "never matches: no constants found"),
    ("", "ALL = [rewrite(n // k, n, when=k == 0)]\n", "never matches: no constants found"),
    # circles of several rules, types and lists
    ("LOWER = [rewrite(neg.f16(a), cvt.f16.f32(neg.f32(cvt.f32.f16(a)))),\n         rewrite(neg.f32(a), cvt.f32.f64(neg.f64(cvt.f64.f32(a)))),\n"
     "         rewrite(neg.f64(a), sub.f64(-0.0, a)),\n         rewrite(sub.f64(a, b), add.f64(a, neg.f64(b)))]\n", "", "lowering goes in a circle: neg.f64"),
    ("LOWER = [rewrite(bnot.u32(a), bxor.u32(a, 0xffffffff)),\n         rewrite(bxor.u32(a, k), bnot.u32(a), when=k == 0xffffffff)]\n", "", "in a circle"),
    ("LOWER = [rewrite(bnot.u32(a), bxor.u32(a, 0xffffffff)),\n"
     "         rewrite(bxor.u32(a, b), band.u32(bor.u32(a, b), bnot.u32(band.u32(a, b))))]\n", "", "in a circle"),
    ("SIMPLIFY = [rewrite(sub.i32(a, k), add.i32(a, 0 - k)),\n            rewrite(add.i32(a, k), sub.i32(a, 0 - k))]\n", "", "does not shrink"),
    ("", "ALL = [rewrite(n // 2 // 3, n // 6), rewrite(n // 6, n // 2 // 3)]\n", "rules undo each other"),
    ("LOWER = [rewrite(div.u32(a, k), shrl.u32(a, 3), when=(k > 7) & (k < 9)),\n         rewrite(div.u32(a, k), shrl.u32(a, 3), when=k == 8)]\n",
     "", "never reached: patterns/sm80.py:2"),
]
WRONG += [  # the form of asm texts
    ("INSTR = [asm(add.u32(a, 1), '{ add.u32 %{a}, %{a}, 1; mov.b32 %d, %{a}; }')]\n", "", "add.u32 writes %a, an operand"),
    ("INSTR = [asm(fma.f32(a, b, c), '{ mul.rn.f32 %d, %{a}, %{b}; fma.rn.f32 %d, %{a}, %{b}, %{c}; }')]\n", "", "both may be one register"),
    ("INSTR = [asm(add.f32(mul.f32(a, b), c), '{ .reg .f32 h; mul.f32 h, %{a}, %{b}; add.f32 %d, h, %{c}; }')]\n", "", "say mul.rn.f32"),
    ("INSTR = [asm(add.f64(a, b), 'add.f64 %d, %{a}, %{b};')]\n", "", "say add.rn.f64"),
    ("INSTR = [asm(sub.f16(a, b), 'sub.ftz.f16 %d, %{a}, %{b};')]\n", "", "say sub.rn.ftz.f16"),
    ("INSTR = [asm(add.u32(add.u32(a, b), c), '.reg .b32 h; add.u32 h, %{a}, %{b}; add.u32 %d, h, %{c};')]\n", "", "stands in braces"),
    ("INSTR = [asm(add.i32(a, b), '{ L: add.s32 %d, %{a}, %{b}; bra L; }')]\n", "", "bra does more than compute"),
    ("INSTR = [asm(add.f32(a, b), '{ add.rn.f32 %d, %{a}, %{b}; exit; }')]\n", "", "exit does more than compute"),
    ("INSTR = [asm(add.f32(a, b), '{ bar.sync 0; add.rn.f32 %d, %{a}, %{b}; }')]\n", "", "bar.sync does more than compute"),
    ("INSTR = [asm(neg.f32(a), '{ .reg .f32 h; ld.global.f32 h, [%{a}]; neg.f32 %d, h; }')]\n", "", "ld.global.f32 does more than compute"),
    ("INSTR = [asm(neg.f32(a), '{ .reg .b32 h; shfl.sync.idx.b32 h, %{a}, 0, 31, -1; neg.f32 %d, h; }')]\n", "", "shfl.sync.idx.b32 does more"),
    ("INSTR = [asm(lt.f32(a, b), '{ vote.sync.any.pred %d, %{a}, -1; }')]\n", "", "vote.sync.any.pred does more"),
    ("INSTR = [asm(exp2.f32.approx(a), 'ex2.approx.f32 %d, %{a};', err=rel(1e6))]\n", "", "an error is above 0 and below 1"),
    ("INSTR = [asm(exp2.f32.approx(a), 'ex2.approx.f32 %d, %{a};', err=ulp(0))]\n", "", "an error is above 0"),
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

# --- instruction rows: what LLVM computes is not what the machine does; order and scope of memory ------------------------------------
POISON, WHOLE, OTHER, ABOUT = "is poison at", "of the 32 threads of a warp", "of its operands in order, not", "integers, but"
ROWS = [
    ("intr(abs[I](a), 'llvm.abs(%a, i1 1)')", POISON), ("intr(abs.i64(a), 'llvm.abs(%a, i1 -1)')", POISON), ("intr(clz[N](a), 'llvm.ctlz(%a, i1 1)')", POISON),
    ("intr(clz[N](a), 'llvm.ctlz')", "lacks an argument"), ("intr(abs[N](a), 'llvm.abs(%a, i1 0)')", ABOUT), ("llvm(shl[N](a, b), 'shl')", OTHER),
    ("llvm(shrl[U](a, b), 'lshr')", OTHER),
    ("llvm(shra[I](a, b), 'ashr')", OTHER), ("llvm(div[I](a, b), 'sdiv')", OTHER), ("llvm(rem[U](a, b), 'urem')", OTHER),
    ("llvm(divx[U](a, b), 'sdiv')", ABOUT), ("llvm(cvt.i32.f32(a), 'fptosi')", POISON), ("llvm(cvt.u32.f32(a), 'fptoui')", POISON),
    ("intr(max[I](a, b), 'llvm.umax')", ABOUT), ("intr(redux_add.i32(a), 'llvm.nvvm.redux.sync.add(%a, i32 1)')", WHOLE),
    ("intr(shuffle_up.u32(a, b), 'llvm.nvvm.shfl.sync.up.i32(i32 -1, %a, %b, i32 31)')", WHOLE),
    ("intr(shuffle_xor.u32(a, b), 'llvm.nvvm.shfl.sync.bfly.i32(i32 65535, %a, %b, i32 31)')", WHOLE),
    ("intr(ballot.u32.pred(a), 'llvm.nvvm.vote.ballot.sync(i32 0, %a)')", "does not ask the 32 threads"), ("llvm(lt[N](a, b), 'icmp slt')", ABOUT),
    ("llvm(sub[N](a, b), 'sub(%b, %a)')", OTHER), ("llvm(cvt.i64.i32(a), 'zext')", ABOUT), ("llvm(cvt.i64.u32(a), 'sext')", ABOUT),
    ("llvm(cvt.i32.i64(a), 'sext')", "is narrower than"), ("llvm(cvt.f32.i32(a), 'bitcast')", "keeps the bits"), ("llvm(cvt.f32.i32(a), 'uitofp')", ABOUT),
    ("intr(cvt.i64.f32(a), 'llvm.nvvm.f2i.rz')", "is of 32 and 32 bits"), ("intr(mulhi.i64(a, b), 'llvm.nvvm.mulhi.i')", "is of 32 bits"),
    ("llvm(atomic_add.u32(a), 'atomicrmw xor')", OTHER), ("llvm(ticket.u32(a), 'atomicrmw add')", "is relaxed, but ticket needs acq_rel"),
    ("llvm(lock.u32(a), 'atomicrmw xchg')", "is relaxed, but lock needs acquire"), ("llvm(atomic_min.u32(a), 'atomicrmw min')", ABOUT),
    ("intr(popcnt[N](a), 'llvm.ucmp')", "does not know what it computes"),
    ("asm(ticket.u32(a), 'atom.relaxed.gpu.global.inc.u32 %d, [%p], %a;')", "ticket needs acq_rel"),
    ("asm(ticket.u32(a), 'atom.global.inc.u32 %d, [%p], %a;')", "is relaxed, but ticket needs acq_rel"),
    ("asm(ticket.u32(a), 'atom.acq_rel.cta.global.inc.u32 %d, [%p], %a;')", "has the scope cta"),
    ("asm(ticket.u32(a), 'atom.release.gpu.global.inc.u32 %d, [%p], %a;')", "is release, but ticket needs acq_rel"),
    ("asm(lock.u32(a), 'atom.release.gpu.global.exch.b32 %d, [%p], %a;')", "lock needs acquire or acq_rel"),
    ("asm(lock.u32(a), 'atom.acquire.cluster.global.exch.b32 %d, [%p], %a;')", "has the scope cluster"),
    ("asm(unlock.u32(a), 'atom.acquire.gpu.global.exch.b32 %d, [%p], %a;')", "unlock needs release or acq_rel"),
    ("asm(unlock.u32(a), 'atom.release.cta.global.exch.b32 %d, [%p], %a;')", "has the scope cta"),
    ("asm(atomic_add.f16(a), 'atom.cta.global.add.noftz.f16 %d, [%p], %a;')", "has the scope cta"),
    ("asm(atomic_add.u32(a), '{ .reg .u32 x; ld.global.u32 x, [%p]; add.u32 x, x, %a; st.global.u32 [%p], x; mov.u32 %d, x; }')", "which one atom.. takes"),
]
WRONG += [(f"INSTR = [{text}]\n", "", wanted) for text, wanted in ROWS]
WRONG += [
    ("SIMPLIFY = [rewrite(add.f32(a, k), a, when=k == 2)]\n", "", "k matches integer constants, and add.f32 takes a float"),
    ("LOWER = [rewrite(pow.f32(a, k), mul.f32(a, a), when=k == 2)]\n", "", "k matches integer constants, and pow.f32 takes a float"),
    ("LOWER = [rewrite(exp.f32(a), exp2.f32(a), err=ulp(2))]\n", "", "err= is for lowerings of one form of a function"),
    ("SIMPLIFY = [rewrite(div.f32(a, sqrt.f32(b)), mul.f32(a, rsqrt.f32(b)), err=ulp(2))]\n", "", "err= is for lowerings of one form of a function"),
]
