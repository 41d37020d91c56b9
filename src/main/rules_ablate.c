/* rules_ablate.c: `rules ablate CORPUS..`: what each rule is worth: every file in which it fired is compiled again
 * without it.
 *
 *     files   nodes     ptx  rule
 *         3     +12      +6  simplify  patterns/arith.py:25: ..     without it 12 nodes and 6 instructions more
 *        14  needed          isel      patterns/tiles.py:11: ..     without it selection is incomplete
 */
#include "llvm/llvm.h"
#include "main/rules.h"
#include "report/stats.h"

#include <stdlib.h>
#include <string.h>

enum { NODES, PTX, SASS, MEASURES };
static const char *const measure_name[MEASURES] = {"nodes", "ptx", "sass"};

typedef struct {
    uint32_t size[MEASURES];
} Size;

/* One compile of a file without a rule; `without` NULL: with all rules. */
typedef struct {
    uint32_t file;
    const char *without;
    uint32_t rule; /* number in Round.rules */
    Size size;
    uint64_t code; /* hash of the PTX */
} Compile;

typedef struct {
    Words paths, rules;
    const char *target, *accuracy, *assume;
    int64_t jobs;
    bool sass, approx, json;
} AblateOptions;

typedef struct {
    RulesCall *c;
    const AblateOptions *o;
    const Words *files;
    Compile *compiles;
    uint32_t *counts[2]; /* by table, then file and rule: firings, in the compile with all rules */
    LlCache *caches[WBB_POOL_THREADS];
    WbbCx *cache_cx[WBB_POOL_THREADS];
} Ablation;

typedef struct {
    const RwTables *tables; /* NULL: a tuning number, or a strategy */
    const TgTune *tune;
    const TgStrategy *strategy;
    const char *name;
    uint32_t number, files; /* files in which it fired; of a number or strategy those whose code it changes */
    int64_t delta[MEASURES];
    const char *needed; /* why a file does not compile without the rule; NULL: all do */
} Worth;

/* The number of nodes that the statements of a kernel and of its functions use. */
static uint32_t nodes_of(WbbArena *a, const IrKernel *k)
{
    IrRefs nodes = {0};
    ir_roots(k->g, a, &k->body, &nodes);
    for (uint32_t i = 0; i < k->n_functions; i++) ir_roots(k->g, a, &k->functions[i]->body, &nodes);
    ir_gather(k->g, a, &nodes, WBB_NEW_N(a, uint8_t, k->g->n));
    return nodes.n;
}

/* Adds what a kernel is, and what fired there, to the compile of its file. */
static void add_kernel(WbbCx *cx, WbbArena *a, const Ablation *b, Compile *x, const PipeResult *r)
{
    for (uint32_t k = 0; k < r->n_kernels; k++) x->size.size[NODES] += nodes_of(a, r->kernels[k].ir);
    x->size.size[PTX] += report_ptx_facts(a, r->ptx).instructions;
    x->code = wbb_hash(r->ptx, strlen(r->ptx), x->code);
    if (b->o->sass && r->cubin.bytes && r->kernel->grid)
        x->size.size[SASS] += tg_sass(cx, r->target, &r->cubin, r->kernel->name).sass;
    if (x->without) return;
    for (int which = 0; which < 2; which++) {
        const uint32_t rules = main_tables(b->c->target, which)->n_rules;
        uint32_t *counts = b->counts[which] + (size_t)x->file * rules;
        for (uint32_t k = 0; k < rules; k++) counts[k] += pipe_firings(r, which == 0, k);
    }
}

static void one_compile(WbbCx *cx, WbbArena *a, void *arg, uint32_t i, uint32_t worker)
{
    Ablation *b = arg;
    Compile *x = &b->compiles[i];
    const AblateOptions *o = b->o;
    if (!b->caches[worker]) {
        b->cache_cx[worker] = wbb_cx_new();
        if (b->cache_cx[worker]) b->caches[worker] = ll_cache_new(b->cache_cx[worker]);
    }
    const char *file = b->files->items[x->file];
    PipeOptions p = {.target = o->target,
                     .accuracy = main_accuracy(o->accuracy, o->approx),
                     .stage = PIPE_AT_PTX,
                     .assemble = o->sass,
                     .cache = b->caches[worker]};
    if (x->without) p.disable = &x->without, p.n_disable = 1;
    const RulesKernels kernels = main_rules_kernels(cx, a, &p, file, o->assume);
    for (uint32_t k = 0; k < kernels.n; k++) {
        const RulesKernel *of = &kernels.items[k];
        PipeResult r;
        pipe_compile(cx, a, &p, of->file, of->text, of->n, &r);
        add_kernel(cx, a, b, x, &r);
    }
}

/* The compiles without a rule: for each rule that is asked for, each file in which it fired; for each number or
 * strategy that is asked for, each file. */
