/* grouping: which operations become one kernel, by price.
 *
 * Needs: a computation of a normalised module, the rates of a target. Leaves: a role for each instruction, and kernels
 * as groups. One walk from the last instruction to the first, so that the kernels that need a value are known: it is
 * computed in all of them, or those become one, or memory holds it, and one of them or a kernel of its own leaves it
 * there.
 *
 *     softmax     exp needs one kernel; sum has the kernel's rows, max too: one kernel reads x once and writes once
 *     y = f(x), z = g(x), sum = reduce(f(x))      one kernel with three outputs
 */
#include "fuse/kernels.h"



/* --- reasons ------------------------------------------------------------------------------------------------------ */
static void say(FuseWork *w, const HloInstruction *i, const char *format, ...) WBB_PRINTF(3, 4);
static void say(FuseWork *w, const HloInstruction *i, const char *format, ...)
{
    if (!w->explain) return;
    va_list args;
    va_start(args, format);
    wbb_putf(w->explain, "  %s, %s: ", i->name, hlo_opcode_name(i->opcode));
    wbb_put_v(w->explain, format, args);
    wbb_put(w->explain, "\n");
    va_end(args);
}

/* --- what users need ---------------------------------------------------------------------------------------------- */
/* Adds a use, unless there is one of that kernel and position. Of many positions in a kernel the number of elements is
 * kept alone. */
static void add_use(FuseWork *w, FuseNeeds *n, FuseUse u)
{
    FuseUse *unknown = NULL;
    uint32_t of_kernel = 0;
    u.kernel = fuse_find(w, u.kernel);
    for (uint32_t k = 0; k < n->uses.n; k++) {
        FuseUse *x = &n->uses.items[k];
        if (x->kernel != u.kernel) continue;
        if (fuse_same_pos(&w->atoms, &x->pos, &u.pos)) {
            x->serial = WBB_MAX(x->serial, u.serial);
            return;
        }
        if (!x->pos.known) unknown = x;
        of_kernel++;
    }
    if (of_kernel >= w->rates->positions) u.pos = (FusePos){.count = fuse_count(&w->atoms, &u.pos)}, u.shares = false;
    if (unknown && !u.pos.known) unknown->pos.count += u.pos.count, unknown->serial += u.serial;
    else WBB_PUSH(w->arena, &n->uses, u);
}

/* The position of operand k of a user that a kernel computes at u. */
static FusePos operand_pos(FuseWork *w, const HloInstruction *user, uint32_t k, const FuseUse *u)
{
    const HloInstruction *x = user->operands[k];
    if (user->opcode == HLO_REDUCE) {
        if (k >= user->n_operands / 2) return (FusePos){.known = true};
        if (u->shares) return w->kernels.items[fuse_find(w, u->kernel)].space;
    }
    if (user->opcode == HLO_TUPLE) { /* the state of a loop */
        const FuseLoop *of = w->loop[user->id];
        if (hlo_elements(x->shape) == 1) return (FusePos){.known = true};
        if (of && of->part[k] == FUSE_LOOP_AT && !of->steps)
            return fuse_narrow_pos(&w->atoms, of->shape, x->shape, &u->pos);
        return (FusePos){.count = (double)hlo_elements(x->shape)};
    }
    return fuse_operand_pos(&w->atoms, user, k, &u->pos);
}

/* How many elements of operand k one thread computes for one of the user: a part of one, if other threads' elements of
 * the user come from other operands. */
static double times(WbbArena *a, const HloInstruction *user, uint32_t k, const FuseUse *u)
{
    if (user->shape->type == SC_TUPLE || user->operands[k]->shape->type == SC_TUPLE) return 1;
    if (user->opcode == HLO_CONCATENATE) return hlo_operand_share(user, k);
    return user->opcode == HLO_REDUCE && !u->shares ? WBB_MAX(hlo_terms(a, user), 1) : 1;
}

