"""Every event with extreme numbers: a finite answer, an infinity that says why, or a refusal."""

import dataclasses
import math
import warnings

import pytest

import rdpkit
from rdpkit.events import MECHANISMS
from tests.events import unit
from tests.events.examples import example

RELATIONS = ("add_or_remove_one", "replace_one", "zero_out")
DELTAS = (0.0, 1e-300, 1e-100, 1e-5, 0.5)
EPSILONS = (0.0, 1.0, 1e300)
EXTREMES = (1e-300, 1e-20, 1e20, 1e300)
# Where nothing more is known, Renyi divergences answer; the work for the rest is limited.
WORK = {"seconds": 0.5, "memory": 1e8}


def refused_in_words(error):
    assert len(str(error)) > 20


def variants(event):
    """The event with one of its numbers made extreme, where it accepts that."""
    yield event
    for field in dataclasses.fields(event):
        value = getattr(event, field.name)
        if isinstance(value, bool) or not isinstance(value, float):
            continue
        for extreme in EXTREMES:
            try:
                yield dataclasses.replace(event, **{field.name: extreme})
            except ValueError as error:
                refused_in_words(error)


def answer(function, event, **asked):
    """The guarantee, or None where it is refused in words."""
    with rdpkit.limits(**WORK), warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        try:
            return function(event, **asked)
        except ValueError as error:
            refused_in_words(error)
            return None


def check_epsilon(event, adjacency, delta):
    found = answer(rdpkit.epsilon, event, delta=delta, adjacency=adjacency)
    if found is None:
        return
    assert found.epsilon >= 0.0
    if math.isinf(found.epsilon):
        assert any("known" in note for note in found.notes)
    lower = answer(rdpkit.lower_bound, event, delta=delta, adjacency=adjacency)
    if lower is not None:
        assert lower[0].epsilon <= found.epsilon


def check_delta(event, adjacency, epsilon):
    found = answer(rdpkit.delta, event, epsilon=epsilon, adjacency=adjacency)
    lower = answer(rdpkit.lower_bound, event, epsilon=epsilon, adjacency=adjacency)
    if found is not None:
        assert 0.0 <= found.delta <= 1.0
        assert lower is None or lower[0].delta <= found.delta


# The example of each of these takes a second or more under some relation.
QUICK = ["gaussian", "discrete_laplace", "randomized_response", "epsilon_delta"]
QUICK += ["zero_concentrated", "exponential", "permute_and_flip"]
# Under one relation in CI: a choice by scores takes seven seconds under each.
CHOICES = ("exponential", "permute_and_flip")


def check_all(mechanism, adjacency):
    for event in variants(example(MECHANISMS[mechanism])):
        for delta in DELTAS:
            check_epsilon(event, adjacency, delta)
        for epsilon in EPSILONS:
            check_delta(event, adjacency, epsilon)
        answer(rdpkit.compare, event, delta=1e-5, adjacency=adjacency)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("mechanism", "adjacency"),
    [
        pytest.param(
            name,
            relation,
            marks=[pytest.mark.slow] if name in CHOICES and relation != "replace_one" else [],
        )
        for name in QUICK
        for relation in RELATIONS
    ],
)
def test_extreme_numbers_of_simple_releases(mechanism, adjacency):
    check_all(mechanism, adjacency)


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", RELATIONS)
@pytest.mark.parametrize("mechanism", sorted({*MECHANISMS} - {*QUICK}))
def test_extreme_numbers(mechanism, adjacency):
    check_all(mechanism, adjacency)


@pytest.mark.parametrize("noise", [1e-300, 1e-100, 1e-20, 1e20, 1e100, 1e300])
@pytest.mark.parametrize("count", [1, 2])
def test_noise_of_any_size(noise, count):
    event = unit.gaussian(noise) * count
    for delta in (0.0, 1e-300, 1e-5):
        check_epsilon(event, "add_or_remove_one", delta)


@pytest.mark.parametrize("epsilon", [5e-324, 1e-310])
def test_an_epsilon_of_the_smallest_floats_is_as_good_as_none(epsilon):
    event = unit.laplace(2.0) * 9
    found, none = (
        rdpkit.delta(event, epsilon=one, adjacency="add_or_remove_one").delta
        for one in (epsilon, 0.0)
    )
    assert found == none


def test_the_renyi_bound_answers_where_curves_do_not():
    """Epsilon is about 1 / (2 z^2), which is a float."""
    event = unit.gaussian(1e-100)
    found = rdpkit.epsilon(event, delta=1e-5, adjacency="add_or_remove_one").epsilon
    assert found == pytest.approx(5e199, rel=1e-5)


@pytest.mark.parametrize("adjacency", RELATIONS)
def test_samples_of_stated_releases(adjacency):
    """A sample leaks no more than the whole, where a record becomes another or the special one."""
    stated = rdpkit.ZeroConcentrated(rho=0.5, adjacency=adjacency)
    whole = rdpkit.epsilon(stated, delta=1e-5, adjacency=adjacency).epsilon
    samples = [
        rdpkit.PoissonSampled(event=stated, sampling_probability=0.1),
        rdpkit.FixedSizeSampled(event=stated, sample_size=10, population_size=100),
    ]
    for sample in samples:
        for relation in RELATIONS:
            found = rdpkit.epsilon(sample, delta=1e-5, adjacency=relation)
            if math.isinf(found.epsilon):
                name = type(sample).__name__
                assert f"nothing is known about {name} under {relation}" in found.notes
            else:
                assert relation == adjacency
                assert found.epsilon <= whole
    known = rdpkit.epsilon(samples[0], delta=1e-5, adjacency=adjacency)
    assert math.isfinite(known.epsilon)


@pytest.mark.parametrize("dimension", [1, 3])
@pytest.mark.parametrize("adjacency", RELATIONS)
def test_samples_of_discrete_gaussians(adjacency, dimension):
    inner = rdpkit.DiscreteGaussian(sigma=4.0, record_norm=1, dimension=dimension)
    event = rdpkit.PoissonSampled(event=inner, sampling_probability=0.1)
    asked = {"delta": 1e-5, "adjacency": adjacency}
    assert rdpkit.epsilon(event, **asked).epsilon <= rdpkit.epsilon(inner, **asked).epsilon


def test_an_infinity_says_why():
    gaussian = unit.gaussian(1.0)
    found = rdpkit.epsilon(gaussian, delta=0.0, adjacency="add_or_remove_one")
    assert "no epsilon is known to hold with delta = 0" in found.notes
    stated = rdpkit.EpsilonDelta(epsilon=1.0, delta=1e-3, adjacency="replace_one")
    found = rdpkit.epsilon(stated, delta=1e-5, adjacency="replace_one")
    assert math.isinf(found.epsilon)
    assert "no finite epsilon is known to hold at this delta" in found.notes


def test_probabilities_that_may_be_equal_show_nothing():
    event = unit.noisy_maximum(1e15, "laplace")
    check_epsilon(event, "replace_one", 1e-300)
