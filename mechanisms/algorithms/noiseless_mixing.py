"""DP-CDA's mixing without its noise: the rows of its Table 2 at epsilon = infinity."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit import _validate
from rdpkit.mechanisms.algorithms.dpcda import clipped
from rdpkit.mechanisms.algorithms.specification import Mechanism
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.records import Scaling, flat_rows
from rdpkit.mechanisms.releases.release import Release, release_without_guarantee


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiselessMixingOptions:
    """Options of mixing without noise."""

    samples_per_class: int  # Means of each class
    order_of_mixture: int
    """Records drawn without replacement from one class for each mean; at most the smallest class.
    """
    clip_norm: float | None = None
    """L2 norm to which records are clipped before mixing, as Algorithm 1 does."""

    def __post_init__(self) -> None:
        _validate.integer("samples_per_class", self.samples_per_class)
        _validate.integer("order_of_mixture", self.order_of_mixture)
        if self.clip_norm is not None:
            _validate.positive("clip_norm", self.clip_norm)


def synthesize(
    features: NDArray[Any],
    labels: NDArray[Any],
    *,
    classes: int,
    options: NoiselessMixingOptions,
    seed: int,
    scaling: Scaling,
    noise: NoiseSource,
) -> Release:
    """Release means of records of one class, without noise.

    Guarantee
    ---------
    None: the manifest says ``private: false``. With ``order_of_mixture=1`` the release consists of
    private records.

    Source
    ------
    Saha, Tonoy and Imtiaz, DP-CDA, Algorithm 1 with both noises zero; Table 2, third column.
    """
    count, order = options.samples_per_class, options.order_of_mixture
    rows = clipped(scaling.apply(flat_rows(features)), asdict(options)).astype(np.float32)
    rng = np.random.default_rng(seed)
    mixed = np.empty((classes * count, rows.shape[1]), np.float32)
    for label in range(classes):
        members = np.flatnonzero(labels == label)
        if len(members) < order:
            condition = f"to be at most {len(members)} (the records of class {label})"
            raise _validate.fail("order_of_mixture", condition, order)
        for sample in range(count):
            drawn = rng.choice(members, order, replace=False, shuffle=False)
            mixed[label * count + sample] = rows[drawn].mean(axis=0)
    return release_without_guarantee(
        mixed.reshape(len(mixed), *features.shape[1:]),
        np.repeat(np.arange(classes), count),
        mechanism=SPEC.name,
        parameters={**asdict(options), "scaling": scaling.as_dict(), "seed": seed},
        notes=("means of private records without any noise",),
        noise=noise,
    )


SPEC = Mechanism(
    name="noiseless-mixing",
    synthesize=synthesize,
    options=NoiselessMixingOptions,
    prepare=clipped,
)