/* Costs nothing, and is not smaller than what it is made of. */
static bool is_free(const HloInstruction *i)
{
    const HloShape *of = i->n_operands ? i->operands[0]->shape : NULL;
    const bool shrinks = of && hlo_is_elementwise(i->opcode) && hlo_bytes(i->shape) < hlo_bytes(of); /* a convert */
    return hlo_has(i->opcode, HLO_FREE) && !shrinks;
}

/* Is operand k of the user an array that a loop may read at any index in each iteration? It is in memory then. */
static bool is_read_anywhere(const FuseWork *w, const HloInstruction *user, uint32_t k)
{
    return user->opcode == HLO_TUPLE && w->loop[user->id] && w->loop[user->id]->part[k] == FUSE_LOOP_ANYWHERE;
}

static FuseNeeds needs_of(FuseWork *w, uint32_t id)
{
    const HloInstruction *i = w->c->instructions[id];
    FuseNeeds n = {.memory = i == w->c->root, .any = i == w->c->root};
    for (uint32_t k = w->first[id]; k < w->first[id + 1]; k++) {
        const HloInstruction *user = w->c->instructions[w->users[k]];
        const FuseRole role = w->roles[user->id];
        if (k > w->first[id] && w->users[k] == w->users[k - 1]) continue; /* all its operands were seen */
        n.any = true;
        if (role != FUSE_INLINE && role != FUSE_ROOT) {
            n.memory = true;
            WBB_PUSH(w->arena, &n.readers, user->id);
            continue;
        }
        for (uint32_t j = 0; j < w->uses[user->id].n; j++)
            for (uint32_t x = 0; x < user->n_operands; x++)
                if (user->operands[x] == i) {
                    FuseUse u = w->uses[user->id].items[j];
                    u.pos = operand_pos(w, user, x, &w->uses[user->id].items[j]);
                    u.serial *= times(w->arena, user, x, &u);
                    n.memory = n.memory || (is_read_anywhere(w, user, x) && !is_free(i));
                    add_use(w, &n, u);
                }
    }
    return n;
}

/* Kernels of n, each once; the first position of each. */
static FuseUses kernels_of(FuseWork *w, const FuseNeeds *n)
{
    FuseUses out = {0};
    for (uint32_t k = 0; k < n->uses.n; k++) {
        FuseUse u = n->uses.items[k];
        bool had = false;
        u.kernel = fuse_find(w, u.kernel);
        for (uint32_t j = 0; j < out.n; j++) had |= out.items[j].kernel == u.kernel;
        if (!had) WBB_PUSH(w->arena, &out, u);
    }
    return out;
}

/* --- prices ------------------------------------------------------------------------------------------------------- */
/* Elements of a value that a kernel computes at a position. Threads share no values: each of those that need an element
 * computes it, neighbours of one thread once. */
static double computed(const FuseWork *w, const FuseUse *u)
{
    const double n = fuse_count(&w->atoms, &u->pos);
    if (!u->pos.known) return n;
    const FuseKernel *k = &w->kernels.items[fuse_find(w, u->kernel)];
    return WBB_MAX(n, fuse_count(&w->atoms, &k->space) / w->rates->vector);
}

/* Everything that would be computed below a value if memory held nothing of it: instructions for all elements of each,
 * bytes of the values in memory that it reads, and how often more than once a thread computes elements of one. */
typedef struct {
    double work, bytes, serial;
    uint32_t leaves, n;
    bool whole; /* without reductions and what else is computed once */
} Cone;

static bool is_computed(const FuseWork *w, const HloInstruction *i);

/* Elements of operand k that n elements of i need, of a broadcast each element once; `same`: at the same index. */
static double elements_of_operand(WbbArena *a, const HloInstruction *i, uint32_t k, double n, bool *same)
{
    const double needed = hlo_needed(i, k, n, fuse_terms(a, i), same);
    return i->opcode == HLO_BROADCAST ? WBB_MIN(needed, (double)hlo_elements(i->operands[k]->shape)) : needed;
}

