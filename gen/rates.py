"""The names of `rate(..)`: what a target's file states about how fast its machine is, with units.

A rate is a value with its source. Where the value is not sure, `low` and `high` bound it. Where nobody states it, the value is `unknown`, the bounds are
required, and tables hold their geometric mean.

    rate('pipe.xu', 16, unit='lanes/clk/SM', source=GUIDE)
    rate('latency.redux', unknown, low=20, high=40, unit='clk', source='not stated; a shuffle takes 23')
"""
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Tuple


class Unknown:
    """The value of a rate that no source states."""

    def __repr__(self) -> str:
        return "unknown"


unknown = Unknown()


@dataclass(frozen=True)
class Rate:
    name: str
    value: float  # of an unknown one the geometric mean of its bounds
    low: float
    high: float
    stated: bool
    unit: str
    source: str
    where: Tuple[str, int] = ("?", 0)


BYTES, LANES, CLOCKS, PRODUCTS = "bytes/clk/SM", "lanes/clk/SM", "clk", "products/clk/SM"

# name: (unit, what it is, feature that a target needs to have it)
NAMES: Dict[str, Tuple[str, str, str]] = {
    "clock": ("Hz", "clock of the SMs", ""),
    "dram": ("bytes/s", "bandwidth of device memory", ""),
    "l2": ("bytes/s", "bandwidth of L2, over all SMs", ""),
    "l2.bytes": ("bytes", "capacity of L2", ""),
    "launch": ("s", "time of a launch, without what the kernel does", ""),
    "blocks": ("blocks/clk", "blocks of a launch that start, over all SMs", ""),
    "atomics": ("sectors/clk", "sectors of 32 bytes that atomics update, over all SMs", ""),
    "atomic.int": (CLOCKS, "between two atomics of integers at one address", ""),
    "atomic.float": (CLOCKS, "between two atomics of floats at one address", ""),
    "l1.wavefront": (BYTES, "L1 and shared memory", ""),
    "sm.fill": (BYTES, "what L2 delivers to one SM", ""),
    "sm.code": (BYTES, "machine code that an SM runs for the first time", ""),
    "issue": ("warps/clk/SM", "instructions of a warp that an SM issues", ""),
    "pipe.fma": (LANES, "f32 add, mul, fma", ""),
    "pipe.alu": (LANES, "integer add, logic, shift, compare, min, max, select", ""),
    "pipe.imad": (LANES, "i32 mul, mad", ""),
    "pipe.half": (LANES, "f16x2 add, mul, fma: a lane has two halves", ""),
    "pipe.bf16": (LANES, "bf16x2 add, mul, fma: a lane has two halves", "bf16.fma"),
    "pipe.f64": (LANES, "f64 add, mul, fma, compare", ""),
    "pipe.xu": (LANES, "reciprocals, roots, exponentials, sines; conversions that MUFU's unit does; popc", ""),
    "pipe.conv": (LANES, "conversions of 32 and 16 bits outside that unit", ""),
    "pipe.conv64": (LANES, "conversions from and to 64-bit types", ""),
    "pipe.lsu": (LANES, "addresses of loads, stores, atomics", ""),
    "pipe.shuffle": (LANES, "shuffles, in the unit of loads and stores", ""),
    "pipe.redux": (LANES, "reductions of a warp", "redux"),
    "pipe.tensor": (LANES, "products of matrices, 16 x 16 by 16 x 8 of f16 or bf16 a warp", "mma.bf16"),
    "pipe.uniform": (LANES, "instructions of the uniform datapath, which count as those of a warp", ""),
    "pipe.control": (LANES, "branches, barriers", ""),
    "product.half": (PRODUCTS, "multiply-adds of f16 or bf16 by tensor cores, summed in f32", ""),
    "product.f64": (PRODUCTS, "multiply-adds of f64, by tensor cores where they have them", ""),
    "product.reached": ("of the peak", "what a library's products of large matrices reach of these and of pipe.fma", ""),
    "latency.alu": (CLOCKS, "integer add to its user", ""),
    "latency.fma": (CLOCKS, "f32 fma to its user", ""),
    "latency.half": (CLOCKS, "f16x2 fma to its user", ""),
    "latency.f64": (CLOCKS, "f64 fma to its user", ""),
    "latency.xu": (CLOCKS, "reciprocal, slow conversion to its user", ""),
    "latency.shared": (CLOCKS, "load from shared memory", ""),
    "latency.shuffle": (CLOCKS, "shuffle to its user", ""),
    "latency.redux": (CLOCKS, "reduction of a warp to its user", "redux"),
    "latency.tensor": (CLOCKS, "product of matrices to its user", "mma.bf16"),
    "latency.barrier": (CLOCKS, "barrier of a block, from the last arrival", ""),
    "latency.l1": (CLOCKS, "load that hits L1", ""),
    "latency.l2": (CLOCKS, "load that hits L2", ""),
    "latency.dram": (CLOCKS, "load from device memory", ""),
    "latency.atomic": (CLOCKS, "atomic on device memory that returns a value; between two cas that succeed at one address", ""),
    "latency.cluster": (CLOCKS, "load from another SM's shared memory; barrier of a cluster", "cluster"),
    "latency.branch": (CLOCKS, "branch that is taken", ""),
    "window": ("instructions", "instructions between branches and barriers that the assembler orders as it likes", ""),
}


