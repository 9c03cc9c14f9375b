"""Random projection: every record projected at random, clipped, plus noise. A baseline."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit import _validate
from rdpkit.mechanisms.algorithms.dpcda import clipped
from rdpkit.mechanisms.algorithms.local_perturbation import (
    SMALL,
    LocalPerturbationOptions,
    batches,
    event_of_one_record,
    opposite_records,
    release_noisy_records,
)
from rdpkit.mechanisms.algorithms.local_perturbation import SPEC as LOCAL_PERTURBATION
from rdpkit.mechanisms.parts.privacy import Privacy
from rdpkit.mechanisms.parts.records import Array, Records, Scaling
from rdpkit.mechanisms.parts.verify_target import target_of_records
from rdpkit.mechanisms.releases.computation import ON_PROCESSOR, Computation
from rdpkit.mechanisms.releases.release import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomProjectionOptions(LocalPerturbationOptions):
    """Options of random projection, besides those of local perturbation."""

    dimension: int  #: Number of coordinates after the projection
    projection_seed: int  #: Seed of :func:`projection_matrix`; public, and in the manifest


def projection_matrix(features: int, dimension: int, *, seed: int) -> Array:
    """A public matrix with independent N(0, 1 / dimension) entries, shape (features, dimension).

    The matrix does not depend on the data and is applied to test records as well, so it is drawn
    from a public seed. It adds no protection.
    """
    rows = int(_validate.integer("features", features))
    columns = int(_validate.integer("dimension", dimension))
    generator = np.random.default_rng(_validate.integer("projection_seed", seed, minimum=0))
    return generator.normal(0.0, 1.0 / math.sqrt(columns), (rows, columns))


def synthesize(
    features: NDArray[Any],
    labels: NDArray[Any],
    *,
    classes: int,
    options: RandomProjectionOptions,
    scaling: Scaling,
    privacy: Privacy,
    computation: Computation = ON_PROCESSOR,
) -> Release:
    """Release the random projection of every record, with noise, and its noisy label.

    Vectors are clipped *after* the projection, which may stretch them. So the guarantee needs no
    bound on the matrix.

    Arguments: see :class:`rdpkit.mechanisms.algorithms.specification.Mechanism`. Scaling comes
    before the projection. The adjacency must be replace-one.

    Guarantee
    ---------
    That of :func:`rdpkit.mechanisms.algorithms.local_perturbation.record_event` (and of the
    scaling's event, composed with it) at the delta of ``privacy`` under replace-one: an upper
    bound, in the manifest.

    Returns
    -------
    Release
        Features of shape (n, dimension), in the records' order, and integer labels.

    Source
    ------
    A baseline of DP-CDA's Table 3 and of Lee et al. 2019, after Xu et al. 2017 (DPPro, IEEE TIFS
    12(12)). Clipping replaces their account of how far the projection stretches vectors.
    """
    records = Records(features=features, labels=labels, classes=classes, scaling=scaling)
    matrix = projection_matrix(records.dimension, options.dimension, seed=options.projection_seed)
    return release_noisy_records(
        records,
        options,
        privacy=privacy,
        mechanism=SPEC.name,
        shape=(len(records), matrix.shape[1]),
        projection=matrix,
        computation=computation,
    )


def _projected(rows: Array, options: Mapping[str, Any]) -> Array:
    matrix = projection_matrix(rows.shape[1], options["dimension"], seed=options["projection_seed"])
    return clipped(rows @ matrix, options)


verify_target = target_of_records(
    event_of_one_record(SMALL, (), 0),
    partial(batches, options=SMALL, projection=projection_matrix(2, 3, seed=0)),
    pair=opposite_records,
)

SPEC = replace(
    LOCAL_PERTURBATION,
    name="random-projection",
    synthesize=synthesize,
    options=RandomProjectionOptions,
    prepare=_projected,
    verify=verify_target,
)
