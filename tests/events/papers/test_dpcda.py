import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rdpkit
from rdpkit import DPCDA, Composed, Gaussian, Parallel, Repeated

EXAMPLE = {
    "class_sizes": [5421, 6742],
    "samples_per_class": 100,
    "order_of_mixture": 128,
    "clip_norm": 1.5,
    "feature_noise": 0.1,
    "label_noise": 0.2,
}


@given(norm=st.floats(1e-3, 1e3), noise=st.floats(1e-3, 1e3), subset=st.integers(1, 5421))
def test_swapping_a_record_moves_the_mean_of_a_class_by_2c_over_l(norm, noise, subset):
    event = DPCDA(
        **{**EXAMPLE, "clip_norm": norm, "feature_noise": noise, "order_of_mixture": subset}
    )
    for part in event.expand().events:
        assert part.event.release == "mean"
        # One division and one product apart.
        assert part.event.swap_distance == pytest.approx(2 * norm / subset, rel=1e-15)
        assert part.event.noise_std == noise


def test_each_class_is_sampled_from_its_own_records_as_often_as_stated():
    event = DPCDA(**{**EXAMPLE, "samples_per_class": [100, 7]})
    expanded = event.expand()
    assert isinstance(expanded, Parallel)
    assert not expanded.record_keeps_its_part
    assert [part.event.population_size for part in expanded.events] == [5421, 6742]
    assert [part.event.sample_size for part in expanded.events] == [128, 128]
    assert [part.count for part in expanded.events] == [100, 7]


def test_one_number_of_samples_is_for_every_class():
    assert DPCDA(**EXAMPLE).samples == (100, 100)
    assert DPCDA(**{**EXAMPLE, "samples_per_class": [100, 7]}).samples == (100, 7)


def test_a_single_class_is_a_part_too():
    (only,) = DPCDA(**{**EXAMPLE, "class_sizes": [5421]}).expand().events
    assert isinstance(only, Repeated)


def test_lists_count_as_tuples():
    listed = DPCDA(**{**EXAMPLE, "samples_per_class": [100, 7]})
    assert listed == DPCDA(
        **{**EXAMPLE, "class_sizes": (5421, 6742), "samples_per_class": (100, 7)}
    )
    assert hash(listed)


def test_the_label_noise_buys_nothing_and_may_be_absent():
    noisy, silent = (DPCDA(**{**EXAMPLE, "label_noise": noise}) for noise in (0.2, 0))
    assert noisy.expand() == silent.expand()


@pytest.mark.parametrize("subset", [5422, 10**9])
def test_a_subset_is_no_larger_than_the_smallest_class(subset):
    message = rf"order_of_mixture to be an integer in \[1, 5421\] .*smallest.*, got {subset}"
    with pytest.raises(ValueError, match=message):
        DPCDA(**{**EXAMPLE, "order_of_mixture": subset})


@pytest.mark.parametrize("samples", [[100], [100, 100, 100], (1,)])
def test_as_many_numbers_of_samples_as_classes(samples):
    with pytest.raises(ValueError, match=r"as many integers as there are classes \(2\)"):
        DPCDA(**{**EXAMPLE, "samples_per_class": samples})


@pytest.mark.parametrize("adjacency", list(rdpkit.Adjacency))
def test_the_exact_z_score_has_no_sound_bound(adjacency):
    event = DPCDA(**EXAMPLE, preprocessing="exact-z-score")
    assert event.expand() is None
    for released in (event, Composed(events=[Gaussian(noise_std=5.0, record_norm=1.0), event])):
        guarantee = rdpkit.epsilon(released, delta=1e-5, adjacency=adjacency)
        assert guarantee.epsilon == math.inf
        assert any("unaccounted" in text for text in guarantee.assumptions)
        assert rdpkit.delta(released, epsilon=1.0, adjacency=adjacency).delta == 1.0


def test_public_preprocessing_is_an_assumption_that_is_stated():
    assert any("public constants" in text for text in DPCDA(**EXAMPLE).assumptions())
