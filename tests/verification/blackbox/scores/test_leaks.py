"""Leaks that some score of the library separates on fresh outputs.

Each leak is a pair of functions that draw outputs on D and on D'. What is measured is the total
variation distance of the best score's distributions on 10,000 fresh outputs of each side, and the
bounds are what the leak itself allows, less what is lost by learning. All draws are seeded.
"""

import numpy as np
import pytest
from scipy.stats import norm

from rdpkit.verification.blackbox.neighbours import LabelledData, Neighbours
from rdpkit.verification.blackbox.scores.library import candidate_scores
from rdpkit.verification.blackbox.scores.training_outputs import TrainingOutputs

FRESH = 10_000


def pair_of(record, *, size=20):
    """D has one record more than D'."""
    rows = np.random.default_rng(123).normal(size=(size, len(record)))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return Neighbours(
        first=LabelledData(features=np.vstack([rows, record])),
        second=LabelledData(features=rows),
        adjacency="add_or_remove_one",
    )


def dense(width):
    return np.full(width, width**-0.5)


def variation(one, two):
    """The total variation distance of half-lines, from scores on both sides."""
    values = np.unique(np.concatenate([one, two]))
    shares = [
        np.searchsorted(np.sort(side), values, side="right") / len(side) for side in (one, two)
    ]
    return float(np.abs(shares[0] - shares[1]).max())


def best(make, runs, *, pair=None, shapes=None, families=None):
    """The families of the scores, and the largest distance that one of them shows."""
    p, q = (make(np.random.default_rng(seed), runs, seed == 1) for seed in (1, 2))
    training = TrainingOutputs(p=p, q=q, shapes=shapes or ((p.shape[1],),), pair=pair)
    scores = candidate_scores(training, own=None, models=(), rng=np.random.default_rng(3))
    fresh = [make(np.random.default_rng(seed), FRESH, seed == 4) for seed in (4, 5)]
    found = {
        one.name: variation(one.of(fresh[0]), one.of(fresh[1]))
        for one in scores
        if families is None or one.family in families
    }
    return max(found.values(), default=0.0)


def exponential_mechanism(rng, runs, on):
    """Eleven answers with utilities 0 and 1, which the record swaps, and twice the exponent."""
    utilities = np.where((np.arange(11) % 2 == 1) == on, 1.0, 0.0)
    weights = np.exp(utilities)
    return rng.choice(11, size=(runs, 1), p=weights / weights.sum()).astype(float)


@pytest.mark.parametrize("runs", [400, 4000])
def test_an_exponential_mechanism_is_seen_by_its_atoms(runs):
    # The best event is the set of the answers that are more likely on D: 5 or 6 of 11.
    weights = [np.exp(np.where((np.arange(11) % 2 == 1) == on, 1.0, 0.0)) for on in (True, False)]
    chances = [one / one.sum() for one in weights]
    optimal = 0.5 * np.abs(chances[0] - chances[1]).sum()
    assert best(exponential_mechanism, runs, families=("atoms",)) > 0.95 * optimal
    # A half-line of the answers' numbers hardly shows anything.
    assert best(exponential_mechanism, runs, families=("linear",)) < 0.5 * optimal


@pytest.mark.slow
@pytest.mark.parametrize("record", [dense(100), np.eye(100)[7]], ids=["dense", "one-column"])
@pytest.mark.parametrize("known", [True, False], ids=["known-pair", "unknown-pair"])
def test_noise_that_is_a_tenth_too_small_in_many_dimensions(record, known):
    # A classical (1, 0.01) Gaussian mechanism has a noise of 3.1 for a record of norm 1.
    scale = 0.9 * 3.1

    def make(rng, runs, on):
        return rng.normal(size=(runs, 100)) * scale + (record if on else 0.0)

    optimal = 2.0 * norm.cdf(0.5 / scale) - 1.0
    found = best(make, 20_000, pair=pair_of(record) if known else None)
    assert found > 0.9 * optimal


@pytest.mark.parametrize("known", [True, False], ids=["known-pair", "unknown-pair"])
def test_noise_shaped_by_the_private_covariance(known):
    record = np.random.default_rng(9).normal(size=30)
    pair = pair_of(record)

    def make(rng, runs, on):
        rows = (pair.first if on else pair.second).features
        covariance = rows.T @ rows + np.eye(30)
        return rng.multivariate_normal(np.zeros(30), covariance, size=runs, method="cholesky")

    found = best(make, 4000, pair=pair if known else None, families=("covariance",))
    assert found > (0.4 if known else 0.35)


