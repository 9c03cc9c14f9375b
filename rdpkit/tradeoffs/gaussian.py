r"""One number for a trade-off curve: the Gaussian curve below it, and how far below it lies.

Two Gaussians at the distance mu, in units of their noise, have the trade-off curve
G_mu(a) = Phi(Phi^-1(1 - a) - mu). An event with f >= G_mu is mu-GDP: no attack does better than
telling these two Gaussians apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb, ctx

from rdpkit import _validate
from rdpkit.accountants import profiles
from rdpkit.accountants.profiles import BITS, AttainedProfile, Profile
from rdpkit.adjacency import Adjacency, needed
from rdpkit.events import Event
from rdpkit.formats.numbers import rounded_down, rounded_up
from rdpkit.formats.records import as_plain
from rdpkit.guarantee import Enclosure
from rdpkit.numerics.balls import float_above, float_below
from rdpkit.numerics.gaussian_profile import gaussian_delta, log_delta
from rdpkit.tradeoffs.chords import bits_for, smallest_mu
from rdpkit.tradeoffs.curve import SMALLEST_DELTA, TradeoffCurve

# An advantage below this many times the smallest delta is not looked at closely enough.
_SMALLEST_ADVANTAGE = 1e3
_LARGEST_MU = 1e8  # Where the search for a refuted mu begins at most


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianDP:
    """mu of Gaussian differential privacy, the deltas for which it holds, and its regret.

    Compares with numbers by ``float(g)``, which is ``mu``.
    """

    mu: float
    """Upper bound, proven: at every delta >= ``smallest_delta`` the event has the epsilon of two
    Gaussians at this distance over the noise, or a smaller one. Infinite where there is none.
    """
    lower: float
    """An explicit pair of neighbours refutes every smaller mu, at some delta >= ``smallest_delta``.
    """
    regret: Enclosure
    """How much more than G_mu the event hides: the least k such that f(a + k) - k <= G_mu(a) at
    every false positive rate a, f the event's own trade-off curve. A small one says that mu alone
    tells nearly all.
    """
    smallest_delta: float  #: The smallest delta for which ``mu`` was proven
    largest_epsilon: float  #: The epsilon at which the event's delta is at most ``smallest_delta``
    everywhere: float  #: A mu that holds at every delta > 0, proven; infinite where none is known
    adjacency: Adjacency  #: The neighbouring relation
    assumptions: tuple[str, ...] = ()  #: What must hold, beyond the parameters
    notes: tuple[str, ...] = ()  #: What a reader should know about how the number came about

    def __post_init__(self) -> None:
        if math.isnan(self.mu) or not 0.0 <= self.lower <= self.mu:
            raise ArithmeticError(
                f"mu would be at least {self.lower!r} and at most {self.mu!r}: one of the two is "
                "false. Please report this."
            )

    def __float__(self) -> float:
        return self.mu

    def __iter__(self) -> Iterator[Any]:
        """Mu and its regret, for ``mu, regret = rdpkit.gdp(...)``."""
        return iter((self.mu, self.regret))

    def __str__(self) -> str:
        return (
            f"mu <= {rounded_up(self.mu)} for delta >= {self.smallest_delta:g} "
            f"({self.adjacency.value.replace('_', '-')}; certified; lower "
            f"{rounded_down(self.lower)}; regret {rounded_up(self.regret.upper)})"
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; an infinite number is the string "inf"."""
        return {
            "mu": as_plain(self.mu),
            "enclosure": as_plain([self.lower, self.mu]),
            "regret": as_plain([self.regret.lower, self.regret.upper]),
            "smallest_delta": as_plain(self.smallest_delta),
            "largest_epsilon": as_plain(self.largest_epsilon),
            "everywhere": as_plain(self.everywhere),
            "adjacency": self.adjacency.value,
            "assumptions": list(self.assumptions),
            "notes": list(self.notes),
        }


