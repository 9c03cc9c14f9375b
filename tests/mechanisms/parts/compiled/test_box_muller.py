"""Sums of four normal numbers: against balls, against libraries, and compiled against portable."""

import math
import sys

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from rdpkit.mechanisms.parts import noise
from rdpkit.mechanisms.parts.compiled import box_muller
from rdpkit.mechanisms.parts.noise import NoiseSource
from tests.oracles.box_muller import distance, exact_pair

STORED = [
    "0x1.50e1368782be3p-3",
    "-0x1.73ebc342c4597p+0",
    "-0x1.935ad7a069ddep-3",
    "-0x1.2628e6aa20b18p-1",
]

WORDS = st.integers(0, 2**64 - 1) | st.sampled_from(
    # The ends of the range, the quarters of a turn and the middles between them, and their
    # neighbours; 2^63 and 2^62.5 are where the exponent of the radius changes.
    sorted(
        {
            min(max((eighth << 61) + (near << 11), 0), 2**64 - 1)
            for eighth in range(9)
            for near in (-2, -1, 0, 1)
        }
        | {math.isqrt(2**127) + (near << 11) for near in (-1, 0, 1)}
    )
)


def by_library(words):
    """The same with the logarithm, the cosine and the sine of numpy, each word by itself."""
    upper = words >> np.uint64(11)
    radius = np.sqrt(-2.0 * np.log((upper[0] + np.uint64(1)) * 2.0**-53))
    angle = upper[1] * (2.0 * math.pi * 2.0**-53)
    return np.concatenate([(radius * f(angle)).sum(axis=0) for f in (np.cos, np.sin)])


def drawn(seed, half):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 2**64, (2, 4, half), dtype=np.uint64)


@pytest.mark.thorough
@given(st.lists(WORDS, min_size=8, max_size=8))
def test_a_number_is_as_near_to_the_exact_one_as_documented(chosen):
    words = np.array(chosen, np.uint64).reshape(2, 4, 1)
    found = np.empty(2)
    box_muller.portable_sums(words, found)
    pairs = [exact_pair(chosen[i], chosen[4 + i]) for i in range(4)]
    for place in range(2):
        exact = sum((pair[place] for pair in pairs), arb(0))
        # The noise is half of the sum, so that the sum may be off by twice 2^-45.
        assert abs(exact - arb(found[place])).upper() <= 2.0**-44


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "bound"), [("LOGARITHM", 4e-18), ("SINE", 8e-17), ("COSINE", 7e-17)]
)
def test_the_polynomials_are_proven(name, bound):
    """The bounds of the page on the noise, for the coefficients as they are stored."""
    stored = getattr(box_muller, name)
    assert float(distance(name, stored)) < bound
    # One wrong bit in the fourth coefficient is noticed.
    wrong = [*stored[:3], stored[3] * (1 + 2.0**-30), *stored[4:]]
    assert float(distance(name, wrong)) > bound


@pytest.mark.parametrize("half", [1, 2, 3, 7, 8, 65, 1000, 8192])
def test_compiled_and_portable_sums_are_the_same_bits(half):
    pytest.importorskip("numba")
    run = box_muller.compiled_sums()
    assert run is not box_muller.portable_sums
    for seed in range(3):
        words = drawn(seed, half)
        words.reshape(8, half)[:, 0] = (0, 2**64 - 1, 2**63, 1 << 11, 0, 2**64 - 1, 2**61, 2**63)
        compiled, portable = np.empty(2 * half), np.full(2 * half, np.nan)
        run(words, compiled)
        box_muller.portable_sums(words, portable)
        np.testing.assert_array_equal(compiled, portable)
        # Libraries round angles to double precision first: 2^-51 of 2 pi, times 8.6, times four.
        np.testing.assert_allclose(compiled, by_library(words), rtol=0, atol=1e-13)


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("size", [1, 5, 16384, 40_001])
def test_the_stream_does_not_depend_on_the_compiler(monkeypatch, kind, size):
    portable, compiled = np.ones(size, kind), np.ones(size, kind)
    plain, fast = NoiseSource.seeded(size), NoiseSource.seeded(size)
    plain.add_normal(portable, std=0.7)
    monkeypatch.setattr(noise, "_WORTH_COMPILING", 0)
    fast.add_normal(compiled, std=0.7)
    np.testing.assert_array_equal(portable, compiled)
    assert plain.position == fast.position
    np.testing.assert_array_equal(plain.words(3), fast.words(3))


def test_a_seed_gives_these_bits_on_every_machine():
    """Drawn on x86-64; nothing but the operations of IEEE 754 is in the way elsewhere."""
    found = NoiseSource.seeded(20).normal(4)
    assert [value.hex() for value in found.tolist()] == STORED


def test_without_numba_and_with_a_wrong_cache_the_stream_stays(monkeypatch):
    monkeypatch.setattr(box_muller, "_compiled", [])
    monkeypatch.setitem(sys.modules, "numba", None)
    assert box_muller.compiled_sums() is box_muller.portable_sums
    monkeypatch.setattr(box_muller, "_compiled", [])
    monkeypatch.setattr(box_muller, "_with_numba", lambda: lambda words, found: found.fill(0.5))
    assert box_muller.compiled_sums() is box_muller.portable_sums


def test_a_folder_that_cannot_be_written_stops_nothing(monkeypatch):
    numba = pytest.importorskip("numba")
    from rdpkit.mechanisms.parts.compiled import compiler

    asked = []

    def refusing(**options):
        asked.append(options)
        if options.get("cache"):
            raise RuntimeError("cannot cache function")
        return numba.njit(**options)

    monkeypatch.setattr(compiler, "njit", refusing)
    assert compiler.compiled()(lambda x: x + 1)(2) == 3
    assert asked == [{"nogil": True, "cache": True}, {"nogil": True}]
