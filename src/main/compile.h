/* compile.h: what the files of `compile` share. */
#ifndef MAIN_COMPILE_H
#define MAIN_COMPILE_H

#include "main/program_compile.h"

typedef struct {
    Words files, disable;
    const char *target, *emit, *output, *print_after, *layout, *plan, *accuracy, *assume, *cut, *backend;
    int64_t align, jobs;
    bool approx, deterministic, lines, trace, explain, bijection, time, json, no_cache;
} CompileOptions;

/* What a worker has for all its files. */
typedef struct {
    struct LlCache *cache;
    WbbStore *store;
} CompileTools;

/* A file, and what compiling it leaves. */
typedef struct {
    const CompileOptions *o;
    const char *file, *output; /* output: where the bundle is written; NULL: nowhere */
    const CompileTools *tools;
    WbbBuf *out; /* what goes to stdout */
    bool module; /* of several operations: a program, if no single kernel computes it */
    WbbStatus status;
} CompileFile;

/* compile.c: the file, as one kernel or a program. */
WbbStatus main_compile_file(WbbCx *cx, CompileFile *f);

#endif
