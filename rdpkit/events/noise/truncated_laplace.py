"""A number with Laplace noise that is never larger than a limit."""

from __future__ import annotations

from typing import ClassVar

from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.data_sets import NeighbouringDataSets
from rdpkit.events.fields import diameter, event_class, noise, norm, positive
from rdpkit.events.geometry import opposite_records, record_move, with_longer_records
from rdpkit.events.losses import Dominating
from rdpkit.events.pairs import TruncatedLaplacePair


@event_class
class TruncatedLaplace(Event):
    """The sum of the records' numbers plus Laplace noise that is drawn again until it is small.

    Released: sum of x_i plus noise with a density in proportion to e^(-abs(y) / noise_scale) for
    abs(y) <= ``noise_limit``, and 0 beyond it. A sum that is cut to a range after plain Laplace
    noise was added, or folded into it, is :class:`rdpkit.Laplace`: it tells no more than the noisy
    sum does.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.TruncatedLaplace(noise_scale=1.0, noise_limit=12.0, record_norm=1.0)
    >>> round(rdpkit.epsilon(event, delta=1e-5, adjacency="add_or_remove_one").epsilon, 3)
    1.0
    """

    mechanism: ClassVar[str] = "truncated_laplace"
    of_whole_data: ClassVar[str] = ""
    adjacencies: ClassVar[tuple[Adjacency, ...]] = tuple(Adjacency)
    losses_are_attained = True
    # Equal records add up to one that is so many times as long.
    groups_are_attained = True

    noise_scale: float = noise("Scale of the noise before it is cut, in the units of the sum")
    noise_limit: float = positive(
        "The largest absolute value of the noise, in the units of the sum", private=1
    )
    record_norm: float = norm("Largest absolute value of a record, in the units of the sum")
    record_diameter: float | None = diameter(
        "Largest difference of two records, in the units of the sum", default=None
    )

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """Two of these distributions, as far apart as the sensitivity."""
        moved = record_move(self, adjacency)
        if moved >= 2.0 * self.noise_limit * (1.0 - 1e-12):
            # The two have nothing in common.
            raise self._no_losses(adjacency)
        pair = TruncatedLaplacePair(
            distance=moved / self.noise_scale, reach=self.noise_limit / self.noise_scale
        )
        return Dominating((pair,))

    def neighbours(self, adjacency: Adjacency, touched: tuple[int, ...]) -> NeighbouringDataSets:
        """One record and no record, or one record and its mirror image."""
        return opposite_records(self, adjacency)

    def in_groups(self, size: int) -> Event:
        """Records ``size`` times as long."""
        return with_longer_records(self, size)
