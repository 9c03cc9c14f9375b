"""Releases of new processes, bets on them, and that no correct mechanism loses to these."""

import os
import threading
import time
from contextlib import suppress

import numpy as np
import pytest

from rdpkit.verification.blackbox import fresh_processes
from rdpkit.verification.blackbox.fresh_processes import (
    ENOUGH,
    NewProcesses,
    RepeatBets,
    evidence_of,
    fresh_evidence,
)
from rdpkit.verification.blackbox.neighbours import LabelledData, Neighbours
from rdpkit.verification.blackbox.release_parts import MechanismError
from rdpkit.verification.blackbox.targets import TargetReference, target
from rdpkit.verification.estimators.privacy_claims import DpClaim, ProfileClaim, RdpClaim

# Rejecting at a false-alarm rate of 0.05 takes this.
NEEDED = np.log(20.0)


def bets_on(make, claim, *, pairs=40, seed=0):
    bets = RepeatBets(claim)
    rng = np.random.default_rng(seed)
    while bets.pairs < pairs and not bets.done:
        bets.update(make(0, rng), make(1, rng))
    return bets


def seeded(side, rng):
    return (f"noise of every process on {side}",)


CLAIMS = {
    "pure": DpClaim(epsilon=1.0, delta=0.0),
    "approximate": DpClaim(epsilon=1.0, delta=1e-5),
    "profile": ProfileClaim(epsilons=[0.0, 1.0, 2.0], deltas=[0.4, 0.1, 0.01]),
    "RDP": RdpClaim(orders=[2.0, 8.0], values=[0.2, 0.8]),
}


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_the_same_noise_in_every_process(claim):
    bets = bets_on(seeded, claim, pairs=20)
    assert bets.log_e_value > NEEDED + 2.0
    assert bets.describe().startswith(f"{bets.pairs - 1} of {bets.pairs - 1} further new processes")
    assert bets.always_repeated(0)
    assert bets.always_repeated(1)


def test_one_side_is_enough():
    bets = bets_on(lambda side, rng: (str(side or rng.random()),), CLAIMS["pure"], pairs=30)
    assert bets.log_e_value > NEEDED
    assert "new processes on D' gave the first release on D' again" in bets.describe()
    assert bets.always_repeated(1)
    assert not bets.always_repeated(0)


def test_a_part_of_a_release():
    def make(side, rng):
        noise = str(rng.random())
        return (f"whole {noise}", noise, f"seeded {side}", "constant")

    bets = bets_on(make, CLAIMS["pure"], pairs=30)
    assert bets.log_e_value > NEEDED
    assert "gave a part of the first release" in bets.describe()


def test_it_stops_as_soon_as_nothing_is_to_be_expected():
    bets = bets_on(lambda side, rng: (str(rng.random()),), CLAIMS["pure"])
    assert (bets.pairs, bets.done) == (5, True)
    assert bets.log_e_value <= 0.0
    bets = bets_on(seeded, CLAIMS["pure"], pairs=500)
    assert bets.log_e_value >= ENOUGH
    assert bets.pairs < 60


def test_nothing_is_evidence_if_both_sides_give_the_same():
    for part in ("x", "y"):
        bets = bets_on(lambda side, rng, part=part: (part,), DpClaim(epsilon=0.0, delta=0.0))
        assert (bets.pairs, bets.done) == (5, True)
        assert bets.log_e_value <= 0.0


def test_another_structure_is_another_release():
    bets = RepeatBets(CLAIMS["pure"])
    bets.update(("a", "b", "c"), ("d", "e", "f"))
    bets.update(("a",), ("d", "e"))
    assert bets.pairs == 2


def randomised_response(epsilon):
    keeps = np.exp(epsilon) / (1.0 + np.exp(epsilon))
    return lambda side, rng: (str(side if rng.random() < keeps else 1 - side),)


