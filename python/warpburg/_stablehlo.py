"""StableHLO, as text or as bytecode, becomes HLO by jaxlib, where this Python has it.

    hlo_of(open("f.mlir", "rb").read(), "f.mlir")     b"\\n\\x05jit_f..", a module as a protocol buffer
"""
from __future__ import annotations

import re
from typing import Any

from ._library import Error, HloError

_TEXT = re.compile(rb"\s*(?://[^\n]*\n\s*)*(?:#loc|#map|module\s*(?:@|attributes|\{)|builtin\.module|func\.func)")


def is_stablehlo(data: bytes) -> bool:
    return data.startswith(b"ML\xefR") or _TEXT.match(data) is not None


def hlo_of(data: bytes, file: str) -> bytes:
    try:
        try:
            from jaxlib._jax import mlir
        except ImportError:
            from jaxlib.xla_extension import mlir
    except ImportError:
        raise Error(f"{file}: error: this is StableHLO, which jaxlib makes HLO of, and this Python has no jaxlib: pip install jaxlib") from None
    try:
        made: Any = mlir.mlir_module_to_xla_computation(data, use_tuple_args=False, return_tuple=False)
        return bytes(made.as_serialized_hlo_module_proto())
    except Exception as e:  # jaxlib's own class, or ValueError, by its version
        raise HloError(f"{file}: error: jaxlib makes no HLO of this StableHLO: {str(e).strip().splitlines()[0] if str(e).strip() else type(e).__name__}") from e
