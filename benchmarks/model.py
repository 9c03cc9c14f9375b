"""What is measured: works, their cases, what libraries do for them, and what came out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

OURS = "rdpkit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One set of parameters of a work.

    Parameters
    ----------
    id : str
        Short and unique within the work; names the reference values too.
    parameters : mapping
        Plain numbers and strings.
    quick : mapping, optional
        What a quick run changes in the parameters; None if it leaves the case out.
    """

    id: str
    parameters: Mapping[str, Any]
    quick: Mapping[str, Any] | None = None

    def quickly(self) -> Case:
        """The case as a quick run measures it."""
        return replace(self, parameters={**self.parameters, **(self.quick or {})})


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A library that is ready to do a case; what came before is not timed.

    Parameters
    ----------
    call : callable
        What is timed. Its argument counts the calls: parameters differ a little from call to call,
        so that no library can answer from a cache of results. Call 0 is the case as it stands.
    values : callable, optional
        What is compared with the reference; by default the result of call 0.
    scale : float
        The whole work over what a call does; more than 1 where a call does a sample of it.
    note : str
        What a reader of the number must know.
    """

    call: Callable[[int], Any]
    values: Callable[[], Sequence[float]] | None = None
    scale: float = 1.0
    note: str = ""

    def checked(self) -> list[float]:
        """The numbers to compare with the reference."""
        found = self.call(0) if self.values is None else self.values()
        return [float(value) for value in found]


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """How a library does a work.

    Parameters
    ----------
    library : str
        Key of :data:`benchmarks.libraries.LIBRARIES`.
    prepare : callable
        Imports the library and makes ready; may raise.
    variant : str
        Tells several ways of one library apart.
    slow : bool
        Whether a quick run leaves it out.
    """

    library: str
    prepare: Callable[[Case], Prepared]
    variant: str = ""
    slow: bool = False

    @property
    def id(self) -> str:
        """Library and variant."""
        return f"{self.library} ({self.variant})" if self.variant else self.library


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """Between what the right values lie; decimal strings of 40 digits.

    Parameters
    ----------
    low, high : sequence of str
        Equal where the value is known exactly. Below ``low`` a number claims more privacy than
        there is; above ``high`` it is looser than it has to be.
    tolerance : float
        Relative; less is rounding.
    about : str
        What the values are and how they were computed.
    """

    low: Sequence[str]
    high: Sequence[str]
    tolerance: float
    about: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """A ratio of times that is to be reached in every case: theirs over rdpkit's."""

    name: str
    against: str
    least: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a goal stands in the worst case.

    Parameters
    ----------
    measured : float, optional
        None if it was not measured.
    limit : str
        What is wanted, for people.
    met : bool, optional
        None if it was not measured.
    case : str
        Where the worst was seen.
    """

    work: str
    name: str
    limit: str
    measured: float | None
    met: bool | None
    case: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Something that every library is asked to do.

    Parameters
    ----------
    id, title : str
        For the command line and for people.
    cases : sequence of Case
        In each all adapters are measured side by side.
    adapters : sequence of Adapter
        The first is rdpkit's.
    reference : callable, optional
        The right values of a case.
    goals : sequence of Goal
        What is expected of rdpkit.
    about : str
        What is computed, in a sentence or two.
    """

    id: str
    title: str
    cases: Sequence[Case]
    adapters: Sequence[Adapter]
    reference: Callable[[Case], Reference] | None
    goals: Sequence[Goal]
    about: str


@dataclass(slots=True, kw_only=True)
class Row:
    """What came out for one library and one case.

    Parameters
    ----------
    seconds, fastest, slowest : float, optional
        Median and extremes over the rounds of one call, scaled to the whole work.
    first : float, optional
        Median of a call after the caches of Python functions were cleared, scaled.
    ratio, ratio_low, ratio_high : float, optional
        This library's time over rdpkit's in the same round: median and quartiles.
    rounds, inner : int
        Rounds, and calls in each.
    peak_bytes : int, optional
        Peak resident memory of one call in a process of its own, above what was resident before.
    below, above : float, optional
        The largest relative amounts below and above the reference.
    off : int, optional
        How many values are further off than the tolerance, of ``checked``.
    verdict : str
        "right", "too small", "too large", "failed" or "not checked".
    failure : str
        Why there are no numbers.
    """

    work: str
    case: str
    library: str
    version: str = ""
    seconds: float | None = None
    fastest: float | None = None
    slowest: float | None = None
    first: float | None = None
    ratio: float | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None
    rounds: int = 0
    inner: int = 0
    scale: float = 1.0
    peak_bytes: int | None = None
    below: float | None = None
    above: float | None = None
    off: int | None = None
    checked: int | None = None
    verdict: str = "not checked"
    failure: str = ""
    note: str = ""
    values: list[float] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Curve:
    """Time against size.

    Parameters
    ----------
    slope : float, optional
        Of the least-squares line through the logarithms of the larger half of the sizes.
    """

    id: str
    title: str
    size: str
    library: str
    sizes: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    slope: float | None = None
    failure: str = ""
