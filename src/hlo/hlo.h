/* hlo: untrusted text to a verified HLO module, and back.
 *
 * An HloModule guarantees: each operand stands before its users in `HloComputation.instructions` (topological order,
 * whatever the order of the text), the shapes and types of every operation fit, every called computation is resolved,
 * and every layout is a permutation.
 *
 *     HloModule *m = hlo_parse(cx, arena, "gelu.hlo", text, n);     // fails with file:line:col
 *     const HloFusion f = hlo_fusion(cx, m);                         // the fusion to compile, or a decline
 */
#ifndef HLO_HLO_H
#define HLO_HLO_H

#include "base/base.h"
#include "scalar/scalar.h" /* element types and the rounding of literals */

#include "hlo_limits.h" /* generated from patterns/limits.py: HLO_LIMIT_SORT_SHORT, .. */
#include "hlo_ops.h" /* generated from gen/hlo_ops.py: HloOpcode, HloKind, HloIdentity */

/* What an operation is, by its number. `X-start`, `X-update` and `X-done` that have no line in the table are
 * ASYNC_START, ASYNC_UPDATE and ASYNC_DONE, with the text in HloInstruction.spelling. */
typedef struct {
    const char *text;
    int8_t operands; /* -1: any number */
    HloKind kind;
    ScOp scalar;     /* what it is on elements; OP_NONE: no single operation; of comparisons the direction says which */
    HloIdentity identity; /* of a combiner */
    bool idempotent; /* op(x, x) is x */
    const char *classes; /* of the types that all operands and the result may have; "": its verifier says */
    uint32_t facts;      /* of HloFact */
    int8_t starts;       /* the first operand that says where it reads or writes; -1: the middle one does; 0: none */
    const char *needs[2]; /* attributes without which its text is refused; NULL: none */
    WbbWhy why;           /* of one that no kernel has: the reason, and .. */
    const char *sentence; /* .. what is seen */
} HloOpInfo;
extern const HloOpInfo hlo_op_info[HLO_OPCODE_COUNT];

/* An operation that others define: gen/hlo_defined.py. */
typedef struct {
    HloOpcode opcode;
    const char *target, *classes; /* of a custom call; of elements of operand 0; "": any */
    const char *text;
} HloDefined;
extern const HloDefined hlo_defined[]; /* text NULL after the last */
/* The costly operation that a power with a constant exponent is; OP_NONE: products are enough. */
typedef struct {
    double exponent;
    ScType type;
    ScOp op;
} HloPower;
extern const HloPower hlo_powers[]; /* SC_NONE after the last */

typedef struct HloShape HloShape;
struct HloShape {
    ScType type;               /* SC_TUPLE: a tuple of `n_elements` shapes */
    uint8_t rank;
    bool has_layout;           /* the text has one */
    const int64_t *dims;       /* [rank] */
    const uint8_t *minor_to_major; /* [rank]; rank-1, .., 0 by default */
    const HloShape *const *elements;
    uint32_t n_elements;
    uint32_t n_leaves;         /* arrays in it, 1 for an array; at most HLO_LEAVES_LIMIT if inferred */
    uint8_t depth;             /* 0 for an array; at most HLO_NESTING_LIMIT */
    bool buffer;               /* b(..) in the text */
    uint64_t dynamic;          /* bit d: dimension d is <=N in the text */
    const char *tiling;        /* the layout's text after its ':', "T(8,128)E(4)S(1)"; NULL if there is none */
};

