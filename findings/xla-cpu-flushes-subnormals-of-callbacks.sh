#!/usr/bin/env bash
# Guess: a host function that `jax.pure_callback` calls computes what it computes anywhere else: NumPy's IEEE arithmetic.
# Seen: XLA's CPU client calls it in a thread with subnormals flushed (FTZ and DAZ of MXCSR), so NumPy's own product of a subnormal is 0 in there and right before and after; under jit and not.
# Matters: a library that is reached through a custom call has to set the floating-point environment itself.
. "$(dirname "$0")/tools.sh"
case $(uname -m) in x86_64) ;; *) echo "skipped: seen on x86_64 alone"; exit 0 ;; esac
python3 -m venv "$work/venv"
"$work/venv/bin/pip" -q --disable-pip-version-check install jax==0.10.2 jaxlib==0.10.2 numpy
said=$(JAX_PLATFORMS=cpu "$work/venv/bin/python" - <<'PY'
import jax, numpy as np

def host(x):
    return np.asarray(x) * np.float32(1.5)

x = np.float32([1e-40, 1.0])
called = lambda x: jax.pure_callback(host, jax.ShapeDtypeStruct(x.shape, x.dtype), x)
print(*host(x).view(np.uint32), "|", *np.asarray(jax.jit(called)(x)).view(np.uint32), "|", *np.asarray(called(x)).view(np.uint32), "|", *host(x).view(np.uint32))
PY
)
expect "before | under jit | without | after" "$said" "107043 1069547520 | 0 1069547520 | 0 1069547520 | 107043 1069547520"
verdict
