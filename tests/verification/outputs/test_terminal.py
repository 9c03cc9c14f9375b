"""What rdpkit audit prints: the worst first, drawn, nothing folded, nothing too wide."""

import dataclasses
import math
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdpkit.verification.auditing.findings import Side
from rdpkit.verification.outputs import terminal
from rdpkit.verification.outputs.terminal import ASCII, UNICODE, drawing
from rdpkit.verification.outputs.words import NUMBER_MEANINGS, NUMBER_NAMES
from tests.verification.finding_examples import (
    finding,
    hostile,
    one_of_each,
    refuted,
    underspecified,
)

MANY = [refuted("first-of-the-false"), *(finding(f"claim-number-{i}") for i in range(40))]
LONG = "a-claim-with-" + "-".join(["a", "very", "long"] * 12)


@pytest.fixture
def printed(monkeypatch, capsys):
    """What is printed at a width, and whether on a terminal."""

    def run(findings, *, width=80, terminal_is_there=False, **settings):
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setattr("sys.stdout.isatty", lambda: terminal_is_there)
        given = {"every": False, "notes": None, "command": "rdpkit audit", **settings}
        terminal.print_news(findings, **given)
        return re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out).splitlines()

    return run


@pytest.mark.parametrize("width", [50, 80, 120])
def test_the_news_are_short_narrow_and_begin_with_what_is_false(printed, width):
    lines = printed(MANY, width=width)
    assert max(map(len, lines)) <= width
    assert len(lines) <= 45
    assert any("first-of-the-false" in line for line in lines[:15])
    assert "claim-number-7" not in "\n".join(lines)
    last = " ".join(" ".join(lines[-2:]).split())
    assert last.endswith("41 claims: 40 sound, 1 refuted (40 exact, 1 differs).")


def test_a_false_claim_is_drawn_with_what_is_true_and_where_to_read_on(printed):
    text = "\n".join(printed(MANY))
    assert "attained 0.99" in text
    assert "true instead: " in text
    assert "why: rdpkit audit --explain first-of-the-false" in text


def test_two_false_claims_are_both_named_in_the_first_15_lines(printed):
    remedy = "r" * 70
    lines = printed([*MANY, refuted("second-of-the-false", notes=(remedy,))])
    assert any("second-of-the-false" in line for line in lines[:15])


def test_a_pipe_gets_letters_of_one_byte(printed):
    assert "".join(printed(MANY)).isascii()
    assert not "".join(printed(MANY, terminal_is_there=True)).isascii()


def test_claims_that_are_not_drawn_are_named(printed):
    lines = printed([refuted(f"r{i}") for i in range(30)])
    assert any(line.startswith("Also refuted: r3, r4") for line in lines)


@pytest.mark.parametrize("every", [False, True])
def test_few_claims_are_all_in_the_table(printed, every):
    lines = printed(one_of_each(), every=every)
    assert {line.split("\t")[0] for line in lines if "\t" in line} == {"claim", "a", "r", "u", "m"}
    assert lines[-2].startswith("4 claims: ")


def test_a_pipe_gets_one_row_a_claim_with_tabs_and_whole_ids(printed):
    lines = printed([*MANY, finding(LONG)], width=40, every=True)
    row = next(line for line in lines if line.startswith(f"{LONG}\t"))
    assert row.split("\t") == [
        LONG,
        "1.10",
        "1.09900",
        "0.990000",
        "1.00000",
        "1.1",
        "sound",
        "exact",
        "1e-05",
        "replace-one",
    ]


@pytest.mark.parametrize("width", [40, 80, 200])
def test_ids_never_fold_on_a_terminal(printed, width):
    lines = printed([*MANY, finding(LONG)], width=width, every=True, terminal_is_there=True)
    assert any(line.startswith(LONG) for line in lines)
    place = next(i for i, line in enumerate(lines) if line.startswith("claim-number-7"))
    # In a narrow window the id has a line of its own, so that delta and neighbours have room.
    row = lines[place] if lines[place] != "claim-number-7" else lines[place + 1]
    assert "sound" in row
    assert len(row) <= width
    assert ("1e-05" in row and "replace" in row) or width < 60


def test_where_nothing_was_chosen_it_says_so_and_no_more(printed):
    assert printed([]) == ["There are no such claims."]


def test_one_claim_is_not_several(printed):
    assert printed([finding()])[-1] == "1 claim: 1 sound (1 exact)."


def test_nothing_that_a_file_says_steers_the_terminal(printed):
    text = "\n".join(printed(hostile(), every=True, notes=True))
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text)


def test_a_terminal_without_drawing_letters_gets_ascii(monkeypatch):
    class Output:
        encoding = "ascii"

        def isatty(self):
            return True

    monkeypatch.setattr("sys.stdout", Output())
    assert terminal._glyphs() is terminal.ASCII


def test_claims_whose_source_nobody_opened_are_marked(printed):
    unread = [
        dataclasses.replace(one, claim=dataclasses.replace(one.claim, unread="behind a wall"))
        for one in (refuted(f"r{i}") for i in range(5))
    ]
    lines = printed(unread)
    assert lines.count("  not read here: behind a wall") == 3
    assert "Also refuted: r3 (not read here), r4 (not read here)" in lines


WIDTHS = st.integers(min_value=48, max_value=200)
LOSSES = st.one_of(
    st.floats(min_value=0.0, max_value=1e300), st.just(math.inf), st.sampled_from([0.0, 1e-300])
)


def drawn(found, **settings):
    return drawing(found, **{"width": 60, **settings})


def test_each_number_has_its_name_on_its_side_of_the_axis():
    above, axis, below = drawn(refuted())
    assert "claimed 0.5" in above
    assert "attained 0.99" in above
    assert "published 1.099" in below
    assert "proven 1" in below
    assert axis.index(UNICODE.claimed) < axis.index(UNICODE.truth)


def test_a_sound_claim_stands_right_of_the_truth():
    _, axis, _ = drawn(finding(epsilon="2.0"))
    assert axis.index(UNICODE.truth) < axis.index(UNICODE.claimed)


def test_the_axis_begins_at_zero_and_is_linear():
    side = Side(bound="pld-upper", epsilon=10.0)
    found = replace(finding(epsilon="5"), upper=side, lower=None, published=None)
    _, axis, _ = drawn(found)
    assert axis.index(UNICODE.claimed) * 2 == pytest.approx(axis.index(UNICODE.truth), abs=1)


def test_what_is_infinite_stands_at_the_end():
    found = replace(finding(epsilon="inf"), published=None)
    _, axis, _ = drawn(found)
    assert axis.rstrip().endswith(UNICODE.claimed)


def test_nothing_known_is_not_drawn():
    assert drawn(underspecified()) == []


def test_a_terminal_without_those_letters_gets_others():
    assert "".join(drawn(refuted(), glyphs=ASCII)).isascii()


def test_every_word_of_a_drawing_is_explained():
    assert set(NUMBER_NAMES.values()) == set(NUMBER_MEANINGS)


@given(numbers=st.tuples(LOSSES, LOSSES, LOSSES), width=WIDTHS)
def test_no_line_is_too_long_and_no_label_is_lost(numbers, width):
    published, lower, upper = numbers
    found = replace(
        finding(),
        published=Side(bound="gaussian", epsilon=published),
        lower=Side(bound="pair-lower", epsilon=min(lower, upper)),
        upper=Side(bound="pld-upper", epsilon=upper),
    )
    lines = drawn(found, width=width)
    assert all(len(line) <= width for line in lines)
    text = "\n".join(lines)
    assert all(name in text for name in NUMBER_NAMES.values())
