r"""Trade-off curves: how many records an attack finds, and how many others it takes for them.

An attack looks at what was released and says whether a record was in the data. Its false positive
rate (FPR) is the probability that it says so although it was not, its true positive rate (TPR) the
probability that it says so when it was, and its false negative rate (FNR) is 1 - TPR. The trade-off
curve of an event is the least FNR at each FPR that any attack on any two neighbours has. With the
privacy profile delta(epsilon) of a symmetric relation it is

    f(a) = max over epsilon >= 0 of max(0, 1 - delta - e^epsilon a, e^-epsilon (1 - delta - a)).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from flint import arb, ctx

from rdpkit import _validate
from rdpkit.accountants import profiles
from rdpkit.accountants.profiles import BITS, AttainedProfile, Profile
from rdpkit.adjacency import Adjacency, needed
from rdpkit.events import Event
from rdpkit.formats.numbers import rounded_up
from rdpkit.formats.records import as_plain
from rdpkit.guarantee import Enclosure
from rdpkit.numerics.balls import float_above, float_below, upper_tail
from rdpkit.numerics.gaussian_profile import tail_quantile

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SMALLEST_DELTA = 1e-10
"""The smallest delta that is looked at, where no other is asked for."""

RATES = (1e-5, 1e-4, 1e-3, 1e-2, 0.05, 0.1, 0.2, 0.5)
"""False positive rates of tables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TradeoffCurve:
    """The least false negative rate at each false positive rate, enclosed from both sides.

    Every number is an :class:`rdpkit.Enclosure`. What protects is proven: no attack on any two
    neighbours has a TPR above ``upper``, or an FNR below ``lower``. The other end is attained: an
    attack on an explicit pair of neighbours has a TPR of at least ``lower``, and an FNR of at most
    ``upper``. Where no such pair is known, it is the end that guessing attains.
    """

    adjacency: Adjacency
    """The neighbouring relation. The curve holds for both orders of two neighbours."""
    smallest_delta: float
    """The smallest delta that was looked at. At smaller false positive rates the TPR is bounded by
    about this.
    """
    profile: Profile = field(repr=False)  #: Upper bounds on delta at ascending epsilons
    attained: tuple[AttainedProfile, ...] = field(repr=False)  #: What pairs of neighbours attain
    gaussian: Enclosure | None = None
    """If the event amounts to a pair of Gaussians: their distance over the noise."""
    assumptions: tuple[str, ...] = ()  #: What must hold, beyond the parameters

    def __str__(self) -> str:
        one_percent = self.tpr(0.01).upper
        return (
            f"advantage <= {rounded_up(self.advantage.upper)}, true positive rate <= "
            f"{rounded_up(one_percent)} at a false positive rate of 0.01 "
            f"({self.adjacency.value.replace('_', '-')}; certified)"
        )

    @property
    def advantage(self) -> Enclosure:
        """The largest TPR - FPR of an attack: the total variation, which is delta at epsilon 0."""
        if self.gaussian is not None:
            with ctx.workprec(BITS):
                ends = (self.gaussian.lower, self.gaussian.upper)
                low, high = [1 - 2 * upper_tail(arb(mu) / 2) for mu in ends]
                return _within_one(float_below(low), float_above(high))
        attained = [one.forward.deltas[0] for one in self.attained]
        return _within_one(max(attained, default=0.0), self.profile.deltas[0])

    def tpr(self, fpr: float) -> Enclosure:
        """The largest true positive rate at a false positive rate.

        Parameters
        ----------
        fpr : float
            In [0, 1].
        """
        rate = _validate.probability("fpr", fpr)
        with ctx.workprec(BITS):
            alpha = arb(rate)
            if self.gaussian is not None:
                low, high = [1 - fnr for fnr in _gaussian_rates(rate, self.gaussian)]
                return _within_one(float_below(low), float_above(high))
            above = float_above(_least(_rates(self.profile, self.profile, alpha)))
            below = rate
            for one in self.attained:
                rates = _rates(one.forward, one.backward, alpha)
                below = max(below, float_below(_least(rates)))
            return _within_one(below, above)

    def fnr(self, fpr: float) -> Enclosure:
        """The least false negative rate at a false positive rate: the trade-off curve itself.

        Parameters
        ----------
        fpr : float
            In [0, 1].
        """
        rate = _validate.probability("fpr", fpr)
        with ctx.workprec(BITS):
            alpha = arb(rate)
            if self.gaussian is not None:
                high, low = _gaussian_rates(rate, self.gaussian)
                return _within_one(float_below(low), float_above(high))
            below = -float_above(_least(_misses(self.profile, self.profile, alpha)))
            above = float_above(1 - alpha)
            for one in self.attained:
                misses = _misses(one.forward, one.backward, alpha)
                above = min(above, -float_below(_least(misses)))
            return _within_one(below, above)

    def as_dict(self, rates: Iterable[float] = RATES) -> dict[str, Any]:
        """Plain values for JSON: the advantage, and a table of rates.

        Parameters
        ----------
        rates : iterable of float
            False positive rates of the table.
        """
        advantage = self.advantage
        return {
            "adjacency": self.adjacency.value,
            "smallest_delta": as_plain(self.smallest_delta),
            "advantage": [as_plain(advantage.lower), as_plain(advantage.upper)],
            "curve": [
                {
                    "fpr": as_plain(rate),
                    "tpr": [as_plain(tpr.lower), as_plain(tpr.upper)],
                    "fnr": [as_plain(fnr.lower), as_plain(fnr.upper)],
                }
                for rate, tpr, fnr in [(r, self.tpr(r), self.fnr(r)) for r in rates]
            ],
            "assumptions": list(self.assumptions),
        }

    def plot(self, axes: Axes | None = None, *, logarithmic: bool = False) -> Axes:
        """Draw the curve from both sides, and the Gaussian one that bounds it.

        Needs matplotlib (the extra ``plots``).

        Parameters
        ----------
        axes : matplotlib Axes, optional
            Where; by default a new figure.
        logarithmic : bool
            Whether the two axes are logarithmic, and the true positive rate is shown in place of
            the false negative rate: what attacks are compared by.
        """
        from rdpkit.tradeoffs.drawing import draw  # noqa: PLC0415 - matplotlib is optional

        return draw(self, axes, logarithmic=logarithmic)


