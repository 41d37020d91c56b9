"""PTX kernels that time memory: latencies of each level, what an SM gets of it, and the bandwidth of all SMs. rate_threads.py has the others.

Every kernel has the parameters q (a buffer of 64 MiB: clocks first, then operands, then results), r (a large buffer), turns, arg. A job names a
kernel, its grid, block, turns and args, and a kind by which run_rates.py measures it:

    clocks     clocks of a block for `turns` turns and for twice as many, whose difference counts; a turn does `ops` times what is measured
    events     seconds of a launch by events, for each turn number; `bytes` or `ops` is what one turn of the grid does
    stream     seconds of a launch of many, each on another slice of the large buffers
    launch     seconds from launch to launch, in a stream and in a graph
    hz         clocks over nanoseconds
    device     attributes of the device
"""
from __future__ import annotations

from typing import Any, Dict, List, Sequence, Tuple

from rate_kernels import IN, OUT, SIGNATURE, timed

Job = Dict[str, Any]
Made = Tuple[Dict[str, str], List[Job]]  # kernels by name; jobs
MIB = 1 << 20
CLUSTER = ".explicitcluster"
ALL_ARRIVE = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
RESULT = f"st.global.b32 [pin+{OUT}], x;"
START = f"ld.global.b32 x, [pin+{IN}]; ld.param.b64 big, [r]; ld.param.b32 a, [arg];"
REGS = ".reg .b32 x, y, a, s; .reg .b64 big, z; .reg .pred g;\n"


def job(kind: str, name: str, kernel: str, what: str, **more: Any) -> Job:
    return {"kind": kind, "name": name, "kernel": kernel, "what": what, "grid": 1, "block": 32, "turns": 64, "args": [0], "ops": 1, **more}


def times(n: int, text: str, step: int = 0) -> str:
    """A text n times: # is a multiple of step, @@ the number."""
    return "\n".join(text.replace("#", str(k * step)).replace("@@", str(k)) for k in range(n))


def registers(n: int, letters: str = "v") -> str:
    return "".join(f".reg .b32 {', '.join(f'{c}{k}' for c in letters)};\n" for k in range(n))


