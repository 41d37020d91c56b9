/* warpburg.h: HLO fusions to GPU kernels, embedded.
 *
 * One context per thread; nothing is global; no call aborts the process. No GPU, no driver and no network are needed.
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

/* WB_FAILED: the input is at fault, or a tool refused it. WB_DECLINED: well-formed, but not compiled; the message has the
 * reason. In both cases wb_messages tells where and what. */
typedef enum { WB_OK = 0, WB_FAILED = 1, WB_DECLINED = 3 } wb_status;

typedef struct {
    const char *target; /* "sm_90"; NULL: sm_90 */
    int approx;         /* the looser table of precision */
    uint32_t align;     /* bytes, of every buffer's first; 0: 16 */
    int lines;          /* PTX carries `.loc` lines of the rules that made it */
} wb_options;

typedef struct {
    uint32_t grid[3], block[3];
    uint32_t shared_bytes;
    uint32_t n_arguments; /* pointers: operands in order, then one per leaf of the result, depth first */
} wb_launch;

WB_API const char *wb_version(void);
WB_API wb_context *wb_context_new(void); /* NULL: no memory */
WB_API void wb_context_free(wb_context *cx);

/* Compile the fusion that `text` (n bytes) holds. `file` names it in messages. The kernel lives as long as the context. */
WB_API wb_status wb_compile(wb_context *cx, const char *file, const char *text, size_t n, const wb_options *options, wb_kernel **kernel);
/* Everything said since the last wb_compile began, one message a line; "" if nothing. */
WB_API const char *wb_messages(const wb_context *cx);

WB_API const char *wb_kernel_name(const wb_kernel *k);
WB_API const char *wb_kernel_ptx(const wb_kernel *k);  /* text, NUL-terminated */
WB_API const char *wb_kernel_json(const wb_kernel *k); /* launch descriptor, schema of kernel.json */
/* 0: no launch is needed (an empty result), and *launch is untouched */
WB_API int wb_kernel_launch(const wb_kernel *k, wb_launch *launch);
/* Milliseconds of processor time of room i (the one that waits for ptxas: of the clock), i < wb_kernel_rooms; its name in *name if that is not NULL. */
WB_API double wb_kernel_ms(const wb_kernel *k, int i, const char **name);
WB_API int wb_kernel_steps(const wb_kernel *k);

#ifdef __cplusplus
}
#endif
#endif
