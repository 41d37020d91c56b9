/* The text and the decoded program, which the files of sim/ share.
 *
 * A warp's registers are columns of 32 lanes in one flat file of bytes: register r of lane l is at column r plus l
 * times its width (predicates 1 byte, 16-bit 2, ...). Constants, special registers and kernel parameters are columns
 * too, so an operation has only one kind of operand. Functions never recurse, so every register of every function
 * has its own column.
 */
#ifndef SIM_PROGRAM_H
#define SIM_PROGRAM_H

#include "sim/sim.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LANES = 32, SIM_COLUMN = 64 /* columns begin at multiples of it */ };
#define FULL UINT32_MAX

/* lex.c ---------------------------------------------------------------------------------------- */
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

/* The program ---------------------------------------------------------------------------------- */
typedef struct SimOp SimOp;
typedef void SimFn(uint8_t *d, const uint8_t *regs, const SimOp *op);

typedef enum {
    OP_ALU, OP_LOAD, OP_STORE, OP_BRANCH, OP_BRANCH_TABLE, OP_CALL, OP_RET, OP_EXIT, OP_BARRIER, OP_SHUFFLE, OP_VOTE,
    OP_REDUX, OP_ACTIVE, OP_CARRY, OP_PARAM_LOAD, OP_PARAM_STORE, OP_PARAM_COPY, OP_WARP_SYNC, OP_TRAP, OP_ATOMIC,
    OP_MATRIX, OP_MMA, OP_MATCH, OP_ELECT, OP_YIELD, OP_CLOCK, OP_SYSTEM, OP_COPY, OP_COPY_GROUP, OP_MBARRIER,
    OP_MBARRIER_WAIT, OP_FENCE, OP_KINDS
} OpKind;

/* SimOp.order of fences and strong accesses, 0 of others: bits, and a scope. */
enum { SCOPE_CTA, SCOPE_CLUSTER, SCOPE_GPU, SCOPES };
enum { ORDER_ACQUIRE = 1, ORDER_RELEASE = 2, ORDER_SCOPE = 2 /* shift */, ORDER_READ = 16, ORDER_WRITE = 32 };

/* SimOp.mode of moves between a wide register and two halves, and of what computes each half from halves alone. */
typedef enum { SIM_WHOLE, SIM_PACK, SIM_LOW, SIM_HIGH, SIM_HALVES } SimPair;

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
    uint8_t class;    /* SimClass */
    uint8_t tracked;  /* undefined.c: it reads or writes a column that may be undefined */
    uint8_t mode;     /* of shuffles, votes, atomics, carries; of loads SIM_CONSTANT; of OP_ALU SimPair */
    uint8_t order;    /* ORDER_ */
    int32_t line;     /* of the PTX */
    int32_t source;   /* index + 1 into the locations of .loc, or 0 */
    uint32_t target;  /* branch; table: first of n targets; call: function; memory: first of its columns */
    uint32_t n;       /* atom.cas: the column of the value that it compares with; of 16 bytes b has the upper half */
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
    uint8_t from; /* 0: value; 1: kernel parameter at byte `value`; 2: start of dynamic shared memory; 3: a byte of 1 */
    uint64_t value;
} SimConst;

typedef enum {
    SYM_REG, SYM_GLOBAL, SYM_CONST, SYM_SHARED, SYM_LOCAL, SYM_PARAM, SYM_KERNEL_PARAM, SYM_LABEL, SYM_FUNC
} SymKind;

typedef struct SimSym {
    SymKind kind;
    const char *name; /* interned */
    uint32_t col;     /* register or function parameter: its column; label: operation, or UINT32_MAX */
    uint8_t width;    /* register */
    uint64_t address; /* variables: in their space */
    uint64_t size;
    struct SimFunc *func; /* function: itself; register, shared variable: the last one that it counted for */
    bool live;            /* register: a way leads from the start of its function to a read, without a write */
    struct SimSym *next;  /* the one declared before it */
    struct SimSym *hidden; /* the one declared before it under the same name */
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
    WbbLoc loc;              /* of its name, where it was last declared */
    uint32_t cluster[3];     /* entry: .reqnctapercluster, or 0 */
    uint32_t block[3];       /* entry: .reqntid, or 0 */
    uint64_t most_threads;   /* entry: the product of .maxntid, or 0 */
    uint64_t shared_bytes;   /* of its static shared variables; after parsing, of those of its callees, too */
    bool orders;             /* its threads may order others through memory, or blocks of a cluster by its barrier;
                              * after parsing, those of its callees, too */
    uint32_t visited;        /* by the walk over its callees */
} SimFunc;

typedef struct {
    uint8_t *init; /* contents at launch */
    uint64_t size, align;
    bool constant;
    const char *name;
} SimVar;

