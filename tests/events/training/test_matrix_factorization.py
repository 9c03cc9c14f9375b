"""Matrix factorisation: how far a record moves C G, and what it is equal to."""

import itertools
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import toeplitz

import rdpkit
from rdpkit import Adjacency, MatrixFactorization
from tests.events import unit

ZERO, REPLACE = Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE
COEFFICIENTS = st.lists(
    st.floats(-1.0, 1.0).map(lambda value: round(value, 6)), min_size=1, max_size=7
).filter(any)


def matrix_of(coefficients, steps):
    column = np.zeros(steps)
    column[: len(coefficients)] = coefficients[:steps]
    return np.tril(toeplitz(column))


def subsets(steps, b, k):
    for size in range(1, k + 1):
        for chosen in itertools.combinations(range(steps), size):
            if all(later - one >= b for one, later in itertools.pairwise(chosen)):
                yield list(chosen)


def largest(matrix, b, k, absolute):
    """By a search over all sets: of absolute inner products, or of vectors of either sign."""
    products = matrix.T @ matrix
    best = 0.0
    for chosen in subsets(matrix.shape[0], b, k):
        part = products[np.ix_(chosen, chosen)]
        signs = (
            [np.ones(len(chosen))] if absolute else itertools.product((1, -1), repeat=len(chosen))
        )
        part = np.abs(part) if absolute else part
        best = max(best, *(np.array(s) @ part @ np.array(s) for s in signs))
    return np.sqrt(best)


@settings(max_examples=40)
@given(COEFFICIENTS, st.integers(1, 8), st.integers(1, 4), st.integers(1, 3))
def test_no_record_moves_it_farther(coefficients, steps, b, k):
    if not any(coefficients[:steps]):
        return
    parameters = {"noise_std": 1.0, "record_norm": 1.0, "min_separation": b, "participations": k}
    matrix = matrix_of(coefficients, steps)
    listed = MatrixFactorization(**parameters, steps=steps, coefficients=coefficients)
    written = MatrixFactorization.of_matrix(matrix, **parameters)
    attained = largest(matrix, b, k, absolute=False)
    for event in (listed, written):
        assert attained <= event.distance.above * (1 + 1e-12)
        assert event.distance.below <= attained * (1 + 1e-12)
    if listed.bands <= b:
        for event in (listed, written):
            assert event.distance.above == pytest.approx(attained, rel=1e-12)
    decreasing = sorted(map(abs, coefficients), reverse=True)
    exact = MatrixFactorization(**parameters, steps=steps, coefficients=decreasing)
    expected = largest(matrix_of(decreasing, steps), b, k, absolute=True)
    assert exact.distance.above == pytest.approx(expected, rel=1e-12)
    assert exact.distance.below == pytest.approx(expected, rel=1e-12)
    assert exact.distance.below <= exact.distance.above


@settings(max_examples=30)
@given(st.integers(1, 6), st.integers(1, 3), st.integers(1, 3), st.integers(0, 10**6))
def test_any_matrix_and_any_vectors(steps, b, k, seed):
    rng = np.random.default_rng(seed)
    matrix = np.tril(rng.normal(size=(steps, steps)))
    event = MatrixFactorization.of_matrix(
        matrix, noise_std=1.0, record_norm=1.0, min_separation=b, participations=k
    )
    assert largest(matrix, b, k, absolute=False) <= event.distance.above * (1 + 1e-12)
    for chosen in itertools.islice(subsets(steps, b, k), 40):
        vectors = rng.normal(size=(len(chosen), 3))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        moved = np.linalg.norm(matrix[:, chosen] @ vectors)
        assert moved <= event.distance.above * (1 + 1e-12)


def test_a_record_in_one_step():
    event = MatrixFactorization(
        noise_std=3.0, record_norm=1.0, steps=50, coefficients=[3.0, 4.0], participations=1
    )
    assert event.distance.above == pytest.approx(5.0, rel=1e-15)
    plain = unit.gaussian(0.6)
    for adjacency in (ZERO, REPLACE):
        found = [rdpkit.epsilon(e, delta=1e-5, adjacency=adjacency).epsilon for e in (event, plain)]
        assert found[0] == pytest.approx(found[1], rel=1e-12)


@pytest.mark.thorough
def test_the_identity_is_dp_sgd():
    identity = {"noise_std": 1.0, "record_norm": 1.0, "steps": 40, "coefficients": [1.0]}
    sampled = MatrixFactorization(**identity, sampling_probability=0.05)
    step = unit.poisson(1.0, 0.05)
    whole = unit.gaussian(1.0)
    for event, part in ((sampled, step), (MatrixFactorization(**identity), whole)):
        many = part * 40
        for adjacency in (ZERO, REPLACE):
            for bound in ("best", "best-rdp", "pair-lower"):
                one, other = (
                    rdpkit.epsilon(e, delta=1e-5, adjacency=adjacency, bound=bound).epsilon
                    for e in (event, many)
                )
                assert one == pytest.approx(other, rel=1e-9)


