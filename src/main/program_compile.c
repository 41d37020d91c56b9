/* program_compile.c: the kernels of a program, compiled.
 *
 * Needs a program's folder, or the HLO text of a module. Leaves what `run` and `compile` print of programs.
 *
 *     warpburg run model.hlo --check     cut, each kernel compiled when its first step comes, run and judged
 */
#include "main/program_compile.h"

#include "llvm/llvm.h"
#include "program/costs.h"

#include <string.h>

typedef struct {
    const ProgModule *p;
    const RunOptions *o;
    LlCache *cache;
    WbbStore *store;
} Compiler;

int main_backend(const char *name)
{
    if (!name) return PIPE_BY_DEFAULT;
    return !strcmp(name, "ptx") ? PIPE_BY_PTX : !strcmp(name, "either") ? PIPE_BY_EITHER : PIPE_BY_LLVM;
}

WbbStore *main_store(WbbCx *cx, bool no_cache)
{
    return no_cache ? NULL : wbb_store_open(cx, cx->arena, wbb_cache_folder(cx->arena), 0);
}

bool main_is_optimised(const HloModule *m) { return strstr(m->attributes, "is_scheduled=true") != NULL; }

void main_note_optimised(WbbCx *cx, const HloModule *m, const char *file, const char *command)
{
    if (main_is_optimised(m))
        wbb_note(cx, (WbbLoc){.file = file}, "XLA's passes have optimised this module: %s--like xla keeps its cut",
                 command);
}

typedef struct {
    const char *file;
    bool is;
} Look;

static void look(WbbCx *cx, void *arg)
{
    Look *l = arg;
    WbbArena *a = wbb_arena_new(cx);
    size_t n;
    const char *text = wbb_read_file(cx, a, l->file, &n);
    l->is = fuse_is_plan(a, text, n);
    wbb_arena_free(a);
}

bool main_is_module_plan(WbbCx *cx, const char *file)
{
    Look l = {.file = file};
    return file && wbb_quietly(cx, look, &l) && l.is;
}

static PipeModule module_of(WbbCx *cx, WbbArena *a, const char *file, const ProgramCut *cut, WbbStore *store,
                            const char **text)
{
    size_t n;
    *text = main_read_hlo(cx, a, file, cut->assume, &n);
    const PipeModuleOptions how = {.target = cut->target, .by = pipe_cut_named(cut->plan ? NULL : cut->how),
                                   .plan = cut->plan, .kernels = cut->kernels, .disable = cut->disable.items,
                                   .n_disable = cut->disable.n, .store = store};
    return pipe_module(cx, a, &how, file, *text, n);
}

void main_put_plan(WbbCx *cx, WbbArena *a, WbbBuf *out, const PipeModule *m)
{
    FuseHow how = m->how;
    how.plan = out;
    fuse_parts(cx, a, m->module, &how);
    pipe_module_end(m, a);
}

void main_put_plan_of(WbbCx *cx, WbbArena *a, WbbBuf *out, const char *file, const ProgramCut *cut, WbbStore *store)
{
    const char *text;
    const PipeModule m = module_of(cx, a, file, cut, store, &text);
    main_put_plan(cx, a, out, &m);
}

ProgModule *main_program_of(WbbCx *cx, WbbArena *a, const char *file, const ProgramCut *cut, WbbStore *store)
{
    if (prog_is_folder(file)) {
        if (cut->plan)
            wbb_fail(cx, (WbbLoc){.file = cut->plan}, "a plan says how a module is cut, and %s is a program", file);
        return prog_read(cx, a, file);
    }
    const char *text;
    const PipeModule m = module_of(cx, a, file, cut, store, &text);
    main_note_optimised(cx, m.module, file, "fuse ");
    ProgModule *p = prog_build(cx, a, m.module, &m.how);
    pipe_module_end(&m, a);
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
                           .deterministic = o->deterministic, .backend = (PipeBackend)main_backend(o->backend),
                           .align = (uint32_t)o->align, .lines = o->lines, .disable = o->disable.items,
                           .n_disable = o->disable.n, .stage = PIPE_AT_PTX, .cache = c->cache,
                           .store = c->store, .comments = o->check && !o->lines, .plan = s->plan};
    const size_t n = strlen(s->text);
    const PipeMade m = pipe_make(cx, a, &p, s->file, s->text, n);
    Bundle *b = WBB_NEW(a, Bundle);
    *b = *m.bundle;
    if (p.comments) b->ptx = m.emitted;
    return (ProgKernel){.bundle = b, .module = m.module ? m.module : hlo_parse(cx, a, s->file, s->text, n)};
}

/* --- compile ------------------------------------------------------------------------------------------------------ */
typedef struct {
    const ProgModule *p;
    const PipeOptions *o;
    const ProgText *k;
    WbbBuf *out;
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
    PipeOptions o = *k->o;
    o.plan = k->k->s->plan;
    const PipeMade m = pipe_make(cx, a, &o, k->k->s->file, k->k->s->text, strlen(k->k->s->text));
    if (folder) bd_write(cx, m.bundle, folder);
    put_launches(k->out, k->k, m.bundle);
    wbb_arena_free(a);
}

WbbStatus main_compile_program(WbbCx *cx, ProgModule *p, const char *name, const PipeOptions *o, const char *output,
                               WbbBuf *out)
{
    WbbArena *a = wbb_arena_new(cx);
    if (!p->folder) prog_check_calls(cx, p); /* one that `fuse` wrote may have calls for others to make */
    if (output) prog_write(cx, p, output);
    uint32_t n;
    const ProgText *texts = prog_texts(a, p, PROG_OF_KERNELS, &n);
    wbb_putf(out, "%s: a program for %s: ", name, o->target);
    prog_summary(out, p);
    wbb_put(out, "\n");
    WbbStatus worst = WBB_OK;
    for (uint32_t k = 0; k < n; k++) {
        Kernel kernel = {.p = p, .o = o, .k = &texts[k], .out = out};
        const WbbStatus s = wbb_guard(cx, compile_one, &kernel);
        if (s != WBB_OK && (worst == WBB_OK || s == WBB_FAILED)) worst = s;
    }
    wbb_arena_free(a);
    return worst;
}

WbbStatus main_run_whole(const Call *call)
{
    const RunOptions *o = call->options;
    Compiler c = {.o = o, .store = main_store(call->cx, o->no_cache)};
    const ProgramCut cut = MAIN_PROGRAM_CUT(o);
    c.p = main_program_of(call->cx, call->arena, o->file, &cut, c.store);
    c.cache = ll_cache_new(call->cx);
    const WbbStatus s = main_run_program(call, c.p, o->file, compiled, &c);
    wbb_store_close(call->cx, c.store);
    ll_cache_free(c.cache);
    return s;
}
