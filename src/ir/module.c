/* module.c: what modules that write a kernel need to know besides its statements: names, tables, buffers, bytes.
 *
 * Needs a selected kernel; leaves parts of a module for the modules that write it.
 *
 *     a table of u4 {1, 2, 3}   ->   the bytes 0x21, 0x03
 */
#include "ir/module.h"

#include <string.h>

/* The letters of a PTX identifier. */
static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$";

void ir_check_name(WbbCx *cx, const IrKernel *k)
{
    const char *name = k->name;
    const bool digit = *name >= '0' && *name <= '9';
    if (!*name || digit || strspn(name, letters) != strlen(name))
        wbb_fail(cx, (WbbLoc){0}, "@%s: a kernel's name is letters, digits, _ and $", name);
}

int64_t ir_shared_offset(const IrKernel *k, uint32_t buffer)
{
    int64_t at = 0;
    for (uint32_t i = 0; i < k->n_buffers; i++) {
        const IrBuffer *x = &k->buffers[i];
        if (x->space != IR_SHARED) continue;
        const int64_t align = WBB_MAX(x->align, 1u);
        at = (at + align - 1) / align * align;
        if (i == buffer) return at;
        at += x->elements * sc_bytes(x->type);
    }
    return at;
}

int64_t ir_dynamic_shared(const IrKernel *k)
{
    const int64_t bytes = ir_shared_offset(k, k->n_buffers);
    return bytes > IR_STATIC_SHARED ? bytes : 0;
}

const char *ir_module_name(WbbArena *a, const IrKernel *k, const char *own)
{
    char *name = wbb_format(a, "%s_%s", k->name, own);
    for (char *c = name; *c; c++)
        if (!strchr(letters, *c)) *c = '_';
    return name;
}

const uint8_t *ir_table_bytes(WbbArena *a, const IrBuffer *table, size_t *n)
{
    const uint32_t bits = sc_type_info[table->type].bits;
    const size_t elements = (size_t)table->elements * sc_bytes(table->type);
    const uint8_t *bytes = table->table;
    *n = elements;
    if (!ir_is_packed(table->type)) return bytes;
    const size_t each = 8 / bits;
    uint8_t *packed = WBB_NEW_N(a, uint8_t, elements / each + 2);
    for (size_t i = 0; i < elements; i++)
        packed[i / each] = (uint8_t)(packed[i / each] | (bytes[i] & sc_mask(table->type)) << i % each * bits);
    *n = (elements + each - 1) / each;
    return packed;
}

bool *ir_constant_buffers(WbbArena *a, const IrKernel *k)
{
    bool *constant = WBB_NEW_N(a, bool, k->n_buffers + 1);
    for (uint32_t i = 0; i < k->n_buffers; i++) constant[i] = !ir_is_changed(&k->buffers[i]);
    for (uint32_t i = 0; i < k->n_buffers; i++)
        if (k->buffers[i].alias) constant[k->buffers[i].alias - 1] = false;
    return constant;
}

uint32_t ir_word_align(const IrBuffer *b)
{
    const uint64_t size = (uint64_t)b->elements * sc_type_info[b->type].bits / 8;
    uint32_t align = b->align;
    while (align > 1 && b->elements > 1 && size % align) align /= 2;
    return align;
}

uint32_t ir_align_of(IrGraph *g, const IrBuffer *b, ScType type, IrRef index, bool rounded)
{
    uint32_t align = sc_bytes(type);
    const uint32_t most = rounded ? ir_word_align(b) : b->align;
    const WbbI128 last = ir_fact(g, index).hi;
    WbbI128 elements = ir_is_packed(type) ? 8 / sc_type_info[type].bits : 1; /* in `align` bytes */
    while (align < most && ir_multiple(g, index, 2 * elements) && (!rounded || last + 2 * elements <= b->elements)) {
        elements *= 2;
        align *= 2;
    }
    return align;
}

bool ir_transposed_row(const IrGraph *g, IrRef r, IrWordOfBytes from[4], uint32_t *byte)
{
    enum { BYTES = 4 };
    const IrNode *n = ir_at(g, r);
    if (n->op != OP_PACK || sc_type_info[IR_SC(n->type)].bits != 8 || IR_SC(n->type) == SC_PRED ||
        IR_LANES(n->type) != BYTES)
        return false;
    for (uint32_t k = 0; k < BYTES; k++) {
        const IrNode *half = ir_at(g, n->a[k / 2]), *x = ir_at(g, half->a[k % 2]);
        if (half->op != OP_PACK || x->op != OP_PART || IR_LANES(ir_at(g, x->a[0])->type) % BYTES) return false;
        if (k && x->imm % BYTES != *byte) return false;
        *byte = (uint32_t)x->imm % BYTES;
        from[k] = (IrWordOfBytes){x->a[0], (uint32_t)x->imm / BYTES};
    }
    return true;
}
