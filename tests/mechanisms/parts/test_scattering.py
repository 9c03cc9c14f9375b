"""The wavelets are compared with kymatio's numbers, and with what scattering must satisfy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdpkit.mechanisms.parts.scattering import scattering, scattering_channels
from tests.oracles.scattering import image
from tests.oracles.table import load


@pytest.mark.parametrize("case", range(5))
def test_kymatio(case):
    """tests/oracles/scattering.py; six digits are what filters and images of 32 bits leave."""
    entry = load("scattering")[case]
    picture = image(entry["height"], entry["width"])
    found = scattering(picture[None], scales=entry["scales"], angles=entry["angles"])[0]
    assert found.shape == tuple(entry["shape"])
    assert found.dtype == np.float32
    stored = np.array(entry["every_31st"])
    np.testing.assert_allclose(found.ravel()[::31], stored, rtol=1e-4, atol=2e-6)


def test_channels():
    assert scattering_channels() == 81
    assert scattering_channels(scales=3, angles=5) == 1 + 15 + 3 * 25
    assert scattering(np.zeros((2, 28, 28))).shape == (2, 81, 7, 7)


def test_a_constant_image_has_only_its_mean():
    """Every wavelet adds up to 0, and the smoothing to 1."""
    found = scattering(np.full((1, 24, 20), 3.0))
    np.testing.assert_allclose(found[0, 0], 3.0, rtol=1e-6)
    assert np.abs(found[0, 1:]).max() < 1e-5


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    before=st.integers(0, 20),
    # Squares of much smaller numbers are 0 in single precision.
    factor=st.just(0.0) | st.floats(1e-6, 1e3),
)
def test_an_image_alone_decides_its_features(seed, before, factor):
    """To the last bit, wherever it is among other images: what a sensitivity rests on."""
    images = np.random.default_rng(seed).random((before + 3, 12, 8)).astype(np.float32)
    alone = scattering(images[before : before + 1])
    assert (scattering(images)[before] == alone[0]).all()
    scaled = scattering(images[before : before + 1] * np.float32(factor))
    np.testing.assert_allclose(scaled, alone * factor, rtol=1e-3, atol=1e-5 * factor)


def test_a_turn_of_the_image_turns_the_wavelets():
    """A quarter turn moves every direction by half of the eight, up to its sign."""
    waves = np.cos(np.arange(16) * 1.9)[:, None] * np.ones(16) + np.eye(16)
    picture = np.pad(waves, 16)[None]
    upright = scattering(picture)[0, 1:9].sum(axis=(1, 2))
    turned = scattering(np.rot90(picture, axes=(1, 2)))[0, 1:9].sum(axis=(1, 2))
    np.testing.assert_allclose(turned, np.roll(upright, 4), rtol=0.02)
    assert np.abs(turned / upright - 1).max() > 0.5


def test_integers_and_no_images():
    assert scattering(np.zeros((0, 28, 28), dtype=np.uint8)).shape == (0, 81, 7, 7)
    whole = np.arange(28 * 28, dtype=np.uint16).reshape(1, 28, 28) % 256
    assert (scattering(whole.astype(np.uint8)) == scattering(whole.astype(np.float64))).all()


@pytest.mark.parametrize(("side", "scales"), [(5, 2), (3, 1), (9, 3), (7, 2)])
def test_the_smallest_images(side, scales):
    found = scattering(np.ones((1, side, side + 1)), scales=scales, angles=2)
    assert found.shape[2:] == (side >> scales, (side + 1) >> scales)
    # The narrowest smoothing adds up to 1 but for 1.3e-5, because pixels are coarse for it.
    np.testing.assert_allclose(found[0, 0], 1.0, rtol=2e-5)


@pytest.mark.parametrize("shape", [(28, 28), (1, 4, 28), (1, 28, 4), (1, 1, 28, 28)])
def test_shapes_that_are_refused(shape):
    with pytest.raises(ValueError, match="images"):
        scattering(np.zeros(shape))


@pytest.mark.parametrize("name", ["scales", "angles"])
def test_numbers_that_are_refused(name):
    with pytest.raises(ValueError, match=name):
        scattering(np.zeros((1, 28, 28)), **{name: 0})
