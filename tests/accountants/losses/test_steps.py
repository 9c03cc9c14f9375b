"""What one changed record may amount to: which alternatives, which are dominated, which limits."""

from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rdpkit
from rdpkit.accountants import loss_distributions as losses
from rdpkit.accountants.losses.steps import (
    alternatives,
    attained_alternatives,
)
from rdpkit.events.losses import NoLossDistributionError, Step
from tests.bounds.strategies import log_uniform
from tests.events import of_papers, unit

ADD = rdpkit.Adjacency.ADD_OR_REMOVE_ONE
REPLACE = rdpkit.Adjacency.REPLACE_ONE


GAUSSIAN = unit.gaussian(2.0)
poisson = partial(unit.poisson, noise=2.0)


def fixed(sample=5, population=50, z=2.0):
    return unit.fixed_size(z, sample, population, record_norm=0.5)


def step(kind, z, q, other=0.0):
    return Step(kind=kind, noise_multiplier=z, sampling_probability=q, other=other)


def releases(event, adjacency, *, attained=False):
    every = attained_alternatives if attained else alternatives
    return [found.releases for found in every(event, adjacency)]


@pytest.mark.parametrize(
    ("event", "adjacency", "upper", "attained"),
    [
        (GAUSSIAN, ADD, step("replaced", 2.0, 1.0), step("replaced", 2.0, 1.0)),
        (GAUSSIAN, REPLACE, step("replaced", 1.0, 1.0), step("replaced", 1.0, 1.0)),
        (poisson(), ADD, step("removed", 2.0, 0.1), step("removed", 2.0, 0.1)),
        (poisson(), REPLACE, step("replaced", 2.0, 0.1, -1.0), step("replaced", 2.0, 0.1, -1.0)),
        (
            poisson(record_diameter=0.5),
            REPLACE,
            step("replaced", 2.0, 0.1, 0.5 - 2.0**-50),
            step("replaced", 8.0, 0.1, -1.0),
        ),
        (
            poisson(record_diameter=1.0),
            REPLACE,
            step("replaced", 2.0, 0.1),
            step("replaced", 4.0, 0.1, -1.0),
        ),
        (poisson(q=1.0), REPLACE, step("replaced", 1.0, 1.0), step("replaced", 1.0, 1.0)),
        (fixed(), ADD, step("removed", 2.0, 0.1), step("removed", 2.0, 0.1)),
        (fixed(), REPLACE, step("replaced", 2.0, 0.1), step("removed", 2.0, 0.1)),
    ],
    ids=lambda value: getattr(value, "mechanism", None) or str(value)[:8],
)
def test_one_release(event, adjacency, upper, attained):
    assert releases(event, adjacency) == [((upper, 1),)]
    assert releases(event, adjacency, attained=True) == [((attained, 1),)]


def test_only_the_worst_part_is_kept():
    event = rdpkit.Parallel(events=(poisson(q=0.1), poisson(q=0.3), poisson(q=0.2)))
    (found,) = alternatives(event, ADD)
    assert found.touched == (1,)
    assert found.releases == ((step("removed", 2.0, 0.3), 1),)


def test_parts_that_do_not_dominate_each_other_are_all_kept():
    event = rdpkit.Parallel(events=(poisson(noise=1.0, q=0.1), poisson(noise=3.0, q=0.9)))
    assert [found.touched for found in alternatives(event, ADD)] == [(0,), (1,)]


def test_a_changed_label_touches_two_parts():
    parts = (poisson(q=0.1), poisson(q=0.3), poisson(q=0.2))
    found = alternatives(rdpkit.Parallel(events=parts), REPLACE)
    # One part: the largest. Two parts: the two largest, in both orders, and no third.
    assert {one.touched for one in found} == {(1,), (1, 2), (2, 1)}
    moved = next(one for one in found if one.touched == (1, 2))
    assert moved.releases == ((step("added", 2.0, 0.2), 1), (step("removed", 2.0, 0.3), 1))
    assert moved.reversed().touched == (2, 1)
    kept = alternatives(rdpkit.Parallel(events=parts, record_keeps_its_part=True), REPLACE)
    assert {one.touched for one in kept} == {(1,)}


def test_the_class_that_is_joined_has_one_record_more_when_attained():
    event = rdpkit.Parallel(events=(fixed(5, 50), fixed(5, 40)))
    for attained, sizes in ((False, (50, 40)), (True, (51, 41))):
        moved = {
            found.touched: {s.kind: s.sampling_probability for s, _ in found.releases}
            for found in (attained_alternatives if attained else alternatives)(event, REPLACE)
            if len(found.touched) == 2
        }
        assert moved[0, 1] == {"removed": 5 / 50, "added": 5 / sizes[1]}
        assert moved[1, 0] == {"removed": 5 / 40, "added": 5 / sizes[0]}


def test_a_mechanism_of_a_paper_that_is_joined_has_one_record_more_too():
    mechanism = of_papers.dpmix(10, 4, 2, noise=1.0, shape=(1, 1))
    written_out = rdpkit.Parallel(events=(mechanism.expand(),) * 2)
    event = rdpkit.Parallel(events=(mechanism,) * 2)
    expected = releases(written_out, REPLACE, attained=True)
    assert releases(event, REPLACE, attained=True) == expected


