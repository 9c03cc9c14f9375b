"""Error rates of all tests and coverage of all intervals, over 2,000 runs each.

Each test here counts errors (false alarms, or intervals that miss the truth) over ``RUNS``
independent runs. It fails if Clopper-Pearson's lower bound on their probability, which itself fails
with probability at most ``CHANCE``, is above the stated rate. So a correct estimator fails one of
these tests by chance with probability at most ``CHANCE`` = 1e-6 each. Seeds are fixed: a test that
has passed passes again.

Where a stated rate is exact and errors should be nearly as frequent, a bound from above keeps an
estimator from passing because it never says anything.
"""

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from rdpkit.verification.estimators.bounded_mean import bounded_mean_interval
from rdpkit.verification.estimators.clopper_pearson import clopper_pearson, lower_bound, upper_bound
from rdpkit.verification.estimators.epsilon_lower_bound import epsilon_lower_bound
from rdpkit.verification.estimators.hockey_stick import hockey_stick
from rdpkit.verification.estimators.importance import GaussianDensity
from rdpkit.verification.estimators.one_run.guesses import one_run_audit
from rdpkit.verification.estimators.privacy_claims import DpClaim, RdpClaim
from rdpkit.verification.estimators.renyi_importance import gaussian_proposal, renyi_importance
from rdpkit.verification.estimators.sequential import SequentialTest, largest_excess

pytestmark = pytest.mark.statistical

RUNS = 2000
CHANCE = 1e-6
RATE = 0.05
# The Gaussian mechanism with sensitivity 1 that is (1, 0.01)-DP and no better: Balle and Wang 2018.
EPSILON, DELTA = 1.0, 1e-2


def _delta(epsilon, sigma):
    return norm.cdf(0.5 / sigma - epsilon * sigma) - math.exp(epsilon) * norm.cdf(
        -0.5 / sigma - epsilon * sigma
    )


SHIFT = 1.0 / brentq(lambda sigma: _delta(EPSILON, sigma) - DELTA, 0.5, 10.0, xtol=1e-14)
ORDERS = np.array([1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 32.0])

# Name, distance of the two distributions in standard deviations, claim that is true of them.
CASES = {
    "identical, nothing allowed": (0.0, DpClaim(epsilon=0.0, delta=0.0)),
    "identical, (1, 0.01) claimed": (0.0, DpClaim(epsilon=EPSILON, delta=DELTA)),
    "boundary of (1, 0.01)": (SHIFT, DpClaim(epsilon=EPSILON, delta=DELTA)),
    "boundary of its RDP curve": (
        SHIFT,
        RdpClaim(orders=ORDERS, values=0.5 * ORDERS * SHIFT**2),
    ),
}


def _judge(name, errors, stated, record_property, at_least=0):
    """Errors in RUNS runs against the stated rate."""
    low = float(lower_bound(errors, RUNS, CHANCE))
    high = float(upper_bound(errors, RUNS, CHANCE))
    record_property(name, f"{errors} of {RUNS}, stated {stated:g}")
    print(f"{name}: {errors} errors in {RUNS} runs, in [{low:.4f}, {high:.4f}]; stated {stated:g}")
    assert low <= stated
    assert errors >= at_least


def _pair(seed, size, shift):
    rng = np.random.default_rng([20_251, seed])
    return rng.normal(shift, 1.0, size), rng.normal(0.0, 1.0, size)


@pytest.mark.parametrize("case", CASES)
def test_sequential_test(case, record_property):
    """False alarms at a rate of 0.05, at any time. Fails by chance at a rate of 1e-6 at most."""
    shift, claim = CASES[case]
    alarms = 0
    for seed in range(RUNS):
        p, q = _pair(seed, 2500, shift)
        test = SequentialTest(claim, false_alarm_rate=RATE)
        test.update(p, q)
        alarms += test.outcome().rejected
    _judge(f"sequential, {case}", alarms, RATE, record_property)


def test_sequential_test_on_small_batches(record_property):
    """False alarms with a few scores at a time. Fails by chance at a rate of 1e-6 at most."""
    claim = DpClaim(epsilon=0.0, delta=0.0)
    alarms = 0
    for seed in range(RUNS):
        p, q = _pair(seed, 500, 0.0)
        test = SequentialTest(claim, false_alarm_rate=RATE)
        for start in range(0, 500, 5):
            test.update(p[start : start + 5], q[start : start + 5])
        alarms += test.outcome().rejected
    _judge("sequential, five scores at a time", alarms, RATE, record_property)


def test_epsilon_lower_bound(record_property):
    """Above the true epsilon at a rate of 0.05. Fails by chance with probability at most 1e-6.

    The Laplace mechanism: epsilon is 1 at delta 0, and half of all threshold events attain it.
    """
    errors = 0
    for seed in range(RUNS):
        rng = np.random.default_rng([20_253, seed])
        p, q = rng.laplace(1.0, 1.0, 1000), rng.laplace(0.0, 1.0, 1000)
        errors += epsilon_lower_bound(p, q, delta=0.0, confidence=1.0 - RATE).epsilon > 1.0
    _judge("epsilon from samples alone", errors, RATE, record_property)


