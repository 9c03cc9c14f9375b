import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rdpkit
from rdpkit.mechanisms.parts.marginals.rounds import (
    MeasuredCounts,
    RoundShares,
    checked_codes,
    measure_chosen,
    measure_one_way,
    measure_scores,
    one_way,
    pairs_of,
    rounds_event,
    two_way,
    weights,
)
from rdpkit.mechanisms.parts.marginals.table_model import (
    chosen_tables,
    nearest_probabilities,
    together,
)
from rdpkit.mechanisms.parts.noise import NoiseSource

DOMAIN = (3, 2, 4)


class _NoNoise:
    """Keeps the standard deviations, and adds nothing: what is left is what noise is added to."""

    def __init__(self):
        self.stds = []

    def add_normal(self, array, *, std):
        self.stds.append(std)


def _codes(count, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.integers(0, size, count) for size in DOMAIN])


def _released(codes):
    """The vectors of the three rounds in units in which each round has noise of std 1."""
    found = []
    noise = _NoNoise()
    singles = measure_one_way(codes, DOMAIN, std=1.0, noise=noise)
    found.append(np.concatenate([one.counts / one.std for one in singles]))
    expected = {pair: np.full((DOMAIN[pair[0]], DOMAIN[pair[1]]), 1.5) for pair in pairs_of(DOMAIN)}
    scores, each = measure_scores(codes, DOMAIN, expected, std=1.0, noise=noise)
    found.append(np.array(list(scores.values())) / each)
    chosen = {(0, 1): 0.3, (0, 2): 2.0, (1, 2): 0.9, (1,): 0.5}
    pairs = measure_chosen(codes, DOMAIN, chosen, std=1.0, noise=noise)
    found.append(np.concatenate([one.counts.ravel() / one.std for one in pairs.values()]))
    assert min(noise.stds) >= 1.0
    return found


@pytest.mark.parametrize("seed", [0, 1])
def test_no_record_moves_a_round_further_than_the_event_says(seed):
    """All records that there are, added to and put in the place of another one, in all rounds."""
    base = _codes(6, seed)
    before = _released(base)
    added = [
        _released(np.vstack([base, [record]]))
        for record in itertools.product(*(range(size) for size in DOMAIN))
    ]
    event = rounds_event(1.0, RoundShares())
    limits = [(part.record_norm, part.record_diameter) for part in event.events]
    for number, (norm, diameter) in enumerate(limits):
        moves = np.array([one[number] for one in added])
        furthest = np.linalg.norm(moves - before[number], axis=1).max()
        assert furthest <= norm
        apart = np.linalg.norm(moves[:, None] - moves[None], axis=2).max()
        assert apart <= (2.0 * norm if diameter is None else diameter)
        if number != 1:
            # Both are attained, so no smaller ones would do.
            assert furthest == pytest.approx(norm, rel=1e-9)
            assert apart == pytest.approx(diameter, rel=1e-9)


@given(
    std=st.floats(1e-3, 1e6),
    one=st.floats(0.01, 0.6),
    scores=st.floats(0.01, 0.3),
)
def test_three_rounds_cost_what_one_would(std, one, scores):
    stds = RoundShares(one_way=one, scores=scores).stds(std)
    assert math.fsum(s**-2 for s in stds) == pytest.approx(std**-2, rel=1e-12)


def test_the_account_is_that_of_one_gaussian():
    event = rounds_event(5.0, RoundShares())
    single = rdpkit.Gaussian(noise_std=5.0, record_norm=1.0)
    question = {"delta": 1e-6, "adjacency": "add_or_remove_one"}
    found = rdpkit.epsilon(event, **question).epsilon
    assert found == pytest.approx(rdpkit.epsilon(single, **question).epsilon, rel=1e-9)
    # Under replace-one distances of counts move by 2 where marginals move by sqrt(2).
    worst = math.sqrt(2 * 0.97 + 4 * 0.03)
    single = rdpkit.Gaussian(noise_std=5.0, record_norm=1.0, record_diameter=worst)
    question["adjacency"] = "replace_one"
    found = rdpkit.epsilon(event, **question).epsilon
    assert found == pytest.approx(rdpkit.epsilon(single, **question).epsilon, rel=1e-9)


