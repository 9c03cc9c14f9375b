"""An error rate that named tests share, added up by code."""

from __future__ import annotations

import math

from rdpkit import _validate

# Rounding of sums of shares.
_SLACK = 1e-9


class ErrorBudget:
    """How often a correct training may be rejected, and which test spends how much of it.

    Guarantee
    ---------
    What all tests spend together is at most ``rate``. If each test rejects a correct training with
    probability at most what it spent, then all of them together do with probability at most
    ``rate``, however they depend on each other (Bonferroni).
    """

    def __init__(
        self,
        rate: float,  # What may be spent, in (0, 1)
    ) -> None:
        self.rate = _validate.open_probability("rate", rate)
        self._spent: dict[str, float] = {}

    def spend(self, test: str, rate: float) -> float:
        """Spend a rate on a test, and return it."""
        if test in self._spent:
            raise ValueError(f"The test {test!r} has spent its error rate already.")
        if math.fsum([*self._spent.values(), rate]) > self.rate * (1.0 + _SLACK):
            raise ValueError(
                f"The test {test!r} would spend {rate:.4g}, and {self.left:.4g} of {self.rate:.4g} "
                "is left."
            )
        self._spent[test] = rate
        return rate

    def equally(self, *tests: str) -> float:
        """Spend all that is left on some tests, each the same, and return the rate of each."""
        each = self.left / len(tests)
        for test in tests:
            self.spend(test, each)
        return each

    @property
    def left(self) -> float:
        """What has not been spent."""
        return max(0.0, self.rate - math.fsum(self._spent.values()))

    @property
    def spent(self) -> dict[str, float]:
        """What each test has spent."""
        return dict(self._spent)
