"""Running mechanisms: what they may return, what goes wrong, and processes."""

import math
import re
from contextlib import nullcontext

import numpy as np
import pytest

from rdpkit.verification.blackbox import runs
from rdpkit.verification.blackbox.neighbours import LabelledData, Neighbours
from rdpkit.verification.blackbox.release_parts import MechanismError
from rdpkit.verification.blackbox.runs import ManyRaisedError, MechanismRunner, generator
from rdpkit.verification.blackbox.scores.named_score import NamedScore
from rdpkit.verification.blackbox.targets import target
from rdpkit.verification.estimators.base import DiagnosticKind

PAIR = Neighbours(
    first=LabelledData(features=[[1.0, 0.0], [0.0, 0.0]]),
    second=LabelledData(features=[[0.0, 0.0]]),
    adjacency="add_or_remove_one",
)


def noisy(dataset, rng):
    return dataset.features.sum(axis=0) + rng.normal(size=dataset.dimension)


class Vectorised:
    def __call__(self, dataset, rng):
        return self.many(dataset, rng, 1)[0]

    def many(self, dataset, rng, count):
        return dataset.features.sum(axis=0) + rng.normal(size=(count, dataset.dimension))


def draw(mechanism, *, count=40, start=0, jobs=1, seed=5, scores=None):
    runner = MechanismRunner(target(mechanism), seed=seed, jobs=jobs)
    return runner.draw(PAIR, key=(9,), start=start, count=count, scores=scores)


@pytest.mark.parametrize("mechanism", [noisy, Vectorised()])
def test_outputs_of_both_sides(mechanism):
    p, q = draw(mechanism)
    assert p.shape == q.shape == (40, 2)
    # Independent: no output is there twice.
    assert len(np.unique(np.concatenate([p, q]))) == 160
    assert np.array_equal(draw(mechanism)[0], p)
    assert not np.array_equal(draw(mechanism, seed=6)[0], p)


def test_runs_are_numbered_one_by_one():
    whole = draw(noisy, count=30)
    parts = [draw(noisy, start=start, count=10) for start in (0, 10, 20)]
    for side in (0, 1):
        assert np.array_equal(whole[side], np.concatenate([part[side] for part in parts]))


def test_generators_are_those_of_spawn():
    child = np.random.SeedSequence(12).spawn(3)[2]
    assert generator(12, 2).integers(2**63) == np.random.default_rng(child).integers(2**63)


def histogram(dataset, rng):
    """Bins with noisy counts, of which only large ones are published."""
    counts = {name: rng.laplace() for name in ("one", "two", "three")}
    return {name: count for name, count in counts.items() if count > 0.5}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("mechanism", "count", "threads"),
    [
        (noisy, 2500, True),
        (Vectorised(), 2500, True),
        # A callable without a name that could be imported travels to other processes too.
        (lambda dataset, rng: 2.0 * noisy(dataset, rng), 64, False),
        (noisy, 40, False),
        (histogram, 40, False),
        (Vectorised(), 40, False),
    ],
)
def test_the_number_of_processes_does_not_matter(mechanism, count, threads, monkeypatch):
    from joblib import parallel_config

    alone = draw(mechanism, count=count)
    monkeypatch.setattr(runs, "_WORTH_SHARING", 0.0)
    with parallel_config(backend="threading") if threads else nullcontext():
        runner = MechanismRunner(target(mechanism), seed=5, jobs=3)
        runner.draw(PAIR, key=(1,), start=0, count=4)
        shared = runner.draw(PAIR, key=(9,), start=0, count=count)
    for one, two in zip(alone, shared, strict=True):
        assert np.array_equal(one, two)


def test_a_registered_backend_takes_over(monkeypatch):
    from joblib import parallel_config, register_parallel_backend
    from joblib.parallel import ThreadingBackend

    class Counting(ThreadingBackend):
        submitted = 0

        def submit(self, func, callback=None):
            Counting.submitted += 1
            return super().submit(func, callback)

    register_parallel_backend("counting", Counting)
    monkeypatch.setattr(runs, "_WORTH_SHARING", 0.0)
    with parallel_config(backend="counting", n_jobs=2):
        runner = MechanismRunner(target(noisy), seed=5, jobs=None)
        runner.draw(PAIR, key=(1,), start=0, count=4)
        before = Counting.submitted
        found = runner.draw(PAIR, key=(9,), start=0, count=40)
    assert Counting.submitted > before > -1
    assert np.array_equal(found[0], draw(noisy)[0])


def test_scores_instead_of_outputs():
    first = NamedScore(name="first", score=lambda outputs: outputs[:, 0])
    both = NamedScore(name="both", score=lambda outputs: outputs.sum(axis=1))
    p, _ = draw(noisy, scores=[first, both])
    outputs, _ = draw(noisy)
    assert np.array_equal(p[:, 0], outputs[:, 0])
    assert np.array_equal(p[:, 1], outputs.sum(axis=1))


