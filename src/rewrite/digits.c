/* digits.c: numbers whose digits are known.
 *
 * Needs digits that were made of a number, each one's size but that of the highest, which has no limit; leaves the
 * number where the same digits are put together again. Rules cannot join digits that were simplified one by one:
 *
 *     t in 0..8, n = 84*a + t   =>   n // 7 is 12*a + t // 7, and n % 7 is t % 7
 *     7 * (n // 7) + n % 7      =>   n, as the digits n % 7 of size 7 and n // 7 are known
 */
#include "rewrite/inner.h"

#include <string.h>

enum { MOST = 16 };
typedef struct {
    int64_t size; /* 0: of the highest digit */
    int64_t ref;
} Digit;

static size_t digits_of(const IrRef *digits, const int64_t *sizes, uint32_t n, Digit *to)
{
    memset(to, 0, n * sizeof *to);
    for (uint32_t k = 0; k < n; k++) to[k] = (Digit){k + 1 < n ? sizes[k] : 0, digits[k]};
    return n * sizeof *to;
}

void rw_know_digits(RwCx *rw, const IrRef *digits, const int64_t *sizes, uint32_t n, IrRef number)
{
    Digit d[MOST];
    if (n < 2 || n > MOST) return;
    const size_t bytes = digits_of(digits, sizes, n, d);
    wbb_map_put_bytes(&rw->digits, d, bytes)->value = number;
}

uint32_t rw_known_digits(const RwCx *rw, const IrRef *digits, const int64_t *sizes, uint32_t n, IrRef *number)
{
    Digit d[MOST];
    if (!rw->digits.n) return 0;
    for (uint32_t k = WBB_MIN(n, (uint32_t)MOST); k > 1; k--) {
        const size_t bytes = digits_of(digits, sizes, k, d);
        const WbbEntry *e = wbb_map_get_bytes(&rw->digits, d, bytes);
        if (!e) continue;
        *number = (IrRef)e->value;
        return k;
    }
    return 0;
}
