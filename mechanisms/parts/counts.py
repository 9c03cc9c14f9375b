"""Numbers of records that a mechanism needs: stated as public, estimated with noise, or read.

A mechanism that samples needs to know how many records there are, in each class or in all. That
number is private wherever neighbours may differ in it. So by default it is estimated with discrete
Laplace noise, and the guarantee pays for the noise. :doc:`/theory/counts` has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from rdpkit import Adjacency, Composed, Event, Guarantee, _validate
from rdpkit.events import CustomProfile
from rdpkit.guarantee import Enclosure
from rdpkit.mechanisms.parts.checks import PrivacyCheck, Status
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.sampling import LARGEST_SCALE, discrete_laplace

Sizes = tuple[int, ...]
"""Numbers of records."""

SHARE_OF_TARGET = 0.05
"""The share of a target epsilon that noisy counts cost, where nothing else is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyCounts:
    """Numbers of records are estimated with noise, which the guarantee pays for."""

    epsilon: float = SHARE_OF_TARGET
    """The most that the counts may cost, in nats; a finite number > 0. The scale of the noise is
    the smallest whole number with which they cost no more.
    """
    share_of_delta: float = 0.1
    """Where a theorem needs lower bounds on the counts: this share of delta, in (0, 1), is the
    probability with which a noisy bound may be too large.
    """

    def __post_init__(self) -> None:
        _validate.positive("epsilon", self.epsilon)
        _validate.open_probability("share_of_delta", self.share_of_delta)

    def scale(self, adjacency: Adjacency, records: int = 1) -> int:
        """Scale of the noise on each count, where neighbours differ in so many records."""
        return min(LARGEST_SCALE, math.ceil(_moved(adjacency) * records / self.epsilon))


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicCounts:
    """Numbers of records are public, because the user says so."""

    sizes: Sizes | None
    """The public numbers: one for each class, or one for all records. None means that the user
    calls the data's own numbers public, so that they are read from the data and shown. A release is
    then not private, because neighbours may differ in them.
    """

    def __post_init__(self) -> None:
        if self.sizes is not None:
            object.__setattr__(self, "sizes", _validate.integers("counts", self.sizes))


@dataclass(frozen=True, slots=True, kw_only=True)
class CountsUse:
    """What a mechanism needs numbers of records for."""

    by_class: bool  # Whether it needs one for each class, or one for all records
    lower_bounds: bool
    """Whether its theorem holds only if there are at least so many records, as for samples of a
    fixed size. Poisson sampling has no such condition.
    """


BOUND_BY_CLASS = CountsUse(by_class=True, lower_bounds=True)
BOUND_OF_ALL = CountsUse(by_class=False, lower_bounds=True)
NUMBER_BY_CLASS = CountsUse(by_class=True, lower_bounds=False)
NUMBER_OF_ALL = CountsUse(by_class=False, lower_bounds=False)

