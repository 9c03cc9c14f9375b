"""Mechanisms whose claims are true in exact arithmetic, most of them exactly at the boundary.

Each is written as a textbook, or somebody who followed one, writes it. What a docstring says of the
claim is the reason why it is true. Noise that is drawn and added in floating point is what nearly
everybody uses; its last bits are not private (Mironov 2012), and no claim here speaks of them.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from benchmarks.verdicts.collection import (
    ADD,
    REPLACE,
    Array,
    Batched,
    Collection,
    DataSet,
    clip_l1,
    clip_l2,
    counts_of,
    two_sided_geometric,
)
from benchmarks.verdicts.formulas import (
    discrete_delta,
    gaussian_delta,
    gaussian_noise,
    sampled_gaussian_delta,
)
from rdpkit import Gaussian, PoissonSampledGaussian

COLLECTION = Collection("benchmarks.verdicts.correct")
claims = COLLECTION.claims

Generator = np.random.Generator


# Sums with noise.


@claims(1.0, 0.0, ADD)
@Batched
def laplace_sum(dataset: DataSet, rng: Generator, count: int) -> Array:
    """A sum of numbers in [-1, 1] with Laplace noise of scale 1: epsilon is 1 and no less."""
    total = np.clip(dataset.features[:, 0], -1.0, 1.0).sum()
    return total + rng.laplace(0.0, 1.0, count)


@claims(1.0, 0.0, REPLACE)
def laplace_sum_replaced(dataset: DataSet, rng: Generator) -> float:
    """The same under replace-one, where the sum moves by up to 2 and the scale is 2."""
    total = np.clip(dataset.features[:, 0], -1.0, 1.0).sum()
    return float(total + rng.laplace(0.0, 2.0))


@claims(1.0, 0.0, ADD, dimension=100)
@Batched
def laplace_sum_in_100_dimensions(dataset: DataSet, rng: Generator, count: int) -> Array:
    """Records are clipped to L1 norm 1, and every coordinate gets Laplace noise of scale 1."""
    total = clip_l1(dataset.features, 1.0).sum(axis=0)
    return total + rng.laplace(0.0, 1.0, (count, total.size))


@claims(1.0, 1e-5, ADD)
@Batched
def gaussian_sum(dataset: DataSet, rng: Generator, count: int) -> Array:
    """The analytic Gaussian mechanism (Balle and Wang 2018): exactly (1, 1e-5)-DP."""
    total = np.clip(dataset.features[:, 0], -1.0, 1.0).sum()
    return total + rng.normal(0.0, gaussian_noise(1.0, 1e-5), count)


@claims(adjacency=ADD, event=Gaussian(noise_std=2.0, record_norm=1.0), dimension=3)
def gaussian_event(dataset: DataSet, rng: Generator) -> Array:
    """A sum of records of norm at most 1 with noise of standard deviation 2: the event itself."""
    total = clip_l2(dataset.features, 1.0).sum(axis=0)
    return total + rng.normal(0.0, 2.0, total.size)


@claims(1.0, 0.01, REPLACE, dimension=100)
def gaussian_sum_in_100_dimensions(dataset: DataSet, rng: Generator) -> Array:
    """Records of L2 norm at most 1, so replacing one moves the sum by at most 2."""
    total = clip_l2(dataset.features, 1.0).sum(axis=0)
    return total + rng.normal(0.0, 2.0 * gaussian_noise(1.0, 0.01), total.size)


@claims(1.0, 0.01, ADD, dimension=2000)
@Batched
def gaussian_sum_in_2000_dimensions(dataset: DataSet, rng: Generator, count: int) -> Array:
    """Two thousand columns, with noise for the L2 norm of a whole record."""
    total = clip_l2(dataset.features, 1.0).sum(axis=0)
    return total + rng.normal(0.0, gaussian_noise(1.0, 0.01), (count, total.size))


@claims(2.0, 1e-3, REPLACE, dimension=784)
@Batched
def mean_image(dataset: DataSet, rng: Generator, count: int) -> Array:
    """The mean of images, where the number of records is public: it is equal under replace-one."""
    records = clip_l2(dataset.features, 1.0)
    noise = 2.0 * gaussian_noise(2.0, 1e-3) / len(records)
    return records.mean(axis=0) + rng.normal(0.0, noise, (count, records.shape[1]))


@claims(1.0, 0.01, ADD, dimension=20)
@Batched
def correlated_noise(dataset: DataSet, rng: Generator, count: int) -> Array:
    """Noise with a public covariance whose smallest eigenvalue is the variance that is needed.

    A record moves the sum by a vector v of norm at most 1, and v' inverse(S) v is at most one over
    the smallest eigenvalue of S. Only its eigenvector attains that.
    """
    total = clip_l2(dataset.features, 1.0).sum(axis=0)
    d = total.size
    mixing = np.eye(d) + 0.8 * np.eye(d, k=1)
    covariance = mixing @ mixing.T
    covariance *= gaussian_noise(1.0, 0.01) ** 2 / np.linalg.eigvalsh(covariance)[0]
    return total + rng.standard_normal((count, d)) @ np.linalg.cholesky(covariance).T


@claims(1.0, 0.0, ADD)
@Batched
def cauchy_sum(dataset: DataSet, rng: Generator, count: int) -> Array:
    """Cauchy noise of scale g: the log ratio of densities at distance 1 is at most 2 asinh(1/2g).

    The scale makes that 1. The noise has no mean and no variance.
    """
    total = np.clip(dataset.features[:, 0], -1.0, 1.0).sum()
    return total + rng.standard_cauchy(count) / (2.0 * math.sinh(0.5))


@claims(1.0, 0.0, ADD)
def student_sum(dataset: DataSet, rng: Generator) -> float:
    """Student noise with 3 degrees of freedom, scaled so that the largest log ratio is 1.

    The log ratio of densities at distance 1 is at most (3+1)/2 times 2 asinh(1 / (2 s sqrt 3)).
    """
    total = np.clip(dataset.features[:, 0], -1.0, 1.0).sum()
    scale = 1.0 / (2.0 * math.sqrt(3.0) * math.sinh(0.25))
    return float(total + scale * rng.standard_t(3))


@claims(1.0, 0.0, ADD)
def staircase_sum(dataset: DataSet, rng: Generator) -> float:
    """The staircase mechanism (Geng and Viswanath 2014, Algorithm 1) at epsilon 1."""
    total = np.clip(dataset.features[:, 0], -1.0, 1.0).sum()
    b, share = math.exp(-1.0), 1.0 / (1.0 + math.exp(0.5))
    sign = rng.choice([-1.0, 1.0])
    step = rng.geometric(1.0 - b) - 1
    if rng.random() < share / (share + (1.0 - share) * b):
        return float(total + sign * (step + share * rng.random()))
    return float(total + sign * (step + share + (1.0 - share) * rng.random()))


@claims(1.0, 0.01, ADD)
@Batched
def truncated_laplace_sum(dataset: DataSet, rng: Generator, count: int) -> Array:
    """Laplace noise restricted to [-A, A], with A as Geng et al. (2020) say: exactly (1, 0.01)."""
    total = np.clip(dataset.features[:, 0], -1.0, 1.0).sum()
    largest = math.log1p(math.expm1(1.0) / (2.0 * 0.01))
    sizes = -np.log1p(-rng.random(count) * -math.expm1(-largest))
    return total + sizes * rng.choice([-1.0, 1.0], count)


@claims(1.0, 0.0, ADD, dimension=3)
@Batched
def norm_shaped_noise(dataset: DataSet, rng: Generator, count: int) -> Array:
    """Noise with a density proportional to exp(-|x|), |x| the L2 norm (Hardt and Talwar 2010)."""
    total = clip_l2(dataset.features, 1.0).sum(axis=0)
    directions = rng.standard_normal((count, total.size))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return total + directions * rng.gamma(total.size, 1.0, (count, 1))


@claims(0.5, sampled_gaussian_delta(0.5, 1.0, 0.1) * (1.0 + 1e-9), ADD, dimension=5)
@Batched
def sampled_gaussian_sum(dataset: DataSet, rng: Generator, count: int) -> Array:
    """Every record joins with probability 0.1; the delta is exact (formulas.py)."""
    records = clip_l2(dataset.features, 1.0)
    joined = rng.random((count, len(records))) < 0.1
    return joined @ records + rng.normal(0.0, 1.0, (count, records.shape[1]))


@claims(1.0, 0.01, REPLACE, dimension=3, classes=4)
@Batched
def sums_of_classes(dataset: DataSet, rng: Generator, count: int) -> Array:
    """One noisy sum for each of 4 classes. Replacing a record moves them by at most 2 together.

    Within a class by 2; from one class to another by the square root of 2.
    """
    records = clip_l2(dataset.features, 1.0)
    totals = np.stack([records[dataset.labels == label].sum(axis=0) for label in range(4)])
    return totals + rng.normal(0.0, 2.0 * gaussian_noise(1.0, 0.01), (count, *totals.shape))


@claims(1.0, 0.0, REPLACE)
@Batched
def bounded_mean(dataset: DataSet, rng: Generator, count: int) -> Array:
    """The mean of numbers in [0, 1] with Laplace noise of scale 1/n, where n is public."""
    values = np.clip(dataset.features[:, 0], 0.0, 1.0)
    return values.mean() + rng.laplace(0.0, 1.0 / len(values), count)


@claims(1.0, 0.0, ADD)
def mean_with_noisy_count(dataset: DataSet, rng: Generator) -> tuple[float, int]:
    """A sum and a count, each with epsilon 1/2; their quotient is computed from the two."""
    total = np.clip(dataset.features[:, 0], -1.0, 1.0).sum() + rng.laplace(0.0, 2.0)
    size = len(dataset) + int(two_sided_geometric(rng, 2.0))
    return float(total / max(size, 1)), size


@claims(
    adjacency=ADD,
    event=PoissonSampledGaussian(noise_std=0.8, sampling_probability=0.2, record_norm=1.0),
    dimension=2,
)
def sampled_gaussian_event(dataset: DataSet, rng: Generator) -> Array:
    """A noisy sum over a Poisson sample, claimed as the event that it is."""
    records = clip_l2(dataset.features, 1.0)
    joined = records[rng.random(len(records)) < 0.2]
    return joined.sum(axis=0) + rng.normal(0.0, 0.8, records.shape[1])


# Rounding after noise, repeated numbers and other work on what is already private.


@claims(1.0, 0.0, ADD)
@Batched
def rounded_laplace_sum(dataset: DataSet, rng: Generator, count: int) -> Array:
    """The noisy sum is rounded to eighths and cut to [-64, 64], as the snapping mechanism does."""
    total = np.clip(dataset.features[:, 0], -1.0, 1.0).sum()
    return np.clip(np.rint((total + rng.laplace(0.0, 1.0, count)) * 8.0) / 8.0, -64.0, 64.0)


@claims(1.0, 1e-3, ADD, dimension=4)
def gaussian_sum_with_two_digits(dataset: DataSet, rng: Generator) -> Array:
    """The noisy sum is printed with two digits after the point."""
    total = clip_l2(dataset.features, 1.0).sum(axis=0)
    return np.round(total + rng.normal(0.0, gaussian_noise(1.0, 1e-3), total.size), 2)


@claims(1.0, 0.0, ADD, classes=5)
@Batched
def shares_of_classes(dataset: DataSet, rng: Generator, count: int) -> Array:
    """Noisy counts, made positive and divided by their sum: every release sums to 1."""
    noisy = counts_of(dataset, 5) + rng.laplace(0.0, 1.0, (count, 5))
    positive = np.maximum(noisy, 0.0) + 1e-3
    return positive / positive.sum(axis=1, keepdims=True)


@claims(1.0, 1e-3, ADD, dimension=6)
def noisy_covariance(dataset: DataSet, rng: Generator) -> Array:
    """Analyze Gauss (Dwork et al. 2014): a symmetric matrix of noise, on and above the diagonal.

    A record of norm 1 adds x x', of Frobenius norm 1. Every number off the diagonal occurs twice.
    """
    records = clip_l2(dataset.features, 1.0)
    d = records.shape[1]
    noise = np.triu(rng.normal(0.0, gaussian_noise(1.0, 1e-3), (d, d)))
    return records.T @ records + noise + np.triu(noise, 1).T


@claims(1.0, 0.0, ADD)
def constant_number(dataset: DataSet, rng: Generator) -> float:
    """The same number whatever the data: epsilon is 0."""
    return 42.5


@claims(0.1, 0.0, REPLACE, dimension=2)
def constant_word(dataset: DataSet, rng: Generator) -> str:
    """The same word whatever the data."""
    return "released"


@claims(0.1, 0.0, ADD)
@Batched
def coin(dataset: DataSet, rng: Generator, count: int) -> Array:
    """A coin that does not look at the data."""
    return (rng.random(count) < 0.5) * 1.0


# Counts and categories.


@claims(1.0, 0.0, ADD)
@Batched
def geometric_count(dataset: DataSet, rng: Generator, count: int) -> Array:
    """The number of records with discrete Laplace noise of scale 1: epsilon is 1."""
    return len(dataset) + two_sided_geometric(rng, 1.0, count)


@claims(1.0, 0.0, ADD, classes=4)
def geometric_histogram(dataset: DataSet, rng: Generator) -> Array:
    """Adding a record moves one of the four counts by 1."""
    return counts_of(dataset, 4) + two_sided_geometric(rng, 1.0, 4)


_LATTICE = np.arange(-60, 61)
_DISCRETE = np.exp(-(_LATTICE**2) / 8.0)
_DISCRETE /= _DISCRETE.sum()


@claims(1.0, discrete_delta(1.0, _DISCRETE[1:], _DISCRETE[:-1]) * (1.0 + 1e-9), ADD)
@Batched
def discrete_gaussian_count(dataset: DataSet, rng: Generator, count: int) -> Array:
    """A count with discrete Gaussian noise (Canonne et al. 2020) of parameter 2.

    Its delta at epsilon 1 is summed over all integers. What lies beyond 60 weighs less than 1e-190.
    """
    return len(dataset) + rng.choice(_LATTICE, count, p=_DISCRETE)


def _truthfully(epsilon: float, categories: int = 2) -> float:
    """The probability of the true answer in randomised response."""
    return math.exp(epsilon) / (math.exp(epsilon) + categories - 1)


@claims(1.0, 0.0, ADD)
def randomised_response(dataset: DataSet, rng: Generator) -> int:
    """Whether the number of records is odd, told truthfully with probability e / (e + 1)."""
    odd = len(dataset) % 2 == 1
    return int(odd if rng.random() < _truthfully(1.0) else not odd)


@claims(5.0, 0.0, ADD)
@Batched
def randomised_response_in_tenths(dataset: DataSet, rng: Generator, count: int) -> Array:
    """The same at epsilon 5, with 0.3 for odd and 0.7 for even."""
    odd = len(dataset) % 2 == 1
    told = np.where(rng.random(count) < _truthfully(5.0), odd, not odd)
    return np.where(told, 0.3, 0.7)


@claims(8.0, 0.0, REPLACE)
def randomised_response_in_words(dataset: DataSet, rng: Generator) -> str:
    """Whether the number of positive records is odd, at epsilon 8, as a word."""
    odd = int((dataset.features[:, 0] > 0.0).sum()) % 2 == 1
    return "odd" if odd == (rng.random() < _truthfully(8.0)) else "even"


@claims(5.0, 0.0, REPLACE, classes=5)
@Batched
def randomised_response_of_five(dataset: DataSet, rng: Generator, count: int) -> Array:
    """One of five shares, the sum of labels modulo 5, told truthfully or another one at random."""
    shares = np.array([0.11, 0.37, 0.53, 0.71, 0.97])
    truth = int(dataset.labels.sum()) % 5
    other = (truth + rng.integers(1, 5, count)) % 5
    return shares[np.where(rng.random(count) < _truthfully(5.0, 5), truth, other)]


def _votes(dataset: DataSet, candidates: int) -> Array:
    """A positive record is half a vote for candidate 0 and against all others; a negative one not.

    Replacing a record moves every score by at most 1, and by exactly 1 in the worst case.
    """
    total = np.clip(dataset.features[:, 0], -0.5, 0.5).sum()
    return np.where(np.arange(candidates) == 0, total, -total)


@claims(1.0, 0.0, REPLACE)
def exponential_mechanism(dataset: DataSet, rng: Generator) -> int:
    """Eleven outcomes with weights exp(score / 2), for scores of sensitivity 1.

    One score may rise while the others fall, so the factor 1/2 is needed; epsilon is 0.91.
    """
    scores = _votes(dataset, 11)
    weights = np.exp(0.5 * (scores - scores.max()))
    return int(rng.choice(11, p=weights / weights.sum()))


@claims(1.0, 0.0, REPLACE, classes=6)
def permute_and_flip(dataset: DataSet, rng: Generator) -> int:
    """Candidates in a random order, each accepted with probability exp((score - best) / 2)."""
    scores = counts_of(dataset, 6)
    best = scores.max()
    for candidate in rng.permutation(6):
        if rng.random() < math.exp(0.5 * (scores[candidate] - best)):
            return int(candidate)
    raise AssertionError("the best candidate is always accepted")


@claims(1.0, 0.0, ADD, classes=5)
@Batched
def report_noisy_max(dataset: DataSet, rng: Generator, count: int) -> Array:
    """The label with the largest noisy count, and nothing else (Dwork and Roth 2014, Claim 3.9)."""
    noisy = counts_of(dataset, 5) + rng.laplace(0.0, 1.0, (count, 5))
    return noisy.argmax(axis=1)


# A count is published if it exceeds this: a single record does with probability 1e-3.
_STABLE = 1.0 + math.log(1.0 / (2.0 * 1e-3))


@claims(1.0, 1e-3, ADD, classes=4)
@Batched
def stability_histogram(dataset: DataSet, rng: Generator, count: int) -> Array:
    """Noisy counts of the labels that occur, if they exceed a threshold; 0 for all others.

    A label that occurs once is published with probability 1e-3 exactly; a label that does not
    occur, never (Korolova et al. 2009).
    """
    counts = counts_of(dataset, 4)
    noisy = counts + rng.laplace(0.0, 1.0, (count, 4))
    return np.where((counts > 0) & (noisy > _STABLE), noisy, 0.0)


@claims(1.0, 1e-3, ADD, classes=4)
def stability_histogram_as_dict(dataset: DataSet, rng: Generator) -> dict[str, float]:
    """The same; what is published differs from release to release."""
    found = {}
    for label, size in enumerate(counts_of(dataset, 4)):
        noisy = size + rng.laplace(0.0, 1.0)
        if size > 0 and noisy > _STABLE:
            found[f"label {label}"] = float(noisy)
    return found


@claims(1.0, 0.0, REPLACE, dimension=10)
def above_threshold(dataset: DataSet, rng: Generator) -> int:
    """The first of ten counts that exceeds 2 (Dwork and Roth 2014, Algorithm 1); 10 if none does.

    The threshold has noise of scale 2, and every count has noise of scale 4.
    """
    counts = np.clip(dataset.features, 0.0, 1.0).sum(axis=0)
    threshold = 2.0 + rng.laplace(0.0, 2.0)
    for index, value in enumerate(counts):
        if value + rng.laplace(0.0, 4.0) >= threshold:
            return index
    return len(counts)


@claims(1.0, 0.01, ADD, classes=4)
def stable_mode(dataset: DataSet, rng: Generator) -> str:
    """Propose, test, release: the most frequent label exactly, if a noisy test finds it stable.

    How many records must be removed until it could change is one less than its lead, and moves by
    at most 1. Where it can change, the test passes with probability 1/2 exp(-t) = 0.01.
    """
    counts = counts_of(dataset, 4)
    second, first = np.sort(counts)[-2:]
    stability = max(first - second - 1, 0)
    if stability + rng.laplace(0.0, 1.0) > math.log(1.0 / (2.0 * 0.01)):
        return f"label {counts.argmax()}"
    return "none"


# Failures with a probability that delta allows.


@claims(0.0, 0.01, REPLACE, dimension=3)
@Batched
def name_and_shame(dataset: DataSet, rng: Generator, count: int) -> Array:
    """Every record is published exactly, with probability 0.01 each; they are added into one row.

    A dreadful mechanism, and (0, 0.01)-DP: the outputs differ only if the changed record is there.
    """
    # Multiples of 1/1024 are added without rounding, so the order of records cannot show.
    records = np.rint(dataset.features * 1024.0) / 1024.0
    return (rng.random((count, len(dataset))) < 0.01) @ records


@claims(1.0, 1e-3, ADD)
@Batched
def exact_with_probability_delta(dataset: DataSet, rng: Generator, count: int) -> Array:
    """A noisy sum with epsilon 1, but the exact one with probability 1e-3: (1, 1e-3)-DP."""
    total = np.clip(dataset.features[:, 0], -1.0, 1.0).sum()
    noise = rng.laplace(0.0, 1.0, count)
    return total + np.where(rng.random(count) < 1e-3, 0.0, noise)


# Releases of other kinds.


@claims(1.0, 1e-3, ADD, dimension=4)
def summary(dataset: DataSet, rng: Generator) -> dict[str, Any]:
    """A count with epsilon 1/2 and a sum with (1/2, 1e-3), composed."""
    total = clip_l2(dataset.features, 1.0).sum(axis=0)
    return {
        "count": len(dataset) + int(two_sided_geometric(rng, 2.0)),
        "sum": total + rng.normal(0.0, gaussian_noise(0.5, 1e-3), total.size),
        "unit": "metres",
    }


@claims(1.0, 0.01, REPLACE, dimension=3, classes=2)
def gradient_as_state(dataset: DataSet, rng: Generator) -> dict[str, Array]:
    """The summed gradient of a logistic model at 0, each record's clipped, weights and bias alike.

    Labels are part of the record. Clipping bounds the gradient of a record, bias included, by 1.
    """
    ones = np.ones((len(dataset), 1))
    gradients = clip_l2(
        np.hstack([dataset.features, ones]) * (0.5 - dataset.labels[:, None] % 2), 1.0
    )
    total = gradients.sum(axis=0)
    noisy = total + rng.normal(0.0, 2.0 * gaussian_noise(1.0, 0.01), total.size)
    return {"weight": noisy[None, :-1], "bias": noisy[-1:]}


@claims(1.0, 0.01, ADD, dimension=2)
def torch_state(dataset: DataSet, rng: Generator) -> dict[str, Any]:
    """A noisy sum as a parameter of torch, which asks for gradients."""
    import torch  # noqa: PLC0415 - only this mechanism needs it

    total = clip_l2(dataset.features, 1.0).sum(axis=0)
    noisy = total + rng.normal(0.0, gaussian_noise(1.0, 0.01), total.size)
    return {"linear.weight": torch.tensor(noisy[None, :], requires_grad=True)}


@claims(1.0, 0.0, ADD)
def sentence(dataset: DataSet, rng: Generator) -> str:
    """A noisy count in a sentence."""
    return f"There are about {len(dataset) + int(two_sided_geometric(rng, 1.0))} records."


@claims(1.0, 0.0, ADD)
def report_as_json(dataset: DataSet, rng: Generator) -> str:
    """A noisy count, written as JSON."""
    noisy = len(dataset) + int(two_sided_geometric(rng, 1.0))
    return json.dumps({"records": noisy, "large": noisy > 5})


@claims(1.0, 0.0, ADD)
def rows_of_a_noisy_number(dataset: DataSet, rng: Generator) -> Array:
    """As many synthetic rows as a noisy count says; the rows do not depend on the data."""
    rows = max(1, len(dataset) + int(two_sided_geometric(rng, 1.0)))
    return rng.normal(0.0, 1.0, (rows, 2))


@claims(1.0, gaussian_delta(1.0, 1.5) * (1.0 + 1e-9), REPLACE, dimension=5)
@Batched
def random_signs_before_noise(dataset: DataSet, rng: Generator, count: int) -> Array:
    """The sum of records is multiplied by a random sign, then noise is added.

    The sign is drawn anew each time and is not published, so this is a mixture of the Gaussian
    mechanism of sensitivity 2 with noise 3, and of its mirror image; it has at most their delta.
    """
    total = clip_l2(dataset.features, 1.0).sum(axis=0)
    signs = rng.choice([-1.0, 1.0], (count, 1))
    return signs * total + rng.normal(0.0, 3.0, (count, total.size))
