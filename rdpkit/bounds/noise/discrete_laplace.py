r"""Discrete Laplace noise: the sum over its losses.

Guarantee
---------
With g = e^(-1/scale) and two centres n apart, e^((a-1) D_a) is the sum of P(k) (P(k) / Q(k))^(a-1):

    (L + g^n R) / (1 + g) + (1-g)/(1+g) L x (1 - x^(n-1)) / (1 - x),

L = e^((a-1) n / scale), R = 1/L, x = g^(2a-1). Several coordinates tell no more than one (theory
page "Laplace noise").

Assumes
-------
The noise is that of the event, and records are vectors of integers.

Source
------
The definition of the divergence; rdpkit, theory page "Laplace noise".
"""

from __future__ import annotations

from typing import Any

from flint import arb

from rdpkit.adjacency import Adjacency
from rdpkit.bounds.noise.formula import moved_up, of_formula
from rdpkit.events import DiscreteLaplace


def _divergence(event: Any, order: arb, adjacency: Adjacency) -> arb:
    n, rate, a = event.sensitivity(adjacency), moved_up(1.0 / event.noise_scale), order
    g = (-rate).exp()
    large = ((a - 1) * n * rate).exp()
    x = (-(2 * a - 1) * rate).exp()
    ends = (large + (-n * rate).exp() / large) / (1 + g)
    between = (1 - g) / (1 + g) * large * x * (1 - x ** (n - 1)) / (1 - x)
    whole: arb = ends + between
    return whole.log() / (a - 1)


BOUND = of_formula(
    _divergence,
    id="discrete-laplace",
    title="Discrete Laplace mechanism",
    source="rdpkit, theory page 'Laplace noise'",
    event_type=DiscreteLaplace,
)
