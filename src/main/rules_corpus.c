/* rules_corpus.c: the files of a corpus, and many tasks over them at once.
 *
 *     RulesFiles f = main_corpus(c, &o->paths);         // words of the command line, folders searched through
 *     main_each(o->jobs, f.n, one_file, &my, status, why);
 */
#include "main/rules.h"

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_hlo(const char *name)
{
    const size_t n = strlen(name);
    return n > 4 && !strcmp(name + n - 4, ".hlo");
}

static int by_name(const void *x, const void *y) { return strcmp(*(const char *const *)x, *(const char *const *)y); }

static void search(RulesCall *c, RulesFiles *files, const char *folder, int depth)
{
    DIR *d = depth < 16 ? opendir(folder) : NULL;
    if (!d) return;
    for (const struct dirent *e = readdir(d); e; e = readdir(d)) {
        if (e->d_name[0] == '.') continue;
        const char *path = wbb_format(c->arena, "%s/%s", folder, e->d_name);
        if (is_hlo(e->d_name)) WBB_PUSH(c->arena, files, path);
        else if (wbb_is_dir(path)) search(c, files, path, depth + 1);
    }
    closedir(d);
}

RulesFiles main_corpus(RulesCall *c, const Words *words)
{
    RulesFiles files = {0};
    for (uint32_t i = 0; i < words->n; i++) {
        const char *word = words->items[i];
        const uint32_t before = files.n;
        if (!wbb_file_exists(word)) wbb_fail(c->cx, (WbbLoc){0}, "%s: no such file or folder", word);
        if (wbb_is_dir(word)) search(c, &files, word, 0);
        else WBB_PUSH(c->arena, &files, word);
        if (files.n == before) wbb_fail(c->cx, (WbbLoc){0}, "%s: no .hlo file in this folder", word);
        qsort(files.items + before, files.n - before, sizeof *files.items, by_name);
    }
    return files;
}

typedef struct {
    atomic_uint next;
    uint32_t n;
    RulesTask task;
    void *arg;
    WbbStatus *status;
    WbbWhy *why;
} Queue;

typedef struct {
    Queue *queue;
    uint32_t number, at;
    WbbArena *arena;
} Worker;

static void guarded(WbbCx *cx, void *arg)
{
    Worker *w = arg;
    w->queue->task(cx, w->arena, w->queue->arg, w->at, w->number);
}

static void *work(void *arg)
{
    Worker *w = arg;
    Queue *q = w->queue;
    for (;;) {
        w->at = atomic_fetch_add(&q->next, 1);
        if (w->at >= q->n) return NULL;
        WbbCx *cx = wbb_cx_new();
        q->status[w->at] = WBB_FAILED;
        if (!cx) continue;
        w->arena = wbb_arena_new(cx);
        q->status[w->at] = wbb_guard(cx, guarded, w);
        q->why[w->at] = cx->why;
        wbb_cx_free(cx);
    }
}

void main_each(int64_t asked, uint32_t n, RulesTask task, void *arg, WbbStatus *status, WbbWhy *why)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const uint32_t jobs = (uint32_t)WBB_MAX(1, WBB_MIN(WBB_MIN(asked ? asked : cores, MAIN_MAX_JOBS), (int64_t)n));
    Queue q = {.n = n, .task = task, .arg = arg, .status = status, .why = why};
    Worker workers[MAIN_MAX_JOBS];
    pthread_t threads[MAIN_MAX_JOBS];
    uint32_t started = 0;
    for (uint32_t i = 0; i < jobs; i++) workers[i] = (Worker){.queue = &q, .number = i};
    for (uint32_t i = 1; i < jobs && pthread_create(&threads[i], NULL, work, &workers[i]) == 0; i++) started = i;
    work(&workers[0]);
    for (uint32_t i = 1; i <= started; i++) pthread_join(threads[i], NULL);
}