CORRECT = {
    "constant": (lambda side, rng: ("0",), 0.0),
    "randomised response at 0.5": (randomised_response(0.5), 0.5),
    "randomised response at 1": (randomised_response(1.0), 1.0),
    "randomised response at 8": (randomised_response(8.0), 8.0),
    "mostly one value": (lambda side, rng: (str(int(rng.random() < 0.01)),), 0.0),
    "one of eleven": (lambda side, rng: (str(rng.integers(11)),), 0.0),
    "continuous": (lambda side, rng: (str(rng.random()),), 0.0),
}


@pytest.mark.parametrize(("make", "epsilon"), CORRECT.values(), ids=CORRECT)
def test_correct_mechanisms_are_not_refuted(make, epsilon):
    claim = DpClaim(epsilon=epsilon, delta=0.0)
    shared = RepeatBets(claim)
    found = []
    for seed in range(200):
        bets = RepeatBets.__new__(RepeatBets)
        bets._log_factors, bets._events, bets.pairs = shared._log_factors, [], 0
        rng = np.random.default_rng(seed)
        while bets.pairs < 40 and not bets.done:
            bets.update(make(0, rng), make(1, rng))
        found.append(bets.log_e_value)
    # Each exceeds log 20 with probability at most 0.05; more than 22 of 200 with 1e-4.
    assert sum(value >= NEEDED for value in found) <= 22
    # The mean of e-values is at most 1; each is at most e^14, and the mean of 200 above 20 has a
    # probability of at most 0.05 by Markov's inequality. The seeds are fixed.
    assert np.mean(np.exp(found)) <= 20.0


PAIR = Neighbours(
    first=LabelledData(features=[[1.0, 0.0], [0.0, 0.0]]),
    second=LabelledData(features=[[0.0, 0.0]]),
    adjacency="add_or_remove_one",
)
CLAIM = DpClaim(epsilon=1.0, delta=1e-5)
MODULE = """
import os
import random
import sys
import time

import numpy as np

SEEDED = np.random.default_rng(7)


def seeded_at_import(dataset, rng):
    return dataset.features.sum(axis=0) + SEEDED.normal(0.0, 2.0, 2)


def correct(dataset, rng):
    print("this is no answer")
    assert sys.stdin.read() == ""
    return dataset.features.sum(axis=0) + rng.normal(0.0, 2.0, 2)


def old_generators(dataset, rng):
    return dataset.features.sum(axis=0) + np.random.normal(0.0, 2.0, 2) + random.gauss(0.0, 2.0)


def of_torch(dataset, rng):
    import torch

    return dataset.features.sum(axis=0) + 2.0 * torch.randn(2).numpy()


def constant(dataset, rng):
    return np.array([1.5, 2.5])


def noisy_with_a_count(dataset, rng):
    return {"sum": dataset.features.sum() + rng.normal(0.0, 2.0), "count": len(dataset)}


def hardly_random(dataset, rng):
    return len(dataset) + (rng.random() < 0.1)


def fails(dataset, rng):
    raise ArithmeticError("no such number")


def ends(dataset, rng):
    os._exit(3)


def waits(dataset, rng):
    with open("waiting.txt", "a") as file:
        file.write(f"{os.getpid()}\\n")
    time.sleep(600.0)
"""


def reference(name, folder):
    return TargetReference(name=f"fresh_targets:{name}", directory=str(folder))


@pytest.fixture
def evidence(tmp_path, monkeypatch):
    (tmp_path / "fresh_targets.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)

    def make(name, *, count=20, seconds=120.0):
        deadline = time.perf_counter() + seconds
        return fresh_evidence(
            reference(name, tmp_path), PAIR, CLAIM, seed=3, count=count, deadline=deadline
        )

    return make


@pytest.mark.thorough
def test_a_generator_that_is_seeded_at_import(evidence):
    found = evidence("seeded_at_import")
    assert found.log_e_value > np.log(200.0)
    assert found.seeded < 1e-4
    assert not found.constant
    assert found.message.startswith("19 of 19 further new processes on D gave the first release on")
    assert "new processes on D and on D' began with the same release" in found.note
    assert "seeded when a module is imported" in found.note


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["correct", "old_generators", "constant"])
def test_code_that_is_correct(evidence, name):
    found = evidence(name)
    assert found.log_e_value <= 0.0
    assert found.note == ""
    # Nothing is to be expected of more processes than these.
    assert found.processes <= 5


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "constant"), [("noisy_with_a_count", True), ("hardly_random", False)]
)
def test_a_count_is_released_and_nothing_is_seeded(evidence, name, constant):
    found = evidence(name, count=32)
    assert found.log_e_value > np.log(40.0)
    assert found.seeded > 0.05
    assert found.constant is constant