/* A .loc: its files have names once the whole text is read, since .file may come last. */
typedef struct {
    const char *file, *user; /* user: where it was inlined, as a rule is into an instruction of HLO; or NULL */
    uint32_t number, user_number;
    int line, user_line;
} SimLocation;

/* Special registers, in the order of names in operand.c. */
enum {
    SP_TID_X, SP_TID_Y, SP_TID_Z, SP_NTID_X, SP_NTID_Y, SP_NTID_Z, SP_CTAID_X, SP_CTAID_Y, SP_CTAID_Z, SP_NCTAID_X,
    SP_NCTAID_Y, SP_NCTAID_Z, SP_LANEID, SP_WARPID, SP_NWARPID, SP_MASK_EQ, SP_MASK_LE, SP_MASK_LT, SP_MASK_GE,
    SP_MASK_GT, SP_CLUSTERID_X, SP_CLUSTERID_Y, SP_CLUSTERID_Z, SP_NCLUSTERID_X, SP_NCLUSTERID_Y, SP_NCLUSTERID_Z,
    SP_CLUSTER_CTAID_X, SP_CLUSTER_CTAID_Y, SP_CLUSTER_CTAID_Z, SP_CLUSTER_NCTAID_X, SP_CLUSTER_NCTAID_Y,
    SP_CLUSTER_NCTAID_Z, SP_CLUSTER_CTARANK, SP_CLUSTER_NCTARANK, SP_EXPLICIT_CLUSTER, SP_SMID, SP_NSMID, SP_GRIDID,
    SP_DYNAMIC_SHARED, SP_TOTAL_SHARED, SP_CLOCK, SP_CLOCK_HI, SP_CLOCK64, SP_TIMER, SP_TIMER_LO, SP_TIMER_HI,
    SP_ENVREG, SP_COUNT
};

struct SimModule {
    WbbCx *cx;
    const char *file, *text;
    struct { SimOp *items; uint32_t n, capacity; } ops;
    struct { const char **items; uint32_t n, capacity; } texts; /* of each operation: its instruction in the PTX */
    struct { SimCol *items; uint32_t n, capacity; } cols;
    struct { SimConst *items; uint32_t n, capacity; } consts;
    struct { SimFunc **items; uint32_t n, capacity; } funcs;
    struct { SimVar *items; uint32_t n, capacity; } vars;
    struct { SimLocation *items; uint32_t n, capacity; } locations;
    struct { uint32_t *items; uint32_t n, capacity; } targets; /* of branch tables */
    uint32_t file_bytes;     /* of one register file */
    uint64_t shared_bytes;   /* static */
    uint64_t shared_align;
    uint64_t local_bytes;    /* a thread */
    uint32_t carry_col;      /* the carry flag, 0 if unused */
    int target;              /* 90 of sm_90a; 0: not said */
    struct { SimSym **items; uint32_t n, capacity; } registers; /* in the order of their columns */
    uint32_t *undefined;     /* undefined.c: by column / SIM_COLUMN, 1 + the number of a tracked column, or 0 */
    uint32_t n_undefined;
    uint32_t fusings;        /* contract.c: ways to read products and sums without a rounding modifier */
    bool barrier;            /* warps may wait for each other: each has a register file of its own */
    bool polls;              /* threads may wait in a loop for what another thread stores */
    uint32_t special[SP_COUNT];    /* columns of special registers, 0 if unused */
    uint32_t *stretch, *counted;   /* straight.c: by operation */
};

/* Address spaces of generic pointers: the number above bit 40. Buffers count from 1. Buffers and variables start in
 * the middle of their segment, so that an access before the start still belongs to them. */
enum { SEG_SHIFT = 40, SEG_VARS = 0x4000, SEG_SHARED = 0x7001, SEG_LOCAL = 0x7003 };
#define SEG_START (UINT64_C(1) << (SEG_SHIFT - 1))
/* An address in shared memory of another block of the cluster has that block's rank + 1 above bit 24; 0 is the own
 * block. */
enum { RANK_SHIFT = 24, MAX_CLUSTER = 16 };

/* parse.c and decode.c ------------------------------------------------------------------------- */
typedef enum { OPD_REG, OPD_INT, OPD_F32, OPD_F64, OPD_SYMBOL, OPD_VECTOR, OPD_ADDRESS, OPD_SINK } OpdKind;

