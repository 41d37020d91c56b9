/* inputs: the generator of test inputs, bit for bit the same everywhere.
 *
 * Needs: nothing. Leaves: elements in logical order. Element k is made from h(k) alone, so any part can be made alone:
 *
 *     h(k)   = mix(seed * 0x9E3779B97F4A7C15 + index * 0xD1B54A32D192ED03 + k)
 *     floats : ((h >> 11) / 2^53 * 2 - 1) * scale, in f64, rounded to the type, ties to even
 *     whole  : low bits of h >> 8, or a small index where `ranged`
 *     case e : where h % 16 is 15, an edge value of the type instead
 */
#include "bundle/bundle.h"

#include <math.h>
#include <string.h>

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* +0 -0 1 -1, subnormals (16 and 8 bits) or 0.001 and 1e30, smallest normal, largest, inf, -inf, nan, below one, pi, odd. */
static const uint64_t edges_f64[] = {0, UINT64_C(1) << 63, 0x3FF0000000000000, 0xBFF0000000000000, 0x3F50624DD2F1A9FC, 0x46293E5939A08CEA,
                                     0x0010000000000000, 0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000,
                                     0x3FEFFFFFFFFFFFFF, 0x400921FB54442D18, 0x4340000000000001};
static const uint64_t edges_f32[] = {0, 0x80000000, 0x3F800000, 0xBF800000, 0x3A83126F, 0x7149F2CA, 0x00800000,
                                     0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x3F7FFFFF, 0x40490FDB, 0x4B800001};
static const uint64_t edges_f16[] = {0, 0x8000, 0x3C00, 0xBC00, 1, 0x03FF, 0x0400, 0x7BFF, 0x7C00, 0xFC00, 0x7E00, 0x3BFF, 0x4248, 0x6801};
static const uint64_t edges_bf16[] = {0, 0x8000, 0x3F80, 0xBF80, 0x3A83, 0x714A, 0x0080, 0x7F7F, 0x7F80, 0xFF80, 0x7FC0, 0x3F7F, 0x4049, 0x4B81};
static const uint64_t edges_e4m3[] = {0, 0x80, 0x38, 0xB8, 1, 7, 8, 0x7E, 0x7F, 0xFE};
static const uint64_t edges_e5m2[] = {0, 0x80, 0x3C, 0xBC, 1, 3, 4, 0x7B, 0x7C, 0xFC, 0x7E};

/* Of the types that inputs have seldom: zeros (or the nan at -0), least, ones or so, largest, nan or the next below. */
static const uint64_t edges_byte[] = {0, 0x80, 1, 0x81, 0x38, 0xB8, 0x40, 0x77, 0x78, 0x7E, 0x7F, 0xFF}, edges_f4[] = {0, 8, 1, 9, 2, 10, 7, 15};

typedef struct {
    const char *name;
    const uint64_t *edges;
    uint32_t n_edges;
    int exponent, mantissa; /* bits */
    int shift;              /* of the bias, from that of IEEE types */
    bool one_zero;          /* the bits of -0 are nan */
} FloatType;

static const FloatType float_types[] = {
    {"f64", edges_f64, WBB_LEN(edges_f64), 11, 52, 0, false},
    {"f32", edges_f32, WBB_LEN(edges_f32), 8, 23, 0, false},
    {"f16", edges_f16, WBB_LEN(edges_f16), 5, 10, 0, false},
    {"bf16", edges_bf16, WBB_LEN(edges_bf16), 8, 7, 0, false},
    {"f8e4m3fn", edges_e4m3, WBB_LEN(edges_e4m3), 4, 3, 0, false},
    {"f8e5m2", edges_e5m2, WBB_LEN(edges_e5m2), 5, 2, 0, false},
    {"f8e4m3", edges_byte, WBB_LEN(edges_byte), 4, 3, 0, false},
    {"f8e3m4", edges_byte, WBB_LEN(edges_byte), 3, 4, 0, false},
    {"f8e4m3fnuz", edges_byte, WBB_LEN(edges_byte), 4, 3, 1, true},
    {"f8e5m2fnuz", edges_byte, WBB_LEN(edges_byte), 5, 2, 1, true},
    {"f8e4m3b11fnuz", edges_byte, WBB_LEN(edges_byte), 4, 3, 4, true},
    {"f8e8m0fnu", edges_byte, WBB_LEN(edges_byte), 8, 0, 0, false},
    {"f4e2m1fn", edges_f4, WBB_LEN(edges_f4), 2, 1, 0, false},
};

