/* parse_literal: the values of a constant.
 *
 * Needs: the cursor after `constant(`, and the constant's shape. Leaves: HloInstruction.literal, dense values in
 * logical row-major order, each rounded once to its type; NULL for an elided literal `{...}` or a tuple.
 *
 * Equal values are stored once (literal_splat) until a different one follows, and one value without braces stands for
 * all elements: memory is proportional to the text.
 *
 *     f32[2,3] constant({{1, 2, 3}, {-inf, nan, 0x1p-3}})    pred[2] constant({true, 0})    c64[] constant((1, -0.5))
 *     bf16[4] constant({-nan(0x7f), 1, 1, 1})                f32[1000000] constant(0)       s32[9] constant({...})
 */
#include "hlo/inner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The bytes of one value. */
typedef struct { unsigned char bytes[16]; } Value;

typedef struct {
    HloReader *r;
    const HloShape *shape;
    uint32_t size;        /* bytes of a value */
    unsigned char *items; /* all values so far; NULL as long as they are equal */
    size_t n, capacity;   /* in values */
    Value first;
} Values;

static void put(Values *s, const Value *v)
{
    if (s->n == 0) s->first = *v;
    bool same = !s->items && memcmp(v->bytes, s->first.bytes, s->size) == 0;
    if (same) {
        s->n++;
        return;
    }
    if (s->n >= s->capacity || !s->items) {
        size_t capacity = WBB_MAX((size_t)16, s->n * 2);
        s->items = wbb_grow(s->r->arena, s->items, s->items ? s->n * s->size : 0,
                            wbb_mul_size(s->r->arena, capacity, s->size));
        for (size_t k = 0; s->capacity == 0 && k < s->n; k++) memcpy(s->items + k * s->size, s->first.bytes, s->size);
        s->capacity = capacity;
    }
    memcpy(s->items + s->n++ * s->size, v->bytes, s->size);
}

static void bad_value(HloReader *r, ScType t, const char *word)
{
    wbb_fail(r->cx, hlo_here(r), "'%s' is not a value of type %s", word, sc_type_info[t].hlo);
}

/* nan(0x7f): the payload is the mantissa. Only types that also have infinities have payloads. */
static uint64_t nan_bits(HloReader *r, ScType t, bool negative, bool has_payload, uint64_t payload)
{
    uint64_t nan = sc_parse_float(t, "nan");
    uint64_t sign = UINT64_C(1) << (sc_type_info[t].bits - 1);
    uint64_t inf = sc_parse_float(t, "inf"); /* the exponent's bits alone, where the type has infinities */
    uint64_t mantissa = inf & (~inf + 1);
    if (has_payload) {
        bool fits = (nan & inf) == inf && inf != nan && payload && payload < mantissa;
        if (!fits)
            wbb_fail(r->cx, hlo_here(r), "a nan of type %s has no payload 0x%llx", sc_type_info[t].hlo,
                     (unsigned long long)payload);
        nan = inf | payload;
    }
    return negative ? nan | sign : nan;
}

static uint64_t read_payload(HloReader *r, bool *given)
{
    *given = r->p < r->end && *r->p == '(';
    if (!*given) return 0;
    const char *close = memchr(r->p, ')', (size_t)WBB_MIN(r->end - r->p, 24));
    char digits[24] = {0};
    char *end = digits;
    if (close) memcpy(digits, r->p + 1, (size_t)(close - r->p - 1));
    uint64_t payload = digits[0] == '0' ? strtoull(digits, &end, 0) : 0;
    if (end == digits || *end) wbb_fail(r->cx, hlo_here(r), "the payload of a nan must be a number, as in nan(0x7f)");
    r->p = close + 1;
    return payload;
}

