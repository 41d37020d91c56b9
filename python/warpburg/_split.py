"""A function of JAX split into parts: operations that are XLA's stay as they are, and what lies between them becomes operations of `warpburg`.

Needs a jaxpr. XLA's are products, convolutions, fft, solvers, collectives, callbacks and whatever has an effect; loops and branches with such an operation
inside are XLA's, too, and their bodies are split. Leaves a function that jax traces. One line on the log `warpburg` says what is XLA's.

    jnp.tanh(x @ w) * 2    ->    dot_general, warpburg[tanh, mul]
"""
from __future__ import annotations

import collections
import functools
import itertools
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

import jax
import numpy
from jax.extend import core

from ._arrays import hlo_type
from ._library import lib
from ._operation import Options, bind, jaxpr_of, log

# Primitives that are XLA's, by the reason.
_LIBRARY = {
    "products": "ragged_dot ragged_dot_general scaled_dot scaled_matmul conv_general_dilated",
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
_LONGEST = 40  # characters of the name of a product
_MOVES = ("reshape", "squeeze", "expand_dims", "transpose", "broadcast_in_dim", "slice", "rev", "iota", "copy", "copy_p", "stop_gradient")


# --- what is XLA's ----------------------------------------------------------------------------------------------------

def inner_jaxprs(eqn: Any) -> Iterator[Any]:
    """The jaxprs among the parameters of an equation."""
    for value in eqn.params.values():
        for x in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(x, (core.ClosedJaxpr, core.Jaxpr)):
                yield x.jaxpr if isinstance(x, core.ClosedJaxpr) else x


@functools.lru_cache(maxsize=4096)
def _library_calls(text: str) -> int:
    data = text.encode()
    return int(lib.wb_library_calls(data, len(data)))


def _is_call(eqn: Any) -> bool:
    """Is a product one that warpburg's programs leave to a library? A thin one is a sum, fused with what is around it."""
    (contracting, batch), out = eqn.params["dimension_numbers"], eqn.outvars[0].aval
    shapes = [f"{hlo_type(a.dtype)}[{','.join(map(str, a.shape))}]" for a in (eqn.invars[0].aval, eqn.invars[1].aval, out)]
    dims = ", ".join(f"{side}_{kind}_dims={{{','.join(map(str, d))}}}" for kind, pair in (("batch", batch), ("contracting", contracting))
                     for side, d in zip(("lhs", "rhs"), pair) if d)
    return _library_calls("HloModule product\nENTRY e {{\n  a = {} parameter(0)\n  b = {} parameter(1)\n  ROOT y = {} dot(a, b){}\n}}\n".format(
        *shapes, f", {dims}" * bool(dims))) != 0


def has_products(jaxpr: Any) -> bool:
    return any(e.primitive.name == "dot_general" or any(map(has_products, inner_jaxprs(e))) for e in jaxpr.eqns)


def _reasons(eqn: Any, products: str) -> "collections.Counter[Tuple[str, str]]":
    """What in an equation is XLA's: primitives, with the reason. Empty: nothing is. products: why all of them are; "": only large ones are."""
    name, found = eqn.primitive.name, collections.Counter()  # type: ignore[var-annotated]
    for jaxpr in inner_jaxprs(eqn):
        for e in jaxpr.eqns:
            found.update(_reasons(e, products))
    if name == "dot_general":
        return collections.Counter({(name, products or "products"): 1} if products or _is_call(eqn) else {})
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

    @property
    def values(self) -> List[int]:
        return [r for r in self.reads if isinstance(r, int)]


class _Flat:
    """The equations of a jaxpr with calls written out where XLA has something in them."""

    def __init__(self, closed: Any, products: str) -> None:
        self._products = products
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
            reads, why = [read(a) for a in eqn.invars], _reasons(eqn, self._products)
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


def _names_of(node: _Node, names: Dict[int, str]) -> List[str]:
    return [names.get(r, "") if isinstance(r, int) else "" for r in node.reads]


def _called(node: _Node, names: Dict[int, str]) -> str:
    """What a value is called that XLA makes, or that is an argument moved: params['w'], x @ params['w'], fft. "": nothing."""
    read, name = _names_of(node, names), node.eqn.primitive.name
    if name in _MOVES:
        return "".join(read[:1])
    product = " @ ".join(read[:2])
    return product if name == "dot_general" and all(read[:2]) and len(product) <= _LONGEST else name * bool(node.xla)


def _given(node: _Node, names: Dict[int, str]) -> List[str]:
    """What the body of a loop or branch calls its inputs: the last of the equation's. That of a scan gets rows of some, with a dimension less."""
    read, eqn = _names_of(node, names), node.eqn
    if eqn.primitive.name != "scan":
        return read
    return [n and n + "[i]" * (len(of.aval.shape) < len(a.aval.shape)) for n, a, of in zip(read, eqn.invars, next(inner_jaxprs(eqn)).invars)]


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


class _Stage(NamedTuple):
    """A part of ours, and XLA's operations that follow it."""
    ours: List[_Node]
    xlas: List[_Node]


def _stages(flat: _Flat, results: Set[int]) -> List[_Stage]:
    """Parts in order: of each stage ours, which need nothing of XLA's of the same stage, then XLA's. An operation of ours is in the last stage that it may be
    in, so that few values stay in memory; one that only moves elements is wherever its result is read. Effects keep their order."""
    ready: Dict[int, Tuple[int, int]] = {}  # of a value: the first stage in which XLA's, or ours, may read it
    free: Dict[int, _Node] = {}             # what moves elements, by its value
    stage: Dict[int, int] = {}              # of nodes, by id
    effect = 0
    for n in flat.nodes:
        xla, ours = (max((ready[r][k] for r in n.values if r in ready), default=0) for k in range(2))
        if n.eqn.primitive.name in _MOVES and not results.intersection(n.makes):
            free.update((m, n) for m in n.makes)
            ready.update((m, (xla, ours)) for m in n.makes)
            continue
        at = xla if n.xla else ours
        if n.eqn.effects:
            at = effect = max(at, effect)
        stage[id(n)] = at
        ready.update((m, (at, at + bool(n.xla))) for m in n.makes)
    last = max((stage[id(n)] for n in flat.nodes if id(n) in stage and not n.xla), default=0)
    readers = dict.fromkeys(results, last)  # of a value: the first stage that reads it
    for n in reversed(flat.nodes):
        at = stage.get(id(n), 0)
        if not n.xla:
            at = stage[id(n)] = max(at, min((readers[m] for m in n.makes if m in readers), default=at))
        readers.update((r, min(at, readers.get(r, at))) for r in n.values)
    stages = [_Stage([], []) for _ in range(1 + max(stage.values(), default=-1))]
    for n in flat.nodes:
        if n.makes[:1] == [] or n.makes[0] not in free:
            stages[stage[id(n)]][bool(n.xla)].append(n)
    order = {id(n): k for k, n in enumerate(flat.nodes)}
    moved: Set[int] = set()  # for XLA, or before it

    def moves_of(nodes: Sequence[_Node], known: Set[int]) -> List[_Node]:
        found: Dict[int, _Node] = {}
        todo = [r for n in nodes for r in n.values]
        while todo:
            r = todo.pop()
            if r in free and r not in known and id(free[r]) not in found:
                found[id(free[r])] = free[r]
                todo += free[r].values
        return list(found.values())

    for s in stages:
        s.ours[:0] = moves_of(s.ours, set())
        s.ours.sort(key=lambda n: order[id(n)])
        s.xlas[:0] = moves_of(s.xlas, moved)
        s.xlas.sort(key=lambda n: order[id(n)])
        moved.update(m for n in s.xlas for m in n.makes)
    return stages


def _is_trivial(nodes: Sequence[_Node], flat: _Flat) -> bool:
    """Only moves elements to where a product of XLA's wants them, or counts a loop's iterations: no kernel is worth its launch."""
    def is_scalar(v: Any) -> bool:
        return not isinstance(v, int) or bool(numpy.prod(flat.avals[v].shape, dtype=numpy.int64) <= 1)

    return all(n.eqn.primitive.name in (*_MOVES, "convert_element_type") or all(map(is_scalar, [*n.reads, *n.makes])) for n in nodes)


class Split(NamedTuple):
    """A function of arrays, split into parts. `name`: of the function; `names` of its inputs, `own` of arrays that it closes over; `donated`: which inputs'
    memory results may have."""
    closed: Any
    name: str
    names: Sequence[str]
    donated: Sequence[bool]
    options: Options
    made: List[str]  # names of our parts, those in loops included
    own: Sequence[str] = ()
    inside: bool = False  # of a loop
    products: str = ""  # why all are XLA's; "": only large ones are

    def _body(self, closed: Any, given: Sequence[str]) -> Any:
        """A body of a loop or branch with our parts in it. Its inputs are the last of what the loop or branch is given."""
        if not isinstance(closed, core.ClosedJaxpr):  # of jax.checkpoint; since jax 0.12 a ClosedJaxpr is a Jaxpr, too
            split = self._body(core.ClosedJaxpr(closed, ()), given)
            return closed if split.consts else split.jaxpr
        inner = self._replace(closed=closed, names=given[len(given) - len(closed.jaxpr.invars):], own=(), donated=(), inside=True)
        return jax.make_jaxpr(inner.run)(*(jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype, weak_type=getattr(v.aval, "weak_type", False))
                                           for v in closed.jaxpr.invars))

    def run(self, *inputs: Any) -> List[Any]:
        flat = _Flat(self.closed, self.products)
        results = {r for r in flat.results if isinstance(r, int)}
        whole = not any(n.xla for n in flat.nodes) and not self.inside
        stages = [_Stage(flat.nodes, [])] if whole else _stages(flat, results)
        env: Dict[int, Any] = {**flat.values, **dict(zip(flat.inputs, inputs))}
        names = {**dict(zip(flat.inputs, self.names)), **dict(zip(flat.values, self.own))}
        last = {r: i for i, s in enumerate(stages) for n in s.ours + s.xlas for r in n.values}
        last.update((r, len(stages)) for r in results)
        donated = {v for v, d in zip(flat.inputs, self.donated) if d}
        parts = [i for i, s in enumerate(stages) if s.ours and (whole or not _is_trivial(s.ours, flat))]
        for i, s in enumerate(stages):
            if i in parts:
                free = {v for v in donated if last.get(v) == i and not any(v in n.values for n in s.xlas)}
                self._ours(s, env, names, self.name if len(parts) == 1 else f"{self.name}.{parts.index(i)}", last, i, free, results)
            else:
                _run(s.ours, env)
            for n in s.ours + s.xlas:
                names.update((m, names.get(m) or _called(n, names)) for m in n.makes)
            for n in s.xlas:
                _run([n], env, lambda closed: self._body(closed, _given(n, names)))
        if not self.inside:
            self._tell(flat.nodes)
        return [r.val if isinstance(r, core.Literal) else env[r] for r in flat.results]

    def _ours(self, s: _Stage, env: Dict[int, Any], names: Dict[int, str], name: str, last: Dict[int, int], stage: int, free: Set[int],
              results: Set[int]) -> None:
        self.made.append(name)
        made = {m: n.eqn.primitive.name not in _MOVES or m in results for n in s.ours for m in n.makes}  # and are not moved wherever they are read
        reads = list(dict.fromkeys(r for n in s.ours for r in n.values if r not in made))
        needed = {r for n in s.xlas for r in n.values}
        makes = [m for m, is_kept in made.items() if is_kept and (last.get(m, -1) > stage or m in needed)]

        def part(*values: Any) -> List[Any]:
            inner = dict(zip(reads, values))
            _run(s.ours, inner)
            return [inner[m] for m in makes]

        given = [names.get(r, "") for r in reads]
        env.update(zip(makes, bind(part, [env[r] for r in reads], name, given, self.options, [r in free for r in reads])))
        names.update((m, name if len(makes) == 1 else f"{name}[{k}]") for k, m in enumerate(makes))

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


def divided(f: Callable[..., Sequence[Any]], args: Sequence[Any], name: str, names: Sequence[str], options: Options, products: str = "") -> List[Any]:
    """f(*args), split into parts."""
    return Split(jax.make_jaxpr(f)(*args), name, names, [False] * len(args), options, [], products=products).run(*args)
