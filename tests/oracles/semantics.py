"""A second semantics of events: finite mechanisms in fractions, and nothing of the product.

What an event stands for is said on the theory page "What an event means"; this file enumerates it.
A mechanism, between two neighbours, is a *pair*: the probabilities of its outcomes on either data
set, as fractions. The first data set is the larger one (add-or-remove-one), or the one whose record
changes. Where a record's own value decides what it touches there are several *ways*, all of which
are enumerated. Each way is enclosed by two pairs: ``below`` is attained by a member, and ``above``
dominates all members; where outcomes are finite the two are equal.

Only the parameters of events are read. Exponentials, and probabilities after a composition, are
fractions of 256 bits, so that what is computed here is compared with a tolerance of 1e-40.
"""

import dataclasses
import itertools
import math
from typing import NamedTuple

from flint import arb, arb_poly, ctx, fmpq

import rdpkit
from rdpkit import Adjacency

ADDED, REPLACED, ZEROED = Adjacency
BITS = 256
MOST_OUTCOMES = 50
# Places on the real line at which a Gaussian's outcomes are cut, in standard deviations.
PLACES = (*(x / 2 for x in range(-9, 10)), -30.0, -12.0, -6.5, 6.5, 12.0, 30.0)


class NotEnumeratedError(Exception):
    """An event of which this file does not say what it means."""


class Way(NamedTuple):
    """Two pairs that enclose what is known where a changed record matters in one way."""

    below: list
    above: list

    def reversed(self):
        """The two data sets exchanged."""
        return Way([(q, p) for p, q in self.below], [(q, p) for p, q in self.above])


# Fractions.


def fraction(number):
    """A float exactly, or a ball by its centre."""
    if not isinstance(number, arb):
        return fmpq(*map(int, float(number).as_integer_ratio()))
    man, exp = number.mid().man_exp()
    return fmpq(man) * fmpq(2) ** int(exp)


def exp(number):
    """A fraction close to e^number."""
    with ctx.workprec(BITS):
        return fraction(arb(number).exp())


def normal_tails(place):
    """P(Y > place) and P(Y < place) for a standard normal Y."""
    with ctx.workprec(BITS):
        scaled = arb(place) / arb(2).sqrt()
        return scaled.erfc() / 2, (-scaled).erfc() / 2


# Pairs.


def delta(pair, x):
    """The hockey-stick divergence at x = e^epsilon."""
    return sum((p - x * q for p, q in pair if p > x * q), fmpq(0))


def once(outcomes):
    """One way, known exactly."""
    pair = [(fmpq(p), fmpq(q)) for p, q in outcomes if p or q]
    return Way(pair, pair)


def dominating(points):
    """The pair whose delta is straight between points (x, delta), from (0, 1) on, and then flat.

    Delta is convex in x and does not rise, so this pair is above every one below these points.
    """
    hull = [(fmpq(0), fmpq(1))]
    for x, value in sorted(points):
        if x == hull[-1][0]:
            continue
        point = (x, min(value, hull[-1][1]))
        while len(hull) > 1 and _slope(hull[-2], hull[-1]) >= _slope(hull[-1], point):
            hull.pop()
        hull.append(point)
    slopes = [_slope(a, b) for a, b in itertools.pairwise(hull)] + [fmpq(0)]
    found = [(hull[-1][1], fmpq(0)), (fmpq(0), 1 + slopes[0])]
    for (x, _), (left, right) in zip(hull[1:], itertools.pairwise(slopes), strict=True):
        found.append((x * (right - left), right - left))
    return rounded(found)


def _slope(one, other):
    return (other[1] - one[1]) / (other[0] - one[0])


def stated(guarantees):
    """The pair above all mechanisms with these (epsilon, delta), in both directions; attained."""
    points = []
    for epsilon, value in guarantees:
        x, d = exp(epsilon), fraction(value)
        points += [(x, d), (1 / x, 1 - (1 - d) / x)]
    return dominating(points)


def loss(outcome):
    """The logarithm of the likelihood ratio, as a float."""
    p, q = outcome
    if q == 0 or p == 0:
        return math.inf if q == 0 else -math.inf
    return float((arb(p) / arb(q)).log())


def by_ratio(pair):
    """Outcomes, the most telling first."""
    return sorted(pair, key=loss, reverse=True)


def rounded(pair):
    """The probabilities, to 256 bits."""
    with ctx.workprec(BITS):
        return [(fraction(arb(p)), fraction(arb(q))) for p, q in pair if p > 0 or q > 0]


def _tail_sums(pair):
    """Probabilities of the most telling outcomes: vertices of the largest power of any test."""
    first, second = fmpq(0), fmpq(0)
    found = [(second, first)]
    for p, q in by_ratio(pair):
        first, second = first + p, second + q
        if q == 0:
            found[-1] = (second, first)
        else:
            found.append((second, first))
    return found


def _power(vertices, level):
    """The power of the best test at a level, straight between vertices."""
    for (a, u), (b, v) in itertools.pairwise(vertices):
        if level <= b:
            return u if b == a else u + (v - u) * (level - a) / (b - a)
    return vertices[-1][1]


def chained(pair, size):
    """The pair of the ends of a chain of ``size`` neighbours, each two of which ``pair`` bounds.

    A test of level p_0 has at most the power f(p_0) on the next data set of the chain, f(f(p_0)) on
    the one after it, and so on. All of it is attained at once: nested tests, on a line.
    """
    step = _tail_sums(pair)
    vertices = step
    for _ in range(size - 1):
        levels = {a for a, _ in vertices}
        for target, _ in step:
            for (a, u), (b, v) in itertools.pairwise(vertices):
                if u < target < v:
                    levels.add(a + (target - u) * (b - a) / (v - u))
        vertices = [(a, _power(step, _power(vertices, a))) for a in sorted(levels)]
    found = [(vertices[0][1], fmpq(0))]
    found += [(v - u, b - a) for (a, u), (b, v) in itertools.pairwise(vertices)]
    return [(p, q) for p, q in found if p or q]


