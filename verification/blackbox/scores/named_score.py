"""A score with a name, the prior weight of its bets, and what it explains if it rejects a claim."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rdpkit import _validate
from rdpkit.verification.blackbox.mistakes import Mistake
from rdpkit.verification.estimators.base import Array, OutputScore, check_scores


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedScore:
    """A score and its name."""

    name: str  # The name in words
    score: OutputScore
    """Turns flattened outputs, shape (n, d), into scores, shape (n,). It can be pickled, because it
    is sent to other processes.
    """
    family: str = "given"  # The kind of score: a stable identifier such as "linear" or "covariance"
    share: float = 1.0
    """The prior weight of its bets, > 0; the shares of a list are relative to each other."""
    explanation: Mistake | None = None
    """What is wrong with the mechanism if a claim is rejected by this score; None if the score does
    not say.
    """

    def __post_init__(self) -> None:
        if not 0.0 < self.share < math.inf:
            raise _validate.fail("share", "to be positive and finite", self.share)

    def of(self, outputs: Array) -> Array:
        """The scores of outputs.

        Raises ArithmeticError if one is NaN. Raises ValueError if the score raises, or does not
        return one number a row.
        """
        with _validate.ErrorsOf(f"The score {self.name!r}"):
            scores = self.score(outputs)
        found = check_scores(f"the score {self.name!r}", scores)
        if found.shape != (len(outputs),):
            raise ValueError(
                f"Expected the score {self.name!r} to return {len(outputs)} numbers, got "
                f"{found.size}."
            )
        return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoreOfPart:
    """A score of some columns of an output."""

    columns: np.ndarray[tuple[int], np.dtype[np.intp]]  # The columns; shape (k,)
    score: OutputScore  # Turns outputs of shape (n, k) into scores

    def __call__(self, outputs: Array, /) -> Array:
        """The score of each output."""
        return self.score(outputs[:, self.columns])
