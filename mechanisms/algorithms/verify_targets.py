"""Every mechanism as a callable that ``rdpkit verify`` can run: small, and with its own claim.

Each name in :data:`TARGETS` is an attribute of this module too, so that

    rdpkit verify rdpkit.mechanisms.algorithms.verify_targets:dpcda

tests the very code that makes releases against what it claims. The source of noise is seeded from
the test's generator; apart from its key it is the source that releases are made with.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from rdpkit.mechanisms.algorithms import dpcda as dpcda_module
from rdpkit.mechanisms.algorithms import dpmix as dpmix_module
from rdpkit.mechanisms.algorithms import gaussian_synthesis as synthesis_module
from rdpkit.mechanisms.algorithms import ldpdc as ldpdc_module
from rdpkit.mechanisms.algorithms import local_perturbation as local_module
from rdpkit.mechanisms.algorithms import random_projection as projection_module
from rdpkit.mechanisms.parts.mixing import Mixer
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.preprocessing import public_scaling
from rdpkit.mechanisms.parts.records import Records
from rdpkit.mechanisms.parts.sampling import subsets
from rdpkit.mechanisms.releases.streaming import Batch

from rdpkit import (
    DPCDA,
    LDPDC,
    Adjacency,
    ClassWiseDPMix,
    DPMix,
    Event,
    Gaussian,
    GaussianSynthesis,
    worst_pair,
)
from rdpkit.tables import event_to_table

Array = NDArray[np.float64]
Runner = Callable[[NoiseSource], list[Batch]]
LabelledRows = tuple[Array, NDArray[np.int64]]
DataPair = tuple[LabelledRows, LabelledRows]

_SCALING = public_scaling()
_CLASSES = 2
_DIMENSION = 2
# Where worst-case pairs are the worst; further out a test sees nothing.
_DELTA = 1e-3


class DataSet(Protocol):
    """What a verification hands over: features of shape (n, d) and labels of shape (n,)."""

    @property
    def features(self) -> Array:
        """Records."""

    @property
    def labels(self) -> NDArray[np.int64]:
        """Classes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyTarget:
    """A mechanism with its parameters filled in.

    Parameters
    ----------
    event : Event
        What it claims to be.
    adjacency : Adjacency
        A relation under which it claims it.
    prepare : callable
        Makes, of a data set, a function that runs the mechanism once.
    dimension : int
        Number of features of the data sets it is made for.
    pair : callable or None
        Makes the data sets to test it on; None: the event's worst-case pair.
    """

    event: Event
    adjacency: Adjacency
    prepare: Callable[[DataSet], Runner]
    dimension: int = _DIMENSION
    pair: Callable[[], DataPair] | None = None

    def neighbours(self) -> DataPair:
        """Two data sets, each features of shape (n, d) and labels of shape (n,), to test it on."""
        if self.pair is not None:
            return self.pair()
        return worst_pair(self.event, adjacency=self.adjacency, delta=_DELTA).datasets(
            self.dimension
        )

    def __call__(self, dataset: DataSet, rng: np.random.Generator) -> Array:
        """One release: features and labels side by side, shape (records, columns)."""
        return np.asarray(self.many(dataset, rng, 1)[0])

    def many(self, dataset: DataSet, rng: np.random.Generator, count: int) -> Array:
        """Independent releases, each by a run of its own, shape (count, records, columns)."""
        noise = NoiseSource.of_generator(rng)
        run = self.prepare(dataset)
        return np.stack([_side_by_side(run(noise)) for _ in range(count)])

    def event_file(self) -> str:
        """The event as a TOML file for ``--event``."""
        table = event_to_table(self.event)
        return "".join(f"{key} = {_toml(value)}\n" for key, value in table.items())


