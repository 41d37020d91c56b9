/* program_compile.c: the kernels of a program, compiled.
 *
 * Needs a program's folder, or the HLO text of a module. Leaves what `run` and `compile` print of programs.
 *
 *     warpburg run model.hlo --check     cut, each kernel compiled when its first step comes, run and judged
 */
#include "main/program_compile.h"

#include "llvm/llvm.h"
#include "program/costs.h"

#include <stdio.h>
#include <string.h>

typedef struct {
    const ProgModule *p;
    const RunOptions *o;
    LlCache *cache;
} Compiler;

ProgModule *main_program_of(WbbCx *cx, WbbArena *a, const char *file, const char *cut, const char *target)
{
    if (prog_is_folder(file)) return prog_read(cx, a, file);
    size_t n;
    const char *text = wbb_read_file(cx, a, file, &n);
    const FuseHow plain = {.mode = FUSE_PLAIN};
    const FuseHow *how = !strcmp(cut, "plain") ? &plain : &pipe_fuse(cx, a, tg_find(target))->how;
    ProgModule *p = prog_build(cx, a, hlo_normalise(cx, a, hlo_parse(cx, a, file, text, n)), how);
    p->source = text;
    return p;
}

static ProgKernel compiled(WbbCx *cx, WbbArena *a, void *arg, const ProgStep *s)
{
    const Compiler *c = arg;
    const RunOptions *o = c->o;
    const char *folder = main_bundle_folder(a, c->p, s);
    if (folder && prog_has_bundle(folder)) {
        const ProgKernel k = main_compiled_kernel(cx, a, c->p, s, folder);
        if (!strcmp(k.bundle->target, o->target)) return k;
    }
    const PipeOptions p = {.target = o->target, .accuracy = main_accuracy(o->accuracy, o->approx),
                           .deterministic = o->deterministic,
                           .align = (uint32_t)o->align, .lines = o->lines, .disable = o->disable.items,
                           .n_disable = o->disable.n, .stage = PIPE_AT_PTX, .cache = c->cache,
                           .comments = o->check && !o->lines};
    PipeResult r;
    pipe_compile(cx, a, &p, s->file, s->text, strlen(s->text), &r);
    Bundle *b = WBB_NEW(a, Bundle);
    *b = *r.bundle;
    if (p.comments) b->ptx = r.emitted;
    return (ProgKernel){.bundle = b, .module = r.module};
}

/* --- compile ------------------------------------------------------------------------------------------------------ */
typedef struct {
    const ProgModule *p;
    const PipeOptions *o;
    const ProgText *k;
} Kernel;

static void put_launches(WbbBuf *b, const ProgText *k, const Bundle *bundle)
{
    wbb_putf(b, "  %s: %u step%s, ", k->s->file, k->steps, k->steps == 1 ? "" : "s");
    for (int i = 0; i < bundle->n_launches; i++) {
        const BdLaunch *l = &bundle->launches[i];
        wbb_putf(b, "%s%u x %u", i ? " and " : "", l->grid[0] * l->grid[1] * l->grid[2],
                 l->block[0] * l->block[1] * l->block[2]);
    }
    wbb_put(b, bundle->n_launches ? " threads\n" : "nothing to launch\n");
}

static void compile_one(WbbCx *cx, void *arg)
{
    const Kernel *k = arg;
    WbbArena *a = wbb_arena_new(cx);
    wbb_come_from(cx, &k->k->s->from);
    const char *folder = main_bundle_folder(a, k->p, k->k->s);
    PipeResult r;
    pipe_compile(cx, a, k->o, k->k->s->file, k->k->s->text, strlen(k->k->s->text), &r);
    if (folder) bd_write(cx, r.bundle, folder);
    WbbBuf b = wbb_buf(a);
    put_launches(&b, k->k, r.bundle);
    fputs(b.text, stdout);
    wbb_arena_free(a);
}

WbbStatus main_compile_program(WbbCx *cx, ProgModule *p, const char *name, const PipeOptions *o, const char *output)
{
    WbbArena *a = wbb_arena_new(cx);
    if (!p->folder) prog_check_calls(cx, p); /* one that `fuse` wrote may have calls for others to make */
    if (output) prog_write(cx, p, output);
    uint32_t n;
    const ProgText *texts = prog_texts(a, p, false, &n);
    WbbBuf b = wbb_buf(a);
    wbb_putf(&b, "%s: a program for %s: ", name, o->target);
    prog_summary(&b, p);
    puts(b.text);
    WbbStatus worst = WBB_OK;
    for (uint32_t k = 0; k < n; k++) {
        Kernel kernel = {.p = p, .o = o, .k = &texts[k]};
        const WbbStatus s = wbb_guard(cx, compile_one, &kernel);
        if (s != WBB_OK && (worst == WBB_OK || s == WBB_FAILED)) worst = s;
    }
    wbb_arena_free(a);
    return worst;
}

WbbStatus main_run_whole(const Call *call)
{
    const RunOptions *o = call->options;
    Compiler c = {.p = main_program_of(call->cx, call->arena, o->file, o->cut, o->target), .o = o,
                  .cache = ll_cache_new(call->cx)};
    const WbbStatus s = main_run_program(call, c.p, o->file, compiled, &c);
    ll_cache_free(c.cache);
    return s;
}
