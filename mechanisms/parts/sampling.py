"""Secret draws: subsets of a fixed size, Poisson samples, and whole numbers of noise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rdpkit import _validate
from rdpkit.mechanisms.parts.noise import NoiseSource

Indices = NDArray[np.int64]

# Entries of the largest temporary array.
_ROOM = 1 << 22


def some_of_each(owners: Indices, most: int, noise: NoiseSource) -> Indices:
    """Numbers of records of which no owner has more than ``most``, in increasing order.

    They are chosen at random, for each owner independently of the records of others. A record whose
    owner is a negative number is nobody's, and is left out.
    """
    _validate.integer("most", most)
    shuffled = np.random.default_rng(noise.words(4).tolist()).permutation(len(owners))
    order = shuffled[np.argsort(owners[shuffled], kind="stable")]
    ranked = owners[order]
    rank = np.arange(len(owners)) - np.searchsorted(ranked, ranked)
    found: Indices = np.sort(order[(rank < most) & (ranked >= 0)])
    return found


def subsets(population: int, size: int, count: int, *, noise: NoiseSource) -> Indices:
    """Independent uniform subsets without replacement, all at once.

    Guarantee
    ---------
    Every subset of ``size`` records is equally likely, up to what distinguishes the words of the
    source from uniform ones. Each row keeps drawing until it has ``size`` different records. The
    procedure treats all records alike, so its outcome does too. If more than half of the records
    are wanted, the records that are left out are drawn in this way.

    Parameters
    ----------
    population : int
        Records to draw from, numbered from 0.
    size : int
        Records in a subset, at most ``population``.
    count : int
        Subsets.
    noise : NoiseSource
        Where the randomness comes from.

    Returns
    -------
    ndarray of int64, shape (count, size)
        Each row in increasing order. The function needs memory for the result and a few megabytes.
    """
    n = int(_validate.integer("population", population))
    wanted = int(_validate.integer("size", size, maximum=n))
    rows = int(_validate.integer("count", count, minimum=0))
    if 2 * wanted <= n:
        return _few(n, wanted, rows, noise)
    found = np.empty((rows, wanted), dtype=np.int64)
    step = max(1, _ROOM // n)
    for start in range(0, rows, step):
        part = found[start : start + step]
        chosen = np.ones((len(part), n), dtype=np.bool_)
        np.put_along_axis(chosen, _few(n, n - wanted, len(part), noise), False, axis=1)
        part[...] = np.nonzero(chosen)[1].reshape(part.shape)
    return found


def _few(n: int, size: int, count: int, noise: NoiseSource) -> Indices:
    """Subsets of at most half of the records."""
    found = noise.integers(n, (count, size))
    unfinished = np.arange(count)
    while unfinished.size and size > 1:
        rows = np.sort(found[unfinished], axis=1)
        repeated = np.zeros(rows.shape, dtype=np.bool_)
        np.equal(rows[:, 1:], rows[:, :-1], out=repeated[:, 1:])
        # Exactly as many records are drawn as are missing. If more were drawn, those that come
        # first would be preferred.
        rows[repeated] = noise.integers(n, int(np.count_nonzero(repeated)))
        found[unfinished] = rows
        unfinished = unfinished[repeated.any(axis=1)]
    return found


def poisson_sample(population: int, probability: float, *, noise: NoiseSource) -> Indices:
    """A Poisson sample: each record joins with ``probability``, independently of the others.

    Parameters
    ----------
    population : int
        Records, numbered from 0; may be 0.
    probability : float
        In [0, 1]; it is rounded up to a multiple of 2^-53.
    noise : NoiseSource
        Where the randomness comes from.

    Returns
    -------
    ndarray of int64
        Numbers of the records that joined, in increasing order. There may be none.
    """
    n = int(_validate.integer("population", population, minimum=0))
    chance = _validate.probability("probability", probability)
    parts = [
        start + np.flatnonzero(noise.uniform(min(_ROOM, n - start)) < chance)
        for start in range(0, n, _ROOM)
    ]
    return np.concatenate([np.empty(0, dtype=np.int64), *parts]).astype(np.int64)


# Whole numbers of discrete Laplace noise, drawn exactly: no floating-point number is involved.

LARGEST_SCALE = 2**40
"""With larger scales, a product of the sampler would not fit into the words of a source."""


def discrete_laplace(count: int, *, scale: int, noise: NoiseSource) -> NDArray[np.int64]:
    """Independent whole numbers k with probability proportional to exp(-abs(k) / scale).

    Guarantee
    ---------
    The probabilities are exact, up to what distinguishes the words of the source from uniform ones:
    every decision is a comparison of whole numbers. A vector of whole numbers that moves by at most
    m in the L1 norm, plus this noise, is (m / scale, 0)-differentially private.

    Parameters
    ----------
    count : int
        How many numbers.
    scale : int
        In [1, 2^40]; the standard deviation is about sqrt(2) times as large.
    noise : NoiseSource
        Where the randomness comes from.

    Source
    ------
    Canonne, Kamath and Steinke 2020, "The discrete Gaussian for differential privacy" (arXiv
    2004.00010), Algorithm 2 with s = 1, and Algorithm 1 for probabilities exp(-u / t).
    """
    rows = int(_validate.integer("count", count, minimum=0))
    width = int(_validate.integer("scale", scale, maximum=LARGEST_SCALE))
    return np.array([_one(width, noise) for _ in range(rows)], dtype=np.int64)


def _one(scale: int, noise: NoiseSource) -> int:
    while True:
        remainder = int(noise.integers(scale, 1)[0])
        if not _exponential_coin(remainder, scale, noise):
            continue
        quotient = 0
        while _exponential_coin(1, 1, noise):
            quotient += 1
        size = remainder + scale * quotient
        negative = bool(noise.integers(2, 1)[0])
        # Without this, zero would be drawn twice as often as it should be.
        if size or not negative:
            return -size if negative else size


def _exponential_coin(numerator: int, denominator: int, noise: NoiseSource) -> bool:
    """True with probability exp(-numerator / denominator), for a ratio in [0, 1]."""
    tosses = 1
    while int(noise.integers(denominator * tosses, 1)[0]) < numerator:
        tosses += 1
    return tosses % 2 == 1
