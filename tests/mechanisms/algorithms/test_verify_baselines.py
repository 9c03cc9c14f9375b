"""Black-box tests of what the heavier mechanisms release; all seeds are fixed."""

import dataclasses
import tomllib

import numpy as np
import pytest
from rdpkit.mechanisms.algorithms import verify_baselines
from rdpkit.mechanisms.algorithms.verify_baselines import TARGETS
from rdpkit.verification.blackbox.options import VerificationOptions
from rdpkit.verification.blackbox.targets import target
from rdpkit.verification.blackbox.tested_claim import event_claim
from rdpkit.verification.blackbox.verify import verify

import rdpkit


def verified(name, *, samples, seed, claim=None, rate=0.001):
    one = TARGETS[name]
    return verify(
        one,
        claim=None if claim is None else event_claim(claim, adjacency=one.adjacency),
        options=VerificationOptions(
            false_alarm_rate=rate, samples=samples, training=300, seed=seed, scores=("logistic",)
        ),
    )


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_a_target_is_found_by_its_name_and_runs(name):
    named = target(f"rdpkit.mechanisms.algorithms.verify_baselines:{name}")
    found = named.mechanism()
    assert found is getattr(verify_baselines, name) is TARGETS[name]
    (pair,) = named.own.neighbours()
    many = found.many(pair.first, np.random.default_rng(1), 3)
    assert len(np.unique(many.reshape(3, -1), axis=0)) == 3
    assert found(pair.second, np.random.default_rng(1)).shape == many.shape[1:]


@pytest.mark.parametrize("name", sorted(set(TARGETS) - {"linear_matching"}))
def test_the_event_file_holds_the_event(name):
    # An event made of others is written by hand.
    table = tomllib.loads(TARGETS[name].event_file())
    assert rdpkit.event_from_parameters(table.pop("mechanism"), table) == TARGETS[name].event


@pytest.mark.statistical
@pytest.mark.parametrize("name", sorted(TARGETS))
def test_no_mechanism_is_rejected(name):
    """Each is rejected wrongly with probability 0.001 with another seed."""
    result = verified(name, samples=8000, seed=1)
    assert result.verdict == "not rejected"
    assert not result.mistakes


@pytest.mark.statistical
@pytest.mark.parametrize("name", sorted(TARGETS))
def test_a_claim_of_two_and_a_half_times_the_noise_is_rejected(name):
    """Seeded; without this, a test that rejects nothing would pass the one above."""
    event = TARGETS[name].event
    if name == "linear_matching":
        parts = [
            dataclasses.replace(part, event=dataclasses.replace(part.event, noise_std=2.5))
            for part in event.events
        ]
        claim = dataclasses.replace(event, events=tuple(parts))
    else:
        claim = dataclasses.replace(event, noise_std=2.5)
    assert verified(name, samples=40_000, seed=2, claim=claim, rate=0.05).rejected
