// A C++ program with the CUDA runtime: a kernel enqueued on its stream, and in a graph that the strictest mode records.
//     nvcc capture.cu -Iinclude -Lbuild -lwarpburg -o capture
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <warpburg.h>

static void expect(bool fine, int line, const char *said)
{
    if (!fine) {
        std::printf("FAIL line %d: %s\n", line, said);
        std::exit(1);
    }
}

#define CUDA(CALL) \
    do { \
        const cudaError_t e_ = (CALL); \
        expect(e_ == cudaSuccess, __LINE__, cudaGetErrorString(e_)); \
    } while (0)
#define WB(CALL) \
    do { \
        wb_result *r = nullptr; \
        const wb_status s_ = (CALL); \
        expect(s_ == WB_OK, __LINE__, r ? wb_result_messages(r) : ""); \
        wb_result_free(r); \
    } while (0)

static const char text[] =
    "HloModule m\nadd { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }\n"
    "ENTRY e { x = f32[1048576] parameter(0)  o = f32[] constant(0)\n"
    "  ROOT r = f32[] reduce(x, o), dimensions={0}, to_apply=add }\n";

int main()
{
    wb_context *cx = wb_context_new();
    wb_kernel *k;
    wb_options o = {};
    o.target = "sm_90";
    expect(wb_compile(cx, "sum.hlo", text, std::strlen(text), &o, &k) == WB_OK, __LINE__, wb_messages(cx));
    std::vector<float> x(1048576, 1.0f);
    float *in, *out, y = 0;
    CUDA(cudaMalloc(&in, 4 * x.size()));
    CUDA(cudaMalloc(&out, 16));
    CUDA(cudaMemcpy(in, x.data(), 4 * x.size(), cudaMemcpyHostToDevice));
    cudaStream_t stream;
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    std::vector<uint64_t> addresses;
    wb_buffer b;
    for (uint32_t i = 0; wb_kernel_buffer(k, i, &b); i++)
        addresses.push_back(b.role == WB_OPERAND && b.input >= 0 ? (uint64_t)in
                            : b.role == WB_OUTPUT ? (uint64_t)out : 0);
    std::printf("%zu buffers\n", addresses.size());
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    wb_loaded *loaded; // loaded while the stream is recorded
    WB(wb_gpu_load(k, &loaded, &r));
    WB(wb_gpu_enqueue(loaded, stream, addresses.data(), &r));
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    for (int turn = 1; turn <= 3; turn++) {
        std::vector<float> z(x.size(), (float)turn);
        // on the graph's stream: cudaMemcpy returns before all has arrived, and this stream does not wait for the default one
        CUDA(cudaMemcpyAsync(in, z.data(), 4 * z.size(), cudaMemcpyHostToDevice, stream));
        CUDA(cudaGraphLaunch(exec, stream));
        CUDA(cudaStreamSynchronize(stream));
        CUDA(cudaMemcpy(&y, out, 4, cudaMemcpyDeviceToHost));
        std::printf("graph, turn %d: %.1f\n", turn, y);
        expect(y == 1048576.0f * turn, __LINE__, "another sum");
    }
    CUDA(cudaMemsetAsync(out, 0, 16, stream));
    for (int n = 0; n < 10; n++) WB(wb_gpu_enqueue(loaded, stream, addresses.data(), &r));
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaMemcpy(&y, out, 4, cudaMemcpyDeviceToHost));
    std::printf("stream: %.1f\n", y);
    wb_gpu_unload(loaded);
    CUDA(cudaDeviceSynchronize());
    wb_context_free(cx);
    return y != 3 * 1048576.0f;
}
