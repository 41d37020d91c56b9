/* ir_check.h: an IR kernel by its text, judged: what it must give, and whether what was made of it gives that in the simulator.
 *
 *     PipeIrCheck c = pipe_ir_check(cx, arena, "k.ir", text, n, ptx, &(PipeIrOptions){.samples = 4096});
 *     c.wrong == 0 && c.report.n_faults == 0
 */
#ifndef PIPE_IR_CHECK_H
#define PIPE_IR_CHECK_H

#include "eval/eval.h"
#include "ir/ir.h"
#include "sim/sim.h"

/* ir_reference.c: the meaning of a kernel of IR, thread by thread, by the reference meaning of each operation ---------------- */
typedef enum { PIPE_ANY, PIPE_EXACT, PIPE_BOUND } PipeKnown; /* anything goes; these bits; within bounds */
typedef struct {
    uint8_t known;
    bool moved; /* PIPE_EXACT: only moved since it was loaded, so that even a nan keeps its bits */
    uint64_t bits;
    EvBound bound;
} PipeMeaning;

/* How far off an instruction may be, before its result is rounded; all 0: what its operation's budget says. */
typedef struct {
    double relative; /* to the value; for sin, cos and log2, of which the PTX manual bounds the absolute error, to 1 at least */
    double ulp;
} PipeErr;

typedef struct {
    const IrKernel *k;
    void *const *memory; /* by buffer */
    PipeErr err;         /* of an operation whose budget is not 0, or that is approx */
    /* Called for each element stored, with its value's meaning; `lane` of the store. */
    void (*store)(void *arg, uint32_t buffer, int64_t element, uint32_t lane, const PipeMeaning *m);
    void *arg;
} PipeReference;

typedef struct PipeReading PipeReading;
/* Prepare; fails on nodes without a reference meaning: selected ones. */
PipeReading *pipe_reading(WbbCx *cx, WbbArena *a, const PipeReference *r);
/* One block of the launch. */
void pipe_read_block(PipeReading *x, uint64_t block);
/* What that lane of the store under way has read: (buffer, element) of up to `room` loads, in order. */
uint32_t pipe_read_loads(const PipeReading *x, uint32_t lane, uint32_t capacity, uint32_t *buffer, int64_t *element);

/* ir_inputs.c: edge values, all combinations of those of the operands, then random bits -------------------------------------- */
/* Elements first, first + 1, .. first + k.buffers[b].elements - 1 of every operand's endless sequence, into `memory`. */
void pipe_ir_inputs(const IrKernel *k, uint64_t seed, int64_t first, void *const *memory);
/* After how many elements every combination has come; *all: these were all values of the types. */
int64_t pipe_ir_combinations(const IrKernel *k, bool *all);
/* How odd a value is: 0 for 0, small for plain ones; for finding the plainest of counterexamples. */
uint32_t pipe_ir_oddity(ScType t, uint64_t bits);

/* ir_check.c ------------------------------------------------------------------------------------------------------------------ */
typedef struct {
    uint64_t seed;
    int64_t samples; /* elements of each operand tried at least; 0: all combinations of edge values and 4,096 more */
    PipeErr err;
    bool ulp_noise;  /* approximate instructions as far off as the manual allows */
} PipeIrOptions;

typedef struct {
    int64_t compared, skipped, wrong; /* elements; skipped: where the operation promises nothing */
    bool all;                         /* every value that the operands may have was tried */
    const char *first;                /* of the wrong ones, the one with the plainest operands: lines of text; NULL: none */
    SimReport report;
} PipeIrCheck;

/* `text` is the kernel as it was read; `ptx` what was made of it. */
PipeIrCheck pipe_ir_check(WbbCx *cx, WbbArena *a, const char *file, const char *text, size_t n, const char *ptx, const PipeIrOptions *o);

#endif
