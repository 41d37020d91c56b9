/* ir: one node type for index arithmetic and scalar code. The grammar of its text is src/ir/README.md.
 *
 * Nodes are pure, immutable and hash-consed in one array: equal nodes have equal refs, so equality is `==` and common
 * subexpressions are free. Operands have smaller refs than their users. A node of type `index` is a mathematical integer;
 * `sum` (constant + coefficient * term ..) is its one canonical form and lives partly in a side pool. Statements carry effects
 * and structure and are a small tree per kernel.
 *
 *     kernel @relu(%in: bf16[4096], %out: out bf16[4096]) block 128 grid 4 {
 *       let t = 128*bid + tid in 0..512
 *       for v in 0..8 lanes 8 {
 *         store %out[8*t + v], max.bf16(load %in[8*t + v], 0.0)
 *       }
 *     }
 */
#ifndef IR_IR_H
#define IR_IR_H

#include "base/base.h"
#include "scalar/scalar.h"

typedef uint32_t IrRef; /* 0: none */

/* 6 bits of ScType, 4 bits of log2(lanes) */
typedef uint32_t IrType;
#define IR_TYPE(sc, log2_lanes) ((IrType)(sc) | (IrType)(log2_lanes) << 6)
#define IR_SC(type) ((ScType)((type) & 63u))
#define IR_LANES(type) (1u << ((type) >> 6))

typedef struct {
    uint32_t op : 10, type : 10, flags : 12;
    IrRef a[3];   /* operands; of a sum: a[0] = first term in the pool, a[1] = number of terms */
    uint64_t imm; /* constant's bits, variable or buffer number, first lane of a part, row of an instr, constant of a sum */
} IrNode;         /* 24 bytes */

typedef struct {
    int64_t coefficient; /* not 0 */
    IrRef ref;           /* not a sum, not a const */
} IrTerm;

typedef enum { IR_BID, IR_TID, IR_LOOP, IR_LET } IrVarKind;

/* An index variable. IR_LET has a definition and a stated interval: whoever makes one guarantees the interval wherever the
 * statement that binds it is reached, which is how a bound that a branch proves enters the facts. */
typedef struct {
    const char *name;
    IrVarKind kind;
    int64_t lo, hi; /* inclusive */
    IrRef definition; /* IR_LET */
} IrVar;

/* What is known of an index node, wherever it is evaluated. */
typedef struct {
    WbbI128 lo, hi;    /* inclusive */
    uint64_t mod, rem; /* value = rem modulo mod; mod 0: the value is the constant rem; mod 1: nothing known */
} IrFact;

typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    IrNode *nodes;
    uint32_t n, room;
    IrTerm *terms;
    uint32_t n_terms, terms_room;
    IrVar *vars;
    uint32_t n_vars, vars_room;
    uint32_t *slots; /* hash table of refs */
    uint32_t n_slots;
    /* Side arrays, one entry a node; the first maker of a node keeps it. */
    uint32_t *rule;   /* RwRule number + 1 of the rule that made it; 0: none. Index rules carry IR_INDEX_RULE */
    uint32_t *origin; /* id of the HLO instruction + 1; 0: none */
    uint32_t making_rule, making_origin; /* what nodes made from now on get */
    IrFact *facts;    /* valid where fact_known */
    uint8_t *fact_known;
    uint32_t facts_room;
} IrGraph;
#define IR_INDEX_RULE 0x80000000u

typedef enum { IR_STORE, IR_IF, IR_FOR, IR_BIND } IrStmtKind;

typedef struct IrStmt IrStmt;
typedef struct {
    IrStmt **items;
    uint32_t n, room;
} IrBlock;

struct IrStmt {
    IrStmtKind kind;
    uint32_t buffer;    /* STORE: number */
    IrRef index, value; /* STORE: element index; the value's lanes are stored from there on */
    IrRef condition;    /* IF */
    uint32_t var;       /* FOR, BIND */
    uint32_t lanes;     /* FOR lo..hi: lanes = hi - lo when it is to be vectorised, else 0 */
    IrBlock body, otherwise;
};

typedef struct {
    const char *name; /* without '%' */
    ScType type;
    int64_t elements;
    bool output;
    uint32_t align; /* of the first byte */
} IrBuffer;

