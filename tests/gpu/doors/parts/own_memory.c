/* A C program without CUDA: wb_gpu_run with times, memory by wb_gpu_allocate, and a program on the GPU.
 *     cc own_memory.c -Iinclude -Lbuild -lwarpburg -o own_memory */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <warpburg.h>

enum { N = 1 << 22, R = 256, K = 512, C = 128 };
static float x[N], y[N], a[R][K], w[K][C], d[R][C];
static const char scale[] =
    "HloModule m\nENTRY e {\n  x = f32[4194304] parameter(0)\n  c = f32[] constant(3)\n"
    "  b = f32[4194304] broadcast(c), dimensions={}\n  ROOT y = f32[4194304] multiply(x, b)\n}\n";
static const char layer[] =
    "HloModule layer\ntwice { x = f32[256,512] parameter(0)  ROOT s = f32[256,512] add(x, x) }\n"
    "relu { d = f32[256,128] parameter(0)  o = f32[] constant(0)\n"
    "  z = f32[256,128] broadcast(o), dimensions={}  ROOT n = f32[256,128] maximum(d, z) }\n"
    "ENTRY layer { x = f32[256,512] parameter(0)  w = f32[512,128] parameter(1)\n"
    "  s = f32[256,512] fusion(x), kind=kLoop, calls=twice\n"
    "  d = f32[256,128] dot(s, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "  ROOT n = f32[256,128] fusion(d), kind=kLoop, calls=relu }\n";

static void expect(int fine, const char *what, wb_result *r)
{
    if (!fine) printf("FAIL %s: %s\n", what, r ? wb_result_messages(r) : ""), exit(1);
    printf("%s\n", what);
}

int main(void)
{
    wb_context *cx = wb_context_new();
    wb_kernel *k;
    wb_program *p;
    wb_result *r = NULL;
    wb_loaded *l;
    int wrong = 0;
    const wb_options options = {.target = "sm_90"};
    expect(wb_compile(cx, "scale.hlo", scale, strlen(scale), &options, &k) == WB_OK, "compiled", NULL);
    for (int i = 0; i < N; i++) x[i] = (float)(i % 1000);
    expect(wb_gpu_run(k, (const void *[]){x}, (void *[]){y}, 100, &r) == WB_OK, "wb_gpu_run", r);
    printf("%s\n", wb_result_json(r));
    for (int i = 0; i < N; i++) wrong += y[i] != 3 * x[i];
    expect(!wrong, "every element", NULL);
    wb_result_free(r);
    uint64_t at[2];
    expect(wb_gpu_load(k, &l, &r) == WB_OK, "wb_gpu_load", r);
    for (int i = 0; i < 2; i++) expect(wb_gpu_allocate(l, sizeof x, &at[i], &r) == WB_OK, "wb_gpu_allocate", r);
    expect(wb_gpu_write(l, at[0], x, sizeof x, &r) == WB_OK, "wb_gpu_write", r);
    expect(wb_gpu_enqueue(l, NULL, at, &r) == WB_OK, "wb_gpu_enqueue", r);
    memset(y, 0, sizeof y);
    expect(wb_gpu_read(l, y, at[1], sizeof y, &r) == WB_OK, "wb_gpu_read", r);
    for (int i = 0; i < N; i++) wrong += y[i] != 3 * x[i];
    expect(!wrong, "every element of the second run", NULL);
    for (int i = 0; i < 2; i++) expect(wb_gpu_release(l, at[i], &r) == WB_OK, "wb_gpu_release", r);
    wb_gpu_unload(l);
    expect(wb_program_compile(cx, "layer.hlo", layer, strlen(layer), NULL, &p) == WB_OK, "program", NULL);
    for (int i = 0; i < R; i++) for (int j = 0; j < K; j++) a[i][j] = (float)((i + j) % 7 - 3);
    for (int i = 0; i < K; i++) for (int j = 0; j < C; j++) w[i][j] = (float)((i * j) % 5 - 2);
    const wb_run_options on_gpu = {.on_gpu = 1};
    expect(wb_program_run(p, (const void *[]){a, w}, (void *[]){d}, &on_gpu, &r) == WB_OK, "wb_program_run", r);
    for (int i = 0; i < R; i++)
        for (int j = 0; j < C; j++) {
            float s = 0;
            for (int m = 0; m < K; m++) s += 2 * a[i][m] * w[m][j];
            wrong += d[i][j] != (s > 0 ? s : 0);
        }
    expect(!wrong, "every element of the program", NULL);
    wb_program_verdict v;
    const wb_status s = wb_program_check(p, NULL, &(wb_run_options){.on_gpu = 1, .threads = 4}, &v, &r);
    printf("%s", r ? wb_result_text(r) : "");
    expect(s == WB_OK, "wb_program_check", r);
    wb_context_free(cx);
    return 0;
}
