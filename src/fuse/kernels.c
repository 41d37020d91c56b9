/* kernels: the kernels of a computation while they grow: what they compute, what they wait for, which become one.
 *
 * Needs: positions. Leaves: kernels that no cycle of reads goes through. The walk of grouping.c goes from the last
 * instruction to the first, so what a kernel waits for is searched among later instructions than the one at hand: an
 * earlier one cannot need a later one.
 *
 *     y = sine(x)  z = cosine(x)     two kernels that read x at the same position, of which neither waits for the other
 */
#include "fuse/kernels.h"

uint32_t fuse_find(const FuseWork *w, uint32_t kernel)
{
    while (w->kernels.items[kernel].into) kernel = w->kernels.items[kernel].into - 1;
    return kernel;
}

static void add_member(FuseWork *w, uint32_t kernel, uint32_t id)
{
    FuseKernel *k = &w->kernels.items[kernel];
    const HloInstruction *i = w->c->instructions[id];
    WBB_PUSH(w->arena, &k->members, id);
    for (uint32_t p = 0; p < i->n_predecessors; p++) WBB_PUSH(w->arena, &k->waits, i->predecessors[p]->id);
}

static const HloShape *array_of(const HloShape *s) { return s->type == SC_TUPLE ? s->elements[0] : s; }

uint32_t fuse_new_kernel(FuseWork *w, const HloInstruction *root)
{
    const uint32_t n = w->kernels.n;
    FuseKernel k = {.space = fuse_new_pos(&w->atoms, array_of(root->shape))};
    FuseUse use = {.kernel = n, .pos = k.space, .serial = 1};
    if (root->opcode == HLO_REDUCE) {
        k.space = fuse_new_terms(&w->atoms, root, &k.space);
        k.hero = root;
        use.shares = k.space.known;
    } else {
        k.fixed = fuse_is_whole(root) || root->shape->type == SC_TUPLE;
    }
    WBB_PUSH(w->arena, &w->kernels, k);
    FuseKernel *made = &w->kernels.items[n];
    WBB_PUSH(w->arena, &made->roots, root->id);
    add_member(w, n, root->id);
    WBB_PUSH(w->arena, &w->uses[root->id], use);
    w->kernel[root->id] = n;
    return n;
}

void fuse_compute(FuseWork *w, const HloInstruction *i, const FuseNeeds *n)
{
    for (uint32_t k = 0; k < n->uses.n; k++) {
        FuseUse u = n->uses.items[k];
        bool had = false;
        u.kernel = fuse_find(w, u.kernel);
        u.shares = i->opcode == HLO_REDUCE && w->kernels.items[u.kernel].hero && u.pos.known &&
                   fuse_fits_terms(&w->atoms, i, &u.pos, &w->kernels.items[u.kernel].space);
        for (uint32_t j = 0; j < w->uses[i->id].n; j++) had |= w->uses[i->id].items[j].kernel == u.kernel;
        WBB_PUSH(w->arena, &w->uses[i->id], u);
        if (!had) add_member(w, u.kernel, i->id);
    }
}

/* --- what a kernel waits for -------------------------------------------------------------------------------------- */
typedef struct {
    FuseWork *w;
    FuseIds kernels, calls;  /* whose operands are to be seen: kernels; instructions that are in none */
    const FuseUses *targets; /* NULL: all kernels that are met go into `met` */
    const FuseIds *instructions;
    uint64_t *met;
    uint32_t steps;
} Walk;

/* Of a kernel: for which others it waits, as a bit for each. */
struct FuseReach {
    uint64_t *bits;
    uint32_t version, words; /* of what waits for what, when this was found; room */
    bool all; /* the walk was too long: it may wait for any */
};

static bool is_target(const Walk *x, uint32_t kernel)
{
    if (x->met) x->met[kernel / 64] |= UINT64_C(1) << kernel % 64;
    for (uint32_t k = 0; x->targets && k < x->targets->n; k++)
        if (fuse_find(x->w, x->targets->items[k].kernel) == kernel) return true;
    return false;
}

