"""How often the whole verdict on correct mechanisms is wrong, mistakes that it names included.

Every mechanism of ``benchmarks/verdicts/correct.py`` is verified ``RUNS`` times as the command does
it, with the pairs of data sets and the scores that it chooses. The test is sequential: its capital
begins at 1, and a claim is rejected at a rate a once the capital reaches 1/a. So the largest
capital of one run, which stops only at the smallest rate, shows its verdict at every larger rate.

A mechanism fails if the lower bound of Clopper and Pearson on how often it is refuted, which itself
fails with probability at most ``CHANCE``, is above the stated rate. A correct engine fails one of
these tests by chance with probability at most 1e-6 for each rate. Seeds are fixed: a test that has
passed passes again.
"""

import math

import numpy as np
import pytest

from benchmarks.verdicts.correct import COLLECTION
from rdpkit.adjacency import Adjacency
from rdpkit.verification.blackbox import targets
from rdpkit.verification.blackbox.options import VerificationOptions
from rdpkit.verification.blackbox.pairs_of_target import pairs_of_target
from rdpkit.verification.blackbox.verify import verify
from rdpkit.verification.estimators.clopper_pearson import lower_bound
from rdpkit.verification.evidence.requests import ClaimOptions

pytestmark = pytest.mark.statistical

RUNS = 1000
CHANCE = 1e-6
RATES = (0.05, 0.01)
# Runs in one verification. Bets begin early, on scores that were learnt from little.
SAMPLES = 1500
LESSON = 64
PAIRS = 2
# The larger a release, the longer scores take to learn.
FEWER_SAMPLES = 600
WIDE = 50


def largest_evidence(case, seed):
    """The largest log capital of one verification, which stops only at the smallest rate."""
    options = VerificationOptions(
        samples=FEWER_SAMPLES if (case.dimension or 1) > WIDE else SAMPLES,
        false_alarm_rate=min(RATES),
        training=LESSON,
        pairs=PAIRS,
        dimension=case.dimension,
        record_norm=case.record_norm,
        classes=case.classes if case.classes > 1 else None,
        seed=seed,
    )
    subject = targets.target(case.target)
    claim = ClaimOptions(
        epsilon=case.epsilon,
        delta=case.delta,
        adjacency=None if case.epsilon is None else Adjacency.parse(case.adjacency),
    ).claim(subject.own)
    pairs = pairs_of_target(subject, claim=claim, options=options, delta=case.delta)
    found = verify(
        subject, claim=claim, neighbours=pairs, options=options, jobs=1, fresh_processes=False
    )
    if found.rejected:
        assert found.outcome.log_e_value >= math.log(1.0 / min(RATES))
    else:
        assert found.mistakes == ()
    return found.outcome.log_e_value


@pytest.mark.parametrize("name", COLLECTION.names)
def test_correct_mechanisms_are_not_refuted(name, record_property):
    """False alarms at rates of 0.05 and 0.01. Fails by chance with probability at most 2e-6."""
    case = COLLECTION[name]
    evidence = np.array([largest_evidence(case, seed) for seed in range(RUNS)])
    for rate in RATES:
        alarms = int((evidence >= math.log(1.0 / rate)).sum())
        low = float(lower_bound(alarms, RUNS, CHANCE))
        record_property(f"{name} at {rate:g}", f"{alarms} of {RUNS}")
        print(f"{name}: {alarms} false alarms in {RUNS} runs, stated {rate:g}")
        assert low <= rate