/* The operands of an instruction of the cone, which n elements of it need. Returns how many new ones are computed. */
static uint32_t add_operands(FuseWork *w, Cone *c, const HloInstruction *i, double n)
{
    uint32_t computed = 0;
    for (uint32_t k = 0; k < i->n_operands; k++) {
        const HloInstruction *x = i->operands[k];
        if (fuse_is_small_constant(x)) continue;
        bool same = false;
        const bool known = w->seen[x->id] == w->stamp, array = i->shape->type != SC_TUPLE && x->shape->type != SC_TUPLE;
        const double needed = array ? elements_of_operand(w->arena, i, k, n, &same) : 1;
        if (!known) w->most[x->id] = w->sum[x->id] = 0;
        w->seen[x->id] = w->stamp;
        if (same) w->most[x->id] = WBB_MAX(w->most[x->id], needed);
        else w->sum[x->id] += needed;
        if (known) continue;
        if (is_computed(w, x)) {
            computed++;
        } else {
            c->leaves++;
            c->bytes += fuse_bytes_read(w->arena, w->rates, i, k);
        }
    }
    return computed;
}

static Cone cone_of(FuseWork *w, const HloInstruction *of)
{
    Cone c = {.whole = true};
    uint32_t waiting = 1;
    w->seen[of->id] = ++w->stamp;
    w->most[of->id] = of->shape->type == SC_TUPLE ? 1 : (double)hlo_elements(of->shape), w->sum[of->id] = 0;
    for (uint32_t id = of->id + 1; id-- > 0 && waiting && c.whole;) { /* users before their operands */
        const HloInstruction *i = w->c->instructions[id];
        if (w->seen[id] != w->stamp || (i != of && !is_computed(w, i))) continue;
        const double all = i->shape->type == SC_TUPLE ? 1 : (double)hlo_elements(i->shape);
        const double needed = w->most[id] + w->sum[id], work = fuse_work(w->arena, w->rates, i);
        c.work += work * WBB_MAX(needed, all);
        if (work > 0 && needed > all) c.serial += needed / all - 1;
        c.whole = ++c.n <= w->rates->cone;
        waiting--;
        waiting += add_operands(w, &c, i, needed);
    }
    return c;
}

/* May several kernels compute it: is that no more than writing and reading it? `joins`: one of them can leave it in
 * memory. */
static bool again_is_cheaper(FuseWork *w, const HloInstruction *i, const FuseUses *kernels, bool joins)
{
    const FuseRates *r = w->rates;
    if (is_free(i)) {
        say(w, i, "computed again in %u kernels: it costs nothing", kernels->n);
        return true;
    }
    const Cone c = cone_of(w, i);
    if (!c.whole || c.leaves > r->leaves) {
        say(w, i, "computed once: below it are %u operations or more, which read %u values or more", c.n, c.leaves);
        return false;
    }
    const double bytes = (double)hlo_bytes(i->shape), elements = WBB_MAX((double)hlo_elements(i->shape), 1);
    const double n = kernels->n;
    const double chain = c.serial * r->wait;
    double again = 0;
    for (uint32_t k = 0; k < kernels->n; k++) {
        const double part = computed(w, &kernels->items[k]) / elements;
        again += fuse_time(r, part * c.work, c.bytes, chain);
    }
    const double joined = fuse_time(r, c.work, c.bytes + bytes, chain) + (n - 1) * bytes * r->byte;
    const double once = fuse_time(r, c.work, c.bytes + bytes, chain) + n * bytes * r->byte + r->launch;
    const bool cheaper = fuse_choose(w, i, FUSE_AGAIN, joins ? again + r->tie * r->launch <= joined : again <= once);
    say(w, i, "computed %s: %.2f us in all %u kernels, %.2f us once and through memory", cheaper ? "again" : "once",
        again * 1e6, kernels->n, (joins ? joined : once) * 1e6);
    return cheaper;
}

