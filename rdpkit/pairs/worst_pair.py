"""The neighbouring data sets that attain a lower bound, to print or to give to a mechanism.

An event names the data sets itself (:meth:`rdpkit.Event.neighbours`). Nearly always all records lie
on one line through the origin, and the changed record is as far from the others as records may be.
What a release tells about the changed record is then a pair of one-dimensional distributions, and
the lower bound composes these pairs.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdpkit import _validate
from rdpkit.accountants.losses.steps import Alternative, AttainedReleases
from rdpkit.adjacency import Adjacency, needed
from rdpkit.analysis import lower_bound
from rdpkit.events import Event, Repeated
from rdpkit.events.data_sets import Array, DataSet
from rdpkit.events.losses import Step
from rdpkit.guarantee import Guarantee


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighbouringPair:
    """Two neighbouring data sets, and what the mechanism's output on them attains."""

    event: Event  #: What is released
    adjacency: Adjacency  #: The neighbouring relation
    first: DataSet  #: The two data sets, D and D'
    second: DataSet  #: The two data sets, D and D'
    direction: str
    """Of the unit vector u: "axis", the first one, or "diagonal", (1, ..., 1)/sqrt(d)."""
    alternative: Alternative[AttainedReleases]  #: The releases as one-dimensional pairs
    attained: Guarantee  #: The lower bound

    def unit_vector(self, dimension: int) -> Array:
        """The unit vector u in ``dimension`` coordinates."""
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
        seen = "seen along u"
        if any(group.across for group in (*self.first.groups, *self.second.groups)):
            axis += ", v another unit vector, orthogonal to u"
            seen = "seen along u and v"
        lines = [
            f"u is {axis}; neighbours under {self.adjacency.value}:",
            f"D : {self.first.describe()}",
            f"D': {self.second.describe()}",
        ]
        for step, count in self.alternative.releases:
            if not isinstance(step, Step):
                lines.append(f"{seen}: {count} x {_in_words(step)}")
                continue
            q = step.sampling_probability
            mixture = "(1-q) N(0, z^2) + q N(1, z^2)"
            other = mixture.replace("N(1", f"N({step.other:g}") if step.other else "N(0, z^2)"
            pair = (
                f"{other} against {mixture}"
                if step.kind == "added"
                else f"{mixture} against {other}"
            )
            lines.append(
                f"{seen}, in units of the step it makes: {count} x [{pair}], "
                f"z = {step.noise_multiplier:.6g}, q = {q:.6g}"
            )
        lines.append(
            "event: the summed log-likelihood ratio of all releases, D over D', exceeds epsilon"
        )
        return lines


def _in_words(value: Any) -> str:
    """A pair of distributions by the first line about its class, and its parameters."""
    if dataclasses.is_dataclass(value):
        about = (type(value).__doc__ or type(value).__name__).partition("\n")[0].rstrip(".")
        fields = ((one.name, getattr(value, one.name)) for one in dataclasses.fields(value))
        return f"[{about}; {', '.join(f'{name} = {_in_words(one)}' for name, one in fields)}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(_in_words, value))})"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


@_validate.by_name(adjacency=needed())
def worst_pair(
    event: Event,
    *,
    adjacency: Adjacency | str,
    delta: float | None = None,
    epsilon: float | None = None,
) -> NeighbouringPair:
    """The pair of neighbouring data sets that attains :func:`rdpkit.analysis.lower_bound`.

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
        Exactly one of the two is given.

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
    event: Event,
    relation: Adjacency,
    attained: Guarantee,
    alternative: Alternative[AttainedReleases],
) -> NeighbouringPair:
    """The data sets behind a lower bound that has been computed already.

    Raises NoLossDistributionError if no data sets are known for the event (a ``ValueError``).
    """
    inner = event
    while isinstance(inner, Repeated):
        inner = inner.event
    found = inner.neighbours(relation, alternative.touched)
    first, second = found.first, found.second
    if all(getattr(step, "kind", "") == "added" for step, _ in alternative.releases):
        first, second = second, first
    return NeighbouringPair(
        event=event,
        adjacency=relation,
        first=first,
        second=second,
        direction=found.direction,
        alternative=alternative,
        attained=attained,
    )
