/* fake_cuda_driver: a CUDA driver that runs kernels in the simulator: the entry points that src/gpu uses.
 *
 * Built as a shared library, which tests name in WARPBURG_LIBCUDA. Device memory is host memory, filled with 0xa5 when
 * it is allocated; a launch gives every allocation to the simulator. FAKE_CUDA_LOG names a file to which each call
 * appends its name; FAKE_CUDA_FAIL="NAME:CODE" makes an entry point return an error; FAKE_CUDA_DEVICES is the number of
 * devices, by default 1; FAKE_CUDA_WRONG flips a bit of what is copied back; with FAKE_CUDA_RECORDS a stream is being
 * recorded, so that threads whose mode is not relaxed allocate nothing and load nothing, and nobody copies to the
 * device on the default stream.
 *
 * What the host copies to the device arrives when something waits for it (fake_cuda_copies.c).
 */
#include "fake_cuda_copies.h"
#include "sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
enum { MOST = 4096, INVALID = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, INVALID_PTX = 218, NOT_FOUND = 500,
       LAUNCH_FAILED = 719, RECORDS = 900 };

typedef struct Function {
    struct Function *next; /* of the module */
    const char *text;      /* of the module */
    char *entry;
    unsigned shared; /* the most that a launch may have */
    bool large;      /* clusters may have more than 8 blocks */
} Function;

typedef struct {
    char *text;
    Function *functions;
} Module;

static struct {
    unsigned char *at;
    size_t bytes;
} memory[MOST];
static double clock_ms;

/* Whether the call must fail, with the code in *code. */
static int called(const char *name)
{
    const char *log = getenv("FAKE_CUDA_LOG"), *fail = getenv("FAKE_CUDA_FAIL");
    FILE *f = log ? fopen(log, "a") : NULL;
    if (f) fprintf(f, "%s\n", name), fclose(f);
    const size_t n = strlen(name);
    return fail && !strncmp(fail, name, n) && fail[n] == ':' ? atoi(fail + n + 1) : 0;
}
#define CALLED(NAME)                      \
    do {                                  \
        const int code = called(NAME);    \
        if (code) return code;            \
    } while (0)

static _Thread_local int capture_mode; /* 0: global */

EXPORT CuResult cuThreadExchangeStreamCaptureMode(int *mode)
{
    const int before = capture_mode;
    CALLED("cuThreadExchangeStreamCaptureMode");
    capture_mode = *mode, *mode = before;
    return 0;
}

static bool records(void) { return getenv("FAKE_CUDA_RECORDS") && capture_mode != CU_CAPTURE_RELAXED; }

EXPORT CuResult cuInit(unsigned flags)
{
    (void)flags;
    CALLED("cuInit");
    return 0;
}

EXPORT CuResult cuDeviceGetCount(int *n)
{
    CALLED("cuDeviceGetCount");
    *n = getenv("FAKE_CUDA_DEVICES") ? atoi(getenv("FAKE_CUDA_DEVICES")) : 1;
    return 0;
}

EXPORT CuResult cuDeviceGet(CuDevice *device, int number)
{
    CALLED("cuDeviceGet");
    *device = number;
    return 0;
}

EXPORT CuResult cuDeviceGetName(char *name, int size, CuDevice device)
{
    (void)device;
    CALLED("cuDeviceGetName");
    snprintf(name, (size_t)size, "simulated device");
    return 0;
}

EXPORT CuResult cuDeviceGetAttribute(int *value, int attribute, CuDevice device)
{
    (void)device;
    CALLED("cuDeviceGetAttribute");
    *value = attribute == CU_ATTRIBUTE_MAJOR      ? 9
             : attribute == CU_ATTRIBUTE_MINOR    ? 0
             : attribute == CU_ATTRIBUTE_L2_BYTES ? 1 << 16
                                                  : 0;
    return 0;
}

EXPORT CuResult cuDevicePrimaryCtxRetain(CuHandle *context, CuDevice device)
{
    static int something;
    (void)device;
    CALLED("cuDevicePrimaryCtxRetain");
    *context = &something;
    return 0;
}

EXPORT CuResult cuDevicePrimaryCtxRelease_v2(CuDevice device)
{
    (void)device;
    CALLED("cuDevicePrimaryCtxRelease_v2");
    return 0;
}

