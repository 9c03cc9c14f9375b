"""Secret samples: subsets of a fixed size without replacement, and Poisson samples."""

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
