/* accesses.c: neighbouring elements that one scope loads are one access, and those that statements in a row store.
 *
 * Needs a selected kernel, whose placement says in which scopes each element is loaded; leaves loads of several
 * elements and their parts, and stores of several values, as wide as facts prove an aligned address: ptxas joins no
 * accesses. Of three neighbours four are loaded, where the buffer has them; what a wider load has is not loaded again.
 * Elements that only some of the scopes load stay alone. Where several outputs are stored to in turn, each is stored to
 * by itself first.
 *
 *     store %y[2*t], load %x[4*t]; store %y[2*t + 1], load %x[4*t + 1]
 *     =>  x = load.f32x2 %x[4*t]; store %y[2*t], pack(part<0>(x), part<1>(x))
 *
 *     load.u8x16 %x[16*t], load.u8x8 %x[16*t + 8]    =>   x = load.u8x16 %x[16*t], part.u8x8<8>(x)
 *     load.i4 %x[8*t] .. load.i4 %x[8*t + 7]         =>   x = load.i4x8 %x[8*t], part.i4<0>(x) ..
 */
#include "ir/module.h"
#include "ir/sums.h"
#include "rewrite/tables.h"
#include "vector/vector.h"

#include <stdlib.h>

enum { MOST_LANES = 32, MOST_STORES = 64 };

/* Loads whose elements are the same: a list by ref. */
typedef struct Alike {
    IrRef load;
    struct Alike *next;
} Alike;

/* Loads of one buffer in the same scopes, whose indices have the same terms, and constants between two multiples of the
 * number of elements in the widest access: a list by ref. */
typedef struct Within {
    IrRef load;
    uint32_t first; /* element, from the lower multiple on */
    struct Within *next;
} Within;
typedef struct {
    Within *loads, **end;
} Window;

/* Of a window the loads of as many elements. */
typedef struct {
    IrType type;
    uint32_t buffer, most; /* most: loads in the widest access */
    Alike *at[MOST_LANES];
} Group;

/* What becomes of a load: elements of another one. */
typedef struct {
    IrRef index; /* 0: it stays, or .. */
    IrRef within; /* .. are elements of this load, whatever becomes of it; 0: of none */
    uint32_t first;
    IrType all;
} Joined;

typedef struct {
    IrStmt *s;
    IrSplit split;
} Store;

typedef struct {
    IrKernel *k;
    IrGraph *g;
    WbbArena *arena;
    IrPlacement places;
    const bool *constant; /* by buffer */
    uint32_t vector_bytes;
    IrPlace *bound;       /* by ref: where the last of what an index depends on is bound */
    WbbMap windows;
    Joined *joined;       /* by ref */
    bool any;             /* one of them is */
    Store *stores;        /* [MOST_STORES], of the run that is looked at */
    uint32_t *run_of;     /* by buffer: the last run of free statements that stores to it */
    uint32_t runs;
} Accesses;

/* --- groups ------------------------------------------------------------------------------------------------------- */
static uint32_t most_loads(const Accesses *x, IrType type)
{
    return WBB_MIN(8 * x->vector_bytes / sc_type_info[IR_SC(type)].bits, MOST_LANES) / IR_LANES(type);
}

static bool is_constant_load(const Accesses *x, IrRef r)
{
    const IrNode *n = ir_at(x->g, r);
    if (n->op != OP_LOAD || !x->places.emitted[r]) return false;
    const uint32_t buffer = (uint32_t)ir_at(x->g, n->a[0])->imm;
    return x->constant[buffer] && ir_is_parameter(&x->k->buffers[buffer]) && most_loads(x, n->type) > 0;
}

