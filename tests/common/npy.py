"""Reads and writes .npy files of version 1.0 without numpy, as bytes."""
from __future__ import annotations

import struct
from pathlib import Path
from typing import Tuple


def write(path: Path, kind: str, shape: Tuple[int, ...], data: bytes) -> None:
    """kind: numpy's name of the type, such as "<f4"."""
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data)


def read(path: Path) -> bytes:
    """The elements' bytes."""
    data = path.read_bytes()
    return data[10 + struct.unpack_from("<H", data, 8)[0]:]
