"""Reference values to 40 digits, in ball arithmetic, by other ways than the library's own.

* Poisson-sampled Gaussian: the finite sum at integer orders, whose ball is a proof; the trapezoid
  rule between them, with two steps of which neither is a multiple of the other. The script stops
  unless both agree to 10^-40. (The library's certificates use a two-sided series.)
* Fixed size: Theorems 9 and 27 of Wang, Balle and Kasiviswanathan, as printed. The forward
  differences are computed as differences, with as many bits as survive their cancellation. (The
  library integrates instead.)
* Epsilon from a curve: Balle et al. 2020, Theorem 21, the smallest over dp-accounting's default
  orders.
* What the mechanism really leaks is less than any Renyi curve says. Where a lower end is needed,
  it is what two neighbours attain (``rdpkit.lower_bound``, in floats).

Run as a module to rewrite reference_values/: ``python -m benchmarks.references``. The fast tests
recompute a few entries, and compare with the tables of tests/oracles.
"""

# ruff: noqa: PLC0415  (rdpkit is only needed to rewrite the values)

from __future__ import annotations

import functools
import itertools
import json
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from flint import arb, ctx, fmpz

DIGITS = 40
FOLDER = Path(__file__).parent / "reference_values"

# dp-accounting 0.6.0, rdp_privacy_accountant.DEFAULT_RDP_ORDERS; a test compares.
ORDERS: tuple[float, ...] = (
    *(1 + x / 10.0 for x in range(1, 100)),
    *(float(a) for a in range(11, 64)),
    128.0,
    256.0,
    512.0,
    1024.0,
)

_P = ParamSpec("_P")
_T = TypeVar("_T")

_BITS = 384
_REACH = 17  # e^{-17^2/2} is 2e-63


class InaccurateError(ArithmeticError):
    """A reference value that has fewer digits than it should have."""


