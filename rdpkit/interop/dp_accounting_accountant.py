"""rdpkit's bounds as an accountant with the interface of dp-accounting's accountants."""

from __future__ import annotations

import math
from typing import Any

from dp_accounting import privacy_accountant

from rdpkit import _validate, analysis
from rdpkit.accountants.loss_distributions import UPPER_ID
from rdpkit.adjacency import Adjacency
from rdpkit.events import Composed, CustomProfile, Event, Repeated
from rdpkit.events.composition import composed_of
from rdpkit.guarantee import Guarantee
from rdpkit.interop import profiles
from rdpkit.interop.events_from_dp_accounting import from_dp_event
from rdpkit.interop.noise_reading import NoiseReading, UnconvertibleEventError

_BOUNDS = (analysis.BEST, analysis.BEST_RDP, UPPER_ID)
_RELATIONS = {
    privacy_accountant.NeighboringRelation.ADD_OR_REMOVE_ONE: Adjacency.ADD_OR_REMOVE_ONE,
    privacy_accountant.NeighboringRelation.REPLACE_ONE: Adjacency.REPLACE_ONE,
    privacy_accountant.NeighboringRelation.REPLACE_SPECIAL: Adjacency.ZERO_OUT,
}
# A divergence that is finite at any order is finite at an order this close to 1.
_LOWEST_ORDER = 1.0 + 1e-3


