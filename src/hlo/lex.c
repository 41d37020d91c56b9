/* lex: a cursor over untrusted text.
 *
 * Needs: the text and its length. Leaves: names, integers, strings and balanced text read from the cursor; lines
 * counted.
 *
 * There is no token stream: the parser knows what may follow at each point and asks for it. Only hlo_skip skips blanks
 * and comments; only hlo_skip, hlo_skip_balanced and hlo_read_string move past the end of a line.
 *
 *     "%add.1 = f32[] add(a, /\* second *\/ b)"
 *         hlo_read_name -> "add.1";  hlo_accept('=');  hlo_peek -> 'f'
 */
#include "hlo/inner.h"

#include <string.h>

enum { PLAIN = 0, BLANK = 1, OPEN = 2, CLOSE = 4, QUOTE = 8, SLASH = 16, COMMA = 32 };

static int class_of(char c)
{
    switch (c) {
    case ' ': case '\t': case '\r': case '\n': case '\f': case '\v': return BLANK;
    case '(': case '[': case '{': return OPEN;
    case ')': case ']': case '}': return CLOSE;
    case '"': return QUOTE;
    case '/': return SLASH;
    case ',': return COMMA;
    default: return PLAIN;
    }
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool hlo_is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '.' || c == '-';
}

WbbLoc hlo_loc_at(const HloReader *r, const char *p)
{
    ptrdiff_t col = p - r->line_start + 1;
    return (WbbLoc){r->file, r->line, col > INT32_MAX ? 0 : (int)col};
}

WbbLoc hlo_here(const HloReader *r) { return hlo_loc_at(r, r->p); }

HloMark hlo_mark(const HloReader *r) { return (HloMark){r->p, r->line_start, r->line}; }

void hlo_rewind(HloReader *r, HloMark m)
{
    r->p = m.p;
    r->line_start = m.line_start;
    r->line = m.line;
}

static void newline(HloReader *r, const char *p)
{
    r->line++;
    r->line_start = p + 1;
}

/* The cursor is on a '/'. True if a comment begins there; it is skipped. */
static bool skip_comment(HloReader *r)
{
    const char *p = r->p + 1;
    if (p == r->end) return false;
    if (*p == '/') {
        if (r->end - p > 6 && memcmp(p, "/ -----", 7) == 0) r->separator = true;
        while (p < r->end && *p != '\n' && *p != '\r') p++;
        r->p = p;
        return true;
    }
    if (*p != '*') return false;
    for (p++; p + 1 < r->end; p++) {
        if (*p == '\n') newline(r, p);
        if (p[0] == '*' && p[1] == '/') {
            r->p = p + 2;
            return true;
        }
    }
    wbb_fail(r->cx, hlo_here(r), "a comment that begins with '/*' has no end");
}

void hlo_skip(HloReader *r)
{
    while (r->p < r->end) {
        char c = *r->p;
        if (c == '\n') newline(r, r->p);
        if (class_of(c) == BLANK) {
            r->p++;
        } else if (c != '/' || !skip_comment(r)) {
            return;
        }
    }
}

int hlo_peek(HloReader *r)
{
    hlo_skip(r);
    return r->p < r->end ? (unsigned char)*r->p : -1;
}

bool hlo_accept(HloReader *r, char c)
{
    if (hlo_peek(r) != (unsigned char)c) return false;
    r->p++;
    return true;
}

void hlo_fail_expected(HloReader *r, const char *what)
{
    hlo_skip(r);
    WbbLoc loc = hlo_here(r);
    if (r->p == r->end) wbb_fail(r->cx, loc, "expected %s, found the end of the text", what);
    char seen[40];
    size_t n = 0;
    bool word = hlo_is_word(*r->p) || *r->p == '%';
    while (r->p < r->end && n + 1 < sizeof seen) {
        char c = *r->p++;
        if (n && !(word && hlo_is_word(c))) break;
        seen[n++] = c >= ' ' && c < 127 ? c : '?';
    }
    seen[n] = 0;
    wbb_fail(r->cx, loc, "expected %s, found '%s'", what, seen);
}

