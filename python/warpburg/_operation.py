"""The primitive `warpburg`: a part of a function of JAX, with a jaxpr of its own, which lowering compiles to a custom call.

Needs a function of arrays, which bind() traces. Leaves one operation of the primitive. Its rules for vmap and derivatives make the batched, the linear and
the transposed function by jax's own functions, and bind them again; its lowering compiles the jaxpr to a kernel or program, or where that is declined to
XLA's operations, with a line on the log `warpburg`.

    bind(lambda x: [jnp.exp(x) * 2], [x], "f", ["x"], Options())    ->    a:f32[8] = warpburg[part={ lambda ; b:f32[8]. let c = exp b; .. }] x
"""
from __future__ import annotations

import inspect
import logging
import re
from typing import Any, Callable, Dict, List, NamedTuple, Sequence, Set, Tuple, Union

import jax
import numpy
from jax.extend import core
from jax.interpreters import ad, batching, mlir

from . import _kernel, _program, _xla
from ._library import Declined, Error

log = logging.getLogger("warpburg")


class Options(NamedTuple):
    """How parts are compiled: as warpburg.compile has them; `threads` are those of the simulator."""
    target: str = "sm_90"
    accuracy: str = "exact"
    cut: str = "priced"
    deterministic: bool = False
    threads: int = 1
    assume: str = ""


def jaxpr_of(of: Any, invars: Sequence[Any], outvars: Sequence[Any], eqns: Sequence[Any]) -> Any:
    """A jaxpr like another one with other equations; names of arguments do not fit any more."""
    more: Dict[str, Any] = {}
    info = getattr(of, "debug_info", None)
    if info is not None and hasattr(info, "_replace"):
        more["debug_info"] = info._replace(arg_names=("",) * len(invars), **{k: ("",) * len(outvars) for k in ("result_paths",) if hasattr(info, k)})
    if info is not None and hasattr(info, "with_unknown_names"):
        more["debug_info"] = info.with_unknown_names()
    effects = frozenset().union(*(e.effects for e in eqns)) if len(eqns) == 1 else of.effects
    return of.replace(constvars=[], invars=list(invars), outvars=list(outvars), eqns=list(eqns), effects=effects, **more)


# --- the primitive ----------------------------------------------------------------------------------------------------

primitive = core.Primitive("warpburg")
primitive.multiple_results = True


class _Passed(NamedTuple):
    """How an array of a type that custom calls do not have goes to and from a part: keys as their bits, types under 8 bits as wider ones."""
    there: Callable[[Any], Any]
    back: Callable[[Any], Any]


def _aval(x: Any) -> Any:
    return jax.typeof(x) if hasattr(jax, "typeof") else jax.core.get_aval(x)  # before jax 0.6


def _passing(aval: Any) -> _Passed:
    if jax.dtypes.issubdtype(aval.dtype, jax.dtypes.prng_key):
        impl = jax.random.key_impl(jax.ShapeDtypeStruct(aval.shape, aval.dtype)) if not hasattr(aval.dtype, "_impl") else aval.dtype._impl
        return _Passed(jax.random.key_data, lambda x: jax.random.wrap_key_data(x, impl=getattr(impl, "name", impl)))
    wider = {"int4": "int8", "int2": "int8", "uint4": "uint8", "uint2": "uint8", "float4_e2m1fn": "float16"}.get(str(aval.dtype))
    if wider:
        return _Passed(lambda x: jax.lax.convert_element_type(x, wider), lambda x: jax.lax.convert_element_type(x, aval.dtype))
    return _Passed(lambda x: x, lambda x: x)


