"""Privacy accounting: is this claim true, and how much better could it be said?"""

from __future__ import annotations

from rdpkit._version import __version__
from rdpkit.adjacency import Adjacency
from rdpkit.analysis import compare, delta, epsilon, lower_bound, rdp_to_epsilon
from rdpkit.bounds import BOUNDS, Kind, RdpBound
from rdpkit.bounds.fixed_size import fixed_size_gaussian_rdp
from rdpkit.bounds.gaussian import gaussian_rdp
from rdpkit.bounds.gaussian_divergence import gaussian_renyi_divergence
from rdpkit.bounds.mironov2019 import sampled_gaussian_rdp
from rdpkit.bounds.synthesis import gaussian_synthesis_rdp
from rdpkit.bounds.weak_triangle import weak_triangle
from rdpkit.curve import RdpCurve
from rdpkit.events import (
    DPCDA,
    LDPDC,
    NDPDC,
    ClassWiseDPMix,
    Composed,
    CustomRdp,
    DPMix,
    Event,
    FixedSizeSampledGaussian,
    Gaussian,
    GaussianSynthesis,
    Parallel,
    PoissonSampledGaussian,
    Repeated,
    event_from_parameters,
)
from rdpkit.guarantee import Enclosure, Guarantee, UncertifiedEnclosure
from rdpkit.pairs import DataSet, NeighbouringPair, worst_pair

__all__ = [
    "BOUNDS",
    "DPCDA",
    "LDPDC",
    "NDPDC",
    "Adjacency",
    "ClassWiseDPMix",
    "Composed",
    "CustomRdp",
    "DPMix",
    "DataSet",
    "Enclosure",
    "Event",
    "FixedSizeSampledGaussian",
    "Gaussian",
    "GaussianSynthesis",
    "Guarantee",
    "Kind",
    "NeighbouringPair",
    "Parallel",
    "PoissonSampledGaussian",
    "RdpBound",
    "RdpCurve",
    "Repeated",
    "UncertifiedEnclosure",
    "__version__",
    "compare",
    "delta",
    "epsilon",
    "event_from_parameters",
    "fixed_size_gaussian_rdp",
    "gaussian_rdp",
    "gaussian_renyi_divergence",
    "gaussian_synthesis_rdp",
    "lower_bound",
    "rdp_to_epsilon",
    "sampled_gaussian_rdp",
    "weak_triangle",
    "worst_pair",
]
