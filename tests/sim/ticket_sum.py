"""A sum over 64 blocks with a ticket, written by hand, is right in every order of execution; each mutant of it is found in every order.

ticket_sum/ is a bundle that launches the kernel twice, so that a ticket that is not back at 0 shows. A mutant replaces text of the kernel: a fence
or a barrier is missing, a scope is too narrow, partial sums are read as constants, the ticket goes back too early, too late or not at all. Variants
that order as well by other means must pass. Ends with `N passed, M failed`.

    ticket_sum.py build/warpburg-run
"""
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, Tuple

FOLDER = Path(__file__).with_name("ticket_sum")
ORDERS = ("forward", "reverse", "shuffle:1", "shuffle:2", "shuffle:3")

COUNT = "atom.acq_rel.gpu.global.inc.u32 %t, [%ticket], 63;"
RELAXED = COUNT.replace("acq_rel", "relaxed")
PARTIALS = "ld.global.v2.f32 {%sum, %f}, [%at];"
STORED = "bar.sync 0;\n\t@!%first bra $counted;"
TOLD = "$counted:\n\tbar.sync 0;"

RIGHT: Dict[str, Tuple[str, str]] = {
    "as it is": ("", ""),
    "fences": (COUNT, f"fence.acq_rel.gpu; {RELAXED} fence.acq_rel.gpu;"),
    "membar": (COUNT, f"membar.gl; {COUNT.replace('.acq_rel.gpu', '')} membar.gl;"),
    "fence and acquire": (COUNT, f"fence.sc.sys; {COUNT.replace('acq_rel', 'acquire')}"),
    "scope of the system": (COUNT, COUNT.replace(".gpu", ".sys")),
    "dec": (COUNT, "atom.acq_rel.gpu.global.dec.u32 %t, [%ticket], 63; sub.u32 %t, 64, %t; rem.u32 %t, %t, 64;"),
    "add, and a store back to 0": (PARTIALS, f"@%first st.relaxed.gpu.global.u32 [%ticket], 0; {PARTIALS}"),
    "named barriers": ("bar.sync 0;", "bar.sync 3, 256;"),
}
WRONG: Dict[str, Tuple[str, str]] = {
    "no order": (COUNT, RELAXED),
    "no release": (COUNT, COUNT.replace("acq_rel", "acquire")),
    "no acquire": (COUNT, COUNT.replace("acq_rel", "release")),
    "no fence before": (COUNT, f"{RELAXED} fence.acq_rel.gpu;"),
    "no fence after": (COUNT, f"fence.acq_rel.gpu; {RELAXED}"),
    "a fence of the block before": (COUNT, f"fence.acq_rel.cta; {RELAXED} fence.acq_rel.gpu;"),
    "a fence of the cluster after": (COUNT, f"fence.acq_rel.gpu; {RELAXED} fence.acq_rel.cluster;"),
    "scope of the block": (COUNT, COUNT.replace(".gpu", ".cta")),
    "scope of the cluster": (COUNT, COUNT.replace(".gpu", ".cluster")),
    "a fence by other threads": (STORED, f"fence.acq_rel.gpu; {STORED}".replace("$counted;", f"$counted; {RELAXED} st.shared.u32 [told], %t; bra $counted;")),
    "no barrier before the ticket": (STORED, STORED.replace("bar.sync 0;", "")),
    "no barrier after the ticket": (TOLD, "$counted:"),
    "a barrier of each warp before the ticket": (STORED, STORED.replace("bar.sync 0;", "bar.warp.sync -1;")),
    "no barrier between the last sums": ("bar.sync 0;\n\t@!%first bra $end;", "@!%first bra $end;"),
    "partial sums as constants": (PARTIALS, PARTIALS.replace("ld.global", "ld.global.nc")),
    "the ticket goes back too early": (COUNT, COUNT.replace("63", "62")),
    "the ticket goes back too late": (COUNT, COUNT.replace("63", "64")),
    "the ticket does not go back": (COUNT, COUNT.replace("inc.u32 %t, [%ticket], 63", "add.u32 %t, [%ticket], 1")),
    "the last but one adds up": ("setp.ne.u32 %p, %t, 63;", "setp.ne.u32 %p, %t, 62;"),
    "the first adds up": ("setp.ne.u32 %p, %t, 63;", "setp.ne.u32 %p, %t, 0;"),
    "a counter without atomic operations": (COUNT, "ld.global.u32 %t, [%ticket]; add.u32 %i, %t, 1; and.b32 %i, %i, 63; st.global.u32 [%ticket], %i;"),
}


def complaint(program: str, folder: Path, change: Tuple[str, str], right: bool) -> str:
    text = (FOLDER / "kernel.ptx").read_text(encoding="utf-8")
    if change[0] not in text:
        return f"the kernel has no {change[0]!r}"
    (folder / "kernel.ptx").write_text(text.replace(*change) if change[0] else text, encoding="utf-8")
    for order in ORDERS:
        p = subprocess.run([program, "run", str(folder), "--check", "--case", "s", "--order", order], capture_output=True, text=True, timeout=60)
        if p.returncode != (0 if right else 4):
            return f"--order {order}: exit {p.returncode}: {(p.stdout + p.stderr).strip()[:400]}"
    return ""


def main() -> int:
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "ticket_sum"
        shutil.copytree(FOLDER, folder)
        for kernels, right in ((RIGHT, True), (WRONG, False)):
            for kernel, change in kernels.items():
                why = complaint(sys.argv[1], folder, change, right)
                if why:
                    failed += 1
                    print(f"{kernel}: {why}", flush=True)
    print(f"{len(RIGHT) + len(WRONG) - failed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
