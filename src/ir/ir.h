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
 *
 * Statements may have results. Of an `if` they are what its branches yield; a `for` carries values from one turn to the next, and
 * what the last turn yields is there after it. A result and what a body sees of a carried value are leaves, `value`:
 *
 *     s = for k in 0..128 carry acc = 0.0:f32 { yield add.f32(acc, load %in[128*t + k]) }
 *     x, y = if lt.index(t, 4) { yield s, 1.0:f32 } else { yield 0.0, 2.0 }
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
    IrRef a[3];   /* operands; of a sum and a call: a[0] = first term in the pool, a[1] = number of terms */
    uint64_t imm; /* constant's bits; number of a variable, a value, a buffer; first lane of a part; row of an instr; constant of a
                   * sum; of a call IR_CALLEE and IR_WHICH */
} IrNode;         /* 24 bytes */

typedef struct {
    int64_t coefficient; /* not 0; of an argument of a call 1 */
    IrRef ref;           /* not a sum, not a const; an argument: any index */
} IrTerm;

typedef enum { IR_BID, IR_TID, IR_LOOP, IR_LET, IR_PARAM } IrVarKind;

/* An index variable. IR_LET has a stated interval: whoever makes one guarantees the interval wherever the statement that binds it is
 * reached, which is how a bound that a branch proves enters the facts. It has a definition, or its statement has an integer element,
 * which is known at run time only (clamped by whoever made it). So index nodes never contain elements. */
typedef struct {
    const char *name;
    IrVarKind kind;
    int64_t lo, hi; /* inclusive */
    IrRef definition; /* IR_LET: an index; 0: what the statement computes at run time */
} IrVar;

/* What a statement leaves, or a `for` carries: a leaf of any element type and any lanes. One statement binds it. */
typedef struct {
    const char *name;
    IrType type;
} IrValue;

/* What is known of an index node, wherever it is evaluated. */
typedef struct {
    WbbI128 lo, hi;    /* inclusive */
    uint64_t mod, rem; /* value = rem modulo mod; mod 0: the value is the constant rem; mod 1: nothing known */
} IrFact;

typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    IrNode *nodes;
    uint32_t n, capacity;
    IrTerm *terms;
    uint32_t n_terms, terms_capacity;
    IrVar *vars;
    uint32_t n_vars, vars_capacity;
    IrValue *values;
    uint32_t n_values, values_capacity;
    uint32_t *slots; /* hash table of refs: graph.c */
    uint32_t n_slots;
    /* Side arrays, one entry a node; the first maker of a node keeps it. */
    uint32_t *rule;   /* RwRule number + 1 of the rule that made it; 0: none. Index rules carry IR_INDEX_RULE */
    uint32_t *origin; /* id of the HLO instruction + 1; 0: none */
    uint32_t making_rule, making_origin; /* what nodes made from now on get */
    IrFact *facts;    /* valid where fact_known */
    uint8_t *fact_known;
    uint32_t facts_capacity;
} IrGraph;
#define IR_INDEX_RULE 0x80000000u

typedef enum { IR_STORE, IR_IF, IR_FOR, IR_BIND } IrStmtKind;

/* A result of an `if` (value, yield, otherwise) or of a `for` (value, carried, init, yield). */
typedef struct {
    uint32_t value;   /* number; there after the statement */
    uint32_t carried; /* FOR: number; what the body sees */
    IrRef init;       /* FOR: carried into the first turn */
    IrRef yield;      /* at the end of the body; FOR: carried into the next turn */
    IrRef otherwise;  /* IF: at the end of the other branch */
} IrResult;

typedef struct IrStmt IrStmt;
typedef struct {
    IrStmt **items;
    uint32_t n, capacity;
} IrBlock;

struct IrStmt {
    IrStmtKind kind;
    uint32_t buffer;    /* STORE: number */
    IrRef index, value; /* STORE: element index; the value's lanes are stored from there on. BIND of a variable without a definition:
                         * `value` is the integer (one lane, not pred) that it is */
    IrRef condition;    /* IF */
    uint32_t var;       /* FOR, BIND */
    uint32_t lanes;     /* FOR lo..hi: lanes = hi - lo when it is to be vectorised, else 0 */
    IrBlock body, otherwise;
    IrResult *results; /* IF, FOR */
    uint32_t n_results;
};

