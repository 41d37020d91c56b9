"""warpburg.jax.jit: jax.jit, whose functions are kernels of warpburg where it compiles them, and XLA's where not.

Needs a function that jax.jit takes. While jax.jit traces it, _split.py splits its operations into parts. So types, trees, static arguments, keys, donation
and caching are those of jax.jit, because it is one.

    jit(lambda x, w: jnp.tanh(x @ w) * 2)    ->    x @ w by XLA, warpburg[tanh, mul]
    jax.grad of it                           ->    warpburg[tanh, 1 - y * y, ..], warpburg[mul, ..] of the cotangent, two products by XLA
"""
from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

import jax

from . import _kernel, _program
from ._library import Declined
from ._operation import Options, called_as, compiled, function_of, identifiers, primitive
from ._rules import without_products
from ._split import Split, has_products, inner_jaxprs


class Part(NamedTuple):
    """A part of a function: what it was compiled to, or why it was left to XLA. `inputs`: names of the function's arguments, or "", and types."""
    name: str
    compiled: Union[_kernel.Kernel, _program.Program, None]
    declined: str
    inputs: Tuple[str, ...]
    outputs: Tuple[str, ...]

    def __str__(self) -> str:
        what = "kernel" if isinstance(self.compiled, _kernel.Kernel) else self.compiled.summary.partition(";")[0] if self.compiled else "XLA's"
        return f"{self.name}: ({', '.join(self.inputs)}) -> ({', '.join(self.outputs)}): {what}{': ' * bool(self.declined)}{self.declined}"


class Parts(Tuple[Part, ...]):
    """The parts of a function, in order; `str()` has a line of each."""

    def __str__(self) -> str:
        return "\n".join(map(str, self)) or "nothing is warpburg's"


def _find(jaxpr: Any) -> Iterator[Any]:
    for eqn in jaxpr.eqns:
        if eqn.primitive is primitive:
            yield eqn
        else:
            for inner in inner_jaxprs(eqn):
                yield from _find(inner)


def _parts(jaxpr: Any) -> Iterator[Part]:
    def shown(aval: Any, name: str = "") -> str:
        return f"{name} {aval.str_short(short_dtypes=True)}".strip()

    for eqn in _find(jaxpr):
        p = eqn.params
        made, why, part = None, "", p["part"]
        try:
            made = compiled(part, p["name"], p["names"], p["options"])
        except Declined as e:
            why = f"{e.reason}: {e.message}"
            if has_products(part.jaxpr):
                again = without_products(part, p["name"], p["names"], p["options"], why)
                yield from _parts(jax.make_jaxpr(again)(*part.in_avals).jaxpr)
                continue
        yield Part(p["name"], made, why, tuple(map(shown, part.in_avals, p["names"])), tuple(map(shown, part.out_avals)))


def parts(f: Any, *args: Any, **kwargs: Any) -> Parts:
    """What a jitted function becomes at the types and shapes of these arguments: kernels and programs, each compiled, and why what is left is not.
    f: by warpburg.jax.jit, or by jax.jit of a function that uses one: parts(jax.jit(jax.grad(f)), x)."""
    return Parts(_parts(f.trace(*args, **kwargs).jaxpr.jaxpr))


def _closed_over(f: Any, arrays: Sequence[Any]) -> List[str]:
    """What a function calls arrays that are no arguments of it, params['w'] of a variable around it; "": not known."""
    code = getattr(inspect.unwrap(f), "__code__", None)
    if not arrays or code is None:
        return []
    around = inspect.getclosurevars(inspect.unwrap(f))
    wanted = {id(x) for x in arrays}
    called = {id(leaf): word + jax.tree_util.keystr(path)
              for word, value in {**around.globals, **around.nonlocals}.items() if not inspect.ismodule(value) and not callable(value)
              for path, leaf in jax.tree_util.tree_flatten_with_path(value)[0] if id(leaf) in wanted}
    return [called.get(id(x), "") for x in arrays]


