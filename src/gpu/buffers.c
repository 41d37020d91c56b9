/* buffers.c: memory of a run on the device, and the bundle's launches on a set of buffers.
 *
 * Needs: a current context. Leaves: memory that the end of the run frees; launches in a stream.
 */
#include "gpu/inner.h"

CuPointer gpu_room(Gpu *g, size_t bytes)
{
    CuPointer p = 0;
    CALL(cuMemAlloc_v2, &p, WBB_MAX(bytes, (size_t)16));
    WBB_PUSH(g->arena, &g->held, p);
    return p;
}

void gpu_launch_all(Gpu *g, CuHandle stream, CuPointer *set)
{
    for (int i = 0; i < g->bundle->n_launches; i++)
        gpu_launch(g->cx, &g->d, g->code.functions[i], &g->launches[i], stream, set, g->parameters);
}
