import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdpkit import LDPDC, NDPDC, Adjacency, Repeated

LINEAR = {
    "class_sizes": [5421, 6742],
    "group_size": 50,
    "samples_per_class": 40,
    "noise_std": 28.0,
    "value_bound": 1.0,
    "dimension": 784,
}
NONLINEAR = {
    "class_sizes": [5421, 6742],
    "group_size": 50,
    "iterations": 10000,
    "noise_std": 3.0,
    "clip_norm": 1.5,
}
ADD = Adjacency.ADD_OR_REMOVE_ONE


@given(bound=st.floats(1e-3, 1e3), dimension=st.integers(1, 10**6))
def test_a_record_of_ldpdc_has_norm_b_root_d(bound, dimension):
    event = LDPDC(**{**LINEAR, "value_bound": bound, "dimension": dimension})
    # A root and a product.
    assert event.record_norm == pytest.approx(bound * math.sqrt(dimension), rel=1e-15)
    for part in event.expand().events:
        assert part.event.record_norm == event.record_norm
        assert part.event.noise_multiplier(ADD) == 28.0 / event.record_norm


@pytest.mark.parametrize(("make", "example"), [(LDPDC, LINEAR), (NDPDC, NONLINEAR)])
def test_groups_and_classes(make, example):
    with pytest.raises(ValueError, match=r"group_size to be at most 5421 \(the smallest"):
        make(**{**example, "group_size": 5421.5})
    whole = make(**{**example, "group_size": 5421}).expand()
    assert whole.events[0].event.sampling_probability == 1.0
    assert isinstance(make(**{**example, "class_sizes": (5421,)}).expand(), Repeated)
    assert make(**example) == make(**{**example, "class_sizes": (5421, 6742)})
    assert any("Poisson" in text for text in make(**example).assumptions())
