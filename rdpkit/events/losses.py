"""The pairs of distributions by which an event describes the privacy losses of a release.

An event only describes its pairs. :mod:`rdpkit.accountants.losses` composes them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, NewType

from rdpkit.events.pairs import Pair

StepKind = Literal["removed", "added", "replaced"]


class NoLossDistributionError(ValueError):
    """An event, or a part of one, of which no privacy loss distribution is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One release, as the pair of one-dimensional distributions that bounds it."""

    kind: StepKind
    """All Gaussians N(mean) have the variance z^2. "removed": (1-q) N(0) + q N(1) against N(0).
    "added": the same pair in the other direction. "replaced": at losses >= 0 the privacy profile of
    (1-q) N(0) + q N(1) against (1-q) N(0) + q N(other), and at losses < 0 its mirror image. With
    other = -1 this is the curve of the pair itself, and with q = 1 the curve of two Gaussians.
    """
    noise_multiplier: float  #: z
    sampling_probability: float  #: q in (0, 1]
    other: float = 0.0
    """For "replaced", the position of the new record if the old one is at 1; in [-1, 1)."""

    @property
    def is_gaussian(self) -> bool:
        """Whether the step is a pair of Gaussians; such steps compose to a pair of Gaussians."""
        return self.kind == "replaced" and self.sampling_probability == 1.0

    @property
    def is_a_pair(self) -> bool:
        """Whether one pair of distributions has exactly this curve, and can attain it."""
        return self.kind != "replaced" or self.is_gaussian or self.other == -1.0

    def reversed(self) -> Step:
        """The step with the two data sets exchanged."""
        exchanged: dict[StepKind, StepKind] = {"removed": "added", "added": "removed"}
        return replace(self, kind=exchanged.get(self.kind, self.kind))


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfilePoints:
    """One release that is (epsilons[i], deltas[i])-DP for every i, in both directions."""

    epsilons: tuple[float, ...]  # In nats, >= 0, strictly increasing
    deltas: tuple[float, ...]  # In [0, 1], nowhere increasing; upper bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class Several:
    """The same loss many times, independently, in one release."""

    loss: Step | ProfilePoints | Pair | Several
    count: int  # At least 1


Losses = tuple[Step | ProfilePoints | Pair | Several, ...]
"""The losses of one release, which add up; an empty tuple if it leaks nothing."""


Dominating = NewType("Dominating", Losses)
"""Losses that bound one release from above, whatever the adversary chose: for upper bounds."""

Attained = NewType("Attained", tuple[Losses, ...])
"""For each of some pairs of data sets, the losses that one release has between them: for lower
bounds. A type checker rejects this where :data:`Dominating` belongs, and the reverse."""


def attains(losses: Losses) -> Attained:
    """The losses of one release between two data sets that its event writes out or describes."""
    return Attained((losses,))


def sampled_step(
    kind: StepKind, *, noise_multiplier: float, sampling_probability: float, other: float = 0.0
) -> Losses:
    """The step of a release in which a record takes part with a probability, which may be 0 or 1.

    Parameters are those of :class:`Step`.
    """
    if sampling_probability == 0.0:
        return ()
    if sampling_probability == 1.0:
        # Every kind is then a pair of Gaussians, of which only the distance matters. Writing all of
        # them alike makes equal steps equal, and these compose exactly.
        kind, noise_multiplier, other = "replaced", noise_multiplier / (1.0 - other), 0.0
    step = Step(
        kind=kind,
        noise_multiplier=noise_multiplier,
        sampling_probability=sampling_probability,
        other=other,
    )
    return (step,)