enum {
    HLO_RANK_LIMIT = 64,
    HLO_NESTING_LIMIT = 200,
    HLO_LEAVES_LIMIT = 1 << 16,
    HLO_INFERRED_LIMIT = 1 << 22, /* leaves of all inferred shapes of an HLO module */
    HLO_LITERAL_LIMIT = 1 << 29,  /* bytes */
};

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
    HloComputation *const *called; /* calls=, to_apply=, body= ..: the text's order; branches: that of their operands */
    const char *const *called_by;  /* [n_called] the attribute that names it, "to_apply"; equal ones form a list */
    uint32_t n_called;
    uint32_t n_predecessors;
    HloInstruction *const *predecessors; /* control-predecessors: they precede it in `instructions` too */
    uint32_t id;               /* index in HloComputation.instructions */
    uint32_t n_users;          /* operands in its computation that are this instruction */
    WbbLoc loc;
    uint32_t permits;          /* permits.c: SC_FLAG_CONTRACT, SC_FLAG_NNAN, SC_FLAG_NSZ that hold of it */
    bool alone;                /* collective.c: a collective, or a start of one, that one device takes part in, or the
                                  number of the only device */
    /* Attributes; the opcode decides which are set. */
    const int64_t *dimensions; /* of broadcast, transpose, reverse, reduce, ..; NULL: not in the text; {} is not NULL */
    uint32_t n_dimensions;
    int64_t number;            /* parameter number; iota_dimension; get-tuple-element's index; exponent_bits */
    int64_t number2;           /* mantissa_bits of reduce-precision */
    HloDirection direction;    /* compare */
    bool total_order;          /* compare type=TOTALORDER */
    const HloSlice *slices;    /* slice: [rank] */
    const HloPadding *paddings;/* pad: [rank] */
    const HloWindow *windows;  /* reduce-window, convolution */
    uint32_t n_windows;        /* of slices, paddings or windows: an instruction has at most one of these lists */
    const void *literal;       /* constant: dense values, logical row-major, sc_bytes(type) each; NULL if elided or a
                                  tuple; not NULL for an array without elements */
    bool literal_splat;        /* `literal` is one element, which every element equals */
    const char *literal_text;  /* constant of tuple shape: its text */
    const char *spelling;      /* "negate-start" of an ASYNC_START, whose fields above are those of the negate; NULL if
                                  the opcode's name says all */
    const char *kind;          /* fusion: "kLoop", ... */
    const char *target;        /* custom-call target, escaped as in the text */
    const char *attributes;    /* all other attributes as printable text ", name=value, .."; never NULL */
};

struct HloComputation {
    const char *name;
    HloInstruction *const *instructions;
    uint32_t n_instructions;
    HloInstruction *const *parameters; /* by number */
    uint32_t n_parameters;
    HloInstruction *root;
    const struct HloModule_ *module;
    const char *attributes;    /* after the closing brace, printable; never NULL */
    uint32_t id;               /* index in HloModule.computations */
    WbbLoc loc;
};

typedef struct HloModule_ {
    const char *name;
    HloComputation *const *computations; /* callees before callers */
    uint32_t n_computations;
    HloComputation *entry;
    const char *attributes; /* header, printable; never NULL */
    const char *tables;     /* FileNames .. StackFrames, as in the text; never NULL */
    bool header;            /* the text has an HloModule line */
    uint32_t permits;       /* flags that its header gives to every instruction */
    /* entry_computation_layout: the shapes of the entry's parameters and of its result; NULL: not in the header */
    const HloShape *const *layouts, *result_layout;
} HloModule;

/* The fusion of an HLO module. Operand k of the kernel is operand k of `fusion`; repeated operands stay repeated. */
typedef struct {
    const HloComputation *body;   /* the fused computation; the entry itself if there is no fusion instruction */
    const HloInstruction *fusion; /* NULL if the entry itself is the fusion */
    const char *name;             /* of the kernel: the fusion instruction's name, else the computation's */
} HloFusion;

/* parse.c, with lex.c, parse_*.c and resolve.c --------------------------------------------------------------------- */
/* The one HLO module of the text. A wbb_fail with file:line:col if the text is invalid or holds several. */
HloModule *hlo_parse(WbbCx *cx, WbbArena *a, const char *file, const char *text, size_t n);
/* All HLO modules of the text (`HloModule` or `// -----` begins the next one). Returns their number, at least 1. */
uint32_t hlo_parse_all(WbbCx *cx, WbbArena *a, const char *file, const char *text, size_t n, HloModule ***modules);

/* proto.c, proto_*.c: the text of what a file holds: that itself, or of a module as a protocol buffer
 * (--xla_dump_hlo_as_proto) the text of that; *n becomes its length. Ends with a NUL if `bytes` does. A wbb_fail with
 * the file's byte if it is damaged. */
