"""The words of a finding: what is claimed, what is wrong with it, and what to change."""

import html
import json
import math
import re
from xml.etree import ElementTree as Xml

import pytest
from click.testing import CliRunner

from rdpkit.verification.auditing.audit import audit as audit_claims
from rdpkit.verification.auditing.findings import Findings, Side, Soundness
from rdpkit.verification.auditing.remedies import statable
from rdpkit.verification.auditing.rules import DEFAULT, FailOn, Rule, broken_rules
from rdpkit.verification.claims.reading import loads
from rdpkit.verification.cli.audit import audit
from rdpkit.verification.outputs import AuditResult
from rdpkit.verification.outputs.explorer import Audit, Explorer, pages, works_of
from rdpkit.verification.outputs.html import AuditedFile, Provenance, page
from rdpkit.verification.outputs.junit import junit_xml
from rdpkit.verification.outputs.markdown import summary
from rdpkit.verification.outputs.sarif import sarif
from rdpkit.verification.outputs.table import csv_table, tex_table
from rdpkit.verification.outputs.terminal import explanation, print_table
from rdpkit.verification.outputs.verdict import LOOSE, NOT_PRINTED, reason
from rdpkit.verification.outputs.view import NOT_STATED, advice, evaluation, headline, report
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


def test_a_number_that_is_not_printed_has_one_name_in_every_output(tmp_path):
    findings = [underspecified()]
    result = AuditResult(findings, DEFAULT)
    made = Provenance(title="t", made="now", files=(), versions={"rdpkit": "0"}, settings={})
    (tmp_path / "a.toml").write_text(
        text(mechanism='"unmodelled"', parameters=None, epsilon=None, missing='["sigma"]')
    )
    printed = CliRunner().invoke(audit, [str(tmp_path / "a.toml")]).stdout
    assert NOT_PRINTED in printed
    assert f"epsilon {NOT_PRINTED}" in "\n".join(explanation(findings[0]))
    assert f"<dd>{NOT_PRINTED} at" in page(findings, [None], made)
    assert f"| epsilon {NOT_PRINTED} " in summary(result)
    assert f"epsilon {NOT_PRINTED}" in "".join(Xml.fromstring(junit_xml(result)).itertext())
    assert f"epsilon {NOT_PRINTED}" in sarif(result)
    assert f"epsilon {NOT_PRINTED}" in report(findings[0], [Rule.UNDERSPECIFIED])[0]


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
