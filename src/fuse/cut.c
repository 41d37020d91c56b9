/* cut: the steps of a computation, with what each reads and makes.
 *
 * Needs: the role of each instruction, and the kernels as groups. Leaves: steps, each after those that make what it
 * reads. Tuples, their elements and views of values make no step; dependences go through them.
 *
 *     a = sine(p)  d = dot(a, p)  y = add(d, a)        kernel a: reads p; library d: reads a, p; kernel y: reads d, a
 */
#include "fuse/priced.h"
#include "graph/graph.h"

#include <string.h>

enum { WAITS, OPEN, DONE };

typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    const HloComputation *c;
    FuseStep *steps; /* in the order of their last values */
    uint32_t n;
    uint32_t *step;  /* [id] the step that makes the value + 1; 0: none */
    FuseList *after; /* [step] control predecessors */
} Cut;

FuseGroup fuse_reach(WbbArena *a, const FuseRole *roles, const HloInstruction *root)
{
    struct { const HloInstruction **items; uint32_t n, capacity; } members = {0};
    WbbMap had = {.arena = a};
    wbb_map_put(&had, root->id);
    WBB_PUSH(a, &members, root);
    for (uint32_t at = 0; at < members.n; at++) {
        const HloInstruction *i = members.items[at];
        for (uint32_t k = 0; k < i->n_operands; k++) {
            const HloInstruction *x = i->operands[k];
            if (roles[x->id] != FUSE_INLINE && !fuse_is_small_constant(x)) continue;
            if (wbb_map_get(&had, x->id)) continue;
            wbb_map_put(&had, x->id);
            WBB_PUSH(a, &members, x);
        }
    }
    fuse_sort(members.items, members.n);
    const HloInstruction **roots = WBB_NEW_N(a, const HloInstruction *, 1);
    roots[0] = root;
    return (FuseGroup){.roots = roots, .members = members.items, .n_roots = 1, .n_members = members.n};
}

/* --- steps -------------------------------------------------------------------------------------------------------- */
static const HloInstruction **copy_list(WbbArena *a, const HloInstruction *const *list, uint32_t n)
{
    const HloInstruction **out = WBB_NEW_N(a, const HloInstruction *, n + 1);
    for (uint32_t k = 0; k < n; k++) out[k] = list[k];
    return out;
}

static void add(Cut *u, FuseStepKind kind, const HloInstruction *const *makes, uint32_t n_makes, const FuseText *t)
{
    FuseStep *s = &u->steps[u->n++];
    *s = (FuseStep){.kind = kind, .at = makes[0],
                    .operation = makes[0]->spelling ? makes[0]->spelling : hlo_opcode_name(makes[0]->opcode),
                    .makes = copy_list(u->arena, makes, n_makes), .n_makes = n_makes,
                    .reads = copy_list(u->arena, t->reads, t->n_reads), .n_reads = t->n_reads,
                    .text = t->text ? wbb_format(u->arena, "%s", t->text) : NULL, .n_lines = t->n_lines};
    WbbLoc *lines = WBB_NEW_N(u->arena, WbbLoc, t->n_lines + 1);
    for (uint32_t k = 0; k < t->n_lines; k++) lines[k] = t->lines[k];
    s->lines = lines;
}

/* What a library computes: "dot, residual, bias". */
static const char *library_operation(WbbArena *a, const FuseGroup *g)
{
    HloEpilogue e = {0};
    for (uint32_t k = 0; k < g->n_members; k++)
        if (g->members[k]->opcode == HLO_DOT) e.product = g->members[k];
    for (uint32_t k = 0; k < g->n_members && e.product; k++) hlo_epilogue_add(a, &e, g->members[k]);
    return wbb_format(a, "dot%s%s", e.residual ? ", residual" : "", e.bias ? ", bias" : "");
}

