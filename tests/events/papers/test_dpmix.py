import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdpkit import ClassWiseDPMix, DPMix, Parallel, Repeated

EXAMPLE = {
    "population_size": 60000,
    "releases": 10000,
    "order_of_mixture": 256,
    "feature_dimension": 784,
    "label_dimension": 10,
    "feature_noise": 0.0711,
    "label_noise": 0.0711,
}
CLASSES = {
    "class_sizes": [5421, 6742],
    "samples_per_class": [1200, 5],
    "order_of_mixture": 128,
    "feature_dimension": 784,
    "label_dimension": 10,
    "feature_noise": 0.7,
    "label_noise": 0.0,
}
noise = st.floats(1e-3, 1e3)


@given(dx=st.integers(1, 10**5), sx=noise, sy=noise, subset=st.integers(1, 60000))
def test_features_move_by_their_range_and_labels_by_the_square_root_of_two(dx, sx, sy, subset):
    event = DPMix(
        **{
            **EXAMPLE,
            "feature_dimension": dx,
            "feature_noise": sx,
            "label_noise": sy,
            "order_of_mixture": subset,
        }
    )
    step = event.expand().event
    moved = math.sqrt(dx / sx**2 + 2 / sy**2) / subset
    # A square, a sum, a root and a quotient, each rounded.
    assert step.swap_distance == pytest.approx(moved, rel=1e-14)
    assert step.noise_multiplier == pytest.approx(1 / moved, rel=1e-14)


def test_every_release_draws_from_the_whole_data_set():
    expanded = DPMix(**EXAMPLE).expand()
    assert isinstance(expanded, Repeated)
    assert expanded.count == 10000
    assert (expanded.event.sample_size, expanded.event.population_size) == (256, 60000)


def test_the_dimension_of_the_labels_is_in_the_published_formula_only():
    assert DPMix(**EXAMPLE).expand() == DPMix(**{**EXAMPLE, "label_dimension": 1000}).expand()


def test_a_subset_is_no_larger_than_the_population():
    with pytest.raises(ValueError, match=r"order_of_mixture to be an integer in \[1, 60000\]"):
        DPMix(**{**EXAMPLE, "order_of_mixture": 60001})


def test_the_labels_of_a_mixture_over_all_classes_need_noise():
    with pytest.raises(ValueError, match="label_noise to be a finite number > 0, got 0"):
        DPMix(**{**EXAMPLE, "label_noise": 0})


def test_class_by_class_only_the_features_move():
    expanded = ClassWiseDPMix(**CLASSES).expand()
    assert isinstance(expanded, Parallel)
    assert [part.count for part in expanded.events] == [1200, 5]
    assert [part.event.population_size for part in expanded.events] == [5421, 6742]
    for part in expanded.events:
        # A root and a quotient.
        assert part.event.swap_distance == pytest.approx(28 / 128, rel=1e-15)
        assert part.event.noise_std == 0.7


def test_class_by_class_a_subset_fits_in_the_smallest_class():
    with pytest.raises(ValueError, match=r"in \[1, 5421\] \(the smallest of class_sizes\)"):
        ClassWiseDPMix(**{**CLASSES, "order_of_mixture": 5422})


def test_lists_count_as_tuples():
    event = ClassWiseDPMix(**CLASSES)
    assert event.class_sizes == (5421, 6742)
    assert event.samples_per_class == (1200, 5)
    assert event == ClassWiseDPMix(**{**CLASSES, "samples_per_class": (1200, 5)})


def test_a_fresh_subset_is_an_assumption_that_is_stated():
    assert any("fresh subset" in text for text in ClassWiseDPMix(**CLASSES).assumptions())
