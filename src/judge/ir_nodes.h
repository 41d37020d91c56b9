/* ir_nodes.h: what the two files of the interpreter of IR kernels share: ir_nodes.c has the values of nodes, and
 * ir_reference.c runs statements.
 */
#ifndef JUDGE_IR_NODES_H
#define JUDGE_IR_NODES_H

#include "judge/ir_check.h"

/* Statements in order, and the nodes of the values that their block yields. */
typedef struct {
    struct Step *steps;
    uint32_t n;
    IrRefs yields;
} Body;

/* A statement and the nodes that it needs, operands before users. */
typedef struct Step {
    const IrStmt *s;
    IrRefs nodes;
    Body body, otherwise;
} Step;

enum { MAX_THREADS = BD_MAX_THREADS * IR_CLUSTER, WARP = 32 };

/* Threads of a block, or of the blocks of a cluster. */
typedef struct { uint64_t bits[MAX_THREADS / 64]; } Threads;

/* What differs from thread to thread. */
typedef struct {
    JudgeExpected *values, *results;
    int64_t *vars;
} Thread;

struct JudgeInterpreter {
    WbbCx *cx;
    WbbArena *arena;
    JudgeReference r;
    IrGraph *g;
    Body body, *functions;
    void (*run_function)(JudgeInterpreter *x, const Body *b); /* for the thread at hand */
    uint8_t *mark;
    uint32_t *slot;      /* by ref: index of its first lane in `values` */
    /* of the thread at hand */
    JudgeExpected *values;
    JudgeExpected *results; /* of IrValue v, lane i: results[first_lane[v] + i] */
    int64_t *vars;         /* by number */
    uint32_t *first_lane;
    Thread *threads;       /* those that do a statement together */
    uint32_t n_threads;
    JudgeExpected **memory; /* by buffer: its elements; NULL: no `do` accesses it */
    const Step *current_store;
};

static const JudgeExpected judge_any_value = {.known = JUDGE_ANY};

/* ir_nodes.c */
JudgeExpected judge_exactly(uint64_t bits, bool moved);
/* The result of an operation on one lane; `from`: type of its first operand. */
JudgeExpected judge_operate(const JudgeInterpreter *x, const IrNode *n, ScType type, ScType from,
                            const JudgeExpected *m, uint32_t n_operands);
/* Fills the lanes of a node, of the thread at hand; its operands have theirs. */
void judge_node(JudgeInterpreter *x, IrRef r);
static inline JudgeExpected *judge_lanes_of(const JudgeInterpreter *x, IrRef r) { return &x->values[x->slot[r]]; }

#endif