@_validate.by_name(adjacency=needed())
def gdp(
    event: Event, *, adjacency: Adjacency | str, smallest_delta: float | None = None
) -> GaussianDP:
    """The smallest mu of Gaussian differential privacy that is proven for an event.

    Guarantee
    ---------
    With mu the result's ``mu`` and every delta >= ``smallest_delta``: the event is (epsilon,
    delta)-DP under ``adjacency`` with the epsilon at which N(mu, 1) and N(0, 1) have that delta. At
    smaller deltas ``everywhere`` holds. A limit theorem is not used, so that mu is no estimate.

    Assumes
    -------
    What the result's ``assumptions`` list.

    Parameters
    ----------
    event : Event
        What was released.
    adjacency : Adjacency or str
        The neighbouring relation; mu holds for both orders of two neighbours.
    smallest_delta : float, optional
        In (0, 1). By default 1e-10, and 1e-10 of the advantage for events that leak next to
        nothing.

    Returns
    -------
    GaussianDP
        mu from above and below, its regret, and the range of deltas.

    Source
    ------
    Dong, Roth and Su 2022 (arXiv 1905.02383); mu with regret: Gomez et al., "Gaussian DP for
    reporting differential privacy guarantees" (arXiv 2503.10945); enclosure: rdpkit, theory page
    "Trade-off curves".

    Examples
    --------
    >>> import rdpkit
    >>> step = rdpkit.PoissonSampledGaussian(
    ...     noise_std=1.0, record_norm=1.0, sampling_probability=0.01)
    >>> event = rdpkit.Repeated(event=step, count=1000)
    >>> g = rdpkit.gdp(event, adjacency="add_or_remove_one")
    >>> print(f"{g.mu:.4f} {g.regret.upper:.4f} {g.smallest_delta:g}")
    0.5289 0.0238 1e-10
    """
    _validate.one_of_a_kind("event", event, Event)
    relation = Adjacency(adjacency)
    smallest = SMALLEST_DELTA
    if smallest_delta is not None:
        smallest = _validate.open_probability("smallest_delta", smallest_delta)
    gaussian = profiles.gaussian_mu(event, relation)
    if gaussian is not None:
        return _of_gaussians(gaussian, smallest, relation, event.assumptions())
    known: profiles.Curves = {}
    profile = profiles.proven(event, relation, smallest=smallest, known=known)
    advantage = profile.deltas[0]
    if smallest_delta is None and 0.0 < advantage < _SMALLEST_ADVANTAGE * smallest:
        smallest *= advantage
        profile = profiles.proven(event, relation, smallest=smallest, known=known)
    attained = profiles.attained(event, relation, smallest=smallest, known=known)
    return _described(event, relation, smallest, profile, attained)


def gdp_of_curve(
    event: Event,  # What was released
    curve: TradeoffCurve,
    *,
    # Whether a smaller delta is taken, as by :func:`gdp`, for an event that leaks very little.
    closer: bool = False,
) -> GaussianDP:
    """As :func:`gdp`, from the trade-off curve of the event and with its smallest delta."""
    if closer and curve.profile.deltas[0] < _SMALLEST_ADVANTAGE * curve.smallest_delta:
        return gdp(event, adjacency=curve.adjacency)
    if curve.gaussian is not None:
        smallest, relation = curve.smallest_delta, curve.adjacency
        return _of_gaussians(curve.gaussian, smallest, relation, event.assumptions())
    return _described(event, curve.adjacency, curve.smallest_delta, curve.profile, curve.attained)


def _described(
    event: Event,
    relation: Adjacency,
    smallest: float,
    profile: Profile,
    attained: tuple[AttainedProfile, ...],
) -> GaussianDP:
    resolved = _down_to(profile, smallest)
    ceiling = profiles.gaussian_ceiling(event, relation)
    if profile.deltas[-1] == 0.0:
        ceiling = min(ceiling, smallest_mu(profile))
    # Where delta stays above the smallest one, infinite losses are to blame, and no mu has them.
    reaches = resolved.deltas[-1] <= smallest
    mu = min(smallest_mu(resolved) if reaches else math.inf, ceiling)
    return GaussianDP(
        mu=mu,
        lower=max([_refuted(one.forward, smallest, mu) for one in attained], default=0.0),
        regret=regret(mu, profile, attained),
        smallest_delta=smallest,
        largest_epsilon=resolved.epsilons[-1],
        everywhere=ceiling,
        adjacency=relation,
        assumptions=event.assumptions(),
        notes=_notes(resolved, smallest, ceiling, bool(attained)),
    )


def _notes(profile: Profile, smallest: float, ceiling: float, attained: bool) -> tuple[str, ...]:
    found = []
    last = profile.deltas[-1]
    if last > smallest and math.isinf(ceiling):
        found.append(
            f"losses may be infinite: delta is not known to be below {last:.3g} at any epsilon, so "
            "that there is a mu only for a smallest delta that is larger"
        )
    if not attained:
        found.append("no pair of data sets is known, so that there is no lower bound")
    return tuple(found)


