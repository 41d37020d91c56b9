"""PTX kernels that time what is neither arithmetic of one form nor plain memory: atomics, barriers, clusters, branches, pipes side by side, launches;
and the jobs that say how each is run (rate_memory.py has their kinds)."""
from __future__ import annotations

from typing import Dict, List

import rate_memory
from rate_kernels import IN, OUT, SIGNATURE, timed
from rate_memory import ALL_ARRIVE, CLUSTER, FULL, REGS, RESULT, START, Job, Made, job, registers, times

FMA, ADD = "fma.rn.f32 x, x, y, y;", "add.rn.f32 x, x, y;"


def launches() -> Made:
    spin = f""".visible .entry spin{SIGNATURE} {{
.reg .b32 us; .reg .b64 t, now, more; .reg .pred g;
ld.param.b32 us, [arg]; mov.u64 t, %globaltimer; mul.wide.u32 more, us, 1000; add.s64 t, t, more;
wait:
mov.u64 now, %globaltimer; setp.lt.u64 g, now, t; @g bra wait;
ret;
}}
"""
    jobs = [job("device", "device", "empty", "attributes"), job("hz", "clock.one", "loop_64", "one warp runs", turns=1 << 17),
            job("hz", "clock", "mix_fma2_alu", "all SMs are busy", turns=1 << 16, grid=132, block=1024)]
    jobs += [job("launch", f"launch.{g}", "empty", f"an empty kernel of {g} blocks of {b} threads", grid=g, block=b)
             for g, b in ((1, 32), (132, 128), (2112, 128), (16896, 128))]
    return {"empty": f".visible .entry empty{SIGNATURE} {{\nret;\n}}\n", "spin": spin}, jobs


def atomics() -> Made:
    """By one thread, one after the other; what each returns is an operand of the next. The address is a sum with the thread times 0: with one that is
    alike in all threads ptxas would let one thread of a warp do it."""
    texts: Dict[str, str] = {}
    jobs: List[Job] = []
    chains = {f"atom.{how}": f"atom.{how} x, [big], x;" for how in ("global.add.u32", "global.add.f32")}
    chains["atom.global.cas.b32"] = "atom.global.cas.b32 x, [big], x, y;"
    chains.update({f"atom.{how}": f"atom.{how} x, [big], x;" for how in (
        "global.exch.b32", "relaxed.gpu.global.add.u32", "acquire.gpu.global.exch.b32", "release.gpu.global.exch.b32", "acq_rel.gpu.global.inc.u32")})
    chains.update({f"atom.shared.{how}": f"atom.shared.{how} x, [s], x{', y' if 'cas' in how else ''};" for how in (
        "add.u32", "cas.b32", "exch.b32", "add.f32", "inc.u32", "max.u32")})
    chains.update({"fence.acq_rel.gpu": "fence.acq_rel.gpu;", "membar.gl": "membar.gl;",
                   "store + fence.acq_rel.gpu": "st.global.b32 [big+128], x; fence.acq_rel.gpu;"})
    for how in ("relaxed.gpu.global.b32", "volatile.global.b32"):
        chains[f"ld.{how}"] = f"ld.{how} y, [z]; cvt.u64.u32 z, y; add.s64 z, z, big;"
    before = (f"{START} mov.b32 s, tile; st.shared.b32 [s], x; mov.b32 y, x; add.s64 z, big, 64; mov.b32 a, 0; st.global.b32 [z], a; "
              "st.global.b32 [big], a; ld.param.b32 a, [arg]; mul.lo.u32 a, a, tid; add.u32 s, s, a; cvt.u64.u32 t8, a; add.s64 big, big, t8;")
    for n, (name, text) in enumerate(chains.items()):
        texts[f"chain_{n}"] = timed(f"chain_{n}", REGS, before, times(8, text), f"{RESULT} st.global.b32 [pin+{OUT + 8192}], y;")
        jobs.append(job("clocks", "latency." + name, f"chain_{n}", "by one thread, one after the other", ops=8, block=1, shared=4096, turns=32))
    return texts, jobs


