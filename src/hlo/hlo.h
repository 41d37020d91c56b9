/* hlo: untrusted text stops here.
 *
 * Text to a verified module, and back. Whoever holds an HloModule may rely on: every operand stands before its user in
 * `HloComputation.instructions` (topological order, whatever the text's), shapes and types of every operation fit, every called
 * computation is resolved, every layout is a permutation.
 *
 *     HloModule *m = hlo_parse(cx, arena, "gelu.hlo", text, n);     // fails with file:line:col
 *     const HloFusion f = hlo_fusion(cx, m);                         // the fusion to compile, or a decline
 */
#ifndef HLO_HLO_H
#define HLO_HLO_H

#include "base/base.h"
#include "scalar/scalar.h" /* element types and the rounding of literals, nothing else */

typedef enum {
#define HLO_OP(id, text, operands) HLO_##id,
#include "hlo/opcodes.def" /* HLO_OP(ADD, "add", 2) ...; operands -1 = any number */
#undef HLO_OP
    HLO_OPCODE_COUNT
} HloOpcode;

typedef struct HloShape HloShape;
struct HloShape {
    ScType type;               /* SC_TUPLE: a tuple of `n_elements` shapes */
    uint8_t rank;
    bool has_layout;           /* the text gave one */
    const int64_t *dims;       /* [rank] */
    const uint8_t *minor_to_major; /* [rank]; default rank-1, .., 0 */
    const HloShape *const *elements;
    uint32_t n_elements;
    uint32_t n_leaves;         /* 1 for an array, at most HLO_LEAVES_LIMIT where inferred */
    uint8_t depth;             /* 0 for an array; at most HLO_NESTING_LIMIT */
    bool buffer;               /* written b(..) */
    uint64_t dynamic;          /* bit d: dimension d is written <=N */
    const char *tiling;        /* of the layout, what stands behind its ':', "T(8,128)E(4)S(1)"; NULL if nothing */
};

enum { HLO_RANK_LIMIT = 64, HLO_NESTING_LIMIT = 200, HLO_LEAVES_LIMIT = 1 << 16 };

typedef struct HloInstruction HloInstruction;
typedef struct HloComputation HloComputation;

typedef enum { HLO_EQ, HLO_NE, HLO_LT, HLO_LE, HLO_GT, HLO_GE } HloDirection;

/* One dimension of slice={[start:limit:stride]}, pad padding=low_high_interior, or window */
typedef struct { int64_t start, limit, stride; } HloSlice;
typedef struct { int64_t low, high, interior; } HloPadding;
typedef struct { int64_t size, stride, low, high, lhs_dilate, rhs_dilate; bool reversal; } HloWindow;

struct HloInstruction {
    HloOpcode opcode;
    const char *name;          /* without '%' */
    const HloShape *shape;
    HloInstruction *const *operands;
    uint32_t n_operands;
    HloComputation *const *called; /* calls=, to_apply=, body= ... in the order of the text */
    const char *const *called_by;  /* [n_called] the attribute that names it, "to_apply"; several of one name are a list */
    uint32_t n_called;
    uint32_t id;               /* its place in HloComputation.instructions */
    uint32_t n_users;          /* operands that are this instruction, in its computation */
    WbbLoc loc;
    /* Attributes; which are set depends on the opcode. */
    const int64_t *dimensions; /* broadcast, transpose, reverse, reduce, concatenate, ...; NULL if not given, never NULL if {} */
    uint32_t n_dimensions;
    int64_t number;            /* parameter number; iota_dimension; get-tuple-element index; exponent_bits of reduce-precision */
    int64_t number2;           /* mantissa_bits of reduce-precision */
    HloDirection direction;    /* compare */
    bool total_order;          /* compare type=TOTALORDER */
    const HloSlice *slices;    /* slice: [rank] */
    const HloPadding *paddings;/* pad: [rank] */
    const HloWindow *windows;  /* reduce-window, convolution */
    uint32_t n_windows;        /* of slices, paddings or windows: an instruction has one of them */
    const void *literal;       /* constant: dense values, logical row-major, sc_bytes(type) an element; NULL if elided or tuple.
                                  A literal of one repeated value is stored as one element: literal_splat. No elements: not NULL */
    bool literal_splat;
    const char *literal_text;  /* constant of tuple shape: its text */
    const char *spelling;      /* "negate-start", where that says more than the opcode's name; else NULL */
    const char *kind;          /* fusion: "kLoop", ... */
    const char *target;        /* custom-call target, escaped as in the text */
    const char *attributes;    /* what the fields above do not hold, as printable text ", name=value, .."; never NULL */
};

