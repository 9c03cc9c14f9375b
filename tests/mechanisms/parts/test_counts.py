"""Numbers of records: what is known of them, what it costs, and that the theorem holds exactly."""

from __future__ import annotations

import functools
import json
import math

import numpy as np
import pytest
from scipy.stats import hypergeom, norm

import rdpkit
from rdpkit import Adjacency
from rdpkit.mechanisms.parts.counts import (
    BOUND_BY_CLASS,
    BOUND_OF_ALL,
    NUMBER_BY_CLASS,
    NUMBER_OF_ALL,
    CountsUse,
    KnownCounts,
    NoisyCounts,
    PublicCounts,
    counts_policy,
    known_counts,
    shortfall,
)
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.privacy import Privacy

ADD, REPLACE = Adjacency.ADD_OR_REMOVE_ONE, Adjacency.REPLACE_ONE
USES = (BOUND_OF_ALL, BOUND_BY_CLASS, NUMBER_OF_ALL, NUMBER_BY_CLASS)


def known(counts, use, *, actual=(30, 0, 500), adjacency=ADD, delta=1e-5, seed=0) -> KnownCounts:
    return known_counts(
        counts_policy(counts),
        actual,
        use,
        delta=delta,
        adjacency=adjacency,
        noise=NoiseSource.seeded(seed),
    )


@pytest.mark.parametrize(("adjacency", "moved"), [(ADD, 5), (REPLACE, 10)])
def test_counts_of_persons_cost_what_all_their_records_do(adjacency, moved):
    question = {"delta": 1e-5, "adjacency": adjacency, "noise": NoiseSource.seeded(0)}
    for use in (NUMBER_OF_ALL, NUMBER_BY_CLASS):
        found = known_counts(NoisyCounts(epsilon=0.1), (30, 50), use, most_per_person=5, **question)
        assert found.origin == "noisy"
        assert found.epsilon == pytest.approx(0.1)
        with pytest.raises(ValueError, match="for this mechanism"):
            known_counts(found, (30, 50), use, most_per_person=6, **question)
    draws = [
        known_counts(NoisyCounts(epsilon=0.1), (30,), use, most_per_person=5, **question).noisy[0]
        for _ in range(1000)
    ]
    # Discrete Laplace noise of this scale has nearly the variance of Laplace noise.
    assert np.std(draws) == pytest.approx(math.sqrt(2.0) * moved / 0.1, rel=0.15)
    with pytest.raises(ValueError, match="lower bounds"):
        known_counts(NoisyCounts(), (30, 50), BOUND_OF_ALL, most_per_person=5, **question)


# -- what is known ---------------------------------------------------------------------------------


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("adjacency", [ADD, REPLACE])
def test_public_numbers_are_taken_as_they_are_and_cost_nothing(use: CountsUse, adjacency):
    found = known([10, 20, 30], use, adjacency=adjacency)
    assert found.sizes == ((10, 20, 30) if use.by_class else (60,))
    assert (found.origin, found.epsilon, found.failure) == ("stated", 0.0, 0.0)
    (check,) = found.checks()
    assert check.status == "depends"
    assert "as the user stated" in check.sentence
    event = rdpkit.Gaussian(noise_std=1.0, record_norm=1.0)
    assert found.before(event) is event


@pytest.mark.parametrize(
    ("use", "adjacency", "origin", "status"),
    [
        (BOUND_BY_CLASS, ADD, "exact", "fails"),
        (BOUND_BY_CLASS, REPLACE, "exact", "fails"),
        (NUMBER_BY_CLASS, REPLACE, "exact", "fails"),
        (NUMBER_OF_ALL, ADD, "exact", "fails"),
        (NUMBER_OF_ALL, REPLACE, "relation", "holds"),
        (BOUND_OF_ALL, REPLACE, "relation", "holds"),
    ],
)
def test_numbers_that_are_read_from_the_data_tell_neighbours_apart(use, adjacency, origin, status):
    found = known("public", use, actual=(3, 4), adjacency=adjacency)
    assert found.sizes == ((3, 4) if use.by_class else (7,))
    assert found.origin == origin
    (check,) = found.checks()
    assert (check.name, check.status) == ("public_parameters", status)
    if status == "fails":
        assert "public, as the user stated, and read from the data" in check.sentence
    if origin == "relation":
        assert known("noisy", use, actual=(3, 4), adjacency=adjacency) == found


