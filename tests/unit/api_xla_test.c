/* api_xla: the handlers of XLA's foreign function interface, in call frames made here: on the host, and on a GPU, which
 * is a driver whose kernels run in the simulator. tests/doors/jax_door.py calls the first from the real JAX. */
#include "api/xla.h"
#include "warpburg.h"

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

enum { N = 8, F32 = 11, S64 = 5, LARGE = 1 << 18 };

static const char scale[] = "HloModule f\n\nENTRY scale {\n  x = f32[8]{0} parameter(0)\n  y = f32[8]{0} parameter(1)\n"
                            "  ROOT r = f32[8]{0} multiply(x, y)\n}\n";
static const char sum[] = "HloModule s\n\nadd {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n"
                          "  ROOT z = f32[] add(x, y)\n}\n\nENTRY e {\n  p = f32[262144]{0} parameter(0)\n"
                          "  o = f32[] constant(0)\n  ROOT r = f32[] reduce(p, o), dimensions={0}, to_apply=add\n}\n";
static const char transposed[] = "HloModule f\n\nENTRY e {\n  x = f32[2,4]{0,1} parameter(0)\n"
                                 "  ROOT r = f32[2,4]{0,1} negate(x)\n}\n";

/* Of 8 rows: y = 2 x, times a matrix by the host, doubled as often as the first element of n says. The second
 * result has the memory of the parameter n. */
static const char program[] =
    "HloModule p, input_output_alias={ {1}: (1, {}, may-alias) }\n\n"
    "twice {\n  a = f32[8,8]{1,0} parameter(0)\n  ROOT b = f32[8,8]{1,0} add(a, a)\n}\n\n"
    "more {\n  a = f32[8,8]{1,0} parameter(0)\n  ROOT b = f32[8,8]{1,0} add(a, a)\n}\n\n"
    "one {\n  a = f32[8,8]{1,0} parameter(0)\n  c = f32[] constant(1)\n"
    "  d = f32[8,8]{1,0} broadcast(c), dimensions={}\n  ROOT b = f32[8,8]{1,0} subtract(a, d)\n}\n\n"
    "body {\n  s = (f32[8,8]{1,0}, f32[8,8]{1,0}) parameter(0)\n"
    "  a = f32[8,8]{1,0} get-tuple-element(s), index=0\n  n = f32[8,8]{1,0} get-tuple-element(s), index=1\n"
    "  b = f32[8,8]{1,0} fusion(a), kind=kLoop, calls=more\n  m = f32[8,8]{1,0} fusion(n), kind=kLoop, calls=one\n"
    "  ROOT t = (f32[8,8]{1,0}, f32[8,8]{1,0}) tuple(b, m)\n}\n\n"
    "positive {\n  n = f32[8,8]{1,0} parameter(0)\n  f = f32[1,1]{1,0} slice(n), slice={[0:1], [0:1]}\n"
    "  g = f32[] reshape(f)\n  z = f32[] constant(0)\n  ROOT c = pred[] compare(g, z), direction=GT\n}\n\n"
    "condition {\n  s = (f32[8,8]{1,0}, f32[8,8]{1,0}) parameter(0)\n"
    "  n = f32[8,8]{1,0} get-tuple-element(s), index=1\n"
    "  ROOT c = pred[] fusion(n), kind=kLoop, calls=positive\n}\n\n"
    "ENTRY p {\n  x = f32[8,8]{1,0} parameter(0)\n  n = f32[8,8]{1,0} parameter(1)\n  w = f32[8,8]{1,0} parameter(2)\n"
    "  y = f32[8,8]{1,0} fusion(x), kind=kLoop, calls=twice\n"
    "  d = f32[8,8]{1,0} dot(y, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "  t = (f32[8,8]{1,0}, f32[8,8]{1,0}) tuple(d, n)\n"
    "  l = (f32[8,8]{1,0}, f32[8,8]{1,0}) while(t), condition=condition, body=body\n"
    "  r = f32[8,8]{1,0} get-tuple-element(l), index=0\n  m = f32[8,8]{1,0} get-tuple-element(l), index=1\n"
    "  ROOT o = (f32[8,8]{1,0}, f32[8,8]{1,0}) tuple(r, m)\n}\n";

/* XLA's side: errors are kept as texts. */
static struct {
    char message[512];
    int code;
    void *stream;
} said;

