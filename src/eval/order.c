/* order: the order in which a kernel documents that it combines the terms of its reductions.
 *
 * Needs: texts, one for each reduction that the kernel documents. Leaves: their meaning, by name of the instruction.
 *
 *     text  = NAME ": " ("serial" ["fma" TYPE | "in" TYPE | "from the last"] | "mma f32" ["in" N "parts"] | "tree" ..)
 *
 *     reduce.3: serial           the terms of a result one after the other, in row-major order of the reduced
 *                                dimensions, from the initial value on; each step rounds to the computation's types
 *     reduce.4: serial in f32    the same, of one operation on floats: the terms and the initial value are converted to
 *                                f32, each step rounds to it, and the result is converted once
 *     window.2: serial from the last     suffixes: each term, from the last on, left of what is combined behind it
 *     dot.4: serial fma f32      products in the order of the contracted dimensions, from 0 on, each added by a fused
 *                                multiply-add of f32; the sum is converted to the result's type
 *     dot.4: mma f32             products of tensor cores: sums of f32 in an order that they choose, and rounded as
 *                                they do (EV_MMA_ROUNDINGS); the sum is converted to the result's type
 *     reduce.5: tree; columns {1}: vector 4, lane 32; fold 4 of columns.vector; fold 32 of columns.lane
 *                                partial results of threads: tree_text.c
 *     window.6: scan; thread 4; lane 32; loop 8      prefixes, of threads: scan_order.c
 *
 * Terms that take no part (outside the operand, between dilated elements) are left out.
 */
#include "eval/inner.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    const HloInstruction *of;
    bool open; /* it may have any value */
    bool mma;  /* tensor cores add its products */
    EvSerial serial;
    const EvTree *tree; /* NULL, as is `scan`: serial */
    const EvScan *scan;
} Documented;

struct EvOrder {
    Documented *items;
    uint32_t n;
    const char *where;
};

/* "mma f32", or "mma f32 in 8 parts" */
static bool is_matrix(const char *text)
{
    static const char all[] = "mma f32", in[] = " in ";
    if (strncmp(text, all, sizeof all - 1)) return false;
    text += sizeof all - 1;
    if (!*text) return true;
    if (strncmp(text, in, sizeof in - 1)) return false;
    char *end;
    return strtoul(text + sizeof in - 1, &end, 10) > 1 && strcmp(end, " parts") == 0;
}

/* What a text says behind the name. */
static Documented read_order(WbbCx *cx, WbbArena *arena, const char *where, const char *text, const char *rest)
{
    Documented d = {0};
    EvSerial *s = &d.serial;
    if (rest && strncmp(rest, "tree", 4) == 0) {
        d.tree = ev_tree_parse(cx, arena, where, rest);
        return d;
    }
    if (rest && (d.scan = ev_scan_parse(arena, rest))) return d;
    d.mma = rest && is_matrix(rest);
    if (d.mma) return d;
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
                 "last, NAME: mma f32, or NAME: tree .. expected", text);
    return d;
}

const EvOrder *ev_order(WbbCx *cx, WbbArena *arena, const char *where, const char *const *texts, uint32_t n,
                        const HloComputation *c)
{
    EvOrder *order = WBB_NEW(arena, EvOrder);
    *order = (EvOrder){WBB_NEW_N(arena, Documented, n + 1), 0, where};
    for (uint32_t k = 0; k < n; k++) {
        const char *colon = strstr(texts[k], ": ");
        Documented d = read_order(cx, arena, where, texts[k], colon ? colon + 2 : NULL);
        for (uint32_t j = 0; colon && !d.of && j < c->n_instructions; j++) {
            const char *name = c->instructions[j]->name;
            if (strlen(name) == (size_t)(colon - texts[k]) && !memcmp(name, texts[k], strlen(name)))
                d.of = c->instructions[j];
        }
        if (d.of) order->items[order->n++] = d;
    }
    return order;
}

