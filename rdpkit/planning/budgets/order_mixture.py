r"""Renyi orders that are fixed in advance, with weights: what holds however releases are chosen.

Guarantee
---------
Let releases be chosen adaptively, their parameters included, and let R_i be the sum of their
divergences of order a_i so far. Let the weights w_i be positive, with a sum of at most 1. L is the
privacy loss of all outputs so far, S(L) = sum_i w_i e^((a_i - 1) (L - R_i)).

* *Filter.* If releases are only made as long as 1 - e^(epsilon - L) <= delta S(L) for every real L,
  all of them together are (epsilon, delta)-DP (:func:`filter_holds`).
* *Odometer.* With probability at least 1 - delta the loss is below the solution of
  S(L) = 1 / delta at all times at once (:func:`odometer_epsilon`).

Source
------
The martingales: Feldman and Zrnic, "Individual privacy accounting via a Renyi filter", NeurIPS 2021
(arXiv 2008.11193), and Whitehouse, Ramdas, Rogers and Wu, "Fully adaptive composition in
differential privacy", ICML 2023 (arXiv 2203.05481). Mixtures over several orders: rdpkit, theory
page "Budgets that are spent as one goes".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from rdpkit import _validate
from rdpkit.numerics.balls import float_above, rational

Array = NDArray[np.float64]
Total = Sequence[Fraction | float]

_STEP = 1.2  # Ratio of two orders less 1
_BELOW, _ABOVE = 30, 16  # Orders on either side of the centre
_SPREAD = 5.0  # Steps from the centre at which weights are halved
_HALVINGS = 48  # Of the interval of a bisection
_LARGEST = 1e6  # Epsilons above are infinite


@dataclass(frozen=True, slots=True)
class OrderMixture:
    """Orders and weights that are fixed before anything is released."""

    orders: tuple[float, ...]  # Renyi orders, each above 1
    weights: tuple[float, ...]  # One for each order, positive; their exact sum is at most 1

    def __post_init__(self) -> None:
        if not self.orders or len(self.orders) != len(self.weights):
            raise _validate.fail("weights", "to be as many as there are orders", self.weights)
        for order in self.orders:
            _validate.order("orders", order)
        if any(not w > 0.0 for w in self.weights) or sum(map(Fraction, self.weights)) > 1:
            raise _validate.fail("weights", "to be positive with a sum of at most 1", self.weights)


def equal_weights(orders: Sequence[float]) -> OrderMixture:
    """All orders with the same weight; a single order has the weight 1."""
    weight = 1.0 / len(orders)
    if weight * len(orders) > 1.0 or Fraction(weight) * len(orders) > 1:
        weight = math.nextafter(weight, 0.0)
    return OrderMixture(tuple(orders), (weight,) * len(orders))


def around(centre: float) -> OrderMixture:
    """Orders in equal steps of log(order - 1), the heavier the closer they are to a centre."""
    steps = range(-_BELOW, _ABOVE + 1)
    orders = tuple(1.0 + (centre - 1.0) * _STEP**k for k in steps)
    raw = [1.0 / (1.0 + (k / _SPREAD) ** 2) for k in steps]
    total = math.fsum(raw) * (1.0 + 1e-12)
    return OrderMixture(orders, tuple(w / total for w in raw))


def usual_centre(epsilon: float, delta: float) -> float:
    """The order at which Gaussian noise that spends (epsilon, delta) is accounted for best."""
    log_inverse = -math.log(delta)
    root = math.sqrt(log_inverse + epsilon) - math.sqrt(log_inverse)
    return 1.0 + max(math.sqrt(log_inverse) / root, 1e-3)


def charged(total: Total, charge: Sequence[float], count: int) -> list[Fraction | float]:
    """The exact sums with so many charges more; what is infinite stays so."""
    return [
        math.inf if math.isinf(a) or math.isinf(b) else a + count * Fraction(b)
        for a, b in zip(total, charge, strict=True)
    ]


def _log_sum(mixture: OrderMixture, spent: Array, loss: float) -> tuple[float, float]:
    """Log S at a loss, and its derivative there, in floats."""
    scaled = np.array(mixture.orders) - 1.0
    exponents = np.log(mixture.weights) + scaled * (loss - spent)
    top = float(exponents.max())
    terms = np.exp(exponents - top)
    total = float(terms.sum())
    return top + math.log(total), float(terms @ scaled) / total


def _ball_of_log_sum(mixture: OrderMixture, spent: Total, loss: float) -> tuple[arb, arb]:
    total, slope = arb(0), arb(0)
    exponents = [
        (arb(a) - 1) * (arb(loss) - arb(rational(r))) + arb(w).log()
        for a, w, r in zip(mixture.orders, mixture.weights, spent, strict=True)
        if not math.isinf(r)
    ]
    shift = max((float(e.mid()) for e in exponents), default=0.0)
    finite = [a for a, r in zip(mixture.orders, spent, strict=True) if not math.isinf(r)]
    for order, exponent in zip(finite, exponents, strict=True):
        term = (exponent - arb(shift)).exp()
        total += term
        slope += term * (arb(order) - 1)
    return total.log() + arb(shift), slope / total


def _as_floats(spent: Total) -> Array:
    return np.array([float(r) for r in spent])


def _tangent(mixture: OrderMixture, spent: Array, epsilon: float) -> float:
    """The loss at which log(delta S(L)) is closest to log(1 - e^(epsilon - L)), nearly."""
    low, high = math.log(1e-12), math.log(700.0)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        distance = math.exp(middle)
        slope = _log_sum(mixture, spent, epsilon + distance)[1]
        low, high = (low, middle) if slope > 1.0 / math.expm1(distance) else (middle, high)
    return epsilon + math.exp(high)


def _margin(mixture: OrderMixture, spent: Array, epsilon: float, delta: float) -> float:
    """The number that :func:`filter_holds` encloses, in floats."""
    loss = _tangent(mixture, spent, epsilon)
    log_sum, s = _log_sum(mixture, spent, loss)
    least = s * math.log1p(1.0 / s) + math.log1p(s)
    return math.log(delta) + log_sum + s * (epsilon - loss) + least


def filter_holds(
    mixture: OrderMixture,  # Fixed in advance
    spent: Total,  # The sum of the divergences so far, at each of the orders; exact or rounded up
    *,
    # What all releases together shall satisfy.
    epsilon: float,
    delta: float,
) -> bool:
    """Whether 1 - e^(epsilon - L) <= delta S(L) is proven for every L.

    log S is convex in L, so it is above its tangent at any point, of slope s, and the smallest
    value of s (L - epsilon) - log(1 - e^(epsilon - L)) is s log((1 + s) / s) + log(1 + s). The
    point is chosen in floats, and the inequality is checked in balls.
    """
    values = _as_floats(spent)
    if np.isinf(values).all():
        return False
    if not values.any():
        return True
    loss = _tangent(mixture, values, epsilon)
    with ctx.workprec(160):
        log_sum, s = _ball_of_log_sum(mixture, spent, loss)
        least = s * ((1 + s) / s).log() + (1 + s).log()
        margin = arb(delta).log() + log_sum + s * (arb(epsilon) - arb(loss)) + least
        return bool(margin >= 0)


def filter_epsilon(mixture: OrderMixture, spent: Total, *, delta: float) -> float:
    """The smallest epsilon at which :func:`filter_holds`, nearly, and never a smaller one."""
    values = _as_floats(spent)
    return _smallest(
        lambda x: _margin(mixture, values, x, delta) >= 0.0,
        lambda x: filter_holds(mixture, spent, epsilon=x, delta=delta),
        values,
    )


def odometer_epsilon(mixture: OrderMixture, spent: Total, *, delta: float) -> float:
    """A loss L, nearly the smallest, at which S(L) >= 1 / delta is proven; inf if there is none."""
    values = _as_floats(spent)

    def proven(loss: float) -> bool:
        with ctx.workprec(160):
            return bool(_ball_of_log_sum(mixture, spent, loss)[0] + arb(delta).log() >= 0)

    return _smallest(
        lambda x: _log_sum(mixture, values, x)[0] + math.log(delta) >= 0.0, proven, values
    )


def _smallest(
    by_floats: Callable[[float], bool], proven: Callable[[float], bool], spent: Array
) -> float:
    """Where a condition begins to hold, found in floats and then raised until it is proven."""
    if not spent.any():
        return 0.0
    if np.isinf(spent).all():
        return math.inf
    low, high = 0.0, 1.0
    while not by_floats(high):
        low, high = high, 2.0 * high
        if high > _LARGEST:
            return math.inf
    while high - low > 1e-10 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if by_floats(middle) else (middle, high)
    excess = 1e-12
    while not proven(high * (1.0 + excess)):
        excess *= 10.0
        if excess > 1.0:
            raise ArithmeticError(f"The epsilon of what was spent is not {high!r}: no proof.")
    return high * (1.0 + excess)


def rounded_up(ball: arb) -> float:
    """A float that is certainly at least the number in a ball, and at least 0."""
    return max(float_above(ball), 0.0)
