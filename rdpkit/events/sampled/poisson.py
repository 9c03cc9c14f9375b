"""Releases from a Poisson sample of the records: noisy sums, and any others."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar

from flint import arb, ctx

from rdpkit.adjacency import Adjacency
from rdpkit.events.base import DescribedEvent, Event, check_samples
from rdpkit.events.data_sets import NeighbouringDataSets, one_record_changed
from rdpkit.events.fields import diameter, event_class, noise, norm, part, probability
from rdpkit.events.gaussian import Gaussian
from rdpkit.events.geometry import record_move
from rdpkit.events.losses import (
    Attained,
    Dominating,
    Losses,
    NoLossDistributionError,
    StepKind,
    attains,
    sampled_step,
)
from rdpkit.events.noise.integers import DiscreteGaussian
from rdpkit.events.noise.laplace import DiscreteLaplace, Laplace
from rdpkit.events.pairs import (
    LeastOf,
    OpposedLaplacePair,
    Pair,
    SampledPair,
    SampledReplacement,
    StatedPair,
)
from rdpkit.events.sampled.contributions import UserSampledGaussian


@event_class
class PoissonSampledGaussian(DescribedEvent):
    """The sum over a Poisson sample of the records plus Gaussian noise, released once.

    Released: sum of b_i x_i + N(0, noise_std^2 I), where each b_i is 1 with probability
    ``sampling_probability`` and 0 otherwise, independently of all others.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.PoissonSampledGaussian(
    ...     noise_std=1.0, record_norm=1.0, sampling_probability=0.01
    ... )
    >>> steps = rdpkit.Repeated(event=event, count=1000)
    >>> round(rdpkit.epsilon(steps, delta=1e-5, adjacency="add_or_remove_one").epsilon, 3)
    1.828
    """

    mechanism: ClassVar[str] = "poisson_sampled_gaussian"
    # The records of the group are equal.
    groups_are_attained = True

    noise_std: float = noise()
    record_norm: float = norm()
    sampling_probability: float = probability(
        "Probability with which each record joins, independently of all others"
    )
    record_diameter: float | None = diameter(more="It matters under replace-one only", default=None)

    def noise_multiplier(self, adjacency: Adjacency) -> float:
        """Noise standard deviation over how far one record moves the sum under ``adjacency``."""
        return self.noise_std / record_move(self, adjacency)

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """A mixture against a Gaussian if a record is removed; two mixtures if it is replaced.

        The special record adds zero whether it is drawn or not, as if it were not there.
        """
        match adjacency:
            case Adjacency.ADD_OR_REMOVE_ONE | Adjacency.ZERO_OUT:
                return Dominating(self._step("removed", self.noise_multiplier(adjacency)))
            case Adjacency.REPLACE_ONE:
                return Dominating(self._step("replaced", *self._farthest()))

    def attained(self, adjacency: Adjacency) -> Attained:
        """The same where a record is removed; where it is replaced, records x and -x."""
        match adjacency:
            case Adjacency.ADD_OR_REMOVE_ONE | Adjacency.ZERO_OUT:
                return attains(self._step("removed", self.noise_multiplier(adjacency)))
            case Adjacency.REPLACE_ONE:
                return attains(self._step("replaced", self._opposed(), -1.0))

    def _step(self, kind: StepKind, noise_multiplier: float, other: float = 0.0) -> Losses:
        return sampled_step(
            kind,
            noise_multiplier=noise_multiplier,
            sampling_probability=self.sampling_probability,
            other=other,
        )

    def _opposed(self) -> float:
        """Noise over the norm of x and -x, which is record_norm or half of the diameter."""
        at_norm = self.noise_multiplier(Adjacency.ADD_OR_REMOVE_ONE)
        return max(2.0 * self.noise_multiplier(Adjacency.REPLACE_ONE), at_norm)

    def _farthest(self) -> tuple[float, float]:
        """Noise multiplier, and the position of the new record if the old one is at 1 on a line.

        In the pair that dominates all others the old record is at the norm, and the new record as
        far from it as allowed, which may be on the other side of the origin (theory page "Poisson
        sampling under replace-one").
        """
        at_norm = self.noise_multiplier(Adjacency.ADD_OR_REMOVE_ONE)
        diameter = self.record_diameter
        if diameter is None or diameter >= 2.0 * self.record_norm:
            return at_norm, -1.0
        if diameter == self.record_norm:
            return at_norm, 0.0
        # The roundings of the quotient and the difference are covered by moving the record farther.
        return at_norm, max(1.0 - diameter / self.record_norm - 4.0 * math.ulp(1.0), -1.0)

    def in_groups(self, size: int) -> Event:
        """The group is a user with so many records."""
        if self.sampling_probability in (0.0, 1.0):
            return replace(self, record_norm=size * self.record_norm, record_diameter=None)
        return UserSampledGaussian(
            noise_std=self.noise_std,
            record_norm=self.record_norm,
            sampling_probability=self.sampling_probability,
            records_per_user=size,
        )

    def neighbours(self, adjacency: Adjacency, touched: tuple[int, ...]) -> NeighbouringDataSets:
        """One record and none (or the special one), or one record and its mirror image."""
        position = self.record_norm
        if adjacency is Adjacency.REPLACE_ONE:
            position = self.noise_std / self._opposed()
        return one_record_changed(adjacency, changed=position, replacement=-position)


# Losses of samples that are drawn more rarely are too close to each other for floats. From above a
# record is drawn so often then, and from below never.
LEAST = 1e-9
# Between these the least of two curves is computed; beyond them one of the two is.
_LEAST_LOSS, _MOST_LOSS = 1e-30, 1e100

SUMS = (Laplace, DiscreteLaplace, DiscreteGaussian)


def one_pair(event: Event, losses: Losses) -> Pair:
    """The only pair among the losses of an event."""
    if len(losses) == 1 and isinstance(losses[0], Pair):
        return losses[0]
    raise NoLossDistributionError(
        "The losses of a sample are known where one release with one known pair of "
        f"distributions is made from it, got {event.mechanism!r}."
    )


def _largest_loss(distance: float, q: float) -> float:
    """No loss exceeds it if a record that joins changes all densities by e^distance at most."""
    with ctx.workprec(128):
        more, less = ((sign * arb(distance)).expm1() for sign in (1, -1))
        found = (q * more).log1p() - (q * less).log1p()
    # The distance is rounded, which counts as often as it is large.
    return float(found.mid()) * (1.0 + 8.0 * (1.0 + distance) * math.ulp(1.0))


@event_class
class PoissonSampled(DescribedEvent):
    """Any release, from a Poisson sample of the records instead of all of them.

    Released: the output of ``event`` on a sample that every record joins with probability
    ``sampling_probability``, independently of all others. Who is in the sample is not released. If
    ``event`` is made of several releases, all of them see the same sample.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.PoissonSampled(
    ...     event=rdpkit.ZeroConcentrated(rho=0.5, adjacency="add_or_remove_one"),
    ...     sampling_probability=0.01,
    ... )
    >>> steps = rdpkit.Repeated(event=event, count=1000)
    >>> round(rdpkit.epsilon(steps, delta=1e-5, adjacency="add_or_remove_one").epsilon, 3)
    2.107
    """

    mechanism: ClassVar[str] = "poisson_sampled"
    expansion_is_attained = True

    event: Event = part("What is released from the sample")
    sampling_probability: float = probability(
        "Probability with which each record joins, independently of all others"
    )

    def _check_together(self) -> None:
        check_samples(self.event)

    def expand(self) -> Event | None:
        """The Gaussian mechanism on a sample has theorems of its own; so has the whole data set."""
        if self.sampling_probability == 1.0:
            return self.event
        if isinstance(self.event, Gaussian):
            return PoissonSampledGaussian(
                noise_std=self.event.noise_std,
                record_norm=self.event.record_norm,
                record_diameter=self.event.record_diameter,
                sampling_probability=self.sampling_probability,
            )
        return None

    def assumptions(self) -> tuple[str, ...]:
        """Those of the event."""
        return self.event.assumptions()

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """The pair of the event, mixed with what is released without the record.

        Where a record is replaced, the curve above it that joint convexity gives.
        """
        if self.sampling_probability == 0.0:
            return Dominating(())
        # A record that is drawn as often as floats resolve leaks no less than a rarer one.
        q = max(self.sampling_probability, LEAST)
        self._check_relation(adjacency)
        pair = one_pair(self.event, self.event.dominating(adjacency))
        if adjacency is not Adjacency.REPLACE_ONE:
            return Dominating((SampledPair(kind="removed", pair=pair, sampling_probability=q),))
        removed = one_pair(self.event, self.event.dominating(Adjacency.ADD_OR_REMOVE_ONE))
        both = SampledReplacement(replaced=pair, removed=removed, sampling_probability=q)
        if not isinstance(self.event, Laplace | DiscreteLaplace):
            return Dominating((both,))
        distance = self.event.sensitivity(Adjacency.ADD_OR_REMOVE_ONE) / self.event.noise_scale
        if not _LEAST_LOSS < distance < _MOST_LOSS:
            return Dominating((both,))
        bounded = StatedPair(epsilon=_largest_loss(distance, q), delta=0.0)
        return Dominating((LeastOf(branches=(both, bounded)),))

    def attained(self, adjacency: Adjacency) -> Attained:
        """The pair of the event, mixed; where a record is replaced, two opposite ones."""
        q = self.sampling_probability
        if q < LEAST:
            return attains(())
        self._check_relation(adjacency)
        if adjacency is not Adjacency.REPLACE_ONE:
            found = [one_pair(self.event, losses) for losses in self.event.attained(adjacency)]
            return Attained(
                tuple(
                    (SampledPair(kind="removed", pair=pair, sampling_probability=q),)
                    for pair in found
                )
            )
        if not isinstance(self.event, Laplace):
            raise NoLossDistributionError(
                f"No data sets are known that show what a sample of {self.event.mechanism!r} tells "
                "under replace_one."
            )
        distance = 0.5 * self.event.distance(Adjacency.REPLACE_ONE)
        return attains((OpposedLaplacePair(distance=distance, sampling_probability=q),))

    def _check_relation(self, adjacency: Adjacency) -> None:
        """Whether an absent record and a special one look alike is known for noisy sums alone.

        So is how the sensitivities under two relations compare.
        """
        if adjacency is not Adjacency.ADD_OR_REMOVE_ONE and not isinstance(self.event, SUMS):
            raise NoLossDistributionError(
                f"For a sample of {self.event.mechanism!r} no privacy loss distribution is known "
                f"under {adjacency.value}."
            )

    def with_one_more_record(self) -> Event:
        """The same release: a larger data set changes nothing else."""
        return self
