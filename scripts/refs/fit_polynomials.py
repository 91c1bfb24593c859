#!/usr/bin/env python3
"""Minimax polynomials of src/backends/cpu/kernels/vmath.inl, by Remez exchange in 60-digit decimals.

Prints C arrays, lowest power first, with the largest weighted error of the exact polynomial. The functions come from
their Taylor series or continued fractions, so nothing but the Python standard library is needed.
"""
from decimal import Decimal as D, getcontext

getcontext().prec = 60
PI = D("3.14159265358979323846264338327950288419716939937510582097494459")


def series(term, x):
    s, k = D(0), 0
    while True:
        t = term(k, x)
        s += t
        if k > 4 and abs(t) < D("1e-50"):
            return s
        k += 1


FACT = [D(1)]
for _i in range(1, 400):
    FACT.append(FACT[-1] * _i)


def exp_tail(r):  # (e^r - 1 - r) / r^2
    return series(lambda k, x: x**k / FACT[k + 2], r)


def log_tail(f):  # (log(1+f) - f + f^2/2) / f^3
    if abs(f) < D("1e-9"):
        return D(1) / 3 - f / 4
    return ((1 + f).ln() - f + f * f / 2) / (f * f * f)


def tanh_of(x):
    e = (2 * x).exp()
    return (e - 1) / (e + 1)


def tanh_tail(u):  # (tanh x - x) / x^3 at x = sqrt(u)
    if u < D("1e-12"):
        return -D(1) / 3
    x = u.sqrt()
    return (tanh_of(x) - x) / (x * u)


def erf_of(x):
    return 2 / PI.sqrt() * series(lambda k, y: (-1) ** k * y ** (2 * k + 1) / (FACT[k] * (2 * k + 1)), x)


def erf_ratio(u):  # erf(x) / x - 1 at x = sqrt(u)
    if u < D("1e-30"):
        return 2 / PI.sqrt() - 1
    x = u.sqrt()
    return erf_of(x) / x - 1


def erfcx(z):  # e^(z^2) erfc z
    if z < D("2.5"):
        return (z * z).exp() * (1 - erf_of(z))
    c = z  # continued fraction z + (1/2)/(z + 1/(z + (3/2)/(z + ...)))
    for k in range(400, 0, -1):
        c = z + D(k) / 2 / c
    return 1 / (PI.sqrt() * c)


ERFC_K = D("3.75")


def erfc_scaled(t):  # (1 + 2z) erfcx(z) at z = K (1 + t) / (1 - t)
    z = ERFC_K * (1 + t) / (1 - t)
    return (1 + 2 * z) * erfcx(z)


def solve(a, b):
    n = len(b)
    a = [row[:] + [b[i]] for i, row in enumerate(a)]
    for c in range(n):
        p = max(range(c, n), key=lambda r: abs(a[r][c]))
        a[c], a[p] = a[p], a[c]
        for r in range(c + 1, n):
            m = a[r][c] / a[c][c]
            for k in range(c, n + 1):
                a[r][k] -= m * a[c][k]
    x = [D(0)] * n
    for r in range(n - 1, -1, -1):
        x[r] = (a[r][n] - sum(a[r][k] * x[k] for k in range(r + 1, n))) / a[r][r]
    return x


def remez(f, w, lo, hi, deg):
    """Polynomial of degree deg that minimises max |w (f - p)| over [lo, hi]."""
    n, grid_n = deg + 2, 60 * (deg + 2)
    import math
    node = lambda i, m: (lo + hi) / 2 - (hi - lo) / 2 * D(repr(math.cos(math.pi * i / m)))
    grid = [node(i, grid_n) or D("1e-40") for i in range(grid_n + 1)]
    fg, wg = [f(x) for x in grid], [w(x) for x in grid]
    idx = [round(i * grid_n / (n - 1)) for i in range(n)]
    for _ in range(30):
        rows = [[wg[i] * grid[i] ** k for k in range(deg + 1)] + [D((-1) ** j)] for j, i in enumerate(idx)]
        sol = solve(rows, [wg[i] * fg[i] for i in idx])
        c, level = sol[:-1], abs(sol[-1])
        err = [wg[i] * (fg[i] - sum(c[k] * grid[i] ** k for k in range(deg + 1))) for i in range(grid_n + 1)]
        # one extremum per run of equal sign
        runs, best = [], None
        for i, e in enumerate(err):
            if best is None or (e > 0) != (err[best] > 0):
                if best is not None:
                    runs.append(best)
                best = i
            elif abs(e) > abs(err[best]):
                best = i
        runs.append(best)
        while len(runs) > n:  # drop the weaker end
            runs.pop(0 if abs(err[runs[0]]) < abs(err[runs[-1]]) else -1)
        if len(runs) < n:
            break
        idx = runs
        if max(abs(e) for e in err) < level * D("1.001"):
            break
    return c, max(abs(e) for e in err)


def show(name, f, w, lo, hi, deg):
    c, e = remez(f, w, D(repr(lo)), D(repr(hi)), deg)
    print(f"/* largest weighted error {float(e):.2g} */")
    print(f"static const float {name}[{deg + 1}] = {{" + ", ".join(f"{float(x):.9g}f" for x in c) + "};")


show("EXP_C", exp_tail, lambda r: r * r / r.exp(), -0.3470, 0.3470, 4)
show("LOG_C", log_tail, lambda f: f * f * f / (1 + f).ln() if abs(f) > D("1e-9") else f * f, -0.2930, 0.4143, 8)
show("TANH_C", tanh_tail, lambda u: u * u.sqrt() / tanh_of(u.sqrt()) if u > D("1e-12") else u, 0.0, 0.4225, 5)
show("ERF_C", erf_ratio, lambda u: 1 / (1 + erf_ratio(u)), 0.0, 1.0, 7)
show("ERFC_C", erfc_scaled, lambda t: 1 / erfc_scaled(t), -1.0, 0.4654, 10)
