/* program_profile.c: `run --profile` of a program: the modelled time of all its kernels.
 *
 * Needs a program's folder or a module's text. Each text of a kernel is compiled and profiled by itself, on made
 * inputs; leaves the sum over the steps, launches included, and the kernels that cost most. Library calls have no time
 * here, and the body of a loop counts once.
 *
 *     warpburg run model.hlo --profile --blocks 12
 */
#include "main/program_compile.h"

#include "llvm/llvm.h"
#include "pipe/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COSTLIEST = 5 };

typedef struct {
    const MainStepText *k;
    double seconds, launch; /* of one run of all its launches */
    uint32_t launches;
    const char *binds;
    const char *refused;    /* NULL: it was profiled */
} Cost;

typedef struct {
    const Call *call;
    WbbArena *arena;
    LlCache *cache;
    Cost *c;
} Job;

/* One kernel in an arena of its own. */
static void profile_one(WbbCx *cx, void *arg)
{
    Job *j = arg;
    const RunOptions *o = j->call->options;
    const ProgStep *s = j->c->k->s;
    WbbArena *a = wbb_arena_new(cx);
    wbb_arena_limit(a, MAIN_MEMORY);
    const PipeOptions p = {.target = o->target, .accuracy = main_accuracy(o->accuracy, o->approx),
                           .align = (uint32_t)o->align, .disable = o->disable.items, .n_disable = o->disable.n,
                           .stage = PIPE_AT_PTX, .cache = j->cache};
    PipeResult r;
    pipe_compile(cx, a, &p, s->file, s->text, strlen(s->text), &r);
    PipeRun run = main_run_options(cx, o);
    run.output_dir = NULL;
    run.check = false;
    run.inputs = NULL, run.n_inputs = 0;
    bool whole = r.bundle->n_launches != 1; /* a sample of blocks is one of a single launch without tickets */
    for (int i = 0; i < r.bundle->n_buffers; i++) whole |= r.bundle->buffers[i].init == BD_INIT_TICKET;
    if (whole || (r.bundle->n_launches && run.blocks >= r.bundle->launches[0].grid[0])) run.blocks = 0;
    PipeProfile f = {.name = s->file, .bundle = r.bundle};
    pipe_profile(cx, a, r.module, &run, false, &f);
    if (f.verdict.report.n_faults) wbb_fail(cx, (WbbLoc){.file = s->file}, "fault: %s", f.verdict.report.faults[0]);
    j->c->launches = (uint32_t)r.bundle->n_launches;
    j->c->seconds = f.seconds;
    for (int i = 0; i < r.bundle->n_launches; i++) j->c->launch += f.reports[i].launch;
    j->c->binds = r.bundle->n_launches ? wbb_format(j->arena, "%s", pipe_profile_binds(&f)) : "nothing";
    wbb_arena_free(a);
}

static double total(const Cost *c) { return c->seconds * c->k->times; }

static int costliest_first(const void *x, const void *y)
{
    const double a = total(x), b = total(y);
    return a > b ? -1 : a < b ? 1 : strcmp(((const Cost *)x)->k->s->file, ((const Cost *)y)->k->s->file);
}

typedef struct {
    double seconds, launch;
    uint32_t kernels, launches, library, loops, refused;
} Sum;

static Sum sum_of(const ProgModule *p, const Cost *costs, uint32_t n)
{
    Sum s = {0};
    for (uint32_t k = 0; k < n; k++) {
        const Cost *c = &costs[k];
        s.seconds += total(c);
        s.launch += c->launch * c->k->times;
        s.kernels += c->k->times;
        s.launches += c->launches * c->k->times;
        s.refused += c->refused ? c->k->times : 0;
    }
    for (uint32_t i = 0; i < p->n; i++)
        for (uint32_t k = 0; k < p->computations[i].n_steps; k++) {
            s.library += p->computations[i].steps[k].kind == PROG_LIBRARY;
            s.loops += p->computations[i].steps[k].kind == PROG_LOOP;
        }
    return s;
}