def mu_from_above(event: Event, adjacency: Adjacency, smallest: float) -> float:
    """The upper bound on mu alone, for deltas from ``smallest`` on: what :func:`gdp` returns."""
    gaussian = profiles.gaussian_mu(event, adjacency)
    if gaussian is not None:
        return gaussian.upper
    resolved = _down_to(profiles.proven(event, adjacency, smallest=smallest), smallest)
    ceiling = profiles.gaussian_ceiling(event, adjacency)
    return min(smallest_mu(resolved) if resolved.deltas[-1] <= smallest else math.inf, ceiling)


def _down_to(profile: Profile, smallest: float) -> Profile:
    """The points up to the first at which delta is at most ``smallest``."""
    count = 1 + next(
        (k for k, delta in enumerate(profile.deltas) if delta <= smallest), len(profile.deltas)
    )
    return Profile(epsilons=profile.epsilons[:count], deltas=profile.deltas[:count])


def regret(
    mu: float,
    profile: Profile,  # delta from above
    attained: tuple[AttainedProfile, ...],  # delta from below, by several pairs
) -> Enclosure:
    """The regret of a mu: the largest (delta_mu - delta) / (1 + e^epsilon), from both sides."""
    nothing = Profile(epsilons=(0.0,), deltas=(0.0,))
    below = [one.forward for one in attained] or [nothing]
    with ctx.workprec(BITS + bits_for(profile)):
        low = float_below(_largest_difference(mu, profile))
        high = min([float_above(_largest_difference(mu, one)) for one in below])
    return Enclosure(lower=min(max(low, 0.0), 1.0), upper=min(max(high, 0.0), 1.0))


def _largest_difference(mu: float, profile: Profile) -> arb:
    largest = arb(0)
    for epsilon, delta in profile.points():
        whole = arb(1) if math.isinf(mu) else arb(0)
        if 0.0 < mu < math.inf:
            whole = gaussian_delta(arb(epsilon), arb(mu))
        largest = largest.max((whole - delta) / (1 + arb(epsilon).exp()))
    return largest


def _refuted(attained: Profile, smallest: float, ceiling: float) -> float:
    """A mu whose delta is below what is attained at a point: searched in floats, then proven."""
    points = [(e, d) for e, d in attained.points() if d > smallest]
    if not points:
        return 0.0
    epsilons = np.array([e for e, _ in points])
    logs = np.log(np.array([d for _, d in points]))

    def excess(mu: float) -> int | None:
        """The point at which delta_mu is below by most, if it is at any."""
        gaps = logs - log_delta(epsilons, 1.0 / mu)
        gaps = np.where(np.isnan(gaps), -np.inf, gaps)
        best = int(np.argmax(gaps))
        return best if gaps[best] > 0.0 else None

    low, high = 0.0, min(2.0 * ceiling, _LARGEST_MU)
    start = high
    while start > 1e-12 and excess(start) is None:
        high, start = start, 0.5 * start
    low = start
    if excess(low) is None:
        return 0.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if excess(middle) is not None else (low, middle)
    place = excess(low)
    assert place is not None
    epsilon, delta = points[place]
    for slack in (1e-12, 1e-9, 1e-6, 1e-3):
        mu = low * (1.0 - slack)
        with ctx.workprec(BITS + bits_for(attained)):
            if gaussian_delta(arb(epsilon), arb(mu)) < delta:
                return mu
    return 0.0


def _of_gaussians(
    mu: Enclosure, smallest: float, adjacency: Adjacency, assumptions: tuple[str, ...]
) -> GaussianDP:
    """The event is itself a pair of Gaussians."""
    low, high = arb(mu.lower), arb(mu.upper)
    with ctx.workprec(BITS):
        # Both curves are Gaussian, so that the difference is largest at epsilon = 0 up to rounding.
        off = float_above((high - low) * 0.4)
        # delta(epsilon) <= P(N(0, 1) > epsilon / mu - mu / 2) <= e^(-x^2 / 2) with this argument x.
        x = (-2 * arb(smallest).log()).sqrt()
        reach = float_above(high * (high / 2 + x))
    return GaussianDP(
        mu=mu.upper,
        lower=mu.lower,
        regret=Enclosure(lower=0.0, upper=off),
        smallest_delta=smallest,
        largest_epsilon=reach,
        everywhere=mu.upper,
        adjacency=adjacency,
        assumptions=assumptions,
    )
