"""Random mixing: what DP-CDA and DPMix expand to, over all records and class by class."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rdpkit
from rdpkit import DPCDA, ClassWiseDPMix, Composed, DPMix, Parallel
from tests.events import unit

CDA = DPCDA(
    class_sizes=[5421, 6742], samples_per_class=100, order_of_mixture=128, clip_norm=1.5,
    feature_noise=0.1, label_noise=0.2,
)  # fmt: skip
WHOLE = DPMix(
    population_size=60000, releases=10000, order_of_mixture=256, feature_dimension=784,
    label_dimension=10, feature_noise=0.0711, label_noise=0.0711,
)  # fmt: skip
CLASSES = ClassWiseDPMix(
    class_sizes=[5421, 6742], samples_per_class=[1200, 5], order_of_mixture=128,
    feature_dimension=784, label_dimension=10, feature_noise=0.7, label_noise=0.0,
)  # fmt: skip
NOISE = st.floats(1e-3, 1e3)


@given(norm=st.floats(1e-3, 1e3), noise=NOISE, subset=st.integers(1, 5421))
def test_swapping_a_record_moves_the_mean_of_a_class_by_2c_over_l(norm, noise, subset):
    event = replace(CDA, clip_norm=norm, feature_noise=noise, order_of_mixture=subset)
    for part in event.expand().events:
        assert part.event.release == "mean"
        # One division and one product apart.
        assert part.event.swap_distance == pytest.approx(2 * norm / subset, rel=1e-15)
        assert part.event.noise_std == noise


@given(dx=st.integers(1, 10**5), sx=NOISE, sy=NOISE, subset=st.integers(1, 60000))
def test_features_move_by_their_range_and_labels_by_the_square_root_of_two(dx, sx, sy, subset):
    event = replace(
        WHOLE, feature_dimension=dx, feature_noise=sx, label_noise=sy, order_of_mixture=subset
    )
    step = event.expand().event
    moved = math.sqrt(dx / sx**2 + 2 / sy**2) / subset
    # A square, a sum, a root and a quotient, each rounded.
    assert step.swap_distance == pytest.approx(moved, rel=1e-14)
    assert step.noise_multiplier == pytest.approx(1 / moved, rel=1e-14)


@pytest.mark.parametrize(
    ("event", "counts"),
    [(replace(CDA, samples_per_class=[100, 7]), [100, 7]), (CLASSES, [1200, 5])],
)
def test_each_class_is_sampled_from_its_own_records_as_often_as_stated(event, counts):
    expanded = event.expand()
    assert isinstance(expanded, Parallel)
    assert not expanded.record_keeps_its_part
    assert [part.event.population_size for part in expanded.events] == [5421, 6742]
    assert [part.event.sample_size for part in expanded.events] == [128, 128]
    assert [part.count for part in expanded.events] == counts
    assert event.samples == tuple(counts)


@pytest.mark.parametrize(
    ("event", "change", "message"),
    [
        *[
            (event, {"order_of_mixture": most}, r"in \[1, 5421\] \(the smallest of class_sizes\)")
            for event, most in ((CDA, 5422), (CDA, 10**9), (CLASSES, 5422))
        ],
        (WHOLE, {"order_of_mixture": 60001}, r"order_of_mixture to be an integer in \[1, 60000\]"),
        # The labels of a mixture over all classes need noise.
        (WHOLE, {"label_noise": 0}, "label_noise to be a finite number > 0, got 0"),
        *[
            (CDA, {"samples_per_class": wrong}, r"as many integers as there are classes \(2\)")
            for wrong in ([100], [100, 100, 100], (1,))
        ],
    ],
)
def test_what_does_not_fit_is_named(event, change, message):
    with pytest.raises(ValueError, match=message):
        replace(event, **change)


@pytest.mark.parametrize("adjacency", list(rdpkit.Adjacency))
def test_the_exact_z_score_has_no_sound_bound(adjacency):
    event = replace(CDA, preprocessing="exact-z-score")
    assert event.expand() is None
    for released in (event, Composed(events=[unit.gaussian(5.0), event])):
        guarantee = rdpkit.epsilon(released, delta=1e-5, adjacency=adjacency)
        assert guarantee.epsilon == math.inf
        assert any("unaccounted" in text for text in guarantee.assumptions)
        assert rdpkit.delta(released, epsilon=1.0, adjacency=adjacency).delta == 1.0


@pytest.mark.parametrize(("event", "words"), [(CDA, "public constants"), (CLASSES, "fresh subset")])
def test_assumptions_are_stated(event, words):
    assert any(words in text for text in event.assumptions())