typedef struct Opd {
    OpdKind kind;
    bool negate;        /* !%p */
    uint32_t col;       /* register */
    uint8_t width;      /* of the register, bytes; predicates 1; 16: the vector is one register */
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
    const char *text;                /* in the PTX, from the opcode on */
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

/* contract.c: a register that holds a product which a sum may be fused with. */
typedef struct {
    uint32_t col;
    Opd factor[2];
    const char *type;
    bool flushes, negated;
} SimProduct;

typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    SimModule *m;
    Lex lex;
    SimSym *scope;           /* innermost first */
    WbbMap symbols;          /* by interned name, the innermost */
    SimFunc *func;
    WbbMap rows;             /* of the instruction table, by name */
    struct { SimFixup *items; uint32_t n, capacity; } fixups; /* operations and branch tables that name a label */
    struct { SimSym **items; uint32_t n, capacity; } labels;  /* of this function */
    struct { SimCall *items; uint32_t n, capacity; } calls;
    WbbMap constants;        /* by value, width and `from`, the number of a SimConst + 1 */
    struct { const char **items; uint32_t n, capacity; } files; /* of .file, by number */
    int location;            /* current .loc, index + 1 */
    struct { SimProduct *items; uint32_t n, capacity; } products; /* contract.c: of this block of the text */
    SimFusing fused;
    uint32_t scope_depth;
    bool first;              /* the next operation is the first of its instruction */
    const Inst *inst;
} Parser;

/* symbols.c */
const char *sim_name(Parser *p);
uint64_t sim_number(Parser *p); /* a whole number of the text, as directives write them */
SimSym *sim_lookup(const Parser *p, const char *name);
SimSym *sim_declare(Parser *p, SymKind kind, const char *name);
void sim_leave_scope(Parser *p, SimSym *outer);
SimSym *sim_label(Parser *p, const char *name);
uint32_t sim_column(Parser *p, uint32_t bytes_a_lane);

/* The instruction table: names separated by blanks, columns of destination and sources by letter: p predicate, h 16
 * bits, w 32, d 64, f and g 32 and 64 bits where immediates are floats, i an immediate that goes to `imm`. */
struct SimRow {
    const char *names, *types;
    SimFn *fn;
};
extern const SimRow sim_rows_int[], sim_rows_float[], sim_rows_half[], sim_rows_cvt[], sim_rows_rare[],
    sim_rows_packed[], sim_rows_terms[];

/* table.c */
void sim_rows_open(Parser *p);
const SimRow *sim_find_row(const Parser *p, const char *name);
int sim_width_of(char type);
SimOp *sim_emit(Parser *p, OpKind kind);
uint32_t sim_constant(Parser *p, uint64_t value, int width);
uint32_t sim_const_column(Parser *p, int width, int from, uint64_t value);
uint32_t sim_read(Parser *p, const Opd *o, char type);
/* A column to compute a result into; sim_done moves it to the operand. */
uint32_t sim_result(Parser *p, const Opd *o, char type);
void sim_done(Parser *p, const Opd *o, uint32_t col, char type, bool sign);
void sim_row(Parser *p, const char *name, uint32_t d, uint32_t a, uint32_t b, uint32_t c);
/* The operation of a row, with its sources flushed and its result clamped by the rows of these names, or NULL. */
void sim_plain(Parser *p, const Inst *inst, const SimRow *row, const char *flush, const char *clamp);
bool sim_by_table(Parser *p, const Inst *inst); /* false: it has no row */
void sim_unknown(Parser *p, const Inst *inst, const char *why) WBB_NORETURN;
bool sim_has(const Inst *inst, const char *part);

/* special.c */
uint32_t sim_special(Parser *p, int which);
bool sim_special_operand(Parser *p, const char *name, Opd *o); /* false: there is no such register */
const char *sim_special_name(uint32_t which);

/* operand.c */
Inst sim_instruction(Parser *p);

/* order.c: acquire, release and the scope among the parts; else `scope`. */
uint8_t sim_order_of(const Inst *inst, int scope);
void sim_decode_fence(Parser *p, const Inst *inst);

/* decode.c, and the decoders that it and decode_flow.c choose from; those that return false do not know the
 * instruction */
void sim_decode(Parser *p, const Inst *inst);
void sim_decode_memory(Parser *p, const Inst *inst, bool store);
void sim_decode_warp(Parser *p, const Inst *inst);
void sim_decode_atomic(Parser *p, const Inst *inst);
void sim_decode_matrix(Parser *p, const Inst *inst);
void sim_decode_mma(Parser *p, const Inst *inst);
bool sim_decode_rare(Parser *p, const Inst *inst);
bool sim_decode_lanes(Parser *p, const Inst *inst);
void sim_decode_barrier(Parser *p, const Inst *inst);
bool sim_decode_copy(Parser *p, const Inst *inst);
bool sim_decode_cvt(Parser *p, const Inst *inst);

/* contract.c: notes products; a sum that is to be fused with one is decoded here, and the result is true */
bool sim_contract(Parser *p, const Inst *inst);

#endif
