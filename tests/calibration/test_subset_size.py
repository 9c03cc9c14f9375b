"""The scan over subset sizes: exact on any function that the interval scores bound from below."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rdpkit
from rdpkit.calibration.parameters import with_value
from rdpkit.calibration.search import first_that_meets

HIGHEST = 60


@settings(max_examples=150)
@given(st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=HIGHEST, max_size=HIGHEST))
def test_the_first_and_the_last_of_any_pattern(pattern):
    """The interval's score is the smallest in it: no monotone help."""

    def score(low, high):
        return min(pattern[low - 1 : high])

    good = [t for t in range(1, HIGHEST + 1) if pattern[t - 1] <= 0.0]
    first = first_that_meets(score, lowest=1, highest=HIGHEST, smallest=True)
    last = first_that_meets(score, lowest=1, highest=HIGHEST, smallest=False)
    if not good:
        assert first.meets is None is last.meets
        return
    assert first.meets == good[0]
    assert first.misses == (good[0] - 1 if good[0] > 1 else None)
    assert last.meets == good[-1]
    assert last.misses == (good[-1] + 1 if good[-1] < HIGHEST else None)


def test_few_intervals_are_looked_at_where_the_score_is_smooth():
    asked = []

    def score(low, high):
        asked.append((low, high))
        return 4.0 * math.log(3000.5 / high)

    found = first_that_meets(score, lowest=1, highest=10**6, smallest=True)
    assert (found.meets, found.misses) == (3001, 3000)
    assert len(asked) < 60


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("adjacency", "target"),
    [("add_or_remove_one", 0.6), ("add_or_remove_one", 2.0), ("replace_one", 2.0)],
)
def test_against_every_value(adjacency, target):
    """A population of twenty: all sizes asked one by one."""
    event = rdpkit.Repeated(
        event=rdpkit.FixedSizeSampledGaussian(
            noise_std=0.4,
            record_norm=0.5,
            sample_size=1,
            population_size=20,
            release="mean",
        ),
        count=3,
    )
    ask = {"delta": 1e-3, "adjacency": adjacency, "bound": "best-rdp"}
    sizes = range(1, 21)
    epsilons = {
        size: rdpkit.epsilon(with_value(event, "event.sample_size", size), **ask).epsilon
        for size in sizes
    }
    good = [size for size in sizes if epsilons[size] <= target]
    for prefer, expected in (("smallest", good[0]), ("largest", good[-1])):
        found = rdpkit.calibrate(
            event, target_epsilon=target, parameter="sample_size", prefer=prefer, **ask
        )
        assert found.value == expected
        assert found.certified
    # Under add-or-remove-one nothing bounds a sample of everybody.
    assert math.isinf(epsilons[20]) == (adjacency == "add_or_remove_one")
