/* accuracy: the largest error of a function of libdevice in the simulator.
 *
 * Needs PTX with a kernel k_FUNCTION that applies the function to each element of its buffers. Prints one line: the
 * number of arguments, the largest error, and the argument where it occurs. The error is NVIDIA's measure: the distance
 * from the correctly rounded result in units in the last place, an integer. The correct result is libm's, in double for
 * f32 and in long double for f64. A nan is correct where libm has one; zeros of both signs count as equal, since only
 * values are published.
 *
 *     libdevice_errors expf.ptx expf 0 4294967296 257   ->   expf 16711936 1 0x1.285aa4p-13 0x1.0012cp+0 0x1.0012bep+0
 *
 * f32 of one argument: bit patterns first, first + step, .. below last. All others: `last - first` random pairs or
 * values from the seed `first`, half of ordinary size, half with random bits.
 */
#define _XOPEN_SOURCE 700 /* Bessel functions */
#include "base/base.h"
#include "sim/sim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 20, THREADS = 256, MOST = 3 };

typedef struct {
    const char *name;
    int arguments;
    double (*one)(double);
    double (*two)(double, double);
    long double (*one_long)(long double);
    long double (*two_long)(long double, long double);
    double low, high; /* interval of compared arguments, with one argument; 0, 0: all */
} Function;

static double rsqrt_of(double x) { return 1 / sqrt(x); }
static double rcbrt_of(double x) { return 1 / cbrt(x); }
static double rhypot_of(double x, double y) { return 1 / hypot(x, y); }
static double exp10_of(double x) { return (double)powl(10, x); }
static double normcdf_of(double x) { return erfc(-x * 0.70710678118654752440) / 2; }
static long double sqrt_long(long double x) { return sqrt((double)x); } /* rounded once */
static long double fdim_long(long double x, long double y) { return fdim((double)x, (double)y); }
static long double rsqrt_long(long double x) { return 1 / sqrtl(x); }
static long double rcbrt_long(long double x) { return 1 / cbrtl(x); }
static long double rhypot_long(long double x, long double y) { return 1 / hypotl(x, y); }
static long double exp10_long(long double x) { return powl(10, x); }
static const long double pi_long = 3.14159265358979323846264338327950288L;

/* Reduces the argument exactly to the nearest multiple of a half and a small angle. */
static long double sinpi_long(long double x)
{
    if (!isfinite(x)) return NAN;
    const long double r = remainderl(x, 2), n = rintl(2 * r), t = (r - n / 2) * pi_long;
    const int quarter = (int)n & 3;
    const long double v = quarter & 1 ? cosl(t) : sinl(t);
    return quarter & 2 ? -v : v;
}

static long double cospi_long(long double x)
{
    if (!isfinite(x)) return NAN;
    const long double r = remainderl(x, 2), n = rintl(2 * r), t = (r - n / 2) * pi_long;
    const int quarter = (int)n & 3;
    const long double v = quarter & 1 ? sinl(t) : cosl(t);
    return quarter == 1 || quarter == 2 ? -v : v;
}

/* Solves erfc(y) = p or erf(y) = p for y >= 0 by Halley's iteration from `y`. */
static double solved(double (*f)(double), double sign, double p, double y)
{
    for (int i = 0; i < 60; i++) {
        const double u = (f(y) - p) / (sign * M_2_SQRTPI * exp(-y * y)), next = y - u / (1 + u * y);
        if (!isfinite(next) || fabs(next - y) <= 0x1p-52 * fabs(y)) break;
        y = next < 0 ? y / 2 : next;
    }
    return y;
}

static double erfinv_of(double x)
{
    const double a = fabs(x);
    if (!(a < 1)) return a == 1 ? copysign(INFINITY, x) : NAN;
    const double guess = sqrt(-log1p(-a)) / 1.2;
    return copysign(a == 0     ? 0
                    : a < 1e-6 ? a * (1 / M_2_SQRTPI)
                    : a < 0.5  ? solved(erf, 1, a, guess * guess < a ? a : guess * guess)
                               : solved(erfc, -1, 1 - a, guess),
                    x);
}

