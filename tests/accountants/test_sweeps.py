"""Sweeps against the answers to single questions."""

import math
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import rdpkit
from rdpkit.accountants import sweeps
from rdpkit.extensions import install_line
from rdpkit.numerics import sampled_gaussian_block as block
from rdpkit.numerics.sampled_gaussian_series import rdp_enclosure
from tests.events import unit

ADD = "add_or_remove_one"
REPLACE = "replace_one"


def sweep(**changes):
    usual = {
        "noise_multiplier": 1.0,
        "sampling_probability": 0.01,
        "steps": 1000,
        "delta": 1e-5,
        "adjacency": ADD,
    }
    return rdpkit.sweep_epsilon(**{**usual, **changes})


def random_configurations(count, seed):
    rng = np.random.default_rng(seed)
    return {
        "noise_multiplier": np.exp(rng.uniform(math.log(0.15), math.log(50.0), count)),
        "sampling_probability": np.exp(rng.uniform(math.log(1e-6), 0.0, count)),
        "steps": np.round(np.exp(rng.uniform(0.0, 11.0, count))).astype(np.int64),
        "delta": np.exp(rng.uniform(math.log(1e-12), math.log(0.1), count)),
    }


def single(columns, row, conversion="balle2020"):
    event = unit.poisson(
        float(columns["noise_multiplier"][row]), float(columns["sampling_probability"][row])
    )
    return rdpkit.epsilon(
        event * int(columns["steps"][row]),
        delta=float(columns["delta"][row]),
        adjacency=ADD,
        bound="best-rdp",
        conversion=conversion,
        certify=False,
        order_limits=(1.009, 49153.0),  # where sweeps end too
    )


@pytest.mark.thorough
@pytest.mark.parametrize("conversion", ["balle2020", "mironov2017"])
def test_as_tight_as_single_questions(conversion):
    """3e-4: rounds stop where a parabola foretells epsilon to 1e-5, and bends mislead parabolas."""
    columns = random_configurations(60, seed=1)
    found = sweep(**columns, conversion=conversion)
    expected = [single(columns, row, conversion).epsilon for row in range(60)]
    assert_allclose(found.epsilon, expected, rtol=3e-4, atol=1e-12)
    away = np.abs(found.epsilon - expected) / np.maximum(expected, 1e-12)
    assert np.median(away) < 1e-6


def exact_epsilon(columns, row, order):
    """Balle's conversion at one order from the series in balls, which shares no code."""
    q = float(columns["sampling_probability"][row])
    z = float(columns["noise_multiplier"][row])
    rdp = float(rdp_enclosure(order, z, q).lower())
    gap = math.log1p(-1.0 / order) - math.log(order) / (order - 1.0)
    gap -= math.log(columns["delta"][row]) / (order - 1.0)
    return int(columns["steps"][row]) * rdp + gap


def test_never_below_the_exact_value_at_its_order():
    """1e-16: the expected value is computed in floats."""
    columns = random_configurations(150, seed=2)
    found = sweep(**columns)
    for row in np.flatnonzero(found.epsilon > 0.0):
        exact = exact_epsilon(columns, row, float(found.order[row]))
        assert found.epsilon[row] >= exact - 1e-16
        assert found.epsilon[row] <= exact * (1.0 + 1e-8) + 1e-9


@pytest.mark.thorough
@given(
    z=st.floats(0.02, 1e4),
    q=st.one_of(st.floats(0.0, 1.0), st.floats(-250.0, 0.0).map(math.exp)),
    steps=st.integers(1, 10**9),
    delta=st.floats(-30.0, -0.01).map(math.exp),
)
@settings(max_examples=30)
def test_any_configuration(z, q, steps, delta):
    found = sweep(noise_multiplier=z, sampling_probability=q, steps=steps, delta=delta)
    columns = {
        "noise_multiplier": [z],
        "sampling_probability": [q],
        "steps": [steps],
        "delta": [delta],
    }
    expected = single(columns, 0).epsilon if q > 0.0 else 0.0
    assert found.epsilon.shape == ()
    assert float(found.epsilon) <= expected * (1.0 + 1e-4) + 1e-10
    # Either search may stop 1e-4 above the minimum, and only one of them did.
    assert float(found.epsilon) >= expected * (1.0 - 3e-4) - 1e-10


