/* lex.c: the lowest level of the parser: white space, words, numbers, types, and the words that messages quote.
 *
 * Needs text; leaves the position after what was read. There is no list of tokens: what a character means depends on
 * where it is, so each function of the parser asks for what may come next.
 *
 *     ir_sigil_name(p, "%", "a buffer")      at "%in: bf16[8]"  =>  "in"
 */
#include "ir/parser.h"

#include <string.h>

enum { MAX_NAME = 200 };

/* --- characters and words ----------------------------------------------------------------------------------------- */

WbbLoc ir_here(const IrParser *p) { return (WbbLoc){p->file, p->line, (int)(p->p - p->line_start) + 1}; }

void ir_skip_space(IrParser *p)
{
    for (; p->p < p->end; p->p++) {
        if (*p->p == '#')
            while (p->p + 1 < p->end && p->p[1] != '\n') p->p++;
        else if (*p->p == '\n') p->line++, p->line_start = p->p + 1;
        else if (*p->p != ' ' && *p->p != '\t' && *p->p != '\r') return;
    }
}

char ir_peek(IrParser *p)
{
    ir_skip_space(p);
    return p->p < p->end ? *p->p : '\0';
}

const char *ir_found(IrParser *p)
{
    const char c = ir_peek(p);
    if (p->p == p->end) return "the end";
    if (ir_is_letter(c) || ir_is_digit(c)) {
        const char *e = p->p;
        while (e < p->end && e - p->p < 40 && (ir_is_letter(*e) || ir_is_digit(*e) || *e == '.')) e++;
        return wbb_format(p->arena, "'%.*s'", (int)(e - p->p), p->p);
    }
    return c >= ' ' && c < 127 ? wbb_format(p->arena, "'%c'", c)
                               : wbb_format(p->arena, "byte 0x%02x", (unsigned)(unsigned char)c);
}

static bool starts(IrParser *p, const char *z)
{
    const size_t n = strlen(z);
    ir_skip_space(p);
    return (size_t)(p->end - p->p) >= n && !memcmp(p->p, z, n);
}

bool ir_take(IrParser *p, const char *z)
{
    if (!starts(p, z)) return false;
    p->p += strlen(z);
    return true;
}

void ir_expect(IrParser *p, const char *z)
{
    if (!ir_take(p, z)) wbb_fail(p->cx, ir_here(p), "expected '%s', found %s", z, ir_found(p));
}

/* Is the next word exactly `z`? Words end where neither letter nor digit follows. */
bool ir_starts_word(IrParser *p, const char *z)
{
    const char *e = p->p + strlen(z);
    return starts(p, z) &&
           (p->p + strlen(z) >= p->end || (e = p->p + strlen(z), !ir_is_letter(*e) && !ir_is_digit(*e)));
}

bool ir_take_word(IrParser *p, const char *z)
{
    if (!ir_starts_word(p, z)) return false;
    p->p += strlen(z);
    return true;
}

void ir_expect_word(IrParser *p, const char *z)
{
    if (!ir_take_word(p, z)) wbb_fail(p->cx, ir_here(p), "expected '%s', found %s", z, ir_found(p));
}

const char *ir_word(IrParser *p, const char *what)
{
    const char *start = (ir_peek(p), p->p);
    if (p->p == p->end || !ir_is_letter(*p->p)) wbb_fail(p->cx, ir_here(p), "expected %s, found %s", what, ir_found(p));
    while (p->p < p->end && (ir_is_letter(*p->p) || ir_is_digit(*p->p))) p->p++;
    if (p->p - start > MAX_NAME) wbb_fail(p->cx, ir_here(p), "a name of more than %d characters", MAX_NAME);
    return wbb_intern(p->cx, start, (size_t)(p->p - start));
}

