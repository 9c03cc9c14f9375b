"""LDPDC: noisy sums over Poisson samples of one class (linear dataset condensation)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit import Adjacency, _validate
from rdpkit.events import LDPDC
from rdpkit.mechanisms.algorithms.specification import Mechanism
from rdpkit.mechanisms.parts.counts import NUMBER_BY_CLASS, Sizes
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.privacy import Privacy
from rdpkit.mechanisms.parts.records import Batch, Records, Scaling, in_batches
from rdpkit.mechanisms.parts.sampling import poisson_sample
from rdpkit.mechanisms.parts.verify_target import target_of_records
from rdpkit.mechanisms.releases.computation import ON_PROCESSOR, Computation
from rdpkit.mechanisms.releases.release import Release
from rdpkit.mechanisms.releases.streaming import as_parameters, release_batches


@dataclass(frozen=True, slots=True, kw_only=True)
class LDPDCOptions:
    """Options of LDPDC, with the letters of the paper."""

    samples_per_class: int  #: Synthetic records of each class (M)
    group_size: float  #: Expected size of a sample (L)
    noise_std: float  #: Standard deviation of the noise on each coordinate of the sum (sigma)
    value_bound: float  #: Largest size of a coordinate (b)

    def __post_init__(self) -> None:
        _validate.positive("value_bound", self.value_bound)


def _event(options: LDPDCOptions, class_sizes: Sizes, dimension: int) -> LDPDC:
    return LDPDC(
        class_sizes=class_sizes,
        group_size=options.group_size,
        samples_per_class=options.samples_per_class,
        noise_std=options.noise_std,
        value_bound=options.value_bound,
        dimension=dimension,
    )


def synthesize(
    features: NDArray[Any],
    labels: NDArray[Any],
    *,
    classes: int,
    options: LDPDCOptions,
    scaling: Scaling,
    privacy: Privacy,
    computation: Computation = ON_PROCESSOR,
) -> Release:
    """Release, for each synthetic record, a noisy sum over a Poisson sample, divided by its size.

    The divisor is the *expected* size of the sample, which is public.

    Arguments: see :class:`rdpkit.mechanisms.algorithms.specification.Mechanism`. After scaling,
    coordinates are cut to [-value_bound, value_bound]. Records of a class join with probability
    ``group_size`` over the number that ``privacy.counts`` gives for the class.

    Guarantee
    ---------
    That of :class:`rdpkit.LDPDC` (and of the scaling's event, composed with it) at the delta and
    the adjacency of ``privacy``: an upper bound, in the manifest.

    Assumes
    -------
    All options were fixed before the data were seen. The class sizes from which the sampling
    probabilities are computed are public numbers, or noisy ones that the guarantee pays for. They
    need not be right: the guarantee holds for data sets of any sizes.

    Returns
    -------
    Release
        Features of shape (classes * samples_per_class, ...), class by class, and integer labels.

    Source
    ------
    Differentially Private Dataset Condensation, Algorithm 1; the account is
    :class:`rdpkit.LDPDC`'s, which includes the paper's Theorem 3.1.
    """
    bound = options.value_bound
    records = Records(
        features=features, labels=labels, classes=classes, scaling=scaling, box=(-bound, bound)
    )
    scaling.check_accounted("LDPDC")
    counts = privacy.known_counts(records.class_sizes, NUMBER_BY_CLASS).for_samples_of(
        options.group_size
    )
    event = _event(options, counts.sizes, records.dimension)
    return release_batches(
        batches(records, event=event, noise=privacy.noise),
        records=records,
        counts=counts,
        shape=(records.classes * options.samples_per_class, *records.shape),
        event=event,
        privacy=privacy,
        mechanism=SPEC.name,
        parameters=as_parameters(options),
        computation=computation,
    )


def batches(records: Records, *, event: LDPDC, noise: NoiseSource) -> Iterator[Batch]:
    """The release of :func:`synthesize` in batches, so that memory does not grow with its size."""
    if (
        records.box != (-event.value_bound, event.value_bound)
        or records.dimension != event.dimension
        or records.classes != len(event.class_sizes)
    ):
        raise ValueError(
            f"Expected records of {event.dimension} features of size at most {event.value_bound} "
            f"and {len(event.class_sizes)} classes, got {records.dimension} features cut to "
            f"{records.box} and {records.classes} classes."
        )
    for label, members in enumerate(records.members):
        probability = event.group_size / event.class_sizes[label]
        for batch in in_batches(event.samples_per_class, records.dimension):
            count = batch.stop - batch.start
            sums = np.zeros((count, records.dimension))
            for i in range(count):
                joined = members[poisson_sample(len(members), probability, noise=noise)]
                for part in in_batches(len(joined), records.dimension):
                    sums[i] += records.rows(joined[part]).sum(axis=0)
            noise.add_normal(sums, std=event.noise_std)
            sums /= event.group_size
            yield sums, np.full(count, label, dtype=np.int64)


_SMALL = LDPDC(
    class_sizes=(8, 8),
    group_size=2.0,
    samples_per_class=4,
    noise_std=2.0,
    value_bound=1.0 / math.sqrt(2),
    dimension=2,
)


verify_target = target_of_records(
    _SMALL,
    partial(batches, event=_SMALL),
    adjacency=Adjacency.ADD_OR_REMOVE_ONE,
    box=(-_SMALL.value_bound, _SMALL.value_bound),
)

SPEC = Mechanism(
    name="ldpdc",
    synthesize=synthesize,
    options=LDPDCOptions,
    features="signed",
    event=_event,
    calibrated=("noise_std",),
    planned="group_size",
    counts=NUMBER_BY_CLASS,
    verify=verify_target,
)
