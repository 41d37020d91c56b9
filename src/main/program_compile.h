/* program_compile.h: programs whose kernels are compiled here.
 *
 *     if (main_is_program(file, text, n, false)) return main_compile_program(cx, p, file, &options, "out");
 */
#ifndef MAIN_PROGRAM_COMPILE_H
#define MAIN_PROGRAM_COMPILE_H

#include "main/program.h"
#include "pipe/pipe.h"

/* program_compile.c */
/* Is the text a program: does its entry have several fusions? `declined`: or has it none, and operations of which not
 * all are of one kernel, which is how the plain cut has it? */
bool main_is_program(const char *file, const char *text, size_t n, bool declined);
/* The program of a folder, or of a module's text, cut as `cut` says, "plain" or "priced". */
ProgModule *main_program_of(WbbCx *cx, WbbArena *a, const char *file, const char *cut, const char *target);
/* Compiles each kernel, prints what it is, and writes all to `output` (NULL: nowhere), bundles included; those of a
 * program that was read go into its folder. Goes on after a declined kernel. */
WbbStatus main_compile_program(WbbCx *cx, ProgModule *p, const char *name, const PipeOptions *o, const char *output);
/* `run` of a program's folder or a module's text. */
WbbStatus main_run_whole(const Call *call);
/* Steps of one text, of all computations. */
typedef struct {
    const ProgStep *s; /* the first one */
    uint32_t times;    /* steps that have it */
} MainStepText;
MainStepText *main_step_texts(WbbArena *a, const ProgModule *p, ProgStepKind kind, uint32_t *n);

/* program_profile.c: `run --profile` of a program. */
WbbStatus main_profile_program(const Call *call);

#endif
