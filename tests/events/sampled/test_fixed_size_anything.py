"""Samples of any noisy sum: what is attained, with Laplace noise on the line."""

import itertools
import math

import numpy as np
import pytest

import rdpkit
from rdpkit import Adjacency
from tests.events import unit

ADDED, REPLACED, ZEROED = Adjacency
LAPLACE = rdpkit.Laplace(noise_scale=0.5, record_norm=0.5)
TEN_OF_A_HUNDRED = rdpkit.FixedSizeSampled(event=LAPLACE, sample_size=10, population_size=100)


def fixed_size(records, size):
    """Sums of all samples, which are equally probable."""
    sums = [sum(sample) for sample in itertools.combinations(records, size)]
    return [(one, 1.0 / len(sums)) for one in sums]


def divergence(first, second, scale, epsilon):
    """The hockey stick of two mixtures of Laplace noise, from cells that begin at every centre.

    Between two centres densities are c e^(x/b) + d e^(-x/b), so that cells are integrated exactly;
    only one with a change of sign inside says less than there is, by far less than a cell's mass.
    """
    centres = sorted({c for c, _ in first + second})
    grid = np.linspace(centres[0] - 40 * scale, centres[-1] + 40 * scale, 20_001)
    edges = np.unique(np.concatenate([grid, centres]))

    def masses(law):
        total = np.zeros(edges.size)
        for centre, weight in law:
            x = (edges - centre) / scale
            near = 0.5 * np.exp(-np.abs(x))
            total += weight * np.where(x < 0, near, 1.0 - near)
        return np.diff(total)

    return float(np.maximum(masses(first) - math.exp(epsilon) * masses(second), 0.0).sum())


def upper(event, adjacency, epsilon):
    return rdpkit.delta(event, epsilon=epsilon, adjacency=adjacency).delta


@pytest.mark.parametrize("adjacency", [ADDED, REPLACED])
@pytest.mark.parametrize("epsilon", [0.0, 0.2, 0.45])
def test_others_on_the_other_side_attain_it(adjacency, epsilon):
    event = rdpkit.FixedSizeSampled(event=LAPLACE, sample_size=2, population_size=5)
    rest = [-0.5] * 4
    second = fixed_size(rest if adjacency is ADDED else [-0.5, *rest], 2)
    found = divergence(fixed_size([0.5, *rest], 2), second, 0.5, epsilon)
    assert found == pytest.approx(upper(event, adjacency, epsilon), rel=1e-3)


@pytest.mark.parametrize("adjacency", [ADDED, REPLACED, ZEROED])
def test_pure_privacy_is_that_of_balle_barthe_and_gaboardi(adjacency):
    """Without replacement it is log(1 + m/n (e^epsilon - 1)), with the epsilon of a swap."""
    found = rdpkit.epsilon(TEN_OF_A_HUNDRED, delta=0.0, adjacency=adjacency).epsilon
    assert found == pytest.approx(math.log1p(0.1 * math.expm1(2.0)), rel=1e-8)


def test_no_more_is_lost_than_two_steps_through_a_sample_without_the_record():
    """With a replaced record one data set gains and the other one loses."""
    event = rdpkit.PoissonSampled(event=LAPLACE, sampling_probability=0.1)
    found = rdpkit.epsilon(event, delta=0.0, adjacency=REPLACED).epsilon
    largest = math.log1p(0.1 * math.expm1(1.0)) - math.log1p(0.1 * math.expm1(-1.0))
    assert largest <= found <= largest * (1 + 1e-8)


@pytest.mark.parametrize("event", [rdpkit.Exponential(epsilon=1.0)], ids=["scores"])
def test_scores_are_sampled_where_a_swap_is_what_they_state(event):
    """A score that moves by s if a record comes may move by 2 s if one is swapped."""
    sample = rdpkit.FixedSizeSampled(event=event, sample_size=10, population_size=100)
    found = rdpkit.epsilon(sample, delta=0.0, adjacency=REPLACED).epsilon
    assert found == pytest.approx(math.log1p(0.1 * math.expm1(1.0)), rel=1e-9)
    for adjacency in (ADDED, ZEROED):
        whole = rdpkit.epsilon(event, delta=1e-6, adjacency=adjacency).epsilon
        found = rdpkit.epsilon(sample, delta=1e-6, adjacency=adjacency).epsilon
        assert found >= whole * (1 - 1e-9)


def test_the_special_record_far_from_all_others():
    laplace = unit.laplace(1.0, record_diameter=0.5)
    event = rdpkit.FixedSizeSampled(event=laplace, sample_size=2, population_size=4)
    found = rdpkit.epsilon(event, delta=1e-6, adjacency=ZEROED).epsilon
    assert found >= rdpkit.epsilon(laplace, delta=1e-6, adjacency=ZEROED).epsilon * (1 - 1e-3)


def test_the_order_of_a_sample_is_assumed_to_tell_nothing():
    """In the order of the data set, two of three answers would lose 2.898 instead of 2.565."""
    answers = rdpkit.RandomizedResponse(noise_parameter=0.1, num_buckets=2)
    event = rdpkit.FixedSizeSampled(event=answers, sample_size=2, population_size=3)
    assert any("an order that is drawn uniformly" in one for one in event.assumptions())
    guarantee = rdpkit.epsilon(event, delta=0.0, adjacency="replace_one")

    def outputs(records, ordered):
        found = dict.fromkeys(itertools.product((0, 1), repeat=2), 0.0)
        drawn = itertools.combinations if ordered else itertools.permutations
        samples = list(drawn(records, 2))
        for sample, answer in itertools.product(samples, found):
            kept = [0.95 if a == b else 0.05 for a, b in zip(sample, answer, strict=True)]
            found[answer] += math.prod(kept) / len(samples)
        return np.array(list(found.values()))

    lost = [
        np.abs(np.log(outputs((1, 0, 1), ordered) / outputs((0, 0, 1), ordered))).max()
        for ordered in (False, True)
    ]
    assert lost[0] <= guarantee.epsilon * (1 + 1e-12)
    assert lost[1] == pytest.approx(2.898, abs=1e-3)


def test_a_part_that_a_record_joins_is_sampled_from_one_record_more():
    part = rdpkit.FixedSizeSampled(event=unit.laplace(1.0), sample_size=2, population_size=2)
    joined = part.with_one_more_record()
    assert (joined.sample_size, joined.population_size) == (2, 3)
    gaussian = rdpkit.FixedSizeSampled(event=unit.gaussian(1.0), sample_size=2, population_size=5)
    assert gaussian.with_one_more_record() == gaussian.expand().with_one_more_record()
