"""The error rate of names of mistakes."""

import math

import pytest

from rdpkit.verification.blackbox.mistakes import NamingLevels


@pytest.mark.parametrize("processes", [True, False])
@pytest.mark.parametrize("scores", [0, 1, 7, 500])
def test_what_names_spend_adds_up_to_at_most_the_rate(processes, scores):
    levels = NamingLevels(0.05, processes=processes)
    given = [levels.processes, *(levels.next() for _ in range(scores))]
    assert math.fsum(given) <= 0.05
    assert sorted(levels.budget.spent.values()) == sorted(given)
    assert min(given[1:], default=1.0) > 0.0
