#!/usr/bin/env python3
"""Runs the fuzzer of kernel.json (bundle_fuzz.c) on the bundles of the tests.

    bundle_fuzz.py FUZZER [SECONDS] [FOLDER]

FUZZER: bundle_fuzz of a build with `CC=clang meson setup build-fuzz -Dfuzz=true`. Seeds are the kernel.json of tests/programs/bundles; the dictionary is
bundle.dict. The fuzzer keeps its corpus in FOLDER (by default a temporary one). It runs for SECONDS (600) on one core; exit 1 if it found a
failure, whose input it writes and names.
"""
from __future__ import annotations

import sys
from pathlib import Path

from libfuzzer import fuzz

SEEDS = sorted((Path(__file__).resolve().parents[1] / "bundles").glob("*/kernel.json"))

if __name__ == "__main__":
    sys.exit(fuzz(sys.argv, "bundle", [file.read_text() for file in SEEDS], 1 << 14))