struct HloComputation {
    const char *name;
    HloInstruction *const *instructions;
    uint32_t n_instructions;
    HloInstruction *const *parameters; /* by number */
    uint32_t n_parameters;
    HloInstruction *root;
    const struct HloModule_ *module;
    const char *attributes;    /* behind the closing brace, printable; never NULL */
    uint32_t id;               /* its place in HloModule.computations */
    WbbLoc loc;
};

typedef struct HloModule_ {
    const char *name;
    HloComputation *const *computations; /* callees before callers */
    uint32_t n_computations;
    HloComputation *entry;
    const char *attributes; /* header, printable; never NULL */
    const char *tables;     /* FileNames .. StackFrames as they were; never NULL */
    bool header;            /* the text had a HloModule line */
} HloModule;

/* The fusion that a module holds. Operand k of the kernel is operand k of `fusion`, in order, repeated where it is. */
typedef struct {
    const HloComputation *body; /* the fused computation; for a module without a fusion, the entry itself */
    const HloInstruction *fusion; /* NULL when the entry itself is the fusion */
    const char *name;           /* of the kernel: of the fusion instruction, else of the computation */
} HloFusion;

/* parse.c, and behind it lex.c, shape.c, literal.c, attributes.c, resolve.c, infer.c ------------------------------------- */
/* The module that the text holds. A wbb_fail with file:line:col if it is not one, or if the text holds several. */
HloModule *hlo_parse(WbbCx *cx, WbbArena *a, const char *file, const char *text, size_t n);
/* All modules of a text, one after the other (`HloModule` or `// -----` begins the next); their number, at least 1. */
uint32_t hlo_parse_all(WbbCx *cx, WbbArena *a, const char *file, const char *text, size_t n, HloModule ***modules);

/* verify.c, verify_moves.c: called by hlo_parse. */
void hlo_verify(WbbCx *cx, const HloModule *m);

/* print.c, print_literal.c: text that parses back to the same module. */
void hlo_print(WbbBuf *out, const HloModule *m);
void hlo_print_shape(WbbBuf *out, const HloShape *s);
void hlo_print_instruction(WbbBuf *out, const HloInstruction *i);

/* module.c */
HloFusion hlo_fusion(WbbCx *cx, const HloModule *m); /* declines: no fusion, more than one */
const char *hlo_opcode_name(HloOpcode op);
HloOpcode hlo_opcode_named(const char *name, size_t n); /* HLO_OPCODE_COUNT if unknown */
/* Element i of the result needs element i of each operand, and no more. But the bounds of clamp and the choice of select may be
 * scalars, and bitcast-convert to another width is none. */
bool hlo_is_elementwise(HloOpcode op);
int64_t hlo_elements(const HloShape *s);             /* product of dims; 1 for a scalar; a parsed shape's never overflows */
bool hlo_same_dims(const HloShape *x, const HloShape *y);
bool hlo_same_shape(const HloShape *x, const HloShape *y); /* types and dims, of tuples their elements'; not the layouts */
/* Leaves of a shape, depth first: the shape itself if not a tuple. Returns their number. */
uint32_t hlo_leaves(WbbArena *a, const HloShape *s, const HloShape ***leaves);
/* What the fields above do not hold, by name: `offset_dims` of a gather. NULL if it is not there, or not of that form. */
const char *hlo_attribute(WbbArena *a, const HloInstruction *i, const char *name);
const int64_t *hlo_attribute_ints(WbbArena *a, const HloInstruction *i, const char *name, uint32_t *n); /* {1,2}; also 3 */

#endif
