/* gpu.h: a kernel or program in the memory of a GPU.
 *
 *     static void fill(WbbCx *cx, const void *p, wb_loaded *l) { l->program = prog_load(cx, cx->arena, p, ..); .. }
 *     wb_load(fill, p, &loaded, &result);
 */
#ifndef API_GPU_H
#define API_GPU_H

#include "api/inner.h"
#include "gpu/stream.h"
#include "program/run.h"

#include <pthread.h>

struct wb_loaded {
    WbbCx *cx;                 /* its arena has this, and copies of what runs of a kernel need of it */
    const GpuContext *context; /* the program's, or `own` */
    GpuContext *own;
    GpuLoaded *kernel;
    ProgLoaded *program;       /* NULL: it is a kernel */
    pthread_mutex_t lock;      /* of runs of the program */
};

/* gpu.c: fills it in a context of its own, so that it may outlive that of the caller. */
wb_status wb_load(void (*fill)(WbbCx *cx, const void *what, wb_loaded *l), const void *what, wb_loaded **loaded,
                  wb_result **result);
/* Whether it was loaded into the CUDA context that is current in this thread. */
bool wb_loaded_is_here(const wb_loaded *l);

#endif
