"""The zoo: what entries claim, and what their code does."""

import math

import numpy as np
import pytest
from scipy.stats import kstest, norm

from rdpkit.adjacency import Adjacency
from rdpkit.verification.blackbox import zoo
from rdpkit.verification.blackbox.neighbours import Neighbours
from rdpkit.verification.blackbox.options import VerificationOptions
from rdpkit.verification.blackbox.scores.named_score import TrainingOutputs
from rdpkit.verification.blackbox.scores.structure import structure_scores
from rdpkit.verification.blackbox.targets import event_claim
from rdpkit.verification.blackbox.verify import verify
from rdpkit.verification.blackbox.zoo.base import clipped, in_pieces, subset_indicators

NAMES = list(zoo.ENTRIES)


def outputs(entry, mechanism, count, seed):
    rng = np.random.default_rng(seed)
    pair = entry.neighbours()
    return tuple(
        mechanism.many(data, rng, count).reshape(count, -1) for data in (pair.first, pair.second)
    )


@pytest.mark.parametrize("name", NAMES)
def test_an_entry_says_what_it_is(name):
    entry = zoo.ENTRIES[name]
    assert entry.name == name
    assert isinstance(entry.adjacency, Adjacency)
    pair = entry.neighbours()
    assert isinstance(pair, Neighbours)
    assert pair.adjacency is entry.adjacency
    for text in (entry.mistake, entry.correction, entry.seen_in, entry.statistic):
        assert len(text) > 10
    assert {name, name + zoo.FIXED} <= set(zoo.NAMES)


@pytest.mark.parametrize("name", zoo.NAMES)
def test_one_release_is_one_of_many(name):
    entry = zoo.ENTRIES[name.removesuffix(zoo.FIXED)]
    mechanism = entry.fixed if name.endswith(zoo.FIXED) else entry.broken
    data = entry.neighbours().first
    one = mechanism(data, np.random.default_rng(3))
    many = mechanism.many(data, np.random.default_rng(3), 5)
    assert many.shape == (5, *one.shape)
    assert np.isfinite(many).all()
    assert not np.array_equal(data.features.flags.writeable, True)


@pytest.mark.thorough
@pytest.mark.parametrize("name", NAMES)
def test_the_broken_one_is_caught(name):
    result = verify(name, options=VerificationOptions(seed=11))
    assert result.rejected
    assert {mistake.kind for mistake in result.mistakes} == set(zoo.ENTRIES[name].mistakes)
    assert result.runs < 40_000
    assert not result.outcome.diagnostics


@pytest.mark.thorough
@pytest.mark.parametrize("name", NAMES)
def test_the_fixed_one_passes(name):
    result = verify(name + zoo.FIXED, options=VerificationOptions(seed=11, samples=12_000))
    assert not result.failed
    assert result.mistakes == ()


@pytest.mark.thorough
@pytest.mark.parametrize("name", NAMES)
def test_only_exact_structure_names_a_mistake(name):
    entry = zoo.ENTRIES[name]
    broken, fixed = (outputs(entry, m, 500, 7) for m in (entry.broken, entry.fixed))
    for (p, q), expected in ((broken, set(entry.mistakes)), (fixed, set())):
        numbers = np.ones(p.shape[1], dtype=np.bool_)
        training = TrainingOutputs(p=p, q=q, is_number=numbers, shapes=(p.shape[1:],))
        assert {score.explanation.kind for score in structure_scores(training)} == expected


@pytest.mark.parametrize(
    ("name", "releases"), [("subset-once", 8), ("noise-divided-by-l", 1), ("half-sensitivity", 1)]
)
def test_the_fixed_one_has_the_claimed_law(name, releases):
    # Each release's log-likelihood ratio, against its distribution in closed form: with seen
    # (1-q) N(0, z^2) + q N(1, z^2) on D and N(0, z^2) on D'.
    entry = zoo.ENTRIES[name]
    score = entry.score()
    z, q = score.noise_multiplier, score.sampling_probability
    for side, rows in enumerate(outputs(entry, entry.fixed, 4000 // releases, 5)):
        start, stop = score.touched or (0, score.shape[0])
        seen = rows.reshape(len(rows), *score.shape)[:, start:stop] @ np.array(score.direction)
        seen = ((seen - score.centre) / score.distance).ravel()
        weight = q if side == 0 else 0.0

        def law(x, weight=weight):
            return (1 - weight) * norm.cdf(x / z) + weight * norm.cdf((x - 1.0) / z)

        # One fixed seed; a wrong q or z fails with p below 1e-6.
        assert kstest(seen, law).pvalue > 1e-3


def test_the_score_is_the_log_likelihood_ratio():
    score = zoo.ENTRIES["shuffle-as-poisson"].score()
    z, q = score.noise_multiplier, score.sampling_probability
    rng = np.random.default_rng(1)
    rows = rng.normal(0.0, 0.4, (3, 8))
    expected = [
        sum(
            math.log((1 - q) + q * math.exp((2.0 * x - 1.0) / (2.0 * z * z)))
            for x in row.reshape(4, 2)[:, 0]
        )
        for row in rows
    ]
    assert score(rows) == pytest.approx(expected, rel=1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize("name", NAMES)
def test_the_claim_is_what_rdpkit_says(name):
    import rdpkit

    entry = zoo.ENTRIES[name]
    claim = event_claim(entry.event, adjacency=entry.adjacency)
    epsilons, deltas = claim.part.supporting_lines()
    assert epsilons[0] == 0.0
    assert (np.diff(epsilons) > 0.0).all()
    delta = float(deltas[-1])
    expected = rdpkit.epsilon(
        entry.event, delta=delta, adjacency=entry.adjacency, bound="pld-upper"
    ).epsilon
    assert float(epsilons[-1]) == expected


def test_subsets_are_uniform():
    rng = np.random.default_rng(2)
    found = subset_indicators((20_000,), 2, 5, rng)
    assert (found.sum(axis=1) == 2).all()
    # Each of the ten pairs: 2000 times, standard deviation 42.
    codes = found @ (2 ** np.arange(5))
    counts = np.unique(codes, return_counts=True)[1]
    assert len(counts) == 10
    assert np.abs(counts - 2000).max() < 5 * 42
    with pytest.raises(ValueError, match="at least 6 records to draw from, got 5"):
        subset_indicators((1,), 6, 5, rng)


def test_clipping():
    rows = clipped(np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]]), 1.0)
    assert rows == pytest.approx(np.array([[0.6, 0.8], [0.3, 0.4], [0.0, 0.0]]), rel=1e-15)


def test_pieces_make_the_whole():
    sizes = []

    def piece(size):
        sizes.append(size)
        return np.full(size, size)

    assert len(in_pieces(10, 1_500_000, piece)) == 10
    assert sizes == [2, 2, 2, 2, 2]
