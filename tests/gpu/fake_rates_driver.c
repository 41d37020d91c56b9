/* fake_rates_driver: a CUDA driver that runs no kernel: for tests of tests/gpu/run_rates.py.
 *
 * Memory is host memory. A launch writes for each warp of each block what the kernels of rates.py leave at q: a clock
 * and a nanosecond before the loop and after it, 100 clocks a turn, at 2 GHz. Events say that 1 ms passed.
 * FAKE_RATES_FAIL names a kernel whose launch fails, and with it all later calls; FAKE_RATES_HANG one that never ends;
 * FAKE_RATES_REFUSE one that fails alone.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
enum { FAILED = 719, REFUSED = 1 };

typedef struct {
    unsigned grid[3], block[3], shared;
    void *stream, *attributes;
    unsigned n;
} Config;

static int lost;

static int is(const char *variable, const char *name)
{
    const char *value = getenv(variable);
    return value && !strcmp(value, name);
}

static int launched(const char *name, unsigned grid, unsigned block, void **parameters)
{
    if (is("FAKE_RATES_FAIL", name)) lost = FAILED;
    while (is("FAKE_RATES_HANG", name)) sleep(1);
    if (lost || is("FAKE_RATES_REFUSE", name)) return lost ? lost : REFUSED;
    uint64_t *q = *(uint64_t **)parameters[0];
    const uint64_t turns = *(unsigned *)parameters[2];
    for (unsigned b = 0; turns && b < grid && b < 264; b++)
        for (unsigned w = 0; w < (block + 31) / 32; w++) {
            uint64_t *at = q + 4 * (32 * b + w);
            at[0] = 1000, at[1] = 1500 + 100 * turns;
            at[2] = 500, at[3] = 750 + 50 * turns;
        }
    return 0;
}

EXPORT int cuInit(unsigned f) { return (void)f, 0; }
EXPORT int cuDeviceGetCount(int *n) { return *n = 1, 0; }
EXPORT int cuDeviceGet(int *d, int n) { return *d = n, 0; }
EXPORT int cuDeviceGetName(char *s, int n, int d) { return (void)d, snprintf(s, (size_t)n, "pretended GPU"), 0; }
EXPORT int cuDeviceGetAttribute(int *v, int a, int d) { return (void)d, *v = a == 16 ? 132 : 1000 * a, 0; }
EXPORT int cuDriverGetVersion(int *v) { return *v = 13000, 0; }
EXPORT int cuDevicePrimaryCtxRetain(void **c, int d) { return (void)d, *c = &lost, 0; }
EXPORT int cuCtxSetCurrent(void *c) { return (void)c, 0; }
EXPORT int cuCtxSynchronize(void) { return lost; }
EXPORT int cuModuleLoadData(void **m, const void *image)
{
    return *m = (void *)(uintptr_t)image, memcmp(image, "\177ELF", 4) ? 200 : 0;
}
EXPORT int cuModuleGetFunction(void **f, void *m, const char *name) { return (void)m, *f = strdup(name), lost; }
EXPORT int cuFuncSetAttribute(void *f, int a, int v) { return (void)f, (void)a, (void)v, lost; }
EXPORT int cuMemAlloc_v2(uint64_t *p, size_t n)
{
    if (n > (size_t)1 << 30) return 2;
    return *p = (uint64_t)(uintptr_t)calloc(1, n), *p ? lost : 2;
}
EXPORT int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t n)
{
    return memcpy((void *)(uintptr_t)to, from, n), lost;
}
EXPORT int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t n)
{
    return memcpy(to, (const void *)(uintptr_t)from, n), lost;
}
EXPORT int cuMemsetD32_v2(uint64_t to, unsigned v, size_t n) { return (void)to, (void)v, (void)n, lost; }
EXPORT int cuStreamCreate(void **s, unsigned f) { return (void)f, *s = &lost, lost; }
EXPORT int cuEventCreate(void **e, unsigned f) { return (void)f, *e = &lost, lost; }
EXPORT int cuEventRecord(void *e, void *s) { return (void)e, (void)s, lost; }
EXPORT int cuEventSynchronize(void *e) { return (void)e, lost; }
EXPORT int cuEventElapsedTime(float *ms, void *a, void *b) { return (void)a, (void)b, *ms = 1, lost; }
EXPORT int cuStreamBeginCapture_v2(void *s, int m) { return (void)s, (void)m, lost; }
EXPORT int cuStreamEndCapture(void *s, void **g) { return (void)s, *g = &lost, lost; }
EXPORT int cuGraphInstantiateWithFlags(void **x, void *g, uint64_t f) { return (void)g, (void)f, *x = &lost, lost; }
EXPORT int cuGraphLaunch(void *x, void *s) { return (void)x, (void)s, lost; }
EXPORT int cuGetErrorName(int e, const char **s) { return (void)e, *s = "CUDA_ERROR_PRETENDED", 0; }

EXPORT int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned shared, void *stream, void **parameters, void **extra)
{
    (void)gy, (void)gz, (void)by, (void)bz, (void)shared, (void)stream, (void)extra;
    return launched(f, gx, bx, parameters);
}

EXPORT int cuLaunchKernelEx(const Config *c, void *f, void **parameters, void **extra)
{
    (void)extra;
    return launched(f, c->grid[0], c->block[0], parameters);
}
