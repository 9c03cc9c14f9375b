r"""The sparse vector with Gaussian noise: a threshold, and few answers out of many.

Guarantee
---------
Let s be the sensitivity, m = 2 s (s if queries are monotone), and t and z the standard deviations
of the noise of the threshold and of a query. With at most k queries, c answers "above" and
r = a m^2 / (2 z^2) the divergence at order a is at most

    a s^2 / (2 t^2) + log(sum_{j <= c} C(k, j) e^(j (a-1) r)) / (a - 1)

and at most that of all queries less the threshold, which are jointly normal: a s^2 Q / 2 with Q
the largest v' S^-1 v, S = z^2 I + t^2 1 1', over v in {-1, 1}^k, or {0, 1}^k if queries are
monotone.

Assumes
-------
The noise is that of the event, and fresh for each query.

Source
------
Zhu and Wang, "Improving sparse vector technique with Renyi differential privacy", NeurIPS 2020,
Theorem 8, for one answer; the sum over several: rdpkit, theory page "Selections".
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from flint import arb, ctx

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Kind, RdpBound, every_order
from rdpkit.bounds.noise.formula import ball_of, rdp_of
from rdpkit.events import GaussianAboveThreshold

# Terms of the sum; of more answers every query is counted as one.
_MOST = 1000


def _divergence(event: Any, order: arb, adjacency: Adjacency) -> arb:
    at_threshold = order * (arb(event.sensitivity) / arb(event.threshold_noise_std)) ** 2 / 2
    one = order * (arb(event.moved()) / arb(event.query_noise_std)) ** 2 / 2
    found = arb.pos_inf()
    most = min(event.most_above, event.queries)
    if most <= _MOST:
        # The largest term is taken out, so that no power is too large for a ball.
        choices = _choices(event.queries, most, ctx.prec)
        exponents = [each + j * (order - 1) * one for j, each in enumerate(choices)]
        top = max(exponents, key=lambda exponent: float(exponent.mid()))
        whole = sum([(exponent - top).exp() for exponent in exponents], arb(0))
        found = at_threshold + (top + whole.log()) / (order - 1)
    together: arb = order * arb(event.sensitivity) ** 2 * _jointly(event) / 2
    return together.min(found)


@lru_cache(maxsize=16)
def _choices(queries: int, most: int, bits: int) -> list[arb]:
    """Log C(k, j) for j up to ``most``, as balls with so many bits."""
    found, last = [arb(0)], 1
    for j in range(1, most + 1):
        last = last * (queries - j + 1) // j
        found.append(arb(last).log())
    return found


def _jointly(event: Any) -> arb:
    """Q = (|v|^2 - t^2 (sum v)^2 / (z^2 + k t^2)) / z^2 at its largest."""
    k, t, z = arb(event.queries), arb(event.threshold_noise_std), arb(event.query_noise_std)
    share = t * t / (z * z + k * t * t)
    if event.monotone_queries:
        ones = k.min(1 / (2 * share))
        longest: arb = ones - share * ones * ones
    else:
        longest = k - share * (event.queries % 2)
    return longest / (z * z)


BOUND = RdpBound(
    id="gaussian-above-threshold",
    title="Sparse vector with Gaussian noise",
    source="Zhu and Wang 2020, Theorem 8, for several answers: rdpkit, theory page: Selections",
    kind=Kind.UPPER,
    event_type=GaussianAboveThreshold,
    adjacencies=tuple(Adjacency),
    order_range=every_order,
    rdp=rdp_of(_divergence),
    ball=ball_of(_divergence),
)
