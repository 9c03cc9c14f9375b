"""Laplace noise: on sums of vectors and of integers, cut at a limit, or within a range."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import ClassVar

from flint import arb, ctx

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events.base import DescribedEvent
from rdpkit.events.data_sets import NeighbouringDataSets, one_integer_changed
from rdpkit.events.fields import declared, diameter, event_class, integer, noise, norm, positive
from rdpkit.events.geometry import SumOfRecords, SumOfVectors, record_move
from rdpkit.events.losses import Attained, Dominating, attains
from rdpkit.events.pairs import (
    BoundedRange,
    DiscreteLaplacePair,
    LaplacePair,
    Outcomes,
    TruncatedLaplacePair,
)
from rdpkit.numerics.balls import float_above


@event_class
class Laplace(SumOfVectors):
    """The sum of the records' vectors plus Laplace noise in each coordinate, released once.

    Released: sum of x_i plus independent noise with the density e^(-abs(y) / noise_scale) /
    (2 noise_scale) in each coordinate. With s the L1 sensitivity, ``record_norm`` under
    add-or-remove-one and ``record_diameter`` under replace-one, it is (s / noise_scale, 0)-DP, and
    no pair of neighbours tells more than two numbers at the distance s do.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.Laplace(noise_scale=10.0, record_norm=1.0)
    >>> hundred = rdpkit.Repeated(event=event, count=100)
    >>> round(rdpkit.epsilon(hundred, delta=1e-5, adjacency="add_or_remove_one").epsilon, 3)
    4.22
    """

    mechanism: ClassVar[str] = "laplace"

    noise_scale: float = noise(
        "Scale b of the noise, whose standard deviation is b times the square root of 2, in the "
        "units of the sum"
    )
    record_norm: float = norm(
        "Largest L1 norm of one record's vector, in the units of the sum. It is the sensitivity "
        "under add-or-remove-one"
    )
    record_diameter: float | None = diameter(
        "Largest L1 distance between two records' vectors, in the units of the sum. It is the "
        "sensitivity under replace-one",
        default=None,
    )

    def distance(self, adjacency: Adjacency) -> float:
        """The sensitivity over the scale of the noise: the epsilon of pure differential privacy."""
        return self.sensitivity(adjacency) / self.noise_scale

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """Two Laplace distributions, as far apart as the sensitivity."""
        return Dominating((LaplacePair(distance=self.distance(adjacency)),))


@event_class
class DiscreteLaplace(SumOfRecords):
    """The sum of the records' integer vectors plus discrete Laplace noise, released once.

    Released: sum of x_i plus independent integers in each coordinate, k with a probability in
    proportion to e^(-abs(k) / noise_scale). It is also called the two-sided geometric mechanism.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.DiscreteLaplace(noise_scale=10.0, record_norm=1)
    >>> hundred = rdpkit.Repeated(event=event, count=100)
    >>> round(rdpkit.epsilon(hundred, delta=1e-5, adjacency="add_or_remove_one").epsilon, 3)
    4.307
    """

    mechanism: ClassVar[str] = "discrete_laplace"
    losses_are_attained = True
    # Equal records add up to one that is so many times as long.
    groups_are_attained = True

    noise_scale: float = noise("Scale of the noise, in the units of the sum")
    record_norm: int = integer(
        "Largest L1 norm of one record's vector of integers. It is the sensitivity under "
        "add-or-remove-one"
    )
    record_diameter: int | None = declared(
        "Largest L1 distance between two records' vectors. It is the sensitivity under replace-one",
        check=lambda name, value, *, maximum: _validate.integer(name, value, maximum=2 * maximum),
        accepted="at least 1 and at most 2 * record_norm, which is the default",
        most="record_norm",
        default=None,
    )

    def sensitivity(self, adjacency: Adjacency) -> int:
        """L1 sensitivity of the sum between neighbours."""
        match adjacency:
            case Adjacency.ADD_OR_REMOVE_ONE | Adjacency.ZERO_OUT:
                return self.record_norm
            case Adjacency.REPLACE_ONE:
                return self.record_diameter or 2 * self.record_norm

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """Two discrete Laplace distributions, as far apart as the sensitivity."""
        pair = DiscreteLaplacePair(
            rate=1.0 / self.noise_scale, distance=self.sensitivity(adjacency)
        )
        return Dominating((pair,))

    def neighbours(self, adjacency: Adjacency, touched: tuple[int, ...]) -> NeighbouringDataSets:
        """One record and none, or two records on one axis."""
        distance = self.sensitivity(adjacency)
        return one_integer_changed(adjacency, norm=self.record_norm, distance=distance)


@event_class
class TruncatedLaplace(SumOfVectors):
    """The sum of the records' numbers plus Laplace noise that is drawn again until it is small.

    Released: sum of x_i plus noise with a density in proportion to e^(-abs(y) / noise_scale) for
    abs(y) <= ``noise_limit``, and 0 beyond it. A sum that is cut to a range after plain Laplace
    noise was added, or folded into it, is :class:`rdpkit.Laplace`: it tells no more than the noisy
    sum does.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.TruncatedLaplace(noise_scale=1.0, noise_limit=12.0, record_norm=1.0)
    >>> round(rdpkit.epsilon(event, delta=1e-5, adjacency="add_or_remove_one").epsilon, 3)
    1.0
    """

    mechanism: ClassVar[str] = "truncated_laplace"

    noise_scale: float = noise("Scale of the noise before it is cut, in the units of the sum")
    noise_limit: float = positive(
        "The largest absolute value of the noise, in the units of the sum", private=1
    )
    record_norm: float = norm("Largest absolute value of a record, in the units of the sum")
    record_diameter: float | None = diameter(
        "Largest difference of two records, in the units of the sum", default=None
    )

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """Two of these distributions, as far apart as the sensitivity."""
        moved = record_move(self, adjacency)
        if moved >= 2.0 * self.noise_limit * (1.0 - 1e-12):
            # The two have nothing in common.
            raise self._no_losses(adjacency)
        pair = TruncatedLaplacePair(
            distance=moved / self.noise_scale, reach=self.noise_limit / self.noise_scale
        )
        return Dominating((pair,))


# Where cells of a test end, as parts of the distance of the two numbers.
_CUTS = sorted({0.0, 1.0, *(j / 16 for j in range(16)), *(2.0**-k for k in range(5, 15))})
# The range and the distance are told apart from here on; exponents that leave enough digits.
_APART, _FAR = 0.01, 30.0


@event_class
class BoundedLaplace(DescribedEvent):
    """A number in a range with Laplace noise that is drawn again until the result is in the range.

    Released: a number in [minimum, maximum] with a density in proportion to e^(-abs(y - x) /
    noise_scale), x the number of the data, which is in that range too. How much of the noise is
    left depends on x, so that the largest loss is above s / noise_scale, s the sensitivity: by the
    logarithm of the ratio of what is left for x = minimum + s and for x = minimum. Results that are
    cut to a range or folded into it are :class:`rdpkit.Laplace`.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.BoundedLaplace(noise_scale=2.0, minimum=0.0, maximum=10.0, sensitivity=1.0)
    >>> round(rdpkit.epsilon(event, delta=0.0, adjacency="replace_one").epsilon, 3)
    0.831
    """

    mechanism: ClassVar[str] = "bounded_laplace"
    assumed = ("the sensitivity of the number is that under the adjacency that is asked about",)

    noise_scale: float = noise("Scale of the noise that is drawn, in the units of the number")
    minimum: float = declared("Least value of the number and of the result", check=_validate.finite)
    maximum: float = declared(
        "Largest value of the number and of the result", check=_validate.finite
    )
    sensitivity: float = positive(
        "Largest change of the number between neighbours, in its own units", private=-1
    )

    def _check_together(self) -> None:
        if not self.minimum < self.maximum:
            raise _validate.fail("maximum", f"to be above minimum = {self.minimum!r}", self.maximum)

    def distance(self) -> float:
        """How far the number moves at most, which is the whole range at most."""
        return min(self.sensitivity, self.maximum - self.minimum)

    def pure_epsilon(self) -> float:
        """The epsilon of pure differential privacy, rounded up."""
        with ctx.workprec(128):
            b, width = arb(self.noise_scale), arb(self.maximum) - arb(self.minimum)
            moved = arb(self.sensitivity).min(width)
            left = (-moved / b).expm1() + ((moved - width) / b).expm1()
            return float_above(moved / b + (left / (-width / b).expm1()).log())

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """Losses lie in a range of twice the distance over the scale, and none exceeds epsilon."""
        whole = 2.0 * self.distance() / self.noise_scale
        return Dominating((BoundedRange(epsilon=whole, largest=self.pure_epsilon()),))

    def attained(self, adjacency: Adjacency) -> Attained:
        """The numbers at the end of the range, or around its middle, and in which cell it is."""
        width, moved = self.maximum - self.minimum, self.distance()
        room = width - moved
        if max(moved, width) / self.noise_scale > _FAR or 0.0 < room < _APART * width:
            return attains(())
        return Attained(tuple((self._cells(place),) for place in (0.0, 0.5 * room)))

    def _cells(self, place: float) -> Outcomes:
        """Probabilities of cells for a number at ``place`` above the minimum, and one beyond it."""
        b, moved = self.noise_scale, self.distance()
        rest = self.maximum - self.minimum - moved - place
        near, far = -math.expm1(-place / b), -math.expm1(-rest / b)
        across = math.exp(-moved / b)
        # What is on the other side of the farther number, or nearer to the nearer one.
        first = [near] if near else []
        second = [near * across] if near else []
        for one, other in pairwise(_CUTS):
            cell = -math.expm1(-(other - one) * moved / b)
            first.append(math.exp(-one * moved / b) * cell)
            second.append(math.exp(-(1.0 - other) * moved / b) * cell)
        if far:
            first.append(far * across)
            second.append(far)
        return Outcomes(
            first=tuple(mass / math.fsum(first) for mass in first),
            second=tuple(mass / math.fsum(second) for mass in second),
        )
