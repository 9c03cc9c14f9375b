"""Pairs of distributions other than Gaussians on a sample, by which events describe their losses.

Like :class:`rdpkit.events.losses.Step`, these only describe. Every class here has its curve, its
tails and its points in a module of ``rdpkit.accountants.losses.kinds``. A description says whether
it is a pair (``is_a_pair``), which data sets can attain, or a curve that lies above all pairs; and
what it is with the two data sets exchanged (``reversed``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

Side = Literal["removed", "added"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SymmetricPair:
    """A pair whose curve is that of the pair with the data sets exchanged."""

    is_a_pair: ClassVar[bool] = True

    def reversed(self) -> Self:
        """The pair itself."""
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class SidedPair:
    """A mixture against another distribution, or the reverse."""

    kind: Side
    """"removed": the mixture is the first member. "added": it is the second; one of {"removed",
    "added"}.
    """

    def reversed(self) -> Self:
        """The two members exchanged."""
        return replace(self, kind="added" if self.kind == "removed" else "removed")


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchedCurve:
    """A curve made of several."""

    is_a_pair: ClassVar[bool] = False

    branches: tuple[Any, ...]  # Steps of :mod:`rdpkit.events.losses`, or pairs of this module

    def reversed(self) -> Self:
        """Every one of them with its members exchanged."""
        return replace(self, branches=tuple(branch.reversed() for branch in self.branches))


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplacePair(SymmetricPair):
    """Two Laplace distributions of scale 1."""

    distance: float
    """Between their centres: the sensitivity over the scale of the noise, perhaps with a few
    roundings; above 0.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteLaplacePair(SymmetricPair):
    """Two discrete Laplace distributions: integers k with probabilities in e^(-rate abs(k))."""

    rate: float  # One over the scale of the noise, perhaps with a few roundings; above 0
    distance: int  # Between their centres; at least 1


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteGaussianPair(SymmetricPair):
    """Two discrete Gaussians: integers k with probabilities in e^(-k^2 / (2 sigma^2))."""

    sigma: float  # The parameter of the noise, taken as exact; above 0
    distance: int  # Between their centres; at least 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SkellamPair(SymmetricPair):
    """Two symmetric Skellam distributions, each the difference of two Poisson variables."""

    variance: float  # Of each of them, taken as exact; above 0
    distance: int  # Between their centres; at least 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponsePair(SymmetricPair):
    """Randomised response: losses of epsilon, 0 and -epsilon."""

    noise_parameter: float
    """Probability that a bucket is drawn at random, in (0, 1); taken as exact."""
    num_buckets: int  #: At least 2


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoOutcomes:
    """Two outcomes whose probabilities are known up to roundings."""

    is_a_pair: ClassVar[bool] = True

    # Probability of the first outcome on either data set, in (0, 1); off by 2^-44 of it at most.
    first: float
    second: float

    def reversed(self) -> TwoOutcomes:
        """The other data set first."""
        return TwoOutcomes(first=self.second, second=self.first)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcomes:
    """A handful of outcomes, the most telling of the first data set first.

    Probabilities are off by 2^-44 of each of them at most, and 0 where they are exactly that.
    """

    is_a_pair: ClassVar[bool] = True

    first: tuple[float, ...]  #: Probabilities on the first data set, which add up to 1
    second: tuple[float, ...]  #: Probabilities on the second data set, in the same order

    def reversed(self) -> Outcomes:
        """The other data set first, and what is most telling of it."""
        return Outcomes(first=self.second[::-1], second=self.first[::-1])


@dataclass(frozen=True, slots=True, kw_only=True)
class TruncatedLaplacePair(SymmetricPair):
    """Two Laplace distributions of scale 1, both of them cut at a distance from their centres."""

    is_a_pair: ClassVar[bool] = True

    distance: float  # Between the centres, perhaps with a few roundings; above 0
    reach: float  # Where they end, perhaps with a few roundings; more than half of the distance


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedRange(SymmetricPair):
    """The curve above all mechanisms whose losses lie in [t - epsilon, t] for some t."""

    is_a_pair: ClassVar[bool] = False

    epsilon: float  # The length of the range, perhaps with a few roundings; above 0
    largest: float | None = None
    """What no loss exceeds, in either order of the data sets: at least half of epsilon, perhaps
    with a few roundings.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianMixturePair(SidedPair):
    """A mixture of Gaussians against the one at 0, or the reverse."""

    is_a_pair: ClassVar[bool] = True

    noise_std: float  #: Standard deviation of all of them; exact
    positions: tuple[float, ...]  #: Centres, >= 0, not all of them 0; exact
    weights: tuple[float, ...]
    """Numbers above 0 that the probabilities of the centres are in proportion to; exact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledPair(SidedPair):
    """A record that takes part with a probability: (1-q) Q + q P against Q, or the reverse."""

    pair: Pair  # P and Q: the release with and without the record, if it is certain to take part
    sampling_probability: float  # q, in (0, 1); perhaps with a few roundings

    @property
    def is_a_pair(self) -> bool:
        """Whether P and Q are a pair."""
        return self.pair.is_a_pair


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledReplacement(SymmetricPair):
    """The curve above (1-q) R + q P against (1-q) R + q Q: a record of a sample is replaced."""

    is_a_pair: ClassVar[bool] = False

    replaced: Pair  # A symmetric pair above P against Q, and Q against P
    removed: Pair  # A pair above P against R, and Q against R
    sampling_probability: float  # q, in (0, 1); perhaps with a few roundings


