/* layout_maps: the text of layouts, the layouts that are refused, and the maps of layouts, point by point against
 * digits that are computed here from the factors. */
#include "plan/plan.h"

#include "random.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_TEXT = 400 };

/* A layout of a space, read, checked and mapped. */
typedef struct {
    const char *text;
    LayDim space[3];
    uint32_t n_dims, tail;
    bool no_map;
    Layout layout;
    RwCx *rw;
    LayMaps maps;
} Job;

static void make(WbbCx *cx, void *arg)
{
    Job *j = arg;
    WbbArena *a = cx->arena;
    j->layout = lay_parse(cx, a, j->text, j->space, j->n_dims);
    j->layout.tail = j->tail;
    lay_check(cx, a, &j->layout, tg_find("sm_90"));
    j->rw = ix_engine(cx, a);
    if (!j->no_map) j->maps = lay_maps(cx, j->rw, a, &j->layout);
}

/* rows are kept, columns reduced */
static Job rows_of(const char *text, int64_t rows, int64_t columns)
{
    Job j = {.text = text, .n_dims = 2};
    j.space[0] = (LayDim){.name = "rows", .size = rows};
    j.space[1] = (LayDim){.name = "columns", .size = columns, .reduced = true};
    return j;
}

static Job elements_of(const char *text, int64_t n)
{
    return (Job){.text = text, .space = {{.name = "elements", .size = n}}, .n_dims = 1, .tail = 1};
}

/* digits ------------------------------------------------------------------------------------------------------ */

static int64_t value_of(const IxMap *m, const int64_t *point, const char *name)
{
    const uint32_t k = ix_map_find(m, name);
    if (k == m->vars.n) fail_msg("the map has no variable %s", name);
    return point[k];
}

/* The digit of factor f of dimension d where the variables of the map have these values. */
static int64_t digit_of(const Layout *l, uint32_t d, const LayFactor *f, const IxMap *m, const int64_t *point)
{
    char name[64];
    snprintf(name, sizeof name, l->n_dims == 1 ? "%s" : "%s_%s", lay_level_name[f->level], l->dims[d].name);
    if (f->level == LAY_VECTOR && f->size == 1) return 0;
    if (f->level < LAY_LANE) return value_of(m, point, name);
    int64_t number = value_of(m, point, f->level == LAY_LANE ? "lane" : f->level == LAY_WARP ? "warp" : "block");
    if (f->level == LAY_GRID)
        for (uint32_t k = 0; k < l->n_dims; k++) {
            const LayFactor *cluster = lay_factor(&l->dims[k], LAY_CLUSTER);
            if (cluster) number /= cluster->size;
        }
    for (uint32_t k = 0; k < l->n_dims; k++) {
        const uint32_t at = l->order[f->level] ? l->order[f->level][k] : k;
        const LayFactor *lower = lay_factor(&l->dims[at], f->level);
        if (at == d) break;
        if (lower) number /= lower->size;
    }
    return number % f->size;
}

/* Threads that share an element of the kept dimensions, and elements that a point may have. */
static int64_t product(const Layout *l, bool reduced, bool threads)
{
    int64_t n = 1;
    for (uint32_t d = 0; d < l->n_dims; d++)
        for (uint32_t k = 0; k < l->dims[d].n_factors; k++)
            if (l->dims[d].reduced == reduced && (l->dims[d].factors[k].level >= LAY_LANE) == threads)
                n *= l->dims[d].factors[k].size;
    return n;
}

typedef struct {
    int64_t block, warp, lane, kept;
} Share;

static int by_all(const void *x, const void *y) { return memcmp(x, y, sizeof(Share)); }

/* The map gives what the digits say, each element of the space once, and each kept element to the threads that share it
 * (where no factor is cut short, so that these are equally many). */
