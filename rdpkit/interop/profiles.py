r"""Privacy profiles of mechanisms that have no event of their own, as points of a CustomProfile.

Guarantee
---------
Every point bounds the mechanism's hockey-stick divergence in both directions. Epsilons and deltas
are moved up by a few units in the last place, so that rounding is covered.

* Laplace: for a shift of eps_0 noise scales, delta(eps) = 1 - e^{(eps - eps_0)/2} up to eps_0.
  Several coordinates with a total L1 shift of eps_0 leak at most as much as one coordinate, because
  Laplace noise is log-concave; the theory page "Custom profiles" has the proof.
* Discrete Laplace, proportional to e^{-a\|x\|} on the integers and shifted by n: the losses are
  a (n - 2j), and the profile is linear in e^eps between them. What is said above of several
  coordinates holds here, too.
* k-ary randomised response, in which a record answers at random with probability p: the profile is
  linear in e^eps from the point (0, 1 - p) to delta 0 at the largest loss.
  Under zero-out the special record has a uniform answer, and the profile begins at
  (1 - p)(k - 1)/k and ends at the larger one of log(k - (k - 1) p) and -log(p).
* A record that takes part with probability q, by Poisson sampling under add-or-remove-one or in a
  sample of fixed size under replace-one: (eps, delta) becomes (log(1 + q (e^eps - 1)), q delta).

Assumes
-------
What is said of each mechanism.

Source
------
Balle, Barthe and Gaboardi, "Privacy amplification by subsampling: tight analyses via couplings and
divergences", NeurIPS 2018, Theorem 2 (arXiv 1807.01647v2), for samples; derivations: rdpkit, theory
page "Custom profiles".
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rdpkit.adjacency import Adjacency
from rdpkit.events import CustomProfile

Array = NDArray[np.float64]

_ULP = 2.3e-16  # A little more than 2^-52
# Number of points of a smooth profile. Chords between them exceed it by a relative 1e-6 or less.
_FEWEST_POINTS, _MOST_POINTS = 512, 16384
_POINTS_PER_NAT = 64


def nothing(adjacency: Adjacency) -> CustomProfile:
    """A release that does not depend on the data."""
    return CustomProfile(epsilons=(0.0,), deltas=(0.0,), adjacency=adjacency)


def everything(adjacency: Adjacency) -> CustomProfile:
    """A release without any guarantee."""
    return CustomProfile(epsilons=(0.0,), deltas=(1.0,), adjacency=adjacency)


def _rounded_up(epsilons: Array, deltas: Array, adjacency: Adjacency) -> CustomProfile:
    deltas = np.minimum(np.minimum.accumulate(deltas * (1.0 + 32.0 * _ULP)), 1.0)
    return CustomProfile(
        epsilons=tuple(epsilons * (1.0 + 8.0 * _ULP)), deltas=tuple(deltas), adjacency=adjacency
    )


def laplace(largest: float, adjacency: Adjacency) -> CustomProfile:
    """Laplace noise at ``largest`` = L1 sensitivity over scale."""
    wanted = math.ceil(_POINTS_PER_NAT * min(largest, float(_MOST_POINTS)))
    count = min(max(wanted, _FEWEST_POINTS), _MOST_POINTS)
    epsilons = largest * (np.arange(count + 1) / count)
    epsilons[-1] = largest
    deltas = -np.expm1(0.5 * (epsilons - largest))
    return _rounded_up(epsilons, deltas, adjacency)


def discrete_laplace(rate: float, sensitivity: int, adjacency: Adjacency) -> CustomProfile:
    """Noise proportional to e^{-rate |x|} on the integers, at an integer L1 sensitivity."""
    last = sensitivity // 2
    steps = np.unique(np.linspace(0, last, min(last, _MOST_POINTS) + 1).round()).astype(np.float64)
    steps = steps[::-1]
    epsilons = rate * (sensitivity - 2.0 * steps)
    near = (
        np.exp(-rate) * -np.expm1(-rate * np.maximum(steps - 1.0, 0.0)) * -np.expm1(-rate * steps)
    )
    deltas = (-np.expm1(-2.0 * rate * steps) + near) / (1.0 + math.exp(-rate))
    return _rounded_up(epsilons, deltas, adjacency)


def randomized_response(noise: float, buckets: int, adjacency: Adjacency) -> CustomProfile:
    """One of ``buckets`` >= 2 at random with probability ``noise``, else the record's own."""
    largest = math.log1p((1.0 - noise) * buckets / noise)
    return _rounded_up(np.array([0.0, largest]), np.array([1.0 - noise, 0.0]), adjacency)


def randomized_response_of_none(noise: float, buckets: int) -> CustomProfile:
    """The same under zero-out, where the special record has a uniform answer.

    The profiles of both directions are linear in e^eps and begin at the same delta, so the one
    that ends later is above the other.
    """
    start = (1.0 - noise) * (buckets - 1) / buckets
    largest = max(math.log(buckets - (buckets - 1) * noise), -math.log(noise))
    return _rounded_up(np.array([0.0, largest]), np.array([start, 0.0]), Adjacency.ZERO_OUT)


def sampled(profile: CustomProfile, probability: float) -> CustomProfile:
    """A mechanism with this profile, on a sample that holds a record with ``probability`` > 0."""
    epsilons = np.array(profile.epsilons)
    small = np.log1p(probability * np.expm1(np.minimum(epsilons, 30.0)))
    rest = math.log1p(-probability) if probability < 1.0 else -math.inf
    large = np.logaddexp(epsilons + math.log(probability), rest)
    amplified = np.where(epsilons < 30.0, small, large)
    # Of points whose epsilons are equal after rounding, the last one has the smallest delta.
    keep = np.append(np.diff(amplified) > 0.0, True)
    deltas = probability * np.array(profile.deltas)
    return _rounded_up(amplified[keep], deltas[keep], profile.adjacency)
