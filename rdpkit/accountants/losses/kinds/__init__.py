"""The kinds of pairs: a new one is a file, a description in `events.pairs` and a line here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rdpkit.accountants.losses.kinds.allocation.allocated import ALLOCATED
from rdpkit.accountants.losses.kinds.allocation.moves import ALLOCATED_MOVES
from rdpkit.accountants.losses.kinds.base import LossKind
from rdpkit.accountants.losses.kinds.bounded_range import BOUNDED_RANGE
from rdpkit.accountants.losses.kinds.branched import branched, largest_branch, least_branch
from rdpkit.accountants.losses.kinds.gaussian_mixture import GAUSSIAN_MIXTURE
from rdpkit.accountants.losses.kinds.laplace import (
    DISCRETE_LAPLACE,
    LAPLACE,
    OPPOSED_LAPLACE,
    TRUNCATED_LAPLACE,
)
from rdpkit.accountants.losses.kinds.lattice import DISCRETE_GAUSSIAN, SKELLAM
from rdpkit.accountants.losses.kinds.outcomes import (
    OUTCOMES,
    RESPONSE,
    STATED,
    TWO_OUTCOMES,
    finite_sum,
)
from rdpkit.accountants.losses.kinds.profile import PROFILE
from rdpkit.accountants.losses.kinds.sampled import replacement, sampled
from rdpkit.accountants.losses.kinds.sampled_gaussian import SAMPLED_GAUSSIAN
from rdpkit.accountants.losses.kinds.shuffled_maximum import SHUFFLED_MAXIMUM
from rdpkit.accountants.losses.steps import FiniteSum, ProfileStep
from rdpkit.events import pairs
from rdpkit.events.losses import Step


def kind_of(step: Any) -> LossKind:
    """The kind of a step. Raises TypeError if its description is of no known kind."""
    try:
        return _KINDS[type(step)]
    except KeyError:
        raise TypeError(f"Expected a known pair of distributions, got {step!r}.") from None


_KINDS: Mapping[type[Any], LossKind] = {
    Step: SAMPLED_GAUSSIAN,
    ProfileStep: PROFILE,
    pairs.AllocatedMoves: ALLOCATED_MOVES,
    pairs.AllocatedPair: ALLOCATED,
    pairs.LaplacePair: LAPLACE,
    pairs.OpposedLaplacePair: OPPOSED_LAPLACE,
    pairs.DiscreteLaplacePair: DISCRETE_LAPLACE,
    pairs.DiscreteGaussianPair: DISCRETE_GAUSSIAN,
    pairs.SkellamPair: SKELLAM,
    pairs.ResponsePair: RESPONSE,
    pairs.TwoOutcomes: TWO_OUTCOMES,
    pairs.Outcomes: OUTCOMES,
    pairs.TruncatedLaplacePair: TRUNCATED_LAPLACE,
    pairs.StatedPair: STATED,
    pairs.BoundedRange: BOUNDED_RANGE,
    pairs.GaussianMixturePair: GAUSSIAN_MIXTURE,
    pairs.SampledPair: sampled(kind_of),
    pairs.BranchedPair: branched(kind_of),
    pairs.LargestOf: largest_branch(kind_of),
    pairs.LeastOf: least_branch(kind_of),
    pairs.ShuffledMaximum: SHUFFLED_MAXIMUM,
    pairs.SampledReplacement: replacement(kind_of),
    FiniteSum: finite_sum(kind_of),
}

__all__ = ["kind_of"]
