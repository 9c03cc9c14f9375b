"""How measurements are arranged; what they come to is not asserted."""

import math
import sys

import pytest

from benchmarks import timing
from benchmarks.timing import Effort, Timing

EFFORT = Effort(rounds=4, least=2, seconds=1e9, limit=1e9, turn=0.0)


def test_a_library_that_raises_leaves_the_others_alone():
    def fails(index):
        raise RuntimeError("no\nway")

    def fails_later(index):
        if index > 8:
            raise ValueError

    found = timing.side_by_side({"a": fails, "b": fails_later, "c": abs}, EFFORT)
    assert found["a"].failure == "RuntimeError: no way"
    assert found["a"].median is None
    assert found["b"].failure == "ValueError"
    assert len(found["c"].seconds) == 4
    assert found["c"].failure == ""


def test_a_slow_library_is_measured_the_least_number_of_rounds():
    effort = Effort(rounds=4, least=2, seconds=0.0, limit=1e9, turn=0.0)
    found = timing.side_by_side({"a": abs}, effort)["a"]
    assert [math.isnan(value) for value in found.seconds] == [False, False, True, True]
    assert len(found.measured) == 2
    effort = Effort(rounds=4, least=2, seconds=0.0, limit=0.0, turn=0.0)
    assert len(timing.side_by_side({"a": abs}, effort)["a"].measured) == 1


def test_ratios_are_of_the_same_round_and_scaled():
    ours = Timing(seconds=[1.0, 2.0, math.nan, 1.0])
    theirs = Timing(seconds=[3.0, 4.0, 5.0, math.nan])
    assert timing.ratios(theirs, ours, 10.0) == [30.0, 20.0]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_peak_memory_sees_what_a_call_uses_and_gives_back():
    size = 64 * 2**20
    found = timing.peak_memory(lambda index: bytes(bytearray(size)))
    if found is None:
        pytest.skip("the peak cannot be reset here")
    # Two copies of the array; pages and other threads blur the count.
    assert 1.5 * size < found < 3 * size


def test_a_fresh_process_that_fails_says_why():
    with pytest.raises(RuntimeError, match="no-such-option"):
        timing.in_fresh_process(["--no-such-option"], timeout=60.0)
