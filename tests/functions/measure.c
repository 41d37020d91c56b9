/* measure: the largest error of a function in the simulator, in units in the last place, and where it occurs.
 *
 * Needs PTX whose kernel ENTRY stores op(a[i], b[i]) for i below ELEMENTS (by default 65536, in blocks of 256), as
 * gen/proof/measure.py writes it, and a job on each line of standard input: `ENTRY OP TYPE HOW FIRST LAST STEP NOISE
 * SLACK LIMIT n EDGE..`. Prints a line for each job:
 *
 *     k0 65536 0.50012 3c01 0 0    entry, number of values, largest error, bits of its operands, number of wrong
 *                                  specials, the first of them
 *
 * HOW: `all`: the bits FIRST <= bits < LAST by STEP; `drawn`: LAST values from the seed FIRST, half with random bits,
 * half of ordinary size. Edges, in bits, come first, in all pairs where there are two operands. NOISE above 0 is the
 * seed of errors of approximate instructions within their bounds. Errors below SLACK count as 0. Operands beyond LIMIT
 * are skipped, unless it is 0.
 *
 * The unit is that of the exact result; infinity counts as the value after the largest. A wrong nan, infinity, zero or
 * sign of zero is no error in units; it is counted apart. The exact result is libm's in double for up to 32 bits. For
 * f64 it is MPFR's with 200 bits for the first values, and wherever long double finds an error near the largest.
 *
 *     echo 'k0 exp f32 all 0 0x100000000 257 0 0 0 1 42b17218' | measure k.ptx
 */
#include "base/base.h"
#include "exact.h"
#include "scalar/scalar.h"
#include "sim/sim.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* PADDING: bytes behind a buffer, which kernels of other compilers may read. */
enum { MOST_EDGES = 32768, MOST_ELEMENTS = 65536, FIRST_EXACT = 1024, PADDING = 256 };

typedef struct {
    uint64_t elements;
    uint32_t blocks, threads;
} Shape;

typedef struct {
    char entry[64], name[32], type_name[32], how[16];
    ScOp op;
    ScType type;
    int arity;
    size_t width; /* bytes of a value */
    bool all, plain; /* HOW; neither SLACK nor LIMIT is set */
    uint64_t mask, first, last, step;
    int noise;
    double slack, limit;
    int n_edges;
    uint64_t edges[MOST_EDGES];
    const SimModule *module;
    Shape shape;
    uint64_t n, wrong;
    double worst;
    uint64_t at[2], wrong_at[2];
} Job;

/* Operand k of value i: alternately random bits, and between 2^-20 and 2^7 in size. */
static uint64_t drawn(const Job *j, uint64_t i, uint64_t k)
{
    const uint64_t h = wbb_mix(i * 2 + k + UINT64_C(0x9e3779b97f4a7c15) * (j->first + 1));
    if (i & 1) return h & j->mask;
    const int exponent = (int)(h >> 58) % 28 - 20;
    return sc_from_f64(j->type, ldexp(1 + (double)(h & 0xfffffffffffff) * 0x1p-52, exponent) * (h >> 57 & 1 ? -1 : 1));
}

/* The number of values, and the i-th. */
static uint64_t count_of(const Job *j)
{
    const uint64_t edges = (uint64_t)j->n_edges,
                   swept = j->all ? (j->last - j->first + j->step - 1) / j->step : j->last;
    return swept + (j->arity == 2 ? edges * edges : edges);
}

static uint64_t value_of(const Job *j, uint64_t i, uint64_t k)
{
    const uint64_t edges = (uint64_t)j->n_edges, listed = j->arity == 2 ? edges * edges : edges;
    if (i < listed) return j->edges[j->arity < 2 ? i : k ? i / edges : i % edges];
    i -= listed;
    if (j->all) return (j->first + i * j->step) & j->mask;
    return drawn(j, i, k);
}

/* --- judging ------------------------------------------------------------------------------------------------------ */
static void note_wrong(Job *j, const uint64_t at[2])
{
    if (!j->wrong++) memcpy(j->wrong_at, at, sizeof j->wrong_at);
}

