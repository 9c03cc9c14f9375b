"""What checks of a training add to the numbers of a claim: lower bounds, and canaries' scores.

Nothing here is markup: the page and the terminal draw from the same places and the same words.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rdpkit.formats.text import printable
from rdpkit.verification.auditing.findings import Finding
from rdpkit.verification.outputs.words import claimed, number
from rdpkit.verification.training.results import CanaryScores, TrainingVerification

_BARS = 24
_BLOCKS = " .:-=+*#"


@dataclass(frozen=True, slots=True, kw_only=True)
class SandwichLine:
    """One number of a claim."""

    kind: str  # "upper", "claimed", "lower", or "empirical" for a lower bound of a check
    value: float  # The number
    digits: str  # The number in words, rounded so that it stays true
    words: str  # What it is, with its confidence


def sandwich_lines(finding: Finding) -> list[SandwichLine]:
    """Every number that a claim with a checked training stands between, from the largest kind down.

    What is proven comes first, then the claim, what a pair of data sets attains, and the best lower
    bound of each check. Bounds at another delta than the claim's are left out.
    """
    claim, found = finding.claim, []
    if finding.upper is not None:
        high = finding.upper.epsilon
        words = "proven: what was accounted leaks no more (upper bound, certain)"
        found.append(_line("upper", high, words))
    if claim.epsilon is not None:
        found.append(
            SandwichLine(
                kind="claimed", value=float(claim.epsilon), digits=claimed(claim), words="claimed"
            )
        )
    if finding.lower is not None:
        low = finding.lower.epsilon
        words = "attained by two data sets, if all is as accounted (lower bound, certain)"
        found.append(_line("lower", low, words))
    if finding.training is None or claim.quantity != "epsilon":
        return found
    for check in finding.training.checks:
        bounds = [one for one in check.bounds if one.delta == claim.delta]
        if bounds:
            best = max(bounds, key=lambda one: one.epsilon)
            words = (
                f"from the check of the {check.name} (lower bound, confidence "
                f"{best.confidence:g}; {best.given})"
            )
            found.append(_line("empirical", best.epsilon, words))
    return found


def _line(kind: str, value: float, words: str) -> SandwichLine:
    side = "lower" if kind in ("lower", "empirical") else "upper"
    digits = number(side, value, digits=4)
    return SandwichLine(kind=kind, value=value, digits=digits, words=printable(words))


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreHistogram:
    """How many canaries have scores in each of some equal intervals."""

    # The ends of all intervals.
    low: float
    high: float
    # Counts of canaries that were in the training, and of those that were not.
    inside: tuple[int, ...]
    outside: tuple[int, ...]

    @property
    def words(self) -> str:
        """The same as a sentence: both numbers of canaries, and where half of each are."""
        parts = [
            f"{sum(counts)} canaries {where} the training, half of them above "
            f"{self._middle(counts):.3g}"
            for where, counts in (("in", self.inside), ("outside", self.outside))
            if sum(counts)
        ]
        return f"Scores from {self.low:.3g} to {self.high:.3g}: {'; '.join(parts)}."

    def _middle(self, counts: Sequence[int]) -> float:
        """The lower end of the interval in which the median is."""
        passed, half = 0, sum(counts) / 2.0
        for place, count in enumerate(counts):
            passed += count
            if passed >= half:
                return self.low + (self.high - self.low) * place / len(counts)
        return self.high


def histogram(
    scores: CanaryScores,  # Scores that are infinite or no numbers are left out
    *,
    bars: int = _BARS,  # The number of intervals
) -> ScoreHistogram | None:
    """Count scores in equal intervals; None if there is no finite score."""
    inside = [one for one in scores.inside if math.isfinite(one)]
    outside = [one for one in scores.outside if math.isfinite(one)]
    if not inside and not outside:
        return None
    low, high = min(*inside, *outside, math.inf), max(*inside, *outside, -math.inf)
    # Halves, because the difference of two floats may be infinite.
    width = high / 2.0 - low / 2.0

    def counted(values: list[float]) -> tuple[int, ...]:
        counts = [0] * bars
        for value in values:
            share = (value / 2.0 - low / 2.0) / width if width > 0.0 else 0.5
            counts[min(int(share * bars), bars - 1)] += 1
        return tuple(counts)

    return ScoreHistogram(low=low, high=high, inside=counted(inside), outside=counted(outside))


def score_histograms(result: TrainingVerification) -> list[tuple[str, ScoreHistogram]]:
    """The histograms of all checks that have scores, with the names of the checks."""
    made = [
        (check.name, histogram(check.scores)) for check in result.checks if check.scores is not None
    ]
    return [(name, one) for name, one in made if one is not None]


def training_lines(finding: Finding) -> list[str]:
    """The sandwich and the scores of a checked training as text; nothing without one."""
    if finding.training is None:
        return []
    lines = [f"{one.digits:>9}  {one.words}" for one in sandwich_lines(finding)]
    for name, one in score_histograms(finding.training):
        lines.append(f"scores of the canaries of the {name}:")
        highest = max(*one.inside, *one.outside)
        for where, counts in (("in", one.inside), ("out", one.outside)):
            bars = "".join(_BLOCKS[math.ceil(c * (len(_BLOCKS) - 1) / highest)] for c in counts)
            lines.append(f"  {where:4}|{bars}|")
        lines.append(f"  {one.words}")
    return lines
