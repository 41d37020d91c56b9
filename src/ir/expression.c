/* expression.c: the expressions of the text. See src/ir/README.md for the grammar.
 *
 * Needs the visible names and the buffers; leaves nodes made as written, with no rule applied. Recursive descent. The
 * type that an operand must have is known before it is read, which gives a bare `1.0` its type.
 *
 *     mul.bf16(x1, 0.5)      operands are bf16, so 0.5 is
 */
#include "ir/parser.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_DIGITS = 400 };
static const IrType INDEX = IR_TYPE(SC_INDEX, 0);

/* A value being read: a node, or an integer that has no node yet. */
typedef struct {
    IrRef node; /* 0: the integer */
    WbbI128 integer;
    WbbLoc loc;
} Value;

static IrRef must_be(IrParser *p, WbbLoc loc, IrRef r, IrType expected)
{
    const IrType is = ir_at(p->g, r)->type;
    if (expected && is != expected)
        wbb_fail(p->cx, loc, "expected a value of type %s, found one of type %s", ir_type_text(p, expected),
                 ir_type_text(p, is));
    return r;
}

/* --- constants ---------------------------------------------------------------------------------------------------- */

/* The bits of a constant of type `sc` written as z. */
static uint64_t constant_bits(IrParser *p, WbbLoc loc, ScType sc, const char *z)
{
    unsigned long long bits;
    int used = 0;
    if (sc_is_float(sc)) {
        if (strstr(z, "nan(")) {
            if (sscanf(z, "nan(0x%llx)%n", &bits, &used) != 1 || used == 0 || z[used] || bits > sc_mask(sc) ||
                !isnan(sc_to_f64(sc, bits)))
                wbb_fail(p->cx, loc, "'%s' is not a nan of %s", z, sc_type_info[sc].name);
            return bits;
        }
        if (!strcmp(z, "true") || !strcmp(z, "false"))
            wbb_fail(p->cx, loc, "'%s' is not a value of %s", z, sc_type_info[sc].name);
        return sc_parse_float(sc, z);
    }
    if (sc == SC_PRED) {
        if (strcmp(z, "true") && strcmp(z, "false")) wbb_fail(p->cx, loc, "expected true or false, found '%s'", z);
        return z[0] == 't';
    }
    WbbI128 x = 0;
    const bool negative = z[0] == '-';
    for (const char *d = z + negative; *d; d++) {
        if (!ir_is_digit(*d)) wbb_fail(p->cx, loc, "'%s' is not a value of %s", z, sc_type_info[sc].name);
        x = x * 10 + (*d - '0');
        if (x > (WbbI128)1 << 64) break;
    }
    if (negative) x = -x;
    const uint64_t result = sc_from_i128(sc, x);
    if (sc_to_i128(sc, result) != x) wbb_fail(p->cx, loc, "%s does not fit in %s", z, sc_type_info[sc].name);
    return result;
}

/* The text of a constant: a sign, then a decimal number or a word. NULL if there is none here. */
static const char *constant_text(IrParser *p)
{
    static const char *const words[] = {"inf", "nan", "true", "false"};
    ir_skip_space(p);
    const IrParser start = *p;
    const bool negative = ir_take(p, "-");
    ir_skip_space(p);
    const char *body = p->p;
    if (p->p < p->end && ir_is_digit(*p->p)) {
        while (p->p < p->end && ir_is_digit(*p->p)) p->p++;
        if (p->p + 1 < p->end && *p->p == '.' && ir_is_digit(p->p[1]))
            for (p->p++; p->p < p->end && ir_is_digit(*p->p);) p->p++;
        const char *e = p->p;
        if (e < p->end && *e++ == 'e') {
            if (e < p->end && (*e == '+' || *e == '-')) e++;
            if (e < p->end && ir_is_digit(*e)) p->p = e;
            while (p->p < p->end && ir_is_digit(*p->p)) p->p++;
        }
        if (p->p - body > MAX_DIGITS) wbb_fail(p->cx, ir_here(p), "a number of more than %d characters", MAX_DIGITS);
        return wbb_format(p->arena, "%s%.*s", negative ? "-" : "", (int)(p->p - body), body);
    }
    for (size_t i = 0; i < WBB_LEN(words); i++) {
        if (!ir_starts_word(p, words[i])) continue;
        p->p += strlen(words[i]);
        if (i == 1 && p->p < p->end && *p->p == '(')
            while (p->p < p->end && *p->p != '\n' && *p->p++ != ')') {}
        return wbb_format(p->arena, "%s%.*s", negative ? "-" : "", (int)WBB_MIN(p->p - body, 40), body);
    }
    p->p = start.p, p->line = start.line, p->line_start = start.line_start;
    return NULL;
}

