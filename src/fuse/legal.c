/* legal: what must hold of a cut.
 *
 * Needs: roles and groups. Leaves: nothing, or the first fault of the cut. Memory holds what a kernel, a library call
 * or a computation that is called reads, and the result; a kernel leaves what it computes. That no step waits for
 * itself is seen when they are put in order (cut.c).
 *
 *     kernel y computes exp    where exp reads m, which no kernel leaves: "the kernel of y reads m, which .."
 */
#include "fuse/priced.h"

/* Has memory the value, as far as what it is made of is there? */
static bool is_held(const HloInstruction *i, FuseRole role, const bool *held)
{
    switch (role) {
    case FUSE_ROOT: case FUSE_FIXED: case FUSE_LIBRARY: case FUSE_COPY: case FUSE_CONTROL: return true;
    case FUSE_INLINE: return false;
    default: break;
    }
    if (role == FUSE_NOTHING && fuse_first_role(i) == FUSE_ROOT) return false; /* nobody computes it */
    for (uint32_t k = 0; k < i->n_operands; k++)
        if (!held[i->operands[k]->id]) return false;
    return true;
}

static WbbLoc place_of(const FuseGroup *g) { return g->at.line ? g->at : g->roots[0]->loc; }

static void check_group(WbbCx *cx, const FuseGroup *g, const bool *held, uint32_t *stamp, uint32_t number)
{
    for (uint32_t k = 0; k < g->n_members; k++) stamp[g->members[k]->id] = number;
    for (uint32_t k = 0; k < g->n_roots; k++)
        if (stamp[g->roots[k]->id] != number)
            wbb_fail(cx, place_of(g), "a kernel leaves %s, which it does not compute", g->roots[k]->name);
    for (uint32_t k = 0; k < g->n_members; k++)
        for (uint32_t o = 0; o < g->members[k]->n_operands; o++) {
            const HloInstruction *x = g->members[k]->operands[o];
            if (stamp[x->id] != number && !held[x->id])
                wbb_fail(cx, place_of(g), "the kernel of %s reads %s, which it does not compute, and no kernel leaves "
                         "it in memory", g->roots[0]->name, x->name);
        }
}

void fuse_check(WbbCx *cx, const HloComputation *c, const FuseRole *roles, const FuseGroup *groups, uint32_t n)
{
    WbbArena *a = wbb_arena_new(cx);
    bool *held = WBB_NEW_N(a, bool, c->n_instructions + 1);
    uint32_t *stamp = WBB_NEW_N(a, uint32_t, c->n_instructions + 1);
    const WbbLoc at = n ? groups[0].at : (WbbLoc){0};
    for (uint32_t id = 0; id < c->n_instructions; id++)
        held[id] = is_held(c->instructions[id], roles[id], held);
    for (uint32_t k = 0; k < n; k++) check_group(cx, &groups[k], held, stamp, k + 1);
    for (uint32_t id = 0; id < c->n_instructions; id++) {
        const HloInstruction *i = c->instructions[id];
        const bool reads = fuse_is_step(roles[id]) && roles[id] != FUSE_ROOT;
        for (uint32_t k = 0; k < i->n_operands && reads; k++)
            if (!held[i->operands[k]->id])
                wbb_fail(cx, at.line ? (WbbLoc){.file = at.file} : i->loc,
                         "%s reads %s, which no kernel leaves in memory", i->name, i->operands[k]->name);
    }
    if (!held[c->root->id])
        wbb_fail(cx, at.line ? (WbbLoc){.file = at.file} : c->root->loc,
                 "no kernel leaves the result of %s, or a part of it, in memory", c->name);
    wbb_arena_free(a);
}
