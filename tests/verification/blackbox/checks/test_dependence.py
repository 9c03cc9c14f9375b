"""Runs that depend on each other, and independent ones of every distribution."""

import numpy as np
import pytest

from rdpkit.verification.blackbox.checks.dependence import dependence
from rdpkit.verification.estimators.base import DiagnosticKind

RUNS = 300


def independent(rng):
    return rng.normal(size=RUNS)


def alternating(rng):
    return np.abs(rng.normal(size=RUNS)) * np.resize([1.0, -1.0], RUNS)


def cached(rng):
    return np.repeat(rng.normal(size=RUNS // 2), 2)


def drifting(rng):
    return np.cumsum(rng.normal(size=RUNS))


def sometimes_repeated(rng):
    values = rng.normal(size=RUNS)
    for place in np.flatnonzero(rng.random(RUNS - 1) < 0.06):
        values[place + 1] = values[place]
    return values


def of_varying_scale(rng):
    return rng.normal(size=RUNS) * np.resize([0.2, 2.0], RUNS)


def bits_that_stay(rng):
    return np.cumsum(rng.random(RUNS) < 0.2) % 2.0


def every_third(rng):
    values = rng.normal(size=RUNS + 3)
    return values[3:] + values[:-3]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "make",
    [
        alternating,
        cached,
        drifting,
        sometimes_repeated,
        of_varying_scale,
        bits_that_stay,
        every_third,
    ],
)
def test_consecutive_runs(make):
    rng = np.random.default_rng(1)
    for scores, side in (
        ((make(rng), independent(rng)), "D"),
        ((independent(rng), make(rng)), "D'"),
    ):
        found = dependence(*scores)
        assert found.kind is DiagnosticKind.DEPENDENT_RUNS
        assert f"consecutive runs on {side} depend on each other" in found.message
        assert "p-value 0.0006" in found.message


@pytest.mark.thorough
def test_runs_with_the_same_number():
    rng = np.random.default_rng(1)
    noise = independent(rng)
    for p, q in (
        (noise, noise + 1.0),
        (noise, -noise),
        (noise, np.where(rng.random(RUNS) < 0.06, noise, independent(rng))),
    ):
        assert "the same number on D and on D'" in dependence(p, q).message
    # Of different lengths, the runs that both sides have are compared.
    assert dependence(noise, noise[:200] + 1.0) is not None


def test_several_scores():
    rng = np.random.default_rng(1)
    p = rng.normal(size=(RUNS, 3))
    q = rng.normal(size=(RUNS, 3))
    assert dependence(p, q) is None
    p[:, 2] = alternating(rng)
    assert "on D depend" in dependence(p, q).message


def test_too_few_runs_say_nothing():
    assert dependence(np.arange(10.0), np.arange(10.0)) is None
    assert dependence(np.zeros((0, 2)), np.zeros((0, 2))) is None


MARGINALS = {
    "normal": lambda rng, size: rng.normal(size=size),
    "constant": lambda rng, size: np.ones(size),
    "bits": lambda rng, size: rng.integers(0, 2, size).astype(float),
    "rare": lambda rng, size: (rng.random(size) < 0.01).astype(float),
    "heavy tails": lambda rng, size: rng.standard_cauchy(size) ** 3,
    "mostly one value": lambda rng, size: np.where(
        rng.random(size) < 0.9, 0.0, rng.normal(size=size)
    ),
}


@pytest.mark.thorough
@pytest.mark.parametrize("marginal", MARGINALS)
def test_independent_runs(marginal):
    rng = np.random.default_rng(1)
    make = MARGINALS[marginal]
    found = [dependence(make(rng, 200), make(rng, 200)) for _ in range(30)]
    # At a rate of 1e-3, more than one of thirty alarms has a probability below 5e-4.
    assert sum(one is not None for one in found) <= 1


@pytest.mark.statistical
@pytest.mark.parametrize("marginal", MARGINALS)
def test_the_rate_of_false_alarms(marginal):
    rng = np.random.default_rng(2)
    make = MARGINALS[marginal]
    alarms = sum(dependence(make(rng, 60), make(rng, 60)) is not None for _ in range(2000))
    # 2 are expected at most; more than 9 have probability 5e-5, so six cases fail with 3e-4.
    assert alarms <= 9
