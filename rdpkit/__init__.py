"""Privacy accounting: is this claim true, and how much better could it be said?"""

from __future__ import annotations

from importlib import import_module as _import_module
from importlib.util import find_spec as _find_spec
from typing import TYPE_CHECKING as _TYPE_CHECKING

__version__ = "0.2.0"

if _TYPE_CHECKING:
    from rdpkit.accountants.losses.layout import limits
    from rdpkit.accountants.rdp_curve import RdpCurve
    from rdpkit.accountants.sweeps import Sweep, sweep_epsilon
    from rdpkit.adjacency import Adjacency
    from rdpkit.analysis import compare, delta, epsilon, lower_bound
    from rdpkit.bounds import BOUNDS, Kind, RdpBound
    from rdpkit.bounds.gaussian import gaussian_rdp
    from rdpkit.bounds.gaussian_divergence import gaussian_renyi_divergence
    from rdpkit.bounds.sampled.fixed_size import fixed_size_gaussian_rdp
    from rdpkit.bounds.sampled.mironov2019 import sampled_gaussian_rdp
    from rdpkit.bounds.synthesis.gaussian_synthesis import gaussian_synthesis_rdp
    from rdpkit.bounds.weak_triangle import weak_triangle
    from rdpkit.calibration import (
        AttackCalibration,
        Calibration,
        CalibrationError,
        NoEffectError,
        UnreachableTargetError,
        calibrate,
        calibrate_attack,
    )
    from rdpkit.conversions.curves import rdp_to_epsilon
    from rdpkit.events import (
        DPCDA,
        DPSGD,
        LDPDC,
        NDPDC,
        AboveThreshold,
        BoundedLaplace,
        CanonicalNoise,
        ClassMoments,
        ClassWiseDPMix,
        Composed,
        CustomProfile,
        CustomRdp,
        CustomTradeoff,
        DiscreteGaussian,
        DiscreteLaplace,
        DistributedDiscreteGaussian,
        DPMix,
        EpsilonDelta,
        Event,
        Exponential,
        FirstAboveThreshold,
        FixedSizeSampled,
        FixedSizeSampledGaussian,
        Gaussian,
        GaussianAboveThreshold,
        GaussianSynthesis,
        Group,
        Laplace,
        MatrixFactorization,
        MixtureOfGaussians,
        Parallel,
        PartitionSelection,
        PermuteAndFlip,
        PoissonSampled,
        PoissonSampledGaussian,
        RandomAllocationGaussian,
        RandomizedResponse,
        RegularisedSynthesis,
        RepeatAndSelect,
        Repeated,
        ReportNoisyMax,
        SampledWithReplacementGaussian,
        ShuffledGaussian,
        Skellam,
        Staircase,
        TeacherVotes,
        ThresholdedCounts,
        TopOptions,
        TreeAggregation,
        TruncatedLaplace,
        TruncatedPoissonGaussian,
        UserSampledGaussian,
        ZeroConcentrated,
        event_from_parameters,
    )
    from rdpkit.events.data_sets import DataSet
    from rdpkit.guarantee import Comparison, Enclosure, Guarantee, UncertifiedEnclosure
    from rdpkit.pairs.claim_check import ClaimCheck, Soundness, check
    from rdpkit.pairs.worst_pair import NeighbouringPair, worst_pair
    from rdpkit.planning import (
        Choice,
        Plan,
        SamplingBounds,
        TrainingReport,
        compare_sampling,
        plan,
        training_report,
    )
    from rdpkit.planning.budgets import BudgetExceededError, PrivacyFilter, PrivacyOdometer
    from rdpkit.tradeoffs import ConcentratedDP, GaussianDP, TradeoffCurve, gdp, tradeoff, zcdp

