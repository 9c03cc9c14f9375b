"""Privacy accounting: is this claim true, and how much better could it be said?"""

from __future__ import annotations

from importlib import import_module as _import_module
from importlib.util import find_spec as _find_spec
from typing import TYPE_CHECKING as _TYPE_CHECKING

__version__ = "0.2.0"

if _TYPE_CHECKING:
    from rdpkit.accountants.losses.layout import limits
    from rdpkit.accountants.rdp_curve import RdpCurve
    from rdpkit.accountants.sweeps import sweep_epsilon
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
        AboveThreshold,
        Composed,
        CustomRdp,
        DiscreteGaussian,
        DiscreteLaplace,
        EpsilonDelta,
        Event,
        Exponential,
        FixedSizeSampledGaussian,
        Gaussian,
        Group,
        Laplace,
        MatrixFactorization,
        Parallel,
        PermuteAndFlip,
        PoissonSampledGaussian,
        RandomizedResponse,
        Repeated,
        ShuffledGaussian,
        TreeAggregation,
        ZeroConcentrated,
        event_from_parameters,
    )
    from rdpkit.guarantee import Guarantee
    from rdpkit.pairs.claim_check import check
    from rdpkit.pairs.worst_pair import worst_pair
    from rdpkit.planning import compare_sampling, plan, training_report
    from rdpkit.planning.budgets import BudgetExceededError, PrivacyFilter, PrivacyOdometer
    from rdpkit.tradeoffs import gdp, tradeoff, zcdp

__all__ = [
    "BOUNDS",
    "DPCDA",
    "DPSGD",
    "AboveThreshold",
    "Adjacency",
    "BudgetExceededError",
    "CalibrationError",
    "Composed",
    "CustomRdp",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "EpsilonDelta",
    "Event",
    "Exponential",
    "FixedSizeSampledGaussian",
    "Gaussian",
    "Group",
    "Guarantee",
    "Kind",
    "Laplace",
    "MatrixFactorization",
    "NoEffectError",
    "Parallel",
    "PermuteAndFlip",
    "PoissonSampledGaussian",
    "PrivacyFilter",
    "PrivacyOdometer",
    "RandomizedResponse",
    "RdpBound",
    "RdpCurve",
    "Repeated",
    "ShuffledGaussian",
    "TreeAggregation",
    "UnreachableTargetError",
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

# Names by module; those that are not listed are events. Each is imported when it is first asked
# for, so that ``import rdpkit`` costs next to nothing in programs that may never ask. Results, and
# events beyond those that most programs name, are public in their modules and found here as well.
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
    "events": ("event_from_parameters",),
    "events.data_sets": ("DataSet",),
    "pairs.claim_check": ("ClaimCheck", "Soundness", "check"),
    "tradeoffs": ("ConcentratedDP", "GaussianDP", "TradeoffCurve", "gdp", "tradeoff", "zcdp"),
    "pairs.worst_pair": ("NeighbouringPair", "worst_pair"),
}

_HOMES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    """A name or a submodule, imported now (PEP 562)."""
    home = _HOMES.get(name, "events" if name[:1].isupper() else None)
    if home is None and not name.startswith("_") and _find_spec(f"rdpkit.{name}") is not None:
        return _import_module(f"rdpkit.{name}")
    module = None if home is None else _import_module(f"rdpkit.{home}")
    if module is None or name not in getattr(module, "__all__", (name,)):
        raise AttributeError(f"module 'rdpkit' has no attribute {name!r}")
    globals()[name] = value = getattr(module, name)
    return value


def __dir__() -> list[str]:
    """The public names, imported or not."""
    return sorted(__all__)
