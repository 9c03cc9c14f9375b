"""A privacy statement, with where it comes from."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, ClassVar, Literal

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Kind
from rdpkit.formats import html
from rdpkit.formats.html import Points
from rdpkit.formats.numbers import formatted, rounded_down, rounded_up
from rdpkit.formats.records import as_plain

# Significant digits of numbers in one line.
_DIGITS, _SMALL = 5, 1e-3
_SIGNS = {Kind.UPPER: "<=", Kind.LOWER: ">=", Kind.PUBLISHED: "="}


@dataclass(frozen=True, slots=True, kw_only=True)
class Enclosure:
    """A certified interval: what holds the number is proven, by ball arithmetic."""

    lower: float  #: Rounded outwards
    upper: float  #: Rounded outwards

    rigorous: ClassVar[bool] = True  #: Truncation, tails and rounding are all accounted for


@dataclass(frozen=True, slots=True, kw_only=True)
class UncertifiedEnclosure:
    """An interval from floating-point sums: accurate in practice, not proven.

    Nothing that the library computes carries one; releases that were made with version 0.1 do.

    Parameters
    ----------
    lower, upper : float
        The number, and how far the last refinement of the grid moved it.
    """

    lower: float
    upper: float

    rigorous: ClassVar[bool] = False  #: The rounding errors of the sums are not bounded


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantee:
    """(epsilon, delta) under an adjacency, by one bound. Compares with numbers by its epsilon.

    ``print`` shows one line, and a format like ``f"{guarantee:.3f}"`` shows epsilon. Both round to
    the safe side: up, and a lower bound down. Notebooks show a table and the privacy profile.

    Parameters
    ----------
    epsilon : float
        In nats, >= 0; inf where the bound says nothing.
    delta : float
        In [0, 1].
    adjacency : Adjacency
        The neighbouring relation.
    bound : str
        Id of the theorem; several, joined by " + ", where releases of several kinds compose.
    kind : Kind
        Whether the number is published, an upper bound or a lower bound.
    order : float or None
        The Renyi order at which it was found.
    conversion : str or None
        The conversion from RDP that was used.
    computed : Enclosure, UncertifiedEnclosure or None
        An interval around what the bound itself gives: the theorem's formula, or the distribution
        on a grid that stands above the release. It certifies the arithmetic, as its type says; the
        exact number may lie below all of it. What holds the exact number is :attr:`enclosure`.
    assumptions : tuple of str
        What must hold, beyond the parameters.
    notes : tuple of str
        What a reader should know about how the number came about.
    lower : float or None
        What an explicit pair of neighbouring data sets attains, so that no bound can be smaller: of
        epsilon, or of delta where that was asked for. ``rdpkit.epsilon(..., lower=True)`` fills it.
    asked : {"epsilon", "delta"}
        Which of the two numbers was asked for, and not given.
    profile : callable or None
        Computes the points of the privacy profile that notebooks draw, as many as ``seconds`` allow
        for. It is not compared.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.Gaussian(noise_std=5.0, record_norm=1.0)
    >>> g = rdpkit.epsilon(event, delta=1e-5, adjacency="add_or_remove_one", lower=True)
    >>> print(g)
    epsilon <= 0.72553 at delta = 1e-05 (add-or-remove-one; certified; lower 0.72552)
    >>> f"{g:.2f}"
    '0.73'
    """

    epsilon: float
    delta: float
    adjacency: Adjacency
    bound: str
    kind: Kind
    order: float | None = None
    conversion: str | None = None
    computed: Enclosure | UncertifiedEnclosure | None = None
    assumptions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    lower: float | None = None
    asked: Literal["epsilon", "delta"] = "epsilon"
    profile: Callable[..., Points] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta"):
            value = getattr(self, name)
            if math.isnan(value) or value < 0.0:
                raise FloatingPointError(
                    f"A guarantee with {name} = {value!r} was about to be made."
                )

    @property
    def enclosure(self) -> Enclosure | None:
        """An interval that holds the exact number, the smallest that is true of the event.

        It goes from what a pair of data sets attains (:attr:`lower`, or 0 where that was not
        computed) to a certified upper bound, or from a lower bound to what no number exceeds. None
        for published and for uncertified numbers.
        """
        if self.kind is Kind.PUBLISHED or self.computed is None or not self.computed.rigorous:
            return None
        number = self.epsilon if self.asked == "epsilon" else self.delta
        if self.kind is Kind.LOWER:
            return Enclosure(lower=number, upper=math.inf if self.asked == "epsilon" else 1.0)
        return Enclosure(lower=self.lower or 0.0, upper=number)

    def __str__(self) -> str:
        given = "delta" if self.asked == "epsilon" else "epsilon"
        about = [self.adjacency.value.replace("_", "-"), self._status()]
        if self.lower is not None:
            about.append(f"lower {_short(self.lower, up=False)}")
        return (
            f"{self.asked} {_SIGNS[self.kind]} {self._rounded(self.asked)} at {given} = "
            f"{self._rounded(given)} ({'; '.join(about)})"
        )

    def __format__(self, specification: str) -> str:
        up = self.kind is not Kind.LOWER
        text = formatted(self.epsilon, specification, up=up)
        return format(str(self), specification) if text is None else text

    def _rounded(self, name: str) -> str:
        return _short(getattr(self, name), up=self.kind is not Kind.LOWER)

    def _status(self) -> str:
        """Whether the number is proven, in words."""
        if self.kind is Kind.PUBLISHED:
            return f"published as {self.bound}"
        nothing = self.epsilon == math.inf or (self.asked == "delta" and self.delta >= 1.0)
        if nothing and self.kind is Kind.UPPER:
            return "nothing smaller is known"
        if self.computed is not None and self.computed.rigorous:
            return "certified"
        return "exact" if self.epsilon == 0.0 else "in floats, not certified"

    def _repr_html_(self) -> str:
        """What a notebook shows: the line, how it was found, and the privacy profile."""
        rows: dict[str, object] = {"bound": f"{self.bound} ({self.kind.value})"}
        if self.order is not None:
            rows["order"] = f"{self.order:.6g} ({self.conversion} conversion)"
        rows |= {f"assumes {i}": text for i, text in enumerate(self.assumptions, 1)}
        rows |= {f"note {i}": text for i, text in enumerate(self.notes, 1)}
        points = () if self.profile is None else self.profile()
        lower = self.lower if self.asked == "epsilon" else None
        drawing = html.profile_drawing(points, epsilon=self.epsilon, delta=self.delta, lower=lower)
        return html.block(f"<b>{html.escaped(self)}</b>", html.table(rows), drawing)

    def __float__(self) -> float:
        return float(self.epsilon)

    def __lt__(self, other: Any) -> bool:
        number = self._compared(other)
        return NotImplemented if number is None else self.epsilon < number

    def __le__(self, other: Any) -> bool:
        number = self._compared(other)
        return NotImplemented if number is None else self.epsilon <= number

    def __gt__(self, other: Any) -> bool:
        number = self._compared(other)
        return NotImplemented if number is None else self.epsilon > number

    def __ge__(self, other: Any) -> bool:
        number = self._compared(other)
        return NotImplemented if number is None else self.epsilon >= number

    def _compared(self, other: Any) -> float | None:
        """The epsilon that this one is compared with; None if it is no number."""
        if not isinstance(other, Guarantee):
            return float(other) if isinstance(other, Real) else None
        if (self.delta, self.adjacency) != (other.delta, other.adjacency):
            raise ValueError(
                "Expected two guarantees to be compared at one delta and under one adjacency, got "
                f"delta {self.delta!r} ({self.adjacency.value}) and {other.delta!r} "
                f"({other.adjacency.value}); compare the numbers .epsilon and .delta instead."
            )
        return other.epsilon

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; an infinite number is the string "inf"."""
        found: dict[str, Any] = {
            "bound": self.bound,
            "kind": self.kind.value,
            "epsilon": as_plain(self.epsilon),
            "delta": as_plain(self.delta),
            "adjacency": self.adjacency.value,
        }
        if self.order is not None:
            found["order"] = as_plain(self.order)
        if self.conversion is not None:
            found["conversion"] = self.conversion
        if self.computed is not None:
            found["computed"] = as_plain([self.computed.lower, self.computed.upper])
            found["rigorous"] = self.computed.rigorous
        if self.enclosure is not None:
            found["enclosure"] = as_plain([self.enclosure.lower, self.enclosure.upper])
        if self.lower is not None:
            found["lower"] = as_plain(self.lower)
        if self.asked != "epsilon":
            found["asked"] = self.asked
        found["assumptions"] = list(self.assumptions)
        found["notes"] = list(self.notes)
        return found


