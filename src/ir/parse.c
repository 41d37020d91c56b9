/* parse.c: from the text that src/ir/README.md describes to a kernel; here its head and its functions. Fails with
 * file:line:col.
 *
 * Needs nothing; leaves a kernel whose names are resolved and whose types fit, as `ir_verify` asks.
 *
 *     kernel @one(%out: out f32[4]) block 4 grid 1 {
 *       func @f(i in 0..4) -> f32 { yield 1.0 }
 *       store %out[tid], call @f(tid)
 *     }
 */
#include "ir/parser.h"

#include <string.h>

enum { DEFAULT_ALIGN = 16 };
static const IrType INDEX = IR_TYPE(SC_INDEX, 0);

static uint32_t operand_named(IrParser *p)
{
    ir_skip_space(p);
    const WbbLoc loc = ir_here(p);
    const uint32_t i = ir_buffer_named(p, ir_sigil_name(p, "%", "an operand"), loc);
    if (p->buffers.items[i].space != IR_IN)
        wbb_fail(p->cx, loc, "'%%%s' is not an operand", p->buffers.items[i].name);
    for (uint32_t o = i; o < p->buffers.n; o++)
        if (p->buffers.items[o].alias == i + 1)
            wbb_fail(p->cx, loc, "'%%%s' is the memory of another output already", p->buffers.items[i].name);
    return i;
}

/* = {1.0, 2.0}: a constant for each element of b, or one for each part of a complex element. */
static const void *table(IrParser *p, const IrBuffer *b)
{
    const ScType part = b->type == SC_C64 ? SC_F32 : b->type == SC_C128 ? SC_F64 : b->type;
    const size_t bytes = sc_bytes(part), n = wbb_mul_size(p->arena, (size_t)b->elements, sc_bytes(b->type) / bytes);
    char *out = wbb_alloc(p->arena, wbb_mul_size(p->arena, n, bytes) + 1);
    ir_expect(p, "=");
    ir_expect(p, "{");
    for (size_t i = 0; i < n; i++) {
        if (i) ir_expect(p, ",");
        ir_skip_space(p);
        const WbbLoc at = ir_here(p);
        const IrRef x = ir_read_expression(p, IR_TYPE(part, 0));
        if (!ir_is_const(p->g, x)) wbb_fail(p->cx, at, "a table is made of constants");
        const uint64_t bits = ir_at(p->g, x)->imm;
        memcpy(out + i * bytes, &bits, bytes);
    }
    ir_expect(p, "}");
    return out;
}

static const char *const space_name[] = {
    [IR_IN] = "an operand",    [IR_OUT] = "an output",   [IR_INOUT] = "an output",
    [IR_TEMP] = "a temporary", [IR_TABLE] = "a table", [IR_SHARED] = "a shared buffer",
};

static IrSpace space(IrParser *p)
{
    if (ir_take_word(p, "inout")) return IR_INOUT;
    if (ir_take_word(p, "out")) return IR_OUT;
    if (ir_take_word(p, "temp")) return IR_TEMP;
    if (ir_take_word(p, "table")) return IR_TABLE;
    return ir_take_word(p, "shared") ? IR_SHARED : IR_IN;
}

static void buffer(IrParser *p)
{
    ir_skip_space(p);
    const WbbLoc loc = ir_here(p);
    IrBuffer b = {.name = ir_sigil_name(p, "%", "a buffer"), .align = DEFAULT_ALIGN};
    for (uint32_t i = 0; i < p->buffers.n; i++)
        if (p->buffers.items[i].name == b.name) wbb_fail(p->cx, loc, "two buffers are called '%%%s'", b.name);
    ir_expect(p, ":");
    b.space = space(p);
    if (b.space == IR_INOUT) b.alias = operand_named(p) + 1;
    if (b.space == IR_TEMP) b.zeroed = ir_take_word(p, "zero");
    const IrBuffer *last = p->buffers.n ? &p->buffers.items[p->buffers.n - 1] : NULL;
    const bool either = last && ((ir_is_output(last) && b.space == IR_OUT) ||
                                 (last->space == IR_TABLE && b.space == IR_SHARED));
    if (last && last->space > b.space && !either)
        wbb_fail(p->cx, loc, "%s after %s", space_name[b.space], space_name[last->space]);
    ir_skip_space(p);
    const WbbLoc at = ir_here(p);
    const IrType t = ir_read_type(p);
    if (IR_LANES(t) > 1 || t == INDEX) wbb_fail(p->cx, at, "a buffer cannot have this type");
    b.type = IR_SC(t);
    ir_expect(p, "[");
    b.elements = ir_integer(p, 0, INT64_MAX, "the number of elements");
    ir_expect(p, "]");
    if (ir_take_word(p, "align")) b.align = (uint32_t)ir_integer(p, 1, 4096, "the alignment");
    if (b.align & (b.align - 1)) wbb_fail(p->cx, at, "an alignment is a power of two");
    const IrBuffer *same = b.alias ? &p->buffers.items[b.alias - 1] : &b;
    if (same->type != b.type || same->elements != b.elements)
        wbb_fail(p->cx, at, "'%%%s' is the memory of '%%%s': both have one type and size", b.name, same->name);
    if (b.space == IR_TABLE) b.table = table(p, &b);
    WBB_PUSH(p->arena, &p->buffers, b);
}

