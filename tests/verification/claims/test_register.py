"""The register: every work is complete, every claim is placed, and the verdicts are as stored."""

import dataclasses
from collections import Counter

import pytest

from rdpkit.verification.auditing.driver import audit_files
from rdpkit.verification.auditing.findings import Soundness
from rdpkit.verification.claims.format import KINDS
from rdpkit.verification.claims.reading import load_files, register_files, shipped_files
from tests.oracles.register_page import PAGE, between_the_marks, made

BY_FILE = {path.stem: load_files([path]) for path in register_files()}
CLAIMS = load_files(register_files())


@pytest.mark.parametrize("name", BY_FILE)
def test_a_file_is_one_work_and_says_what_was_read(name):
    (work,) = {claim.work for claim in BY_FILE[name]}
    assert work is not None
    given = {f.name: getattr(work, f.name) for f in dataclasses.fields(work)}
    assert all(given.values()), f"{name}: {[key for key, value in given.items() if not value]}"
    assert work.url is not None
    assert work.url.startswith("https://")
    assert work.kind in KINDS


@pytest.mark.parametrize("name", BY_FILE)
def test_every_claim_says_where_it_is_printed(name):
    for claim in BY_FILE[name]:
        assert len(claim.source.split()) > 1, claim.id
        assert claim.kind in KINDS
        assert claim.event is not None or claim.missing, claim.id


def test_ids_are_unique_beside_those_of_the_papers():
    ids = [claim.id for claim in load_files([*shipped_files(), *register_files()])]
    assert len(ids) == len(set(ids))


def test_no_work_is_there_twice():
    titles = Counter(claims[0].work.title for claims in BY_FILE.values())
    assert set(titles.values()) == {1}


def test_a_claim_of_shuffled_batches_models_shuffled_batches():
    for claim in CLAIMS:
        if claim.kind == "shuffled" and claim.mechanism == "dpsgd" and claim.event is not None:
            assert claim.event.sampling == "shuffle", claim.id


@pytest.mark.slow
def test_the_page_has_the_verdicts_of_an_audit():
    # The script that writes them: python -m tests.oracles.register_page.
    findings = audit_files(*register_files())
    assert between_the_marks(PAGE.read_text()) == made(findings).strip()
    for finding in findings:
        if finding.soundness is Soundness.REFUTED:
            assert finding.lower is not None
            assert finding.claim.epsilon is not None
            assert finding.lower.epsilon > float(finding.claim.epsilon)
            assert finding.refutation
