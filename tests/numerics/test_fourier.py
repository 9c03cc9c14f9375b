"""Our own Fourier transform and compositions: exact in integers, and inside of their bounds."""

import ctypes
import ctypes.util
import math
import os
import platform
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from flint import arb, ctx, fmpq, fmpq_poly
from hypothesis import given, settings
from hypothesis import strategies as st

from rdpkit.numerics import fourier
from rdpkit.numerics.fourier import DOUBLE, Factor, compose, geometric, spectrum_of, transform
from tests.processes import ran

FORMATS = [DOUBLE, *([fourier.extended()] if fourier.extended() else [])]


@pytest.mark.parametrize("size", [1 << k for k in range(15)])
def test_it_is_the_discrete_fourier_transform(size):
    rng = np.random.default_rng(1)
    values = rng.normal(size=size) + 1j * rng.normal(size=size)
    exact = np.fft.fft(values)
    off = np.linalg.norm(transform(values) - exact)
    # The library's is off by a few u as well.
    assert off <= (DOUBLE.transform_error(size) + 1e-14) * np.linalg.norm(exact)


@pytest.mark.parametrize("format_", FORMATS, ids=lambda f: f.real.__name__)
def test_its_error_is_below_its_bound(format_):
    """Against balls of 200 bits; the bound is worst-case, so the error is well inside."""
    from flint import acb

    size = 256
    values = np.random.default_rng(2).normal(size=size)
    with ctx.workprec(200):
        exact = acb.dft([acb(float(v)) for v in values])
        found = transform(values.astype(format_.complex), format_)
        square = arb(0)
        for one, ball in zip(found, exact, strict=True):
            for part, whole in ((one.real, ball.real), (one.imag, ball.imag)):
                high = float(part)
                square += (arb(high) + arb(float(part - high)) - whole) ** 2
        norm = sum((abs(ball) ** 2 for ball in exact), arb(0)).sqrt()
        off = float((square.sqrt() / norm).upper())
    assert 0.0 < off <= 0.5 * format_.transform_error(size)


def exactly(factors, size):
    """The cyclic convolution in rational numbers."""
    product = fmpq_poly([1])
    for masses, count in factors:
        one = fmpq_poly([fmpq(*float(v).as_integer_ratio()) for v in masses])
        product *= one**count
    folded = [fmpq(0)] * size
    for k in range(len(product)):
        folded[k % size] += product[k]
    return folded


@settings(max_examples=25)
@given(
    st.lists(
        st.tuples(st.lists(st.floats(0.0, 1.0), min_size=16, max_size=16), st.integers(1, 9)),
        min_size=1,
        max_size=3,
    ),
    st.sampled_from(FORMATS),
)
def test_compositions_are_enclosed(parts, format_):
    """Exact rational arithmetic lies between what is said to be below and above, in every mass."""
    factors = []
    for values, count in parts:
        masses = np.array(values)
        masses /= max(masses.sum(), 1.0)
        factors.append((masses, count))
    found = compose([Factor(masses=m, count=c) for m, c in factors], format_)
    for low, high, exact in zip(
        found.below().tolist(), found.above().tolist(), exactly(factors, 16), strict=True
    ):
        assert fmpq(*low.as_integer_ratio()) <= exact <= fmpq(*high.as_integer_ratio())
    assert found.error < 1e-10


@pytest.mark.parametrize("count", [10, 1000, 10**6, 10**9])
def test_the_bound_grows_with_the_count_and_holds(count):
    """A binomial distribution, whose masses balls know: nothing is constant in the count."""
    size = 64
    masses = np.zeros(size)
    masses[0], masses[1] = 1.0 - 2.0**-20, 2.0**-20
    found = compose([Factor(masses=masses, count=count)])
    with ctx.workprec(256):
        spectrum = [
            (
                arb(masses[0]) + arb(masses[1]) * (arb(-2 * f) / size).cos_pi(),
                arb(masses[1]) * (arb(-2 * f) / size).sin_pi(),
            )
            for f in range(size)
        ]
        from flint import acb

        powers = [acb(re, im) ** count for re, im in spectrum]
        for k in (0, 1, 17, 40):
            exact = (
                sum(
                    (p * acb(0, 2 * arb.pi() * f * k / size).exp() for f, p in enumerate(powers)),
                    acb(0),
                ).real
                / size
            )
            assert abs(exact - float(found.masses[k])) <= found.error * (1.0 + 1e-9) + 1e-16
            assert found.below()[k] <= exact.upper()
            assert exact.lower() <= found.above()[k]
    assert found.error <= 1e-14 * count


