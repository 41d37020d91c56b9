/* order.c: who writes each byte before whom: one check for plans of several launches and for programs.
 *
 * Needs: the facts of order.h. Leaves: NULL, or the first fault. Steps are followed in order; of each memory the values
 * that are there are known, and what is written takes away those that it overlaps.
 *
 *     step 4 makes y over x, step 5 reads x        "it reads x, which step 4 overwrote"
 */
#include "base/order.h"

typedef struct {
    WbbArena *arena;
    const WbbOrder *o;
    struct { uint32_t *items; uint32_t n, capacity; } *there; /* by memory: values that are there */
    bool *live;                                               /* by value */
    uint32_t *spoiled;                                        /* by value: 1 + the step that overwrote it */
    bool *read;                                               /* by value: a step has read it */
    uint32_t step;
} Order;

static bool overlap(const WbbBytes *x, const WbbBytes *y)
{
    return x->memory == y->memory && x->bytes && y->bytes && x->offset < y->offset + y->bytes &&
           y->offset < x->offset + x->bytes;
}

static const WbbBytes *at(const Order *c, const WbbTouch *t) { return &c->o->values[t->value]; }

static bool writes(const WbbTouch *t) { return t->kind == WBB_MAKES || t->kind == WBB_SPOILS; }

static void appear(Order *c, uint32_t value)
{
    if (c->live[value]) return;
    c->live[value] = true;
    WBB_PUSH(c->arena, &c->there[c->o->values[value].memory], value);
}

/* Whatever lies there has lost its value. */
static void spoil(Order *c, const WbbBytes *written)
{
    uint32_t kept = 0, *items = c->there[written->memory].items;
    for (uint32_t k = 0; k < c->there[written->memory].n; k++) {
        const uint32_t v = items[k];
        if (!overlap(&c->o->values[v], written)) items[kept++] = v;
        else c->live[v] = false, c->spoiled[v] = c->step + 1;
    }
    c->there[written->memory].n = kept;
}

static const char *missing(const Order *c, uint32_t value)
{
    const char *name = c->o->values[value].name;
    if (c->live[value]) return NULL;
    if (!c->spoiled[value]) return wbb_format(c->arena, "it reads %s, which no step before it makes", name);
    return wbb_format(c->arena, "it reads %s, which step %u overwrote", name, c->spoiled[value] - 1);
}

/* May what x writes be where y lies? */
static const char *conflict(const Order *c, const WbbTouches *s, const WbbTouch *x, const WbbTouch *y)
{
    const WbbBytes *to = at(c, x), *of = at(c, y);
    if (!overlap(to, of)) return NULL;
    if (x->over && &s->touches[x->over - 1] == y) {
        const bool same = to->offset == of->offset && to->bytes == of->bytes;
        return same ? NULL : wbb_format(c->arena, "%s is said to have the memory of %s", to->name, of->name);
    }
    if (y->kind == WBB_READS) return wbb_format(c->arena, "it makes %s over %s, which it reads", to->name, of->name);
    return wbb_format(c->arena, "it makes %s and %s in one place", of->name, to->name);
}

/* Does it write where a fixed value lies, or one that was made for nothing? */
static const char *needless(const Order *c, const WbbTouch *t)
{
    const WbbBytes *to = at(c, t);
    for (uint32_t k = 0; k < c->there[to->memory].n; k++) {
        const uint32_t v = c->there[to->memory].items[k];
        const WbbBytes *of = &c->o->values[v];
        if (!overlap(to, of)) continue;
        if (of->fixed)
            return wbb_format(c->arena, "it makes %s over %s, which nothing may overwrite", to->name, of->name);
        if (of->used && !c->read[v])
            return wbb_format(c->arena, "it makes %s over %s, which no step has read", to->name, of->name);
    }
    return NULL;
}

static const char *check(Order *c, const WbbTouches *s)
{
    const char *fault = NULL;
    for (uint32_t k = 0; k < s->n && !fault; k++)
        if (s->touches[k].kind == WBB_READS) {
            fault = missing(c, s->touches[k].value);
            c->read[s->touches[k].value] = true;
        }
    for (uint32_t k = 0; k < s->n && !fault; k++) {
        const WbbTouch *x = &s->touches[k];
        if (!writes(x)) continue;
        fault = needless(c, x);
        for (uint32_t j = 0; j < s->n && !fault; j++)
            if (j != k && (j < k || !writes(&s->touches[j]))) fault = conflict(c, s, x, &s->touches[j]);
    }
    return fault;
}

static const char *follow(Order *c, const WbbTouches *s)
{
    const char *fault = check(c, s);
    if (fault) return fault;
    for (uint32_t k = 0; k < s->n; k++)
        if (writes(&s->touches[k])) spoil(c, at(c, &s->touches[k]));
    for (uint32_t k = 0; k < s->n; k++)
        if (s->touches[k].kind == WBB_MAKES || s->touches[k].kind == WBB_KEEPS) appear(c, s->touches[k].value);
    return NULL;
}

const char *wbb_order_fault(WbbArena *a, const WbbOrder *o, uint32_t *step)
{
    Order c = {.arena = a, .o = o, .live = WBB_NEW_N(a, bool, o->n_values + 1),
               .spoiled = WBB_NEW_N(a, uint32_t, o->n_values + 1), .read = WBB_NEW_N(a, bool, o->n_values + 1)};
    c.there = wbb_alloc(a, wbb_mul_size(a, o->n_memories + 1, sizeof *c.there));
    for (uint32_t v = 0; v < o->n_values; v++)
        if (o->values[v].given) appear(&c, v);
    for (c.step = 0; c.step < o->n_steps; c.step++) {
        *step = c.step;
        const char *fault = follow(&c, &o->steps[c.step]);
        if (fault) return fault;
    }
    *step = o->n_steps;
    for (uint32_t v = 0; v < o->n_values; v++) {
        const WbbBytes *x = &o->values[v];
        const char *fault = x->wanted ? missing(&c, v) : NULL;
        if (x->used && !x->wanted && !c.read[v]) fault = wbb_format(a, "no step has read %s", x->name);
        if (fault) return fault;
    }
    return NULL;
}