static double erfcinv_of(double p)
{
    if (!(p > 0 && p < 2)) return p == 0 ? INFINITY : p == 2 ? -INFINITY : NAN;
    return p > 0.25 ? erfinv_of(1 - p) : solved(erfc, -1, p, sqrt(-log(p)) * 0.95);
}

static double normcdfinv_of(double p) { return p >= 0 && p <= 1 ? -M_SQRT2 * erfcinv_of(2 * p) : NAN; }

/* The asymptotic series of erfc, where erfc underflows. */
static double erfcx_of(double x)
{
    if (x > 50) return M_2_SQRTPI / 2 / x * (1 - 1 / (2 * x * x) + 3 / (4 * x * x * x * x));
    return (double)(expl((long double)x * x) * erfcl(x));
}

static double sinpi_of(double x) { return (double)sinpi_long(x); }
static double cospi_of(double x) { return (double)cospi_long(x); }

#define ONE(F) {#F, 1, F, NULL, F##l, NULL, 0, 0}
#define TWO(F) {#F, 2, NULL, F, NULL, F##l, 0, 0}
static const Function functions[] = {
    ONE(exp), ONE(exp2), ONE(expm1), ONE(log), ONE(log2), ONE(log10), ONE(log1p), ONE(sin), ONE(cos), ONE(tan), ONE(asin), ONE(acos), ONE(atan), ONE(sinh),
    ONE(cosh), ONE(tanh), ONE(asinh), ONE(acosh), ONE(atanh), ONE(erf), ONE(erfc), ONE(tgamma), ONE(cbrt), ONE(floor), ONE(ceil), ONE(trunc), ONE(round),
    ONE(rint), ONE(logb), ONE(fabs), TWO(pow), TWO(atan2), TWO(hypot), TWO(fmod), TWO(remainder), TWO(fmax), TWO(fmin), TWO(copysign),
    {"sqrt", 1, sqrt, NULL, sqrt_long, NULL, 0, 0},
    {"fdim", 2, NULL, fdim, NULL, fdim_long, 0, 0},
    {"nearbyint", 1, nearbyint, NULL, nearbyintl, NULL, 0, 0},
    {"lgamma", 1, lgamma, NULL, lgammal, NULL, -2.264, INFINITY}, /* published for arguments outside of -10.001 .. -2.264 */
    {"rsqrt", 1, rsqrt_of, NULL, rsqrt_long, NULL, 0, 0},
    {"rcbrt", 1, rcbrt_of, NULL, rcbrt_long, NULL, 0, 0},
    {"rhypot", 2, NULL, rhypot_of, NULL, rhypot_long, 0, 0},
    {"exp10", 1, exp10_of, NULL, exp10_long, NULL, 0, 0},
    {"sinpi", 1, sinpi_of, NULL, sinpi_long, NULL, 0, 0},
    {"cospi", 1, cospi_of, NULL, cospi_long, NULL, 0, 0},
    {"normcdf", 1, normcdf_of, NULL, NULL, NULL, 0, 0},
    {"erfinv", 1, erfinv_of, NULL, NULL, NULL, 0, 0},
    {"erfcinv", 1, erfcinv_of, NULL, NULL, NULL, 0, 0},
    {"normcdfinv", 1, normcdfinv_of, NULL, NULL, NULL, 0, 0},
    {"erfcx", 1, erfcx_of, NULL, NULL, NULL, 0, 0},
    {"j0", 1, j0, NULL, NULL, NULL, -8, 8},
    {"j1", 1, j1, NULL, NULL, NULL, -8, 8},
    {"y0", 1, y0, NULL, NULL, NULL, 0, 8},
    {"y1", 1, y1, NULL, NULL, NULL, 0, 8},
};

typedef struct {
    const Function *f;
    bool is_double;
    const SimModule *module;
    const char *entry;
    uint64_t first, last, step;
    uint64_t n, worst;
    uint64_t at[2]; /* bits of the worst arguments */
    uint64_t got, wanted;
} Job;

/* An integer in the order of the values; both zeros are 0. */
static int64_t place32(uint32_t u) { return u >> 31 ? -(int64_t)(u & 0x7fffffffu) : (int64_t)u; }
static int64_t place64(uint64_t u) { return u >> 63 ? -(int64_t)(u & INT64_MAX) : (int64_t)u; }

