"""A release: arrays together with the manifest that says what they guarantee."""

from __future__ import annotations

import functools
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy

import rdpkit
from rdpkit import Adjacency, Event, Group, Guarantee, _validate
from rdpkit.events import Composed, EpsilonDelta, Gaussian
from rdpkit.mechanisms.parts.checks import PrivacyCheck, source_checks
from rdpkit.mechanisms.parts.counts import KnownCounts
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.privacy import Privacy
from rdpkit.mechanisms.releases.files import (
    SUFFIXES,
    AnyArray,
    arrays_beside,
    described,
    file_problems,
    problems,
    read_arrays,
    refuse_shared,
    write_arrays,
)
from rdpkit.mechanisms.releases.manifest import Manifest, load_manifest
from rdpkit.mechanisms.releases.verdict import (
    complete,
    computed_checks,
    delta_check,
    is_private,
    unstated_checks,
)

_NAMES = ("features", "labels")
_PIECE = 1 << 22  # Bytes that are checked at once


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Release:
    """Synthetic records and their guarantee, which belong together."""

    features: AnyArray  #: Numbers; may be memory-mapped; shape (n, ...)
    labels: AnyArray  #: Integers, or soft labels; shape (n,) or (n, classes)
    manifest: Manifest  #: Their description. Its hashes must be those of the arrays.
    others: Mapping[str, AnyArray] = field(default_factory=dict)
    """Further arrays that are released, such as the noisy moments of which records were drawn."""

    def __post_init__(self) -> None:
        _validate.one_of_a_kind("manifest", self.manifest, Manifest)
        _check_arrays(self.features, self.labels)
        _check_others(self.others)
        for name, array in self.arrays.items():
            stated = self.manifest.arrays.get(name, {})
            if stated.get("shape") != list(array.shape) or stated.get("dtype") != array.dtype.str:
                raise ValueError(f"Expected the manifest to describe the array {name!r}.")

    @property
    def arrays(self) -> dict[str, AnyArray]:
        """All arrays by their names."""
        return {"features": self.features, "labels": self.labels, **self.others}

    @property
    def guarantee(self) -> Guarantee | None:
        """The guarantee in the manifest; None for a baseline without any privacy."""
        return self.manifest.guarantee

    def save(self, path: str | Path) -> None:
        """Write the arrays, and the manifest beside them with the suffix ``.json``.

        Each file is written under a temporary name and moved, the manifest last. If the program is
        stopped between the two files while it replaces an older release, the old manifest stands
        beside new arrays; :func:`check_arrays` notices that.

        Parameters
        ----------
        path : str or Path
            ``X.npz``, which needs no library but numpy and holds no pickle, or ``X.safetensors``.

        Raises
        ------
        ValueError
            If the suffix is another one, or the other kind of file is there already.
        ModuleNotFoundError
            If safetensors is not installed.
        OSError
            If a file cannot be written.
        """
        target = check_path(path)
        write_arrays(target, self.arrays)
        self.manifest.write(target.with_suffix(".json"))


def check_path(path: str | Path) -> Path:
    """The path of a release, checked before the hours of work that the release may take.

    Raises
    ------
    ValueError
        As :meth:`Release.save` does.
    """
    target = Path(path)
    if target.suffix not in SUFFIXES:
        raise _validate.fail("path", "to end in " + " or ".join(SUFFIXES), str(path))
    refuse_shared(target)
    return target


def release(
    features: AnyArray,
    labels: AnyArray,
    *,
    others: Mapping[str, AnyArray] = MappingProxyType({}),
    **made: Any,
) -> Release:
    """Put arrays together with the guarantee of the event that produced them.

    Guarantee
    ---------
    That of the event, if the arrays are what the event describes. This function cannot know
    whether they are; ``rdpkit verify`` tests it. ``private`` is true only if no check fails: see
    :mod:`rdpkit.mechanisms.releases.verdict`.

    Parameters
    ----------
    features : ndarray, shape (n, ...)
        Synthetic records.
    labels : ndarray, shape (n,) or (n, classes)
        Their labels.
    others : mapping of str to ndarray
        Further arrays that the event describes.
    **made
        How the arrays were made: arguments of :func:`guaranteed`.

    Returns
    -------
    Release
        The arrays with a manifest.
    """
    return _described(features, labels, others=others, **guaranteed(**made))


