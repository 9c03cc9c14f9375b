"""The private records themselves: a baseline without privacy, for the accuracy of releases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit.mechanisms.algorithms.specification import Mechanism
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.releases.release import Release, release_without_guarantee


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginalOptions:
    """Options of the original records, of which there are none."""


def synthesize(
    features: NDArray[Any],
    labels: NDArray[Any],
    *,
    noise: NoiseSource,
    image_shape: tuple[int, int, int] | None = None,
) -> Release:
    """Release the records as they are.

    Guarantee
    ---------
    None: the manifest says ``private: false``.
    """
    return release_without_guarantee(
        features,
        labels,
        mechanism=SPEC.name,
        parameters={} if image_shape is None else {"image_shape": list(image_shape)},
        notes=("the private records themselves",),
        noise=noise,
    )


def read(
    made: Release,  # Images in [0, 1] as :func:`synthesize` returns them, with their shape
    rows: NDArray[np.float32],  # Other records; shape (n, d)
) -> NDArray[np.int64]:
    """What a linear classifier on scattering features, trained on the records, says of others."""
    # It needs torch, which the records themselves do not.
    from rdpkit.mechanisms.algorithms.scattering_dpsgd import without_privacy  # noqa: PLC0415

    shape = made.manifest.parameters.get("image_shape")
    if not isinstance(shape, list):
        raise ValueError("Expected records of an image_shape, which the reader needs, got none.")
    labels = np.asarray(made.labels, np.int64)
    images = np.asarray(made.features, np.float32).reshape(len(labels), *shape)
    tested = rows.reshape(len(rows), *shape)
    return without_privacy(images, labels, tested, classes=int(labels.max()) + 1)


SPEC = Mechanism(
    name="original",
    synthesize=synthesize,
    options=OriginalOptions,
    kind="real records",
    reader=read,
)