static void judge(WbbCx *cx, const Job *j)
{
    WbbArena *a = cx->arena;
    const Layout *l = &j->layout;
    const IxMap *m = ix_map_compose(j->rw, a, j->maps.threads, j->maps.elements);
    int64_t elements = 1, kept_elements = 1, got[3] = {0}, covered = 1;
    for (uint32_t d = 0; d < l->n_dims; d++) {
        elements *= l->dims[d].size;
        if (!l->dims[d].reduced) kept_elements *= l->dims[d].size;
        for (uint32_t k = 0; k < l->dims[d].n_factors; k++) covered *= l->dims[d].factors[k].size;
    }
    uint8_t *count = WBB_NEW_N(a, uint8_t, elements);
    struct { Share *items; uint32_t n, capacity; } shares = {0};
    for (IxWalk w = ix_walk(a, m, UINT64_MAX, 0); ix_walk_next(&w);) {
        int64_t number = 0, kept = 0;
        bool inside = true;
        const IxValue v = ix_map_eval(rw_graph(j->rw), m, w.point, got);
        for (uint32_t d = 0; d < l->n_dims; d++) {
            int64_t index = 0, weight = 1;
            for (uint32_t k = 0; k < l->dims[d].n_factors; k++) {
                index += weight * digit_of(l, d, &l->dims[d].factors[k], m, w.point);
                weight *= l->dims[d].factors[k].size;
            }
            inside = inside && index < l->dims[d].size;
            if (v == IX_INSIDE && got[d] != index)
                fail_msg("%s: %lld, not %lld", j->text, (long long)got[d], (long long)index);
            number = number * l->dims[d].size + index;
            if (!l->dims[d].reduced) kept = kept * l->dims[d].size + index;
        }
        if (inside != (v == IX_INSIDE)) fail_msg("%s: a point is %s the domain", j->text, inside ? "not in" : "in");
        if (!inside) continue;
        if (count[number]++) fail_msg("%s: element %lld twice", j->text, (long long)number);
        const Share s = {value_of(m, w.point, "block"), value_of(m, w.point, "warp"), value_of(m, w.point, "lane"),
                         kept};
        WBB_PUSH(a, &shares, s);
    }
    assert_int_equal(shares.n, elements);
    if (covered != elements) return;
    qsort(shares.items, shares.n, sizeof(Share), by_all);
    uint32_t different = 0;
    for (uint32_t k = 0; k < shares.n; k++) different += !k || by_all(&shares.items[k - 1], &shares.items[k]);
    assert_int_equal(different, kept_elements * product(l, true, true));
}

/* tests ------------------------------------------------------------------------------------------------------- */

static const struct { const char *text; int64_t rows, columns; } layouts[] = {
    {"rows: grid 40; columns: vector 4, lane 32, warp 2, register 4", 40, 1024},
    {"columns: vector 4, lane 4, register 3; rows: lane 8, warp 8, grid 2", 128, 48},
    {"rows: lane 4, warp 8, loop 3, grid 2; columns: vector 4, lane 8, grid 2", 192, 64},
    {"rows: lane 8, grid 5; columns: lane 4, loop 7; lane: columns, rows", 37, 27},
    {"columns: lane 32, warp 2, loop 2, grid 3; rows: warp 2, grid 4; grid: rows, columns", 7, 381},
    {"columns: lane 16, cluster 2, grid 2; rows: lane 2, cluster 3", 6, 64},
    {"rows: register 2, lane 3, grid 4; columns: lane 8, register 2, loop 3", 24, 48},
    {"columns: loop 5, lane 8", 1, 40},
    {"rows: lane 7", 7, 1},
};

static void test_maps(void **state)
{
    WbbCx *cx = *state;
    for (size_t k = 0; k < WBB_LEN(layouts); k++) {
        Job j = rows_of(layouts[k].text, layouts[k].rows, layouts[k].columns);
        succeed_on(cx, make, &j, j.text);
        WbbBuf b = wbb_buf(cx->arena);
        lay_print(&b, &j.layout);
        assert_string_equal(b.text, j.text);
        judge(cx, &j);
    }
}

/* The maps that the header of layout_map.c shows; a launch's threads are warps and lanes. */
static void test_printed(void **state)
{
    WbbCx *cx = *state;
    Job j = rows_of("rows: lane 4, grid 16; columns: lane 8, register 3", 64, 24);
    succeed(cx, make, &j);
    const struct { const IxMap *map; const char *text; } maps[] = {
        {j.maps.threads, "(block, warp, lane) -> (block * 4 + lane mod 4, lane / 4), domain: block in [0, 15], warp in [0, 0], lane in [0, 31]"},
        {j.maps.launched, "(block, thread) -> (block * 4 + thread mod 4, thread / 4), domain: block in [0, 15], thread in [0, 31]"},
        {j.maps.elements, "(t_rows, t_columns)[register_columns] -> (t_rows, register_columns * 8 + t_columns), domain: t_rows in [0, 63], "
                          "t_columns in [0, 7], register_columns in [0, 2]"},
    };
    for (size_t k = 0; k < WBB_LEN(maps); k++) {
        WbbBuf b = wbb_buf(cx->arena);
        ix_map_print(&b, rw_graph(j.rw), maps[k].map);
        assert_string_equal(b.text, maps[k].text);
    }
}

