/* walk.c: the nodes that some statements need, in time in proportion to their number, whatever else is in the graph.
 *
 * Needs statements; leaves lists. Operands have smaller refs than their users, so in a sorted list operands come before
 * users.
 *
 *     IrRefs nodes = {0};
 *     ir_roots(g, scratch, &k->body, &nodes);
 *     ir_gather(g, scratch, &nodes, mark);
 */
#include "ir/uses.h"

#include <string.h>

void ir_roots(const IrGraph *g, WbbArena *a, const IrBlock *b, IrRefs *out)
{
    for (uint32_t i = 0; i < b->n; i++) {
        const IrStmt *s = b->items[i];
        for (IrUses u = ir_uses(g, s); ir_next_use(&u);) WBB_PUSH(a, out, u.ref);
        ir_roots(g, a, &s->body, out);
        ir_roots(g, a, &s->otherwise, out);
    }
}

/* A radix sort by bytes, the lowest first. */
void ir_sort(WbbArena *a, IrRefs *list)
{
    IrRef largest = 0, *from = list->items, *to = WBB_NEW_N(a, IrRef, list->n + 1);
    for (uint32_t i = 0; i < list->n; i++) largest |= from[i];
    for (uint32_t shift = 0; shift < 32 && largest >> shift; shift += 8) {
        uint32_t at[257] = {0};
        for (uint32_t i = 0; i < list->n; i++) at[(from[i] >> shift & 255) + 1]++;
        for (uint32_t i = 0; i < 256; i++) at[i + 1] += at[i];
        for (uint32_t i = 0; i < list->n; i++) to[at[from[i] >> shift & 255]++] = from[i];
        IrRef *other = from;
        from = to;
        to = other;
    }
    if (from != list->items) memcpy(list->items, from, list->n * sizeof *from);
}

void ir_gather(const IrGraph *g, WbbArena *a, IrRefs *roots, uint8_t *mark)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < roots->n; i++) {
        const IrRef r = roots->items[i];
        if (r && !mark[r]) roots->items[n++] = r;
        mark[r] = 1;
    }
    roots->n = n;
    for (uint32_t at = 0; at < roots->n; at++) {
        const IrRef r = roots->items[at];
        const uint32_t op = ir_at(g, r)->op;
        if (op == OP_CONST || op == OP_VAR || op == OP_VALUE || op == OP_ARG) continue;
        for (uint32_t i = 0; i < ir_arity(g, r); i++) {
            const IrRef x = ir_operand(g, r, i);
            if (mark[x]) continue;
            mark[x] = 1;
            WBB_PUSH(a, roots, x);
        }
    }
    mark[0] = 0;
    for (uint32_t i = 0; i < roots->n; i++) mark[roots->items[i]] = 0;
    ir_sort(a, roots);
}

IrRefs ir_variables(const IrGraph *g, WbbArena *a, IrRef r, uint8_t *mark)
{
    IrRefs nodes = {0}, out = {0};
    WBB_PUSH(a, &nodes, r);
    ir_gather(g, a, &nodes, mark);
    for (uint32_t k = 0; k < nodes.n; k++)
        if (ir_at(g, nodes.items[k])->op == OP_VAR) WBB_PUSH(a, &out, nodes.items[k]);
    return out;
}

bool ir_among(const IrRefs *refs, IrRef r)
{
    uint32_t k = 0;
    while (k < refs->n && refs->items[k] != r) k++;
    return k < refs->n;
}
