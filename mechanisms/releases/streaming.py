"""Releases made batch by batch: into an array, or into a file larger than memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit import Event, _validate
from rdpkit.formats.files import whole_file
from rdpkit.mechanisms.parts.checks import PrivacyCheck
from rdpkit.mechanisms.parts.counts import KnownCounts
from rdpkit.mechanisms.parts.privacy import Privacy
from rdpkit.mechanisms.parts.records import Batch, Records
from rdpkit.mechanisms.releases.computation import Computation
from rdpkit.mechanisms.releases.release import Release, release


def release_batches(
    batches: Iterable[Batch],  # Batches of shape (k, d), together as many records as ``shape`` says
    *,
    # The private records. Their scaling belongs to the event, the parameters and the notes.
    records: Records,
    shape: tuple[int, ...],  # Shape of all released features
    event: Event,  # What the batches release of scaled records
    privacy: Privacy,  # Delta and adjacency of the guarantee, and the source of the noise
    mechanism: str,  # Name of the mechanism, by which ``rdpkit verify`` knows it
    # Everything that produced the batches, apart from the number of classes and the scaling.
    parameters: Mapping[str, Any],
    computation: Computation,  # Type of the features, file and progress
    notes: tuple[str, ...] = (),  # What a reader of the manifest has to know
    # What the mechanism says of its parameters and of what it assumes; the scaling's check is
    # added.
    checks: tuple[PrivacyCheck, ...] = (),
    # The numbers of records that the event was made with, where the mechanism needs some.
    counts: KnownCounts | None = None,
    soft_labels: bool = False,  # Whether labels are rows with a number for each class, or integers
) -> Release:
    """Put batches one after the other, and add the manifest that says what they guarantee."""
    labels = (
        np.empty((shape[0], records.classes), dtype=np.float64)
        if soft_labels
        else np.empty(shape[0], dtype=np.int64)
    )
    return release(
        _collected(batches, shape, labels, computation),
        labels,
        event=records.scaling.before(event),
        privacy=privacy,
        mechanism=mechanism,
        parameters={
            "classes": int(records.classes),
            **parameters,
            "scaling": records.scaling.as_dict(),
        },
        notes=(*notes, *records.scaling.notes()),
        checks=(*checks, *records.scaling.checks()),
        tested_as=mechanism,
        device=computation.device,
        counts=counts,
    )


def _collected(
    batches: Iterable[Batch],
    shape: tuple[int, ...],
    labels: NDArray[Any],
    computation: Computation,
) -> NDArray[Any]:
    """All features, in memory or mapped from a file that is there when it is whole."""
    kind = np.dtype(computation.dtype)
    if kind not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise _validate.fail("dtype", "to be float32 or float64", computation.dtype)
    if computation.out is None:
        features = np.empty(shape, dtype=kind)
        _fill(features, labels, batches, computation)
        return features
    path = Path(computation.out)
    if path.suffix != ".npy":
        raise _validate.fail("out", "to end in .npy", str(computation.out))
    with whole_file(path) as temporary:
        mapped = np.lib.format.open_memmap(temporary, mode="w+", dtype=kind, shape=shape)
        _fill(mapped, labels, batches, computation)
        mapped.flush()
        del mapped
    found: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    return found


def _fill(
    features: NDArray[Any],
    labels: NDArray[Any],
    batches: Iterable[Batch],
    computation: Computation,
) -> None:
    # Batches are in double precision. They are rounded to the type of the features after the noise
    # has been added.
    total = len(labels)
    done = 0
    for rows, some in batches:
        end = done + len(rows)
        if end > total:
            raise RuntimeError(f"More records came than the {total} that were announced.")
        features[done:end] = rows.reshape(len(rows), *features.shape[1:])
        labels[done:end] = some
        done = end
        computation.report(done, total)
    if done != total:
        raise RuntimeError(f"Only {done} records came of the {total} that were announced.")


# Options of a mechanism as a manifest states them.


def as_parameters(options: Any) -> dict[str, Any]:
    """Options as one flat mapping, of which a specification makes the same options again.

    Manifests state them in this form. Each number has the type that its field declares: where a
    user wrote 1 for a float, the mapping has 1.0.
    """
    found: dict[str, Any] = {}
    for one in fields(options):
        value = getattr(options, one.name)
        if is_dataclass(value):
            found |= as_parameters(value)
        else:
            kind = {"float": float, "int": int}.get(str(one.type))
            found[one.name] = value if kind is None else kind(value)
    return found
