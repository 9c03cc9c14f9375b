"""B(m) = E_Q[(1 - P/Q)^m] against its alternating sum with 900 digits.

Reference values: tests/oracles/fixed_size.py (mp.dps = 900).
"""

import math

import numpy as np
import pytest
from flint import arb, ctx
from mpmath import mp, mpf
from numpy.testing import assert_allclose

from rdpkit.numerics import pearson_vajda
from tests.oracles.table import load

ENTRIES = [entry for entry in load("fixed_size") if "m" in entry]


@pytest.mark.parametrize("entry", ENTRIES, ids=[f"m={e['m']},z={e['z']:g}" for e in ENTRIES])
def test_log_even_moments(entry):
    """Absolute in the logarithm, so relative in B: 1e-13, or one part in 1e15 of a large one."""
    with mp.workdps(40):
        expected = float(mp.log(mpf(entry["moment"])))
    found = pearson_vajda.log_even_moments(entry["m"], entry["z"])
    assert found.size == entry["m"] // 2 + 1
    assert found[0] == 0.0
    assert_allclose(found[-1], expected, rtol=1e-15, atol=2e-13)


@pytest.mark.parametrize(
    "entry", ENTRIES[:20], ids=[f"m={e['m']},z={e['z']:g}" for e in ENTRIES[:20]]
)
def test_moment_ball(entry):
    ball = pearson_vajda.moment_ball(entry["m"], entry["z"])
    with ctx.workprec(300):
        assert ball.overlaps(arb(entry["moment"]) * (1 + arb(0, 1e-29)))
        assert ball.rel_accuracy_bits() >= 69


@pytest.mark.parametrize("z", [0.5, 1.0, 20.0])
def test_first_moments_in_closed_form(z):
    """B(2) = e^(1/z^2) - 1, and B(4) = e^(6/z^2) - 4 e^(3/z^2) + 6 e^(1/z^2) - 3."""
    found = pearson_vajda.log_even_moments(4, z)
    assert_allclose(found[1], math.log(math.expm1(1.0 / z**2)), rtol=1e-13)
    with mp.workdps(60):
        s = 1 / mpf(z) ** 2
        fourth = mp.exp(6 * s) - 4 * mp.exp(3 * s) + 6 * mp.exp(s) - 3
        assert_allclose(found[2], float(mp.log(fourth)), rtol=1e-13)


@pytest.mark.parametrize("z", [0.5, 1.0, 20.0])
def test_odd_moments_are_negative(z):
    """So a formula with an odd B under a square root is no real number."""
    assert pearson_vajda.moment_ball(3, z) < 0
    assert pearson_vajda.moment_ball(5, z) < 0


def test_moments_are_log_convex():
    """Moments of |1 - P/Q|: Cauchy-Schwarz. Rounding of a logarithm near 100 is 1e-14."""
    found = pearson_vajda.log_even_moments(200, 3.0)
    assert (np.diff(found, 2) >= -1e-12).all()


def test_blocks_do_not_change_values(monkeypatch):
    whole = pearson_vajda.log_even_moments(64, 2.0)
    monkeypatch.setattr(pearson_vajda, "_TOGETHER", 1)
    assert_allclose(pearson_vajda.log_even_moments(64, 2.0), whole, rtol=1e-13, atol=1e-13)
