r"""Tails of the discrete Gaussian in balls.

The probability of the integer k is f(k) / Z, f(x) = e^(-x^2 / (2 sigma^2)), Z the sum over all
integers. For small sigma tails are summed term by term; what lies beyond the last term is at most a
geometric series. For large sigma they are the integral with the corrections of Euler and Maclaurin,

    Sum_{k >= m} f(k) = int_m^inf f + f(m)/2 - Sum_{j=1}^p B_2j / (2j)! f^(2j-1)(m) + R,
    |R| <= |B_2p| / (2p)! int_m^inf |f^(2p)|,

where f^(n)(x) = (-1/sigma)^n He_n(x / sigma) f(x). With P_n the polynomial He_n with all its signs
positive, |He_n| <= P_n, and for t^2 > n the integral of P_n(s) e^(-s^2/2) from t on is at most
P_n(t) e^(-t^2/2) / (t - n/t), because P_n grows no faster than s^n. Elsewhere Cramer's inequality
|He_n(s)| <= 1.09 sqrt(n!) e^(s^2/4) bounds it by 1.09 sqrt(n!) sqrt(4 pi).

Source
------
Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020 (arXiv
2004.00010v5), for the distribution; Abramowitz and Stegun 22.14.17 (Cramer), 23.1.30
(Euler-Maclaurin).
"""

from __future__ import annotations

import math
from functools import lru_cache

from flint import arb, ctx, fmpq

# Up to this sigma tails are summed term by term.
_SUMMED = 128.0
_MOST_TERMS = 64


def upper_tail(
    m: int,  # Any integer
    sigma: float,  # The parameter of the distribution, taken as exact; above 0
) -> arb:
    """P(k > m) for the discrete Gaussian centred at 0, as a ball at the working precision."""
    if m < 0:
        return 1 - upper_tail(-m - 1, sigma)
    if sigma <= _SUMMED:
        sums = _sums(sigma, ctx.prec)
        return sums[m] if m < len(sums) else _beyond(m, sigma) / _total(sigma, ctx.prec)
    return _by_integral(m + 1, sigma) / _whole(sigma)


def _density(k: int, sigma: float) -> arb:
    return (-(arb(k) ** 2) / (2 * arb(sigma) ** 2)).exp()


def _beyond(m: int, sigma: float) -> arb:
    """The sum of the densities beyond m >= 0: the first one, and at most a geometric series."""
    first = _density(m + 1, sigma)
    ratio = (-(2 * arb(m + 1) + 1) / (2 * arb(sigma) ** 2)).exp()
    return first.union(first / (1 - ratio))


@lru_cache(maxsize=64)
def _unscaled(sigma: float, bits: int) -> tuple[arb, ...]:
    """Sums of the densities beyond m, for m from 0 to where they no longer matter."""
    last = max(math.ceil(sigma * math.sqrt(2.0 * math.log(2.0) * (2 * bits + 64))), 4)
    total = _beyond(last, sigma)
    found = [total]
    for k in range(last, 0, -1):
        total = total + _density(k, sigma)
        found.append(total)
    return tuple(reversed(found))


@lru_cache(maxsize=64)
def _total(sigma: float, bits: int) -> arb:
    return 1 + 2 * _unscaled(sigma, bits)[0]


@lru_cache(maxsize=64)
def _sums(sigma: float, bits: int) -> tuple[arb, ...]:
    total = _total(sigma, bits)
    return tuple([one / total for one in _unscaled(sigma, bits)])


def _whole(sigma: float) -> arb:
    """The sum over all integers, by Poisson's formula: the integral, and hardly anything else."""
    s = arb(sigma)
    extra = 4 * (-2 * arb.pi() ** 2 * s * s).exp()
    return s * (2 * arb.pi()).sqrt() * (1 + arb(0).union(extra))


def _by_integral(m: int, sigma: float) -> arb:
    s = arb(sigma)
    t = arb(m) / s
    bell = (-t * t / 2).exp()
    integral = s * (arb.pi() / 2).sqrt() * (t / arb(2).sqrt()).erfc()
    found = integral + bell / 2
    signed, positive = [arb(1), t], [arb(1), t]
    # The recurrence He_{n+1} = t He_n - n He_{n-1}; with all signs positive it gives P_n.
    for n in range(1, 2 * _MOST_TERMS + 1):
        signed.append(t * signed[n] - n * signed[n - 1])
        positive.append(t * positive[n] + n * positive[n - 1])
    goal = found * arb(2) ** -ctx.prec
    factorial = arb(1)
    for j in range(1, _MOST_TERMS + 1):
        factorial = factorial * (2 * j - 1) * (2 * j)
        size = abs(arb(fmpq.bernoulli(2 * j))) / factorial
        sign = 1 if j % 2 else -1
        # f^(2j-1)(m) = -He_(2j-1)(t) f(m) / sigma^(2j-1), and B_2j has the sign (-1)^(j+1).
        found = found + sign * size * signed[2 * j - 1] * bell / s ** (2 * j - 1)
        rest = size * _absolute_integral(2 * j, t, bell, positive[2 * j]) / s ** (2 * j - 1)
        if rest < goal or j == _MOST_TERMS:
            break
    return found + arb(0).union(rest).union(-rest)


def _absolute_integral(n: int, t: arb, bell: arb, positive: arb) -> arb:
    """At least the integral of |He_n(s)| e^(-s^2/2) from t on."""
    cramer = arb("1.09") * arb(math.factorial(n)).sqrt() * (4 * arb.pi()).sqrt()
    if t * t > n + 1:
        return cramer.min(positive * bell / (t - n / t))
    return cramer