const char *hlo_text(WbbCx *cx, WbbArena *a, const char *file, const char *bytes, size_t *n);
const char *hlo_read_file(WbbCx *cx, WbbArena *a, const char *file, size_t *n); /* hlo_text of it */

/* permits.c: the list "contract,nnan" of n bytes as flags. False: it has another word. */
bool hlo_read_permits(const char *list, size_t n, uint32_t *permits);
const char *hlo_permits_text(WbbArena *a, uint32_t permits); /* the list again; "" of none */
const char *hlo_permits_attribute(WbbArena *a, uint32_t permits); /* as an instruction notes them; "" of none */
/* Frontend attributes that a text keeps where it leaves out others: its flags, or of a scatter its neighbours. */
const char *hlo_notes(WbbArena *a, const HloInstruction *i);
uint32_t hlo_permits_anywhere(const HloModule *m); /* flags of some instruction; of contract, of a sum */
/* Does it compute on floats, so that flags mean something? */
bool hlo_may_permit(const HloInstruction *i);
void hlo_permit(WbbCx *cx, WbbArena *a, HloModule *m); /* called by hlo_parse */
/* The text with these flags in the header of each of its modules; *n becomes its length. Lines keep their numbers. */
const char *hlo_assume(WbbArena *a, const char *text, size_t *n, uint32_t permits);

/* verify.c, verify_*.c: called by hlo_parse. Shapes, types, operand counts and called computations of every instruction
 * fit, or a wbb_fail at i->loc. */
void hlo_verify(WbbCx *cx, const HloModule *m);

/* print.c, print_literal.c: text that parses back to the same HLO module. */
void hlo_print(WbbBuf *out, const HloModule *m);
void hlo_print_shape(WbbBuf *out, const HloShape *s);
void hlo_print_instruction(WbbBuf *out, const HloInstruction *i);

/* normalise.c, normalise_*.c ------------------------------------------------------------------------------------------
 * A pass returns an HLO module with the same parameters and outputs, or m itself if there is nothing to do.
 * Instructions keep their locations in the text. */
typedef enum {
    HLO_FOR_ALL,    /* of hlo_normalise */
    HLO_FOR_TERMS,  /* of gr_normalise, after these */
    HLO_FOR_MODULE, /* of gr_simplify */
    HLO_FOR_FUSION, /* a plan asks for it by name */
} HloScope;

typedef struct {
    const char *name;
    HloScope scope;
    uint32_t needs, makes, ends; /* forms of the module: what it must have, what it has and what not after it */
    const HloModule *(*run)(WbbCx *cx, WbbArena *a, const HloModule *m); /* NULL: src/graph does it */
    const char *what, *because; /* a sentence each; because: why it stands there */
    const char *rules, *stays; /* the file of the rules that it applies; or why it is C, a sentence */
} HloPass;
/* The one list of passes, in order; name NULL after the last. Where two have one name, --pass is the first. */
extern const HloPass hlo_passes[];
const char *hlo_check_passes(WbbArena *a, const HloPass *passes); /* what is wrong with such a list; NULL: nothing */
void hlo_put_passes(WbbBuf *out);                                 /* a paragraph each */
const HloPass *hlo_find_pass(const char *name);                   /* NULL: there is none */
/* verified; NULL: no such pass */
const HloModule *hlo_run_pass(WbbCx *cx, WbbArena *a, const HloModule *m, const char *name);
const HloModule *hlo_normalise(WbbCx *cx, WbbArena *a, const HloModule *m); /* runs all passes that are for all */

/* module.c */
HloFusion hlo_fusion(WbbCx *cx, const HloModule *m); /* declines unless there is exactly one */
/* A number of the header, as of num_partitions=8; `otherwise` if it has none. */
int64_t hlo_header_number(const HloModule *m, const char *name, int64_t otherwise);
const char *hlo_opcode_name(HloOpcode op);
HloOpcode hlo_opcode_named(const char *name, size_t n); /* HLO_OPCODE_COUNT if unknown */
/* NEGATE for `negate-start`; the opcode of any other instruction */
HloOpcode hlo_started_opcode(const HloInstruction *i);
/* Element i of the result depends on element i of each operand alone. Also true for clamp and select, whose bounds and
 * predicate may be scalars, and for bitcast-convert, which is not elementwise if it changes the width. */
