"""The words of a region."""

import dataclasses

import pytest

from rdpkit.verification.auditing.regions.region import Band, Region, RegionRow, RegionVerdict
from rdpkit.verification.auditing.regions.sentences import how, row_sentence, value_words


def region(*rows, search=("steps",), whole=True, **others):
    made = Region(
        mechanism="dpsgd",
        search=search,
        whole=whole,
        rows=tuple(
            RegionRow(
                values=values,
                bands=tuple(
                    Band(verdict=RegionVerdict(verdict), low=low, high=high)
                    for verdict, low, high in bands
                ),
            )
            for values, bands in rows
        ),
        **others,
    )
    sentences = tuple(row_sentence(made, row) for row in made.rows)
    return dataclasses.replace(made, sentences=sentences)


@pytest.mark.parametrize(
    ("bands", "sentence"),
    [
        (
            [("true", 1, 1200), ("open", 1201, 1299), ("refuted", 1300, 1e15)],
            "True for every number of steps up to 1,200, refuted from 1,300 on, open between.",
        ),
        (
            [("true", 1, 1200), ("refuted", 1201, 1e15)],
            "True for every number of steps up to 1,200, refuted from 1,201 on.",
        ),
        ([("true", 1, 1e15)], "True for every number of steps."),
        (
            [("open", 1, 9), ("refuted", 10, 1e15)],
            "Refuted for every number of steps from 10 on, open below.",
        ),
        (
            [("true", 1, 9), ("open", 10, 1e15)],
            "True for every number of steps up to 9, open above.",
        ),
        (
            [("open", 1, 1e15)],
            "Open for every number of steps: nothing is proven and nothing is refuted.",
        ),
    ],
)
def test_the_bands_in_a_sentence(bands, sentence):
    assert region(((), bands)).sentences == (sentence,)


def test_numbers_are_rounded_into_their_bands():
    found = region(
        ((), [("refuted", 1e-45, 1.08459), ("open", 1.08459, 1.09991), ("true", 1.09991, 1e45)]),
        search=("noise_multiplier",),
        whole=False,
    )
    assert found.sentences == (
        "Refuted for every noise multiplier up to 1.084, true from 1.100 on, open between.",
    )


def test_what_was_looked_at_is_said_if_the_file_limits_it():
    rows = ((), [("true", 1, 9), ("refuted", 10, 20)])
    assert region(rows, limits=(1.0, 20.0)).sentences == (
        "True for every number of steps up to 9, refuted from 10 on (looked at up to 20).",
    )
    assert region(((), [("true", 1, 20)]), limits=(1.0, 20.0)).sentences == (
        "True for every number of steps from 1 to 20, all that was looked at.",
    )


def test_values_that_are_the_same_in_all_rows_are_said_once():
    bands = [("true", 1, 1e15)]
    found = region(
        ((("delta", 1e-5), ("order_of_mixture", 4)), bands),
        ((("delta", 1e-5), ("order_of_mixture", 64)), bands),
        because="as elsewhere",
    )
    assert found.sentences == (
        "At order of mixture = 4: true for every number of steps.",
        "At order of mixture = 64: true for every number of steps.",
    )
    assert how(found) == ["As elsewhere.", "Everywhere delta = 1e-05."]


def test_what_some_rows_assume_is_said_of_them():
    bands = [("true", 1, 1e15)]
    found = region(
        ((("delta", 1e-5), ("kind", "a")), bands), ((("delta", 1e-5), ("kind", "b")), bands)
    )
    rows = [
        dataclasses.replace(row, notes=("noise is secret", *more))
        for row, more in zip(found.rows, ((), ("b is public",)), strict=True)
    ]
    assert how(dataclasses.replace(found, rows=tuple(rows)))[1:] == [
        "Assumes that noise is secret.",
        "At kind = b, assumes that b is public.",
    ]


def test_values_in_words():
    assert [value_words(v) for v in (True, 60000, 0.5, (1, 2), "public")] == [
        *("true", "60,000", "0.5", "1, 2", "public")
    ]