/* The error of `got` where y is the exact result in long double; negative if `got` is a wrong special value. */
static double distance(const Job *j, double got, long double y)
{
    const long double largest = ex_largest(j->type), limit = largest + ex_unit(j->type, largest);
    if (isnan(y) || isnan(got)) return isnan(y) && isnan(got) ? 0 : -1;
    if (isinf(y)) return (long double)got == y ? 0 : -1;
    if (y == 0 ? got != 0 : isinf(got) && fabsl(y) < largest - 8 * ex_unit(j->type, largest)) return -1;
    if (got == 0 && !signbit(got) != !signbit(y)) return -1;
    const long double want = fabsl(y) > limit ? copysignl(limit, y) : y,
                      have = isinf(got) ? copysignl(limit, (long double)got) : (long double)got;
    const long double off = fabsl(have - want) - (long double)j->slack;
    return off <= 0 ? 0 : (double)(off / ex_unit(j->type, fminl(fabsl(want), largest)));
}

static void judge(Job *j, const uint64_t at[2], uint64_t bits)
{
    const double got = sc_to_f64(j->type, bits), x = sc_to_f64(j->type, at[0]), y = sc_to_f64(j->type, at[1]);
    double off;
    if (j->limit > 0 && !(fabs(x) <= j->limit)) return;
    j->n++;
    if (j->type == SC_F64) {
        off = distance(j, got, ex_long(j->op, x, y));
        if (off >= 0 && (j->n < FIRST_EXACT || off > j->worst - 0.02)) off = ex_distance(j->op, x, y, got, off);
    } else if (sc_type_info[j->type].bits <= 8) { /* in types without infinity or zero, the conversion decides */
        const double rounded = sc_to_f64(j->type, sc_from_f64(j->type, ex_double(j->op, x, y)));
        off = got == rounded || (isnan(got) && isnan(rounded)) ? 0
                                                               : distance(j, got, (long double)ex_double(j->op, x, y));
    } else off = distance(j, got, (long double)ex_double(j->op, x, y));
    if (off < 0) note_wrong(j, at);
    else if (off > j->worst) {
        j->worst = off;
        memcpy(j->at, at, sizeof j->at);
    }
}

/* Most errors of f32 are clearly below the largest so far, and need no long double. */
static void judge_f32(Job *j, const float *x, const float *result, uint64_t n)
{
    static uint8_t suspect[MOST_ELEMENTS];
    if (!ex_sieve(j->op, x, result, n, j->worst, suspect)) memset(suspect, 1, n);
    for (uint64_t i = 0; i < n; i++) {
        if (!suspect[i]) {
            j->n++;
            continue;
        }
        uint32_t at, bits;
        memcpy(&at, &x[i], 4), memcpy(&bits, &result[i], 4);
        judge(j, (uint64_t[2]){at}, bits);
    }
}

/* The operands of values from..from + n; beyond the last value the first is repeated. */
static void put_operands(const Job *j, void *const memory[3], uint64_t from, uint64_t n)
{
    const size_t width = j->width;
    uint32_t *words = memory[0];
    const uint32_t first = (uint32_t)(j->first + (from - (uint64_t)j->n_edges) * j->step), step = (uint32_t)j->step;
    if (j->all && j->arity == 1 && width == 4 && from >= (uint64_t)j->n_edges && n == j->shape.elements) {
        for (uint64_t i = 0; i < n; i++) words[i] = first + (uint32_t)i * step;
        return;
    }
    for (uint64_t i = 0; i < j->shape.elements; i++)
        for (uint64_t k = 0; k < (uint64_t)j->arity; k++) {
            const uint64_t v = value_of(j, from + (i < n ? i : 0), k);
            memcpy((char *)memory[k] + i * width, &v, width); /* the host is little-endian */
        }
}

