/* The decoded program and the state of a running block, which the files of sim/ share.
 *
 * A warp's registers are columns of 32 lanes in one flat file of bytes: register r of lane l is at column r plus l
 * times its width (predicates 1 byte, 16-bit 2, ...). Constants, special registers and kernel parameters are columns
 * too, so an operation has only one kind of operand. Functions never recurse, so every register of every function
 * has its own column.
 */
#ifndef SIM_INNER_H
#define SIM_INNER_H

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
    OP_MATRIX, OP_MATCH, OP_ELECT, OP_YIELD, OP_CLOCK, OP_SYSTEM, OP_COPY, OP_COPY_GROUP, OP_MBARRIER,
    OP_MBARRIER_WAIT, OP_KINDS
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
    uint8_t class;    /* SimClass */
    uint8_t tracked;  /* undefined.c: it reads or writes a column that may be undefined */
    uint8_t mode;     /* of shuffles, votes, atomics, carries */
    int32_t line;     /* of the PTX */
    int32_t source;   /* index + 1 into the locations of .loc, or 0 */
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
    bool fences;             /* fences, or acquire or release accesses occur */
    bool barrier;            /* warps may wait for each other: each has a register file of its own */
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
    WbbMap symbols;          /* by interned name, the innermost */
    SimFunc *func;
    WbbMap rows;             /* of the instruction table, by name */
    struct { SimFixup *items; uint32_t n, capacity; } fixups; /* operations and branch tables that name a label */
    struct { SimSym **items; uint32_t n, capacity; } labels;  /* of this function */
    struct { SimCall *items; uint32_t n, capacity; } calls;
    WbbMap constants;        /* by value, width and `from`, the number of a SimConst + 1 */
    struct { const char **items; uint32_t n, capacity; } files; /* of .file, by number */
    int location;            /* current .loc, index + 1 */
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
extern const SimRow sim_rows_int[], sim_rows_float[], sim_rows_half[], sim_rows_cvt[], sim_rows_rare[];

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

/* decode.c, and the decoders that it and decode_flow.c choose from; those that return false do not know the
 * instruction */
void sim_decode(Parser *p, const Inst *inst);
void sim_decode_memory(Parser *p, const Inst *inst, bool store);
void sim_decode_warp(Parser *p, const Inst *inst);
void sim_decode_atomic(Parser *p, const Inst *inst);
void sim_decode_matrix(Parser *p, const Inst *inst);
bool sim_decode_rare(Parser *p, const Inst *inst);
bool sim_decode_lanes(Parser *p, const Inst *inst);
void sim_decode_barrier(Parser *p, const Inst *inst);
bool sim_decode_copy(Parser *p, const Inst *inst);
bool sim_decode_cvt(Parser *p, const Inst *inst);

/* The running block ---------------------------------------------------------------------------- */
typedef struct {
    uint32_t pc, mask;
    bool parked;
} Group;

typedef struct Warp {
    uint8_t *regs;
    uint8_t *local, *local_written;
    uint32_t *undefined;      /* of each tracked column, the lanes that are undefined; NULL: not tracked */
    uint32_t live;            /* lanes that have not ended */
    uint32_t all;             /* lanes that exist */
    uint32_t pc, mask;        /* the running group */
    uint32_t next_pc;         /* lowest pc of the groups that wait unparked */
    Group groups[LANES];
    int n_groups;
    uint32_t at_barrier;      /* barrier number + 1 while waiting; AT_MBARRIER */
    const struct SimOp *wait; /* the operation at which it waits */
    uint32_t cluster_phase;   /* of the cluster's barrier when it arrived */
    uint32_t copy_group[LANES]; /* groups of asynchronous copies that were committed */
    bool done;
    uint64_t executed, slice; /* instructions of a lane, roughly; for the budget; when a loop gives way */
    uint32_t first_thread;
    uint16_t cluster_arrivals, cluster_waits; /* at the cluster's barrier; the arrival that it waited for last */
} Warp;

