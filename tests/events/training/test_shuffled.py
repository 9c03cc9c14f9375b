"""Shuffled epochs: all orders of small data sets against the upper bound and the lower one."""

import itertools
import math

import numpy as np
import pytest
from flint import arb

import rdpkit
from rdpkit.accountants.losses.kinds import kind_of
from rdpkit.accountants.losses.kinds.allocation.moves import divergence as moved
from rdpkit.adjacency import Adjacency
from rdpkit.events.pairs import AllocatedMoves
from tests.events import unit


def outputs(records, batch, batches):
    """Sums of both batches with their probabilities, over every order."""
    found = {}
    orders = list(itertools.permutations(records))
    for order in orders:
        sums = tuple(sum(order[k * batch : (k + 1) * batch]) for k in range(batches))
        found[sums] = found.get(sums, 0.0) + 1.0 / len(orders)
    return found


def divergence(first, second, noise, epsilon):
    """The hockey stick of two mixtures in the plane, by a sum over a grid, good to about 1e-3."""
    x = np.linspace(-6 * noise - 3, 6 * noise + 3, 241)

    def density(centres):
        one, two = (np.exp(-0.5 * ((x - c[:, None]) / noise) ** 2) for c in np.array([*centres]).T)
        weights = np.array([*centres.values()])
        return (weights * one.T) @ two / (2 * math.pi * noise**2)

    gap = np.maximum(density(first) - math.exp(epsilon) * density(second), 0.0)
    return float(gap.sum() * (x[1] - x[0]) ** 2)


def event_of(noise, size):
    return unit.shuffled(noise, 2, size)


def bound(event, adjacency, epsilon, *, exchanged):
    """The curve that bounds an epoch at one epsilon."""
    (step,) = event.dominating(adjacency)
    step = getattr(step, "loss", step)
    step = step.reversed() if exchanged else step
    if isinstance(step, AllocatedMoves):
        # All other epsilons are left out.
        return moved(step, math.exp(epsilon))
    return float(kind_of(step).curve(step, True)(arb(epsilon)).upper())


@pytest.mark.parametrize(("noise", "epsilon"), [(0.7, 1.0), (1.0, 0.5), (2.0, 0.0)])
@pytest.mark.parametrize(("others", "diameter"), [(-1.0, 2.0), (0.0, 2.0), (0.5, 0.5)])
def test_no_small_data_set_leaks_more(others, diameter, noise, epsilon):
    """A record as far from the others as may be, or alone with those at the origin."""
    event, rest = unit.shuffled(noise, 2, 5, record_diameter=diameter), [others] * 4
    present = outputs([*rest, 1.0], 2, 2)
    versions = {
        Adjacency.ADD_OR_REMOVE_ONE: outputs(rest, 2, 2),
        Adjacency.REPLACE_ONE: outputs([*rest, 1.0 - diameter], 2, 2),
        Adjacency.ZERO_OUT: outputs([*rest, 0.0], 2, 2),
    }
    for adjacency, absent in versions.items():
        for exchanged, pair in enumerate([(present, absent), (absent, present)]):
            above = bound(event, adjacency, epsilon, exchanged=bool(exchanged))
            assert divergence(*pair, noise, epsilon) <= above + 2e-3


@pytest.mark.thorough
@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize("noise", [0.5, 1.0, 2.0])
def test_the_lower_bound_is_attained_by_its_data_sets(adjacency, noise):
    epsilon = 0.5
    event = event_of(noise, 5)
    found = rdpkit.lower_bound(event, epsilon=epsilon, adjacency=adjacency)[0].delta
    half = {
        Adjacency.ADD_OR_REMOVE_ONE: ([-1.0] * 4, [-1.0] * 4),
        Adjacency.REPLACE_ONE: ([-1.0] * 4, [-1.0] * 5),
        Adjacency.ZERO_OUT: ([-1.0] * 4, [-1.0] * 4 + [0.0]),
    }
    rest, absent = half[adjacency]
    pairs = [(outputs([*rest, 1.0], 2, 2), outputs(absent, 2, 2))]
    if adjacency is Adjacency.ZERO_OUT:
        pairs.append((outputs([0.0] * 4 + [1.0], 2, 2), outputs([0.0] * 5, 2, 2)))
    exact = max(
        divergence(p, q, noise, epsilon) for one, two in pairs for p, q in ((one, two), (two, one))
    )
    assert found <= exact + 1e-3
    # The statistics lose little of what these data sets attain.
    assert found >= 0.7 * exact - 1e-3


def test_without_left_over_records_the_neighbour_has_one_more():
    exact, more = event_of(1.0, 4), event_of(1.0, 5)
    assert exact.presence(Adjacency.ADD_OR_REMOVE_ONE) == 4 / 5
    assert exact.presence(Adjacency.REPLACE_ONE) == 1.0
    one, two = (
        rdpkit.lower_bound(event, delta=1e-3, adjacency="add_or_remove_one")[0].epsilon
        for event in (exact, more)
    )
    assert one == two


@pytest.mark.thorough
def test_little_noise_takes_no_long_lattice():
    event = unit.shuffled(0.1, 256, 60_000)
    found = rdpkit.epsilon(event, delta=1e-5, adjacency="zero_out", lower=True)
    assert 91.0 < found.lower <= found.epsilon < 93.0


@pytest.mark.parametrize(("noise", "epsilon"), [(0.7, 1.0), (1.0, 0.5), (2.0, 0.0)])
@pytest.mark.parametrize("diameter", [2.0, 1.25, 0.5])
def test_a_record_in_one_of_two_batches_leaks_no_more(diameter, noise, epsilon):
    event = unit.allocated(noise, 2, record_diameter=diameter)
    present, other = ({(x, 0.0): 0.5, (0.0, x): 0.5} for x in (1.0, 1.0 - diameter))
    versions = {one: {(0.0, 0.0): 1.0} for one in Adjacency} | {Adjacency.REPLACE_ONE: other}
    for adjacency, absent in versions.items():
        for exchanged, pair in enumerate([(present, absent), (absent, present)]):
            above = bound(event, adjacency, epsilon, exchanged=bool(exchanged))
            assert divergence(*pair, noise, epsilon) <= above + 2e-3
