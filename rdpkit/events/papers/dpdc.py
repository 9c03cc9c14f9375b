"""LDPDC and NDPDC: differentially private dataset condensation, linear and nonlinear."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.composition import Repeated, part_by_part
from rdpkit.events.data_sets import NeighbouringDataSets, one_record_of_a_class_changed
from rdpkit.events.fields import coordinates, count, declared, event_class, noise, positive, sizes
from rdpkit.events.free_parameters import FreeParameter, number
from rdpkit.events.mixing import Mixing
from rdpkit.events.sampled.poisson import PoissonSampledGaussian


@dataclass(frozen=True, slots=True, kw_only=True)
class CondensedByClass(Event):
    """Noisy sums over Poisson samples of each class."""

    of_whole_data: ClassVar[str] = "it states how many records there are of each class"
    adjacencies: ClassVar[tuple[Adjacency, ...]] = tuple(Adjacency)
    expansion_is_attained = True

    def _check_together(self) -> None:
        event: Any = self
        smallest = min(event.class_sizes)
        if event.group_size > smallest:
            raise _validate.fail(
                "group_size",
                f"to be at most {smallest} (the smallest of class_sizes)",
                event.group_size,
            )


def _sums(event: LDPDC | NDPDC, count: int) -> Event:
    """For each class, ``count`` noisy sums over Poisson samples."""
    return part_by_part(
        Repeated(
            event=PoissonSampledGaussian(
                noise_std=event.noise_std,
                record_norm=event.record_norm,
                sampling_probability=event.group_size / size,
            ),
            count=count,
        )
        for size in event.class_sizes
    )


def _group(event: LDPDC | NDPDC) -> FreeParameter:
    return number(-1, highest=min(event.class_sizes), role="batch")


_SIZES = "Records of each class (N_c of the paper), in the larger of two neighbours"
_GROUP = "Expected size of a sample (L of the paper)"
_SMALLEST_CLASS = "above 0 and at most the smallest class"
_SAMPLING = (
    "records join by Poisson sampling with probability group_size / class size, the same for "
    "both neighbours"
)


@event_class
class LDPDC(CondensedByClass):
    """Linear DPDC: each synthetic record is a noisy sum over a Poisson sample of one class.

    Released, for each class and ``samples_per_class`` times: the sum of the records of a Poisson
    sample with probability group_size / class size, + N(0, noise_std^2 I). A record has L2 norm
    value_bound * sqrt(dimension) at most.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.LDPDC(
    ...     class_sizes=[6000, 6000], group_size=50, samples_per_class=50, noise_std=28.0,
    ...     value_bound=1.0, dimension=784
    ... )
    >>> round(rdpkit.epsilon(event, delta=1e-5, adjacency="add_or_remove_one").epsilon, 3)
    0.483
    """

    mechanism: ClassVar[str] = "ldpdc"
    mixing: ClassVar[Mixing | None] = Mixing(
        mixed="group_size",
        releases="samples_per_class",
        noise="noise_std",
        is_sum=True,
        scale="value_bound",
    )
    assumed = (_SAMPLING,)

    class_sizes: tuple[int, ...] = sizes(_SIZES, least="group_size")
    group_size: float = declared(
        _GROUP, check=_validate.positive, accepted=_SMALLEST_CLASS, free=_group
    )
    samples_per_class: int = count("Synthetic records of each class (M of the paper)")
    noise_std: float = noise(
        "Standard deviation of the noise on each coordinate of the sum (sigma of the paper), in "
        "the units of the features"
    )
    value_bound: float = positive(
        "Every coordinate of a record lies in [-value_bound, value_bound] (b of the paper), in "
        "the units of the features",
        private=-1,
    )
    dimension: int = coordinates("Number of coordinates of a record (d of the paper)")

    @property
    def record_norm(self) -> float:
        """Largest L2 norm of a record."""
        return self.value_bound * math.sqrt(self.dimension)

    def expand(self) -> Event:
        """For each class, ``samples_per_class`` Poisson-sampled sums."""
        return _sums(self, self.samples_per_class)

    def neighbours(self, adjacency: Adjacency, touched: tuple[int, ...]) -> NeighbouringDataSets:
        """One record in a corner of the cube, or its mirror image, and all other records at 0."""
        return one_record_of_a_class_changed(
            self.class_sizes,
            adjacency,
            touched,
            others=0.0,
            changed=self.record_norm,
            replacement=-self.record_norm,
            direction="diagonal",
        )


@event_class
class NDPDC(CondensedByClass):
    """Nonlinear DPDC: noisy sums of clipped representations of Poisson samples, class by class.

    Released, for each class and in each iteration: the sum of the representations, clipped to L2
    norm ``clip_norm``, of a Poisson sample with probability group_size / class size,
    + N(0, noise_std^2 I).

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.NDPDC(
    ...     class_sizes=[6000, 6000], group_size=50, iterations=1000, noise_std=1.0, clip_norm=1.0
    ... )
    >>> round(rdpkit.epsilon(event, delta=1e-5, adjacency="add_or_remove_one").epsilon, 3)
    1.501
    """

    mechanism: ClassVar[str] = "ndpdc"
    mixing: ClassVar[Mixing | None] = Mixing(
        mixed="group_size", releases="iterations", noise="noise_std", is_sum=True, scale="clip_norm"
    )
    assumed = (
        _SAMPLING,
        "the feature extractors, their parameters and the augmentations do not depend on the "
        "private data, and no layer mixes records of a batch",
    )

    class_sizes: tuple[int, ...] = sizes(_SIZES, least="group_size")
    group_size: float = declared(
        _GROUP, check=_validate.positive, accepted=_SMALLEST_CLASS, free=_group
    )
    iterations: int = count(
        "Number of iterations (I of the paper), each with one release of each class"
    )
    noise_std: float = noise(
        "Standard deviation of the noise on each coordinate of the sum (sigma of the paper), in "
        "the units of the representations"
    )
    clip_norm: float = positive(
        "L2 norm to which representations are clipped (G of the paper), in their units", private=-1
    )

    @property
    def record_norm(self) -> float:
        """Largest L2 norm of a clipped representation."""
        return self.clip_norm

    def expand(self) -> Event:
        """For each class, one Poisson-sampled sum in each iteration.

        Iterations alternate between classes and depend on earlier ones. The expansion is still
        sound, because each release depends only on records of its class and on earlier releases.
        """
        return _sums(self, self.iterations)

    def neighbours(self, adjacency: Adjacency, touched: tuple[int, ...]) -> NeighbouringDataSets:
        """One representation at the clip norm, or its mirror image, and all others at 0."""
        return one_record_of_a_class_changed(
            self.class_sizes,
            adjacency,
            touched,
            others=0.0,
            changed=self.clip_norm,
            replacement=-self.clip_norm,
        )