/* --- expressions -------------------------------------------------------------------------------------------------- */

static IrRef as_node(IrParser *p, Value v)
{
    if (v.node) return v.node;
    if (v.integer < INT64_MIN || v.integer > INT64_MAX) wbb_fail(p->cx, v.loc, "the number needs more than 64 bits");
    return ir_index(p->g, (int64_t)v.integer);
}

static void must_be_positive(IrParser *p, WbbLoc loc, IrRef divisor)
{
    if (ir_fact(p->g, divisor).lo <= 0) wbb_fail(p->cx, loc, "the divisor must be positive");
}

static bool op_has_type(ScOp op, ScType t)
{
    return strchr(sc_op_info[op].classes, sc_type_info[t].cls) != NULL && t != SC_NONE;
}

/* `op.type.type.flag<imm>` after the word `name`. */
static IrOperator operator_named(IrParser *p, const char *name, WbbLoc loc)
{
    IrOperator h = {.op = sc_op_named(name, strlen(name)), .name = name, .loc = loc};
    uint32_t types = 0;
    if (h.op == OP_NONE && strcmp(name, "sum")) wbb_fail(p->cx, loc, "no operation is called '%s'", name);
    if (!strcmp(name, "sum")) h.op = OP_SUM;
    while (p->p < p->end && *p->p == '.') {
        p->p++;
        const WbbLoc at = ir_here(p);
        const char *part = ir_word(p, "a type or a flag");
        uint32_t f = 0;
        IrType t;
        while (f < SC_FLAG_COUNT && strcmp(sc_flag_name[f], part)) f++;
        if (f < SC_FLAG_COUNT) h.flags |= 1u << f;
        else if (!ir_type_named(part, strlen(part), &t)) wbb_fail(p->cx, at, "no type or flag is called '%s'", part);
        else if (types++ == 0) h.type = t;
        else h.from = t;
    }
    const bool unnamed = h.op == OP_FLOORDIV || h.op == OP_MOD || h.op == OP_SUM,
               converts = sc_op_info[h.op].signature == SC_CONVERT || sc_op_info[h.op].signature == SC_PRODUCT;
    if (unnamed && types == 0) h.type = INDEX, types = 1;
    const bool reads = ir_only_reads(h.op) && sc_op_info[h.op].signature == SC_FRAME;
    const bool may_lack = h.op == OP_LOAD || reads || !*sc_op_info[h.op].classes;
    if (types != (converts ? 2u : 1u) && !(types == 0 && may_lack) && h.op != OP_LOAD)
        wbb_fail(p->cx, loc, converts ? "'%s' needs two types: of the result, of the operand" : "'%s' needs one type",
                 name);
    if (types > 0 && (!op_has_type(h.op, IR_SC(h.type)) || (converts && !op_has_type(h.op, IR_SC(h.from)))))
        wbb_fail(p->cx, loc, "'%s' does not exist for type %s", name, ir_type_text(p, h.type));
    if (h.op == OP_PART || h.op == OP_INSTR || h.op == OP_COPY_WAIT || h.op == OP_READ_PEER) {
        ir_expect(p, "<");
        h.imm = (uint64_t)ir_integer(p, 0, h.op == OP_INSTR ? 0xffff : INT32_MAX, "the number in <>");
        if (h.op == OP_INSTR && ir_peek(p) == ',') { /* its immediates, as rewrite/tables.h packs them */
            ir_expect(p, ",");
            h.imm |= (uint64_t)ir_integer(p, 0, (INT64_C(1) << 48) - 1, "the immediates of an instruction") << 16;
        }
        ir_expect(p, ">");
    }
    return h;
}

