/* small: a kernel that takes little more than its launch becomes part of one that it shares a value with, by price.
 *
 * Needs: all kernels of a computation, and what kernels take. Leaves: fewer of them. Spaces may be different: the
 * planner knows what a kernel takes whose outputs have several. One may read what the other leaves, unless it also
 * waits for it through a third step; what nobody else needs then goes through registers.
 *
 *     h' = f(h, c)  ys' = dynamic-update-slice(ys, h', i)  i' = add(i, 1)      of a loop: three kernels become one
 */
#include "fuse/kernels.h"

typedef struct {
    FuseWork *w;
    double *seconds;  /* [kernel] < 0: not asked yet; 0: not known */
    uint32_t *marked; /* [id] stamp: the kernel at hand reads it, or leaves it */
    uint32_t stamp;
} Small;

static const HloInstruction *item(const FuseWork *w, const FuseIds *ids, uint32_t k)
{
    return w->c->instructions[ids->items[k]];
}

static double seconds(Small *s, uint32_t kernel)
{
    if (s->seconds[kernel] < 0) s->seconds[kernel] = fuse_kernel_seconds(s->w, &s->w->kernels.items[kernel]);
    return s->seconds[kernel];
}

/* A slice of an array is written, in the memory of the array. */
static bool is_update(const HloInstruction *i) { return i->opcode == HLO_DYNAMIC_UPDATE_SLICE; }

/* May it have outputs of other spaces? What a scatter, a scan or a sort is may not, nor a loop whose threads have one
 * element each. */
static bool is_open(const FuseWork *w, const FuseKernel *k)
{
    const HloInstruction *root = item(w, &k->roots, 0);
    return !k->into && (!k->fixed || is_update(root) || (w->loop[root->id] && w->loop[root->id]->mixed));
}

/* The value whose memory it has. */
static const HloInstruction *memory_of(const FuseWork *w, const HloInstruction *i)
{
    while (w->roles[i->id] == FUSE_ALIAS) i = i->operands[0];
    return i;
}

/* Does one of the kernels read the array that the other one updates in place? Other blocks might have written there. */
static bool reads_updated(const FuseWork *w, const FuseKernel *k, const FuseKernel *by)
{
    for (uint32_t r = 0; r < by->roots.n; r++) {
        const HloInstruction *u = item(w, &by->roots, r);
        if (!is_update(u)) continue;
        for (uint32_t m = 0; m < k->members.n; m++)
            for (uint32_t o = 0; o < item(w, &k->members, m)->n_operands; o++)
                if (memory_of(w, item(w, &k->members, m)->operands[o]) == memory_of(w, u->operands[0])) return true;
    }
    return false;
}

/* Does a loop in one of the kernels begin with what the other one leaves? It would compute that in each iteration. */
static bool loops_over(const FuseWork *w, const FuseKernel *k, const FuseKernel *by)
{
    for (uint32_t m = 0; m < k->members.n; m++) {
        const HloInstruction *i = item(w, &k->members, m);
        if (!w->loop[i->id] || i->shape->type != SC_TUPLE) continue;
        for (uint32_t o = 0; o < i->n_operands; o++)
            for (uint32_t r = 0; r < by->roots.n; r++)
                if (i->operands[o]->id == by->roots.items[r]) return true;
    }
    return false;
}

/* Marks what a kernel reads and what it leaves. */
static void mark(Small *s, const FuseKernel *k)
{
    s->stamp++;
    for (uint32_t m = 0; m < k->members.n; m++)
        for (uint32_t o = 0; o < item(s->w, &k->members, m)->n_operands; o++)
            s->marked[item(s->w, &k->members, m)->operands[o]->id] = s->stamp;
    for (uint32_t r = 0; r < k->roots.n; r++) s->marked[k->roots.items[r]] = s->stamp;
}

/* Does a kernel read what is marked, or leave it? */
static bool is_near(const Small *s, const FuseKernel *k)
{
    for (uint32_t r = 0; r < k->roots.n; r++)
        if (s->marked[k->roots.items[r]] == s->stamp) return true;
    for (uint32_t m = 0; m < k->members.n; m++)
        for (uint32_t o = 0; o < item(s->w, &k->members, m)->n_operands; o++) {
            const HloInstruction *x = item(s->w, &k->members, m)->operands[o];
            if (s->marked[x->id] == s->stamp && s->w->roles[x->id] != FUSE_INLINE && !fuse_is_small_constant(x))
                return true;
        }
    return false;
}

/* Has each of its results one element, as the counter of a loop? Such a kernel may join any other one. */
static bool is_single(const FuseWork *w, const FuseKernel *k)
{
    bool single = true;
    for (uint32_t r = 0; r < k->roots.n && single; r++) {
        const HloShape *s = item(w, &k->roots, r)->shape;
        single = s->type != SC_TUPLE && hlo_elements(s) == 1;
    }
    return single;
}

