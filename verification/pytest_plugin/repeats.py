"""The words with which one test of a mechanism is repeated exactly, as a failure prints them."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from rdpkit.verification.blackbox.options import VerificationOptions
from rdpkit.verification.blackbox.verification_result import VerificationResult

OPTION = "--verify-repeat"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """What a test has to be told so that it is the same again."""

    seed: int  # All randomness comes from it
    # As in the result of the test.
    runs: int
    training: int
    pairs: int
    processes: int
    rate: float  # Its false-alarm rate, which depends on how many other tests there were
    call: int = 1  # Which call of the fixture it is

    @classmethod
    def of(cls, result: VerificationResult, *, call: int) -> Repeat:
        """What repeats a test."""
        return cls(
            seed=result.seed,
            runs=result.runs,
            training=result.training,
            pairs=result.pairs,
            processes=result.processes,
            rate=result.outcome.false_alarm_rate,
            call=call,
        )

    @classmethod
    def read(cls, words: str) -> Repeat:
        """What the option says. Raises pytest.UsageError if these are no such words."""
        try:
            pairs = [word.split("=") for word in words.split(",")]
            numbers: dict[str, Any] = {
                name: (float if name == "rate" else int)(value) for name, value in pairs
            }
            return cls(**numbers)
        except (ValueError, TypeError):
            raise pytest.UsageError(
                f"Expected {OPTION} to be seed=...,runs=...,training=...,pairs=...,processes=...,"
                f"rate=..., as a failure prints it, got {words!r}."
            ) from None

    def words(self) -> str:
        """The option's value."""
        shown = dataclasses.fields(self)[: None if self.call > 1 else -1]
        return ",".join(f"{one.name}={getattr(self, one.name)!r}" for one in shown)

    def options(self, options: VerificationOptions) -> VerificationOptions:
        """The options of the test, with these in their place. Runs are counted, and not seconds."""
        return dataclasses.replace(
            options,
            seed=self.seed,
            # Releases of new processes may have refuted the claim before any other run; the option
            # wants room for the first of those.
            samples=self.runs or 2 * (self.training + 1),
            training=self.training,
            pairs=self.pairs,
            fresh_processes=self.processes,
            false_alarm_rate=self.rate,
            time_budget=None,
        )
