/* main: the command line. One file a command; options are one table in options.c. */
#ifndef MAIN_MAIN_H
#define MAIN_MAIN_H

#include "base/base.h"

enum { MAIN_MAX_LIST = 4096 };

typedef struct {
    const char *list[MAIN_MAX_LIST];
    uint32_t n;
} Words;

typedef struct {
    Words files, inputs, disable, lets, rules, targets;
    const char *target, *emit, *output, *print_after, *on, *which, *pass, *at, *phase, *from, *patterns, *ptx, *grid, *block, *err, *op, *compose, *hlo, *to, *cache, *files_from;
    int64_t align, repeat, seed, blocks, order, samples, jobs, shared, padding, perturb, cache_limit;
    bool json, approx, trace, explain, time, lines, check, ulp_noise, f64, bounds, has_order, counts, help, flat, sass, normalise, enumerate, uses, physical, inverse, bijection, listing;
} Options;

/* options.c: false after a message on stderr: usage. */
bool main_options(Options *o, int argc, char **argv);

/* run.c, eval.c: no compiler needed. compile.c, ir.c, rules.c: the whole of it. Each prints its results on stdout; failures and
 * declines go the way of base.h. Exit status of what did not fail. */
WbbStatus main_run_bundle(WbbCx *cx, WbbArena *a, const Options *o);
WbbStatus main_eval(WbbCx *cx, WbbArena *a, const Options *o);
WbbStatus main_hlo(WbbCx *cx, WbbArena *a, const Options *o);
WbbStatus main_fuse(WbbCx *cx, WbbArena *a, const Options *o);
WbbStatus main_compile(WbbCx *cx, WbbArena *a, const Options *o);
WbbStatus main_run(WbbCx *cx, WbbArena *a, const Options *o);
WbbStatus main_ir(WbbCx *cx, WbbArena *a, const Options *o);
WbbStatus main_map(WbbCx *cx, WbbArena *a, const Options *o);
WbbStatus main_map_hlo(WbbCx *cx, WbbArena *a, const Options *o);
WbbStatus main_rules(WbbCx *cx, WbbArena *a, const Options *o);
WbbStatus main_stats(WbbCx *cx, WbbArena *a, const Options *o);

/* dispatch.c: run one command of a table; prints messages; the exit status of the process. */
typedef struct {
    const char *name, *usage;
    WbbStatus (*run)(WbbCx *cx, WbbArena *a, const Options *o);
} Command;
int main_dispatch(const char *program, const Command *commands, size_t n, int argc, char **argv);

#endif