IrOperator ir_read_effect(IrParser *p)
{
    ir_skip_space(p);
    const WbbLoc loc = ir_here(p);
    const IrOperator h = operator_named(p, ir_word(p, "an operation with an effect"), loc);
    if (h.op != OP_INSTR && !sc_op_info[h.op].effects)
        wbb_fail(p->cx, loc, "'%s' has no effect: 'NAME = %s ..' names it", h.name, h.name);
    ir_expect(p, "(");
    return h;
}

/* The type of operand i; 0: any. */
static IrType operand_type(const IrOperator *h, uint32_t i)
{
    switch (sc_op_info[h->op].signature) {
    case SC_SAME:
    case SC_COMPARE:
    case SC_TEST: return h->type;
    case SC_CONVERT: return h->from;
    case SC_SELECT: return i == 0 ? (IrType)SC_PRED | (h->type & ~63u) : h->type;
    case SC_PRODUCT: return i == 2 ? h->type : i && IR_LANES(h->from) > 1 ? h->from - (1u << 6) : h->from;
    default: break;
    }
    if (h->op == OP_IDX || h->op == OP_SUM) return INDEX;
    if (h->op == OP_SPLAT) return h->type & 63u;
    if (h->op == OP_PACK && IR_LANES(h->type) > 1) return h->type - (1u << 6);
    return 0;
}

uint32_t ir_buffer_named(IrParser *p, const char *z, WbbLoc loc)
{
    uint32_t b = 0;
    while (b < p->buffers.n && p->buffers.items[b].name != z) b++;
    if (b == p->buffers.n) wbb_fail(p->cx, loc, "no buffer is called '%%%s'", z);
    return b;
}

static IrRef load(IrParser *p, const IrOperator *h)
{
    ir_skip_space(p);
    const WbbLoc loc = ir_here(p);
    const uint32_t b = ir_buffer_named(p, ir_sigil_name(p, "%", "a buffer"), loc);
    if (ir_is_changed(&p->buffers.items[b]))
        wbb_fail(p->cx, loc, "'%%%s' changes: 'y = do read(%%%s[..])' reads it", p->buffers.items[b].name,
                 p->buffers.items[b].name);
    if (h->type && IR_SC(h->type) != p->buffers.items[b].type)
        wbb_fail(p->cx, h->loc, "'%%%s' has another type", p->buffers.items[b].name);
    ir_expect(p, "[");
    const IrRef index = ir_read_expression(p, INDEX);
    ir_expect(p, "]");
    const IrRef arg = ir_node(p->g, OP_ARG, 0, 0, 0, 0, 0, b);
    return ir_node(p->g, OP_LOAD, h->type ? h->type : IR_TYPE(p->buffers.items[b].type, 0), h->flags, arg, index, 0, 0);
}

/* call @f(i, j), call @f<1>(i, j) */
static IrRef call(IrParser *p)
{
    ir_skip_space(p);
    const WbbLoc loc = ir_here(p);
    const char *z = ir_sigil_name(p, "@", "a function");
    uint32_t number = 0, which = 0;
    if (!p->k) wbb_fail(p->cx, loc, "a term by itself has no functions");
    while (number < p->k->n_functions && p->k->functions[number]->name != z) number++;
    if (number == p->k->n_functions) wbb_fail(p->cx, loc, "no function is called '@%s' so far", z);
    const IrFunction *f = p->k->functions[number];
    if (ir_take(p, "<")) {
        which = (uint32_t)ir_integer(p, 0, (int64_t)f->n_yields - 1, "the number of the result");
        ir_expect(p, ">");
    }
    IrRef *args = WBB_NEW_N(p->arena, IrRef, f->n_params + 1);
    ir_expect(p, "(");
    for (uint32_t i = 0; i < f->n_params; i++) {
        if (i > 0) ir_expect(p, ",");
        if (ir_peek(p) == ')') wbb_fail(p->cx, ir_here(p), "'@%s' has %u parameters, %u are given", z, f->n_params, i);
        args[i] = ir_read_expression(p, INDEX);
    }
    ir_expect(p, ")");
    return ir_call(p->g, number, which, ir_at(p->g, f->yields[which])->type, args, f->n_params);
}

