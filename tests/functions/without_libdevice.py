"""Every function at every type compiles with libdevice, and without it wherever a rule or an instruction computes the function.

usage: without_libdevice.py WARPBURG [--targets sm_80,sm_90] [--all]

Without libdevice, a function that only libdevice computes must be declined with a message that names the libdevice function; but none by --backend ptx,
where rules compute every function. The lists of lowerings (gen/measured.py) tell which functions these are. All with and without --approx. Without --all
only one type of 8 bits is tried, and every fourth of the functions that must be declined. Ends with `N passed, M failed`.
"""
from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, Iterator, List, Sequence, Set, Tuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from gen import hlo_ops, load, measured, ops  # noqa: E402
from gen.lang import Expr, Node  # noqa: E402
from gen.load import RuleSet, walk  # noqa: E402

NOWHERE = "/nonexistent/libdevice.bc"
DECLINED = 3
COMPLEX = ("c64", "c128")


def functions() -> Dict[str, ops.Op]:
    """The functions by HLO opcode: the costly operations on floats, and roundings."""
    functions = [(o, o.name in ("sign", "floor", "ceil", "round_even", "round_afz")) for o in ops.OPS if o.name in hlo_ops.HLO_OF and "F" in o.classes]
    return {hlo_ops.HLO_OF[o.name]: o for o, short in functions if short or "costly" in o.props}


def called(s: RuleSet, approx: bool) -> Set[Tuple[str, str]]:
    """(operation, type) whose first rules lead to a call, directly or through the operations that they rewrite to."""
    by_root: Dict[str, List[object]] = {}
    for phase in ("lower", "isel"):
        for r in s.phases[phase]:
            if isinstance(r.left, Node):
                by_root.setdefault(r.left.op.name, []).append(r)
    known: Dict[Tuple[str, str, bool], bool] = {}

    def ends(op: str, t: str, flagged: bool) -> bool:
        at = (op, t, flagged)
        if at in known:
            return known[at]
        known[at] = False
        for r in by_root.get(op, []):
            left = r.left  # type: ignore[attr-defined]
            place = left.types[-1] if left.op.sig == "compare" else left.types[0]
            if t not in place.members or place.lanes > 1 or not measured.is_function(r) or not measured.matches(r, op, t, flagged):  # type: ignore[arg-type]
                continue
            right = r.right  # type: ignore[attr-defined]
            if r.kind == "call":  # type: ignore[attr-defined]
                known[at] = True
            elif isinstance(right, Expr):
                binding = measured.bound(r, t)  # type: ignore[arg-type]
                inside = [n for n in walk(right) if isinstance(n, Node)]
                known[at] = any(ends(n.op.name, binding.get(n.types[0].name, n.types[0].name), flagged or "approx" in n.flags) for n in inside)
            break
        return known[at]

    for o in functions().values():
        for t in (*ops.SMALL_FLOATS, "f16", "bf16", "f32", "f64", *COMPLEX):
            ends(o.name, t, approx and t not in COMPLEX)  # --approx marks real operations only
    return {(op, t) for (op, t, flagged), v in known.items() if v and flagged == (approx and t not in COMPLEX)}


def module(t: str, names: Sequence[str]) -> str:
    body = []
    for k, name in enumerate(names):
        arity = functions()[name].arity
        body.append(f"  %o{k} = {t}[1000] {name}(%p0{', %p1' if arity == 2 else ''})\n")
    types = f"({', '.join(f'{t}[1000]' for _ in names)})"
    return (f"HloModule m\n\n%f (p0: {t}[1000], p1: {t}[1000]) -> {types} {{\n  %p0 = {t}[1000] parameter(0)\n  %p1 = {t}[1000] parameter(1)\n{''.join(body)}"
            f"  ROOT %t = {types} tuple({', '.join(f'%o{k}' for k in range(len(names)))})\n}}\n\n"
            f"ENTRY %main (q0: {t}[1000], q1: {t}[1000]) -> {types} {{\n  %q0 = {t}[1000] parameter(0)\n  %q1 = {t}[1000] parameter(1)\n"
            f"  ROOT %r = {types} fusion(%q0, %q1), kind=kLoop, calls=%f\n}}\n")


def names_of(t: str) -> List[str]:
    return [h for h, o in functions().items() if ("C" if t in COMPLEX else "F") in o.classes and (t not in COMPLEX or h not in ("abs",))]


def compiled(warpburg: str, file: Path, target: str, approx: bool, there: bool, backend: str = "either") -> Tuple[int, str]:
    environment = dict(os.environ) if there else {**os.environ, "WARPBURG_LIBDEVICE": NOWHERE}
    command = [warpburg, "compile", str(file), "--target", target, "--backend", backend, "--emit", "ptx", *(["--approx"] if approx else [])]
    p = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)
    return p.returncode, p.stderr.strip()[:200]


def tries(warpburg: str, target: str, every: bool, folder: Path) -> Iterator[str]:
    """For each compilation why it fails, or an empty text."""
    s = load.load_target(target.replace("_", ""))
    for approx in (False, True):
        needs, declined = called(s, approx), 0
        for t in (*(ops.SMALL_FLOATS if every else ["f8e4m3fn"]), "f16", "bf16", "f32", "f64", *COMPLEX):
            all_of, table = names_of(t), functions()
            own = [n for n in all_of if (table[n].name, t) not in needs]
            for names, there, backend in ((all_of, True, "either"), (own, False, "either"), (all_of, False, "ptx")):
                if not names:
                    continue
                file = folder / "all.hlo"
                file.write_text(module(t, names))
                rc, said = compiled(warpburg, file, target, approx, there, backend)
                how = f"{' --approx' if approx else ''}{'' if there else ' without libdevice'}, --backend {backend}"
                yield "" if rc == 0 else f"{target} {t}{how}: status {rc}: {said}"
            for n in (n for n in all_of if n not in own):
                declined += 1
                if not every and declined % 4:
                    continue
                file = folder / "one.hlo"
                file.write_text(module(t, [n]))
                rc, said = compiled(warpburg, file, target, approx, False)
                yield "" if rc == DECLINED and "__nv_" in said else f"{target} {n} {t} without libdevice: status {rc}: {said}"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("warpburg")
    parser.add_argument("--targets", default="sm_80,sm_90")
    parser.add_argument("--all", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = [m for target in args.targets.split(",") for m in tries(args.warpburg, target, args.all, Path(folder))]
    messages = [m for m in found if m]
    print("\n".join([*messages, f"{len(found) - len(messages)} passed, {len(messages)} failed"]))
    return int(bool(messages))


if __name__ == "__main__":
    sys.exit(main())
