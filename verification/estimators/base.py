"""The types that estimators and tests take and return.

Two data sets D and D' are neighbours. P is the distribution of the mechanism's output on D, and Q
is its distribution on D'. A *score* turns an output into one number, and tests look at scores. A
*claim* is a privacy statement about all neighbours, hence about (P, Q) and about (Q, P).

A verdict says whether a claim was refuted, with a stated probability of a false alarm.
*Diagnostics* say why a claim may have survived although it is wrong; they never change the verdict.
A NaN raises an ``ArithmeticError`` and never counts as "not rejected".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rdpkit import _validate
from rdpkit.formats.records import as_plain

Array = NDArray[np.float64]


class DiagnosticKind(StrEnum):
    """What may be wrong with an estimate or a test, apart from its verdict."""

    UNDERPOWERED = "underpowered"
    """A violation of a relevant size would hardly have been noticed with so few samples."""
    TOO_FEW_SAMPLES = "too_few_samples"
    """No outcome of so few samples could have rejected the claim."""
    NO_SEPARATION = "no_separation"
    """No event was found that is more likely on one data set than on the other."""
    LOW_EFFECTIVE_SAMPLE_SIZE = "low_effective_sample_size"
    """A few weights dominate the estimate."""
    UNBOUNDED_WEIGHTS = "unbounded_weights"
    """No bound on the weights is known, so the interval has no upper end."""
    MANY_DIFFERS = "many_differs"
    """The mechanism's method for many runs at once returns other releases than single calls."""
    DEPENDENT_RUNS = "dependent_runs"
    """Runs depend on each other, and the stated error rates assume that they do not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """Something a reader should know about an estimate or a test."""

    kind: DiagnosticKind  # What it is
    message: str  # What was seen, with numbers
    advice: str  # What to do about it


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidenceInterval:
    """A confidence interval.

    Raises ArithmeticError if an end is NaN, or the ends are in the wrong order.
    """

    # Its ends, lower <= upper; an end is infinite where nothing is known on that side.
    lower: float
    upper: float
    confidence: float  # In (0, 1): the interval contains the truth with at least this probability

    def __post_init__(self) -> None:
        if not self.lower <= self.upper:
            raise ArithmeticError(
                f"An interval came out with the ends {self.lower!r} and {self.upper!r}."
            )

    def __contains__(self, value: float) -> bool:
        return self.lower <= value <= self.upper

    @property
    def width(self) -> float:
        """Its length."""
        return self.upper - self.lower


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A number estimated from samples, with an interval for it."""

    value: float  # The estimate
    interval: ConfidenceInterval  # Contains the true value with its stated confidence
    samples: int  # How many were drawn
    effective_samples: float
    """(sum w)^2 / sum w^2 over the importance weights w; ``samples`` if all are equal."""
    diagnostics: tuple[Diagnostic, ...] = ()  # What a reader should know

    def __post_init__(self) -> None:
        if math.isnan(self.value) or math.isnan(self.effective_samples):
            raise ArithmeticError(f"An estimate came out as {self.value!r}.")

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"kind": "estimate", **as_plain(self)}


class Direction(StrEnum):
    """Which of the two distributions is on the left of P(E) <= e^epsilon Q(E) + delta."""

    P_OVER_Q = "p_over_q"
    Q_OVER_P = "q_over_p"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdEvent:
    """The event that a score is above, or below, a threshold."""

    threshold: float  # A score that is equal to it is outside of the event
    above: bool  # True: {score > threshold}. False: {score < threshold}.
    direction: Direction  # Which distribution is expected to give the event the larger probability

    def contains(self, scores: Array) -> NDArray[np.bool_]:
        """For each score, whether it is in the event."""
        return scores > self.threshold if self.above else scores < self.threshold

    def describe(self) -> str:
        """The event in words."""
        sign = ">" if self.above else "<"
        first, second = ("D", "D'") if self.direction is Direction.P_OVER_Q else ("D'", "D")
        return f"score {sign} {self.threshold:.6g}, more likely on {first} than on {second}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EpsilonLowerBound:
    """A lower bound on epsilon at a delta, from samples."""

    epsilon: float
    """In nats, >= 0. Unless the bound failed, the mechanism is not (epsilon', delta)-DP for any
    smaller epsilon'.
    """
    delta: float  # In [0, 1)
    confidence: float  # ``epsilon`` is a lower bound with at least this probability
    samples: tuple[int, int]
    """How many from P and how many from Q, including those that were used to choose the event."""
    event: ThresholdEvent | None = None
    """The event; None if no event was found, or if the bound does not come from an event."""
    diagnostics: tuple[Diagnostic, ...] = ()  # What a reader should know

    def __post_init__(self) -> None:
        if not self.epsilon >= 0.0:
            raise ArithmeticError(f"A lower bound on epsilon came out as {self.epsilon!r}.")

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"kind": "lower", **as_plain(self)}