Origin = Literal["noisy", "stated", "exact", "relation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownCounts:
    """Numbers of records that a mechanism may use, and what it cost to know them."""

    origin: Origin
    """"noisy": estimated. "stated": public numbers that the user gave. "exact": read from the data.
    "relation": the number of all records under replace-one, which is the same for neighbours.
    """
    use: CountsUse  #: What they are for
    sizes: Sizes  #: The numbers, each at least 1: lower bounds where ``use`` asks for them
    adjacency: Adjacency  #: The relation for which they were found
    noisy: Sizes | None = None  #: The counts with noise, if they are noisy
    epsilon: float = 0.0  #: What the noisy counts cost, in nats
    failure: float = 0.0
    """The probability with which a noisy lower bound is too large for a pair of neighbours."""
    left_out: tuple[int, ...] = ()
    """Classes that have too few records to draw from, as far as is known. Nothing is released of
    their records.
    """
    most_per_person: int | None = None
    """Neighbours differ in all records of one person, so many at most."""

    def for_samples_of(self, size: float) -> KnownCounts:
        """The counts for a mechanism that draws ``size`` records, or so many on average.

        Noisy counts are raised where they are too small for the mechanism. This is possible for
        Poisson sampling, where any number will do. Otherwise, nothing is released of the records
        of classes whose lower bound does not exceed ``size``.
        """
        if self.origin != "noisy":
            return self
        if not self.use.lower_bounds:
            least = math.ceil(size)
            return replace(self, sizes=tuple(max(have, least) for have in self.sizes))
        enough = [have for have in self.sizes if have > size]
        instead = min(enough, default=math.floor(size) + 1)
        return replace(
            self,
            sizes=tuple(have if have > size else instead for have in self.sizes),
            left_out=tuple(k for k, have in enumerate(self.sizes) if not have > size),
        )

    def of_classes(self, classes: int) -> Sizes:
        """A number for each class, with the same sum, for events that need only the sum."""
        if self.use.by_class:
            return self.sizes
        each, more = divmod(self.sizes[0], classes)
        return tuple(each + (k < more) for k in range(classes))

    def before(self, event: Event) -> Event:
        """The event of a mechanism, composed with the release of the noisy counts."""
        if self.origin != "noisy":
            return event
        counts = CustomProfile(
            epsilons=(self.epsilon,), deltas=(self.failure,), adjacency=self.adjacency
        )
        return Composed(events=(counts, event))

    def remaining(self, *, epsilon: float, delta: float) -> tuple[float, float]:
        """What is left of a target for the mechanism itself."""
        if self.epsilon >= epsilon:
            raise ValueError(
                f"Expected noisy counts to cost less than target_epsilon = {epsilon:g}, got "
                f"{self.epsilon:g}: choose a smaller counts_epsilon, or state public counts."
            )
        if self.origin != "noisy":
            return epsilon, delta
        # The sum is rounded up twice.
        return math.nextafter(_down(epsilon - self.epsilon), 0.0), self.delta_left(delta)

    def delta_left(self, delta: float) -> float:
        """What is left of delta for the mechanism itself."""
        return _down(delta - self.failure) if self.failure else delta

    def paid(self, own: Guarantee, *, delta: float) -> Guarantee:
        """The guarantee of a mechanism together with that of the noisy counts.

        The two epsilons are added, because the mechanism's event depends on the noisy counts:
        composition by loss distributions needs events that were fixed before.

        Parameters
        ----------
        own : Guarantee
            Of the mechanism's event, at :meth:`delta_left`.
        delta : float
            Of the whole.
        """
        if self.origin != "noisy":
            return own
        interval = own.computed
        if interval is not None:
            interval = Enclosure(
                lower=interval.lower + self.epsilon, upper=_up(interval.upper + self.epsilon)
            )
        paid = f"epsilon includes {self.epsilon:g} for noisy counts of records"
        if self.failure:
            paid += f", and delta {self.failure:g} for their lower bounds"
        return replace(
            own,
            epsilon=_up(own.epsilon + self.epsilon),
            delta=delta,
            computed=interval,
            notes=(*own.notes, paid),
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain values for a manifest."""
        found: dict[str, Any] = {"origin": self.origin, "sizes": list(self.sizes)}
        if self.noisy is not None:
            found |= {
                "noisy": list(self.noisy),
                "epsilon": self.epsilon,
                "failure": self.failure,
                "left_out": list(self.left_out),
            }
        return found

    @classmethod
    def from_dict(cls, table: Any, use: CountsUse, adjacency: Adjacency) -> KnownCounts:
        """Noisy counts from what :meth:`as_dict` has made of them."""
        names = {"origin", "sizes", "noisy", "epsilon", "failure", "left_out"}
        if not isinstance(table, Mapping) or set(table) != names or table["origin"] != "noisy":
            raise _validate.fail("counts", "to be a table of noisy counts", table)
        condition = "to be integers"
        for name in ("noisy", "left_out"):
            if not all(type(number) is int for number in table[name]):
                raise _validate.fail(name, condition, table[name])
        return cls(
            origin="noisy",
            use=use,
            sizes=_validate.integers("sizes", table["sizes"]),
            adjacency=adjacency,
            noisy=tuple(table["noisy"]),
            epsilon=_validate.positive("epsilon", table["epsilon"]),
            failure=_validate.probability("failure", table["failure"]),
            left_out=tuple(table["left_out"]),
        )

    def notes(self) -> tuple[str, ...]:
        """What a reader of the manifest has to know about the counts."""
        found = (f"counts: {self._sentence()}",)
        if not self.left_out:
            return found
        of_which = ""
        if self.use.by_class:
            classes = "class" if len(self.left_out) == 1 else "classes"
            of_which = f" of {classes} {', '.join(map(str, self.left_out))}"
        return (
            *found,
            f"counts: nothing was released of the records{of_which}: by the noisy lower bound "
            "there are too few to draw from, and what stands in their place is noise",
        )

    def checks(self) -> tuple[PrivacyCheck, ...]:
        """What the counts contribute to the verdict on a release."""
        status: Status = {"exact": "fails", "stated": "depends"}.get(self.origin, "holds")  # type: ignore[assignment]
        return (PrivacyCheck("public_parameters", status, self._sentence()),)

    def _sentence(self) -> str:
        what = "class sizes" if self.use.by_class else "the number of records"
        if self.origin == "noisy":
            were = "were" if self.use.by_class else "was"
            return f"{what} {were} estimated with noise, which the guarantee pays for"
        if self.origin == "relation":
            return f"{what} is the same for neighbours under replace-one"
        if self.origin == "stated":
            if not self.use.lower_bounds:
                return f"public, as the user stated: the numbers that were given stand for {what}"
            return (
                f"public, as the user stated: the numbers that were given are lower bounds on "
                f"{what} of every data set that could have been in the place of this one"
            )
        return (
            f"public, as the user stated, and read from the data: the manifest shows {what}, and "
            "tells neighbours apart that differ there; write the public numbers themselves instead "
            "(counts = [...]), or leave counts out to have them estimated with noise"
        )


def known_counts(
    counts: NoisyCounts | PublicCounts | KnownCounts,
    actual: Sizes,
    use: CountsUse,
    *,
    delta: float,
    adjacency: Adjacency,
    noise: NoiseSource,
    most_per_person: int | None = None,
) -> KnownCounts:
    """Find out how many records there are, as a policy says.

    Guarantee
    ---------
    Noisy counts are (epsilon, 0)-differentially private under ``adjacency``, for the epsilon in the
    result. Where ``use`` asks for lower bounds: of every two neighbours, the noisy counts of either
    give bounds that are too large for a class in which the neighbours differ with probability at
    most ``failure``. Too large means more than the smaller of the two class sizes.

    Parameters
    ----------
    counts : NoisyCounts, PublicCounts or KnownCounts
        The policy; counts that are known already are returned as they are.
    actual : tuple of int
        The data's own class sizes.
    use : CountsUse
        What the mechanism needs.
    delta : float
        Of the whole guarantee.
    adjacency : Adjacency
        The neighbouring relation.
    noise : NoiseSource
        Where the noise comes from.
    most_per_person : int, optional
        Neighbours differ in all records of one person, so many at most.

    Raises
    ------
    ValueError
        If public numbers do not fit the classes, known counts are for another use or relation, or
        noisy lower bounds are needed where neighbours differ in several records.
    """
    if isinstance(counts, KnownCounts):
        asked = (use, adjacency, most_per_person)
        if (counts.use, counts.adjacency, counts.most_per_person) != asked:
            raise ValueError(
                f"Expected counts that are for this mechanism and {adjacency}, got {counts!r}."
            )
        return counts
    have = actual if use.by_class else (sum(actual),)
    if isinstance(counts, PublicCounts) and counts.sizes is not None:
        sizes = _stated(counts.sizes, classes=len(actual), by_class=use.by_class)
        return KnownCounts(
            origin="stated", use=use, sizes=sizes, adjacency=adjacency,
            most_per_person=most_per_person,
        )  # fmt: skip
    # Persons have different numbers of records.
    if not use.by_class and adjacency is Adjacency.REPLACE_ONE and most_per_person is None:
        return KnownCounts(origin="relation", use=use, sizes=have, adjacency=adjacency)
    if isinstance(counts, PublicCounts):
        if min(have) == 0:
            raise ValueError(f"Expected every class to have a record, got class sizes {have}.")
        return KnownCounts(origin="exact", use=use, sizes=have, adjacency=adjacency)
    if most_per_person is not None and use.lower_bounds:
        raise ValueError(
            "Expected public numbers of records (counts = [...]) where neighbours differ in all "
            "records of a person: this mechanism needs lower bounds, and noisy ones are for a "
            "single record."
        )
    differ = most_per_person or 1
    scale = counts.scale(adjacency, differ)
    noisy = with_noise(have, scale=scale, noise=noise)
    failure = counts.share_of_delta * delta if use.lower_bounds else 0.0
    less = shortfall(scale, failure) if use.lower_bounds else 0
    return KnownCounts(
        origin="noisy",
        use=use,
        sizes=tuple(max(1, number - less) for number in noisy),
        adjacency=adjacency,
        noisy=noisy,
        epsilon=_up(_moved(adjacency) * differ / scale),
        failure=failure,
        most_per_person=most_per_person,
    )


def with_noise(sizes: Sizes, *, scale: int, noise: NoiseSource) -> Sizes:
    """Numbers of records, each with discrete Laplace noise of its own."""
    drawn = discrete_laplace(len(sizes), scale=scale, noise=noise)
    return tuple(have + int(more) for have, more in zip(sizes, drawn, strict=True))


def shortfall(scale: int, failure: float) -> int:
    """How much is subtracted from a noisy count, so that it is a lower bound for both neighbours.

    The smallest t with exp(-t / scale) <= failure. Discrete Laplace noise is t or more with a
    probability of less than exp(-t / scale); that it is so for the class that loses a record, or
    t + 1 or more for the class that gains one, has the probability exp(-t / scale) at most.
    """
    exact = scale * -math.log(_validate.open_probability("failure", failure))
    return math.ceil(exact * (1.0 + 1e-12))


def counts_policy(value: Any) -> NoisyCounts | PublicCounts | KnownCounts:
    """The policy that a user names: "noisy", "public", public numbers, or a policy itself."""
    if isinstance(value, (NoisyCounts, PublicCounts, KnownCounts)):
        return value
    if isinstance(value, str) and value in ("noisy", "public"):
        return NoisyCounts() if value == "noisy" else PublicCounts(sizes=None)
    if isinstance(value, int) and not isinstance(value, bool):
        value = [value]
    if isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, (str, bytes)):
        return PublicCounts(sizes=_validate.integers("counts", value))
    raise _validate.fail(
        "counts", "to be 'noisy', 'public', or public numbers of records (counts = [...])", value
    )


def _stated(sizes: Sizes, *, classes: int, by_class: bool) -> Sizes:
    if by_class and len(sizes) != classes:
        raise _validate.fail(
            "counts", f"to be as many integers as classes ({classes})", list(sizes)
        )
    if not by_class and len(sizes) not in (1, classes):
        raise _validate.fail(
            "counts",
            f"to be one integer for all records, or one for each of {classes} classes",
            list(sizes),
        )
    return sizes if by_class else (sum(sizes),)


def _moved(adjacency: Adjacency) -> int:
    """How far one change moves the vector of counts, in the L1 norm."""
    match adjacency:
        case Adjacency.ADD_OR_REMOVE_ONE | Adjacency.ZERO_OUT:
            return 1
        case Adjacency.REPLACE_ONE:
            return 2


def _up(value: float) -> float:
    return math.nextafter(value, math.inf)


def _down(value: float) -> float:
    return math.nextafter(value, 0.0)
