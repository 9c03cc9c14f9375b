"""Running mechanisms: what they may return, what goes wrong, and processes."""

import numpy as np
import pytest

from rdpkit.verification.blackbox import runs
from rdpkit.verification.blackbox.neighbours import LabelledData, Neighbours
from rdpkit.verification.blackbox.runs import MechanismError, MechanismRunner, flatten, generator
from rdpkit.verification.blackbox.scores import NamedScore
from rdpkit.verification.blackbox.targets import target

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


@pytest.mark.parametrize("mechanism", [noisy, Vectorised()])
def test_the_number_of_processes_does_not_matter(mechanism, monkeypatch):
    from joblib import parallel_config

    alone = draw(mechanism, count=2500)
    monkeypatch.setattr(runs, "_WORTH_SHARING", 0.0)
    with parallel_config(backend="threading"):
        runner = MechanismRunner(target(mechanism), seed=5, jobs=3)
        runner.draw(PAIR, key=(1,), start=0, count=4)
        shared = runner.draw(PAIR, key=(9,), start=0, count=2500)
    for one, two in zip(alone, shared, strict=True):
        assert np.array_equal(one, two)


def test_other_processes(monkeypatch):
    # A callable without a name that could be imported travels too.
    def scaled(dataset, rng):
        return 2.0 * noisy(dataset, rng)

    alone = draw(scaled, count=64)
    monkeypatch.setattr(runs, "_WORTH_SHARING", 0.0)
    runner = MechanismRunner(target(scaled), seed=5, jobs=2)
    runner.draw(PAIR, key=(1,), start=0, count=4)
    shared = runner.draw(PAIR, key=(9,), start=0, count=64)
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


@pytest.mark.parametrize(
    ("release", "row", "shape"),
    [
        (2.5, [2.5], "()"),
        ([1, 2], [1.0, 2.0], "(2,)"),
        (np.array([[1, 2], [3, 4]], dtype=np.float32), [1.0, 2.0, 3.0, 4.0], "(2, 2)"),
        ((np.zeros((1, 2)), np.array([7])), [0.0, 0.0, 7.0], "(1, 2) and (1,)"),
        (np.array([True, False]), [1.0, 0.0], "(2,)"),
    ],
)
def test_what_a_release_may_be(release, row, shape):
    found, seen = flatten(release)
    assert found.tolist() == row
    assert seen.describe() == shape


@pytest.mark.parametrize(
    ("release", "message"),
    [
        (np.array([1.0, np.nan]), r"returned nan \(1 of 2 numbers are not finite\)"),
        (np.array([np.inf]), "returned inf"),
        (np.array(["a"]), "returned <U1"),
        (None, "returned object"),
        ([[1.0], [1.0, 2.0]], "returned something that is not an array"),
        (np.array([1j]), "returned complex128"),
        (np.zeros((0, 3)), "returned an empty release"),
        ({"x": 1.0}, "returned object"),
    ],
)
def test_what_is_no_release(release, message):
    with pytest.raises(MechanismError, match=message):
        flatten(release)


def test_the_error_says_which_run():
    calls = []

    def rarely_nan(dataset, rng):
        calls.append(1)
        return np.array([np.nan if len(calls) == 53 else 1.0])

    with pytest.raises(MechanismError, match=r"rarely_nan, run 12 on D', seed 5, returned nan"):
        draw(rarely_nan)


def test_an_exception_of_the_mechanism():
    def fails(dataset, rng):
        raise KeyError("x")

    with pytest.raises(
        MechanismError, match=r"run 0 on D, seed 5, raised KeyError: 'x' \(at .*:\d"
    ):
        draw(fails)


def test_a_mechanism_that_exits():
    def exits(dataset, rng):
        raise SystemExit(0)

    with pytest.raises(MechanismError, match="raised SystemExit"):
        draw(exits)


def test_a_mechanism_that_changes_its_data():
    def changes(dataset, rng):
        dataset.features[0, 0] = 1.0
        return dataset.features

    with pytest.raises(MechanismError, match=r"read-only: copy them before changing"):
        draw(changes)


def test_releases_of_different_shapes():
    def varying(dataset, rng):
        return rng.normal(size=rng.integers(1, 4))

    with pytest.raises(MechanismError, match="always has the same shape"):
        draw(varying)

    def depending_on_the_data(dataset, rng):
        return rng.normal(size=len(dataset))

    with pytest.raises(MechanismError, match="always has the same shape"):
        draw(depending_on_the_data)


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (lambda count: np.zeros((count + 1, 2)), r"expected \d+ releases along the first axis"),
        (lambda count: np.zeros((count, 0)), "empty release"),
        (lambda count: np.full((count, 1), np.nan), "returned nan"),
        (lambda count: [[1.0], [1.0, 2.0]], "returned something that is not an array"),
        (lambda count: 1.0, "expected 40 releases"),
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


def test_too_much_to_keep(monkeypatch):
    monkeypatch.setattr(runs, "_MOST_KEPT", 100)
    runner = MechanismRunner(target(noisy), seed=5, jobs=1)
    runner.draw(PAIR, key=(1,), start=0, count=2)
    with pytest.raises(ValueError, match="at most 25 training runs"):
        runner.draw(PAIR, key=(2,), start=0, count=26)
    # Scores are not kept as outputs.
    score = NamedScore(name="first", score=lambda outputs: outputs[:, 0])
    assert runner.draw(PAIR, key=(2,), start=0, count=26, scores=[score])[0].shape == (26, 1)
