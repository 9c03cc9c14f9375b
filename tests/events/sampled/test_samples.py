"""What may be released from a random sample, and what is attained there."""

import itertools
import math
from dataclasses import dataclass

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rdpkit
from rdpkit import Adjacency, Composed, FixedSizeSampled, Group, Parallel, PoissonSampled
from rdpkit.events import MECHANISMS
from rdpkit.events.base import Event
from tests.events import unit
from tests.events.examples import example

GAUSSIAN = unit.gaussian(2.0)
SIZED = unit.fixed_size(1.0, 10, 1000)
OF_WHOLE_DATA = {
    "class_wise_dpmix",
    "dpcda",
    "dpmix",
    "dpsgd",
    "fixed_size_sampled",
    "fixed_size_sampled_gaussian",
    "gaussian_synthesis",
    "ldpdc",
    "matrix_factorization",
    "ndpdc",
    "random_allocation_gaussian",
    "regularised_synthesis",
    "sampled_with_replacement_gaussian",
    "shuffled_gaussian",
    "tree_aggregation",
    "truncated_poisson_gaussian",
    "user_sampled_gaussian",
}


def poisson(event):
    return PoissonSampled(event=event, sampling_probability=0.01)


def fixed_size(event):
    return FixedSizeSampled(event=event, sample_size=100, population_size=10000)


@pytest.mark.parametrize("sample", [poisson, fixed_size])
@pytest.mark.parametrize("mechanism", sorted(MECHANISMS))
def test_what_states_sizes_has_no_meaning_on_a_sample(sample, mechanism):
    event = example(MECHANISMS[mechanism])
    if mechanism not in OF_WHOLE_DATA:
        assert sample(event).event == event
        return
    with pytest.raises(ValueError, match=f"random sample, which {type(event).__name__} is not: it"):
        sample(event)


NESTED = {
    "composed": Composed(events=(GAUSSIAN, SIZED)),
    "repeated": SIZED * 3,
    "parallel": Parallel(events=(GAUSSIAN, SIZED)),
    "twice": Composed(events=(Parallel(events=(SIZED,)), GAUSSIAN)) * 2,
    "selected": rdpkit.RepeatAndSelect(event=SIZED, mean=2.0, shape=1.0),
}


@pytest.mark.parametrize("sample", [poisson, fixed_size])
@pytest.mark.parametrize("event", NESTED.values(), ids=NESTED.keys())
def test_nesting_hides_nothing(sample, event):
    with pytest.raises(ValueError, match="how many records there are"):
        sample(event)


def test_samples_of_samples_and_of_groups():
    assert poisson(poisson(GAUSSIAN)).event == poisson(GAUSSIAN)
    poisson(Group(event=GAUSSIAN, size=2))
    with pytest.raises(ValueError, match="FixedSizeSampled is not"):
        poisson(fixed_size(GAUSSIAN))
    with pytest.raises(ValueError, match="Nothing is known about groups"):
        Group(event=SIZED, size=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class OfAStranger(Event):
    """It says nothing of samples."""

    size: int = 3


def test_what_says_nothing_of_samples_is_not_sampled():
    with pytest.raises(ValueError, match="OfAStranger is not: its class does not say"):
        poisson(OfAStranger())


ADDED, REPLACED, ZEROED = Adjacency
LAPLACE = rdpkit.Laplace(noise_scale=0.5, record_norm=0.5)
TEN_OF_A_HUNDRED = rdpkit.FixedSizeSampled(event=LAPLACE, sample_size=10, population_size=100)


def sums_of_samples(records, size):
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
    second = sums_of_samples(rest if adjacency is ADDED else [-0.5, *rest], 2)
    found = divergence(sums_of_samples([0.5, *rest], 2), second, 0.5, epsilon)
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
    poisson = rdpkit.PoissonSampled(event=event, sampling_probability=0.1)
    for adjacency in (REPLACED, ZEROED):
        found = rdpkit.epsilon(poisson, delta=1e-6, adjacency=adjacency).epsilon
        assert found >= whole * (1 - 1e-9)


def test_what_is_left_out_of_zcdp_is_told_of_a_sample_too():
    known = rdpkit.ZeroConcentrated(rho=0.5, adjacency=REPLACED, delta=1e-3)
    event = rdpkit.FixedSizeSampled(event=known, sample_size=9, population_size=10)
    assert rdpkit.epsilon(event, delta=1e-6, adjacency=REPLACED).epsilon == math.inf


def test_what_is_told_with_certainty_is_told_of_a_sample_too():
    known = rdpkit.EpsilonDelta(epsilon=1.0, delta=0.1, adjacency=REPLACED)
    event = rdpkit.FixedSizeSampled(event=known, sample_size=1, population_size=2)
    found = rdpkit.delta(event * 2, epsilon=30.0, adjacency=REPLACED).delta
    assert found >= 1.0 - 0.95**2


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


ADDED = "add_or_remove_one"


def event_of(noise=2.0, q=0.01, records=4):
    return rdpkit.UserSampledGaussian(
        noise_std=noise, record_norm=1.0, sampling_probability=q, records_per_user=records
    )


def epsilon_of_many(event, count=200, adjacency=ADDED, **options):
    many = event * count
    return rdpkit.epsilon(many, delta=1e-5, adjacency=adjacency, **options).epsilon


@pytest.mark.thorough
@settings(max_examples=20)
@given(st.floats(1e-6, 1.0, exclude_max=True), st.integers(2, 1000))
def test_probabilities_lean_to_more_records_and_add_up(q, records):
    event = event_of(q=q, records=records)
    for more in (True, False):
        norms, shares = event._contributions(more=more)
        assert math.fsum(shares) == pytest.approx(1.0, abs=1e-9)
        mean = sum(norm * share for norm, share in zip(norms, shares))
        assert mean == pytest.approx(q * records, rel=1e-8)
        exact = [math.comb(records, j) * q**j * (1 - q) ** (records - j) for j in (records, 1)]
        with mpmath.workdps(60):
            at_least_one = float(1 - (1 - mpmath.mpf(q)) ** records)
        found = math.fsum(share for norm, share in zip(norms, shares) if norm > 0.0)
        if more:
            assert found >= min(at_least_one, 1.0) * (1 - 1e-15)
            assert shares[-1] >= exact[0]
            assert norms[-1] >= records or shares[-1] >= 1.0 - 1e-9
        else:
            assert found <= at_least_one
        assert list(norms) == sorted(norms)


def test_one_record_is_a_poisson_sample():
    plain = unit.poisson(2.0, 0.01)
    assert epsilon_of_many(event_of(records=1)) == epsilon_of_many(plain)


def test_training_for_users():
    settings_ = {"noise_multiplier": 2.0, "dataset_size": 6000, "batch_size": 60, "steps": 100}
    users = rdpkit.DPSGD(**settings_, examples_per_user=4)
    assert users.expand() == event_of() * 100
    assert any("user" in text for text in users.assumptions())
    with pytest.raises(ValueError, match="examples_per_user to be 1 without Poisson"):
        rdpkit.DPSGD(**settings_, examples_per_user=4, sampling="shuffle")
    with pytest.raises(ValueError, match="replace_one"):
        rdpkit.epsilon(users, delta=1e-5, adjacency="replace_one", bound="pld-upper")
