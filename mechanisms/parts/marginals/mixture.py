"""A mixture of product distributions fitted to noisy marginals of any pairs of columns.

All components have the same weight, and in each the columns are independent. So the marginal of
columns i and j is the mean of the components' outer products, and the marginals of all pairs are
the blocks of one matrix product. Unlike a graphical model, whose cost grows with the treewidth of
the measured pairs, this costs the same for any set of pairs.

Source
------
Aydore et al. 2021, "Differentially private query release through adaptive projection" (arXiv
2103.06641), and Liu, Vietri and Wu 2021 (arXiv 2106.07153), who represent a distribution like this.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from rdpkit import _validate
from rdpkit.mechanisms.parts.marginals.counting import Floats, Pair, in_front
from rdpkit.mechanisms.parts.threads import training_threads

_SMALLEST = 1e-6  # Least probability of a code, to begin with
_LAST_RATE = 0.01  # Of the first step size


@dataclass(frozen=True, slots=True, kw_only=True)
class MixtureFit:
    """How a mixture is fitted."""

    components: int = 400  # Number of product distributions
    steps: int = 500  # Steps of Adam
    step_size: float = 0.05  # Of the first step; the last one is a hundredth of it

    def __post_init__(self) -> None:
        _validate.integer("components", self.components, minimum=1)
        _validate.integer("steps", self.steps, minimum=1)
        _validate.positive("step_size", self.step_size)


@dataclass(frozen=True, slots=True)
class WantedMarginal:
    """A marginal to be met, as probabilities, and how much its squared error counts."""

    values: Floats
    weight: float


def fit_mixture(
    # One for each column. The components begin near these probabilities.
    singles: Sequence[WantedMarginal],
    pairs: dict[Pair, WantedMarginal],  # Targets of some pairs (i, j) with i < j
    fit: MixtureFit,  # Size and steps
    *,
    seed: int,  # Public randomness of the beginning
    # Called with the number of steps done and of all steps.
    progress: Callable[[int, int], None] | None = None,
) -> list[Floats]:
    """Fit a mixture to targets for single columns and for pairs.

    For each column the probabilities of its codes in each component.
    """
    starts = in_front([one.values.size for one in singles])
    total = int(starts[-1])
    wanted = np.zeros((total, total), dtype=np.float32)
    factors = np.zeros_like(wanted)
    for (i, j), target in pairs.items():
        block = slice(starts[i], starts[i + 1]), slice(starts[j], starts[j + 1])
        wanted[block] = target.values
        factors[block] = target.weight
    single_values = np.concatenate([one.values for one in singles])
    single_factors = np.concatenate([np.full(one.values.size, one.weight) for one in singles])
    # The largest weight becomes 1e4, so that one rate fits all tables.
    scale = 1e4 / max(float(factors.max(initial=0.0)), float(single_factors.max()))
    aims = [torch.from_numpy(wanted), torch.from_numpy(factors * np.float32(scale))]
    aims += [torch.tensor(v, dtype=torch.float32) for v in (single_values, single_factors * scale)]
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(fit.components, total, generator=generator) * 0.3
    logits += torch.tensor(np.log(np.maximum(single_values, _SMALLEST)), dtype=torch.float32)
    logits.requires_grad_(True)
    sizes = [one.values.size for one in singles]
    with training_threads():
        _descend(logits, sizes, aims, fit, progress)
    with torch.no_grad():
        parts = torch.split(logits.double(), sizes, dim=1)
        return [torch.softmax(part, dim=1).numpy() for part in parts]


def _descend(
    logits: torch.Tensor,
    sizes: list[int],
    aims: Sequence[torch.Tensor],
    fit: MixtureFit,
    progress: Callable[[int, int], None] | None,
) -> None:
    wanted, factors, single_values, single_factors = aims
    optimiser = torch.optim.Adam([logits], lr=fit.step_size)
    rates = torch.optim.lr_scheduler.CosineAnnealingLR(
        optimiser, fit.steps, eta_min=fit.step_size * _LAST_RATE
    )
    for step in range(fit.steps):
        optimiser.zero_grad()
        rows = torch.cat([torch.softmax(p, dim=1) for p in torch.split(logits, sizes, dim=1)], 1)
        together = rows.T @ rows / fit.components
        loss = (factors * (together - wanted) ** 2).sum()
        loss = loss + (single_factors * (rows.mean(0) - single_values) ** 2).sum()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        rates.step()
        if progress is not None:
            progress(step + 1, fit.steps)


def pair_marginals(columns: Sequence[Floats]) -> Floats:
    """The marginals of all pairs of columns of a mixture: one matrix with a block for each."""
    rows = np.concatenate(columns, axis=1)
    found: Floats = rows.T @ rows / len(rows)
    return found