/* One launch. */
static void chunk(WbbCx *cx, Job *j, void *const memory[3], uint64_t from, uint64_t count)
{
    const size_t width = j->width;
    const uint64_t elements = j->shape.elements, n = WBB_MIN(count - from, elements);
    put_operands(j, memory, from, n);
    WbbArena *a = wbb_arena_new(cx);
    const int buffers = j->arity + 1, args[3] = {0, 1, 2};
    SimBuffer b[3];
    for (int i = 0; i < buffers; i++)
        b[i] = (SimBuffer){
            .bytes = memory[i == j->arity ? 2 : i], .size = elements * width, .role = i == j->arity ? BD_OUT : BD_IN};
    const BdLaunch launch = {.entry = j->entry,
                             .grid = {j->shape.blocks, 1, 1},
                             .block = {j->shape.threads, 1, 1},
                             .cluster = {1, 1, 1},
                             .n_args = buffers,
                             .args = args};
    SimReport report = {0};
    sim_run(cx, a, j->module, &launch, b, buffers,
            &(SimOptions){.ulp_noise = j->noise > 0, .seed = (uint64_t)j->noise + from, .padding = PADDING}, &report);
    if (report.n_faults) wbb_fail(cx, (WbbLoc){0}, "%s: %s", j->entry, report.faults[0]);
    wbb_arena_free(a);
    if (j->type == SC_F32 && j->arity == 1 && j->plain && n <= MOST_ELEMENTS) {
        judge_f32(j, memory[0], memory[2], n);
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at[2] = {0}, bits = 0;
        for (int k = 0; k < j->arity; k++) memcpy(&at[k], (char *)memory[k] + i * width, width);
        memcpy(&bits, (char *)memory[2] + i * width, width);
        judge(j, at, bits);
    }
}

static bool next_job(WbbCx *cx, Job *j)
{
    *j = (Job){.module = j->module, .shape = j->shape};
    if (scanf("%63s %31s %31s %15s %" SCNi64 " %" SCNi64 " %" SCNi64 " %d %lf %lf %d", j->entry, j->name, j->type_name,
              j->how, (int64_t *)&j->first, (int64_t *)&j->last, (int64_t *)&j->step, &j->noise, &j->slack, &j->limit,
              &j->n_edges) != 11)
        return false;
    j->op = ex_named(j->name), j->type = sc_type_named(j->type_name, strlen(j->type_name));
    if (j->op == OP_NONE || j->type == SC_NONE || j->n_edges > MOST_EDGES || j->n_edges < 0)
        wbb_fail(cx, (WbbLoc){0}, "%s: not a job", j->entry);
    j->arity = ex_arity(j->op);
    j->width = sc_bytes(j->type), j->mask = sc_mask(j->type);
    j->all = !strcmp(j->how, "all"), j->plain = j->slack <= 0 && j->limit <= 0;
    for (int i = 0; i < j->n_edges; i++)
        if (scanf("%" SCNx64, &j->edges[i]) != 1)
            wbb_fail(cx, (WbbLoc){0}, "%s: %d edges expected", j->entry, j->n_edges);
    return true;
}

static void print_operands(const Job *j, const uint64_t at[2])
{
    for (int k = 0; k < j->arity; k++) printf("%s%" PRIx64, k ? "," : "", at[k]);
}

typedef struct {
    const char *path;
    Shape shape;
} Call;

static void work(WbbCx *cx, void *arg)
{
    const Call *call = arg;
    const char *path = call->path;
    WbbArena *a = wbb_arena_new(cx);
    size_t size;
    const char *text = wbb_read_file(cx, a, path, &size);
    Job *j = WBB_NEW(a, Job);
    j->module = sim_parse(cx, a, path, text);
    j->shape = call->shape;
    void *memory[3];
    for (int i = 0; i < 3; i++) memory[i] = wbb_alloc(a, (size_t)j->shape.elements * 8 + PADDING);
    while (next_job(cx, j)) {
        const uint64_t count = count_of(j);
        for (uint64_t i = 0; i < count; i += j->shape.elements) chunk(cx, j, memory, i, count);
        printf("%s %" PRIu64 " %.5f ", j->entry, j->n, j->worst);
        print_operands(j, j->at);
        printf(" %" PRIu64 " ", j->wrong);
        print_operands(j, j->wrong_at);
        printf("\n");
        fflush(stdout);
    }
    wbb_arena_free(a);
}

int main(int argc, char **argv)
{
    if (argc != 2 && argc != 5) {
        fprintf(stderr, "usage: measure FILE.ptx [ELEMENTS BLOCKS THREADS] <JOBS\n");
        return 2;
    }
    Call call = {argv[1], {MOST_ELEMENTS, 256, 256}};
    if (argc == 5)
        call.shape = (Shape){strtoull(argv[2], NULL, 10), (uint32_t)strtoul(argv[3], NULL, 10),
                             (uint32_t)strtoul(argv[4], NULL, 10)};
    WbbCx *cx = wbb_cx_new();
    const WbbStatus s = wbb_guard(cx, work, &call);
    if (s != WBB_OK) fprintf(stderr, "%s", cx->messages);
    wbb_cx_free(cx);
    return s != WBB_OK;
}
