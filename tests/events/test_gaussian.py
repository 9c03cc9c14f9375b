import pytest

from rdpkit import Adjacency, Gaussian, PoissonSampledGaussian
from rdpkit.events import FixedSizeSampledGaussian

ADD, REPLACE = Adjacency.ADD_OR_REMOVE_ONE, Adjacency.REPLACE_ONE
FIXED = {"noise_std": 3.0, "record_norm": 1.5, "sample_size": 10, "population_size": 100}


def test_the_sensitivity_is_the_norm_or_the_diameter():
    event = Gaussian(noise_std=3.0, record_norm=1.5, record_diameter=2.0)
    assert event.sensitivity(ADD) == 1.5
    assert event.sensitivity(REPLACE) == 2.0
    assert event.noise_multiplier(ADD) == 2.0
    assert event.noise_multiplier(REPLACE) == 1.5


def test_without_a_diameter_replacing_moves_the_sum_by_twice_the_norm():
    assert Gaussian(noise_std=3.0, record_norm=1.5).sensitivity(REPLACE) == 3.0
    poisson = PoissonSampledGaussian(noise_std=3.0, record_norm=1.5, sampling_probability=0.1)
    assert poisson.noise_multiplier(ADD) == 2.0
    assert poisson.noise_multiplier(REPLACE) == 1.0


@pytest.mark.parametrize("probability", [-0.1, 1.1, -1e-300])
def test_a_sampling_probability_is_a_probability(probability):
    with pytest.raises(ValueError, match=r"Expected sampling_probability in \[0, 1\]"):
        PoissonSampledGaussian(noise_std=1.0, record_norm=1.0, sampling_probability=probability)


def test_a_fixed_size_sum_and_mean_differ_by_the_sample_size():
    total = FixedSizeSampledGaussian(release="sum", **FIXED)
    mean = FixedSizeSampledGaussian(release="mean", **FIXED)
    assert total.swap_distance == 3.0
    assert mean.swap_distance == 0.3
    assert total.noise_multiplier == 1.0
    assert mean.noise_multiplier == pytest.approx(10.0, rel=1e-15)


def test_the_sample_is_not_larger_than_the_population():
    with pytest.raises(ValueError, match=r"sample_size to be an integer in \[1, 100\], got 101"):
        FixedSizeSampledGaussian(release="sum", **{**FIXED, "sample_size": 101})
    FixedSizeSampledGaussian(release="sum", **{**FIXED, "sample_size": 100})