static void open_kernel(Walk *x, uint32_t kernel)
{
    FuseWork *w = x->w;
    if (w->seen_kernel[kernel] == w->stamp) return;
    w->seen_kernel[kernel] = w->stamp;
    WBB_PUSH(w->arena, &x->kernels, kernel);
}

/* A value that is waited for. Returns true where the walk is over. */
static bool meet(Walk *x, uint32_t id)
{
    FuseWork *w = x->w;
    if (id < w->decided || w->seen[id] == w->stamp || w->roles[id] == FUSE_INLINE) return false;
    w->seen[id] = w->stamp;
    for (uint32_t k = 0; x->instructions && k < x->instructions->n; k++)
        if (x->instructions->items[k] == id) return true;
    if (w->roles[id] == FUSE_ROOT) {
        const uint32_t kernel = fuse_find(w, w->kernel[id]);
        if (is_target(x, kernel)) return true;
        open_kernel(x, kernel);
    } else {
        WBB_PUSH(w->arena, &x->calls, id);
    }
    return ++x->steps > w->rates->walk; /* then it is as if the kernel waited */
}

static bool meet_operands(Walk *x, const HloInstruction *i)
{
    bool found = false;
    for (uint32_t k = 0; !found && k < i->n_operands; k++) found = meet(x, i->operands[k]->id);
    for (uint32_t k = 0; !found && k < i->n_predecessors; k++) found = meet(x, i->predecessors[k]->id);
    return found;
}

/* The values that a kernel waits for, but for what another one leaves. */
static bool meet_waits(Walk *x, uint32_t kernel, uint32_t other)
{
    const FuseWork *w = x->w;
    const FuseIds *waits = &w->kernels.items[kernel].waits;
    bool found = false;
    for (uint32_t k = 0; k < waits->n && !found; k++) {
        const uint32_t id = waits->items[k];
        if (w->roles[id] != FUSE_ROOT || fuse_find(w, w->kernel[id]) != other) found = meet(x, id);
    }
    return found;
}

/* Walks back from a kernel; other: not by what this kernel reads of that one, UINT32_MAX: by all. Returns whether it
 * met what is looked for, or went too far. */
static bool walk(Walk *x, uint32_t kernel, uint32_t other)
{
    FuseWork *w = x->w;
    WbbArena *scratch = wbb_arena_new(w->cx), *arena = w->arena;
    bool found = false;
    w->arena = scratch;
    w->stamp++;
    w->seen_kernel[kernel] = w->stamp;
    found = meet_waits(x, kernel, other);
    while (!found && (x->kernels.n || x->calls.n)) {
        if (x->calls.n) found = meet_operands(x, w->c->instructions[x->calls.items[--x->calls.n]]);
        else found = meet_waits(x, x->kernels.items[--x->kernels.n], UINT32_MAX);
    }
    w->arena = arena;
    wbb_arena_free(scratch);
    return found;
}

/* Kernels that compute a reader of a value in memory wait for it. */
static void add_waits(FuseWork *w, uint32_t id)
{
    for (uint32_t u = w->first[id]; u < w->first[id + 1]; u++) {
        const FuseUses *in = &w->uses[w->users[u]];
        for (uint32_t k = 0; k < in->n; k++) {
            FuseIds *waits = &w->kernels.items[fuse_find(w, in->items[k].kernel)].waits;
            if (!waits->n || waits->items[waits->n - 1] != id) WBB_PUSH(w->arena, waits, id);
        }
    }
}

void fuse_decided(FuseWork *w, uint32_t id)
{
    for (uint32_t k = id; k < w->decided; k++) {
        if (w->roles[k] == FUSE_INLINE) continue;
        w->version++;
        add_waits(w, k);
    }
    w->decided = id;
}

