"""Replays of code of one's own: none that is correct is refuted, and every mistake is found."""

from __future__ import annotations

import pytest

from rdpkit.adjacency import Adjacency
from rdpkit.verification import primitive, verify_by_replay
from rdpkit.verification.blackbox.targets import dp_claim
from rdpkit.verification.replay.agents import LocalAgent
from rdpkit.verification.replay.findings import ReplayVerdict
from rdpkit.verification.replay.pairs import DataSpace
from rdpkit.verification.replay.replay import replay
from tests.verification.replay.code_of_ones_own import BROKEN, CORRECT, replay_of, replayed

# What is private, and differs all the same: the result says why in words.
DIFFERS = ("private_median", "quantile_among_intervals", "stability_histogram")
# A test that takes a second each; a few of them stand for all in the fast suite, among them the one
# whose words are tested as well.
QUICK = ("noisy_sum", "fixed_generator", "number_of_records")


ADDED = {
    "adjacency": "add_or_remove_one", "epsilon": 1.0, "delta": 0.0, "columns": {"x": [0.0, 1.0]},
}  # fmt: skip


def rows(names):
    marks = [() if name in QUICK else pytest.mark.thorough for name in names]
    return [pytest.param(one, marks=mark) for one, mark in zip(names, marks, strict=True)]


@pytest.mark.parametrize("name", rows(CORRECT))
def test_correct_code_is_not_refuted(name):
    result = replayed(name)
    wanted = ReplayVerdict.UNACCOUNTED if name in DIFFERS else ReplayVerdict.NOTHING_FOUND
    assert result.verdict is wanted, result.rows()
    if name in DIFFERS:
        assert any("private" in text for heading, text in result.rows() if heading == "which means")


@pytest.mark.parametrize("name", rows(BROKEN))
def test_a_mistake_is_refuted_and_its_line_is_named(name):
    _, kind, line = BROKEN[name]
    result = replayed(name)
    assert result.verdict is ReplayVerdict.REFUTED, result.rows()
    assert kind in {one.kind.value for one in result.shown.differences}
    said = " ".join(one.describe() for one in result.shown.differences)
    assert line in said
    assert "code_of_ones_own.py:" in said


def test_the_same_seed_gives_the_same_result():
    assert replay_of("number_of_records").as_dict() == replayed("number_of_records").as_dict()


@pytest.mark.thorough
def test_a_stop_that_only_large_data_sets_reach_is_found_along_a_chain():
    result = verify_by_replay(_stopping_above_150, **ADDED, seed=1)
    assert result.verdict is ReplayVerdict.REFUTED, result.rows()
    assert "chain of data sets" in result.shown.pair.words
    assert {len(result.shown.pair.first), len(result.shown.pair.second)} == {150, 151}
    assert "if len(data) > 150" in result.summary


def _stopping_above_150(data, rng):
    """A noisy count, and a number without noise where there are many records."""
    if len(data) > 150:
        return -1.0
    return len(data) + rng.laplace(scale=1.0)


def test_noise_that_is_not_what_its_call_declares_is_refuted_by_runs():
    @primitive(value="total", sensitivity="bound", epsilon="epsilon")
    def noisy(total, bound, epsilon, rng):
        return total + rng.laplace(scale=bound / epsilon / 3.0)

    def target(data, rng):
        return noisy(float(len(data)), 1.0, 1.0, rng)

    result = verify_by_replay(target, **ADDED, seed=1)
    assert result.verdict is ReplayVerdict.REFUTED, result.rows()
    assert result.shown.leading.kind.value == "noise"
    assert "noisy(float(len(data)), 1.0, 1.0, rng)" in result.summary


@pytest.mark.statistical
def test_true_claims_are_refuted_at_most_at_the_stated_rate():
    # Laplace noise is tight, so that the test is as likely to err as it ever is. At the rate 0.3,
    # 40 of 60 true claims are refuted with probability below 1e-7.
    refuted = 0
    for seed in range(60):
        result = verify_by_replay(
            _with_unseen_noise, **ADDED, seed=seed, false_alarm_rate=0.3, seconds=2.0
        )
        refuted += result.verdict is ReplayVerdict.REFUTED
    assert refuted < 40