def _toml(value: Any) -> str:
    """A value of an event's table in TOML: strings, numbers and booleans are written as in JSON."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return json.dumps(value)


def _side_by_side(batches: list[Batch]) -> Array:
    return np.concatenate(
        [np.column_stack([rows, labels.astype(np.float64)]) for rows, labels in batches]
    )


def _records(dataset: DataSet, classes: int = _CLASSES, **changes: Any) -> Records:
    return Records(
        features=dataset.features,
        labels=dataset.labels,
        classes=classes,
        scaling=_SCALING,
        **changes,
    )


def _dpcda(event: DPCDA) -> Callable[[DataSet], Runner]:
    def prepare(dataset: DataSet) -> Runner:
        records = _records(dataset, norm=event.clip_norm)
        return lambda noise: list(dpcda_module.batches(records, event=event, noise=noise))

    return prepare


def _dpmix(event: DPMix) -> Callable[[DataSet], Runner]:
    def prepare(dataset: DataSet) -> Runner:
        records = _records(dataset, box=dpmix_module.UNIT_BOX)
        return lambda noise: list(dpmix_module.batches(records, event=event, noise=noise))

    return prepare


def _class_wise(event: ClassWiseDPMix) -> Callable[[DataSet], Runner]:
    def prepare(dataset: DataSet) -> Runner:
        records = _records(dataset, box=dpmix_module.UNIT_BOX)
        return lambda noise: list(
            dpmix_module.class_wise_batches(records, event=event, noise=noise)
        )

    return prepare


def _as_listed(event: ClassWiseDPMix) -> Callable[[DataSet], Runner]:
    """The thesis's listing B.1: one subset a class for all of its releases."""

    def prepare(dataset: DataSet) -> Runner:
        records = _records(dataset, box=dpmix_module.UNIT_BOX)
        mixer = Mixer(records)

        def run(noise: NoiseSource) -> list[Batch]:
            made: list[Batch] = []
            for label, releases in enumerate(event.samples):
                members = records.members[label]
                once = members[subsets(len(members), event.order_of_mixture, 1, noise=noise)]
                means = np.repeat(mixer.means(once), releases, axis=0)
                noise.add_normal(means, std=event.feature_noise)
                made.append((means, np.full(releases, label)))
            return made

        return run

    return prepare


def _ldpdc(event: LDPDC) -> Callable[[DataSet], Runner]:
    def prepare(dataset: DataSet) -> Runner:
        records = _records(dataset, box=(-event.value_bound, event.value_bound))
        return lambda noise: list(ldpdc_module.batches(records, event=event, noise=noise))

    return prepare


def _synthesis(event: GaussianSynthesis) -> Callable[[DataSet], Runner]:
    def prepare(dataset: DataSet) -> Runner:
        records = _records(dataset, classes=1, box=synthesis_module.BOX)
        return lambda noise: list(
            synthesis_module.batches(
                records, outputs=event.outputs, min_eigenvalue=event.min_eigenvalue, noise=noise
            )
        )

    return prepare


_CLIP, _FEATURE_NOISE, _LABEL_NOISE = 1.0, 2.5, 2.0


def _local(dataset: DataSet) -> Runner:
    records = _records(dataset, norm=_CLIP)
    return lambda noise: list(
        local_module.batches(
            records, feature_noise=_FEATURE_NOISE, label_noise=_LABEL_NOISE, noise=noise
        )
    )


def _projection(dataset: DataSet) -> Runner:
    records = _records(dataset)
    matrix = projection_module.projection_matrix(_DIMENSION, 3, seed=0)
    return lambda noise: list(
        local_module.batches(
            records,
            feature_noise=_FEATURE_NOISE,
            label_noise=_LABEL_NOISE,
            noise=noise,
            projection=matrix,
            clip_norm=_CLIP,
        )
    )


def _opposite() -> DataPair:
    """A record that is turned around, and its label with it; the data sets are each other's."""
    rows = np.array([[0.0, 0.0], [10.0, 10.0], [0.0, 0.0]])
    return (rows, np.array([0, 0, 1])), (-rows, np.array([0, 1, 1]))


def _corner() -> DataPair:
    """Records in the corners of the box, most at one end, and one more at the other."""
    corners = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
    rows = np.repeat(corners, (20, 9, 9, 2), axis=0)
    labels = np.zeros(len(rows), dtype=np.int64)
    return (rows, labels), (rows[:-1], labels[:-1])


