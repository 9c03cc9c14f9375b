"""Renyi divergences of noise other than Gaussian, and of bounded losses."""

from __future__ import annotations

from rdpkit.bounds.base import RdpBound
from rdpkit.bounds.noise import (
    discrete_gaussian,
    discrete_laplace,
    distributed_discrete_gaussian,
    laplace,
    mixture_of_gaussians,
    pure,
    skellam,
)

BOUNDS: tuple[RdpBound, ...] = (
    *laplace.BOUNDS,
    discrete_laplace.BOUND,
    discrete_gaussian.BOUND,
    distributed_discrete_gaussian.BOUND,
    mixture_of_gaussians.BOUND,
    mixture_of_gaussians.USERS,
    skellam.BOUND,
    *pure.BOUNDS,
)

__all__ = ["BOUNDS"]
