"""Claims are chosen by kind and year, findings by verdict; nothing else is left out."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdpkit.verification.auditing.verdict import audit_one
from rdpkit.verification.claims.claim import Work
from rdpkit.verification.claims.reading import loads
from rdpkit.verification.cli.audit_options import VERDICTS, Selection, Years
from tests.verification.claim_files import text


def claim(identifier, *, kind=None, year=None, **changes):
    (found,) = loads(text(id=f"'{identifier}'", **changes))
    work = None if year is None else Work(title="t", year=year)
    return dataclasses.replace(found, kind=kind, work=work)


CLAIMS = (
    claim("old", kind="training", year=2016),
    claim("new", kind="library", year=2025),
    claim("undated", kind="library"),
    claim("bare"),
)


@pytest.mark.parametrize(
    ("words", "inside", "outside"),
    [
        ("2016", [2016], [2015, 2017]),
        ("2016:2020", [2016, 2018, 2020], [2015, 2021]),
        ("2016:", [2016, 2100], [2015]),
        (":2020", [1900, 2020], [2021]),
        (" 2016 : 2020 ", [2016], [2015]),
    ],
)
def test_years(words, inside, outside):
    years = Years.parse(words)
    assert all(year in years for year in inside)
    assert not any(year in years for year in outside)


@pytest.mark.parametrize(
    "words", ["", ":", "x", "2016-2020", "2020:2016", "2016:x", "٢٠١٦", "1:2:3"]
)
def test_what_is_no_year(words):
    with pytest.raises(ValueError, match="expected year to"):
        Years.parse(words)


@given(st.integers(1900, 2200), st.integers(1900, 2200), st.integers(1900, 2200))
def test_a_span_has_the_years_from_its_first_to_its_last(first, last, year):
    if first <= last:
        assert (year in Years.parse(f"{first}:{last}")) is (first <= year <= last)


@pytest.mark.parametrize(
    ("selection", "names"),
    [
        (Selection(), ["old", "new", "undated", "bare"]),
        (Selection(kinds=("library",)), ["new", "undated"]),
        (Selection(kinds=("library", "training")), ["old", "new", "undated"]),
        (Selection(years=(Years(2016, 2020),)), ["old"]),
        (Selection(years=(Years(None, 2016), Years(2025))), ["old", "new"]),
        (Selection(kinds=("library",), years=(Years(2016),)), ["new"]),
    ],
)
def test_claims_are_chosen(selection, names):
    assert [one.id for one in selection.claims(CLAIMS)] == names


def test_a_selection_of_nothing_is_an_error():
    with pytest.raises(ValueError, match="no claim is of this kind and these years"):
        Selection(kinds=("local",)).claims(CLAIMS)


def test_findings_are_chosen_by_either_verdict():
    sound, refuted = audit_one(claim("a")), audit_one(claim("b", epsilon="0.1"))
    gone = audit_one(claim("c", missing="['x']"))
    found = (sound, refuted, gone)
    assert set(VERDICTS) >= {one.verdict.value for one in found}
    for verdicts, names in (
        ((), "abc"),
        (("refuted",), "b"),
        (("incomplete",), "c"),
        (("unproven",), ""),
        (("sound", "underspecified"), "ac"),
    ):
        chosen = Selection(verdicts=verdicts).findings(found)
        assert "".join(one.claim.id for one in chosen) == names
