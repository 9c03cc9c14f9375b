"""Moments of public features, released once with noise: nothing is trained.

Class sums and second moments are sums over records of bounded vectors, so one Gaussian release of
them is enough to draw synthetic records and to tell classes apart.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import rdpkit
from rdpkit import Adjacency, Gaussian, _validate
from rdpkit.mechanisms.algorithms.specification import Mechanism
from rdpkit.mechanisms.parts.checks import PrivacyCheck
from rdpkit.mechanisms.parts.counts import NUMBER_OF_ALL, Sizes
from rdpkit.mechanisms.parts.labelled_images import Floats, labelled_images
from rdpkit.mechanisms.parts.moments.basis import (
    BASES,
    SHAPES,
    VARIANTS,
    Array,
    Basis,
    PublicView,
    Shape,
    most_of,
    public_view,
)
from rdpkit.mechanisms.parts.moments.noisy import (
    OF_ALL,
    OF_CLASSES,
    MomentShares,
    discriminant_of,
    measure,
)
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.privacy import Privacy
from rdpkit.mechanisms.parts.records import Batch
from rdpkit.mechanisms.parts.verify_target import DataPair, LabelledRecords, VerifyTarget
from rdpkit.mechanisms.releases.computation import ON_PROCESSOR, Computation
from rdpkit.mechanisms.releases.release import Release, release
from rdpkit.mechanisms.releases.streaming import as_parameters

_FREQUENCIES = {"scattering": 3, "cosines": 10, "columns": 1}
# So many features are a matter of seconds.
_MOST_FEATURES = 1000
# The most directions, as a share of the features.
_MOST_DIRECTIONS = 0.6
# As many directions are taken as make the noise on a class mean so long, for records of length 1.
_NOISE_OF_MEAN = 0.4
# But for each class there are so many.
_DIRECTIONS_OF_CLASS = 2
# Records of a class, over the noise, from which on its own second moments are worth their noise.
_CLEAR_CLASSES = 500.0
_CLASS_DIRECTIONS = 100
# Public rows are so long that most private ones are not clipped before they are centred.
_LONGEST = 1.5
# A reader that is expected to be right less often, between guessing (0) and always (1), is warned
# of before the release.
_POOR_SHARE = 0.25
# A class of public images is made of so many random shapes, which are told apart about as often as
# classes of real images.
_SHAPES_OF_CLASS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class MomentsOptions:
    """Options of noisy moments.

    What is left open is chosen by the noise and by public or noisy numbers of records.
    """

    noise_std: float
    """Standard deviation of the noise, for records of norm 1, if there were one release; > 0. Two
    releases divide the budget by public shares.
    """
    basis: str = "scattering"
    """The features of which moments are released. "scattering" is for telling images apart;
    synthetic records are then features, and no images. "cosines" keeps the low frequencies of
    images, and synthetic records are images. "columns" is for tables.
    """
    frequencies: int = 0
    """Frequencies that are kept in each direction: of the places of a channel of scattering, or of
    the pixels. 0 leaves it open: 3 for scattering and 10 for cosines, or fewer where there are
    fewer, or more than 1,000 features.
    """
    directions: int | None = None
    """Features are turned into so many coordinates, in which random shapes differ most: see
    :mod:`rdpkit.mechanisms.parts.moments.basis`. 0 leaves them as they are, as for
    "columns". Left open, it is at most 60 % of the features, and fewer where there is much noise.
    """
    class_directions: int | None = None
    """In so many coordinates each class has second moments of its own. Left open, it is 100 or 0.
    """
    outputs_per_class: int = 100  # Synthetic records of each class

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise_std", _validate.positive("noise_std", self.noise_std))
        _validate.choice("basis", self.basis, BASES)
        _validate.integer("outputs_per_class", self.outputs_per_class)
        for name in ("class_directions", "directions", "frequencies"):
            if getattr(self, name) is not None:
                _validate.integer(name, getattr(self, name), minimum=0)
        if self.basis == "columns" and self.directions:
            raise _validate.fail("directions", "to be 0 for columns", self.directions)

    def features(self, shape: Shape) -> Basis:
        """The public features of images of a shape."""
        found = self.frequencies or max(
            1, min(_FREQUENCIES[self.basis], most_of(self.basis, shape))
        )
        basis = Basis(name=self.basis, frequencies=found, shape=shape)
        while not self.frequencies and found > 1 and basis.dimension > _MOST_FEATURES:
            found -= 1
            basis = replace(basis, frequencies=found)
        return basis

    def chosen(
        self,
        *,
        # Public or noisy numbers.
        records: int,
        classes: int,
        # Of an image; without it, only what the event depends on is chosen.
        shape: Shape | None = None,
    ) -> MomentsOptions:
        """These options, with nothing left open."""
        clarity = records / (max(1, classes) * self.noise_std)
        own = self.class_directions
        if own is None:
            own = _CLASS_DIRECTIONS if clarity > _CLEAR_CLASSES else 0
        if shape is None:
            return replace(self, class_directions=own)
        basis, number = self.features(shape), self.directions
        if number is None:
            most = _MOST_DIRECTIONS * basis.dimension
            wanted = int(min((_NOISE_OF_MEAN * clarity) ** 2, most))
            number = 0 if self.basis == "columns" else max(wanted, _DIRECTIONS_OF_CLASS * classes)
        return replace(
            self,
            class_directions=own,
            directions=min(number, basis.dimension),
            frequencies=basis.frequencies,
        )

    def plan(self) -> MomentShares:
        """How the budget is divided."""
        return OF_CLASSES if self.class_directions else OF_ALL

    def event(self) -> Gaussian:
        """One Gaussian release that is as private as both."""
        return Gaussian(
            noise_std=self.noise_std, record_norm=1.0, record_diameter=self.plan().diameter()
        )


def _chosen(values: Mapping[str, Any], class_sizes: Sizes, **question: Any) -> dict[str, Any]:
    """Choose what the event depends on, by the noise that the target needs without it."""
    found = rdpkit.calibrate(
        MomentsOptions(noise_std=1.0, class_directions=0).event(), **question, parameter="noise_std"
    )
    (std,) = found.values.values()
    options = MomentsOptions(**{**values, "noise_std": std})
    whole = options.chosen(records=sum(class_sizes), classes=len(class_sizes))
    return {**values, "class_directions": whole.class_directions}


def expected_accuracy(
    view: PublicView,  # Of the basis
    options: MomentsOptions,  # As :meth:`MomentsOptions.chosen` returns them
    *,
    # Public or noisy numbers.
    records: int,
    classes: int,
) -> float:
    """How often class means would be right if each class were made of four random shapes.

    It is found with public images and the noise of the release, and with no private record. Real
    images are told apart about as often, or somewhat more often.
    """
    number, each = SHAPES // _SHAPES_OF_CLASS, VARIANTS * _SHAPES_OF_CLASS
    rows = view.rows[:, : options.directions].reshape(number, each, -1)
    rows = rows / np.sqrt(np.square(rows).sum(axis=2).mean())
    std = options.plan().noise(options.noise_std)[0] * classes / max(1, records)
    means = rows[:, ::2].mean(axis=1)
    means = means + std * np.random.default_rng(0).normal(size=means.shape)
    right = []
    for start in range(0, max(1, number - classes + 1), classes):
        mine, tested = means[start : start + classes], rows[start : start + classes, 1::2]
        found = (tested @ mine.T - 0.5 * np.square(mine).sum(axis=1)).argmax(axis=2)
        right.append(np.mean(found == np.arange(len(mine))[:, None]))
    return float(np.mean(right))


def _outlook(view: PublicView, options: MomentsOptions, *, records: int, classes: int) -> str:
    """What can be expected of a release, said before any noise is drawn for it.

    Warns
    -----
    UserWarning
        If there are too few records for this noise.
    """
    share = expected_accuracy(view, options, records=records, classes=classes)
    sentence = (
        f"with this noise and about {records} records, class means in {options.directions} "
        f"directions are right for {share:.0%} of random public images in {classes} classes"
    )
    if share * classes - 1.0 < _POOR_SHARE * (classes - 1.0):
        sentence = f"too few records for this epsilon: {sentence}; more of either helps"
        warnings.warn(sentence, stacklevel=3)
    return f"expected before the release, from public images: {sentence}"


_PUBLIC = PrivacyCheck(
    name="public_parameters",
    status="holds",
    sentence="features of a record are computed from that record, from public constants and from "
    "random images; what else they are moved and scaled by comes from noisy numbers",
)


def synthesize(
    features: ArrayLike,
    labels: ArrayLike,
    *,
    classes: int,
    options: MomentsOptions,
    privacy: Privacy,
    image_shape: tuple[int, int, int] | None = None,
    computation: Computation = ON_PROCESSOR,
) -> Release:
    """Release noisy moments of public features, and draws from the laws that they describe.

    Arguments: see :class:`rdpkit.mechanisms.algorithms.specification.Mechanism`. A table of shape
    (n, d) with basis "columns" needs no ``image_shape``. Numbers are scaled to [0, 1]. Returns
    synthetic records, class by class, in the shape of the records if the basis can be inverted, and
    else their coordinates. ``others`` has the noisy moments.

    Guarantee
    ---------
    That of the :class:`rdpkit.Gaussian` of ``options.chosen(...).event()``, an upper bound: both
    releases add Gaussian noise to a sum of vectors of bounded norm, and the second one depends on
    the data through its sum and the first one alone. The theory pages 'Class moments' and 'Moments
    in two releases' have the composition and the sensitivity, which under replace-one is 1.46 with
    moments of each class and 1.85 without. Directions come from random images; what is chosen, from
    public or noisy numbers. Draws and the reader are post-processing.

    Assumes
    -------
    The number of records is public or noisy; it need not be right, but there are at most four times
    as many. Rounding moves no sum by more than the margin that is kept free for it.

    Warns
    -----
    UserWarning
        If there are too few records for the noise, before any of it is drawn for moments.

    Source
    ------
    The moments are sufficient statistics of normal classes; the sensitivity and the public
    directions are this library's.
    """
    if image_shape is None and options.basis == "columns":
        image_shape = (1, 1, int(np.prod(np.shape(features)[1:])))
    data = labelled_images(features, labels, classes=classes, image_shape=image_shape)
    counts = privacy.known_counts(data.class_sizes(), NUMBER_OF_ALL)
    (records,) = counts.sizes
    options = options.chosen(records=records, classes=classes, shape=data.shape)
    basis, notes = options.features(data.shape), []
    public: dict[str, Array] = {}
    if options.directions:
        view = public_view(basis)
        notes.append(_outlook(view, options, records=records, classes=classes))
        mean, directions = view.first(options.directions, longest=_LONGEST)
        public = {"public_mean": mean, "public_directions": directions}
    measured = measure(
        _coordinates(basis.kept_rows(data.images), public),
        data.labels,
        classes=classes,
        records=records,
        plan=options.plan(),
        block=options.class_directions or 0,
        std=options.noise_std,
        noise=privacy.noise,
    )
    computation.report(1, 1)
    arrays = {
        name: array.astype(computation.dtype)
        for name, array in {**public, **measured.arrays()}.items()
    }
    made, of_class = _draws(basis, arrays, options, privacy.noise, records=records, classes=classes)
    if basis.invertible:
        made = made.reshape(len(made), *data.record_shape)
    else:
        notes.append(_COORDINATES)
    return release(
        made.astype(computation.dtype),
        of_class,
        others=arrays,
        event=options.event(),
        privacy=privacy,
        mechanism=SPEC.name,
        tested_as=SPEC.name,
        parameters={"classes": classes, "image_shape": list(data.shape), **as_parameters(options)},
        notes=tuple(notes),
        checks=(_PUBLIC,),
        counts=counts,
    )


_COORDINATES = (
    "synthetic records are coordinates, not images: those of a real record are its public features "
    "less `public_mean`, times `public_directions`, less `offset`, divided by `radius`"
)


def _coordinates(rows: Floats, public: Mapping[str, NDArray[Any]]) -> Floats | Array:
    """Features of records in the public directions, if there are any."""
    if not public:
        return rows
    mean, directions = (np.asarray(array, np.float64) for array in public.values())
    found: Array = rows @ directions - mean @ directions
    return found


def _public(arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    names = ("public_mean", "public_directions")
    return {name: arrays[name] for name in names if name in arrays}


def _draws(
    basis: Basis, arrays: dict[str, NDArray[Any]], options: MomentsOptions, noise: NoiseSource, *,
    records: int, classes: int,
) -> tuple[Array, NDArray[np.int64]]:  # fmt: skip
    """Synthetic records, class by class, and their labels."""
    view, law = discriminant_of(arrays, records=records, plan=options.plan(), std=options.noise_std)
    each = options.outputs_per_class
    made = np.concatenate([law.sample(label, each, noise) for label in range(classes)])
    if basis.invertible:
        made = view.inverted(made)
        if public := _public(arrays):
            back = np.linalg.pinv(np.asarray(public["public_directions"], np.float64))
            made = made @ back + public["public_mean"]
        made = np.clip(basis.images(made), 0.0, 1.0)
    return made, np.repeat(np.arange(classes), each)


def read(
    made: Release,  # As :func:`synthesize` makes it
    rows: Floats,  # Records in [0, 1]; shape (n, d)
) -> NDArray[np.int64]:  # Shape (n,)
    """Labels that a release gives to records."""
    parameters = dict(made.manifest.parameters)
    names = MomentsOptions.__dataclass_fields__
    options = MomentsOptions(**{name: parameters[name] for name in names})
    view, law = discriminant_of(
        made.others,
        records=parameters["counts"]["sizes"][0],
        plan=options.plan(),
        std=options.noise_std,
    )
    basis = options.features(tuple(parameters["image_shape"]))
    images = np.asarray(rows, np.float32).reshape(len(rows), *basis.shape)
    coordinates = view.apply(_coordinates(basis.kept_rows(images), _public(made.others)))
    found: NDArray[np.int64] = law.scores(coordinates).argmax(axis=1)
    return found


_SMALL = MomentsOptions(noise_std=1.0, basis="columns", outputs_per_class=1, class_directions=1)
_RECORDS = 300


def _prepare(dataset: LabelledRecords) -> tuple[Floats, NDArray[np.int64]]:
    return np.asarray(dataset.features, np.float32), np.asarray(dataset.labels, np.int64)


def _all_numbers(
    prepared: tuple[Floats, NDArray[np.int64]], noise: NoiseSource, *,
    std: float = _SMALL.noise_std, options: MomentsOptions = _SMALL,
) -> list[Batch]:  # fmt: skip
    """All noisy numbers of a release, in one row."""
    rows, labels = prepared
    found = measure(
        rows,
        labels,
        classes=2,
        records=_RECORDS,
        plan=options.plan(),
        block=options.class_directions or 0,
        std=std,
        noise=noise,
    )
    return [(found.numbers()[None, :], np.zeros(1, dtype=np.int64))]


def _one_record_more() -> DataPair:
    """The first data set has a record more, which is far away from all others.

    The others fix what the second release sees, so that the last record moves all of it by as much
    as it may, and always in the same direction.
    """
    rows = np.random.default_rng(0).normal(0.0, (0.2, 0.05), (_RECORDS, 2))
    rows[-1] = 0.8, 0.6
    labels = np.arange(len(rows)) % 2
    return (rows, labels), (rows[:-1], labels[:-1])


verify_target = VerifyTarget(
    event=_SMALL.event(),
    adjacency=Adjacency.ADD_OR_REMOVE_ONE,
    prepare=_prepare,
    run=_all_numbers,
    pair=_one_record_more,
)

SPEC = Mechanism(
    name="moments",
    synthesize=synthesize,
    options=MomentsOptions,
    event=lambda options, sizes, dimension: options.chosen(
        records=sum(sizes), classes=len(sizes)
    ).event(),
    calibrated=("noise_std",),
    choose=_chosen,
    counts=NUMBER_OF_ALL,
    verify=verify_target,
    reader=read,
    kind="statistics",
)
