"""Sparse vectors by brute force: all answers to short streams, and the streams of lower bounds."""

import math
from itertools import product

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import rdpkit
from rdpkit import Adjacency
from rdpkit.bounds.selection import above_threshold, gaussian_above_threshold
from rdpkit.events.selection import above_threshold as streams
from tests.bounds.strategies import log_uniform

RELATION = Adjacency.REPLACE_ONE
LAWS = {"laplace": stats.laplace, "normal": stats.norm}


def answers(law, scales, queries, most):
    """Probabilities of all sequences of answers, the threshold integrated over."""
    at = np.linspace(-22.0 * scales[0], 22.0 * scales[0], 20_001)
    weights = law.pdf(at, scale=scales[0])
    weights /= weights.sum()
    above = [law.sf(at - query, scale=scales[1]) for query in queries]
    found = []
    for told in product((False, True), repeat=len(queries)):
        chance = np.ones_like(at)
        for k, yes in enumerate(told):
            if sum(told[:k]) == most:
                # It ended; what would follow is one sequence.
                chance = chance * (not yes)
            else:
                chance = chance * (above[k] if yes else 1.0 - above[k])
        found.append(float(weights @ chance))
    return np.array(found)


def event_of(name, scales, moves, more):
    """A sparse vector with either noise."""
    one, other = scales
    if name == "laplace":
        return rdpkit.AboveThreshold(
            threshold_noise_scale=one, query_noise_scale=other, sensitivity=1.0, **more
        )
    return rdpkit.GaussianAboveThreshold(
        threshold_noise_std=one,
        query_noise_std=other,
        sensitivity=1.0,
        queries=len(moves),
        **more,
    )


def both_sides(name, scales, moves, event):
    """Probabilities of all answers to a stream, and to the same one with queries that move."""
    before = [query for query, _ in moves]
    after = [query + (1 if event.monotone_queries else move) for query, move in moves]
    one, two = (answers(LAWS[name], scales, some, event.most_above) for some in (before, after))
    return (one, two), (two, one)


NAMES = ["laplace", pytest.param("normal", marks=pytest.mark.thorough)]
SCALES = st.tuples(log_uniform(0.7, 5.0), log_uniform(0.7, 8.0))
MOVES = st.lists(st.tuples(st.floats(-3.0, 3.0), st.sampled_from([-1, 1])), min_size=1, max_size=5)
MORE = st.fixed_dictionaries({"most_above": st.integers(1, 3), "monotone_queries": st.booleans()})


@pytest.mark.thorough
@settings(max_examples=6, deadline=None)
@given(st.sampled_from([*LAWS]), SCALES, MOVES, MORE)
def test_no_short_stream_leaks_more(name, scales, moves, more):
    event = event_of(name, scales, moves, more)
    for epsilon in (0.05, 0.5, 1.5):
        above = rdpkit.delta(event, epsilon=epsilon, adjacency=RELATION).delta
        below = rdpkit.lower_bound(event, epsilon=epsilon, adjacency=RELATION)[0].delta
        assert below <= above * (1 + 1e-9)
        for p, q in both_sides(name, scales, moves, event):
            assert np.maximum(p - math.exp(epsilon) * q, 0.0).sum() <= above + 1e-6


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=15, deadline=None)
@given(SCALES, MOVES, MORE, log_uniform(0.05, 20.0))
def test_divergences_of_short_streams(name, scales, moves, more, order):
    event = event_of(name, scales, moves, more)
    theorem = above_threshold if name == "laplace" else gaussian_above_threshold
    bound = theorem.BOUND.rdp(event, np.array([1.0 + order]), RELATION)[0]
    for sides in both_sides(name, scales, moves, event):
        p, q = (np.log(np.maximum(side, 1e-300)) for side in sides)
        found = math.log(np.exp(p + order * (p - q)).sum()) / order
        assert found <= bound * (1 + 1e-6) + 1e-6


