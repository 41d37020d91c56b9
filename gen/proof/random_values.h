/* random_values.h: random values of a variable: listed values, their neighbours, ties of rounding, ordinary magnitudes,
 * any bits. Part of driver.c, whose var, type_of, get, put and random64 it needs. */
/* An integer at or next to a tie of rounding to a float of 8, 11, 24 or 53 significant bits. */
static Int near_tie(uint64_t u, int bits)
{
    static const int significant[] = {8, 11, 24, 53};
    const int s = significant[u & 3], side = (int)(u >> 2 & 3) - 1, shift = (int)(u >> 4 & 63);
    if (s + 1 >= bits) return (Int)u;
    /* s bits, mostly followed by a half */
    const uint64_t kept = (random64() >> (63 - s)) | UINT64_C(1) << s | (u >> 11 & 1);
    const Int value = ((Int)kept << (shift % (bits - s))) +
                      side * (Int)(u >> 12 & 1 ? 1 : 1 + (int64_t)(u >> 13 & 4095));
    return u >> 10 & 1 ? -value : value;
}

/* The fraction of a float at or next to a tie of rounding to fewer bits; the bits beyond those of f32 may be tiny. */
static uint64_t near_float_tie(uint64_t u, int fraction)
{
    static const int kept[] = {2, 3, 7, 10, 23};
    int k = kept[u % 5];
    if (k >= fraction) k = 2;
    uint64_t bits = random64() >> (63 - k) << (fraction - k - 1); /* k bits and the one after them */
    if (fraction > 23) bits += (uint64_t)((int64_t)(u >> 3 & 7) - 4) << (fraction - 23);
    const uint64_t tiny = u >> 6 & 1 ? 1 : u >> 7 & 4095;
    return bits + (u >> 19 & 1 ? tiny : u >> 20 & 1 ? -tiny : 0);
}

static int fraction_of(int t) { return t == SC_F16 ? 10 : t == SC_BF16 ? 7 : t == SC_F32 ? 23 : 52; }

/* The bits of n 2^x units, where a unit is the smallest subnormal number; n is below 2^(fraction + 1). */
static uint64_t float_of_units(uint64_t n, int x, int fraction)
{
    int top = 0;
    while (n >> (top + 1)) top++;
    if (top + x <= fraction) return n << x;
    return (uint64_t)(top + x - fraction + 1) << fraction | (n << (fraction - top) & ((UINT64_C(1) << fraction) - 1));
}

/* Random bits of a number (splitmix64): what is drawn from others leaves the sequence of random64 as it is. */
static uint64_t mixed(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* Variables v - 1 and v, of one type, get values whose quotient or product is half an odd number of units: where
 * results are subnormal, a division has ties, which a reciprocal that is rounded first misses. */
static void put_subnormal_tie(int v, int i, uint64_t seed)
{
    const int fraction = fraction_of(type_of[v]);
    const uint64_t u = mixed(seed + 1), sign = UINT64_C(1) << (bits_of(type_of[v]) - 1);
    const int bits = 2 + (int)(u & 63) % (fraction / 2);
    const int one = (1 << (bits_of(type_of[v]) - 2 - fraction)) - 2 + fraction; /* 1 is 2^one units */
    const uint64_t m = mixed(seed + 2) >> (64 - bits) | 1, odd = mixed(seed + 3) >> (64 - (fraction + 1 - bits)) | 1;
    const int s = 1 + (int)(u >> 6 & 15) % fraction, swapped = (int)(u >> 10 & 1);
    const bool quotient = u >> 11 & 1;
    const uint64_t x = float_of_units(quotient ? m * odd : odd, s - 1, fraction),
                   y = float_of_units(m, quotient ? one + s : one - s, fraction);
    put(v - swapped, i, (Int)(x | (u >> 12 & 1) * sign));
    put(v - 1 + swapped, i, (Int)(y | (u >> 13 & 1) * sign));
}

/* Random bits of a float: a listed value, one next to it, any bits, a tie, an ordinary magnitude, the magnitude of the
 * previous variable. */
static uint64_t random_float(int v, int i)
{
    const int t = type_of[v], w = bits_of(t), fraction = fraction_of(t);
    const uint64_t how = random64() & 15, u = random64(), one = ((UINT64_C(1) << (w - 2 - fraction)) - 1),
                   low = random64() & ((UINT64_C(1) << fraction) - 1);
    const bool before = v > 0 && type_of[v - 1] == t;
    const uint64_t listed = (uint64_t)var[v].values[u % (uint64_t)var[v].n], sign = (u >> 63) << (w - 1);
    const int64_t exponent = before ? (int64_t)((uint64_t)get(v - 1, i) >> fraction & (2 * one + 1)) : (int64_t)one;
    const int64_t near = WBB_MAX(0, WBB_MIN((int64_t)(2 * one), exponent + (int64_t)(u >> 8 & 31) - 15));
    if (how < 3) return listed;
    if (how < 4) return listed ^ (low >> (u >> 32) % (uint64_t)fraction);
    if (how < 6 && before) return (uint64_t)get(v - 1, i) + (u >> 8) % 5 - 2;
    if (how < 8) return u;
    if (how < 10) return sign | ((uint64_t)near << fraction) + near_float_tie(u >> 16, fraction);
    if (how < 13) return sign | (one + (u >> 8) % 15 - 7) << fraction | low;
    return sign | (uint64_t)near << fraction | low;
}

static void set_random(int v, int i)
{
    if (var[v].mode == SAMPLE && is_float(type_of[v]) && bits_of(type_of[v]) >= 16) {
        put(v, i, (Int)random_float(v, i));
        const bool before = v > 0 && type_of[v - 1] == type_of[v] && var[v - 1].mode == SAMPLE;
        const uint64_t seed = before ? mixed((uint64_t)get(v, i) * 3 + (uint64_t)get(v - 1, i)) : 1;
        if (seed % 16 == 0) put_subnormal_tie(v, i, seed);
        return;
    }
    const uint64_t how = random64() & 7, u = random64();
    if (var[v].mode != SAMPLE) set_nth(v, i, u % count_of(&var[v]));
    else if (how < 2) put(v, i, var[v].values[u % (uint64_t)var[v].n]);
    else if (type_of[v] == EXACT) put(v, i, (Int)((int64_t)u >> (how < 5 ? 56 : how < 7 ? 34 : 22)));
    else if (how < 4 && v > 0 && type_of[v] == type_of[v - 1]) put(v, i, get(v - 1, i) + (Int)(u % 5) - 2);
    else if (how == 6) put(v, i, near_tie(u, bits_of(type_of[v])));
    else put(v, i, (Int)(how == 4 ? (uint64_t)((int64_t)u >> (u & 63)) : u));
}
