"""A function of JAX split into parts: operations that are XLA's stay as they are, and what lies between them becomes operations of `warpburg`.

Needs a jaxpr. XLA's are products, convolutions, fft, solvers, collectives, callbacks and whatever has an effect; loops and branches with such an operation
inside are XLA's, too, and their bodies are split. Leaves a function that jax traces. One line on the log `warpburg` says what is XLA's.

    jnp.tanh(x @ w) * 2    ->    dot_general, warpburg[tanh, mul]
"""
from __future__ import annotations

import collections
import itertools
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

import jax
import numpy
from jax.extend import core

from ._operation import Options, bind, jaxpr_of, log

# Primitives that are XLA's, by the reason.
_LIBRARY = {
    "products": "dot_general ragged_dot ragged_dot_general scaled_dot scaled_matmul conv_general_dilated",
    "fft": "fft",
    "solvers": "cholesky cholesky_update lu lu_pivots_to_permutation qr geqrf geqp3 householder_product ormqr eigh eig svd triangular_solve tridiagonal "
               "tridiagonal_solve schur hessenberg sylvester linear_solve custom_linear_solve approx_top_k",
    "collectives": "psum psum2 psum_invariant pmax pmin pmean all_gather all_gather_invariant all_to_all ragged_all_to_all ppermute pbroadcast pvary pcast "
                   "psum_scatter reduce_scatter axis_index pgather",
    "shardings": "sharding_constraint shard_map xla_pmap device_put mesh_cast reshard custom_partitioning",
    "calls out of it": "pure_callback io_callback debug_callback debug_print ffi_call pallas_call custom_call infeed outfeed tpu_custom_call",
}
_REASON = {name: reason for reason, names in _LIBRARY.items() for name in names.split()}
_INLINED = ("pjit", "jit", "closed_call", "core_call", "warpburg")
# Parameters of loops and branches whose bodies are split.
_BODIES = {"scan": ("jaxpr",), "while": ("body_jaxpr",), "cond": ("branches",), "checkpoint": ("jaxpr",), "remat2": ("jaxpr",)}
_MOVES = ("reshape", "squeeze", "expand_dims", "transpose", "broadcast_in_dim", "convert_element_type", "copy", "copy_p", "stop_gradient")


# --- what is XLA's ----------------------------------------------------------------------------------------------------

def inner_jaxprs(eqn: Any) -> Iterator[Any]:
    """The jaxprs among the parameters of an equation."""
    for value in eqn.params.values():
        for x in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(x, (core.ClosedJaxpr, core.Jaxpr)):
                yield x.jaxpr if isinstance(x, core.ClosedJaxpr) else x


def _reasons(eqn: Any) -> "collections.Counter[Tuple[str, str]]":
    """What in an equation is XLA's: primitives, with the reason. Empty: nothing is."""
    name, found = eqn.primitive.name, collections.Counter()  # type: ignore[var-annotated]
    for jaxpr in inner_jaxprs(eqn):
        for e in jaxpr.eqns:
            found.update(_reasons(e))
    if name in _REASON:
        return collections.Counter({(name, _REASON[name]): 1})
    if not found and eqn.effects:
        found[(name, "effects")] = 1
    return found


# --- parts of a jaxpr -------------------------------------------------------------------------------------------------

class _Node(NamedTuple):
    """An equation, with jaxprs that it calls written out: values are numbers, or literals."""
    eqn: Any
    reads: List[Any]
    makes: List[int]
    jaxpr: Any       # that has the equation
    xla: Any         # _reasons


