/* inner.h: the declarations that the files of ptx/ share, private to the module.
 *
 * Calls go one way: compile.c -> statement.c -> node.c -> row.c, memory.c, index.c -> division.c, address.c
 * -> width.c -> value.c -> known.c, line.c. */
#ifndef PTX_INNER_H
#define PTX_INNER_H

#include "ir/demand.h"
#include "ir/module.h"
#include "ir/sums.h"
#include "ptx/ptx.h"

/* What may stand as an operand: a register, or a number. */
typedef enum { PTX_NONE, PTX_PRED, PTX_B16, PTX_B32, PTX_B64, PTX_NUMBER, PTX_KINDS } PtxKind;
typedef struct {
    uint8_t kind;  /* PtxKind */
    uint8_t bits;  /* of a number: 1, 16, 32 or 64 */
    uint64_t n;    /* which register of its kind; the number's bits */
} PtxReg;

enum { BYTES = 4 }; /* of a word */

/* Of four bytes that are 0 or 1: is any of some of them 1, or are all? */
typedef struct {
    PtxReg word;    /* PTX_NONE: no test */
    uint32_t bytes; /* a bit for each byte that counts */
    bool all, alone; /* alone: the other bytes are zero */
} PtxTest;

/* The registers of a node. A value is kept in words, in single elements or in both: each is made of the other where it
 * is needed first, in the scope of the value. An element of 16 bits is in a register of 16, one of 8 bits and below in
 * one of 32, whose other bits are said by `upper`. Several elements of 16 bits and below share words of 32, the first
 * in the low bits. A complex element is two. */
typedef struct {
    IrType type;
    uint32_t scope;
    char upper;        /* of elements of 8 bits and below: 'z' zeros, 's' copies of the sign, 0: not known */
    uint64_t zero;     /* bits that are never set in the register of any element, beside what `upper` says (known.c) */
    PtxReg *words;     /* NULL: not made */
    PtxReg *elements;  /* [] each PTX_NONE where not made; NULL: none */
    PtxReg half;       /* the low half of the only word, in a register of 16 bits; PTX_NONE: not made */
    PtxReg *pairs;     /* registers of 64 bits, of two words of 32 each; NULL: not made */
    PtxReg *packed;    /* of several preds: words of bytes in which they were loaded; NULL: they were not */
    PtxTest test;      /* of one pred, which is a predicate where one is needed first */
} PtxValue;

typedef struct {
    const char *text;
    IrMaker maker;
} PtxLine;
typedef struct { PtxLine *items; uint32_t n, capacity; } PtxLines;

/* A register that was made of terms: a sum, or an address. */
typedef struct {
    PtxReg reg;
    uint32_t scope;
    uint32_t zero; /* of a sum of 32 bits: bits that it never has */
    bool masked, joined; /* the last instruction of the sum is an `and`, an `or` */
} PtxMade;

/* The index x shifted, under a mask. */
typedef struct {
    IrRef x;
    uint32_t left, right, mask;
} PtxDigit;

/* A function of the kernel, and a call whose results are there while its scope is open. */
typedef struct {
    const char *name;
    uint32_t *buffers, n_buffers; /* those that it reads, in the order of its parameters */
} PtxCallee;
typedef struct {
    uint32_t scope;
    PtxValue **values;
} PtxCalled;

/* One compile. */
typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    const IrKernel *k;
    IrGraph *g;
    const TgTarget *t;
    const PtxOptions *o;
    IrPlacement places;
    bool *open;           /* by scope: its statements are being written */
    uint32_t next_scope;  /* the scope that is entered next */
    uint32_t at;          /* the scope to whose end lines are added */
    PtxLines *lines;      /* by scope */
    PtxValue **values;    /* by ref: in the open scope that emitted the node */
    PtxValue **results;   /* by number of IrValue */
    PtxReg *vars;         /* by number of IrVar */
    bool *needed;         /* by number of IrVar: something uses it */
    PtxReg *tests;        /* by number of IrVar: a predicate of a loop's body, another iteration follows; or PTX_NONE */
    PtxReg *bases;        /* by buffer: its address; PTX_NONE: not read yet */
    bool *constant;       /* by buffer: nothing changes it */
    int64_t *factors;     /* by ref: of a term, its factor in all sums; 0: it is none, -1: several, or another use */
    uint32_t function;    /* the one that is being written; the kernel's number is n_functions */
    PtxCallee *callees;   /* by function */
    WbbMap called;        /* by function and arguments, a PtxCalled */
    WbbMap made;          /* by terms, a PtxMade */
    WbbMap numbers;       /* by width and bits: a register of the function that holds the number */
    IrDemand demand;
    IrMaker maker;       /* of the lines that are added now */
    uint32_t used[PTX_KINDS], labels;
    WbbBuf globals;       /* tables in memory, before the kernel */
    WbbMap tables;        /* by name: those that are in `globals` */
    IrLines locations;    /* of lines, where they are asked for */
} PtxBuild;

