"""What a noise multiplier of dp-accounting is relative to: a record's norm, or a distance.

The documentation of dp-accounting's ``GaussianDpEvent(z)`` says z = s / C: noise over the largest
norm of a record. Under add-or-remove-one C is the sensitivity, and the reading is clear. Under
replace-one a sum moves by the distance between two records, which is up to 2 C, and dp-accounting
has two readings: its PLD accountant doubles the sensitivity, and its RDP accountant does not.
Under replace-one the caller therefore says which reading is meant. Under zero-out, as under
add-or-remove-one, C is the sensitivity of a sum:

``"record_norm"``
    z = noise / C, the documented meaning and the PLD accountant's reading.
``"swap_distance"``
    z = noise / (distance between two records), the RDP accountant's reading.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from rdpkit import _validate
from rdpkit.adjacency import Adjacency

NoiseRelativeTo = Literal["record_norm", "swap_distance"]

_READINGS = ("record_norm", "swap_distance")


class UnconvertibleEventError(ValueError):
    """An event, or a part of one, that cannot be converted without changing its meaning.

    Parameters
    ----------
    event : Event or DpEvent
        The part in question.
    reason : str
        Why it cannot be converted.
    invalid : bool
        Whether one of its numbers is outside of its range.
    """

    def __init__(self, event: Any, reason: str, *, invalid: bool = False) -> None:
        super().__init__(f"{type(event).__name__} cannot be converted: {reason}")
        self.event = event
        self.reason = reason
        self.invalid = invalid


# dp-accounting's names of the relations.
_THEIRS = {
    Adjacency.ADD_OR_REMOVE_ONE: "ADD_OR_REMOVE_ONE",
    Adjacency.REPLACE_ONE: "REPLACE_ONE",
    Adjacency.ZERO_OUT: "REPLACE_SPECIAL",
}


def only_under(event: Any, *relations: Adjacency, because: str) -> UnconvertibleEventError:
    """The error for an event that is known under some relations alone, in dp-accounting's words."""
    names = " or ".join(f"`{_THEIRS[relation]}`" for relation in relations)
    return UnconvertibleEventError(event, f"neighboring_relation must be {names}: {because}")


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseReading:
    """The neighbouring relation, and what noise multipliers are relative to."""

    adjacency: Adjacency
    noise_relative_to: NoiseRelativeTo | None

    @classmethod
    def parse(cls, adjacency: Adjacency | str, noise_relative_to: str | None) -> NoiseReading:
        """Check the two arguments of a conversion."""
        if noise_relative_to is not None:
            _validate.choice("noise_relative_to", noise_relative_to, _READINGS)
        return cls(
            adjacency=Adjacency.parse(adjacency),
            noise_relative_to=noise_relative_to,  # type: ignore[arg-type]
        )

    def of(
        self,
        event: Any,  # The event with the noise
        *,
        # Whether one record takes the place of another under either neighbouring relation.
        swaps: bool = False,
        presence: bool = True,  # Whether a record's mere presence also moves what is released
    ) -> NoiseRelativeTo:
        """The reading for an event's noise."""
        match self.adjacency:
            case Adjacency.ADD_OR_REMOVE_ONE | Adjacency.ZERO_OUT:
                # The distance of two records does not say how far the special record is from them.
                if self.noise_relative_to == "swap_distance" and not (
                    swaps and self.adjacency is Adjacency.ADD_OR_REMOVE_ONE
                ):
                    raise UnconvertibleEventError(
                        event,
                        f"under {self.adjacency} a record and its absence are compared, not two "
                        "records: expected noise_relative_to to be 'record_norm', got "
                        "'swap_distance'.",
                    )
                return self.noise_relative_to or "record_norm"
            case Adjacency.REPLACE_ONE:
                return self._of_replaced(event, swaps=swaps, presence=presence)

    def _of_replaced(self, event: Any, *, swaps: bool, presence: bool) -> NoiseRelativeTo:
        if self.noise_relative_to is None:
            raise UnconvertibleEventError(
                event,
                "under replace_one its noise multiplier has two readings in dp-accounting. Expected"
                " noise_relative_to to be 'record_norm' (noise over the norm of a record: the "
                "documented meaning, as the PLD accountant reads it) or 'swap_distance' (noise "
                "over the distance of two records, as the RDP accountant reads it), got None.",
            )
        if self.noise_relative_to == "swap_distance" and presence and not swaps:
            raise UnconvertibleEventError(
                event,
                "in a Poisson sample a record may also be absent, and the distance between two "
                "records does not say how far that moves the sum: expected noise_relative_to to "
                "be 'record_norm', got 'swap_distance'.",
            )
        return self.noise_relative_to


def dp_events() -> Any:
    """dp-accounting's module of events, imported only when one is converted."""
    from dp_accounting import dp_event as module  # noqa: PLC0415

    return module
