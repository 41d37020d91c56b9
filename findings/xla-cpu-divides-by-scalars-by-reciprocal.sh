#!/usr/bin/env bash
# Guess: a quotient of float32 is rounded once, whoever computes it: `x / 3` is the float nearest to x/3, in JAX as in NumPy.
# Seen: with jax 0.10.2 on the CPU `x / 3` is another float for a third of all x, under jit and in eager JAX; likewise where 3 is an argument, and for rows over a column (a softmax): XLA
#       multiplies by the rounded reciprocal of what is broadcast. Where the divisor is an array of the same shape, the quotient is right; by a power of two it is right anyway.
# Matters: a kernel checked against JAX fails by an ulp though it is the better one, and a compiler that keeps the quotient takes more instructions than XLA's.
. "$(dirname "$0")/tools.sh"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "skipped: jax 0.10 needs Python 3.11 or newer"; exit 0; }
install packages jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6 ml_dtypes==0.6.0 scipy==1.17.1 opt_einsum==3.4.0
# Of the 65,536 floats from 1 to 1.0078: how many differ from NumPy's quotient.
seen() { JAX_PLATFORMS=cpu PYTHONPATH="$work/packages" python3 - "$1" "$2" <<'PY'
import sys, jax, jax.numpy as jnp, numpy as np
x = (np.arange(65536, dtype=np.uint32) + 0x3f800000).view(np.float32)
jit, f32 = jax.jit, np.float32
m, threes = x.reshape(256, 256), np.full(256, 3, f32)
y = np.asarray(eval(sys.argv[1])).ravel()
print(int((y != x / f32(sys.argv[2])).sum()))
PY
}
expect "jit(x / 3)" "$(seen 'jit(lambda x: x / 3)(x)' 3)" "21845"
expect "x / 3, no jit" "$(seen 'jnp.asarray(x) / 3' 3)" "21845"
expect "jit(x / y), y = 3" "$(seen 'jit(lambda x, y: x / y)(x, f32(3))' 3)" "21845"
expect "jit(x / 7)" "$(seen 'jit(lambda x: x / 7)(x)' 7)" "28086"
expect "jit(x / 4)" "$(seen 'jit(lambda x: x / 4)(x)' 4)" "0"
expect "jit(m / v[:, None]), v of threes" "$(seen 'jit(lambda m, v: m / v[:, None])(m, threes)' 3)" "21845"
expect "jit(x / y), y of threes, shape of x" "$(seen 'jit(lambda x, y: x / y)(x, np.full_like(x, 3))' 3)" "0"
verdict
