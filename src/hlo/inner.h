/* hlo/inner.h: what the files of hlo/ share among themselves: the cursor over the text, an HLO module while it is being
 * read, and the checks of the verifier.
 *
 * The files in an order in which each calls only earlier ones:
 *
 *     lex, shape, module, dims, suggest, print_literal, print, features, parse_shape, parse_literal, parse_aliases,
 *     resolve, verify_require, verify_groups, verify_reductions, verify_*, verify,
 *     normalise_build, normalise_new, normalise_*, normalise, parse_attributes with parse
 *
 * parse.c and parse_attributes.c call each other because the grammar is recursive: an instruction has attributes, and
 * an attribute may hold a computation, to_apply={ .. }.
 */
#ifndef HLO_INNER_H
#define HLO_INNER_H

#include "hlo/hlo.h"

/* A computation named by an instruction, resolved after the whole HLO module has been read. */
typedef struct {
    HloInstruction *user;
    uint32_t index; /* in user->called */
    const char *name;
    WbbLoc loc;
} HloCall;

typedef struct {
    HloCall *items;
    uint32_t n, capacity;
} HloCalls;

typedef struct {
    HloComputation **items;
    uint32_t n, capacity;
} HloComputations;

/* The result's shape in a computation's signature. */
typedef struct {
    const HloComputation *computation;
    const HloShape *result;
    WbbLoc loc;
} HloSignature;

/* An index into nested tuples, outermost first. */
typedef struct { const int64_t *items; uint32_t n; } HloPath;

/* An output that shares a buffer with an operand: of an instruction, or of the entry. */
typedef struct {
    const HloInstruction *user; /* NULL: the entry */
    HloPath output, index;      /* in the output, in the operand */
    int64_t operand;
    WbbLoc loc;
} HloAlias;

/* entry_computation_layout= */
typedef struct {
    const HloShape *const *parameters, *result; /* NULL if the header has no such attribute */
    uint32_t n;
    WbbLoc loc;
} HloEntryLayout;

/* An operand as the text has it. */
typedef struct {
    const char *name;       /* NULL if nested, or if bare instructions give a shape alone */
    HloInstruction *nested; /* add(sine(x), y): the operand itself, which has no name yet; else NULL */
    const HloShape *shape;  /* NULL if the text has none */
    WbbLoc loc;
} HloOperandText;

/* A control-predecessor as the text has it. */
typedef struct {
    HloInstruction *user;
    const char *name;
    WbbLoc loc;
} HloOrder;

/* The instructions of one computation in the order of the text. Operands are still names: those of instruction k start
 * at operands.items[first[k]]. */
typedef struct {
    struct { HloInstruction **items; uint32_t n, capacity; } instructions;
    struct { uint32_t *items; uint32_t n, capacity; } first;
    struct { HloOperandText *items; uint32_t n, capacity; } operands;
    struct { WbbLoc *items; uint32_t n, capacity; } names; /* location of the name of instruction k */
    /* operands of instructions whose ')' is still to come */
    struct { HloOperandText *items; uint32_t n, capacity; } pending;
    struct { HloOrder *items; uint32_t n, capacity; } orders; /* sorted by user */
    HloInstruction *root; /* the one marked ROOT */
    bool bare; /* instructions without a computation: an undefined operand with a shape is a parameter */
} HloDraft;

typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    const char *file;
    const char *p, *end;
    const char *line_start;
    int line;
    int depth;        /* open brackets of any kind, against HLO_NESTING_LIMIT */
    bool separator;   /* a `// -----` was skipped */
    bool literal_follows; /* a literal follows the shape that is being read: a blank ends the shape */
    char *scratch;    /* text under construction: the attributes of an instruction */
    size_t scratch_n, scratch_capacity;
    HloModule *module;
    WbbBuf tables;    /* of the header */
    HloComputations computations;
    HloCalls calls;
    struct { HloSignature *items; uint32_t n, capacity; } signatures;
    struct { HloAlias *items; uint32_t n, capacity; } aliases;
    HloEntryLayout entry_layout;
    HloDraft spare;   /* lists of the last draft, reused by the next */
    WbbMap names;     /* by interned name: the instructions of a computation, later all computations */
} HloReader;

/* A position of the cursor to return to. */
typedef struct {
    const char *p, *line_start;
    int line;
} HloMark;

