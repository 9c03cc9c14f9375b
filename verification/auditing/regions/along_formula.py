"""The region of a claim whose source sets the noise by a formula, so that it gives the claim.

The source does not print the noise, but says how it was chosen: so that its formula gives the
claimed epsilon. More releases then come with more noise, and neither alone decides the claim. The
values that are searched are cut into cells. In the cell [a, b] the event is at least as private as
with b releases and the noise of a, and at most as private as with a releases and the noise of b:
the one proves the claim for the whole cell, or the other refutes it for the whole cell.

Guarantee
---------
The claim is true, or refuted, at every value of a band that is called so, provided that the other
parameters are set by the formula as its calibration is computed here. Cells
are laid from both ends of the range towards each other, as far as they decide; what is left between
them is open.

Assumes
-------
What the upper bound's ``assumptions`` list. That the formula asks for no less noise where more is
released (:data:`rdpkit.verification.auditing.regions.monotone.FORMULAS`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from rdpkit import Event
from rdpkit.calibration import CalibrationError, calibrate
from rdpkit.calibration.search_variable import SearchVariable, with_value
from rdpkit.verification.auditing.regions.boundary import RegionQuestion
from rdpkit.verification.auditing.regions.region import Band, RegionVerdict, joined

CLOSE = 0.05
"""A cell whose ends are closer than this, relative to their size, is not made smaller."""

# The noise that a formula asks for is known this closely.
_TOLERANCE = 1e-6
_WIDEST = 1e12
# A cell uses this share of the slack, if it uses as much for its width as the last one did.
_SHARE, _USED, _LEAST_USED = 0.85, 0.3, 1e-3
_NARROW = math.log1p(CLOSE)
_MOST_CELLS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Formula:
    """How the source sets some parameters."""

    bound: str  # Id of the published formula
    calibrated: tuple[str, ...]
    """The parameters, all of which get the value at which the formula gives the claimed epsilon."""


@dataclass(slots=True)
class _FormulaSearch:
    """What is known so far; noises are kept by value."""

    question: RegionQuestion
    variable: SearchVariable
    formula: Formula
    noises: dict[float, tuple[float, float] | None] = field(default_factory=dict)

    def noise(self, t: float) -> tuple[float, float] | None:
        """Two values between which the one that the formula asks for lies; None if it has none."""
        if t not in self.noises:
            self.noises[t] = self._calibrated(t)
        return self.noises[t]

    def _calibrated(self, t: float) -> tuple[float, float] | None:
        try:
            found = calibrate(
                self.variable.at(t),
                target_epsilon=self.question.claimed,
                delta=self.question.delta,
                adjacency=self.question.adjacency,
                parameter=dict.fromkeys(self.formula.calibrated, 1.0),
                bound=self.formula.bound,
                tolerance=_TOLERANCE,
            )
        except CalibrationError:
            return None
        value = found.value
        assert isinstance(value, float)
        return value * (1.0 - _TOLERANCE), value

    def event(self, t: float, noise: float) -> Event:
        """The event at a value and a noise."""
        found = self.variable.at(t)
        for name in self.formula.calibrated:
            found = with_value(found, name, noise)
        return found

    def slack(self, verdict: RegionVerdict, one: float, other: float) -> float:
        """Above 0 if the claim has this verdict at all values from the one to the other.

        It says how far the claim is from being undecided, in the logarithm of epsilon.
        """
        low, high = min(one, other), max(one, other)
        noises = self.noise(low), self.noise(high)
        if noises[0] is None or noises[1] is None:
            return -math.inf
        if verdict is RegionVerdict.TRUE:
            return -self.question.excess(self.event(high, min(noises[0][0], noises[1][0])))
        return self.question.shown(self.event(low, max(noises[0][1], noises[1][1])))

    def verdict(self, t: float) -> RegionVerdict:
        """At one value."""
        for verdict in (RegionVerdict.TRUE, RegionVerdict.REFUTED):
            if self.slack(verdict, t, t) > 0.0:
                return verdict
        return RegionVerdict.OPEN

    def reached(self, start: float, end: float, verdict: RegionVerdict) -> float:
        """How far from the start towards the end the claim has one verdict, cell by cell.

        The verdict at the start is known. The widths of cells follow from how much of the slack the
        last one used.
        """
        here, slack, used = start, self.slack(verdict, start, start), _USED
        widest = math.inf
        for _ in range(_MOST_CELLS):
            if here == end:
                break
            left = abs(math.log(end / here))
            width = min(max(_SHARE * slack / used, _NARROW), left, widest)
            there = self._beside(here, end, width)
            found = self.slack(verdict, here, there)
            if math.isfinite(found) and math.isfinite(slack):
                used = max((slack - found) / abs(math.log(there / here)), _LEAST_USED)
            if found <= 0.0:
                if width <= _NARROW or abs(there - here) <= self.variable.whole:
                    break
                widest = 0.5 * width
                continue
            here, slack, widest = there, self.slack(verdict, there, there), math.inf
        return here

    def _beside(self, here: float, end: float, width: float) -> float:
        """A value towards the end; the end itself if it is near."""
        if width >= abs(math.log(end / here)):
            return end
        there = here * math.exp(math.copysign(width, end - here))
        if self.variable.whole:
            there = float(math.floor(there) if end > here else math.ceil(there))
            if there == here:
                there += math.copysign(1.0, end - here)
        return there


def bands_along(
    question: RegionQuestion,  # The claim
    # What is searched, in its range, of which both ends must be within a factor of 1e12.
    variable: SearchVariable,
    formula: Formula,  # What sets the other parameters
) -> tuple[Band, ...]:
    """Where the claim is true, open and refuted while a formula sets the other parameters.

    Raises ValueError if the range has no finite ends. Raises ArithmeticError if a number cannot be
    computed.
    """
    low, high = float(variable.lowest), float(variable.highest)
    if high > low * _WIDEST:
        raise ValueError(
            f"Expected from and to beside meets, within a factor of {_WIDEST:g}, got the range "
            f"[{low:g}, {high:g}] of {variable.names}."
        )
    search = _FormulaSearch(question=question, variable=variable, formula=formula)
    ends = search.verdict(low), search.verdict(high)
    left = low if ends[0] is RegionVerdict.OPEN else search.reached(low, high, ends[0])
    if left == high and ends[0] is not RegionVerdict.OPEN:
        return (Band(verdict=ends[0], low=low, high=high),)
    right = high if ends[1] is RegionVerdict.OPEN else search.reached(high, left, ends[1])
    if right == high and ends[0] is ends[1]:
        # The end alone is no band: what lies before it is open.
        ends = ends[0], RegionVerdict.OPEN
    step = 1.0 if variable.whole else 0.0
    found = []
    if ends[0] is not RegionVerdict.OPEN:
        found.append(Band(verdict=ends[0], low=low, high=left))
        left += step
    if ends[1] is not RegionVerdict.OPEN:
        right -= step
    if left <= right:
        found.append(Band(verdict=RegionVerdict.OPEN, low=left, high=right))
    if ends[1] is not RegionVerdict.OPEN:
        found.append(Band(verdict=ends[1], low=right + step, high=high))
    return joined(found)