def reductions() -> Made:
    """red, by 264 blocks of 256 threads: each has an address of its own, side by side or in a sector each, or all have one."""
    texts: Dict[str, str] = {}
    jobs: List[Job] = []
    some = {"u32": ("red.global.add.u32 [z], x;", 4), "f32": ("red.global.add.f32 [z], x;", 4), "f16x2": ("red.global.add.noftz.f16x2 [z], x;", 4),
            "u64": ("red.global.add.u64 [z], z;", 8), "f64": ("red.global.add.f64 [z], z;", 8),
            "v4.f32": ("red.global.v4.f32.add [z], {x, x, x, x};", 16), "atom.u32": ("atom.global.add.u32 y, [z], x; xor.b32 s, s, y;", 4)}
    place = "mov.u32 s, %ntid.x; mad.lo.u32 s, ctaid, s, tid; mul.lo.u32 s, s, a; and.b32 s, s, 16777215; cvt.u64.u32 z, s; add.s64 z, z, big;"
    for name, (text, width) in some.items():
        kernel = "red_" + name.replace(".", "_")
        texts[kernel] = timed(kernel, REGS, f"{START} {place}", times(4, text), f"xor.b32 x, x, s; {RESULT}")
        for stride, how, turns in ((width, "addresses side by side", 32), (32, "a sector for each thread", 16), (0, "one address", 2)):
            jobs.append(job("events", f"red.{name}.{how}", kernel, how, grid=264, block=256, args=[stride], turns=turns, ops=4 * 264 * 256))
    return texts, jobs


def barriers() -> Made:
    texts = {"bar": timed("bar", REGS, START, times(16, "bar.sync 0;"), RESULT),
             "warp_bar": timed("warp_bar", REGS, START, times(16, "bar.warp.sync -1; xor.b32 x, x, a;"), RESULT)}
    jobs = [job("clocks", f"latency.barrier.{n}", "bar", f"bar.sync of {n} threads", block=n, ops=16) for n in (32, 64, 128, 256, 512, 1024)]
    for how in ("", ".relaxed"):
        kernel = "cluster_bar" + how.replace(".", "_")
        texts[kernel] = timed(kernel, REGS, START, times(8, ALL_ARRIVE.replace("arrive", f"arrive{how}")), RESULT, CLUSTER)
        jobs += [job("clocks", f"latency.cluster.barrier.{n}.{t}{how}", kernel, f"arrive and wait of {n} blocks of {t} threads", block=t, grid=n,
                     cluster=n, ops=8) for n in (2, 4, 8, 16) for t in (32, 256)]
    return texts, [*jobs, job("clocks", "bar.warp.sync", "warp_bar", "with an xor", ops=16)]


def branches() -> Made:
    """Loops of a chain of fma: a turn takes what the chain takes, and what of the branch the chain does not hide. Two-way branches between chains."""
    texts: Dict[str, str] = {}
    jobs: List[Job] = []
    start = f"{START} ld.global.b32 y, [pin+{IN + 8192}];"
    for n in (1, 4, 16, 64):
        texts[f"loop_{n}"] = timed(f"loop_{n}", REGS, start, times(n, FMA), RESULT)
        jobs.append(job("clocks", f"branch.loop.{n}", f"loop_{n}", f"a turn of a loop with a chain of {n} fma", turns=512))
    jobs += [job("clocks", f"branch.loop.{n}.full", f"loop_{n}", f"the same by 32 warps, chains of {n} fma", turns=512, **FULL) for n in (1, 4)]
    for how in ("bra", "bra.uni"):
        kernel = "two_ways_" + how.replace(".", "_")
        way = f"@g {how} yes@@;\n{times(12, FMA)}\nbra.uni end@@;\nyes@@:\n{times(12, ADD)}\nend@@:"
        texts[kernel] = timed(kernel, REGS, f"{start} setp.ne.b32 g, x, a;", times(4, way), RESULT)
        jobs.append(job("clocks", f"branch.two_ways.{how}", kernel, "a branch over 12 fma to 12 add (the first arg), or one over the add",
                        ops=4, args=[0, 0x3fa00000]))
    return texts, jobs


