"""Scores of squares and of products of columns."""

import numpy as np
import pytest

from rdpkit.verification.blackbox.scores.covariance import covariance_scores, pair_scores
from rdpkit.verification.blackbox.scores.named_score import TrainingOutputs


def noise(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


def by_name(family, p, q):
    found = family(TrainingOutputs(p=p, q=q, shapes=((p.shape[1],),)))
    return {one.name: one for one in found}


def separation(score, p, q):
    values = [score.of(side) for side in (p, q)]
    return abs(values[0].mean() - values[1].mean()) / np.sqrt(values[0].var() + values[1].var())


def stretched(seed, runs, width, factor):
    """Noise that is larger by a factor along the diagonal of all columns."""
    rows = noise(seed, runs, width)
    direction = np.full(width, width**-0.5)
    return rows + (factor - 1.0) * np.outer(rows @ direction, direction)


@pytest.mark.parametrize("width", [5, 60, 400])
def test_a_direction_of_larger_variance_is_found(width):
    p, q = stretched(1, 2000, width, 3.0), noise(2, 2000, width)
    score = by_name(covariance_scores, p, q)["squares along directions"]
    fresh = stretched(3, 2000, width, 3.0), noise(4, 2000, width)
    # Of a square that is 9 times as large: 8 / sqrt(2 * 81 + 2) = 0.62.
    assert separation(score, *fresh) > 0.4


def test_columns_in_other_units_are_compared_as_well():
    units = np.geomspace(1e-200, 1e200, 20)
    p, q = noise(1, 1000, 20), noise(2, 1000, 20)
    p[:, 3] *= 3.0
    score = by_name(covariance_scores, p * units, q * units)["squares along directions"]
    fresh = noise(3, 1000, 20), noise(4, 1000, 20)
    fresh[0][:, 3] *= 3.0
    assert separation(score, *(side * units for side in fresh)) > 0.4


def test_a_common_scale_is_seen_in_the_norm():
    p, q = noise(1, 1000, 200) * 1.05, noise(2, 1000, 200)
    score = by_name(covariance_scores, p, q)["norm"]
    assert separation(score, noise(3, 1000, 200) * 1.05, noise(4, 1000, 200)) > 0.5


def test_the_pair_of_columns_that_matters_has_the_largest_weight():
    p, q = noise(1, 2000, 50), noise(2, 2000, 50)
    p[:, 30] = 0.6 * p[:, 30] + 0.8 * p[:, 4]
    score = by_name(pair_scores, p, q)["products of columns"]
    upper = np.abs(np.triu(score.score.args[2], 1))
    first, second = np.unravel_index(np.argmax(upper), upper.shape)
    assert score.score.args[0].columns[[first, second]].tolist() == [4, 30]
    assert "outputs 4 and 30" in score.explanation.message


def test_signs_are_seen_where_sizes_are_not():
    # Heavy tails hide the product of the columns, and not that of their signs.
    def make(seed, runs, on):
        rng = np.random.default_rng(seed)
        rows = rng.standard_cauchy(size=(runs, 20)) ** 3
        if on:
            copied = rng.random(runs) < 0.5
            rows[copied, 1] = np.abs(rows[copied, 1]) * np.sign(rows[copied, 0])
        return rows

    score = by_name(pair_scores, make(1, 2000, True), make(2, 2000, False))
    fresh = make(3, 4000, True), make(4, 4000, False)
    assert separation(score["products of signs of columns"], *fresh) > 0.3


def test_few_outputs_and_single_columns_have_no_such_scores():
    assert by_name(pair_scores, noise(1, 500, 1), noise(2, 500, 1)) == {}
    assert by_name(pair_scores, noise(1, 30, 5), noise(2, 30, 5)) == {}
    assert by_name(covariance_scores, noise(1, 30, 5), noise(2, 30, 5)) == {}
