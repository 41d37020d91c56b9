/* program_compile.h: programs whose kernels are compiled here.
 *
 *     if (prog_kind(file, text, n) == PROG_FUSIONS) return main_compile_program(cx, p, file, &options, "out");
 */
#ifndef MAIN_PROGRAM_COMPILE_H
#define MAIN_PROGRAM_COMPILE_H

#include "main/program.h"
#include "pipe/pipe.h"

/* program_compile.c */
int main_backend(const char *name); /* a PipeBackend; NULL: the default */
WbbStore *main_store(WbbCx *cx, bool no_cache); /* of the context's cache; NULL: none */
/* How a module's text is cut: `how` is "plain" or "priced"; plan: a file that says it, NULL: none; disable: strategies
 * that are left out. */
typedef struct {
    const char *how, *target, *assume, *plan;
    Words disable;
    PlanOptions kernels; /* of a plan that is printed */
} ProgramCut;
#define MAIN_PROGRAM_CUT(o)                                                                                            \
    {(o)->cut, (o)->target, (o)->assume, (o)->plan, (o)->disable,                                                      \
     {.align = (uint32_t)(o)->align, .deterministic = (o)->deterministic,                                              \
      .flush = main_accuracy((o)->accuracy, (o)->approx) != SC_EXACT}}
/* Is a file the plan of a module? One that cannot be read is none, and NULL is none. */
bool main_is_module_plan(WbbCx *cx, const char *file);
/* The plan by which a module's text becomes a program, as --emit plan prints it. */
void main_put_plan(WbbCx *cx, WbbArena *a, WbbBuf *out, const PipeModule *m);
void main_put_plan_of(WbbCx *cx, WbbArena *a, WbbBuf *out, const char *file, const ProgramCut *cut, WbbStore *store);
/* The program of a folder, or of a module's text. */
ProgModule *main_program_of(WbbCx *cx, WbbArena *a, const char *file, const ProgramCut *cut, WbbStore *store);
bool main_is_optimised(const HloModule *m); /* by XLA's passes: its header says so */
/* A note of a module that XLA has cut and that is cut anew; `command`: "fuse ", whose option keeps XLA's cut. */
void main_note_optimised(WbbCx *cx, const HloModule *m, const char *file, const char *command);
/* Compiles each kernel, puts what it is into `out`, and writes all to `output` (NULL: nowhere), bundles included; those
 * of a program that was read go into its folder. Goes on after a declined kernel. */
WbbStatus main_compile_program(WbbCx *cx, ProgModule *p, const char *name, const PipeOptions *o, const char *output,
                               WbbBuf *out);
/* `run` of a program's folder or a module's text. */
WbbStatus main_run_whole(const Call *call);

/* program_profile.c: `run --profile` of a program. */
WbbStatus main_profile_program(const Call *call);
#endif
