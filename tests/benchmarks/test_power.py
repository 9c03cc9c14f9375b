"""The power measurement: the mechanism is the claimed one, and sizes count every sample."""

import json
import math

import pytest
from click.testing import CliRunner
from scipy.stats import norm

from benchmarks import power
from rdpkit import delta as best_delta
from tests.events import unit


@pytest.mark.parametrize("at", [1e-2, 1e-3])
def test_noise_is_what_the_library_says(at):
    noise = power.needed_noise(1.0, at)
    event = unit.gaussian(noise)
    found = best_delta(event, epsilon=1.0, adjacency="add_or_remove_one")
    assert found.delta == pytest.approx(at, rel=1e-6)


def test_a_large_violation_takes_few_samples():
    claim = power.claims(1.0, 1e-2)["(1, 0.01)"]
    needed = power.one_run(claim, 3.0, 100_000, seed=1)
    assert 10_000 < needed < 30_000


def test_no_violation_is_not_found():
    """At the claimed noise; the test rejects one in twenty seeds at most, and not this one."""
    claim = power.claims(1.0, 1e-2)["(1, 0.01)"]
    assert power.one_run(claim, 1.0 / power.needed_noise(1.0, 1e-2), 50_000, seed=1) is None


def test_the_command_prints_a_line_for_each_claim(monkeypatch):
    monkeypatch.setattr(power, "one_run", lambda *args: 1_000)
    result = CliRunner().invoke(power.main, ["--runs", "2"])
    printed = [json.loads(line) for line in result.output.splitlines()]
    rows = [row for row in printed if "claim" in row]
    assert (len(rows), len(printed)) == (6, 10)
    assert all(row["rejected"] == 2 and row["samples_for_95_of_100"] == 1_000 for row in rows)


@pytest.mark.parametrize("at", [1e-2, 1e-3])
def test_a_peers_rule_needs_its_own_bound(at):
    """At the number that is returned, what the rule subtracts leaves the excess just above 0."""
    noise = power.PART * power.needed_noise(1.0, at)
    tested = power.hoeffding_samples(1.0, at) / 4
    slope = math.e
    accuracy = (slope + power.delta(1.0, noise)) / (1.0 + slope)
    unlucky = accuracy - norm.ppf(0.95) * math.sqrt(accuracy * (1.0 - accuracy) / tested)
    bound = (unlucky - math.sqrt(math.log(20.0) / 2.0 / tested)) * (1.0 + slope) - slope
    # One sample more or less moves the bound by far less than this part of the excess.
    assert bound == pytest.approx(at, abs=1e-5 * (power.delta(1.0, noise) - at))
    assert bound >= at
    assert power.histogram_samples(1.0, at) > power.hoeffding_samples(1.0, at)
