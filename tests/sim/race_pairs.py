"""`run --check` finds a race in every ordered pair of accesses to one word that nothing orders, and in no other, in every order of execution.

The accesses are a read, a write, an atomic operation, and as the second one a read with a write after it; they are made by two lanes of a warp,
two warps of a block, two blocks, and two blocks of a cluster, in global, shared and distributed shared memory. What orders them, or does not for
want of a fence, of one half of it, or of a wide enough scope: barriers of the warp, the block and the cluster, flags, atomic operations that others
pass on, and tickets, where the thread or the block that comes last makes the second access. Two reads, and two atomic operations, are no race.
Each pair is a small PTX file, made here. Ends with `N passed, M failed`.

    race_pairs.py build/warpburg-run [--keep FOLDER] [--jobs N]
"""
import argparse
import concurrent.futures
import itertools
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Iterator, List, NamedTuple, Sequence, Tuple

HLO = """HloModule negate
ENTRY main {
  x = f32[N]{0} parameter(0)
  ROOT y = f32[N]{0} negate(x)
}
"""
KINDS = ("read", "write", "atomic")
TELLING = (("write", "read"), ("read", "write"), ("write", "write"), ("atomic", "read"))  # pairs for ways that differ in little
ORDERS = ("forward", "reverse", "shuffle:1", "shuffle:2")
CLUSTER = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"


class Where(NamedTuple):
    """Who makes the two accesses: their threads and blocks, the launch, the memory; the scope that includes both, and one that does not."""
    name: str
    threads: Tuple[int, int]  # of the first and the second access
    blocks: Tuple[int, int]
    grid: int
    block: int
    memories: Tuple[str, ...]
    scope: str
    narrow: str


WHERE = (
    Where("same_warp", (0, 5), (0, 0), 2, 32, ("global", "shared"), "cta", ""),
    Where("other_warp", (3, 40), (0, 0), 1, 64, ("global", "shared"), "cta", ""),
    Where("other_block", (0, 0), (0, 1), 2, 32, ("global",), "gpu", "cluster"),
    Where("cluster_block", (0, 7), (0, 1), 2, 32, ("global", "shared::cluster"), "cluster", "cta"),
)


class Way(NamedTuple):
    """What is between the accesses: done by the first thread after its access, by all threads, by the second thread before its access. {s} is the
    scope that includes both threads, {n} a narrower one, {m} the memory, %flag a word of it; WAIT is a loop until the load before it gives 1."""
    name: str
    good: bool
    first: str = ""
    everyone: str = ""
    second: str = ""
    where: Tuple[str, ...] = ("same_warp", "other_warp", "other_block", "cluster_block")
    relay: str = ""  # done by a third thread, of the first one's block


