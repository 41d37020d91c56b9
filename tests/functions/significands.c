/* significands: quick ways to quotients and roots of f32, at every significand and every estimate that PTX allows.
 *
 *     significands WAY [STEP]        every STEP-th divisor of quotients, and those at the ends; of others all
 *
 * Needs WAYS_FILE, which tests/functions/significands.py makes from patterns: of each way the right result, whether it
 * is a quotient, a reciprocal or a root, a C function of a, b and the estimate of 1 / b or 1 / sqrt(a), which says
 * whether the operands are odd, and else the result; and what it is an estimate of. Stops at the first wrong result, or
 * operands that are odd and should not be.
 *
 *     0x1.8p+0 / 0x1.000002p+0, estimate 0x1p+0: is 0x1.7ffffcp+0, not 0x1.7ffffep+0
 */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline float f32_of(uint32_t u) { float f; memcpy(&f, &u, 4); return f; }
static inline uint32_t u32_of(float f) { uint32_t u; memcpy(&u, &f, 4); return u; }
/* Keeps nan. */
static inline float least(float x, float y) { return x != x ? x : y != y ? y : x < y ? x : y; }

typedef enum { QUOTIENT, RECIPROCAL, ROOT } Kind;
typedef bool Quick(float a, float b, float r, float *q);
typedef float Estimated(float a, float b);
typedef struct {
    Kind kind;
    bool zeros; /* of any sign take the quick way, too */
    Quick *quick;
    Estimated *estimated;
} Way;
#include WAYS_FILE

static Way way;
static uint64_t tried;

static float right(float a, float b) { return way.kind == ROOT ? sqrtf(a) : a / b; }

/* odd: the operands may be. */
static void one(float a, float b, float r, bool odd)
{
    float got = 0;
    const float want = right(a, b);
    tried++;
    const bool is_odd = way.quick(a, b, r, &got);
    if (is_odd ? odd : u32_of(got) == u32_of(want) || (got != got && want != want)) return;
    printf("wrong: %s %a / %a, estimate %a: %s %a, not %a\n", way.kind == ROOT ? "root of" : "quotient", (double)a,
           (double)b, (double)r, is_odd ? "odd, and" : "is", (double)got, (double)want);
    exit(1);
}

/* How far the PTX manual lets an estimate be off: rcp 2^-23, rsqrt 2^-22.9. */
static double share(void) { return way.kind == ROOT ? 0x1.12p-23 : 0x1p-23; }

/* The estimates of v that are off by at most that: the smallest of them. */
static float first_estimate(double v)
{
    const float r = (float)(v * (1 - share()));
    return (double)r < v * (1 - share()) ? nextafterf(r, INFINITY) : r;
}

/* --- dividends whose quotient by B is next to a tie --------------------------------------------------------------- */
/* 1 / x modulo m, an odd number. */
static uint64_t inverse(uint64_t x, uint64_t m)
{
    int64_t t = 0, next = 1, r = (int64_t)m, s = (int64_t)(x % m);
    while (s) {
        const int64_t q = r / s, u = t - q * next, v = r - q * s;
        t = next, next = u, r = s, s = v;
    }
    return (uint64_t)(t < 0 ? t + (int64_t)m : t);
}

/* The A of 24 bits for which A 2^(24 or 25) is d more than an odd multiple of B, a tie of quotients: |d| <= 8. */
static int near_ties(uint32_t B, float *out, int most)
{
    const int zeros = __builtin_ctz(B);
    int n = 0;
    if (zeros > 3) return 0;
    const uint64_t odd = B >> zeros;
    for (int wide = 0; wide < 2; wide++) {
        const uint64_t back = odd > 1 ? inverse((UINT64_C(1) << (24 + wide) >> zeros) % odd, odd) : 0;
        for (int64_t d = -8; d <= 8; d++) {
            if (!d || d % (1 << zeros)) continue;
            const int64_t left = d / (1 << zeros) % (int64_t)odd;
            uint64_t A = (uint64_t)(left < 0 ? left + (int64_t)odd : left) * back % odd;
            for (; A < 1u << 24; A += odd) {
                if (A < 1u << 23 || (A < B) != wide) continue;
                const int64_t multiple = (int64_t)(A << (24 + wide)) - d;
                if (multiple / B % 2 && n < most) out[n++] = (float)A * 0x1p-23f;
            }
        }
    }
    return n;
}

