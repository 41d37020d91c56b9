/* parse.c: the text of a graph, as print.c writes it, read back.
 *
 * Needs text of which each line is a definition, those that it reads above it; leaves a graph that prints alike. A
 * definition stands for an instruction of which no more is known than its name and shape, and of a whole one its
 * operation and operands. Expressions are those of the IR (ir/expression.c), and `x[d0, 3]` in them is a read.
 *
 *     x: f32[8,16] is parameter 0
 *     m[d0 < 8]: f32 := max.f32[k0 < 16] x[d0, k0] from -inf:f32
 */
#include "hlo/normalise.h"

#include "graph/inner.h"
#include "ir/parser.h"

#include <string.h>

enum { INDEX = IR_TYPE(SC_INDEX, 0), PRED = IR_TYPE(SC_PRED, 0) };

typedef struct {
    IrParser p;
    IrArrays arrays; /* definitions so far: what may be read */
    WbbMap starts;   /* interned names of variables that stand for integers */
    GrGraph *out;
    struct { HloInstruction **items; uint32_t n, capacity; } list;
    struct { GrDef *items; uint32_t n, capacity; } defs;
} Reader;

/* --- indices ------------------------------------------------------------------------------------------------------ */
/* `d0 < 8`, or 0 where there is one element; the number of its values to *size. */
static IrRef variable(Reader *r, int64_t *size)
{
    IrParser *p = &r->p;
    *size = 1;
    if (ir_is_digit(ir_peek(p))) return ir_index(p->g, ir_integer(p, 0, 0, "the index of a dimension of one element"));
    const WbbLoc loc = ir_here(p);
    const char *name = ir_word(p, "a variable, or 0");
    ir_expect(p, "<");
    *size = ir_integer(p, 1, INT64_MAX, "how many values a variable has");
    const IrRef v = ir_var(p->g, ir_var_new(p->g, name, IR_LOOP, 0, *size - 1, 0));
    ir_name(p, loc, name, v);
    return v;
}

/* [d0 < 8, 0]; their sizes to dims. */
static IrRef *variables(Reader *r, int64_t *dims, uint32_t *n)
{
    IrParser *p = &r->p;
    IrRef *at = WBB_NEW_N(p->arena, IrRef, HLO_RANK_LIMIT);
    int64_t all = 1;
    ir_expect(p, "[");
    for (*n = 0; !ir_take(p, "]"); ++*n) {
        if (*n) ir_expect(p, ",");
        const WbbLoc loc = (ir_skip_space(p), ir_here(p));
        if (*n == HLO_RANK_LIMIT) wbb_fail(p->cx, loc, "more than %d dimensions", HLO_RANK_LIMIT);
        at[*n] = variable(r, &dims[*n]);
        if (__builtin_mul_overflow(all, dims[*n], &all) || all > INT64_MAX / 16)
            wbb_fail(p->cx, loc, "more elements than 63 bits of bytes hold");
    }
    return at;
}

/* --- definitions -------------------------------------------------------------------------------------------------- */
static GrDef *add(Reader *r, WbbLoc loc, const char *name, const HloShape *shape, GrForm form)
{
    IrParser *p = &r->p;
    WbbEntry *known = wbb_map_put(&r->arrays.numbers, wbb_key(name));
    if (known->value) wbb_fail(p->cx, loc, "'%s' is defined above", name);
    HloInstruction *i = WBB_NEW(p->arena, HloInstruction);
    *i = (HloInstruction){.opcode = form == GR_FOLD ? HLO_REDUCE : HLO_COPY, .name = name, .shape = shape, .loc = loc,
                          .id = r->list.n, .attributes = ""};
    const IrArray array = {.type = IR_TYPE(shape->type, 0), .rank = shape->rank, .whole = shape->type == SC_TUPLE};
    const GrDef d = {.i = i, .form = form};
    WBB_PUSH(p->arena, &r->arrays, array);
    known->value = r->arrays.n;
    WBB_PUSH(p->arena, &r->list, i);
    WBB_PUSH(p->arena, &r->defs, d);
    return &r->defs.items[r->defs.n - 1];
}

static const HloShape *shape_here(Reader *r)
{
    IrParser *p = &r->p;
    ir_skip_space(p);
    HloReader h = {.cx = p->cx, .arena = p->arena, .file = p->file, .p = p->p, .end = p->end,
                   .line_start = p->line_start, .line = p->line};
    const HloShape *s = hlo_read_shape(&h);
    p->p = h.p;
    return s;
}

