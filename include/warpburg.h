/* warpburg.h: compiles HLO fusions to GPU kernels, and runs, checks, times and launches them, as a library.
 *
 * Use one context per thread: there is no global state. A kernel does not change once it is compiled: any number of
 * threads may run it at once. No call prints or ends the process, and a thread with 512 KiB of stack is enough. What a
 * call computes does not depend on the thread's floating-point environment (rounding, flushed subnormals, traps), which
 * it leaves as it was. No GPU, driver or network is needed, but by the functions that run kernels on a GPU. What was
 * compiled before comes from a cache in the user's folder, unless WARPBURG_CACHE=off (docs/assemblers.md).
 *
 *     wb_context *cx = wb_context_new();
 *     wb_kernel *k;
 *     if (wb_compile(cx, "gelu.hlo", text, strlen(text), &(wb_options){.target = "sm_90"}, &k) == WB_OK)
 *         puts(wb_kernel_ptx(k));
 *     else
 *         fputs(wb_messages(cx), stderr);
 *     wb_kernel_free(k);
 *     wb_context_free(cx);                            // and its other kernels
 *
 * Contents: versions and statuses; compiling; what a kernel is; running it in the simulator; whole programs;
 * running a kernel on a GPU; kernels as operations of XLA. examples/ has programs in C and C++.
 *
 * Stability: a function keeps its meaning within a major version. Structures may grow at their end with a minor
 * version, which changes the library's soname while the major version is 0: fill them by designated initialisers, or
 * clear them first, and compile against the header of the library. Enumerations grow at their end.
 */
#ifndef WARPBURG_H
#define WARPBURG_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define WB_API __attribute__((visibility("default")))
#else
#define WB_API
#endif

/* --- versions and statuses ------------------------------------------------------------------------------------- */

#define WB_VERSION_MAJOR 0
#define WB_VERSION_MINOR 2

WB_API const char *wb_version(void); /* of the library: "0.2.0" */

/* WB_FAILED: the input has an error, or a tool refused it. WB_DECLINED: the input is well-formed, but not supported.
 * WB_CHECK: a kernel did what it must not do. In all three cases the messages say where and why. */
typedef enum { WB_OK = 0, WB_FAILED = 1, WB_DECLINED = 3, WB_CHECK = 4 } wb_status;

/* Why a fusion was declined: a closed list, to which a later version may add at the end. wb_reason_text explains. */
typedef enum {
    WB_WHY_NONE, WB_WHY_REDUCTION, WB_WHY_SCATTER, WB_WHY_LIBRARY, WB_WHY_COLLECTIVE, WB_WHY_TRANSFER, WB_WHY_RANDOM,
    WB_WHY_ASYNC, WB_WHY_EFFECT, WB_WHY_DYNAMIC, WB_WHY_OPERATION, WB_WHY_TYPE, WB_WHY_CONTROL_FLOW, WB_WHY_NO_FUSION,
    WB_WHY_MANY_FUSIONS, WB_WHY_SHAPE, WB_WHY_SIZE, WB_WHY_NO_RULE, WB_WHY_NO_LIBDEVICE, WB_WHY_NO_GPU,
    WB_WHY_FEATURE
} wb_reason;

WB_API const char *wb_reason_name(wb_reason r); /* "no_rule"; NULL: there is no such reason */
WB_API const char *wb_reason_text(wb_reason r); /* a sentence */

/* --- compiling -------------------------------------------------------------------------------------------------- */

typedef struct wb_context wb_context;
typedef struct wb_kernel wb_kernel;

/* The errors that functions may have: by default quotients and roots are correctly rounded and other functions off by
 * few units in the last place; those of XLA's own kernels; those of the machine's approximations. */
typedef enum { WB_EXACT, WB_APPROX, WB_XLA } wb_accuracy;
/* What writes the PTX: LLVM; the tables of rules alone, which decline what they have no text for; or the tables, and
 * LLVM where they have none and the build has it, which is the default. */
