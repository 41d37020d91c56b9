"""The size of rules in tables: bytes a rule by phase, and the lengths of their match and build programs.

usage: rule_size.py
"""
from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from gen import compile as comp, gen_tables, load  # noqa: E402


def main() -> int:
    for s in [load.load_index(), *map(load.load_target, load.targets())]:
        tables, _, _ = gen_tables.compile_set(s)
        size = 4 * len(tables.code) + 8 * len(tables.imm)
        print(f"{s.name}: {len(s.rules)} rules, {size} bytes, {size / len(s.rules):.1f} a rule")
        for phase, rules in s.phases.items():
            programs = [p for r in rules for p in comp.compile_rule(r, 0)]
            steps = [len(p.steps) for p in programs] or [0]
            build = [len(p.build) for p in programs] or [0]
            print(f"  {phase:9} {len(rules):4} rules in {len(programs):4} programs; match steps {sum(steps) / len(steps):5.1f} on average, "
                  f"{max(steps)} at most; build steps {sum(build) / len(build):5.1f}, {max(build)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