@pytest.mark.parametrize(
    ("score", "error", "message"),
    [
        (lambda outputs: outputs[:1, 0], ValueError, r"to return \d+ numbers, got 1"),
        (lambda outputs: outputs[:, 0] * np.nan, ArithmeticError, "Expected the score 'mine'"),
    ],
)
def test_a_score_that_is_none(score, error, message):
    with pytest.raises(error, match=message):
        draw(noisy, scores=[NamedScore(name="mine", score=score)])


def test_the_error_says_which_run():
    calls = []

    # Four runs on each side come first, which show what a release looks like.
    def rarely_wrong(dataset, rng):
        calls.append(1)
        return np.array([1j if len(calls) == 61 else 1.0])

    with pytest.raises(
        MechanismError, match=r"rarely_wrong, run \d+ on D'?, seed 5, returned comp"
    ):
        draw(rarely_wrong)


def fails(dataset, rng):
    raise KeyError("x")


def exits(dataset, rng):
    raise SystemExit(0)


def changes(dataset, rng):
    dataset.features[0, 0] = 1.0
    return dataset.features


@pytest.mark.parametrize(
    ("mechanism", "message"),
    [
        (fails, r"run 0 on D, seed 5, raised KeyError: 'x' \(at .*:\d"),
        (exits, "raised SystemExit"),
        (changes, r"read-only: copy them before changing"),
    ],
)
def test_what_goes_wrong_in_a_mechanism(mechanism, message):
    with pytest.raises(MechanismError, match=message):
        draw(mechanism)


def test_releases_of_different_shapes():
    def varying(dataset, rng):
        return rng.normal(size=rng.integers(1, 4))

    p, _ = draw(varying)
    # The length, three values, what is outside of the layout, the number of values, the structure.
    assert p.shape == (40, 8)
    assert set(p[:, 0]) == {1.0, 2.0, 3.0}
    assert np.array_equal(p[:, 0], p[:, 6])
    assert ((p[:, 1:4] != 0.0).sum(axis=1) == p[:, 0]).all()
    assert not p[:, 4:6].any()

    def depending_on_the_data(dataset, rng):
        return rng.normal(size=len(dataset))

    p, q = draw(depending_on_the_data)
    assert p.shape == q.shape == (40, 7)
    assert set(p[:, 0]) == {2.0}
    assert set(q[:, 0]) == {1.0}


def test_a_structure_that_is_rarely_another():
    def rarely(dataset, rng):
        noise = rng.normal(size=2)
        return np.append(noise, 7.0) if rng.random() < 0.05 else noise

    runner = MechanismRunner(target(rarely), seed=3, jobs=1)
    assert runner.layout_for(PAIR).size == 2
    p, q = runner.draw(PAIR, key=(9,), start=0, count=200)
    strange = np.concatenate([p, q])[:, 0] >= 2.0**40
    assert strange.sum() == runner.unexpected
    assert 5 < runner.unexpected < 45
    # They are all alike, because what they have besides the usual values is.
    assert len(np.unique(np.concatenate([p, q])[strange])) == 1


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (lambda count: np.zeros((count + 1, 2)), r"expected \d+ releases along the first axis"),
        (lambda count: np.zeros((count, 0)), "empty release"),
        (lambda count: np.full((count, 1), np.nan), "returned NaN or infinities in every run"),
        (lambda count: [[1.0], [1.0, 2.0]], "expected 4 releases"),
        (lambda count: 1.0, "expected 4 releases"),
        (lambda count: (np.zeros(count), np.zeros(count + 1)), r"shape \(4,\) and \(5,\)"),
        (lambda count: [object()] * count, "run 0 on D, seed 5, returned object"),
    ],
)
def test_what_many_must_return(found, message):
    class Mechanism:
        def __call__(self, dataset, rng):
            return np.zeros(2)

        def many(self, dataset, rng, count):
            return found(count)

    with pytest.raises(MechanismError, match=message):
        draw(Mechanism())


def pairs_of_arrays(rng, count):
    return rng.normal(size=(count, 2)), rng.integers(0, 9, size=count)


@pytest.mark.parametrize(
    "of_many",
    [lambda one, two: (one, two), lambda one, two: list(zip(one, two.tolist(), strict=True))],
)
def test_many_returns_what_single_calls_would(of_many):
    class Mechanism:
        def __call__(self, dataset, rng):
            one, two = pairs_of_arrays(rng, 1)
            return one[0], two[0]

        def many(self, dataset, rng, count):
            return of_many(*pairs_of_arrays(rng, count))

    runner = MechanismRunner(target(Mechanism()), seed=5, jobs=1)
    assert runner.layout_for(PAIR).parts == ((2,), ())
    p, _ = runner.draw(PAIR, key=(9,), start=0, count=40)
    one, two = pairs_of_arrays(generator(5, 9, 0, 0), 40)
    assert np.array_equal(p, np.column_stack([one, two]))