static XlaError *error_create(XlaErrorCreate *e)
{
    assert_int_equal(e->struct_size, sizeof *e);
    snprintf(said.message, sizeof said.message, "%s", e->message);
    said.code = e->errc;
    return (XlaError *)&said;
}

static XlaError *stream_get(XlaStreamGet *g)
{
    g->stream = said.stream;
    return NULL;
}

typedef void *Handler(void *frame);

typedef struct {
    wb_context *cx;
    wb_kernel *k;
    wb_xla *x;
    int64_t kernel;
    int64_t dims[4];
    int64_t rank; /* of all buffers */
} Given;

static Given given(const char *text)
{
    Given g = {.cx = wb_context_new(), .dims = {N}, .rank = 1};
    if (wb_compile(g.cx, "f.hlo", text, strlen(text), NULL, &g.k) != WB_OK) fail_msg("%s", wb_messages(g.cx));
    g.x = wb_xla_new(g.k, 1);
    g.kernel = wb_xla_number(g.x);
    return g;
}

static void end(Given *g)
{
    wb_xla_free(g->x);
    wb_context_free(g->cx);
}

/* A call on these buffers, the first n_in of which are arguments; NULL, or the error's text. */
static const char *call(Given *g, Handler *h, void *const *data, int n_in, int n_out)
{
    const XlaApi api = {.struct_size = sizeof api, .api_version = {.minor_version = 3}, .error_create = error_create,
                        .stream_get = stream_get};
    XlaBuffer b[8];
    XlaText text = {"kernel", 6}, *name[] = {&text};
    XlaScalar scalar = {S64, &g->kernel};
    void *items[8], *value = &scalar;
    int types[] = {1, 1, 1, 1, 1, 1, 1, 1}, kind = XLA_ATTRIBUTE_SCALAR;
    for (int i = 0; i < n_in + n_out; i++) {
        b[i] = (XlaBuffer){.struct_size = sizeof b[i], .dtype = F32, .data = data[i], .rank = g->rank, .dims = g->dims};
        items[i] = &b[i];
    }
    XlaFrame f = {.struct_size = sizeof f, .api = &api, .stage = XLA_STAGE_EXECUTE,
                  .args = {.size = n_in, .types = types, .items = items},
                  .rets = {.size = n_out, .types = types, .items = items + n_in},
                  .attrs = {.size = 1, .types = &kind, .names = name, .items = &value}};
    return h(&f) ? said.message : NULL;
}

static void test_host(void **state)
{
    (void)state;
    float x[3 * N], y[3 * N], z[3 * N] = {0};
    for (int i = 0; i < 3 * N; i++) x[i] = (float)i, y[i] = 0.5f * (float)i;
    Given g = given(scale);
    assert_null(call(&g, wb_xla_call_on_host, (void *[]){x, y, z}, 2, 1));
    for (int i = 0; i < N; i++) assert_true(z[i] == x[i] * y[i]);
    assert_true(z[N] == 0);
    g.rank = 2, g.dims[0] = 3, g.dims[1] = N; /* a batch */
    assert_null(call(&g, wb_xla_call_on_host, (void *[]){x, y, z}, 2, 1));
    for (int i = 0; i < 3 * N; i++) assert_true(z[i] == x[i] * y[i]);
    end(&g);
}

static void test_refused(void **state)
{
    (void)state;
    float x[N] = {0};
    Given g = given(scale);
    g.dims[0] = N - 1;
    has(call(&g, wb_xla_call_on_host, (void *[]){x, x, x}, 2, 1),
        "input 0 of scale has type 11 of XLA and dimensions [7]");
    assert_int_equal(said.code, XLA_INVALID_ARGUMENT);
    has(said.message, "expected f32[8]");
    g.dims[0] = N;
    has(call(&g, wb_xla_call_on_host, (void *[]){x, x, x}, 1, 2), "scale has 2 inputs, 1 outputs and 0 temporaries");
    g.kernel++;
    has(call(&g, wb_xla_call_on_host, (void *[]){x, x, x}, 2, 1), "another process");
    assert_int_equal(said.code, XLA_FAILED_PRECONDITION);
    end(&g);
}

