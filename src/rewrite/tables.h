/* The table types that gen/ fills and the engine reads: const data, indices and not pointers, deterministic.
 *
 * gen/gen_tables.py writes one RwTables per target (tables_sm90.c) and one for patterns/indexing.py (tables_index.c),
 * or all of them into a file that src/target/tables.c reads. gen/structs.py and tables.c list the fields of each.
 * The layout of `code` is described at the top of match.c.
 */
#ifndef RW_TABLES_H
#define RW_TABLES_H

#include "base/base.h"
#include "ir/module.h"
#include "scalar/scalar.h"

typedef enum { RW_INDEX, RW_ARRAYS, RW_OPTIONS, RW_SIMPLIFY, RW_LOWER, RW_ISEL, RW_PHASE_COUNT } RwPhase;

/* A line of a function of a pattern file, which makes nodes of right sides. */
typedef struct {
    const char *file, *name; /* "patterns/doubles.py", "reduced" */
    uint32_t line, head;     /* head: the line of the function's `def` */
} RwStep;

/* Cold data of a rule: traces, errors and coverage only. */
typedef struct {
    const char *file;     /* "patterns/sm90.py" */
    uint32_t line;
    const char *instance; /* "[logistic.bf16]", "" where file and line say enough */
    const char *text;     /* "add.bf16(a, b) -> fma.bf16(a, 1.0, b)" */
    uint8_t phase;
    const char *names;    /* where a match binds the rule's variables: "n=v2 k=k0" */
    const char *when;     /* its conditions, one a line: "within(n, 0, k)\nk > 1" */
    const char *ledger;   /* how it was proved: "exhausted(f16,bf16) tested(f32,f64: 65594)"; "" without one */
    const uint16_t *made; /* the step that makes each node of the right side, in the order of building: 1 + its */
    uint32_t n_made;      /* number in steps[], 0 for none. n_made 0: no function makes the right side */
} RwRule;
/* trace.c: the root of a rule's left side, with the type that its type class stands for: of "add.F(a, b) -> .." at
 * two lanes of bf16 "add.bf16x2". */
void rw_put_root(WbbBuf *out, const RwRule *rule, ScType type, uint32_t lanes);

/* What a selected tile becomes. `text`:
 *   llvm    an LLVM instruction: "fadd", "icmp slt", "fcmp oeq", "select", "fptrunc", ...
 *   intr    an intrinsic: "llvm.fma"; or with its arguments "llvm.ctlz(%a, i1 0)" where some are fixed
 *   call    a function of libdevice: "__nv_tanhf"
 *   asm     PTX: "tanh.approx.f32 %d, %a;" with %d the result and %a %b %c the operands
 *   lookup  an immediate table of 2^n words of 32 bits, hexadecimal: "00000000 a2f9836e"; the operand is the number of
 *           a word, modulo 2^n
 * Operands of the instr node are the rule's variables in order of first appearance: %a, %b, %c. Its immediates are %i,
 * %j, %k. */
typedef enum { RW_LLVM, RW_INTR, RW_CALL, RW_ASM, RW_LOOKUP } RwInstrKind;

/* PTX of an llvm or intr row at one type, as gen/texts.py says; the first of a row that fits holds. */
typedef struct {
    uint8_t to, from;   /* ScType of the result and of the first operand */
    uint8_t word;       /* bits of a register of several values that it works on; 0: it is for one value */
    bool pair;          /* it makes a word of two of operands %a0 and %a1 */
    bool costly;
    uint8_t constant;   /* 1: for a constant %b; 2: for a %a of 1.0 */
    char extend[4];     /* by operand of less than 16 bits: 'z' 's' 'o', what the bits above it are; others: anything */
    char clean;         /* 'z' 's': what those of the result are */
    const char *ptx;    /* "add.rn.f32 %d, %a, %b;"; "": the operand itself */
} RwText;
typedef struct {
    uint8_t kind, n_operands;
    uint32_t rule; /* number in rules[] */
    const char *text;
    uint8_t n_immediates;
    const char *ptx; /* of llvm and intr: forms in the price table, "add.rn.%t"; see gen/lang.py */
    const RwText *texts; /* [n_texts]; of llvm and intr: PTX at each type */
    uint16_t n_texts;
} RwInstr;

/* The `imm` of an instr node: 16 bits for its row, above them 48 bits for all of its immediates, %i in the lowest. */
#define RW_ROW(imm) ((uint32_t)((imm) & 0xffff))
#define RW_IMMEDIATE_BITS(n) (48 / (n))
int64_t rw_immediate(const RwInstr *row, uint64_t imm, uint32_t i);

/* The vectoriser may build `op` at `type` (conversions: to `type` from `from`) with `lanes` lanes. */
typedef struct {
    uint16_t op;
    uint8_t type, from, lanes;
} RwPacked;

/* `op` at `type` applies this modifier (OP_NEG, OP_ABS) to an operand at no cost. */
typedef struct {
    uint16_t op, modifier;
    uint8_t type;
} RwFree;

typedef struct {
    const char *name; /* "sm_90", "index" */
    const uint32_t *code;
    uint32_t n_code;
    /* of those, words of build programs, and of FILTERs with their maps; the rest is tries */
    uint32_t n_build, n_filter;
    const uint64_t *imm;
    uint32_t n_imm, n_rows; /* of those, n_rows are rows of FILTERs */
    const uint32_t (*entry)[OP_COUNT]; /* [RW_PHASE_COUNT]: where an operation's match program starts; 0: no rules */
    uint32_t late; /* permissions that rules of RW_LOWER and RW_ISEL ask for */
    const RwRule *rules;
    uint32_t n_rules;
    const RwStep *steps;
    uint32_t n_steps;
    const RwInstr *instrs;
    uint32_t n_instrs;
    const RwPacked *packed;
    uint32_t n_packed;
    const RwFree *free;
    uint32_t n_free;
} RwTables;
/* The rule behind what made a line, of the target's tables or of those of indices; NULL: none. */
const RwRule *rw_rule_of(const RwTables *index, const RwTables *target, const IrGraph *g, IrMaker m);
/* What ir_put_maker puts, with the rule's file, line and instance; of an instruction that has none also what its root
 * is. rule: NULL: none. */
void rw_put_maker(WbbBuf *out, const IrKernel *k, IrMaker m, const RwRule *rule, const IrOrigin *origins,
                  uint32_t n_origins);
/* Is it worth a branch not to evaluate an instr node with this `imm`? So are assembly and calls, of which that is not
 * known. tables: an RwTables. An IrCostly of ir/placement.h. */
bool rw_is_costly(const void *tables, uint64_t imm);

/* The rules of index nodes, of patterns/indexing.py: for rw_new. tg_use_tables may put others here. */
extern RwTables ix_tables;

#endif
