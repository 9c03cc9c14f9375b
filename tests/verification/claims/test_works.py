"""What the claims of a file were printed in: the table [work], kinds, and sources not read."""

import dataclasses
import tomllib

import jsonschema
import pytest

from rdpkit.verification.auditing.cache import AuditCache
from rdpkit.verification.auditing.verdict import audit_one
from rdpkit.verification.claims.claim import Work
from rdpkit.verification.claims.format import KINDS, WORK_KEYS
from rdpkit.verification.claims.reading import loads, shipped_files
from rdpkit.verification.claims.schema import claims_schema
from tests.verification.claim_files import text

WORK = '[work]\ntitle = "A paper"\nyear = 2016\nkind = "training"\nread = "its abstract"\n'


def test_every_claim_of_the_file_has_its_work():
    first, second = loads(WORK + text() + text(id="'b'", kind="'library'"))
    assert first.work == second.work
    assert first.work == Work(
        title="A paper", year=2016, kind="training", read="its abstract", authors=None, url=None
    )
    assert (first.kind, second.kind) == ("training", "library")


def test_without_a_work_there_is_none_and_a_kind_stands_alone():
    (claim,) = loads(text(kind="'local'"))
    assert (claim.work, claim.kind, claim.unread) == (None, "local", None)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("work = 1\n" + text(), "expected work to be a table, [work]"),
        ("[work]\n" + text(), "expected title to be a non-empty string, got None"),
        (WORK + "yaer = 1\n" + text(), "unknown key 'yaer'; accepted are title, authors, year"),
        (WORK.replace("2016", "'2016'") + text(), "expected year to be an integer in [1900, 2200]"),
        (WORK.replace("training", "trainings") + text(), "Did you mean 'training'?"),
        (text(kind="'x'"), "claim 'a': expected kind to be one of 'training', 'library'"),
        (text(unread="''"), "claim 'a': expected unread to be a non-empty string"),
    ],
)
def test_mistakes_are_one_line(content, message):
    with pytest.raises(ValueError, match=r"^f\.toml:") as caught:
        loads(content, origin="f.toml")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_claim_that_was_not_read_is_marked_in_what_is_found():
    (claim,) = loads(text(unread="'behind a wall'", notes="['n']"))
    found = audit_one(claim)
    assert found.notes[:2] == ("the source was not read: behind a wall", "n")
    assert found.as_dict()["unread"] == "behind a wall"


def test_plain_values_of_a_finding_say_where_it_was_printed():
    (claim,) = loads(WORK + text())
    keys = ("work", "kind", "year", "url", "authors", "unread")
    found = audit_one(claim).as_dict()
    assert [found[key] for key in keys] == ["A paper", "training", 2016, None, None, None]
    (bare,) = loads(text())
    assert [audit_one(bare).as_dict()[key] for key in keys] == [None] * 6


def test_a_finding_is_kept_without_its_work(tmp_path):
    cache = AuditCache(tmp_path / "cache")
    (with_work,) = loads(WORK + text())
    (without,) = loads(text())
    cache.put(audit_one(without), bounds="all")
    found = cache.get(with_work, bounds="all")
    assert found is not None
    assert found.claim.work is not None


def test_the_schema_knows_the_table():
    schema = claims_schema()
    assert set(schema["properties"]["work"]["properties"]) == set(WORK_KEYS)
    validator = jsonschema.Draft7Validator(schema)
    assert validator.is_valid(tomllib.loads(WORK + text(kind="'model'", unread="'x'")))
    assert not validator.is_valid(tomllib.loads("[work]\n" + text()))
    assert not validator.is_valid(tomllib.loads(text(kind="'x'")))


@pytest.mark.parametrize("quantity", ["rho", "mu", "advantage"])
def test_other_quantities_may_lack_something_too(quantity):
    keys = {quantity: "0.5", "epsilon": None, "delta": None, "missing": "['x']"}
    (claim,) = loads(text(mechanism="'unmodelled'", parameters=None, **keys))
    assert (claim.quantity, claim.missing) == (quantity, ("x",))
    assert audit_one(claim).reproduction.value == "underspecified"


def test_the_papers_claims_name_their_works():
    for path in shipped_files():
        works = {claim.work for claim in loads(path.read_bytes())}
        assert len(works) == 1
        (work,) = works
        assert work is not None
        given = {f.name: getattr(work, f.name) for f in dataclasses.fields(work)}
        assert all(given[name] for name in ("title", "authors", "year", "kind", "read"))
        assert work.kind in KINDS
