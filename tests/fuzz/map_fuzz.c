/* map_fuzz: any bytes are read as the text of an index map or refused at a place. What is read prints to a text that
 * reads and prints the same. The simplified map has the same points and values, and simplifying it again changes
 * nothing.
 *
 * Needs libFuzzer (clang -fsanitize=fuzzer,address,undefined) and the modules base to index. With -DFUZZ_FILES any
 * compiler makes a program that reads the given files (files.h). Crashes where the property does not hold.
 *
 *     python3 tests/fuzz/map_fuzz.py build-fuzz/tests/map_fuzz 600
 */
#include "index/index.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 200, MOST_NODES = 2000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const RwTables no_tables = {.name = "none"};

typedef struct {
    WbbArena *arena;
    RwCx *rw;
    const char *text;
    size_t n;
    IxMap *map;
} Job;

static void parse(WbbCx *cx, void *arg)
{
    Job *j = arg;
    j->rw = rw_new(cx, j->arena, ir_graph_new(cx, j->arena), &ix_tables, &no_tables, false);
    j->map = ix_map_parse(j->rw, j->arena, "map", j->text, j->n);
}

static void print(WbbCx *cx, void *arg)
{
    Job *j = arg;
    WbbBuf out = wbb_buf(j->arena);
    (void)cx;
    ix_map_print(&out, rw_graph(j->rw), j->map);
    j->text = out.text;
    j->n = out.n;
}

static void simplify(WbbCx *cx, void *arg)
{
    Job *j = arg;
    (void)cx;
    j->map = ix_map_simplify(j->rw, j->arena, j->map, false);
}

/* Other functions of the module, which must not crash. */
static void transform(WbbCx *cx, void *arg)
{
    const Job *j = arg;
    const char *why;
    IxMap *made[2];
    (void)cx;
    (void)ix_map_inverse(j->rw, j->arena, j->map);
    (void)ix_map_bijection(j->rw, j->arena, j->map, 256, &why);
    (void)ix_map_remove_unused(j->rw, j->arena, j->map, true);
    (void)ix_map_rescale_symbols(j->rw, j->arena, j->map);
    (void)ix_map_symbols_to_dimensions(j->rw, j->arena, j->map);
    (void)ix_map_union(j->rw, j->arena, (const IxMap *const[]){j->map, j->map}, 2, made);
}

static void must_be_same(const Job *x, const Job *y, const char *what)
{
    if (x->n == y->n && memcmp(x->text, y->text, x->n) == 0) return;
    fprintf(stderr, "%s:\n%s\n%s\n", what, x->text, y->text);
    abort();
}

static void check(WbbCx *cx, Job *j)
{
    uint64_t compared = 0;
    Job written = *j, simple = *j;
    if (wbb_guard(cx, print, &written) != WBB_OK) return;
    Job again = written;
    if (wbb_guard(cx, parse, &again) != WBB_OK || wbb_guard(cx, print, &again) != WBB_OK) {
        fprintf(stderr, "printed text is refused: %s%s\n", cx->messages, written.text);
        abort();
    }
    must_be_same(&written, &again, "printed twice");
    if (rw_graph(j->rw)->n > MOST_NODES) return;
    if (wbb_guard(cx, simplify, &simple) != WBB_OK) return; /* a coefficient exceeds 64 bits */
    const char *differ = ix_map_differ(j->arena, rw_graph(j->rw), j->map, simple.map, POINTS, 1, &compared);
    if (differ) {
        fprintf(stderr, "%s\n%s\n", written.text, differ);
        abort();
    }
    (void)wbb_guard(cx, print, &simple);
    Job twice = simple;
    if (wbb_guard(cx, parse, &twice) != WBB_OK || wbb_guard(cx, simplify, &twice) != WBB_OK) return;
    (void)wbb_guard(cx, print, &twice);
    must_be_same(&simple, &twice, "simplified twice");
    (void)wbb_guard(cx, transform, j);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    /* A copy of the exact size, so that a sanitizer detects reads beyond the end. */
    char *text = malloc(n ? n : 1);
    WbbCx *cx = wbb_cx_new();
    if (!cx || !text) abort();
    if (n) memcpy(text, data, n);
    Job j = {.arena = wbb_arena_new(cx), .text = text, .n = n};
    wbb_arena_limit(j.arena, (size_t)512 << 20);
    const WbbStatus status = wbb_guard(cx, parse, &j);
    if (status != WBB_OK && !strstr(cx->messages, "error: ")) abort();
    if (status == WBB_OK) check(cx, &j);
    wbb_arena_free(j.arena);
    wbb_cx_free(cx);
    free(text);
    return 0;
}

#include "files.h"
