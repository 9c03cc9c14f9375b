"""Findings in words: the verdict, the difference, its line, and what it does not say."""

from __future__ import annotations

import json
import math

import pytest

import rdpkit
from rdpkit.verification.outputs.tests_of_code import summary_of_tests, view_of_replay
from rdpkit.verification.replay.findings import DifferenceKind, ReplayVerdict, spent_by
from tests.verification.replay.code_of_ones_own import replayed


def test_a_refutation_says_all_that_is_needed():
    refuted = replayed("number_of_records")
    rows = dict(refuted.rows())
    assert rows["verdict"] == "refuted (false-alarm rate 0.05)"
    assert "D has" in rows["pair"]
    assert "code_of_ones_own.py" in rows["difference"]
    assert "reject the claim" in rows["ordinary"]
    assert "seed=5" in rows["repeat"]
    assert "refutes nothing" not in str(rows)


@pytest.mark.thorough
def test_what_is_unaccounted_is_no_refutation_and_says_why():
    unaccounted = replayed("stability_histogram")
    assert unaccounted.verdict is ReplayVerdict.UNACCOUNTED
    assert any("stability histogram" in text for _, text in unaccounted.rows())
    assert not view_of_replay(unaccounted).rule
    assert view_of_replay(unaccounted, strict=True).rule == "code-unaccounted"
    assert ":warning:" in summary_of_tests([view_of_replay(unaccounted)])


def test_json_says_the_same():
    table = json.loads(json.dumps(replayed("number_of_records").as_dict()))
    assert table["verdict"] == "refuted"
    assert table["findings"][0]["differences"][0]["kind"] == "value"
    assert table["p_value"] < 0.05


@pytest.mark.parametrize("kind", DifferenceKind)
def test_every_kind_has_a_sentence(kind):
    assert kind.sentence(refuted=True)
    assert "refutes nothing" not in kind.sentence(refuted=True)


def call(**given):
    usual = {"family": "laplace", "known": True, "hides": True, "moved": [1.0] * 3,
             "relative": [0.5, 0.5], "declared": None, "line": "",
             "primitive": "noise"}  # fmt: skip
    return {**usual, **given}


def test_laplace_noise_adds_up():
    spent = spent_by([call(), call(relative=[0.25, 0.2])], [True, True], 0.0)
    assert spent.epsilon == pytest.approx(0.75)
    assert (spent.calls, spent.open_calls, spent.released) == (2, 0, True)


def test_gaussian_noise_is_that_of_the_accountant():
    spent = spent_by([call(family="normal", relative=[0.7, 0.5])] * 3, [True] * 3, 1e-5)
    wanted = rdpkit.epsilon(
        rdpkit.Gaussian(noise_std=2.0 / math.sqrt(3.0), record_norm=1.0),
        delta=1e-5,
        adjacency=rdpkit.Adjacency.ADD_OR_REMOVE_ONE,
    )
    assert spent.epsilon == pytest.approx(wanted.epsilon, rel=1e-3)
    assert spent.epsilon >= wanted.enclosure.lower * (1.0 - 1e-9)


def test_what_calls_declare_counts_where_the_record_moves_them():
    calls = [call(declared=(0.4, 0.0), relative=None), call(declared=(3.0, 0.0), moved=[0.0] * 3,
                                                            relative=None)]  # fmt: skip
    assert spent_by(calls, [True, True], 0.0).epsilon == pytest.approx(0.4)


def test_unknown_noise_is_counted_as_open_and_nothing_is_nothing():
    spent = spent_by([call(), call(known=False)], [True, False], 0.0)
    assert (spent.calls, spent.open_calls) == (1, 1)
    assert "1 more could not be counted" in spent.describe()
    assert spent_by([call(relative=[0.0, 0.0], moved=[0.0] * 3)], [True], 0.0) is None
    assert spent_by([call(relative=[math.inf, math.inf])], [True], 0.0) is None
