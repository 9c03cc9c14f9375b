"""All that one release asks of the records, and the reader that it amounts to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdpkit.mechanisms.parts.labelled_images import Floats, Labels
from rdpkit.mechanisms.parts.moments.basis import Array
from rdpkit.mechanisms.parts.moments.discriminant import Discriminant, discriminant
from rdpkit.mechanisms.parts.moments.noisy import (
    CentredView,
    Moments,
    MomentShares,
    noisy_moments,
    noisy_view,
)
from rdpkit.mechanisms.parts.noise import NoiseSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What was released of the records."""

    view: CentredView
    moments: Moments

    def arrays(self) -> dict[str, Array]:
        """Everything by names, from which :func:`discriminant_of` makes the reader again."""
        return {
            "offset": self.view.offset,
            "radius": np.array([self.view.radius]),
            "class_sums": self.moments.sums,
            "moments": self.moments.pooled,
            "class_moments": self.moments.by_class,
            "class_counts": self.moments.counts,
        }

    def numbers(self) -> Array:
        """All noisy numbers of the release in one row, those of a matrix once."""
        upper = np.triu_indices(len(self.moments.pooled))
        block = np.triu_indices(self.moments.by_class.shape[1])
        found = [self.view.offset, np.array([self.view.radius]), self.moments.sums.reshape(-1)]
        found += [self.moments.pooled[upper], *(own[block] for own in self.moments.by_class)]
        return np.concatenate([*found, self.moments.counts])


def measure(
    rows: Floats | Array,  # Public features; shape (n, d)
    labels: Labels,  # Shape (n,)
    *,
    classes: int,  # Number of classes
    records: int,  # A public or noisy number of records
    plan: MomentShares,  # How the budget is divided
    block: int,  # Coordinates of which each class has second moments of its own
    std: float,  # Standard deviation of the noise of a release that has the whole budget
    noise: NoiseSource,
) -> Measured:
    """Release moments of the records."""
    known = max(1, records)
    view = noisy_view(rows, records=known, plan=plan, std=std, noise=noise)
    moments = noisy_moments(
        rows, labels, view, classes=classes, block=min(block, rows.shape[1]), records=known,
        plan=plan, std=std, noise=noise,
    )  # fmt: skip
    return Measured(view=view, moments=moments)


def discriminant_of(
    arrays: Mapping[str, NDArray[np.floating]],  # As :meth:`Measured.arrays` names them
    *,
    # As for :func:`measure`.
    records: int,
    plan: MomentShares,
    std: float,
) -> tuple[CentredView, Discriminant]:
    """The view and the reader of a release, from its arrays."""
    exact = {name: np.asarray(array, dtype=np.float64) for name, array in arrays.items()}
    moments = Moments(
        sums=exact["class_sums"],
        pooled=exact["moments"],
        by_class=exact["class_moments"],
        counts=exact["class_counts"],
        noise=plan.noise(std),
    )
    view = CentredView(offset=exact["offset"], radius=float(exact["radius"][0]))
    return view, discriminant(moments, max(1, records))
