"""Moments of public features, released with noise in a few rounds: nothing is trained.

Class sums and second moments are sums over records of bounded vectors, so one Gaussian release of
them is enough to draw synthetic records and to tell classes apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rdpkit import Adjacency, Gaussian, _validate
from rdpkit.mechanisms.algorithms.specification import Mechanism, Sizes, as_parameters
from rdpkit.mechanisms.parts.checks import PrivacyCheck
from rdpkit.mechanisms.parts.counts import NUMBER_BY_CLASS
from rdpkit.mechanisms.parts.labelled_images import Floats, labelled_images
from rdpkit.mechanisms.parts.moments.basis import BASES, Basis, most_of
from rdpkit.mechanisms.parts.moments.discriminant import Discriminant
from rdpkit.mechanisms.parts.moments.measuring import Measured, discriminant_of, measure
from rdpkit.mechanisms.parts.moments.rounds import Array, MomentShares, RoundView
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.privacy import Privacy
from rdpkit.mechanisms.parts.records import Batch
from rdpkit.mechanisms.parts.verify_target import DataPair, LabelledRecords, VerifyTarget
from rdpkit.mechanisms.releases.computation import ON_PROCESSOR, Computation
from rdpkit.mechanisms.releases.release import Release, release

# Frequencies with much noise and with little, chosen on training records that were held out.
_FREQUENCIES = {"scattering": (3, 4), "cosines": (8, 10), "columns": (1, 1)}
_LITTLE_NOISE = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MomentsOptions:
    """Options of noisy moments.

    Parameters
    ----------
    noise_std : float
        Standard deviation of the noise, for records of norm 1, if there were one release; > 0. The
        rounds divide the budget by public shares.
    basis : {"scattering", "cosines", "columns"}
        The features of which moments are released. "scattering" is for telling images apart;
        synthetic records are then features, and no images. "cosines" keeps the low frequencies of
        images, and synthetic records are images. "columns" is for tables.
    frequencies : int
        Frequencies that are kept in each direction: of the places of a channel of scattering, or
        of the pixels. 0 leaves it to the noise: 4 or 3 for scattering and 10 or 8 for cosines, the
        larger one where ``noise_std`` is at most 2, and no more than there are.
    outputs_per_class : int
        Synthetic records of each class.
    rounds : int
        How often class sums and second moments are released; each round sees records that the one
        before it has whitened.
    class_directions : int
        In so many directions, those in which classes vary most, each class has second moments of
        its own.
    """

    noise_std: float
    basis: str = "scattering"
    frequencies: int = 0
    outputs_per_class: int = 100
    rounds: int = 2
    class_directions: int = 100

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise_std", _validate.positive("noise_std", self.noise_std))
        _validate.choice("basis", self.basis, BASES)
        _validate.integer("outputs_per_class", self.outputs_per_class)
        for name in ("class_directions", "frequencies"):
            _validate.integer(name, getattr(self, name), minimum=0)
        _validate.integer("rounds", self.rounds, maximum=10)

    def features(self, shape: tuple[int, int, int]) -> Basis:
        """The public features of images of a shape."""
        wanted = self.frequencies
        if not wanted:
            few, many = _FREQUENCIES[self.basis]
            wanted = min(
                many if self.noise_std <= _LITTLE_NOISE else few, most_of(self.basis, shape)
            )
        return Basis(name=self.basis, frequencies=wanted, shape=shape)

    def plan(self) -> MomentShares:
        """How the budget is divided."""
        return MomentShares(rounds=self.rounds)

    def event(self) -> Gaussian:
        """One Gaussian release that is as private as all rounds."""
        return Gaussian(
            noise_std=self.noise_std, record_norm=1.0, record_diameter=self.plan().diameter()
        )


def _event(options: MomentsOptions, class_sizes: Sizes, dimension: int) -> Gaussian:
    return options.event()


_PUBLIC = PrivacyCheck(
    name="public_parameters",
    status="holds",
    sentence="features of a record are computed from that record and from public constants; what a "
    "round is given besides comes from the noisy numbers of the rounds before it",
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

    Guarantee
    ---------
    That of the :class:`rdpkit.Gaussian` of ``options.event()``, an upper bound: every round adds
    Gaussian noise to a sum of vectors of bounded norm, and depends on the data through its sum and
    the rounds before it alone. The theory pages 'Class moments' and 'Moments in rounds' have the
    sensitivity, which under replace-one is about 1.46 and not 2, and the composition. Draws and the
    reader are post-processing.

    Assumes
    -------
    Numbers of records, by which sums are divided, are public or noisy; they need not be right.
    Rounding moves no sum by more than 1e-6, the margin that is kept free for it.

    Parameters
    ----------
    features, labels, classes, privacy, image_shape
        As for :func:`rdpkit.mechanisms.algorithms.ndpdc.synthesize`; a table of shape (n, d) with
        basis "columns" needs no ``image_shape``. Numbers are scaled to [0, 1].
    options : MomentsOptions
        Noise, features and rounds.
    computation : Computation
        Type of the arrays, and progress after each round.

    Returns
    -------
    Release
        Synthetic records, class by class, in the shape of the records if the basis can be inverted,
        and else the coordinates of the last round. ``others`` has the noisy moments.

    Raises
    ------
    ValueError
        If an argument is out of range, or the arrays do not fit together.

    Source
    ------
    The moments are sufficient statistics of normal classes; the sensitivity and the rounds are this
    library's. Shrinking towards a shared covariance is Friedman 1989, Regularized discriminant
    analysis.
    """
    if image_shape is None and options.basis == "columns":
        image_shape = (1, 1, int(np.prod(np.shape(features)[1:])))
    data = labelled_images(features, labels, classes=classes, image_shape=image_shape)
    basis = options.features(data.shape)
    counts = privacy.known_counts(data.class_sizes(), NUMBER_BY_CLASS)
    measured = measure(
        basis.kept_rows(data.images),
        data.labels,
        groups=basis.groups(),
        counts=counts.sizes,
        plan=options.plan(),
        block=options.class_directions,
        std=options.noise_std,
        noise=privacy.noise,
        report=computation.report,
    )
    arrays = {name: array.astype(computation.dtype) for name, array in measured.arrays().items()}
    made, of_class = _draws(basis, arrays, measured, options, privacy.noise)
    if basis.invertible:
        made = made.reshape(len(made), *data.record_shape)
    return release(
        made.astype(computation.dtype),
        of_class,
        others=arrays,
        event=options.event(),
        privacy=privacy,
        mechanism=SPEC.name,
        tested_as=SPEC.name,
        parameters={"classes": classes, "image_shape": list(data.shape), **as_parameters(options)},
        notes=() if basis.invertible else (_COORDINATES,),
        checks=(_PUBLIC,),
        counts=counts,
    )


