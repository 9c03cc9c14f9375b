"""Measurements that are commands of their own: what they count, and the rows they print."""

import json
import math

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import norm

from benchmarks import gather, power
from benchmarks.audit import main
from benchmarks.walk import EVENTS, passed, passed_again, verify
from rdpkit import delta as best_delta
from tests.events import unit


@pytest.mark.thorough
def test_a_small_audit(tmp_path):
    cache = str(tmp_path / "cache")
    arguments = ["--claims", "20", "--workers", "1", "--cache", cache]
    first, again = (
        json.loads(CliRunner().invoke(main, arguments, catch_exceptions=False).stdout)
        for _ in range(2)
    )
    assert first["sound"] + first["unproven"] == 20
    assert [look["audited"] for look in first["looks"]] == [0, 4, 8, 12, 16, 20]
    assert all(look["peak_mib"] > 0 for look in first["looks"])
    seconds = [look["seconds"] for look in first["looks"]]
    assert seconds == sorted(seconds)
    assert (again["sound"], again["unproven"]) == (first["sound"], first["unproven"])


def test_bytes_are_counted_once_for_each_record_of_a_mean(monkeypatch):
    runs = []

    def second(run, rounds):
        runs.append(run())
        return 0.5

    monkeypatch.setattr(gather, "best", second)
    monkeypatch.setattr(gather, "_RECORDS", 50)
    speed = gather.gather_speed(
        np.float32, order=10, clipped=True, workers=2, size=5 * 10 * 784 * 4
    )
    assert runs[0] == 5
    assert speed == 2 * 5 * 10 * 784 * 4
    assert gather.copy_speed(3, size=1000) == 2000
    assert len(runs[1]) == 3


def test_the_command_prints_a_line_for_each_case(monkeypatch):
    monkeypatch.setattr(gather, "copy_speed", lambda workers: 2e9)
    monkeypatch.setattr(gather, "gather_speed", lambda kind, **how: 1e9 * how["order"])
    result = CliRunner().invoke(gather.main, ["--orders", "1,3", "--workers", "2"])
    rows = [json.loads(line) for line in result.output.splitlines()]
    assert rows[0] == {"workers": 2, "copy_gb_per_s": 2.0}
    assert [row["gather_over_copy"] for row in rows[1:]] == [0.5, 1.5] * 6


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


# Divergences are asked beside loss distributions unless data sets attain what these say.
MOST = {"a Gaussian": (60, 15), "100 Poisson samples": (141, 20), "verify": (250, 34)}


@pytest.mark.thorough
@pytest.mark.parametrize("name", MOST)
def test_an_answer_passes_few_functions_and_files(name):
    visited = passed(EVENTS[name]) if name in EVENTS else passed_again(verify)
    functions, files = MOST[name]
    assert len(visited) <= functions
    assert len({path for path, _ in visited}) <= files
