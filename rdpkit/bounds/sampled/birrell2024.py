r"""Subsampling without replacement under replace-one: the Taylor expansion of FS-RDP.

Guarantee
---------
Let z be the noise std over the swap distance, s = 1/z^2, and q = l/n < 1 for l of n records. Let
B(k) be the Pearson-Vajda moment of :mod:`rdpkit.numerics.pearson_vajda` for even k, and
sqrt(B(k-1) B(k+1)) for odd k. For every real order a > 1 and every integer m >= 3 the divergence
between neighbours is at most log(1 + S) / (a-1),

    S = q^2 a(a-1) (e^s - e^{s/2}) + sum_{k=3}^{m-1} q^k/k! F_k + E_m,

    F_k = (a-1) a^{k-1} B(k) [ c_k + sum_{j=0}^k C(k,j) |R_kj - 1| ],  c_k = 4 (k even), 3 (k odd),
    R_kj = a/(a-1) prod_{i=1}^{j-1} (1 - i/a) prod_{i=0}^{k-j-1} (1 + (i-1)/a),

    E_m = sum_{j=0}^m q^m/m! C(m,j) |prod_{i<j} (a-i)| prod_{i<m-j} (a+i-1) (1-q)^{-(a+m-j-1)} I_j,
    I_j = (1-q)^{a-j} B(m)                                                          for a <= j,
    I_j = B(m) + sum_{i=0}^{ceil(a)-j} q^i B(m+i) prod_{t<i} (ceil(a)-j-t)/(m+i-t)  for a > j.

For each order the smallest value over the m of :data:`EXPANSIONS` is taken. No term is negative.
The proof is in docs/theory/fs-rdp.

Assumes
-------
REPLACE_ONE; the subset is uniform without replacement and fresh for every release; swapping one
member moves the released vector by at most noise std / z. At q = 1 the theorem says nothing (inf).

Source
------
Birrell, Ebrahimi, Behnia and Pacheco, "Differentially private stochastic gradient descent with
fixed-size minibatches: tighter RDP guarantees with or without replacement", NeurIPS 2024,
Theorem 3.4 (arXiv 2408.10456v1).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from flint import arb, fmpz
from numpy.typing import NDArray

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Array, Kind, OrderRange, RdpBound, of_event
from rdpkit.bounds.sampled.wang2019 import even_moments, fixed_size_arguments
from rdpkit.events import FixedSizeSampledGaussian
from rdpkit.numerics import pearson_vajda
from rdpkit.numerics.balls import to_relative_accuracy
from rdpkit.numerics.sampled_gaussian import log_expm1, log_row_sums, rdp_from_log_excess
from rdpkit.numerics.special import log_factorials

EXPANSIONS = (3, 4, 5, 6, 8, 10, 12, 16)
"""The lengths m of the expansion that are tried; any of them gives a bound."""

HIGHEST_ORDER = 512.0
"""Above this order the bound claims nothing: its cost grows with the square of the order."""

_DEEPEST = EXPANSIONS[-1]
_LENGTHS = np.array(EXPANSIONS)
# The pairs (k, j) of the derivatives, j from 0 to k, one k after another; p is k - j.
_SPLIT_K = np.concatenate([np.full(k + 1, k) for k in range(3, _DEEPEST)])
_SPLIT_J = np.concatenate([np.arange(k + 1) for k in range(3, _DEEPEST)])
_SPLIT_P = _SPLIT_K - _SPLIT_J
_SPLIT_STARTS = np.flatnonzero(_SPLIT_J == 0)
_SPLIT_BINOMIALS = np.array(
    [float(math.comb(int(k), int(j))) for k, j in zip(_SPLIT_K, _SPLIT_J, strict=True)]
)
# Log C(m, j) for the lengths m (rows) and j = 0 .. 16, -inf for j > m.
_LOG_BINOMIALS = np.array(
    [[math.log(math.comb(m, j)) if j <= m else -math.inf for j in range(_DEEPEST + 1)]
     for m in EXPANSIONS]
)  # fmt: skip
# Beyond these noise multipliers 1/z^2 leaves the range of floats.
_LEAST_NOISE, _MOST_NOISE = 1e-150, 1e150


def rdp(
    orders: Array,  # Renyi orders; shape (k,)
    z: float,  # Noise std over how far swapping one member of the subset moves the released vector
    # l and n, 1 <= l <= n.
    sample_size: int,
    population_size: int,
) -> Array:
    """Divergence at any orders in (1, 512]; inf where ``sample_size == population_size``.

    What it guarantees and assumes, and where it comes from, is said at the top of the module.
    """
    if sample_size == population_size:
        return np.full(orders.shape, np.inf)
    excess = log_excess(orders, z, sample_size, population_size).min(axis=0)
    # An excess below the smallest float must not become 0, because that would claim too much.
    return np.maximum(rdp_from_log_excess(excess, orders), np.finfo(np.float64).tiny)


def log_excess(orders: Array, z: float, sample_size: int, population_size: int) -> Array:
    """Log S for every length in :data:`EXPANSIONS` (rows) and every order (columns)."""
    if z < _LEAST_NOISE:
        return np.full((len(EXPANSIONS), orders.size), np.inf)
    z = min(z, _MOST_NOISE)  # S falls as z grows, so a smaller z also gives a bound
    log_q = math.log(sample_size / population_size)
    ceilings = np.ceil(orders)
    moments = log_moments(int(ceilings.max()) + _DEEPEST, z)
    log_factorial = log_factorials(moments.size + 1)
    tails = _Tails(ceilings, moments, log_factorial, log_q)

    rate = np.array([0.5 / z / z])
    second = float((rate + log_expm1(rate))[0])
    leading = 2.0 * log_q + np.log(orders) + np.log(orders - 1.0) + second
    k = np.arange(3, _DEEPEST)
    derivatives = _log_derivatives(orders) + (moments[k] + k * log_q - log_factorial[k])[:, None]
    sums = np.logaddexp.accumulate(np.vstack([leading, derivatives]), axis=0)
    remainders = _log_remainders(
        orders,
        moments,
        tails,
        log_q=log_q,
        log_complement=_log_complement(sample_size, population_size),
    )
    return np.asarray(np.logaddexp(sums[_LENGTHS - 3], remainders))


def _log_complement(sample_size: int, population_size: int) -> float:
    """log(1 - q), accurate at both ends."""
    if 2 * sample_size <= population_size:
        return math.log1p(-sample_size / population_size)
    return math.log((population_size - sample_size) / population_size)


def log_moments(highest: int, z: float) -> Array:
    """Log B(k) for k = 0 .. highest; at odd k, B(k) is the geometric mean of its neighbours."""
    even = pearson_vajda.log_even_moments(highest + 2 - highest % 2, z)
    result = np.empty(highest + 1)
    result[::2] = even[: highest // 2 + 1]
    odd = np.arange(1, highest + 1, 2)
    result[1::2] = 0.5 * (even[odd // 2] + even[odd // 2 + 1])
    return result


def _log_derivatives(orders: Array) -> Array:
    """Log F_k / B(k) for k = 3 .. 15 (rows) and every order (columns).

    At least one of the factors of R_kj is 1 - 1/a (exactly one for j = 0 or j = k). It is cancelled
    against a/(a-1), so that no digits are lost near a = 1.
    """
    a = orders
    i = np.arange(1.0, _DEEPEST - 1.0)[:, None]
    ones = np.ones((2, a.size))
    # prod_{i=1}^{j-1} (1 - i/a) for j = 0, 1, ...; prod_{i=1}^{p-1} (1 + (i-1)/a) for p = 0, 1, ...
    falling = np.vstack([ones, np.cumprod(1.0 - i / a, axis=0)])
    rising = np.vstack([ones, np.cumprod(1.0 + (i - 1.0) / a, axis=0)])
    k = np.arange(3, _DEEPEST)
    ratios = falling[_SPLIT_J] * rising[_SPLIT_P]
    # prod_{i=2}^{k-1} (1 - i/a), for j = k.
    last = np.cumprod(1.0 - np.arange(2.0, _DEEPEST - 1.0)[:, None] / a, axis=0)
    ratios[_SPLIT_P == 0] = last
    distances = _SPLIT_BINOMIALS[:, None] * np.abs(ratios - 1.0)
    bracket = np.add.reduceat(distances, _SPLIT_STARTS, axis=0)
    bracket += np.where(k % 2 == 0, 4.0, 3.0)[:, None]
    return np.asarray(np.log(a - 1.0) + (k - 1.0)[:, None] * np.log(a) + np.log(bracket))


class _Tails:
    """Log sum_{i=0}^{p} q^i B(m+i) prod_{t<i} (p-t)/(m+i-t), for any p and m at once.

    With N = p + m this is m! p!/(N! q^m) sum_{k=m}^{N} C(N,k) q^k B(k). The terms of the last sum
    depend on N alone, so the tails for different m share them.
    """

    def __init__(self, ceilings: Array, moments: Array, log_factorial: Array, log_q: float):
        offsets = np.arange(_DEEPEST + 1)
        self.totals = np.unique(ceilings.astype(np.int64)[:, None] + offsets[None, :])
        self.log_factorial = log_factorial
        self.log_q = log_q
        rows = self.totals[:, None]
        k = np.arange(moments.size)
        terms = (
            log_factorial[rows]
            - log_factorial[k]
            - log_factorial[np.maximum(rows - k, 0)]
            + k * log_q
            + moments[k]
        )
        terms[rows < k] = -np.inf
        self.logs = np.empty((_DEEPEST + 1, self.totals.size))
        self.logs[_DEEPEST] = log_row_sums(terms[:, _DEEPEST:].copy())
        for m in range(_DEEPEST - 1, 2, -1):
            self.logs[m] = np.logaddexp(self.logs[m + 1], terms[:, m])

    def at(self, m: NDArray[np.int64], p: NDArray[np.int64]) -> Array:
        """The sum for each m and p, whose shapes are broadcast against each other."""
        found = self.logs[m, np.searchsorted(self.totals, p + m)]
        logs = self.log_factorial
        return np.asarray(found + logs[m] + logs[p] - logs[p + m] - m * self.log_q)


def _log_remainders(
    orders: Array, moments: Array, tails: _Tails, *, log_q: float, log_complement: float
) -> Array:
    """Log E_m for every length m (rows) and every order (columns)."""
    a = orders[None, :, None]
    m = _LENGTHS[:, None, None]
    j = np.arange(_DEEPEST + 1)[None, None, :]
    i = np.arange(float(_DEEPEST))
    zero = np.zeros((orders.size, 1))
    with np.errstate(divide="ignore"):  # a factor a - i is 0 at integer orders below j
        falling = np.cumsum(np.log(np.abs(orders[:, None] - i)), axis=1)
    rising = np.cumsum(np.log((orders[:, None] - 1.0) + i), axis=1)
    falling, rising = np.hstack([zero, falling]), np.hstack([zero, rising])
    short = a <= j
    lengths = np.where(short, 1.0, np.ceil(a) - j).astype(np.int64)
    integral = np.where(
        short, (a - j) * log_complement + moments[m], np.logaddexp(moments[m], tails.at(m, lengths))
    )
    others = np.moveaxis(rising[:, np.maximum(m[:, 0] - j[0], 0)], 0, 1)
    terms = _LOG_BINOMIALS[:, None, :] + falling + others
    terms = terms - (a + (m - 1.0) - j) * log_complement + integral
    constant = _LENGTHS * log_q - log_factorials(int(_LENGTHS.max()) + 1)[_LENGTHS]
    sums = log_row_sums(terms.reshape(-1, _DEEPEST + 1)).reshape(terms.shape[:2])
    return np.asarray(constant[:, None] + sums)


def rdp_ball(
    order: float,  # Renyi order in (1, 512], taken as an exact number
    z: float,  # As for :func:`rdp`, taken as an exact number
    # l and n, 1 <= l <= n.
    sample_size: int,
    population_size: int,
) -> arb:
    """A ball that contains the theorem's value for the m that the float path picks.

    Raises ArithmeticError if the accuracy is not reached.
    """
    if sample_size == population_size:
        return arb("inf")
    candidates = log_excess(np.array([float(order)]), z, sample_size, population_size)
    m = EXPANSIONS[int(np.argmin(candidates[:, 0]))]
    return to_relative_accuracy(
        lambda: _value(order, z, sample_size, population_size, m), start=256
    )


def _value(order: float, z: float, sample_size: int, population_size: int, m: int) -> arb:
    """The theorem's value for one m at the working precision in force."""
    a = arb(order)
    ceiling = math.ceil(order)
    q = arb(sample_size) / population_size
    complement = arb(population_size - sample_size) / population_size
    highest = ceiling + m
    even = even_moments(highest + 2 - highest % 2, z)
    moments = [
        (even[k // 2] * even[k // 2 + 1]).sqrt() if k % 2 else even[k // 2]
        for k in range(highest + 1)
    ]
    half = 1 / (2 * arb(z) * arb(z))
    total = q * q * a * (a - 1) * half.exp() * half.expm1()
    for k in range(3, m):
        leading = (a - 1) * a ** (k - 1)
        size = (4 if k % 2 == 0 else 3) * leading
        for j in range(k + 1):
            # The product of the two factorials is R_kj times the leading coefficient.
            size += fmpz(math.comb(k, j)) * abs(_falling(a, j) * _rising(a, k - j) - leading)
        total += q**k / math.factorial(k) * size * moments[k]
    remainder = arb(0)
    for j in range(m + 1):
        size = fmpz(math.comb(m, j)) * abs(_falling(a, j)) * _rising(a, m - j)
        if size == 0:
            continue
        if order <= j:
            integral = moments[m] * ((a - j) * complement.log()).exp()
        else:
            integral = moments[m]
            factor = arb(1)
            for i in range(ceiling - j + 1):
                integral += factor * moments[m + i]
                # prod_{t<i} (p-t)/(m+i-t) is p! m! / ((p-i)! (m+i)!).
                factor *= q * (ceiling - j - i) / (m + i + 1)
        remainder += size * integral * (-(a + (m - j - 1)) * complement.log()).exp()
    total += q**m / math.factorial(m) * remainder
    return total.log1p() / (a - 1)


def _falling(a: arb, count: int) -> arb:
    """The product of a - i over i < count."""
    result = arb(1)
    for i in range(count):
        result *= a - i
    return result


def _rising(a: arb, count: int) -> arb:
    """The product of a + i - 1 over i < count."""
    result = arb(1)
    for i in range(count):
        result *= a + (i - 1)
    return result


def _range(event: Any, adjacency: Adjacency) -> OrderRange:
    return OrderRange(highest=HIGHEST_ORDER, includes_highest=True)


BOUND = RdpBound(
    id="birrell2024-ro",
    title="sampling without replacement, Taylor expansion (FS-RDP)",
    source="Birrell, Ebrahimi, Behnia and Pacheco 2024, Theorem 3.4 (arXiv 2408.10456v1)",
    kind=Kind.UPPER,
    event_type=FixedSizeSampledGaussian,
    adjacencies=(Adjacency.REPLACE_ONE,),
    order_range=_range,
    rdp=of_event(rdp, fixed_size_arguments),
    ball=of_event(rdp_ball, fixed_size_arguments),
)