/* What the loads of a window have in common: the buffer, their type, where the widest access begins, scopes, terms. */
static WbbEntry *window_entry(Accesses *x, const IrNode *n, const IrSplit *s, int64_t first, const IrScopeList *scopes)
{
    uint32_t count = 4 + 2 * s->n, at = 0;
    for (const IrScopeList *l = scopes; l; l = l->next) count++;
    uint64_t *key = WBB_NEW_N(x->arena, uint64_t, count);
    key[at++] = ir_at(x->g, n->a[0])->imm, key[at++] = IR_SC(n->type), key[at++] = (uint64_t)first, key[at++] = s->n;
    for (uint32_t i = 0; i < s->n; i++)
        key[at++] = (uint64_t)s->terms[i].coefficient, key[at++] = s->terms[i].ref;
    for (const IrScopeList *l = scopes; l; l = l->next) key[at++] = l->scope;
    return wbb_map_put_bytes(&x->windows, key, count * sizeof *key);
}

static void add_load(Accesses *x, IrRef r)
{
    const IrNode *n = ir_at(x->g, r);
    const IrSplit s = ir_expanded(x->arena, x->g, n->a[1], NULL, NULL);
    const uint32_t most = most_loads(x, IR_TYPE(IR_SC(n->type), 0)); /* a power of two */
    const uint32_t first = (uint32_t)((uint64_t)s.constant % most);
    WbbEntry *e = window_entry(x, n, &s, s.constant - first, x->places.emitted[r]);
    if (!e->pointer) {
        Window *new = WBB_NEW(x->arena, Window);
        new->end = &new->loads;
        e->pointer = new;
    }
    Window *window = e->pointer;
    *window->end = WBB_NEW(x->arena, Within);
    **window->end = (Within){.load = r, .first = first};
    window->end = &(*window->end)->next;
}

/* Loads of a window that a wider one has. */
static void find_within(Accesses *x, const Window *window)
{
    for (const Within *w = window->loads; w; w = w->next)
        for (const Within *o = window->loads; o; o = o->next) {
            const IrNode *n = ir_at(x->g, w->load), *wide = ir_at(x->g, o->load);
            Joined *j = &x->joined[w->load];
            if (IR_LANES(wide->type) <= IR_LANES(j->within ? ir_at(x->g, j->within)->type : n->type)) continue;
            if (w->first < o->first || w->first + IR_LANES(n->type) > o->first + IR_LANES(wide->type)) continue;
            if (!ir_is_visible(&x->places.tree, x->bound[wide->a[1]], x->bound[n->a[1]])) continue;
            j->within = o->load, j->first = w->first - o->first;
            x->any = true;
        }
}

/* --- accesses ----------------------------------------------------------------------------------------------------- */
static void find_bound(Accesses *x)
{
    const IrScopes *t = &x->places.tree;
    x->bound = WBB_NEW_N(x->arena, IrPlace, x->g->n);
    for (IrRef r = 1; r < x->g->n; r++) {
        const IrNode *n = ir_at(x->g, r);
        IrPlace last = n->op == OP_VAR ? t->variables[n->imm] : n->op == OP_VALUE ? t->values[n->imm] : (IrPlace){0};
        for (uint32_t i = 0; i < ir_arity(x->g, r); i++) {
            const IrPlace o = x->bound[ir_operand(x->g, r, i)];
            if (!ir_is_visible(t, o, last)) last = o;
        }
        x->bound[r] = last;
    }
}

/* The index of a load, by what its variables are defined as; 0: that needs 64 bits. */
static IrRef expanded(Accesses *x, IrRef load)
{
    const IrSplit s = ir_expanded(x->arena, x->g, ir_at(x->g, load)->a[1], NULL, NULL);
    bool overflow = false;
    const IrRef sum = ir_sum(x->g, s.constant, s.terms, s.n, &overflow);
    return sum && ir_fits_i32(x->g, sum) ? sum : 0; /* as src/vector/width.c would have it */
}

/* An index of the first of some loads that is known wherever the index of one of them is. */
static IrRef first_index(Accesses *x, const Group *group, uint32_t first, uint32_t loads)
{
    for (const Alike *f = group->at[first]; f; f = f->next) {
        const IrRef index = ir_at(x->g, f->load)->a[1];
        bool known = true;
        for (uint32_t k = first; k < first + loads; k++)
            for (const Alike *o = group->at[k]; o && known; o = o->next)
                known = ir_is_visible(&x->places.tree, x->bound[index], x->bound[ir_at(x->g, o->load)->a[1]]);
        if (known) return index;
    }
    return expanded(x, group->at[first]->load);
}