def test_fixed_size_replace_one():
    """Every integer order up to 64 is tried; beyond, 9 % apart."""
    noise = np.array([2.0, 5.0, 50.0])[:, None]
    found = sweep(
        noise_multiplier=noise,
        sampling_probability=np.array([0.01, 0.3]),
        adjacency=REPLACE,
        sampling="fixed_size",
        delta=1e-4,
    )
    assert found.bound == "wang2019"
    for i, z in enumerate(noise[:, 0]):
        for j, size in enumerate((100, 3000)):
            order = found.order[i, j]
            given_to = {
                "noise_multiplier": float(z),
                "sample_size": size,
                "population_size": 10_000,
                "adjacency": REPLACE,
            }
            one = rdpkit.fixed_size_gaussian_rdp([order], **given_to, theorem="wang2019")
            plain = rdpkit.gaussian_rdp([order], noise_multiplier=float(z))
            curve = 1000 * np.minimum(one, plain)
            expected, _ = rdpkit.rdp_to_epsilon([order], curve, delta=1e-4)
            assert_allclose(found.epsilon[i, j], expected, rtol=1e-10)
            around = np.unique(np.clip([order - 1, order + 1], 2, 64))
            one = rdpkit.fixed_size_gaussian_rdp(around, **given_to, theorem="wang2019")
            if order < 64:
                other, _ = rdpkit.rdp_to_epsilon(around, 1000 * one, delta=1e-4)
                assert found.epsilon[i, j] <= other * (1.0 + 1e-9)


def test_fixed_size_add_or_remove_one_is_the_poisson_formula():
    columns = random_configurations(5, seed=3)
    poisson = sweep(**columns)
    fixed = sweep(**columns, sampling="fixed_size")
    assert poisson.epsilon.tolist() == fixed.epsilon.tolist()
    assert (poisson.bound, fixed.bound) == ("mironov2019", "swap-coupling")


def test_shapes_broadcast():
    found = sweep(noise_multiplier=[[1.0], [2.0]], steps=[1, 10, 100])
    assert found.epsilon.shape == found.order.shape == (2, 3)
    assert (np.diff(found.epsilon, axis=1) > 0.0).all()
    assert (np.diff(found.epsilon, axis=0) < 0.0).all()
    # Alone and among others a sum may be cut into different blocks.
    assert_allclose(found.epsilon[0, 2], sweep(steps=100).epsilon, rtol=1e-12)


def test_no_sampling_and_no_release():
    found = sweep(sampling_probability=[0.0, 1.0], steps=1)
    assert found.epsilon[0] == 0.0
    assert math.isnan(found.order[0])
    assert (
        found.epsilon[1]
        >= single(
            {
                "noise_multiplier": [1.0],
                "sampling_probability": [1.0],
                "steps": [1],
                "delta": [1e-5],
            },
            0,
        ).epsilon
    )


