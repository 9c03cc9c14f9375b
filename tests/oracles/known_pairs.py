"""Hockey-stick divergences of known pairs by brute force, which shares nothing with rdpkit.

Each function sums or integrates max(0, P - e^l Q) over outcomes, with mpmath at 40 digits.
"""

from itertools import pairwise, product

import mpmath as mp

mp.mp.dps = 40


def laplace(loss, *, distance):
    """Two Laplace densities, integrated piece by piece."""
    d, level = mp.mpf(distance), mp.exp(mp.mpf(loss))

    def excess(x):
        return max(mp.mpf(0), mp.exp(-abs(x)) - level * mp.exp(-abs(x - d))) / 2

    change = (d - mp.mpf(loss)) / 2
    cuts = sorted({mp.mpf(0), d, min(max(change, mp.mpf(0)), d)})
    return mp.quad(excess, [-mp.inf, *cuts, mp.inf])


def truncated_laplace(loss, *, distance, reach):
    """Two Laplace densities that end, integrated piece by piece."""
    d, far, level = mp.mpf(distance), mp.mpf(reach), mp.exp(mp.mpf(loss))

    def density(x):
        return mp.exp(-abs(x)) / (2 * -mp.expm1(-far)) if abs(x) <= far else mp.mpf(0)

    def excess(x):
        return max(mp.mpf(0), density(x) - level * density(x - d))

    cuts = {-far, mp.mpf(0), d - far, d, far, far + d, (d - mp.mpf(loss)) / 2}
    pieces = sorted(cuts)
    return mp.fsum(mp.quad(excess, [a, b]) for a, b in pairwise(pieces))


def laplace_tail(x):
    """P(X > x) for a Laplace variable of scale 1."""
    return 1 - mp.exp(x) / 2 if x < 0 else mp.exp(-x) / 2


def opposed_laplace(loss, *, distance, q):
    """Two mixtures of Laplace densities, integrated piece by piece."""
    d, q, level = mp.mpf(distance), mp.mpf(q), mp.exp(mp.mpf(loss))

    def excess(x):
        both = (1 - q) * mp.exp(-abs(x))
        first = both + q * mp.exp(-abs(x - d))
        second = both + q * mp.exp(-abs(x + d))
        return max(mp.mpf(0), first - level * second) / 2

    grid = [-d + 2 * d * k / 40 for k in range(41)]
    return mp.quad(excess, [-mp.inf, *grid, mp.inf])


def by_outcomes(loss, outcomes):
    """A sum over pairs of probabilities."""
    level = mp.exp(mp.mpf(loss))
    return mp.fsum(max(mp.mpf(0), p - level * q) for p, q in outcomes)


def lattice(weight, distance, reach):
    """Outcomes of two shifted distributions on the integers, by their unnormalised weights."""
    weights = {k: weight(k) for k in range(-reach - distance, reach + distance + 1)}
    total = mp.fsum(weights.values())
    return [
        (weights[k] / total, weights[k - distance] / total)
        for k in range(-reach, reach + distance + 1)
    ]


def discrete_laplace(*, rate, distance):
    """Outcomes of two discrete Laplace distributions."""
    return lattice(lambda k: mp.exp(-mp.mpf(rate) * abs(k)), distance, int(90 / rate) + 1)


def discrete_gaussian(*, sigma, distance):
    """Outcomes of two discrete Gaussians."""
    s = mp.mpf(sigma)
    return lattice(lambda k: mp.exp(-(mp.mpf(k) ** 2) / (2 * s**2)), distance, int(14 * sigma) + 14)


def skellam(*, variance, distance):
    """Outcomes of two Skellam distributions, by Bessel functions."""
    v = mp.mpf(variance)
    return lattice(lambda k: mp.besseli(abs(k), v), distance, int(20 * mp.sqrt(v)) + 60)


def response(*, noise_parameter, num_buckets):
    """Outcomes of randomised response."""
    p, k = mp.mpf(noise_parameter), num_buckets
    a, b = 1 - p + p / k, p / k
    return [(a, b), (b, a), *[(b, b)] * (k - 2)]


def gaussian_mixture(loss, *, kind, std, positions, weights):
    """A mixture of Gaussian densities against the one at 0, integrated around its one crossing."""
    total = mp.fsum(mp.mpf(w) for w in weights)
    parts = [(mp.mpf(w) / total, mp.mpf(c) / mp.mpf(std)) for w, c in zip(weights, positions)]
    level = mp.exp(mp.mpf(loss))

    def mixture(x):
        return mp.fsum(w * mp.npdf(x - c) for w, c in parts)

    def excess(x):
        first, second = mixture(x), mp.npdf(x)
        if kind == "added":
            first, second = second, first
        return max(mp.mpf(0), first - level * second)

    far = max(c for _, c in parts) + 14
    return mp.quad(excess, [-14 + (far + 14) * k / 60 for k in range(61)])


def bounded_range(loss, *, epsilon, largest=None, steps=400):
    """The largest over t of the mechanism whose losses are t and t - epsilon, none too large."""
    e, level = mp.mpf(epsilon), mp.exp(mp.mpf(loss))
    best = mp.mpf(0)
    for k in range(steps + 1):
        t = e * k / steps
        if largest is not None:
            t = e - largest + (2 * largest - e) * k / steps
        p = (1 - mp.exp(t - e)) / (1 - mp.exp(-e))
        best = max(best, by_outcomes(loss, [(p, p * mp.exp(-t)), (1 - p, (1 - p) * mp.exp(e - t))]))
        assert level > 0
    return best


def stated(*, epsilon, delta):
    """The worst mechanism that is (epsilon, delta)-DP (Kairouz, Oh and Viswanath 2015)."""
    d, grown = mp.mpf(delta), mp.exp(mp.mpf(epsilon))
    large, small = (1 - d) * grown / (1 + grown), (1 - d) / (1 + grown)
    return [(d, mp.mpf(0)), (large, small), (small, large), (mp.mpf(0), d)]


def sampled(outcomes, *, q, kind):
    """Outcomes of a release from a sample, the record removed or added."""
    q = mp.mpf(q)
    mixed = [((1 - q) * second + q * first, second) for first, second in outcomes]
    return mixed if kind == "removed" else [(second, first) for first, second in mixed]


def composed(outcomes, count):
    """Outcomes of several releases, all combinations of them."""
    return [
        (mp.fprod(p for p, _ in choice), mp.fprod(q for _, q in choice))
        for choice in product(outcomes, repeat=count)
    ]
