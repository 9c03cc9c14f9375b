"""Tails of right guesses against sums of fractions."""

import math
from fractions import Fraction

import pytest

from rdpkit.numerics.right_guesses import largest_rejected, right_guesses_tail


def exact(bits, guesses, right, odds, delta):
    """The bound with e^epsilon = odds, by fractions."""
    p = Fraction(odds, odds + 1)

    def at_least(k):
        return sum(
            math.comb(guesses, j) * p**j * (1 - p) ** (guesses - j)
            for j in range(max(k, 0), guesses + 1)
        )

    steepest = max(
        ((at_least(right - i) - at_least(right)) / i for i in range(1, right + 1)), default=0
    )
    return min(Fraction(1), at_least(right) + 2 * bits * Fraction(delta) * steepest)


@pytest.mark.parametrize("odds", [1, 2, 50])
@pytest.mark.parametrize(
    ("bits", "guesses", "right"), [(40, 40, 40), (90, 90, 85), (50, 30, 21), (9, 5, 0)]
)
@pytest.mark.parametrize("delta", [0.0, 2.0**-20])
def test_the_tail_is_the_sum_of_fractions(odds, bits, guesses, right, delta):
    found = right_guesses_tail(
        bits=bits, guesses=guesses, right=right, epsilon=math.log(odds), delta=delta
    )
    # Relative 1e-9: the incomplete beta function has about twelve digits here.
    assert found == pytest.approx(
        float(exact(bits, guesses, right, odds, delta)), rel=1e-9, abs=0.0
    )


def test_the_search_ends_just_below_what_is_not_rejected():
    assert largest_rejected(lambda e: e < 2.3, most=700.0) == pytest.approx(2.3, abs=1e-8)
    assert largest_rejected(lambda e: e < 2.3, most=700.0) < 2.3
    assert largest_rejected(lambda e: False, most=700.0) == 0.0
    assert largest_rejected(lambda e: True, most=350.0) == 350.0