/* Pairs of many kernels are asked for; each kernel is walked from once. */
static const struct FuseReach *reach_of(FuseWork *w, uint32_t kernel)
{
    if (kernel >= w->n_reach) {
        const uint32_t n = 2 * w->kernels.n + 1;
        w->reach = wbb_grow(w->arena, w->reach, w->n_reach * sizeof *w->reach, n * sizeof *w->reach);
        for (; w->n_reach < n; w->n_reach++) w->reach[w->n_reach] = (struct FuseReach){.version = UINT32_MAX};
    }
    struct FuseReach *r = &w->reach[kernel];
    if (r->version == w->version) return r;
    const uint32_t words = w->kernels.n / 64 + 1;
    if (words > r->words) r->bits = WBB_NEW_N(w->arena, uint64_t, words), r->words = words;
    for (uint32_t k = 0; k < r->words; k++) r->bits[k] = 0;
    Walk x = {.w = w, .met = r->bits};
    r->all = walk(&x, kernel, UINT32_MAX);
    r->version = w->version;
    return r;
}

bool fuse_waits_for(FuseWork *w, uint32_t kernel, const FuseUses *kernels, const FuseIds *instructions)
{
    Walk x = {.w = w, .targets = kernels, .instructions = instructions};
    if (instructions && instructions->n) return walk(&x, kernel, UINT32_MAX);
    const struct FuseReach *r = reach_of(w, kernel);
    bool waits = r->all;
    for (uint32_t k = 0; k < kernels->n; k++) {
        const uint32_t on = fuse_find(w, kernels->items[k].kernel);
        waits = waits || (r->bits[on / 64] >> on % 64 & 1);
    }
    return waits;
}

bool fuse_waits_through(FuseWork *w, uint32_t kernel, uint32_t on)
{
    const FuseUses uses = {.items = &(FuseUse){.kernel = on}, .n = 1};
    Walk x = {.w = w, .targets = &uses};
    return walk(&x, kernel, on);
}

/* --- kernels that become one -------------------------------------------------------------------------------------- */
FusePos fuse_kept(const FuseWork *w, const FuseKernel *k)
{
    const FusePos p = fuse_resolve(&w->atoms, &k->space);
    FusePos out = {.known = p.known};
    for (uint32_t j = 0; j < p.n; j++)
        if (!w->atoms.items[p.atoms[j]].reduced) out.atoms[out.n++] = p.atoms[j];
    return out;
}

/* Does x reduce the rows of arrays, and y sum up the same arrays' columns? A kernel of rows can do that, too. */
static bool are_across(const HloInstruction *x, const HloInstruction *y)
{
    GrMatrix rows, columns;
    return gr_reduces_rows(x, &rows) && gr_sums_columns(y, &columns) && rows.rows == columns.rows &&
           rows.columns == columns.columns;
}

/* Makes the spaces one; the kernel without a reduction may have the space of the other one's results. */
static bool join_spaces(FuseWork *w, const FuseKernel *x, const FuseKernel *y, FuseJoin *undo)
{
    if (fuse_join(&w->atoms, &x->space, &y->space, undo)) return true;
    if (!x->hero || y->hero) return false;
    const FusePos kept = fuse_kept(w, x);
    return fuse_join(&w->atoms, &kept, &y->space, undo);
}

void fuse_append(FuseWork *w, uint32_t from, uint32_t to)
{
    FuseKernel *x = &w->kernels.items[to], *y = &w->kernels.items[from];
    w->stamp++;
    for (uint32_t k = 0; k < x->members.n; k++) w->seen[x->members.items[k]] = w->stamp;
    for (uint32_t k = 0; k < y->members.n; k++)
        if (w->seen[y->members.items[k]] != w->stamp) WBB_PUSH(w->arena, &x->members, y->members.items[k]);
    for (uint32_t k = 0; k < y->roots.n; k++) WBB_PUSH(w->arena, &x->roots, y->roots.items[k]);
    for (uint32_t k = 0; k < y->waits.n; k++) WBB_PUSH(w->arena, &x->waits, y->waits.items[k]);
    x->across = x->across || y->across;
    y->into = to + 1;
    w->version++;
}

