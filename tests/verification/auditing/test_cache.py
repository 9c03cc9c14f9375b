"""Findings on the disk: the same as computed ones, and damage is noticed, named and repaired."""

import dataclasses
import random

import pytest

from rdpkit.verification.auditing.audit import audit
from rdpkit.verification.auditing.cache import AuditCache, DamagedCacheWarning
from rdpkit.verification.claims.reading import load_files, loads, shipped_files
from tests.verification.claim_files import text

CLAIMS = loads("\n".join(text(id=f'"c{k}"', epsilon=f"0.{k + 3}0") for k in range(6)))


@pytest.fixture(scope="module")
def fresh():
    return list(audit(CLAIMS, bounds="rdp"))


def counting(monkeypatch):
    """The ids of the claims that are computed from now on."""
    import rdpkit.verification.auditing.audit as module

    seen = []
    real = module.audit_one

    def audit_one(claim, **options):
        seen.append(claim.id)
        return real(claim, **options)

    monkeypatch.setattr(module, "audit_one", audit_one)
    return seen


def test_what_was_found_is_looked_up_and_is_the_same(tmp_path, fresh, monkeypatch):
    path = tmp_path / "cache"
    assert list(audit(CLAIMS, bounds="rdp", cache=path)) == fresh
    seen = counting(monkeypatch)
    assert list(audit(CLAIMS, bounds="rdp", cache=str(path))) == fresh
    assert seen == []
    assert len(AuditCache(path)) == len(CLAIMS)


def test_findings_of_every_kind_survive_the_disk(tmp_path):
    claims = [c for c in load_files(shipped_files()) if c.missing or c.order is not None]
    claims = claims[::16] + CLAIMS[:1]
    path = tmp_path / "cache"
    first = list(audit(claims, cache=path))
    assert [f.as_dict() for f in audit(claims, cache=path)] == [f.as_dict() for f in first]
    assert list(audit(claims, cache=path)) == first


def test_why_a_number_could_not_be_computed_survives_the_disk(tmp_path):
    (finding,) = audit(CLAIMS[:1], bounds="rdp")
    failed = dataclasses.replace(finding, failure="not computed: too much work")
    cache = AuditCache(tmp_path / "cache")
    cache.put(failed, bounds="rdp")
    assert cache.get(CLAIMS[0], bounds="rdp") == failed


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": "0.31"},
        {"epsilon": "0.300"},
        {"delta": "2e-5"},
        {"source": '"another"'},
        {"adjacency": '"replace_one"'},
        {"parameters": {"noise_std": "5.000000001", "record_norm": "1.0"}},
    ],
)
def test_a_claim_that_changed_is_computed_again(tmp_path, monkeypatch, change):
    path = tmp_path / "cache"
    list(audit(loads(text(epsilon="0.30")), cache=path))
    seen = counting(monkeypatch)
    given = {"epsilon": "0.30", **change}
    list(audit(loads(text(**given)), cache=path))
    assert len(seen) == 1


def test_other_bounds_and_other_versions_are_other_findings(tmp_path, monkeypatch):
    path = tmp_path / "cache"
    list(audit(CLAIMS[:1], cache=path))
    cache = AuditCache(path)
    assert cache.has(CLAIMS[0], bounds="all")
    assert not cache.has(CLAIMS[0], bounds="rdp")
    monkeypatch.setattr(
        "rdpkit.verification.auditing.cache.versions", lambda: {"rdpkit": "another"}
    )
    assert not AuditCache(path).has(CLAIMS[0], bounds="all")


def test_the_file_a_claim_is_in_does_not_matter(tmp_path, monkeypatch):
    path = tmp_path / "cache"
    list(audit(CLAIMS[:1], cache=path))
    moved = dataclasses.replace(CLAIMS[0], origin="elsewhere.toml")
    seen = counting(monkeypatch)
    (found,) = audit([moved], cache=path)
    assert seen == []
    assert found.claim.origin == "elsewhere.toml"


def test_every_flipped_byte_is_noticed_named_and_repaired(tmp_path, fresh):
    path = tmp_path / "cache"
    list(audit(CLAIMS, bounds="rdp", cache=path))
    whole = path.read_bytes()
    draw = random.Random(5)
    for _ in range(25):
        place = draw.randrange(len(whole))
        changed = bytearray(whole)
        changed[place] ^= 1 << draw.randrange(8)
        path.write_bytes(bytes(changed))
        number = whole[:place].count(b"\n") + 1
        with pytest.warns(DamagedCacheWarning, match=rf"line {number}\b"):
            found = list(audit(CLAIMS, bounds="rdp", cache=path))
        assert found == fresh
        # What was repaired is there next time; the damaged line is still reported.
        assert all(AuditCache(path).has(claim, bounds="rdp") for claim in CLAIMS)


def test_a_file_that_was_cut_anywhere_goes_on_from_there(tmp_path, fresh):
    path = tmp_path / "cache"
    list(audit(CLAIMS, bounds="rdp", cache=path))
    whole = path.read_bytes()
    draw = random.Random(6)
    for _ in range(10):
        path.write_bytes(whole[: draw.randrange(len(whole))])
        cache = AuditCache(path)
        assert len(cache.damaged) <= 1
        assert list(audit(CLAIMS, bounds="rdp", cache=cache)) == fresh
        assert all(AuditCache(path).has(claim, bounds="rdp") for claim in CLAIMS)


def test_the_name_of_a_damaged_claim_is_told(tmp_path):
    path = tmp_path / "cache"
    list(audit(CLAIMS, bounds="rdp", cache=path))
    path.write_bytes(path.read_bytes().replace(b'"soundness":"sound"', b'"soundness":"Sound"', 1))
    (named,) = AuditCache(path).damaged
    assert "is damaged" in named
    assert "(claim 'c" in named


def test_an_entry_that_changes_while_the_audit_runs_is_computed_again(tmp_path, fresh):
    path = tmp_path / "cache"
    list(audit(CLAIMS, bounds="rdp", cache=path))
    cache = AuditCache(path)
    path.write_bytes(b"x" * path.stat().st_size)
    assert list(audit(CLAIMS, bounds="rdp", cache=cache)) == fresh
    assert len(cache.damaged) == len(CLAIMS)


def test_a_file_that_is_no_cache_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "claims.toml"
    path.write_text(text())
    with pytest.raises(ValueError, match="to be a file that rdpkit wrote for its claims"):
        audit(CLAIMS, bounds="rdp", cache=path)
    assert path.read_text() == text()


def test_no_number_that_is_not_one_is_written(tmp_path, fresh):
    bad = dataclasses.replace(fresh[0], slack=float("nan"))
    with pytest.raises(ValueError, match="not JSON compliant"):
        AuditCache(tmp_path / "cache").put(bad, bounds="all")
    assert not (tmp_path / "cache").exists()