static void put_text(WbbBuf *b, const char *name, const char *target, const Sum *s, const Cost *costs, uint32_t n)
{
    wbb_putf(b, "%s: %.2f us on %s: %u kernels in %u launches, %.2f us of it to launch them", name, s->seconds * 1e6,
             target, s->kernels, s->launches, s->launch * 1e6);
    if (s->library) wbb_putf(b, "; %u library calls are not in it", s->library);
    if (s->loops) wbb_putf(b, "; the body of each of %u loops counts once", s->loops);
    if (s->refused) wbb_putf(b, "; %u kernels are not compiled, and not in it", s->refused);
    wbb_putf(b, "\n%8s %10s %6s  %-40s %s\n", "share", "us", "times", "kernel", "bound by");
    for (uint32_t k = 0; k < n && k < COSTLIEST && !costs[k].refused; k++)
        wbb_putf(b, "%7.1f%% %10.2f %6u  %-40s %s\n", s->seconds > 0 ? 100 * total(&costs[k]) / s->seconds : 0,
                 costs[k].seconds * 1e6, costs[k].k->times, costs[k].k->s->file, costs[k].binds);
}

static void put_json(WbbBuf *b, const char *name, const char *target, const Sum *s, const Cost *costs, uint32_t n)
{
    wbb_json_open(b, NULL, '{');
    wbb_json_text(b, "file", name);
    wbb_json_text(b, "target", target);
    wbb_json_putf(b, "seconds", "%.9g", s->seconds);
    wbb_json_putf(b, "launch", "%.9g", s->launch);
    wbb_json_uint(b, "kernels", s->kernels);
    wbb_json_uint(b, "launches", s->launches);
    wbb_json_uint(b, "library", s->library);
    wbb_json_uint(b, "loops", s->loops);
    wbb_json_uint(b, "refused", s->refused);
    wbb_json_open(b, "costs", '[');
    for (uint32_t k = 0; k < n; k++) {
        wbb_json_open(b, NULL, '{');
        wbb_json_text(b, "file", costs[k].k->s->file);
        wbb_json_text(b, "name", costs[k].k->s->name);
        wbb_json_uint(b, "times", costs[k].k->times);
        wbb_json_uint(b, "launches", costs[k].launches);
        wbb_json_putf(b, "seconds", "%.9g", costs[k].seconds);
        wbb_json_text(b, "binds", costs[k].binds);
        wbb_json_text(b, "refused", costs[k].refused);
        wbb_json_close(b, '}');
    }
    wbb_json_close(b, ']');
    wbb_json_close(b, '}');
    wbb_put(b, "\n");
}

WbbStatus main_profile_program(const Call *call)
{
    WbbCx *cx = call->cx;
    WbbArena *a = call->arena;
    const RunOptions *o = call->options;
    if (o->against.n || o->html)
        wbb_fail(cx, (WbbLoc){.file = o->file}, "--against and --html are about one kernel, and this is a program");
    const ProgModule *p = main_program_of(cx, a, o->file, o->cut, o->target);
    uint32_t n;
    const MainStepText *texts = main_step_texts(a, p, PROG_KERNEL, &n);
    Cost *costs = WBB_NEW_N(a, Cost, n + 1);
    LlCache *cache = ll_cache_new(cx);
    WbbStatus worst = WBB_OK;
    for (uint32_t k = 0; k < n; k++) {
        costs[k].k = &texts[k];
        Job j = {.call = call, .arena = a, .cache = cache, .c = &costs[k]};
        const WbbStatus s = wbb_guard(cx, profile_one, &j);
        if (s == WBB_OK) continue;
        costs[k] = (Cost){.k = &texts[k], .refused = s == WBB_DECLINED ? wbb_why_name(cx->why) : "failed"};
        if (worst == WBB_OK || s == WBB_FAILED) worst = s;
    }
    ll_cache_free(cache);
    const Sum s = sum_of(p, costs, n);
    qsort(costs, n, sizeof *costs, costliest_first);
    WbbBuf b = wbb_buf(a);
    if (o->json) put_json(&b, o->file, o->target, &s, costs, n);
    else put_text(&b, o->file, o->target, &s, costs, n);
    fputs(b.text, stdout);
    return worst;
}
