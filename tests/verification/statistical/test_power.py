"""How many samples it takes to reject a Gaussian mechanism with 0.9 of the noise that it needs.

Each test counts rejections in 100 runs with seeds of their own. They are fixed, so outcomes are the
same in every run; with other seeds, a test whose true power is 0.99 fails in 1 of 1,900 cases.
"""

import pytest

from benchmarks.power import PART, claims, needed_noise, one_run

pytestmark = [pytest.mark.statistical, pytest.mark.slow]

RUNS = 100
# Epsilon, delta, and the samples of both sides together.
PAIRS = [(1.0, 1e-2, 300_000), (1.0, 1e-3, 2_000_000)]


def _rejected(epsilon, delta, name, most):
    shift = 1.0 / (PART * needed_noise(epsilon, delta))
    claim = claims(epsilon, delta)[name]
    sizes = [one_run(claim, shift, most, seed) for seed in range(RUNS)]
    assert all(size is None or size <= most for size in sizes)
    return sum(size is not None for size in sizes)


@pytest.mark.parametrize(("epsilon", "delta", "most"), PAIRS)
def test_a_pair_is_rejected(epsilon, delta, most):
    """In 95 of 100 runs; the test's own false-alarm rate is 0.05."""
    assert _rejected(epsilon, delta, f"({epsilon:g}, {delta:g})", most) >= 95


@pytest.mark.parametrize("name", ["privacy profile", "RDP curve"])
@pytest.mark.parametrize(("epsilon", "delta", "most"), PAIRS)
def test_the_whole_profile_takes_far_fewer(name, epsilon, delta, most):
    """In 95 of 100 runs from half, and from an eighth, of the samples that the pair may take."""
    part = 2 if delta == 1e-2 else 8
    assert _rejected(epsilon, delta, name, most // part) >= 95