bool hlo_is_elementwise(HloOpcode op);
ScOp hlo_scalar(HloOpcode op); /* what it is on elements; OP_NONE where no single operation has that meaning */
ScOp hlo_comparison(HloDirection d);
HloKind hlo_kind(HloOpcode op);
bool hlo_combines(HloOpcode op); /* may reductions take terms in any order? It commutes, and has an identity */
bool hlo_orders(HloOpcode op);   /* the greater or the smaller of two */
bool hlo_has(HloOpcode op, HloFact fact);
/* Which element a move reads, by the table's text: of operand 0's dimension d, offset + scale * index[dim] of the
 * result's index, and of that the remainder by `modulus`, unless it is 0. dim -1: whatever the index. False: elements
 * stay in their order, by index (reshape) or in memory (bitcast), or it is no move. */
typedef struct { int64_t dim, scale, offset, modulus; } HloRead;
bool hlo_reads(const HloInstruction *i, uint32_t d, HloRead *read);
bool hlo_among(const HloInstruction *i, int64_t d);    /* is d one of its `dimensions`? */
int64_t hlo_place(const HloInstruction *i, int64_t d); /* the k of which dimensions[k] is d; -1: none */
/* Do equal operands, attributes and computations give equal values, and nothing else happens? */
bool hlo_is_pure(HloOpcode op);
/* Marks, by id, all that the marked instructions of c need: their operands, those of these, and so on. */
void hlo_mark_operands(const HloComputation *c, bool *marks);
/* The computation that an attribute names, "body"; NULL: there is none. Of a list of them the first. */
const HloComputation *hlo_called(const HloInstruction *i, const char *attribute);
/* The value is that of operand 0: opt-barrier, custom calls that only place or shard, .. */
bool hlo_forwards_operand(const HloInstruction *i);
/* The bits of element k of a constant whose elements have 64 bits at most. */
uint64_t hlo_literal_bits(const HloInstruction *constant, int64_t k);
/* Is the computation one elementwise operation on its two parameters, whose result has their type? */
bool hlo_is_operation(const HloComputation *c);
/* The operation on elements that the computation is, if terms may be combined by it in any order; else OP_NONE. */
ScOp hlo_combiner(const HloComputation *c);
bool hlo_is_place(const HloInstruction *i, int64_t d); /* is an element its position in dimension d? */
bool hlo_is_number(const HloInstruction *i, double value); /* is it a constant of f32 of that value? */
/* A quotient, a root, a sine, ..: `costly` in gen/ops.py; of a power with a constant exponent what its rule leaves;
 * else OP_NONE. */
ScOp hlo_function(const HloInstruction *i);
/* Is each element one of operand 0's as it is, somewhere else? No instruction makes it: indices and names change. */
bool hlo_is_move(HloOpcode op);
/* Is it a move that has each element of its operand once? */
bool hlo_permutes(const HloInstruction *i);
/* Whose elements i has, through moves that keep the type: i itself where it is none. */
const HloInstruction *hlo_source(const HloInstruction *i);
/* Does it reduce f32 by one operation, from its identity on? */
bool hlo_reduces(const HloInstruction *i, HloOpcode op);
bool hlo_is_reduced(const HloInstruction *reduction, int64_t d); /* is dimension d of its operands reduced? */
/* Is it a broadcast of a number of each result of a reduction, for each of its terms? */
bool hlo_is_of_results(const HloInstruction *c, const HloInstruction *reduction);

/* collective.c: what one device alone makes of i, which is `alone`: leaf `leaf` of its result is the value of this
 * operand, or HLO_ZERO. The done of an asynchronous one is what its start has: element 1 of it where that has two. */
enum { HLO_ZERO = -1 };
int64_t hlo_alone_operand(const HloInstruction *i, uint32_t leaf);
bool hlo_is_alone_done(const HloInstruction *i);