/* line.c: text ----------------------------------------------------------------------------------------------------- */
/* Adds a line to the scope b->at. %R a PtxReg, %F the same where a number is a float's bits, %s a text, %u a uint32_t,
 * %l an int64_t. */
void ptx_line(PtxBuild *b, const char *format, ...);
void ptx_add_line(PtxBuild *b, const char *text);
void ptx_label(PtxBuild *b, uint32_t label);
void ptx_put_reg(WbbBuf *out, PtxReg r, bool is_float);
const char *ptx_comment(PtxBuild *b, IrMaker m);
void ptx_put_loc(PtxBuild *b, WbbBuf *out, IrMaker m); /* `.loc`, where the line before has another */
void ptx_decline(const PtxBuild *b, const char *what, const char *name) WBB_NORETURN;

/* preds.c: preds that were loaded ---------------------------------------------------------------------------------- */
/* Both, or any of two; NULL: that is no test of one word. */
PtxValue *ptx_joined_tests(PtxBuild *b, const PtxValue *x, const PtxValue *y, IrType type, bool all);
void ptx_bytes(PtxBuild *b, PtxValue *v, PtxReg *words); /* as they are stored */

/* value.c: registers of values ------------------------------------------------------------------------------------- */
bool ptx_is_here(const PtxBuild *b, uint32_t scope);
bool ptx_has(const PtxBuild *b, IrRef r); /* is the node's value there for what is written now? */
uint64_t ptx_zero(const PtxValue *v, uint32_t i); /* the bits that element i never has set in its register */
PtxReg ptx_new(PtxBuild *b, PtxKind kind);
const char *ptx_suffix(PtxKind kind); /* "b32" */
PtxReg ptx_number(uint32_t bits, uint64_t n);
PtxReg ptx_register(PtxBuild *b, PtxReg r); /* the register itself, or one that holds the number */
uint32_t ptx_parts(IrType t);               /* registers of an element: 2 of complex ones */
uint32_t ptx_bits(IrType t);                /* of a part */
uint32_t ptx_n_elements(IrType t);          /* lanes, times parts */
uint32_t ptx_n_words(IrType t);
PtxKind ptx_kind(IrType t);                 /* of the register of an element */
PtxKind ptx_word_kind(IrType t);
PtxValue *ptx_value(PtxBuild *b, IrType type); /* without registers, in the scope b->at */
PtxValue *ptx_constant(PtxBuild *b, IrType type, uint64_t bits);
PtxReg *ptx_words(PtxBuild *b, PtxValue *v);
PtxReg ptx_element(PtxBuild *b, PtxValue *v, uint32_t i);
PtxReg ptx_extended(PtxBuild *b, PtxValue *v, uint32_t i, char how); /* 'z', 's', 'o', or anything else */
PtxReg ptx_pair(PtxBuild *b, PtxValue *v, uint32_t i); /* words 2i and 2i + 1 in one register */
PtxValue *ptx_part(PtxBuild *b, PtxValue *v, IrType type, uint32_t first);
PtxValue *ptx_pack(PtxBuild *b, PtxValue *x, PtxValue *y, IrType type);
PtxValue *ptx_splat(PtxBuild *b, PtxValue *x, IrType type);
void ptx_move(PtxBuild *b, PtxReg to, PtxReg from);

/* width.c ---------------------------------------------------------------------------------------------------------- */
PtxReg ptx_index(PtxBuild *b, IrRef r, bool wide);   /* the value of an emitted index node, in 64 or 32 bits */
PtxReg ptx_resize(PtxBuild *b, PtxReg x, bool wide, bool negative); /* negative: it may be */

/* division.c ------------------------------------------------------------------------------------------------------- */
PtxReg ptx_quotient(PtxBuild *b, PtxReg x, uint64_t k, WbbI128 most, bool wide); /* x / k of an x in 0..most */
PtxReg ptx_rest(PtxBuild *b, PtxReg x, uint64_t k, PtxReg q, bool wide);         /* x - k * q */
/* What a row of LLVM's name does to an element and a constant; false: it is no division, or none of 32 bits. */
bool ptx_division(PtxBuild *b, const char *row, ScType type, PtxReg x, uint64_t divisor, PtxReg *out);