/* func @f(i in 0..8) -> f32, i32 { .. yield x, y } */
static void function(IrParser *p)
{
    ir_skip_space(p);
    const WbbLoc loc = ir_here(p);
    const uint32_t visible = p->names.n;
    const char *z = ir_sigil_name(p, "@", "the function's name");
    IrFunction *f = WBB_NEW(p->arena, IrFunction);
    f->name = z;
    for (uint32_t i = 0; i < p->k->n_functions; i++)
        if (p->k->functions[i]->name == z) wbb_fail(p->cx, loc, "two functions are called '@%s'", z);
    ir_expect(p, "(");
    for (uint32_t i = 0; ir_peek(p) != ')'; i++) {
        if (i > 0) ir_expect(p, ",");
        ir_skip_space(p);
        const WbbLoc at = ir_here(p);
        const char *param = ir_word(p, "a name");
        const IrInterval in = ir_interval(p);
        ir_name(p, at, param, ir_param(p->g, f, param, in.lo, in.hi));
    }
    ir_expect(p, ")");
    ir_expect(p, "->");
    IrYields yields = {0};
    struct { IrType *items; uint32_t n, capacity; } types = {0};
    do {
        ir_skip_space(p);
        const WbbLoc at = ir_here(p);
        const IrType t = ir_read_type(p);
        if (IR_LANES(t) > 1 || t == INDEX) wbb_fail(p->cx, at, "a function's result cannot have this type");
        WBB_PUSH(p->arena, &types, t);
    } while (ir_take(p, ","));
    yields.n = types.n;
    yields.types = types.items;
    ir_read_block(p, &f->body, &yields);
    for (uint32_t i = 0; i < yields.n; i++) ir_yield(p->g, f, yields.refs[i]);
    p->names.n = visible;
    ir_add_function(p->k, f);
}

static void kernel(IrParser *p, IrKernel *k)
{
    ir_expect_word(p, "kernel");
    k->name = ir_sigil_name(p, "@", "the kernel's name");
    ir_expect(p, "(");
    while (ir_peek(p) != ')') {
        if (p->buffers.n) ir_expect(p, ",");
        buffer(p);
    }
    ir_expect(p, ")");
    k->buffers = p->buffers.items;
    k->n_buffers = p->buffers.n;
    ir_expect_word(p, "block");
    k->block = (uint32_t)ir_integer(p, 1, 1024, "the block");
    ir_expect_word(p, "grid");
    k->grid = (uint32_t)ir_integer(p, 0, INT32_MAX, "the grid");
    const int64_t last = k->grid ? (int64_t)k->grid - 1 : 0;
    ir_skip_space(p);
    const WbbLoc loc = ir_here(p);
    if (ir_take_word(p, "cluster")) {
        k->cluster = (uint32_t)ir_integer(p, 2, IR_CLUSTER, "the cluster");
        if (k->grid % k->cluster) wbb_fail(p->cx, loc, "a grid of %u has no whole clusters of %u", k->grid, k->cluster);
    }
    ir_name(p, loc, wbb_intern_z(p->cx, "bid"), ir_var(p->g, ir_var_new(p->g, "bid", IR_BID, 0, last, 0)));
    ir_name(p, loc, wbb_intern_z(p->cx, "tid"),
            ir_var(p->g, ir_var_new(p->g, "tid", IR_TID, 0, (int64_t)k->block - 1, 0)));
    p->nesting++;
    ir_expect(p, "{");
    while (ir_take_word(p, "func")) function(p);
    ir_read_statements(p, &k->body, NULL);
    const char *fault = ir_not_arriving(k);
    if (fault) wbb_fail(p->cx, ir_here(p), "%s", fault);
    if (ir_peek(p) || p->p < p->end)
        wbb_fail(p->cx, ir_here(p), "expected the end after the kernel, found %s", ir_found(p));
}

IrKernel *ir_parse(WbbCx *cx, WbbArena *a, const char *file, const char *text, size_t n)
{
    IrKernel *k = WBB_NEW(a, IrKernel);
    k->g = ir_graph_new(cx, a);
    IrParser p = {
        .cx = cx, .arena = a, .g = k->g, .file = file, .p = text, .end = text + n, .line_start = text, .line = 1};
    p.numbers.arena = a;
    p.k = k;
    kernel(&p, k);
    return k;
}
