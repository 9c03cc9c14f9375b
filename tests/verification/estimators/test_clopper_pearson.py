import numpy as np
import pytest
from scipy.stats import binom

from rdpkit.verification.estimators.clopper_pearson import clopper_pearson, lower_bound, upper_bound


@pytest.mark.parametrize("trials", [1, 2, 7, 25, 80])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
def test_interval_covers_for_every_probability(trials, confidence):
    """Exact: all outcomes are enumerated, weighted with their binomial probabilities."""
    counts = np.arange(trials + 1)
    found = [clopper_pearson(successes=x, trials=trials, confidence=confidence) for x in counts]
    for p in np.linspace(0.0, 1.0, 201):
        mass = binom.pmf(counts, trials, p)
        below = sum(m for m, interval in zip(mass, found) if interval.lower > p)
        above = sum(m for m, interval in zip(mass, found) if interval.upper < p)
        # Rounding of the masses and of the ends.
        assert below <= 0.5 * (1.0 - confidence) + 1e-12
        assert above <= 0.5 * (1.0 - confidence) + 1e-12


@pytest.mark.parametrize(("x", "n", "failure"), [(3, 20, 0.05), (500, 10_000, 1e-6), (1, 5, 0.3)])
def test_ends_are_where_the_tail_is_the_failure(x, n, failure):
    """The defining equations, by another special function of SciPy's."""
    low, high = float(lower_bound(x, n, failure)), float(upper_bound(x, n, failure))
    # Ends carry some 1e-12 of relative rounding, and tails vary with them about sqrt(n) as fast.
    assert binom.sf(x - 1, n, low) == pytest.approx(failure, rel=1e-9)
    assert binom.cdf(x, n, high) == pytest.approx(failure, rel=1e-9)


def test_no_and_all_successes():
    assert float(lower_bound(0, 10, 0.05)) == 0.0
    assert float(upper_bound(10, 10, 0.05)) == 1.0
    # (1 - u)^10 = 0.05, in closed form.
    assert float(upper_bound(0, 10, 0.05)) == pytest.approx(1.0 - 0.05**0.1, rel=1e-12)
    assert float(lower_bound(10, 10, 0.05)) == pytest.approx(0.05**0.1, rel=1e-12)


def test_small_failure_keeps_its_digits():
    """Closed form with no success: u = 1 - f^(1/n)."""
    assert float(upper_bound(0, 1000, 1e-30)) == pytest.approx(
        -np.expm1(np.log(1e-30) / 1000), rel=1e-11
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"successes": 3, "trials": 2},
        {"successes": -1, "trials": 2},
        {"successes": 0, "trials": 0},
        {"successes": 0.5, "trials": 2},
        {"successes": 1, "trials": 2, "confidence": 1.0},
        {"successes": 1, "trials": 2, "confidence": float("nan")},
    ],
)
def test_wrong_arguments_raise(wrong):
    with pytest.raises((ValueError, ArithmeticError), match="Expected"):
        clopper_pearson(**{"confidence": 0.9, **wrong})
