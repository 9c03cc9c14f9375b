"""The rules that findings break, and which of them make a check fail."""

import math

import pytest

from rdpkit.verification.auditing.findings import Side
from rdpkit.verification.auditing.rules import FailOn, Rule, broken_rules, failures
from tests.verification.finding_examples import finding, one_of_each


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
        ("refutd", "got 'refutd'. Did you mean 'refuted'?"),
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
