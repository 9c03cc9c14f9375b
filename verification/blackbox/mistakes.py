"""Mistakes that the outputs of a mechanism show by themselves, apart from any privacy claim.

A test of a claim shows that something is wrong. These checks show what is wrong, where the outputs
reveal it. They look for coincidences that noise from a continuous distribution would hardly ever
produce. A coincidence is reported only if the two data sets differ in it: what is the same on both,
such as a rounded result or probabilities that sum to 1, does not leak anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from rdpkit.verification.blackbox.structure import Noiseless, Structure
from rdpkit.verification.estimators.base import Array


class MistakeKind(StrEnum):
    """The kind of a mistake."""

    FIXED_SEED = "fixed_seed"
    """The outputs are the same in every run."""
    SEED_AT_IMPORT = "seed_at_import"
    """The outputs vary within a process, and repeat in the next process."""
    NO_NOISE = "no_noise"
    """A part of the output has no noise."""
    NOISE_REUSED = "noise_reused"
    """Parts of the output have the same noise, so that a combination of them has none."""
    COARSE_NOISE = "coarse_noise"
    """The noise has few levels, and the data move them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """A mistake that was found in outputs.

    Parameters
    ----------
    kind : MistakeKind
        What it is.
    message : str
        What was seen, with numbers.
    advice : str
        What to do about it.
    """

    kind: MistakeKind
    message: str
    advice: str


def named_mistakes(p_outputs: Array, q_outputs: Array, structure: Structure) -> tuple[Mistake, ...]:
    """The mistakes that outputs on D and on D' show.

    Parameters
    ----------
    p_outputs, q_outputs : ndarray, shape (n, d) and (m, d)
        Outputs of independent runs.
    structure : Structure
        The result of :func:`rdpkit.verification.blackbox.structure.structure_of` for them.
    """
    both = np.concatenate([p_outputs, q_outputs])
    noiseless, grid = structure.noiseless, structure.grid
    found = []
    # Whole numbers that seem constant may be counts or answers that only rarely differ.
    if noiseless is not None and not _whole(both[:, list(noiseless.columns)]):
        if all((side == side[0]).all() for side in (p_outputs, q_outputs)):
            return (_fixed_seed(len(p_outputs), len(q_outputs)),)
        found.append(_without_noise(noiseless))
    if grid is not None:
        found.append(
            Mistake(
                kind=MistakeKind.COARSE_NOISE,
                message=f"Output {grid.column} lies on a grid of step {grid.step:.3g}, which is "
                f"shifted by {grid.shift:.3g} steps from one data set to the other: the noise has "
                "fewer digits than the value that it is added to.",
                advice="Draw the noise in the precision of the sum, round the noisy sum to a fixed "
                "grid, or use a discrete Gaussian.",
            )
        )
    return tuple(found)


def _fixed_seed(runs: int, other_runs: int) -> Mistake:
    return Mistake(
        kind=MistakeKind.FIXED_SEED,
        message=f"All {runs} runs on D gave the same output, though each had a generator of its "
        f"own, and all {other_runs} runs on D' gave another output.",
        advice="Draw the noise from the generator that is passed to the mechanism; look for a "
        "fixed seed in the code.",
    )


def _without_noise(noiseless: Noiseless) -> Mistake:
    columns = ", ".join(map(str, noiseless.columns[:4]))
    if len(noiseless.columns) == 1:
        return Mistake(
            kind=MistakeKind.NO_NOISE,
            message=f"Output {columns} does not vary, and is {noiseless.gap:.3g} larger or smaller "
            "on the other data set.",
            advice="Add noise to every output that depends on the data.",
        )
    return Mistake(
        kind=MistakeKind.NOISE_REUSED,
        message=f"A combination of the outputs {columns}"
        + (" and others" if len(noiseless.columns) > 4 else "")
        + f" varies {noiseless.spread:.1g} times as much as its parts, and differs between the "
        f"data sets by {noiseless.gap:.3g}: the parts have the same noise.",
        advice="Draw noise for every part of the output; look for a random key or seed used twice.",
    )


def _whole(values: Array) -> bool:
    return bool((values == np.round(values)).all())


__all__ = ["Mistake", "MistakeKind", "named_mistakes"]