/* --- roles -------------------------------------------------------------------------------------------------------- */
/* A reduction of so few elements that a thread computes it for each result that it needs. */
static bool is_small(const FuseWork *w, const HloInstruction *i)
{
    return i->opcode == HLO_REDUCE && i->shape->type != SC_TUPLE && !w->alone[i->id] &&
           fuse_work(w->arena, w->rates, i) <= w->rates->straight;
}

/* Kernels in which nothing follows it. */
static bool is_last(const HloInstruction *i)
{
    HloScan scan;
    const bool folds = hlo_kind(i->opcode) == HLO_IS_FOLD;
    return fuse_is_whole(i) || (folds && i->shape->type == SC_TUPLE) || hlo_is_scan(i, &scan);
}

/* What only a loop in a kernel needs: the loop, its state and elements. */
static bool is_of_loop(const FuseWork *w, const HloInstruction *i) { return w->loop[i->id] != NULL; }

static FuseRole role_of(const FuseWork *w, const HloInstruction *i)
{
    if (is_of_loop(w, i) || i->opcode == HLO_SORT) return FUSE_ROOT;
    return fuse_first_role(i);
}

/* Not in memory for another user, and not the root of a kernel of its own in any case. */
static bool is_computed(const FuseWork *w, const HloInstruction *i)
{
    if (i->id >= w->decided) return w->roles[i->id] == FUSE_INLINE;
    for (uint32_t k = w->first[i->id]; k < w->first[i->id + 1]; k++) {
        const FuseRole role = w->roles[w->users[k]];
        if (w->users[k] >= w->decided && role != FUSE_INLINE && role != FUSE_ROOT) return false;
    }
    return role_of(w, i) == FUSE_ROOT && !is_last(i) && (i->opcode != HLO_REDUCE || is_small(w, i));
}

/* --- decisions ---------------------------------------------------------------------------------------------------- */
/* Kernels that read a value at the same position become one, where they may. */
static void merge_all(FuseWork *w, const HloInstruction *i, const FuseNeeds *n)
{
    FuseUses kernels = kernels_of(w, n), out = {0};
    for (uint32_t k = 0; k < kernels.n && k < w->rates->readers; k++) {
        const FuseUse *y = &kernels.items[k];
        bool merged = false;
        for (uint32_t j = 0; j < out.n && !merged; j++) {
            FuseUse *x = &out.items[j];
            const char *name = fuse_kernel_name(w, x->kernel), *other = fuse_kernel_name(w, y->kernel);
            const char *why = fuse_merge(w, x->kernel, y->kernel, &x->pos, &y->pos);
            merged = !why;
            if (merged) say(w, i, "the kernels of %s and %s, which need it, become one", name, other);
            else say(w, i, "the kernels of %s and %s, which need it, stay two: %s", name, other, why);
            if (merged) x->kernel = fuse_find(w, x->kernel);
        }
        if (!merged) WBB_PUSH(w->arena, &out, *y);
    }
}

/* Is a position at least the results of a kernel? Kernels that read the same scalar are no siblings. */
static bool is_wide(const FuseWork *w, const FuseUse *u)
{
    const FuseKernel *k = &w->kernels.items[fuse_find(w, u->kernel)];
    const FusePos results = k->hero ? fuse_kept(w, k) : k->space;
    const double n = u->pos.known ? fuse_count(&w->atoms, &u->pos) : 0;
    return n > 1 && n >= fuse_count(&w->atoms, &results);
}

static void merge_siblings(FuseWork *w, const HloInstruction *i, const FuseNeeds *n)
{
    FuseNeeds wide = {0};
    for (uint32_t k = 0; k < n->uses.n; k++)
        if (is_wide(w, &n->uses.items[k])) WBB_PUSH(w->arena, &wide.uses, n->uses.items[k]);
    if (wide.uses.n > 1 && fuse_choose(w, i, FUSE_JOIN, true)) merge_all(w, i, &wide);
}

