"""Finds the warpburg executable, ptxas and the cache."""
from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Dict, Tuple

ROOT = Path(__file__).resolve().parent.parent


def find_warpburg(given: str = "") -> str:
    for word in (given, os.environ.get("WARPBURG", ""), str(ROOT / "build" / "warpburg")):
        if word and os.path.isfile(word):
            return str(Path(word).resolve())
        if word and (found := shutil.which(word)):
            return found
        if word and word == given:
            raise SystemExit(f"{word}: error: no such executable")
    raise SystemExit("error: no warpburg executable: ./dev build makes build/warpburg, --warpburg names another")


def cache_folder() -> str:
    """The compiler's own: $WARPBURG_CACHE, else a folder in the user's cache folder; "": there is none."""
    own = os.environ.get("WARPBURG_CACHE")
    if own is not None:
        return "" if own == "off" else own
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "warpburg")


def _in_venv(name: str) -> str:
    return str(next((p for p in sorted((ROOT / ".venv").rglob(name)) if p.is_file()), "")) if (ROOT / ".venv").is_dir() else ""


def environment() -> Tuple[Tuple[str, str], ...]:
    """The environment variables that ./dev sets if ptxas and libdevice are those of .venv."""
    out: Dict[str, str] = {}
    if not os.environ.get("WARPBURG_PTXAS") and not shutil.which("ptxas") and not os.path.exists("/usr/local/cuda/bin/ptxas"):
        out["WARPBURG_PTXAS"] = _in_venv("ptxas")
    if not os.environ.get("WARPBURG_LIBDEVICE") and not os.path.exists("/usr/local/cuda/nvvm/libdevice/libdevice.10.bc"):
        out["WARPBURG_LIBDEVICE"] = _in_venv("libdevice.10.bc")
    return tuple((k, v) for k, v in out.items() if v)


def ptxas_version() -> str:
    """'V13.0.88'; '' without ptxas."""
    program = os.environ.get("WARPBURG_PTXAS") or dict(environment()).get("WARPBURG_PTXAS") or shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas"
    try:
        output = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    except OSError:
        return ""
    return next((word.rstrip(",") for word in output.split() if word.startswith("V") and word[1:2].isdigit()), "")


def _said(*words: str) -> str:
    try:
        return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""


def made_by(warpburg: str) -> Dict[str, str]:
    """What makes records: the revision of the tree, '+' if it has changes; the versions of warpburg and ptxas."""
    revision = _said("git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD")
    changed = revision and _said("git", "-C", str(ROOT), "status", "--porcelain", "--untracked-files=no")
    return {"revision": revision + ("+" if changed else ""), "warpburg": _said(warpburg, "--version"), "ptxas": ptxas_version()}
