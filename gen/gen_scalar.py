"""Writes the generated part of src/scalar: `gen_scalar.py OUTDIR` makes sc_tables.h, sc_tables.c and sc_functions.c there.

Needs ops.py (types and operations), semantics.py (their meanings) and BUDGETS of patterns/functions.py (how far results may be off). Each
C function loops over arrays; a single value is an array of one. The output is the same byte for byte for the same input.
"""
from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gen import load, ops, semantics
from gen.lang import PatternError

FROM = "/* Made by gen/gen_scalar.py from gen/ops.py, gen/semantics.py and patterns/functions.py. */\n"


def enum(prefix: str, name: str) -> str:
    return prefix + name.upper()


def tables_h() -> str:
    lines = [FROM, "#ifndef SC_TABLES_H\n#define SC_TABLES_H\n\n", "typedef enum ScType {\n"]
    lines += [f"    {enum('SC_', t.name)},\n" for t in ops.TYPES]
    lines += ["    SC_TYPE_COUNT\n} ScType;\n\ntypedef enum ScOp {\n"]
    lines += [f"    {enum('OP_', o.name)},\n" for o in ops.OPS]
    lines += ["    OP_COUNT\n} ScOp;\n\nenum {\n"]
    lines += [f"    {enum('SC_FLAG_', f)} = 1 << {i},\n" for i, f in enumerate(ops.FLAGS)]
    lines += [f"    SC_PERMISSIONS = {' | '.join(enum('SC_FLAG_', f) for f in ops.PERMISSIONS)}, /* other results are right, too */\n"]
    lines += [f"    SC_FLAG_COUNT = {len(ops.FLAGS)}\n}};\n\n/* Effects of an operation; 0: it is pure. */\nenum {{\n"]
    lines += [f"    {enum('SC_', e)} = 1 << {i},\n" for i, e in enumerate(ops.EFFECTS)]
    lines += ["};\n\n#endif\n"]
    return "".join(lines)


def tables_c() -> str:
    lines = [FROM, '#include "scalar/scalar.h"\n\nconst ScTypeInfo sc_type_info[SC_TYPE_COUNT] = {\n']
    for t in ops.TYPES:
        compute = "true" if t.name in ops.COMPUTE else "false"
        lines.append(f'    [{enum("SC_", t.name)}] = {{"{t.name}", "{t.hlo}", {t.bits}, \'{t.cls}\', {compute}}},\n')
    lines.append("};\n\nconst ScOpInfo sc_op_info[OP_COUNT] = {\n")
    for o in ops.OPS:
        words = o.props.split()
        comm, costly = ("true" if p in words else "false" for p in ("comm", "costly"))
        effects = " | ".join(enum("SC_", p) for p in ops.EFFECTS if p in words) or "0"
        lines.append(f'    [{enum("OP_", o.name)}] = {{"{o.name}", {o.arity}, SC_{o.sig.upper()}, {o.rank}, '
                     f'{comm}, {costly}, {effects}, "{o.classes}", OP_{(o.combiner or "none").upper()}}},\n')
    lines.append("};\n\nconst char *const sc_flag_name[SC_FLAG_COUNT] = {\n")
    lines += [f'    "{f}",\n' for f in ops.FLAGS]
    lines.append("};\n\n/* plain, then with approx */\nstatic const ScBudget budget[OP_COUNT][SC_TYPE_COUNT][SC_ACCURACIES] = {\n")
    table, xla = load.budgets(), load.xla_budgets()
    for (op, t), (ulp, approx, absolute) in sorted(table.items()):
        lines.append(f"    [{enum('OP_', op)}][{enum('SC_', t)}] = {{{{{ulp}, 0}}, {{{xla[op, t][0]}, {xla[op, t][1]}}}, {{{approx}, {absolute}}}}},\n")
    lines.append("};\n\nScBudget sc_budget(ScOp op, ScType type, ScAccuracy accuracy) { return budget[op][type][accuracy]; }\n")
    lines.append("\nstatic const bool marked_xla[OP_COUNT][SC_TYPE_COUNT] = {\n")
    lines += [f"    [{enum('OP_', op)}][{enum('SC_', t)}] = true,\n" for op, t in sorted(load.marked_xla())]
    lines.append("""};

bool sc_is_marked(ScOp op, ScType type, ScAccuracy accuracy)
{
    if (accuracy == SC_XLA) return marked_xla[op][type];
    return accuracy == SC_APPROX && sc_op_info[op].costly && sc_is_float(type);
}
""")
    return "".join(lines)