static void leave_in(FuseWork *w, const HloInstruction *i, uint32_t kernel, const FuseNeeds *n)
{
    FuseNeeds own = {0};
    for (uint32_t k = 0; k < n->uses.n; k++)
        if (fuse_find(w, n->uses.items[k].kernel) == kernel) WBB_PUSH(w->arena, &own.uses, n->uses.items[k]);
    w->roles[i->id] = FUSE_ROOT;
    w->kernel[i->id] = kernel;
    fuse_compute(w, i, &own);
    fuse_decided(w, i->id); /* from here on a reader of it waits for the kernel */
    WBB_PUSH(w->arena, &w->kernels.items[kernel].roots, i->id);
}

/* A kernel that can leave the value in memory; UINT32_MAX: none. A reduction has to share its rows. does: it will, and
 * may have a reduction from then on. */
static uint32_t kernel_that_leaves(FuseWork *w, const HloInstruction *i, const FuseNeeds *n, bool does)
{
    const FuseUses kernels = kernels_of(w, n);
    for (uint32_t k = 0; k < kernels.n; k++) {
        const FuseUse *u = &kernels.items[k];
        if (w->kernels.items[u->kernel].members.n >= w->rates->members || is_last(i)) continue;
        if (i->opcode != HLO_REDUCE || is_small(w, i)) {
            if (!fuse_leaves(w, u->kernel, n) || (does && fuse_leaves_rows(w, u->kernel, i, n))) return u->kernel;
        }
        if (i->opcode != HLO_REDUCE) continue;
        bool once = true;
        FuseUses others = {0};
        for (uint32_t j = 0; j < n->uses.n; j++) {
            const FuseUse *o = &n->uses.items[j];
            if (fuse_find(w, o->kernel) != u->kernel) WBB_PUSH(w->arena, &others, *o);
            else once = once && fuse_same_pos(&w->atoms, &o->pos, &u->pos);
        }
        if (once && w->kernels.items[u->kernel].roots.n < w->rates->roots &&
            !fuse_waits_for(w, u->kernel, &others, &n->readers) && !fuse_share(w, u->kernel, i, &u->pos))
            return u->kernel;
    }
    return UINT32_MAX;
}

/* Seconds of reading an array again: where what the kernel needs of a value is made of results of rows that are the
 * kernel's own, another kernel would have to read these rows. 0: it is not. */
static double rows_again(FuseWork *w, const HloInstruction *i, const FuseKernel *k)
{
    const uint32_t most = w->rates->look;
    const HloInstruction **stack = WBB_NEW_N(w->arena, const HloInstruction *, most + 1);
    const double space = fuse_count(&w->atoms, &k->space);
    uint32_t n = 1, steps = 0;
    stack[0] = i;
    while (n && steps++ < most) {
        const HloInstruction *x = stack[--n];
        if (x->opcode == HLO_REDUCE && x->shape->type != SC_TUPLE &&
            (double)hlo_elements(x->operands[0]->shape) == space && !w->alone[x->id])
            return (double)hlo_bytes(x->operands[0]->shape) * w->rates->byte;
        const bool same = hlo_is_elementwise(x->opcode) || hlo_has(x->opcode, HLO_IN_ORDER);
        for (uint32_t o = 0; o < x->n_operands && same && n < most; o++) stack[n++] = x->operands[o];
    }
    return 0;
}

