/* index_map_time.c: the time of simplifying index maps.
 *
 * Needs files with the text of a map on each line. Prints the median and the 99th percentile of the time of one
 * simplification, without reading the map, the best of several rounds; then the times of sums of many terms, which must
 * be linear. Exit 1 beyond a bound.
 *
 *     python3 tests/bench/index_map_time.py build
 */
#include "index/index.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 5, MAX_MAPS = 200000 };

static const RwTables no_tables = {.name = "none"};

/* Processor time of this process. */
static double cpu_us(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

typedef struct {
    const char *text;
    size_t n;
    double microseconds;
    bool print;
} Job;

static void simplify(WbbCx *cx, void *arg)
{
    Job *j = arg;
    WbbArena *a = wbb_arena_new(cx);
    RwCx *rw = rw_new(cx, a, ir_graph_new(cx, a), &ix_tables, &no_tables, false);
    const IxMap *m = ix_map_parse(rw, a, "map", j->text, j->n);
    const double since = cpu_us();
    const IxMap *made = ix_map_simplify(rw, a, m, false);
    j->microseconds = cpu_us() - since;
    if (made->state == IX_KNOWN && made->results.n > 1000) abort();
    wbb_arena_free(a);
}

/* The time of one simplification, the best of several rounds; negative where the text is refused. */
static double cost(WbbCx *cx, const char *text, size_t n)
{
    double best = -1;
    for (int i = 0; i < ROUNDS; i++) {
        Job j = {.text = text, .n = n};
        if (wbb_guard(cx, simplify, &j) != WBB_OK) {
            wbb_cx_clear(cx);
            return -1;
        }
        if (i == 0 || j.microseconds < best) best = j.microseconds;
    }
    return best;
}

static int by_size(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return a < b ? -1 : a > b;
}

static bool file_of_maps(WbbCx *cx, const char *path)
{
    static double costs[MAX_MAPS];
    size_t n, count = 0;
    WbbArena *a = wbb_arena_new(cx);
    const char *text = wbb_read_file(cx, a, path, &n), *slowest = "";
    double most = 0;
    for (const char *p = text, *end; p < text + n && count < MAX_MAPS; p = end + 1) {
        end = memchr(p, '\n', (size_t)(text + n - p));
        if (!end) end = text + n;
        const double c = cost(cx, p, (size_t)(end - p));
        if (c < 0) continue;
        if (c > most) slowest = wbb_format(a, "%.*s", (int)WBB_MIN(end - p, 300), p);
        if (c > most) most = c;
        costs[count++] = c;
    }
    if (count == 0) return fprintf(stderr, "%s: no map\n", path), false;
    qsort(costs, count, sizeof *costs, by_size);
    printf("%zu maps: median %.1f us, 99th percentile %.1f us, slowest %.1f us: %s\n", count, costs[count / 2],
           costs[count * 99 / 100], most, slowest);
    const bool ok = costs[count / 2] < 20 && costs[count * 99 / 100] < 500;
    wbb_arena_free(a);
    return ok;
}

/* A map with so many terms, as d0 * 1 + d1 * 2 + .. under `/`, and as results of their own. `mixed`: some terms are
 * divisions and remainders. */
static double sum_of(WbbCx *cx, uint32_t terms, bool mixed)
{
    WbbArena *a = wbb_arena_new(cx);
    WbbBuf b = wbb_buf(a);
    wbb_put(&b, "(");
    for (uint32_t i = 0; i < terms; i++) wbb_putf(&b, "%sd%u", i ? ", " : "", i);
    wbb_put(&b, ") -> ((");
    for (uint32_t i = 0; i < terms; i++) {
        if (!mixed) wbb_putf(&b, "%sd%u * %u", i ? " + " : "", i, i + 1);
        else
            wbb_putf(&b, "%s%s", i ? " + " : "",
                     wbb_format(a, i % 2 ? "(d%u mod 4) * %u" : "(d%u / 4) * %u", i / 2, i % 2 ? 1 : 4));
    }
    wbb_put(&b, ") / 64), domain: ");
    for (uint32_t i = 0; i < terms; i++) wbb_putf(&b, "%sd%u in [0, 99]", i ? ", " : "", i);
    const double c = cost(cx, b.text, b.n);
    wbb_arena_free(a);
    return c;
}

static void measure(WbbCx *cx, void *arg)
{
    bool *ok = arg;
    for (int mixed = 0; mixed < 2; mixed++) {
        double thousand = 0;
        for (uint32_t terms = 250; terms <= 4000; terms *= 2) {
            const double c = sum_of(cx, terms, mixed != 0);
            if (terms == 1000) thousand = c;
            printf("%s of %u terms: %.0f us, %.2f us a term\n", mixed ? "a sum of quotients and remainders" : "a sum",
                   terms, c, c / terms);
        }
        *ok &= thousand >= 0 && thousand < 5000;
    }
}

int main(int argc, char **argv)
{
    WbbCx *cx = wbb_cx_new();
    bool ok = true;
    if (!cx) return 1;
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 1; i < argc; i++) ok &= file_of_maps(cx, argv[i]);
    if (wbb_guard(cx, measure, &ok) != WBB_OK) ok = false, fputs(cx->messages, stderr);
    wbb_cx_free(cx);
    return ok ? 0 : 1;
}
