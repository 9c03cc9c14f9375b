"""The search for the best order, against all orders of a fine grid."""

import numpy as np
import pytest

import rdpkit
from rdpkit.accountants.divergence_bounds import upper_bound
from rdpkit.adjacency import Adjacency
from rdpkit.conversions.largest_rdp import optimal_epsilon
from tests.events import of_papers, unit

REPLACE = Adjacency.REPLACE_ONE
GRID = 1.0 + np.geomspace(0.01, 255.0, 1200)


def fixed_size(z, gamma):
    return unit.fixed_size(2.0 * z, max(1, round(gamma * 10_000)), 10_000)


# Several valleys: a kink where another theorem takes over, a steep rise beyond the bend, and parts
# of different sizes beside each other.
EVENTS = {
    "steep": unit.training(1e-4, 0.6, 10),
    "two bends": rdpkit.Composed(events=(unit.training(1e-6, 0.5), unit.training(0.3, 4.0, 20))),
    "weak triangle": of_papers.ndpdc((500, 700), 100, 50.0, noise=1.0),
    "parts that meet": of_papers.dpcda((5000, 900, 6000), 300, 40, noise=0.2, label_noise=0.3),
    "little noise": fixed_size(0.2, 0.001),
    "much noise": fixed_size(40.0, 0.01) * 3,
}


def least(event, delta):
    """The smallest epsilon of any order of the grid."""
    values = upper_bound(event, REPLACE).curve(GRID)
    found = [
        optimal_epsilon(float(a), float(r), delta)[0]
        for a, r in zip(GRID, values, strict=True)
        if 0.0 < r < 600.0
    ]
    return min(found)


def answer(event, delta):
    found = rdpkit.epsilon(
        event, delta=delta, adjacency=REPLACE, bound="best-rdp", order_limits=(1.01, 256.0)
    )
    return found.epsilon


@pytest.mark.thorough
@pytest.mark.parametrize("delta", [1e-8, 1e-3])
@pytest.mark.parametrize("event", EVENTS.values(), ids=EVENTS)
def test_no_order_of_the_grid_is_better(event, delta):
    """1e-9: a round that changes epsilon by less than the root of that is the last."""
    assert answer(event, delta) <= least(event, delta) * (1.0 + 1e-9) + 1e-12