/* Does anything but members of these kernels need it? They have the stamp. */
static bool is_needed(const FuseWork *w, uint32_t id, const FuseKernel *x, const FuseKernel *y)
{
    if (w->c->instructions[id] == w->c->root) return true;
    for (uint32_t u = w->first[id]; u < w->first[id + 1]; u++) {
        const uint32_t user = w->users[u];
        if (w->seen[user] != w->stamp || w->roles[user] == FUSE_NOTHING) return true;
        for (uint32_t k = 0; k < w->uses[user].n; k++) { /* another kernel may compute the user, too */
            const FuseKernel *of = &w->kernels.items[fuse_find(w, w->uses[user].items[k].kernel)];
            if (of != x && of != y) return true;
        }
    }
    return false;
}

/* The kernel that both become: it leaves what others need. */
static FuseKernel both(FuseWork *w, const FuseKernel *x, const FuseKernel *y)
{
    FuseKernel all = fuse_both(w, x, y);
    uint32_t n = 0;
    w->stamp++;
    for (uint32_t k = 0; k < all.members.n; k++) w->seen[all.members.items[k]] = w->stamp;
    for (uint32_t k = 0; k < all.roots.n; k++)
        if (is_needed(w, all.roots.items[k], x, y)) all.roots.items[n++] = all.roots.items[k];
    all.roots.n = n;
    return all;
}

static bool has_scan(const FuseWork *w, const FuseKernel *k)
{
    bool scans = false;
    HloScan scan;
    for (uint32_t m = 0; m < k->members.n; m++) scans = scans || hlo_is_scan(item(w, &k->members, m), &scan);
    return scans;
}

/* Threads that share a reduction do not share a scan: each would take all terms of each prefix by itself. */
static bool scans_in_reduction(const FuseWork *w, const FuseKernel *a, const FuseKernel *b)
{
    return (a->hero && has_scan(w, b)) || (b->hero && has_scan(w, a));
}

static bool may_become_one(FuseWork *w, uint32_t x, uint32_t y)
{
    const FuseKernel *a = &w->kernels.items[x], *b = &w->kernels.items[y];
    if (a->roots.n + b->roots.n > w->rates->roots || a->members.n + b->members.n > w->rates->members) return false;
    if (scans_in_reduction(w, a, b)) return false;
    if (reads_updated(w, a, b) || reads_updated(w, b, a) || loops_over(w, a, b) || loops_over(w, b, a)) return false;
    return !fuse_waits_through(w, x, y) && !fuse_waits_through(w, y, x);
}

/* Makes kernel y a part of x, if one takes less time. */
static bool merge(Small *s, uint32_t x, uint32_t y)
{
    FuseWork *w = s->w;
    const double of_x = seconds(s, x), of_y = seconds(s, y), least = (of_x + of_y) * w->rates->edges[FUSE_SMALL].save;
    if (of_x <= 0 || of_y <= least || !may_become_one(w, x, y)) return false; /* all of y is too little to save */
    const FuseKernel all = both(w, &w->kernels.items[x], &w->kernels.items[y]);
    const double one = fuse_kernel_seconds(w, &all);
    if (one <= 0 || one > of_x + of_y - least) return false;
    if (!fuse_choose(w, item(w, &w->kernels.items[y].roots, 0), FUSE_SMALL, true)) return false;
    w->merged = true;
    if (w->explain)
        wbb_putf(w->explain, "  the kernel of %s becomes part of that of %s: %.2f us for %.2f us\n",
                 fuse_kernel_name(w, y), fuse_kernel_name(w, x), one * 1e6, (of_x + of_y) * 1e6);
    fuse_append(w, y, x);
    FuseKernel *k = &w->kernels.items[x];
    for (uint32_t r = 0; r < k->roots.n; r++) w->roles[k->roots.items[r]] = FUSE_INLINE;
    for (uint32_t r = 0; r < all.roots.n; r++) w->roles[all.roots.items[r]] = FUSE_ROOT;
    k->roots = all.roots, k->fixed = false; /* more may join it */
    s->seconds[x] = one;
    return true;
}

static void merge_small(FuseWork *w)
{
    if (!w->prices) return;
    Small s = {.w = w, .seconds = WBB_NEW_N(w->arena, double, w->kernels.n + 1),
               .marked = WBB_NEW_N(w->arena, uint32_t, w->c->n_instructions + 1)};
    const double small = w->rates->small * w->rates->launch;
    for (uint32_t k = 0; k < w->kernels.n; k++) s.seconds[k] = -1;
    for (uint32_t y = 0; y < w->kernels.n; y++) {
        if (!is_open(w, &w->kernels.items[y]) || !(seconds(&s, y) > 0) || seconds(&s, y) > small) continue;
        mark(&s, &w->kernels.items[y]);
        const bool single = is_single(w, &w->kernels.items[y]);
        for (uint32_t x = 0, tried = 0; x < w->kernels.n && tried < w->rates->partners; x++) {
            if (x == y || !is_open(w, &w->kernels.items[x])) continue;
            if (!single && !is_near(&s, &w->kernels.items[x])) continue;
            tried++;
            if (merge(&s, x, y)) break;
        }
    }
}

const FuseMove fuse_move_small = {.merge = merge_small};