def largest_v(a, falls, rises, queries):
    """Log V query by query, over a line of x, by SciPy."""
    x = np.linspace(-60.0, 60.0, 6_001)
    logs, v = [], 0.0
    for d in (falls, -rises):
        one = a * stats.norm.logsf(x) - (a - 1.0) * stats.norm.logsf(x + d)
        other = a * stats.norm.logcdf(x) - (a - 1.0) * stats.norm.logcdf(x + d)
        logs.append((one, other))
    for _ in range(queries):
        v += max(float(np.logaddexp(hit - v, miss).max()) for hit, miss in logs)
    return v


@pytest.mark.parametrize("a", [1.1, 2.0, 7.5, 30.0])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
@pytest.mark.parametrize(("unit", "queries"), [(0.5, 1), (0.5, 100), (0.02, 100), (1.5, 4)])
def test_many_queries_with_gaussian_noise_are_asked_one_by_one(a, share, unit, queries):
    event = rdpkit.GaussianAboveThreshold(
        threshold_noise_std=1.0,
        query_noise_std=1.0 / unit,
        sensitivity=1.0,
        queries=queries,
        most_above=3,
    )
    found = gaussian_above_threshold._moved(event, a, share, math.inf)
    falls, rises = (1.0 + share) * unit, (1.0 - share) * unit
    assert math.isinf(found) == ((a - 1.0) * falls > 30.0)
    exact = 0.5 * a * share**2
    exact += 3.0 * largest_v(a, falls, rises, queries) / (a - 1.0)
    assert found >= exact * (1 - 1e-9)
    # Where queries hardly tell anything, at low orders, cells are too wide for what they do.
    if not math.isinf(found) and (unit > 0.1 or a > 5.0):
        assert found <= 1.15 * exact


