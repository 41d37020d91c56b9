/* program.h: a program of the library: its steps, and the kernels of their texts.
 *
 *     const wb_kernel *k = p->kernels[wb_program_kernel_of(p, step)].kernel;
 */
#ifndef API_PROGRAM_H
#define API_PROGRAM_H

#include "api/inner.h"
#include "program/costs.h"
#include "program/run.h"

typedef struct {
    ProgText text;
    WbbArena *arena;   /* of the kernel */
    wb_kernel *kernel; /* NULL: it is declined */
    WbbWhy why;
} WbStepKernel;

struct wb_program {
    WbbArena *arena; /* it and all that belongs to it, but for its kernels */
    const char *file;
    PipeOptions options; /* of its kernels */
    ProgModule *p;       /* has no folder: constants are in memory */
    WbStepKernel *kernels;
    uint32_t n_kernels;
    WbbMap files;        /* names of texts: the number of the kernel, plus 1 */
    const char *json, *summary;
    const wb_array *inputs, *outputs;
    uint32_t n_inputs, n_outputs;
};

/* program.c: the number of its kernel; -1: the step is none. */
int wb_program_kernel_of(const wb_program *p, const ProgStep *s);

#endif