/* Why two kernels of one space do not become one, the quickest question first; NULL: they do. */
static const char *why_not(FuseWork *w, uint32_t x, uint32_t y, const FusePos *p, const FusePos *q)
{
    const FuseUses to_x = {.items = &(FuseUse){.kernel = x}, .n = 1}, to_y = {.items = &(FuseUse){.kernel = y}, .n = 1};
    if (!fuse_same_pos(&w->atoms, p, q)) return "their threads need other elements of it";
    if (fuse_waits_for(w, y, &to_x, NULL) || fuse_waits_for(w, x, &to_y, NULL)) return "one waits for the other";
    return !w->agrees || w->agrees(w, x, y) ? NULL : "one kernel takes no less time";
}

const char *fuse_merge(FuseWork *w, uint32_t x, uint32_t y, const FusePos *p, const FusePos *q)
{
    if (!w->kernels.items[x].hero && w->kernels.items[y].hero) {
        const uint32_t z = x;
        const FusePos *r = p;
        x = y, y = z, p = q, q = r;
    }
    const HloInstruction *of_x = w->kernels.items[x].hero, *of_y = w->kernels.items[y].hero;
    const bool others = of_x && of_y && !gr_same_reduced(of_x, of_y);
    if (others && are_across(of_y, of_x)) { /* the rows are those of the first */
        const uint32_t z = x;
        const FusePos *r = p;
        x = y, y = z, p = q, q = r;
    } else if (others && !are_across(of_x, of_y)) {
        return "they reduce other dimensions";
    }
    const FuseKernel *a = &w->kernels.items[x], *b = &w->kernels.items[y];
    FuseJoin undo;
    if (a->fixed || b->fixed) return "an update in place, a scatter or a sort has a kernel of its own";
    if (a->roots.n + b->roots.n > w->rates->roots || a->members.n + b->members.n > w->rates->members)
        return "one kernel would be too large";
    if (others && (w->apart[a->hero->id] || w->apart[b->hero->id])) return "rows and columns in one take no less time";
    if (!p->known || !q->known) return "their threads need other elements of it";
    if ((a->hero && w->alone[a->hero->id]) || (b->hero && w->alone[b->hero->id])) return "they do not compile together";
    if (!join_spaces(w, a, b, &undo)) return "their outputs are of other shapes";
    const char *why = why_not(w, x, y, p, q);
    if (why) {
        fuse_part(&w->atoms, &undo);
        return why;
    }
    fuse_append(w, y, x);
    w->kernels.items[x].across |= others;
    return NULL;
}

/* --- reductions and outputs --------------------------------------------------------------------------------------- */
static void set_reduced(FuseWork *w, const FusePos *space, const FusePos *kept, bool reduced)
{
    const FusePos p = fuse_resolve(&w->atoms, space), q = fuse_resolve(&w->atoms, kept);
    for (uint32_t k = 0; k < p.n; k++) {
        bool is_kept = false;
        for (uint32_t j = 0; j < q.n; j++) is_kept |= p.atoms[k] == q.atoms[j];
        if (!is_kept) w->atoms.items[p.atoms[k]].reduced = reduced;
    }
}

/* Are the terms of a reduction of the kernel relative to a number that follows from i, as squares of x - mean are? Rows
 * in pieces are read once for both, however long they are (src/plan/reductions.md). */
static bool is_base(FuseWork *w, const FuseKernel *k, const HloInstruction *i)
{
    if (!w->bases) w->bases = gr_bases(w->cx, w->arena, w->c);
    for (uint32_t j = 0; j < k->members.n; j++) {
        const HloInstruction *x = w->c->instructions[k->members.items[j]];
        if (w->bases[x->id] == i) return true;
    }
    return false;
}