const char *ir_array_word(IrParser *p, const char *what)
{
    const char *start = (ir_peek(p), p->p);
    if (p->p == p->end || !ir_is_letter(*p->p)) wbb_fail(p->cx, ir_here(p), "expected %s, found %s", what, ir_found(p));
    while (p->p < p->end && (ir_is_letter(*p->p) || ir_is_digit(*p->p) || *p->p == '.' || *p->p == '-')) p->p++;
    return wbb_intern(p->cx, start, (size_t)(p->p - start));
}

/* The name after a sigil. */
const char *ir_sigil_name(IrParser *p, const char *sigil, const char *what)
{
    if (!ir_take(p, sigil))
        wbb_fail(p->cx, ir_here(p), "expected %s ('%s' and a name), found %s", what, sigil, ir_found(p));
    const char *start = p->p;
    while (p->p < p->end && (ir_is_letter(*p->p) || ir_is_digit(*p->p) || *p->p == '.' || *p->p == '-')) p->p++;
    if (p->p == start) wbb_fail(p->cx, ir_here(p), "expected a name after '%s', found %s", sigil, ir_found(p));
    if (p->p - start > MAX_NAME) wbb_fail(p->cx, ir_here(p), "a name of more than %d characters", MAX_NAME);
    return wbb_intern(p->cx, start, (size_t)(p->p - start));
}

static WbbI128 digits(IrParser *p)
{
    WbbI128 x = 0;
    if (!ir_is_digit(ir_peek(p))) wbb_fail(p->cx, ir_here(p), "expected a number, found %s", ir_found(p));
    for (; p->p < p->end && ir_is_digit(*p->p); p->p++) {
        x = x * 10 + (*p->p - '0');
        if (x > (WbbI128)1 << 64) wbb_fail(p->cx, ir_here(p), "the number needs more than 64 bits");
    }
    return x;
}

int64_t ir_integer(IrParser *p, int64_t lo, int64_t hi, const char *what)
{
    ir_skip_space(p);
    const WbbLoc loc = ir_here(p);
    const bool negative = ir_take(p, "-");
    const WbbI128 x = negative ? -digits(p) : digits(p);
    if (x < lo || x > hi) wbb_fail(p->cx, loc, "%s must be between %lld and %lld", what, (long long)lo, (long long)hi);
    return (int64_t)x;
}

/* --- types -------------------------------------------------------------------------------------------------------- */

bool ir_type_named(const char *z, size_t n, IrType *type)
{
    uint32_t log2 = 0;
    ScType sc = sc_type_named(z, n);
    if (sc == SC_NONE) {
        size_t x = n;
        uint32_t lanes = 0;
        while (x > 0 && ir_is_digit(z[x - 1])) x--;
        if (x < 2 || x == n || n - x > 3 || z[x - 1] != 'x') return false;
        for (size_t i = x; i < n; i++) lanes = lanes * 10 + (uint32_t)(z[i] - '0');
        while (log2 <= IR_MAX_LANES_LOG2 && 1u << log2 != lanes) log2++;
        if (log2 == 0 || log2 > IR_MAX_LANES_LOG2 || z[x] == '0') return false;
        sc = sc_type_named(z, x - 1);
        if (sc == SC_NONE || sc == SC_INDEX) return false;
        n = x - 1;
    }
    if (strlen(sc_type_info[sc].name) != n || memcmp(sc_type_info[sc].name, z, n)) return false; /* HLO's spelling */
    *type = IR_TYPE(sc, log2);
    return sc_type_info[sc].cls != '-';
}

IrType ir_read_type(IrParser *p)
{
    IrType t;
    ir_skip_space(p);
    const WbbLoc loc = ir_here(p);
    const char *name = ir_word(p, "a type");
    if (!ir_type_named(name, strlen(name), &t)) wbb_fail(p->cx, loc, "no type is called '%s'", name);
    return t;
}

const char *ir_type_text(IrParser *p, IrType t)
{
    const char *name = sc_type_info[IR_SC(t)].name;
    return IR_LANES(t) > 1 ? wbb_format(p->arena, "%sx%u", name, IR_LANES(t)) : name;
}

