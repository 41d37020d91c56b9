/* What the files of hlo/ share with each other and with nobody else: the cursor over the text and what a module is while it is
 * still being read. */
#ifndef HLO_INNER_H
#define HLO_INNER_H

#include "hlo/hlo.h"

/* A use of a computation that is resolved when the whole module has been read. */
typedef struct {
    HloInstruction *user;
    uint32_t index; /* in called */
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

/* What a computation's signature says of its result. */
typedef struct {
    const HloComputation *computation;
    const HloShape *result;
    WbbLoc loc;
} HloSignature;

/* One output that shares a buffer with an operand: of an instruction, or of the entry. */
typedef struct { const int64_t *items; uint32_t n; } HloPath; /* into a tuple, outermost first */
typedef struct {
    const HloInstruction *user; /* NULL: the entry */
    HloPath output, index;
    int64_t operand;
    WbbLoc loc;
} HloAlias;

/* entry_computation_layout= */
typedef struct {
    const HloShape *const *parameters, *result; /* NULL if it is not given */
    uint32_t n;
    WbbLoc loc;
} HloEntryLayout;

/* An operand as written. */
typedef struct {
    const char *name;       /* NULL if nested, or of bare instructions */
    HloInstruction *nested; /* add(sine(x), y): the operand itself, which has no name yet; else NULL */
    const HloShape *shape; /* NULL if the text gives none */
    WbbLoc loc;
} HloOperandText;

/* A control-predecessor as written. */
typedef struct {
    HloInstruction *user;
    const char *name;
    WbbLoc loc;
} HloOrder;

/* The instructions of one computation in the order of the text, with their operands still names: those of instruction k are
 * operands.items[first[k]] and the ones behind it. */
typedef struct {
    struct { HloInstruction **items; uint32_t n, capacity; } instructions;
    struct { uint32_t *items; uint32_t n, capacity; } first;
    struct { HloOperandText *items; uint32_t n, capacity; } operands;
    struct { WbbLoc *items; uint32_t n, capacity; } names; /* where the name of instruction k stands */
    struct { HloOperandText *items; uint32_t n, capacity; } pending; /* of instructions whose ')' has not been read */
    struct { HloOrder *items; uint32_t n, capacity; } orders; /* those of one user stand together */
    HloInstruction *root;                              /* the one marked ROOT */
    bool bare; /* instructions without a computation: operands that nobody makes are parameters, if they have a shape */
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
    bool literal_follows; /* behind the shape that is being read: a blank ends the shape */
    char *scratch;    /* text under construction: attributes of an instruction */
    size_t scratch_n, scratch_capacity;
    HloModule *module;
    WbbBuf tables;    /* of the header */
    HloComputations computations;
    HloCalls calls;
    struct { HloSignature *items; uint32_t n, capacity; } signatures;
    struct { HloAlias *items; uint32_t n, capacity; } aliases;
    HloEntryLayout entry_layout;
    HloDraft spare;   /* storage for the next draft */
    WbbMap names;     /* by interned name, the instructions of a computation; then the computations of the module */
} HloReader;

/* A state to go back to. */
typedef struct {
    const char *p, *line_start;
    int line;
} HloMark;

/* lex.c --------------------------------------------------------------------------------------------------------------- */
WbbLoc hlo_here(const HloReader *r);
WbbLoc hlo_loc_at(const HloReader *r, const char *p); /* p on the cursor's line */
HloMark hlo_mark(const HloReader *r);
void hlo_rewind(HloReader *r, HloMark m);
void hlo_skip(HloReader *r); /* blanks and comments */
int hlo_peek(HloReader *r);  /* the next character behind blanks; -1 at the end */
bool hlo_accept(HloReader *r, char c);
void hlo_expect(HloReader *r, char c);
void hlo_fail_expected(HloReader *r, const char *what) WBB_NORETURN; /* "expected WHAT, found .." */
void hlo_enter_level(HloReader *r);
bool hlo_at_word(HloReader *r, const char *word); /* a whole word, which stays unread */
size_t hlo_word(HloReader *r, const char **text); /* letters, digits, '_', '.', '-'; 0 if there is none */
const char *hlo_read_name(HloReader *r, const char *what); /* interned, without its '%' */
int64_t hlo_read_int(HloReader *r);
const int64_t *hlo_read_ints(HloReader *r, uint32_t *n); /* {1, 2} */
const char *hlo_read_string(HloReader *r);              /* "..", as escaped in the text, without the quotes */
void hlo_skip_balanced(HloReader *r);                   /* one attribute value, up to its ',' or blank */
void hlo_scratch(HloReader *r, const char *from, const char *to); /* append, comments and runs of blanks as one blank */
void hlo_scratch_z(HloReader *r, const char *text);     /* append as it is */
const char *hlo_scratch_end(HloReader *r, size_t from); /* what was appended since then, as a text of its own */

/* parse_shape.c */
bool hlo_at_shape(HloReader *r);
const HloShape *hlo_read_shape(HloReader *r);

/* shape.c */
ScType hlo_type_named(const char *name, size_t n); /* of elements, as HLO writes it; SC_NONE if there is none */
const uint8_t *hlo_default_layout(WbbArena *a, uint32_t rank); /* rank-1, .., 0 */
const HloShape *hlo_make_array(WbbArena *a, ScType type, uint32_t rank, const int64_t *dims);
const HloShape *hlo_make_tuple(WbbArena *a, uint32_t n, const HloShape *const *elements);
const char *hlo_shape_text(WbbArena *a, const HloShape *s); /* without layouts, for messages */

/* parse_literal.c: the literal of a constant, or with i = NULL one to be checked and forgotten */
void hlo_read_literal(HloReader *r, const HloShape *s, HloInstruction *i);

/* module.c */
const char *hlo_opcode_text(const HloInstruction *i); /* "negate-start", "negate" */
bool hlo_is_identity_call(const HloInstruction *i);
bool hlo_is_barrier(const HloInstruction *i);

/* dims.c: attributes as text, ", name=value, ..", of an instruction or a header */
typedef struct {
    const char *name, *value; /* neither ends with a NUL */
    size_t n_name, n_value;
} HloAttribute;
bool hlo_next_attribute(const char **p, HloAttribute *at); /* *p moves behind it; false at the end */

/* suggest.c: pieces of messages about words that nobody knows, ", did you mean 'add'?"; "" if nothing is near */
typedef struct {
    const char *word, *best;
    size_t n;
    uint32_t slips;
} HloSuggestion;
HloSuggestion hlo_suggest_begin(const char *word, size_t n);
void hlo_suggest_candidate(HloSuggestion *s, const char *candidate);
const char *hlo_suggestion(WbbArena *a, const HloSuggestion *s);
const char *hlo_suggest_opcode(WbbArena *a, const char *word, size_t n);
const char *hlo_suggest_type(WbbArena *a, const char *word, size_t n);
const char *hlo_suggest_attribute(WbbArena *a, const HloInstruction *i, const char *name); /* one that stands in the place of `name` */

/* parse_attributes.c: everything behind the operands */
void hlo_read_attributes(HloReader *r, HloDraft *d, HloInstruction *i);
void hlo_set_no_attributes(HloReader *r, HloInstruction *i); /* of an instruction nested in another's operands */
const char *hlo_read_raw_attributes(HloReader *r, bool header); /* of a header or a computation */

/* parse_aliases.c: the value of an attribute of i, or with NULL of the header, before it is kept as text; and what it said, checked at the
 * end. The cursor stays. */
void hlo_note_aliases(HloReader *r, const char *name, const HloInstruction *i);
void hlo_check_aliases(HloReader *r);

/* parse.c */
HloComputation *hlo_read_body(HloReader *r, const char *name, WbbLoc loc);

/* normalise_broadcast.c: pass `broadcast`, in place, of a module that is not verified yet and may lack shapes. */
void hlo_expand_broadcasts(WbbCx *cx, WbbArena *a, HloModule *m);

/* resolve.c */
void hlo_resolve_instructions(HloReader *r, HloComputation *c, HloDraft *d);
void hlo_resolve_module(HloReader *r);

/* verify.c, and behind it verify_*.c: each function checks the operands and says what the result must be (hlo_set_result..): that is compared
 * with the shape that the text gives, or is the shape where it gives none. */
typedef struct { const HloShape *x, *y; } HloPair;

typedef struct {
    WbbCx *cx;
    WbbArena *arena;   /* of the module: shapes that the text does not give */
    WbbArena *scratch; /* given back when the module has been judged */
    HloPair same[256], laid[256]; /* tuples found to agree, in shape and in layout: a tuple of many parts may be used many times */
} HloVerifier;

void hlo_infer_shapes(WbbCx *cx, WbbArena *a, const HloModule *m); /* a shape for each instruction without one; judges no other */
void hlo_invalid(HloVerifier *v, const HloInstruction *i, const char *format, ...) WBB_NORETURN WBB_PRINTF(3, 4);
bool hlo_known_equal(const HloPair *table, const HloShape *x, const HloShape *y);
void hlo_remember_equal(HloPair *table, const HloShape *x, const HloShape *y); /* remember, unless a larger pair stands in the place */
const char *hlo_short_shape(HloVerifier *v, const HloShape *s); /* for messages: as hlo_shape_text, but short for huge tuples */
const char *hlo_operand_name(HloVerifier *v, uint32_t k); /* "operand 3" */
const HloShape *hlo_array_operand(HloVerifier *v, const HloInstruction *i, uint32_t k); /* of operand k, which is there and no tuple */
void hlo_require_class(HloVerifier *v, const HloInstruction *i, uint32_t k, const char *classes); /* "IU": of gen/ops.py */
void hlo_require_type(HloVerifier *v, const HloInstruction *i, const char *what, const HloShape *s, ScType type);
void hlo_require_dims(HloVerifier *v, const HloInstruction *i, const char *what, const HloShape *s, const HloShape *expected);
void hlo_require_shape(HloVerifier *v, const HloInstruction *i, const char *what, const HloShape *s, const HloShape *expected);
void hlo_require_scalar(HloVerifier *v, const HloInstruction *i, uint32_t k, ScType type);
void hlo_require_count(HloVerifier *v, const HloInstruction *i, uint32_t least, uint32_t most); /* of operands */
void hlo_require_rank(HloVerifier *v, const HloInstruction *i, const char *name, uint32_t n, const HloShape *s);
/* dimensions={..}: each in [0, rank), none twice. Bit d of the answer: d is among them. */
uint64_t hlo_require_dimensions(HloVerifier *v, const HloInstruction *i, const char *name, HloInts list, uint32_t rank);
int64_t hlo_require_dimension(HloVerifier *v, const HloInstruction *i, uint32_t rank); /* dimensions={d}, one */
void hlo_require_array(HloVerifier *v, const HloInstruction *i, const char *what, const HloShape *s, ScType type, uint32_t rank,
                    const WbbI128 *dims);
bool hlo_compatible_types(ScType type, ScType into); /* the same, or floats of different precision: XLA's mixed precision */
void hlo_require_written_shape(HloVerifier *v, const HloInstruction *i); /* the text gives the shape: it does not follow from the operands */
void hlo_set_result(HloVerifier *v, HloInstruction *i, ScType type, uint32_t rank, const WbbI128 *dims);
void hlo_set_result_shape(HloVerifier *v, HloInstruction *i, const HloShape *s);
void hlo_set_result_type(HloVerifier *v, HloInstruction *i, ScType type, const HloShape *dims_of);
/* One result: parts[0]; several: a tuple of them. `parts` may lie on the stack. */
void hlo_set_result_parts(HloVerifier *v, HloInstruction *i, uint32_t n, const HloShape *const *parts);
/* A shape to give: it lives as long as the module if the text gives i none, else as long as the judge. */
const HloShape *hlo_make_result(HloVerifier *v, const HloInstruction *i, ScType type, uint32_t rank, const WbbI128 *dims);

const HloShape *hlo_operand_element(HloVerifier *v, const HloInstruction *i, int64_t index); /* of operand 0, a tuple */
const HloComputation *hlo_only_computation(HloVerifier *v, const HloInstruction *i);
/* It takes n accumulators and n inputs, scalars that values of these types can be, and returns n scalars. */
void hlo_require_combiner(HloVerifier *v, const HloInstruction *i, const HloComputation *c, uint32_t n, const HloShape *const *values);
/* How often window d fits into `size` elements: dilation puts gaps between elements, padding goes around what that gives. */
WbbI128 hlo_window_count(HloVerifier *v, const HloInstruction *i, uint32_t d, int64_t size);

/* verify_groups.c: devices in a group of a collective; 0 if the text does not say. All groups have one size if `uniform`. */
int64_t hlo_group_size(HloVerifier *v, const HloInstruction *i, bool uniform);
void hlo_require_device_pairs(HloVerifier *v, const HloInstruction *i); /* source_target_pairs=: no source twice, no target twice */
/* False if the operation is not of this file. */
bool hlo_verify_element(HloVerifier *v, HloInstruction *i); /* verify_elements.c */
bool hlo_verify_move(HloVerifier *v, HloInstruction *i);    /* verify_moves.c */
bool hlo_verify_indexed(HloVerifier *v, HloInstruction *i); /* verify_indexed.c */
bool hlo_verify_reduction(HloVerifier *v, HloInstruction *i); /* verify_reductions.c */
bool hlo_verify_library(HloVerifier *v, HloInstruction *i); /* verify_library.c */
bool hlo_verify_control(HloVerifier *v, HloInstruction *i); /* verify_control.c */
bool hlo_verify_remote(HloVerifier *v, HloInstruction *i);  /* verify_remote.c */

/* print.c, print_literal.c */
void hlo_put_literal(WbbBuf *out, const HloInstruction *i);

#endif