@dataclass(frozen=True, slots=True, kw_only=True)
class OpposedLaplacePair(SymmetricPair):
    """(1-q) L(0) + q L(distance) against (1-q) L(0) + q L(-distance), Laplace of scale 1."""

    distance: float  # Perhaps with a few roundings; above 0
    sampling_probability: float  # q, in (0, 1); perhaps with a few roundings


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedPair(SymmetricPair):
    """The worst mechanism that is (epsilon, delta)-DP: four outcomes."""

    epsilon: float  # In nats, > 0; exact
    delta: float  # In [0, 1); exact


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocatedPair(SidedPair):
    """The mean of t Gaussians, each moved by 1 along its own axis, against the Gaussian at 0.

    It is what a record leaks that is in one of t batches, which one at random. If another takes its
    place, all are moved under the second member, too; then the curve is only known from below, and
    so it is if the record is in several batches.

    Parameters
    ----------
    noise_multiplier : float
        Standard deviation of every Gaussian on every axis, perhaps with a few roundings; above 0.
    batches : int
        t, at least 2.
    second : float
        How far all are moved under the second member, in [-1, 1).
    shares : int
        In how many of the batches the record is: all sets of so many are equally probable.
    rate : float
        The test of several shares, or of two members that are moved, adds up losses. They are those
        of batches that the record joins with this part of shares / batches, in (0, 1].
    """

    # Data sets attain it, but its curve is only known from above and from below: where the noise is
    # small, or delta, another theorem may say more.
    is_a_pair: ClassVar[bool] = False

    noise_multiplier: float
    batches: int
    second: float = 0.0
    shares: int = 1
    rate: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocatedMoves:
    """The curve above all that one of k noisy sums reveals, which one at random, if it is moved.

    It is N(u) on one data set and N(v) on the other, u and v known before it is seen, and with a
    probability no sum is moved. What may be moved how far is a matter of two of these pairs.

    Parameters
    ----------
    noise_multiplier : float
        Standard deviation of every Gaussian on every axis, perhaps with a few roundings; above 0.
    batches : int
        k, at least 2.
    presence : float
        The probability with which one is moved, in (0, 1], perhaps with a few roundings.
    gains, losses : tuple of two floats
        (u, v), u above v, on one line: the moves for which E(A_u - lambda A_v - x)_+ is largest at
        every x >= 0 and lambda >= 1, and E(lambda A_u - A_v - x)_+, A the ratio to N(0).
    """

    is_a_pair: ClassVar[bool] = False

    noise_multiplier: float
    batches: int
    gains: tuple[float, float]
    losses: tuple[float, float]
    presence: float = 1.0

    def reversed(self) -> AllocatedMoves:
        """The two data sets exchanged."""
        return replace(self, gains=self.losses, losses=self.gains)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShuffledMaximum(SidedPair):
    """The largest of k noisy sums of shuffled batches, one of which has a record more.

    With probability ``presence`` one of k independent Gaussians is centred at 2, or, for the second
    member, at ``second``; all others are at 0. Otherwise all are at 0. What is seen is the largest.
    """

    is_a_pair: ClassVar[bool] = True

    noise_multiplier: float
    """Standard deviation of the Gaussians, perhaps with a few roundings; above 0."""
    batches: int  #: k, at least 1
    presence: float  #: In (0, 1], perhaps with a few roundings
    second: int = 1
    """1 if the record has a gradient of 0 in the second data set, 0 if it is not there, or looks
    like all others; one of {1, 0}.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchedPair(BranchedCurve):
    """One of several pairs, chosen at random, and it is seen which."""

    weights: tuple[float, ...]  # Upper bounds on the probabilities of the branches
    # Upper bounds on them under the second member, where they are not the same; above 0.
    second: tuple[float, ...] | None = None
    off: float = 0.0  # The part of a bound that it may be too large by, if there are two

    def reversed(self) -> Self:
        """Every one of them with its members exchanged, and the probabilities."""
        branches = tuple(branch.reversed() for branch in self.branches)
        if self.second is None:
            return replace(self, branches=branches)
        return replace(self, branches=branches, weights=self.second, second=self.weights)


@dataclass(frozen=True, slots=True, kw_only=True)
class LargestOf(BranchedCurve):
    """The curve above several pairs, one of which is chosen after earlier outputs were seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeastOf(BranchedCurve):
    """The largest convex curve below several curves, each of which bounds the same release."""


Pair = (
    AllocatedMoves
    | AllocatedPair
    | BranchedPair
    | LargestOf
    | LeastOf
    | ShuffledMaximum
    | LaplacePair
    | DiscreteLaplacePair
    | DiscreteGaussianPair
    | SkellamPair
    | ResponsePair
    | TwoOutcomes
    | Outcomes
    | TruncatedLaplacePair
    | BoundedRange
    | GaussianMixturePair
    | SampledPair
    | SampledReplacement
    | OpposedLaplacePair
    | StatedPair
)
"""Every description of this module."""
