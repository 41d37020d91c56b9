// Counts how often 0..15 occur among 2048 indices, added to what is there: atomics in shared memory, then in global memory.
extern "C" __global__ void k(const int *start, const int *index, int *out)
{
    __shared__ int count[16];
    if (threadIdx.x < 16) count[threadIdx.x] = 0;
    __syncthreads();
    const unsigned at = index[blockIdx.x * 256 + threadIdx.x];
    if (at < 16) atomicAdd(&count[at], 1);
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&out[threadIdx.x], count[threadIdx.x]);
}