static float f32_of(uint32_t u)
{
    float f;
    memcpy(&f, &u, 4);
    return f;
}
static uint32_t bits32(float f)
{
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}
static double f64_of(uint64_t u)
{
    double f;
    memcpy(&f, &u, 8);
    return f;
}
static uint64_t bits64(double f)
{
    uint64_t u;
    memcpy(&u, &f, 8);
    return u;
}

/* Argument k of element i: alternately random bits, and between 2^-20 and 2^7 in size. */
static uint64_t sampled(const Job *j, uint64_t i, uint64_t k)
{
    const uint64_t h = wbb_mix(i * 2 + k + UINT64_C(0x9e3779b97f4a7c15) * (j->first + 1));
    if (i & 1) return j->is_double ? h : h >> 32;
    const int exponent = (int)(h >> 58) % 28 - 20;
    const double v = ldexp(1 + (double)(h >> 12 & 0xffffffffffff) * 0x1p-48, exponent) * (h & 1 ? -1 : 1);
    return j->is_double ? bits64(v) : bits32((float)v);
}

static bool judged(const Function *f, double x)
{
    if (f->low == 0 && f->high == 0) return true;
    return x > f->low && x < f->high;
}

static void note(Job *j, uint64_t distance, const uint64_t at[2], uint64_t got, uint64_t wanted)
{
    if (distance <= j->worst) return;
    j->worst = distance;
    memcpy(j->at, at, sizeof j->at);
    j->got = got, j->wanted = wanted;
}

static void compare32(Job *j, const uint32_t *const in[2], const uint32_t *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const double x = f32_of(in[0][i]), y = j->f->arguments == 2 ? f32_of(in[1][i]) : 0;
        if (!judged(j->f, x)) continue;
        const float want = (float)(j->f->arguments == 2 ? j->f->two(x, y) : j->f->one(x));
        const float got = f32_of(out[i]);
        j->n++;
        if (want == got || (isnan(want) && isnan(got))) continue;
        const uint64_t d = isnan(want) || isnan(got) ? UINT32_MAX
                                                     : (uint64_t)llabs(place32(bits32(want)) - place32(out[i]));
        note(j, d, (const uint64_t[2]){in[0][i], j->f->arguments == 2 ? in[1][i] : 0}, out[i], bits32(want));
    }
}

static void compare64(Job *j, const uint64_t *const in[2], const uint64_t *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const double x = f64_of(in[0][i]), y = j->f->arguments == 2 ? f64_of(in[1][i]) : 0;
        if (!judged(j->f, x)) continue;
        const double want = (double)(j->f->arguments == 2 ? j->f->two_long(x, y) : j->f->one_long(x));
        const double got = f64_of(out[i]);
        j->n++;
        if (want == got || (isnan(want) && isnan(got))) continue;
        const int64_t a = place64(bits64(want)), b = place64(out[i]);
        const uint64_t d = isnan(want) || isnan(got) ? UINT32_MAX
                           : a > b                   ? (uint64_t)a - (uint64_t)b
                                                     : (uint64_t)b - (uint64_t)a;
        note(j, d, (const uint64_t[2]){in[0][i], j->f->arguments == 2 ? in[1][i] : 0}, out[i], bits64(want));
    }
}

