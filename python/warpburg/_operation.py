"""The primitive `warpburg`: a part of a function of JAX, with a jaxpr of its own, which compiled() makes a kernel or program.

Needs a function of arrays, which bind() traces. Leaves one operation of the primitive; what jax does with it is in _rules.py.

    bind(lambda x: [jnp.exp(x) * 2], [x], "f", ["x"], Options())    ->    a:f32[8] = warpburg[part={ lambda ; b:f32[8]. let c = exp b; .. }] x
"""
from __future__ import annotations

import functools
import inspect
import itertools
import logging
import re
import threading
from typing import Any, Callable, Dict, List, NamedTuple, Sequence, Set, Tuple, Union

import jax
import numpy
from jax.extend import core

from . import _kernel, _program
from ._library import Declined

log = logging.getLogger("warpburg")
_WHY_LIBRARY = 3  # of wb_reason


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


def aval_of(x: Any) -> Any:
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
    ways = [_passing(aval_of(x)) for x in args]
    raw = [w.there(x) for w, x in zip(ways, args)]
    wrapped: List[_Passed] = []

    def inner(*xs: Any) -> List[Any]:
        outs = list(f(*(w.back(x) for w, x in zip(ways, xs))))
        wrapped[:] = [_passing(aval_of(o)) for o in outs]
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


# --- compiling a part -------------------------------------------------------------------------------------------------

_making = threading.local()


def makes_text() -> bool:
    """Whether this thread lowers a function for its text, in which parts inside it are operations, too, and no calls."""
    return getattr(_making, "text", False)


def text_of(f: Callable[..., Any], *args: Any) -> str:
    """The HLO text of a function of arrays, all in row-major order, and with all elements of constants."""
    before, _making.text = makes_text(), True
    try:
        lowered = jax.jit(f, keep_unused=True).lower(*args)
    finally:
        _making.text = before
    return _program.row_major(lowered.compiler_ir("hlo").as_hlo_text(print_large_constants=True))


def function_of(f: Callable[..., Any]) -> Callable[..., Any]:
    """What functools.partial has been given."""
    while isinstance(f, functools.partial):
        f = f.func
    return f


def called_as(f: Callable[..., Any]) -> str:
    """What a function is called in messages and texts: lambda of <lambda>."""
    f = function_of(f)
    return str(getattr(f, "__name__", "") or type(f).__name__).strip("<>")


def entry_called(text: str, name: str) -> str:
    """A text of jax, whose entry main, after which a kernel is called, has the name of the function instead."""
    inner, _, entry = text.rpartition("\nENTRY main")
    word = re.sub(r"\W+", "_", name)
    return f"{inner}\nENTRY {word} {entry.partition(' ')[2]}" if inner and f"\n{word} " not in inner else text


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


def identifiers(names: Sequence[str]) -> List[str]:
    """Names of arguments, params['w'] or "", each as an identifier of its own."""
    taken: Set[str] = set()
    return [_identifier(n, i, taken) for i, n in enumerate(names)]


_compiled: Dict[Any, Union[_kernel.Kernel, _program.Program]] = {}


def compiled(part: Any, name: str, names: Sequence[str], options: Options) -> Union[_kernel.Kernel, _program.Program]:
    """A part compiled, the first time. Its parameters have the names of the function's arguments."""
    f = core.jaxpr_as_fun(part)

    def named(*xs: Any) -> Any:
        return f(*xs)

    words = identifiers(names)
    named.__name__ = re.sub(r"\W+", "_", name)
    named.__signature__ = inspect.Signature([inspect.Parameter(w, inspect.Parameter.POSITIONAL_ONLY) for w in words])  # type: ignore[attr-defined]
    text = text_of(named, *(jax.ShapeDtypeStruct(a.shape, a.dtype, weak_type=getattr(a, "weak_type", False)) for a in part.in_avals))
    inner, main, entry = text.rpartition("\nENTRY main")
    entry = re.sub(r"\bArg_(\d+)(?=\.\d+\b)", lambda m: words[int(m[1])], entry)  # before jax 0.7 their names are numbers
    text = entry_called(inner + main + entry, name)
    key = (text, options)
    if key not in _compiled:
        more = options._asdict()
        more.pop("threads")
        _compiled[key] = _program.compile(text, file=name, **more)
    made = _compiled[key]
    if isinstance(made, _program.Program):
        for step in itertools.chain(*made.computations.values()):
            if step.kind == "library" and step.operation == "dot":
                raise Declined(f"{name}: declined: library: {step.name} is a product that a library computes", _WHY_LIBRARY)
    return made
