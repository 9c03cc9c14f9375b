"""Means of subsets: right for every type and path, whatever the number of threads."""

import tracemalloc
from functools import partial

import numpy as np
import pytest

from rdpkit.mechanisms.parts.mixing import Mixer, mixed
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.records import Records, public_scaling
from rdpkit.mechanisms.parts.sampling import subsets

KINDS = (np.uint8, np.int16, np.float32, np.float64)


def records(kind=np.uint8, *, width=16, count=700, **changes):
    rng = np.random.default_rng(3)
    given = {
        "features": rng.integers(0, 256, (count, width)).astype(kind),
        "scaling": public_scaling(factor=1 / 255),
    }
    return Records(labels=np.zeros(count, dtype=int), classes=1, **{**given, **changes})


def chosen(count, size, population=700):
    return subsets(population, size, count, noise=NoiseSource.seeded(5))


def naive(data, indices):
    """Every record transformed, then averaged."""
    return np.array([data.rows(row).mean(axis=0) for row in indices])


SHIFTED = public_scaling(factor=2 / 255, shift=-1.0)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1, 3, 257, 258, 600])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"scaling": SHIFTED},
        {"norm": 1.0},
        {"norm": 1.0, "scaling": SHIFTED},
        {"box": (0.0, 1.0)},
        {"box": (0.1, 0.6)},
        {"box": (-0.5, 0.5), "norm": 0.3, "scaling": SHIFTED},
    ],
)
def test_means_are_those_of_the_transformed_records(kind, size, changes):
    data = records(kind, **changes)
    indices = chosen(4, size)
    # Sums of 600 numbers of size 1 in double precision: 600 * 1e-16, and room. Clipping factors of
    # bytes are rounded to 2^-24 of a record with coordinates of at most 1.
    limit = 2.0**-24 if kind is np.uint8 and "norm" in changes else 1e-12
    np.testing.assert_allclose(Mixer(data).means(indices), naive(data, indices), rtol=0, atol=limit)


def test_sums_of_weighted_bytes_are_exact():
    """Against Python's own integers, at the largest sums there are."""
    data = Records(
        features=np.vstack([np.full((300, 8), 255), np.full((300, 8), 254)]).astype(np.uint8),
        labels=np.zeros(600, dtype=int),
        classes=1,
        scaling=public_scaling(),
        norm=255.0 * np.sqrt(8.0) - 1e-3,
    )
    factors = data.clip_factors()
    whole = [min(int(factor * 2**24), 2**24 - 1) for factor in factors]
    for size in (257, 514, 600):
        indices = chosen(1, size, 600)
        exact = sum(whole[i] * int(data.flat[i, 0]) for i in indices[0])
        # One division by the size, rounded to a double.
        found = Mixer(data).means(indices)
        np.testing.assert_allclose(found, exact / 2**24 / size, rtol=3e-16)


# How features may lie in memory, and the largest error.
ROUTES = {
    **{f"{n} features": (partial(records, width=n), 1e-12) for n in (1, 7, 8, 784)},
    **{
        f"{np.dtype(kind)}, norm {norm}": (partial(records, kind, norm=norm), 1e-12)
        for kind in (np.float16, np.longdouble, ">f4", ">i2", np.uint64)
        for norm in (None, 1.0)
    },
    "not side by side": (
        partial(records, features=records(np.float64, width=32).flat[:, ::2], norm=1.0), 1e-12,
    ),
    # Nothing is rounded to 0: numbers are about 1e-10 here.
    "a very short norm": (partial(records, norm=1e-9), 1e-21),
}  # fmt: skip


@pytest.mark.parametrize("name", ROUTES)
def test_however_features_lie_in_memory(name):
    make, limit = ROUTES[name]
    data, indices = make(), chosen(5, 40)
    np.testing.assert_allclose(Mixer(data).means(indices), naive(data, indices), rtol=0, atol=limit)


def test_features_may_be_mapped_from_a_file(tmp_path):
    np.save(tmp_path / "x.npy", records().flat)
    data = records(features=np.load(tmp_path / "x.npy", mmap_mode="r"))
    indices = chosen(6, 50)
    np.testing.assert_allclose(Mixer(data).means(indices), naive(data, indices), atol=1e-10)


@pytest.mark.parametrize("number", [-1, 700])
def test_a_record_that_is_not_there_is_refused(number):
    with pytest.raises(IndexError, match=r"numbers of records in \[0, 700\), got some in"):
        Mixer(records()).means(np.array([[3, number]]))


@pytest.mark.parametrize("norm", [None, 1.0])
@pytest.mark.parametrize("kind", KINDS)
def test_threads_do_not_change_a_bit(kind, norm):
    data = records(kind, width=784, norm=norm)
    indices = chosen(60, 64)
    alone = Mixer(data, workers=1).means(indices)
    np.testing.assert_array_equal(Mixer(data, workers=3).means(indices), alone)


def test_a_torch_device_gives_the_same():
    pytest.importorskip("torch")
    for changes in ({}, {"norm": 1.0}, {"norm": 0.5, "scaling": SHIFTED}, {"box": (0.1, 0.6)}):
        data = records(**changes)
        indices = chosen(20, 33)
        np.testing.assert_allclose(
            Mixer(data, device="cpu").means(indices), Mixer(data).means(indices), rtol=0, atol=1e-12
        )


def test_memory_does_not_depend_on_the_number_of_releases():
    data = records(width=64)
    mixer = Mixer(data, workers=1)

    def peak(releases):
        noise = NoiseSource.seeded(1)
        tracemalloc.start()
        total = 0
        for means, members in mixed(
            mixer,
            np.arange(700),
            order_of_mixture=4,
            releases=releases,
            at_least=700,
            noise=noise,
            dimension=64,
        ):
            assert len(means) == len(members)
            total += len(means)
        top = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert total == releases
        return top

    # One batch holds 2^24 bytes: about 30,000 releases, and the one before it is still alive.
    assert peak(180_000) < 1.1 * peak(65_000)


def test_zeros_stand_in_for_records_that_are_missing():
    data = records(count=3)
    made = {
        "order_of_mixture": 4,
        "releases": 30,
        "noise": NoiseSource.seeded(0),
        "dimension": 16,
    }
    ((means, chosen),) = mixed(Mixer(data), np.arange(3), at_least=5, **made)
    assert set(np.sum(chosen < 0, axis=1)) == {1, 2}  # of five places, four are drawn
    for mean, numbers in zip(means, chosen, strict=True):
        there = data.rows(numbers[numbers >= 0])
        np.testing.assert_allclose(mean, there.sum(axis=0) / 4, atol=1e-12)
    ((means, _),) = mixed(Mixer(data), np.arange(0), at_least=4, **made)
    assert not means.any()
    with pytest.raises(ValueError, match="Expected order_of_mixture to be an integer in"):
        list(mixed(Mixer(data), np.arange(3), at_least=3, **made))
