/* stats.h: what `warpburg stats` is made of: the work of one process, and the processes. */
#ifndef MAIN_STATS_H
#define MAIN_STATS_H

#include "main/main.h"
#include "pipe/stats.h"

enum { STATS_MAX_JOBS = 64, STATS_MAX_TARGETS = 16 };

typedef struct {
    Words files, targets, disable;
    const char *files_from, *output, *cache;
    int64_t cache_limit, align, jobs;
    bool listing, approx;
} StatsOptions;

typedef struct {
    const StatsOptions *o;
    const char *const *files;
    uint32_t n_files;
    const TgTarget *targets[STATS_MAX_TARGETS];
    uint32_t n_targets;
    const char *cache; /* folder, or NULL */
    uint64_t cache_limit;
} StatsCall;

/* A place in the work; what a process was at when it died. */
typedef struct {
    uint32_t file, part, target; /* counted from 1; 0: before the first */
} StatsPlace;
#define STATS_BATCH UINT32_MAX /* part, while many kernels are assembled at once: any of them */

/* A place that ended a process, and how: its record says so, and nobody goes there again. */
typedef struct {
    StatsPlace place;
    const char *why;
} StatsBad;

/* stats_work.c: what one process does with its files. `now` is always where it is, `done` is told of each file whose records have been
 * written to `fd`: one a line, "FILE\tKERNEL\tTARGET\t{..}\n". */
typedef struct {
    const StatsCall *call;
    const StatsBad *bad;
    uint32_t n_bad;
    const bool *careful; /* assemble each kernel alone: what kills the process is then known */
    volatile StatsPlace *now;
    bool (*next)(void *arg, uint32_t *file); /* the next file; false: no more */
    void (*done)(void *arg, uint32_t file);
    void *arg;
    int fd;
} StatsWork;
void main_stats_work(WbbCx *cx, const StatsWork *w);

/* stats_pool.c: the files by -j processes; a process that dies costs the record of what it was at. All lines, in no order. */
const char *main_stats_pool(WbbCx *cx, WbbArena *a, const StatsCall *call);

#endif
