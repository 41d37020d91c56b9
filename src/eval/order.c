/* order: the order in which a kernel documents that it combines the terms of its reductions.
 *
 * Needs: texts, one for each reduction that the kernel documents. Leaves: their meaning, by name of the instruction.
 *
 *     text  = NAME ':' 'serial' ['fma' TYPE]
 *
 *     reduce.3: serial           the terms of a result one after the other, in row-major order of the reduced
 * dimensions, from the initial value on; each step of the computation rounds to its types dot.4: serial fma f32
 * products in the order of the contracted dimensions, from 0 on, each added by a fused multiply-add of f32; the sum is
 * converted to the result's type
 *
 * Terms that take no part (outside the operand, between dilated elements) are left out.
 */
#include "eval/inner.h"

#include <string.h>

struct EvOrder {
    EvSerial *items;
    uint32_t n;
};

const EvOrder *ev_order(WbbCx *cx, WbbArena *arena, const char *where, const char *const *texts, uint32_t n)
{
    EvOrder *order = WBB_NEW(arena, EvOrder);
    *order = (EvOrder){WBB_NEW_N(arena, EvSerial, n + 1), n};
    for (uint32_t k = 0; k < n; k++) {
        const char *colon = strstr(texts[k], ": "), *rest = colon ? colon + 2 : NULL;
        EvSerial *s = &order->items[k];
        if (rest && strncmp(rest, "serial fma ", 11) == 0)
            *s = (EvSerial){.fused = true, .type = sc_type_named(rest + 11, strlen(rest + 11))};
        const bool plain = rest && strcmp(rest, "serial") == 0,
                   products = s->fused && (s->type == SC_F32 || s->type == SC_F64);
        if (!plain && !products)
            wbb_fail(cx, (WbbLoc){.file = where}, "order \"%s\": NAME: serial, or NAME: serial fma f32 expected",
                     texts[k]);
        s->name = wbb_format(arena, "%.*s", (int)(colon - texts[k]), texts[k]);
    }
    return order;
}

const EvSerial *ev_serial(const Ev *e, const HloInstruction *i)
{
    for (uint32_t k = 0; e->order && k < e->order->n; k++)
        if (strcmp(e->order->items[k].name, i->name) == 0) return &e->order->items[k];
    return NULL;
}
