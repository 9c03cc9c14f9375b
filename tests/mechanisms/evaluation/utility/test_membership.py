"""The membership test: it refutes what leaks, and what is private stays below its epsilon."""

import math

import numpy as np
import pytest

import rdpkit
from rdpkit import Adjacency
from rdpkit.mechanisms.evaluation.utility.membership import membership_test, proven_epsilon
from rdpkit.mechanisms.evaluation.utility.samples import of_arrays


def records(values):
    return of_arrays(values, np.zeros(len(values), np.int64), image=None)


def guessed(*arrays, **given):
    return membership_test(*map(records, arrays), **given)


def guarantee(epsilon=1.0, adjacency="replace_one"):
    # A Gaussian of about this epsilon, which none of the releases below keeps or breaks by itself.
    found = rdpkit.calibrate(
        rdpkit.Gaussian(noise_std=1.0, record_norm=1.0),
        parameter="noise_std",
        target_epsilon=epsilon,
        delta=1e-6,
        adjacency=adjacency,
    )
    return found.guarantee


def test_a_release_of_the_records_themselves_is_refuted():
    rng = np.random.default_rng(0)
    members, others = rng.normal(size=(400, 5)), rng.normal(size=(300, 5))
    made = members + 1e-3 * rng.normal(size=members.shape)
    found = guessed(made, members, others, guarantee=guarantee(), rng=rng)
    assert found.pairs == 300
    assert found.refuted
    assert found.lower == found.most > 3.0
    assert found.right_share == 1.0
    # All attacks share the probability of being wrong.
    share = (1.0 - found.confidence) / len(found.attacks)
    question = {"delta": 1e-6, "adjacency": Adjacency.REPLACE_ONE, "failure": share}
    for one in found.attacks:
        assert one.lower == proven_epsilon(300, one.guesses, one.right, **question)


@pytest.mark.parametrize("adjacency", ["replace_one", "add_or_remove_one"])
def test_a_release_that_knows_nothing_is_not(adjacency):
    rng = np.random.default_rng(1)
    made, members, others = (rng.normal(size=(300, 3)) for _ in range(3))
    found = guessed(made, members, others, guarantee=guarantee(0.1, adjacency), rng=rng)
    assert not found.refuted
    assert found.lower < 0.1
    assert found.adjacency == adjacency


def test_pairs_agree_in_a_class():
    rng = np.random.default_rng(4)
    values = rng.normal(size=(90, 2))
    members = of_arrays(values, np.repeat([0, 1, 2], 30), image=None)
    others = of_arrays(values + 9.0, np.repeat([0, 1, 3], [20, 40, 30]), image=None)
    found = membership_test(members, members, others, guarantee=None, rng=rng, within="label")
    # Twenty of class 0 and thirty of class 1; classes 2 and 3 are on one side alone.
    assert found.pairs == 50
    assert found.right_share == 1.0
    alone = of_arrays(values, np.full(90, 7), image=None)
    with pytest.raises(ValueError, match="of the same label in the holdout, got none"):
        membership_test(members, members, alone, guarantee=None, rng=rng, within="label")


def test_equal_records_are_guessed_by_a_coin():
    rng = np.random.default_rng(2)
    found = guessed(*[np.ones((500, 2))] * 3, guarantee=None, rng=rng)
    # Five standard deviations of 500 coins.
    assert abs(found.right_share - 0.5) < 0.12
    assert found.proven is None
    assert not found.refuted


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_randomised_response_is_rarely_above_its_epsilon(epsilon):
    rng = np.random.default_rng(3)
    right = rng.binomial(200, 1.0 / (1.0 + math.exp(-epsilon)), 2_000)
    question = {"delta": 0.0, "adjacency": Adjacency.REPLACE_ONE, "failure": 0.05}
    bounds = {n: proven_epsilon(200, 200, n, **question) for n in set(right.tolist())}
    wrong = np.mean([bounds[count] > epsilon for count in right.tolist()])
    # 0.05 and four standard deviations of 2,000 runs.
    assert wrong < 0.05 + 4 * math.sqrt(0.05 * 0.95 / 2_000)
    # It is no empty bound, either.
    assert np.median(list(map(bounds.get, right.tolist()))) > 0.3 * epsilon


def test_a_replacement_is_two_steps_under_other_adjacencies():
    replaced, removed = (
        proven_epsilon(500, 500, 450, delta=0.0, adjacency=one, failure=0.01)
        for one in (Adjacency.REPLACE_ONE, Adjacency.ADD_OR_REMOVE_ONE)
    )
    assert removed == pytest.approx(replaced / 2, abs=1e-8)
    with_delta = proven_epsilon(
        500, 500, 450, delta=1e-4, adjacency=Adjacency.ADD_OR_REMOVE_ONE, failure=0.01
    )
    assert 0.0 < with_delta < removed
    nothing = {"delta": 0.5, "adjacency": Adjacency.ADD_OR_REMOVE_ONE, "failure": 0.01}
    assert proven_epsilon(500, 500, 500, **nothing) == 0.0
