"""Trade-off curves of an event with less noise or more, which a run is compared with."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

import rdpkit
from rdpkit import Event
from rdpkit.accountants import profiles
from rdpkit.adjacency import Adjacency
from rdpkit.verification.estimators.one_run.families import ProfileCurve
from rdpkit.verification.training.checks.step import with_noise
from rdpkit.verification.training.updates import Vector

_GRID = 50_000
_SLACK = 1e-12
_KEPT = 64
# Rates below this are not met among some thousands of scores.
_SMALLEST_DELTA = 1e-7


class EventLeaks:
    """The told event with its noise divided by a number, the leak; 1 is the event as told."""

    def __init__(
        self,
        event: Event,  # What was told, for the updates that were made
        adjacency: Adjacency,  # The neighbouring relation
    ) -> None:
        self.event, self.adjacency = event, adjacency
        self._table = functools.lru_cache(_KEPT)(self._tabulated)

    name = "the told event, with its noise divided by the leak"

    def member(self, leak: float) -> Event:
        """The event with this leak."""
        return self.event if leak == 1.0 else with_noise(self.event, 1.0 / leak)

    def rates(self, leak: float, found: Vector) -> Vector:
        """The least false positive rate at each true positive rate, or less.

        Guarantee
        ---------
        No attack on two neighbours has a smaller false positive rate, if the event with this leak
        is what was released.
        """
        if leak <= 0.0:
            return np.asarray(found, dtype=np.float64)
        table = self._table(leak)
        if isinstance(table, float):
            return np.asarray(ndtr(ndtri(found) - table) * (1.0 - _SLACK))
        # The curve increases, so that the point of the table below is on the safe side.
        return np.asarray(table[np.floor(np.asarray(found) * _GRID).astype(np.int64)])

    def epsilon(self, leak: float, delta: float) -> float:
        """A lower bound on the epsilon of the event with this leak."""
        if leak <= 0.0:
            return 0.0
        found, _ = rdpkit.lower_bound(self.member(leak), adjacency=self.adjacency, delta=delta)
        return found.epsilon

    def _tabulated(self, leak: float) -> Any:
        event = self.member(leak)
        gaussian = profiles.gaussian_mu(event, self.adjacency)
        if gaussian is not None:
            return float(gaussian.upper)
        profile = profiles.proven(event, self.adjacency, smallest=_SMALLEST_DELTA)
        rates = np.arange(_GRID + 1) / _GRID
        epsilons, deltas = np.array(profile.epsilons), np.array(profile.deltas)
        return ProfileCurve(epsilons, deltas).rates(rates)
