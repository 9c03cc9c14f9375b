r"""Losses that are bounded: randomised response, bounded range, and pure differential privacy.

Guarantee
---------
* Randomised response, with a and b the probabilities of a record's own bucket and of another one:
  e^((o-1) D_o) = a^o b^(1-o) + b^o a^(1-o) + (k-2) b at order o.
* epsilon-DP: the same with k = 2 and a = e^epsilon / (1 + e^epsilon), because that mechanism is the
  worst one (Kairouz, Oh and Viswanath 2015).
* Losses in [t - epsilon, t]: the worst is t with probability p = (1 - e^(t-epsilon)) /
  (1 - e^-epsilon), so that e^((o-1) D_o) is y^(o-1) (A - B y) with y = e^t,
  k = e^(-(o-1) epsilon), A = k + (1-k) / (1 - e^-epsilon), B = (1-k) e^-epsilon / (1 - e^-epsilon).
  It is largest at y = (o-1) A / (o B), where it is y^(o-1) A / o. Of the largest of noisy scores
  epsilon is 1, 1.4 or 2 times the distance that two of them move apart, over the scale of the
  noise, with Gumbel, Laplace and exponential noise.

Assumes
-------
What the event says of its own noise or losses.

Source
------
Kairouz, Oh and Viswanath, "The composition theorem for differential privacy", ICML 2015 (arXiv
1311.0776v4); Dong, Durfee and Rogers, "Optimal differential privacy composition for exponential
mechanisms", ICML 2020 (arXiv 1909.13830v2), Lemma 3.2, for the worst mechanism of one range.
"""

from __future__ import annotations

from typing import Any

from flint import arb

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import OrderRange, only_without_delta
from rdpkit.bounds.noise.formula import moved_up, of_formula
from rdpkit.events import (
    AboveThreshold,
    EpsilonDelta,
    Exponential,
    RandomizedResponse,
    ReportNoisyMax,
    TopOptions,
)


def _response(event: Any, order: arb, adjacency: Adjacency) -> arb:
    p, buckets = arb(event.noise_parameter), event.num_buckets
    b = p / buckets
    a = 1 - p + b
    ratio = (a / b).log() * (order - 1)
    whole: arb = a * ratio.exp() + b * (-ratio).exp() + (buckets - 2) * b
    return whole.log() / (order - 1)


def _pure(epsilon: arb, order: arb) -> arb:
    a = 1 / (1 + (-epsilon).exp())
    grown = (order - 1) * epsilon
    return (a * grown.exp() + (1 - a) * (-grown).exp()).log() / (order - 1)


def _range(epsilon: arb, order: arb) -> arb:
    k = (-(order - 1) * epsilon).exp()
    whole = -((-epsilon).expm1())
    a = k + (1 - k) / whole
    b = (1 - k) * (-epsilon).exp() / whole
    y = (order - 1) * a / (order * b)
    return ((order - 1) * y.log() + (a / order).log()) / (order - 1)


def _top_options(event: Any, order: arb, adjacency: Adjacency) -> arb:
    whole: arb = event.options * _range(moved_up(event.distance(adjacency)), order)
    return whole


_KAIROUZ = "Kairouz, Oh and Viswanath 2015 (arXiv 1311.0776v4)"
_DONG = "Dong, Durfee and Rogers 2020, Lemma 3.2 (arXiv 1909.13830v2)"

BOUNDS = (
    of_formula(
        _response,
        id="randomized-response",
        title="Randomised response",
        source="the definition of the divergence",
        event_type=RandomizedResponse,
        adjacencies=(Adjacency.REPLACE_ONE,),
    ),
    of_formula(
        lambda event, order, adjacency: _pure(arb(event.epsilon), order),
        id="pure-dp",
        title="Pure differential privacy",
        source=_KAIROUZ,
        event_type=EpsilonDelta,
        order_range=only_without_delta,
    ),
    of_formula(
        lambda event, order, adjacency: _pure(arb(event.pure_epsilon()), order),
        id="pure-dp",
        title="Sparse vector, as pure privacy",
        source=_KAIROUZ,
        event_type=AboveThreshold,
    ),
    of_formula(
        lambda event, order, adjacency: _range(moved_up(event.range()), order),
        id="bounded-range",
        title="Exponential mechanism",
        source=_DONG,
        event_type=Exponential,
    ),
    of_formula(
        lambda event, order, adjacency: _range(moved_up(event.range(adjacency)), order),
        id="bounded-range",
        title="Noisy maximum",
        source=f"{_DONG}; for Laplace noise: rdpkit, theory page: Selections",
        event_type=ReportNoisyMax,
    ),
    of_formula(
        _top_options,
        id="bounded-range",
        title="Options with Gumbel noise, one after the other",
        source=_DONG,
        event_type=TopOptions,
        order_range=lambda event, adjacency: (
            OrderRange() if event.noise == "gumbel" else OrderRange(highest=1.0)
        ),
    ),
)