/* May elements of so many bits be one access from `index` on? Those that share a byte begin with one. */
static bool is_aligned(const Accesses *x, const Group *group, IrRef index, uint32_t bits, bool rounded)
{
    const ScType type = IR_SC(group->type);
    const uint32_t own = sc_type_info[type].bits;
    if (bits % 8 || (own < 8 && !ir_multiple(x->g, index, 8 / own))) return false;
    return ir_align_of(x->g, &x->k->buffers[group->buffer], type, index, rounded) >= bits / 8;
}

/* Joins loads first .. first + loads - 1 of a group, if they can be one access. */
static void join(Accesses *x, const Group *group, uint32_t first, uint32_t loads)
{
    const uint32_t each = IR_LANES(group->type), bits = sc_type_info[IR_SC(group->type)].bits * each;
    uint32_t n = 0;
    for (uint32_t k = first; k < first + loads; k++) {
        if (group->at[k] && x->joined[group->at[k]->load].index) return;
        n += group->at[k] != NULL;
    }
    const bool rounded = n == 3 && loads == 4 && each == 1;
    const IrRef index = n == loads || rounded ? first_index(x, group, first, loads) : 0;
    if (!index) return;
    const IrRef stated = ir_at(x->g, group->at[first]->load)->a[1]; /* an index of which more may be known */
    if (!is_aligned(x, group, stated, loads * bits, rounded)) return;
    const IrType all = IR_TYPE(IR_SC(group->type), __builtin_ctz(loads * each));
    for (uint32_t k = first; k < first + loads; k++)
        for (const Alike *o = group->at[k]; o; o = o->next)
            x->joined[o->load] = (Joined){.index = index, .first = (k - first) * each, .all = all};
    x->any = true;
}

/* Joins loads of so many elements that no wider one has. */
static void join_loads(Accesses *x, const Window *window, uint32_t lanes)
{
    Group group = {.most = 0};
    for (const Within *w = window->loads; w; w = w->next) {
        const IrNode *n = ir_at(x->g, w->load);
        if (x->joined[w->load].within || IR_LANES(n->type) != lanes || w->first % lanes) continue;
        Alike *one = WBB_NEW(x->arena, Alike);
        *one = (Alike){w->load, group.at[w->first / lanes]};
        group.at[w->first / lanes] = one;
        group.type = n->type, group.buffer = (uint32_t)ir_at(x->g, n->a[0])->imm, group.most = most_loads(x, n->type);
    }
    for (uint32_t loads = group.most; loads > 1; loads /= 2)
        for (uint32_t first = 0; first < group.most; first += loads)
            if (group.at[first]) join(x, &group, first, loads);
}

/* The access that has the elements of a load which is within another one. */
static Joined joined(const Accesses *x, IrRef load)
{
    const Joined *j = &x->joined[load];
    if (!j->within) return *j;
    const Joined *o = &x->joined[j->within];
    if (o->index) return (Joined){.index = o->index, .first = o->first + j->first, .all = o->all};
    const IrNode *wide = ir_at(x->g, j->within);
    return (Joined){.index = wide->a[1], .first = j->first, .all = wide->type};
}

/* Lanes that a value has side by side are a part of it. */
static IrRef side_by_side(IrGraph *g, IrRef pack)
{
    const IrNode n = *ir_at(g, pack), x = *ir_at(g, n.a[0]), y = *ir_at(g, n.a[1]);
    const uint64_t half = IR_LANES(x.type);
    if (x.op != OP_PART || y.op != OP_PART || x.a[0] != y.a[0] || y.imm != x.imm + half || x.imm % (2 * half))
        return pack;
    return ir_at(g, x.a[0])->type == n.type ? x.a[0] : ir_node(g, OP_PART, n.type, 0, x.a[0], 0, 0, x.imm);
}

