"""Bounds from one run by a trade-off curve."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri

from rdpkit.verification.estimators.one_run.families import GAUSSIAN, ProfileCurve
from rdpkit.verification.estimators.one_run.guesses import (
    Guesses,
    one_run_audit,
    one_run_epsilon,
)
from rdpkit.verification.estimators.one_run.tradeoff import (
    implied_share,
    one_run_leak,
    one_run_tradeoff_audit,
    usual_guesses,
)


def recursion(m, r, v, mu, t):
    """The recursion of the paper's Algorithm 3, written down once more with plain floats."""
    right, wrong = t * v / m, t * (r - v) / m
    for i in range(v - 1, -1, -1):
        new = max(wrong, float(ndtr(ndtri(min(1.0, right)) - mu)))
        right, wrong = min(1.0, right + i / (r - i) * (new - wrong)), new
    return right + wrong


@given(
    m=st.integers(2, 300),
    share=st.floats(0.05, 1.0),
    rate=st.floats(0.3, 1.0),
    mu=st.floats(0.0, 6.0),
    t=st.floats(1e-6, 0.5),
)
@settings(max_examples=60, deadline=None)
def test_the_recursion(m, share, rate, mu, t):
    r = max(1, round(share * m))
    found = Guesses(canaries=m, guesses=r, correct=round(rate * r))
    got = implied_share(found, family=GAUSSIAN, leak=mu, probability=t)
    # Our rates are rounded down by 1e-12 relative; up to 300 steps multiply that.
    assert got == pytest.approx(recursion(m, r, found.correct, mu, t), rel=1e-8)


@given(r=st.integers(1, 200), wrong=st.integers(0, 20))
@settings(max_examples=30, deadline=None)
def test_more_right_guesses_show_more(r, wrong):
    right = max(0, r - wrong)
    more, fewer = (
        one_run_leak(Guesses(canaries=2 * r, guesses=r, correct=v), family=GAUSSIAN, failure=0.05)
        for v in (right, max(0, right - 1))
    )
    assert more >= fewer


def test_a_coin_of_no_leak_is_the_binomial():
    # Without a leak every guess is right with probability 1/2, and P(T >= v) is refuted only if it
    # is below the failure: ten of ten right guesses have probability 2^-10.
    found = Guesses(canaries=10, guesses=10, correct=10)
    assert one_run_leak(found, family=GAUSSIAN, failure=2.0**-10 * 0.99) == 0.0
    assert one_run_leak(found, family=GAUSSIAN, failure=0.05) > 0.5


def test_it_says_more_than_counting_at_one_epsilon():
    # mu = 1.9 has epsilon 10 at delta 1e-5.
    rng = np.random.default_rng(5)
    included = rng.random(1000) < 0.5
    scores = rng.normal(size=1000) + 1.9 * included
    found = one_run_tradeoff_audit(scores, included, delta=1e-5, confidence=0.95)
    counted = one_run_epsilon(found.found, delta=1e-5, confidence=0.95)
    assert found.epsilon > 1.2 * counted
    assert found.leak < 1.9


@pytest.mark.parametrize("ins_first", [True, False])
def test_equal_scores_tell_nothing(ins_first):
    # Whoever lists the canaries by their coins must not be told the coins by their positions.
    included = np.repeat([ins_first, not ins_first], 200)
    found = one_run_tradeoff_audit(np.zeros(400), included, delta=1e-5, confidence=0.95)
    assert found.leak == 0.0
    counted = one_run_audit(
        np.zeros(400), included, guess_in=50, guess_out=50, delta=1e-5, confidence=0.95
    )
    assert counted.epsilon == 0.0


def test_the_usual_guesses():
    assert usual_guesses(1) == [(1, 0)]
    assert usual_guesses(1000) == [(12, 0), (20, 20), (45, 0), (80, 80), (220, 220)]
    for m in range(1, 60):
        assert all(0 < ins + outs <= m for ins, outs in usual_guesses(m))


def test_a_profile_is_a_curve():
    # Pure epsilon-DP: the false positive rate is at least e^-epsilon times the true positive rate.
    curve = ProfileCurve(epsilons=np.array([1.0]), deltas=np.array([0.0]))
    assert curve.rates(np.array([0.5]))[0] == pytest.approx(0.5 / np.e, rel=1e-10)
    assert curve.rates(np.array([0.99]))[0] == pytest.approx(1.0 - np.e * 0.01, rel=1e-10)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"included": [0, 1]}, "included"),
        ({"delta": 0.0}, "delta"),
        ({"confidence": 1.0}, "confidence"),
        ({"guesses": []}, "guesses"),
        ({"guesses": [(2, 1)]}, "guesses"),
    ],
)
def test_bad_input(arguments, message):
    given_ = {"included": [True, False], "delta": 1e-5, "confidence": 0.95, **arguments}
    with pytest.raises(ValueError, match=message):
        one_run_tradeoff_audit([1.0, 2.0], **given_)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("kind", ["null", "tight", "dependent", "heavy"])
def test_it_is_valid(kind):
    # 2,000 runs at 95 percent: more than 133 bounds above the truth have probability below 1e-3.
    rng = np.random.default_rng(["null", "tight", "dependent", "heavy"].index(kind))
    mu, m, above = (0.0 if kind == "null" else 1.0), 200, 0
    for _ in range(2000):
        included = rng.random(m) < 0.5
        scores = rng.normal(size=m) + mu * included
        if kind == "dependent":
            # One number is released, the noisy sum of signs of those who are in; every score is
            # made of it. A record moves the sum by mu, so that it is mu-GDP.
            signs = rng.choice([-1.0, 1.0], size=m)
            scores = signs * (mu * (signs * included).sum() + rng.normal())
        if kind == "heavy":
            scores = np.where(rng.random(m) < 0.5, scores, rng.standard_cauchy(m) * 1e-3)
        found = one_run_tradeoff_audit(scores, included, delta=1e-5, confidence=0.95)
        above += found.leak > mu
    assert above <= 133