def bind(f: Callable[..., Sequence[Any]], args: Sequence[Any], name: str, names: Sequence[str], options: Options, donated: Sequence[bool] = ()) -> List[Any]:
    """f(*args), as one operation: what it only hands on is no result of it, and what it does not read no argument."""
    ways = [_passing(_aval(x)) for x in args]
    raw = [w.there(x) for w, x in zip(ways, args)]
    wrapped: List[_Passed] = []

    def inner(*xs: Any) -> List[Any]:
        outs = list(f(*(w.back(x) for w, x in zip(ways, xs))))
        wrapped[:] = [_passing(_aval(o)) for o in outs]
        return [w.there(o) for w, o in zip(wrapped, outs)]

    closed = jax.make_jaxpr(inner)(*raw)
    jaxpr = closed.jaxpr
    env = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*closed.consts, *raw]))
    made = [v for v in dict.fromkeys(v for v in jaxpr.outvars if not isinstance(v, core.Literal)) if v not in env]
    if made:
        read = {a for e in jaxpr.eqns for a in e.invars if not isinstance(a, core.Literal)}
        called = {**dict.fromkeys(jaxpr.constvars, ("", False)), **dict(zip(jaxpr.invars, zip(names, donated or [False] * len(raw))))}
        used = [v for v in called if v in read]
        part = core.ClosedJaxpr(jaxpr_of(jaxpr, used, made, jaxpr.eqns), ())
        outs = primitive.bind(*(env[v] for v in used), part=part, name=name, names=tuple(called[v][0] for v in used), options=options,
                               donated=tuple(called[v][1] for v in used))
        env.update(zip(made, outs))
    return [w.back(v.val if isinstance(v, core.Literal) else env[v]) for w, v in zip(wrapped, jaxpr.outvars)]


@primitive.def_impl
def _impl(*args: Any, part: Any, **_: Any) -> Any:
    return core.jaxpr_as_fun(part)(*args)


@primitive.def_abstract_eval
def _abstract(*_: Any, part: Any, **__: Any) -> Any:
    return list(part.out_avals)


def _batch(args: Any, dims: Any, *, part: Any, name: str, names: Any, options: Options, donated: Any) -> Any:
    outs = bind(jax.vmap(core.jaxpr_as_fun(part), in_axes=tuple(dims), out_axes=0), args, name, names, options)
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

    outs = bind(forward, primals, name, names, options)
    kept, given = outs[len(smooth):], [t for a, t in zip(active, tangents) if a]

    def pushed(*xs: Any) -> List[Any]:
        found = jax.tree_util.tree_unflatten(linear[0], xs[:len(kept)])(*xs[len(kept):])
        return [t for t, s in zip(found, smooth) if s]

    named = [n for a, n in zip(active, names) if a]
    pushes = iter(bind(pushed, [*kept, *given], f"{name}.tangent", [*[""] * len(kept), *(n and f"d {n}" for n in named)], options))
    return outs[:len(smooth)], [next(pushes) if s else ad.Zero(_aval(o).to_tangent_aval()) for s, o in zip(smooth, outs)]


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
    found = iter(bind(back, [*known, *(cotangents[i] for i in there)], name.replace(".tangent", "") + ".gradient", called, options))
    return [next(found) if is_linear else None for is_linear in linear]


# --- compiling a part -------------------------------------------------------------------------------------------------

def text_of(f: Callable[..., Any], *args: Any) -> str:
    """The HLO text of a function of arrays, all in row-major order, and with all elements of constants."""
    lowered = jax.jit(f, keep_unused=True).lower(*args)
    return _program.row_major(lowered.compiler_ir("hlo").as_hlo_text(print_large_constants=True))


_INLINE = 4096  # elements of an array that a text may have: larger ones take seconds to print and to parse