/* lex.c ------------------------------------------------------------------------------------------------------------ */
WbbLoc hlo_here(const HloReader *r);
WbbLoc hlo_loc_at(const HloReader *r, const char *p); /* p is on the cursor's line */
HloMark hlo_mark(const HloReader *r);
void hlo_rewind(HloReader *r, HloMark m);
void hlo_skip(HloReader *r); /* skips blanks and comments */
int hlo_peek(HloReader *r);  /* skips blanks and comments; the next character, -1 at the end */
bool hlo_accept(HloReader *r, char c); /* true if c was next: the cursor has moved past it */
void hlo_expect(HloReader *r, char c); /* the same, or a wbb_fail */
void hlo_fail_expected(HloReader *r, const char *what) WBB_NORETURN; /* "expected WHAT, found .." */
void hlo_enter_level(HloReader *r); /* counts a nesting level; a wbb_fail beyond HLO_NESTING_LIMIT */
bool hlo_at_word(HloReader *r, const char *word); /* this whole word is next; the cursor stays before it */
/* length of the letters, digits, '_', '.', '-' that were read; may be 0 */
bool hlo_is_word(char c); /* a letter, a digit, '_', '.', '-' */
size_t hlo_word(HloReader *r, const char **text);
const char *hlo_read_name(HloReader *r, const char *what); /* interned, without its '%' */
int64_t hlo_read_int(HloReader *r);
const int64_t *hlo_read_ints(HloReader *r, uint32_t *n); /* {1, 2} */
const char *hlo_read_string(HloReader *r);              /* "..", without the quotes, escapes as in the text */
void hlo_skip_balanced(HloReader *r);                   /* skips one attribute value, up to its ',' or blank */
/* appends; comments and series of blanks become one blank */
void hlo_scratch(HloReader *r, const char *from, const char *to);
void hlo_scratch_z(HloReader *r, const char *text);     /* appends as it is */
const char *hlo_scratch_end(HloReader *r, size_t from); /* removes what stands from index `from` on, and returns it */

/* features.c: what is not listed in features.def is a wbb_fail. */
typedef enum { HLO_IN_ATTRIBUTE, HLO_IN_COMPUTATION, HLO_IN_MODULE, HLO_IN_LAYOUT, HLO_IN_SHAPE } HloWhere;
typedef enum { HLO_HONOURED, HLO_SILENT, HLO_PROMISE, HLO_OPERATION, HLO_DECLINED, HLO_JUDGED } HloAccount;
typedef struct {
    uint64_t rows[4]; /* a bit for each row of features.def */
} HloSeen;            /* the attributes that stand before */
void hlo_check_attribute(WbbCx *cx, WbbLoc loc, HloWhere where, const HloInstruction *i, const char *name,
                         HloSeen *seen);
void hlo_check_layout(WbbCx *cx, WbbLoc loc, const char *tiling); /* what stands after the ':' */

/* parse_shape.c */
bool hlo_at_shape(HloReader *r);
const HloShape *hlo_read_shape(HloReader *r);

/* shape.c */
ScType hlo_type_named(const char *name, size_t n); /* element type, as HLO writes it; SC_NONE if unknown */
const uint8_t *hlo_default_layout(WbbArena *a, uint32_t rank); /* rank-1, .., 0 */
/* line.c: element k of the state of the loop whose body or condition it is in */
bool hlo_is_state(const HloInstruction *i, int64_t k);
const HloShape *hlo_make_array(WbbArena *a, ScType type, uint32_t rank, const int64_t *dims);
const HloShape *hlo_make_tuple(WbbArena *a, uint32_t n, const HloShape *const *elements);
const char *hlo_shape_text(WbbArena *a, const HloShape *s); /* without layouts, for messages */

/* parse_literal.c: reads a literal of shape s into constant i; with i NULL it is only checked */
void hlo_read_literal(HloReader *r, const HloShape *s, HloInstruction *i);

/* module.c */
const char *hlo_opcode_text(const HloInstruction *i); /* "negate-start", "negate" */

/* dims.c: iterates over the attributes of a text ", name=value, .." */
typedef struct {
    const char *name, *value; /* neither ends with a NUL */
    size_t n_name, n_value;
} HloAttribute;
bool hlo_next_attribute(const char **p, HloAttribute *at); /* moves *p past it; false at the end */