LIMITS: Dict[str, Tuple[float, float]] = {  # of a unit: beyond these a number was meant in another unit
    "Hz": (1e8, 1e10), "bytes/s": (1e10, 1e15), "bytes": (1e5, 1e10), "s": (1e-8, 1e-3), BYTES: (1, 1024), LANES: (0.5, 128), CLOCKS: (0.5, 1e5),
    "warps/clk/SM": (1, 4), PRODUCTS: (1, 65536), "of the peak": (0.05, 1),
}


def fault(name: Any, value: Any, unit: Any, source: Any, low: Any, high: Any) -> str:
    """What is wrong with a row; empty if nothing."""
    number = lambda x: isinstance(x, (int, float)) and not isinstance(x, bool) and math.isfinite(x) and x > 0  # noqa: E731
    if name not in NAMES:
        return f"no rate is called {name!r}; there are {', '.join(NAMES)}"
    if unit != NAMES[name][0]:
        return f"rate {name}: unit={NAMES[name][0]!r} is expected, {unit!r} found"
    if not isinstance(source, str) or not source.strip():
        return f"rate {name}: source= is missing; a number without a source is a guess"
    if value is unknown and (low is None or high is None):
        return f"rate {name} is unknown: low= and high= are expected"
    bad = [x for x in (None if value is unknown else value, low, high) if x is not None and not number(x)]
    if bad or value is None:
        return f"rate {name}: a positive number is expected, {bad[0] if bad else value!r} found"
    low, high = low if low is not None else value, high if high is not None else value
    if not (low <= high if value is unknown else low <= value <= high):
        return f"rate {name}: low <= value <= high is expected, {low!r}, {value!r}, {high!r} found"
    least, most = LIMITS.get(unit, (0, math.inf))
    beyond = [x for x in (low, high) if not least <= x <= most]
    return f"rate {name}: {beyond[0]:g} {unit}: a number from {least:g} to {most:g} is expected" if beyond else ""


def made(name: str, value: Any, unit: str, source: str, low: Optional[float], high: Optional[float], where: Tuple[str, int]) -> Rate:
    """The record of a row without fault."""
    stated = value is not unknown
    a, b = float(low if low is not None else value), float(high if high is not None else value)
    return Rate(name, float(value) if stated else float(f"{math.sqrt(a * b):.3g}"), a, b, stated, unit, source, where)


def missing(rates: Sequence[Rate], features: Sequence[str]) -> List[str]:
    """Names that a target with these features must have and lacks."""
    there = {r.name for r in rates}
    return [n for n, (_, _, needs) in NAMES.items() if n not in there and (not needs or needs in features)]


def surplus(rates: Sequence[Rate], features: Sequence[str]) -> List[Rate]:
    """Rates of what a target with these features has not got."""
    return [r for r in rates if NAMES[r.name][2] and NAMES[r.name][2] not in features]


def shown(r: Rate) -> str:
    """The value as docs/targets.md shows it: 4.8e12; 2.4 (1.5 .. 4); ? (8 .. 32)."""
    def short(x: float) -> str:
        text = f"{x:.4g}"
        return text.replace("e+0", "e").replace("e+", "e").replace("e-0", "e-")

    bounds = f" ({short(r.low)} .. {short(r.high)})" if r.low != r.high else ""
    return (short(r.value) if r.stated else "?") + bounds
