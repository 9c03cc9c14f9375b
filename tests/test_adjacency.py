"""The neighbouring relations: one spelling each in results, several that are understood."""

import pytest

from rdpkit.adjacency import MEANINGS, SPELLINGS, Adjacency, choices


@pytest.mark.parametrize(
    ("spelling", "member"),
    [
        ("add_or_remove_one", Adjacency.ADD_OR_REMOVE_ONE),
        ("add-or-remove-one", Adjacency.ADD_OR_REMOVE_ONE),
        ("add-or-remove", Adjacency.ADD_OR_REMOVE_ONE),
        ("add_remove", Adjacency.ADD_OR_REMOVE_ONE),
        ("add-remove", Adjacency.ADD_OR_REMOVE_ONE),
        ("ADD_OR_REMOVE_ONE", Adjacency.ADD_OR_REMOVE_ONE),
        ("replace", Adjacency.REPLACE_ONE),
        ("replace-one", Adjacency.REPLACE_ONE),
        ("substitute", Adjacency.REPLACE_ONE),
        ("REPLACE_ONE", Adjacency.REPLACE_ONE),
        ("zero-out", Adjacency.ZERO_OUT),
    ],
)
def test_a_relation_has_several_spellings(spelling, member):
    assert Adjacency.parse(spelling) is member
    assert Adjacency(spelling) is member
    assert Adjacency.parse(member) is member


def test_no_spelling_means_two_things_and_each_relation_has_a_meaning():
    assert set(SPELLINGS.values()) == set(Adjacency) == set(MEANINGS)
    assert all(SPELLINGS[member.value] is SPELLINGS[member.name] is member for member in Adjacency)
    assert all(member.value in choices() for member in Adjacency)


@pytest.mark.parametrize("word", ["bounded", "unbounded", "Unbounded"])
def test_words_that_do_not_say_what_a_neighbour_is_are_refused(word):
    with pytest.raises(ValueError, match="please name the relation itself") as refused:
        Adjacency.parse(word)
    assert str(refused.value).startswith("Expected adjacency to be one of 'add_or_remove_one', ")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("value", [None, 1, "", "replce", "add or remove one", "add-or_remove_one"])
def test_anything_else_is_refused(value):
    with pytest.raises(ValueError, match="Expected neighbours to be one of"):
        Adjacency.parse(value, name="neighbours")


def test_the_nearest_name_is_suggested():
    with pytest.raises(ValueError, match="Did you mean 'replace'"):
        Adjacency.parse("replce")
