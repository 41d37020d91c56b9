/* rules_corpus.c: the files of a corpus, and tasks over them on several threads.
 *
 * Needs files and folders as the command line names them. Leaves the files, those of each folder in order of name; of
 * tasks their status and, if they declined, the reason.
 *
 *     Words f = main_corpus(c, &o->paths);
 *     main_each(o->jobs, f.n, one_file, &my, status, why);
 */
#include "main/rules.h"

Words main_corpus(RulesCall *c, const Words *words)
{
    for (uint32_t i = 0; i < words->n; i++)
        if (!wbb_file_exists(words->items[i]))
            wbb_fail(c->cx, (WbbLoc){0}, "%s: no such file or folder", words->items[i]);
    return main_files(c->cx, c->arena, words, false);
}

typedef struct {
    RulesTask task;
    void *arg;
    WbbStatus *status;
    WbbWhy *why;
} Tasks;

typedef struct {
    const Tasks *tasks;
    uint32_t number, at;
    WbbArena *arena;
} Worker;

static void guarded(WbbCx *cx, void *arg)
{
    const Worker *w = arg;
    w->tasks->task(cx, w->arena, w->tasks->arg, w->at, w->number);
}

/* A task with a context of its own. */
static void one_task(const Tasks *t, uint32_t at, uint32_t number)
{
    WbbCx *cx = wbb_cx_new();
    t->status[at] = WBB_FAILED;
    if (!cx) return;
    Worker w = {.tasks = t, .number = number, .at = at, .arena = wbb_arena_new(cx)};
    t->status[at] = wbb_guard(cx, guarded, &w);
    t->why[at] = cx->why;
    wbb_cx_free(cx);
}

static void work(WbbPool *pool, void *arg, uint32_t number)
{
    for (uint64_t at, end; wbb_pool_take(pool, &at, &end);)
        for (; at < end; at++) one_task(arg, (uint32_t)at, number);
}

void main_each(int64_t jobs, uint32_t n, RulesTask task, void *arg, WbbStatus *status, WbbWhy *why)
{
    Tasks t = {.task = task, .arg = arg, .status = status, .why = why};
    wbb_pool_run(wbb_pool_threads(jobs, n), n, 1, work, &t);
}
