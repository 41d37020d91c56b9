/* hlo.c: `hlo FILE.hlo`: parsed, verified and printed; with --pass one pass between, with --normalise all of them, with
 * --option what plans may then make of it. With --time instead what reading costs. */
#include "graph/graph.h"
#include "hlo/hlo.h"
#include "main/main.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

typedef struct {
    Words files;
    const char *pass, *assume;
    bool normalise, time, passes;
    uint64_t option;
} HloOptions;

/* Each fold that an option takes with this number (a plan has one for each of those that it asks about). */
static const HloModule *take_options(WbbCx *cx, WbbArena *a, const HloModule *m, uint32_t number)
{
    const uint32_t **all = WBB_NEW_N(a, const uint32_t *, m->n_computations + 1);
    for (uint32_t c = 0; c < m->n_computations; c++) {
        const HloComputation *of = m->computations[c];
        uint32_t *numbers = WBB_NEW_N(a, uint32_t, of->n_instructions + 1);
        all[c] = numbers;
        for (uint32_t n = 0; n < of->n_instructions; n++) numbers[n] = number;
    }
    return gr_option(cx, a, m, all, NULL, false);
}

static WbbStatus hlo(const Call *call)
{
    WbbCx *cx = call->cx;
    WbbArena *a = call->arena;
    const HloOptions *o = call->options;
    WbbBuf b = wbb_buf(a);
    if (o->passes) {
        hlo_put_passes(&b);
        fputs(b.text, stdout);
        return WBB_OK;
    }
    if (!o->files.n) return main_usage(call, "FILE.hlo expected");
    if (o->files.n > 1) return main_usage(call, "'%s' is one word too many", o->files.items[1]);
    if (o->pass && o->normalise) return main_usage(call, "--pass or --normalise, not both");
    size_t n;
    const char *file = o->files.items[0], *text = main_read_hlo(cx, a, file, o->assume, &n);
    HloModule **modules;
    const clock_t since = clock();
    const size_t before = wbb_arena_bytes(a) + wbb_arena_bytes(cx->arena);
    const uint32_t count = hlo_parse_all(cx, a, file, text, n, &modules);
    if (o->time) {
        printf("parsed and verified: %.3f ms of CPU time, %zu bytes of text, %zu bytes of memory\n",
               1000.0 * (double)(clock() - since) / CLOCKS_PER_SEC, n,
               wbb_arena_bytes(a) + wbb_arena_bytes(cx->arena) - before);
        return WBB_OK;
    }
    for (uint32_t k = 0; k < count; k++) {
        const HloModule *m = modules[k];
        const HloScope scope = o->pass ? hlo_find_pass(o->pass)->scope : HLO_FOR_ALL;
        const bool arrays = o->pass && !strcmp(o->pass, "arrays"); /* the last one of every compile */
        if (arrays || o->normalise || o->option)
            m = gr_normalise(cx, a, m, NULL);
        else if (scope != HLO_FOR_ALL) m = hlo_normalise(cx, a, m);
        if (o->pass && !arrays) m = gr_run_pass(cx, a, m, o->pass);
        if (o->option) m = take_options(cx, a, m, (uint32_t)o->option);
        if (k) wbb_put(&b, "\n// -----\n\n");
        hlo_print(&b, m);
    }
    fputs(b.text, stdout);
    return WBB_OK;
}

static const char *pass_names(WbbArena *a)
{
    WbbBuf b = wbb_buf(a);
    for (const HloPass *p = hlo_passes; p->name; p++)
        if ((!p->rules || p->scope != HLO_FOR_FUSION) && hlo_find_pass(p->name) == p)
            wbb_putf(&b, "%s%s", p == hlo_passes ? "" : " ", p->name);
    return b.text;
}

static const Positional positionals[] = {
    {ANY("FILE.hlo", HloOptions, files, "HLO text of one or more modules; one file"), .value = VALUE_FILE}, {0}};
static const Option options[] = {
    {FLAG("--passes", HloOptions, passes, "print the passes in their order, with what each needs, makes and ends, and why")},
    {WORD("--pass", HloOptions, pass, "NAME", "run one pass; one for modules or plans after all those of every compile"), .choices = {.list = pass_names}},
    {FLAG("--normalise", HloOptions, normalise, "run all passes, as every compile does")},
    {NUMBER("--option", HloOptions, option, "N",
            "after all passes, take options of patterns/arrays.py, with N for their number, of all folds that have one"),
     .most = UINT32_MAX},
    MAIN_OPTION_ASSUME(HloOptions),
    {FLAG("--time", HloOptions, time, "print what parsing and verifying cost instead of the text")},
    {0}};
static const Example examples[] = {{"hlo gelu.hlo --normalise", "the module as the compiler sees it"}, {0}};
const Command main_hlo = {
    .name = "hlo",
    .summary = "parse and verify HLO text, and print it",
    .positionals = positionals,
    .options = options,
    .examples = examples,
    .declined = "an operation is not supported",
    .size = sizeof(HloOptions),
    .run = hlo,
};
