/* ir_inputs.c: the inputs on which an IR kernel is checked.
 *
 * Needs a kernel's operands; leaves their memory filled. The operands' sequences contain all combinations of their
 * values if these are few enough, else of their edge values (zeros, ones, subnormals, extremes, infinities, nans with
 * payloads, powers of two around widths and mantissas); random bits follow without end. Element k of a sequence depends
 * on k alone, so several launches of a small kernel see the whole sequence.
 *
 *     bf16: 65,536 values, all there are;   f32, f32: 48 * 48 pairs of edges, twice, then random bits
 */
#include "judge/ir_check.h"

#include <string.h>

enum { MAX_EDGES = 48, MAX_COMBINATIONS = 1 << 17 };

typedef struct {
    uint64_t bits[MAX_EDGES];
    uint32_t n;
} Edges;

static void add(Edges *e, ScType t, uint64_t bits)
{
    bits &= sc_mask(t);
    for (uint32_t i = 0; i < e->n; i++)
        if (e->bits[i] == bits) return;
    if (e->n < MAX_EDGES) e->bits[e->n++] = bits;
}

/* From the layout of the format: mantissa bits lowest, sign bit highest. */
static void float_edges(Edges *e, ScType t)
{
    const uint32_t width = sc_type_info[t].bits;
    const uint32_t mantissa = t == SC_F64 ? 52 : t == SC_F32 ? 23 : t == SC_F16 ? 10 : 7;
    const uint64_t sign = (uint64_t)1 << (width - 1), one = sc_from_f64(t, 1), half = (uint64_t)1 << (mantissa - 1);
    const uint64_t infinity = sc_from_f64(t, 1e308 * 10), normal = (uint64_t)1 << mantissa;
    static const double plain[] = {0, 1, 2, 0.5, 1.5, 3, 2.5, 0.1, 100.25, 0x1p15, 0x1p31, 0x1p32, 0x1p63, 255, 88.5};
    for (int negative = 0; negative < 2; negative++) {
        const uint64_t s = negative ? sign : 0;
        for (size_t i = 0; i < WBB_LEN(plain); i++) add(e, t, sc_from_f64(t, plain[i]) | s);
        add(e, t, infinity | s);
        add(e, t, (infinity | half) | s);
        add(e, t, (infinity | 1) | s);
        add(e, t, (infinity | half | 5) | s);
        add(e, t, 1 | s);
        add(e, t, (normal - 1) | s);
        add(e, t, normal | s);
        add(e, t, (infinity - 1) | s);
        if (!negative) add(e, t, one + 1), add(e, t, one - 1);
    }
}

static void integer_edges(Edges *e, ScType t)
{
    const uint32_t width = sc_type_info[t].bits;
    const uint64_t top = (uint64_t)1 << (width - 1);
    static const uint64_t plain[] = {0, 1, 2, 3, 7, 10, 100, 127, 128, 255, 256, 32767, 32768, 65535, 65536};
    for (size_t i = 0; i < WBB_LEN(plain); i++) add(e, t, plain[i]);
    for (uint64_t i = 1; i < 4; i++) add(e, t, 0 - i);
    const uint64_t around[] = {width, top, width * 2, (uint64_t)1 << 24, (uint64_t)1 << 31, (uint64_t)1 << 53};
    for (size_t i = 0; i < WBB_LEN(around); i++)
        for (uint64_t x = around[i] - 1; x != around[i] + 2; x++) add(e, t, x);
    add(e, t, 0x5555555555555555u);
    add(e, t, 0xaaaaaaaaaaaaaaaau);
    add(e, t, 0x00000000fffffff0u);
}

static void edges_of(Edges *e, ScType t)
{
    e->n = 0;
    if (t == SC_PRED) add(e, t, 0), add(e, t, 1);
    else if (sc_is_float(t)) float_edges(e, t);
    else integer_edges(e, t);
}

/* The number of values of a buffer that are combined with the others': all values of its type, or its edge values. */
static int64_t count_of(const IrBuffer *b, bool all)
{
    const uint32_t bits = sc_type_info[b->type].bits;
    if (all) return b->type == SC_PRED ? 2 : bits <= 16 ? (int64_t)1 << bits : INT32_MAX;
    Edges e;
    edges_of(&e, b->type);
    return e.n;
}