RELEASE, ACQUIRE = "st.release.{s}.{m}.u32 [%flag], 1;", "ld.acquire.{s}.{m}.u32 %t, [%flag]; WAIT"
SET, SEE, FENCE = "st.relaxed.{s}.{m}.u32 [%flag], 1;", "ld.relaxed.{s}.{m}.u32 %t, [%flag]; WAIT", "fence.acq_rel.{s};"
TAKE = SEE + " ld.acquire.{s}.{m}.u32 %t, [%flag];"  # it acquires what wrote 1, and nothing before that
COUNT, COUNTED = "atom.acq_rel.{s}.{m}.add.u32 %t, [%flag], 1;", "atom.acq_rel.{s}.{m}.add.u32 %t, [%flag], 0; WAIT"
PLAIN = (
    Way("nothing", False),
    Way("warp_sync", True, everyone="bar.warp.sync -1;", where=("same_warp",)),
    Way("sync", True, everyone="bar.sync 0;", where=("same_warp", "other_warp")),
    Way("named", True, everyone="@%w0 bar.arrive 1, 64; @!%w0 bar.sync 1, 64;", where=("other_warp",)),
    Way("cluster", True, everyone=CLUSTER, where=("cluster_block",)),
    Way("flag", True, RELEASE, "", ACQUIRE),
)
WAYS = (
    Way("warp_sync_of_others", False, everyone="bar.warp.sync -1;", where=("other_warp", "other_block", "cluster_block")),
    Way("sync_of_others", False, everyone="bar.sync 0;", where=("other_block", "cluster_block")),
    Way("named_before", False, everyone="@!%w0 bar.arrive 1, 64; @%w0 bar.sync 1, 64;", where=("other_warp",)),
    Way("cluster_relaxed", False, everyone="barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;", where=("cluster_block",)),
    Way("cluster_fence", True, "fence.acq_rel.cluster;", "barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;", where=("cluster_block",)),
    Way("flag_fences", True, FENCE + SET, "", SEE + FENCE),
    Way("flag_sc", True, "fence.sc.{s};" + SET, "", SEE + "fence.sc.{s};"),
    Way("flag_sys", True, "membar.sys; st.volatile.{m}.u32 [%flag], 1;", "", "ld.volatile.{m}.u32 %t, [%flag]; WAIT membar.sys;"),
    Way("flag_mixed", True, FENCE + SET, "", ACQUIRE),
    Way("flag_no_first", False, SET, "", SEE + FENCE),
    Way("flag_no_second", False, FENCE + SET, "", SEE),
    Way("flag_fence_late", False, SET + FENCE, "", SEE + FENCE),
    Way("flag_fence_early", False, FENCE + SET, "", FENCE + SEE),
    Way("flag_volatile", False, "st.volatile.{m}.u32 [%flag], 1;", "", "ld.volatile.{m}.u32 %t, [%flag]; WAIT"),
    Way("flag_narrow_first", False, "fence.acq_rel.{n};" + SET, "", SEE + FENCE, ("other_block", "cluster_block")),
    Way("flag_narrow_second", False, FENCE + SET, "", SEE + "fence.acq_rel.{n};", ("other_block", "cluster_block")),
    Way("flag_narrow_release", False, RELEASE.replace("{s}", "{n}"), "", ACQUIRE, ("other_block", "cluster_block")),
    Way("flag_narrow_acquire", False, RELEASE, "", ACQUIRE.replace("{s}", "{n}"), ("other_block", "cluster_block")),
    Way("atomic", True, COUNT, "", COUNTED),
    Way("atomic_red", True, "red.release.{s}.{m}.add.u32 [%flag], 1;", "", ACQUIRE),
    Way("atomic_relaxed", False, COUNT.replace("acq_rel", "relaxed"), "", COUNTED.replace("acq_rel", "relaxed")),
    Way("atomic_release", False, COUNT, "", COUNTED.replace("acq_rel", "release")),
    Way("atomic_acquire", False, COUNT.replace("acq_rel", "acquire"), "", COUNTED),
    Way("atomic_narrow", False, COUNT.replace("{s}", "{n}"), "", COUNTED, ("other_block", "cluster_block")),
    Way("relay", True, "st.release.{s}.{m}.u32 [%flag], 2;", "", TAKE, relay="SEEN atom.relaxed.{s}.{m}.exch.b32 %t, [%flag], 1;"),
    Way("relay_store", False, "st.release.{s}.{m}.u32 [%flag], 2;", "", TAKE, relay="SEEN " + SET),
    Way("relay_cumulative", True, "st.release.{s}.{m}.u32 [%flag], 2;", "", TAKE, relay=ACQUIRE.replace("WAIT", "SEEN") + RELEASE),
)


class Ticket(NamedTuple):
    """Each of the threads makes the first access to a word of its own, and counts; the one that comes last makes the second access to the other's."""
    name: str
    good: bool
    before: str = ""
    sem: str = "relaxed"
    after: str = ""
    scope: str = "{s}"


TICKETS = (
    Ticket("acq_rel", True, sem="acq_rel"),
    Ticket("fences", True, FENCE, after=FENCE),
    Ticket("relaxed", False),
    Ticket("release", False, sem="release"),
    Ticket("acquire", False, sem="acquire"),
    Ticket("no_fence_before", False, after=FENCE),
    Ticket("no_fence_after", False, FENCE),
    Ticket("narrow_fence_before", False, "fence.acq_rel.{n};", after=FENCE),
    Ticket("narrow_fence_after", False, FENCE, after="fence.acq_rel.{n};"),
    Ticket("narrow", False, sem="acq_rel", scope="{n}"),
)
ACCESS = {"read": "ld.{m}.u32 %t, [{a}];", "write": "st.{m}.u32 [{a}], %v;", "atomic": "atom.{m}.add.u32 %t, [{a}], 1;"}
ACCESS["update"] = ACCESS["read"] + " " + ACCESS["write"]  # its read must not hide a read before it