static void quotients(uint32_t B)
{
    enum { MOST = 600 };
    float as[MOST] = {1, 0x1.fffffep0f, 0x1.000002p0f, (float)B * 0x1p-23f};
    const int n = 4 + near_ties(B, as + 4, MOST - 4);
    const float b = (float)B * 0x1p-23f;
    for (float r = first_estimate(1.0 / b); (double)r <= 1.0 / b * (1 + share()); r = nextafterf(r, 2))
        for (int i = 0; i < n; i++) one(as[i], b, r, false);
}

static void significands(uint32_t step)
{
    enum { ENDS = 256 };
    if (way.kind == QUOTIENT) {
        for (uint32_t B = 1u << 23; B < 1u << 24; B++)
            if (B % step == 0 || B < (1u << 23) + ENDS || B >= (1u << 24) - ENDS) quotients(B);
        return;
    }
    for (uint32_t u = 0x3f800000; u < 0x40800000; u++) {
        const float x = f32_of(u);
        const double v = way.kind == ROOT ? 1 / sqrt((double)x) : 1.0 / x;
        for (float r = first_estimate(v); (double)r <= v * (1 + share()); r = nextafterf(r, 2))
            one(way.kind == ROOT ? x : 1, x, r, false);
    }
}

/* --- all exponents, zeros, infinities, nan ------------------------------------------------------------------------ */
static float flushed(float x) { return fabsf(x) < FLT_MIN ? copysignf(0, x) : x; }

/* What the machine makes of x, `off` places from the nearest: a subnormal x is zero, and so is a subnormal estimate. */
static float estimate(float x, int off)
{
    x = flushed(x);
    const float r = (float)(way.kind == ROOT ? 1 / sqrt((double)x) : 1 / (double)x);
    if (r == 0 || isinf(r) || r != r) return r;
    const float other = f32_of(u32_of(r) + (uint32_t)off);
    const double v = way.kind == ROOT ? 1 / sqrt((double)x) : 1 / (double)x;
    return flushed(fabs((double)other - v) <= fabs(v) * share() ? other : r);
}

/* Whether an operand may take the long way: infinite, nan, or far from 1; -0 unless `zeros`, 0 unless it is divided. */
static bool may_be_odd(float x, bool zeros)
{
    return x == 0 ? !zeros && (way.kind != QUOTIENT || signbit(x)) : !(fabsf(x) >= 0x1p-45f && fabsf(x) <= 0x1p45f);
}

static void values(void)
{
    enum { MOST = 4000 };
    static float of[MOST];
    int n = 0;
    const uint32_t parts[] = {0, 1, 0x2aaaab, 0x400000, 0x7fffff};
    for (uint32_t exponent = 0; exponent < 256; exponent += exponent < 30 || exponent > 225 ? 1 : 5)
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
            for (uint32_t sign = 0; sign < 2; sign++) of[n++] = f32_of(sign << 31 | exponent << 23 | parts[i]);
    for (int i = 0; i < n; i++)
        for (int off = -1; off <= 1; off++) {
            const float x = of[i], r = estimate(way.estimated(x, x), off);
            if (way.kind == RECIPROCAL) one(1, x, r, may_be_odd(x, false));
            if (way.kind == ROOT) one(x, x, r, may_be_odd(x, way.zeros) || x < 0);
            for (int k = 0; way.kind == QUOTIENT && k < n; k++)
                one(of[k], x, r, x == 0 || may_be_odd(x, false) || may_be_odd(of[k], way.zeros));
        }
}

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    way = ways[atoi(argv[1])];
    values();
    significands(argc > 2 ? (uint32_t)atoi(argv[2]) : 1);
    printf("%llu tried\n", (unsigned long long)tried);
    return 0;
}