/* The same index node with flags. */
static IrRef with_flags(IrParser *p, IrRef r, uint32_t flags)
{
    while (p->same.n <= r) {
        const IrRef next = p->same.n;
        WBB_PUSH(p->arena, &p->same, next);
    }
    return ir_copy(p->g, r, p->same.items, flags);
}

/* `wide(t)`: a variable or a constant that needs 64 bits. */
static IrRef wide_leaf(IrParser *p, WbbLoc loc)
{
    ir_expect(p, "(");
    const IrRef r = ir_read_expression(p, INDEX);
    ir_expect(p, ")");
    if (ir_at(p->g, r)->op != OP_VAR && ir_at(p->g, r)->op != OP_CONST)
        wbb_fail(p->cx, loc, "wide() takes a name or a number; an operation says .wide");
    return with_flags(p, r, SC_FLAG_WIDE);
}

static IrRef operation(IrParser *p, const IrOperator *h)
{
    if (sc_op_info[h->op].effects) wbb_fail(p->cx, h->loc, "'%s' has an effect: a 'do' evaluates it", h->name);
    if (h->op != OP_SUM && sc_op_info[h->op].arity == 0) wbb_fail(p->cx, h->loc, "'%s' takes no operands", h->name);
    ir_expect(p, "(");
    return ir_read_operands(p, h);
}

IrRef ir_read_operands(IrParser *p, const IrOperator *h)
{
    const char *name = sc_op_info[h->op].name;
    const uint8_t signature = sc_op_info[h->op].signature;
    const uint32_t arity = h->op == OP_SUM ? 1 : sc_op_info[h->op].arity;
    IrRef a[3] = {0, 0, 0};
    uint32_t n = 0;
    for (; ir_peek(p) != ')'; n++) {
        if (n > 0) ir_expect(p, ",");
        if (n == 3) wbb_fail(p->cx, ir_here(p), "more than three operands");
        a[n] = ir_read_expression(p, operand_type(h, n));
    }
    ir_expect(p, ")");
    if (n != arity && h->op != OP_INSTR) wbb_fail(p->cx, h->loc, "'%s' has %u operands, %u are given", name, arity, n);
    if (h->op == OP_SUM) {
        if (ir_at(p->g, a[0])->op != OP_SUM) wbb_fail(p->cx, h->loc, "the operand is not a sum");
        return with_flags(p, a[0], h->flags);
    }
    if (h->op == OP_FLOORDIV || h->op == OP_MOD) must_be_positive(p, h->loc, a[1]);
    if (h->op == OP_CVT && (h->type & ~63u) != (h->from & ~63u))
        wbb_fail(p->cx, h->loc, "a conversion keeps the number of lanes");
    if (h->op == OP_IDX && IR_LANES(h->type) > 1) wbb_fail(p->cx, h->loc, "'idx' has one lane");
    if (h->op == OP_PART) {
        const IrType from = ir_at(p->g, a[0])->type;
        if (IR_SC(from) != IR_SC(h->type) || h->imm + IR_LANES(h->type) > IR_LANES(from))
            wbb_fail(p->cx, h->loc, "a %s has no such part", ir_type_text(p, from));
    }
    if ((h->op == OP_PACK || h->op == OP_SPLAT) && IR_LANES(h->type) < 2)
        wbb_fail(p->cx, h->loc, "'%s' makes several lanes", name);
    const bool pred = signature == SC_COMPARE || signature == SC_TEST;
    return ir_node(p->g, h->op, pred ? (IrType)SC_PRED | (h->type & ~63u) : h->type, h->flags, a[0], a[1], a[2],
                   h->imm);
}

static Value constant(IrParser *p, const char *text, WbbLoc loc, IrType expected)
{
    IrType t = ir_take(p, ":") ? ir_read_type(p) : expected;
    Value v = {.loc = loc};
    if (t && t != INDEX) {
        v.node = ir_const(p->g, t, constant_bits(p, loc, IR_SC(t), text));
        return v;
    }
    for (const char *d = text + (text[0] == '-'); *d; d++) {
        if (!ir_is_digit(*d))
            wbb_fail(p->cx, loc, t ? "'%s' is not an index" : "'%s' needs a type (':' and the type)", text);
        v.integer = v.integer * 10 + (*d - '0');
        if (v.integer > (WbbI128)1 << 64) wbb_fail(p->cx, loc, "the number needs more than 64 bits");
    }
    if (text[0] == '-') v.integer = -v.integer;
    return v;
}

