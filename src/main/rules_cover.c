/* rules_cover.c: `rules cover CORPUS..`: how often each rule fires over a corpus, and which never do.
 *
 * Needs a corpus; compiles its files up to LLVM, on several threads. Leaves a table, or with --json an object a rule.
 *
 *     $ warpburg rules cover shaderdb/corpus
 *           hits  files  rule
 *             12      3  simplify  patterns/arith.py:25: neg.F(neg.F(a)) -> a
 */
#include "main/rules.h"

#include <pthread.h>
#include <string.h>

typedef struct {
    Words paths, disable;
    const char *target;
    int64_t jobs;
    const char *accuracy, *assume;
    bool approx, json;
} CoverOptions;

typedef struct {
    RulesCall *c;
    const CoverOptions *o;
    const Words *files;
    pthread_mutex_t lock;
    uint64_t *hits[2]; /* by table and rule: firings */
    uint32_t *in[2];   /* by table and rule: files with a firing */
    uint8_t *where[2]; /* by table, then rule and file: is there a firing? */
    uint64_t *taken;   /* by strategy: plans, of fusions and of their parts */
    uint32_t *taken_in; /* by strategy: files */
} Cover;

typedef struct {
    Cover *cover;
    uint32_t file;
    WbbArena *arena;
    RulesKernels kernels;
    PipeResult *results; /* [n] of those that were begun; .rw NULL: it was declined before any rule */
    uint32_t n;
} One;

typedef struct {
    const TgTarget *t;
    uint32_t *counts; /* by strategy */
} Taken;

static void count(void *arg, const TgStrategy *row)
{
    const Taken *x = arg;
    for (uint32_t i = 0; i < x->t->n_strategies; i++) x->counts[i] += x->t->strategies[i].line == row->line;
}

static void add_strategies(Cover *v, const One *one)
{
    Taken x = {v->c->target, WBB_NEW_N(one->arena, uint32_t, v->c->target->n_strategies + 1)};
    for (uint32_t k = 0; k < one->n; k++) {
        plan_visit_taken(one->results[k].plan.tried, one->results[k].plan.n_tried, count, &x);
        plan_visit_taken(one->results[k].texts, one->results[k].n_texts, count, &x);
    }
    if (one->kernels.row) count(&x, one->kernels.row);
    for (uint32_t k = 0, edge = 0; k < x.t->n_strategies; k++)
        if (x.t->strategies[k].at == TG_AT_EDGE) x.counts[k] = (uint32_t)one->kernels.edges[edge++];
    for (uint32_t i = 0; i < x.t->n_strategies; i++) {
        v->taken[i] += x.counts[i];
        v->taken_in[i] += x.counts[i] != 0;
    }
}

static void add(Cover *v, const One *one)
{
    pthread_mutex_lock(&v->lock);
    add_strategies(v, one);
    for (int which = 0; which < 2; which++)
        for (uint32_t i = 0; i < main_tables(v->c->target, which)->n_rules; i++) {
            uint32_t n = 0;
            for (uint32_t k = 0; k < one->n; k++)
                if (one->results[k].rw) n += pipe_firings(&one->results[k], which == 0, i);
            v->hits[which][i] += n;
            v->in[which][i] += n != 0;
            v->where[which][i * v->files->n + one->file] = n != 0;
        }
    pthread_mutex_unlock(&v->lock);
}

static void compile(WbbCx *cx, void *arg)
{
    One *one = arg;
    const CoverOptions *o = one->cover->o;
    const char *file = one->cover->files->items[one->file];
    const PipeOptions p = {.target = o->target,
                           .accuracy = main_accuracy(o->accuracy, o->approx),
                           .rules_only = true,
                           .disable = o->disable.items,
                           .n_disable = o->disable.n,
                           .stage = PIPE_AT_PTX};
    one->kernels = main_rules_kernels(cx, one->arena, &p, file, o->assume);
    one->results = WBB_NEW_N(one->arena, PipeResult, one->kernels.n + 1);
    for (uint32_t k = 0; k < one->kernels.n; k++) {
        const RulesKernel *of = &one->kernels.items[k];
        one->n = k + 1; /* what fired counts of one that is declined, too */
        pipe_compile(cx, one->arena, &p, of->file, of->text, of->n, &one->results[k]);
    }
}

/* Counts the firings of a file, even if it is declined. */
static void one_file(WbbCx *cx, WbbArena *a, void *arg, uint32_t i, uint32_t worker)
{
    (void)worker;
    One one = {.cover = arg, .file = i, .arena = a};
    const WbbStatus s = wbb_guard(cx, compile, &one);
    if (one.n) add(arg, &one);
    if (s != WBB_OK) wbb_rethrow(cx, s);
}

static void put_json(RulesCall *c, const Cover *v, int which, uint32_t rule)
{
    enum { EXAMPLES = 8 };
    const RwTables *t = main_tables(c->target, which);
    WbbBuf *b = main_json_begin(c);
    wbb_json_text(b, "rule", rw_rule_name(c->arena, t, rule));
    wbb_json_text(b, "phase", main_phase_name[t->rules[rule].phase]);
    wbb_json_uint(b, "hits", v->hits[which][rule]);
    wbb_json_uint(b, "files", v->in[which][rule]);
    wbb_json_open(b, "examples", '[');
    uint32_t n = 0;
    for (uint32_t i = 0; i < v->files->n && n < EXAMPLES; i++) {
        if (!v->where[which][rule * v->files->n + i]) continue;
        wbb_json_text(b, NULL, v->files->items[i]);
        n++;
    }
    wbb_json_close(b, ']');
    main_json_end(c, "rules-cover.1");
}

