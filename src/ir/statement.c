/* statement.c: the statements of the text. See src/ir/README.md for the grammar.
 *
 * Needs the visible names and the buffers; leaves complete statements, their results and what they yield included.
 *
 *     s = for k in 0..8 carry acc = 0.0:f32 { yield add.f32(acc, load %in[8*t + k]) }
 */
#include "ir/parser.h"

#include <string.h>

static const IrType INDEX = IR_TYPE(SC_INDEX, 0), PRED = IR_TYPE(SC_PRED, 0);

IrInterval ir_interval(IrParser *p)
{
    ir_expect_word(p, "in");
    ir_skip_space(p);
    const WbbLoc loc = ir_here(p);
    IrInterval i = {.lo = ir_integer(p, INT64_MIN, INT64_MAX, "a bound")};
    ir_expect(p, "..");
    i.hi = ir_integer(p, INT64_MIN + 1, INT64_MAX, "a bound") - 1;
    if (i.hi < i.lo) wbb_fail(p->cx, loc, "the interval is empty");
    return i;
}

static bool is_integer(ScType t) { return sc_type_info[t].cls == 'I' || sc_type_info[t].cls == 'U'; }

static void let_statement(IrParser *p, IrBlock *b)
{
    ir_skip_space(p);
    const WbbLoc loc = ir_here(p);
    const char *z = ir_word(p, "a name");
    ir_expect(p, "=");
    ir_skip_space(p);
    const WbbLoc at = ir_here(p);
    const bool run_time = ir_take(p, "index(");
    const IrRef is = ir_read_expression(p, run_time ? 0 : INDEX);
    const IrType t = ir_at(p->g, is)->type;
    if (run_time) ir_expect(p, ")");
    if (run_time && (IR_LANES(t) > 1 || !is_integer(IR_SC(t))))
        wbb_fail(p->cx, at, "expected an integer, found %s", ir_type_text(p, t));
    const IrInterval i = ir_interval(p);
    ir_name(p, loc, z, run_time ? ir_let_value(p->g, b, z, is, i.lo, i.hi) : ir_let(p->g, b, z, is, i.lo, i.hi));
}

/* The names before the '=' of a statement with results. */
typedef struct {
    struct { const char **items; uint32_t n, capacity; } names;
    struct { WbbLoc *items; uint32_t n, capacity; } locs;
} Results;

static void bind_results(IrParser *p, const IrStmt *s, const Results *r)
{
    for (uint32_t i = 0; i < s->n_results; i++) {
        p->g->values[s->results[i].value].name = r->names.items[i];
        ir_name(p, r->locs.items[i], r->names.items[i], ir_value(p->g, s->results[i].value));
    }
}

/* 'carry' NAME '=' EXPR {',' NAME '=' EXPR}; the names are visible after the last one. */
static void read_carried(IrParser *p, IrStmt *s, const Results *r)
{
    if (r->names.n > 0) ir_expect_word(p, "carry");
    const uint32_t visible = p->names.n;
    for (uint32_t i = 0; i < r->names.n; i++) {
        if (i > 0) ir_expect(p, ",");
        ir_skip_space(p);
        const WbbLoc loc = ir_here(p);
        const char *z = ir_word(p, "a name");
        ir_expect(p, "=");
        const uint32_t now = p->names.n;
        p->names.n = visible;
        const IrRef init = ir_read_expression(p, 0);
        p->names.n = now;
        if (ir_at(p->g, init)->type == INDEX) wbb_fail(p->cx, loc, "an index cannot be carried");
        ir_carry(p->g, s, z, init);
        ir_name(p, loc, z, ir_value(p->g, s->results[i].carried));
    }
}

static void for_statement(IrParser *p, IrBlock *b, const Results *r)
{
    ir_skip_space(p);
    const WbbLoc loc = ir_here(p);
    const char *z = ir_word(p, "a name");
    const IrInterval i = ir_interval(p);
    IrStmt *s = ir_stmt(p->g, b, IR_FOR);
    s->var = ir_var_new(p->g, z, IR_LOOP, i.lo, i.hi, 0);
    if (ir_take_word(p, "lanes")) {
        ir_skip_space(p);
        const WbbLoc at = ir_here(p);
        s->lanes = (uint32_t)ir_integer(p, 1, 1 << IR_MAX_LANES_LOG2, "the number of lanes");
        if (i.lo != 0 || s->lanes != (uint64_t)i.hi + 1)
            wbb_fail(p->cx, at, "the interval of %u lanes is 0..%u", s->lanes, s->lanes);
    }
    s->rolled = ir_take_word(p, "rolled");
    s->ahead = ir_take_word(p, "ahead");
    const uint32_t visible = p->names.n;
    read_carried(p, s, r);
    ir_name(p, loc, z, ir_var(p->g, s->var));
    IrYields yields = {.n = r->names.n, .types = WBB_NEW_N(p->arena, IrType, r->names.n + 1)};
    for (uint32_t k = 0; k < yields.n; k++) yields.types[k] = p->g->values[s->results[k].value].type;
    ir_read_block(p, &s->body, &yields);
    for (uint32_t k = 0; k < yields.n; k++) s->results[k].yield = yields.refs[k];
    p->names.n = visible;
    bind_results(p, s, r);
}

