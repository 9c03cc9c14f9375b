"""What may be released from a random sample, and what has no meaning there."""

from dataclasses import dataclass

import pytest

import rdpkit
from rdpkit import Composed, FixedSizeSampled, Group, Parallel, PoissonSampled
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
