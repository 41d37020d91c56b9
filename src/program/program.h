/* program: a whole HLO module as steps over buffers: written, read back, verified, run.
 *
 * A computation of a program has values (arrays; a tuple of the module is several), buffers that hold them, and steps
 * in order: a kernel, a library call, a copy, a loop, a branch, a call. The entry is one computation; bodies and
 * branches are others, that stand before those that call them. README.md has the schema of program.json.
 *
 *     ProgModule *p = prog_build(cx, arena, module, &how);   // a verified, normalised HLO module
 *     prog_write(cx, p, "out");                                      // out/program.json, the texts of steps, ..
 *     ProgModule *q = prog_read(cx, arena, "out");                      // untrusted: every field is checked
 */
#ifndef PROG_PROGRAM_H
#define PROG_PROGRAM_H

#include "base/base.h"
#include "bundle/bundle.h"
#include "fuse/fuse.h"
#include "hlo/hlo.h"

enum { PROG_VERSION = 1, PROG_ALIGN = 128 /* bytes, of temporaries */ };
enum { PROG_NONE = -1 };
enum { PROG_MOST_ITERATIONS = FUSE_MOST_TRIPS }; /* of a loop whose number of iterations is written down */

typedef struct {
    const char *name; /* of the instruction of the module; "while.4{1,0}" is an array of its tuple */
    const char *type; /* HLO's name: "bf16" */
    int rank;
    const int64_t *dims;       /* [rank] logical, major first */
    const int *minor_to_major; /* [rank] */
    int64_t bytes;
    uint32_t buffer; /* that holds it, from its start on but for parts */
    uint32_t of;     /* the value that it is a view of; itself if it is none */
    /* A part of that: bytes from its start, and what each iteration of the loop adds whose body the computation is. */
    int64_t at, each;
} ProgValue;

typedef enum { PROG_PARAMETER, PROG_RESULT, PROG_CONSTANT, PROG_TEMPORARY } ProgPlace;

typedef struct {
    ProgPlace place;
    uint32_t number;     /* parameter, result: its number; the caller has the memory */
    const char *file;    /* constant: a file of the folder; NULL: the module's text leaves out its elements */
    const void *literal; /* constant: its elements, logical, while it is being built */
    bool splat;          /* `literal` is one element, which all equal */
    int64_t bytes;
    int64_t offset;      /* temporary: in the frame of the computation */
    uint32_t first, last; /* the steps from and to which it holds a value; parameters and constants: 0 on */
} ProgBuffer;

typedef enum { PROG_KERNEL, PROG_LIBRARY, PROG_COPY, PROG_LOOP, PROG_BRANCH, PROG_CALL } ProgStepKind;
extern const char *const prog_step_name[]; /* "kernel", .. */

typedef struct { uint32_t output, operand; } ProgShare; /* makes[output] has the memory of reads[operand] */
typedef struct { uint32_t state, spare; } ProgSwap; /* of a loop: reads[state], and a value in other memory */

typedef struct {
    ProgStepKind kind;
    const char *name;      /* of the instruction */
    const char *operation; /* "dot"; of a kernel, that of its first root */
    const char *file;      /* kernel, library: its text, steps/NAME.hlo; equal steps have one */
    const char *text;      /* that text */
    WbbSource plan;        /* kernel: the choices that its compile follows; none: they are made */
    WbbOrigin from;        /* kernel, library: where in the module the text comes from; of a program that was read, the
                              line of the instruction alone */
    uint32_t *reads, *makes; /* [n_reads], [n_makes] values. Kernel, library: all arrays of operands, of the result */
    uint32_t n_reads, n_makes;
    const ProgShare *shares; /* [n_shares] kernel: outputs in the memory of operands that nothing reads later */
    uint32_t n_shares;
    /* Computations. Loop: condition and body, or the body alone where `iterations` is known; reads[k] and makes[k] have
     * one memory, which is parameter and result k of the body, but for `swaps`. Branch: one a value of reads[0], a pred
     * (1 is the first one) or an s32; branch b has `taken[b]` of the further reads as parameters. Call: one. */
    const uint32_t *calls;
    const uint32_t *taken; /* [n_calls] */
    uint32_t n_calls;
    uint32_t flag;         /* loop with a condition: a pred, its result */
    int64_t iterations;    /* loop: how often the body runs; PROG_NONE: until the condition says no */
    /* loop, counted: state whose memory and that of the spare value take turns: the body reads one and makes the other.
     * After an odd number of iterations makes[state] is the spare. */
    const ProgSwap *swaps; /* [n_swaps] */
    uint32_t n_swaps;
    int64_t frame;         /* a buffer for the frames of the computations; PROG_NONE: they need none */
} ProgStep;

typedef struct {
    const char *name;
    ProgValue *values;
    ProgBuffer *buffers;
    ProgStep *steps;
    uint32_t n_values, n_buffers, n_steps;
    uint32_t *parameters, *results; /* values; result k is in the buffer of result k, or of parameter in_place[k] */
    /* [n_results] a parameter whose memory the result has; PROG_NONE: none. In a loop body k, or none */
    int64_t *in_place;
    uint32_t n_parameters, n_results;
    int64_t frame; /* bytes of all temporaries, frames of called computations included */
} ProgComputation;

