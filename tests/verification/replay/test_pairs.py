"""Pairs of data sets by search."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rdpkit.adjacency import Adjacency
from rdpkit.verification.blackbox.neighbours import LabelledData, Neighbours
from rdpkit.verification.replay.pairs import (
    FEW,
    ColumnSpace,
    DataSpace,
    of_neighbours,
    space_of_pairs,
)

REMOVE, REPLACE = Adjacency.ADD_OR_REMOVE_ONE, Adjacency.REPLACE_ONE
SPACE = DataSpace.of({"age": [0.0, 90.0], "city": ["Rome", "Oslo", "Bern"]}, records=8)


def neighbours(space, adjacency, seed):
    """The pairs, and both ends of every chain in the place of the chain itself."""
    for pair in space.pairs(adjacency, seed):
        places = (0, len(pair.chain) - 2) if pair.chain else (None,)
        yield from (pair if place is None else pair.at(place) for place in places)


def sizes(pairs):
    return {len(one.first) - len(one.second) for one in pairs}


@pytest.mark.parametrize(("adjacency", "difference"), [(REMOVE, 1), (REPLACE, 0)])
def test_one_record_differs(adjacency, difference):
    pairs = list(neighbours(SPACE, adjacency, 1))
    assert sizes(pairs) == {difference}
    for pair in pairs:
        shared = len(pair.second) - 1 + difference
        common = zip(pair.first, pair.second, strict=not difference)
        differ = sum(first != second for first, second in common)
        assert differ <= 1 - difference
        if "chain" not in pair.words:
            assert pair.first[:shared] == pair.second[:shared]


def test_the_ends_of_a_chain_are_far_apart():
    for adjacency in (REMOVE, REPLACE):
        chains = [one for one in SPACE.pairs(adjacency, 1) if one.chain]
        assert max(abs(one.chain[0] - one.chain[-1]) for one in chains) >= 7
        # The noise is that of a small data set, or of a large one.
        assert adjacency is REPLACE or {one.chain[0] > one.chain[-1] for one in chains} == {
            False,
            True,
        }


def test_the_search_reaches_what_it_promises():
    pairs = SPACE.pairs(REMOVE, seed=1)
    last = [pair.first[-1] for pair in pairs]
    ages = [one["age"] for one in last]
    assert {0.0, 90.0} <= set(ages)
    assert max(one for one in ages if not math.isnan(one)) > 1_000.0
    assert any(math.isnan(one) for one in ages)
    assert "another one" in {one["city"] for one in last}
    assert {len(pair.second) for pair in pairs} >= {0, 1, 7}
    only = [pair for pair in pairs if "only record with 'Bern'" in pair.words]
    assert only
    assert "Bern" not in {one["city"] for one in only[0].second}
    ties = [pair for pair in pairs if "largest group" in pair.words]
    counts = [
        sum(one["city"] == name for one in ties[0].second) for name in ("Rome", "Oslo", "Bern")
    ]
    assert len(set(counts)) == 1


def test_values_beyond_the_ranges_are_marked_unless_they_are_claimed():
    far = [pair for pair in SPACE.pairs(REMOVE, seed=1) if not pair.within]
    assert {"a record without age", "an outlier"} <= {
        one.words.removeprefix("only D has ") for one in far
    }
    open_ended = DataSpace.of({"age": [0.0, 90.0]}, any_values=True)
    assert all(one.within for one in open_ended.pairs(REMOVE, seed=1))
    assert FEW in {one.beyond for one in open_ended.pairs(REMOVE, seed=1)}


def test_a_user_has_several_records_that_differ_together():
    space = DataSpace.of({"owner": [], "age": [0.0, 90.0]}, user="owner")
    for pair in neighbours(space, REMOVE, 1):
        owners = [one["owner"] for one in pair.first]
        differs = owners[-1]
        assert differs.startswith("somebody")
        several = 2 if "chain" in pair.words else 5
        assert owners.count(differs) == len(pair.first) - len(pair.second) == several
        assert differs not in {one["owner"] for one in pair.second}


def test_the_same_seed_gives_the_same_pairs():
    first, second = (SPACE.pairs(REMOVE, seed=4) for _ in "12")
    assert repr(first) == repr(second)


def test_pairs_of_arrays_keep_the_records_that_both_have_in_front():
    pair = of_neighbours(
        Neighbours(
            first=LabelledData(features=[[3.0], [1.0], [2.0]]),
            second=LabelledData(features=[[1.0], [2.0]]),
            adjacency=REMOVE,
        )
    )
    assert [one["x0"] for one in pair.first] == [1.0, 2.0, 3.0]
    assert [one["x0"] for one in pair.second] == [1.0, 2.0]
    plain = pair.plain()
    assert plain[0]["numbers"] == ["x0"]
    own = Neighbours(
        first=LabelledData(features=np.ones((2, 1))),
        second=LabelledData(features=np.ones((1, 1))),
        adjacency=REMOVE,
    )
    assert len(space_of_pairs([own], alone=True).pairs(REMOVE, seed=1)) == 1


def test_a_user_who_is_no_column_is_refused():
    with pytest.raises(ValueError, match="Expected user to be one of the columns age, got 'owner'"):
        DataSpace.of({"age": [0.0, 90.0]}, user="owner")


@pytest.mark.parametrize("stated", [3, "ab", [1], {}])
def test_a_column_that_says_nothing_is_refused(stated):
    with pytest.raises(ValueError, match=r"columns\['x'\]"):
        ColumnSpace.of("x", stated)