@pytest.mark.parametrize(("p", "n"), [(0.003, 1000), (0.3, 50), (0.97, 400)])
def test_clopper_pearson(p, n, record_property):
    """Misses at a rate of 0.05. Fails by chance with probability at most 1e-6."""
    counts = np.random.default_rng(20_254).binomial(n, p, RUNS)
    errors = sum(
        p not in clopper_pearson(successes=int(x), trials=n, confidence=1.0 - RATE) for x in counts
    )
    _judge(f"Clopper-Pearson, p = {p}", errors, RATE, record_property, at_least=10)


@pytest.mark.parametrize("law", ["rare", "uniform", "beta", "two points"])
def test_bounded_mean(law, record_property):
    """Misses at a rate of 0.05. Fails by chance with probability at most 1e-6."""
    rng = np.random.default_rng(20_255)
    draw, mean = {
        "rare": (lambda: (rng.random(400) < 0.01) * 1.0, 0.01),
        "uniform": (lambda: rng.random(400), 0.5),
        "beta": (lambda: rng.beta(0.3, 3.0, 400), 0.3 / 3.3),
        "two points": (lambda: np.where(rng.random(400) < 0.1, 1.0, 0.4), 0.46),
    }[law]
    errors = sum(
        mean not in bounded_mean_interval(draw(), lower=0.0, upper=1.0, confidence=1.0 - RATE)
        for _ in range(RUNS)
    )
    _judge(f"bounded mean, {law}", errors, RATE, record_property)


def test_unbounded_mean(record_property):
    """Lower ends above the mean at a rate of 0.05. Fails by chance with probability 1e-6."""
    rng = np.random.default_rng(20_256)
    errors = 0
    for _ in range(RUNS):
        values = rng.pareto(2.2, 400)
        found = bounded_mean_interval(values, lower=0.0, upper=math.inf, confidence=1.0 - RATE)
        errors += found.lower > 1.0 / 1.2
    _judge("mean without a bound from above", errors, RATE, record_property)


def test_renyi_importance(record_property):
    """Any of five orders missed, at a rate of 0.05. Fails by chance with probability at most 1e-6.

    The intervals share the failure probability, so all five have to hold together.
    """
    p, q = GaussianDensity(mean=[1.0], std=1.5), GaussianDensity(mean=[0.0], std=1.5)
    orders = np.array([1.1, 2.0, 8.0, 32.0, 128.0])
    errors = 0
    for seed in range(RUNS):
        found = renyi_importance(
            p,
            q,
            orders=orders,
            samples=300,
            confidence=1.0 - RATE,
            rng=np.random.default_rng([20_257, seed]),
            proposal=gaussian_proposal(p, q),
        )
        truths = orders / (2.0 * 1.5**2)
        errors += any(truth not in one.interval for truth, one in zip(truths, found))
    _judge("Renyi divergence at five orders", errors, RATE, record_property)


@pytest.mark.parametrize("epsilon", [0.0, 1.0])
def test_hockey_stick(epsilon, record_property):
    """Misses at a rate of 0.05. Fails by chance with probability at most 1e-6."""
    p, q = GaussianDensity(mean=[1.0], std=1.5), GaussianDensity(mean=[0.0], std=1.5)
    truth = _delta(epsilon, 1.5)
    errors = 0
    for seed in range(RUNS):
        found = hockey_stick(
            p,
            q,
            epsilon=epsilon,
            samples=400,
            confidence=1.0 - RATE,
            rng=np.random.default_rng([20_258, seed]),
        )
        errors += truth not in found.interval
    _judge(f"hockey stick at {epsilon:g}", errors, RATE, record_property)


def test_one_run(record_property):
    """Above the true epsilon at a rate of 0.05. Fails by chance with probability at most 1e-6.

    Canaries reported by randomised response with epsilon 1, for which the theorem is tight.
    """
    errors = 0
    for seed in range(RUNS):
        rng = np.random.default_rng([20_259, seed])
        coins = rng.random(300) < 0.5
        told = np.where(rng.random(300) < 1.0 / (1.0 + math.exp(-1.0)), coins, ~coins)
        found = one_run_audit(
            told + 0.1 * rng.random(300),
            coins,
            guess_in=100,
            guess_out=100,
            delta=0.0,
            confidence=1.0 - RATE,
        )
        errors += found.epsilon > 1.0
    _judge("one run", errors, RATE, record_property, at_least=20)


def test_largest_excess(record_property):
    """Below the true excess at a rate of 0.05. Fails by chance with probability at most 1e-6."""
    claim = DpClaim(epsilon=0.5, delta=0.0)
    truth = _delta(0.5, 1.0)
    errors = sum(
        largest_excess(claim, *_pair(seed, 800, 1.0), confidence=1.0 - RATE) < truth
        for seed in range(RUNS)
    )
    _judge("largest excess", errors, RATE, record_property)
