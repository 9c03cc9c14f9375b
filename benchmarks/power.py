"""How many samples it takes to reject a Gaussian mechanism with 0.9 of the noise that it needs.

    python -m benchmarks.power [--runs 100]

Every run draws scores (the output along the changed record) for both data sets, feeds them to the
sequential test in portions, and stops when the claim is rejected or the samples are spent. A first
look, which counts as samples but is not tested, decides how portions are shared between the sides.

For DP-Auditorium, which no package index has, the number follows from its decision rules: what they
need at least, with the best event known from the start and normal approximations.
"""

from __future__ import annotations

import json
import math
import statistics
import sys

import click
import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

from rdpkit.verification.estimators.base import Stop
from rdpkit.verification.estimators.event_search import best_allocation
from rdpkit.verification.estimators.privacy_claims import (
    DpClaim,
    PrivacyClaim,
    ProfileClaim,
    RdpClaim,
)
from rdpkit.verification.estimators.sequential import SequentialTest

RATE = 0.05
PART = 0.9
_POWER = 0.95
_FIRST_LOOK, _PORTION = 5_000, 10_000
ORDERS = np.array([1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 32.0])
_EPSILONS = np.array([0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0])


def delta(epsilon: float, noise: float) -> float:
    """The smallest delta of the Gaussian mechanism with sensitivity 1 (Balle and Wang 2018)."""
    return float(
        norm.cdf(0.5 / noise - epsilon * noise)
        - math.exp(epsilon) * norm.cdf(-0.5 / noise - epsilon * noise)
    )


def needed_noise(epsilon: float, at: float) -> float:
    """The noise at which ``epsilon`` holds at the delta ``at`` and no smaller one does."""
    return float(brentq(lambda noise: delta(epsilon, noise) - at, 0.05, 50.0, xtol=1e-14))


def claims(epsilon: float, at: float) -> dict[str, PrivacyClaim]:
    """The pair alone, the whole profile and the whole RDP curve of the mechanism as claimed."""
    noise = needed_noise(epsilon, at)
    points = np.unique(np.append(_EPSILONS, epsilon))
    return {
        f"({epsilon:g}, {at:g})": DpClaim(epsilon=epsilon, delta=at),
        "privacy profile": ProfileClaim(
            epsilons=points, deltas=np.array([delta(float(e), noise) for e in points])
        ),
        "RDP curve": RdpClaim(orders=ORDERS, values=0.5 * ORDERS / noise**2),
    }


def one_run(claim: PrivacyClaim, shift: float, most: int, seed: int) -> int | None:
    """Samples, of both sides, until the claim was rejected; None if it was not."""
    rng = np.random.default_rng([2_026, seed])
    looked = rng.normal(shift, 1.0, _FIRST_LOOK), rng.normal(0.0, 1.0, _FIRST_LOOK)
    first, second = best_allocation(claim, *looked, total=_PORTION)
    test = SequentialTest(claim, false_alarm_rate=RATE)
    for _ in range((most - 2 * _FIRST_LOOK) // _PORTION):
        stop = test.update(rng.normal(shift, 1.0, first), rng.normal(0.0, 1.0, second))
        if stop is Stop.REJECTED:
            return 2 * _FIRST_LOOK + sum(test.samples)
        if stop is not None:
            return None
    return None


def measure(
    name: str, claim: PrivacyClaim, *, shift: float, most: int, runs: int
) -> dict[str, object]:
    """One row of the table."""
    found = [one_run(claim, shift, most, seed) for seed in range(runs)]
    rejected = sorted(size for size in found if size is not None)
    ranked = sorted(math.inf if size is None else size for size in found)
    worst = ranked[math.ceil(0.95 * runs) - 1]
    return {
        "claim": name,
        "samples_at_most": most,
        "runs": runs,
        "rejected": len(rejected),
        "median_samples": statistics.median(rejected) if rejected else None,
        "samples_for_95_of_100": None if math.isinf(worst) else worst,
    }


def hoeffding_samples(epsilon: float, at: float) -> int:
    """Samples of DP-Auditorium's hockey-stick tester, both sides and both halves together.

    It bounds the accuracy of a classifier on one half of the samples by Hoeffding's inequality; the
    other half trains it. Here the classifier is the best there is.
    """
    noise = PART * needed_noise(epsilon, at)
    slope = math.exp(epsilon)
    accuracy = (slope + delta(epsilon, noise)) / (1.0 + slope)
    gap = (delta(epsilon, noise) - at) / (1.0 + slope)
    width = math.sqrt(0.5 * math.log(1.0 / RATE))
    spread = norm.ppf(_POWER) * math.sqrt(accuracy * (1.0 - accuracy))
    return math.ceil(4.0 * ((width + spread) / gap) ** 2)


def histogram_samples(epsilon: float, at: float) -> int:
    """Samples of DP-Auditorium's histogram tester, both sides, with the two best bins."""
    noise = PART * needed_noise(epsilon, at)
    slope = math.exp(epsilon)
    p = float(norm.cdf(0.5 / noise - epsilon * noise))
    q = float(norm.cdf(-0.5 / noise - epsilon * noise))
    roots = [math.sqrt(x) + math.sqrt(1.0 - x) for x in (p, q)]
    width = 2.0 * (roots[0] + slope * roots[1])
    width += 6.0 * (1.0 + slope) * math.sqrt(0.5 * math.log(4.0 / RATE))
    spread = norm.ppf(_POWER) * math.sqrt(p * (1.0 - p) + slope**2 * q * (1.0 - q))
    return math.ceil(2.0 * ((width + spread) / (delta(epsilon, noise) - at)) ** 2)


@click.command()
@click.option("--runs", type=click.IntRange(min=1), default=100, show_default=True)
def main(runs: int) -> None:
    """Measure, print one JSON line for each row."""
    for epsilon, at, most in ((1.0, 1e-2, 300_000), (1.0, 1e-3, 2_000_000)):
        shift = 1.0 / (PART * needed_noise(epsilon, at))
        for name, claim in claims(epsilon, at).items():
            row = measure(name, claim, shift=shift, most=most, runs=runs)
            click.echo(json.dumps({"mechanism": f"({epsilon:g}, {at:g})"} | row))
            sys.stdout.flush()
        for name, least in (
            ("DP-Auditorium, hockey stick", hoeffding_samples(epsilon, at)),
            ("DP-Auditorium, histogram", histogram_samples(epsilon, at)),
        ):
            row = {"mechanism": f"({epsilon:g}, {at:g})", "rule": name, "samples_at_least": least}
            click.echo(json.dumps(row))


if __name__ == "__main__":
    main()