/* suggest.c: the end of a message about an unknown word, ", did you mean 'add'?"; "" if no known word is close */
typedef struct {
    const char *word, *best;
    size_t n;       /* length of `word` */
    uint32_t edits; /* between `word` and `best` */
} HloSuggestion;
HloSuggestion hlo_suggest_begin(const char *word, size_t n);
void hlo_suggest_candidate(HloSuggestion *s, const char *candidate);
const char *hlo_suggestion(WbbArena *a, const HloSuggestion *s);
const char *hlo_suggest_opcode(WbbArena *a, const char *word, size_t n);
const char *hlo_suggest_type(WbbArena *a, const char *word, size_t n);

/* parse_attributes.c: all that follows the operands */
void hlo_read_attributes(HloReader *r, HloDraft *d, HloInstruction *i);
void hlo_set_no_attributes(HloReader *r, HloInstruction *i); /* for an instruction nested in another's operands */
const char *hlo_read_raw_attributes(HloReader *r, bool header); /* of a header or a computation */

/* parse_aliases.c: notes what the attribute `name` of i (NULL: of the header) says about aliases and layouts; the
 * cursor stays before its value. hlo_check_aliases checks the notes once the HLO module has been verified. */
void hlo_note_aliases(HloReader *r, const char *name, const HloInstruction *i);
void hlo_check_aliases(HloReader *r);

/* proto_wire.c: bytes that no text has */
bool hlo_is_proto(const char *bytes, size_t n);

/* parse.c */
bool hlo_set_opcode(WbbCx *cx, HloInstruction *i, const char *text, size_t n);
HloComputation *hlo_read_body(HloReader *r, const char *name, WbbLoc loc);

/* normalise_broadcast.c: pass `broadcast` in place, on an HLO module that is not verified yet. */
void hlo_expand_broadcasts(WbbCx *cx, WbbArena *a, HloModule *m);

/* resolve.c */
void hlo_resolve_instructions(HloReader *r, HloComputation *c, HloDraft *d);
void hlo_resolve_module(HloReader *r);

/* verify.c --------------------------------------------------------------------------------------------------------- */
/* verifies only instructions without a shape, and sets it */
void hlo_infer_shapes(WbbCx *cx, WbbArena *a, const HloModule *m);

/* verify_require.c: the checks that the functions of verify_*.c consist of. Each is a wbb_fail at the instruction if it
 * does not hold; `what` and `name` say in messages what is checked. */

typedef struct {
    WbbCx *cx;
    WbbArena *arena;   /* the HLO module's: inferred shapes */
    WbbArena *scratch; /* freed when the HLO module has been verified */
    /* pairs of tuples known to agree in shape, in layout: large tuples may have many users */
    WbbMap same, laid;
    int64_t partitions, replicas; /* that the header names, or 1 */
} HloVerifier;

void hlo_invalid(HloVerifier *v, const HloInstruction *i, const char *format, ...) WBB_NORETURN WBB_PRINTF(3, 4);
bool hlo_known_equal(const WbbMap *pairs, const HloShape *x, const HloShape *y);
void hlo_remember_equal(WbbMap *pairs, const HloShape *x, const HloShape *y);
const char *hlo_short_shape(HloVerifier *v, const HloShape *s); /* like hlo_shape_text; large tuples are only counted */
const char *hlo_operand_name(HloVerifier *v, uint32_t k); /* "operand 3" */
/* operand k exists and is an array */
const HloShape *hlo_array_operand(HloVerifier *v, const HloInstruction *i, uint32_t k);
/* The element type of operand k has one of these classes (P, I, U, F, C, -: gen/ops.py). */
void hlo_require_class(HloVerifier *v, const HloInstruction *i, uint32_t k, const char *classes);
void hlo_require_type(HloVerifier *v, const HloInstruction *i, const char *what, const HloShape *s, ScType type);
void hlo_require_dims(HloVerifier *v, const HloInstruction *i, const char *what, const HloShape *s,
                      const HloShape *expected);
void hlo_require_shape(HloVerifier *v, const HloInstruction *i, const char *what, const HloShape *s,
                       const HloShape *expected);
