/* warpburg.h: compiles HLO fusions to GPU kernels, as a library.
 *
 * Use one context per thread: there is no global state. No call ends the process. No GPU, driver or network is needed.
 *
 *     wb_context *cx = wb_context_new();
 *     wb_kernel *k;
 *     if (wb_compile(cx, "gelu.hlo", text, strlen(text), &(wb_options){.target = "sm_90"}, &k) == WB_OK)
 *         puts(wb_kernel_ptx(k));
 *     else
 *         fputs(wb_messages(cx), stderr);
 *     wb_context_free(cx);                            // and its kernels
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

typedef struct {
    const char *target; /* "sm_90"; NULL: sm_90 */
    int approx;         /* allow the larger errors of --approx */
    uint32_t align;     /* alignment of every buffer in bytes; 0: 16 */
    int lines;          /* the PTX has `.loc` lines of the rules that made it */
} wb_options;

typedef struct {
    uint32_t grid[3], block[3];
    uint32_t shared_bytes;
    uint32_t n_arguments; /* pointers: operands in order, then the leaves of the result, depth first */
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

WB_API const char *wb_kernel_name(const wb_kernel *k);
WB_API const char *wb_kernel_ptx(const wb_kernel *k);  /* text, NUL-terminated */
WB_API const char *wb_kernel_json(const wb_kernel *k); /* launch descriptor, schema of kernel.json */
/* 1: *launch is filled; 0: the kernel needs no launch, because its result is empty, and *launch is not changed */
WB_API int wb_kernel_launch(const wb_kernel *k, wb_launch *launch);
/* Milliseconds of step i of the compile, 0 <= i < wb_kernel_steps, and its name in *name unless `name` is NULL.
 * Processor time, but elapsed time for the step that waits for ptxas. */
WB_API double wb_kernel_ms(const wb_kernel *k, int i, const char **name);
WB_API int wb_kernel_steps(const wb_kernel *k);

#ifdef __cplusplus
}
#endif
#endif