static IrRef remake(void *arg, IrRef old, const IrRef *made, const uint8_t *need)
{
    const Accesses *x = arg;
    (void)need;
    const IrNode n = *ir_at(x->g, old);
    const Joined j = joined(x, old);
    if (!j.index && n.op == OP_PACK) return side_by_side(x->g, ir_copy(x->g, old, made, n.flags));
    if (!j.index) return ir_copy(x->g, old, made, n.flags);
    const IrRef all = ir_node(x->g, OP_LOAD, j.all, n.flags, n.a[0], j.index, 0, 0);
    return ir_node(x->g, OP_PART, n.type, 0, all, 0, 0, j.first);
}

/* --- stores ------------------------------------------------------------------------------------------------------- */
static int by_constant(const void *x, const void *y)
{
    const Store *p = x, *q = y;
    return p->split.constant < q->split.constant ? -1 : p->split.constant > q->split.constant;
}

static bool same_terms(const IrSplit *x, const IrSplit *y)
{
    if (x->n != y->n) return false;
    for (uint32_t i = 0; i < x->n; i++)
        if (x->terms[i].ref != y->terms[i].ref || x->terms[i].coefficient != y->terms[i].coefficient) return false;
    return true;
}

/* A statement that others like it may change places with, if they store to another buffer: no thread reads outputs of
 * memory of their own. */
static bool is_free(const Accesses *x, const IrStmt *s)
{
    return s->kind == IR_BIND || (s->kind == IR_STORE && x->k->buffers[s->buffer].space == IR_OUT);
}

/* Puts the stores of a run of free statements in the order of their buffers, each where its first was, and what is
 * bound before them. */
static void sort_by_buffer(Accesses *x, IrStmt **items, uint32_t n)
{
    IrStmt **stores = WBB_NEW_N(x->arena, IrStmt *, n + 1);
    uint32_t n_stores = 0, at = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (items[i]->kind == IR_BIND) items[at++] = items[i];
        else stores[n_stores++] = items[i];
    }
    for (uint32_t i = 0; i < n_stores; i++) {
        if (!stores[i]) continue;
        const uint32_t buffer = stores[i]->buffer;
        for (uint32_t k = i; k < n_stores; k++) {
            if (!stores[k] || stores[k]->buffer != buffer) continue;
            items[at++] = stores[k];
            stores[k] = NULL;
        }
    }
}

/* Sorts the runs in which a buffer is stored to again after another one. */
static void sort_stores(Accesses *x, IrBlock *block)
{
    for (uint32_t from = 0, end; from < block->n; from = end + 1) {
        const uint32_t run = ++x->runs;
        bool again = false;
        uint32_t last = UINT32_MAX;
        for (end = from; end < block->n && is_free(x, block->items[end]); end++) {
            const IrStmt *s = block->items[end];
            if (s->kind == IR_BIND || s->buffer == last) continue;
            again |= x->run_of[s->buffer] == run;
            x->run_of[s->buffer] = run, last = s->buffer;
        }
        if (again) sort_by_buffer(x, block->items + from, end - from);
    }
}

/* The unbroken run of stores from `from` on to one buffer in its type, elements of the same terms; variables may be
 * bound between them. 0: two of them store one element. *end: behind the last of them. */
static uint32_t find_stores(Accesses *x, const IrBlock *block, uint32_t from, Store *out, uint32_t *end)
{
    const IrStmt *first = block->items[from];
    const IrType type = ir_at(x->g, first->value)->type;
    uint32_t n = 0;
    if (ir_is_packed(IR_SC(type))) return 0;
    for (uint32_t i = from; i < block->n && n < MOST_STORES; i++) {
        IrStmt *s = block->items[i];
        if (s->kind == IR_BIND) continue;
        if (s->kind != IR_STORE || s->buffer != first->buffer || ir_at(x->g, s->value)->type != type) break;
        const Store o = {s, ir_expanded(x->arena, x->g, s->index, NULL, NULL)};
        if (n && !same_terms(&o.split, &out[0].split)) break;
        out[n++] = o;
        *end = i + 1;
    }
    qsort(out, n, sizeof *out, by_constant);
    for (uint32_t i = 0; i + 1 < n; i++)
        if (out[i].split.constant + IR_LANES(type) > out[i + 1].split.constant) return 0;
    return n;
}

