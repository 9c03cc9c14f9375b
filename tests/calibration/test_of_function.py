"""Calibration of any function from a number to an event."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rdpkit
from rdpkit import CalibrationError, UnreachableTargetError

ASK = {"target_epsilon": 1.0, "delta": 1e-5, "adjacency": "add_or_remove_one"}


def noise(std):
    return rdpkit.Gaussian(noise_std=std, record_norm=1.0)


def test_the_same_as_the_parameter_itself():
    found = rdpkit.calibrate(noise, **ASK, between=(0.1, 1e4), tolerance=1e-9)
    other = rdpkit.calibrate(noise(1.0), **ASK, parameter="noise_std", tolerance=1e-9)
    assert found.value == pytest.approx(other.value, rel=1e-8)
    assert found.event == noise(found.value)
    assert found.certified


@settings(max_examples=6)
@given(st.floats(0.1, 10.0), st.sampled_from([1.0, -1.0]), st.booleans())
def test_either_direction_and_either_sign_never_exceeds_the_target(target, sign, turned):
    def make(x):
        return noise(1.0 / abs(x) if turned else abs(x))

    ends = [sign * 1e-3, sign * 1e3]
    found = rdpkit.calibrate(make, **{**ASK, "target_epsilon": target}, between=ends)
    assert found.guarantee.epsilon <= target
    missed = rdpkit.epsilon(make(found.misses["number"]), delta=1e-5, adjacency=ASK["adjacency"])
    assert missed.epsilon > target
    assert found.misses["number"] == pytest.approx(found.value, rel=2e-4)


def test_of_integers_only_integers_are_tried():
    tried = []

    def many(count):
        tried.append(count)
        return rdpkit.Repeated(event=noise(10.0), count=count)

    found = rdpkit.calibrate(many, **ASK, between=(1, 10_000))
    assert all(type(count) is int for count in tried)
    assert found.misses == {"number": found.value + 1}
    other = rdpkit.calibrate(many(1), **ASK, parameter="count")
    assert found.value == other.value


def test_a_bound_that_goes_up_and_down_is_safe():
    found = rdpkit.calibrate(
        lambda x: noise(3.0 + 2.0 * abs(x % 2.0 - 1.0)), **ASK, between=(0.0, 7.0)
    )
    assert found.guarantee.epsilon <= 1.0


def test_ends_that_say_nothing():
    with pytest.raises(UnreachableTargetError, match=r"Neither 0.1 nor 0.2 meets epsilon = 1.0"):
        rdpkit.calibrate(noise, **ASK, between=(0.1, 0.2))
    with pytest.raises(CalibrationError, match=r"Both 100.0 and 200.0 meet epsilon = 1.0"):
        rdpkit.calibrate(noise, **ASK, between=(100.0, 200.0))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"between": (1.0,)}, "Expected between to be a pair"),
        ({"between": (1.0, 1.0)}, "Expected between to be a pair"),
        ({"between": (1.0, float("inf"))}, "Expected between to be a pair"),
        ({"between": (1.0, 2.0), "parameter": "noise_std"}, "Expected parameter to be None"),
        ({"between": (1.0, 2.0), "bound": "nope"}, "bound"),
    ],
)
def test_what_does_not_fit_is_named(arguments, words):
    with pytest.raises(ValueError, match=words):
        rdpkit.calibrate(noise, **ASK, **arguments)


def test_what_is_missing_is_named():
    with pytest.raises(TypeError, match="of a function needs the argument 'between'"):
        rdpkit.calibrate(noise, **ASK)
    with pytest.raises(TypeError, match="of an event needs the argument 'parameter'"):
        rdpkit.calibrate(noise(1.0), **ASK)
    with pytest.raises(ValueError, match=r"to be an Event, got 1\.0"):
        rdpkit.calibrate(lambda x: x, **ASK, between=(1.0, 2.0))
