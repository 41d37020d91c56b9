// The largest of each 64 values: one half of the block makes values, the other reads them, by an mbarrier and a barrier of a part.
extern "C" __global__ void k(const int *in, int *out)
{
    __shared__ int values[64];
    __shared__ unsigned long long bar;
    const unsigned t = threadIdx.x, at = (unsigned)__cvta_generic_to_shared(&bar);
    if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], 64;" ::"r"(at));
    __syncthreads();
    if (t < 64) {
        values[t] = in[64 * blockIdx.x + t];
        asm volatile("{.reg .b64 s; mbarrier.arrive.shared.b64 s, [%0];}" ::"r"(at) : "memory");
        return;
    }
    asm volatile("{.reg .pred p; again: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra again;}" ::"r"(at) : "memory");
    int best = max(values[t - 64], values[(t - 32) & 63]);
    const unsigned same = __match_any_sync(0xffffffffu, best);
    if (same == 0) best = 0;
    for (int d = 16; d; d >>= 1) best = max(best, __shfl_xor_sync(0xffffffffu, best, d));
    asm volatile("bar.sync 1, 64;" ::: "memory");
    if (t == 64) out[blockIdx.x] = best;
}
