/* ir: one node type for index arithmetic and scalar code. The grammar of its text is src/ir/README.md.
 *
 * Nodes are pure, immutable and hash-consed in one array: equal nodes have equal refs, so equality is `==` and common
 * subexpressions are free. Operands have smaller refs than their users. A node of type `index` is a mathematical
 * integer; `sum` (constant + coefficient * term ..) is its one canonical form, whose terms are in a side pool.
 * Statements have effects and structure and are a small tree per kernel.
 *
 *     kernel @relu(%in: bf16[4096], %out: out bf16[4096]) block 128 grid 4 {
 *       let t = 128*bid + tid in 0..512
 *       for v in 0..8 lanes 8 {
 *         store %out[8*t + v], max.bf16(load %in[8*t + v], 0.0)
 *       }
 *     }
 *
 * What has an effect is evaluated by a statement, at its place and once each time that it is reached: shuffles,
 * barriers, atomics, loads from memory that changes. The operation is a node like others, named by that `do` alone; the
 * statement is what makes two of them different:
 *
 *     y = do shuffle_xor.u32(x, 16)
 *     old = do atomic_add.f32(%sums[k], v)
 *     do barrier()
 *
 * A statement may have results. The results of an `if` are what its branches yield. A `for` carries values from one
 * iteration to the next, and its results are what the last iteration yields. A result, and a carried value in the body,
 * is a leaf, `value`:
 *
 *     s = for k in 0..128 carry acc = 0.0:f32 { yield add.f32(acc, load %in[128*t + k]) }
 *     x, y = if lt.index(t, 4) { yield s, 1.0:f32 } else { yield 0.0, 2.0 }
 *
 * Everything is allocated in the graph's arena and lives as long as it. Names are interned, or live as long as the
 * graph.
 */
#ifndef IR_IR_H
#define IR_IR_H

#include "base/base.h"
#include "scalar/scalar.h"

typedef uint32_t IrRef; /* the number of a node in its graph; 0: none */

/* 6 bits of ScType, 4 bits of log2(lanes) */
typedef uint32_t IrType;
#define IR_TYPE(sc, log2_lanes) ((IrType)(sc) | (IrType)(log2_lanes) << 6)
#define IR_SC(type) ((ScType)((type) & 63u))
#define IR_LANES(type) (1u << ((type) >> 6))

typedef struct {
    uint32_t op : 10, type : 10, flags : 12; /* ScOp, IrType, SC_FLAG_.. */
    IrRef a[3]; /* operands; of a sum and a call: a[0] = first term in the pool, a[1] = number of terms */
    /* A constant's bits; the number of a variable, a value or a buffer; the first lane of a part; the row of an instr;
     * the constant of a sum; of a call IR_CALLEE and IR_WHICH. */
    uint64_t imm;
} IrNode; /* 24 bytes */

/* A term of a sum, or an argument of a call. */
typedef struct {
    int64_t coefficient; /* not 0; of an argument 1 */
    IrRef ref;           /* of a term: neither a sum nor a constant; of an argument: any index */
} IrTerm;

typedef enum { IR_BID, IR_TID, IR_LOOP, IR_LET, IR_PARAM } IrVarKind;

/* An index variable. The interval of an IR_LET is stated: whoever makes the variable guarantees the interval wherever
 * the statement that binds it is reached. This is how a bound that a branch proves becomes a fact. An IR_LET either has
 * a definition, or its statement holds an integer element that is known at run time only, clamped by whoever made it.
 * So index nodes never contain elements. */
typedef struct {
    const char *name;
    IrVarKind kind;
    int64_t lo, hi;   /* inclusive */
    IrRef definition; /* IR_LET: an index; 0: the statement computes the variable at run time */
} IrVar;

/* A result of a statement, or what a `for` carries: a leaf of any element type and any lanes. One statement binds
 * it. */
typedef struct {
    const char *name;
    IrType type;
} IrValue;

/* What is known of an index node wherever it is evaluated: an interval and a residue. */
typedef struct {
    WbbI128 lo, hi;    /* inclusive */
    uint64_t mod, rem; /* the value is rem modulo mod; mod 0: it is the constant rem; mod 1: nothing is known */
} IrFact;

typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    IrNode *nodes; /* by ref; nodes[0] is no node */
    uint32_t n, capacity;
    IrTerm *terms; /* the pool of the terms of sums and the arguments of calls */
    uint32_t n_terms, terms_capacity;
    IrVar *vars;
    uint32_t n_vars, vars_capacity;
    IrValue *values;
    uint32_t n_values, values_capacity;
    uint32_t *slots; /* hash table of refs: graph.c */
    uint32_t n_slots;
    /* By ref; of a node that is made several times the first holds. */
    uint32_t *rule;   /* number + 1 of the RwRule that made it; 0: none. Index rules carry IR_INDEX_RULE */
    uint32_t *origin; /* id + 1 of the HLO instruction that it computes; 0: none */
    uint32_t making_rule, making_origin; /* rule and origin of the nodes that are made from now on */
    IrFact *facts;    /* by ref, valid where fact_known: facts.c */
    uint8_t *fact_known;
    uint32_t facts_capacity;
} IrGraph;
#define IR_INDEX_RULE 0x80000000u

/* An HLO instruction and its position in the HLO file: what IrGraph.origin - 1 numbers. */
typedef struct {
    const char *name; /* without '%' */
    uint32_t line, column;
} IrOrigin;

/* A REPEAT runs its body, then again for as long as its condition holds. */
typedef enum { IR_STORE, IR_DO, IR_IF, IR_FOR, IR_REPEAT, IR_BIND } IrStmtKind;

/* One result of an `if` (uses value, yield, otherwise), of a loop (uses value, carried, init, yield), or of a `do`
 * (uses value). */
typedef struct {
    uint32_t value;   /* number of the value that is in scope after the statement */
    uint32_t carried; /* FOR, REPEAT: number of the value that is in scope in the body */
    IrRef init;       /* FOR, REPEAT: the carried value in the first iteration */
    IrRef yield;      /* yielded by the body; of a loop the carried value in the next iteration */
    IrRef otherwise;  /* IF: yielded by the other branch */
} IrResult;

typedef struct IrStmt IrStmt;
typedef struct {
    IrStmt **items;
    uint32_t n, capacity;
} IrBlock;
/* Blocks of a kernel nest no deeper, so that passes may recurse into them: a level takes up to 1 KB of stack. */
enum { IR_MAX_BLOCKS = 150 };

struct IrStmt {
    IrStmtKind kind;
    uint32_t buffer; /* STORE, DO with an address: number */
    IrRef index;     /* STORE: the element at which the lanes of `value` are stored, one after the other. DO: of an
                        operation with SC_ADDRESS: the element that it accesses */
    IrRef value;     /* STORE: as above. BIND of a variable without a definition: the integer that it is, of one lane.
                        DO: the operation */
    IrRef condition; /* IF, REPEAT: of type pred, one lane; of a REPEAT at the end of its body */
    uint32_t from;   /* DO of copy_async: number of the buffer, and the element, that is copied */
    IrRef from_index;
    uint32_t var;    /* FOR, BIND: number */
    uint32_t lanes;  /* FOR lo..hi: hi - lo where the loop is to be vectorised, else 0 */
    bool rolled;     /* FOR: the assembler is told to leave the loop as it is */
    bool ahead;      /* FOR: loads of what it yields stand at its beginning: the next iteration needs them first */
    IrBlock body, otherwise;
    IrResult *results; /* IF, FOR, REPEAT; DO: at most one */
    uint32_t n_results;
};

/* What a buffer is, in the order in which a kernel lists its buffers, but that tables and shared ones, which alone are
 * no parameters, may take turns.
 * OUT: written, by stores or atomics. INOUT: an output in the memory of an operand. TEMP: memory for this launch and
 * others of the kernel's bundle. TABLE: constants. SHARED: one for each block, undefined when the block starts. */
typedef enum { IR_IN, IR_OUT, IR_INOUT, IR_TEMP, IR_SHARED, IR_TABLE } IrSpace;

