"""Runs batches on a Dask cluster: `pip install distributed`. The rest of shaderdb does not need Dask.

A worker needs the warpburg executable (--warpburg, or $WARPBURG in its environment) and, to assemble, ptxas; files are sent with the batch.
A batch whose worker dies is given to another. A batch that has killed several runs on this machine, where the file that causes it is found.

    for lines in on_cluster("tcp://host:8786", setup, batches): ...      # in order
"""
from __future__ import annotations

import os
from typing import Any, Deque, Dict, Iterator, List, Tuple
from collections import deque

import batches as work
from files import Root

WINDOW = 4      # submitted batches per thread of a worker
RETRIES = 3


def _texts(root: Root, names: List[str]) -> Dict[str, bytes]:
    out = {}
    for name in names:
        try:
            with open(os.path.join(root.folder, name), "rb") as f:
                out[name] = f.read()
        except OSError:
            out[name] = b""     # its record says that it has no module
    return out


def on_cluster(address: str, setup: work.Setup, found: Iterator[Tuple[Root, List[str]]]) -> Iterator[Tuple[Root, int, bytes]]:
    """(root, number of files, records) of each batch, in order. WINDOW bounds the memory of submitted batches."""
    try:
        import cloudpickle
        from distributed import Client
    except ImportError:
        raise SystemExit("--cluster needs Dask: pip install distributed") from None
    cloudpickle.register_pickle_by_value(work)
    with Client(address, set_as_default=False) as client:
        waiting: Deque[Tuple[Root, List[str], Any]] = deque()

        def next_result() -> Tuple[Root, int, bytes]:
            root, names, future = waiting.popleft()
            try:
                lines = future.result()
            except Exception:   # the workers died
                lines = work.run_texts(setup, _texts(root, names))
            future.release()
            return root, len(names), lines

        for root, names in found:
            threads = sum(client.nthreads().values()) or 1
            while len(waiting) >= WINDOW * threads:
                yield next_result()
            waiting.append((root, names, client.submit(work.run_texts, setup, _texts(root, names), pure=False, retries=RETRIES)))
        while waiting:
            yield next_result()