/* The same of what is the same, in any context; a call finds the one that is still there. */
static void test_numbers(void **state)
{
    (void)state;
    float x[N], y[N] = {0}, s[N] = {0};
    for (int i = 0; i < N; i++) x[i] = (float)i;
    Given g = given(scale), same = given(scale), other = given(sum);
    wb_xla *threads = wb_xla_new(g.k, 2);
    assert_true(g.kernel >= 0 && g.kernel == same.kernel);
    assert_true(g.kernel != other.kernel && g.kernel != wb_xla_number(threads));
    end(&g);
    assert_null(call(&same, wb_xla_call_on_host, (void *[]){x, x, y}, 2, 1));
    for (int i = 0; i < N; i++) assert_true(y[i] == x[i] * x[i]);
    wb_xla_free(threads);
    const int64_t gone = same.kernel;
    end(&same);
    other.kernel = gone;
    has(call(&other, wb_xla_call_on_host, (void *[]){x, x, s}, 2, 1), "another process");
    end(&other);
}

static void test_metadata(void **state)
{
    (void)state;
    const XlaApi api = {.struct_size = sizeof api, .api_version = {.minor_version = 7}};
    for (int gpu = 0; gpu < 2; gpu++) {
        XlaMetadata m = {.struct_size = sizeof m, .traits = 77};
        XlaMetadataExtension e = {.extension_base = {.struct_size = sizeof e, .type = XLA_EXTENSION_METADATA},
                                  .metadata = &m};
        XlaFrame f = {.struct_size = sizeof f, .extension_start = &e.extension_base, .api = &api};
        assert_null((gpu ? wb_xla_call_on_gpu : wb_xla_call_on_host)(&f));
        assert_int_equal(m.api_version.major_version, 0);
        assert_int_equal(m.api_version.minor_version, 7);
        assert_int_equal(m.traits, gpu ? XLA_COMMAND_BUFFER : 0);
    }
}

/* A kernel's operand that is a constant is in memory of its own. */
static const char shifted[] = "HloModule f\n\nbody {\n  x = f32[8]{0} parameter(0)\n  y = f32[8]{0} parameter(1)\n"
                              "  ROOT s = f32[8]{0} add(x, y)\n}\n\nENTRY e {\n  p = f32[8]{0} parameter(0)\n"
                              "  c = f32[8]{0} constant({1,2,3,4,5,6,7,8})\n"
                              "  ROOT r = f32[8]{0} fusion(p, c), kind=kLoop, calls=body\n}\n";

static uint64_t on_device(const wb_loaded *l, const void *from, uint64_t bytes)
{
    uint64_t at = 0;
    assert_int_equal(wb_gpu_allocate(l, bytes, &at, NULL), WB_OK);
    if (from) assert_int_equal(wb_gpu_write(l, at, from, bytes, NULL), WB_OK);
    return at;
}

static void test_gpu(void **state)
{
    (void)state;
    float x[2 * N], z[2 * N];
    for (int i = 0; i < 2 * N; i++) x[i] = (float)i;
    Given g = given(scale);
    wb_loaded *l = NULL; /* for its memory alone */
    assert_int_equal(wb_gpu_load(g.k, &l, NULL), WB_OK);
    void *at[] = {(void *)(uintptr_t)on_device(l, x, sizeof x), (void *)(uintptr_t)on_device(l, x, sizeof x),
                  (void *)(uintptr_t)on_device(l, NULL, sizeof z)};
    g.rank = 2, g.dims[0] = 2, g.dims[1] = N;
    for (int k = 0; k < 100; k++) { /* more than contexts are expected: the kernel is loaded once */
        const char *error = call(&g, wb_xla_call_on_gpu, at, 2, 1);
        if (error) fail_msg("%s", error);
        assert_int_equal(wb_gpu_read(l, z, (uint64_t)(uintptr_t)at[2], sizeof z, NULL), WB_OK);
        for (int i = 0; i < 2 * N; i++) assert_true(z[i] == x[i] * x[i]);
    }
    for (int i = 0; i < 3; i++) assert_int_equal(wb_gpu_release(l, (uint64_t)(uintptr_t)at[i], NULL), WB_OK);
    wb_gpu_unload(l);
    end(&g);
}

/* XLA's stream waits for nothing that is enqueued on the default one: what was written and a kernel's constants have
 * arrived when the first run begins, also where it is recorded. */