/* A launch with at most CHUNK elements, beginning with `from`; returns their number. */
static size_t chunk(WbbCx *cx, Job *j, void *const memory[MOST], uint64_t from, uint64_t count)
{
    const size_t n = (size_t)WBB_MIN(count - from, (uint64_t)CHUNK), width = j->is_double ? 8 : 4;
    const int buffers = j->f->arguments + 1;
    const bool all = !j->is_double && j->f->arguments == 1;
    const size_t blocks = (n + THREADS - 1) / THREADS, filled = blocks * THREADS;
    for (uint64_t i = 0; i < filled; i++) {
        for (uint64_t k = 0; k < (uint64_t)j->f->arguments; k++) {
            const uint64_t v = all ? j->first + (from + i) * j->step : sampled(j, from + i, k);
            memcpy((char *)memory[k] + i * width, &v, width); /* the host is little-endian */
        }
    }
    WbbArena *a = wbb_arena_new(cx);
    SimBuffer b[MOST];
    const int args[MOST] = {0, 1, 2};
    for (int i = 0; i < buffers; i++)
        b[i] = (SimBuffer){.bytes = memory[i], .size = filled * width, .role = i + 1 == buffers ? BD_OUT : BD_IN};
    const BdLaunch launch = {.entry = j->entry,
                             .grid = {(uint32_t)blocks, 1, 1},
                             .block = {THREADS, 1, 1},
                             .cluster = {1, 1, 1},
                             .n_args = buffers,
                             .args = args};
    SimReport report = {0};
    sim_run(cx, a, j->module, &launch, b, buffers, &(SimOptions){0}, &report);
    if (report.n_faults) wbb_fail(cx, (WbbLoc){0}, "%s", report.faults[0]);
    wbb_arena_free(a);
    if (j->is_double) compare64(j, (const uint64_t *const[2]){memory[0], memory[1]}, memory[j->f->arguments], n);
    else compare32(j, (const uint32_t *const[2]){memory[0], memory[1]}, memory[j->f->arguments], n);
    return n;
}

static bool find(Job *j, const char *name)
{
    const size_t n = strlen(name);
    for (size_t i = 0; i < WBB_LEN(functions); i++) {
        const Function *f = &functions[i];
        const size_t base = strlen(f->name);
        if (strncmp(name, f->name, base) || (n != base && (n != base + 1 || name[base] != 'f'))) continue;
        j->f = f;
        j->is_double = n == base;
        return !j->is_double || f->one_long || f->two_long;
    }
    return false;
}

static void print_value(const Job *j, uint64_t bits)
{
    printf(" %a", j->is_double ? f64_of(bits) : (double)f32_of((uint32_t)bits));
}

static void one(WbbCx *cx, Job *j)
{
    WbbArena *a = wbb_arena_new(cx);
    void *memory[MOST];
    for (int i = 0; i < MOST; i++) memory[i] = wbb_alloc(a, CHUNK * 8);
    const uint64_t count = (j->last - j->first + j->step - 1) / j->step;
    for (uint64_t i = 0; i < count;) i += chunk(cx, j, memory, i, count);
    wbb_arena_free(a);
}

typedef struct {
    int argc;
    char **argv;
} Words;

static void work(WbbCx *cx, void *arg)
{
    const Words *w = arg;
    WbbArena *a = wbb_arena_new(cx);
    size_t size;
    const char *text = wbb_read_file(cx, a, w->argv[1], &size);
    const SimModule *m = sim_parse(cx, a, w->argv[1], text);
    for (int i = 2; i + 3 < w->argc; i += 4) {
        char *const *at = w->argv + i;
        Job j = {.module = m,
                 .entry = wbb_format(a, "k_%s", at[0]),
                 .first = strtoull(at[1], NULL, 0),
                 .last = strtoull(at[2], NULL, 0),
                 .step = strtoull(at[3], NULL, 0)};
        if (!find(&j, at[0])) wbb_fail(cx, (WbbLoc){0}, "%s: there is nothing to compare it with", at[0]);
        one(cx, &j);
        printf("%s %llu %llu", at[0], (unsigned long long)j.n, (unsigned long long)j.worst);
        for (int k = 0; k < j.f->arguments; k++) print_value(&j, j.at[k]);
        print_value(&j, j.got);
        print_value(&j, j.wanted);
        printf("\n");
    }
    wbb_arena_free(a);
}

int main(int argc, char **argv)
{
    if (argc < 6 || (argc - 2) % 4) {
        fprintf(stderr, "usage: accuracy FILE.ptx {FUNCTION FIRST LAST STEP}..\n");
        return 2;
    }
    Words w = {argc, argv};
    WbbCx *cx = wbb_cx_new();
    const WbbStatus s = wbb_guard(cx, work, &w);
    if (s != WBB_OK) fprintf(stderr, "%s", cx->messages);
    wbb_cx_free(cx);
    return s != WBB_OK;
}
