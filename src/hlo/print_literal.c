/* print_literal: the values of a constant as text that reads back to the same bits.
 *
 * Needs: a constant. Leaves: its literal. Floats have as few digits as read back to the same bits.
 *
 * An array of one repeated value is printed in full up to DENSE elements, and as a single value above.
 *
 *     f32[2,2] {1, 2, 0.1, -nan}  ->  "{ { 1, 2 }, { 0.1, -nan } }"
 */
#include "hlo/inner.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DENSE = 1024 };

static void put_nan(WbbBuf *out, ScType t, uint64_t bits)
{
    uint64_t nan = sc_parse_float(t, "nan");
    uint64_t sign = UINT64_C(1) << (sc_type_info[t].bits - 1);
    if (bits == nan) {
        wbb_put(out, "nan");
    } else if (bits == (nan | sign)) {
        wbb_put(out, "-nan");
    } else {
        uint64_t inf = sc_parse_float(t, "inf");
        uint64_t mantissa = (inf & (~inf + 1)) - 1;
        wbb_putf(out, "%snan(0x%llx)", bits & sign ? "-" : "", (unsigned long long)(bits & mantissa));
    }
}

static void put_float(WbbBuf *out, ScType t, uint64_t bits)
{
    static const int digits[] = {4, 6, 8, 9, 15, 16, 17};
    double value = sc_to_f64(t, bits);
    char text[40];
    if (isnan(value)) {
        put_nan(out, t, bits);
        return;
    }
    if (isinf(value)) {
        wbb_put(out, value < 0 ? "-inf" : "inf");
        return;
    }
    for (size_t k = 0; k < WBB_LEN(digits); k++) {
        snprintf(text, sizeof text, "%.*g", digits[k], value);
        if (sc_parse_float(t, text) == bits) break;
    }
    wbb_put(out, text);
}

static uint64_t load(const unsigned char *p, uint32_t n)
{
    uint64_t bits = 0;
    for (uint32_t k = 0; k < n; k++) bits |= (uint64_t)p[k] << 8 * k;
    return bits;
}

static void put_value(WbbBuf *out, ScType t, const unsigned char *p)
{
    uint32_t size = sc_bytes(t);
    if (t == SC_C64 || t == SC_C128) {
        ScType half = t == SC_C64 ? SC_F32 : SC_F64;
        wbb_put(out, "(");
        put_float(out, half, load(p, size / 2));
        wbb_put(out, ", ");
        put_float(out, half, load(p + size / 2, size / 2));
        wbb_put(out, ")");
        return;
    }
    uint64_t bits = load(p, size);
    if (t == SC_PRED) wbb_put(out, bits ? "true" : "false");
    else if (sc_is_int(t)) wbb_put_i128(out, sc_to_i128(t, bits));
    else put_float(out, t, bits);
}

/* Nested braces, without recursion: index[d] is the number of items printed in the open brace of level d. */
static void put_nested(WbbBuf *out, const HloInstruction *i)
{
    const HloShape *s = i->shape;
    const unsigned char *p = i->literal;
    uint32_t size = sc_bytes(s->type), level = 1;
    int64_t index[HLO_RANK_LIMIT] = {0};
    const char *blank = s->rank > 1 ? " " : "";
    wbb_putf(out, "{%s", blank);
    while (level) {
        int64_t *at = &index[level - 1];
        if (*at == s->dims[level - 1]) {
            wbb_putf(out, "%s}", blank);
            if (--level) index[level - 1]++;
            continue;
        }
        if (*at) wbb_put(out, ", ");
        if (level < s->rank) {
            wbb_putf(out, "{%s", blank);
            index[level++] = 0;
        } else {
            put_value(out, s->type, p);
            if (!i->literal_splat) p += size;
            ++*at;
        }
    }
}

/* More than DENSE values or braces; [1000,0] has 1000 empty braces. */
static bool is_long(const HloShape *s)
{
    int64_t n = 1;
    for (uint32_t d = 0; d < s->rank && n && n <= DENSE; d++) n *= s->dims[d];
    return n > DENSE;
}

void hlo_put_literal(WbbBuf *out, const HloInstruction *i)
{
    const HloShape *s = i->shape;
    bool repeated = i->literal_splat || hlo_elements(s) <= 1;
    if (i->literal_text) wbb_put(out, i->literal_text);
    else if (!i->literal) wbb_put(out, "{...}");
    else if (s->rank == 0 || (repeated && is_long(s))) put_value(out, s->type, i->literal);
    else put_nested(out, i);
}
