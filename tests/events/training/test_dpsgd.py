"""DP-SGD by its settings: what it expands to, and that bounds from both sides fit together."""

import dataclasses

import pytest

import rdpkit
from tests.events import unit

FAR = {"record_diameter": 2.0}
MNIST = {"noise_multiplier": 1.1, "dataset_size": 60000, "batch_size": 256}


def epsilon(event, adjacency="add_or_remove_one", **options):
    return rdpkit.epsilon(event, delta=1e-5, adjacency=adjacency, **options).epsilon


def test_epochs_become_steps_rounded_up():
    event = rdpkit.DPSGD(**MNIST, epochs=60)
    assert event.updates == 14063  # 14062.5
    assert event.expand() == unit.poisson(1.1, 256 / 60000, record_diameter=2.0) * 14063
    assert rdpkit.DPSGD(**MNIST, steps=14063).expand() == event.expand()


def test_epochs_are_exact_where_a_float_product_would_round_up():
    event = rdpkit.DPSGD(noise_multiplier=1.0, dataset_size=3 * 10**14, batch_size=3, epochs=1)
    assert event.updates == 10**14


def test_noise_is_relative_to_the_clipping_norm_under_both_relations():
    # A replaced example moves the sum by twice the clipping norm.
    full = {"noise_multiplier": 6.0, "dataset_size": 10, "batch_size": 10, "steps": 1}
    event = rdpkit.DPSGD(**full)
    for adjacency, z in (
        (rdpkit.Adjacency.ADD_OR_REMOVE_ONE, 6),
        (rdpkit.Adjacency.REPLACE_ONE, 3),
    ):
        gaussian = unit.gaussian(z, record_diameter=1.0)
        assert epsilon(event, adjacency) == pytest.approx(epsilon(gaussian), rel=1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize("sampling", ["poisson", "fixed-size", "shuffle"])
def test_microbatches_double_the_sensitivity_of_add_or_remove(sampling):
    event = rdpkit.DPSGD(**MNIST, epochs=2, sampling=sampling, microbatch_size=4)
    doubled = rdpkit.DPSGD(**MNIST | {"noise_multiplier": 0.55}, epochs=2, sampling=sampling)
    if sampling == "poisson":
        assert epsilon(event) == pytest.approx(epsilon(doubled), rel=1e-9)
    else:
        # A swap moves the sum by twice the clipping norm with or without microbatches.
        single = rdpkit.DPSGD(**MNIST, epochs=2, sampling=sampling)
        assert epsilon(event) == pytest.approx(epsilon(single), rel=1e-9)
    assert any("microbatch" in text for text in event.assumptions())


def test_accumulated_batches_are_one_batch():
    parts = rdpkit.DPSGD(**MNIST | {"batch_size": 32}, epochs=3, accumulation_steps=8)
    assert parts.expand() == rdpkit.DPSGD(**MNIST, epochs=3).expand()
    assert any("one sample of 256, cut into 8 parts" in text for text in parts.assumptions())
    order = dataclasses.replace(parts, sampling="shuffle")
    assert not any("cut into 8 parts" in text for text in order.assumptions())


def test_batches_that_are_sampled_each_on_its_own_leak_more_than_one_cut_into_parts():
    sizes = {"noise_multiplier": 1.0, "dataset_size": 256, "batch_size": 8, "steps": 40}
    parts = rdpkit.DPSGD(**sizes, accumulation_steps=4)
    # An example joins each of four samples: as the four examples of a user join one sample.
    drawn = rdpkit.DPSGD(**sizes, examples_per_user=4)
    found, _ = rdpkit.lower_bound(drawn, delta=1e-5, adjacency="add_or_remove_one")
    assert found.epsilon > 1.2 * epsilon(parts)


@pytest.mark.thorough
def test_a_shuffled_epoch_uses_every_example_once():
    event = rdpkit.DPSGD(**MNIST | {"noise_multiplier": 20.0}, epochs=60, sampling="shuffle")
    assert event.updates == 60 * 234
    swap = unit.gaussian(10.0, record_diameter=1.0)
    once = swap * 60
    for adjacency in ("add_or_remove_one", "replace_one"):
        # Nobody knows in which batch.
        assert epsilon(event, adjacency) < 0.1 * epsilon(once)
        renyi = epsilon(event, adjacency, bound="best-rdp")
        assert renyi == pytest.approx(epsilon(once, bound="best-rdp"), rel=1e-9)
    # 235 steps begin a second epoch.
    assert rdpkit.DPSGD(**MNIST, steps=234, sampling="shuffle").passes == 1
    assert rdpkit.DPSGD(**MNIST, steps=235, sampling="shuffle").passes == 2


SCHEMES = [
    {"sampling": "poisson"},
    {"sampling": "fixed-size"},
    {"sampling": "shuffle"},
    {"sampling": "truncated-poisson", "max_batch_size": 300},
    {"sampling": "random-allocation"},
]


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme["sampling"])
@pytest.mark.parametrize("adjacency", list(rdpkit.Adjacency))
def test_every_way_of_making_batches_has_both_bounds(scheme, adjacency):
    event = rdpkit.DPSGD(**MNIST, epochs=3, **scheme)
    lower = rdpkit.lower_bound(event, delta=1e-5, adjacency=adjacency)[0].epsilon
    upper = epsilon(event, adjacency)
    assert 0.3 < lower <= upper < 40.0
    assert event.assumptions()


