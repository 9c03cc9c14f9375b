"""How many functions and files stand between a question and its answer."""

import pytest

from benchmarks.walk import EVENTS, passed, passed_again, verify

# Unless the answer is exact, loss distributions and Renyi divergences are both asked: a grid may be
# far too coarse, and then divergences say more. Deltas that are stated are looked for first.
MOST = {"a Gaussian": (61, 15), "100 Poisson samples": (260, 37), "verify": (430, 65)}


@pytest.mark.thorough
@pytest.mark.parametrize("name", MOST)
def test_an_answer_passes_few_functions_and_files(name):
    visited = passed(EVENTS[name]) if name in EVENTS else passed_again(verify)
    functions, files = MOST[name]
    assert len(visited) <= functions
    assert len({path for path, _ in visited}) <= files
