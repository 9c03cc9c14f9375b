"""A privacy statement, with where it comes from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Kind
from rdpkit.formats.records import as_plain


@dataclass(frozen=True, slots=True, kw_only=True)
class Enclosure:
    """A certified interval: it contains the exact number, by ball arithmetic.

    Parameters
    ----------
    lower, upper : float
        Rounded outwards.
    """

    lower: float
    upper: float

    rigorous: ClassVar[bool] = True
    """Truncation, tails and rounding are all accounted for."""


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

    rigorous: ClassVar[bool] = False
    """The rounding errors of the sums are not bounded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantee:
    """(epsilon, delta) under an adjacency, by one bound. Compares with numbers by its epsilon.

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
    enclosure : Enclosure, UncertifiedEnclosure or None
        An interval for ``epsilon`` (for ``delta`` where that was asked for), and whether it is
        certified, as its type says.
    assumptions : tuple of str
        What must hold, beyond the parameters.
    notes : tuple of str
        What a reader should know about how the number came about.
    """

    epsilon: float
    delta: float
    adjacency: Adjacency
    bound: str
    kind: Kind
    order: float | None = None
    conversion: str | None = None
    enclosure: Enclosure | UncertifiedEnclosure | None = None
    assumptions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta"):
            value = getattr(self, name)
            if math.isnan(value) or value < 0.0:
                raise ArithmeticError(f"A guarantee with {name} = {value!r} was about to be made.")

    def __float__(self) -> float:
        return float(self.epsilon)

    def __lt__(self, other: Any) -> bool:
        number = _epsilon_of(other)
        return NotImplemented if number is None else self.epsilon < number

    def __le__(self, other: Any) -> bool:
        number = _epsilon_of(other)
        return NotImplemented if number is None else self.epsilon <= number

    def __gt__(self, other: Any) -> bool:
        number = _epsilon_of(other)
        return NotImplemented if number is None else self.epsilon > number

    def __ge__(self, other: Any) -> bool:
        number = _epsilon_of(other)
        return NotImplemented if number is None else self.epsilon >= number

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
        if self.enclosure is not None:
            found["enclosure"] = as_plain([self.enclosure.lower, self.enclosure.upper])
            found["rigorous"] = self.enclosure.rigorous
        found["assumptions"] = list(self.assumptions)
        found["notes"] = list(self.notes)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What is asked for: the smallest epsilon at a delta, or the smallest delta at an epsilon.

    Parameters
    ----------
    adjacency : Adjacency
        The neighbouring relation.
    delta : float, optional
        In [0, 1).
    epsilon : float, optional
        In nats, finite and >= 0.

    Raises
    ------
    ValueError
        If not exactly one of ``delta`` and ``epsilon`` is given.
    """

    adjacency: Adjacency
    delta: float | None = None
    epsilon: float | None = None

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
            **details,
        )


def _epsilon_of(value: Any) -> float | None:
    if isinstance(value, Guarantee):
        return value.epsilon
    return float(value) if isinstance(value, Real) else None