static const Documented *documented(const Ev *e, const HloInstruction *i)
{
    for (uint32_t k = 0; e->order && k < e->order->n; k++) {
        const Documented *d = &e->order->items[k];
        if (d->of == i) return d;
    }
    return NULL;
}

bool ev_is_open(const Ev *e, const HloInstruction *i)
{
    const Documented *d = documented(e, i);
    return d && d->open && e->mode == EV_BOUNDS;
}

/* Is the computation one that commutes? */
static bool commutes(const HloInstruction *reduce)
{
    return reduce->n_operands == 2 && hlo_combiner(reduce->called[0]) != OP_NONE;
}

/* A reduction of more than one order; do the bounds hold what every order gives? */
static bool in_any_order(const HloInstruction *reduce)
{
    if (reduce->opcode != HLO_REDUCE && reduce->opcode != HLO_REDUCE_WINDOW) return true;
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
            if (!d->tree || d->of != i) continue;
            ev_tree_check(cx, d->tree, i);
            if (!ev_tree_keeps_order(d->tree, i))
                wbb_fail(cx, (WbbLoc){.file = order->where},
                         "order \"%s: %s\": the computation is not known to commute, so terms keep their order",
                         i->name, d->tree->text);
        }
    }
}

/* What the order says of the reduction, where it is not that of the text; NULL: nothing. */
static const Documented *other_order(const EvOrder *order, const HloInstruction *i)
{
    for (uint32_t k = 0; order && k < order->n; k++) {
        const Documented *d = &order->items[k];
        if ((d->tree || d->scan || d->serial.from_last || d->mma) && d->of == i) return d;
    }
    return NULL;
}

/* Do the bounds of any order hold what the documented one gives? */
static bool bounds_hold(const EvOrder *order, const HloInstruction *i)
{
    const Documented *d = other_order(order, i);
    return in_any_order(i) && !(d && d->mma);
}

const EvOrder *ev_order_needed(WbbArena *arena, const EvOrder *order, const HloComputation *c)
{
    EvOrder *needed = WBB_NEW(arena, EvOrder);
    *needed = (EvOrder){WBB_NEW_N(arena, Documented, order->n + 1), 0, order->where};
    for (uint32_t n = 0; n < c->n_instructions; n++) {
        const HloInstruction *i = c->instructions[n];
        const Documented *d = bounds_hold(order, i) ? NULL : other_order(order, i);
        if (d) needed->items[needed->n++] = *d;
    }
    return needed->n ? needed : NULL;
}

/* --- of a module whose parts are kernels -------------------------------------------------------------------------- */
/* The same terms, as far as shapes say? */
static bool alike(const HloInstruction *x, const HloInstruction *y)
{
    bool same = x->opcode == y->opcode && x->n_operands == y->n_operands && x->n_dimensions == y->n_dimensions &&
                x->n_windows == y->n_windows && hlo_same_dims(x->operands[0]->shape, y->operands[0]->shape);
    for (uint32_t k = 0; same && k < x->n_operands; k++)
        same = x->operands[k]->shape->type == y->operands[k]->shape->type;
    for (uint32_t k = 0; same && k < x->n_dimensions; k++) same = x->dimensions[k] == y->dimensions[k];
    for (uint32_t k = 0; same && k < x->n_windows; k++)
        same = x->windows[k].size == y->windows[k].size && x->windows[k].low == y->windows[k].low &&
               x->windows[k].high == y->windows[k].high && x->windows[k].stride == y->windows[k].stride;
    return same;
}

static bool same_order(const Documented *x, const Documented *y)
{
    if (!x || !y || !x->tree != !y->tree || !x->scan != !y->scan) return x == y;
    return x->serial.from_last == y->serial.from_last && (!x->tree || !strcmp(x->tree->text, y->tree->text)) &&
           (!x->scan || !strcmp(x->scan->text, y->scan->text));
}

