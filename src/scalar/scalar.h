/* scalar: what one operation does to one value, for every type.
 *
 * The tables and functions are generated from gen/ops.py and gen/semantics.py: `sc_tables.h` (enumerations),
 * `sc_tables.c` (names, properties) and `sc_functions.c` (meanings). Constant folding, the rewrite engine, the parser's
 * literals and the evaluator use them; the evaluator shares nothing else with the kernels' compiler, whose results it
 * judges.
 *
 * A value is its bits in the low bits of a uint64_t (pred: 0 or 1; signed integers: their low `bits` bits, upper bits
 * zero; index: the 64-bit integer). An array of values is packed in C order with sc_bytes(type) bytes an element.
 *
 *     uint64_t x[2] = {sc_from_f64(SC_BF16, 1.5), sc_from_f64(SC_BF16, 0.25)}, y;
 *     if (sc_eval(OP_ADD, SC_BF16, SC_BF16, x, &y)) ...                              // y = bits of bf16 1.75
 */
#ifndef SC_SCALAR_H
#define SC_SCALAR_H

#include "base/base.h"
#include "sc_tables.h" /* ScType: SC_PRED, SC_I8, .., SC_TYPE_COUNT; ScOp: OP_ADD, .., OP_COUNT; SC_FLAG_* */

typedef struct {
    const char *name; /* "bf16", as patterns and IR say */
    const char *hlo;  /* "bf16", "s32", as HLO text says; "" where HLO has no such type */
    uint16_t bits;    /* of one value; pred 8 */
    char cls;         /* P I U F C X, or '-' for types without values */
    bool compute;     /* has scalar functions */
} ScTypeInfo;

typedef enum { SC_SAME, SC_COMPARE, SC_TEST, SC_SELECT, SC_CONVERT, SC_PRODUCT, SC_LEAF, SC_FRAME } ScSignature;

typedef struct {
    const char *name; /* "add" */
    uint8_t arity;
    uint8_t signature; /* ScSignature */
    uint8_t rank;
    bool commutative, costly;
    uint8_t effects;  /* SC_CONVERGENT | SC_READS | SC_WRITES | SC_ADDRESS */
    char classes[8]; /* of the type in its name */
    ScOp combiner;   /* of a fold what it combines with; OP_NONE: it is none */
} ScOpInfo;

extern const ScTypeInfo sc_type_info[SC_TYPE_COUNT];
extern const ScOpInfo sc_op_info[OP_COUNT];
extern const char *const sc_flag_name[SC_FLAG_COUNT];

/* sc_tables.c (generated) and scalar.c
 * ----------------------------------------------------------------------------------- */
ScType sc_type_named(const char *name, size_t n); /* IR or HLO spelling; SC_NONE if unknown */
ScOp sc_op_named(const char *name, size_t n);     /* OP_NONE if unknown */
uint32_t sc_bytes(ScType t); /* of an element of an array: 1, 2, 4, 8, 16; types under 8 bits take 1 */
uint64_t sc_mask(ScType t);                       /* the bits that a value uses (pred: 1; at most 64) */
bool sc_is_float(ScType t);
bool sc_is_int(ScType t); /* signed or unsigned, not pred */
bool sc_is_signed(ScType t);
ScType sc_signed(uint32_t bits); /* the signed integers of 4, 8, 16, 32 or 64 bits */

/* Conversions, round to nearest even, saturating as HLO's convert does. Exact where the type can hold the value. */
uint64_t sc_from_f64(ScType t, double x); /* integers: saturate, nan is 0; pred: x != 0 */
double sc_to_f64(ScType t, uint64_t bits);
uint64_t sc_from_i128(ScType t, WbbI128 x); /* integers wrap; floats round once */
WbbI128 sc_to_i128(ScType t, uint64_t bits); /* integers, pred and index only */
uint64_t sc_parse_float(ScType t, const char *decimal); /* correctly rounded from text that strtod accepts */

/* sc_functions.c (generated)
 * ----------------------------------------------------------------------------------------------- One value. `type` is
 * the type in the operation's name (operands' type for comparisons, result for conversions), `from` the operand's type
 * for conversions. False where the operation has no function at that type. Floats are rounded to their type after each
 * operation; functions (exp, tanh, ...) are computed in a wider type and rounded once. */
bool sc_eval(ScOp op, ScType type, ScType from, const uint64_t *x, uint64_t *result);

/* What threads do together: the lane whose value `lane` gets from a shuffle with second operand b; the operation that
 * combines the values of a redux, or an element and the value of an atomic, OP_NONE for others. */
uint32_t sc_shuffle_source(ScOp op, uint32_t lane, uint32_t b);
ScOp sc_combiner(ScOp op);
/* The redux, and the atomic, that combine by op; OP_NONE where there is none. */
ScOp sc_redux(ScOp op);
ScOp sc_atomic(ScOp op);

/* n values at once: result[i] = op(a[i], b[i], c[i]); arrays as above, unused ones NULL; result may be one of them. */
typedef void (*ScLoop)(size_t n, void *result, const void *a, const void *b, const void *c);
ScLoop sc_loop(ScOp op, ScType type, ScType from); /* NULL where there is none */

/* How far a result of a function may be off; all 0 = correctly rounded. */
typedef struct {
    double ulp;      /* units in the last place of its type, and */
    double absolute; /* that much besides, whatever the result */
} ScBudget;

/* Which errors functions may have: those of the default, those of XLA's own lowerings, those of the machine's
 * approximations. */
typedef enum { SC_EXACT, SC_XLA, SC_APPROX, SC_ACCURACIES } ScAccuracy;
extern const char *const sc_accuracy_name[SC_ACCURACIES]; /* "exact", "xla", "approx" */
ScAccuracy sc_accuracy_named(const char *name);           /* SC_ACCURACIES if unknown */

/* From budget(..) in patterns/functions.py. */
ScBudget sc_budget(ScOp op, ScType type, ScAccuracy accuracy);

/* Is a function marked with SC_FLAG_APPROX at that accuracy? Under SC_XLA where MARKED_XLA of patterns/functions.py
 * says so. */
bool sc_is_marked(ScOp op, ScType type, ScAccuracy accuracy);

#endif
