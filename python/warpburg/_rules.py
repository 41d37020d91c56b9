"""What jax does with the primitive `warpburg`: vmap, derivatives, lowering.

Batched, linear and transposed functions are made by jax's own of the part's jaxpr, and split again: a batch of products with a vector is a product of
matrices, which is XLA's. Lowering compiles a part to a custom call; where it is declined, to one without its products, or else to XLA's operations, with a
line on the log `warpburg`.

    jax.vmap(warpburg[w @ v], (None, 0))    ->    dot_general
    jax.jvp(warpburg[sin x])                ->    warpburg[sin x, cos x], warpburg[cos x * dx]
"""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Sequence, Set

import jax
import numpy
from jax.extend import core
from jax.interpreters import ad, batching, mlir

from . import _kernel, _xla
from ._library import Declined, Error
from ._operation import Options, aval_of, compiled, log, makes_text, primitive
from ._split import divided, has_products


# --- batches and derivatives ------------------------------------------------------------------------------------------

def _batch(args: Any, dims: Any, *, part: Any, name: str, names: Any, options: Options, donated: Any) -> Any:
    outs = divided(jax.vmap(core.jaxpr_as_fun(part), in_axes=tuple(dims), out_axes=0), args, name, names, options)
    return outs, [0] * len(outs)


def _jvp(primals: Any, tangents: Any, *, part: Any, name: str, names: Any, options: Options, donated: Any) -> Any:
    """Two operations: the results with what the linear function needs of them, and the linear function, which may be transposed."""
    f = core.jaxpr_as_fun(part)
    active = [type(t) is not ad.Zero and t.dtype != jax.dtypes.float0 for t in tangents]
    smooth = [jax.dtypes.issubdtype(a.dtype, numpy.inexact) for a in part.out_avals]
    linear: List[Any] = []

    def forward(*xs: Any) -> List[Any]:
        def of_active(*ys: Any) -> List[Any]:
            given = iter(ys)
            return list(f(*(next(given) if a else x for a, x in zip(active, xs))))

        outs, push = jax.linearize(of_active, *(x for a, x in zip(active, xs) if a))
        leaves, tree = jax.tree_util.tree_flatten(push)
        linear[:] = [tree]
        return [*outs, *leaves]

    outs = divided(forward, primals, name, names, options)
    kept, given = outs[len(smooth):], [t for a, t in zip(active, tangents) if a]

    def pushed(*xs: Any) -> List[Any]:
        found = jax.tree_util.tree_unflatten(linear[0], xs[:len(kept)])(*xs[len(kept):])
        return [t for t, s in zip(found, smooth) if s]

    named = [n for a, n in zip(active, names) if a]
    pushes = iter(divided(pushed, [*kept, *given], f"{name}.tangent", [*[""] * len(kept), *(n and f"d {n}" for n in named)], options))
    return outs[:len(smooth)], [next(pushes) if s else ad.Zero(aval_of(o).to_tangent_aval()) for s, o in zip(smooth, outs)]


def _transpose(cotangents: Any, *args: Any, part: Any, name: str, names: Any, options: Options, donated: Any) -> Any:
    f = core.jaxpr_as_fun(part)
    linear = [ad.is_undefined_primal(a) for a in args]
    known = [a for a, is_linear in zip(args, linear) if not is_linear]
    there = [i for i, c in enumerate(cotangents) if type(c) is not ad.Zero]
    avals = [jax.ShapeDtypeStruct(a.aval.shape, a.aval.dtype) for a, is_linear in zip(args, linear) if is_linear]

    def back(*xs: Any) -> List[Any]:
        def of_linear(*ys: Any) -> List[Any]:
            given, fixed = iter(ys), iter(xs)
            outs = f(*(next(given) if is_linear else next(fixed) for is_linear in linear))
            return [outs[i] for i in there]

        return list(jax.linear_transpose(of_linear, *avals)(list(xs[len(known):])))

    called = [n for n, is_linear in zip(names, linear) if not is_linear] + [""] * len(there)
    found = iter(divided(back, [*known, *(cotangents[i] for i in there)], name.replace(".tangent", "") + ".gradient", called, options))
    return [next(found) if is_linear else None for is_linear in linear]


# --- lowering ---------------------------------------------------------------------------------------------------------

def _in_place(kernel: Any, donated: Sequence[bool]) -> Dict[int, int]:
    """Donated inputs, each with the output that takes its memory: where a kernel updates an array, it then does so in place."""
    out: Dict[int, int] = {}
    taken: Set[int] = set()
    if not isinstance(kernel, _kernel.Kernel):
        return out
    buffers = kernel.buffers
    for b in buffers:
        if b.role != "output":
            continue
        for i in b.may_alias:
            n = buffers[i].input
            if n >= 0 and donated[n] and n not in out and b.number not in taken and kernel.inputs[n] == kernel.outputs[b.number]:
                out[n] = b.number
                taken.add(b.number)
    return out


def _elsewhere(context: Any) -> str:
    """Why a custom call cannot be where it would be lowered to; "": it can."""
    if getattr(context.lowering_parameters, "for_export", False):
        return "an exported function is for any process, and a kernel is of this one"
    for platform in context.platforms:
        if platform not in ("cpu", "cuda", "gpu"):
            return f"it is compiled for {platform}"
    axes = context.axis_context
    if hasattr(axes, "manual_axes"):
        free = set(axes.mesh.axis_names) - set(axes.manual_axes)
        return f"its arrays are sharded over {', '.join(map(str, sorted(free, key=str)))}" if free and axes.mesh.size > 1 else ""
    return f"its arrays are sharded over {axes.num_devices} devices" if getattr(axes, "num_devices", 1) not in (None, 1) else ""


def without_products(part: Any, name: str, names: Sequence[str], options: Options, why: str) -> Callable[..., List[Any]]:
    """The function of a part that was declined, split so that all of its products are XLA's."""
    def f(*xs: Any) -> List[Any]:
        return divided(core.jaxpr_as_fun(part), xs, name, names, options, f"products, with which it is declined: {why}")

    return f


def _lowered(context: Any, *args: Any, part: Any, name: str, names: Any, options: Options, donated: Any) -> Any:
    f = core.jaxpr_as_fun(part)
    why = "" if makes_text() else _elsewhere(context.module_context)
    if not why and not makes_text():
        try:
            kernel = compiled(part, name, names, options)
            f = _xla.operation(kernel, threads=options.threads, in_place=_in_place(kernel, donated))
        except Declined as e:
            why = f"{e.reason}: {e.message}"
            if has_products(part.jaxpr):
                f, why = without_products(part, name, names, options, why), ""
        except (Error, TypeError) as e:
            why = str(e).splitlines()[0]
    if why:
        log.warning("warpburg: %s: left to XLA: %s", name, why)
    return mlir.lower_fun(f, multiple_results=True)(context, *args)


batching.primitive_batchers[primitive] = _batch
ad.primitive_jvps[primitive] = _jvp
ad.primitive_transposes[primitive] = _transpose
mlir.register_lowering(primitive, _lowered)
