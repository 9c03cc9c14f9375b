"""Our accountant with the constructors and the further methods of dp-accounting's two."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from dp_accounting import privacy_accountant
from scipy.special import logsumexp

import rdpkit
from benchmarks.peer_suites import answers
from rdpkit.analysis import certified_rdp
from rdpkit.calibration.scores import rdp_floor
from rdpkit.interop import RdpkitAccountant

_ADD = privacy_accountant.NeighboringRelation.ADD_OR_REMOVE_ONE
_REPLACE = privacy_accountant.NeighboringRelation.REPLACE_ONE
_ORDERS = [1.0 + x / 10.0 for x in range(1, 100)] + list(range(11, 64)) + [128, 256, 512, 1024]


THEIRS: dict[str, Any] = {}
"""The accountants that were replaced, by their names."""


class _Recorded(RdpkitAccountant):
    """Keeps what it was asked."""

    seen: list[tuple[Any, int]]

    def _maybe_compose(self, event: Any, count: int, do_compose: bool) -> Any:
        answers.CURRENT.asked = True
        error = super()._maybe_compose(event, count, do_compose)
        if error is None and do_compose:
            self.seen.append((event, count))
        if error is None and self._last is not None:
            answers.CURRENT.composed.append((event, self._last, self.adjacency))
        return error

    def get_epsilon(self, target_delta: float) -> float:
        """Epsilon, remembered with what the same pair of data sets attains."""
        found = super().get_epsilon(target_delta)
        self._remember(f"epsilon at delta = {target_delta:g}", found, delta=target_delta)
        return found

    def get_delta(self, target_epsilon: float) -> float:
        """Delta, remembered in the same way."""
        found = super().get_delta(target_epsilon)
        self._remember(f"delta at epsilon = {target_epsilon:g}", found, epsilon=target_epsilon)
        return found

    def _remember(self, question: str, found: float, **target: float) -> None:
        if self.event is not None and math.isfinite(found):
            lower = partial(answers.attained, self.event, self.adjacency, **target)
            answers.CURRENT.answers.append(answers.Answer(question, found, lower))


def _attained_divergence(event: rdpkit.Event, order: float, adjacency: rdpkit.Adjacency) -> float:
    """A lower bound on the divergence of some two neighbours, which is 0 where none is known."""
    found = float(rdp_floor(event, np.array([order]), adjacency)[0])
    if isinstance(event, rdpkit.RepeatAndSelect):
        pairs = [losses[0] for losses in event.attained(adjacency) if losses]
        found = max([found, *[_divergence_of(pair, order) for pair in pairs]])
    return found


def _divergence_of(pair: Any, order: float) -> float:
    """The larger divergence of a handful of outcomes and of the same exchanged."""
    p, q = np.log(pair.first), np.log(pair.second)
    both = [logsumexp(order * a - (order - 1.0) * b) for a, b in ((p, q), (q, p))]
    return float(max(both)) / (order - 1.0)


class PLDAccountant(_Recorded):
    """In place of ``PLDAccountant``: noise is relative to the norm of a record."""

    def __init__(
        self, neighboring_relation: Any = _ADD, value_discretization_interval: float = 1e-4
    ) -> None:
        self.seen = []
        super().__init__(neighboring_relation, noise_relative_to="record_norm")

    @property
    def _contains_non_dp_event(self) -> bool:
        return self._is_not_private()


class RdpAccountant(_Recorded):
    """In place of ``RdpAccountant``: noise is relative to the distance of two records."""

    def __init__(
        self, orders: Sequence[float] | None = None, neighboring_relation: Any = _ADD
    ) -> None:
        swap = "swap_distance" if neighboring_relation is _REPLACE else None
        self.seen = []
        super().__init__(neighboring_relation, noise_relative_to=swap)
        self._orders = np.array(_ORDERS if orders is None else list(orders), dtype=np.float64)

    @property
    def orders(self) -> Any:
        """The orders that were given, which bound nothing here."""
        return self._orders

    @property
    def _rdp(self) -> Any:
        """The best divergences at these orders; those of order 1 from just above it."""
        answers.CURRENT.curves.append(self)
        if self._is_not_private():
            return np.full(self._orders.shape, np.inf)
        event = self.event
        if event is None:
            return np.zeros(self._orders.shape)
        found = [self._divergence(event, order) for order in self._orders.tolist()]
        return np.array(found)

    rdp = _rdp

    def smaller_than_theirs(self) -> str | None:
        """That no divergence is above theirs, one is below, and each above what is attained."""
        other = THEIRS["rdp"](self._orders.tolist(), self.neighboring_relation)
        for event, count in self.seen:
            other.compose(event, count)
        event = self.event
        if event is None or not np.isfinite(self._orders).any():
            return None
        rows = []
        for order, theirs in zip(self._orders.tolist(), other._rdp, strict=True):
            if not math.isfinite(order):
                continue
            ours, _, enclosure = certified_rdp(
                event, order=max(order, 1.0 + 1e-9), adjacency=self.adjacency
            )
            attained = _attained_divergence(event, max(order, 1.0 + 1e-9), self.adjacency)
            if enclosure is None or not attained <= ours <= theirs * (1.0 + 1e-9):
                return None
            rows.append((theirs / ours if ours else 1.0, order, ours, theirs))
        ratio, order, ours, theirs = max(rows)
        if ratio <= 1.0 + 1e-6:
            return None
        return (
            f"divergence of order {order:g}: ours is {ours:.9g}, certified, and smaller than "
            f"theirs, {theirs:.9g}; no other order is larger"
        )

    def _divergence(self, event: rdpkit.Event, order: float) -> float:
        if math.isinf(order):
            return RdpkitAccountant.get_epsilon(self, 0.0)
        at = max(order, 1.0 + 1e-9)
        value, _, enclosure = certified_rdp(event, order=at, adjacency=self.adjacency)
        lower = partial(_attained_divergence, event, at, self.adjacency)
        answers.CURRENT.answers.append(
            answers.Answer(
                f"divergence of order {order:g}", value, lower, certified=enclosure is not None
            )
        )
        return value

    def get_epsilon_and_optimal_order(self, target_delta: float) -> tuple[float, float]:
        """Epsilon, and the order at which it was found if it was at one."""
        return self.get_epsilon(target_delta), math.nan

    def get_delta_and_optimal_order(self, target_epsilon: float) -> tuple[float, float]:
        """Delta, in the same way."""
        return self.get_delta(target_epsilon), math.nan