def _with_unseen_noise(data, rng):
    """Laplace noise by its inverse distribution function, which is not followed."""
    drawn = rng.uniform(-0.5, 0.5)
    return len(data) - float(_sign(drawn) * _log1p(-2.0 * abs(drawn)))


def _sign(value):
    return 1.0 if float(value) > 0.0 else -1.0


def _log1p(value):
    import math

    return math.log1p(float(value))


def test_a_target_that_always_raises_was_not_examined():
    def refuses(data, rng):
        raise RuntimeError("not today")

    result = verify_by_replay(
        refuses, adjacency="replace_one", epsilon=1.0, delta=0.0, columns={"x": [0, 9.5]}, seed=1
    )
    assert result.verdict is ReplayVerdict.NOT_EXAMINED
    assert "not today" in dict(result.rows())["tried"]


@pytest.mark.thorough
def test_values_beyond_the_named_ranges_refute_nothing_unless_they_are_claimed():
    def unclipped(data, rng):
        return data.features[:, 0].sum() + rng.laplace(scale=1.0)

    kept = verify_by_replay(unclipped, **ADDED, seed=2)
    assert kept.verdict is ReplayVerdict.UNACCOUNTED
    assert not kept.shown.pair.within
    claimed = verify_by_replay(unclipped, **ADDED, seed=2, any_values=True)
    assert claimed.verdict is ReplayVerdict.REFUTED


@pytest.mark.thorough
def test_all_records_of_a_user_differ_together():
    def by_records(data, rng):
        return len(data) + rng.laplace(scale=1.0)

    def by_users(data, rng):
        return len(set(data.table["user"])) + rng.laplace(scale=1.0)

    given = {**ADDED, "seed": 2, "columns": {"x": [0.0, 1.0], "user": []}, "user": "user"}
    assert verify_by_replay(by_users, **given).verdict is ReplayVerdict.NOTHING_FOUND
    wrong = verify_by_replay(by_records, **given)
    assert wrong.verdict is ReplayVerdict.REFUTED
    assert wrong.most_spent.epsilon == pytest.approx(5.0)


def test_code_that_keeps_its_noise_is_not_refuted():
    kept = {}

    def memoized(data, rng):
        key = tuple(data.features[:, 0])
        if key not in kept:
            kept[key] = len(data) + rng.laplace(scale=1.0)
        return kept[key]

    result = verify_by_replay(memoized, **ADDED)
    assert result.verdict is not ReplayVerdict.REFUTED
    assert any("not independent" in one for one in result.unseen)


class _Closed:
    __slots__ = ("total",)

    def __init__(self, total):
        self.total = total


@pytest.mark.thorough
@pytest.mark.parametrize(
    "release",
    [
        lambda data, rng: (float(one) for one in data.features[:, 0]),
        lambda data, rng: _Closed(len(data)),
    ],
)
def test_generators_and_slots_are_looked_into(release):
    result = verify_by_replay(release, **ADDED)
    assert result.findings


def test_what_cannot_be_looked_into_is_said():
    result = verify_by_replay(lambda data, rng: lambda: len(data), **ADDED)
    assert any("not looked into" in one for one in result.unseen)


@pytest.mark.parametrize(
    "space", [{"columns": {}}, {"columns": {"x": [1.0, 0.0]}}, {"columns": {"x": [0.0, 1e999]}}]
)
def test_a_space_without_values_is_refused(space):
    with pytest.raises(ValueError, match="columns"):
        verify_by_replay(lambda d, rng: 0, adjacency="replace_one", epsilon=1.0, delta=0.0, **space)


@pytest.mark.thorough
def test_a_replay_that_is_short_of_time_says_so():
    claim = dp_claim(epsilon=1.0, delta=0.0, adjacency=Adjacency.ADD_OR_REMOVE_ONE)
    result = replay(
        [LocalAgent(CORRECT["noisy_sum"])],
        DataSpace.of({"x": [0.0, 1.0]}),
        claim,
        name="sum",
        seed=1,
        seconds=1e-9,
    )
    assert result.pairs == 1
    assert result.verdict is ReplayVerdict.INCONCLUSIVE
    assert any("time was too short" in one for one in result.unseen)
