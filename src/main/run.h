/* run.h: what `run` takes and prints, for both executables.
 *
 *     const RunOptions *o = call->options;
 *     PipeRun run = main_run_options(cx, o);
 *     return main_verdict(call->arena, o, o->file, &verdict);
 */
#ifndef MAIN_RUN_H
#define MAIN_RUN_H

#include "main/main.h"
#include "pipe/judge.h"

typedef struct {
    const char *file; /* HLO text or a bundle */
    /* a run */
    const char *on, *output, *which, *order;
    Words inputs;
    int64_t repeat, seed, blocks, jobs;
    bool check, approx, ulp_noise, counts, time, json;
    /* PTX of another compiler */
    const char *ptx, *grid, *block;
    int64_t shared, padding;
    /* compiling first: the executable with a compiler */
    const char *target, *layout;
    Words disable;
    int64_t align;
    bool lines;
} RunOptions;

/* run.c */
extern const Option main_run_table[]; /* all but what compiles first */
PipeRun main_run_options(WbbCx *cx, const RunOptions *o);
WbbStatus main_run_without_compiling(const Call *call); /* a bundle, or --ptx */
/* Prints; WBB_CHECK if something was found. */
WbbStatus main_verdict(WbbArena *a, const RunOptions *o, const char *name, const PipeVerdict *v);

/* counts.c: as lines; as a JSON object under `key`. */
void main_put_counts(WbbBuf *b, const SimCounts *c);
void main_put_counts_json(WbbBuf *b, const char *key, const SimCounts *c);

#endif