class Case(NamedTuple):
    name: str
    text: str
    grid: int
    block: int
    race: bool


def looped(text: str) -> str:
    """The text with its waits as loops; the load before a wait is its own line."""
    lines = text.replace("SEEN", "ld.relaxed.{s}.{m}.u32 %t, [%flag]; LOOP2" if "SEEN" in text and "%t, [%flag]; SEEN" not in text else "LOOP2")
    for word, value in (("WAIT", 1), ("LOOP2", 2)):
        while word in lines:
            head, tail = lines.split(word, 1)
            start = max(head.rfind("ld."), head.rfind("atom."))
            label = f"$wait{len(head)}_{value}"
            lines = f"{head[:start]}\n{label}: {head[start:]} setp.ne.u32 %q0, %t, {value}; @%q0 bra {label};\n{tail}"
    return lines


def kernel(where: Where, memory: str, body: str) -> str:
    """A kernel that negates its input, and in which the threads of %p1 and %p2 run the body; %mine and %flag are words in the memory."""
    cluster = where.name == "cluster_block"
    begin = CLUSTER if cluster else "bar.sync 0;"
    wide = memory == "global"
    guards = "\n".join(f"setp.eq.u32 %q0, %tid, {t}; setp.eq.u32 %q1, %block, {b}; and.pred {p}, %q0, %q1;"
                       for p, t, b in (("%p1", where.threads[0], where.blocks[0]), ("%p2", where.threads[1], where.blocks[1]), ("%p3", 9, 0)))
    place = "mov.u64 %word, words;" if wide else "mov.u32 %word, tile;"
    place += " mapa.shared::cluster.u32 %word, %word, 0;" if memory == "shared::cluster" else ""
    return f""".version 8.0
.target sm_90
.address_size 64
.global .align 4 .b32 words[3];

.visible .entry k(.param .u64 in, .param .u64 out){" .reqnctapercluster 2, 1, 1" if cluster else ""}
{{
.reg .pred %p1, %p2, %p3, %q0, %q1, %w0;
.reg .b32 %tid, %block, %n, %i, %t, %v, %s;
.reg .f32 %f;
.reg .b64 %in, %out, %at;
.reg .b{64 if wide else 32} %word, %mine, %other, %flag, %step;
.shared .align 4 .b32 tile[3];
.shared .align 4 .b32 told;
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
mov.u32 %s, tile;
{place}
add.u{64 if wide else 32} %flag, %word, 8;
setp.lt.u32 %w0, %tid, 32;
{guards}
setp.eq.u32 %q0, %tid, 0;
@%q0 st.shared.u32 [%s], 0; @%q0 st.shared.u32 [%s+4], 0; @%q0 st.shared.u32 [%s+8], 0; @%q0 st.shared.u32 [told], 0;
{begin}
{body}
{begin}
ret;
}}
"""


def access(kind: str, memory: str, address: str) -> str:
    return ACCESS[kind].format(m=memory, a=address)


def pair(where: Where, memory: str, first: str, second: str, way: Way) -> str:
    parts = [looped(part).format(s=where.scope, n=where.narrow, m=memory) for part in (way.first, way.everyone, way.second, way.relay)]
    relay = f"@!%p3 bra $relayed;\n{parts[3]}\n$relayed:" if way.relay else ""
    return kernel(where, memory, f"""@!%p1 bra $first;
{access(first, memory, "%word")} {parts[0]}
$first:
{relay}
{parts[1]}
@!%p2 bra $second;
{parts[2]} {access(second, memory, "%word")}
$second:""")


def ticket(where: Where, memory: str, first: str, second: str, t: Ticket) -> str:
    bits = 64 if memory == "global" else 32
    count = f"{t.before} atom.{t.sem}.{t.scope}.{{m}}.inc.u32 %t, [%flag], 1;".format(s=where.scope, n=where.narrow, m=memory)
    return kernel(where, memory, f"""or.pred %q0, %p1, %p2;
@!%q0 bra $done;
selp.b{bits} %step, 4, 0, %p2;
add.u{bits} %mine, %word, %step;
sub.u{bits} %other, %word, %step;
add.u{bits} %other, %other, 4;
{access(first, memory, "%mine")}
{count}
setp.eq.u32 %q0, %t, 0;
@%q0 bra $done;
{t.after.format(s=where.scope, n=where.narrow)} {access(second, memory, "%other")}
$done:""")


