"""FS-RDP: never below the truth, equal to the oracle's formula."""

import math

import numpy as np
import pytest
from flint import arb, ctx

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.sampled import birrell2024
from rdpkit.numerics import pearson_vajda
from tests.events import unit
from tests.oracles import birrell2024 as oracle
from tests.oracles.table import digits, load

# tests/oracles/birrell2024.py: bounds to 30 digits at mp.dps 1200, divergences to 15 at 50.
TABLE = load("birrell2024")
BOUNDS = [entry for entry in TABLE if "bounds" in entry]
DIVERGENCES = [entry for entry in TABLE if "divergence" in entry]


def value(order, z, sample, population):
    return float(birrell2024.rdp(np.array([order], dtype=float), z, sample, population)[0])


def event(z, sample, population):
    return unit.fixed_size(z, sample, population, record_diameter=1.0)


def name(entry):
    numbers = "-".join(str(entry[key]) for key in ("sample", "population", "z", "order"))
    return f"{numbers}-{entry.get('geometry', 'bound')}"


@pytest.mark.parametrize("entry", BOUNDS, ids=name)
def test_the_formula_is_the_oracles(entry):
    order, z = entry["order"], entry["z"]
    found = birrell2024.log_excess(np.array([order]), z, entry["sample"], entry["population"])[:, 0]
    found = np.logaddexp(0.0, found) / (order - 1.0)
    # Logarithms of up to a few thousand in magnitude: 1e-12 relative, and less elsewhere.
    np.testing.assert_allclose(found, [float(bound) for bound in entry["bounds"]], rtol=2e-12)
    assert value(order, z, entry["sample"], entry["population"]) == found.min()


@pytest.mark.parametrize("entry", BOUNDS, ids=name)
def test_the_ball_is_the_oracles(entry):
    case = (entry["z"], entry["sample"], entry["population"])
    ball = birrell2024.rdp_ball(entry["order"], *case)
    picked = int(birrell2024.log_excess(np.array([entry["order"]]), *case)[:, 0].argmin())
    with ctx.workprec(200):
        assert ball.overlaps(arb(entry["bounds"][picked]) * (1 + arb(0, 1e-29)))
        assert (ball / ball.mid() - 1).abs_upper() < 1e-17


def test_the_bound_is_sharp_for_the_equilateral_triangle():
    found = {
        entry["z"]: value(entry["order"], entry["z"], 1, 10**7) / float(entry["divergence"])
        for entry in DIVERGENCES
        if entry["geometry"] == "equilateral" and entry["population"] == 10**7
    }
    assert set(found) == {5.0, 100.0}
    for ratio in found.values():
        # The next term is of order q.
        assert 1.0 < ratio < 1.0 + 1e-5


@pytest.mark.parametrize("z", [0.02, 0.3, 0.6, 0.9, 2.0, 5.0, 50.0])
def test_moments_on_both_sides_of_the_split(z):
    found = birrell2024.log_moments(65, z)
    for k in range(0, 66, 2):
        reference = float(pearson_vajda.moment_ball(k, z).log())
        assert found[k] == pytest.approx(reference, rel=1e-13, abs=1e-12)
    odd = np.arange(1, 65, 2)
    np.testing.assert_array_equal(found[odd], (found[odd - 1] + found[odd + 1]) / 2)


@pytest.mark.parametrize("z", [0.01, 0.3, 1.0, 10.0, 100.0, 1e6])
@pytest.mark.parametrize(("sample", "population"), [(1, 10**9), (60, 60000), (1, 2), (999, 1000)])
def test_finite_at_every_order_of_the_range(z, sample, population):
    # z = 10 at order 32 is where alternating sums in floats come out NaN.
    orders = np.array([1.0 + 1e-9, 1.1, 2.0, 3.0, 31.5, 32.0, 512.0])
    found = birrell2024.rdp(orders, z, sample, population)
    assert np.isfinite(found).all()
    assert (found > 0.0).all()


def test_absurd_noise_gives_a_bound_all_the_same():
    assert value(2.0, 1e-160, 1, 2) == math.inf
    assert math.isfinite(value(512.0, 1e-149, 1, 2))
    assert value(2.0, 1e160, 1, 2) == value(2.0, 1e150, 1, 2) > 0.0
    # q^2 a s: the leading term, whose logarithm is about -700.
    assert value(2.0, 1e140, 1, 10**12) == pytest.approx(1e-24 * 1e-280, rel=1e-9)
    assert value(2.0, 1e150, 1, 10**18) > 0.0


def test_nothing_is_claimed_above_512_or_for_the_whole_population():
    bound = birrell2024.BOUND
    found = bound.values(event(5.0, 60, 60000), np.array([512.0, 512.5]), Adjacency.REPLACE_ONE)
    assert np.isfinite(found[0])
    assert found[1] == math.inf
    whole = bound.values(event(5.0, 7, 7), np.array([2.0, 30.0]), Adjacency.REPLACE_ONE)
    assert (whole == math.inf).all()
    assert bound.ball is not None
    assert not bound.ball(event(5.0, 7, 7), 2.0, Adjacency.REPLACE_ONE).is_finite()


@pytest.mark.slow
@pytest.mark.parametrize("row", [1, 9, 40, 70])
def test_the_oracle_still_gives_the_stored_bounds(row):
    entry = BOUNDS[row]
    case = (entry["sample"], entry["population"], entry["z"], entry["order"])
    for m, stored in zip(oracle.LENGTHS, entry["bounds"]):
        assert digits(oracle.rdp(*case, m)) == stored


@pytest.mark.slow
@pytest.mark.parametrize("row", [4, 11, 22])
def test_the_oracle_still_gives_the_stored_divergences(row):
    entry = DIVERGENCES[row]
    case = (entry["sample"], entry["population"], entry["z"], entry["order"])
    again = oracle.divergence(entry["geometry"], *case)
    assert float(again) == pytest.approx(float(entry["divergence"]), rel=1e-14)
