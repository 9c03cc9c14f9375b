"""Data sets that mechanisms are run on, and pairs of them that are neighbours.

A claim of differential privacy is about neighbouring data sets. So a pair is checked when it is
made: one that differs in more than one record refutes nothing.
"""

from __future__ import annotations

import zipfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rdpkit import Event, _validate
from rdpkit.adjacency import Adjacency
from rdpkit.pairs.neighbouring import NeighbouringPair, worst_pair

Array = NDArray[np.float64]
Labels = NDArray[np.int64]

USUAL_RECORDS = 8
"""Records of the larger data set, where nothing else says how many."""
LEAST_DELTA = 1e-3
"""The smallest delta that worst-case pairs are looked up for: further out a test sees nothing."""

# Records on no power-of-two grid, in case the noise is on one.
_OFF_GRID = 0.9172635
_KEYS = ("features", "labels", "features_prime", "labels_prime")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelledData:
    """Records with labels, as a mechanism gets them.

    The arrays are read-only: a mechanism that changed them would change the data of its next run.

    Parameters
    ----------
    features : array_like, shape (n, d)
        One record a row; n may be 0.
    labels : array_like of int, shape (n,), optional
        Classes; by default all 0.

    Raises
    ------
    ValueError
        If the shapes do not match, or an entry is not a finite number.

    Examples
    --------
    >>> data = LabelledData(features=[[0.5, 1.0], [0.0, 0.0]])
    >>> len(data), data.dimension, data.labels.tolist()
    (2, 2, [0, 0])
    """

    features: Array
    labels: Labels

    def __init__(self, *, features: ArrayLike, labels: ArrayLike | None = None) -> None:
        condition = "to be finite numbers of shape (n, d) with d >= 1"
        rows = _validate.real_array("features", features, condition)
        if rows.ndim != 2 or rows.shape[1] == 0 or not np.isfinite(rows).all():
            raise _validate.fail("features", condition, features)
        classes = np.zeros(rows.shape[0], dtype=np.int64) if labels is None else np.asarray(labels)
        if classes.size == 0:
            classes = classes.astype(np.int64)
        if classes.dtype.kind not in "iu" or classes.shape != rows.shape[:1]:
            raise _validate.fail("labels", f"to be integers of shape ({rows.shape[0]},)", labels)
        # -0.0 and 0.0 are the same record.
        rows = np.array(rows + 0.0)
        classes = np.array(classes, dtype=np.int64)
        for array in (rows, classes):
            array.flags.writeable = False
        object.__setattr__(self, "features", rows)
        object.__setattr__(self, "labels", classes)

    def __len__(self) -> int:
        return int(self.features.shape[0])

    def __setstate__(self, state: tuple[Array, Labels]) -> None:
        # Arrays come out of another process writable.
        for name, array in zip(("features", "labels"), state, strict=True):
            if array.flags.writeable:
                array.flags.writeable = False
            object.__setattr__(self, name, array)

    def __getstate__(self) -> tuple[Array, Labels]:
        return self.features, self.labels

    @property
    def dimension(self) -> int:
        """Number of features."""
        return int(self.features.shape[1])

    def records(self) -> Counter[bytes]:
        """How often each record occurs."""
        return Counter(
            row.tobytes() + label.tobytes()
            for row, label in zip(self.features, self.labels, strict=True)
        )

    def scaled(self, factor: float) -> LabelledData:
        """The same records nearer to the origin, or farther from it."""
        return LabelledData(features=self.features * factor, labels=self.labels)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Neighbours:
    """Two neighbouring data sets, D and D'.

    Parameters
    ----------
    first, second : LabelledData
        D and D'.
    adjacency : Adjacency or str
        The neighbouring relation that they are neighbours in.
    description : tuple of str
        What they are, in words, line by line.

    Raises
    ------
    ValueError
        If they are no neighbours in that relation. The order of records does not matter.

    Examples
    --------
    >>> one = LabelledData(features=[[0.0], [1.0]])
    >>> two = LabelledData(features=[[1.0]])
    >>> Neighbours(first=one, second=two, adjacency="add_or_remove_one").size
    2
    """

    first: LabelledData
    second: LabelledData
    adjacency: Adjacency
    description: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "adjacency", Adjacency.parse(self.adjacency))
        for name in ("first", "second"):
            _validate.one_of_a_kind(name, getattr(self, name), LabelledData)
        if self.first.dimension != self.second.dimension:
            raise ValueError(
                "Expected D and D' to have the same number of features, got "
                f"{self.first.dimension} and {self.second.dimension}."
            )
        only = (self.first.records() - self.second.records()).total()
        other = (self.second.records() - self.first.records()).total()
        unbounded = self.adjacency is Adjacency.ADD_OR_REMOVE_ONE
        accepted = {(1, 0), (0, 1)} if unbounded else {(1, 1)}
        if (only, other) not in accepted:
            expected = (
                "one of them to have exactly one record more"
                if unbounded
                else "exactly one record to differ"
            )
            raise ValueError(
                f"Expected D and D' to be neighbours under {self.adjacency.value}, {expected}, got "
                f"{only} record(s) in D alone and {other} in D' alone."
            )

    @property
    def size(self) -> int:
        """Records of the larger data set."""
        return max(len(self.first), len(self.second))

    def scaled(self, factor: float) -> Neighbours:
        """Both data sets shrunk towards the origin, which keeps records within their bounds."""
        return Neighbours(
            first=self.first.scaled(factor),
            second=self.second.scaled(factor),
            adjacency=self.adjacency,
            description=(*self.description, f"all records multiplied by {factor:.6g}"),
        )

    def describe(self) -> tuple[str, ...]:
        """The pair in words."""
        sizes = f"D has {len(self.first)} records, D' has {len(self.second)}"
        return (
            f"{sizes}, of {self.first.dimension} features; {self.adjacency.value}",
            *self.description,
        )


