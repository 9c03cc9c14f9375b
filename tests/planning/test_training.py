"""The report about a DP-SGD run: its numbers are those of the questions that it asks."""

import math

import pytest

import rdpkit
from rdpkit.accountants import loss_distributions
from rdpkit.planning.training import usual_delta
from tests.events import unit


@pytest.mark.parametrize(
    ("size", "delta"),
    [(1, 1e-5), (99999, 1e-5), (100000, 1e-6), (60000, 1e-5), (999999, 1e-6), (10**6, 1e-7)],
)
def test_the_usual_delta_is_a_power_of_ten_below_one_over_the_size(size, delta):
    assert usual_delta(size) == delta
    assert usual_delta(size) < 1 / size or size == 1


@pytest.mark.thorough
def test_the_numbers_are_those_of_the_questions():
    event = rdpkit.DPSGD(noise_multiplier=1.1, dataset_size=60000, batch_size=256, epochs=5)
    asked = {"delta": 1e-5, "adjacency": "add_or_remove_one"}
    report = rdpkit.training_report(event, **asked)
    assert report.upper == rdpkit.epsilon(event, **asked)
    assert report.lower == rdpkit.lower_bound(event, **asked)[0]
    flat = rdpkit.delta(event, epsilon=0.0, adjacency="add_or_remove_one")
    assert report.advantage.upper == pytest.approx(flat.delta, rel=1e-2)
    assert report.advantage.lower <= report.advantage.upper
    # What (epsilon, delta) says of an attack is no more than what the curve says.
    assert report.tpr.upper <= 1e-5 + math.exp(report.upper.epsilon) * 0.01
    assert report.tpr.upper == rdpkit.tradeoff(event, adjacency=asked["adjacency"]).tpr(0.01).upper
    assert report.gdp == rdpkit.gdp(event, adjacency="add_or_remove_one")


@pytest.mark.thorough
def test_the_lines_for_opacus_say_what_that_loader_does():
    event = rdpkit.DPSGD(noise_multiplier=1.0, dataset_size=1000, batch_size=64, epochs=3)
    lines = rdpkit.training_report(event, delta=1e-5, adjacency="add_or_remove_one").lines
    # A loader of 1000 examples in batches of 64 has 16 of them.
    assert "48 steps at probability 1/16" in lines["opacus"]
    exactly = unit.poisson(1.0, 1 / 16) * 48
    found = rdpkit.epsilon(exactly, delta=1e-5, adjacency="add_or_remove_one").epsilon
    printed = float(lines["opacus"].rpartition("<= ")[2].partition(" ")[0])
    assert found <= printed <= found * 1.001


@pytest.mark.thorough
def test_no_line_is_given_where_a_library_trains_differently():
    settings = {"noise_multiplier": 1.0, "dataset_size": 1000, "batch_size": 50, "epochs": 1}
    asked = {"delta": 1e-5, "adjacency": "replace_one"}
    fixed = rdpkit.training_report(rdpkit.DPSGD(**settings, sampling="fixed-size"), **asked)
    assert set(fixed.lines) == {"jax-privacy"}
    averaged = rdpkit.training_report(rdpkit.DPSGD(**settings, microbatch_size=2), **asked)
    assert not averaged.lines


@pytest.mark.thorough
def test_one_way_of_making_batches_does_not_stand_for_another():
    event = rdpkit.DPSGD(noise_multiplier=1.0, dataset_size=1050, batch_size=50, epochs=10)
    rows = rdpkit.compare_sampling(event, delta=1e-5, adjacency="zero_out")
    verdicts = {row.event.sampling: row.poisson for row in rows}
    assert verdicts["poisson"] == verdicts["random-allocation"] == "sound"
    assert verdicts["shuffle"] == "refuted"
    for row in rows:
        assert row.lower.epsilon <= row.upper.epsilon
        assert row.as_dict()["sampling"] == row.event.sampling
    # It does not matter which of them is asked.
    again = rdpkit.compare_sampling(rows[2].event, delta=1e-5, adjacency="zero_out")
    assert [row.upper.epsilon for row in again] == [row.upper.epsilon for row in rows]
    claimed = rdpkit.compare_sampling(event, delta=1e-5, adjacency="zero_out", claimed=1000.0)
    assert {row.poisson for row in claimed} == {"sound"}


@pytest.mark.thorough
def test_gaussians_that_only_bound_are_not_said_to_be_attained():
    # Batches of which none is left over are known as if it was known in which one a record is.
    event = rdpkit.DPSGD(
        noise_multiplier=8.0, dataset_size=1050, batch_size=50, epochs=4, sampling="shuffle"
    )
    report = rdpkit.training_report(event, delta=1e-5, adjacency="replace_one")
    assert report.lower.epsilon < 0.8 * report.upper.epsilon
    assert report.gdp.lower < 0.9 * report.gdp.mu
    assert report.advantage.lower < 0.9 * report.advantage.upper


@pytest.mark.thorough
def test_nothing_is_computed_twice_and_nothing_is_kept(monkeypatch):
    computed = []

    def counted(*asked, before=loss_distributions.epsilon_above, **options):
        computed.append((asked, tuple(options.items())))
        return before(*asked, **options)

    monkeypatch.setattr(loss_distributions, "epsilon_above", counted)
    event = rdpkit.DPSGD(noise_multiplier=2.0, dataset_size=1000, batch_size=10, steps=50)
    asked = {"delta": 1e-5, "adjacency": "zero_out"}
    with loss_distributions.remembered():
        first = rdpkit.training_report(event, **asked), rdpkit.compare_sampling(event, **asked)
    assert len(set(computed)) == len(computed) > 0
    once = len(computed)
    second = rdpkit.training_report(event, **asked), rdpkit.compare_sampling(event, **asked)
    assert second == first
    assert len(computed) > 2 * once
