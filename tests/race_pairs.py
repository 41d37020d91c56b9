"""`run --check` finds a race in every ordered pair of accesses to one word that nothing orders, and in no other.

The accesses are a read, a write, an atomic operation, and as the second one a read with a write after it; they are made by two lanes of a warp,
two warps of a block, two blocks, and two blocks of a cluster, in global, shared and distributed shared memory, with and without what orders them.
Two reads, and two atomic operations, are no race. Each pair is a small PTX file, made here. Between blocks outside of a cluster nothing orders
plain accesses, so there no ordered pair exists. Ends with `N passed, M failed`.

    race_pairs.py build/warpburg-run [--keep FOLDER]
"""
import argparse
import itertools
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple

HLO = """HloModule negate
ENTRY main {
  x = f32[64]{0} parameter(0)
  ROOT y = f32[64]{0} negate(x)
}
"""
KINDS = ("read", "write", "atomic")
CLUSTER = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"


class Where(NamedTuple):
    """Who makes the two accesses: their threads and blocks, the launch, the memory, and what orders them."""
    name: str
    threads: tuple  # of the first and the second access
    blocks: tuple
    launch: tuple
    memories: tuple
    orders: tuple


WHERE = (
    Where("same_warp", (0, 5), (0, 0), ("2,1,1", "32,1,1"), ("global", "shared"), ("bar.warp.sync -1;", "bar.sync 0;")),
    Where("other_warp", (3, 40), (0, 0), ("1,1,1", "64,1,1"), ("global", "shared"), ("bar.sync 0;", "@%w0 bar.arrive 1, 64; @!%w0 bar.sync 1, 64;")),
    Where("other_block", (0, 0), (0, 1), ("2,1,1", "32,1,1"), ("global",), ()),
    Where("cluster_block", (0, 7), (0, 1), ("2,1,1", "32,1,1"), ("global", "shared::cluster"), (CLUSTER,)),
)
ACCESS = {"read": "ld.{m}.u32 %t, [{a}];", "write": "st.{m}.u32 [{a}], %v;", "atomic": "atom.{m}.add.u32 %t, [{a}], 1;"}
ACCESS["update"] = ACCESS["read"] + " " + ACCESS["write"]  # its read must not hide a read before it


def kernel(where: Where, memory: str, first: str, second: str, order: str) -> str:
    cluster = where.name == "cluster_block"
    address = {"global": "%g", "shared": "%s", "shared::cluster": "%far"}[memory]
    guards = "\n".join(f"setp.eq.u32 %q0, %tid, {t}; setp.eq.u32 %q1, %block, {b}; and.pred {p}, %q0, %q1;"
                       for p, t, b in zip(("%p1", "%p2"), where.threads, where.blocks))
    lines = [ACCESS[kind].format(m=memory, a=address).replace("; ", f"; {p} ") for kind, p in ((first, "@%p1"), (second, "@%p2"))]
    begin = CLUSTER if cluster else "bar.sync 0;"
    return f"""// {first}, then {second}: {where.name}, {memory}, {'ordered' if order else 'not ordered'}
.version 8.0
.target sm_90
.address_size 64
.global .align 4 .b32 word;

.visible .entry k(.param .u64 in, .param .u64 out){" .reqnctapercluster 2, 1, 1" if cluster else ""}
{{
.reg .pred %p1, %p2, %q0, %q1, %w0;
.reg .b32 %tid, %block, %n, %i, %t, %v, %s, %far;
.reg .f32 %f;
.reg .b64 %in, %out, %g, %at;
.shared .align 4 .b32 tile;
mov.u32 %tid, %tid.x;
mov.u32 %block, %ctaid.x;
mov.u32 %n, %ntid.x;
mad.lo.s32 %i, %block, %n, %tid;
ld.param.u64 %in, [in];
ld.param.u64 %out, [out];
mul.wide.u32 %at, %i, 4;
add.s64 %in, %in, %at;
add.s64 %out, %out, %at;
ld.global.f32 %f, [%in];
neg.f32 %f, %f;
st.global.f32 [%out], %f;
mov.u32 %v, 7;
mov.u64 %g, word;
mov.u32 %s, tile;
{"mapa.shared::cluster.u32 %far, %s, 0;" if cluster else ""}
setp.lt.u32 %w0, %tid, 32;
{guards}
setp.eq.u32 %q0, %tid, 0;
@%q0 st.shared.u32 [%s], %v;
{begin}
@%p1 {lines[0]}
{order}
@%p2 {lines[1]}
{begin}
ret;
}}
"""


def cases() -> Iterator[Dict[str, object]]:
    for where, first, second in itertools.product(WHERE, KINDS, (*KINDS, "update")):
        harmless = first == second and first != "write"
        for memory, (n, order) in itertools.product(where.memories, enumerate(("", *where.orders))):
            name = f"{where.name}.{memory.replace('::', '_')}.{first}_{second}.{n}"
            yield {"name": name, "text": kernel(where, memory, first, second, order), "launch": where.launch, "race": not (harmless or order)}


def complaint(program: str, folder: Path, case: Dict[str, object]) -> str:
    """Why the verdict is wrong; empty if it is right."""
    file = folder / f"{case['name']}.ptx"
    file.write_text(str(case["text"]), encoding="utf-8")
    grid, block = case["launch"]  # type: ignore[misc]
    words: List[str] = [program, "run", str(folder / "negate.hlo"), "--ptx", str(file), "--grid", grid, "--block", block, "--case", "n", "--check"]
    p = subprocess.run(words, capture_output=True, text=True, timeout=60)
    said = p.stdout + p.stderr
    if case["race"] and not (p.returncode == 4 and "race: " in said):
        return f"exit {p.returncode}, a race is not found: {said.strip()[:300]}"
    if not case["race"] and p.returncode != 0:
        return f"exit {p.returncode}: {said.strip()[:300]}"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description="races of every pair of accesses")
    parser.add_argument("program")
    parser.add_argument("--keep", help="write the PTX files here, and leave them")
    o = parser.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(o.keep or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "negate.hlo").write_text(HLO, encoding="utf-8")
        for case in cases():
            why = complaint(o.program, folder, case)
            passed, failed = passed + (not why), failed + bool(why)
            if why:
                print(f"{case['name']}: {why}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