def test_heavy_masses_are_summed_up_directly():
    """A release that hardly ever says anything: its error is that of one product, not of a pass."""
    size = 1 << 14
    masses = np.full(size, 1e-9 / size)
    masses[5] = 1.0
    _, error = spectrum_of(masses)
    assert error < 2e-15
    assert error < 0.01 * DOUBLE.transform_error(size) * math.sqrt(size)


def test_too_many_copies_are_refused():
    with pytest.raises(ArithmeticError, match="too long"):
        compose([Factor(masses=np.full(4, 0.25), count=10**15)])


@pytest.mark.parametrize("rate", [1e-12, 1e-3, 0.7, 30.0])
def test_geometric_sequences(rate):
    found = geometric(arb(-rate), 1500)
    for k in (0, 1, 511, 512, 513, 1024, 1499):
        with ctx.workprec(200):
            exact = (arb(-rate) * k).exp()
            off = abs(exact - float(found[k]))
            assert off <= 4 * fourier.U * exact + fourier.TINY


X86 = platform.machine() in ("x86_64", "AMD64") and platform.system() == "Linux"
UPWARD, DOWNWARD, TOWARDS_ZERO = 0x800, 0x400, 0xC00
# The two bits of the x87 control word that say how many digits are kept, and their values.
PRECISION, OF_DOUBLES, OF_SINGLES = 0x300, 0x200, 0x000


@contextmanager
def environment():
    """The floating-point environment of this thread, as bytes, which is put back at the end."""
    library = ctypes.CDLL(ctypes.util.find_library("m"))
    before = ctypes.create_string_buffer(64)
    library.fegetenv(before)
    try:
        yield library
    finally:
        library.fesetenv(before)


@pytest.mark.parametrize("format_", FORMATS, ids=lambda f: f.real.__name__)
def test_the_machine_rounds_to_nearest(format_):
    assert fourier.rounds_to_nearest(format_)


@pytest.mark.skipif(not X86, reason="the numbers of the rounding modes are those of x86")
@pytest.mark.parametrize("mode", [UPWARD, DOWNWARD, TOWARDS_ZERO])
@pytest.mark.parametrize("format_", FORMATS, ids=lambda f: f.real.__name__)
def test_other_roundings_are_noticed(format_, mode):
    factor = Factor(masses=np.array([0.5, 0.5]), count=2)
    with environment() as library:
        library.fesetround(mode)
        noticed = not fourier.rounds_to_nearest(format_)
        none = fourier.extended() is None
        try:
            compose([factor], format_)
            message = ""
        except ArithmeticError as error:
            message = str(error)
    assert noticed
    assert none
    assert "not rounded to nearest" in message
    assert fourier.rounds_to_nearest(format_)


@pytest.mark.skipif(not X86 or len(FORMATS) == 1, reason="this machine has no x87 unit")
@pytest.mark.parametrize("digits", [OF_DOUBLES, OF_SINGLES])
def test_fewer_digits_than_extended_ones_are_noticed(digits):
    with environment() as library:
        changed = ctypes.create_string_buffer(64)
        library.fegetenv(changed)
        word = ctypes.c_uint16.from_buffer(changed)
        word.value = (word.value & ~PRECISION) | digits
        library.fesetenv(changed)
        found, doubles = fourier.extended(), fourier.rounds_to_nearest(DOUBLE)
    assert found is None
    assert doubles
    assert fourier.extended() is not None


@pytest.mark.parametrize("value", ["1", "yes"])
def test_extended_digits_can_be_left_out(monkeypatch, value):
    monkeypatch.setenv("RDPKIT_NO_EXTENDED", value)
    assert fourier.extended() is None
    monkeypatch.setenv("RDPKIT_NO_EXTENDED", "0")
    assert (fourier.extended() is None) == (len(FORMATS) == 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "tests", ["tests/accountants/losses/test_losses.py", "tests/test_analysis.py"]
)
def test_machines_without_extended_digits(tests):
    environ = {**os.environ, "RDPKIT_NO_EXTENDED": "1"}
    words = ["-m", "pytest", "-q", "-n", "0", "-m", "", tests]
    ran(*words, cwd=Path(__file__).parents[2], env=environ)
