"""How often each mechanism of the zoo is caught, and how often a fixed one is accused."""

from __future__ import annotations

import dataclasses
import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from rdpkit import supervisor
from rdpkit.formats.records import plain_of
from rdpkit.verification.blackbox.options import VerificationOptions
from rdpkit.verification.blackbox.targets import ClaimUnderTest, event_claim
from rdpkit.verification.blackbox.targets import target as find_target
from rdpkit.verification.blackbox.verification_result import VerificationResult
from rdpkit.verification.blackbox.verify import verify
from rdpkit.verification.blackbox.zoo import FIXED
from rdpkit.verification.estimators import clopper_pearson
from rdpkit.verification.estimators.base import ConfidenceInterval

POWER = 0.95
"""A broken mechanism should be caught with at least this probability."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectionRate:
    """How often verifications of one mechanism found something."""

    name: str  # The mechanism
    repeats: int  # How often it was verified
    # How often the claim was rejected, how often a mistake was named, and how often one of both
    # happened.
    rejected: int
    named: int
    caught: int
    nameable: bool  # Whether a check can name the mistake
    # The median and the largest number of runs in one verification.
    median_runs: int
    most_runs: int
    # The median and the longest time of one verification, in one process.
    seconds: float
    most_seconds: float
    false_alarm_rate: float  # The stated rate of each test

    @property
    def interval(self) -> ConfidenceInterval:
        """The probability of being caught or accused, with confidence 0.95 (Clopper-Pearson)."""
        return clopper_pearson.clopper_pearson(
            successes=self.caught, trials=self.repeats, confidence=0.95
        )

    @property
    def as_it_should_be(self) -> bool:
        """Whether a broken mechanism is caught often enough, and a fixed one not too often."""
        if not self.name.endswith(FIXED):
            return self.caught >= POWER * self.repeats
        surprising = clopper_pearson.lower_bound(
            np.array([float(self.rejected)]), self.repeats, 1e-3
        )
        return self.named == 0 and float(surprising[0]) <= self.false_alarm_rate

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, without the time that it took."""
        shown = "name repeats rejected named caught interval median_runs most_runs as_it_should_be"
        return plain_of(self, shown.split())


def measure(
    name: str,  # The mechanism
    *,
    options: VerificationOptions,  # Of each verification; the seeds are drawn from its seed
    repeats: int,  # How often to verify it
    jobs: int | None,  # Processes that share the repetitions
) -> DetectionRate:
    """Verify one mechanism of the zoo again and again, each time with another seed."""
    entry = find_target(name).entry
    if entry is None:
        raise ValueError(f"Expected a mechanism of the zoo, got {name!r}.")
    # The claim is computed once here, and not again in every process.
    claim = event_claim(entry.event, adjacency=entry.adjacency)
    source = np.random.SeedSequence(entropy=options.seeded().seed)
    repeated = [
        dataclasses.replace(options, time_budget=None, seed=seed)
        for seed in source.generate_state(repeats, np.uint32).tolist()
    ]
    work = functools.partial(_verified, name, claim)
    results = list(supervisor.in_order(work, repeated, jobs=jobs))
    runs = [result.runs for result in results]
    return DetectionRate(
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
        false_alarm_rate=options.false_alarm_rate,
    )


def _verified(name: str, claim: ClaimUnderTest, options: VerificationOptions) -> VerificationResult:
    return verify(name, claim=claim, options=options, jobs=1)
