"""Claims under test: (epsilon, delta)-DP, or what an event implies."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

import rdpkit
from rdpkit import _validate
from rdpkit.accountants.loss_distributions import UPPER_ID
from rdpkit.adjacency import Adjacency
from rdpkit.events.losses import NoLossDistributionError
from rdpkit.verification.blackbox.options import VIEWS
from rdpkit.verification.estimators.privacy_claims import (
    DpClaim,
    PrivacyClaim,
    ProfileClaim,
    RdpClaim,
)

# The privacy profile of an event is tested at these deltas, and at epsilon = 0.
DELTAS = (1e-1, 1e-2, 1e-3, 1e-4)
ORDERS = (1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 32.0, 64.0)
_LARGEST_EPSILON = 500.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimUnderTest:
    """A claim under a neighbouring relation."""

    statement: str  # The claim in words
    adjacency: Adjacency  # The neighbouring relation
    part: PrivacyClaim  # The claim in the form that tests need
    event: rdpkit.Event | None = None  # What is claimed to be released

    def describe(self) -> str:
        """The claim in words, with its adjacency."""
        return f"{self.statement} under {self.adjacency.value}"


def dp_claim(*, epsilon: float, delta: float, adjacency: Adjacency | str) -> ClaimUnderTest:
    """The claim of (epsilon, delta)-DP."""
    claim = DpClaim(epsilon=epsilon, delta=delta)
    return ClaimUnderTest(
        statement=claim.describe(), adjacency=Adjacency.parse(adjacency), part=claim
    )


@functools.lru_cache(maxsize=64)
def event_claim(
    event: rdpkit.Event,
    *,
    adjacency: Adjacency | str,
    delta: float | None = None,
    epsilon: float | None = None,
    view: str = "profile",
) -> ClaimUnderTest:
    """The claim that a mechanism releases this event, and nothing more.

    With ``delta`` or ``epsilon``, the claim is the best known upper bound for the event at that
    delta or epsilon. With neither, it is the event's privacy profile at some points, or its RDP
    curve.

    Guarantee
    ---------
    If the event describes what is released, the claim is true.

    Parameters
    ----------
    event : Event
        What is claimed to be released.
    adjacency : Adjacency or str
        The neighbouring relation.
    delta, epsilon : float, optional
        At most one of them.
    view : {"profile", "rdp"}
        What to test if neither is given. The profile says more, and is tested faster.

    Raises
    ------
    ValueError
        If the event claims nothing under that adjacency.
    """
    relation = Adjacency.parse(adjacency)
    if delta is not None and epsilon is not None:
        raise ValueError("Expected at most one of delta and epsilon with an event.")
    name = event.mechanism
    if delta is not None or epsilon is not None:
        found = (
            rdpkit.epsilon(event, delta=delta, adjacency=relation)
            if delta is not None
            else rdpkit.delta(
                event, epsilon=_validate.non_negative("epsilon", epsilon), adjacency=relation
            )
        )
        if not (found.epsilon <= _LARGEST_EPSILON and found.delta < 1.0):
            raise ValueError(
                f"The event {name!r} claims nothing there: ({found.epsilon:g}, {found.delta:g})-DP."
            )
        claim = DpClaim(epsilon=found.epsilon, delta=found.delta)
        statement = f"{claim.describe()} of {name}, by {found.bound}"
        return ClaimUnderTest(statement=statement, adjacency=relation, part=claim, event=event)
    _validate.choice("view", view, VIEWS)
    part = _profile(event, relation) if view == "profile" else _curve(event, relation)
    if part is None:
        raise ValueError(f"The event {name!r} claims nothing under {relation.value}.")
    return ClaimUnderTest(
        statement=f"{name}: {part.describe()}", adjacency=relation, part=part, event=event
    )


def _profile(event: rdpkit.Event, adjacency: Adjacency) -> ProfileClaim | None:
    pairs = []
    # All points come from the privacy loss distribution, or else all from Renyi divergences.
    for bound in (UPPER_ID, "best-rdp"):
        try:
            start = rdpkit.delta(event, epsilon=0.0, adjacency=adjacency, bound=bound).delta
            pairs = [(0.0, start)]
            for delta in DELTAS:
                if delta < start:
                    found = rdpkit.epsilon(event, delta=delta, adjacency=adjacency, bound=bound)
                    pairs.append((found.epsilon, found.delta))
            break
        except NoLossDistributionError:
            continue
    pairs = [(e, d) for e, d in pairs if e <= _LARGEST_EPSILON and d < 1.0]
    if not pairs:
        return None
    return ProfileClaim(epsilons=[e for e, _ in pairs], deltas=[d for _, d in pairs])


def _curve(event: rdpkit.Event, adjacency: Adjacency) -> RdpClaim | None:
    curve = rdpkit.RdpCurve.of(event, orders=ORDERS, adjacency=adjacency)
    finite = np.isfinite(curve.values)
    # A curve with larger values allows nearly everything, so a bet on it gains nothing.
    finite &= (curve.orders - 1.0) * np.where(finite, curve.values, math.inf) <= _LARGEST_EPSILON
    if not finite.any():
        return None
    return RdpClaim(orders=curve.orders[finite], values=curve.values[finite])
