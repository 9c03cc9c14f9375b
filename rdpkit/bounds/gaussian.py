"""The Gaussian mechanism."""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb
from numpy.typing import ArrayLike, NDArray

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.bounds.base import Array, Kind, RdpBound, every_order, of_event
from rdpkit.events import Gaussian
from rdpkit.numerics.balls import over_rounded_inputs


@_validate.by_name()
def gaussian_rdp(orders: ArrayLike, *, noise_multiplier: float) -> NDArray[np.float64]:
    r"""Renyi divergence of the Gaussian mechanism: order / (2 noise_multiplier^2).

    Guarantee
    ---------
    Releasing f(D) + N(0, s^2 I) is (order, r)-RDP with the r returned. If two neighbours are at the
    full sensitivity, no smaller r holds.

    Assumes
    -------
    f has L2 sensitivity at most s / ``noise_multiplier`` under the adjacency of interest.

    Parameters
    ----------
    orders : array_like, shape (k,)
        Renyi orders, each > 1.
    noise_multiplier : float
        Noise standard deviation over L2 sensitivity under the adjacency of interest; > 0.

    Returns
    -------
    ndarray of float64, shape (k,)
        Divergences in nats.

    Raises
    ------
    ValueError
        If an order is not > 1, or ``noise_multiplier`` is not positive.

    Source
    ------
    Mironov, "Renyi differential privacy", CSF 2017, Proposition 7 (arXiv 1702.07476v3).

    Examples
    --------
    >>> import rdpkit
    >>> rdpkit.gaussian_rdp([2, 8.5], noise_multiplier=2.0)
    array([0.25  , 1.0625])
    """
    checked = _validate.orders("orders", orders)
    z = _validate.noise_multiplier("noise_multiplier", noise_multiplier)
    return unsampled(checked, z)


def unsampled(orders: Array, z: float) -> Array:
    """The formula, for arguments that have been checked; inf where it exceeds the floats."""
    with np.errstate(over="ignore"):
        return np.asarray(orders / (2.0 * z) / z)


def rdp(orders: Array, z: float) -> Array:
    """:func:`gaussian_rdp` with positional arguments."""
    return gaussian_rdp(orders, noise_multiplier=z)


def unsampled_ball(order: float, z: float) -> arb:
    """A ball that contains the divergence; ``z`` is taken as an exact number."""
    return arb(order) / (2 * arb(z) * arb(z))


def ball(order: float, noise_multiplier: float) -> arb:
    """A ball that contains the divergence; ``noise_multiplier`` may carry a few roundings."""
    return over_rounded_inputs(lambda z, _: unsampled_ball(order, z), noise_multiplier, 1.0)


def _arguments(event: Any, adjacency: Adjacency) -> tuple[float]:
    return (event.noise_multiplier(adjacency),)


BOUND = RdpBound(
    id="gaussian",
    title="Gaussian mechanism",
    source="Mironov 2017, Proposition 7 (arXiv 1702.07476v3)",
    kind=Kind.UPPER,
    event_type=Gaussian,
    adjacencies=tuple(Adjacency),
    order_range=every_order,
    rdp=of_event(rdp, _arguments),
    ball=of_event(ball, _arguments),
)
