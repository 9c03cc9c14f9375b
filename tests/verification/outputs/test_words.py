"""The words of a finding and the news of an audit: each is true of exactly what was found."""

import html
import json
import math
import re
from dataclasses import replace
from decimal import Decimal

import pytest

from rdpkit.verification.auditing.audit import audit as audit_claims
from rdpkit.verification.auditing.findings import (
    ClaimVerdict,
    Findings,
    Reproduction,
    Side,
    Soundness,
    false_by_rounding,
    with_readings,
)
from rdpkit.verification.auditing.remedies import statable
from rdpkit.verification.auditing.rules import FailOn, Rule, broken_rules
from rdpkit.verification.claims.claim import Work
from rdpkit.verification.claims.reading import loads
from rdpkit.verification.outputs import AuditResult
from rdpkit.verification.outputs.ci_formats import junit_xml, sarif
from rdpkit.verification.outputs.explorer import Audit, Explorer, pages, works_of
from rdpkit.verification.outputs.html import AuditedFile, Provenance, page
from rdpkit.verification.outputs.news import (
    VerdictCounts,
    by_source,
    could_be_halved,
    sentences,
    worst_first,
)
from rdpkit.verification.outputs.summaries import csv_table, summary, tex_table
from rdpkit.verification.outputs.terminal import explanation, print_table
from rdpkit.verification.outputs.words import (
    LOOSE,
    NOT_PRINTED,
    NOT_STATED,
    advice,
    evaluation,
    headline,
    reason,
    report,
    sentence,
)
from tests.verification.claim_files import text
from tests.verification.finding_examples import (
    finding,
    nearly_true,
    one_of_each,
    refuted,
    underspecified,
    unproven,
)