/* Contexts of a thread; the tests have few. */
static _Thread_local CuHandle stack[8];
static _Thread_local int depth;

EXPORT CuResult cuCtxGetCurrent(CuHandle *context)
{
    CALLED("cuCtxGetCurrent");
    *context = depth ? stack[depth - 1] : NULL;
    return 0;
}

EXPORT CuResult cuCtxGetDevice(CuDevice *device)
{
    CALLED("cuCtxGetDevice");
    *device = 0;
    return depth ? 0 : INVALID;
}

EXPORT CuResult cuCtxPushCurrent_v2(CuHandle context)
{
    CALLED("cuCtxPushCurrent_v2");
    if (!context || depth == 8) return INVALID;
    stack[depth++] = context;
    return 0;
}

EXPORT CuResult cuCtxPopCurrent_v2(CuHandle *context)
{
    CALLED("cuCtxPopCurrent_v2");
    if (!depth) return INVALID;
    *context = stack[--depth];
    return 0;
}

EXPORT CuResult cuCtxSynchronize(void)
{
    CALLED("cuCtxSynchronize");
    fake_settle_all();
    return 0;
}

static void parse(WbbCx *cx, void *arg)
{
    WbbArena *a = wbb_arena_new(cx);
    sim_parse(cx, a, "module", arg);
    wbb_arena_free(a);
}

EXPORT CuResult cuModuleLoadDataEx(CuHandle *module, const void *image, unsigned n, int *options, void **values)
{
    CALLED("cuModuleLoadDataEx");
    if (records()) return RECORDS;
    WbbCx *cx = wbb_cx_new();
    char *text = malloc(strlen(image) + 1);
    strcpy(text, image);
    const WbbStatus s = wbb_guard(cx, parse, text);
    for (unsigned i = 0; i < n && s != WBB_OK; i++)
        if (options[i] == CU_JIT_ERROR_LOG) snprintf(values[i], 200, "%s", cx->messages);
    wbb_cx_free(cx);
    if (s != WBB_OK) return free(text), INVALID_PTX;
    Module *m = calloc(1, sizeof *m);
    m->text = text;
    *module = m;
    return 0;
}

EXPORT CuResult cuModuleUnload(CuHandle module)
{
    CALLED("cuModuleUnload");
    Module *m = module;
    while (m->functions) {
        Function *f = m->functions;
        m->functions = f->next;
        free(f->entry);
        free(f);
    }
    free(m->text);
    free(m);
    return 0;
}

EXPORT CuResult cuModuleGetFunction(CuHandle *function, CuHandle module, const char *name)
{
    CALLED("cuModuleGetFunction");
    Module *m = module;
    if (!strstr(m->text, name)) return NOT_FOUND;
    Function *f = m->functions; /* the same function each time */
    while (f && strcmp(f->entry, name)) f = f->next;
    if (!f) {
        f = malloc(sizeof *f);
        *f = (Function){m->functions, m->text, strcpy(malloc(strlen(name) + 1), name), 48 << 10, false};
        m->functions = f;
    }
    *function = f;
    return 0;
}

EXPORT CuResult cuFuncSetAttribute(CuHandle function, int attribute, int value)
{
    CALLED("cuFuncSetAttribute");
    Function *f = function;
    if (attribute == CU_FUNCTION_DYNAMIC_SHARED && value >= 0 && value <= 227 << 10) f->shared = (unsigned)value;
    else if (attribute == CU_FUNCTION_LARGE_CLUSTER) f->large = value != 0;
    else return INVALID;
    return 0;
}

EXPORT CuResult cuMemAlloc_v2(CuPointer *pointer, size_t bytes)
{
    CALLED("cuMemAlloc_v2");
    if (records()) return RECORDS;
    for (int i = 0; i < MOST; i++) {
        if (memory[i].at) continue;
        memory[i].at = malloc(bytes);
        memory[i].bytes = bytes;
        memset(memory[i].at, 0xa5, bytes);
        *pointer = (CuPointer)(uintptr_t)memory[i].at;
        return 0;
    }
    return OUT_OF_MEMORY;
}

