"""Baselines: only what got worse fails, and everything that moved is shown."""

import json
import math

import pytest

from rdpkit.verification.auditing.baseline import compare, read_baseline, write_baseline
from rdpkit.verification.auditing.findings import Reproduction, Side, Soundness
from rdpkit.verification.auditing.rules import DEFAULT, FailOn
from tests.verification.finding_examples import (
    finding,
    hostile,
    one_of_each,
    refuted,
    underspecified,
    unproven,
)


@pytest.fixture
def since(tmp_path):
    """What moved between two lists of findings, through a file."""

    def go(before, now, words=("refuted", "differs")):
        fail_on = FailOn.parse(words)
        path = tmp_path / "baseline.json"
        write_baseline(path, before, fail_on)
        return compare(now, read_baseline(path), fail_on)

    return go


def side(epsilon):
    return Side(bound="x", epsilon=epsilon)


@pytest.mark.parametrize("findings", [[], one_of_each(), hostile()], ids=["none", "each", "harm"])
def test_nothing_moved(since, findings):
    comparison = since(findings, findings)
    assert comparison.changes == ()
    assert not comparison.worse


@pytest.mark.parametrize(
    ("before", "now", "worse"),
    [
        # A loss that grows is worse, whatever the verdict; one that shrinks is not.
        (finding(), finding(upper=side(1.05)), True),
        (finding(), finding(upper=side(0.95)), False),
        (finding(), finding(published=side(1.2)), True),
        (finding(), finding(published=side(0.9)), False),
        (finding(), finding(upper=None), True),
        (finding(), finding(upper=side(math.inf)), True),
        (finding(upper=side(math.inf)), finding(), False),
        # Within what floats differ between machines nothing moved.
        (finding(), finding(upper=side(1.0 + 1e-9)), False),
        # A better bound from below is no harm by itself.
        (finding(), finding(lower=side(0.995)), False),
        # A larger claim is worse if it held before, and a correction if it did not.
        (finding(epsilon="1.10"), finding(epsilon="1.20"), True),
        (finding(epsilon="1.10"), finding(epsilon="1.05"), False),
        (refuted("a"), finding("a"), False),
        # Verdicts that fail are worse, others are not.
        (finding(), finding(soundness=Soundness.REFUTED), True),
        (finding(), finding(reproduction=Reproduction.DIFFERS), True),
        (finding(), finding(soundness=Soundness.UNPROVEN), False),
        (finding(soundness=Soundness.REFUTED), finding(), False),
        (refuted(), refuted(), False),
        (refuted(reproduction=Reproduction.EXACT), refuted(), True),
    ],
)
def test_what_is_worse(since, before, now, worse):
    assert since([before], [now]).worse is worse


def test_another_delta_is_another_statement(since):
    before = finding()
    now = finding()
    object.__setattr__(now.claim, "delta", 1e-4)
    comparison = since([before], [now])
    assert comparison.worse
    assert comparison.lines() == [
        "a is worse:",
        "  - delta 1e-05",
        "  + delta 0.0001   (worse)",
    ]


def test_the_rules_say_what_is_worse(since):
    now = [finding(soundness=Soundness.UNPROVEN)]
    assert not since([finding()], now, ["refuted"]).worse
    assert since([finding()], now, ["unproven"]).worse
    assert since([finding(slack=1.0)], [finding(slack=1.2)], ["slack>1.1"]).worse
    assert not since([finding(slack=1.2)], [finding(slack=1.2)], ["slack>1.1"]).worse


def test_new_claims_fail_if_they_are_wrong_and_removed_ones_are_shown(since):
    comparison = since([finding("old")], [finding("new"), refuted("wrong")])
    assert comparison.lines() == [
        "new:",
        "  - claim not there",
        "  + claim new: epsilon 1.1, exact, sound",
        "wrong is worse:",
        "  - claim not there",
        "  + claim new: epsilon 0.5, differs, refuted   (worse)",
        "old:",
        "  - claim there",
        "  + claim removed",
    ]


def test_an_epsilon_that_moved_is_a_diff(since):
    comparison = since([finding()], [finding(upper=side(1.05))])
    assert comparison.lines() == ["a is worse:", "  - upper 1", "  + upper 1.05   (worse)"]
    assert comparison.as_dict() == {
        "worse": True,
        "changes": [
            {
                "id": "a",
                "worse": True,
                "moved": [{"what": "upper", "before": "1", "now": "1.05", "worse": True}],
            }
        ],
    }


def test_a_file_is_the_same_for_the_same_findings(tmp_path):
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    write_baseline(one, one_of_each(), DEFAULT)
    write_baseline(two, one_of_each()[::-1], DEFAULT)
    assert one.read_bytes() == two.read_bytes()
    assert len(list(tmp_path.iterdir())) == 2


ENTRY = {
    "claimed": 1.0,
    "published": 1.0,
    "upper": 1.0,
    "lower": None,
    "adjacency": "replace_one",
    "delta": 1e-5,
    "order": None,
    "reproduction": "exact",
    "soundness": "sound",
    "fails": [],
}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not a baseline in JSON"),
        ("[]", "expected a baseline of format 1"),
        ('{"format": 2, "claims": {}}', "expected a baseline of format 1"),
        ('{"format": 1, "claims": []}', "expected claims to be a table"),
        ('{"format": 1, "claims": {"a": {}}}', "claim 'a': expected a table of"),
        ("[" * 100000, "not a baseline in JSON"),
        *(
            (json.dumps({"format": 1, "claims": {"a": {**ENTRY, key: value}}}), f"expected {name}")
            for key, value, name in [
                ("upper", -1.0, "upper to be a number"),
                ("upper", "x", "upper to be a number"),
                ("upper", True, "upper to be a number"),
                ("soundness", "fine", "soundness to be one of"),
                ("soundness", [], "soundness to be one of"),
                ("fails", "refuted", "fails to be a list"),
                ("adjacency", 1, "adjacency to be a string"),
            ]
        ),
        (json.dumps({"format": 1, "claims": {"a": {**ENTRY, "upper": math.nan}}}), "NaN is not"),
    ],
)
def test_a_file_that_is_no_baseline(tmp_path, content, message):
    path = tmp_path / "b.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=message) as caught:
        read_baseline(path)
    assert str(caught.value).startswith(str(path))


def test_underspecified_claims_have_no_numbers(since):
    assert not since([underspecified()], [underspecified()]).changes
    assert not since([underspecified("a")], [unproven("a")]).worse