def test_parts_whose_records_are_near_each_other_do_not_dominate_others():
    parts = (poisson(record_diameter=0.5), poisson(), poisson(noise=9.0, q=0.2))
    event = rdpkit.Parallel(events=parts, record_keeps_its_part=True)
    assert [found.touched for found in alternatives(event, REPLACE)] == [(0,), (1,), (2,)]
    # Which of them it is may be decided anew by what is seen.
    (again,) = alternatives(rdpkit.Repeated(event=event, count=2, same_partition=False), REPLACE)
    ((largest, count),) = again.releases
    assert (len(largest.branches), count) == (3, 2)


def test_one_part_without_a_largest_loss_is_enough():
    parts = rdpkit.Parallel(events=(unit.gaussian(1.0), unit.laplace(5.0)))
    event = rdpkit.Repeated(event=parts, count=2, same_partition=False)
    found, least = (
        rdpkit.epsilon(one, delta=1e-6, adjacency=ADD, bound="pld-upper").epsilon
        for one in (event, unit.gaussian(1.0) * 2)
    )
    assert found >= least * (1.0 - 1e-3)


def test_one_part_that_may_tell_all_is_enough():
    told = rdpkit.EpsilonDelta(epsilon=1.0, delta=0.1, adjacency=ADD)
    parts = rdpkit.Parallel(events=(unit.laplace(1.0), told))
    event = rdpkit.Repeated(event=parts, count=2, same_partition=False)
    assert rdpkit.delta(event, epsilon=30.0, adjacency=ADD).delta >= 1.0 - 0.9**2


def test_a_part_is_dropped_only_if_two_other_parts_dominate_it():
    """Two alternatives of one part cannot both be ends: no record leaves and joins it at once."""
    inner = rdpkit.Parallel(
        events=(
            poisson(noise=2.0, q=0.5, record_diameter=1.0),
            poisson(noise=3.0, q=0.9, record_diameter=1.0),
        ),
        record_keeps_its_part=True,
    )
    other = poisson(noise=3.0, q=0.5, record_diameter=1.0)
    event = rdpkit.Parallel(events=(inner, other))
    attained = ((step("removed", 3.0, 0.9), 1), (step("added", 3.0, 0.5), 1))
    options = {"delta": 1e-3}
    below = losses.epsilon_below(attained, **options).value
    upper = rdpkit.epsilon(event, delta=1e-3, adjacency=REPLACE, bound="pld-upper")
    assert below <= upper.epsilon * (1.0 + 1e-9)


def test_a_sample_of_the_whole_population():
    """With one record less it cannot be drawn; replaced, it is an unsampled Gaussian."""
    with pytest.raises(NoLossDistributionError, match="sample_size < population_size"):
        alternatives(fixed(7, 7), ADD)
    assert releases(fixed(7, 7), REPLACE) == [((step("replaced", 2.0, 1.0), 1),)]


def test_compositions_multiply_the_possibilities():
    pair = rdpkit.Parallel(
        events=(poisson(noise=1.0, q=0.1), poisson(noise=3.0, q=0.9)), fixed_partition=True
    )
    event = rdpkit.Composed(events=(pair, pair, GAUSSIAN))
    found = alternatives(event, ADD)
    assert len(found) == 3
    changing = rdpkit.Repeated(event=pair, count=2, same_partition=False)
    assert len(alternatives(changing, ADD)) == 3
    with pytest.raises(NoLossDistributionError, match="128 ways"):
        alternatives(rdpkit.Composed(events=(pair,) * 7), ADD)


def test_what_has_no_loss_distribution():
    custom = rdpkit.CustomRdp(orders=(2.0, 4.0), values=(0.1, 0.2), adjacency=ADD)
    for event in (custom, rdpkit.Composed(events=(GAUSSIAN, custom))):
        with pytest.raises(NoLossDistributionError, match="custom_rdp"):
            alternatives(event, ADD)
        # The Renyi bound answers instead.
        assert rdpkit.epsilon(event, delta=1e-5, adjacency=ADD).enclosure.rigorous
        with pytest.raises(NoLossDistributionError):
            rdpkit.epsilon(event, delta=1e-5, adjacency=ADD, bound="pair-lower")


STEPS = st.tuples(log_uniform(0.5, 5.0), log_uniform(0.01, 0.9))


@settings(max_examples=2)
@given(st.lists(STEPS, min_size=2, max_size=4), st.sampled_from([ADD, REPLACE]))
def test_nothing_that_was_dropped_leaks_more(parts, adjacency):
    """The largest over what is kept is the largest over every part, and every pair of parts."""
    events = tuple(unit.poisson(z, q) for z, q in parts)
    options = {"delta": 1e-4}
    kept = alternatives(rdpkit.Parallel(events=events), adjacency)
    largest = max(
        losses.epsilon_above(direction.releases, **options).value
        for found in kept
        for direction in (found, found.reversed())
    )
    for event in events:
        (only,) = alternatives(event, adjacency)
        for direction in (only, only.reversed()):
            below = losses.epsilon_below(direction.releases, **options).value
            assert below <= largest * (1.0 + 1e-9)
