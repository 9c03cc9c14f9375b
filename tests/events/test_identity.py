"""Events that hold the same events again and again, and what makes two events equal."""

import copy
import dataclasses
import gc
import os
import pickle
import threading
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rdpkit
from rdpkit import Composed, Gaussian, Group, Laplace, Parallel, Repeated
from rdpkit.events import identity
from rdpkit.events.base import Event
from rdpkit.events.composition import released_counts
from rdpkit.formats.tables import event_to_table
from rdpkit.pairs.claim_check import Soundness

DEEP = 60


def leaf():
    return Gaussian(noise_std=1e10, record_norm=1.0)


def twice(event):
    return Composed(events=(event, event))


def deep(levels=DEEP, make=twice):
    event = leaf()
    for _ in range(levels):
        event = make(event)
    return event


def like_rabbits(levels):
    """Each level holds the last two, so that no two parts of one composition are equal."""
    one, two = leaf(), Gaussian(noise_std=2e10, record_norm=1.0)
    for _ in range(levels):
        one, two = two, Composed(events=(one, two))
    return two


def test_deep_events_are_compared():
    one, two = deep(), deep()
    assert one == two
    assert hash(one) == hash(two)
    assert len({one, two}) == 1
    assert one != deep(DEEP - 1)
    assert identity.size(one) == 2 ** (DEEP + 1) - 1


def test_deep_events_are_shown_in_short():
    assert repr(deep()) == f"Composed(events=<{2 ** (DEEP + 1) - 2} events>)"
    assert len(deep()._repr_html_()) < 1000
    assert repr(twice(leaf())) == f"Composed(events=({leaf()!r}, {leaf()!r}))"


def test_deep_events_are_copied():
    event = deep()
    assert copy.deepcopy(event) == pickle.loads(pickle.dumps(event)) == event


@pytest.mark.parametrize("adjacency", ["add_or_remove_one", "replace_one"])
def test_deep_events_have_the_numbers_of_what_is_repeated(adjacency):
    flat = Repeated(event=Repeated(event=leaf(), count=2**30), count=2 ** (DEEP - 30))
    for bound in ("best", "best-rdp"):
        asked = {"delta": 1e-5, "adjacency": adjacency, "bound": bound}
        assert rdpkit.epsilon(deep(), **asked).epsilon == pytest.approx(
            rdpkit.epsilon(flat, **asked).epsilon, rel=1e-12
        )
    assert rdpkit.delta(deep(), epsilon=0.1, adjacency=adjacency).delta == pytest.approx(
        rdpkit.delta(flat, epsilon=0.1, adjacency=adjacency).delta, rel=1e-12
    )
    lower = [
        rdpkit.lower_bound(one, delta=1e-5, adjacency=adjacency)[0].epsilon
        for one in (deep(), flat)
    ]
    assert lower[0] == pytest.approx(lower[1], rel=1e-12)
    assert rdpkit.zcdp(deep(), adjacency=adjacency).rho == pytest.approx(
        rdpkit.zcdp(flat, adjacency=adjacency).rho, rel=1e-12
    )
    claimed = rdpkit.check(deep(), epsilon=1.0, delta=1e-5, adjacency=adjacency)
    assert claimed.soundness is Soundness.SOUND


@pytest.mark.parametrize("composition", ["renyi", "zcdp", "gaussian", "fixed-schedule"])
def test_deep_events_are_charged(composition):
    budget = rdpkit.PrivacyFilter(
        epsilon=2.0, delta=1e-5, adjacency="add_or_remove_one", composition=composition
    )
    budget.spend(deep())
    assert 0.0 < budget.used < 2.0
    with pytest.raises(rdpkit.BudgetExceededError, match="exceeds what is left"):
        budget.spend(deep(), count=10**6)


@pytest.mark.parametrize("make", [like_rabbits, deep])
def test_groups_and_samples_of_deep_events(make):
    asked = {"delta": 1e-5, "adjacency": "add_or_remove_one"}
    event = make(DEEP)
    one = rdpkit.epsilon(event, **asked).epsilon
    assert rdpkit.epsilon(Group(event=event, size=3), **asked).epsilon >= one
    assert rdpkit.epsilon(event + make(DEEP), **asked).epsilon >= one
    parallel = Parallel(events=(event, make(DEEP - 1)))
    assert rdpkit.epsilon(parallel, **asked).epsilon == pytest.approx(one)


def test_parts_of_parts_are_deep():
    event = deep(make=lambda inner: Parallel(events=(inner, inner)))
    for adjacency in ("add_or_remove_one", "replace_one", "zero_out"):
        assert rdpkit.epsilon(event, delta=0.0, adjacency=adjacency).epsilon == float("inf")
        rdpkit.lower_bound(event, delta=1e-12, adjacency=adjacency)


