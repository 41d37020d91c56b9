"""Texts of random fusions with scatters: any rank, dimension numbers, type and combiner, several operands, what is computed before and after."""
import random
from typing import List, NamedTuple, Sequence, Tuple

FLOATS, INTS = ("f32", "f16", "bf16", "f64"), ("s32", "u32", "s64", "u64", "s16", "u16", "s8", "u8")
SMALL, COMPLEX = ("s4", "u4", "pred"), ("c64", "c128")
INDEX_TYPES = ("s32", "s32", "s64", "u32", "s16", "u8")


class Numbers(NamedTuple):
    """A scatter's shapes and dimension numbers."""
    operand: List[int]
    indices: List[int]
    updates: List[int]
    attributes: str


def ints(values: Sequence[int]) -> str:
    return "{" + ",".join(str(v) for v in values) + "}"


def shape(t: str, dims: Sequence[int], rng: random.Random) -> str:
    order = list(range(len(dims)))[::-1]
    if rng.random() < 0.2:
        rng.shuffle(order)
    return f"{t}[{','.join(map(str, dims))}]{ints(order)}"


def numbers(rng: random.Random) -> Numbers:
    rank = rng.choice((0, 1, 1, 2, 2, 2, 3, 4))
    operand = [rng.choice((1, 2, 3, 4, 5, 8, 16)) for _ in range(rank)]
    batching = [d for d in range(rank) if rng.random() < 0.12]
    scattered = [d for d in range(rank) if d not in batching and rng.random() < 0.6]
    inserted = [d for d in range(rank) if d not in batching and rng.random() < (0.5 if d in scattered else 0.1) and (d in scattered or operand[d] >= 1)]
    window = [d for d in range(rank) if d not in batching and d not in inserted]
    sizes = [operand[d] if d not in scattered and rng.random() < 0.7 else rng.randint(1, operand[d]) for d in window]
    rng.shuffle(scattered)
    outer = [rng.choice((1, 2, 3, 7, 16, 33)) for _ in range(rng.choice((0, 1, 1, 1, 2)))]
    at = sorted(rng.sample(range(len(outer) + len(batching)), len(batching)))  # of the batching dimensions among the indices'
    for k, d in zip(at, batching):
        outer.insert(k, operand[d])
    vector = rng.randint(0, len(outer)) if len(scattered) != 1 or rng.random() < 0.6 else len(outer) + 1
    indices = list(outer)
    if vector <= len(outer):
        indices.insert(vector, len(scattered))
    else:
        vector = len(outer)
    of_indices = [k + (vector <= k and len(indices) > len(outer)) for k in at]
    places = sorted(rng.sample(range(len(outer) + len(window)), len(window)))
    updates = list(outer)
    for k, size in zip(places, sizes):
        updates.insert(k, size)
    text = f"update_window_dims={ints(places)}, inserted_window_dims={ints(inserted)}, scatter_dims_to_operand_dims={ints(scattered)}, "
    if batching:
        text += f"input_batching_dims={ints(batching)}, scatter_indices_batching_dims={ints(of_indices)}, "
    return Numbers(operand, indices, updates, text + f"index_vector_dim={vector}")


def combiner(rng: random.Random, types: Sequence[str], name: str) -> str:
    """The text of a computation whose result does not depend on the order of updates, but for rounding."""
    n = len(types)
    params = [f"  p{k} = {types[k % n]}[] parameter({k})" for k in range(2 * n)]
    t = types[0]
    if n == 2 and t == types[1] and t in ("f32", "s32", "f16") and rng.random() < 0.4:  # the larger one, and of equal ones the other's smaller
        body = [f"  gt = pred[] compare(p2, p0), direction=GT", f"  eq = pred[] compare(p2, p0), direction=EQ", f"  lt = pred[] compare(p3, p1), direction=LT",
                "  tie = pred[] and(eq, lt)", "  take = pred[] or(gt, tie)", f"  r0 = {t}[] select(take, p2, p0)", f"  r1 = {t}[] select(take, p3, p1)"]
    elif rng.random() < 0.2:
        if n == 1:
            return "\n".join([f"{name} {{", params[0], f"  ROOT p1 = {t}[] parameter(1)", "}"])
        results = ", ".join(f"p{n + k}" for k in range(n))
        return "\n".join([f"{name} {{", *params, f"  ROOT r = ({', '.join(f'{x}[]' for x in types)}) tuple({results})", "}"])
    else:
        body = []
        for k, x in enumerate(types):
            ops = ("and", "or", "xor") if x == "pred" else ("add", "add", "multiply") if x in COMPLEX else ("add", "add", "maximum", "minimum", "multiply")
            op = rng.choice(ops + (("and", "or", "xor") if x in INTS or x in ("s4", "u4") else ()))
            pair = rng.choice((f"p{k}, p{n + k}", f"p{n + k}, p{k}"))
            if x in INTS and rng.random() < 0.2:  # no single operation
                body += [f"  d{k} = {x}[] add(p{n + k}, p{n + k})", f"  r{k} = {x}[] xor(p{k}, d{k})"]
            else:
                body.append(f"  r{k} = {x}[] {op}({pair})")
    if n == 1:
        body[-1] = "  ROOT " + body[-1].strip()
    else:
        body.append(f"  ROOT r = ({', '.join(f'{x}[]' for x in types)}) tuple({', '.join(f'r{k}' for k in range(n))})")
    return "\n".join([f"{name} {{", *params, *body, "}"])


