"""B(m) = E_Q[(1 - P/Q)^m] for P = N(1, z^2) against Q = N(0, z^2), without cancellation.

Wang, Balle and Kasiviswanathan define the alternating sum
B(m) = sum_i (-1)^i C(m,i) e^{i(i-1)/(2 z^2)}, which is the m-th forward difference at 0 of
i -> e^{i(i-1)/(2 z^2)}. At z = 100 and m = 64 its terms exceed the result by 100 orders of
magnitude, so a sum of floats has no correct digit. For even m the integrand of the expectation is
nowhere negative, so nothing cancels in the trapezoid rule. The integrand is entire and falls off
like a Gaussian, so the rule converges faster than geometrically. The alternating sum is computed in
ball arithmetic as well, to certify the result.

The theorems, both of which bound the divergence r' of order a by
e^{(a-1) r'} <= 1 + sum_{j=2}^a C(a, j) gamma^j w_j, gamma the sampling fraction, use even m only.
Their weights w_j > 0 do not depend on a, and all terms are positive, so nothing cancels. For odd
m >= 3 the expectation is *negative*, so a formula with an odd B under a square root is not a real
number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from flint import arb, fmpz
from numpy.typing import NDArray

from rdpkit.numerics.balls import to_relative_accuracy
from rdpkit.numerics.sampled_gaussian import log_expm1, log_row_sums, log_sums_of_binomials

Array = NDArray[np.float64]

# So many powers share their nodes. A node counts if the integrand there is above e^-45 of its peak.
_TOGETHER = 16
_VISIBLE = 45.0
# If the share is at most this, the nineteenth term from the end is below 1e-22 of the last one.
_LARGEST_SHARE = 0.5


# Several theorems ask for the same moments in turn, so the last results are kept.
@lru_cache(maxsize=16)
def log_even_moments(highest: int, z: float) -> Array:
    """Log B(0), log B(2), ..., log B(highest), read-only; ``highest`` is even. B(0) is 1.

    If e^{i(i-1)/(2 z^2)} grows so fast with i that the last term of the alternating sum dominates,
    the sum is evaluated from its last terms. Otherwise quadrature is used.
    """
    s = 1.0 / z / z
    even = np.arange(0.0, highest + 1.0, 2.0)
    # The ratio of the d-th term from the end to the last term is at most share^d / d!. The share
    # falls from m = 2/s on.
    share = even * np.exp(-s * np.maximum(even - 1.0, 0.0) / 2.0)
    slow = np.flatnonzero((even == 0.0) | (share > _LARGEST_SHARE) | (s * even < 2.0))
    split = int(slow[-1]) + 1
    logs = np.empty(even.size)
    logs[:split] = _log_moments_by_quadrature(2 * (split - 1), z)
    if split < even.size:
        logs[split:] = _log_moments_by_last_terms(even[split:], s)
    logs.setflags(write=False)
    return logs


def _log_moments_by_last_terms(even: Array, s: float) -> Array:
    """Log B(m) from the last 19 terms, for a share of at most 1/2: 0.5^19/19! is below 1e-22."""
    m = even[:, None]
    d = np.arange(1.0, 19.0)[None, :]
    # The ratio of each term to the one after it; a factor 0 ends the sum if d exceeds m.
    ratios = np.maximum(m - d + 1.0, 0.0) / d * np.exp(-s * np.maximum(m - d, 0.0))
    np.multiply.accumulate(ratios, axis=1, out=ratios)
    signed = ratios[:, 1::2].sum(axis=1) - ratios[:, ::2].sum(axis=1)
    return np.asarray(s * even * (even - 1.0) / 2.0 + np.log1p(signed))


def _log_moments_by_quadrature(highest: int, z: float) -> Array:
    """Log B(0), log B(2), ... by the trapezoid rule, a block of powers at a time.

    For every power the integrand has one peak on either side of its zero at 1/2, and both peaks
    move outwards as the power rises. On each side the nodes that matter to a block of powers
    therefore lie between those that matter to its lowest and to its highest power.
    """
    powers = np.arange(2.0, highest + 1.0, 2.0)
    result = np.zeros(powers.size + 1)
    if not powers.size:
        return result
    step = z / 4.0
    spread = (math.sqrt(highest) + 12.0) * z
    # Offset by a third of a step so that no node falls on the integrand's zero.
    nodes = np.arange(-spread, highest + spread + step, step) + step / 3.0
    logs = _log_distance(nodes, z)
    weights = -(nodes * nodes) / (2.0 * z * z) + math.log(step / (z * math.sqrt(2.0 * math.pi)))
    middle = int(np.searchsorted(nodes, 0.5))
    for start in range(0, powers.size, _TOGETHER):
        block = powers[start : start + _TOGETHER]
        lowest = _visible(block[0] * logs + weights, middle)
        farthest = _visible(block[-1] * logs + weights, middle)
        found = []
        for (low, near), (far, end) in zip(lowest, farthest, strict=True):
            if low < near or far < end:
                pieces = [i for i in ((low, near), (far, end)) if i[0] < i[1]]
                part = slice(min(i[0] for i in pieces), max(i[1] for i in pieces))
                found.append(log_row_sums(block[:, None] * logs[part] + weights[part]))
        result[1 + start : 1 + start + block.size] = np.logaddexp.reduce(found)
    return result


def _visible(height: Array, middle: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """The nodes left and right of the middle at which the integrand is above e^-45 of its peak."""
    visible = height > height.max() - _VISIBLE
    parts = []
    for first, last in ((0, middle), (middle, height.size)):
        inside = np.flatnonzero(visible[first:last])
        parts.append(
            (first + int(inside[0]), first + int(inside[-1]) + 1) if inside.size else (first, first)
        )
    return parts[0], parts[1]


def _log_distance(nodes: Array, z: float) -> Array:
    """Log |P/Q - 1| at the nodes."""
    ratio = (2.0 * nodes - 1.0) / (2.0 * z * z)
    positive = log_expm1(np.maximum(ratio, 0.0))
    with np.errstate(divide="ignore"):
        negative = np.log(-np.expm1(np.minimum(ratio, 0.0)))
    return np.where(ratio > 0.0, positive, negative)


def moment_ball(m: int, z: float, *, bits: int = 70) -> arb:
    """A ball that contains B(m), from the alternating sum at sufficient precision.

    Raises ArithmeticError if the accuracy is not reached.
    """

    def compute() -> arb:
        rate = 1 / (2 * arb(z) * arb(z))
        binomial = fmpz(1)
        total = arb(0)
        for i in range(m + 1):
            term = binomial * (i * (i - 1) * rate).exp()
            total += -term if i % 2 else term
            binomial = binomial * (m - i) // (i + 1)
        return total

    return to_relative_accuracy(compute, bits=bits, start=256)


def log_weights_theorem9(highest: int, z: float) -> Array:
    """Log w_j for j = 2 .. highest of Theorem 9 for a Gaussian (r(inf) = inf, inner minimum 2)."""
    j = np.arange(2.0, highest + 1.0)
    with np.errstate(over="ignore"):
        weights = math.log(2.0) + j * (j - 1.0) / 2.0 / z / z
    weights[0] = _log_first(z)
    return weights


def log_weights_theorem27(highest: int, z: float, even: Array) -> Array:
    """Log w_j for j = 2 .. highest of Theorem 27, with ``even`` = log B(0), log B(2), ...."""
    j = np.arange(2, highest + 1)
    weights = math.log(4.0) + 0.5 * (even[j // 2] + even[(j + 1) // 2])
    weights[0] = _log_first(z)
    return np.asarray(weights)


def log_weights_minimum(highest: int, z: float) -> Array:
    """Log w_j for j = 2 .. highest, the smaller one of the two theorems for each j."""
    even = log_even_moments(highest + highest % 2, z)
    return np.minimum(log_weights_theorem9(highest, z), log_weights_theorem27(highest, z, even))


def _log_first(z: float) -> float:
    """Log min{4 (e^{r(2)} - 1), 2 e^{r(2)}} with r(2) = 1/z^2: the j = 2 term of both theorems."""
    r2 = 1.0 / z / z
    four = math.log(4.0) + float(log_expm1(np.array([r2]))[0])
    return min(four, math.log(2.0) + r2)


def log_excess_at_integers(orders: Array, gamma: float, weights: Array) -> Array:
    """Log sum_{j=2}^a C(a,j) gamma^j w_j for each integer order a; needs 0 < gamma <= 1."""
    j = np.arange(2.0, 2.0 + weights.size)
    return log_sums_of_binomials(orders, weights + j * math.log(gamma))


def rdp_by_interpolation(
    orders: Array,  # Orders > 1; shape (k,)
    # Maps integer orders (sorted, unique) to the logarithm of e^{(a-1) r'} - 1.
    excess_at: Callable[[Array], Array],
) -> Array:
    """Divergence at every order from the bound at integers, by Corollary 10.

    With D_a the divergence, (a - 1) D_a is convex in a and 0 at a = 1, so between integers it is at
    most the chord. Below 2, the chord from 1 to 2 gives the divergence at 2.
    """
    below = np.floor(orders)
    above = np.ceil(orders)
    needed = np.unique(np.concatenate([below, above]))
    needed = needed[needed >= 2.0]
    scaled = np.logaddexp(0.0, excess_at(needed))
    fraction = orders - below

    def at(points: Array) -> Array:
        index = np.searchsorted(needed, points).clip(0, needed.size - 1)
        return np.where(points < 2.0, 0.0, scaled[index])

    chord = (1.0 - fraction) * at(below) + np.where(fraction > 0.0, fraction * at(above), 0.0)
    # Below order 2 the chord starts at 0 and order - 1 is the fraction, which cancels.
    return np.asarray(np.where(orders < 2.0, at(above), chord / (orders - 1.0)))
