import math

import numpy as np
import pytest
from sklearn.datasets import load_digits

import rdpkit
from rdpkit.mechanisms.algorithms import moments
from rdpkit.mechanisms.algorithms.moments import MomentsOptions
from rdpkit.mechanisms.parts.moments.basis import Basis, public_view, random_images
from rdpkit.mechanisms.parts.moments.noisy import (
    OF_ALL,
    OF_CLASSES,
    CentredView,
    add_symmetric,
    class_sizes,
    margin_of,
    noisy_moments,
    noisy_view,
    squares,
)
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.privacy import Privacy
from rdpkit.mechanisms.releases.release import load_release

REPLACE = "replace_one"


def _data(count=600, side=8):
    """Two classes of stripes, across and down, with noise."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, count)
    stripes = 0.5 + 0.4 * np.sin(np.arange(side) * math.pi / 2)
    rows = np.where(labels[:, None, None] == 0, stripes[:, None], stripes[None, :])
    rows = np.clip(rows + rng.normal(0, 0.1, (count, side, side)), 0, 1)
    return rows[:, None].astype(np.float32), labels


def _made(basis, *, std=0.02, seed=1, outputs=5, **options):
    features, labels = _data()
    given = MomentsOptions(noise_std=std, basis=basis, outputs_per_class=outputs, **options)
    privacy = Privacy(delta=1e-5, adjacency=REPLACE, noise=NoiseSource.seeded(seed))
    return moments.synthesize(features, labels, classes=2, options=given, privacy=privacy)


@pytest.mark.thorough
@pytest.mark.parametrize("basis", ["scattering", "cosines", "columns"])
def test_a_release_is_read_and_has_records_in_their_shape(basis, tmp_path):
    few = {} if basis == "columns" else {"frequencies": 2, "directions": 4}
    made = _made(basis, class_directions=4, **few)
    made.save(tmp_path / "made.npz")
    back = load_release(tmp_path / "made.json")
    features, labels = _data()
    rows = features.reshape(len(features), -1)
    found = moments.read(back, rows)
    np.testing.assert_array_equal(found, moments.read(made, rows))
    if basis != "cosines":  # two frequencies do not see the stripes
        assert np.mean(found == labels) > 0.9
    if basis != "scattering":
        assert made.features.shape == (10, 1, 8, 8)
        assert made.features.min() >= 0
        assert made.features.max() <= 1
    assert made.labels.tolist() == [0] * 5 + [1] * 5
    assert made.manifest.parameters["counts"]["origin"] == "relation"


def test_draws_look_like_their_class():
    made = _made("columns", class_directions=64, outputs=100)
    features, labels = _data()
    for label in (0, 1):
        own = made.features[made.labels == label].mean(axis=0)
        distances = [np.abs(own - features[labels == k].mean(axis=0)).mean() for k in (0, 1)]
        assert 2 * distances[label] < distances[1 - label]


def test_what_is_left_open_follows_from_public_numbers():
    """More records for the noise give more directions, and at last moments of each class."""
    shape = (1, 28, 28)
    found = [
        MomentsOptions(noise_std=std).chosen(records=records, classes=10, shape=shape)
        for records, std in ((100, 7.0), (2000, 7.0), (60_000, 0.7))
    ]
    assert [one.directions for one in found] == [20, 130, 437]
    assert [one.class_directions for one in found] == [0, 0, 100]
    for one in found:
        assert one == one.chosen(records=1, classes=10, shape=shape)
    colours = MomentsOptions(noise_std=1.0).chosen(records=1, classes=2, shape=(3, 32, 32))
    assert colours.frequencies == 2


@pytest.mark.parametrize("adjacency", ["add_or_remove_one", REPLACE])
@pytest.mark.parametrize("records", [500, 60_000])
def test_a_target_is_met_by_the_event_that_was_chosen(adjacency, records):
    given = moments.SPEC.check({}, calibrated=True)
    question = {"target_epsilon": 3.0, "delta": 1e-5, "adjacency": adjacency}
    sizes = (records // 10,) * 10
    values = moments.SPEC.calibrate(given, class_sizes=sizes, dimension=784, **question)
    options = moments.SPEC.build(values).chosen(records=records, classes=10, shape=(1, 28, 28))
    assert bool(options.class_directions) is (records > 500)
    assert options.event() == moments.SPEC.event(options, sizes, 784)
    assert rdpkit.epsilon(options.event(), delta=1e-5, adjacency=adjacency).epsilon <= 3.0


@pytest.mark.thorough
def test_too_few_records_are_said_before_the_release():
    with pytest.warns(UserWarning, match="too few records for this epsilon"):
        made = _made("scattering", std=500.0, frequencies=1, directions=4)
    assert "expected before the release" in " ".join(made.manifest.notes)
    options = [MomentsOptions(noise_std=std, directions=8) for std in (0.1, 100.0)]
    view = public_view(Basis(name="scattering", frequencies=1, shape=(1, 8, 8)))
    clear, noisy = (
        moments.expected_accuracy(view, one, records=1000, classes=10) for one in options
    )
    assert clear > 0.3
    assert noisy < 0.15


def test_random_images_are_always_the_same_and_in_their_limits():
    images = random_images((3, 8, 6), shapes=4, variants=2)
    assert images.shape == (8, 3, 8, 6)
    assert 0 <= images.min() < images.max() <= 1
    np.testing.assert_array_equal(images, random_images((3, 8, 6), shapes=4, variants=2))
    assert images[0].mean() == pytest.approx(0.379, abs=1e-3)


def test_noisy_class_sizes_lie_between_equal_ones_and_those_that_were_counted():
    counts = np.array([40.0, 160.0])
    np.testing.assert_allclose(class_sizes(counts, 0.0, 200), counts)
    assert np.abs(class_sizes(counts, 1e6, 200) - 100).max() < 1e-3
    assert class_sizes(np.array([-500.0, 700.0]), 1.0, 200).min() > 0


def test_squares_of_noisy_means_lie_between_equal_ones_and_their_own():
    means, shared = np.array([[3.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.diag([1.0, 0.5])
    exact = [9.0, 2.0, 3.0]
    np.testing.assert_allclose(squares(means, shared, np.zeros(3)), exact)
    np.testing.assert_allclose(squares(means, shared, np.full(3, 100.0)), np.mean(exact))
    some = squares(means, shared, np.full(3, 0.3))
    assert 2.0 < some.min() < some.max() < 9.0
    assert squares(means[:1], shared, np.ones(1)) == pytest.approx([9.0])


def test_the_variance_of_a_square_is_that_of_draws():
    """Means of one length, with noise: what the squares then differ by is taken for noise."""
    shared, std = np.diag([1.0, 0.5, 2.0]), 0.4
    drawn = np.array([1.0, -2.0, 0.5]) + std * np.random.default_rng(0).normal(size=(20_000, 3))
    left = squares(drawn, shared, np.full(len(drawn), std))
    raw = squares(drawn, shared, np.zeros(len(drawn)))
    assert left.var() < 0.01 * raw.var()


def test_the_margin_for_rounding_grows_with_the_number_of_records():
    assert margin_of(1) == margin_of(130_000) == 1e-6
    for records in (10**6, 10**7):
        most = 4 * records
        assert 2 * (4096 + most / 4096) * most * 2.0**-53 < margin_of(records) < 1e-2


@pytest.mark.thorough
def test_the_noise_on_products_is_the_same_for_each_number():
    source, found = NoiseSource.seeded(0), np.zeros((4000, 3, 3))
    for matrix in found:
        add_symmetric(matrix, 1.0, source)
    np.testing.assert_array_equal(found, np.swapaxes(found, 1, 2))
    assert found.var(axis=0)[np.diag_indices(3)] == pytest.approx(1.0, abs=0.1)
    assert found.var(axis=0)[np.triu_indices(3, 1)] == pytest.approx(0.5, abs=0.05)


@pytest.mark.thorough
@pytest.mark.parametrize("plan", [OF_ALL, OF_CLASSES])
def test_the_noise_that_is_measured_is_the_one_of_the_event(plan):
    """Nothing but noise comes out of no records; each of its parts is scaled as the plan says."""
    std, draws = 2.0, 400
    rows, labels = np.zeros((0, 3), dtype=np.float32), np.zeros(0, dtype=np.int64)
    view, source = CentredView(offset=np.zeros(3), radius=1.0), NoiseSource.seeded(5)
    given = {"classes": 2, "block": 2, "records": 1, "plan": plan, "std": std, "noise": source}
    made = [noisy_moments(rows, labels, view, **given) for _ in range(draws)]
    sums, pooled, by_class, counts = plan.noise(std)
    for name, wanted in (("sums", sums), ("counts", counts)):
        found = np.std([getattr(one, name) for one in made])
        assert found == pytest.approx(wanted, rel=0.08)
    diagonals = np.std([np.diag(one.pooled) for one in made])
    assert diagonals == pytest.approx(pooled, rel=0.08)
    if by_class:
        own = np.std([[np.diag(matrix) for matrix in one.by_class] for one in made])
        assert own == pytest.approx(by_class, rel=0.08)
    else:
        assert all(one.by_class.size == 0 for one in made)
    mean, _ = plan.location_noise(std)
    offsets = [
        noisy_view(rows, records=1, plan=plan, std=std, noise=source).offset for _ in range(draws)
    ]
    assert np.std(offsets) == pytest.approx(mean, rel=0.08)


@pytest.mark.parametrize("plan", [OF_ALL, OF_CLASSES])
@pytest.mark.parametrize("far", [1e30, np.inf, -1.0])
def test_one_record_moves_a_release_by_no_more_than_its_norm(plan, far):
    """Without noise, and far away: sums, products once, those of the class, and its count."""
    rows = np.random.default_rng(1).normal(size=(50, 4)).astype(np.float32)
    rows[-1] = far
    labels = np.arange(50) % 3
    view = CentredView(offset=np.zeros(4), radius=0.5)
    quiet = NoiseSource.seeded(0)
    given = {"classes": 3, "block": 2, "records": 50, "plan": plan, "std": 1e-12, "noise": quiet}
    more = noisy_moments(rows, labels, view, **given)
    less = noisy_moments(rows[:-1], labels[:-1], view, **given)
    square = plan.sums * np.sum((more.sums - less.sums) ** 2)
    square += plan.pooled * np.sum((more.pooled - less.pooled) ** 2)
    square += plan.by_class * np.sum((more.by_class - less.by_class) ** 2)
    square += plan.counts * np.sum((more.counts - less.counts) ** 2)
    assert plan.counts * 0.99 < square <= 1.0


@pytest.mark.thorough
@pytest.mark.parametrize("adjacency", ["add_or_remove_one", REPLACE])
def test_few_records_are_read_about_as_well_as_a_class_mean_reads_them(adjacency):
    """Digits at epsilon 3, with the options as they are."""
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.target))
    rows, labels = (digits.images[order] / 16).astype(np.float32)[:, None], digits.target[order]
    privacy = Privacy(delta=1e-5, adjacency=adjacency, noise=NoiseSource.seeded(1))
    given = moments.SPEC.check({}, calibrated=True)
    question = {"target_epsilon": 2.95, "delta": 1e-5, "adjacency": adjacency}
    values = moments.SPEC.calibrate(given, class_sizes=(140,) * 10, dimension=64, **question)
    made = moments.synthesize(
        rows[:1397], labels[:1397], classes=10, options=moments.SPEC.build(values), privacy=privacy
    )
    assert made.guarantee.epsilon <= 3.0
    found = moments.read(made, rows[1397:].reshape(400, -1))
    assert np.mean(found == labels[1397:]) > 0.87


@pytest.mark.parametrize("name", ["scattering", "cosines", "columns"])
def test_an_image_alone_decides_its_features(name):
    images = np.random.default_rng(2).random((20, 2, 12, 9)).astype(np.float32)
    basis = Basis(name=name, frequencies=2, shape=(2, 12, 9))
    together = basis.rows(images)
    changed = images.copy()
    changed[3] = 0
    other = basis.rows(changed)
    assert together.shape == (20, basis.dimension)
    np.testing.assert_array_equal(np.delete(together, 3, 0), np.delete(other, 3, 0))
    assert (together[3] != other[3]).any()
    assert basis.kept_rows(images) is basis.kept_rows(images.copy())
    if name == "scattering":
        assert np.linalg.norm(together, axis=1).max() <= 1.0


@pytest.mark.parametrize("name", ["cosines", "columns"])
def test_an_invertible_basis_is_inverted(name):
    images = np.random.default_rng(2).random((5, 1, 6, 6)).astype(np.float32)
    basis = Basis(name=name, frequencies=6, shape=(1, 6, 6))
    back = basis.images(basis.rows(images).astype(np.float64))
    np.testing.assert_allclose(back, images, atol=1e-6)


def test_more_frequencies_than_there_are():
    with pytest.raises(ValueError, match="at most 2"):
        Basis(name="scattering", frequencies=3, shape=(1, 8, 8))
