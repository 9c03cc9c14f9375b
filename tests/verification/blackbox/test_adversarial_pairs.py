"""Adversarial pairs: valid for every domain, in a fixed order, and of use against known mistakes.

No runs are made here. A mechanism is a function of the data whose output gets noise afterwards, so
a leak shows as a distance between the outputs on two neighbours that exceeds what the claim allows.
Pairs along the directions in which a release has the least noise come at the end.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdpkit.adjacency import Adjacency
from rdpkit.verification.blackbox.adversarial_pairs import (
    DataDomain,
    LabelLayout,
    adversarial_neighbours,
    quiet_pairs,
)
from rdpkit.verification.blackbox.neighbours import LabelledData, Neighbours
from rdpkit.verification.blackbox.options import VerificationOptions
from rdpkit.verification.blackbox.targets import dp_claim
from rdpkit.verification.blackbox.verify import verify

ADD, REPLACE = Adjacency.ADD_OR_REMOVE_ONE, Adjacency.REPLACE_ONE
USUAL = 24
NORM = 1.0


@st.composite
def domains(draw):
    return DataDomain(
        dimension=draw(st.integers(1, 40)),
        record_norm=draw(st.sampled_from([1e-3, 0.125, 1.0, 1.7, 1e4])),
        bounded=draw(st.booleans()),
        records=draw(st.none() | st.integers(1, 12)),
        classes=draw(st.none() | st.integers(1, 5)),
    )


def sides(pair):
    return pair.first, pair.second


def same(one, two):
    return all(
        np.array_equal(a.features, b.features) and np.array_equal(a.labels, b.labels)
        for a, b in zip(sides(one), sides(two), strict=True)
    )


@pytest.mark.thorough
@given(domains(), st.sampled_from([ADD, REPLACE]), st.integers(1, 40), st.integers(0, 2**40))
def test_pairs_of_any_domain(domain, adjacency, count, seed):
    # Neighbours checks that its data sets are neighbours.
    found = adversarial_neighbours(domain, adjacency=adjacency, count=count, seed=seed)
    assert len(found) == count
    for pair in found:
        longest = max(np.linalg.norm(s.features, axis=1).max(initial=0.0) for s in sides(pair))
        assert pair.beyond_norm == (longest > domain.record_norm)
        assert pair.beyond_norm == any("--record-norm" in line for line in pair.description)
        if domain.bounded:
            assert not pair.beyond_norm
        if domain.records is not None:
            assert pair.size == domain.records
        for side in sides(pair):
            assert side.labels.max(initial=0) < (domain.classes or 2)
            assert side.labels.min(initial=0) >= 0
    for index, pair in enumerate(found):
        assert not any(same(pair, other) for other in found[:index])


@pytest.mark.thorough
@given(domains(), st.sampled_from([ADD, REPLACE]), st.integers(1, 12), st.integers(0, 2**40))
def test_a_shorter_list_is_the_beginning_of_a_longer_one(domain, adjacency, count, seed):
    few = adversarial_neighbours(domain, adjacency=adjacency, count=count, seed=seed)
    many = adversarial_neighbours(domain, adjacency=adjacency, count=count + 15, seed=seed)
    assert all(same(one, two) for one, two in zip(few, many[:count], strict=True))
    assert [pair.describe() for pair in few] == [pair.describe() for pair in many[:count]]


@pytest.mark.parametrize("adjacency", [ADD, REPLACE])
@pytest.mark.parametrize("dimension", [784, 3072])
def test_many_features(adjacency, dimension):
    domain = DataDomain(dimension=dimension)
    found = adversarial_neighbours(domain, adjacency=adjacency, count=USUAL, seed=3)
    assert len(found) == USUAL


def test_the_kinds_of_data_that_a_list_has():
    found = pairs(ADD, 5)
    assert {len(pair.second) for pair in found} >= {0, 1, 7, 49}
    assert {pair.beyond_norm for pair in found} == {True, False}
    assert {len(pair.first) for pair in pairs(REPLACE, 5)} >= {1, 2, 8, 50}


@pytest.mark.parametrize("adjacency", [ADD, REPLACE])
def test_sizes_that_an_event_states_are_kept(adjacency):
    data = LabelledData(features=np.arange(10.0).reshape(5, 2), labels=[0, 0, 1, 1, 2])
    other = (
        LabelledData(features=data.features[1:], labels=data.labels[1:])
        if adjacency is ADD
        else LabelledData(features=[[9.0, 9.5], *data.features[1:]], labels=[2, 0, 1, 1, 2])
    )
    for first, second in ((data, other), (other, data)):
        pair = Neighbours(first=first, second=second, adjacency=adjacency)
        domain = DataDomain(dimension=2, layout=LabelLayout.of_pair(pair))
        counts = {tuple(np.bincount(side.labels, minlength=3)) for side in sides(pair)}
        for made in adversarial_neighbours(domain, adjacency=adjacency, count=30, seed=1):
            found = {tuple(np.bincount(side.labels, minlength=3)) for side in sides(made)}
            assert found == counts


@pytest.mark.parametrize(
    "wrong", [{"dimension": 0}, {"record_norm": 0.0}, {"records": 0}, {"classes": 0}]
)
def test_what_is_no_domain(wrong):
    with pytest.raises(ValueError, match=f"Expected {next(iter(wrong))} "):
        DataDomain(**{"dimension": 2, **wrong})


def pairs(adjacency, dimension, **domain):
    return adversarial_neighbours(
        DataDomain(dimension=dimension, **domain), adjacency=adjacency, count=USUAL, seed=1
    )


def clipped(rows, norm=NORM):
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows * np.minimum(1.0, norm / np.maximum(lengths, 1e-300))


def allowed(adjacency):
    """How far one record may move a sum of records that are clipped to the norm."""
    return NORM if adjacency is ADD else 2.0 * NORM


def largest_step(mechanism, adjacency, dimension, **domain):
    """The largest distance between the outputs on two neighbours, over the usual pairs."""
    steps = [
        float(np.linalg.norm(np.ravel(mechanism(pair.first)) - np.ravel(mechanism(pair.second))))
        for pair in pairs(adjacency, dimension, **domain)
    ]
    return np.nanmax(steps)


def means_of_classes(data):
    """The means of two classes; a class without records has mean 0."""
    rows = clipped(data.features)
    return [rows[data.labels == c].sum(axis=0) / max(1, (data.labels == c).sum()) for c in (0, 1)]


def without_last(rows):
    return np.hstack([clipped(rows[:, :-1]), rows[:, -1:]])


def scaled_without_last(rows):
    lengths = np.linalg.norm(rows[:, :-1], axis=1, keepdims=True)
    return rows * np.minimum(1.0, NORM / np.maximum(lengths, 1e-300))


BROKEN = {
    "each coordinate is clipped": lambda d: np.clip(d.features, -NORM, NORM).sum(axis=0),
    "the last coordinate is not clipped": lambda d: without_last(d.features).sum(axis=0),
    "the norm leaves out a coordinate": lambda d: scaled_without_last(d.features).sum(axis=0),
    "nothing is clipped": lambda d: d.features.sum(axis=0),
    "long records are dropped, and others kept": lambda d: d.features[
        np.linalg.norm(d.features, axis=1) < 100.0
    ].sum(axis=0),
    "records are clipped by their sum": lambda d: (
        d.features / np.maximum(1.0, np.abs(d.features.sum(axis=1, keepdims=True)))
    ).sum(axis=0),
    "the sum is rounded before noise": lambda d: np.round(clipped(d.features).sum(axis=0)),
    "records are rounded before noise": lambda d: np.round(clipped(d.features)).sum(axis=0),
}


@pytest.mark.thorough
@pytest.mark.parametrize("adjacency", [ADD, REPLACE])
@pytest.mark.parametrize("dimension", [2, 3, 4, 5, 20, 100])
@pytest.mark.parametrize("name", BROKEN)
def test_sums_that_one_record_moves_too_far(name, dimension, adjacency):
    moved = largest_step(BROKEN[name], adjacency, dimension)
    assert moved > 1.05 * allowed(adjacency)


@pytest.mark.parametrize("adjacency", [ADD, REPLACE])
@pytest.mark.parametrize("dimension", [1, 2, 5, 20, 100])
@pytest.mark.parametrize("bounded", [False, True])
def test_a_clipped_sum_never_moves_further(dimension, adjacency, bounded):
    moved = largest_step(
        lambda d: clipped(d.features).sum(axis=0), adjacency, dimension, bounded=bounded
    )
    # The bound is attained, and exceeded by roundings alone.
    assert moved == pytest.approx(allowed(adjacency), rel=1e-9)


@pytest.mark.parametrize("adjacency", [ADD, REPLACE])
def test_a_sum_without_a_clip_of_records_that_need_none(adjacency):
    moved = largest_step(lambda d: d.features.sum(axis=0), adjacency, 5, bounded=True)
    assert moved == pytest.approx(allowed(adjacency), rel=1e-9)


@pytest.mark.parametrize("adjacency", [ADD, REPLACE])
@pytest.mark.parametrize("dimension", [1, 5, 100])
def test_a_mean_that_is_clipped_instead_of_the_records(dimension, adjacency):
    """In units of what the mean of clipped records may move by, with a public number of records."""
    steps = []
    for pair in pairs(adjacency, dimension):
        means = [
            clipped(side.features.mean(axis=0, keepdims=True))[0]
            for side in sides(pair)
            if len(side)
        ]
        if len(means) == 2:
            steps.append(np.linalg.norm(means[0] - means[1]) * len(pair.second))
    assert max(steps) > 3.0 * allowed(adjacency)


@pytest.mark.parametrize("adjacency", [ADD, REPLACE])
def test_a_sum_that_overflows(adjacency):
    """Numbers in [0, 100] are added in eight bits; one of them may move the sum by 100."""

    def total(data):
        return np.clip(data.features[:, 0], 0, 100).astype(np.int8).sum(dtype=np.int8).astype(float)

    assert largest_step(total, adjacency, 5) > 100.0


def test_a_class_with_one_record():
    """A mean of a class is moved by 2 C, and not by 2 C over an equal share of all records."""
    moved = max(
        float(np.linalg.norm(np.subtract(*map(means_of_classes, sides(pair)))))
        for pair in pairs(REPLACE, 5)
        if pair.size == 8
    )
    assert moved == pytest.approx(2.0 * NORM)


@pytest.mark.parametrize("adjacency", [ADD, REPLACE])
def test_a_class_that_becomes_empty(adjacency):
    def present(data):
        return set(data.labels.tolist())

    assert any(
        len(pair.second) > 1 and present(pair.first) != present(pair.second)
        for pair in pairs(adjacency, 5)
    )


def test_flipped_labels():
    """The same features change their class, where a record was alone in it and where it was not."""
    in_class = {
        int((pair.first.labels == pair.first.labels[-1]).sum())
        for pair in pairs(REPLACE, 5)
        if np.array_equal(pair.first.features, pair.second.features)
    }
    assert 1 in in_class
    assert max(in_class) > 1


@pytest.mark.parametrize("adjacency", [ADD, REPLACE])
@pytest.mark.parametrize("dimension", [1, 2, 5, 20])
def test_noise_with_the_private_covariance(dimension, adjacency):
    """Some pair changes the spread of the noise along some direction by a factor of 100."""

    def ratio(pair):
        shapes = [
            np.cov(side.features, rowvar=False).reshape(dimension, dimension)
            for side in sides(pair)
            if len(side) > dimension + 1
        ]
        if len(shapes) < 2 or min(np.linalg.eigvalsh(shape)[0] for shape in shapes) <= 1e-12:
            return 1.0
        values = np.linalg.eigvals(np.linalg.solve(shapes[0], shapes[1])).real
        return max(values.max(), 1.0 / values.min())

    assert max(ratio(pair) for pair in pairs(adjacency, dimension, bounded=True)) > 100.0


@pytest.mark.parametrize("adjacency", [ADD, REPLACE])
def test_duplicates(adjacency):
    """Only one of the two data sets consists of copies of a single record, or has any copies."""

    def distinct(data):
        return len(data.records())

    found = [pair for pair in pairs(adjacency, 5) if len(pair.second) > 1]
    assert any({distinct(s) == 1 for s in sides(pair)} == {True, False} for pair in found)
    found = [pair for pair in pairs(adjacency, 5) if len(pair.second) > 0]
    assert any({distinct(s) == len(s) for s in sides(pair)} == {True, False} for pair in found)


def test_empty_data():
    assert any(len(pair.second) == 0 for pair in pairs(ADD, 5))


MODES = {
    "of labels, the first of equals": lambda d: int(np.argmax(np.bincount(d.labels, minlength=2))),
    "of labels, the last of equals": lambda d: int(
        np.argmax(np.bincount(d.labels, minlength=2)[::-1])
    ),
    "of the largest features": lambda d: int(
        np.argmax(np.bincount(d.features.argmax(axis=1), minlength=5))
    ),
}


@pytest.mark.parametrize("adjacency", [ADD, REPLACE])
@pytest.mark.parametrize("records", [None, 7, 8])
@pytest.mark.parametrize("mode", MODES)
def test_a_mode_that_one_record_changes(mode, records, adjacency):
    """Apart from data with one record, where it is no surprise."""
    assert any(
        MODES[mode](pair.first) != MODES[mode](pair.second)
        for pair in pairs(adjacency, 5, records=records)
        if len(pair.second) > 2
    )


READERS = {
    "labels": lambda d: np.bincount(d.labels, minlength=11),
    "the first feature": lambda d: np.bincount(
        np.clip(d.features[:, 0], 0, 10).astype(int), minlength=11
    ),
    "the largest feature": lambda d: np.bincount(
        d.features.argmax(axis=1), minlength=d.features.shape[1]
    ),
    "positive features": lambda d: (d.features > 0.0).sum(axis=0),
}


@pytest.mark.parametrize("reader", READERS)
def test_exponential_mechanisms_without_the_factor_one_half(reader):
    """Scores are counts, which one replaced record moves by 1 each: epsilon is 1, and not 2."""

    def log_probabilities(data):
        scores = READERS[reader](data).astype(np.float64)
        return scores - np.logaddexp.reduce(scores)

    def leak(pair):
        p, q = (log_probabilities(side) for side in sides(pair))
        # Events of probability 0.01 at least, which a test notices.
        seen = np.exp(np.maximum(p, q)) > 0.01
        return np.abs(p - q)[seen].max()

    assert max(leak(pair) for pair in pairs(REPLACE, 5)) > 1.3


@pytest.mark.parametrize("adjacency", [ADD, REPLACE])
@pytest.mark.parametrize("reader", READERS)
def test_counts_that_one_record_moves(reader, adjacency):
    moved = largest_step(READERS[reader], adjacency, 5)
    if reader == "positive features":
        # A record is in each of the five counts.
        assert moved == pytest.approx(np.sqrt(5.0))
    else:
        assert moved == pytest.approx(1.0 if adjacency is ADD else np.sqrt(2.0))


@pytest.mark.parametrize("adjacency", [ADD, REPLACE])
@pytest.mark.parametrize("dimension", [2, 5, 10])
def test_counts_that_move_in_both_directions(dimension, adjacency):
    """Half of the counts go up, and the others do not, or go down."""
    half = np.where(np.arange(dimension) < dimension // 2, 1.0, -1.0)

    def contrast(data):
        return half @ (data.features > 0.5).sum(axis=0)

    moved = largest_step(contrast, adjacency, dimension)
    assert moved >= (dimension // 2 if adjacency is ADD else dimension)


@pytest.mark.parametrize("adjacency", [ADD, REPLACE])
def test_a_median_of_norms_with_two_modes(adjacency):
    def median(data):
        return np.median(np.linalg.norm(clipped(data.features), axis=1))

    steps = [
        abs(median(pair.first) - median(pair.second))
        for pair in pairs(adjacency, 5, bounded=True)
        if len(pair.second) > 5
    ]
    assert max(steps) >= (0.5 if adjacency is ADD else 1.0)


@pytest.mark.parametrize("adjacency", [ADD, REPLACE])
@pytest.mark.parametrize("user", [lambda d: d.labels, lambda d: d.features[:, 0]])
def test_a_user_with_several_rows(user, adjacency):
    """Users with at least three rows, among others with fewer."""

    def frequent(data):
        counts = np.unique(user(data), return_counts=True)[1]
        return int((counts >= 3).sum()), int((counts == 3).sum())

    found = [
        (frequent(pair.first), frequent(pair.second))
        for pair in pairs(adjacency, 5)
        if len(pair.second) > 5
    ]
    assert any(one[0] != two[0] for one, two in found)


RUNS = 4000


def like(dimension, adjacency=ADD, **domain):
    (pair,) = adversarial_neighbours(
        DataDomain(dimension=dimension, **domain), adjacency=adjacency, count=1, seed=1
    )
    return pair


def changed(pair):
    return pair.first.features[-1]


@pytest.mark.parametrize("adjacency", [ADD, REPLACE])
def test_a_quiet_coordinate(adjacency):
    rng = np.random.default_rng(3)
    scale = np.ones(30)
    scale[11] = 0.6
    (pair,) = quiet_pairs(rng.normal(0.0, scale, (RUNS, 30)), like=like(30, adjacency))
    assert np.flatnonzero(changed(pair)).tolist() == [11]
    assert 1.0 - 1e-9 < np.linalg.norm(changed(pair)) <= 1.0
    assert "in the coordinate with the least noise" in pair.description[0]
    assert (len(pair.first), len(pair.second)) == ((8, 7) if adjacency == ADD else (8, 8))


def test_a_quiet_direction():
    rng = np.random.default_rng(3)
    quiet = np.ones(10) / np.sqrt(10.0)
    noise = rng.standard_normal((RUNS, 10))
    noise -= 0.5 * np.outer(noise @ quiet, quiet)
    (pair,) = quiet_pairs(noise, like=like(10, record_norm=0.25))
    assert abs(changed(pair) @ quiet) == pytest.approx(0.25, rel=0.05)


@pytest.mark.parametrize("dimension", [2, 10, 100, 600])
def test_even_noise_has_none(dimension):
    """By chance one appears much less often than once in a hundred times; the seed is fixed."""
    noise = np.random.default_rng(3).standard_normal((RUNS, dimension))
    assert quiet_pairs(noise, like=like(dimension)) == []


@pytest.mark.parametrize(("columns", "features"), [(3, 4), (1, 1)])
def test_outputs_without_directions_have_none(columns, features):
    noise = np.random.default_rng(3).normal(0.0, [0.01] + [1.0] * (columns - 1), (RUNS, columns))
    assert quiet_pairs(noise, like=like(features)) == []
    assert quiet_pairs(noise[:3], like=like(columns)) == []


class Sum:
    """A clipped sum, with noise of its own in each coordinate."""

    def __init__(self, scale):
        self.scale = np.array(scale)

    def __call__(self, dataset, rng):
        return self.many(dataset, rng, 1)[0]

    def many(self, dataset, rng, count):
        norms = np.linalg.norm(dataset.features, axis=1, keepdims=True)
        total = (dataset.features / np.maximum(1.0, norms)).sum(axis=0)
        return total + rng.normal(0.0, self.scale, (count, dataset.dimension))


@pytest.mark.thorough
def test_a_quiet_coordinate_is_what_a_test_looks_at():
    """Elsewhere the noise is more than the claim needs: 2.2 for (1, 0.01)."""
    scale = np.full(20, 4.0)
    scale[13] = 0.9
    options = VerificationOptions(samples=40_000, seed=2, dimension=20, scores=("linear",))
    claim = dp_claim(epsilon=1.0, delta=0.01, adjacency=ADD)
    found = verify(Sum(scale), claim=claim, options=options, jobs=1)
    assert found.rejected
    assert any("the coordinate with the least noise" in line for line in found.pair)
    scale[13] = 2.3
    assert not verify(Sum(scale), claim=claim, options=options, jobs=1).rejected
