"""Bounds on a probability at all times."""

import numpy as np
import pytest

from rdpkit.verification.blackbox.betting.confidence_sequence import lower_bound, upper_bound


def test_the_bounds_enclose_the_share_and_tighten():
    widths = []
    for trials in (10, 1000, 100_000):
        low = float(lower_bound([0.3 * trials], trials, 0.01)[0])
        high = float(upper_bound([0.3 * trials], trials, 0.01)[0])
        assert 0.0 <= low < 0.3 < high <= 1.0
        widths.append(high - low)
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 0.02


def test_ends():
    assert float(lower_bound([0.0], 100, 0.05)[0]) == 0.0
    assert float(upper_bound([100.0], 100, 0.05)[0]) == 1.0
    assert float(lower_bound([0.0], 0, 0.05)[0]) == 0.0
    # 100 hits of 100: Clopper-Pearson's bound is larger, because it holds at one time only.
    assert 0.9 < float(lower_bound([100.0], 100, 0.05)[0]) < 0.05 ** (1 / 100)


@pytest.mark.parametrize("probability", [0.01, 0.3, 0.9])
def test_they_hold_at_all_times_together(probability):
    # 400 walks of 1,000 steps; each bound fails with probability at most 0.05. More than 40 of 400
    # failures have a probability below 1e-4.
    rng = np.random.default_rng(1)
    hits = np.cumsum(rng.random((400, 1000)) < probability, axis=1).astype(float)
    looks = np.unique(np.geomspace(1, 1000, 40).astype(int))
    below = np.zeros(400, dtype=bool)
    above = np.zeros(400, dtype=bool)
    for n in looks:
        below |= lower_bound(hits[:, n - 1], n, 0.05) > probability
        above |= upper_bound(hits[:, n - 1], n, 0.05) < probability
    assert below.sum() <= 40
    assert above.sum() <= 40


@pytest.mark.parametrize(
    ("hits", "trials", "failure", "message"),
    [
        ([3.0], 2, 0.1, "hits"),
        ([-1.0], 2, 0.1, "hits"),
        ([1.0], -2, 0.1, "trials"),
        ([1.0], 2, 0.0, "failure"),
    ],
)
def test_bad_arguments(hits, trials, failure, message):
    with pytest.raises(ValueError, match=message):
        lower_bound(hits, trials, failure)