def guaranteed(
    *,
    event: Event,
    privacy: Privacy,
    parameters: Mapping[str, Any],
    mechanism: str | None = None,
    notes: tuple[str, ...] = (),
    checks: tuple[PrivacyCheck, ...] = (),
    tested_as: str | None = None,
    device: str | None = None,
    counts: KnownCounts | None = None,
) -> dict[str, Any]:
    """What a manifest says of how a release was made and what that guarantees.

    Parameters
    ----------
    event : Event
        What was released of the private records.
    privacy : Privacy
        Delta and adjacency of the guarantee, and where the noise came from.
    parameters : mapping
        Everything that produced the data, as plain JSON values.
    mechanism : str, optional
        The mechanism's name, by default the event's.
    notes : tuple of str
        What a reader has to know.
    checks : tuple of PrivacyCheck
        What the mechanism knows of the numbers that it shows (``public_parameters``), of what the
        theorem assumes (``preconditions``), or of a public number of records (``delta``).
    tested_as : str, optional
        What ``rdpkit verify`` takes to test the code that made the data.
    device : str, optional
        The device on which the data were computed, if it is not the processor.
    counts : KnownCounts, optional
        The numbers of records that the event was made with. The release of noisy counts is composed
        with the event, and the guarantee includes what it cost.

    Returns
    -------
    dict
        Arguments of :class:`Manifest`, all but those that describe the data themselves.
    """
    _validate.one_of_a_kind("event", event, Event)
    _validate.one_of_a_kind("privacy", privacy, Privacy)
    adjacency = Adjacency.parse(privacy.adjacency)
    event = _of_persons(event, privacy, counts)
    if counts is None:
        guarantee = _guarantee(event, privacy.delta, adjacency)
    else:
        own = _guarantee(event, counts.delta_left(privacy.delta), adjacency)
        guarantee = counts.paid(own, delta=privacy.delta)
        event = counts.before(event)
        parameters = {**parameters, "counts": counts.as_dict()}
        notes = (*counts.notes(), *notes)
        # Lower bounds on the counts may be far below them, so delta is compared with the estimates.
        known = counts.sizes if counts.noisy is None else counts.noisy
        number = max(1, sum(max(0, count) for count in known))
        checks = (*counts.checks(), delta_check(privacy.delta, number), *checks)
    parameters = {**parameters, "public": dict(privacy.public)}
    if privacy.most_per_person is not None:
        parameters["most_per_person"] = privacy.most_per_person
    facts: dict[str, Any] = {
        "event": event,
        "guarantee": guarantee,
        "reproducible_noise": privacy.noise.reproducible,
        "accept_epsilon": privacy.accept_epsilon,
    }
    checks = (*checks, *source_checks(privacy.public))
    found = complete(
        [*checks, *unstated_checks(checks, guarantee, tested_as=tested_as, device=device)],
        computed_checks(**facts, public=privacy.public),
    )
    return {
        "mechanism": mechanism or event.mechanism,
        "parameters": parameters,
        "private": is_private(found),
        "checks": found,
        "notes": tuple(notes),
        **facts,
        "versions": versions(),
    }


def _of_persons(event: Event, privacy: Privacy, counts: KnownCounts | None) -> Event:
    """The event for neighbours that differ in all records of a person, if they do."""
    if privacy.most_per_person is None:
        return event
    if counts is not None and (
        counts.origin == "exact" or counts.most_per_person != privacy.most_per_person
    ):
        raise ValueError(
            "Expected noisy counts, or public numbers (counts = [...]), of neighbours that differ "
            "in all records of a person."
        )
    replaced = Adjacency.parse(privacy.adjacency) is Adjacency.REPLACE_ONE
    if replaced and not event.fold(lambda one, inside: isinstance(one, _SUMS) and all(inside)):
        raise ValueError(
            "Expected adjacency add_or_remove_one where neighbours differ in all records of a "
            "person: this event says nothing of persons with different numbers of records."
        )
    return Group(event=event, size=privacy.most_per_person)


# A record that is absent adds nothing to a sum: no further from another one than two records are.
_SUMS = (Composed, Gaussian, EpsilonDelta)


def release_without_guarantee(
    features: AnyArray,
    labels: AnyArray,
    *,
    mechanism: str,
    parameters: Mapping[str, Any],
    notes: tuple[str, ...],
    noise: NoiseSource,
) -> Release:
    """Put arrays of a baseline without any privacy together with a manifest that says so.

    Parameters
    ----------
    features, labels, mechanism, parameters, notes
        As for :func:`release`.
    noise : NoiseSource
        The source that the manifest states. No noise is drawn from it.
    """
    _validate.one_of_a_kind("noise", noise, NoiseSource)
    return _described(
        features,
        labels,
        mechanism=mechanism,
        parameters=parameters,
        event=None,
        guarantee=None,
        reproducible_noise=noise.reproducible,
        private=False,
        notes=tuple(notes),
        versions=versions(),
    )