LOOPS = """
#define LOOP1(name, R, A, store, load, C, expr)                                                   \\
    static void name(size_t n, void *result, const void *pa, const void *pb, const void *pc)     \\
    {                                                                                             \\
        R *r = result;                                                                            \\
        const A *xa = pa;                                                                         \\
        (void)pb, (void)pc;                                                                       \\
        for (size_t i = 0; i < n; i++) {                                                          \\
            const C a = load(xa[i]);                                                              \\
            r[i] = store(expr);                                                                   \\
        }                                                                                         \\
    }
#define LOOP2(name, R, A, store, load, C, expr)                                                   \\
    static void name(size_t n, void *result, const void *pa, const void *pb, const void *pc)     \\
    {                                                                                             \\
        R *r = result;                                                                            \\
        const A *xa = pa, *xb = pb;                                                               \\
        (void)pc;                                                                                 \\
        for (size_t i = 0; i < n; i++) {                                                          \\
            const C a = load(xa[i]), b = load(xb[i]);                                             \\
            r[i] = store(expr);                                                                   \\
        }                                                                                         \\
    }
#define LOOP3(name, R, A, store, load, C, expr)                                                   \\
    static void name(size_t n, void *result, const void *pa, const void *pb, const void *pc)     \\
    {                                                                                             \\
        R *r = result;                                                                            \\
        const A *xa = pa, *xb = pb, *xc = pc;                                                     \\
        for (size_t i = 0; i < n; i++) {                                                          \\
            const C a = load(xa[i]), b = load(xb[i]), c = load(xc[i]);                            \\
            r[i] = store(expr);                                                                   \\
        }                                                                                         \\
    }
#define SELECT(name, T)                                                                           \\
    static void name(size_t n, void *result, const void *pa, const void *pb, const void *pc)     \\
    {                                                                                             \\
        T *r = result;                                                                            \\
        const uint8_t *xa = pa;                                                                   \\
        const T *xb = pb, *xc = pc;                                                               \\
        for (size_t i = 0; i < n; i++) {                                                          \\
            const T b = xb[i], c = xc[i];                                                         \\
            r[i] = xa[i] ? b : c;                                                                 \\
        }                                                                                         \\
    }
#define COPY(name, T)                                                                             \\
    static void name(size_t n, void *result, const void *pa, const void *pb, const void *pc)     \\
    {                                                                                             \\
        (void)pb, (void)pc;                                                                       \\
        if (n) memmove(result, pa, n * sizeof(T));                                                \\
    }
/* What is done to narrow floats by way of double, which holds all of them: a part at a time, so that the loops of double
 * serve every type. `loop` is null for a conversion, `narrow` where the result is a truth. */
typedef struct {
    ScLoop widen, loop, narrow;
    unsigned operands, from, to; /* how many; bytes of an operand and of a result */
} Way;

__attribute__((noinline)) static void through_double(const Way *way, size_t n, void *result, const void *pa, const void *pb, const void *pc)
{
    enum { PART = 256 };
    double x[3][PART], y[PART];
    const char *operand[3] = {pa, pb, pc};
    for (size_t at = 0, some; at < n; at += some) {
        some = n - at < PART ? n - at : PART;
        for (unsigned k = 0; k < way->operands; k++) way->widen(some, x[k], operand[k] + at * way->from, NULL, NULL);
        char *to = (char *)result + at * way->to;
        if (way->loop) way->loop(some, way->narrow ? (void *)y : to, x[0], x[1], x[2]);
        if (way->narrow) way->narrow(some, to, way->loop ? y : x[0], NULL, NULL);
    }
}

#define THROUGH(name, operands, A, R, widen, loop, narrow)                                        \\
    static void name(size_t n, void *result, const void *pa, const void *pb, const void *pc)     \\
    {                                                                                             \\
        static const Way way = {widen, loop, narrow, operands, sizeof(A), sizeof(R)};             \\
        through_double(&way, n, result, pa, pb, pc);                                              \\
    }
#define AS_IS(x) (x)
#define AS_PRED(x) ((uint8_t)(x))
#define AS_F32(x) ((float)(x))
#define AS_F64(x) ((double)(x))

"""

