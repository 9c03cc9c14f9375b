"""rdpkit's bounds as an accountant with the interface of dp-accounting's accountants."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from dp_accounting import privacy_accountant
from numpy.typing import NDArray
from scipy.special import ndtri

from rdpkit import _validate, analysis
from rdpkit.accountants.loss_distributions import UPPER_ID
from rdpkit.adjacency import Adjacency
from rdpkit.events import CustomProfile, Event
from rdpkit.events.composition import composed_of, released_counts
from rdpkit.guarantee import Guarantee
from rdpkit.interop import profiles
from rdpkit.interop.events_from_dp_accounting import from_dp_event
from rdpkit.interop.noise_reading import NoiseReading, UnconvertibleEventError
from rdpkit.tradeoffs import gdp, tradeoff

_BOUNDS = (analysis.BEST, analysis.BEST_RDP, UPPER_ID)
_RELATIONS = {
    privacy_accountant.NeighboringRelation.ADD_OR_REMOVE_ONE: Adjacency.ADD_OR_REMOVE_ONE,
    privacy_accountant.NeighboringRelation.REPLACE_ONE: Adjacency.REPLACE_ONE,
    privacy_accountant.NeighboringRelation.REPLACE_SPECIAL: Adjacency.ZERO_OUT,
}
# A divergence that is finite at any order is finite at an order this close to 1.
_LOWEST_ORDER = 1.0 + 1e-3
# A best order above the first is looked for up to the second.
_LARGE_ORDER, _LARGEST_ORDER = 9e4, 1e14


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
        self._last: Event | None = None

    @property
    def adjacency(self) -> Adjacency:
        """The neighbouring relation in rdpkit's words."""
        return self._adjacency

    def _maybe_compose(
        self, event: Any, count: int, do_compose: bool
    ) -> privacy_accountant.PrivacyAccountant.CompositionErrorDetails | None:
        """Convert the whole event first, so that an error leaves the accountant unchanged."""
        try:
            converted = from_dp_event(
                event, adjacency=self._adjacency, noise_relative_to=self._noise_relative_to
            )
        except UnconvertibleEventError as error:
            if error.invalid:
                raise ValueError(
                    "Noise multipliers and counts are to be non-negative, Sampling rates in "
                    f"[0, 1]: {error}"
                ) from None
            return self.CompositionErrorDetails(
                invalid_event=error.event, error_message=error.reason
            )
        self._last = converted
        if do_compose:
            counts = dict(self._counts)
            nothing = profiles.nothing(self._adjacency)
            for leaf, times in released_counts(converted).items():
                if leaf != nothing:
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
        found = analysis.epsilon(
            event, delta=target_delta, adjacency=self._adjacency, bound=self._bound
        )
        if found.order is None or found.order < _LARGE_ORDER:
            return found
        # Pure differential privacy is a divergence of every order.
        larger = analysis.epsilon(
            event,
            delta=target_delta,
            adjacency=self._adjacency,
            bound=analysis.BEST_RDP,
            order_limits=(_LARGE_ORDER, _LARGEST_ORDER),
        )
        return min(found, larger, key=lambda one: one.epsilon)

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
            return sum(
                analysis.epsilon(leaf, delta=0.0, adjacency=self._adjacency).epsilon * count
                for leaf, count in self._counts.items()
            )
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
        found = analysis.delta(
            event, epsilon=target, adjacency=self._adjacency, bound=self._bound
        ).delta
        if found == 0.0:
            return 0.0
        # With no loss above L, delta is at most 1 - e^(epsilon - L).
        largest = self.get_epsilon(0.0)
        return min(found, max(math.nextafter(-math.expm1(target - largest), 1.0), 0.0))

    def get_true_positive_rates(self, false_positive_rates: Any, deltas: Any = None) -> Any:
        """Upper bound on an attack's true positive rate at one or many false positive rates.

        The points of the privacy profile are chosen by the library: ``deltas`` is not used.

        Raises
        ------
        ValueError
            If a rate is not in [0, 1].
        """
        rates = _validate.real_array("false_positive_rates", false_positive_rates, "in [0, 1]")
        if ((rates < 0.0) | (rates > 1.0)).any():
            raise _validate.fail("false_positive_rates", "in [0, 1]", false_positive_rates)
        found = np.ones_like(rates) if self._is_not_private() else self._rates(rates)
        return float(found) if found.ndim == 0 else found

    def _rates(self, rates: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.event is None:
            return rates
        curve = tradeoff(self.event, adjacency=self._adjacency)
        if curve.gaussian is not None:
            return np.array([curve.tpr(rate).upper for rate in rates.ravel()]).reshape(rates.shape)
        found = np.ones_like(rates)
        for epsilon, delta in zip(curve.profile.epsilons, curve.profile.deltas, strict=True):
            # P(A) <= e^epsilon Q(A) + delta, of the event and of its complement.
            with np.errstate(over="ignore"):
                accepted = np.exp(epsilon) * rates + delta
            rejected = 1.0 - np.exp(-epsilon) * (1.0 - delta - rates)
            found = np.minimum(found, np.minimum(accepted, rejected))
        return np.asarray(np.minimum(found * (1.0 + 1e-14), 1.0))

    def get_gdp_parameter_estimate(
        self, false_positive_rates: Any = None, deltas: Any = None
    ) -> float:
        """The smallest mu of Gaussian differential privacy that is proven; inf if there is none.

        With ``false_positive_rates``, the smallest mu at these rates, which others may exceed.
        ``deltas`` is not used.
        """
        if self._is_not_private():
            return math.inf
        if self.event is None:
            return 0.0
        if false_positive_rates is None:
            return gdp(self.event, adjacency=self._adjacency).mu
        rates = np.atleast_1d(np.asarray(false_positive_rates, dtype=np.float64))
        found = np.atleast_1d(self.get_true_positive_rates(rates))
        inside = (rates > 0.0) & (rates < 1.0)
        return float(max(np.max(ndtri(found[inside]) - ndtri(rates[inside]), initial=0.0), 0.0))

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