def test_noisy_counts_are_whole_numbers_with_noise_that_is_paid_for():
    found = known(NoisyCounts(epsilon=0.3), BOUND_BY_CLASS, actual=(10**6, 5))
    # ceil(1 / 0.3) = 4, and with labels that may change ceil(2 / 0.3) = 7.
    assert found.epsilon == pytest.approx(0.25, rel=1e-12)
    assert found.epsilon >= 0.25
    other = known(NoisyCounts(epsilon=0.3), BOUND_BY_CLASS, adjacency=REPLACE)
    assert other.epsilon == pytest.approx(2 / 7, rel=1e-12)
    assert found.failure == pytest.approx(1e-6)
    assert found.sizes[0] == found.noisy[0] - shortfall(4, 1e-6)
    assert found.sizes[1] == 1
    (check,) = found.checks()
    assert check.status == "holds"
    assert check.sentence.startswith("class sizes were estimated with noise, which the guar")
    assert found.notes() == (f"counts: {check.sentence}",)
    assert known("noisy", NUMBER_OF_ALL, actual=(9,)).failure == 0.0


def test_noise_differs_from_class_to_class_and_from_draw_to_draw():
    draws = {known("noisy", NUMBER_BY_CLASS, actual=(400,) * 5, seed=seed).noisy for seed in (1, 2)}
    assert len(draws) == 2
    assert all(len(set(noisy)) > 1 for noisy in draws)


def test_noisy_counts_that_are_too_small_are_raised_or_their_classes_are_left_out():
    one = KnownCounts(
        origin="noisy", use=NUMBER_BY_CLASS, sizes=(3, 70), adjacency=ADD, noisy=(3, 70),
        epsilon=0.1,
    )  # fmt: skip
    assert one.for_samples_of(4.5).sizes == (5, 70)
    assert one.for_samples_of(4.5).left_out == ()
    sized = KnownCounts(
        origin="noisy", use=BOUND_BY_CLASS, sizes=(4, 70, 90), adjacency=ADD,
        noisy=(9, 75, 95), epsilon=0.1, failure=1e-6,
    )  # fmt: skip
    # A sample of 4 of 4 records leaves the neighbour with 3 too few.
    assert sized.for_samples_of(4).sizes == (70, 70, 90)
    assert sized.for_samples_of(4).left_out == (0,)
    assert sized.for_samples_of(100).sizes == (101,) * 3
    assert sized.for_samples_of(100).left_out == (0, 1, 2)
    assert any("class 0" in note for note in sized.for_samples_of(4).notes())
    stated = known([3, 4, 5], BOUND_BY_CLASS)
    assert stated.for_samples_of(100) is stated


def test_what_is_written_can_be_read_again():
    found = known("noisy", BOUND_BY_CLASS).for_samples_of(20)
    table = json.loads(json.dumps(found.as_dict()))
    assert KnownCounts.from_dict(table, BOUND_BY_CLASS, ADD) == found
    for wrong in ({}, {**table, "noisy": [1.5]}, {**table, "origin": "exact"}, None):
        with pytest.raises(ValueError, match="Expected"):
            KnownCounts.from_dict(wrong, BOUND_BY_CLASS, ADD)


def test_what_is_no_policy_is_refused():
    for wrong in ("exact", 1.5, None, True, b"ab", [], [1, 0], [1.5]):
        with pytest.raises(ValueError, match="Expected counts"):
            counts_policy(wrong)
    with pytest.raises(ValueError, match="as many integers as classes"):
        known([1, 2], NUMBER_BY_CLASS)
    with pytest.raises(ValueError, match="one integer for all records, or one for each of 3"):
        known([1, 2], NUMBER_OF_ALL)
    with pytest.raises(ValueError, match="every class to have a record"):
        known("public", NUMBER_BY_CLASS)
    with pytest.raises(ValueError, match="for this mechanism"):
        known(known("noisy", NUMBER_OF_ALL), NUMBER_BY_CLASS)
    with pytest.raises(ValueError, match="Expected epsilon"):
        NoisyCounts(epsilon=0.0)
    with pytest.raises(ValueError, match="Expected share_of_delta"):
        NoisyCounts(share_of_delta=1.0)
    with pytest.raises(ValueError, match="Expected counts"):
        Privacy(delta=1e-5, adjacency=ADD, noise=NoiseSource.seeded(0), counts="none")
    assert counts_policy(7) == PublicCounts(sizes=(7,))


