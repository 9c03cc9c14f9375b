"""``@verifies`` without pytest: what it makes of a function, and what it refuses."""

import functools
import inspect

import numpy as np
import pytest

import rdpkit
from rdpkit.verification import verifies
from rdpkit.verification.blackbox.neighbours import LabelledData, Neighbours
from tests.processes import loaded

EVENT = rdpkit.Gaussian(noise_std=2.0, record_norm=1.0)
claimed = functools.partial(verifies, EVENT, adjacency="add_or_remove_one")


def release(dataset, rng, std=0.5):
    """How many records there are, with noise."""
    return len(dataset) + rng.normal(0.0, std)


def test_a_decorated_function_is_still_the_mechanism():
    test = claimed()(release)
    data = LabelledData(features=[[1.0], [2.0]])
    assert test(data, np.random.default_rng(1)) == release(data, np.random.default_rng(1))
    assert test.mechanism is release
    assert (test.__name__, test.__doc__) == (release.__name__, release.__doc__)
    assert (test.event, test.adjacency.value) == (EVENT, "add_or_remove_one")


def test_pytest_sees_the_fixture_and_the_other_parameters():
    class Tests:
        @claimed()
        def test_it(self, dataset, rng, std, *, seconds):
            """A method."""

    names = list(inspect.signature(Tests.test_it).parameters)
    assert names == ["self", "verifies", "std", "seconds"]


@pytest.mark.thorough
def test_it_is_tested_without_pytest():
    test = claimed(samples=8000)(release)
    result = test.verify(seed=1)
    assert (result.rejected, result.seed, result.target) == (True, 1, "release")
    assert not test.verify(seed=1, std=2.0, samples=2000).rejected
    assert test.verify(seed=1).as_dict() == result.as_dict()


def test_a_pair_of_data_sets_may_be_handed_in():
    one, none = LabelledData(features=[[1.0]]), LabelledData(features=np.zeros((0, 1)))
    pair = Neighbours(first=one, second=none, adjacency="add_or_remove_one", description=("mine",))
    for given in (pair, [pair]):
        found = claimed(neighbours=given)(release).verify(seed=1, samples=2000)
        assert "mine" in found.pair
    with pytest.raises(ValueError, match="Expected neighbours to be"):
        claimed(neighbours=[1])(release).verify()


@pytest.mark.thorough
def test_a_claim_needs_no_event():
    test = verifies(adjacency="replace_one", epsilon=0.1, delta=0.0)(release)
    assert test.verify(seed=1, samples=3000).claim.describe() == "(0.1, 0)-DP under replace_one"
    assert not hasattr(test, "event")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"adjacency": "near"}, "Expected adjacency"),
        ({"adjacency": "zero_out"}, "code is run on ordinary records alone"),
        ({"adjacency": "replace_one", "event": None}, "Expected an event, or epsilon and delta"),
        ({"adjacency": "replace_one", "event": 1.0}, "Expected event to be"),
        ({"adjacency": "replace_one", "sample": 10}, "got 'sample'. Did you mean 'samples'"),
        ({"adjacency": "replace_one", "samples": -1}, "Expected samples"),
        ({"adjacency": "replace_one", "neighbours": "mine"}, "Expected neighbours"),
        ({"adjacency": "replace_one", "false_alarm_rate": 0.1}, "share one error rate"),
    ],
)
def test_a_mistake_is_an_error_where_it_was_made(given, message):
    with pytest.raises(ValueError, match=message):
        verifies(**{"event": EVENT, **given})


def test_adjacency_has_no_default():
    with pytest.raises(TypeError, match="adjacency"):
        verifies(EVENT)


def too_few(rng):
    """No data set."""


def by_name(dataset, *, rng):
    """The generator has to be named."""


async def later(dataset, rng):
    """No ordinary function."""


@pytest.mark.parametrize("function", [too_few, by_name, later, functools.partial(release), 3])
def test_only_a_function_of_a_data_set_and_a_generator_can_be_decorated(function):
    with pytest.raises(ValueError, match=r"Expected @verifies\(event, adjacency=\.\.\.\) above"):
        claimed()(function)


def test_rdpkit_verify_knows_the_claim_of_a_decorated_function():
    from rdpkit.verification.blackbox.targets import target

    own = target(claimed()(release)).own
    assert (own.event, own.adjacency.value) == (EVENT, "add_or_remove_one")


def test_the_import_is_light():
    found = loaded("from rdpkit.verification import verifies")
    heavy = {"pytest", "sklearn", "scipy", "torch", "rdpkit.verification.blackbox.verify"}
    assert not found & heavy
