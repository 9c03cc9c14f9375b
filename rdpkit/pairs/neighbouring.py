"""The neighbouring data sets behind a lower bound: to print, to write out, to hand to a mechanism.

All records lie on one line through the origin; the changed one is as far from the others as records
may be. What a release then tells about it is a one-dimensional pair, exactly the step of
:mod:`rdpkit.loss` that the lower bound composes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdpkit import _validate
from rdpkit.accountants.losses.steps import Alternative, NoLossDistributionError, Step
from rdpkit.adjacency import Adjacency
from rdpkit.analysis import lower_bound
from rdpkit.events import (
    DPCDA,
    LDPDC,
    NDPDC,
    ClassWiseDPMix,
    DPMix,
    Event,
    FixedSizeSampledGaussian,
    Gaussian,
    PoissonSampledGaussian,
    Repeated,
)
from rdpkit.guarantee import Guarantee

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """Equal records: how many, where on the line, and their label.

    Parameters
    ----------
    count : int
        How many.
    position : float
        Signed L2 distance from the origin along the pair's direction.
    label : int
        Class, from 0.
    """

    count: int
    position: float
    label: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """A data set given by its groups of equal records.

    Parameters
    ----------
    groups : tuple of Records
        Groups, none of them empty.
    """

    groups: tuple[Records, ...]

    def __len__(self) -> int:
        return sum(group.count for group in self.groups)

    def arrays(self, direction: Array) -> tuple[Array, NDArray[np.int64]]:
        """Features, shape (n, d), along the unit vector ``direction``, and labels, shape (n,)."""
        counts = [group.count for group in self.groups]
        positions = np.repeat([group.position for group in self.groups], counts)
        labels = np.repeat(np.array([g.label for g in self.groups], dtype=np.int64), counts)
        return np.asarray(positions[:, None] * direction[None, :], dtype=np.float64), labels

    def describe(self) -> str:
        """The groups in words."""
        return "; ".join(
            f"{group.count} record{'s' if group.count > 1 else ''} of class {group.label} at "
            f"{group.position:+.6g} u"
            for group in self.groups
            if group.count
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighbouringPair:
    """Two neighbouring data sets, and what the mechanism's output on them attains.

    Parameters
    ----------
    event : Event
        What is released.
    adjacency : Adjacency
        The neighbouring relation.
    first, second : DataSet
        The two data sets, D and D'.
    direction : {"axis", "diagonal"}
        The unit vector u: the first coordinate axis, or (1, ..., 1)/sqrt(d).
    alternative : Alternative
        The releases as one-dimensional pairs.
    attained : Guarantee
        The lower bound.
    """

    event: Event
    adjacency: Adjacency
    first: DataSet
    second: DataSet
    direction: str
    alternative: Alternative
    attained: Guarantee

    def unit_vector(self, dimension: int) -> Array:
        """U in ``dimension`` coordinates."""
        size = _validate.integer("dimension", dimension)
        if self.direction == "diagonal":
            return np.full(size, 1.0 / math.sqrt(size))
        return np.asarray(np.eye(1, size)[0], dtype=np.float64)

    def datasets(
        self, dimension: int
    ) -> tuple[tuple[Array, NDArray[np.int64]], tuple[Array, NDArray[np.int64]]]:
        """Both data sets as (features, labels), to hand to an implementation of the mechanism."""
        unit = self.unit_vector(dimension)
        return self.first.arrays(unit), self.second.arrays(unit)

    def describe(self) -> list[str]:
        """Both data sets and the distinguishing event, in words."""
        axis = "(1, ..., 1)/sqrt(d)" if self.direction == "diagonal" else "a coordinate axis"
        lines = [
            f"u is {axis}; neighbours under {self.adjacency.value}:",
            f"D : {self.first.describe()}",
            f"D': {self.second.describe()}",
        ]
        for step, count in self.alternative.releases:
            assert isinstance(step, Step)  # a profile is attained by no data sets
            q = step.sampling_probability
            mixture = "(1-q) N(0, z^2) + q N(1, z^2)"
            other = mixture.replace("N(1", f"N({step.other:g}") if step.other else "N(0, z^2)"
            pair = (
                f"{other} against {mixture}"
                if step.kind == "added"
                else f"{mixture} against {other}"
            )
            lines.append(
                f"seen along u, in units of the step it makes: {count} x [{pair}], "
                f"z = {step.noise_multiplier:.6g}, q = {q:.6g}"
            )
        lines.append(
            "event: the summed log-likelihood ratio of all releases, D over D', exceeds epsilon"
        )
        return lines


def worst_pair(
    event: Event,
    *,
    adjacency: Adjacency | str,
    delta: float | None = None,
    epsilon: float | None = None,
) -> NeighbouringPair:
    """The pair of neighbouring data sets that :func:`rdpkit.analysis.lower_bound` is attained by.

    Guarantee
    ---------
    The output distributions on the two data sets differ by at least ``attained``.

    Assumes
    -------
    That the mechanism accepts the records; for NDPDC, that its extractor can map records to
    representations of norm 0 and of the full norm.

    Parameters
    ----------
    event : Event
        A mechanism of a paper, or one primitive event, possibly repeated.
    adjacency : Adjacency or str
        The neighbouring relation.
    delta, epsilon : float
        Exactly one.

    Raises
    ------
    ValueError
        If an argument is outside of its range.
    NoLossDistributionError
        If no pair is known for the event (a ``ValueError``).

    Source
    ------
    rdpkit, theory page "Privacy loss distributions".

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.Gaussian(noise_std=2.0, record_norm=1.0)
    >>> pair = rdpkit.worst_pair(event, adjacency="add_or_remove_one", delta=1e-5)
    >>> print(pair.describe()[1])
    D : 1 record of class 0 at +1 u
    """
    relation = Adjacency.parse(adjacency)
    attained, alternative = lower_bound(event, adjacency=relation, delta=delta, epsilon=epsilon)
    return pair_of(event, relation, attained, alternative)


def pair_of(
    event: Event, relation: Adjacency, attained: Guarantee, alternative: Alternative
) -> NeighbouringPair:
    """The data sets behind a lower bound that has been computed already.

    Raises
    ------
    NoLossDistributionError
        If no data sets are known for the event (a ``ValueError``).
    """
    inner = event
    while isinstance(inner, Repeated):
        inner = inner.event
    build = _BUILDERS.get(type(inner))
    if build is None:
        raise NoLossDistributionError(
            f"No data sets are written out for the mechanism {event.mechanism!r}."
        )
    # Where the record is removed D is the larger data set; reversed, the smaller one.
    first, second, direction = build(inner, relation, alternative)
    if _is_reversed(alternative):
        first, second = second, first
    return NeighbouringPair(
        event=event,
        adjacency=relation,
        first=first,
        second=second,
        direction=direction,
        alternative=alternative,
        attained=attained,
    )


def _is_reversed(alternative: Alternative) -> bool:
    """Whether the first data set is the one without the record (all steps say "added")."""
    return all(step.kind == "added" for step, _ in alternative.releases)


def _data(*groups: Records) -> DataSet:
    return DataSet(groups=tuple(group for group in groups if group.count))


_Built = tuple[DataSet, DataSet, str]


def _classes(
    sizes: tuple[int, ...],
    others: float,
    changed: float,
    adjacency: Adjacency,
    alternative: Alternative,
) -> tuple[DataSet, DataSet]:
    """The changed record at ``changed`` in its class, all others of all classes at ``others``."""
    left = alternative.touched[0] if alternative.touched else 0
    moved = len(alternative.touched) > 1
    first, second = [], []
    for label, size in enumerate(sizes):
        if label != left:
            first.append(Records(count=size, position=others, label=label))
            second.append(Records(count=size, position=others, label=label))
            continue
        rest = Records(count=size - 1, position=others, label=label)
        first += [rest, Records(count=1, position=changed, label=label)]
        second.append(rest)
        if adjacency is Adjacency.REPLACE_ONE and not moved:
            second.append(Records(count=1, position=others, label=label))
    if moved:
        second.append(Records(count=1, position=changed, label=alternative.touched[1]))
    return _data(*first), _data(*second)


def _dpcda(event: DPCDA, adjacency: Adjacency, found: Alternative) -> _Built:
    c = event.clip_norm
    return *_classes(event.class_sizes, -c, c, adjacency, found), "axis"


def _class_wise(event: ClassWiseDPMix, adjacency: Adjacency, found: Alternative) -> _Built:
    corner = math.sqrt(event.feature_dimension)
    return *_classes(event.class_sizes, 0.0, corner, adjacency, found), "diagonal"


def _dpmix(event: DPMix, adjacency: Adjacency, found: Alternative) -> _Built:
    corner = math.sqrt(event.feature_dimension)
    rest = Records(count=event.population_size - 1, position=0.0, label=0)
    first = _data(rest, Records(count=1, position=corner, label=1))
    if adjacency is Adjacency.ADD_OR_REMOVE_ONE:
        return first, _data(rest), "diagonal"
    return first, _data(rest, Records(count=1, position=0.0, label=0)), "diagonal"


def _ldpdc(event: LDPDC, adjacency: Adjacency, found: Alternative) -> _Built:
    return *_poisson_classes(event.class_sizes, event.record_norm, adjacency, found), "diagonal"


def _ndpdc(event: NDPDC, adjacency: Adjacency, found: Alternative) -> _Built:
    return *_poisson_classes(event.class_sizes, event.record_norm, adjacency, found), "axis"


def _poisson_classes(
    sizes: tuple[int, ...], norm: float, adjacency: Adjacency, found: Alternative
) -> tuple[DataSet, DataSet]:
    first, second = _classes(sizes, 0.0, norm, adjacency, found)
    if adjacency is Adjacency.REPLACE_ONE and len(found.touched) <= 1:
        # x against -x says more than x against 0.
        label = found.touched[0] if found.touched else 0
        groups = [
            Records(count=g.count, position=-norm, label=g.label)
            if g.count == 1 and g.label == label and g is second.groups[_last_of(second, label)]
            else g
            for g in second.groups
        ]
        second = _data(*groups)
    return first, second


def _last_of(data: DataSet, label: int) -> int:
    return max(i for i, group in enumerate(data.groups) if group.label == label)


def _gaussian(event: Gaussian, adjacency: Adjacency, found: Alternative) -> _Built:
    if adjacency is Adjacency.ADD_OR_REMOVE_ONE:
        return _data(Records(count=1, position=event.record_norm)), _data(), "axis"
    half = event.sensitivity(adjacency) / 2.0
    return (
        _data(Records(count=1, position=half)),
        _data(Records(count=1, position=-half)),
        "axis",
    )


def _poisson(event: PoissonSampledGaussian, adjacency: Adjacency, found: Alternative) -> _Built:
    if adjacency is Adjacency.ADD_OR_REMOVE_ONE:
        return _data(Records(count=1, position=event.record_norm)), _data(), "axis"
    (step, _), *_rest = found.releases
    assert isinstance(step, Step)
    half = event.noise_std / step.noise_multiplier
    half = half / 2.0 if step.sampling_probability == 1.0 else half
    return (
        _data(Records(count=1, position=half)),
        _data(Records(count=1, position=-half)),
        "axis",
    )


def _fixed_size(
    event: FixedSizeSampledGaussian, adjacency: Adjacency, found: Alternative
) -> _Built:
    swap = event.swap_distance * (event.sample_size if event.release == "mean" else 1)
    rest = Records(count=event.population_size - 1, position=-swap / 2.0)
    first = _data(rest, Records(count=1, position=swap / 2.0))
    if adjacency is Adjacency.ADD_OR_REMOVE_ONE:
        return first, _data(rest), "axis"
    return first, _data(rest, Records(count=1, position=-swap / 2.0)), "axis"


_BUILDERS: dict[type[Event], Callable[..., _Built]] = {
    DPCDA: _dpcda,
    ClassWiseDPMix: _class_wise,
    DPMix: _dpmix,
    LDPDC: _ldpdc,
    NDPDC: _ndpdc,
    Gaussian: _gaussian,
    PoissonSampledGaussian: _poisson,
    FixedSizeSampledGaussian: _fixed_size,
}
