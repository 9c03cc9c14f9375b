"""Why a claim was probably rejected: common mistakes are named, with numbers."""

import math
import re

import numpy as np
import pytest

import rdpkit
from rdpkit.verification.evidence.requests import request_of
from rdpkit.verification.pytest_plugin import failure as module
from rdpkit.verification.pytest_plugin.failure import likely_cause

EVENT = rdpkit.Gaussian(noise_std=2.0, record_norm=1.0)
COUNT = rdpkit.Laplace(noise_scale=2.0, record_norm=1.0)


def clipped(dataset):
    norms = np.linalg.norm(dataset.features, axis=1, keepdims=True)
    return dataset.features / np.maximum(norms, 1.0)


def unclipped(dataset, rng):
    return dataset.features.sum(axis=0) + rng.normal(0.0, 2.0, dataset.dimension)


def weak(dataset, rng):
    return clipped(dataset).sum(axis=0) + rng.normal(0.0, 1.0, dataset.dimension)


def doubled(dataset, rng):
    return 2.0 * clipped(dataset).sum(axis=0) + rng.normal(0.0, 2.0, dataset.dimension)


def shared(dataset, rng):
    return clipped(dataset).sum(axis=0) + rng.normal(0.0, 2.0)


def weak_count(dataset, rng):
    return len(dataset) + rng.laplace(0.0, 0.5)


def named(dataset, rng):
    return "many" if len(dataset) + rng.laplace(0.0, 0.2) > 7.5 else "few"


# Code, claim, kind, how far a record moves the output beside the noise, and the message, in which
# "#" stands for an estimate.
CASES = [
    (unclipped, EVENT, "unclipped_records", (1000.0, 2.0), "the output by #; the claim allows 1."),
    (weak, EVENT, "too_little_noise", (1.0, 1.0), "deviation #; the claim says noise_std = 2"),
    (doubled, EVENT, "sensitivity_too_large", (2.0, 2.0), "the output by #; the claim allows 1,"),
    (shared, EVENT, "noise_reused", (1.0, 2.0), "the parts have the same noise"),
    (
        weak_count, COUNT, "too_little_noise", (1.0, 0.5 * math.sqrt(2.0)),
        "noise_scale = 2, which is a standard deviation of 2.828",
    ),
]  # fmt: skip


@pytest.fixture(autouse=True)
def as_many_runs_on_a_busy_machine(monkeypatch):
    monkeypatch.setattr(module, "_SECONDS", 600.0)


@pytest.fixture
def few_runs(monkeypatch):
    monkeypatch.setattr(module, "_MOST_RUNS", 1000)


def found(mechanism, event, **more):
    request = request_of(
        mechanism, name="it", event=event, adjacency="add_or_remove_one", seed=3, **more
    )
    result = request.run()
    assert result.rejected
    return likely_cause(request, result)


@pytest.mark.usefixtures("few_runs")
@pytest.mark.parametrize(
    ("mechanism", "event", "kind", "outputs", "message"),
    [*(pytest.param(*case, marks=pytest.mark.thorough) for case in CASES[:-2]), *CASES[-2:]],
)
def test_a_mistake_is_named(mechanism, event, kind, outputs, message):
    options = {"pairs": 6} if event is EVENT else {}
    cause = found(mechanism, event, **options)
    assert cause.mistake.kind == kind
    assert re.search(
        re.escape(message).replace(r"\#", "[0-9.]+(e[+]?[0-9]+)?"), cause.mistake.message
    )
    assert cause.mistake.advice
    assert "estimates" in cause.measured.describe()
    shift, std = outputs
    # Five standard errors: the numbers differ with versions of libraries.
    assert cause.measured.shift == pytest.approx(shift, abs=5.0 * cause.measured.error_of_shift)
    assert cause.measured.std == pytest.approx(std, rel=5.0 / math.sqrt(cause.measured.runs))


@pytest.mark.thorough
def test_what_is_no_number_is_not_measured():
    cause = found(named, None, epsilon=0.1, delta=0.0)
    assert cause.measured is None


@pytest.mark.thorough
def test_what_no_known_mistake_explains_says_so():
    cause = found(weak, None, epsilon=0.1, delta=0.01, record_norm=1.0, pairs=6)
    assert cause.mistake.kind == "not_named"
    assert "No known mistake explains it alone" in cause.mistake.message


@pytest.mark.thorough
def test_without_an_event_long_records_are_the_suspicion():
    cause = found(unclipped, None, epsilon=1.0, delta=0.01, pairs=6)
    assert cause.mistake.kind == "unclipped_records"
    assert "does not clip" in cause.mistake.message


def mean(dataset, rng):
    summed = clipped(dataset).sum(axis=0) / max(1, len(dataset))
    return summed + rng.normal(0.0, 0.1, dataset.dimension)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("claim", "kind"),
    [
        ({"event": rdpkit.Gaussian(noise_std=0.1, record_norm=0.1)}, "sensitivity_too_large"),
        ({"event": None, "epsilon": 1.0, "delta": 0.01}, "not_named"),
    ],
)
def test_a_mean_over_a_private_count_is_not_said_to_be_unclipped(claim, kind):
    assert found(mean, **claim).mistake.kind == kind
