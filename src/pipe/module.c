/* module.c: a module on its way to a cut: parsed, in normal form for a target, and how it is cut.
 *
 * Needs HLO text and what is asked of the cut. Leaves what fuse_parts and prog_build take. Answers about kernels that
 * an earlier cut of the same text got come from a store, and those that this one got go there (pipe_module_end).
 *
 *     PipeModule m = pipe_module(cx, arena, &(PipeModuleOptions){.target = "sm_90"}, "model.hlo", text, n);
 *     ProgModule *p = prog_build(cx, arena, m.module, &m.how);
 *     pipe_module_end(&m, arena);
 */
#include "graph/graph.h"
#include "pipe/pipe.h"

#include <string.h>

static const char *const words[] = {[PIPE_CUT_PRICED] = "priced", [PIPE_CUT_PLAIN] = "plain",
                                    [PIPE_CUT_EXHAUSTIVE] = "exhaustive", [PIPE_CUT_GIVEN] = "given"};

PipeCutBy pipe_cut_named(const char *word)
{
    for (size_t k = 0; word && k < WBB_LEN(words); k++)
        if (!strcmp(words[k], word)) return (PipeCutBy)k;
    return PIPE_CUT_PRICED;
}

const HloModule *pipe_normalise(WbbCx *cx, WbbArena *a, const HloModule *m, RwCx *with)
{
    return gr_note_neighbours(cx, a, gr_normalise(cx, a, m, with));
}

/* What the text of a plan says of the prepared module. */
static void follow(WbbCx *cx, WbbArena *a, PipeModule *m, const char *file)
{
    const WbbSource text = wbb_read_source(cx, a, file);
    uint32_t n;
    m->how.mode = FUSE_STATED;
    m->how.stated = fuse_read_plan(cx, a, fuse_prepare(cx, a, m->module, &m->how), &text);
    WbbSource *const *choices = fuse_stated_choices(m->how.stated, &n);
    for (uint32_t k = 0; k < n; k++) /* of a kernel, they may still not be possible */
        if (choices[k]->text) (void)plan_read_given(cx, a, m->target, choices[k]);
}

PipeModule pipe_module(WbbCx *cx, WbbArena *a, const PipeModuleOptions *o, const char *file, const char *text,
                       size_t n)
{
    const TgTarget *t = tg_without(cx, a, tg_named(cx, (WbbLoc){0}, o->target), o->disable, o->n_disable);
    PipeModule m = {.target = t, .rules = pipe_engine(cx, a, t, o->accuracy, o->disable, o->n_disable)};
    m.module = pipe_normalise(cx, a, hlo_parse(cx, a, file, text, n), m.rules);
    if (o->by == PIPE_CUT_PLAIN || o->by == PIPE_CUT_GIVEN) {
        m.how = (FuseHow){.mode = o->by == PIPE_CUT_GIVEN ? FUSE_GIVEN : FUSE_PLAIN};
        return m;
    }
    m.fuse = pipe_fuse(cx, a, t, o->disable, o->n_disable);
    m.fuse->kernels = o->kernels;
    pipe_fuse_recall(m.fuse, a, memchr(text, 0, n) || o->n_disable ? NULL : o->store, text);
    m.how = m.fuse->how;
    if (o->by == PIPE_CUT_EXHAUSTIVE) m.how.combinations = HLO_LIMIT_CUT_COMBINATIONS;
    if (o->plan) follow(cx, a, &m, o->plan);
    return m;
}

void pipe_module_end(const PipeModule *m, WbbArena *a)
{
    if (m->fuse) pipe_fuse_keep(m->fuse, a);
}
