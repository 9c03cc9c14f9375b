"""The noise-corrected discriminant: laws that come back, and agreement with scikit-learn."""

import numpy as np
import pytest
from discriminant import fit_discriminant
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from tests.events import of_papers

SPREAD = np.array([3.0, 1.0, 0.5, 0.2, 0.1])


def records(rng, size):
    """Three classes in five dimensions, with one covariance."""
    centres = np.array([[0.0, 0, 0, 0, 0], [1.0, 1, 0, 0, 0], [0.0, 0, 1, 1, 0]])
    labels = np.repeat(np.arange(3), size)
    return centres[labels] + rng.normal(size=(3 * size, 5)) * SPREAD, labels, centres


def event(order, noise, size, releases):
    return of_papers.dpcda([size] * 3, releases, order, noise=noise, clip_norm=10.0)


def mixtures(rng, rows, classes, *, order, noise, releases):
    found, labels = [], np.repeat(np.arange(3), releases)
    for k in labels:
        chosen = rng.choice(np.flatnonzero(classes == k), order, replace=False)
        found.append(rows[chosen].mean(axis=0) + rng.normal(size=5) * noise)
    return np.array(found), labels


@pytest.mark.thorough
def test_mixing_and_noise_are_taken_out():
    """20,000 mixtures: sampling errors of the variances are about 2 %, of the noise as much."""
    rng = np.random.default_rng(3)
    rows, classes, _ = records(rng, 2_000)
    how = {"order": 20, "noise": 0.05, "releases": 20_000}
    found, labels = mixtures(rng, rows, classes, **how)
    fitted = fit_discriminant(
        found, labels, event=event(20, 0.05, 2_000, 20_000), rank=5, own_share=0.0
    )
    np.testing.assert_allclose(fitted.variances[0], np.sort(SPREAD**2), rtol=0.15, atol=0.004)
    true_means = [rows[classes == k].mean(axis=0) for k in range(3)]
    np.testing.assert_allclose(fitted.means, true_means, atol=0.03)


def test_records_themselves_give_linear_discriminant_analysis():
    rng = np.random.default_rng(4)
    rows, classes, _ = records(rng, 500)
    fresh = records(rng, 500)[0]
    fitted = fit_discriminant(
        rows, classes, event=event(1, 1e-12, 10**9, 500), rank=5, own_share=0.0
    )
    peer = LinearDiscriminantAnalysis().fit(rows, classes)
    assert (fitted.predict(fresh) == peer.predict(fresh)).mean() == 1.0


def test_corrected_covariances_beat_those_of_the_mixtures():
    """Classes of different shape: only the corrected widths tell them apart."""
    rng = np.random.default_rng(5)
    labels = np.repeat(np.arange(3), 3_000)
    widths = np.array([[3.0, 0.3], [0.3, 3.0], [1.0, 1.0]])
    rows = rng.normal(size=(9_000, 2)) * widths[labels]
    rows = np.hstack([rows, np.zeros((9_000, 3))])
    how = {"order": 50, "noise": 0.05, "releases": 2_000}
    found, classes = mixtures(rng, rows, labels, **how)
    made = event(50, 0.05, 3_000, 2_000)
    corrected = fit_discriminant(found, classes, event=made, rank=2, own_share=1.0)
    # As if the mixtures were records: every class is far too narrow, and the noise stays in.
    naive = fit_discriminant(found, classes, event=event(1, 1e-12, 3_000, 2_000), rank=2)
    assert corrected.accuracy(rows, labels) > naive.accuracy(rows, labels) + 0.02


def test_noise_that_hides_the_classes_widths_leaves_their_means():
    """Then the rule is close to that of the nearest mean, and nothing overflows."""
    rng = np.random.default_rng(7)
    labels = np.repeat(np.arange(3), 400)
    centres = 5.0 * np.eye(3, 5)
    found = centres[labels] + rng.normal(size=(1_200, 5))
    fitted = fit_discriminant(found, labels, event=event(20, 1.2, 2_000, 400))
    assert fitted.accuracy(centres, np.arange(3)) == 1.0
