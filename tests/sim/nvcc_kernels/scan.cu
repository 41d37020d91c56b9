// Prefix sums of 1024 integers by one block: a scan in each warp by shuffles, then one of the warps' sums.
extern "C" __global__ void k(const int *in, int *out)
{
    __shared__ int sums[32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int v = in[threadIdx.x];
    for (int d = 1; d < 32; d *= 2) {
        const int other = __shfl_up_sync(~0u, v, d);
        if (lane >= d) v += other;
    }
    if (lane == 31) sums[warp] = v;
    __syncthreads();
    if (warp == 0) {
        int s = sums[lane];
        for (int d = 1; d < 32; d *= 2) {
            const int other = __shfl_up_sync(~0u, s, d);
            if (lane >= d) s += other;
        }
        sums[lane] = s;
    }
    __syncthreads();
    out[threadIdx.x] = v + (warp ? sums[warp - 1] : 0);
}
