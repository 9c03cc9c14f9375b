"""The oracles, run again on a few entries each, still give the stored digits."""

import pytest
from mpmath import mp, mpf

from tests.oracles import (
    fixed_size,
    gaussian_divergence,
    gaussian_synthesis,
    optimal_conversion,
    poisson_gaussian,
)
from tests.oracles.table import VALUES, load

pytestmark = pytest.mark.slow


def same(stored: str, again) -> bool:
    """Agreement to 27 digits: the tables hold 30, and the scripts carry at least 20 more."""
    with mp.workdps(60):
        value = mpf(stored)
        return bool(abs(again - value) <= mpf(10) ** -27 * abs(value))


@pytest.mark.parametrize("row", range(0, 84, 6))
def test_poisson_gaussian(row):
    entry = load("poisson_gaussian")[row]
    assert same(entry["rdp"], poisson_gaussian.rdp(entry["q"], entry["z"], entry["order"]))


def test_poisson_gaussian_sum_and_trapezoid_agree():
    """At integer orders the table's two ways must meet: neither is trusted alone."""
    with mp.workdps(poisson_gaussian.DPS):
        q, z = mpf(0.05), mpf(0.7)
        by_sum = poisson_gaussian.excess_by_sum(5, z, q)
        by_rule = poisson_gaussian.excess_by_trapezoid(mpf(5), z, q, z * z * mpf("0.24"))
        assert abs(by_rule / by_sum - 1) < mpf(10) ** -32


@pytest.mark.parametrize("row", [0, 9, 19])
def test_moments(row):
    entry = load("fixed_size")[row]
    assert same(entry["moment"], fixed_size.moment(entry["m"], entry["z"]))


@pytest.mark.parametrize("theorem", ["theorem9", "theorem27", "minimum"])
@pytest.mark.parametrize("row", [30, 50, 90])
def test_fixed_size(row, theorem):
    entry = load("fixed_size")[row]
    again = fixed_size.rdp(
        entry["sample"], entry["population"], entry["z"], entry["order"], theorem
    )
    assert same(entry[theorem], again)


@pytest.mark.parametrize("row", [1, 5, 9, 14])
def test_gaussian_synthesis(row):
    stored = load("gaussian_synthesis")[row]
    again = gaussian_synthesis.entry(
        stored["n"], stored["d"], stored["min_eigenvalue"], stored["order"]
    )
    assert stored == again


@pytest.mark.parametrize("row", range(len(gaussian_divergence.POINTS)))
def test_gaussian_divergence(row):
    stored = load("gaussian_divergence")[row]
    again = gaussian_divergence.entry(*gaussian_divergence.POINTS[row])
    assert stored == again


@pytest.mark.parametrize("row", [0, 3])
def test_optimal_epsilon(row):
    stored = load("optimal_conversion")[row]
    again = optimal_conversion.epsilon(stored["order"], stored["rdp"], stored["delta"])
    assert same(stored["epsilon"], again)


@pytest.mark.parametrize("row", [0, 3])
def test_optimal_delta(row):
    stored = [entry for entry in load("optimal_conversion") if list(entry)[2] == "epsilon"][row]
    again = optimal_conversion.delta(stored["order"], stored["rdp"], stored["epsilon"])
    assert same(stored["delta"], again)


@pytest.mark.parametrize("path", sorted(VALUES.glob("*.json")), ids=lambda path: path.stem)
def test_tables_state_how_they_were_computed(path):
    assert f'"script": "tests/oracles/{path.stem}.py"' in path.read_text(encoding="utf-8")
