"""Random mixing: DPMix (Lee et al. 2019) over all records and class by class, and DP-CDA."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events import free_parameters
from rdpkit.events.base import Event
from rdpkit.events.composition import Parallel, Repeated
from rdpkit.events.data_sets import (
    NeighbouringDataSets,
    RecordGroup,
    one_record_changed,
    one_record_of_a_class_changed,
)
from rdpkit.events.fields import (
    choice,
    coordinates,
    count,
    declared,
    event_class,
    integer,
    noise,
    non_negative,
    positive,
    records,
    sizes,
)
from rdpkit.events.free_parameters import FreeParameter, integers
from rdpkit.events.mixing import Mixing
from rdpkit.events.sampled.fixed_size import FixedSizeSampledGaussian


def any_order(event: Any) -> FreeParameter:
    """In a mixture of more records each record takes part more often, but counts less."""
    most = event.mixing.population_of(event)
    return free_parameters.integer(0, highest=most, scaled=("feature_noise", "label_noise"))


@dataclass(frozen=True, slots=True, kw_only=True)
class MixedByClass(Event):
    """Mixtures of the records of each class, so many of each."""

    of_whole_data: ClassVar[str] = "it states how many records there are of each class"
    adjacencies: ClassVar[tuple[Adjacency, ...]] = tuple(Adjacency)
    expansion_is_attained = True

    def _check_together(self) -> None:
        event: Any = self
        samples = self.samples
        if isinstance(event.samples_per_class, list):
            object.__setattr__(event, "samples_per_class", samples)
        smallest = min(event.class_sizes)
        if event.order_of_mixture > smallest:
            raise _validate.fail(
                "order_of_mixture",
                f"to be an integer in [1, {smallest}] (the smallest of class_sizes)",
                event.order_of_mixture,
            )

    @property
    def samples(self) -> tuple[int, ...]:
        """The number of releases of each class, from one number for all or one for each."""
        event: Any = self
        classes, given = len(event.class_sizes), event.samples_per_class
        if not isinstance(given, (tuple, list)):
            return (_validate.integer("samples_per_class", given),) * classes
        samples = _validate.integers("samples_per_class", given)
        if len(samples) != classes:
            raise _validate.fail(
                "samples_per_class",
                f"to be an integer or as many integers as there are classes ({classes})",
                given,
            )
        return samples


def mixtures(event: Any, *, record_norm: float, record_diameter: float | None = None) -> Event:
    """For each class, its releases: noisy means of ``order_of_mixture`` records.

    A single class is a part, too, because the special record of zero-out is in no class.
    """
    events = tuple(
        Repeated(
            event=FixedSizeSampledGaussian(
                noise_std=event.feature_noise,
                record_norm=record_norm,
                record_diameter=record_diameter,
                sample_size=event.order_of_mixture,
                population_size=size,
                release="mean",
            ),
            count=count,
        )
        for size, count in zip(event.class_sizes, event.samples, strict=True)
    )
    return Parallel(events=events, fixed_partition=True)


_RANGE = "every feature lies in [0, 1] (scaled with public constants) and labels are one-hot"


@event_class
class DPMix(Event):
    """DPMix: each release is the noisy mean of records drawn from the whole data set.

    Released, ``releases`` times: the mean feature vector of ``order_of_mixture`` records, drawn
    without replacement, + N(0, feature_noise^2 I), and their mean one-hot label
    + N(0, label_noise^2 I). Features lie in [0, 1].

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.DPMix(
    ...     population_size=60000, releases=100, order_of_mixture=64, feature_dimension=784,
    ...     label_dimension=10, feature_noise=1.0, label_noise=1.0
    ... )
    >>> round(rdpkit.epsilon(event, delta=1e-5, adjacency="add_or_remove_one").epsilon, 3)
    0.013
    """

    mechanism: ClassVar[str] = "dpmix"
    of_whole_data: ClassVar[str] = "it states how many records there are"
    adjacencies: ClassVar[tuple[Adjacency, ...]] = tuple(Adjacency)
    mixing: ClassVar[Mixing | None] = Mixing(
        mixed="order_of_mixture",
        releases="releases",
        noise="feature_noise",
        label_noise="label_noise",
        soft_labels=True,
        population="population_size",
    )
    expansion_is_attained = True
    assumed = (_RANGE,)

    population_size: int = records(
        "Number of records (n of the paper), in the larger of two neighbours",
        least="order_of_mixture",
    )
    releases: int = count("Number of synthetic records (T of the paper)")
    order_of_mixture: int = integer(
        "Records in the mean, drawn without replacement for each release (l of the paper)",
        most="population_size",
        free=any_order,
    )
    feature_dimension: int = coordinates("Number of coordinates of the features (d_x of the paper)")
    label_dimension: int = coordinates("Number of coordinates of the labels (d_y of the paper)")
    feature_noise: float = noise(
        "Standard deviation of the noise on each coordinate of the mean (feature vector or label)"
    )
    label_noise: float = noise(
        "Standard deviation of the noise on each coordinate of the mean (feature vector or label)"
    )

    def expand(self) -> Event:
        """One sampled mean of features and labels, each divided by its noise, with noise 1."""
        features = self.feature_dimension / self.feature_noise**2
        return Repeated(
            event=FixedSizeSampledGaussian(
                noise_std=1.0,
                record_norm=math.sqrt(features + 1.0 / self.label_noise**2),
                record_diameter=math.sqrt(features + 2.0 / self.label_noise**2),
                sample_size=self.order_of_mixture,
                population_size=self.population_size,
                release="mean",
            ),
            count=self.releases,
        )

    def neighbours(self, adjacency: Adjacency, touched: tuple[int, ...]) -> NeighbouringDataSets:
        """One record in the far corner of the cube and of another class, all others at 0.

        Under zero-out all records are equal. The data set with the special one comes first.
        """
        corner = math.sqrt(self.feature_dimension)
        if adjacency is Adjacency.ZERO_OUT:
            found = one_record_changed(
                adjacency,
                changed=corner,
                replacement=0.0,
                rest=(RecordGroup(count=self.population_size - 1, position=corner),),
                direction="diagonal",
            )
            return NeighbouringDataSets(
                first=found.second, second=found.first, direction=found.direction
            )
        return one_record_changed(
            adjacency,
            changed=corner,
            replacement=0.0,
            rest=(RecordGroup(count=self.population_size - 1, position=0.0),),
            label=1,
            direction="diagonal",
        )


@event_class
class ClassWiseDPMix(MixedByClass):
    """Class-wise DPMix: every release is drawn from a single class, with a fresh subset.

    Released, for each class and ``samples_per_class`` times: the mean feature vector of
    ``order_of_mixture`` records of the class, drawn without replacement, + N(0, feature_noise^2 I),
    and the label of the class + N(0, label_noise^2 I). Features lie in [0, 1].

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.ClassWiseDPMix(
    ...     class_sizes=[6000, 6000], samples_per_class=100, order_of_mixture=64,
    ...     feature_dimension=784, label_dimension=2, feature_noise=1.0, label_noise=0.0
    ... )
    >>> round(rdpkit.epsilon(event, delta=1e-5, adjacency="add_or_remove_one").epsilon, 3)
    0.17
    """

    mechanism: ClassVar[str] = "class_wise_dpmix"
    mixing: ClassVar[Mixing | None] = Mixing(
        mixed="order_of_mixture",
        releases="samples_per_class",
        noise="feature_noise",
        label_noise="label_noise",
    )
    assumed = (
        _RANGE,
        "a fresh subset is drawn for every release (the thesis's listing B.1 draws one per "
        "class, which voids this account)",
        "samples per class are fixed before the data are seen",
    )

    class_sizes: tuple[int, ...] = sizes(
        "Records of each class, in the larger of two neighbours", least="order_of_mixture"
    )
    samples_per_class: int | tuple[int, ...] = declared(
        "Releases of each class, fixed before the data are seen; one number at least 1 for all "
        "classes, or one for each",
        free=integers(-1, role="count"),
    )
    order_of_mixture: int = integer(
        "Records in the mean, drawn without replacement from one class", free=any_order
    )
    feature_dimension: int = coordinates("Number of coordinates of the features (d_x of the paper)")
    label_dimension: int = coordinates("Number of coordinates of the labels (d_y of the paper)")
    feature_noise: float = noise(
        "Standard deviation of the noise on each coordinate of the mean feature vector"
    )
    label_noise: float = non_negative(
        "Standard deviation of the noise on each coordinate of the label. The label of a class is "
        "a constant, so 0 does not weaken the guarantee",
        private=1,
        role="noise",
    )

    def expand(self) -> Event:
        """For each class, its sampled means of features; labels tell nothing about the data."""
        width = math.sqrt(self.feature_dimension)
        return mixtures(self, record_norm=width, record_diameter=width)

    def neighbours(self, adjacency: Adjacency, touched: tuple[int, ...]) -> NeighbouringDataSets:
        """One record in the far corner of the cube, all others at 0."""
        return one_record_of_a_class_changed(
            self.class_sizes,
            adjacency,
            touched,
            others=0.0,
            changed=math.sqrt(self.feature_dimension),
            replacement=0.0,
            direction="diagonal",
        )


Preprocessing = Literal["public", "exact-z-score"]


@event_class
class DPCDA(MixedByClass):
    """DP-CDA, Algorithm 1: every release is the noisy mean of some records of one class.

    Released, for each class and ``samples_per_class`` times: the mean of ``order_of_mixture``
    records of the class, each clipped to L2 norm ``clip_norm`` and drawn without replacement,
    + N(0, feature_noise^2 I), and their mean one-hot label + N(0, label_noise^2 I).

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.DPCDA(
    ...     class_sizes=[6000, 6000], samples_per_class=100, order_of_mixture=50, clip_norm=1.0,
    ...     feature_noise=0.1, label_noise=0.0
    ... )
    >>> round(rdpkit.epsilon(event, delta=1e-5, adjacency="add_or_remove_one").epsilon, 3)
    0.116
    """

    mechanism: ClassVar[str] = "dpcda"
    mixing: ClassVar[Mixing | None] = Mixing(
        mixed="order_of_mixture",
        releases="samples_per_class",
        noise="feature_noise",
        label_noise="label_noise",
        scale="clip_norm",
    )

    class_sizes: tuple[int, ...] = sizes(
        "Records of each class, in the larger of two neighbours", least="order_of_mixture"
    )
    samples_per_class: int | tuple[int, ...] = declared(
        "Releases of each class (T_k of the paper), fixed before the data are seen; one number at "
        "least 1 for all classes, or one for each",
        free=integers(-1, role="count"),
    )
    order_of_mixture: int = integer(
        "Records in the mean, drawn without replacement from one class (l of the paper)",
        free=any_order,
    )
    clip_norm: float = positive(
        "L2 norm to which every feature vector is clipped (c of the paper), in the units of the "
        "features",
        private=-1,
    )
    feature_noise: float = noise(
        "Standard deviation of the noise on each coordinate of the mean feature vector, in the "
        "units of the features"
    )
    label_noise: float = non_negative(
        "Standard deviation of the noise on each coordinate of the mean one-hot label. Within a "
        "class that mean is a constant, so the label noise protects nothing",
        private=1,
        role="noise",
    )
    preprocessing: Preprocessing = choice(
        '"public": features were not scaled, or were scaled with constants that do not depend on '
        'the data. "exact-z-score": features were scaled with the data\'s own mean and standard '
        "deviation, as in Algorithm 1. No sound bound is known for this, because the scaling "
        "itself uses the data",
        Preprocessing,
        default="public",
    )

    def expand(self) -> Event | None:
        """For each class, T_k sampled means; None if features are scaled with the exact z-score.

        The number of releases of every class is fixed in advance, and each release has the label of
        its class, so labels tell nothing about the data.
        """
        if self.preprocessing != "public":
            return None
        return mixtures(self, record_norm=self.clip_norm)

    def neighbours(self, adjacency: Adjacency, touched: tuple[int, ...]) -> NeighbouringDataSets:
        """One record at the clip norm, all others at its mirror image."""
        return one_record_of_a_class_changed(
            self.class_sizes,
            adjacency,
            touched,
            others=-self.clip_norm,
            changed=self.clip_norm,
            replacement=-self.clip_norm,
        )

    def assumptions(self) -> tuple[str, ...]:
        """What must hold beyond the parameters."""
        if self.preprocessing == "public":
            return (
                "features are scaled with public constants before clipping, not with the z-score "
                "of the private data that Algorithm 1 prescribes",
                "samples per class are fixed before the data are seen",
            )
        return (
            "features are scaled with the exact mean and standard deviation of the private data: "
            "an unaccounted release",
        )