/* x[i, 3]: the element of an array; 0: no name and bracket stand here. */
static IrRef read(IrParser *p, WbbLoc loc)
{
    const char *e = p->p;
    if (e == p->end || !ir_is_letter(*e)) return 0;
    while (e < p->end && (ir_is_letter(*e) || ir_is_digit(*e) || *e == '.' || *e == '-')) e++;
    if (e == p->end || *e != '[') return 0;
    const char *z = ir_array_word(p, "an array");
    const WbbEntry *known = wbb_map_get(&p->arrays->numbers, wbb_key(z));
    if (!known || !known->value) wbb_fail(p->cx, loc, "nothing above is called '%s'", z);
    const IrArray *x = &p->arrays->items[known->value - 1];
    if (x->whole) wbb_fail(p->cx, loc, "'%s' is a tuple: it has no elements", z);
    IrRef *index = WBB_NEW_N(p->arena, IrRef, x->rank + 1);
    ir_expect(p, "[");
    for (uint32_t k = 0; k < x->rank; k++) {
        if (ir_peek(p) == ']') wbb_fail(p->cx, ir_here(p), "'%s' has %u dimensions, %u are given", z, x->rank, k);
        if (k) ir_expect(p, ",");
        index[k] = ir_read_expression(p, INDEX);
    }
    if (ir_peek(p) == ',') wbb_fail(p->cx, ir_here(p), "'%s' has %u dimensions, more are given", z, x->rank);
    ir_expect(p, "]");
    return ir_call(p->g, (uint32_t)known->value - 1, 0, x->type, index, x->rank);
}

static Value primary(IrParser *p, IrType expected)
{
    ir_skip_space(p);
    Value v = {.loc = ir_here(p)};
    if (p->arrays && (v.node = read(p, v.loc))) return v;
    const char *text = constant_text(p);
    if (text) return constant(p, text, v.loc, expected);
    if (ir_take(p, "(")) {
        v.node = ir_read_expression(p, expected);
        ir_expect(p, ")");
        return v;
    }
    const char *name = ir_word(p, "an expression");
    v.node = ir_named(p, name);
    if (v.node) return v;
    const char next = p->p < p->end ? *p->p : '\0';
    if (!strcmp(name, "load")) {
        const IrOperator h = operator_named(p, name, v.loc);
        v.node = load(p, &h);
    } else if (!strcmp(name, "call")) {
        v.node = call(p);
    } else if (!strcmp(name, "wide") && next == '(') {
        v.node = wide_leaf(p, v.loc);
    } else if (next == '.' || next == '(') {
        const IrOperator h = operator_named(p, name, v.loc);
        v.node = operation(p, &h);
    } else if (p->free_names) {
        v.node = ir_free_name(p, v.loc, name, expected);
    } else {
        wbb_fail(p->cx, v.loc, "nothing is called '%s' here", name);
    }
    return v;
}

static bool is_index(const IrParser *p, Value v) { return !v.node || ir_at(p->g, v.node)->type == INDEX; }

static Value multiply(IrParser *p, Value x, Value y, WbbLoc loc)
{
    bool overflow = false;
    if (x.node && ir_is_const(p->g, x.node)) x = (Value){.integer = (int64_t)ir_at(p->g, x.node)->imm, .loc = x.loc};
    if (y.node && ir_is_const(p->g, y.node)) y = (Value){.integer = (int64_t)ir_at(p->g, y.node)->imm, .loc = y.loc};
    if (x.node && y.node) wbb_fail(p->cx, loc, "one factor of a product of indices must be a constant");
    const WbbI128 k = x.node ? y.integer : x.integer, other = y.integer;
    if (k > INT64_MAX || k < INT64_MIN || other > INT64_MAX) wbb_fail(p->cx, loc, "the factor needs more than 64 bits");
    if (!x.node && !y.node) return (Value){.integer = k * other, .loc = x.loc};
    const IrTerm term = {.coefficient = (int64_t)k, .ref = x.node ? x.node : y.node};
    const Value v = {.node = ir_sum(p->g, 0, &term, 1, &overflow), .loc = x.loc};
    if (overflow) wbb_fail(p->cx, loc, "the product needs more than 64 bits");
    return v;
}