class Writer:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: List[str] = []
        self.parameters: List[Tuple[str, str]] = []

    def parameter(self, text: str) -> str:
        name = f"x{len(self.parameters)}"
        self.lines.append(f"  {name} = {text} parameter({len(self.parameters)})")
        self.parameters.append((name, text))
        return name

    def add(self, text: str, value: str) -> str:
        name = f"v{len(self.lines)}"
        self.lines.append(f"  {name} = {text} {value}")
        return name

    def array(self, t: str, text: str, dims: Sequence[int]) -> str:
        """A parameter, or something computed from parameters."""
        how = self.rng.random()
        if how < 0.1 and t not in COMPLEX:
            zero = self.add(f"{t}[]", "constant(0)" if t != "pred" else "constant(false)")
            return self.add(text, f"broadcast({zero}), dimensions={{}}")
        x = self.parameter(text)
        if how > 0.6 and t not in ("pred", "s4", "u4"):
            x = self.add(text, f"{self.rng.choice(('negate', 'negate', 'copy'))}({x})")
        return x


LESS = """less {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT r = pred[] compare(a, b), direction=LT
}"""


def in_order(w: Writer, computations: List[str], text: str, indices: str, seed: int) -> str:
    """Indices of one column in order: those that there are, or equal neighbours, of which the first and the last ones may be outside."""
    if seed % 4 == 3:
        if LESS not in computations:
            computations.append(LESS)
        return w.add(text, f"sort({indices}), dimensions={{0}}, to_apply=less")
    number = w.add(text, "iota(), iota_dimension=0")
    times, first = (w.add("s32[]", f"constant({c})") for c in (seed // 4 % 5 + 1, seed // 20 % 3 - 1))
    times, first = (w.add(text, f"broadcast({c}), dimensions={{}}") for c in (times, first))
    run = w.add(text, f"divide({number}, {times})")
    return w.add(text, f"add({run}, {first})")


def generate(seed: int) -> str:
    rng = random.Random(seed)
    w = Writer(rng)
    computations: List[str] = []
    outputs: List[str] = []
    for k in range(rng.choice((1, 1, 1, 2))):
        d = numbers(rng)
        kind = rng.choice((FLOATS, FLOATS, INTS, INTS, SMALL, COMPLEX))
        types = [rng.choice(kind)] * rng.choice((1, 1, 1, 2))
        if len(types) == 2 and rng.random() < 0.5:
            types[1] = rng.choice(FLOATS + INTS)
        texts = [shape(t, d.operand, rng) for t in types]
        operands = [w.array(t, text, d.operand) for t, text in zip(types, texts)]
        index_type = rng.choice(INDEX_TYPES)
        text = shape(index_type, d.indices, rng)
        indices = w.parameter(text)
        unique = ""
        if rng.random() < 0.2 and len(d.indices) and index_type == "s32" and "batching" not in d.attributes:
            unique = ", unique_indices=true"
        elif index_type != "u8" and rng.random() < 0.3:
            indices = w.add(text, f"abs({indices})" if index_type[0] == "s" else f"copy({indices})")
        is_sorted = ""     # of half of the seeds: a number that were drawn would change all texts
        if not unique and index_type == "s32" and d.indices and d.indices[0] and set(d.indices[1:]) <= {1} and seed % 2:
            indices, is_sorted = in_order(w, computations, text, indices, seed), ", indices_are_sorted=true"
        updates = [w.array(t, shape(t, d.updates, rng), d.updates) for t in types]
        name = f"combine{k}"
        computations.append(combiner(rng, types, name))
        result = texts[0] if len(types) == 1 else f"({', '.join(texts)})"
        s = w.add(result, f"scatter({', '.join(operands + [indices] + updates)}), {d.attributes}, to_apply={name}{unique}{is_sorted}")
        leaves = [s] if len(types) == 1 else [w.add(x, f"get-tuple-element({s}), index={j}") for j, x in enumerate(texts)]
        for leaf, t, x in zip(leaves, types, texts):
            how = rng.random()
            if how < 0.15 and t in FLOATS + INTS:
                outputs += [leaf, w.add(x, f"negate({leaf})")] if how < 0.08 else [w.add(x, f"add({leaf}, {leaf})")]
            else:
                outputs.append(leaf)
    types_of = {line.split()[0]: line.split(" = ")[1].split(" ")[0] for line in w.lines}
    if len(outputs) > 1:
        w.lines.append(f"  ROOT out = ({', '.join(types_of[o] for o in outputs)}) tuple({', '.join(outputs)})")
    else:
        at = next(i for i, line in enumerate(w.lines) if line.split()[0] == outputs[0])
        w.lines.append(w.lines.pop(at))
        w.lines[-1] = "  ROOT " + w.lines[-1].strip()
    return "\n".join([f"HloModule scatter_{seed}", *computations, "ENTRY fusion {", *w.lines, "}"]) + "\n"