@pytest.mark.parametrize(
    ("printed", "upper", "stated"),
    [
        ("1.10", 1.2341, "1.24"),
        ("1.1", 1.2341, "1.235"),
        ("0.5", 0.7255, "0.7255"),
        ("1.0", 1.0000000000000016, "1.001"),
        ("1", 0.0123, "0.01230"),
        ("10", 10.04, "10.04"),
        ("inf", 1.2341, "1.235"),
        ("0", 0.12341, "0.1235"),
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
    assert "a mechanism and adjacency that a theorem is about" in advice(infinite)


@pytest.mark.parametrize("one", [*one_of_each(), refuted(lower=None), finding(slack=None)])
def test_every_rule_has_words_for_every_finding_that_breaks_it(one):
    for rule in broken_rules(one, slack_above=1.05):
        assert headline(one, rule)
        assert advice(one)


def test_what_is_claimed_falsely_of_code_or_a_release_is_told_by_its_refutation():
    one = finding(soundness=Soundness.REFUTED, refutation=("array 'features' has changed",))
    assert "refuted: array 'features' has changed" in headline(one, Rule.REFUTED)
    assert "correct the code or the release that the claim points at" in advice(one)


def test_a_report_has_all_of_it():
    text = "\n".join(report(refuted(notes=("a note",)), [Rule.REFUTED, Rule.DIFFERS]))
    for part in (
        "is refuted: two neighbouring data sets leak at least 0.99",
        "differs: the formula gaussian gives 1.09900",
        "claimed    epsilon 0.5 at delta 1e-05 (replace-one)",
        "published  1.09900 by gaussian at order 12.5",
        "upper      1.00000 by pld-upper",
        "lower      0.990000 by pair-lower",
        "refuted by delta is at least 0.1",
        "assumes    noise is secret",
        "change     raise the claim: epsilon = 1.0",
    ):
        assert part in text


@pytest.mark.thorough
def test_an_evaluation_says_what_nobody_states():
    (found,) = audit_claims(loads(text()))
    answers = dict(evaluation(found))
    assert answers["Unit of privacy"] == "one record"
    assert answers["Promise"].startswith("epsilon 1.10 at delta 1e-05")
    assert answers["Does it hold"] == "sound, by the audit"
    assert "noise_std = 5" in answers["Mechanism and its parameters"]
    assert answers["Implementation"] == "not looked at"
    unsaid = ("Whose records these are", "Who has to be trusted, and who sees the data")
    assert all(answers[question] == NOT_STATED for question in unsaid)
    steps = {"noise_multiplier": "1.0", "dataset_size": "6000", "batch_size": "60", "epochs": "1.0"}
    users = text(mechanism='"dpsgd"', parameters={**steps, "examples_per_user": "3"})
    (found,) = audit_claims(loads(users))
    assert dict(evaluation(found))["Unit of privacy"] == "all 3 records of a user"


def test_an_evaluation_of_what_cannot_be_computed_says_that_it_is_not_stated():
    answers = dict(evaluation(underspecified()))
    assert answers["Left out by the source"] != "nothing that the audit needs"
    assert answers["Assumed"] == NOT_STATED
    assert f"{NOT_STATED}: sigma" in answers["Mechanism and its parameters"]


def test_an_underspecified_claim_lists_what_is_missing():
    assert headline(underspecified(), Rule.UNDERSPECIFIED).endswith(
        "is underspecified: the source does not give sigma"
    )


# Where the verdict stands in each output.
_STANDS = {
    "terminal": r"^verdict +(\w+)",
    "table": r"^\w\t.*\t(\w+)\t\w+\t[^\t]*\t[a-z-]+$",
    "csv": r"^\w,.*,(\w+)$",
    "tex": r" & (\w+) \\\\\n\\hline\n\\end",
    "markdown": r"\| (?!verdict)(\w+) \|$",
    "junit": r"^\s*(?:<system-out>)?\w+, (\w+)$",
    "page": r'data-verdict="(\w+)"',
    "explorer": r'class="verdict (\w+)"',
    "python": r"^\w: (\w+),|^1 claim: 1 (\w+)$",
    "notebook": r">(\w+)</td></tr></table>",
    "json": r'"verdict": "(\w+)"',
}


@pytest.mark.parametrize("one", [*one_of_each(), *nearly_true()])
def test_every_output_says_the_same_of_a_claim(one, capsys):
    result = AuditResult(
        [one], FailOn.parse(["refuted", "unproven", "underspecified", "slack>1.05"])
    )
    made = Provenance(title="t", made="now", files=(), versions={"rdpkit": "0"}, settings={})
    where = AuditedFile(path=one.claim.origin, name="f", digest="0" * 64, audit="rdpkit audit f")
    explored = Explorer(
        title="t",
        works=works_of([one], [where]),
        audit=Audit(version="1", date="2026-01-01"),
        versions={},
    )
    shown = {
        "terminal": "\n".join(explanation(one)),
        "page": page([one], [None], made),
        "explorer": dict(pages(explored))["works/" + works_of([one], [where])[0].slug + ".html"],
    }
    if broken_rules(one, slack_above=LOOSE):
        # What is fine stands as a row of numbers there.
        shown |= {"markdown": summary(result), "sarif": sarif(result), "junit": junit_xml(result)}
    for name, said in shown.items():
        plain = re.sub(r"\\(.)", r"\1", html.unescape(re.sub(r"<[^>]+>", "", said)))
        assert reason(one) in " ".join(plain.split()), name
        # A number that the source does not print has one name.
        assert one.claim.epsilon is not None or NOT_PRINTED in plain, name
    # One word for the verdict, and no other one where a verdict stands.
    print_table([one])
    shown |= {
        "table": capsys.readouterr().out,
        "csv": csv_table(result),
        "tex": tex_table(result),
        "markdown": summary(result),
        "junit": junit_xml(result),
        "python": f"{one}\n{Findings([one])}",
        "notebook": Findings([one])._repr_html_(),
        "json": json.dumps(one.as_dict()),
    }
    for name, stands in _STANDS.items():
        said = {word for found in re.finditer(stands, shown[name], re.M) for word in found.groups()}
        assert said - {None} == {one.verdict.value}, (name, shown[name])


def theorem(found, *, bound="theorem1"):
    return replace(found, claim=replace(found.claim, kind="theorem", bound=bound))


def of_work(found, title):
    work = Work(title=title, authors="A", year=2020, kind="training", url="u", read="all of it")
    return replace(found, claim=replace(found.claim, work=work))


def test_counts_hold_every_claim_once():
    counts = VerdictCounts.of([*one_of_each(), finding("another", slack=2.0)])
    assert counts == VerdictCounts(
        claims=5,
        refuted=1,
        sound=2,
        depends=0,
        approximate=0,
        missing=1,
        open=1,
        differs=1,
        halved=1,
        rounded=0,
    )


@pytest.mark.parametrize(
    ("findings", "expected"),
    [
        ([finding()], "The claim is proven."),
        ([finding(slack=2.5)], "The claim is proven, and could be halved."),
        ([refuted()], "The claim is refuted."),
        ([unproven()], "The claim can be neither proven nor refuted."),
        ([underspecified()], "The claim cannot be recomputed from what is given."),
        ([finding("a"), finding("b")], "Of 2 claims none is refuted, and 2 are proven."),
        (
            one_of_each(),
            "Of 4 claims 1 is refuted, 1 differs from its own formula, 1 can be neither proven "
            "nor refuted, 1 cannot be recomputed from what is given, and 1 is proven.",
        ),
        ([], "There are no such claims."),
    ],
)
def test_sentences_about_claims(findings, expected):
    assert sentences(findings) == [expected]


def test_a_false_theorem_comes_first_with_the_settings_at_which_it_fails():
    found = [theorem(refuted()), theorem(finding()), theorem(finding(), bound="corrected")]
    said = sentences([of_work(one, "one paper") for one in [*found, finding(), finding("b")]])
    assert said[0] == (
        "1 theorem of 1 paper is false as printed: 1 of the 2 settings at which it was tested "
        "leaks more than it says."
    )
    assert said[1] == "Of 2 budgets none is refuted, and 2 are proven."


def test_theorems_that_hold_are_not_said_to_be_false():
    assert sentences([theorem(finding())]) == [
        "1 theorem of 1 paper was tested, and none is refuted."
    ]


def test_only_what_is_proven_could_be_halved():
    assert could_be_halved(finding(slack=2.0))
    assert not could_be_halved(finding(slack=1.99))
    assert not could_be_halved(unproven(slack=2.0))


def test_a_claim_that_is_false_by_its_last_digit_is_said_to_be():
    upper = Side(bound="pld-upper", epsilon=1.093)
    nearly = refuted(upper=upper, lower=Side(bound="pair-lower", epsilon=1.092))
    nearly = replace(nearly, claim=replace(nearly.claim, epsilon=Decimal("1.09")))
    assert false_by_rounding(nearly)
    assert not false_by_rounding(refuted())
    assert sentences([nearly, finding("b")])[0].startswith(
        "Of 2 claims none is refuted, 1 is false by the last digit alone, "
    )


def test_the_worst_come_first_and_claims_that_are_fine_not_at_all():
    differs = finding("d", reproduction=Reproduction.DIFFERS)
    found = worst_first([finding(), differs, unproven(), refuted("far", slack=0.1), refuted()])
    assert [one.claim.id for one in found] == ["far", "r", "u", "d"]


def test_sources_are_works_or_files_and_the_worst_comes_first():
    found = by_source([finding(), of_work(refuted(), "A work")])
    assert [(name, counts.refuted) for name, counts in found] == [
        ("A work", 1),
        ("a b.claims.toml", 0),
    ]


def readings(*soundness, **changes):
    """Findings about one number, each of another reading; the first claim is the number's."""
    made = []
    for place, verdict in enumerate(soundness):
        own = refuted() if verdict is Soundness.REFUTED else finding()
        claim = replace(
            own.claim,
            id=f"r{place}",
            reads="r0" if place else None,
            reading=f"way {place}",
            **changes,
        )
        made.append(replace(own, claim=claim))
    return with_readings(made)


def test_a_number_is_false_only_if_every_reading_is():
    both = readings(Soundness.REFUTED, Soundness.REFUTED)
    assert [one.verdict for one in both] == [ClaimVerdict.FALSE] * 2
    assert VerdictCounts.of(both).refuted == 1
    one = readings(Soundness.SOUND, Soundness.REFUTED)
    assert [each.verdict for each in one] == [ClaimVerdict.DEPENDS] * 2
    counts = VerdictCounts.of([*one, finding("b")])
    assert (counts.claims, counts.refuted, counts.depends, counts.sound) == (2, 0, 1, 1)
    assert "1 holds in one reading and not in another" in sentences([*one, finding("b")])[0]
    assert [each.claim.id for each in worst_first(one)] == ["r1"]
    assert "with way 1, two neighbouring data sets leak at least" in reason(one[1])
    assert "read with way 0" in reason(one[1])
    assert "read with way 1: at least" in reason(one[0])


def test_of_several_false_readings_the_one_that_leaks_least_is_shown():
    low, high = readings(Soundness.REFUTED, Soundness.REFUTED)
    high = replace(high, lower=replace(high.lower, epsilon=high.lower.epsilon * 3))
    shown = worst_first(with_readings([high, low]))
    assert [one.claim.id for one in shown] == [low.claim.id]


def test_an_approximation_is_compared_and_not_accused():
    (one,) = readings(Soundness.REFUTED, approximation="by a limit theorem")
    assert one.verdict is ClaimVerdict.APPROXIMATE
    assert "as an approximation by a limit theorem" in sentence(one)
    assert "1 is an approximation below the truth" in sentences([one, finding("b")])[0]
    # What a release or code refutes is no matter of an approximation.
    assert replace(one, lower=None).verdict is ClaimVerdict.FALSE


def test_what_is_open_in_another_reading_is_neither_false_nor_held_to_hold():
    false, _ = readings(Soundness.REFUTED, Soundness.SOUND)
    found = with_readings([false, replace(unproven(), claim=replace(unproven().claim, reads="r0"))])
    assert found[0].verdict is ClaimVerdict.OPEN
    assert "can be neither proven nor refuted" in sentences(found)[0]


def test_what_could_be_halved_is_proven_in_every_reading():
    found = readings(Soundness.SOUND, Soundness.REFUTED)
    loose = with_readings([replace(found[0], slack=3.0, readings=()), found[1]])
    assert VerdictCounts.of(loose).halved == 0


def test_a_theorem_that_is_false_in_a_reading_is_counted_where_it_is():
    found = [theorem(one) for one in readings(Soundness.SOUND, Soundness.REFUTED)]
    assert "1 of the 2 settings" in sentences(with_readings(found))[0]
