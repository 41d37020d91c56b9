/* graph.c: `graph FILE.graph`: a fusion as definitions, as text.
 *
 * Needs the text that `compile --emit graph` prints (docs/graph.md). Without options it is read and printed; with
 * `--rules` the rules of patterns/arrays.py are applied to its folds before, and `--trace` prints those that fired.
 *
 *     warpburg graph mean.graph --rules --trace
 */
#include "graph/graph.h"
#include "main/main.h"
#include "pipe/pipe.h"

#include <stdio.h>

typedef struct {
    Words files;
    bool rules, trace;
} GraphOptions;

typedef struct {
    const GraphOptions *o;
    const char *file;
} Job;

static void one_file(WbbCx *cx, void *arg)
{
    const Job *j = arg;
    WbbArena *a = wbb_arena_new(cx);
    WbbBuf b = wbb_buf(a);
    size_t n;
    const char *text = wbb_read_file(cx, a, j->file, &n);
    GrGraph *x = gr_parse(cx, a, j->file, text, n);
    RwCx *all = ix_engine(cx, a);
    rw_join(x->rw, all, gr_names(a, x));
    if (j->o->rules) gr_apply(a, x);
    gr_print(&b, x);
    if (j->o->trace) pipe_trace(&b, a, x->rw, UINT32_MAX);
    fputs(b.text, stdout);
    wbb_arena_free(a);
}

static WbbStatus graph(const Call *call)
{
    const GraphOptions *o = call->options;
    WbbStatus worst = WBB_OK;
    for (uint32_t k = 0; k < o->files.n; k++) {
        Job j = {o, o->files.items[k]};
        const WbbStatus s = wbb_guard(call->cx, one_file, &j);
        if (s != WBB_OK) worst = s;
    }
    return worst;
}

static const Positional positionals[] = {
    {SEVERAL("FILE.graph", GraphOptions, files, "text of a graph"), .value = VALUE_FILE}, {0}};
static const Option options[] = {
    {FLAG("--rules", GraphOptions, rules, "apply the rules of patterns/arrays.py to the folds")},
    {FLAG("--trace", GraphOptions, trace, "with --rules: print the rules that fired")},
    {0}};
static const Example examples[] = {
    {"graph mean.graph --rules --trace", "what the rules about arrays make of the folds, and which fired"},
    {0}};
const Command main_graph = {
    .name = "graph",
    .summary = "read the graph of a fusion as text, and apply the rules about arrays to it",
    .details = "compile --emit graph prints such text; docs/graph.md describes it.",
    .positionals = positionals,
    .options = options,
    .examples = examples,
    .size = sizeof(GraphOptions),
    .run = graph,
};