const char *fuse_share(FuseWork *w, uint32_t kernel, const HloInstruction *i, const FusePos *at)
{
    FuseKernel *k = &w->kernels.items[kernel];
    if (k->fixed) return "an update in place, a scatter or a sort has a kernel of its own";
    if (i->shape->type == SC_TUPLE) return "it has several results";
    if (w->alone[i->id] || (k->hero && w->alone[k->hero->id])) return "they do not compile together";
    if (!at->known || !k->space.known) return "its results are needed at other positions than their own";
    if (k->hero) {
        const FusePos kept = fuse_kept(w, k);
        if (!gr_same_reduced(k->hero, i)) return "the kernel reduces other dimensions";
        if (!fuse_same_pos(&w->atoms, at, &kept) || !fuse_fits_terms(&w->atoms, i, at, &k->space))
            return "the kernel reduces other elements";
        if (!fuse_row_fits(w->rates, &w->atoms, &k->space) && !is_base(w, k, i))
            return "rows are so long and few that blocks would wait";
        return NULL;
    }
    if (fuse_same_pos(&w->atoms, at, &k->space)) { /* what follows has an element for each result */
        const FusePos terms = fuse_new_terms(&w->atoms, i, at);
        if (!terms.known) return "it has too many dimensions";
        k->space = terms, k->hero = i;
        return NULL;
    }
    if (!fuse_fits_terms(&w->atoms, i, at, &k->space)) return "its terms are not the elements of the kernel";
    set_reduced(w, &k->space, at, true);
    if (!fuse_row_fits(w->rates, &w->atoms, &k->space)) {
        set_reduced(w, &k->space, at, false);
        return "rows are so long and few that blocks would wait";
    }
    k->hero = i;
    return NULL;
}

const char *fuse_leaves(FuseWork *w, uint32_t kernel, const FuseNeeds *n)
{
    const FuseKernel *k = &w->kernels.items[kernel];
    const FusePos kept = fuse_kept(w, k);
    FuseUses others = {0};
    if (k->fixed) return "an update in place, a scatter or a sort has a kernel of its own";
    if (k->roots.n >= w->rates->roots) return "the kernel has as many outputs as it may have";
    for (uint32_t j = 0; j < n->uses.n; j++) {
        const FuseUse *u = &n->uses.items[j];
        if (fuse_find(w, u->kernel) != kernel) {
            WBB_PUSH(w->arena, &others, *u);
        } else if (!u->pos.known || !(fuse_same_pos(&w->atoms, &u->pos, &k->space) ||
                                      (k->hero && fuse_same_pos(&w->atoms, &u->pos, &kept)))) {
            return "the kernel needs other elements of it than its own";
        }
    }
    if (fuse_waits_for(w, kernel, &others, &n->readers)) return "the kernel waits for another user of it";
    return NULL;
}

/* The reduction that gives what i computes from results of rows, at the same position; its results are at *at then, as
 * i is. NULL: there is none. */
static const HloInstruction *rows_below(FuseWork *w, const HloInstruction *i, const FuseKernel *k, FusePos *at)
{
    typedef struct { const HloInstruction *i; FusePos at; } Open;
    const uint32_t few = w->rates->look;
    Open *stack = WBB_NEW_N(w->arena, Open, few + 1);
    uint32_t n = 1, steps = 0;
    stack[0].i = i, stack[0].at = *at;
    while (n && steps++ < few) {
        const HloInstruction *x = stack[--n].i;
        const FusePos of_x = stack[n].at;
        if (x->opcode == HLO_REDUCE && x->shape->type != SC_TUPLE && !w->alone[x->id] &&
            fuse_fits_terms(&w->atoms, x, &of_x, &k->space)) {
            *at = of_x;
            return x;
        }
        for (uint32_t o = 0; o < x->n_operands && n < few; o++) {
            const FusePos of = fuse_operand_pos(&w->atoms, x, o, &of_x);
            if (!of.known || !fuse_same_pos(&w->atoms, &of, &of_x) || x->operands[o]->id >= w->decided) continue;
            stack[n].i = x->operands[o], stack[n++].at = of;
        }
    }
    return NULL;
}