void hlo_expect(HloReader *r, char c)
{
    if (hlo_accept(r, c)) return;
    const char what[] = {'\'', c, '\'', 0};
    hlo_fail_expected(r, what);
}

void hlo_enter_level(HloReader *r)
{
    if (++r->depth > HLO_NESTING_LIMIT)
        wbb_fail(r->cx, hlo_here(r), "nested more than %d levels deep", HLO_NESTING_LIMIT);
}

size_t hlo_word(HloReader *r, const char **text)
{
    hlo_skip(r);
    const char *p = r->p;
    while (p < r->end && hlo_is_word(*p) && !(*p == '-' && p + 1 < r->end && p[1] == '>')) p++;
    *text = r->p;
    size_t n = (size_t)(p - r->p);
    r->p = p;
    return n;
}

bool hlo_at_word(HloReader *r, const char *word)
{
    hlo_skip(r);
    size_t n = strlen(word);
    if ((size_t)(r->end - r->p) < n || memcmp(r->p, word, n) != 0) return false;
    return r->p + n == r->end || !hlo_is_word(r->p[n]);
}

const char *hlo_read_name(HloReader *r, const char *what)
{
    hlo_skip(r);
    HloMark start = hlo_mark(r);
    bool percent = r->p < r->end && *r->p == '%';
    if (percent) r->p++;
    const char *text = r->p;
    const char *p = text;
    while (p < r->end && hlo_is_word(*p) && !(*p == '-' && p + 1 < r->end && p[1] == '>')) p++;
    if (p == text || (!percent && (is_digit(*text) || *text == '-' || *text == '.'))) {
        hlo_rewind(r, start);
        hlo_fail_expected(r, what);
    }
    r->p = p;
    return wbb_intern(r->cx, text, (size_t)(p - text));
}

int64_t hlo_read_int(HloReader *r)
{
    hlo_skip(r);
    const char *start = r->p;
    bool negative = r->p < r->end && *r->p == '-';
    const char *p = r->p + negative;
    if (p == r->end || !is_digit(*p)) hlo_fail_expected(r, "an integer");
    int64_t value = 0;
    for (; p < r->end && is_digit(*p); p++) {
        int digit = *p - '0';
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, negative ? -digit : digit, &value))
            wbb_fail(r->cx, hlo_loc_at(r, start), "integer does not fit 64 bits");
    }
    r->p = p;
    return value;
}

const int64_t *hlo_read_ints(HloReader *r, uint32_t *n)
{
    struct { int64_t *items; uint32_t n, capacity; } list = {0};
    hlo_expect(r, '{');
    if (!hlo_accept(r, '}')) {
        do WBB_PUSH(r->arena, &list, hlo_read_int(r));
        while (hlo_accept(r, ','));
        hlo_expect(r, '}');
    }
    static const int64_t none[1];
    *n = list.n;
    return list.n ? list.items : none;
}

/* Moves from the opening quote past the closing one. */
static void skip_string(HloReader *r)
{
    WbbLoc loc = hlo_here(r);
    for (const char *p = r->p + 1; p < r->end; p++) {
        if (*p == '\n') newline(r, p);
        if (*p == '\\' && p + 1 < r->end && p[1] != '\n') p++;
        else if (*p == '"') {
            r->p = p + 1;
            return;
        }
    }
    wbb_fail(r->cx, loc, "a string has no closing '\"'");
}

const char *hlo_read_string(HloReader *r)
{
    if (hlo_peek(r) != '"') hlo_fail_expected(r, "a string");
    const char *text = r->p + 1;
    skip_string(r);
    return wbb_intern(r->cx, text, (size_t)(r->p - 1 - text));
}

