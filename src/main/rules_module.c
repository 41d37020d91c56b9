/* rules_module.c: the kernels that a text becomes, as `compile` makes them: its own, or those of the program that it is
 * cut into, where it is several kernels.
 *
 * Needs a text and how it is compiled. Leaves texts of kernels, each of which is compiled by itself.
 *
 *     a fusion             itself
 *     softmax of a model   the kernels that are in the plan of the module, each once
 */
#include "main/rules.h"

#include "main/program_compile.h"
#include "program/costs.h"

#include <string.h>

typedef struct {
    const PipeOptions *o;
    const char *file, *text;
    size_t n;
} Text;

static void plan(WbbCx *cx, void *arg)
{
    const Text *t = arg;
    WbbArena *a = wbb_arena_new(cx);
    PipeOptions o = *t->o;
    PipeResult r;
    o.stage = PIPE_AT_PLAN;
    pipe_compile(cx, a, &o, t->file, t->text, t->n, &r);
    wbb_arena_free(a);
}

/* The row at 'module' that makes it several is kept in *row; NULL: none does, or one kernel is not possible. */
static bool is_program(WbbCx *cx, const Text *t, const TgStrategy **row)
{
    const ProgKind kind = prog_kind(t->file, t->text, t->n);
    *row = NULL;
    if (kind == PROG_FUSIONS) return true;
    *row = pipe_better_apart(cx, t->o, t->file, t->text, t->n, NULL);
    if (*row) return true;
    return kind != PROG_SINGLE && !wbb_aside(cx, plan, (void *)t);
}

RulesKernels main_rules_kernels(WbbCx *cx, WbbArena *a, const PipeOptions *o, const char *file, const char *assume)
{
    size_t n;
    const char *text = main_read_hlo(cx, a, file, assume, &n);
    const Text t = {o, file, text, n};
    RulesKernels k = {.items = WBB_NEW(a, RulesKernel), .n = 1};
    if (!is_program(cx, &t, &k.row)) {
        k.items[0] = (RulesKernel){file, text, n};
        return k;
    }
    const PipeModuleOptions how = {.target = o->target, .accuracy = o->accuracy, .disable = o->disable,
                                   .n_disable = o->n_disable, .kernels = {.flush = o->accuracy != SC_EXACT}};
    PipeModule m = pipe_module(cx, a, &how, file, text, n);
    WbbBuf plan = wbb_buf(a);
    m.how.plan = &plan, m.how.taken = k.edges;
    const ProgModule *p = prog_build(cx, a, m.module, &m.how);
    const ProgText *texts = prog_texts(a, p, PROG_OF_KERNELS, &k.n);
    k.items = WBB_NEW_N(a, RulesKernel, k.n + 1), k.plan = plan.text;
    for (uint32_t i = 0; i < k.n; i++)
        k.items[i] = (RulesKernel){texts[i].s->file, texts[i].s->text, strlen(texts[i].s->text)};
    return k;
}