ENTRY = """
ScLoop sc_loop(ScOp op, ScType type, ScType from)
{
    if ((unsigned)op >= OP_COUNT || (unsigned)type >= SC_TYPE_COUNT || (unsigned)from >= SC_TYPE_COUNT) return NULL;
    if (op == OP_CVT) return conversions[type][from];
    if (op == OP_CVTSAT) return from == SC_F32 ? saturating[type] : NULL;
    if (op == OP_BITS) return sc_type_info[from].compute && sc_bytes(from) == sc_bytes(type) ? loops[op][type] : NULL;
    return loops[op][type];
}

/* The low bytes of a uint64_t come first in memory, so it is an array of one value of any type. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "values are kept in the low bytes of a uint64_t");

bool sc_eval(ScOp op, ScType type, ScType from, const uint64_t *x, uint64_t *result)
{
    ScLoop loop = sc_loop(op, type, from);
    if (!loop) return false;
    uint64_t r = 0;
    unsigned arity = sc_op_info[op].arity;
    loop(1, &r, x, arity > 1 ? x + 1 : NULL, arity > 2 ? x + 2 : NULL);
    const bool truth = sc_op_info[op].signature == SC_COMPARE || sc_op_info[op].signature == SC_TEST;
    *result = truth ? r : r & sc_mask(type); /* integers of fewer than 8 bits are stored sign-extended */
    return true;
}
"""


def load_store(type_name: str, wide: bool) -> tuple[str, str]:
    """Macros or functions that convert a stored value to the type computed in, and back."""
    if type_name in ops.SMALL_INTS + ops.SMALL_FLOATS:
        return f"LOAD_{type_name}", f"STORE_{type_name}"
    if type_name in ("f16", "bf16"):
        return f"sc_{type_name}_to_float", f"sc_{type_name}_of_{'double' if wide else 'float'}"
    if wide and type_name == "f32":
        return "AS_IS", "AS_F32"
    if wide and type_name == "f64":
        return "AS_IS", "AS_F64"
    return "AS_IS", "AS_IS"


def small_types() -> str:
    """Macros that load and store values of types of 8 bits and below."""
    lines = [semantics.NARROW]
    for t in ops.SMALL_INTS + ops.SMALL_FLOATS:
        width = ops.TYPE_BY_NAME[t].bits
        cut = f"{'SIGNED' if t[0] == 'i' else 'UNSIGNED'}({width}, x)"
        load, store = (cut, cut) if t in ops.SMALL_INTS else (f"sc_small_to_f64({enum('SC_', t)}, {cut})", f"(uint8_t)sc_small_from_f64({enum('SC_', t)}, x)")
        lines.append(f"#define LOAD_{t}(x) {load}\n#define STORE_{t}(x) {store}\n#define BITS_{t}(x) {cut}\n")
    return "".join(lines) + "\n"


NARROW_FLOATS = ops.SMALL_FLOATS + ["f16", "bf16"]


def goes_through_double(to: str, source: str) -> bool:
    """Of conversions: those of floats of 8 bits and below, and of f16 and bf16 with integers of 8 bits and below, which are seldom met. A 64-bit
    integer is rounded to odd first, so it goes straight."""
    to_width, source_width = semantics.NATIVE[to].width, semantics.NATIVE[source].width
    if "f64" in (to, source):
        return False
    if source in ops.SMALL_FLOATS or to in ops.SMALL_FLOATS:
        return source_width < 64
    return (to in NARROW_FLOATS and source_width <= 8) or (source in NARROW_FLOATS and to_width <= 8)


def conversions_c() -> tuple[list[str], list[str]]:
    """The conversions between each two types, and the rows of their table."""
    straight: list[str] = []
    through: list[str] = []
    rows: list[str] = []
    for to in ops.COMPUTE:
        for source in ops.COMPUTE:
            s, n = semantics.NATIVE[source], semantics.NATIVE[to]
            name = f"copy_{max(n.width, 8)}" if to == source else f"cvt_{to}_{source}"
            rows.append(f"    [{enum('SC_', to)}][{enum('SC_', source)}] = {name},\n")
            if to == source:
                continue
            if goes_through_double(to, source):
                through.append(f"THROUGH({name}, 1, {s.store}, {n.store}, cvt_f64_{source}, NULL, cvt_{to}_f64)\n")
                continue
            operand, expr = semantics.conversion(to, source)
            load, store = load_store(source, False)[0], "AS_PRED" if to == "pred" else f"STORE_{to}" if to in ops.SMALL_INTS else "AS_IS"
            straight.append(f"LOOP1({name}, {n.store}, {s.store}, {store}, {load}, {operand}, {expr})\n")
    return straight + through, rows


