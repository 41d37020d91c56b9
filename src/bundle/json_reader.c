/* json_reader: a small JSON reader that keeps the location of each value.
 *
 * Needs: a NUL-terminated text, untrusted. Leaves: a tree in the caller's arena; strings are decoded to UTF-8, numbers
 * stay text. Depth is limited, so no text can exhaust the stack.
 *
 *     {"grid": [2, 1, 1]}   ->   object with member "grid" at 1:10, an array of three numbers
 */
#include "bundle/bundle.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 64 };

typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    const char *file, *at, *line_start;
    int line, depth;
} Reader;

static WbbLoc here(const Reader *r) { return (WbbLoc){r->file, r->line, (int)(r->at - r->line_start) + 1}; }

static void blanks(Reader *r)
{
    for (; *r->at == ' ' || *r->at == '\t' || *r->at == '\r' || *r->at == '\n'; r->at++) {
        if (*r->at != '\n') continue;
        r->line++;
        r->line_start = r->at + 1;
    }
}

static void expect(Reader *r, char c)
{
    blanks(r);
    if (*r->at == c) {
        r->at++;
        return;
    }
    if (!*r->at) wbb_fail(r->cx, here(r), "expected '%c', found the end of the text", c);
    wbb_fail(r->cx, here(r), "expected '%c', found '%c'", c, *r->at);
}

static bool accept(Reader *r, char c)
{
    blanks(r);
    if (*r->at != c) return false;
    r->at++;
    return true;
}

static uint32_t hex4(Reader *r)
{
    uint32_t v = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        char c = *r->at;
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) wbb_fail(r->cx, here(r), "expected four hexadecimal digits");
        v = v * 16 + (uint32_t)digit;
    }
    return v;
}

static void put_utf8(WbbBuf *b, uint32_t c)
{
    char out[4];
    size_t n = 0;
    if (c < 0x80) out[n++] = (char)c;
    else if (c < 0x800) {
        out[n++] = (char)(0xc0 | c >> 6);
        out[n++] = (char)(0x80 | (c & 63));
    } else if (c < 0x10000) {
        out[n++] = (char)(0xe0 | c >> 12);
        out[n++] = (char)(0x80 | (c >> 6 & 63));
        out[n++] = (char)(0x80 | (c & 63));
    } else {
        out[n++] = (char)(0xf0 | c >> 18);
        out[n++] = (char)(0x80 | (c >> 12 & 63));
        out[n++] = (char)(0x80 | (c >> 6 & 63));
        out[n++] = (char)(0x80 | (c & 63));
    }
    wbb_put_n(b, out, n);
}

static void escape(Reader *r, WbbBuf *b)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    char c = *++r->at;
    const char *known = c ? strchr(names, c) : NULL;
    if (known) {
        wbb_put_n(b, values + (known - names), 1);
        r->at++;
        return;
    }
    if (c != 'u') wbb_fail(r->cx, here(r), "unknown escape in a string");
    r->at++;
    uint32_t u = hex4(r);
    if (u >= 0xd800 && u < 0xdc00 && r->at[0] == '\\' && r->at[1] == 'u') {
        r->at += 2;
        uint32_t low = hex4(r);
        if (low < 0xdc00 || low > 0xdfff) wbb_fail(r->cx, here(r), "half of a surrogate pair");
        u = 0x10000 + ((u - 0xd800) << 10) + (low - 0xdc00);
    } else if (u >= 0xd800 && u < 0xe000) wbb_fail(r->cx, here(r), "half of a surrogate pair");
    if (!u) wbb_fail(r->cx, here(r), "a string holds a zero character");
    put_utf8(b, u);
}

static const char *string(Reader *r)
{
    WbbLoc start = here(r);
    expect(r, '"');
    WbbBuf b = wbb_buf(r->arena);
    while (*r->at != '"') {
        unsigned char c = (unsigned char)*r->at;
        if (c < 0x20) wbb_fail(r->cx, start, "string without a closing quote");
        if (c == '\\') {
            escape(r, &b);
        } else {
            wbb_put_n(&b, r->at, 1);
            r->at++;
        }
    }
    r->at++;
    return b.text;
}

