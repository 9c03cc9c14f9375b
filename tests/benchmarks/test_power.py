"""The power measurement: the mechanism is the claimed one, and sizes count every sample."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from benchmarks import power
from rdpkit import Gaussian
from rdpkit import delta as best_delta


@pytest.mark.parametrize("at", [1e-2, 1e-3])
def test_noise_is_what_the_library_says(at):
    noise = power.needed_noise(1.0, at)
    event = Gaussian(noise_std=noise, record_norm=1.0)
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
    rows = [json.loads(line) for line in result.output.splitlines()]
    assert len(rows) == 6
    assert all(row["rejected"] == 2 and row["samples_for_95_of_100"] == 1_000 for row in rows)
