"""References against tests/oracles, which are computed by mpmath, and against themselves."""

import math

import pytest
from flint import arb, ctx
from mpmath import mp, mpf

from benchmarks import references
from benchmarks.references import ORDERS
from benchmarks.work import all_works, calibration, fixed_size_curve, poisson_curve
from tests.oracles.table import load


def agree(found, stored, digits):
    """Whether a ball and a decimal string are the same to so many digits."""
    with ctx.workprec(400):
        return bool(abs(found - arb(stored)) <= arb(10) ** -digits * abs(arb(stored)))


@pytest.mark.parametrize("row", range(0, 84, 7))
def test_poisson_curve_is_what_mpmath_found(row):
    entry = load("poisson_gaussian")[row]
    (found,) = references.poisson_curve(
        [entry["order"]], noise_multiplier=entry["z"], sampling_probability=entry["q"]
    )
    # The table holds 30 digits, the last of them rounded.
    assert agree(found, entry["rdp"], 29)


def test_sum_and_trapezoid_agree():
    with ctx.workprec(400):
        z, q = arb(0.7), arb(0.05)
        (by_rule,) = references._by_trapezoid([5.0], z, q)
        assert agree(by_rule, references._by_sum(5, z, q).str(60, radius=False), 40)


@pytest.mark.parametrize("row", range(28, 146, 7))
def test_fixed_size_curve_is_what_mpmath_found(row):
    entry = load("fixed_size")[row]
    (found,) = references.fixed_size_curve(
        [entry["order"]],
        noise_multiplier=entry["z"],
        sample_size=entry["sample"],
        population_size=entry["population"],
    )
    # The oracle takes the sample's share as a float. Where that is not exact, it is off by 1e-16,
    # and a bound that is of degree 256 in it at most by 3e-14. Else the table's 30 digits count.
    share = entry["sample"] / entry["population"]
    exact = share in {0.5, 1.0}
    assert agree(found, entry["minimum"], 29 if exact else 13)


def test_epsilon_of_a_gaussian_gives_back_delta():
    stored = references.gaussian_epsilon(noise_multiplier=50.0, steps=100, delta=1e-5)
    with mp.workdps(60):
        epsilon = mpf(references.decimal(stored))
        shift = mp.sqrt(100) / 50
        delta = mp.ncdf(shift / 2 - epsilon / shift) - mp.exp(epsilon) * mp.ncdf(
            -shift / 2 - epsilon / shift
        )
        # 40 digits of epsilon; delta changes by less than 30 times as much, relatively.
        assert abs(delta / mpf(1e-5) - 1) < mpf(10) ** -38


def test_epsilon_of_a_curve_is_the_smallest():
    orders = [2.0, 4.0, 8.0]
    curve = [arb(0.1), arb(0.2), arb(0.4)]
    found, order = references.epsilon_of_curve(orders, curve, steps=3, delta=1e-5)
    by_hand = [
        3 * r + math.log1p(-1 / a) - math.log(1e-5 * a) / (a - 1)
        for a, r in zip(orders, (0.1, 0.2, 0.4), strict=True)
    ]
    # by_hand is a float computation of five operations.
    assert float(found) == pytest.approx(min(by_hand), rel=1e-14)
    assert order == orders[by_hand.index(min(by_hand))]


def test_the_orders_are_dp_accountings():
    from dp_accounting.rdp import rdp_privacy_accountant

    assert list(ORDERS) == [float(a) for a in rdp_privacy_accountant.DEFAULT_RDP_ORDERS]
    assert len(ORDERS) == 156


def test_fewer_digits_than_promised_are_an_error():
    with pytest.raises(references.InaccurateError, match="fewer than 40 digits"):
        references.decimal(arb(1).union(arb("1.001")))
    assert references.decimal(arb(0)) == "0"


@pytest.mark.parametrize("case", poisson_curve.CASES, ids=lambda case: case.id)
def test_stored_poisson_curves_can_be_computed_again(case):
    stored = references.load("poisson-curve")[case.id]
    assert len(stored) == len(ORDERS)
    picks = [0, 24, 99, 151, 155]
    again = references.poisson_curve(
        [ORDERS[i] for i in picks],
        noise_multiplier=case.parameters["z"],
        sampling_probability=case.parameters["q"],
    )
    # Two summations of 384 bits, printed with 40 digits.
    assert all(agree(found, stored[i], 39) for i, found in zip(picks, again, strict=True))


@pytest.mark.parametrize("case", fixed_size_curve.CASES, ids=lambda case: case.id)
def test_stored_fixed_size_curves_can_be_computed_again(case):
    stored = references.load("fixed-size-curve")[case.id]
    assert len(stored) == len(ORDERS)
    picks = [0, 15, 40, 140, 152]
    again = references.fixed_size_curve(
        [ORDERS[i] for i in picks],
        noise_multiplier=case.parameters["z"],
        sample_size=case.parameters["sample"],
        population_size=case.parameters["population"],
    )
    assert all(agree(found, stored[i], 39) for i, found in zip(picks, again, strict=True))


@pytest.mark.parametrize("case", calibration.CASES, ids=lambda case: case.id)
def test_stored_noise_meets_its_target(case):
    stored = references.load("calibration")[case.id]
    p = case.parameters
    with ctx.workprec(400):
        curve = references.poisson_curve(
            [stored["order"]], noise_multiplier=arb(stored["noise"]), sampling_probability=p["q"]
        )
        found, _ = references.epsilon_of_curve(
            [stored["order"]], curve, steps=p["steps"], delta=p["delta"]
        )
        # 40 digits of noise; epsilon falls by about twice as much, relatively.
        assert agree(found, str(p["epsilon"]), 38)
    assert float(stored["leaks"]) < float(stored["noise"])


@pytest.mark.parametrize("work", all_works(), ids=lambda work: work.id)
def test_every_case_has_a_reference(work):
    for case in work.cases:
        found = work.reference(case)
        assert len(found.low) == len(found.high) > 0
        for low, high in zip(found.low, found.high, strict=True):
            assert 0 < float(low) <= float(high) < math.inf