typedef enum { WB_ANY_BACKEND, WB_LLVM, WB_PTX, WB_PTX_OR_LLVM } wb_backend;

typedef struct {
    const char *target; /* "sm_90"; NULL: sm_90 */
    wb_accuracy accuracy;
    uint32_t align;     /* alignment of every buffer in bytes, at least the size of its elements; 0: 16 */
    int lines;          /* the PTX has `.loc` lines of the rules that made it */
    int cubin;          /* make machine code as well, if ptxas is found */
    const char *layout; /* text of the layout that the kernel must have; NULL: the cheapest */
    /* The updates of a scatter are combined in their order, so that the result has the same bits in every run: the
     * indices are sorted first. 0: in any order, where they are floats or overwrite each other. */
    int deterministic;
    wb_backend backend; /* what writes the PTX */
} wb_options;

WB_API wb_context *wb_context_new(void);       /* NULL: out of memory */
WB_API void wb_context_free(wb_context *cx);   /* also frees its kernels; NULL: does nothing */
WB_API const char *wb_target_name(uint32_t i); /* of the i-th target, from 0: "sm_75"; NULL after the last */

/* Compiles the fusion in `text` (n bytes), which is copied. `file`: its name in messages; NULL: "<text>". `options`
 * NULL: the defaults. The context owns the kernel; *kernel is NULL if the status is not WB_OK. */
WB_API wb_status wb_compile(wb_context *cx, const char *file, const char *text, size_t n, const wb_options *options,
                            wb_kernel **kernel);
/* The messages since the last wb_compile began, one per line: "FILE:LINE:COL: error: .."; "": none. */
WB_API const char *wb_messages(const wb_context *cx);
/* Why the last wb_compile declined; WB_WHY_NONE: it did not. */
WB_API wb_reason wb_declined(const wb_context *cx);

/* Frees the kernel and all that was returned for it, before its context is freed; NULL: does nothing. */
WB_API void wb_kernel_free(wb_kernel *k);

/* --- what a kernel is ------------------------------------------------------------------------------------------- */

WB_API const char *wb_kernel_name(const wb_kernel *k);
WB_API const char *wb_kernel_target(const wb_kernel *k);
WB_API const char *wb_kernel_ptx(const wb_kernel *k);     /* text, NUL-terminated */
WB_API const char *wb_kernel_json(const wb_kernel *k);    /* all of this as text, schema of kernel.json */
WB_API const char *wb_kernel_hlo(const wb_kernel *k);     /* the text that was compiled */
WB_API const char *wb_kernel_explain(const wb_kernel *k); /* why the kernel is as it is: layout, accesses, functions */
/* Machine code of *bytes bytes. NULL: there is none, and *missing, unless `missing` is NULL, says why. */
WB_API const void *wb_kernel_cubin(const wb_kernel *k, size_t *bytes, const char **missing);

/* An array of the entry's parameters or of the result, tuples flattened depth first. On the host its elements lie one
 * after the other, the last dimension fastest; those of types under 8 bits take a byte each, sign-extended. */
typedef struct {
    const char *type;       /* of HLO: "bf16" */
    uint32_t element_bytes; /* on the host */
    uint32_t rank;
    const int64_t *dims;    /* [rank] */
    uint64_t bytes;         /* of the array on the host */
} wb_array;

/* Input or output i, counted from 0. 1: *array is filled; 0: there is no such one, and it is not changed. */
WB_API int wb_kernel_input(const wb_kernel *k, uint32_t i, wb_array *array);
WB_API int wb_kernel_output(const wb_kernel *k, uint32_t i, wb_array *array);

typedef enum { WB_OPERAND, WB_OUTPUT, WB_TEMPORARY } wb_role;