void hlo_require_scalar(HloVerifier *v, const HloInstruction *i, uint32_t k, ScType type);
void hlo_require_count(HloVerifier *v, const HloInstruction *i, uint32_t least, uint32_t most); /* number of operands */
void hlo_require_rank(HloVerifier *v, const HloInstruction *i, const char *name, uint32_t n, const HloShape *s);
/* Each dimension is in [0, rank), none occurs twice. Returns their set: bit d for dimension d. */
uint64_t hlo_require_dimensions(HloVerifier *v, const HloInstruction *i, const char *name, HloInts list, uint32_t rank);
int64_t hlo_require_dimension(HloVerifier *v, const HloInstruction *i, uint32_t rank); /* dimensions={d}: exactly one */
void hlo_require_array(HloVerifier *v, const HloInstruction *i, const char *what, const HloShape *s, ScType type,
                       uint32_t rank, const WbbI128 *dims);
bool hlo_compatible_types(ScType type, ScType into); /* equal, or two floats: XLA's mixed precision */
/* The text has the shape, which does not follow from the operands. */
void hlo_require_written_shape(HloVerifier *v, const HloInstruction *i);
/* The result has this shape: i->shape is set to it if the text has none, else compared with it. */
void hlo_set_result(HloVerifier *v, HloInstruction *i, ScType type, uint32_t rank, const WbbI128 *dims);
void hlo_set_result_shape(HloVerifier *v, HloInstruction *i, const HloShape *s);
void hlo_set_result_type(HloVerifier *v, HloInstruction *i, ScType type, const HloShape *dims_of);
/* parts[0] if n is 1, else a tuple of the parts. `parts` may be on the stack. */
void hlo_set_result_parts(HloVerifier *v, HloInstruction *i, uint32_t n, const HloShape *const *parts);
/* A shape for hlo_set_result_..: in the HLO module's arena if the text has none for i, else in the verifier's. */
const HloShape *hlo_make_result(HloVerifier *v, const HloInstruction *i, ScType type, uint32_t rank,
                                const WbbI128 *dims);

/* Operand 0 is a tuple with such an element; returns the element's shape. */
const HloShape *hlo_operand_element(HloVerifier *v, const HloInstruction *i, int64_t index);

/* verify_reductions.c */
const HloComputation *hlo_only_computation(HloVerifier *v, const HloInstruction *i); /* i calls exactly one */
/* c takes n accumulators and n inputs, scalars of types compatible with `values`, and returns n such scalars. */
void hlo_require_combiner(HloVerifier *v, const HloInstruction *i, const HloComputation *c, uint32_t n,
                          const HloShape *const *values);
/* How often window d fits into `size` elements, which base dilation spreads and padding then extends. */
WbbI128 hlo_window_count(HloVerifier *v, const HloInstruction *i, uint32_t d, int64_t size);

/* verify_groups.c: the number of devices in a group of a collective; 0 if the text leaves it open. `uniform`: all
 * groups have one size. */
int64_t hlo_group_size(HloVerifier *v, const HloInstruction *i, bool uniform);
/* source_target_pairs=: no source or target twice */
void hlo_require_device_pairs(HloVerifier *v, const HloInstruction *i);
bool hlo_find_alone(HloVerifier *v, const HloInstruction *i); /* collective.c: HloInstruction.alone */

/* The functions of verify_*.c that verify.c dispatches to; false if the file does not handle the operation. */
bool hlo_verify_element(HloVerifier *v, HloInstruction *i); /* verify_elements.c */
bool hlo_verify_move(HloVerifier *v, HloInstruction *i);    /* verify_moves.c */
bool hlo_verify_indexed(HloVerifier *v, HloInstruction *i); /* verify_indexed.c */
bool hlo_verify_reduction(HloVerifier *v, HloInstruction *i); /* verify_reductions.c */
bool hlo_verify_library(HloVerifier *v, HloInstruction *i); /* verify_library.c */
bool hlo_verify_control(HloVerifier *v, HloInstruction *i); /* verify_control.c */
bool hlo_verify_remote(HloVerifier *v, HloInstruction *i);  /* verify_remote.c */

/* print.c, print_literal.c */
extern const char *const hlo_direction_names[HLO_GE + 1]; /* "EQ" */
void hlo_put_ints(WbbBuf *out, const int64_t *values, uint32_t n); /* 1,2,3 */
void hlo_put_literal(WbbBuf *out, const HloInstruction *i);

#endif
