"""Index simplification: exact for all integers, with positive divisors. Target-free; holds in every pass."""
from gen.lang import *

HUGE = 2**62

TRIVIAL = [
    rewrite(n // 1, n),
    rewrite(n % 1, 0),
]
DIVMOD = [
    rewrite((i*k + rest) // k,       i + rest // k),                       # k is bound outside the sum: split it
    rewrite((i*k + rest) % k,        rest % k),
    rewrite(n // k,                  0,                         when=within(n, 0, k)),
    rewrite(n // k,                  -1,                        when=within(n, -k, 0)),
    rewrite(n % k,                   n,                         when=within(n, 0, k)),
    rewrite((i*k + rest) // m,       i // (m//k),               when=(m % k == 0) & within(rest, 0, k)),   # k is free: pick a term
    rewrite((i*k + rest) % m,        (i % (m//k))*k + rest,     when=(m % k == 0) & within(rest, 0, k)),
    rewrite((n // k) // m,           n // (k*m)),
    rewrite((n % k) // m,            (n // m) % (k//m),         when=k % m == 0),
    rewrite((n % k) % m,             n % m,                     when=k % m == 0),
]
JOIN = [
    rewrite((n % k)*m + (n // k)*(k*m) + rest,                  n*m + rest),
    rewrite((n // p % q)*m + (n // (p*q))*(q*m) + rest,         (n // p)*m + rest),
    rewrite((n % p)*m + (n // p % q)*(p*m) + rest,              (n % (p*q))*m + rest),
]
BOUNDS = [
    rewrite(min.index(n, k),         n,                         when=within(n, -HUGE, k)),
    rewrite(min.index(n, k),         k,                         when=within(n, k, HUGE)),
    rewrite(max.index(n, k),         n,                         when=within(n, k, HUGE)),
    rewrite(max.index(n, k),         k,                         when=within(n, -HUGE, k)),
    rewrite(lt.index(n, k),          True,                      when=within(n, -HUGE, k)),
    rewrite(lt.index(n, k),          False,                     when=within(n, k, HUGE)),
]
ALL = TRIVIAL + DIVMOD + JOIN + BOUNDS
