"""Bets on releases of new processes: what they see, and that no correct mechanism loses to them."""

import numpy as np
import pytest

from rdpkit.verification.blackbox.checks.repeats import ENOUGH, RepeatBets
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