def of_pair(pair: NeighbouringPair, *, dimension: int, records: int = 0) -> Neighbours:
    """The data sets of a worst-case pair, in ``dimension`` coordinates.

    Parameters
    ----------
    pair : NeighbouringPair
        From :func:`rdpkit.worst_pair`.
    dimension : int
        Number of features.
    records : int
        Fill both data sets up with records at the origin until the larger one has this many. Only
        for pairs in which all other records are at the origin, or there are none: these say
        nothing about how many there are.

    Raises
    ------
    ValueError
        If the pair is for a stated number of records.
    """
    (features, labels), (other_features, other_labels) = pair.datasets(dimension)
    missing = _validate.integer("records", records, minimum=0) - max(len(labels), len(other_labels))
    if missing > 0:
        if max(len(labels), len(other_labels)) > 1:
            raise _validate.fail(
                "records",
                f"to be 0: the pair of {pair.event.mechanism!r} has the number of records that "
                "the event says",
                records,
            )
        rest = np.zeros((missing, dimension))
        features, other_features = np.vstack([rest, features]), np.vstack([rest, other_features])
        same = np.zeros(missing, dtype=np.int64)
        labels, other_labels = np.append(same, labels), np.append(same, other_labels)
    filled = (f"both filled up with {missing} records at the origin",) if missing > 0 else ()
    return Neighbours(
        first=LabelledData(features=features, labels=labels),
        second=LabelledData(features=other_features, labels=other_labels),
        adjacency=pair.adjacency,
        description=(*pair.describe()[:3], *filled),
    )


def worst_neighbours(
    event: Event,
    *,
    adjacency: Adjacency | str,
    delta: float,
    dimension: int | None = None,
    records: int | None = None,
) -> list[Neighbours]:
    """The worst-case pair of an event, and the same a little off any grid that noise may lie on.

    Parameters
    ----------
    event : Event
        What is claimed to be released.
    adjacency : Adjacency or str
        The neighbouring relation.
    delta : float
        Where the pair is the worst one; below 1e-3, where tests see nothing, it is 1e-3.
    dimension : int, optional
        Number of features; needed unless the event says it.
    records : int, optional
        Records of the larger data set, where the pair leaves it open; by default 8.

    Raises
    ------
    ValueError
        If no pair is known, or an argument is missing or not what the event says.
    """
    own = getattr(event, "feature_dimension", None) or getattr(event, "dimension", None)
    if own is not None and dimension not in (None, own):
        raise ValueError(
            f"Expected dimension (--dimension) to be {own}, as the event says, got {dimension}."
        )
    if own is None and dimension is None:
        raise ValueError(
            "Expected a dimension (--dimension): the event does not say how many features there "
            "are."
        )
    pair = worst_pair(event, adjacency=adjacency, delta=max(delta, LEAST_DELTA))
    left_open = max(len(pair.first), len(pair.second)) <= 1
    size = (records or USUAL_RECORDS) if left_open else (records or 0)
    found = of_pair(pair, dimension=own or dimension or 1, records=size)
    return [found, found.scaled(_OFF_GRID)]


