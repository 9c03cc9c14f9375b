"""What is measured: works, their cases, what libraries do for them, and what came out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

OURS = "rdpkit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One set of parameters of a work."""

    id: str  # Short and unique within the work; names the reference values too
    parameters: Mapping[str, Any]  # Plain numbers and strings
    quick: Mapping[str, Any] | None = None
    """What a quick run changes in the parameters; None if it leaves the case out."""

    def quickly(self) -> Case:
        """The case as a quick run measures it."""
        return replace(self, parameters={**self.parameters, **(self.quick or {})})


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A library that is ready to do a case; what came before is not timed."""

    call: Callable[[int], Any]
    """What is timed. Its argument counts the calls: parameters differ a little from call to call,
    so that no library can answer from a cache of results. Call 0 is the case as it stands.
    """
    values: Callable[[], Sequence[float]] | None = None
    """What is compared with the reference; by default the result of call 0."""
    scale: float = 1.0
    """The whole work over what a call does; more than 1 where a call does a sample of it."""
    note: str = ""  # What a reader of the number must know

    def checked(self) -> list[float]:
        """The numbers to compare with the reference."""
        found = self.call(0) if self.values is None else self.values()
        return [float(value) for value in found]


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """How a library does a work."""

    library: str  # Key of :data:`benchmarks.libraries.LIBRARIES`
    prepare: Callable[[Case], Prepared]  # Imports the library and makes ready; may raise
    variant: str = ""  # Tells several ways of one library apart
    slow: bool = False  # Whether a quick run leaves it out

    @property
    def id(self) -> str:
        """Library and variant."""
        return f"{self.library} ({self.variant})" if self.variant else self.library


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """Between what the right values lie; decimal strings of 40 digits."""

    # Equal where the value is known exactly. Below ``low`` a number claims more privacy than there
    # is; above ``high`` it is looser than it has to be.
    low: Sequence[str]
    high: Sequence[str]
    tolerance: float  # Relative; less is rounding
    about: str  # What the values are and how they were computed


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """A ratio of times that is to be reached in every case: theirs over rdpkit's."""

    name: str
    against: str
    least: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a goal stands in the worst case."""

    work: str
    name: str
    limit: str  # What is wanted, for people
    measured: float | None  # None if it was not measured
    met: bool | None  # None if it was not measured
    case: str = ""  # Where the worst was seen


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Something that every library is asked to do."""

    # For the command line and for people.
    id: str
    title: str
    cases: Sequence[Case]  # In each all adapters are measured side by side
    adapters: Sequence[Adapter]  # The first is rdpkit's
    reference: Callable[[Case], Reference] | None  # The right values of a case
    goals: Sequence[Goal]  # What is expected of rdpkit
    about: str  # What is computed, in a sentence or two


@dataclass(slots=True, kw_only=True)
class Row:
    """What came out for one library and one case."""

    work: str
    case: str
    library: str
    version: str = ""
    # Median and extremes over the rounds of one call, scaled to the whole work.
    seconds: float | None = None
    fastest: float | None = None
    slowest: float | None = None
    first: float | None = None
    """Median of a call after the caches of Python functions were cleared, scaled."""
    # This library's time over rdpkit's in the same round: median and quartiles.
    ratio: float | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None
    # Rounds, and calls in each.
    rounds: int = 0
    inner: int = 0
    scale: float = 1.0
    peak_bytes: int | None = None
    """Peak resident memory of one call in a process of its own, above what was resident before."""
    # The largest relative amounts below and above the reference.
    below: float | None = None
    above: float | None = None
    off: int | None = None  # How many values are further off than the tolerance, of ``checked``
    checked: int | None = None
    verdict: str = "not checked"  # "right", "too small", "too large", "failed" or "not checked"
    failure: str = ""  # Why there are no numbers
    note: str = ""
    values: list[float] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Curve:
    """Time against size."""

    id: str
    title: str
    size: str
    library: str
    sizes: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    slope: float | None = None
    """Of the least-squares line through the logarithms of the larger half of the sizes."""
    failure: str = ""