/* The tail has threads of its own, and a single block has no more threads than it needs. */
static void test_tail(void **state)
{
    WbbCx *cx = *state;
    static const struct { const char *text; int64_t n; uint32_t tail, threads; int64_t tail_threads; } cases[] = {
        {"elements: vector 4, lane 32, warp 4, grid 59", 29799, 1, 128, 3},
        {"elements: vector 4, lane 32, warp 4", 403, 1, 103, 3},
        {"elements: vector 4, lane 25", 400, 1, 0, 0},
        {"elements: vector 4, lane 32, warp 4", 400, 1, 100, 0},
        {"elements: vector 8, lane 32, grid 2", 263, 2, 32, 4},
        {"elements: vector 8, lane 4", 7, 2, 4, 4},
    };
    for (size_t k = 0; k < WBB_LEN(cases); k++) {
        Job j = elements_of(cases[k].text, cases[k].n);
        j.tail = cases[k].tail;
        if (!cases[k].threads) {
            stop(cx, make, &j, WBB_FAILED, "lane 25 does not cover the 400 elements, 100 vectors of 4: 100 would");
            continue;
        }
        succeed_on(cx, make, &j, j.text);
        assert_int_equal(lay_threads(&j.layout), cases[k].threads);
        assert_int_equal(lay_tail(&j.layout), cases[k].tail_threads);
        uint8_t *count = WBB_NEW_N(cx->arena, uint8_t, cases[k].n);
        const IxMap *parts[] = {j.maps.elements, j.maps.tail};
        for (int p = 0; p < 2; p++) {
            if (!parts[p]) continue;
            const IxMap *m = ix_map_compose(j.rw, cx->arena, j.maps.threads, parts[p]);
            for (IxWalk w = ix_walk(cx->arena, m, UINT64_MAX, 0); ix_walk_next(&w);) {
                int64_t element;
                if (ix_map_eval(rw_graph(j.rw), m, w.point, &element) == IX_INSIDE) count[element]++;
            }
        }
        for (int64_t i = 0; i < cases[k].n; i++)
            if (count[i] != 1) fail_msg("%s: element %lld %u times", j.text, (long long)i, count[i]);
    }
}

static void test_refused(void **state)
{
    WbbCx *cx = *state;
    static const struct { const char *text; int64_t rows, columns; const char *message; } cases[] = {
        {"", 8, 8, "layout:1:1: error: expected a dimension, of rows, columns; found the end"},
        {"row: lane 8", 8, 8, "layout:1:1: error: expected a dimension, of rows, columns; found 'row'"},
        {"rows lane 8", 8, 8, "layout:1:6: error: expected ':', found 'lane'"},
        {"rows: lanes 8", 8, 8, "layout:1:7: error: expected vector, register, loop, lane, warp, cluster or grid; found 'lanes'"},
        {"rows: lane", 8, 8, "layout:1:11: error: expected a number, found the end"},
        {"rows: lane 0; columns: grid 8", 8, 8, "layout:1:12: error: a factor of 0"},
        {"rows: lane 99999999999999999999", 8, 8, "layout:1:12: error: a factor of more than 2147483647"},
        {"rows: lane 8, lane 8", 8, 8, "layout:1:15: error: lane: rows has one already"},
        {"rows: lane 8; rows: warp 8", 8, 8, "layout:1:15: error: rows is named twice"},
        {"rows: lane 8", 8, 8, "layout:1:13: error: columns has no factors"},
        {"rows: lane 8 columns: grid 8", 8, 8, "layout:1:14: error: expected ',' or ';', found 'columns'"},
        {"rows: lane 8; columns: grid 8; lane: columns", 8, 8, "layout:1:38: error: columns has no lane"},
        {"rows: lane 2; columns: lane 8; lane: columns", 2, 8, "layout:1:37: error: 1 of the 2 dimensions with lane are named"},
        {"rows: lane 2; columns: lane 8; lane: rows, rows", 2, 8, "layout:1:44: error: rows is named twice"},
        {"rows: lane 2; columns: lane 8; vector: rows", 2, 8, "layout:1:32: error: vector: no dimensions share its digits"},
        {"rows: lane 2; columns: lane 8; lane: rows, columns; lane: rows, columns", 2, 8, "layout:1:53: error: lane: its order is given"},
        {"rows: grid 8; columns: lane 4", 8, 8, "layout:1:24: error: lane 4 does not cover the 8 columns: 8 would"},
        {"rows: grid 9; columns: lane 8", 8, 8, "layout:1:7: error: grid 9: 8 cover the 8 rows"},
        {"rows: grid 8; columns: lane 2, loop 3", 8, 4, "layout:1:32: error: loop 3: 2 cover the 4 columns"},
        {"rows: grid 8; columns: vector 4, lane 2", 8, 9, "layout:1:24: error: vector 4 does not divide the 9 columns"},
        {"rows: grid 8; columns: vector 4, lane 2", 8, 12, "layout:1:34: error: lane 2 does not cover the 12 columns, 3 vectors of 4: 3 would"},
        {"rows: grid 8; columns: lane 2, vector 4", 8, 8, "layout:1:32: error: vector: it is the innermost factor of its dimension"},
        {"rows: vector 2, grid 4; columns: vector 4, lane 2", 8, 8, "layout:1:34: error: vector: another dimension has one"},
        {"rows: grid 8; columns: lane 6", 8, 6, "layout:1:24: error: lane 6: of a reduced dimension they are a power of two"},
        {"rows: lane 8, grid 1; columns: lane 8", 8, 8, "layout:1:32: error: 64 lanes: a warp of sm_90 has 32"},
        {"rows: warp 8; columns: lane 8", 8, 8, "layout:1:7: error: 8 warps of 8 lanes: with several warps each has 32"},
        {"rows: warp 8; columns: lane 32, warp 8", 8, 256, "layout:1:33: error: 2048 threads in a block, which has 1024 at most"},
        {"rows: grid 65536; columns: grid 65536", 65536, 65536, "layout:1:28: error: 4294967296 blocks: a launch has 2147483647 at most"},
    };
    for (size_t k = 0; k < WBB_LEN(cases); k++) {
        Job j = rows_of(cases[k].text, cases[k].rows, cases[k].columns);
        wbb_cx_clear(cx);
        stop(cx, make, &j, WBB_FAILED, cases[k].message);
    }
    Job j = elements_of("elements: vector 4, lane 32, register 2, grid 2", 203);
    stop(cx, make, &j, WBB_FAILED,
         "layout:1:30: error: register: vector 4 does not divide the 203 elements, so a thread has one vector");
}

