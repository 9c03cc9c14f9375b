"""What a calibration returns, and why it has no answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rdpkit.calibration.search_variable import Value
from rdpkit.events import Event
from rdpkit.formats.records import as_plain
from rdpkit.guarantee import Guarantee


class CalibrationError(ValueError):
    """A target that no value of the parameter meets, or that every value does.

    Parameters
    ----------
    message : str
        What was asked for, and why there is no answer.
    limit : float
        The epsilon at the end of the parameter's range, certified or rounded as the bound is; inf
        where no theorem bounds it.
    """

    def __init__(self, message: str, *, limit: float) -> None:
        super().__init__(message)
        self.limit = limit


class UnreachableTargetError(CalibrationError):
    """No value of the parameter meets the target.

    Parameters
    ----------
    message : str
        Why not, and how far it is out of reach.
    limit : float
        The smallest epsilon that the parameter gives.
    """


class NoEffectError(CalibrationError):
    """The bound does not depend on the parameter.

    Parameters
    ----------
    message : str
        What was tried.
    limit : float
        The bound's epsilon.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """An event whose parameter was chosen for a target, and the proof that it meets it.

    ``print`` shows the values and the guarantee in one line, with all digits of the values, because
    a rounded value may miss the target.
    """

    event: Event  #: The event at the values found
    values: Mapping[str, Value]  #: The calibrated parameters by their paths
    guarantee: Guarantee
    """Of ``event`` at the target's delta; its epsilon is at most ``target_epsilon``."""
    target_epsilon: float  #: What was asked for
    misses: Mapping[str, Value] | None
    """Values on the less private side, next to ``values`` or within the tolerance, at which the
    bound was evaluated and exceeds the target; None where there are none in the range.
    """
    evaluations: int  #: How often the bound was evaluated, each time at several Renyi orders
    notes: tuple[str, ...] = ()  #: What a reader should know about the search

    def __post_init__(self) -> None:
        if not self.guarantee.epsilon <= self.target_epsilon:
            raise ArithmeticError(
                f"A calibration with epsilon {self.guarantee.epsilon!r} above its target "
                f"{self.target_epsilon!r} was about to be made."
            )

    @property
    def value(self) -> Value:
        """The value of the one parameter, or of the first of several."""
        return next(iter(self.values.values()))

    @property
    def slack(self) -> float:
        """How much of the target is left: target epsilon minus guaranteed epsilon, >= 0."""
        return self.target_epsilon - self.guarantee.epsilon

    @property
    def relative_slack(self) -> float:
        """The slack as a part of the target."""
        return self.slack / self.target_epsilon

    @property
    def certified(self) -> bool:
        """Whether the guarantee is enclosed in ball arithmetic."""
        enclosure = self.guarantee.computed
        return enclosure is not None and enclosure.rigorous

    def __str__(self) -> str:
        found = ", ".join(f"{path} = {value}" for path, value in self.values.items())
        return f"{found}: {self.guarantee}"

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "mechanism": self.event.mechanism,
            "values": as_plain(self.values),
            "target_epsilon": self.target_epsilon,
            "slack": self.slack,
            "relative_slack": self.relative_slack,
            "certified": self.certified,
            "misses": as_plain(self.misses),
            "evaluations": self.evaluations,
            "guarantee": self.guarantee.as_dict(),
            "notes": list(self.notes),
        }
