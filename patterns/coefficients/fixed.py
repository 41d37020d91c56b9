"""The coefficients of patterns/fixed.py: `python3 fixed.py > fixed.txt`, which needs the package mpmath.

`sin` and `cos` of r, |r| <= pi/4, t = r^2: a polynomial g such that t g(t) is nearest to 1 - sin(r) / r or 1 - cos r, by the algorithm of Remez. `exp2`: f g(f)
near 1 - 2^-f. `erf`: g(t) near erf(x) / 2x, t = x^2/8, as a share of it; `erfc`: g(u) near e^(x^2) erfc(x), x = 1 + 8 u up to 6, times e^(-x^2). `tan` is a
quotient. After the name stands the largest error as a power of 2; a line is the magnitude of a coefficient times the power of two that a list has."""
from mpmath import cos, erf, erfc, exp, log, lu_solve, matrix, mp, mpf, pi, sin, sqrt, tan

mp.dps = 50
END = pi**2 / 16 * (1 + mpf(2)**-40)
TINY = mpf(10)**-30


def remez(f, weight, degree, end):
    """The coefficients of g and the largest weight(t) |g(t) - f(t)| on 0 .. end."""
    n = degree + 2
    at = [end / 2 * (1 - cos(pi * k / (n - 1))) for k in range(n)]
    at[0], at[-1] = at[0] + end * mpf(10)**-9, at[-1] - end * mpf(10)**-9
    grid = [end * (1 - cos(pi * k / 500)) / 2 for k in range(501)]
    values, weights, best = list(map(f, grid)), list(map(weight, grid)), None
    for _ in range(20):
        a, b = matrix(n, n), matrix(n, 1)
        for i, t in enumerate(at):
            for j in range(degree + 1):
                a[i, j] = t**j
            a[i, degree + 1], b[i] = (-1)**i / weight(t), f(t)
        c = list(lu_solve(a, b))[:degree + 1]
        errors = [w * (mp.polyval(c[::-1], t) - v) for t, v, w in zip(grid, values, weights)]
        most, extremes = max(map(abs, errors)), []
        best = (c, most) if best is None or most < best[1] else best
        for t, e in zip(grid, errors):
            if not extremes or (e > 0) != (extremes[-1][1] > 0):
                extremes.append((t, e))
            elif abs(e) > abs(extremes[-1][1]):
                extremes[-1] = (t, e)
        if len(extremes) < n:
            break
        while len(extremes) > n:
            extremes.pop(0 if abs(extremes[0][1]) < abs(extremes[-1][1]) else -1)
        at = [t for t, _ in extremes]
    return best


def balanced(f, end):
    """c of the quotient of 1 - c0 t + c1 t^2 - c2 t^3 by 1 - c3 t + .. + c6 t^4 that is f at seven points, so far apart that the largest errors between
    them are alike, and the largest share of f by which it is off."""
    n = 7
    at = [end * (1 - cos(pi * (2 * k + 1) / (2 * n))) / 2 for k in range(n)]
    grid = [end * (1 - cos(pi * k / 600)) / 2 for k in range(1, 601)]
    for _ in range(30):
        a, b = matrix(n, n), matrix(n, 1)
        for i, t in enumerate(at):
            for j, x in enumerate((-t, t**2, -t**3, f(t) * t, -f(t) * t**2, f(t) * t**3, -f(t) * t**4)):
                a[i, j] = x
            b[i] = f(t) - 1
        c = list(lu_solve(a, b))
        off = [abs((1 - t * (c[0] - t * (c[1] - t * c[2]))) / (1 - t * (c[3] - t * (c[4] - t * (c[5] - t * c[6])))) / f(t) - 1) for t in grid]
        ends = [mpf(0), *at, end]
        most = [max([e for t, e in zip(grid, off) if low <= t <= high], default=mpf(0)) or max(off) for low, high in zip(ends, ends[1:])]
        gaps = [(high - low) * (m / max(most))**mpf("-0.15") for low, high, m in zip(ends, ends[1:], most)]
        at = [end * sum(gaps[:k + 1]) / sum(gaps) for k in range(n)]
    return c, max(off)


def of_tangent(t):
    return tan(sqrt(t)) / sqrt(t)


def near_zero(f, limit):
    """f, but its limit at 0."""
    return lambda t: f(t) if t > TINY else limit


def half_erf(t):
    return erf(sqrt(8 * t)) / sqrt(8 * t) / 2


def scaled_erfc(u):
    return exp((1 + 8 * u)**2) * erfc(1 + 8 * u)


def show(name, found, digits):
    print(name, f"2^{float(log(found[1], 2)):.2f}")
    for x, n in zip(found[0], digits):
        print("   ", int(mp.nint(abs(x) * mpf(2)**n)))


ratio = near_zero(lambda t: (1 - sin(sqrt(t)) / sqrt(t)) / t, mpf(1) / 6)
show("sin", remez(ratio, lambda t: t + TINY, 6, END), [64] * 4 + [53] * 3)
show("cos", remez(near_zero(lambda t: (1 - cos(sqrt(t))) / t, mpf(1) / 2), lambda t: t + TINY, 6, END), [64] * 4 + [53] * 3)
show("tan", balanced(of_tangent, END), [64] * 6 + [52])
half = near_zero(half_erf, 1 / sqrt(pi))
show("erf", remez(half, lambda t: 1 / half(t), 11, mpf(1) / 8), (64, 62, 58, 58, 54, 54, 49, 49, 49, 40, 40, 40))
show("erfc", remez(scaled_erfc, lambda u: exp(-(1 + 8 * u)**2), 20, mpf(5) / 8), [64, 62, 58, 58, 54, 54, 49, 49, 49] + [40] * 9 + [8] * 3)
power = remez(near_zero(lambda f: (1 - mpf(2)**-f) / f, log(2)), lambda f: f + mpf(10)**-12, 10, mpf(1))
show("exp2", power, [64] * 8 + [53] * 3)
show("exp", power, [64] * 11)
