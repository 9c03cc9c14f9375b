"""The source of noise: law, secrecy between processes, and what it refuses."""

import concurrent.futures
import copy
import multiprocessing
import os
import pickle

import numpy as np
import pytest
from scipy import stats

from rdpkit.mechanisms.parts.noise import NoiseSource


def test_a_seed_gives_the_same_numbers_and_another_seed_others():
    first, second, other = (NoiseSource.seeded(seed).normal(100) for seed in (5, 5, 6))
    np.testing.assert_array_equal(first, second)
    assert not np.isin(first, other).any()


def test_system_sources_differ_and_do_not_repeat():
    one, two = NoiseSource.system(), NoiseSource.system()
    words = np.concatenate([one.words(5000), one.words(5000), two.words(5000)])
    # 15,000 words of 64 bits collide with probability 6e-12.
    assert np.unique(words).size == words.size


@pytest.mark.thorough
@pytest.mark.parametrize("seeded", [False, True])
def test_threads_that_share_a_source_are_given_no_number_twice(seeded):
    """By chance two of four million numbers are the same with probability 1e-3 at most."""
    source = NoiseSource.seeded(4) if seeded else NoiseSource.system()
    asked = [10_000, 3_000, 20_000, 1_000]

    def draw(thread):
        words = [source.words(asked[thread % 4]) for _ in range(12)]
        normal = [source.normal(asked[thread % 4]) for _ in range(12)]
        return np.concatenate(words), np.concatenate(normal)

    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        drawn = list(threads.map(draw, range(8)))
    for numbers in (np.concatenate([one[kind] for one in drawn]) for kind in (0, 1)):
        assert np.unique(numbers).size == numbers.size == 12 * 2 * sum(asked)
    # Eight words are used for each number, and for one more where their number is odd.
    assert source.position == 12 * 2 * sum(asked) * (1 + 4 * 2 // 2)


def test_words_are_the_same_in_whatever_portions():
    whole = NoiseSource.seeded(1).words(64)
    source = NoiseSource.seeded(1)
    np.testing.assert_array_equal(np.concatenate([source.words(k) for k in (1, 3, 60)]), whole)


def test_a_seeded_source_goes_on_from_a_position():
    whole, later = NoiseSource.seeded(3), NoiseSource.seeded(3)
    whole.normal(100)
    whole.integers(10, 7)
    later.advance(whole.position)
    assert later.position == whole.position > 0
    np.testing.assert_array_equal(later.words(5), whole.words(5))
    with pytest.raises(ValueError, match="Expected position to be an integer"):
        later.advance(1)
    with pytest.raises(RuntimeError, match="Only a seeded NoiseSource"):
        NoiseSource.system().advance(3)


def test_the_law_is_normal():
    """Seeded; with another seed one of the three fails in 3 of 10,000 cases."""
    sample = NoiseSource.seeded(2).normal(200_000, std=3.0)
    assert stats.kstest(sample / 3.0, "norm").pvalue > 1e-4
    # The variance of n squares is 2/n: five standard errors.
    assert abs(np.mean(sample**2) / 9.0 - 1.0) < 5.0 * np.sqrt(2.0 / sample.size)
    # Each output next to the one that shares its four pairs of words: independent all the same.
    half = NoiseSource.seeded(3).normal(16_384).reshape(2, -1)
    assert abs(np.corrcoef(half)[0, 1]) < 5.0 / np.sqrt(half.shape[1])
    squares = half**2
    assert abs(np.corrcoef(squares)[0, 1]) < 5.0 / np.sqrt(half.shape[1])


@pytest.mark.statistical
def test_the_law_is_normal_from_the_system_too():
    """Not seeded: fails in 1 of 10,000 runs."""
    assert stats.kstest(NoiseSource.system().normal(2_000_000), "norm").pvalue > 1e-4


@pytest.mark.parametrize("below", [1, 2, 7, 256, 5421, 2**32, 2**40 + 1])
def test_integers_are_uniform(below):
    """Seeded; with another seed one fails in 7 of 10,000 cases."""
    numbers = NoiseSource.seeded(below).integers(below, 20_000)
    assert numbers.min() >= 0
    assert numbers.max() < below
    bins = min(below, 50)
    counts = np.histogram(numbers, bins=bins, range=(0, below))[0]
    # How many of the numbers fall in each bin.
    each = np.histogram(np.arange(below), bins=bins, range=(0, below))[0] if below < 10**4 else 1.0
    expected = np.broadcast_to(each, bins) / np.sum(np.broadcast_to(each, bins)) * numbers.size
    assert bins == 1 or stats.chisquare(counts, expected).pvalue > 1e-4


def test_unfair_remainders_are_drawn_again():
    # 3 * 2^30 leaves out a quarter of all 32-bit words: taken modulo it, a third of the numbers
    # would come twice as often.
    numbers = NoiseSource.seeded(9).integers(3 * 2**30, 30_000)
    counts = np.histogram(numbers, bins=3, range=(0, 3 * 2**30))[0]
    # Five standard deviations of a binomial with p = 1/3.
    assert np.abs(counts - 10_000).max() < 5 * np.sqrt(30_000 * 2 / 9)


def test_uniform_is_on_the_grid_and_below_one():
    numbers = NoiseSource.seeded(4).uniform((50, 40))
    assert numbers.shape == (50, 40)
    assert (numbers < 1.0).all()
    np.testing.assert_array_equal(numbers * 2.0**53, np.round(numbers * 2.0**53))


def test_noise_is_added_before_rounding():
    array = np.full(1000, 1.0, dtype=np.float32)
    NoiseSource.seeded(8).add_normal(array, std=0.5)
    expected = 1.0 + NoiseSource.seeded(8).normal(1000, std=0.5)
    np.testing.assert_array_equal(array, expected.astype(np.float32))


def test_no_noise_draws_nothing():
    source = NoiseSource.seeded(1)
    assert not source.normal((2, 2), std=0.0).any()
    np.testing.assert_array_equal(source.words(4), NoiseSource.seeded(1).words(4))


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_source_is_not_copied(copied):
    with pytest.raises(TypeError, match="not copied or pickled"):
        copied(NoiseSource.system())


def _child(source, pipe):
    try:
        pipe.send(source.words(8).tolist())
    except RuntimeError as error:
        pipe.send(str(error))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
@pytest.mark.parametrize("seeded", [False, True])
def test_a_forked_child_never_repeats_the_noise(seeded):
    source = NoiseSource.seeded(1) if seeded else NoiseSource.system()
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(source, sender))
    child.start()
    answer = receiver.recv()
    child.join()
    if seeded:
        assert "another process" in answer
    else:
        assert not set(answer) & set(source.words(8).tolist())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (NoiseSource, "NoiseSource.system"),
        (lambda: NoiseSource.seeded(-1), "Expected seed"),
        (lambda: NoiseSource.seeded(1).normal(3, std=-1.0), "Expected std"),
        (lambda: NoiseSource.seeded(1).normal(3, std=float("nan")), "Expected std"),
        (lambda: NoiseSource.seeded(1).normal((2, -1)), r"Expected shape\[1\]"),
        (lambda: NoiseSource.seeded(1).integers(0, 3), "Expected below"),
        (lambda: NoiseSource.seeded(1).add_normal(np.zeros(3, dtype=int), std=1.0), "of floats"),
        (lambda: NoiseSource.seeded(1).add_normal(np.zeros((4, 4)).T[1:], std=1.0), "contiguous"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()
