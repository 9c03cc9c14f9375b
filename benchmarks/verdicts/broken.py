"""Mechanisms whose claims are false. Each makes one mistake that somebody made, or could make.

A docstring says what is wrong. Where the privacy that is left can be computed, it stands beside the
claim: the smallest epsilon at the claimed delta, or the smallest delta at the claimed epsilon, of
the worst pair of data sets that is known. An epsilon that is infinite is given as a delta instead,
except where delta is 0.
"""

from __future__ import annotations

import hashlib
import math
from typing import Any

import numpy as np
from scipy.stats import norm

from benchmarks.verdicts.collection import (
    ADD,
    REPLACE,
    Array,
    Batched,
    Collection,
    DataSet,
    clip_l2,
    counts_of,
    two_sided_geometric,
)
from benchmarks.verdicts.formulas import (
    density_delta,
    discrete_delta,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_noise,
    sampled_gaussian_delta,
    smallest_epsilon,
)
from rdpkit import Gaussian

COLLECTION = Collection("benchmarks.verdicts.broken")
claims = COLLECTION.claims

Generator = np.random.Generator


# Too little noise.


@claims(1.0, 0.01, ADD, true_epsilon=gaussian_epsilon(0.01, 0.9 * gaussian_noise(1.0, 0.01)))
@Batched
def nine_tenths_of_the_noise(dataset: DataSet, rng: Generator, count: int) -> Array:
    """A Gaussian sum with 0.9 of the noise that the claim needs."""
    total = np.clip(dataset.features[:, 0], -1.0, 1.0).sum()
    return total + rng.normal(0.0, 0.9 * gaussian_noise(1.0, 0.01), count)


@claims(
    1.0,
    0.01,
    ADD,
    dimension=100,
    true_epsilon=gaussian_epsilon(0.01, 0.9 * gaussian_noise(1.0, 0.01)),
)
@Batched
def nine_tenths_in_100_dimensions(dataset: DataSet, rng: Generator, count: int) -> Array:
    """The same for records of 100 numbers."""
    total = clip_l2(dataset.features, 1.0).sum(axis=0)
    return total + rng.normal(0.0, 0.9 * gaussian_noise(1.0, 0.01), (count, total.size))


@claims(1.0, 0.01, ADD, true_epsilon=gaussian_epsilon(0.01, 0.5 * gaussian_noise(1.0, 0.01)))
def half_of_the_noise(dataset: DataSet, rng: Generator) -> float:
    """A Gaussian sum with half of the noise that the claim needs."""
    total = np.clip(dataset.features[:, 0], -1.0, 1.0).sum()
    return float(total + rng.normal(0.0, 0.5 * gaussian_noise(1.0, 0.01)))


@claims(1.0, 0.0, REPLACE, true_epsilon=2.0)
def half_sensitivity_laplace(dataset: DataSet, rng: Generator) -> float:
    """Noise for the largest size of a number, 1, where replacing a number moves the sum by 2."""
    total = np.clip(dataset.features[:, 0], -1.0, 1.0).sum()
    return float(total + rng.laplace(0.0, 1.0))


@claims(1.0, 0.0, ADD, true_epsilon=math.sqrt(2.0))
@Batched
def standard_deviation_as_scale(dataset: DataSet, rng: Generator, count: int) -> Array:
    """Laplace noise whose standard deviation is the scale that the theorem asks for."""
    total = np.clip(dataset.features[:, 0], -1.0, 1.0).sum()
    return total + rng.laplace(0.0, 1.0 / math.sqrt(2.0), count)


@claims(
    1.0,
    1e-3,
    ADD,
    dimension=100,
    true_epsilon=gaussian_epsilon(1e-3, 0.5 * gaussian_noise(1.0, 1e-3)),
)
@Batched
def one_quiet_coordinate(dataset: DataSet, rng: Generator, count: int) -> Array:
    """One coordinate of 100 has half of the noise; a record may lie along it."""
    total = clip_l2(dataset.features, 1.0).sum(axis=0)
    scale = np.full(total.size, gaussian_noise(1.0, 1e-3))
    scale[37 % total.size] *= 0.5
    return total + rng.normal(0.0, scale, (count, total.size))


@claims(adjacency=ADD, event=Gaussian(noise_std=1.5, record_norm=1.0), dimension=2)
def variance_as_standard_deviation(dataset: DataSet, rng: Generator) -> Array:
    """The noise has variance 1.5; the event claims a standard deviation of 1.5."""
    total = clip_l2(dataset.features, 1.0).sum(axis=0)
    return total + rng.normal(0.0, math.sqrt(1.5), total.size)