static void add_group(Cut *u, const FuseGroup *g)
{
    WbbArena *scratch = wbb_arena_new(u->cx);
    const FuseText t = g->library ? fuse_write_library_group(scratch, u->c, g) : fuse_write(scratch, u->c, g);
    add(u, g->library ? FUSE_STEP_LIBRARY : FUSE_STEP_KERNEL, g->roots, g->n_roots, &t);
    if (g->library) u->steps[u->n - 1].operation = library_operation(u->arena, g);
    wbb_arena_free(scratch);
    for (uint32_t k = 0; k < g->n_members; k++)
        for (uint32_t j = 0; j < g->members[k]->n_predecessors; j++)
            WBB_PUSH(u->arena, &u->after[u->n - 1], g->members[k]->predecessors[j]);
}

static void add_single(Cut *u, const HloInstruction *i, FuseRole role)
{
    WbbArena *scratch = wbb_arena_new(u->cx);
    FuseText t;
    if (role == FUSE_FIXED) t = fuse_write_fusion(scratch, i);
    else if (role == FUSE_LIBRARY) t = fuse_write_library(scratch, u->c, i);
    else t = (FuseText){.reads = copy_list(scratch, (const HloInstruction *const *)i->operands, i->n_operands),
                        .n_reads = i->n_operands};
    const FuseStepKind kind = role == FUSE_FIXED     ? FUSE_STEP_KERNEL
                              : role == FUSE_LIBRARY ? FUSE_STEP_LIBRARY
                              : role == FUSE_COPY    ? FUSE_STEP_COPY
                                                     : FUSE_STEP_CONTROL;
    add(u, kind, &i, 1, &t);
    wbb_arena_free(scratch);
    for (uint32_t j = 0; j < i->n_predecessors; j++) WBB_PUSH(u->arena, &u->after[u->n - 1], i->predecessors[j]);
}

/* --- order -------------------------------------------------------------------------------------------------------- */
/* What is placed next: a step, or an instruction that no step makes, through which dependences go. */
typedef struct {
    uint32_t step; /* + 1; 0: none */
    const HloInstruction *i;
    uint32_t next; /* of what it depends on */
} Open;

typedef struct {
    Cut *u;
    uint8_t *of_step, *of_value;
    struct { Open *items; uint32_t n, capacity; } stack;
    FusePlacing *to;
} Order;

static void open_value(Order *o, const HloInstruction *i)
{
    const uint32_t step = o->u->step[i->id];
    uint8_t *state = step ? &o->of_step[step - 1] : &o->of_value[i->id];
    if (*state != WAITS) return; /* where it is open, it waits for itself, which fuse_check sees */
    *state = OPEN;
    const Open x = {.step = step, .i = i};
    WBB_PUSH(o->u->arena, &o->stack, x);
}

/* Dependence number `k` of what is open, or NULL. */
static const HloInstruction *dependence(const Order *o, const Open *x, uint32_t k)
{
    if (!x->step) return k < x->i->n_operands ? x->i->operands[k] : NULL;
    const FuseStep *s = &o->u->steps[x->step - 1];
    if (k < s->n_reads) return s->reads[k];
    k -= s->n_reads;
    return k < o->u->after[x->step - 1].n ? o->u->after[x->step - 1].items[k] : NULL;
}

static void place(Order *o, const HloInstruction *i)
{
    open_value(o, i);
    while (o->stack.n) {
        Open *x = &o->stack.items[o->stack.n - 1];
        const HloInstruction *on = dependence(o, x, x->next++);
        if (on && (!x->step || o->u->step[on->id] != x->step)) {
            open_value(o, on);
        } else if (!on) {
            const FusePlaced done = {x->step ? o->u->steps[x->step - 1].at : x->i, x->step};
            *(x->step ? &o->of_step[x->step - 1] : &o->of_value[x->i->id]) = DONE;
            WBB_PUSH(o->u->arena, &o->to->placed, done);
            o->stack.n--;
        }
    }
}

/* Instead of control predecessors that only name what steps make, or that kernels compute on their way, the values that
 * steps make: there is no order but among steps. */
