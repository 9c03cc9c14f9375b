"""Neighbouring data sets whose synthesis from mean and covariance leaks nearly as much as possible.

Most records are the corner (-1, ..., -1). Some have one coordinate at y instead of -1, the same
number for each coordinate, and a few have all coordinates at y. The numbers are chosen so that the
covariance is nearly a multiple of the identity, and the mean as close to the corner as the
smallest eigenvalue, sigma, allows. The changed record is the opposite corner (1, ..., 1), which is
removed, added, or replaced by (-1, ..., -1). The change moves the mean along one diagonal of the
cube.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb

from rdpkit import _validate
from rdpkit.adjacency import Adjacency, ordinary
from rdpkit.bounds.base import Array
from rdpkit.bounds.synthesis.direct import log_part_ball
from rdpkit.events import GaussianSynthesis
from rdpkit.numerics.balls import float_below, rational, to_relative_accuracy


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedRows:
    """A data set as its distinct records and how often each occurs."""

    rows: tuple[tuple[float, ...], ...]  # Records in [-1, 1]^d
    counts: tuple[int, ...]  # How many of each, all positive

    def __len__(self) -> int:
        return sum(self.counts)

    def records(self) -> Array:
        """All records, shape (n, d)."""
        return np.repeat(np.array(self.rows, dtype=np.float64), self.counts, axis=0)

    def moments(self) -> tuple[Array, Array]:
        """Mean of shape (d,) and covariance of shape (d, d), up to rounding."""
        rows = np.array(self.rows, dtype=np.float64)
        weights = np.array(self.counts, dtype=np.float64) / len(self)
        mean = weights @ rows
        centred = rows - mean
        return mean, np.asarray((centred * weights[:, None]).T @ centred)


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthesisPair:
    """Two neighbouring data sets and the divergence between one synthetic record of each."""

    event: GaussianSynthesis
    """What is released. The larger of the two data sets has ``event.records`` records."""
    order: float  # Renyi order
    adjacency: Adjacency  # The neighbouring relation
    # The two data sets; P and Q are the distributions of the output on them. No eigenvalue of
    # their covariances is below ``event.min_eigenvalue``, which has been checked exactly.
    first: WeightedRows
    second: WeightedRows
    divergence: float
    """D_order(P||Q) of one output in nats, rounded down; k outputs have k times it."""


@dataclass(frozen=True, slots=True)
class _Common:
    """The records that both data sets have, and the eigenvalues of their covariance.

    For each i, ``single`` records have only coordinate i at y = height - 1; ``full`` records have
    all coordinates there.
    """

    size: int
    d: int
    single: int
    full: int
    height: Fraction

    @property
    def share(self) -> Fraction:
        """The share of records that have a given coordinate at y."""
        return Fraction(self.single + self.full, self.size)

    def across(self) -> Fraction:
        """The covariance's eigenvalue in the directions orthogonal to the diagonal."""
        return self.height**2 * Fraction(self.single, self.size)

    def along(self) -> Fraction:
        """The covariance's eigenvalue in the direction of the diagonal."""
        inner = Fraction(self.full, self.size) - self.share**2
        return self.height**2 * (Fraction(self.single, self.size) + self.d * inner)

    def distance(self, corner: int) -> Fraction:
        """Squared distance from the mean to the corner whose coordinates are all ``corner``."""
        return self.d * (corner + 1 - self.height * self.share) ** 2

    def with_record(self, corner: int) -> tuple[Fraction, Fraction]:
        """The eigenvalues across and along the diagonal, if the corner is one more record."""
        ratio = Fraction(self.size, self.size + 1)
        more = self.distance(corner) / (self.size + 1)
        return ratio * self.across(), ratio * (self.along() + more)

    def data(self, *corners: int) -> WeightedRows:
        """The data set with these corners as further records."""
        y = float(self.height - 1)
        base = self.size - self.d * self.single - self.full
        rows = [(-1.0,) * self.d]
        rows += [tuple(y if j == i else -1.0 for j in range(self.d)) for i in range(self.d)]
        rows += [(y,) * self.d, *((float(corner),) * self.d for corner in corners)]
        counts = [base, *[self.single] * self.d, self.full, *[1] * len(corners)]
        kept = [(row, count) for row, count in zip(rows, counts, strict=True) if count]
        return WeightedRows(
            rows=tuple(row for row, _ in kept), counts=tuple(count for _, count in kept)
        )


