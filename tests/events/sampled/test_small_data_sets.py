"""Small data sets on a line, of which every sample is enumerated: none leaks more than is printed.

What is seen is in which cell a noisy sum lies, which tells no more than the sum, so that deltas
are compared without a tolerance.
"""

import itertools
import math
from collections import Counter
from functools import partial

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import laplace

import rdpkit
from rdpkit import Adjacency
from rdpkit.accountants.event_tree import UpperBounds
from tests.events import unit

ADDED, REPLACED, ZEROED = Adjacency


def of(samples):
    """Sums with their probabilities, from samples with theirs."""
    found = Counter()
    for members, weight in samples:
        found[sum(members)] += weight
    return found


def poisson(q, records):
    for joined in itertools.product((0, 1), repeat=len(records)):
        k = sum(joined)
        members = [r for r, j in zip(records, joined, strict=True) if j]
        yield members, q**k * (1 - q) ** (len(records) - k)


def fixed(size, records, unit=1):
    every = list(itertools.combinations(records, size))
    for members in every:
        yield [r * unit for r in members], 1 / len(every)


def with_replacement(draws, records):
    for members in itertools.product(records, repeat=draws):
        yield members, len(records) ** -draws


def cut(q, largest, records):
    for members, weight in poisson(q, records):
        kept = list(itertools.combinations(members, min(largest, len(members))))
        for some in kept:
            yield some, weight / len(kept)


def masses(law, noise, cdf):
    """Of cells, which are finer than the noise by far, and of what is beyond them."""
    edges = np.linspace(-7.0, 7.0, 141)[:, None]
    upto = cdf((edges - [*law]) / noise) @ [*law.values()]
    return np.diff(upto, prepend=0.0, append=1.0)


def data_sets(adjacency, others, diameter, size=1):
    """All others at one place, and who comes, goes or changes as far as may be from them."""
    places = {1.0, 0.0, -1.0, max(1.0 - diameter, -1.0)}
    for at, new in itertools.product(places, {0.0} if adjacency is ZEROED else places):
        known = [1.0, at] if others else [1.0]
        known += [new] if adjacency is REPLACED else []
        if max(known) - min(known) <= diameter:
            rest, left = [at] * others, [] if adjacency is ADDED else [new] * size
            yield [*rest, *[1.0] * size], [*rest, *left]


ONE = {"record_norm": 1.0}
GAUSS, LAPLACE = partial(masses, cdf=ndtr), partial(masses, cdf=laplace.cdf)
REPEATED = partial(rdpkit.SampledWithReplacementGaussian, **ONE, noise_std=1.0)
FIXED = rdpkit.FixedSizeSampled
CASES = {
    "poisson": (unit.poisson(1.0, 0.5), partial(poisson, 0.5), 0),
    "poisson-near": (unit.poisson(1.0, 0.5, record_diameter=1.75), partial(poisson, 0.5), 0),
    "poisson-far": (unit.poisson(1.0, 0.5, record_diameter=0.5), partial(poisson, 0.5), 0),
    "poisson-laplace": (
        rdpkit.PoissonSampled(event=unit.laplace(1.0), sampling_probability=0.5),
        partial(poisson, 0.5),
        0,
    ),
    "poisson-gaussian": (
        rdpkit.PoissonSampled(event=unit.gaussian(1.0), sampling_probability=0.5),
        partial(poisson, 0.5),
        0,
    ),
    "fixed": (unit.fixed_size(1.0, 1, 2), partial(fixed, 1), 1),
    "fixed-middle": (unit.fixed_size(1.0, 1, 2, record_diameter=1.5), partial(fixed, 1), 1),
    "fixed-near": (unit.fixed_size(1.0, 1, 2, record_diameter=1.0), partial(fixed, 1), 1),
    "fixed-close": (unit.fixed_size(1.0, 1, 2, record_diameter=0.5), partial(fixed, 1), 1),
    "fixed-mean": (
        rdpkit.FixedSizeSampledGaussian(
            **ONE, noise_std=1.0, sample_size=2, population_size=3, release="mean",
            record_diameter=1.0,
        ),
        partial(fixed, 2, unit=0.5),
        2,
    ),
    "fixed-gaussian": (
        FIXED(event=unit.gaussian(1.0), sample_size=2, population_size=3), partial(fixed, 2), 2
    ),
    "fixed-laplace": (
        FIXED(event=unit.laplace(1.0), sample_size=1, population_size=2), partial(fixed, 1), 1
    ),
    "one-batch": (unit.shuffled(1.0, 2, 3), partial(fixed, 2), 2),
    "replacement": (REPEATED(draws=3, largest_share=0.5), partial(with_replacement, 3), 1),
    "replacement-near": (
        REPEATED(draws=2, largest_share=0.5, record_diameter=0.5), partial(with_replacement, 2), 1
    ),
    "replacement-all": (REPEATED(draws=2, largest_share=1.0), partial(with_replacement, 2), 0),
    "replacement-once": (REPEATED(draws=1, largest_share=0.5), partial(with_replacement, 1), 1),
    "cut": (unit.truncated(1.0, 0.9, 1, 3), partial(cut, 0.9, 1), 2),
    "cut-near": (unit.truncated(1.0, 0.9, 1, 3, record_diameter=0.5), partial(cut, 0.9, 1), 2),
    "cut-always": (unit.truncated(1.0, 1.0, 1, 3), partial(cut, 1.0, 1), 2),
    "group": (rdpkit.Group(event=unit.poisson(1.0, 0.5), size=3), partial(poisson, 0.5), 0),
    "group-of-all": (
        rdpkit.Group(event=unit.poisson(1.0, 1.0, record_diameter=1.5), size=2),
        partial(poisson, 1.0),
        0,
    ),
    "users": (
        rdpkit.UserSampledGaussian(
            **ONE, noise_std=1.0, sampling_probability=1.0, records_per_user=2
        ),
        partial(poisson, 1.0),
        0,
    ),
}  # fmt: skip


def rdp(event, orders, adjacency):
    return UpperBounds().rdp(event, np.array(orders), adjacency).tolist()


def relations(event):
    expanded = event.expand() or event
    return [one for one in Adjacency if one in expanded.adjacencies]


@pytest.mark.parametrize(
    ("name", "adjacency"),
    [(name, one) for name, case in CASES.items() for one in relations(case[0])],
    ids=str,
)
def test_no_small_data_set_leaks_more(name, adjacency):
    event, samples, others = CASES[name]
    inside = getattr(event, "event", event)
    cells = LAPLACE if isinstance(inside, rdpkit.Laplace) else GAUSS
    diameter = getattr(inside, "record_diameter", None) or 2.0
    size = getattr(event, "records_per_user", getattr(event, "size", 1))
    pairs = [
        [cells(of(samples(records)), 1.0) for records in sides]
        for sides in data_sets(adjacency, others, diameter, size)
    ]
    orders = [2.0, 8.0]
    for order, printed in zip(orders, rdp(event, orders, adjacency), strict=True):
        for one, two in (*pairs, *(pair[::-1] for pair in pairs)):
            # Floats do not say what less likely cells have.
            seen = np.minimum(one, two) > 1e-9
            moment = np.sum(two[seen] * (one[seen] / two[seen]) ** order)
            assert math.log(moment) / (order - 1.0) <= printed * (1.0 + 1e-6)
    for epsilon in (0.3, 1.0, 3.0):
        printed = rdpkit.delta(event, epsilon=epsilon, adjacency=adjacency).delta
        for one, two in (*pairs, *(pair[::-1] for pair in pairs)):
            assert np.maximum(one - math.exp(epsilon) * two, 0.0).sum() <= printed