typedef struct {
    const char *name;   /* of the module */
    const char *source; /* the text that it was made of */
    const char *folder; /* that it was read from; NULL: none */
    ProgComputation *computations; /* callees first */
    uint32_t n, entry;
} ProgModule;

/* Bytes of memory for one run. */
typedef struct {
    int64_t parameters, results, constants, temporaries, peak; /* results: those without a parameter's memory */
    int64_t without_sharing; /* temporaries, if each value had memory of its own */
} ProgMemory;

/* build.c: the program of a verified, normalised HLO module. Declines constants of tuple shape. */
ProgModule *prog_build(WbbCx *cx, WbbArena *a, const HloModule *m, const FuseHow *how);
/* What the text of an HLO module is, by the plain cut of an entry without fusions. */
typedef enum {
    PROG_SINGLE,  /* one fusion or one step; or an error in the text */
    PROG_SEVERAL, /* several steps, which one kernel may be able to compute; or must-alias, which none sees to */
    PROG_CALLS,   /* the same, and library calls are among them */
    PROG_FUSIONS, /* several fusions */
} ProgKind;
ProgKind prog_kind(const char *file, const char *text, size_t n);
/* How many of these steps are library calls, those of loops and branches among them; -1: the text has an error. */
int prog_library_calls(const char *text, size_t n);
ProgMemory prog_memory(const ProgModule *p);
/* The value as an operand of a bundle: its type, shape, order of dimensions. */
BdBuffer prog_describe(const ProgValue *v);
/* "3 kernels of 2 texts, 1 library call, 2 loops .., 1024 bytes at the peak" */
void prog_summary(WbbBuf *out, const ProgModule *p);

/* ready.c: declines, at its line of the module, what no library call of the program can compute. */
void prog_check_calls(WbbCx *cx, const ProgModule *p);

/* Is it less than the memory of the value that it is a view of, or not at its start? */
bool prog_is_part(const ProgValue *v, const ProgValue *of);

/* place.c: which buffer each value has, the copies that this takes, and the offsets of temporaries. `c` comes with
 * values whose buffer is PROG_UNPLACED, or that of a parameter or constant. */
enum { PROG_UNPLACED = UINT32_MAX };
/* swap: it is the body of counted loops, so results may have memory that takes turns with that of their parameter. */
void prog_place(WbbCx *cx, WbbArena *a, const ProgModule *p, ProgComputation *c, bool swap);
/* Does the body of a loop leave element k of the state as it was, in its memory? */
bool prog_keeps(const ProgComputation *body, uint32_t k);
/* The step that copies value `from` to value `to`, named `name`. */
ProgStep prog_copy(WbbArena *a, const char *name, uint32_t from, uint32_t to);

/* trips.c: how often a `while` of `of` runs, by running what decides in the evaluator, or by what the text says;
 * PROG_NONE: that is not known. */
int64_t prog_trips(WbbCx *cx, const HloComputation *of, const HloInstruction *loop);

/* share.c: pairs of a kernel's outputs and operands that may have one memory: updates in place of the operand. Needs
 * the text of the step. */
const ProgShare *prog_shares(WbbCx *cx, WbbArena *a, const ProgStep *s, uint32_t *n);

/* verify.c: each value is made before it is read and not overwritten in between, shapes fit, memory is large enough.
 * NULL, or what is wrong with step *step of computation *computation (-1: with the computation itself). */
const char *prog_verify(WbbArena *a, const ProgModule *p, int64_t *computation, int64_t *step);

/* write.c: program.json, source.hlo, steps/NAME.hlo, constants/NAME.npy. The folder must be new, empty, or hold an
 * earlier program and nothing else, which is removed. */
const char *prog_json(WbbArena *a, const ProgModule *p);
void prog_write(WbbCx *cx, ProgModule *p, const char *folder);
/* The file of the choices that the compile of a step follows, where the folder has it. */
const char *prog_plan_file(WbbArena *a, const char *folder, const ProgStep *s);
bool prog_is_folder(const char *folder);  /* has a program.json */
bool prog_has_bundle(const char *folder); /* has a kernel.json: a bundle of a step */

/* read.c: a wbb_fail at file:line:col if anything does not fit. */
ProgModule *prog_read(WbbCx *cx, WbbArena *a, const char *folder);
/* The elements of a constant whose file is in the program's folder. */
const void *prog_read_constant(WbbCx *cx, WbbArena *a, const ProgModule *p, const ProgValue *x, const ProgBuffer *b);
/* Reads the constants, too, so that neither running nor writing the program needs its folder any more. */
void prog_detach(WbbCx *cx, WbbArena *a, ProgModule *p);
/* The text of program.json alone; steps have no text. `file` is its name in messages. */
ProgModule *prog_parse(WbbCx *cx, WbbArena *a, const char *file, const char *json);

#endif
