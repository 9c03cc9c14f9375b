"""Mean-and-covariance synthesis: the fitted law, cut to the cube, class by class."""

import dataclasses
import math

import numpy as np
import pytest

import rdpkit
from rdpkit.mechanisms.algorithms import gaussian_synthesis
from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.records import Records, public_scaling
from tests.mechanisms.flat import synthesize


def data(count=2000, seed=0, *, spread=3.0):
    """Two classes with different means and covariances, inside of the cube."""
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % 2
    mix = np.array([[0.2, 0.05], [0.0, 0.19]]) * spread
    centres = np.array([[0.1, -0.1], [-0.2, 0.2]])
    rows = rng.uniform(-1.0, 1.0, (count, 2)) @ mix + centres[labels]
    return rows, labels


def cut(rows, labels, *, classes):
    return Records(
        features=rows, labels=labels, classes=classes, scaling=public_scaling(),
        box=gaussian_synthesis.BOX,
    )  # fmt: skip


def made(rows=None, labels=None, **changes):
    given = {
        "classes": 2, "outputs_per_class": 3, "scaling": public_scaling(), "delta": 1e-5,
        "adjacency": "replace_one", "noise": 1, "counts": "public",
    } | changes  # fmt: skip
    if not given.keys() & {"min_eigenvalue", "noise_std"}:
        given.setdefault("added_variance", 0.09)
    if rows is None:
        rows, labels = data()
    return synthesize(gaussian_synthesis, rows, labels, **given)


def test_the_paper_s_own_release_tests_its_data_and_is_not_private():
    one = made(noise=NoiseSource.system(), min_eigenvalue=0.09)
    part = rdpkit.GaussianSynthesis(records=1000, outputs=3, dimension=2, min_eigenvalue=0.09)
    event = rdpkit.Parallel(events=(part, part))
    assert one.manifest.event == event
    assert one.guarantee == rdpkit.epsilon(event, delta=1e-5, adjacency="replace_one")
    assert any("no eigenvalue below" in text for text in one.guarantee.assumptions)
    assert "not accounted for" in one.manifest.notes[-1]
    assert not one.manifest.private
    (said,) = [check for check in one.manifest.checks if check.name == "preconditions"]
    assert said.status == "fails"
    assert "releases one neighbour and refuses the other" in said.sentence


def test_noisy_moments_hold_for_every_data_set_and_any_number_of_draws():
    one = made(noise=NoiseSource.system(), noise_std=5.0, outputs_per_class=50)
    assert isinstance(one.manifest.event, rdpkit.ClassMoments)
    assert one.manifest.event.noise_std == 5.0
    assert one.manifest.private
    assert one.guarantee == made(noise_std=5.0, outputs_per_class=1).guarantee
    assert one.features.shape == (100, 2)
    # Under replace-one the counts are free.
    with_counts = one.manifest.event
    without = dataclasses.replace(with_counts, count_weight=0.0)
    relation = rdpkit.Adjacency.REPLACE_ONE
    assert with_counts.sensitivity(relation) == without.sensitivity(relation)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_noisy_moments_refuse_no_data_set(count):
    rows, labels = np.ones((count, 3)), np.zeros(count, dtype=np.int64)
    for std in (1e-9, 1.0, 1e9):
        one = made(rows, labels, noise_std=std)
        assert one.features.shape == (6, 3)
        assert np.abs(one.features).max() <= 1.0


def test_noisy_moments_are_sums_that_one_record_moves_by_no_more_than_the_event_says():
    """The noise is watched: what is handed to it, for neighbours that are far apart."""

    class Watched:
        def __init__(self):
            self.seen = []

        def add_normal(self, values, *, std):
            self.seen.append(values.copy())

        def normal(self, shape):
            return np.zeros(shape)

    event = gaussian_synthesis.GaussianSynthesisOptions(
        outputs_per_class=1, noise_std=1.0
    ).moments()
    ends = []
    for row, label in (([1.0, 1.0], 0), ([-1.0, 1.0], 0), ([-1.0, 1.0], 1)):
        records = cut(np.array([[0.5, 0.2], row]), np.array([0, label]), classes=2)
        watched = Watched()
        list(gaussian_synthesis.noisy_batches(records, event=event, outputs=1, noise=watched))
        ends.append(np.concatenate(watched.seen))
    limit = event.sensitivity(rdpkit.Adjacency.REPLACE_ONE)
    for other in ends[1:]:
        assert 0.9 * limit < np.linalg.norm(ends[0] - other) <= limit