/* comparator.c: of a sort. */
bool hlo_is_sort(const HloInstruction *i); /* along one dimension, and not begun here to be done elsewhere */
/* The number that is compared: as integers, or in the total order of floats. */
typedef struct {
    uint32_t operand;
    const HloInstruction *number; /* in the comparator, of its first element of the operand; that element, or .. */
    bool falls;                   /* the greatest comes first */
} HloSortOrder;
/* Does the comparator compute the same of one operand's two elements and compare these alone? */
bool hlo_comparator_order(const HloInstruction *sort, HloSortOrder *order);
bool *hlo_comparator_reads(WbbArena *a, const HloInstruction *sort); /* [operands] does it depend on them? */

/* cublas.c: a product of matrices that XLA:GPU's passes wrote as a custom call of cuBLAS; its result without the
 * workspace; products that it sums up, as far as shapes say. */
bool hlo_is_cublas(const HloInstruction *i);
const HloShape *hlo_cublas_result(const HloInstruction *i);
double hlo_cublas_products(const HloInstruction *i);

/* epilogue.c: a product of f32 to whose results a library adds an array of their shape, and then a row for each. */
typedef struct {
    const HloInstruction *product;           /* a dot */
    const HloInstruction *residual, *bias;   /* what is added; NULL: nothing is */
    const HloInstruction *repeated;          /* the broadcast of the bias */
    const HloInstruction *root;              /* the last addition; NULL: there is none */
} HloEpilogue;
/* Adds what `add` adds to the result so far; false: it is no such addition. */
bool hlo_epilogue_add(WbbArena *a, HloEpilogue *e, const HloInstruction *add);
/* Of the text of a library call; .product NULL: it is no such product. */
HloEpilogue hlo_epilogue_of(WbbArena *a, const HloComputation *call);

/* features.c: declines what no stage honours (features.def). For an HLO module as parsed, before it is normalised. */
void hlo_decline_features(WbbCx *cx, const HloModule *m);

/* terms.c */
/* Of a reduction in parts: elements of its slowest reduced dimension, and `run` dimensions as one from that on. */
int64_t hlo_split_length(const HloInstruction *i, uint32_t *slowest, uint32_t *run);
double hlo_terms(WbbArena *a, const HloInstruction *i); /* that are folded for an element; 0: it is no fold */
bool hlo_is_start(const HloInstruction *i, uint32_t k); /* are its integers where i reads or writes, and no elements? */
bool hlo_has_starts(HloOpcode op); /* is each element one of an operand's, at starts that another says? */
bool hlo_joins(HloOpcode op);    /* does its index alone say which operand has an element? pad, concatenate */
bool hlo_branches(HloOpcode op); /* its index, or that and starts: dynamic-update-slice, too */
bool hlo_is_term(const HloInstruction *i, uint32_t k);  /* of a fold: has operand k terms, or what they begin with? */
/* Elements of operand k, of what is no fold, that one evaluation of each element of i needs, over elements of i; -1:
 * its own, at the same index. 0: some, for all elements together. */
double hlo_operand_share(const HloInstruction *i, uint32_t k);
/* Elements of operand k that n elements of i need, each of so many terms; *same: they are at its own place. */
double hlo_needed(const HloInstruction *i, uint32_t k, double n, double terms, bool *same);
/* A reduce-window whose windows are prefixes or suffixes along one dimension: each has one more element than the one
 * before it in the order of the scan, unless that lies outside of the operand. The space of a scan is the shape of its
 * result; at position p of the dimension the element p + shift of the operand joins. */
typedef struct {
    uint32_t dim;
    bool reverse;  /* suffixes: the scan begins at the last position */
    int64_t shift;
} HloScan;
bool hlo_is_scan(const HloInstruction *i, HloScan *scan);
/* line.c: an integer of a loop's body, as first + step * iteration. */
typedef struct {
    WbbI128 first, step;
} HloLine;
/* Of i, in so many iterations, if element `counter` of the loop's state is `of_counter`. False: it is not known to be
 * such a number, or leaves its type on the way. */
bool hlo_line_of(const HloInstruction *i, int64_t counter, HloLine of_counter, int64_t trips, HloLine *line);
/* count.c. A value of one array: an instruction's result, or leaf `part` of it, depth first, where that is a tuple. */
typedef struct {
    const HloInstruction *i;
    uint32_t part;
} HloValue;
/* Leaf `part` of i, seen through tuples: an element of a tuple instruction is that operand. What has no leaves,
 * as () and (()), is itself, and its shape a tuple. */
