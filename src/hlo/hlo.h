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

enum { HLO_RANK_LIMIT = 64, HLO_NESTING_LIMIT = 200, HLO_LEAVES_LIMIT = 1 << 16, HLO_INFERRED_LIMIT = 1 << 22 /* leaves of a module */,
       HLO_LITERAL_LIMIT = 1 << 29 /* bytes */ };

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
    HloComputation *const *called; /* calls=, to_apply=, body= ... in the order of the text; branches in that of their operands */
    const char *const *called_by;  /* [n_called] the attribute that names it, "to_apply"; several of one name are a list */
    uint32_t n_called;
    uint32_t n_predecessors;
    HloInstruction *const *predecessors; /* control-predecessors: they run before, and stand before it too */
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
    const char *spelling;      /* "negate-start", where that says more than the opcode's name; else NULL. A start has the attributes
                                  of what it starts in the fields above */
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

/* parse.c, and behind it lex.c, shape.c, literal.c, attributes.c, resolve.c ------------------------------------- */
/* The module that the text holds. A wbb_fail with file:line:col if it is not one, or if the text holds several. */
HloModule *hlo_parse(WbbCx *cx, WbbArena *a, const char *file, const char *text, size_t n);
/* All modules of a text, one after the other (`HloModule` or `// -----` begins the next); their number, at least 1. */
uint32_t hlo_parse_all(WbbCx *cx, WbbArena *a, const char *file, const char *text, size_t n, HloModule ***modules);

/* verify.c and verify_*.c: called by hlo_parse. Shapes, types, operand counts and called computations of every instruction fit, or a
 * wbb_fail at i->loc. */
void hlo_verify(WbbCx *cx, const HloModule *m);

/* print.c, print_literal.c: text that parses back to the same module. */
void hlo_print(WbbBuf *out, const HloModule *m);
void hlo_print_shape(WbbBuf *out, const HloShape *s);
void hlo_print_instruction(WbbBuf *out, const HloInstruction *i);

/* normalise.c, and behind it normalise_*.c: modules rewritten for later modules. ---------------------------------------------------
 * One pass: another module of the same parameters and outputs, or m itself if there is nothing to do. Places in the text stay. */
typedef struct {
    const char *name, *what; /* `what` in one sentence */
    const HloModule *(*run)(WbbCx *cx, WbbArena *a, const HloModule *m);
} HloPass;
extern const HloPass hlo_passes[]; /* in order; name NULL after the last */
const HloModule *hlo_run_pass(WbbCx *cx, WbbArena *a, const HloModule *m, const char *name); /* verified; NULL: no such pass */
const HloModule *hlo_normalise(WbbCx *cx, WbbArena *a, const HloModule *m);              /* all of them */
bool hlo_forwards_operand(const HloInstruction *i); /* its value is operand 0: custom calls that only place or shard, opt-barrier, .. */

/* module.c */
HloFusion hlo_fusion(WbbCx *cx, const HloModule *m); /* declines: no fusion, more than one */
const char *hlo_opcode_name(HloOpcode op);
HloOpcode hlo_opcode_named(const char *name, size_t n); /* HLO_OPCODE_COUNT if unknown */
HloOpcode hlo_started_opcode(const HloInstruction *i);         /* NEGATE of `negate-start`; of all else its opcode */
/* Element i of the result needs element i of each operand, and no more. But the bounds of clamp and the choice of select may be
 * scalars, and bitcast-convert to another width is none. */
bool hlo_is_elementwise(HloOpcode op);
int64_t hlo_elements(const HloShape *s);             /* product of dims; 1 for a scalar; a parsed shape's never overflows */
bool hlo_same_dims(const HloShape *x, const HloShape *y);
bool hlo_same_shape(const HloShape *x, const HloShape *y); /* types and dims, of tuples their elements'; not the layouts */
/* Leaves of a shape, depth first: the shape itself if not a tuple. Returns their number. */
uint32_t hlo_leaves(WbbArena *a, const HloShape *s, const HloShape ***leaves);

/* dims.c ---------------------------------------------------------------------------------------------------------------------
 * What the fields of HloInstruction do not hold, by name: `offset_dims` of a gather. NULL, or `otherwise`, if it is not there or
 * not of that form. */
const char *hlo_attribute(WbbArena *a, const HloInstruction *i, const char *name);
const int64_t *hlo_attribute_ints(WbbArena *a, const HloInstruction *i, const char *name, uint32_t *n); /* {1,2}; also 3 */
int64_t hlo_attribute_int(WbbArena *a, const HloInstruction *i, const char *name, int64_t otherwise);
bool hlo_attribute_true(WbbArena *a, const HloInstruction *i, const char *name); /* is_stable=true */
double hlo_attribute_f64(WbbArena *a, const HloInstruction *i, const char *name, double otherwise); /* epsilon=1e-05 */
/* i->attributes without those of these names; the list ends with NULL. */
const char *hlo_attributes_without(WbbArena *a, const HloInstruction *i, const char *const *names);

typedef struct { const int64_t *items; uint32_t n; } HloInts; /* items is never NULL */

/* Which dimensions play which part. Of a verified module all are in range and fit the shapes; {} where the text gives nothing. */
typedef struct { HloInts lhs_batch, rhs_batch, lhs_contracting, rhs_contracting; } HloDotDims;

typedef struct {
    HloInts offset;           /* of the result: where in the slice */
    HloInts collapsed;        /* of the operand: slice size 1 or 0, and not in the result */
    HloInts start_map;        /* entry k of an index vector is a start in dimension start_map[k] of the operand */
    HloInts operand_batching; /* of the operand, each paired with .. */
    HloInts indices_batching; /* .. one of the indices */
    HloInts slice_sizes;      /* [rank of the operand] */
    int64_t index_vector_dim; /* of the indices; their rank: each index is a vector of one */
    bool sorted;
} HloGatherDims;

/* Operands of a scatter: N inputs, the indices, N updates. */
typedef struct {
    HloInts update_window;   /* of the updates: where in the window */
    HloInts inserted_window; /* of the inputs: window size 1, and not in the updates */
    HloInts operand_map;     /* scatter_dims_to_operand_dims: as start_map of gather */
    HloInts input_batching, indices_batching;
    int64_t index_vector_dim;
    bool sorted, unique;
} HloScatterDims;

enum { HLO_CONV_SPATIAL = 10 }; /* a label is one digit */

typedef struct {
    int8_t lhs_batch, lhs_feature;  /* dimensions of operand 0 */
    int8_t rhs_input, rhs_output;   /* of operand 1, features */
    int8_t out_batch, out_feature;  /* of the result */
    uint8_t lhs_spatial[HLO_CONV_SPATIAL], rhs_spatial[HLO_CONV_SPATIAL], out_spatial[HLO_CONV_SPATIAL]; /* [n_spatial] */
    uint32_t n_spatial;             /* windows[d] is that of spatial dimension d */
    int64_t feature_groups, batch_groups;
    bool known;                     /* false: dim_labels are missing, or have a '?' */
} HloConvDims;

HloDotDims hlo_dot_dims(WbbArena *a, const HloInstruction *i); /* dot, ragged-dot, scaled-dot */
HloGatherDims hlo_gather_dims(WbbArena *a, const HloInstruction *i);
HloScatterDims hlo_scatter_dims(WbbArena *a, const HloInstruction *i);
HloConvDims hlo_conv_dims(WbbArena *a, const HloInstruction *i);

#endif