static void find_after(Cut *u, const FuseRole *roles)
{
    uint32_t *seen = WBB_NEW_N(u->arena, uint32_t, u->c->n_instructions + 1);
    for (uint32_t s = 0; s < u->n; s++) {
        FuseList open = u->after[s], made = {0};
        for (uint32_t k = 0; k < open.n; k++) {
            const HloInstruction *i = open.items[k];
            if (seen[i->id] == s + 1 || u->step[i->id] == s + 1) continue;
            seen[i->id] = s + 1;
            if (u->step[i->id]) WBB_PUSH(u->arena, &made, i);
            for (uint32_t o = 0; !u->step[i->id] && fuse_is_name(i, roles[i->id]) && o < i->n_operands; o++)
                WBB_PUSH(u->arena, &open, i->operands[o]);
        }
        u->after[s] = made;
    }
}

static uint32_t last_of(const FuseStep *s)
{
    uint32_t last = 0;
    for (uint32_t k = 0; k < s->n_makes; k++) last = WBB_MAX(last, s->makes[k]->id);
    return last;
}

FuseCut fuse_steps(WbbCx *cx, WbbArena *a, const HloComputation *c, const FuseRole *roles, const FuseGroup *groups,
                   uint32_t n)
{
    const uint32_t most = c->n_instructions + n + 1;
    Cut u = {.cx = cx, .arena = a, .c = c, .steps = WBB_NEW_N(a, FuseStep, most),
             .step = WBB_NEW_N(a, uint32_t, c->n_instructions + 1), .after = WBB_NEW_N(a, FuseList, most)};
    for (uint32_t k = 0; k < n; k++) add_group(&u, &groups[k]);
    for (uint32_t k = 0; k < c->n_instructions; k++)
        if (roles[k] != FUSE_ROOT && fuse_is_step(roles[k]))
            add_single(&u, c->instructions[k], roles[k]);
    uint32_t *at = WBB_NEW_N(a, uint32_t, c->n_instructions + 1); /* [id] the step whose last value it is, + 1 */
    for (uint32_t s = 0; s < u.n; s++) {
        uint32_t *last = &at[last_of(&u.steps[s])];
        for (uint32_t k = 0; k < u.steps[s].n_makes; k++) {
            uint32_t *made = &u.step[u.steps[s].makes[k]->id];
            *made = *made ? *made : s + 1; /* a second one is a fault, which fuse_check sees */
        }
        *last = *last ? *last : s + 1;
    }
    find_after(&u, roles);
    FusePlacing to = {.c = c, .roles = roles, .groups = groups, .n_groups = n, .steps = u.steps, .after = u.after,
                      .step = u.step};
    Order o = {.u = &u, .of_step = WBB_NEW_N(a, uint8_t, u.n + 1), .of_value = WBB_NEW_N(a, uint8_t, most), .to = &to};
    for (uint32_t k = 0; k < c->n_instructions; k++)
        if (at[k]) place(&o, u.steps[at[k] - 1].makes[0]);
    for (uint32_t s = 0; s < u.n; s++) /* it makes what another one makes */
        if (o.of_step[s] == WAITS) WBB_PUSH(a, &to.placed, ((FusePlaced){u.steps[s].at, s + 1}));
    to.n_before = to.placed.n;
    place(&o, c->root);
    fuse_check(cx, &to);
    FuseCut cut = {.of = c, .steps = WBB_NEW_N(a, FuseStep, u.n + 1)};
    for (uint32_t k = 0; k < to.placed.n; k++)
        if (to.placed.items[k].step) cut.steps[cut.n++] = u.steps[to.placed.items[k].step - 1];
    assert(cut.n == u.n);
    return cut;
}

/* A kernel for each root of these roles. */
static FuseCut cut_roots(WbbCx *cx, WbbArena *a, const HloComputation *c, const FuseRole *roles)
{
    FuseGroup *groups = WBB_NEW_N(a, FuseGroup, c->n_instructions + 1);
    uint32_t n = 0;
    for (uint32_t k = 0; k < c->n_instructions; k++)
        if (roles[k] == FUSE_ROOT) groups[n++] = fuse_reach(a, roles, c->instructions[k]);
    return fuse_steps(cx, a, c, roles, groups, n);
}