/* x: f32[4,6] is parameter 0; w: (s32[], f32[8]) is while of state */
static void whole(Reader *r, WbbLoc loc, const char *name)
{
    IrParser *p = &r->p;
    ir_expect(p, ":");
    const HloShape *shape = shape_here(r);
    ir_expect_word(p, "is");
    const bool input = ir_take_word(p, "parameter");
    GrDef *d = add(r, loc, name, shape, input ? GR_INPUT : GR_WHOLE);
    HloInstruction *i = r->list.items[d->i->id];
    if (input) {
        i->opcode = HLO_PARAMETER, i->number = ir_integer(p, 0, INT32_MAX, "the number of a parameter");
        return;
    }
    i->opcode = HLO_CUSTOM_CALL, i->spelling = ir_array_word(p, "an operation");
    struct { HloInstruction **items; uint32_t n, capacity; } operands = {0};
    for (bool more = ir_take_word(p, "of"); more; more = ir_take(p, ",")) {
        ir_skip_space(p);
        const WbbLoc at = ir_here(p);
        const char *of = ir_array_word(p, "a definition");
        const WbbEntry *e = wbb_map_get(&r->arrays.numbers, wbb_key(of));
        if (!e || e->value == r->list.n) wbb_fail(p->cx, at, "nothing above is called '%s'", of);
        HloInstruction *x = r->list.items[e->value - 1];
        x->n_users++;
        WBB_PUSH(p->arena, &operands, x);
    }
    i->operands = operands.items, i->n_operands = operands.n;
}

static bool is_combiner(ScOp op)
{
    for (uint32_t k = OP_NONE; k < OP_COUNT; k++)
        if (op != OP_NONE && sc_op_info[k].combiner == op) return true;
    return false;
}

/* `max.f32[k0 < 16] TERM` and not the read `max.f32[d0]`: a term follows the bracket. */
static bool at_fold(Reader *r)
{
    IrParser *p = &r->p;
    ir_skip_space(p);
    const char *q = p->p, *start = q;
    while (q < p->end && (ir_is_letter(*q) || ir_is_digit(*q))) q++;
    if (q == p->end || *q != '.' || !is_combiner(sc_op_named(start, (size_t)(q - start)))) return false;
    for (q++; q < p->end && (ir_is_letter(*q) || ir_is_digit(*q)); q++) {}
    if (q == p->end || *q != '[') return false;
    while (q < p->end && *q != ']') q++;
    for (q += q < p->end; q < p->end && *q == ' '; q++) {}
    return q < p->end && *q != '#' && strncmp(q, "let ", 4) != 0;
}

/* `max.f32[k0 < 16]`: what starts stand for may depend on ranges. */
static void fold_head(Reader *r, GrDef *d)
{
    IrParser *p = &r->p;
    int64_t dims[HLO_RANK_LIMIT];
    const char *name = ir_word(p, "a combiner");
    d->op = sc_op_named(name, strlen(name));
    ir_expect(p, ".");
    ir_skip_space(p);
    const WbbLoc loc = ir_here(p);
    const IrType t = ir_read_type(p);
    if (IR_LANES(t) > 1 || !strchr(sc_op_info[d->op].classes, sc_type_info[IR_SC(t)].cls) || t == INDEX)
        wbb_fail(p->cx, loc, "no fold %s of %s", name, ir_type_text(p, t));
    d->type = IR_SC(t);
    d->ranges = variables(r, dims, &d->n_ranges);
}

static void fold(Reader *r, GrDef *d)
{
    IrParser *p = &r->p;
    const IrType t = IR_TYPE(d->type, 0);
    d->value = ir_read_expression(p, t);
    if (ir_take_word(p, "where")) d->condition = ir_read_expression(p, PRED);
    ir_expect_word(p, "from");
    d->init = ir_read_expression(p, t);
}

/* `s0 = min.i32(..) in 0..8, ..`: variables that stand for elements. */
static void starts(Reader *r, GrDef *d)
{
    IrParser *p = &r->p;
    struct { IrRef *items; uint32_t n, capacity; } all = {0};
    do {
        ir_skip_space(p);
        const WbbLoc loc = ir_here(p);
        const char *name = ir_word(p, "a name");
        ir_expect(p, "=");
        const IrRef value = ir_read_expression(p, 0);
        const ScType of = IR_SC(ir_at(p->g, value)->type);
        if (of == SC_INDEX || !sc_is_int(of)) wbb_fail(p->cx, loc, "'%s' stands for no integer of an array", name);
        const IrInterval in = ir_interval(p);
        WbbEntry *e = wbb_map_put(&r->starts, wbb_key(name));
        if (e->value++) wbb_fail(p->cx, loc, "'%s' stands for an integer above", name);
        const IrRef v = ir_var(p->g, ir_var_new(p->g, name, IR_LET, in.lo, in.hi, 0));
        const GrStart s = {v, value};
        ir_name(p, loc, name, v);
        WBB_PUSH(p->arena, &r->out->starts, s);
        WBB_PUSH(p->arena, &all, v);
    } while (ir_take(p, ","));
    d->starts = all.items, d->n_starts = all.n;
}

