/* random: rng-bit-generator, bit for bit, and stochastic-convert.
 *
 * Needs: the state. Leaves: the wanted lanes of the new state, or of the bits: each element depends on the state and
 * its position.
 *
 * The generators are those of Salmon, Moraes, Dror and Shaw, Parallel Random Numbers: As Easy as 1, 2, 3 (SC 2011):
 * Threefry-2x32 with 20 rounds, Philox-4x32 with 10. The order of counters over the elements, and the new state, are
 * XLA's (rng_bit_generator_expander, prng): state[0] is the key. Threefry halves the first even dimension (else the
 * largest), and the two words of a counter fill both halves, side by side; Philox gives its four words to consecutive
 * elements. Bits narrower than 32 are the low ones. rng_default is Philox, as on GPUs.
 *
 *     (u64[3], u32[8]) rng-bit-generator(state), algorithm=rng_philox     bits[5]: word 1 of counter (state[1],
 * state[2]) + 1
 */
#include "eval/inner.h"

#include <math.h>
#include <string.h>

static uint32_t rotated(uint32_t x, unsigned n) { return x << n | x >> (32 - n); }

/* Both words of a counter. */
static uint64_t threefry(uint64_t key, uint64_t counter)
{
    static const unsigned char rotation[8] = {13, 15, 26, 6, 17, 29, 16, 24};
    uint32_t k[3] = {(uint32_t)key, (uint32_t)(key >> 32), 0}, x = (uint32_t)counter, y = (uint32_t)(counter >> 32);
    k[2] = k[0] ^ k[1] ^ 0x1BD11BDA;
    x += k[0];
    y += k[1];
    for (uint32_t group = 0; group < 5; group++) {
        for (uint32_t round = 0; round < 4; round++) {
            x += y;
            y = rotated(y, rotation[group % 2 * 4 + round]) ^ x;
        }
        x += k[(group + 1) % 3];
        y += k[(group + 2) % 3] + group + 1;
    }
    return x | (uint64_t)y << 32;
}

static void philox(uint64_t key, WbbU128 counter, uint32_t *x)
{
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int k = 0; k < 4; k++) x[k] = (uint32_t)(counter >> (32 * k));
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)x[0] * 0xD2511F53, b = (uint64_t)x[2] * 0xCD9E8D57;
        uint32_t next[4] = {(uint32_t)(b >> 32) ^ x[1] ^ k0, (uint32_t)b, (uint32_t)(a >> 32) ^ x[3] ^ k1, (uint32_t)a};
        memcpy(x, next, sizeof next);
        k0 += 0x9E3779B9;
        k1 += 0xBB67AE85;
    }
}

typedef struct {
    uint64_t key, words[2]; /* the state after the key, as 64-bit words */
    const HloShape *shape;  /* of the bits */
    unsigned bits;
    int64_t split;          /* Threefry: the dimension that is halved */
} Generator;

static int64_t split_dimension(const HloShape *s)
{
    int64_t largest = 0;
    for (uint32_t d = 0; d < s->rank; d++) {
        if (s->dims[d] % 2 == 0) return d;
        if (s->dims[d] > s->dims[largest]) largest = d;
    }
    return largest;
}

static uint64_t threefry_bits(const Generator *g, int64_t position)
{
    if (g->bits == 64) return threefry(g->key, g->words[0] + (uint64_t)position);
    if (g->shape->rank == 0) return threefry(g->key, g->words[0]) & UINT32_MAX;
    EvWalk walk = ev_walk(g->shape);
    const int64_t *at = ev_walk_to(&walk, position);
    uint64_t counter = 0;
    for (int64_t d = 0; d < g->shape->rank; d++) {
        bool half = d == g->split;
        counter = counter * (uint64_t)(half ? (g->shape->dims[d] + 1) / 2 : g->shape->dims[d]) +
                  (uint64_t)(half ? at[d] / 2 : at[d]);
    }
    uint64_t both = threefry(g->key, g->words[0] + counter);
    return at[g->split] % 2 ? both >> 32 : both & UINT32_MAX;
}

/* The counter of 128 bits: word 1 above word 0; a state of two words has its counter's low word 0. */
static WbbU128 philox_counter(const Generator *g) { return (WbbU128)g->words[1] << 64 | g->words[0]; }

static uint64_t philox_bits(const Generator *g, int64_t position)
{
    uint32_t x[4];
    int64_t each = g->bits == 64 ? 2 : 4;
    philox(g->key, philox_counter(g) + (WbbU128)(uint64_t)(position / each), x);
    if (each == 4) return x[position % 4];
    int64_t k = position % 2 * 2;
    return x[k] | (uint64_t)x[k + 1] << 32;
}