typedef struct {
    struct { Worth *items; uint32_t n, capacity; } rules;
    struct { Compile *items; uint32_t n, capacity; } compiles;
} Round;

static Round second_round(RulesCall *c, const Ablation *b, const WbbStatus *status)
{
    Round r = {0};
    for (int which = 0; which < 2; which++) {
        const RwTables *t = main_tables(c->target, which);
        for (uint32_t i = 0; i < t->n_rules; i++) {
            if (!main_rule_is_one_of(c->arena, t, i, &b->o->rules)) continue;
            Worth w = {.tables = t, .number = i, .name = rw_rule_name(c->arena, t, i)};
            for (uint32_t f = 0; f < b->files->n; f++) {
                if (status[f] != WBB_OK || !b->counts[which][(size_t)f * t->n_rules + i]) continue;
                const Compile x = {.file = f, .without = w.name, .rule = r.rules.n};
                WBB_PUSH(c->arena, &r.compiles, x);
                w.files++;
            }
            if (w.files || b->o->rules.n) WBB_PUSH(c->arena, &r.rules, w);
        }
    }
    for (uint32_t i = 0; i < b->o->rules.n; i++) {
        const char *at = b->o->rules.items[i];
        const Worth w = {.tune = tg_tune_at(c->target, at), .strategy = tg_strategy_at(c->target, at), .name = at};
        if (!tg_is_choice(c->target, at)) continue;
        for (uint32_t f = 0; f < b->files->n; f++) {
            const Compile x = {.file = f, .without = w.name, .rule = r.rules.n};
            if (status[f] == WBB_OK) WBB_PUSH(c->arena, &r.compiles, x);
        }
        WBB_PUSH(c->arena, &r.rules, w);
    }
    return r;
}

/* The rule that saves most first, in machine instructions, then PTX, then nodes; needed rules after all others, by
 * number of files. */
static int by_worth(const void *x, const void *y)
{
    const Worth *p = x, *q = y;
    if (!p->needed != !q->needed) return !q->needed - !p->needed;
    if (p->needed && p->files != q->files) return p->files < q->files ? 1 : -1;
    for (int m = MEASURES; m-- > 0;)
        if (p->delta[m] != q->delta[m]) return p->delta[m] < q->delta[m] ? 1 : -1;
    return strcmp(p->name, q->name);
}

static const char *phase_of(const Worth *w)
{
    return w->tune ? "number" : w->strategy ? "strategy" : main_phase_name[w->tables->rules[w->number].phase];
}

static void put_worth_json(RulesCall *c, const Worth *w, int measures)
{
    WbbBuf *b = main_json_begin(c);
    wbb_json_text(b, "rule", w->name);
    wbb_json_text(b, "phase", phase_of(w));
    wbb_json_uint(b, "files", w->files);
    wbb_json_text(b, "needed", w->needed ? w->needed : "");
    for (int m = 0; m < measures && !w->needed; m++) wbb_json_int(b, measure_name[m], w->delta[m]);
    main_json_end(c, "rules-ablate.1");
}

static void put_worth(RulesCall *c, const Worth *w, int measures)
{
    const TgTune *t = w->tune;
    const char *text = t ? wbb_format(c->arena, "%s = %lld", t->name, (long long)t->value)
                       : w->strategy ? wbb_format(c->arena, "%s: %s", w->strategy->name, w->strategy->because)
                         : w->tables->rules[w->number].text;
    wbb_putf(c->out, "%6u", w->files);
    for (int m = 0; m < measures; m++) {
        if (w->needed) wbb_putf(c->out, "%8s", m ? "" : "needed");
        else if (w->files) wbb_putf(c->out, "%+8lld", (long long)w->delta[m]);
        else wbb_putf(c->out, "%8s", "-");
    }
    wbb_putf(c->out, "  %-9s %s: %s\n", phase_of(w), w->name, text);
}

static void close_caches(Ablation *b)
{
    for (int i = 0; i < WBB_POOL_THREADS; i++) {
        if (b->caches[i]) ll_cache_free(b->caches[i]);
        if (b->cache_cx[i]) wbb_cx_free(b->cache_cx[i]);
    }
}

static Worth *weigh(RulesCall *c, Ablation *b, const Compile *first, Round *r)
{
    WbbStatus *status = WBB_NEW_N(c->arena, WbbStatus, r->compiles.n + 1);
    WbbWhy *why = WBB_NEW_N(c->arena, WbbWhy, r->compiles.n + 1);
    b->compiles = r->compiles.items;
    main_each(b->o->jobs, r->compiles.n, one_compile, b, status, why);
    for (uint32_t i = 0; i < r->compiles.n; i++) {
        const Compile *x = &r->compiles.items[i];
        Worth *w = &r->rules.items[x->rule];
        if (status[i] != WBB_OK) w->needed = status[i] == WBB_DECLINED ? wbb_why_name(why[i]) : "failed";
        w->files += !w->tables && (status[i] != WBB_OK || x->code != first[x->file].code);
        for (int m = 0; m < MEASURES; m++)
            w->delta[m] += (int64_t)x->size.size[m] - (int64_t)first[x->file].size.size[m];
    }
    if (r->rules.n) qsort(r->rules.items, r->rules.n, sizeof *r->rules.items, by_worth);
    return r->rules.items;
}