/* repeat [carry ..] { .. [yield ..] while COND } */
static void repeat_statement(IrParser *p, IrBlock *b, const Results *r)
{
    IrStmt *s = ir_stmt(p->g, b, IR_REPEAT);
    const uint32_t visible = p->names.n;
    read_carried(p, s, r);
    IrYields yields = {.n = r->names.n, .types = WBB_NEW_N(p->arena, IrType, r->names.n + 1), .repeats = true};
    for (uint32_t k = 0; k < yields.n; k++) yields.types[k] = p->g->values[s->results[k].value].type;
    ir_read_block(p, &s->body, &yields);
    for (uint32_t k = 0; k < yields.n; k++) s->results[k].yield = yields.refs[k];
    s->condition = yields.condition;
    p->names.n = visible;
    bind_results(p, s, r);
}

static void if_statement(IrParser *p, IrBlock *b, const Results *r)
{
    const IrRef condition = ir_read_expression(p, PRED);
    const uint32_t n = r->names.n;
    IrStmt *s = ir_stmt(p->g, b, IR_IF);
    s->condition = condition;
    IrYields then = {.n = n, .types = WBB_NEW_N(p->arena, IrType, n + 1)}, otherwise = then;
    ir_read_block(p, &s->body, &then);
    for (uint32_t i = 0; i < n; i++) {
        otherwise.types[i] = ir_at(p->g, then.refs[i])->type;
        if (otherwise.types[i] == INDEX)
            wbb_fail(p->cx, r->locs.items[i], "an index cannot be a result; let names one");
    }
    if (n > 0) ir_expect_word(p, "else");
    if (n > 0 || ir_take_word(p, "else")) ir_read_block(p, &s->otherwise, &otherwise);
    for (uint32_t i = 0; i < n; i++) ir_result(p->g, s, r->names.items[i], then.refs[i], otherwise.refs[i]);
    bind_results(p, s, r);
}

/* '%' NAME '[' INDEX ']': a buffer that statements may change, or with `reads` any. */
static uint32_t address(IrParser *p, bool reads, IrRef *index)
{
    ir_skip_space(p);
    const WbbLoc loc = ir_here(p);
    const uint32_t buffer = ir_buffer_named(p, ir_sigil_name(p, "%", "a buffer"), loc);
    if (!reads && !ir_is_changed(&p->buffers.items[buffer]))
        wbb_fail(p->cx, loc, "'%%%s' is not an output", p->buffers.items[buffer].name);
    ir_expect(p, "[");
    *index = ir_read_expression(p, INDEX);
    ir_expect(p, "]");
    return buffer;
}

/* The element that goes to `to`, which is shared. */
static uint32_t copied(IrParser *p, const IrOperator *h, uint32_t to, IrRef *index)
{
    ir_skip_space(p);
    const WbbLoc loc = ir_here(p);
    const uint32_t from = address(p, true, index), bytes = sc_bytes(IR_SC(h->type)) * IR_LANES(h->type);
    const IrBuffer *x = &p->buffers.items[from];
    if (p->buffers.items[to].space != IR_SHARED || x->space == IR_SHARED)
        wbb_fail(p->cx, loc, "'%s' copies to a shared buffer, from one that is not", h->name);
    if (x->type != IR_SC(h->type)) wbb_fail(p->cx, loc, "'%%%s' has another type", x->name);
    if (bytes != 4 && bytes != 8 && bytes != 16) wbb_fail(p->cx, h->loc, "'%s' copies 4, 8 or 16 bytes", h->name);
    return from;
}

/* do OP(%buffer[index], operands) */
static void do_statement(IrParser *p, IrBlock *b, const Results *r)
{
    ir_skip_space(p);
    const WbbLoc loc = ir_here(p);
    IrOperator h = ir_read_effect(p);
    const bool selected = h.op == OP_INSTR, needs_address = sc_op_info[h.op].effects & SC_ADDRESS;
    IrRef index = 0, from_index = 0;
    uint32_t buffer = 0, from = 0;
    if (ir_peek(p) == '%') {
        if (!selected && !needs_address) wbb_fail(p->cx, ir_here(p), "'%s' has no address", h.name);
        const bool reads = ir_only_reads(h.op);
        buffer = address(p, reads, &index);
        if (h.op == OP_READ_PEER && (p->buffers.items[buffer].space != IR_SHARED || h.imm >= p->k->cluster ||
                                     sc_type_info[p->buffers.items[buffer].type].bits < 8))
            wbb_fail(p->cx, loc, "'%s' reads a shared buffer of a block of the cluster", h.name);
        if (reads && !h.type) h.type = IR_TYPE(p->buffers.items[buffer].type, 0);
        if (sc_type_info[IR_SC(h.type)].bits != sc_type_info[p->buffers.items[buffer].type].bits)
            wbb_fail(p->cx, loc, "'%%%s' has a type of another width", p->buffers.items[buffer].name);
        if (ir_peek(p) != ')') ir_expect(p, ",");
        if (h.op == OP_COPY_ASYNC || (selected && ir_peek(p) == '%')) from = copied(p, &h, buffer, &from_index);
    } else if (needs_address) {
        wbb_fail(p->cx, ir_here(p), "'%s' needs an address, %%buffer[index]", h.name);
    }
    const IrRef operation = ir_read_operands(p, &h);
    if (r->names.n > (h.type ? 1 : 0)) wbb_fail(p->cx, loc, "'%s' has %s", h.name, h.type ? "one result" : "no result");
    ir_do_at(p->g, b, NULL, operation, r->names.n ? h.type : 0, buffer, index);
    b->items[b->n - 1]->from = from;
    b->items[b->n - 1]->from_index = from_index;
    bind_results(p, b->items[b->n - 1], r);
}

