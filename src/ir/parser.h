/* parser.h: what the files of the parser share; src/ir includes it, and graph/parse.c, whose terms are expressions.
 *
 * lex.c reads words, names.c knows what names mean, expression.c, statement.c and parse.c read what they are called
 * after, each with the files before it; term.c reads one expression by itself. */
#ifndef IR_PARSER_H
#define IR_PARSER_H

#include "ir/ir.h"

enum { IR_MAX_NESTING = 200, IR_MAX_LANES_LOG2 = 8 };
#define IR_ANY ((int64_t)1 << 62) /* an index of a term about which nothing is said is in -IR_ANY .. IR_ANY - 1 */

typedef struct {
    const char *name; /* interned */
    IrRef node;
} IrName;

/* Arrays that an expression may read, x[i, 3]: the callee of the call that a read is. */
typedef struct {
    IrType type;
    uint32_t rank;
    bool whole; /* a tuple: it has no elements */
} IrArray;

typedef struct {
    IrArray *items;
    uint32_t n, capacity;
    WbbMap numbers; /* by interned name: 1 + number */
} IrArrays;

typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    IrGraph *g;
    const IrArrays *arrays; /* NULL: there are none to read */
    const char *file, *p, *end, *line_start;
    int line;
    uint32_t nesting;
    bool free_names; /* a term by itself: names that nothing binds are variables */
    struct { IrName *items; uint32_t n, capacity; } names; /* visible ones */
    WbbMap numbers; /* by interned name, its last number in `names` + 1 */
    struct { IrBuffer *items; uint32_t n, capacity; } buffers;
    IrKernel *k; /* NULL: a term by itself */
    IrRefs same; /* same.items[r] = r, for ir_copy */
} IrParser;

/* lex.c: characters and words. All but ir_here skip white space and comments first. `take` reads z, or returns false;
 * `expect` reads it, or fails. */
WbbLoc ir_here(const IrParser *p);
void ir_skip_space(IrParser *p);
char ir_peek(IrParser *p); /* the next character; 0 at the end */
const char *ir_found(IrParser *p); /* the next word or character, for messages */
bool ir_take(IrParser *p, const char *z);
void ir_expect(IrParser *p, const char *z);
bool ir_starts_word(IrParser *p, const char *z);
bool ir_take_word(IrParser *p, const char *z);
void ir_expect_word(IrParser *p, const char *z);
const char *ir_word(IrParser *p, const char *what);
const char *ir_sigil_name(IrParser *p, const char *sigil, const char *what);
const char *ir_array_word(IrParser *p, const char *what); /* a name of HLO, which may have dots and dashes */
int64_t ir_integer(IrParser *p, int64_t lo, int64_t hi, const char *what);
bool ir_type_named(const char *z, size_t n, IrType *type);
IrType ir_read_type(IrParser *p);
const char *ir_type_text(IrParser *p, IrType t);
static inline bool ir_is_digit(char c) { return c >= '0' && c <= '9'; }
static inline bool ir_is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/* names.c */
/* z means node from here to the end of the block; fails if z means something already. */
void ir_name(IrParser *p, WbbLoc loc, const char *z, IrRef node);
IrRef ir_named(IrParser *p, const char *z);                       /* the node of a visible name; 0: there is none */
/* A new variable of a term, bound to its name; one about which nothing is said. */
IrRef ir_new_variable(IrParser *p, const char *name, IrType type, int64_t lo, int64_t hi);
IrRef ir_any_variable(IrParser *p, const char *name, IrType type);
/* The node of a name that nothing binds, as an operand of this type; 0: not known. */
IrRef ir_free_name(IrParser *p, WbbLoc loc, const char *name, IrType type);

/* statement.c */
/* What a block yields: how many values, and of which types. */
typedef struct {
    uint32_t n;
    IrType *types; /* [n]; 0: any */
    IrRef *refs;   /* [n], made when the block is read */
    bool repeats;  /* `while` and a condition follow */
    IrRef condition;
} IrYields;
void ir_read_block(IrParser *p, IrBlock *b, IrYields *yields);      /* '{' statements ['yield' ..] ['while' ..] '}' */
void ir_read_statements(IrParser *p, IrBlock *b, IrYields *yields); /* the same after '{'; yields NULL: it has none */
typedef struct {
    int64_t lo, hi; /* inclusive */
} IrInterval;
IrInterval ir_interval(IrParser *p); /* 'in' lo..end */

/* expression.c */
/* An operation as its name says it. */
typedef struct {
    ScOp op;
    IrType type, from; /* as written; from: of a conversion */
    uint32_t flags;
    uint64_t imm;
    const char *name;
    WbbLoc loc;
} IrOperator;
IrOperator ir_read_effect(IrParser *p); /* the operation of a `do`, and the '(' after it */
/* The operands of an operation, from the first, and the ')' after them. */
IrRef ir_read_operands(IrParser *p, const IrOperator *h);
uint32_t ir_buffer_named(IrParser *p, const char *z, WbbLoc loc);
IrRef ir_read_expression(IrParser *p, IrType expected); /* expected 0: any */
IrRef ir_read_stored(IrParser *p, ScType type);         /* the value of a store: a constant is one element */

#endif
