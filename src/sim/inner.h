/* What the files of sim/ share: the decoded program and the state of a running block.
 *
 * A warp's registers are columns of 32 lanes in one flat file of bytes: register r of lane l is at column r plus l times its
 * width (predicates 1 byte, 16-bit 2, ...). Constants, special registers and kernel parameters are columns too, so an
 * operation has only one kind of operand. Functions never recurse, so every register of every function has its own column.
 */
#ifndef SIM_INNER_H
#define SIM_INNER_H

#include "sim/sim.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LANES = 32 };
#define FULL UINT32_MAX

/* lex.c --------------------------------------------------------------------------------------------------------------- */
typedef enum { TOK_END, TOK_NAME, TOK_NUMBER, TOK_STRING, TOK_PUNCT } TokKind;

typedef struct {
    TokKind kind;
    const char *text; /* not NUL-terminated; strings without quotes */
    int n;
    int line, col;
} Tok;

typedef struct {
    WbbCx *cx;
    const char *file;
    const char *at, *line_start;
    int line;
    Tok tok; /* the current one */
} Lex;

Lex sim_lex(WbbCx *cx, const char *file, const char *text);
void sim_next(Lex *x);
bool sim_is(const Lex *x, const char *text);
bool sim_accept(Lex *x, const char *text);
void sim_expect(Lex *x, const char *text);
WbbLoc sim_loc(const Lex *x);

/* The program ---------------------------------------------------------------------------------------------------------- */
typedef struct SimOp SimOp;
typedef void SimFn(uint8_t *d, const uint8_t *regs, const SimOp *op);

typedef enum {
    OP_ALU, OP_LOAD, OP_STORE, OP_BRANCH, OP_BRANCH_TABLE, OP_CALL, OP_RET, OP_EXIT, OP_BARRIER, OP_SHUFFLE, OP_VOTE,
    OP_REDUX, OP_ACTIVE, OP_CARRY, OP_PARAM_LOAD, OP_PARAM_STORE, OP_PARAM_COPY, OP_WARP_SYNC, OP_TRAP
} OpKind;

/* Operands are byte offsets of columns; 0 = none (the first bytes of a register file hold no column). */
struct SimOp {
    SimFn *fn;
    uint32_t d, a, b, c, e;
    uint32_t pred;    /* guard */
    uint8_t kind;     /* OpKind */
    uint8_t negate;   /* the guard is inverted */
    uint8_t width;    /* bytes of the destination column's lanes */
    uint8_t counts;   /* 1 for the first operation of an instruction */
    uint8_t space, lanes_n, bytes, address; /* memory: SimSpace, elements, bytes each, bytes of the address column */
    uint8_t mode;     /* of shuffles, votes, atomics, carries */
    int32_t line;     /* of the PTX */
    int32_t source;   /* index + 1 into the places of .loc, or 0 */
    uint32_t target;  /* branch; table: first of n targets; call: function; memory: first of its columns */
    uint32_t n;
    int64_t imm;      /* memory: offset; shuffles: their constants; alu: modifiers */
};

typedef struct {
    uint32_t col;   /* its column */
    uint8_t width;  /* bytes; 0 = a sink */
    uint8_t sign;   /* load: extend the sign into a wider register */
} SimCol;

/* A column that is filled before the first warp runs. */
typedef struct {
    uint32_t col;
    uint8_t width;
    uint8_t from; /* 0: value; 1: kernel parameter at byte `value`; 2: dynamic shared memory's start; 3: one byte of 1 */
    uint64_t value;
} SimConst;

typedef enum { SYM_REG, SYM_GLOBAL, SYM_CONST, SYM_SHARED, SYM_LOCAL, SYM_PARAM, SYM_KERNEL_PARAM, SYM_LABEL, SYM_FUNC } SymKind;

typedef struct SimSym {
    SymKind kind;
    const char *name; /* interned */
    uint32_t col;     /* register or function parameter: its column; label: operation, or UINT32_MAX */
    uint8_t width;    /* register */
    uint64_t address; /* variables: in their space */
    uint64_t size;
    struct SimFunc *func;
    struct SimSym *next;  /* the one declared before it */
    struct SimSym *older; /* next of its hash chain */
} SimSym;