/* The allocation that holds bytes at p; -1: none. Another may begin where one ends: its end is in none. */
static int holder(CuPointer p, size_t bytes)
{
    for (int i = 0; i < MOST; i++) {
        const CuPointer at = (CuPointer)(uintptr_t)memory[i].at, end = at + memory[i].bytes;
        if (memory[i].at && p >= at && p < end && bytes <= end - p) return i;
    }
    return -1;
}

EXPORT CuResult cuMemFree_v2(CuPointer pointer)
{
    CALLED("cuMemFree_v2");
    const int i = holder(pointer, 0);
    if (i < 0) return INVALID;
    fake_settle_all();
    free(memory[i].at);
    memory[i].at = NULL;
    return 0;
}

EXPORT CuResult cuMemGetInfo_v2(size_t *available, size_t *total)
{
    CALLED("cuMemGetInfo_v2");
    *available = *total = (size_t)1 << 28;
    return 0;
}

EXPORT CuResult cuMemcpyHtoD_v2(CuPointer to, const void *from, size_t bytes)
{
    CALLED("cuMemcpyHtoD_v2");
    if (getenv("FAKE_CUDA_RECORDS")) return RECORDS;
    if (holder(to, bytes) < 0) return INVALID;
    fake_settle(NULL);
    fake_copy(to, from, bytes, NULL);
    return 0;
}

EXPORT CuResult cuMemcpyHtoDAsync_v2(CuPointer to, const void *from, size_t bytes, CuHandle stream)
{
    CALLED("cuMemcpyHtoDAsync_v2");
    if (holder(to, bytes) < 0) return INVALID;
    fake_settle(stream);
    fake_copy(to, from, bytes, stream);
    return 0;
}

EXPORT CuResult cuMemcpyDtoH_v2(void *to, CuPointer from, size_t bytes)
{
    CALLED("cuMemcpyDtoH_v2");
    if (holder(from, bytes) < 0) return INVALID;
    fake_settle(NULL);
    memcpy(to, (void *)(uintptr_t)from, bytes);
    if (getenv("FAKE_CUDA_WRONG") && bytes) *(unsigned char *)to ^= 1;
    return 0;
}

EXPORT CuResult cuMemsetD8_v2(CuPointer to, unsigned char value, size_t bytes)
{
    CALLED("cuMemsetD8_v2");
    if (holder(to, bytes) < 0) return INVALID;
    fake_settle(NULL);
    memset((void *)(uintptr_t)to, value, bytes);
    return 0;
}

EXPORT CuResult cuMemsetD8Async(CuPointer to, unsigned char value, size_t bytes, CuHandle stream)
{
    CALLED("cuMemsetD8Async");
    if (holder(to, bytes) < 0) return INVALID;
    fake_settle(stream);
    memset((void *)(uintptr_t)to, value, bytes);
    return 0;
}