@pytest.mark.thorough
def test_a_library_that_is_imported_beforehand_has_a_state_for_each_process(evidence):
    pytest.importorskip("torch")
    assert evidence("of_torch").log_e_value <= 0.0


@pytest.mark.thorough
def test_it_repeats_exactly(evidence):
    one, other = (evidence("seeded_at_import", count=4) for _ in range(2))
    assert one == other


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ends", r"In a new process, it ended with status 3"),
        ("nothing", r"In a new process, .*has no 'nothing'"),
    ],
)
def test_code_that_fails(evidence, name, message):
    with pytest.raises(MechanismError, match=message):
        evidence(name)


def ended(pid):
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.thorough
def test_no_process_outlives_the_test(evidence, tmp_path):
    written = tmp_path / "waiting.txt"
    with NewProcesses(reference("waits", tmp_path), PAIR, seed=3, deadline=np.inf) as processes:

        def wait():
            with suppress(MechanismError, OSError):
                processes.releases(0, 0, 1)

        waiting = threading.Thread(target=wait)
        waiting.start()
        while not written.exists() or not written.read_text().endswith("\n"):
            time.sleep(0.05)
    waiting.join()
    assert all(ended(int(pid)) for pid in written.read_text().split())


def test_the_deadline_comes_before_the_second_process(evidence):
    assert evidence("waits", seconds=1.0) is None
    assert evidence("correct", seconds=0.0) is None


@pytest.mark.thorough
def test_without_fork_every_release_has_a_process_of_its_own(monkeypatch, tmp_path, evidence):
    monkeypatch.setattr(fresh_processes, "can_fork", lambda: False)
    # The new processes import this before anything else.
    (tmp_path / "sitecustomize.py").write_text("import os\n\ndel os.fork\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    seeded = reference("seeded_at_import", tmp_path)
    with NewProcesses(seeded, PAIR, seed=3, deadline=np.inf) as processes:
        first, second = (processes.releases(0, number, 2) for number in (0, 1))
    assert first == second
    assert first[0] != first[1]


def test_a_process_that_does_not_start(evidence, monkeypatch, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys\n\nprint('no such luck', file=sys.stderr)\nos._exit(1)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(MechanismError, match=r"failed in a new process: no such luck"):
        evidence("correct")


def test_a_callable_without_a_name_says_nothing():
    found = fresh_evidence(
        target(lambda dataset, rng: 1.0), PAIR, CLAIM, seed=1, count=5, deadline=np.inf
    )
    assert found is None


def test_a_suspicion_is_no_evidence():
    # A random choice that hardly ever falls on the second answer, under a claim that allows it.
    def releases(side, number, count):
        return [("same",)] if count == 1 else [("same",), ("second",), ("third",)]

    found = evidence_of(releases, CLAIM, count=20)
    assert found.log_e_value <= 0.0
    assert found.note.startswith("all 5 new processes on D and on D' began with the same release")
    # A release that never varies raises none.
    assert evidence_of(lambda side, number, count: [("x",)] * count, CLAIM, count=9).note == ""


def test_time_ends_between_two_runs():
    def releases(side, number, count):
        return None if (side, number) == (1, 3) else [(str(side),)] * count

    assert evidence_of(releases, CLAIM, count=20).message.startswith("2 of 2 further")
    assert evidence_of(lambda *_: None, CLAIM, count=20) is None