static bool group_compiles(WbbCx *cx, const HloComputation *c, const FuseGroup *g, const FuseHow *how)
{
    WbbArena *scratch = wbb_arena_new(cx);
    const bool compiles = how->compiles(how->arg, fuse_write(scratch, c, g).text);
    wbb_arena_free(scratch);
    return compiles;
}

/* A kernel of nothing but the loop, the parts of its state that the kernel g needs, and constants with which it
 * begins: they say how often it runs. */
static FuseGroup loop_alone(WbbArena *a, const FuseGroup *g, const HloInstruction *loop)
{
    FuseGroup own = {.roots = WBB_NEW_N(a, const HloInstruction *, g->n_members),
                     .members = WBB_NEW_N(a, const HloInstruction *, g->n_members)};
    for (uint32_t j = 0; j < g->n_members; j++) {
        const HloInstruction *i = g->members[j];
        const bool part = i->opcode == HLO_GET_TUPLE_ELEMENT && i->operands[0] == loop;
        if (part) own.roots[own.n_roots++] = i;
        bool begins = false;
        for (uint32_t k = 0; k < loop->operands[0]->n_operands && !begins; k++)
            begins = loop->operands[0]->operands[k] == i && fuse_is_small_constant(i);
        if (part || begins || i == loop || i == loop->operands[0]) own.members[own.n_members++] = i;
    }
    return own;
}

/* Does it compile? */
static bool loop_compiles(WbbCx *cx, const HloComputation *c, const FuseGroup *g, const HloInstruction *loop,
                          const FuseHow *how)
{
    WbbArena *scratch = wbb_arena_new(cx);
    const FuseGroup own = loop_alone(scratch, g, loop);
    const bool compiles = own.n_roots && group_compiles(cx, c, &own, how);
    wbb_arena_free(scratch);
    return compiles;
}

/* Seconds of the launches of an iteration, at least, if they are steps of their own. */
static double body_seconds(WbbCx *cx, const HloInstruction *loop, const FuseHow *how)
{
    WbbArena *scratch = wbb_arena_new(cx);
    FuseHow alone = *how;
    alone.explain = alone.plan = NULL, alone.taken = NULL;
    const FuseCut cut = fuse_cut(cx, scratch, hlo_called(loop, "body"), &alone);
    double sum = 0;
    for (uint32_t k = 0; k < cut.n; k++) {
        const FuseStep *s = &cut.steps[k];
        double own = 0;
        if (s->kind == FUSE_STEP_KERNEL) own = how->seconds(how->arg, s->text);
        else if (s->kind == FUSE_STEP_LIBRARY) own = how->library(how->arg, s->text);
        else if (s->kind == FUSE_STEP_CONTROL && s->at->opcode == HLO_WHILE)
            own = (double)hlo_repeats(s->at) * body_seconds(cx, s->at, how);
        sum += WBB_MAX(own, how->rates.launch);
    }
    wbb_arena_free(scratch);
    return sum;
}

/* Seconds of a loop in a kernel, and of the launches of all iterations; 0: nobody has asked for them. */
typedef struct { double kernel, launches; } LoopTimes;

/* Does a loop take less time as steps that the host repeats than in a kernel? One that mixes elements has to save more
 * than prices err by, any other one loses by as much. */
static bool loop_loses(WbbCx *cx, const HloComputation *c, const FuseGroup *g, const HloInstruction *loop,
                       const FuseHow *how, bool mixed, LoopTimes *x)
{
    HloCount count;
    if (how->rates.edges[FUSE_LOOP].off || !how->seconds || !hlo_counts(loop, &count)) return mixed;
    WbbArena *scratch = wbb_arena_new(cx);
    const FuseGroup own = loop_alone(scratch, g, loop);
    const double kernel = own.n_roots ? fuse_seconds(cx, c, how, &own) : 0, trips = (double)count.trips;
    const double save = 1 - how->rates.edges[FUSE_LOOP].save, to_beat = mixed ? kernel / save : kernel * save;
    wbb_arena_free(scratch);
    if (kernel <= 0) return mixed;
    if (to_beat <= trips * how->rates.launch) return false; /* whatever an iteration has */
    if (!x->launches) x->launches = trips * body_seconds(cx, loop, how);
    x->kernel = kernel;
    return x->launches < to_beat;
}