typedef struct {
    const char *name; /* without '%' */
    IrSpace space;
    ScType type;
    int64_t elements;
    bool zeroed;    /* TEMP: zero before its first launch; launches leave it zero */
    uint32_t align; /* of the first byte */
    /* INOUT: 1 + number of the operand whose memory it is, which has the same type and size; else 0. An inout output is
     * stored to at some indices only. A thread reads only elements that it alone writes, and reads them before it
     * writes. */
    uint32_t alias;
    const void *table; /* TABLE: its elements, sc_bytes(type) each */
} IrBuffer;
static inline bool ir_is_output(const IrBuffer *b) { return b->space == IR_OUT || b->space == IR_INOUT; }
static inline bool ir_is_parameter(const IrBuffer *b) { return b->space < IR_SHARED; }
/* Are several elements of the type in a byte of global memory? */
static inline bool ir_is_packed(ScType t)
{
    return t != SC_PRED && sc_type_info[t].bits > 0 && sc_type_info[t].bits < 8;
}
/* May statements change it? Then `do read` reads it, and no load. */
static inline bool ir_is_changed(const IrBuffer *b) { return b->space != IR_IN && b->space != IR_TABLE; }

/* A separate piece of code that computes its results from index arguments. Its body may load, and call functions with
 * smaller numbers; it stores nothing. bid and tid are in scope. */
typedef struct {
    const char *name; /* without '@' */
    uint32_t *params; /* numbers of variables, IR_PARAM */
    uint32_t n_params;
    IrBlock body;
    IrRef *yields; /* its results, elements of one lane */
    uint32_t n_yields;
} IrFunction;

typedef struct {
    const char *name; /* without '@' */
    IrGraph *g;
    IrBuffer *buffers; /* operands, outputs, temporaries, shared ones, tables */
    uint32_t n_buffers;
    uint32_t block, grid; /* threads of a block, blocks */
    uint32_t cluster;     /* blocks of a cluster, which divide the grid; 0: there are none */
    IrBlock body;
    IrFunction **functions; /* by number */
    uint32_t n_functions, functions_capacity;
} IrKernel;
enum { IR_CLUSTER = 16 }; /* blocks of a cluster, at most */

/* graph.c -------------------------------------------------------------------------------------------------------------
 * These functions apply no rule and fold nothing. They only put operands in canonical order: of a commutative operation
 * a constant stands right, else the older node stands first; indices are ordered by structure. Passes make index nodes
 * with the functions of rewrite/rewrite.h, which apply the rules. */
IrGraph *ir_graph_new(WbbCx *cx, WbbArena *a);
IrRef ir_node(IrGraph *g, ScOp op, IrType type, uint32_t flags, IrRef a, IrRef b, IrRef c, uint64_t imm);
IrRef ir_const(IrGraph *g, IrType type, uint64_t bits); /* of several lanes: the same value in each */
IrRef ir_index(IrGraph *g, int64_t value);
uint32_t ir_var_new(IrGraph *g, const char *name, IrVarKind kind, int64_t lo, int64_t hi, IrRef definition);
IrRef ir_var(IrGraph *g, uint32_t number);
/* constant + sum of terms: flattens sums and constants among the terms, merges equal terms, drops zeros, sorts by
 * descending |coefficient| and then by structure. One term with coefficient 1 and constant 0 is that term; no term is a
 * constant. Where a coefficient leaves 64 bits: sets *overflow and returns 0, or fails if overflow is NULL. */
IrRef ir_sum(IrGraph *g, int64_t constant, const IrTerm *terms, uint32_t n, bool *overflow);
/* The node r with operands made[old operand] and these flags; nothing is put in order or simplified. */
IrRef ir_copy(IrGraph *g, IrRef r, const IrRef *made, uint32_t flags);
/* Result number `which`, of this type, of function number `callee` for index arguments. */
IrRef ir_call(IrGraph *g, uint32_t callee, uint32_t which, IrType type, const IrRef *args, uint32_t n);
#define IR_CALLEE(imm) ((uint32_t)(imm))
#define IR_WHICH(imm) ((uint32_t)((imm) >> 32))
static inline const IrNode *ir_at(const IrGraph *g, IrRef r) { return &g->nodes[r]; }
/* Is r an index or a comparison of indices? These are what index rules rewrite. */
static inline bool ir_is_index(const IrGraph *g, IrRef r)
{
    const IrNode *n = ir_at(g, r);
    if (IR_SC(n->type) == SC_INDEX) return true;
    const bool compares = IR_SC(n->type) == SC_PRED && sc_op_info[n->op].signature == SC_COMPARE;
    return compares && IR_SC(ir_at(g, n->a[0])->type) == SC_INDEX;
}
/* Has the operation effects, so that a `do` evaluates it? A selected instruction is one where a `do` names it. */
static inline bool ir_has_effects(const IrNode *n) { return sc_op_info[n->op].effects != 0; }
/* Is it an access to memory that changes nothing there? */
static inline bool ir_only_reads(ScOp op)
{
    return (sc_op_info[op].effects & (SC_ADDRESS | SC_READS | SC_WRITES)) == (SC_ADDRESS | SC_READS);
}
static inline bool ir_is_const(const IrGraph *g, IrRef r) { return g->nodes[r].op == OP_CONST; }
/* The operands of any node but a sum and a call; returns their number. */
uint32_t ir_operands(const IrGraph *g, IrRef r, IrRef out[3]);
/* Are the operands in the pool of terms? Code that walks over operands asks this, or uses ir_arity and ir_operand,
 * which are for all nodes. */
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
IrStmt *ir_stmt(IrGraph *g, IrBlock *block, IrStmtKind kind); /* appends an empty statement */
int ir_compare(const IrGraph *g, IrRef x, IrRef y);           /* by structure, operations by name: <0, 0, >0 */

