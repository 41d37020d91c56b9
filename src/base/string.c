/* string: interned names, texts under construction, and the hash.
 *
 * Needs: arena.c. Leaves: interned texts as long-lived as the context; equal texts share one pointer, so names compare
 * with ==. WbbBuf texts live in the arena they were given.
 *
 *     WbbBuf b = wbb_buf(arena);
 *     wbb_putf(&b, "%d, ", 3);
 *     wbb_put(&b, "4");    // b.text is: 3, 4
 */
#include "base/base.h"
#include "base/inner.h"

#include <stdio.h>
#include <string.h>

static uint64_t read64(const unsigned char *p)
{
    uint64_t v = 0;
    for (int i = 0; i < 8; i++) v |= (uint64_t)p[i] << (8 * i);
    return v;
}

static uint64_t mix(uint64_t x)
{
    x ^= x >> 32;
    x *= UINT64_C(0x9e3779b97f4a7c15);
    x ^= x >> 29;
    x *= UINT64_C(0xd6e8feb86659fd93);
    return x ^ (x >> 32);
}

uint64_t wbb_hash(const void *bytes, size_t n, uint64_t seed)
{
    const unsigned char *p = bytes;
    uint64_t h = mix(seed + n);
    for (; n >= 8; n -= 8, p += 8) h = mix(h ^ read64(p)) + UINT64_C(0x9e3779b97f4a7c15);
    uint64_t tail = 0;
    for (size_t i = 0; i < n; i++) tail |= (uint64_t)p[i] << (8 * i);
    return mix(h ^ tail);
}

const char *wbb_intern(WbbCx *cx, const char *p, size_t n)
{
    return wbb_map_text(wbb_map_put_bytes(&cx->inner->names, p, n));
}

const char *wbb_intern_z(WbbCx *cx, const char *z) { return wbb_intern(cx, z, strlen(z)); }

static void reserve(WbbBuf *b, size_t more)
{
    if (more < b->capacity - b->n) return;
    size_t capacity = WBB_MAX(b->capacity * 2, b->n + more + 1);
    b->text = wbb_grow(b->arena, b->text, b->capacity, capacity);
    b->capacity = capacity;
}

WbbBuf wbb_buf(WbbArena *a)
{
    WbbBuf b = {.arena = a, .text = wbb_alloc(a, 64), .n = 0, .capacity = 64};
    return b;
}

void wbb_put_n(WbbBuf *b, const char *p, size_t n)
{
    reserve(b, n);
    if (n) memcpy(b->text + b->n, p, n);
    b->n += n;
    b->text[b->n] = 0;
}

void wbb_put(WbbBuf *b, const char *z) { wbb_put_n(b, z, strlen(z)); }

void wbb_put_v(WbbBuf *b, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(b->text + b->n, b->capacity - b->n, format, args);
    if (n < 0) {
        va_end(again);
        wbb_fail(wbb_arena_cx(b->arena), (WbbLoc){0}, "cannot format '%s'", format);
    }
    if ((size_t)n >= b->capacity - b->n) {
        reserve(b, (size_t)n);
        vsnprintf(b->text + b->n, b->capacity - b->n, format, again);
    }
    va_end(again);
    b->n += (size_t)n;
}

void wbb_putf(WbbBuf *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    wbb_put_v(b, format, args);
    va_end(args);
}

char *wbb_format(WbbArena *a, const char *format, ...)
{
    WbbBuf b = wbb_buf(a);
    va_list args;
    va_start(args, format);
    wbb_put_v(&b, format, args);
    va_end(args);
    return b.text;
}

const char *wbb_next_line(WbbArena *a, const char **p, const char *end, const char *comment)
{
    const char *stop = memchr(*p, '\n', (size_t)(end - *p));
    size_t length = (size_t)((stop ? stop : end) - *p);
    char *line = wbb_format(a, "%.*s", (int)WBB_MIN(length, (size_t)1 << 20), *p);
    *p += WBB_MIN(length + 1, (size_t)(end - *p));
    char *rest = comment ? strstr(line, comment) : NULL;
    if (rest) *rest = 0;
    for (length = strlen(line); length && strchr(" \t\r", line[length - 1]);) line[--length] = 0;
    return line;
}

void wbb_put_i128(WbbBuf *b, WbbI128 value)
{
    char digits[48];
    size_t at = sizeof digits;
    WbbU128 rest = value < 0 ? (WbbU128)0 - (WbbU128)value : (WbbU128)value;
    do {
        digits[--at] = (char)('0' + (int)(rest % 10));
        rest /= 10;
    } while (rest);
    if (value < 0) digits[--at] = '-';
    wbb_put_n(b, digits + at, sizeof digits - at);
}
