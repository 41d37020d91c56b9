// f32[96,64] to f32[64,96] by tiles of 32 by 32 in shared memory, one column of padding against bank conflicts.
extern "C" __global__ void k(const float *in, float *out)
{
    __shared__ float tile[32][33];
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32;
    for (int i = threadIdx.y; i < 32; i += 8) tile[i][threadIdx.x] = in[(y + i) * 64 + x];
    __syncthreads();
    for (int i = threadIdx.y; i < 32; i += 8) out[(blockIdx.x * 32 + i) * 96 + y + threadIdx.x] = tile[threadIdx.x][i];
}