def test_draws_from_moments_with_little_noise_have_the_mean_and_covariance():
    features, labels = data(spread=1.0)
    one = made(features, labels, noise_std=1e-6, outputs_per_class=20_000)
    for label in range(2):
        drawn, real = one.features[one.labels == label], features[labels == label]
        # Variances are about 0.014: five standard errors.
        assert np.abs(drawn.mean(axis=0) - real.mean(axis=0)).max() < 0.004
        assert np.abs(np.cov(drawn.T) - np.cov(real.T)).max() < 0.0007


def fitted(rows, labels, events):
    """Means and covariances of the laws that are drawn from."""
    records = cut(rows, labels, classes=len(events))
    laws = [gaussian_synthesis._law(records, label, event) for label, event in enumerate(events)]
    return [(mean, root @ root.T) for mean, root in laws]


@pytest.mark.parametrize(
    "rows",
    [
        np.zeros((30, 3)),  # every variance is 0
        np.full((30, 3), -1.0),
        np.linspace(-1, 1, 30)[:, None] * np.ones(3),  # rank one
        np.eye(3)[:1],  # a single record, and 29 zeros in the place of others
        np.full((30, 3), 1e300),  # cut to 1
    ],
)
@pytest.mark.parametrize("sigma", [1e-3, 1e-300, 5.0])
def test_no_data_set_is_refused_and_the_law_is_the_one_of_the_theorem(rows, sigma):
    event = rdpkit.RegularisedSynthesis(records=30, outputs=2, dimension=3, added_variance=sigma)
    (mean, covariance), (other_mean, other_covariance) = fitted(
        rows, np.zeros(len(rows), dtype=int), (event, event)
    )
    filled = np.zeros((30, 3))
    filled[: len(rows)] = np.clip(rows, -1, 1)
    np.testing.assert_allclose(mean, filled.mean(axis=0), atol=1e-15)
    expected = np.cov(filled.T, bias=True) + sigma * np.eye(3)
    np.testing.assert_allclose(covariance, expected, rtol=1e-12, atol=1e-15)
    # The second class is empty.
    np.testing.assert_array_equal(other_mean, np.zeros(3))
    np.testing.assert_allclose(other_covariance, sigma * np.eye(3), rtol=1e-12)


def test_neighbours_of_which_the_paper_s_release_refuses_one_are_both_released():
    """A record whose removal makes the covariance singular; in both relations."""
    rows = np.zeros((40, 2))
    rows[:20, 0], rows[20:, 0] = 1.0, -1.0
    rows[0, 1] = 1.0
    labels = np.zeros(40, dtype=int)
    least = 0.9 * float(np.linalg.eigvalsh(np.cov(rows.T, bias=True))[0])
    flat = rows.copy()
    flat[0, 1] = 0.0
    assert made(rows, labels, classes=1, min_eigenvalue=least).features.shape == (3, 2)
    with pytest.raises(ValueError, match="no eigenvalue below"):
        made(flat, labels, classes=1, min_eigenvalue=least)
    for adjacency in ("replace_one", "add_or_remove_one"):
        for own in (rows, flat, rows[1:]):
            one = made(own, labels[: len(own)], classes=1, adjacency=adjacency, added_variance=50.0)
            assert one.features.shape == (3, 2)


def test_a_table_without_classes():
    features, labels = data()
    one = made(features, np.zeros_like(labels), classes=1, adjacency="add_or_remove_one")
    assert isinstance(one.manifest.event, rdpkit.RegularisedSynthesis)


def test_what_is_released_lies_in_the_cube():
    corners = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    records = cut(np.tile(corners, (10, 1)), np.zeros(40, dtype=int), classes=1)
    event = rdpkit.GaussianSynthesis(records=40, outputs=1000, dimension=2, min_eigenvalue=1.0)
    ((rows, _),) = gaussian_synthesis.batches(records, events=(event,), noise=NoiseSource.seeded(1))
    assert np.abs(rows).max() == 1.0
    # P(|N(0, 1)| > 1) = 0.317 of the coordinates are cut; five standard deviations.
    assert abs((np.abs(rows) == 1.0).mean() - 0.3173) < 5 * math.sqrt(0.22 / 2000)


def test_the_paper_s_own_release_is_not_accounted_for_with_more_records_than_there_are():
    with pytest.raises(ValueError, match="at least 1001 records of class 1"):
        made(min_eigenvalue=0.09, counts=[1000, 1001])
    assert made(min_eigenvalue=0.09, counts=[1000, 900]).features.shape == (6, 2)


def test_a_covariance_below_the_bound_is_refused_before_anything_is_drawn():
    with pytest.raises(ValueError, match="covariance of class 0 to have no eigenvalue below"):
        made(min_eigenvalue=0.5)


def test_a_variance_is_added_or_the_data_have_one():
    with pytest.raises(ValueError, match="to be one of them and not the other"):
        made(added_variance=1.0, min_eigenvalue=0.5)
