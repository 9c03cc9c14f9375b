"""The collection of correct and broken mechanisms: every one runs, repeats, and says what it is."""

import json
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks.verdicts import broken, correct, measure
from benchmarks.verdicts.__main__ import main
from benchmarks.verdicts.collection import ADD, REPLACE
from benchmarks.verdicts.formulas import (
    gaussian_delta,
    gaussian_epsilon,
    gaussian_noise,
    sampled_gaussian_delta,
)
from rdpkit import delta as best_delta
from rdpkit.verification.blackbox.neighbours import LabelledData
from tests.events import unit

CASES = [*correct.COLLECTION, *broken.COLLECTION]
# Its generator is seeded when its module is imported, which is the mistake that it makes.
NOT_REPEATABLE = "seed_at_import"


def _data(case, records):
    rng = np.random.default_rng(5)
    return LabelledData(
        features=rng.normal(0.0, case.record_norm or 1.0, (records, case.dimension or 2)),
        labels=rng.integers(case.classes, size=records),
    )


def _same(one, two):
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(_same(one[key], two[key]) for key in one)
    if isinstance(one, tuple | list):
        return len(one) == len(two) and all(map(_same, one, two))
    if hasattr(one, "detach"):
        one, two = one.detach().numpy(), two.detach().numpy()
    return np.array_equal(one, two)


def test_there_are_enough_of_each_and_half_have_many():
    assert len(correct.COLLECTION) >= 24
    assert len(broken.COLLECTION) >= 32
    assert len({case.name for case in CASES}) == len(CASES)
    for collection in (correct.COLLECTION, broken.COLLECTION):
        many = sum(case.has_many for case in collection)
        assert 0.4 <= many / len(collection) <= 0.6


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_mechanism_runs_on_both_sides_and_repeats(case):
    assert len((case.mechanism.__doc__ or "").split()) >= 5
    if "torch" in case.name:
        pytest.importorskip("torch")
    sizes = [5] if case.adjacency == REPLACE else [5, 4, 1, 0]
    for size in sizes:
        dataset = _data(case, size)
        one = case.mechanism(dataset, np.random.default_rng(3))
        if case.has_many:
            found = np.asarray(case.mechanism.many(dataset, np.random.default_rng(3), 7))
            assert found.shape[0] == 7
            assert np.isfinite(found).all()
        if case.name != NOT_REPEATABLE:
            assert _same(one, case.mechanism(dataset, np.random.default_rng(3)))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_claim_is_complete(case):
    words = case.arguments()
    if case.epsilon is None:
        assert words == [case.target]
        assert case.mechanism.adjacency in (ADD, REPLACE)
    else:
        assert words[1:5] == ["--epsilon", repr(case.epsilon), "--delta", repr(case.delta)]


def test_what_is_true_of_a_broken_mechanism_breaks_its_claim():
    for case in broken.COLLECTION:
        if case.epsilon is not None and case.true_epsilon is not None:
            assert case.true_epsilon > case.epsilon, case.name
        if case.delta is not None and case.true_delta is not None:
            assert case.true_delta > case.delta, case.name
    for case in correct.COLLECTION:
        assert case.truth == ""


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-5), (0.5, 1e-2), (2.0, 1e-3)])
def test_formulas_agree_with_the_library(epsilon, delta):
    noise = gaussian_noise(epsilon, delta)
    event = unit.gaussian(noise)
    found = best_delta(event, epsilon=epsilon, adjacency=ADD)
    assert found.delta == pytest.approx(delta, rel=1e-5)
    assert gaussian_delta(epsilon, noise) <= delta
    assert gaussian_epsilon(delta, noise) == pytest.approx(epsilon, rel=1e-6)


def test_delta_of_a_sampled_sum_is_the_librarys():
    event = unit.poisson(1.0, 0.1)
    found = best_delta(event, epsilon=0.5, adjacency=ADD)
    assert sampled_gaussian_delta(0.5, 1.0, 0.1) == pytest.approx(found.delta, rel=1e-3)


def test_the_command_prints_a_row_for_each_mechanism(monkeypatch):
    def outcome(case, seed, options):
        assert options == ("--samples", "5000", "--alpha", "0.01")
        return measure.Outcome(
            seed=seed, status=(seed + 1) % 2, verdict="", named=(), runs=100 * seed, seconds=1.0,
            cpu_seconds=0.5, score="linear", log_e_value=0.5,
        )  # fmt: skip

    monkeypatch.setattr(measure, "run_command", outcome)
    monkeypatch.setattr(measure, "ProcessPoolExecutor", ThreadPoolExecutor)
    words = ["broken", "--only", "noise_reused", "--repeats", "3", "--samples", "5000"]
    words += ["--alpha", "0.01"]
    printed = CliRunner().invoke(main, words)
    assert printed.exit_code == 0, printed.output
    row = "| `noise_reused` | (1, 1e-05), add-or-remove-one | delta 1 | 1 of 3 |  | 200 | 1 | 0.5 |"
    assert row in printed.output
    found = json.loads(CliRunner().invoke(main, [*words, "--format", "json"]).stdout)
    assert found[0]["refuted"] == 1
    assert math.isclose(found[0]["median_runs"], 200.0)


def test_an_unknown_name_is_refused_and_all_are_listed():
    refused = CliRunner().invoke(main, ["correct", "--only", "nothing"])
    assert refused.exit_code == 2
    assert "nothing" in refused.output
    listed = CliRunner().invoke(main, ["correct", "--list"]).output
    assert all(case.name in listed for case in correct.COLLECTION)


def test_a_case_is_run_by_the_command_itself():
    case = correct.COLLECTION["constant_number"]
    refused = measure.run_command(case, 1, ("--alpha", "7"))
    assert refused.status == 2
    assert "--alpha" in refused.verdict