/* The contents of a buffer before the first launch: anything; zeros; an operand's; or, of a temporary, zeros before the
 * first run of the kernel, which leaves zeros for the next one. The values of an operand are the caller's. */
typedef enum { WB_ANYTHING, WB_ZEROS, WB_COPY, WB_TICKET } wb_contents;

/* One buffer of device memory. Temporaries serve one run at a time, and have no elements. */
typedef struct {
    wb_role role;
    uint32_t number;        /* of the operand, or of the array in the result, tuples flattened depth first */
    uint64_t bytes;
    uint32_t align;         /* of its address, bytes */
    wb_contents contents;
    int copy_of;            /* WB_COPY: the buffer whose contents, or memory, the output has; else -1 */
    const int *may_alias;   /* [n_may_alias] buffers of operands whose memory the output may have */
    uint32_t n_may_alias;
    const char *type;       /* of HLO: "bf16" */
    uint32_t bits;          /* of an element: 4 for s4, which is packed, low bits first; 8 for pred */
    uint32_t rank;
    const int64_t *dims;    /* [rank] */
    const int *minor_to_major; /* [rank] the order of dimensions in memory, the fastest one first */
    int input;              /* of an operand: the number of the input whose elements it has; else -1 */
    const void *constant;   /* of an operand that is a constant: its elements, as an array on the host; else NULL */
} wb_buffer;

typedef struct {
    const char *entry;      /* name of the kernel in the PTX */
    uint32_t grid[3], block[3];
    uint32_t cluster[3];    /* blocks of a cluster; 1, 1, 1: no clusters */
    uint32_t shared_bytes;  /* dynamic; above 48 KiB the function needs its attribute */
    const int *arguments;   /* [n_arguments] argument i is the address of buffer arguments[i] */
    uint32_t n_arguments;
} wb_launch;

/* Buffer or launch i, counted from 0. 1: *buffer or *launch is filled; 0: there is no such one, and it is not changed.
 * A kernel whose result is empty has no launch. To run a kernel by a driver of your own, allocate its buffers and run
 * its launches in order on one stream. */
WB_API int wb_kernel_buffer(const wb_kernel *k, uint32_t i, wb_buffer *buffer);
WB_API int wb_kernel_launch(const wb_kernel *k, uint32_t i, wb_launch *launch);
/* Milliseconds of step i of the compile, 0 <= i < wb_kernel_steps, and its name in *name unless `name` is NULL.
 * Processor time, but elapsed time for the step that waits for ptxas; 0 of what came from the cache. */
WB_API double wb_kernel_ms(const wb_kernel *k, int i, const char **name);
WB_API int wb_kernel_steps(const wb_kernel *k);

/* --- running it in the simulator -------------------------------------------------------------------------------- */

/* What a call left beside its numbers. Every call that has a `wb_result **` sets it, whatever its status, unless it is
 * NULL; the caller frees it. It does not refer to the kernel. *result NULL: out of memory. */
typedef struct wb_result wb_result;
WB_API const char *wb_result_messages(const wb_result *r); /* errors and faults, one per line; "": none */
WB_API const char *wb_result_text(const wb_result *r);     /* a report; "": none */
WB_API const char *wb_result_json(const wb_result *r);     /* the same as an object; "": none */
WB_API const char *wb_result_html(const wb_result *r);     /* of a profile: a page; "": none */
WB_API wb_reason wb_result_declined(const wb_result *r);   /* WB_WHY_NONE: it is not declined */
WB_API void wb_result_free(wb_result *r);                  /* NULL: does nothing */

/* The HLO text of what a file holds, in wb_result_text: of a module that XLA dumped as a protocol buffer
 * (--xla_dump_hlo_as_proto, as_serialized_hlo_module_proto() of jaxlib), and of a text that itself. */
WB_API wb_status wb_hlo_text(const char *file, const void *bytes, size_t n, wb_result **result);

