"""What a verification reports when it has ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rdpkit.formats.records import as_plain
from rdpkit.verification.blackbox.betting.detectable import DetectableViolation
from rdpkit.verification.blackbox.betting.lower_bounds import MuLowerBound
from rdpkit.verification.blackbox.mistakes import Mistake
from rdpkit.verification.blackbox.tested_claim import ClaimUnderTest
from rdpkit.verification.estimators.base import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationResult:
    """The result of testing a claim against code.

    Guarantee
    ---------
    If the claim is true, ``outcome.rejected`` is True with probability at most the outcome's
    ``false_alarm_rate``, over the randomness of the mechanism. Mistakes only explain a rejection,
    so the rate is that of the whole verdict.

    Parameters
    ----------
    target : str
        What was verified.
    claim : ClaimUnderTest
        What was claimed.
    outcome : Verdict
        The verdict of the test, with its diagnostics.
    mistakes : tuple of Mistake
        Mistakes that explain the rejection; empty if the claim was not rejected.
    mu : MuLowerBound
        A lower bound on mu of Gaussian differential privacy. The lower bound on epsilon is
        ``outcome.bound``. Both hold whenever the test stopped, each with its own confidence.
    detectable : DetectableViolation or None
        What would have been rejected; None if the claim was rejected.
    notes : tuple of str
        Further remarks for the reader.
    pair : tuple of str
        The pair of data sets in words.
    shape : str
        The shape of a release.
    scores : tuple of str
        Names of the scores that were tested together.
    score : str
        The score that spoke most clearly against the claim.
    runs : int
        Runs of the mechanism on both data sets, in all stages.
    pairs : int
        How many pairs of data sets were tried.
    training : int
        How many runs on each data set of a pair were made before the first bet.
    final_log_e_value : float
        The logarithm of the capital at the end. Unlike the largest capital, it may be multiplied
        with that of later tests of the same code and claim.
    seed : int
        All randomness comes from it.
    seconds : float
        How long the verification took.
    """

    target: str
    claim: ClaimUnderTest
    outcome: Verdict
    mistakes: tuple[Mistake, ...]
    mu: MuLowerBound
    detectable: DetectableViolation | None
    notes: tuple[str, ...]
    pair: tuple[str, ...]
    shape: str
    scores: tuple[str, ...]
    score: str
    runs: int
    pairs: int
    training: int
    final_log_e_value: float
    seed: int
    seconds: float

    @property
    def rejected(self) -> bool:
        """Whether the claim was refuted."""
        return self.outcome.rejected

    @property
    def failed(self) -> bool:
        """Whether the claim was refuted."""
        return self.rejected

    @property
    def verdict(self) -> str:
        """``rejected`` or ``not rejected``."""
        return "rejected" if self.rejected else "not rejected"

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; the same for the same seed."""
        found = self.outcome.as_dict()
        return {
            "target": self.target,
            "verdict": self.verdict,
            "claim": self.claim.statement,
            "adjacency": self.claim.adjacency.value,
            "mistakes": as_plain(self.mistakes),
            "diagnostics": found.pop("diagnostics"),
            "lower_mu": self.mu.as_dict(),
            "detectable": None if self.detectable is None else self.detectable.as_dict(),
            "notes": list(self.notes),
            "score": self.score,
            "scores": list(self.scores),
            "test": found,
            "pair": list(self.pair),
            "release_shape": self.shape,
            "runs": self.runs,
            "pairs_tried": self.pairs,
            "training": self.training,
            "final_log_e_value": self.final_log_e_value,
            "seed": self.seed,
        }


__all__ = ["VerificationResult"]
