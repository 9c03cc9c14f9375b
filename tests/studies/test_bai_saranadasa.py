import math

import linear_matching
import numpy as np
import pytest
from bai_saranadasa import bai_saranadasa

from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.privacy import Privacy


def _by_the_definition(x, y):
    """The statistic with explicit covariance matrices, as Section 4 of the paper writes it."""
    n1, n2 = len(x), len(y)
    n = n1 + n2 - 2
    s = sum(
        np.outer(row - rows.mean(axis=0), row - rows.mean(axis=0))
        for rows in (x, y)
        for row in rows
    )
    s = s / n
    b2 = n**2 / ((n + 2) * (n - 1)) * (np.trace(s @ s) - np.trace(s) ** 2 / n)
    difference = x.mean(axis=0) - y.mean(axis=0)
    top = n1 * n2 / (n1 + n2) * (difference @ difference) - np.trace(s)
    return top / math.sqrt(2 * (n + 1) / n * b2)


@pytest.mark.parametrize(("n1", "n2", "d"), [(5, 7, 40), (20, 30, 4), (3, 2, 10)])
def test_the_statistic_is_that_of_the_definition(n1, n2, d):
    rng = np.random.default_rng(n1)
    x, y = rng.normal(size=(n1, d)), rng.normal(size=(n2, d)) + 0.1
    found = bai_saranadasa(x, y)
    # Both in double precision, with other orders of summation.
    assert found.statistic == pytest.approx(_by_the_definition(x, y), rel=1e-10)
    assert bai_saranadasa(y, x).statistic == pytest.approx(found.statistic, rel=1e-10)


def test_p_values_are_tails_of_the_normal_distribution():
    rng = np.random.default_rng(1)
    found = bai_saranadasa(rng.normal(size=(20, 50)), rng.normal(size=(20, 50)))
    upper = 0.5 * math.erfc(found.statistic / math.sqrt(2.0))
    assert found.p_value == pytest.approx(upper, rel=1e-12)
    assert found.p_value_two_sided == pytest.approx(2 * min(upper, 1 - upper), rel=1e-12)


def test_different_means_are_found_where_hotelling_has_no_inverse():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(30, 200)), rng.normal(size=(30, 200))
    assert bai_saranadasa(x, y).p_value > 0.001
    assert bai_saranadasa(x, y + 0.3).p_value < 1e-6


def test_shared_initial_records_make_the_statistic_very_negative_though_means_are_equal():
    # Zheng and Li reject equal means at Z = -3.03, two-sided, for samples from the same initial
    # records. The samples below have the same mean to the last digit, and Z is far below -3.
    rng = np.random.default_rng(4)
    initial = rng.normal(size=(2, 60, 36))
    features, labels = rng.uniform(-1, 1, (80, 1, 6, 6)), np.arange(80) % 2
    options = {
        "classes": 2,
        "privacy": Privacy(delta=1e-5, adjacency="replace_one", noise=NoiseSource.seeded(0)),
        "samples_per_class": 60,
    }
    first = linear_matching.synthesize(features, labels, initial=initial, **options)
    records = first.features[first.labels == 0]
    found = bai_saranadasa(records, records)
    assert found.statistic < -3.0
    assert found.p_value_two_sided < 0.01
    assert found.p_value > 0.99