static void put_loops(WbbBuf *out, const HloComputation *c, const LoopTimes *times)
{
    for (uint32_t k = 0; k < c->n_instructions; k++)
        if (times[k].launches)
            wbb_putf(out, "  %s, while: %.2f us in a kernel, %.2f us of launches for each iteration\n",
                     c->instructions[k]->name, times[k].kernel * 1e6, times[k].launches * 1e6);
}

/* Marks an instruction. Returns whether that is new. */
static bool mark(bool *marks, const HloInstruction *i)
{
    const bool had = marks[i->id];
    marks[i->id] = true;
    return !had;
}

/* Of a kernel that does not compile, the loops that do not either go without it; or all; or, without any, reductions.
 * Returns whether one is new. */
static bool set_alone(WbbCx *cx, const HloComputation *c, const FuseGroup *g, const FuseHow *how, bool *alone)
{
    uint32_t loops = 0, refused = 0;
    bool any = false;
    for (uint32_t j = 0; j < g->n_members; j++) {
        if (g->members[j]->opcode != HLO_WHILE) continue;
        loops++;
        if (loop_compiles(cx, c, g, g->members[j], how)) continue;
        any |= mark(alone, g->members[j]);
        refused++;
    }
    for (uint32_t j = 0; j < g->n_members && !refused; j++)
        if (g->members[j]->opcode == (loops ? HLO_WHILE : HLO_REDUCE)) any |= mark(alone, g->members[j]);
    return any;
}

/* Marks reductions of kernels of rows and columns that take no less time than kernels of their own. Returns whether one
 * is new. */
static bool mark_apart(WbbCx *cx, const HloComputation *c, const FuseGrouping *g, const FuseHow *how, bool *apart)
{
    bool any = false;
    for (uint32_t k = 0; how->across && k < g->n_groups; k++) {
        const FuseGroup *x = &g->groups[k];
        if (!x->across) continue;
        WbbArena *scratch = wbb_arena_new(cx);
        const bool pays = how->across(how->arg, fuse_write(scratch, c, x).text);
        wbb_arena_free(scratch);
        for (uint32_t j = 0; j < x->n_members && !pays; j++)
            if (x->members[j]->opcode == HLO_REDUCE) any |= mark(apart, x->members[j]);
    }
    return any;
}

/* Marks the loops of a kernel that lose. Returns whether one is new. */
static bool mark_losing(WbbCx *cx, const HloComputation *c, const FuseGrouping *g, const FuseGroup *of,
                        const FuseHow *how, bool *alone, LoopTimes *times)
{
    bool any = false;
    for (uint32_t j = 0; j < of->n_members; j++) {
        const HloInstruction *i = of->members[j];
        if (i->opcode == HLO_WHILE && !alone[i->id] && loop_loses(cx, c, of, i, how, g->mixed[i->id], &times[i->id]))
            any |= mark(alone, i);
    }
    return any;
}

/* Marks reductions and loops of kernels that do not compile, and loops that take more time than launches. Returns
 * whether one is new. */
static bool mark_refused(WbbCx *cx, const HloComputation *c, const FuseGrouping *g, const FuseHow *how, bool *alone,
                         LoopTimes *times)
{
    bool any = false;
    for (uint32_t k = 0; how->compiles && k < g->n_groups; k++) {
        bool may = false;
        for (uint32_t j = 0; j < g->groups[k].n_members; j++) {
            const HloInstruction *i = g->groups[k].members[j];
            const bool apart = i->opcode == HLO_REDUCE || i->opcode == HLO_WHILE;
            may = may || (apart && !alone[i->id] && g->groups[k].n_members > 1);
        }
        if (!may) continue;
        if (!group_compiles(cx, c, &g->groups[k], how)) any |= set_alone(cx, c, &g->groups[k], how, alone);
        else any |= mark_losing(cx, c, g, &g->groups[k], how, alone, times);
    }
    return any;
}