@given(st.lists(st.integers(1, 10**7), min_size=1, max_size=300), st.floats(0.0, 1.0))
def test_squared_weights_never_add_up_to_more_than_one(cells, power):
    assert 1.0 - 1e-9 < math.fsum(weight**2 for weight in weights(cells, power)) <= 1.0


@pytest.mark.thorough
def test_noise_has_the_stated_size():
    codes = _codes(50)
    noise = NoiseSource.seeded(1)
    draws = [measure_one_way(codes, DOMAIN, std=2.0, noise=noise) for _ in range(2000)]
    exact = one_way(codes, DOMAIN)
    for j, counts in enumerate(exact):
        errors = np.array([draw[j].counts for draw in draws]) - counts
        # 4000 numbers or more: the relative error of their standard deviation is below 0.012.
        assert errors.std() == pytest.approx(draws[0][j].std, rel=0.05)


def test_counts_are_exact_and_codes_outside_are_clipped():
    codes, domain = checked_codes(np.array([[0, 5], [-3, 1], [2, 1]]), (3, 2))
    np.testing.assert_array_equal(codes, [[0, 1], [0, 1], [2, 1]])
    np.testing.assert_array_equal(two_way(codes, domain, (0, 1)), [[0, 2], [0, 0], [0, 1]])
    assert pairs_of((3000, 3000, 2)) == [(0, 2), (1, 2)]


@pytest.mark.parametrize(
    ("codes", "domain", "message"),
    [
        (np.zeros((3, 2)), (2, 2), "integers"),
        (np.zeros((3, 2), dtype=int), (2,), "shape"),
        (np.zeros((3, 1), dtype=int), (0,), "domain"),
        (np.zeros((3, 0), dtype=int), (), "at least one"),
    ],
)
def test_codes_are_refused_by_type_and_shape(codes, domain, message):
    with pytest.raises(ValueError, match=message):
        checked_codes(codes, domain)


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=30))
def test_nearest_probabilities_are_probabilities_and_nearest(values):
    given_values = np.array(values)
    found = nearest_probabilities(given_values)
    assert found.min() >= 0.0
    assert found.sum() == pytest.approx(1.0, rel=1e-12)
    # A projection onto a convex set: every other point of it is 90 degrees or more away.
    corners = np.eye(found.size)
    assert ((corners - found) @ (given_values - found)).max() <= 1e-9


def test_dependent_pairs_are_chosen_and_independent_ones_are_not():
    expected = {pair: np.full((5, 5), 400.0) for pair in [(0, 1), (0, 2), (1, 2)]}
    scores = {(0, 1): 4000.0, (0, 2): 70.0, (1, 2): 60.0}
    singles = [MeasuredCounts(np.full(5, 2000.0), 100.0)] * 3
    given_tables = {"scores": scores, "expected": expected, "singles": singles, "records": 1e4}
    given_tables["of_scores"] = 10.0
    found = chosen_tables(**given_tables, std=100.0)
    assert [columns for columns in found if len(columns) == 2] == [(0, 1)]
    assert math.fsum(weight**2 for weight in found.values()) == pytest.approx(1.0)
    # No pair is worth a measurement whose noise is larger than all counts: columns are.
    assert set(chosen_tables(**given_tables, std=1e7)) == {(0,), (1,), (2,)}
    # Nor is a dependence that the noise of its score could have made.
    given_tables["of_scores"] = 4000.0
    assert set(chosen_tables(**given_tables, std=3000.0)) == {(0,), (1,), (2,)}


def test_two_measurements_are_put_together_by_their_noise():
    found = together(MeasuredCounts(np.array([10.0]), 1.0), MeasuredCounts(np.array([20.0]), 2.0))
    assert found.counts[0] == pytest.approx(12.0)
    assert found.std == pytest.approx(0.8**0.5)


@pytest.mark.parametrize("given_shares", [{"one_way": 0.0}, {"scores": 1.0}, {"one_way": 0.99}])
def test_shares_that_are_refused(given_shares):
    with pytest.raises(ValueError, match=r"one_way|scores"):
        RoundShares(**given_shares)