@settings(max_examples=25, deadline=None)
@given(log_uniform(0.02, 60.0), log_uniform(0.01, 1.5), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_no_query_is_worse_than_those_in_the_middle(order, fall, rise, share):
    """What one answer costs, at any value of a query that moves by anything in between."""
    a, d = 1.0 + order, fall * (share * (1.0 + rise) - rise)
    ends = [above_threshold._log_ratio(arb(a), arb(x)) for x in (fall, -rise * fall)]
    x = np.linspace(-30.0, 30.0, 4001)
    p, q, rest, other = (stats.laplace.logsf(x), stats.laplace.logsf(x + d),
                         stats.laplace.logcdf(x), stats.laplace.logcdf(x + d))  # fmt: skip
    missed = -np.expm1(a * rest + (1.0 - a) * other)
    if math.isfinite(max(ends)):
        assert np.all(missed > -1e-14)
        sure = missed > 1e-9
        ratios = a * p[sure] + (1.0 - a) * q[sure] - np.log(missed[sure])
        assert ratios.max() <= max(ends) * (1 + 1e-6) + 1e-6


def race(stream, noises, drop, count, at):
    """What ways to the last answer have by query after query, given the threshold."""
    state = np.zeros((stream.above + 1, stream.above + 1, at.size))
    state[0, 0] = 1.0
    ours = stats.laplace.sf((at - stream.place + drop) / noises.ratio)
    theirs = stats.laplace.sf((at - stream.place - stream.gap) / noises.ratio)
    found = {}
    for asked in range(1, count + 1):
        first = asked % (stream.each + 1) == 0
        one, moved = (ours, (1, 0)) if first else (theirs, (0, 1))
        after = state * (1.0 - one)
        for i, j in product(range(stream.above), repeat=2):
            after[i + moved[0], j + moved[1]] += state[i, j] * one
        for i in range(stream.above + 1):
            found[asked, i] = after[i, stream.above - i].copy()
            after[i, stream.above - i] = 0.0
        state = after
    return found


@settings(max_examples=15, deadline=None)
@given(
    log_uniform(0.8, 6.0),
    log_uniform(0.05, 1.0),
    st.booleans(),
    st.builds(
        streams.Stream,
        first=st.sampled_from([0, 1, 20]),
        centre=st.floats(-2.0, 3.0),
        place=st.floats(-1.0, 1.0),
        above=st.integers(1, 4),
        gap=st.floats(-1.0, 1.0),
        each=st.integers(0, 3),
    ),
)
def test_races_have_these_probabilities(ratio, moved, both_ways, stream):
    noises = streams.Noises(
        law=streams.laplace,
        ratio=ratio,
        moved=moved,
        both_ways=both_ways,
    )
    powers, logs = streams._ways(stream.above, stream.each)
    # Without other queries there is one way for each number of them.
    asked, won = powers.sum(axis=1), powers[:, 0]
    assert np.all(powers[:, 0] + powers[:, 2] == stream.above)
    found = streams._of_ways(noises, stream, 0.05 * ratio, 16, (powers, logs))
    at = np.linspace(-20.0, 20.0, 2001)
    low = stats.laplace.ppf(0.5 ** (1.0 / stream.first)) * ratio if stream.first else 0.0
    passed = stats.laplace.cdf((at - stream.centre + low) / ratio) ** stream.first
    sides = []
    for ours, shift, drop in zip(found, (0.0, moved), (0.0, moved * (1 + both_ways)), strict=True):
        weights = stats.laplace.pdf(at + shift) * passed * 0.02
        exact = {way: one @ weights for way, one in race(stream, noises, drop, 40, at).items()}
        told = dict(zip(zip(asked, won, strict=True), ours, strict=True))
        for way, chance in exact.items():
            assert told.get(way, 0.0) == pytest.approx(chance, rel=2e-3, abs=1e-5)
        sides.append(ours)
    # Events of some of these ways, the most telling ones first.
    p, q = streams.probabilities(noises, stream)
    order = np.argsort(-(sides[0] / sides[1]))
    hull = [np.concatenate([[0.0], side[order].cumsum()]) for side in sides]
    assert np.all(p <= np.interp(q, hull[1], hull[0]) + 1e-9)
    assert hull[0][-1] - 1e-5 <= p[0] <= hull[0][-1]
    assert hull[1][-1] <= q[0] * (1 + 1e-12) + 1e-9


def test_hulls_are_below_the_points_that_they_are_made_of():
    p, q = np.array([0.9, 0.6, 0.5, 0.1]), np.array([0.8, 0.5, 0.2, 1e-3])
    first, second = streams.outcomes(p, q)
    assert (sum(first), sum(second)) == pytest.approx((1.0, 1.0), rel=1e-15)
    ratios = [x / y for x, y in zip(first, second, strict=True)]
    assert ratios == sorted(ratios, reverse=True)
    corners = set(zip(np.cumsum(second).round(12), np.cumsum(first).round(12), strict=True))
    assert corners == {(1e-3, 0.1), (0.2, 0.5), (0.8, 0.9), (1.0, 1.0)}


@settings(max_examples=15, deadline=None)
@given(
    st.sampled_from(["laplace", "normal"]),
    log_uniform(0.5, 6.0),
    log_uniform(0.05, 1.0),
    st.booleans(),
    st.builds(
        streams.Stream,
        first=st.sampled_from([0, 1, 20]),
        centre=st.floats(-2.0, 3.0),
        place=st.floats(-3.0, 3.0),
        above=st.integers(1, 4),
        missed=st.integers(0, 3),
    ),
)
def test_streams_have_these_probabilities(name, ratio, moved, both_ways, stream):
    """In the queries' own coordinates: those below rise, and the others fall or stay."""
    law, noise = LAWS[name], {"laplace": streams.laplace, "normal": streams.normal}[name]
    noises = streams.Noises(law=noise, ratio=ratio, moved=moved, both_ways=both_ways)
    at = np.linspace(-24.0, 24.0, 40_001)
    weights = law.pdf(at) / law.pdf(at).sum()
    root = law.ppf(0.5 ** (1.0 / stream.first)) * ratio if stream.first else 0.0

    def chance(rise, fall):
        low = law.cdf(at - (stream.centre - root) - rise, scale=ratio) ** stream.first
        one = np.maximum(law.sf(at - stream.place + fall, scale=ratio), 1e-300)
        enough = stats.nbinom.cdf(stream.missed, stream.above, one)
        return float(weights @ (low * enough))

    exact = chance(0.0, 0.0), chance(moved, moved if both_ways else 0.0)
    (p,), (q,) = streams.probabilities(noises, stream)
    assert p <= exact[0] * (1 + 1e-5) + 1e-9
    assert exact[1] <= q * (1 + 1e-5) + 1e-9
    assert p == pytest.approx(exact[0], rel=2e-2, abs=1e-5)
    assert q == pytest.approx(exact[1], rel=2e-2, abs=1e-5)


@pytest.mark.parametrize(
    ("scales", "most", "apart"),
    [
        ((2.0, 4.0), 1, 1.002),
        ((2.0, 8.0), 5, 1.25),
        pytest.param((20.0, 200.0), 50, 1.2, marks=pytest.mark.thorough),
    ],
)
def test_streams_attain_much_of_what_is_said(scales, most, apart):
    event = rdpkit.AboveThreshold(
        threshold_noise_scale=scales[0],
        query_noise_scale=scales[1],
        sensitivity=1.0,
        most_above=most,
    )
    ask = {"delta": 1e-6, "adjacency": RELATION}
    above, below = rdpkit.epsilon(event, **ask).epsilon, rdpkit.lower_bound(event, **ask)[0].epsilon
    assert below <= above <= apart * below


@pytest.mark.thorough
def test_the_number_of_queries_matters_where_noise_is_gaussian():
    found = []
    for queries in (1, 2, 10, 1000, 10**6):
        event = rdpkit.GaussianAboveThreshold(
            threshold_noise_std=10.0, query_noise_std=20.0, sensitivity=1.0, queries=queries
        )
        ask = {"delta": 1e-6, "adjacency": RELATION}
        above = rdpkit.epsilon(event, **ask).epsilon
        below = rdpkit.lower_bound(event, **ask)[0].epsilon
        assert below <= above <= 2.2 * below
        found.append(above)
    assert found == sorted(found)
    one = rdpkit.Gaussian(noise_std=math.hypot(10.0, 20.0), record_norm=1.0)
    whole = rdpkit.epsilon(one, delta=1e-6, adjacency="add_or_remove_one", bound="best-rdp")
    assert found[0] == pytest.approx(whole.epsilon, rel=1e-6)


@pytest.mark.parametrize("moved", [0.5, 10.0, 45.0, 99.0])
def test_races_leave_out_no_more_than_they_say_on_either_data_set(moved):
    noises = streams.Noises(
        law=streams.laplace,
        ratio=20.0,
        moved=moved,
        both_ways=False,
    )
    # That at least none of the answers is of the first kind is certain.
    stream = streams.Stream(first=0, centre=0.0, place=-5.0, above=3, gap=2.0)
    p, q = streams.probabilities(noises, stream)
    assert 1.0 - 1e-8 < p[0] <= 1.0
    assert 1.0 <= q[0] < 1.0 + 1e-8


@pytest.mark.thorough
def test_far_queries_with_much_noise_are_not_said_to_leak_more_than_they_do():
    event = rdpkit.AboveThreshold(
        threshold_noise_scale=1.0, query_noise_scale=1000.0, sensitivity=40.0
    )
    question = {"delta": 1e-6, "adjacency": RELATION}
    found = rdpkit.epsilon(event, lower=True, **question)
    assert 0.0 < found.lower <= found.epsilon < 0.74


@pytest.mark.thorough
def test_queries_with_little_noise_have_an_answer():
    event = rdpkit.AboveThreshold(
        threshold_noise_scale=1.0, query_noise_scale=0.02, sensitivity=1.0, most_above=37
    )
    assert rdpkit.epsilon(event, delta=1e-6, adjacency=RELATION).epsilon > 1800
