"""DPMix (Lee et al. 2019): random mixing over the whole data set, and class by class."""

from __future__ import annotations

import math
from typing import ClassVar

from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.composition import Repeated
from rdpkit.events.data_sets import (
    NeighbouringDataSets,
    RecordGroup,
    one_record_changed,
    one_record_of_a_class_changed,
)
from rdpkit.events.fields import (
    coordinates,
    count,
    declared,
    event_class,
    integer,
    noise,
    non_negative,
    records,
    sizes,
)
from rdpkit.events.free_parameters import integers
from rdpkit.events.mixing import Mixing
from rdpkit.events.papers.classes import any_order, check_mixtures, mixtures, samples_of_classes
from rdpkit.events.sampled.fixed_size_sampled_gaussian import FixedSizeSampledGaussian

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
    of_whole_data: ClassVar[str] = "it states how many records there are of each class"
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
class ClassWiseDPMix(Event):
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
    of_whole_data: ClassVar[str] = "it states how many records there are of each class"
    adjacencies: ClassVar[tuple[Adjacency, ...]] = tuple(Adjacency)
    mixing: ClassVar[Mixing | None] = Mixing(
        mixed="order_of_mixture",
        releases="samples_per_class",
        noise="feature_noise",
        label_noise="label_noise",
    )
    expansion_is_attained = True
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

    def _check_together(self) -> None:
        check_mixtures(self)

    @property
    def samples(self) -> tuple[int, ...]:
        """Releases of each class."""
        return samples_of_classes(self.class_sizes, self.samples_per_class)

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