class Stop(StrEnum):
    """Why a test ended."""

    REJECTED = "rejected"
    """The claim is refuted."""
    CLEARED = "cleared"
    """The scores are shown to be within the claim; more samples would not refute it."""
    EXHAUSTED = "exhausted"
    """All samples were used."""
    DEPENDENT = "dependent"
    """The samples depend on each other, so that no error rate holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The verdict of a test of a privacy claim.

    Guarantee
    ---------
    If the claim is true, ``rejected`` is True with probability at most ``false_alarm_rate``,
    over the randomness of the samples.
    """

    rejected: bool  # Whether the claim was refuted. False is no proof of privacy.
    false_alarm_rate: float  # The stated rate
    claim: str  # The claim in words
    method: str  # The test's name
    samples: tuple[int, int]  # How many from P and how many from Q were looked at
    stop: Stop  # Why the test ended
    log_e_value: float
    """The natural logarithm of the bettor's largest capital. The claim is rejected if and only if
    it is at least log(1/false_alarm_rate).
    """
    witness: str = ""  # The event or divergence that the test looked at, in words
    bound: EpsilonLowerBound | None = None  # A lower bound on epsilon, if the test computed one
    diagnostics: tuple[Diagnostic, ...] = ()  # Why the claim may have survived although it is wrong

    def __post_init__(self) -> None:
        if math.isnan(self.log_e_value):
            raise ArithmeticError("The log_e_value of a test came out as nan.")

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        found = {name: value for name, value in as_plain(self).items() if value is not None}
        return found if self.bound is None else {**found, "bound": self.bound.as_dict()}


@runtime_checkable
class Density(Protocol):
    """A distribution with a known density on R^d."""

    def sample(self, rng: np.random.Generator, n: int) -> Array:
        """Draw ``n`` independent points, shape (n, d)."""
        ...

    def log_density(self, x: Array) -> Array:
        """Log-densities, shape (n,), at points of shape (n, d); -inf stands for a density of 0."""
        ...


OutputScore = Callable[[Array], Array]
"""Turns outputs of a mechanism, shape (n, d), into scores, shape (n,): one for each row."""


def check_scores(name: str, value: ArrayLike, *, minimum: int = 1) -> Array:
    """Scores as a float64 array of shape (n,), n >= minimum; infinite scores are allowed.

    Raises ArithmeticError if one is NaN. Raises ValueError if they are not numbers, not of shape
    (n,), or too few.
    """
    condition = f"to be at least {minimum} real numbers, of shape (n,)"
    array = np.asarray(value)
    fits = array.ndim == 1 and array.size >= minimum
    return _numbers(name, value, array if fits else None, condition)


def check_outputs(name: str, value: ArrayLike, *, minimum: int = 1) -> Array:
    """Outputs as a float64 array of shape (n, d); shape (n,) is read as d = 1.

    Raises ArithmeticError if one is NaN. Raises ValueError if they are not numbers, not of shape
    (n, d), or too few.
    """
    condition = f"to be at least {minimum} rows of real numbers, of shape (n, d) with d >= 1"
    array = np.asarray(value)
    array = array[:, None] if array.ndim == 1 else array
    fits = array.ndim == 2 and len(array) >= minimum and array.shape[1] > 0
    return _numbers(name, value, array if fits else None, condition)


def _numbers(name: str, value: ArrayLike, array: NDArray[Any] | None, condition: str) -> Array:
    if array is None or array.dtype.kind not in "iuf":
        raise _validate.fail(name, condition, value)
    found = array.astype(np.float64)
    bad = np.isnan(found)
    if bad.any():
        where = np.argwhere(bad)[0].tolist()
        raise ArithmeticError(
            f"Expected {name} to be numbers, got nan at {where} and {int(bad.sum())} in all."
        )
    return found