/* Random factors in any order; the outermost covers what is left, often more than that. */
static void random_text(char *text, Job *j)
{
    static const LayLevel levels[] = {LAY_REGISTER, LAY_LOOP, LAY_LANE, LAY_LANE, LAY_WARP, LAY_CLUSTER, LAY_GRID};
    size_t n = 0;
    const bool turned = below(2);
    for (uint32_t d = 0; d < j->n_dims; d++) {
        const LayDim *x = &j->space[turned ? j->n_dims - 1 - d : d];
        int64_t left = x->size;
        bool taken[LAY_LEVELS] = {false};
        const char *separator = ":";
        n += (size_t)snprintf(text + n, MAX_TEXT - n, "%s%s", d ? "; " : "", x->name);
        if (below(4) == 0 && left % 2 == 0) {
            n += (size_t)snprintf(text + n, MAX_TEXT - n, ": vector 2");
            left /= 2, separator = ",";
        }
        for (uint32_t k = 0; k < 20 && (k < 1 + below(4) || left > 1); k++) {
            const LayLevel level = k < 8 ? levels[below(WBB_LEN(levels))] : (LayLevel)(LAY_REGISTER + k % 6);
            if (taken[level]) continue;
            taken[level] = true;
            const int64_t size = k >= 8 || below(4) == 0 ? left : 1 << below(4);
            n += (size_t)snprintf(text + n, MAX_TEXT - n, "%s %s %lld", separator, lay_level_name[level],
                                  (long long)size);
            left = (left + size - 1) / size, separator = ",";
        }
    }
    const char *order = j->n_dims > 1 && below(2) ? "; lane: b, a" : "";
    snprintf(text + n, MAX_TEXT - n, "%s", order);
}

static void test_random(void **state)
{
    WbbCx *cx = *state;
    uint32_t legal = 0;
    for (int k = 0; k < 3000; k++) {
        char text[MAX_TEXT];
        Job j = {.text = text, .n_dims = 1 + below(2), .no_map = true};
        for (uint32_t d = 0; d < j.n_dims; d++)
            j.space[d] = (LayDim){.name = d ? "b" : "a", .size = 1 + below(d ? 40 : 70), .reduced = below(2)};
        random_text(text, &j);
        if (wbb_guard(cx, make, &j) != WBB_OK) continue;
        j.no_map = false;
        wbb_cx_clear(cx);
        succeed_on(cx, make, &j, text);
        judge(cx, &j);
        legal++;
    }
    if (legal < 300) fail_msg("%u legal layouts", legal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_maps), TEST(test_printed), TEST(test_tail), TEST(test_refused), TEST(test_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
