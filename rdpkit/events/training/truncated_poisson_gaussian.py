"""One release of a noisy sum over a Poisson sample that is cut at a largest size."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar

from flint import arb, ctx

from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.data_sets import NeighbouringDataSets
from rdpkit.events.fields import diameter, event_class, integer, noise, norm, probability
from rdpkit.events.geometry import diameter_of, record_move
from rdpkit.events.losses import Attained, Dominating, Step, StepKind
from rdpkit.events.pairs import BranchedPair, LeastOf
from rdpkit.events.sampled.poisson import PoissonSampledGaussian
from rdpkit.numerics.balls import float_above, float_below

_START, _MOST = 192, 1 << 14
_MARGIN = 8 * math.ulp(1.0)

_CUT = (
    "a Poisson sample that is too large is cut down to a uniformly random part of it, of the "
    "largest size"
)

# Which part of the samples that the others fill is compared with samples of one other record less,
# and how well probabilities have to be known for it.
_SHARES, _SURE = (0.98, 0.9, 0.75, 0.4, 0.15), 1e-9

# How often full samples are in proportion to samples with one place left, and the reverse.
_SELDOM, _HARDLY = 5.0, 1e-3


@event_class
class TruncatedPoissonGaussian(Event):
    """The sum over a Poisson sample of limited size plus Gaussian noise, released once.

    Released: the sum of x_i over a sample + N(0, noise_std^2 I). Each record joins with probability
    ``sampling_probability``, independently of all others. If more than ``max_batch_size`` have
    joined, so many of them are drawn uniformly, and the others are left out.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.TruncatedPoissonGaussian(
    ...     noise_std=1.0, record_norm=1.0, sampling_probability=0.01, max_batch_size=150,
    ...     population_size=10000
    ... )
    >>> steps = rdpkit.Repeated(event=event, count=1000)
    >>> round(rdpkit.epsilon(steps, delta=1e-5, adjacency="add_or_remove_one").epsilon, 3)
    1.831
    """

    mechanism: ClassVar[str] = "truncated_poisson_gaussian"
    of_whole_data: ClassVar[str] = "it states how many records there are"
    adjacencies: ClassVar[tuple[Adjacency, ...]] = tuple(Adjacency)
    assumed = (_CUT,)

    noise_std: float = noise()
    record_norm: float = norm()
    sampling_probability: float = probability(
        "Probability with which each record joins, before the sample is cut"
    )
    max_batch_size: int = integer("The largest size of a sample")
    population_size: int = integer("Number of records, in the larger of two neighbours")
    record_diameter: float | None = diameter(default=None)

    @property
    def overflow(self) -> tuple[float, float]:
        """Bounds on the probability that all other records fill the sample."""
        return binomial_tail(
            self.population_size - 1, self.sampling_probability, self.max_batch_size
        )

    @property
    def _joined(self) -> tuple[float, float]:
        """Bounds on the probability that more of all records join than the sample holds."""
        return binomial_tail(
            self.population_size, self.sampling_probability, self.max_batch_size + 1
        )

    @property
    def probability_if_full(self) -> float:
        """The probability with which a record is drawn if all others fill the sample, at most.

        With N others that joined it is q B E[1 / (N + 1) | N >= B]. Since q P(N = m) / (m + 1) is
        P(K = m + 1) / n for K of n records, the mean is a quotient of two tails.
        """
        size, q = self.max_batch_size, self.sampling_probability
        most = q * size / (size + 1)
        low = self.overflow[0]
        if low > 0.0:
            most = min(most, size / self.population_size * (self._joined[1] / low))
        return min(most * (1.0 + 8.0 * math.ulp(1.0)), 1.0)

    def noise_multiplier(self, adjacency: Adjacency) -> float:
        """Noise standard deviation over how far one record moves a sum that is not cut."""
        return self.noise_std / record_move(self, adjacency)

    @property
    def swap_noise_multiplier(self) -> float:
        """Noise standard deviation over how far apart two records are, or a record and 0."""
        diameter = diameter_of(self)
        return self.noise_std / max(diameter, self.record_norm)

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """Poisson sampling where the others leave room, and where not, what the record replaces.

        Where the others fill the sample, one of them leaves it for the record. A part of this is
        compared with samples of one other record less, the rest with full ones.
        """
        room = self._poisson(self.sampling_probability).dominating(adjacency)
        low, high = self.overflow
        if high == 0.0 or not room:
            return room
        full = self._full(adjacency, self.probability_if_full)
        if low == 1.0:
            return Dominating((full,))
        weights = (min(math.nextafter(1.0 - low, math.inf), 1.0), high)
        swapped = BranchedPair(branches=(*room, full), weights=weights)
        # Where samples are hardly ever full the first share is about the best.
        edge = binomial_tail(
            self.population_size - 1, self.sampling_probability, self.max_batch_size - 1
        )[0]
        first = self._edged(adjacency, _SHARES[0])
        if first is not None and high < _SELDOM * (edge - high):
            return Dominating((first,))
        if edge - high < _HARDLY * high:
            return Dominating((swapped,))
        edged = (first, *(self._edged(adjacency, share) for share in _SHARES[1:]))
        known = tuple(one for one in edged if one is not None)
        return Dominating((LeastOf(branches=(swapped, *known)) if known else swapped,))

    def _edged(self, adjacency: Adjacency, share: float) -> BranchedPair | None:
        """The bound that compares this share with samples of one other record less.

        None where floats do not resolve how often there is room for one record alone.
        """
        size, q, ulps = self.max_batch_size, self.sampling_probability, 16.0 * math.ulp(1.0)
        full = self.overflow
        more = binomial_tail(self.population_size - 1, q, size - 1)
        # How often the record joins where the others fill the sample.
        joins = [size / self.population_size * joined for joined in self._joined]
        moved, stay = [share * one for one in joins], [(1.0 - share) * one for one in joins]
        edge = (more[0] - full[1], more[1] - full[0])
        # Lower and upper bounds under the first member and, by addition and removal, the second.
        first = [
            (edge[0] + moved[0], edge[1] + moved[1]),
            (full[0] - moved[1], full[1] - moved[0]),
            (1.0 - more[1], 1.0 - more[0]),
        ]
        second = [edge, full, first[2]]
        if size == 1:
            first, second = first[:2], second[:2]
        if min(low for low, _ in (*first, *second)) <= 0.0:
            return None
        # Both differences, and the quotients, are rounded a few times.
        off = max((high - low) / low + 4.0 * ulps / low for low, high in (*first, *second))
        if off > _SURE:
            return None
        rates = ((q * edge[0] + moved[1]) / (edge[0] + moved[1]), stay[1] / first[1][0], q)
        at_edge, at_full, room = (min(rate * (1.0 + off), 1.0) for rate in rates)
        branches = (
            *self._poisson(at_edge).dominating(adjacency),
            self._full(adjacency, at_full),
            *self._poisson(room).dominating(adjacency),
        )[: len(first)]
        weights, others = (tuple(h * (1.0 + off) for _, h in side) for side in (first, second))
        if adjacency is not Adjacency.ADD_OR_REMOVE_ONE:
            return BranchedPair(branches=branches, weights=weights)
        return BranchedPair(branches=branches, weights=weights, second=others, off=4.0 * off)

    def attained(self, adjacency: Adjacency) -> Attained:
        """A Poisson sample that a record is in as often as here: all others are at the origin."""
        return self._poisson(self._drawn).attained(adjacency)

    def _poisson(self, sampling_probability: float) -> PoissonSampledGaussian:
        return PoissonSampledGaussian(
            noise_std=self.noise_std,
            record_norm=self.record_norm,
            sampling_probability=sampling_probability,
            record_diameter=self.record_diameter,
        )

    @property
    def _drawn(self) -> float:
        """The probability that a record is in the sample after it was cut, at least."""
        room = self.sampling_probability * (1.0 - self.overflow[1])
        drawn = room + self.max_batch_size / self.population_size * self._joined[0]
        return drawn * (1.0 - 8.0 * math.ulp(1.0))

    def _full(self, adjacency: Adjacency, sampling_probability: float) -> Step:
        """A record takes the place of another, which it is as far from as records may be."""
        kind: StepKind = "removed" if adjacency is Adjacency.ADD_OR_REMOVE_ONE else "replaced"
        other = 0.0
        if adjacency is Adjacency.ZERO_OUT:
            # The special record is as far from the record, and from the other one, as may be.
            ratio = self.swap_noise_multiplier / (self.noise_std / self.record_norm)
            other = max(1.0 - ratio - 4.0 * math.ulp(1.0), 0.0)
        return Step(
            kind=kind,
            noise_multiplier=self.swap_noise_multiplier,
            sampling_probability=sampling_probability,
            other=other,
        )

    def neighbours(self, adjacency: Adjacency, touched: tuple[int, ...]) -> NeighbouringDataSets:
        """One record and none (or the special one), or one record and its mirror image."""
        return self._poisson(self._drawn).neighbours(adjacency, touched)

    def with_one_more_record(self) -> Event:
        """The sample is drawn from one record more."""
        return replace(self, population_size=self.population_size + 1)


def binomial_tail(
    count: int,  # Number of trials, >= 0
    probability: float,  # In [0, 1]; it may carry a few roundings
    least: int,  # Any integer
) -> tuple[float, float]:
    """P(K >= least) for K binomial: a lower and an upper bound.

    Raises ArithmeticError if 2^14 bits do not suffice.
    """
    if least <= 0:
        return 1.0, 1.0
    if least > count or probability == 0.0:
        return 0.0, 0.0
    if probability == 1.0:
        return 1.0, 1.0
    low = _tail(count, probability * (1.0 - _MARGIN), least)
    high = _tail(count, min(probability * (1.0 + _MARGIN), 1.0), least)
    return max(float_below(low), 0.0), min(float_above(high), 1.0)


def _tail(count: int, probability: float, least: int) -> arb:
    if probability == 1.0:
        return arb(1)
    bits = _START
    while bits <= _MOST:
        with ctx.workprec(bits):
            # The regularised incomplete beta function (Abramowitz and Stegun, 26.5.24).
            found = arb(probability).beta_lower(least, count - least + 1, regularized=True)
            if found.is_finite() and found.rad() < abs(found.mid()) * arb(2) ** -50:
                return found
        bits *= 2
    raise ArithmeticError(f"A binomial tail P(K >= {least}) of {count} trials was not enclosed.")
