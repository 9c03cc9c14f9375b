"""A decorated primitive is private as a whole, and what it declares is held against it."""

from __future__ import annotations

import numpy as np
import pytest

from rdpkit.verification import primitive, verify_by_replay
from rdpkit.verification.replay.findings import ReplayVerdict

CLAIM = {"adjacency": "add_or_remove_one", "epsilon": 1.0, "delta": 0.0, "seed": 3}
SPACE = {"columns": {"x": [0.0, 1.0]}}


@primitive(value="total", sensitivity="bound", epsilon="epsilon")
def noisy(total, bound, epsilon, rng):
    # Uniform numbers, of which nobody sees what they do.
    drawn = float(rng.uniform(-0.5, 0.5))
    return total - np.sign(drawn) * np.log1p(-2.0 * abs(drawn)) * bound / epsilon


def total(data):
    return np.clip(np.nan_to_num(data.features[:, 0]), 0.0, 1.0).sum()


@pytest.mark.thorough
def test_a_correct_use_is_seen_to_spend_what_is_claimed():
    result = verify_by_replay(lambda data, rng: noisy(total(data), 1.0, 1.0, rng), **CLAIM, **SPACE)
    assert result.verdict is ReplayVerdict.NOTHING_FOUND
    assert result.most_spent.epsilon == pytest.approx(1.0)
    assert not result.unseen


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("release", "kind"),
    [
        (lambda data, rng: noisy(3.0 * total(data), 1.0, 1.0, rng), "sensitivity"),
        (lambda data, rng: [noisy(total(data), 1.0, 1.0, rng) for _ in "12"], "spent"),
        (lambda data, rng: noisy(total(data), 1.0, 1.0 / (1 + len(data)), rng), "parameter"),
    ],
)
def test_a_wrong_use_is_named(release, kind):
    result = verify_by_replay(release, **CLAIM, **SPACE)
    assert kind in {one.kind.value for one in result.findings[0].differences}


def test_without_a_replay_it_is_the_function():
    assert noisy(1.0, 1.0, 1e12, np.random.default_rng(1)) == pytest.approx(1.0)
    with pytest.raises(ValueError, match=r"to name parameters of f \(x\), got 'y'"):
        primitive(value="y")(lambda_named_f())


def lambda_named_f():
    def f(x):
        return x

    return f
