"""Scores of the last bits."""

import numpy as np
import pytest

from rdpkit.verification.blackbox.scores.last_bits import BitPattern, last_bits_scores
from rdpkit.verification.blackbox.scores.training_outputs import TrainingOutputs


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
    assert score.score.columns.tolist() == [0, 1, 2]
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
