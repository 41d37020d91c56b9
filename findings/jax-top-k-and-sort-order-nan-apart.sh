#!/usr/bin/env bash
# Guess: the first k of a descending sort are what `lax.top_k` returns; `approx_max_k` on a CPU, where it is exact, returns them too.
# Seen: jax 0.10.2 on the CPU has three orders. `lax.sort` takes all nans as one value above infinity, and the zeros as equal; `lax.top_k` follows the total order: a nan with
#       its sign set is the least of all, below -inf, and +0 stands before -0; `approx_max_k` of a row with nans is in no order: 1 before 2.
#       The HLO of top_k is `topk(x), k=, largest=true`, which names no comparison.
# Matters: a compiler that takes `topk` as a sort has to give that sort another comparison than JAX's own sorts have, or a nan of x86 (whose 0/0 sets the sign) changes places.
. "$(dirname "$0")/tools.sh"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "skipped: jax 0.10 needs Python 3.11 or newer"; exit 0; }
install packages jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6 ml_dtypes==0.6.0 scipy==1.17.1 opt_einsum==3.4.0
seen() { JAX_PLATFORMS=cpu PYTHONPATH="$work/packages" python3 - "$1" <<'PY'
import sys, jax, jax.numpy as jnp, numpy as np
x = np.array([1, np.nan, 3, -np.nan, 2, 0.0, -0.0, -np.inf, np.inf], np.float32)
x.view(np.uint32)[[1, 3]] = 0x7fc00000, 0xffc00000
name = ["1", "nan", "3", "-nan", "2", "0", "-0", "-inf", "inf"]
print(*(name[i] for i in np.asarray(jax.jit(eval("lambda x: " + sys.argv[1]))(x))))
PY
}
expect "sort, ascending" "$(seen 'jax.lax.sort([x, jnp.arange(9)], num_keys=1)[1]')" "-inf 0 -0 1 2 3 inf nan -nan"
expect "argsort, descending" "$(seen 'jnp.argsort(x, descending=True)')" "nan -nan inf 3 2 1 0 -0 -inf"
expect "top_k" "$(seen 'jax.lax.top_k(x, 9)[1]')" "nan inf 3 2 1 0 -0 -inf -nan"
expect "argsort of -0 0 -0 0, descending" "$(seen 'jnp.take(jnp.array([6, 5, 6, 5]), jnp.argsort(jnp.float32([-0.0, 0.0, -0.0, 0.0]), descending=True))')" "-0 0 -0 0"
expect "top_k of -0 0 -0 0" "$(seen 'jnp.take(jnp.array([6, 5, 6, 5]), jax.lax.top_k(jnp.float32([-0.0, 0.0, -0.0, 0.0]), 4)[1])')" "0 0 -0 -0"
expect "approx_max_k" "$(seen 'jax.lax.approx_max_k(x, 9)[1]')" "inf 3 1 nan -nan 2 0 -0 -inf"
verdict
