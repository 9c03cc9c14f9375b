"""Changed claims files keep everything else: comments, layout, lines, and what they say."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdpkit.verification.claims.editing import (
    ClaimsText,
    Replacement,
    claim_lines,
    replacements,
    unified_diff,
)
from rdpkit.verification.claims.reading import shipped_files
from tests.verification.claim_files import text


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("[[claim]]\nid='a'\n\n[[claim]]\nid='b'", [1, 4]),
        ("\n\n  [[ claim ]]  # first\nid='a'", [3]),
        ("[[\"claim\"]]\nid='a'\n[['claim']]", [1, 3]),
        ("[[claim]]\r\nid='a'\r\n[[claim]]\r\n", [1, 3]),
        ("# [[claim]]\n[[claim]]\n", [2]),
        ("[[claim]]\nid='''\n[[claim]]\n'''\n[[claim]]\n", [1, 5]),
        ('[[claim]]\nid="""\n[[claim]]\\\n"""\n[[claim]]\n', [1, 5]),
        ('[[claim]]\nid="\\""\nx="\'\'\'"\n[[claim]]\n', [1, 4]),
        ("[[claim]]\nid='it' # isn't \"\"\"\n[[claim]]\n", [1, 3]),
        ('[[claim]]\nid=""""x\n[[claim]]\n"""""\n[[claim]]\n', [1, 5]),
        ("[[claim]]\nx=[\n'''\n''', '''[[claim]]\n[[claim]]''']\n[[claim]]\n", [1, 6]),
        ("[[claim]]\n[[claim.scenario]]\n[[claim]]", [1, 3]),
        ("claim = [{id='a'},\n{id='b'}]", [1, 1]),
    ],
)
def test_lines(text, lines):
    assert claim_lines(text, len(tomllib.loads(text)["claim"])) == lines


pieces = st.sampled_from(
    ["[[claim]]", "x='''", "'''", 'y="""', '"""', "# it's", "z='[[claim]]'", "\\", "  [[ claim ]]"]
)


@given(st.lists(pieces, max_size=12))
def test_any_file_has_a_line_for_each_of_its_claims(lines):
    text = "\n".join(lines)
    try:
        count = len(tomllib.loads(text).get("claim", []))
    except tomllib.TOMLDecodeError:
        return
    found = claim_lines(text, count)
    assert len(found) == count
    if count and found != [1] * count:
        assert all("claim" in text.split("\n")[number - 1] for number in found)
        assert found == sorted(set(found))


LAYOUT = """# Budgets of 2024
format = 1

[[claim]]   # the first
  id = "a"
source = '''
[[claim]]
id = "b"
'''
epsilon   =  1.10   # as printed
bound = "best"  # goes away
parameters = { noise_std = 5.0, record_norm = 1.0 }