/* walk.c: the nodes that statements need --------------------------------------------------------------------------- */
typedef struct {
    IrRef *items;
    uint32_t n, capacity;
} IrRefs;
/* Appends to `out` all nodes that the statements of a block and of the blocks below it name, and the definitions of the
 * variables that they bind. */
void ir_roots(const IrGraph *g, WbbArena *a, const IrBlock *b, IrRefs *out);
/* Extends `roots` to all nodes below them, each once, operands before users. mark: by ref, all 0, and again all 0
 * afterwards. */
void ir_gather(const IrGraph *g, WbbArena *a, IrRefs *roots, uint8_t *mark);
IrRefs ir_variables(const IrGraph *g, WbbArena *a, IrRef r, uint8_t *mark); /* those below a node; mark as above */
bool ir_among(const IrRefs *refs, IrRef r);
void ir_sort(WbbArena *a, IrRefs *list); /* operands before users */

/* change.c: other nodes in the statements of a kernel -------------------------------------------------------------- */
typedef IrRef (*IrMap)(void *arg, IrRef old);
void ir_map_statements(IrKernel *k, IrMap map, void *arg); /* maps every ref that statements and functions name */
uint8_t *ir_needed(const IrGraph *g, WbbArena *a, const IrKernel *k); /* by ref: not 0 where some statement needs it */
/* Makes each node that some statement needs anew, operands first, and replaces it; what is made has the rule and the
 * origin of the old node. made: by old ref, those before it; need: by old ref. */
typedef IrRef (*IrRemake)(void *arg, IrRef old, const IrRef *made, const uint8_t *need);
void ir_remake(IrKernel *k, IrRemake remake, void *arg);
/* Replaces each ref in statements and in definitions of variables by made[ref]; a definition without a made[..]
 * stays. */
void ir_replace(IrKernel *k, IrRef *made);

/* structure.c: values, results, functions -------------------------------------------------------------------------- */
IrRef ir_value(IrGraph *g, uint32_t number);
IrRef ir_value_new(IrGraph *g, const char *name, IrType type); /* a value that no statement binds */
/* Adds a result to a loop and returns its number i. Both its values are called `name`: ir_value(g,
 * s->results[i].carried) is for the body, ir_value(g, s->results[i].value) for the code after the statement. The caller
 * sets results[i].yield. */
uint32_t ir_carry(IrGraph *g, IrStmt *s, const char *name, IrRef init);
IrResult *ir_result_new(IrGraph *g, IrStmt *s); /* adds a result whose fields the caller sets */
/* Adds a result to an `if`, whose branches yield these two; returns the value that is in scope after it. */
IrRef ir_result(IrGraph *g, IrStmt *s, const char *name, IrRef yield, IrRef otherwise);
/* Appends a DO of this operation; returns its result, of type `result`, or 0 where that is 0. */
IrRef ir_do(IrGraph *g, IrBlock *block, const char *name, IrRef operation, IrType result);
/* The same, on element `index` of a buffer. */
IrRef ir_do_at(IrGraph *g, IrBlock *block, const char *name, IrRef operation, IrType result, uint32_t buffer,
               IrRef index);
/* Appends a BIND of a new variable to an integer element that is in lo..hi (inclusive) wherever the statement is
 * reached. Returns the variable. */
