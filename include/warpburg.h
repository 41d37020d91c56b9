/* warpburg.h: compiles HLO fusions to GPU kernels, as a library.
 *
 * Use one context per thread: there is no global state. No call ends the process, and a thread with 512 KiB of stack is
 * enough. No GPU, driver or network is needed.
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
 * To run a kernel, allocate its buffers (wb_kernel_buffer) and run its launches (wb_kernel_launch) in order on one
 * stream.
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

typedef struct wb_context wb_context;
typedef struct wb_kernel wb_kernel;

/* WB_FAILED: the input has an error, or a tool refused it. WB_DECLINED: the input is well-formed, but not supported. In
 * both cases wb_messages says where and why. */
typedef enum { WB_OK = 0, WB_FAILED = 1, WB_DECLINED = 3 } wb_status;

/* Why a fusion was declined: a closed list, to which a later version may add at the end. wb_reason_text explains. */
typedef enum {
    WB_WHY_NONE, WB_WHY_REDUCTION, WB_WHY_SCATTER, WB_WHY_LIBRARY, WB_WHY_COLLECTIVE, WB_WHY_TRANSFER, WB_WHY_RANDOM,
    WB_WHY_ASYNC, WB_WHY_EFFECT, WB_WHY_DYNAMIC, WB_WHY_OPERATION, WB_WHY_TYPE, WB_WHY_CONTROL_FLOW, WB_WHY_NO_FUSION,
    WB_WHY_MANY_FUSIONS, WB_WHY_SHAPE, WB_WHY_SIZE, WB_WHY_NO_RULE, WB_WHY_NO_LIBDEVICE, WB_WHY_NO_GPU,
    WB_WHY_FEATURE
} wb_reason;

/* The errors that functions may have: by default quotients and roots are correctly rounded and other functions off by
 * few units in the last place; those of XLA's own kernels; those of the machine's approximations. */
typedef enum { WB_EXACT, WB_APPROX, WB_XLA } wb_accuracy;

typedef struct {
    const char *target; /* "sm_90"; NULL: sm_90 */
    wb_accuracy accuracy;
    uint32_t align;     /* alignment of every buffer in bytes; 0: 16 */
    int lines;          /* the PTX has `.loc` lines of the rules that made it */
} wb_options;

typedef enum { WB_OPERAND, WB_OUTPUT, WB_TEMPORARY } wb_role;

/* The contents of a buffer before the first launch: anything; zeros; an operand's; or, of a temporary, zeros before the
 * first run of the kernel, which leaves zeros for the next one. The values of an operand are the caller's. */
typedef enum { WB_ANYTHING, WB_ZEROS, WB_COPY, WB_TICKET } wb_contents;

/* One buffer of device memory. Temporaries serve one run at a time. */
typedef struct {
    wb_role role;
    uint32_t number;        /* of the operand, or of the array in the result, tuples flattened depth first */
    uint64_t bytes;
    uint32_t align;         /* of its address, bytes */
    wb_contents contents;
    int copy_of;            /* WB_COPY: the buffer whose contents, or memory, the output has; else -1 */
    const int *may_alias;   /* [n_may_alias] buffers of operands whose memory the output may have */
    uint32_t n_may_alias;
} wb_buffer;

typedef struct {
    const char *entry;      /* name of the kernel in the PTX */
    uint32_t grid[3], block[3];
    uint32_t cluster[3];    /* blocks of a cluster; 1, 1, 1: no clusters */
    uint32_t shared_bytes;  /* dynamic; above 48 KiB the function needs its attribute */
    const int *arguments;   /* [n_arguments] argument i is the address of buffer arguments[i] */
    uint32_t n_arguments;
} wb_launch;

WB_API const char *wb_version(void);
WB_API wb_context *wb_context_new(void);        /* NULL: out of memory */
WB_API void wb_context_free(wb_context *cx);   /* also frees its kernels; NULL: does nothing */

/* Compiles the fusion in `text` (n bytes). `file`: its name in messages; NULL: "<text>". `options` NULL: the defaults.
 * The context owns the kernel; *kernel is NULL if the status is not WB_OK. */
WB_API wb_status wb_compile(wb_context *cx, const char *file, const char *text, size_t n, const wb_options *options,
                            wb_kernel **kernel);
/* The messages since the last wb_compile began, one per line; "": none. */
WB_API const char *wb_messages(const wb_context *cx);
/* Why the last wb_compile declined; WB_WHY_NONE: it did not. */
WB_API wb_reason wb_declined(const wb_context *cx);
WB_API const char *wb_reason_name(wb_reason r); /* "no_rule"; NULL: there is no such reason */
WB_API const char *wb_reason_text(wb_reason r); /* a sentence */

/* Frees the kernel and all that was returned for it, before its context is freed; NULL: does nothing. */
WB_API void wb_kernel_free(wb_kernel *k);

WB_API const char *wb_kernel_name(const wb_kernel *k);
WB_API const char *wb_kernel_ptx(const wb_kernel *k);  /* text, NUL-terminated */
WB_API const char *wb_kernel_json(const wb_kernel *k); /* all of this as text, schema of kernel.json */
/* Buffer or launch i, counted from 0. 1: *buffer or *launch is filled; 0: there is no such one, and it is not changed.
 * A kernel whose result is empty has no launch. */
WB_API int wb_kernel_buffer(const wb_kernel *k, uint32_t i, wb_buffer *buffer);
WB_API int wb_kernel_launch(const wb_kernel *k, uint32_t i, wb_launch *launch);
/* Milliseconds of step i of the compile, 0 <= i < wb_kernel_steps, and its name in *name unless `name` is NULL.
 * Processor time, but elapsed time for the step that waits for ptxas. */
WB_API double wb_kernel_ms(const wb_kernel *k, int i, const char **name);
WB_API int wb_kernel_steps(const wb_kernel *k);

#ifdef __cplusplus
}
#endif
#endif