class _Flat:
    """The equations of a jaxpr with calls written out where XLA has something in them."""

    def __init__(self, closed: Any) -> None:
        self.nodes: List[_Node] = []
        self.values: Dict[int, Any] = {}  # of constants
        self.avals: Dict[int, Any] = {}
        self._count = itertools.count()
        self.inputs = [self._new(v.aval) for v in closed.jaxpr.invars]
        self.results = self._take(closed.jaxpr, closed.consts, self.inputs)

    def _new(self, aval: Any) -> int:
        n = next(self._count)
        self.avals[n] = aval
        return n

    def _constant(self, value: Any, aval: Any) -> int:
        n = self._new(aval)
        self.values[n] = value
        return n

    def _take(self, jaxpr: Any, consts: Sequence[Any], inputs: Sequence[Any]) -> List[Any]:
        env: Dict[Any, Any] = dict(zip(jaxpr.invars, inputs))
        env.update((v, self._constant(c, v.aval)) for v, c in zip(jaxpr.constvars, consts))

        def read(atom: Any) -> Any:
            if not isinstance(atom, core.Literal):
                return env[atom]
            return self._constant(atom.val, atom.aval) if numpy.ndim(atom.val) else atom

        for eqn in jaxpr.eqns:
            reads, why = [read(a) for a in eqn.invars], _reasons(eqn)
            if eqn.primitive.name in _INLINED and (why or eqn.primitive.name == "warpburg"):
                inner = next(x for x in eqn.params.values() if isinstance(x, (core.ClosedJaxpr, core.Jaxpr)))
                closed = inner if isinstance(inner, core.ClosedJaxpr) else core.ClosedJaxpr(inner, ())
                made = self._take(closed.jaxpr, closed.consts, reads)
                env.update(zip(eqn.outvars, made))
            else:
                made = [self._new(v.aval) for v in eqn.outvars]
                self.nodes.append(_Node(eqn, reads, made, jaxpr, why))
                env.update(zip(eqn.outvars, made))
        return [read(a) for a in jaxpr.outvars]


def _evaluate(node: _Node, values: Sequence[Any], body: Optional[Callable[[Any], Any]] = None) -> List[Any]:
    """Binds the equation anew: as the one equation of a jaxpr, so that jax knows how. `body`: what becomes of jaxprs that it calls."""
    eqn = node.eqn
    if body and eqn.primitive.name in _BODIES:
        changed = {k: tuple(map(body, eqn.params[k])) if isinstance(eqn.params[k], tuple) else body(eqn.params[k]) for k in _BODIES[eqn.primitive.name]}
        eqn = eqn.replace(params={**eqn.params, **changed})
    given = [(a, x) for a, x in zip(eqn.invars, values) if not isinstance(a, core.Literal)]
    first = dict(reversed(given))
    outs = [v for v in eqn.outvars if type(v).__name__ != "DropVar"]
    jaxpr = jaxpr_of(node.jaxpr, list(first), outs, [eqn])
    made = iter(core.jaxpr_as_fun(core.ClosedJaxpr(jaxpr, ()))(*first.values()))
    return [None if type(v).__name__ == "DropVar" else next(made) for v in eqn.outvars]


def _stages(nodes: Sequence[_Node]) -> List[Tuple[List[_Node], List[_Node]]]:
    """Parts in order: of each stage ours, which need nothing of XLA's of the same stage, then XLA's. Effects keep their order."""
    stage_of: Dict[int, Tuple[int, bool]] = {}
    stages: List[Tuple[List[_Node], List[_Node]]] = []
    effect = 0
    for n in nodes:
        at = 0
        for r in n.reads:
            if isinstance(r, int) and r in stage_of:
                stage, xla = stage_of[r]
                at = max(at, stage + (xla and not n.xla))
        if n.eqn.effects:
            at = effect = max(at, effect)
        while len(stages) <= at:
            stages.append(([], []))
        stages[at][bool(n.xla)].append(n)
        stage_of.update((m, (at, bool(n.xla))) for m in n.makes)
    return stages


def _is_trivial(nodes: Sequence[_Node], flat: _Flat) -> bool:
    """Only moves elements to where a product of XLA's wants them, or counts a loop's iterations: no kernel is worth its launch."""
    return all(n.eqn.primitive.name in _MOVES or all(numpy.prod(flat.avals[m].shape, dtype=numpy.int64) <= 1 for m in n.makes) for n in nodes)


