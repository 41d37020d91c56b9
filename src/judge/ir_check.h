/* ir_check.h: checks the PTX of an IR kernel: an interpreter of the IR says which values it must store, the simulator
 * which values the PTX stores.
 *
 * Needs the kernel's text and its PTX; leaves counts and the simplest counterexample.
 *
 *     JudgeIrCheck c = judge_ir_check(cx, arena, "k.ir", text, n, ptx, &(JudgeIrOptions){.samples = 4096});
 *     c.wrong == 0 && c.report.n_faults == 0
 */
#ifndef JUDGE_IR_CHECK_H
#define JUDGE_IR_CHECK_H

#include "eval/eval.h"
#include "ir/ir.h"
#include "sim/sim.h"

/* ir_reference.c: interprets a kernel of IR thread by thread, with the reference semantics of each operation */
typedef enum { JUDGE_ANY, JUDGE_EXACT, JUDGE_BOUND } JudgeKnown; /* any value; these bits; a value within bounds */
typedef struct {
    uint8_t known;
    bool moved; /* JUDGE_EXACT: loaded and then only moved, so that even a nan keeps its bits */
    uint64_t bits;
    EvBound bound;
} JudgeExpected;

/* The error that an instruction may have before its result is rounded; all 0: the operation's budget holds. */
typedef struct {
    double relative; /* to the value; to max(value, 1) for sin, cos and log2: the manual bounds their absolute error */
    double ulp;
} JudgeErr;

typedef struct {
    const IrKernel *k;
    void *const *memory; /* by buffer */
    JudgeErr err;         /* of operations whose budget is not 0, or that are approx */
    /* Called for each element stored, with the lane of the store and the value expected. */
    void (*store)(void *arg, uint32_t buffer, int64_t element, uint32_t lane, const JudgeExpected *m);
    void *arg;
} JudgeReference;

typedef struct JudgeInterpreter JudgeInterpreter;
/* Fails on instr nodes, which have no reference semantics. `r` is copied. */
JudgeInterpreter *judge_interpreter(WbbCx *cx, WbbArena *a, const JudgeReference *r);
/* A launch: its start, all threads of one block after the other, its end, where JudgeReference.store is called for the
 * elements of outputs, and of temporaries that are to be zero again, that `do` statements access. */
void judge_interpret_launch(JudgeInterpreter *x);
void judge_interpret_block(JudgeInterpreter *x, uint64_t block);
void judge_interpret_end(JudgeInterpreter *x);
/* In JudgeReference.store: (buffer, element) of up to `capacity` loads that this lane of the store needed, in order. */
uint32_t judge_loads_of_store(const JudgeInterpreter *x, uint32_t lane, uint32_t capacity, uint32_t *buffer,
                              int64_t *element);

/* ir_inputs.c: sequences of inputs: all combinations of the operands' edge values, then random bits */
/* Fills `memory` of every operand b with elements first .. first + k.buffers[b].elements - 1 of its infinite
 * sequence. Of what follows the combinations a quarter is near `values`, their multiples and negatives. */
typedef struct {
    const uint64_t *items;
    uint32_t n;
} JudgeIrValues;
void judge_ir_inputs(const IrKernel *k, uint64_t seed, int64_t first, JudgeIrValues values, void *const *memory);
/* The number of elements after which every combination has occurred; *all: of all values of the types, not only edge
 * values. */
int64_t judge_ir_combinations(const IrKernel *k, bool *all);
/* How complex a value is: 0 for 0, small for simple values. The counterexample with the simplest operands is shown. */
uint32_t judge_ir_complexity(ScType t, uint64_t bits);

/* ir_check.c */
typedef struct {
    uint64_t seed;
    int64_t samples; /* elements of each operand to try at least; 0: all combinations of edge values and 4,096 more */
    JudgeErr err;
    JudgeIrValues values;
    bool ulp_noise;  /* the simulator's approximate instructions have any error that the manual allows */
} JudgeIrOptions;

typedef struct {
    int64_t compared, skipped, wrong; /* elements; skipped: the operation's result is unspecified */
    bool all;                         /* every combination of values of the operands was tried */
    const char *first;                /* the wrong element with the simplest operands, lines of text; NULL: none */
    SimReport report;
} JudgeIrCheck;

/* `text` is the kernel before all passes, `ptx` the PTX made of it. */
JudgeIrCheck judge_ir_check(WbbCx *cx, WbbArena *a, const char *file, const char *text, size_t n, const char *ptx,
                            const JudgeIrOptions *o);

#endif
