"""A record in several of the batches: against integrals, simulation, and other events' bounds."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import ndtr

import rdpkit
from rdpkit.accountants.losses.kinds.allocation.allocated import shared
from tests.events import unit

ADD, REPLACE, ZERO = (rdpkit.Adjacency(name) for name in rdpkit.Adjacency)


def event(noise, batches, shares, **more):
    return rdpkit.RandomAllocationGaussian(
        noise_std=noise, record_norm=1.0, batches=batches, batches_per_record=shares, **more
    )


def both(event, adjacency, **target):
    high = rdpkit.epsilon if "delta" in target else rdpkit.delta
    answer = "epsilon" if "delta" in target else "delta"
    above = getattr(high(event, adjacency=adjacency, **target), answer)
    below = getattr(rdpkit.lower_bound(event, adjacency=adjacency, **target)[0], answer)
    return below, above


def integrated(noise, batches, shares, ratio, second):
    """E(e_k(A) - lambda e_k(B))_+ over binom(t, k), all subsets enumerated.

    The last coordinate in closed form, by bisection for the place where the rest is 0; the others
    by a sum over a grid, which converges faster than any power. Good to about 1e-9 of the number.
    """
    s = 1.0 / noise
    x = np.linspace(-9.0, 9.0 + s, 260 if batches == 3 else 70)
    grids = np.meshgrid(*[x] * (batches - 1), indexing="ij")
    weight = np.exp(-0.5 * sum(g * g for g in grids)) * (
        (x[1] - x[0]) / math.sqrt(2 * math.pi)
    ) ** (batches - 1)

    def parts(c):
        """Sums over subsets without the last coordinate, and with it."""
        ones = [np.exp(c * s * g - (c * s) ** 2 / 2) for g in grids]
        found = [np.zeros_like(weight), np.zeros_like(weight)]
        for chosen in itertools.combinations(range(batches), shares):
            last = int(batches - 1 in chosen)
            found[last] = found[last] + math.prod(ones[j] for j in chosen if j < batches - 1)
        return [one / math.comb(batches, shares) for one in found]

    (a, b), (c, d) = parts(1.0), parts(second)

    def value(g):
        up = a + b * np.exp(s * g - s * s / 2)
        return up - ratio * (c + d * np.exp(second * s * g - (second * s) ** 2 / 2))

    # The value grows in g, because b, d >= 0 and second <= 0.
    low, high = np.full_like(weight, -40.0), np.full_like(weight, 40.0)
    for _ in range(60):
        middle = 0.5 * (low + high)
        positive = value(middle) > 0.0
        low, high = np.where(positive, low, middle), np.where(positive, middle, high)
    own = a * ndtr(-low) + b * ndtr(s - low)
    other = c * ndtr(-low) + d * ndtr(second * s - low)
    return float((weight * np.maximum(own - ratio * other, 0.0)).sum())


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("noise", "batches", "shares"),
    [(1.0, 3, 2), (3.0, 3, 2), (0.6, 3, 2), (1.5, 4, 2), (1.0, 4, 3)],
)
@pytest.mark.parametrize("adjacency", [ADD, REPLACE])
def test_few_batches_are_between_the_bounds(noise, batches, shares, adjacency):
    one = event(noise, batches, shares)
    second = -1.0 if adjacency is REPLACE else 0.0
    for epsilon in (0.0, 0.5, 2.0, 6.0):
        ratio = math.exp(epsilon)
        exact = integrated(noise, batches, shares, ratio, second)
        # An addition: 1 - e^-epsilon + e^-epsilon h(-epsilon), turned around.
        back = 1.0 - ratio + ratio * integrated(noise, batches, shares, 1.0 / ratio, second)
        below, above = both(one, adjacency, epsilon=epsilon)
        assert below <= max(exact, back) * (1.0 + 1e-6) + 1e-14 * ratio
        assert max(exact, back) <= above * (1.0 + 1e-6) + 1e-14 * ratio


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("noise", "batches", "shares", "delta", "factor"),
    [
        (1.0, 14040, 60, 1e-5, 1.01),
        (1.0, 100, 10, 1e-5, 1.06),
        (2.0, 20, 10, 1e-12, 1.05),
        (0.8, 2340, 10, 1e-8, 1.06),
        (1.0, 1000, 100, 1e-5, 1.05),
        (0.5, 100, 2, 1e-5, 1.13),
        (20.0, 10**6, 10**4, 1e-6, 1.02),
    ],
)
def test_the_bounds_are_near_each_other(noise, batches, shares, delta, factor):
    for adjacency in (ADD, REPLACE, ZERO):
        below, above = both(event(noise, batches, shares), adjacency, delta=delta)
        assert 0.0 < below <= above <= factor * below


@pytest.mark.thorough
def test_one_batch_and_all_batches_are_what_they_were():
    for adjacency in (ADD, REPLACE, ZERO):
        plain = unit.gaussian(2.0) * 7
        expected = rdpkit.epsilon(plain, delta=1e-6, adjacency=adjacency).epsilon
        below, above = both(event(2.0, 7, 7), adjacency, delta=1e-6)
        assert above == pytest.approx(expected, rel=1e-9)
        assert below == pytest.approx(expected, rel=1e-9)
        below, above = both(event(1.0, 50, 1), adjacency, delta=1e-5)
        assert below <= above <= 1.05 * below


@pytest.mark.parametrize("second", [0.0, -1.0, -0.3])
def test_the_statistic_is_what_simulation_says(second):
    """40,000 draws on either side; fails by chance with a probability of 1e-6 (six deviations)."""
    noise, batches, shares = 0.8, 12, 3
    found = shared(noise, batches, shares, second, 1.0)
    for low, high in (found.first, found.second):
        assert (low <= high).all()
        assert (np.diff(high) <= 1e-12).all()
    generator = np.random.default_rng(7)
    s, q = 1.0 / noise, shares / batches

    def drawn(centre):
        x = generator.standard_normal((40_000, batches))
        x[:, :shares] += centre * s
        up, down = (np.log1p(q * np.expm1(c * s * x - (c * s) ** 2 / 2)) for c in (1.0, second))
        return (up - (down if second else 0.0)).sum(axis=1)

    one, two = drawn(1.0), drawn(second)
    # A threshold near the middle of the first member, by the statistic's own probability.
    for level in (0.3, 0.03):
        k = int(np.argmin(np.abs(found.first[0] - level)))
        place = np.quantile(one, 1.0 - found.first[0][k])
        seen = (two > place).mean()
        error = 6.0 * math.sqrt(max(seen, 1e-3) / two.size) + 6.0 * math.sqrt(level / one.size)
        assert abs(seen - found.second[0][k]) < error


def test_the_assumption_says_how_many():
    assert "3 different batches" in event(1.0, 10, 3).assumptions()[0]
    assert event(1.0, 10, 1).assumptions() == rdpkit.RandomAllocationGaussian.assumed
    with pytest.raises(ValueError, match="batches_per_record"):
        event(1.0, 10, 11)
