"""How often each mechanism of the zoo is caught, and how often a fixed one is accused."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from rdpkit.verification.blackbox.targets import target as find_target
from rdpkit.verification.blackbox.tested_claim import event_claim
from rdpkit.verification.blackbox.verify import verify
from rdpkit.verification.blackbox.zoo import FIXED
from rdpkit.verification.estimators import clopper_pearson
from rdpkit.verification.estimators.base import Interval

POWER = 0.95
"""A broken mechanism is to be caught with at least this probability."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Power:
    """What came out for one mechanism.

    Parameters
    ----------
    name : str
        The mechanism.
    repeats : int
        How often it was verified.
    rejected, named, caught : int
        How often the claim was rejected, a mistake was named, and either.
    nameable : bool
        Whether a check can name the mistake.
    median_runs, most_runs : int
        Runs of the mechanism that one verification made.
    seconds, most_seconds : float
        That one verification took in one process: the median, and the longest.
    false_alarm_rate : float
        The stated one.
    """

    name: str
    repeats: int
    rejected: int
    named: int
    caught: int
    nameable: bool
    median_runs: int
    most_runs: int
    seconds: float
    most_seconds: float
    false_alarm_rate: float

    @property
    def interval(self) -> Interval:
        """The probability of being caught or accused, with confidence 0.95 (Clopper-Pearson)."""
        return clopper_pearson.clopper_pearson(
            successes=self.caught, trials=self.repeats, confidence=0.95
        )

    @property
    def as_it_should_be(self) -> bool:
        """Caught often enough; or, for a fixed one, accused no oftener than chance explains."""
        if not self.name.endswith(FIXED):
            return self.caught >= POWER * self.repeats
        surprising = clopper_pearson.lower_bound(
            np.array([float(self.rejected)]), self.repeats, 1e-3
        )
        return self.named == 0 and float(surprising[0]) <= self.false_alarm_rate

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, without the time that it took."""
        return {
            "name": self.name,
            "repeats": self.repeats,
            "rejected": self.rejected,
            "named": self.named,
            "caught": self.caught,
            "interval": self.interval.as_dict(),
            "median_runs": self.median_runs,
            "most_runs": self.most_runs,
            "as_it_should_be": self.as_it_should_be,
        }


def measure(
    name: str,
    *,
    repeats: int,
    seed: int,
    false_alarm_rate: float,
    samples: int,
    training: int | None,
    jobs: int | None,
) -> Power:
    """Verify one mechanism of the zoo again and again, each time with another seed.

    Parameters
    ----------
    name : str
        The mechanism.
    repeats : int
        How often.
    seed : int
        The seeds come from it.
    false_alarm_rate, samples, training
        As for :func:`rdpkit.verification.blackbox.verify.verify`.
    jobs : int or None
        Processes that share the repetitions.
    """
    from joblib import Parallel, delayed  # noqa: PLC0415 - only where it is needed

    entry = find_target(name).entry
    if entry is None:
        raise ValueError(f"Expected a mechanism of the zoo, got {name!r}.")
    # Computed here once, and not in every process.
    claim = event_claim(entry.event, adjacency=entry.adjacency)
    seeds = np.random.SeedSequence(entropy=seed).generate_state(repeats, np.uint32).tolist()
    results = Parallel(n_jobs=jobs)(
        delayed(verify)(
            name,
            claim=claim,
            false_alarm_rate=false_alarm_rate,
            samples=samples,
            training=training,
            seed=one,
            jobs=1,
        )
        for one in seeds
    )
    runs = [result.runs for result in results]
    return Power(
        name=name,
        repeats=repeats,
        rejected=sum(result.rejected for result in results),
        named=sum(bool(result.mistakes) for result in results),
        caught=sum(result.failed for result in results),
        nameable=bool(entry.mistakes),
        median_runs=math.ceil(float(np.median(runs))),
        most_runs=max(runs),
        seconds=float(np.median([result.seconds for result in results])),
        most_seconds=max(result.seconds for result in results),
        false_alarm_rate=false_alarm_rate,
    )


__all__ = ["POWER", "Power", "measure"]
