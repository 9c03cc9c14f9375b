import math
import pickle
import sys

import numpy as np
import pytest

from rdpkit.verification.estimators.learned_score import learned_score

pytest.importorskip("sklearn")


def _area(one, other):
    """The probability that a score from P is above one from Q, ties counted half."""
    ordered = np.sort(other)
    left = np.searchsorted(ordered, one, side="left")
    right = np.searchsorted(ordered, one, side="right")
    return float((left + right).mean() / (2.0 * other.size))


def test_logistic_score_is_the_log_likelihood_ratio_of_gaussians():
    """log p/q of N(mu, 1) and N(0, 1) in 3 dimensions is linear in the output."""
    rng = np.random.default_rng(1)
    mean = np.array([1.0, -0.5, 0.0])
    p, q = rng.normal(mean, 1.0, (5000, 3)), rng.normal(0.0, 1.0, (5000, 3))
    score = learned_score(p, q, model="logistic", rng=rng)
    x = rng.normal(0.0, 1.0, (2000, 3))
    truth = x @ mean - 0.5 * mean @ mean
    assert np.corrcoef(score(x), truth)[0, 1] > 0.99


@pytest.mark.parametrize("model", ["logistic", "boosting"])
def test_a_difference_in_spread_is_found(model):
    rng = np.random.default_rng(2)
    p, q = rng.normal(0.0, 2.0, (3000, 2)), rng.normal(0.0, 1.0, (3000, 2))
    score = learned_score(p[:1500], q[:1500], model=model, rng=rng)
    assert _area(score(p[1500:]), score(q[1500:])) > 0.75


def test_boosting_finds_what_no_quadratic_shows():
    """Two outputs: their sum has a fractional part near 0 under P only."""
    rng = np.random.default_rng(3)

    def draw(n, own):
        x = rng.random((n, 1)) * 3.0
        return (
            np.where(rng.random((n, 1)) < 0.5, np.floor(x) + 0.1 * rng.random((n, 1)), x)
            if own
            else x
        )

    score = learned_score(draw(3000, True), draw(3000, False), model="boosting", rng=rng)
    assert _area(score(draw(3000, True)), score(draw(3000, False))) > 0.65


@pytest.mark.parametrize("model", ["logistic", "boosting"])
def test_equal_distributions_are_not_told_apart(model):
    rng = np.random.default_rng(4)
    x = [rng.normal(size=(1000, 2)) for _ in range(4)]
    score = learned_score(x[0], x[1], model=model, rng=rng)
    # Five standard deviations of an area from 1000 a side.
    assert _area(score(x[2]), score(x[3])) == pytest.approx(0.5, abs=0.065)


@pytest.mark.parametrize("model", ["logistic", "boosting"])
def test_infinite_constant_and_huge_columns_are_scored(model):
    rng = np.random.default_rng(5)
    p, q = rng.normal(1.0, 1.0, (200, 4)), rng.normal(0.0, 1.0, (200, 4))
    for rows in (p, q):
        rows[:, 1] = 3.0
        rows[:3, 2] = math.inf
        rows[:, 3] *= 1e300
    score = learned_score(p, q, model=model, rng=rng)
    assert np.isfinite(score(p)).all()
    assert _area(score(p), score(q)) > 0.6


@pytest.mark.parametrize("model", ["logistic", "boosting"])
def test_same_generator_same_score_and_it_goes_to_workers(model):
    rng = np.random.default_rng(6)
    p, q = rng.normal(0.5, 1.0, (300, 15)), rng.normal(0.0, 1.0, (300, 15))
    one = learned_score(p, q, model=model, rng=np.random.default_rng(7))
    other = learned_score(p, q, model=model, rng=np.random.default_rng(7))
    assert (one(p) == other(p)).all()
    # What joblib does; nothing is loaded that was not dumped here.
    assert (pickle.loads(pickle.dumps(one))(p) == one(p)).all()


def test_nan_wrong_shapes_and_unknown_models_raise():
    rng = np.random.default_rng(8)
    good = rng.normal(size=(30, 2))
    bad = good.copy()
    bad[3, 1] = math.nan
    with pytest.raises(ArithmeticError, match="nan"):
        learned_score(bad, good, model="logistic", rng=rng)
    with pytest.raises(ValueError, match="q_outputs"):
        learned_score(good, good[:, :1], model="logistic", rng=rng)
    with pytest.raises(ValueError, match="at least 20"):
        learned_score(good[:5], good, model="logistic", rng=rng)
    with pytest.raises(ValueError, match="model"):
        learned_score(good, good, model="forest", rng=rng)
    score = learned_score(good, good + 1.0, model="logistic", rng=rng)
    with pytest.raises(ArithmeticError, match="nan"):
        score(bad)
    with pytest.raises(ValueError, match="2 columns"):
        score(good[:, :1])


def test_without_scikit_learn_the_error_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    rng = np.random.default_rng(9)
    with pytest.raises(ImportError, match="scikit-learn"):
        learned_score(rng.random((20, 1)), rng.random((20, 1)), model="boosting", rng=rng)
