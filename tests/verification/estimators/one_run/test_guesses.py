import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from rdpkit.verification.estimators.base import DiagnosticKind
from rdpkit.verification.estimators.one_run.guesses import (
    Guesses,
    one_run_audit,
    one_run_epsilon,
    one_run_p_value,
)


def _independent(m, r, v, accuracy, delta):
    """The theorem's right side in rational arithmetic."""
    q = Fraction(accuracy)
    mass = [math.comb(r, k) * q**k * (1 - q) ** (r - k) for k in range(r + 1)]
    tail = sum(mass[v:], Fraction(0))
    steepest = max(
        (sum(mass[v - i : v], Fraction(0)) / i for i in range(1, v + 1)), default=Fraction(0)
    )
    return min(1.0, float(tail + 2 * m * Fraction(delta) * steepest))


@pytest.mark.parametrize(("m", "r", "v"), [(1, 1, 1), (10, 10, 8), (40, 25, 20), (60, 60, 31)])
@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_p_value_is_the_theorems(m, r, v, delta):
    """At epsilon = log 3 randomised response is right with probability 3/4."""
    found = one_run_p_value(
        Guesses(canaries=m, guesses=r, correct=v), epsilon=math.log(3.0), delta=delta
    )
    assert found == pytest.approx(_independent(m, r, v, Fraction(3, 4), delta), rel=1e-12)


@pytest.mark.parametrize(
    ("found", "delta", "published"),
    [
        (Guesses(canaries=1000, guesses=100, correct=75), 1e-4, 0.673),
        (Guesses(canaries=100_000, guesses=1510, correct=1439), 1e-5, 2.675),
    ],
)
def test_published_bounds(found, delta, published):
    """Steinke, Nasr and Jagielski 2023 (arXiv 2305.08846v1), Appendix D, and section 7, Figure 11.

    They are printed with three digits after the point, the second one rounded down.
    """
    assert one_run_epsilon(found, delta=delta, confidence=0.95) == pytest.approx(
        published, abs=1e-3
    )


@pytest.mark.parametrize("delta", [1e-3, 0.02, 0.1])
@pytest.mark.parametrize("epsilon", [0.0, 1.0])
@pytest.mark.parametrize("together", [False, True])
def test_p_value_is_valid_for_mechanisms_that_use_their_delta(delta, epsilon, together):
    """Each bit is revealed with probability delta, each on its own or all at once.

    Both are (epsilon, delta)-DP; the distribution of correct guesses is known.
    """
    m = 20
    accuracy = 1.0 / (1.0 + math.exp(-epsilon))
    if together:
        mass = (1.0 - delta) * binom.pmf(np.arange(m + 1), m, accuracy)
        mass[m] += delta
    else:
        mass = binom.pmf(np.arange(m + 1), m, delta + (1.0 - delta) * accuracy)
    for v in range(m + 1):
        found = one_run_p_value(
            Guesses(canaries=m, guesses=m, correct=v), epsilon=epsilon, delta=delta
        )
        assert mass[v:].sum() <= found + 1e-12


def test_tiny_p_values_keep_their_digits():
    found = one_run_p_value(
        Guesses(canaries=500, guesses=500, correct=500), epsilon=math.log(3.0), delta=0.0
    )
    assert found == pytest.approx(0.75**500, rel=1e-9)


def test_audit_counts_as_it_says():
    scores = np.array([5.0, 4.0, 3.0, 2.0, 1.0, 0.0])
    included = np.array([True, True, False, True, False, True])
    found = one_run_audit(scores, included, guess_in=2, guess_out=2, delta=0.0, confidence=0.5)
    # Right: 5 and 4 in, 1 out; wrong: 0 out.
    wanted = one_run_epsilon(Guesses(canaries=6, guesses=4, correct=3), delta=0.0, confidence=0.5)
    assert found.epsilon == wanted > 0.0
    assert found.samples == (4, 2)


def test_noise_shows_nothing_and_leaks_show_much():
    rng = np.random.default_rng(1)
    coins = rng.random(2000) < 0.5
    noise = one_run_audit(
        rng.random(2000), coins, guess_in=500, guess_out=500, delta=1e-5, confidence=0.999
    )
    assert noise.epsilon == 0.0
    assert noise.diagnostics[0].kind is DiagnosticKind.NO_SEPARATION
    leak = one_run_audit(
        coins * 1.0, coins, guess_in=500, guess_out=500, delta=1e-5, confidence=0.999
    )
    assert leak.epsilon > 3.0
    few = one_run_audit(
        coins[:3] * 1.0, coins[:3], guess_in=1, guess_out=1, delta=1e-5, confidence=0.999
    )
    assert few.diagnostics[0].kind is DiagnosticKind.TOO_FEW_SAMPLES


def test_nan_wrong_shapes_and_wrong_counts_raise():
    good = {"guess_in": 1, "guess_out": 1, "delta": 0.0, "confidence": 0.9}
    with pytest.raises(ArithmeticError, match="nan"):
        one_run_audit([math.nan, 0.0], [True, False], **good)
    for included in ([True], [1, 0], [[True, False]]):
        with pytest.raises(ValueError, match="included"):
            one_run_audit([1.0, 0.0], included, **good)
    with pytest.raises(ValueError, match="guess_out"):
        one_run_audit([1.0, 0.0], [True, False], **{**good, "guess_out": 2})
    for wrong in ((0, 0, 0), (2, 3, 0), (3, 2, 3), (3, 2, -1)):
        with pytest.raises(ValueError, match="Expected"):
            Guesses(canaries=wrong[0], guesses=wrong[1], correct=wrong[2])
    found = Guesses(canaries=3, guesses=2, correct=1)
    for epsilon, delta in ((-1.0, 0.0), (math.nan, 0.0), (1.0, 1.1), (701.0, 0.0)):
        with pytest.raises((ValueError, ArithmeticError), match="Expected"):
            one_run_p_value(found, epsilon=epsilon, delta=delta)
    with pytest.raises(ValueError, match="delta"):
        one_run_epsilon(found, delta=1.0, confidence=0.9)
