"""The largest of shuffled sums: the published events and the ratio."""

import math

import mpmath as mp
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from rdpkit.accountants.losses.kinds import kind_of
from rdpkit.accountants.losses.kinds.shuffled_maximum import _log_ratio
from rdpkit.events.pairs import ShuffledMaximum


def pair_of(noise, batches, presence=1.0, kind="removed", second=1):
    return ShuffledMaximum(
        kind=kind, noise_multiplier=noise, batches=batches, presence=presence, second=second
    )


def curve(pair, epsilon, more):
    found = kind_of(pair).curve(pair, more)(arb(epsilon))
    return float(found.upper() if more else found.lower())


@settings(max_examples=40)
@given(
    st.floats(0.1, 10),
    st.integers(1, 10**5),
    st.floats(-6, 12),
    st.floats(1e-3, 2),
    st.sampled_from([0, 1]),
)
def test_the_ratio_grows(noise, batches, place, step, second):
    a = 1 / arb(noise)
    pair = pair_of(noise, batches, second=second)
    first, second = (_log_ratio(arb(c), a, pair) for c in (place, place + step))
    assert first < second or first.overlaps(second)


@pytest.mark.parametrize("noise", [0.4, 0.8, 2.0])
@pytest.mark.parametrize("batches", [10, 1000])
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 4.0])
@pytest.mark.parametrize("second", [0, 1])
def test_the_curve_is_the_best_of_the_published_events(noise, batches, epsilon, second):
    """Chua et al. 2024: the event that the largest exceeds a threshold, 200 thresholds, mpmath."""
    best = 0.0
    with mp.workdps(30):
        s = 1 / mp.mpf(noise)
        for c in mp.linspace(-2, 2 * s + 8, 200):
            rest = mp.ncdf(c) ** (batches - 1)
            gain = (1 - mp.ncdf(c - 2 * s) * rest) - mp.e**epsilon * (
                1 - mp.ncdf(c - second * s) * rest
            )
            best = max(best, float(gain))
    pair = pair_of(noise, batches, second=second)
    low, high = curve(pair, epsilon, False), curve(pair, epsilon, True)
    assert best * 0.999 - 1e-12 <= low + 0.02 * best
    assert best <= high
    assert low <= high
    assert low == pytest.approx(best, rel=0.05, abs=1e-12)


def test_members_exchanged_have_the_mirrored_curve():
    pair = pair_of(1.0, 50)
    other = pair.reversed()
    for epsilon in (0.0, 0.7):
        mirrored = 1 - math.exp(epsilon) + math.exp(epsilon) * curve(pair, -epsilon, True)
        assert curve(other, epsilon, True) == pytest.approx(mirrored, abs=1e-9)