static WbbStatus ablate(const Call *call)
{
    const AblateOptions *o = call->options;
    RulesCall *c = main_rules_call(call, o->target, o->json);
    for (uint32_t i = 0; i < o->rules.n; i++)
        if (!tg_is_choice(c->target, o->rules.items[i])) main_rule_must_exist(c, o->rules.items[i]);
    tg_without(c->cx, c->arena, c->target, o->rules.items, o->rules.n); /* fails where a number cannot be left out */
    if (o->sass && !tg_find_ptxas(c->cx, c->arena))
        wbb_fail(c->cx, (WbbLoc){0}, "--sass needs ptxas, which was not found");
    const Words files = main_corpus(c, &o->paths);
    Compile *first = WBB_NEW_N(c->arena, Compile, files.n);
    for (uint32_t i = 0; i < files.n; i++) first[i].file = i;
    Ablation b = {.c = c, .o = o, .files = &files, .compiles = first};
    for (int which = 0; which < 2; which++)
        b.counts[which] = WBB_NEW_N(c->arena, uint32_t, (size_t)files.n * main_tables(c->target, which)->n_rules + 1);
    WbbStatus *status = WBB_NEW_N(c->arena, WbbStatus, files.n);
    WbbWhy *why = WBB_NEW_N(c->arena, WbbWhy, files.n);
    main_each(o->jobs, files.n, one_compile, &b, status, why);
    Round r = second_round(c, &b, status);
    const Worth *worth = weigh(c, &b, first, &r);
    close_caches(&b);
    uint32_t compiled = 0, failed = 0;
    Size all = {{0}};
    for (uint32_t i = 0; i < files.n; i++) {
        compiled += status[i] == WBB_OK;
        failed += status[i] == WBB_FAILED;
        for (int m = 0; m < MEASURES && status[i] == WBB_OK; m++) all.size[m] += first[i].size.size[m];
    }
    if (!c->json) {
        wbb_putf(c->out, "%u of %u files compile: %u nodes, %u PTX instructions", compiled, files.n, all.size[NODES],
                 all.size[PTX]);
        if (o->sass) wbb_putf(c->out, ", %u machine instructions", all.size[SASS]);
        wbb_putf(c->out, ". Without the rule (needed: a file does not compile):\n files   nodes     ptx%s  rule\n",
                 o->sass ? "    sass" : "");
    }
    const int measures = o->sass ? MEASURES : SASS;
    for (uint32_t i = 0; i < r.rules.n; i++) {
        if (c->json) put_worth_json(c, &worth[i], measures);
        else put_worth(c, &worth[i], measures);
    }
    if (!c->json && r.rules.n == 0) wbb_put(c->out, "no rule fires\n");
    for (uint32_t i = 0; i < files.n; i++)
        if (status[i] == WBB_FAILED)
            wbb_note(c->cx, (WbbLoc){.file = files.items[i]}, "failed: `warpburg compile` says why; it is not weighed");
    return main_rules_end(c, failed ? WBB_FAILED : WBB_OK);
}

static const Positional positionals[] = {
    {SEVERAL("FILE.hlo|FOLDER", AblateOptions, paths, "HLO text, or a folder that is searched for .hlo files"),
     .value = VALUE_FILE},
    {0}};
static const Option options[] = {
    MAIN_OPTION_TARGET(AblateOptions),
    MAIN_OPTION_RULE(AblateOptions, "only what this rule is worth"),
    {FLAG("--sass", AblateOptions, sass, "count machine instructions too; needs ptxas")},
    MAIN_OPTION_ACCURACY(AblateOptions),
    MAIN_OPTION_ASSUME(AblateOptions),
    MAIN_OPTION_JOBS(AblateOptions, "threads", "64"),
    MAIN_OPTION_JSON(AblateOptions),
    {0}};
static const Example examples[] = {
    {"rules ablate shaderdb/corpus --rule arith.py:29", "what the rules of that line save in the corpus"}, {0}};
const Command main_rules_ablate = {
    .name = "ablate",
    .summary = "say what each rule is worth over a corpus",
    .details = "Compiles each file in which a rule fired again without it, and prints the nodes, PTX instructions and "
               "machine instructions that this adds, most worth first. A rule that nothing compiles without is needed. "
               "A number of patterns/layouts.py or a row of patterns/strategies.py is weighed where --rule names its "
               "line: over the files whose code it changes.",
    .positionals = positionals,
    .options = options,
    .examples = examples,
    .size = sizeof(AblateOptions),
    .run = ablate,
};
