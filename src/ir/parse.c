/* parse.c: the text of README.md of this room to a kernel: the kernel's head and its statements. Fails with file:line:col.
 *
 * Needs nothing; leaves a kernel whose names are resolved and whose types fit; `ir_verify` holds for it.
 *
 *     for v in 0..8 lanes 8 { store %out[8*t + v], 0.0 }
 */
#include "ir/parser.h"

#include <string.h>

enum { DEFAULT_ALIGN = 16 };
static const IrType INDEX = IR_TYPE(SC_INDEX, 0), PRED = IR_TYPE(SC_PRED, 0);

/* statements --------------------------------------------------------------------------------------------------------------- */

static void name(IrParser *p, WbbLoc loc, const char *z, IrRef node)
{
    static const char *const taken[] = {"let", "for",   "if",  "else", "store", "load", "in",
                                        "inf", "lanes", "nan", "true", "false", "wide", "sum"};
    for (size_t i = 0; i < WBB_LEN(taken); i++)
        if (!strcmp(z, taken[i])) wbb_fail(p->cx, loc, "'%s' is a word of the language", z);
    for (uint32_t i = 0; i < p->names.n; i++)
        if (p->names.items[i].name == z) wbb_fail(p->cx, loc, "'%s' has a meaning here already", z);
    const IrName n = {.name = z, .node = node};
    WBB_PUSH(p->arena, &p->names, n);
}

typedef struct {
    int64_t lo, hi; /* inclusive */
} Interval;

static Interval interval(IrParser *p)
{
    ir_expect_word(p, "in");
    ir_skip_space(p);
    const WbbLoc loc = ir_here(p);
    Interval i = {.lo = ir_integer(p, INT64_MIN, INT64_MAX, "a bound")};
    ir_expect(p, "..");
    i.hi = ir_integer(p, INT64_MIN + 1, INT64_MAX, "a bound") - 1;
    if (i.hi < i.lo) wbb_fail(p->cx, loc, "the interval is empty");
    return i;
}

static void block(IrParser *p, IrBlock *b);

static void let_statement(IrParser *p, IrBlock *b)
{
    ir_skip_space(p);
    const WbbLoc loc = ir_here(p);
    const char *z = ir_word(p, "a name");
    ir_expect(p, "=");
    const IrRef definition = ir_read_expression(p, INDEX);
    const Interval i = interval(p);
    const uint32_t var = ir_var_new(p->g, z, IR_LET, i.lo, i.hi, definition);
    ir_stmt(p->g, b, IR_BIND)->var = var;
    name(p, loc, z, ir_var(p->g, var));
}

static void for_statement(IrParser *p, IrBlock *b)
{
    ir_skip_space(p);
    const WbbLoc loc = ir_here(p);
    const char *z = ir_word(p, "a name");
    const Interval i = interval(p);
    IrStmt *s = ir_stmt(p->g, b, IR_FOR);
    s->var = ir_var_new(p->g, z, IR_LOOP, i.lo, i.hi, 0);
    if (ir_take_word(p, "lanes")) {
        ir_skip_space(p);
        const WbbLoc at = ir_here(p);
        s->lanes = (uint32_t)ir_integer(p, 1, 1 << IR_MAX_LANES_LOG2, "the number of lanes");
        if (i.lo != 0 || s->lanes != (uint64_t)i.hi + 1) wbb_fail(p->cx, at, "the interval of %u lanes is 0..%u", s->lanes, s->lanes);
    }
    const uint32_t visible = p->names.n;
    name(p, loc, z, ir_var(p->g, s->var));
    block(p, &s->body);
    p->names.n = visible;
}

static void if_statement(IrParser *p, IrBlock *b)
{
    const IrRef condition = ir_read_expression(p, PRED);
    IrStmt *s = ir_stmt(p->g, b, IR_IF);
    s->condition = condition;
    block(p, &s->body);
    if (ir_take_word(p, "else")) block(p, &s->otherwise);
}