EXPORT CuResult cuMemcpyDtoDAsync_v2(CuPointer to, CuPointer from, size_t bytes, CuHandle stream)
{
    CALLED("cuMemcpyDtoDAsync_v2");
    if (holder(to, bytes) < 0 || holder(from, bytes) < 0) return INVALID;
    fake_settle(stream);
    memmove((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes);
    return 0;
}

EXPORT CuResult cuMemAllocAsync(CuPointer *pointer, size_t bytes, CuHandle stream)
{
    (void)stream;
    CALLED("cuMemAllocAsync");
    return cuMemAlloc_v2(pointer, bytes);
}

EXPORT CuResult cuMemFreeAsync(CuPointer pointer, CuHandle stream)
{
    (void)stream;
    CALLED("cuMemFreeAsync");
    return cuMemFree_v2(pointer);
}

/* Runs a launch in the simulator; every allocation is a buffer that may be read and written, and behind them every
 * argument that points into one. */
typedef struct {
    const Function *function;
    const BdLaunch *launch;
    const CuPointer *arguments;
    int faults;
} Launch;

static void simulate(WbbCx *cx, void *arg)
{
    Launch *l = arg;
    WbbArena *a = wbb_arena_new(cx);
    const int n = MOST + l->launch->n_args;
    SimBuffer *b = WBB_NEW_N(a, SimBuffer, n);
    for (int i = 0; i < n; i++) {
        const int of = i < MOST ? i : l->launch->args[i - MOST] < MOST ? -1 : holder(l->arguments[i - MOST], 0);
        const CuPointer base = of < 0 ? 0 : (CuPointer)(uintptr_t)memory[of].at;
        const size_t skipped = i < MOST || of < 0 ? 0 : (size_t)(l->arguments[i - MOST] - base);
        const bool used = of >= 0 && memory[of].at;
        b[i] = (SimBuffer){.bytes = used ? memory[of].at + skipped : NULL,
                           .size = used ? memory[of].bytes - skipped : 0,
                           .role = BD_TEMP,
                           .writes = BD_ATOMIC,
                           .initialised = true};
    }
    SimReport r = {0};
    sim_run(cx, a, sim_parse(cx, a, "module", l->function->text), l->launch, b, n, &(SimOptions){0}, &r);
    l->faults = r.n_faults;
    wbb_arena_free(a);
}

/* The number of the kernel's parameters, between the parentheses after its name. */
static int parameters_of(const Function *f)
{
    int n = 0;
    const char *at = strstr(f->text, ".entry");
    while (at && (strncmp(at + 7, f->entry, strlen(f->entry)) || at[7 + strlen(f->entry)] != '('))
        at = strstr(at + 1, ".entry");
    for (; at && *at && *at != ')'; at++) n += !strncmp(at, ".param", 6);
    return n;
}

/* A launch with the addresses it was given; parts of a graph. */
typedef struct {
    const Function *function;
    BdLaunch launch;
    CuPointer *values;
} Node;

typedef struct {
    Node *nodes;
    size_t n;
} Graph;

static Graph *captured; /* of the stream that is captured; NULL: none */

static CuResult run_node(const Node *node)
{
    static int args[MOST];
    BdLaunch l = node->launch;
    for (int i = 0; i < l.n_args; i++) {
        args[i] = holder(node->values[i], 0);
        if (args[i] < 0) return INVALID;
        if (node->values[i] != (CuPointer)(uintptr_t)memory[args[i]].at) args[i] = MOST + i;
    }
    l.args = args;
    Launch run = {node->function, &l, node->values, 0};
    WbbCx *cx = wbb_cx_new();
    const WbbStatus s = wbb_guard(cx, simulate, &run);
    if (s != WBB_OK) fprintf(stderr, "%s", cx->messages);
    wbb_cx_free(cx);
    clock_ms += 0.5;
    return s == WBB_OK && !run.faults ? 0 : LAUNCH_FAILED;
}

static CuResult launch(const Function *f, BdLaunch l, CuHandle stream, void **parameters)
{
    l.n_args = parameters_of(f);
    l.entry = f->entry;
    if (l.shared > f->shared || (l.cluster[0] * l.cluster[1] * l.cluster[2] > 8 && !f->large)) return INVALID;
    const Node node = {f, l, malloc((size_t)(l.n_args + 1) * sizeof(CuPointer))};
    for (int i = 0; i < l.n_args; i++) node.values[i] = *(CuPointer *)parameters[i];
    if (captured) {
        captured->nodes = realloc(captured->nodes, (captured->n + 1) * sizeof node);
        captured->nodes[captured->n++] = node;
        return 0;
    }
    fake_settle(stream);
    const CuResult r = run_node(&node);
    free(node.values);
    return r;
}

EXPORT CuResult cuStreamCreate(CuHandle *stream, unsigned flags)
{
    CALLED("cuStreamCreate");
    *stream = fake_stream(flags == 0);
    return 0;
}

EXPORT CuResult cuStreamSynchronize(CuHandle stream)
{
    CALLED("cuStreamSynchronize");
    fake_settle(stream);
    return 0;
}

EXPORT CuResult cuStreamDestroy_v2(CuHandle stream)
{
    CALLED("cuStreamDestroy_v2");
    fake_stream_end(stream);
    return 0;
}

EXPORT CuResult cuStreamBeginCapture_v2(CuHandle stream, int mode)
{
    (void)stream, (void)mode;
    CALLED("cuStreamBeginCapture_v2");
    captured = calloc(1, sizeof *captured);
    return 0;
}

EXPORT CuResult cuStreamEndCapture(CuHandle stream, CuHandle *graph)
{
    (void)stream;
    CALLED("cuStreamEndCapture");
    *graph = captured;
    captured = NULL;
    return 0;
}

/* What is made of a graph is the graph. */
EXPORT CuResult cuGraphInstantiateWithFlags(CuHandle *run, CuHandle graph, unsigned long long flags)
{
    (void)flags;
    CALLED("cuGraphInstantiateWithFlags");
    *run = graph;
    return 0;
}

EXPORT CuResult cuGraphLaunch(CuHandle run, CuHandle stream)
{
    CALLED("cuGraphLaunch");
    fake_settle(stream);
    const Graph *g = run;
    for (size_t i = 0; i < g->n; i++) {
        const CuResult r = run_node(&g->nodes[i]);
        if (r) return r;
    }
    return 0;
}

EXPORT CuResult cuGraphExecDestroy(CuHandle run)
{
    (void)run;
    CALLED("cuGraphExecDestroy");
    return 0;
}

EXPORT CuResult cuGraphDestroy(CuHandle graph)
{
    CALLED("cuGraphDestroy");
    Graph *g = graph;
    for (size_t i = 0; i < g->n; i++) free(g->nodes[i].values);
    free(g->nodes);
    free(g);
    return 0;
}

EXPORT CuResult cuLaunchKernel(CuHandle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                               unsigned bz, unsigned shared, CuHandle stream, void **parameters, void **extra)
{
    (void)extra;
    CALLED("cuLaunchKernel");
    const BdLaunch l = {.grid = {gx, gy, gz}, .block = {bx, by, bz}, .cluster = {1, 1, 1}, .shared = shared};
    return launch(function, l, stream, parameters);
}

EXPORT CuResult cuLaunchKernelEx(const CuLaunchConfig *c, CuHandle function, void **parameters, void **extra)
{
    (void)extra;
    CALLED("cuLaunchKernelEx");
    BdLaunch l = {.cluster = {1, 1, 1}, .shared = c->shared};
    memcpy(l.grid, c->grid, sizeof l.grid);
    memcpy(l.block, c->block, sizeof l.block);
    for (unsigned i = 0; i < c->n_attributes; i++) {
        if (c->attributes[i].id != CU_LAUNCH_CLUSTER) return INVALID;
        memcpy(l.cluster, &c->attributes[i].value.cluster, sizeof l.cluster);
    }
    return launch(function, l, c->stream, parameters);
}

EXPORT CuResult cuEventCreate(CuHandle *event, unsigned flags)
{
    (void)flags;
    CALLED("cuEventCreate");
    *event = calloc(1, sizeof(double));
    return 0;
}

EXPORT CuResult cuEventRecord(CuHandle event, CuHandle stream)
{
    (void)stream;
    CALLED("cuEventRecord");
    *(double *)event = clock_ms;
    return 0;
}

EXPORT CuResult cuEventSynchronize(CuHandle event)
{
    CALLED("cuEventSynchronize");
    return event ? 0 : INVALID;
}

EXPORT CuResult cuEventElapsedTime(float *ms, CuHandle from, CuHandle to)
{
    CALLED("cuEventElapsedTime");
    *ms = (float)(*(double *)to - *(double *)from);
    return 0;
}

EXPORT CuResult cuEventDestroy_v2(CuHandle event)
{
    CALLED("cuEventDestroy_v2");
    free(event);
    return 0;
}

EXPORT CuResult cuGetErrorName(CuResult error, const char **text)
{
    *text = error == OUT_OF_MEMORY   ? "CUDA_ERROR_OUT_OF_MEMORY"
            : error == INVALID_PTX   ? "CUDA_ERROR_INVALID_PTX"
            : error == LAUNCH_FAILED ? "CUDA_ERROR_LAUNCH_FAILED"
                                     : NULL;
    return *text ? 0 : INVALID;
}

EXPORT CuResult cuGetErrorString(CuResult error, const char **text)
{
    *text = error == OUT_OF_MEMORY   ? "out of memory"
            : error == INVALID_PTX   ? "a PTX JIT compilation failed"
            : error == LAUNCH_FAILED ? "unspecified launch failure"
                                     : NULL;
    return *text ? 0 : INVALID;
}
