/* proto_wire: the fields of a message of a protocol buffer.
 *
 * Needs bytes that may be anything. Leaves fields in the order of the file, which refer to these bytes; a wbb_fail that
 * names the byte where the message is not one. The format: protobuf.dev/programming-guides/encoding.
 *
 *     08 96 01     ->   field 1, a number: 150
 */
#include "hlo/proto.h"

#include <stdarg.h>
#include <string.h>

/* The first field is a text or a message, so that it begins with a line break. The second one's 0x12 is in no text. */
bool hlo_is_proto(const char *bytes, size_t n)
{
    if (!n || bytes[0] != '\n') return false;
    for (size_t k = 1; k < n && k < 4096; k++)
        if ((unsigned char)bytes[k] < ' ' && !memchr("\t\n\v\f\r", bytes[k], 5)) return true;
    return false;
}

void hlo_pb_fail(const HloPbFile *f, const uint8_t *at, const char *format, ...)
{
    WbbBuf b = wbb_buf(f->cx->arena);
    va_list args;
    va_start(args, format);
    wbb_put_v(&b, format, args);
    va_end(args);
    wbb_fail(f->cx, (WbbLoc){.file = f->file}, "byte %zu: %s", (size_t)(at - f->start), b.text);
}

/* Seven bits a byte, the lowest first; the last has no high bit. */
static uint64_t read_number(const HloPbFile *f, const uint8_t **p, const uint8_t *end)
{
    uint64_t value = 0;
    const uint8_t *at = *p;
    for (uint32_t shift = 0; shift < 70; shift += 7) {
        if (*p == end) hlo_pb_fail(f, at, "the file ends, or a message does, inside a number");
        const uint8_t byte = *(*p)++;
        if (shift < 64) value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) return value;
    }
    hlo_pb_fail(f, at, "a number has more than 10 bytes");
}

static uint64_t read_fixed(const uint8_t *p, uint32_t n)
{
    uint64_t value = 0;
    for (uint32_t k = 0; k < n; k++) value |= (uint64_t)p[k] << 8 * k;
    return value;
}

static HloPbField read_field(const HloPbFile *f, const uint8_t **p, const uint8_t *end)
{
    const uint8_t *at = *p;
    const uint64_t tag = read_number(f, p, end);
    HloPbField x = {.number = (uint32_t)(tag >> 3), .wire = (HloPbWire)(tag & 7)};
    if (tag >> 3 == 0 || tag >> 32) hlo_pb_fail(f, at, "no field has the number %llu", (unsigned long long)(tag >> 3));
    x.at = *p;
    switch (x.wire) {
    case PB_NUMBER: x.value = read_number(f, p, end); return x;
    case PB_BYTES: {
        const uint64_t n = read_number(f, p, end);
        if (n > (uint64_t)(end - *p))
            hlo_pb_fail(f, at, "field %u has %llu bytes, and %zu are left", x.number, (unsigned long long)n,
                       (size_t)(end - *p));
        x.n = (size_t)n;
        break;
    }
    case PB_32: x.n = 4; break;
    case PB_64: x.n = 8; break;
    default: hlo_pb_fail(f, at, "field %u has the wire type %u, which no message of XLA has", x.number, x.wire);
    }
    if (x.n > (size_t)(end - *p)) hlo_pb_fail(f, at, "the file ends, or a message does, inside field %u", x.number);
    x.at = *p;
    *p += x.n;
    if (x.wire != PB_BYTES) x.value = read_fixed(x.at, (uint32_t)x.n);
    return x;
}

HloPb hlo_pb_message(HloPbFile *f, const uint8_t *at, size_t n)
{
    struct { HloPbField *items; uint32_t n, capacity; } list = {0};
    for (const uint8_t *p = at, *end = at + n; p < end;) {
        const HloPbField x = read_field(f, &p, end);
        WBB_PUSH(f->arena, &list, x);
    }
    return (HloPb){.file = f, .at = at, .fields = list.items, .n = list.n};
}

static void require_wire(const HloPb *m, const HloPbField *x, HloPbWire wire)
{
    if (x->wire != wire)
        hlo_pb_fail(m->file, x->at, "field %u has the wire type %u, %u expected", x->number, x->wire, wire);
}

const HloPbField *hlo_pb_field(const HloPb *m, uint32_t number, HloPbWire wire)
{
    const HloPbField *found = NULL;
    for (uint32_t k = 0; k < m->n; k++)
        if (m->fields[k].number == number) found = &m->fields[k];
    if (found) require_wire(m, found, wire);
    return found;
}

int64_t hlo_pb_int(const HloPb *m, uint32_t number)
{
    const HloPbField *x = hlo_pb_field(m, number, PB_NUMBER);
    return x ? (int64_t)x->value : 0;
}

bool hlo_pb_has(const HloPb *m, uint32_t number)
{
    for (uint32_t k = 0; k < m->n; k++) {
        const HloPbField *x = &m->fields[k];
        if (x->number == number && (x->wire == PB_BYTES ? x->n != 0 : x->value != 0)) return true;
    }
    return false;
}

const char *hlo_pb_text(const HloPb *m, uint32_t number)
{
    const HloPbField *x = hlo_pb_field(m, number, PB_BYTES);
    if (!x) return "";
    if (memchr(x->at, 0, x->n)) hlo_pb_fail(m->file, x->at, "the text of field %u holds a NUL byte", number);
    return wbb_intern(m->file->cx, (const char *)x->at, x->n);
}

