"""The list of fusions, filled by the modules of the families.

    add("silu_bf16.L", "loop", "SiLU: a logistic and a product", silu, "bf16", 8, 2048, 4096)
"""
from __future__ import annotations

from typing import Callable, List, NamedTuple

from hlo import Body


class Fusion(NamedTuple):
    name: str
    kind: str       # of emitter
    what: str
    body: Body


FUSIONS: List[Fusion] = []


def add(name: str, kind: str, what: str, build: Callable[..., None], *arguments: object) -> None:
    b = Body()
    build(b, *arguments)
    FUSIONS.append(Fusion(name, kind, what, b))