/* To the nearest value of a type, ties to even; the generator never leaves its range. */
static uint64_t rounded(double x, const FloatType *t)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (t->mantissa == 52) return bits;
    const int bias = (1 << (t->exponent - 1)) - 1 + t->shift, drop = 52 - t->mantissa;
    const uint64_t sign = bits >> 63 << (t->exponent + t->mantissa), one = UINT64_C(1) << 52, size = bits & (UINT64_MAX >> 1);
    const uint64_t least = (uint64_t)(1023 - bias) * one;
    if (size >= least + one) { /* normal: a carry out of the mantissa raises the exponent, as it should */
        const uint64_t rebased = size - least;
        return sign | (rebased + (UINT64_C(1) << (drop - 1)) - 1 + (rebased >> drop & 1)) >> drop;
    }
    const uint64_t q = (uint64_t)nearbyint(ldexp(fabs(x), t->mantissa + bias - 1)); /* in steps of the least subnormal */
    return q == 0 && t->one_zero ? 0 : sign | q;
}

static uint64_t float_element(const FloatType *t, uint64_t h, char which)
{
    if (which == 'e' && (h & 15) == 15) return t->edges[(h >> 32) % t->n_edges];
    static const double wide[] = {0.5, 2, 8, 64}, narrow[] = {0.5, 1, 2, 4};
    if (t->mantissa == 0) return 123 + (h >> 8 & 7); /* powers of two: 2^-4 .. 2^3 */
    double scale = (t->exponent + t->mantissa <= 7 ? narrow : wide)[(h >> 4) & 3];
    double x = ((double)(h >> 11) / 9007199254740992.0 * 2 - 1) * scale;
    return rounded(which == 'p' ? fabs(x) : x, t);
}

static uint64_t whole_element(int bits, bool is_signed, uint64_t h, char which, bool ranged)
{
    uint64_t mask = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1, v = h >> 8;
    if (ranged && which == 'n') v %= 8;
    else if (ranged && which == 'p') v = v % 12 - (is_signed ? 2 : 0);
    if (which == 'e' && (h & 15) == 15) {
        uint64_t high = UINT64_C(1) << (bits - 1);
        const uint64_t edges[] = {0, 1, mask, high, high - 1, 2, mask - 1, 7};
        v = edges[(h >> 32) % WBB_LEN(edges)];
    }
    v &= mask;
    if (bits < 8 && is_signed && v >> (bits - 1) & 1) v = (v | ~mask) & 0xff;
    return v;
}

static void put(uint8_t *to, uint64_t v, size_t size) /* little endian; each length its own store */
{
    switch (size) {
    case 1: *to = (uint8_t)v; break;
    case 2: memcpy(to, &v, 2); break;
    case 4: memcpy(to, &v, 4); break;
    default: memcpy(to, &v, 8);
    }
}

void bd_make_input_at(uint64_t seed, uint64_t index, const char *type, const int64_t *positions, int64_t start, int64_t n, char which,
                      bool ranged, void *out)
{
    uint8_t *to = out;
    const int parts = type[0] == 'c' ? 2 : 1; /* of a complex element the parts follow each other */
    const char *part = parts == 1 ? type : strcmp(type, "c64") == 0 ? "f32" : "f64";
    const FloatType *t = NULL;
    for (size_t i = 0; i < WBB_LEN(float_types); i++)
        if (strcmp(float_types[i].name, part) == 0) t = &float_types[i];
    const size_t size = (size_t)bd_npy_bytes(part);
    assert(size && "the caller has checked the type");
    const bool pred = strcmp(part, "pred") == 0;
    const int bits = t || pred ? 1 : bd_type_bits(part);
    const uint64_t base = seed * UINT64_C(0x9E3779B97F4A7C15) + index * UINT64_C(0xD1B54A32D192ED03);
    for (int64_t k = 0; k < n; k++) {
        const int64_t position = positions ? positions[k] : start + k;
        for (int p = 0; p < parts; p++, to += size) {
            const uint64_t h = mix(base + (uint64_t)(position * parts + p));
            const uint64_t v = pred ? h >> 8 & 1 : t ? float_element(t, h, which) : whole_element(bits, part[0] == 's', h, which, ranged);
            put(to, v, size);
        }
    }
}

void bd_make_input(uint64_t seed, uint64_t index, const char *type, int64_t n, char which, bool ranged, void *out)
{
    bd_make_input_at(seed, index, type, NULL, 0, n, which, ranged, out);
}

int64_t bd_sample_positions(int64_t n, int64_t limit, int64_t *out)
{
    int64_t count = WBB_MIN(n, limit);
    for (int64_t k = 0; k < count; k++) out[k] = n <= limit ? k : (int64_t)(mix((uint64_t)k + 1) % (uint64_t)n);
    return count;
}