__all__ = [
    "BOUNDS",
    "DPCDA",
    "DPSGD",
    "LDPDC",
    "NDPDC",
    "AboveThreshold",
    "Adjacency",
    "AttackCalibration",
    "BoundedLaplace",
    "BudgetExceededError",
    "Calibration",
    "CalibrationError",
    "CanonicalNoise",
    "Choice",
    "ClaimCheck",
    "ClassMoments",
    "ClassWiseDPMix",
    "Comparison",
    "Composed",
    "ConcentratedDP",
    "CustomProfile",
    "CustomRdp",
    "CustomTradeoff",
    "DPMix",
    "DataSet",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "DistributedDiscreteGaussian",
    "Enclosure",
    "EpsilonDelta",
    "Event",
    "Exponential",
    "FirstAboveThreshold",
    "FixedSizeSampled",
    "FixedSizeSampledGaussian",
    "Gaussian",
    "GaussianAboveThreshold",
    "GaussianDP",
    "GaussianSynthesis",
    "Group",
    "Guarantee",
    "Kind",
    "Laplace",
    "MatrixFactorization",
    "MixtureOfGaussians",
    "NeighbouringPair",
    "NoEffectError",
    "Parallel",
    "PartitionSelection",
    "PermuteAndFlip",
    "Plan",
    "PoissonSampled",
    "PoissonSampledGaussian",
    "PrivacyFilter",
    "PrivacyOdometer",
    "RandomAllocationGaussian",
    "RandomizedResponse",
    "RdpBound",
    "RdpCurve",
    "RegularisedSynthesis",
    "RepeatAndSelect",
    "Repeated",
    "ReportNoisyMax",
    "SampledWithReplacementGaussian",
    "SamplingBounds",
    "ShuffledGaussian",
    "Skellam",
    "Soundness",
    "Staircase",
    "Sweep",
    "TeacherVotes",
    "ThresholdedCounts",
    "TopOptions",
    "TradeoffCurve",
    "TrainingReport",
    "TreeAggregation",
    "TruncatedLaplace",
    "TruncatedPoissonGaussian",
    "UncertifiedEnclosure",
    "UnreachableTargetError",
    "UserSampledGaussian",
    "ZeroConcentrated",
    "__version__",
    "calibrate",
    "calibrate_attack",
    "check",
    "compare",
    "compare_sampling",
    "delta",
    "epsilon",
    "event_from_parameters",
    "fixed_size_gaussian_rdp",
    "gaussian_rdp",
    "gaussian_renyi_divergence",
    "gaussian_synthesis_rdp",
    "gdp",
    "limits",
    "lower_bound",
    "plan",
    "rdp_to_epsilon",
    "sampled_gaussian_rdp",
    "sweep_epsilon",
    "tradeoff",
    "training_report",
    "weak_triangle",
    "worst_pair",
    "zcdp",
]

# Public names by module; those that are not listed are events. Each is imported when it is first
# asked for, so that ``import rdpkit`` costs next to nothing in programs that may never ask.
_MODULES = {
    "accountants.losses.layout": ("limits",),
    "adjacency": ("Adjacency",),
    "analysis": ("compare", "delta", "epsilon", "lower_bound"),
    "conversions.curves": ("rdp_to_epsilon",),
    "bounds": ("BOUNDS", "Kind", "RdpBound"),
    "bounds.sampled.fixed_size": ("fixed_size_gaussian_rdp",),
    "bounds.gaussian": ("gaussian_rdp",),
    "bounds.gaussian_divergence": ("gaussian_renyi_divergence",),
    "bounds.sampled.mironov2019": ("sampled_gaussian_rdp",),
    "bounds.synthesis.gaussian_synthesis": ("gaussian_synthesis_rdp",),
    "bounds.weak_triangle": ("weak_triangle",),
    "planning.budgets": ("BudgetExceededError", "PrivacyFilter", "PrivacyOdometer"),
    "calibration": (
        "AttackCalibration",
        "Calibration",
        "CalibrationError",
        "NoEffectError",
        "UnreachableTargetError",
        "calibrate",
        "calibrate_attack",
    ),
    "accountants.rdp_curve": ("RdpCurve",),
    "guarantee": ("Comparison", "Enclosure", "Guarantee", "UncertifiedEnclosure"),
    "planning": (
        "Choice",
        "Plan",
        "SamplingBounds",
        "TrainingReport",
        "compare_sampling",
        "plan",
        "training_report",
    ),
    "accountants.sweeps": ("Sweep", "sweep_epsilon"),
    "events.data_sets": ("DataSet",),
    "pairs.claim_check": ("ClaimCheck", "Soundness", "check"),
    "tradeoffs": ("ConcentratedDP", "GaussianDP", "TradeoffCurve", "gdp", "tradeoff", "zcdp"),
    "pairs.worst_pair": ("NeighbouringPair", "worst_pair"),
}

_HOMES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    """A public name or a submodule, imported now (PEP 562)."""
    if name not in __all__:
        if not name.startswith("_") and _find_spec(f"rdpkit.{name}") is not None:
            return _import_module(f"rdpkit.{name}")
        raise AttributeError(f"module 'rdpkit' has no attribute {name!r}")
    value = getattr(_import_module(f"rdpkit.{_HOMES.get(name, 'events')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names, imported or not."""
    return sorted(__all__)