static uint64_t read_float(HloReader *r, ScType t)
{
    const char *text = NULL;
    char word[256];
    hlo_skip(r);
    HloMark start = hlo_mark(r);
    bool negative = r->p < r->end && *r->p == '-';
    if (r->p < r->end && (*r->p == '-' || *r->p == '+')) r->p++;
    size_t n = 0;
    for (text = r->p; r->p < r->end && n + 2 < sizeof word; r->p++, n++) {
        char c = *r->p;
        bool sign = (c == '+' || c == '-') && n && strchr("eEpP", r->p[-1]);
        if (!(c == '.' || sign || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) break;
    }
    if (n == 3 && memcmp(text, "nan", 3) == 0) {
        bool given = false;
        uint64_t payload = read_payload(r, &given);
        return nan_bits(r, t, negative, given, payload);
    }
    word[0] = negative ? '-' : '+';
    memcpy(word + 1, text, n);
    word[n + 1] = 0;
    char *end = NULL;
    if (n) (void)strtod(word, &end);
    bool number = n && *end == 0 && ((*text >= '0' && *text <= '9') || *text == '.' || *text == 'i');
    if (!number) {
        hlo_rewind(r, start);
        if (n == 0) hlo_fail_expected(r, "a number");
        bad_value(r, t, negative ? word : word + 1);
    }
    uint64_t bits = sc_parse_float(t, word);
    /* A number beyond the range of the type; XLA refuses it too. */
    bool finite = isfinite(sc_to_f64(t, bits));
    if (!finite && *text != 'i') {
        hlo_rewind(r, start);
        wbb_fail(r->cx, hlo_here(r), "%s is out of the range of %s", negative ? word : word + 1, sc_type_info[t].hlo);
    }
    return bits;
}

/* 0 to 15; 16 if c is not a digit. */
static int digit_value(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    c = (char)(c | 32);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
}

static uint64_t read_integer(HloReader *r, ScType t)
{
    hlo_skip(r);
    HloMark start = hlo_mark(r);
    char word[64];
    size_t n = 0;
    bool negative = r->p < r->end && *r->p == '-';
    if (negative) word[n++] = *r->p++;
    const char *digits = NULL;
    size_t length = hlo_word(r, &digits);
    length = WBB_MIN(length, sizeof word - 2);
    memcpy(word + n, digits, length);
    word[n + length] = 0;
    bool hex = length > 2 && digits[0] == '0' && (digits[1] | 32) == 'x';
    WbbI128 value = 0;
    bool right = length > 0 && length < 24;
    for (size_t k = hex ? 2 : 0; right && k < length; k++) {
        int digit = digit_value(digits[k]);
        right = digit < (hex ? 16 : 10);
        value = value * (hex ? 16 : 10) + digit;
    }
    if (negative) value = -value;
    bool is_signed = sc_is_signed(t);
    int bits = sc_type_info[t].bits;
    WbbI128 low = is_signed ? -((WbbI128)1 << (bits - 1)) : 0;
    WbbI128 high = ((WbbI128)1 << (bits - is_signed)) - 1;
    if (t == SC_U64 && value >= INT64_MIN) low = INT64_MIN; /* XLA prints all ones as -1 */
    if (right && value >= low && value <= high) return sc_from_i128(t, value);
    hlo_rewind(r, start);
    if (length == 0) hlo_fail_expected(r, "an integer");
    if (right) wbb_fail(r->cx, hlo_here(r), "%s is out of the range of %s", word, sc_type_info[t].hlo);
    bad_value(r, t, word);
    return 0;
}

static uint64_t read_pred(HloReader *r)
{
    const char *word = NULL;
    hlo_skip(r);
    HloMark start = hlo_mark(r);
    size_t n = hlo_word(r, &word);
    if (n == 1 && (*word == '0' || *word == '1')) return *word == '1';
    if (n == 4 && memcmp(word, "true", 4) == 0) return 1;
    if (n == 5 && memcmp(word, "false", 5) == 0) return 0;
    hlo_rewind(r, start);
    hlo_fail_expected(r, "true or false");
}

static uint64_t read_part(HloReader *r, ScType t)
{
    if (t == SC_PRED) return read_pred(r);
    return sc_is_int(t) ? read_integer(r, t) : read_float(r, t);
}

static void read_value(Values *s)
{
    HloReader *r = s->r;
    ScType t = s->shape->type;
    Value v = {{0}};
    if (t == SC_C64 || t == SC_C128) {
        ScType half = t == SC_C64 ? SC_F32 : SC_F64;
        uint64_t part[2] = {0, 0};
        bool pair = hlo_accept(r, '(');
        part[0] = read_part(r, half);
        if (pair) {
            hlo_expect(r, ',');
            part[1] = read_part(r, half);
            hlo_expect(r, ')');
        }
        for (uint32_t k = 0; k < s->size; k++)
            v.bytes[k] = (unsigned char)(part[2 * k / s->size] >> 8 * (k % (s->size / 2)));
    } else {
        uint64_t bits = read_part(r, t);
        for (uint32_t k = 0; k < s->size; k++) v.bytes[k] = (unsigned char)(bits >> 8 * k);
    }
    put(s, &v);
}

/* Nested braces, one level for each dimension. count[d] is the number of items so far in the open brace of level d. */
static void read_nested(Values *s)
{
    HloReader *r = s->r;
    const HloShape *shape = s->shape;
    int64_t count[HLO_RANK_LIMIT];
    uint32_t level = 0;
    hlo_expect(r, '{');
    count[level++] = 0;
    for (;;) {
        bool closing = hlo_peek(r) == '}';
        if (!closing || count[level - 1]) {
            if (count[level - 1]) {
                if (!closing) hlo_expect(r, ',');
            }
            if (!closing && level < shape->rank) {
                hlo_expect(r, '{');
                count[level++] = 0;
                continue;
            }
            if (!closing) {
                read_value(s);
                count[level - 1]++;
                continue;
            }
        }
        WbbLoc loc = hlo_here(r);
        hlo_expect(r, '}');
        level--;
        if (count[level] != shape->dims[level])
            wbb_fail(r->cx, loc, "dimension %u of the literal has %lld elements, %lld expected", level,
                     (long long)count[level], (long long)shape->dims[level]);
        if (level == 0) return;
        count[level - 1]++;
    }
}

/* `{...}` */
static bool accept_elided(HloReader *r)
{
    HloMark start = hlo_mark(r);
    if (hlo_accept(r, '{')) {
        hlo_skip(r);
        if (r->end - r->p >= 3 && memcmp(r->p, "...", 3) == 0) {
            r->p += 3;
            hlo_expect(r, '}');
            return true;
        }
    }
    hlo_rewind(r, start);
    return false;
}

static void check_length(HloReader *r, const HloShape *shape)
{
    WbbI128 bytes = (WbbI128)hlo_elements(shape) * sc_bytes(shape->type);
    if (bytes <= HLO_LITERAL_LIMIT) return;
    wbb_fail(r->cx, hlo_here(r), "a literal of %lld %s is larger than 2^29 bytes", (long long)hlo_elements(shape),
             sc_type_info[shape->type].hlo);
}

static void read_array(HloReader *r, const HloShape *shape, HloInstruction *i)
{
    if (accept_elided(r)) return;
    const ScTypeInfo *info = &sc_type_info[shape->type];
    if (hlo_peek(r) != '(' && hlo_at_shape(r)) { /* old texts repeat the shape: constant(f32[2] {1, 2}) */
        WbbLoc loc = hlo_here(r);
        r->literal_follows = true;
        const HloShape *again = hlo_read_shape(r);
        r->literal_follows = false;
        if (!hlo_same_shape(again, shape))
            wbb_fail(r->cx, loc, "a literal of shape %s, %s expected", hlo_shape_text(r->cx->arena, again),
                     hlo_shape_text(r->cx->arena, shape));
    }
    hlo_peek(r);
    check_length(r, shape);
    if (info->cls == '-') wbb_fail(r->cx, hlo_here(r), "type %s has no values to write", info->hlo);
    Values s = {.r = r, .shape = shape, .size = sc_bytes(shape->type)};
    bool braces = shape->rank > 0 && hlo_peek(r) == '{';
    if (braces) read_nested(&s);
    else read_value(&s);
    if (!i) return;
    bool splat = !s.items && (s.n > 1 || !braces) && shape->rank > 0;
    if (!s.items) {
        s.items = wbb_alloc(r->arena, s.size);
        memcpy(s.items, s.first.bytes, s.size);
    }
    i->literal = s.items;
    i->literal_splat = splat && hlo_elements(shape) != 1;
}

static void read_tuple(HloReader *r, const HloShape *s)
{
    hlo_expect(r, '(');
    for (uint32_t k = 0; k < s->n_elements; k++) {
        if (k) hlo_expect(r, ',');
        hlo_read_literal(r, s->elements[k], NULL);
    }
    hlo_expect(r, ')');
}

void hlo_read_literal(HloReader *r, const HloShape *s, HloInstruction *i)
{
    if (s->type != SC_TUPLE) {
        read_array(r, s, i);
        return;
    }
    hlo_skip(r);
    const char *start = r->p;
    hlo_enter_level(r);
    if (!accept_elided(r)) read_tuple(r, s);
    r->depth--;
    if (!i) return;
    size_t before = r->scratch_n;
    hlo_scratch(r, start, r->p);
    i->literal_text = hlo_scratch_end(r, before);
}
