"""Finds .hlo files and the modules that XLA dumped, sorted by name as bytes, in bounded memory.

    for root, names in batches(find(["corpus"]), 64): ...      # names relative to root
"""
from __future__ import annotations

import heapq
import os
import re
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Iterator, List, NamedTuple, Sequence, Tuple

CHUNK = 50_000  # names kept in memory


class Root(NamedTuple):
    folder: str     # where its names begin
    prefix: str     # prefix of the names in records: "" if there is only one root


_BEFORE = (".before_optimizations.txt", ".before_optimizations.hlo.pb")
_AFTER = ("after_optimizations.txt", "after_optimizations.hlo.pb")


def _modules(names: Sequence[str]) -> Iterator[str]:
    """Those of a folder that are modules: of XLA's dumps those before its passes, or else those after them, as a text where it is there (the same
    as of `warpburg compile FOLDER`, src/main/files.c)."""
    there = set(names)
    before = tuple(sorted({n.split(_BEFORE[0][:-len("txt")])[0] + "." for n in names if n.endswith(_BEFORE)}))
    for n in names:
        if n.endswith(".hlo.pb") and n[:-len("hlo.pb")] + "txt" in there:
            continue
        if n.endswith(".hlo") or n.endswith(_BEFORE):
            yield n
        elif n.endswith(_AFTER) and not n.startswith(before):
            yield n


def is_beside(word: str) -> bool:
    """Whether XLA dumped it beside a module, as module_0001.jit_f.debug_options; such a name of a list is left out (src/main/files.c)."""
    name = os.path.basename(word)
    if not re.match(r"module_\d", name) or name.endswith((".hlo", ".hlo.pb")):
        return False
    return not name.endswith(".txt") or "_optimizations-" in name or "thunk_sequence" in name


def _walk(folder: str) -> Iterator[str]:
    stack = [folder]
    while stack:
        here = stack.pop()
        names = []
        with os.scandir(here) as entries:
            for e in entries:
                if e.name.startswith("."):
                    continue
                if e.is_dir():
                    stack.append(e.path)
                else:
                    names.append(e.name)
        for name in _modules(names):
            yield os.path.relpath(os.path.join(here, name), folder)


def _spill(names: List[str]) -> IO[bytes]:
    f = tempfile.TemporaryFile()
    f.writelines(os.fsencode(n) + b"\n" for n in names)
    f.seek(0)
    return f


def in_order(names: Iterator[str]) -> Iterator[str]:
    """Sorted by bytes; more than CHUNK names are merged from temporary files."""
    with ExitStack() as opened:
        spilled: List[IO[bytes]] = []
        chunk: List[str] = []
        for name in names:
            if "\n" in name:
                continue  # a list of files has one name per line
            chunk.append(name)
            if len(chunk) >= CHUNK:
                spilled.append(opened.enter_context(_spill(sorted(chunk, key=os.fsencode))))
                chunk = []
        last = sorted(chunk, key=os.fsencode)
        if not spilled:
            yield from last
            return
        parts: List[Iterator[bytes]] = [(line[:-1] for line in f) for f in spilled]
        for name_bytes in heapq.merge(*parts, (os.fsencode(n) for n in last)):
            yield os.fsdecode(name_bytes)


def roots_of(words: Sequence[str]) -> List[Tuple[Root, List[str]]]:
    """A folder is a root with all files below it; single files have their folder as root. Names in records are relative to their root; if
    there are several roots, each name begins with the name of its root."""
    words = [w for w in words if not is_beside(w)]
    folders = [w for w in words if os.path.isdir(w)]
    singles = [w for w in words if not os.path.isdir(w)]
    groups: List[Tuple[str, List[str]]] = [(f, []) for f in folders]
    by_folder = {}
    for w in singles:
        if not os.path.isfile(w):
            raise SystemExit(f"{w}: error: no such file or folder")
        by_folder.setdefault(os.path.dirname(w) or ".", []).append(os.path.basename(w))
    groups += sorted(by_folder.items())
    if len(groups) == 1:
        return [(Root(groups[0][0], ""), groups[0][1])]
    names = [Path(folder).resolve().name for folder, _ in groups]
    unique = [n if names.count(n) == 1 else f"{n}.{i}" for i, n in enumerate(names)]
    out = [(Root(folder, name + "/"), files) for (folder, files), name in zip(groups, unique)]
    return sorted(out, key=lambda g: os.fsencode(g[0].prefix))


def find(words: Sequence[str]) -> Iterator[Tuple[Root, str]]:
    for root, files in roots_of(words):
        for name in in_order(iter(sorted(set(files))) if files else _walk(root.folder)):
            yield root, name


def count(words: Sequence[str]) -> int:
    return sum(len(set(files)) if files else sum(1 for _ in _walk(root.folder)) for root, files in roots_of(words))


def batches(found: Iterator[Tuple[Root, str]], size: int) -> Iterator[Tuple[Root, List[str]]]:
    now: List[str] = []
    of = Root("", "")
    for root, name in found:
        if now and (root != of or len(now) == size):
            yield of, now
            now = []
        of = root
        now.append(name)
    if now:
        yield of, now
