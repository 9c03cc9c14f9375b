"""Mistakes that can be named: what outputs of a mechanism show apart from any privacy claim.

A test of a claim says that something is wrong. These checks say what, where that can be read from
the outputs themselves. They look for coincidences that noise from a continuous distribution makes
with probability next to nothing, and speak only where the two data sets differ in them: what is
the same on both tells nobody apart, like the rounding of a result or a sum of probabilities that is
1.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from rdpkit.verification.blackbox.structure import Noiseless, Structure
from rdpkit.verification.estimators.base import Array


class MistakeKind(StrEnum):
    """What went wrong."""

    FIXED_SEED = "fixed_seed"
    """Outputs do not vary from run to run."""
    SEED_AT_IMPORT = "seed_at_import"
    """Outputs vary within a process, and are the same again in the next one."""
    NO_NOISE = "no_noise"
    """A part of the output has no noise."""
    NOISE_REUSED = "noise_reused"
    """Parts of the output have the same noise, so that a combination of them has none."""
    COARSE_NOISE = "coarse_noise"
    """The noise has few levels, and the data move them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """A mistake that was found.

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

    def as_dict(self) -> dict[str, str]:
        """Plain values for JSON."""
        return {"kind": self.kind.value, "message": self.message, "advice": self.advice}


def named_mistakes(p_outputs: Array, q_outputs: Array, structure: Structure) -> tuple[Mistake, ...]:
    """The mistakes that outputs on D and on D' show.

    Parameters
    ----------
    p_outputs, q_outputs : ndarray, shape (n, d) and (m, d)
        Outputs of independent runs.
    structure : Structure
        What :func:`rdpkit.verification.blackbox.structure.structure_of` says of them.
    """
    both = np.concatenate([p_outputs, q_outputs])
    noiseless, grid = structure.noiseless, structure.grid
    found = []
    # Outputs that are whole numbers and seem constant may be answers that are rarely another.
    if noiseless is not None and not _whole(both[:, list(noiseless.columns)]):
        if all((side == side[0]).all() for side in (p_outputs, q_outputs)):
            return (_fixed_seed(len(p_outputs), len(q_outputs)),)
        found.append(_without_noise(noiseless))
    if grid is not None:
        found.append(
            Mistake(
                kind=MistakeKind.COARSE_NOISE,
                message=f"Output {grid.column} lies on a grid of step {grid.step:.3g}, which is "
                f"shifted by {grid.shift:.3g} steps from one data set to the other: the digits of "
                "the noise end before those of what it is added to.",
                advice="Draw the noise in the precision of the sum, round the noisy sum to a fixed "
                "grid, or use a discrete Gaussian.",
            )
        )
    return tuple(found)


def _fixed_seed(runs: int, other_runs: int) -> Mistake:
    return Mistake(
        kind=MistakeKind.FIXED_SEED,
        message=f"All {runs} runs on D gave the same output, though each had a generator of its "
        f"own, and all {other_runs} runs on D' gave another one.",
        advice="Draw the noise from the generator that is handed in; look for a seed in the code.",
    )


def _without_noise(noiseless: Noiseless) -> Mistake:
    columns = ", ".join(map(str, noiseless.columns[:4]))
    if len(noiseless.columns) == 1:
        return Mistake(
            kind=MistakeKind.NO_NOISE,
            message=f"Output {columns} does not vary, and is {noiseless.gap:.3g} larger or smaller "
            "on the other data set.",
            advice="Add noise to all that depends on the data.",
        )
    return Mistake(
        kind=MistakeKind.NOISE_REUSED,
        message=f"A combination of the outputs {columns}"
        + (" and others" if len(noiseless.columns) > 4 else "")
        + f" varies by {noiseless.spread:.1g} of what its parts do, and differs between the data "
        f"sets by {noiseless.gap:.3g}: the parts have the same noise.",
        advice="Draw noise for every part of the output; look for a random key or seed used twice.",
    )


def _whole(values: Array) -> bool:
    return bool((values == np.round(values)).all())


__all__ = ["Mistake", "MistakeKind", "named_mistakes"]
