// Softmax over rows of 512 floats: one block of 128 threads a row; expf and a division as nvcc makes them.
static __device__ float all_max(float v, float *part)
{
    for (int d = 16; d; d /= 2) v = fmaxf(v, __shfl_xor_sync(~0u, v, d));
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
    __syncthreads();
    return fmaxf(fmaxf(part[0], part[1]), fmaxf(part[2], part[3]));
}

static __device__ float all_sum(float v, float *part)
{
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
    __syncthreads();
    return part[0] + part[1] + part[2] + part[3];
}

extern "C" __global__ void k(const float *in, float *out)
{
    __shared__ float largest[4], sums[4];
    const float4 v = reinterpret_cast<const float4 *>(in)[blockIdx.x * 128 + threadIdx.x];
    const float m = all_max(fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)), largest);
    const float4 e = {expf(v.x - m), expf(v.y - m), expf(v.z - m), expf(v.w - m)};
    const float s = all_sum(e.x + e.y + e.z + e.w, sums);
    reinterpret_cast<float4 *>(out)[blockIdx.x * 128 + threadIdx.x] = make_float4(e.x / s, e.y / s, e.z / s, e.w / s);
}
