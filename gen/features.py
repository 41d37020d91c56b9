"""The words of `features=` in a target's file, which `has('word')` asks for: what each means, and PTX that needs the feature.

tests/rules/target_facts.py gives the PTX of each word to ptxas for every target: ptxas must accept it exactly where the target lists the word.

    FEATURES["redux"].ptx      ".reg .b32 a; mov.b32 a, 1; redux.sync.add.s32 a, a, -1;"
"""
from __future__ import annotations

from typing import Dict, NamedTuple


class Feature(NamedTuple):
    what: str
    ptx: str  # the body of a kernel


PAIR = ".reg .b32 a; mov.b32 a, 1; "
HALF = ".reg .b16 a; mov.b16 a, 1; "
FLOAT = ".reg .f32 a; mov.f32 a, 0f3f800000; "
ADDRESS = ".reg .b64 p; mov.b64 p, 64; "
SHARED = ".shared .align 16 .b32 s[128]; .reg .b32 q; mov.u32 q, s; "

FEATURES: Dict[str, Feature] = {
    "tanh.approx": Feature("tanh of f32 and f16", HALF + "tanh.approx.f16 a, a;"),
    "ex2.f16": Feature("2 to the power of an f16", HALF + "ex2.approx.f16 a, a;"),
    "red.f16x2": Feature("atomic sums of two f16", ADDRESS + PAIR + "red.global.add.noftz.f16x2 [p], a;"),
    "ldmatrix": Feature("matrices from shared memory", SHARED + ".reg .b32 d; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {d}, [q];"),
    "mma.f16": Feature("tensor cores on f16", PAIR + ".reg .f32 c; mov.f32 c, 0f3f800000; mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
                       "{c, c, c, c}, {a, a}, {a}, {c, c, c, c};"),
    "bf16.fma": Feature("bf16: fma, max, min, neg, abs, and conversions from f32", HALF + "fma.rn.bf16 a, a, a, a;"),
    "max.nan": Feature("max and min that give nan where an operand is nan; of f16 at all", FLOAT + "max.NaN.f32 a, a, a;"),
    "redux": Feature("reductions of 32-bit integers over a warp", PAIR + "redux.sync.add.s32 a, a, -1;"),
    "cp.async": Feature("copies from global to shared memory without a register", ADDRESS + SHARED + "cp.async.ca.shared.global [q], [p], 4;"),
    "mbarrier": Feature("barriers that count arrivals, in shared memory", SHARED + "mbarrier.init.shared.b64 [q], 1;"),
    "mma.bf16": Feature("tensor cores on bf16", PAIR + ".reg .f32 c; mov.f32 c, 0f3f800000; mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 "
                        "{c, c, c, c}, {a, a}, {a}, {c, c, c, c};"),
    "cvt.f8": Feature("conversions of f8e4m3fn and f8e5m2, two at a time", ".reg .b16 h; " + FLOAT + "cvt.rn.satfinite.e4m3x2.f32 h, a, a;"),
    "mma.f8": Feature("tensor cores on f8", PAIR + ".reg .f32 c; mov.f32 c, 0f3f800000; mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 "
                      "{c, c, c, c}, {a, a, a, a}, {a, a}, {c, c, c, c};"),
    "bf16.add": Feature("bf16: add, sub, mul, comparisons, conversions from integers", HALF + "add.rn.bf16 a, a, a;"),
    "ex2.bf16": Feature("2 to the power of a bf16, tanh of a bf16", HALF + "ex2.approx.ftz.bf16 a, a;"),
    "red.v4": Feature("atomic sums of four f32", ADDRESS + FLOAT + "red.global.v4.f32.add [p], {a, a, a, a};"),
    "red.bf16x2": Feature("atomic sums of two bf16", ADDRESS + PAIR + "red.global.add.noftz.bf16x2 [p], a;"),
    "cas.b128": Feature("compare and swap of 16 bytes", ADDRESS + ".reg .b128 d; mov.b128 d, {p, p}; atom.global.cas.b128 d, [p], d, d;"),
    "cluster": Feature("clusters of blocks", "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"),
    "bulk.copy": Feature("copies of any size by one thread", ADDRESS + SHARED + "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                         "[q], [p], 16, [q];"),
    "dependent.launch": Feature("a kernel that starts before the kernel that it depends on has ended", "griddepcontrol.wait;"),
    "elect": Feature("one thread of a warp chosen", ".reg .b32 a; .reg .pred p; elect.sync a|p, -1;"),
    "max3": Feature("max and min of three f32", FLOAT + "max.f32 a, a, a, a;"),
    "add.f32x2": Feature("add, mul, fma on two f32", ADDRESS + "add.rn.f32x2 p, p, p;"),
    "ld.v8": Feature("accesses of 32 bytes", ADDRESS + ".reg .b64 a, b, c, d; ld.global.v4.b64 {a, b, c, d}, [p];"),
}
# the first generation that has it, and all after it
SINCE: Dict[str, int] = {word: since for since, words in (
    (75, "tanh.approx ex2.f16 red.f16x2 ldmatrix mma.f16"), (80, "bf16.fma max.nan redux cp.async mbarrier mma.bf16"), (89, "cvt.f8 mma.f8"),
    (90, "bf16.add ex2.bf16 red.v4 red.bf16x2 cas.b128 cluster bulk.copy dependent.launch elect"), (100, "max3 add.f32x2 ld.v8")) for word in words.split()}
