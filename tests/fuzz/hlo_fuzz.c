/* hlo_fuzz: any bytes are read as HLO text, or as a module as a protocol buffer, or refused at a place. What is read
 * prints to a text that reads and prints the same, and so does its normal form.
 *
 * Needs libFuzzer (clang -fsanitize=fuzzer,address,undefined) and the modules base, scalar and hlo. With -DFUZZ_FILES
 * any compiler makes a program that reads the given files (files.h). Crashes where the property does not hold.
 *
 *     python3 tests/fuzz/hlo_fuzz.py build-fuzz/tests/hlo_fuzz 600
 */
#include "hlo/hlo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

typedef struct {
    WbbArena *arena;
    const char *text;
    size_t n;
    HloModule **modules;
    uint32_t n_modules;
    HloModule *normal; /* [n_modules] */
} Job;

static void parse(WbbCx *cx, void *arg)
{
    Job *j = arg;
    j->text = hlo_text(cx, j->arena, "fuzz.hlo", j->text, &j->n);
    j->n_modules = hlo_parse_all(cx, j->arena, "fuzz.hlo", j->text, j->n, &j->modules);
}

static void print(WbbCx *cx, void *arg)
{
    Job *j = arg;
    WbbBuf out = wbb_buf(j->arena);
    (void)cx;
    for (uint32_t k = 0; k < j->n_modules; k++) {
        if (k) wbb_put(&out, "\n// -----\n\n");
        hlo_print(&out, j->modules[k]);
    }
    j->text = out.text;
    j->n = out.n;
}

static void fusion(WbbCx *cx, void *arg)
{
    const Job *j = arg;
    if (hlo_fusion(cx, j->modules[0]).body == NULL) abort();
}

static void normalise(WbbCx *cx, void *arg)
{
    Job *j = arg;
    for (uint32_t k = 0; k < j->n_modules; k++) j->normal[k] = *hlo_normalise(cx, j->arena, j->modules[k]);
}

/* Printing a huge repeated shape may reach the arena's limit, which is no failure. */
static void check_again(WbbCx *cx, Job *j)
{
    if (wbb_guard(cx, print, j) != WBB_OK) return;
    Job second = *j;
    if (wbb_guard(cx, parse, &second) != WBB_OK) {
        fprintf(stderr, "printed text is refused: %s%s\n", cx->messages, j->text);
        abort();
    }
    if (wbb_guard(cx, print, &second) != WBB_OK) return;
    if (second.n != j->n || memcmp(second.text, j->text, j->n) != 0) {
        fprintf(stderr, "printed twice:\n%s\n%s\n", j->text, second.text);
        abort();
    }
}

static void check_normal_form(WbbCx *cx, Job *j)
{
    HloModule *pointers[4], normal[4];
    if (j->n_modules > WBB_LEN(normal)) return;
    Job second = *j;
    second.normal = normal;
    if (wbb_guard(cx, normalise, &second) != WBB_OK) {
        if (strstr(cx->messages, "out of memory")) return;
        fprintf(stderr, "no normal form: %s", cx->messages);
        abort();
    }
    for (uint32_t k = 0; k < j->n_modules; k++) pointers[k] = &normal[k];
    second.modules = pointers;
    check_again(cx, &second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    /* A copy of the exact size, so that a sanitizer detects reads beyond the end. */
    char *text = malloc(n ? n : 1);
    WbbCx *cx = wbb_cx_new();
    if (!cx || !text) abort();
    if (n) memcpy(text, data, n);
    Job j = {.arena = wbb_arena_new(cx), .text = text, .n = n};
    wbb_arena_limit(j.arena, (size_t)256 << 20);
    WbbStatus status = wbb_guard(cx, parse, &j);
    if (status != WBB_OK && !strstr(cx->messages, "error: ")) abort();
    if (status == WBB_OK) {
        (void)wbb_guard(cx, fusion, &j);
        Job again = j;
        check_again(cx, &again);
        check_normal_form(cx, &j);
    }
    wbb_arena_free(j.arena);
    wbb_cx_free(cx);
    free(text);
    return 0;
}

#include "files.h"
