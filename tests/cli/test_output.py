"""Numbers for people go up, JSON has no NaN, and errors are one line."""

import json
import math
from decimal import Decimal

import click
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rdpkit import Adjacency, Guarantee, Kind
from rdpkit.cli.output import BadInput, one_line_errors
from rdpkit.formats.text import as_json, guarantee_lines, rounded_up
from tests.cli.commands import ADD, GAUSSIAN, run

positive = st.floats(0, exclude_min=True, allow_infinity=False, allow_nan=False)


@given(positive, st.integers(1, 6))
@example(5e-324, 4)
@example(1.7976931348623157e308, 4)
@example(9.9999e-6, 4)
@example(0.99995, 4)
def test_rounding_for_people_never_goes_down(value, digits):
    shown = Decimal(rounded_up(value, digits))
    assert float(shown) >= value
    # At most one unit in the last digit shown, and whole numbers are exact to one.
    assert shown <= Decimal(value) * (1 + Decimal(10) ** (1 - digits)) + Decimal("5e-324")


@given(st.integers(1, 9999), st.integers(-30, 3))
def test_short_decimals_stay_what_they_are(digits, exponent):
    value = float(f"{digits}e{exponent}")
    assert float(rounded_up(value)) == value


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1e-5, "1e-05"),
        (1e-300, "1e-300"),
        (0.1, "0.1000"),
        (1.10, "1.100"),
        (1.10001, "1.101"),
        (12345.0, "12345"),
        (12345.1, "12346"),
        (0.0, "0"),
        (math.inf, "inf"),
        (1.234501e-7, "1.235e-07"),
    ],
)
def test_numbers_as_they_are_printed(value, shown):
    assert rounded_up(value) == shown


def test_json_refuses_what_parsers_refuse():
    assert json.loads(as_json({"a": "\u00e9"})) == {"a": "\u00e9"}
    for value in (math.nan, math.inf):
        with pytest.raises(ValueError, match="not JSON compliant"):
            as_json({"a": value})


@pytest.mark.parametrize("error", [ValueError("a\n  b"), FileNotFoundError(2, "a\nb", "c")])
def test_errors_are_one_line_and_status_2(error):
    @one_line_errors
    def fails():
        raise error

    with pytest.raises(BadInput) as caught:
        fails()
    assert isinstance(caught.value, click.ClickException)
    assert caught.value.exit_code == 2
    assert "\n" not in caught.value.format_message()


def test_a_guarantee_in_words_says_all_it_knows():
    lines = guarantee_lines(
        Guarantee(
            epsilon=1.00001,
            delta=1e-5,
            adjacency=Adjacency.REPLACE_ONE,
            bound="gaussian",
            kind=Kind.UPPER,
            order=4.0,
            conversion="optimal",
            assumptions=("this",),
            notes=("that",),
        )
    )
    text = "\n".join(lines)
    for part in ("1.001", "1e-05", "replace-one", "gaussian", "upper", "optimal", "this", "that"):
        assert part in text


QUESTION = ["epsilon", *GAUSSIAN, "--delta", "1e-5", *ADD]


def test_what_is_printed_goes_to_a_file(tmp_path):
    path = tmp_path / "answer.txt"
    printed = run(*QUESTION)
    done = run(*QUESTION, "-o", path)
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", f"wrote {path}\n")
    assert path.read_text() == printed.stdout


def test_the_name_of_a_file_chooses_the_format_unless_one_is_named(tmp_path):
    path = tmp_path / "answer.json"
    assert run(*QUESTION, "--output", path).exit_code == 0
    assert json.loads(path.read_text())["kind"] == "upper"
    assert run(*QUESTION, "--output", path, "--format", "text").exit_code == 0
    assert path.read_text().startswith("epsilon ")


@pytest.mark.parametrize("name", ["a.pdf", "a.CSV", "a.html", "a.md", "a.b"])
def test_a_name_that_asks_for_another_format_is_refused(tmp_path, name):
    done = run(*QUESTION, "-o", tmp_path / name)
    assert done.exit_code == 2
    assert "Expected --output to end in .txt or .json, got" in done.stderr
    assert list(tmp_path.iterdir()) == []
    assert run("tradeoff", *GAUSSIAN, *ADD, "-o", tmp_path / "a.csv").exit_code == 0


def test_a_file_that_was_there_stays_if_the_command_fails(tmp_path):
    path = tmp_path / "answer.txt"
    path.write_text("before")
    done = run(*QUESTION[:-4], "--delta", "2", *ADD, "-o", path)
    assert done.exit_code == 2
    assert path.read_text() == "before"
    assert [one.name for one in tmp_path.iterdir()] == ["answer.txt"]


def test_a_folder_that_is_missing_is_noticed_at_once(tmp_path):
    done = run(*QUESTION, "-o", tmp_path / "none" / "answer.txt")
    assert done.exit_code == 2
    assert "Expected --output to be a file in a folder" in done.stderr


def test_options_may_have_underscores():
    words = [word.replace("noise-std", "noise_std") for word in QUESTION]
    assert run(*words).stdout == run(*QUESTION).stdout