/* HLO text that assumes of every operation on floats what `list` names, some of "contract,nnan,nsz": a sum may take a
 * product unrounded, no value is a nan, the sign of a zero does not matter. Its header says so, and what is compiled of
 * it is judged by it. WB_FAILED: the list has another word. */
WB_API wb_status wb_hlo_assume(const char *text, size_t n, const char *list, wb_result **result);

/* Long work calls it in the calling thread, twenty times a second at most: `done` of `total` of what `what` names.
 * Nonzero: stop; the call ends with WB_FAILED. */
typedef int wb_progress(void *arg, const char *what, int64_t done, int64_t total);
/* Compiles of the context call it, too, from now on; NULL: no more. */
WB_API void wb_context_on_progress(wb_context *cx, wb_progress *progress, void *arg);

/* Host threads, and values of inputs that are not given: they follow from the case and the seed. Case 'w' has usual
 * values, and indices in and out of the bounds of what they index, 'n' the same with indices 0 to 7, 'e' edge values,
 * 'p' values above 0, 'd' values of which one outweighs all others of a sum, 's' values whose sums no order rounds,
 * 't' tiny values, 'u' subnormal ones, 'c' constants of the fusion and of the kernel, at which comparisons tip. */
typedef struct {
    uint32_t threads;  /* 0: one */
    char inputs;       /* 0: 'w' */
    uint64_t seed;
    uint64_t blocks;   /* run a sample of so many blocks; 0: all. wb_kernel_run runs all */
    wb_progress *progress; /* NULL: none */
    void *progress_arg;
    int on_gpu;            /* of programs: their kernels run on a GPU, library calls on the host */
} wb_run_options;

/* Runs the kernel on the inputs, arrays on the host in their order, and fills the arrays of the outputs. A fault of the
 * kernel is WB_CHECK. `options` NULL: the defaults. */
WB_API wb_status wb_kernel_run(const wb_kernel *k, const void *const *inputs, void *const *outputs,
                               const wb_run_options *options, wb_result **result);

typedef struct {
    uint64_t compared, outside; /* elements; those outside the bounds of what the HLO text allows */
    double max_ulp;             /* largest distance from an evaluation in f64, in units in the last place */
    uint32_t faults;            /* accesses out of bounds, races, .. */
} wb_verdict;

/* Runs the kernel, checks every access to memory, and compares each element with the bounds of what the HLO text
 * allows: WB_CHECK if something is wrong. `inputs` NULL: they are made. */
WB_API wb_status wb_kernel_check(const wb_kernel *k, const void *const *inputs, const wb_run_options *options,
                                 wb_verdict *verdict, wb_result **result);

/* The time of the kernel on its GPU, as the model of docs/profile.md has it, in seconds. */
typedef struct {
    double seconds;                     /* of all launches */
    double launch, latency, work, tail; /* of the launch that takes longest: what its time is made of */
    char binds[32];                     /* what bounds its work: "dram", "pipe.fma", ..; "": there is no launch */
} wb_time;

/* Runs the kernel, or a sample of its blocks, and models its time. The result has the report, as `warpburg run
 * --profile` prints it, and a page. `inputs` NULL: they are made. */
WB_API wb_status wb_kernel_profile(const wb_kernel *k, const void *const *inputs, const wb_run_options *options,
                                   wb_time *time, wb_result **result);

/* What the compile is at a stage, as `warpburg compile --emit` prints it: hlo, maps, graph, plan (the layout among it),
 * ir, llvm, ptx with comments, json; or trace, the rules that fired. wb_result_text has it. It is compiled anew. */
WB_API wb_status wb_kernel_emit(const wb_kernel *k, const char *stage, wb_result **result);

/* The record of `warpburg stats`: instructions, registers, bytes, rules. wb_result_json has it; with ptxas machine
 * code is counted as well. */
WB_API wb_status wb_kernel_statistics(const wb_kernel *k, wb_result **result);

