/* term.c: one expression by itself, as typed on a command line to see what the rules make of it.
 *
 * Needs the text, and what `lets` say of its names; leaves a node made as written, no rule applied. A name that nothing
 * binds is a variable of the type that its operand must have: in `add.bf16(x, 0.0)` x is any bf16. Where the operation
 * gives no type, the name says it, `x:bf16`; in index arithmetic every name is an index.
 *
 *     ir_parse_term(cx, a, g, "term", "(8*i + j) // 8", (const char *[]){"j in 0..8"}, 1)
 */
#include "ir/parser.h"

#include <string.h>

static const IrType INDEX = IR_TYPE(SC_INDEX, 0);

/* "i in 0..8" or "x: bf16" */
static void let(IrParser *p)
{
    ir_skip_space(p);
    const WbbLoc loc = ir_here(p);
    const char *name = ir_word(p, "a name");
    if (ir_named(p, name)) wbb_fail(p->cx, loc, "two lets are about '%s'", name);
    if (ir_take(p, ":")) {
        const IrType type = ir_read_type(p);
        ir_any_variable(p, name, type);
    } else {
        ir_expect_word(p, "in");
        const int64_t lo = ir_integer(p, -IR_ANY, IR_ANY, "a bound");
        ir_expect(p, "..");
        const WbbLoc at = ir_here(p);
        const int64_t end = ir_integer(p, -IR_ANY, IR_ANY, "a bound");
        if (end <= lo)
            wbb_fail(p->cx, at, "the interval is empty: %lld..%lld leaves the upper bound out", (long long)lo,
                     (long long)end);
        ir_new_variable(p, name, INDEX, lo, end - 1);
    }
    if (ir_peek(p)) wbb_fail(p->cx, ir_here(p), "expected the end, found %s", ir_found(p));
}

/* Does the text begin with an operation or a name that says its type? All else is index arithmetic. */
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

IrRef ir_parse_term(WbbCx *cx, WbbArena *a, IrGraph *g, const char *file, const char *text, const char *const *lets,
                    uint32_t n_lets)
{
    IrParser p = {.cx = cx, .arena = a, .g = g, .free_names = true, .numbers = {.arena = a}};
    for (uint32_t i = 0; i < n_lets; i++) {
        begin(&p, lets[i], lets[i]);
        let(&p);
    }
    begin(&p, file, text);
    const IrRef r = ir_read_expression(&p, says_its_type(text) ? 0 : INDEX);
    if (ir_peek(&p) || p.p < p.end) wbb_fail(cx, ir_here(&p), "expected the end of the term, found %s", ir_found(&p));
    return r;
}