@pytest.mark.thorough
def test_shuffled_epochs_refute_what_is_claimed_for_poisson_samples():
    """Zero-out is the relation under which all of them have the same sensitivity."""
    poisson = rdpkit.DPSGD(**MNIST, epochs=60)
    shuffled = rdpkit.DPSGD(**MNIST, epochs=60, sampling="shuffle")
    claim = epsilon(poisson, "zero_out")
    assert claim == epsilon(poisson)
    assert rdpkit.lower_bound(shuffled, delta=1e-5, adjacency="zero_out")[0] > 4.0 * claim


def test_allocated_and_shuffled_epochs_have_whole_batches():
    event = rdpkit.DPSGD(**MNIST, steps=235, sampling="random-allocation")
    one = unit.allocated(1.1, 234, record_diameter=2.0)
    assert event.expand() == one * 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epochs": 1, "steps": 1}, "Expected steps or epochs, exactly one"),
        ({}, "Expected steps or epochs, exactly one"),
        ({"epochs": 1, "batch_size": 60001}, "batch_size to be at most dataset_size = 60000"),
        ({"epochs": 1, "accumulation_steps": 300}, "accumulated batch to be at most"),
        ({"epochs": 1, "sampling": "shuffled"}, "sampling to be one of .*did you mean"),
        ({"epochs": 1, "max_batch_size": 300}, "max_batch_size to be None without"),
        ({"epochs": 1, "sampling": "truncated-poisson"}, "Expected max_batch_size >= 1"),
    ],
)
def test_bad_settings_are_named(change, message):
    with pytest.raises(ValueError, match=f"(?i){message}"):
        rdpkit.DPSGD(**MNIST | change)


@pytest.mark.thorough
@pytest.mark.parametrize("noise", [0.5, 0.55])
@pytest.mark.parametrize("epochs", [2, 10])
def test_shuffled_epochs_with_little_noise_have_a_lower_bound(noise, epochs):
    """All sums together need grids that floats do not have here, and the largest sum does not."""
    given_ = {"batch_size": 64, "dataset_size": 64_000, "epochs": epochs}
    run = rdpkit.DPSGD(noise_multiplier=noise, sampling="shuffle", **given_)
    lower, _ = rdpkit.lower_bound(run, delta=1e-5, adjacency="add_or_remove_one")
    poisson = rdpkit.DPSGD(noise_multiplier=noise, **given_)
    upper = rdpkit.epsilon(poisson, delta=1e-5, adjacency="add_or_remove_one")
    assert lower.epsilon > 3.0 * upper.epsilon
    assert lower.epsilon <= rdpkit.epsilon(run, delta=1e-5, adjacency="add_or_remove_one").epsilon


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"sampling": "fixed-size", "epochs": 1.5}, unit.fixed_size(1.0, 20, 100, **FAR) * 8),
        ({"sampling": "shuffle", "epochs": 1.5}, unit.shuffled(1.0, 20, 100, **FAR) * 2),
        ({"sampling": "random-allocation", "epochs": 1.5}, unit.allocated(1.0, 5, **FAR) * 2),
        (
            {"sampling": "truncated-poisson", "steps": 3, "max_batch_size": 30},
            unit.truncated(1.0, 0.2, 30, 100, **FAR) * 3,
        ),
        (
            {"microbatch_size": 2, "steps": 3},
            rdpkit.PoissonSampledGaussian(
                noise_std=1.0, record_norm=2.0, sampling_probability=0.2, **FAR
            )
            * 3,
        ),
    ],
    ids=str,
)
def test_what_is_released_is_no_less_than_said(options, expected):
    training = {"noise_multiplier": 1.0, "dataset_size": 100, "batch_size": 10}
    assert rdpkit.DPSGD(**training, accumulation_steps=2, **options).expand() == expected
