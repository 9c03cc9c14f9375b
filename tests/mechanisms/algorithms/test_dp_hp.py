from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import rdpkit
from rdpkit.mechanisms.algorithms import dp_hp
from tests.mechanisms.flat import synthesize

REPLACE = rdpkit.Adjacency.REPLACE_ONE


KERNEL = dp_hp.HermiteKernel(
    order=8, rho=0.6, product_order=3, product_rho=0.5, product_pixels=2, products=4,
    product_weight=0.3,
)  # fmt: skip


def _map(**changes):
    generator = torch.Generator().manual_seed(0)
    return dp_hp.HermiteFeatures(replace(KERNEL, **changes), dimension=9, generator=generator)


_synthesize = partial(
    synthesize, dp_hp, np.random.default_rng(0).uniform(-1, 1, (40, 35)), np.arange(40) % 2,
    classes=2, noise_std=2.0, delta=1e-5, adjacency=REPLACE, noise=1, seed=0,
    public_counts=[20, 20], samples_per_class=3, iterations=2, image_shape=(1, 5, 7),
)  # fmt: skip


def test_inner_products_converge_to_mehlers_kernel():
    rho = 0.6
    x = torch.linspace(-1, 1, 9, dtype=torch.float64)
    found = dp_hp.hermite_features(x, order=120, rho=rho)
    kernel = torch.exp(-rho / (1 - rho * rho) * (x[:, None] - x[None, :]).square())
    # The tail beyond order 120 is below 0.6^120.
    torch.testing.assert_close(found @ found.T, kernel, rtol=0, atol=1e-12)


@pytest.mark.thorough
@settings(max_examples=60, deadline=None)
@given(
    values=st.lists(st.floats(-1e3, 1e3), min_size=9, max_size=9),
    rho=st.floats(0.01, 0.99),
    order=st.integers(0, 60),
)
def test_no_record_has_a_norm_above_one(values, rho, order):
    images = torch.tensor(values, dtype=torch.float64).reshape(1, 1, 3, 3)
    norm = float(_map(rho=rho, order=order)(images).norm())
    # Rounding of 600 features in double precision.
    assert norm <= 1.0 + 1e-12


def test_the_norm_comes_near_one():
    images = torch.zeros(1, 1, 3, 3, dtype=torch.float64) + 0.3
    found = _map(order=60, product_order=30)(images)
    assert float(found.norm()) == pytest.approx(1.0, abs=1e-6)


def test_inner_products_are_the_weighted_kernels():
    images = torch.rand(2, 1, 3, 3, generator=torch.Generator().manual_seed(1)).double() * 2 - 1
    features = _map(order=80, product_order=40)
    found = features(images)
    x, y = images.flatten(1)
    sum_kernel = torch.exp(-0.6 / (1 - 0.36) * (x - y).square()).mean()
    products = [
        torch.exp(-0.5 / (1 - 0.25) * (x[p] - y[p]).square().sum()) for p in features._pixels
    ]
    expected = 0.7 * float(sum_kernel) + 0.3 * float(torch.stack(products).mean())
    assert float(found[0] @ found[1]) == pytest.approx(expected, abs=1e-9)


def test_there_may_be_no_products():
    found = _map(products=0, product_weight=0.0)(torch.zeros(2, 1, 3, 3))
    assert found.shape == (2, 9 * 9)
    assert _map()(torch.zeros(2, 1, 3, 3)).shape == (2, 9 * 9 + 4 * 4**2)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rho": 1.0}, r"rho in \(0, 1\)"),
        ({"order": -1}, "order to be an integer >= 0"),
        (
            {"product_pixels": 36, "product_order": 0},
            r"product_pixels to be an integer in \[1, 35\]",
        ),
        ({"product_pixels": 30}, "product_pixels with products"),
        ({"products": 0}, "product_weight to be 0"),
        ({"product_weight": 0.0}, "product_weight to be 0"),
        ({"public_counts": [20]}, "public_counts to be 2 integers"),
    ],
)
def test_arguments_out_of_range_are_errors(changes, message):
    with pytest.raises(ValueError, match=message):
        _synthesize(**changes)