@_validate.by_name(adjacency=needed())
def tradeoff(
    event: Event, *, adjacency: Adjacency | str, smallest_delta: float = SMALLEST_DELTA
) -> TradeoffCurve:
    """The trade-off curve of an event: what any attack on one record achieves at most.

    Guarantee
    ---------
    Whatever an attack does, and whichever two neighbours it is to tell apart: at each false
    positive rate its true positive rate is at most ``curve.tpr(fpr).upper``. The lower end is
    attained by a likelihood-ratio test between two explicit data sets.

    Assumes
    -------
    What the curve's ``assumptions`` list.

    Parameters
    ----------
    event : Event
        What was released.
    adjacency : Adjacency or str
        The neighbouring relation. The curve is the symmetric one: the worst over both orders of two
        neighbours.
    smallest_delta : float
        The smallest delta of the privacy profile that is looked at, in (0, 1). It limits what can
        be said about false positive rates that are as small.

    Returns
    -------
    TradeoffCurve
        With ``tpr(fpr)``, ``fnr(fpr)``, ``advantage`` and ``plot()``.

    Source
    ------
    Dong, Roth and Su 2022, Proposition 6 (arXiv 1905.02383); certified profiles: rdpkit, theory
    page "Trade-off curves".

    Examples
    --------
    >>> import rdpkit
    >>> step = rdpkit.PoissonSampledGaussian(
    ...     noise_std=1.0, record_norm=1.0, sampling_probability=0.01)
    >>> event = rdpkit.Repeated(event=step, count=100)
    >>> curve = rdpkit.tradeoff(event, adjacency="add_or_remove_one")
    >>> print(f"{curve.tpr(0.01).upper:.4f} {curve.advantage.upper:.4f}")
    0.0151 0.0507
    """
    _validate.one_of_a_kind("event", event, Event)
    relation = Adjacency(adjacency)
    smallest = _validate.open_probability("smallest_delta", smallest_delta)
    known: profiles.Curves = {}
    return TradeoffCurve(
        adjacency=relation,
        smallest_delta=smallest,
        profile=profiles.proven(event, relation, smallest=smallest, known=known),
        attained=profiles.attained(event, relation, smallest=smallest, known=known),
        gaussian=profiles.gaussian_mu(event, relation),
        assumptions=event.assumptions(),
    )


def _rates(forward: Profile, backward: Profile, alpha: arb) -> Iterator[arb]:
    """Bounds on the TPR, one a point: from an order of two data sets, and from the other one."""
    yield arb(1)
    for epsilon, delta in forward.points():
        yield delta + arb(epsilon).exp() * alpha
    for epsilon, delta in backward.points():
        yield 1 - (-arb(epsilon)).exp() * (1 - delta - alpha)


def _misses(forward: Profile, backward: Profile, alpha: arb) -> Iterator[arb]:
    """Minus the bounds on the FNR, one a point."""
    yield arb(0)
    for epsilon, delta in forward.points():
        yield delta + arb(epsilon).exp() * alpha - 1
    for epsilon, delta in backward.points():
        yield (-arb(epsilon)).exp() * (delta + alpha - 1)


def _least(values: Iterator[arb]) -> arb:
    """The least of several balls, enclosed."""
    least = next(values)
    for value in values:
        least = least.min(value)
    return least


def _gaussian_rates(alpha: float, mu: Enclosure) -> list[arb]:
    """The FNR of a pair of Gaussians at the two ends of an enclosure of mu."""
    if alpha in (0.0, 1.0):
        return [arb(1 - alpha)] * 2
    quantile = tail_quantile(arb(alpha), 1 - arb(alpha))
    return [upper_tail(arb(one) - quantile) for one in (mu.lower, mu.upper)]


def _within_one(low: float, high: float) -> Enclosure:
    return Enclosure(lower=min(max(low, 0.0), 1.0), upper=min(max(high, 0.0), 1.0))
