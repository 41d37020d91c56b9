"""Index simplification: exact for all integers, with positive divisors; for every target and every pass.

Comparisons become `n < 0`, `n == 0` or `n != 0`, with no common factor in a sum n; src/vector/balance.c makes two sides of n again. A rule
that divides or compares larger numbers than it matched requires that they have 64 bits, which its proof shows. Sums elsewhere may wrap.
"""
from gen.lang import *

HUGE = 2**62
LARGE = 2**40


def small(*values, limit=LARGE):
    """The condition that values are so small that a product of one and a constant, or with HUGE the difference of two, has 64 bits."""
    out = within(values[0], -limit, limit)
    for v in values[1:]:
        out = out & within(v, -limit, limit)
    return out


TRIVIAL = [
    rewrite(n // 1, n),
    rewrite(n % 1, 0),
]
DIVMOD = [
    rewrite((i*k + rest) // k,       i + rest // k),                       # the divisor binds k: split the sum by it
    rewrite((i*k + rest) % k,        rest % k),
    rewrite(n // k,                  0,                         when=within(n, 0, k)),
    rewrite(n // k,                  q,                         when=period(n, k, q)),
    rewrite(n % k,                   n,                         when=within(n, 0, k)),
    rewrite(n % k,                   n - q*k,                   when=period(n, k, q)),
    rewrite((i*k + rest) // m,       i // (m//k),               when=(m % k == 0) & within(rest, 0, k)),   # k: the common divisor of the larger terms
    rewrite((i*k + rest) % m,        (i % (m//k))*k + rest,     when=(m % k == 0) & within(rest, 0, k)),
    rewrite((n // k) // m,           n // (k*m)),
    rewrite((n % k) // m,            (n // m) % (k//m),         when=k % m == 0),
    rewrite((n % k) % m,             n % m,                     when=k % m == 0),
    rewrite((n // k + rest) // m,    (n + rest*k) // (k*m),     when=small(n, rest) & (k < 2**21) & (m < 2**21)),
]
JOIN = [
    rewrite((n % k)*m + (n // k)*(k*m) + rest,                  n*m + rest),
    rewrite((n // p % q)*m + (n // (p*q))*(q*m) + rest,         (n // p)*m + rest),
    rewrite((n % p)*m + (n // p % q)*(p*m) + rest,              (n % (p*q))*m + rest),
    rewrite((n // k)*p + n*((0 - p)//k) + rest,                 (n % k)*((0 - p)//k) + rest,     when=p % k == 0),
    rewrite((n % k)*p + n*(0 - p) + rest,                       (n // k)*((0 - p)*k) + rest),
]
BOUNDS = [
    rewrite(min.index(n, i),         n,                         when=apart(n, i, 0)),
    rewrite(max.index(n, i),         n,                         when=apart(i, n, 0)),
    rewrite(min.index(min.index(n, k), m), min.index(n, m),     when=m < k),
    rewrite(max.index(max.index(n, k), m), max.index(n, m),     when=m > k),
]
COMPARE = [
    rewrite(lt.index(n, i),          True,                      when=apart(n, i, 1)),
    rewrite(lt.index(n, i),          False,                     when=apart(i, n, 0)),
    rewrite(gt.index(n, i),          lt.index(i, n)),
    rewrite(ge.index(n, i),          le.index(i, n)),
    rewrite(le.index(n, i),          lt.index(n, i + 1),        when=small(i, limit=HUGE)),
    rewrite(eq.index(n, i),          True,                      when=apart(n, i, 0) & apart(i, n, 0)),
    rewrite(eq.index(n, i),          False,                     when=apart(n, i, 1)),
    rewrite(ne.index(n, i),          False,                     when=apart(n, i, 0) & apart(i, n, 0)),
    rewrite(ne.index(n, i),          True,                      when=apart(n, i, 1)),
    rewrite(lt.index(n, i),          lt.index(n - i, 0),        when=~within(i, 0, 1) & small(n, i, limit=HUGE)),
    rewrite(eq.index(n, i),          eq.index(n - i, 0),        when=~within(n, 0, 1) & ~within(i, 0, 1) & small(n, i, limit=HUGE)),
    rewrite(ne.index(n, i),          ne.index(n - i, 0),        when=~within(n, 0, 1) & ~within(i, 0, 1) & small(n, i, limit=HUGE)),
    rewrite(lt.index(i*k + rest, 0), lt.index(i, 0),            when=within(rest, 0, k)),
    rewrite(eq.index(i*k + rest, 0), eq.index(i, 0),            when=within(rest, 0, 1) & (k > 0)),
    rewrite(ne.index(i*k + rest, 0), ne.index(i, 0),            when=within(rest, 0, 1) & (k > 0)),
    rewrite(lt.index(n // k, 0),     lt.index(n, 0)),
    rewrite(lt.index(n // k + rest, 0), lt.index(n + rest*k, 0),           when=within(n, -HUGE, HUGE + 1) & small(rest) & (k < 2**21)),
    rewrite(lt.index(rest - n // k, 0), lt.index(rest*k + (k - 1) - n, 0), when=within(n, -HUGE, HUGE + 1) & small(rest) & (k < 2**21)),
]
ALL = TRIVIAL + DIVMOD + JOIN + BOUNDS + COMPARE