def exactly(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Compute with enough bits, whatever the caller's precision is."""

    @functools.wraps(function)
    def with_bits(*arguments: _P.args, **named: _P.kwargs) -> _T:
        with ctx.workprec(max(ctx.prec, _BITS)):
            return function(*arguments, **named)

    return with_bits


def decimal(value: arb) -> str:
    """40 significant digits.

    Raises
    ------
    InaccurateError
        If the ball is too wide for that.
    """
    if value == 0:
        return "0"
    if not value.is_finite() or not value.rel_accuracy_bits() >= math.ceil(DIGITS * 3.33):
        raise InaccurateError(f"{value} has fewer than {DIGITS} digits.")
    return str(value.str(DIGITS, radius=False))


@exactly
def poisson_curve(
    orders: Sequence[float], *, noise_multiplier: float | arb, sampling_probability: float
) -> list[arb]:
    """Renyi divergences of the Poisson-sampled Gaussian, add-or-remove-one, 0 < q <= 1."""
    z, q = arb(noise_multiplier), arb(sampling_probability)
    if sampling_probability == 1.0:
        return [arb(a) / (2 * z * z) for a in orders]
    fractional = [a for a in orders if a != math.floor(a)]
    between = dict(zip(fractional, _by_trapezoid(fractional, z, q), strict=True))
    return [
        (1 + (between[a] if a in between else _by_sum(int(a), z, q))).log() / (arb(a) - 1)
        for a in orders
    ]


def _by_sum(order: int, z: arb, q: arb) -> arb:
    """A - 1 at an integer order: positive terms."""
    rate = 1 / (2 * z * z)
    total = arb(0)
    for k in range(2, order + 1):
        weight = arb(fmpz.bin_uiui(order, k)) * q**k * (1 - q) ** (order - k)
        total += weight * (k * (k - 1) * rate).expm1()
    return total


def _by_trapezoid(orders: Sequence[float], z: arb, q: arb) -> list[arb]:
    """A - 1 at any orders: E[(1+x)^a - 1 - a x] for Z ~ N(0, z^2)."""
    if not orders:
        return []
    # Errors e^{-2 pi^2 z^2 / step^2} and e^{-2 pi^2 z^2 / step}: below e^-100 at both.
    step = min(0.42 * float(z), 0.19 * float(z) ** 2)
    found, again = (_trapezoid(orders, z, q, arb(step) * f) for f in (arb(1), arb("0.87")))
    for order, one, other in zip(orders, found, again, strict=True):
        if not abs(one - other) < arb(10) ** -DIGITS * abs(one):
            raise InaccurateError(f"Two steps disagree at order {order}, z = {z}, q = {q}.")
    return found


def _trapezoid(orders: Sequence[float], z: arb, q: arb, step: arb) -> list[arb]:
    first = -_REACH * z
    count = int(float((max(orders) + 2 * _REACH * z) / step)) + 2
    rate = 1 / (2 * z * z)
    exponents = [arb(a) for a in orders]
    totals = [arb(0) for _ in orders]
    for index in range(count):
        node = first + index * step
        x = q * ((2 * node - 1) * rate).expm1()
        log = x.log1p()
        weight = (-node * node * rate).exp()
        for place, a in enumerate(exponents):
            totals[place] += weight * ((a * log).exp() - 1 - a * x)
    scale = step / (z * (2 * arb.pi()).sqrt())
    return [total * scale for total in totals]


@exactly
def fixed_size_curve(
    orders: Sequence[float], *, noise_multiplier: float, sample_size: int, population_size: int
) -> list[arb]:
    """The per-term minimum of Theorems 9 and 27, replace-one, with chords between the integers."""
    highest = math.ceil(max(orders))
    bits = _BITS + 64
    while True:
        with ctx.workprec(bits):
            weights = _weights(arb(noise_multiplier), highest)
        if all(weight.rel_accuracy_bits() >= _BITS - 64 for weight in weights[2:]):
            break
        bits *= 2
        if bits > 2**17:
            raise InaccurateError(f"Forward differences have no digits at z = {noise_multiplier}.")
    gamma = arb(sample_size) / population_size
    powers = [gamma**j for j in range(highest + 1)]

    @functools.cache
    def scaled(order: int) -> arb:
        total = arb(0)
        for j in range(2, order + 1):
            total += arb(fmpz.bin_uiui(order, j)) * powers[j] * weights[j]
        return total.log1p()

    found = []
    for a in orders:
        below = math.floor(a)
        value = scaled(below)
        if a != below:
            share = arb(a) - below
            value = (1 - share) * value + share * scaled(below + 1)
        found.append(value / (arb(a) - 1))
    return found


def _weights(z: arb, highest: int) -> list[arb]:
    """The factors of gamma^j C(a, j), for j up to ``highest``."""
    rate = 1 / (2 * z * z)
    base = [(j * (j - 1) * rate).exp() for j in range(highest + 2)]
    # B(m) = sum_i (-1)^i C(m, i) e^{i(i-1) rate} for even m: the m-th difference.
    moments: list[arb] = []
    row = list(base)
    for _ in range(highest + 2):
        moments.append(row[0])
        row = [right - left for left, right in itertools.pairwise(row)]
    weights = [arb(0), arb(0), (4 * (base[2] - 1)).min(2 * base[2])]
    for j in range(3, highest + 1):
        other = 4 * (moments[2 * (j // 2)] * moments[2 * ((j + 1) // 2)]).sqrt()
        weights.append((2 * base[j]).min(other))
    return weights


@exactly
def epsilon_of_curve(
    orders: Sequence[float], curve: Sequence[arb], *, steps: int, delta: float
) -> tuple[arb, float]:
    """The smallest epsilon over the orders, and its order."""
    best: tuple[arb, float] | None = None
    for a, divergence in zip(orders, curve, strict=True):
        order = arb(a)
        epsilon = steps * divergence + (-1 / order).log1p() - (delta * order).log() / (order - 1)
        if best is None or epsilon < best[0]:
            best = (epsilon, a)
    assert best is not None
    found: arb = best[0].max(arb(0))
    return found, best[1]


@exactly
def noise_of_curve(
    *, epsilon: float, delta: float, sampling_probability: float, steps: int
) -> tuple[arb, float]:
    """The noise multiplier at which :func:`epsilon_of_curve` at ORDERS is ``epsilon``."""

    def at(noise: arb, orders: Sequence[float]) -> tuple[arb, float]:
        curve = poisson_curve(
            orders, noise_multiplier=noise.mid(), sampling_probability=sampling_probability
        )
        return epsilon_of_curve(orders, curve, steps=steps, delta=delta)

    low, high = arb(0.3), arb(0.6)
    while at(high, ORDERS)[0] > epsilon:
        low, high = high, 2 * high
    for _ in range(14):  # close enough that the best order stays
        middle = ((low + high) / 2).mid()
        low, high = (middle, high) if at(middle, ORDERS)[0] > epsilon else (low, middle)
    order = at(high, ORDERS)[1]
    before, now = low, high
    value_before = at(before, [order])[0] - epsilon
    for _ in range(40):  # the secant rule
        value = at(now, [order])[0] - epsilon
        if abs(value) < arb(10) ** (-DIGITS - 4):
            break
        before, now, value_before = (
            now,
            (now - value * (now - before) / (value - value_before)).mid(),
            value,
        )
    else:
        raise InaccurateError(f"No root for epsilon = {epsilon}.")
    if at(now, ORDERS)[1] != order:
        raise InaccurateError(f"The best order is not {order} at epsilon = {epsilon}.")
    return now, order


@exactly
def gaussian_epsilon(*, noise_multiplier: float, steps: int, delta: float) -> arb:
    """Epsilon of ``steps`` Gaussian releases: Balle and Wang 2018, Theorem 8, solved."""
    shift = arb(steps).sqrt() / arb(noise_multiplier)

    def log_excess(epsilon: arb) -> arb:
        """Logarithm of delta at epsilon over delta."""
        left = _normal_tail(epsilon / shift - shift / 2)
        right = epsilon.exp() * _normal_tail(epsilon / shift + shift / 2)
        return (left - right).log() - arb(delta).log()

    low, high = arb(0), arb(1)
    while log_excess(high) > 0:
        low, high = high, 2 * high
    for _ in range(150):
        middle = ((low + high) / 2).mid()
        low, high = (middle, high) if log_excess(middle) > 0 else (low, middle)
    return low.union(high)


def _normal_tail(x: arb) -> arb:
    return (x / arb(2).sqrt()).erfc() / 2


def leaked(
    *, noise_multiplier: float, sampling_probability: float, steps: int, delta: float
) -> float:
    """The epsilon that two neighbours attain at least: rdpkit's own lower bound."""
    import rdpkit

    one = rdpkit.PoissonSampledGaussian(
        noise_std=noise_multiplier, record_norm=1.0, sampling_probability=sampling_probability
    )
    found, _ = rdpkit.lower_bound(
        rdpkit.Repeated(event=one, count=steps), delta=delta, adjacency="add_or_remove_one"
    )
    return float(found.epsilon)


def least_noise(
    *, epsilon: float, delta: float, sampling_probability: float, steps: int, high: float
) -> float:
    """With less noise than this, two neighbours leak more than ``epsilon``."""
    low = high / 4.0
    while high / low > 1.0 + 1e-6:
        middle = math.sqrt(low * high)
        attained = leaked(
            noise_multiplier=middle,
            sampling_probability=sampling_probability,
            steps=steps,
            delta=delta,
        )
        low, high = (middle, high) if attained > epsilon else (low, middle)
    return low


def load(name: str) -> dict[str, Any]:
    """The stored values of a work, by case."""
    path = FOLDER / f"{name}.json"
    if not path.exists():
        raise FileNotFoundError(
            f"No reference values in {path}: run python -m benchmarks.references"
        )
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["cases"]
    return found


def store(name: str, about: str, cases: dict[str, Any]) -> None:
    """Rewrite the values of a work."""
    FOLDER.mkdir(exist_ok=True)
    text = json.dumps({"about": about, "digits": DIGITS, "cases": cases}, indent=1)
    path = FOLDER / f"{name}.json"
    part = path.with_suffix(".part")
    part.write_text(text + "\n", encoding="utf-8")
    os.replace(part, path)


def main() -> None:
    """Rewrite every table."""
    from benchmarks.work import (
        calibration,
        fixed_size_curve,
        loss_distribution,
        poisson_curve,
        rdp_epsilon,
        sweep,
    )

    works: tuple[Any, ...] = (
        poisson_curve,
        fixed_size_curve,
        rdp_epsilon,
        loss_distribution,
        calibration,
        sweep,
    )
    for work in works:
        print(work.__name__, flush=True)
        work.write_references()


if __name__ == "__main__":
    main()