static Value product(IrParser *p, IrType expected)
{
    Value x = primary(p, expected);
    for (;;) {
        const char c = ir_peek(p);
        if (c != '*' && c != '%' && !(c == '/' && p->p + 1 < p->end && p->p[1] == '/')) return x;
        const WbbLoc loc = ir_here(p);
        if (!is_index(p, x)) wbb_fail(p->cx, loc, "'%c' is for indices only", c);
        p->p += c == '/' ? 2 : 1;
        const Value y = primary(p, INDEX);
        if (!is_index(p, y)) wbb_fail(p->cx, y.loc, "expected an index");
        if (c == '*') {
            x = multiply(p, x, y, loc);
            continue;
        }
        const IrRef a = as_node(p, x), b = as_node(p, y);
        must_be_positive(p, y.loc, b);
        x.node = ir_node(p->g, c == '%' ? OP_MOD : OP_FLOORDIV, INDEX, 0, a, b, 0, 0);
    }
}

/* The terms of a sum as they are read. */
typedef struct {
    WbbI128 constant;
    struct { IrTerm *items; uint32_t n, capacity; } terms;
} Sum;

static void add(IrParser *p, Sum *s, Value v, bool minus)
{
    if (!is_index(p, v)) wbb_fail(p->cx, v.loc, "'+' and '-' are for indices only");
    if (!v.node) {
        s->constant += minus ? -v.integer : v.integer;
        if (s->constant > (WbbI128)1 << 100 || s->constant < -((WbbI128)1 << 100))
            wbb_fail(p->cx, v.loc, "the sum needs more than 64 bits");
        return;
    }
    const IrTerm t = {.coefficient = minus ? -1 : 1, .ref = v.node};
    WBB_PUSH(p->arena, &s->terms, t);
}

/* A sum of products, after the first one: `minus` is its sign. */
static IrRef sum(IrParser *p, Value first, bool minus)
{
    Sum s = {0};
    bool overflow = false;
    add(p, &s, first, minus);
    while (ir_peek(p) == '+' || ir_peek(p) == '-') {
        minus = *p->p++ == '-';
        add(p, &s, product(p, INDEX), minus);
    }
    overflow = s.constant > INT64_MAX || s.constant < INT64_MIN;
    const IrRef r = ir_sum(p->g, overflow ? 0 : (int64_t)s.constant, s.terms.items, s.terms.n, &overflow);
    if (overflow) wbb_fail(p->cx, first.loc, "the sum needs more than 64 bits");
    return r;
}

/* Is the '-' here the sign of a constant? */
static bool signs_constant(IrParser *p)
{
    const IrParser before = *p;
    p->p++;
    const bool yes = ir_is_digit(ir_peek(p)) || ir_starts_word(p, "inf") || ir_starts_word(p, "nan");
    p->p = before.p, p->line = before.line, p->line_start = before.line_start;
    return yes;
}

IrRef ir_read_expression(IrParser *p, IrType expected)
{
    ir_skip_space(p);
    const WbbLoc loc = ir_here(p);
    if (++p->nesting > IR_MAX_NESTING) wbb_fail(p->cx, loc, "nested deeper than %d", IR_MAX_NESTING);
    /* '-' is the sign of a product in index arithmetic, and part of a constant elsewhere. */
    const bool minus = ir_peek(p) == '-' && (expected == INDEX || (!expected && !signs_constant(p)));
    if (minus) p->p++;
    const Value first = product(p, expected);
    IrRef r = first.node;
    if (minus || !r || ((ir_peek(p) == '+' || ir_peek(p) == '-') && is_index(p, first))) r = sum(p, first, minus);
    p->nesting--;
    return must_be(p, loc, r, expected);
}

IrRef ir_read_stored(IrParser *p, ScType type)
{
    ir_skip_space(p);
    const WbbLoc loc = ir_here(p);
    const char *text = constant_text(p);
    return text ? as_node(p, constant(p, text, loc, IR_TYPE(type, 0))) : ir_read_expression(p, 0);
}