@pytest.mark.thorough
def test_sampled_groups_take_turns():
    event = MatrixFactorization(
        noise_std=1.0, record_norm=1.0, steps=42, coefficients=[1.0, 0.5, 0.5], min_separation=5,
        sampling_probability=0.1,
    )  # fmt: skip
    whole, last = event.expand().events
    assert (whole.count, event.turns) == (8, 9)
    assert whole.event.record_norm == pytest.approx(np.sqrt(1.5), rel=1e-15)
    assert last.record_norm == pytest.approx(np.sqrt(1.25), rel=1e-15)
    exact = rdpkit.epsilon(event, delta=1e-5, adjacency=ZERO).epsilon
    lower = rdpkit.lower_bound(event, delta=1e-5, adjacency=ZERO)[0].epsilon
    assert 0.99 * exact <= lower <= exact
    written = MatrixFactorization.of_matrix(
        matrix_of([1.0, 0.5, 0.5], 42), noise_std=1.0, record_norm=1.0, min_separation=5,
        sampling_probability=0.1,
    )  # fmt: skip
    for adjacency in (ZERO, REPLACE):
        by_group = rdpkit.epsilon(event, delta=1e-5, adjacency=adjacency).epsilon
        by_longest = rdpkit.epsilon(written, delta=1e-5, adjacency=adjacency).epsilon
        assert by_group <= by_longest <= 1.1 * by_group
    rdp = [rdpkit.RdpCurve.of(e, orders=[2.0, 9.5], adjacency=ZERO) for e in (event, written)]
    assert (rdp[0].values <= rdp[1].values).all()
    assert (rdp[1].values <= 1.2 * rdp[0].values).all()


def test_ten_thousand_steps_in_less_than_five_seconds():
    coefficients = [1.0]
    for i in range(1, 10_000):
        coefficients.append(coefficients[-1] * (2 * i - 1) / (2 * i))
    begin = time.perf_counter()
    event = MatrixFactorization(
        noise_std=30.0, record_norm=1.0, steps=10_000, coefficients=coefficients, min_separation=100
    )
    found = rdpkit.epsilon(event, delta=1e-5, adjacency=ZERO)
    lower = rdpkit.lower_bound(event, delta=1e-5, adjacency=ZERO)[0]
    assert time.perf_counter() - begin < 5.0
    assert found.enclosure.rigorous
    assert lower.epsilon == pytest.approx(found.epsilon, rel=1e-9)


GOOD = {"noise_std": 1.0, "record_norm": 1.0, "steps": 4, "coefficients": [1.0, 0.5]}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"coefficients": None}, "exactly one of the two, got neither"),
        ({"matrix": [1.0] * 10}, "got coefficients and matrix"),
        ({"coefficients": [0.0, 0.0]}, "to be finite numbers, not all zero"),
        ({"coefficients": [0.0, 0.0, 0.0, 0.0, 1.0]}, "not all zero"),
        ({"coefficients": None, "matrix": [1.0] * 9}, "the 10 entries of 4 rows"),
        ({"sampling_probability": 0.1}, "min_separation to be at least 2, the number of bands"),
        ({"sampling_probability": 0.1, "participations": 2}, "participations to be None with"),
        ({"steps": 10**7}, "Expected steps"),
    ],
)
def test_what_does_not_fit_is_named(changes, words):
    with pytest.raises(ValueError, match=words):
        MatrixFactorization(**{**GOOD, **changes})


def test_an_array_is_lower_triangular():
    with pytest.raises(ValueError, match="square lower-triangular"):
        MatrixFactorization.of_matrix(np.ones((2, 2)), noise_std=1.0, record_norm=1.0)


def test_a_record_that_comes_or_goes_is_refused():
    with pytest.raises(ValueError, match="under which MatrixFactorization is described"):
        rdpkit.epsilon(MatrixFactorization(**GOOD), delta=1e-5, adjacency="add_or_remove_one")


def test_steps_farther_apart_than_they_must_be_may_overlap_more():
    event = MatrixFactorization(
        noise_std=1.0, record_norm=1.0, steps=8, coefficients=[1.0, 0.0, 0.0, 1.0],
        min_separation=2, participations=2,
    )  # fmt: skip
    assert event.distance.above >= 6**0.5  # Of steps 0 and 3: 1 + 4 + 1.


@pytest.mark.parametrize(
    ("strategy", "norms"),
    [
        ({"steps": 3, "coefficients": [1.0, 0.5], "min_separation": 2}, (1.118, 1.0)),
        ({"steps": 2, "matrix": [1.0, 0.0, 2.0], "min_separation": 1}, (1.0, 2.0)),
    ],
    ids=str,
)
def test_every_turn_of_a_group_is_counted(strategy, norms):
    event = MatrixFactorization(
        noise_std=1.0, record_norm=1.0, sampling_probability=0.5, **strategy
    )
    turns = sum(
        rdpkit.PoissonSampledGaussian(noise_std=1.0, record_norm=norm, sampling_probability=0.5)
        for norm in norms
    )
    for adjacency in (ZERO, REPLACE):
        for bound in ("pld-upper", "best-rdp"):
            found, least = (
                rdpkit.epsilon(one, delta=0.01, adjacency=adjacency, bound=bound).epsilon
                for one in (event, turns)
            )
            assert found >= least * 0.999
