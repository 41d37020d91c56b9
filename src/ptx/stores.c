/* stores.c: neighbouring elements that statements in a row store become one access.
 *
 * Needs the statements of a block; leaves the stores of some of them. Their values are all there before the first is
 * stored. ptxas joins no accesses.
 *
 *     store %y[4*t], a; store %y[4*t + 1], b   ->   st.global.v2.b32 [%rd3], {%r1, %r2};
 */
#include "ptx/inner.h"

#include <stdlib.h>

enum { MOST_STORES = 64 };

typedef struct {
    const IrStmt *s;
    IrSplit split;
    uint32_t lanes;
} Store;

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

/* The unbroken run of stores from `from` on to one buffer in its type, elements of the same terms; variables may be
 * bound between them. 0: one of them has other terms, or two store one element. *end: behind the last of them. */
static uint32_t find_stores(PtxBuild *b, const IrBlock *block, uint32_t from, Store *out, uint32_t *end)
{
    const IrStmt *first = block->items[from];
    const IrType type = ir_at(b->g, first->value)->type;
    uint32_t n = 0;
    if (ir_is_packed(IR_SC(type))) return 0;
    for (uint32_t i = from; i < block->n && n < MOST_STORES; i++) {
        const IrStmt *s = block->items[i];
        if (s->kind == IR_BIND) continue;
        if (s->kind != IR_STORE || s->buffer != first->buffer) break;
        *end = i + 1;
        Store *x = &out[n++];
        *x = (Store){.s = s, .lanes = IR_LANES(ir_at(b->g, s->value)->type)};
        x->split = ptx_expanded(b, s->index, false);
        if (ir_at(b->g, s->value)->type != type || !same_terms(&x->split, &out[0].split)) return 0;
    }
    qsort(out, n, sizeof *out, by_constant);
    for (uint32_t i = 0; i + 1 < n; i++)
        if (out[i].split.constant + out[i].lanes > out[i + 1].split.constant) return 0;
    return n;
}

/* The number of stores from x[i] on that are one access. */
static uint32_t joinable(PtxBuild *b, const Store *x, uint32_t i, uint32_t n)
{
    const ScType type = IR_SC(ir_at(b->g, x[i].s->value)->type);
    const IrBuffer *buffer = &b->k->buffers[x[i].s->buffer];
    const uint32_t size = sc_bytes(type) * x[i].lanes;
    for (uint32_t count = b->t->vector_bytes / size; count > 1; count /= 2) {
        bool row = i + count <= n;
        for (uint32_t k = 1; row && k < count; k++)
            row = x[i + k].split.constant == x[i].split.constant + (int64_t)k * x[i].lanes;
        if (row && ptx_align(b, buffer, type, x[i].s->index, false) >= count * size) return count;
    }
    return 1;
}

static PtxValue *packed_values(PtxBuild *b, const Store *x, uint32_t n)
{
    if (n == 1) return b->values[x->s->value];
    PtxValue *low = packed_values(b, x, n / 2), *high = packed_values(b, x + n / 2, n / 2);
    return ptx_pack(b, low, high, low->type + IR_TYPE(0, 1));
}

static void store_alone(PtxBuild *b, const IrStmt *s)
{
    const bool packed = ir_is_packed(IR_SC(ir_at(b->g, s->value)->type));
    ir_demand(&b->demand, s->value, false);
    if (!packed || !ir_is_const(b->g, s->index)) ir_demand(&b->demand, s->index, !packed);
    b->maker = (PtxMaker){PTX_BY_STORE, s->value, s->buffer};
    ptx_store(b, b->values[s->value], s->buffer, s->index, "");
}

uint32_t ptx_stores(PtxBuild *b, const IrBlock *block, uint32_t from)
{
    Store *x = WBB_NEW_N(b->arena, Store, MOST_STORES);
    uint32_t end = from;
    const uint32_t n = find_stores(b, block, from, x, &end);
    if (n < 2) {
        store_alone(b, block->items[from]);
        return 1;
    }
    for (uint32_t i = from; i < end; i++)
        if (block->items[i]->kind == IR_BIND) ptx_let(b, block->items[i]);
    for (uint32_t i = 0; i < n; i++) ir_demand(&b->demand, x[i].s->value, false);
    for (uint32_t i = 0, count; i < n; i += count) {
        count = joinable(b, x, i, n);
        ir_demand(&b->demand, x[i].s->index, true);
        b->maker = (PtxMaker){PTX_BY_STORE, x[i].s->value, x[i].s->buffer};
        ptx_store(b, packed_values(b, x + i, count), x[i].s->buffer, x[i].s->index, "");
    }
    return end - from;
}