/* The number of stores from s[i] on that are one access. */
static uint32_t joinable(Accesses *x, const Store *s, uint32_t i, uint32_t n)
{
    const IrType of = ir_at(x->g, s[i].s->value)->type; /* of each store of the run */
    const ScType type = IR_SC(of);
    const IrBuffer *buffer = &x->k->buffers[s[i].s->buffer];
    const uint32_t size = sc_bytes(type) * IR_LANES(of);
    for (uint32_t count = x->vector_bytes / size; count > 1; count /= 2) {
        bool row = i + count <= n;
        for (uint32_t k = 1; row && k < count; k++)
            row = s[i + k].split.constant == s[i].split.constant + (int64_t)k * IR_LANES(of);
        if (row && ir_align_of(x->g, buffer, type, s[i].s->index, false) >= count * size) return count;
    }
    return 1;
}

static IrRef packed(Accesses *x, const Store *s, uint32_t n)
{
    if (n == 1) return s->s->value;
    const IrRef low = packed(x, s, n / 2), high = packed(x, s + n / 2, n / 2);
    x->g->making_origin = x->g->origin[s->s->value];
    return ir_node(x->g, OP_PACK, ir_at(x->g, low)->type + IR_TYPE(0, 1), 0, low, high, 0, 0);
}

/* Puts what is bound in a run of stores before it, then the accesses. Returns how many statements are left. */
static uint32_t write_run(Accesses *x, IrBlock *block, uint32_t from, uint32_t end, const Store *s, uint32_t n)
{
    uint32_t at = from;
    for (uint32_t i = from; i < end; i++)
        if (block->items[i]->kind == IR_BIND) block->items[at++] = block->items[i];
    for (uint32_t i = 0, count; i < n; i += count) {
        count = joinable(x, s, i, n);
        s[i].s->value = packed(x, s + i, count);
        block->items[at++] = s[i].s;
    }
    const uint32_t left = at - from;
    for (; end < block->n; end++) block->items[at++] = block->items[end];
    block->n = at;
    return left;
}

static void join_stores(Accesses *x, IrBlock *block)
{
    sort_stores(x, block);
    for (uint32_t i = 0, left = 1, end = 0; i < block->n; i += left, left = 1) {
        IrStmt *s = block->items[i];
        join_stores(x, &s->body);
        join_stores(x, &s->otherwise);
        const uint32_t n = s->kind == IR_STORE ? find_stores(x, block, i, x->stores, &end) : 0;
        if (n > 1) left = write_run(x, block, i, end, x->stores, n);
    }
    x->g->making_origin = 0;
}

void vec_accesses(IrKernel *k, const RwTables *t, uint32_t vector_bytes, uint32_t sms)
{
    WbbArena *a = wbb_arena_new(k->g->cx);
    Accesses x = {.k = k, .g = k->g, .arena = a, .vector_bytes = vector_bytes, .windows = {.arena = a}};
    x.places = ir_place(a, k, rw_is_costly, t, k->grid <= sms);
    x.constant = ir_constant_buffers(a, k);
    x.joined = WBB_NEW_N(a, Joined, k->g->n);
    for (IrRef r = 1; r < k->g->n; r++)
        if (is_constant_load(&x, r)) add_load(&x, r);
    if (x.windows.n) find_bound(&x);
    for (uint32_t i = 0; i < x.windows.n; i++) find_within(&x, x.windows.entries[i].pointer);
    for (uint32_t i = 0; i < x.windows.n; i++)
        for (uint32_t lanes = 1; lanes < MOST_LANES; lanes *= 2) join_loads(&x, x.windows.entries[i].pointer, lanes);
    if (x.any) ir_remake(k, remake, &x);
    x.stores = WBB_NEW_N(a, Store, MOST_STORES);
    x.run_of = WBB_NEW_N(a, uint32_t, k->n_buffers + 1);
    join_stores(&x, &k->body);
    wbb_arena_free(a);
}