PARTS = {"fma": "fma.rn.f32 w@@, w@@, y, y;", "half": "fma.rn.f16x2 w@@, w@@, y, y;", "imad": "mad.lo.s32 w@@, w@@, y, y;",
         "alu": "prmt.b32 w@@, w@@, y, y;", "xu": "ex2.approx.ftz.f32 w@@, w@@;", "conv": "cvt.rn.f16x2.f32 w@@, w@@, y;",
         "shuffle": "shfl.sync.bfly.b32 w@@, w@@, 1, 0x1f, -1;"}
MIXED = (("fma", 1, "alu"), ("fma", 1, "imad"), ("fma", 1, "half"), ("fma", 2, "alu"), ("fma", 4, "xu"), ("fma", 8, "xu"), ("half", 1, "imad"),
         ("half", 1, "alu"), ("fma", 1, "conv"), ("fma", 2, "shuffle"), ("alu", 1, "xu"), ("alu", 1, "conv"), ("conv", 1, "xu"), ("imad", 1, "xu"),
         ("xu", 1, "shuffle"))


def pipes() -> Made:
    """Instructions of two pipes in turn; their chains are v0 to v7 and w0 to w7."""
    texts: Dict[str, str] = {}
    jobs: List[Job] = []
    start = f"{START} ld.global.b32 y, [pin+{IN + (1 << 18)}];\n" + "\n".join(
        f"ld.global.b32 v{k}, [pin+{IN + 8192 * k}]; ld.global.b32 w{k}, [pin+{IN + 8192 * (k + 8)}];" for k in range(8))
    after = f"{RESULT}\n" + "\n".join(
        f"st.global.b32 [pin+{OUT + 8192 * (k + 1)}], v{k}; st.global.b32 [pin+{OUT + 8192 * (k + 9)}], w{k};" for k in range(8))
    for a, n, b in MIXED:
        name = f"mix_{a}{n if n > 1 else ''}_{b}"
        lines = times(8, " ".join([PARTS[a].replace("w@@", "v@@")] * n + [PARTS[b]]))
        texts[name] = timed(name, REGS + registers(8, "vw"), start, f"{lines}\n{lines}", after)
        jobs.append(job("clocks", f"mix.{a}*{n}.{b}", name, f"{n} of {a} and one of {b} in turn", ops=16 * (n + 1), **FULL))
    return texts, jobs


def uniform() -> Made:
    """Of chains that are alike in all threads ptxas computes one, or half of them, in the uniform datapath."""
    texts: Dict[str, str] = {}
    jobs: List[Job] = []
    for n in (1, 2, 4):
        names = [f"u{k}" for k in range(n)]
        chain = times(8, "".join(f"add.s32 {u}, {u}, 77; xor.b32 {u}, {u}, 0x1234567; " for u in names))
        before = START + "".join(f"mul.lo.u32 {u}, a, {u[1]}3; " for u in names)
        after = f"{RESULT}{''.join(f'xor.b32 x, x, {u}; ' for u in names)}st.global.b32 [pin+{OUT + 8192}], x;"
        texts[f"uniform_{n}"] = timed(f"uniform_{n}", f"{REGS}.reg .b32 {', '.join(names)};\n", before, chain, after)
        jobs += [job("clocks", f"uniform.{n}.{32 * w}", f"uniform_{n}", f"sum and xor of what all threads have alike, {n} chains, {w} warps",
                     block=32 * w, ops=16 * n, warps=w) for w in (1, 32)]
    return texts, jobs


def all_of() -> Made:
    """What is not a form of arithmetic, in the order in which it is measured."""
    texts: Dict[str, str] = {}
    jobs: List[Job] = []
    first, *others, last = rate_memory.parts()
    for more, some in (launches(), first, barriers(), branches(), *others, pipes(), uniform(), atomics(), reductions(), last):
        texts.update(more)
        jobs += some
    return texts, jobs