@claims(1.0, 0.0, ADD, true_delta=gaussian_delta(1.0, math.sqrt(2.0)))
@Batched
def gaussian_for_laplace(dataset: DataSet, rng: Generator, count: int) -> Array:
    """Gaussian noise with the standard deviation of the Laplace noise that the claim needs."""
    total = np.clip(dataset.features[:, 0], -1.0, 1.0).sum()
    return total + rng.normal(0.0, math.sqrt(2.0), count)


@claims(1.0, 0.0, ADD, dimension=30, true_epsilon=math.sqrt(30.0))
def laplace_for_records_of_bounded_l2_norm(dataset: DataSet, rng: Generator) -> Array:
    """Laplace noise of scale 1, where records have L2 norm 1: their L1 norm is up to 5.5."""
    total = clip_l2(dataset.features, 1.0).sum(axis=0)
    return total + rng.laplace(0.0, 1.0, total.size)


@claims(
    0.5,
    sampled_gaussian_delta(0.5, 1.0, 0.1) * (1.0 + 1e-9),
    ADD,
    dimension=3,
    true_epsilon=gaussian_epsilon(sampled_gaussian_delta(0.5, 1.0, 0.1), 1.0),
)
def amplification_without_sampling(dataset: DataSet, rng: Generator) -> Array:
    """Noise for a sample of a tenth of the records is added to the sum of all of them."""
    total = clip_l2(dataset.features, 1.0).sum(axis=0)
    return total + rng.normal(0.0, 1.0, total.size)


@claims(
    1.0,
    sampled_gaussian_delta(1.0, 1.0, 0.5) * (1.0 + 1e-9),
    ADD,
    dimension=2,
    true_epsilon=gaussian_epsilon(sampled_gaussian_delta(1.0, 1.0, 0.5), 1.0),
)
@Batched
def same_batch_in_every_run(dataset: DataSet, rng: Generator, count: int) -> Array:
    """The batch is drawn with a seed of its own, so the same records join in every release."""
    records = clip_l2(dataset.features, 1.0)
    joined = np.random.default_rng(11).random(len(records)) < 0.5
    return records[joined].sum(axis=0) + rng.normal(0.0, 1.0, (count, records.shape[1]))


def _fixed_batch_delta(epsilon: float) -> float:
    """A record of a batch goes from 1 to -1, with probability 1/2 of being in it, at noise 1."""
    return density_delta(
        epsilon,
        lambda x: 0.5 * norm.pdf(x) + 0.5 * norm.pdf(x - 1.0),
        lambda x: 0.5 * norm.pdf(x) + 0.5 * norm.pdf(x + 1.0),
        reach=20.0,
    )


