// softmax.cpp: softmax from C++: on a GPU if there is one, and in the simulator; a fusion that is declined.
//
//     c++ -std=c++17 softmax.cpp $(pkg-config --cflags --libs warpburg) -o softmax && ./softmax
#include <cmath>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>
#include <warpburg.h>

namespace {

constexpr int rows = 64, columns = 200;

const std::string hlo = R"(HloModule softmax
max { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT m = f32[] maximum(a, b) }
sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
ENTRY softmax {
  x = f32[64,200] parameter(0)
  least = f32[] constant(-inf)
  zero = f32[] constant(0)
  m = f32[64] reduce(x, least), dimensions={1}, to_apply=max
  wide = f32[64,200] broadcast(m), dimensions={0}
  d = f32[64,200] subtract(x, wide)
  e = f32[64,200] exponential(d)
  s = f32[64] reduce(e, zero), dimensions={1}, to_apply=sum
  sums = f32[64,200] broadcast(s), dimensions={0}
  ROOT y = f32[64,200] divide(e, sums)
}
)";

struct Delete {
    void operator()(wb_context *c) const { wb_context_free(c); }
    void operator()(wb_result *r) const { wb_result_free(r); }
};
using Context = std::unique_ptr<wb_context, Delete>;
using Result = std::unique_ptr<wb_result, Delete>;

wb_kernel *compile(const Context &cx, const char *file, const std::string &text)
{
    wb_kernel *k = nullptr;
    wb_options o = {};
    o.target = "sm_90";
    const wb_status s = wb_compile(cx.get(), file, text.data(), text.size(), &o, &k);
    if (s != WB_OK) throw std::runtime_error(wb_messages(cx.get()));
    return k;
}

// The largest error of a row's sum, which must be 1.
double run(const wb_kernel *k, bool on_gpu)
{
    std::vector<float> x(rows * columns), y(rows * columns);
    for (size_t i = 0; i < x.size(); i++) x[i] = static_cast<float>(std::sin(0.1 * static_cast<double>(i)));
    const void *inputs[] = {x.data()};
    void *outputs[] = {y.data()};
    wb_result *left = nullptr;
    const wb_status s = on_gpu ? wb_gpu_run(k, inputs, outputs, 0, &left)
                               : wb_kernel_run(k, inputs, outputs, nullptr, &left);
    const Result result(left);
    if (s != WB_OK) throw std::runtime_error(wb_result_messages(left));
    double worst = 0;
    for (int i = 0; i < rows; i++) {
        double sum = 0;
        for (int j = 0; j < columns; j++) sum += static_cast<double>(y[static_cast<size_t>(i * columns + j)]);
        worst = std::fmax(worst, std::fabs(sum - 1));
    }
    return worst;
}

} // namespace

int main()
{
    const Context cx(wb_context_new());
    try {
        const wb_kernel *k = compile(cx, "softmax.hlo", hlo);
        std::printf("%s for %s\n", wb_kernel_name(k), wb_kernel_target(k));
        const double off = run(k, false);
        std::printf("simulator: rows sum to 1 within %s\n", off < 1e-5 ? "1e-5" : "too much");
        if (off >= 1e-5) return 1;
        try {
            std::printf("GPU: rows sum to 1 within %.1e\n", run(k, true));
        } catch (const std::runtime_error &e) {
            std::printf("GPU: %s", e.what());
        }
        compile(cx, "matmul.hlo", "HloModule m\nENTRY e {\n  a = f32[8,8] parameter(0)\n  ROOT f = f32[8,8] "
                                  "custom-call(a), custom_call_target=\"mine\"\n}\n");
    } catch (const std::runtime_error &e) {
        std::printf("%s", e.what());
        return wb_declined(cx.get()) == WB_WHY_LIBRARY ? 0 : 1;
    }
    return 1;
}