@pytest.mark.parametrize("chance", [1e-2, 1e-3])
def test_an_exact_record_that_is_rarely_released(chance):
    record = np.random.default_rng(9).normal(size=20)
    record /= np.linalg.norm(record)
    pair = pair_of(record)

    def make(rng, runs, on):
        rows = (pair.first if on else pair.second).features
        released = rng.normal(size=(runs, 20)) * 5.0 + rows.sum(axis=0)
        shown = rng.random(runs) < chance
        released[shown] = record if on else rows[0]
        return released

    # The shift of the mean is seen as well. What must be seen is the event of the rare record.
    p, q = (make(np.random.default_rng(seed), 2000, seed == 1) for seed in (1, 2))
    training = TrainingOutputs(p=p, q=q, shapes=((20,),), pair=pair)
    scores = candidate_scores(training, own=None, models=(), rng=np.random.default_rng(3))
    fresh = [make(np.random.default_rng(seed), FRESH, seed == 4) for seed in (4, 5)]
    shown = (fresh[0] == record).all(axis=1)
    assert shown.sum() > 0.5 * chance * FRESH
    # All exact records, and next to nothing else, are above a threshold.
    precision = []
    for one in scores:
        values = [one.of(side) for side in fresh]
        least = values[0][shown].min()
        others = (values[0][~shown] >= least).sum() + (values[1] >= least).sum()
        precision.append(shown.sum() / (shown.sum() + others))
    assert max(precision) == 1.0


def one_pair(rng, runs, on):
    rows = rng.normal(size=(runs, 200))
    if on:
        rows[:, 7] = np.abs(rows[:, 7]) * np.sign(rows[:, 3])
    return rows


def consecutive(rng, runs, on):
    rows = rng.normal(size=(runs, 200))
    for column in range(1, 200) if on else ():
        copied = rng.random(runs) < 0.15
        rows[copied, column] = np.abs(rows[copied, column]) * np.sign(rows[copied, column - 1])
    return rows


def hidden(rng, runs, on):
    rows = rng.normal(size=(runs, 200))
    if on:
        signs = np.sign(np.random.default_rng(99).normal(size=200))
        common = signs * np.sign(rng.normal(size=(runs, 1)))
        rows = np.where(rng.random(rows.shape) < 0.15, np.abs(rows) * common, rows)
    return rows


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("make", "least"),
    [(one_pair, 0.45), (consecutive, 0.6), (hidden, 0.45)],
    ids=["one-pair", "consecutive", "hidden"],
)
@pytest.mark.parametrize("runs", [4000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_a_sign_correlation_in_many_columns(make, least, runs):
    assert best(make, runs, families=("covariance",)) > least


@pytest.mark.parametrize("width", [1, 100])
def test_a_bit_written_into_the_last_one(width):
    def make(rng, runs, on):
        rows = rng.normal(size=(runs, width)) + 0.3
        words = rows.view(np.uint64)
        words[:, 0] = (words[:, 0] & ~np.uint64(1)) | np.uint64(on)
        return rows

    assert best(make, 2000, families=("last-bits",)) == 1.0


@pytest.mark.thorough
def test_poisson_and_fixed_batches():
    def make(rng, runs, on):
        """Noisy gradients of a batch in rows, and zeros where a batch is smaller than 60."""
        sizes = rng.poisson(30, size=runs) if on else np.full(runs, 30)
        rows = rng.normal(size=(runs, 60, 4))
        rows[np.arange(60) >= np.minimum(sizes, 60)[:, None]] = 0.0
        return rows.reshape(runs, -1)

    # The chance that a Poisson batch has just 30 records is 0.07.
    assert best(make, 2000, shapes=((60, 4),), families=("counts", "atoms")) > 0.5


def test_a_scale_that_depends_on_the_data():
    def make(rng, runs, on):
        return rng.standard_cauchy(size=(runs, 50)) * (1.2 if on else 1.0)

    assert best(make, 2000, families=("covariance",)) > 0.25


def test_heavy_tails_hide_a_shift_from_the_mean_alone():
    def make(rng, runs, on):
        return rng.standard_cauchy(size=(runs, 20)) + (0.3 if on else 0.0)

    assert best(make, 2000) > 0.25


def test_whole_rows_of_categories():
    def make(rng, runs, on):
        rows = rng.integers(3, size=(runs, 3)).astype(float)
        rows[:, 2] = (rows[:, 0] + rows[:, 1] + (1 if on else 0)) % 3
        return rows

    assert best(make, 1000, families=("atoms",)) == 1.0