typedef struct SimFunc {
    const char *name;
    bool entry, defined;
    uint32_t start;          /* first operation */
    uint32_t ret_col;        /* where each lane returns to */
    uint32_t n_params, n_rets;
    SimSym **params, **rets; /* formals */
    uint64_t param_bytes;    /* entry: of all parameters */
    uint32_t depth;          /* calls below it */
} SimFunc;

typedef struct {
    uint8_t *init; /* contents at launch */
    uint64_t size, align;
    bool constant;
    const char *name;
} SimVar;

/* A .loc: its file has a name once the whole text is read, since .file may come last. */
typedef struct {
    const char *file;
    uint32_t number;
    int line;
} SimPlace;

struct SimModule {
    WbbCx *cx;
    const char *file, *text;
    struct { SimOp *items; uint32_t n, room; } ops;
    struct { SimCol *items; uint32_t n, room; } cols;
    struct { SimConst *items; uint32_t n, room; } consts;
    struct { SimFunc **items; uint32_t n, room; } funcs;
    struct { SimVar *items; uint32_t n, room; } vars;
    struct { SimPlace *items; uint32_t n, room; } places;
    struct { uint32_t *items; uint32_t n, room; } targets; /* of branch tables */
    uint32_t file_bytes;     /* of one register file */
    uint64_t shared_bytes;   /* static */
    uint64_t shared_align;
    uint64_t local_bytes;    /* a thread */
    uint32_t carry_col;      /* the carry flag, 0 if unused */
    bool barrier;            /* some kernel has one */
    uint32_t special[32];    /* columns of special registers, 0 if unused */
};

/* Special registers, in the order of names in decode.c. */
enum {
    SP_TID_X, SP_TID_Y, SP_TID_Z, SP_NTID_X, SP_NTID_Y, SP_NTID_Z, SP_CTAID_X, SP_CTAID_Y, SP_CTAID_Z, SP_NCTAID_X,
    SP_NCTAID_Y, SP_NCTAID_Z, SP_LANEID, SP_WARPID, SP_NWARPID, SP_MASK_EQ, SP_MASK_LE, SP_MASK_LT, SP_MASK_GE, SP_MASK_GT,
    SP_COUNT
};

/* Address spaces of generic pointers: the number above bit 40. Buffers count from 1. Buffers and variables start in the middle
 * of their segment, so that an access before the start is still seen as theirs. */
enum { SEG_SHIFT = 40, SEG_VARS = 0x4000, SEG_SHARED = 0x7001, SEG_LOCAL = 0x7003 };
#define SEG_START (UINT64_C(1) << (SEG_SHIFT - 1))

/* parse.c and decode.c ------------------------------------------------------------------------------------------------- */
typedef enum { OPD_REG, OPD_INT, OPD_F32, OPD_F64, OPD_SYMBOL, OPD_VECTOR, OPD_ADDRESS, OPD_SINK } OpdKind;

typedef struct Opd {
    OpdKind kind;
    bool negate;        /* !%p */
    uint32_t col;       /* register */
    uint8_t width;      /* of the register, bytes; predicates 1 */
    uint64_t bits;      /* immediate */
    SimSym *sym;
    int64_t offset;     /* address */
    struct Opd *items;  /* vector: n of them; address: the base */
    int n;
    WbbLoc loc;
} Opd;

enum { MAX_OPERANDS = 12, MAX_PARTS = 12 };

typedef struct {
    WbbLoc loc;
    const char *name;                /* the opcode as written, interned */
    const char *part[MAX_PARTS];     /* its parts between dots, interned */
    int n_parts;
    uint32_t pred;
    bool negate;
    Opd opd[MAX_OPERANDS];
    int n;
    int second; /* p|q: the index of q among the operands, or 0 */
} Inst;

typedef struct SimRow SimRow;

typedef struct {
    uint32_t at; /* an operation, or an entry of SimModule.targets */
    bool table;
    SimSym *label;
    WbbLoc loc;
} SimFixup;

typedef struct {
    SimFunc *caller, *callee;
    WbbLoc loc;
} SimCall;

typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    SimModule *m;
    Lex lex;
    SimSym *scope;           /* innermost first */
    SimSym **table;          /* symbols by hash of their names, innermost first */
    SimFunc *func;
    const SimRow **rows;     /* hash of the instruction table, by interned name */
    const char **row_names;
    uint32_t row_mask;
    struct { SimFixup *items; uint32_t n, room; } fixups; /* operations and branch tables that name a label */
    struct { SimSym **items; uint32_t n, room; } labels;  /* of this function */
    struct { SimCall *items; uint32_t n, room; } calls;
    uint32_t *const_hash;    /* columns of constants by value and width */
    uint32_t const_mask;
    struct { const char **items; uint32_t n, room; } files; /* of .file, by number */
    int place;               /* current .loc, index + 1 */
    uint32_t scope_depth;
    bool first;              /* the next operation is the first of its instruction */
    const Inst *inst;
} Parser;

