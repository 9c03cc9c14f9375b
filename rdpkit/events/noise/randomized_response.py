"""One answer of each person, given at random with some probability."""

from __future__ import annotations

from typing import ClassVar

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.composition import Repeated
from rdpkit.events.data_sets import NeighbouringDataSets, RecordGroup, data_set
from rdpkit.events.fields import declared, event_class, integer
from rdpkit.events.free_parameters import number
from rdpkit.events.losses import Dominating, NoLossDistributionError
from rdpkit.events.pairs import ResponsePair


def _share(name: str, value: object) -> float:
    found = _validate.probability(name, value)
    if found == 0.0:
        raise _validate.fail(name, "to be in (0, 1]", found)
    return found


@event_class
class RandomizedResponse(Event):
    """Everybody's bucket out of k, each replaced by a random one with a probability.

    Released: for each record its own bucket with probability 1 - p, and otherwise one of all k
    buckets, drawn evenly. It hides which bucket a record is in, and not that there is a record: so
    it is private under replace-one alone.

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
    # By a record in one bucket, and in another.
    losses_are_attained = True
    # All answers of the group are released.
    groups_are_attained = True

    noise_parameter: float = declared(
        "p, the probability that a bucket is drawn at random",
        check=_share,
        accepted="in (0, 1]",
        free=number(1, highest=1.0, role="noise"),
    )
    num_buckets: int = integer("k, the number of buckets", minimum=2)

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

    def neighbours(self, adjacency: Adjacency, touched: tuple[int, ...]) -> NeighbouringDataSets:
        """A record of the second bucket, and one of the first: by its label, and one-hot."""
        return NeighbouringDataSets(
            first=data_set(RecordGroup(count=1, position=0.0, across=1.0, label=1)),
            second=data_set(RecordGroup(count=1, position=1.0)),
        )

    def in_groups(self, size: int) -> Event:
        """Every record of the group has an answer of its own."""
        return Repeated(event=self, count=size)
