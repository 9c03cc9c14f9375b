"""What makes a check fail, and what a failure says."""

from __future__ import annotations

import math

import pytest
from rdpkit.verification.auditing.findings import Side, Soundness
from rdpkit.verification.auditing.judgement import (
    FailOn,
    Rule,
    advice,
    broken_rules,
    failures,
    headline,
    report,
    statable,
)

from tests.verification.finding_examples import (
    finding,
    one_of_each,
    refuted,
    underspecified,
    unproven,
)


@pytest.mark.parametrize(
    ("words", "rules", "above"),
    [
        ([], set(), math.inf),
        (["nothing"], set(), math.inf),
        (["refuted"], {Rule.REFUTED}, math.inf),
        (["refuted, differs", "unproven"], {Rule.REFUTED, Rule.DIFFERS, Rule.UNPROVEN}, math.inf),
        (["slack>1.5"], {Rule.SLACK}, 1.5),
        (["slack>2,slack>1.25"], {Rule.SLACK}, 1.25),
    ],
)
def test_rules_are_read(words, rules, above):
    assert FailOn.parse(words) == FailOn(rules=frozenset(rules), slack_above=above)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("sound", "Expected fail-on to be refuted, unproven, differs, .* got 'sound'"),
        ("slack", "got 'slack'"),
        ("slack>", "got 'slack>'"),
        ("slack>x", "got 'slack>x'"),
        ("", "got ''"),
        ("slack>0.5", "Expected slack>N with N >= 1 in fail-on, got 'slack>0.5'"),
        ("slack>nan", "N >= 1"),
        ("slack>inf", "N >= 1"),
        ("nothing,refuted", "Expected nothing alone"),
    ],
)
def test_a_wrong_rule_is_refused(word, message):
    with pytest.raises(ValueError, match=message):
        FailOn.parse([word])


def test_which_rules_are_broken():
    assert [broken_rules(one) for one in one_of_each()] == [
        (),
        (Rule.REFUTED, Rule.DIFFERS),
        (Rule.UNPROVEN,),
        (Rule.UNPROVEN, Rule.UNDERSPECIFIED),
    ]


def test_slack_is_a_rule_only_where_it_is_asked_for():
    assert failures(finding(slack=3.0), FailOn.parse(["refuted"])) == ()
    assert failures(finding(slack=3.0), FailOn.parse(["slack>2.9"])) == (Rule.SLACK,)
    assert failures(finding(slack=3.0), FailOn.parse(["slack>3"])) == ()


def test_something_claimed_where_nothing_is_lost_is_slack_without_end():
    upper = Side(bound="x", epsilon=0.0)
    assert failures(finding(slack=None, upper=upper), FailOn.parse(["slack>100"])) == (Rule.SLACK,)
    nothing = finding(slack=None, upper=upper, epsilon="0")
    assert failures(nothing, FailOn.parse(["slack>1"])) == ()


@pytest.mark.parametrize(
    ("printed", "upper", "stated"),
    [
        ("1.10", 1.2341, "1.24"),
        ("1.1", 1.2341, "1.24"),
        ("0.5", 0.7255, "0.726"),
        ("1", 0.0123, "0.0123"),
        ("10", 10.04, "11"),
        ("inf", 1.2341, "1.24"),
        ("0", 0.12341, "0.124"),
        ("1e2", 123.4, "124"),
    ],
)
def test_what_can_be_claimed_is_never_less_than_the_bound(printed, upper, stated):
    found = statable(finding(epsilon=printed, upper=Side(bound="x", epsilon=upper)))
    assert float(found) >= upper
    assert found == stated


def test_nothing_can_be_claimed_without_a_bound():
    assert statable(finding(upper=None)) is None
    infinite = unproven(upper=Side(bound="x", epsilon=math.inf))
    assert statable(infinite) is None
    assert "a mechanism and adjacency that a theorem is about" in advice(infinite, Rule.UNPROVEN)


@pytest.mark.parametrize("one", [*one_of_each(), refuted(lower=None), finding(slack=None)])
def test_every_rule_has_words_for_every_finding_that_breaks_it(one):
    for rule in broken_rules(one, slack_above=1.05):
        assert headline(one, rule)
        assert advice(one, rule)


def test_what_is_claimed_falsely_of_code_or_a_release_is_told_by_its_refutation():
    one = finding(soundness=Soundness.REFUTED, refutation=("array 'features' has changed",))
    assert "refuted: array 'features' has changed" in headline(one, Rule.REFUTED)
    assert "correct what the claim points at" in advice(one, Rule.REFUTED)


def test_a_report_has_all_of_it():
    text = "\n".join(report(refuted(notes=("a note",)), [Rule.REFUTED, Rule.DIFFERS]))
    for part in (
        "is refuted: two neighbouring data sets attain at least 0.99",
        "differs: the formula gaussian gives 1.09900",
        "claimed    epsilon 0.5 at delta 1e-05 (replace_one)",
        "published  1.09900 by gaussian at order 12.5",
        "upper      1.00000 by pld-upper",
        "lower      0.990000 by pair-lower",
        "refuted by delta is at least 0.1",
        "assumes    noise is secret",
        "change     claim epsilon = 1.0, or add noise",
        "change     print epsilon = 1.1",
    ):
        assert part in text


def test_an_underspecified_claim_lists_what_is_missing():
    assert headline(underspecified(), Rule.UNDERSPECIFIED).endswith("is underspecified: sigma")