def load(path: str | Path, *, adjacency: Adjacency | str) -> Neighbours:
    """Read a pair from an ``.npz`` file.

    It holds ``features`` and ``features_prime``, shapes (n, d) and (n', d), and, optionally,
    ``labels`` and ``labels_prime``. Nothing in it is ever executed: pickled objects are refused.

    Raises
    ------
    ValueError
        If it is no such file, or its data sets are no neighbours; the message names the file.
    OSError
        If it cannot be read.
    """
    try:
        with open(path, "rb") as stream:
            file = np.load(stream, allow_pickle=False)
            if not isinstance(file, np.lib.npyio.NpzFile):
                raise ValueError("it holds a single array.")
            unknown = sorted(set(file.files) - set(_KEYS))
            missing = [key for key in _KEYS if key.startswith("f") and key not in file.files]
            if unknown or missing:
                raise ValueError(f"expected the arrays {', '.join(_KEYS)}, got {file.files}.")
            found = {key: file[key] for key in file.files}
    except OSError:
        raise
    except (ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path}: not a pair of data sets: {error}") from None
    try:
        return Neighbours(
            first=LabelledData(features=found["features"], labels=found.get("labels")),
            second=LabelledData(features=found["features_prime"], labels=found.get("labels_prime")),
            adjacency=Adjacency.parse(adjacency),
            description=(f"from {Path(path).name}",),
        )
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def random_neighbours(
    *,
    count: int,
    records: int,
    dimension: int,
    record_norm: float,
    classes: int,
    adjacency: Adjacency | str,
    rng: np.random.Generator,
) -> list[Neighbours]:
    """Pairs to search in: the changed record far out, the others anywhere.

    The others are drawn by turns from the ball, all at one point of the sphere, and all at the
    origin. The changed one is opposite to their mean, or in a random direction, at the full norm;
    under replace-one it is replaced by its mirror image, or by one of the others.

    Parameters
    ----------
    count : int
        How many pairs.
    records : int
        Records of the larger data set.
    dimension : int
        Number of features.
    record_norm : float
        Largest L2 norm of a record.
    classes : int
        Labels are drawn from 0, ..., classes - 1; the changed record keeps its class.
    adjacency : Adjacency or str
        The neighbouring relation.
    rng : numpy.random.Generator
        Draws them.

    Raises
    ------
    ValueError
        If an argument is outside of its range.
    """
    relation = Adjacency.parse(adjacency)
    _validate.integer("count", count)
    n = _validate.integer("records", records)
    d = _validate.integer("dimension", dimension)
    norm = _validate.positive("record_norm", record_norm)
    _validate.integer("classes", classes)
    found = []
    for index in range(count):
        kind = ("ball", "point", "origin")[index % 3]
        others = _others(kind, n - 1, d, norm, rng)
        away = _direction(d, rng)
        if index % 2 == 0 and len(others) and np.linalg.norm(others.mean(axis=0)) > 0.0:
            away = -others.mean(axis=0) / np.linalg.norm(others.mean(axis=0))
        changed = norm * away
        labels = rng.integers(classes, size=n)
        other = -changed
        if len(others) and kind != "origin" and index % 4 < 2:
            other = others[0]
        if np.array_equal(other, changed):
            other = -changed
        first = LabelledData(features=np.vstack([others, changed]), labels=labels)
        second = (
            LabelledData(features=others.reshape(n - 1, d), labels=labels[:-1])
            if relation is Adjacency.ADD_OR_REMOVE_ONE
            else LabelledData(features=np.vstack([others, other]), labels=labels)
        )
        found.append(
            Neighbours(
                first=first,
                second=second,
                adjacency=relation,
                description=(f"random pair {index}: the others are from the {kind}",),
            )
        )
    return found


def _direction(dimension: int, rng: np.random.Generator) -> Array:
    vector = rng.standard_normal(dimension)
    return np.asarray(vector / np.linalg.norm(vector))


def _others(kind: str, count: int, d: int, norm: float, rng: np.random.Generator) -> Array:
    if kind == "origin":
        return np.zeros((count, d))
    if kind == "point":
        return np.tile(norm * _direction(d, rng), (count, 1))
    directions = rng.standard_normal((count, d))
    lengths = np.linalg.norm(directions, axis=1, keepdims=True)
    radii = norm * rng.random((count, 1)) ** (1.0 / d)
    return np.asarray(directions / lengths * radii)


__all__ = [
    "LEAST_DELTA",
    "USUAL_RECORDS",
    "LabelledData",
    "Neighbours",
    "load",
    "of_pair",
    "random_neighbours",
    "worst_neighbours",
]