/* Writes the kernel to a folder, which `warpburg run` takes, too: PTX, kernel.json and the HLO text, machine code where
 * an assembler is found, and saved.json: options, plan and hashes. The other one takes it from there without compiling:
 * WB_FAILED, with a message that names the file, where one is damaged or missing, or where another version of the
 * library has written it. */
WB_API wb_status wb_kernel_write(const wb_kernel *k, const char *folder, wb_result **result);
WB_API wb_status wb_kernel_read(wb_context *cx, const char *folder, wb_kernel **kernel);

/* --- whole programs --------------------------------------------------------------------------------------------- */

/* An HLO module that is more than one fusion: kernels, library calls, copies, loops and branches in order, and the
 * memory between them (docs/programs.md). A program does not change once it is made: any number of threads may run it
 * at once. Programs run in the simulator or on a GPU, library calls in an evaluator. */
typedef struct wb_program wb_program;

/* Where an unfused module is cut: by modelled time on the target, or the same on every target and every day. */
typedef enum { WB_PRICED, WB_PLAIN } wb_cut;

typedef struct {
    wb_options kernels; /* of each; `layout` must be NULL */
    wb_cut cut;
    int partial;        /* if a kernel is declined: 0: so is the program; 1: it is left out, and messages say so */
} wb_program_options;

/* What a text is for: a kernel by wb_compile, or a program. WB_ONE_STEP: one fusion, or operations that are one kernel
 * or library call; or it has an error. WB_SEVERAL_STEPS: several, which wb_compile may compile as one kernel, or
 * decline. WB_WITH_CALLS: the same with products of matrices or other library calls among them, which one kernel would
 * compute slowly. WB_SEVERAL_FUSIONS: a fused module. */
typedef enum { WB_ONE_STEP, WB_SEVERAL_STEPS, WB_WITH_CALLS, WB_SEVERAL_FUSIONS } wb_kind;
WB_API wb_kind wb_kind_of(const char *text, size_t n);
/* Library calls of a program of an unfused text, those of loops and branches among them. A product is none where few
 * results need each element of its larger factor: that is a sum, and part of a kernel. -1: the text has an error. */
WB_API int wb_library_calls(const char *text, size_t n);
/* Of a text of operations, one step or several: does a program of it take less time than one kernel, by the model of
 * docs/profile.md, or compute once what that would compute again and again? 0: one kernel is as good, it is a fusion,
 * or it has an error. `options` NULL: the defaults. */
WB_API int wb_better_apart(wb_context *cx, const char *text, size_t n, const wb_options *options);
/* Cuts the module in `text` (n bytes), which is copied, and compiles its kernels: messages, reason and ownership are as
 * wb_compile has them. `options` NULL: the defaults. */
WB_API wb_status wb_program_compile(wb_context *cx, const char *file, const char *text, size_t n,
                                    const wb_program_options *options, wb_program **program);
/* The program of a folder that wb_program_write, or `warpburg compile -o`, left, which is not needed afterwards;
 * kernels are compiled anew, as `options` say. NULL, of a folder that wb_program_write left: none is compiled, and the
 * kernels are those in it, as wb_kernel_read takes them. */
WB_API wb_status wb_program_read(wb_context *cx, const char *folder, const wb_program_options *options,
                                 wb_program **program);
/* Writes the folder, kernels included: new, empty, or with an earlier program and nothing else. */
WB_API wb_status wb_program_write(const wb_program *p, const char *folder, wb_result **result);
WB_API void wb_program_free(wb_program *p); /* its kernels as well, before its context is freed; NULL: does nothing */