class Comparison(tuple[Guarantee, ...]):
    """Every bound on one number, side by side: a tuple that shows itself as a table.

    Published bounds come first, then upper bounds from the smallest on, then the lower bound.

    Parameters
    ----------
    iterable : iterable of Guarantee
        The bounds in that order; :func:`rdpkit.compare` makes them.
    """

    __slots__ = ()

    @property
    def best(self) -> Guarantee:
        """The smallest upper bound.

        Raises
        ------
        ValueError
            If there is none.
        """
        uppers = [one for one in self if one.kind is Kind.UPPER]
        if not uppers:
            raise ValueError("Expected a comparison with an upper bound, got none.")
        return min(uppers, key=float)

    @property
    def lower(self) -> Guarantee | None:
        """The largest lower bound, which a pair of data sets attains; None if none is known."""
        return max((one for one in self if one.kind is Kind.LOWER), key=float, default=None)

    def as_dicts(self) -> list[dict[str, Any]]:
        """The bounds as plain values for JSON."""
        return [one.as_dict() for one in self]

    def __str__(self) -> str:
        if not self:
            return "no bounds"
        width = max(len(one.bound) for one in self)
        return "\n".join(
            [
                self._title(),
                *(
                    f"{one.bound:{width}}  {one.kind.value:9}  {_SIGNS[one.kind]:>2} "
                    f"{one._rounded('epsilon')}"
                    for one in self
                ),
            ]
        )

    def _title(self) -> str:
        relation = self[0].adjacency.value.replace("_", "-")
        return f"epsilon at delta = {_short(self[0].delta, up=True)} ({relation})"

    def _repr_html_(self) -> str:
        """What a notebook shows: a table, and the numbers side by side."""
        if not self:
            return html.block("no bounds")
        rows = [
            (
                one.bound,
                one.kind.value,
                f"{_SIGNS[one.kind]} {one._rounded('epsilon')}",
                "" if one.order is None else f"{one.order:.5g}",
                one.conversion or "",
            )
            for one in self
        ]
        grid = html.grid(("bound", "kind", "epsilon", "order", "conversion"), rows)
        marks = [(one.bound, one.kind.value, one.epsilon) for one in self]
        title = f"<b>{html.escaped(self._title())}</b>"
        return html.block(title, grid, html.bars_drawing(marks))


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What is asked for: the smallest epsilon at a delta, or the smallest delta at an epsilon."""

    adjacency: Adjacency  # The neighbouring relation
    delta: float | None = None  # In [0, 1)
    epsilon: float | None = None  # In nats, finite and >= 0

    def __post_init__(self) -> None:
        if (self.delta is None) == (self.epsilon is None):
            raise ValueError("Expected exactly one of delta and epsilon.")

    @property
    def given_delta(self) -> float:
        """The delta of a target that asks for epsilon."""
        if self.delta is None:
            raise ValueError(f"Expected a target with a delta, got {self!r}.")
        return self.delta

    def number(self, guarantee: Guarantee) -> float:
        """The one of a guarantee's two numbers that was asked for."""
        return guarantee.epsilon if self.epsilon is None else guarantee.delta

    def answer(self, value: float, **details: Any) -> Guarantee:
        """The guarantee whose number is ``value``, with the other fields of :class:`Guarantee`."""
        return Guarantee(
            epsilon=value if self.epsilon is None else self.epsilon,
            delta=value if self.delta is None else self.delta,
            adjacency=self.adjacency,
            asked="epsilon" if self.epsilon is None else "delta",
            **details,
        )


def _short(value: float, *, up: bool) -> str:
    """A number with few digits, rounded to the safe side if it has more."""
    text = f"{value:.{_DIGITS}g}"
    if float(text) == value:
        return text
    if value < _SMALL:
        return formatted(value, f".{_DIGITS - 1}e", up=up) or text
    return rounded_up(value, _DIGITS) if up else rounded_down(value, _DIGITS)