/* shadow.c: the last accesses of each byte of a segment. */
typedef struct SimShadow SimShadow;
typedef enum { SIM_TOUCH_LOAD, SIM_TOUCH_STORE, SIM_TOUCH_ATOMIC } SimTouch;
enum { SIM_GRANULE = 64 };
/* SimOp.mode of a load or store: volatile, relaxed, acquire or release; of a load: .nc */
enum { SIM_STRONG = 1, SIM_CONSTANT = 2 };
/* Segment.written of a byte: written; a second store was reported; it has contents from the start; ld.global.nc
 * reads them; and an earlier launch wrote it, so that another store is the second. */
enum { SIM_WRITTEN = 1, SIM_REPORTED = 2, SIM_CONTENTS = 3, SIM_HELD = 4, SIM_EARLIER = 5 };

typedef struct {
    uint8_t *bytes, *written;
    uint64_t size;
    uint32_t align;                 /* a power of two, or 0: of everything */
    bool readonly, track, multiple; /* stores are faults; reads need earlier writes; several writes are fine */
    bool complete;                  /* every byte must be written in the end */
    const char *name;
    SimShadow *shadow;              /* NULL: races are not looked for */
    uint32_t *writers;              /* of each SIM_GRANULE bytes: 1 + number of the block that wrote last; or NULL */
    bool initialised;               /* it has contents from the start of the launch */
    bool argument;                  /* the launch has its address */
    const SimSource *source;        /* which are made page by page; or NULL */
} Segment;

/* A barrier of a block: the warps that came since it was last complete. */
typedef struct {
    uint32_t expected;     /* threads; 0: all warps that have not ended */
    uint32_t arrived;      /* threads, in whole warps */
    uint32_t came, waiting; /* warps */
    uint32_t set, lanes;   /* bar.red: threads whose predicate held, threads that came */
    uint32_t clock[LANES];
} Barrier;

enum { BARRIERS = 16, AT_CLUSTER = 17, AT_MBARRIER = 18 };

/* An asynchronous copy that was issued. It happens when a thread waits for it, as late as the program allows. */
typedef struct {
    const SimOp *op;
    struct Warp *warp;
    uint64_t to, from, mbarrier; /* generic addresses; mbarrier 0: a group's */
    uint32_t size, source;       /* bytes; the rest after `source` is zeros */
    uint32_t group;
    uint8_t lane;
} Copy;

typedef struct {
    uint64_t address;
    uint32_t clock[LANES];
} MbarrierClock;

/* The blocks that run together and see each other's shared memory. */
typedef struct {
    struct Block *blocks[MAX_CLUSTER];
    int n;
    bool
        unwatched; /* accesses to shared memory of other blocks: something may order them that shadow.c does not know */
    uint32_t phase, arrived; /* of the cluster's barrier: how often it was complete, warps that came since */
} Cluster;

/* counts.c: executions of an operation. */
typedef struct {
    uint64_t threads, warps;
} SimTally;

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
    SimShadow *shared_shadow;
    uint32_t shadow_pages;
    bool outputs_read;        /* a load of an output was seen */
    bool spread;              /* other threads run other blocks: a fault, or a read of an output, stops this one */
    uint32_t id[3], number;   /* of the block */
    uint32_t serial;          /* shadow.c: 1 + rank + MAX_CLUSTER * the number of the cluster */
    uint32_t clock[LANES][LANES]; /* [p][q]: how far warp p surely comes after warp q */
    Warp *warps;
    int n_warps;
    uint64_t budget;
    bool stop;
    SimReport report;
    uint64_t fault_keys[SIM_MAX_FAULTS];
    uint8_t *scratch; /* one column */
    uint32_t round;   /* rounds over all warps so far */
    SimTally *tally;  /* by operation; NULL: not counted */
    Barrier barriers[BARRIERS];
    uint32_t busy;    /* barriers that a warp has come to */
    Cluster *cluster;
    uint32_t rank, ticks;
    struct { Copy *items; uint32_t n, capacity; } copies;
    struct { MbarrierClock *items; uint32_t n, capacity; } mbarriers;
} Block;