WB_API const char *wb_program_name(const wb_program *p);    /* of the module */
WB_API const char *wb_program_target(const wb_program *p);
WB_API const char *wb_program_hlo(const wb_program *p);     /* the text that was compiled */
WB_API const char *wb_program_json(const wb_program *p);    /* all of this as text, schema of program.json */
WB_API const char *wb_program_summary(const wb_program *p); /* "3 kernels of 2 texts, 1 library call; .." */
/* Arrays of the entry's parameters and of its result, as those of a kernel. */
WB_API int wb_program_input(const wb_program *p, uint32_t i, wb_array *array);
WB_API int wb_program_output(const wb_program *p, uint32_t i, wb_array *array);

typedef struct {
    uint64_t parameters, results; /* results: those that have no parameter's memory */
    uint64_t constants, temporaries;
    uint64_t peak;                /* of one run: the sum */
} wb_memory;
WB_API void wb_program_memory(const wb_program *p, wb_memory *memory); /* bytes */

/* Kernels: one for each text, which any number of steps may have. The program owns them. NULL: it is left out. */
WB_API uint32_t wb_program_kernels(const wb_program *p);
WB_API const wb_kernel *wb_program_kernel(const wb_program *p, uint32_t i);

/* Steps belong to computations: the entry, and bodies and branches, each before those that call it. All numbers below
 * are of the same computation. */
typedef struct {
    const char *name;
    uint32_t n_values, n_regions, n_steps;
    const uint32_t *parameters; /* [n_parameters] values */
    uint32_t n_parameters;
    const uint32_t *results;    /* [n_results] values */
    const int64_t *in_place;    /* [n_results] the parameter whose memory the result has; -1: none */
    uint32_t n_results;
    uint64_t frame;             /* bytes of all temporaries, those of called computations included */
} wb_computation;

typedef struct {
    const char *name, *type;   /* of the instruction; "while.4{1,0}" is an array of its tuple. Type of HLO: "bf16" */
    uint32_t rank;
    const int64_t *dims;       /* [rank] */
    const int *minor_to_major; /* [rank] the order of dimensions in memory, the fastest one first */
    uint64_t bytes;
    uint32_t region;           /* that holds it, from its start on but for parts of values */
    uint32_t view_of;          /* the value that it is a reshape, bitcast or part of; itself if it is none */
    uint64_t start;            /* bytes from the start of the region */
    int64_t step;              /* what each iteration adds to that, of the loop whose body the computation is */
} wb_value;

typedef enum { WB_OF_PARAMETER, WB_OF_RESULT, WB_OF_CONSTANT, WB_OF_FRAME } wb_place;

/* Memory that values lie in. */
typedef struct {
    wb_place place;
    uint32_t number;      /* of the parameter or result; the caller has the memory */
    uint64_t bytes;
    uint64_t offset;      /* in the frame */
    uint32_t first, last; /* in the frame: the steps from and to which it holds a value */
    const void *constant; /* elements as an array on the host, or one that all equal; NULL: the text leaves them out */
    int splat;            /* it is one element */
} wb_region;

typedef enum {
    WB_STEP_KERNEL, WB_STEP_LIBRARY, WB_STEP_COPY, WB_STEP_LOOP, WB_STEP_BRANCH, WB_STEP_CALL
} wb_step_kind;

typedef struct {
    uint32_t output, operand;
} wb_share;

typedef struct {
    uint32_t state, spare;
} wb_swap;

typedef struct {
    wb_step_kind kind;
    const char *name, *operation; /* of the instruction; "dot", of a kernel that of its first result */
    const char *text;             /* kernel, library: HLO; else NULL */
    int kernel;                   /* its number; -1: the step is no kernel */
    const uint32_t *reads, *makes; /* [n_reads], [n_makes] values. Kernel: its operands and outputs in order */
    uint32_t n_reads, n_makes;
    const wb_share *in_place;     /* [n_in_place] kernel: makes[output] has the memory of reads[operand] */
    uint32_t n_in_place;
    const uint32_t *calls;        /* [n_calls] computations. Loop: condition, body; branch: one a value of reads[0] */
    const uint32_t *taken;        /* [n_calls] branch: how many of the further reads each one has; else NULL */
    uint32_t n_calls;
    uint32_t flag;                /* loop: the value that the condition makes */
    int64_t frame;                /* the region for frames of called computations; -1: none */
    int64_t iterations;           /* of a loop, which then calls its body alone; -1: the condition decides */
    /* Elements of the state of such a loop whose memory takes turns with that of another value: iteration 0 of the body
     * reads reads[state] and makes `spare`, iteration 1 the contrary. makes[state] is where that ends. */
    const wb_swap *swaps;
    uint32_t n_swaps;
} wb_step;

/* Each returns 1, or 0 if there is no such one; the structure is then not changed. The entry is computation
 * wb_program_entry. */
WB_API uint32_t wb_program_entry(const wb_program *p);
WB_API int wb_program_computation(const wb_program *p, uint32_t i, wb_computation *computation);
WB_API int wb_program_value(const wb_program *p, uint32_t computation, uint32_t i, wb_value *value);
WB_API int wb_program_region(const wb_program *p, uint32_t computation, uint32_t i, wb_region *region);
WB_API int wb_program_step(const wb_program *p, uint32_t computation, uint32_t i, wb_step *step);

/* Runs the program on arrays of the host and fills those of the results, as wb_kernel_run does. */
WB_API wb_status wb_program_run(const wb_program *p, const void *const *inputs, void *const *outputs,
                                const wb_run_options *options, wb_result **result);

typedef struct {
    uint64_t kernels, library, copies, iterations; /* steps that ran, and iterations of loops */
    uint64_t judged;              /* kernels whose outputs were compared, on the very inputs that they got */
    uint64_t compared, outside;   /* their elements; those outside the bounds of what the text of the kernel allows */
    double max_ulp;
    uint64_t whole_compared, whole_outside; /* elements of the results, by the bounds of the whole module; 0: the
                                             * report says why they were not compared */
    double whole_max_ulp;
} wb_program_verdict;

/* Runs it, checks every access of its kernels, and compares: WB_CHECK if something is wrong. `inputs` NULL: they are
 * made, in case w, n, e, p, t or u. */
WB_API wb_status wb_program_check(const wb_program *p, const void *const *inputs, const wb_run_options *options,
                                  wb_program_verdict *verdict, wb_result **result);

typedef struct {
    double seconds;             /* of all kernels, copies and library calls */
    double library_seconds;     /* of it library calls, by the roofline */
    double launch;              /* of it to launch kernels and copies */
    uint64_t launches;          /* of these, that run: the body of a loop counts as often as it is known to run */
    uint32_t kernels, copies;   /* steps */
    uint32_t library, loops;
    uint32_t open_loops;        /* how often these run is not known: their bodies count once */
    uint32_t refused;           /* kernels that were left out */
} wb_program_time;

/* The modelled time of the program: the sum over its kernels and copies, each profiled by itself on made inputs, or on
 * a sample of options->blocks blocks where it allows that. */
WB_API wb_status wb_program_profile(const wb_program *p, const wb_run_options *options, wb_program_time *time,
                                    wb_result **result);
/* The same, and in wb_result_html a page: kernels by their share of the time, each with the lines of the user's program
 * that the module names, library calls, memory, and the pages of the costliest kernels. */
WB_API wb_status wb_program_page(const wb_program *p, const wb_run_options *options, wb_result **result);

/* --- running it on a GPU ---------------------------------------------------------------------------------------- */

/* A kernel or program in the memory of a GPU. The driver's library is opened when it is needed: libcuda.so.1, or what
 * the environment variable WARPBURG_LIBCUDA names. Where there is none, or no GPU, a call is declined with
 * WB_WHY_NO_GPU. Any number of threads may launch it at once. */
typedef struct wb_loaded wb_loaded;

/* Loads the kernel, its cubin where it has one for this GPU, into the CUDA context that is current in this thread, else
 * into the primary context of device 0. *loaded is NULL if the status is not WB_OK. */