/* Moves from an opening bracket past the closing one; brackets in strings and comments do not count. */
static void skip_brackets(HloReader *r)
{
    char closers[HLO_NESTING_LIMIT + 1];
    WbbLoc loc = hlo_here(r);
    int depth = 0;
    while (r->p < r->end) {
        char c = *r->p;
        switch (class_of(c)) {
        case OPEN:
            if (depth + r->depth >= HLO_NESTING_LIMIT)
                wbb_fail(r->cx, hlo_here(r), "nested more than %d levels deep", HLO_NESTING_LIMIT);
            closers[depth++] = c == '(' ? ')' : c == '[' ? ']' : '}';
            break;
        case CLOSE:
            if (c != closers[depth - 1])
                wbb_fail(r->cx, hlo_here(r), "expected '%c', found '%c'", closers[depth - 1], c);
            if (--depth == 0) {
                r->p++;
                return;
            }
            break;
        case QUOTE: skip_string(r); continue;
        case SLASH:
            if (skip_comment(r)) continue;
            break;
        case BLANK:
            if (c == '\n') newline(r, r->p);
            break;
        default: break;
        }
        r->p++;
    }
    wbb_fail(r->cx, loc, "a '%c' is never closed", closers[0] == ')' ? '(' : closers[0] == ']' ? '[' : '{');
}

/* A value that begins with a brace or a quote ends with the closing one. Any other value ends at a ',', a closing
 * bracket or a blank. A blank before an opening bracket does not end it, as in mesh['x'=2] {'x'}: no instruction begins
 * with a bracket. */
void hlo_skip_balanced(HloReader *r)
{
    hlo_skip(r);
    const char *start = r->p;
    bool closes = r->p < r->end && (*r->p == '{' || *r->p == '"');
    while (r->p < r->end) {
        int class = class_of(*r->p);
        if (class == COMMA || class == CLOSE || (closes && r->p > start)) break;
        if (class == OPEN) {
            skip_brackets(r);
        } else if (class == QUOTE) {
            skip_string(r);
        } else if (class == BLANK || (class == SLASH && r->p + 1 < r->end && (r->p[1] == '/' || r->p[1] == '*'))) {
            HloMark end = hlo_mark(r);
            int next = hlo_peek(r);
            if (next < 0 || class_of((char)next) != OPEN) {
                hlo_rewind(r, end);
                break;
            }
        } else {
            r->p++;
        }
    }
    if (r->p == start) hlo_fail_expected(r, "a value");
}

static void reserve(HloReader *r, size_t more)
{
    size_t need = r->scratch_n + more;
    if (need <= r->scratch_capacity) return;
    size_t capacity = WBB_MAX(need, r->scratch_capacity * 2);
    r->scratch = wbb_grow(r->arena, r->scratch, r->scratch_n, capacity);
    r->scratch_capacity = capacity;
}

void hlo_scratch_z(HloReader *r, const char *text)
{
    size_t n = strlen(text);
    reserve(r, n);
    memcpy(r->scratch + r->scratch_n, text, n);
    r->scratch_n += n;
}

void hlo_scratch(HloReader *r, const char *from, const char *to)
{
    reserve(r, (size_t)(to - from));
    char *out = r->scratch + r->scratch_n;
    bool blank = false;
    for (const char *p = from; p < to;) {
        int class = class_of(*p);
        bool comment = class == SLASH && p + 1 < to && (p[1] == '*' || p[1] == '/');
        if (class != BLANK && !comment) {
            if (blank) *out++ = ' ';
            blank = false;
            *out++ = *p++;
            if (class != QUOTE) continue;
            while (p < to && *p != '"') {
                if (*p == '\\' && p + 1 < to) *out++ = *p++;
                *out++ = *p++;
            }
            if (p < to) *out++ = *p++;
            continue;
        }
        blank = true;
        if (!comment) {
            p++;
        } else if (p[1] == '/') {
            while (p < to && *p != '\n' && *p != '\r') p++;
        } else {
            for (p += 2; p + 1 < to && !(p[0] == '*' && p[1] == '/');) p++;
            p = to - p > 2 ? p + 2 : to;
        }
    }
    r->scratch_n = (size_t)(out - r->scratch);
}

const char *hlo_scratch_end(HloReader *r, size_t from)
{
    size_t n = r->scratch_n - from;
    if (n == 0) return "";
    char *text = wbb_alloc(r->arena, n + 1);
    memcpy(text, r->scratch + from, n);
    r->scratch_n = from;
    return text;
}
