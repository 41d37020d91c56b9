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
    uint32_t n, room;
} HloCalls;

typedef struct {
    HloComputation **items;
    uint32_t n, room;
} HloComputations;

/* An operand as written. */
typedef struct {
    const char *name;
    const HloShape *shape; /* NULL if the text gives none */
    WbbLoc loc;
} HloOperandText;

/* The instructions of one computation in the order of the text, with their operands still names: those of instruction k are
 * operands.items[first[k]] and the ones behind it. */
typedef struct {
    struct { HloInstruction **items; uint32_t n, room; } instructions;
    struct { uint32_t *items; uint32_t n, room; } first;
    struct { HloOperandText *items; uint32_t n, room; } operands;
    struct { WbbLoc *items; uint32_t n, room; } names; /* where the name of instruction k stands */
    HloInstruction *root;                              /* the one marked ROOT */
} HloDraft;

typedef struct {
    const char *name;
    void *what;     /* an HloInstruction, or an HloComputation */
    uint32_t owner; /* the computation, counted from 1; other numbers mean a free slot */
} HloNameSlot;

typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    const char *file;
    const char *p, *end;
    const char *line_start;
    int line;
    int depth;        /* open brackets of any kind, against HLO_NESTING_LIMIT */
    bool separator;   /* a `// -----` was skipped */
    char *scratch;    /* text under construction: attributes of an instruction */
    size_t scratch_n, scratch_room;
    HloModule *module;
    WbbBuf tables;    /* of the header */
    HloComputations computations;
    HloCalls calls;
    HloDraft spare;   /* storage for the next draft */
    HloNameSlot *names;
    uint32_t names_room, owner;
} HloReader;

/* A state to go back to. */
typedef struct {
    const char *p, *line_start;
    int line;
} HloMark;

/* lex.c --------------------------------------------------------------------------------------------------------------- */
WbbLoc hlo_here(const HloReader *r);
WbbLoc hlo_at(const HloReader *r, const char *p); /* p on the cursor's line */
HloMark hlo_mark(const HloReader *r);
void hlo_rewind(HloReader *r, HloMark m);
void hlo_skip(HloReader *r); /* blanks and comments */
int hlo_peek(HloReader *r);  /* the next character behind blanks; -1 at the end */
bool hlo_accept(HloReader *r, char c);
void hlo_want(HloReader *r, char c);
void hlo_expected(HloReader *r, const char *what) WBB_NORETURN; /* "expected WHAT, found .." */
void hlo_deeper(HloReader *r);
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

/* shape.c */
bool hlo_at_shape(HloReader *r);
const HloShape *hlo_read_shape(HloReader *r);
const HloShape *hlo_make_array(WbbArena *a, ScType type, uint32_t rank, const int64_t *dims);
const HloShape *hlo_make_tuple(WbbArena *a, uint32_t n, const HloShape *const *elements);
const char *hlo_shape_text(WbbCx *cx, const HloShape *s); /* without layouts, for messages */

/* literal.c: the literal of a constant, or with i = NULL one to be checked and forgotten */
void hlo_read_literal(HloReader *r, const HloShape *s, HloInstruction *i);

/* attributes.c: everything behind the operands */
void hlo_read_attributes(HloReader *r, HloInstruction *i);
const char *hlo_read_raw_attributes(HloReader *r); /* of a header or a computation */

/* parse.c */
HloComputation *hlo_read_body(HloReader *r, const char *name, WbbLoc loc);

/* resolve.c */
void hlo_resolve_instructions(HloReader *r, HloComputation *c, HloDraft *d);
void hlo_resolve_module(HloReader *r);

/* infer.c: the shape that a missing one must have; NULL if that cannot be told */
const HloShape *hlo_infer(WbbArena *a, const HloInstruction *i);

/* verify.c */
void hlo_bad(WbbCx *cx, const HloInstruction *i, const char *format, ...) WBB_NORETURN WBB_PRINTF(3, 4);
void hlo_want_dims(WbbCx *cx, const HloInstruction *i, const char *what, const HloShape *s, const HloShape *expected);
void hlo_want_shape(WbbCx *cx, const HloInstruction *i, const char *what, const HloShape *s, const HloShape *expected);
void hlo_want_operands(WbbCx *cx, const HloInstruction *i, uint32_t at_least);

/* verify_moves.c: operations that move elements; false if i is none */
bool hlo_verify_move(WbbCx *cx, const HloInstruction *i);

/* print.c, print_literal.c */
void hlo_put_shape(WbbBuf *out, const HloShape *s, bool layouts);
void hlo_put_literal(WbbBuf *out, const HloInstruction *i);

#endif