/* Do tensor cores add the products of dot i, in a kernel that has one like it? Then they round the most. */
static const Documented *in_matrices(const EvPart *parts, uint32_t n_parts, const HloInstruction *i)
{
    for (uint32_t p = 0; p < n_parts && i->opcode == HLO_DOT; p++)
        for (uint32_t k = 0; k < parts[p].c->n_instructions; k++) {
            const HloInstruction *x = parts[p].c->instructions[k];
            const Documented *d = alike(i, x) ? other_order(parts[p].order, x) : NULL;
            if (d && d->mma) return d;
        }
    return NULL;
}

/* The order of reduction i, by the kernels' reductions that are like it. False: they differ, or there is none. */
static bool order_of(const EvPart *parts, uint32_t n_parts, const HloInstruction *i, const Documented **order)
{
    bool found = false;
    *order = NULL;
    for (uint32_t p = 0; p < n_parts; p++)
        for (uint32_t k = 0; k < parts[p].c->n_instructions; k++) {
            const HloInstruction *x = parts[p].c->instructions[k];
            if (in_any_order(x) || !alike(i, x)) continue;
            const Documented *d = other_order(parts[p].order, x);
            if (found && !same_order(*order, d)) return false;
            *order = d, found = true;
        }
    return found;
}

const EvOrder *ev_order_of_module(WbbArena *arena, const HloModule *m, const EvPart *parts, uint32_t n_parts)
{
    bool needed = false;
    for (uint32_t p = 0; p < n_parts; p++)
        needed = needed || (parts[p].order && ev_order_needed(arena, parts[p].order, parts[p].c));
    if (!needed) return NULL;
    struct { Documented *items; uint32_t n, capacity; } all = {0};
    for (uint32_t c = 0; c < m->n_computations; c++)
        for (uint32_t n = 0; n < m->computations[c]->n_instructions; n++) {
            const HloInstruction *i = m->computations[c]->instructions[n];
            const Documented *d = in_matrices(parts, n_parts, i);
            if (in_any_order(i) && !d) continue;
            Documented own = {.open = !d && !order_of(parts, n_parts, i, &d)};
            if (!own.open && !d) continue;
            if (d && !own.open) own = *d;
            own.of = i;
            WBB_PUSH(arena, &all, own);
        }
    EvOrder *out = WBB_NEW(arena, EvOrder);
    *out = (EvOrder){all.items, all.n, "the module"};
    return all.n ? out : NULL;
}

const char *ev_order_open(WbbArena *arena, const EvOrder *order)
{
    WbbBuf b = wbb_buf(arena);
    for (uint32_t k = 0; order && k < order->n; k++)
        if (order->items[k].open) wbb_putf(&b, "%s%s", b.n ? " " : "", order->items[k].of->name);
    return b.n ? b.text : NULL;
}

const EvSerial *ev_serial(const Ev *e, const HloInstruction *i)
{
    const Documented *d = documented(e, i);
    if (d && d->tree && i->opcode != HLO_REDUCE)
        wbb_fail(e->cx, (WbbLoc){.file = e->order->where}, "order \"%s: %s\": only a reduce has a tree", i->name,
                 d->tree->text);
    const EvSerial *s = d && !d->tree && !d->mma ? &d->serial : NULL;
    const bool reduces = i->opcode == HLO_REDUCE || i->opcode == HLO_REDUCE_WINDOW;
    if (s && s->type != SC_NONE && !s->fused && (!reduces || !commutes(i) || !sc_is_float(i->shape->type)))
        wbb_fail(e->cx, (WbbLoc){.file = e->order->where},
                 "order \"%s: serial in %s\": only a reduction by one operation on floats is taken in a type", i->name,
                 sc_type_info[s->type].hlo);
    return s;
}

double ev_roundings(const Ev *e, const HloInstruction *i)
{
    const Documented *d = documented(e, i);
    return d && d->mma ? EV_MMA_ROUNDINGS : 1;
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
