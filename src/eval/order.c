/* order: the order in which a kernel documents that it combines the terms of its reductions.
 *
 * Needs: texts, one for each reduction that the kernel documents. Leaves: their meaning, by name of the instruction.
 *
 *     text  = NAME ": " ("serial" ["fma" TYPE | "in" TYPE | "from the last"] | "tree" ..)
 *
 *     reduce.3: serial           the terms of a result one after the other, in row-major order of the reduced
 *                                dimensions, from the initial value on; each step rounds to the computation's types
 *     reduce.4: serial in f32    the same, of one operation on floats: the terms and the initial value are converted to
 *                                f32, each step rounds to it, and the result is converted once
 *     window.2: serial from the last     suffixes: each term, from the last on, left of what is combined behind it
 *     dot.4: serial fma f32      products in the order of the contracted dimensions, from 0 on, each added by a fused
 *                                multiply-add of f32; the sum is converted to the result's type
 *     reduce.5: tree; columns {1}: vector 4, lane 32; fold 4 of columns.vector; fold 32 of columns.lane
 *                                partial results of threads: tree_text.c
 *     window.6: scan; thread 4; lane 32; loop 8      prefixes, of threads: scan_order.c
 *
 * Terms that take no part (outside the operand, between dilated elements) are left out.
 */
#include "eval/inner.h"

#include <string.h>

typedef struct {
    const char *name; /* of the instruction */
    EvSerial serial;
    const EvTree *tree; /* NULL, as is `scan`: serial */
    const EvScan *scan;
} Documented;

struct EvOrder {
    Documented *items;
    uint32_t n;
    const char *where;
};

const EvOrder *ev_order(WbbCx *cx, WbbArena *arena, const char *where, const char *const *texts, uint32_t n)
{
    EvOrder *order = WBB_NEW(arena, EvOrder);
    *order = (EvOrder){WBB_NEW_N(arena, Documented, n + 1), n, where};
    for (uint32_t k = 0; k < n; k++) {
        const char *colon = strstr(texts[k], ": "), *rest = colon ? colon + 2 : NULL;
        Documented *d = &order->items[k];
        EvSerial *s = &d->serial;
        if (rest) d->name = wbb_format(arena, "%.*s", (int)(colon - texts[k]), texts[k]);
        if (rest && strncmp(rest, "tree", 4) == 0) {
            d->tree = ev_tree_parse(cx, arena, where, rest);
            continue;
        }
        if (rest && (d->scan = ev_scan_parse(arena, rest))) continue;
        if (rest && strncmp(rest, "serial fma ", 11) == 0)
            *s = (EvSerial){.fused = true, .type = sc_type_named(rest + 11, strlen(rest + 11))};
        if (rest && strncmp(rest, "serial in ", 10) == 0)
            *s = (EvSerial){.type = sc_type_named(rest + 10, strlen(rest + 10))};
        s->from_last = rest && strcmp(rest, "serial from the last") == 0;
        const bool plain = rest && (s->from_last || strcmp(rest, "serial") == 0),
                   wide = s->type == SC_F32 || s->type == SC_F64;
        if (!plain && !wide)
            wbb_fail(cx, (WbbLoc){.file = where},
                     "order \"%s\": NAME: serial, NAME: serial in f32, NAME: serial fma f32, NAME: serial from the "
                     "last, or NAME: tree .. expected", texts[k]);
    }
    return order;
}

static const Documented *documented(const Ev *e, const HloInstruction *i)
{
    for (uint32_t k = 0; e->order && k < e->order->n; k++)
        if (strcmp(e->order->items[k].name, i->name) == 0) return &e->order->items[k];
    return NULL;
}

/* Is the computation one that commutes? */
static bool commutes(const HloInstruction *reduce)
{
    if (reduce->n_operands != 2 || !hlo_is_operation(reduce->called[0])) return false;
    switch (reduce->called[0]->root->opcode) {
    case HLO_ADD:
    case HLO_MULTIPLY:
    case HLO_MAXIMUM:
    case HLO_MINIMUM:
    case HLO_AND:
    case HLO_OR:
    case HLO_XOR: return true;
    default: return false;
    }
}

/* Do the bounds hold what every order gives? */
static bool in_any_order(const HloInstruction *reduce)
{
    const HloInstruction *root = reduce->called[0]->root;
    const bool product = root->opcode == HLO_MULTIPLY && sc_type_info[root->shape->type].cls == 'C';
    return commutes(reduce) && !product; /* there infinities and nan depend on the order */
}

void ev_order_check(WbbCx *cx, const EvOrder *order, const HloComputation *c)
{
    for (uint32_t n = 0; n < c->n_instructions; n++) {
        const HloInstruction *i = c->instructions[n];
        for (uint32_t k = 0; k < order->n && i->opcode == HLO_REDUCE && !commutes(i); k++) {
            const Documented *d = &order->items[k];
            if (!d->tree || strcmp(d->name, i->name)) continue;
            ev_tree_check(cx, d->tree, i);
            if (!ev_tree_keeps_order(d->tree, i))
                wbb_fail(cx, (WbbLoc){.file = order->where},
                         "order \"%s: %s\": the computation is not known to commute, so terms keep their order",
                         i->name, d->tree->text);
        }
    }
}

const EvOrder *ev_order_needed(WbbArena *arena, const EvOrder *order, const HloComputation *c)
{
    EvOrder *needed = WBB_NEW(arena, EvOrder);
    *needed = (EvOrder){WBB_NEW_N(arena, Documented, order->n + 1), 0, order->where};
    for (uint32_t n = 0; n < c->n_instructions; n++) {
        const HloInstruction *i = c->instructions[n];
        if ((i->opcode != HLO_REDUCE && i->opcode != HLO_REDUCE_WINDOW) || in_any_order(i)) continue;
        for (uint32_t k = 0; k < order->n; k++) {
            const Documented *d = &order->items[k];
            if ((d->tree || d->scan || d->serial.from_last) && !strcmp(d->name, i->name))
                needed->items[needed->n++] = *d;
        }
    }
    return needed->n ? needed : NULL;
}

const EvSerial *ev_serial(const Ev *e, const HloInstruction *i)
{
    const Documented *d = documented(e, i);
    if (d && d->tree && i->opcode != HLO_REDUCE)
        wbb_fail(e->cx, (WbbLoc){.file = e->order->where}, "order \"%s: %s\": only a reduce has a tree", i->name,
                 d->tree->text);
    const EvSerial *s = d && !d->tree ? &d->serial : NULL;
    const bool reduces = i->opcode == HLO_REDUCE || i->opcode == HLO_REDUCE_WINDOW;
    if (s && s->type != SC_NONE && !s->fused && (!reduces || !commutes(i) || !sc_is_float(i->shape->type)))
        wbb_fail(e->cx, (WbbLoc){.file = e->order->where},
                 "order \"%s: serial in %s\": only a reduction by one operation on floats is taken in a type", i->name,
                 sc_type_info[s->type].hlo);
    return s;
}

const EvTree *ev_tree(const Ev *e, const HloInstruction *i)
{
    const Documented *d = documented(e, i);
    if (d && d->tree) ev_tree_check(e->cx, d->tree, i);
    if (d && d->scan)
        wbb_fail(e->cx, i->loc, "order \"%s: %s\": only windows that are prefixes or suffixes are a scan", i->name,
                 d->scan->text);
    return d ? d->tree : NULL;
}

const EvScan *ev_scan_order(const Ev *e, const HloInstruction *i)
{
    const Documented *d = documented(e, i);
    return d ? d->scan : NULL;
}