bool fuse_leaves_rows(FuseWork *w, uint32_t kernel, const HloInstruction *i, const FuseNeeds *n)
{
    const FuseKernel *k = &w->kernels.items[kernel];
    const FusePos *own = NULL;
    FuseUses others = {0};
    if (k->hero || k->fixed || k->roots.n >= w->rates->roots) return false;
    for (uint32_t j = 0; j < n->uses.n; j++) {
        const FuseUse *u = &n->uses.items[j];
        if (fuse_find(w, u->kernel) != kernel) WBB_PUSH(w->arena, &others, *u);
        else if (!u->pos.known || (own && !fuse_same_pos(&w->atoms, own, &u->pos))) return false;
        else own = &u->pos;
    }
    if (!own || fuse_waits_for(w, kernel, &others, &n->readers)) return false;
    FusePos at = *own;
    const HloInstruction *rows = rows_below(w, i, k, &at);
    return rows && !fuse_share(w, kernel, rows, &at);
}

/* --- groups ------------------------------------------------------------------------------------------------------- */
FuseGroup fuse_group_of(FuseWork *w, WbbArena *a, const FuseKernel *k)
{
    FuseGroup g = {.roots = WBB_NEW_N(a, const HloInstruction *, k->roots.n), .n_roots = k->roots.n};
    struct { const HloInstruction **items; uint32_t n, capacity; } members = {0};
    for (uint32_t j = 0; j < k->roots.n; j++) g.roots[j] = w->c->instructions[k->roots.items[j]];
    w->stamp++;
    for (uint32_t j = 0; j < k->members.n; j++) {
        const HloInstruction *i = w->c->instructions[k->members.items[j]];
        if (w->seen[i->id] == w->stamp) continue;
        w->seen[i->id] = w->stamp;
        WBB_PUSH(a, &members, i);
        for (uint32_t x = 0; x < i->n_operands; x++) {
            const HloInstruction *o = i->operands[x];
            if (w->seen[o->id] == w->stamp || !fuse_is_small_constant(o)) continue;
            w->seen[o->id] = w->stamp;
            WBB_PUSH(a, &members, o);
        }
    }
    fuse_sort(members.items, members.n);
    fuse_sort(g.roots, g.n_roots);
    g.members = members.items, g.n_members = members.n, g.across = k->across;
    return g;
}

static FuseIds joined(WbbArena *a, const FuseIds *x, const FuseIds *y)
{
    FuseIds all = {0};
    for (uint32_t k = 0; k < x->n; k++) WBB_PUSH(a, &all, x->items[k]);
    for (uint32_t k = 0; k < y->n; k++) WBB_PUSH(a, &all, y->items[k]);
    return all;
}

FuseKernel fuse_both(FuseWork *w, const FuseKernel *x, const FuseKernel *y)
{
    return (FuseKernel){.members = joined(w->arena, &x->members, &y->members), .across = x->across || y->across,
                        .roots = joined(w->arena, &x->roots, &y->roots)};
}

bool fuse_is_other(const FuseWork *w, const HloInstruction *i, FuseChoice what)
{
    return w->other[i->id * FUSE_CHOICES + what];
}

void fuse_put_point(FuseWork *w, const HloInstruction *i, FuseChoice what, bool yes)
{
    const FusePoint x = {i->id, what, yes};
    WBB_PUSH(w->arena, &w->points, x);
}

bool fuse_choose(FuseWork *w, const HloInstruction *i, FuseChoice what, bool yes)
{
    if (w->rates->edges[what].off) return false;
    yes = yes != fuse_is_other(w, i, what);
    fuse_put_point(w, i, what, yes);
    return yes;
}

const char *fuse_kernel_name(const FuseWork *w, uint32_t kernel)
{
    return w->c->instructions[w->kernels.items[fuse_find(w, kernel)].roots.items[0]]->name;
}

double fuse_kernel_seconds(FuseWork *w, const FuseKernel *k)
{
    WbbArena *scratch = wbb_arena_new(w->cx);
    const FuseGroup g = fuse_group_of(w, scratch, k);
    const double s = fuse_price(w->prices, &g);
    wbb_arena_free(scratch);
    return s;
}
