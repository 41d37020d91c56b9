/* stats.h: the parts of `warpburg stats`: stats.c finds the files and sorts the lines, stats_pool.c runs the processes,
 * stats_work.c is what one process does. */
#ifndef MAIN_STATS_H
#define MAIN_STATS_H

#include "main/main.h"
#include "report/stats.h"

enum { STATS_MAX_JOBS = 64, STATS_MAX_TARGETS = 16 };

typedef struct {
    Words files, targets, disable;
    const char *files_from, *output, *cache, *accuracy, *assume;
    int64_t cache_limit, align, jobs, profile;
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

/* Where a process is in its work. */
typedef struct {
    uint32_t file, part, target; /* from 1; 0: before the first */
} StatsPosition;
#define STATS_BATCH UINT32_MAX /* `part` while a batch is assembled: any of its kernels */

/* A position at which a process ended, and how. It gets a record that says so; no process tries it again. */
typedef struct {
    StatsPosition position;
    const char *why;
} StatsBad;

/* stats_work.c: the work of one process: writes the records of files to `fd`, one a line:
 * "FILE\tKERNEL\tTARGET\t{..}\n". */
typedef struct {
    const StatsCall *call;
    const StatsBad *bad;
    uint32_t n_bad;
    const bool *careful; /* assemble each kernel alone, so that the position of a crash is that of one kernel */
    volatile StatsPosition *now; /* set before each step */
    bool (*next)(void *arg, uint32_t *file); /* the next file; false: there is none */
    void (*done)(void *arg, uint32_t file);  /* all records of the file are written */
    void *arg;
    int fd;
} StatsWork;
void main_stats_work(WbbCx *cx, const StatsWork *w);

/* stats_pool.c: all lines of all files, in no order, by -j processes. A process that dies costs one record. */
const char *main_stats_pool(WbbCx *cx, WbbArena *a, const StatsCall *call);

#endif
