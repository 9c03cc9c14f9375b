"""Diameters of moments, against pairs of records that attain them or come near."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdpkit.mechanisms.parts.moments.noisy import (
    OF_ALL,
    OF_CLASSES,
    location_diameter,
    moments_diameter,
    together,
)

ANGLE = st.floats(0.0, math.pi / 2)


def vector(record, label, weights, *, kept=2):
    """What a record adds: class sums, its products once, those of its class, and its count."""
    upper = np.triu_indices(len(record))
    root = np.where(upper[0] == upper[1], 1.0, math.sqrt(2.0))
    sums, own = np.zeros((2, len(record))), np.zeros((2, kept * (kept + 1) // 2))
    sums[label] = record
    small = np.triu_indices(kept)
    own[label] = np.outer(record, record)[small] * np.where(small[0] == small[1], 1.0, root.max())
    products = np.outer(record, record)[upper] * root
    a, b, c, k = weights
    parts = a * sums.reshape(-1), b * products, c * own.reshape(-1), k * np.eye(2)[label]
    return np.concatenate(parts)


@settings(max_examples=30)
@given(first=ANGLE, second=ANGLE, third=ANGLE, seed=st.integers(0, 2**32 - 1))
def test_no_two_records_are_farther_apart(first, second, third, seed):
    weights = (math.cos(first), math.sin(first) * math.cos(second),
               math.sin(first) * math.sin(second) * math.cos(third),
               math.sin(first) * math.sin(second) * math.sin(third))  # fmt: skip
    rng = np.random.default_rng(seed)
    most = moments_diameter(*(w * w for w in weights))
    for _ in range(20):
        one, other = rng.normal(size=(2, 3))
        other = other - rng.random() * 2 * one  # often on the other side
        one, other = (x * rng.choice([1.0, 0.9]) / np.linalg.norm(x) for x in (one, other))
        for label in (0, 1):
            found = vector(one, 0, weights) - vector(other, label, weights)
            assert np.linalg.norm(found) <= most * (1 + 1e-12)
        assert np.linalg.norm(vector(one, 0, weights)) <= 1 + 1e-12


@given(angle=ANGLE, seed=st.integers(0, 2**32 - 1))
def test_a_mean_and_squares_are_no_farther_apart(angle, seed):
    a, b = math.cos(angle), math.sin(angle)
    rng = np.random.default_rng(seed)
    groups = np.array([0, 0, 1])
    for one in rng.normal(size=(20, 3)):
        x = one / np.linalg.norm(one)
        for y in (-x, np.roll(x, 1), -np.roll(x, 1)):
            squares = np.bincount(groups, x**2) - np.bincount(groups, y**2)
            found = math.hypot(a * np.linalg.norm(x - y), b * np.linalg.norm(squares))
            assert found <= location_diameter(a, b) * (1 + 1e-12)


def test_several_releases_are_as_private_as_one():
    assert together([2.0, 2.0], [0.5, 0.5]) == pytest.approx(2.0)
    assert together([1.0, 1.5], [0.25, 0.75]) == pytest.approx(math.sqrt(0.25 + 0.75 * 2.25))


@pytest.mark.parametrize(("plan", "most"), [(OF_ALL, 1.85), (OF_CLASSES, 1.46)])
def test_shares_add_up_to_the_budget(plan, most):
    assert plan.sums + plan.pooled + plan.by_class + plan.counts == pytest.approx(1.0, abs=1e-15)
    precision = sum(1.0 / std**2 for std in (*plan.location_noise(3.0), *plan.noise(3.0)) if std)
    assert 9.0 * precision == pytest.approx(1.0)
    assert most - 0.02 < plan.diameter() <= most
