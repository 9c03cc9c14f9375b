"""Findings that are shipped: there for every claim, and what is proven again."""

import math

import pytest

from rdpkit.verification.auditing.audit import audit
from rdpkit.verification.auditing.findings import Bounds
from rdpkit.verification.auditing.shipped import FILE, ShippedFindings, with_remedies
from rdpkit.verification.claims.reading import load_files, register_files, shipped_files

REMEDY = "after a change, run python -m rdpkit.verification.auditing.shipped"


def claims():
    return load_files([*shipped_files(), *register_files()])


def test_every_shipped_claim_has_a_finding_and_no_other_is_kept():
    kept = ShippedFindings()
    missing = [one.id for one in claims() if kept.get(one, bounds=Bounds.ALL) is None]
    assert missing == [], REMEDY
    assert (len(kept), kept.damaged) == (len(claims()), ()), REMEDY


def test_a_changed_claim_has_none():
    first, *_ = claims()
    kept = ShippedFindings()
    changed = type(first)(**{**{k: getattr(first, k) for k in first.__slots__}, "delta": 1e-7})
    assert kept.get(first, bounds=Bounds.ALL) is not None
    assert kept.get(changed, bounds=Bounds.ALL) is None
    assert kept.get(first, bounds=Bounds.RDP) is None


def test_nothing_is_ever_added_to_what_is_shipped():
    before = FILE.read_bytes()
    first, *_ = claims()
    kept = ShippedFindings()
    kept.put(kept.get(first, bounds=Bounds.ALL), bounds=Bounds.RDP)
    kept.sync()
    assert FILE.read_bytes() == before


def same(left, right):
    """Whether two sides are equal, up to the last digits of a floating-point sum."""
    if left is None or right is None:
        return left is right
    return left.bound == right.bound and math.isclose(left.epsilon, right.epsilon, rel_tol=1e-9)


@pytest.mark.parametrize(
    ("step", "workers"),
    [pytest.param(37, 1, marks=pytest.mark.thorough), pytest.param(1, 2, marks=pytest.mark.slow)],
)
def test_findings_are_proven_again(step, workers):
    kept = ShippedFindings()
    for found in map(with_remedies, audit(claims()[::step], workers=workers)):
        known = kept.get(found.claim, bounds=Bounds.ALL)
        about = f"{found.claim.id}: {REMEDY}"
        for name in ("published", "upper", "lower"):
            assert same(getattr(found, name), getattr(known, name)), about
        for name in ("soundness", "reproduction", "notes", "refutation", "pair", "searched"):
            assert getattr(found, name) == getattr(known, name), about
