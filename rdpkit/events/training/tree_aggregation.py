"""Noisy running sums by binary trees, with each record in one step."""

from __future__ import annotations

from math import sqrt
from typing import ClassVar

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.data_sets import NeighbouringDataSets
from rdpkit.events.fields import declared, diameter, event_class, flag, noise, norm
from rdpkit.events.free_parameters import integers
from rdpkit.events.geometry import opposite_records, record_move
from rdpkit.events.losses import Dominating, NoLossDistributionError, sampled_step


def _steps(name: str, value: object) -> int | tuple[int, ...]:
    several = isinstance(value, (list, tuple))
    return _validate.integers(name, value) if several else _validate.integer(name, value)


@event_class
class TreeAggregation(Event):
    """The noisy nodes of binary trees over the steps of one epoch (DP-FTRL).

    Released: for each complete binary subtree of each tree, the sum of its steps' vectors plus
    N(0, noise_std^2 I). A step is the sum of the records in its batch. A record is in one step of
    one tree, and which one it is does not depend on the other records. What a record changes are
    the nodes above its step; a tree of n steps has at most floor(log2 n) + 1 of them. Estimates
    that use several nodes of what is released (Honaker) are no further release.

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
    losses_are_attained = True
    assumed = (
        "each record is in one step of one tree, and which one it is does not depend on the "
        "other records",
    )

    noise_std: float = noise(
        "Standard deviation of the noise in each coordinate of each node, in the units of a sum"
    )
    record_norm: float = norm(
        "Largest L2 norm of one record's vector, in the units of a sum. It is what a record moves "
        "at a node under zero-out"
    )
    steps: int | tuple[int, ...] = declared(
        "Number of steps of each tree, at least 1: one number for a single tree, or one for each "
        "of several trees, between which aggregation is restarted",
        check=_steps,
        free=integers(-1, role="count"),
    )
    completed: bool = flag(
        "Whether each tree is filled up to a power of two with steps that hold no record, all "
        "nodes of which are released as well. A record is then in ceil(log2 n) + 1 nodes",
        default=False,
    )
    record_diameter: float | None = diameter(
        "Largest L2 distance between two records' vectors, in the units of a sum. It is what a "
        "record moves under replace-one",
        default=None,
    )

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
        if adjacency is Adjacency.ADD_OR_REMOVE_ONE:
            raise _validate.fail(
                "adjacency",
                "to be 'replace_one' or 'zero_out': a record that comes or goes may move others to "
                "another step",
                adjacency.value,
            )
        moved = record_move(self, adjacency) * sqrt(self.nodes_of_a_record)
        return self.noise_std / moved

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """Two Gaussians, as far apart as one record moves all nodes together."""
        if adjacency is Adjacency.ADD_OR_REMOVE_ONE:
            raise NoLossDistributionError(
                "Under add_or_remove_one a record that comes or goes may move others to another "
                "step of the tree."
            )
        z = self.noise_multiplier(adjacency)
        return Dominating(sampled_step("replaced", noise_multiplier=z, sampling_probability=1.0))

    def neighbours(self, adjacency: Adjacency, touched: tuple[int, ...]) -> NeighbouringDataSets:
        """One record in a step with as many nodes as any, and the special one or its opposite."""
        return opposite_records(self, adjacency)
