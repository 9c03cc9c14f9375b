"""Whole numbers of discrete Laplace noise, drawn exactly: no floating-point number is involved."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rdpkit import _validate
from rdpkit.mechanisms.parts.noise import NoiseSource

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