# -- what it costs ---------------------------------------------------------------------------------


def test_a_target_is_divided_and_put_together_again():
    found = known("noisy", BOUND_BY_CLASS)
    epsilon, delta = found.remaining(epsilon=1.0, delta=1e-5)
    event = rdpkit.Gaussian(noise_std=5.0, record_norm=1.0)
    own = rdpkit.epsilon(event, delta=delta, adjacency=ADD)
    assert delta + found.failure <= 1e-5
    exactly = found.paid(rdpkit.Guarantee(**{**fields(own), "epsilon": epsilon}), delta=1e-5)
    assert 1.0 - 1e-12 < exactly.epsilon <= 1.0
    paid = found.paid(own, delta=1e-5)
    assert paid.delta == 1e-5
    assert paid.epsilon == pytest.approx(own.epsilon + 0.05, rel=1e-12)
    assert paid.computed.lower <= paid.epsilon <= paid.computed.upper
    # The event in the manifest has the counts as a part, and a bound that is no larger.
    whole = found.before(event)
    assert rdpkit.epsilon(whole, delta=1e-5, adjacency=ADD).epsilon <= paid.epsilon
    with pytest.raises(ValueError, match="smaller counts_epsilon"):
        found.remaining(epsilon=0.05, delta=1e-5)


def fields(guarantee):
    return {name: getattr(guarantee, name) for name in guarantee.__slots__}


@pytest.mark.parametrize("scale", [1, 3, 20])
@pytest.mark.parametrize("failure", [0.3, 1e-3, 1e-6, 1e-12])
def test_a_lower_bound_is_too_large_with_the_stated_probability_at_most(scale, failure):
    """A class loses a record and another gains one: both tails together, summed exactly."""
    less = shortfall(scale, failure)
    p = math.exp(-1.0 / scale)
    assert p**less / (1.0 + p) + p ** (less + 1) / (1.0 + p) <= failure
    assert p ** (less - 1) > failure  # and no more is subtracted than that needs


# -- that it is true -------------------------------------------------------------------------------


# A class of at most 14 records on a line, of which two are drawn for one release. All records are
# at -1, but for the changed one, which is at 1.
SAMPLE, NOISE, DELTA = 2, 1.2, 0.05
POLICY = NoisyCounts(epsilon=1.0, share_of_delta=0.1)
LESS = shortfall(POLICY.scale(ADD), POLICY.share_of_delta * DELTA)
GRID = np.linspace(-9.0, 9.0, 3601)


def released(bound: int, others: int, *, with_record: bool):
    """Density of the release on the grid, given the noisy lower bound."""
    if bound <= SAMPLE:
        return norm.pdf(GRID, 0.0, NOISE)  # the class is left out
    there = others + with_record
    places = max(there, bound)
    density = np.zeros_like(GRID)
    drawn = SAMPLE / places if with_record else 0.0
    for has_it, share in ((True, drawn), (False, 1.0 - drawn)):
        rest = SAMPLE - has_it
        for real in range(rest + 1):
            weight = share * hypergeom.pmf(real, places - with_record, others, rest)
            density += weight * norm.pdf(GRID, (has_it - real) / SAMPLE, NOISE)
    return density


@functools.cache
def own_epsilon(size: int) -> float:
    event = rdpkit.FixedSizeSampledGaussian(
        noise_std=NOISE, record_norm=1.0, sample_size=SAMPLE, population_size=size, release="mean"
    )
    delta = (1.0 - POLICY.share_of_delta) * DELTA
    return rdpkit.epsilon(event, delta=delta, adjacency=ADD, bound="pld-upper").epsilon


