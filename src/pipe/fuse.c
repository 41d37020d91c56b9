/* fuse.c: what the priced cut of a module asks of a target: rates, and whether a kernel would compile.
 *
 * Needs: a target. Leaves: the answers, each text planned once.
 *
 *     PipeFuse f = pipe_fuse(cx, arena, tg_find("sm_90"));     fuse_cut(cx, arena, computation, &f->how)
 */
#include "pipe/pipe.h"

#include <string.h>

static double rate(const TgTarget *t, const char *name) { return tg_rate(t, name)->value; }
static double tuned(const TgTarget *t, const char *name) { return (double)tg_tune(t, name, 0)->value; }

static FuseRates rates_of(const TgTarget *t)
{
    return (FuseRates){.byte = 1 / rate(t, "dram"),
                       .slot = 1 / (rate(t, "issue") * 32 * rate(t, "clock") * t->sms),
                       .launch = rate(t, "launch"),
                       .function = tuned(t, "work.function"),
                       .long_function = tuned(t, "work.long_function"),
                       .move = tuned(t, "fuse.move"),
                       .f64 = 128 / rate(t, "pipe.f64"),
                       .wait = tuned(t, "fuse.wait") / rate(t, "clock"),
                       .straight = tuned(t, "reduce.straight"),
                       .tie = tuned(t, "fuse.tie") / 100,
                       .sms = t->sms,
                       .cluster = tg_has(t, "cluster") ? tuned(t, "layout.cluster") : 1,
                       .members = (uint32_t)tuned(t, "fuse.members"),
                       .roots = (uint32_t)tuned(t, "fuse.roots"),
                       .leaves = (uint32_t)tuned(t, "fuse.leaves"),
                       .cone = (uint32_t)tuned(t, "fuse.cone")};
}

typedef struct {
    const char *text;
    const TgTarget *target;
} Planned;

/* Whether a thread can hold what a loop changes is known when the loop is emitted. */
static void try(WbbCx *cx, void *arg)
{
    const Planned *p = arg;
    WbbArena *a = wbb_arena_new(cx);
    const size_t n = strlen(p->text);
    if (strstr(p->text, " while(")) {
        PipeResult r;
        const PipeOptions o = {.target = p->target->name, .stage = PIPE_AT_IR};
        pipe_compile(cx, a, &o, "kernel.hlo", p->text, n, &r);
        return;
    }
    const HloModule *m = hlo_parse(cx, a, "kernel.hlo", p->text, n);
    hlo_decline_features(cx, m);
    const HloFusion f = hlo_fusion(cx, hlo_normalise(cx, a, m));
    part_plan(cx, a, &f, p->target, (PartOptions){0});
}

static bool compiles(void *arg, const char *text)
{
    PipeFuse *f = arg;
    WbbEntry *e = wbb_map_put(&f->texts, wbb_key(wbb_intern_z(f->cx, text)));
    if (!e->value) {
        Planned p = {.text = text, .target = f->target};
        WbbCx *cx = wbb_cx_new(); /* of its own: a kernel that is declined leaves no message */
        e->value = cx && wbb_guard(cx, try, &p) == WBB_OK ? 2 : 1;
        if (cx) wbb_cx_free(cx);
    }
    return e->value == 2;
}

PipeFuse *pipe_fuse(WbbCx *cx, WbbArena *a, const TgTarget *t)
{
    PipeFuse *f = WBB_NEW(a, PipeFuse);
    *f = (PipeFuse){.cx = cx, .target = t, .texts = {.arena = a}};
    f->how = (FuseHow){.mode = FUSE_PRICED, .rates = rates_of(t), .compiles = compiles, .arg = f};
    return f;
}