_DPCDA = DPCDA(
    class_sizes=(12, 12),
    samples_per_class=4,
    order_of_mixture=3,
    clip_norm=1.0,
    feature_noise=0.7,
    label_noise=0.0,
)
_DPCDA_NOISY_LABELS = DPCDA(
    class_sizes=(12, 12),
    samples_per_class=4,
    order_of_mixture=3,
    clip_norm=1.0,
    feature_noise=0.7,
    label_noise=0.7,
)
_DPMIX = DPMix(
    population_size=12,
    releases=4,
    order_of_mixture=3,
    feature_dimension=_DIMENSION,
    label_dimension=_CLASSES,
    feature_noise=0.7,
    label_noise=0.7,
)
_CLASS_WISE = ClassWiseDPMix(
    class_sizes=(12, 12),
    samples_per_class=(64, 1),
    order_of_mixture=3,
    feature_dimension=_DIMENSION,
    label_dimension=_CLASSES,
    feature_noise=0.94,
    label_noise=0.0,
)
_LDPDC = LDPDC(
    class_sizes=(8, 8),
    group_size=2.0,
    samples_per_class=4,
    noise_std=2.0,
    value_bound=1.0 / math.sqrt(_DIMENSION),
    dimension=_DIMENSION,
)
_SYNTHESIS = GaussianSynthesis(records=40, outputs=20, dimension=_DIMENSION, min_eigenvalue=0.5)
_RECORD: Gaussian = local_module.record_event(
    clip_norm=_CLIP, feature_noise=_FEATURE_NOISE, label_noise=_LABEL_NOISE
)

TARGETS: Mapping[str, VerifyTarget] = MappingProxyType(
    {
        "dpcda": VerifyTarget(
            event=_DPCDA, adjacency=Adjacency.REPLACE_ONE, prepare=_dpcda(_DPCDA)
        ),
        "dpcda_noisy_labels": VerifyTarget(
            event=_DPCDA_NOISY_LABELS,
            adjacency=Adjacency.REPLACE_ONE,
            prepare=_dpcda(_DPCDA_NOISY_LABELS),
        ),
        "dpmix": VerifyTarget(
            event=_DPMIX, adjacency=Adjacency.REPLACE_ONE, prepare=_dpmix(_DPMIX)
        ),
        "class_wise_dpmix": VerifyTarget(
            event=_CLASS_WISE, adjacency=Adjacency.REPLACE_ONE, prepare=_class_wise(_CLASS_WISE)
        ),
        "ldpdc": VerifyTarget(
            event=_LDPDC, adjacency=Adjacency.ADD_OR_REMOVE_ONE, prepare=_ldpdc(_LDPDC)
        ),
        "gaussian_synthesis": VerifyTarget(
            event=_SYNTHESIS,
            adjacency=Adjacency.ADD_OR_REMOVE_ONE,
            prepare=_synthesis(_SYNTHESIS),
            pair=_corner,
        ),
        "local_perturbation": VerifyTarget(
            event=_RECORD, adjacency=Adjacency.REPLACE_ONE, prepare=_local, pair=_opposite
        ),
        "random_projection": VerifyTarget(
            event=_RECORD,
            adjacency=Adjacency.REPLACE_ONE,
            prepare=_projection,
            pair=_opposite,
        ),
    }
)
"""Mechanisms that must not be rejected."""

BROKEN: Mapping[str, VerifyTarget] = MappingProxyType(
    {
        "class_wise_dpmix_as_listed": VerifyTarget(
            event=_CLASS_WISE, adjacency=Adjacency.REPLACE_ONE, prepare=_as_listed(_CLASS_WISE)
        ),
    }
)
"""What must be rejected: the DPMix thesis's listing B.1, against the claim of fresh subsets."""

dpcda = TARGETS["dpcda"]
dpcda_noisy_labels = TARGETS["dpcda_noisy_labels"]
dpmix = TARGETS["dpmix"]
class_wise_dpmix = TARGETS["class_wise_dpmix"]
ldpdc = TARGETS["ldpdc"]
gaussian_synthesis = TARGETS["gaussian_synthesis"]
local_perturbation = TARGETS["local_perturbation"]
random_projection = TARGETS["random_projection"]
class_wise_dpmix_as_listed = BROKEN["class_wise_dpmix_as_listed"]

__all__ = ["BROKEN", "TARGETS", "VerifyTarget"]