def test_partitions_that_multiply_are_refused():
    parts = Parallel(events=(leaf(), Gaussian(noise_std=2e10, record_norm=1.0)))
    event = parts
    for _ in range(DEEP):
        event = twice(event)
    rdpkit.epsilon(event, delta=1e-5, adjacency="replace_one")
    with pytest.raises(ValueError, match="ways in which one record may matter"):
        rdpkit.lower_bound(event, delta=1e-5, adjacency="replace_one")


def test_what_cannot_be_written_out_is_refused():
    with pytest.raises(ValueError, match="can be written out"):
        event_to_table(deep())
    with pytest.raises(ValueError, match="have names"):
        rdpkit.calibrate(
            deep(),
            target_epsilon=1.0,
            delta=1e-5,
            adjacency="add_or_remove_one",
            parameter="noise_std",
        )


NUMBERS = st.sampled_from([1.0, 2.0, 3.0])
LEAVES = st.one_of(
    st.builds(Gaussian, noise_std=NUMBERS, record_norm=NUMBERS),
    st.builds(Laplace, noise_scale=NUMBERS, record_norm=NUMBERS),
)


def nested(events):
    several = st.lists(events, min_size=1, max_size=3)
    return st.one_of(
        st.builds(Composed, events=several),
        st.builds(Parallel, events=several),
        st.builds(Repeated, event=events, count=st.integers(1, 3)),
    )


TREES = st.recursive(LEAVES, nested, max_leaves=12)


def by_fields(one, two):
    """What equality means, written down once more."""
    if type(one) is not type(two):
        return False
    if isinstance(one, tuple):
        return len(one) == len(two) and all(map(by_fields, one, two))
    if not isinstance(one, Event):
        return one == two
    return all(
        by_fields(getattr(one, f.name), getattr(two, f.name)) for f in dataclasses.fields(one)
    )


def counted(event):
    """The primitive events, one for each release."""
    if isinstance(event, Composed):
        return [found for part in event.events for found in counted(part)]
    if isinstance(event, Repeated):
        return counted(event.event) * event.count
    return [event]


@settings(max_examples=20)
@given(one=TREES, two=TREES)
def test_equality_is_that_of_the_fields(one, two):
    assert (one == two) == by_fields(one, two)
    again = pickle.loads(pickle.dumps(one))
    assert again == one
    assert hash(again) == hash(one)
    assert repr(again) == repr(one)


@settings(max_examples=30)
@given(event=TREES)
def test_releases_are_counted(event):
    found = released_counts(event)
    every = counted(event)
    assert list(found) == list(dict.fromkeys(every))
    assert all(every.count(part) == count for part, count in found.items())


@dataclass(frozen=True, kw_only=True)
class WithoutSlots(Event):
    """As a stranger may write it."""

    number: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WithList(Event):
    """A field that cannot be hashed."""

    numbers: list[int]


def test_events_of_strangers():
    one = WithoutSlots(number=1.0)
    assert one == WithoutSlots(number=1)
    assert hash(one) == hash(WithoutSlots(number=1))
    assert one != WithoutSlots(number=2.0)
    assert copy.copy(one) == copy.deepcopy(one) == pickle.loads(pickle.dumps(one)) == one
    assert twice(one) == twice(WithoutSlots(number=1.0))
    assert WithList(numbers=[1]) == WithList(numbers=[1]) != WithList(numbers=[2])
    assert twice(WithList(numbers=[1])) == twice(WithList(numbers=[1]))
    with pytest.raises(TypeError, match="unhashable"):
        hash(WithList(numbers=[1]))
    assert one != leaf()
    assert one != 1.0


@pytest.mark.thorough
def test_nothing_is_kept_of_events_that_are_gone():
    gc.collect()
    before = len(identity._KNOWN)
    event = deep(make=lambda inner: Repeated(event=inner, count=7919))
    hash(event)
    assert len(identity._KNOWN) >= before + DEEP
    del event
    gc.collect()
    assert len(identity._KNOWN) <= before


def test_threads_agree():
    found = []
    start = threading.Barrier(8)

    def compare():
        start.wait()
        found.append(identity.identity(deep(make=lambda e: Repeated(event=e, count=6007))))

    threads = [threading.Thread(target=compare) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, found))) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are made in another way")
def test_a_child_compares_events():
    event = deep()
    with identity._LOCK:
        child = os.fork()
        if child == 0:
            os._exit(0 if deep() == event and twice(event) == deep(DEEP + 1) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
