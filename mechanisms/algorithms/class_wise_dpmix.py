"""Class-wise DPMix: noisy means of records of one class, with soft or hard labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit import _validate
from rdpkit.events import ClassWiseDPMix
from rdpkit.mechanisms.algorithms.dpcda import noisy_means, tuple_of
from rdpkit.mechanisms.algorithms.dpmix import UNIT_BOX, check_records
from rdpkit.mechanisms.algorithms.specification import Mechanism
from rdpkit.mechanisms.parts.counts import BOUND_BY_CLASS, Sizes
from rdpkit.mechanisms.parts.mixing import Mixer
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.privacy import Privacy
from rdpkit.mechanisms.parts.records import Batch, Records, Scaling, left_out
from rdpkit.mechanisms.parts.sampling import subsets
from rdpkit.mechanisms.parts.verify_target import target_of_records
from rdpkit.mechanisms.releases.computation import ON_PROCESSOR, Computation
from rdpkit.mechanisms.releases.release import Release
from rdpkit.mechanisms.releases.streaming import as_parameters, release_batches


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassWiseDPMixOptions:
    """Options of class-wise DPMix."""

    samples_per_class: int | Sequence[int]  #: Synthetic records of each class
    order_of_mixture: int  #: Records drawn without replacement for each of them
    #: Standard deviations of the noise; ``label_noise`` may be 0, since the mean label of a class
    #: is a constant.
    feature_noise: float
    label_noise: float  #: As ``feature_noise``
    hard_labels: bool = False
    """Whether the labels are the places of the largest entries of the noisy one-hot labels, of
    shape (m,), or these noisy labels themselves, of shape (m, classes).
    """

    def __post_init__(self) -> None:
        _validate.one_of_a_kind("hard_labels", self.hard_labels, bool)


def _event(options: ClassWiseDPMixOptions, class_sizes: Sizes, dimension: int) -> ClassWiseDPMix:
    return ClassWiseDPMix(
        class_sizes=class_sizes,
        samples_per_class=tuple_of(options.samples_per_class),
        order_of_mixture=options.order_of_mixture,
        feature_dimension=dimension,
        label_dimension=len(class_sizes),
        feature_noise=options.feature_noise,
        label_noise=options.label_noise,
    )


def synthesize(
    features: NDArray[Any],
    labels: NDArray[Any],
    *,
    classes: int,
    options: ClassWiseDPMixOptions,
    scaling: Scaling,
    privacy: Privacy,
    computation: Computation = ON_PROCESSOR,
) -> Release:
    """Release means of records of one class each, a fresh subset for every release.

    The listing of the DPMix thesis draws one subset for each class, before its loop. An account of
    freshly sampled subsets is wrong for that program. Here every release has its own subset.

    Arguments: see :class:`rdpkit.mechanisms.algorithms.specification.Mechanism`. After scaling,
    coordinates are cut to [0, 1].

    Guarantee
    ---------
    That of :class:`rdpkit.ClassWiseDPMix` (and of the scaling's event, composed with it) at the
    delta and the adjacency of ``privacy``: an upper bound, in the manifest.

    Assumes
    -------
    All options were fixed before the data were seen. Public class sizes, where they are given, are
    lower bounds.

    Returns
    -------
    Release
        Features of shape (sum of samples, ...), class by class, and labels.

    Source
    ------
    The DPMix thesis, Section 4 and listing B.1, with the subset drawn inside of the loop.
    """
    records = Records(
        features=features, labels=labels, classes=classes, scaling=scaling, box=UNIT_BOX
    )
    scaling.check_accounted("class-wise DPMix")
    counts = privacy.known_counts(records.class_sizes, BOUND_BY_CLASS).for_samples_of(
        options.order_of_mixture
    )
    event = _event(options, counts.sizes, records.dimension)
    drawn_from = left_out(records, counts.left_out)
    soft = batches(drawn_from, event=event, noise=privacy.noise, device=computation.device)
    hard = ((rows, np.argmax(noisy, axis=1)) for rows, noisy in soft)
    return release_batches(
        hard if options.hard_labels else soft,
        records=records,
        counts=counts,
        shape=(sum(event.samples), *records.shape),
        soft_labels=not options.hard_labels,
        event=event,
        privacy=privacy,
        mechanism=SPEC.name,
        parameters={**as_parameters(options), "samples_per_class": event.samples},
        computation=computation,
    )


def batches(
    records: Records, *, event: ClassWiseDPMix, noise: NoiseSource, device: str | None = None
) -> Iterator[Batch]:
    """The release of :func:`synthesize` in batches, with soft labels."""
    check_records(records, event)
    yield from noisy_means(records, event=event, noise=noise, device=device)


def _as_listed(records: Records, noise: NoiseSource) -> list[Batch]:
    """The thesis's listing B.1: all releases of a class are means of one and the same subset."""
    made: list[Batch] = []
    mixer = Mixer(records)
    for label, releases in enumerate(_SMALL.samples):
        members = records.members[label]
        once = members[subsets(len(members), _SMALL.order_of_mixture, 1, noise=noise)]
        means = np.repeat(mixer.means(once), releases, axis=0)
        noise.add_normal(means, std=_SMALL.feature_noise)
        made.append((means, np.full(releases, label)))
    return made


_SMALL = ClassWiseDPMix(
    class_sizes=(12, 12),
    samples_per_class=(64, 1),
    order_of_mixture=3,
    feature_dimension=2,
    label_dimension=2,
    feature_noise=0.94,
    label_noise=0.0,
)
verify_target = target_of_records(_SMALL, partial(batches, event=_SMALL), box=UNIT_BOX)
as_listed = target_of_records(_SMALL, _as_listed, box=UNIT_BOX)
"""The listing B.1 of the DPMix thesis, tested against the claim that subsets are fresh: false."""

SPEC = Mechanism(
    name="class-wise-dpmix",
    synthesize=synthesize,
    options=ClassWiseDPMixOptions,
    event=_event,
    calibrated=("feature_noise",),
    planned="order_of_mixture",
    counts=BOUND_BY_CLASS,
    verify=verify_target,
)
