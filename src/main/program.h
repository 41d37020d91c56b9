/* program.h: what `run` and `compile` do with programs.
 *
 *     if (prog_is_folder(o->file)) return main_run_program(call, p, o->file, compile_step, &compiler);
 */
#ifndef MAIN_PROGRAM_H
#define MAIN_PROGRAM_H

#include "main/run.h"
#include "program/run.h"

typedef ProgKernel MainKernel(WbbCx *cx, WbbArena *a, void *arg, const ProgStep *s);

/* program.c: runs, judges, prints. `call` is one of `run`; `kernel` gives a step's kernel. */
WbbStatus main_run_program(const Call *call, const ProgModule *p, const char *name, MainKernel *kernel, void *arg);
bool main_is_about_kernel(const RunOptions *o); /* does an option ask something of a single kernel? */
WbbStatus main_run_compiled_program(const Call *call); /* a folder, whose kernels are compiled */
/* The folder that has, or would have, the bundle of a step; NULL: the program is in no folder. */
const char *main_bundle_folder(WbbArena *a, const ProgModule *p, const ProgStep *s);
ProgKernel main_compiled_kernel(WbbCx *cx, WbbArena *a, const ProgModule *p, const ProgStep *s, const char *folder);

#endif