class Jit:
    """A function as jax.jit has it; see jit. `lower`, `trace`, `eval_shape` and `clear_cache` are those of jax.jit."""

    def __init__(self, f: Callable[..., Any], options: Options, more: Dict[str, Any]) -> None:
        self._f, self._options = f, options
        positional = []
        try:
            positional = [p.name for p in inspect.signature(f).parameters.values()
                          if p.kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)]
        except (TypeError, ValueError):
            pass
        self._positional = positional

        def several(word: str) -> Tuple[Any, ...]:
            x = more.get(word)
            return () if x is None else (x,) if isinstance(x, (int, str)) else tuple(x)

        nums = {i if i >= 0 else i + len(positional) for i in several("donate_argnums")}
        self._donated = nums | {n for n in several("donate_argnames")} | {positional[i] for i in nums if i < len(positional)}
        try:
            functools.update_wrapper(self, f)
        except AttributeError:
            pass

        @functools.wraps(f, updated=())
        def traced(*args: Any, **kwargs: Any) -> Any:
            return self._traced(args, kwargs)

        traced.__name__ = f"<{called_as(f)}>" if called_as(f) == "lambda" else called_as(f)
        self._name = called_as(traced)
        self._jit = jax.jit(traced, **more)

    def _traced(self, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        paths, tree = jax.tree_util.tree_flatten_with_path((args, kwargs))
        at = [i for i, (_, x) in enumerate(paths) if isinstance(x, jax.core.Tracer)]
        if not at and paths:  # under jax.disable_jit, or of static arguments alone
            return self._f(*args, **kwargs)
        names, donated = zip(*(self._named(paths[i][0]) for i in at)) if at else ((), ())

        def flat(*xs: Any) -> Any:
            leaves = [x for _, x in paths]
            for i, x in zip(at, xs):
                leaves[i] = x
            a, k = jax.tree_util.tree_unflatten(tree, leaves)
            return self._f(*a, **k)

        flat.__signature__ = inspect.Signature([inspect.Parameter(w, inspect.Parameter.POSITIONAL_ONLY) for w in identifiers(names)])  # type: ignore
        flat.__wrapped__ = function_of(self._f)  # type: ignore[attr-defined]  # jax's errors then name the function, and its arguments
        xs = [paths[i][1] for i in at]
        closed, shape = jax.make_jaxpr(flat, return_shape=True)(*xs)
        own = _closed_over(self._f, closed.consts)
        outs = Split(closed, self._name, names, donated, self._options, [], own).run(*xs)
        return jax.tree_util.tree_unflatten(jax.tree_util.tree_structure(shape), outs)

    def _named(self, path: Any) -> Tuple[str, bool]:
        """How the function calls an argument, params['w3'], and whether it is donated."""
        which, first, *rest = path
        if which.idx == 0:
            word = self._positional[first.idx] if first.idx < len(self._positional) else f"args[{first.idx}]"
            donated = first.idx in self._donated or word in self._donated
        else:
            word, donated = first.key, first.key in self._donated
        return word + jax.tree_util.keystr(tuple(rest)), donated

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._jit(*args, **kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def parts(self, *args: Any, **kwargs: Any) -> Parts:
        """Kernels and programs of the function at the types and shapes of these arguments; see warpburg.jax.parts."""
        return parts(self, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name in ("lower", "trace", "eval_shape", "clear_cache"):
            return getattr(self._jit, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"<warpburg.jax.jit {self._name} for {self._options.target}>"


def jit(f: Optional[Callable[..., Any]] = None, *, target: str = "sm_90", accuracy: str = "exact", cut: str = "priced", deterministic: bool = False,
        threads: int = 1, assume: str = "", **more: Any) -> Any:
    """jax.jit, with kernels of warpburg: all of its arguments are taken, static_argnums and donate_argnums among them, and what it returns can be
    differentiated, batched and lowered as that can. Products, fft, solvers, collectives, callbacks and arrays that are sharded are left to XLA, and
    so is a part that warpburg declines; one line on the log `warpburg` says so when the function is compiled.

    f.parts(*args) has the kernels and programs; `target`, `accuracy`, `cut`, `deterministic` and `assume` are as warpburg.compile has them,
    `threads` those of the simulator, in which kernels run where jax has no GPU.
    """
    options = Options(target, accuracy, cut, deterministic, threads, assume)
    if assume:
        _program.assumed("", assume)  # which refuses another word
    _program._options(target, accuracy, 16, None, False, cut, deterministic)
    if target not in _kernel.targets():
        raise ValueError(f"target={target!r}: one of {', '.join(_kernel.targets())} expected")
    return functools.partial(jit, **options._asdict(), **more) if f is None else Jit(f, options, more)