HloPb hlo_pb_of(const HloPb *m, const HloPbField *x)
{
    require_wire(m, x, PB_BYTES);
    return hlo_pb_message(m->file, x->at, x->n);
}

HloPb hlo_pb_inner(const HloPb *m, uint32_t number)
{
    const HloPbField *x = hlo_pb_field(m, number, PB_BYTES);
    return x ? hlo_pb_of(m, x) : (HloPb){.file = m->file, .at = m->at};
}

const HloPbField *hlo_pb_next(const HloPb *m, uint32_t number, uint32_t *at)
{
    while (*at < m->n) {
        const HloPbField *x = &m->fields[(*at)++];
        if (x->number != number) continue;
        require_wire(m, x, PB_BYTES);
        return x;
    }
    return NULL;
}

const int64_t *hlo_pb_ints(const HloPb *m, uint32_t number, uint32_t *n)
{
    struct { int64_t *items; uint32_t n, capacity; } list = {0};
    for (uint32_t k = 0; k < m->n; k++) {
        const HloPbField *x = &m->fields[k];
        if (x->number != number) continue;
        if (x->wire == PB_NUMBER) WBB_PUSH(m->file->arena, &list, (int64_t)x->value);
        else require_wire(m, x, PB_BYTES);
        for (const uint8_t *p = x->at, *end = p + x->n; x->wire == PB_BYTES && p < end;) {
            const int64_t value = (int64_t)read_number(m->file, &p, end);
            WBB_PUSH(m->file->arena, &list, value);
        }
    }
    *n = list.n;
    return list.items;
}

const uint8_t *hlo_pb_fixed(const HloPb *m, uint32_t number, uint32_t bytes, size_t *n)
{
    size_t all = 0;
    for (uint32_t k = 0; k < m->n; k++) all += m->fields[k].number == number ? m->fields[k].n : 0;
    uint8_t *out = wbb_alloc(m->file->arena, all + 1);
    size_t at = 0;
    for (uint32_t k = 0; k < m->n; k++) {
        const HloPbField *x = &m->fields[k];
        if (x->number != number) continue;
        if (x->wire != (bytes == 4 ? PB_32 : PB_64)) require_wire(m, x, PB_BYTES);
        if (x->n % bytes) hlo_pb_fail(m->file, x->at, "field %u has %zu bytes, values have %u", number, x->n, bytes);
        memcpy(out + at, x->at, x->n);
        at += x->n;
    }
    *n = all / bytes;
    return out;
}

void hlo_pb_check_known(const HloPb *m, const uint16_t *known, const char *what)
{
    for (uint32_t k = 0; k < m->n; k++) {
        const HloPbField *x = &m->fields[k];
        const uint16_t *at = known;
        while (*at && *at != x->number) at++;
        if (*at || (x->wire == PB_BYTES ? x->n == 0 : x->value == 0)) continue;
        hlo_pb_fail(m->file, x->at, "field %u of %s is not known: is the file of a newer XLA?", x->number, what);
    }
}

const char *hlo_pb_name(const HloPb *m, uint32_t number, const char *what)
{
    const char *name = hlo_pb_text(m, number);
    for (const char *p = name; *p; p++)
        if (!hlo_is_word(*p)) hlo_pb_fail(m->file, m->at, "%s has the character 0x%02x", what, (unsigned char)*p);
    if (!*name) hlo_pb_fail(m->file, m->at, "%s is missing", what);
    return name;
}

void hlo_pb_put_quoted(WbbBuf *out, const char *text, size_t n)
{
    wbb_put(out, "\"");
    for (size_t k = 0; k < n; k++) {
        const unsigned char c = (unsigned char)text[k];
        if (c == '"' || c == '\\') wbb_putf(out, "\\%c", c);
        else if (c == '\n') wbb_put(out, "\\n");
        else if (c < ' ' || c >= 0x7f) wbb_putf(out, "\\%03o", c);
        else wbb_put_n(out, &text[k], 1);
    }
    wbb_put(out, "\"");
}

void hlo_pb_put_value(WbbBuf *out, const char *text, size_t n)
{
    int64_t open = 0;
    bool quoted = false, plain = n > 1 && text[0] == '{' && text[n - 1] == '}';
    for (size_t k = 0; plain && k < n; k++) {
        const char c = text[k];
        plain = c >= ' ' && c < 0x7f;
        if (quoted && c == '\\') k++;
        else if (c == '"') quoted = !quoted;
        else if (!quoted) open += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
        plain = plain && open >= (k + 1 < n);
    }
    if (plain && !quoted && !open) wbb_put_n(out, text, n);
    else hlo_pb_put_quoted(out, text, n);
}

void hlo_pb_put_list(WbbBuf *out, const char *before, const HloPb *m, uint32_t number, const char *after,
                     uint32_t least)
{
    uint32_t n;
    const int64_t *values = hlo_pb_ints(m, number, &n);
    if (n < least) return;
    wbb_put(out, before);
    hlo_put_ints(out, values, n);
    wbb_put(out, after);
}

void hlo_pb_put_ints(WbbBuf *out, const char *name, const HloPb *m, uint32_t number)
{
    wbb_putf(out, ", %s=", name);
    hlo_pb_put_list(out, "{", m, number, "}", 0);
}