/* One kernel needs it: may it compute it? */
static bool goes_into(FuseWork *w, const HloInstruction *i, const FuseNeeds *n)
{
    const FuseUse *u = &n->uses.items[0];
    const FuseKernel *k = &w->kernels.items[fuse_find(w, u->kernel)];
    if (is_of_loop(w, i)) return true;
    if (is_last(i) || k->members.n >= w->rates->members) {
        say(w, i, "not in the kernel of %s: %s", fuse_kernel_name(w, u->kernel),
            is_last(i) ? "nothing follows it in a kernel" : "that has as many operations as it may have");
        return false;
    }
    if (i->opcode == HLO_REDUCE && k->fixed) {
        say(w, i, "not in the kernel of %s: an update that waits for it would not be in place",
            fuse_kernel_name(w, u->kernel));
        return false;
    }
    if (i->opcode == HLO_REDUCE && !fuse_choose(w, i, FUSE_INTO, true)) return false;
    if (i->opcode == HLO_REDUCE) {
        const char *why = n->uses.n > 1 ? "that needs its results at several positions"
                                        : fuse_share(w, fuse_find(w, u->kernel), i, &u->pos);
        if (!why) return true;
        if (!is_small(w, i)) {
            say(w, i, "not in the kernel of %s: %s", fuse_kernel_name(w, u->kernel), why);
            return false;
        }
    }
    double again = -(double)hlo_elements(i->shape), serial = -1;
    for (uint32_t j = 0; j < n->uses.n; j++) {
        again += computed(w, &n->uses.items[j]);
        serial += n->uses.items[j].serial;
    }
    const double work = WBB_MAX(again, 0) * fuse_work(w->arena, w->rates, i);
    const double chain = WBB_MAX(serial, 0) * w->rates->wait;
    const double more = fuse_time(w->rates, work, 0, chain);
    double memory = 2 * (double)hlo_bytes(i->shape) * w->rates->byte + w->rates->launch;
    if (n->uses.items[0].pos.known && n->uses.n == 1) memory += rows_again(w, i, k);
    const bool yes = is_free(i) || more <= memory;
    if (i->opcode == HLO_REDUCE ? yes : fuse_choose(w, i, FUSE_INTO, yes)) return true;
    say(w, i, "not in the kernel of %s: elements that %s would compute again take %.2f us, memory %.2f us",
        fuse_kernel_name(w, u->kernel), work * w->rates->slot < chain ? "one thread" : "it", more * 1e6, memory * 1e6);
    return false;
}

/* Do library calls alone, and kernels, read a value in memory, or views of it? */
static bool is_for_calls(const FuseWork *w, uint32_t id)
{
    bool is = w->c->root->id != id;
    for (uint32_t u = w->first[id]; u < w->first[id + 1] && is; u++) {
        const FuseRole role = w->roles[w->users[u]];
        is = role == FUSE_INLINE || role == FUSE_ROOT || role == FUSE_LIBRARY ||
             (role == FUSE_ALIAS && is_for_calls(w, w->users[u]));
    }
    return is;
}

/* Is it a part of an array in memory, which library calls read there? */
static bool is_part_for_calls(const FuseWork *w, const HloInstruction *i, const FuseNeeds *n)
{
    const HloInstruction *of = i;
    FuseSlab part;
    if (!n->readers.n || !fuse_is_slab(i, w->runs, &part) || !is_for_calls(w, i->id)) return false;
    do of = of->operands[0];
    while (fuse_is_view(of));
    return (of->opcode == HLO_PARAMETER || of->opcode == HLO_GET_TUPLE_ELEMENT) && !w->loop[of->id];
}

static void compute_in(FuseWork *w, const HloInstruction *i, const FuseNeeds *n)
{
    w->roles[i->id] = FUSE_INLINE;
    fuse_compute(w, i, n);
}

/* --- moves of the walk -------------------------------------------------------------------------------------------- */
static bool place_join(FuseWork *w, const HloInstruction *i, FuseNeeds *n)
{
    if (n->memory || is_last(i) || kernels_of(w, n).n < 2) return false;
    merge_siblings(w, i, n);
    *n = needs_of(w, i->id); /* positions that were different may be the same */
    return false;
}

static bool place_into(FuseWork *w, const HloInstruction *i, FuseNeeds *n)
{
    if (n->memory || kernels_of(w, n).n != 1 || !goes_into(w, i, n)) return false;
    say(w, i, "in the kernel of %s", fuse_kernel_name(w, n->uses.items[0].kernel));
    compute_in(w, i, n);
    return true;
}