/* What is the same for all blocks of a launch. */
typedef struct {
    const BdLaunch *launch; /* its grid counts blocks */
    BdLaunch groups;        /* its grid counts clusters */
    const SimOptions *options;
    const uint8_t *params;
    const uint32_t *table;  /* numbers of threads in their block, by warp and dimension */
    uint32_t threads, size; /* of a block; blocks of a cluster */
    uint64_t n;             /* clusters to run */
} SimPlan;

/* One lane of a column. */
static inline uint64_t sim_lane(const uint8_t *column, int lane, int width)
{
    uint64_t v = 0;
    memcpy(&v, column + (size_t)lane * (size_t)width, (size_t)width);
    return v;
}

static inline uint32_t sim_lane32(const uint8_t *column, int lane)
{
    uint32_t v;
    memcpy(&v, column + 4 * (size_t)lane, 4);
    return v;
}

static inline uint64_t sim_lane64(const uint8_t *column, int lane)
{
    uint64_t v;
    memcpy(&v, column + 8 * (size_t)lane, 8);
    return v;
}

/* Bits of a predicate column, whose lanes are 0 or 1. */
static inline uint32_t sim_predicates(const uint8_t *column)
{
    uint32_t r = 0;
    for (int i = 0; i < 4; i++) {
        uint64_t eight;
        memcpy(&eight, column + 8 * i, 8);
        r |= (uint32_t)((eight * UINT64_C(0x0102040810204080)) >> 56) << (8 * i);
    }
    return r;
}

/* columns.c */
void sim_fill(uint8_t *column, uint64_t value, int width);
void sim_blend(uint8_t *d, const uint8_t *s, uint32_t mask, int width); /* lanes of `mask` take the value of `s` */

/* fault.c */
void sim_add_fault(Block *b, uint64_t key, const char *text); /* one of a key is kept */
void sim_fault(Block *b, const Warp *w, const SimOp *op, int lane, const char *format, ...) WBB_PRINTF(5, 6);

/* shadow.c */
SimShadow *sim_shadow(WbbArena *a, uint64_t size, bool per_block, bool stores_judged);
void sim_clock_reset(Block *b);
void sim_warp_ordered(Block *b,
                      const Warp *w); /* what lanes of the warp did so far comes before what they do from now on */
void sim_ordered(Block *b, uint32_t warps); /* all that these warps did comes before all that they do from now on */
void sim_release(Block *b, const Warp *w, uint32_t clock[LANES]); /* what the warp did so far goes into the clock */
void sim_acquire(Block *b, Warp *w, const uint32_t clock[LANES]); /* and comes before what another does from now on */
/* One lane touches bytes at..at+size; of a store `value` is what it writes and `memory` what is there, or both are
 * NULL. */
void sim_touch(Block *b, Warp *w, const SimOp *op, int lane, SimShadow *s, uint64_t at, size_t size, SimTouch kind,
               const uint8_t *value, const uint8_t *memory, const char *name);

/* counts.c */
SimClass sim_class(const char *name);
void sim_count_open(Block *b);
void sim_count_close(const Block *b, const SimReport *r);
void sim_counts_add(SimCounts *to, const SimCounts *from);
/* A warp's access of `size` bytes a lane at generic addresses. */
void sim_count_access(Block *b, const SimOp *op, const uint64_t address[LANES], uint32_t mask, SimAccess kind,
                      size_t size);
void sim_count_range(Block *b, uint64_t address, uint64_t bytes, SimAccess kind); /* of a bulk copy */

/* memory.c */
void sim_addresses(const Warp *w, const SimOp *op, uint64_t address[LANES]); /* generic */
void sim_load(Block *b, Warp *w, const SimOp *op, uint32_t mask);
void sim_store(Block *b, Warp *w, const SimOp *op, uint32_t mask);
/* Memory of one lane at a generic address; NULL after a fault. `read` and `write` say what is judged; with neither it
 * is an atomic update by a copy. */
uint8_t *sim_memory_at(Block *b, Warp *w, const SimOp *op, int lane, uint64_t address, size_t size, bool read,
                       bool write);