IrRef ir_let_value(IrGraph *g, IrBlock *block, const char *name, IrRef integer, int64_t lo, int64_t hi);
/* The same for an index. */
IrRef ir_let(IrGraph *g, IrBlock *block, const char *name, IrRef index, int64_t lo, int64_t hi);
uint32_t ir_function_new(IrKernel *k, const char *name); /* without parameters and yields; its number */
uint32_t ir_add_function(IrKernel *k, IrFunction *f);    /* adds a complete function; its number */
/* Adds a parameter; returns its variable. */
IrRef ir_param(IrGraph *g, IrFunction *f, const char *name, int64_t lo, int64_t hi);
void ir_yield(IrGraph *g, IrFunction *f, IrRef result); /* adds a result */

/* facts.c ---------------------------------------------------------------------------------------------------------- */
IrFact ir_fact(IrGraph *g, IrRef index_node);
bool ir_within(IrGraph *g, IrRef n, WbbI128 lo, WbbI128 hi); /* lo <= n < hi, proved */
bool ir_multiple(IrGraph *g, IrRef n, WbbI128 k);            /* k divides n, proved */
bool ir_fits_i32(IrGraph *g, IrRef n);                       /* n and all its partial results fit in 32 signed bits */

/* element_facts.c: what is known of an element wherever it is evaluated. Both functions look `depth` operations
 * deep. */
typedef struct { uint64_t zero, one; } IrBits; /* bits that are known to be 0, and to be 1 */
IrBits ir_element_bits(IrGraph *g, IrRef integer, uint32_t depth);
/* The classes of floats that a value may belong to; a bit that is not set says "never". */
enum {
    MAY_NAN = 1, MAY_INF = 2, MAY_NEGZERO = 4, MAY_FRACTION = 8, MAY_NEGATIVE = 16, MAY_EXCEED_1 = 32, MAY_ALL = 63
};
uint32_t ir_float_may(IrGraph *g, IrRef x, uint32_t depth);

/* print.c, print_kernel.c ------------------------------------------------------------------------------------------ */
void ir_print(WbbBuf *out, const IrKernel *k);
void ir_print_node(WbbBuf *out, const IrGraph *g, IrRef r);
void ir_print_shallow(WbbBuf *out, const IrGraph *g, IrRef r, int depth); /* prints "..." below `depth` operations */
/* The same (a negative depth: whole), with calls as reads: by number of the callee, name[i, j]; NULL: as calls. */
void ir_print_reads(WbbBuf *out, const IrGraph *g, IrRef r, const char *const *names, int depth);
/* The same of many nodes of a graph, whole, one after the other: making a printer takes time linear in the graph. */
typedef struct IrPrinter IrPrinter;
IrPrinter *ir_reads_printer(WbbBuf *out, WbbArena *scratch, const IrGraph *g, const char *const *names);
void ir_print_next(IrPrinter *p, IrRef r);

/* parse.c, term.c: fail with file:line:col ------------------------------------------------------------------------- */
IrKernel *ir_parse(WbbCx *cx, WbbArena *a, const char *file, const char *text, size_t n);
/* One expression as typed on a command line. A name that nothing binds is a variable of the type that its operand must
 * have; an index is any integer of 63 bits. `lets` say more about names: "i in 0..8", "x: bf16". Messages name `file`,
 * and those about a let its text. */
IrRef ir_parse_term(WbbCx *cx, WbbArena *a, IrGraph *g, const char *file, const char *text, const char *const *lets,
                    uint32_t n_lets);

/* verify.c: asserts what holds between any two passes; a violation is our own bug, and a note names the node ------- */
void ir_verify(const IrKernel *k);

/* arrive.c: NULL, or what is wrong: a barrier or a shuffle below a condition on which the threads that should arrive
 * there may differ */
const char *ir_not_arriving(const IrKernel *k);
bool ir_converges(const IrKernel *k); /* does it have barriers or shuffles at all? */

/* eval.c: the reference meaning of a scalar node. `leaf` gives the values of loads, variables, values and calls. False:
 * the node has no value (a selected instruction, or several lanes). */
typedef uint64_t (*IrLeaf)(void *arg, const IrGraph *g, IrRef leaf);
bool ir_eval(const IrGraph *g, IrRef r, IrLeaf leaf, void *arg, uint64_t *bits);
/* The same of one node whose operands have these values, and which is neither a leaf nor a sum. */
bool ir_eval_node(const IrGraph *g, IrRef r, const uint64_t *operands, uint64_t *bits);

#endif
