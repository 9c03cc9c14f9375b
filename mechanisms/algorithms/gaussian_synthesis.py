"""Mean-and-covariance synthesis: records drawn from the normal law that fits each class (M_G).

A public multiple of the identity is added to each covariance, or noise is added to the moments, so
that the guarantee holds for every data set. Without either, as the paper has it, the data must have
a covariance that is not close to singular. That is tested on the data, and the release is not
private.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit import Adjacency, Event, Parallel, _validate
from rdpkit.events import ClassMoments, GaussianSynthesis, RegularisedSynthesis
from rdpkit.mechanisms.algorithms.specification import Mechanism
from rdpkit.mechanisms.parts.checks import PrivacyCheck
from rdpkit.mechanisms.parts.counts import NUMBER_BY_CLASS, Sizes
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.privacy import Privacy
from rdpkit.mechanisms.parts.records import Array, Batch, Records, Scaling, in_batches
from rdpkit.mechanisms.parts.verify_target import DataPair, target_of_records
from rdpkit.mechanisms.releases.computation import ON_PROCESSOR, Computation
from rdpkit.mechanisms.releases.release import Release
from rdpkit.mechanisms.releases.streaming import as_parameters, release_batches

BOX = (-1.0, 1.0)
"""Every coordinate of a record is cut to these limits, and so is what is released."""

_CHECKED = "that the data's own covariance was checked, and not refused, is not accounted for"

_FOR_EVERY_DATA_SET = PrivacyCheck(
    name="preconditions",
    status="holds",
    sentence="records are cut to [-1, 1], a public variance is added to every covariance, and a "
    "class of fewer records than the account has is filled up with zeros: the theorem holds for "
    "every data set of finite numbers",
)

_OF_NOISY_MOMENTS = PrivacyCheck(
    name="preconditions",
    status="holds",
    sentence="records are cut to [-1, 1], and all that is drawn is made of noisy sums: the theorem "
    "holds for every data set of finite numbers",
)

# Weights of sums, second moments and counts; under replace-one counts of that weight cost nothing.
_SUMS, _MOMENTS, _COUNTS = (math.sqrt(share) for share in (0.3, 0.7, 0.03))
# Records are made shorter by more than the rounding errors of their sums.
_LENGTH = 1.0 - 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianSynthesisOptions:
    """Options of mean-and-covariance synthesis."""

    outputs_per_class: int  #: Synthetic records of each class
    added_variance: float | None = None
    """What is added to each diagonal entry of the covariances, a public number > 0."""
    min_eigenvalue: float | None = None
    """In (0, 1] (sigma of the paper), a public number: data with a smaller eigenvalue are refused,
    and nothing is added. Such a release is not private.
    """
    noise_std: float | None = None
    """Standard deviation of the noise on each number of :class:`rdpkit.ClassMoments`, for records
    divided by the root of the number of features. The draws are then made of noisy moments, and any
    number of them is as private as one. Exactly one of this, ``added_variance`` and
    ``min_eigenvalue`` is given.
    """

    def __post_init__(self) -> None:
        given = (self.added_variance, self.min_eigenvalue, self.noise_std)
        if sum(value is not None for value in given) != 1:
            raise _validate.fail(
                "added_variance, min_eigenvalue and noise_std",
                "to be one of them and not the others",
                given,
            )

    def moments(self) -> ClassMoments | None:
        """What is released of all classes, if it is noisy moments."""
        if self.noise_std is None:
            return None
        return ClassMoments(
            noise_std=self.noise_std,
            sum_weight=_SUMS,
            class_weight=_MOMENTS,
            count_weight=_COUNTS,
        )

    def event(self, records: int, dimension: int) -> GaussianSynthesis | RegularisedSynthesis:
        """What is released of one class of ``records`` records."""
        given = {"records": records, "outputs": self.outputs_per_class, "dimension": dimension}
        if self.added_variance is not None:
            return RegularisedSynthesis(**given, added_variance=self.added_variance)
        assert self.min_eigenvalue is not None
        return GaussianSynthesis(**given, min_eigenvalue=self.min_eigenvalue)


def synthesize(
    features: NDArray[Any],
    labels: NDArray[Any],
    *,
    classes: int,
    options: GaussianSynthesisOptions,
    scaling: Scaling,
    privacy: Privacy,
    computation: Computation = ON_PROCESSOR,
) -> Release:
    """Release draws from N(mean, covariance) of each class, cut to [-1, 1]^d.

    Noise is added to the mean and the covariance only if ``noise_std`` is given.

    A table without classes has ``classes=1`` and labels that are all 0.

    Arguments: see :class:`rdpkit.mechanisms.algorithms.specification.Mechanism`. After scaling,
    coordinates are cut to [-1, 1]. With ``min_eigenvalue``, a covariance with a smaller eigenvalue
    is a ValueError.

    Guarantee
    ---------
    With ``added_variance`` that of :class:`rdpkit.RegularisedSynthesis`, class by class (and of the
    scaling's event, composed with it), at the delta and the adjacency of ``privacy``: an upper
    bound, in the manifest. It holds for every data set: covariances may be singular, and classes
    may have fewer records than the account says, or none. With ``noise_std`` that of
    :class:`rdpkit.ClassMoments`, which holds for every data set, too. With ``min_eigenvalue`` that
    of :class:`rdpkit.GaussianSynthesis`, and the manifest says that the release is not private.

    Assumes
    -------
    With ``added_variance`` or ``noise_std`` nothing of the data. With ``min_eigenvalue``: the
    covariance of every class, in the data *and in every neighbour*, has no eigenvalue below it. For
    the data themselves this is checked. If the check refuses the data, the refusal tells them from
    a neighbour that is not refused. With ``added_variance`` and ``min_eigenvalue`` the numbers of
    records in the account must be lower bounds; with ``min_eigenvalue``, data with fewer are
    refused, too.

    Returns
    -------
    Release
        Features of shape (classes * outputs_per_class, ...), class by class, and integer labels.

    Source
    ------
    Miura et al. 2023, Section 2.3; the added variance and its account are this library's, theory
    page 'Synthesis: regularised'.
    """
    records = Records(features=features, labels=labels, classes=classes, scaling=scaling, box=BOX)
    scaling.check_accounted("mean-and-covariance synthesis")
    moments, counts = options.moments(), None
    notes: tuple[str, ...] = ()
    checks: tuple[PrivacyCheck, ...] = ()
    event: Event
    if moments is not None:
        event, checks, outputs = moments, (_OF_NOISY_MOMENTS,), options.outputs_per_class
        made = noisy_batches(records, event=moments, outputs=outputs, noise=privacy.noise)
    else:
        # Any number will do: smaller data sets are filled up, and larger ones are more private.
        counts = privacy.known_counts(records.class_sizes, NUMBER_BY_CLASS).for_samples_of(2)
        parts = tuple(options.event(size, records.dimension) for size in counts.sizes)
        event = _event_of(parts)
        made = batches(records, events=parts, noise=privacy.noise)
        if options.added_variance is not None:
            checks = (_FOR_EVERY_DATA_SET,)
        else:
            notes = (_CHECKED,)
    return release_batches(
        made,
        records=records,
        shape=(records.classes * options.outputs_per_class, *records.shape),
        event=event,
        privacy=privacy,
        mechanism=SPEC.name,
        parameters=as_parameters(options),
        computation=computation,
        notes=notes,
        checks=checks,
        counts=counts,
    )


def _event_of(parts: Sequence[GaussianSynthesis | RegularisedSynthesis]) -> Event:
    """What is released of all classes."""
    return parts[0] if len(parts) == 1 else Parallel(events=tuple(parts))


def _event(options: GaussianSynthesisOptions, class_sizes: Sizes, dimension: int) -> Event:
    moments = options.moments()
    if moments is not None:
        return moments
    return _event_of([options.event(size, dimension) for size in class_sizes])


def batches(
    records: Records,  # The data, cut to [-1, 1]
    *,
    events: Sequence[GaussianSynthesis | RegularisedSynthesis],  # What is released of each class
    noise: NoiseSource,  # Where the draws come from
) -> Iterator[Batch]:
    """The release of :func:`synthesize` in batches."""
    dimensions = {event.dimension for event in events}
    if records.box != BOX or records.classes != len(events) or dimensions != {records.dimension}:
        raise ValueError(
            f"Expected records of {sorted(dimensions)} features cut to {BOX} and {len(events)} "
            f"classes, got {records.dimension} features cut to {records.box} and "
            f"{records.classes} classes."
        )
    # All classes are checked before the first batch is made.
    fits = [_law(records, label, event) for label, event in enumerate(events)]
    for label, law in enumerate(fits):
        yield from _draws(law, label, events[label].outputs, noise)


def _draws(
    law: tuple[Array, Array], label: int, outputs: int, noise: NoiseSource
) -> Iterator[Batch]:
    """Draws from a normal law of one class, cut to [-1, 1]."""
    mean, root = law
    for part in in_batches(outputs, len(mean)):
        count = part.stop - part.start
        drawn = noise.normal((count, len(mean))) @ root.T
        drawn += mean
        np.clip(drawn, *BOX, out=drawn)
        yield drawn, np.full(count, label, dtype=np.int64)


def noisy_batches(
    records: Records,  # The data, cut to [-1, 1]
    *,
    # The noise, and the weights of sums, of second moments by class and of counts.
    event: ClassMoments,
    outputs: int,  # Draws of each class
    noise: NoiseSource,  # Where the noise and the draws come from
) -> Iterator[Batch]:
    """Draws from the normal laws that noisy moments describe, ``outputs`` of each class."""
    if records.box != BOX:
        raise ValueError(f"Expected records cut to {BOX}, got {records.box}.")
    for label in range(records.classes):
        yield from _draws(_noisy_law(records, label, event, noise), label, outputs, noise)


def _noisy_law(
    records: Records, label: int, event: ClassMoments, noise: NoiseSource
) -> tuple[Array, Array]:
    """Mean and a root of the covariance of one class, from its noisy moments alone."""
    members, size = records.members[label], records.dimension
    length = _LENGTH / math.sqrt(size)
    sums, seconds = np.zeros(size), np.zeros((size, size))
    for part in in_batches(len(members), size):
        rows = records.rows(members[part]) * length
        sums += rows.sum(axis=0)
        seconds += rows.T @ rows
    upper = np.triu_indices(size)
    twice = np.where(upper[0] == upper[1], 1.0, math.sqrt(2.0))
    found = np.concatenate(
        [
            np.array([event.count_weight * len(members)]),
            event.sum_weight * sums,
            event.class_weight * twice * seconds[upper],
        ]
    )
    noise.add_normal(found, std=event.noise_std)
    count = max(float(found[0]) / event.count_weight, 1.0)
    mean = found[1 : size + 1] / (event.sum_weight * count * length)
    np.clip(mean, *BOX, out=mean)
    covariance = np.zeros((size, size))
    covariance[upper] = found[size + 1 :] / (twice * event.class_weight * count * length**2)
    covariance += np.triu(covariance, 1).T
    covariance -= np.outer(mean, mean)
    values, vectors = np.linalg.eigh(covariance)
    # No variance in the cube is above 1 in any coordinate, and none is negative.
    return mean, np.asarray(vectors * np.sqrt(np.clip(values, 0.0, float(size))))


def _law(
    records: Records, label: int, event: GaussianSynthesis | RegularisedSynthesis
) -> tuple[Array, Array]:
    """Mean of the law that is drawn from, and a root of its covariance."""
    if isinstance(event, RegularisedSynthesis):
        mean, covariance = _moments(records, label, at_least=event.records)
        return mean, _root(covariance, event.added_variance)
    if len(records.members[label]) < event.records:
        raise ValueError(
            f"Expected at least {event.records} records of class {label}, the number of the "
            "account, with min_eigenvalue: state lower bounds as counts, or take added_variance, "
            "which needs none."
        )
    mean, covariance = _moments(records, label)
    least = event.min_eigenvalue
    smallest = float(np.linalg.eigvalsh(covariance)[0])
    if not smallest >= least:
        raise ValueError(
            f"Expected the covariance of class {label} to have no eigenvalue below "
            f"min_eigenvalue = {least:g}, but it has one. The account assumes that the data and "
            "every neighbour have none; fewer features, or a smaller min_eigenvalue, may help."
        )
    return mean, np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)


def _moments(records: Records, label: int, *, at_least: int = 1) -> tuple[Array, Array]:
    """Mean and covariance of a class, divided by n, as the paper does.

    If the class has fewer than ``at_least`` records, zero vectors stand in for those that are
    missing.
    """
    members = records.members[label]
    count = max(len(members), at_least)
    parts = [members[part] for part in in_batches(len(members), records.dimension)]
    mean = np.zeros(records.dimension)
    for part in parts:
        mean += records.rows(part).sum(axis=0)
    mean /= count
    covariance = (count - len(members)) * np.outer(mean, mean)
    for part in parts:
        centred = records.rows(part) - mean
        covariance += centred.T @ centred
    return mean, covariance / count


def _root(covariance: Array, added_variance: float) -> Array:
    """A matrix R with R R' = covariance + added_variance I, for every covariance."""
    regularised = covariance + added_variance * np.eye(len(covariance))
    try:
        return np.asarray(np.linalg.cholesky(regularised), dtype=np.float64)
    except np.linalg.LinAlgError:
        # The added variance is below the rounding errors of the covariance.
        values, vectors = np.linalg.eigh(regularised)
        return np.asarray(vectors * np.sqrt(np.maximum(values, added_variance)))


def _one_record_far_away() -> DataPair:
    """Records that are all the same, and one more in the corner far from them.

    The covariance of the others is 0, which leaks most. They are not in the opposite corner, where
    half of every draw would be cut.
    """
    rows = np.full((200, 2), -0.4)
    rows[-1] = 1.0
    labels = np.zeros(len(rows), dtype=np.int64)
    return (rows, labels), (rows[:-1], labels[:-1])


_SMALL = RegularisedSynthesis(records=199, outputs=40, dimension=2, added_variance=0.08)
verify_target = target_of_records(
    _SMALL,
    partial(batches, events=(_SMALL,)),
    adjacency=Adjacency.ADD_OR_REMOVE_ONE,
    classes=1,
    box=BOX,
    pair=_one_record_far_away,
)

SPEC = Mechanism(
    name="gaussian-synthesis",
    synthesize=synthesize,
    options=GaussianSynthesisOptions,
    features="signed",
    event=_event,
    calibrated=("added_variance",),
    counts=NUMBER_BY_CLASS,
    verify=verify_target,
)
