/* legal: what must hold of a cut.
 *
 * Needs: steps in their order, and between them what names or views values in memory. Leaves: nothing, or fails with
 * the first fault. The facts are those of base/order.h: memory holds what a kernel, a library call or a computation
 * that is called reads, and the result; each value is left there once. Where a step waits for itself no order is right.
 *
 *     kernel y computes exp    where exp reads m, which no kernel leaves: "the kernel of y reads m, which .."
 */
#include "base/order.h"
#include "fuse/priced.h"

bool fuse_is_name(const HloInstruction *i, FuseRole role)
{
    return role == FUSE_ALIAS || (role == FUSE_NOTHING && fuse_first_role(i) != FUSE_ROOT);
}

typedef struct { WbbTouch *items; uint32_t n, capacity; } Touches;

static void touch(WbbArena *a, Touches *t, WbbTouchKind kind, const HloInstruction *const *list, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) WBB_PUSH(a, t, ((WbbTouch){.kind = kind, .value = list[k]->id}));
}

/* A name of memory keeps what it reads; what is no name, and no step leaves, is never there. */
static WbbTouches touches_of(WbbArena *a, const FusePlacing *x, const FusePlaced *p)
{
    Touches t = {0};
    const HloInstruction *i = p->i;
    if (p->step) {
        const FuseStep *s = &x->steps[p->step - 1];
        const FuseList *after = &x->after[p->step - 1];
        touch(a, &t, WBB_READS, s->reads, s->n_reads);
        touch(a, &t, WBB_MAKES, s->makes, s->n_makes);
        touch(a, &t, WBB_READS, (const HloInstruction *const *)after->items, after->n);
    } else if (fuse_is_name(i, x->roles[i->id])) {
        const uint32_t n = x->roles[i->id] == FUSE_ALIAS ? 1 : i->n_operands; /* where it begins is no memory */
        touch(a, &t, WBB_READS, (const HloInstruction *const *)i->operands, n);
        touch(a, &t, WBB_KEEPS, &i, 1);
    }
    return (WbbTouches){t.items, t.n};
}

/* Where the text of a plan states a step, or, where there is none, that of an instruction. */
static WbbLoc place_of(const FusePlacing *x, uint32_t step, const HloInstruction *i)
{
    const WbbLoc stated = x->n_groups ? x->groups[0].at : (WbbLoc){0};
    if (!stated.line) return i->loc;
    return step && step <= x->n_groups ? x->groups[step - 1].at : (WbbLoc){.file = stated.file};
}

static void say(WbbCx *cx, const FusePlacing *x, const WbbFault *f)
{
    const bool result = f->step >= x->n_before;
    const FusePlaced p = result ? (FusePlaced){.i = x->c->root} : x->placed.items[f->step];
    const HloInstruction *of = x->c->instructions[f->value];
    const uint32_t waits = x->step[of->id] ? x->step[of->id] : p.step;
    if (f->kind == WBB_FAULT_LATER && waits)
        wbb_fail(cx, place_of(x, waits, of), "the kernel of %s waits for itself: what it reads follows from what it "
                 "leaves", x->steps[waits - 1].at->name);
    if (f->kind == WBB_FAULT_PLACE) wbb_fail(cx, place_of(x, p.step, of), "two kernels leave %s in memory", of->name);
    if (result)
        wbb_fail(cx, place_of(x, 0, p.i), "no kernel leaves the result of %s, or a part of it, in memory",
                 x->c->name);
    if (p.step && p.step <= x->n_groups)
        wbb_fail(cx, place_of(x, p.step, p.i), "the kernel of %s reads %s, which it does not compute, and no kernel "
                 "leaves it in memory", p.i->name, of->name);
    wbb_fail(cx, place_of(x, 0, p.i), "%s reads %s, which no kernel leaves in memory", p.i->name, of->name);
}

void fuse_check(WbbCx *cx, const FusePlacing *x)
{
    WbbArena *a = wbb_arena_new(cx);
    const uint32_t n = x->c->n_instructions;
    WbbBytes *values = WBB_NEW_N(a, WbbBytes, n + 1);
    WbbTouches *steps = WBB_NEW_N(a, WbbTouches, x->placed.n + 1);
    for (uint32_t id = 0; id < n; id++)
        values[id] = (WbbBytes){.name = x->c->instructions[id]->name, .memory = id, .bytes = 1, .fixed = true};
    values[x->c->root->id].wanted = true;
    for (uint32_t k = 0; k < x->placed.n; k++) steps[k] = touches_of(a, x, &x->placed.items[k]);
    const WbbOrder order = {.values = values, .steps = steps, .n_values = n, .n_memories = n, .n_steps = x->placed.n};
    const WbbFault fault = wbb_order_fault(a, &order);
    if (fault.kind) say(cx, x, &fault);
    wbb_arena_free(a);
}
