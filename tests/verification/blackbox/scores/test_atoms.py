"""Scores of repeated values, and of the last bits."""

import numpy as np
import pytest

from rdpkit.verification.blackbox.mistakes import MistakeKind
from rdpkit.verification.blackbox.scores.atoms import (
    BitPattern,
    atom_scores,
    hashes_of,
    last_bits_scores,
)
from rdpkit.verification.blackbox.scores.named_score import TrainingOutputs


def training(p, q):
    return TrainingOutputs(p=p, q=q, shapes=((p.shape[1],),))


def draws(seed, chances, runs=2000):
    return np.random.default_rng(seed).choice(len(chances), size=(runs, 1), p=chances) * 1.0


def test_the_score_is_the_logarithm_of_the_ratio_of_probabilities():
    one, two = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])
    (score,) = atom_scores(training(draws(1, one, 20_000), draws(2, two, 20_000)))
    found = score.of(np.array([[0.0], [1.0], [2.0], [0.5], [7.0], [-1.0]]))
    assert found[:3] == pytest.approx(np.log(one / two), abs=0.05)
    # What was never seen says nothing.
    assert found[3:].tolist() == [0.0, 0.0, 0.0]


def test_sides_of_different_sizes():
    one, two = np.array([0.7, 0.3]), np.array([0.3, 0.7])
    (score,) = atom_scores(training(draws(1, one, 20_000), draws(2, two, 5000)))
    found = score.of(np.array([[0.0], [1.0]]))
    assert found == pytest.approx(np.log(one / two), abs=0.1)


def test_noise_has_no_atoms():
    rng = np.random.default_rng(1)
    assert atom_scores(training(rng.normal(size=(500, 4)), rng.normal(size=(500, 4)))) == []
    # A constant has one, and says nothing either.
    assert atom_scores(training(np.ones((500, 2)), np.ones((500, 2)))) == []


def test_a_value_among_noise_is_an_atom():
    rng = np.random.default_rng(1)
    p, q = rng.normal(size=(2000, 30)), rng.normal(size=(2000, 30))
    p[:60, 17] = 0.1
    (score, *_) = atom_scores(training(p, q))
    rows = np.zeros((2, 30))
    rows[0, 17] = 0.1
    found = score.of(rows)
    assert found[0] > 3.0
    assert found[1] == 0.0
    assert score.explanation.kind is MistakeKind.CATEGORIES_TOO_LIKELY
    assert "Output 17 was 0.1 in 60 of 2000 runs on D and in 0 of 2000" in score.explanation.message


def test_small_differences_of_several_columns_add_up():
    rng = np.random.default_rng(1)
    p, q = ((rng.random((4000, 20)) < chance) * 1.0 for chance in (0.6, 0.5))
    found = {one.name: one for one in atom_scores(training(p, q))}
    score = found["repeated values of columns"]
    fresh = [(rng.random((4000, 20)) < chance) * 1.0 for chance in (0.6, 0.5)]
    values = [score.of(side) for side in fresh]
    gap = (values[0].mean() - values[1].mean()) / values[1].std()
    assert gap == pytest.approx(0.1 / 0.5 * np.sqrt(20), abs=0.1)


def test_hashes_tell_rows_apart():
    # All rows of three small numbers, whose last bits are all zeros.
    grid = np.stack(np.meshgrid(*[np.arange(-10.0, 11.0)] * 3), axis=-1).reshape(-1, 3)
    assert len(np.unique(hashes_of(grid))) == len(grid)
    assert hashes_of(np.array([[0.0, 1.0]])) == hashes_of(np.array([[-0.0, 1.0]]))
    assert hashes_of(np.array([[2.0, 1.0]])) != hashes_of(np.array([[1.0, 2.0]]))


def test_noise_of_few_levels_comes_again():
    rng = np.random.default_rng(1)

    def outputs(shift, runs):
        uniform = (rng.integers(0, 2**14, (runs, 2)) + 0.5) / 2**14
        return shift + np.sqrt(2.0) * np.log(uniform)

    found = {one.name: one for one in atom_scores(training(outputs(0.0, 4000), outputs(1.0, 4000)))}
    score = found["values that were seen before"]
    assert score.explanation.kind is MistakeKind.COARSE_NOISE
    # A new output has the value of one in 4000 with probability 1 - exp(-4000 / 2^14), or 0.22.
    p, q = (score.of(outputs(shift, 4000)) for shift in (0.0, 1.0))
    assert (p > 0.0).mean() == pytest.approx(1.0 - np.exp(-2 * 4000 / 2**14), abs=0.05)
    assert not (q > 0.0).any()


def found(p, q):
    return last_bits_scores(TrainingOutputs(p=p, q=q, shapes=((p.shape[1],),)))


def noise(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


def with_bits(rows, bits, *, mask):
    words = rows.view(np.uint64)
    return ((words & ~np.uint64(mask)) | np.asarray(bits, dtype=np.uint64)).view(np.float64)


def test_what_patterns_are():
    values = np.array([[1.0, 3.0, 0.0, -1.0, 1.0 + 2.0**-52, 1.0 + 2.0**-50]])
    assert BitPattern(name="", bits=1, shift=0).of(values).tolist() == [[0, 0, 0, 0, 1, 0]]
    assert BitPattern(name="", bits=4, shift=0).of(values).tolist() == [[0, 0, 0, 0, 1, 4]]
    zeros = BitPattern(name="", bits=0, shift=0).of(values)[0]
    assert zeros[[1, 2, 4, 5]].tolist() == [51, 53, 0, 2]
    single = np.array([[float(np.float32(1.0) + np.float32(2.0**-23))]])
    assert BitPattern(name="", bits=1, shift=29).of(single).tolist() == [[1]]


@pytest.mark.parametrize("runs", [170, 2000])
def test_a_pattern_in_several_bits(runs):
    rng = np.random.default_rng(1)
    p = with_bits(noise(1, runs, 3), rng.integers(0, 3, size=(runs, 3)), mask=15)
    q = with_bits(noise(2, runs, 3), rng.integers(3, 16, size=(runs, 3)), mask=15)
    score = found(p, q)[0]
    assert score.score.args[1].tolist() == [0, 1, 2]
    assert score.of(p).min() > score.of(q).max()


def test_a_bit_of_singles():
    rows = [noise(seed, 500, 2).astype(np.float32) for seed in (1, 2)]
    p, q = (
        ((one.view(np.uint32) & ~np.uint32(1)) | np.uint32(bit)).view(np.float32).astype(float)
        for one, bit in zip(rows, (0, 1), strict=True)
    )
    assert "single" in found(p, q)[0].name


def test_whole_numbers_and_rounded_ones_are_left_to_other_scores():
    p, q = np.round(noise(1, 500, 2) * 4.0), np.round(noise(2, 500, 2) * 4.0) + 1.0
    assert found(p, q) == []
    assert found(p / 8.0, np.round(q) / 8.0 + 1.0 / 16.0) == []


def test_independent_noise_has_no_such_scores():
    for seed in range(5):
        assert found(noise(seed, 200, 40), noise(seed + 100, 200, 40)) == []
