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
from functools import cache
from typing import Any

import numpy as np
import torch

from rdpkit import _validate
from rdpkit.mechanisms.parts.marginals.rounds import Codes, Floats, Pair, in_front
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


# Rows of a table whose counts are near those of a mixture: rounded, then improved by swaps.
#
# Rows that are drawn at random have the error of a sample besides that of the mixture. Here each
# component gives its share of rows with rounded counts, and then values of one column are swapped
# between two rows wherever that brings the counts of pairs nearer to the mixture's.

SWAPS_PER_VALUE = 20
"""How many swaps are tried for each value of the table."""


def rows_of_mixture(
    # For each column the probabilities of its codes in each component; shape (components, codes)
    columns: Sequence[Floats],
    count: int,  # Number of rows
    rng: np.random.Generator,  # Randomness; it sees no private record
) -> Codes:  # Shape (count, columns): the rows, in random order
    """Rows whose marginals of one and two columns are near those of a mixture."""
    components = len(columns[0])
    sizes = np.diff(np.floor(np.linspace(0, count, components + 1) + 1e-9)).astype(np.int64)
    sizes = sizes[rng.permutation(components)]
    found = np.empty((count, len(columns)), dtype=np.int32)
    for j, probabilities in enumerate(columns):
        found[:, j] = _rounded_column(probabilities, sizes, rng)
    if len(columns) > 1 and count > 1:
        wanted = (pair_marginals(columns) * count).astype(np.float32)
        starts = in_front([one.shape[1] for one in columns])
        _swaps()(found, starts, wanted, found.size * SWAPS_PER_VALUE, int(rng.integers(2**32)))
    return rng.permutation(found).astype(np.int64)


def _rounded_column(probabilities: Floats, sizes: Any, rng: np.random.Generator) -> Codes:
    """Codes of one column, component by component: what rounding takes, the next one gives back."""
    codes = np.arange(probabilities.shape[1])
    carried = np.zeros(codes.size)
    parts = []
    for row, size in zip(probabilities, sizes, strict=True):
        carried += row * size
        counts = np.maximum(np.floor(carried), 0.0).astype(np.int64)
        missing = int(size - counts.sum())
        order = np.argsort(-(carried - counts) + 1e-9 * rng.random(codes.size))
        while missing > 0:
            counts[order[:missing]] += 1
            missing = int(size - counts.sum())
        while missing < 0:
            over = [code for code in order[::-1] if counts[code] > 0][:-missing]
            counts[over] -= 1
            missing = int(size - counts.sum())
        carried -= counts
        parts.append(rng.permutation(np.repeat(codes, counts)))
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)


@cache
def _swaps() -> Any:
    """The compiled search, compiled when it is first used."""
    import numba  # noqa: PLC0415 (it takes half a second)

    return numba.njit(cache=False)(_improve)


def _improve(codes: Any, starts: Any, wanted: Any, tries: int, seed: int) -> None:
    """Swap values of one column between two rows where that brings pair counts nearer."""
    np.random.seed(seed)  # noqa: NPY002 (inside numba, which has no other generator of its own)
    rows, columns = codes.shape
    off = -wanted
    for r in range(rows):
        for i in range(columns):
            for j in range(columns):
                if i != j:
                    off[starts[i] + codes[r, i], starts[j] + codes[r, j]] += 1.0
    for _ in range(tries):
        r = np.random.randint(rows)  # noqa: NPY002
        s = np.random.randint(rows)  # noqa: NPY002
        i = np.random.randint(columns)  # noqa: NPY002
        a, b = starts[i] + codes[r, i], starts[i] + codes[s, i]
        if a == b:
            continue
        change = 0.0
        for j in range(columns):
            u, v = starts[j] + codes[r, j], starts[j] + codes[s, j]
            if i != j and u != v:
                change += 2.0 + off[b, u] + off[a, v] - off[a, u] - off[b, v]
        if change >= 0.0:
            continue
        for j in range(columns):
            u, v = starts[j] + codes[r, j], starts[j] + codes[s, j]
            if i != j and u != v:
                off[a, u] -= 1.0
                off[u, a] -= 1.0
                off[b, v] -= 1.0
                off[v, b] -= 1.0
                off[b, u] += 1.0
                off[u, b] += 1.0
                off[a, v] += 1.0
                off[v, a] += 1.0
        codes[r, i], codes[s, i] = codes[s, i], codes[r, i]