def together(ways):
    """Independent releases, one way each; not more outcomes than can be enumerated."""
    below = above = [(fmpq(1), fmpq(1))]
    for way in ways:
        below = _merged(rounded([(p * r, q * s) for p, q in below for r, s in way.below]))
        above = _connected(rounded([(p * r, q * s) for p, q in above for r, s in way.above]))
    return Way(below, above)


def _merged(pair, most=MOST_OUTCOMES):
    """Some outcomes taken for one, which tells less."""
    if len(pair) <= most:
        return pair
    ranked = by_ratio(pair)
    never = sum(1 for _, q in ranked if q == 0)
    cuts = {k * len(ranked) // most for k in range(most + 1)}
    groups = [ranked[a:b] for a, b in itertools.pairwise(sorted({*cuts, never}))]
    return [tuple(sum(side, fmpq(0)) for side in zip(*some, strict=True)) for some in groups]


def _connected(pair):
    """Delta at some places, connected by straight lines, which tells more."""
    if len(pair) <= MOST_OUTCOMES:
        return pair
    tails, points = _tail_sums(pair), []
    step = -(-len(tails) // MOST_OUTCOMES)
    for start in range(0, len(tails) - 1, step):
        some = tails[start : start + step + 1]
        # At the slope of a chord the best test is one of those between its ends.
        across, up = (some[-1][k] - some[0][k] for k in (0, 1))
        if across > 0:
            with ctx.workprec(BITS):
                x = fraction(arb(up) / arb(across))
            points.append((x, max(first - x * second for second, first in some)))
    return dominating(points)


def on_a_line(first, second, ratio, places):
    """A way from tails on a line along which the likelihood ratio rises: cut, or connected.

    ``first`` and ``second`` give the probabilities of what is right and left of a place.
    """
    with ctx.workprec(BITS):
        places = sorted(places)
        tails = [
            tuple(tuple(map(fraction, map(arb, of(t)))) for of in (first, second)) for t in places
        ]
        points = []
        for t, ((p, _), (q, _)) in zip(places, tails, strict=True):
            x = fraction(ratio(t))
            points.append((x, max(p - x * q, fmpq(0))))
    whole, none = fmpq(1), fmpq(0)
    ends = [((whole, none),) * 2, *tails, ((none, whole),) * 2]
    cells = [
        tuple(_between(*sides) for sides in zip(*two, strict=True))
        for two in itertools.pairwise(ends)
    ]
    return Way(rounded(cells), dominating(points))


def _between(one, other):
    """What is between two places, from the tails on the side where these are small."""
    return one[0] - other[0] if 2 * one[0] < 1 else other[1] - one[1]


# Primitive events.


def gaussians(weights, means, places=PLACES):
    """A mixture of Gaussians of variance 1 against the one at 0."""
    with ctx.workprec(BITS):
        means = [arb(mean) for mean in means]
        weights = [fraction(weight) for weight in weights]
        weights = [arb(w / sum(weights, fmpq(0))) for w in weights]
    middle = float(max(means)) / 2
    return on_a_line(
        lambda t: tuple(
            sum((w * tail for w, tail in zip(weights, side, strict=True)), arb(0))
            for side in zip(*(normal_tails(t - m) for m in means), strict=True)
        ),
        normal_tails,
        lambda t: sum(
            (w * (m * t - m * m / 2).exp() for w, m in zip(weights, means, strict=True)), arb(0)
        ),
        [t + middle for t in places],
    )


def laplace(distance):
    """Two Laplace distributions of scale 1, cut by their loss between -distance and distance."""
    d = arb(distance)
    return on_a_line(
        lambda k: (
            (1 - ((k - 1) * d / 2).exp() / 2, ((k - 1) * d / 2).exp() / 2) if k < 1 else (0, 1)
        ),
        lambda k: (
            ((-(k + 1) * d / 2).exp() / 2, 1 - (-(k + 1) * d / 2).exp() / 2) if k < 1 else (0, 1)
        ),
        lambda k: (k * d).exp(),
        [k / 8 for k in range(-8, 9)],
    )


def discrete(weight, distance, reach):
    """Two integer distributions in proportion to weight(abs(k)), up to ``reach`` from a centre."""
    with ctx.workprec(BITS):
        found = {k: fraction(weight(k)) for k in range(reach + 1)}
    total = 2 * sum(found.values(), fmpq(0)) - found[0]
    never = fmpq(0)
    pair = [
        (found.get(abs(k), never) / total, found.get(abs(k - distance), never) / total)
        for k in range(-reach, reach + distance + 1)
    ]
    # From below, outcomes that only one of the two truncated laws has are taken with others.
    ends = pair[: distance + 1], pair[-distance - 1 :]
    left, right = ([sum(side, fmpq(0)) for side in zip(*end, strict=True)] for end in ends)
    below = [tuple(left), *pair[distance + 1 : -distance - 1], tuple(right)]
    return Way(below, once(pair).above)


def discrete_laplace(scale, distance):
    """Outcomes at or beyond either centre tell the same: as many outcomes as are between."""
    a = exp(-1 / arb(scale))
    pair = [(1 / (1 + a), a**distance / (1 + a))]
    for k in range(1, distance):
        pair.append(((1 - a) / (1 + a) * a**k, (1 - a) / (1 + a) * a ** (distance - k)))
    return once([*pair, pair[0][::-1]])


def responses(event):
    p, k = fraction(event.noise_parameter), event.num_buckets
    return once(
        [(1 - p + p / k, p / k), (p / k, 1 - p + p / k), ((k - 2) * p / k, (k - 2) * p / k)]
    )


def options(chosen, distance, places):
    """Ways of choosing among two options whose scores' difference moves by ``distance``."""
    with ctx.workprec(BITS):
        above = stated([(float(distance) * (1 + 1e-12), 0.0)])
        found = []
        for place in places:
            one, other = chosen(place * distance), chosen((place - 1) * distance)
            one, other = fraction(one), fraction(other)
            found.append(Way([(one, other), (1 - one, 1 - other)], above))
    return found


def softmax(x):
    return 1 / (1 + (-x).exp())


def laplace_difference(x):
    """P(E + x > E') for exponential variables, which is a Laplace variable's distribution."""
    return 1 - (-x).exp() / 2 if x >= 0 else x.exp() / 2


def two_laplace_difference(x):
    tail = (2 + abs(x)) * (-abs(x)).exp() / 4
    return 1 - tail if x >= 0 else tail


_HALVES = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5)


def selection(event, size=1):
    if isinstance(event, rdpkit.Exponential | rdpkit.PermuteAndFlip):
        distance = arb(event.epsilon) * size / (2 if event.monotone_scores else 1)
        noise = "gumbel" if isinstance(event, rdpkit.Exponential) else "exponential"
    else:
        distance = arb(event.sensitivity) * size / arb(event.noise_scale)
        distance, noise = distance * (1 if event.monotone_scores else 2), event.noise
    chosen = {
        "gumbel": softmax,
        "exponential": laplace_difference,
        "laplace": two_laplace_difference,
    }
    return options(chosen[noise], distance, _HALVES)


def above_threshold(event, size=1):
    """One query: Laplace noise of two scales; from above its pure epsilon."""
    with ctx.workprec(BITS):
        s = arb(event.sensitivity) * size
        b, c = arb(event.threshold_noise_scale), arb(event.query_noise_scale)
        factor = event.most_above * (1 if event.monotone_queries else 2)
        above = stated([(float(s / b + factor * s / c) * (1 + 1e-12), 0.0)])

        def chosen(x):
            t = abs(x)
            tail = (c * c * (-t / c).exp() - b * b * (-t / b).exp()) / (2 * (c * c - b * b))
            return fraction(1 - tail if x >= 0 else tail)

        found = []
        for place in (-1.0, 0.0, 0.5, 1.0):
            one, other = chosen(place * s), chosen((place - 1) * s)
            found.append(Way([(one, other), (1 - one, 1 - other)], above))
    return found


def guaranteed(event, relation, points):
    """A replacement is a removal and an addition; otherwise another relation says nothing."""
    if event.adjacency is relation:
        return [once(stated(points))]
    if (event.adjacency, relation) == (ADDED, REPLACED):
        return [once(chained(stated(points), 2))]
    return [once(EVERYTHING)]


def concentrated(event):
    """From below a Gaussian of that rho; from above what Markov's inequality leaves possible.

    With the probability delta everything is told.
    """
    return together([once(stated([(0.0, event.delta)])), _without_delta(event)])


def _without_delta(event):
    if event.rho == 0.0:
        return once([(1, 1)])
    points = []
    for k in range(1, 40):
        epsilon = event.xi + event.rho + k * math.sqrt(event.rho) / 4
        x, value = exp(epsilon), exp(-arb(k * k) / 64)
        points += [(x, value), (1 / x, 1 - (1 - value) / x)]
    with ctx.workprec(BITS):
        return Way(gaussians([1.0], [(2 * arb(event.rho)).sqrt()]).below, dominating(points))


def renyi(event):
    """From below randomised response that has these divergences; from above Markov again."""
    points = []
    for order, value in zip(event.orders, event.values, strict=True):
        for k in range(1, 30) if math.isfinite(value) else ():
            x, d = exp(value + k / (2 * (order - 1))), exp(-k / 2)
            points += [(x, d), (1 / x, 1 - (1 - d) / x)]
    low, high = 0.0, 50.0
    for _ in range(40):
        middle = (low + high) / 2
        pair = stated([(middle, 0.0)])
        fits = all(
            divergence(pair, a) <= v for a, v in zip(event.orders, event.values, strict=True)
        )
        low, high = (middle, high) if fits else (low, middle)
    return Way(stated([(low, 0.0)]), dominating(points or [(fmpq(1), fmpq(1))]))


def divergence(pair, order):
    """The Renyi divergence of a pair, in floats."""
    if any(q == 0 for p, q in pair if p > 0):
        return math.inf
    with ctx.workprec(BITS):
        logs = [(arb(p).log(), arb(q).log()) for p, q in pair if p > 0]
        mean = sum(((arb(order) * a - (arb(order) - 1) * b).exp() for a, b in logs), arb(0))
        return float(mean.log() / (arb(order) - 1))


def length(event, relation):
    """How long the vector is by which a changed record moves a sum."""
    if relation is not REPLACED:
        return event.record_norm
    return 2 * event.record_norm if event.record_diameter is None else event.record_diameter


def noisy_sum(event, relation, size=1):
    moved = size * length(event, relation)
    if isinstance(event, rdpkit.Gaussian):
        return gaussians([1.0], [arb(moved) / arb(event.noise_std)])
    if isinstance(event, rdpkit.Laplace):
        return laplace(arb(moved) / arb(event.noise_scale))
    if isinstance(event, rdpkit.DiscreteLaplace):
        return discrete_laplace(event.noise_scale, int(moved))
    sigma = arb(event.sigma)
    return discrete(
        lambda k: (-((arb(k) / sigma) ** 2) / 2).exp(), int(moved), int(14 * event.sigma)
    )


# Samples.


def mixed(way, probability):
    """The record takes part with a probability; without it the second data set's law is seen."""
    q = fraction(probability)

    def mixture(pair):
        return [(q * p + (1 - q) * r, r) for p, r in pair]

    return Way(mixture(way.below), mixture(way.above))


def branched(pair, probability):
    """The record takes part with a probability, and it is seen whether it does."""
    q = fraction(probability)
    return [(q * p, q * r) for p, r in pair] + [(1 - q, 1 - q)]


def is_stated(event):
    """Whether an event is made of stated guarantees and randomised responses alone."""
    if isinstance(event, rdpkit.Composed):
        return all(map(is_stated, event.events))
    if isinstance(event, rdpkit.Repeated):
        return is_stated(event.event)
    return isinstance(event, rdpkit.EpsilonDelta | rdpkit.CustomProfile | rdpkit.RandomizedResponse)


SUMS = (rdpkit.Gaussian, rdpkit.Laplace, rdpkit.DiscreteLaplace, rdpkit.DiscreteGaussian)


def poisson(event, q, relation):
    inner = ways(event, relation)
    if relation is ADDED or (relation is ZEROED and isinstance(event, SUMS)):
        return [mixed(way, q) for way in inner]
    if is_stated(event):
        return [Way(branched(way.below, q), branched(way.above, q)) for way in inner]
    if not isinstance(event, SUMS) or relation is ZEROED:
        raise NotEnumeratedError(event)
    # A record becomes one at the origin, which adds nothing; from above it is seen who is drawn.
    near = dataclasses.replace(
        event, record_diameter=min(length(event, REPLACED), event.record_norm)
    )
    found = mixed(noisy_sum(near, REPLACED), q)
    return [Way(found.below, branched(inner[0].above, q))]


def fixed_size(event, relation):
    """One member is swapped for another one; from above it is seen whether it is drawn."""
    if event.sample_size == event.population_size:
        return ways(event.event, relation)
    if not isinstance(event.event, SUMS) and (
        relation is not REPLACED or not is_stated(event.event)
    ):
        raise NotEnumeratedError(event)
    q = event.sample_size / event.population_size
    # A sample of the smaller data set is one of the larger whose member is swapped.
    inside = ZEROED if relation is ZEROED else REPLACED
    return [Way(mixed(way, q).below, branched(way.above, q)) for way in ways(event.event, inside)]


def binomial(q, size):
    """The probabilities of 0, ..., size records in a sample: exact."""
    q = fraction(q)
    return [math.comb(size, k) * q**k * (1 - q) ** (size - k) for k in range(size + 1)]


# Everything.


def parallel(event, relation):
    """A record stays in its part, or leaves one for another: every pair of parts."""
    inside = ADDED if relation is ZEROED and not event.record_keeps_its_part else relation
    found = [way for part in event.events for way in ways(part, inside)]
    if relation is REPLACED and not event.record_keeps_its_part and len(event.events) > 1:
        ends = [ways(part, ADDED) for part in event.events]
        for left, joined in itertools.permutations(ends, 2):
            found += [together([a, b.reversed()]) for a in left for b in joined]
    return found


def group(event, size, relation):
    """What a chain of ``size`` neighbours tells: longer vectors, chains of tests, more records."""
    if isinstance(event, rdpkit.Group):
        return group(event.event, size * event.size, relation)
    if isinstance(event, rdpkit.Composed):
        parts = [group(part, size, relation) for part in event.events]
        return [together(chosen) for chosen in itertools.product(*parts)]
    if isinstance(event, rdpkit.Repeated):
        return [together([way] * event.count) for way in group(event.event, size, relation)]
    if isinstance(event, rdpkit.EpsilonDelta | rdpkit.CustomProfile):
        pair = chained(ways(event, relation)[0].below, size)
        return [Way(pair, pair)]
    if isinstance(event, rdpkit.RandomizedResponse):
        return [together([responses(event)] * size)]
    if isinstance(event, rdpkit.PoissonSampledGaussian) and relation is not REPLACED:
        z = arb(event.noise_std) / arb(event.record_norm)
        return [_binomial_gaussians(binomial(event.sampling_probability, size), z)]
    if isinstance(event, rdpkit.AboveThreshold):
        return above_threshold(event, size)
    if isinstance(event, rdpkit.Exponential | rdpkit.PermuteAndFlip | rdpkit.ReportNoisyMax):
        return selection(event, size)
    if type(event) in (rdpkit.Gaussian, rdpkit.Laplace, rdpkit.DiscreteLaplace):
        return [noisy_sum(event, relation, size)]
    raise NotEnumeratedError(event)


def _binomial_gaussians(weights, z):
    """As many records as the weights say, each of which moves a sum by 1 / z."""
    with ctx.workprec(BITS):
        return gaussians(weights, [k / z for k in range(len(weights))])


# Mechanisms of which one member is written out, and of which nothing is known here from above.

EVERYTHING = [(fmpq(1), fmpq(0)), (fmpq(0), fmpq(1))]


def member(way, count=1):
    """Independent runs of one mechanism; nothing is said from above."""
    return [Way(together([way] * count).below, EVERYTHING)]


def swapped(distance, noise, sample, population):
    """One record on one side, all others ``distance`` away; a sample of fixed size is summed."""
    return mixed(gaussians([1.0], [arb(distance) / arb(noise)]), fmpq(sample) / population)


def fixed_size_gaussian(event, relation):
    unit = 1 if event.release == "sum" else event.sample_size
    moved = length(event, REPLACED if relation is ADDED else relation) / unit
    way = swapped(moved, event.noise_std, event.sample_size, event.population_size)
    return member(way.reversed() if relation is ZEROED else way)


def class_means(event, relation):
    """Means of records of the smallest class, which are at opposite corners, or 0 and 1."""
    width = getattr(event, "feature_dimension", 0) ** 0.5
    diameter = width if width else 2 * event.clip_norm
    per_class, sizes = event.samples_per_class, event.class_sizes
    counts = [per_class] * len(sizes) if isinstance(per_class, int) else per_class
    size, count = min(zip(sizes, counts, strict=True))
    moved = diameter / event.order_of_mixture
    return member(swapped(moved, event.feature_noise, event.order_of_mixture, size), count)


def all_means(event, relation):
    """Features of ones against zeros, and another label, each divided by its noise."""
    labels = 1 if relation is ZEROED else 2
    square = event.feature_dimension / event.feature_noise**2 + labels / event.label_noise**2
    moved = square**0.5 / event.order_of_mixture
    way = swapped(moved, 1.0, event.order_of_mixture, event.population_size)
    return member(way.reversed() if relation is ZEROED else way, event.releases)


def class_sums(event, relation):
    """Sums over Poisson samples of the smallest class; one record is not at the origin."""
    norm = getattr(event, "clip_norm", None) or event.value_bound * event.dimension**0.5
    count = getattr(event, "iterations", None) or event.samples_per_class
    q = event.group_size / min(event.class_sizes)
    return member(mixed(gaussians([1.0], [arb(norm) / arb(event.noise_std)]), q), count)


def moved_by(vector_length, event):
    return member(gaussians([1.0], [arb(vector_length) / arb(event.noise_std)]))


def class_moments(event, relation):
    """A unit vector of one class and none, or an orthogonal one of another class."""
    weights = event.sum_weight, event.pooled_weight, event.class_weight, event.count_weight
    square = sum(w * w for w in weights)
    return moved_by((square * (2 if relation is REPLACED else 1)) ** 0.5, event)


def tree(event, relation):
    """How many complete subtrees hold the first step."""
    longest = max([event.steps] if isinstance(event.steps, int) else event.steps)
    if event.completed:
        longest = 2 ** math.ceil(math.log2(longest))
    nodes = sum(1 for k in range(64) if 2**k <= longest)
    return moved_by(nodes**0.5 * length(event, relation), event)


def factorized(event, relation):
    """The same record in every step it may be in, from the first one on, of a Toeplitz strategy."""
    if event.sampling_probability is not None:
        # The identity does not correlate steps: each has a sample and noise of its own.
        identity = tuple(float(k == j) for k in range(event.steps) for j in range(k + 1))
        if event.min_separation > 1 or event.matrix is None or tuple(event.matrix) != identity:
            raise NotEnumeratedError(event)
        step = rdpkit.PoissonSampledGaussian(
            noise_std=event.noise_std,
            record_norm=event.record_norm,
            sampling_probability=event.sampling_probability,
        )
        return ways(event.steps * step, relation)
    if event.coefficients is None:
        raise NotEnumeratedError(event)
    rows = [0.0] * event.steps
    turns = range(0, event.steps, event.min_separation)[: event.participations]
    for turn in turns:
        for k, c in enumerate(event.coefficients[: event.steps - turn]):
            rows[turn + k] += c
    return moved_by(sum(v * v for v in rows) ** 0.5 * length(event, relation), event)


def allocated(noise_multiplier, batches, presence=1, shares=1):
    """A record is in one of the batches, or in several, which at random, or in none."""
    cells = gaussians([1.0], [1 / arb(noise_multiplier)], [k / 2 for k in range(-8, 9)]).below
    pair = []
    for chosen in itertools.product(cells, repeat=batches):
        second = math.prod((q for _, q in chosen), start=fmpq(1))
        sets = list(itertools.combinations([p / q for p, q in chosen], shares))
        mean = second * sum(map(math.prod, sets), fmpq(0)) / len(sets)
        pair.append((presence * mean + (1 - presence) * second, second))
    return Way(pair, EVERYTHING)


def allocation(event, relation):
    """A record and another one in its place, or none; others need not be near it."""
    move = min(event.record_norm, length(event, relation))
    noise = arb(event.noise_std) / arb(move)
    return member(allocated(noise, event.batches, shares=event.batches_per_record))


def shuffled(event, relation):
    """All others are on the other side of the origin, or at it if the record becomes special."""
    moved = length(event, REPLACED if relation is ADDED else relation)
    batches = event.dataset_size // event.batch_size
    size = event.dataset_size
    if relation is ADDED and batches * event.batch_size == size:
        size += 1
    presence = fmpq(batches * event.batch_size) / size
    return member(allocated(arb(event.noise_std) / arb(moved), batches, presence))


def truncated(event, relation):
    """All others are at the origin; the record is among those that stay in the sample."""
    q, n = event.sampling_probability, event.population_size
    joined = binomial(q, n - 1)
    kept = sum(
        (w * min(fmpq(1), fmpq(event.max_batch_size) / (j + 1)) for j, w in enumerate(joined)),
        fmpq(0),
    )
    move = min(event.record_norm, length(event, REPLACED))
    way = gaussians([1.0], [arb(move) / arb(event.noise_std)])
    return member(mixed(way, fraction(q) * kept))


def user(event, relation):
    weights = binomial(event.sampling_probability, event.records_per_user)
    way = _binomial_gaussians(weights, arb(event.noise_std) / arb(event.record_norm))
    return [way]


def dpsgd(event, relation):
    """A gradient of the clipping norm and none, or its mirror image, in a Poisson sample."""
    if event.sampling != "poisson" or event.microbatch_size > 1 or event.examples_per_user > 1:
        raise NotEnumeratedError(event)
    batch = event.batch_size * event.accumulation_steps
    steps = event.steps or math.ceil(event.epochs * event.dataset_size / batch)
    q = fmpq(batch) / event.dataset_size
    return member(mixed(gaussians([1.0], [1 / arb(event.noise_multiplier)]), q), steps)


def normal_draws(variance, added, event, relation):
    """Records at both ends of [-1, 1] or as the variance says; one comes, goes or changes sides."""
    n = event.records
    place = math.sqrt(variance)
    other = [place * (-1) ** k for k in range(n - 1)]
    first, second = [*other, 1.0], [*other, -1.0] if relation is REPLACED else other
    laws = []
    for records in (first, second):
        mean = sum(records) / len(records)
        spread = sum((x - mean) ** 2 for x in records) / len(records) + added
        laws.append((mean, math.sqrt(spread)))
    (m, s), (k, r) = laws
    way = on_a_line(
        lambda t: normal_tails((t - m) / s),
        lambda t: normal_tails((t - k) / r),
        lambda t: arb(1),
        [j / 40 for j in range(-39, 40)],
    )
    return member(Way(way.below, EVERYTHING), event.outputs)


def first_good(event, relation):
    """The most telling outputs of one run, in either way, are good enough."""
    stop, found = fraction(event.stopping_probability), []
    for way in ways(event.event, relation):
        ranked = by_ratio(way.below)
        size = len(ranked)
        for first, last in itertools.product(
            range(1, size // 2 + 1), range(size // 2 + 1, size + 1)
        ):
            good = ranked[:first] + ranked[last:]
            sides = []
            for side in zip(*good, strict=True):
                whole = sum(side, fmpq(0))
                ended = stop + (1 - stop) * whole
                sides.append([*[one / ended for one in side], stop * (1 - whole) / ended])
            found.append(Way(rounded(zip(*sides, strict=True)), EVERYTHING))
    return found


def best_of_runs(event, relation):
    """The most telling output of a random number of runs."""
    found = []
    for way in ways(event.event, relation):
        # Either order of the outcomes may be the order of merit.
        for ranked in (by_ratio(way.below), by_ratio(way.below)[::-1]):
            with ctx.workprec(BITS):
                pair, below = [], (fmpq(0), fmpq(0))
                for one in ranked[::-1]:
                    upto = (below[0] + one[0], below[1] + one[1])
                    sides = zip(below, upto, strict=True)
                    pair.append(tuple(_of_runs(event, b) - _of_runs(event, a) for a, b in sides))
                    below = upto
            found.append(Way([(p, q) for p, q in pair if p > 0 or q > 0], EVERYTHING))
    return found


def _of_runs(event, s):
    """The mean of s^K for the number of runs K: Poisson, or geometric."""
    if math.isinf(event.shape):
        return fraction((arb(event.mean) * (arb(s) - 1)).exp())
    if event.shape != 1.0:
        raise NotEnumeratedError(event)
    g = 1 / fraction(event.mean)
    return g * s / (1 - (1 - g) * s)


# Partitions of a table, and the votes of teachers.


def selected(event, relation):
    """One partition for each that a person is in, with a few numbers of people in them."""
    epsilon = fraction(event.epsilon) / event.max_partitions
    with ctx.workprec(BITS):
        delta = fraction(1 - (1 - arb(event.delta)) ** (1 / arb(event.max_partitions)))
        grown, shrunk = exp(arb(epsilon)), exp(-arb(epsilon))
    kept = [fmpq(0)]
    while kept[-1] < 1 and len(kept) < 40:
        last = kept[-1]
        found = min(grown * last + delta, 1 - shrunk * (1 - last - delta), fmpq(1))
        kept.append(rounded([(found, found)])[0][0])
    pairs = [once([(b, a), (1 - b, 1 - a)]) for a, b in itertools.pairwise(kept)]
    several = itertools.combinations_with_replacement(pairs, event.max_partitions)
    left = [together(some) for some in several]
    if relation is not REPLACED:
        return left
    return [together([one, other.reversed()]) for one in left for other in left]


def thresholded(event, relation):
    """Of the partitions that change some have many others in them, and some nobody else."""
    with ctx.workprec(BITS):
        above = arb(event.threshold) - arb(event.max_per_partition)
        place = above / arb(event.noise_scale)
        alone = (
            normal_tails(place)[0] if event.noise == "gaussian" else 1 - laplace_difference(place)
        )
        moved = arb(event.max_per_partition) / arb(event.noise_scale)
    alone = once([(fraction(alone), fmpq(0)), (1 - fraction(alone), fmpq(1))])
    shared = gaussians([1.0], [moved]) if event.noise == "gaussian" else laplace(moved)
    kinds = itertools.combinations_with_replacement([alone, shared], event.max_partitions)
    left = [together(some) for some in kinds]
    if relation is not REPLACED:
        return left
    return [together([one, other.reversed()]) for one in left for other in left]


def staircase(event, relation):
    """Densities of steps, of which both are constant between places where either changes."""
    with ctx.workprec(BITS):
        e = arb(event.epsilon)
        gamma = 1 / (1 + (e / 2).exp()) if event.gamma is None else arb(event.gamma)
        gamma, fallen = fraction(gamma), exp(-e)
    reach = 60

    def height(x):
        whole = abs(x).floor()
        return fallen ** (int(whole) + (abs(x) - whole >= gamma))

    own = itertools.product((1, -1), range(reach), (fmpq(0), gamma))
    places = {sign * (k + more) for sign, k, more in own}
    places = sorted({*places, *(place + 1 for place in places)})
    pair = []
    for a, b in itertools.pairwise(places):
        middle = (a + b) / 2
        pair.append(((b - a) * height(middle), (b - a) * height(middle - 1)))
    total = sum((p for p, _ in pair), fmpq(0))
    return [once(rounded([(p / total, q / total) for p, q in pair]))]


def truncated_laplace(event, relation):
    """Cells of a line, and what is beyond the reach of one of the two."""
    with ctx.workprec(BITS):
        b = arb(event.noise_scale)
        d, far = arb(length(event, relation)) / b, arb(event.noise_limit) / b
        t = (-far).exp() / 2

        def upto(x):
            if abs(x) >= far:
                return arb(1 if x > 0 else 0)
            smaller = ((-abs(x)).exp() / 2 - t) / (1 - 2 * t)
            return smaller if x < 0 else 1 - smaller

        inside = [d - far + (2 * far - d) * k / 40 for k in range(41)]
        places = [-far - 1, *inside, far + d + 1]
        tails = [(fraction(upto(x)), fraction(upto(x - d))) for x in places]
    pair = [(u - p, v - q) for (p, q), (u, v) in itertools.pairwise(tails)]
    first, *middle, last = pair
    return member(once([(first[0], fmpq(0)), *middle, (fmpq(0), last[1])]))


def skellam(event, relation):
    """One coordinate; the difference of two Poisson variables, summed over one of them."""
    half = arb(event.variance) / 2
    with ctx.workprec(BITS):
        poisson = [(-half).exp()]
        for k in range(1, 120):
            poisson.append(poisson[-1] * half / k)
        reach = 60
        law = [
            sum((poisson[j] * poisson[j + k] for j in range(119 - k)), arb(0))
            for k in range(reach + 1)
        ]
    return [discrete(lambda k: law[k], int(length(event, relation)), reach)]


def bounded_laplace(event, relation):
    """Cells of the range, for numbers at its end or around its middle."""
    with ctx.workprec(BITS):
        b = arb(event.noise_scale)
        width = (arb(event.maximum) - arb(event.minimum)) / b
        moved = (arb(event.sensitivity) / b).min(width)
        found = []
        for place in (arb(0), (width - moved) / 2):
            sides = []
            places = [width * k / 1000 for k in range(1001)]
            for centre in (place, place + moved):
                heights = [
                    (x - centre).exp() / 2 if x < centre else 1 - (centre - x).exp() / 2
                    for x in places
                ]
                whole = heights[-1] - heights[0]
                sides.append([fraction((v - u) / whole) for u, v in itertools.pairwise(heights)])
            found.append(Way(rounded(zip(*sides, strict=True)), EVERYTHING))
    return found


def many_clients(event, relation):
    """One coordinate; everybody's noise added up, and whatever is far out taken together."""
    sigma, n = arb(event.sigma), event.clients
    reach = int(9 * event.sigma) + 2
    with ctx.workprec(BITS):
        weights = [(-((arb(k) / sigma) ** 2) / 2).exp() for k in range(-reach, reach + 1)]
        one = arb_poly([w / sum(weights, arb(0)) for w in weights]) ** n
        law = [fraction(one[k]) for k in range(2 * reach * n + 1)]
    moved = int(length(event, relation))
    far = [fmpq(0)] * moved
    pair = list(zip([*law, *far], [*far, *law], strict=True))
    cut = [pair[: moved + 1], *[[one] for one in pair[moved + 1 : -moved - 1]], pair[-moved - 1 :]]
    cells = [tuple(sum(side, fmpq(0)) for side in zip(*some, strict=True)) for some in cut]
    return member(once(rounded(cells)))


def gaussian_above_threshold(event, relation):
    """One query, whose noise and that of the threshold add up."""
    with ctx.workprec(BITS):
        std = (arb(event.threshold_noise_std) ** 2 + arb(event.query_noise_std) ** 2).sqrt()
        moved = arb(event.sensitivity) / std
        places = [arb(k) / 2 for k in range(-8, 9)]
        ways = options(lambda x: normal_tails(-x)[0], moved, places)
    return [member(way)[0] for way in ways]


def top_options(event, relation):
    """Many options of two kinds; the kinds of those that are chosen, one after the other."""
    many, moved = 30, 1 if event.monotone_scores else 2
    distance = arb(event.sensitivity) * moved / arb(event.noise_scale)
    found = []
    for place in _HALVES:
        sides = []
        for x in (place * distance, (place - 1) * distance):
            odds, outcomes = exp(x), {(0, 0): fmpq(1)}
            for _ in range(event.options):
                after = {}
                for (a, b), mass in outcomes.items():
                    one = (many - a) * odds
                    share = one / (one + many - b)
                    after[a + 1, b] = after.get((a + 1, b), fmpq(0)) + mass * share
                    after[a, b + 1] = after.get((a, b + 1), fmpq(0)) + mass * (1 - share)
                outcomes = after
            sides.append(outcomes)
        pair = [(sides[0][key], sides[1][key]) for key in sides[0]]
        found.append(Way(rounded(pair), EVERYTHING))
    return found


def votes(event, relation):
    """Two classes between which one vote moves; with the largest number of votes, if it is seen."""
    with ctx.workprec(BITS):
        b = arb(event.noise_scale)
        if event.noise == "gaussian":
            distance, chosen = arb(2).sqrt() / b, lambda x: normal_tails(-x)[0]
        else:
            distance, chosen = 2 / b, two_laplace_difference
    ways = [way for place in _HALVES for way in options(chosen, distance, [place])]
    return [member(way, event.queries)[0] for way in ways]


def with_replacement(event, relation):
    """All others are at one place, and the record at another as often as it was drawn."""
    moved = length(event, relation)
    if relation is ZEROED and event.record_diameter is not None:
        moved = min(moved, event.record_diameter)
    weights = binomial(event.largest_share, event.draws)
    return [Way(_binomial_gaussians(weights, arb(event.noise_std) / arb(moved)).below, EVERYTHING)]


def tests_between(event, relation):
    """From below straight lines between points that mirror each other, from (0, 1) to (1, 0)."""
    if event.adjacency is not relation:
        raise NotEnumeratedError(event)
    rates = [fraction(v) for v in (0.0, *event.false_positive_rates, 1.0)]
    misses = [fraction(v) for v in (1.0, *event.false_negative_rates, 0.0)]
    pair = []
    for k in range(len(rates) - 1):
        pair.append((misses[k] - misses[k + 1], rates[k + 1] - rates[k]))
    return [Way(once(pair).below, EVERYTHING)]


MEANINGS = {
    rdpkit.EpsilonDelta: lambda e, r: guaranteed(e, r, [(e.epsilon, e.delta)]),
    rdpkit.CustomProfile: lambda e, r: guaranteed(e, r, zip(e.epsilons, e.deltas, strict=True)),
    rdpkit.ZeroConcentrated: lambda e, r: [concentrated(e)],
    rdpkit.CustomRdp: lambda e, r: [renyi(e)],
    rdpkit.RandomizedResponse: lambda e, r: [responses(e)],
    rdpkit.Gaussian: lambda e, r: [noisy_sum(e, r)],
    rdpkit.Laplace: lambda e, r: [noisy_sum(e, r)],
    rdpkit.DiscreteLaplace: lambda e, r: [noisy_sum(e, r)],
    rdpkit.DiscreteGaussian: lambda e, r: [noisy_sum(e, r)],
    rdpkit.MixtureOfGaussians: lambda e, r: [
        gaussians(e.probabilities, [arb(s) / arb(e.noise_std) for s in e.sensitivities])
    ],
    rdpkit.Exponential: lambda e, r: selection(e),
    rdpkit.PermuteAndFlip: lambda e, r: selection(e),
    rdpkit.ReportNoisyMax: lambda e, r: selection(e),
    rdpkit.AboveThreshold: lambda e, r: above_threshold(e),
    rdpkit.RepeatAndSelect: best_of_runs,
    rdpkit.GaussianAboveThreshold: gaussian_above_threshold,
    rdpkit.FirstAboveThreshold: first_good,
    rdpkit.TopOptions: top_options,
    rdpkit.DistributedDiscreteGaussian: many_clients,
    rdpkit.Skellam: skellam,
    rdpkit.BoundedLaplace: bounded_laplace,
    rdpkit.PartitionSelection: selected,
    rdpkit.ThresholdedCounts: thresholded,
    rdpkit.TeacherVotes: votes,
    rdpkit.Staircase: staircase,
    rdpkit.TruncatedLaplace: truncated_laplace,
    rdpkit.CanonicalNoise: lambda e, r: [once(stated([(e.epsilon, e.delta)]))],
    rdpkit.CustomTradeoff: tests_between,
    rdpkit.SampledWithReplacementGaussian: with_replacement,
    rdpkit.Composed: lambda e, r: [
        together(chosen) for chosen in itertools.product(*(ways(part, r) for part in e.events))
    ],
    rdpkit.Repeated: lambda e, r: [together([way] * e.count) for way in ways(e.event, r)],
    rdpkit.Parallel: parallel,
    rdpkit.Group: lambda e, r: group(e.event, e.size, r),
    rdpkit.PoissonSampled: lambda e, r: poisson(e.event, e.sampling_probability, r),
    rdpkit.PoissonSampledGaussian: lambda e, r: poisson(
        rdpkit.Gaussian(
            noise_std=e.noise_std, record_norm=e.record_norm, record_diameter=e.record_diameter
        ),
        e.sampling_probability,
        r,
    ),
    rdpkit.FixedSizeSampled: fixed_size,
    rdpkit.FixedSizeSampledGaussian: fixed_size_gaussian,
    rdpkit.DPCDA: class_means,
    rdpkit.events.ClassWiseDPMix: class_means,
    rdpkit.DPMix: all_means,
    rdpkit.LDPDC: class_sums,
    rdpkit.NDPDC: class_sums,
    rdpkit.events.ClassMoments: class_moments,
    rdpkit.TreeAggregation: tree,
    rdpkit.MatrixFactorization: factorized,
    rdpkit.events.RandomAllocationGaussian: allocation,
    rdpkit.events.ShuffledGaussian: shuffled,
    rdpkit.events.TruncatedPoissonGaussian: truncated,
    rdpkit.events.UserSampledGaussian: user,
    rdpkit.DPSGD: dpsgd,
    rdpkit.GaussianSynthesis: lambda e, r: normal_draws(e.min_eigenvalue * 1.1, 0.0, e, r),
    rdpkit.events.RegularisedSynthesis: lambda e, r: normal_draws(0.0, e.added_variance, e, r),
}
"""What each kind of event stands for: a function of the event and the relation."""


def ways(event, relation):
    """All ways in which a changed record matters, each enclosed by two pairs."""
    if type(event) not in MEANINGS:
        raise NotEnumeratedError(type(event).__name__)
    return MEANINGS[type(event)](event, relation)


def truth(found, epsilon):
    """Two numbers that enclose the largest delta at epsilon, over all ways and both directions."""
    x = exp(epsilon)
    both = [side for way in found for side in (way, way.reversed())]
    low = max(delta(side.below, x) for side in both)
    high = max(delta(side.above, x) for side in both)
    return low, min(high, fmpq(1))


FEW = 8


def adaptive(event, relation, epsilon):
    """Delta from below if partitions are chosen after the outputs before them.

    Of two releases and a few ways of each; outputs are taken together until few are left, so that
    every choice can be tried.
    """
    if isinstance(event, rdpkit.Repeated):
        fixed, stages = event.same_partition, [event.event] * 2
    else:
        fixed, stages = False, list(getattr(event, "events", ()))[:2]
    if fixed or isinstance(event, rdpkit.Parallel) or not any(map(_is_chosen, stages)):
        return fmpq(0)
    x, best = exp(epsilon), fmpq(0)
    for order in itertools.permutations(stages):
        choices = [ways(stage, relation)[:FEW] for stage in order]
        # Only a partition may be chosen late: other ways are those of one member.
        for side in (Way.reversed, lambda way: way):
            pairs = [[_merged(side(way).below, FEW) for way in several] for several in choices]
            best = max(best, _chosen(fmpq(1), fmpq(1), x, pairs))
    return best


def _is_chosen(event):
    return isinstance(event, rdpkit.Parallel) and not event.fixed_partition


def _chosen(p, q, x, choices):
    """The largest delta after outputs of probabilities p and q, over the choices that are left."""
    if not choices:
        return max(p - x * q, fmpq(0))
    return max(
        sum((_chosen(p * a, q * b, x, choices[1:]) for a, b in pair), fmpq(0))
        for pair in choices[0]
    )
