/* parser.h: what the files of the parser share; nothing outside this room includes it. */
#ifndef IR_PARSER_H
#define IR_PARSER_H

#include "ir/ir.h"

enum { IR_MAX_NESTING = 200, IR_MAX_LANES_LOG2 = 8 };

typedef struct {
    const char *name; /* interned */
    IrRef node;
} IrName;

typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    IrGraph *g;
    const char *file, *p, *end, *line_start;
    int line;
    uint32_t nesting;
    bool free_names; /* a term by itself: a name that nothing binds is a variable of the type of its place */
    struct { IrName *items; uint32_t n, capacity; } names; /* visible ones */
    WbbMap numbers; /* by interned name, its last number in `names` + 1 */
    struct { IrBuffer *items; uint32_t n, capacity; } buffers;
    IrKernel *k; /* NULL: a term by itself */
    struct { IrRef *items; uint32_t n, capacity; } same; /* same.items[r] = r */
} IrParser;

/* lex.c: characters and words. `skip` passes white space and comments; `take` passes what it returns true for; `expect` fails
 * where something else stands. */
WbbLoc ir_here(const IrParser *p);
void ir_skip_space(IrParser *p);
char ir_peek(IrParser *p); /* the next character; 0 at the end */
const char *ir_seen(IrParser *p); /* what stands here, for messages */
bool ir_take(IrParser *p, const char *z);
void ir_expect(IrParser *p, const char *z);
bool ir_starts_word(IrParser *p, const char *z);
bool ir_take_word(IrParser *p, const char *z);
void ir_expect_word(IrParser *p, const char *z);
const char *ir_word(IrParser *p, const char *what);
const char *ir_sigil_name(IrParser *p, const char *sigil, const char *what);
int64_t ir_integer(IrParser *p, int64_t lo, int64_t hi, const char *what);
bool ir_type_named(const char *z, size_t n, IrType *type);
IrType ir_read_type(IrParser *p);
const char *ir_type_text(IrParser *p, IrType t);
static inline bool ir_is_digit(char c) { return c >= '0' && c <= '9'; }
static inline bool ir_is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/* statement.c: '{' statements '}', and in it what the block yields. */
typedef struct {
    uint32_t n;
    IrType *types; /* of each; 0: any */
    IrRef *refs;   /* as they are read */
} IrEnds;
void ir_read_block(IrParser *p, IrBlock *b, IrEnds *ends); /* NULL: of the kernel, which begins with its functions */
void ir_name(IrParser *p, WbbLoc loc, const char *z, IrRef node); /* visible from here on */
void ir_bind_name(IrParser *p, const char *z, IrRef node);        /* the same, without a look at what it means already */
IrRef ir_named(IrParser *p, const char *z);                       /* the node of a visible name; 0: there is none */
typedef struct {
    int64_t lo, hi; /* inclusive */
} IrInterval;
IrInterval ir_interval(IrParser *p); /* 'in' lo..end */

/* parse.c */
void ir_read_functions(IrParser *p);

/* expression.c */
uint32_t ir_buffer_named(IrParser *p, const char *z, WbbLoc loc);
IrRef ir_read_expression(IrParser *p, IrType expected); /* expected 0: any */
IrRef ir_read_stored(IrParser *p, ScType type);         /* the value of a store: a constant is one element */

/* term.c */
IrRef ir_free_name(IrParser *p, WbbLoc loc, const char *name, IrType type);

#endif
