/* inner.h: one run of a bundle on a GPU, which run.c begins and ends, on memory of buffers.c, and time.c times. */
#ifndef GPU_INNER_H
#define GPU_INNER_H

#include "gpu/gpu.h"
#include "gpu/load.h"

typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    const Bundle *bundle;
    const BdLaunch *launches;
    GpuBuffer *memory;
    const GpuOptions *o;
    GpuReport report;
    CuDriver d;
    CuDevice device;
    bool retained, pushed;
    GpuCode code;
    CuHandle helper_module, events[2], stream, graph, graph_run; /* of time.c */
    void **parameters;   /* of one launch */
    struct { CuPointer *items; uint32_t n, capacity; } held; /* all device memory */
} Gpu;

#define CALL(FUNCTION, ...) gpu_check(g->cx, &g->d, g->d.FUNCTION(__VA_ARGS__), #FUNCTION, NULL)

/* buffers.c: device memory that the end of the run frees; the launches of the bundle, with these buffers. */
CuPointer gpu_room(Gpu *g, size_t bytes);
void gpu_launch_all(Gpu *g, CuHandle stream, CuPointer *set);

/* time.c: fills the report with the time of a run. `set` holds what the buffers have before a run. */
void gpu_time(Gpu *g, const CuPointer *set);

#endif
