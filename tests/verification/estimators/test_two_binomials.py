import functools
import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom

from rdpkit.verification.estimators.two_binomials import TwoCounts, p_value


@functools.cache
def _table(n, m, slope, intercept, level=0.05, tuned=None):  # noqa: PLR0917
    return np.array(
        [
            [
                p_value(
                    TwoCounts(hits_p=x, trials_p=n, hits_q=y, trials_q=m),
                    slope=slope,
                    intercept=intercept,
                    level=level,
                    tuned_slope=tuned,
                )
                for y in range(m + 1)
            ]
            for x in range(n + 1)
        ]
    )


@pytest.mark.parametrize(
    ("sizes", "slope", "intercept", "level", "tuned"),
    [
        ((8, 8), 1.0, 0.0, 0.05, None),
        ((7, 11), math.e, 0.01, 0.05, None),
        ((11, 6), 1.5, 0.2, 0.2, None),
        ((8, 9), 3.0, 0.0, 0.01, None),
        ((9, 8), 2.0, 0.05, 0.05, 4.0),
    ],
)
def test_p_values_are_valid_over_the_whole_hypothesis(sizes, slope, intercept, level, tuned):
    """Exact: P(p-value <= u) is enumerated at every attained u, on a grid of nuisance values."""
    n, m = sizes
    table = _table(n, m, slope, intercept, level, tuned)
    values, order = np.unique(table.ravel(), return_inverse=True)
    largest = 0.0
    for q in np.linspace(0.0, 1.0, 81):
        top = min(1.0, slope * q + intercept)
        for p in (top, 0.5 * top):
            mass = np.outer(binom.pmf(range(n + 1), n, p), binom.pmf(range(m + 1), m, q))
            reached = np.cumsum(np.bincount(order.ravel(), mass.ravel(), minlength=values.size))
            # Binomial masses are rounded.
            assert (reached <= values + 1e-12).all()
            largest = max(largest, float((reached / values).max()))
    # Not so large that the test would be useless: at some u and q it is nearly used up.
    assert largest > 0.5


def test_p_value_is_smaller_with_more_hits_and_larger_with_more_on_the_other_side():
    table = _table(8, 8, 1.0, 0.0, 0.05, None)
    # Bounds on a supremum agree to three percent only, where they matter.
    assert (np.diff(table, axis=0) <= 0.03 * table[:-1] + 1e-9).all()
    assert (np.diff(table, axis=1) >= -0.03 * table[:, :-1] - 1e-9).all()


def test_p_value_grows_with_the_hypothesis():
    counts = TwoCounts(hits_p=90, trials_p=200, hits_q=20, trials_q=200)
    values = [
        p_value(counts, slope=slope, intercept=0.01, tuned_slope=2.0)
        for slope in (1.0, 2.0, 3.0, 4.0, 5.0)
    ]
    assert all(one <= 1.03 * other for one, other in itertools.pairwise(values))
    assert values[0] < 0.01 < values[-1]


def test_impossible_event_on_the_other_side():
    """Slope times zero: with intercept 0 and no hit of q the bound on q is all that counts."""
    counts = TwoCounts(hits_p=1000, trials_p=1000, hits_q=0, trials_q=1000)
    assert p_value(counts, slope=math.e, intercept=0.0) < 1e-3
    assert p_value(counts, slope=math.exp(10.0), intercept=0.0) > 0.5


def test_no_excess_is_no_evidence():
    counts = TwoCounts(hits_p=10, trials_p=100, hits_q=10, trials_q=100)
    assert p_value(counts, slope=1.0, intercept=0.0) == 1.0
    none = TwoCounts(hits_p=0, trials_p=10, hits_q=0, trials_q=10)
    assert p_value(none, slope=1.0, intercept=0.0) == 1.0


@pytest.mark.thorough
def test_large_counts_agree_with_the_normal_approximation():
    """Two and a half standard deviations: the score test has nearly the same p-value.

    To 25 percent: counts are skewed, confining q adds 0.00005, the bounds agree to 3 percent, and
    the p-value is the largest one over the confidence interval of q.
    """
    n, q = 20_000, 0.05
    p = math.e * q + 0.01
    spread = math.sqrt(p * (1 - p) / n + math.e**2 * q * (1 - q) / n)
    hits = round(n * (p + 2.5 * spread))
    counts = TwoCounts(hits_p=hits, trials_p=n, hits_q=round(n * q), trials_q=n)
    normal = 0.5 * math.erfc(2.5 / math.sqrt(2.0))
    found = p_value(counts, slope=math.e, intercept=0.01, level=0.01)
    assert found == pytest.approx(normal, rel=0.25)


@pytest.mark.parametrize(
    "wrong",
    [
        {"hits_p": 11, "trials_p": 10, "hits_q": 0, "trials_q": 1},
        {"hits_p": -1, "trials_p": 10, "hits_q": 0, "trials_q": 1},
        {"hits_p": 1, "trials_p": 0, "hits_q": 0, "trials_q": 1},
        {"hits_p": 1.5, "trials_p": 2, "hits_q": 0, "trials_q": 1},
    ],
)
def test_impossible_counts_raise(wrong):
    with pytest.raises(ValueError, match="Expected"):
        TwoCounts(**wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        {"slope": 0.0},
        {"slope": math.nan},
        {"intercept": -0.1},
        {"intercept": math.nan},
        {"level": 0.0},
        {"tuned_slope": -1.0},
    ],
)
def test_wrong_arguments_raise(wrong):
    counts = TwoCounts(hits_p=1, trials_p=2, hits_q=1, trials_q=2)
    with pytest.raises((ValueError, ArithmeticError), match="Expected"):
        p_value(counts, **{"slope": 1.0, "intercept": 0.0, **wrong})
