#!/usr/bin/env python3
"""Fits the polynomials of native/kernels/vmath.h, vmath_wide.h and exp_below.h and prints their coefficients.

Each entry of FITS is a function, an interval, a degree, a weight, and the precision of the
coefficients. The fit is the weighted minimax polynomial (Lawson's iteration on Chebyshev nodes in 60
digits). Coefficients are rounded one by one from the lowest, and the rest refitted each time, so that
rounding costs next to nothing. The printed error is the maximum of |poly - f| * weight after rounding.

    tools/fit_polynomials.py [NAME ...]

TABLES are functions in pieces, a polynomial for each, printed as arrays of each coefficient.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from mpmath import mp, mpf

mp.dps = 60
Real = Callable[[mpf], mpf]


@dataclass(frozen=True)
class Fit:
    """Minimise |p(x) - f(x)| * weight(x) over [low, high]; p has `terms` coefficients in x."""

    f: Real
    low: mpf
    high: mpf
    terms: int
    weight: Real
    bits: int = 24


def in_square(g: Real) -> Real:
    """A function of x as a function of t = x*x."""
    return lambda t: g(mp.sqrt(t))


def near_zero(g: Real, limit: str, cut: str = "1e-12") -> Real:
    """g with its limit at zero, where the formula would divide by zero."""
    return lambda x: g(x) if abs(x) > mpf(cut) else mpf(limit)


LN2 = mp.log(2)


def minus_log2_erfc(x: mpf) -> mpf:
    return -mp.log(mp.erfc(x)) / LN2 / x


FITS: dict[str, Fit] = {
    # exp(r) = 1 + r + r^2 P(r)
    "exp": Fit(
        near_zero(lambda r: (mp.expm1(r) - r) / r**2, "0.5"), -LN2 / 2, LN2 / 2, 5,
        lambda r: r**2 / mp.exp(r),
    ),
    # expm1(r) = r + r^2 P(r), relative to expm1
    "expm1": Fit(
        near_zero(lambda r: (mp.expm1(r) - r) / r**2, "0.5"), -LN2 / 2, LN2 / 2, 6, lambda r: abs(r)
    ),
    # log(1 + f) = f - f^2/2 + f^3 P(f)
    "log": Fit(
        near_zero(lambda f: (mp.log1p(f) - f + f * f / 2) / f**3, mp.nstr(mpf(1) / 3, 50)),
        mpf("-0.25"), mpf("0.5"), 8, lambda f: f * f,
    ),
    # 2^r - 1 = r P(r)
    "exp2m1": Fit(
        near_zero(lambda r: mp.expm1(r * LN2) / r, mp.nstr(LN2, 50)), mpf("-0.5"), mpf("0.5"), 6,
        lambda r: 1 / LN2,
    ),
    # the same of exp_below.h: r = y - floor(y), or y - round(y)
    "exp2_floor": Fit(
        near_zero(lambda r: mp.expm1(r * LN2) / r, mp.nstr(LN2, 50)), mpf(0), mpf(1), 5,
        lambda r: r / 2**r,
    ),
    "exp2_round": Fit(
        near_zero(lambda r: mp.expm1(r * LN2) / r, mp.nstr(LN2, 50)), mpf("-0.5"), mpf("0.5"), 5,
        lambda r: abs(r) / 2**r,
    ),
    # erf(x) = 1 - 2^(-x P(x)) on [0, 4]
    "erf": Fit(
        near_zero(minus_log2_erfc, mp.nstr(2 / mp.sqrt(mp.pi) / LN2, 50)), mpf(0), mpf("3.95"), 9,
        lambda x: mp.erfc(x) * x * LN2 / mp.erf(x) if x > mpf("1e-9") else mpf(1),
    ),
    # in float64, for float32 results
    "exp64": Fit(
        near_zero(lambda r: (mp.expm1(r) - r) / r**2, "0.5"), -LN2 / 2, LN2 / 2, 8, lambda r: r**2, 53
    ),
    # log((1+s)/(1-s)) = 2s + s^3 P(s^2)
    "log64": Fit(
        in_square(near_zero(lambda s: (2 * mp.atanh(s) - 2 * s) / s**3, mp.nstr(mpf(2) / 3, 50))),
        mpf(0), mpf("0.02944"), 6, lambda t: t, 53,
    ),
    # sin(r) = r + r^3 P(r^2), cos(r) = 1 - r^2/2 + r^4 P(r^2)
    "sin64": Fit(
        in_square(near_zero(lambda r: (mp.sin(r) - r) / r**3, mp.nstr(mpf(-1) / 6, 50))),
        mpf(0), (mp.pi / 4) ** 2, 4, lambda t: t, 53,
    ),
    "cos64": Fit(
        in_square(near_zero(lambda r: (mp.cos(r) - 1 + r * r / 2) / r**4, mp.nstr(mpf(1) / 24, 50), "1e-9")),
        mpf(0), (mp.pi / 4) ** 2, 4, lambda t: t * t, 53,
    ),
    # atan(x) = x + x^3 P(x^2) on [0, 1]
    "atan64": Fit(
        in_square(near_zero(lambda x: (mp.atan(x) - x) / x**3, mp.nstr(mpf(-1) / 3, 50))),
        mpf(0), mpf(1), 13, lambda t: t, 53,
    ),
}  # fmt: skip


def erf_piece(i: int) -> Fit:
    """erf(i / 8 + r) = P(r); on the first piece erf(r) = r P(r)."""
    if i == 0:
        slope = near_zero(lambda r: mp.erf(r) / r, mp.nstr(2 / mp.sqrt(mp.pi), 50))
        return Fit(slope, mpf(0), mpf(1) / 16, 4, lambda r: mpf(1))
    centre = mpf(i) / 8
    return Fit(lambda r: mp.erf(centre + r), mpf(-1) / 16, mpf(1) / 16, 5, lambda r: 1 / mp.erf(centre + r))


def gelu_piece(i: int) -> Fit:
    """Phi(i / 4 + r) - 1/2 = P(r), to be multiplied by about i / 4; on the first piece r P(r)."""
    if i == 0:
        slope = near_zero(lambda r: mp.erf(r / mp.sqrt(2)) / 2 / r, mp.nstr(1 / mp.sqrt(2 * mp.pi), 50))
        return Fit(slope, mpf(0), mpf(1) / 8, 2, lambda r: r * r)
    centre = mpf(i) / 4
    return Fit(
        lambda r: mp.erf((centre + r) / mp.sqrt(2)) / 2, mpf(-1) / 8, mpf(1) / 8, 3, lambda r: centre + r
    )


#: name -> its pieces and those that end it, whose coefficients are given
TABLES: dict[str, tuple[list[Fit], list[list[float]]]] = {
    "erf_table": ([erf_piece(i) for i in range(31)], [[1.0, 0.0, 0.0, 0.0, 0.0]]),
    "gelu_table": ([gelu_piece(i) for i in range(22)], [[0.5, 0.0, 0.0]] * 10),
}


def lawson(f: list[mpf], w: list[mpf], x: list[mpf], powers: range, rounds: int = 40) -> list[mpf]:
    """Minimax coefficients of x**powers for f with error weights w (iteratively reweighted least squares)."""
    basis = mp.matrix([[xi**k for k in powers] for xi in x])
    share = [mpf(1) / len(x)] * len(x)
    best: list[mpf] = []
    least = mpf("inf")
    for _ in range(rounds):
        scaled = [mp.sqrt(s) * wi for s, wi in zip(share, w, strict=True)]
        a = mp.matrix([[basis[i, j] * scaled[i] for j in range(basis.cols)] for i in range(basis.rows)])
        b = mp.matrix([fi * si for fi, si in zip(f, scaled, strict=True)])
        normal = a.T * a
        c = mp.lu_solve(normal, a.T * b)
        error = [
            abs(sum(basis[i, j] * c[j] for j in range(basis.cols)) - f[i]) * w[i] for i in range(basis.rows)
        ]
        if max(error) < least:
            least, best = max(error), [c[j] for j in range(basis.cols)]
        share = [s * e for s, e in zip(share, error, strict=True)]
        total = sum(share)
        share = [s / total for s in share]
    return best


def rounded(value: mpf, bits: int) -> mpf:
    return mpf(float(np.float32(float(value)))) if bits == 24 else mpf(float(value))


def fit(entry: Fit) -> tuple[list[mpf], mpf]:
    """Rounded coefficients, lowest first, and the maximum weighted error."""
    n = 12 * entry.terms
    x = [
        entry.low + (entry.high - entry.low) * (1 - mp.cos(mp.pi * (i + mpf("0.5")) / n)) / 2
        for i in range(n)
    ]
    f = [entry.f(xi) for xi in x]
    w = [entry.weight(xi) for xi in x]
    done: list[mpf] = []
    for k in range(entry.terms):
        rest = [fi - sum(c * xi**j for j, c in enumerate(done)) for fi, xi in zip(f, x, strict=True)]
        done.append(rounded(lawson(rest, w, x, range(k, entry.terms))[0], entry.bits))
    error = max(
        abs(sum(c * xi**j for j, c in enumerate(done)) - fi) * wi for xi, fi, wi in zip(x, f, w, strict=True)
    )
    return done, error


def short(value: float) -> str:
    """A float32 literal."""
    return re.sub(r"\.?0*p", "p", value.hex()) + "f"


def print_table(name: str) -> None:
    pieces, ends = TABLES[name]
    fits = [fit(piece) for piece in pieces]
    width = max(len(c) for c, _ in fits)
    lines = [[0.0] * (width - len(c)) + [float(v) for v in c] for c, _ in fits] + ends
    print(f"{name}: error {mp.nstr(max(error for _, error in fits), 3)}")
    for k in range(width):
        print("    {" + ", ".join(short(line[k]) for line in lines) + "},")


def main() -> None:
    for name in sys.argv[1:] or [*FITS, *TABLES]:
        if name in TABLES:
            print_table(name)
            continue
        coefficients, error = fit(FITS[name])
        print(f"{name}: error {mp.nstr(error, 3)} = 2^{mp.nstr(mp.log(error, 2), 4)}")
        suffix = "f" if FITS[name].bits == 24 else ""
        print("   ", ", ".join(float(c).hex() + suffix for c in coefficients))


if __name__ == "__main__":
    main()
