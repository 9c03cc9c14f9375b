"""Who joins an update, and the score of a coordinate."""

import numpy as np
import pytest

from rdpkit.verification.training.checks.canaries import Joining
from rdpkit.verification.training.events import FULL, POISSON, SHUFFLE, Told


def _joining(sampling, rate, *, signed=False, effects=(2.0, 0.5)):
    account = Told(sampling=sampling, noise_multiplier=1.0, rate=rate, updates=10)
    return Joining(account, signed=signed, effects=np.array(effects), rng=np.random.default_rng(1))


def test_all_join_full_batches():
    assert _joining(FULL, 1.0).draw(5).all()


def test_poisson_rate():
    joining = _joining(POISSON, 0.1)
    joined = sum(int(joining.draw(1000).sum()) for _ in range(20))
    assert abs(joined - 2000) < 6 * np.sqrt(20_000 * 0.1 * 0.9)


def test_shuffled_canaries_join_once_in_an_epoch():
    joining = _joining(SHUFFLE, 0.25)
    for _ in range(2):
        total = np.zeros(40, dtype=int)
        for _ in range(4):
            total += joining.draw(40)
            joining.seen(np.zeros(2))
        assert np.array_equal(total, np.ones(40))


def _density(values, mean):
    return np.exp(-0.5 * (values - mean) ** 2)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(("sampling", "rate"), [(FULL, 1.0), (POISSON, 0.3)])
def test_score_is_the_likelihood_ratio(sampling, rate, signed):
    joining = _joining(sampling, rate, signed=signed)
    effects = np.array([2.0, 0.5])
    seen = np.array([[0.3, -1.0], [2.2, 0.4], [-0.7, 1.5]])
    expected = np.zeros(2)
    for row in seen:
        joining.seen(row)
        inside = (1 - rate) * _density(row, 0.0) + rate * _density(row, effects)
        outside = _density(row, 0.0)
        if signed:
            outside = (1 - rate) * outside + rate * _density(row, -effects)
        expected += np.log(inside / outside)
    np.testing.assert_allclose(joining.scores(), expected, rtol=1e-12)


def test_score_of_an_epoch_that_is_not_over():
    joining = _joining(SHUFFLE, 0.25)
    row = np.array([1.0, 0.2])
    joining.seen(row)
    ratio = _density(row, np.array([2.0, 0.5])) / _density(row, 0.0)
    np.testing.assert_allclose(
        joining.scores(), np.log(0.75 + 0.25 * ratio), rtol=1e-12, atol=1e-12
    )
