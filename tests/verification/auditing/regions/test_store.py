"""Stored regions: they are those of the shipped claims, and restored as they were computed."""

import dataclasses
import math

import pytest

from rdpkit.formats.records import as_plain
from rdpkit.verification.auditing.audit import findings_about
from rdpkit.verification.auditing.cache import AuditCache
from rdpkit.verification.auditing.regions.compute import region_of
from rdpkit.verification.auditing.regions.store import (
    as_stored,
    key_of,
    known_region,
    regions_of,
    restored,
    store,
)
from rdpkit.verification.claims.reading import load_files, register_files, shipped_files
from tests.verification.auditing.regions.completed_claims import incomplete

CLAIM = incomplete('search = "noise_std"')
MISSING = [
    claim
    for claim in load_files([*shipped_files(), *register_files()])
    if claim.unknown is not None
]


def same(one, other, *, closeness):
    """Whether two regions have the same verdicts, with ends that are close."""
    for first, second in zip(one.rows, other.rows, strict=True):
        assert first.values == second.values
        assert [b.verdict for b in first.bands] == [b.verdict for b in second.bands]
        for a, b in zip(first.bands, second.bands, strict=True):
            assert math.isclose(a.low, b.low, rel_tol=closeness, abs_tol=1.0 * (a.low > 50))
            assert math.isclose(a.high, b.high, rel_tol=closeness, abs_tol=1.0 * (a.high > 50))


def test_the_region_of_every_shipped_claim_is_stored():
    for claim in MISSING:
        region = known_region(claim)
        assert region is not None, claim.id
        assert len(region.rows) == len(region.sentences) == len(claim.unknown.cases)
        for row in region.rows:
            assert row.bands[0].low <= row.bands[-1].high


QUICK = ("dpmix-figure4.3-sigma0.7", "local-perturbation-table3-mnist-epsilon20", "dphp-mnist")


@pytest.mark.parametrize(
    "claim",
    [
        pytest.param(claim, id=claim.id, marks=() if claim.id in QUICK else pytest.mark.slow)
        for claim in MISSING
    ],
)
def test_stored_regions_are_what_is_computed(claim):
    closeness = 1e-2 if claim.id in QUICK else 0.1
    same(known_region(claim), region_of(claim), closeness=closeness)


def test_the_key_is_about_what_was_asked_alone():
    unknown = CLAIM.unknown
    because = dataclasses.replace(CLAIM, unknown=dataclasses.replace(unknown, because="other"))
    high = dataclasses.replace(CLAIM, unknown=dataclasses.replace(unknown, high=5.0))
    assert key_of(because) == key_of(dataclasses.replace(CLAIM, id="b")) == key_of(CLAIM)
    others = [high, dataclasses.replace(CLAIM, delta=1e-6), dataclasses.replace(CLAIM, epsilon=2)]
    assert len({key_of(one) for one in (CLAIM, *others)}) == 4


def test_a_region_is_restored_from_its_bands():
    region = region_of(CLAIM)
    assert restored(CLAIM, as_stored(region)) == region
    assert as_plain(region.as_dict()) == region.as_dict()
    with pytest.raises(ValueError, match="zip"):
        restored(CLAIM, [])


def test_what_is_stored_is_not_computed_again(tmp_path, capsys):
    path = tmp_path / "stored.json"
    store([CLAIM, dataclasses.replace(CLAIM, id="same")], path)
    first = path.read_bytes()
    store([CLAIM], path)
    assert capsys.readouterr().out == "a computed\na stored\n"
    assert path.read_bytes() == first


def test_a_finding_has_a_region_if_it_is_asked_for_or_known(tmp_path):
    (finding,) = findings_about([CLAIM])
    assert finding.region is None
    assert finding.as_dict()["region"] is None
    cache = AuditCache(tmp_path / "cache")
    (finding,) = findings_about([CLAIM], regions=True, cache=cache)
    assert finding.region == region_of(CLAIM)
    assert finding.soundness.value == "unproven"
    assert cache.get_region(CLAIM) == finding.region
    (known,) = findings_about([CLAIM], cache=AuditCache(tmp_path / "cache"))
    assert known.region == finding.region


def test_a_damaged_region_is_computed_again(tmp_path):
    class Damaged(AuditCache):
        def put_region(self, claim, region):
            row = dataclasses.replace(region.rows[0], bands=())
            super().put_region(claim, dataclasses.replace(region, rows=(row, row)))

    cache = Damaged(tmp_path / "cache")
    cache.put_region(CLAIM, region_of(CLAIM))
    assert AuditCache(tmp_path / "cache").get_region(CLAIM) is None


def test_regions_of_complete_claims_are_none():
    complete = dataclasses.replace(CLAIM, missing=(), unknown=None)
    assert list(regions_of([complete, CLAIM], compute=True)) == [None, region_of(CLAIM)]
    assert list(regions_of([complete, CLAIM], compute=False)) == [None, None]


def test_a_reason_is_a_region_without_rows():
    claim = incomplete('none = "nobody knows"')
    region = known_region(claim)
    assert (region.rows, region.sentences, region.because) == ((), (), "nobody knows")