static const char *number(Reader *r)
{
    const char *p = r->at;
    WbbLoc start = here(r);
    if (*r->at == '-') r->at++;
    if (*r->at < '0' || *r->at > '9') wbb_fail(r->cx, start, "expected a value, found '%c'", *p ? *p : ' ');
    while (*r->at && strchr("0123456789+-.eE", *r->at)) r->at++;
    return wbb_format(r->arena, "%.*s", (int)(r->at - p), p);
}

static void value(Reader *r, BdJson *v);

static void list(Reader *r, BdJson *v, char close)
{
    if (++r->depth > MAX_DEPTH) wbb_fail(r->cx, here(r), "values nest more than %d deep", MAX_DEPTH);
    r->at++;
    BdJson **link = &v->items;
    if (!accept(r, close)) {
        do {
            BdJson *item = WBB_NEW(r->arena, BdJson);
            blanks(r);
            WbbLoc loc = here(r);
            const char *key = NULL;
            if (close == '}') {
                key = string(r);
                if (bd_json_get(v, key)) wbb_fail(r->cx, loc, "member \"%s\" occurs twice", key);
                expect(r, ':');
            }
            value(r, item);
            item->key = key;
            *link = item;
            link = &item->next;
            v->n++;
        } while (accept(r, ','));
        expect(r, close);
    }
    r->depth--;
}

static void value(Reader *r, BdJson *v)
{
    static const struct {
        const char *text;
        BdJsonKind kind;
    } words[] = {{"null", BD_NULL}, {"false", BD_FALSE}, {"true", BD_TRUE}};
    blanks(r);
    WbbLoc loc = here(r);
    v->line = loc.line, v->col = loc.col;
    if (*r->at == '{') {
        v->kind = BD_OBJECT;
        list(r, v, '}');
        return;
    }
    if (*r->at == '[') {
        v->kind = BD_ARRAY;
        list(r, v, ']');
        return;
    }
    if (*r->at == '"') {
        v->kind = BD_STRING;
        v->text = string(r);
        return;
    }
    for (size_t i = 0; i < WBB_LEN(words); i++) {
        size_t n = strlen(words[i].text);
        if (strncmp(r->at, words[i].text, n) != 0) continue;
        r->at += n;
        v->kind = words[i].kind;
        return;
    }
    if (!*r->at) wbb_fail(r->cx, loc, "expected a value, found the end of the text");
    v->kind = BD_NUMBER;
    v->text = number(r);
}

const BdJson *bd_json_get(const BdJson *object, const char *key)
{
    if (!object || object->kind != BD_OBJECT) return NULL;
    for (const BdJson *m = object->items; m; m = m->next)
        if (strcmp(m->key, key) == 0) return m;
    return NULL;
}

bool bd_json_int(const BdJson *v, int64_t *out)
{
    if (!v || v->kind != BD_NUMBER) return false;
    const char *p = v->text;
    bool minus = *p == '-';
    if (minus) p++;
    int64_t n = 0;
    for (; *p; p++) {
        if (*p < '0' || *p > '9') return false;
        if (__builtin_mul_overflow(n, (int64_t)10, &n) || __builtin_sub_overflow(n, (int64_t)(*p - '0'), &n))
            return false;
    }
    if (!minus && n == INT64_MIN) return false;
    *out = minus ? n : -n;
    return true;
}

int64_t bd_json_within(WbbCx *cx, const char *file, const BdJson *v, int64_t least, int64_t most)
{
    const WbbLoc at = {file, v->line, v->col};
    int64_t n = 0;
    if (!bd_json_int(v, &n)) wbb_fail(cx, at, "expected a whole number");
    if (n < least || n > most)
        wbb_fail(cx, at, "%lld is not between %lld and %lld", (long long)n, (long long)least, (long long)most);
    return n;
}

BdJson *bd_json_parse(WbbCx *cx, WbbArena *a, const char *file, const char *text)
{
    Reader r = {.cx = cx, .arena = a, .file = file, .at = text, .line_start = text, .line = 1};
    BdJson *v = WBB_NEW(a, BdJson);
    value(&r, v);
    blanks(&r);
    if (*r.at) wbb_fail(cx, here(&r), "text after the end of the value");
    return v;
}