typedef struct {
    const char *name; /* without '%' */
    ScType type;
    int64_t elements;
    bool output;
    uint32_t align; /* of the first byte */
    uint32_t alias; /* of an output: 1 + number of the operand whose memory it is (`inout`: same type and size, written at some
                     * indices only); 0: memory of its own. A thread reads of it only what it alone writes, before it writes */
    const void *table; /* elements that are known, sc_bytes(type) each: a constant of the kernel and no parameter; NULL: memory */
} IrBuffer;

/* What is computed from index arguments alone, by code of its own. Its body may load, and call functions with smaller numbers; it
 * stores nothing. bid and tid are there as in the kernel. */
typedef struct {
    const char *name;    /* without '@' */
    uint32_t *params;    /* numbers of variables, IR_PARAM */
    uint32_t n_params;
    IrBlock body;
    IrRef *yields;       /* its results, one lane each */
    uint32_t n_yields;
} IrFunction;

typedef struct {
    const char *name; /* without '@' */
    IrGraph *g;
    IrBuffer *buffers; /* operands, then outputs, then tables */
    uint32_t n_buffers;
    uint32_t block, grid;
    IrBlock body;
    IrFunction **functions;
    uint32_t n_functions, functions_capacity;
} IrKernel;

/* graph.c ---------------------------------------------------------------------------------------------------------------------
 * These make nodes as they stand: no rule, no folding, but canonical operand order (commutative: constants right, else the
 * older node first; index expressions by structure). Rules are applied by rewrite/, whose door for index nodes everybody uses. */
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
/* Result `which` of function number `callee`, of that type, for index arguments. */
IrRef ir_call(IrGraph *g, uint32_t callee, uint32_t which, IrType type, const IrRef *args, uint32_t n);
#define IR_CALLEE(imm) ((uint32_t)(imm))
#define IR_WHICH(imm) ((uint32_t)((imm) >> 32))
static inline const IrNode *ir_at(const IrGraph *g, IrRef r) { return &g->nodes[r]; }
/* An index, or a comparison of indices: what the index rules rewrite. */
static inline bool ir_is_index(const IrGraph *g, IrRef r)
{
    const IrNode *n = ir_at(g, r);
    if (IR_SC(n->type) == SC_INDEX) return true;
    return IR_SC(n->type) == SC_PRED && sc_op_info[n->op].signature == SC_COMPARE && IR_SC(ir_at(g, n->a[0])->type) == SC_INDEX;
}
static inline bool ir_is_const(const IrGraph *g, IrRef r) { return g->nodes[r].op == OP_CONST; }
uint32_t ir_operands(const IrGraph *g, IrRef r, IrRef out[3]); /* of any node but a sum and a call: how many, and which */
/* Operands stand in the pool of terms. Every walk over operands asks, or uses the next two, which are for all nodes. */
static inline bool ir_in_pool(const IrNode *n) { return n->op == OP_SUM || n->op == OP_CALL; }
static inline uint32_t ir_arity(const IrGraph *g, IrRef r)
{
    const IrNode *n = ir_at(g, r);
    return ir_in_pool(n) ? n->a[1] : n->a[2] ? 3 : n->a[1] ? 2 : n->a[0] ? 1 : 0;
}
static inline IrRef ir_operand(const IrGraph *g, IrRef r, uint32_t i)
{
    const IrNode *n = ir_at(g, r);
    return ir_in_pool(n) ? g->terms[n->a[0] + i].ref : n->a[i];
}
IrStmt *ir_stmt(IrGraph *g, IrBlock *block, IrStmtKind kind);  /* appended */
int ir_compare(const IrGraph *g, IrRef x, IrRef y);             /* by structure, operations by name: <0, 0, >0 */

/* walk.c: which nodes there are --------------------------------------------------------------------------------------------------- */
typedef struct {
    IrRef *items;
    uint32_t n, capacity;
} IrRefs;
/* All that the statements of a block and of the blocks below it name, definitions of variables included, appended to `out`. */
void ir_roots(const IrGraph *g, WbbArena *a, const IrBlock *b, IrRefs *out);
/* From roots to all nodes below them, each once, operands before users. `mark`: by ref, all 0; is so again afterwards. */
void ir_gather(const IrGraph *g, WbbArena *a, IrRefs *roots, uint8_t *mark);
void ir_sort(WbbArena *a, IrRefs *list); /* operands before users */