static void put_strategies(RulesCall *c, const Cover *v)
{
    const TgTarget *t = c->target;
    if (!c->json) wbb_put(c->out, "     plans  files  strategy\n");
    for (uint32_t i = 0; i < t->n_strategies; i++) {
        const TgStrategy *s = &t->strategies[i];
        if (!c->json) {
            wbb_putf(c->out, "%10llu %6u  %s:%u: %s: %s\n", (unsigned long long)v->taken[i], v->taken_in[i], s->file,
                     s->line, s->name, s->because);
            continue;
        }
        WbbBuf *b = main_json_begin(c);
        wbb_json_text(b, "strategy", s->name);
        wbb_json_text(b, "place", wbb_format(c->arena, "%s:%u", s->file, s->line));
        wbb_json_uint(b, "plans", v->taken[i]);
        wbb_json_uint(b, "files", v->taken_in[i]);
        main_json_end(c, "rules-cover.1");
    }
}

/* Rules that fire, in the order of their tables, then those that do not. */
static void put_table(RulesCall *c, const Cover *v, uint32_t n_files)
{
    uint32_t never = 0, all = 0;
    wbb_put(c->out, "      hits  files  rule\n");
    for (int silent = 0; silent < 2; silent++) {
        for (int which = 0; which < 2; which++) {
            const RwTables *t = main_tables(c->target, which);
            for (uint32_t i = 0; i < t->n_rules; i++) {
                const char *phase = main_phase_name[t->rules[i].phase], *name = rw_rule_name(c->arena, t, i);
                if ((v->hits[which][i] == 0) != silent) continue;
                if (silent && never++ == 0) wbb_put(c->out, "never:\n");
                all++;
                if (silent) wbb_putf(c->out, "  %-9s %s: %s\n", phase, name, t->rules[i].text);
                else
                    wbb_putf(c->out, "%10llu %6u  %-9s %s: %s\n", (unsigned long long)v->hits[which][i],
                             v->in[which][i], phase, name, t->rules[i].text);
            }
        }
    }
    wbb_putf(c->out, "%u of %u rules of %s fire over %u file%s, %u never\n", all - never, all, c->target->name, n_files,
             n_files == 1 ? "" : "s", never);
}

static WbbStatus cover(const Call *call)
{
    const CoverOptions *o = call->options;
    RulesCall *c = main_rules_call(call, o->target, o->json);
    const Words files = main_corpus(c, &o->paths);
    Cover v = {.c = c, .o = o, .files = &files, .lock = PTHREAD_MUTEX_INITIALIZER};
    for (int which = 0; which < 2; which++) {
        const uint32_t n = main_tables(c->target, which)->n_rules;
        v.hits[which] = WBB_NEW_N(c->arena, uint64_t, n + 1);
        v.in[which] = WBB_NEW_N(c->arena, uint32_t, n + 1);
        v.where[which] = WBB_NEW_N(c->arena, uint8_t, n * files.n + 1);
    }
    v.taken = WBB_NEW_N(c->arena, uint64_t, c->target->n_strategies + 1);
    v.taken_in = WBB_NEW_N(c->arena, uint32_t, c->target->n_strategies + 1);
    WbbStatus *status = WBB_NEW_N(c->arena, WbbStatus, files.n);
    WbbWhy *why = WBB_NEW_N(c->arena, WbbWhy, files.n);
    main_each(o->jobs, files.n, one_file, &v, status, why);
    for (int which = 0; which < 2 && c->json; which++)
        for (uint32_t i = 0; i < main_tables(c->target, which)->n_rules; i++) put_json(c, &v, which, i);
    if (!c->json) put_table(c, &v, files.n);
    put_strategies(c, &v);
    uint32_t declined[WHY_COUNT] = {0}, failed = 0;
    for (uint32_t i = 0; i < files.n; i++) {
        if (status[i] == WBB_DECLINED) declined[why[i]]++;
        if (status[i] == WBB_FAILED)
            failed++, wbb_note(c->cx, (WbbLoc){.file = files.items[i]}, "failed; `warpburg compile` says why");
    }
    for (int i = 0; i < WHY_COUNT; i++)
        if (declined[i]) wbb_note(c->cx, (WbbLoc){0}, "%u declined: %s", declined[i], wbb_why_name((WbbWhy)i));
    return main_rules_end(c, failed ? WBB_FAILED : WBB_OK);
}

static const Positional positionals[] = {
    {SEVERAL("FILE.hlo|FOLDER", CoverOptions, paths, "HLO text, or a folder that is searched for .hlo files"),
     .value = VALUE_FILE},
    {0}};
static const Option options[] = {
    MAIN_OPTION_TARGET(CoverOptions),
    MAIN_OPTION_ACCURACY(CoverOptions),
    MAIN_OPTION_ASSUME(CoverOptions),
    MAIN_OPTION_DISABLE(CoverOptions),
    MAIN_OPTION_JOBS(CoverOptions, "threads", "64"),
    MAIN_OPTION_JSON(CoverOptions),
    {0}};
static const Example examples[] = {{"rules cover shaderdb/corpus", "how often each rule fires over the corpus"}, {0}};
const Command main_rules_cover = {
    .name = "cover",
    .summary = "count how often each rule fires over a corpus, and each strategy is taken",
    .details = "Compiles every file as far as LLVM. A file that is declined counts with what fired until then. Of a "
               "module that becomes several kernels each one counts, and the choices of its cut.",
    .positionals = positionals,
    .options = options,
    .examples = examples,
    .size = sizeof(CoverOptions),
    .run = cover,
};
