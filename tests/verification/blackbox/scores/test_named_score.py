"""How clearly scores separate, alone and beyond another score."""

import numpy as np
import pytest

from rdpkit.verification.blackbox.scores.named_score import clearness, clearness_beyond


def noise(seed, count=2000):
    return np.random.default_rng(seed).normal(size=count)


def test_chance_is_not_clear():
    found = [clearness(noise(2 * seed), noise(2 * seed + 1)) for seed in range(50)]
    assert np.mean(found) < 1.5
    assert np.mean(np.array(found) > 1.5) < 0.2


def test_a_shift_is_as_clear_as_it_is_in_standard_errors():
    # The event {score > 0.25} has the probabilities 0.6 and 0.4: 0.2 / sqrt(0.5 / 2000) = 12.6.
    found = clearness(noise(1) + 0.5, noise(2))
    assert found == pytest.approx(12.6 - 0.5 * np.sqrt(2.0 * np.log(1001.0)), abs=2.0)


def test_rare_events_count_as_likelihoods_do():
    p, q = np.zeros(2000), np.zeros(2000)
    p[:10] = 1.0
    assert clearness(p, q) == pytest.approx(
        np.sqrt(20.0 * np.log(2.0)) - 0.5 * np.sqrt(2.0 * np.log(3.0)), abs=0.02
    )
    assert clearness(p, p[::-1]) == pytest.approx(-0.5 * np.sqrt(2.0 * np.log(3.0)))
    assert clearness(np.ones(5), np.ones(5)) == -np.inf


def test_what_only_follows_another_score_is_nothing_beyond_it():
    p, q = noise(1, 4000) + 0.5, noise(2, 4000)
    worse = [side + noise(seed, 4000) for side, seed in ((p, 3), (q, 4))]
    assert clearness(*worse) > 5.0
    assert clearness_beyond(*worse, p, q) < 1.5
    # The better score still says something beyond the worse one.
    assert clearness_beyond(p, q, *worse) > 5.0


def test_an_independent_leak_is_seen_beyond_a_shift():
    p, q = noise(1) + 0.5, noise(2)
    other = [noise(3) * 1.3, noise(4)]
    assert clearness_beyond(np.abs(other[0]), np.abs(other[1]), p, q) > 2.0
    rare = np.zeros(2000), np.zeros(2000)
    rare[0][:20] = 1.0
    assert clearness_beyond(*rare, p, q) > 3.0


def test_a_score_that_tells_nothing_apart_is_known():
    p, q = noise(1) + 0.5, noise(2)
    alone, beyond = clearness(p, q), clearness_beyond(p, q, np.zeros(2000), np.zeros(2000))
    assert beyond == pytest.approx(alone, abs=0.5)
