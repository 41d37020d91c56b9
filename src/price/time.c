/* time: how the terms of a kernel add up.
 *
 * Needs: terms, which closed form and profile count each in its own way. Leaves: a time in their unit.
 *
 *     dram 7.0, issue 2.0, fill 1.9; blocks 1.2; launch 1.1, latency 0.3, code 0.5, tail 0.1
 *       =>  (7.0^3 + 2.0^3 + 1.9^3) ^ 1/3 = 7.1, which is more than 1.2; in all 9.1
 */
#include "price/time.h"

#include <assert.h>
#include <math.h>

double price_power(double x, int norm)
{
    assert(norm >= PRICE_LEAST_NORM && norm <= PRICE_MOST_NORM);
    const double square = x * x;
    return norm == 2 ? square : norm == 3 ? square * x : square * square;
}

/* The cube root of a number from 1 on, by Halley's iteration from the fourth root of its fourth power's root: three
 * steps are enough as far as a sum of some 20 terms, of which the largest is 1, can be. */
static double cube_root(double x)
{
    double y = sqrt(sqrt(x));
    for (int k = 0; k < 3; k++) {
        const double cube = y * y * y;
        y *= (cube + 2 * x) / (2 * cube + x);
    }
    return y;
}

double price_together(const double *terms, size_t n, int norm)
{
    double most = 0, sum = 0;
    for (size_t k = 0; k < n; k++) most = WBB_MAX(most, terms[k]);
    if (most <= 0) return 0;
    for (size_t k = 0; k < n; k++) sum += price_power(terms[k] / most, norm);
    return most * (norm == 2 ? sqrt(sum) : norm == 3 ? cube_root(sum) : sqrt(sqrt(sum)));
}

double price_tail(double busiest, double each, double chain)
{
    return each > 1 ? WBB_MIN(busiest * (ceil(each) / each - 1), chain) : 0;
}

PriceParts price_parts(const TgTarget *t)
{
    return (PriceParts){.times = (double)tg_tuned(t, "parts.times") / 100,
                        .bytes = (double)tg_tuned(t, "parts.bytes"),
                        .more = (double)tg_tuned(t, "layout.parts") / 100};
}

double price_l2_kept(const TgTarget *t)
{
    return tg_rate(t, "l2.bytes")->value * (double)tg_tuned(t, "price.l2") / 100;
}

double price_time(const PriceTime *t)
{
    return price_work(t) + t->launch + t->latency + t->code + t->split + t->tail + t->clusters;
}
