"""Theorems 9 and 27 of Wang, Balle and Kasiviswanathan 2019, enclosed in balls."""

from __future__ import annotations

import itertools
import math

from flint import arb, fmpz

from rdpkit.numerics.balls import to_relative_accuracy


def even_moments(
    highest: int,  # The last index, even
    z: float,  # Noise std over swap distance, taken as an exact number
) -> list[arb]:
    """Balls around B(0), B(2), ..., B(highest) at the working precision in force.

    Up to the sign (-1)^m, B(m) is the m-th forward difference at 0 of e_i = e^{i(i-1)/(2 z^2)}, so
    one table of exponentials and its differences give all of them. Differences lose digits when z
    is large, so the caller has to repeat the computation with more precision until its own result
    is accurate.
    """
    rate = (1 / (arb(z) * arb(z))).exp()
    row = [arb(1)]
    step = arb(1)
    for _ in range(highest):  # e_{i+1} = e_i e^{i / z^2}
        row.append(row[-1] * step)
        step *= rate
    found = [row[0]]
    for m in range(1, highest + 1):
        row = [right - left for left, right in itertools.pairwise(row)]
        if m % 2 == 0:
            found.append(row[0])
    return found


def rdp_ball(
    order: float,  # Renyi order > 1, taken as an exact number
    # Noise std over how far swapping one member of the subset moves the released vector, taken as
    # an exact number.
    z: float,
    # Number of records in the subset and in the data set.
    sample_size: int,
    population_size: int,
    *,
    terms: str,  # Which weights to use; one of {"theorem9", "theorem27", "minimum"}
    bits: int = 60,  # The relative accuracy wanted is 2^-bits
) -> arb:
    """A ball that contains what :func:`rdpkit.bounds.sampled.wang2019.rdp` computes in floats.

    Raises ArithmeticError if the accuracy is not reached.

    Guarantee
    ---------
    The ball contains the theorem's bound at integer orders, and that of Corollary 10 between them,
    and is accurate to ``bits`` bits. All rounding is accounted for, so the upper end of the ball is
    an upper bound on the divergence.

    Assumes
    -------
    What :func:`rdpkit.bounds.sampled.wang2019.rdp` assumes.

    Source
    ------
    Wang, Balle and Kasiviswanathan 2019, Theorems 9 and 27 and Corollary 10 (arXiv 1808.00087v2).
    """
    below = math.floor(order)
    above = math.ceil(order)

    def compute() -> arb:
        gamma = arb(sample_size) / population_size
        weights = _weights(above, z, terms)
        if below < 2:
            # The chord from (1, 0) to order 2: its slope is the divergence at 2.
            return _scaled(2, gamma, weights)
        value = _scaled(below, gamma, weights)
        if above > below:
            fraction = arb(order) - below
            value = (1 - fraction) * value + fraction * _scaled(above, gamma, weights)
        return value / (arb(order) - 1)

    return to_relative_accuracy(compute, bits=bits, start=256)


def _weights(highest: int, z: float, terms: str) -> list[arb]:
    """The factors of C(a, j) gamma^j for j = 2 .. highest."""
    rate = 1 / (arb(z) * arb(z))
    first = (4 * rate.expm1()).min(2 * rate.exp())
    nine = [2 * (j * (j - 1) * rate / 2).exp() for j in range(3, highest + 1)]
    if terms == "theorem9":
        return [first, *nine]
    even = even_moments(highest + highest % 2, z)
    other = [4 * (even[j // 2] * even[(j + 1) // 2]).sqrt() for j in range(3, highest + 1)]
    if terms == "minimum":
        other = [left.min(right) for left, right in zip(nine, other, strict=True)]
    return [first, *other]


def _scaled(order: int, gamma: arb, weights: list[arb]) -> arb:
    """(order - 1) times the divergence at an integer order >= 2."""
    total = arb(0)
    binomial = fmpz(order)
    power = gamma
    for j in range(2, order + 1):
        binomial = binomial * (order - j + 1) // j
        power *= gamma
        total += binomial * power * weights[j - 2]
    return total.log1p()
