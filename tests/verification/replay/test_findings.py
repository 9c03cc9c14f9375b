"""Findings in words: the verdict, the difference, its line, and what it does not say."""

from __future__ import annotations

import json

import pytest

from rdpkit.verification import verify_by_replay
from rdpkit.verification.outputs.tests_of_code import summary_of_tests, view_of_replay
from rdpkit.verification.replay.findings import DifferenceKind, ReplayVerdict
from tests.verification.replay.code_of_ones_own import BROKEN, CORRECT


@pytest.fixture(scope="module")
def refuted():
    return verify_by_replay(BROKEN["number_of_records"][0], seed=5)


@pytest.fixture(scope="module")
def unaccounted():
    return verify_by_replay(CORRECT["stability_histogram"], seed=5, false_alarm_rate=1e-6)


def test_a_refutation_says_all_that_is_needed(refuted):
    rows = dict(refuted.rows())
    assert rows["verdict"] == "refuted (false-alarm rate 0.05)"
    assert "D has" in rows["pair"]
    assert "code_of_ones_own.py" in rows["difference"]
    assert "reject the claim" in rows["ordinary"]
    assert "seed=5" in rows["repeat"]
    assert "refutes nothing" not in str(rows)


def test_what_is_unaccounted_is_no_refutation_and_says_why(unaccounted):
    assert unaccounted.verdict is ReplayVerdict.UNACCOUNTED
    assert any("stability histogram" in text for _, text in unaccounted.rows())
    assert not view_of_replay(unaccounted).rule
    assert view_of_replay(unaccounted, strict=True).rule == "code-unaccounted"
    assert ":warning:" in summary_of_tests([view_of_replay(unaccounted)])


def test_json_says_the_same(refuted):
    table = json.loads(json.dumps(refuted.as_dict()))
    assert table["verdict"] == "refuted"
    assert table["findings"][0]["differences"][0]["kind"] == "value"
    assert table["p_value"] < 0.05


@pytest.mark.parametrize("kind", DifferenceKind)
def test_every_kind_has_a_sentence(kind):
    assert kind.sentence(refuted=True)
    assert "refutes nothing" not in kind.sentence(refuted=True)
