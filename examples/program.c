/* program.c: compiles a module that is more than one fusion, lists its steps and memory, runs it in the simulator, and
 * asks for the modelled time of its kernels.
 *
 *     cc program.c $(pkg-config --cflags --libs warpburg) -o program && ./program [DIR]     DIR: is written there
 */
#include <stdio.h>
#include <string.h>
#include <warpburg.h>

enum { ROWS = 64, IN = 256, OUT = 128 };

/* max(2 x w + bias, bias): a kernel, a product of matrices, a kernel. */
static const char hlo[] = "HloModule layer\n"
                          "ENTRY layer {\n"
                          "  x = f32[64,256] parameter(0)\n"
                          "  w = f32[256,128] parameter(1)\n"
                          "  bias = f32[128] parameter(2)\n"
                          "  scaled = f32[64,256] add(x, x)\n"
                          "  product = f32[64,128] dot(scaled, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
                          "  row = f32[64,128] broadcast(bias), dimensions={1}\n"
                          "  sum = f32[64,128] add(product, row)\n"
                          "  ROOT y = f32[64,128] maximum(sum, row)\n"
                          "}\n";
static float x[ROWS][IN], w[IN][OUT], bias[OUT], y[ROWS][OUT];

static void print_steps(const wb_program *p)
{
    static const char *const kinds[] = {"kernel", "library", "copy", "loop", "branch", "call"};
    const uint32_t entry = wb_program_entry(p);
    wb_step s;
    wb_value v;
    for (uint32_t i = 0; wb_program_step(p, entry, i, &s); i++) {
        wb_program_value(p, entry, s.makes[0], &v);
        printf("step %u: %s %s makes %s, %llu bytes", i, kinds[s.kind], s.operation, v.name,
               (unsigned long long)v.bytes);
        if (s.kernel >= 0) printf(", kernel %d of %u", s.kernel, wb_program_kernels(p));
        printf("\n");
    }
    wb_memory m;
    wb_program_memory(p, &m);
    printf("memory: %llu bytes at the peak, %llu of temporaries\n", (unsigned long long)m.peak,
           (unsigned long long)m.temporaries);
}

/* Runs the program on small whole numbers, whose sums are exact; returns the number of wrong elements. */
static int run(const wb_program *p)
{
    const void *inputs[] = {x, w, bias};
    void *outputs[] = {y};
    wb_result *r;
    int wrong = 0;
    for (int k = 0; k < IN; k++) {
        for (int i = 0; i < ROWS; i++) x[i][k] = (float)((i + k) % 7 - 3);
        for (int j = 0; j < OUT; j++) w[k][j] = (float)((k * j) % 5 - 2), bias[j] = (float)(j % 3);
    }
    if (wb_program_run(p, inputs, outputs, &(wb_run_options){.threads = 2}, &r) != WB_OK) {
        fputs(wb_result_messages(r), stderr);
        wrong = 1;
    }
    wb_result_free(r);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < OUT; j++) {
            float sum = bias[j];
            for (int k = 0; k < IN; k++) sum += 2 * x[i][k] * w[k][j];
            wrong += y[i][j] != (sum > bias[j] ? sum : bias[j]);
        }
    printf("run: %d wrong elements, y[3][2] = %g\n", wrong, (double)y[3][2]);
    return wrong;
}

int main(int argc, char **argv)
{
    wb_context *cx = wb_context_new();
    wb_program *p;
    wb_result *r = NULL;
    if (!cx || wb_program_compile(cx, "layer.hlo", hlo, strlen(hlo), NULL, &p) != WB_OK) {
        fputs(cx ? wb_messages(cx) : "out of memory\n", stderr);
        wb_context_free(cx);
        return 1;
    }
    printf("%s for %s: %s\n", wb_program_name(p), wb_program_target(p), wb_program_summary(p));
    print_steps(p);
    int wrong = run(p);
    wb_program_verdict v;
    wb_program_time t;
    if (wb_program_check(p, NULL, &(wb_run_options){.inputs = 'e'}, &v, NULL) != WB_OK) wrong++;
    printf("check: %llu kernels judged, %llu elements outside their bounds; of the results %llu of %llu\n",
           (unsigned long long)v.judged, (unsigned long long)v.outside, (unsigned long long)v.whole_outside,
           (unsigned long long)v.whole_compared);
    if (wb_program_profile(p, NULL, &t, NULL) != WB_OK) wrong++;
    printf("profile: %.2f us in %llu launches, without %u library call\n", 1e6 * t.seconds,
           (unsigned long long)t.launches, t.library);
    if (argc > 1 && wb_program_write(p, argv[1], &r) != WB_OK) {
        fputs(wb_result_messages(r), stderr);
        wrong++;
    }
    wb_result_free(r);
    wb_context_free(cx);
    return wrong != 0;
}
