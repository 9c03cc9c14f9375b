"""A number in a range with Laplace noise that is drawn again until the result is in the range."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import ClassVar

from flint import arb, ctx

from rdpkit import _validate
from rdpkit.adjacency import Adjacency
from rdpkit.events.base import Event
from rdpkit.events.fields import declared, event_class, noise, positive
from rdpkit.events.losses import Attained, Dominating, attains
from rdpkit.events.pairs import BoundedRange, Outcomes
from rdpkit.numerics.balls import float_above

# Where cells of a test end, as parts of the distance of the two numbers.
_CUTS = sorted({0.0, 1.0, *(j / 16 for j in range(16)), *(2.0**-k for k in range(5, 15))})
# The range and the distance are told apart from here on; exponents that leave enough digits.
_APART, _FAR = 0.01, 30.0


@event_class
class BoundedLaplace(Event):
    """A number in a range with Laplace noise that is drawn again until the result is in the range.

    Released: a number in [minimum, maximum] with a density in proportion to e^(-abs(y - x) /
    noise_scale), x the number of the data, which is in that range too. How much of the noise is
    left depends on x, so that the largest loss is above s / noise_scale, s the sensitivity: by the
    logarithm of the ratio of what is left for x = minimum + s and for x = minimum. Results that are
    cut to a range or folded into it are :class:`rdpkit.Laplace`.

    Examples
    --------
    >>> import rdpkit
    >>> event = rdpkit.BoundedLaplace(noise_scale=2.0, minimum=0.0, maximum=10.0, sensitivity=1.0)
    >>> round(rdpkit.epsilon(event, delta=0.0, adjacency="replace_one").epsilon, 3)
    0.831
    """

    mechanism: ClassVar[str] = "bounded_laplace"
    of_whole_data: ClassVar[str] = ""
    adjacencies: ClassVar[tuple[Adjacency, ...]] = tuple(Adjacency)
    assumed = ("the sensitivity of the number is that under the adjacency that is asked about",)

    noise_scale: float = noise("Scale of the noise that is drawn, in the units of the number")
    minimum: float = declared("Least value of the number and of the result", check=_validate.finite)
    maximum: float = declared(
        "Largest value of the number and of the result", check=_validate.finite
    )
    sensitivity: float = positive(
        "Largest change of the number between neighbours, in its own units", private=-1
    )

    def _check_together(self) -> None:
        if not self.minimum < self.maximum:
            raise _validate.fail("maximum", f"to be above minimum = {self.minimum!r}", self.maximum)

    def distance(self) -> float:
        """How far the number moves at most, which is the whole range at most."""
        return min(self.sensitivity, self.maximum - self.minimum)

    def pure_epsilon(self) -> float:
        """The epsilon of pure differential privacy, rounded up."""
        with ctx.workprec(128):
            b, width = arb(self.noise_scale), arb(self.maximum) - arb(self.minimum)
            moved = arb(self.sensitivity).min(width)
            left = (-moved / b).expm1() + ((moved - width) / b).expm1()
            return float_above(moved / b + (left / (-width / b).expm1()).log())

    def dominating(self, adjacency: Adjacency) -> Dominating:
        """Losses lie in a range of twice the distance over the scale, and none exceeds epsilon."""
        whole = 2.0 * self.distance() / self.noise_scale
        return Dominating((BoundedRange(epsilon=whole, largest=self.pure_epsilon()),))

    def attained(self, adjacency: Adjacency) -> Attained:
        """The numbers at the end of the range, or around its middle, and in which cell it is."""
        width, moved = self.maximum - self.minimum, self.distance()
        room = width - moved
        if max(moved, width) / self.noise_scale > _FAR or 0.0 < room < _APART * width:
            return attains(())
        return Attained(tuple((self._cells(place),) for place in (0.0, 0.5 * room)))

    def _cells(self, place: float) -> Outcomes:
        """Probabilities of cells for a number at ``place`` above the minimum, and one beyond it."""
        b, moved = self.noise_scale, self.distance()
        rest = self.maximum - self.minimum - moved - place
        near, far = -math.expm1(-place / b), -math.expm1(-rest / b)
        across = math.exp(-moved / b)
        # What is on the other side of the farther number, or nearer to the nearer one.
        first = [near] if near else []
        second = [near * across] if near else []
        for one, other in pairwise(_CUTS):
            cell = -math.expm1(-(other - one) * moved / b)
            first.append(math.exp(-one * moved / b) * cell)
            second.append(math.exp(-(1.0 - other) * moved / b) * cell)
        if far:
            first.append(far * across)
            second.append(far)
        return Outcomes(
            first=tuple(mass / math.fsum(first) for mass in first),
            second=tuple(mass / math.fsum(second) for mass in second),
        )