# about the second one
[[claim]]
id = "b"
epsilon = 2_0.0
[claim.parameters]
[[claim.parameters.events]]
noise_std = 3e0
[[claim.parameters.events]]
noise_std = 4.0
# the end
"""


def applied(old, changes):
    """The text with replacements, as a program that reads SARIF would make it."""
    lines = [f"{line}\n" for line in old.split("\n")]
    offsets = [sum(len(line) for line in lines[:place]) for place in range(len(lines) + 1)]
    for one in sorted(changes, key=lambda c: (c.line, c.column), reverse=True):
        start = offsets[one.line - 1] + one.column - 1
        end = offsets[one.end_line - 1] + one.end_column - 1
        old = old[:start] + one.text + old[end:]
    return old


def test_one_value_changes_and_nothing_else():
    new = ClaimsText(LAYOUT).edited("a", [("epsilon", "1.10", "2.00")])
    assert new == LAYOUT.replace("1.10   # as", "2.00   # as")
    assert replacements(LAYOUT, new) == [
        Replacement(line=10, column=14, end_line=10, end_column=18, text="2.00")
    ]


def test_lines_go_and_nested_values_change():
    new = ClaimsText(LAYOUT).edited(
        "a", [("bound", '"best"', ""), ("parameters.noise_std", "5.0", "7.032")]
    )
    assert new == LAYOUT.replace('bound = "best"  # goes away\n', "").replace("= 5.0", "= 7.032")
    assert applied(LAYOUT, replacements(LAYOUT, new)) == new
    last = ClaimsText(LAYOUT).edited("b", [("parameters.events[1].noise_std", "4.0", "5")])
    assert last == LAYOUT.replace("noise_std = 4.0", "noise_std = 5")


def test_a_key_that_is_not_there_is_added_to_its_claim():
    new = ClaimsText(LAYOUT).edited("a", [("bound", "", '"pld-upper"')])
    assert tomllib.loads(new)["claim"][0]["bound"] == "pld-upper"
    plain = "[[claim]]\nid = 'a'\n[claim.parameters]\nx = 1\n\n# next\n[[claim]]\nid = 'b'\n"
    added = ClaimsText(plain).edited("a", [("parameters.y", "", "2")])
    assert added == plain.replace("x = 1\n", "x = 1\ny = 2\n")


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_ends_of_lines_and_marks_stay(mark, end):
    old = mark + LAYOUT.replace("\n", end)
    known = ClaimsText(old)
    new = known.edited("b", [("epsilon", "", "3")])
    assert new == old.replace("2_0.0", "3")
    assert known.replacements("b", [("epsilon", "", "3")]) == replacements(old, new)
    assert applied(old, replacements(old, new)) == new


def test_claims_in_one_array_are_changed_in_place():
    old = 'claim = [ {id="a", epsilon = 1.10 }, # one\n {id = "b", epsilon = 2}\n]'
    assert ClaimsText(old).edited("b", [("epsilon", "", "3")]) == old.replace("= 2", "= 3")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[[claim", "not a TOML file"),
        ("x = 1", "at least one"),
        ("claim = 1", "at least one"),
        ("[[claim]]\nid = 'b'", "one claim with the id 'a'"),
        ("[[claim]]\nid = 'a'\n[[claim]]\nid = 'a'", "one claim with the id 'a'"),
        ("[[claim]]\nid = 'a'", "there is no parameters.x"),
    ],
)
def test_what_cannot_be_changed_is_an_error(content, message):
    with pytest.raises(ValueError, match=message):
        ClaimsText(content).edited("a", [("parameters.x", "", "1")])


def test_the_difference_is_a_patch():
    new = ClaimsText(LAYOUT).edited("a", [("epsilon", "1.10", "2.00")])
    diff = unified_diff("x.toml", LAYOUT, new)
    assert "-epsilon   =  1.10   # as printed\n+epsilon   =  2.00   # as printed\n" in diff
    assert unified_diff("x.toml", LAYOUT, LAYOUT) == ""


_COMMENTS = st.text(
    st.characters(blacklist_categories=("Cs", "Cc"), blacklist_characters="\u2028"), max_size=20
)


@given(
    comments=st.lists(_COMMENTS, min_size=3, max_size=3),
    number=st.integers(0, 10**6).map(lambda n: f"{n}.{n % 7}0"),
    place=st.integers(0, 2),
)
def test_any_file_keeps_what_is_not_changed(comments, number, place):
    old = "\n".join(
        f"# {comment}\n{text(id=repr(str(i)))}# {comment}" for i, comment in enumerate(comments)
    )
    new = ClaimsText(old).edited(str(place), [("epsilon", "1.10", number)])
    before, after = old.split("\n"), new.split("\n")
    assert len(before) == len(after)
    assert sum(a != b for a, b in zip(before, after, strict=True)) == (number != "1.10")
    assert applied(old, replacements(old, new)) == new


def test_every_shipped_claim_can_be_changed():
    for path in shipped_files():
        content = path.read_bytes().decode()
        known = ClaimsText(content)
        tables = tomllib.loads(content)["claim"]
        for table in tables[:: max(len(tables) // 3, 1)]:
            if "epsilon" in table:
                new = known.edited(table["id"], [("epsilon", "", "123.45")])
                assert len(replacements(content, new)) == 1