static void store_statement(IrParser *p, IrBlock *b)
{
    ir_skip_space(p);
    const WbbLoc loc = ir_here(p);
    const uint32_t buffer = ir_buffer_named(p, ir_sigil_name(p, "%", "a buffer"), loc);
    const ScType t = p->buffers.items[buffer].type;
    if (!p->buffers.items[buffer].output) wbb_fail(p->cx, loc, "'%%%s' is no output", p->buffers.items[buffer].name);
    ir_expect(p, "[");
    const IrRef index = ir_read_expression(p, INDEX);
    ir_expect(p, "]");
    ir_expect(p, ",");
    ir_skip_space(p);
    const WbbLoc at = ir_here(p);
    const IrRef value = ir_read_stored(p, t);
    if (IR_SC(ir_at(p->g, value)->type) != t)
        wbb_fail(p->cx, at, "expected %s, found %s", sc_type_info[t].name, ir_type_text(p, ir_at(p->g, value)->type));
    IrStmt *s = ir_stmt(p->g, b, IR_STORE);
    s->buffer = buffer, s->index = index, s->value = value;
}

static void statement(IrParser *p, IrBlock *b)
{
    if (ir_take_word(p, "let")) {
        let_statement(p, b);
    } else if (ir_take_word(p, "for")) {
        for_statement(p, b);
    } else if (ir_take_word(p, "if")) {
        if_statement(p, b);
    } else if (ir_take_word(p, "store")) {
        store_statement(p, b);
    } else {
        ir_skip_space(p);
        const WbbLoc loc = ir_here(p);
        const char *z = ir_word(p, "a statement or '}'");
        if (ir_peek(p) != '=') wbb_fail(p->cx, loc, "expected let, for, if, store or 'NAME =', found '%s'", z);
        p->p++;
        name(p, loc, z, ir_read_expression(p, 0));
    }
}

static void block(IrParser *p, IrBlock *b)
{
    const uint32_t visible = p->names.n;
    if (++p->nesting > IR_MAX_NESTING) wbb_fail(p->cx, ir_here(p), "nested deeper than %d", IR_MAX_NESTING);
    ir_expect(p, "{");
    while (!ir_take(p, "}")) statement(p, b);
    p->names.n = visible;
    p->nesting--;
}

/* kernel ------------------------------------------------------------------------------------------------------------------- */

static void buffer(IrParser *p)
{
    ir_skip_space(p);
    const WbbLoc loc = ir_here(p);
    IrBuffer b = {.name = ir_sigil_name(p, "%", "a buffer"), .align = DEFAULT_ALIGN};
    for (uint32_t i = 0; i < p->buffers.n; i++)
        if (p->buffers.items[i].name == b.name) wbb_fail(p->cx, loc, "two buffers are called '%%%s'", b.name);
    ir_expect(p, ":");
    b.output = ir_take_word(p, "out");
    if (!b.output && p->buffers.n && p->buffers.items[p->buffers.n - 1].output) wbb_fail(p->cx, loc, "an operand after an output");
    ir_skip_space(p);
    const WbbLoc at = ir_here(p);
    const IrType t = ir_read_type(p);
    if (IR_LANES(t) > 1 || t == INDEX) wbb_fail(p->cx, at, "no type of a buffer");
    b.type = IR_SC(t);
    ir_expect(p, "[");
    b.elements = ir_integer(p, 0, INT64_MAX, "the number of elements");
    ir_expect(p, "]");
    if (ir_take_word(p, "align")) b.align = (uint32_t)ir_integer(p, 1, 4096, "the alignment");
    if (b.align & (b.align - 1)) wbb_fail(p->cx, at, "an alignment is a power of two");
    WBB_PUSH(p->arena, &p->buffers, b);
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
    const WbbLoc loc = ir_here(p);
    name(p, loc, wbb_intern_z(p->cx, "bid"), ir_var(p->g, ir_var_new(p->g, "bid", IR_BID, 0, last, 0)));
    name(p, loc, wbb_intern_z(p->cx, "tid"), ir_var(p->g, ir_var_new(p->g, "tid", IR_TID, 0, (int64_t)k->block - 1, 0)));
    block(p, &k->body);
    if (ir_peek(p) || p->p < p->end) wbb_fail(p->cx, ir_here(p), "expected the end after the kernel, found %s", ir_seen(p));
}

IrKernel *ir_parse(WbbCx *cx, WbbArena *a, const char *file, const char *text, size_t n)
{
    IrKernel *k = WBB_NEW(a, IrKernel);
    k->g = ir_graph_new(cx, a);
    IrParser p = {.cx = cx, .arena = a, .g = k->g, .file = file, .p = text, .end = text + n, .line_start = text, .line = 1};
    kernel(&p, k);
    return k;
}