WB_API wb_status wb_gpu_load(const wb_kernel *k, wb_loaded **loaded, wb_result **result);
/* The same of a program, which must outlive it. */
WB_API wb_status wb_gpu_load_program(const wb_program *p, wb_loaded **loaded, wb_result **result);
WB_API void wb_gpu_unload(wb_loaded *loaded); /* NULL: does nothing */

/* Enqueues a run on `stream`, a CUstream of the same context (NULL: its default stream), and does not wait for it.
 * addresses[i] is the device address of buffer i of the kernel, aligned as it asks for; 0 for a temporary: memory is
 * taken on the stream, for this run. Contents that buffers must have at first, but for those of operands, are written
 * on the stream. An output with WB_COPY may have its operand's address, or an own one.
 * Of a program the addresses are those of its inputs, then of its outputs, whose values say the order of dimensions;
 * inputs are not changed. It waits for the GPU where the host computes a library call or a loop asks whether it goes
 * on, and enqueues one run after the other. */
WB_API wb_status wb_gpu_enqueue(const wb_loaded *loaded, void *stream, const uint64_t *addresses, wb_result **result);

/* Memory of the GPU, for hosts that have no driver of their own. Copies wait until the GPU is idle, and are made when
 * the function returns: work on any stream may follow. */
WB_API wb_status wb_gpu_allocate(const wb_loaded *loaded, uint64_t bytes, uint64_t *address, wb_result **result);
WB_API wb_status wb_gpu_release(const wb_loaded *loaded, uint64_t address, wb_result **result);
WB_API wb_status wb_gpu_write(const wb_loaded *loaded, uint64_t to, const void *from, uint64_t bytes,
                              wb_result **result);
WB_API wb_status wb_gpu_read(const wb_loaded *loaded, void *to, uint64_t from, uint64_t bytes, wb_result **result);

/* Runs the kernel on arrays of the host as wb_kernel_run does, but on the first GPU; `repeat`: time so many runs more.
 * wb_result_json names the GPU and has the times. */
WB_API wb_status wb_gpu_run(const wb_kernel *k, const void *const *inputs, void *const *outputs, uint32_t repeat,
                            wb_result **result);

/* --- as an operation of XLA ------------------------------------------------------------------------------------- */

/* A kernel or program that custom calls of XLA run. It must outlive the wb_xla, and that every executable with such a
 * call. */
typedef struct wb_xla wb_xla;
WB_API wb_xla *wb_xla_new(const wb_kernel *k, uint32_t threads); /* of the simulator; NULL: out of memory */
WB_API wb_xla *wb_xla_new_program(const wb_program *p, uint32_t threads);
WB_API void wb_xla_free(wb_xla *x);                              /* NULL: does nothing */
/* What calls name it by. It follows from what is run and how, and is the same in every process: one that has made a
 * wb_xla of the same kernel or program may load an executable that another one has stored. */
WB_API int64_t wb_xla_number(const wb_xla *x);

/* Handlers of XLA's typed foreign function interface, for the platforms "cpu" and "CUDA": XLA_FFI_Handler. On the CPU
 * the simulator runs on the buffers, on a GPU the launches are enqueued on XLA's stream: those of kernels by
 * wb_xla_call_on_gpu, which XLA may record; those of programs by wb_xla_call_program_on_gpu. The attribute `kernel`, of
 * type s64, is a wb_xla_number. Arguments are the inputs, row-major; results the outputs, and after them the
 * temporaries of a kernel, each as u8[bytes]. Further dimensions in front of all inputs and outputs are a batch. */
WB_API void *wb_xla_call_on_host(void *call_frame);
WB_API void *wb_xla_call_on_gpu(void *call_frame);
WB_API void *wb_xla_call_program_on_gpu(void *call_frame);

#ifdef __cplusplus
}
#endif
#endif