const char *sim_name(Parser *p);
uint64_t sim_number(Parser *p);
void sim_instruction(Parser *p);
void sim_rows_open(Parser *p);
extern const char *const sim_special_names[];
uint32_t sim_column(Parser *p, uint32_t bytes_a_lane);
SimSym *sim_lookup(const Parser *p, const char *name);
SimSym *sim_label(Parser *p, const char *name);
void sim_decode(Parser *p, const Inst *inst);
void sim_decode_memory(Parser *p, const Inst *inst, bool store);
void sim_decode_warp(Parser *p, const Inst *inst);
bool sim_decode_cvt(Parser *p, const Inst *inst);
SimOp *sim_emit(Parser *p, OpKind kind);
uint32_t sim_constant(Parser *p, uint64_t value, int width);
uint32_t sim_const_column(Parser *p, int width, int from, uint64_t value);
uint32_t sim_read(Parser *p, const Opd *o, char type);
uint32_t sim_result(Parser *p, const Opd *o, char type);
void sim_done(Parser *p, const Opd *o, uint32_t col, char type, bool sign);
void sim_row(Parser *p, const char *name, uint32_t d, uint32_t a, uint32_t b, uint32_t c);
void sim_unknown(Parser *p, const Inst *inst, const char *why) WBB_NORETURN;
bool sim_has(const Inst *inst, const char *part);
int sim_width_of(char type);

/* The instruction table: names separated by blanks, columns of destination and sources by letter: p predicate, h 16 bits,
 * w 32, d 64, f and g 32 and 64 bits where immediates are floats, i an immediate that goes to `imm`. */
struct SimRow {
    const char *names, *types;
    SimFn *fn;
};
extern const SimRow sim_rows_int[], sim_rows_float[], sim_rows_half[], sim_rows_cvt[];

/* warp.c, memory.c, check.c, run.c -------------------------------------------------------------------------------------- */
typedef struct {
    uint32_t pc, mask;
    bool parked;
} Group;

typedef struct {
    uint8_t *regs;
    uint8_t *local, *local_written;
    uint32_t live;            /* lanes that have not ended */
    uint32_t all;             /* lanes that exist */
    uint32_t pc, mask;        /* the running group */
    uint32_t next_pc;         /* lowest pc of the groups that wait unparked */
    Group groups[LANES];
    int n_groups;
    uint32_t at_barrier;      /* barrier number + 1 while waiting */
    bool done;
    uint64_t executed;        /* instructions of a lane, roughly; for the budget */
    uint32_t first_thread;
} Warp;

typedef struct {
    uint8_t *bytes, *written;
    uint64_t size;
    bool readonly, track, multiple; /* stores are faults; reads need earlier writes; several writes are fine */
    bool complete;                  /* every byte must be written in the end */
    const char *name;
} Segment;

/* One host thread's state. */
typedef struct Block {
    WbbCx *cx;
    WbbArena *arena;
    const SimModule *m;
    const SimFunc *entry;
    const BdLaunch *launch;
    const SimOptions *options;
    Segment *buffers; /* from number 1 */
    int n_buffers;
    Segment *vars;
    uint8_t *shared, *shared_written;
    uint64_t shared_size;
    uint32_t id[3];
    Warp *warps;
    int n_warps;
    uint64_t budget;
    bool stop;
    SimReport report;
    uint64_t fault_keys[SIM_MAX_FAULTS];
    uint8_t *scratch; /* one column */
} Block;

void sim_run_warp(Block *b, Warp *w);
void sim_load(Block *b, Warp *w, const SimOp *op, uint32_t mask);
void sim_store(Block *b, Warp *w, const SimOp *op, uint32_t mask);
void sim_warp_op(Block *b, Warp *w, const SimOp *op, uint32_t mask);
void sim_fault(Block *b, const Warp *w, const SimOp *op, int lane, const char *format, ...) WBB_PRINTF(5, 6);
void sim_blend(uint8_t *d, const uint8_t *s, uint32_t mask, int width);

#endif