HloValue hlo_value(const HloInstruction *i, uint32_t part);
typedef struct {
    int64_t trips;       /* -1: how often it runs is known at run time only */
    uint32_t counter;    /* the leaf that counts; others are not set where trips are -1 */
    int64_t first, step; /* its value at first, and what an iteration adds */
} HloCount;
HloCount hlo_count_of(const HloInstruction *loop);
int64_t hlo_repeats(const HloInstruction *i); /* iterations of a loop, of which some are known; of others 1 */
bool hlo_loop_keeps(const HloInstruction *loop, uint32_t leaf); /* the body returns this leaf of the state unchanged */
/* Does a loop run so often, and at least once, whose state is arrays, begun and left as a tuple instruction? */
bool hlo_counts(const HloInstruction *loop, HloCount *count);
/* The one dimension along which a dynamic slice or update has one position, another one in each iteration, that is all
 * of them in the end, from the first to the last or, *down, from the last to the first; -1: it is another one. */
int64_t hlo_stepped_along(const HloInstruction *i, int64_t counter, HloLine of_counter, int64_t trips, bool *down);
/* The same of element k of the state, an array that each iteration updates like this, and that nothing else in the body
 * reads; -1: it is none. */
int64_t hlo_stacked_along(const HloInstruction *loop, const HloCount *count, int64_t k);
bool hlo_is_stacked(const HloInstruction *loop, const HloCount *count, int64_t k);
bool hlo_is_border(const HloInstruction *i); /* a pad of little more than its operand, all padding at its sides */
bool hlo_is_row_major(const HloShape *s);  /* an array: its last dimension is contiguous, then the one before, .. */
uint64_t hlo_bytes(const HloShape *s); /* in memory, of all arrays of a tuple */
int64_t hlo_elements(const HloShape *s); /* product of dims; 1 for a scalar; no overflow for shapes that were parsed */
bool hlo_same_dims(const HloShape *x, const HloShape *y);
/* same types and dims, in tuples of all elements; layouts may differ */
bool hlo_same_shape(const HloShape *x, const HloShape *y);
/* The arrays of a shape, depth first; the shape itself if it is not a tuple. Returns their number. */
uint32_t hlo_leaves(WbbArena *a, const HloShape *s, const HloShape ***leaves);
/* The leaves of the parameters of c before this one; those of all where it is n_parameters. */
uint32_t hlo_leaves_before(const HloComputation *c, int64_t parameter);

/* dims.c --------------------------------------------------------------------------------------------------------------
 * Attributes that HloInstruction.attributes keeps as text, by name: `offset_dims` of a gather. NULL, or `otherwise`, if
 * the attribute is absent or has another form. */
const char *hlo_attribute(WbbArena *a, const HloInstruction *i, const char *name);
const int64_t *hlo_attribute_ints(WbbArena *a, const HloInstruction *i, const char *name, uint32_t *n); /* {1,2} or 3 */
int64_t hlo_attribute_int(WbbArena *a, const HloInstruction *i, const char *name, int64_t otherwise);
bool hlo_attribute_true(WbbArena *a, const HloInstruction *i, const char *name); /* is_stable=true */
double hlo_attribute_f64(WbbArena *a, const HloInstruction *i, const char *name, double otherwise); /* epsilon=1e-05 */
/* i->attributes without those named; `names` ends with NULL. */
const char *hlo_attributes_without(WbbArena *a, const HloInstruction *i, const char *const *names);

typedef struct { const int64_t *items; uint32_t n; } HloInts; /* items is never NULL */

/* The roles of dimensions. In a verified HLO module all are in range and fit the shapes; {} if the text has no such
 * attribute. */
typedef struct { HloInts lhs_batch, rhs_batch, lhs_contracting, rhs_contracting; } HloDotDims;

typedef struct {
    HloInts offset;           /* dimensions of the result that index into the slice */
    HloInts collapsed;        /* dimensions of the operand with slice size 1 or 0, absent from the result */
    HloInts start_map;        /* entry k of an index vector is the start in dimension start_map[k] of the operand */
    HloInts operand_batching; /* dimensions of the operand; [k] is paired with */
    HloInts indices_batching; /* dimension [k] of the indices */
    HloInts slice_sizes;      /* [rank of the operand] */
    int64_t index_vector_dim; /* dimension of the indices; equal to their rank: each index is a vector of one */
    bool sorted;
} HloGatherDims;

