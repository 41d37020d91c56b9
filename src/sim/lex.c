/* lex: PTX text to tokens.
 *
 * Needs: a NUL-terminated text. Leaves: one token at a time in Lex.tok, with its line and column.
 *
 * A name is a word of PTX without blanks: opcodes with their dots and double colons (add.rn.f32,
 * ld.shared::cluster.b32), registers (%r1, %tid.x), labels ($L__BB0_1), directives (.reg). Numbers keep their
 * spelling: 0f3F800000, 0x7fU, 12. Comments are skipped.
 *
 *     "@%p1 bra $L2;"   ->   punct '@', name '%p1', name 'bra', name '$L2', punct ';'
 */
#include "sim/inner.h"

static bool name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
           c == '%' || c == '.';
}

static bool digit(char c) { return c >= '0' && c <= '9'; }

WbbLoc sim_loc(const Lex *x) { return (WbbLoc){x->file, x->tok.line, x->tok.col}; }

static void skip_blanks(Lex *x)
{
    for (;;) {
        const char *p = x->at;
        if (*p == '\n') {
            x->line++;
            x->line_start = p + 1;
            x->at++;
        } else if (*p == ' ' || *p == '\t' || *p == '\r') {
            x->at++;
        } else if (p[0] == '/' && p[1] == '/') {
            while (*x->at && *x->at != '\n') x->at++;
        } else if (p[0] == '/' && p[1] == '*') {
            WbbLoc start = {x->file, x->line, (int)(p - x->line_start) + 1};
            x->at += 2;
            while (*x->at && !(x->at[0] == '*' && x->at[1] == '/')) {
                if (*x->at == '\n') {
                    x->line++;
                    x->line_start = x->at + 1;
                }
                x->at++;
            }
            if (!*x->at) wbb_fail(x->cx, start, "comment without an end");
            x->at += 2;
        } else {
            return;
        }
    }
}

void sim_next(Lex *x)
{
    skip_blanks(x);
    const char *p = x->at;
    Tok t = {.text = p, .n = 1, .line = x->line, .col = (int)(p - x->line_start) + 1};
    if (!*p) {
        t.kind = TOK_END;
        t.n = 0;
    } else if (*p == '"') {
        const char *end = p + 1;
        while (*end && *end != '"' && *end != '\n') end++;
        if (*end != '"') wbb_fail(x->cx, (WbbLoc){x->file, t.line, t.col}, "text without a closing quote");
        t = (Tok){TOK_STRING, p + 1, (int)(end - p - 1), t.line, t.col};
        x->at = end + 1;
        x->tok = t;
        return;
    } else if (name_char(*p)) {
        t.kind = digit(*p) ? TOK_NUMBER : TOK_NAME;
        while (name_char(p[t.n]) || (t.kind == TOK_NAME && p[t.n] == ':' && p[t.n + 1] == ':' && name_char(p[t.n + 2])))
            t.n += p[t.n] == ':' ? 2 : 1;
        /* A decimal with an exponent: 1.0e-3 */
        if (t.kind == TOK_NUMBER && (p[t.n] == '-' || p[t.n] == '+') && (p[t.n - 1] == 'e' || p[t.n - 1] == 'E') &&
            !(p[0] == '0' && t.n > 1 && !digit(p[1]) && p[1] != '.')) {
            t.n++;
            while (digit(p[t.n])) t.n++;
        }
    } else {
        t.kind = TOK_PUNCT;
    }
    x->at = p + t.n;
    x->tok = t;
}

bool sim_is(const Lex *x, const char *text)
{
    size_t n = strlen(text);
    return x->tok.kind != TOK_STRING && (size_t)x->tok.n == n && memcmp(x->tok.text, text, n) == 0 && n > 0;
}

bool sim_accept(Lex *x, const char *text)
{
    if (!sim_is(x, text)) return false;
    sim_next(x);
    return true;
}

void sim_expect(Lex *x, const char *text)
{
    if (sim_accept(x, text)) return;
    if (x->tok.kind == TOK_END) wbb_fail(x->cx, sim_loc(x), "expected '%s', found the end of the text", text);
    wbb_fail(x->cx, sim_loc(x), "expected '%s', found '%.*s'", text, x->tok.n, x->tok.text);
}

Lex sim_lex(WbbCx *cx, const char *file, const char *text)
{
    Lex x = {.cx = cx, .file = file, .at = text, .line_start = text, .line = 1};
    sim_next(&x);
    return x;
}
