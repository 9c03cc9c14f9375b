"""One claim against one event: proven, refuted, or neither."""

import json
import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rdpkit
from rdpkit import Soundness, check
from rdpkit.pairs.claim_check import claimed_number, is_proven, is_refuted
from tests.events import unit

GAUSSIAN = unit.gaussian(5.0)
DPSGD = 14063 * unit.poisson(1.0, 256 / 60000)
QUESTION = {"delta": 1e-5, "adjacency": "add_or_remove_one"}


@pytest.mark.thorough
@given(st.floats(0.5, 1.0))
def test_a_gaussian_is_decided_on_both_sides(claimed):
    exact = rdpkit.epsilon(GAUSSIAN, **QUESTION).epsilon
    found = check(GAUSSIAN, epsilon=claimed, **QUESTION)
    if claimed >= exact:
        assert found.soundness is Soundness.SOUND
    elif claimed < exact * (1 - 1e-5):
        assert found.soundness is Soundness.REFUTED
    assert found.upper >= found.lower
    assert found.slack == claimed / found.upper.epsilon


def test_what_is_between_the_bounds_is_neither():
    bounds = check(DPSGD, epsilon=3, **QUESTION)
    assert bounds.soundness is Soundness.SOUND
    middle = (bounds.upper.epsilon + bounds.lower.epsilon) / 2
    between = check(DPSGD, epsilon=middle, **QUESTION)
    assert between.soundness is Soundness.UNPROVEN
    assert between.refutation == ()
    assert str(between).startswith("unproven: epsilon = ")


def test_a_refutation_names_the_data_sets_and_the_delta_that_is_attained():
    found = check(DPSGD, epsilon="2.50", **QUESTION)
    assert str(found).startswith("refuted: epsilon = 2.50 at delta = 1e-05 (add-or-remove-one; up")
    assert any(line.startswith("D :") for line in found.refutation)
    assert "delta at the claimed epsilon 2.50 is at least" in found.refutation[-1]
    table = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert table["soundness"] == "refuted"
    assert table["lower"]["epsilon"] > 2.5
    assert "<svg" in found._repr_html_()


@pytest.mark.parametrize(
    ("event", "claimed", "delta", "said"),
    [
        # Printed with four digits, the attained epsilon is the claim itself.
        (GAUSSIAN, "0.7255", 1e-5, "at least 0.000010004, 1.0004 times the claimed 1e-05"),
        # The grid on which the delta is bounded costs more than what is between the two.
        (DPSGD, "1.3544", 1e-2, "above the claimed 0.01"),
    ],
)
def test_a_claim_next_to_what_is_attained_shows_what_differs(event, claimed, delta, said):
    found = check(event, epsilon=claimed, delta=delta, adjacency="add_or_remove_one")
    assert found.soundness is Soundness.REFUTED
    assert found.refutation[-1].endswith(f"is {said}")


def test_the_central_limit_theorem_is_no_proof():
    """Bu, Dong, Long and Su 2020 (arXiv 1911.11607): mu of the MNIST model by their Corollary 4."""
    steps, q, z = 15 * 234, 256 / 60000, 1.3
    mu = q * math.sqrt(steps * (math.exp(z**-2) - 1.0))
    by_the_theorem = unit.gaussian(1.0 / mu)
    printed = rdpkit.epsilon(by_the_theorem, **QUESTION).epsilon
    event = steps * unit.poisson(z, q)
    assert check(event, epsilon=printed, **QUESTION).soundness is Soundness.REFUTED


def test_where_no_pair_is_known_nothing_is_refuted():
    event = rdpkit.CustomRdp(orders=[2, 4], values=[0.1, 0.2], adjacency="replace_one")
    found = check(event, epsilon=0, delta=1e-5, adjacency="replace_one")
    assert (found.soundness, found.lower) == (Soundness.UNPROVEN, None)
    nothing = check(event, epsilon=5, delta=1e-5, adjacency="add_or_remove_one")
    assert (nothing.soundness, nothing.slack) == (Soundness.UNPROVEN, None)
    assert json.dumps(nothing.as_dict(), allow_nan=False)


def test_an_infinite_claim_is_true_and_a_last_digit_is_explained():
    assert check(GAUSSIAN, epsilon=math.inf, **QUESTION).soundness is Soundness.SOUND
    found = check(GAUSSIAN, epsilon="0.72", **QUESTION)
    assert "rounded up to 0.73, it would be proven" in found.notes[0]


def test_pure_privacy_is_a_claim_too():
    assert check(GAUSSIAN, epsilon=9, delta=0, adjacency="replace").soundness is Soundness.REFUTED
    # The number that the theorem states is proven, and not only a rounding above it.
    once = unit.sparse_vector(20.0, 40.0)
    third = unit.sparse_vector(6.0, 12.0)
    for event, claimed in ((once, "0.1"), (3 * third, "1")):
        found = check(event, epsilon=claimed, delta=0, adjacency="replace")
        assert found.soundness is Soundness.SOUND
        assert float(claimed) <= found.upper.epsilon <= float(claimed) * (1 + 1e-15)


@pytest.mark.parametrize("value", [-1, "-1", "x", "", math.nan, "nan", None, True, "1e999", [1]])
def test_a_claim_is_a_number(value):
    with pytest.raises(ValueError, match="Expected epsilon to be a number >= 0"):
        claimed_number("epsilon", value)


def test_digits_are_kept():
    assert str(claimed_number("epsilon", "1.10")) == "1.10"
    assert claimed_number("epsilon", 0.1) == Decimal("0.1")
    assert claimed_number("epsilon", " 2 ") == 2


def test_only_what_is_certified_proves():
    assert is_proven(1.0, 0.5, enclosure=(0.4, 0.5))
    assert not is_proven(1.0, 0.5, enclosure=None)
    assert is_proven(1.0, 0.0, enclosure=None)
    assert not is_proven(1.0, 1.1, enclosure=(0.9, 1.1))
    assert is_proven(1.0, 1.0 + 1e-15, enclosure=(1.0 - 1e-15, 1.0 + 1e-15))
    assert not is_refuted(1.0, 1.0 + 1e-9)
    assert is_refuted(1.0, 1.00001)