/* Operands of a scatter: N inputs, the indices, N updates. */
typedef struct {
    HloInts update_window;   /* dimensions of the updates that index into the window */
    HloInts inserted_window; /* dimensions of the inputs with window size 1, absent from the updates */
    HloInts operand_map;     /* scatter_dims_to_operand_dims, like start_map of gather */
    HloInts input_batching, indices_batching;
    int64_t index_vector_dim;
    bool sorted, unique;
    int64_t neighbours;      /* updates side by side with equal indices, in the mean: 0: none are known; HLO_SOME */
} HloScatterDims;

#define HLO_SOME (INT64_MAX - 1) /* as many as the data has; so sorted indices are */

enum { HLO_CONV_SPATIAL = 10 }; /* spatial dimensions at most: a label is one digit */

typedef struct {
    int8_t lhs_batch, lhs_feature; /* dimensions of operand 0 */
    int8_t rhs_input, rhs_output;  /* feature dimensions of operand 1 */
    int8_t out_batch, out_feature; /* dimensions of the result */
    /* [n_spatial] */
    uint8_t lhs_spatial[HLO_CONV_SPATIAL], rhs_spatial[HLO_CONV_SPATIAL], out_spatial[HLO_CONV_SPATIAL];
    uint32_t n_spatial;            /* windows[d] belongs to spatial dimension d */
    int64_t feature_groups, batch_groups;
    bool known;                    /* false: dim_labels are missing or contain '?' */
} HloConvDims;

bool hlo_holds(HloInts list, int64_t n); /* is n in the list? */
bool hlo_counts_up(HloInts list, int64_t from, uint32_t n); /* is it from, from + 1, .., n numbers? */
HloDotDims hlo_dot_dims(WbbArena *a, const HloInstruction *i); /* dot, ragged-dot, scaled-dot */
/* The result of a dot: batches of rows x columns, sums of so many products. Its dimensions are, in this order, so many
 * of batches, of rows and of columns. */
typedef struct {
    uint32_t n_batch, n_rows, n_columns;
    int64_t batches, rows, columns, depth;
} HloProduct;
HloProduct hlo_product(WbbArena *a, const HloInstruction *dot);
/* Is it a product of matrices that tensor cores may have: of f16 or bf16, summed in f32, large enough for a tile? */
bool hlo_is_matrix_product(WbbArena *a, const HloInstruction *i);
HloGatherDims hlo_gather_dims(WbbArena *a, const HloInstruction *i);
HloScatterDims hlo_scatter_dims(WbbArena *a, const HloInstruction *i);
/* updates.c: the operand of which leaf `leaf` of the result is a copy with some elements replaced; -1: it is none. */
int64_t hlo_replaced(const HloInstruction *i, uint32_t leaf);
/* What result k of a scatter's computation is. */
const HloInstruction *hlo_scatter_root(const HloInstruction *s, uint32_t k);
/* Is that one operation on element k and update k, in either order? */
bool hlo_scatter_is_operation(const HloInstruction *s, uint32_t k);
int64_t hlo_scatter_takes(const HloInstruction *s, uint32_t k); /* the update that it is, whatever the element; -1 */
/* Is it in the form that normalisation leaves: index vectors are rows that begin with dimension 0, and updates rows of
 * whole windows? Arrays of the largest rank may be in another one. */
bool hlo_scatters_rows(const HloInstruction *i, const HloScatterDims *d);
/* HloScatterDims.neighbours, as a scatter notes (graph/neighbours.c) or states them; the note, ", name=..", of 0 "" */
int64_t hlo_noted_neighbours(WbbArena *a, const HloInstruction *i);
const char *hlo_neighbours_attribute(WbbArena *a, int64_t n);
/* Is it a product of floats that a sum may take before it is rounded, as those of a dot? */
bool hlo_contracts(const HloInstruction *i);
HloConvDims hlo_conv_dims(WbbArena *a, const HloInstruction *i);

#endif