static void test_stream_of_its_own(void **state)
{
    (void)state;
    float x[N], z[N];
    for (int i = 0; i < N; i++) x[i] = (float)(10 * i);
    said.stream = &said;
    for (int recorded = 0; recorded < 2; recorded++) {
        Given g = given(shifted), memory = given(scale);
        wb_loaded *l = NULL; /* for its memory alone */
        assert_int_equal(wb_gpu_load(memory.k, &l, NULL), WB_OK);
        void *at[] = {(void *)(uintptr_t)on_device(l, x, sizeof x), (void *)(uintptr_t)on_device(l, NULL, sizeof z)};
        if (recorded) setenv("FAKE_CUDA_RECORDS", "1", 1);
        const char *error = call(&g, wb_xla_call_on_gpu, at, 1, 1);
        unsetenv("FAKE_CUDA_RECORDS");
        if (error) fail_msg("%s", error);
        assert_int_equal(wb_gpu_read(l, z, (uint64_t)(uintptr_t)at[1], sizeof z, NULL), WB_OK);
        for (int i = 0; i < N; i++) assert_true(z[i] == x[i] + (float)(i + 1));
        for (int i = 0; i < 2; i++) assert_int_equal(wb_gpu_release(l, (uint64_t)(uintptr_t)at[i], NULL), WB_OK);
        wb_gpu_unload(l);
        end(&memory);
        end(&g);
    }
    said.stream = NULL;
}

/* XLA records the first call into a command buffer. */
static void test_recorded(void **state)
{
    (void)state;
    float x[N], z[N];
    for (int i = 0; i < N; i++) x[i] = (float)i;
    Given g = given(scale);
    wb_loaded *l = NULL;
    assert_int_equal(wb_gpu_load(g.k, &l, NULL), WB_OK);
    void *at[] = {(void *)(uintptr_t)on_device(l, x, sizeof x), NULL, (void *)(uintptr_t)on_device(l, NULL, sizeof z)};
    at[1] = at[0];
    setenv("FAKE_CUDA_RECORDS", "1", 1);
    const char *error = call(&g, wb_xla_call_on_gpu, at, 2, 1);
    if (error) fail_msg("%s", error);
    wb_result *r;
    assert_int_equal(wb_gpu_run(g.k, (const void *[]){x, x}, (void *[]){z}, 0, &r), WB_FAILED);
    has(wb_result_messages(r), "cuModuleLoadDataEx"); /* the mode of the thread is as it was */
    wb_result_free(r);
    unsetenv("FAKE_CUDA_RECORDS");
    assert_int_equal(wb_gpu_read(l, z, (uint64_t)(uintptr_t)at[2], sizeof z, NULL), WB_OK);
    for (int i = 0; i < N; i++) assert_true(z[i] == x[i] * x[i]);
    for (int i = 0; i < 3; i += 2) assert_int_equal(wb_gpu_release(l, (uint64_t)(uintptr_t)at[i], NULL), WB_OK);
    wb_gpu_unload(l);
    end(&g);
}

static wb_loaded *loaded_program(wb_context *cx, const char *text, wb_program **p)
{
    wb_loaded *l = NULL;
    if (wb_program_compile(cx, "p.hlo", text, strlen(text), NULL, p)) fail_msg("%s", wb_messages(cx));
    assert_int_equal(wb_gpu_load_program(*p, &l, NULL), WB_OK);
    return l;
}

