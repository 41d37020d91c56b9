/* json_writer: JSON into a text under construction.
 *
 * Needs: string.c. Leaves: objects and arrays on one line, unless wbb_json_line breaks it.
 *
 * Each call writes one value, in an object with its key. The writer keeps no state: a value is the first of its object,
 * array or line if the text is empty or ends with an opening bracket, blank, tab or newline, as no value does; any
 * other value puts a comma before itself. So a part may be written by another function, or apart and joined later.
 *
 *     wbb_json_open(&b, NULL, '{');
 *     wbb_json_text(&b, "rule", "add.f32");
 *     wbb_json_open(&b, "block", '[');
 *     wbb_json_int(&b, NULL, 128);
 *     wbb_json_close(&b, ']');
 *     wbb_json_close(&b, '}');          // {"rule": "add.f32", "block": [128]}
 */
#include "base/base.h"

#include <string.h>

static bool is_first(const WbbBuf *b) { return b->n == 0 || memchr("{[ \t\n", b->text[b->n - 1], 5) != NULL; }

static void put_quoted(WbbBuf *b, const char *z)
{
    wbb_put_n(b, "\"", 1);
    for (; *z; z++) {
        const unsigned char c = (unsigned char)*z;
        switch (c) {
        case '"': wbb_put(b, "\\\""); break;
        case '\\': wbb_put(b, "\\\\"); break;
        case '\n': wbb_put(b, "\\n"); break;
        case '\t': wbb_put(b, "\\t"); break;
        case '\r': wbb_put(b, "\\r"); break;
        default:
            if (c < 0x20 || c == 0x7f) wbb_putf(b, "\\u%04x", c);
            else wbb_put_n(b, z, 1);
        }
    }
    wbb_put_n(b, "\"", 1);
}

/* What stands before a value. */
static void begin(WbbBuf *b, const char *key)
{
    if (!is_first(b)) wbb_put_n(b, ", ", 2);
    if (!key) return;
    put_quoted(b, key);
    wbb_put_n(b, ": ", 2);
}

void wbb_json_open(WbbBuf *b, const char *key, char bracket)
{
    assert(bracket == '{' || bracket == '[');
    begin(b, key);
    wbb_put_n(b, &bracket, 1);
}

void wbb_json_close(WbbBuf *b, char bracket)
{
    assert(bracket == '}' || bracket == ']');
    wbb_put_n(b, &bracket, 1);
}

void wbb_json_text(WbbBuf *b, const char *key, const char *z)
{
    begin(b, key);
    if (z) put_quoted(b, z);
    else wbb_put(b, "null");
}

void wbb_json_int(WbbBuf *b, const char *key, int64_t value)
{
    begin(b, key);
    wbb_put_i128(b, value);
}

void wbb_json_uint(WbbBuf *b, const char *key, uint64_t value)
{
    begin(b, key);
    wbb_put_i128(b, value);
}

void wbb_json_end(WbbBuf *b, const char *schema)
{
    wbb_json_text(b, "schema", schema);
    wbb_json_close(b, '}');
}

void wbb_json_bool(WbbBuf *b, const char *key, bool value)
{
    begin(b, key);
    wbb_put(b, value ? "true" : "false");
}

void wbb_json_putf(WbbBuf *b, const char *key, const char *format, ...)
{
    begin(b, key);
    va_list args;
    va_start(args, format);
    wbb_put_v(b, format, args);
    va_end(args);
}

void wbb_json_line(WbbBuf *b, uint32_t indent)
{
    wbb_putf(b, "%s\n%*s", is_first(b) ? "" : ",", (int)indent, "");
}