def shared_ticket(where: Where, memory: str, first: str, second: str, barriers: Sequence[str]) -> str:
    """Of each block thread 40 makes the first access, thread 0 counts and tells the others, thread 70 makes the second one."""
    bits = 64 if memory == "global" else 32
    return kernel(where, memory, f"""setp.eq.u32 %q1, %block, 1;
selp.b{bits} %step, 4, 0, %q1;
add.u{bits} %mine, %word, %step;
sub.u{bits} %other, %word, %step;
add.u{bits} %other, %other, 4;
setp.ne.u32 %q0, %tid, 40; @%q0 bra $stored;
{access(first, memory, "%mine")}
$stored: {barriers[0]}
setp.ne.u32 %q0, %tid, 0; @%q0 bra $counted;
atom.acq_rel.{where.scope}.{memory}.inc.u32 %t, [%flag], 1;
st.shared.u32 [told], %t;
$counted: {barriers[1]}
setp.ne.u32 %q0, %tid, 70; @%q0 bra $done;
ld.shared.u32 %t, [told];
setp.eq.u32 %q0, %t, 0; @%q0 bra $done;
{access(second, memory, "%other")}
$done:""")


def harmless(first: str, second: str) -> bool:
    return first == second and first != "write"


def cases() -> Iterator[Case]:
    every = [(first, second) for first in KINDS for second in (*KINDS, "update")]
    for where in WHERE:
        for memory, (ways, pairs) in itertools.product(where.memories, ((PLAIN, every), (WAYS, TELLING))):
            for way, (first, second) in itertools.product(ways, pairs):
                if where.name in way.where:
                    yield Case(f"{where.name}.{memory}.{first}_{second}.{way.name}", pair(where, memory, first, second, way), where.grid, where.block,
                               not (harmless(first, second) or way.good))
        for memory, t, (first, second) in itertools.product(where.memories, TICKETS, TELLING):
            if where.narrow or "narrow" not in t.name:
                yield Case(f"{where.name}.{memory}.{first}_{second}.ticket_{t.name}", ticket(where, memory, first, second, t), where.grid, where.block,
                           not t.good)
        for memory, without, (first, second) in itertools.product(where.memories if where.narrow else (), range(3), TELLING):
            barriers = ["" if without == n else "bar.sync 0;" for n in (1, 2)]
            yield Case(f"{where.name}.{memory}.{first}_{second}.block_ticket_{without}", shared_ticket(where, memory, first, second, barriers), where.grid, 96,
                       without != 0)


def complaint(program: str, folder: Path, case: Case) -> str:
    """Why a verdict is wrong; empty if it is right in every order."""
    file = folder / f"{case.name.replace('::', '_')}.ptx"
    file.write_text(case.text, encoding="utf-8")
    hlo = folder / f"negate{case.grid * case.block}.hlo"
    for order in ORDERS:
        words: List[str] = [program, "run", str(hlo), "--ptx", str(file), "--grid", str(case.grid), "--block", str(case.block), "--case", "n", "--check",
                            "--order", order]
        p = subprocess.run(words, capture_output=True, text=True, timeout=60)
        said = p.stdout + p.stderr
        if case.race and not (p.returncode == 4 and "race: " in said):
            return f"--order {order}: exit {p.returncode}, a race is not found: {said.strip()[:300]}"
        if not case.race and p.returncode != 0:
            return f"--order {order}: exit {p.returncode}: {said.strip()[:300]}"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description="races of every pair of accesses")
    parser.add_argument("program")
    parser.add_argument("--keep", help="write the PTX files here, and leave them")
    parser.add_argument("--jobs", type=int, default=2)
    o = parser.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(o.keep or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        listed = list(cases())
        assert len({case.name for case in listed}) == len(listed)
        for n in {case.grid * case.block for case in listed}:
            (folder / f"negate{n}.hlo").write_text(HLO.replace("N]", f"{n}]"), encoding="utf-8")
        with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
            for case, why in zip(listed, pool.map(lambda c: complaint(o.program, folder, c), listed)):
                passed, failed = passed + (not why), failed + bool(why)
                if why:
                    print(f"{case.name}: {why}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
