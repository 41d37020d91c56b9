/* order.c: who writes each byte before whom: the one check of cuts, plans of several launches and programs.
 *
 * Needs: the facts of order.h. Leaves: the first fault, or none. Steps are followed in order; of each memory the values
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
    bool *made;                                               /* by value: some step makes it */
    uint32_t step;
} Order;

static const WbbFault none = {.kind = WBB_FAULT_NONE};

static WbbFault fault_of(const Order *c, WbbFaultKind kind, uint32_t value, const char *text)
{
    return (WbbFault){kind, c->step, value, text};
}

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

static WbbFault missing(const Order *c, uint32_t value)
{
    const char *name = c->o->values[value].name;
    if (c->live[value]) return none;
    if (c->spoiled[value])
        return fault_of(c, WBB_FAULT_GONE, value,
                        wbb_format(c->arena, "it reads %s, which step %u overwrote", name, c->spoiled[value] - 1));
    const char *when = c->made[value] ? "no step before it makes" : "no step makes";
    return fault_of(c, c->made[value] ? WBB_FAULT_LATER : WBB_FAULT_ABSENT, value,
                    wbb_format(c->arena, "it reads %s, which %s", name, when));
}

/* May what x writes be where y lies? */
static WbbFault conflict(const Order *c, const WbbTouches *s, const WbbTouch *x, const WbbTouch *y)
{
    const WbbBytes *to = at(c, x), *of = at(c, y);
    if (!overlap(to, of)) return none;
    const char *text = wbb_format(c->arena, "it makes %s and %s in one place", of->name, to->name);
    if (x->over && &s->touches[x->over - 1] == y) {
        if (to->offset == of->offset && to->bytes == of->bytes) return none;
        text = wbb_format(c->arena, "%s is said to have the memory of %s", to->name, of->name);
    } else if (y->kind == WBB_READS) {
        text = wbb_format(c->arena, "it makes %s over %s, which it reads", to->name, of->name);
    }
    return fault_of(c, WBB_FAULT_PLACE, x->value, text);
}

/* Does it write where a fixed value lies, or one that was made for nothing? */
static WbbFault needless(const Order *c, const WbbTouch *t)
{
    const WbbBytes *to = at(c, t);
    for (uint32_t k = 0; k < c->there[to->memory].n; k++) {
        const uint32_t v = c->there[to->memory].items[k];
        const WbbBytes *of = &c->o->values[v];
        if (!overlap(to, of)) continue;
        if (of->fixed)
            return fault_of(c, WBB_FAULT_PLACE, t->value, wbb_format(c->arena, "it makes %s over %s, which nothing may "
                            "overwrite", to->name, of->name));
        if (of->used && !c->read[v])
            return fault_of(c, WBB_FAULT_UNREAD, v,
                            wbb_format(c->arena, "it makes %s over %s, which no step has read", to->name, of->name));
    }
    return none;
}

static WbbFault check(Order *c, const WbbTouches *s)
{
    WbbFault fault = none;
    for (uint32_t k = 0; k < s->n && !fault.kind; k++) {
        if (s->touches[k].kind != WBB_READS) continue;
        fault = missing(c, s->touches[k].value);
        c->read[s->touches[k].value] = true;
    }
    for (uint32_t k = 0; k < s->n && !fault.kind; k++) {
        const WbbTouch *x = &s->touches[k];
        if (!writes(x)) continue;
        fault = needless(c, x);
        for (uint32_t j = 0; j < s->n && !fault.kind; j++)
            if (j != k && (j < k || !writes(&s->touches[j]))) fault = conflict(c, s, x, &s->touches[j]);
    }
    return fault;
}

static WbbFault follow(Order *c, const WbbTouches *s)
{
    const WbbFault fault = check(c, s);
    if (fault.kind) return fault;
    for (uint32_t k = 0; k < s->n; k++)
        if (writes(&s->touches[k])) spoil(c, at(c, &s->touches[k]));
    for (uint32_t k = 0; k < s->n; k++)
        if (s->touches[k].kind == WBB_MAKES || s->touches[k].kind == WBB_KEEPS) appear(c, s->touches[k].value);
    return none;
}

/* What must be there, or must have been read, after the last step. */
static WbbFault at_end(const Order *c)
{
    for (uint32_t v = 0; v < c->o->n_values; v++) {
        const WbbBytes *x = &c->o->values[v];
        if (x->wanted && !c->live[v]) return missing(c, v);
        if (x->used && !x->wanted && !c->read[v])
            return fault_of(c, WBB_FAULT_UNREAD, v, wbb_format(c->arena, "no step has read %s", x->name));
    }
    return none;
}

WbbFault wbb_order_fault(WbbArena *a, const WbbOrder *o)
{
    Order c = {.arena = a, .o = o, .live = WBB_NEW_N(a, bool, o->n_values + 1),
               .spoiled = WBB_NEW_N(a, uint32_t, o->n_values + 1), .read = WBB_NEW_N(a, bool, o->n_values + 1),
               .made = WBB_NEW_N(a, bool, o->n_values + 1)};
    c.there = wbb_alloc(a, wbb_mul_size(a, o->n_memories + 1, sizeof *c.there));
    for (uint32_t v = 0; v < o->n_values; v++)
        if (o->values[v].given) appear(&c, v);
    for (uint32_t k = 0; k < o->n_steps; k++)
        for (const WbbTouch *t = o->steps[k].touches; t < o->steps[k].touches + o->steps[k].n; t++)
            c.made[t->value] |= t->kind == WBB_MAKES || t->kind == WBB_KEEPS;
    for (c.step = 0; c.step < o->n_steps; c.step++) {
        const WbbFault fault = follow(&c, &o->steps[c.step]);
        if (fault.kind) return fault;
    }
    return at_end(&c);
}
