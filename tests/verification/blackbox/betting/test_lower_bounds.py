"""Lower bounds on epsilon and mu that hold whenever a test stops."""

import math

import numpy as np
import pytest

from rdpkit.verification.blackbox.betting.lower_bounds import (
    CountedEvent,
    best_event,
    epsilon_bound,
    epsilon_of,
    mu_bound,
    mu_of,
)
from rdpkit.verification.estimators.base import Direction, ThresholdEvent

EVENT = ThresholdEvent(threshold=0.5, above=True, direction=Direction.P_OVER_Q)


def counted(share, other, trials, event=EVENT, choice=1):
    hits = [round(share * trials), round(other * trials)]
    return CountedEvent(column=0, event=event, choice=choice, hits=hits, trials=trials)


def test_they_approach_the_truth_from_below():
    found = [
        epsilon_bound([counted(0.6, 0.2, n)], delta=0.1, failure=0.05).epsilon
        for n in (100, 10_000, 1_000_000)
    ]
    assert found == sorted(found)
    assert found[-1] <= math.log(0.5 / 0.2)
    assert found[-1] == pytest.approx(math.log(0.5 / 0.2), abs=0.02)


def test_the_best_of_several_events_and_its_direction():
    back = ThresholdEvent(threshold=0.5, above=False, direction=Direction.Q_OVER_P)
    events = [counted(0.3, 0.2, 10_000), counted(0.1, 0.7, 10_000, event=back, choice=2)]
    found = epsilon_bound(events, delta=0.0, failure=0.05)
    assert found.event is back
    assert 1.5 < found.epsilon < math.log(7.0)
    assert mu_bound(events, failure=0.05).event is back


def test_nothing_seen_gives_zero():
    assert epsilon_bound([], delta=0.0, failure=0.05).epsilon == 0.0
    assert mu_bound([counted(0.5, 0.5, 0)], failure=0.05).mu == 0.0
    assert mu_bound([counted(0.5, 0.5, 1000)], failure=0.05).event is None


def test_later_choices_get_smaller_parts_of_the_failure():
    bounds = [
        epsilon_bound([counted(0.6, 0.2, 500, choice=k)], delta=0.0, failure=0.05).epsilon
        for k in (1, 2, 5)
    ]
    assert bounds == sorted(bounds, reverse=True)
    assert len(set(bounds)) == 3


def test_mu_of_a_gaussian_mechanism():
    # Scores N(1, 1) and N(0, 1): the mechanism is 1-GDP, and every threshold attains it.
    rng = np.random.default_rng(1)
    p, q = rng.normal(1.0, 1.0, 50_000), rng.normal(0.0, 1.0, 50_000)
    _, event = best_event(p[:1000], q[:1000], of=mu_of)
    found = CountedEvent(column=0, event=event, choice=1)
    found.count(p[1000:, None], q[1000:, None])
    assert 0.9 < mu_bound([found], failure=0.05).mu <= 1.0


def test_the_event_is_chosen_for_the_bound():
    # At delta 0 a likelihood ratio in the tail is worth most, if it has been seen often enough.
    rng = np.random.default_rng(2)
    p, q = rng.normal(1.0, 1.0, 50_000), rng.normal(0.0, 1.0, 50_000)
    bounds = []
    for size in (500, 50_000):
        bound, event = best_event(p[:size], q[:size], of=epsilon_of(0.0))
        bounds.append(bound)
    assert bounds[0] < bounds[1]
    # The ratio of the tails at the threshold is at least e^(threshold - 1/2).
    assert bounds[1] > 1.5
    assert event.threshold > 1.0 or event.threshold < 0.0