int64_t judge_ir_combinations(const IrKernel *k, bool *all)
{
    for (int edges = 0; edges < 2; edges++) {
        int64_t n = 1;
        for (uint32_t i = 0; i < k->n_buffers && n <= MAX_COMBINATIONS; i++)
            if (k->buffers[i].space == IR_IN) n *= count_of(&k->buffers[i], !edges);
        *all = !edges && n <= MAX_COMBINATIONS;
        if (n <= MAX_COMBINATIONS) return edges ? 2 * n : n;
    }
    return 0; /* too many operands: random bits only */
}

/* The combination, of n, of element `at`. Lanes are neighbouring elements: if combination k were element k, the first
 * of two lanes would only get even combinations. So all values (2^m of them) come in an order that mixes their lowest
 * bit, and edge values come twice, the second time shifted by one element. */
static int64_t combination(int64_t at, int64_t n, bool all)
{
    if (all) return at ^ at >> 7;
    return at < n / 2 ? at : (at + 1) % (n / 2);
}

/* Random values: half are any bits, half have a size near 1 (floats) or any number of significant bits (integers). */
static uint64_t random_bits(ScType t, uint64_t h)
{
    const uint64_t bits = h & sc_mask(t);
    if (t == SC_PRED || !(h >> 63)) return bits;
    const double ordinary = (double)(h >> 11 & 0xffffffffffff) / 0x1p40 - 128;
    if (sc_is_float(t)) return sc_from_f64(t, ordinary * ((h >> 5 & 3) ? 1 : 0x1p-9));
    const uint32_t width = sc_type_info[t].bits, keep = 1 + (uint32_t)(h >> 56 & 63) % width;
    const uint64_t low = bits & (keep == 64 ? UINT64_MAX : ((uint64_t)1 << keep) - 1);
    return (sc_is_signed(t) && (h >> 62 & 1) ? 0 - low : low) & sc_mask(t);
}

/* Of a value v: itself, a small multiple, its negative, shifted to the left, and the neighbours of each. */
static uint64_t near_value(ScType t, JudgeIrValues values, uint64_t h)
{
    const uint64_t v = values.items[h % values.n], how = h >> 32 & 3, by = h >> 36 & 31;
    const uint64_t at = how == 0 ? v : how == 1 ? v * (by + 1) : how == 2 ? 0 - v : v << by;
    return (at + (h >> 44 & 3) % 3 - 1) & sc_mask(t);
}

void judge_ir_inputs(const IrKernel *k, uint64_t seed, int64_t first, JudgeIrValues values, void *const *memory)
{
    bool all;
    const int64_t combinations = judge_ir_combinations(k, &all);
    int64_t before = 1; /* combinations of the operands before this one, which change faster */
    for (uint32_t i = 0; i < k->n_buffers; i++) {
        const IrBuffer *b = &k->buffers[i];
        if (b->space != IR_IN) continue;
        Edges e;
        edges_of(&e, b->type);
        const int64_t count = count_of(b, all);
        const uint32_t bytes = sc_bytes(b->type);
        for (int64_t x = 0; x < b->elements; x++) {
            const int64_t at = first + x;
            const uint64_t key[3] = {seed, i, (uint64_t)at};
            uint64_t bits;
            if (at >= combinations) {
                const uint64_t h = wbb_hash(key, sizeof key, 11);
                const bool near = values.n && (h >> 50 & 3) == 3;
                bits = near ? near_value(b->type, values, wbb_hash(key, sizeof key, 12)) : random_bits(b->type, h);
            }
            else bits = (uint64_t)(combination(at, combinations, all) / before % count);
            if (at < combinations && !all) bits = e.bits[bits];
            memcpy((char *)memory[i] + (size_t)x * bytes, &bits, bytes);
        }
        if (combinations) before *= count;
    }
}

uint32_t judge_ir_complexity(ScType t, uint64_t bits)
{
    Edges e;
    edges_of(&e, t);
    for (uint32_t i = 0; i < e.n; i++)
        if (e.bits[i] == bits) return i;
    uint32_t length = 0;
    for (; bits; bits >>= 1) length++;
    return MAX_EDGES + length;
}
