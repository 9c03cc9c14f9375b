"""The Poisson-sampled Gaussian under replace-one: never below the explicit pairs."""

import numpy as np
import pytest

import rdpkit
from rdpkit.accountants.event_tree import sound_bounds
from tests.bounds.pairs import exact_divergence
from tests.events.unit import poisson

REPLACE = rdpkit.Adjacency.REPLACE_ONE
ORDERS = np.array([1.3, 4.5])


THEOREMS = [bound.id for bound in sound_bounds(poisson(1.0, 0.1), REPLACE)]


def values(theorem, described):
    (bound,) = (b for b in sound_bounds(described, REPLACE) if b.id == theorem)
    return bound.values(described, ORDERS, REPLACE)


@pytest.mark.parametrize("theorem", THEOREMS)
@pytest.mark.parametrize(("z", "q"), [(0.6, 0.9), (2.0, 0.2), (2.0, 1.0 - 1e-9), (10.0, 1e-3)])
def test_never_below_opposite_records(theorem, z, q):
    """A record at +1 replaced by one at -1, and by one at the origin.

    Rounding: 1e-10, and 1e-13 absolute in (order - 1) D, which a logarithm near 0 loses.
    """
    found = values(theorem, poisson(z, q))
    for other in (-1.0, 0.0):
        exact = [exact_divergence(a, z, q, (1.0, 0.0), (other, 0.0)) for a in ORDERS]
        assert (found >= np.array(exact) * (1.0 - 1e-10) - 1e-13 / (ORDERS - 1.0)).all()


@pytest.mark.parametrize("z", [0.6, 2.0])
def test_no_amplification_counts_the_diameter(z):
    """Twice the norm by default, or the diameter that is given."""
    found = values("no-amplification", poisson(z, 0.3))
    assert found == pytest.approx(ORDERS * 4.0 / (2.0 * z * z), rel=1e-14)
    found = values("no-amplification", poisson(z, 0.3, record_diameter=1.5))
    assert found == pytest.approx(ORDERS * 2.25 / (2.0 * z * z), rel=1e-14)


def test_weak_triangle_is_exact_without_sampling():
    """At q = 1 both steps lie on a line, and nothing is lost but eight digits of p."""
    found = values("poisson-weak-triangle", poisson(2.0, 1.0))
    assert found == pytest.approx(ORDERS * 4.0 / 8.0, rel=1e-9)


def test_weak_triangle_gains_from_sampling():
    sampled = values("poisson-weak-triangle", poisson(2.0, 0.01))
    assert (sampled < 0.01 * values("no-amplification", poisson(2.0, 0.01))).all()


def test_nothing_is_sampled():
    curve = rdpkit.RdpCurve.of(poisson(2.0, 0.0), orders=ORDERS, adjacency=REPLACE)
    assert curve.values.tolist() == [0.0, 0.0]