def excess(others: int, *, forward: bool, less: int = LESS, paid: float = 1.0) -> float:
    """The sum over noisy counts of the integral of (p - e^epsilon q)+, with epsilon as stated."""
    ratio = math.exp(-1.0 / POLICY.scale(ADD))
    total = 0.0
    for noisy in range(others - 60, others + 61):
        chance = [
            (1.0 - ratio) / (1.0 + ratio) * ratio ** abs(noisy - size)
            for size in (others + 1, others)
        ]
        bound = noisy - less
        density = [released(bound, others, with_record=there) for there in (True, False)]
        if not forward:
            chance.reverse()
            density.reverse()
        epsilon = paid + own_epsilon(max(bound, SAMPLE + 1) if bound < 20 else 20)
        part = chance[0] * density[0] - math.exp(epsilon) * chance[1] * density[1]
        total += np.trapezoid(np.maximum(part, 0.0), GRID)
    return total


@pytest.mark.thorough
@pytest.mark.parametrize("others", [0, 1, 2, 3, 6, 13])
@pytest.mark.parametrize("forward", [True, False])
def test_the_stated_epsilon_holds_whatever_the_true_count_is(others, forward):
    """By quadrature, with fewer records than are drawn, as many, and more."""
    assert excess(others, forward=forward) <= DELTA


def test_without_the_shortfall_or_the_payment_it_would_not_hold():
    # Every number of records is taken for a lower bound on itself, and nothing is paid.
    assert excess(2, forward=True, less=0, paid=0.0) > DELTA


@functools.cache
def own_epsilon_of_two(sizes: tuple[int, ...]) -> float:
    parts = [
        rdpkit.FixedSizeSampledGaussian(
            noise_std=NOISE, record_norm=1.0, sample_size=SAMPLE, population_size=size,
            release="mean",
        )
        for size in sizes
    ]  # fmt: skip
    delta = (1.0 - POLICY.share_of_delta) * DELTA
    event = rdpkit.Parallel(events=parts)
    return rdpkit.epsilon(event, delta=delta, adjacency=REPLACE, bound="pld-upper").epsilon


def excess_of_a_move(others: tuple[int, int], *, less: int, paid: float) -> float:
    """As :func:`excess`, for a record that leaves one class and joins another."""
    ratio = math.exp(-1.0 / POLICY.scale(REPLACE))
    total = 0.0
    step = (GRID[1] - GRID[0]) * 30
    for noisy in np.ndindex(41, 41):
        counts = np.array(noisy) - 20 + others
        bounds = counts - less
        enough = [min(bound, 9) for bound in bounds if bound > SAMPLE]
        instead = min(enough, default=SAMPLE + 1)
        # Bounds above 9 are beyond what both data sets have, which is the failure that delta pays.
        sizes = sorted(min(b, 9) if b > SAMPLE else instead for b in bounds)
        laws = []
        for there in ((True, False), (False, True)):
            chance = 1.0
            density = np.ones((1, 1))
            for label in (0, 1):
                have = others[label] + there[label]
                chance *= (1.0 - ratio) / (1.0 + ratio) * ratio ** abs(int(counts[label]) - have)
                one = released(int(bounds[label]), others[label], with_record=there[label])[::30]
                density = density * (one[:, None] if label == 0 else one[None, :])
            laws.append(chance * density)
        epsilon = paid + own_epsilon_of_two(tuple(int(size) for size in sizes))
        total += np.maximum(laws[0] - math.exp(epsilon) * laws[1], 0.0).sum() * step**2
    return total


@pytest.mark.slow
@pytest.mark.parametrize("others", [(0, 0), (2, 2), (1, 6), (6, 1), (7, 7)])
def test_the_stated_epsilon_holds_where_a_record_moves_to_another_class(others):
    """By sums over a grid of two releases, one of each class; the other direction is the mirror."""
    less = shortfall(POLICY.scale(REPLACE), POLICY.share_of_delta * DELTA)
    assert excess_of_a_move(others, less=less, paid=1.0) <= DELTA


@pytest.mark.slow
def test_a_move_would_not_be_covered_without_the_shortfall_or_the_payment():
    assert excess_of_a_move((2, 2), less=0, paid=0.0) > DELTA


def test_mechanisms_are_given_no_special_record():
    with pytest.raises(ValueError, match="'replace_one', got 'zero_out': mechanisms are given no"):
        Privacy(delta=1e-5, adjacency="zero_out", noise=NoiseSource.system())
