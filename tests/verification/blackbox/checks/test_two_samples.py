"""Two samples of outputs: differences that are seen, and how often there is a false alarm."""

import numpy as np
import pytest

from rdpkit.verification.blackbox.checks.two_samples import two_sample_p_value


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
