// Sums of neighbours: tiles come by asynchronous copies, two stages deep, each waited for before it is read.
#include <cuda_pipeline.h>

extern "C" __global__ void k(const float *in, float *out)
{
    __shared__ float tile[2][128];
    const int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[0][t], in + t, 4);
    __pipeline_commit();
    for (int i = 0; i < 4; i++) {
        if (i + 1 < 4) __pipeline_memcpy_async(&tile[(i + 1) & 1][t], in + 128 * (i + 1) + t, 4);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        out[128 * i + t] = tile[i & 1][t] + tile[i & 1][t ^ 1];
        __syncthreads();
    }
}
