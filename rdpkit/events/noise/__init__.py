"""Noise other than Gaussian, added to numbers or put in their place."""

from rdpkit.events.noise.discrete_gaussian import DiscreteGaussian
from rdpkit.events.noise.discrete_laplace import DiscreteLaplace
from rdpkit.events.noise.laplace import Laplace
from rdpkit.events.noise.randomized_response import RandomizedResponse

NOISE_EVENTS = (
    Laplace,
    DiscreteLaplace,
    DiscreteGaussian,
    RandomizedResponse,
)

__all__ = [
    "NOISE_EVENTS",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Laplace",
    "RandomizedResponse",
]