def vector(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else "{" + ", ".join(names) + "}"


def four(k: int) -> str:
    return vector([f"v{4 * k + i}" for i in range(4)])


# --- latencies -------------------------------------------------------------------------------------------------------------------------------
CHAIN_INIT = f""".visible .entry chain_init{SIGNATURE} {{
.reg .b32 i, n, k, step, stride; .reg .b64 base, at, to;
ld.param.b64 base, [r]; ld.param.b32 step, [turns]; ld.param.b32 stride, [arg];
mov.u32 i, %ctaid.x; mov.u32 n, %ntid.x; mov.u32 k, %tid.x; mad.lo.u32 i, i, n, k; mov.u32 k, %nctaid.x; mul.lo.u32 n, n, k;
add.u32 k, i, step; rem.u32 k, k, n;
mad.wide.u32 at, i, stride, base; mad.wide.u32 to, k, stride, base; st.global.b64 [at], to;
ret;
}}
"""


def setup(nodes: int, step: int, stride: int) -> Dict[str, int]:
    """Each of so many nodes, `stride` bytes apart, gets the address of the one `step` further on."""
    block = min(nodes, 256)
    return {"grid": nodes // block, "block": block, "step": step, "stride": stride}


def chased() -> Made:
    """Latencies of loads, each of which loads the address of the next."""
    texts = {"chain_init": CHAIN_INIT}
    for how in ("ca", "cg"):
        texts[f"chase_{how}"] = timed(f"chase_{how}", REGS, f"{START}\nmad.wide.u32 z, a, 4096, big;", times(16, f"ld.global.{how}.b64 z, [z];"),
                                      f"st.global.b64 [pin+{OUT}], z;")
    texts["chase_shared"] = timed("chase_shared", REGS, "mov.b32 x, tile; st.shared.b32 [x], x; ", times(16, "ld.shared.b32 x, [x];"), RESULT)
    others = ("mov.b32 x, tile; mov.u32 rank, %cluster_ctarank; mapa.shared::cluster.u32 own, x, rank; st.shared.b32 [x], own; "
              f"xor.b32 rank, rank, 1; mapa.shared::cluster.u32 x, x, rank; {ALL_ARRIVE}")
    texts["chase_cluster"] = timed("chase_cluster", REGS + ".reg .b32 own, rank;\n", others, times(16, "ld.shared::cluster.b32 x, [x];"),
                                   RESULT + ALL_ARRIVE, CLUSTER)
    far = {"flush": True, "turns": 64}
    jobs: List[Tuple[str, str, str, Dict[str, Any]]] = [
        ("latency.shared", "chase_shared", "load from shared memory", {"shared": 4096}),
        ("latency.cluster.load", "chase_cluster", "load from another SM's shared memory", {"shared": 4096, "grid": 2, "cluster": 2}),
        ("latency.l1", "chase_ca", "load that hits L1, 4 KiB", {"setup": setup(32, 5, 128)}),
        ("latency.l2", "chase_cg", "load that hits L2, 1 MiB", {"turns": 256, "setup": setup(8192, 2741, 128)}),
        ("latency.l2.spread", "chase_cg", "the same address of L2 again, of 64 addresses 4 KiB apart",
         {"args": list(range(64)), "setup": setup(64, 0, 4096)}),
        ("latency.l2.far", "chase_cg", "load that hits L2, 20 MiB", {"turns": 512, "setup": setup(32768, 10007, 640)}),
        ("latency.dram", "chase_cg", "load from device memory, 512 MiB", {**far, "setup": setup(65536, 24593, 8192)}),
        ("latency.dram.16M", "chase_cg", "load from device memory, 16 MiB", {**far, "setup": setup(65536, 24593, 256)})]
    return texts, [job("clocks", name, kernel, what, ops=16, **more) for name, kernel, what, more in jobs]


# --- one SM ----------------------------------------------------------------------------------------------------------------------------------
PLACE = "mul.lo.u32 s, tid, a; and.b32 s, s, 16383; mov.b32 y, tile; add.u32 s, s, y; mov.b32 y, 8192; and.b32 x, x, 0;"
ELSEWHERE = "add.u32 s, s, y; neg.s32 y, y;"  # each turn works on other addresses than the one before
FULL = {"block": 1024, "warps": 32}


def fold(names: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"xor.b32 x, x, {m};" for n in names for m in n)


def shared_memory(width: int) -> Made:
    """Loads and stores of `width` words by 1024 threads, so many bytes apart."""
    names, words = [[f"v{(k * width + i) % 32}" for i in range(width)] for k in range(8)], "b32" if width == 1 else f"v{width}.b32"
    loads = "\n".join(f"ld.shared.{words} {vector(n)}, [s+{128 * width * k}];" for k, n in enumerate(names))
    stores = "\n".join(f"st.shared.{words} [s+{128 * width * k}], {vector(['x'] * width)};" for k in range(8))
    regs, before = REGS + registers(32), f"{START} {PLACE}"
    texts = {f"lds_{width}": timed(f"lds_{width}", regs, before, f"{loads}\n{fold(names)}\n{ELSEWHERE}", RESULT),
             f"sts_{width}": timed(f"sts_{width}", regs, before, f"{stores}\n{ELSEWHERE} add.u32 x, x, 1;", RESULT)}
    strides = [4 * s for s in (1, 2, 4, 8, 16, 32)] if width == 1 else [4 * width]
    return texts, [job("clocks", f"shared.{what}.b{32 * width}", f"{op}_{width}", f"{what}s of shared memory, bytes between threads: {strides}",
                       ops=8, args=strides, shared=49152, **FULL) for op, what in (("lds", "load"), ("sts", "store"))]


def cached_loads(width: int) -> Made:
    """Loads of few addresses by 1024 threads, through L1 and around it."""
    texts, jobs = {}, []
    names, words = [[f"v{k * width + i}" for i in range(width)] for k in range(4)], "b32" if width == 1 else f"v{width}.b32"
    for how, level in (("ca", "L1"), ("cg", "L2, few addresses")):
        kernel = f"ldg_{how}_{width}"
        loads = "\n".join(f"ld.global.{how}.{words} {vector(n)}, [z+{4096 * width * k}];" for k, n in enumerate(names))
        texts[kernel] = timed(kernel, REGS + registers(16), f"{START} and.b32 x, x, 0; mul.wide.u32 z, tid, {4 * width}; add.s64 z, z, big;",
                              f"{loads}\n{fold(names)}\nxor.b64 z, z, {16384 * width};", RESULT)
        jobs.append(job("clocks", f"{level[:2].lower()}.load.b{32 * width}", kernel, f"loads that hit {level}", ops=4, **FULL))
    return texts, jobs


def shared_atomics() -> Made:
    texts, jobs = {}, []
    for name, how in (("atoms", "add.u32"), ("atoms_max", "max.u32"), ("atoms_f32", "add.f32")):
        texts[name] = timed(name, REGS, f"{START} {PLACE}", f"{times(4, f'red.shared.{how} [s+#], x;', 128)}\n{ELSEWHERE}", RESULT)
        jobs.append(job("clocks", f"shared.{name}", name, "red.shared, bytes between threads: 4, 8, 128, 0", ops=4, args=[4, 8, 128, 0], turns=8,
                        shared=49152, **FULL))
    return texts, jobs


# --- all SMs ---------------------------------------------------------------------------------------------------------------------------------
def l2() -> Made:
    """Reads of 20 MiB again and again, and of more and less; by one SM, and by all."""
    regs = REGS + registers(16) + ".reg .b64 off, size, more; .reg .pred over;\n"
    loads = "\n".join(f"ld.global.cg.v4.b32 {four(k)}, [z+{16384 * k}];" for k in range(4))
    before = (f"{START} and.b32 x, x, 0; cvt.u64.u32 size, a; mul.lo.u32 s, ctaid, 196608; rem.u32 s, s, a; and.b32 s, s, -65536; "
              "cvt.u64.u32 off, s; mul.wide.u32 more, tid, 16; add.s64 big, big, more;")
    loop = (f"add.s64 z, big, off;\n{loads}\n{fold([[f'v{k}'] for k in range(16)])}\n"
            "add.s64 off, off, 65536; setp.ge.u64 over, off, size; @over mov.b64 off, 0;")
    jobs = [job("clocks", "sm.fill", "l2_read", "what one SM loads from L2: bytes of the region", block=1024, turns=512, args=[4 * MIB, 20 * MIB],
                bytes=65536)]
    jobs += [job("events", f"l2.{grid}", "l2_read", "loads of all SMs from L2: bytes of the region", block=1024, grid=grid, turns=256,
                 args=[s * MIB for s in sizes], bytes=65536 * grid) for grid, sizes in ((132, (20,)), (264, (8, 16, 20, 24, 32, 40)))]
    return {"l2_read": timed("l2_read", regs, before, loop, RESULT)}, jobs


def once(name: str, width: int, body: str) -> str:
    """A kernel of which a thread does something at `from` and `to`, which are `width` bytes from those of the next."""
    return (f".visible .entry {name}{SIGNATURE} {{\n.reg .b32 i, n, k, a, x; .reg .b64 from, to, off; .reg .pred g;\n{registers(16)}"
            "ld.param.b64 from, [q]; ld.param.b64 to, [r]; ld.param.b32 a, [arg]; mov.u32 i, %ctaid.x; mov.u32 n, %ntid.x; mov.u32 k, %tid.x; "
            f"mad.lo.u32 i, i, n, k; mul.wide.u32 off, i, {width}; add.s64 from, from, off; add.s64 to, to, off;\n{body}\nret;\n}}\n")


def dram() -> Made:
    """A thread loads or stores few bytes once, as kernels of fusions do; each launch works on other memory. What is read is stored if it is arg."""
    texts, jobs = {}, []
    for width in (4, 16, 32, 64):
        words, parts = ("b32", ["v0"]) if width == 4 else ("v4.b32", [four(k) for k in range(width // 16)])
        loads = "\n".join(f"ld.global.{words} {p}, [from+{16 * k}];" for k, p in enumerate(parts))
        stores = "\n".join(f"st.global.{words} [to+{16 * k}], {p};" for k, p in enumerate(parts))
        used = f"mov.b32 x, v0;\n{fold([[f'v{k}' for k in range(1, width // 4)]])}\nsetp.eq.b32 g, x, a; @g st.global.b32 [to], x;"
        made = "\n".join(f"mov.b32 v{k}, a;" for k in range(max(4, width // 4)))
        for what, body in (("read", f"{loads}\n{used}"), ("write", f"{made}\n{stores}"), ("copy", f"{loads}\n{stores}")):
            texts[f"{what}_{width}"] = once(f"{what}_{width}", width, body)
            jobs.append(job("stream", f"dram.{what}.{width}", f"{what}_{width}", f"{what}, {width} bytes a thread", block=256, width=width,
                            args=[0x5eadbeef], moved=2 if what == "copy" else 1))
    jobs += [job("launch", f"launch.copy.{16 * 256 * g >> 10}K", "copy_16", f"a copy of {16 * 256 * g >> 10} KiB, from L2", grid=g, block=256)
             for g in (4, 16, 64, 256, 1024, 2048, 4096)]
    return texts, jobs


def parts() -> List[Made]:
    return [chased(), *(part(width) for width in (1, 2, 4) for part in (shared_memory, cached_loads)), shared_atomics(), l2(), dram()]
