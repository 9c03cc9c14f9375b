"""One sequential test of several scores of the same outputs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import logsumexp

from rdpkit import _validate
from rdpkit.verification.estimators.base import Array, Diagnostic, Stop, Verdict
from rdpkit.verification.estimators.privacy_claims import PrivacyClaim
from rdpkit.verification.estimators.sequential import SequentialTest


class CombinedTest:
    """A sequential test that spreads the bettor's capital evenly over several scores.

    Guarantee
    ---------
    If the claim is true, the probability that it is ever rejected is at most ``false_alarm_rate``.
    Each part of the capital is a nonnegative supermartingale, and so is their mean, however the
    scores depend on each other. Ville's inequality holds for it.

    Assumes
    -------
    The assumptions of :class:`rdpkit.verification.estimators.sequential.SequentialTest`, for every
    score.

    Parameters
    ----------
    claim : PrivacyClaim
        What is claimed.
    names : sequence of str
        The scores' names.
    false_alarm_rate : float
        In (0, 1).
    """

    def __init__(
        self, claim: PrivacyClaim, *, names: Sequence[str], false_alarm_rate: float
    ) -> None:
        self._rate = _validate.open_probability("false_alarm_rate", false_alarm_rate)
        self._names = tuple(names)
        if not self._names:
            raise _validate.fail("names", "to be at least one name", names)
        # A part that rejects at this rate makes the whole capital large enough on its own.
        alone = self._rate / len(self._names)
        self._tests = [SequentialTest(claim, false_alarm_rate=alone) for _ in self._names]
        self._runs = 0
        self._highest = 0.0
        self._stop: Stop | None = None

    @property
    def log_e_value(self) -> float:
        """The logarithm of the capital, which began as 1."""
        parts = [test.log_e_value for test in self._tests]
        return float(logsumexp(parts)) - math.log(len(parts))

    @property
    def leading(self) -> str:
        """The name of the score with the largest capital."""
        return self._names[self._best]

    @property
    def _best(self) -> int:
        return int(np.argmax([test.log_e_value for test in self._tests]))

    def update(self, p_scores: Array, q_scores: Array) -> Stop | None:
        """Look at new scores, in the order in which they were drawn.

        Parameters
        ----------
        p_scores, q_scores : ndarray, shape (n, k) each
            One column for each score, and one row for each output; both have the same shape.

        Returns
        -------
        Stop or None
            ``REJECTED`` or ``CLEARED`` once that is certain; None if more scores may help.

        Raises
        ------
        ArithmeticError
            If a score is NaN.
        """
        stops = [
            test.update(p_scores[:, column], q_scores[:, column])
            for column, test in enumerate(self._tests)
        ]
        self._runs += len(p_scores)
        self._highest = max(self._highest, self.log_e_value)
        if self._stop is None:
            if self._highest >= math.log(1.0 / self._rate):
                self._stop = Stop.REJECTED
            elif all(stop is Stop.CLEARED for stop in stops):
                self._stop = Stop.CLEARED
        return self._stop

    def outcome(self, claim: str) -> Verdict:
        """The verdict so far; ``claim`` is the claim in words."""
        found = self._tests[self._best].outcome() if self._runs else None
        stop = self._stop or Stop.EXHAUSTED
        count = len(self._names)
        return Verdict(
            rejected=stop is Stop.REJECTED,
            false_alarm_rate=self._rate,
            claim=claim,
            method="sequential bets" + (f", spread over {count} scores" if count > 1 else ""),
            samples=(self._runs, self._runs),
            stop=stop,
            log_e_value=self._highest,
            witness="" if found is None else found.witness,
            diagnostics=self._diagnostics() if stop is Stop.EXHAUSTED and self._runs else (),
        )

    def _diagnostics(self) -> tuple[Diagnostic, ...]:
        """Diagnostics of the leading score, if all scores have one of that kind.

        If one score lacks a diagnostic, then that score could see enough, and the diagnostic does
        not explain why the claim survived.
        """
        found = [test.outcome().diagnostics for test in self._tests]
        kinds = [{diagnostic.kind for diagnostic in one} for one in found]
        return tuple(one for one in found[self._best] if all(one.kind in kind for kind in kinds))


__all__ = ["CombinedTest"]
