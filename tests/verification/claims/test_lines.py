"""At which lines claims begin, whatever stands between them."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdpkit.verification.claims.editing import claim_lines


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
