"""DP-CDA: noisy means of records of one class, with hard labels (Saha, Tonoy and Imtiaz)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from rdpkit.mechanisms.parts.mixing import Mixer, mixed
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.preprocessing import Scaling
from rdpkit.mechanisms.parts.records import Records, public_sizes
from rdpkit.mechanisms.releases.release import Release, check_question, release
from rdpkit.mechanisms.releases.streaming import Batch, Progress, collect

from rdpkit import DPCDA, Adjacency, Composed, Event


def synthesize(
    features: NDArray[Any],
    labels: NDArray[Any],
    *,
    classes: int,
    samples_per_class: int | Sequence[int],
    order_of_mixture: int,
    clip_norm: float,
    feature_noise: float,
    label_noise: float,
    scaling: Scaling,
    delta: float,
    adjacency: Adjacency | str,
    noise: NoiseSource,
    class_sizes: Sequence[int] | None = None,
    dtype: DTypeLike = np.float32,
    out: str | Path | None = None,
    device: str | None = None,
    progress: Progress | None = None,
) -> Release:
    """Release means of records of one class each, plus noise.

    With ``scaling=exact_z_score(...)`` and ``label_noise > 0`` it is Algorithm 1 as printed, which
    no sound bound covers. **The sound variant** scales with public constants, or with noisy
    statistics, and sets ``label_noise`` to 0: how many samples a class has is fixed in advance, so
    the labels tell nothing and the budget goes to the features.

    Guarantee
    ---------
    That of :class:`rdpkit.DPCDA` (and of the scaling's event, composed with it) at ``delta`` under
    ``adjacency``: an upper bound, in the manifest.

    Assumes
    -------
    ``classes``, ``samples_per_class`` and all parameters were fixed before the data were seen. The
    class sizes are public, exactly or as the lower bounds ``class_sizes``.

    Parameters
    ----------
    features : ndarray, shape (n, ...)
        Private records, of any real type; may be memory-mapped.
    labels : ndarray of int, shape (n,)
        In [0, classes).
    classes : int
        Number of classes.
    samples_per_class : int or sequence of int
        Synthetic records of each class (T_k of the paper).
    order_of_mixture : int
        Records drawn without replacement for each of them (l of the paper).
    clip_norm : float
        L2 norm to which scaled records are clipped (c of the paper).
    feature_noise, label_noise : float
        Standard deviations of the noise on each coordinate of the mean record and of the one-hot
        label; ``label_noise`` may be 0.
    scaling : Scaling
        Applied before clipping; see :mod:`rdpkit.mechanisms.parts.preprocessing`.
    delta : float
        In (0, 1).
    adjacency : Adjacency or str
        The neighbouring relation.
    noise : NoiseSource
        Draws subsets and noise.
    class_sizes : sequence of int, optional
        Public lower bounds on the class sizes, used in the account. By default the data's own
        counts, which the manifest then shows and notes.
    dtype : dtype
        Of the features: float32 or float64.
    out : str or Path, optional
        A file ``X.npy`` for the features, which may be larger than memory.
    device : str, optional
        A torch device on which means are taken.
    progress : callable, optional
        Called with (records done, records in all).

    Returns
    -------
    Release
        Features of shape (sum of samples, ...), class by class, and integer labels.

    Raises
    ------
    ValueError
        If an argument is not accepted.

    Source
    ------
    DP-CDA, Algorithm 1; the account is not its Theorem 1 but :class:`rdpkit.DPCDA`'s.

    Examples
    --------
    >>> import numpy as np
    >>> from rdpkit.mechanisms.parts.noise import NoiseSource
    >>> from rdpkit.mechanisms.parts.preprocessing import public_scaling
    >>> features = np.linspace(0, 1, 400).reshape(100, 4)
    >>> made = synthesize(
    ...     features,
    ...     np.arange(100) % 2,
    ...     classes=2,
    ...     samples_per_class=3,
    ...     order_of_mixture=8,
    ...     clip_norm=1.0,
    ...     feature_noise=0.5,
    ...     label_noise=0.0,
    ...     scaling=public_scaling(),
    ...     delta=1e-5,
    ...     adjacency="replace_one",
    ...     noise=NoiseSource.system(),
    ... )
    >>> made.features.shape, made.labels.tolist(), f"{made.guarantee.epsilon:.2f}"
    ((6, 4), [0, 0, 0, 1, 1, 1], '0.90')
    """
    check_question(delta=delta, adjacency=adjacency, noise=noise)
    records = Records(
        features=features, labels=labels, classes=classes, scaling=scaling, norm=clip_norm
    )
    sizes, notes = public_sizes(records, class_sizes)
    event = DPCDA(
        class_sizes=sizes,
        samples_per_class=_plain(samples_per_class),
        order_of_mixture=order_of_mixture,
        clip_norm=clip_norm,
        feature_noise=feature_noise,
        label_noise=label_noise,
        preprocessing="exact-z-score" if scaling.origin == "exact-z-score" else "public",
    )
    made, made_labels = collect(
        batches(records, event=event, noise=noise, device=device),
        shape=(sum(event.samples), *records.shape),
        label_shape=(sum(event.samples),),
        label_type=np.int64,
        dtype=dtype,
        out=out,
        progress=progress,
    )
    return release(
        made,
        made_labels,
        event=with_scaling(event, scaling),
        delta=delta,
        adjacency=adjacency,
        parameters={
            "classes": int(classes),
            "samples_per_class": list(event.samples),
            "order_of_mixture": event.order_of_mixture,
            "clip_norm": event.clip_norm,
            "feature_noise": event.feature_noise,
            "label_noise": event.label_noise,
            "scaling": scaling.as_dict(),
        },
        noise=noise,
        notes=(*notes, *scaling_notes(scaling)),
        mechanism=event.mechanism,
    )


def batches(
    records: Records, *, event: DPCDA, noise: NoiseSource, device: str | None = None
) -> Iterator[Batch]:
    """The same, batch by batch, with memory that does not depend on the number of releases.

    Parameters
    ----------
    records : Records
        The data, with ``norm=event.clip_norm``.
    event : DPCDA
        The parameters.
    noise : NoiseSource
        Draws subsets and noise.
    device : str, optional
        A torch device on which means are taken.

    Yields
    ------
    features : ndarray of float64, shape (k, d)
        Noisy means.
    labels : ndarray of int64, shape (k,)
        Their labels.

    Raises
    ------
    ValueError
        If the records are not clipped to the event's norm, or classes do not match.
    """
    if records.norm != event.clip_norm or records.classes != len(event.class_sizes):
        raise ValueError(
            f"Expected records of {len(event.class_sizes)} classes clipped to {event.clip_norm}, "
            f"got {records.classes} classes and norm={records.norm}."
        )
    mixer = Mixer(records, device=device)
    for label, releases in enumerate(event.samples):
        for means, _ in mixed(
            mixer,
            records.members[label],
            order_of_mixture=event.order_of_mixture,
            releases=releases,
            noise=noise,
            dimension=records.dimension,
        ):
            noise.add_normal(means, std=event.feature_noise)
            noisy = noise.normal((len(means), records.classes), std=event.label_noise)
            noisy[:, label] += 1.0
            yield means, np.argmax(noisy, axis=1)


def with_scaling(event: Event, scaling: Scaling) -> Event:
    """The event, after that of the scaling's constants."""
    return event if scaling.event is None else Composed(events=(scaling.event, event))


def scaling_notes(scaling: Scaling) -> tuple[str, ...]:
    """What a reader has to know about the scaling."""
    if scaling.origin == "exact-z-score":
        return (
            "features were scaled with the exact mean and standard deviation of the private data, "
            "asked for by name: an unaccounted release, so there is no guarantee",
        )
    if scaling.origin == "noisy-statistics":
        return ("features were scaled with noisy statistics, which the guarantee pays for",)
    return ()


def _plain(samples: int | Sequence[int]) -> Any:
    return tuple(samples) if isinstance(samples, (list, tuple, np.ndarray)) else samples


__all__ = ["batches", "synthesize"]
