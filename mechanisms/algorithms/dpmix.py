"""DPMix: noisy means of records and of their one-hot labels (Lee et al. 2019)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit.events import ClassWiseDPMix, DPMix
from rdpkit.mechanisms.algorithms.specification import Mechanism
from rdpkit.mechanisms.parts.counts import BOUND_OF_ALL
from rdpkit.mechanisms.parts.mixing import Mixer, mixed
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.privacy import Privacy
from rdpkit.mechanisms.parts.records import Batch, Records, Scaling, left_out
from rdpkit.mechanisms.parts.verify_target import target_of_records
from rdpkit.mechanisms.releases.computation import ON_PROCESSOR, Computation
from rdpkit.mechanisms.releases.release import Release
from rdpkit.mechanisms.releases.streaming import as_parameters, release_batches

UNIT_BOX = (0.0, 1.0)
"""Every coordinate of a record is cut to these limits; the account assumes them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DPMixOptions:
    """Options of DPMix, with the letters of the paper."""

    releases: int  #: Number of synthetic records (T)
    order_of_mixture: int  #: Records drawn without replacement for each of them (l)
    #: Standard deviations of the noise on each coordinate of the two means, both > 0.
    feature_noise: float
    label_noise: float  #: As ``feature_noise``


def synthesize(
    features: NDArray[Any],
    labels: NDArray[Any],
    *,
    classes: int,
    options: DPMixOptions,
    scaling: Scaling,
    privacy: Privacy,
    computation: Computation = ON_PROCESSOR,
) -> Release:
    """Release means of records drawn from the whole data set, with soft labels.

    Arguments: see :class:`rdpkit.mechanisms.algorithms.specification.Mechanism`. After scaling,
    coordinates are cut to [0, 1].

    Guarantee
    ---------
    That of :class:`rdpkit.DPMix` (and of the scaling's event, composed with it) at the delta and
    the adjacency of ``privacy``: an upper bound, in the manifest.

    Assumes
    -------
    All options were fixed before the data were seen. A public number of records, where it is given,
    is a lower bound. Under replace-one the number is the same for neighbours.

    Returns
    -------
    Release
        Features of shape (releases, ...), labels of shape (releases, classes), which are noisy and
        need not be probabilities.

    Source
    ------
    Lee et al. 2019, "Synthesizing differentially private datasets using random mixing" (ISIT), as
    the DPMix thesis states it; the account is :class:`rdpkit.DPMix`'s.
    """
    records = Records(
        features=features, labels=labels, classes=classes, scaling=scaling, box=UNIT_BOX
    )
    scaling.check_accounted("DPMix")
    counts = privacy.known_counts(records.class_sizes, BOUND_OF_ALL).for_samples_of(
        options.order_of_mixture
    )
    event = _event(options, counts.sizes[0], records.dimension, records.classes)
    drawn_from = left_out(records, range(records.classes) if counts.left_out else ())
    return release_batches(
        batches(drawn_from, event=event, noise=privacy.noise, device=computation.device),
        records=records,
        counts=counts,
        shape=(event.releases, *records.shape),
        soft_labels=True,
        event=event,
        privacy=privacy,
        mechanism=SPEC.name,
        parameters=as_parameters(options),
        computation=computation,
    )


def batches(
    records: Records, *, event: DPMix, noise: NoiseSource, device: str | None = None
) -> Iterator[Batch]:
    """The release of :func:`synthesize` in batches, so that memory does not grow with its size."""
    check_records(records, event)
    for means, chosen in mixed(
        Mixer(records, device=device),
        np.sort(np.concatenate(records.members)),
        order_of_mixture=event.order_of_mixture,
        releases=event.releases,
        at_least=event.population_size,
        noise=noise,
        dimension=records.dimension,
    ):
        soft = np.zeros((len(chosen), records.classes))
        rows = np.repeat(np.arange(len(chosen)), chosen.shape[1])
        # Records are counted first and the counts are divided, because sums of equal shares would
        # be rounded differently for neighbouring data sets.
        there = chosen.reshape(-1) >= 0
        np.add.at(soft, (rows[there], records.labels[chosen.reshape(-1)[there]]), 1.0)
        soft /= event.order_of_mixture
        noise.add_normal(means, std=event.feature_noise)
        noise.add_normal(soft, std=event.label_noise)
        yield means, soft


def check_records(records: Records, event: DPMix | ClassWiseDPMix) -> None:
    """Refuse records that are not those that an event of DPMix describes."""
    if (
        records.box != UNIT_BOX
        or records.dimension != event.feature_dimension
        or records.classes != event.label_dimension
    ):
        raise ValueError(
            f"Expected records of {event.feature_dimension} features cut to [0, 1] and "
            f"{event.label_dimension} classes, got {records.dimension} features cut to "
            f"{records.box} and {records.classes} classes."
        )


def _event(options: DPMixOptions, size: int, dimension: int, classes: int) -> DPMix:
    return DPMix(
        population_size=size,
        releases=options.releases,
        order_of_mixture=options.order_of_mixture,
        feature_dimension=dimension,
        label_dimension=classes,
        feature_noise=options.feature_noise,
        label_noise=options.label_noise,
    )


_SMALL = _event(
    DPMixOptions(releases=4, order_of_mixture=3, feature_noise=0.7, label_noise=0.7), 12, 2, 2
)
verify_target = target_of_records(_SMALL, partial(batches, event=_SMALL), box=UNIT_BOX)

SPEC = Mechanism(
    name="dpmix",
    synthesize=synthesize,
    options=DPMixOptions,
    event=lambda options, sizes, dimension: _event(options, sum(sizes), dimension, len(sizes)),
    calibrated=("feature_noise", "label_noise"),
    planned="order_of_mixture",
    counts=BOUND_OF_ALL,
    verify=verify_target,
)