class Split(NamedTuple):
    """A function of arrays, split into parts. `name`: of the function; `names` of its inputs; `donated`: which inputs' memory results may have."""
    closed: Any
    name: str
    names: Sequence[str]
    donated: Sequence[bool]
    options: Options
    made: List[str]  # names of our parts, those in loops included
    inside: bool = False  # of a loop

    def _body(self, closed: Any) -> Any:
        """A body of a loop or branch with our parts in it."""
        if not isinstance(closed, core.ClosedJaxpr):  # of jax.checkpoint; since jax 0.12 a ClosedJaxpr is a Jaxpr, too
            split = self._body(core.ClosedJaxpr(closed, ()))
            return closed if split.consts else split.jaxpr
        inner = self._replace(closed=closed, names=(), donated=(), inside=True)
        return jax.make_jaxpr(inner.run)(*(jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype, weak_type=getattr(v.aval, "weak_type", False))
                                           for v in closed.jaxpr.invars))

    def run(self, *inputs: Any) -> List[Any]:
        flat = _Flat(self.closed)
        stages = _stages(flat.nodes)
        env: Dict[int, Any] = {**flat.values, **dict(zip(flat.inputs, inputs))}
        names = dict(zip(flat.inputs, self.names))
        last = {r: i for i, (ours, xlas) in enumerate(stages) for n in ours + xlas for r in n.reads if isinstance(r, int)}
        last.update((r, len(stages)) for r in flat.results if isinstance(r, int))
        donated = {v for v, d in zip(flat.inputs, self.donated) if d}
        whole = not any(xlas for _, xlas in stages) and not self.inside
        parts = sum(bool(ours) and (whole or not _is_trivial(ours, flat)) for ours, _ in stages)
        for i, (ours, xlas) in enumerate(stages):
            if ours and (whole or not _is_trivial(ours, flat)):
                free = {v for v in donated if last.get(v) == i and not any(v in n.reads for n in xlas)}
                self._ours(ours, env, names, self.name if parts == 1 else f"{self.name}.{i}", last, i, xlas, free)
            else:
                _run(ours, env)
            _run(xlas, env, self._body)
        if not self.inside:
            self._tell(flat.nodes)
        return [r.val if isinstance(r, core.Literal) else env[r] for r in flat.results]

    def _ours(self, nodes: Sequence[_Node], env: Dict[int, Any], names: Dict[int, str], name: str, last: Dict[int, int], stage: int,
              xlas: Sequence[_Node], free: Set[int]) -> None:
        self.made.append(name)
        made = {m for n in nodes for m in n.makes}
        reads = list(dict.fromkeys(r for n in nodes for r in n.reads if isinstance(r, int) and r not in made))
        needed = {r for n in xlas for r in n.reads if isinstance(r, int)}
        makes = [m for m in dict.fromkeys(m for n in nodes for m in n.makes) if last.get(m, -1) > stage or m in needed]

        def part(*values: Any) -> List[Any]:
            inner = dict(zip(reads, values))
            _run(nodes, inner)
            return [inner[m] for m in makes]

        given = [names.get(r, "") for r in reads]
        env.update(zip(makes, bind(part, [env[r] for r in reads], name, given, self.options, [r in free for r in reads])))

    def _tell(self, nodes: Sequence[_Node]) -> None:
        count: "collections.Counter[Tuple[str, str]]" = collections.Counter()
        for n in nodes:
            count.update(n.xla)
        if count:
            what = ", ".join(f"{k} {name} ({reason})" for (name, reason), k in count.items())
            parts = len(self.made)
            rest = f"the rest is {parts} part{'s' * (parts != 1)} of warpburg's" if parts else "warpburg nothing"
            log.warning("warpburg: %s: XLA computes %s; %s", self.name, what, rest)


def _run(nodes: Sequence[_Node], env: Dict[int, Any], body: Optional[Callable[[Any], Any]] = None) -> None:
    for n in nodes:
        env.update(zip(n.makes, _evaluate(n, [r.val if isinstance(r, core.Literal) else env[r] for r in n.reads], body if n.xla else None)))