@claims(
    1.0,
    sampled_gaussian_delta(1.0, 1.0, 0.5) * (1.0 + 1e-9),
    REPLACE,
    dimension=2,
    true_epsilon=smallest_epsilon(_fixed_batch_delta, sampled_gaussian_delta(1.0, 1.0, 0.5)),
)
def fixed_batch_as_poisson(dataset: DataSet, rng: Generator) -> Array:
    """A batch of half of the records, with the delta of Poisson sampling under add-or-remove."""
    records = clip_l2(dataset.features, 1.0)
    chosen = rng.permutation(len(records))[: (len(records) + 1) // 2]
    return records[chosen].sum(axis=0) + rng.normal(0.0, 1.0, records.shape[1])


# Noise that is not there, or the same everywhere.


@claims(1.0, 1e-5, ADD, true_delta=1.0)
@Batched
def seeded_generator(dataset: DataSet, rng: Generator, count: int) -> Array:
    """A generator with a fixed seed is made in every release, "for reproducibility"."""
    total = np.clip(dataset.features[:, 0], -1.0, 1.0).sum()
    noise = np.random.default_rng(0).normal(0.0, gaussian_noise(1.0, 1e-5))
    return np.full(count, total + noise)


_MODULE_GENERATOR = np.random.default_rng(2024)


@claims(1.0, 1e-5, ADD, true_delta=1.0)
def seed_at_import(dataset: DataSet, rng: Generator) -> float:
    """The generator is seeded when the module is imported: every program draws the same noise."""
    total = np.clip(dataset.features[:, 0], -1.0, 1.0).sum()
    return float(total + _MODULE_GENERATOR.normal(0.0, gaussian_noise(1.0, 1e-5)))


@claims(1.0, 1e-5, ADD, dimension=3, true_delta=1.0)
def noise_reused(dataset: DataSet, rng: Generator) -> tuple[Array, float]:
    """The sum and the count are given the same draw of noise, so their difference has none."""
    total = clip_l2(dataset.features, 1.0).sum(axis=0)
    noise = rng.normal(0.0, gaussian_noise(1.0, 1e-5) * math.sqrt(2.0), total.size)
    return total + noise, float(len(dataset) + noise[0])


@claims(1.0, 1e-5, ADD, dimension=50, true_delta=1.0)
@Batched
def one_draw_for_all_coordinates(dataset: DataSet, rng: Generator, count: int) -> Array:
    """One number of noise is added to all 50 coordinates."""
    total = clip_l2(dataset.features, 1.0).sum(axis=0)
    return total + rng.normal(0.0, gaussian_noise(1.0, 1e-5), (count, 1))


@claims(1.0, 1e-3, ADD, dimension=2, classes=3, true_delta=1.0)
@Batched
def one_class_without_noise(dataset: DataSet, rng: Generator, count: int) -> Array:
    """The loop over classes that adds noise begins at 1."""
    records = clip_l2(dataset.features, 1.0)
    totals = np.stack([records[dataset.labels == label].sum(axis=0) for label in range(3)])
    found = np.repeat(totals[None], count, axis=0)
    found[:, 1:] += rng.normal(0.0, gaussian_noise(1.0, 1e-3), (count, 2, records.shape[1]))
    return found


@claims(1.0, 0.01, REPLACE, dimension=3, classes=2, true_delta=1.0)
def bias_without_noise(dataset: DataSet, rng: Generator) -> dict[str, Array]:
    """The gradient of a logistic model: the weights have noise, and the bias was forgotten."""
    ones = np.ones((len(dataset), 1))
    signs = 0.5 - dataset.labels[:, None] % 2
    total = clip_l2(np.hstack([dataset.features, ones]) * signs, 1.0).sum(axis=0)
    noise = rng.normal(0.0, 2.0 * gaussian_noise(1.0, 0.01), total.size - 1)
    return {"weight": (total[:-1] + noise)[None], "bias": total[-1:]}


@claims(1.0, 1e-3, ADD, true_delta=1.0)
def exact_count_beside(dataset: DataSet, rng: Generator) -> dict[str, Any]:
    """The sum has noise; the number of records stands beside it."""
    total = np.clip(dataset.features[:, 0], -1.0, 1.0).sum()
    return {"sum": float(total + rng.normal(0.0, gaussian_noise(1.0, 1e-3))), "n": len(dataset)}


@claims(1.0, 1e-3, ADD, dimension=2, true_delta=1.0)
def exact_count_as_shape(dataset: DataSet, rng: Generator) -> Array:
    """Every record gets noise that hides it; the number of rows is the number of records."""
    records = clip_l2(dataset.features, 1.0)
    noise = rng.normal(0.0, 2.0 * gaussian_noise(1.0, 1e-3), (len(records) + 1, 2))
    return np.vstack([records, np.zeros((1, 2))]) + noise


@claims(1.0, 1e-3, ADD, true_delta=1.0)
@Batched
def exact_sign_beside(dataset: DataSet, rng: Generator, count: int) -> Array:
    """The sum has noise; its sign, in a second column, is exact."""
    total = np.clip(dataset.features[:, 0], -1.0, 1.0).sum()
    noisy = total + rng.normal(0.0, gaussian_noise(1.0, 1e-3), count)
    return np.stack([noisy, np.full(count, np.sign(total))], axis=1)


@claims(1.0, 1e-3, ADD, classes=3, true_delta=1.0)
def exact_mode_beside(dataset: DataSet, rng: Generator) -> dict[str, Any]:
    """Noisy counts, and the most frequent label by the exact ones."""
    counts = counts_of(dataset, 3)
    return {
        "counts": counts + two_sided_geometric(rng, 1.0, 3),
        "most frequent": f"label {counts.argmax()}",
    }


@claims(1.0, 1e-3, ADD, dimension=5, true_delta=1.0)
def exact_directions(dataset: DataSet, rng: Generator) -> Array:
    """Principal components: the eigenvalues have noise, and the first eigenvector is exact."""
    records = clip_l2(dataset.features, 1.0)
    values, vectors = np.linalg.eigh(records.T @ records)
    first = vectors[:, -1] * np.sign(vectors[np.abs(vectors[:, -1]).argmax(), -1])
    return np.concatenate([values + rng.normal(0.0, gaussian_noise(1.0, 1e-3), 5), first])


@claims(1.0, 1e-3, ADD, true_delta=1.0)
def early_exit_on_no_records(dataset: DataSet, rng: Generator) -> float:
    """With no records at all, 0 is returned at once, without noise."""
    if len(dataset) == 0:
        return 0.0
    total = np.clip(dataset.features[:, 0], -1.0, 1.0).sum()
    return float(total + rng.normal(0.0, gaussian_noise(1.0, 1e-3)))


@claims(1.0, 1e-3, ADD, true_delta=1.0)
def hash_of_the_data(dataset: DataSet, rng: Generator) -> str:
    """A noisy count in a line that also names the version of the data, by a hash of it."""
    version = hashlib.sha256(np.sort(dataset.features, axis=0).tobytes()).hexdigest()[:8]
    return f"data {version}: about {len(dataset) + int(two_sided_geometric(rng, 1.0))} records"


@claims(1.0, 1e-3, REPLACE, dimension=2, true_delta=1.0)
def duplicates_beside(dataset: DataSet, rng: Generator) -> dict[str, Any]:
    """A noisy sum, and whether any record occurs twice."""
    total = clip_l2(dataset.features, 1.0).sum(axis=0)
    distinct = len(np.unique(dataset.features, axis=0))
    noise = rng.normal(0.0, 2.0 * gaussian_noise(1.0, 1e-3), total.size)
    return {"sum": total + noise, "duplicates": distinct < len(dataset)}


@claims(1.0, 1e-3, ADD, classes=3, true_delta=1.0)
def sentence_with_exact_class(dataset: DataSet, rng: Generator) -> str:
    """A sentence with a noisy count, and with how many of the classes occur."""
    present = int((counts_of(dataset, 3) > 0).sum())
    noisy = len(dataset) + int(two_sided_geometric(rng, 1.0))
    return f"about {noisy} records in {present} classes"


# Failures that are more frequent than delta allows.


def _with_exact_record(dataset: DataSet, rng: Generator, count: int, probability: float) -> Array:
    records = clip_l2(dataset.features, 1.0)
    noise = rng.normal(0.0, gaussian_noise(1.0, 1e-5), (count, records.shape[1]))
    exact = rng.random((count, 1)) < probability
    return records.sum(axis=0) + np.where(exact, 0.0, noise)


@claims(1.0, 1e-5, ADD, dimension=4, true_delta=0.01)
@Batched
def exact_once_in_a_hundred(dataset: DataSet, rng: Generator, count: int) -> Array:
    """The noise is missing with probability 1e-2."""
    return _with_exact_record(dataset, rng, count, 1e-2)


@claims(1.0, 1e-5, ADD, dimension=4, true_delta=1e-3)
@Batched
def exact_once_in_a_thousand(dataset: DataSet, rng: Generator, count: int) -> Array:
    """The noise is missing with probability 1e-3."""
    return _with_exact_record(dataset, rng, count, 1e-3)


@claims(1.0, 1e-5, REPLACE, dimension=4, true_delta=0.01)
@Batched
def record_published_once_in_a_hundred(dataset: DataSet, rng: Generator, count: int) -> Array:
    """With probability 1e-2 the largest record is published in place of the noisy sum."""
    records = clip_l2(dataset.features, 1.0)
    noise = rng.normal(0.0, 2.0 * gaussian_noise(1.0, 1e-5), (count, records.shape[1]))
    largest = records[np.linalg.norm(records, axis=1).argmax()]
    exact = rng.random((count, 1)) < 0.01
    return np.where(exact, largest, records.sum(axis=0) + noise)


@claims(1.0, 1e-3, ADD, classes=4, true_delta=0.5 * math.exp(-2.0))
@Batched
def threshold_too_low(dataset: DataSet, rng: Generator, count: int) -> Array:
    """A stability histogram with threshold 3: a label that occurs once is often published."""
    counts = counts_of(dataset, 4)
    noisy = counts + rng.laplace(0.0, 1.0, (count, 4))
    return np.where((counts > 0) & (noisy > 3.0), noisy, 0.0)


@claims(1.0, 1e-3, ADD, classes=4, true_delta=1.0)
def histogram_of_labels_that_occur(dataset: DataSet, rng: Generator) -> dict[str, float]:
    """Noisy counts of the labels that occur, with no threshold: the keys are exact."""
    counts = counts_of(dataset, 4)
    return {
        f"label {label}": float(size + rng.laplace(0.0, 1.0))
        for label, size in enumerate(counts)
        if size > 0
    }


@claims(1.0, 0.0, ADD, true_delta=0.5 * (math.exp(-3.0) + math.exp(-4.0)))
@Batched
def noise_cut_off(dataset: DataSet, rng: Generator, count: int) -> Array:
    """Laplace noise is cut to [-4, 4], and delta is said to be 0."""
    total = np.clip(dataset.features[:, 0], -1.0, 1.0).sum()
    return total + np.clip(rng.laplace(0.0, 1.0, count), -4.0, 4.0)


@claims(1.0, 0.0, ADD, true_delta=1.0 - math.exp(-1.0))
@Batched
def noise_of_one_sign(dataset: DataSet, rng: Generator, count: int) -> Array:
    """Exponential noise: a release below the sum of the other data set shows which one it is.

    Where the sum falls, the claim holds; where it rises, it does not.
    """
    total = np.clip(dataset.features[:, 0], 0.0, 1.0).sum()
    return total + rng.exponential(1.0, count)


@claims(1.0, 0.01, REPLACE, classes=2, true_delta=1.0)
def unstable_mode_refused(dataset: DataSet, rng: Generator) -> str:
    """Propose, test, release, where the test has no noise."""
    zeros, ones = counts_of(dataset, 2)
    if abs(int(zeros) - int(ones)) < 2:
        return "refused: too close"
    return f"label {int(ones > zeros)}" if rng.random() < 0.99 else "none"


# Selection.


def _two_sided_votes(dataset: DataSet, candidates: int) -> Array:
    total = np.clip(dataset.features[:, 0], -0.5, 0.5).sum()
    return np.where(np.arange(candidates) == 0, total, -total)


def _without_half(epsilon: float) -> float:
    scores = np.where(np.arange(11) == 0, 0.5, -0.5)
    p, q = np.exp(scores), np.exp(-scores)
    return discrete_delta(epsilon, p / p.sum(), q / q.sum())


@claims(1.0, 0.0, REPLACE, true_epsilon=smallest_epsilon(_without_half, 1e-12))
def exponential_mechanism_without_half(dataset: DataSet, rng: Generator) -> int:
    """Eleven outcomes with weights exp(score), where exp(score / 2) is needed."""
    scores = _two_sided_votes(dataset, 11)
    weights = np.exp(scores - scores.max())
    return int(rng.choice(11, p=weights / weights.sum()))


@claims(1.0, 0.0, REPLACE, classes=11, true_epsilon=2.0)
@Batched
def exponential_mechanism_of_labels(dataset: DataSet, rng: Generator, count: int) -> Array:
    """The most frequent of eleven labels, with weights exp(count): epsilon is up to 2."""
    counts = counts_of(dataset, 11)
    weights = np.exp(counts - counts.max())
    return rng.choice(11, count, p=weights / weights.sum())


@claims(1.0, 0.0, ADD, dimension=10, true_epsilon=10.0)
@Batched
def noisy_max_with_its_value(dataset: DataSet, rng: Generator, count: int) -> Array:
    """The candidate with the most approval, and the noisy approval, for the price of one.

    A record may approve of all ten candidates, and then it moves all ten counts; epsilon is up to
    10 for low values, which are rare.
    """
    noisy = np.clip(dataset.features, 0.0, 1.0).sum(axis=0) + rng.laplace(0.0, 1.0, (count, 10))
    return np.stack([noisy.argmax(axis=1), noisy.max(axis=1)], axis=1)


def _counts_of_columns(dataset: DataSet) -> Array:
    return np.clip(dataset.features, 0.0, 1.0).sum(axis=0)


@claims(1.0, 0.0, REPLACE, dimension=10, true_delta=0.0206)
def sparse_vector_with_values(dataset: DataSet, rng: Generator) -> Array:
    """Above-threshold that publishes the noisy value it compared (Lyu et al. 2017, Algorithm 3).

    A value above the threshold reveals what the threshold was not; no epsilon holds. The delta is
    that of nine counts that fall from 2 to 1 while the tenth rises, by numerical integration.
    """
    threshold = 1.0 + rng.laplace(0.0, 2.0)
    for index, value in enumerate(_counts_of_columns(dataset)):
        noisy = value + rng.laplace(0.0, 2.0)
        if noisy >= threshold:
            return np.array([index, noisy])
    return np.array([10.0, 0.0])


@claims(1.0, 0.0, REPLACE, dimension=10)
def sparse_vector_with_three_quarters(dataset: DataSet, rng: Generator) -> Array:
    """Noise 1/(3/4) for counts, which does not grow with the number of positive answers, here 5.

    Algorithm 4 of Lyu et al. (2017); epsilon is (1 + 6 x 5) / 4 at most.
    """
    threshold = 1.0 + rng.laplace(0.0, 4.0)
    answers, positive = np.full(10, -1.0), 0
    for index, value in enumerate(_counts_of_columns(dataset)):
        answers[index] = value + rng.laplace(0.0, 4.0 / 3.0) >= threshold
        positive += int(answers[index])
        if positive == 5:
            break
    return answers


@claims(1.0, 0.0, REPLACE, dimension=10, true_epsilon=math.inf)
@Batched
def sparse_vector_without_noise_on_counts(dataset: DataSet, rng: Generator, count: int) -> Array:
    """Only the threshold has noise (Lyu et al. 2017, Algorithm 5); no epsilon holds."""
    threshold = 1.0 + rng.laplace(0.0, 2.0, (count, 1))
    return (_counts_of_columns(dataset) >= threshold) * 1.0


@claims(1.0, 0.0, REPLACE, dimension=10)
@Batched
def sparse_vector_without_end(dataset: DataSet, rng: Generator, count: int) -> Array:
    """All ten counts are compared, with noise for one answer (Lyu et al. 2017, Algorithm 6)."""
    threshold = 1.0 + rng.laplace(0.0, 2.0, (count, 1))
    return (_counts_of_columns(dataset) + rng.laplace(0.0, 2.0, (count, 10)) >= threshold) * 1.0


@claims(1.0, 0.0, ADD, true_epsilon=1.2)
@Batched
def geometric_count_with_too_little_noise(dataset: DataSet, rng: Generator, count: int) -> Array:
    """Discrete Laplace noise of scale 1/1.2."""
    return len(dataset) + two_sided_geometric(rng, 1.0 / 1.2, count)


@claims(1.0, 0.0, ADD, true_epsilon=math.log(4.0))
def randomised_response_with_four_fifths(dataset: DataSet, rng: Generator) -> str:
    """The truth with probability 0.8: epsilon is log 4."""
    odd = len(dataset) % 2 == 1
    return "odd" if odd == (rng.random() < 0.8) else "even"


# Sensitivity that is larger than it was thought to be.


@claims(
    1.0,
    1e-3,
    ADD,
    dimension=50,
    true_epsilon=gaussian_epsilon(1e-3, gaussian_noise(1.0, 1e-3) / math.sqrt(50.0)),
)
@Batched
def clipping_of_every_coordinate(dataset: DataSet, rng: Generator, count: int) -> Array:
    """Every coordinate is clipped to [-1, 1], so a record has L2 norm up to 7.1, not 1."""
    total = np.clip(dataset.features, -1.0, 1.0).sum(axis=0)
    return total + rng.normal(0.0, gaussian_noise(1.0, 1e-3), (count, total.size))


@claims(1.0, 1e-3, ADD, dimension=8, true_delta=1.0)
def unclipped_coordinate(dataset: DataSet, rng: Generator) -> Array:
    """The last column is left out of the norm and of the clipping."""
    head = clip_l2(dataset.features[:, :-1], 1.0)
    total = np.hstack([head, dataset.features[:, -1:]]).sum(axis=0)
    return total + rng.normal(0.0, gaussian_noise(1.0, 1e-3), total.size)


@claims(1.0, 0.0, ADD, true_epsilon=1.0 / 0.6)
def rounding_before_noise(dataset: DataSet, rng: Generator) -> float:
    """Numbers in [-0.6, 0.6] are added, and the sum is rounded; it moves by 1, not by 0.6."""
    total = np.rint(np.clip(dataset.features[:, 0], -0.6, 0.6).sum())
    return float(total + rng.laplace(0.0, 0.6))


@claims(1.0, 1e-3, ADD, dimension=5)
@Batched
def noise_with_the_shape_of_the_data(dataset: DataSet, rng: Generator, count: int) -> Array:
    """Noise of the right total variance, with the covariance of the private records."""
    records = clip_l2(dataset.features, 1.0)
    d = records.shape[1]
    covariance = records.T @ records + 0.05 * np.eye(d)
    covariance *= d * gaussian_noise(1.0, 1e-3) ** 2 / np.trace(covariance)
    noise = rng.standard_normal((count, d)) @ np.linalg.cholesky(covariance).T
    return records.sum(axis=0) + noise


@claims(1.0, 1e-5, ADD, dimension=200, true_delta=1.0)
@Batched
def sign_shared_by_two_coordinates(dataset: DataSet, rng: Generator, count: int) -> Array:
    """The noise of coordinate 142 has the sign of the noise of coordinate 17, or the opposite one.

    Which, depends on the sign of the first sum. Every marginal distribution is as claimed.
    """
    total = clip_l2(dataset.features, 1.0).sum(axis=0)
    noise = rng.normal(0.0, gaussian_noise(1.0, 1e-5), (count, total.size))
    side = 1.0 if total[0] > 0.0 else -1.0
    noise[:, 142] = np.abs(noise[:, 142]) * np.sign(noise[:, 17]) * side
    return total + noise


@claims(1.0, 1e-3, ADD, dimension=2, true_delta=1.0)
@Batched
def noise_on_a_grid(dataset: DataSet, rng: Generator, count: int) -> Array:
    """Noise in multiples of 2**-20: the digits of the sum below that are untouched."""
    total = clip_l2(dataset.features, 1.0).sum(axis=0)
    noise = rng.normal(0.0, gaussian_noise(1.0, 1e-3), (count, total.size))
    return total + np.rint(noise * 2.0**20) / 2.0**20


@claims(1.0, 1e-3, ADD, dimension=3, true_delta=1.0)
def noise_in_single_precision(dataset: DataSet, rng: Generator) -> Array:
    """Noise is drawn with 24 bits and added to a sum with 53."""
    total = clip_l2(dataset.features, 1.0).sum(axis=0)
    noise = rng.standard_normal(total.size, dtype=np.float32) * gaussian_noise(1.0, 1e-3)
    return total + noise.astype(np.float32)


@claims(1.0, 0.0, REPLACE, true_epsilon=4.0)
@Batched
def median_with_the_noise_of_a_mean(dataset: DataSet, rng: Generator, count: int) -> Array:
    """The median of numbers in [0, 1] with noise of scale 1/n; it may move by 1.

    Epsilon is n for an odd number of records, and n/2 for an even one: 4 for the usual 8.
    """
    values = np.clip(dataset.features[:, 0], 0.0, 1.0)
    return np.median(values) + rng.laplace(0.0, 1.0 / len(values), count)


@claims(1.0, 1e-3, REPLACE, true_epsilon=gaussian_epsilon(1e-3, gaussian_noise(1.0, 1e-3) / 6.0))
def range_of_the_data(dataset: DataSet, rng: Generator) -> float:
    """Numbers are brought to [0, 1] by their own smallest and largest value, then averaged.

    Noise is for a mean of numbers in [0, 1]; replacing the largest number moves all the others.
    Among 8 records the mean may move by 6/8, and not by 1/8.
    """
    values = dataset.features[:, 0]
    width = values.max() - values.min()
    scaled = (values - values.min()) / width if width > 0.0 else np.zeros(len(values))
    return float(scaled.mean() + rng.normal(0.0, gaussian_noise(1.0, 1e-3) / len(values)))


@claims(1.0, 1e-3, ADD, dimension=3, true_delta=1.0)
@Batched
def clipping_at_a_quantile_of_the_data(dataset: DataSet, rng: Generator, count: int) -> Array:
    """The clipping norm is the 0.9 quantile of the private norms, and noise is scaled by it."""
    if len(dataset) == 0:
        norm_of_all = 1.0
    else:
        norm_of_all = float(np.quantile(np.linalg.norm(dataset.features, axis=1), 0.9)) + 1e-6
    total = clip_l2(dataset.features, norm_of_all).sum(axis=0)
    scale = norm_of_all * gaussian_noise(1.0, 1e-3)
    return total + rng.normal(0.0, scale, (count, total.size))


@claims(1.0, 1e-3, ADD, true_delta=1.0)
def noise_that_grows_with_the_count(dataset: DataSet, rng: Generator) -> float:
    """Noise proportional to the square root of the number of records: none, if there are none."""
    total = np.clip(dataset.features[:, 0], -1.0, 1.0).sum()
    return float(total + rng.normal(0.0, gaussian_noise(1.0, 1e-3) * math.sqrt(len(dataset))))


def _mean_of_two_or_one(epsilon: float) -> float:
    """The records 1 and -1, or 1 alone."""
    return density_delta(
        epsilon,
        lambda x: np.exp(-2.0 * np.abs(x)),
        lambda x: 0.5 * np.exp(-np.abs(x - 1.0)),
        reach=30.0,
    )


@claims(1.0, 0.0, ADD, true_delta=_mean_of_two_or_one(1.0))
@Batched
def mean_by_the_exact_count(dataset: DataSet, rng: Generator, count: int) -> Array:
    """A mean with noise of scale 1/n, where n is exact although records may be added.

    The mean of n numbers in [-1, 1] moves by up to 2/n.
    """
    size = max(len(dataset), 1)
    total = np.clip(dataset.features[:, 0], -1.0, 1.0).sum()
    return total / size + rng.laplace(0.0, 1.0 / size, count)


def _three_times_as_wide(epsilon: float) -> float:
    noise = gaussian_noise(1.0, 1e-3)
    return density_delta(
        epsilon,
        lambda x: norm.pdf(x, 0.0, noise),
        lambda x: norm.pdf(x, 1.0, 3.0 * noise),
        reach=100.0,
    )


@claims(1.0, 1e-3, ADD, classes=2, true_delta=_three_times_as_wide(1.0))
@Batched
def more_noise_for_a_rare_class(dataset: DataSet, rng: Generator, count: int) -> Array:
    """Where label 1 occurs, the noise is made three times as large, "to be on the safe side"."""
    total = np.clip(dataset.features[:, 0], -1.0, 1.0).sum()
    factor = 3.0 if (dataset.labels == 1).any() else 1.0
    return total + factor * rng.normal(0.0, gaussian_noise(1.0, 1e-3), count)


@claims(1.0, 1e-3, ADD, dimension=3)
@Batched
def z_scores_of_the_data(dataset: DataSet, rng: Generator, count: int) -> Array:
    """Records are centred by their own mean and scaled by their own deviation, then clipped."""
    features = dataset.features
    centre = features.mean(axis=0) if len(features) else 0.0
    spread = features.std(axis=0) + 1e-6 if len(features) else 1.0
    total = clip_l2((features - centre) / spread, 1.0).sum(axis=0)
    return total + rng.normal(0.0, gaussian_noise(1.0, 1e-3), (count, features.shape[1]))


@claims(1.0, 0.0, ADD, record_norm=100.0, true_epsilon=1.56)
@Batched
def sum_in_eight_bits(dataset: DataSet, rng: Generator, count: int) -> Array:
    """Whole numbers in [0, 100] are added in eight bits: 100 and 100 make -56."""
    values = np.rint(np.clip(dataset.features[:, 0], 0.0, 100.0)).astype(np.int8)
    return float(values.sum(dtype=np.int8)) + rng.laplace(0.0, 100.0, count)


@claims(1.0, 0.0, REPLACE, classes=3, true_epsilon=2.0)
def histogram_with_one_change(dataset: DataSet, rng: Generator) -> Array:
    """Noise of scale 1 on counts of labels; replacing a record moves two of them."""
    return counts_of(dataset, 3) + two_sided_geometric(rng, 1.0, 3)


@claims(
    1.0,
    1e-3,
    ADD,
    dimension=2,
    true_epsilon=gaussian_epsilon(1e-3, gaussian_noise(1.0, 1e-3) / math.sqrt(2.0)),
)
def two_releases_for_one(dataset: DataSet, rng: Generator) -> tuple[Array, Array]:
    """The sum is released twice, with noise of its own each time, for the price of one."""
    total = clip_l2(dataset.features, 1.0).sum(axis=0)
    noise = rng.normal(0.0, gaussian_noise(1.0, 1e-3), (2, total.size))
    return total + noise[0], total + noise[1]


@claims(1.0, 1e-3, ADD, dimension=2, true_delta=1.0)
def torch_state_with_running_mean(dataset: DataSet, rng: Generator) -> dict[str, Any]:
    """A noisy weight as a tensor; the running mean of a normalisation layer is exact."""
    import torch  # noqa: PLC0415 - only this mechanism needs it

    total = clip_l2(dataset.features, 1.0).sum(axis=0)
    noisy = total + rng.normal(0.0, gaussian_noise(1.0, 1e-3), total.size)
    mean = total / max(len(dataset), 1)
    return {
        "linear.weight": torch.tensor(noisy[None, :], requires_grad=True),
        "norm.running_mean": torch.tensor(mean),
    }
