"""One answer of each person, given at random with some probability."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.composition import Repeated
from rdpkit.events.data_sets import NeighbouringDataSets, RecordGroup, data_set
from rdpkit.events.free_parameters import FreeParameter, number
from rdpkit.events.losses import Attained, Dominating, NoLossDistributionError, attains
from rdpkit.events.pairs import ResponsePair


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomizedResponse(Event):
    """Everybody's bucket out of k, each replaced by a random one with a probability.

    Released: for each record its own bucket with probability 1 - p, and otherwise one of all k
    buckets, drawn evenly. It hides which bucket a record is in, and not that there is a record: so
    it is private under replace-one alone.

    Parameters
    ----------
    noise_parameter : float
        p, the probability that a bucket is drawn at random; in (0, 1].
    num_buckets : int
        k, the number of buckets; at least 2.

    Raises
    ------
    ValueError
        If a parameter is outside of its range.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.RandomizedResponse(noise_parameter=0.5, num_buckets=4)
    >>> round(rdpkit.epsilon(event, delta=0.0, adjacency="replace_one").epsilon, 3)
    1.609
    """

    mechanism: ClassVar[str] = "randomized_response"
    of_whole_data: ClassVar[str] = ""
    adjacencies: ClassVar[tuple[Adjacency, ...]] = (Adjacency.REPLACE_ONE,)

    noise_parameter: float
    num_buckets: int

    def __post_init__(self) -> None:
        _validate.attributes(self, noise_parameter=_validate.probability)
        if self.noise_parameter == 0.0:
            raise _validate.fail("noise_parameter", "to be in (0, 1]", self.noise_parameter)
        size = _validate.integer("num_buckets", self.num_buckets, minimum=2)
        object.__setattr__(self, "num_buckets", size)

    def free_parameters(self) -> Mapping[str, FreeParameter]:
        """More random answers are more private."""
        return {"noise_parameter": number(1, highest=1.0, role="noise")}

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """Losses of epsilon, 0 and -epsilon."""
        if adjacency is not Adjacency.REPLACE_ONE:
            raise NoLossDistributionError(
                "Randomised response hides the bucket of a record, not that there is a record: ask "
                f"about replace_one, not {adjacency.value}."
            )
        if self.noise_parameter == 1.0:
            return Dominating(())
        pair = ResponsePair(noise_parameter=self.noise_parameter, num_buckets=self.num_buckets)
        return Dominating((pair,))

    def attained(self, adjacency: Adjacency) -> Attained:
        """The same losses: a record in one bucket, and in another."""
        return attains(self.dominating(adjacency))

    def neighbours(self, adjacency: Adjacency, touched: tuple[int, ...]) -> NeighbouringDataSets:
        """A record of the second bucket, and one of the first: by its label, and one-hot."""
        return NeighbouringDataSets(
            first=data_set(RecordGroup(count=1, position=0.0, across=1.0, label=1)),
            second=data_set(RecordGroup(count=1, position=1.0)),
        )

    def in_groups(self, size: int) -> Event:
        """Every record of the group has an answer of its own."""
        return Repeated(event=self, count=size)

    def attained_in_groups(self, size: int) -> Event | None:
        """All answers of the group are released."""
        return self.in_groups(size)
