"""A program's folder on the GPU with --check, and its results beside those of the simulator, which lie in stored/."""
from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy
from trials import distance

folder = Path(sys.argv[1])
run = Path(os.environ["WARPBURG_LIBRARY"]).parent / "warpburg-run"
check = [] if folder.name.endswith(".L") else ["--check"]
with tempfile.TemporaryDirectory() as out:
    words = ["--on", "gpu", *check, "--json", "--seed", "1", "-o", out, "-j", "8"]
    p = subprocess.run([str(run), "run", str(folder), *words], capture_output=True, text=True)
    print(p.stderr[-2000:])
    facts = json.loads(p.stdout.strip().splitlines()[-1]) if p.stdout.strip().startswith("{") else {"said": p.stdout[-500:]}
    stored = folder.parent.parent / "stored" / folder.name
    off = {}
    for f in sorted(stored.glob("out*.npy")) if p.returncode in (0, 4) else []:
        a, b = numpy.load(Path(out) / f.name), numpy.load(f)
        if b.dtype.kind == "u" and b.dtype.itemsize == 2:  # bf16
            a, b = ((x.astype(numpy.uint32) << 16).view(numpy.float32) for x in (a, b))
        off[f.name] = distance(a, b)
    facts["off_stored"] = off
print(json.dumps(facts))
sys.exit(p.returncode)
