"""Frozen descriptions of what was released, in the user's own units."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from rdpkit.events.base import Event, Parameter, build, check_given, parameters_of
from rdpkit.events.composition import Composed, Parallel, Repeated
from rdpkit.events.custom_profile import CustomProfile
from rdpkit.events.custom_rdp import CustomRdp
from rdpkit.events.dpcda import DPCDA
from rdpkit.events.dpdc import LDPDC, NDPDC
from rdpkit.events.dpmix import ClassWiseDPMix, DPMix
from rdpkit.events.fixed_size_sampled_gaussian import FixedSizeSampledGaussian
from rdpkit.events.gaussian import Gaussian
from rdpkit.events.gaussian_synthesis import GaussianSynthesis
from rdpkit.events.poisson_sampled_gaussian import PoissonSampledGaussian

MECHANISMS: Mapping[str, type[Event]] = MappingProxyType(
    {
        event_type.mechanism: event_type
        for event_type in (
            Gaussian,
            PoissonSampledGaussian,
            FixedSizeSampledGaussian,
            Composed,
            Repeated,
            Parallel,
            CustomRdp,
            CustomProfile,
            DPMix,
            ClassWiseDPMix,
            DPCDA,
            LDPDC,
            NDPDC,
            GaussianSynthesis,
        )
    }
)
"""Every kind of event by the name that claims and the command line use."""


def event_from_parameters(mechanism: str, parameters: Mapping[str, Any]) -> Event:
    """Build an event from its mechanism's name and plain parameters.

    Parameters
    ----------
    mechanism : str
        A key of :data:`MECHANISMS`.
    parameters : mapping of str to value
        The event's own parameters; nested events are tables with a key ``mechanism``.

    Raises
    ------
    ValueError
        For an unknown mechanism, an unknown or missing parameter, or a bad value.
    """
    return build(mechanism, parameters, MECHANISMS)


def check_given_parameters(mechanism: str, parameters: Mapping[str, Any]) -> None:
    """Check the parameters that are given where others are missing.

    Raises
    ------
    ValueError
        For an unknown mechanism or parameter, or a bad value among those given.
    """
    check_given(mechanism, parameters, MECHANISMS)


__all__ = [
    "DPCDA",
    "LDPDC",
    "MECHANISMS",
    "NDPDC",
    "ClassWiseDPMix",
    "Composed",
    "CustomProfile",
    "CustomRdp",
    "DPMix",
    "Event",
    "FixedSizeSampledGaussian",
    "Gaussian",
    "GaussianSynthesis",
    "Parallel",
    "Parameter",
    "PoissonSampledGaussian",
    "Repeated",
    "check_given_parameters",
    "event_from_parameters",
    "parameters_of",
]