/* index.c ---------------------------------------------------------------------------------------------------------- */
PtxValue *ptx_index_node(PtxBuild *b, IrRef r);      /* emits sum, floordiv, mod, max, min; NULL: another */
PtxValue *ptx_index_compare(PtxBuild *b, IrRef r);   /* NULL: it is none of indices */
PtxValue *ptx_index_cast(PtxBuild *b, IrRef r);
/* Two comparisons that both hold, if they are the bounds of one index, as one without a sign. NULL: they are not. */
PtxValue *ptx_index_range(PtxBuild *b, IrRef both);

/* address.c: sums of terms, and what they address ------------------------------------------------------------------ */
PtxMade *ptx_made(PtxBuild *b, const uint64_t *key, size_t n); /* of a key: PTX_NONE where none is here */
IrSplit ptx_expanded(PtxBuild *b, IrRef index); /* of an index, by what is there already */
PtxReg ptx_terms(PtxBuild *b, const IrSplit *s, bool wide); /* their sum without the constant */
typedef struct {
    PtxReg base;        /* PTX_NONE: `name` */
    const char *name;
    int64_t offset;
    const char *space;  /* ".global" */
} PtxAddress;
PtxReg ptx_base(PtxBuild *b, uint32_t buffer); /* the register with its address */
PtxAddress ptx_address(PtxBuild *b, uint32_t buffer, IrRef index);
/* Of the byte with a packed element of which 1 << down are in a byte, where all terms are whole bytes; else false. */
bool ptx_byte_address(PtxBuild *b, uint32_t buffer, IrRef index, uint32_t down, PtxAddress *out);
const char *ptx_address_text(PtxBuild *b, PtxAddress a); /* without brackets */

/* digits.c --------------------------------------------------------------------------------------------------------- */
void ptx_find_digits(PtxBuild *b); /* after the scopes are assigned */
/* false: the term is better had as a product. joins: the sum before it is masks, too */
bool ptx_digit(PtxBuild *b, IrTerm term, bool joins, PtxDigit *out);
uint32_t ptx_zero_of_term(PtxBuild *b, IrTerm t);        /* bits that it never has, of 32 */

/* memory.c --------------------------------------------------------------------------------------------------------- */
PtxValue *ptx_load(PtxBuild *b, IrRef r, uint32_t buffer, IrRef index); /* of any type, also what a `do` reads */
void ptx_store(PtxBuild *b, PtxValue *v, uint32_t buffer, IrRef index, const char *order);

/* known.c ---------------------------------------------------------------------------------------------------------- */
/* Bits that are never set in the result of a row in registers of so many bits, whose operands are extended as told. */
uint64_t ptx_zero_of_row(const char *name, const char *extend, PtxValue **x, uint32_t count, uint32_t lanes,
                         uint32_t register_bits);

/* row.c ------------------------------------------------------------------------------------------------------------ */
/* address: of the memory that it accesses, or NULL */
PtxValue *ptx_row(PtxBuild *b, IrRef r, bool effect, const PtxAddress *address);

/* call.c ----------------------------------------------------------------------------------------------------------- */
PtxValue *ptx_call(PtxBuild *b, IrRef r);
const char *ptx_result_text(PtxBuild *b, const IrFunction *f, const char *name); /* its declaration */
void ptx_return(PtxBuild *b, const IrFunction *f, PtxValue **values);

/* node.c ----------------------------------------------------------------------------------------------------------- */
void ptx_emit(void *build, IrRef r, uint32_t scope); /* an IrEmit */
/* Defines a variable that something uses: a definition that is no other use may be all that a branch has. */
void ptx_let(PtxBuild *b, const IrStmt *s);

/* unused.c --------------------------------------------------------------------------------------------------------- */
void ptx_remove_unused(PtxBuild *b, PtxLines *lines);

/* statement.c ------------------------------------------------------------------------------------------------------ */
/* Writes the statements of the next scope, and its n yields; its lines stay in b->lines[]. Returns its number. */
uint32_t ptx_scope(PtxBuild *b, const IrBlock *statements, const IrRef *yields, uint32_t n, PtxValue **values);
void ptx_append(PtxBuild *b, uint32_t to, uint32_t from); /* the lines of a closed scope */

#endif
