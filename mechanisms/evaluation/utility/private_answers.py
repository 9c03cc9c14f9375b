"""Errors of marginals and accuracies with noise, so that they may be published.

Each number is an average over the n real records of something in [0, 1], or a total variation
distance to a distribution that the release fixes. To replace a record moves each by 1/n at most,
and all K of them together by sqrt(K)/n in the L2 norm. Gaussian noise on all of them is one
:class:`rdpkit.Gaussian`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

import rdpkit
from rdpkit import Adjacency, Event, Guarantee, _validate
from rdpkit.mechanisms.evaluation.utility.marginal_errors import MarginalError, Marginals
from rdpkit.mechanisms.parts.noise import NoiseSource

# What floats may lose in a sum of shares.
_ROUNDING = 1.0 + 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What the report itself may cost."""

    #: Of the report, beside what the release costs; both above 0.
    epsilon: float
    delta: float  #: As ``epsilon``
    adjacency: Adjacency | str  #: "replace_one": the number of real records stands in the report

    def __post_init__(self) -> None:
        _validate.positive("epsilon", self.epsilon)
        _validate.open_probability("delta", self.delta)
        found = Adjacency.parse(self.adjacency)
        if found is not Adjacency.REPLACE_ONE:
            raise _validate.fail(
                "adjacency",
                "to be 'replace_one' for a private report, which shows the number of records",
                found.value,
            )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Noisy:
    """Numbers with noise, and what they cost."""

    values: NDArray[np.float64]  # In [0, 1]
    noise_std: float  # Standard deviation of the noise on each
    event: Event  # What was released
    guarantee: Guarantee  # Of all of them together


def noisy_averages(
    values: NDArray[np.float64],  # Averages over ``records`` real records; shape (K,)
    *,
    records: int,  # How many there are; public under replace-one
    budget: Budget,  # What they may cost
    noise: NoiseSource,  # Where the noise comes from
) -> Noisy:
    """Numbers of which each moves by 1/n at most, with noise.

    Guarantee
    ---------
    At most the budget's epsilon, at its delta, under replace-one.
    """
    _validate.integer("records", records)
    moved = math.sqrt(len(values)) / records * _ROUNDING
    found = rdpkit.calibrate(
        rdpkit.Gaussian(noise_std=1.0, record_norm=moved, record_diameter=moved),
        parameter="noise_std",
        target_epsilon=budget.epsilon,
        delta=budget.delta,
        adjacency=budget.adjacency,
    )
    std = cast(rdpkit.Gaussian, found.event).noise_std
    answers = np.array(values, dtype=np.float64)
    noise.add_normal(answers, std=std)
    return Noisy(
        values=np.clip(answers, 0.0, 1.0),
        noise_std=std,
        event=found.event,
        guarantee=found.guarantee,
    )


def with_errors(marginals: Marginals, values: NDArray[np.float64]) -> Marginals:
    """The same marginals with other errors, those of single columns first."""
    given = iter(float(value) for value in values)

    def replaced(distances: tuple[MarginalError, ...]) -> tuple[MarginalError, ...]:
        return tuple(
            MarginalError(columns=d.columns, error=next(given), floor=None) for d in distances
        )

    single = replaced(marginals.single)
    return Marginals(single=single, pairs=replaced(marginals.pairs), left_out=marginals.left_out)
