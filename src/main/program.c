/* program.c: `run PROGRAM`: a program run step by step, and what that prints.
 *
 * Needs a program, and bundles of its kernels in its folder, or a compiler for their texts. Leaves the results, a
 * verdict on stdout, and exit status 4 if anything is wrong.
 *
 *     out: 20 kernels, 6 library calls ran; 20 kernels judged: 5180 elements inside the bounds, no fault
 *     out: 224 elements of the results inside the bounds of the module, 12 ulp from f64 at most
 */
#include "main/program.h"

#include <stdio.h>
#include <string.h>

/* The first option of `run` that says something of a single kernel; NULL: there is none. */
static const char *about_kernel(const RunOptions *o)
{
    const struct {
        bool given;
        const char *text;
    } rows[] = {{*o->which == 's', "--case s"},  {*o->which == 'c', "--case c"},  {*o->which == 'd', "--case d"},
                {o->blocks != 0 && !o->profile, "--blocks"}, /* a profile takes a sample of each kernel */
                {o->seeds > 1, "--seeds"},       {o->ptx != NULL, "--ptx"},
                {o->counts, "--counts"},         {o->layout != NULL, "--layout"},
                {o->padding != 0, "--padding"}};
    for (size_t k = 0; k < WBB_LEN(rows); k++)
        if (rows[k].given) return rows[k].text;
    return NULL;
}

bool main_is_about_kernel(const RunOptions *o) { return about_kernel(o) || o->against.n; }

static void refuse_options(WbbCx *cx, const RunOptions *o)
{
    const char *about = about_kernel(o);
    if (about) wbb_fail(cx, (WbbLoc){.file = o->file}, "%s is about one kernel, and this is a program", about);
}

WbbStatus main_run_program(const Call *call, const ProgModule *p, const char *name, MainKernel *kernel, void *arg)
{
    WbbCx *cx = call->cx;
    const RunOptions *o = call->options;
    refuse_options(cx, o);
    wbb_arena_limit(call->arena, SIZE_MAX); /* prog_run compares with the machine's memory */
    ProgRun run = {.kernel = kernel, .arg = arg, .file = o->file, .made_constants = true,
                   .run = main_run_options(cx, o)};
    run.run.output_dir = NULL;
    const ProgVerdict v = prog_run(cx, call->arena, p, &run);
    if (o->output && v.n_results) judge_write_outputs(cx, call->arena, o->output, v.n_results, v.results);
    WbbBuf b = wbb_buf(call->arena);
    if (o->json) prog_put_verdict_json(&b, name, p, &v), wbb_put(&b, "\n");
    else prog_put_verdict(&b, name, &v);
    if (o->time && !o->json)
        wbb_putf(&b, "ms: run %.1f, library %.1f, judge %.1f\n", v.ms_run, v.ms_library, v.ms_judge);
    main_put_text(stdout, b.text);
    return v.first || v.whole.outside ? WBB_CHECK : WBB_OK;
}

const char *main_bundle_folder(WbbArena *a, const ProgModule *p, const ProgStep *s)
{
    return p->folder ? wbb_format(a, "%s/%.*s", p->folder, (int)(strlen(s->file) - strlen(".hlo")), s->file) : NULL;
}

/* The bundle that `compile` left for the step. */
ProgKernel main_compiled_kernel(WbbCx *cx, WbbArena *a, const ProgModule *p, const ProgStep *s, const char *folder)
{
    const Bundle *b = bd_read(cx, a, folder);
    (void)p;
    if (b->edited)
        wbb_fail(cx, (WbbLoc){.file = wbb_format(a, "%s/%s", folder, b->edited)},
                 "this is not the file whose hash kernel.json states");
    if (!b->hlo || strcmp(b->hlo, s->text))
        wbb_fail(cx, (WbbLoc){.file = folder}, "it was compiled from another text than %s", s->file);
    return (ProgKernel){.bundle = b, .module = hlo_parse(cx, a, s->file, s->text, strlen(s->text))};
}

static ProgKernel without_compiling(WbbCx *cx, WbbArena *a, void *arg, const ProgStep *s)
{
    const ProgModule *p = arg;
    const char *folder = main_bundle_folder(a, p, s);
    if (!prog_has_bundle(folder))
        wbb_fail(cx, (WbbLoc){.file = s->file},
                 "the kernel is not compiled; `warpburg compile -o` writes programs with their kernels");
    return main_compiled_kernel(cx, a, p, s, folder);
}

WbbStatus main_run_compiled_program(const Call *call)
{
    const RunOptions *o = call->options;
    ProgModule *p = prog_read(call->cx, call->arena, o->file);
    return main_run_program(call, p, o->file, without_compiling, p);
}
