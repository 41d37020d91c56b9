#!/usr/bin/env bash
# Guess: `while (i < 1) i += 2` from 0 on runs once, whatever the compiler.
# Seen: XLA's CPU compiler takes the loop out where the limit is 1 and the step larger than 1: under jit neither the counter nor the rest of the state changes. Limits 2 and 3 with steps
# 3 and 2 are right, and so is eager JAX.
# Matters: a differential test against XLA has to know which side is right; the number of iterations is ceil((limit - start) / step).
. "$(dirname "$0")/tools.sh"
python3 -m venv "$work/venv"
"$work/venv/bin/pip" -q --disable-pip-version-check install jax==0.10.2 jaxlib==0.10.2
said=$(JAX_PLATFORMS=cpu "$work/venv/bin/python" - <<'PY'
import jax, numpy as np
from jax import lax

def state(limit, step):
    f = lambda x: lax.while_loop(lambda c: c[0] < limit, lambda c: (c[0] + step, c[1] + 1), (np.int32(0), x))
    with jax.disable_jit():
        eager = [int(v) for v in f(np.float32(7))]
    return eager, [int(v) for v in jax.jit(f)(np.float32(7))]

print(*(f"{limit} by {step}: {eager} {jit}" for limit, step in ((1, 1), (1, 2), (1, 3), (2, 3), (3, 2)) for eager, jit in [state(limit, step)]), sep="; ")
PY
)
expect "jax 0.10.2, limit by step: eager jit" "$said" \
    "1 by 1: [1, 8] [1, 8]; 1 by 2: [2, 8] [0, 7]; 1 by 3: [3, 8] [0, 7]; 2 by 3: [3, 8] [3, 8]; 3 by 2: [4, 9] [4, 9]"
verdict
