"""DP-CDA's mixing without its noise: the rows of its Table 2 at epsilon = infinity."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.preprocessing import Scaling, clip_rows
from rdpkit.mechanisms.releases.release import Release, release

from rdpkit import _validate


def synthesize(
    features: NDArray[Any],
    labels: NDArray[Any],
    *,
    classes: int,
    samples_per_class: int,
    order_of_mixture: int,
    seed: int,
    scaling: Scaling,
    noise: NoiseSource,
    clip_norm: float | None = None,
) -> Release:
    """Release means of records of one class, without noise.

    Guarantee
    ---------
    None: the manifest says ``private: false``. With one record a mean these are the records.

    Parameters
    ----------
    features : array of shape (n, d)
        Records.
    labels : array of int, shape (n,)
        Their labels, in [0, classes).
    classes : int
        Number of labels.
    samples_per_class : int
        Means of each class.
    order_of_mixture : int
        Records drawn without replacement from one class for each mean; at most the smallest class.
    seed : int
        Of the draws.
    scaling : Scaling
        Applied before clipping; Algorithm 1 takes the exact z-score.
    noise : NoiseSource
        Not used; every mechanism takes one.
    clip_norm : float, optional
        L2 norm to which records are clipped before mixing, as Algorithm 1 does.

    Returns
    -------
    Release

    Raises
    ------
    ValueError
        If a class has fewer than ``order_of_mixture`` records, or an argument is out of range.

    Source
    ------
    Saha, Tonoy and Imtiaz, DP-CDA, Algorithm 1 with both noises zero; Table 2, third column.
    """
    _validate.integer("samples_per_class", samples_per_class)
    _validate.integer("order_of_mixture", order_of_mixture)
    scaled = scaling.apply(features)
    rows = (scaled if clip_norm is None else clip_rows(scaled, clip_norm)).astype(np.float32)
    rng = np.random.default_rng(seed)
    mixed = np.empty((classes * samples_per_class, rows.shape[1]), np.float32)
    for label in range(classes):
        members = np.flatnonzero(labels == label)
        if len(members) < order_of_mixture:
            raise _validate.fail(
                "order_of_mixture",
                f"to be at most {len(members)} (the records of class {label})",
                order_of_mixture,
            )
        for sample in range(samples_per_class):
            drawn = rng.choice(members, order_of_mixture, replace=False, shuffle=False)
            mixed[label * samples_per_class + sample] = rows[drawn].mean(axis=0)
    return release(
        mixed,
        np.repeat(np.arange(classes), samples_per_class),
        event=None,
        delta=None,
        adjacency=None,
        parameters={
            "samples_per_class": samples_per_class,
            "order_of_mixture": order_of_mixture,
            "clip_norm": clip_norm,
            "scaling": scaling.as_dict(),
            "seed": seed,
        },
        noise=noise,
        notes=("means of private records without any noise",),
        mechanism="noiseless-mixing",
    )