def functions_c() -> str:
    body, conversions = conversions_c()
    loops: list[str] = []
    doubles: dict[tuple[str, str], str] = {}  # the loop on doubles for an expression and a store
    for width in (8, 16, 32, 64):
        body.insert(0, f"SELECT(select_{width}, uint{width}_t)\nCOPY(copy_{width}, uint{width}_t)\n")
    for o in ops.OPS:
        for t in ops.COMPUTE + ["index"]:
            entry = f"    [{enum('OP_', o.name)}][{enum('SC_', t)}] = "
            native = semantics.NATIVE[t]
            if o.name == "bits" and native.width < 8:
                body.append(f"LOOP1(bits_{t}, {native.store}, uint8_t, BITS_{t}, AS_IS, uint8_t, a)\n")
                loops.append(f"{entry}bits_{t},\n")
                continue
            if o.name in ("select", "bits") and t != "index":
                loops.append(f"{entry}{'select' if o.name == 'select' else 'copy'}_{max(native.width, 8)},\n")
                continue
            if o.name == "cvtsat":
                continue
            m = semantics.meaning(o.name, t)
            if m is None:
                continue
            loops.append(f"{entry}{o.name}_{t},\n")
            load, store = load_store(t, m.wide)
            result = native.store
            truth = o.sig in ("compare", "test")
            if truth:
                store, result = "AS_PRED", "uint8_t"
            elif t == "pred":
                store = "AS_PRED"
            key = (m.expr, "AS_PRED" if truth else "AS_IS")
            if m.operand == "double" and t in NARROW_FLOATS:
                if key not in doubles:
                    doubles[key] = f"double_{len(doubles)}_{o.name}"
                    body.append(f"LOOP{o.arity}({doubles[key]}, {'uint8_t' if truth else 'double'}, double, {key[1]}, AS_IS, double, {m.expr})\n")
                narrow = "NULL" if truth else f"cvt_{t}_f64"
                body.append(f"THROUGH({o.name}_{t}, {o.arity}, {native.store}, {result}, cvt_f64_{t}, {doubles[key]}, {narrow})\n")
            else:
                body.append(f"LOOP{o.arity}({o.name}_{t}, {result}, {native.store}, {store}, {load}, {m.operand}, {m.expr})\n")
                if t == "f64" and m.operand == "double":
                    doubles.setdefault(key, f"{o.name}_{t}")
    saturating: list[str] = []
    for to, largest in semantics.SATURATING.items():
        value = f"(uint8_t)sc_small_from_f64(SC_{to.upper()}, a > {largest} ? {largest} : a < -{largest} ? -{largest} : (double)a)"
        body.append(f"LOOP1(cvtsat_{to}, uint8_t, float, AS_IS, AS_IS, float, {value})\n")
        saturating.append(f"    [{enum('SC_', to)}] = cvtsat_{to},\n")
    return "".join([
        FROM, '#include "scalar/scalar.h"\n#include "scalar/round.h"\n\n#include <math.h>\n#include <string.h>\n', LOOPS, small_types(), *body,
        "\nstatic const ScLoop loops[OP_COUNT][SC_TYPE_COUNT] = {\n", *loops,
        "};\n\n/* [to][from] */\nstatic const ScLoop conversions[SC_TYPE_COUNT][SC_TYPE_COUNT] = {\n", *conversions, "};\n",
        "\nstatic const ScLoop saturating[SC_TYPE_COUNT] = {\n", *saturating, "};\n", ENTRY, together()])


def together() -> str:
    """The functions of what threads do together."""
    lines = ["\nuint32_t sc_shuffle_source(ScOp op, uint32_t lane, uint32_t b)\n{\n    switch (op) {\n"]
    lines += [f"    case {enum('OP_', name)}: return {source};\n" for name, source in semantics.SHUFFLES.items()]
    lines.append("    default: return lane;\n    }\n}\n\nScOp sc_combiner(ScOp op)\n{\n    switch (op) {\n")
    lines += [f"    case {enum('OP_', name)}: return {enum('OP_', op)};\n" for name, op in semantics.COMBINERS.items() if name in ops.OP_BY_NAME]
    for kind in ("redux", "atomic"):
        lines.append(f"    default: return OP_NONE;\n    }}\n}}\n\nScOp sc_{kind}(ScOp op)\n{{\n    switch (op) {{\n")
        lines += [f"    case {enum('OP_', op)}: return {enum('OP_', name)};\n" for name, op in semantics.COMBINERS.items() if name.startswith(kind)]
    return "".join(lines) + "    default: return OP_NONE;\n    }\n}\n"


def main(argv: list[str]) -> int:
    if len(argv) != 2:
        print("usage: gen_scalar.py OUTDIR", file=sys.stderr)
        return 2
    out = Path(argv[1])
    out.mkdir(parents=True, exist_ok=True)
    try:
        ops.check()
        texts = {"sc_tables.h": tables_h(), "sc_tables.c": tables_c(), "sc_functions.c": functions_c()}
    except (PatternError, ValueError) as e:
        print(e, file=sys.stderr)
        return 1
    for name, text in texts.items():
        if not (out / name).exists() or (out / name).read_text(encoding="utf-8") != text:  # an unchanged file is not compiled again
            (out / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
