/* term.c: one expression by itself, as somebody types it to see what the rules make of it.
 *
 * Needs the text, and what `lets` say of its names; leaves a node made as written, no rule applied. A name that nothing binds is a
 * variable of the type that its place has: in `add.bf16(x, 0.0)` x is any bf16. Where no place gives a type, the name says it,
 * `x:bf16`; in index arithmetic every name is an index.
 *
 *     ir_parse_term(cx, a, g, "term", "(8*i + j) // 8", (const char *[]){"j in 0..8"}, 1)
 */
#include "ir/parser.h"

#include <string.h>

static const IrType INDEX = IR_TYPE(SC_INDEX, 0);
static const int64_t ANY = (int64_t)1 << 62;

static IrRef bind(IrParser *p, const char *name, IrType type, int64_t lo, int64_t hi)
{
    const uint32_t var = ir_var_new(p->g, name, IR_LOOP, lo, hi, 0);
    const IrRef node = ir_node(p->g, OP_VAR, type, 0, 0, 0, 0, var);
    ir_bind_name(p, name, node);
    return node;
}

IrRef ir_free_name(IrParser *p, WbbLoc loc, const char *name, IrType type)
{
    const ScOp op = sc_op_named(name, strlen(name));
    const bool yes = !strcmp(name, "True"), no = !strcmp(name, "False");
    if (yes || no) {
        if (type != IR_TYPE(SC_PRED, 0)) wbb_fail(p->cx, loc, "'%s' is a pred; this place takes another type", name);
        return ir_const(p->g, type, yes);
    }
    if (op != OP_NONE) {
        if (p->p < p->end && *p->p == '[') wbb_fail(p->cx, loc, "'%s[' is for rules, which have type classes; a term has types: %s.f32(..)", name, name);
        wbb_fail(p->cx, loc, "'%s' is an operation: it needs a type and operands, as in %s.f32(..)", name, name);
    }
    if (ir_take(p, ":")) type = ir_read_type(p);
    if (!type) wbb_fail(p->cx, loc, "the type of '%s' is not known here: write %s:f32", name, name);
    return bind(p, name, type, type == INDEX ? -ANY : 0, type == INDEX ? ANY - 1 : 0);
}

/* "i in 0..8" or "x: bf16" */
static void let(IrParser *p)
{
    ir_skip_space(p);
    const WbbLoc loc = ir_here(p);
    const char *name = ir_word(p, "a name");
    if (ir_named(p, name)) wbb_fail(p->cx, loc, "'%s' is said twice", name);
    if (ir_take(p, ":")) {
        const IrType type = ir_read_type(p);
        bind(p, name, type, type == INDEX ? -ANY : 0, type == INDEX ? ANY - 1 : 0);
    } else {
        ir_expect_word(p, "in");
        const int64_t lo = ir_integer(p, -ANY, ANY, "a bound");
        ir_expect(p, "..");
        const WbbLoc at = ir_here(p);
        const int64_t end = ir_integer(p, -ANY, ANY, "a bound");
        if (end <= lo) wbb_fail(p->cx, at, "the interval is empty: %lld..%lld leaves the upper bound out", (long long)lo, (long long)end);
        bind(p, name, INDEX, lo, end - 1);
    }
    if (ir_peek(p)) wbb_fail(p->cx, ir_here(p), "expected the end, found %s", ir_seen(p));
}

/* Does the text begin with an operation that says its types? All else is index arithmetic, or says its type behind the name. */
static bool says_its_type(const char *text)
{
    while (*text == ' ' || *text == '(') text++;
    const char *e = text;
    while (ir_is_letter(*e) || ir_is_digit(*e)) e++;
    while (*e == ' ' || *e == ')') e++;
    return e > text && (*e == '.' || *e == ':' || (*e == '[' && sc_op_named(text, (size_t)(e - text)) != OP_NONE));
}

static void begin(IrParser *p, const char *file, const char *text)
{
    p->file = file;
    p->p = p->line_start = text;
    p->end = text + strlen(text);
    p->line = 1;
}

IrRef ir_parse_term(WbbCx *cx, WbbArena *a, IrGraph *g, const char *file, const char *text, const char *const *lets, uint32_t n_lets)
{
    IrParser p = {.cx = cx, .arena = a, .g = g, .free_names = true, .numbers = {.arena = a}};
    for (uint32_t i = 0; i < n_lets; i++) {
        begin(&p, lets[i], lets[i]);
        let(&p);
    }
    begin(&p, file, text);
    const IrRef r = ir_read_expression(&p, says_its_type(text) ? 0 : INDEX);
    if (ir_peek(&p) || p.p < p.end) wbb_fail(cx, ir_here(&p), "expected the end of the term, found %s", ir_seen(&p));
    return r;
}
