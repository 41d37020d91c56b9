/* run.h: what `run` takes and prints, for both executables.
 *
 *     const RunOptions *o = call->options;
 *     return main_run_seeds(call->cx, o, o->file, bundle, module);
 */
#ifndef MAIN_RUN_H
#define MAIN_RUN_H

#include "main/main.h"
#include "judge/judge.h"

typedef struct {
    Words files;
    const char *file; /* HLO text or a bundle: that of this run */
    /* a run */
    const char *on, *output, *which, *order, *accuracy, *assume, *backend;
    Words inputs;
    int64_t repeat, seed, seeds, blocks, jobs;
    bool alone, check, approx, ulp_noise, counts, time, json;
    /* PTX of another compiler */
    const char *ptx, *cubin, *grid, *block;
    bool edited;
    int64_t shared, padding;
    /* compiling first: the executable with a compiler */
    const char *target, *layout, *plan, *cut;
    Words disable;
    int64_t align;
    bool lines, deterministic, no_cache;
    /* profile.c: the executable with a compiler */
    bool profile;
    Words against;
    const char *html;
} RunOptions;

/* run.c */
extern const Option main_run_table[]; /* all but what compiles first */
WbbStatus main_run_without_compiling(const Call *call); /* a bundle, or --ptx */
/* What that runs: the bundle, or one around the PTX; its module, and the HLO text. */
const Bundle *main_run_bundle_of(WbbCx *cx, WbbArena *a, const RunOptions *o, const HloModule **m, const char **hlo);
/* Runs and judges on the values of each seed that is asked for, until one fails, and prints the last verdict; WBB_CHECK
 * if it failed. */
WbbStatus main_run_seeds(WbbCx *cx, const RunOptions *o, const char *name, const Bundle *b, const HloModule *m);

/* Calls `one` for each of the files, with options that name it. */
WbbStatus main_run_each(const Call *call, WbbStatus (*one)(const Call *call));

/* What the options ask judge_run for. */
JudgeRun main_run_options(WbbCx *cx, const RunOptions *o);
/* "128,1,1" or "128" as numbers for x, y and z; a number that is not given is 1. */
void main_read_extent(WbbCx *cx, const char *option, const char *text, uint32_t extent[3]);

/* counts.c: as lines; as a JSON object under `key`. */
void main_put_counts(WbbBuf *b, const SimCounts *c);
void main_put_counts_json(WbbBuf *b, const char *key, const SimCounts *c);

/* profile.c: `run --profile`. A bundle whose PTX has comments; `ir` may be NULL. */
WbbStatus main_run_profile(const Call *call, const char *name, const Bundle *b, const HloModule *m, const char *hlo,
                           const char *ir);

#endif