class RdpkitAccountant(privacy_accountant.PrivacyAccountant):  # type: ignore[misc]
    """rdpkit's bounds behind dp-accounting's interface.

    Guarantee
    ---------
    What was composed is (epsilon, delta)-DP under the neighbouring relation, for every pair that
    :meth:`get_epsilon` and :meth:`get_delta` return.

    Assumes
    -------
    Noise multipliers mean what ``noise_relative_to`` says.

    Parameters
    ----------
    neighboring_relation : NeighboringRelation, Adjacency or str
        dp-accounting's enumeration or rdpkit's; its ``REPLACE_SPECIAL`` is ``ZERO_OUT`` here. There
        is no default.
    noise_relative_to : {"record_norm", "swap_distance"}, optional
        As for :func:`rdpkit.interop.from_dp_event`. Under replace-one, events with noise are only
        supported if it is given.
    bound : {"best", "best-rdp", "pld-upper"}
        As for :func:`rdpkit.epsilon`.

    Raises
    ------
    ValueError
        If an argument is not one of the accepted values.

    Source
    ------
    dp_accounting 0.6.0, ``privacy_accountant.py``.

    Examples
    --------
    >>> import dp_accounting as dpa
    >>> from rdpkit.interop import RdpkitAccountant
    >>> accountant = RdpkitAccountant(dpa.NeighboringRelation.ADD_OR_REMOVE_ONE)
    >>> step = dpa.PoissonSampledDpEvent(0.01, dpa.GaussianDpEvent(1.1))
    >>> f"{accountant.compose(step, 1000).get_epsilon(1e-5):.3f}"
    '1.516'
    """

    def __init__(
        self,
        neighboring_relation: privacy_accountant.NeighboringRelation | Adjacency | str,
        *,
        noise_relative_to: str | None = None,
        bound: str = analysis.BEST,
    ) -> None:
        if isinstance(neighboring_relation, privacy_accountant.NeighboringRelation):
            if neighboring_relation not in _RELATIONS:
                raise _validate.fail(
                    "neighboring_relation",
                    "to be one of " + ", ".join(known.name for known in _RELATIONS),
                    neighboring_relation,
                )
            relation = neighboring_relation
        else:
            adjacency = Adjacency.parse(neighboring_relation, name="neighboring_relation")
            relation = next(key for key, value in _RELATIONS.items() if value is adjacency)
        super().__init__(relation)
        self._adjacency = _RELATIONS[relation]
        NoiseReading.parse(self._adjacency, noise_relative_to)
        self._noise_relative_to = noise_relative_to
        self._bound = _validate.choice("bound", bound, _BOUNDS)
        self._counts: dict[Event, int] = {}

    def _maybe_compose(
        self, event: Any, count: int, do_compose: bool
    ) -> privacy_accountant.PrivacyAccountant.CompositionErrorDetails | None:
        """Convert the whole event first, so that an error leaves the accountant unchanged."""
        try:
            converted = from_dp_event(
                event, adjacency=self._adjacency, noise_relative_to=self._noise_relative_to
            )
        except UnconvertibleEventError as error:
            return self.CompositionErrorDetails(
                invalid_event=error.event, error_message=error.reason
            )
        if do_compose:
            counts = dict(self._counts)
            for leaf, times in _leaves(converted, self._adjacency):
                counts[leaf] = counts.get(leaf, 0) + count * times
            self._counts = counts
        return None

    @property
    def event(self) -> Event | None:
        """All that was composed, as one event of rdpkit; None if nothing was composed."""
        return composed_of(self._counts)

    def guarantee(self, target_delta: float) -> Guarantee | None:
        """Epsilon at ``target_delta`` in (0, 1) with its bound, enclosure and notes.

        None if nothing was composed.
        """
        event = self.event
        if event is None:
            return None
        return analysis.epsilon(
            event, delta=target_delta, adjacency=self._adjacency, bound=self._bound
        )

    def get_epsilon(self, target_delta: float) -> float:
        """Upper bound on epsilon at ``target_delta`` in [0, 1]; inf if there is none.

        Raises
        ------
        ValueError
            If ``target_delta`` is not in [0, 1].
        """
        target = _validate.probability("target_delta", target_delta)
        if self._is_not_private():
            return math.inf
        if not self._counts or target == 1.0:
            return 0.0
        if target == 0.0:
            return sum(_largest_loss(leaf) * count for leaf, count in self._counts.items())
        found = self.guarantee(target)
        assert found is not None
        return found.epsilon

    def get_delta(self, target_epsilon: float) -> float:
        """Upper bound on delta at ``target_epsilon`` >= 0, which may be inf.

        Raises
        ------
        ValueError
            If ``target_epsilon`` is negative or NaN.
        """
        target = _validate.non_negative("target_epsilon", target_epsilon, finite=False)
        if self._is_not_private():
            return 1.0
        event = self.event
        if event is None:
            return 0.0
        if math.isinf(target):
            kept = [count * math.log1p(-self._kept(leaf)) for leaf, count in self._counts.items()]
            return -math.expm1(math.fsum(kept))
        return analysis.delta(
            event, epsilon=target, adjacency=self._adjacency, bound=self._bound
        ).delta

    def _is_not_private(self) -> bool:
        return any(
            isinstance(leaf, CustomProfile) and leaf.deltas[-1] == 1.0 for leaf in self._counts
        )

    def _kept(self, leaf: Event) -> float:
        """The delta of one release that remains however large epsilon is."""
        if isinstance(leaf, CustomProfile):
            return leaf.deltas[-1]
        value, _ = analysis.upper_rdp(leaf, order=_LOWEST_ORDER, adjacency=self._adjacency)
        # log1p(-1) is undefined; a delta of almost 1 says as little as a delta of 1.
        return 0.0 if math.isfinite(value) else 1.0 - 2.0**-53


def _leaves(event: Event, adjacency: Adjacency) -> list[tuple[Event, int]]:
    """The releases inside of compositions in order, each with its number of repetitions."""
    nothing = profiles.nothing(adjacency)
    found: list[tuple[Event, int]] = []
    pending = [(event, 1)]
    while pending:
        current, count = pending.pop()
        if isinstance(current, Composed):
            pending.extend((part, count) for part in reversed(current.events))
        elif isinstance(current, Repeated):
            pending.append((current.event, count * current.count))
        elif current != nothing:
            found.append((current, count))
    return found


def _largest_loss(leaf: Event) -> float:
    """An epsilon at which delta is 0; inf if there is none."""
    if isinstance(leaf, CustomProfile) and leaf.deltas[-1] == 0.0:
        return leaf.epsilons[leaf.deltas.index(0.0)]
    return math.inf