/* A program with a library call, a loop and a result in a parameter's memory, on arrays of the GPU. */
static void test_program_on_gpu(void **state)
{
    (void)state;
    float x[N * N], n[N * N], w[N * N] = {0}, z[N * N];
    for (int i = 0; i < N * N; i++) x[i] = (float)i, n[i] = i ? 7 : 3;
    for (int i = 0; i < N; i++) w[i * N + i] = 10;
    wb_context *cx = wb_context_new();
    wb_program *p;
    wb_loaded *l = loaded_program(cx, program, &p);
    const uint64_t at[] = {on_device(l, x, sizeof x), on_device(l, n, sizeof n), on_device(l, w, sizeof w),
                           on_device(l, NULL, sizeof z), on_device(l, NULL, sizeof z)};
    for (int k = 0; k < 2; k++) { /* the inputs are as they were */
        assert_int_equal(wb_gpu_enqueue(l, said.stream, at, NULL), WB_OK);
        assert_int_equal(wb_gpu_read(l, z, at[3], sizeof z, NULL), WB_OK);
        for (int i = 0; i < N * N; i++) assert_true(z[i] == 8 * 20 * x[i]);
        assert_int_equal(wb_gpu_read(l, z, at[4], sizeof z, NULL), WB_OK);
        for (int i = 0; i < N * N; i++) assert_true(z[i] == n[i] - 3);
    }
    Given g = {.cx = cx, .x = wb_xla_new_program(p, 1), .dims = {N, N}, .rank = 2};
    g.kernel = wb_xla_number(g.x);
    void *data[5];
    for (int i = 0; i < 5; i++) data[i] = (void *)(uintptr_t)at[i];
    const float zeros[N * N] = {0};
    assert_int_equal(wb_gpu_write(l, at[3], zeros, sizeof zeros, NULL), WB_OK);
    assert_null(call(&g, wb_xla_call_program_on_gpu, data, 3, 2));
    assert_int_equal(wb_gpu_read(l, z, at[3], sizeof z, NULL), WB_OK);
    for (int i = 0; i < N * N; i++) assert_true(z[i] == 8 * 20 * x[i]);
    for (int i = 0; i < 5; i++) assert_int_equal(wb_gpu_release(l, at[i], NULL), WB_OK);
    wb_gpu_unload(l);
    end(&g);
}

/* A kernel behind a library call that the host computes. */
static void test_program_on_a_stream_of_its_own(void **state)
{
    static const char text[] =
        "HloModule p\n\ntwice {\n  a = f32[8,8]{1,0} parameter(0)\n  ROOT b = f32[8,8]{1,0} add(a, a)\n}\n\n"
        "ENTRY p {\n  x = f32[8,8]{1,0} parameter(0)\n  w = f32[8,8]{1,0} parameter(1)\n"
        "  d = f32[8,8]{1,0} dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
        "  ROOT r = f32[8,8]{1,0} fusion(d), kind=kLoop, calls=twice\n}\n";
    (void)state;
    float x[N * N], w[N * N] = {0}, z[N * N];
    for (int i = 0; i < N * N; i++) x[i] = (float)i;
    for (int i = 0; i < N; i++) w[i * N + i] = 10;
    wb_context *cx = wb_context_new();
    wb_program *p;
    wb_loaded *l = loaded_program(cx, text, &p);
    const uint64_t at[] = {on_device(l, x, sizeof x), on_device(l, w, sizeof w), on_device(l, NULL, sizeof z)};
    assert_int_equal(wb_gpu_enqueue(l, &said, at, NULL), WB_OK);
    assert_int_equal(wb_gpu_read(l, z, at[2], sizeof z, NULL), WB_OK);
    for (int i = 0; i < N * N; i++) assert_true(z[i] == 20 * x[i]);
    for (int i = 0; i < 3; i++) assert_int_equal(wb_gpu_release(l, at[i], NULL), WB_OK);
    wb_gpu_unload(l);
    wb_context_free(cx);
}

static void test_gpu_refuses_layouts(void **state)
{
    (void)state;
    Given g = given(transposed);
    float x[N] = {0}, z[N];
    g.rank = 2, g.dims[0] = 2, g.dims[1] = 4;
    has(call(&g, wb_xla_call_on_gpu, (void *[]){x, z}, 1, 1), "not in row-major order");
    assert_int_equal(said.code, XLA_UNIMPLEMENTED);
    assert_null(call(&g, wb_xla_call_on_host, (void *[]){x, z}, 1, 1)); /* the simulator's memory is its own */
    end(&g);
}

/* The temporaries of a kernel are results. */
static void test_temporaries(void **state)
{
    (void)state;
    Given g = given(sum);
    float z[N];
    has(call(&g, wb_xla_call_on_host, (void *[]){z, z}, 1, 1), "e has 1 inputs, 1 outputs and 2 temporaries");
    end(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_host), cmocka_unit_test(test_refused), cmocka_unit_test(test_numbers),
                                       cmocka_unit_test(test_metadata), cmocka_unit_test(test_gpu),
                                       cmocka_unit_test(test_recorded), cmocka_unit_test(test_stream_of_its_own),
                                       cmocka_unit_test(test_program_on_gpu),
                                       cmocka_unit_test(test_program_on_a_stream_of_its_own),
                                       cmocka_unit_test(test_gpu_refuses_layouts), cmocka_unit_test(test_temporaries)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