def with_own_arrays(f: Callable[..., Any], *args: Any) -> Tuple[str, List[Any], Any]:
    """The HLO text of a function whose large arrays of its own are parameters behind those of `args`, these arrays, and the tree of its result."""
    leaves, tree = jax.tree_util.tree_flatten(args)
    closed, shape = jax.make_jaxpr(lambda *xs: f(*jax.tree_util.tree_unflatten(tree, xs)), return_shape=True)(*leaves)
    own = {v: c for v, c in zip(closed.jaxpr.constvars, closed.consts) if numpy.size(c) > _INLINE}
    if own:
        rest = {v: c for v, c in zip(closed.jaxpr.constvars, closed.consts) if v not in own}
        jaxpr = closed.jaxpr
        whole = jaxpr_of(jaxpr, [*rest, *jaxpr.invars, *own], jaxpr.outvars, jaxpr.eqns)
        g = core.jaxpr_as_fun(core.ClosedJaxpr(whole, ()))
        text = text_of(lambda *xs: g(*rest.values(), *xs), *leaves, *own.values())
    else:
        text = text_of(f, *args)
    return text, list(own.values()), jax.tree_util.tree_structure(shape)


def _identifier(name: str, i: int, taken: Set[str]) -> str:
    word = re.sub(r"\W+", "_", name).strip("_") or f"a{i}"
    word = word if not word[0].isdigit() else f"a{word}"
    while word in taken:
        word += "_"
    taken.add(word)
    return word


_compiled: Dict[Any, Union[_kernel.Kernel, _program.Program]] = {}


def compiled(part: Any, name: str, names: Sequence[str], options: Options) -> Union[_kernel.Kernel, _program.Program]:
    """A part compiled, the first time. Its parameters have the names of the function's arguments."""
    f = core.jaxpr_as_fun(part)

    def named(*xs: Any) -> Any:
        return f(*xs)

    taken: Set[str] = set()
    words = [_identifier(n, i, taken) for i, n in enumerate(names)]
    named.__name__ = re.sub(r"\W+", "_", name)
    named.__signature__ = inspect.Signature([inspect.Parameter(w, inspect.Parameter.POSITIONAL_ONLY) for w in words])  # type: ignore[attr-defined]
    text = text_of(named, *(jax.ShapeDtypeStruct(a.shape, a.dtype, weak_type=getattr(a, "weak_type", False)) for a in part.in_avals))
    inner, _, entry = text.rpartition("\nENTRY main")
    entry = re.sub(r"\bArg_(\d+)(?=\.\d+\b)", lambda m: words[int(m[1])], entry)  # before jax 0.7 their names are numbers
    if inner and f"\n{named.__name__} " not in inner:
        text = f"{inner}\nENTRY {named.__name__} {entry.partition(' ')[2]}"
    key = (text, options)
    if key not in _compiled:
        more = options._asdict()
        more.pop("threads")
        _compiled[key] = _program.compile(text, file=name, **more)
    return _compiled[key]


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
    for platform in context.platforms:
        if platform not in ("cpu", "cuda", "gpu"):
            return f"it is compiled for {platform}"
    axes = context.axis_context
    if hasattr(axes, "manual_axes"):
        free = set(axes.mesh.axis_names) - set(axes.manual_axes)
        return f"its arrays are sharded over {', '.join(map(str, sorted(free, key=str)))}" if free and axes.mesh.size > 1 else ""
    return f"its arrays are sharded over {axes.num_devices} devices" if getattr(axes, "num_devices", 1) not in (None, 1) else ""


def _lowered(context: Any, *args: Any, part: Any, name: str, names: Any, options: Options, donated: Any) -> Any:
    f = core.jaxpr_as_fun(part)
    why = _elsewhere(context.module_context)
    if not why:
        try:
            kernel = compiled(part, name, names, options)
            f = _xla.operation(kernel, threads=options.threads, in_place=_in_place(kernel, donated))
        except Declined as e:
            why = f"{e.reason}: {e.message}"
        except (Error, TypeError) as e:
            why = str(e).splitlines()[0]
    if why:
        log.warning("warpburg: %s: left to XLA: %s", name, why)
    return mlir.lower_fun(f, multiple_results=True)(context, *args)


batching.primitive_batchers[primitive] = _batch
ad.primitive_jvps[primitive] = _jvp
ad.primitive_transposes[primitive] = _transpose
mlir.register_lowering(primitive, _lowered)
