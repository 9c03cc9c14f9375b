"""Claims that carry certificates: they are checked, and have to be about the claim."""

import json
import re

import pytest

import rdpkit
from rdpkit import kernel
from rdpkit.interop.certificates import certificate
from rdpkit.verification.auditing.audit import audit_files
from rdpkit.verification.auditing.certified import certify, file_name, kept_certificates
from tests.verification.claim_files import text

GAUSSIAN = rdpkit.Gaussian(noise_std=5.0, record_norm=1.0)
COMMON = {"adjacency": "add_or_remove_one", "delta": 1e-5}
OWN = {"claimed": "1.05", **COMMON}


def audited(folder, content, **changes):
    """The finding about a claim of epsilon 1.10 that carries a certificate."""
    (folder / "a.certificate.json").write_text(content, encoding="utf-8")
    file = folder / "a.claims.toml"
    file.write_text(text(certificate='"a.certificate.json"', **changes), encoding="utf-8")
    (finding,) = audit_files(file)
    return finding


def test_a_certificate_of_the_claim_or_of_more_is_noted(tmp_path):
    content = certificate(GAUSSIAN, **OWN)
    finding = audited(tmp_path, content)
    assert any("the small checker accepts: at most 1.05" in note for note in finding.notes)
    assert kept_certificates([finding], None) == {"a": content}


def test_a_refutation_is_noted(tmp_path):
    false = certificate(GAUSSIAN, claimed="0.7", refuted=True, **COMMON)
    finding = audited(tmp_path, false, epsilon="0.6")
    assert any("accepts: exceeded 0.7" in note for note in finding.notes)


def test_rho_is_noted(tmp_path):
    found = certificate(GAUSSIAN, claimed="0.02", adjacency="add_or_remove_one")
    finding = audited(tmp_path, found, epsilon=None, delta=None, rho="0.02")
    assert any("accepts: at most 0.02" in note for note in finding.notes)
    with pytest.raises(ValueError, match="another number"):
        audited(tmp_path, found, epsilon="0.02", delta="1e-5")


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"event": rdpkit.Gaussian(noise_std=6.0, record_norm=1.0)}, "another release"),
        ({"adjacency": "replace_one", "claimed": "1.9"}, "another relation"),
        ({"claimed": "1.2"}, "about 1.2, and not 1.10"),
        ({"delta": 1e-4}, "about delta 0.0001, and not 1e-05"),
        ({"delta": None, "order": 2.0}, "about delta None, and not 1e-05"),
        ({"claimed": "0.6", "refuted": True}, "about 0.6, and not 1.10"),
    ],
)
def test_a_certificate_of_something_else_is_an_error(tmp_path, other, message):
    given = {**OWN, **other}
    event = given.pop("event", GAUSSIAN)
    with pytest.raises(ValueError, match=re.escape(message)):
        audited(tmp_path, certificate(event, **given))


def test_a_divergence_says_nothing_of_an_epsilon_that_was_converted(tmp_path):
    one = certificate(GAUSSIAN, claimed="1.1", adjacency="add_or_remove_one", order=10.0)
    with pytest.raises(ValueError, match="about delta None, and not 1e-05"):
        audited(tmp_path, one, order="10.0")


def test_a_tiny_delta_is_not_zero(tmp_path):
    tiny = json.loads(certificate(GAUSSIAN, **{**OWN, "claimed": "100"}))
    tiny["claim"]["delta"] = "1e-330"
    tiny["sha256"] = kernel.digest(tiny["claim"])
    with pytest.raises(ValueError, match="about delta 1e-330, and not 0"):
        audited(tmp_path, json.dumps(tiny), epsilon="100.0", delta="0.0")


def test_a_false_certificate_is_an_error(tmp_path):
    found = json.loads(certificate(GAUSSIAN, **OWN))
    found["claim"]["epsilon"] = "0.7"
    with pytest.raises(ValueError, match="the hash is not that of the claim"):
        audited(tmp_path, json.dumps(found))
    found["sha256"] = kernel.digest(found["claim"])
    with pytest.raises(ValueError, match=r"claim 'a': its certificate is not accepted"):
        audited(tmp_path, json.dumps(found))


@pytest.mark.parametrize("name", ['"nowhere.json"', '"/etc/hosts"', "3"])
def test_a_certificate_that_is_no_file_beside_the_claims_is_an_error(tmp_path, name):
    file = tmp_path / "a.claims.toml"
    file.write_text(text(certificate=name), encoding="utf-8")
    with pytest.raises(ValueError, match="certificate"):
        audit_files(file)


def test_certificates_are_found_again_in_their_folder(tmp_path):
    file = tmp_path / "a.claims.toml"
    # Two ids of which the same would be left, and a plain one.
    ids = ["a/../b c", "a-..-b/c", "a-..-b-c"]
    file.write_text("".join(text(id=f'"{name}"') for name in ids), encoding="utf-8")
    findings, kept = audit_files(file), tmp_path / "kept"
    assert [reason for _, reason in certify(findings, kept)] == [""] * 3
    found = kept_certificates(findings, kept)
    assert [json.loads(one)["about"]["id"] for one in found.values()] == ids == list(found)
    assert {"a-..-b-c.certificate.json"} < {path.name for path in kept.iterdir()}


def test_names_of_certificates_fit_a_file_system():
    one, other = (file_name("claim " * 900 + end) for end in "ab")
    assert one != other
    assert max(len(one), len(other)) < 143
    assert file_name("as-it-is.1") == "as-it-is.1.certificate.json"
