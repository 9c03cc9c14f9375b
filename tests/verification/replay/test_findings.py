"""Findings in words: the verdict, the difference, its line, and what it does not say."""

from __future__ import annotations

import json

import pytest

from rdpkit.verification.outputs.tests_of_code import summary_of_tests, view_of_replay
from rdpkit.verification.replay.findings import DifferenceKind, ReplayVerdict
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