_COORDINATES = (
    "synthetic records are coordinates of the last round, not images: those of a real record are "
    "its public features less `offset`, times `matrix`, divided by the last of `radii`"
)


def _draws(
    basis: Basis,
    arrays: dict[str, NDArray[Any]],
    measured: Measured,
    options: MomentsOptions,
    noise: NoiseSource,
) -> tuple[Array, NDArray[np.int64]]:
    """Synthetic records, class by class, and their labels."""
    view, law = discriminant_of(
        arrays, counts=measured.counts, plan=options.plan(), std=options.noise_std
    )
    each, classes = options.outputs_per_class, len(measured.counts)
    made = np.concatenate([law.sample(label, each, noise) for label in range(classes)])
    if basis.invertible:
        made = np.clip(basis.images(view.inverted(made)), 0.0, 1.0)
    return made, np.repeat(np.arange(classes), each)


def reader_of(made: Release) -> tuple[Basis, RoundView, Discriminant]:
    """The public features, the view and the discriminant of a release."""
    parameters = dict(made.manifest.parameters)
    names = MomentsOptions.__dataclass_fields__
    options = MomentsOptions(**{name: parameters[name] for name in names})
    basis = options.features(tuple(parameters["image_shape"]))
    view, law = discriminant_of(
        made.others,
        counts=parameters["counts"]["sizes"],
        plan=options.plan(),
        std=options.noise_std,
    )
    return basis, view, law


def read(made: Release, rows: Floats) -> NDArray[np.int64]:
    """Labels that a release gives to records.

    Parameters
    ----------
    made : Release
        As :func:`synthesize` makes it.
    rows : float32 array of shape (n, d)
        Records in [0, 1].

    Returns
    -------
    int64 array of shape (n,)
    """
    basis, view, law = reader_of(made)
    images = np.asarray(rows, np.float32).reshape(len(rows), *basis.shape)
    found: NDArray[np.int64] = law.scores(view.apply(basis.kept_rows(images))).argmax(axis=1)
    return found


_SMALL = MomentsOptions(
    noise_std=1.0, basis="columns", outputs_per_class=1, rounds=2, class_directions=1
)
_SMALL_PLAN = _SMALL.plan()
_COUNTS = (150, 150)


def _prepare(dataset: LabelledRecords) -> tuple[Floats, NDArray[np.int64]]:
    return np.asarray(dataset.features, np.float32), np.asarray(dataset.labels, np.int64)


def _all_rounds(
    prepared: tuple[Floats, NDArray[np.int64]], noise: NoiseSource, *, std: float = _SMALL.noise_std
) -> list[Batch]:
    """All noisy numbers of a release, in one row."""
    rows, labels = prepared
    found = measure(
        rows,
        labels,
        groups=np.zeros(rows.shape[1], dtype=np.int64),
        counts=_COUNTS,
        plan=_SMALL_PLAN,
        block=_SMALL.class_directions,
        std=std,
        noise=noise,
    )
    return [(found.numbers()[None, :], np.zeros(1, dtype=np.int64))]


def _one_record_more() -> DataPair:
    """The first data set has a record more, which is far away from all others.

    The others fix what the rounds see, so that the last record moves all of them by as much as it
    may, and always in the same direction.
    """
    rows = np.random.default_rng(0).normal(0.0, (0.2, 0.05), (sum(_COUNTS), 2))
    rows[-1] = 0.8, 0.6
    labels = np.arange(len(rows)) % len(_COUNTS)
    return (rows, labels), (rows[:-1], labels[:-1])


verify_target = VerifyTarget(
    event=_SMALL.event(),
    adjacency=Adjacency.ADD_OR_REMOVE_ONE,
    prepare=_prepare,
    run=_all_rounds,
    pair=_one_record_more,
)

SPEC = Mechanism(
    name="moments",
    synthesize=synthesize,
    options=MomentsOptions,
    event=_event,
    calibrated=("noise_std",),
    counts=NUMBER_BY_CLASS,
    verify=verify_target,
    reader=read,
    kind="statistics",
)

__all__ = ["SPEC", "MomentsOptions", "read", "reader_of", "synthesize", "verify_target"]
