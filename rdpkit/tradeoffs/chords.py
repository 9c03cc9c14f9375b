"""The Gaussian curve below the chords of a privacy profile."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from flint import arb, ctx

from rdpkit.accountants.profiles import BITS, Profile
from rdpkit.numerics.balls import float_above, upper_tail
from rdpkit.numerics.gaussian_profile import gaussian_delta, log_delta, tail_quantile


def smallest_mu(profile: Profile) -> float:
    """The least mu with delta_mu >= all chords of a profile, proven; infinite if none is found.

    Delta_mu less a chord is convex in x = e^epsilon, so it is least where both have the same slope,
    or at the end of the chord that is nearest to that. A mu that suffices for whole straight lines
    is computed first, then a smaller one is searched in floats and proven.
    """
    points = profile.points()
    if len(points) == 1:
        return math.inf if points[0][1] >= 1.0 else 0.0
    with ctx.workprec(BITS + bits_for(profile)):
        chords = [_Chord.between(one, two) for one, two in pairwise(points) if one[1] > 0.0]
        enough = max([chord.mu_for_line() for chord in chords], default=0.0)
        if not 0.0 < enough < math.inf:
            return enough
        ends = np.array([(chord.left, chord.right) for chord in chords])
        logs = np.log(np.maximum([(chord.high, chord.low) for chord in chords], 1e-320))

        def excess(mu: float) -> float:
            return float(np.nanmax(logs - log_delta(ends.ravel(), 1.0 / mu).reshape(ends.shape)))

        low, high = 0.0, enough
        for _ in range(50):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if excess(middle) > 0.0 else (low, middle)
        # Between the points delta_mu may come closest to a chord, which takes a little more.
        for slack in (1e-9, 1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1):
            mu = high * (1.0 + slack)
            if mu >= enough:
                break
            if all(chord.is_below(mu) for chord in chords):
                return mu
        return enough


@dataclass(frozen=True, slots=True)
class _Chord:
    """A chord 1 - b - a x between two points, x = e^epsilon."""

    left: float
    right: float
    high: float
    low: float
    slope: arb
    rest: arb

    @classmethod
    def between(cls, one: tuple[float, float], two: tuple[float, float]) -> _Chord:
        (left, high), (right, low) = one, two
        x = arb(left).exp()
        slope = (arb(high) - arb(low)) / (x * (arb(right) - arb(left)).expm1())
        return cls(left=left, right=right, high=high, low=low, slope=slope, rest=high + x * slope)

    def mu_for_line(self) -> float:
        """A mu with delta_mu above the whole straight line: one with G_mu(a) <= b."""
        a, b = self.slope, 1 - self.rest
        if not (a > 0 and b > 0):
            return math.inf
        if a + b >= 1:
            return 0.0
        return max(float_above(tail_quantile(a, 1 - a) + tail_quantile(b, self.rest)), 0.0)

    def is_below(self, mu: float) -> bool:
        """Whether delta_mu is above the chord, for certain."""
        exact = arb(mu)
        # Minus the slopes of delta_mu at the ends are probabilities under N(0, 1).
        if upper_tail(arb(self.right) / exact + exact / 2) >= self.slope:
            return bool(gaussian_delta(arb(self.right), exact) >= self.low)
        if upper_tail(arb(self.left) / exact + exact / 2) <= self.slope:
            return bool(gaussian_delta(arb(self.left), exact) >= self.high)
        if not self.slope > 0:
            return False
        # In between the straight line itself has to be below.
        miss = upper_tail(exact - tail_quantile(self.slope, 1 - self.slope))
        return bool(miss <= 1 - self.rest)


def bits_for(profile: Profile) -> int:
    """Bits that differences of deltas lose."""
    last = min([delta for delta in profile.deltas if delta > 0.0], default=1.0)
    return math.ceil(-math.log2(last)) + math.ceil(profile.epsilons[-1] / math.log(2.0))
