"""How an event tells which privacy losses a release has: as the pairs of distributions behind it.

An event only describes its pairs. What they add up to is computed in
:mod:`rdpkit.accountants.losses`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

Kind = Literal["removed", "added", "replaced"]


class NoLossDistributionError(ValueError):
    """An event, or a part of one, of which no privacy loss distribution is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One release, as the pair of one-dimensional distributions that bounds it.

    Parameters
    ----------
    kind : {"removed", "added", "replaced"}
        "removed": (1-q) N(0) + q N(1) against N(0), variance z^2. "added": the same with the two
        exchanged. "replaced": the privacy profile of (1-q) N(0) + q N(1) against
        (1-q) N(0) + q N(other) at losses >= 0, and its mirror image to the left. With other = -1
        it is that pair's own curve, and with q = 1 that of two Gaussians.
    noise_multiplier : float
        z.
    sampling_probability : float
        q in (0, 1].
    other : float
        For "replaced", where the second value of the record is if the first is at 1: in [-1, 1).
    """

    kind: Kind
    noise_multiplier: float
    sampling_probability: float
    other: float = 0.0

    @property
    def is_gaussian(self) -> bool:
        """Whether the step is a pair of Gaussians, which all compose to one."""
        return self.kind == "replaced" and self.sampling_probability == 1.0

    @property
    def is_a_pair(self) -> bool:
        """Whether one pair of distributions has exactly this curve, so that it can be attained."""
        return self.kind != "replaced" or self.is_gaussian or self.other == -1.0

    def reversed(self) -> Step:
        """The step with the two data sets exchanged."""
        exchanged: dict[Kind, Kind] = {"removed": "added", "added": "removed"}
        return replace(self, kind=exchanged.get(self.kind, self.kind))


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfilePoints:
    """One release that is (epsilons[i], deltas[i])-DP for every i, in both directions.

    Parameters
    ----------
    epsilons : tuple of float
        In nats, >= 0, strictly increasing.
    deltas : tuple of float
        In [0, 1], nowhere increasing; upper bounds.
    """

    epsilons: tuple[float, ...]
    deltas: tuple[float, ...]


Losses = tuple[Step | ProfilePoints, ...]
"""What one release amounts to; nothing at all if it leaks nothing."""


def sampled_step(
    kind: Kind, *, noise_multiplier: float, sampling_probability: float, other: float = 0.0
) -> Losses:
    """The step of a release that a record joins with some probability, which may be 0 or 1.

    Parameters are those of :class:`Step`.
    """
    if sampling_probability == 0.0:
        return ()
    if sampling_probability == 1.0:
        # All kinds are then one Gaussian pair, up to its distance; equal steps compose exactly.
        kind, noise_multiplier, other = "replaced", noise_multiplier / (1.0 - other), 0.0
    step = Step(
        kind=kind,
        noise_multiplier=noise_multiplier,
        sampling_probability=sampling_probability,
        other=other,
    )
    return (step,)
