"""The base class of all events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from rdpkit.adjacency import ORDINARY, Adjacency
from rdpkit.events.data_sets import NeighbouringDataSets
from rdpkit.events.free_parameters import FreeParameter
from rdpkit.events.losses import Losses, NoLossDistributionError, OneOf
from rdpkit.events.mixing import Mixing


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A frozen description of what was released, in the user's own units.

    An event knows nothing of theorems. The event of a paper's mechanism expands, by :meth:`expand`,
    to primitive events (Gaussian, sampled Gaussian, compositions) that reveal at least as much, and
    sound bounds are computed for those. The methods are all that other packages ask of an event.
    Every method has a default, which says that nothing is known.

    Attributes
    ----------
    mechanism : str
        The name of this kind of event in claims and on the command line.
    adjacencies : tuple of Adjacency
        The neighbouring relations under which it is known what one record changes. Any other
        relation is refused. By default the special record of zero-out is not known.
    mixing : Mixing or None
        For mechanisms that release noisy means or sums of records: the parameters that planning
        may change.
    """

    mechanism: ClassVar[str] = ""
    adjacencies: ClassVar[tuple[Adjacency, ...]] = ORDINARY
    mixing: ClassVar[Mixing | None] = None

    def expand(self) -> Event | None:
        """An event made of primitive events that leaks at least as much; None for a primitive."""
        return None

    def assumptions(self) -> tuple[str, ...]:
        """What must hold, beyond the parameters, for the description to be true."""
        return ()

    def parts(self) -> tuple[tuple[str, Event], ...]:
        """Events that this one is made of, each with its path: ``event``, ``events[0]``."""
        return ()

    def free_parameters(self) -> Mapping[str, FreeParameter]:
        """The event's own parameters that calibration may choose, by name.

        The direction that each of them states must hold for the divergence itself, because upper
        bounds rest on it; see :class:`rdpkit.events.free_parameters.FreeParameter`.
        """
        return {}

    def losses(self, adjacency: Adjacency, *, attained: bool) -> Losses | OneOf:
        """The pairs of distributions that bound one release; only called for primitive events.

        Parameters
        ----------
        adjacency : Adjacency
            The neighbouring relation. Under add-or-remove-one the pairs are for a removal, and
            under zero-out for a record that becomes the special one.
        attained : bool
            If False, the pairs bound what the release leaks. If True, the data sets of
            :meth:`neighbours` attain them.

        Raises
        ------
        NoLossDistributionError
            If none are known.
        """
        raise NoLossDistributionError(
            f"No privacy loss distribution is known for the mechanism {self.mechanism!r}."
        )

    def neighbours(self, adjacency: Adjacency, touched: tuple[int, ...]) -> NeighbouringDataSets:
        """The neighbouring data sets that attain the lower bound.

        Parameters
        ----------
        adjacency : Adjacency
            The neighbouring relation.
        touched : tuple of int
            For an event that expands to a :class:`rdpkit.Parallel`: the index of the part that the
            changed record leaves, and, if it joins another part, the index of that part.

        Raises
        ------
        NoLossDistributionError
            If none are known.
        """
        raise NoLossDistributionError(
            f"No data sets are written out for the mechanism {self.mechanism!r}."
        )

    def with_one_more_record(self) -> Event:
        """The same release from a data set with one record more, as primitive events."""
        expanded = self.expand()
        return self if expanded is None else expanded.with_one_more_record()
