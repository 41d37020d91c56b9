#!/usr/bin/env bash
# Guess: `jax.extend.core.ClosedJaxpr` and `jax.extend.core.Jaxpr` are two classes, and `isinstance` tells what an equation's parameter holds.
# Seen: with jax 0.10.2 a ClosedJaxpr is no Jaxpr; with jax 0.12.0.1 `isinstance(closed, Jaxpr)` is true, and so is `isinstance(closed.jaxpr, ClosedJaxpr)`: neither test tells them apart.
# Matters: what walks the bodies of loops and branches cannot ask which class a parameter has to know whether it carries constants.
. "$(dirname "$0")/tools.sh"
python=
for p in python3.14 python3.13 python3.12; do "$p" -c "" 2>/dev/null && python=$p; done
[ "$python" ] || { echo "skipped: jax 0.12 needs Python 3.12 or newer"; exit 0; }
closed() {
    "$python" -m venv "$work/venv-$1"
    "$work/venv-$1/bin/pip" -q --disable-pip-version-check install "jax==$1" "jaxlib==$2" numpy
    JAX_PLATFORMS=cpu "$work/venv-$1/bin/python" - <<'PY'
import jax
from jax.extend import core

closed = jax.make_jaxpr(lambda x: x + 1)(1.0)
print(jax.__version__, isinstance(closed, core.ClosedJaxpr), isinstance(closed, core.Jaxpr), isinstance(closed.jaxpr, core.ClosedJaxpr))
PY
}
expect "closed: Closed, Jaxpr; plain: Closed" "$(closed 0.10.2 0.10.2)" "0.10.2 True False False"
expect "closed: Closed, Jaxpr; plain: Closed" "$(closed 0.12.0.1 0.12.0.1)" "0.12.0.1 True True True"
verdict
