"""Compiled sums of chosen rows, against Python's own integers and correctly rounded sums."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdpkit.mechanisms.parts.compiled import row_sums as gather

LARGEST = 2**gather.DIGITS - 1


def whole_sum(flat, rows, weights):
    """Sums of weighted rows in integers of any length."""
    return [sum(int(weights[i]) * int(flat[i, x]) for i in rows) for x in range(int(flat.shape[1]))]


def add_plain_bytes(flat, chosen, sums):
    """The sums behind the means of bytes: a mean times l is the whole sum, but for rounding."""
    width = flat.shape[1]
    means = np.full((len(chosen), width), np.nan)
    gather.mean_bytes(flat, chosen, np.ones(width), np.zeros(width), means)
    sums += np.rint(means * chosen.shape[1])


def drawn(seed, *, count, size, width, population=40):
    rng = np.random.default_rng(seed)
    return (
        rng.integers(0, 256, (population, width)).astype(np.uint8),
        rng.integers(0, population, (count, size)),
        rng.integers(0, LARGEST + 1, population).astype(np.uint32),
    )


SHAPES = {
    "seed": st.integers(0, 2**32 - 1),
    "count": st.integers(1, 4),
    "size": st.integers(1, 40) | st.sampled_from([255, 256, 257, 513]),
    "width": st.integers(1, 35),
}


@settings(deadline=None)
@given(**SHAPES)
def test_sums_of_bytes_are_those_of_integers(seed, count, size, width):
    flat, chosen, weights = drawn(seed, count=count, size=size, width=width)
    for given_weights, run in (
        (np.ones(len(flat), int), lambda sums: add_plain_bytes(flat, chosen, sums)),
        (
            weights,
            lambda sums: gather.weighted_bytes(flat, chosen, gather.split(weights), sums),
        ),
    ):
        sums = np.zeros((count, width))
        run(sums)
        for found, rows in zip(sums, chosen, strict=True):
            assert found.tolist() == whole_sum(flat, rows, given_weights)


@pytest.mark.parametrize("size", [1, 15, 16, 17, 255, 256, 257, 258, 5000])
def test_the_largest_bytes_and_weights_lose_nothing(size):
    """All ones in every digit and byte fill single precision and 16 bits to the limit."""
    flat = np.full((3, 5), 255, np.uint8)
    chosen = np.arange(size)[None, :] % 3
    sums = np.zeros((1, 5))
    add_plain_bytes(flat, chosen, sums)
    assert sums.tolist() == [[255 * size] * 5]
    sums[:] = 0
    gather.weighted_bytes(flat, chosen, gather.split(np.full(3, LARGEST, np.uint32)), sums)
    assert sums.tolist() == [[255 * size * LARGEST] * 5]


@settings(deadline=None)
@given(**SHAPES)
def test_sums_of_numbers_are_close_to_correctly_rounded_ones(seed, count, size, width):
    rng = np.random.default_rng(seed)
    flat = rng.normal(size=(40, width)) * 10.0 ** rng.integers(-6, 7, (40, 1))
    chosen, weights = rng.integers(0, 40, (count, size)), rng.random(40)
    sums = np.zeros((count, width))
    gather.weighted_numbers(flat, chosen, weights, sums)
    for t in range(count):
        for x in range(width):
            terms = [float(weights[i] * flat[i, x]) for i in chosen[t]]
            # One rounding of 2^-53 for every addition, of partial sums no larger than this.
            limit = size * 2.0**-53 * math.fsum(map(abs, terms))
            assert abs(sums[t, x] - math.fsum(terms)) <= limit


@pytest.mark.parametrize("size", [1, 7, 8, 16, 300])
def test_means_of_bytes_are_divided_and_scaled_with_one_rounding_each(size):
    flat, chosen, _ = drawn(size, count=3, size=size, width=21)
    rng = np.random.default_rng(size)
    factor, shift = rng.normal(size=21), rng.normal(size=21)
    means = np.full((3, 21), np.nan)
    gather.mean_bytes(flat, chosen, factor, shift, means)
    sums = flat[chosen].sum(axis=1, dtype=np.float64)
    np.testing.assert_array_equal(means, sums / size * factor + shift)


def test_sums_are_added_to_what_is_there():
    flat, chosen = np.full((2, 3), 2, np.uint8), np.array([[0, 1, 1]])
    sums = np.full((1, 3), 0.5)
    add_plain_bytes(flat, chosen, sums)
    assert sums.tolist() == [[6.5] * 3]
    gather.weighted_numbers(flat, chosen, np.array([1.0, 0.25]), sums)
    assert sums.tolist() == [[9.5] * 3]
    gather.weighted_bytes(flat, chosen, gather.split(np.array([1, 4096], np.uint32)), sums)
    assert sums.tolist() == [[9.5 + 2 + 4 * 4096] * 3]
