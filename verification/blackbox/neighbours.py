"""Data sets that mechanisms are run on, and pairs of them that are neighbours.

A claim of differential privacy is about neighbouring data sets. Every pair is therefore checked
when it is made: a pair that differs in more than one record refutes nothing.
"""

from __future__ import annotations

import zipfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rdpkit import _validate
from rdpkit.adjacency import Adjacency, ordinary
from rdpkit.formats.numbers import how_many

Array = NDArray[np.float64]
Labels = NDArray[np.int64]

_KEYS = ("features", "labels", "features_prime", "labels_prime")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelledData:
    """Records with labels, as a mechanism gets them.

    The arrays are read-only: a mechanism that changed them would change the data of its next run.

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

    features: Array  #: One record a row, shape (n, d); n may be 0
    labels: Labels  #: Classes, integers of shape (n,); by default all 0

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
        # Arrays that come from another process are writable.
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
        """The same records, multiplied by a factor."""
        return LabelledData(features=self.features * factor, labels=self.labels)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Neighbours:
    """Two neighbouring data sets, D and D'.

    Raises
    ------
    ValueError
        If they are not neighbours in that relation. The order of records does not matter.

    Examples
    --------
    >>> one = LabelledData(features=[[0.0], [1.0]])
    >>> two = LabelledData(features=[[1.0]])
    >>> Neighbours(first=one, second=two, adjacency="add_or_remove_one").size
    2
    """

    first: LabelledData
    second: LabelledData
    adjacency: Adjacency  #: The neighbouring relation that they are neighbours in
    description: tuple[str, ...] = ()  #: What they are, in words, line by line
    beyond_norm: bool = False
    """Whether a record is longer than the norm that the claim is for. Such a pair shows whether the
    code clips; it says nothing about code that is only ever given records within the norm.
    """

    def __post_init__(self) -> None:
        relation = ordinary(
            Adjacency.parse(self.adjacency), because="code is run on ordinary records alone"
        )
        object.__setattr__(self, "adjacency", relation)
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

    @property
    def longest(self) -> float:
        """The norm of the longest record."""
        return max(
            float(np.linalg.norm(side.features, axis=1).max(initial=0.0))
            for side in (self.first, self.second)
        )

    def scaled(self, factor: float) -> Neighbours:
        """Both data sets scaled; a factor of at most 1 keeps records within their bounds."""
        return Neighbours(
            first=self.first.scaled(factor),
            second=self.second.scaled(factor),
            adjacency=self.adjacency,
            description=(*self.description, f"all records multiplied by {factor:.6g}"),
            beyond_norm=self.beyond_norm,
        )

    def describe(self) -> tuple[str, ...]:
        """The pair in words."""
        sizes = f"D has {how_many(len(self.first), 'record')}, D' has {len(self.second)}"
        return (
            f"{sizes}, of {self.first.dimension} features; {self.adjacency.value}",
            *self.description,
        )


def load(path: str | Path, *, adjacency: Adjacency | str) -> Neighbours:
    """Read a pair from an ``.npz`` file.

    It holds ``features`` and ``features_prime``, shapes (n, d) and (n', d), and, optionally,
    ``labels`` and ``labels_prime``. Nothing in it is ever executed: pickled objects are refused.

    Raises
    ------
    ValueError
        If it is not such a file, or its data sets are not neighbours; the message names the file.
    OSError
        If it cannot be read.
    """
    try:
        with open(path, "rb") as stream:
            try:
                file = np.load(stream, allow_pickle=False)
            except ValueError:
                # What numpy says here is how to unpickle it, which would run what somebody wrote.
                raise ValueError("it is no .npz file.") from None
            if not isinstance(file, np.lib.npyio.NpzFile):
                raise ValueError("it holds a single array.")
            unknown = sorted(set(file.files) - set(_KEYS))
            missing = [key for key in _KEYS if key.startswith("f") and key not in file.files]
            if unknown or missing:
                raise ValueError(f"expected the arrays {', '.join(_KEYS)}, got {file.files}.")
            try:
                found = {key: file[key] for key in file.files}
            except ValueError:
                raise ValueError("an array is damaged, or holds objects.") from None
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