def _described(
    features: AnyArray,
    labels: AnyArray,
    *,
    others: Mapping[str, AnyArray] = MappingProxyType({}),
    **stated: Any,
) -> Release:
    _check_arrays(features, labels)
    _check_others(others)
    arrays = {"features": features, "labels": labels, **others}
    manifest = Manifest(**stated, arrays={name: described(array) for name, array in arrays.items()})
    return Release(features=features, labels=labels, manifest=manifest, others=dict(others))


def load_release(path: str | Path) -> Release:
    """Read a release, given either of its files, and check its arrays against the manifest.

    Parameters
    ----------
    path : str or Path
        ``X.json``, ``X.npz`` or ``X.safetensors``.

    Raises
    ------
    ValueError
        If the manifest or the arrays cannot be read, or an array has changed: the message says
        which.
    OSError
        If a file cannot be read.
    """
    given = Path(path)
    manifest_path = given.with_suffix(".json")
    manifest = load_manifest(manifest_path)
    arrays_path = given if given.suffix in SUFFIXES else arrays_beside(manifest_path)
    found = problems(manifest.arrays, arrays_path, _NAMES)
    if found:
        raise ValueError(f"{arrays_path}: " + "; ".join(found))
    arrays = read_arrays(arrays_path, (*_NAMES, *(n for n in manifest.arrays if n not in _NAMES)))
    return Release(
        features=arrays.pop("features"),
        labels=arrays.pop("labels"),
        manifest=manifest,
        others=arrays,
    )


def check_arrays(path: str | Path) -> tuple[str, ...]:
    """All problems with the data beside a manifest; none if they are those that it describes.

    Arrays and files are hashed piece by piece: they may be larger than memory.

    Parameters
    ----------
    path : str or Path
        The manifest, a JSON file.

    Returns
    -------
    tuple of str
        One sentence a problem, naming the array or the file: changed, missing, or not in the
        manifest; or that the file of arrays is missing or cannot be read.

    Raises
    ------
    ValueError
        If the file is no manifest.
    OSError
        If the manifest cannot be read.
    """
    manifest = load_manifest(path)
    found = file_problems(manifest.files, Path(path).parent)
    if manifest.files and not manifest.arrays:
        return found
    try:
        arrays = arrays_beside(Path(path))
    except (ValueError, OSError) as error:
        return (*found, str(error))
    return (*found, *problems(manifest.arrays, arrays, _NAMES))


@functools.lru_cache(maxsize=256)
def _guarantee(event: Event, delta: float, adjacency: Adjacency) -> Guarantee:
    return rdpkit.epsilon(event, delta=delta, adjacency=adjacency)


def _check_others(others: Mapping[str, Any]) -> None:
    for name, array in others.items():
        if not name.isidentifier() or name in _NAMES:
            raise _validate.fail("others", "to have names like those of variables", name)
        if not isinstance(array, np.ndarray) or array.dtype.kind not in "iufb":
            raise _validate.fail(f"others[{name!r}]", "to be an array of numbers", array)
        if not array.dtype.isnative or not np.isfinite(array).all():
            raise _validate.fail(f"others[{name!r}]", "to be finite, native numbers", array)


def _check_arrays(features: Any, labels: Any) -> None:
    for name, array in zip(_NAMES, (features, labels), strict=True):
        if not isinstance(array, np.ndarray) or array.ndim == 0 or array.dtype.kind not in "iuf":
            raise _validate.fail(name, "to be an array of numbers with at least one axis", array)
        if not array.dtype.isnative:
            raise _validate.fail(name, "to have this machine's order of bytes", array.dtype.str)
    if features.shape[0] != labels.shape[0]:
        raise ValueError(
            f"Expected as many labels as features, got {labels.shape[0]} and {features.shape[0]}."
        )
    for name, array in zip(_NAMES, (features, labels), strict=True):
        step = max(1, _PIECE // max(1, array[:1].nbytes))
        for start in range(0, array.shape[0] if array.dtype.kind == "f" else 0, step):
            if not np.isfinite(array[start : start + step]).all():
                raise ValueError(f"Expected {name} to be finite numbers, got NaN or an infinity.")


def versions() -> dict[str, str]:
    """Versions of the program and of the libraries that numbers depend on."""
    return {
        "rdpkit": rdpkit.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }
