"""Noisy running sums by binary trees, with each record in one step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.data_sets import NeighbouringDataSets, one_record_changed
from rdpkit.events.free_parameters import NOISE, FreeParameter, geometry, integers
from rdpkit.events.gaussian import check_geometry
from rdpkit.events.losses import (
    Attained,
    Dominating,
    NoLossDistributionError,
    attains,
    sampled_step,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeAggregation(Event):
    """The noisy nodes of binary trees over the steps of one epoch (DP-FTRL).

    Released: for each complete binary subtree of each tree, the sum of its steps' vectors plus
    N(0, noise_std^2 I). A step is the sum of the records in its batch. A record is in one step of
    one tree, and which one it is does not depend on the other records. What a record changes are
    the nodes above its step; a tree of n steps has at most floor(log2 n) + 1 of them. Estimates
    that use several nodes of what is released (Honaker) are no further release.

    Parameters
    ----------
    noise_std : float
        Standard deviation of the noise in each coordinate of each node, in the units of a sum;
        above 0.
    record_norm : float
        Largest L2 norm of one record's vector, in the units of a sum; above 0. It is what a record
        moves at a node under zero-out.
    steps : int or sequence of int
        Number of steps of each tree, at least 1: one number for a single tree, or one for each of
        several trees, between which aggregation is restarted.
    completed : bool
        Whether each tree is filled up to a power of two with steps that hold no record, all nodes
        of which are released as well. A record is then in ceil(log2 n) + 1 nodes.
    record_diameter : float, optional
        Largest L2 distance between two records' vectors, in the units of a sum; above 0 and at most
        2 * record_norm, which is the default. It is what a record moves under replace-one.

    Raises
    ------
    ValueError
        If a parameter is outside of its range.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.TreeAggregation(noise_std=20.0, record_norm=1.0, steps=1000)
    >>> round(rdpkit.epsilon(event, delta=1e-5, adjacency="zero_out").epsilon, 3)
    0.561
    """

    mechanism: ClassVar[str] = "tree_aggregation"
    of_whole_data: ClassVar[str] = "it states in which of its steps a record takes part"
    adjacencies: ClassVar[tuple[Adjacency, ...]] = (Adjacency.REPLACE_ONE, Adjacency.ZERO_OUT)

    noise_std: float
    record_norm: float
    steps: int | tuple[int, ...]
    completed: bool = False
    record_diameter: float | None = None

    def __post_init__(self) -> None:
        _validate.attributes(self, noise_std=_validate.positive, record_norm=_validate.positive)
        if isinstance(self.steps, (list, tuple)):
            _validate.attributes(self, steps=_validate.integers)
        else:
            _validate.attributes(self, steps=_validate.integer)
        _validate.one_of_a_kind("completed", self.completed, bool)
        check_geometry(self.record_norm, self.record_diameter)

    @property
    def nodes_of_a_record(self) -> int:
        """The largest number of nodes that one record is in."""
        longest = self.steps if isinstance(self.steps, int) else max(self.steps)
        return (longest - 1).bit_length() + 1 if self.completed else longest.bit_length()

    def noise_multiplier(self, adjacency: Adjacency) -> float:
        """Noise standard deviation over how far a record moves all nodes together.

        Raises
        ------
        ValueError
            Under add-or-remove-one: a record that goes may move all that come after it.
        """
        match adjacency:
            case Adjacency.ZERO_OUT:
                moved = self.record_norm
            case Adjacency.REPLACE_ONE:
                moved = check_geometry(self.record_norm, self.record_diameter)
            case Adjacency.ADD_OR_REMOVE_ONE:
                raise _validate.fail(
                    "adjacency",
                    "to be 'replace_one' or 'zero_out': a record that comes or goes may move "
                    "others to another step",
                    adjacency.value,
                )
        return self.noise_std / (moved * sqrt(self.nodes_of_a_record))

    def free_parameters(self) -> Mapping[str, FreeParameter]:
        """More noise is more private; longer trees and larger records are less private."""
        return {
            "noise_std": NOISE,
            "steps": integers(-1, role="count"),
            **geometry(self.record_norm, self.record_diameter),
        }

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """Two Gaussians, as far apart as one record moves all nodes together."""
        if adjacency is Adjacency.ADD_OR_REMOVE_ONE:
            raise NoLossDistributionError(
                "Under add_or_remove_one a record that comes or goes may move others to another "
                "step of the tree."
            )
        z = self.noise_multiplier(adjacency)
        return Dominating(sampled_step("replaced", noise_multiplier=z, sampling_probability=1.0))

    def attained(self, adjacency: Adjacency) -> Attained:
        """The same two Gaussians: see :meth:`neighbours`."""
        return attains(self.dominating(adjacency))

    def neighbours(self, adjacency: Adjacency, touched: tuple[int, ...]) -> NeighbouringDataSets:
        """One record in a step with as many nodes as any, and the special one or its opposite."""
        position = self.record_norm
        if adjacency is Adjacency.REPLACE_ONE:
            position = check_geometry(self.record_norm, self.record_diameter) / 2.0
        return one_record_changed(adjacency, changed=position, replacement=-position)

    def assumptions(self) -> tuple[str, ...]:
        """How records are spread over the steps."""
        return (
            "each record is in one step of one tree, and which one it is does not depend on the "
            "other records",
        )


__all__ = ["TreeAggregation"]