/* Says what all kernels take, if that is known. */
static void put_seconds(WbbCx *cx, const HloComputation *c, const FuseHow *how, const FuseGrouping *g, WbbBuf *b)
{
    double sum = 0;
    for (uint32_t k = 0; k < g->n_groups; k++) {
        const double seconds = g->groups[k].library ? 0 : fuse_seconds(cx, c, how, &g->groups[k]);
        if (seconds <= 0 && !g->groups[k].library) return;
        sum += seconds;
    }
    wbb_putf(b, "  its kernels take %.3f us\n", sum * 1e6);
}

/* Counts the choices that were made, by their rows. */
static void count_taken(const HloComputation *c, const FuseGrouping *g, uint64_t *taken)
{
    for (uint32_t k = 0; k < g->n_points; k++) taken[g->points[k].what] += g->points[k].yes;
    for (uint32_t k = 0; k < c->n_instructions; k++)
        taken[FUSE_LOOP] += c->instructions[k]->opcode == HLO_WHILE && g->mixed[k];
    for (uint32_t k = 0; k < g->n_groups; k++) taken[FUSE_EPILOGUE] += g->groups[k].library;
}

static FuseCut cut_priced(WbbCx *cx, WbbArena *a, const HloComputation *c, const FuseHow *how)
{
    const uint32_t n = c->n_instructions + 1;
    FuseGiven given = {WBB_NEW_N(a, bool, n), WBB_NEW_N(a, bool, n), WBB_NEW_N(a, bool, n * FUSE_CHOICES),
                       gr_sight(cx, a), fuse_loop_of(c), NULL};
    WbbBuf text = wbb_buf(a), *explain = how->explain ? &text : NULL;
    FuseGrouping g = fuse_group(cx, a, c, &how->rates, &given, explain);
    LoopTimes *times = WBB_NEW_N(a, LoopTimes, n);
    while (mark_apart(cx, c, &g, how, given.apart) || mark_refused(cx, c, &g, how, given.alone, times)) {
        text = wbb_buf(a);
        g = fuse_group(cx, a, c, &how->rates, &given, explain);
    }
    WbbBuf found = wbb_buf(a);
    if (how->seconds) {
        text = wbb_buf(a);
        g = fuse_search(cx, a, c, how, &given, explain, explain ? &found : NULL);
    }
    if (how->library && how->seconds) fuse_products(cx, a, c, how, &g, explain ? &found : NULL);
    if (how->library && how->seconds) fuse_move_calls(cx, a, c, how, &g, explain ? &found : NULL);
    if (how->taken) count_taken(c, &g, how->taken);
    if (how->plan) fuse_put_plan(a, how->plan, c, &g, how);
    if (explain && how->seconds) put_seconds(cx, c, how, &g, &found);
    if (explain) {
        wbb_putf(how->explain, "%s:\n%s", c->name, text.text);
        put_loops(how->explain, c, times);
        if (found.n) wbb_put(how->explain, found.text);
    }
    return fuse_steps(cx, a, c, g.roles, g.groups, g.n_groups);
}

static FuseCut cut_stated(WbbCx *cx, WbbArena *a, const HloComputation *c, const FuseHow *how)
{
    const FuseGrouping g = fuse_take_plan(cx, a, c, how->stated);
    const FuseCut cut = fuse_steps(cx, a, c, g.roles, g.groups, g.n_groups);
    fuse_take_choices(how, &cut);
    if (how->plan) fuse_put_plan(a, how->plan, c, &g, how);
    return cut;
}

const HloModule *fuse_prepare(WbbCx *cx, WbbArena *a, const HloModule *m, const FuseHow *how)
{
    return how->mode == FUSE_PRICED || how->mode == FUSE_STATED ? gr_simplify(cx, a, m) : m;
}

FuseCut fuse_cut(WbbCx *cx, WbbArena *a, const HloComputation *c, const FuseHow *how)
{
    if (how->mode == FUSE_PRICED) return cut_priced(cx, a, c, how);
    if (how->mode == FUSE_STATED) return cut_stated(cx, a, c, how);
    return cut_roots(cx, a, c, how->mode == FUSE_GIVEN ? fuse_decide_given(a, c) : fuse_decide(a, c));
}