def test_chunks_do_not_change_values(monkeypatch):
    columns = random_configurations(40, seed=4)
    whole = sweep(**columns)
    seen = []
    monkeypatch.setattr(sweeps, "_CHUNK", 7)
    monkeypatch.setattr(block, "_ENTRIES", 3_000)
    parts = sweep(**columns, progress=lambda done, total: seen.append((done, total)))
    assert_allclose(parts.epsilon, whole.epsilon, rtol=1e-5)
    assert seen[0] == (7, 40)
    assert seen[-1] == (40, 40)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"noise_multiplier": [1.0, -1.0]},
            r"noise_multiplier\[1\] in \[1e-100, 1e\+100\], got -1",
        ),
        ({"delta": [[0.5, 1.0]]}, r"delta\[0, 1\] in \(0, 1\), got 1\.0"),
        ({"delta": math.nan}, r"delta in \(0, 1\), got nan"),
        ({"steps": [1.5]}, r"steps\[0\] to be an integer in \[1, 10\^15\], got 1\.5"),
        ({"sampling_probability": 1.5}, r"sampling_probability in \[0, 1\], got 1\.5"),
        ({"sampling_probability": "half"}, r"sampling_probability in \[0, 1\], a number or"),
        ({"steps": [True]}, "steps to be an integer"),
        ({"steps": [1, 2], "delta": [0.1, 0.2, 0.3]}, "shapes that broadcast"),
        ({"sampling": "shuffle"}, "sampling to be one of 'poisson', 'fixed_size'"),
        ({"conversion": "optimal"}, "conversion to be one of"),
        ({"invalid": "ignore"}, "invalid to be one of"),
        ({"adjacency": REPLACE}, "adjacency to be 'add_or_remove_one' or"),
    ],
)
def test_bad_input(changes, message):
    with pytest.raises(ValueError, match=message):
        sweep(**changes)


def test_bad_rows_are_reported_and_the_others_kept():
    found = sweep(
        noise_multiplier=[1.0, -1.0, 2.0, math.nan], steps=[10, 10, 0, 10], invalid="skip"
    )
    assert np.isfinite(found.epsilon).tolist() == [True, False, False, False]
    assert np.isinf(found.epsilon[1:]).all()
    assert sorted(found.errors) == [1, 2, 3]
    assert found.errors[1] == ("Expected noise_multiplier[1] in [1e-100, 1e+100], got -1.0.")
    assert "steps[2]" in found.errors[2]
    assert_allclose(found.epsilon[0], sweep(steps=10).epsilon, rtol=1e-12)


def test_nothing_valid_and_nothing_at_all():
    assert np.isinf(sweep(steps=[0], invalid="skip").epsilon).all()
    assert sweep(steps=np.empty(0, dtype=np.int64)).epsilon.shape == (0,)


def test_a_sweep_is_a_table_with_its_inputs():
    found = sweep(noise_multiplier=[[1.0], [2.0]], steps=[10, 100, 1000])
    columns = found.as_columns()
    assert {len(column) for column in columns.values()} == {6}
    assert columns["noise_multiplier"] == [1.0, 1.0, 1.0, 2.0, 2.0, 2.0]
    assert columns["steps"] == [10, 100, 1000] * 2
    assert all(isinstance(value, int) for value in columns["steps"])
    assert columns["epsilon"] == found.epsilon.ravel().tolist()
    assert set(columns["kind"]) == {"upper"}
    assert "error" not in columns


def test_skipped_rows_say_why_and_have_no_order():
    columns = sweep(steps=[10, 0, math.nan], invalid="skip").as_columns()
    assert columns["error"][0] is None
    assert "steps[1]" in columns["error"][1]
    assert columns["order"][1:] == [None, None]
    assert columns["epsilon"][1:] == [math.inf, math.inf]


@pytest.mark.parametrize(
    ("library", "method", "install"),
    [
        ("pandas", "to_pandas", "pip install pandas"),
        ("pyarrow", "to_arrow", install_line("sweeps")),
    ],
)
def test_a_library_that_is_missing_is_named_with_what_installs_it(
    monkeypatch, library, method, install
):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ModuleNotFoundError) as missing:
        getattr(sweep(steps=10), method)()
    assert str(missing.value) == f"{method}() needs {library}: {install}"
    assert missing.value.name == library


def test_tables_of_other_libraries_have_the_same_columns():
    found = sweep(steps=[10, 20])
    arrow = pytest.importorskip("pyarrow")
    assert found.to_arrow() == arrow.table(found.as_columns())
    pandas = pytest.importorskip("pandas")
    frame = found.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame.to_dict("list") == found.as_columns()