def attained_pair(
    # What is released. Under add-or-remove-one its data set is the larger of the two.
    event: GaussianSynthesis,
    order: float,  # Renyi order > 1
    adjacency: Adjacency | str,  # The neighbouring relation
) -> SynthesisPair:  # The pair, in the direction with the larger divergence
    """Two neighbouring data sets that leak nearly as much as the direct bounds allow.

    Raises ValueError if an argument is outside of its range, or no data set of this form has
    eigenvalues that are large enough, because there are too few records or d sigma is not well
    below 4. Raises ArithmeticError if the divergence cannot be computed.

    Guarantee
    ---------
    The two data sets lie in the cube, are neighbours, and have covariances with no eigenvalue below
    the event's, all checked in exact arithmetic; the divergence between one output of each is at
    least the number given. Any upper bound that holds for the event is at least as large. Cutting
    the outputs to the cube is not taken into account; it can only lower the divergence.

    Assumes
    -------
    The mechanism draws from N(mean, covariance) and releases the draw uncut.

    Source
    ------
    rdpkit, theory page 'Synthesis: direct bounds'.

    Examples
    --------
    >>> import math
    >>> from rdpkit.events import GaussianSynthesis
    >>> from rdpkit.pairs.synthesis import attained_pair
    >>> event = GaussianSynthesis(records=10**6, outputs=10**6, dimension=6, min_eigenvalue=0.01)
    >>> pair = attained_pair(event, 4.0, "replace_one")
    >>> math.floor(1e4 * event.outputs * pair.divergence) / 1e4
    5.7254
    """
    a = _validate.order("order", order)
    relation = ordinary(
        Adjacency.parse(adjacency), because="no pair with a special record is written out"
    )
    best: tuple[float, bool, _Common] | None = None
    for common in _candidates(event, relation):
        for backwards in (False, True):
            value = _divergence(common, a, relation, backwards=backwards)
            if best is None or value > best[0]:
                best = (value, backwards, common)
    if best is None:
        raise _validate.fail(
            "event",
            "to leave room for corners with one coordinate changed: more records, or a smaller "
            "min_eigenvalue or dimension",
            event,
        )
    value, backwards, common = best
    other = common.data(-1) if relation is Adjacency.REPLACE_ONE else common.data()
    first, second = common.data(1), other
    if backwards:
        first, second = second, first
    return SynthesisPair(
        event=event, order=a, adjacency=relation, first=first, second=second, divergence=value
    )