/* change.c: other nodes in the statements of a kernel -------------------------------------------------------------------------- */
typedef IrRef (*IrMap)(void *arg, IrRef old);
void ir_map_statements(IrKernel *k, IrMap map, void *arg); /* every ref that statements and functions name */
uint8_t *ir_needed(const IrGraph *g, WbbArena *a, const IrKernel *k); /* by ref: not 0 where some statement needs it */
/* Statements and definitions of variables from old refs to made[old]; a definition that was not made anew stays. */
void ir_replace(IrKernel *k, IrRef *made);

/* structure.c: values, results, functions -------------------------------------------------------------------------------------- */
IrRef ir_value(IrGraph *g, uint32_t number);
/* One more result of a `for`: makes the value after it and the one that its body sees, both called `name` or by what is made of it,
 * and gives its number i. ir_value(g, s->results[i].carried) is for the body, results[i].yield is to be set, and
 * ir_value(g, s->results[i].value) is there after the statement. */
uint32_t ir_carry(IrGraph *g, IrStmt *s, const char *name, IrRef init);
IrResult *ir_result_new(IrGraph *g, IrStmt *s); /* one more, all of it to be set */
/* One more result of an `if`, both ends made; gives the value after it. */
IrRef ir_result(IrGraph *g, IrStmt *s, const char *name, IrRef yield, IrRef otherwise);
/* BIND of a variable to an integer element, known to be lo..hi (inclusive) where the statement is reached; gives the variable. */
IrRef ir_let_value(IrGraph *g, IrBlock *block, const char *name, IrRef integer, int64_t lo, int64_t hi);
/* BIND of a variable to an index; the same. */
IrRef ir_let(IrGraph *g, IrBlock *block, const char *name, IrRef index, int64_t lo, int64_t hi);
/* A function without parameters and yields: k->functions[number]. */
uint32_t ir_function_new(IrKernel *k, const char *name);
uint32_t ir_add_function(IrKernel *k, IrFunction *f); /* one that is made already: gives its number */
IrRef ir_param(IrGraph *g, IrFunction *f, const char *name, int64_t lo, int64_t hi); /* one more; gives the variable */
void ir_yield(IrGraph *g, IrFunction *f, IrRef result);                               /* one more */

/* facts.c */
IrFact ir_fact(IrGraph *g, IrRef index_node);
bool ir_within(IrGraph *g, IrRef n, WbbI128 lo, WbbI128 hi); /* lo <= n < hi, proved */
bool ir_multiple(IrGraph *g, IrRef n, WbbI128 k);            /* k divides n, proved */
bool ir_fits_i32(IrGraph *g, IrRef n);                        /* n and every partial result of it fit in 32 signed bits */

/* element_facts.c: what is known of an element wherever it is evaluated. Both functions look `depth` operations deep. */
typedef struct { uint64_t zero, one; } IrBits; /* bits that are known to be 0, and to be 1 */
IrBits ir_element_bits(IrGraph *g, IrRef integer, uint32_t depth);
/* The classes of floats that a value may belong to: a set bit says "possible", a clear bit "never". */
enum { MAY_NAN = 1, MAY_INF = 2, MAY_NEGZERO = 4, MAY_FRACTION = 8, MAY_NEGATIVE = 16, MAY_EXCEED_1 = 32, MAY_ALL = 63 };
uint32_t ir_float_may(IrGraph *g, IrRef x, uint32_t depth);

/* print.c, parse.c, term.c, verify.c */
void ir_print(WbbBuf *out, const IrKernel *k);
void ir_print_node(WbbBuf *out, const IrGraph *g, IrRef r);
void ir_print_shallow(WbbBuf *out, const IrGraph *g, IrRef r, int depth); /* what stands deeper than `depth` calls is "..." */
IrKernel *ir_parse(WbbCx *cx, WbbArena *a, const char *file, const char *text, size_t n); /* fails with file:line:col */
/* One expression as typed on a command line. A name that nothing binds is a variable of the type that its place has; of index
 * type any integer of 63 bits. `lets` say more: "i in 0..8", "x: bf16". Messages name `file`, a let's text its own. */
IrRef ir_parse_term(WbbCx *cx, WbbArena *a, IrGraph *g, const char *file, const char *text, const char *const *lets, uint32_t n_lets);
void ir_verify(const IrKernel *k); /* our own bug: asserts, with the node printed */

/* eval.c: the reference meaning of a scalar node. Leaves (load, var, value, call) get values from `leaf`. False where the node
 * has none (a selected instr). */
typedef uint64_t (*IrLeaf)(void *arg, const IrGraph *g, IrRef leaf);
bool ir_eval(const IrGraph *g, IrRef r, IrLeaf leaf, void *arg, uint64_t *bits);

#endif
