"""JUnit XML and SARIF: counts, texts, places and fingerprints, and claims that mean harm."""

import json
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest

from rdpkit.verification.auditing.audit import audit_files
from rdpkit.verification.auditing.rules import DEFAULT, FailOn
from rdpkit.verification.outputs import AuditResult, ci_formats
from rdpkit.verification.outputs.ci_formats import sarif
from tests.verification.claim_files import text
from tests.verification.finding_examples import (
    HOSTILE,
    finding,
    hostile,
    one_of_each,
    refuted,
    unproven,
)


def junit_xml(*result):
    return ci_formats.junit_xml(AuditResult(*result))


def test_a_suite_a_file_and_a_case_a_claim():
    findings = [*one_of_each(), finding("b", origin="other.claims.toml", line=3)]
    root = Xml.fromstring(junit_xml(findings, DEFAULT))
    assert root.tag == "testsuites"
    assert (root.get("tests"), root.get("failures")) == ("5", "1")
    one, two = root.findall("testsuite")
    assert (one.get("name"), one.get("tests"), one.get("failures")) == (
        "folder/a b.claims.toml",
        "4",
        "1",
    )
    assert [case.get("name") for case in one] == ["a", "r", "u", "m"]
    (case,) = two
    assert (case.get("file"), case.get("line")) == ("other.claims.toml", "3")
    assert case.find("failure") is None


def test_a_failure_has_a_type_a_message_and_the_whole_story():
    (failure,) = Xml.fromstring(junit_xml([refuted()], DEFAULT)).iter("failure")
    assert failure.get("type") == "refuted"
    assert "epsilon 0.5 at delta 1e-05 (replace-one) is refuted" in failure.get("message")
    for part in ("upper      1.00000 by pld-upper", "refuted by delta is at least 0.1", "change  "):
        assert part in failure.text


def test_what_fails_is_what_was_asked_for():
    def failed(*words):
        return len(
            list(Xml.fromstring(junit_xml(one_of_each(), FailOn.parse(words))).iter("failure"))
        )

    assert [failed("nothing"), failed("unproven"), failed("slack>1.05")] == [0, 2, 1]


def test_hostile_text_is_text_in_xml():
    root = Xml.fromstring(junit_xml(hostile(), DEFAULT))
    cases = list(root.iter("testcase"))
    assert len(cases) == len(HOSTILE)
    assert {element.tag for element in root.iter()} == {
        "testsuites",
        "testsuite",
        "testcase",
        "failure",
        "system-out",
    }
    assert cases[0].get("name") == HOSTILE[0]
    assert cases[8].get("name") == HOSTILE[8]
    # Characters that XML has no place for are replaced, so that any parser reads the rest.
    assert cases[6].get("name") == "\ufffd[2J\ufffd\ufffd\ud7ff\ufffd"


def test_no_claims_are_an_empty_document():
    assert Xml.fromstring(junit_xml([], DEFAULT)).get("tests") == "0"


def log(findings, fail_on=DEFAULT, **options):
    return json.loads(sarif(AuditResult(findings, fail_on), **options))


def results(findings, fail_on=DEFAULT, **options):
    (run,) = log(findings, fail_on, **options)["runs"]
    return run["results"]


def check(document):
    """The schema of SARIF 2.1.0, as classes made of it that accept no other key."""
    model = pytest.importorskip(
        "pydantic_sarif.model", reason="pydantic-sarif holds the SARIF schema"
    )
    model.StaticAnalysisResultsFormatSarifVersion210JsonSchema.model_validate(document)


@pytest.mark.parametrize(
    "findings", [[], one_of_each(), hostile()], ids=["none", "each", "hostile"]
)
def test_the_log_follows_the_schema(findings):
    check(log(findings, FailOn.parse(["refuted", "slack>1.05"])))


def test_rule_ids_are_stable():
    (run,) = log([])["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [
        "claim-refuted",
        "claim-unproven",
        "claim-differs",
        "claim-underspecified",
        "claim-slack",
    ]
    for result in results(one_of_each(), FailOn.parse(["slack>1.05"])):
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]


def test_a_sound_claim_is_no_result_and_a_broken_one_is_one_for_each_rule():
    assert results([finding()]) == []
    assert [(r["ruleId"], r["level"]) for r in results(one_of_each())] == [
        ("claim-refuted", "error"),
        ("claim-differs", "error"),
        ("claim-unproven", "warning"),
        ("claim-unproven", "warning"),
        ("claim-underspecified", "note"),
    ]
    levels = [r["level"] for r in results([unproven()], FailOn.parse(["unproven"]))]
    assert levels == ["error"]


def test_the_message_has_the_numbers_and_what_to_change():
    text = results([refuted()])[0]["message"]["text"]
    for part in (
        "Claim 'r'",
        "upper: 1.00000 by pld-upper",
        "lower: 0.990000 by",
        "raise the claim: epsilon = 1.0.",
    ):
        assert part in text


def test_the_place_is_relative_to_the_repository(tmp_path):
    inside = tmp_path / "a folder" / "x#1.claims.toml"
    found = results([refuted(origin=str(inside), line=12)], root=tmp_path)
    place = found[0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {
        "uri": "a%20folder/x%231.claims.toml",
        "uriBaseId": "%SRCROOT%",
    }
    assert place["region"] == {"startLine": 12}
    outside = results([refuted(origin=str(inside))], root=tmp_path / "other")
    place = outside[0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": inside.as_uri()}


def test_a_result_stays_the_same_where_only_its_place_or_its_number_moved():
    def prints(*findings):
        return [r["partialFingerprints"] for r in results(list(findings))]

    before = prints(refuted())
    assert len(before) == 2
    assert before[0] != before[1]
    assert before == prints(refuted(line=70, origin="other.toml", slack=0.4))
    assert before != prints(refuted("another"))


def test_text_is_neither_a_link_nor_the_place_of_an_argument():
    for result in results(hostile()):
        assert "](" not in result["message"]["text"]
    (braces,) = {
        r["message"]["text"] for r in results([refuted(HOSTILE[3])]) if "refuted" in r["ruleId"]
    }
    assert "{{0}} {{1}}" in braces


def test_a_file_of_a_name_that_is_no_path_is_named_all_the_same():
    assert results([refuted(origin="")], root=Path("/"))


def test_a_result_says_which_piece_of_the_file_is_replaced_by_what(tmp_path):
    path = tmp_path / "a.claims.toml"
    path.write_text("# numbers\n" + text(epsilon="0.5", bound='"best"') + text(id='"b"'))
    findings = audit_files(path)
    document = log(findings, root=tmp_path)
    check(document)
    (refuted_one, differs) = document["runs"][0]["results"]
    assert differs["ruleId"] == "claim-differs"
    claim, noise = refuted_one["fixes"]
    assert claim["description"]["text"] == "raise the claim: epsilon = 0.7256"
    (change,) = claim["artifactChanges"]
    assert change["artifactLocation"]["uri"] == "a.claims.toml"
    assert change["replacements"] == [
        {
            "deletedRegion": {"startLine": 7, "startColumn": 11, "endLine": 7, "endColumn": 14},
            "insertedContent": {"text": "0.7256"},
        }
    ]
    assert noise["artifactChanges"][0]["replacements"][0]["insertedContent"]["text"] == "7.032"
    # Without the file there is nothing to change.
    path.unlink()
    assert "fixes" not in log(findings)["runs"][0]["results"][0]