def test_many_returns_a_mapping_of_arrays_of_strings():
    class Mechanism:
        def many(self, dataset, rng, count):
            return {"noisy": rng.normal(size=count), "winner": rng.choice(["a", "b"], size=count)}

        def __call__(self, dataset, rng):
            return {key: value[0] for key, value in self.many(dataset, rng, 1).items()}

    runner = MechanismRunner(target(Mechanism()), seed=5, jobs=1)
    layout = runner.layout_for(PAIR)
    assert [layout.name(place) for place in range(layout.size)] == ["['noisy']", "['winner']"]
    assert layout.is_number.tolist() == [True, False]
    p, _ = runner.draw(PAIR, key=(9,), start=0, count=40)
    assert len(set(p[:, 1])) == 2


def test_a_summary_is_tested_in_place_of_the_release():
    class Release:
        def __init__(self, value):
            self.value = value

    def mechanism(dataset, rng):
        return Release(noisy(dataset, rng))

    with pytest.raises(MechanismError, match=r"run 0 on D, .*Release; .*an attribute summary"):
        draw(mechanism)
    mechanism.summary = lambda release: release.value
    assert np.array_equal(draw(mechanism)[0], draw(noisy)[0])
    mechanism.summary = lambda release: release.nothing
    with pytest.raises(MechanismError, match=r"run 0 on D, seed 5, raised AttributeError"):
        draw(mechanism)


@pytest.mark.parametrize("listed", [True, False])
def test_a_summary_of_many_releases(listed):
    class Summed(Vectorised):
        def many(self, dataset, rng, count):
            found = super().many(dataset, rng, count)
            return list(found) if listed else found

        def summary(self, release):
            return release.sum()

    p, _ = draw(Summed())
    assert p.shape == (40, 1)
    assert np.allclose(p[:, 0], draw(Vectorised())[0].sum(axis=1))


@pytest.mark.parametrize(
    "found",
    [
        lambda noise: (noise, noise[:-1]),
        lambda noise: {"a": noise, "b": 1.0},
        lambda noise: noise[0],
        lambda noise: None,
    ],
)
def test_many_releases_that_are_none_along_the_first_axis(found):
    class Mechanism(Vectorised):
        summary = staticmethod(lambda release: 1.0)

        def many(self, dataset, rng, count):
            return found(rng.normal(size=count))

    with pytest.raises(MechanismError, match=r"run 0 on D.* not all releases could be taken"):
        draw(Mechanism())


class WordlessError(Exception):
    def __str__(self):
        raise RuntimeError


@pytest.mark.parametrize("rate", [0.3, 1.0])
def test_an_error_without_words(rate):
    def mechanism(dataset, rng):
        if rng.random() < rate:
            raise WordlessError
        return noisy(dataset, rng)

    if rate == 1.0:
        words = r"run 0 on D, .* raised WordlessError: \(its message raised RuntimeError\)"
        with pytest.raises(MechanismError, match=words):
            draw(mechanism)
    else:
        runner = MechanismRunner(target(mechanism), seed=5, jobs=1)
        runner.draw(PAIR, key=(9,), start=0, count=40)
        assert all(0 < raised < 40 for raised in runner.raised)


def test_what_cannot_be_taken_apart():
    endless = [1.0]
    endless.append(endless)
    for release in (endless, 10**400):
        with pytest.raises(MechanismError, match=r"run 0 on D, .* cannot be taken apart"):
            draw(lambda dataset, rng, release=release: release)


def test_a_summary_that_raises_for_some_of_many_releases():
    class Rooted(Vectorised):
        def summary(self, release):
            return math.sqrt(release[0])

    runner = MechanismRunner(target(Rooted()), seed=5, jobs=1)
    p, q = runner.draw(PAIR, key=(9,), start=0, count=40)
    assert len(p) == len(q) == 40
    assert all(0 < raised < 40 for raised in runner.raised)


def test_each_pair_has_a_layout_of_its_own():
    def records(dataset, rng):
        return dataset.features + rng.normal(size=dataset.features.shape)

    other = Neighbours(
        first=LabelledData(features=[[1.0], [2.0]]),
        second=LabelledData(features=[[1.0], [3.0]]),
        adjacency="replace_one",
    )
    runner = MechanismRunner(target(records), seed=5, jobs=1)
    assert runner.layout_for(PAIR).varying
    assert runner.layout_for(other).parts == ((2, 1),)
    assert runner.runs == 0


