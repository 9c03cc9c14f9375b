"""Runs that depend on each other, and samples that differ: what is seen, and false alarms."""

import numpy as np
import pytest

from rdpkit.verification.blackbox.checks import dependence, two_sample_p_value
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


def p_value(one, two, *, numbers=True):
    is_number = np.full(one.shape[1], numbers)
    return two_sample_p_value(one, two, is_number, name=lambda column: f"[{column}]")


def test_differences_that_are_seen():
    rng = np.random.default_rng(1)
    one = rng.normal(size=(200, 20))
    shifted = rng.normal(size=(200, 20))
    shifted[:, 3] += 3.0
    shifted[:, 3] *= 2.0
    found, what = p_value(one, shifted)
    assert found < 1e-6
    assert what == "the number [3]"
    assert p_value(one, 0.5 * rng.normal(size=(200, 20)))[0] < 1e-6
    # A small shift of all numbers is seen in their sum.
    assert p_value(one, rng.normal(size=(200, 20)) + 0.2)[1] == "the sum of all numbers"
    # The same noise in all columns is seen although no column by itself shows it.
    found, what = p_value(one, np.repeat(rng.normal(size=(200, 1)), 20, axis=1))
    assert found < 1e-6
    assert "all numbers" in what


def test_categories_and_atoms():
    rng = np.random.default_rng(1)
    one, two = rng.integers(0, 5, (200, 1)) * 1e9, rng.integers(0, 3, (200, 1)) * 1e9
    assert p_value(one, two, numbers=False)[0] < 1e-6
    mostly_zero = np.where(rng.random((200, 3)) < 0.5, 0.0, rng.normal(size=(200, 3)))
    assert p_value(rng.normal(size=(200, 3)) * 0.7, mostly_zero)[0] < 1e-3


def test_kolmogorovs_p_values():
    from scipy.stats import ks_2samp

    rng = np.random.default_rng(1)
    for shift in (0.3, 0.6, 1.0):
        one, two = rng.normal(size=(50, 1)), rng.normal(size=(50, 1)) + shift
        expected = ks_2samp(one[:, 0], two[:, 0], method="exact").pvalue
        assert p_value(one, two)[0] == pytest.approx(expected, rel=1e-9)


def test_nothing_varies():
    assert p_value(np.ones((9, 2)), np.ones((9, 2))) == (1.0, "")
    assert p_value(np.ones((200, 2)), 2.0 * np.ones((200, 2)))[0] < 1e-6


@pytest.mark.parametrize(
    "make",
    [
        lambda rng: rng.normal(size=(60, 3)),
        lambda rng: rng.standard_cauchy((60, 30)),
        lambda rng: rng.integers(0, 2, (60, 1)).astype(float),
        lambda rng: np.where(rng.random((60, 2)) < 0.9, 0.0, rng.normal(size=(60, 2))),
    ],
    ids=["normal", "heavy tails", "bits", "zeros"],
)
def test_p_values_are_not_too_small(make):
    rng = np.random.default_rng(1)
    found = np.array([p_value(make(rng), make(rng))[0] for _ in range(200)])
    # 200 p-values, each at most 0.05 with probability 0.05: more than 22 with probability 1e-4.
    assert (found <= 0.05).sum() <= 22
