"""Renyi divergence of the Gaussian mechanism on a sample of fixed size, by any theorem."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rdpkit import _validate
from rdpkit.adjacency import Adjacency, needed
from rdpkit.bounds import sampled
from rdpkit.events import FixedSizeSampledGaussian

BOUNDS = tuple(b for b in sampled.BOUNDS if b.event_type is FixedSizeSampledGaussian)


@_validate.by_name(adjacency=needed())
def fixed_size_gaussian_rdp(
    orders: ArrayLike,
    *,
    noise_multiplier: float,
    sample_size: int,
    population_size: int,
    adjacency: Adjacency | str,
    theorem: str = "best",
) -> NDArray[np.float64]:
    """Renyi divergence of the Gaussian mechanism on a uniform sample without replacement.

    Guarantee
    ---------
    Drawing ``sample_size`` of ``population_size`` records without replacement and releasing their
    sum (or mean) plus Gaussian noise is (order, r)-RDP under ``adjacency`` with the r returned.

    Assumes
    -------
    The subset is uniform and fresh for every release.

    Parameters
    ----------
    orders : array_like, shape (k,)
        Renyi orders, each > 1. For a theorem about integer orders, the values in between follow
        from its Corollary 10.
    noise_multiplier : float
        Noise standard deviation over how far swapping one member of the subset moves the released
        vector, under either adjacency; > 0.
    sample_size, population_size : int
        1 <= ``sample_size`` <= ``population_size``; the population of the larger neighbour.
    adjacency : Adjacency or str
        The neighbouring relation.
    theorem : str
        For replace-one: "wang2019-thm9" and "wang2019-thm27" (each exactly as stated), "wang2019"
        (their per-term minimum), "birrell2024-ro" (orders up to 512, inf above) and
        "profile-sampling". For add-or-remove-one: "swap-coupling". For both: "no-amplification",
        and "best", which takes the smallest valid bound for each order.

    Returns
    -------
    ndarray of float64, shape (k,)
        Divergences in nats.

    Raises
    ------
    ValueError
        If an argument is outside of its range, or the theorem is not for this adjacency.

    Source
    ------
    The module of each theorem.

    Examples
    --------
    >>> import rdpkit
    >>> r = rdpkit.fixed_size_gaussian_rdp(
    ...     [2.0], noise_multiplier=5.0, sample_size=100, population_size=1000,
    ...     adjacency="replace_one", theorem="wang2019-thm9")
    >>> f"{r[0]:.9f}"
    '0.001631100'
    """
    checked = _validate.orders("orders", orders)
    relation = Adjacency.parse(adjacency)
    _validate.choice("theorem", theorem, ("best", *(bound.id for bound in BOUNDS)))
    event = FixedSizeSampledGaussian(
        noise_std=_validate.noise_multiplier("noise_multiplier", noise_multiplier),
        record_norm=1.0,
        record_diameter=1.0,
        sample_size=sample_size,
        population_size=population_size,
        release="sum",
    )
    if theorem != "best":
        next(bound for bound in BOUNDS if bound.id == theorem).check_adjacency(relation)
    values = [
        bound.values(event, checked, relation)
        for bound in BOUNDS
        if theorem in ("best", bound.id) and bound.applies(event, relation)
    ]
    return np.asarray(np.minimum.reduce(values))