static bool place_again(FuseWork *w, const HloInstruction *i, FuseNeeds *n)
{
    const FuseUses kernels = kernels_of(w, n);
    if (n->memory || kernels.n < 2 || is_last(i) || (i->opcode == HLO_REDUCE && !is_small(w, i))) return false;
    const bool joins = kernel_that_leaves(w, i, n, false) != UINT32_MAX;
    if (!is_of_loop(w, i) && !again_is_cheaper(w, i, &kernels, joins)) return false;
    compute_in(w, i, n);
    return true;
}

static bool place_leave(FuseWork *w, const HloInstruction *i, FuseNeeds *n)
{
    if (w->rates->edges[FUSE_LEAVE].off) return false;
    const bool alone = fuse_is_other(w, i, FUSE_LEAVE);
    const uint32_t joins = alone ? UINT32_MAX : kernel_that_leaves(w, i, n, true);
    if (alone || joins != UINT32_MAX) fuse_put_point(w, i, FUSE_LEAVE, !alone);
    if (joins == UINT32_MAX) return false;
    say(w, i, "left in memory by the kernel of %s", fuse_kernel_name(w, joins));
    leave_in(w, i, joins, n);
    return true;
}

const FuseMove fuse_move_join = {.place = place_join, .read = merge_siblings}, fuse_move_into = {.place = place_into},
               fuse_move_again = {.place = place_again}, fuse_move_leave = {.place = place_leave};

#define EDGE(move, choice, name) &fuse_move_##move,
static const FuseMove *const moves[FUSE_CHOICES] = {
#include "strategies.def"
};
#undef EDGE
#define EDGE(move, choice, name) name,
const char *const fuse_choice_name[FUSE_CHOICES] = {
#include "strategies.def"
};
#undef EDGE

/* Kernels read a value in memory: a library may make it, whose result another one of these needs. */
static void read_from_memory(FuseWork *w, const HloInstruction *i, const FuseNeeds *n)
{
    for (uint32_t k = 0; k < FUSE_CHOICES; k++)
        if (moves[k]->read) moves[k]->read(w, i, n);
}

static void decide_computed(FuseWork *w, const HloInstruction *i)
{
    FuseNeeds n = needs_of(w, i->id);
    bool placed = false;
    if (!n.any) {
        w->roles[i->id] = FUSE_NOTHING; /* dead */
        return;
    }
    if (n.memory && (fuse_is_view(i) || is_part_for_calls(w, i, &n))) {
        w->roles[i->id] = FUSE_ALIAS;
        return;
    }
    for (uint32_t k = 0; k < FUSE_CHOICES && !placed; k++) placed = moves[k]->place && moves[k]->place(w, i, &n);
    if (!placed) {
        say(w, i, "a kernel of its own%s", n.memory ? ": memory must hold it" : "");
        fuse_new_kernel(w, i);
        fuse_decided(w, i->id);
    }
    if (w->roles[i->id] == FUSE_ROOT) read_from_memory(w, i, &n);
}

/* Is it a result of a loop that a thread stores step by step? */
static bool is_of_steps(const FuseWork *w, const HloInstruction *i)
{
    return i->opcode == HLO_GET_TUPLE_ELEMENT && w->loop[i->id] && w->loop[i->id]->steps;
}

/* All results of such a loop are outputs of one kernel, which has no others. */
static void decide_step_result(FuseWork *w, const HloInstruction *i)
{
    const HloInstruction *loop = i->operands[0];
    FuseNeeds own = {0};
    w->roles[i->id] = FUSE_NOTHING; /* dead, unless it is needed */
    if (!needs_of(w, i->id).any) return;
    for (uint32_t k = 0; k < w->kernels.n && !own.uses.n; k++) {
        if (w->kernels.items[k].into) continue;
        const HloInstruction *root = w->c->instructions[w->kernels.items[k].roots.items[0]];
        const FuseUse use = {.kernel = k, .serial = 1, .pos = {.count = (double)hlo_elements(i->shape)}};
        if (is_of_steps(w, root) && root->operands[0] == loop) WBB_PUSH(w->arena, &own.uses, use);
    }
    if (own.uses.n) {
        leave_in(w, i, own.uses.items[0].kernel, &own);
        return;
    }
    if (w->loop[loop->id]->mixed) say(w, i, "a kernel of its own, whose threads hold several elements of the state");
    else say(w, i, "a kernel of its own, which stores the results of each iteration");
    w->roles[i->id] = FUSE_ROOT;
    const uint32_t kernel = fuse_new_kernel(w, i);
    w->kernels.items[kernel].fixed = true;
}

