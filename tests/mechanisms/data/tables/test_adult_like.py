from itertools import combinations

import numpy as np
import pytest

from rdpkit.mechanisms.data.tables.adult_like import ADULT_LIKE, adult_like, true_marginal
from rdpkit.mechanisms.data.tables.encoding import encode

ROWS = 20_000


@pytest.fixture(scope="module")
def codes():
    return encode(adult_like(ROWS, seed=1), ADULT_LIKE)


def test_there_are_fifteen_columns_of_every_kind():
    assert len(ADULT_LIKE.columns) == 15
    assert {c.kind for c in ADULT_LIKE.columns} == {
        "number", "integer", "category", "boolean", "date", "datetime",
    }  # fmt: skip
    assert sum(c.missing for c in ADULT_LIKE.columns) == 4


@pytest.mark.parametrize("name", ADULT_LIKE.names)
def test_columns_are_as_frequent_as_their_true_marginals_say(codes, name):
    place = ADULT_LIKE.names.index(name)
    truth = true_marginal([name])
    assert truth.shape == (ADULT_LIKE.domain[place],)
    assert truth.sum() == pytest.approx(1.0, abs=1e-12)
    seen = np.bincount(codes[:, place], minlength=truth.size) / ROWS
    # Five standard deviations of the number of records with a code; the seed is fixed.
    assert np.all(np.abs(seen - truth) <= 5.0 * np.sqrt(truth / ROWS) + 1e-9)


def test_pairs_are_as_frequent_as_their_true_marginals_say(codes):
    errors = []
    for i, j in combinations(range(15), 2):
        truth = true_marginal([ADULT_LIKE.names[i], ADULT_LIKE.names[j]])
        flat = codes[:, i] * ADULT_LIKE.domain[j] + codes[:, j]
        seen = np.bincount(flat, minlength=truth.size).reshape(truth.shape) / ROWS
        chance = np.sqrt(truth / ROWS).sum() * np.sqrt(2.0 / np.pi) / 2.0
        errors.append(np.abs(seen - truth).sum() / 2.0 / chance)
    # Chance alone gives 1.
    assert 0.9 < np.mean(errors) < 1.1


def test_columns_depend_on_each_other():
    joint = true_marginal(["education", "income"])
    apart = np.outer(joint.sum(1), joint.sum(0))
    assert np.abs(joint - apart).sum() / 2.0 > 0.2


def test_the_seed_repeats_the_records():
    assert adult_like(50, seed=3).equals(adult_like(50, seed=3))
    assert not adult_like(50, seed=3).equals(adult_like(50, seed=4))
    assert adult_like(0, seed=0).num_rows == 0
    with pytest.raises(ValueError, match="names"):
        true_marginal(["age", "age"])
