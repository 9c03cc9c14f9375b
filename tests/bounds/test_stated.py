"""A curve given by the user: its own values, chords between, nothing above."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import rdpkit
from tests.bounds.strategies import log_uniform

ADD = rdpkit.Adjacency.ADD_OR_REMOVE_ONE


def curve(orders, values, asked, adjacency=ADD):
    event = rdpkit.CustomRdp(orders=orders, values=values, adjacency=adjacency)
    return rdpkit.RdpCurve.of(event, orders=asked, adjacency=adjacency).values


def test_at_its_own_orders():
    values = (0.1, 0.2, 0.9)
    assert_allclose(curve((1.5, 2.0, 8.0), values, [1.5, 2.0, 8.0]), values, rtol=5e-16)


def test_chord_of_the_scaled_divergence():
    """(a-1) r is 0.2 at 2 and 6.3 at 8: at 5 the chord is 3.25, and r = 3.25 / 4."""
    assert_allclose(curve((2.0, 8.0), (0.2, 0.9), [5.0]), [0.8125], rtol=1e-15)


def test_below_the_first_order_its_value():
    assert curve((2.0, 8.0), (0.2, 0.9), [1.0 + 1e-9, 1.5]).tolist() == [0.2, 0.2]


def test_above_the_last_order_nothing():
    assert curve((2.0, 8.0), (0.2, 0.9), [8.0, 8.5]).tolist() == [0.9, math.inf]


def test_infinite_values():
    found = curve((2.0, 4.0, 8.0), (0.2, 0.4, math.inf), [2.0, 4.0, 6.0, 8.0])
    assert_allclose(found, [0.2, 0.4, math.inf, math.inf], rtol=5e-16)


def test_one_order():
    assert curve((2.0,), (0.2,), [1.5, 2.0, 3.0]).tolist() == [0.2, 0.2, math.inf]


@settings(max_examples=60)
@given(
    st.lists(log_uniform(0.01, 200.0), min_size=2, max_size=6, unique=True),
    log_uniform(0.01, 200.0),
    log_uniform(1e-3, 0.9),
)
def test_never_below_the_curve_it_samples(gaps, gap, q):
    """Chords of a true curve lie above it; inf above its last order. Rounding: 1e-11."""
    orders = 1.0 + np.sort(np.array(gaps))
    if (np.diff(orders) <= 0.0).any():
        return
    options = {"noise_multiplier": 2.0, "sampling_probability": q}
    values = rdpkit.sampled_gaussian_rdp(orders, **options)
    found = curve(tuple(orders), tuple(values), [1.0 + gap])[0]
    assert found >= rdpkit.sampled_gaussian_rdp([1.0 + gap], **options)[0] * (1.0 - 1e-11)


def test_holds_under_its_own_adjacency_only():
    event = rdpkit.CustomRdp(orders=(2.0,), values=(0.2,), adjacency="replace_one")
    assert rdpkit.RdpCurve.of(event, orders=[2.0], adjacency=ADD).values.tolist() == [math.inf]
    found = rdpkit.epsilon(event, delta=1e-5, adjacency=ADD)
    assert found.epsilon == math.inf
    assert found.order is None
