"""A mechanism with small parameters, as a callable that ``rdpkit verify`` can run.

    rdpkit verify dpcda

tests the very code that makes releases against what it claims. The source of noise is seeded from
the test's generator; apart from its key it is the source that releases are made with.

Some mechanisms compute synthetic records from noisy sums or gradients. They are tested on the noisy
sums or gradients, which say more about the private records than the synthetic records do.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rdpkit import Adjacency, Event, worst_pair
from rdpkit.formats.tables import event_to_table
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.records import Batch, Records, public_scaling
from rdpkit.mechanisms.parts.threads import torch_threads

Array = NDArray[np.float64]
LabelledRows = tuple[Array, NDArray[np.int64]]
DataPair = tuple[LabelledRows, LabelledRows]

# The delta at which the worst-case pair is searched. A smaller delta would need more runs than a
# test has.
_DELTA = 1e-3


class LabelledRecords(Protocol):
    """A data set of a verification: features of shape (n, d) and labels of shape (n,)."""

    @property
    def features(self) -> Array:
        """Records."""

    @property
    def labels(self) -> NDArray[np.int64]:
        """Classes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyTarget:
    """A mechanism with its parameters filled in."""

    event: Event  #: The event that the mechanism claims to be
    adjacency: Adjacency  #: The neighbouring relation for which the claim is tested
    run: Callable[[Any, NoiseSource], Sequence[Batch]]
    """Runs the mechanism once, on a data set and a source of noise, and returns its batches."""
    prepare: Callable[[LabelledRecords], Any] = lambda dataset: dataset
    """Turns a data set into what ``run`` takes in its place, once for many runs."""
    dimension: int = 2  #: Number of features of the data sets
    pair: Callable[[], DataPair] | None = None
    """Makes the two data sets of the test. By default they are the event's worst-case pair."""

    def neighbours(self) -> DataPair:
        """The two data sets of the test: features of shape (n, d) and labels of shape (n,)."""
        if self.pair is not None:
            return self.pair()
        return worst_pair(self.event, adjacency=self.adjacency, delta=_DELTA).datasets(
            self.dimension
        )

    def __call__(self, dataset: LabelledRecords, rng: np.random.Generator) -> Array:
        """One release: features and labels side by side, shape (records, columns)."""
        return np.asarray(self.many(dataset, rng, 1)[0])

    def many(self, dataset: LabelledRecords, rng: np.random.Generator, count: int) -> Array:
        """Independent releases, each from its own run, of shape (count, records, columns)."""
        noise = NoiseSource.of_generator(rng)
        prepared = self.prepare(dataset)
        return np.stack([_joined(self.run(prepared, noise)) for _ in range(count)])

    def event_file(self) -> str:
        """The event as a TOML file for ``--event``."""
        table = event_to_table(self.event)
        return "".join(f"{key} = {_toml(value)}\n" for key, value in table.items())


def target_of_records(
    event: Event,
    make: Callable[..., Iterable[Batch]],  # The batches of one release: make(records, noise=noise)
    *,
    adjacency: Adjacency = Adjacency.REPLACE_ONE,
    classes: int = 2,
    box: tuple[float, float] | None = None,
    norm: float | None = None,
    pair: Callable[[], DataPair] | None = None,
) -> VerifyTarget:
    """A mechanism that takes :class:`Records`, on data sets that need no scaling."""

    def prepare(dataset: LabelledRecords) -> Records:
        return Records(
            features=dataset.features,
            labels=dataset.labels,
            classes=classes,
            scaling=public_scaling(),
            box=box,
            norm=norm,
        )

    return VerifyTarget(
        event=event,
        adjacency=adjacency,
        prepare=prepare,
        run=lambda records, noise: list(make(records, noise=noise)),
        pair=pair,
    )


def on_one_thread(
    run: Callable[[Any, NoiseSource], Sequence[Batch]],
) -> Callable[[Any, NoiseSource], Sequence[Batch]]:
    """The same run with one thread of torch, because more threads are slower on tiny arrays."""

    def run_once(prepared: Any, noise: NoiseSource) -> Sequence[Batch]:
        with torch_threads(1):
            return run(prepared, noise)

    return run_once


def one_more_record() -> DataPair:
    """Images of four pixels. Only the first data set has the last record, alone in its class."""
    rows = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 4))
    labels = np.array([1, 1, 0])
    return (rows, labels), (rows[:-1], labels[:-1])


def _joined(batches: Sequence[Batch]) -> Array:
    return np.concatenate(
        [np.column_stack([rows, labels.astype(np.float64)]) for rows, labels in batches]
    )


def _toml(value: Any) -> str:
    """A value of an event's table in TOML: strings, numbers and booleans are written as in JSON."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return json.dumps(value)
