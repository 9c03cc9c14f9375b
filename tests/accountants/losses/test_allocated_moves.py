"""One of several sums is moved: against integrals and random vectors."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import ndtr

import rdpkit
from rdpkit.accountants.losses.kinds.allocation.moves import divergence
from rdpkit.events.pairs import AllocatedMoves
from tests.events import unit

MOVES = {
    "zeroed": ((2.0, 1.0), (1.0, 0.0)),
    "restored": ((1.0, 0.0), (2.0, 1.0)),
    "replaced": ((2.0, 0.0), (2.0, 0.0)),
    "opposite": ((1.0, -1.0), (1.0, -1.0)),
}
ENDS = (-40.0, 40.0)


def bound(name, noise, batches, ratio, presence=1.0):
    gains, losses = MOVES[name]
    step = AllocatedMoves(
        noise_multiplier=noise, batches=batches, gains=gains, losses=losses, presence=presence
    )
    return divergence(step, ratio)


def call(x, a, b, means, s):
    """E(a A_u - b A_v - x)_+ for x >= 0 and u > v, by bisection for the place where it is 0."""
    u, v = means

    def excess(g):
        return (
            a * math.exp(u * s * g - (u * s) ** 2 / 2)
            - b * math.exp(v * s * g - (v * s) ** 2 / 2)
            - x
        )

    low, high = ENDS
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if excess(middle) > 0.0 else (middle, high)
    return a * ndtr(u * s - low) - b * ndtr(v * s - low) - x * ndtr(-low)


def height(x, ratio, name, s):
    """E(f - x)_+ of the distribution that is larger than all f in convex order, at any x."""
    gains, losses = MOVES[name]
    if x >= 0.0:
        return call(x, 1.0, ratio, gains, s)
    return 1.0 - ratio - x + call(-x, ratio, 1.0, losses, s)


def of_two(name, noise, ratio):
    """Two independent copies, by scipy's quadrature over one of them; good to about 1e-8."""
    s = 1.0 / noise
    total = 0.0
    whole = 1.0
    for sign, means, a, b in (
        (1.0, MOVES[name][0], 1.0, ratio),
        (-1.0, MOVES[name][1], ratio, 1.0),
    ):
        u, v = means
        start = math.log(b / a) / ((u - v) * s) + (u + v) * s / 2

        def weighted(g, *, sign=sign, u=u, v=v, a=a, b=b):
            x = a * math.exp(u * s * g - (u * s) ** 2 / 2) - b * math.exp(
                v * s * g - (v * s) ** 2 / 2
            )
            density = math.exp(-g * g / 2) / math.sqrt(2 * math.pi)
            return height(-sign * max(x, 0.0), ratio, name, s) * density

        pieces = [start + d for d in (0.0, 0.5, 2.0, 5.0, 12.0)]
        total += sum(quad(weighted, p, q, epsabs=1e-12, limit=200)[0] for p, q in pairwise(pieces))
        whole -= ndtr(-start)
    return (total + whole * height(0.0, ratio, name, s)) / 2.0


@pytest.mark.parametrize("name", MOVES)
@pytest.mark.parametrize(("noise", "epsilon"), [(0.7, 1.5), (1.0, 0.0), (2.0, 0.4)])
def test_two_sums_are_what_an_integral_says(name, noise, epsilon):
    ratio = math.exp(epsilon)
    exact, found = of_two(name, noise, ratio), bound(name, noise, 2, ratio)
    assert exact - 1e-8 <= found <= exact * 1.02 + 1e-8


@pytest.mark.thorough
@settings(max_examples=40)
@given(
    st.sampled_from(["zeroed", "restored", "replaced", "opposite"]),
    st.lists(st.floats(-1, 1), min_size=4, max_size=4),
    st.floats(0.3, 2.0),
    st.floats(0.0, 3.0),
    st.floats(-4.0, 4.0),
)
def test_no_moves_are_larger_in_convex_order(name, numbers, s, epsilon, x):
    """E(A_u - lambda A_v - x)_+ for vectors in the plane, by a sum over a grid, good to 1e-3."""
    x1, x2, y1, y2 = numbers
    one, two = np.array([x1, x2]), np.array([y1, y2])
    one, two = (vector / max(1.0, np.hypot(*vector)) for vector in (one, two))
    if name in ("zeroed", "restored"):
        u, v = one - two, -two
        if name == "restored":
            u, v = v, u
    elif name == "opposite":
        u, v = one, two
    else:
        # Three records of norm 1: differences from the third.
        third = np.array([0.6, -0.8]) * numbers[0]
        u, v = one - third, two - third
    ratio = math.exp(epsilon)
    axis = np.linspace(-9.0, 9.0, 241)
    g, h = np.meshgrid(axis, axis)
    weights = np.exp(-(g * g + h * h) / 2) / (2 * math.pi) * (axis[1] - axis[0]) ** 2

    def likelihood(w):
        a, b = s * w
        return np.exp(a * g + b * h - (a * a + b * b) / 2)

    # The grid sees the Gaussians that are moved, where their mass is.
    found = float((np.maximum(likelihood(u) - ratio * likelihood(v) - x, 0.0) * weights).sum())
    assert found <= height(x, ratio, name, s) * (1 + 1e-3) + 1e-3 * ratio


SHUFFLED = unit.shuffled(1.1, 256, 60_000)
ALLOCATED = unit.allocated(2.0, 10)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("event", "adjacency", "room"),
    [
        (SHUFFLED, "add_or_remove_one", 1.002),
        (SHUFFLED * 60, "add_or_remove_one", 1.002),
        (SHUFFLED, "zero_out", 1.01),
        (SHUFFLED, "replace_one", 1.05),
        (ALLOCATED * 100, "replace_one", 1.01),
    ],
)
def test_the_bound_is_nearly_attained(event, adjacency, room):
    above = rdpkit.epsilon(event, delta=1e-5, adjacency=adjacency).epsilon
    below = rdpkit.lower_bound(event, delta=1e-5, adjacency=adjacency)[0].epsilon
    assert below <= above <= room * below
