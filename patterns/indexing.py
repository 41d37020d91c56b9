"""Index simplification: exact for all integers, with positive divisors; for every target and every pass.

Comparisons with a constant become `n < k` or `k < n`, with no constant and no common factor in a sum n. A rule that makes larger numbers
than it matched requires that they stay far below 64 bits.
"""
from gen.lang import *

HUGE = 2**62
LARGE = 2**40


def small(*values):
    """The condition that values and constants are so small that a product of two is far below 64 bits."""
    out = within(values[0], -LARGE, LARGE)
    for v in values[1:]:
        out = out & within(v, -LARGE, LARGE)
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
    rewrite(le.index(n, k),          lt.index(n, k + 1)),
    rewrite(le.index(k, n),          lt.index(k - 1, n)),
    rewrite(le.index(n, i),          True,                      when=apart(n, i, 0)),
    rewrite(le.index(n, i),          False,                     when=apart(i, n, 1)),
    rewrite(eq.index(n, i),          True,                      when=apart(n, i, 0) & apart(i, n, 0)),
    rewrite(eq.index(n, i),          False,                     when=apart(n, i, 1)),
    rewrite(ne.index(n, i),          False,                     when=apart(n, i, 0) & apart(i, n, 0)),
    rewrite(ne.index(n, i),          True,                      when=apart(n, i, 1)),
    rewrite(lt.index(n + k, m),      lt.index(n, m - k)),
    rewrite(lt.index(m, n + k),      lt.index(m - k, n)),
    rewrite(eq.index(n + k, m),      eq.index(n, m - k)),
    rewrite(ne.index(n + k, m),      ne.index(n, m - k)),
    rewrite(lt.index(0 - n, k),      lt.index(0 - k, n)),
    rewrite(lt.index(k, 0 - n),      lt.index(n, 0 - k)),
    rewrite(eq.index(0 - n, k),      eq.index(n, 0 - k)),
    rewrite(ne.index(0 - n, k),      ne.index(n, 0 - k)),
    rewrite(lt.index(i*k + rest, m), lt.index(i, m//k),         when=within(rest, m % k, k)),           # m = k*(m//k) + m%k
    rewrite(lt.index(i*k + rest, m), lt.index(i, m//k + 1),     when=within(rest, 0, m % k)),
    rewrite(lt.index(m, i*k + rest), lt.index(m//k, i),         when=within(rest, 0, m % k + 1)),
    rewrite(lt.index(m, i*k + rest), lt.index(m//k - 1, i),     when=within(rest, m % k + 1, k)),
    rewrite(eq.index(i*k + rest, m), eq.index(i, m//k),         when=within(rest, m % k, m % k + 1)),
    rewrite(ne.index(i*k + rest, m), ne.index(i, m//k),         when=within(rest, m % k, m % k + 1)),
    rewrite(lt.index(n // k, m),     lt.index(n, k*m)),
    rewrite(lt.index(m, n // k),     lt.index(k*m + (k - 1), n)),
]
ALL = TRIVIAL + DIVMOD + JOIN + BOUNDS + COMPARE
