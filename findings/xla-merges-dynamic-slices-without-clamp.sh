#!/usr/bin/env bash
# Guess: jit gives what eager JAX gives. A dynamic slice clamps its start to its operand, so the slice of a slice clamps to the inner one.
# Seen: XLA's CPU compiler makes one slice of two and adds the starts, without the clamp to the inner slice: of 16 elements, 6 from 3 on and of those 4 from 3 on
# are 5..8 (3 is clamped to 2); under jit they are 6..9.
# Matters: a differential test against XLA has to know which side is right; HLO's own text (dynamic-slice clamps each start to its operand) says the eager result.
. "$(dirname "$0")/tools.sh"
python3 -m venv "$work/venv"
"$work/venv/bin/pip" -q --disable-pip-version-check install jax==0.10.2 jaxlib==0.10.2
said=$(JAX_PLATFORMS=cpu "$work/venv/bin/python" - <<'PY'
import jax, numpy as np
from jax import lax

def f(x, a, b):
    return lax.dynamic_slice(lax.dynamic_slice(x, (a,), (6,)), (b,), (4,))

x, three = np.arange(16, dtype=np.float32), np.int32(3)
print(*np.asarray(f(x, three, three)).astype(int), "|", *np.asarray(jax.jit(f)(x, three, three)).astype(int))
PY
)
expect "jax 0.10.2: eager | jit" "$said" "5 6 7 8 | 6 7 8 9"
verdict
