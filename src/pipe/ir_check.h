/* ir_check.h: checks the PTX of an IR kernel: an interpreter of the IR says which values it must store, the simulator
 * which values the PTX stores.
 *
 * Needs the kernel's text and its PTX; leaves counts and the simplest counterexample.
 *
 *     PipeIrCheck c = pipe_ir_check(cx, arena, "k.ir", text, n, ptx, &(PipeIrOptions){.samples = 4096});
 *     c.wrong == 0 && c.report.n_faults == 0
 */
#ifndef PIPE_IR_CHECK_H
#define PIPE_IR_CHECK_H

#include "eval/eval.h"
#include "ir/ir.h"
#include "sim/sim.h"

/* ir_reference.c: interprets a kernel of IR thread by thread, with the reference semantics of each operation */
typedef enum { PIPE_ANY, PIPE_EXACT, PIPE_BOUND } PipeKnown; /* any value; these bits; a value within bounds */
typedef struct {
    uint8_t known;
    bool moved; /* PIPE_EXACT: loaded and then only moved, so that even a nan keeps its bits */
    uint64_t bits;
    EvBound bound;
} PipeExpected;

/* The error that an instruction may have before its result is rounded; all 0: the operation's budget holds. */
typedef struct {
    double relative; /* to the value; to max(value, 1) for sin, cos and log2: the manual bounds their absolute error */
    double ulp;
} PipeErr;

typedef struct {
    const IrKernel *k;
    void *const *memory; /* by buffer */
    PipeErr err;         /* of operations whose budget is not 0, or that are approx */
    /* Called for each element stored, with the lane of the store and the value expected. */
    void (*store)(void *arg, uint32_t buffer, int64_t element, uint32_t lane, const PipeExpected *m);
    void *arg;
} PipeReference;

typedef struct PipeInterpreter PipeInterpreter;
/* Fails on instr nodes, which have no reference semantics. `r` is copied. */
PipeInterpreter *pipe_interpreter(WbbCx *cx, WbbArena *a, const PipeReference *r);
/* A launch: its start, all threads of one block after the other, its end, where PipeReference.store is called for the
 * elements of outputs, and of temporaries that are to be zero again, that `do` statements access. */
void pipe_interpret_launch(PipeInterpreter *x);
void pipe_interpret_block(PipeInterpreter *x, uint64_t block);
void pipe_interpret_end(PipeInterpreter *x);
/* In PipeReference.store: (buffer, element) of up to `capacity` loads that this lane of the store needed, in order. */
uint32_t pipe_loads_of_store(const PipeInterpreter *x, uint32_t lane, uint32_t capacity, uint32_t *buffer,
                             int64_t *element);

/* ir_inputs.c: sequences of inputs: all combinations of the operands' edge values, then random bits */
/* Fills `memory` of every operand b with elements first .. first + k.buffers[b].elements - 1 of its infinite
 * sequence. Of what follows the combinations a quarter is near `values`, their multiples and negatives. */
typedef struct {
    const uint64_t *items;
    uint32_t n;
} PipeIrValues;
void pipe_ir_inputs(const IrKernel *k, uint64_t seed, int64_t first, PipeIrValues values, void *const *memory);
/* The number of elements after which every combination has occurred; *all: of all values of the types, not only edge
 * values. */
int64_t pipe_ir_combinations(const IrKernel *k, bool *all);
/* How complex a value is: 0 for 0, small for simple values. The counterexample with the simplest operands is shown. */
uint32_t pipe_ir_complexity(ScType t, uint64_t bits);

/* ir_check.c */
typedef struct {
    uint64_t seed;
    int64_t samples; /* elements of each operand to try at least; 0: all combinations of edge values and 4,096 more */
    PipeErr err;
    PipeIrValues values;
    bool ulp_noise;  /* the simulator's approximate instructions have any error that the manual allows */
} PipeIrOptions;

typedef struct {
    int64_t compared, skipped, wrong; /* elements; skipped: the operation's result is unspecified */
    bool all;                         /* every combination of values of the operands was tried */
    const char *first;                /* the wrong element with the simplest operands, lines of text; NULL: none */
    SimReport report;
} PipeIrCheck;

/* `text` is the kernel before all passes, `ptx` the PTX made of it. */
PipeIrCheck pipe_ir_check(WbbCx *cx, WbbArena *a, const char *file, const char *text, size_t n, const char *ptx,
                          const PipeIrOptions *o);

#endif