static uint64_t ceil_divide(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

/* Word k of the new state. */
static uint64_t new_state(const Generator *g, bool is_philox, int64_t k)
{
    uint64_t n = (uint64_t)hlo_elements(g->shape);
    if (k == 0) return g->key;
    if (is_philox) {
        WbbU128 next = philox_counter(g) + ceil_divide(g->bits == 64 ? 2 * n : n, 4);
        return (uint64_t)(next >> (64 * (k - 1)));
    }
    if (g->bits == 64) return g->words[0] + n;
    uint64_t half = 1;
    for (int64_t d = 0; d < g->shape->rank; d++)
        half *= (uint64_t)(d == g->split ? (g->shape->dims[d] + 1) / 2 : g->shape->dims[d]);
    return g->words[0] + half;
}

/* Reads the state as 64-bit words, two elements to a word where they have 32 bits. False: some element is an interval.
 */
static bool read_state(const Ev *e, const HloShape *s, const void *lanes, uint64_t *words)
{
    int64_t n = hlo_elements(s), value = 0, per = sc_type_info[s->type].bits == 64 ? 1 : 2;
    for (int64_t k = 0; k < n && k < 4 * per; k++) {
        if (!ev_int_of(e, s->type, lanes, k, &value)) return false;
        if (sc_type_info[s->type].bits == 64 && e->mode != EV_BOUNDS) value = (int64_t)ev_get(s->type, lanes, k);
        if (sc_type_info[s->type].bits == 64 && e->mode == EV_BOUNDS) value = (int64_t)((const EvBound *)lanes)[k].lo.u;
        if (per == 1) words[k] = (uint64_t)value;
        else words[k / 2] |= (uint64_t)(uint32_t)value << (32 * (k % 2));
    }
    return true;
}

static uint64_t element(const Generator *g, bool is_philox, bool state, const HloShape *s, int64_t position)
{
    if (!state) return (is_philox ? philox_bits(g, position) : threefry_bits(g, position)) & sc_mask(s->type);
    if (sc_type_info[s->type].bits == 64) return new_state(g, is_philox, position);
    return new_state(g, is_philox, position / 2) >> (32 * (position % 2)) & UINT32_MAX;
}

void *ev_random_bits(Ev *e, EvTask *t)
{
    const HloInstruction *i = t->ref.i;
    if (i->shape->type != SC_TUPLE)
        wbb_decline(e->cx, i->loc, WHY_OPERATION, "the evaluator has rng-bit-generator with its new state only");
    const HloShape *in = i->operands[0]->shape, *s = ev_ref_shape(t->ref);
    const char *algorithm = hlo_attribute(e->block, i, "algorithm");
    bool is_philox = !algorithm || strcmp(algorithm, "rng_three_fry") != 0;
    uint64_t words[4] = {0};
    int64_t n_words = hlo_elements(in) * sc_type_info[in->type].bits / 64;
    if (n_words < 2 || n_words > 3)
        wbb_decline(e->cx, i->loc, WHY_OPERATION, "the evaluator has no generator with a state of %lld words",
                    (long long)n_words);
    const void *state = ev_need(e, ev_operand(e, t, 0), ev_range_set(e, 0, hlo_elements(in)));
    if (!state) return NULL;
    if (!read_state(e, in, state, words)) return ev_bound_unknown(e, s->type, t->set->n);
    const HloShape *bits = i->shape->elements[1];
    Generator g = {.key = words[0], .words = {words[1], words[2]}, .shape = bits,
                   .bits = sc_type_info[bits->type].bits, .split = split_dimension(bits)};
    if (is_philox && n_words == 2) { /* in a state of two words the key is the high word of the counter as well */
        g.words[0] = words[1];
        g.words[1] = words[0];
    }
    char *lanes = ev_lanes(e, (size_t)t->set->n * ev_lane_bytes(e->mode, s->type));
    ScType held = e->mode == EV_BOUNDS ? s->type : ev_lane_type(e->mode, s->type);
    for (int64_t k = 0; k < t->set->n; k++) {
        uint64_t made = element(&g, is_philox, t->ref.leaf == 0, s, ev_position(t->set, k));
        if (e->mode == EV_BOUNDS) ((EvBound *)(void *)lanes)[k] = ev_bound_exact(s->type, made);
        else ev_set(held, lanes, k, held == s->type ? made : sc_from_f64(held, sc_to_f64(s->type, made)));
    }
    return lanes;
}

/* Rounds |x| up where the random bits are below the fraction of |x|, else down (XLA's HloEvaluator). */
static uint64_t stochastic(ScType to, ScType random, double x, uint64_t bits)
{
    double below = floor(fabs(x)), fraction = fabs(x) - below, threshold = ldexp(fraction, sc_type_info[random].bits);
    if (isnan(x) || isinf(x)) return sc_from_f64(to, x);
    return sc_from_f64(to, copysign(below + ((double)bits < floor(threshold) ? 1 : 0), x));
}

void *ev_stochastic_convert(Ev *e, EvTask *t)
{
    const HloInstruction *i = t->ref.i;
    ScType to = i->shape->type, from = i->operands[0]->shape->type, random = i->operands[1]->shape->type,
           held = ev_lane_type(e->mode, from);
    if (!sc_is_int(to) || !sc_is_float(from))
        wbb_decline(e->cx, i->loc, WHY_TYPE, "the evaluator has stochastic-convert from floats to integers only");
    const void *x = ev_need(e, ev_operand(e, t, 0), t->set), *r = ev_need(e, ev_operand(e, t, 1), t->set);
    if (!x || !r) return NULL;
    char *lanes = ev_lanes(e, (size_t)t->set->n * ev_lane_bytes(e->mode, to));
    for (int64_t k = 0; k < t->set->n; k++) {
        if (e->mode != EV_BOUNDS) {
            ev_set(to, lanes, k, stochastic(to, random, sc_to_f64(held, ev_get(held, x, k)), ev_get(random, r, k)));
            continue;
        }
        EvBound *b = (EvBound *)(void *)lanes + k;
        uint64_t own, bits;
        if (ev_bound_single(from, (const EvBound *)x + k, &own) &&
            ev_bound_single(random, (const EvBound *)r + k, &bits))
            *b = ev_bound_exact(to, stochastic(to, random, sc_to_f64(from, own), bits));
        else *b = ev_bound_any(to);
    }
    return lanes;
}
