"""DP-CDA: noisy means of records of one class, with hard labels (Saha, Tonoy and Imtiaz)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit import DPCDA
from rdpkit.events import ClassWiseDPMix
from rdpkit.mechanisms.algorithms.specification import Mechanism
from rdpkit.mechanisms.parts.counts import BOUND_BY_CLASS, Sizes
from rdpkit.mechanisms.parts.mixing import mixed_by_class
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.privacy import Privacy
from rdpkit.mechanisms.parts.records import Batch, Records, Scaling, clip_rows, left_out
from rdpkit.mechanisms.parts.verify_target import VerifyTarget, target_of_records
from rdpkit.mechanisms.releases.computation import ON_PROCESSOR, Computation
from rdpkit.mechanisms.releases.release import Release
from rdpkit.mechanisms.releases.streaming import as_parameters, release_batches


@dataclass(frozen=True, slots=True, kw_only=True)
class DPCDAOptions:
    """Options of DP-CDA, with the letters of the paper."""

    samples_per_class: int | Sequence[int]  #: Synthetic records of each class (T_k)
    order_of_mixture: int  #: Records drawn without replacement for each of them (l)
    clip_norm: float  #: L2 norm to which scaled records are clipped (c)
    #: Standard deviations of the noise on each coordinate of the mean record and of the one-hot
    #: label; ``label_noise`` may be 0.
    feature_noise: float
    label_noise: float  #: As ``feature_noise``


def dpcda_event(options: DPCDAOptions, class_sizes: Sizes, dimension: int = 0) -> DPCDA:
    """What DP-CDA releases of records that are scaled with public constants."""
    return DPCDA(
        class_sizes=class_sizes,
        samples_per_class=tuple_of(options.samples_per_class),
        order_of_mixture=options.order_of_mixture,
        clip_norm=options.clip_norm,
        feature_noise=options.feature_noise,
        label_noise=options.label_noise,
        preprocessing="public",
    )


def synthesize(
    features: NDArray[Any],
    labels: NDArray[Any],
    *,
    classes: int,
    options: DPCDAOptions,
    scaling: Scaling,
    privacy: Privacy,
    computation: Computation = ON_PROCESSOR,
) -> Release:
    """Release means of records of one class each, plus noise.

    With ``scaling=exact_z_score(...)`` and ``label_noise > 0``, this is Algorithm 1 as printed. No
    sound bound covers it. **The sound variant** scales with public constants, or with noisy
    statistics, and sets ``label_noise`` to 0. How many samples a class has is fixed in advance, so
    the labels reveal nothing and the budget goes to the features.

    Arguments: see :class:`rdpkit.mechanisms.algorithms.specification.Mechanism`.

    Guarantee
    ---------
    That of :class:`rdpkit.DPCDA` (and of the scaling's event, composed with it) at the delta and
    the adjacency of ``privacy``: an upper bound, in the manifest.

    Assumes
    -------
    ``classes`` and all options were fixed before the data were seen. Public class sizes, where they
    are given, are lower bounds. Without them, lower bounds are estimated with noise, and nothing is
    assumed of the sizes: see :doc:`/theory/counts`.

    Returns
    -------
    Release
        Features of shape (sum of samples, ...), class by class, and integer labels.

    Source
    ------
    DP-CDA, Algorithm 1. The account is that of :class:`rdpkit.DPCDA`, not the paper's Theorem 1.

    Examples
    --------
    >>> import numpy as np
    >>> from rdpkit.mechanisms.parts.records import public_scaling
    >>> features = np.linspace(0, 1, 400).reshape(100, 4)
    >>> made = synthesize(
    ...     features,
    ...     np.arange(100) % 2,
    ...     classes=2,
    ...     options=DPCDAOptions(
    ...         samples_per_class=3,
    ...         order_of_mixture=8,
    ...         clip_norm=1.0,
    ...         feature_noise=0.5,
    ...         label_noise=0.0,
    ...     ),
    ...     scaling=public_scaling(),
    ...     privacy=Privacy(
    ...         delta=1e-5, adjacency="replace_one", noise=NoiseSource.system(), counts=[50, 50]
    ...     ),
    ... )
    >>> made.features.shape, made.labels.tolist(), f"{made.guarantee.epsilon:.2f}"
    ((6, 4), [0, 0, 0, 1, 1, 1], '0.90')
    """
    records = Records(
        features=features, labels=labels, classes=classes, scaling=scaling, norm=options.clip_norm
    )
    counts = privacy.known_counts(records.class_sizes, BOUND_BY_CLASS).for_samples_of(
        options.order_of_mixture
    )
    event = dpcda_event(options, counts.sizes)
    if scaling.origin == "exact-z-score":
        event = replace(event, preprocessing="exact-z-score")
    return release_batches(
        batches(
            left_out(records, counts.left_out),
            event=event,
            noise=privacy.noise,
            device=computation.device,
        ),
        records=records,
        counts=counts,
        shape=(sum(event.samples), *records.shape),
        event=event,
        privacy=privacy,
        mechanism=SPEC.name,
        parameters={**as_parameters(options), "samples_per_class": event.samples},
        computation=computation,
    )


def batches(
    records: Records,  # The data, with ``norm=event.clip_norm``
    *,
    event: DPCDA,  # The parameters
    noise: NoiseSource,  # Draws subsets and noise
    device: str | None = None,  # A torch device on which means are taken
) -> Iterator[Batch]:
    """The release of :func:`synthesize` in batches, so that memory does not grow with its size."""
    if records.norm != event.clip_norm or records.classes != len(event.class_sizes):
        raise ValueError(
            f"Expected records of {len(event.class_sizes)} classes clipped to {event.clip_norm}, "
            f"got {records.classes} classes and norm={records.norm}."
        )
    for means, noisy in noisy_means(records, event=event, noise=noise, device=device):
        yield means, np.argmax(noisy, axis=1)


def noisy_means(
    records: Records, *, event: DPCDA | ClassWiseDPMix, noise: NoiseSource, device: str | None
) -> Iterator[Batch]:
    """Means of records of one class each and their labels, both with the noise of the event."""
    for label, means in mixed_by_class(
        records,
        order_of_mixture=event.order_of_mixture,
        releases=event.samples,
        at_least=event.class_sizes,
        noise=noise,
        device=device,
    ):
        noise.add_normal(means, std=event.feature_noise)
        noisy = noise.normal((len(means), records.classes), std=event.label_noise)
        noisy[:, label] += 1.0
        yield means, noisy


def tuple_of(samples: int | Sequence[int]) -> Any:
    """Numbers of samples as an event takes them: a tuple instead of a list, or one number."""
    return tuple(samples) if isinstance(samples, (list, tuple, np.ndarray)) else samples


def clipped(rows: NDArray[np.float64], options: Mapping[str, Any]) -> NDArray[np.float64]:
    """Scaled rows, clipped to the option ``clip_norm`` where it is given."""
    norm = options["clip_norm"]
    return rows if norm is None else clip_rows(rows, norm)


def _target(label_noise: float) -> VerifyTarget:
    event = DPCDA(
        class_sizes=(12, 12),
        samples_per_class=4,
        order_of_mixture=3,
        clip_norm=1.0,
        feature_noise=0.7,
        label_noise=label_noise,
    )
    return target_of_records(event, partial(batches, event=event), norm=event.clip_norm)


verify_target = _target(0.0)
verify_target_noisy_labels = _target(0.7)

SPEC = Mechanism(
    name="dpcda",
    synthesize=synthesize,
    options=DPCDAOptions,
    event=dpcda_event,
    calibrated=("feature_noise",),
    fixed={"label_noise": 0.0},
    planned="order_of_mixture",
    counts=BOUND_BY_CLASS,
    prepare=clipped,
    verify=verify_target,
)