/* y[d0 < 8]: f32 := TERM, or a fold, and what its starts are, which stands behind and is read before. */
static void term(Reader *r, WbbLoc loc, const char *name)
{
    IrParser *p = &r->p;
    int64_t dims[HLO_RANK_LIMIT];
    uint32_t rank;
    IrRef *at = variables(r, dims, &rank);
    ir_expect(p, ":");
    ir_skip_space(p);
    const WbbLoc of = ir_here(p);
    const IrType t = ir_read_type(p);
    if (IR_LANES(t) > 1 || t == INDEX) wbb_fail(p->cx, of, "no array has elements of type %s", ir_type_text(p, t));
    ir_expect(p, ":=");
    GrDef d = {.at = at};
    const bool folds = at_fold(r);
    if (folds) fold_head(r, &d);
    const char *begin = p->p, *end = p->end, *let = strstr(begin, " let ");
    if (let && let < end) {
        p->p = let + 5;
        starts(r, &d);
        if (ir_peek(p)) wbb_fail(p->cx, ir_here(p), "expected the end of the line, found %s", ir_found(p));
        p->p = begin, p->end = let;
    }
    if (folds) fold(r, &d);
    else d.value = ir_read_expression(p, t);
    if (ir_peek(p)) wbb_fail(p->cx, ir_here(p), "expected the end of the definition, found %s", ir_found(p));
    if (let && let < end) p->p = p->end = end;
    GrDef *made = add(r, loc, name, hlo_make_array(p->arena, IR_SC(t), rank, dims), folds ? GR_FOLD : GR_TERM);
    d.i = made->i, d.form = made->form;
    *made = d;
}

static void definition(Reader *r)
{
    IrParser *p = &r->p;
    const WbbLoc loc = ir_here(p);
    const char *name = ir_array_word(p, "a definition");
    if (ir_peek(p) == '[') term(r, loc, name);
    else whole(r, loc, name);
    if (ir_peek(p)) wbb_fail(p->cx, ir_here(p), "expected the end of the line, found %s", ir_found(p));
    p->names.n = 0; /* variables are those of one definition */
}

/* Definitions that read each one, as users of its instruction. */
static void count_readers(Reader *r)
{
    const IrGraph *g = r->p.g;
    uint8_t *mark = WBB_NEW_N(r->p.arena, uint8_t, g->n);
    uint32_t *last = WBB_NEW_N(r->p.arena, uint32_t, r->list.n); /* 1 + the last reader that was counted */
    for (uint32_t k = 0; k < r->defs.n; k++) {
        const GrDef *d = &r->defs.items[k];
        IrRefs nodes = {0};
        if (d->form == GR_TERM || d->form == GR_FOLD) gr_nodes(r->p.arena, r->out, d, mark, &nodes);
        for (uint32_t j = 0; j < nodes.n; j++) {
            const IrNode *n = ir_at(g, nodes.items[j]);
            if (n->op != OP_CALL || last[IR_CALLEE(n->imm)] == k + 1) continue;
            last[IR_CALLEE(n->imm)] = k + 1;
            r->list.items[IR_CALLEE(n->imm)]->n_users++;
        }
    }
}

GrGraph *gr_parse(WbbCx *cx, WbbArena *a, const char *file, const char *text, size_t n)
{
    RwCx *rw = ix_engine(cx, a);
    GrGraph *out = WBB_NEW(a, GrGraph);
    Reader r = {.p = {.cx = cx, .arena = a, .g = rw_graph(rw), .file = wbb_intern_z(cx, file), .p = text,
                      .line_start = text, .line = 1, .numbers = {.arena = a}},
                .arrays = {.numbers = {.arena = a}}, .starts = {.arena = a}, .out = out};
    *out = (GrGraph){.rw = rw, .places = {.arena = a}};
    r.p.arrays = &r.arrays;
    if (memchr(text, 0, n)) wbb_fail(cx, (WbbLoc){r.p.file, 1, 1}, "the text has a byte 0");
    for (const char *line = text, *next; line < text + n; line = next, r.p.line++) {
        next = memchr(line, '\n', (size_t)(text + n - line));
        r.p.p = r.p.line_start = line, r.p.end = next ? next : text + n;
        next = next ? next + 1 : text + n;
        if (ir_peek(&r.p)) definition(&r);
    }
    if (!r.list.n) wbb_fail(cx, (WbbLoc){r.p.file, 1, 1}, "no definition");
    count_readers(&r);
    HloComputation *c = WBB_NEW(a, HloComputation);
    *c = (HloComputation){.name = "graph", .instructions = r.list.items, .n_instructions = r.list.n,
                          .root = r.list.items[r.list.n - 1], .attributes = ""};
    out->c = c, out->defs = r.defs.items;
    return out;
}
