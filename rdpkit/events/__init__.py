"""Frozen descriptions of what was released, in the user's own units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from rdpkit import extensions
from rdpkit.events.base import Event
from rdpkit.events.class_moments import ClassMoments
from rdpkit.events.composition import Composed, Group, Parallel, Repeated
from rdpkit.events.gaussian import Gaussian
from rdpkit.events.noise.integers import DiscreteGaussian, DistributedDiscreteGaussian, Skellam
from rdpkit.events.noise.laplace import BoundedLaplace, DiscreteLaplace, Laplace, TruncatedLaplace
from rdpkit.events.noise.optimal import CanonicalNoise, Staircase
from rdpkit.events.noise.randomized_response import RandomizedResponse
from rdpkit.events.papers.dpdc import LDPDC, NDPDC
from rdpkit.events.papers.mixtures import DPCDA, ClassWiseDPMix, DPMix
from rdpkit.events.papers.synthesis import GaussianSynthesis, RegularisedSynthesis
from rdpkit.events.parameters import Parameter, build, check_given, parameters_of
from rdpkit.events.sampled.contributions import (
    MixtureOfGaussians,
    SampledWithReplacementGaussian,
    UserSampledGaussian,
)
from rdpkit.events.sampled.fixed_size import FixedSizeSampled, FixedSizeSampledGaussian
from rdpkit.events.sampled.poisson import PoissonSampled, PoissonSampledGaussian
from rdpkit.events.selection.above_threshold import AboveThreshold, GaussianAboveThreshold
from rdpkit.events.selection.partitions import PartitionSelection, ThresholdedCounts
from rdpkit.events.selection.runs import FirstAboveThreshold, RepeatAndSelect
from rdpkit.events.selection.scores import (
    Exponential,
    PermuteAndFlip,
    ReportNoisyMax,
    TeacherVotes,
    TopOptions,
)
from rdpkit.events.stated import (
    CustomProfile,
    CustomRdp,
    CustomTradeoff,
    EpsilonDelta,
    ZeroConcentrated,
)
from rdpkit.events.training.dpsgd import DPSGD
from rdpkit.events.training.epochs import RandomAllocationGaussian, ShuffledGaussian
from rdpkit.events.training.matrix_factorization import MatrixFactorization
from rdpkit.events.training.tree_aggregation import TreeAggregation
from rdpkit.events.training.truncated_poisson_gaussian import TruncatedPoissonGaussian

_OWN: tuple[type[Event], ...] = (
    Gaussian,
    PoissonSampledGaussian,
    FixedSizeSampledGaussian,
    Composed,
    Repeated,
    Parallel,
    CustomRdp,
    CustomProfile,
    ZeroConcentrated,
    PoissonSampled,
    FixedSizeSampled,
    EpsilonDelta,
    MixtureOfGaussians,
    Laplace,
    DiscreteLaplace,
    DiscreteGaussian,
    RandomizedResponse,
    Exponential,
    PermuteAndFlip,
    ReportNoisyMax,
    AboveThreshold,
    GaussianAboveThreshold,
    RepeatAndSelect,
    FirstAboveThreshold,
    Group,
    DPMix,
    ClassWiseDPMix,
    DPCDA,
    LDPDC,
    NDPDC,
    GaussianSynthesis,
    RegularisedSynthesis,
    DPSGD,
    ShuffledGaussian,
    TreeAggregation,
    MatrixFactorization,
    RandomAllocationGaussian,
    TruncatedPoissonGaussian,
    UserSampledGaussian,
    ClassMoments,
    DistributedDiscreteGaussian,
    Skellam,
    BoundedLaplace,
    Staircase,
    TruncatedLaplace,
    CanonicalNoise,
    CustomTradeoff,
    TopOptions,
    PartitionSelection,
    ThresholdedCounts,
    TeacherVotes,
    SampledWithReplacementGaussian,
)


class Mechanisms(Mapping[str, type[Event]]):
    """Every kind of event by name: rdpkit's own, then those that installed packages add.

    Packages add events under the entry-point group ``rdpkit.events``. These packages are imported
    when a name is looked up that is not one of rdpkit's own, or when all names are listed.
    """

    def __init__(self) -> None:
        self._own = {event_type.mechanism: event_type for event_type in _OWN}

    @cached_property
    def _added(self) -> dict[str, type[Event]]:
        found = {}
        for name, event_type in extensions.extensions(extensions.EVENTS).items():
            if not (isinstance(event_type, type) and issubclass(event_type, Event)):
                reason = f"expected a subclass of rdpkit.Event, got {event_type!r}"
            elif event_type.mechanism != name:
                reason = f"the event's 'mechanism' is {event_type.mechanism!r}, not its name here"
            elif name in self._own:
                reason = "rdpkit has a mechanism of that name itself"
            else:
                found[name] = event_type
                continue
            raise extensions.problem(extensions.EVENTS, name, reason)
        return found

    def __getitem__(self, name: str) -> type[Event]:
        found = self._own.get(name)
        return self._added[name] if found is None else found

    def __iter__(self) -> Iterator[str]:
        return iter((*self._own, *self._added))

    def __len__(self) -> int:
        return len(self._own) + len(self._added)


MECHANISMS: Mapping[str, type[Event]] = Mechanisms()
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

    Examples
    --------
    >>> import rdpkit
    >>> rdpkit.event_from_parameters("gaussian", {"noise_std": 3.0, "record_norm": 1.0})
    Gaussian(noise_std=3.0, record_norm=1.0, record_diameter=None)
    """
    return build(mechanism, parameters, MECHANISMS)


def check_given_parameters(mechanism: str, parameters: Mapping[str, Any]) -> None:
    """Check the parameters that are given, although others are missing."""
    check_given(mechanism, parameters, MECHANISMS)


__all__ = [
    "DPCDA",
    "DPSGD",
    "LDPDC",
    "MECHANISMS",
    "NDPDC",
    "AboveThreshold",
    "BoundedLaplace",
    "CanonicalNoise",
    "ClassMoments",
    "ClassWiseDPMix",
    "Composed",
    "CustomProfile",
    "CustomRdp",
    "CustomTradeoff",
    "DPMix",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "DistributedDiscreteGaussian",
    "EpsilonDelta",
    "Event",
    "Exponential",
    "FirstAboveThreshold",
    "FixedSizeSampled",
    "FixedSizeSampledGaussian",
    "Gaussian",
    "GaussianAboveThreshold",
    "GaussianSynthesis",
    "Group",
    "Laplace",
    "MatrixFactorization",
    "MixtureOfGaussians",
    "Parallel",
    "Parameter",
    "PartitionSelection",
    "PermuteAndFlip",
    "PoissonSampled",
    "PoissonSampledGaussian",
    "RandomAllocationGaussian",
    "RandomizedResponse",
    "RegularisedSynthesis",
    "RepeatAndSelect",
    "Repeated",
    "ReportNoisyMax",
    "SampledWithReplacementGaussian",
    "ShuffledGaussian",
    "Skellam",
    "Staircase",
    "TeacherVotes",
    "ThresholdedCounts",
    "TopOptions",
    "TreeAggregation",
    "TruncatedLaplace",
    "TruncatedPoissonGaussian",
    "UserSampledGaussian",
    "ZeroConcentrated",
    "check_given_parameters",
    "event_from_parameters",
    "parameters_of",
]
