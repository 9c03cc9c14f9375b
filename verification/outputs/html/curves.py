"""The curves from which a claim's number comes: Renyi divergences by order, epsilon by delta."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rdpkit import Adjacency, Event
from rdpkit.accountants.divergence_bounds import find_published, published_bounds
from rdpkit.accountants.event_tree import UpperBounds
from rdpkit.conversions import EPSILON
from rdpkit.conversions.curves import rdp_to_epsilon
from rdpkit.verification.claims.claim import Claim

# Orders minus one, and deltas, at which curves are drawn.
ORDERS = tuple(float(a) for a in 1.0 + np.geomspace(0.1, 512.0, 34))
DELTAS = tuple(10.0**k for k in np.linspace(-12.0, -2.0, 21).tolist())


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One line of a drawing.

    Parameters
    ----------
    label : str
        The bound, and what kind of number it gives.
    kind : str
        "upper" or "published".
    values : tuple of float or None, shape (k,)
        None where the bound says nothing.
    """

    label: str
    kind: str
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Curves:
    """Both drawings of one event, in floating point, so that they prove nothing.

    Parameters
    ----------
    rdp : tuple of Series
        Renyi divergences in nats at :data:`ORDERS`.
    profile : tuple of Series
        Epsilon in nats at :data:`DELTAS`, converted from the Renyi divergences.
    """

    rdp: tuple[Series, ...]
    profile: tuple[Series, ...]


def curves(claim: Claim) -> Curves | None:
    """The curves behind a claim; None where its parameters do not say what was released.

    Parameters
    ----------
    claim : Claim
        An audited claim.

    Raises
    ------
    ArithmeticError
        If a divergence cannot be computed.
    """
    if claim.event is None:
        return None
    return _curves(claim.event, claim.adjacency, claim.bound)


def _curves(event: Event, adjacency: Adjacency, bound: str | None) -> Curves:
    orders = np.array(ORDERS)
    upper = UpperBounds({}).rdp(event, orders, adjacency)
    rdp = [Series(label="best sound bound (upper)", kind="upper", values=_drawn(upper))]
    profile = [
        Series(
            label="best sound RDP bound (upper)",
            kind="upper",
            values=_drawn(
                np.array([rdp_to_epsilon(orders, upper, delta=delta)[0] for delta in DELTAS])
            ),
        )
    ]
    names = published_bounds(event, adjacency)
    name = bound if bound in names else next(iter(names), None)
    theorem = None if name is None else find_published(event, adjacency, name)
    if theorem is not None:
        values = theorem.values(event, orders, adjacency)
        label = f"{theorem.id} (published)"
        rdp.append(Series(label=label, kind="published", values=_drawn(values)))
        convert = EPSILON[theorem.conversion]
        found = np.array([convert(orders, values, delta).min() for delta in DELTAS])
        profile.append(Series(label=label, kind="published", values=_drawn(found)))
    return Curves(rdp=tuple(rdp), profile=tuple(profile))


def _drawn(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> tuple[float | None, ...]:
    if np.isnan(values).any():
        raise ArithmeticError("A curve could not be computed: it has a NaN.")
    # Five digits are more than a screen shows. They are rounded up, as upper bounds are.
    return tuple(_rounded_up(value) if math.isfinite(value) else None for value in values.tolist())


def _rounded_up(value: float) -> float:
    if value == 0.0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(value)) - 4)
    rounded = float(f"{math.ceil(value / unit) * unit:.5g}") if unit > 0.0 else value
    return rounded if rounded >= value else float(f"{rounded + unit:.5g}")
