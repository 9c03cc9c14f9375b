"""All rounds of one release, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdpkit.mechanisms.parts.labelled_images import Floats, Labels
from rdpkit.mechanisms.parts.moments.discriminant import (
    Discriminant,
    Means,
    at_radius,
    discriminant,
    means_of,
    whitened,
)
from rdpkit.mechanisms.parts.moments.rounds import (
    Array,
    Location,
    Moments,
    MomentShares,
    RoundView,
    noisy_location,
    noisy_moments,
    noisy_radius,
)
from rdpkit.mechanisms.parts.noise import NoiseSource

# The first view divides by this power of a group's variance: between none of it and all of it.
_POWER = 0.25
# Records are clipped at so many times their mean length.
_CLIPPED_AT = 1.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What was released of the records, and the means that it amounts to.

    Parameters
    ----------
    location : Location
    rounds : tuple of Moments
    means : Means
        Of all rounds together, in the view of the last one.
    counts : tuple of int
        Public or noisy numbers of records by class.
    """

    location: Location
    rounds: tuple[Moments, ...]
    means: Means
    counts: tuple[int, ...]

    def arrays(self) -> dict[str, Array]:
        """Everything by names, from which :func:`discriminant_of` makes the reader again."""
        last = self.rounds[-1]
        found = {
            "location_mean": self.location.mean,
            "location_variances": self.location.variances,
            "radii": np.array([one.view.radius for one in self.rounds]),
            "offset": last.view.offset,
            "matrix": np.atleast_1d(last.view.matrix),
            "means": self.means.values,
            "class_moments": last.by_class,
        }
        for number, one in enumerate(self.rounds, 1):
            found |= {f"sums_{number}": one.sums, f"moments_{number}": one.pooled}
        return found

    def numbers(self) -> Array:
        """All noisy numbers of the release in one row, those of a matrix once."""
        upper = np.triu_indices(len(self.location.mean))
        found = [self.location.mean, self.location.variances]
        for one in self.rounds:
            found += [np.array([one.view.radius]), one.sums.reshape(-1), one.pooled[upper]]
            block = np.triu_indices(one.by_class.shape[1])
            found += [matrix[block] for matrix in one.by_class]
        return np.concatenate(found)


def measure(
    rows: Floats,
    labels: Labels,
    *,
    groups: NDArray[np.int64],
    counts: Sequence[int],
    plan: MomentShares,
    block: int,
    std: float,
    noise: NoiseSource,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> Measured:
    """Release moments of the records, in ``plan.rounds`` rounds.

    Parameters
    ----------
    rows : float32 array of shape (n, d)
        Public features.
    labels : int64 array of shape (n,)
    groups : int array of shape (d,)
        Coordinates that have similar variances.
    counts : sequence of int
        Public or noisy numbers of records, one for each class.
    plan : MomentShares
        How the budget is divided.
    block : int
        Coordinates of which each class has second moments of its own.
    std : float
        Standard deviation of the noise of a release that has the whole budget.
    noise : NoiseSource
    report : callable
        Called with the number of rounds done, and of all.
    """
    sizes = tuple(max(1, int(count)) for count in counts)
    records, block = sum(sizes), min(block, rows.shape[1])
    location = noisy_location(rows, groups, records=records, plan=plan, std=std, noise=noise)
    view = RoundView(offset=location.mean, matrix=(location.variances**-_POWER)[groups], radius=1.0)
    means: Means | None = None
    done: list[Moments] = []
    for number in range(plan.rounds):
        radius = noisy_radius(
            rows, view, factor=_CLIPPED_AT, records=records, plan=plan, std=std, noise=noise
        )
        view, means = at_radius(view, means, radius)
        found = noisy_moments(
            rows, labels, view, classes=len(sizes), block=block, plan=plan, number=number, std=std,
            noise=noise,
        )  # fmt: skip
        done.append(found)
        means = means_of(found, sizes, means)
        report(number + 1, plan.rounds)
        if number < plan.rounds - 1:
            view, means = whitened(found, means, sizes)
    assert means is not None
    return Measured(location=location, rounds=tuple(done), means=means, counts=sizes)


def discriminant_of(
    arrays: Mapping[str, NDArray[np.floating]],
    *,
    counts: Sequence[int],
    plan: MomentShares,
    std: float,
) -> tuple[RoundView, Discriminant]:
    """The view and the reader of a release, from its arrays.

    Parameters
    ----------
    arrays : mapping
        As :meth:`Measured.arrays` names them.
    counts, plan, std
        As for :func:`measure`.
    """
    exact = {name: np.asarray(array, dtype=np.float64) for name, array in arrays.items()}
    view = RoundView(
        offset=exact["offset"], matrix=exact["matrix"], radius=float(exact["radii"][-1])
    )
    last = Moments(
        view=view,
        sums=exact[f"sums_{plan.rounds}"],
        pooled=exact[f"moments_{plan.rounds}"],
        by_class=exact["class_moments"],
        noise=plan.noise(plan.rounds - 1, std),
    )
    sizes = tuple(max(1, int(count)) for count in counts)
    means = Means(values=exact["means"], variances=np.zeros(len(view.offset)))
    return view, discriminant(last, means, sizes)


__all__ = ["Measured", "discriminant_of", "measure"]