/* Memory that one lane reads and writes; NULL after a fault. */
uint8_t *sim_atomic_memory_at(Block *b, Warp *w, const SimOp *op, int lane, bool read, bool *global);
uint8_t *sim_row_memory_at(Block *b, Warp *w, const SimOp *op, int lane, bool store);
/* Bytes that a copy will write: judged like a store, and unknown until then. */
bool sim_unwritten(Block *b, Warp *w, const SimOp *op, int lane, uint64_t address, size_t size);

/* undefined.c: find the columns that may be read before they are written; watch one operation of them. */
void sim_undefined_open(WbbArena *a, SimModule *m);
void sim_undefined_reset(const SimModule *m, Warp *w);
void sim_undefined(Block *b, Warp *w, const SimOp *op);
/* Lane l of a shuffle got its value from lane from[l]; -1: from none. */
void sim_undefined_shuffle(const Block *b, Warp *w, const SimOp *op, const int8_t from[LANES], uint32_t mask);

/* atomic.c, matrix.c, system.c, lanes_op.c: what one warp does at one operation */
void sim_atomic(Block *b, Warp *w, const SimOp *op, uint32_t mask);
void sim_matrix(Block *b, Warp *w, const SimOp *op, uint32_t mask);
void sim_system(Block *b, Warp *w, const SimOp *op, uint32_t mask);
int sim_system_number(const char *name); /* -1: it is none of the runtime's */
void sim_warp_op(Block *b, Warp *w, const SimOp *op, uint32_t mask);

/* copy.c */
void sim_copy(Block *b, Warp *w, const SimOp *op, uint32_t mask);
void sim_mbarrier(Block *b, Warp *w, const SimOp *op, uint32_t mask);
uint32_t sim_mbarrier_ready(Block *b, Warp *w, const SimOp *op, uint32_t mask);
void sim_mbarrier_wait(Block *b, Warp *w, const SimOp *op, uint32_t mask);

/* barrier.c: a whole warp comes to a barrier; true if it waits. Barriers that are complete let their warps go. */
bool sim_barrier(Block *b, Warp *w, const SimOp *op, uint32_t mask);
void sim_barriers_open(Block *b);
void sim_deadlock(Block *b);

/* groups.c */
void sim_group_add(Warp *w, uint32_t pc, uint32_t mask, bool parked);
bool sim_group_pick(Block *b, Warp *w); /* choose the group that runs next; false if none can */
bool sim_group_next(Block *b, Warp *w); /* the same; if none can, the warp waits for others or has ended */
void sim_group_yield(Warp *w);
void sim_group_split(Block *b, Warp *w, uint32_t pc, uint32_t mask, uint32_t pc2, uint32_t mask2);
bool sim_group_join(Block *b, Warp *w, const SimOp *op, uint32_t *mask);

/* straight.c: the warp runs the stretch that it is at up to operation `end`; how many instructions that were. */
void sim_straight_open(WbbArena *a, SimModule *m);
uint32_t sim_straight(Block *b, Warp *w, uint32_t end);

/* warp.c */
void sim_run_warp(Block *b, Warp *w);

/* block.c */
void sim_block_open(Block *b, const uint8_t *params);
void sim_cluster_run(Cluster *c, const uint32_t *table, uint32_t threads);

/* plan.c: make the blocks of a cluster after a model; run cluster number i of the list, true if it stopped the
 * launch. */
/* The position in the grid of block `rank` of cluster `number`; clusters are numbered in the grid as blocks in a
 * cluster, x first. */
void sim_block_ids(const BdLaunch *launch, uint64_t number, uint32_t rank, uint32_t id[3]);
uint64_t sim_grid_blocks(const BdLaunch *launch);
void sim_plan_open(const Block *model, const SimPlan *p, Cluster *c);
bool sim_plan_run(Cluster *c, const SimPlan *p, uint64_t i);
void sim_plan_report(const Cluster *c, SimReport *r); /* counts and faults of the blocks of a cluster, in one report */

/* cores.c: run the whole list on several threads and report it; false if nothing is done, and one thread must run
 * it. */
bool sim_spread(Block *model, const SimPlan *plan, SimReport *report);

#endif
