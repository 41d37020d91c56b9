/* scale.c: compiles a fusion from memory, runs it in the simulator, and asks for its time on the GPU.
 *
 *     cc scale.c $(pkg-config --cflags --libs warpburg) -o scale && ./scale
 */
#include <stdio.h>
#include <string.h>
#include <warpburg.h>

enum { ROWS = 512, COLUMNS = 1024 };

static const char hlo[] = "HloModule scale\n"
                          "ENTRY scale {\n"
                          "  x = f32[512,1024] parameter(0)\n"
                          "  row = f32[1024] parameter(1)\n"
                          "  r = f32[512,1024] broadcast(row), dimensions={1}\n"
                          "  ROOT y = f32[512,1024] multiply(x, r)\n"
                          "}\n";
static float x[ROWS][COLUMNS], row[COLUMNS], y[ROWS][COLUMNS];

static void print_kernel(const wb_kernel *k)
{
    wb_launch l;
    wb_buffer b;
    for (uint32_t i = 0; wb_kernel_launch(k, i, &l); i++)
        printf("launch %s: %u blocks of %u threads, %u arguments\n", l.entry, l.grid[0], l.block[0], l.n_arguments);
    for (uint32_t i = 0; wb_kernel_buffer(k, i, &b); i++)
        printf("buffer %u: %s, %s, %llu bytes\n", i, b.role == WB_OPERAND ? "operand" : "output", b.type,
               (unsigned long long)b.bytes);
}

/* Runs the kernel on x and row; returns the number of wrong elements. */
static int run(const wb_kernel *k)
{
    const void *inputs[] = {x, row};
    void *outputs[] = {y};
    wb_result *r;
    int wrong = 0;
    for (int j = 0; j < COLUMNS; j++) row[j] = 0.5f * (float)j;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) x[i][j] = (float)(i - j);
    if (wb_kernel_run(k, inputs, outputs, &(wb_run_options){.threads = 2}, &r) != WB_OK) {
        fputs(wb_result_messages(r), stderr);
        wrong = 1;
    }
    wb_result_free(r);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) wrong += y[i][j] != x[i][j] * row[j];
    printf("run: %d wrong elements, y[3][2] = %g\n", wrong, (double)y[3][2]);
    return wrong;
}

int main(void)
{
    wb_context *cx = wb_context_new();
    wb_kernel *k;
    if (!cx || wb_compile(cx, "scale.hlo", hlo, strlen(hlo), &(wb_options){.target = "sm_90"}, &k) != WB_OK) {
        fputs(cx ? wb_messages(cx) : "out of memory\n", stderr);
        wb_context_free(cx);
        return 1;
    }
    print_kernel(k);
    int wrong = run(k);
    wb_verdict v;
    wb_time t;
    if (wb_kernel_check(k, NULL, &(wb_run_options){.inputs = 'e'}, &v, NULL) != WB_OK) wrong++;
    printf("check: %llu elements, %llu outside their bounds, %u faults\n", (unsigned long long)v.compared,
           (unsigned long long)v.outside, v.faults);
    if (wb_kernel_profile(k, NULL, NULL, &t, NULL) != WB_OK) wrong++;
    printf("profile: %.2f us, bound by %s\n", 1e6 * t.seconds, t.binds);
    wb_context_free(cx);
    return wrong != 0;
}