static void store_statement(IrParser *p, IrBlock *b)
{
    ir_skip_space(p);
    IrRef index;
    const uint32_t buffer = address(p, false, &index);
    const ScType t = p->buffers.items[buffer].type;
    ir_expect(p, ",");
    ir_skip_space(p);
    const WbbLoc at = ir_here(p);
    const IrRef value = ir_read_stored(p, t);
    if (IR_SC(ir_at(p->g, value)->type) != t)
        wbb_fail(p->cx, at, "expected %s, found %s", sc_type_info[t].name, ir_type_text(p, ir_at(p->g, value)->type));
    IrStmt *s = ir_stmt(p->g, b, IR_STORE);
    s->buffer = buffer, s->index = index, s->value = value;
}

/* NAME '=' EXPR, or NAME {',' NAME} '=' and a statement with as many results */
static void named(IrParser *p, IrBlock *b)
{
    Results r = {0};
    do {
        ir_skip_space(p);
        const WbbLoc loc = ir_here(p);
        const char *z = ir_word(p, r.names.n ? "a name" : "a statement or '}'");
        const char next = ir_peek(p);
        if (r.names.n == 0 && next != '=' && next != ',')
            wbb_fail(p->cx, loc, "expected let, for, if, repeat, do, store or 'NAME =', found '%s'", z);
        WBB_PUSH(p->arena, &r.names, z);
        WBB_PUSH(p->arena, &r.locs, loc);
    } while (ir_take(p, ","));
    ir_expect(p, "=");
    if (ir_take_word(p, "for")) {
        for_statement(p, b, &r);
    } else if (ir_take_word(p, "if")) {
        if_statement(p, b, &r);
    } else if (ir_take_word(p, "repeat")) {
        repeat_statement(p, b, &r);
    } else if (ir_take_word(p, "do")) {
        do_statement(p, b, &r);
    } else {
        if (r.names.n > 1)
            wbb_fail(p->cx, ir_here(p), "expected for, if or repeat after several names, found %s", ir_found(p));
        ir_name(p, r.locs.items[0], r.names.items[0], ir_read_expression(p, 0));
    }
}

static void statement(IrParser *p, IrBlock *b)
{
    static const Results nothing = {0};
    if (ir_take_word(p, "let")) let_statement(p, b);
    else if (ir_take_word(p, "for")) for_statement(p, b, &nothing);
    else if (ir_take_word(p, "if")) if_statement(p, b, &nothing);
    else if (ir_take_word(p, "store")) store_statement(p, b);
    else if (ir_take_word(p, "repeat")) repeat_statement(p, b, &nothing);
    else if (ir_take_word(p, "do")) do_statement(p, b, &nothing);
    else named(p, b);
}

static void read_yields(IrParser *p, IrYields *e)
{
    e->refs = WBB_NEW_N(p->arena, IrRef, e->n + 1);
    for (uint32_t i = 0; i < e->n; i++) {
        if (i > 0) ir_expect(p, ",");
        e->refs[i] = ir_read_expression(p, e->types[i]);
    }
}

void ir_read_statements(IrParser *p, IrBlock *b, IrYields *yields)
{
    const uint32_t visible = p->names.n;
    const bool repeats = yields && yields->repeats;
    while (ir_peek(p) != '}' && !ir_starts_word(p, "yield") && !(repeats && ir_starts_word(p, "while")))
        statement(p, b);
    if (yields && yields->n) {
        ir_expect_word(p, "yield");
        read_yields(p, yields);
    }
    if (repeats) {
        ir_expect_word(p, "while");
        yields->condition = ir_read_expression(p, PRED);
    }
    ir_expect(p, "}");
    p->names.n = visible;
}

void ir_read_block(IrParser *p, IrBlock *b, IrYields *yields)
{
    if (++p->nesting > IR_MAX_NESTING) wbb_fail(p->cx, ir_here(p), "nested deeper than %d", IR_MAX_NESTING);
    ir_expect(p, "{");
    ir_read_statements(p, b, yields);
    p->nesting--;
}
