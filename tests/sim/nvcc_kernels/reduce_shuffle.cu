// Sum of 4096 floats by one block of 256 threads: shuffles inside a warp, shared memory between warps.
extern "C" __global__ void k(const float *in, float *out)
{
    __shared__ float part[8];
    float sum = 0;
    for (int i = threadIdx.x; i < 4096; i += 256) sum += in[i];
    for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        float all = threadIdx.x < 8 ? part[threadIdx.x] : 0;
        for (int d = 4; d; d /= 2) all += __shfl_down_sync(~0u, all, d);
        if (threadIdx.x == 0) *out = all;
    }
}