typedef struct {
    const char *name; /* without '@' */
    IrGraph *g;
    IrBuffer *buffers; /* operands, then outputs */
    uint32_t n_buffers;
    uint32_t block, grid;
    IrBlock body;
} IrKernel;

/* graph.c ---------------------------------------------------------------------------------------------------------------------
 * These make nodes as they stand: no rule, no folding, but canonical operand order (commutative: constants right, else the
 * older node first). Rules are applied by rewrite/, whose door for index nodes everybody uses. */
IrGraph *ir_graph_new(WbbCx *cx, WbbArena *a);
IrRef ir_node(IrGraph *g, ScOp op, IrType type, uint32_t flags, IrRef a, IrRef b, IrRef c, uint64_t imm);
IrRef ir_const(IrGraph *g, IrType type, uint64_t bits); /* more lanes than one: the same value in each */
IrRef ir_index(IrGraph *g, int64_t value);
uint32_t ir_var_new(IrGraph *g, const char *name, IrVarKind kind, int64_t lo, int64_t hi, IrRef definition);
IrRef ir_var(IrGraph *g, uint32_t number);
/* constant + sum of terms: flattens sums and constants among the terms, merges, drops zeros, sorts by descending
 * |coefficient| and then by structure. One term with coefficient 1 and constant 0 is that term; no term is a const.
 * Sets *overflow (if not NULL; else fails) where a coefficient leaves 64 bits. */
IrRef ir_sum(IrGraph *g, int64_t constant, const IrTerm *terms, uint32_t n, bool *overflow);
/* The same operation with operands made[old] and these flags; nothing is put in order or simplified. */
IrRef ir_copy(IrGraph *g, IrRef r, const IrRef *made, uint32_t flags);
static inline const IrNode *ir_at(const IrGraph *g, IrRef r) { return &g->nodes[r]; }
static inline bool ir_is_const(const IrGraph *g, IrRef r) { return g->nodes[r].op == OP_CONST; }
uint32_t ir_operands(const IrGraph *g, IrRef r, IrRef out[3]); /* of any node but a sum: how many, and which */
IrStmt *ir_stmt(IrGraph *g, IrBlock *block, IrStmtKind kind);  /* appended */
int ir_compare(const IrGraph *g, IrRef x, IrRef y);             /* by structure, operations by name: <0, 0, >0 */

/* facts.c */
IrFact ir_fact(IrGraph *g, IrRef index_node);
bool ir_within(IrGraph *g, IrRef n, WbbI128 lo, WbbI128 hi); /* lo <= n < hi, proved */
bool ir_multiple(IrGraph *g, IrRef n, WbbI128 k);            /* k divides n, proved */
bool ir_fits_i32(IrGraph *g, IrRef n);                        /* n and every partial result of it fit in 32 signed bits */

/* print.c, parse.c, term.c, verify.c */
void ir_print(WbbBuf *out, const IrKernel *k);
void ir_print_node(WbbBuf *out, const IrGraph *g, IrRef r);
void ir_print_shallow(WbbBuf *out, const IrGraph *g, IrRef r, int depth); /* what stands deeper than `depth` calls is "..." */
IrKernel *ir_parse(WbbCx *cx, WbbArena *a, const char *file, const char *text, size_t n); /* fails with file:line:col */
/* One expression as typed on a command line. A name that nothing binds is a variable of the type that its place has; of index
 * type any integer of 63 bits. `lets` say more: "i in 0..8", "x: bf16". Messages name `file`, a let's text its own. */
IrRef ir_parse_term(WbbCx *cx, WbbArena *a, IrGraph *g, const char *file, const char *text, const char *const *lets, uint32_t n_lets);
void ir_verify(const IrKernel *k); /* our own bug: asserts, with the node printed */

/* eval.c: the reference meaning of a scalar node. Leaves (load, var, idx of them) get values from `leaf`. False where the node
 * has none (a selected instr). */
typedef uint64_t (*IrLeaf)(void *arg, const IrGraph *g, IrRef leaf);
bool ir_eval(const IrGraph *g, IrRef r, IrLeaf leaf, void *arg, uint64_t *bits);

#endif
