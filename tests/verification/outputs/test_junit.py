"""JUnit XML: counts, texts, and claims that mean harm."""

from xml.etree import ElementTree as Xml

from rdpkit.verification.auditing.rules import DEFAULT, FailOn
from rdpkit.verification.outputs import AuditResult, junit
from tests.verification.finding_examples import HOSTILE, finding, hostile, one_of_each, refuted


def junit_xml(*result):
    return junit.junit_xml(AuditResult(*result))


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


def test_hostile_text_is_text():
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