def _candidates(event: GaussianSynthesis, relation: Adjacency) -> list[_Common]:
    """Data sets with the fewest ``single`` records, for several numbers of ``full`` records."""
    m, d, sigma = event.records - 1, event.dimension, event.min_eigenvalue
    # If each coordinate is changed in a share f of the records, with 4 f (1 - f) = sigma, and all
    # coordinates in a share f^2, then the coordinates are uncorrelated.
    ideal = math.floor(m * ((1.0 - math.sqrt(1.0 - sigma)) / 2.0) ** 2) if d > 1 else 0
    found = []
    for full in sorted({0, *range(max(ideal - 1, 0), ideal + 3)} if d > 1 else {0}):
        if full > m:
            continue
        start = _fewest(m, d, sigma, full)
        if start is None:
            continue
        for single in range(start, min(start + 3, (m - full) // d) + 1):
            common = _lowest(event, relation, single, full)
            if common is not None:
                found.append(common)
                break
    return found


def _fewest(m: int, d: int, sigma: float, full: int) -> int | None:
    """About the smallest number of ``single`` records that suffices; None if no number does.

    The eigenvalues are largest at y = 1. Let f and f0 be the shares of records with one given
    coordinate at y and with all coordinates at y. The eigenvalues are then 4 f across and
    4 (f + d (f0 - (f + f0)^2)) along the diagonal.
    """
    share, quarter = full / m, sigma / 4.0
    across = quarter if d > 1 else 0.0
    slope, constant = 1.0 - 2.0 * d * share, quarter - d * share * (1.0 - share)
    discriminant = slope * slope - 4.0 * d * constant
    if discriminant < 0.0:
        # At sigma = 1 there is one solution, for which rounding may make this slightly negative.
        if discriminant < -1e-9:
            return None
        discriminant = 0.0
    along = 2.0 * constant / (slope + math.sqrt(discriminant)) if constant > 0.0 else 0.0
    if slope + math.sqrt(discriminant) <= 0.0 < constant:
        return None
    return max(math.floor(m * max(across, along)) - 1, 1)


def _lowest(
    event: GaussianSynthesis, relation: Adjacency, single: int, full: int
) -> _Common | None:
    """The data set with the lowest y that keeps both neighbours' eigenvalues large enough."""
    m, d, sigma = event.records - 1, event.dimension, event.min_eigenvalue
    unit = _Common(m, d, single, full, Fraction(1))
    ratio = m / (m + 1.0)
    along = float(unit.along())
    needed = sigma / ratio / float(unit.across()) if d > 1 else 0.0
    if relation is Adjacency.REPLACE_ONE:
        along = ratio * (along + d * float(unit.share) ** 2 / (m + 1.0))
    if along <= 0.0:
        return None
    height = math.sqrt(max(needed, sigma / along))
    y = height - 1.0
    for _ in range(8):
        if not -1.0 < y <= 1.0:
            break
        common = _Common(m, d, single, full, Fraction(y) + 1)
        if _admissible(common, Fraction(sigma), relation):
            return common
        y = min(y + 4.0 * math.ulp(1.0), 1.0) if y < 1.0 else 2.0
    return None


def _admissible(common: _Common, sigma: Fraction, relation: Adjacency) -> bool:
    """Whether both data sets have eigenvalues of at least sigma, decided exactly."""
    others = (
        common.with_record(-1)
        if relation is Adjacency.REPLACE_ONE
        else (common.across(), common.along())
    )
    found = (common.with_record(1), others)
    return all(along >= sigma and (common.d == 1 or across >= sigma) for across, along in found)


def _divergence(common: _Common, order: float, relation: Adjacency, *, backwards: bool) -> float:
    """The divergence of one output, rounded down.

    P is the distribution with the record (1, ..., 1) and Q the one without; ``backwards`` exchanges
    the two.
    """
    size = common.size + 1
    changed = common.with_record(1)[1]
    if relation is Adjacency.REPLACE_ONE:
        other, across, shift = common.with_record(-1)[1], Fraction(0), Fraction(4 * common.d)
    else:
        other, across, shift = common.along(), Fraction(-1, size), common.distance(1)
        across = across if common.d > 1 else Fraction(0)
    if backwards:
        changed, other, across = other, changed, -across / (1 + across)
    excess, beta = changed / other - 1, Fraction(order) - 1
    if beta * excess >= 1 or beta * across >= 1:
        return math.inf
    quadratic = Fraction(order) * shift / (2 * size**2 * other * (1 - beta * excess))

    def compute() -> arb:
        a = arb(order)
        value = log_part_ball(a, arb(rational(excess))) + arb(rational(quadratic))
        if across:
            value += (common.d - 1) * log_part_ball(a, arb(rational(across)))
        return value

    return max(float_below(to_relative_accuracy(compute)), 0.0)
