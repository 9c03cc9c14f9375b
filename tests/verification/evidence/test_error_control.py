"""One error rate over all claims, versions of code and time: weights, products, e-LOND."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from rdpkit.verification.evidence.error_control import (
    ErrorControl,
    Evidence,
    log_needed,
    log_weight,
    rejections_beside,
    share_of_test,
    standings,
)

FWER, FDR = ErrorControl.FAMILY_WISE, ErrorControl.FALSE_DISCOVERY


def evidence(place, log_e_value, highest=None, rejections=0):
    return Evidence(
        hypothesis=place,
        log_e_value=log_e_value,
        highest=max(log_e_value, 0.0) if highest is None else highest,
        rejections=rejections,
    )


def rejected(weights, found, *, rate=0.05, control=FWER):
    return [s.rejected for s in standings(weights, found, rate=rate, control=control)]


def test_all_weights_add_up_to_at_most_one():
    """The double sum of 36 / (pi^4 k^2 v^2) up to n is (1 - O(1/n))^2; its tail is positive."""
    n = 2000
    one = sum(math.exp(log_weight(k, 1) - log_weight(1, 1)) for k in range(1, n + 1))
    total = math.exp(log_weight(1, 1)) * one**2
    assert 1.0 - 3.0 / n < total < 1.0


def test_every_claim_and_version_has_a_weight_of_its_own():
    assert math.exp(log_weight(1, 1)) == pytest.approx((6 / math.pi**2) ** 2, rel=1e-15)
    assert math.exp(log_weight(2, 3)) == pytest.approx(36 / math.pi**4 / 36, rel=1e-15)
    assert log_weight(5, 2) == log_weight(2, 5)


def test_e_values_of_one_hypothesis_multiply():
    (found,) = standings([0.0], [evidence(0, 1.0), evidence(0, -0.5)], rate=0.05, control=FWER)
    assert (found.log_product, found.tests, found.rejected) == (0.5, 2, False)


def test_e_values_of_several_hypotheses_do_not():
    found = standings([0.0, 0.0], [evidence(0, 2.0), evidence(1, 2.0)], rate=0.05, control=FWER)
    assert [one.log_product for one in found] == [2.0, 2.0]
    assert not any(one.rejected for one in found)


def test_a_hypothesis_is_rejected_when_its_product_reaches_one_over_its_level():
    weight = math.log(0.5)
    needed = math.log(1 / 0.05 / 0.5)
    assert rejected([weight], [evidence(0, needed)]) == [True]
    assert rejected([weight], [evidence(0, needed - 1e-9)]) == [False]
    parts = [evidence(0, needed / 3)] * 3
    assert rejected([weight], parts[:2]) == [False]
    assert rejected([weight], [*parts, evidence(0, 1e-12)]) == [True]


def test_what_is_rejected_stays_rejected():
    assert rejected([0.0], [evidence(0, 10.0), evidence(0, -20.0)]) == [True]


def test_the_capital_within_a_test_counts_while_it_runs_and_is_not_carried_on():
    """The largest capital rejects at once; the product goes on with the final one."""
    assert rejected([0.0], [evidence(0, -1.0, highest=3.1)]) == [True]
    assert rejected([0.0], [evidence(0, -1.0, highest=2.9), evidence(0, 0.5)]) == [False]
    assert rejected([0.0], [evidence(0, 1.5), evidence(0, -1.0, highest=1.6)]) == [True]


def test_a_capital_of_zero_ends_the_evidence_for_good():
    lost = evidence(0, -math.inf, highest=0.0)
    (found,) = standings([0.0], [lost, evidence(0, 50.0)], rate=0.05, control=FWER)
    assert (found.log_product, found.rejected) == (-math.inf, False)


def needed(place, found, control):
    return log_needed(found[place], rejections_beside(place, found), rate=0.05, control=control)


def test_family_wise_levels_do_not_depend_on_rejections():
    found = standings([0.0, 0.0], [evidence(0, 10.0)], rate=0.05, control=FWER)
    assert needed(1, found, FWER) == pytest.approx(math.log(20))


def test_rejections_raise_the_levels_of_others_with_e_lond():
    found = standings([0.0] * 3, [evidence(0, 10.0)], rate=0.05, control=FDR)
    assert needed(1, found, FDR) == pytest.approx(math.log(10))
    # A rejected hypothesis does not count for itself.
    assert needed(0, found, FDR) == pytest.approx(math.log(20))


def test_a_later_rejection_rejects_what_has_enough_evidence_now():
    near = evidence(0, math.log(10.1))
    assert rejected([0.0] * 2, [near], control=FDR) == [False, False]
    assert rejected([0.0] * 2, [near, evidence(1, 10.0)], control=FDR) == [True, True]
    assert rejected([0.0] * 2, [near, evidence(1, 10.0)], control=FWER) == [False, True]
    # What it had while a test ran, at a time at which fewer were rejected, does not count.
    past = evidence(0, 0.0, highest=math.log(10.1))
    assert rejected([0.0] * 2, [past, evidence(1, 10.0)], control=FDR) == [False, True]
    late = evidence(0, 0.0, highest=math.log(10.1), rejections=0)
    assert rejected([0.0] * 2, [evidence(1, 10.0), late], control=FDR) == [False, True]
    seen = evidence(0, 0.0, highest=math.log(10.1), rejections=1)
    assert rejected([0.0] * 2, [evidence(1, 10.0), seen], control=FDR) == [True, True]


def test_the_rate_holds_exactly_for_a_bettor_who_doubles_or_loses():
    """Enumerated: fair coins, all in, ten tests of each of three true hypotheses.

    Capital 2^j is reached with probability 2^-j, so each hypothesis is ever rejected with
    probability 2^-ceil(log2(1/level)), computed here by enumerating all sequences of one.
    """
    rate = 0.25
    weights = [log_weight(1, 1), log_weight(2, 1), log_weight(1, 2)]
    total = Fraction(0)
    for weight in weights:
        hits = 0
        for coins in product((math.log(2.0), -math.inf), repeat=10):
            parts = [evidence(0, coin, highest=max(coin, 0.0)) for coin in coins]
            hits += rejected([weight], parts, rate=rate)[0]
        probability = Fraction(hits, 2**10)
        level = rate * math.exp(weight)
        assert probability == Fraction(1, 2 ** math.ceil(-math.log2(level)))
        assert probability <= level
        total += probability
    assert total <= Fraction(1, 4)


def martingale(rng, *, drift, steps):
    """The final and the largest log-capital of bets on a Gaussian that has this mean."""
    bet = 0.6
    path = np.cumsum(bet * rng.normal(drift, 1.0, steps) - bet**2 / 2.0)
    return float(path[-1]), float(max(path.max(), 0.0))


def history(rng, *, true, false, rate, control):
    """Tests of many hypotheses in random order, each until it is rejected or nobody cares."""
    drifts = [0.0] * true + [0.5] * false
    rng.shuffle(drifts)
    weights = [log_weight(1 + place // 3, 1 + place % 3) for place in range(len(drifts))]
    found = []
    standing = standings(weights, [], rate=rate, control=control)
    for _ in range(4 * len(drifts)):
        # Whoever looks at the evidence goes on with what looks worst, which must do no harm.
        open_ones = [p for p, s in enumerate(standing) if not s.rejected]
        if not open_ones:
            break
        worst = max(open_ones, key=lambda p: standing[p].log_product)
        place = worst if rng.random() < 0.7 else int(rng.choice(open_ones))
        final, highest = martingale(rng, drift=drifts[place], steps=20)
        rejections = sum(s.rejected for s in standing)
        found.append(evidence(place, final, highest, rejections))
        standing = standings(weights, found, rate=rate, control=control)
    wrong = sum(s.rejected for s, drift in zip(standing, drifts, strict=True) if not drift)
    return wrong, sum(s.rejected for s in standing)


@pytest.mark.statistical
def test_no_true_claim_is_rejected_more_often_than_the_rate():
    """Rate 0.2, 250 histories: at most 50 and 4 standard deviations, which fails below 1e-4.

    It is far below that, because most of the weight is never used; so the histories with one
    hypothesis, which has all the weight, are the sharp ones.
    """
    rng = np.random.default_rng(11)
    repeats, rate = 250, 0.2
    most = rate * repeats + 4 * math.sqrt(repeats * rate * (1 - rate))
    wrong = sum(
        history(rng, true=9, false=3, rate=rate, control=FWER)[0] > 0 for _ in range(repeats)
    )
    assert wrong <= most
    sharp = 0
    for _ in range(repeats):
        parts = [evidence(0, *martingale(rng, drift=0.0, steps=40)) for _ in range(8)]
        sharp += rejected([0.0], parts, rate=rate)[0]
    assert 0.3 * rate * repeats < sharp <= most


@pytest.mark.statistical
def test_the_false_discovery_rate_is_kept():
    """Rate 0.3, 120 histories; what is true is far from it, because most weight is never used."""
    rng = np.random.default_rng(12)
    parts = [history(rng, true=6, false=6, rate=0.3, control=FDR) for _ in range(120)]
    assert np.mean([wrong / max(total, 1) for wrong, total in parts]) <= 0.3
    family = [history(rng, true=6, false=6, rate=0.3, control=FWER) for _ in range(120)]
    assert np.mean([total for _, total in parts]) > np.mean([total for _, total in family])


@pytest.mark.parametrize("rate", [0.05, 0.07, 0.1, 1e-6])
@pytest.mark.parametrize("tests", [1, 2, 3, 7, 1000])
def test_the_parts_of_a_suite_add_up_to_its_rate_at_most(rate, tests):
    alone = share_of_test(rate, tests=tests)
    calls = sum(share_of_test(rate, tests=tests, call=call) for call in range(1, 500))
    assert 0.9999 * rate < tests * alone <= rate * (1.0 + 1e-15)
    assert 0.99 * alone < calls <= alone * (1.0 + 1e-5)