class Limited:
    """A count that raises an error where it is too large, which ends all releases of a call."""

    def __init__(self, most):
        self.most = most

    def __call__(self, dataset, rng):
        found = len(dataset) + rng.laplace()
        if found > self.most:
            raise ValueError("too large")
        return found

    def many(self, dataset, rng, count):
        return np.array([self(dataset, rng) for _ in range(count)])


def test_an_error_of_many_is_not_taken_for_an_output_of_each():
    often = MechanismRunner(target(Limited(2.0)), seed=5, jobs=1)
    differs = often.compare_many(PAIR)
    assert not often.at_once
    assert "raised ValueError: too large" in differs.message
    often.draw(PAIR, key=(9,), start=0, count=40)
    assert all(0 < raised < 40 for raised in often.raised)
    rarely = MechanismRunner(target(Limited(8.0)), seed=5, jobs=1)
    assert rarely.compare_many(PAIR) is None
    with pytest.raises(ManyRaisedError, match=r"too large .*: remove many\(\)"):
        rarely.draw(PAIR, key=(9,), start=0, count=10_000)


class Compared:
    """A mechanism whose method for many runs is another function."""

    def __init__(self, of_many):
        self.of_many = of_many

    def __call__(self, dataset, rng):
        return noisy(dataset, rng)

    def many(self, dataset, rng, count):
        return self.of_many(dataset, rng, count)


def alike(dataset, rng, count):
    return dataset.features.sum(axis=0) + rng.normal(size=(count, dataset.dimension))


def test_many_that_does_what_single_calls_do():
    runner = MechanismRunner(target(Compared(alike)), seed=5, jobs=1)
    assert runner.compare_many(PAIR) is None
    assert (runner.at_once, runner.runs) == (True, 0)
    # The comparison changes nothing that comes later.
    assert np.array_equal(runner.draw(PAIR, key=(9,), start=0, count=40)[0], draw(Vectorised())[0])
    assert MechanismRunner(target(noisy), seed=5, jobs=1).compare_many(PAIR) is None


@pytest.mark.parametrize(
    ("of_many", "message"),
    [
        (
            lambda dataset, rng, count: alike(dataset, rng, count) * 2.0,
            r"200 releases on D that many.. returned, and 200 single calls, differ in the \w+",
        ),
        (lambda dataset, rng, count: alike(dataset, rng, 1).repeat(count, axis=0), "differ in"),
        (
            lambda dataset, rng, count: alike(dataset, rng, count) + 9.0 * (len(dataset) == 1),
            "releases on D' that",
        ),
        (
            lambda dataset, rng, count: rng.normal(size=(count, 3)),
            r"many.. returns releases of shape \(3,\), and a single call one of shape \(2,\)",
        ),
        (lambda dataset, rng, count: [["a", "b"]] * count, "and a single call one of shape"),
    ],
)
def test_many_that_differs_from_single_calls(of_many, message):
    runner = MechanismRunner(target(Compared(of_many)), seed=5, jobs=1)
    found = runner.compare_many(PAIR)
    assert found.kind is DiagnosticKind.MANY_DIFFERS
    assert re.search(message, found.message)
    assert found.message.endswith("The test was made with single calls.")
    # Later runs are those of a mechanism without such a method.
    assert not runner.at_once
    assert np.array_equal(runner.draw(PAIR, key=(9,), start=0, count=40)[0], draw(noisy)[0])


def test_slow_single_calls_are_compared_less_often():
    calls = []

    class Slow(Vectorised):
        def __call__(self, dataset, rng):
            calls.append(1)
            return super().__call__(dataset, rng)

    runner = MechanismRunner(target(Slow()), seed=5, jobs=1)
    assert runner.compare_many(PAIR, seconds=0.0) is None
    # Four releases on each side show what a single call returns.
    assert len(calls) == 8
    assert runner.at_once


def test_many_of_a_varying_structure():
    def many(dataset, rng, count):
        return [histogram(dataset, rng) for _ in range(count)]

    mechanism = Compared(many)
    runner = MechanismRunner(target(mechanism), seed=5, jobs=1)
    assert runner.compare_many(PAIR).kind is DiagnosticKind.MANY_DIFFERS
    Histograms = type("Histograms", (Compared,), {"__call__": lambda _, *given: histogram(*given)})
    runner = MechanismRunner(target(Histograms(many)), seed=5, jobs=1)
    assert runner.compare_many(PAIR) is None


def test_too_much_to_keep(monkeypatch):
    monkeypatch.setattr(runs, "_MOST_KEPT", 100)
    runner = MechanismRunner(target(noisy), seed=5, jobs=1)
    with pytest.raises(ValueError, match="at most 25 training runs"):
        runner.draw(PAIR, key=(2,), start=0, count=26)
    # Scores are not kept as outputs.
    score = NamedScore(name="first", score=lambda outputs: outputs[:, 0])
    assert runner.draw(PAIR, key=(2,), start=0, count=26, scores=[score])[0].shape == (26, 1)