static void decide(FuseWork *w, uint32_t id)
{
    const HloInstruction *i = w->c->instructions[id];
    w->roles[id] = role_of(w, i);
    fuse_decided(w, id + 1);
    if (is_of_steps(w, i)) {
        decide_step_result(w, i);
    } else if (w->roles[id] == FUSE_ROOT) {
        decide_computed(w, i);
    } else {
        const FuseNeeds n = needs_of(w, id);
        if (n.uses.n > 1 && i->shape->type != SC_TUPLE) read_from_memory(w, i, &n);
    }
}

/* --- groups ------------------------------------------------------------------------------------------------------- */
FuseGrouping fuse_group(WbbCx *cx, WbbArena *a, const HloComputation *c, const FuseRates *rates, const FuseGiven *given,
                        WbbBuf *explain)
{
    WbbArena *scratch = wbb_arena_new(cx);
    const uint32_t n = c->n_instructions;
    FuseWork w = {.cx = cx, .arena = scratch, .c = c, .rates = rates, .alone = given->alone, .apart = given->apart,
                  .other = given->other, .prices = given->prices, .decided = n, .explain = explain};
    w.roles = WBB_NEW_N(a, FuseRole, n + 1);
    w.loop = WBB_NEW_N(scratch, const FuseLoop *, n + 1);
    w.uses = WBB_NEW_N(scratch, FuseUses, n + 1);
    w.kernel = WBB_NEW_N(scratch, uint32_t, n + 1);
    w.seen = WBB_NEW_N(scratch, uint32_t, n + 1);
    w.seen_kernel = WBB_NEW_N(scratch, uint32_t, n + 1);
    w.most = WBB_NEW_N(scratch, double, n + 1), w.sum = WBB_NEW_N(scratch, double, n + 1);
    w.atoms.arena = scratch, w.atoms.sight = given->sight;
    w.runs = given->runs;
    fuse_find_users(w.arena, w.c, &w.first, &w.users);
    fuse_find_loops(&w);
    for (uint32_t k = 0; k < FUSE_CHOICES; k++)
        if (moves[k]->loops && !rates->edges[k].off) moves[k]->loops(&w);
    for (uint32_t id = n; id-- > 0;) decide(&w, id);
    for (uint32_t k = 0; k < FUSE_CHOICES; k++)
        if (moves[k]->merge && !rates->edges[k].off) moves[k]->merge(&w);
    FuseGrouping out = {.roles = w.roles, .groups = WBB_NEW_N(a, FuseGroup, w.kernels.n + 1),
                        .mixed = WBB_NEW_N(a, bool, n + 1),
                        .points = WBB_NEW_N(a, FusePoint, w.points.n + 1), .n_points = w.points.n,
                        .merged = w.merged};
    for (uint32_t k = 0; k < n; k++) out.mixed[k] = w.loop[k] && w.loop[k]->mixed;
    for (uint32_t k = 0; k < w.points.n; k++) out.points[k] = w.points.items[k];
    for (uint32_t k = 0; k < w.kernels.n; k++)
        if (!w.kernels.items[k].into) out.groups[out.n_groups++] = fuse_group_of(&w, a, &w.kernels.items[k]);
    wbb_arena_free(scratch);
    return out;
}

void fuse_move_calls(WbbCx *cx, WbbArena *a, const HloComputation *c, const FuseHow *how, FuseGrouping *g,
                     WbbBuf *explain)
{
    for (uint32_t k = 0; k < FUSE_CHOICES; k++)
        if (moves[k]->calls && !how->rates.edges[k].off) moves[k]->calls(cx, a, c, how, g, explain);
}
