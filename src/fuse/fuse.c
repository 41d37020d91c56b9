/* fuse: cuts every computation that runs into parts, and counts equal parts.
 *
 * Needs: a verified, normalised HLO module. Leaves: its parts. The computations that run are the entry and the bodies
 * of loops and branches that it reaches; computations that are applied to elements (of a reduce, a sort) belong to
 * their kernel.
 *
 *     while(..), body=layer        the parts of `layer` count once for each while that names it
 */
#include "fuse/fuse.h"

typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    FuseParts parts;
    const FuseHow *how;
    WbbMap texts; /* by interned text: the number of its part + 1 */
    WbbMap names; /* interned names of parts */
} Cut;

/* A name of letters, digits, '_', '.' and '-', which is also a file name. */
static const char *unique_name(Cut *u, const char *name)
{
    char *clean = wbb_format(u->arena, "%s", name);
    for (char *p = clean; *p; p++) {
        const bool fine = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') ||
                          *p == '_' || *p == '.' || *p == '-';
        if (!fine) *p = '_';
    }
    return wbb_unique_name(u->cx, &u->names, clean, "", 2);
}

static void add(Cut *u, const FuseStep *s, uint64_t times)
{
    const char *key = wbb_intern_z(u->cx, s->text);
    WbbEntry *e = wbb_map_put(&u->texts, wbb_key(key));
    if (e->value) {
        u->parts.items[e->value - 1].count += times;
        return;
    }
    const bool library = s->kind == FUSE_STEP_LIBRARY;
    const FusePart part = {.name = unique_name(u, s->at->name), .text = library ? NULL : key,
                           .call = library ? key : NULL, .at = s->at, .count = times,
                           .operation = wbb_format(u->arena, "%s", s->operation)};
    WBB_PUSH(u->arena, &u->parts, part);
    e->value = u->parts.n;
}

static void cut(Cut *u, const HloComputation *c, uint64_t *times)
{
    WbbArena *scratch = wbb_arena_new(u->cx);
    const FuseCut steps = fuse_cut(u->cx, scratch, c, u->how);
    for (uint32_t k = 0; k < steps.n; k++) {
        const FuseStep *s = &steps.steps[k];
        if (s->kind == FUSE_STEP_KERNEL || s->kind == FUSE_STEP_LIBRARY) {
            add(u, s, times[c->id]);
        } else if (s->kind == FUSE_STEP_CONTROL) {
            for (uint32_t j = 0; j < s->at->n_called; j++) {
                uint64_t *sum = &times[s->at->called[j]->id];
                if (__builtin_add_overflow(*sum, times[c->id], sum)) *sum = UINT64_MAX;
            }
        }
    }
    wbb_arena_free(scratch);
}

FuseParts fuse_parts(WbbCx *cx, WbbArena *a, const HloModule *m, const FuseHow *how)
{
    Cut u = {.cx = cx, .arena = a, .how = how, .texts = {.arena = a}, .names = {.arena = a}};
    m = fuse_prepare(cx, a, m, how);
    uint64_t *times = WBB_NEW_N(a, uint64_t, m->n_computations + 1);
    times[m->entry->id] = 1;
    for (uint32_t k = m->n_computations; k-- > 0;) /* callers stand after callees */
        if (times[k]) cut(&u, m->computations[k], times);
    return u.parts;
}
