"""Inversion along a line: errors of floats, aliases, and answers that can be enumerated."""

import math
from dataclasses import replace

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

import rdpkit
from rdpkit.accountants import loss_distributions as losses
from rdpkit.accountants.losses.grid import Grid, Tilted
from rdpkit.accountants.losses.inversion import DELTA, TAIL, Inversion, Line, transformed
from rdpkit.events.losses import Step
from tests.events import unit

LINE = Line(deviation=0.05, frequency=0.2, count=900)


def tail(x):
    """P(N(0, 1) > x)."""
    return 0.5 * math.erfc(x / math.sqrt(2.0))


def hockey_stick(x, mean, deviation):
    """E[(1 - e^(x - Y))_+] for Y normal with a mean and a deviation."""
    z = (mean - x) / deviation
    shift = math.exp(x - mean + deviation**2 / 2.0)
    return tail(-z) - shift * tail(-(z - deviation))


def tilted(losses_, masses, grid):
    """Masses at losses, as they are kept on a grid."""
    indices = np.round(np.array(losses_) / grid.step).astype(np.int64)
    weights = np.array(masses) * np.exp(grid.tilt * indices * grid.step)
    return Tilted(indices=indices, masses=weights, scale=0.0)


@given(
    st.lists(st.floats(-3.0, 3.0), min_size=1, max_size=40, unique=True),
    st.floats(1e-3, 3.0),
    st.integers(1, 700),
)
@settings(max_examples=25, deadline=None)
def test_floats_are_as_accurate_as_they_say(places, frequency, count):
    grid = Grid(step=2.0**-30, tilt=0.0)
    one = tilted(sorted(places), np.linspace(0.1, 1.0, len(places)), grid)
    line = Line(deviation=0.1, frequency=frequency, count=count)
    (rough,) = transformed([one], grid, line)
    (exact,) = transformed([one], grid, replace(line, in_balls=True))
    with ctx.workprec(144):
        for j in range(0, count + 1, 37):
            off = exact.balls[j] * exact.total - exact.total
            real, imag = (
                off.real - float(rough.moved[j].real),
                off.imag - float(rough.moved[j].imag),
            )
            assert real * real + imag * imag <= arb(float(rough.off[j]) + 1e-35) ** 2


@pytest.mark.parametrize("in_balls", [False, True])
@pytest.mark.parametrize(("kernel", "of"), [(DELTA, hockey_stick), (TAIL, None)])
def test_a_sum_that_can_be_enumerated(kernel, of, in_balls):
    """Seven copies of two losses: a binomial mixture of shifted normal losses."""
    grid = Grid(step=2.0**-20, tilt=1.5)
    low, high, p, count = -0.25, 0.5, 0.3, 7
    part = tilted([low, high], [1.0 - p, p], grid)
    line = replace(LINE, in_balls=in_balls)
    found = Inversion([(transformed([part], grid, line)[0], count)], grid, line, kernel)
    for x in (0.0, 0.4, 1.3, 2.5):
        exact = 0.0
        for k in range(count + 1):
            share = math.comb(count, k) * p**k * (1.0 - p) ** (count - k)
            place = k * high + (count - k) * low
            if of is None:
                exact += share * tail((x - place) / line.deviation)
            else:
                exact += share * of(x, place + line.deviation**2 / 2.0, line.deviation)
        above, below = float(found.at(x).upper()), float(found.below(x))
        assert below <= exact * (1.0 + 1e-12)
        assert above >= exact * (1.0 - 1e-12)
        assert above - below <= 1e-9


def test_aliases_are_bounded():
    """With a period that is far too short the bounds are wide, and still hold."""
    grid = Grid(step=2.0**-20, tilt=1.0)
    line = Line(deviation=0.1, frequency=2.0 * math.pi / 3.0, count=60)
    part = tilted([0.5], [1.0], grid)
    found = Inversion([(transformed([part], grid, line)[0], 1)], grid, line, TAIL)
    exact = tail((0.3 - 0.5) / 0.1)
    assert float(found.below(0.3)) <= exact <= float(found.at(0.3).lower())
    assert float(found.at(0.3).mid()) > exact + 0.01


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("q", "z", "count", "delta"),
    [
        (0.004267, 1.1, 234, 1e-5),
        (0.001, 1.5, 100, 1e-5),
        (1e-4, 0.7, 10**5, 1e-5),
        (1e-4, 0.7, 10**5, 1.1e-10),
        (6.981e-5, 1.049, 5, 2.45e-30),
    ],
)
def test_thin_samples_have_close_bounds(q, z, count, delta):
    """Lower bounds were up to 7 % below upper ones where a sample is thin."""
    one = ((Step(kind="removed", noise_multiplier=z, sampling_probability=q), count),)
    above = losses.epsilon_above(one, delta=delta).value
    below = losses.epsilon_below(one, delta=delta).value
    assert 0.0 < below <= above <= below * 1.0015


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("q", "z", "count", "delta"),
    [
        (0.004547613631479091, 3.8169557786241564, 4, 1.6486076875654212e-20),
        (0.013282345409683226, 3.535539041103424, 5, 6.436619347936841e-37),
        (0.004267, 1.1, 234, 1e-5),
    ],
)
def test_a_few_releases_at_a_tiny_delta_are_sharp_from_below(q, z, count, delta):
    event = unit.poisson(z, q)
    lower = rdpkit.lower_bound(event * count, delta=delta, adjacency="add_or_remove_one")[0]
    upper = rdpkit.epsilon(event * count, delta=delta, adjacency="add_or_remove_one")
    assert lower.epsilon <= upper.epsilon <= lower.epsilon * (1.0 + 1e-3)
